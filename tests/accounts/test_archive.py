"""Tests of the ledger archive: old rows in files, their sum in one row of each account, and usage by day."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from finapi.accounts import archive, billing, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.clock import iso as text
from tests.accounts.test_billing import spend
from tests.charging import charged
from tests.conftest import NOW
from tests.support.metered_calls import get_balance
from tests.support.raw_sql import run_sql


@pytest.fixture
def app(make_app: Callable[..., App], tmp_path: Path) -> App:
    created_app = make_app(data_dir=tmp_path, ledger_days=30)
    users.create(created_app, "ann@example.com", "pro", NOW)
    users.create(created_app, "bob@example.com", "free", NOW)
    return created_app


def pass_days(app: App, clock: FixedClock, days: int) -> None:
    """Let so many days go by, with a look at the ledger each day, until nothing is left to do."""
    for _ in range(days):
        clock.advance(86_400)
        while archive.run_archive_step(app) == archive.BATCH_PAUSE_SECONDS or archive.run_archive_step(app) == 0.0:
            pass


def read_archives(tmp_path: Path) -> dict[str, list[list[str]]]:
    """Return the rows of every archive, without its first."""
    lines_by_file = {}
    for file in sorted((tmp_path / "ledger").iterdir()):
        with gzip.open(file, "rt", newline="") as lines:
            head, *lines_by_file[file.name] = csv.reader(lines)
            assert tuple(head) == archive.COLUMNS
    return lines_by_file


def rows(
    app: App, sql: str = "SELECT id, delta, reason, created_at FROM ledger ORDER BY id"
) -> list[tuple[object, ...]]:
    with app.db.read() as tx:
        return [tuple(row) for row in run_sql(tx, sql)]


def test_old_rows_go_to_a_file_and_leave_their_sum(app: App, clock: FixedClock, tmp_path: Path) -> None:
    clock.advance(3600)
    spend(app, 25, "r1")
    with pytest.raises(ValueError, match="no"), charged(app, 1, "GET /x", 5, "r2"):
        raise ValueError("no")
    clock.advance(3600)
    spend(app, 10, "r3", user_id=2)
    billing.run_settlement_step(app)
    before = [get_balance(app, user_id) for user_id in (1, 2)]
    pass_days(app, clock, 31)
    assert not (tmp_path / "ledger").exists()
    spend(app, 1, "r4")
    pass_days(app, clock, 1)
    ann, bob = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000003"
    assert read_archives(tmp_path) == {
        "ledger-2026-01-31-000000000006.csv.gz": [
            ["1", ann, "2026-01-31T12:00:00.000Z", "500000", "refill", "", "", ""],
            ["2", bob, "2026-01-31T12:00:00.000Z", "2000", "refill", "", "", ""],
            ["3", ann, "2026-01-31T13:00:00.000Z", "-25", "debit", "GET /x", "r1", "200"],
            ["4", ann, "2026-01-31T13:00:00.000Z", "-5", "debit", "GET /x", "r2", "500"],
            ["5", ann, "2026-01-31T13:00:00.000Z", "5", "5xx_refund", "GET /x", "r2", "500"],
            ["6", bob, "2026-01-31T14:00:00.000Z", "-10", "debit", "GET /x", "r3", "200"],
        ]
    }
    assert rows(app) == [
        (-2, 1990, "carried_over", "2026-01-31T14:00:00.000Z"),
        (-1, 499_975, "carried_over", "2026-01-31T13:00:00.000Z"),
        (7, -1, "debit", text(NOW + timedelta(days=31, hours=2))),
    ]
    billing.run_settlement_step(app)
    assert [get_balance(app, user_id) for user_id in (1, 2)] == [before[0] - 1, before[1]]
    assert billing.list_errors(app) == archive.list_errors(app) == archive.list_missing_files(app) == []


def test_later_archives_add_to_the_oldest_transaction(app: App, clock: FixedClock) -> None:
    for number in range(3):
        spend(app, 25, f"r{number}")
        pass_days(app, clock, 35)
    with app.db.read() as tx:
        transactions, cursor = billing.list_transactions(tx, 1, limit=50)
    assert cursor is None
    assert [(row["delta"], row["reason"]) for row in transactions] == [(-25, "debit"), (499_950, "carried_over")]
    assert transactions[-1]["metadata"] == {"request_id": None, "cost_tier": None}
    with app.db.read() as tx:
        transactions, cursor = billing.list_transactions(tx, 1, limit=1)
        assert [row["reason"] for row in transactions] == ["debit"]
        transactions, cursor = billing.list_transactions(tx, 1, limit=1, cursor=cursor)
    assert [row["reason"] for row in transactions] == ["carried_over"]
    assert cursor is None
    assert archive.list_errors(app) == []


def test_many_rows_go_a_few_at_once_and_add_up_at_every_step(
    app: App, clock: FixedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_FILE_ROWS", 20)
    monkeypatch.setattr(archive, "MAX_REMOVED_ROWS", 10)
    for number in range(63):
        spend(app, 1, f"r{number}", user_id=1 + number % 2)
    billing.run_settlement_step(app)
    clock.advance(86_400)
    archive.run_archive_step(app)
    clock.advance(31 * 86_400)
    waits = [0.0]
    while waits[-1] != archive.STEP_SECONDS:
        waits.append(archive.run_archive_step(app))
        assert get_balance(app, 1) + get_balance(app, 2) == 502_000 - 63
        assert archive.list_errors(app) == []
    assert waits[1:] == [0.0, 0.05, 0.05, 0.0, 0.05, 0.05, 0.0, 0.05, 0.05, 0.0, 0.05, 60.0]
    assert [row[1:3] for row in rows(app)] == [(1969, "carried_over"), (499_968, "carried_over")]
    assert [len(lines) for lines in read_archives(tmp_path).values()] == [20, 20, 20, 5]


# ---- crashes and accidents


def old(app: App, clock: FixedClock) -> None:
    """Insert a call of each account that is due to be archived."""
    spend(app, 25, "r1")
    spend(app, 10, "r2", user_id=2)
    billing.run_settlement_step(app)
    clock.advance(86_400)
    archive.run_archive_step(app)
    clock.advance(31 * 86_400)


def finish(app: App) -> None:
    while archive.run_archive_step(app) != archive.STEP_SECONDS:
        pass


def test_a_file_that_a_crash_left_unrecorded_is_taken_as_it_is(
    app: App, clock: FixedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(app, clock)

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(archive, "sync_directory", cut_off)
        with pytest.raises(KeyboardInterrupt):
            archive.run_archive_step(app)
    (written,) = read_archives(tmp_path)
    assert len(rows(app)) == 4
    finish(app)
    assert [*read_archives(tmp_path)] == [written]
    assert [row[1:3] for row in rows(app)] == [(1990, "carried_over"), (499_975, "carried_over")]
    assert archive.list_errors(app) == []


def test_an_archive_older_than_a_restore_is_not_overwritten(app: App, clock: FixedClock, tmp_path: Path) -> None:
    old(app, clock)
    (tmp_path / "ledger").mkdir()
    other = tmp_path / "ledger" / "ledger-2026-01-31-000000000004.csv.gz"
    other.write_bytes(b"another history")
    finish(app)
    assert other.read_bytes() == b"another history"
    assert rows(app, "SELECT file FROM ledger_archives") == [("ledger-2026-01-31-000000000004-2.csv.gz",)]
    assert archive.list_errors(app) == []


def test_an_open_debit_and_later_rows_are_not_archived(app: App, clock: FixedClock) -> None:
    with charged(app, 1, "GET /x", 25, "long"):
        old(app, clock)
        finish(app)
        assert [row[0] for row in rows(app)] == [-2, -1, 3, 4, 5]
    billing.run_settlement_step(app)
    finish(app)
    assert [row[0] for row in rows(app)] == [-2, -1]


def test_a_clock_jump_ahead_and_back_does_not_stop_archiving(app: App, clock: FixedClock) -> None:
    clock.advance(400 * 86_400)
    spend(app, 1, "from the future")
    archive.run_archive_step(app)
    clock.advance(-400 * 86_400)
    old(app, clock)
    finish(app)
    assert [row[1:3] for row in rows(app)] == [(1990, "carried_over"), (499_974, "carried_over")]
    assert archive.list_errors(app) == []


def test_a_directory_that_cannot_be_written_is_waited_for(
    make_app: Callable[..., App], clock: FixedClock, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    app = make_app(ledger_dir=str(tmp_path / "taken"), ledger_days=30)
    users.create(app, "ann@example.com", "pro", NOW)
    users.create(app, "bob@example.com", "free", NOW)
    old(app, clock)
    assert archive.run_archive_step(app) == archive.RETRY_SECONDS
    assert len(rows(app)) == 4
    (tmp_path / "taken").unlink()
    finish(app)
    assert len(rows(app)) == 2


def test_with_no_days_the_ledger_is_kept_for_ever(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(ledger_days=0)
    users.create(app, "ann@example.com", "pro", NOW)
    spend(app)
    pass_days(app, clock, 3)
    clock.advance(4000 * 86_400)
    assert archive.run_archive_step(app) == archive.STEP_SECONDS
    assert len(rows(app)) == 2


def test_ids_are_not_reused_after_the_newest_account_is_deleted(app: App) -> None:
    spend(app, 10, "r1", user_id=2)
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM users WHERE id = 2")
    spend(app, 25, "r2")
    assert [row[0] for row in rows(app)] == [1, 4]


# ---- what check says


def test_an_archive_that_was_changed_is_named(app: App, clock: FixedClock, tmp_path: Path) -> None:
    old(app, clock)
    finish(app)
    (file,) = (tmp_path / "ledger").iterdir()
    original = file.read_bytes()
    for damaged in (original[:-20], gzip.compress(gzip.decompress(original).replace(b"-25", b"-26")), b""):
        file.write_bytes(damaged)
        assert archive.list_errors(app) == [f"archive {file.name}: the file has changed since it was written"]
    file.rename(tmp_path / file.name)
    assert archive.list_errors(app) == []
    assert archive.list_missing_files(app) == [file.name]


def test_what_was_carried_over_wrongly_is_named(app: App, clock: FixedClock) -> None:
    old(app, clock)
    finish(app)
    with app.db.write() as tx:
        run_sql(tx, "UPDATE ledger SET delta = delta + 1 WHERE id = -1")
        # The balance beside it: neither is wrong by itself.
        run_sql(tx, "UPDATE userplans SET total_limit_api = total_limit_api + 1 WHERE user_id = 1")
    assert billing.list_errors(app) == []
    account = "00000000-0000-4000-8000-000000000001"
    assert archive.list_errors(app) == [f"account {account}: archived rows sum to 499975, 499976 are carried over"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_days SET tokens = tokens + 1 WHERE user_id = 1",
        "UPDATE ledger_days SET calls = 0 WHERE user_id = 1",
        "DELETE FROM ledger_days WHERE user_id = 1",
        "INSERT INTO ledger (user_id, delta, reason, endpoint, created_at) "
        "VALUES (1, -1, 'debit', 'GET /x', '2026-01-31');"
        "UPDATE ledger_summed SET last_id = (SELECT max(id) FROM ledger)",
    ],
)
def test_sums_that_are_not_those_of_the_rows_are_named(app: App, change: str) -> None:
    spend(app, 25, "r1")
    spend(app, 10, "r2", user_id=2)
    assert archive.list_errors(app) == []
    billing.run_settlement_step(app)
    assert archive.list_errors(app) == []
    with app.db.write() as tx:
        for statement in change.split(";"):
            run_sql(tx, statement)
    assert archive.list_errors(app) == [
        "ann@example.com: the usage of GET /x on 2026-01-31 is not what the ledger sums to"
    ]


def test_usage_deleted_while_the_clock_was_ahead_is_no_error(app: App, clock: FixedClock) -> None:
    spend(app, 25, "r1")
    billing.run_settlement_step(app)
    clock.advance(500 * 86_400)
    archive.run_archive_step(app)
    assert rows(app, "SELECT count(*) FROM ledger_days") == [(0,)]
    clock.advance(-500 * 86_400)
    assert archive.list_errors(app) == []


# ---- usage


def usage(app: App, days: int, now: object = NOW) -> tuple[dict[str, tuple[int, int]], list[tuple[str, int, int]]]:
    """Return the tokens and calls of each day that has any, and of each endpoint."""
    with app.db.read() as tx:
        spending = billing.compute_spending(tx, 1, days, now)  # type: ignore[arg-type]
    daily = {row["day"]: (row["tokens_consumed"], row["calls"]) for row in spending["daily"] if row["calls"]}
    return daily, [(row["endpoint"], row["tokens"], row["calls"]) for row in spending["top_endpoints"]]


def test_summing_and_archiving_do_not_change_the_usage(app: App, clock: FixedClock) -> None:
    for day in range(3):
        for number in range(day + 1):
            spend(app, 25, f"r{day}{number}")
        with pytest.raises(ValueError, match="no"), charged(app, 1, "GET /y", 5, f"f{day}"):
            raise ValueError("no")
        billing.run_settlement_step(app)
        clock.advance(86_400)
    spend(app, 25, "not summed yet")
    daily = {"2026-01-31": (25, 2), "2026-02-01": (50, 3), "2026-02-02": (75, 4), "2026-02-03": (25, 1)}
    expected = daily, [("GET /x", 175, 7), ("GET /y", 0, 3)]
    assert usage(app, 30, clock.now()) == expected
    assert usage(app, 2, clock.now()) == (
        {"2026-02-02": (75, 4), "2026-02-03": (25, 1)},
        [("GET /x", 100, 4), ("GET /y", 0, 1)],
    )
    billing.run_settlement_step(app)
    assert usage(app, 30, clock.now()) == expected
    pass_days(app, clock, 40)
    assert len(rows(app)) == 2
    assert usage(app, 60, clock.now()) == expected


def test_sums_are_made_a_few_rows_at_once(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(billing, "MAX_SUMMED_ROWS", 3)
    for number in range(6):
        spend(app, 1, f"r{number}")
    # Two refills stand before the calls.
    assert [billing.run_settlement_step(app) for _ in range(3)] == [0.0, 0.0, billing.SETTLE_SECONDS]
    assert rows(app, "SELECT day, endpoint, tokens, calls FROM ledger_days") == [("2026-01-31", "GET /x", 6, 6)]
    written = app.db.write_count
    assert billing.run_settlement_step(app) == billing.SETTLE_SECONDS
    assert app.db.write_count == written


def test_sums_are_kept_for_as_long_as_they_are_shown_and_longer(
    make_app: Callable[..., App], clock: FixedClock
) -> None:
    app = make_app(usage_days=366)
    users.create(app, "ann@example.com", "pro", NOW)
    spend(app)
    billing.run_settlement_step(app)
    clock.advance(365 * 86_400)
    archive.run_archive_step(app)
    assert usage(app, 366, clock.now())[0] == {"2026-01-31": (25, 1)}
    clock.advance(2 * 86_400)
    archive.run_archive_step(app)
    assert rows(app, "SELECT * FROM ledger_days") == []
    assert archive.list_errors(app) == []
