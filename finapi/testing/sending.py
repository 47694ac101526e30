"""How a world sends its webhooks: in an order that repeats while its clock stands, and as its faults say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from finapi.app import App
from finapi.delivery.dispatch import ClaimedAttempt, Dispatcher, EndedAttempt
from finapi.store.db import Transaction
from finapi.testing.faults import FaultPlan

NO_BOUND = 1_000_000


class WorldDispatcher(Dispatcher):
    """A dispatcher whose plan of faults lets webhooks pass one another.

    ``in_turn``, where the clock stands: they leave one after the other as they were queued, however long the machine
    takes for each, so that they arrive in the same order in every run.
    """

    def __init__(self, app: App, wake: Callable[[], None], plan: FaultPlan, *, in_turn: bool) -> None:
        super().__init__(app, wake)
        self._plan = plan
        self._in_turn = in_turn
        self._behind: list[tuple[ClaimedAttempt, float]] = []
        if in_turn:
            self._most = NO_BOUND
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="finapi-webhook")

    def flush(self, seconds: float = 0.0) -> float | None:
        """Send those that have waited so long for another to pass them; in how many seconds more are due."""
        now = time.monotonic()
        while self._behind and (left := self._behind[0][1] + seconds - now) <= 0:
            super()._begin(self._behind.pop(0)[0])
        return left if self._behind else None

    def settle(self, seconds: float) -> bool:
        """Pass after pass until nothing is under way or due; what alone is left to wait for another waits no more."""
        until = time.monotonic() + seconds
        while not super().settle(0.0):
            if seconds and len(self._under_way) == len(self._behind):
                self.flush()
            with self._change:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._change.wait_for(lambda: bool(self._ended), min(left, 0.5))
        return True

    def _claim(self, tx: Transaction, now: datetime, ended: list[EndedAttempt]) -> list[ClaimedAttempt]:
        return sorted(super()._claim(tx, now, ended), key=lambda claim: claim.id)

    def _room(self, lane: str, busy: list[ClaimedAttempt]) -> int:
        if self._in_turn:
            return NO_BOUND
        waiting = {claim.id for claim, _ in self._behind}
        return super()._room(lane, [claim for claim in busy if claim.id not in waiting])

    def _begin(self, claim: ClaimedAttempt) -> None:
        kinds = self._plan.of_webhook(*claim.what.split(" "))
        if "reorder" in kinds:
            self._behind.append((claim, time.monotonic()))
            return
        passed, self._behind = self._behind, []
        self._pool.submit(self._attempt_before, claim, [one for one, _ in passed])

    def _attempt_before(self, claim: ClaimedAttempt, passed: Sequence[ClaimedAttempt]) -> None:
        """Make an attempt, and only when it has ended those that it passes: side by side they might arrive first."""
        self._attempt(claim)
        for one in passed:
            super()._begin(one)
