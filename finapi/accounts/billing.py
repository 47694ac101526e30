"""Tokens: the charge of a call, and the ledger that it is written to (DECISIONS 4).

Before the handler of a billed call runs, the cost is taken from the balance and an open debit is written to the ledger.
When the call has ended, the charge is either settled (the debit is closed) or refunded (the debit is closed and the
tokens return to the balance). A debit that a crash left open is refunded at the next start.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict, TypeVar

from finapi.app import App
from finapi.core import days
from finapi.core.clock import iso
from finapi.core.counts import format_count
from finapi.core.cpu_allowance import CpuMeter
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.store.db import Row, Transaction

log = logging.getLogger("finapi.billing")
T = TypeVar("T")

SETTLE_SECONDS = 0.5  # Interval at which settled debits are closed, unless the next debit closes them earlier.
REFUND_SECONDS = 60.0  # Interval between searches for open debits of processes that crashed.

MAX_SUMMED_ROWS = 2_000  # Ledger rows that one transaction adds to the usage totals. It takes a few milliseconds.
MAX_SCANNED_ROWS = 20_000  # Ledger rows that one transaction searches for open debits. It takes a few milliseconds.
MAX_REFUNDED_ROWS = 500  # Debits that one step refunds.

# The reasons that ledger rows of calls can have.
SPENDING = ("debit", "4xx_refund", "5xx_refund", "crash_refund")


class Charge:
    """The tokens taken for one call that is not settled yet. ``debit`` is the ledger row, or None if the call is free.

    Only the first call of :meth:`settle` or :meth:`refund` has an effect. ``cpu_meter`` counts the CPU time of a call
    that is refunded, or that is free and fails.
    """

    def __init__(self, app: App, debit: Mapping[str, Any] | None) -> None:
        self._app = app
        self._debit = debit
        self.cpu_meter: CpuMeter | None = None

    def settle(self) -> None:
        """Keep the tokens: the call was answered.

        The debit is closed with the next debit or by the settlement step, as a response does not wait for a second
        commit. A crash before that refunds the call, in the customer's favour.
        """
        debit, self._debit, self.cpu_meter = self._debit, None, None
        if debit is not None:
            self._app.debits_to_settle.append(debit["id"])

    def settle_in_transaction(self, tx: Transaction) -> None:
        """Settle the charge together with the work of ``tx``. If it is rolled back, the charge is open again."""
        debit = self._debit
        if debit is None:
            return

        def reopen_debit() -> None:
            self._debit = debit

        tx.insert_rows("settle_debit", [(debit["id"],)])
        tx.undo.append(reopen_debit)
        self._debit = None

    def refund(self, error: BaseException) -> None:
        """Refund the tokens of a call that ended with ``error``, later if the store cannot be written now."""
        debit, self._debit = self._debit, None
        cpu_meter, self.cpu_meter = self.cpu_meter, None
        if cpu_meter is not None:
            cpu_meter.count()
        if debit is None:
            return
        app, now = self._app, self._app.clock.now()
        status = error.status if isinstance(error, ApiError) else 500
        reason = "4xx_refund" if status < 500 else "5xx_refund"
        try:
            app.accounts.write_batched(lambda tx: _refund_debit(tx, debit, reason, status, now))
        except (ApiError, StoreUnavailableError) as failure:
            app.pending_refunds.append((debit, reason, status))
            log.warning("%d tokens for %s will be refunded later: %s", debit["cost"], debit["endpoint"], failure)


def charge(app: App, user_id: int, endpoint: str, cost: int, request_id: str) -> Charge:
    """Take the cost of a call from a user's balance and write an open debit. Both are durable when this returns.

    Raise insufficient_tokens (402) if the balance is below the cost. ``request_id`` must be the id that finapi
    generated, never one sent by the caller.
    """
    if cost == 0:
        return Charge(app, None)
    call = {"user_id": user_id, "cost": cost, "endpoint": endpoint, "request_id": request_id}
    open_debit = {**call, "delta": -cost, "reason": "debit", "status": None, "open": 1, "now": iso(app.clock.now())}

    def take_debit(tx: Transaction) -> int | Row | None:
        """Return the debit's id, or the plan if its balance is below the cost."""
        _close_settled_debits(app, tx)
        if tx.run("take_tokens", open_debit):
            return tx.insert_last("insert_ledger_row", open_debit)
        return tx.find_row("userplan", call)

    debit_id_or_plan = app.accounts.write_batched(take_debit)
    if not isinstance(debit_id_or_plan, int):
        raise _insufficient_tokens(app, cost, debit_id_or_plan)
    return Charge(app, {**call, "id": debit_id_or_plan})


