"""The connections of the feeds: their limits, and the admission of readers."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.feeds.feed_messages import Filter, parse_since
from finapi.feeds.feed_requests import MAX_LINGERING
from finapi.feeds.hub import (
    BAD_KEY_MESSAGE,
    TOO_MANY,
    UNAUTHORIZED,
    FeedReader,
    FeedRefusedError,
    FeedSubscription,
    Hub,
)
from finapi.feeds.key_lookups import KeyLookups
from finapi.httpd.loop import LINGER_SECONDS, Connection, Loop
from finapi.httpd.settings import HandedOverRequest, RequestSummary
from finapi.httpd.shares import Places
from finapi.web.http.messages import client_address

TOO_MANY_WITHOUT_KEY = "Too many connections without an API key."
WRONG_PARAMETER = 4400
HTTP_CODE_OFFSET = 4_000  # The close code of a refusal is this plus the HTTP status, such as 4401.

MAX_LINGERING_PER_ADDRESS = 64
EXCLUSION_SECONDS = 10.0  # The time for which an address that has sent too many frames cannot connect again.
MAX_EXCLUDED_ADDRESSES = 1_000


log = logging.getLogger("finapi.access")


def log_admission(request: ReadRequest, status: int, caller: Caller | None) -> None:
    """Log in the access log that a reader was admitted to a feed (200), or refused, with the HTTP status for that."""
    user = None if caller is None else caller.uuid
    fields = {"feed": request.feed, "status": status, "address": request.address, "user": user}
    log.info("feed", extra={"fields": fields})


class Unauthenticated(Protocol):
    """A connection or a session without a valid key."""

    def make_room(self) -> None:
        """Close, because another connection or session takes its place."""


class FeedPlaces:
    """The limits of feed connections, in total and for each address. Each connection takes a place.

    There are places for open connections (by their sockets), for connections and sessions without a key, and for
    connections that have been answered and wait for the client to close. Without a free place a connection is refused.
    """

    def __init__(self, config: Config) -> None:
        self.limit = config.feed_connections
        self.open: Places[socket.socket] = Places(self.limit, config.feed_connections_per_address, None)
        self.unauthenticated: Places[Unauthenticated] = Places(
            config.feed_unauthenticated, config.feed_unauthenticated_per_address, lambda holder: holder.make_room()
        )
        self.lingering: Places[Connection] = Places(MAX_LINGERING, MAX_LINGERING_PER_ADDRESS, Connection.close)
        # The addresses that sent too many frames, and the times until which they are excluded, the earliest first.
        self._excluded_until: dict[str, float] = {}

    def exclude(self, address: str, now: float) -> None:
        """Refuse new connections of an address for EXCLUSION_SECONDS."""
        self._excluded_until.pop(address, None)
        self._excluded_until[address] = now + EXCLUSION_SECONDS
        if len(self._excluded_until) > MAX_EXCLUDED_ADDRESSES:
            del self._excluded_until[next(iter(self._excluded_until))]

    def is_excluded(self, address: str, now: float) -> bool:
        """Return True if an address has sent too many frames a short time ago."""
        return now < self._excluded_until.get(address, now)


class ReadRequest(NamedTuple):
    """A request to read a feed with a key. ``params`` may contain a filter and a position."""

    feed: str
    key: str
    address: str
    reader: FeedReader
    params: Mapping[str, Any]


class FeedService(Protocol):
    """An application whose feeds are served, and which answers refused requests. A test server has several."""

    @property
    def app(self) -> App:
        """Return the application of the service."""

    def error_response(self, status: int, reason: str, asked: RequestSummary, /) -> tuple[list[tuple[str, str]], bytes]:
        """Return the headers and the body of an error."""


# Returns the hub in which to look up a key, or None if the hub no longer exists. It may read from disk.
FindHub = Callable[[str], Hub | None]


class _KeyResult(NamedTuple):
    """The result of a key's look-up, and the version of the keys when it began."""

    hub: Hub | None
    keys_version: object
    caller: Caller | None


