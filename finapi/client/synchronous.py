"""The client that waits: ``Client(base_url, api_key)``, by urllib or whatever else sends a request."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

from finapi.client import exchange, feeds, frames
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.feeds import FeedPlace
from finapi.client.operations import listing, operation
from finapi.client.types import Calls, Day, Moment

TRIES = 4
SECONDS = 30.0  # until an answer begins, and between two pieces of it
WHOLE = 330.0  # seconds for all of one: a server ends its own after 300

# Sends a request and gives what came, or None when no answer did.
Send = Callable[[ApiRequest], ApiAnswer | None]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer: nothing here leads elsewhere, and a key must not follow it there."""

    def redirect_request(self, *_: Any) -> None:
        """No other request."""


class _LateTls(urllib.request.HTTPSHandler):
    """Loads the machine's certificates with the first request that is encrypted: Python 3.13 takes 27 ms for them."""

    def __init__(self) -> None:
        urllib.request.AbstractHTTPHandler.__init__(self)
        self._loaded = False

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """The answer to a request."""
        if not self._loaded:
            super().__init__()
            self._loaded = True
        return super().https_open(req)


def by_urllib(seconds: float = SECONDS, *, says_why: bool = False) -> Send:
    """A sender over urllib, with so much time for each answer; with ``says_why`` one of status 0 where none came."""
    opener = urllib.request.build_opener(_NoRedirect(), _LateTls())

    def send(request: ApiRequest) -> ApiAnswer | None:
        if not request.url.startswith(("http://", "https://")):
            raise ValueError(f"not an http or https URL: {request.url}")
        made = urllib.request.Request(request.url, request.body or None, dict(request.headers), method=request.method)
        try:
            with opener.open(made, timeout=seconds) as response:
                return _answer(response.status, response.headers, _read(response))
        except urllib.error.HTTPError as error:
            try:
                return _answer(error.code, error.headers, _read(error))
            except (OSError, http.client.HTTPException) as cut_off:
                return exchange.unanswered(cut_off) if says_why else None
        except (OSError, http.client.HTTPException) as error:
            return exchange.unanswered(error) if says_why else None

    return send


def _read(response: Any) -> bytes:
    """The whole body; TimeoutError for one that drips for ever, IncompleteRead for one that is cut off."""
    length = response.length  # no length of a HEAD or of chunks is left to be read
    body = _joined(iter(lambda: response.read1(1 << 16), b""))
    if length is not None and len(body) < length:
        raise http.client.IncompleteRead(body, length - len(body))
    return body


def _joined(pieces: Iterable[bytes]) -> bytes:
    """What comes in pieces; TimeoutError when it is not whole in time."""
    until, body = time.monotonic() + WHOLE, bytearray()
    for piece in pieces:
        body += piece
        if time.monotonic() > until:
            raise TimeoutError(f"the answer is not whole after {WHOLE:g} s")
    return bytes(body)


def by_httpx(http: Any) -> Send:
    """A sender over an ``httpx.Client``: its connections stay open, and it has what httpx has."""
    import httpx

    def send(request: ApiRequest) -> ApiAnswer | None:
        try:
            with http.stream(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.body,
                follow_redirects=False,  # whatever the client does else: the key would go along
            ) as got:
                return _answer(got.status_code, got.headers, _joined(got.iter_bytes()))
        except (httpx.HTTPError, TimeoutError) as error:
            return exchange.unanswered(error)

    return send


def _answer(status: int, headers: Any, body: bytes) -> ApiAnswer:
    return ApiAnswer(status, {name.lower(): value for name, value in headers.items()}, body)


class ClientOptions(TypedDict, total=False):
    """What a client is told beside where and with which key."""

    token: str | None
    tries: int
    headers: Mapping[str, str] | None
    send: Send | None
    wait: Callable[[float], None] | None


