"""A WebSocket over a connection of the feeds; RFC 6455 itself is the ``websockets`` package's sans-IO layer.

That package is imported here when the first WebSocket comes, not at the start of the service.
"""

from __future__ import annotations

import codecs
from io import StringIO
from typing import TYPE_CHECKING

from finapi.feeds.connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext
from finapi.feeds.hub import TOO_MANY
from finapi.httpd.settings import HandedOver

if TYPE_CHECKING:
    from websockets.protocol import Protocol

MAX_MESSAGE = 65_536  # bytes that a client may say at once
PING_SECONDS = 20.0  # between pings (DECISIONS 10), and for the answer to one
PONG_SECONDS = 20.0
CLOSE_SECONDS = 5.0  # for the client to close too
MAX_REASON = 120  # bytes; RFC 6455 section 5.5 allows 123
TIMED_OUT = 1011
CONTROL = 8  # the bit of the opcodes that are no data (RFC 6455 section 5.2)
MAX_WAITING = 1_200  # queued messages: more than the 400 that a hub queues, so that what a client provokes is bounded

_new_decoder = codecs.getincrementaldecoder("utf-8")


def handshake(request: HandedOver) -> tuple[int, list[tuple[str, str]], str]:
    """The answer to an opening handshake: status (101 when it is one), headers, and a reason otherwise."""
    from websockets.datastructures import Headers
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    # The list of allowed origins and the HTTP version are the caller's; the rest of RFC 6455 4.2 is checked here.
    headers = Headers([(name, value) for name, value in request.headers.items() if name != "origin"])
    response = ServerProtocol().accept(Request(request.path, headers))
    if response.status_code != 101:
        reason = "This path takes WebSocket and Socket.IO connections; the request is a handshake of neither."
        return response.status_code, [], reason
    return 101, [(name, value) for name, value in response.headers.raw_items() if name != "Date"], ""


class WebSocket(FeedConnection):
    """An open WebSocket. Subclasses say what a message means, and keep the connection alive in their way."""

    def __init__(self, context: FeedContext, request: HandedOver) -> None:
        from websockets.frames import Opcode
        from websockets.protocol import Protocol, Side, State

        super().__init__(context, request)
        self.protocol: Protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=MAX_MESSAGE)
        self._opcodes = Opcode
        self._open = State.OPEN
        self._is_text = True
        self._utf8 = _new_decoder()
        self._text = StringIO()
        self.heard = True  # since the last ping

    # ---- for subclasses

    def said(self, text: str) -> None:
        """A text message came in whole; when the client closed right behind it, the WebSocket is not open."""

    def leaving(self) -> None:
        """The closing has begun: the connection counts as gone, though its socket may take a while."""

    def gone(self) -> None:
        """The connection is closed, by whichever side."""
        super().gone()
        self.leaving()

    # ---- what it does

    @property
    def is_open(self) -> bool:
        """Whether messages may still be sent."""
        return not self.closed and self.protocol.state is self._open

    def end(self, code: int, reason: str) -> None:
        """Close with this code and reason, dropping what has not been sent."""
        if self.is_open:
            self.drop_queue()
            self.protocol.send_close(code, reason.encode()[:MAX_REASON].decode(errors="ignore"))
            self._pump()
        elif not self.closed and not self.protocol.close_expected():
            self.close()

    def displaced(self) -> None:
        """Go: there is no place for one more without a key, or that has not become a session's own."""
        self.end(TOO_MANY, TOO_MANY_WITHOUT_KEY)

    def ping(self) -> None:
        """Send a ping, or end the connection whose last one nobody answered."""
        if not self.heard:
            self.end(TIMED_OUT, "No answer to a ping.")
            return
        self.heard = False
        self.protocol.send_ping(b"")
        self._pump()

    def received(self, data: bytes) -> None:
        """Read frames, and hand whole messages on."""
        self.heard = True
        self.protocol.receive_data(data)
        leaves = not self.is_open
        if not leaves:
            self._pump()  # the answer to a ping goes before that to a message that ended behind it
        for frame in self.protocol.events_received():
            if not frame.opcode & CONTROL and (self.is_open or leaves):  # type: ignore[union-attr]
                self._part(frame)
        self._pump()
        if len(self.queue) > MAX_WAITING:
            self.end(1013, "The client does not read its messages.")

    def _part(self, frame: object) -> None:
        opcode, data, fin = frame.opcode, frame.data, frame.fin  # type: ignore[attr-defined]
        if opcode is not self._opcodes.CONT:
            self._is_text = opcode is not self._opcodes.BINARY
        if not self._is_text:
            self.end(1003, "Messages must be text.")
            return
        try:
            # Piece by piece, so that a wrong byte is found when it comes; a piece without a byte leaves no trace.
            self._text.write(self._utf8.decode(data, fin))
        except UnicodeDecodeError:
            self.protocol.fail(1007, "A text message is not UTF-8.")
            return
        if fin:
            text, self._text = self._text.getvalue(), StringIO()
            self.said(text)

    def _pump(self) -> None:
        """Send what the protocol has to say; an empty chunk is its word for the end."""
        for chunk in self.protocol.data_to_send():
            if chunk:
                self.send([chunk])
            else:
                self.finish()
        if not self.closed and not self.is_open:
            self.due = min(self.due, self.loop.now() + CLOSE_SECONDS)
            self.leaving()
            self.lingers()
