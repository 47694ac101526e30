"""The verbs backup, restore and check: copy a data directory, restore it, and verify its data."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from finapi.core import config as settings
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import ApiError, UsageError
from finapi.store import account_moves, datadir
from finapi.store.datadir import Say
from finapi.verbs.verb import (
    Perform,
    Verb,
    arg,
    escape_unprintable,
    print_document,
    print_result,
    resolve_path,
    run_interruptibly,
)

if TYPE_CHECKING:
    from finapi.ops.backups import Backup
    from finapi.store.db import Database


def _run_backup(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import backups, proof

    file = resolve_path(os.getcwd(), args.file)
    if args.keep is not None and args.keep < 1:
        raise UsageError("--keep: must be at least 1")
    if args.keep is not None and not file.is_dir():
        raise UsageError(f"--keep: there is no directory {file}")
    move = account_moves.find_move(config.data_dir)
    if move is not None:
        line = f"finapi: the copy has the accounts that the file holds now, but {move.describe()}"
        say("err", escape_unprintable(line))
    elif config.accounts_url or account_moves.has_marker(config.data_dir):
        say("err", f"finapi: this copies market data; accounts are in PostgreSQL: {POSTGRES_BACKUP} copies them")
    backup = _create_backup(config, file, args.with_secrets, say)
    say("progress", "")
    if args.with_secrets:
        _record_secrets_backup(config, backup["file"], say)
    removed = backups.delete_old_backups(file, args.keep) if args.keep is not None else []
    if args.json:
        return print_document(say, {**backup, "removed": [str(path) for path in removed]})
    counts = proof.format_counts(backup["counts"])
    say("out", escape_unprintable(f"{backup['file']}: {backup['bytes']:,} bytes, verified: {counts}"))
    if backup["open_debits"]["count"]:
        say("out", f"{proof.describe_open_debits(backup['open_debits'])}; refunded by a restore")
    for path in removed:
        say("out", escape_unprintable(f"{path} is removed"))
    return 0


def _create_backup(config: Config, file: Path, secrets: bool, say: Say) -> Backup:
    """Create and verify a backup. Ctrl-C interrupts the copy and the verification."""
    from finapi.ops import backups

    show_progress = _build_progress(say)
    stop_requested = Event()
    databases_in_use: list[Database] = []

    def report_progress(done: int, pages: int) -> None:
        if stop_requested.is_set():
            raise ApiError("UNAVAILABLE", "cut off")
        show_progress(done, pages)

    def stop() -> None:
        stop_requested.set()
        for db in databases_in_use:
            db.close()

    now = SystemClock().now()
    create_backup = partial(
        backups.create,
        config,
        file,
        now,
        secrets=secrets,
        report_progress=report_progress,
        on_open=databases_in_use.append,
    )
    return run_interruptibly(create_backup, stop)


def _print_nothing(stream: datadir.Stream, text: str) -> None:
    """Discard the output of a handed-over command."""


def _record_secrets_backup(config: Config, file: str, say: Say) -> None:
    """Record a backup with secrets in the audit log, or print a warning if that is not possible."""
    from finapi.accounts import audit
    from finapi.ops.app_opening import open_app
    from finapi.store.db import DatabaseError

    note = f"backup with secrets: {file}"
    try:
        try:
            with open_app(config) as app, app.accounts.write() as tx:
                actor = audit.build_command_actor(datadir.get_system_user(), os.getcwd())
                audit.record_action(tx, actor, audit.NOTE, app.clock.now(), detail=note)
        except datadir.DirectoryBusyError:
            datadir.hand_over(config.data_dir, ["audit", "--add", note], _print_nothing)
    except (UsageError, ApiError, DatabaseError) as error:
        say("err", escape_unprintable(f"finapi: the backup is not in the audit log: {error}"))


def _run_restore(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.accounts import audit
    from finapi.ops import backups
    from finapi.store.db import DatabaseDamagedError

    file = resolve_path(os.getcwd(), args.file)
    if not file.is_file():  # Checked before the data directory is created.
        raise UsageError(f"there is no file {file}")
    try:
        with datadir.lock_directory(config.data_dir):
            restored = backups.restore(
                config,
                file,
                SystemClock(),
                secrets=args.with_secrets,
                report_progress=_build_progress(say),
                actor=audit.build_command_actor(datadir.get_system_user(), os.getcwd()),
            )
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by a running finapi; stop it first") from None
    except DatabaseDamagedError:
        say("progress", "")
        line = f"finapi: {file} is damaged and was not put back; nothing has changed; take another"
        say("err", escape_unprintable(line))
        return 1
    say("progress", "")
    problems = restored.proof["problems"]
    previous = restored.previous
    refunds = restored.refunds
    for problem in problems:
        say("err", escape_unprintable(f"finapi: {problem}"))
    if problems:
        say("err", escape_unprintable(f"finapi: {file} was not restored; nothing has changed"))
        return 1
    line = f"{file} is restored"
    if previous:
        line += f"; the previous database is {previous}"
    if refunds["count"]:
        tokens = format_count(refunds["tokens"], "token")
        line += f"; {format_count(refunds['count'], 'call')} that had not ended: {tokens} refunded"
    return print_result(say, args, line, file=str(file), kept=previous and str(previous), refunded=refunds)


def _run_check(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.app import attach_accounts
    from finapi.ops import backups, proof
    from finapi.store.connections import RESTORE_ADVICE
    from finapi.store.db import Database, DatabaseDamagedError

    path = resolve_path(os.getcwd(), args.file) if args.file is not None else backups.get_database_path(config)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    say("progress", f"reading {path.stat().st_size // 1_000_000:,} MB")
    db = Database(path, reads_only=True)
    undecided: list[str] = []
    try:
        if args.file is None:
            try:
                # Ignore damage here: the verification below reports it.
                with suppress(DatabaseDamagedError):
                    attach_accounts(config, db)
            except account_moves.UndecidedMoveError as error:
                # Report this as a problem, but go on: the rows of the file can be verified nevertheless.
                undecided.append(str(error))
        report = run_interruptibly(lambda: proof.check_database(db, config), db.close)
    finally:
        say("progress", "")
        db.close()
    damaged = bool(report["problems"])
    unwritable = proof.list_write_errors(config) if args.file is None else []
    report["problems"] += [*undecided, *unwritable]
    if args.json:
        print_document(say, report)
    else:
        for problem in report["problems"]:
            say("err", escape_unprintable(problem))
        if report["archives_elsewhere"]:
            missing_archives = format_count(
                report["archives_elsewhere"], "archive of the ledger is", "archives of the ledger are"
            )
            say("out", f"{missing_archives} elsewhere: the rows in it were not checked")
        say("out", proof.render_summary(report))
        if report["open_debits"]["count"]:
            open_debits = proof.describe_open_debits(report["open_debits"])
            when = "refunded by a restore" if args.file is not None else "refunded by a start if a crash left them open"
            say("out", f"{open_debits}; {when}")
        if damaged:
            say("err", RESTORE_ADVICE)
        elif unwritable:
            say("err", "the stored data are complete: make room on that disk, or let finapi write there")
    return 1 if report["problems"] else 0


def _build_progress(say: Say) -> Callable[[int, int], None]:
    """Return a function that prints the number of copied pages."""
    return lambda done, pages: say("progress", f"{done} of {pages} pages")


POSTGRES_BACKUP = "pg_dump --format custom"
_WITH_SECRETS = "--with-secrets"
BACKUP = Verb(
    "copy a data directory's database to a file, also while a server runs, and verify the copy",
    (
        arg("file", metavar="FILE", help="a new file, or a directory for it"),
        arg(_WITH_SECRETS, action="store_true", help="include the master secrets; the file then opens every account"),
        arg("--keep", type=int, metavar="N", help="keep the newest N of the directory, with and without secrets each"),
    ),
    _run_backup,
    interrupt_note="no backup was made; give the same command again",
)
RESTORE = Verb(
    "replace the database by a backup; the replaced database is kept",
    (
        arg("file", metavar="FILE"),
        arg(_WITH_SECRETS, action="store_true", help="also add its master secrets, after the present ones"),
    ),
    _run_restore,
    interrupt_note="either the database is unchanged, or it is the backup and the replaced one is "
    "finapi.db.before-...; give the same command again",
)
CHECK = Verb(
    "verify that the database, the ledger, the wallets and the feeds add up",
    (arg("--file", metavar="FILE", help="a backup instead of the data directory"),),
    _run_check,
    interrupt_note="nothing is verified, and nothing has changed",
)
