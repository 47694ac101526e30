"""500 readers of a feed during calls over HTTP, and the same load on the threading server of ``websockets``.

    python -m tests.bench.feeds [--connections 500] [--events 200] [--seconds 5]

Each server is a process of its own, one after the other, driven by the same client. Of each: resident memory
for a connection; a burst of events to every connection, in messages for a second of the clock and of the
server's CPU; the time of a call over HTTP while twenty events a second go out. finapi writes every event into
its journal on disk in a transaction of its own (synchronous=FULL); the other server only sends.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PER_ACCOUNT = 5
RATE = 20  # events a second beside the calls
DATA = {
    "transaction_id": "0000320193-25-000057:1",
    "ticker": "AAPL",
    "issuer_cik": "0000320193",
    "insider_name": "SOMEBODY WITH A NAME",
    "shares": 1000,
    "remarks": "x" * 900,
}
TICKS = os.sysconf("SC_CLK_TCK")


# ---- the servers, each in a process that is told on its standard input how many events to send how fast


def _obey(handle_signal: Callable[[int], None], ready: dict[str, Any]) -> None:
    print(json.dumps(ready), flush=True)
    number = 0
    for line in sys.stdin:
        count, rate = line.split()
        for _ in range(int(count)):
            number += 1
            handle_signal(number)
            if float(rate):
                time.sleep(1 / float(rate))


def serve_finapi(connections: int) -> None:
    """Run finapi as ``serve`` does."""
    from finapi import server
    from finapi.accounts import users
    from finapi.core.config import Config
    from finapi.delivery import events
    from finapi.delivery.events import EventTags

    with tempfile.TemporaryDirectory() as directory:
        # All readers have one address.
        config = Config(
            data_dir=Path(directory),
            port=0,
            password_profile="cheap",
            feed_connections_per_address=connections,
        )
        with server.run_server(config, lambda *_: 0) as running:
            app = running.app
            keys = [
                users.create(app, f"u{number}@example.com", "pro", app.clock.now()).api_key
                for number in range(-(-connections // PER_ACCOUNT))
            ]
            paths = [f"/ws/main-api?token={keys[number // PER_ACCOUNT]}" for number in range(connections)]

            def tell(number: int) -> None:
                with app.db.write() as tx:
                    events.record(
                        tx,
                        "new_filing",
                        now=app.clock.now(),
                        occurred_at="2026-01-31T12:00:00.000Z",
                        tags=EventTags(("AAPL",), ("0000320193",), "4"),
                        data={**DATA, "number": f"#{number}#"},
                    )

            _obey(tell, {"port": running.port, "http": running.port, "path": "/livez", "paths": paths})


def serve_threads(connections: int) -> None:
    """Run the threading server of ``websockets``, with waitress for the calls."""
    import waitress
    from websockets.sync.server import ServerConnection, serve

    open_ones: set[ServerConnection] = set()

    def handler(connection: ServerConnection) -> None:
        open_ones.add(connection)
        for _ in connection:
            pass

    def page(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "application/json")])
        return [b'{"status":"ok"}']

    calls = waitress.create_server(page, host="127.0.0.1", port=0, asyncore_use_poll=True)
    threading.Thread(target=calls.run, daemon=True).start()
    with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as feeds:
        threading.Thread(target=feeds.serve_forever, daemon=True).start()

        def tell(number: int) -> None:
            text = json.dumps({"type": "new_filing", "seq": number, "data": {**DATA, "number": f"#{number}#"}})
            while len(open_ones) < connections:  # a handler begins a little after its handshake
                time.sleep(0.01)
            for connection in list(open_ones):
                connection.send(text)

        ready = {
            "port": feeds.socket.getsockname()[1],
            "http": calls.effective_port,
            "path": "/",
            "paths": ["/"] * connections,
        }
        _obey(tell, ready)
        os._exit(0)


SERVERS = {"finapi": serve_finapi, "websockets.sync": serve_threads}


# ---- the client


@dataclass(frozen=True)
class Served:
    """A server that is ready."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]

    def tell(self, count: int, rate: float = 0.0) -> None:
        """Let it send events."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count} {rate}\n")
        self.process.stdin.flush()

    def memory(self) -> int:
        """Return resident memory, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) * 1024

    def cpu(self) -> float:
        """Seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def served(name: str, connections: int) -> Iterator[Served]:
    """Yield a server in its own process."""
    command = [sys.executable, "-m", "tests.bench.feeds", "--serve", name, "--connections", str(connections)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Served(process, json.loads(process.stdout.readline()))
        finally:
            process.kill()


class Readers:
    """Every connection, read by one selector."""

    def __init__(self, port: int, paths: list[str]) -> None:
        self.selector = selectors.DefaultSelector()
        self.tails: dict[socket.socket, bytes] = {}
        for path in paths:
            sock = socket.create_connection(("127.0.0.1", port))
            nonce = base64.b64encode(os.urandom(16)).decode()
            sock.sendall(
                f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += sock.recv(1)
            assert answer.startswith(b"HTTP/1.1 101"), answer
            sock.setblocking(False)
            self.selector.register(sock, selectors.EVENT_READ)
            self.tails[sock] = b""

    def wait(self, number: int) -> None:
        """Read until every connection has the event of this number, which is the last one."""
        mark = f'"#{number}#"'.encode()
        waiting = set(self.tails)
        while waiting:
            ready = self.selector.select(20)
            if not ready:
                raise TimeoutError(f"{len(waiting)} connections were not told of event {number}")
            for key, _ in ready:
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                data = self.tails[sock] + sock.recv(262_144)
                self.tails[sock] = data[-40:]
                if mark in data:
                    waiting.discard(sock)

    def close(self) -> None:
        for sock in self.tails:
            sock.close()


def calls(ready: dict[str, Any], until: Callable[[], bool]) -> list[float]:
    """Return the milliseconds of successive calls over one connection until ``until``."""
    connection = http.client.HTTPConnection("127.0.0.1", ready["http"], timeout=20)
    times = []
    while not until():
        started = time.perf_counter()
        connection.request("GET", ready["path"])
        connection.getresponse().read()
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.002)
    connection.close()
    return times


def sending(name: str, connections: int, events: int) -> float:
    """Return the server's CPU seconds for one message to one reader."""
    with served(name, connections) as server:
        readers = Readers(server.ready["port"], server.ready["paths"])
        server.tell(1)
        readers.wait(1)
        before = server.cpu()
        server.tell(events)
        readers.wait(1 + events)
        spent = server.cpu() - before
        readers.close()
    return spent / (events * connections)


