"""Requests in a row on one connection, for answers that are in memory: each read of them a long turn of the loop.

Sixteen hundred requests fit into one read. While they are answered, nobody else's are looked at.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

from tests.attack.target import Outcome, Target, median

CONNECTIONS = 8
SECONDS = 4.0
REQUEST = b"GET /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n"


def attack(target: Target) -> Outcome:
    """Return the median of another caller's answers during the attack, in milliseconds."""
    until = time.monotonic() + SECONDS
    block = REQUEST * (65_536 // len(REQUEST))

    def ask(client: socket.socket) -> None:
        with suppress(OSError):
            while time.monotonic() < until:
                client.sendall(block)

    def read(client: socket.socket) -> None:
        with suppress(OSError):
            while time.monotonic() < until and client.recv(1 << 20):
                pass

    with ExitStack() as stack:
        for number in range(CONNECTIONS):
            client = stack.enter_context(target.connect(f"127.0.0.{number + 2}"))
            client.settimeout(0.5)
            for work in (ask, read):
                thread = threading.Thread(target=work, args=(client,))
                thread.start()
                stack.callback(thread.join)
        with target.watched() as times:
            time.sleep(max(0.0, until - time.monotonic()))
        return Outcome(median(times()), 50.0, "ms, others' median answer beside 8 pipelining clients")
