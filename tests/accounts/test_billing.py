"""Tests of token billing: a call is paid before it runs and refunded when it fails."""

from __future__ import annotations

import copy
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from finapi import app as apps
from finapi.accounts import billing, plans, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.ops.app_opening import open_app
from finapi.store.db import Transaction
from tests.charging import charged
from tests.client import ledger_sum
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.metered_calls import get_balance
from tests.support.raw_sql import run_sql

ROOT = Path(__file__).parents[2]
REFILL = (500_000, "refill", None, None, None, 0)


def ledger(app: App) -> list[tuple[object, ...]]:
    """Return the rows of the ledger: delta, reason, endpoint, request_id, status, open."""
    with app.db.write() as tx:
        sql = "SELECT delta, reason, endpoint, request_id, status, open FROM ledger ORDER BY id"
        return [tuple(row) for row in run_sql(tx, sql)]


def spend(app: App, cost: int = 25, request_id: str = "r1", user_id: int = 1) -> None:
    with charged(app, user_id, "GET /x", cost, request_id):
        pass


# ---- the period


@run_each_case(
    "start, plan, end",
    [
        ("2026-01-15", "free", "2026-02-15"),
        ("2026-01-31", "free", "2026-02-28"),
        ("2028-01-31", "free", "2028-02-29"),
        ("2026-01-28", "monthly", "2026-02-28"),
        ("2026-03-31", "monthly", "2026-04-30"),
        ("2026-02-28", "pro", "2026-03-28"),
        ("2026-12-31", "pro", "2027-01-31"),
        ("2026-11-30", "pro", "2026-12-30"),
        ("2026-01-31", "weekly", "2026-02-07"),
        ("2026-12-29", "weekly", "2027-01-05"),
        ("2026-01-31", "yearly", "2027-01-31"),
        ("2028-02-29", "yearly", "2029-02-28"),
        ("2027-02-28", "yearly", "2028-02-28"),
        ("2099-12-31", "yearly", "2100-12-31"),
    ],
)
def test_a_period_ends_on_the_same_day_or_the_last_of_the_month(start: str, plan: str, end: str) -> None:
    moment = datetime.fromisoformat(f"{start}T23:59:59.999+00:00")
    assert plans.compute_period_end(moment, plan, moment) == datetime.fromisoformat(f"{end}T23:59:59.999+00:00")


def test_every_plan_has_a_period_and_tokens() -> None:
    assert set(plans.PERIOD_MONTHS) == {"free", "weekly", "monthly", "pro", "yearly"}
    assert all(hasattr(Config(), f"{plan}_tokens") for plan in plans.PERIOD_MONTHS)


# ---- a call that succeeds


def test_a_call_is_paid_before_it_runs(app: App, user: users.NewUser) -> None:
    with charged(app, user.id, "GET /x", 25, "r1"):
        assert get_balance(app) == 499_975
        assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", None, 1)]


def test_a_call_that_succeeds_keeps_its_debit(app: App, user: users.NewUser) -> None:
    spend(app)
    assert get_balance(app) == 499_975
    assert billing.run_settlement_step(app) == 0.5
    assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", 200, 0)]


def test_a_kept_debit_is_closed_by_the_next_one(app: App, user: users.NewUser) -> None:
    spend(app, request_id="r1")
    spend(app, request_id="r2")
    assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", 200, 0), (-25, "debit", "GET /x", "r2", None, 1)]


def test_a_kept_debit_is_closed_by_a_refused_one_too(app: App, user: users.NewUser) -> None:
    spend(app, request_id="r1")
    with pytest.raises(ApiError, match="below the cost"):
        spend(app, cost=500_000, request_id="r2")
    assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", 200, 0)]


def test_closing_with_nothing_kept_changes_nothing(app: App, user: users.NewUser) -> None:
    assert billing.run_settlement_step(app) == 0.5
    assert ledger(app) == [REFILL]


def test_a_call_that_costs_nothing_leaves_no_row(app: App, user: users.NewUser) -> None:
    spend(app, cost=0)
    with pytest.raises(KeyError), charged(app, user.id, "GET /x", 0, "r2"):
        raise KeyError
    assert ledger(app) == [REFILL]


def test_a_debit_without_its_ledger_row_takes_nothing(app: App, user: users.NewUser) -> None:
    with pytest.raises(sqlite3.Error):
        spend(app, request_id=object())  # type: ignore[arg-type]
    assert get_balance(app) == 500_000
    assert ledger(app) == [REFILL]


def test_a_free_call_needs_no_user(app: App) -> None:
    spend(app, cost=0, user_id=0)
    assert ledger(app) == []


def test_the_whole_balance_can_be_spent(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=50)
    users.create(app, "ann@example.com", "free", NOW)
    spend(app)
    spend(app)
    assert get_balance(app) == 0


