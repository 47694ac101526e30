"""Tokens: what a call costs, taken before it runs and given back when it fails (SPEC "Errors", CONTRACT 4)."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from finapi.app import App
from finapi.clock import iso
from finapi.config import Config
from finapi.db import Transaction
from finapi.errors import ApiError

# CONTRACT 4: how long a plan's period is, in months; None: a week.
PERIOD_MONTHS: dict[str, int | None] = {"free": 1, "weekly": None, "monthly": 1, "pro": 1, "yearly": 12}

# How often kept debits are written when no later debit takes them along, in seconds.
CLOSE_SECONDS = 0.5


def open_plan(tx: Transaction, config: Config, user_id: int, plan: str, now: datetime) -> None:
    """Give a new user the first period of ``plan``, with the ledger row of its tokens."""
    tokens: int = getattr(config, f"{plan}_tokens")
    stamp = iso(now)
    end = iso(period_end(now, plan))
    tx.run("insert_userplan", user_id=user_id, plan=plan, tokens=tokens, period_end=end, now=stamp)
    _ledger_row(tx, user_id, tokens, "refill", now=stamp)


def change_plan(app: App, user_id: int, plan: str, now: datetime) -> None:
    """Put a user on a plan from now on: a fresh period with its quota, what was left of the old one gone."""
    quota: int = getattr(app.config, f"{plan}_tokens")
    with app.db.write() as tx:
        row = tx.one("userplan", user_id=user_id)
        if row is None:
            open_plan(tx, app.config, user_id, plan, now)
            return
        left = row["total_limit_api"] - row["reach_limit_api"]
        tx.run(
            "set_userplan",
            user_id=user_id,
            plan=plan,
            tokens=quota,
            period_end=iso(period_end(now, plan)),
            now=iso(now),
        )
        _ledger_row(tx, user_id, quota - left, "refill", now=iso(now))


def grant(app: App, user_id: int, tokens: int, now: datetime) -> None:
    """Add tokens to a user's balance."""
    with app.db.write() as tx:
        if not tx.run("add_tokens", user_id=user_id, tokens=tokens, now=iso(now)):
            raise ApiError("CONFLICT", "The account has no plan to add tokens to.")
        _ledger_row(tx, user_id, tokens, "grant", now=iso(now))


def period_end(start: datetime, plan: str) -> datetime:
    """When the period of ``plan`` that begins at ``start`` ends: the same day of a later month.

    A month without that day ends it on the month's last day.
    """
    months = PERIOD_MONTHS[plan]
    if months is None:
        return start + timedelta(weeks=1)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


@contextmanager
def charged(app: App, user_id: int, endpoint: str, cost: int, request_id: str) -> Iterator[None]:
    """Run the block as a call that costs ``cost`` tokens.

    The debit and its ledger row are durable before the block runs. A block that raises is refunded in full;
    a balance below the cost raises the 402 with its five fields and changes nothing. ``request_id`` must be
    one made by finapi, never the caller's.
    """
    if cost == 0:
        yield
        return
    debit_id = _debit(app, user_id, endpoint, cost, request_id)
    try:
        yield
    except BaseException as error:
        status = error.status if isinstance(error, ApiError) else 500
        reason = "4xx_refund" if status < 500 else "5xx_refund"
        _refund(app, user_id, debit_id, endpoint, cost, request_id, reason, status)
        raise
    # Written with the next debit or by the closing worker: an answer does not wait for a second commit.
    # A crash before that refunds a call that was answered, which errs on the side of the customer.
    app.kept_debits.append((debit_id, 200))


def close_kept(app: App) -> float:
    """Write which debits are kept; when to be called again, in seconds. A worker's step."""
    if app.kept_debits:
        with app.db.write() as tx:
            _close_kept(app, tx)
    return CLOSE_SECONDS


def refund_open(app: App, now: datetime) -> int:
    """Refund every debit that a crash left open, before the first request of a start; how many there were."""
    with app.db.write() as tx:
        rows = tx.all("open_debits")
        for row in rows:
            tx.run("close_debit", id=row["id"], status=500)
            tx.run("give_back_tokens", user_id=row["user_id"], cost=row["cost"], now=iso(now))
            _ledger_row(
                tx,
                row["user_id"],
                row["cost"],
                "crash_refund",
                endpoint=row["endpoint"],
                request_id=row["request_id"],
                status=500,
                now=iso(now),
            )
    return len(rows)


def _debit(app: App, user_id: int, endpoint: str, cost: int, request_id: str) -> int:
    now = iso(app.clock.now())
    with app.db.write() as tx:
        _close_kept(app, tx)
        if tx.run("take_tokens", user_id=user_id, cost=cost, now=now):
            return _ledger_row(
                tx, user_id, -cost, "debit", endpoint=endpoint, request_id=request_id, open=1, now=now
            )
        plan = tx.one("userplan", user_id=user_id)
    beside = {
        "current_balance": plan["total_limit_api"] - plan["reach_limit_api"] if plan else 0,
        "required_cost": cost,
        "next_refill_at": plan["current_period_end"] if plan else None,
        "plan": plan["plan"] if plan else None,
        "upgrade_url": app.config.upgrade_url or f"{app.config.public_url}/plans",
    }
    raise ApiError("insufficient_tokens", "The token balance is below the cost of this call.", beside=beside)


def _refund(
    app: App, user_id: int, debit_id: int, endpoint: str, cost: int, request_id: str, reason: str, status: int
) -> None:
    now = iso(app.clock.now())
    with app.db.write() as tx:
        if tx.run("close_debit", id=debit_id, status=status):
            tx.run("give_back_tokens", user_id=user_id, cost=cost, now=now)
            _ledger_row(
                tx, user_id, cost, reason, endpoint=endpoint, request_id=request_id, status=status, now=now
            )


def _close_kept(app: App, tx: Transaction) -> None:
    # A debit popped here and rolled back with the transaction stays open until the next start refunds it.
    while app.kept_debits:
        debit_id, status = app.kept_debits.popleft()
        tx.run("close_debit", id=debit_id, status=status)


def _ledger_row(
    tx: Transaction,
    user_id: int,
    delta: int,
    reason: str,
    *,
    now: str,
    endpoint: str | None = None,
    request_id: str | None = None,
    status: int | None = None,
    open: int = 0,
) -> int:
    return tx.insert(
        "insert_ledger_row",
        user_id=user_id,
        delta=delta,
        reason=reason,
        endpoint=endpoint,
        request_id=request_id,
        status=status,
        open=open,
        now=now,
    )
