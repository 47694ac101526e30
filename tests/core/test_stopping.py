"""Tests of stopping: every worker's step is bounded and checks for a stop, so that it ends within about a second."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from finapi import server
from finapi.accounts import archive, billing, users
from finapi.app import App
from finapi.core import background, stopping
from finapi.core.background import Worker, run_workers
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import StoreUnavailableError
from finapi.core.stopping import WorkStopped
from finapi.delivery import events, outbox
from finapi.delivery.dispatcher import MAX_DELETED_ROWS, Dispatcher
from finapi.feeds.key_lookups import KeyLookups
from finapi.market.demo import demo_image
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.market.intake.gateway import FetchResult
from finapi.market.intake.poller import Poller
from finapi.net import mail
from finapi.ops import backups
from finapi.ops.app_opening import open_app
from finapi.store import backup, datadir, portions
from finapi.store.db import Database
from tests import process
from tests.conftest import NOW
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.raw_sql import run_sql, run_sql_many
from tests.support.slow_cases import slow_except_every

PATIENCE = 30.0  # seconds after which a step that does not end has failed the test
SNOWFLAKE = 1640147  # of the demo's companies: 2,482 facts


# ---- a backlog for every worker


@dataclass
class Backlog:
    """Work that waits for a worker, the step that does a piece of it, and how much is left.

    ``piece`` is what a step does at most that was stopped before it began. After a step that leaves some, the worker
    asks to go on within ``asks_again`` seconds.
    """

    step: Callable[[], float | None]
    count_left: Callable[[], int]
    piece: int = 0
    asks_again: float = 0.01


def execute(app: App, statement: str, rows: list[tuple[Any, ...]]) -> None:
    with app.accounts.write() as tx:
        run_sql_many(tx, statement, rows)


def count(app: App, query: str) -> int:
    with app.accounts.read() as tx:
        number: int = run_sql(tx, f"SELECT count(*) FROM {query}").fetchone()[0]
    return number


def worker_step(app: App, name: str) -> Callable[[], float | None]:
    (worker,) = (worker for worker in [*server._build_workers(app), *server._build_pollers(app)] if worker.name == name)
    return worker._step


def ledger(app: App, number: int, *, open: int, created_at: str) -> None:
    users.create(app, "ann@example.com", "pro", NOW)
    rows = [(1, -1, "debit", "GET /x", f"r{row_number}", 200, open, created_at) for row_number in range(number)]
    columns = "user_id, delta, reason, endpoint, request_id, status, open, created_at"
    execute(app, f"INSERT INTO ledger ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def close_debits(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    ledger(app, 9_000, open=0, created_at=iso(NOW))
    query = "ledger WHERE id > (SELECT last_id FROM ledger_summed)"
    return Backlog(worker_step(app, "close-debits"), lambda: count(app, query), billing.MAX_SUMMED_ROWS)


def refund_debits(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    app.db.accounts = Database(None)
    ledger(app, 1_500, open=1, created_at="2025-01-01T00:00:00.000Z")
    count_left = lambda: count(app, "ledger WHERE open = 1")  # noqa: E731
    return Backlog(worker_step(app, "refund-debits"), count_left, billing.MAX_REFUNDED_ROWS)


def archive_ledger(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    app = replace(app, config=replace(app.config, data_dir=tmp_path, ledger_days=30))
    ledger(app, 3_000, open=0, created_at=iso(NOW))
    archive.run_archive_step(app)
    clock.advance(60 * 86_400)
    query = "ledger WHERE id > coalesce((SELECT max(last_id) FROM ledger_archives), 0)"
    return Backlog(lambda: archive.run_archive_step(app), lambda: count(app, query))


def outbox_rows(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    columns = "accession, type, subject, occurred_at, tickers, ciks, data, noted_at"
    rows = [
        (f"0000320193-26-{number:06}", "new_filing", "", "2026-01-01", "", "", "{}", iso(NOW)) for number in range(999)
    ]
    execute(app, f"INSERT INTO outbox ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return Backlog(worker_step(app, "outbox"), lambda: count(app, "outbox"), outbox.BATCH_ROWS)


def prune(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    rows = [(f"a{number}", "new_filing", "", "2020-01-01") for number in range(9_000)]
    execute(app, "INSERT INTO carried (accession, type, subject, carried_at) VALUES (?, ?, ?, ?)", rows)
    return Backlog(worker_step(app, "prune"), lambda: count(app, "carried"), events.MAX_PRUNED_ROWS)


def full_text(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    import zlib

    packed = zlib.compress(b"a lamp")
    execute(app, "INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (?, 'X', 0, '')", [(1,)])
    filings = [(number, f"0000000001-26-{number:06}", 1, "2026-01-01") for number in range(1, 100)]
    execute(app, "INSERT INTO filings (id, accession, cik, filed_at) VALUES (?, ?, ?, ?)", filings)
    columns = "filing_id, media, packed, sha256"
    bodies = [(number, "text", packed, None) for number, *_ in filings]
    execute(app, f"INSERT INTO filing_bodies ({columns}) VALUES (?, ?, ?, ?)", bodies)
    query = "filing_bodies WHERE id NOT IN (SELECT body_id FROM filing_texts)"
    return Backlog(worker_step(app, "full-text"), lambda: count(app, query))


def latest_years(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    row = {"start": "2024-01-01", "end": "2024-12-31", "val": 1, "accn": "0000000001-25-000001", "fy": 2024, "fp": "FY"}
    row |= {"form": "10-K", "filed": "2025-02-01"}
    for cik in range(1, 61):
        row_with_accession = {**row, "accn": f"{cik:010}-25-000001"}
        store_companyfacts(
            app, build_companyfacts(cik, f"Company {cik}", [("us-gaap:Revenues", "USD", row_with_accession)])
        )
    query = "latest_years WHERE made_of IS NOT stamp"
    return Backlog(worker_step(app, "latest-years"), lambda: count(app, query))


def holdings(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    rows = [(cik, "2025-12-31") for cik in range(1, 201)]
    parameters = [(cik,) for cik, _ in rows]
    execute(app, "INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (?, 'X', 0, '')", parameters)
    execute(app, "INSERT INTO funds (cik, name, name_as_of, filing_count) VALUES (?, 'X', '', 0)", parameters)
    execute(app, "INSERT INTO fund_quarters_uncompared (cik, period) VALUES (?, ?)", rows)
    return Backlog(worker_step(app, "holdings"), lambda: count(app, "fund_quarters_uncompared"), 20)


def sniper_targets(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    users.create(app, "ann@example.com", "pro", NOW)
    columns = "target_id, user_id, cik, ticker, state, form_types, start_time, end_time, created_at"
    ended = iso(NOW - timedelta(minutes=1))
    rows = [(f"t{number}", 1, 1, "X", "ACTIVE", "[]", "2026-01-01", ended, "2026-01-01") for number in range(500)]
    execute(app, f"INSERT INTO sniper_targets ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return Backlog(worker_step(app, "sniper"), lambda: count(app, "sniper_targets WHERE state = 'ACTIVE'"), 100)


def refill_plans(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    columns = "id, uuid, email, usertype, verify_email, created_at, updated_at"
    rows = [(number, f"u{number}", f"{number}@x", "user", 1, "2025-01-01", "2025-01-01") for number in range(1, 1_200)]
    execute(app, f"INSERT INTO users ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    columns = "user_id, plan, total_limit_api, current_period_end, created_at, updated_at, anchor"
    start = "2025-01-01T00:00:00.000Z"
    plans = [(number, "free", 2000, "2025-02-01T00:00:00.000Z", start, start, start) for number, *_ in rows]
    execute(app, f"INSERT INTO userplans ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", plans)
    query = f"userplans WHERE current_period_end < '{iso(NOW)}'"
    return Backlog(worker_step(app, "refill-plans"), lambda: count(app, query))


def mails(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    users.create(app, "ann@example.com", "pro", NOW)
    with app.accounts.write() as tx:
        for _ in range(99):
            mail.enqueue(tx, "welcome", 1, NOW)
    return Backlog(worker_step(app, "mail"), lambda: count(app, "mails WHERE state = 'queued'"))


class Archive:
    """An EDGAR without any documents, which counts the requests."""

    def __init__(self) -> None:
        self.questions = 0

    def get(self, host: str, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        self.questions += 1
        return FetchResult("missing", path)


def poll(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    columns = "accession, cik, form, due_at"
    rows = [(f"0000320193-26-{number:06}", 320193, "10-K", "2026-01-01") for number in range(99)]
    execute(app, f"INSERT INTO wanted_documents ({columns}) VALUES (?, ?, ?, ?)", rows)
    edgar = Archive()
    poller = Poller(app, edgar, interval_seconds=60.0)
    poller._next_feed_at = poller._monotonic() + 60.0
    return Backlog(poller.run_poll_step, lambda: 99 - edgar.questions)


def webhooks(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    users.create(app, "ann@example.com", "pro", NOW)
    columns = "delivery_id, user_id, event_type, body, url, lane, state, created_at, done_at"
    old = "2020-01-01"
    rows = [(f"d{number}", 1, "x", "{}", "https://x/", "x 1 y", "delivered", old, old) for number in range(2_000)]
    execute(app, f"INSERT INTO deliveries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    dispatcher = Dispatcher(app)
    return Backlog(dispatcher.run_step, lambda: count(app, "deliveries"), MAX_DELETED_ROWS, 1.01)


def feed_keys(app: App, clock: FixedClock, tmp_path: Path) -> Backlog:
    loop: Any = SimpleNamespace(call_soon=lambda call: None)
    desk = KeyLookups(loop)
    for _ in range(100):
        desk.submit(lambda: None, lambda caller: None, lambda: None)

    def step() -> None:
        desk.run_lookup_step()

    return Backlog(step, lambda: len(desk._lookups))


BACKLOGS: dict[str, Callable[[App, FixedClock, Path], Backlog]] = {
    "close-debits": close_debits,
    "refund-debits": refund_debits,
    "archive-ledger": archive_ledger,
    "outbox": outbox_rows,
    "prune": prune,
    "full-text": full_text,
    "latest-years": latest_years,
    "holdings": holdings,
    "sniper": sniper_targets,
    "refill-plans": refill_plans,
    "mail": mails,
    "poll": poll,
    "webhooks": webhooks,
    "feed-keys": feed_keys,
}
# A backup is one piece, and has a test of its own; so has feed-keys, whose questions are all answered in a step.
WHOLE = {"feed-keys"}
WITHOUT_BACKLOG = {"activity", "memory", "backup", "copy", "watchdog"}


@pytest.fixture
def request_stop() -> Iterator[None]:
    """Request the work of this thread to stop."""
    flag = threading.Event()
    flag.set()
    with stopping.watched_by(flag):
        yield


def test_every_worker_of_a_server_has_a_backlog_here(app: App, tmp_path: Path) -> None:
    app = replace(app, config=replace(app.config, backup_dir=str(tmp_path), poll_every=60.0, base_url=str(tmp_path)))
    app.db.accounts = Database(None)
    names = {
        worker.name
        for worker in [*server._build_workers(app), *server._build_pollers(app), *server._build_copy_workers(app)]
    }
    assert names | {"webhooks", "feed-keys", "watchdog"} == BACKLOGS.keys() | WITHOUT_BACKLOG


@pytest.mark.parametrize("name", BACKLOGS)
def test_a_step_that_is_stopped_leaves_its_backlog(name: str, app: App, clock: FixedClock, tmp_path: Path) -> None:
    backlog = BACKLOGS[name](app, clock, tmp_path)
    before = backlog.count_left()
    flag = threading.Event()
    flag.set()
    with stopping.watched_by(flag):
        try:
            backlog.step()
        except WorkStopped:
            assert backlog.piece == 0
    assert backlog.count_left() >= before - backlog.piece > 0


@pytest.mark.parametrize("name", sorted(BACKLOGS.keys() - WHOLE))
def test_a_step_does_a_bounded_piece_and_asks_for_more(
    name: str, app: App, clock: FixedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_FILE_ROWS", 1_000)
    backlog = BACKLOGS[name](app, clock, tmp_path)
    before = backlog.count_left()
    wait = backlog.step()
    assert 0 < backlog.count_left() < before
    assert wait is not None
    assert wait <= backlog.asks_again


@pytest.mark.parametrize("name", slow_except_every(3, sorted(BACKLOGS.keys() - WHOLE - {"archive-ledger"})))
def test_the_steps_of_a_worker_complete_its_backlog(name: str, app: App, clock: FixedClock, tmp_path: Path) -> None:
    backlog = BACKLOGS[name](app, clock, tmp_path)
    for _ in range(100):
        if backlog.count_left() == 0:
            break
        backlog.step()
    assert backlog.count_left() == 0


# ---- long work that is no step, or is inside one


@pytest.mark.usefixtures("request_stop")
def test_a_copy_of_the_database_is_broken_off_and_leaves_nothing(tmp_path: Path) -> None:
    Database(tmp_path / "finapi.db").close()
    with pytest.raises(WorkStopped), backup.temporary_copy(tmp_path / "finapi.db", tmp_path, "backup"):
        raise AssertionError("the copy is not complete")
    assert {path.name for path in tmp_path.iterdir()} <= {"finapi.db", "finapi.db-wal", "finapi.db-shm"}


def test_a_nights_backup_is_broken_off_while_it_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    flag = threading.Event()
    with open_app(Config(data_dir=tmp_path / "data", backup_dir=str(shelf), backup_hour=0), FixedClock(NOW)) as app:
        nightly = backups.NightlyBackup(app)

        def stop_while_proving(db: Database) -> list[str]:
            flag.set()
            nightly.interrupt()
            assert db.closed
            stopping.check()
            return []

        monkeypatch.setattr(Database, "list_integrity_errors", stop_while_proving)
        with stopping.watched_by(flag), pytest.raises(WorkStopped):
            nightly.run_backup_step()
    assert list(shelf.iterdir()) == []


@pytest.mark.usefixtures("request_stop")
def test_what_is_settled_in_portions_stays_due(app: App) -> None:
    done: list[bool] = []
    portions.write_in_portions(app.db, lambda tx: bool(done.append(True)) or True)
    assert done == []
    with pytest.raises(WorkStopped):
        portions.read_in_portions(app.db, lambda tx, portion: None, 0)


@pytest.mark.usefixtures("request_stop")
def test_a_folder_is_not_ingested_further(app: App, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("nothing that is known")
    outcomes: list[Any] = []
    with pytest.raises(WorkStopped):
        ingest.run(app, [tmp_path], IngestOptions(), outcomes.append)
    assert outcomes == []


@pytest.mark.usefixtures("request_stop")
def test_a_document_under_way_is_neither_stored_nor_refused(app: App) -> None:
    with pytest.raises(WorkStopped):
        ingest.ingest_document(app, "x.txt", b"nothing that is known", lambda tx, document: None)
    assert count(app, "refused_files") == 0


@pytest.mark.usefixtures("request_stop")
def test_every_reader_of_long_documents_looks_for_a_stop() -> None:
    from finapi.edgar import thirteenf
    from finapi.market.reference import csv_rows

    for parse in (
        lambda: thirteenf.parse_table(b"<informationTable/>", "t.xml"),
        lambda: list(csv_rows.iter_rows(b"a,b\n1,2\n", "x.csv")),
        lambda: list(sources.build_entry("x.tsv", "x.tsv", b"a\nb\n").iter_lines()),
    ):
        with pytest.raises(WorkStopped):
            parse()


def test_an_upgrade_is_broken_off_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from finapi.store import schema, sql_files

    path = tmp_path / "finapi.db"
    Database(path).close()
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO marks SELECT i FROM n;"
    texts = {"migrations/0001_x.sql": f"CREATE TABLE marks (i INTEGER) STRICT;\n{endless}"}
    read_text = sql_files.read_text
    monkeypatch.setattr(schema, "list_migrations", lambda: ("0001_x.sql",))
    monkeypatch.setattr(sql_files, "read_text", lambda name: texts.get(name) or read_text(name))
    before = path.read_bytes()
    flag = threading.Event()
    threading.Timer(0.05, flag.set).start()
    with stopping.watched_by(flag), pytest.raises(WorkStopped):
        Database(path)
    assert path.read_bytes() == before


# ---- workers that do not look


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give workers a twentieth of a second to see a stop, and as much to be interrupted."""
    for name in ("STOP_SECONDS", "BREAK_SECONDS", "MIN_BREAK_SECONDS"):
        monkeypatch.setattr(background, name, 0.05)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["read", "read_one", "write"])
