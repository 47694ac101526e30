"""The fixture over its socket: feeds, answers broken on the wire, outputs that nobody reads, what is left behind."""

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
    with FinapiServer(seed=3) as running:
        yield running


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


def test_answers_break_on_the_wire_as_they_are_told_to(server: FinapiServer, caplog: pytest.LogCaptureFixture) -> None:
    whole = get(server)[1]
    server.control.fault(PATH, truncate=10, times=1)
    with pytest.raises(http.client.IncompleteRead) as cut:
        get(server)
    assert cut.value.partial == whole[:10]
    server.control.fault(PATH, wrong_length=True, times=1)
    with pytest.raises(http.client.IncompleteRead) as long:
        get(server)
    assert (len(long.value.partial), long.value.expected) == (len(whole), 7)
    server.control.fault(PATH, reset=True, times=1)
    with pytest.raises(ConnectionResetError):
        get(server)
    server.control.fault(PATH, drip=len(whole) * 20, times=1)
    assert len(get(server)[1]) == len(whole)
    server.control.reset()
    assert [record.getMessage() for record in caplog.records] == []


def test_a_feed_of_a_world_tells_its_events_and_is_closed_by_a_code(server: FinapiServer) -> None:
    world, other = server.world("feeds"), server.world("others")
    address = world.url.replace("http:", "ws:") + "/ws/insider-api"
    with connect(f"{address}?token={world.api_key}&since_seq=999999") as feed:
        assert json.loads(feed.recv(10))["type"] == "gap"
        other.control.event("insider-api", "insider_transaction", {"ticker": "NFLX"})
        seq = world.control.event("insider-api", "insider_transaction", {"ticker": "AAPL"})
        told = json.loads(feed.recv(10))
        assert (told["seq"], told["data"]) == (seq, {"ticker": "AAPL"})
        world.control.fault(close=4429)
        with pytest.raises(ConnectionClosed) as closed:
            feed.recv(10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4429
    # A key made in a world leads to its feeds, too; a reset begins their journal anew.
    plain = f"ws://127.0.0.1:{server.ready['port']}/ws/insider-api?token={world.api_key}"
    with connect(plain) as feed:
        assert json.loads(feed.recv(10))["is_catchup"] is True
        world.control.reset()
        with pytest.raises(ConnectionClosed):
            drain(feed)
    with connect(f"{plain}&since_seq={seq - 1}") as feed:
        assert world.control.event("insider-api", "insider_transaction", {"ticker": "UPXI"}) == seq
        assert json.loads(feed.recv(10))["data"] == {"ticker": "UPXI"}
    world.control.drop()
    other.control.drop()


def test_deliveries_leave_by_themselves_while_time_runs() -> None:
    with FinapiServer() as running:
        arrived = threading.Event()
        received = running.wsgi.worlds[""].receive_webhook

        def receive(*told: object) -> None:
            received(*told)
            arrived.set()

        running.wsgi.worlds[""].receive_webhook = receive
        running.client().post_webhooks_test(url=running.control.inbox_url("a"))
        assert arrived.wait(process.SECONDS)


def test_a_stop_leaves_no_thread_and_no_directory() -> None:
    before = threading.active_count()
    with FinapiServer() as running:
        directory = running.ready["data_dir"]
        with connect(f"ws://127.0.0.1:{running.ready['port']}/ws/main-api?token={running.api_key}") as feed:
            for _ in range(20):
                feed.recv(10)
    assert threading.active_count() == before
    assert not process.Path(directory).exists()


@pytest.mark.slow
def test_a_start_loads_nothing_that_no_call_has_asked_for() -> None:
    """TLS, mail, requests to others, feeds, deliveries and filings: half of the time that a start takes."""
    late = (
        "ssl",
        "email",
        "http.client",
        "finapi.net.smtp",
        "finapi.feeds.loop",
        "finapi.delivery.dispatch",
        "finapi.edgar.sgml",
        "finapi.market.statements",
        "finapi.market.insiders",
        "finapi.ops",
        "argon2",
        "finapi.testing.recording",
    )
    code = (
        "import sys; from finapi.core.config import Config; from finapi.testing import running\n"
        "with running.running(Config(port=0, **running.SETTINGS)):\n"
        f"    print([one for one in sys.modules if one.startswith({late!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_watchdog_has_looked_before_the_first_answer() -> None:
    with FinapiServer() as server:
        assert get(server, "/livez")[0] == 200
        found = json.loads(get(server, "/api/v1/status")[1])
    told = {one["name"]: one["status"] for one in found["services"] if one["last_check_at"]}
    assert "main_api" in told
    assert set(told.values()) == {"operational"}


def test_it_goes_on_when_nobody_reads_what_it_says() -> None:
    words = [*process.COMMAND, "fixture", "--port", "0", "--ready", "json", "--exit-with-parent", "--log-level", "info"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=process.ROOT, **pipes) as child:  # type: ignore[call-overload]
        ready = json.loads(child.stdout.readline())
        # Five hundred lines of the log are more than a pipe holds.
        connection = http.client.HTTPConnection("127.0.0.1", ready["port"], timeout=10)
        for _ in range(500):
            connection.request("GET", "/livez?" + "x" * 500)
            assert connection.getresponse().read()
        connection.close()
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
        child.stdout.close()
        assert 32_000 < len(child.stderr.read()) <= 65_536


def test_a_verb_of_a_fixture_keeps_nothing() -> None:
    done = subprocess.run(
        [*process.COMMAND, "fixture", "--data-dir", "x"], cwd=process.ROOT, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (2, "finapi: a fixture stores nothing, so it has no --data-dir\n")


def test_calls_that_are_held_back_keep_nobody_waiting(server: FinapiServer) -> None:
    world, others = server.world("slow"), server.world("quick")
    world.control.fault(PATH, delay=60.0)
    held = [http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10) for _ in range(80)]
    for one in held:
        one.request("GET", PATH, headers={"X-API-Key": world.api_key})
    process.eventually(lambda: len(world.control.requests()) == 80)
    assert others.client().get_account_balance()["plan"] == "pro"
    assert {tuple(one["faults"]) for one in world.control.requests()} == {("flt_1",)}
    for one in held:
        one.close()
    world.control.drop()
    others.control.drop()
