"""Backups of a running server's database, and their restore.

A backup gets its final name after it was verified. The name says if it contains the master secrets. ``NightlyBackup``
makes a backup every night and deletes old ones.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypedDict

from finapi import app as apps
from finapi.accounts import audit, billing
from finapi.accounts.audit import Actor
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

DUE_CHECK_SECONDS = 60.0  # Interval at which the worker checks if the backup of the night is due.
RETRY_SECONDS = 3600.0  # Pause after a backup failed.
WITH_SECRETS = "with-secrets"
WITHOUT_SECRETS = "without-secrets"
_BACKUP_NAME = re.compile(rf"finapi-(?P<time>[0-9]{{8}}T[0-9]{{6}}Z)-(?:{WITH_SECRETS}|{WITHOUT_SECRETS})\.db")

ReportProgress = Callable[[int, int], None]


class Backup(TypedDict):
    """The file, the size and the contents of a verified backup."""

    file: str
    bytes: int
    secrets: bool
    counts: proof.ProofCounts
    # Debits of calls that had not ended when the copy was made. A restore refunds them.
    open_debits: proof.OpenDebits


class RestoreResult(NamedTuple):
    """The result of a restore. If the proof has problems, nothing was changed."""

    previous: Path | None  # The database that was in place before.
    proof: proof.Proof
    refunds: proof.OpenDebits


def get_database_path(config: Config) -> Path:
    """Return the path of a data directory's database. Raise UsageError if there is none, or if it is not finapi's."""
    path = config.data_dir / DATABASE
    if not path.exists():
        raise UsageError(f"there is no database in {config.data_dir}")
    backup.read_version(path)  # Raises UsageError for a file that is not finapi's, before it is copied.
    return path


def create(
    config: Config,
    file: Path,
    now: datetime,
    *,
    secrets: bool,
    report_progress: ReportProgress,
    on_open: Callable[[Database], None] = lambda db: None,
) -> Backup:
    """Copy the database to ``file``, or to a new file in it if it is a directory, and verify the copy.

    The file appears only after the verification, and never replaces another file. ``on_open`` is called with the open
    copy: closing it interrupts the verification. Raise UsageError for a wrong path or name, and ApiError if the copy
    fails the verification.
    """
    path = get_database_path(config)
    target = build_backup_path(file, now, secrets=secrets)
    if target.exists():
        raise UsageError(f"{target} already exists")
    if not target.parent.is_dir():
        raise UsageError(f"there is no directory {target.parent}")
    secrets_to_store = list(_read_secrets(config)) if secrets else []
    with backup.temporary_copy(path, target.parent, "backup", report_progress) as copy:
        db = Database(copy, reads_only=True)
        try:
            on_open(db)
            report = proof.check_database(db, config)
        finally:
            db.close()
        if report["problems"]:
            raise ApiError("UNAVAILABLE", f"the copy failed its check and was removed: {report['problems'][0]}")
        if secrets:
            backup.insert_secrets(copy, secrets_to_store)
        os.link(copy, target)
    sync_directory(target.parent)
    return {
        "file": str(target),
        "bytes": target.stat().st_size,
        "secrets": secrets,
        "counts": report["counts"],
        "open_debits": report["open_debits"],
    }


def build_backup_path(file: Path, now: datetime, *, secrets: bool) -> Path:
    """Return ``file``, or the path of a new backup in it if it is a directory.

    Raise UsageError if the name of ``file`` does not say whether the backup contains the master secrets.
    """
    if file.is_dir():
        return file / f"finapi-{_compact_time(now)}-{WITH_SECRETS if secrets else WITHOUT_SECRETS}.db"
    if (WITH_SECRETS in file.name) != secrets:
        if secrets:
            raise UsageError(f"{file.name}: a backup with the master secrets must say {WITH_SECRETS} in its name")
        raise UsageError(f"{file.name}: a backup without the master secrets must not say {WITH_SECRETS} in its name")
    return file


def _compact_time(now: datetime) -> str:
    """Return a time for file names, such as ``20260131T030000Z``."""
    return re.sub(r"[-:]|[.][0-9]+", "", iso(now))


class NightlyBackup:
    """A background job of the server that makes a backup every night."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._open_copies: list[Database] = []

    def run_backup_step(self) -> float:
        """Make the backup of this UTC day once its hour has come. Return the seconds until it should run again.

        A failure is logged, and the backup is tried again in an hour.
        """
        sweep(Path(self._app.config.backup_dir))
        try:
            created = self._create_if_due(self._app.config, self._app.clock.now())
        except (UsageError, ApiError, OSError, DatabaseError) as error:
            stopping.check()  # A stop interrupted the backup, which is not a failure.
            log.error("no backup was made, next try in an hour: %s", error)
            return RETRY_SECONDS
        if created is not None:
            log.info("a backup of %d bytes was made and proven: %s", created["bytes"], created["file"])
            if self._app.accounts is not self._app.db:
                log.info("the backup contains only market data: back up the accounts in PostgreSQL with pg_dump")
        return DUE_CHECK_SECONDS

    def interrupt(self) -> None:
        """Interrupt the verification of a copy. The copying itself checks for a stop. In both cases no file remains."""
        for db in list(self._open_copies):
            db.close()

    def _create_if_due(self, config: Config, now: datetime) -> Backup | None:
        """Make and return the backup of this day, or return None if it exists or its hour has not come."""
        directory = Path(config.backup_dir)
        secrets = config.backup_secrets == "with"
        # A backup of the other kind, made by hand today, does not count.
        file_pattern = f"finapi-{now:%Y%m%d}T*Z-{WITH_SECRETS if secrets else WITHOUT_SECRETS}.db"
        if now.hour < config.backup_hour or any(directory.glob(file_pattern)):
            return None
        try:
            created = create(
                config,
                directory,
                now,
                secrets=secrets,
                report_progress=lambda done, pages: None,
                on_open=self._add_open_copy,
            )
        finally:
            self._open_copies.clear()
        delete_old_backups(directory, config.backups_kept)
        return created

    def _add_open_copy(self, db: Database) -> None:
        self._open_copies.append(db)
        stopping.check()  # ``interrupt`` may have been called before the copy was open.


