"""Feeds over WebSocket. After an interruption a feed continues after its last event.

:class:`FeedCursor` has all rules and no I/O; the synchronous and the asynchronous reader share it.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from finapi.client import exchange
from finapi.client.errors import ApiFailure, build_api_failure
from finapi.client.exchange import ApiAnswer

if TYPE_CHECKING:
    from websockets.exceptions import InvalidStatus

OPEN_SECONDS = 30.0  # Maximum time to establish a connection.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_TRIES = 10  # Number of connections in a row without an event after which the feed fails.
MAX_WAIT_SECONDS = 30.0
STABLE_SECONDS = 30.0  # A connection that lasted longer does not count as failed, even without an event.
PERMANENT_STATUSES = (400, 401, 403, 404)  # Statuses of errors that would happen again.
CODES = {400: "INVALID_PARAM", 401: "UNAUTHORIZED", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED"}

# Close codes 4400 to 4599 stand for the statuses 400 to 599.
CLOSE_CODE_OFFSET = 4000


class FeedCursor:
    """The cursor of a reader in a feed: the last event that was read, and the URL from which to continue."""

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
        self._failed_connections = 0
        self._connected_at = 0.0
        self.headers = headers
        self.since = since
        self.epoch = epoch

    def begin_connection(self) -> str:
        """Return the URL to connect to for the events after the last one that was read."""
        self._connected_at = time.monotonic()
        query = dict(self._filters)
        if self.since is not None:
            query["since_seq"] = str(self.since)
        if self.epoch is not None:
            query["epoch"] = str(self.epoch)
        return self._base + (f"?{urlencode(query)}" if query else "")

    def parse_event(self, message: str | bytes) -> dict[str, Any] | None:
        """Return the event of a message, or None for any other message and for an event that was returned before."""
        try:
            event = exchange.parse_document(message, dates=self._dates)
        except ValueError:
            return None
        if not isinstance(event, dict) or not isinstance(event.get("seq"), int):
            return None
        self._failed_connections = 0
        is_known = event.get("epoch") == self.epoch and self.since is not None and event["seq"] <= self.since
        if is_known and event.get("type") != "gap":
            return None
        self.since = event["seq"]
        self.epoch = event.get("epoch")
        return event

    def end_connection(self, error: Exception) -> float:
        """Return the seconds until the next connection. Raise ApiFailure if another connection would fail too."""
        failure = _build_failure(error)
        was_stable = time.monotonic() - self._connected_at > STABLE_SECONDS
        self._failed_connections = 1 if was_stable else self._failed_connections + 1
        if failure.status in PERMANENT_STATUSES or self._failed_connections >= MAX_TRIES:
            raise failure from None
        wait_seconds = failure.retry_after
        if wait_seconds is None:
            wait_seconds = exchange.add_jitter(0.5 * 2**self._failed_connections)
        return min(wait_seconds, MAX_WAIT_SECONDS)


def _build_failure(error: Exception) -> ApiFailure:
    """Return the failure for the end of a connection."""
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    if isinstance(error, InvalidStatus):
        return _build_handshake_failure(error)
    if isinstance(error, ConnectionClosed) and error.rcvd is not None:
        close_code = error.rcvd.code
        status = close_code - CLOSE_CODE_OFFSET
        if not 400 <= status < 600:
            status = 0
        message = error.rcvd.reason or f"closed with {close_code}"
        document = {"details": {"close_code": close_code}}
        return build_api_failure(status, CODES.get(status, "CLOSED"), message, document=document)
    return exchange.build_failure(None)


def _build_handshake_failure(error: InvalidStatus) -> ApiFailure:
    response = error.response
    headers = {name.lower(): text for name, text in response.headers.raw_items()}
    return exchange.build_failure(ApiAnswer(response.status_code, headers, bytes(response.body or b"")))


def _refuse_redirect(error: InvalidStatus) -> Exception:
    """Return an ApiFailure for a redirect: the library would follow it, and send the key there."""
    is_redirect = 300 <= error.response.status_code < 400
    return _build_handshake_failure(error) if is_redirect else error


def iter_events(cursor: FeedCursor, wait: Callable[[float], None]) -> Iterator[dict[str, Any]]:
    """Yield the events of a feed without end. Raise ApiFailure if it is refused, or fails too often."""
    from websockets.exceptions import InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect

    class DirectConnection(ClientConnection):
        def handshake(self, *args: Any, **options: Any) -> None:
            try:
                super().handshake(*args, **options)
            except InvalidStatus as error:
                raise _refuse_redirect(error) from None
            # At the end of a program the thread of the connection ends before the generator is closed. Closing the
            # connection then would wait for that thread without end.
            atexit.register(self.close)

        def close(self, *args: Any, **options: Any) -> None:
            atexit.unregister(self.close)
            super().close(*args, **options)

    options = {**_OPTIONS, "create_connection": DirectConnection}
    while True:
        try:
            with connect(cursor.begin_connection(), **options, additional_headers=cursor.headers) as connection:
                while True:
                    event = cursor.parse_event(connection.recv())
                    if event is not None:
                        yield event
        except (OSError, WebSocketException) as error:
            wait_seconds = cursor.end_connection(error)
        wait(wait_seconds)


async def iter_events_async(
    cursor: FeedCursor, wait: Callable[[float], Awaitable[None]]
) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a feed without end. Raise ApiFailure if it is refused, or fails too often."""
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import InvalidStatus, WebSocketException

    class DirectAsyncConnection(ClientConnection):
        async def handshake(self, *args: Any, **options: Any) -> None:
            try:
                await super().handshake(*args, **options)
            except InvalidStatus as error:
                raise _refuse_redirect(error) from None

    options = {**_OPTIONS, "create_connection": DirectAsyncConnection}
    while True:
        url = cursor.begin_connection()
        try:
            async with connect(url, **options, additional_headers=cursor.headers) as connection:
                while True:
                    event = cursor.parse_event(await connection.recv())
                    if event is not None:
                        yield event
        except (OSError, WebSocketException) as error:
            wait_seconds = cursor.end_connection(error)
        await wait(wait_seconds)


_OPTIONS: dict[str, Any] = {"open_timeout": OPEN_SECONDS, "close_timeout": 1, "max_size": MAX_MESSAGE_BYTES}
