"""Tests of plans: periods from the anniversary, refills, purchases and grants that carry over, and a model of all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from finapi import app as apps
from finapi.accounts import billing, plans, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from tests.charging import charged
from tests.client import ledger_sum
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples
from tests.support.raw_sql import run_sql


class Boom(Exception):
    """The exception that fails a call."""


def held(app: App, user_id: int = 1) -> tuple[int, int, int]:
    """Return the balance, its bought part, and the tokens spent in this period. Check that the ledger sums to it."""
    with app.db.read() as tx:
        row = tx.find_row("userplan", user_id=user_id)
        assert row is not None
        remaining = row["total_limit_api"] - row["reach_limit_api"]
        assert ledger_sum(tx, user_id) == remaining
    return remaining, min(row["bought"], remaining), row["reach_limit_api"]


def rows(app: App) -> list[tuple[int, str]]:
    """Return the delta and the reason of every row of the ledger."""
    with app.db.write() as tx:
        return [tuple(row) for row in run_sql(tx, "SELECT delta, reason FROM ledger ORDER BY id")]


def spend(app: App, tokens: int, user_id: int = 1) -> None:
    with charged(app, user_id, "GET /x", tokens, "r"):
        pass


def find_refusal(call: Callable[[], object]) -> str | None:
    """Return the code that a call is refused with, or None if it is done."""
    try:
        call()
    except ApiError as error:
        return error.code
    return None


def buy(app: App, cents: int, user_id: int = 1) -> tuple[int, ...]:
    return plans.buy_tokens(app, user_id, cents, app.clock.now(), lambda tx, bought: tuple(bought))


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    """Return an App whose one user is on the plan free, with 100 tokens a month, since the 31st of January."""
    app = make_app(free_tokens=100, weekly_tokens=50, yearly_tokens=1000)
    users.create(app, "ann@example.com", "free", NOW)
    return app


# ---- periods


@run_each_case(
    "anchor, plan, after, end",
    [
        ("2026-01-31", "free", "2026-01-31", "2026-02-28"),
        ("2026-01-31", "free", "2026-02-27", "2026-02-28"),
        ("2026-01-31", "free", "2026-02-28", "2026-03-31"),
        ("2026-01-31", "free", "2026-03-30", "2026-03-31"),
        ("2026-01-31", "pro", "2026-04-29", "2026-04-30"),
        ("2026-01-31", "pro", "2027-12-31", "2028-01-31"),
        ("2026-01-31", "pro", "2032-01-31", "2032-02-29"),
        ("2024-02-29", "yearly", "2025-02-28", "2026-02-28"),
        ("2024-02-29", "yearly", "2027-03-01", "2028-02-29"),
        ("2026-01-31", "weekly", "2026-02-06", "2026-02-07"),
        ("2026-01-31", "weekly", "2026-02-07", "2026-02-14"),
        ("2026-01-31", "weekly", "2027-01-31", "2027-02-06"),
    ],
)
def test_periods_count_from_the_anniversary_and_do_not_drift(anchor: str, plan: str, after: str, end: str) -> None:
    def at(day: str) -> datetime:
        return datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)

    assert plans.compute_period_end(at(anchor), plan, at(after)) == at(end)


def test_a_refill_replaces_the_unused_quota(app: App, clock: FixedClock) -> None:
    spend(app, 30)
    clock.advance(seconds=28 * 86_400)
    plans.refill(app, 1, clock.now())
    assert held(app) == (100, 0, 0)
    assert rows(app) == [(100, "refill"), (-30, "debit"), (30, "refill")]


def test_a_refill_before_its_time_is_none(app: App, clock: FixedClock) -> None:
    clock.advance(seconds=28 * 86_400 - 1)
    plans.refill(app, 1, clock.now())
    assert rows(app) == [(100, "refill")]


def test_a_refill_is_applied_once(app: App, clock: FixedClock) -> None:
    spend(app, 100)
    clock.advance(seconds=28 * 86_400)
    for _ in range(3):
        plans.refill(app, 1, clock.now())
    assert rows(app) == [(100, "refill"), (-100, "debit"), (100, "refill")]


def test_months_without_a_call_bring_one_quota(app: App, clock: FixedClock) -> None:
    spend(app, 100)
    clock.advance(seconds=200 * 86_400)
    assert plans.run_refill_step(app, clock.now()) == 60.0
    assert held(app) == (100, 0, 0)
    with app.db.read() as tx:
        assert plans.get_balance(tx, app.config, 1, clock.now()) == {
            "current_balance": 100,
            "plan": "free",
            "plan_display_name": "Free",
            "monthly_quota": 100,
            "billing_cycle_end": "2026-08-31T12:00:00.000Z",
            "days_until_refill": 12,
            "suspended": False,
            "as_of": "2026-08-19T12:00:00.000Z",
        }


def test_bought_and_granted_tokens_carry_over_and_go_last(app: App, clock: FixedClock) -> None:
    plans.grant(app, 1, 40, NOW)
    spend(app, 110)
    assert held(app) == (30, 30, 110)
    clock.advance(seconds=28 * 86_400)
    plans.refill(app, 1, clock.now())
    assert held(app) == (130, 30, 0)
    spend(app, 60)
    clock.advance(seconds=31 * 86_400)
    plans.refill(app, 1, clock.now())
    assert held(app) == (130, 30, 0)


def test_a_plan_change_starts_a_period_and_keeps_bought_tokens(app: App) -> None:
    plans.grant(app, 1, 40, NOW)
    spend(app, 20)
    plans.change_plan(app, 1, "weekly", NOW + timedelta(days=3))
    assert held(app) == (90, 40, 0)
    with app.db.read() as tx:
        assert plans.get_balance(tx, app.config, 1, NOW)["billing_cycle_end"] == "2026-02-10T12:00:00.000Z"


def test_a_refund_after_a_refill_is_not_lost(app: App, clock: FixedClock) -> None:
    def fail_after_a_month() -> None:
        with charged(app, 1, "GET /x", 30, "r"):
            clock.advance(seconds=28 * 86_400)
            plans.refill(app, 1, clock.now())
            raise Boom

    with pytest.raises(Boom):
        fail_after_a_month()
    assert held(app) == (130, 30, 0)


# ---- money


def test_a_cent_buys_a_token(app: App) -> None:
    assert users.change_credit(app, "ann@example.com", 1250, NOW) == 1250
    assert buy(app, 1200) == (1200, 1300, 50)
    assert rows(app) == [(100, "refill"), (1200, "purchase")]
    assert billing.list_errors(app) == []


def test_a_correction_takes_what_was_not_spent(app: App) -> None:
    users.change_credit(app, "ann@example.com", 1000, NOW)
    buy(app, 300)
    assert users.change_credit(app, "ann@example.com", -200, NOW, reason="booked twice") == 500
    with pytest.raises(ApiError, match=r"^The wallet has less than 5\.01 dollars, so they cannot") as raised:
        users.change_credit(app, "ann@example.com", -501, NOW, reason="booked twice")
    assert raised.value.status == 409
    assert users.change_credit(app, "ann@example.com", -500, NOW, reason="booked twice") == 0
    assert billing.list_errors(app) == []


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("", "A correction of the wallet requires a reason."),
        ("  ", "A correction of the wallet requires a reason."),
        ("a\nb", "reason must be printable and of at most 200 characters."),
        ("x" * 201, "reason must be printable and of at most 200 characters."),
    ],
)
def test_a_correction_without_a_usable_reason_is_refused(app: App, reason: str, message: str) -> None:
    users.change_credit(app, "ann@example.com", 1000, NOW)
    with pytest.raises(ApiError, match=f"^{message}") as raised:
        users.change_credit(app, "ann@example.com", -1, NOW, reason=reason)
    assert raised.value.status == 400
    assert users.change_credit(app, "ann@example.com", 1, NOW) == 1001


def test_an_empty_wallet_buys_nothing(app: App) -> None:
    users.change_credit(app, "ann@example.com", 99, NOW)
    with pytest.raises(ApiError) as raised:
        buy(app, 100)
    assert (raised.value.code, raised.value.status) == ("INSUFFICIENT_BALANCE", 400)
    assert held(app) == (100, 0, 0)


def test_purchases_race_with_debits_and_lose_no_cent(app: App) -> None:
    users.change_credit(app, "ann@example.com", 1000, NOW)
    bought: list[str | None] = []
    spent: list[str | None] = []

    def work(number: int) -> None:
        for _ in range(50):
            if number % 2:
                bought.append(find_refusal(lambda: buy(app, 7)))
            else:
                spent.append(find_refusal(lambda: spend(app, 3)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    billing.run_settlement_step(app)
    assert (bought.count(None), bought.count("INSUFFICIENT_BALANCE")) == (142, 58)
    assert set(spent) <= {None, "insufficient_tokens"}
    assert held(app)[0] == 100 + 7 * 142 - 3 * spent.count(None)
    with app.db.read() as tx:
        assert users.build_profile(app, tx, 1, NOW)["credit_balance"] == 0.06
    assert billing.list_errors(app) == []


def test_eight_threads_spend_exactly_the_last_fifty_tokens(app: App) -> None:
    spend(app, 50)
    verdicts: list[str] = []

    def work() -> None:
        for _ in range(125):
            verdicts.append(find_refusal(lambda: spend(app, 1)) or "paid")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(verdicts) == 1000
    assert verdicts.count("paid") == 50
    assert set(verdicts) == {"paid", "insufficient_tokens"}
    assert held(app)[0] == 0


# ---- check


def test_what_does_not_add_up_is_named(app: App) -> None:
    with app.db.write() as tx:
        run_sql(tx, "UPDATE userplans SET total_limit_api = 90")
        run_sql(tx, "UPDATE users SET credit_cents = 5")
    assert billing.list_errors(app) == [
        "ann@example.com: the balance is 90 tokens, the ledger sums to 100",
        "ann@example.com: the wallet is 5 cents, its rows sum to 0",
    ]


@pytest.mark.parametrize("is_closed_before", [False, True])
def test_an_open_debit_is_wrong_only_if_no_start_refunds_it(app: App, is_closed_before: bool) -> None:
    # A call that a crash cut off at some time.
    billing.charge(app, 1, "GET /x", 25, "r1")
    if not is_closed_before:
        assert billing.list_errors(app) == []
        assert billing.list_open_debits(app) == [
            {
                "account": "ann@example.com",
                "endpoint": "GET /x",
                "request_id": "r1",
                "tokens": 25,
                "created_at": "2026-01-31T12:00:00.000Z",
            }
        ]
        return
    with app.db.write() as tx:
        run_sql(tx, "UPDATE ledger_summed SET closed_to = 5")
    assert billing.list_open_debits(app) == []
    assert billing.list_errors(app) == [
        "ledger row 2: 25 tokens for GET /x are open, "
        "but all rows up to 5 are recorded as closed, so no start refunds them"
    ]


# ---- against a model


class Accounting(RuleBasedStateMachine):
    """One account under calls, failures, crashes, refills, purchases and grants, compared with a model."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock(NOW)
        self.app = apps.create_in_memory(Config(free_tokens=100, weekly_tokens=60), self.clock)
        users.create(self.app, "ann@example.com", "free", NOW)
        self.quota, self.bought, self.cents, self.plan = 100, 0, 0, "free"
        self.end = plans.compute_period_end(NOW, "free", NOW)
        self.anchor = NOW

    def teardown(self) -> None:
        self.app.db.close()

    def _take(self, cost: int) -> bool:
        if self.quota + self.bought < cost:
            return False
        from_quota = min(self.quota, cost)
        self.quota -= from_quota
        self.bought -= cost - from_quota
        return True

    @rule(cost=st.sampled_from([1, 5, 10, 25, 90]))
    def call(self, cost: int) -> None:
        code = find_refusal(lambda: spend(self.app, cost))
        assert code == (None if self._take(cost) else "insufficient_tokens")

    @rule(cost=st.sampled_from([1, 25]), status=st.sampled_from([400, 500]))
    def fail(self, cost: int, status: int) -> None:
        if self.quota + self.bought < cost:
            return
        error: Exception = ApiError("BAD_REQUEST", "no") if status == 400 else Boom()
        with pytest.raises(type(error)), charged(self.app, 1, "GET /x", cost, "r"):
            raise error

    @rule(cost=st.sampled_from([1, 25]))
    def crash(self, cost: int) -> None:
        """Let the process die within a call. Only the next start handles that call."""
        if self.quota + self.bought < cost:
            return
        billing.charge(self.app, 1, "GET /x", cost, "r")
        # Answered calls that were not closed yet are refunded too; here they are closed first.
        billing.run_settlement_step(self.app)
        assert billing.refund_open_debits(self.app, self.clock.now()) == 1

    @rule(days=st.integers(0, 70))
    def wait(self, days: int) -> None:
        self.clock.advance(seconds=days * 86_400)
        now = self.clock.now()
        plans.run_refill_step(self.app, now)
        if now >= self.end:
            self.quota = {"free": 100, "weekly": 60}[self.plan]
            self.end = plans.compute_period_end(self.anchor, self.plan, now)

    @rule(plan=st.sampled_from(["free", "weekly"]))
    def change(self, plan: str) -> None:
        self.plan, self.anchor = plan, self.clock.now()
        plans.change_plan(self.app, 1, plan, self.anchor)
        self.quota = {"free": 100, "weekly": 60}[plan]
        self.end = plans.compute_period_end(self.anchor, plan, self.anchor)

    @rule(cents=st.integers(1, 300))
    def credit(self, cents: int) -> None:
        self.cents += cents
        assert users.change_credit(self.app, "ann@example.com", cents, self.clock.now()) == self.cents

    @rule(cents=st.integers(1, 200))
    def purchase(self, cents: int) -> None:
        if cents > self.cents:
            with pytest.raises(ApiError):
                buy(self.app, cents)
            return
        self.cents -= cents
        self.bought += cents
        assert buy(self.app, cents) == (cents, self.quota + self.bought, self.cents)

    @rule(tokens=st.integers(1, 50))
    def grant(self, tokens: int) -> None:
        plans.grant(self.app, 1, tokens, self.clock.now())
        self.bought += tokens

    @invariant()
    def the_books_agree(self) -> None:
        billing.run_settlement_step(self.app)
        assert held(self.app)[:2] == (self.quota + self.bought, self.bought)
        assert billing.list_errors(self.app) == []
        with self.app.db.read() as tx:
            dollars = users.build_profile(self.app, tx, 1, self.clock.now())["credit_balance"]
        assert Decimal(str(dollars)) * 100 == self.cents


TestAccounting = Accounting.TestCase
TestAccounting.settings = settings(max_examples=examples(30), stateful_step_count=30, deadline=None)


@run_each_case(
    "text, cents",
    [("12.50", 1250), ("0.5", 50), ("7", 700), ("0.01", 1), ("1.05", 105), ("-5", -500)],
)
def test_an_amount_of_dollars_is_read_in_cents(text: str, cents: int) -> None:
    assert plans.parse_cents(text) == cents


@run_each_case("text", ["0", "0.00", "-0", "--1", "1.234", "1e3", "1,000", "", " 1", "\u0661", "1" * 10])
def test_what_is_no_amount_of_dollars_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not an amount of dollars"):
        plans.parse_cents(text)
