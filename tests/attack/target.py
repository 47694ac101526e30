"""The server under attack, and the outcome of an attack."""

from __future__ import annotations

import re
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.process import SECONDS, Running

MB = 1_000_000
CALLERS = 64  # at the same time: as many threads work as the server allows
SETTLED_SECONDS = 3.0  # without a fall of the memory, after which it counts as what is kept
PATIENCE = 30.0  # for that at most

# What an ordinary day asks for, so that the memory before the attacks is that of a server in use.
WARM = (
    "/openapi.json",
    "/api/v1/policy",
    "/api/v1/status",
    "/api/v1/xbrl/companies/AAPL/statements",
    "/api/v1/xbrl/companies/NFLX/statements?period=Q",
    "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income&template=true&provenance=full",
    "/api/v1/xbrl/timeseries?ticker=NFLX&metrics=revenue,net_income&template=true&provenance=full",
    "/api/v1/xbrl/timeseries?ticker=NFLX&period=Q&years=20&template=true&provenance=full&ratios=true",
    "/api/v1/form-13f/fund/0001067983",
    "/api/v1/sec/filings?limit=50",
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attack: a figure, its upper bound, and their unit."""

    figure: float
    bound: float
    what: str

    @property
    def held(self) -> bool:
        return self.figure <= self.bound


class Target:
    """A running demo with default limits: its addresses, keys and memory."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.pid = running.pid
        self.address = running.address
        self.key: str = running.ready["api_key"]
        self.free_key: str = running.ready["free_api_key"]

    def rss(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[0]) * 1024

    def settled_rss(self) -> int:
        """Return the resident memory in bytes once it has stopped falling."""
        least, since, until = self.rss(), time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() < min(since + SETTLED_SECONDS, until):
            time.sleep(0.1)
            now = self.rss()
            if now < least - MB // 2:
                least, since = now, time.monotonic()
        return self.rss()

    def warm(self) -> None:
        """Request every kind of answer in several threads, so that caches and connections exist."""
        for path in WARM * 3:
            self.running.get(path, self.key)
        with ThreadPoolExecutor(CALLERS) as callers:
            list(callers.map(self.running.get, ("/readyz", f"{WARM[0]}?warm") * 3 * CALLERS))
        credentials = {name: self.running.ready[name] for name in ("email", "password")}
        self.running.call("POST", "/api/v1/auth/login", credentials)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """Return a connection from a local address."""
        return socket.create_connection(self.address, timeout=SECONDS, source_address=(source, 0))

    @contextmanager
    def watched(self, path: str = "/livez", source: str = "127.0.0.99") -> Iterator[Callable[[], list[float]]]:
        """Request ``path`` continuously as another caller. Yield the milliseconds of each call so far.

        A call that is not answered by 200 counts as infinitely long.
        """
        times: list[float] = []
        stopping = threading.Event()
        request = f"GET {path} HTTP/1.1\r\nHost: target\r\n\r\n".encode()

        def ask() -> None:
            client = None
            while not stopping.is_set():
                began = time.perf_counter()
                try:
                    client = client or self.connect(source)
                    client.sendall(request)
                    is_ok = client.recv(65_536).startswith(b"HTTP/1.1 200")
                except OSError:
                    is_ok = False
                times.append((time.perf_counter() - began) * 1000 if is_ok else float("inf"))
                if not is_ok and client is not None:
                    client.close()
                    client = None
                stopping.wait(0.005)
            if client is not None:
                client.close()

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield lambda: times
        finally:
            stopping.set()
            thread.join()


def percentile(times: list[float], share: float) -> float:
    """Return the time that this share of the times does not exceed; infinite if there are none."""
    if len(times) < 2:
        return float("inf")
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def median(times: list[float]) -> float:
    """Return the median of the times; infinite if there are none."""
    return statistics.median(times) if times else float("inf")
