"""The application: one frozen record of everything that a request may use, built once at the start."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from finapi.core import master_secrets, passwords
from finapi.core.cache import Cache
from finapi.core.clock import Clock, SystemClock, iso
from finapi.core.config import Config
from finapi.core.counts import format_count
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
from finapi.store.as_of_database import AsOfDatabase
from finapi.store.datadir import DATABASE
from finapi.store.db import Database, DatabaseError, Row
from finapi.store.file_cache import FileCache
from finapi.store.sandbox import Budget, Sandbox

if TYPE_CHECKING:
    from finapi.store.postgres import Postgres

STATUS_CACHE_SECONDS = 30.0  # DECISIONS 5.

# Maximum sizes of the caches, in bytes or entries.
PAGE_CACHE_BYTES = 8 * 1024 * 1024
FACT_BOOK_CACHE_BYTES = 24 * 1024 * 1024
SCREENING_CACHE_BYTES = 8 * 1024 * 1024
MAX_CALLERS = 10_000
MAX_UNKNOWN_KEYS = 1_000

# The maximum memory of one fact in a fact book, in bytes, which it takes after all cells of the company's series have
# been requested. The series of a large company use 11,000 facts.
FACT_BYTES = 900
ANSWER_BYTES = 500  # Memory of a cached answer in addition to its body.

REFUNDED_CPU_USED = "Calls of this account or address that failed and cost nothing have used their seconds of CPU."

BULK_DIRECTORY = "bulk"  # The folder of the data directory that contains the built bulk files.

MISSING_SECRETS_ADVICE = (
    "restore the secrets, or replace these credentials with: finapi serve --new-secrets (mails inform their owners)"
)


def random_uuid() -> str:
    """Return a new random UUID (version 4) as text."""
    version_and_variant = 0x4 << 76 | 0x2 << 62
    number = int.from_bytes(os.urandom(16)) & ~(0xF << 76 | 0x3 << 62) | version_and_variant
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _caller_weight(caller: Any) -> int:
    """Return the weight of an entry of the caller cache. None (an unknown key) weighs too much to be cached."""
    return 1 if caller else MAX_CALLERS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class App:
    """The configuration, databases, caches, queues and limiters of a running finapi."""

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
    # A thread that waits in a queue or for a mail server takes one of these slots. There are fewer slots than threads,
    # so that some threads always serve other calls.
    wait_slots: threading.Semaphore
    # Sends requests to customers' URLs.
    outbound: Outbound
    health: HealthState
    answer_cache: Cache
    # Runs the SQL queries of callers.
    sandbox: Sandbox
    # Limits the CPU time of refunded and failed calls, by account or address.
    refunded_cpu: CpuAllowance
    # Limits the number of answers above a megabyte that are in memory: from when they are built until they are sent or
    # written to a file.
    large_answer_queue: FairQueue
    # Bulk downloads of a day, a month or a quarter, stored as files.
    bulk_files: FileCache
    metrics: Metrics = field(default_factory=Metrics)
    # Delays the requests to EDGAR, so that the poller and ``finapi poll`` commands in the server share one rate limit.
    edgar_pacer: Pacer = field(default_factory=Pacer)
    # Response bodies that do not change while the process runs, by name.
    static_bodies: dict[str, bytes] = field(default_factory=dict)
    # Ids of the debits of calls that have been answered. A worker settles them, so that they are not refunded
    # after a crash (``billing``).
    debits_to_settle: deque[int] = field(default_factory=deque)
    # Refunds that could not be written to the database: the debit's row, the reason, and the status of the response.
    pending_refunds: deque[tuple[Mapping[str, Any], str, int]] = field(default_factory=deque)
    # Callers by the fingerprint of their key. Every write to the accounts, except to the ledger, invalidates them.
    caller_cache: Cache = field(default_factory=lambda: Cache(MAX_CALLERS, _caller_weight))
    # Fingerprints of unknown keys. They have their own cache, so that invented keys do not evict callers.
    unknown_key_cache: Cache = field(default_factory=lambda: Cache(MAX_UNKNOWN_KEYS, lambda caller: 1))
    # The facts of companies, arranged for the computation of time series, by company.
    fact_book_cache: Cache = field(
        default_factory=lambda: Cache(FACT_BOOK_CACHE_BYTES, lambda book: len(book) * FACT_BYTES, parts=2)
    )
    # HTML pages that are the same for every visitor.
    page_cache: Cache = field(
        default_factory=lambda: Cache(PAGE_CACHE_BYTES, lambda page: len(page.body) + ANSWER_BYTES)
    )
    # The latest years of companies, for screens. Only of companies whose years the database does not contain yet.
    screening_cache: Cache = field(default_factory=lambda: Cache(SCREENING_CACHE_BYTES, len))

    def as_of(self, day: str) -> App:
        """Return the app with the market data as they were known at the end of a day."""
        # Handlers call the methods for reading only.
        return replace(self, db=cast(Database, AsOfDatabase(self.db, day)))

    @property
    def accounts(self) -> Database:
        """Return the database of accounts and deliveries. Market data are in ``db``. No transaction spans both."""
        return self.db.accounts

    @property
    def invalidation_count(self) -> int:
        """Return a number that increases whenever data cached from either database may have become out of date.

        Charging a call (debits, settlements and refunds) does not change it. So data that depend on token balances or
        the ledger must not be cached by it.
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
    """Return an App for tests and for building the demo data, without a data directory.

    It uses ``db``, or an empty database in memory. Its mails stay in memory, unless ``transport`` is given. The master
    secret is ``secret``, so that credentials are the same in each run.
    """
    return _build_app(
        config, clock, db or Database(None), [secret], transport or mail.MemoryTransport(), new_uuid, resolve
    )


