"""Tokens: what a call costs, taken before it runs and given back when it fails (DECISIONS 4)."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict, TypeVar

from finapi.app import App
from finapi.core import days
from finapi.core.clock import iso
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.store.db import Row, Transaction

log = logging.getLogger("finapi.billing")
T = TypeVar("T")

# How often kept debits are written when no later debit takes them along, in seconds.
CLOSE_SECONDS = 0.5

REFUND_SECONDS = 60.0  # between looks for debits that died with their process

SUMMED_AT_ONCE = 2_000  # rows of the ledger in one transaction, a few milliseconds
LOOKED_AT_ONCE = 20_000  # rows that are looked at for an open debit, a few milliseconds too

# What a call that costs tokens may leave in the ledger.
SPENDING = ("debit", "4xx_refund", "5xx_refund", "crash_refund")


@contextmanager
def charged(app: App, user_id: int, endpoint: str, cost: int, request_id: str) -> Iterator[None]:
    """Run the block as a call that costs ``cost`` tokens.

    The debit is durable before the block runs, and refunded when it raises, later where nothing can be written now; a
    balance below the cost raises the 402 and changes nothing. ``request_id`` must be one made by finapi, never the
    caller's.
    """
    if cost == 0:
        yield
        return
    call = asked(user_id, endpoint, cost, request_id)
    debit_id = take_debit(app, call)
    try:
        yield
    except BaseException as error:
        give_back(app, call, debit_id, error)
        raise
    # Written with the next debit or by the closing worker: an answer does not wait for a second commit.
    # A crash before that refunds a call that was answered, which errs on the side of the customer.
    app.kept_debits.append(debit_id)


def give_back(app: App, call: Mapping[str, Any], debit_id: int, error: BaseException) -> None:
    """Refund the debit of a call that ended with ``error``, later where nothing can be written now."""
    status = error.status if isinstance(error, ApiError) else 500
    row, reason, now = {**call, "id": debit_id}, "4xx_refund" if status < 500 else "5xx_refund", app.clock.now()
    try:
        app.accounts.write_batched(lambda tx: _give_back(tx, row, reason, status, now))
    except (ApiError, StoreUnavailableError) as failing:
        app.late_refunds.append((row, reason, status))
        log.warning("%d tokens for %s are given back later: %s", call["cost"], call["endpoint"], failing)


def close_kept(app: App) -> float:
    """Write which debits are kept and which are given back late, and sum what was spent; when to be called again.

    In seconds: it is a worker's step.
    """
    with app.accounts.read_one() as tx:
        row = tx.find_row("unsummed")
    assert row is not None
    to = min(row["last_id"] or 0, row["summed"] + SUMMED_AT_ONCE)

    def write(tx: Transaction) -> None:
        _close_kept(app, tx)
        for late in _drained(tx, app.late_refunds):
            _give_back(tx, *late, app.clock.now())
        # Usage adds what is not summed yet, so that no call has to wait for its sum.
        # Of accounts that processes share another may have summed meanwhile.
        if to > row["summed"] == tx.find_value("unsummed"):
            tx.run("sum_ledger_rows", summed=row["summed"], to=to)
            tx.run("put_summed", to=to)
        # Alone: no debit with a smaller number is under way, not seen yet.
        tx.run("put_closed", after=row["closed_to"], to=row["closed_to"] + LOOKED_AT_ONCE)

    if app.kept_debits or app.late_refunds or to > row["summed"]:
        app.accounts.write_batched(write, alone=True)
    return CLOSE_SECONDS if to == (row["last_id"] or 0) else 0.0


def refund_open(app: App, now: datetime, *, every: bool = False) -> int:
    """Refund every debit that a crash left open, before the first request of a start; how many there were.

    Of accounts that processes share nobody knows whose debits are open: those that no call can be behind any more, or
    ``every`` one, when no process is there.
    """
    shared = app.accounts is not app.db and not every
    with app.accounts.write() as tx:
        rows = tx.list_rows(
            "open_debits", after=tx.find_value("closed_to"), before=_no_call_since(app, now) if shared else "~"
        )
        for row in rows:
            _give_back(tx, dict(row), "crash_refund", 500, now)
    if rows:
        log.warning("refunded %d calls that a crash cut off", len(rows))
    return len(rows)


def refund_step(app: App) -> float:
    """A worker's step: :func:`refund_open` of accounts that processes share."""
    refund_open(app, app.clock.now())
    return REFUND_SECONDS


