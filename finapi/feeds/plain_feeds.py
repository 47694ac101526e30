"""Feeds without Socket.IO: a WebSocket with JSON text messages, and Server-Sent Events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.errors import ApiError, invalid_param
from finapi.feeds import feed_messages, feed_requests
from finapi.feeds.feed_connections import FeedConnection, FeedContext, ReadRequest
from finapi.feeds.feed_messages import FeedMessage
from finapi.feeds.hub import TOO_MANY, TRY_AGAIN_LATER, UNAUTHORIZED, FeedSubscription
from finapi.feeds.websocket import MAX_MESSAGE_BYTES, PING_SECONDS, WebSocket
from finapi.httpd.settings import HandedOverRequest

KEY_SECONDS = 5.0  # The time in which a client must send its key (DECISIONS 10).
MAX_PENDING = 64  # The maximum number of messages that wait for the look-up of a client's key.
BUSY_MESSAGE = "The service is busy."


class PlainSocket(WebSocket):
    """A WebSocket that reads one feed.

    The key is in the handshake or in the first message. Messages that arrive while it is looked up wait for the result.
    After that, messages change the filter.
    """

    def __init__(self, context: FeedContext, request: HandedOverRequest, feed: str) -> None:
        super().__init__(context, request)
        self._feed = feed
        # Messages that wait for the look-up of the key. None if no key is being looked up.
        self._pending: list[str] | None = None
        self.due = self.loop.now() + KEY_SECONDS
        key = feed_requests.find_api_key(request)
        if key is not None:
            self._request_admission(key, request.query)
        elif not context.places.unauthenticated.enter(self, self.address):
            self.make_room()

    # ---- as a reader of the hub

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        if self.is_open:
            self.send([message.to_frame() for message in messages])

    # ---- as a connection

    def on_text(self, text: str) -> None:
        """Handle a message: the key, or a change of the filter."""
        if not self.is_open:
            return
        if self._pending is not None:
            self._pending.append(text)
            if sum(map(len, self._pending)) > MAX_MESSAGE_BYTES or len(self._pending) > MAX_PENDING:
                self.end(TOO_MANY, "Too many messages before the key was looked at.")
            return
        try:
            message = json.loads(text)
            if not isinstance(message, dict):
                raise ValueError
        except (ValueError, RecursionError):
            message = {}
        if self.subscription is not None:
            reply = change_filter(self.subscription, message.get("type") or message.get("action"), message)
            self.send([reply.to_frame()])
            return
        key = message.get("token") or message.get("apiKey")
        if isinstance(key, str):
            self._request_admission(key, {**self.request.query, **message})
        else:
            self.end(UNAUTHORIZED, 'The first message must be {"token": API key}.')

    def on_deadline(self) -> None:
        """Send a ping. Close the connection if the client is late to send its key or to close."""
        if not self.is_open:
            self.close()
        elif self._pending is not None:
            self.end(TRY_AGAIN_LATER, BUSY_MESSAGE)
        elif self.subscription is None:
            self.end(UNAUTHORIZED, "No API key was sent within 5 seconds.")
        else:
            self.due = self.loop.now() + PING_SECONDS
            self.ping()

    def on_closing(self) -> None:
        """End the subscription."""
        self.context.places.unauthenticated.leave(self)
        self.unsubscribe()

    def _request_admission(self, key: str, params: Mapping[str, Any]) -> None:
        self._pending = []
        self.context.places.unauthenticated.leave(self)
        request = ReadRequest(self._feed, key, self.address, self, params)
        self.context.admit(request, self._on_admitted, lambda error: self.end(error.code, error.reason), self.close)

    def _on_admitted(self, subscription: FeedSubscription) -> None:
        self.subscription = subscription
        self.due = self.loop.now() + PING_SECONDS
        subscription.hub.fill(subscription)
        pending = self._pending or []
        self._pending = None
        for text in pending:
            self.on_text(text)


def change_filter(subscription: FeedSubscription, action: object, params: Mapping[str, Any]) -> FeedMessage:
    """Change the filter of a reader, as a ``subscribe`` or ``unsubscribe`` message requests. Return the reply."""
    try:
        if action == "subscribe":
            subscription.filter = subscription.filter.add(params)
        elif action == "unsubscribe":
            subscription.filter = subscription.filter.remove(params)
        else:
            allowed = ["subscribe", "unsubscribe"]
            raise invalid_param("type", "type must be subscribe or unsubscribe.", allowed=allowed)
    except ApiError as error:
        return feed_messages.build_error(error)
    return feed_messages.build_reply("subscribed", subscription.filter.to_lists())


class EventStream(FeedConnection):
    """A response of Server-Sent Events of one feed."""

    @property
    def is_open(self) -> bool:
        """Return True if events may be sent."""
        return self.can_send

    def start(self, subscription: FeedSubscription, head: bytes) -> None:
        """Send the head of the response and the first events."""
        self.subscription = subscription
        self.due = self.loop.now() + PING_SECONDS
        self.send([head, b"retry: 3000\n\n"])
        subscription.hub.fill(subscription)

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        self.send([message.to_server_sent_event() for message in messages])

    def end(self, code: int, reason: str) -> None:
        """Close the stream. The code is not sent. The client reconnects with the id of its last event."""
        self.unsubscribe()
        self.drop_queue()
        self.finish()

    def on_deadline(self) -> None:
        """Send a comment, so that proxies keep the connection open. The hub closes clients that do not read."""
        if self.subscription is None or self.is_finishing:
            self.close()
        else:
            self.due = self.loop.now() + PING_SECONDS
            self.send([b": ping\n\n"])

    def on_removed(self) -> None:
        """End the subscription, because the connection is closed."""
        super().on_removed()
        self.unsubscribe()
