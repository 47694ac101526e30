"""Readers of feeds that send endless small WebSocket frames: pings as one client, empty fragments as eight."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.attack.target import Outcome, Target, median

SECONDS = 8.0
CLIENTS = 8
HANDSHAKES = 20
MASK = bytes(4)
PINGS = (b"\x89\x80" + MASK) * 5_000
FRAGMENTS = b"\x01\x80" + MASK + (b"\x00\x80" + MASK) * 5_000  # A message that never ends.
UPGRADE = (
    b"GET /ws/main-api?token=%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def attack_with_pings(target: Target) -> Outcome:
    """Return the share of a core that the server uses for one client's pings, in percent."""
    attack = _Attack(target, PINGS, ["127.0.0.2"])
    before, started_at = _read_cpu_seconds(target.pid), time.monotonic()
    attack.run(lambda: time.sleep(SECONDS))
    share = 100 * (_read_cpu_seconds(target.pid) - before) / (time.monotonic() - started_at)
    return Outcome(share, 20.0, f"% of a core for pings, {attack.connections} connections of one client")


def attack_with_fragments(target: Target) -> Outcome:
    """Return the median time of other readers' handshakes while eight clients send empty fragments, in ms."""
    attack = _Attack(target, FRAGMENTS, [f"127.0.0.{3 + number}" for number in range(CLIENTS)])
    times: list[float] = []

    def shake_hands() -> None:
        time.sleep(1.0)
        for number in range(HANDSHAKES):
            started_at = time.perf_counter()
            _open_feed(target, f"127.0.6.{1 + number}").close()
            times.append((time.perf_counter() - started_at) * 1000)

    attack.run(shake_hands)
    return Outcome(
        median(times), 50.0, f"ms for a handshake, {max(times):.0f} ms at most, {attack.connections} connections"
    )


class _Attack:
    """Clients that send the same bytes as fast as they are read, and connect again when they are cut off."""

    def __init__(self, target: Target, data: bytes, sources: list[str]) -> None:
        self._target = target
        self._data = data
        self._sources = sources
        self._stopping = threading.Event()
        self.connections = 0

    def run(self, measure: Callable[[], None]) -> None:
        """Attack while ``measure`` runs."""
        threads = [threading.Thread(target=self._send, args=(source,)) for source in self._sources]
        for thread in threads:
            thread.start()
        try:
            measure()
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join()

    def _send(self, source: str) -> None:
        while not self._stopping.is_set():
            with suppress(OSError), _open_feed(self._target, source) as client:
                self.connections += 1
                client.settimeout(1.0)
                while not self._stopping.is_set():
                    client.sendall(self._data)
            self._stopping.wait(0.01)


def _open_feed(target: Target, source: str) -> socket.socket:
    client = target.connect(source)
    client.sendall(UPGRADE % target.key.encode())
    if not client.recv(65_536).startswith(b"HTTP/1.1 101"):
        client.close()
        raise ConnectionRefusedError
    return client


def _read_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
