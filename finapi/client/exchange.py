"""One call as a conversation without I/O: what is to be sent, what to wait for, and what its end means.

A conversation is a generator. It yields an :class:`ApiRequest` and is sent the :class:`ApiAnswer`, or None for one
that did not come; it yields a number and is resumed after so many seconds. Clients differ in how they do the two.
"""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

USER_AGENT = "finapi-python"
WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before the next try of a call whose answer names none
LONGEST_WAIT = 60.0  # that is waited for without asking; a lock of an hour is the caller's to know of
# The one route whose answer is a redirect, and the one whose answer is a page. Any other redirect or page is another
# server's: of a proxy, or of a network that wants a login.
REDIRECTS = "/api/v1/auth/verifyPasswordLink"
PAGES = "/html"
AGAIN = (0, 408, 429, 500, 502, 503, 504)
SAFE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")  # RFC 9110 9.2.2: as good twice as once


class ApiFailure(Exception):
    """An answer that is no success, or none at all (``status`` 0); ``code`` is the API's."""

    def __init__(
        self, status: int, code: str, message: str, *, document: Mapping[str, Any], headers: Any = None
    ) -> None:
        super().__init__(f"{status} {code}: {message}" if status else message)
        self.status = status
        self.code = code
        self.message = message
        self.details: Mapping[str, Any] = document.get("details") or {}
        self.document = document
        self.headers: Mapping[str, str] = headers or {}

    @property
    def request_id(self) -> str | None:
        """The id by which the operator finds the call."""
        return self.document.get("request_id") or self.headers.get("x-request-id")

    @property
    def retry_after(self) -> float | None:
        """Seconds until it is worth asking again, where the answer says so."""
        return retry_after(self.headers)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What is sent; ``url`` is whole."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent twice: a POST only under an idempotency key."""
        return self.method in SAFE or any(name.lower() == "idempotency-key" for name in self.headers)


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What came back; header names are lower-case. Of status 0 none did, and the body says why."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Conversation = Generator[ApiRequest | float, ApiAnswer | None, ApiAnswer]


