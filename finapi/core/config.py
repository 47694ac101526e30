"""Every setting, its type, unit, default and reason; and where each value came from.

Precedence (DECISIONS 12): flags over ``FINAPI_*`` over ``--config FILE`` (TOML) over the defaults here.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from finapi.core.errors import UsageError

ENVIRONMENT_PREFIX = "FINAPI_"
MIB = 1024 * 1024
MAIL_FROM = "finapi <finapi@localhost>"


def _setting(default: Any, help: str, *, secret: bool = False, least: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "secret": secret, "least": least})


class CustomPlan(NamedTuple):
    """A plan that the operator named, or what is other of one that there is; ``price`` is in dollars a period."""

    name: str
    tokens: int | None = None
    period: Literal["week", "month", "year"] | None = None
    price: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """The settings in force. Names are those of the flags and, upper-cased after ``FINAPI_``, the environment."""

    # Loopback: a service that nobody configured is reachable by nobody else.
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8000, "TCP port; 0 picks a free one", least=0)
    role: Literal["all", "api", "worker"] = _setting(
        "all", "what serve does: everything, answer on a copy of the market data, or fetch and deliver (one at a time)"
    )
    data_dir: Path = _setting(Path("finapi-data"), "directory of the database, the secrets and the lock")
    public: Literal["yes", "no"] = _setting("no", "whether an address that other machines reach may be listened on")
    public_url: str = _setting("", "base URL that links and documents carry; empty: the listening address")
    frontend_url: str = _setting("", "base URL of the pages that links end on; empty: public_url")
    upgrade_url: str = _setting("", "where a 402 sends the caller; empty: {public_url}/plans")
    secrets: str = _setting(
        "", "master secrets, newest first, comma-separated hex; empty: the file in data_dir", secret=True
    )

    # The interpreter runs one thread at a time: more threads only wait for the disk together, in one commit.
    threads: int = _setting(16, "threads that run handlers", least=1)
    cores: Literal["one", "all"] = _setting("one", "cores that the threads which answer calls may use")
    connection_limit: int = _setting(1000, "connections open at once", least=1)
    # Enough for an office behind one address; four of them fill the house, where those that have most make room.
    connections_per_address: int = _setting(250, "of them from one address; a trusted proxy has no share", least=1)
    # A request's head of a kilobyte takes longer than this only from a sender who wants it to.
    header_timeout: float = _setting(15.0, "seconds for the head of a request to arrive", least=0.05)
    channel_timeout: float = _setting(60.0, "seconds that an idle connection is kept", least=0.05)
    body_limit: int = _setting(50 * MIB, "bytes of a request body (API default: 50 MB)", least=0)
    # A body that comes with its head, or within half a second, is none of these.
    bodies_at_once: int = _setting(64, "long or slow request bodies arriving at once", least=1)
    bodies_per_address: int = _setting(16, "of them from one address", least=1)
    # Temporary files lie in memory where /tmp does.
    spool_bytes: int = _setting(
        256 * MIB,
        "bytes of long bodies and unread answers in temporary files; the address or account with the most makes room",
        least=0,
    )
    server_timeout: float = _setting(300.0, "seconds that a call may take (API default: 300)", least=0.05)
    # A statement is about 10 KB: the questions that are asked all the time fit several times over.
    answer_bytes: int = _setting(16 * MIB, "bytes of answers kept for the next who asks the same", least=0)
    # Fewer than the threads, for each takes up to three times its bytes of memory and most of a second of the core.
    answer_limit: int = _setting(8 * MIB, "bytes of one answer of series or funds; a longer one is 400", least=MIB)
    series_cells: int = _setting(50_000, "cells of one answer of series, rows times metrics; more are 400", least=1)
    large_at_once: int = _setting(
        2, "answers above 1 MiB, or of several companies, made together; one account has all but one", least=1
    )
    large_waiting: int = _setting(2, "of them waiting for their turn", least=0)
    turn_wait: float = _setting(3.0, "seconds that a large answer or an SQL query waits before 503", least=0)
    queue_limit: int = _setting(512, "requests waiting for a thread before 503", least=1)
    drain_timeout: float = _setting(5.0, "seconds that running calls are given at a stop", least=0)
    trusted_proxies: tuple[str, ...] = _setting(
        (), "addresses or CIDR ranges whose X-Forwarded-For is believed, comma-separated"
    )

    accounts_url: str = _setting(
        "", "postgresql://... of the database that holds accounts; empty: the one in data_dir", secret=True
    )

    litestream: Literal["no", "yes"] = _setting("no", "whether Litestream replicates the database, and checkpoints it")
    # Five rounds of the worker's watchdog, which writes with each.
    copy_age: float = _setting(300.0, "seconds that a copy may be behind the worker before /readyz is 503", least=1)

    # FULL: a debit that was answered survives a power cut. NORMAL may lose the last commits of a crash of the
    # machine (never of the process) and commits several times faster on slow disks.
    synchronous: Literal["FULL", "NORMAL"] = _setting("FULL", "durability of a commit")

    # 150 bytes a call: at ten calls a second 11 GB. The sums that usage answers are kept apart, and for longer.
    ledger_days: int = _setting(90, "days that rows of the ledger stay before they are archived; 0: for ever", least=0)
    ledger_dir: str = _setting("", "directory of the ledger's archives (CSV, gzip); empty: ledger/ in data_dir")
    usage_days: int = _setting(400, "days that usage by day and endpoint is kept (365 are shown)", least=366)

    upgrade_copy: Literal["yes", "no"] = _setting("yes", "copy the database before its schema is brought up to date")
    backup_dir: str = _setting("", "directory of the backups that serve makes every night; empty: none")
    backup_hour: int = _setting(3, "hour of the day, in UTC, from which the night's backup is made", least=0)
    backups_kept: int = _setting(7, "backups that stay in backup_dir, with and without secrets each", least=1)
    backup_secrets: Literal["with", "without"] = _setting(
        "without", "whether the night's backups hold the master secrets, which open every account"
    )

    smtp_url: str = _setting(
        "", "smtp://[USER:PASSWORD@]HOST or smtps://...; empty: mails become .eml files", secret=True
    )
    mail_dir: str = _setting("", "directory of .eml files, instead of sending; empty: mail/ in data_dir")
    # They hold links and keys that work.
    mail_kept_days: int = _setting(7, "days that .eml files are kept", least=1)
    mail_records_days: int = _setting(30, "days that the record of a mail is kept; it holds no text", least=1)
    mail_timeout: float = _setting(10.0, "seconds that the sending of one mail may take", least=0.05)
    mail_from: str = _setting(MAIL_FROM, "sender of mails; beside smtp_url it has to be an address of yours")

    # OWASP's least memory for argon2id; "library" is argon2-cffi's own, "cheap" is for tests.
    password_profile: Literal["default", "library", "cheap"] = _setting("default", "cost of a password hash")
    # OWASP ASVS 2.1.7 asks for it; who tries clients out wants any password of eight characters.
    common_passwords: Literal["refused", "allowed"] = _setting(
        "refused", "the 3,000 most common passwords as a new one; demo allows them"
    )
    hashes_at_once: int = _setting(2, "password hashes computed at once (19 MiB each)", least=1)
    # With those computed fewer than the threads, so that logins cannot hold every one of them.
    hashes_waiting: int = _setting(6, "logins waiting for a hash; of more, those with the least claim get 503", least=0)
    hash_wait: float = _setting(5.0, "seconds that a login waits for its turn", least=0)
    session_lifetime: int = _setting(3600, "seconds that a session token lives (API default: 1 hour)", least=1)
    device_limit: int = _setting(2, "sessions of a user at once (API default: 2)", least=1)
    verification_lifetime: int = _setting(86_400, "seconds that a verification link lives", least=1)
    reset_lifetime: int = _setting(86_400, "seconds that a reset token lives (API default: 24 h)", least=1)
    invite_token_lifetime: int = _setting(900, "seconds that an invite token lives", least=1)
    lockout_emails: int = _setting(100_000, "emails whose failed logins are counted at once", least=16)

    feed_connections: int = _setting(2_000, "feed connections open at once, of everybody", least=1)
    feed_connections_per_address: int = _setting(200, "of them from one address", least=1)
    feed_unauthenticated: int = _setting(256, "feed connections at once that have not brought a key", least=1)
    feed_unauthenticated_per_address: int = _setting(64, "of those from one address", least=1)
    feed_origins: tuple[str, ...] = _setting(
        (), "origins whose pages may read the feeds, comma-separated; empty: all, as a key is needed"
    )
    events_kept: int = _setting(10_000, "events of a feed that are kept for readers who come back", least=20)
    events_kept_days: int = _setting(30, "days that an event is kept; the newest 20 stay", least=1)
    # A 10-K is 2 to 10 MB of HTML and an eighth of that compressed.
    document_bytes: int = _setting(8 * MIB, "bytes of a primary document that is kept; 0: none", least=0)
    documents_bytes: int = _setting(
        512 * MIB, "bytes of all primary documents kept, compressed; what comes later is left out", least=0
    )
    # Each may have a quarter of it.
    bulk_bytes: int = _setting(256 * MIB, "bytes of all files of whole days, months and quarters; 0: none", least=0)
    # A fifth of their HTML; index and text take half as many bytes as it has characters (measured on 10-Q and 10-K).
    documents_searched: int = _setting(
        512 * MIB, "characters of kept documents that full text search finds; what comes later it does not", least=0
    )

    watchdog_interval: int = _setting(60, "seconds from one check of every part to the next", least=1)
    watchdog_deadline: float = _setting(5.0, "seconds that a check may take", least=0.05)
    watchdog_targets: tuple[str, ...] = _setting(
        (), "more to check, comma-separated: NAME=URL, an http or https URL that answers 200"
    )
    metrics_token: str = _setting(
        "", "what callers from elsewhere show for /metrics, as Authorization: Bearer", secret=True
    )
    sql_seconds: float = _setting(2.0, "SQL proxy: seconds that a query may take", least=0.01)
    sql_rows: int = _setting(1_000, "SQL proxy: rows of an answer; the rest is cut off and said so", least=1)
    sql_bytes: int = _setting(MIB, "SQL proxy: bytes of an answer's values", least=1)
    # Fewer than the threads: a query must not keep the others from answering.
    sql_at_once: int = _setting(2, "SQL proxy: queries that run at once, one of an account", least=1)
    sql_waiting: int = _setting(2, "SQL proxy: queries waiting for their turn; the rest is 503", least=0)
    sql_cpu_per_minute: float = _setting(20.0, "SQL proxy: seconds of CPU a minute of an account", least=0.01)

    # A twelfth of a core: a thousand refusals that cost a few milliseconds each, or a dozen of the dearest.
    refunded_cpu_per_minute: float = _setting(
        5.0, "seconds of CPU a minute for refunded calls of an account, or failed ones of an address", least=0.01
    )

    log_format: Literal["text", "json"] = _setting("text", "access and event log on stderr")
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "least level that is logged")

    # DECISIONS 5; nginx's limit_req with nodelay: rate a minute and burst.
    financials_per_minute: int = _setting(30, "financials endpoints: requests a minute", least=1)
    financials_burst: int = _setting(10, "financials endpoints: burst beyond the rate", least=0)
    xbrl_per_minute: int = _setting(120, "XBRL endpoints: requests a minute", least=1)
    xbrl_burst: int = _setting(30, "XBRL endpoints: burst beyond the rate", least=0)
    insider_per_minute_free: int = _setting(100, "insider service, plan free: requests a minute", least=1)
    insider_per_minute_paid: int = _setting(600, "insider service, other plans: requests a minute", least=1)
    sql_per_minute: int = _setting(30, "SQL proxy: requests a minute", least=1)
    app_per_minute: int = _setting(60, "endpoints without a limit of their own: requests a minute", least=1)
    app_per_hour: int = _setting(1_000, "endpoints without a limit of their own: requests an hour", least=1)
    # Five times what one address has: whoever has an IPv6 network has 65,536 addresses as they are counted here.
    login_per_minute_per_network: int = _setting(300, "logins a minute from an IPv6 /48", least=1)
    register_per_hour_per_ip: int = _setting(5, "registrations an hour per address", least=1)
    register_per_hour_per_email: int = _setting(3, "registrations an hour per email", least=1)
    resend_per_hour_per_ip: int = _setting(5, "calls of resend-verification an hour per address", least=1)
    resend_per_hour_per_email: int = _setting(3, "verification mails an hour per email", least=1)
    limit_keys: int = _setting(100_000, "callers that a limit remembers at once", least=16)

    default_windows: Literal["recent", "all"] = _setting(
        "recent", "calls that are given no days show the last ones; all: everything that is held, as the demo does"
    )

    # Pages show figures that calls are charged for: strangers see them where the operator gives them away.
    pages: Literal["public", "members", "off"] = _setting(
        "members", "who sees the pages with data: everybody, who has an account, or nobody"
    )
    pages_per_minute: int = _setting(120, "pages: requests a minute", least=1)
    security_contact: str = _setting("", "URL for reports of weaknesses, in security.txt; empty: mailto: mail_from")

    # The SEC allows ten requests a second to whoever says who they are.
    user_agent: str = _setting("", "who asks EDGAR: a name and a contact address, which the SEC demands")
    base_url: str = _setting("", "a mirror of EDGAR, or an archive directory; empty: the SEC")
    # One below what the SEC allows: what is sent evenly apart does not arrive so.
    edgar_per_second: float = _setting(9.0, "requests to EDGAR a second, evenly apart (SEC: at most 10)", least=0.01)
    # Four quarters and a little.
    follow_days: int = _setting(400, "days back that documents of a newly followed company are fetched", least=1)
    follow_forms: tuple[str, ...] = _setting(
        (),
        "their forms, comma-separated (10-K,10-Q,8-K); empty: those with figures, insiders' and 13F, and all to come",
    )
    poll_every: float = _setting(0.0, "seconds between looks at EDGAR's feed by serve; 0: none", least=0)

    # DECISIONS 9.
    webhook_allow: tuple[str, ...] = _setting(
        (), "CIDR ranges that webhooks may reach although they are not public, plain http there too"
    )
    webhook_timeout: float = _setting(10.0, "seconds for a receiver's reply (API default: 10)", least=0.05)
    webhook_retries: tuple[str, ...] = _setting(
        ("10", "60", "300"), "seconds after which a failed delivery is tried again, in turn (API default: 10, 60, 300)"
    )
    # Every event is promised its attempts: a URL is paused only where the operator configures it.
    webhook_rest: float = _setting(
        0.0, "seconds that a URL rests after five drops in a row, its events dropped unsent; 0: never", least=0
    )
    deliveries_kept_days: int = _setting(30, "days that deliveries which are done are kept", least=1)
    webhook_threads: int = _setting(32, "deliveries under way at once", least=2)
    sniper_slots: int = _setting(5, "sniper targets of an account at once", least=1)
    targets_kept: int = _setting(10_000, "sniper targets of an account that are kept; the oldest go", least=1)
    feeds_free: int = _setting(1, "feed connections at once, plan free", least=0)
    feeds_paid: int = _setting(5, "feed connections at once, other plans", least=0)
    feed_catchup: int = _setting(20, "events that a new feed connection is replayed", least=0)

    # DECISIONS 4: tokens of a plan's period.
    free_tokens: int = _setting(2_000, "tokens a month of the plan free", least=0)
    weekly_tokens: int = _setting(50_000, "tokens a week of the plan weekly", least=0)
    monthly_tokens: int = _setting(200_000, "tokens a month of the plan monthly", least=0)
    pro_tokens: int = _setting(500_000, "tokens a month of the plan pro", least=0)
    yearly_tokens: int = _setting(2_400_000, "tokens a year of the plan yearly", least=0)
    plans: tuple[CustomPlan, ...] = _setting(
        (), 'plans of your own, in the file: [plans.gold] tokens = 1000000, period = "month", price = 99 (dollars)'
    )
    costs: tuple[tuple[str, int], ...] = _setting(
        (), 'other costs of calls, in tokens, in the file: [costs] "GET /api/v1/prices/{ticker}" = 2'
    )

    url: str = _setting("", "base URL of the finapi that get, watch ... ask; empty: the data directory, in process")
    api_key: str = _setting("", "get, statements ...: the API key", secret=True)

    def __post_init__(self) -> None:
        for setting in fields(self):
            least = setting.metadata["least"]
            if least is not None and getattr(self, setting.name) < least:
                raise UsageError(f"setting {setting.name}: must be at least {least:g}")
        if self.backup_hour > 23:
            raise UsageError("setting backup_hour: must be at most 23")
        if self.port > 65535:
            raise UsageError("setting port: must be at most 65535")
        for name in ("trusted_proxies", "webhook_allow"):
            for text in getattr(self, name):
                try:
                    ipaddress.ip_network(text)
                except ValueError as error:
                    raise UsageError(f"setting {name}: {error}") from None
        if any(wait < 0 for wait in self.webhook_retry_seconds):
            raise UsageError("setting webhook_retries: must be seconds, 0 or more")
        if len(self.watchdog_urls) < len(self.watchdog_targets):
            raise UsageError("setting watchdog_targets: a name is used twice")
        for name in ("public_url", "frontend_url", "upgrade_url", "url"):
            _check_url(name, getattr(self, name))
        if not self.accounts_url.startswith(("", "postgresql://", "postgres://")[bool(self.accounts_url) :]):
            raise UsageError("setting accounts_url: must begin with postgresql://")
        if "://" in self.base_url and not self.base_url.startswith("file:///"):
            _check_url("base_url", self.base_url)

    def __repr__(self) -> str:
        """What is set otherwise than by default, without secrets: tracebacks and failed tests show it."""
        rows = [row for row in fields(self) if getattr(self, row.name) != row.default]
        told = ("********" if row.metadata["secret"] else repr(getattr(self, row.name)) for row in rows)
        return f"Config({', '.join(f'{row.name}={value}' for row, value in zip(rows, told, strict=True))})"

    @property
    def is_reachable_remotely(self) -> bool:
        """Whether the address that is listened on is more than this machine's own."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"

    @property
    def webhook_retry_seconds(self) -> tuple[float, ...]:
        """``webhook_retries`` as numbers."""
        return tuple(_convert(text, float, "setting webhook_retries") for text in self.webhook_retries)

    @property
    def plans_page_url(self) -> str:
        """Where plans are described: what a 402 names."""
        return self.upgrade_url or f"{self.public_url}/plans"

    @property
    def mail_directory(self) -> Path | None:
        """Where mails are written as .eml files; None when they are sent by SMTP."""
        if self.mail_dir:
            return Path(self.mail_dir)
        return None if self.smtp_url else self.data_dir / "mail"

    @property
    def ledger_directory(self) -> Path:
        """Where the ledger's archives are written."""
        return Path(self.ledger_dir) if self.ledger_dir else self.data_dir / "ledger"

    @property
    def watchdog_urls(self) -> dict[str, str]:
        """The URLs of ``watchdog_targets`` by name."""
        return dict(_target(text) for text in self.watchdog_targets)


