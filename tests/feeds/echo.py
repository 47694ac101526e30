"""A server that echoes messages through the WebSocket of the feeds, for the Autobahn test suite.

``python -m tests.feeds.echo`` prints its port and serves until it is killed.
"""

from __future__ import annotations

import socket
import time
from math import inf

from finapi.feeds import websocket
from finapi.feeds.feed_messages import encode_text_frame
from finapi.feeds.websocket import WebSocket, answer_handshake
from finapi.httpd.loop import Loop
from finapi.httpd.settings import HandedOverRequest


class Echo(WebSocket):
    """A WebSocket that sends each text back."""

    def on_text(self, text: str) -> None:
        self.send([encode_text_frame(text)])


def begin(loop: Loop, sock: socket.socket) -> None:
    """Read a handshake, answer it and start to echo."""
    with sock.makefile("rb") as file:
        file.readline()
        headers = {}
        while line := file.readline().decode("latin-1").rstrip("\r\n"):
            name, _, text = line.partition(":")
            headers[name.lower()] = text.strip()
    status, answer, _ = answer_handshake(HandedOverRequest(sock, "", "GET", "", {}, headers, b"", b""))
    assert status == 101
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in answer), "", ""]
    sock.sendall("\r\n".join(lines).encode())
    Echo(loop, sock)


def main() -> None:
    """Serve on a free port."""
    websocket.FRAME_BURST = inf  # Some cases of the suite send thousands of frames.
    websocket.MAX_MESSAGE_BYTES = 1 << 20  # The longest message of the suite, except in its speed tests.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        loop = Loop(time.monotonic, inf)
        while True:  # The suite opens one connection at a time.
            begin(loop, listener.accept()[0])
            while loop.connections:
                loop.step(60)


if __name__ == "__main__":
    main()
