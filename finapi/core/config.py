"""All settings, with their types, defaults and help texts, and the origin of each value.

A flag takes precedence over a variable ``FINAPI_*``, that over the TOML file of ``--config``, and that over the default
(DECISIONS 12). A comment on a setting gives the reason for its default.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from finapi.core.bounds import BOUND_NAMES, MIB, Bounds
from finapi.core.errors import UsageError

ENVIRONMENT_PREFIX = "FINAPI_"
CONFIG_VARIABLE = ENVIRONMENT_PREFIX + "CONFIG"
MASK = "********"  # Shown instead of a secret.
_PUBLIC_PATH = re.compile("(/[A-Za-z0-9._~-]+)*")
MAIL_FROM = "finapi <finapi@localhost>"


def _setting(default: Any, help: str, *, secret: bool = False, minimum: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "secret": secret, "minimum": minimum})


class CustomPlan(NamedTuple):
    """A plan that the operator defines, or changes to a built-in plan.

    ``tokens`` is the number of tokens that each period grants, ``price`` is in dollars for a period. In a built-in
    plan, a member that is None keeps its built-in value.
    """

    name: str
    tokens: int | None = None
    period: Literal["week", "month", "year"] | None = None
    price: int | None = None


# The settings that most hosts change. The help and the list of settings begin with them; the others are for special
# cases, and their defaults fit a small host.
USUAL_SETTINGS = (
    "host",
    "port",
    "public",
    "public_url",
    "data_dir",
    "trusted_proxies",
    "smtp_url",
    "mail_from",
    "user_agent",
    "poll_every",
    "pages",
    "backup_dir",
    "backup_secrets",
    "metrics_token",
    "security_contact",
)


@dataclass(frozen=True, slots=True, repr=False)
class Config(Bounds):
    """The settings. ``body_limit`` is the flag ``--body-limit`` and the variable ``FINAPI_BODY_LIMIT``.

    The bounds that it inherits are not settings (``list_settings``).
    """

    # Loopback: without configuration, other machines cannot reach the service.
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8000, "TCP port; 0 picks a free one", minimum=0)
    role: Literal["all", "api", "worker"] = _setting(
        "all",
        "what serve does: all, or only api (answer calls from a copy of the market data) or worker (fetch, deliver)",
    )
    data_dir: Path = _setting(Path("finapi-data"), "directory of the database, the secrets and the lock")
    public: Literal["yes", "no"] = _setting("no", "yes allows a host that other machines can reach")
    public_url: str = _setting("", "base URL in links and documents, also with a path; empty: the listening address")
    frontend_url: str = _setting("", "base URL of the pages that links in mails lead to; empty: public_url")
    upgrade_url: str = _setting("", "URL in a 402 response where plans can be bought; empty: {public_url}/plans")
    secrets: str = _setting(
        "", "master secrets, newest first, comma-separated hex; empty: the file in data_dir", secret=True
    )

    # The interpreter runs one thread at a time. More threads let calls wait for the disk together, in one commit.
    threads: int = _setting(16, "threads that answer calls", minimum=1)
    cores: Literal["one", "all"] = _setting("one", "CPU cores that these threads may use")
    connection_limit: int = _setting(1000, "maximum open connections", minimum=1)
    # Only a client that delays on purpose takes longer for a kilobyte.
    header_timeout: float = _setting(15.0, "seconds in which the headers of a request must arrive", minimum=0.05)
    channel_timeout: float = _setting(60.0, "seconds after which an idle connection is closed", minimum=0.05)
    body_limit: int = _setting(50 * MIB, "maximum bytes of a request body (API default: 50 MB)", minimum=0)
    # If /tmp is in memory, so are the temporary files.
    spool_bytes: int = _setting(
        256 * MIB,
        "maximum bytes of temporary files for long bodies and unread answers; when full, the caller with the most "
        "loses its oldest file",
        minimum=0,
    )
    server_timeout: float = _setting(300.0, "maximum seconds of a call (API default: 300)", minimum=0.05)
    drain_timeout: float = _setting(
        5.0, "maximum seconds that running calls have to end when the server stops", minimum=0
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (), "addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted, comma-separated"
    )

    accounts_url: str = _setting(
        "", "postgresql://... of the database of accounts; empty: the database in data_dir", secret=True
    )

    litestream: Literal["no", "yes"] = _setting("no", "yes if Litestream replicates the database and checkpoints it")
    # The worker's watchdog writes to the database once a minute, so a copy that is followed is never this old.
    copy_age: float = _setting(
        300.0, "role api: maximum seconds by which the copy may be behind the worker before /readyz is 503", minimum=1
    )

    # FULL: a debit survives a power failure once its call is answered. NORMAL may lose the last commits if the machine
    # crashes (not if only the process does), and commits several times faster on slow disks.
    synchronous: Literal["FULL", "NORMAL"] = _setting("FULL", "durability of a commit")

    # A row has 150 bytes: at ten calls a second that is 11 GB. Sums for the usage endpoints are stored for longer.
    ledger_days: int = _setting(90, "days after which ledger rows are moved to an archive; 0: never", minimum=0)
    ledger_dir: str = _setting("", "directory of the ledger archives (CSV, gzip); empty: ledger/ in data_dir")
    usage_days: int = _setting(400, "days for which usage by day and endpoint is stored (365 are shown)", minimum=366)

    upgrade_copy: Literal["yes", "no"] = _setting("yes", "copy the database before an upgrade of its schema")
    backup_dir: str = _setting("", "directory of the backups that serve makes every night; empty: no backups")
    backup_hour: int = _setting(3, "hour of the day (UTC) after which the nightly backup is made", minimum=0)
    backups_kept: int = _setting(
        7, "number of backups that stay in backup_dir, of those with and of those without secrets", minimum=1
    )
    backup_secrets: Literal["with", "without"] = _setting(
        "without", "with: nightly backups contain the master secrets, which give access to every account"
    )

    smtp_url: str = _setting(
        "", "smtp://[USER:PASSWORD@]HOST or smtps://...; empty: mails are written as .eml files", secret=True
    )
    mail_dir: str = _setting("", "directory for mails as .eml files instead of SMTP; empty: mail/ in data_dir")
    # The files contain links and keys that work.
    mail_kept_days: int = _setting(7, "days after which .eml files are deleted", minimum=1)
    mail_records_days: int = _setting(
        30, "days after which the record of a mail is deleted; it does not contain the text", minimum=1
    )
    mail_from: str = _setting(MAIL_FROM, "sender of mails; with smtp_url it must be an address of yours")

    # The least memory that OWASP recommends for argon2id. "library" is argon2-cffi's default, "cheap" is for tests.
    password_profile: Literal["default", "library", "cheap"] = _setting("default", "cost of a password hash")
    # OWASP ASVS 2.1.7 requires it. A demo should accept any password of eight characters.
    common_passwords: Literal["refused", "allowed"] = _setting(
        "refused", "whether the 3,000 most common passwords are refused as new ones; demo allows them"
    )
    session_lifetime: int = _setting(
        3600, "seconds for which a session token is valid (API default: 1 hour)", minimum=1
    )
    device_limit: int = _setting(2, "maximum open sessions of a user (API default: 2)", minimum=1)
    verification_lifetime: int = _setting(86_400, "seconds for which a verification link is valid", minimum=1)
    reset_lifetime: int = _setting(86_400, "seconds for which a reset token is valid (API default: 24 h)", minimum=1)
    invite_token_lifetime: int = _setting(900, "seconds for which an invite token is valid", minimum=1)

    feed_connections: int = _setting(2_000, "maximum open feed connections of all callers", minimum=1)
    feed_origins: tuple[str, ...] = _setting(
        (), "origins of pages that may read the feeds, comma-separated; empty: all (they need a key)"
    )
    events_kept: int = _setting(
        10_000, "maximum events of a feed that are stored for clients that reconnect", minimum=20
    )
    events_kept_days: int = _setting(30, "days after which an event is deleted, except the newest 20", minimum=1)
    documents_bytes: int = _setting(
        512 * MIB,
        "maximum bytes of all stored primary documents, compressed; later ones are not stored",
        minimum=0,
    )
    exhibits_bytes: int = _setting(
        512 * MIB,
        "maximum bytes of all stored documents that are not primary ones, compressed; later ones are not stored",
        minimum=0,
    )
    # One file may have a quarter of it.
    bulk_bytes: int = _setting(
        256 * MIB, "maximum bytes of all files of complete days, months and quarters; 0: no such files", minimum=0
    )
    # The text is a fifth of the HTML. Text and index take half a byte for each character (measured on 10-Q and 10-K).
    documents_searched: int = _setting(
        512 * MIB,
        "maximum characters of documents in the full text index; later ones are not added",
        minimum=0,
    )

    watchdog_interval: int = _setting(60, "seconds between two checks of all components", minimum=1)
    watchdog_targets: tuple[str, ...] = _setting(
        (), "further URLs to check, comma-separated NAME=URL; they must answer 200"
    )
    metrics_token: str = _setting("", "bearer token for /metrics, for callers from other machines", secret=True)
    sql_seconds: float = _setting(2.0, "SQL proxy: maximum seconds of a query", minimum=0.01)
    sql_rows: int = _setting(
        1_000, "SQL proxy: maximum rows of an answer; a longer one is cut off and marked as such", minimum=1
    )
    sql_cpu_per_minute: float = _setting(20.0, "SQL proxy: maximum seconds of CPU a minute of an account", minimum=0.01)

    # A twelfth of a core: a thousand refusals that take a few milliseconds each, or a dozen of the most expensive ones.
    refunded_cpu_per_minute: float = _setting(
        5.0,
        "maximum seconds of CPU a minute for refunded calls of an account, or failed calls of an address",
        minimum=0.01,
    )

    log_format: Literal["text", "json"] = _setting("text", "format of the log on stderr")
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "lowest level that is logged")

    # DECISIONS 5: rates and bursts as in nginx's limit_req with nodelay.
    financials_per_minute: int = _setting(30, "financials endpoints: requests a minute", minimum=1)
    financials_burst: int = _setting(10, "financials endpoints: requests beyond the even rate", minimum=0)
    xbrl_per_minute: int = _setting(120, "XBRL endpoints: requests a minute", minimum=1)
    xbrl_burst: int = _setting(30, "XBRL endpoints: requests beyond the even rate", minimum=0)
    insider_per_minute_free: int = _setting(100, "insider service, plan free: requests a minute", minimum=1)
    insider_per_minute_paid: int = _setting(600, "insider service, other plans: requests a minute", minimum=1)
    sql_per_minute: int = _setting(30, "SQL proxy: requests a minute", minimum=1)
    app_per_minute: int = _setting(60, "endpoints without a limit of their own: requests a minute", minimum=1)
    app_per_hour: int = _setting(1_000, "endpoints without a limit of their own: requests an hour", minimum=1)
    register_per_hour_per_ip: int = _setting(5, "registrations an hour per address", minimum=1)
    register_per_hour_per_email: int = _setting(3, "registrations an hour per email", minimum=1)
    resend_per_hour_per_ip: int = _setting(5, "calls of resend-verification an hour per address", minimum=1)
    resend_per_hour_per_email: int = _setting(3, "verification mails an hour per email", minimum=1)

    default_windows: Literal["recent", "all"] = _setting(
        "recent", "days of calls without dates: recent ones, or all that are stored (as the demo does)"
    )

    # Clients that cannot be changed may send names that finapi does not know.
    unknown_parameters: Literal["refuse", "report"] = _setting(
        "refuse", "parameter names that a call does not have: refuse the call, or only report them in meta.ignored"
    )

    # Pages show figures for which API calls are charged, so that making them public is a decision of the operator.
    pages: Literal["public", "members", "off"] = _setting(
        "members", "who may see pages with data: everybody, those with an account, or nobody"
    )
    pages_per_minute: int = _setting(120, "pages: requests a minute", minimum=1)
    security_contact: str = _setting(
        "", "URL for reports of vulnerabilities, in security.txt; empty: mailto: mail_from"
    )

    # The SEC requires that clients identify themselves.
    user_agent: str = _setting("", "name and contact address for requests to EDGAR, which the SEC requires")
    base_url: str = _setting("", "URL of a mirror of EDGAR, or an archive directory; empty: the SEC")
    # One below the limit of the SEC, because requests that are sent at even intervals arrive at uneven ones.
    edgar_per_second: float = _setting(
        9.0, "requests to EDGAR a second, at even intervals (SEC: at most 10)", minimum=0.01
    )
    # A little more than four quarters.
    follow_days: int = _setting(
        400, "age in days up to which documents of a newly followed company are fetched", minimum=1
    )
    follow_forms: tuple[str, ...] = _setting(
        (),
        "forms of these documents, comma-separated (10-K,10-Q,8-K); empty: figures, insiders, 13F, and all new filings",
    )
    poll_every: float = _setting(
        0.0, "seconds between two reads of EDGAR's feed by serve; 0: it is not read", minimum=0
    )

    # DECISIONS 9.
    webhook_allow: tuple[str, ...] = _setting(
        (), "CIDR ranges of private addresses that webhooks may reach, also by plain http"
    )
    webhook_timeout: float = _setting(10.0, "seconds in which a receiver must reply (API default: 10)", minimum=0.05)
    webhook_retries: tuple[str, ...] = _setting(
        ("10", "60", "300"), "seconds before each retry of a failed delivery (API default: 10, 60, 300)"
    )
    # Off by default, because every event is promised its attempts.
    webhook_rest: float = _setting(
        0.0,
        "seconds for which a URL gets no events after it has missed five in a row; 0: it is never paused",
        minimum=0,
    )
    deliveries_kept_days: int = _setting(30, "days after which completed deliveries are deleted", minimum=1)
    webhook_threads: int = _setting(32, "maximum deliveries that run at the same time", minimum=2)
    sniper_slots: int = _setting(5, "maximum active sniper targets of an account", minimum=1)
    feeds_free: int = _setting(1, "maximum open feed connections of an account, plan free", minimum=0)
    feeds_paid: int = _setting(5, "maximum open feed connections of an account, other plans", minimum=0)

    # DECISIONS 4.
    free_tokens: int = _setting(2_000, "tokens a month of the plan free", minimum=0)
    weekly_tokens: int = _setting(50_000, "tokens a week of the plan weekly", minimum=0)
    monthly_tokens: int = _setting(200_000, "tokens a month of the plan monthly", minimum=0)
    pro_tokens: int = _setting(500_000, "tokens a month of the plan pro", minimum=0)
    yearly_tokens: int = _setting(2_400_000, "tokens a year of the plan yearly", minimum=0)
    plans: tuple[CustomPlan, ...] = _setting(
        (), 'further plans, in the file: [plans.gold] tokens = 1000000, period = "month", price = 99 (dollars)'
    )
    costs: tuple[tuple[str, int], ...] = _setting(
        (), 'different token costs of calls, in the file: [costs] "GET /api/v1/prices/{ticker}" = 2'
    )

    url: str = _setting(
        "", "base URL of the finapi server that get, watch ... call; empty: use the data directory directly"
    )
    api_key: str = _setting("", "API key for get, statements ...", secret=True)

    def __post_init__(self) -> None:
        for setting in list_settings():
            minimum = setting.metadata["minimum"]
            value = getattr(self, setting.name)
            if minimum is not None and value < minimum:
                raise UsageError(f"setting {setting.name}: must be at least {minimum:g}, not {value}")
        if self.backup_hour > 23:
            raise UsageError(f"setting backup_hour: must be at most 23, not {self.backup_hour}")
        if self.port > 65535:
            raise UsageError(f"setting port: must be at most 65535, not {self.port}")
        for name in ("trusted_proxies", "webhook_allow"):
            for text in getattr(self, name):
                try:
                    ipaddress.ip_network(text)
                except ValueError as error:
                    raise UsageError(f"setting {name}: {error}") from None
        for seconds in self.webhook_retry_seconds:
            if seconds < 0:
                raise UsageError(f"setting webhook_retries: must be seconds, 0 or more, not {seconds:g}")
        target_names = [_parse_target(text)[0] for text in self.watchdog_targets]
        for name in target_names:
            if target_names.count(name) > 1:
                raise UsageError(f"setting watchdog_targets: two targets are named {name}; give each its own name")
        for name in ("public_url", "frontend_url", "upgrade_url", "url"):
            _check_url(name, getattr(self, name))
        if not _PUBLIC_PATH.fullmatch(self.public_path) or set("?#") & set(self.public_url):
            raise UsageError(
                f"setting public_url: its path may have letters, digits and -._~ between slashes, and nothing may "
                f"follow it: {self.public_url}"
            )
        # The value is not repeated, because it may contain a password.
        if self.accounts_url and not self.accounts_url.startswith(("postgresql://", "postgres://")):
            raise UsageError("setting accounts_url: must begin with postgresql:// or postgres://")
        if "://" in self.base_url and not self.base_url.startswith("file:///"):
            _check_url("base_url", self.base_url)

    def __repr__(self) -> str:
        """Return the settings that differ from their defaults, without secrets, for tracebacks and failed tests."""
        parts = []
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value != setting.default:
                parts.append(f"{setting.name}={MASK if setting.metadata.get('secret') else repr(value)}")
        return f"Config({', '.join(parts)})"

    @property
    def is_reachable_remotely(self) -> bool:
        """Return True if other machines can reach the listening address."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"

    def check_exposure(self) -> None:
        """Raise UsageError if other machines can reach the listening address, and the operator has not allowed it."""
        if self.is_reachable_remotely and self.public == "no":
            raise UsageError(
                f"other machines can reach {self.host}: add --public, or listen on 127.0.0.1 behind a proxy with TLS"
            )

    @property
    def webhook_retry_seconds(self) -> tuple[float, ...]:
        """Return ``webhook_retries`` as numbers."""
        return tuple(_convert(text, float, "setting webhook_retries") for text in self.webhook_retries)

    @property
    def has_nodes(self) -> bool:
        """Return True if the service may have several nodes, because its accounts are in PostgreSQL."""
        return self.accounts_url != ""

    @property
    def public_path(self) -> str:
        """Return the path of ``public_url``, such as ``/finapi``, or "" if it has none."""
        _, slash, path = self.public_url.partition("://")[2].partition("/")
        return slash + path

    @property
    def plans_page_url(self) -> str:
        """Return the URL of the page that describes the plans. A response with status 402 contains it."""
        return self.upgrade_url or f"{self.public_url}/plans"

    @property
    def mail_directory(self) -> Path | None:
        """Return the directory of the .eml files, or None if mails are sent by SMTP."""
        if self.mail_dir:
            return Path(self.mail_dir)
        return None if self.smtp_url else self.data_dir / "mail"

    @property
    def ledger_directory(self) -> Path:
        """Return the directory of the ledger archives."""
        return Path(self.ledger_dir) if self.ledger_dir else self.data_dir / "ledger"

    @property
    def watchdog_urls(self) -> dict[str, str]:
        """Return the URLs of ``watchdog_targets`` by name."""
        return dict(_parse_target(text) for text in self.watchdog_targets)