def test_a_statement_without_an_end_is_broken_off(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "BREAK_SECONDS", PATIENCE)
    database = Database(tmp_path / "finapi.db")
    entered = threading.Event()

    def step() -> None:
        with getattr(database, how)() as tx:
            entered.set()
            run_sql(tx, ENDLESS).fetchone()

    worker = Worker("endless", step, interrupt_thread=database.interrupt_thread)
    worker.start()
    assert entered.wait(PATIENCE)
    worker.stop()
    assert not worker._thread.is_alive()
    with database.write() as tx:
        tx.run("bump_data_version")
    database.close()


@pytest.mark.usefixtures("quick")
def test_what_a_thread_does_is_broken_off_and_no_others(tmp_path: Path) -> None:
    database = Database(tmp_path / "finapi.db")
    with database.write() as tx:
        tx.run("bump_data_version")
        database.interrupt_thread(threading.get_ident() + 1)
        assert tx.find_value("data_version") == 1
    database.close()


@pytest.mark.usefixtures("quick")
def test_a_step_that_hangs_while_writing_does_not_block_a_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database, entered, over = Database(tmp_path / "finapi.db"), threading.Event(), threading.Event()

    def step() -> None:
        with database.write() as tx:
            tx.run("bump_data_version")
            entered.set()
            assert over.wait(PATIENCE)

    worker = Worker("hanging", step, interrupt_thread=database.interrupt_thread)
    with run_workers([worker]):
        assert entered.wait(PATIENCE)
    assert worker._thread.is_alive()
    database.limit_lock_waits(0.05)
    with pytest.raises(StoreUnavailableError, match="another thread is still writing"):
        database.write_batched(lambda tx: None)
    database.close()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "hanging does not stop and is abandoned",
        "the database is not closed, because a thread is still writing",
    ]
    over.set()
    worker._thread.join(PATIENCE)
    database.limit_lock_waits(-1.0)
    database.close()


