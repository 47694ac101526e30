"""What a request may touch, in one frozen record that the server makes and everything else receives."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from finapi.core import master_secrets, passwords
from finapi.core.cache import Cache
from finapi.core.clock import Clock, SystemClock, iso
from finapi.core.config import Config
from finapi.core.cpu_allowance import CpuAllowance
from finapi.core.errors import UsageError
from finapi.core.fair_queue import FairQueue
from finapi.core.health import HealthChecker, HealthState
from finapi.core.limits import Pacer, RateLimit, RateLimiter
from finapi.core.lockout import Lockouts
from finapi.core.master_secrets import Keyring
from finapi.core.metrics import Metrics
from finapi.core.passwords import Hasher
from finapi.net import addresses, mail
from finapi.net.dial import Resolver, system_resolver
from finapi.net.mail import MailSettings, Transport
from finapi.net.outbound import Outbound, ReachPolicy
from finapi.store import account_moves, sandbox, upgrades
from finapi.store.datadir import DATABASE
from finapi.store.db import Database, DatabaseError, Row
from finapi.store.file_cache import FileCache
from finapi.store.sandbox import Budget, Sandbox

if TYPE_CHECKING:
    from finapi.store.postgres import Postgres

STATUS_CACHE_SECONDS = 30.0  # that /status is kept (DECISIONS 5)

PAGE_CACHE_BYTES = 8 * 1024 * 1024  # of pages that were shown and may be again

# What the caches hold at most. A book takes 900 bytes for each of its facts once every cell has been asked for; a large
# company has 11,000 that series use.
FACT_BOOK_CACHE_BYTES, FACT_BYTES = 24 * 1024 * 1024, 900
ANSWER_BYTES = 500  # that a kept answer takes beside its body
SCREENING_CACHE_BYTES = 8 * 1024 * 1024
MAX_CALLERS = 10_000
MAX_UNKNOWN_KEYS = 1_000

REFUNDED_CPU_USED = "Calls of this account or address that failed and cost nothing have used their seconds of CPU."

BULK_DIRECTORY = "bulk"  # the directory of files of whole periods, in the data directory

MISSING_SECRETS_ADVICE = "put it back, or give them up with: finapi serve --new-secrets (their owners are told by mail)"


def random_uuid() -> str:
    """A fresh UUIDv4 in its 36 characters."""
    drawn = int.from_bytes(os.urandom(16)) & ~(0xF << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62
    text = f"{drawn:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class App:
    """The parts of a running finapi."""

    config: Config
    clock: Clock
    db: Database
    secrets: Keyring
    new_uuid: Callable[[], str]
    random_bytes: Callable[[int], bytes]
    limiters: Mapping[str, RateLimiter]
    lockouts: Lockouts
    hasher: Hasher
    mail_settings: MailSettings
    # Callers that wait for a mail server: never so many that no thread is left for anybody else.
    wait_slots: threading.Semaphore
    # Requests to receivers that customers name.
    outbound: Outbound
    health: HealthState
    # Answers to questions that were asked before, by their bytes.
    answer_cache: Cache
    # Queries of callers.
    sandbox: Sandbox
    # CPU time of calls that nobody pays for, by account or address.
    refunded_cpu: CpuAllowance
    # Answers above a megabyte, while they are made and until they are sent or in a file.
    large_answer_queue: FairQueue
    # Files of whole periods, which anybody with a key may fetch.
    bulk_files: FileCache
    metrics: Metrics = field(default_factory=Metrics)
    # Requests to EDGAR, by the server's own poller and by a poll that is handed to it.
    edgar_pacer: Pacer = field(default_factory=Pacer)
    # Bodies that are the same for everybody as long as the process runs, by name.
    static_bodies: dict[str, bytes] = field(default_factory=dict)
    # Ids of debits whose calls were answered, to be closed by ``billing``.
    debits_to_settle: deque[int] = field(default_factory=deque)
    # Refunds that could not be written: the debit's row, the reason and the status of each.
    pending_refunds: deque[tuple[Mapping[str, Any], str, int]] = field(default_factory=deque)
    # Callers by the fingerprint of their key, until anything but the ledger is written.
    caller_cache: Cache = field(default_factory=lambda: Cache(MAX_CALLERS, lambda caller: 1 if caller else MAX_CALLERS))
    # Keys of nobody, apart: keys that are made up push out no caller's.
    unknown_key_cache: Cache = field(default_factory=lambda: Cache(MAX_UNKNOWN_KEYS, lambda caller: 1))
    # Facts of companies arranged for series, by what they take.
    fact_book_cache: Cache = field(
        default_factory=lambda: Cache(FACT_BOOK_CACHE_BYTES, lambda book: len(book) * FACT_BYTES, parts=2)
    )
    # Pages that are the same for everybody.
    page_cache: Cache = field(
        default_factory=lambda: Cache(PAGE_CACHE_BYTES, lambda page: len(page.body) + ANSWER_BYTES)
    )
    # Latest years of companies that are not kept as rows yet.
    screening_cache: Cache = field(default_factory=lambda: Cache(SCREENING_CACHE_BYTES, len))

    @property
    def accounts(self) -> Database:
        """The store of accounts and what they are told; ``db`` is that of market data. No transaction has both."""
        return self.db.accounts

    @property
    def write_count(self) -> int:
        """A number that rises whenever cached data of either store may be out of date.

        Debits and refunds do not raise it: nothing that depends on them may be cached.
        """
        return self.db.write_count + self.accounts.write_count


def create_in_memory(
    config: Config,
    clock: Clock,
    *,
    new_uuid: Callable[[], str] = random_uuid,
    transport: Transport | None = None,
    resolve: Resolver = system_resolver,
    db: Database | None = None,
    secret: bytes = b"\x00" * 32,
) -> App:
    """An App over a database in memory with a fixed master secret: for tests and the fixture."""
    return _app(config, clock, db or Database(None), [secret], transport or mail.MemoryTransport(), new_uuid, resolve)


def open_on_disk(
    config: Config, clock: Clock | None = None, *, new_secrets: bool = False, accounts: Postgres | None = None
) -> App:
    """An App over ``finapi.db`` in the data directory, which the caller holds (``datadir.lock_directory``).

    With the role ``api`` that is a copy, which is not written. ``accounts`` are those that are open already. UsageError
    when the file of secrets is missing and something was made from it, unless ``new_secrets`` gives that up.
    """
    path = config.data_dir / DATABASE
    db = _copy(path) if config.role == "api" else open_original(config)
    where = config.smtp_url if config.mail_directory is None else f"dir:{config.mail_directory}"
    clock = clock or SystemClock()
    try:
        attach_accounts(config, db, accounts)
        if master_secrets.are_missing(config) and not new_secrets:
            with db.accounts.read() as tx:
                dead = format_credential_counts(tx.list_rows("made_with_secrets", now=iso(clock.now())))
            if dead:
                raise UsageError(
                    f"{master_secrets.get_path(config)} is missing, which made {dead}: {MISSING_SECRETS_ADVICE}"
                )
        return _app(config, clock, db, master_secrets.read_or_create(config), mail.create_transport(where, clock))
    except BaseException:
        db.close()
        raise


def open_original(config: Config) -> Database:
    """Open ``finapi.db`` in the data directory, which the caller holds, and upgrade it if necessary."""
    path = config.data_dir / DATABASE
    if config.upgrade_copy == "yes":
        upgrades.copy_before_upgrade(path)
    db = Database(path, synchronous=config.synchronous, checkpoints=config.litestream == "no")
    upgrades.remove_old_copies(path)
    return db


def _copy(path: Path) -> Database:
    # Not loaded where nothing is a copy.
    from finapi.store.copies import MarketCopy

    if not path.exists():
        raise UsageError(f"role api answers on a copy of the market data, and {path} is not there")
    return MarketCopy(path)


def attach_accounts(config: Config, db: Database, accounts: Postgres | None = None) -> None:
    """Make the accounts of ``db`` those that the settings name; ``accounts`` are open already.

    Raise UsageError if the accounts of the data directory are elsewhere, and UndecidedMoveError while a move of them is
    not decided.
    """
    account_moves.check_decided(config.data_dir)
    database = account_moves.find_database(db, config.data_dir)
    if config.accounts_url:
        db.accounts = accounts or open_postgres(config.accounts_url)
        if database is None and config.role != "api" and has_accounts(db) and not has_accounts(db.accounts):
            raise UsageError("accounts are in the data directory; they are moved by finapi move --to postgresql://...")
    elif database is not None:
        raise UsageError(f"accounts are in {database}: set accounts_url, or bring them back by finapi move --to file")


def load_postgres() -> ModuleType:
    """Return the module ``store.postgres``, which needs psycopg. Raise UsageError if that is not installed."""
    try:
        from finapi.store import postgres
    except ImportError as error:
        raise UsageError(f"accounts_url needs psycopg ({error}): pip install 'psycopg[binary]'") from None
    return postgres


def open_postgres(url: str, *, alone: bool = False) -> Postgres:
    """Open the accounts at a URL; ``alone`` for a move, while which no other process may use them.

    Raise UsageError if they cannot be opened.
    """
    postgres = load_postgres()
    postgres.name_database(url)
    try:
        store: Postgres = postgres.Postgres(url, alone=alone)
        return store
    except DatabaseError as error:
        raise UsageError(f"accounts_url cannot be opened: {error}") from None


def has_accounts(store: Database) -> bool:
    """Return True if a store holds a user or an invite."""
    with store.read_one() as tx:
        return bool(tx.find_value("any_user_or_invite"))


def wrap_database(config: Config, db: Database) -> App:
    """An App over a database that is only looked at: it has no secrets, and sends nothing."""
    return _app(config, SystemClock(), db, [], mail.MemoryTransport())


def format_credential_counts(rows: Iterable[Row]) -> str:
    """How many things of each kind the rows of ``made_with_secrets`` count: "3 API keys, 1 webhook secret"; or ""."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["kind"]] += row["number"]
    return ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in counts.items())


