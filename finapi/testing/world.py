"""A world: a finapi with a database, clock, limits, mailbox, faults and logs of its own.

In a running service work happens by itself when its time comes: webhooks are sent, windows open and close, plans are
refilled. In a world it happens when the clock is moved: :meth:`World.advance` moves the clock from one due time to the
next, does the work that is due there, and returns a list of what happened. While the clock runs, a background thread
calls :meth:`World.run_due_step` instead.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from finapi import app as apps
from finapi.accounts import billing, logins, plans, recovery, users
from finapi.app import App
from finapi.client.signatures import find_signature_problem
from finapi.core.clock import MovableClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, invalid_param
from finapi.core.lockout import Lockouts
from finapi.delivery import events, webhooks
from finapi.httpd.response_heads import format_http_date
from finapi.net import letters, mail
from finapi.net.letters import MailError
from finapi.net.outbound import Outbound, OutboundRequest, Reply
from finapi.store.layered import LayeredDatabase
from finapi.testing import base
from finapi.testing.base import SEEDED_START, Base, FixtureAccount, RandomStream
from finapi.testing.bounded import BoundedLog
from finapi.testing.faults import Fault, FaultPlan
from finapi.testing.rounds import WatchdogRounds
from finapi.testing.shared_lock import SharedLock
from finapi.web.application import WsgiApp

# Modules for work that becomes due later. They are imported late, because they are not needed at a start.
if TYPE_CHECKING:
    from email.message import EmailMessage

    from finapi.market.documents.outcomes import Outcome
    from finapi.testing.sending import WorldDispatcher

MAX_LOGGED_CALLS = 1_000
MAX_INBOX_MESSAGES = 10_000  # Maximum number of messages in all inboxes of a world together.
MAX_LOG_BYTES = 16 << 20  # Maximum size of the call log, and of all inboxes together.
# The memory that a log entry takes in addition to its texts: for itself, for each name in it, for each query value.
ENTRY_OVERHEAD_BYTES, NAME_OVERHEAD_BYTES, VALUE_OVERHEAD_BYTES = 1_000, 150, 60
MAX_MAILS = 1_000
MAX_SNAPSHOTS = 100
MAX_STOPS = 10_000  # Maximum number of due times at which one advance of the clock stops.
MAX_EXPIRY_ROWS = 10  # Expiries of one kind that are listed separately. If there are more, one row counts them.
MAX_ADVANCE = timedelta(days=366 * 5)
CLOCK_END = datetime(2100, 1, 1, tzinfo=UTC)
DELIVERY_TIMEOUT_SECONDS = 60.0  # Real time to wait for webhooks that are being sent.
MAX_REORDER_SECONDS = 2.0  # Real time that a reordered webhook waits for another one while the clock runs.
BOUNCE_SUFFIX = "+bounce"  # A mail to an address whose local part ends with this cannot be delivered.

Happening = dict[str, Any]  # An event that an advance reports: "at", "what", "subject" and "detail".


class WorldGoneError(ApiError):
    """The world was deleted before the call began."""

    def __init__(self) -> None:
        super().__init__("CONFLICT", "This world was deleted.")


class Mailbox(mail.MemoryTransport):
    """A transport that stores the mails of a world. If there is a ``second_transport``, it sends them too."""

    def __init__(self, second_transport: mail.Transport | None = None) -> None:
        super().__init__(MAX_MAILS)
        self._second_transport = second_transport

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Store a message. Raise a permanent MailError if its address bounces."""
        if str(message["To"]).partition("@")[0].endswith(BOUNCE_SUFFIX):
            raise MailError("550 no such mailbox", permanent=True)
        super().send(message, seconds)
        if self._second_transport is not None:
            self._second_transport.send(message, seconds)

    def set_messages(self, messages: list[EmailMessage]) -> None:
        """Replace all messages by these."""
        self.clear()
        for message in messages:
            super().send(message, 0.0)