def list_settings() -> list[Field[Any]]:
    """Return the settings that an operator can change: the fields of Config that are not bounds."""
    return [field for field in fields(Config) if field.name not in BOUND_NAMES]


def describe_former_setting(name: str) -> str | None:
    """Return the reason why a bound cannot be set, or None if the name is not that of a bound."""
    if name not in BOUND_NAMES:
        return None
    return "it is a constant now, so leave it out; see UPGRADING.md"


# The origin of each value by the name of its setting: "default", "file PATH", "environment" or "flag".
Origins = dict[str, str]


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> tuple[Config, Origins]:
    """Return the settings, and the origin of each value.

    ``flags`` are the values of the command line; None is a flag that was not given. The flag ``config`` names a TOML
    file. Raise UsageError for an unknown name or a wrong value.
    """
    environ = os.environ if environ is None else environ
    flags = {name: value for name, value in (flags or {}).items() if value is not None}
    settings_by_name: dict[str, Any] = {}
    origins: Origins = {setting.name: "default" for setting in list_settings()}

    def set_value(name: str, raw: Any, origin: str, spelling: str) -> None:
        reason = describe_former_setting(name)
        if reason is not None:
            raise UsageError(f"unknown setting {spelling} ({origin}): {reason}")
        if name not in origins:
            suggestion = _suggest(name, spelling, origins)
            raise UsageError(f"unknown setting {spelling} ({origin}){suggestion}; see finapi config")
        settings_by_name[name] = _parse_value(name, raw, spelling)
        origins[name] = origin

    path = flags.pop("config", None) or environ.get(CONFIG_VARIABLE)
    if path:
        for name, value in _read_file(Path(path)).items():
            set_value(name, value, f"file {path}", name)
    for variable, text in sorted(environ.items()):
        if variable.startswith(ENVIRONMENT_PREFIX) and variable != CONFIG_VARIABLE:
            set_value(variable.removeprefix(ENVIRONMENT_PREFIX).lower(), text, "environment", variable)
    for name, value in flags.items():
        set_value(name, value, "flag", "--" + name.replace("_", "-"))
    return Config(**settings_by_name), origins


