"""Errors that mean something to a caller. Any other exception is a bug and is answered with INTERNAL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The HTTP status of each code that a response may have: the codes of DECISIONS 2 and those of the server itself.
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
    "RANGE_NOT_SATISFIABLE": 416,
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
# The general code of each status: the first one in the table above.
CODE_BY_STATUS = {status: code for code, status in reversed(STATUS_BY_CODE.items())}

# RFC 9110, 15.5.2: a 401 names a way to authenticate.
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="finapi"'}


class ApiError(Exception):
    """An error response. It may be raised anywhere; only ``web/responses.py`` turns it into a response.

    ``code`` is a key of :data:`STATUS_BY_CODE`. ``message`` and ``details`` become members of ``error`` in the
    response. ``extra_fields`` are members of the response next to ``error``, such as the five of a 402. ``headers`` are
    added to the response; a 401 without headers gets :data:`CHALLENGE`. The response is sent after ``delay_seconds``,
    during which it occupies no thread.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        extra_fields: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        delay_seconds: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.delay_seconds = delay_seconds
        self.code = code
        self.status = STATUS_BY_CODE[code]
        self.message = message
        self.details = details
        self.extra_fields = extra_fields or {}
        self.headers = headers or (CHALLENGE if self.status == 401 else {})


def invalid_param(param: str, message: str, **expectation: Any) -> ApiError:
    """Return the 400 for a parameter with a wrong type or value. ``expectation`` is ``allowed=`` or ``expected=``."""
    return ApiError("INVALID_PARAM", message, details={"param": param, **expectation})


class ServerBusyError(ApiError):
    """The 503 for work that has to be refused because the server is busy with the same work for others."""

    def __init__(self, message: str, delay_seconds: float = 0.0) -> None:
        text = f"{message} Try again in a moment."
        super().__init__("UNAVAILABLE", text, headers={"Retry-After": "1"}, delay_seconds=delay_seconds)


class ParseError(ValueError):
    """A document that cannot be read: the file, the place in it, and the reason.

    ``place`` is as exact as the format allows ("line 3, column 7", "context c-12"), or empty.
    """

    def __init__(self, file: str, place: str, reason: str) -> None:
        super().__init__(": ".join(part for part in (file, place, reason) if part))
        self.file = file
        self.place = place
        self.reason = reason


class StoreUnavailableError(Exception):
    """A database that cannot be read or written now. The store has logged the problem of the machine that caused it."""

    public_message = "Nothing can be stored at the moment."


def store_unavailable(error: type[StoreUnavailableError] | StoreUnavailableError = StoreUnavailableError) -> ApiError:
    """Return the 503 for a database that fails. Callers should wait 30 s: the operator needs time for a full disk."""
    return ApiError("UNAVAILABLE", error.public_message, headers={"Retry-After": "30"})


class UsageError(Exception):
    """A mistake on the command line, in a setting or in a configuration file. The message is one line."""
