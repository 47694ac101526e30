"""The JavaScript client, ``socket.io-client``, in Node and in Chromium (slow, as npm has to fetch it)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests import npm
from tests.feeds import Service, key, tell
from tests.real import test_pages as pages

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "node_client.js"
UPGRADES = Path(__file__).parent / "upgrades.js"
PACKAGES = {"socket.io-client": "4.8.4"}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of Node modules in which the client is installed."""
    return npm.install_packages(tmp_path_factory.mktemp("node"), PACKAGES).parent


def node(modules: Path, *words: object) -> list[dict[str, Any]]:
    """Run a script and return the lines of JSON that it prints. Its status must be zero."""
    done = subprocess.run(
        ["node", *map(str, words)],
        env={**os.environ, "NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(
    modules: Path, service: Service, auth: dict[str, Any], transports: str = "", count: int = 20, **options: Any
) -> list[dict[str, Any]]:
    client_options = json.dumps({"auth": auth, **options})
    return node(modules, SCRIPT, f"http://{service.host}", "/ws/main-api", client_options, transports, count)


@pytest.mark.parametrize("transports", ["", "websocket", "polling"])
def test_the_client_receives_twenty_events_filters_and_resumes(
    modules: Path, service: Service, transports: str
) -> None:
    tell(service.app, 30)
    api_key = key(service.app)
    *events, last = read(modules, service, {"token": api_key}, transports)
    assert events == [{"type": "new_filing", "seq": seq} for seq in range(11, 31)]
    assert last["filter"]["tickers"] == ["AAPL"]
    assert last["transport"] == ("polling" if transports == "polling" else "websocket")
    tell(service.app, 2)
    events = read(modules, service, {"token": api_key, "since_seq": 28}, transports, 4)[:-1]
    assert [event["seq"] for event in events] == [29, 30, 31, 32]
    service.outwaited()


@pytest.mark.parametrize("transports", ["", "websocket", "polling"])
@pytest.mark.parametrize(
    "way", [{"query": {"token": "KEY"}}, {"query": {"apiKey": "KEY"}}, {"extraHeaders": {"X-API-Key": "KEY"}}]
)
def test_the_key_may_come_with_the_request(
    modules: Path, service: Service, way: dict[str, Any], transports: str
) -> None:
    tell(service.app)
    options = json.loads(json.dumps(way).replace("KEY", key(service.app)))
    assert read(modules, service, {}, transports, 1, **options)[0] == {"type": "new_filing", "seq": 1}
    service.outwaited()


def test_the_client_is_refused_with_the_code(modules: Path, service: Service) -> None:
    assert read(modules, service, {"token": "0" * 32}) == [{"refused": 4401, "message": "A valid API key is needed."}]
    free = key(service.app, "free")
    with connect(service.url(token=free), proxy=None):
        assert read(modules, service, {"token": free}) == [
            {"refused": 4429, "message": "The plan's connection limit is 1."}
        ]
    service.outwaited()


def test_two_hundred_connections_are_all_upgraded(modules: Path, service: Service) -> None:
    for type in ("new_filing", "insider_transaction", "13f_filing"):
        tell(service.app, 30, type=type)
    auth = json.dumps({"token": key(service.app), "since_seq": 25})
    transport_counts = node(modules, UPGRADES, f"http://{service.host}", auth, 200)
    assert transport_counts == [{"websocket": 200}]
    # The clock does not move: a connection that is closed right after its upgrade leaves nothing.
    service.settled()


@pytest.mark.skipif(not (pages.CHROMIUM and pages.DRIVER), reason="chromium and chromedriver are not installed")
def test_two_hundred_browser_connections_are_all_upgraded(modules: Path, service: Service, tmp_path: Path) -> None:
    pytest.importorskip("selenium")
    tell(service.app, 30, type="13f_filing")
    script = (modules / "socket.io-client" / "dist" / "socket.io.min.js").read_text() + UPGRADES.read_text()
    with pages.watched_target() as port, pages.browser(tmp_path) as chromium:
        chromium.open(f"http://127.0.0.1:{port}/")  # A page of another origin.
        chromium.driver.set_script_timeout(60)
        transport_counts = chromium.driver.execute_async_script(
            f"{script}\nconst [url, auth, then] = arguments; upgraded(window.io, url, auth, 200).then(then);",
            f"http://{service.host}",
            {"token": key(service.app), "since_seq": 25},
        )
    assert transport_counts == {"websocket": 200}
    service.outwaited()
