"""Checks for problems of a host that would keep finapi from serving well (``finapi doctor``).

Each check in ``CHECKS`` yields one or more observations: whether all is well, a description, and how to fix it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Literal, TypedDict

from finapi import app as apps
from finapi.core import master_secrets
from finapi.core.clock import Clock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.net import mail
from finapi.net.letters import MailError
from finapi.net.outbound import Outbound, OutboundError, OutboundRequest, ReachPolicy
from finapi.store import account_moves, backup, datadir
from finapi.store.db import SQLITE, Database, DatabaseError
from finapi.store.schema import has_full_text, newest_version

TIMEOUT_SECONDS = 10.0  # Maximum wait for the response of a mail server or of EDGAR.
GIB = 1 << 30
MIN_FREE_BYTES = GIB // 4
MIN_MEMORY_BYTES = 300 << 20
MAX_CLOCK_SKEW_SECONDS = 30.0  # Links and tokens contain times.
EDGAR_TEST_PATH = "/files/company_tickers.json"


class Finding(TypedDict):
    """An observation of a check, as it is printed. ``fix`` is None if the state is ``ok``."""

    check: str
    state: Literal["ok", "warning", "wrong"]
    found: str
    fix: str | None


# The observations of a check. Each has three values: True if all is well, False for a problem or None for a warning;
# a description; and how to fix it.
Observations = Iterator[tuple[bool | None, str, str]]


def check_settings(config: Config, clock: Clock) -> None:
    """Raise UsageError for settings that ``serve`` refuses."""
    config.check_exposure()
    mail.MailSettings(
        mail.MemoryTransport() if config.mail_directory else mail.create_transport(config.smtp_url, clock),
        config.mail_from,
    )
    if config.secrets:
        master_secrets.read_or_create(config)
    if config.watchdog_urls:
        from finapi.ops import probes

        probes.check_targets(config)
    if config.poll_every:
        from finapi.market.intake import gateway

        gateway.check_config(config)


def list_findings(config: Config, clock: Clock) -> list[Finding]:
    """Return the findings of every check, in the order of CHECKS."""
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        try:
            observations = list(check(config, clock))
        except OSError as error:
            fix = "see the message"
            if isinstance(error, PermissionError):
                fix = "run it as the user whose files these are"
            observations = [(False, f"{error.filename}: {error.strerror}", fix)]
        except (UsageError, DatabaseError) as error:
            observations = [(False, str(error), "see the message")]
        for is_ok, text, fix in observations:
            state = _STATES[is_ok]
            findings.append({"check": name, "state": state, "found": text, "fix": None if is_ok else fix})
    return findings


_STATES: dict[bool | None, Literal["ok", "warning", "wrong"]] = {True: "ok", None: "warning", False: "wrong"}


def _check_all_settings(config: Config, clock: Clock) -> Observations:
    check_settings(config, clock)
    yield True, "serve accepts all of them", ""


def _check_data_directory(config: Config, clock: Clock) -> Observations:
    directory = config.data_dir
    if not directory.is_dir():
        existing_directory = _find_existing_directory(config)
        if os.access(existing_directory, os.W_OK | os.X_OK):
            yield None, f"{directory} is not there yet", "finapi serve makes it; or name another with --data-dir"
        else:
            text = f"{directory} cannot be made: {existing_directory} is not writable"
            yield False, text, "name another with --data-dir"
        return
    datadir.check_permissions(directory)
    from finapi.ops.proof import find_write_error

    # The directory's mode may allow writing although the disk is full or read-only, so a file is really written.
    problem = find_write_error(directory)
    if not problem:
        yield True, f"{directory} is writable", ""
    elif os.access(directory, os.W_OK | os.X_OK):
        fix = "make room, or mount it so that it can be written"
        yield False, f"{directory} is not writable: {problem}", fix
    else:
        yield False, f"{directory} is not writable: {problem}", f"chown -R {os.geteuid()} {directory}"
    secrets = master_secrets.get_path(config)
    if secrets.exists():
        closed = not secrets.stat().st_mode & master_secrets.OTHERS_MODE_BITS
        yield (closed, f"{secrets} is {'closed' if closed else 'open'} to others", f"chmod 600 {secrets}")


def _find_existing_directory(config: Config) -> Path:
    """Return the data directory, or its nearest parent that exists."""
    return next(directory for directory in (config.data_dir, *config.data_dir.absolute().parents) if directory.is_dir())


def _check_database(config: Config, clock: Clock) -> Observations:
    file, newest = config.data_dir / datadir.DATABASE, newest_version()
    version = backup.read_version(file)
    if version == newest:
        backup.check_is_complete(file)
    text = f"schema {version} of {newest}" if file.exists() else "there is none yet"
    yield version <= newest, text, "a newer finapi wrote it: install that one"
    advice = "a Python whose SQLite is built with FTS5, as Debian's and python.org's are"
    if has_full_text():
        yield True, "SQLite has FTS5 for full text search", advice
    else:
        yield None, "SQLite has no FTS5: full text search answers 501", advice
    yield SQLITE >= (3, 37), f"SQLite {'.'.join(map(str, SQLITE))}", "3.37 or later is needed: a newer Python or system"


def _check_accounts(config: Config, clock: Clock) -> Observations:
    account_moves.check_decided(config.data_dir)
    file = config.data_dir / datadir.DATABASE
    database = None
    if file.exists() and backup.read_version(file) == newest_version():
        with closing(Database(file, reads_only=True)) as db:
            database = account_moves.find_database(db, config.data_dir)
    if config.accounts_url:
        apps.require_psycopg()
        from finapi.store import postgres

        state = postgres.inspect_accounts(config.accounts_url)
        yield state.can_be_opened, state.text, "see the message"
    elif database is not None:
        fix = "FINAPI_ACCOUNTS_URL=postgresql://..., or: finapi move --to file"
        yield False, f"they are in {database}, and accounts_url is not set", fix
    else:
        yield True, "they are in the data directory", ""


def _check_disk(config: Config, clock: Clock) -> Observations:
    import shutil

    free_bytes = shutil.disk_usage(_find_existing_directory(config)).free
    file = config.data_dir / datadir.DATABASE
    database_bytes = file.stat().st_size if file.exists() else 0
    is_ok: bool | None = None
    if free_bytes < MIN_FREE_BYTES:
        is_ok = False
    elif free_bytes > max(database_bytes, GIB):
        is_ok = True
    fix = "make room: a backup and an upgrade need as much again as the database"
    yield is_ok, f"{free_bytes / GIB:.1f} GiB free, the database has {database_bytes / GIB:.1f}", fix
    if config.backup_dir:
        exists = Path(config.backup_dir).is_dir()
        text = f"backups go to {config.backup_dir}{'' if exists else ', which is no directory'}"
        yield exists, text, f"mount it, or: mkdir {config.backup_dir}"


def _check_process_limits(config: Config, clock: Clock) -> Observations:
    needed_files = 3 * config.connection_limit + config.feed_connections + 100
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    is_ok = True if hard_limit < 0 or hard_limit >= needed_files else None
    yield (
        is_ok,
        f"{hard_limit} open files allowed, {needed_files} wanted",
        f"LimitNOFILE={needed_files} in the unit, or ulimit -Hn {needed_files}",
    )
    memory_limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if memory_limit >= 0:
        yield memory_limit >= MIN_MEMORY_BYTES, f"{memory_limit >> 20} MiB of memory allowed", "ulimit -v unlimited"


def _check_mail(config: Config, clock: Clock) -> Observations:
    if config.mail_directory is not None:
        yield None, f"mails are files in {config.mail_directory}", "FINAPI_SMTP_URL=smtp://user:password@host"
        return
    from finapi.net.smtp import SmtpTransport

    try:
        SmtpTransport(config.smtp_url).send(None, min(config.mail_timeout, TIMEOUT_SECONDS))
        yield True, "the server greets and lets us in", ""
    except MailError as error:
        yield False, str(error), "FINAPI_SMTP_URL; then: finapi mail test you@example.com"


def _check_edgar(config: Config, clock: Clock) -> Observations:
    from finapi.market.intake import gateway

    directory = gateway.find_archive_directory(config.base_url)
    if directory is not None:
        yield directory.is_dir(), f"the archive directory {directory}", "--base-url: a directory that is there"
        return
    if not config.user_agent:
        yield None, "no user agent: EDGAR is not polled", "--user-agent 'Your Name name@example.com'"
        return
    gateway.check_config(config)
    url = (config.base_url.rstrip("/") or gateway.HOSTS["www"]) + EDGAR_TEST_PATH
    request = OutboundRequest(url, "HEAD", {"User-Agent": config.user_agent}, timeout_seconds=TIMEOUT_SECONDS)
    try:
        reply = Outbound(ReachPolicy(allows_any_address=True)).send(request)
    except OutboundError as error:
        yield False, f"{url}: {error.reason}", "let this host reach it: DNS, routes, firewall, a proxy of the network"
        return
    fix = "403: another user agent, or ten minutes without a request; else look at the address"
    yield reply.status == 200, f"{url} answers {reply.status}", fix
    if "date" in reply.headers:
        yield from _check_clock_skew(clock.now(), reply.headers["date"])


def _check_clock_skew(now: datetime, date: str) -> Observations:
    from email.utils import parsedate_to_datetime

    try:
        seconds = (now - parsedate_to_datetime(date)).total_seconds()
    except (TypeError, ValueError):
        return
    yield (
        abs(seconds) <= MAX_CLOCK_SKEW_SECONDS,
        f"the clock is {seconds:+.0f} s from theirs",
        "timedatectl set-ntp true",
    )


def _check_clock(config: Config, clock: Clock) -> Observations:
    file = config.data_dir / datadir.DATABASE
    paths = [path for path in (file, file.with_name(f"{file.name}-wal")) if path.exists()]
    written_at = max((path.stat().st_mtime for path in paths), default=0)
    lead_seconds = written_at - clock.now().timestamp()
    yield (
        lead_seconds <= MAX_CLOCK_SKEW_SECONDS,
        f"{clock.now():%Y-%m-%d %H:%M:%S} UTC",
        f"the database was written {lead_seconds:.0f} s later: set the clock",
    )


def _check_proxy(config: Config, clock: Clock) -> Observations:
    has_tls = config.public_url.startswith("https://")
    if config.is_reachable_remotely and not has_tls:
        yield (
            None,
            "keys and passwords travel in the clear",
            "a proxy with TLS in front (deploy/), and --public-url https://...",
        )
    elif has_tls and not config.trusted_proxies:
        fix = "--trusted-proxies 127.0.0.1: without it all callers share the proxy's address and its limits"
        yield None, f"{config.public_url} leads through a proxy that is not trusted", fix
    else:
        yield True, ", ".join(config.trusted_proxies) or "none", ""


CHECKS: dict[str, Callable[[Config, Clock], Observations]] = {
    "settings": _check_all_settings,
    "data directory": _check_data_directory,
    "database": _check_database,
    "accounts": _check_accounts,
    "disk": _check_disk,
    "limits": _check_process_limits,
    "clock": _check_clock,
    "mail": _check_mail,
    "EDGAR": _check_edgar,
    "proxy": _check_proxy,
}
