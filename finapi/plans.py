"""Plans: how many tokens a period brings, when it ends, and what is bought or granted beside (CONTRACT 4).

A period brings its quota anew. Tokens that were bought or granted carry over, and are spent after the quota.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from finapi import billing
from finapi.app import App
from finapi.clock import iso
from finapi.config import Config
from finapi.db import Row, Transaction
from finapi.errors import ApiError

Answer = TypeVar("Answer")

# How long a plan's period is, in months; None: a week.
PERIOD_MONTHS: dict[str, int | None] = {"free": 1, "weekly": None, "monthly": 1, "pro": 1, "yearly": 12}
INTERVALS = {1: "month", None: "week", 12: "year"}

# SPEC "Limits": 100 requests for a dollar, so that a cent buys one.
TOKENS_PER_CENT = 1

# Refills in one transaction, and between looks when none is due: calls refill their own account.
REFILLS_AT_ONCE = 500
REFILL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Purchase:
    """Tokens bought, and the balance and the cents in the wallet after it."""

    tokens: int
    balance: int
    cents_left: int


def quota(config: Config, plan: str) -> int:
    """The tokens that a period of ``plan`` brings."""
    tokens: int = getattr(config, f"{plan}_tokens")
    return tokens


def period_end(anchor: datetime, plan: str, after: datetime) -> datetime:
    """When the period that holds ``after`` ends, counting periods of ``plan`` from ``anchor``.

    Months end on the anchor's day, or on the last of a month that has no such day.
    """
    months = PERIOD_MONTHS[plan]
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


def open_plan(tx: Transaction, config: Config, user_id: int, plan: str, now: datetime) -> None:
    """Give a new user the first period of ``plan``, with the ledger row of its tokens."""
    tokens = quota(config, plan)
    end = iso(period_end(now, plan, now))
    tx.run("insert_userplan", user_id=user_id, plan=plan, tokens=tokens, period_end=end, now=iso(now))
    billing.ledger_row(tx, user_id, tokens, "refill", now=iso(now))


def change_plan(app: App, user_id: int, plan: str, now: datetime) -> None:
    """Put a user on a plan from now on: a period that begins now, with its quota and the bought tokens left."""
    with app.db.write() as tx:
        row = tx.one("userplan", user_id=user_id)
        if row is None:
            open_plan(tx, app.config, user_id, plan, now)
        else:
            _begin(tx, app.config, row, plan, now, anchor=now)


def refill(app: App, user_id: int, now: datetime) -> None:
    """Begin the period of ``now`` if the user's has ended: with the quota once, however many went by."""
    with app.db.write() as tx:
        row = tx.one("due_userplan", user_id=user_id, now=iso(now))
        if row is not None:
            _begin(tx, app.config, row, row["plan"], now, anchor=datetime.fromisoformat(row["anchor"]))


def refill_due(app: App, now: datetime) -> float:
    """Refill the accounts whose period has ended; when to be called again, in seconds. A worker's step."""
    with app.db.read() as tx:
        due = [row["user_id"] for row in tx.all("due_users", now=iso(now), limit=REFILLS_AT_ONCE)]
    for user_id in due:
        refill(app, user_id, now)
    return 0.0 if len(due) == REFILLS_AT_ONCE else REFILL_SECONDS


def grant(app: App, user_id: int, tokens: int, now: datetime) -> None:
    """Add tokens to a user's balance."""
    with app.db.write() as tx:
        _add(tx, user_id, tokens, "grant", now)


def purchase(
    app: App, user_id: int, cents: int, now: datetime, settle: Callable[[Transaction, Purchase], Answer]
) -> Answer:
    """Buy tokens out of the wallet; what ``settle`` makes of it in the same transaction.

    INSUFFICIENT_BALANCE when the wallet holds less.
    """
    with app.db.write() as tx:
        left = tx.value("take_credit", user_id=user_id, cents=cents, now=iso(now))
        if left is None:
            raise ApiError("INSUFFICIENT_BALANCE", "The wallet holds less than this amount.")
        tokens = cents * TOKENS_PER_CENT
        balance = _add(tx, user_id, tokens, "purchase", now)
        tx.run(
            "insert_wallet_row", user_id=user_id, cents=-cents, reason="purchase", tokens=tokens, now=iso(now)
        )
        return settle(tx, Purchase(tokens, balance, left))


