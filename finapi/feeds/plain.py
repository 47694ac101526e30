"""Feeds without Socket.IO: a WebSocket of JSON text messages, and Server-Sent Events."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from finapi.errors import ApiError
from finapi.feeds import messages
from finapi.feeds.connections import Connection
from finapi.feeds.guests import Guests
from finapi.feeds.hub import UNAUTHORIZED, Hub, Refused, Subscription
from finapi.feeds.messages import Filter, Message
from finapi.feeds.requests import Taken
from finapi.feeds.websocket import PING_SECONDS, WebSocket

GREETING_SECONDS = 5.0  # for the first message to bring a key (CONTRACT 10)
NO_KEY = "No API key came within 5 seconds."


def asked(said: Mapping[str, Any]) -> tuple[Filter, int | None]:
    """The filter and the number to go on after that a query or a first message asks for."""
    return Filter().with_lists(said), messages.since_seq(said.get("since_seq"))


class PlainSocket(WebSocket):
    """A WebSocket of one feed."""

    def __init__(self, guests: Guests, hub: Hub, taken: Taken, address: str) -> None:
        super().__init__(guests.watcher, taken.sock)
        assert taken.feed is not None
        self._hub = hub
        self._feed = taken.feed
        self._query = taken.query
        self._guests = guests
        self._address = address
        self._subscription: Subscription | None = None
        self._stranger = False
        self.due = self.watcher.now() + GREETING_SECONDS
        if taken.key is not None:
            self._let_in(taken.key, taken.query)
        elif guests.enter(address):
            self._stranger = True
        else:
            self.end(4429, "Too many connections have not said who they are.")

    # ---- as a reader of the hub

    def deliver(self, messages: Sequence[Message]) -> None:
        """Queue messages for sending."""
        if self.is_open:
            self.send([message.frame() for message in messages])

    def waiting(self) -> int:
        """How many messages are queued and not yet sent."""
        return len(self.queue)

    # ---- as a connection

    def said(self, text: str) -> None:
        """The key, first; then what is to be filtered."""
        try:
            said = json.loads(text)
            if not isinstance(said, dict):
                raise ValueError
        except (ValueError, RecursionError):
            said = {}
        if self._subscription is None:
            token = said.get("token") or said.get("apiKey")
            if isinstance(token, str):
                self._let_in(token, {**self._query, **said})
            else:
                self.end(UNAUTHORIZED, 'The first message must be {"token": API key}.')
            return
        answer = _filtered(self._subscription, said)
        self.send([answer.frame()])

    def drained(self) -> None:
        """More of what the reader missed."""
        if self._subscription is not None:
            self._hub.fill(self._subscription)

    def expired(self) -> None:
        """No key in time; no close in time; or time for a ping."""
        if not self.is_open:
            self.close()
        elif self._subscription is None:
            self.end(UNAUTHORIZED, NO_KEY)
        else:
            self.due = self.watcher.now() + PING_SECONDS
            self.ping()

    def leaving(self) -> None:
        """Forget the reader."""
        self._no_stranger()
        if self._subscription is not None:
            self._hub.close(self._subscription)

    def gone(self) -> None:
        """Forget the reader."""
        self.leaving()

    def _let_in(self, key: str, said: Mapping[str, Any]) -> None:
        try:
            filter, since = asked(said)
            self._subscription = self._hub.open(self._feed, key, self, filter, since)
        except Refused as refusal:
            self.end(refusal.code, refusal.reason)
        except ApiError as error:
            self.end(4400, error.message)
        else:
            self._no_stranger()
            self.due = self.watcher.now() + PING_SECONDS
            self._hub.fill(self._subscription)

    def _no_stranger(self) -> None:
        if self._stranger:
            self._stranger = False
            self._guests.leave(self._address)


def _filtered(subscription: Subscription, said: Mapping[str, Any]) -> Message:
    """Change a reader's filter as it says, and the answer to that."""
    try:
        return messages.told(
            "subscribed", changed(subscription, said.get("type") or said.get("action"), said)
        )
    except ApiError as error:
        return messages.wrong(error)


def changed(subscription: Subscription, verb: object, said: Mapping[str, Any]) -> dict[str, Any]:
    """The lists of a reader's filter after a ``subscribe`` or an ``unsubscribe``; INVALID_PARAM otherwise."""
    if verb == "subscribe":
        subscription.filter = subscription.filter.with_lists(said)
    elif verb == "unsubscribe":
        subscription.filter = subscription.filter.without_lists(said)
    else:
        raise messages.unknown_verb()
    return dict(subscription.filter.described())


class EventStream(Connection):
    """An answer of Server-Sent Events of one feed."""

    def __init__(self, watcher: Any, hub: Hub, sock: socket.socket, head: bytes) -> None:
        super().__init__(watcher, sock)
        self._hub = hub
        self._head = head
        self._subscription: Subscription | None = None

    def begin(self, subscription: Subscription) -> None:
        """Send the head of the answer, and the events from there on."""
        self._subscription = subscription
        self.due = self.watcher.now() + PING_SECONDS
        self.send([self._head, b"retry: 3000\n\n"])
        self._hub.fill(subscription)

    def deliver(self, messages: Sequence[Message]) -> None:
        """Queue messages for sending."""
        self.send([message.server_sent() for message in messages])

    def waiting(self) -> int:
        """How many messages are queued and not yet sent."""
        return len(self.queue)

    def end(self, code: int, reason: str) -> None:
        """Close; an event stream has no codes, its reader comes back and says where it was."""
        if self._subscription is not None:
            self._hub.close(self._subscription)
        self.drop_queue()
        self.finish()

    def drained(self) -> None:
        """More of what the reader missed."""
        if self._subscription is not None:
            self._hub.fill(self._subscription)

    def expired(self) -> None:
        """A comment, so that proxies keep the connection; who does not take it is found by the hub."""
        if self._subscription is None or self._finishing:
            self.close()
            return
        self.due = self.watcher.now() + PING_SECONDS
        self.send([b": ping\n\n"])

    def gone(self) -> None:
        """Forget the reader."""
        if self._subscription is not None:
            self._hub.close(self._subscription)
