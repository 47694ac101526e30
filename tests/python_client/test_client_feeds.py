"""Feeds of the Python client over WebSocket: what breaks is gone on with, and what is refused is told."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from finapi.client import ApiFailure, AsyncClient, Client, by_httpx, feeds
from finapi.client.feeds import FeedCursor
from finapi.testing import FinapiServer
from finapi.testing.server import FixtureWorld
from tests.support.case_tables import run_each_case

AAPL = {"ticker": "AAPL"}


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=17) as running:
        yield running


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    feed_world = server.world("feeds")
    yield feed_world
    feed_world.control.drop()


def publish_event(world: FixtureWorld, data: dict[str, Any] | None = None) -> int:
    return world.control.event("main-api", "new_filing", data or AAPL)


def test_a_program_ends_though_its_feed_was_not_closed(world: FixtureWorld) -> None:
    seq = publish_event(world)
    key, url = world.api_key, world.url
    program = "import sys; from finapi.client import Client\nfeed = Client(*sys.argv[1:3]).feed('main-api', since=0)\n"
    words = [sys.executable, "-c", program + "print(next(feed)['seq'])", url, key]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert 1 <= int(done.stdout) <= seq


@run_each_case("code", [1001, 1011, 1013, 4429])
def test_a_closed_feed_continues_behind_its_last_event(world: FixtureWorld, code: int) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        publish_event(world)  # while nobody listens

    seq = publish_event(world)
    feed = world.client(wait=wait).feed("main-api", since=seq - 1)
    assert next(feed)["seq"] == seq
    world.control.fault(close=code)
    assert [next(feed)["seq"], publish_event(world), next(feed)["seq"]] == [seq + 1, seq + 2, seq + 2]
    assert len(waits) == 1
    assert 0.5 <= waits[0] <= 1.0
    feed.close()


def test_a_filter_applies_after_a_reconnect(world: FixtureWorld) -> None:
    seq = publish_event(world)
    feed = world.client(wait=lambda _: None).feed("main-api", since=seq, tickers=["UPXI", "NFLX"])
    seqs = [publish_event(world), publish_event(world, {"ticker": "NFLX"})]
    assert next(feed)["seq"] == seqs[1]
    world.control.fault(close=1013)
    seqs = [publish_event(world), publish_event(world, {"ticker": "UPXI"})]
    assert next(feed)["seq"] == seqs[1]
    feed.close()


@pytest.mark.parametrize(("code", "status", "name"), [(4400, 400, "INVALID_PARAM"), (4401, 401, "UNAUTHORIZED")])
def test_a_permanent_close_is_a_failure(world: FixtureWorld, code: int, status: int, name: str) -> None:
    seq = publish_event(world)
    feed = world.client().feed("main-api", since=seq - 1)
    next(feed)
    world.control.fault(close=code)
    with pytest.raises(ApiFailure) as caught:
        next(feed)
    assert (caught.value.status, caught.value.code, caught.value.details) == (status, name, {"close_code": code})
    assert caught.value.message == "The fixture was told to close."


def test_an_invalid_key_or_feed_is_a_failure_immediately(world: FixtureWorld) -> None:
    with pytest.raises(ApiFailure, match="401 UNAUTHORIZED"):
        next(Client(world.url, "k" * 32).feed("main-api"))
    with pytest.raises(ApiFailure, match="404 NOT_FOUND"):
        next(world.client().feed("nothing"))


def test_connections_beyond_the_plan_are_retried_and_refused(world: FixtureWorld) -> None:
    publish_event(world)
    feed, waits = world.client("free").feed("main-api"), list[float]()
    next(feed)
    with pytest.raises(ApiFailure) as caught:
        next(world.client("free", wait=waits.append).feed("main-api"))
    assert (caught.value.status, caught.value.code, len(waits)) == (429, "RATE_LIMIT_EXCEEDED", 9)
    feed.close()


def test_where_nobody_answers_it_ends() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url, waits = f"http://127.0.0.1:{free.getsockname()[1]}", list[float]()
        with pytest.raises(ApiFailure, match="There was no answer"):
            next(Client(url, wait=waits.append).feed("main-api"))
    assert len(waits) == 9
    assert max(waits) <= 30.0


class Redirecting(BaseHTTPRequestHandler):
    """Redirects every request to ``/elsewhere`` of this server, and records the paths of the requests."""

    paths: ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.paths.append(self.path.partition("?")[0])
        self.send_response(int(self.headers["X-Status"]))
        self.send_header("Location", f"ws://{self.headers['Host']}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def redirecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Redirecting, "paths", [])
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_follows_no_redirect(redirecting: str, status: int) -> None:
    async def of_async() -> None:
        async def wait(seconds: float) -> None:
            raise AssertionError(seconds)

        await anext(feeds.iter_events_async(build_cursor(), wait))

    def build_cursor() -> FeedCursor:
        headers = {"X-API-Key": "secret", "X-Status": str(status)}
        return FeedCursor(redirecting, "main-api", headers, None, None, {}, dates=False)

    with pytest.raises(ApiFailure) as caught:
        next(feeds.iter_events(build_cursor(), lambda seconds: pytest.fail(f"it waited {seconds} s")))
    assert caught.value.status == status
    with pytest.raises(ApiFailure) as caught:
        asyncio.run(of_async())
    assert caught.value.status == status
    assert Redirecting.paths == ["/ws/main-api"] * 2


def test_the_client_that_does_not_wait_reads_the_same(world: FixtureWorld) -> None:
    async def read() -> list[int]:
        async def wait(seconds: float) -> None:
            publish_event(world)

        seen: list[int] = []
        async with AsyncClient(world.url, world.api_key, wait=wait) as client:
            async for event in client.feed("main-api", since=seq - 1):
                seen.append(event["seq"])
                if len(seen) == 1:
                    world.control.fault(close=1013)
                if len(seen) == 2:
                    break
        return seen

    seq = publish_event(world)
    assert asyncio.run(read()) == [seq, seq + 1]


def test_events_without_websocket_go_on_as_well(world: FixtureWorld) -> None:
    async def wait(seconds: float) -> None:
        publish_event(world)

    async def read() -> list[int]:
        seen: list[int] = []
        async with AsyncClient(world.url, world.api_key, wait=wait) as client:
            async for event in client.events("main-api", since=seq - 1):
                seen.append(event["seq"])
                if len(seen) == 2:
                    break
        return seen

    seq = publish_event(world)
    assert asyncio.run(read()) == [seq, seq + 1]


def test_without_httpx_it_asks_by_urllib(world: FixtureWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    async def ask() -> str:
        async with AsyncClient(world.url, world.api_key) as client:
            return (await client.get_account_balance())["plan"]

    assert asyncio.run(ask()) == "pro"


@pytest.mark.slow
def test_the_examples_of_docs_clients_work(server: FinapiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.control.reset()
    monkeypatch.setenv("FINAPI_URL", server.url)
    monkeypatch.setenv("FINAPI_API_KEY", server.api_key)
    page = (Path(__file__).parents[2] / "docs" / "CLIENTS.md").read_text("utf-8")
    namespace: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/CLIENTS.md", "exec"), namespace)
    namespace["feed"].close()
    assert namespace["newest"].year >= 2025
    assert {"8-K", "10-Q"} <= namespace["forms"]
    assert namespace["details"][:2] == (404, "UNKNOWN_TICKER")
    assert namespace["event"]["data"]["ticker"] == "AAPL"
    assert namespace["tokens"] > 0


def test_the_same_over_connections_that_stay_open(world: FixtureWorld) -> None:
    httpx = pytest.importorskip("httpx")
    with httpx.Client() as http:
        client = Client(world.url, world.api_key, send=by_httpx(http), tries=1)
        assert client.get_account_balance()["plan"] == "pro"
        with pytest.raises(ApiFailure, match="404 UNKNOWN_TICKER"):
            client.get_tickers_ticker_overview(ticker="ZZZZ")
    world.control.fault("*/policy", reset=True)
    with httpx.Client() as http, pytest.raises(ApiFailure, match="There was no answer"):
        Client(world.url, world.api_key, send=by_httpx(http), tries=1).get_policy()


def test_events_are_not_returned_twice() -> None:
    cursor = FeedCursor("https://x", "main-api", {}, 4, 1, {"tickers": ["A", "B"], "ciks": []}, dates=False)
    assert cursor.begin_connection() == "wss://x/ws/main-api?tickers=A%2CB&since_seq=4&epoch=1"

    def heard(**event: Any) -> bool:
        return cursor.parse_event(json.dumps({"type": "new_filing", **event})) is not None

    assert [heard(seq=seq, epoch=1) for seq in (4, 5, 5, 6)] == [False, True, False, True]
    # An answer to a filter has no number; a restored backup counts anew.
    assert not heard(type="subscribed")
    assert cursor.parse_event("<html>") is None
    assert heard(type="gap", seq=2, epoch=2)
    assert [heard(seq=seq, epoch=2) for seq in (2, 3)] == [False, True]
    assert cursor.begin_connection() == "wss://x/ws/main-api?tickers=A%2CB&since_seq=3&epoch=2"


def test_a_client_leaves_no_socket_open(server: FinapiServer) -> None:
    async def leave_feed_open() -> None:
        async with AsyncClient(server.url, server.api_key) as client:
            call = asyncio.create_task(client.get_xbrl_timeseries(ticker="AAPL"))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await client.get_account_balance())["plan"] == "pro"

    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always", ResourceWarning)
        with Client(server.url, server.api_key) as client:
            client.get_account_balance()
            with pytest.raises(ApiFailure):
                client.get_tickers_ticker_overview(ticker="APPL")
        asyncio.run(leave_feed_open())
        del client
        gc.collect()
    assert [str(warning.message) for warning in caught_warnings if warning.category is ResourceWarning] == []
