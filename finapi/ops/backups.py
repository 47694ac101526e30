"""Backups: made beside a running server, proven before they count, kept in number, and put back."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypedDict

from finapi import app as apps
from finapi.accounts import billing
from finapi.app import App
from finapi.core import master_secrets, stopping
from finapi.core.clock import Clock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.core.files import sync_directory
from finapi.core.master_secrets import Keyring
from finapi.core.temporary import sweep
from finapi.delivery import events
from finapi.ops import proof
from finapi.store import account_moves, backup
from finapi.store.datadir import DATABASE
from finapi.store.db import Database, DatabaseError
from finapi.store.schema import DevelopmentDatabaseError

log = logging.getLogger("finapi.backups")

DUE_CHECK_SECONDS = 60.0  # between looks whether the night's backup is due
RETRY_SECONDS = 3600.0
WITH_SECRETS, WITHOUT_SECRETS = "with-secrets", "without-secrets"
_BACKUP_NAME = re.compile(rf"finapi-[0-9]{{8}}T[0-9]{{6}}Z-(?:{WITH_SECRETS}|{WITHOUT_SECRETS})\.db")

ReportProgress = Callable[[int, int], None]


class Backup(TypedDict):
    """A backup that was proven."""

    file: str
    bytes: int
    secrets: bool
    counts: proof.ProofCounts
    # The calls that had not ended when the copy was made. A restore refunds them.
    open_debits: proof.OpenDebits


class RestoreResult(NamedTuple):
    """The result of a restore. If the proof has problems, nothing was changed."""

    previous: Path | None  # The database that was in place before.
    proof: proof.Proof
    refunds: proof.OpenDebits


def get_database_path(config: Config) -> Path:
    """The database of a data directory; UsageError when there is none."""
    path = config.data_dir / DATABASE
    if not path.exists():
        raise UsageError(f"there is no database in {config.data_dir}")
    backup.version_of(path)  # Raises UsageError for a file that is not finapi's, before it is copied.
    return path


def create(
    config: Config,
    file: Path,
    now: datetime,
    *,
    secrets: bool,
    tell: ReportProgress,
    proving: Callable[[Database], None] = lambda db: None,
) -> Backup:
    """Copy the database to ``file``, or into it when it is a directory, and prove the copy.

    Its name says whether the master secrets are in it. The file appears when it is proven, and replaces none.
    ``proving`` is given the copy, which is closed to break the proof off.
    """
    path, target = get_database_path(config), build_backup_path(file, now, secrets=secrets)
    if target.exists():
        raise UsageError(f"{target} already exists")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent} is not a directory")
    held = list(_held(config)) if secrets else []
    with backup.temporary_copy(path, target.parent, "backup", tell) as copy:
        db = Database(copy, reads_only=True)
        try:
            proving(db)
            found = proof.check_database(db, config)
        finally:
            db.close()
        if found["problems"]:
            raise ApiError("UNAVAILABLE", f"the copy failed its check and was removed: {found['problems'][0]}")
        if secrets:
            backup.put_secrets(copy, held)
        os.link(copy, target)
    sync_directory(target.parent)
    return {
        "file": str(target),
        "bytes": target.stat().st_size,
        "secrets": secrets,
        "counts": found["counts"],
        "open_debits": found["open_debits"],
    }


def build_backup_path(file: Path, now: datetime, *, secrets: bool) -> Path:
    """The file of a backup: a name of our own in a directory, else the name that was given, which must tell."""
    if file.is_dir():
        return (
            file / f"finapi-{re.sub(r'[-:]|[.][0-9]+', '', iso(now))}-{WITH_SECRETS if secrets else WITHOUT_SECRETS}.db"
        )
    if (WITH_SECRETS in file.name) != secrets:
        if secrets:
            raise UsageError(f"{file.name}: a backup with the master secrets must say {WITH_SECRETS} in its name")
        raise UsageError(f"{file.name}: a backup without the master secrets must not say {WITH_SECRETS} in its name")
    return file


class NightlyBackup:
    """The backup of every night, made by a worker of the server; ``step`` looks once whether it is due."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._proving: list[Database] = []

    def run_backup_step(self) -> float:
        """Make the backup of this UTC day once its hour has come; seconds until the next look.

        One that fails is logged and tried again in an hour.
        """
        sweep(Path(self._app.config.backup_dir))
        try:
            made = self._made(self._app.config, self._app.clock.now())
        except (UsageError, ApiError, OSError, DatabaseError) as error:
            stopping.check()  # it was broken off
            log.error("no backup was made, next try in an hour: %s", error)
            return RETRY_SECONDS
        if made is not None:
            log.info("a backup of %d bytes was made and proven: %s", made["bytes"], made["file"])
            if self._app.accounts is not self._app.db:
                log.info("it is of market data: accounts are in PostgreSQL, which pg_dump copies")
        return DUE_CHECK_SECONDS

    def interrupt(self) -> None:
        """Break off the proof of a copy. A copy under way sees the stop by itself. Nothing of either stays."""
        for db in list(self._proving):
            db.close()

    def _made(self, config: Config, now: datetime) -> Backup | None:
        directory, day = Path(config.backup_dir), now.strftime("%Y%m%d")
        secrets = config.backup_secrets == "with"
        # One of the other kind, made by hand, is not what the setting promises.
        tonight = f"finapi-{day}T*Z-{WITH_SECRETS if secrets else WITHOUT_SECRETS}.db"
        if now.hour < config.backup_hour or any(directory.glob(tonight)):
            return None
        try:
            made = create(config, directory, now, secrets=secrets, tell=lambda done, pages: None, proving=self._prove)
        finally:
            self._proving.clear()
        delete_old_backups(directory, config.backups_kept)
        return made

    def _prove(self, db: Database) -> None:
        self._proving.append(db)
        stopping.check()  # of which the interruption may have come before


