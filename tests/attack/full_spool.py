"""Large documents that one address requests without a key and does not read: 17 KB of requests against the others.

Others read slowly, as over a mobile network: an export, a list of facts and the document itself.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress

from tests.attack.target import Outcome, Target
from tests.process import SECONDS

CONNECTIONS = 240  # of the 250 that an address may have
DOCUMENT = "/openapi.json"
EXPORT = "/api/v1/xbrl/facts?cik=320193&format=ndjson"
FACTS = "/api/v1/facts?ticker=AAPL&format=ndjson"
# Each takes another way through the server.
REQUESTS = (
    b"GET /openapi.json HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0\r\n\r\n",
    b"GET /openapi.json?a=1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /openapi.json HTTP/1.0\r\n\r\n",
)
ROUNDS = 2
PATIENCE = 0.5  # seconds before a slow reader begins to read


def attack(target: Target) -> Outcome:
    """Return the number of others' answers that were not complete."""
    incomplete = requested = 0
    for _ in range(ROUNDS):
        with ExitStack() as stack:
            for number in range(CONNECTIONS):
                client = stack.enter_context(slow_client(target, "127.0.0.5"))
                with suppress(OSError):
                    client.sendall(REQUESTS[number % len(REQUESTS)])
            time.sleep(1.0)
            for number, path in enumerate((DOCUMENT, EXPORT, FACTS, EXPORT, DOCUMENT)):
                requested += 1
                incomplete += not is_complete(target, path, f"127.0.0.{60 + number}")
    return Outcome(incomplete, 0, f"of {requested} others' answers were incomplete")


def slow_client(target: Target, source: str) -> socket.socket:
    """Return a connection for which the kernel buffers little."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(SECONDS)
    client.bind((source, 0))
    client.connect(target.address)
    return client


def is_complete(target: Target, path: str, source: str) -> bool:
    """Return True if a slow reader receives all of an answer."""
    with slow_client(target, source) as client:
        client.sendall(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {target.key}\r\nAccept-Encoding: gzip;q=0\r\n\r\n".encode()
        )
        time.sleep(PATIENCE)
        received = b""
        with suppress(OSError):
            while b"\r\n\r\n" not in received:
                received += client.recv(65_536)
            head, _, body = received.partition(b"\r\n\r\n")
            length = next((line[16:] for line in head.splitlines() if line.startswith(b"Content-Length: ")), None)
            while piece := b"" if length is not None and len(body) >= int(length) else client.recv(65_536):
                body += piece
            is_whole = body.endswith(b"\r\n0\r\n\r\n") if length is None else len(body) == int(length)
            return head.startswith(b"HTTP/1.1 200") and is_whole
    return False
