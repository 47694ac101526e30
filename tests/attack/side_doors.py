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
    """How many of them gave something away."""
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
    who = {"email": "nobody@example.com", "password": "no password"}
    yield "coded bodies", running.call("POST", LOGIN, who, headers={"Content-Encoding": "gzip"}).status != 415
    yield "badges", all(running.get("/status/badge/main_api.svg").status == 200 for _ in range(BADGES))
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as place:
        data = Path(place) / "data"
        with serve(data, "--log-level", "error") as server:
            key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data).json["api_key"]
            inside, nowhere = (_failure(server, key, host) for host in (socket.gethostname(), "nowhere.invalid"))
            yield "names inside", inside != nowhere or inside is None
            for _ in range(5):
                server.call("POST", LOGIN, who)
            server.stop()
        with serve(data, "--log-level", "error") as server:
            yield "lockouts", server.call("POST", LOGIN, who).status != 429


def _failure(server: Running, key: str, host: str) -> str | None:
    """Why a webhook to a host was not delivered, as its account is told."""
    asked = {"X-API-Key": key}
    made = server.call("POST", "/api/v1/webhooks/test", {"url": f"https://{host}/"}, headers=asked).json
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        rows = server.get("/api/v1/webhooks/deliveries", key).json["deliveries"]
        said = [row["last_error"] for row in rows if row["delivery_id"] == made["delivery_id"]]
        if any(said):
            return str(said[0])
        time.sleep(0.1)
    return None
