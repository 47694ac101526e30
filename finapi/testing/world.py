"""A world: a database over the shared data, with a clock, limits, mails, faults and a journal of its own.

What would happen by itself in a running service happens here when time passes: :meth:`World.advance` goes from one
thing that is due to the next, and answers when all of it is over.
"""

from __future__ import annotations

import copy
import itertools
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from finapi import app as apps
from finapi.accounts import billing, logins, plans, recovery, users
from finapi.app import App
from finapi.client.signatures import verify_webhook
from finapi.core.clock import MovableClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, invalid_param
from finapi.core.lockout import Lockouts
from finapi.core.watch import Trouble
from finapi.delivery import webhooks
from finapi.net import mail
from finapi.net.letters import MailError
from finapi.net.outbound import Outbound, OutboundRequest, Reply
from finapi.store.layered import LayeredDatabase
from finapi.testing import base
from finapi.testing.base import STARTED, Base, Draw, FixtureAccount
from finapi.testing.faults import FaultPlan
from finapi.web.wsgi import WsgiApp

# What time brings about is loaded when time passes, which it does in no start.
if TYPE_CHECKING:
    from email.message import EmailMessage

    from finapi.delivery.dispatch import Dispatcher

KEPT = 1_000  # calls of the journal, and messages of an inbox
MAILS = 1_000
INBOXES = 100
SNAPSHOTS = 100  # of a world at once
STOPS = 10_000  # of one advance, at most
FURTHEST = timedelta(days=366 * 5)  # of one advance
DELIVERY_SECONDS = 15.0  # of real time, that deliveries under way are waited for
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


