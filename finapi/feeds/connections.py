"""The connections of the feeds: the places that they take, and how a reader is let in."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.feeds import messages
from finapi.feeds.hub import BAD_KEY, TOO_MANY, UNAUTHORIZED, FeedReader, FeedRefusedError, FeedSubscription, Hub
from finapi.feeds.keys import KeyDesk
from finapi.feeds.messages import Filter
from finapi.feeds.requests import LINGERING
from finapi.httpd.loop import LINGER_SECONDS, Connection, Loop
from finapi.httpd.settings import Asked, HandedOver
from finapi.httpd.shares import Places
from finapi.web.http.messages import client_address

TOO_MANY_WITHOUT_KEY = "Too many connections without an API key."
WRONG_PARAMETER = 4400

LINGERING_PER_ADDRESS = 64


class Unverified(Protocol):
    """A connection or a session without a key."""

    def displaced(self) -> None:
        """Its place is another's."""


class FeedPlaces:
    """Who has which place: connections by their sockets, those and sessions without a key, those that linger.

    What is refused has no place; what has none of the first two is not asked for long either.
    """

    def __init__(self, config: Config) -> None:
        self.limit = config.feed_connections
        self.open: Places[socket.socket] = Places(self.limit, config.feed_connections_per_address, None)
        self.unverified: Places[Unverified] = Places(
            config.feed_unauthenticated, config.feed_unauthenticated_per_address, lambda one: one.displaced()
        )
        self.lingering: Places[Connection] = Places(LINGERING, LINGERING_PER_ADDRESS, Connection.close)


class Knock(NamedTuple):
    """Who wants to read which feed from where on, with which key."""

    feed: str
    key: str
    address: str
    reader: FeedReader
    wanted: Mapping[str, Any]


class FeedService(Protocol):
    """Who answers a request of the feeds until its key is known, and when it is refused."""

    @property
    def app(self) -> App:
        """Its state."""

    def error_response(self, status: int, reason: str, asked: Asked, /) -> tuple[list[tuple[str, str]], bytes]:
        """The headers and the body of an error."""


# A key -> the hub in which it is looked up, None when there is none any more; it may read a disk.
HubOf = Callable[[str], Hub | None]


@dataclass(frozen=True, slots=True)
class FeedContext:
    """What a connection is given: what all of them share, its service, and where its keys are looked up."""

    loop: Loop
    keys: KeyDesk
    places: FeedPlaces
    sessions: dict[str, Any]  # of Socket.IO, by their ids
    service: FeedService
    hub_of: HubOf

    @property
    def app(self) -> App:
        """The state of the service."""
        return self.service.app

    def address_of(self, request: HandedOver) -> str:
        """The address that a request counts for."""
        forwarded = request.headers.get("x-forwarded-for", "")
        return client_address(request.peer, forwarded, self.app.config.trusted_proxies)

    def let_in(
        self,
        knock: Knock,
        admitted: Callable[[FeedSubscription], object],
        refused: Callable[[FeedRefusedError], object],
        failed: Callable[[], None],
    ) -> None:
        """Have a reader that is still there by then let in with the filter and the number that it wants, or refused."""
        try:
            filter, since = Filter().with_lists(knock.wanted), messages.since(knock.wanted)
        except ApiError as error:
            refused(FeedRefusedError(WRONG_PARAMETER, error.message))
            return

        def whose() -> tuple[Hub | None, object, Caller | None]:
            hub = self.hub_of(knock.key)
            if hub is None:
                return None, None, None
            state = hub.keys_state
            return hub, state, hub.callers([knock.key]).get(knock.key)

        def answered(found: tuple[Hub | None, object, Caller | None]) -> None:
            hub, state, caller = found
            if hub is not None and hub.keys_state is not state:  # the answer may be wrong by now
                self.keys.ask(whose, answered, failed)
                return
            wrong = self._wrong_key(knock.address) if caller is None else None
            if not knock.reader.is_open:
                return
            try:
                if hub is None or caller is None:
                    raise wrong or FeedRefusedError(UNAUTHORIZED, BAD_KEY)
                subscription = hub.open(knock.feed, (caller, knock.key), knock.reader, filter, since)
            except FeedRefusedError as refusal:
                refused(refusal)
            else:
                admitted(subscription)

        self.keys.ask(whose, answered, failed)

    def _wrong_key(self, address: str) -> FeedRefusedError:
        """What a wrong key is refused with: it counts against its address, as one of a call does."""
        decision = self.app.limiters["app"].take(("address", address), self.app.clock.monotonic())
        if decision.allowed:
            return FeedRefusedError(UNAUTHORIZED, BAD_KEY)
        return FeedRefusedError(TOO_MANY, "Too many requests. Try again later.", decision)


class FeedConnection(Connection):
    """A connection with a place, which it gives up when there is nothing more to say; it may read a feed."""

    subscription: FeedSubscription | None = None

    def __init__(self, context: FeedContext, request: HandedOver, seconds: float = LINGER_SECONDS) -> None:
        self.context = context
        self.request = request
        self.address = context.address_of(request)
        self._leaves = False
        super().__init__(context.loop, request.sock, seconds)

    def drained(self) -> None:
        """More of what the reader missed."""
        if self.subscription is not None:
            self.subscription.hub.fill(self.subscription)

    def forget(self) -> None:
        """Let nobody read any more."""
        if self.subscription is not None:
            self.subscription.hub.close(self.subscription)

    def lingers(self) -> None:
        """Keep the socket only as long as nobody else's needs it more."""
        if not (self._leaves or self.closed):
            self._leaves = True
            self.context.places.open.leave(self.sock)
            if not self.context.places.lingering.enter(self, self.address):
                self.close()

    def gone(self) -> None:
        """Leave every place."""
        self.context.places.open.leave(self.sock)
        self.context.places.lingering.leave(self)
