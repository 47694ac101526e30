"""The dispatcher of a world's webhooks, which applies the faults of the world.

While the clock stands still, webhooks are sent in the same order in every run. A webhook with the fault ``reorder`` is
held back until another one has been sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from finapi.app import App
from finapi.delivery.dispatcher import ClaimedAttempt, Dispatcher, EndedAttempt
from finapi.store.db import Transaction
from finapi.testing.faults import FaultPlan

UNLIMITED = 1_000_000  # A number of attempts in progress that is never reached.
POLL_SECONDS = 0.5  # Interval at which the deadline is checked while attempts are in progress.


class WorldDispatcher(Dispatcher):
    """A dispatcher that applies the faults of a world.

    With ``one_by_one`` webhooks are sent one after the other in the order in which they were queued, so that they
    arrive in the same order in every run.
    """

    def __init__(self, app: App, wake: Callable[[], None], fault_plan: FaultPlan, *, one_by_one: bool) -> None:
        super().__init__(app, wake)
        self._fault_plan = fault_plan
        self._one_by_one = one_by_one
        # Attempts that are held back, each with the time (``monotonic``) since when.
        self._reordered: list[tuple[ClaimedAttempt, float]] = []
        if one_by_one:
            self._max_running = UNLIMITED
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="finapi-webhook")

    def flush(self, max_wait_seconds: float = 0.0) -> float | None:
        """Send the reordered webhooks that have been held back for at least ``max_wait_seconds``.

        Return the seconds until the next one has to be sent, or None if there is none.
        """
        now = time.monotonic()
        while self._reordered:
            seconds_left = self._reordered[0][1] + max_wait_seconds - now
            if seconds_left > 0:
                return seconds_left
            super()._submit(self._reordered.pop(0)[0])
        return None

    def run_until_idle(self, seconds: float) -> bool:
        """Run steps until no attempt is due or in progress. Return False if that takes longer than ``seconds``.

        When only reordered webhooks are left, no other webhook can come before them, and they are sent too.
        """
        deadline = time.monotonic() + seconds
        while not super().run_until_idle(0.0):
            if seconds and len(self._running_claims) == len(self._reordered):
                self.flush()
            with self._change:
                seconds_left = deadline - time.monotonic()
                if seconds_left <= 0:
                    return False
                self._change.wait_for(lambda: bool(self._ended_attempts), min(seconds_left, POLL_SECONDS))
        return True

    def _claim_due(self, tx: Transaction, now: datetime, ended: list[EndedAttempt]) -> list[ClaimedAttempt]:
        return sorted(super()._claim_due(tx, now, ended), key=lambda claim: claim.id)

    def _count_free_slots(self, lane: str, busy: list[ClaimedAttempt]) -> int:
        if self._one_by_one:
            return UNLIMITED
        reordered_ids = {claim.id for claim, _ in self._reordered}
        return super()._count_free_slots(lane, [claim for claim in busy if claim.id not in reordered_ids])

    def _submit(self, claim: ClaimedAttempt) -> None:
        event_type, delivery_id = claim.description.split(" ")
        if "reorder" in self._fault_plan.match_webhook(event_type, delivery_id):
            self._reordered.append((claim, time.monotonic()))
            return
        followers = [reordered for reordered, _ in self._reordered]
        self._reordered = []
        self._pool.submit(self._attempt_in_order, claim, followers)

    def _attempt_in_order(self, claim: ClaimedAttempt, followers: Sequence[ClaimedAttempt]) -> None:
        """Make an attempt, then begin its followers. If they were sent in parallel, they might arrive first."""
        self._send(claim)
        for follower in followers:
            super()._submit(follower)
