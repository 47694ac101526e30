"""The asynchronous client: ``async with AsyncClient(base_url, api_key) as client``.

It sends requests with httpx where that is installed, whose connections stay open, and otherwise with urllib in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict, Unpack, overload

from finapi.client import exchange, feeds, frames
from finapi.client.base import ClientBase
from finapi.client.descriptions import describe_method
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.feeds import FeedCursor
from finapi.client.operations import get_list_operation, get_operation
from finapi.client.synchronous import MAX_TRIES, TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS, by_urllib
from finapi.client.types import AsyncCalls, Day, Moment

AsyncSend = Callable[[ApiRequest], Awaitable[ApiAnswer | None]]


class AsyncSender(NamedTuple):
    """A function that sends a request, and a function that closes the open connections."""

    send: AsyncSend
    close: Callable[[], Awaitable[None]]


class AsyncClientOptions(TypedDict, total=False):
    """The options of a client."""

    token: str | None
    tries: int
    timeout: float | None
    headers: Mapping[str, str] | None
    transport: Any
    wait: Callable[[float], Awaitable[None]]


class AsyncClient(ClientBase, AsyncCalls[Day, Moment]):
    """The asynchronous form of :class:`~finapi.client.Client`. ``transport`` is a transport of httpx."""

    @overload
    def __init__(
        self: AsyncClient[str, str],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[False] = False,
        **options: Unpack[AsyncClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncClient[date, datetime],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[True],
        **options: Unpack[AsyncClientOptions],
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
        transport: Any = None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.base_url = exchange.parse_base_url(base_url)
        self.headers = exchange.build_headers(api_key, token, headers)
        self.last: ApiAnswer | None = None  # The latest answer, with its status and headers.
        self._tries = tries
        self._timeout = exchange.check_timeout(timeout)
        self._dates = dates
        self._wait = wait
        sender = _build_httpx_sender(transport) or _build_thread_sender()
        self._send = sender.send
        self._close = sender.close

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the open connections, as ``async with`` does at its end."""
        await self._close()

    async def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Call any path, and return the document of the answer."""
        return await self._get_document(self._build_path_request(method, path, query, body, timeout))

    def _get_method(self, name: str) -> Any:
        """Return the method that calls an operation. Raise AttributeError if there is no operation of this name."""
        operation = get_operation(name)

        async def call_operation(*, timeout: float | None = None, **arguments: Any) -> Any:
            return await self._get_document(self._build_request(operation, arguments, timeout))

        return describe_method(call_operation, operation)

    async def _iter_rows(self, name: str, *, timeout: float | None = None, **arguments: Any) -> AsyncIterator[Any]:
        """Yield every row of a list, page after page."""
        operation = get_list_operation(name)
        pager = exchange.ListPager(operation.rows_path or "", arguments, dates=self._dates)
        while pager.query is not None:
            request = self._build_request(operation, pager.query, timeout)
            answer = await self._run(exchange.run_conversation(request, self._tries))
            for row in pager.read_page(answer):
                yield row

    if not TYPE_CHECKING:  # Type checkers use the declarations in AsyncCalls instead.
        __getattr__ = _get_method
        rows = _iter_rows

    def feed(
        self,
        name: str,
        *,
        since: int | None = None,
        epoch: int | None = None,
        tickers: Collection[str] = (),
        ciks: Collection[str] = (),
        form_types: Collection[str] = (),
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a feed over WebSocket, as :meth:`finapi.client.Client.feed`."""
        filters = {"tickers": tickers, "ciks": ciks, "form_types": form_types}
        cursor = FeedCursor(self.base_url, name, self.headers, since, epoch, filters, dates=self._dates)
        return feeds.iter_events_async(cursor, self._wait)

    async def events(
        self, feed: str, *, since: int | None = None, epoch: int | None = None, wait: float = 5.0
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a feed without WebSocket, as :meth:`finapi.client.Client.events`."""
        while True:
            document = await self.call("GET", "/api/v1/events", {"feed": feed, "since_seq": since, "epoch": epoch})
            for event in document["data"]:
                since, epoch = event["seq"], event["epoch"]
                yield event
            if not document["data"]:
                await self._wait(wait)

    async def to_pandas(self, name: str, *, floats: bool = False, **arguments: Any) -> Any:
        """Return every row of a list as a ``pandas.DataFrame`` (``pip install pandas``).

        With ``floats=True`` numbers are float64, and days and times are datetime64.
        """
        rows = [row async for row in self._iter_rows(name, **arguments)]
        return frames.to_pandas(name, rows, arguments, floats=floats)

    async def to_polars(self, name: str, **arguments: Any) -> Any:
        """Return every row of a list as a ``polars.DataFrame`` (``pip install polars``)."""
        return frames.to_polars([row async for row in self._iter_rows(name, **arguments)])

    async def _get_document(self, request: ApiRequest) -> Any:
        answer = await self._run(exchange.run_conversation(request, self._tries))
        return exchange.decode_answer(answer, dates=self._dates)

    async def _run(self, conversation: Conversation) -> ApiAnswer:
        """Send the requests of a conversation, wait between them, and return its answer."""
        answer: ApiAnswer | None = None
        try:
            step = next(conversation)
            while True:
                if isinstance(step, ApiRequest):
                    answer = await self._send(step)
                    self.last = answer
                else:
                    await self._wait(step)
                    answer = None
                step = conversation.send(answer)
        except StopIteration as end:
            final_answer: ApiAnswer = end.value
            return final_answer


async def _close_nothing() -> None:
    """Do nothing: threads with urllib keep no connections open."""


def _build_thread_sender() -> AsyncSender:
    """Return a sender that runs urllib in threads."""
    send_with_urllib = by_urllib(with_reason=True)

    async def send(request: ApiRequest) -> ApiAnswer | None:
        return await asyncio.to_thread(send_with_urllib, request)

    return AsyncSender(send, _close_nothing)


def _build_httpx_sender(transport: Any) -> AsyncSender | None:
    """Return a sender that uses httpx, or None if that is not installed."""
    try:
        import httpx
    except ImportError:
        return None
    http = httpx.AsyncClient(transport=transport, timeout=TIMEOUT_SECONDS)

    async def send(request: ApiRequest) -> ApiAnswer | None:
        headers = dict(request.headers)
        timeout = httpx.USE_CLIENT_DEFAULT if request.timeout_seconds is None else request.timeout_seconds
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT_SECONDS):
                response = await http.request(
                    request.method, request.url, headers=headers, content=request.body, timeout=timeout
                )
        except (httpx.HTTPError, TimeoutError) as error:
            return exchange.build_unreachable_answer(error)
        response_headers = {name.lower(): text for name, text in response.headers.items()}
        return ApiAnswer(response.status_code, response_headers, response.content)

    return AsyncSender(send, http.aclose)