def check_balance(app: App, user_id: int, cost: int) -> None:
    """Raise insufficient_tokens (402) if a user's balance is below the cost of a call that will not be charged."""
    if cost == 0:
        return
    with app.accounts.read_one() as tx:
        plan = tx.find_row("userplan", user_id=user_id)
    if plan is None or plan["current_balance"] < cost:
        raise _insufficient_tokens(app, cost, plan)


def _insufficient_tokens(app: App, cost: int, plan: Row | None) -> ApiError:
    extra_fields = {
        "current_balance": plan["current_balance"] if plan else 0,
        "required_cost": cost,
        "next_refill_at": plan["current_period_end"] if plan else None,
        "plan": plan["plan"] if plan else None,
        "upgrade_url": app.config.plans_page_url,
    }
    message = "The token balance is below the cost of this call."
    return ApiError("insufficient_tokens", message, extra_fields=extra_fields)


def run_settlement_step(app: App) -> float:
    """Close settled debits, write pending refunds and sum the spending of each day.

    Return the seconds until it should run again.
    """
    with app.accounts.read_one() as tx:
        row = tx.find_row("unsummed")
    assert row is not None
    last_id = row["last_id"] or 0
    sum_to = min(last_id, row["summed"] + MAX_SUMMED_ROWS)

    def write(tx: Transaction) -> None:
        _close_settled_debits(app, tx)
        for debit, reason, status in _drain(tx, app.pending_refunds):
            _refund_debit(tx, debit, reason, status, app.clock.now())
        # Readers of the usage add the rows that are not in the totals yet, so that no call has to update the totals.
        # If processes share the accounts, another process may have updated them in the meantime.
        if sum_to > row["summed"] == tx.find_value("unsummed"):
            tx.run("sum_ledger_rows", summed=row["summed"], to=sum_to)
            tx.run("update_summed", to=sum_to)
        # This write must run alone: a debit with a smaller id that is not committed yet would be overlooked.
        tx.run("update_closed_to", after=row["closed_to"], to=row["closed_to"] + MAX_SCANNED_ROWS)

    if app.debits_to_settle or app.pending_refunds or sum_to > row["summed"]:
        app.accounts.write_batched(write, alone=True)
    return SETTLE_SECONDS if sum_to == last_id else 0.0


def refund_open_debits(app: App, now: datetime, *, every: bool = False, limit: int = -1) -> int:
    """Refund the debits that a crash left open. Return how many were refunded.

    A server does this at its start, before the first request. If several processes share the accounts, an open debit
    may belong to a call that another process is running. Then only debits that are older than any running call can be
    are refunded. ``every`` refunds all of them, for when no process is running.
    """
    is_shared = app.accounts is not app.db and not every
    longest_call = timedelta(seconds=app.config.server_timeout + app.config.drain_timeout)
    before = iso(now - longest_call) if is_shared else "~"
    with app.accounts.write() as tx:
        rows = tx.list_rows("open_debits", after=tx.find_value("closed_to"), before=before, limit=limit)
        for row in rows:
            _refund_debit(tx, dict(row), "crash_refund", 500, now)
    return len(rows)


def log_refunds(number: int) -> None:
    """Log how many calls were refunded because a crash cut them off, if there were any."""
    if number:
        log.warning("refunded %s that a crash cut off", format_count(number, "call"))


def run_refund_step(app: App) -> float:
    """Refund old open debits, where several processes share the accounts.

    Return the seconds until it should run again.
    """
    number = refund_open_debits(app, app.clock.now(), limit=MAX_REFUNDED_ROWS)
    log_refunds(number)
    return 0.0 if number == MAX_REFUNDED_ROWS else REFUND_SECONDS


def _refund_debit(tx: Transaction, debit: Mapping[str, Any], reason: str, status: int, now: datetime) -> None:
    """Close an open debit and give its tokens back to the user. A debit that is already closed is not changed."""
    if tx.run("close_debit", debit, status=status):
        refund = {**debit, "delta": debit["cost"], "reason": reason, "status": status, "open": 0, "now": iso(now)}
        tx.run("refund_tokens", refund)
        tx.insert_row("insert_ledger_row", refund)