def get_cache_directory() -> Path:
    """Return the directory for files of the user that can be recreated (XDG base directory specification).

    Raise RuntimeError if the user has no home directory.
    """
    directory = os.environ.get("XDG_CACHE_HOME", "")
    # By the specification, a relative path is ignored.
    return Path(directory) if directory.startswith("/") else Path.home() / ".cache"


def can_use_colours() -> bool:
    """Return True if output to a terminal may be coloured (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def find_service_manager(environ: Mapping[str, str] | None = None) -> tuple[str, float]:
    """Return the socket of the service manager (sd_notify(3)), and the seconds between keep-alive messages to it.

    The socket is "" if there is no service manager. The seconds are 0 if it expects no keep-alive messages.
    """
    environ = os.environ if environ is None else environ
    is_for_this_process = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    microseconds = environ.get("WATCHDOG_USEC", "") if is_for_this_process else ""
    is_number = microseconds.isascii() and microseconds.isdigit()
    return environ.get("NOTIFY_SOCKET", ""), int(microseconds) / 1e6 if is_number else 0.0


def describe_settings(config: Config, origins: Origins) -> list[dict[str, str]]:
    """Return all settings as ``{name, value, origin, help}``, the usual ones first. Secrets are masked."""
    rows = []
    for setting in sorted(list_settings(), key=lambda setting: setting.name not in USUAL_SETTINGS):
        value = getattr(config, setting.name)
        if setting.metadata["secret"] and value:
            text = MASK
        elif isinstance(value, tuple):
            text = ",".join(str(part) for part in value)
        else:
            text = str(value)
        origin = origins.get(setting.name, "default")
        rows.append({"name": setting.name, "value": text, "origin": origin, "help": setting.metadata["help"]})
    return rows


def _suggest(name: str, spelling: str, known_names: Iterable[str]) -> str:
    """Return the end of a message with the setting that was probably meant, spelt as the unknown one, or "".

    Such a spelling is a flag, a variable, or a name in the file.
    """
    from difflib import get_close_matches

    matches = get_close_matches(name, known_names, 1, 0.7)
    if not matches:
        return ""
    suggestion = matches[0]
    if spelling.startswith("--"):
        suggestion = "--" + suggestion.replace("_", "-")
    elif spelling.startswith(ENVIRONMENT_PREFIX):
        suggestion = ENVIRONMENT_PREFIX + suggestion.upper()
    return f", did you mean {suggestion}?"


# ---- values
#
# ``raw`` is text from a flag or a variable, or a value of the TOML file. ``spelling`` is the setting as the user wrote
# it, for messages. All functions raise UsageError for a wrong value.


def _parse_value(name: str, raw: Any, spelling: str) -> Any:
    if name == "plans":
        return _parse_plans(raw, spelling)
    if name == "costs":
        return _parse_costs(raw, spelling)
    if name == "host" and isinstance(raw, str) and raw.startswith("[") and raw.endswith("]"):
        return raw[1:-1]  # An IPv6 address as in a URL.
    return _convert(raw, _get_type(name), spelling)


def _get_type(name: str) -> Any:
    """Return the type of a setting. Only its annotation is evaluated: those of all settings take 5 ms."""
    holder = SimpleNamespace(__annotations__={name: Config.__annotations__[name]})
    return get_type_hints(holder, globals())[name]


def _convert(raw: Any, type_: Any, spelling: str) -> Any:
    """Return a raw value as the type of its setting."""
    if get_origin(type_) is Literal:
        allowed = get_args(type_)
        if raw not in allowed:
            raise UsageError(f"{spelling}: must be one of {', '.join(allowed)}, not {raw!r}")
        return raw
    if get_origin(type_) is tuple:
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{spelling}: must be a list of strings, not {raw!r}")
        return tuple(part.strip() for part in parts if part.strip())
    if type_ is Path and isinstance(raw, str | Path):
        try:
            return Path(raw).expanduser()
        except RuntimeError as error:
            raise UsageError(f"{spelling}: {error}") from None
    if type_ is str and isinstance(raw, str):
        return raw
    wrong_type = UsageError(f"{spelling}: must be {_TYPE_NAMES[type_]}, not {raw!r}")
    if type_ not in (int, float) or isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise wrong_type
    try:
        number = type_(raw)
        as_float = float(raw)
    except (ValueError, OverflowError):
        raise wrong_type from None
    # int() accepts a fraction from TOML.
    if not math.isfinite(as_float) or (type_ is int and number != as_float):
        raise wrong_type
    return number


_TYPE_NAMES = {int: "a whole number", float: "a number", str: "a text", Path: "a path"}
_PLAN_TERMS = ("tokens", "period", "price")
_PLAN_PERIODS = ("week", "month", "year")
MAX_PLAN_NUMBER = 10**12
MAX_COST = 10**9


def _parse_plans(raw: Any, spelling: str) -> tuple[CustomPlan, ...]:
    plans = []
    for name, raw_terms in _require_table(raw, spelling).items():
        terms = _require_table(raw_terms, f"{spelling}.{name}")
        for term in terms:
            if term not in _PLAN_TERMS:
                suggestion = _suggest(term, term, _PLAN_TERMS)
                allowed = ", ".join(_PLAN_TERMS)
                raise UsageError(f"{spelling}.{name}: {term} is not a term of a plan{suggestion}; use one of {allowed}")
        numbers = [terms.get("tokens", 0), terms.get("price", 0)]
        are_numbers_valid = all(type(number) is int and 0 <= number <= MAX_PLAN_NUMBER for number in numbers)
        is_period_valid = terms.get("period", "month") in _PLAN_PERIODS
        if not (are_numbers_valid and is_period_valid and re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", name)):
            raise UsageError(
                f"{spelling}.{name}: a plan is a name of a-z, 0-9, _ and -, with whole tokens and a price in dollars "
                "and a period of week, month or year"
            )
        plans.append(CustomPlan(name, **terms))
    return tuple(plans)


def _parse_costs(raw: Any, spelling: str) -> tuple[tuple[str, int], ...]:
    costs = _require_table(raw, spelling)
    for name, cost in costs.items():
        if not (type(cost) is int and 0 <= cost <= MAX_COST):
            raise UsageError(f"{spelling}: the cost of {name} must be 0 to {MAX_COST:,} whole tokens, not {cost!r}")
    return tuple(costs.items())


def _require_table(raw: Any, spelling: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise UsageError(f"{spelling}: must be a table in the file (--config), not {raw!r}")
    return raw


def _parse_target(text: str) -> tuple[str, str]:
    """Return the name and the URL of an entry ``NAME=URL`` of ``watchdog_targets``."""
    name, _, url = text.partition("=")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name) or not re.fullmatch(r"https?://[\x21-\x7e]+", url):
        raise UsageError(
            "setting watchdog_targets: must be NAME=URL, with a name of a-z, 0-9, ., _ and -, and an http or https "
            f"URL, not {text!r}"
        )
    return name, url


def _check_url(name: str, text: str) -> None:
    """Raise UsageError for a base URL that is wrong or ends in a slash: paths are appended to it."""
    if not text:
        return
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    is_url = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    if not is_url or text.endswith("/") or not text.isprintable() or " " in text:
        raise UsageError(f"setting {name}: must be an http or https URL without a slash at its end, not {text!r}")


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # Not TOML, not UTF-8, or a number that is too long.
        raise UsageError(f"{path}: {error}") from None
