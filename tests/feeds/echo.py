"""The WebSocket of the feeds with nothing behind it: what is said to it, it says back. For the Autobahn test suite.

python -m tests.feeds.echo: prints its port and serves until it is killed.
"""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress

from finapi.feeds import websocket
from finapi.feeds.connections import Connection
from finapi.feeds.messages import text_frame
from finapi.feeds.requests import Taken
from finapi.feeds.websocket import WebSocket, handshake


class Echo(WebSocket):
    """Says what it is told."""

    def said(self, text: str) -> None:
        self.send([text_frame(text)])

    def expired(self) -> None:
        """A connection has a minute; one that is closing has until its time."""
        self.close()


class Loop:
    """As much of the feeds' loop as a connection needs."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def watch(self, connection: Connection, mask: int) -> None:
        with suppress(KeyError):
            self.selector.unregister(connection.sock)
        if mask:
            self.selector.register(connection.sock, mask, connection)

    def begin(self, sock: socket.socket) -> None:
        """Read a handshake, answer it and echo from there on."""
        with sock.makefile("rb") as file:
            file.readline()
            headers = {}
            while line := file.readline().decode("latin-1").rstrip("\r\n"):
                name, _, text = line.partition(":")
                headers[name.lower()] = text.strip()
        status, answer, _ = handshake(Taken(sock, "", "GET", "/", {}, headers, b"", b""))
        assert status == 101
        lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in answer), "", ""]
        sock.sendall("\r\n".join(lines).encode())
        Echo(self, sock)

    def run(self, listener: socket.socket) -> None:
        """Serve one connection at a time to its end, as the suite comes."""
        while True:
            sock, _ = listener.accept()
            self.begin(sock)
            while self.selector.get_map():
                for key, mask in self.selector.select(60):
                    key.data.handle(mask)


def main() -> None:
    """Serve on a free port."""
    websocket.MAX_MESSAGE = 1 << 20  # the suite's longest, but for its tests of speed
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        Loop().run(listener)


if __name__ == "__main__":
    main()
