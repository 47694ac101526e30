"""Every setting, its type, unit, default and reason; where each value came from; and the master secrets.

Precedence (CONTRACT 12): flags over ``FINAPI_*`` over ``--config FILE`` (TOML) over the defaults here.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from finapi.errors import UsageError

PREFIX = "FINAPI_"
MIB = 1024 * 1024


def _setting(default: Any, help: str, *, secret: bool = False, least: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "secret": secret, "least": least})


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force. Names are those of the flags and, upper-cased after ``FINAPI_``, the environment."""

    # Loopback: a service that nobody configured is reachable by nobody else.
    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8000, "TCP port; 0 picks a free one", least=0)
    data_dir: Path = _setting(Path("finapi-data"), "directory of the database, the secrets and the lock")
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
    # A request's head of a kilobyte takes longer than this only from a sender who wants it to.
    header_timeout: float = _setting(15.0, "seconds for the head of a request to arrive", least=0.05)
    channel_timeout: float = _setting(60.0, "seconds that an idle connection is kept", least=0.05)
    body_limit: int = _setting(50 * MIB, "bytes of a request body (SPEC: 50 MB)", least=0)
    server_timeout: float = _setting(300.0, "seconds that a call may take (SPEC: 300)", least=0.05)
    # A statement is about 10 KB: the questions that are asked all the time fit several times over.
    answer_bytes: int = _setting(32 * MIB, "bytes of answers kept for the next who asks the same", least=0)
    queue_limit: int = _setting(512, "requests waiting for a thread before 503", least=1)
    drain_timeout: float = _setting(5.0, "seconds that running calls are given at a stop", least=0)
    trusted_proxies: tuple[str, ...] = _setting(
        (), "addresses or CIDR ranges whose X-Forwarded-For is believed, comma-separated"
    )

    # FULL: a debit that was answered survives a power cut. NORMAL may lose the last commits of a crash of the
    # machine (never of the process) and commits several times faster on slow disks.
    synchronous: Literal["FULL", "NORMAL"] = _setting("FULL", "durability of a commit")

    smtp_url: str = _setting(
        "", "smtp://[USER:PASSWORD@]HOST or smtps://...; empty: mails become .eml files", secret=True
    )
    mail_dir: str = _setting("", "directory of .eml files, instead of sending; empty: mail/ in data_dir")
    mail_timeout: float = _setting(10.0, "seconds that the sending of one mail may take", least=0.05)
    mail_from: str = _setting("finapi <finapi@localhost>", "sender of mails")

    # OWASP's least memory for argon2id; "library" is argon2-cffi's own, "cheap" is for tests.
    password_profile: Literal["default", "library", "cheap"] = _setting("default", "cost of a password hash")
    hashes_at_once: int = _setting(2, "password hashes computed at once (19 MiB each)", least=1)
    # With those computed fewer than the threads, so that logins cannot hold every one of them.
    hashes_waiting: int = _setting(4, "password hashes waiting before 503", least=0)
    hash_wait: float = _setting(5.0, "seconds that a login waits for its turn", least=0)
    session_lifetime: int = _setting(3600, "seconds that a session token lives (SPEC: 1 hour)", least=1)
    device_limit: int = _setting(2, "sessions of a user at once (SPEC: 2)", least=1)
    verification_lifetime: int = _setting(86_400, "seconds that a verification link lives", least=1)
    reset_lifetime: int = _setting(86_400, "seconds that a reset token lives (SPEC: 24 h)", least=1)
    invite_token_lifetime: int = _setting(900, "seconds that an invite token lives", least=1)
    lockout_emails: int = _setting(100_000, "emails whose failed logins are counted at once", least=16)

    feed_connections: int = _setting(2_000, "feed connections open at once, of everybody", least=1)
    feed_strangers: int = _setting(256, "feed sessions at once that have not said who they are", least=1)
    feed_strangers_per_address: int = _setting(64, "of them from one address", least=1)
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
    sql_at_once: int = _setting(2, "SQL proxy: queries that run at once before 503", least=1)

    log_format: Literal["text", "json"] = _setting("text", "access and event log on stderr")
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "least level that is logged")

    # SPEC "Limits"; nginx's limit_req with nodelay: rate a minute and burst.
    financials_per_minute: int = _setting(30, "financials endpoints: requests a minute", least=1)
    financials_burst: int = _setting(10, "financials endpoints: burst beyond the rate", least=0)
    xbrl_per_minute: int = _setting(120, "XBRL endpoints: requests a minute", least=1)
    xbrl_burst: int = _setting(30, "XBRL endpoints: burst beyond the rate", least=0)
    insider_per_minute_free: int = _setting(100, "insider service, plan free: requests a minute", least=1)
    insider_per_minute_paid: int = _setting(600, "insider service, other plans: requests a minute", least=1)
    sql_per_minute: int = _setting(30, "SQL proxy: requests a minute", least=1)
    app_per_minute: int = _setting(60, "endpoints without a limit of their own: requests a minute", least=1)
    app_per_hour: int = _setting(1_000, "endpoints without a limit of their own: requests an hour", least=1)
    register_per_hour_per_ip: int = _setting(5, "registrations an hour per address", least=1)
    register_per_hour_per_email: int = _setting(3, "registrations an hour per email", least=1)
    resend_per_hour_per_ip: int = _setting(5, "calls of resend-verification an hour per address", least=1)
    resend_per_hour_per_email: int = _setting(3, "verification mails an hour per email", least=1)
    limit_keys: int = _setting(100_000, "callers that a limit remembers at once", least=16)

    # The SEC allows ten requests a second to whoever says who they are.
    user_agent: str = _setting("", "who asks EDGAR: a name and a contact address, which the SEC demands")
    base_url: str = _setting("", "a mirror of EDGAR, or an archive directory; empty: the SEC")
    edgar_per_second: float = _setting(10.0, "requests to EDGAR a second (SEC: 10)", least=0.01)
    poll_every: float = _setting(0.0, "seconds between looks at EDGAR's feed by serve; 0: none", least=0)

    # SPEC "Webhook delivery".
    webhook_allow: tuple[str, ...] = _setting(
        (), "CIDR ranges that webhooks may reach although they are not public, plain http there too"
    )
    webhook_timeout: float = _setting(10.0, "seconds for a receiver's reply (SPEC: 10)", least=0.05)
    webhook_retries: tuple[str, ...] = _setting(
        ("10", "60", "300"),
        "seconds after which a failed delivery is tried again, in turn (SPEC: 10, 60, 300)",
    )
    webhook_threads: int = _setting(32, "deliveries under way at once", least=2)
    sniper_slots: int = _setting(5, "sniper targets of an account at once", least=1)
    feeds_free: int = _setting(1, "feed connections at once, plan free", least=0)
    feeds_paid: int = _setting(5, "feed connections at once, other plans", least=0)
    feed_catchup: int = _setting(20, "events that a new feed connection is replayed", least=0)

    # CONTRACT 4: tokens of a plan's period.
    free_tokens: int = _setting(2_000, "tokens a month of the plan free", least=0)
    weekly_tokens: int = _setting(50_000, "tokens a week of the plan weekly", least=0)
    monthly_tokens: int = _setting(200_000, "tokens a month of the plan monthly", least=0)
    pro_tokens: int = _setting(500_000, "tokens a month of the plan pro", least=0)
    yearly_tokens: int = _setting(2_400_000, "tokens a year of the plan yearly", least=0)

    def __post_init__(self) -> None:
        for setting in fields(self):
            least = setting.metadata["least"]
            if least is not None and getattr(self, setting.name) < least:
                raise UsageError(f"setting {setting.name}: must be at least {least:g}")
        if self.port > 65535:
            raise UsageError("setting port: must be at most 65535")
        for network in self.trusted_proxies:
            _check_network("trusted_proxies", network)
        for network in self.webhook_allow:
            _check_network("webhook_allow", network)
        if any(wait < 0 for wait in self.retry_seconds):
            raise UsageError("setting webhook_retries: must be seconds from 0 on")
        if len(self.targets) < len(self.watchdog_targets):
            raise UsageError("setting watchdog_targets: a name stands twice")
        for name in ("public_url", "frontend_url", "upgrade_url"):
            _check_url(name, getattr(self, name))
        if "://" in self.base_url and not self.base_url.startswith("file:///"):
            _check_url("base_url", self.base_url)

    @property
    def retry_seconds(self) -> tuple[float, ...]:
        """``webhook_retries`` as numbers."""
        return tuple(_convert(text, float, "setting webhook_retries") for text in self.webhook_retries)

    @property
    def upgrade_page(self) -> str:
        """Where plans are described: what a 402 names."""
        return self.upgrade_url or f"{self.public_url}/plans"

    @property
    def mail_directory(self) -> Path | None:
        """Where mails are written as .eml files; None when they are sent by SMTP."""
        if self.mail_dir:
            return Path(self.mail_dir)
        return None if self.smtp_url else self.data_dir / "mail"

    @property
    def targets(self) -> dict[str, str]:
        """The URLs of ``watchdog_targets`` by name."""
        return dict(_target(text) for text in self.watchdog_targets)


