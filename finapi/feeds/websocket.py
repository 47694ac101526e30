"""WebSockets of the feeds. The protocol (RFC 6455) is implemented by the package ``websockets``, without its I/O.

That package is imported with the first WebSocket, not at the start of the service.
"""

from __future__ import annotations

import codecs
from io import StringIO
from typing import TYPE_CHECKING

from finapi.feeds.feed_connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext
from finapi.feeds.hub import TOO_MANY
from finapi.httpd.settings import HandedOverRequest

if TYPE_CHECKING:
    from websockets.protocol import Protocol

MAX_MESSAGE_BYTES = 65_536  # The maximum size of a client's message.
PING_SECONDS = 20.0  # The interval of pings (DECISIONS 10), and the time to answer one.
PONG_SECONDS = 20.0
CLOSE_SECONDS = 5.0  # The time for the client to close its side.
MAX_REASON_BYTES = 120  # RFC 6455, 5.5, allows 123.
TIMED_OUT = 1011
CONTROL_BIT = 8  # This bit is set in the opcodes of control frames (RFC 6455, 5.2).
# A client may send FRAME_BURST frames at once, and FRAMES_PER_SECOND later on. A KiB of data counts as another frame.
FRAME_BURST = 1_000.0
FRAMES_PER_SECOND = 100.0
PARSED_BYTES = 1_024  # Parsed together. The smallest frame has 6 bytes, so this is at most 5 ms of work.
POLICY_VIOLATION = 1008
TOO_MANY_FRAMES = f"Too many frames: at most {FRAMES_PER_SECOND:.0f} a second are read."
MAX_WAITING = 1_200  # The maximum number of queued messages. At most 400 are from the hub, the rest are replies.

_new_decoder = codecs.getincrementaldecoder("utf-8")


def answer_handshake(request: HandedOverRequest) -> tuple[int, list[tuple[str, str]], str]:
    """Return the response to an opening handshake: its status (101 if it is valid), its headers, and the error."""
    from websockets.datastructures import Headers
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    # The caller checks the origin and the HTTP version. The rest of RFC 6455, 4.2, is checked here.
    headers = Headers([(name, value) for name, value in request.headers.items() if name != "origin"])
    response = ServerProtocol().accept(Request(request.path, headers))
    if response.status_code != 101:
        reason = "This path takes WebSocket and Socket.IO connections; the request is a handshake of neither."
        return response.status_code, [], reason
    return 101, [(name, value) for name, value in response.headers.raw_items() if name != "Date"], ""


class FrameAllowance:
    """The frames that a client may still send. They refill evenly up to a burst."""

    def __init__(self, now: float) -> None:
        self._frames = FRAME_BURST
        self._updated_at = now

    def take(self, frame_count: int, byte_count: int, now: float) -> bool:
        """Count frames and the bytes of their data. Return False if they are more than the client may send."""
        refilled = self._frames + max(0.0, now - self._updated_at) * FRAMES_PER_SECOND
        self._frames = min(FRAME_BURST, refilled) - frame_count - byte_count / 1024
        self._updated_at = now
        return self._frames >= 0