def open_on_disk(
    config: Config, clock: Clock | None = None, *, new_secrets: bool = False, accounts: Postgres | None = None
) -> App:
    """Return an App with ``finapi.db`` of the data directory, which the caller has locked (``datadir.lock_directory``).

    With the role ``api`` the file is a read-only copy. ``accounts`` is the database of accounts, if already open. Raise
    UsageError if the file of secrets is missing and valid credentials were derived from it, unless ``new_secrets``
    allows those credentials to become invalid.
    """
    path = config.data_dir / DATABASE
    db = _open_copy(path) if config.role == "api" else open_original(config)
    mail_url = config.smtp_url if config.mail_directory is None else f"dir:{config.mail_directory}"
    clock = clock or SystemClock()
    try:
        attach_accounts(config, db, accounts)
        if master_secrets.are_missing(config) and not new_secrets:
            _check_no_credentials(config, db.accounts, clock)
        secrets = master_secrets.read_or_create(config)
        return _build_app(config, clock, db, secrets, mail.create_transport(mail_url, clock))
    except BaseException:
        db.close()
        raise


def _check_no_credentials(config: Config, accounts: Database, clock: Clock) -> None:
    """Raise UsageError if there are valid credentials. Called when the master secrets that they need are missing."""
    with accounts.read() as tx:
        counts = format_credential_counts(tx.list_rows("credential_counts", now=iso(clock.now())))
    if counts:
        path = master_secrets.get_path(config)
        raise UsageError(f"{path} is missing, which is needed for {counts}: {MISSING_SECRETS_ADVICE}")


def open_original(config: Config) -> Database:
    """Open ``finapi.db`` of the data directory, which the caller has locked, and upgrade it if necessary."""
    path = config.data_dir / DATABASE
    if config.upgrade_copy == "yes":
        upgrades.copy_before_upgrade(path)
    db = Database(path, synchronous=config.synchronous, checkpoints=config.litestream == "no")
    upgrades.remove_old_copies(path)
    return db


def _open_copy(path: Path) -> Database:
    # Imported here, because only processes with a copy need it.
    from finapi.store.copies import MarketCopy

    if not path.exists():
        raise UsageError(f"role api needs a copy of the market data, but {path} does not exist")
    return MarketCopy(path)


def attach_accounts(config: Config, db: Database, accounts: Postgres | None = None) -> None:
    """Set ``db.accounts`` to the database that the settings name. ``accounts`` is that database if it is open already.

    Raise UsageError if the data directory's accounts are in another database, and UndecidedMoveError if a move of them
    was interrupted and is neither completed nor undone.
    """
    account_moves.check_decided(config.data_dir)
    database = account_moves.find_database(db, config.data_dir)
    if config.accounts_url:
        db.accounts = accounts or open_postgres(config.accounts_url)
        if database is None and config.role != "api" and has_accounts(db) and not has_accounts(db.accounts):
            raise UsageError("accounts are in the data directory; move them with: finapi move --to postgresql://...")
    elif database is not None:
        raise UsageError(f"accounts are in {database}: set accounts_url, or move them back with: finapi move --to file")


def require_psycopg() -> None:
    """Raise UsageError if psycopg, which ``store.postgres`` imports, is not installed."""
    try:
        from finapi.store import postgres  # noqa: F401
    except ImportError as error:
        raise UsageError(f"accounts_url needs psycopg ({error}): pip install 'psycopg[binary]'") from None


def open_postgres(url: str, *, exclusive: bool = False) -> Postgres:
    """Open the database of accounts at a URL.

    ``exclusive`` keeps all other processes out of it until it is closed, which a move of the accounts needs. Raise
    UsageError if it cannot be opened.
    """
    require_psycopg()
    from finapi.store import postgres

    postgres.describe_database(url)
    try:
        return postgres.Postgres(url, exclusive=exclusive)
    except DatabaseError as error:
        raise UsageError(f"accounts_url cannot be opened: {error}") from None


def has_accounts(store: Database) -> bool:
    """Return True if a database contains a user or an invite."""
    with store.read_one() as tx:
        return bool(tx.find_value("any_user_or_invite"))