def delete_old_backups(directory: Path, number: int) -> list[Path]:
    """Remove all but the newest ``number`` of our own names from a directory, with and without secrets each; which."""
    ours = sorted(path for path in directory.iterdir() if _BACKUP_NAME.fullmatch(path.name))
    # Counted together, those of the night would push out the few that hold the secrets.
    gone = [
        path
        for kind in (WITH_SECRETS, WITHOUT_SECRETS)
        for path in [one for one in ours if one.stem.endswith(f"Z-{kind}")][:-number]
    ]
    for path in gone:
        path.unlink()
    return gone


def restore(
    config: Config, file: Path, clock: Clock, *, secrets: bool, report_progress: ReportProgress
) -> RestoreResult:
    """Put a backup in the place of the database of a data directory that the caller holds.

    A copy of the backup is upgraded and proven. Its open debits are refunded, as a start refunds them, and it gets a
    new epoch. Then it is put in place. Its master secrets are taken if the directory has none, or with ``secrets``
    behind those of the directory.

    Raise UsageError while a move of accounts is not decided, and for a backup that would replace accounts that are in
    force by those of before a move.
    """
    account_moves.check_decided(config.data_dir)
    path, now = config.data_dir / DATABASE, clock.now()
    try:
        known = backup.version_of(file)
    except DevelopmentDatabaseError:
        raise
    except UsageError:  # Its message is about a data directory.
        known = 0
    if not known:
        raise UsageError(f"{file} is not a backup")
    with backup.temporary_copy(file, config.data_dir, "restore", report_progress) as copy:
        brought = backup.take_secrets(copy)
        db = Database(copy)
        try:
            _check_accounts(config, db)
            found = proof.check_database(db, config)
            if found["problems"]:
                return RestoreResult(None, found, proof.sum_open_debits([]))
            refunds = _refund_open_debits(config, db, found, now)
            with db.accounts.write() as tx:
                events.begin_epoch(tx, _epoch(path) + 1, now)
            with db.write() as tx:
                tx.run("new_data_stamp")
        finally:
            db.close()
        if brought and (secrets or master_secrets.are_missing(config)):
            have = [] if master_secrets.are_missing(config) else list(_held(config))
            master_secrets.write_file(config, [*have, *(one for one in brought if one not in have)])
        kept = (
            path.with_name(f"{path.name}.before-{re.sub(r'[-:]|[.][0-9]+', '', iso(now))}") if path.exists() else None
        )
        backup.swap(path, copy, kept or path)
    return RestoreResult(kept, found, refunds)


def _check_accounts(config: Config, copy: Database) -> None:
    """Raise UsageError if a backup has no accounts that were in force, and the data directory has.

    While accounts are in PostgreSQL, the file keeps those of before the move, and so do backups of it.
    """
    database = account_moves.find_recorded_database(copy)
    path = config.data_dir / DATABASE
    if database is None or config.accounts_url or account_moves.has_marker(config.data_dir) or not path.exists():
        return
    try:
        current = Database(path, reads_only=True)
    except (UsageError, DatabaseError):  # Nothing is left to lose.
        return
    try:
        if account_moves.find_recorded_database(current) is None and apps.has_accounts(current):
            raise UsageError(
                f"the backup was made while accounts were in {database}, and has older ones; those in {path} are in "
                "force and would be lost; nothing has changed"
            )
    except DatabaseError as error:
        log.warning("whether %s holds accounts cannot be read: %s", path, error)
    finally:
        current.close()


def _refund_open_debits(config: Config, db: Database, found: proof.Proof, now: datetime) -> proof.OpenDebits:
    """Refund the open debits of a copy that is about to be put in place, and return them."""
    if config.accounts_url:
        # The accounts in force are in PostgreSQL. Those in the file are not used.
        return proof.sum_open_debits([])
    billing.refund_open_debits(apps.wrap_database(config, db), now)
    return found["open_debits"]


def _epoch(path: Path) -> int:
    """The epoch of a database that may be damaged, old or not there at all; 0 then."""
    try:
        db = Database(path, reads_only=True)
    except (UsageError, DatabaseError):
        return 0
    try:
        with db.accounts.read() as tx:
            return int(tx.find_value("journal_epoch"))
    except DatabaseError:
        return 0
    finally:
        db.close()


def _held(config: Config) -> Keyring:
    if config.secrets:
        raise UsageError("the master secrets are a setting: keep FINAPI_SECRETS yourself")
    return Keyring(master_secrets.read_or_create(config))
