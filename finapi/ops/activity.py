"""The calls, tokens and errors of each hour and the longest queues in it, for the charts on the page of operators.

A process counts its calls in memory (``core.metrics``). Once a minute a worker adds the numbers since its last step to
the rows of the hour. Several processes that share the accounts add to the same rows. A process that ends loses at most
a minute of its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from finapi.app import App
from finapi.core.metrics import RequestTotals
from finapi.ops import status
from finapi.store.db import Transaction

STEP_SECONDS = 60.0
HOUR, DAY = 3600, 86_400  # seconds
KEPT_DAYS = 31

# The measures that are added up. The numbers of entries in a queue have the name of the queue as their measure.
COUNTS = ("calls", "tokens", "refusals", "failures")
QUEUES = ("ingest", "mail", "webhooks")


class Activity(NamedTuple):
    """The activity of periods of equal length, oldest first: the start of each, and the values of each measure."""

    starts: Sequence[int]  # Seconds since 1970-01-01.
    values: Mapping[str, Sequence[int]]


class ActivityRecorder:
    """Stores the numbers that the process counted since the last step. ``run_step`` is the step of a worker."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._totals = RequestTotals(0, 0, 0, 0)
        self._pruned_hour = 0

    def run_step(self) -> float:
        """Add the numbers since the last step to the current hour. Return the seconds until it should run again.

        If they cannot be stored, the next step adds them.
        """
        app, now = self._app, self._app.clock.now()
        totals = app.metrics.sum_requests()
        counts = {name: getattr(totals, name) - getattr(self._totals, name) for name in COUNTS}
        # A node with a copy of the market data has no queues of its own.
        queues = {} if app.db.is_copy else status.count_queued_work(app, now)
        start = int(now.timestamp()) // HOUR * HOUR

        def write(tx: Transaction) -> None:
            for measure, amount in counts.items():
                if amount:
                    tx.run("add_activity", measure=measure, start=start, amount=amount)
            for measure, amount in queues.items():
                if amount:
                    tx.run("raise_activity", measure=measure, start=start, amount=amount)
            if start != self._pruned_hour:
                tx.run("delete_old_activity", before=start - KEPT_DAYS * DAY)

        if any(counts.values()) or any(queues.values()) or start != self._pruned_hour:
            app.accounts.write_batched(write)
        self._totals, self._pruned_hour = totals, start
        return STEP_SECONDS


def read_hours(tx: Transaction, now: datetime, hours: int) -> Activity:
    """Return the activity of the last ``hours`` hours, the current one included."""
    last = int(now.timestamp()) // HOUR * HOUR
    return _read(tx, range(last - (hours - 1) * HOUR, last + 1, HOUR), HOUR)


def read_days(tx: Transaction, now: datetime, days: int) -> Activity:
    """Return the activity of the last ``days`` UTC days, today included."""
    today = int(now.timestamp()) // DAY * DAY
    return _read(tx, range(today - (days - 1) * DAY, today + 1, DAY), DAY)


def _read(tx: Transaction, starts: range, period_seconds: int) -> Activity:
    values = {measure: [0] * len(starts) for measure in (*COUNTS, *QUEUES)}
    for row in tx.list_rows("activity_since", start=starts[0]):
        index = (row["start"] - starts[0]) // period_seconds
        amounts = values.get(row["measure"])
        # A clock that was set back leaves rows of the future.
        if amounts is None or index >= len(starts):
            continue
        is_count = row["measure"] in COUNTS
        amounts[index] = amounts[index] + row["amount"] if is_count else max(amounts[index], row["amount"])
    return Activity(starts, values)
