"""Places of the feeds: requests that are refused and not closed, upgrades that bring no key, wrong keys without end.

Others open a feed meanwhile, each from an address of its own, with a key in the query or in the first message.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack, suppress

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.attack.target import Outcome, Target, median

REFUSED, KEYLESS, WRONG = 2300, 400, 400
OTHERS = 20
PLAIN = b"GET /ws/main-api HTTP/1.1\r\nHost: x\r\n\r\n"
UPGRADE = (
    b"GET /ws/main-api%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def attack(target: Target) -> Outcome:
    """Return the number of other callers, of twenty, that could not open a feed."""
    stopping = threading.Event()
    requests = [
        *((PLAIN, "127.0.0.2") for _ in range(REFUSED)),
        *((UPGRADE % b"", f"127.0.0.{3 + number % 4}") for number in range(KEYLESS)),
        *((UPGRADE % (b"?token=%032x" % number), "127.0.0.7") for number in range(WRONG)),
    ]

    def ask(share: int) -> None:
        with ExitStack() as connections:
            while not stopping.is_set():
                for request, source in requests[share::4]:
                    with suppress(OSError):
                        client = connections.enter_context(target.connect(source))
                        client.sendall(request)
                    if stopping.is_set():
                        return
                stopping.wait(1.0)
                connections.close()

    threads = [threading.Thread(target=ask, args=(share,)) for share in range(4)]
    for thread in threads:
        thread.start()
    try:
        stopping.wait(2.0)
        with target.watched() as times:
            shut_out = sum(not _reads(target, number) for number in range(OTHERS))
            others_median = median(times())
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    return Outcome(
        shut_out, 0, f"of {OTHERS} readers shut out of the feeds; others' median answer {others_median:.0f} ms"
    )


def _reads(target: Target, number: int) -> bool:
    host, port = target.address
    query, first = (f"?token={target.key}", None) if number % 2 else ("", json.dumps({"token": target.key}))
    try:
        sock = socket.create_connection(target.address, 10.0, source_address=(f"127.0.5.{1 + number}", 0))
        with connect(f"ws://{host}:{port}/ws/main-api{query}", sock=sock, proxy=None, open_timeout=10.0) as client:
            if first is not None:
                client.send(first)
            client.send(json.dumps({"type": "subscribe", "tickers": ["AAPL"]}))
            while json.loads(client.recv(timeout=10.0))["type"] != "subscribed":
                pass
    except (OSError, WebSocketException):
        return False
    return True