def test_all_workers_are_asked_before_the_first_is_waited_for() -> None:
    order: list[str] = []
    started = [threading.Event(), threading.Event()]

    def step(number: int) -> Callable[[], float]:
        def run() -> float:
            started[number].set()
            while not stopping.is_requested():
                threading.Event().wait(0.001)
            order.append(str(number))
            return 3600.0

        return run

    class Noting(Worker):
        def stop(self) -> None:
            order.append(f"stop {self.name}")
            super().stop()

        def request_stop(self) -> None:
            order.append(f"request {self.name}")
            super().request_stop()

    with run_workers([Noting("a", step(0)), Noting("b", step(1))]) as group:
        assert all(event.wait(PATIENCE) for event in started)
        group.request_stop()
    assert order[:2] == ["request a", "request b"]
    assert order.index("request b") < order.index("stop b") < order.index("stop a")


def test_a_worker_that_was_asked_to_stop_is_in_no_trouble() -> None:
    worker = Worker("w", lambda: 3600.0)
    worker.start()
    worker.stop()
    assert worker.find_problem() is None
    failing = Worker("w", lambda: 1 / 0)
    assert failing.find_problem() is None


def test_a_thread_that_nobody_watches_is_never_asked_to_stop() -> None:
    assert not stopping.is_requested()
    stopping.check()
    flag = threading.Event()
    flag.set()
    with stopping.watched_by(flag):
        assert stopping.is_requested()
        requests: list[bool] = []
        thread = threading.Thread(target=lambda: requests.append(stopping.is_requested()))
        thread.start()
        thread.join()
        assert requests == [False]
    assert not stopping.is_requested()