class Client(Calls[Day, Moment]):
    """Calls of a finapi by name: ``client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"])``.

    Numbers with a point are ``Decimal``, with ``dates=True`` days are ``date``. A call that was refused for now is
    made again after ``Retry-After``, at most ``tries`` times; an error is an :class:`ApiFailure`.
    """

    @overload
    def __init__(
        self: Client[str, str],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[False] = False,
        **more: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[date, datetime],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[True],
        **more: Unpack[ClientOptions],
    ) -> None: ...
    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        token: str | None = None,
        tries: int = TRIES,
        dates: bool = False,
        headers: Mapping[str, str] | None = None,
        send: Send | None = None,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.headers = exchange.credentials(api_key, token, headers)
        self.last: ApiAnswer | None = None  # the answer before it was read: headers, status
        self._tries = tries
        self._dates = dates
        self._send = send or by_urllib(says_why=True)
        self._wait = wait or time.sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays open between two calls, and what ``send`` holds is whose it is."""

    def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The document that a call of any path answers."""
        return self._told(exchange.request(self.base_url, method, path, query=query, body=body, headers=self.headers))

    def _named(self, name: str) -> Any:
        known = operation(name)
        return lambda **values: self._told(known.request(self.base_url, self.headers, values))

    def _rows(self, name: str, **values: Any) -> Iterator[Any]:
        """Every row of a list, page after page: ``client.rows("get_sec_filings", ticker="AAPL")``."""
        known = listing(name)
        pages = exchange.Pages(known.rows_in or "", values, dates=self._dates)
        while pages.query is not None:
            asked = known.request(self.base_url, self.headers, pages.query)
            answer = self._held(exchange.conversation(asked, self._tries))
            yield from pages.rows(answer)

    if not TYPE_CHECKING:  # Calls has their types
        __getattr__, rows = _named, _rows

    def to_pandas(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``pandas.DataFrame`` (``pip install pandas``)."""
        return frames.to_pandas(self._rows(name, **values))

    def to_polars(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``polars.DataFrame`` (``pip install polars``)."""
        return frames.to_polars(self._rows(name, **values))

    def feed(
        self,
        name: str,
        *,
        since: int | None = None,
        epoch: int | None = None,
        tickers: Collection[str] = (),
        ciks: Collection[str] = (),
        form_types: Collection[str] = (),
    ) -> Iterator[dict[str, Any]]:
        """The events of a feed (main-api, insider-api, 13f-live) as they happen, for ever, over WebSocket.

        After a break it goes on behind the last one, none lost and none twice; an event ``gap`` says what is no longer
        kept. ApiFailure for a refusal, or when ten connections in a row told nothing.
        """
        filters = {"tickers": tickers, "ciks": ciks, "form_types": form_types}
        place = FeedPlace(self.base_url, name, self.headers, since, epoch, filters, dates=self._dates)
        return feeds.read(place, self._wait)

    def events(
        self, feed: str, *, since: int | None = None, epoch: int | None = None, wait: float = 5.0
    ) -> Iterator[dict[str, Any]]:
        """The events of a feed for ever, without WebSocket; ``wait`` seconds between two empty looks.

        After each it goes on by its number and its epoch, which is another one where a backup was restored.
        """
        while True:
            document = self.call("GET", "/api/v1/events", {"feed": feed, "since_seq": since, "epoch": epoch})
            for event in document["data"]:
                since, epoch = event["seq"], event["epoch"]
                yield event
            if not document["data"]:
                self._wait(wait)

    def _told(self, asked: ApiRequest) -> Any:
        return exchange.decoded(self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    def _held(self, talk: Conversation) -> ApiAnswer:
        """Hold a conversation to its end."""
        answer: ApiAnswer | None = None
        try:
            wanted = next(talk)
            while True:
                if isinstance(wanted, ApiRequest):
                    self.last = answer = self._send(wanted)
                else:
                    self._wait(wanted)
                    answer = None
                wanted = talk.send(answer)
        except StopIteration as end:
            found: ApiAnswer = end.value
            return found