# Where a value came from, by setting name: "default", "file PATH", "environment", "flag".
Origins = dict[str, str]


def load(
    flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Config, Origins]:
    """The settings in force and where each came from.

    ``flags`` holds values already given on the command line (None: not given), ``config`` among them names a
    TOML file; ``environ`` defaults to the process environment. Unknown names, in either, are a UsageError.
    """
    environ = os.environ if environ is None else environ
    flags = {name: value for name, value in (flags or {}).items() if value is not None}
    kinds = get_type_hints(Config)
    values: dict[str, Any] = {}
    origins: Origins = {setting.name: "default" for setting in fields(Config)}
    path = flags.pop("config", None) or environ.get(PREFIX + "CONFIG")
    if path:
        for name, value in _read_file(Path(path)).items():
            _accept(name, value, kinds, values, origins, f"file {path}", name)
    for variable, text in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable != PREFIX + "CONFIG":
            _accept(variable[len(PREFIX) :].lower(), text, kinds, values, origins, "environment", variable)
    for name, value in flags.items():
        _accept(name, value, kinds, values, origins, "flag", "--" + name.replace("_", "-"))
    return Config(**values), origins


def described(config: Config, origins: Origins) -> list[dict[str, str]]:
    """Every setting as ``{name, value, origin, help}``, secrets masked, in the order of :class:`Config`."""
    rows = []
    for setting in fields(config):
        value = getattr(config, setting.name)
        shown = "********" if setting.metadata["secret"] and value else _as_text(value)
        origin = origins.get(setting.name, "default")
        rows.append(
            {"name": setting.name, "value": shown, "origin": origin, "help": setting.metadata["help"]}
        )
    return rows


