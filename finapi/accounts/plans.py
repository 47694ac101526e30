"""Plans: the tokens of each period, its end, and additional tokens that are bought or granted (DECISIONS 4).

Each period starts with the full quota. Tokens that were bought or granted carry over, and are spent after the quota.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypedDict, TypeVar

from finapi.accounts import audit, billing
from finapi.app import App
from finapi.core import stopping
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import ApiError, UsageError
from finapi.core.records import Time, build_record
from finapi.store.db import Row, Transaction

Answer = TypeVar("Answer")

# The length of a plan's period in months, or None for a week.
PERIOD_MONTHS: dict[str, int | None] = {"free": 1, "weekly": None, "monthly": 1, "pro": 1, "yearly": 12}
INTERVALS: dict[int | None, Literal["week", "month", "year"]] = {1: "month", None: "week", 12: "year"}
MONTHS = {interval: months for months, interval in INTERVALS.items()}

# A dollar buys 100 tokens (DECISIONS 5).
TOKENS_PER_CENT = 1

# Accounts that one step refills, and the pause before the next step if no refill is due. A call does not wait for the
# step: it refills its own account if that is due.
MAX_REFILLS = 500
REFILL_SECONDS = 60.0


class Purchase(NamedTuple):
    """Tokens that were bought, and the balance and the cents in the wallet after the purchase."""

    tokens: int
    balance: int
    cents_left: int


class Terms(NamedTuple):
    """A plan's tokens in a period of ``months`` (None: a week), and its price in dollars (None: not stated)."""

    tokens: int
    months: int | None
    price: int | None


def build_catalogue(config: Config) -> dict[str, Terms]:
    """Return the terms of every plan by its name: the free plan first, the operator's own plans last."""
    catalogue = {
        plan: Terms(getattr(config, f"{plan}_tokens"), months, 0 if plan == "free" else None)
        for plan, months in PERIOD_MONTHS.items()
    }
    for plan_config in config.plans:
        default = catalogue.get(plan_config.name, Terms(0, 1, None))
        catalogue[plan_config.name] = Terms(
            tokens=default.tokens if plan_config.tokens is None else plan_config.tokens,
            months=default.months if plan_config.period is None else MONTHS[plan_config.period],
            price=default.price if plan_config.price is None else plan_config.price,
        )
    return catalogue


def get_terms(config: Config, plan: str) -> Terms:
    """Return the terms of a plan, or those of the free plan if the operator has removed it."""
    plans = build_catalogue(config)
    return plans.get(plan, plans["free"])


def check_name(config: Config, plan: str) -> None:
    """Raise UsageError if there is no plan of this name."""
    if plan not in build_catalogue(config):
        raise UsageError(f"{plan!r} is not a plan; use one of: {', '.join(build_catalogue(config))}")


def has_prices(config: Config) -> bool:
    """Return True if the operator has set the price of any plan."""
    return any(terms.price for terms in build_catalogue(config).values())


def parse_cents(text: str) -> int:
    """Return an amount of dollars (``12.50`` or ``-12.50``) in cents. Raise UsageError for any other text and for 0."""
    match = re.fullmatch(r"(-?)([0-9]{1,9})(?:\.([0-9]{1,2}))?", text, re.ASCII)
    cents = int(match[2]) * 100 + int((match[3] or "0").ljust(2, "0")) if match else 0
    if match is None or cents == 0:
        raise UsageError(f"amount: {text!r} is not an amount of dollars (12.50)")
    return -cents if match[1] else cents