def measure(name: str, connections: int, events: int, seconds: float) -> None:
    """Print the measurements of a server."""
    with served(name, connections) as server:
        before = server.memory()
        readers = Readers(server.ready["port"], server.ready["paths"])
        server.tell(1)
        readers.wait(1)
        bytes_per_connection = (server.memory() - before) / connections
        cpu, started = server.cpu(), time.perf_counter()
        server.tell(events)
        readers.wait(1 + events)
        took, cpu = time.perf_counter() - started, server.cpu() - cpu
        count = round(RATE * seconds)
        ended = threading.Event()
        times: list[float] = []
        caller = threading.Thread(target=lambda: times.extend(calls(server.ready, ended.is_set)))
        caller.start()
        server.tell(count, RATE)
        readers.wait(1 + events + count)
        ended.set()
        caller.join()
        readers.close()
    message_count = events * connections
    quantiles = statistics.quantiles(times, n=100)
    print(
        f"{name:16} {bytes_per_connection / 1024:6.1f} KiB a connection; {events / took:6.0f} events/s to all "
        f"({message_count / took:8.0f} messages/s, {message_count / cpu:8.0f} a CPU second); "
        f"HTTP beside {RATE} events/s: p50 {quantiles[49]:.1f} ms, p99 {quantiles[98]:.1f} ms of {len(times)}"
    )


def main() -> None:
    """Measure both servers in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--serve", choices=SERVERS)
    options = parser.parse_args()
    if options.serve:
        SERVERS[options.serve](options.connections)
        return
    for name in SERVERS:
        measure(name, options.connections, options.events, options.seconds)


if __name__ == "__main__":
    main()