# ---- a call that fails


@pytest.mark.parametrize(
    ("error", "reason", "status"),
    [
        (ApiError("INVALID_PARAM", "m"), "4xx_refund", 400),
        (ApiError("UNKNOWN_TICKER", "m"), "4xx_refund", 404),
        (ApiError("RATE_LIMIT_EXCEEDED", "m"), "4xx_refund", 429),
        (ApiError("INTERNAL", "m"), "5xx_refund", 500),
        (ApiError("UNAVAILABLE", "m"), "5xx_refund", 503),
        (ApiError("TIMEOUT", "m"), "5xx_refund", 504),
        (ValueError("m"), "5xx_refund", 500),
        (KeyboardInterrupt("m"), "5xx_refund", 500),
    ],
)
def test_a_call_that_fails_is_refunded_in_full(
    app: App, user: users.NewUser, error: BaseException, reason: str, status: int
) -> None:
    with pytest.raises(type(error)) as raised, charged(app, user.id, "GET /x", 25, "r1"):
        raise error
    assert raised.value is error
    assert get_balance(app) == 500_000
    assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", status, 0), (25, reason, "GET /x", "r1", status, 0)]
    assert list(app.debits_to_settle) == []


def test_a_failed_refund_is_retried_and_the_error_stays(
    app: App, user: users.NewUser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(change: Callable[[Transaction], object], **_: object) -> None:
        raise StoreUnavailableError("the disk is full")

    def call() -> None:
        with charged(app, user.id, "GET /x", 25, "r1"):
            monkeypatch.setattr(app.accounts, "write_batched", full)
            raise ValueError("m")

    with pytest.raises(ValueError, match="m"):
        call()
    assert "25 tokens for GET /x will be refunded later: the disk is full" in caplog.text
    with pytest.raises(StoreUnavailableError):
        billing.run_settlement_step(app)
    assert get_balance(app) == 499_975
    monkeypatch.undo()
    with monkeypatch.context() as also:
        also.setattr(Transaction, "insert_row", failing)
        with pytest.raises(sqlite3.OperationalError):
            billing.run_settlement_step(app)
    billing.run_settlement_step(app)
    billing.run_settlement_step(app)
    assert get_balance(app) == 500_000
    assert ledger(app)[1:] == [(-25, "debit", "GET /x", "r1", 500, 0), (25, "5xx_refund", "GET /x", "r1", 500, 0)]
    assert list(app.pending_refunds) == []


def failing(*_: object, **__: object) -> int:
    raise sqlite3.OperationalError("database or disk is full")


def test_a_refund_stands_at_its_own_time(app: App, user: users.NewUser, clock: FixedClock) -> None:
    def call() -> None:
        with charged(app, user.id, "GET /x", 25, "r1"):
            clock.advance(3.25)
            raise KeyError

    with pytest.raises(KeyError):
        call()
    with app.db.write() as tx:
        times = [row[0] for row in run_sql(tx, "SELECT created_at FROM ledger ORDER BY id")]
    assert times == ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:03.250Z"]


def test_a_debit_is_refunded_only_once(app: App, user: users.NewUser, clock: FixedClock) -> None:
    def call() -> None:
        with charged(app, user.id, "GET /x", 25, "r1"):
            assert billing.refund_open_debits(app, clock.now()) == 1
            raise KeyError

    with pytest.raises(KeyError):
        call()
    assert get_balance(app) == 500_000
    assert [row[1] for row in ledger(app)] == ["refill", "debit", "crash_refund"]


def test_a_debit_that_was_refunded_is_not_kept_afterwards(app: App, user: users.NewUser, clock: FixedClock) -> None:
    with charged(app, user.id, "GET /x", 25, "r1"):
        billing.refund_open_debits(app, clock.now())
    billing.run_settlement_step(app)
    assert ledger(app)[1] == (-25, "debit", "GET /x", "r1", 500, 0)
    assert get_balance(app) == 500_000


# ---- a balance that is too low


def test_a_balance_below_the_cost_is_refused_with_five_fields(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=24, public_url="https://api.example.com")
    users.create(app, "ann@example.com", "free", NOW)
    with pytest.raises(ApiError) as refusal, charged(app, 1, "GET /x", 25, "r1"):
        raise AssertionError("the call must not run")
    assert (refusal.value.code, refusal.value.status) == ("insufficient_tokens", 402)
    assert refusal.value.extra_fields == {
        "current_balance": 24,
        "required_cost": 25,
        "next_refill_at": "2026-02-28T12:00:00.000Z",
        "plan": "free",
        "upgrade_url": "https://api.example.com/plans",
    }


def test_a_refused_call_changes_neither_balance_nor_ledger(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=24)
    users.create(app, "ann@example.com", "free", NOW)
    for _ in range(3):
        with pytest.raises(ApiError):
            spend(app)
    assert get_balance(app) == 24
    assert ledger(app) == [(24, "refill", None, None, None, 0)]


def test_where_to_upgrade_is_a_setting(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=0, upgrade_url="https://example.com/buy", public_url="https://api.example.com")
    users.create(app, "ann@example.com", "free", NOW)
    with pytest.raises(ApiError) as refusal:
        spend(app)
    assert refusal.value.extra_fields["upgrade_url"] == "https://example.com/buy"


def test_a_user_without_a_plan_has_nothing_to_spend(app: App, user: users.NewUser) -> None:
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM userplans")
    with pytest.raises(ApiError) as refusal:
        spend(app)
    assert refusal.value.extra_fields == {
        "current_balance": 0,
        "required_cost": 25,
        "next_refill_at": None,
        "plan": None,
        "upgrade_url": "/plans",
    }


@pytest.fixture(params=["memory", "file"])
def fifty_tokens(request: pytest.FixtureRequest, make_app: Callable[..., App], tmp_path: Path) -> Iterator[App]:
    """Yield an App whose one user has 50 tokens."""
    if request.param == "memory":
        app = make_app(free_tokens=50)
    else:
        app = apps.open_on_disk(Config(free_tokens=50, data_dir=tmp_path), FixedClock(NOW))
    users.create(app, "ann@example.com", "free", NOW)
    yield app
    app.db.close()


def test_eight_threads_never_spend_more_than_the_balance(fifty_tokens: App) -> None:
    outcomes: list[str] = []

    def work() -> None:
        for _ in range(25):
            try:
                spend(fifty_tokens)
                outcomes.append("paid")
            except ApiError as error:
                outcomes.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count("paid"), outcomes.count("insufficient_tokens")) == (2, 198)
    assert get_balance(fifty_tokens) == 0
    billing.run_settlement_step(fifty_tokens)
    assert [row[0] for row in ledger(fifty_tokens)] == [50, -25, -25]