def estimate_size(name: str, query: Mapping[str, list[str]], headers: Mapping[str, str], body: str) -> int:
    """Estimate the bytes of memory that a logged call or message takes."""
    size_bytes = ENTRY_OVERHEAD_BYTES + len(name) + len(body)
    for header, text in headers.items():
        size_bytes += NAME_OVERHEAD_BYTES + len(header) + len(text)
    for texts in query.values():
        size_bytes += NAME_OVERHEAD_BYTES + sum(VALUE_OVERHEAD_BYTES + len(text) for text in texts)
    return size_bytes


class FaultyOutbound(Outbound):
    """The outgoing webhooks of a world. Some are sent twice; those to an inbox of the fixture need no connection."""

    fault_plan: FaultPlan
    # A function that delivers a request to an inbox and returns the reply, or returns None for any other URL.
    deliver: Callable[[OutboundRequest], Reply | None]

    def send(self, request: OutboundRequest) -> Reply:
        """Send a request and return the reply. If it is sent twice, return the second reply."""
        reply = self._send_once(request)
        if self.fault_plan.pop_duplicate(request.headers.get("webhook-id", "")):
            reply = self._send_once(request)
        return reply

    def _send_once(self, request: OutboundRequest) -> Reply:
        return self.deliver(request) or super().send(request)