def _no_call_since(app: App, now: datetime) -> str:
    return iso(now - timedelta(seconds=app.config.server_timeout + app.config.drain_timeout))


def asked(user_id: int, endpoint: str, cost: int, request_id: str) -> dict[str, Any]:
    """What :func:`take_debit` is told of a call."""
    return {"user_id": user_id, "cost": cost, "endpoint": endpoint, "request_id": request_id}


def take_debit(app: App, call: Mapping[str, Any]) -> int:
    """Take the cost of a call and write its debit, open. Return the debit's id.

    Raise insufficient_tokens (402) if the balance is below the cost.
    """
    now = iso(app.clock.now())
    debit = {"delta": -call["cost"], "reason": "debit", "status": None, "open": 1, "now": now}

    def take(tx: Transaction) -> int | Row | None:
        _close_kept(app, tx)
        if tx.run("take_tokens", call, now=now):
            return tx.insert_last("insert_ledger_row", call, **debit)
        return tx.find_row("userplan", call)

    debit_id_or_plan = app.accounts.write_batched(take)
    if isinstance(debit_id_or_plan, int):
        return debit_id_or_plan
    plan = debit_id_or_plan
    beside = {
        "current_balance": plan["current_balance"] if plan else 0,
        "required_cost": call["cost"],
        "next_refill_at": plan["current_period_end"] if plan else None,
        "plan": plan["plan"] if plan else None,
        "upgrade_url": app.config.upgrade_page,
    }
    raise ApiError("insufficient_tokens", "The token balance is below the cost of this call.", extra_fields=beside)


def _give_back(tx: Transaction, debit: Mapping[str, Any], reason: str, status: int, now: datetime) -> None:
    """Refund an open debit: the call's members and its ``id``. One that is closed stays as it is."""
    if tx.run("close_debit", debit, status=status):
        values = {**debit, "delta": debit["cost"], "reason": reason, "status": status, "open": 0, "now": iso(now)}
        tx.run("give_back_tokens", values)
        tx.insert_row("insert_ledger_row", values)


def _close_kept(app: App, tx: Transaction) -> None:
    if kept := _drained(tx, app.kept_debits):
        tx.insert_rows("keep_debit", [(debit_id,) for debit_id in kept])


def _drained(tx: Transaction, waiting: deque[T]) -> list[T]:
    """What waits to be written; it waits again when the transaction is undone."""
    taken = []
    while waiting:
        taken.append(waiting.popleft())
    if taken:
        tx.undo.append(lambda: waiting.extendleft(reversed(taken)))
    return taken


class SpentOnDay(TypedDict):
    """Tokens kept and calls made on a UTC day."""

    day: Date
    tokens_consumed: int
    calls: int


class SpentOnEndpoint(TypedDict):
    """Tokens kept and calls made of an endpoint."""

    endpoint: str
    tokens: int
    calls: int


class Spending(TypedDict):
    """What was spent in a number of days: by day, oldest first, and by endpoint."""

    window_days: int
    daily: list[SpentOnDay]
    top_endpoints: list[SpentOnEndpoint]


