"""Tests of the test server over its socket: feeds, broken answers, unread output, and a clean stop."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from finapi.testing import FinapiServer
from tests import process
from tests.process import ROOT

PATH = "/api/v1/account/balance"


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=3) as fixture_server:
        yield fixture_server


def get(server: FinapiServer, path: str = PATH) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
    try:
        connection.request("GET", path, headers={"X-API-Key": server.api_key})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def drain(feed: ClientConnection) -> None:
    while True:
        feed.recv(10)


def test_faults_break_answers_on_the_wire(server: FinapiServer, caplog: pytest.LogCaptureFixture) -> None:
    full_body = get(server)[1]
    server.control.fault(PATH, truncate=10, times=1)
    with pytest.raises(http.client.IncompleteRead) as truncated:
        get(server)
    assert truncated.value.partial == full_body[:10]
    server.control.fault(PATH, wrong_length=True, times=1)
    with pytest.raises(http.client.IncompleteRead) as too_long:
        get(server)
    assert (len(too_long.value.partial), too_long.value.expected) == (len(full_body), 7)
    server.control.fault(PATH, reset=True, times=1)
    with pytest.raises(ConnectionResetError):
        get(server)
    server.control.fault(PATH, drip=len(full_body) * 20, times=1)
    assert len(get(server)[1]) == len(full_body)
    server.control.reset()
    assert [record.getMessage() for record in caplog.records] == []


def test_a_feed_sends_events_and_is_closed_by_a_fault(server: FinapiServer) -> None:
    world, other = server.world("feeds"), server.world("others")
    address = world.url.replace("http:", "ws:") + "/ws/insider-api"
    with connect(f"{address}?token={world.api_key}&since_seq=999999") as feed:
        assert json.loads(feed.recv(10))["type"] == "gap"
        other.control.event("insider-api", "insider_transaction", {"ticker": "NFLX"})
        seq = world.control.event("insider-api", "insider_transaction", {"ticker": "AAPL"})
        event = json.loads(feed.recv(10))
        assert (event["seq"], event["data"]) == (seq, {"ticker": "AAPL"})
        world.control.fault(close=4429)
        with pytest.raises(ConnectionClosed) as closed:
            feed.recv(10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4429
    # A key of a world finds its feeds too. After a reset their numbers begin again.
    unnamed_address = f"ws://127.0.0.1:{server.ready['port']}/ws/insider-api?token={world.api_key}"
    with connect(unnamed_address) as feed:
        assert json.loads(feed.recv(10))["is_catchup"] is True
        world.control.reset()
        with pytest.raises(ConnectionClosed):
            drain(feed)
    with connect(f"{unnamed_address}&since_seq={seq - 1}") as feed:
        assert world.control.event("insider-api", "insider_transaction", {"ticker": "UPXI"}) == seq
        assert json.loads(feed.recv(10))["data"] == {"ticker": "UPXI"}
    world.control.drop()
    other.control.drop()


def test_webhooks_are_sent_while_the_clock_runs() -> None:
    with FinapiServer() as server:
        arrived = threading.Event()
        receive_webhook = server.wsgi.worlds[""].receive_webhook

        def receive(*arguments: object) -> None:
            receive_webhook(*arguments)
            arrived.set()

        server.wsgi.worlds[""].receive_webhook = receive
        server.client().post_webhooks_test(url=server.control.inbox_url("a"))
        assert arrived.wait(process.SECONDS)


def start_and_stop_server() -> None:
    thread_count = threading.active_count()
    with FinapiServer() as server:
        directory = server.ready["data_dir"]
        with connect(f"ws://127.0.0.1:{server.ready['port']}/ws/main-api?token={server.api_key}") as feed:
            for _ in range(20):
                feed.recv(10)
    assert threading.active_count() == thread_count
    assert not process.Path(directory).exists()


def test_a_stop_leaves_no_thread_and_no_directory() -> None:
    process.run_in_new_process(start_and_stop_server)


@pytest.mark.slow
def test_a_start_imports_no_module_of_later_calls() -> None:
    """TLS, mail, outgoing requests, feeds, deliveries and filings would double the time of a start."""
    late_modules = (
        "ssl",
        "email",
        "http.client",
        "finapi.net.smtp",
        "finapi.feeds.feed_loop",
        "finapi.delivery.dispatcher",
        "finapi.edgar.sgml",
        "finapi.market.statements",
        "finapi.market.insiders",
        "finapi.ops",
        "argon2",
        "finapi.testing.recording",
    )
    code = (
        "import sys; from finapi.core.config import Config; from finapi.testing import running\n"
        "with running.run_fixture(Config(port=0, **running.FIXTURE_SETTINGS)):\n"
        f"    print([name for name in sys.modules if name.startswith({late_modules!r})])"
    )
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


def test_the_first_status_shows_a_watchdog_round() -> None:
    with FinapiServer() as server:
        assert get(server, "/livez")[0] == 200
        document = json.loads(get(server, "/api/v1/status")[1])
    statuses = {service["name"]: service["status"] for service in document["services"] if service["last_check_at"]}
    assert "main_api" in statuses
    assert set(statuses.values()) == {"operational"}


@pytest.mark.slow
def test_unread_output_does_not_stop_the_fixture() -> None:
    command = [
        *process.COMMAND,
        "fixture",
        "--port",
        "0",
        "--ready",
        "json",
        "--exit-with-parent",
        "--log-level",
        "info",
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=process.ROOT, **pipes) as child:  # type: ignore[call-overload]
        ready = json.loads(child.stdout.readline())
        # Five hundred lines of the log do not fit into a pipe.
        connection = http.client.HTTPConnection("127.0.0.1", ready["port"], timeout=10)
        for _ in range(500):
            connection.request("GET", "/livez?" + "x" * 500)
            assert connection.getresponse().read()
        connection.close()
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
        child.stdout.close()
        assert 32_000 < len(child.stderr.read()) <= 65_536


def test_a_fixture_refuses_a_data_directory() -> None:
    finished = subprocess.run(
        [*process.COMMAND, "fixture", "--data-dir", "x"], cwd=process.ROOT, capture_output=True, text=True, timeout=30
    )
    assert (finished.returncode, finished.stderr) == (2, "finapi: a fixture stores nothing, so it has no --data-dir\n")


def test_delayed_calls_do_not_delay_others(server: FinapiServer) -> None:
    world, other_world = server.world("slow"), server.world("quick")
    world.control.fault(PATH, delay=60.0)
    connections = [http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10) for _ in range(80)]
    for connection in connections:
        connection.request("GET", PATH, headers={"X-API-Key": world.api_key})
    process.eventually(lambda: len(world.control.requests()) == 80)
    assert other_world.client().get_account_balance()["plan"] == "pro"
    assert {tuple(connection["faults"]) for connection in world.control.requests()} == {("flt_1",)}
    for connection in connections:
        connection.close()
    world.control.drop()
    other_world.control.drop()
