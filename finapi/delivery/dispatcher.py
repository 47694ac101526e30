"""The worker that sends webhook deliveries and retries them. Slow receivers cannot take up all of its threads.

``Dispatcher.run_step`` does all the writing, in one transaction: the outcomes of attempts that have ended, and a row
for each attempt that is about to start. Threads send the requests. After a crash, every attempt whose outcome was not
recorded is repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from finapi import __version__
from finapi.accounts import recovery
from finapi.app import App
from finapi.core import metrics
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.net import mail
from finapi.net.outbound import OutboundError, OutboundRequest, RequestStoppedError
from finapi.store.db import Row, Transaction

log = logging.getLogger("finapi.dispatch")

# The deliveries to one URL of one account form a lane. These many may run at the same time in a lane: the first number
# if the last delivery was quick, else the second.
QUICK_LANE_WIDTH = 4
LANE_WIDTH = 1

# Deliveries to one host that may run at the same time: in total, to receivers that are not known to be quick, and to
# such receivers of one account.
HOST_WIDTH = 8
HOST_WIDTH_NOT_QUICK = 6
HOST_WIDTH_ACCOUNT = 2

# After this many dropped deliveries in a row, the account gets a mail, and further deliveries to the URL may be dropped
# without an attempt for a while (the URL "rests").
DROP_STREAK = 5

# A receiver that takes longer is slow. All receivers whose last attempt was slow or failed share half of the threads.
# All receivers of one account that are not known to be quick also get at most half of the threads.
SLOW_SECONDS = 1.0

# An attempt without an outcome counts as lost after this time, which is far longer than the timeout of an attempt.
LEASE_SECONDS = 60

MAX_RESPONSE_BYTES = 2048  # Bytes of a receiver's response that are stored (DECISIONS 9).
MAX_HOLD_TIME = timedelta(days=30)  # Deliveries that cannot be signed are dropped after this time.
# Interval between two checks if deliveries on hold can be signed again. A new secret releases them immediately.
HOLD_TIME = timedelta(minutes=5)
CLEANUP_SECONDS = 3600.0  # Interval between two deletions of old rows.
MAX_DELETED_ROWS = 500  # Rows deleted from a table in one transaction. Attempts are deleted with their delivery.
IDLE_SECONDS = 1.0  # Pause between two steps if nothing wakes the dispatcher.
MAX_REMEMBERED_LANES = 10_000

UNSIGNED_REASON = "held: the webhook secret was withdrawn; make a new one (POST /api/v1/webhooks/secret/rotate)"

RESTING_REASON = "not sent: the URL rests, as five deliveries in a row were dropped; redeliver sends it all the same"


State = Literal["delivered", "retry_pending", "dropped"]


def compute_next_attempt(failures: int, delays: tuple[float, ...]) -> tuple[State, float | None]:
    """Return the state after ``failures`` failures in a row, and the seconds until the next attempt or None.

    There is one retry for each of ``delays`` (10, 60 and 300 s), then the delivery is dropped (DECISIONS 9).
    """
    if failures <= len(delays):
        return "retry_pending", delays[failures - 1]
    return "dropped", None


@dataclass(frozen=True, slots=True)
class ClaimedAttempt:
    """An attempt that is about to start. Its row is stored."""

    id: int
    number: int
    failures: int
    lane: str
    user_id: int
    description: str
    request: OutboundRequest


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """The outcome of an attempt. ``error`` is None if the response was 200."""

    claim: ClaimedAttempt
    duration_seconds: float  # The real duration, from which it is decided if the receiver is quick.
    # The duration by the app's clock, which is stored. On a test server this clock may stand still.
    clock_duration_ms: int
    status: int | None
    error: str | None
    body: str | None


class Dispatcher:
    """Sends the due deliveries of ``app``. ``wake`` is called when an attempt has ended."""

    def __init__(self, app: App, wake: Callable[[], None] = lambda: None) -> None:
        self._app = app
        self._wake = wake
        self._delays = app.config.webhook_retry_seconds
        self._max_running = app.config.webhook_threads
        # The pool starts a thread when it is first needed.
        self._pool = ThreadPoolExecutor(self._max_running, thread_name_prefix="finapi-webhook")
        self._ended_attempts: deque[EndedAttempt] = deque()
        self._running_claims: dict[int, ClaimedAttempt] = {}  # Attempts in progress, by delivery id.
        self._is_quick_by_lane: dict[str, bool] = {}  # True for lanes whose last attempt was quick.
        self._change = threading.Condition()
        self._next_cleanup_at = 0.0

    def recover(self) -> int:
        """Requeue attempts that a crash or a stop cut off. Return their number. Call it before the first step."""
        now = iso(self._app.clock.now())
        with self._app.accounts.write() as tx:
            rows = tx.list_rows("broken_off_attempts")
            for row in rows:
                tx.run("requeue_broken_off", id=row["id"], now=now)
                no_response = {"took_ms": None, "status": None, "response_body": None}
                error = "finapi stopped before the end of this attempt"
                tx.run("end_attempt", no_response, delivery=row["id"], number=row["attempts"], now=now, error=error)
        return len(rows)

    def run_step(self) -> float:
        """Record ended attempts, and claim and send due deliveries. Return the seconds until it should run again."""
        now = self._app.clock.now()
        ended_attempts = [self._ended_attempts.popleft() for _ in range(len(self._ended_attempts))]
        with self._app.accounts.read_one() as tx:
            due_times = tx.find_row("outbox_span")
        assert due_times is not None
        soonest = due_times["soonest"]
        # No delivery can be scheduled for later than this. A later time means that the clock was set back.
        latest_due_at = iso(now + max(HOLD_TIME, timedelta(seconds=max(LEASE_SECONDS, *self._delays))))
        is_clock_set_back = soonest is not None and due_times["latest"] > latest_due_at
        claims: list[ClaimedAttempt] = []
        try:
            if ended_attempts or is_clock_set_back or (soonest is not None and soonest <= iso(now)):
                with self._app.accounts.write() as tx:
                    if is_clock_set_back:
                        tx.run("update_late_deliveries", latest=latest_due_at)
                    for attempt in ended_attempts:
                        self._record_end(tx, attempt, now)
                    claims = self._claim_due(tx, now, ended_attempts)
        except BaseException:
            self._ended_attempts.extendleft(reversed(ended_attempts))
            raise
        with self._change:
            for attempt in ended_attempts:
                self._running_claims.pop(attempt.claim.id, None)
            self._running_claims.update((claim.id, claim) for claim in claims)
            self._change.notify_all()
        for claim in claims:
            self._submit(claim)
        if now.timestamp() >= self._next_cleanup_at and not self._delete_old_rows(now):
            self._next_cleanup_at = now.timestamp() + CLEANUP_SECONDS
        if soonest is None:
            return IDLE_SECONDS
        return min(max((datetime.fromisoformat(soonest) - now).total_seconds(), 0.05), IDLE_SECONDS)

    def _delete_old_rows(self, now: datetime) -> bool:
        """Drop deliveries that were held for too long, and delete old ones. Return True if some may be left."""
        before = iso(now - timedelta(days=self._app.config.deliveries_kept_days))
        with self._app.accounts.write() as tx:
            counts = (
                tx.run("drop_held_deliveries", before=iso(now - MAX_HOLD_TIME), now=iso(now), limit=MAX_DELETED_ROWS),
                tx.run("delete_old_deliveries", before=before, limit=MAX_DELETED_ROWS),
                tx.run("delete_old_receivers", before=before, limit=MAX_DELETED_ROWS),
            )
        return max(counts) == MAX_DELETED_ROWS

    def run_until_idle(self, seconds: float) -> bool:
        """Run steps until nothing is in progress or due. Return False if that takes longer than ``seconds``."""
        deadline = time.monotonic() + seconds
        while True:
            self.run_step()
            with self._change:
                if not self._running_claims:
                    return True
                remaining_seconds = deadline - time.monotonic()
                if remaining_seconds <= 0:
                    return False
                self._change.wait_for(lambda: bool(self._ended_attempts), min(remaining_seconds, 0.5))

    def stop(self, seconds: float) -> None:
        """Wait ``seconds`` for running attempts and interrupt the rest. Record ended attempts and end the threads."""
        with self._change:
            self._change.wait_for(lambda: len(self._ended_attempts) >= len(self._running_claims), seconds)
        self._app.outbound.close()
        self._pool.shutdown(cancel_futures=True)
        now = self._app.clock.now()
        try:
            if self._ended_attempts:
                with self._app.accounts.write() as tx:
                    for attempt in self._ended_attempts:
                        self._record_end(tx, attempt, now)
        except ApiError as error:
            log.warning("the last attempts could not be recorded and will be repeated at the next start: %s", error)
        self._ended_attempts.clear()
        self._running_claims.clear()

    def _claim_due(self, tx: Transaction, now: datetime, ended_attempts: list[EndedAttempt]) -> list[ClaimedAttempt]:
        ended_ids = {attempt.claim.id for attempt in ended_attempts}
        busy = [claim for claim in self._running_claims.values() if claim.id not in ended_ids]
        claims: list[ClaimedAttempt] = []
        # The lane that has waited longest comes first.
        for lane in sorted(tx.list_rows("due_lanes"), key=lambda row: str(row["due_at"])):
            if lane["due_at"] > iso(now) or len(busy) + len(claims) >= self._max_running:
                break
            lane_name = lane["name"]
            self._drop_if_resting(tx, lane_name, now)
            room = self._count_free_slots(lane_name, [*busy, *claims])
            if room <= 0:
                continue
            # More rows are read than there are slots, because attempts that seem lost but still run are skipped.
            for row in tx.list_rows("due_deliveries", lane=lane_name, now=iso(now), limit=room + QUICK_LANE_WIDTH):
                is_running = row["id"] in self._running_claims and row["id"] not in ended_ids
                if room > 0 and not is_running:
                    claim = self._claim_delivery(tx, row, now)
                    if claim is not None:
                        claims.append(claim)
                        room -= 1
        return claims

    def _drop_if_resting(self, tx: Transaction, lane: str, now: datetime) -> None:
        """Drop the due deliveries of a lane if its URL rests. The operator can turn resting off."""
        seconds = self._app.config.webhook_rest
        if not seconds or not tx.find_value(
            "receiver_rests", lane=lane, streak=DROP_STREAK, since=iso(now - timedelta(seconds=seconds))
        ):
            return
        dropped = tx.run("drop_resting_deliveries", lane=lane, now=iso(now), reason=RESTING_REASON)
        self._app.metrics.count(metrics.WEBHOOK_ATTEMPTS, "resting", by=dropped)
        if dropped:
            log.warning(
                "dropped %d deliveries to %s without an attempt: the last ones all failed",
                dropped,
                webhooks.get_host(lane),
            )

    def _count_free_slots(self, lane: str, busy: list[ClaimedAttempt]) -> int:
        """Return the number of deliveries of a lane that may start now.

        Receivers that are not known to be quick must leave threads for others. The limits also apply per account:
        otherwise an attacker could occupy all threads with many URLs and host names that lead to one slow host.
        """
        host, user, *_ = lane.split(" ")
        user_id = int(user)
        claims_to_host = [claim for claim in busy if webhooks.get_host(claim.lane) == host]
        lane_count = sum(claim.lane == lane for claim in claims_to_host)
        limits = [self._max_running - len(busy), HOST_WIDTH - len(claims_to_host)]
        is_quick = self._is_quick_by_lane.get(lane)
        if is_quick:
            return min(QUICK_LANE_WIDTH - lane_count, *limits)
        half = max(self._max_running // 2, 1)
        other_claims = [claim for claim in busy if not self._is_quick_by_lane.get(claim.lane)]
        other_claims_to_host = [claim for claim in other_claims if claim in claims_to_host]
        limits.append(half - sum(claim.user_id == user_id for claim in other_claims))
        limits.append(HOST_WIDTH_NOT_QUICK - len(other_claims_to_host))
        limits.append(HOST_WIDTH_ACCOUNT - sum(claim.user_id == user_id for claim in other_claims_to_host))
        if is_quick is False:
            limits.append(half - sum(self._is_quick_by_lane.get(claim.lane) is False for claim in busy))
        return min(LANE_WIDTH - lane_count, *limits)

    def _claim_delivery(self, tx: Transaction, row: Row, now: datetime) -> ClaimedAttempt | None:
        """Claim a delivery and record the start of its attempt.

        If the account's webhook secret was refused, so that nothing can be signed, put its due deliveries on hold and
        return None.
        """
        secrets = webhooks.list_signing_secrets(self._app, tx, row["user_id"], now)
        if not secrets:
            until = iso(now + HOLD_TIME)
            held_count = tx.run(
                "hold_deliveries", user_id=row["user_id"], until=until, now=iso(now), reason=UNSIGNED_REASON
            )
            if held_count:
                log.error(
                    "put %d deliveries of user %d on hold: the webhook secret is refused", held_count, row["user_id"]
                )
            return None
        number = row["attempts"] + 1
        until = iso(now + timedelta(seconds=LEASE_SECONDS))
        tx.run("claim_delivery", id=row["id"], attempts=row["attempts"], until=until)
        tx.run("insert_attempt", delivery=row["id"], number=number, now=iso(now))
        body = row["body"].encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"finapi/{__version__}",
            **webhooks.build_headers(row["delivery_id"], body, secrets, now),
        }
        timeout_seconds = self._app.config.webhook_timeout
        request = OutboundRequest(row["url"], "POST", headers, body, timeout_seconds, MAX_RESPONSE_BYTES)
        description = f"{row['event_type']} {row['delivery_id']}"
        return ClaimedAttempt(row["id"], number, row["failures"], row["lane"], row["user_id"], description, request)

    def _submit(self, claim: ClaimedAttempt) -> None:
        self._pool.submit(self._send, claim)

    def _send(self, claim: ClaimedAttempt) -> None:
        """Send a delivery. This runs in a thread of the pool. An interrupted attempt has no outcome and is repeated."""
        started = time.monotonic()
        clock_started = self._app.clock.monotonic()
        status: int | None = None
        body: str | None = None
        try:
            reply = self._app.outbound.send(claim.request)
            status, body = reply.status, reply.body.decode("utf-8", "replace")
            error = None if status == 200 else f"answered {status}"
        except RequestStoppedError:
            return
        except OutboundError as failure:
            error = failure.reason
        except Exception:
            log.exception("%s cannot be sent", claim.description)
            error = "cannot be sent"
        with self._change:
            duration_seconds = time.monotonic() - started
            clock_duration_ms = round((self._app.clock.monotonic() - clock_started) * 1000)
            self._ended_attempts.append(EndedAttempt(claim, duration_seconds, clock_duration_ms, status, error, body))
            self._change.notify_all()
        self._wake()

    def _record_end(self, tx: Transaction, attempt: EndedAttempt, now: datetime) -> None:
        claim = attempt.claim
        state: State = "delivered"
        delay: float | None = None
        failures = claim.failures
        if attempt.error is not None:
            failures += 1
            state, delay = compute_next_attempt(failures, self._delays)
        if len(self._is_quick_by_lane) >= MAX_REMEMBERED_LANES:
            self._is_quick_by_lane.clear()
        self._is_quick_by_lane[claim.lane] = attempt.error is None and attempt.duration_seconds <= SLOW_SECONDS
        due_at = None if delay is None else iso(now + timedelta(seconds=delay))
        values = {"delivery": claim.id, "number": claim.number, "status": attempt.status, "error": attempt.error}
        tx.run("end_attempt", values, now=iso(now), took_ms=attempt.clock_duration_ms, response_body=attempt.body)
        tx.run("record_delivery", values, now=iso(now), state=state, failures=failures, due_at=due_at)
        self._app.metrics.count(metrics.WEBHOOK_ATTEMPTS, "failed" if attempt.error else "delivered")
        if state == "delivered":
            tx.run("delete_failing_receiver", lane=claim.lane)
        elif state == "dropped":
            self._count_drop(tx, claim, now)
            log.error("%s dropped at attempt %d: %s", claim.description, claim.number, attempt.error)
        elif state == "retry_pending":
            log.warning("%s failed: %s; next in %g s", claim.description, attempt.error, delay)

    def _count_drop(self, tx: Transaction, claim: ClaimedAttempt, now: datetime) -> None:
        """Count the deliveries of a lane that were dropped in a row. Mail the account after DROP_STREAK of them."""
        receiver = {"lane": claim.lane, "user_id": claim.user_id, "now": iso(now)}
        tx.run("upsert_failing_receiver", receiver)
        notified_user_id = tx.find_value(
            "mark_receiver_reported", receiver, streak=DROP_STREAK, day_ago=iso(now - timedelta(days=1))
        )
        if notified_user_id is not None:
            mail.enqueue(tx, recovery.FAILING_RECEIVER, notified_user_id, now)