def usage(tx: Transaction, user_id: int, window: int, now: datetime) -> Spending:
    """What was spent in the last ``window`` UTC days, today included.

    Refunds count against the day and the endpoint of their row, so that tokens are what was kept.
    """
    first = (now - timedelta(days=window - 1)).date().isoformat()
    spent = {
        row["day"]: build_record(SpentOnDay, row) for row in tx.list_rows("spent_by_day", user_id=user_id, first=first)
    }
    return {
        "window_days": window,
        "daily": [
            spent.get(day) or {"day": day, "tokens_consumed": 0, "calls": 0}
            for day in (days.shift(first, number) for number in range(window))
        ],
        "top_endpoints": [
            build_record(SpentOnEndpoint, row)
            for row in tx.list_rows("spent_by_endpoint", user_id=user_id, first=first)
        ],
    }


def of_accounts(tx: Transaction, window: int, now: datetime) -> list[Row]:
    """Who spent what in the last ``window`` UTC days: ``email``, ``plan``, ``tokens``, ``calls``, the most first."""
    return tx.list_rows("spent_by_account", first=(now - timedelta(days=window - 1)).date().isoformat())


class LedgerCall(TypedDict):
    """The call that a change of a balance is of; null for refills, purchases, grants and what was carried over."""

    request_id: str | None
    cost_tier: int | None


class LedgerRow(TypedDict):
    """A change of a balance; the oldest, ``carried_over``, is what older ones add up to that left the ledger."""

    created_at: Time
    delta: int
    reason: Annotated[str, OneOf((*SPENDING, "refill", "purchase", "grant", "carried_over"))]
    endpoint: str | None
    metadata: LedgerCall
    response_status: int | None


def transactions(
    tx: Transaction, user_id: int, *, limit: int, offset: int = 0, cursor: int | None = None
) -> tuple[list[LedgerRow], int | None]:
    """The newest ``limit`` rows of a user's ledger below the id ``cursor``, and the cursor to go on from."""
    rows = tx.list_rows("ledger_rows", user_id=user_id, limit=limit + 1, offset=offset, before=cursor)
    shown = [build_record(LedgerRow, row, metadata=build_record(LedgerCall, row)) for row in rows[:limit]]
    return shown, rows[limit - 1]["id"] if len(rows) > limit else None


class OpenDebit(TypedDict):
    """The debit of a call that has not ended yet, or that a crash cut off."""

    account: str
    endpoint: str
    request_id: str | None
    tokens: int
    created_at: Time


def list_open_debits(app: App) -> list[OpenDebit]:
    """Return the open debits that a start would refund, oldest first."""
    with app.accounts.read() as tx:
        return [
            build_record(OpenDebit, row)
            for row in tx.list_rows("open_debits_by_account", after=tx.find_value("closed_to"))
        ]


def wrong(app: App) -> list[str]:
    """Return one message for each error in the books; an empty list if there is none.

    The age of an open debit is no error: its call may still run, and if a crash cut it off, the next start refunds it.
    A start looks behind the last row up to which all debits are closed, so an open debit before it is an error.
    """
    with app.accounts.read() as tx:
        return [
            *(
                f"{row['email']}: the balance is {row['balance']} tokens, the ledger sums to {row['ledger']}"
                for row in tx.list_rows("unequal_balances")
            ),
            *(
                f"{row['email']}: the wallet is {row['credit_cents']} cents, its rows sum to {row['rows']}"
                for row in tx.list_rows("unequal_wallets")
            ),
            *(
                f"ledger row {row['id']}: {row['cost']} tokens for {row['endpoint']} are open, "
                f"but all rows up to {row['closed_to']} are recorded as closed, so no start refunds them"
                for row in tx.list_rows("overlooked_debits")
            ),
        ]


def ledger_row(tx: Transaction, user_id: int, delta: int, reason: str, now: str) -> int:
    """Write a change of a balance that is no call's; its id. The caller changes the balance beside it."""
    no_call = {"endpoint": None, "request_id": None, "status": None, "open": 0}
    return tx.insert_row("insert_ledger_row", no_call, user_id=user_id, delta=delta, reason=reason, now=now)