def _close_settled_debits(app: App, tx: Transaction) -> None:
    debit_ids = _drain(tx, app.debits_to_settle)
    if debit_ids:
        tx.insert_rows("settle_debit", [(debit_id,) for debit_id in debit_ids])


def _drain(tx: Transaction, queue: deque[T]) -> list[T]:
    """Remove and return all entries of a queue. They are put back if the transaction is rolled back."""
    items = []
    while queue:
        items.append(queue.popleft())
    if items:
        tx.undo.append(lambda: queue.extendleft(reversed(items)))
    return items


class SpentOnDay(TypedDict):
    """Tokens spent on a UTC day, and the number of calls."""

    day: Date
    tokens_consumed: int
    calls: int


class SpentOnEndpoint(TypedDict):
    """Tokens spent on an endpoint, and the number of calls."""

    endpoint: str
    tokens: int
    calls: int


class Spending(TypedDict):
    """The spending of a number of days: by day, oldest first, and by endpoint."""

    window_days: int
    daily: list[SpentOnDay]
    top_endpoints: list[SpentOnEndpoint]


def compute_spending(tx: Transaction, user_id: int, window: int, now: datetime) -> Spending:
    """Return the tokens that a user spent in the last ``window`` UTC days, including today.

    Refunds are subtracted from the day and the endpoint of their ledger row.
    """
    first_day = _first_day(window, now)
    by_day = {
        row["day"]: build_record(SpentOnDay, row)
        for row in tx.list_rows("spent_by_day", user_id=user_id, first=first_day)
    }
    window_days = (days.shift(first_day, number) for number in range(window))
    endpoints = tx.list_rows("spent_by_endpoint", user_id=user_id, first=first_day)
    return {
        "window_days": window,
        "daily": [by_day.get(day) or {"day": day, "tokens_consumed": 0, "calls": 0} for day in window_days],
        "top_endpoints": [build_record(SpentOnEndpoint, row) for row in endpoints],
    }


def list_spending_by_account(tx: Transaction, window: int, now: datetime) -> list[Row]:
    """Return ``email``, ``plan``, ``tokens`` and ``calls`` of the last ``window`` UTC days, most tokens first."""
    return tx.list_rows("spent_by_account", first=_first_day(window, now))


def _first_day(window: int, now: datetime) -> str:
    return (now - timedelta(days=window - 1)).date().isoformat()


class LedgerCall(TypedDict):
    """The call of a ledger row. The members of other rows (refills, purchases, grants) are null."""

    request_id: str | None
    cost_tier: int | None


class LedgerRow(TypedDict):
    """A change of a balance. The oldest row, ``carried_over``, is the sum of the older rows that were archived."""

    created_at: Time
    delta: int
    reason: Annotated[str, OneOf((*SPENDING, "refill", "purchase", "grant", "carried_over"))]
    endpoint: str | None
    metadata: LedgerCall
    response_status: int | None


def list_transactions(
    tx: Transaction, user_id: int, *, limit: int, offset: int = 0, cursor: int | None = None
) -> tuple[list[LedgerRow], int | None]:
    """Return the newest ``limit`` rows of a user's ledger below the id ``cursor``, and the cursor of the next page."""
    rows = tx.list_rows("ledger_rows", user_id=user_id, limit=limit + 1, offset=offset, before=cursor)
    page = [build_record(LedgerRow, row, metadata=build_record(LedgerCall, row)) for row in rows[:limit]]
    return page, rows[limit - 1]["id"] if len(rows) > limit else None


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


def list_errors(app: App) -> list[str]:
    """Return one message for each balance, wallet or debit that is inconsistent. The list is empty if all are correct.

    An old open debit is not an error: its call may still run, and if a crash cut it off, the next start refunds it.
    But a start only searches the rows after ``closed_to``, the id up to which all debits are recorded as closed. An
    open debit at or before that row would never be refunded, so it is an error.
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


def insert_ledger_row(tx: Transaction, user_id: int, delta: int, reason: str, now: str) -> int:
    """Insert a ledger row that does not belong to a call. Return its id. The balance itself is not changed here."""
    no_call = {"endpoint": None, "request_id": None, "status": None, "open": 0}
    return tx.insert_row("insert_ledger_row", no_call, user_id=user_id, delta=delta, reason=reason, now=now)
