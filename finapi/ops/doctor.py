"""What keeps a host from serving well, each finding with what mends it; and what ``serve`` would refuse of settings."""

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
from finapi.store.db import SQLITE, Database
from finapi.store.schema import has_full_text, newest_version

TIMEOUT_SECONDS = 10.0  # for a mail server or EDGAR to answer
GIB = 1 << 30
MIN_FREE_BYTES, MIN_MEMORY_BYTES = GIB // 4, 300 << 20  # bytes
MAX_CLOCK_SKEW_SECONDS = 30.0  # seconds that a clock may be wrong: links and tokens are dated
EDGAR_TEST_PATH = "/files/company_tickers.json"


class Finding(TypedDict):
    """What was found, and what mends it when it is not ``ok``."""

    check: str
    state: Literal["ok", "warning", "wrong"]
    found: str
    fix: str | None


Found = Iterator[tuple[bool | None, str, str]]  # whether it is well (None: nearly), what is there, what mends it


def check_settings(config: Config, clock: Clock) -> None:
    """UsageError for what ``serve`` would refuse of the settings."""
    if config.is_reachable_remotely and config.public == "no":
        raise UsageError(
            f"{config.host} can be reached by others: say --public, or listen on 127.0.0.1 behind a proxy with TLS"
        )
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
    """What was found of each thing that serving needs, in the order of CHECKS."""
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        try:
            found = list(check(config, clock))
        except (UsageError, OSError) as error:
            # An error of the system names the file, one of ours says what to do.
            told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
            owners = isinstance(error, PermissionError)
            found = [(False, told, "run it as the user whose files these are" if owners else "see the message")]
        for well, text, fix in found:
            state: Literal["ok", "warning", "wrong"] = "ok" if well else "warning" if well is None else "wrong"
            findings.append({"check": name, "state": state, "found": text, "fix": None if well else fix})
    return findings


def _check_all_settings(config: Config, clock: Clock) -> Found:
    check_settings(config, clock)
    yield True, "serve takes every one of them", ""


def _check_data_directory(config: Config, clock: Clock) -> Found:
    place = config.data_dir
    if not place.is_dir():
        well = None if os.access(_find_existing_directory(config), os.W_OK | os.X_OK) else False
        why = (
            "is not there yet"
            if well is None
            else f"cannot be made: {_find_existing_directory(config)} is not writable"
        )
        yield (
            well,
            f"{place} {why}",
            f"{'finapi serve makes it; or ' if well is None else ''}name another with --data-dir",
        )
        return
    datadir.check_permissions(place)
    from finapi.ops.proof import find_write_error

    # Tried: what may be written by its mode may be on a disk that is full or read-only.
    why = find_write_error(place)
    fix = (
        "make room, or mount it so that it can be written"
        if os.access(place, os.W_OK | os.X_OK)
        else (f"chown -R {os.geteuid()} {place}")
    )
    yield not why, f"{place} is not writable: {why}" if why else f"{place} is writable", fix
    secrets = master_secrets.get_path(config)
    if secrets.exists():
        closed = not secrets.stat().st_mode & master_secrets.OTHERS_MODE_BITS
        yield (closed, f"{secrets} is {'closed' if closed else 'open'} to others", f"chmod 600 {secrets}")


def _find_existing_directory(config: Config) -> Path:
    """The data directory, or the one above it that is there."""
    return next(one for one in (config.data_dir, *config.data_dir.absolute().parents) if one.is_dir())


def _check_database(config: Config, clock: Clock) -> Found:
    file, newest = config.data_dir / datadir.DATABASE, newest_version()
    version = backup.version_of(file)
    text = f"schema {version} of {newest}" if file.exists() else "there is none yet"
    yield version <= newest, text, "a newer finapi wrote it: install that one"
    advice = "a Python whose SQLite is built with FTS5, as Debian's and python.org's are"
    if has_full_text():
        yield True, "SQLite has FTS5 for full text search", advice
    else:
        yield None, "SQLite has no FTS5: full text search answers 501", advice
    yield SQLITE >= (3, 37), f"SQLite {'.'.join(map(str, SQLITE))}", "3.37 or later is needed: a newer Python or system"


