"""The worker that sends webhook deliveries: claims, attempts and retries, with room for every receiver.

``Dispatcher.run_step`` does all the writing, in one transaction: the outcomes of attempts that have ended, and a row
for each attempt that is about to start. Threads send the requests. After a crash, every attempt without an end is
repeated.
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

# Deliveries under way at once to a receiver (a URL of an account) that was quick the last time, and to any other.
QUICK_LANE_WIDTH, LANE_WIDTH = 4, 1

# The same to a host; of them to receivers that are not known to be quick, and to those of one account.
HOST_WIDTH, HOST_WIDTH_OTHERS, HOST_WIDTH_ACCOUNT = 8, 6, 2

DROP_STREAK = 5  # deliveries dropped in a row after which an account is told by mail, and its URL may rest

# A receiver that took longer than this is slow, in seconds. Those that were slow or failed the last time get
# half of the threads between them, and an account half of them for all that are not known to be quick.
SLOW_SECONDS = 1.0

# After this an attempt without an end has come to nothing, in seconds: far beyond the limit of any attempt.
LEASE_SECONDS = 60

MAX_RESPONSE_BYTES = 2048  # of a reply that are kept (DECISIONS 9)
MAX_HOLD_TIME = timedelta(days=30)  # how long deliveries that cannot be signed are held
HOLD_TIME = timedelta(minutes=5)  # between two looks whether an account can sign again; a new secret is noticed at once
CLEANUP_SECONDS = 3600.0  # between two looks for those that are older
MAX_DELETED_ROWS = 500  # deliveries that one pass removes, with their attempts
IDLE_SECONDS = 1.0  # between two looks at the outbox when nobody wakes it
MAX_REMEMBERED_LANES = 10_000

UNSIGNED_REASON = "held: the webhook secret was withdrawn; make a new one (POST /api/v1/webhooks/secret/rotate)"

RESTING_REASON = "not sent: the URL rests, as five deliveries in a row were dropped; redeliver sends it all the same"

State = Literal["delivered", "retry_pending", "dropped"]


def compute_next_attempt(failures: int, delays: tuple[float, ...]) -> tuple[State, float | None]:
    """The state after the nth failure in a row, and in how many seconds the next attempt is due.

    DECISIONS 9: one retry for each of ``delays`` (10, 60 and 300 s), then the event is dropped.
    """
    if failures <= len(delays):
        return "retry_pending", delays[failures - 1]
    return "dropped", None


@dataclass(frozen=True, slots=True)
class ClaimedAttempt:
    """An attempt about to be made; its row stands."""

    id: int
    number: int
    failures: int
    lane: str
    user_id: int
    what: str
    request: OutboundRequest


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """What came of an attempt. ``error`` is None when it was answered 200."""

    claim: ClaimedAttempt
    took: float  # of the machine's time
    ms: int  # by the clock that everything is told by
    status: int | None
    error: str | None
    body: str | None


class Dispatcher:
    """Sends what is due of the outbox of ``app``. ``wake`` is called when an attempt has ended."""

    def __init__(self, app: App, wake: Callable[[], None] = lambda: None) -> None:
        self._app = app
        self._wake = wake
        self._delays = app.config.webhook_retry_seconds
        self._most = app.config.webhook_threads
        # Threads come as they are needed, and stay.
        self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="finapi-webhook")
        self._ended: deque[EndedAttempt] = deque()
        self._under_way: dict[int, ClaimedAttempt] = {}  # by delivery
        self._quick: dict[str, bool] = {}  # by lane: how it was the last time
        self._change = threading.Condition()
        self._forget_at = 0.0

    def recover(self) -> int:
        """Requeue attempts that a crash or a stop cut off, before the first step. Return their number."""
        now = iso(self._app.clock.now())
        with self._app.accounts.write() as tx:
            rows = tx.list_rows("broken_off_attempts")
            for row in rows:
                tx.run("requeue_broken_off", id=row["id"], now=now)
                nothing = {"took_ms": None, "status": None, "response_body": None}
                error = "finapi stopped before the end of this attempt"
                tx.run("end_attempt", nothing, delivery=row["id"], number=row["attempts"], now=now, error=error)
        return len(rows)

    def run_step(self) -> float:
        """Record ended attempts, and claim and send due deliveries. Return the seconds until it should run again."""
        now = self._app.clock.now()
        ended = [self._ended.popleft() for _ in range(len(self._ended))]
        with self._app.accounts.read_one() as tx:
            span = tx.find_row("outbox_span")
        assert span is not None
        soonest = span["soonest"]
        # What a schedule can be put off at most.
        latest = iso(now + max(HOLD_TIME, timedelta(seconds=max(LEASE_SECONDS, *self._delays))))
        put_back = soonest is not None and span["latest"] > latest
        claims: list[ClaimedAttempt] = []
        try:
            if ended or put_back or (soonest is not None and soonest <= iso(now)):
                with self._app.accounts.write() as tx:
                    if put_back:
                        tx.run("update_late_deliveries", latest=latest)
                    for end in ended:
                        self._record(tx, end, now)
                    claims = self._claim(tx, now, ended)
        except BaseException:
            self._ended.extendleft(reversed(ended))
            raise
        with self._change:
            for end in ended:
                self._under_way.pop(end.claim.id, None)
            self._under_way.update((claim.id, claim) for claim in claims)
            self._change.notify_all()
        for claim in claims:
            self._begin(claim)
        if now.timestamp() >= self._forget_at and not self._forget(now):
            self._forget_at = now.timestamp() + CLEANUP_SECONDS
        if soonest is None:
            return IDLE_SECONDS
        return min(max((datetime.fromisoformat(soonest) - now).total_seconds(), 0.05), IDLE_SECONDS)

    def _forget(self, now: datetime) -> bool:
        """Drop some deliveries that were held for too long, and remove old ones. Return True if there may be more."""
        before = iso(now - timedelta(days=self._app.config.deliveries_kept_days))
        with self._app.accounts.write() as tx:
            numbers = (
                tx.run("drop_held_deliveries", before=iso(now - MAX_HOLD_TIME), now=iso(now), limit=MAX_DELETED_ROWS),
                tx.run("delete_old_deliveries", before=before, limit=MAX_DELETED_ROWS),
                tx.run("delete_old_receivers", before=before, limit=MAX_DELETED_ROWS),
            )
        return max(numbers) == MAX_DELETED_ROWS

    def run_until_idle(self, seconds: float) -> bool:
        """Run steps until nothing is under way or due. Return False if that takes longer than ``seconds``."""
        until = time.monotonic() + seconds
        while True:
            self.run_step()
            with self._change:
                if not self._under_way:
                    return True
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._change.wait_for(lambda: bool(self._ended), min(left, 0.5))

    def stop(self, seconds: float) -> None:
        """Give what is under way so long to end, break off the rest, record what ended, end the threads."""
        with self._change:
            self._change.wait_for(lambda: len(self._ended) >= len(self._under_way), seconds)
        self._app.outbound.close()
        self._pool.shutdown(cancel_futures=True)
        now = self._app.clock.now()
        try:
            if self._ended:
                with self._app.accounts.write() as tx:
                    for end in self._ended:
                        self._record(tx, end, now)
        except ApiError as error:
            log.warning("what was delivered last is delivered again at the next start: %s", error)
        self._ended.clear()
        self._under_way.clear()

    def _claim(self, tx: Transaction, now: datetime, ended: list[EndedAttempt]) -> list[ClaimedAttempt]:
        over = {end.claim.id for end in ended}
        busy = [claim for claim in self._under_way.values() if claim.id not in over]
        claims: list[ClaimedAttempt] = []
        # The lane that has waited longest comes first.
        for lane in sorted(tx.list_rows("due_lanes"), key=lambda row: str(row["due_at"])):
            if lane["due_at"] > iso(now) or len(busy) + len(claims) >= self._most:
                break
            name = lane["name"]
            self._rest(tx, name, now)
            room = self._room(name, [*busy, *claims])
            if room <= 0:
                continue
            # Beyond the room, because attempts that seem lost and are only slow are passed over.
            for row in tx.list_rows("due_deliveries", lane=name, now=iso(now), limit=room + QUICK_LANE_WIDTH):
                known = row["id"] in self._under_way and row["id"] not in over
                if room > 0 and not known:
                    claim = self._claimed(tx, row, now)
                    if claim is not None:
                        claims.append(claim)
                        room -= 1
        return claims

    def _rest(self, tx: Transaction, lane: str, now: datetime) -> None:
        """Drop what is due of a lane whose URL rests, if URLs may."""
        seconds = self._app.config.webhook_rest
        if not seconds or not tx.find_value(
            "receiver_rests", lane=lane, streak=DROP_STREAK, since=iso(now - timedelta(seconds=seconds))
        ):
            return
        dropped = tx.run("drop_resting_deliveries", lane=lane, now=iso(now), reason=RESTING_REASON)
        self._app.metrics.count(metrics.WEBHOOK_ATTEMPTS, "resting", by=dropped)
        if dropped:
            log.warning("%d deliveries to %s were dropped: the URL rests", dropped, webhooks.get_host(lane))

    def _room(self, lane: str, busy: list[ClaimedAttempt]) -> int:
        """How many more deliveries of a lane may be under way: receivers that are not quick leave room for others.

        So does an account: URLs and names that lead to one slow host cost nothing.
        """
        host, user, *_ = lane.split(" ")
        there = [claim for claim in busy if webhooks.get_host(claim.lane) == host]
        free = min(self._most - len(busy), HOST_WIDTH - len(there))
        mine = sum(claim.lane == lane for claim in there)
        quick = self._quick.get(lane)
        if quick:
            return min(QUICK_LANE_WIDTH - mine, free)
        half = max(self._most // 2, 1)
        others = [claim for claim in busy if not self._quick.get(claim.lane)]
        free = min(free, half - sum(claim.user_id == int(user) for claim in others))
        others = [claim for claim in others if claim in there]
        free = min(free, HOST_WIDTH_OTHERS - len(others))
        free = min(free, HOST_WIDTH_ACCOUNT - sum(claim.user_id == int(user) for claim in others))
        slow = sum(self._quick.get(claim.lane) is False for claim in busy)
        return min(LANE_WIDTH - mine, free, free if quick is None else half - slow)

    def _claimed(self, tx: Transaction, row: Row, now: datetime) -> ClaimedAttempt | None:
        """The claim on a delivery; None when its account cannot sign, and then all that it has due is held."""
        secrets = webhooks.list_signing_secrets(self._app, tx, row["user_id"], now)
        if not secrets:
            until = iso(now + HOLD_TIME)
            held = tx.run("hold_deliveries", user_id=row["user_id"], until=until, now=iso(now), reason=UNSIGNED_REASON)
            if held:
                log.error("%d deliveries of user %d are held: the webhook secret was withdrawn", held, row["user_id"])
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
        seconds = self._app.config.webhook_timeout
        request = OutboundRequest(row["url"], "POST", headers, body, seconds, MAX_RESPONSE_BYTES)
        what = f"{row['event_type']} {row['delivery_id']}"
        return ClaimedAttempt(row["id"], number, row["failures"], row["lane"], row["user_id"], what, request)

    def _begin(self, claim: ClaimedAttempt) -> None:
        self._pool.submit(self._attempt, claim)

    def _attempt(self, claim: ClaimedAttempt) -> None:
        """Make an attempt, in a thread of the pool. One that a stop broke off has no end: it is made again."""
        started, shown = time.monotonic(), self._app.clock.monotonic()
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
            log.exception("%s cannot be sent", claim.what)
            error = "cannot be sent"
        with self._change:
            took, ms = time.monotonic() - started, round((self._app.clock.monotonic() - shown) * 1000)
            self._ended.append(EndedAttempt(claim, took, ms, status, error, body))
            self._change.notify_all()
        self._wake()

    def _record(self, tx: Transaction, end: EndedAttempt, now: datetime) -> None:
        claim = end.claim
        state: State = "delivered"
        delay: float | None = None
        failures = claim.failures
        if end.error is not None:
            failures += 1
            state, delay = compute_next_attempt(failures, self._delays)
        if len(self._quick) >= MAX_REMEMBERED_LANES:
            self._quick.clear()
        self._quick[claim.lane] = end.error is None and end.took <= SLOW_SECONDS
        due_at = None if delay is None else iso(now + timedelta(seconds=delay))
        values = {"delivery": claim.id, "number": claim.number, "status": end.status, "error": end.error}
        tx.run("end_attempt", values, now=iso(now), took_ms=end.ms, response_body=end.body)
        tx.run("record_delivery", values, now=iso(now), state=state, failures=failures, due_at=due_at)
        self._app.metrics.count(metrics.WEBHOOK_ATTEMPTS, "failed" if end.error else "delivered")
        if state == "delivered":
            tx.run("delete_failing_receiver", lane=claim.lane)
        elif state == "dropped":
            self._dropped(tx, claim, now)
            log.error("%s dropped at attempt %d: %s", claim.what, claim.number, end.error)
        elif state == "retry_pending":
            log.warning("%s failed: %s; next in %g s", claim.what, end.error, delay)

    def _dropped(self, tx: Transaction, claim: ClaimedAttempt, now: datetime) -> None:
        """Count a drop of a lane's streak, and tell its account of the fifth."""
        of = {"lane": claim.lane, "user_id": claim.user_id, "now": iso(now)}
        tx.run("upsert_failing_receiver", of)
        failing = tx.find_value("mark_receiver_reported", of, streak=DROP_STREAK, day_ago=iso(now - timedelta(days=1)))
        if failing is not None:
            mail.enqueue(tx, recovery.FAILING_RECEIVER, failing, now)