@dataclass(frozen=True, slots=True)
class FeedContext:
    """The objects that a connection uses: the shared ones of all connections, and its own service."""

    loop: Loop
    keys: KeyLookups
    places: FeedPlaces
    sessions: dict[str, Any]  # The Socket.IO sessions, by their ids.
    service: FeedService
    find_hub: FindHub

    @property
    def app(self) -> App:
        """Return the application of the service."""
        return self.service.app

    def get_address(self, request: HandedOverRequest) -> str:
        """Return the client address of a request."""
        forwarded = request.headers.get("x-forwarded-for", "")
        return client_address(request.peer, forwarded, self.app.config.trusted_proxies)

    def admit(
        self,
        request: ReadRequest,
        on_admitted: Callable[[FeedSubscription], object],
        on_refused: Callable[[FeedRefusedError], object],
        on_failed: Callable[[], None],
    ) -> None:
        """Look up the key of a request, and subscribe its reader to the feed or refuse it.

        ``on_admitted`` or ``on_refused`` is called in the loop, later or immediately, unless the reader is closed by
        then.
        """
        try:
            filter = Filter().add(request.params)
            position = parse_since(request.params)
        except ApiError as error:
            on_refused(FeedRefusedError(WRONG_PARAMETER, error.message))
            return

        def look_up() -> _KeyResult:
            hub = self.find_hub(request.key)
            if hub is None:
                return _KeyResult(None, None, None)
            keys_version = hub.keys_version
            return _KeyResult(hub, keys_version, hub.find_callers([request.key]).get(request.key))

        def on_result(result: _KeyResult) -> None:
            """Subscribe the reader to the feed, or refuse it if its key is wrong or the feed is not available."""
            hub, keys_version, caller = result
            if hub is not None and hub.keys_version is not keys_version:
                # Keys have changed meanwhile, so the result may be wrong. Look it up again.
                self.keys.submit(look_up, on_result, on_failed)
                return
            # A wrong key is counted even if the client has disconnected.
            wrong_key_error = self._count_wrong_key(request.address) if caller is None else None
            if not request.reader.is_open:
                return
            try:
                if hub is None or caller is None:
                    raise wrong_key_error or FeedRefusedError(UNAUTHORIZED, BAD_KEY_MESSAGE)
                subscription = hub.subscribe(request.feed, (caller, request.key), request.reader, filter, position)
            except FeedRefusedError as error:
                log_admission(request, error.code - HTTP_CODE_OFFSET, caller)
                on_refused(error)
            else:
                log_admission(request, 200, caller)
                on_admitted(subscription)

        self.keys.submit(look_up, on_result, on_failed)

    def _count_wrong_key(self, address: str) -> FeedRefusedError:
        """Count a wrong key in the limit of its address, like one of an API call. Return the error for the refusal."""
        decision = self.app.limiters["app"].take(("address", address), self.app.clock.monotonic())
        if decision.allowed:
            return FeedRefusedError(UNAUTHORIZED, BAD_KEY_MESSAGE)
        return FeedRefusedError(TOO_MANY, "Too many requests. Try again later.", decision)


class FeedConnection(Connection):
    """A connection that occupies a place until it has been answered. It may be the reader of a feed."""

    subscription: FeedSubscription | None = None

    def __init__(self, context: FeedContext, request: HandedOverRequest, seconds: float = LINGER_SECONDS) -> None:
        self.context = context
        self.request = request
        self.address = context.get_address(request)
        self._is_lingering = False
        super().__init__(context.loop, request.sock, seconds)

    def on_drained(self) -> None:
        """Queue further messages, because all queued ones were sent."""
        if self.subscription is not None:
            self.subscription.hub.fill(self.subscription)

    def unsubscribe(self) -> None:
        """End the subscription, if there is one."""
        if self.subscription is not None:
            self.subscription.hub.unsubscribe(self.subscription)

    def on_lingering(self) -> None:
        """Move to the places of lingering connections, which are closed early if others need the file descriptor."""
        if not (self._is_lingering or self.closed):
            self._is_lingering = True
            self.context.places.open.leave(self.sock)
            if not self.context.places.lingering.enter(self, self.address):
                self.close()

    def on_removed(self) -> None:
        """Give up all places, because the connection is closed."""
        self.context.places.open.leave(self.sock)
        self.context.places.lingering.leave(self)
