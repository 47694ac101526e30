"""Tokens: what a call costs, taken before it runs and given back when it fails (SPEC "Errors", CONTRACT 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from finapi.app import App
from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.errors import ApiError

# How often kept debits are written when no later debit takes them along, in seconds.
CLOSE_SECONDS = 0.5

# What a call that costs tokens may leave in the ledger.
SPENDING = ("debit", "4xx_refund", "5xx_refund", "crash_refund")


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
    app.kept_debits.append(debit_id)


def close_kept(app: App) -> float:
    """Write which debits are kept; when to be called again, in seconds. A worker's step."""
    if app.kept_debits:
        app.db.share(lambda tx: _close_kept(app, tx))
    return CLOSE_SECONDS


def refund_open(app: App, now: datetime) -> int:
    """Refund every debit that a crash left open, before the first request of a start; how many there were."""
    with app.db.write() as tx:
        rows = tx.all("open_debits")
        for row in rows:
            tx.run("close_debit", id=row["id"], status=500)
            tx.run("give_back_tokens", user_id=row["user_id"], cost=row["cost"], now=iso(now))
            ledger_row(
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

    def take(tx: Transaction) -> tuple[int, Row | None]:
        _close_kept(app, tx)
        if tx.run("take_tokens", user_id=user_id, cost=cost, now=now):
            debit = ledger_row(
                tx, user_id, -cost, "debit", endpoint=endpoint, request_id=request_id, open=1, now=now
            )
            return debit, None
        return 0, tx.one("userplan", user_id=user_id)

    debit, plan = app.db.share(take)
    if debit:
        return debit
    beside = {
        "current_balance": plan["total_limit_api"] - plan["reach_limit_api"] if plan else 0,
        "required_cost": cost,
        "next_refill_at": plan["current_period_end"] if plan else None,
        "plan": plan["plan"] if plan else None,
        "upgrade_url": app.config.upgrade_page,
    }
    raise ApiError("insufficient_tokens", "The token balance is below the cost of this call.", beside=beside)


def _refund(
    app: App, user_id: int, debit_id: int, endpoint: str, cost: int, request_id: str, reason: str, status: int
) -> None:
    now = iso(app.clock.now())

    def give_back(tx: Transaction) -> None:
        if tx.run("close_debit", id=debit_id, status=status):
            tx.run("give_back_tokens", user_id=user_id, cost=cost, now=now)
            ledger_row(
                tx, user_id, cost, reason, endpoint=endpoint, request_id=request_id, status=status, now=now
            )

    app.db.share(give_back)


def _close_kept(app: App, tx: Transaction) -> None:
    kept = []
    while app.kept_debits:
        kept.append(app.kept_debits.popleft())
    if kept:
        tx.undo.append(lambda: app.kept_debits.extendleft(reversed(kept)))
        tx.run("keep_debits", ids=json.dumps(kept))


def usage(tx: Transaction, user_id: int, days: int, now: datetime) -> dict[str, Any]:
    """What was spent in the last ``days`` UTC days, today included: by day, oldest first, and by endpoint.

    Refunds count against the day and the endpoint of their row, so that tokens are what was kept.
    """
    first = (now - timedelta(days=days - 1)).date()
    mark = tx.value("ledger_mark", user_id=user_id, since=first.isoformat()) or 0
    spent = {row["day"]: row for row in tx.all("spent_by_day", user_id=user_id, mark=mark)}
    daily = []
    for number in range(days):
        day = (first + timedelta(days=number)).isoformat()
        row = spent.get(day)
        daily.append(
            {
                "day": day,
                "tokens_consumed": row["tokens"] if row else 0,
                "calls": row["calls"] if row else 0,
            }
        )
    top = [dict(row) for row in tx.all("spent_by_endpoint", user_id=user_id, mark=mark)]
    return {"window_days": days, "daily": daily, "top_endpoints": top}


def transactions(
    tx: Transaction, user_id: int, limit: int, before: int | None
) -> tuple[list[dict[str, Any]], int | None]:
    """The newest ``limit`` rows of a user's ledger below the id ``before``, and the id to go on from."""
    rows = tx.all("ledger_rows", user_id=user_id, limit=limit + 1, before=before)
    shown = [
        {
            "created_at": row["created_at"],
            "delta": row["delta"],
            "reason": row["reason"],
            "endpoint": row["endpoint"],
            "metadata": {"request_id": row["request_id"], "cost_tier": abs(row["delta"])}
            if row["reason"] in SPENDING
            else {"request_id": None, "cost_tier": None},
            "response_status": row["status"],
        }
        for row in rows[:limit]
    ]
    return shown, rows[limit - 1]["id"] if len(rows) > limit else None


def wrong(app: App, now: datetime) -> list[str]:
    """What does not add up: balances, wallets and debits left open; an empty list when all is well.

    A debit is open while its call runs, so that only one older than any call may be is wrong.
    """
    longest = timedelta(seconds=app.config.server_timeout + app.config.drain_timeout)
    with app.db.read() as tx:
        return [
            *(
                f"{row['email']}: the balance is {row['balance']} tokens, the ledger sums to {row['ledger']}"
                for row in tx.all("unequal_balances")
            ),
            *(
                f"{row['email']}: the wallet is {row['credit_cents']} cents, its rows sum to {row['rows']}"
                for row in tx.all("unequal_wallets")
            ),
            *(
                f"ledger row {row['id']}: {row['cost']} tokens for {row['endpoint']} are still open"
                for row in tx.all("debits_open_since", before=iso(now - longest))
            ),
        ]


def ledger_row(
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
    """Write a change of a balance and give the row's id; the caller changes the balance beside it."""
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
