"""Calls of the API without I/O: requests, answers, errors, retries and pages.

A call is a generator (:data:`Conversation`) that a client drives. The generator yields an :class:`ApiRequest`; the
client sends it, and resumes the generator with the :class:`ApiAnswer`, or with None if there was no answer. If the
generator yields a number, the client waits for this number of seconds. At its end the generator returns the final
answer, or raises :class:`ApiFailure`. So the synchronous and the asynchronous client share all rules, and differ only
in how they send and wait.
"""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from finapi import __version__
from finapi.client.errors import ApiFailure, build_api_failure

logger = logging.getLogger("finapi.client")
logger.addHandler(logging.NullHandler())

USER_AGENT = f"finapi-client/{__version__}"
API_PREFIX = "/api/v1"
UNLOGGED_PARAMETERS = ("api_key", "token")  # Query parameters with a secret.
RETRY_WAIT_SECONDS = (0.5, 1.0, 2.0, 4.0)  # Waits before the next tries, if the answer has no Retry-After.
MAX_RETRY_AFTER_SECONDS = 60.0  # A longer Retry-After is left to the caller: a lock of an hour, for example.
# The only operation that answers with a redirect, and the only one that answers with an HTML page. Any other redirect
# or page comes from elsewhere: from a proxy, or from a network that requires a login.
REDIRECTING_PATH = "/api/v1/auth/verifyPasswordLink"
HTML_PATH_SUFFIX = "/html"
RETRIED_STATUSES = (0, 408, 429, 500, 502, 503, 504)
IDEMPOTENT_METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")  # RFC 9110 section 9.2.2.
# Numbers that would need more digits are written with an exponent: without it, 1E-999999999 would take a gigabyte.
MAX_PLAIN_DIGITS = 1_000


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request with its complete URL."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    timeout_seconds: float | None = None  # None for the limits of the client or the library that sends the request.

    @property
    def is_repeatable(self) -> bool:
        """Return True if the request may be sent twice. A POST may be sent twice only with an idempotency key."""
        has_key = any(name.lower() == "idempotency-key" for name in self.headers)
        return self.method in IDEMPOTENT_METHODS or has_key


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An answer. Header names are lower-case. Status 0 means that no answer arrived, and the body says why."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Conversation = Generator[ApiRequest | float, ApiAnswer | None, ApiAnswer]


# ---- requests


def build_request(
    base_url: str,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> ApiRequest:
    """Return a request. In the query None is left out, lists are joined with commas, and days are written in ISO 8601.

    Raise ValueError for a path that does not begin with a slash.
    """
    if not path.startswith("/"):
        raise ValueError(f"a path must begin with a slash: {path}")
    parameters = {name: _format_parameter(value) for name, value in (query or {}).items() if value is not None}
    url = base_url.rstrip("/") + quote(path, safe="/?&=%,:;@+$!*'()~")
    if parameters:
        url += f"?{urlencode(parameters)}"
    all_headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **(headers or {})}
    if body is None:
        return ApiRequest(method, url, all_headers, timeout_seconds=timeout_seconds)
    all_headers = {"Content-Type": "application/json", **all_headers}
    return ApiRequest(method, url, all_headers, _encode_json(body).encode(), timeout_seconds)


def parse_base_url(url: str) -> str:
    """Return the URL of a server without a final slash, and without ``/api/v1``, which each path has."""
    return url.rstrip("/").removesuffix(API_PREFIX).rstrip("/")


def check_timeout(seconds: float | None) -> float | None:
    """Return a timeout. Raise ValueError if it is not a positive number of seconds, or None for the default."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise ValueError(f"timeout must be a positive number of seconds: {seconds}")
    return seconds


def build_headers(api_key: str | None, token: str | None, headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return the headers of every request of a client. Raise ValueError for a key that a header cannot contain."""
    for name, secret in (("API key", api_key), ("token", token)):
        if secret and not (secret.isascii() and secret.isprintable()):
            raise ValueError(f"the {name} must consist of printable ASCII characters")
    all_headers = {}
    if api_key:
        all_headers["X-API-Key"] = api_key
    if token:
        all_headers["Authorization"] = f"Bearer {token}"
    all_headers.update(headers or {})
    return all_headers


def fill_path(path: str, values: dict[str, Any]) -> str:
    """Return a path with its parameters filled in. They are removed from ``values``.

    Raise TypeError if one is missing.
    """
    parts = []
    for part in path.split("/"):
        if part.startswith("{"):
            name = part[1:-1]
            value = values.pop(name, None)
            if value is None or value == "":
                raise TypeError(f"{name} is required")
            part = quote(_format_parameter(value), safe="")
        parts.append(part)
    return "/".join(parts)