def _app(
    config: Config,
    clock: Clock,
    db: Database,
    secrets: Sequence[bytes],
    transport: Transport,
    new_uuid: Callable[[], str] = random_uuid,
    resolve: Resolver = system_resolver,
) -> App:
    refunded_cpu = CpuAllowance(
        config.refunded_cpu_per_minute, clock.monotonic, refusal=REFUNDED_CPU_USED, max_keys=config.limit_keys
    )
    # Of those who wait for a turn at something: so many threads at most, whatever they wait for.
    seats = threading.Semaphore(max(1, config.threads // 2))
    return App(
        config=config,
        clock=clock,
        db=db,
        secrets=Keyring(secrets),
        new_uuid=new_uuid,
        random_bytes=os.urandom,
        limiters=build_limiters(config),
        lockouts=Lockouts(config.lockout_emails, config.hash_wait),
        hasher=Hasher(
            config.password_profile,
            FairQueue(
                passwords.BUSY_MESSAGE, config.hashes_at_once, config.hashes_waiting, config.hash_wait, wait_slots=seats
            ),
        ),
        mail_settings=MailSettings(transport, config.mail_from, config.mail_timeout, config.mail_records_days),
        wait_slots=seats,
        outbound=Outbound(ReachPolicy(addresses.parse_networks(config.webhook_allow)), resolve=resolve),
        health=HealthState(
            # A round that ends before the next one is due.
            HealthChecker(clock.monotonic, min(config.watchdog_deadline, config.watchdog_interval)),
            STATUS_CACHE_SECONDS,
        ),
        answer_cache=Cache(config.answer_bytes, lambda response: len(response.body) + ANSWER_BYTES),
        sandbox=Sandbox(
            db,
            Budget(config.sql_seconds, config.sql_rows, config.sql_bytes),
            time.monotonic,
            FairQueue(
                sandbox.BUSY, config.sql_at_once, config.sql_waiting, config.turn_wait, max_per_key=1, wait_slots=seats
            ),
            CpuAllowance(
                config.sql_cpu_per_minute, clock.monotonic, refusal=sandbox.CPU_USED, max_keys=config.limit_keys
            ),
        ),
        refunded_cpu=refunded_cpu,
        large_answer_queue=FairQueue(
            "Other large answers are being made.",
            config.large_at_once,
            config.large_waiting,
            config.turn_wait,
            # No account and no address has all of them.
            max_per_key=max(1, config.large_at_once - 1),
            wait_slots=seats,
        ),
        bulk_files=FileCache(
            None if db.path is None else config.data_dir / BULK_DIRECTORY, config.bulk_bytes, clock, refunded_cpu
        ),
    )


def build_limiters(config: Config) -> dict[str, RateLimiter]:
    """One limiter for each zone of DECISIONS 5 that has routes; buckets hold what may pass at once less one."""

    def minutely(requests: int, burst: int | None = None) -> RateLimit:
        return RateLimit(requests, 60.0, requests - 1 if burst is None else burst)

    def hourly(requests: int) -> RateLimit:
        return RateLimit(requests, 3600.0, requests - 1)

    zones = {
        "financials": [minutely(config.financials_per_minute, config.financials_burst)],
        "xbrl": [minutely(config.xbrl_per_minute, config.xbrl_burst)],
        "insider": [minutely(config.insider_per_minute_free)],
        "insider_paid": [minutely(config.insider_per_minute_paid)],
        "sql": [minutely(config.sql_per_minute)],
        "pages": [minutely(config.pages_per_minute)],
        "app": [minutely(config.app_per_minute), hourly(config.app_per_hour)],
        # What is left of the others; asking uses none of them.
        "limits": [minutely(config.app_per_minute)],
        "login_network": [minutely(config.login_per_minute_per_network)],
        "register": [hourly(config.register_per_hour_per_ip)],
        "register_email": [hourly(config.register_per_hour_per_email)],
        "resend": [hourly(config.resend_per_hour_per_ip)],
        "resend_email": [hourly(config.resend_per_hour_per_email)],
    }
    return {zone: RateLimiter(*limits, max_keys=config.limit_keys) for zone, limits in zones.items()}
