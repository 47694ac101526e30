"""What stands beside the calls: figures for monitoring, coded bodies, errors of webhooks, badges, lockouts.

Each is tried as somebody would who looks for what it tells or costs; of webhooks and lockouts on a server of its own.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.attack.target import Outcome, Target
from tests.process import SECONDS, Running, finapi, serve

BADGES = 130  # of one address within a second: pages have 120 a minute
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
    yield "badges", all(running.get("/status/badge/main_api.svg").status == 200 for _ in range(BADGES))
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory:
        data = Path(directory) / "data"
        with serve(data, "--log-level", "error") as server:
            key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data).json["api_key"]
            inside, nowhere = (_failure(server, key, host) for host in (socket.gethostname(), "nowhere.invalid"))
            yield "names inside", inside != nowhere or inside is None
            for _ in range(5):
                server.call("POST", LOGIN, credentials)
            server.stop()
        with serve(data, "--log-level", "error") as server:
            yield "lockouts", server.call("POST", LOGIN, credentials).status != 429


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