def _format_parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_format_parameter, value))
    return value.isoformat() if isinstance(value, date) else str(value)


def _encode_json(value: Any) -> str:
    """Return a body as JSON. A Decimal is written with all of its digits, which ``json`` cannot do."""
    if isinstance(value, dict):
        members = []
        for name, member in value.items():
            encoded_name = json.dumps({name: 0})[1:-2]  # As '"name": ', for any key that json accepts.
            members.append(encoded_name + _encode_json(member))
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(_encode_json, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}" if abs(value.adjusted()) < MAX_PLAIN_DIGITS else str(value)
    return json.dumps(value, default=_format_parameter)


# ---- calls and their errors


def run_conversation(request: ApiRequest, max_tries: int) -> Conversation:
    """Yield a request and the waits between its tries, up to ``max_tries``. Return the answer.

    Raise ApiFailure for an error that would happen again, and after the last try.
    """
    for try_number in range(1, max(max_tries, 1) + 1):
        started_at = time.monotonic()
        answer = yield request
        _log_answer(request, answer, time.monotonic() - started_at)
        if answer is not None and 200 <= answer.status < 400:
            check_answer(urlsplit(request.url).path, answer)
            return answer
        failure = build_failure(answer)
        retry_after = failure.retry_after
        # A call that is answered 429, or 503 with a Retry-After, was not begun. A 503 without Retry-After may have
        # interrupted the call: a server that stops sends it.
        is_refused = failure.status == 429 or (failure.status == 503 and retry_after is not None)
        is_last_try = try_number >= max_tries or failure.status not in RETRIED_STATUSES
        if is_last_try or not (request.is_repeatable or is_refused):
            raise failure
        if retry_after is None:
            wait_index = min(try_number, len(RETRY_WAIT_SECONDS)) - 1
            wait_seconds = add_jitter(RETRY_WAIT_SECONDS[wait_index])
        elif retry_after <= MAX_RETRY_AFTER_SECONDS:
            wait_seconds = retry_after
        else:
            raise failure
        logger.warning(
            "%s %s is tried again in %.1f s (try %d of %d): %s",
            request.method,
            hide_secrets(request.url),
            wait_seconds,
            try_number + 1,
            max_tries,
            failure.summary,
        )
        yield wait_seconds
    raise AssertionError("a call is tried at least once")


def _log_answer(request: ApiRequest, answer: ApiAnswer | None, seconds: float) -> None:
    if logger.isEnabledFor(logging.DEBUG):
        status = answer.status if answer is not None else 0
        url = hide_secrets(request.url)
        logger.debug("%s %s: %s in %.0f ms", request.method, url, status or "no answer", seconds * 1000)


def hide_secrets(url: str) -> str:
    """Return a URL for the log, with ``***`` instead of a key or a token in the query."""
    parts = urlsplit(url)
    parameters = []
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        parameters.append((name, "***" if name in UNLOGGED_PARAMETERS else value))
    return parts._replace(query=urlencode(parameters, safe="*,:")).geturl()


def add_jitter(seconds: float) -> float:
    """Return a random part (half to all) of the seconds, so that clients do not all try again at the same time."""
    return seconds * (0.5 + random.random() / 2)  # nosec B311


def build_failure(answer: ApiAnswer | None) -> ApiFailure:
    """Return the failure for an error of the API, or for a call without an answer."""
    if answer is None or answer.status == 0:
        reason = answer.body.decode("utf-8", "replace").rstrip(".") if answer is not None else ""
        message = f"There was no answer: {reason}." if reason else "There was no answer."
        return build_api_failure(0, "UNREACHABLE", message, document={})
    document: Mapping[str, Any] = {}
    try:
        parsed = json.loads(answer.body)
        document = parsed if isinstance(parsed, dict) else {}
    except (ValueError, RecursionError):
        pass  # The body is not an error of this API: for example, the error page of a proxy.
    code = str(document.get("code", "HTTP"))
    message = str(document.get("message", "The answer is no document."))
    return build_api_failure(answer.status, code, message, document=document, headers=answer.headers)


def check_answer(path: str, answer: ApiAnswer) -> None:
    """Raise ApiFailure if a successful answer does not come from this API."""
    if answer.status >= 400:
        return
    if answer.status >= 300 and answer.status != 304 and not path.endswith(REDIRECTING_PATH):
        location = answer.headers.get("location", "elsewhere")
        raise build_unexpected_failure(answer, f"The service redirects to {location}.")
    is_page = answer.headers.get("content-type", "").lower().startswith("text/html")
    if is_page and "/api/v1/" in path and not path.endswith(HTML_PATH_SUFFIX):
        raise build_unexpected_failure(answer, "The answer is an HTML page, not an answer of this API.")