def compute_period_end(anchor: datetime, plan: str, after: datetime, config: Config | None = None) -> datetime:
    """Return the end of the period that contains ``after``, counting periods of ``plan`` from ``anchor``.

    A month ends on the anchor's day, or on the last day of a month that has no such day.
    """
    months = PERIOD_MONTHS[plan] if config is None else get_terms(config, plan).months
    if months is None:
        return anchor + timedelta(weeks=max(0, (after - anchor) // timedelta(weeks=1)) + 1)
    elapsed = (after.year - anchor.year) * 12 + after.month - anchor.month
    number = max(1, elapsed // months)
    while _months_later(anchor, number * months) <= after:
        number += 1
    return _months_later(anchor, number * months)


def _months_later(start: datetime, months: int) -> datetime:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def begin_period(
    tx: Transaction, config: Config, user_id: int, plan: str, now: datetime, *, anchor: datetime | None = None
) -> None:
    """Begin a period of ``plan``, counted from ``anchor`` (default: now).

    The new balance is the plan's quota plus the bought tokens that are left.
    """
    row = tx.find_row("userplan", user_id=user_id)
    anchor = anchor or now
    remaining_tokens = row["current_balance"] if row else 0
    bought_tokens = min(row["bought"], remaining_tokens) if row else 0
    tokens = get_terms(config, plan).tokens + bought_tokens
    values = {"user_id": user_id, "plan": plan, "tokens": tokens, "bought": bought_tokens, "now": iso(now)}
    tx.run("upsert_userplan", values, anchor=iso(anchor), period_end=iso(compute_period_end(anchor, plan, now, config)))
    billing.insert_ledger_row(tx, user_id, tokens - remaining_tokens, "refill", iso(now))


def change_plan(app: App, user_id: int, plan: str, now: datetime, actor: audit.Actor | None = None) -> None:
    """Change a user's plan and begin a period of it."""
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "plan", now, user_id, plan)
        begin_period(tx, app.config, user_id, plan, now)


def refill(app: App, user_id: int, now: datetime) -> None:
    """Begin the period that contains ``now`` if the user's has ended. Missed periods add no further quota."""
    with app.accounts.write() as tx:
        refill_in_transaction(tx, app.config, user_id, now)


def refill_in_transaction(tx: Transaction, config: Config, user_id: int, now: datetime) -> None:
    """Refill a user as :func:`refill` does, in the caller's transaction."""
    row = tx.find_row("userplan", user_id=user_id)
    if row is not None and row["current_period_end"] <= iso(now):
        begin_period(tx, config, user_id, row["plan"], now, anchor=datetime.fromisoformat(row["anchor"]))


def run_refill_step(app: App, now: datetime) -> float:
    """Refill accounts whose period has ended. Return the seconds until it should run again."""
    with app.accounts.read() as tx:
        due = [row["user_id"] for row in tx.list_rows("due_users", now=iso(now), limit=MAX_REFILLS)]
    for user_id in due:
        if stopping.is_requested():
            break
        refill(app, user_id, now)
    return 0.0 if len(due) == MAX_REFILLS else REFILL_SECONDS


def grant(app: App, user_id: int, tokens: int, now: datetime, actor: audit.Actor | None = None) -> None:
    """Add tokens to a user's balance."""
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "grant", now, user_id, format_count(tokens, "token"))
        _add_tokens(tx, user_id, tokens, "grant", now)


def buy_tokens(
    app: App, user_id: int, cents: int, now: datetime, respond: Callable[[Transaction, Purchase], Answer]
) -> Answer:
    """Buy tokens from the wallet. Return the answer that ``respond`` builds in the same transaction.

    Raise INSUFFICIENT_BALANCE if the wallet has less than ``cents``.
    """
    with app.accounts.write() as tx:
        wallet_cents = tx.find_value("take_credit", user_id=user_id, cents=cents, now=iso(now))
        if wallet_cents is None:
            raise ApiError("INSUFFICIENT_BALANCE", "The wallet balance is below this amount.")
        tokens = cents * TOKENS_PER_CENT
        balance = _add_tokens(tx, user_id, tokens, "purchase", now)
        tx.run("insert_wallet_row", user_id=user_id, cents=-cents, reason="purchase", tokens=tokens, now=iso(now))
        return respond(tx, Purchase(tokens, balance, wallet_cents))


class Balance(TypedDict):
    """A user's tokens, the plan's quota, and the time of the next refill."""

    current_balance: int
    plan: str
    plan_display_name: str
    monthly_quota: int
    billing_cycle_end: Time
    days_until_refill: int
    suspended: bool
    as_of: Time


def get_balance(tx: Transaction, config: Config, user_id: int, now: datetime) -> Balance:
    """Return a user's balance. Raise CONFLICT if the account has no plan."""
    row = _get_userplan(tx, user_id)
    remaining_time = datetime.fromisoformat(row["current_period_end"]) - now
    return build_record(
        Balance,
        row,
        plan_display_name=row["plan"].capitalize(),
        monthly_quota=get_terms(config, row["plan"]).tokens,
        billing_cycle_end=row["current_period_end"],
        days_until_refill=max(0, math.ceil(remaining_time / timedelta(days=1))),
        suspended=row["status"] != "active",
        as_of=iso(now),
    )


class PlanSubscription(TypedDict):
    """The plan and its counters."""

    reach_limit_api: int
    total_limit_api: int
    plan_name: str
    status: str


def get_subscription(tx: Transaction, user_id: int) -> PlanSubscription:
    """Return a user's plan. Raise CONFLICT if the account has none."""
    row = _get_userplan(tx, user_id)
    return build_record(PlanSubscription, row, plan_name=row["plan"])


class Plan(TypedDict):
    """A plan. The operator chooses the plan of an account, and may state a price in dollars."""

    id: int
    name: str
    price: int | None
    currency: str
    interval: Literal["week", "month", "year"]
    features: list[str]
    is_active: bool
    stripe_price_id: str | None


def iter_plans(config: Config) -> Iterator[Plan]:
    """Yield every plan, the free plan first."""
    for number, (plan, terms) in enumerate(build_catalogue(config).items(), 1):
        interval = INTERVALS[terms.months]
        feeds = config.feeds_free if plan == "free" else config.feeds_paid
        insider = config.insider_per_minute_free if plan == "free" else config.insider_per_minute_paid
        yield {
            "id": number,
            "name": plan,
            "price": terms.price,
            "currency": "usd",
            "interval": interval,
            "features": [
                *([f"{terms.price:,} dollars a {interval}"] if terms.price else []),
                f"{terms.tokens:,} tokens a {interval}",
                f"{feeds} feed connection{'s' if feeds > 1 else ''} at once",
                f"{insider} insider calls a minute",
            ],
            "is_active": True,
            "stripe_price_id": None,
        }


class WalletChange(TypedDict):
    """Dollars added to the wallet, or spent on tokens.

    ``amount_usd`` of a credit is negative if the operator took money back as a correction.
    """

    id: str
    created_at: Time
    type: Literal["credit", "purchase"]
    amount_usd: float
    tokens_credited: int
    stripe_invoice_id: str | None
    description: str


def list_wallet_changes(tx: Transaction, user_id: int, limit: int, offset: int) -> list[WalletChange]:
    """Return the changes of a user's wallet, newest first."""
    rows = tx.list_rows("wallet_rows", user_id=user_id, limit=limit, offset=offset)
    return [build_record(WalletChange, row, stripe_invoice_id=None) for row in rows]


def _get_userplan(tx: Transaction, user_id: int) -> Row:
    row = tx.find_row("userplan", user_id=user_id)
    if row is None:
        raise ApiError("CONFLICT", "The account has no plan.")
    return row


def _add_tokens(tx: Transaction, user_id: int, tokens: int, reason: str, now: datetime) -> int:
    balance = tx.find_value("add_tokens", user_id=user_id, tokens=tokens, now=iso(now))
    if balance is None:
        raise ApiError("CONFLICT", "The account has no plan to add tokens to.")
    billing.insert_ledger_row(tx, user_id, tokens, reason, iso(now))
    return int(balance)
