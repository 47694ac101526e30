"""Tests of the outbox, which carries the effects of filings to the store of accounts exactly once."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core import metrics
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import StoreUnavailableError
from finapi.delivery import events, outbox, sniper, webhooks
from finapi.delivery.sniper import FilingHit
from finapi.market.documents import filing_store
from finapi.market.documents.metadata import HEADER_EVIDENCE, FilingMetadata, Party
from finapi.ops import status
from finapi.ops.app_opening import open_app
from finapi.store.db import Database
from tests.conftest import NOW
from tests.stores import ACCOUNTS
from tests.support.raw_sql import run_sql

APPLE = 320193
ACCESSION = "0000320193-26-000001"
FILED = FilingMetadata(ACCESSION, HEADER_EVIDENCE, [Party(APPLE, 2, "Apple Inc.")], form="10-Q", filed_at="2026-01-31")

# Stores the filing for which a target of ann@example.com waits, in a process that kills itself at a place.
STORES = """
import os, signal, sys
from pathlib import Path
from finapi.core.config import Config
from finapi.delivery import outbox
from finapi.market.documents import filing_store
from finapi.ops.app_opening import open_app
from tests.conftest import NOW
from tests.delivery.test_outbox import FILED
with open_app(Config(data_dir=Path(sys.argv[1]))) as app:
    setattr(outbox, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with app.db.write() as tx:
        filing_store.upsert(tx, FILED, NOW)
"""


@pytest.fixture
def apart(app: App) -> App:
    """Return an App whose accounts are in a store of their own."""
    app.db.accounts = Database(None)
    return app


def complete_pass(app: App) -> float:
    """Run the worker's step until it wants to wait, and return for how long."""
    carrier = outbox.OutboxTransfer(app)
    while (seconds := carrier.run_step()) == 0.0:
        pass
    return seconds


def waiting(app: App) -> None:
    """Create an account whose target waits for a filing of Apple."""
    user = users.create(app, "ann@example.com", "pro", NOW)
    watched = sniper.WatchedCompany(APPLE, "AAPL")
    sniper.create_target(app, user.id, watched, {"webhook_url": "https://example.com/"}, NOW, lambda tx, target: target)


def store(app: App) -> None:
    with app.db.write() as tx:
        filing_store.upsert(tx, FILED, NOW)


def came(app: App) -> tuple[list[tuple[int, str]], list[str], list[str]]:
    """Return the events, the states of targets and the deliveries of the account."""
    with app.accounts.read() as tx:
        feed_events = [(row.seq, row.type) for row in events.list_events_after(tx, events.MAIN_FEED, 0, 100)]
        targets = sniper.list_targets(app, tx, 1, NOW + timedelta(minutes=1), limit=9)["targets"]
        delivery_types = [row["event_type"] for row in webhooks.list_deliveries(tx, 1, 9)["deliveries"]]
    return feed_events, [row["status"] for row in targets], delivery_types


def rows(database: Database, table: str) -> int:
    with database.read() as tx:
        count: int = run_sql(tx, f"SELECT count(*) FROM {table}").fetchone()[0]
    return count


ALL = [(1, "new_filing")], ["STOPPED"], ["sniper.filing_hit"]
NOTHING: tuple[list[Any], ...] = [], ["ACTIVE"], []


def test_what_a_filing_causes_is_there_when_it_is_stored(app: App) -> None:
    waiting(app)
    store(app)
    assert (came(app), rows(app.db, "outbox"), rows(app.db, "carried")) == (ALL, 0, 2)


def test_it_is_carried_to_a_store_that_is_another(apart: App) -> None:
    waiting(apart)
    store(apart)
    assert (came(apart), rows(apart.db, "outbox")) == (ALL, 0)
    of_all = {table: (rows(apart.db, table), rows(apart.accounts, table)) for table in (*ACCOUNTS, "filings", "outbox")}
    # A database begins with the names of its feeds and what is counted of nothing.
    other_tables = ("feeds", "journal", "ledger_summed")
    assert {table for table, (market, _) in of_all.items() if market and table not in other_tables} == {"filings"}
    assert of_all["filings"] == (1, 0)
    assert (of_all["events"], of_all["users"], of_all["carried"]) == ((0, 1), (0, 1), (0, 2))


@pytest.mark.slow
@pytest.mark.parametrize("crash_point", ["_transfer_after_commit", "_transfer_row", "_delete_rows"])
def test_a_kill_between_the_stores_loses_and_repeats_nothing(tmp_path: Path, crash_point: str) -> None:
    config = Config(data_dir=tmp_path, password_profile="cheap")
    with open_app(config) as app:
        waiting(app)
    run = [sys.executable, "-B", "-c", STORES, str(tmp_path), crash_point]
    assert subprocess.run(run, cwd=Path(__file__).parents[2], check=False).returncode == -signal.SIGKILL
    with sqlite3.connect(f"file:{tmp_path}/finapi.db?mode=ro", uri=True) as connection:
        assert connection.execute("SELECT count(*) FROM filings").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM outbox").fetchone() == (2,)
        # The last kill comes when all is told and before it is taken off.
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (int(crash_point == "_delete_rows"),)
    connection.close()
    for _ in range(2):
        with open_app(config) as app:
            assert (came(app), rows(app.db, "outbox")) == (ALL, 0)


def test_accounts_that_are_away_keep_no_filing_from_being_stored(
    apart: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting(apart)

    def away() -> Any:
        raise StoreUnavailableError("no route to it")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(apart.accounts, "write", away)
        store(apart)
        with pytest.raises(StoreUnavailableError):
            complete_pass(apart)
    assert (came(apart), rows(apart.db, "filings"), rows(apart.db, "outbox")) == (NOTHING, 1, 2)
    assert "events of filings are published later: no route to it" in caplog.text
    assert complete_pass(apart) == 5.0
    assert (came(apart), rows(apart.db, "outbox")) == (ALL, 0)


@pytest.fixture
def spoilt(app: App, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let hits of targets fail until this is undone. Two rows of the outbox wait, the hit first."""

    def fails(*_: object) -> None:
        raise ValueError("an amount of 'x'")

    with app.db.write() as tx:
        outbox.enqueue_hit(tx, NOW, FilingHit(ACCESSION, (APPLE,), "10-Q", iso(NOW), "https://example.com/"))
        about = events.EventTags(("AAPL",), (str(APPLE),), "10-Q")
        outbox.enqueue_event(tx, NOW, ACCESSION, "new_filing", occurred_at=iso(NOW), tags=about, data={})
        tx.steps = ()
    monkeypatch.setattr(sniper, "record_hit", fails)
    return monkeypatch


def troubles(app: App) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        return outbox.list_failed_rows(tx)


def test_a_row_that_cannot_be_carried_holds_up_none_behind_it(
    app: App, spoilt: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert complete_pass(app) == 5.0
    assert (came(app)[0], rows(app.db, "outbox"), rows(app.db, "carried")) == ([(1, "new_filing")], 1, 1)
    hit = {
        "id": 1,
        "accession": ACCESSION,
        "type": sniper.HIT_EVENT,
        "noted_at": iso(NOW),
        "state": "tried",
        "tries": 1,
    }
    assert troubles(app) == [hit | {"reason": "ValueError: an amount of 'x'"}]
    assert f"sniper.filing_hit of {ACCESSION} could not be published: ValueError: an amount of 'x'" in caplog.text


def test_the_fifth_failure_sets_a_row_aside(
    app: App, spoilt: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for tried in range(1, 6):
        complete_pass(app)
        (trouble,) = troubles(app)
        assert (trouble["tries"], trouble["state"]) == (tried, "put_aside" if tried == 5 else "tried")
        assert status.compute_metrics(app)[metrics.OUTBOX_SET_ASIDE] == {(): float(tried == 5)}
    assert (
        f"sniper.filing_hit of {ACCESSION} cannot be published and is set aside; see finapi outbox list" in caplog.text
    )
    spoilt.undo()
    waiting(app)
    assert outbox.transfer(app.db) == 0
    assert came(app) == ([(1, "new_filing")], ["ACTIVE"], [])


def test_a_filing_that_follows_does_not_use_up_the_tries(app: App, spoilt: pytest.MonkeyPatch) -> None:
    complete_pass(app)
    for number in range(2, 12):
        with app.db.write() as tx:
            about = events.EventTags((), (str(APPLE),), "10-Q")
            outbox.enqueue_event(
                tx, NOW, f"{ACCESSION[:-2]}{number:02}", "new_filing", occurred_at="", tags=about, data={}
            )
    assert [trouble["tries"] for trouble in troubles(app)] == [1]
    assert [seq for seq, _ in came(app)[0]] == [*range(1, 12)]


def test_it_is_told_when_it_is_tried_again_with_the_cause_mended(app: App, spoilt: pytest.MonkeyPatch) -> None:
    waiting(app)
    for _ in range(5):
        complete_pass(app)
    assert outbox.retry_rows(app.db, [1]) == [1]
    assert [(trouble["tries"], trouble["state"]) for trouble in troubles(app)] == [(1, "tried")]
    spoilt.undo()
    assert outbox.retry_rows(app.db, [2, None]) == [0, 1]
    assert (came(app), troubles(app), rows(app.db, "outbox")) == (ALL, [], 0)
    assert outbox.retry_rows(app.db, [None]) == [0]


def test_several_that_fail_in_one_batch_leave_the_rest(app: App, spoilt: pytest.MonkeyPatch) -> None:
    with app.db.write() as tx:
        for number in range(2, 5):
            filing = FilingHit(f"{ACCESSION[:-1]}{number}", (APPLE,), "10-Q", iso(NOW), "https://example.com/")
            outbox.enqueue_hit(tx, NOW, filing)
        tx.steps = ()
    spoilt.setattr(outbox, "BATCH_ROWS", 2)
    assert outbox.transfer(app.db) == 1
    assert [(trouble["id"], trouble["tries"]) for trouble in troubles(app)] == [(1, 1), (3, 1), (4, 1), (5, 1)]


def test_accounts_that_are_away_use_up_no_try(apart: App, spoilt: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> Any:
        raise StoreUnavailableError("no route to it")

    spoilt.setattr(sniper, "record_hit", away)
    for _ in range(9):
        with pytest.raises(StoreUnavailableError):
            complete_pass(apart)
    assert (troubles(apart), rows(apart.db, "outbox"), came(apart)[0]) == ([], 2, [])


def test_what_was_put_aside_is_kept_as_long_as_events(app: App, spoilt: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        complete_pass(app)
    retention = timedelta(days=app.config.events_kept_days)
    events.prune(app, NOW + retention)
    assert len(troubles(app)) == 1
    events.prune(app, NOW + retention + timedelta(seconds=1))
    assert (troubles(app), rows(app.db, "outbox")) == ([], 0)


def test_a_start_is_not_kept_by_a_row_that_cannot_be_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("ciks")

    monkeypatch.setattr(sniper, "record_hit", fails)
    config = Config(data_dir=tmp_path, password_profile="cheap")
    with open_app(config) as app:
        store(app)
    with open_app(config) as app:
        assert (came(app)[0], [trouble["reason"] for trouble in troubles(app)]) == (
            [(1, "new_filing")],
            ["KeyError: 'ciks'"],
        )


def test_many_who_carry_at_once_carry_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_app(Config(data_dir=tmp_path, password_profile="cheap")) as app:
        waiting(app)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(outbox, "_transfer_after_commit", lambda _: None)
            store(app)
        carried: list[int] = []
        begin = threading.Barrier(8)

        def carry() -> None:
            begin.wait()
            carried.append(outbox.transfer(app.db))

        threads = [threading.Thread(target=carry) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sum(carried), came(app), rows(app.db, "outbox")) == (2, ALL, 0)


def test_market_data_of_an_earlier_state_tell_nothing_again(apart: App) -> None:
    waiting(apart)
    store(apart)
    earlier = Database(None)
    earlier.accounts = apart.accounts
    with earlier.write() as tx:
        filing_store.upsert(tx, FILED, NOW)
    assert (came(apart), rows(earlier, "outbox"), rows(earlier, "filings")) == (ALL, 0, 1)
    earlier.close()


def test_what_was_carried_is_forgotten_with_the_events(app: App) -> None:
    store(app)
    retention = timedelta(days=app.config.events_kept_days)
    events.prune(app, NOW + retention)
    assert rows(app.db, "carried") == 2
    events.prune(app, NOW + retention + timedelta(seconds=1))
    assert rows(app.db, "carried") == 0