def find_backup_age(config: Config, now: datetime) -> float | None:
    """Return the seconds since the newest backup of the backup directory was made, or None if there is none."""
    if not config.backup_dir:
        return None
    try:
        paths = list(Path(config.backup_dir).iterdir())
    except OSError:  # The nightly backup reports this.
        return None
    times = [time for path in paths if (time := _find_time(path.name)) is not None]
    return max(0.0, (now - max(times)).total_seconds()) if times else None


def _find_time(name: str) -> datetime | None:
    """Return the time in the name of a backup, or None for any other name, such as one of February 30."""
    match = _BACKUP_NAME.fullmatch(name)
    if match is None:
        return None
    try:
        return datetime.strptime(match["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def delete_old_backups(directory: Path, number: int) -> list[Path]:
    """Delete all but the newest ``number`` backups of a directory. Return the deleted paths.

    Backups with secrets and backups without are counted separately. Otherwise the backups of every night would displace
    the few with secrets. Files with other names are not touched.
    """
    backups = sorted(path for path in directory.iterdir() if _BACKUP_NAME.fullmatch(path.name))
    removed = []
    for kind in (WITH_SECRETS, WITHOUT_SECRETS):
        backups_of_kind = [path for path in backups if path.stem.endswith(f"Z-{kind}")]
        removed += backups_of_kind[:-number]
    for path in removed:
        path.unlink()
    return removed


def restore(
    config: Config,
    file: Path,
    clock: Clock,
    *,
    secrets: bool,
    report_progress: ReportProgress,
    actor: Actor | None = None,
) -> RestoreResult:
    """Replace the database of a data directory by a backup. The caller has locked the directory.

    A copy of the backup is upgraded and verified. Its open debits are refunded, as at a start, and it gets a new epoch
    of the event journal. Then the copy replaces the database in one step. The backup's master secrets are used if the
    directory has none. With ``secrets`` they are added after those of the directory. The audit log names the actor.

    Raise UsageError while a move of accounts between the file and PostgreSQL is unfinished, and for a backup that would
    replace the current accounts by accounts from before a move.
    """
    account_moves.check_decided(config.data_dir)
    path = config.data_dir / DATABASE
    now = clock.now()
    try:
        version = backup.read_version(file)
    except DevelopmentDatabaseError:
        raise
    except UsageError:  # The message of this error would be about a data directory.
        version = 0
    if not version:
        raise UsageError(f"{file} is not a backup")
    with backup.temporary_copy(file, config.data_dir, "restore", report_progress) as copy:
        # This precedes the first write, with which a trigger that is not finapi's would run.
        differences = backup.list_schema_differences(copy)
        if differences:
            return RestoreResult(None, proof.build_failed_proof(differences), proof.sum_open_debits([]))
        backup_secrets = backup.pop_secrets(copy)
        db = Database(copy)
        try:
            _check_accounts(config, db)
            report = proof.check_database(db, config)
            if report["problems"]:
                return RestoreResult(None, report, proof.sum_open_debits([]))
            refunds = _refund_open_debits(config, db, report, now)
            with db.accounts.write() as tx:
                events.begin_epoch(tx, _read_epoch(path) + 1, now)
                if not config.accounts_url:
                    audit.record_action(tx, actor, "restore", now, detail=str(file))
            with db.write() as tx:
                tx.run("new_data_stamp")
        finally:
            db.close()
        if backup_secrets and (secrets or master_secrets.are_missing(config)):
            present_secrets = [] if master_secrets.are_missing(config) else list(_read_secrets(config))
            new_secrets = [secret for secret in backup_secrets if secret not in present_secrets]
            master_secrets.write_file(config, [*present_secrets, *new_secrets])
        previous_path = path.with_name(f"{path.name}.before-{_compact_time(now)}") if path.exists() else None
        backup.replace_database(path, copy, previous_path or path)
    if config.accounts_url:
        _record_restore_in_postgres(config, actor, file, now)
    return RestoreResult(previous_path, report, refunds)


def _record_restore_in_postgres(config: Config, actor: Actor | None, file: Path, now: datetime) -> None:
    """Record a restore of market data in the audit log in PostgreSQL, or log a warning if it cannot be reached."""
    try:
        accounts = apps.open_postgres(config.accounts_url)
    except UsageError as error:
        log.warning("the restore is not in the audit log: %s", error)
        return
    try:
        with accounts.write() as tx:
            audit.record_action(tx, actor, "restore", now, detail=str(file))
    finally:
        accounts.close()


def _check_accounts(config: Config, copy: Database) -> None:
    """Raise UsageError if a backup contains only outdated accounts and the data directory has current ones.

    While accounts are in PostgreSQL, the database file still contains the accounts from before the move, and so do its
    backups.
    """
    database = account_moves.find_recorded_database(copy)
    path = config.data_dir / DATABASE
    if database is None or config.accounts_url or account_moves.has_marker(config.data_dir) or not path.exists():
        return
    try:
        current = Database(path, reads_only=True)
    except (UsageError, DatabaseError):  # The current database is damaged, so its accounts are lost already.
        return
    try:
        if account_moves.find_recorded_database(current) is None and apps.has_accounts(current):
            raise UsageError(
                f"the backup was made while accounts were in {database}, so it only has older accounts; the current "
                f"accounts in {path} would be lost; nothing has changed"
            )
    except DatabaseError as error:
        log.warning("cannot check whether %s contains accounts: %s", path, error)
    finally:
        current.close()


def _refund_open_debits(config: Config, db: Database, report: proof.Proof, now: datetime) -> proof.OpenDebits:
    """Refund the open debits in the copy that will replace the database. Return them."""
    if config.accounts_url:
        # The current accounts are in PostgreSQL. Those in the file are not used.
        return proof.sum_open_debits([])
    billing.refund_open_debits(apps.wrap_database(config, db), now)
    return report["open_debits"]


def _read_epoch(path: Path) -> int:
    """Return the epoch of a database's event journal, or 0 if the database is damaged, old or missing."""
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


def _read_secrets(config: Config) -> Keyring:
    """Return the master secrets in the data directory. Raise UsageError if they are set by FINAPI_SECRETS instead."""
    if config.secrets:
        raise UsageError("the master secrets are in the setting FINAPI_SECRETS, not in the data directory: back it up")
    return Keyring(master_secrets.read_or_create(config))