def master_secrets(config: Config) -> list[bytes]:
    """The master secrets, newest first: from the setting, or from ``secrets`` in the data directory.

    The file (mode 0600) is made with one fresh secret when it does not exist; a line each, in hex. Rotation
    puts a new line on top: new things are derived from the first, old ones are still verified by the rest.
    """
    if config.secrets:
        return _parse_secrets(config.secrets.split(","), "setting secrets")
    path = config.data_dir / "secrets"
    if not path.exists():
        _write_first_secret(path)
    return _parse_secrets(path.read_text("ascii", errors="replace").split(), str(path))


def _write_first_secret(path: Path) -> None:
    """Write a fresh secret to ``path`` unless another start is first: it appears whole, and once."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="secrets-")  # mode 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


def _accept(
    name: str,
    raw: Any,
    kinds: dict[str, Any],
    values: dict[str, Any],
    origins: Origins,
    origin: str,
    said: str,
) -> None:
    if name not in kinds:
        raise UsageError(f"unknown setting {said} ({origin}); see finapi config")
    values[name] = _convert(raw, kinds[name], said)
    origins[name] = origin


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
            raise UsageError(f"{said}: must be a list of texts")
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


_KIND_NAMES = {int: "a whole number", float: "a number", str: "a text", Path: "a path"}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # not TOML, not UTF-8, a number too long to read
        raise UsageError(f"{path}: {error}") from None


def _as_text(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _check_network(name: str, text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise UsageError(f"setting {name}: {error}") from None


def _target(text: str) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name) or not re.fullmatch(
        r"https?://[\x21-\x7e]+", url
    ):
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


def _parse_secrets(lines: list[str], place: str) -> list[bytes]:
    try:
        parsed = [bytes.fromhex(line.strip()) for line in lines if line.strip()]
    except ValueError:
        raise UsageError(f"{place}: a master secret must be written in hex") from None
    if not parsed or any(len(secret) < 32 for secret in parsed):
        raise UsageError(f"{place}: needs at least one master secret of 32 bytes or more")
    return parsed