# Where a value came from, by setting name: "default", "file PATH", "environment", "flag".
Origins = dict[str, str]


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> tuple[Config, Origins]:
    """The settings in force and where each came from.

    ``flags`` are values given on the command line (None: not given), ``config`` among them names a TOML file. Unknown
    names are a UsageError.
    """
    environ = os.environ if environ is None else environ
    flags = {name: value for name, value in (flags or {}).items() if value is not None}
    values: dict[str, Any] = {}
    origins: Origins = {setting.name: "default" for setting in fields(Config)}
    path = flags.pop("config", None) or environ.get(ENVIRONMENT_PREFIX + "CONFIG")
    if path:
        for name, value in _read_file(Path(path)).items():
            _accept(name, value, values, origins, f"file {path}", name)
    for variable, text in sorted(environ.items()):
        if variable.startswith(ENVIRONMENT_PREFIX) and variable != ENVIRONMENT_PREFIX + "CONFIG":
            _accept(variable[len(ENVIRONMENT_PREFIX) :].lower(), text, values, origins, "environment", variable)
    for name, value in flags.items():
        _accept(name, value, values, origins, "flag", "--" + name.replace("_", "-"))
    return Config(**values), origins


def get_cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Where the user's programs keep what can be made again (XDG base directories). RuntimeError without a home."""
    named = (os.environ if environ is None else environ).get("XDG_CACHE_HOME", "")
    # One that is not absolute is to be ignored.
    return Path(named) if named.startswith("/") else Path.home() / ".cache"


