"""A feed over WebSocket, read on after a break from where it was: the place without I/O, and two who read."""

from __future__ import annotations

import atexit
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer, ApiFailure

if TYPE_CHECKING:
    from websockets.exceptions import InvalidStatus

OPEN_SECONDS = 30.0  # until a connection stands
MAX_BYTES = 16 * 1024 * 1024  # of a message
TRIES = 10  # connections in a row that told nothing
LONGEST_WAIT = 30.0
LASTED = 30.0  # seconds after which a connection that told nothing was a good one all the same
FOR_GOOD = (400, 401, 403, 404)  # trying again does not mend these
CODES = {400: "INVALID_PARAM", 401: "UNAUTHORIZED", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED"}


class FeedPlace:
    """How far a reader of a feed has come, and what it asks for when it comes back."""

    def __init__(
        self,
        base_url: str,
        feed: str,
        headers: Mapping[str, str],
        since: int | None,
        epoch: int | None,
        filters: Mapping[str, Collection[str]],
        *,
        dates: bool,
    ) -> None:
        self._base = f"{base_url.replace('http', 'ws', 1)}/ws/{feed}"
        self._filters = {name: ",".join(words) for name, words in filters.items() if words}
        self._dates = dates
        self._failed = 0
        self._begun = 0.0
        self.headers = headers
        self.since, self.epoch = since, epoch

    def url(self) -> str:
        """Where to connect for what comes after the last event."""
        self._begun = time.monotonic()
        place = {"since_seq": self.since, "epoch": self.epoch}
        query = self._filters | {name: str(value) for name, value in place.items() if value is not None}
        return self._base + (f"?{urlencode(query)}" if query else "")

    def heard(self, message: str | bytes) -> dict[str, Any] | None:
        """The event of a message; None for what is none, or was told before."""
        try:
            event = exchange.document(message, dates=self._dates)
        except ValueError:
            return None
        if not isinstance(event, dict) or not isinstance(event.get("seq"), int):
            return None
        self._failed = 0
        known = event.get("epoch") == self.epoch and self.since is not None and event["seq"] <= self.since
        if known and event.get("type") != "gap":
            return None
        self.since, self.epoch = event["seq"], event.get("epoch")
        return event

    def broken(self, error: Exception) -> float:
        """Seconds until another connection; ApiFailure where it is not worth it."""
        failure = _failure(error)
        self._failed = 1 if time.monotonic() - self._begun > LASTED else self._failed + 1
        if failure.status in FOR_GOOD or self._failed >= TRIES:
            raise failure from None
        told = failure.retry_after
        return min(exchange.spread(0.5 * 2**self._failed) if told is None else told, LONGEST_WAIT)


def _failure(error: Exception) -> ApiFailure:
    """What the end of a connection means: close codes 44xx are the statuses 4xx."""
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    if isinstance(error, InvalidStatus):
        return _refusal(error)
    if isinstance(error, ConnectionClosed) and error.rcvd is not None:
        code, reason = error.rcvd.code, error.rcvd.reason
        status = code - 4000 if 4400 <= code < 4600 else 0
        document = {"details": {"close_code": code}}
        return ApiFailure(status, CODES.get(status, "CLOSED"), reason or f"closed with {code}", document=document)
    return exchange.failed(None)


def _refusal(error: InvalidStatus) -> ApiFailure:
    """The failure that the answer to a handshake is."""
    told = error.response
    headers = {name.lower(): value for name, value in told.headers.raw_items()}
    return exchange.failed(ApiAnswer(told.status_code, headers, bytes(told.body or b"")))


def _not_followed(error: InvalidStatus) -> Exception:
    """What is raised for it. A redirect is a failure, as it is of calls: the library would take the key there."""
    return _refusal(error) if 300 <= error.response.status_code < 400 else error


def read(place: FeedPlace, wait: Callable[[float], None]) -> Iterator[dict[str, Any]]:
    """The events of a feed, for ever."""
    from websockets.exceptions import InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect

    class Direct(ClientConnection):
        def handshake(self, *given: Any, **named: Any) -> None:
            try:
                super().handshake(*given, **named)
            except InvalidStatus as error:
                raise _not_followed(error) from None
            # At the end of a program its thread is gone before the generator is closed, which would wait for ever.
            atexit.register(self.close)

        def close(self, *given: Any, **named: Any) -> None:
            atexit.unregister(self.close)
            super().close(*given, **named)

    options = {**_OPTIONS, "create_connection": Direct}
    while True:
        try:
            with connect(place.url(), **options, additional_headers=place.headers) as feed:
                while True:
                    event = place.heard(feed.recv())
                    if event is not None:
                        yield event
        except (OSError, WebSocketException) as error:
            seconds = place.broken(error)
        wait(seconds)


async def read_async(place: FeedPlace, wait: Callable[[float], Awaitable[None]]) -> AsyncIterator[dict[str, Any]]:
    """The events of a feed, for ever."""
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import InvalidStatus, WebSocketException

    class DirectAsync(ClientConnection):
        async def handshake(self, *given: Any, **named: Any) -> None:
            try:
                await super().handshake(*given, **named)
            except InvalidStatus as error:
                raise _not_followed(error) from None

    options = {**_OPTIONS, "create_connection": DirectAsync}
    while True:
        try:
            async with connect(place.url(), **options, additional_headers=place.headers) as feed:
                while True:
                    event = place.heard(await feed.recv())
                    if event is not None:
                        yield event
        except (OSError, WebSocketException) as error:
            seconds = place.broken(error)
        await wait(seconds)


_OPTIONS: dict[str, Any] = {"open_timeout": OPEN_SECONDS, "close_timeout": 1, "max_size": MAX_BYTES}