class WebSocket(FeedConnection):
    """An open WebSocket. Subclasses handle messages, and send pings from ``on_deadline``."""

    def __init__(self, context: FeedContext, request: HandedOverRequest) -> None:
        from websockets.frames import Opcode
        from websockets.protocol import Protocol, Side, State

        super().__init__(context, request)
        self.protocol: Protocol = Protocol(Side.SERVER, state=State.OPEN, max_size=MAX_MESSAGE_BYTES)
        self._opcodes = Opcode
        self._open_state = State.OPEN
        # The state of the message that is being received, which may have several frames.
        self._is_text = True
        self._utf8_decoder = _new_decoder()
        self._text = StringIO()
        self.has_answered = True  # False from a ping until the client's answer.
        self._allowance = FrameAllowance(context.loop.now())

    # ---- for subclasses

    def on_text(self, text: str) -> None:
        """Handle a complete text message. If the client closed right after it, the WebSocket is not open any more."""

    def on_closing(self) -> None:
        """Handle the beginning of the closing handshake. The socket may stay open for some time."""

    def on_removed(self) -> None:
        """Handle the end of the connection."""
        super().on_removed()
        self.on_closing()

    # ---- for users

    @property
    def is_open(self) -> bool:
        """Return True if messages may be sent."""
        return not self.closed and self.protocol.state is self._open_state

    def end(self, code: int, reason: str) -> None:
        """Close with a code and a reason. Queued messages are dropped."""
        if self.is_open:
            self.drop_queue()
            self.protocol.send_close(code, reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore"))
            self._send_protocol_data()
        elif not self.closed and not self.protocol.close_expected():
            self.close()

    def make_room(self) -> None:
        """Close, because another connection without a key or session takes its place."""
        self.end(TOO_MANY, TOO_MANY_WITHOUT_KEY)

    def ping(self) -> None:
        """Send a ping, or close the connection if the last one was not answered."""
        if not self.has_answered:
            self.end(TIMED_OUT, "No answer to a ping.")
            return
        self.has_answered = False
        self.protocol.send_ping(b"")
        self._send_protocol_data()

    def on_data(self, data: bytes) -> None:
        """Parse frames and handle complete messages. Close if the client sends more frames than it may."""
        self.has_answered = True
        for start in range(0, len(data), PARSED_BYTES):
            frame_count = self._parse(data[start : start + PARSED_BYTES])
            if self.closed or self.is_finishing:
                return
            if not self._allowance.take(frame_count, min(PARSED_BYTES, len(data) - start), self.loop.now()):
                self.context.places.exclude(self.address, self.loop.now())
                self.end(POLICY_VIOLATION, TOO_MANY_FRAMES)
                self.finish()  # Everything else that arrives is dropped unread.
                return
        if len(self.queue) > MAX_WAITING:
            self.end(1013, "The client does not read its messages.")

    def _parse(self, data: bytes) -> int:
        """Parse the next bytes, and handle the messages that end in them. Return the number of frames."""
        self.protocol.receive_data(data)
        is_closing = not self.is_open
        if not is_closing:
            # The answer to a ping goes before the reply to a message that ended after the ping.
            self._send_protocol_data()
        frames = self.protocol.events_received()
        for frame in frames:
            is_data_frame = not frame.opcode & CONTROL_BIT  # type: ignore[union-attr]
            if is_data_frame and (self.is_open or is_closing):
                self._add_frame(frame)
        self._send_protocol_data()
        return len(frames)

    def _add_frame(self, frame: object) -> None:
        """Add a frame to the current message, and handle the message if it is complete."""
        opcode, data, is_final = frame.opcode, frame.data, frame.fin  # type: ignore[attr-defined]
        if opcode is not self._opcodes.CONT:
            self._is_text = opcode is not self._opcodes.BINARY
        if not self._is_text:
            self.end(1003, "Messages must be text.")
            return
        try:
            # Each frame is decoded when it arrives, so that a wrong byte is found immediately.
            self._text.write(self._utf8_decoder.decode(data, is_final))
        except UnicodeDecodeError:
            self.protocol.fail(1007, "A text message is not UTF-8.")
            return
        if is_final:
            text = self._text.getvalue()
            self._text = StringIO()
            self.on_text(text)

    def _send_protocol_data(self) -> None:
        """Send the data that the protocol has to send. It marks the end of the connection by an empty chunk."""
        for chunk in self.protocol.data_to_send():
            if chunk:
                self.send([chunk])
            else:
                self.finish()
        if not self.closed and not self.is_open:
            self.due = min(self.due, self.loop.now() + CLOSE_SECONDS)
            self.on_closing()
            self.on_lingering()