def can_use_colours(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a terminal is to be told in colours (https://no-color.org)."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"


def find_service_manager(environ: Mapping[str, str] | None = None) -> tuple[str, float]:
    """Return the socket on which a service manager listens (sd_notify(3)) and the seconds between signs of life.

    The socket is empty where there is no service manager, and the seconds are 0 where it expects no signs of life.
    """
    environ = os.environ if environ is None else environ
    is_for_this_process = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    microseconds = environ.get("WATCHDOG_USEC", "") if is_for_this_process else ""
    is_number = microseconds.isascii() and microseconds.isdigit()
    return environ.get("NOTIFY_SOCKET", ""), int(microseconds) / 1e6 if is_number else 0.0


def describe_settings(config: Config, origins: Origins) -> list[dict[str, str]]:
    """Every setting as ``{name, value, origin, help}``, secrets masked, in the order of :class:`Config`."""
    rows = []
    for setting in fields(config):
        value = getattr(config, setting.name)
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        shown = "********" if setting.metadata["secret"] and value else text
        origin = origins.get(setting.name, "default")
        rows.append({"name": setting.name, "value": shown, "origin": origin, "help": setting.metadata["help"]})
    return rows


def _accept(name: str, raw: Any, values: dict[str, Any], origins: Origins, origin: str, said: str) -> None:
    if name not in origins:
        raise UsageError(f"unknown setting {said} ({origin}){_meant(name, said, origins)}; see finapi config")
    values[name] = _TABLES[name](raw, said) if name in _TABLES else _convert(raw, _kind(name), said)
    origins[name] = origin


def _meant(name: str, said: str, known: Iterable[str]) -> str:
    """Which setting was meant by an unknown one, spelt as that is: a flag, a variable or a name of the file."""
    from difflib import get_close_matches

    meant = "".join(get_close_matches(name, known, 1, 0.7))
    if meant and said.startswith("--"):
        meant = "--" + meant.replace("_", "-")
    elif meant and said.startswith(ENVIRONMENT_PREFIX):
        meant = ENVIRONMENT_PREFIX + meant.upper()
    return f", did you mean {meant}?" if meant else ""


def _kind(name: str) -> Any:
    """The type of one setting: to find those of all takes 5 ms, and most starts set three."""
    alone = SimpleNamespace(__annotations__={name: Config.__annotations__[name]})
    return get_type_hints(alone, globals())[name]


def _convert(raw: Any, kind: Any, said: str) -> Any:
    """``raw`` (text from flags and environment, typed from TOML) as ``kind``, or a UsageError that says why."""
    if get_origin(kind) is Literal:
        allowed = get_args(kind)
        if raw not in allowed:
            raise UsageError(f"{said}: must be one of {', '.join(allowed)}, not {raw!r}")
        return raw
    if get_origin(kind) is tuple:
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{said}: must be a list of strings")
        return tuple(part.strip() for part in parts if part.strip())
    if kind is Path and isinstance(raw, str | Path):
        try:
            return Path(raw).expanduser()
        except RuntimeError as error:
            raise UsageError(f"{said}: {error}") from None
    if kind is str and isinstance(raw, str):
        return raw
    if kind not in (int, float) or isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise UsageError(f"{said}: must be {_KIND_NAMES[kind]}, not {raw!r}")
    try:
        number = kind(raw)
        fraction = float(raw)
    except (ValueError, OverflowError):
        raise UsageError(f"{said}: must be {_KIND_NAMES[kind]}, not {raw!r}") from None
    if number != number or number in (float("inf"), float("-inf")) or (kind is int and number != fraction):
        raise UsageError(f"{said}: must be {_KIND_NAMES[kind]}, not {raw!r}")
    return number


_TERMS = ("tokens", "period", "price")


def _own_plans(raw: Any, said: str) -> tuple[CustomPlan, ...]:
    plans = []
    for name, told in _table(raw, said).items():
        terms = _table(told, f"{said}.{name}")
        unknown = next((one for one in terms if one not in _TERMS), None)
        if unknown is not None:
            meant = _meant(unknown, unknown, _TERMS)
            raise UsageError(f"{said}.{name}: {unknown} is no term of a plan{meant}; there are {', '.join(_TERMS)}")
        period = terms.get("period", "month")
        numbers = [terms.get("tokens", 0), terms.get("price", 0)]
        well = all(type(one) is int and 0 <= one <= 10**12 for one in numbers) and period in ("week", "month", "year")
        if not well or not re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", name):
            raise UsageError(
                f"{said}.{name}: a plan is a name of a-z, 0-9, _ and -, with whole tokens and a price in dollars and a "
                "period of week, month or year"
            )
        plans.append(CustomPlan(name, **terms))
    return tuple(plans)


def _costs(raw: Any, said: str) -> tuple[tuple[str, int], ...]:
    told = _table(raw, said)
    if not all(type(cost) is int and 0 <= cost <= 10**9 for cost in told.values()):
        raise UsageError(f"{said}: a cost must be a whole number of tokens")
    return tuple(told.items())


def _table(raw: Any, said: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise UsageError(f"{said}: must be a table in the file (--config)")
    return raw


_TABLES: dict[str, Callable[[Any, str], Any]] = {"plans": _own_plans, "costs": _costs}

_KIND_NAMES = {int: "a whole number", float: "a number", str: "a text", Path: "a path"}


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # not TOML, not UTF-8, a number too long to read
        raise UsageError(f"{path}: {error}") from None


def _target(text: str) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name) or not re.fullmatch(r"https?://[\x21-\x7e]+", url):
        raise UsageError(
            "setting watchdog_targets: must be NAME=URL, the name of a-z, 0-9, ., _ and -, an http or https URL"
        )
    return name, url


def _check_url(name: str, text: str) -> None:
    """A URL that links begin with: a path is appended to it, so that it must not end in a slash."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not text.endswith("/")
    except ValueError:
        fits = False
    if text and not (fits and text.isprintable() and " " not in text):
        raise UsageError(f"setting {name}: must be an http or https URL without a slash at its end")