def build_unexpected_failure(answer: ApiAnswer, message: str) -> ApiFailure:
    """Return the failure for an answer that no server of this API gives."""
    return ApiFailure(answer.status, "UNEXPECTED", message, document={}, headers=answer.headers)


def build_unreachable_answer(error: Exception) -> ApiAnswer:
    """Return an answer with status 0 that contains the reason why no answer arrived."""
    reason = getattr(error, "reason", None) or error
    return ApiAnswer(0, {}, (str(reason) or type(reason).__name__).encode("utf-8", "replace"))


# ---- answers


def decode_answer(answer: ApiAnswer, *, dates: bool) -> Any:
    """Return the document of an answer, the bytes of a file, or any other answer as text.

    Numbers with a decimal point are Decimal. With ``dates``, days and times are date and datetime. Raise ApiFailure if
    the document is incomplete.
    """
    content_type = answer.headers.get("content-type", "").lower()
    if content_type in ("application/gzip", "application/octet-stream"):
        return answer.body
    if not content_type.startswith("application/json"):
        return answer.body.decode("utf-8", "replace")
    try:
        return parse_document(answer.body, dates=dates)
    except (ValueError, RecursionError):
        raise ApiFailure(
            answer.status, "CUT_OFF", "The response is incomplete.", document={}, headers=answer.headers
        ) from None


def parse_document(text: str | bytes, *, dates: bool) -> Any:
    """Return a JSON document whose numbers with a decimal point are Decimal. Raise ValueError if it is malformed."""
    document = json.loads(text, parse_float=Decimal)
    return _convert_dates(document) if dates else document


@cache
def _load_date_members() -> frozenset[str]:
    """Return the names of members that are days or times."""
    from importlib import resources  # Imported here: few clients need it, and the import takes time.

    return frozenset(json.loads((resources.files("finapi.client") / "times.json").read_text("utf-8")))


def _convert_dates(value: Any, member_name: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _convert_dates(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_convert_dates(element, member_name) for element in value]
    if isinstance(value, str) and member_name in _load_date_members():
        try:
            return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except ValueError:
            return value
    return value


# ---- pages

# After this number of equal pages in a row, assume that the server ignores the position in the query. A few equal pages
# are possible, because a filer may report a line twice.
MAX_EQUAL_PAGES = 10


def get_rows(document: Any, rows_path: str) -> list[Any]:
    """Return the rows of a list's answer. Raise ValueError if there are none at this path."""
    for member in filter(None, rows_path.split(".")):
        document = document.get(member) if isinstance(document, dict) else None
    if not isinstance(document, list):
        raise ValueError(f"there is no list at {rows_path!r}")
    return list(document)


class ListPager:
    """The pages of a list, without I/O. ``query`` is the query of the next page, or None after the last one."""

    def __init__(self, rows_path: str, query: Mapping[str, Any], *, dates: bool) -> None:
        self.query: Mapping[str, Any] | None = query
        self._rows_path = rows_path
        self._dates = dates
        self._last_rows: list[Any] = []
        self._equal_pages = 0

    def read_page(self, answer: ApiAnswer) -> list[Any]:
        """Return the rows of a page, and set the query of the next one.

        Raise ApiFailure if the answer is not a page, or if the list would never end.
        """
        document = decode_answer(answer, dates=self._dates)
        try:
            rows = get_rows(document, self._rows_path)
            next_query = build_next_query(self.query or {}, document, answer.headers, len(rows))
        except (ValueError, TypeError, AttributeError):
            raise build_unexpected_failure(answer, "The answer is not a page of a list.") from None
        self._equal_pages = self._equal_pages + 1 if rows == self._last_rows else 0
        if next_query is not None and (next_query == self.query or self._equal_pages >= MAX_EQUAL_PAGES):
            raise build_unexpected_failure(answer, "The service returns the same page again and again.")
        self.query = next_query
        self._last_rows = rows
        return rows


def build_next_query(
    query: Mapping[str, Any], document: Any, headers: Mapping[str, str], row_count: int
) -> dict[str, Any] | None:
    """Return the query of the next page, by the cursor, page or offset of the answer, or None after the last page."""
    meta = document.get("meta") or document if isinstance(document, dict) else {}
    meta = meta.get("pagination") or meta
    cursor = meta.get("next_cursor") or headers.get("x-next-cursor")
    if cursor and row_count:
        return {**query, "cursor": cursor}
    has_more = meta.get("has_more")
    if has_more is None:
        has_more = headers.get("x-has-more") == "true" or meta.get("page", 1) < meta.get("total_pages", 0)
    if not has_more or not row_count:
        return None
    if "page" in meta:
        return {**query, "page": meta["page"] + 1}
    return {**query, "offset": (query.get("offset") or 0) + row_count}