class FaultyOutbound(Outbound):
    """Webhooks as a world's faults send them: twice, or in another order."""

    plan: FaultPlan
    # Answers what needs no connection: the inboxes of the fixture.
    deliver: Callable[[OutboundRequest], Reply | None]

    def send(self, request: OutboundRequest) -> Reply:
        """The reply to the request, the last of several."""
        told = re.search(rb'"event_type":"([^"]*)"', request.body)
        kinds = self.plan.of_webhook(told[1].decode() if told else "")
        if "reorder" in kinds:
            self.plan.behind_another()
        reply = self._send(request)
        if "duplicate" in kinds:
            reply = self._send(request)
        self.plan.sent()
        return reply

    def _send(self, request: OutboundRequest) -> Reply:
        return self.deliver(request) or super().send(request)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a world held at a moment beside its database."""

    mark: int
    clock: tuple[bool, datetime]
    drawn: int
    mails: list[EmailMessage]
    journal: list[dict[str, Any]]
    inboxes: dict[str, list[dict[str, Any]]]
    faults: list[Any]
    limits: dict[str, Any]
    accounts: dict[str, FixtureAccount]


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
    journal: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=KEPT))
    inboxes: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    replayed: Counter[Any] = field(default_factory=Counter)  # how often a recorded call was answered
    # Of its snapshots: whoever makes the worlds gives all of them the same, so that no name is given out twice.
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    # Told when something may be due, which a request does not wait for.
    wake: Callable[[World], None] = lambda world: None
    deliver: Callable[[World, OutboundRequest], Reply | None] = lambda world, request: None

    def __post_init__(self) -> None:
        self._settling = threading.RLock()
        self._first = threading.Lock()
        self._snapshots: dict[str, Snapshot] = {}
        self._dispatcher: Dispatcher | None = None
        self._closed = False
        self._begun: Snapshot | None = None

    @property
    def app(self) -> App:
        """The state of its service."""
        return self.wsgi.app

    @property
    def database(self) -> LayeredDatabase:
        """Its database."""
        assert isinstance(self.app.db, LayeredDatabase)
        return self.app.db

    def begin(self) -> None:
        """Take what it holds now for what :meth:`reset` goes back to."""
        self.app.accounts.listen(webhooks.TOPIC, lambda: self.wake(self))
        self.wsgi.app = replace(self.app, outbound=self._outbound())
        self._begun = self._taken()

    def close(self) -> None:
        """Stop what it has under way; its database stays open."""
        with self._settling:
            self._closed = True
            if self._dispatcher is not None:
                self._dispatcher.stop(0.0)
            self.app.outbound.close()
            self.app.watch.checks.close()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Nobody else changes the world, or closes it; WorldGone once it was: its database may be another's by then."""
        with self._settling:
            if self._closed:
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
            name = f"snap_{next(self.numbers)}"
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
        with self._held():
            billing.close_kept(self.app)
            draw = self.app.random_bytes
            assert isinstance(draw, Draw)
            return Snapshot(
                self.database.mark(),
                self.clock.state(),
                draw.number,
                self.mailbox.messages(),
                list(self.journal),
                {name: list(kept) for name, kept in self.inboxes.items()},
                self.faults.state(),
                {zone: limiter.state() for zone, limiter in self.app.limiters.items()},
                dict(self.accounts),
            )

    def _put(self, kept: Snapshot) -> None:
        with self._held():
            self._stop_sending()
            # The debits of calls that were answered would be closed in rows that are no more.
            self.app.kept_debits.clear()
            self.app.late_refunds.clear()
            self.database.back_to(kept.mark)
            self.clock.put(kept.clock)
            self.draw_from(self.seed, kept.drawn)
            self.mailbox.put(kept.mails)
            self.journal.clear()
            self.journal.extend(kept.journal)
            self.inboxes = {name: deque(held, maxlen=KEPT) for name, held in kept.inboxes.items()}
            self.faults.put(kept.faults)
            self.replayed.clear()
            self.accounts = dict(kept.accounts)
            for zone, limiter in self.app.limiters.items():
                limiter.put(kept.limits[zone])
            self.forget_lockouts()
            logins.recall(self.app)

    def draw_from(self, seed: int, number: int = 0) -> None:
        """Draw ids, keys and secrets that follow from a seed from here on."""
        self.seed = seed
        draw = Draw(seed, self.name, number)
        self.wsgi.app = replace(self.app, random_bytes=draw, new_uuid=draw.uuid)
        self.app.db.draw_from(draw)

    def clear_limits(self) -> None:
        """Let every caller begin anew with every limit."""
        for limiter in self.app.limiters.values():
            limiter.put({})

    def forget_lockouts(self) -> None:
        """Count no wrong password of before."""
        self.wsgi.app = replace(self.app, lockouts=Lockouts(self.app.config.lockout_emails, self.app.config.hash_wait))

    def add_account(self, plan: str, state: str, email: str | None) -> FixtureAccount:
        """Make an account of this world; INVALID_PARAM for a plan, a state or an email that cannot be."""
        for name, given, allowed in (("plan", plan, base.PLANS), ("state", state, base.STATES)):
            if given not in allowed:
                raise invalid_param(name, f"Unknown {name}.", allowed=list(allowed))
        email = users.normal(email or f"{plan}-{self.app.random_bytes(4).hex()}@example.com")
        made = base.account(self.app, plan, state, email)
        return {"email": made.email, "password": base.PASSWORD, "api_key": made.api_key}

    def marks(self) -> list[bytes]:
        """The fingerprints of its API keys and sessions."""
        with self.app.accounts.read() as tx:
            return [row["fingerprint"] for row in tx.all("credentials_of_world")]

    # ---- time

    def settle(self, seconds: float = DELIVERY_SECONDS) -> None:
        """Do all that is due at this moment; deliveries that are under way have so much real time to end."""
        from finapi.delivery import sniper

        with self._held():
            now = self.clock.now()
            billing.close_kept(self.app)
            while sniper.advance(self.app, now) == 0.0:
                pass
            self._send_mails()
            plans.refill_due(self.app, now)
            with self.app.accounts.read() as tx:
                span = tx.one("outbox_span")
            if self._dispatcher is not None or (span is not None and span["soonest"] is not None):
                self._sending().settle(seconds)

    def settle_mails(self) -> None:
        """Send the mails that are due, as after a call that may have queued some."""
        with suppress(WorldGone), self._held():
            self._send_mails()

    def _send_mails(self) -> None:
        while recovery.send_due(self.app) == 0.0:
            pass

    def advance(self, seconds: float) -> list[dict[str, Any]]:
        """Let time pass; what happened in it, in order."""
        if not 0 <= seconds <= FURTHEST.total_seconds():
            raise invalid_param("advance", "advance must be seconds of at most five years.", expected="seconds")
        began = self.clock.now()
        return self._go(began, began + timedelta(seconds=seconds), work=False)

    def until_idle(self) -> list[dict[str, Any]]:
        """Let time pass until no delivery, mail or sniper window is left to wait for; what happened, in order."""
        began = self.clock.now()
        return self._go(began, began + FURTHEST, work=True)

    def _go(self, began: datetime, until: datetime, *, work: bool) -> list[dict[str, Any]]:
        with self._held():
            since = began - timedelta(milliseconds=1)
            self.settle()
            for _ in range(STOPS):
                now = self.clock.now()
                with self.app.accounts.read() as tx:
                    due = tx.value("next_happening", now=iso(now), until=iso(until), work=work)
                if due is None:
                    break
                self.clock.advance((datetime.fromisoformat(due) - now).total_seconds())
                self.settle()
            else:
                raise ApiError("UNAVAILABLE", f"More than {STOPS} events are due; advance by less.")
            if not work:
                self.clock.advance(max(0.0, (until - self.clock.now()).total_seconds()))
                self.settle()
            self.check()
            with self.app.accounts.read() as tx:
                rows = tx.all("happenings", since=iso(since), until=iso(self.clock.now()))
        return [dict(row) for row in rows]

    def step(self) -> float | None:
        """Do what is due while nobody waits for it; in how many seconds more is, None when time stands still."""
        with suppress(WorldGone), self._held():
            self.settle(0.0)
            now = self.clock.now()
            with self.app.accounts.read() as tx:
                due = tx.value("next_happening", now=iso(now), until=iso(now + FURTHEST), work=True)
            if due is not None and not self.clock.frozen:
                return (datetime.fromisoformat(due) - now).total_seconds()
        return None

    def receive(self, name: str, headers: dict[str, str], body: bytes) -> None:
        """Take a message into an inbox, with the verdict on its signature."""
        now = self.clock.now()
        with self.app.accounts.write() as tx:
            ids = [row["user_id"] for row in tx.all("signers_of_world")]
            secrets = [one for id in ids for one in webhooks.signing_secrets(self.app, tx, id, now)]
        wrong = verify_webhook(secrets, headers, body, now.timestamp())
        text = body.decode("utf-8", "replace")
        told = {"at": iso(now), "headers": headers, "body": text, "signature": wrong or "valid"}
        if name not in self.inboxes and len(self.inboxes) >= INBOXES:
            raise ApiError("CONFLICT", f"At most {INBOXES} inboxes can exist at once.")
        self.inboxes.setdefault(name, deque(maxlen=KEPT)).append(told)

    def first_check(self) -> None:
        """Make the watchdog's first round, unless it was made."""
        with self._first:
            if not self.app.watch.probes:
                self.check()

    def check(self) -> None:
        """Make the watchdog's round, unless there was one in this tick."""
        from finapi.ops import probes, watchdog

        app = self.app
        if not app.watch.probes:
            own = {"main_api": lambda: self._answers("/livez"), "frontend": lambda: self._answers("/")}
            app.watch.probes.update({**own, "insider_api": lambda: probes.insiders(app), **probes.of_process(app)})
        # No round is made up for the time that passed at once, and none was missed in it.
        app.watch.ticked = None
        watchdog.step(app)

    def _answers(self, path: str) -> None:
        said: list[str] = []
        environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": path, "REMOTE_ADDR": "192.0.2.1", "QUERY_STRING": ""}
        for _ in self.wsgi(environ, lambda status, headers: said.append(status)):
            pass
        if not said[0].startswith("200"):
            raise Trouble("wrong", f"answered {said[0]}")

    def _sending(self) -> Dispatcher:
        if self._dispatcher is None:
            from finapi.delivery.dispatch import Dispatcher

            self._dispatcher = Dispatcher(self.app, lambda: self.wake(self))
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
    world.draw_from(seed)
    if name:
        _own_keys(world, on.accounts)
    return world


def _own_keys(world: World, accounts: Mapping[str, FixtureAccount]) -> None:
    """Give the accounts keys by which their world is known."""
    now = world.clock.now()
    with world.app.accounts.write() as tx:
        ids = {row["email"]: row["id"] for row in tx.all("users_of_world")}
        for kind, one in accounts.items():
            key = users.rotated_key(tx, world.app, ids[one["email"]], now)
            world.accounts[kind] = {**one, "api_key": key}