def test_eight_threads_that_fail_give_everything_back(fifty_tokens: App) -> None:
    def work() -> None:
        for _ in range(25):
            try:
                with charged(fifty_tokens, 1, "GET /x", 25, "r"):
                    raise KeyError
            except (KeyError, ApiError):
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert get_balance(fifty_tokens) == 50
    assert all(row[5] == 0 for row in ledger(fifty_tokens))


# ---- a crash

KILLED = """
import os, sys
from pathlib import Path
from finapi import app as apps
from finapi.accounts import billing, users
from finapi.core.config import Config

app = apps.open_on_disk(Config(data_dir=Path(sys.argv[1])))
users.create(app, "ann@example.com", "pro", app.clock.now())
billing.charge(app, 1, "GET /x", 25, "settled").settle()
billing.charge(app, 1, "GET /x", 25, "cut off")
billing.charge(app, 1, "GET /y", 5, "cut off too")
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def killed_dir(tmp_path: Path) -> Path:
    """Return the data directory of a process that was killed in two running calls and after a third."""
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    assert run.returncode == -9
    return tmp_path


def test_calls_cut_off_by_a_crash_are_refunded_once_at_start(killed_dir: Path) -> None:
    clock = FixedClock(datetime(2026, 2, 1, tzinfo=UTC))
    app = apps.open_on_disk(Config(data_dir=killed_dir), clock)
    assert get_balance(app) == 499_945
    assert billing.refund_open_debits(app, clock.now()) == 2
    assert get_balance(app) == 499_975
    after = ledger(app)
    assert after == [
        REFILL,
        (-25, "debit", "GET /x", "settled", 200, 0),
        (-25, "debit", "GET /x", "cut off", 500, 0),
        (-5, "debit", "GET /y", "cut off too", 500, 0),
        (25, "crash_refund", "GET /x", "cut off", 500, 0),
        (5, "crash_refund", "GET /y", "cut off too", 500, 0),
    ]
    assert billing.refund_open_debits(app, clock.now()) == 0
    assert ledger(app) == after
    assert app.db.list_integrity_errors() == []
    app.db.close()


def closed_to(app: App) -> int:
    with app.db.read() as tx:
        return int(run_sql(tx, "SELECT closed_to FROM ledger_summed").fetchone()[0])


def test_a_crash_refunds_a_running_call_despite_later_calls(
    app: App, user: users.NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(billing, "MAX_SCANNED_ROWS", 3)
    for number in range(5):
        spend(app, request_id=f"before {number}")
    billing.charge(app, user.id, "GET /x", 25, "runs")
    assert ledger(app)[6][3] == "runs"
    debit_ids = []
    for number in range(5):
        spend(app, request_id=f"after {number}")
        billing.run_settlement_step(app)
        debit_ids.append(closed_to(app))
    assert debit_ids == [3, 6, 6, 6, 6]
    assert billing.list_errors(app) == []
    assert [call["request_id"] for call in billing.list_open_debits(app)] == ["runs"]
    assert billing.refund_open_debits(app, NOW, every=True) == 1
    assert get_balance(app) == 500_000 - 10 * 25
    assert billing.refund_open_debits(app, NOW, every=True) == 0
    for _ in range(3):
        spend(app)
        billing.run_settlement_step(app)
    assert closed_to(app) == 15


def test_a_pending_refund_is_found_by_its_open_debit(
    app: App, user: users.NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    charge = billing.charge(app, user.id, "GET /x", 25, "r1")
    billing.run_settlement_step(app)
    assert closed_to(app) == 1
    with monkeypatch.context() as full:
        full.setattr(app.accounts, "write_batched", refuse)
        charge.refund(KeyError())
    billing.run_settlement_step(app)
    assert (closed_to(app), get_balance(app), billing.refund_open_debits(app, NOW, every=True)) == (3, 500_000, 0)


def test_a_charge_is_settled_or_refunded_once(app: App, user: users.NewUser) -> None:
    settled, refunded = (billing.charge(app, user.id, "GET /x", 25, number) for number in ("r1", "r2"))
    settled.settle()
    settled.refund(KeyError())
    refunded.refund(KeyError())
    refunded.settle()
    refunded.refund(KeyError())
    billing.run_settlement_step(app)
    assert ledger(app)[1:] == [
        (-25, "debit", "GET /x", "r1", 200, 0),
        (-25, "debit", "GET /x", "r2", 500, 0),
        (25, "5xx_refund", "GET /x", "r2", 500, 0),
    ]


def test_shared_accounts_get_refunds_only_for_calls_that_ended(
    app: App, user: users.NewUser, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    billing.charge(app, user.id, "GET /x", 25, "r1")
    monkeypatch.setattr(app.db, "accounts", copy.copy(app.db))
    assert billing.refund_open_debits(app, clock.now()) == 0
    clock.advance(app.config.server_timeout + app.config.drain_timeout + 1)
    assert billing.run_refund_step(app) > 0
    assert ledger(app)[-1][:2] == (25, "crash_refund")
    billing.charge(app, user.id, "GET /x", 25, "r1")
    assert billing.refund_open_debits(app, clock.now()) == 0
    assert billing.refund_open_debits(app, clock.now(), every=True) == 1
    monkeypatch.undo()
    billing.charge(app, user.id, "GET /x", 25, "r1")
    assert billing.refund_open_debits(app, clock.now()) == 1
    assert get_balance(app) == 500_000


@pytest.mark.parametrize(("window", "tokens"), [(1, 4), (2, 7), (3, 7), (4, 9), (400, 9)])
def test_who_spent_what_in_so_many_days_of_which_today_is_one(
    app: App, user: users.NewUser, clock: FixedClock, window: int, tokens: int
) -> None:
    for cost, later in ((2, 2), (3, 1), (4, 0)):
        spend(app, cost)
        clock.advance(86_400 * later)
    billing.run_settlement_step(app)
    with app.db.read() as tx:
        assert [dict(row)["tokens"] for row in billing.list_spending_by_account(tx, window, clock.now())] == [tokens]


def test_opening_a_data_directory_refunds_what_a_crash_cut_off(
    killed_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "finapi.server"), open_app(Config(data_dir=killed_dir)) as app:
        assert get_balance(app) == 499_975
    assert [record.getMessage() for record in caplog.records] == ["refunded 2 calls that a crash cut off"]
    with open_app(Config(data_dir=killed_dir)) as app:
        assert get_balance(app) == 499_975


def test_closing_a_data_directory_closes_what_was_kept(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path / "new")
    with open_app(config) as app:
        users.create(app, "ann@example.com", "pro", NOW)
        spend(app)
    with open_app(config) as app:
        assert ledger(app) == [REFILL, (-25, "debit", "GET /x", "r1", 200, 0)]
    assert os.stat(tmp_path / "new").st_mode & 0o777 == 0o700
    assert os.stat(tmp_path / "new" / "finapi.db").st_mode & 0o777 == 0o600


def test_a_refund_after_a_plan_change_keeps_the_books_equal(app: App) -> None:
    user = users.create(app, "ann@example.com", "free", NOW)

    def call() -> None:
        with charged(app, user.id, "GET /x", 25, "request"):
            plans.change_plan(app, user.id, "pro", NOW)
            raise ApiError("NOT_FOUND", "Nothing.")

    with pytest.raises(ApiError, match="Nothing"):
        call()
    with app.db.read() as tx:
        row = tx.find_row("userplan", user_id=user.id)
        assert row is not None
        assert row["total_limit_api"] - row["reach_limit_api"] == 500_025
        assert ledger_sum(tx, user.id) == 500_025
