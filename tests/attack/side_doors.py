"""What stands beside the calls: figures for monitoring, coded bodies, errors of webhooks, badges, lockouts.

Each is tried as somebody would who looks for what it tells or costs; of webhooks and lockouts on a server of its own.
"""

from __future__ import annotations

import http.client
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.attack.target import Outcome, Target
from tests.process import SECONDS, Running, finapi, serve

BADGES = 130  # of one address within a second: pages have 120 a minute
BADGE = "/status/badge/main_api.svg"
LOGIN = "/api/v1/auth/login"


def attack(target: Target) -> Outcome:
    """Return the number of side doors that revealed something."""
    tried = dict(_tried(target))
    opened = [name for name, gave_away in tried.items() if gave_away]
    return Outcome(len(opened), 0.0, f"of {len(tried)} side doors open{': ' if opened else ''}{', '.join(opened)}")


def _tried(target: Target) -> Iterator[tuple[str, bool]]:
    running = target.running
    for name, headers in (
        ("metrics by another name", {"Host": "evil.example"}),
        ("by proxy", {"X-Forwarded-For": "1.1.1.1"}),
    ):
        yield name, running.call("GET", "/metrics", headers=headers).status != 403
    credentials = {"email": "nobody@example.com", "password": "no password"}
    yield "coded bodies", running.call("POST", LOGIN, credentials, headers={"Content-Encoding": "gzip"}).status != 415
    # Before the badges, because these use up the limit of pages.
    yield from _tried_pages(running)
    yield "badges", all(running.get(BADGE).status == 200 for _ in range(BADGES))
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory:
        data = Path(directory) / "data"
        with serve(data, "--log-level", "error") as server:
            key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data).json["api_key"]
            inside, nowhere = (_failure(server, key, host) for host in (socket.gethostname(), "nowhere.invalid"))
            yield "names inside", inside != nowhere or inside is None
            for _ in range(5):
                server.call("POST", LOGIN, credentials)
            server.stop()
        with serve(data, "--log-level", "info", "--trusted-proxies", "127.0.0.1") as server:
            yield "lockouts", server.call("POST", LOGIN, credentials).status != 429
            yield "readers of feeds that are not in the log", _hides_readers(server, key)
            yield "one limit for all addresses with a port", _shares_limit(server)
            server.stop()
        yield "files for other users", any(path.stat().st_mode & 0o077 for path in data.rglob("*") if path.is_file())


def _tried_pages(running: Running) -> Iterator[tuple[str, bool]]:
    """Sign in with an odd target, and look at the headers of a member's page and a filed document."""
    form = {name: running.ready[name] for name in ("email", "password")}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection = http.client.HTTPConnection(*running.address, timeout=SECONDS)
    connection.request("POST", "/login", urlencode({**form, "next": "/\u2603"}), headers)
    answer = connection.getresponse()
    answer.read()
    yield "a login that leads to a snowman", answer.status != 303
    cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
    connection.request("GET", "/account", headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    yield "member pages in a cache", (answer.status, answer.headers["Cache-Control"]) != (200, "no-store")
    connection.close()
    filings = running.get("/api/v1/sec/filings/search?q=revenue&limit=1", running.ready["api_key"]).json["data"]
    document = running.get(f"/filing/{filings[0]['accession_number']}/document")
    is_framed = "frame-ancestors 'none'" not in document.headers["content-security-policy"]
    yield "filed documents in frames of other sites", document.status != 200 or is_framed


def _hides_readers(server: Running, key: str) -> bool:
    """Return True unless the log has a reader with a key and one with a wrong key, of WebSocket and Socket.IO."""
    address = "{}:{}".format(*server.address)
    for token in (key, "0" * 32):
        with suppress(WebSocketException), connect(f"ws://{address}/ws/main-api?token={token}", proxy=None) as reader:
            reader.send('{"type":"subscribe","tickers":["AAPL"]}')
            reader.recv(timeout=SECONDS)
        with (
            suppress(WebSocketException),
            connect(f"ws://{address}/socket.io/?EIO=4&transport=websocket", proxy=None) as io,
        ):
            io.recv(timeout=SECONDS)
            io.send(f'40/ws/main-api,{{"token":"{token}"}}')
            io.recv(timeout=SECONDS)
    lines = [line for line in server.log.splitlines() if " feed feed=main-api " in line]
    return [sum(f" status={status} " in line for line in lines) for status in (200, 401)] != [2, 2]


def _shares_limit(server: Running) -> bool:
    """Return True if calls through a proxy that writes ports use up the limit of another address."""
    for _ in range(BADGES):
        last = server.call("GET", BADGE, headers={"X-Forwarded-For": "203.0.113.11:1000"})
    other = server.call("GET", BADGE, headers={"X-Forwarded-For": "203.0.113.12:1000"})
    return (last.status, other.status) != (429, 200)


def _failure(server: Running, key: str, host: str) -> str | None:
    """Return the error of a webhook delivery to a host, as its account sees it."""
    headers = {"X-API-Key": key}
    test_event = server.call("POST", "/api/v1/webhooks/test", {"url": f"https://{host}/"}, headers=headers).json
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        rows = server.get("/api/v1/webhooks/deliveries", key).json["deliveries"]
        errors = [row["last_error"] for row in rows if row["delivery_id"] == test_event["delivery_id"]]
        if any(errors):
            return str(errors[0])
        time.sleep(0.1)
    return None
