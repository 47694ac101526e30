"""Answers that nobody reads: a thousand connections ask for the document with forty bytes each, and a key for more.

What is not read waits in the process, or in the kernel's buffers, which are the host's memory too.
"""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.attack.target import MB, Outcome, Target

PAGE = 4096
CONNECTIONS = 1000
DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
SERIES = "/api/v1/xbrl/timeseries?ticker=NFLX&period=Q&years=20&template=true&provenance=full&ratios=true"


def attack(target: Target) -> Outcome:
    """Return the additional megabytes of the server and the kernel's sockets."""
    before = target.rss() + sockets()
    data = f"GET {SERIES} HTTP/1.1\r\nHost: x\r\nX-API-Key: {target.key}\r\n\r\n".encode()
    with ExitStack() as stack:
        for number in range(CONNECTIONS):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(5.0)
            client.bind((f"127.0.0.{2 + number // 220}", 0))
            with suppress(OSError):
                client.connect(target.address)
                client.sendall(DOCUMENT if number % 10 else data)
        time.sleep(2.0)
        held_bytes = target.rss() + sockets() - before
    return Outcome(held_bytes / MB, 120.0, f"MB held for {CONNECTIONS} clients that read nothing")


def sockets() -> int:
    """Return the kernel's memory for TCP on this machine, in bytes."""
    text = Path("/proc/net/sockstat").read_text()
    return int(re.findall(r"^TCP: .* mem (\d+)$", text, re.MULTILINE)[0]) * PAGE
