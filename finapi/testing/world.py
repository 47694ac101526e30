"""A world: a database over the shared data, with a clock, limits, mails, faults and a journal of its own.

What would happen by itself in a running service happens here when time passes: :meth:`World.advance` goes from one
thing that is due to the next, and answers when all of it is over.
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
from finapi.client.signatures import verify_webhook
from finapi.core.clock import MovableClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, invalid_param
from finapi.core.lockout import Lockouts
from finapi.delivery import events, webhooks
from finapi.httpd.response import http_date
from finapi.net import letters, mail
from finapi.net.letters import MailError
from finapi.net.outbound import Outbound, OutboundRequest, Reply
from finapi.store.layered import LayeredDatabase
from finapi.testing import base
from finapi.testing.base import STARTED, Base, FixtureAccount, RandomStream
from finapi.testing.bounded import BoundedLog
from finapi.testing.faults import FaultPlan
from finapi.testing.rounds import Rounds
from finapi.testing.shared_lock import SharedLock
from finapi.web.wsgi import WsgiApp

# What time brings about is loaded when time passes, which it does in no start.
if TYPE_CHECKING:
    from email.message import EmailMessage

    from finapi.market.documents.outcomes import Outcome
    from finapi.testing.sending import WorldDispatcher

KEPT = 1_000  # calls of the journal
MESSAGES = 10_000  # of all inboxes
KEPT_BYTES = 16 << 20  # of all of them
ENTRY_BYTES = 1_000  # that one takes beside its texts
NAME_BYTES, VALUE_BYTES = 150, 60  # and each header or name of a query, and each value of one
MAILS = 1_000
SNAPSHOTS = 100  # of a world at once
STOPS = 10_000  # of one advance, at most
EXPIRED = 10  # things of a kind that an advance lists one by one, between two other happenings
FURTHEST = timedelta(days=366 * 5)  # of one advance
LAST = datetime(2100, 1, 1, tzinfo=UTC)  # that the clock may show
DELIVERY_SECONDS = 60.0  # of real time, that deliveries under way are waited for
BEHIND_SECONDS = 2.0  # of real time that a webhook waits for one that is to pass it, while time runs
BOUNCES = "+bounce"  # at the end of the part before the @: mail to it fails


class WorldGone(ApiError):
    """A world was deleted while something was still to be done in it."""

    def __init__(self) -> None:
        super().__init__("CONFLICT", "This world was deleted.")


class Mailbox(mail.Memory):
    """The mails of a world, which go to ``also`` too; those to addresses that bounce fail."""

    def __init__(self, also: mail.Transport | None = None) -> None:
        super().__init__(MAILS)
        self._also = also

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Keep the message; a permanent MailError for an address that bounces."""
        if str(message["To"]).partition("@")[0].endswith(BOUNCES):
            raise MailError("550 no such mailbox", permanent=True)
        super().send(message, seconds)
        if self._also is not None:
            self._also.send(message, seconds)

    def put(self, messages: list[EmailMessage]) -> None:
        """Hold these messages and no others."""
        self.clear()
        for message in messages:
            super().send(message, 0.0)


def size_of(name: str, query: Mapping[str, list[str]], headers: Mapping[str, str], body: str) -> int:
    """About what a call or a message takes that is kept."""
    size = ENTRY_BYTES + len(name) + len(body)
    size += sum(NAME_BYTES + len(one) + len(text) for one, text in headers.items())
    return size + sum(NAME_BYTES + sum(VALUE_BYTES + len(text) for text in texts) for texts in query.values())


