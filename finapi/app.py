"""What a request may touch, in one frozen record that the server makes and everything else receives."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from finapi import addresses, mail
from finapi.cache import Cache, Sparing
from finapi.clock import Clock, SystemClock
from finapi.config import Config, master_secrets
from finapi.db import Database
from finapi.dial import Resolver, system_resolver
from finapi.limits import Limit, Limiter, Pace
from finapi.lockout import Lockouts
from finapi.mail import Post, Transport
from finapi.metrics import Metrics
from finapi.outbound import Outbound, Reach
from finapi.passwords import Hasher
from finapi.sandbox import Budget, Sandbox
from finapi.watch import Checks, Watch

STATUS_SECONDS = 30.0  # that /status is kept (SPEC "Limits": status cache)

# What the caches hold at most: some 40 MB of facts (a large company has 11,000 that series use), and the answers.
BOOK_FACTS = 120_000
ANSWER_BYTES = 500  # that a kept answer takes beside its body
SCREENED = 20_000
CALLERS = 10_000


def random_uuid() -> str:
    """A fresh UUIDv4 in its 36 characters."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class App:
    """The parts of a running finapi. ``kept_debits`` waits to be written by ``billing.close_kept``."""

    config: Config
    clock: Clock
    db: Database
    secrets: Sequence[bytes]
    new_uuid: Callable[[], str]
    random_bytes: Callable[[int], bytes]
    limiters: Mapping[str, Limiter]
    lockouts: Lockouts
    hasher: Hasher
    post: Post
    # Callers that wait for a mail server: never so many that no thread is left for anybody else.
    waiting_for_mail: threading.Semaphore
    # Requests to receivers that customers name.
    outbound: Outbound
    watch: Watch
    # Answers to questions that were asked before, by their bytes.
    answers: Cache
    # Queries of strangers.
    sandbox: Sandbox
    # How much is held, by kind.
    held: Sparing[Mapping[str, Any]]
    metrics: Metrics = field(default_factory=Metrics)
    # Requests to EDGAR, by the server's own poller and by a poll that is handed to it.
    edgar: Pace = field(default_factory=Pace)
    # Bodies that are the same for everybody as long as the process runs, by name.
    ready: dict[str, bytes] = field(default_factory=dict)
    kept_debits: deque[int] = field(default_factory=deque)
    # Who calls with which key, by the key's fingerprint, until anything but the ledger is written.
    callers: Cache = field(default_factory=lambda: Cache(CALLERS, lambda caller: 1 if caller else CALLERS))
    # Facts of companies arranged for series, by how many they are.
    books: Cache = field(default_factory=lambda: Cache(BOOK_FACTS, len))
    # The latest year of each company, by companies.
    screened: Cache = field(default_factory=lambda: Cache(SCREENED, lambda _: 1))


def in_memory(
    config: Config,
    clock: Clock,
    *,
    new_uuid: Callable[[], str] = random_uuid,
    transport: Transport | None = None,
    resolve: Resolver = system_resolver,
) -> App:
    """An App over a database in memory with a fixed master secret: for tests."""
    outbound = Outbound(_reach(config), resolve=resolve)
    database = Database(None)
    return _app(config, clock, database, [b"\x00" * 32], new_uuid, transport or mail.Memory(), outbound)


def on_disk(config: Config, clock: Clock | None = None) -> App:
    """An App over ``finapi.db`` in the data directory.

    The caller holds the directory (``datadir.locked``), which makes it when it is not there.
    """
    path = config.data_dir / "finapi.db"
    # Made here so that it is the owner's alone; SQLite gives its WAL the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    db = Database(path, synchronous=config.synchronous)
    where = config.smtp_url if config.mail_directory is None else f"dir:{config.mail_directory}"
    clock = clock or SystemClock()
    transport = mail.transport(where, clock)
    return _app(config, clock, db, master_secrets(config), random_uuid, transport, Outbound(_reach(config)))


def _reach(config: Config) -> Reach:
    return Reach(addresses.networks(config.webhook_allow))


def _app(
    config: Config,
    clock: Clock,
    db: Database,
    secrets: Sequence[bytes],
    new_uuid: Callable[[], str],
    transport: Transport,
    outbound: Outbound,
) -> App:
    return App(
        config=config,
        clock=clock,
        db=db,
        secrets=secrets,
        new_uuid=new_uuid,
        random_bytes=os.urandom,
        limiters=limiters(config),
        lockouts=Lockouts(config.lockout_emails, config.hash_wait),
        hasher=Hasher(
            config.password_profile, config.hashes_at_once, config.hashes_waiting, config.hash_wait
        ),
        post=Post(transport, config.mail_from, config.mail_timeout),
        waiting_for_mail=threading.Semaphore(max(1, config.threads // 2)),
        outbound=outbound,
        watch=Watch(
            # A round that ends before the next one is due.
            Checks(clock.monotonic, min(config.watchdog_deadline, config.watchdog_interval)),
            STATUS_SECONDS,
        ),
        answers=Cache(config.answer_bytes, lambda response: len(response.body) + ANSWER_BYTES),
        sandbox=Sandbox(
            db,
            Budget(config.sql_seconds, config.sql_rows, config.sql_bytes, config.sql_at_once),
            time.monotonic,
        ),
        held=Sparing(time.monotonic),
    )


def limiters(config: Config) -> dict[str, Limiter]:
    """One limiter for each zone of CONTRACT 5 that has routes; buckets hold what may pass at once less one."""
    hour = 3600.0

    def gateway(requests: int, burst: int) -> Limiter:
        return Limiter(Limit(requests, 60.0, burst), keys=config.limit_keys)

    def minutely(requests: int) -> Limiter:
        return gateway(requests, requests - 1)

    def hourly(requests: int) -> Limiter:
        return Limiter(Limit(requests, hour, requests - 1), keys=config.limit_keys)

    return {
        "financials": gateway(config.financials_per_minute, config.financials_burst),
        "xbrl": gateway(config.xbrl_per_minute, config.xbrl_burst),
        "insider": minutely(config.insider_per_minute_free),
        "insider_paid": minutely(config.insider_per_minute_paid),
        "sql": minutely(config.sql_per_minute),
        "app": Limiter(
            Limit(config.app_per_minute, 60.0, config.app_per_minute - 1),
            Limit(config.app_per_hour, hour, config.app_per_hour - 1),
            keys=config.limit_keys,
        ),
        "register": hourly(config.register_per_hour_per_ip),
        "register_email": hourly(config.register_per_hour_per_email),
        "resend": hourly(config.resend_per_hour_per_ip),
        "resend_email": hourly(config.resend_per_hour_per_email),
    }
