"""Tests of ``/status`` while a part of a running server is stopped and started again: it changes within one round."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from finapi.cli import perform
from finapi.core.background import Worker
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.market.intake.gateway import FetchResult, Gateway
from finapi.ops import status, watchdog
from finapi.server import Server, run_server
from finapi.store import heartbeats
from finapi.store.db import Database
from finapi.web.html import page_layout
from tests import process
from tests.process import eventually
from tests.support.raw_sql import get_writer, run_sql

pytestmark = pytest.mark.slow

DEADLINE = 1.0  # of a check: what hangs takes so long, and a machine that is busy must not
POLLED = ("sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway")
OF_POLLING = {*POLLED, "13f_worker"}


@dataclass
class Service:
    """A server whose clock stands still between rounds, and the archive directory that it polls."""

    server: Server
    clock: FixedClock
    archive: Path

    def round(self, seconds: float = 60.0) -> dict[str, Any]:
        """Return the status document after the next round."""
        self.get()
        self.clock.advance(seconds)
        watchdog.run_round(self.server.app, self.clock.now())
        return self.get()

    def get(self) -> dict[str, Any]:
        document: dict[str, Any] = process.get(("127.0.0.1", self.server.port), "/api/v1/status").json
        return document

    def polled(self) -> None:
        """Return when a step of the poller has ended at the time that it is now."""

        def all_beat() -> bool:
            with self.server.app.db.read() as tx:
                beats = heartbeats.get_heartbeats(tx)
            return all(name in beats and beats[name].at == iso(self.clock.now()) for name in POLLED)

        eventually(all_beat)

    def down(self, seconds: float = 60.0) -> set[str]:
        """Return the services that are down after the next round."""
        return {part["name"] for part in self.round(seconds)["services"] if part["status"] == "down"}

    def reason(self, name: str) -> str:
        return self.server.app.health.components[name].reason or ""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    archive, clock = tmp_path / "edgar", FixedClock()
    archive.mkdir()
    config = Config(
        port=0,
        data_dir=tmp_path / "data",
        base_url=str(archive),
        poll_every=0.02,
        watchdog_deadline=DEADLINE,
        threads=2,
        smtp_url="memory:",
    )
    with run_server(config, perform, clock=clock) as server:
        service = Service(server, clock, archive)
        service.get()  # which waits for the first round
        yield service


# A thread that was made to end says so.
killing = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def kill(name: str) -> None:
    """End a thread of this process: a worker at its next step, another thread at any point.

    A worker that ended between taking and releasing the lock of the store would leave it locked.
    """
    (thread,) = [thread_found for thread_found in threading.enumerate() if thread_found.name == name]
    assert thread.ident is not None
    worker = getattr(thread._target, "__self__", None)  # type: ignore[attr-defined]
    if isinstance(worker, Worker):
        worker._step = sys.exit
        worker.wake()
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
    thread.join(10.0)
    assert not thread.is_alive()


def test_every_name_of_the_contract_is_a_part_that_runs(service: Service) -> None:
    service.polled()
    document = service.get()
    assert tuple(part["name"] for part in document["services"]) == status.SERVICES
    assert {part["status"] for part in document["services"]} == {"operational"}
    assert document["overall"] == "operational"


def test_prometheus_reads_the_figures_of_a_running_server(service: Service) -> None:
    service.polled()
    text = process.get(("127.0.0.1", service.server.port), "/metrics").body.decode()
    samples_by_name = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert {sample.labels["worker"]: sample.value for sample in samples_by_name["finapi_worker_up"]} == dict.fromkeys(
        (
            "activity",
            "archive-ledger",
            "close-debits",
            "feed-keys",
            "feeds",
            "full-text",
            "latest-years",
            "holdings",
            "mail",
            "memory",
            "outbox",
            "poll",
            "prune",
            "refill-plans",
            "sniper",
            "webhooks",
        ),
        1.0,
    )
    up = {sample.labels["service"]: sample.value for sample in samples_by_name["finapi_service_up"]}
    assert up == {name: 1.0 for name in status.SERVICES if name not in status.ALIASES}
    queues = {sample.labels["queue"] for sample in samples_by_name["finapi_queue_depth"]}
    assert queues == {"http", "ingest", "mail", "webhooks"}
    feeds = {sample.labels["feed"]: sample.value for sample in samples_by_name["finapi_feed_connections"]}
    assert feeds == dict.fromkeys(("main-api", "insider-api", "13f-live"), 0.0)
    requests_by_outcome = {
        sample.labels["outcome"]: sample.value for sample in samples_by_name["finapi_edgar_requests"]
    }
    assert requests_by_outcome.keys() == {"missing"}
    assert requests_by_outcome["missing"] >= 1


def test_what_is_switched_off_is_absent_and_has_an_empty_history(tmp_path: Path) -> None:
    config = Config(port=0, data_dir=tmp_path / "data", smtp_url="memory:")
    with run_server(config, perform) as server:
        address = ("127.0.0.1", server.port)
        names = [part["name"] for part in process.get(address, "/api/v1/status").json["services"]]
        assert names == [name for name in status.SERVICES if name not in OF_POLLING]
        history = process.get(address, "/api/v1/status/history?service=sec_worker").json["history"]
        assert history == {"sec_worker": []}


def test_the_gateway_is_down_while_its_archive_is_away(service: Service) -> None:
    service.polled()
    service.archive.rename(service.archive.with_suffix(".away"))
    service.clock.advance(1)
    service.polled()
    assert service.down() == {"sec_gateway"}
    assert service.get()["overall"] == "partial_outage"
    assert service.reason("sec_gateway") == "the archive directory does not exist"
    service.archive.with_suffix(".away").rename(service.archive)
    service.clock.advance(60)
    service.polled()
    assert service.down(0) == set()


def test_a_poller_that_hangs_is_down_until_it_goes_on(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.polled()
    hangs, goes_on = threading.Event(), threading.Event()
    read_method = Gateway._read_file

    def wait(gateway: Gateway, directory: Path, path: str) -> FetchResult:
        hangs.set()
        goes_on.wait(20)
        return read_method(gateway, directory, path)

    monkeypatch.setattr(Gateway, "_read_file", wait)
    try:
        assert hangs.wait(10)
        service.down(1)
        assert service.down() >= OF_POLLING
        assert service.get()["overall"] == "major_outage"
        assert service.reason("news_daemon").startswith("no heartbeat for 6")
    finally:
        goes_on.set()
    service.polled()
    assert service.down(0) == set()


@killing
def test_a_poller_whose_thread_ends_is_down_at_the_next_round(service: Service) -> None:
    service.polled()
    kill("finapi-poll")
    assert service.down() == OF_POLLING
    assert service.reason("sec_worker") == "its thread has ended"


def test_a_poller_is_down_while_it_fails_in_the_store(service: Service) -> None:
    service.polled()
    run_sql(service.server.app.db, "ALTER TABLE poll_state RENAME TO gone")
    try:
        eventually(lambda: "insider_api" not in service.down(1) and "sec_worker" in service.down(1))
        assert service.reason("sec_worker").startswith("its last step failed with ")
    finally:
        run_sql(service.server.app.db, "ALTER TABLE gone RENAME TO poll_state")


@killing
@pytest.mark.parametrize("thread", ["mail", "webhooks", "feeds", "sniper"])
def test_the_interface_is_down_when_a_thread_of_it_ends(service: Service, thread: str) -> None:
    service.polled()
    with connect(f"ws://127.0.0.1:{service.server.port}/ws/main-api"):  # begins the feeds
        kill(f"finapi-{thread}")
    assert "main_api" in service.down()
    assert service.reason("main_api") == f"{thread}: its thread has ended"
    metrics = process.get(("127.0.0.1", service.server.port), "/metrics").body.decode()
    assert f'finapi_worker_up{{worker="{thread}"}} 0\n' in metrics
    assert 'finapi_worker_up{worker="poll"} 1\n' in metrics


def test_pages_are_down_while_all_their_threads_are_busy(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.polled()
    build_response, busy, release = page_layout.build_html_response, threading.Semaphore(0), threading.Event()

    def hang(data: bytes, code: int = 200, *, secret: bool = False) -> Any:
        busy.release()
        release.wait(30.0)
        return build_response(data, code, secret=secret)

    address = ("127.0.0.1", service.server.port)
    monkeypatch.setattr(page_layout, "build_html_response", hang)
    callers = [threading.Thread(target=process.get, args=(address, "/")) for _ in range(2)]
    for caller in callers:
        caller.start()
    for _ in callers:
        assert busy.acquire(timeout=10.0)
    service.clock.advance(60)
    watchdog.run_round(service.server.app, service.clock.now())
    standings = service.server.app.health.components
    # /livez is answered in the server's loop, so main_api is not down.
    assert {name for name, component in standings.items() if component.status == "down"} == {"frontend"}
    assert (standings["frontend"].reason or "").endswith(f"within {DEADLINE:g} s")
    release.set()
    for caller in callers:
        caller.join()
    monkeypatch.undo()
    service.polled()
    assert service.down(0) == set()


def test_pages_that_fail_take_the_frontend_down_and_nothing_else(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.polled()
    with monkeypatch.context() as broken:
        broken.setattr(page_layout, "build_html_response", lambda *_, **__: 1 / 0)
        service.clock.advance(60)
        service.polled()
        assert service.down(0) == {"frontend"}
        assert service.reason("frontend") == "answered 500"
    service.clock.advance(60)
    service.polled()
    assert service.down(0) == set()


def test_a_store_without_insiders_is_down_under_both_names(service: Service) -> None:
    service.polled()
    writer = get_writer(service.server.app.db)
    writer.execute("PRAGMA legacy_alter_table = ON")
    writer.execute("ALTER TABLE insider_transactions RENAME TO gone")
    service.clock.advance(60)
    service.polled()
    assert service.down(0) == {"insider_api", "insider_module"}
    # Two names of one part are one part.
    assert service.get()["overall"] == "partial_outage"
    writer.execute("ALTER TABLE gone RENAME TO insider_transactions")
    service.clock.advance(60)
    service.polled()
    assert service.down(0) == set()


def test_a_store_is_down_while_another_process_locks_it(service: Service) -> None:
    service.polled()
    holder = Database(service.server.app.config.data_dir / "finapi.db")
    get_writer(holder).execute("BEGIN IMMEDIATE")
    unlock_timer = threading.Timer(DEADLINE + 0.3, lambda: get_writer(holder).execute("ROLLBACK"))
    unlock_timer.start()
    try:
        assert {"postgres_db"} <= service.down(1)
    finally:
        unlock_timer.join()
        holder.close()
    service.clock.advance(60)
    service.polled()
    assert service.down(0) == set()


def test_counters_that_hang_are_down_until_they_do_not(service: Service) -> None:
    service.polled()
    with service.server.app.limiters["sql"]._lock:
        service.clock.advance(60)
        service.polled()
        assert service.down(0) == {"redis"}
    service.clock.advance(60)
    service.polled()
    eventually(lambda: service.down(1) == set())