class FaultyOutbound(Outbound):
    """Webhooks as a world's faults send them: some twice. ``deliver`` answers what needs no connection: an inbox."""

    plan: FaultPlan
    deliver: Callable[[OutboundRequest], Reply | None]

    def send(self, request: OutboundRequest) -> Reply:
        """The reply to the request, the last of several."""
        reply = self._send(request)
        if self.plan.is_doubled(request.headers.get("webhook-id", "")):
            reply = self._send(request)
        return reply

    def _send(self, request: OutboundRequest) -> Reply:
        return self.deliver(request) or super().send(request)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a world held at a moment beside its database."""

    mark: int
    told: tuple[int, int]  # events, and the epoch
    clock: tuple[bool, datetime]
    seed: int
    draw_counts: dict[int, int]  # by seed
    filed_digest: bytes
    mails: list[EmailMessage]
    journal: list[tuple[dict[str, Any], int]]
    inbox: list[tuple[tuple[str, dict[str, Any]], int]]
    faults: Any
    limits: dict[str, Any]
    accounts: dict[str, FixtureAccount]


class WorldHistory(NamedTuple):
    """What a world that is no more leaves to one that is made again under its name."""

    snapshots_taken: int = 0
    epoch: int = 0  # to begin with; 0 where no world of the name told an event


@dataclass(eq=False)
class World:
    """A finapi of its own; ``wsgi`` answers its calls at ``url``."""

    name: str
    url: str
    wsgi: WsgiApp
    clock: MovableClock
    mailbox: Mailbox
    accounts: dict[str, FixtureAccount]
    seed: int
    faults: FaultPlan
    journal: BoundedLog[dict[str, Any]] = field(default_factory=lambda: BoundedLog(KEPT, KEPT_BYTES))
    # The messages of all inboxes, each with the name of its own.
    inbox: BoundedLog[tuple[str, dict[str, Any]]] = field(default_factory=lambda: BoundedLog(MESSAGES, KEPT_BYTES))
    replayed: Counter[Any] = field(default_factory=Counter)  # how often a recorded call was answered
    snapshots_taken: int = 0  # under its name: that of a snapshot is not given out again
    # Told when something may be due, which a request does not wait for.
    wake: Callable[[World], None] = lambda world: None
    deliver: Callable[[World, OutboundRequest], Reply | None] = lambda world, request: None

    def __post_init__(self) -> None:
        self._settling = threading.RLock()
        self._mailing = threading.Lock()
        self._calls = SharedLock()
        self.rounds = Rounds(self.wsgi)
        self._snapshots: dict[str, Snapshot] = {}
        self._dispatcher: WorldDispatcher | None = None
        self.closed, self.used = False, time.monotonic()  # last, of real time
        self._begun: Snapshot | None = None
        self._epoch = 0  # that it was to begin with
        self._streams: dict[int, RandomStream] = {}  # by seed
        self._filed_digest = b""
        self._ingesting = threading.Lock()
        self.draw_from(self.seed)
        self._told: list[dict[str, Any]] = []

    @property
    def app(self) -> App:
        """The state of its service."""
        return self.wsgi.app

    @property
    def database(self) -> LayeredDatabase:
        """Its database."""
        assert isinstance(self.app.db, LayeredDatabase)
        return self.app.db

    def begin(self, history: WorldHistory | None = None) -> None:
        """Take what it holds now, and what the last world of its name left, for what :meth:`reset` goes back to."""
        if history is not None:
            self.snapshots_taken, self._epoch = history
            if history.epoch:
                with self.app.accounts.write() as tx:
                    events.begin_epoch(tx, history.epoch, self.clock.now())
        self.app.accounts.listen(webhooks.TOPIC, lambda: self.wake(self))
        self.wsgi.app = replace(self.app, outbound=self._outbound())
        with self._held():
            self._begun = self._taken()

    def close(self) -> bool:
        """End it, once the calls under way are over; its database stays open. Whether it was not ended before."""
        with self._settling:
            if self.closed:
                return False
            self._stop_sending()
            with self._calls.alone():
                self.closed = True
            self.app.outbound.close()
            return True

    def history(self) -> WorldHistory:
        """What it leaves, once it is closed."""
        told, epoch = self._journal()
        assert self._begun is not None
        return WorldHistory(self.snapshots_taken, self._epoch if (told, epoch) == self._begun.told else epoch + 1)

    @contextmanager
    def called(self) -> Iterator[None]:
        """A call is under way, which no reset, restore or end of the world comes into; WorldGone once it ended."""
        with self._calls.shared():
            if self.closed:
                raise WorldGone
            self.used = time.monotonic()
            yield

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Nobody else changes the world, or closes it; WorldGone once it was: its database may be another's by then."""
        with self._settling:
            if self.closed:
                raise WorldGone
            yield

    # ---- state

    def reset(self) -> None:
        """Be as at the beginning: accounts, limits, clock, mails, faults, journal."""
        assert self._begun is not None
        with self._held():
            self._snapshots.clear()
            self._put(self._begun)

    def snapshot(self) -> str:
        """The name of what the world holds now, for :meth:`restore`; CONFLICT when it has as many as it may have."""
        with self._held():
            if len(self._snapshots) >= SNAPSHOTS:
                raise ApiError(
                    "CONFLICT",
                    f"At most {SNAPSHOTS} snapshots of a world; a reset removes all, a restore those taken after it.",
                    details={"limit": SNAPSHOTS},
                )
            self.snapshots_taken += 1
            name = f"snap_{self.snapshots_taken}"
            with self._calls.alone():
                self._snapshots[name] = self._taken()
            return name

    def restore(self, name: str) -> None:
        """Be as a snapshot was; those taken after it are gone."""
        with self._held():
            found = self._snapshots.get(name)
            if found is None:
                raise invalid_param("snapshot", "Snapshot not found.", allowed=list(self._snapshots))
            self._put(found)
            self._snapshots = {name: one for name, one in self._snapshots.items() if one.mark <= found.mark}

    def _taken(self) -> Snapshot:
        billing.run_settlement_step(self.app)
        return Snapshot(
            self.database.mark(),
            self._journal(),
            self.clock.state(),
            self.seed,
            {seed: stream.draw_count for seed, stream in self._streams.items()},
            self._filed_digest,
            self.mailbox.messages(),
            self.journal.state(),
            self.inbox.state(),
            self.faults.state(),
            {zone: limiter.state() for zone, limiter in self.app.limiters.items()},
            dict(self.accounts),
        )

    def _put(self, kept: Snapshot) -> None:
        self._stop_sending()
        with self._calls.alone(), self._mailing:
            # The debits of calls that were answered would be closed in rows that are no more.
            self.app.debits_to_settle.clear()
            self.app.pending_refunds.clear()
            told, epoch = self._journal()
            self.database.back_to(kept.mark)
            self.clock.put(kept.clock)
            if (told, epoch) != kept.told:
                # Numbers will be given out again: a reader who comes back with one of before is told so.
                with self.app.accounts.write() as tx:
                    events.begin_epoch(tx, epoch + (kept.told[0] < told), self.clock.now())
            self._streams = {seed: self._build_stream(seed, count) for seed, count in kept.draw_counts.items()}
            self.draw_from(kept.seed)
            self._filed_digest = kept.filed_digest
            self.mailbox.put(kept.mails)
            self.journal.put(kept.journal)
            self.inbox.put(kept.inbox)
            self.faults.put(kept.faults)
            self.replayed.clear()
            self.accounts = dict(kept.accounts)
            for zone, limiter in self.app.limiters.items():
                limiter.put(kept.limits[zone])
            self.app.sandbox.forgive()
            self.forget_lockouts()
            logins.recall(self.app)
            self.app.watch.forget()
            self._told, self.rounds.told = [], 0

    def _journal(self) -> tuple[int, int]:
        """How many events it ever told, and in which epoch it is."""
        with self.app.accounts.read() as tx:
            return next((row["told"], row["epoch"]) for row in tx.list_rows("journal_of_world"))

    def draw_from(self, seed: int) -> None:
        """Draw ids, keys, secrets and the shares of faults from a seed from here on.

        A seed that was used before in this world goes on where it stopped, so that no id is given out twice.
        """
        self.seed = self.faults.seed = seed
        stream = self._streams.setdefault(seed, self._build_stream(seed))
        self.wsgi.app = replace(self.app, random_bytes=stream.draw_bytes, new_uuid=stream.draw_uuid)
        self.app.db.draw_from(stream.draw_bytes)

    def _build_stream(self, seed: int, draw_count: int = 0) -> RandomStream:
        return RandomStream(seed, f"world {self.name}", draw_count)

    def ingest_document(self, name: str, document: bytes) -> list[Outcome]:
        """Store a document as if it had just been filed, and return the outcome of each part."""
        from finapi.market.intake import ingest

        with self._ingesting:
            self._draw_versions_for(name, document)
            outcomes = ingest.document(self.app, name, document, lambda tx, outcomes: None)
        self.settle_mails()
        return outcomes

    def _draw_versions_for(self, name: str, document: bytes) -> None:
        """Draw the data versions of a filed document from a stream that no other market data draw from.

        Worlds share cached answers by data version. The stream follows from every document filed in this world, in
        order, and from the times when they were filed.
        """
        now = iso(self.clock.now())
        digest = hashlib.sha256(b"%b\0%b\0%b\0%b" % (self._filed_digest, now.encode(), name.encode(), document))
        self._filed_digest = digest.digest()
        stream = RandomStream(self.seed, f"documents of {self.name} {digest.hexdigest()}")
        self.app.db.draw_from(stream.draw_bytes)

    def clear_limits(self) -> None:
        """Let every caller begin anew with every limit."""
        for limiter in self.app.limiters.values():
            limiter.put({})
        self.app.sandbox.forgive()

    def forget_lockouts(self) -> None:
        """Count no wrong password of before."""
        self.wsgi.app = replace(self.app, lockouts=Lockouts(self.app.config.lockout_emails, self.app.config.hash_wait))

    def add_account(self, plan: str, state: str, email: str | None) -> FixtureAccount:
        """Make an account of this world; INVALID_PARAM for a plan, a state or an email that cannot be."""
        for name, given, allowed in (("plan", plan, base.PLANS), ("state", state, base.STATES)):
            if given not in allowed:
                raise invalid_param(name, f"Unknown {name}.", allowed=list(allowed))
        email = users.normal(email or f"{plan}-{self.app.random_bytes(4).hex()}@example.com")
        try:
            letters.address(email)
        except MailError:
            raise invalid_param("email", "email must be an email address.", expected="email") from None
        made = base.account(self.app, plan, state, email)
        return {"email": made.email, "password": base.PASSWORD, "api_key": made.api_key}

    def marks(self) -> list[bytes]:
        """The fingerprints of its API keys and sessions."""
        with self.app.accounts.read() as tx:
            return [row["fingerprint"] for row in tx.list_rows("credentials_of_world")]

    # ---- time

    def date(self) -> tuple[str, str]:
        """The header that tells its time."""
        return "Date", http_date(int(self.clock.now().timestamp()))

    def settle(self, seconds: float = DELIVERY_SECONDS) -> None:
        """Do all that is due at this moment; deliveries that are under way have so much real time to end."""
        with self._held():
            self._settle(seconds)

    def _settle(self, seconds: float = DELIVERY_SECONDS) -> None:
        from finapi.delivery import sniper

        now = self.clock.now()
        billing.run_settlement_step(self.app)
        while sniper.advance(self.app, now) == 0.0:
            pass
        self.settle_mails()
        plans.refill_due(self.app, now)
        with self.app.accounts.read() as tx:
            span = tx.find_row("outbox_span")
        if self._dispatcher is not None or (span is not None and span["soonest"] is not None):
            self._sending().settle(seconds)

    def settle_mails(self) -> None:
        """Send the mails that are due, as after a call that may have queued some.

        It waits for no :meth:`advance`: that may wait for a receiver that makes this call.
        """
        with self._mailing:
            with self.app.accounts.read_one() as tx:
                queued = tx.find_value("mail_is_queued")
            while queued and recovery.send_due(self.app) == 0.0:
                pass

    def advance(self, seconds: float) -> list[dict[str, Any]]:
        """Let time pass; what happened in it, in order."""
        if not 0 <= seconds <= FURTHEST.total_seconds():
            raise invalid_param("advance", "advance must be seconds of at most five years.", expected="seconds")
        with self._held():
            began = self.clock.now()
            if began > LAST - timedelta(seconds=seconds):
                raise invalid_param("advance", "The clock ends in 2099.", expected="seconds")
            return self._go(began, began + timedelta(seconds=seconds), work=False)

    def until_idle(self) -> list[dict[str, Any]]:
        """Let time pass until no delivery, mail or sniper window is left to wait for; what happened, in order."""
        with self._held():
            began = self.clock.now()
            return self._go(began, min(began + FURTHEST, LAST), work=True)

    def freeze(self, at: datetime | None) -> list[dict[str, Any]]:
        """Stand still, at a moment if one is given; what happened until then, in order."""
        with self._held():
            now = self.clock.now()
            if at is not None and at > now + FURTHEST:
                raise invalid_param("freeze", "freeze must be at most five years ahead.", expected="time")
            self.clock.freeze()
            if at is not None and at > now:
                return self.advance(max(0.0, (at - self.clock.now()).total_seconds()))
            self.clock.freeze(at)
            return []

    def _go(self, began: datetime, until: datetime, *, work: bool) -> list[dict[str, Any]]:
        self._settle()
        for _ in range(STOPS):
            now = self.clock.now()
            with self.app.accounts.read() as tx:
                due = tx.find_value("next_happening", now=iso(now), until=iso(until), work=work)
            if due is None:
                break
            self.clock.advance((datetime.fromisoformat(due) - now).total_seconds())
            self._settle()
        else:
            raise ApiError("UNAVAILABLE", f"More than {STOPS} events are due; advance by less.")
        if not work:
            # A clock that runs shows up to a millisecond less than it is: a lock of so many seconds is over then.
            unseen = 0.0 if self.clock.frozen else 0.001
            self.clock.advance(max(0.0, (until - self.clock.now()).total_seconds() + unseen))
            self._settle()
        return self._happened(began)

    def _happened(self, began: datetime) -> list[dict[str, Any]]:
        """What happened from a moment up to now, that moment included, and was not told before."""
        now = self.clock.now()
        with self.app.accounts.read() as tx:
            since = iso(began - timedelta(milliseconds=1))
            rows = [dict(row) for row in tx.list_rows("happenings", since=since, until=iso(now))]
        fresh = list(rows)
        for one in self._told:
            if one in fresh:
                fresh.remove(one)
        # A clock that stands shows the end of one advance at the beginning of the next.
        self._told = [row for row in rows if row["at"] == iso(now)]
        fresh = _gathered(fresh)
        fresh += self.rounds.between(began, now, fresh)
        return sorted(fresh, key=lambda row: (row["at"], row["what"]))

    def step(self) -> float | None:
        """Do what is due while nobody waits for it; in how many seconds more is, None when time stands still."""
        with suppress(WorldGone), self._held():
            self._settle(0.0)
            if self.clock.frozen:
                return None
            now = self.clock.now()
            with self.app.accounts.read() as tx:
                due = tx.find_value("next_happening", now=iso(now), until=iso(min(now + FURTHEST, LAST)), work=True)
            wait = None if due is None else (datetime.fromisoformat(due) - now).total_seconds()
            behind = None if self._dispatcher is None else self._dispatcher.flush(BEHIND_SECONDS)
            return min((one for one in (wait, behind) if one is not None), default=None)
        return None

    def receive(self, name: str, headers: dict[str, str], body: bytes) -> None:
        """Take a message into an inbox, with the verdict on its signature."""
        now = self.clock.now()
        with self.app.accounts.write() as tx:
            ids = [row["user_id"] for row in tx.list_rows("signers_of_world")]
            secrets = [one for id in ids for one in webhooks.signing_secrets(self.app, tx, id, now)]
        wrong = verify_webhook(secrets, headers, body, now.timestamp())
        text = body.decode("utf-8", "replace")
        told = {"at": iso(now), "headers": headers, "body": text, "signature": wrong or "valid"}
        self.inbox.append((name, told), size_of(name, {}, headers, text))

    def _sending(self) -> WorldDispatcher:
        if self._dispatcher is None:
            from finapi.testing.sending import WorldDispatcher

            self._dispatcher = WorldDispatcher(
                self.app, lambda: self.wake(self), self.faults, in_turn=self.clock.frozen
            )
        return self._dispatcher

    def _outbound(self) -> FaultyOutbound:
        made = FaultyOutbound(self.app.outbound.reach)
        made.plan, made.deliver = self.faults, lambda request: self.deliver(self, request)
        return made

    def _stop_sending(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.stop(0.0)
            self._dispatcher = None
            self.wsgi.app = replace(self.app, outbound=self._outbound())


def _gathered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with one in the place of many by which the same kind of thing expired while nothing else happened."""
    told: list[dict[str, Any]] = []
    for expired, run in itertools.groupby(rows, lambda row: row["what"].endswith(".expired")):
        between = list(run)
        for what, number in Counter(row["what"] for row in between).items() if expired else ():
            if number > EXPIRED:
                last = next(row for row in reversed(between) if row["what"] == what)
                detail = f"{number} {what.partition('.')[0].replace('_', ' ')}s"
                between = [row for row in between if row["what"] != what]
                between.append({**last, "subject": None, "detail": detail})
        told += between
    return told


def make(
    name: str,
    url: str,
    config: Config,
    seed: int,
    frozen: bool,
    on: Base,
    database: LayeredDatabase,
    template: WsgiApp | None,
    also: mail.Transport | None = None,
) -> World:
    """A world over the base in ``database``, whose clock stands where ``frozen``; the caller closes it.

    Answers that were worked out in the world of ``template`` serve here too, as long as the data are the same.
    """
    clock = MovableClock(STARTED if frozen else None)
    mailbox, faults = Mailbox(also), FaultPlan(seed)
    config = replace(config, public_url=url)
    secret = base.secret_of(seed)
    app = apps.in_memory(config, clock, transport=mailbox, db=database, secret=secret)
    if template is None:
        wsgi = WsgiApp(app)
    else:
        wsgi = copy.copy(template)
        shared = template.app
        wsgi.app = replace(app, answers=shared.answers, books=shared.books, screened=shared.screened)
    world = World(name, url, wsgi, clock, mailbox, dict(on.accounts), seed, faults)
    if name:
        _own_keys(world, on.accounts)
    return world


def _own_keys(world: World, accounts: Mapping[str, FixtureAccount]) -> None:
    """Give the accounts keys by which their world is known."""
    now = world.clock.now()
    with world.app.accounts.write() as tx:
        ids = {row["email"]: row["id"] for row in tx.list_rows("users_of_world")}
        for kind, one in accounts.items():
            key = users.rotated_key(tx, world.app, ids[one["email"]], now)
            world.accounts[kind] = {**one, "api_key": key}
