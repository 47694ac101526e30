"""The client that does not wait: ``async with AsyncClient(base_url, api_key) as client``.

It asks with httpx where that is installed, whose connections stay open; else with urllib in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

from finapi.client import exchange, feeds, frames
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.feeds import FeedPlace
from finapi.client.operations import listing, operation
from finapi.client.synchronous import SECONDS, TRIES, WHOLE, by_urllib
from finapi.client.types import AsyncCalls, Day, Moment

AsyncSend = Callable[[ApiRequest], Awaitable[ApiAnswer | None]]
Close = Callable[[], Awaitable[None]]


class AsyncClientOptions(TypedDict, total=False):
    """What a client is told beside where and with which key."""

    token: str | None
    tries: int
    headers: Mapping[str, str] | None
    transport: Any
    wait: Callable[[float], Awaitable[None]]


class AsyncClient(AsyncCalls[Day, Moment]):
    """What :class:`~finapi.client.Client` is, awaited; ``transport`` is httpx's."""

    @overload
    def __init__(
        self: AsyncClient[str, str],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[False] = False,
        **more: Unpack[AsyncClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncClient[date, datetime],
        base_url: str,
        api_key: str | None = None,
        *,
        dates: Literal[True],
        **more: Unpack[AsyncClientOptions],
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
        transport: Any = None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.headers = exchange.credentials(api_key, token, headers)
        self.last: ApiAnswer | None = None  # the answer before it was read: headers, status
        self._tries = tries
        self._dates = dates
        self._wait = wait
        self._send, self._close = _by_httpx(transport) or _by_threads()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that are open; what ``async with`` does at its end."""
        await self._close()

    async def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The document that a call of any path answers."""
        asked = exchange.request(self.base_url, method, path, query=query, body=body, headers=self.headers)
        return await self._told(asked)

    def _named(self, name: str) -> Any:
        known = operation(name)
        return lambda **values: self._told(known.request(self.base_url, self.headers, values))

    async def _rows(self, name: str, **values: Any) -> AsyncIterator[Any]:
        """Every row of a list, page after page."""
        known = listing(name)
        pages = exchange.Pages(known.rows_in or "", values, dates=self._dates)
        while pages.query is not None:
            asked = known.request(self.base_url, self.headers, pages.query)
            answer = await self._held(exchange.conversation(asked, self._tries))
            for row in pages.rows(answer):
                yield row

    if not TYPE_CHECKING:  # AsyncCalls has their types
        __getattr__, rows = _named, _rows

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
        """The events of a feed as they happen, for ever, over WebSocket: as :meth:`finapi.client.Client.feed`."""
        filters = {"tickers": tickers, "ciks": ciks, "form_types": form_types}
        place = FeedPlace(self.base_url, name, self.headers, since, epoch, filters, dates=self._dates)
        return feeds.read_async(place, self._wait)

    async def events(
        self, feed: str, *, since: int | None = None, epoch: int | None = None, wait: float = 5.0
    ) -> AsyncIterator[dict[str, Any]]:
        """The events of a feed for ever, without WebSocket: as :meth:`finapi.client.Client.events`."""
        while True:
            document = await self.call("GET", "/api/v1/events", {"feed": feed, "since_seq": since, "epoch": epoch})
            for event in document["data"]:
                since, epoch = event["seq"], event["epoch"]
                yield event
            if not document["data"]:
                await self._wait(wait)

    async def to_pandas(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``pandas.DataFrame`` (``pip install pandas``)."""
        return frames.to_pandas([row async for row in self._rows(name, **values)])

    async def to_polars(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``polars.DataFrame`` (``pip install polars``)."""
        return frames.to_polars([row async for row in self._rows(name, **values)])

    async def _told(self, asked: ApiRequest) -> Any:
        return exchange.decoded(await self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    async def _held(self, talk: Conversation) -> ApiAnswer:
        answer: ApiAnswer | None = None
        try:
            wanted = next(talk)
            while True:
                if isinstance(wanted, ApiRequest):
                    self.last = answer = await self._send(wanted)
                else:
                    await self._wait(wanted)
                    answer = None
                wanted = talk.send(answer)
        except StopIteration as end:
            found: ApiAnswer = end.value
            return found


async def _nothing() -> None:
    """There is nothing to close."""


def _by_threads() -> tuple[AsyncSend, Close]:
    """What sends a request, by urllib, and what closes it."""
    send = by_urllib(says_why=True)
    return lambda asked: asyncio.to_thread(send, asked), _nothing


def _by_httpx(transport: Any) -> tuple[AsyncSend, Close] | None:
    """The same by httpx; None without it."""
    try:
        import httpx
    except ImportError:
        return None
    http = httpx.AsyncClient(transport=transport, timeout=SECONDS)

    async def send(asked: ApiRequest) -> ApiAnswer | None:
        try:
            async with asyncio.timeout(WHOLE):
                got = await http.request(asked.method, asked.url, headers=dict(asked.headers), content=asked.body)
        except (httpx.HTTPError, TimeoutError) as error:
            return exchange.unanswered(error)
        return ApiAnswer(got.status_code, {name.lower(): text for name, text in got.headers.items()}, got.content)

    return send, http.aclose