def request(
    base_url: str,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> ApiRequest:
    """The request of a call: None in a query is left out, lists are joined, days are written as ISO."""
    told = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    if not path.startswith("/"):
        raise ValueError(f"a path begins with a slash: {path}")
    url = base_url.rstrip("/") + quote(path, safe="/?&=%,:;@+$!*'()~") + (f"?{urlencode(told)}" if told else "")
    sent = {"Accept": "application/json", "User-Agent": USER_AGENT, **(headers or {})}
    if body is None:
        return ApiRequest(method, url, sent)
    return ApiRequest(method, url, {"Content-Type": "application/json", **sent}, _written(body).encode())


def credentials(api_key: str | None, token: str | None, headers: Mapping[str, str] | None) -> dict[str, str]:
    """The headers that every call of a client carries; ValueError for a key that no header can hold."""
    for name, secret in (("API key", api_key), ("token", token)):
        if secret and not (secret.isascii() and secret.isprintable()):
            raise ValueError(f"the {name} holds what is not a printable ASCII character")
    key = {"X-API-Key": api_key} if api_key else {}
    return {**key, **({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}


def filled(path: str, values: dict[str, Any]) -> str:
    """A path with its parameters filled in, which are taken out of ``values``."""
    parts = []
    for part in path.split("/"):
        if part.startswith("{"):
            value = values.pop(part[1:-1], None)
            if value is None or value == "":
                raise TypeError(f"{part[1:-1]} is required")
            part = quote(_text(value), safe="")
        parts.append(part)
    return "/".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_text, value))
    return value.isoformat() if isinstance(value, date) else str(value)


def _written(value: Any) -> str:
    """A body as JSON with every digit of its figures, which ``json`` would write as floats."""
    if isinstance(value, dict):
        return "{" + ", ".join(json.dumps({name: 0})[1:-2] + _written(one) for name, one in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, Decimal):  # with its exponent where it would be a gigabyte, as 1E-999999999 is
        return f"{value:f}" if abs(value.adjusted()) < 1_000 else str(value)
    return json.dumps(value, default=_text)


def conversation(first: ApiRequest, tries: int) -> Conversation:
    """The whole of a call: sent until it is answered for good, ``tries`` times at most; ApiFailure for an error."""
    for number in range(1, max(tries, 1) + 1):
        answer = yield first
        if answer is not None and 200 <= answer.status < 400:
            judged(urlsplit(first.url).path, answer)
            return answer
        failure = failed(answer)
        told = failure.retry_after
        # Nothing was done before a 429, nor before a 503 that says when to come back. One that does not may have cut
        # off what was under way, as a server does that stops.
        refused = failure.status == 429 or (failure.status == 503 and told is not None)
        if number >= tries or failure.status not in AGAIN or not (first.repeatable or refused):
            raise failure
        if told is not None and told > LONGEST_WAIT:
            raise failure
        yield told if told is not None else spread(WAITS[min(number, len(WAITS)) - 1])
    raise AssertionError("a call is tried at least once")


def spread(seconds: float) -> float:
    """About so long: many who were refused at once do not come back at once."""
    return seconds * (0.5 + random.random() / 2)  # nosec B311


def failed(answer: ApiAnswer | None) -> ApiFailure:
    """The failure that an answer is, or that none came."""
    if answer is None or answer.status == 0:
        why = answer.body.decode("utf-8", "replace") if answer is not None else ""
        return ApiFailure(
            0, "UNREACHABLE", f"There was no answer: {why.rstrip('.')}." if why else "There was no answer.", document={}
        )
    document: Mapping[str, Any] = {}
    try:
        told = json.loads(answer.body)
        document = told if isinstance(told, dict) else {}
    except (ValueError, RecursionError):
        pass  # a proxy's own page
    code, message = str(document.get("code", "HTTP")), str(document.get("message", "The answer is no document."))
    return ApiFailure(answer.status, code, message, document=document, headers=answer.headers)


def judged(path: str, answer: ApiAnswer) -> None:
    """ApiFailure for an answer that is no error and yet not this API's."""
    if answer.status >= 400:
        return
    if answer.status >= 300 and answer.status != 304 and not path.endswith(REDIRECTS):
        raise another(answer, f"The service redirects to {answer.headers.get('location', 'elsewhere')}.")
    page = answer.headers.get("content-type", "").lower().startswith("text/html")
    if page and "/api/v1/" in path and not path.endswith(PAGES):
        raise another(answer, "The answer is a page, not one of this API.")


def another(answer: ApiAnswer, what: str) -> ApiFailure:
    """The failure that an answer is which no server of this API gives."""
    return ApiFailure(answer.status, "UNEXPECTED", what, document={}, headers=answer.headers)


def unanswered(error: Exception) -> ApiAnswer:
    """What a client is given where none came."""
    why = getattr(error, "reason", None) or error
    return ApiAnswer(0, {}, (str(why) or type(why).__name__).encode("utf-8", "replace"))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` names, as a number or as a time beside ``Date``, else beside our own clock."""
    told = headers.get("retry-after", "").strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        date = headers.get("date")
        then, now = _moment(told), _moment(date) if date else datetime.now(UTC)
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _moment(text: str) -> datetime:
    """A time of HTTP; those without a zone are of UTC, too (RFC 9110 5.6.7)."""
    found = parsedate_to_datetime(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def decoded(answer: ApiAnswer, *, dates: bool) -> Any:
    """The document of an answer, of a file its bytes: numbers with a point as Decimal, with ``dates`` days as such."""
    kind = answer.headers.get("content-type", "").lower()
    if kind == "application/octet-stream":
        return answer.body
    if not kind.startswith("application/json"):
        return answer.body.decode("utf-8", "replace")
    try:
        return document(answer.body, dates=dates)
    except (ValueError, RecursionError):
        raise ApiFailure(
            answer.status, "CUT_OFF", "The response is incomplete.", document={}, headers=answer.headers
        ) from None


def document(text: str | bytes, *, dates: bool) -> Any:
    """A JSON document with its figures as Decimal; ValueError for what is none."""
    value = json.loads(text, parse_float=Decimal)
    return _dated(value) if dates else value


@cache
def _times() -> frozenset[str]:
    """The members of answers that are days or times."""
    from importlib import resources  # few clients come here, and each would wait for it

    return frozenset(json.loads((resources.files("finapi.client") / "times.json").read_text("utf-8")))


def _dated(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _dated(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_dated(one, name) for one in value]
    if isinstance(value, str) and name in _times():
        try:
            return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except ValueError:
            return value
    return value


# ---- pages

ALIKE = 10  # pages in a row after which a server does not read what it is asked; a filer may report a line twice


def rows_of(document: Any, rows_in: str) -> list[Any]:
    """The rows of a list's answer; ValueError for what is none."""
    for member in filter(None, rows_in.split(".")):
        document = document.get(member) if isinstance(document, dict) else None
    if not isinstance(document, list):
        raise ValueError("not a list")
    return list(document)


class Pages:
    """The way through a list, without I/O: ``query`` asks for the next page, None after the last."""

    def __init__(self, rows_in: str, query: Mapping[str, Any], *, dates: bool) -> None:
        self.query: Mapping[str, Any] | None = query
        self._rows_in, self._dates = rows_in, dates
        self._last: list[Any] = []
        self._alike = 0

    def rows(self, answer: ApiAnswer) -> list[Any]:
        """The rows of a page; ApiFailure for what is none, and for a list that would never end."""
        document = decoded(answer, dates=self._dates)
        try:
            found = rows_of(document, self._rows_in)
            query = following(self.query or {}, document, answer.headers, len(found))
        except (ValueError, TypeError, AttributeError):
            raise another(answer, "The answer is not a page of a list.") from None
        self._alike = self._alike + 1 if found == self._last else 0
        if query is not None and (query == self.query or self._alike >= ALIKE):
            raise another(answer, "The service answers the same page again and again.")
        self.query, self._last = query, found
        return found


def following(query: Mapping[str, Any], document: Any, headers: Mapping[str, str], rows: int) -> dict[str, Any] | None:
    """The query of the next page, by the cursor or the offset that an answer tells; None after the last."""
    meta = document.get("meta") or document if isinstance(document, dict) else {}
    meta = meta.get("pagination") or meta
    cursor = meta.get("next_cursor") or headers.get("x-next-cursor")
    if cursor and rows:
        return {**query, "cursor": cursor}
    more = meta.get("has_more")
    if more is None:
        more = headers.get("x-has-more") == "true" or meta.get("page", 1) < meta.get("total_pages", 0)
    if not more or not rows:
        return None
    if "page" in meta:
        return {**query, "page": meta["page"] + 1}
    return {**query, "offset": (query.get("offset") or 0) + rows}