def test_work_that_has_seen_a_stop_may_say_what_it_has_done() -> None:
    flag = threading.Event()
    with stopping.watched_by(flag):
        stopping.check_unless_seen()
        flag.set()
        with pytest.raises(WorkStopped):
            stopping.check_unless_seen()
        stopping.check_unless_seen()


# ---- the process


def copy_company(path: Path, cik: int, copies: int) -> None:
    """Store the facts of a company again for so many others, whose latest years are due then."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")

        def copy(table: str, condition: str, **changed: str) -> None:
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            values = [changed.get(name, name) for name in names]
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table} WHERE {condition}"
            )

        of_company = f"id < 1000000 AND cik = {cik}"
        for number in range(1, copies + 1):
            offset, other = number * 1_000_000, 3_000_000 + number
            copy("companies", f"cik = {cik}", cik=str(other))
            filings = f"id IN (SELECT filing_id FROM fact_sets WHERE {of_company})"
            accession = f"'{other:010}' || substr(accession, 11)"
            copy("filings", filings, id=f"id + {offset}", cik=str(other), accession=accession)
            new_ids = {"id": f"id + {offset}", "filing_id": f"filing_id + {offset}", "report_id": "NULL"}
            copy("fact_sets", of_company, cik=str(other), **new_ids)
            facts = f"fact_set_id IN (SELECT id FROM fact_sets WHERE {of_company})"
            copy("facts", facts, fact_set_id=f"fact_set_id + {offset}")
        connection.execute("COMMIT")


@pytest.mark.slow
def test_a_server_with_a_large_backlog_stops_in_seconds(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    path = data_dir / datadir.DATABASE
    demo_image.write_copy(path)
    copy_company(path, SNOWFLAKE, 150)

    def count_due() -> int:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reader:
            number: int = reader.execute("SELECT count(*) FROM latest_years WHERE made_of IS NOT stamp").fetchone()[0]
            return number

    due = count_due()
    assert due >= 150
    with process.serve(data_dir) as running:
        process.eventually(lambda: count_due() < due)
        asked_at = time.monotonic()
        assert running.stop(signal.SIGTERM, 10.0) == 0
        # A second for the step, and what a loaded machine takes to end a process; 150 companies take five and more.
        assert time.monotonic() - asked_at < 3.0
        assert count_due() > 50
        assert "error" not in running.log
