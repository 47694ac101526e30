"""The errors that have a meaning to a caller. Everything else is a bug and is answered as INTERNAL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Every code that a response may carry, with its HTTP status: those of DECISIONS 2, and the server's own.
STATUS_BY_CODE: dict[str, int] = {
    "BAD_REQUEST": 400,
    "INVALID_PARAM": 400,
    "EMAIL_EXISTS": 400,
    "INVALID_INVITE": 400,
    "EMAIL_NOT_VERIFIED": 400,
    "INVALID_TOKEN": 400,
    "INSUFFICIENT_BALANCE": 400,
    "UNAUTHORIZED": 401,
    "INVALID_CREDENTIALS": 401,
    "insufficient_tokens": 402,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "UNKNOWN_TICKER": 404,
    "NOT_COVERED": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "CONFLICT": 409,
    "INVITE_USED": 410,
    "PAYLOAD_TOO_LARGE": 413,
    "URI_TOO_LONG": 414,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "EXPECTATION_FAILED": 417,
    "RATE_LIMIT_EXCEEDED": 429,
    "LOGIN_LOCKED": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL": 500,
    "MAIL_FAILED": 500,
    "NOT_IMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "TIMEOUT": 504,
    "HTTP_VERSION_NOT_SUPPORTED": 505,
}
# The code that says no more than the status: the first of each.
CODE_BY_STATUS = {status: code for code, status in reversed(STATUS_BY_CODE.items())}


# RFC 9110 15.5.2: a 401 says how one is let in. Of a password that is wrong only this can be said.
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="finapi"'}


class ApiError(Exception):
    """An answer that is not a success: raised anywhere, turned into a response by ``web/responses.py`` alone.

    ``code`` is a key of :data:`STATUS_OF`; ``message`` is shown to the caller; ``details`` becomes the
    member of that name; ``beside`` are members that stand beside ``error`` (the five fields of a 402);
    ``headers`` are added to the response; a 401 without any has a challenge.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        extra_fields: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS_BY_CODE[code]
        self.message = message
        self.details = details
        self.extra_fields = extra_fields or {}
        self.headers = headers or (CHALLENGE if self.status == 401 else {})


def invalid_param(param: str, message: str, **expectation: Any) -> ApiError:
    """The 400 for a parameter that is not of its type or not in its list; ``allowed=`` or ``expected=``."""
    return ApiError("INVALID_PARAM", message, details={"param": param, **expectation})


def server_busy(message: str) -> ApiError:
    """The 503 of what is done for others just now."""
    return ApiError("UNAVAILABLE", f"{message} Try again in a moment.", headers={"Retry-After": "1"})


class ParseError(ValueError):
    """A document that cannot be read: which file, where in it, and why.

    ``place`` is as near as the format allows ("line 3, column 7", "context c-12"), or empty.
    """

    def __init__(self, file: str, place: str, reason: str) -> None:
        super().__init__(": ".join(part for part in (file, place, reason) if part))
        self.file = file
        self.place = place
        self.reason = reason


class StoreUnavailableError(Exception):
    """What is stored cannot be written or read now: the machine's trouble, which the store has logged."""

    public_message = "Nothing can be stored at the moment."


def store_unavailable(failing: type[StoreUnavailableError] | StoreUnavailableError = StoreUnavailableError) -> ApiError:
    """The 503 of a store that fails: a full disk takes somebody a while."""
    return ApiError("UNAVAILABLE", failing.public_message, headers={"Retry-After": "30"})


class UsageError(Exception):
    """A mistake on the command line, in a setting or in a configuration file: one line, exit status 2."""