def balance(tx: Transaction, config: Config, user_id: int, now: datetime) -> dict[str, Any]:
    """The balance object of wire.json: what is left, what the plan brings, and when it does so again."""
    row = _held(tx, user_id)
    left = datetime.fromisoformat(row["current_period_end"]) - now
    return {
        "current_balance": row["total_limit_api"] - row["reach_limit_api"],
        "plan": row["plan"],
        "plan_display_name": row["plan"].capitalize(),
        "monthly_quota": quota(config, row["plan"]),
        "billing_cycle_end": row["current_period_end"],
        "days_until_refill": max(0, math.ceil(left / timedelta(days=1))),
        "suspended": row["status"] != "active",
        "as_of": iso(now),
    }


def subscription(tx: Transaction, user_id: int) -> dict[str, Any]:
    """The plan and its counters as wire.json has them."""
    row = _held(tx, user_id)
    return {
        "reach_limit_api": row["reach_limit_api"],
        "total_limit_api": row["total_limit_api"],
        "plan_name": row["plan"],
        "status": row["status"],
    }


def listed(config: Config) -> Iterator[dict[str, Any]]:
    """Every plan as wire.json has it. The operator sets who is on which, so that paid ones have no price here."""
    for number, (plan, months) in enumerate(PERIOD_MONTHS.items(), 1):
        interval = INTERVALS[months]
        feeds = config.feeds_free if plan == "free" else config.feeds_paid
        insider = config.insider_per_minute_free if plan == "free" else config.insider_per_minute_paid
        yield {
            "id": number,
            "name": plan,
            "price": 0 if plan == "free" else None,
            "currency": "usd",
            "interval": interval,
            "features": [
                f"{quota(config, plan):,} tokens a {interval}",
                f"{feeds} feed connection{'s' if feeds > 1 else ''} at once",
                f"{insider} insider calls a minute",
            ],
            "is_active": True,
            "stripe_price_id": None,
        }


def purchases(tx: Transaction, user_id: int, limit: int, offset: int) -> list[dict[str, Any]]:
    """Every change of the wallet, newest first, as wire.json has it."""
    return [
        {
            "id": str(row["id"]),
            "created_at": row["created_at"],
            "type": row["reason"],
            "amount_usd": abs(row["cents"]) / 100,
            "tokens_credited": row["tokens"],
            "stripe_invoice_id": None,
            "description": "Tokens bought from the wallet"
            if row["reason"] == "purchase"
            else "Added to the wallet",
        }
        for row in tx.all("wallet_rows", user_id=user_id, limit=limit, offset=offset)
    ]


def _held(tx: Transaction, user_id: int) -> Row:
    row = tx.one("userplan", user_id=user_id)
    if row is None:
        raise ApiError("CONFLICT", "The account has no plan.")
    return row


def _begin(tx: Transaction, config: Config, row: Row, plan: str, now: datetime, *, anchor: datetime) -> None:
    left = row["total_limit_api"] - row["reach_limit_api"]
    bought = min(row["bought"], left)
    tokens = quota(config, plan) + bought
    tx.run(
        "set_userplan",
        user_id=row["user_id"],
        plan=plan,
        tokens=tokens,
        bought=bought,
        anchor=iso(anchor),
        period_end=iso(period_end(anchor, plan, now)),
        now=iso(now),
    )
    billing.ledger_row(tx, row["user_id"], tokens - left, "refill", now=iso(now))


def _add(tx: Transaction, user_id: int, tokens: int, reason: str, now: datetime) -> int:
    balance = tx.value("add_tokens", user_id=user_id, tokens=tokens, now=iso(now))
    if balance is None:
        raise ApiError("CONFLICT", "The account has no plan to add tokens to.")
    billing.ledger_row(tx, user_id, tokens, reason, now=iso(now))
    return int(balance)
