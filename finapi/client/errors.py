"""Exceptions of the client. All of them can be pickled, and print the details of the API's error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

MAX_DETAIL_CHARACTERS = 300  # A longer detail is cut off in the printed message.
# Members of an error document that the printed message has already, or that mean nothing to a reader.
UNPRINTED_MEMBERS = ("code", "message", "error", "status", "details", "request_id", "timestamp")


class ApiFailure(Exception):
    """An error of the API, or a call without an answer (``status`` 0). ``code`` is the code of the API."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        document: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.details: Mapping[str, Any] = document.get("details") or {}
        self.document = document
        self.headers: Mapping[str, str] = headers or {}

    def __reduce__(self) -> tuple[Any, ...]:
        values = (type(self), self.status, self.code, self.message, dict(self.document), dict(self.headers))
        return _rebuild_failure, values

    def __str__(self) -> str:
        """Return the summary and the details: ``404 UNKNOWN_TICKER: There is no such ticker. (nearest: AAPL)``."""
        details = dict(self.details) if isinstance(self.details, Mapping) else {"details": self.details}
        for name, value in self.document.items():
            if name not in UNPRINTED_MEMBERS and value is not None:
                details[name] = value
        if self.request_id:
            details["request_id"] = self.request_id
        parts = [f"{name}: {_render_detail(value)}" for name, value in details.items()]
        return f"{self.summary} ({'; '.join(parts)})" if parts else self.summary

    @property
    def summary(self) -> str:
        """Return status, code and message without the details."""
        return f"{self.status} {self.code}: {self.message}" if self.status else self.message

    @property
    def request_id(self) -> str | None:
        """Return the id by which the operator finds the call."""
        return self.document.get("request_id") or self.headers.get("x-request-id")

    @property
    def retry_after(self) -> float | None:
        """Return the seconds after which to try again, or None if the answer does not say."""
        return parse_retry_after(self.headers)


class ConnectionFailed(ApiFailure):
    """No answer arrived: the connection was refused, broke or timed out. ``status`` is 0."""


class Unauthorized(ApiFailure):
    """The key or the token is missing or invalid (401)."""


class InsufficientTokens(ApiFailure):
    """The token balance is below the cost of the call (402). ``document`` has the cost and the balance."""


class NotFound(ApiFailure):
    """The path, the ticker or the document does not exist (404)."""


class RateLimited(ApiFailure):
    """Too many calls, or a temporary lock (429). ``retry_after`` has the seconds to wait."""


class ServerError(ApiFailure):
    """The service or a proxy failed (500 to 599)."""


class WebhookSignatureError(Exception):
    """A message of a webhook that must not be processed: unsigned, signed with another secret, or too old."""


FAILURE_CLASSES: Mapping[int, type[ApiFailure]] = {
    0: ConnectionFailed,
    401: Unauthorized,
    402: InsufficientTokens,
    404: NotFound,
    429: RateLimited,
}


def build_api_failure(
    status: int, code: str, message: str, *, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> ApiFailure:
    """Return the failure of the class that belongs to a status."""
    default_class = ServerError if status >= 500 else ApiFailure
    return FAILURE_CLASSES.get(status, default_class)(status, code, message, document=document, headers=headers)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``Retry-After``, or None if it is missing or invalid.

    A time is compared with ``Date``, or with our own clock if there is none.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    date_text = headers.get("date")
    try:
        retry_at = _parse_http_date(text)
        now = _parse_http_date(date_text) if date_text else datetime.now(UTC)
    except (ValueError, TypeError):
        return None
    return max(0.0, (retry_at - now).total_seconds())


def _parse_http_date(text: str) -> datetime:
    """Return a time of HTTP. Without a zone it is UTC (RFC 9110 section 5.6.7)."""
    from email.utils import parsedate_to_datetime  # Imported here: few answers have such a time, and it takes long.

    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _render_detail(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= MAX_DETAIL_CHARACTERS else text[:MAX_DETAIL_CHARACTERS] + "..."


def _rebuild_failure(
    failure_class: type[ApiFailure],
    status: int,
    code: str,
    message: str,
    document: Mapping[str, Any],
    headers: Mapping[str, str],
) -> ApiFailure:
    return failure_class(status, code, message, document=document, headers=headers)