def wrap_database(config: Config, db: Database) -> App:
    """Return an App for the inspection of a database. It has no secrets and sends no mail."""
    return _build_app(config, SystemClock(), db, [], mail.MemoryTransport())


def format_credential_counts(rows: Iterable[Row]) -> str:
    """Format rows of the query ``credential_counts``: "3 API keys, 1 webhook secret". Return "" without rows."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["kind"]] += row["number"]
    return ", ".join(format_count(count, kind) for kind, count in counts.items())


def _build_app(
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
    wait_slots = threading.Semaphore(max(1, config.threads // 2))
    return App(
        config=config,
        clock=clock,
        db=db,
        secrets=Keyring(secrets),
        new_uuid=new_uuid,
        random_bytes=os.urandom,
        limiters=build_limiters(config),
        lockouts=Lockouts(config.lockout_emails, config.hash_wait),
        hasher=_build_hasher(config, wait_slots),
        mail_settings=MailSettings(transport, config.mail_from, config.mail_timeout, config.mail_records_days),
        wait_slots=wait_slots,
        outbound=Outbound(ReachPolicy(addresses.parse_networks(config.webhook_allow)), resolve=resolve),
        health=HealthState(
            # With this deadline a round of checks ends before the next one is due.
            HealthChecker(clock.monotonic, min(config.watchdog_deadline, config.watchdog_interval)),
            STATUS_CACHE_SECONDS,
        ),
        answer_cache=Cache(config.answer_bytes, lambda response: len(response.body) + ANSWER_BYTES),
        sandbox=_build_sandbox(config, clock, db, wait_slots),
        refunded_cpu=refunded_cpu,
        large_answer_queue=FairQueue(
            "Other large answers are being made.",
            config.large_at_once,
            config.large_waiting,
            config.turn_wait,
            # One account or address cannot take every slot.
            max_per_key=max(1, config.large_at_once - 1),
            wait_slots=wait_slots,
        ),
        bulk_files=FileCache(
            None if db.path is None else config.data_dir / BULK_DIRECTORY, config.bulk_bytes, clock, refunded_cpu
        ),
    )


def _build_hasher(config: Config, wait_slots: threading.Semaphore) -> Hasher:
    queue = FairQueue(
        passwords.BUSY_MESSAGE,
        config.hashes_at_once,
        config.hashes_waiting,
        config.hash_wait,
        wait_slots=wait_slots,
        pick=lambda count: os.urandom(1)[0] % count,
        refusal_delay_seconds=passwords.REFUSAL_DELAY_SECONDS,
    )
    return Hasher(config.password_profile, queue)


def _build_sandbox(config: Config, clock: Clock, db: Database, wait_slots: threading.Semaphore) -> Sandbox:
    budget = Budget(config.sql_seconds, config.sql_rows, config.sql_bytes)
    # One account runs one query at a time.
    queue = FairQueue(
        sandbox.BUSY, config.sql_at_once, config.sql_waiting, config.turn_wait, max_per_key=1, wait_slots=wait_slots
    )
    cpu_allowance = CpuAllowance(
        config.sql_cpu_per_minute, clock.monotonic, refusal=sandbox.CPU_USED, max_keys=config.limit_keys
    )
    return Sandbox(db, budget, time.monotonic, queue, cpu_allowance)


def build_limiters(config: Config) -> dict[str, RateLimiter]:
    """Return the limiter of each zone (DECISIONS 5), by the zone's name.

    The default burst is one less than the number of requests per period. Then all requests of a period may arrive at
    the same time.
    """

    def per_minute(requests: int, burst: int | None = None) -> RateLimit:
        return RateLimit(requests, 60.0, requests - 1 if burst is None else burst)

    def per_hour(requests: int) -> RateLimit:
        return RateLimit(requests, 3600.0, requests - 1)

    zones = {
        "financials": [per_minute(config.financials_per_minute, config.financials_burst)],
        "xbrl": [per_minute(config.xbrl_per_minute, config.xbrl_burst)],
        "insider": [per_minute(config.insider_per_minute_free)],
        "insider_paid": [per_minute(config.insider_per_minute_paid)],
        "sql": [per_minute(config.sql_per_minute)],
        "pages": [per_minute(config.pages_per_minute)],
        "app": [per_minute(config.app_per_minute), per_hour(config.app_per_hour)],
        # For calls that report the state of the other limits, so that they do not use up those limits.
        "limits": [per_minute(config.app_per_minute)],
        "login_network": [per_minute(config.login_per_minute_per_network)],
        "register": [per_hour(config.register_per_hour_per_ip)],
        "register_email": [per_hour(config.register_per_hour_per_email)],
        "resend": [per_hour(config.resend_per_hour_per_ip)],
        "resend_email": [per_hour(config.resend_per_hour_per_email)],
    }
    return {zone: RateLimiter(*limits, max_keys=config.limit_keys) for zone, limits in zones.items()}