def _check_accounts(config: Config, clock: Clock) -> Found:
    account_moves.check_decided(config.data_dir)
    file = config.data_dir / datadir.DATABASE
    database = None
    if file.exists() and backup.version_of(file) == newest_version():
        with closing(Database(file, reads_only=True)) as db:
            database = account_moves.find_database(db, config.data_dir)
    if config.accounts_url:
        state = apps.load_postgres().inspect(config.accounts_url)
        yield state.can_be_opened, state.text, "see the message"
    elif database is not None:
        fix = "FINAPI_ACCOUNTS_URL=postgresql://..., or: finapi move --to file"
        yield False, f"they are in {database}, and accounts_url is not set", fix
    else:
        yield True, "they are in the data directory", ""


def _check_disk(config: Config, clock: Clock) -> Found:
    import shutil

    free, file = shutil.disk_usage(_find_existing_directory(config))[2], config.data_dir / datadir.DATABASE
    needed = file.stat().st_size if file.exists() else 0
    well = False if free < MIN_FREE_BYTES else True if free > max(needed, GIB) else None
    fix = "make room: a backup and an upgrade need as much again as the database"
    yield well, f"{free / GIB:.1f} GiB free, the database has {needed / GIB:.1f}", fix
    if config.backup_dir:
        there = Path(config.backup_dir).is_dir()
        found = f"backups go to {config.backup_dir}{'' if there else ', which is no directory'}"
        yield there, found, f"mount it, or: mkdir {config.backup_dir}"


def _check_process_limits(config: Config, clock: Clock) -> Found:
    wanted = 3 * config.connection_limit + config.feed_connections + 100
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    well = True if hard < 0 or hard >= wanted else None
    yield (
        well,
        f"{hard} open files allowed, {wanted} wanted",
        f"LimitNOFILE={wanted} in the unit, or ulimit -Hn {wanted}",
    )
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space >= 0:
        yield space >= MIN_MEMORY_BYTES, f"{space >> 20} MiB of memory allowed", "ulimit -v unlimited"


def _check_mail(config: Config, clock: Clock) -> Found:
    if config.mail_directory is not None:
        yield None, f"mails are files in {config.mail_directory}", "FINAPI_SMTP_URL=smtp://user:password@host"
        return
    from finapi.net.smtp import SmtpTransport

    try:
        SmtpTransport(config.smtp_url).send(None, min(config.mail_timeout, TIMEOUT_SECONDS))
        yield True, "the server greets and lets us in", ""
    except MailError as error:
        yield False, str(error), "FINAPI_SMTP_URL; then: finapi mail test you@example.com"


def _check_edgar(config: Config, clock: Clock) -> Found:
    from finapi.market.intake import gateway

    directory = gateway.find_archive_directory(config.base_url)
    if directory is not None:
        yield directory.is_dir(), f"the archive directory {directory}", "--base-url: a directory that is there"
        return
    if not config.user_agent:
        yield None, "no user agent: EDGAR is not asked", "--user-agent 'Your Name name@example.com'"
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


def _check_clock_skew(now: datetime, date: str) -> Found:
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


def _check_clock(config: Config, clock: Clock) -> Found:
    file = config.data_dir / datadir.DATABASE
    written = max(
        (one.stat().st_mtime for one in (file, file.with_name(f"{file.name}-wal")) if one.exists()), default=0
    )
    ahead = written - clock.now().timestamp()
    yield (
        ahead <= MAX_CLOCK_SKEW_SECONDS,
        f"{clock.now():%Y-%m-%d %H:%M:%S} UTC",
        f"the database was written {ahead:.0f} s later: set the clock",
    )


def _check_proxy(config: Config, clock: Clock) -> Found:
    secure = config.public_url.startswith("https://")
    if config.is_reachable_remotely and not secure:
        yield (
            None,
            "keys and passwords travel in the clear",
            "a proxy with TLS in front (deploy/), and --public-url https://...",
        )
    elif secure and not config.trusted_proxies:
        fix = "--trusted-proxies 127.0.0.1: without it all callers share the proxy's address and its limits"
        yield None, f"{config.public_url} leads through a proxy that is not trusted", fix
    else:
        yield True, ", ".join(config.trusted_proxies) or "none", ""


CHECKS: dict[str, Callable[[Config, Clock], Found]] = {
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
