"""The synchronous client, ``Client(base_url, api_key)``, and the functions that send its requests."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

from finapi.client import exchange, feeds, frames
from finapi.client.base import ClientBase
from finapi.client.descriptions import describe_method
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.feeds import FeedCursor
from finapi.client.operations import get_list_operation, get_operation
from finapi.client.types import Calls, Day, Moment

MAX_TRIES = 4
TIMEOUT_SECONDS = 30.0  # Maximum time until an answer begins, and between two parts of it.
TOTAL_TIMEOUT_SECONDS = 330.0  # Maximum time for a complete answer. The server's own limit is 300 s.
RECEIVE_BYTES = 65_536

# A function that sends a request and returns the answer, or None if no answer arrived.
Send = Callable[[ApiRequest], ApiAnswer | None]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Returns redirects as answers instead of following them, so that the key is never sent to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that urllib does not follow the redirect."""


class _LazyHttpsHandler(urllib.request.HTTPSHandler):
    """Loads the system's certificates with the first encrypted request: Python 3.13 takes 27 ms for them."""

    def __init__(self) -> None:
        urllib.request.AbstractHTTPHandler.__init__(self)
        self._is_loaded = False

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Return the response to a request."""
        if not self._is_loaded:
            super().__init__()
            self._is_loaded = True
        return super().https_open(req)


def by_urllib(timeout_seconds: float = TIMEOUT_SECONDS, *, with_reason: bool = False) -> Send:
    """Return a function that sends requests with urllib.

    If there is no answer it returns None, or an answer of status 0 and the reason if ``with_reason`` is set.
    """
    opener = urllib.request.build_opener(_NoRedirect(), _LazyHttpsHandler())

    def build_failed_answer(error: Exception) -> ApiAnswer | None:
        return exchange.build_unreachable_answer(error) if with_reason else None

    def send(request: ApiRequest) -> ApiAnswer | None:
        """Send a request and return its answer, of any status. Raise ValueError for a URL that is not of HTTP."""
        if not request.url.startswith(("http://", "https://")):
            raise ValueError(f"not an http or https URL: {request.url}")
        headers = dict(request.headers)
        urllib_request = urllib.request.Request(request.url, request.body or None, headers, method=request.method)
        try:
            with opener.open(urllib_request, timeout=request.timeout_seconds or timeout_seconds) as response:
                return _build_answer(response.status, response.headers, _read_body(response))
        except urllib.error.HTTPError as response:
            try:
                return _build_answer(response.code, response.headers, _read_body(response))
            except (OSError, http.client.HTTPException) as error:
                return build_failed_answer(error)
        except (OSError, http.client.HTTPException) as error:
            return build_failed_answer(error)

    return send


def _read_body(response: Any) -> bytes:
    """Return the complete body. Raise TimeoutError if it takes too long, and IncompleteRead if it is too short."""
    length = response.length  # None in response to HEAD, and for a chunked body.
    body = _join_parts(iter(lambda: response.read1(RECEIVE_BYTES), b""))
    if length is not None and len(body) < length:
        raise http.client.IncompleteRead(body, length - len(body))
    return body


def _join_parts(parts: Iterable[bytes]) -> bytes:
    """Return the joined parts of a body. Raise TimeoutError if they take too long in total."""
    until = time.monotonic() + TOTAL_TIMEOUT_SECONDS
    body = bytearray()
    for part in parts:
        body += part
        if time.monotonic() > until:
            raise TimeoutError(f"the answer is still incomplete after {TOTAL_TIMEOUT_SECONDS:g} s")
    return bytes(body)


def by_httpx(http: Any) -> Send:
    """Return a function that sends requests with an ``httpx.Client``, whose connections stay open."""
    import httpx

    def send(request: ApiRequest) -> ApiAnswer | None:
        """Send a request and return its answer, of any status. Without one, return an answer of status 0."""
        timeout = httpx.USE_CLIENT_DEFAULT if request.timeout_seconds is None else request.timeout_seconds
        try:
            with http.stream(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.body,
                timeout=timeout,
                follow_redirects=False,  # Overrides the setting of the httpx client: the key would be sent along.
            ) as response:
                return _build_answer(response.status_code, response.headers, _join_parts(response.iter_bytes()))
        except (httpx.HTTPError, TimeoutError) as error:
            return exchange.build_unreachable_answer(error)

    return send


def _build_answer(status: int, headers: Any, body: bytes) -> ApiAnswer:
    return ApiAnswer(status, {name.lower(): text for name, text in headers.items()}, body)


class ClientOptions(TypedDict, total=False):
    """The options of a client."""

    token: str | None
    tries: int
    timeout: float | None
    headers: Mapping[str, str] | None
    send: Send | None
    wait: Callable[[float], None] | None


class Client(ClientBase, Calls[Day, Moment]):
    """A client with a method for each operation: ``client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"])``.

    Numbers with a decimal point are ``Decimal``. With ``dates=True`` days are ``date``. A call that fails temporarily
    is repeated after ``Retry-After``, up to ``tries`` times in total. An error raises :class:`ApiFailure` or one of
    its subclasses. ``timeout`` is the maximum number of seconds until a connection is open, until an answer begins and
    between two parts of it (30 by default); each call takes another one, ``client.get_policy(timeout=5)``.
    """

    @overload
    def __init__(
        self: Client[str, str],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[False] = False,
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[date, datetime],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[True],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        token: str | None = None,
        tries: int = MAX_TRIES,
        timeout: float | None = None,
        dates: bool = False,
        headers: Mapping[str, str] | None = None,
        send: Send | None = None,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self.base_url = exchange.parse_base_url(base_url)
        self.headers = exchange.build_headers(api_key, token, headers)
        self.last: ApiAnswer | None = None  # The latest answer, with its status and headers.
        self._tries = tries
        self._timeout = exchange.check_timeout(timeout)
        self._dates = dates
        self._send = send or by_urllib(with_reason=True)
        self._wait = wait or time.sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no connection stays open between two calls, and ``send`` belongs to the caller."""

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Call any path, and return the document of the answer."""
        return self._get_document(self._build_path_request(method, path, query, body, timeout))

    def _get_method(self, name: str) -> Any:
        """Return the method that calls an operation. Raise AttributeError if there is no operation of this name."""
        operation = get_operation(name)

        def call_operation(*, timeout: float | None = None, **arguments: Any) -> Any:
            return self._get_document(self._build_request(operation, arguments, timeout))

        return describe_method(call_operation, operation)

    def _iter_rows(self, name: str, *, timeout: float | None = None, **arguments: Any) -> Iterator[Any]:
        """Yield every row of a list, page after page: ``client.rows("get_sec_filings", ticker="AAPL")``."""
        operation = get_list_operation(name)
        pager = exchange.ListPager(operation.rows_path or "", arguments, dates=self._dates)
        while pager.query is not None:
            request = self._build_request(operation, pager.query, timeout)
            answer = self._run(exchange.run_conversation(request, self._tries))
            yield from pager.read_page(answer)

    if not TYPE_CHECKING:  # Type checkers use the declarations in Calls instead.
        __getattr__ = _get_method
        rows = _iter_rows

    def to_pandas(self, name: str, *, floats: bool = False, **arguments: Any) -> Any:
        """Return every row of a list as a ``pandas.DataFrame`` (``pip install pandas``).

        With ``floats=True`` numbers are float64, and days and times are datetime64.
        """
        return frames.to_pandas(name, self._iter_rows(name, **arguments), arguments, floats=floats)

    def to_polars(self, name: str, **arguments: Any) -> Any:
        """Return every row of a list as a ``polars.DataFrame`` (``pip install polars``)."""
        return frames.to_polars(self._iter_rows(name, **arguments))

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
        """Yield the events of a feed (main-api, insider-api, 13f-live) over WebSocket as they occur, without end.

        After an interruption the feed continues after the last event, so that no event is lost or repeated. An event
        ``gap`` stands for events that the server no longer stores. Raise ApiFailure if the feed is refused, or if ten
        connections in a row ended without an event.
        """
        filters = {"tickers": tickers, "ciks": ciks, "form_types": form_types}
        cursor = FeedCursor(self.base_url, name, self.headers, since, epoch, filters, dates=self._dates)
        return feeds.iter_events(cursor, self._wait)

    def events(
        self, feed: str, *, since: int | None = None, epoch: int | None = None, wait: float = 5.0
    ) -> Iterator[dict[str, Any]]:
        """Yield the events of a feed without WebSocket. While there are no new events, poll every ``wait`` seconds.

        The position is the number and the epoch of the last event. The epoch changes when a backup is restored.
        """
        while True:
            document = self.call("GET", "/api/v1/events", {"feed": feed, "since_seq": since, "epoch": epoch})
            for event in document["data"]:
                since, epoch = event["seq"], event["epoch"]
                yield event
            if not document["data"]:
                self._wait(wait)

    def _get_document(self, request: ApiRequest) -> Any:
        answer = self._run(exchange.run_conversation(request, self._tries))
        return exchange.decode_answer(answer, dates=self._dates)

    def _run(self, conversation: Conversation) -> ApiAnswer:
        """Send the requests of a conversation, wait between them, and return its answer."""
        answer: ApiAnswer | None = None
        try:
            step = next(conversation)
            while True:
                if isinstance(step, ApiRequest):
                    answer = self._send(step)
                    self.last = answer
                else:
                    self._wait(step)
                    answer = None
                step = conversation.send(answer)
        except StopIteration as end:
            final_answer: ApiAnswer = end.value
            return final_answer
