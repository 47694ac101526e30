"""Bodies that never come, from a few addresses, without a credential and with one: they keep others' from being taken.

Others send theirs as clients do: the head, and then the body.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress

from tests.attack.target import Outcome, Target
from tests.process import SECONDS

OTHERS = 50
LOGIN, BATCH = "/api/v1/auth/login", "/api/v1/xbrl/timeseries/batch"


def attack(target: Target) -> Outcome:
    """Return the number of logins from other addresses, of fifty, that were not answered."""
    strange = f"POST {BATCH} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".encode()
    authenticated = strange.replace(b"Host: x", f"Host: x\r\nX-API-Key: {target.key}".encode())
    chunked = authenticated.replace(b"Content-Length: 1000000", b"Transfer-Encoding: chunked") + b"f0000\r\n"
    short = f"POST {LOGIN} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{{".encode()
    with ExitStack() as stack:
        for number, head in enumerate((strange, authenticated, chunked, short)):
            for _ in range(100):
                client = stack.enter_context(target.connect(f"127.0.0.{2 + number}"))
                with suppress(OSError):
                    client.sendall(head)
                    client.setblocking(False)
        time.sleep(2.0)
        return Outcome(sum(not _taken(target) for _ in range(OTHERS)), 0, f"of {OTHERS} logins refused to others")


def _taken(target: Target) -> bool:
    body = b'{"email":"nobody@example.com","password":"no password"}'
    with target.connect("127.0.0.98") as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(f"POST {LOGIN} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        time.sleep(0.01)
        try:
            client.sendall(body)
            client.settimeout(SECONDS)
            status = int(client.recv(4096)[9:12] or 0)
        except (OSError, ValueError):
            return False
        return status in (401, 429)  # the limits and the lockout had their say: the body was taken
