"""Feeds without Socket.IO: a WebSocket of JSON text messages, and Server-Sent Events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.errors import ApiError, invalid_param
from finapi.feeds import messages, requests
from finapi.feeds.connections import FeedConnection, FeedContext, Knock
from finapi.feeds.hub import TOO_MANY, TRY_AGAIN_LATER, UNAUTHORIZED, FeedSubscription
from finapi.feeds.messages import FeedMessage
from finapi.feeds.websocket import MAX_MESSAGE, PING_SECONDS, WebSocket
from finapi.httpd.settings import HandedOver

GREETING_SECONDS = 5.0  # for the first message to bring a key (DECISIONS 10)
MAX_HELD = 64  # messages behind a key that is being looked up
BUSY = "The service is busy."


class PlainSocket(WebSocket):
    """A WebSocket of one feed."""

    def __init__(self, context: FeedContext, request: HandedOver, feed: str) -> None:
        super().__init__(context, request)
        self._feed = feed
        self._held: list[str] | None = None  # what was said while the key is looked up
        self.due = self.loop.now() + GREETING_SECONDS
        key = requests.api_key(request)
        if key is not None:
            self._let_in(key, request.query)
        elif not context.places.unverified.enter(self, self.address):
            self.displaced()

    # ---- as a reader of the hub

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        if self.is_open:
            self.send([message.frame() for message in messages])

    # ---- as a connection

    def said(self, text: str) -> None:
        """The key, first; then what is to be filtered."""
        if not self.is_open:
            return
        if self._held is not None:
            self._held.append(text)
            if sum(map(len, self._held)) > MAX_MESSAGE or len(self._held) > MAX_HELD:
                self.end(TOO_MANY, "Too many messages before the key was looked at.")
            return
        try:
            said = json.loads(text)
            if not isinstance(said, dict):
                raise ValueError
        except (ValueError, RecursionError):
            said = {}
        if self.subscription is not None:
            answer = filter_changed(self.subscription, said.get("type") or said.get("action"), said)
            self.send([answer.frame()])
            return
        token = said.get("token") or said.get("apiKey")
        if isinstance(token, str):
            self._let_in(token, {**self.request.query, **said})
        else:
            self.end(UNAUTHORIZED, 'The first message must be {"token": API key}.')

    def expired(self) -> None:
        """No key in time; no close in time; or time for a ping."""
        if not self.is_open:
            self.close()
        elif self._held is not None:
            self.end(TRY_AGAIN_LATER, BUSY)
        elif self.subscription is None:
            self.end(UNAUTHORIZED, "No API key was sent within 5 seconds.")
        else:
            self.due = self.loop.now() + PING_SECONDS
            self.ping()

    def leaving(self) -> None:
        """Forget the reader."""
        self.context.places.unverified.leave(self)
        self.forget()

    def _let_in(self, key: str, wanted: Mapping[str, Any]) -> None:
        self._held = []
        self.context.places.unverified.leave(self)
        knock = Knock(self._feed, key, self.address, self, wanted)
        self.context.let_in(knock, self._admitted, lambda refusal: self.end(refusal.code, refusal.reason), self.close)

    def _admitted(self, subscription: FeedSubscription) -> None:
        self.subscription = subscription
        self.due = self.loop.now() + PING_SECONDS
        subscription.hub.fill(subscription)
        held, self._held = self._held or [], None
        for text in held:
            self.said(text)


def filter_changed(subscription: FeedSubscription, verb: object, said: Mapping[str, Any]) -> FeedMessage:
    """Change a reader's filter by a ``subscribe`` or an ``unsubscribe``; returns the answer to that."""
    try:
        if verb == "subscribe":
            subscription.filter = subscription.filter.with_lists(said)
        elif verb == "unsubscribe":
            subscription.filter = subscription.filter.without_lists(said)
        else:
            verbs = ["subscribe", "unsubscribe"]
            raise invalid_param("type", "type must be subscribe or unsubscribe.", allowed=verbs)
    except ApiError as error:
        return messages.error_reply(error)
    return messages.reply("subscribed", subscription.filter.described())


class EventStream(FeedConnection):
    """An answer of Server-Sent Events of one feed."""

    @property
    def is_open(self) -> bool:
        """Whether anybody is there to read."""
        return self.takes_output

    def begin(self, subscription: FeedSubscription, head: bytes) -> None:
        """Send the head of the answer, and the events from there on."""
        self.subscription = subscription
        self.due = self.loop.now() + PING_SECONDS
        self.send([head, b"retry: 3000\n\n"])
        subscription.hub.fill(subscription)

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        self.send([message.server_sent() for message in messages])

    def end(self, code: int, reason: str) -> None:
        """Close; an event stream has no codes, its reader comes back and says where it was."""
        self.forget()
        self.drop_queue()
        self.finish()

    def expired(self) -> None:
        """A comment, so that proxies keep the connection; who does not take it is found by the hub."""
        if self.subscription is None or self.finishing:
            self.close()
        else:
            self.due = self.loop.now() + PING_SECONDS
            self.send([b": ping\n\n"])

    def gone(self) -> None:
        """Forget the reader."""
        super().gone()
        self.forget()