class JournalState(NamedTuple):
    """The position of a world's event journal."""

    event_count: int  # The number of events that were ever recorded, in all feeds.
    epoch: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a world at one moment. The rows are in the database, at ``database_mark``."""

    database_mark: int
    journal: JournalState
    clock: tuple[bool, datetime]
    seed: int
    draw_counts: dict[int, int]  # The number of draws from the random stream of each seed.
    filed_digest: bytes
    mails: list[EmailMessage]
    call_log: list[tuple[dict[str, Any], int]]
    inbox_log: list[tuple[tuple[str, dict[str, Any]], int]]
    faults: tuple[int, list[Fault]]
    limits: dict[str, Any]
    accounts: dict[str, FixtureAccount]


class WorldHistory(NamedTuple):
    """The counters of a deleted world.

    The next world with the same name continues them, so that names of snapshots and epochs are not used again.
    """

    snapshot_count: int = 0
    epoch: int = 0  # The first epoch of the next world, or 0 if no world with this name sent an event.


@dataclass(eq=False)
class World:
    """A finapi with its own state. The application ``wsgi`` answers the calls to ``url``."""

    name: str
    url: str
    wsgi: WsgiApp
    clock: MovableClock
    mailbox: Mailbox
    accounts: dict[str, FixtureAccount]
    seed: int
    faults: FaultPlan
    call_log: BoundedLog[dict[str, Any]] = field(default_factory=lambda: BoundedLog(MAX_LOGGED_CALLS, MAX_LOG_BYTES))
    # Received webhooks, each with the name of its inbox.
    inbox_log: BoundedLog[tuple[str, dict[str, Any]]] = field(
        default_factory=lambda: BoundedLog(MAX_INBOX_MESSAGES, MAX_LOG_BYTES)
    )
    replay_counts: Counter[Any] = field(default_factory=Counter)  # How often each recorded call was answered.
    snapshot_count: int = 0  # The number of snapshots that were ever taken in worlds with this name.
    # A function that is called when background work of the world may be due.
    wake: Callable[[World], None] = lambda world: None
    # A function that delivers a webhook to an inbox and returns the reply, or returns None for any other URL.
    deliver: Callable[[OutboundRequest], Reply | None] = lambda request: None

    def __post_init__(self) -> None:
        # Held by one thread that moves the clock, replaces the state or closes the world.
        self._control_lock = threading.RLock()
        self._mail_lock = threading.Lock()
        self._ingest_lock = threading.Lock()
        self._calls_lock = SharedLock()
        self.rounds = WatchdogRounds(self.wsgi)
        self.closed = False
        self.used_at = time.monotonic()
        self._initial_state: Snapshot | None = None
        self._initial_epoch = 0
        self._snapshots: dict[str, Snapshot] = {}
        self._dispatcher: WorldDispatcher | None = None
        # The happenings with the current time of the clock that were already returned.
        self._returned_now: list[Happening] = []
        self._streams: dict[int, RandomStream] = {}  # The random stream of each seed.
        self._filed_digest = b""
        self.draw_from(self.seed)

    @property
    def app(self) -> App:
        """The state of its service."""
        return self.wsgi.app

    @property
    def database(self) -> LayeredDatabase:
        """Its database."""
        assert isinstance(self.app.db, LayeredDatabase)
        return self.app.db

    def start(self, history: WorldHistory | None = None) -> None:
        """Continue the counters of the last world of this name, and save the state that :meth:`reset` restores."""
        if history is not None:
            self.snapshot_count, self._initial_epoch = history
            if history.epoch:
                with self.app.accounts.write() as tx:
                    events.begin_epoch(tx, history.epoch, self.clock.now())
        self.app.accounts.listen(webhooks.TOPIC, lambda: self.wake(self))
        self.wsgi.app = replace(self.app, outbound=self._build_outbound())
        self.clear_lockouts()
        logins.restore_failures(self.app)
        self._renew_lock()
        with self._hold_control():
            self._initial_state = self._capture_state()

    def close(self) -> bool:
        """Close the world once its running calls have ended. Its database stays open.

        Return False if it was closed before.
        """
        with self._control_lock:
            if self.closed:
                return False
            self._stop_dispatcher()
            with self._calls_lock.hold_exclusive():
                self.closed = True
            outbound = self.app.outbound
            outbound.close()
            assert isinstance(outbound, FaultyOutbound)
            # Without a reference back to the world, the world is freed with its last call, and not by the next
            # collection of cyclic garbage: 200 worlds are 280 MB.
            outbound.deliver = _find_no_inbox
            return True

    def build_history(self) -> WorldHistory:
        """Return the counters that the next world with this name continues. The world must be closed."""
        assert self._initial_state is not None
        journal = self._read_journal_state()
        has_changed = journal != self._initial_state.journal
        return WorldHistory(self.snapshot_count, journal.epoch + 1 if has_changed else self._initial_epoch)

    @contextmanager
    def enter_call(self) -> Iterator[None]:
        """Run a call in the block. No reset, restore or deletion happens before it ends.

        Raise WorldGoneError if the world is closed.
        """
        with self._calls_lock.hold_shared():
            if self.closed:
                raise WorldGoneError
            self.used_at = time.monotonic()
            yield

    @contextmanager
    def _hold_control(self) -> Iterator[None]:
        """Change the world in the block, as the only thread that does.

        Raise WorldGoneError if the world is closed: its database may already belong to another world.
        """
        with self._control_lock:
            if self.closed:
                raise WorldGoneError
            yield

    # ---- state

    def reset(self) -> None:
        """Restore the state in which the world began, and remove all snapshots."""
        assert self._initial_state is not None
        with self._hold_control():
            self._snapshots.clear()
            self._restore_state(self._initial_state)
            self._renew_lock()

    def take_snapshot(self) -> str:
        """Save the state of the world and return the snapshot's name. Raise CONFLICT if there are too many."""
        with self._hold_control():
            if len(self._snapshots) >= MAX_SNAPSHOTS:
                raise ApiError(
                    "CONFLICT",
                    f"At most {MAX_SNAPSHOTS} snapshots of a world; a reset removes all, "
                    "a restore those taken after it.",
                    details={"limit": MAX_SNAPSHOTS},
                )
            self.snapshot_count += 1
            name = f"snap_{self.snapshot_count}"
            with self._calls_lock.hold_exclusive():
                self._snapshots[name] = self._capture_state()
            return name

    def restore_snapshot(self, name: str) -> None:
        """Restore the state of a snapshot, and remove the snapshots that were taken after it."""
        with self._hold_control():
            snapshot = self._snapshots.get(name)
            if snapshot is None:
                raise invalid_param("snapshot", "Snapshot not found.", allowed=list(self._snapshots))
            self._restore_state(snapshot)
            self._snapshots = {
                other_name: other
                for other_name, other in self._snapshots.items()
                if other.database_mark <= snapshot.database_mark
            }

    def _capture_state(self) -> Snapshot:
        billing.run_settlement_step(self.app)
        return Snapshot(
            database_mark=self.database.mark(),
            journal=self._read_journal_state(),
            clock=self.clock.get_state(),
            seed=self.seed,
            draw_counts={seed: stream.draw_count for seed, stream in self._streams.items()},
            filed_digest=self._filed_digest,
            mails=self.mailbox.messages(),
            call_log=self.call_log.get_state(),
            inbox_log=self.inbox_log.get_state(),
            faults=self.faults.get_state(),
            limits={zone: limiter.get_states() for zone, limiter in self.app.limiters.items()},
            accounts=dict(self.accounts),
        )

    def _restore_state(self, snapshot: Snapshot) -> None:
        self._stop_dispatcher()
        with self._calls_lock.hold_exclusive(), self._mail_lock:
            # The rows of these debits are about to be undone.
            self.app.debits_to_settle.clear()
            self.app.pending_refunds.clear()
            journal = self._read_journal_state()
            self.database.roll_back_to(snapshot.database_mark)
            self.clock.restore(snapshot.clock)
            if journal != snapshot.journal:
                # The numbers of undone events will be used again. Clients that resume after one are told of a gap.
                events_were_undone = snapshot.journal.event_count < journal.event_count
                with self.app.accounts.write() as tx:
                    events.begin_epoch(tx, journal.epoch + events_were_undone, self.clock.now())
            self._streams = {seed: self._build_stream(seed, count) for seed, count in snapshot.draw_counts.items()}
            self.draw_from(snapshot.seed)
            self._filed_digest = snapshot.filed_digest
            self.mailbox.set_messages(snapshot.mails)
            self.call_log.set_state(snapshot.call_log)
            self.inbox_log.set_state(snapshot.inbox_log)
            self.faults.set_state(snapshot.faults)
            self.replay_counts.clear()
            self.accounts = dict(snapshot.accounts)
            for zone, limiter in self.app.limiters.items():
                limiter.restore(snapshot.limits[zone])
            self._clear_cpu_allowances()
            self.app.bulk_files.forget_all_purchases()
            self.clear_lockouts()
            logins.restore_failures(self.app)
            self.app.health.reset()
            self._returned_now = []
            self.rounds.last_reported_tick = 0

    def _read_journal_state(self) -> JournalState:
        with self.app.accounts.read() as tx:
            row = tx.find_row("journal_of_world")
        assert row is not None
        return JournalState(row["event_count"], row["epoch"])

    def draw_from(self, seed: int) -> None:
        """Derive all further ids, keys, secrets and random decisions of faults from a seed.

        If the seed was used before in this world, its stream continues where it stopped, so that no id is used twice.
        """
        self.seed = self.faults.seed = seed
        stream = self._streams.setdefault(seed, self._build_stream(seed))
        self.wsgi.app = replace(self.app, random_bytes=stream.draw_bytes, new_uuid=stream.draw_uuid)
        self.app.db.set_random_source(stream.draw_bytes)

    def _build_stream(self, seed: int, draw_count: int = 0) -> RandomStream:
        return RandomStream(seed, f"world {self.name}", draw_count)

    def clear_limits(self) -> None:
        """Reset every rate limit for every caller."""
        for limiter in self.app.limiters.values():
            limiter.restore({})
        self._clear_cpu_allowances()

    def _clear_cpu_allowances(self) -> None:
        self.app.sandbox.allowance.clear()
        self.app.refunded_cpu.clear()

    def clear_lockouts(self) -> None:
        """Reset the counts of wrong passwords in memory."""
        self.wsgi.app = replace(self.app, lockouts=Lockouts(self.app.config.lockout_emails, self.app.config.hash_wait))

    def _renew_lock(self) -> None:
        """Lock the account ``locked`` from now on, if the fixture may have started hours ago."""
        if not self.clock.is_frozen:
            base.lock_login(self.app, self.accounts["locked"]["email"])

    def create_account(self, plan: str, state: str, email: str | None) -> FixtureAccount:
        """Create an account and return its credentials. Without an email the account gets a random one.

        Raise INVALID_PARAM for an unknown plan or state, or an email that is not one.
        """
        for name, text, allowed in (("plan", plan, base.PLANS), ("state", state, base.STATES)):
            if text not in allowed:
                raise invalid_param(name, f"Unknown {name}.", allowed=list(allowed))
        email = users.normalise_email(email or f"{plan}-{self.app.random_bytes(4).hex()}@example.com")
        try:
            letters.parse_address(email)
        except MailError:
            raise invalid_param("email", "email must be an email address.", expected="email") from None
        return base.create_account(self.app, plan, state, email)

    def list_fingerprints(self) -> list[bytes]:
        """Return the fingerprints of all API keys and sessions of this world."""
        with self.app.accounts.read() as tx:
            return [row["fingerprint"] for row in tx.list_rows("credentials_of_world")]

    def ingest_document(self, name: str, document: bytes) -> list[Outcome]:
        """Store a document as if it had just been filed, and return the outcome of each part."""
        from finapi.market.intake import ingest

        with self._ingest_lock:
            self._draw_versions_for(name, document)
            outcomes = ingest.ingest_document(self.app, name, document, lambda tx, outcomes: None)
        self.send_due_mails()
        return outcomes

    def _draw_versions_for(self, name: str, document: bytes) -> None:
        """Draw the data versions for a filed document from a random stream that belongs to the contents of this world.

        Worlds share cached answers by data version, so different market data must never get the same version. The
        stream is seeded by all documents filed in this world, in order, and by the times when they were filed.
        """
        now = iso(self.clock.now())
        digest = hashlib.sha256(b"%b\0%b\0%b\0%b" % (self._filed_digest, now.encode(), name.encode(), document))
        self._filed_digest = digest.digest()
        stream = RandomStream(self.seed, f"documents of {self.name} {digest.hexdigest()}")
        self.app.db.set_random_source(stream.draw_bytes)

    # ---- time

    def build_date_header(self) -> tuple[str, str]:
        """Return a Date header with the time of the world's clock."""
        return "Date", format_http_date(int(self.clock.now().timestamp()))

    def settle(self, delivery_seconds: float = DELIVERY_TIMEOUT_SECONDS) -> None:
        """Do all the work that is due now. Wait at most ``delivery_seconds`` of real time for webhooks."""
        with self._hold_control():
            self._settle(delivery_seconds)

    def _settle(self, delivery_seconds: float = DELIVERY_TIMEOUT_SECONDS) -> None:
        from finapi.delivery import sniper

        now = self.clock.now()
        billing.run_settlement_step(self.app)
        while sniper.run_window_step(self.app, now) == 0.0:
            pass
        self.send_due_mails()
        plans.run_refill_step(self.app, now)
        with self.app.accounts.read() as tx:
            outbox = tx.find_row("outbox_span")
        if self._dispatcher is not None or (outbox is not None and outbox["soonest"] is not None):
            self._get_dispatcher().run_until_idle(delivery_seconds)

    def send_due_mails(self) -> None:
        """Send the mails that are due, for example after a call that may have queued some.

        This does not take the lock of :meth:`advance`. The caller may be the receiver of a webhook, for whose reply a
        running advance waits while it has the lock.
        """
        with self._mail_lock:
            with self.app.accounts.read_one() as tx:
                is_queued = tx.find_value("mail_is_queued")
            while is_queued and recovery.run_mail_step(self.app) == 0.0:
                pass

    def advance(self, seconds: float) -> list[Happening]:
        """Let time pass, and return what happened, oldest first."""
        if not 0 <= seconds <= MAX_ADVANCE.total_seconds():
            raise invalid_param(
                "advance", "advance must be a number of seconds, at most five years.", expected="seconds"
            )
        with self._hold_control():
            start = self.clock.now()
            if start > CLOCK_END - timedelta(seconds=seconds):
                raise invalid_param("advance", "The clock ends in 2099.", expected="seconds")
            return self._advance_to(start + timedelta(seconds=seconds), stops_when_idle=False)

    def advance_until_idle(self) -> list[Happening]:
        """Let time pass until no webhook, mail or sniper window is due, and return what happened, oldest first."""
        with self._hold_control():
            return self._advance_to(min(self.clock.now() + MAX_ADVANCE, CLOCK_END), stops_when_idle=True)

    def freeze(self, moment: datetime | None) -> list[Happening]:
        """Stop the clock, at ``moment`` if there is one, and return what happened until then, oldest first."""
        with self._hold_control():
            now = self.clock.now()
            if moment is not None and moment > now + MAX_ADVANCE:
                raise invalid_param("freeze", "freeze must be at most five years ahead.", expected="time")
            self.clock.freeze()
            if moment is not None and moment > now:
                return self.advance(max(0.0, (moment - self.clock.now()).total_seconds()))
            self.clock.freeze(moment)
            return []

    def _advance_to(self, end: datetime, *, stops_when_idle: bool) -> list[Happening]:
        start = self.clock.now()
        self._settle()
        for _ in range(MAX_STOPS):
            now = self.clock.now()
            with self.app.accounts.read() as tx:
                due = tx.find_value("next_happening", now=iso(now), until=iso(end), work=stops_when_idle)
            if due is None:
                break
            self.clock.advance((datetime.fromisoformat(due) - now).total_seconds())
            self._settle()
        else:
            raise ApiError("UNAVAILABLE", f"More than {MAX_STOPS} events are due; advance by less.")
        if not stops_when_idle:
            # A running clock truncates the time to whole milliseconds. Without the millisecond that is added here, a
            # lockout of exactly ``seconds`` might not be over.
            unseen_seconds = 0.0 if self.clock.is_frozen else 0.001
            self.clock.advance(max(0.0, (end - self.clock.now()).total_seconds() + unseen_seconds))
            self._settle()
        return self._list_happenings(start)

    def _list_happenings(self, start: datetime) -> list[Happening]:
        """Return the happenings from ``start`` to now (both included) that were not returned before."""
        now = self.clock.now()
        with self.app.accounts.read() as tx:
            since = iso(start - timedelta(milliseconds=1))
            rows = [dict(row) for row in tx.list_rows("happenings", since=since, until=iso(now))]
        new_rows = list(rows)
        for row in self._returned_now:
            if row in new_rows:
                new_rows.remove(row)
        # The next advance starts at this time and will read these rows again.
        self._returned_now = [row for row in rows if row["at"] == iso(now)]
        new_rows = _merge_expiries(new_rows)
        new_rows += self.rounds.list_unreported(start, now, new_rows)
        return sorted(new_rows, key=lambda row: (row["at"], row["what"]))

    def run_due_step(self) -> float | None:
        """Do the background work that is due while the clock runs.

        Return the seconds until it should run again, or None if the clock stands still or nothing will become due.
        """
        with suppress(WorldGoneError), self._hold_control():
            self._settle(0.0)
            if self.clock.is_frozen:
                return None
            now = self.clock.now()
            end = min(now + MAX_ADVANCE, CLOCK_END)
            with self.app.accounts.read() as tx:
                due = tx.find_value("next_happening", now=iso(now), until=iso(end), work=True)
            waits = []
            if due is not None:
                waits.append((datetime.fromisoformat(due) - now).total_seconds())
            if self._dispatcher is not None:
                flush_wait = self._dispatcher.flush(MAX_REORDER_SECONDS)
                waits += [] if flush_wait is None else [flush_wait]
            return min(waits, default=None)
        return None

    # ---- webhooks

    def receive_webhook(self, inbox_name: str, headers: dict[str, str], body: bytes) -> None:
        """Store a message in an inbox, with the verdict on its signature."""
        now = self.clock.now()
        with self.app.accounts.write() as tx:
            user_ids = [row["user_id"] for row in tx.list_rows("signers_of_world")]
            secrets = [secret for id in user_ids for secret in webhooks.list_signing_secrets(self.app, tx, id, now)]
        problem = find_signature_problem(secrets, headers, body, now.timestamp())
        text = body.decode("utf-8", "replace")
        message = {"at": iso(now), "headers": headers, "body": text, "signature": problem or "valid"}
        self.inbox_log.append((inbox_name, message), estimate_size(inbox_name, {}, headers, text))

    def _get_dispatcher(self) -> WorldDispatcher:
        """Return the dispatcher of webhooks. Create it if there is none."""
        if self._dispatcher is None:
            from finapi.testing.sending import WorldDispatcher

            is_frozen = self.clock.is_frozen
            self._dispatcher = WorldDispatcher(self.app, lambda: self.wake(self), self.faults, one_by_one=is_frozen)
        return self._dispatcher

    def _build_outbound(self) -> FaultyOutbound:
        outbound = FaultyOutbound(self.app.outbound.reach)
        outbound.fault_plan = self.faults
        outbound.deliver = lambda request: self.deliver(request)
        return outbound

    def _stop_dispatcher(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.stop(0.0)
            self._dispatcher = None
            self.wsgi.app = replace(self.app, outbound=self._build_outbound())


def _find_no_inbox(request: OutboundRequest) -> Reply | None:
    """Return None: the inboxes of a closed world take no webhook."""
    return None


def _merge_expiries(rows: list[Happening]) -> list[Happening]:
    """Replace many expiries of one kind, with no other event between them, by one row that counts them."""
    merged_rows: list[Happening] = []
    for is_expiry, group in itertools.groupby(rows, lambda row: row["what"].endswith(".expired")):
        group_rows = list(group)
        counts = Counter(row["what"] for row in group_rows) if is_expiry else {}
        for kind, count in counts.items():
            if count > MAX_EXPIRY_ROWS:
                last_row = next(row for row in reversed(group_rows) if row["what"] == kind)
                detail = f"{count} {kind.partition('.')[0].replace('_', ' ')}s"
                group_rows = [row for row in group_rows if row["what"] != kind]
                group_rows.append({**last_row, "subject": None, "detail": detail})
        merged_rows += group_rows
    return merged_rows


def build_world(
    name: str,
    url: str,
    config: Config,
    seed: int,
    *,
    is_frozen: bool,
    base_file: Base,
    database: LayeredDatabase,
    template: WsgiApp | None,
    second_transport: mail.Transport | None = None,
) -> World:
    """Build a world over ``database``, a database that is open over a base. The caller starts and closes the world.

    With ``is_frozen`` its clock stands still at SEEDED_START. The world shares the cached answers of ``template``, an
    earlier world, for as long as their data are the same.
    """
    clock = MovableClock(SEEDED_START if is_frozen else None)
    mailbox, fault_plan = Mailbox(second_transport), FaultPlan(seed)
    config = replace(config, public_url=url)
    secret = base.derive_master_secret(seed)
    app = apps.create_in_memory(config, clock, transport=mailbox, db=database, secret=secret)
    if template is None:
        wsgi = WsgiApp(app)
    else:
        wsgi = copy.copy(template)
        caches = template.app
        wsgi.app = replace(
            app,
            answer_cache=caches.answer_cache,
            fact_book_cache=caches.fact_book_cache,
            screening_cache=caches.screening_cache,
        )
    world = World(name, url, wsgi, clock, mailbox, dict(base_file.accounts), seed, fault_plan)
    if name:
        _replace_keys(world, base_file.accounts)
    return world


def _replace_keys(world: World, accounts: Mapping[str, FixtureAccount]) -> None:
    """Give the accounts of a named world their own keys, so that calls can find the world by the key alone."""
    now = world.clock.now()
    with world.app.accounts.write() as tx:
        ids = {row["email"]: row["id"] for row in tx.list_rows("users_of_world")}
        for kind, account in accounts.items():
            key = users.rotate_key_in_transaction(tx, world.app, ids[account["email"]], now)
            world.accounts[kind] = {**account, "api_key": key}
