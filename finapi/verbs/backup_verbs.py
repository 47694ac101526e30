"""backup, restore and check: copies of a data directory, and whether one adds up."""

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


def _backup(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import backups, proof

    file = resolve_path(os.getcwd(), args.file)
    if args.keep is not None and args.keep < 1:
        raise UsageError("--keep: must be at least 1")
    if args.keep is not None and not file.is_dir():
        raise UsageError(f"--keep: {file} is not a directory")
    move = account_moves.find_move(config.data_dir)
    if move is not None:
        say(
            "err",
            escape_unprintable(f"finapi: the copy has the accounts that the file holds now, but {move.describe()}"),
        )
    elif config.accounts_url or account_moves.has_marker(config.data_dir):
        say("err", f"finapi: this copies market data; accounts are in PostgreSQL: {DUMP} copies them")
    made = _made(config, file, args.with_secrets, say)
    say("progress", "")
    gone = backups.delete_old_backups(file, args.keep) if args.keep is not None else []
    if args.json:
        return print_document(say, {**made, "removed": [str(path) for path in gone]})
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in made["counts"].items())
    say("out", escape_unprintable(f"{made['file']}: {made['bytes']:,} bytes, proven: {counts}"))
    if made["open_debits"]["count"]:
        say("out", f"{proof.describe_open_debits(made['open_debits'])}; refunded by a restore")
    for path in gone:
        say("out", escape_unprintable(f"{path} is removed"))
    return 0


def _made(config: Config, file: Path, secrets: bool, say: Say) -> Backup:
    """The backup that Ctrl-C breaks off, in the middle of its proof too."""
    from finapi.ops import backups

    tell, stopping = _pages(say), Event()
    proving: list[Database] = []

    def copied(done: int, pages: int) -> None:
        if stopping.is_set():
            raise ApiError("UNAVAILABLE", "cut off")
        tell(done, pages)

    def stop() -> None:
        stopping.set()
        for db in proving:
            db.close()

    now = SystemClock().now()
    make = partial(backups.create, config, file, now, secrets=secrets, tell=copied, proving=proving.append)
    return run_interruptibly(make, stop)


def _restore(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import backups
    from finapi.store.db import DatabaseDamagedError

    file = resolve_path(os.getcwd(), args.file)
    try:
        with datadir.lock_directory(config.data_dir):
            restored = backups.restore(
                config, file, SystemClock(), secrets=args.with_secrets, report_progress=_pages(say)
            )
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by a running finapi; stop it first") from None
    except DatabaseDamagedError:
        say("progress", "")
        say(
            "err",
            escape_unprintable(f"finapi: {file} is damaged and was not put back; nothing has changed; take another"),
        )
        return 1
    say("progress", "")
    problems, previous, refunds = restored.proof["problems"], restored.previous, restored.refunds
    for problem in problems:
        say("err", escape_unprintable(f"finapi: {problem}"))
    if problems:
        say("err", escape_unprintable(f"finapi: {file} was not put back; nothing has changed"))
        return 1
    line = f"{file} is in its place"
    if previous:
        line += f"; what was there is {previous}"
    if refunds["count"]:
        calls = "1 call" if refunds["count"] == 1 else f"{refunds['count']:,} calls"
        line += f"; {calls} that had not ended: {refunds['tokens']:,} tokens refunded"
    return print_result(say, args, line, file=str(file), kept=previous and str(previous), refunded=refunds)


def _check(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
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
                # Damage is named by the proof.
                with suppress(DatabaseDamagedError):
                    attach_accounts(config, db)
            except account_moves.UndecidedMoveError as error:
                # What the file holds can be proven all the same.
                undecided.append(str(error))
        found = run_interruptibly(lambda: proof.check_database(db, config), db.close)
    finally:
        say("progress", "")
        db.close()
    damaged = bool(found["problems"])
    unwritable = proof.list_write_errors(config) if args.file is None else []
    found["problems"] += [*undecided, *unwritable]
    if args.json:
        print_document(say, found)
    else:
        for problem in found["problems"]:
            say("err", escape_unprintable(problem))
        if found["archives_elsewhere"]:
            away = found["archives_elsewhere"]
            say("out", f"{away} archives of the ledger are elsewhere: what they hold was not checked")
        say("out", proof.render_summary(found))
        if found["open_debits"]["count"]:
            open_debits = proof.describe_open_debits(found["open_debits"])
            when = "refunded by a restore" if args.file is not None else "refunded by a start if a crash left them open"
            say("out", f"{open_debits}; {when}")
        if damaged:
            say("err", RESTORE_ADVICE)
        elif unwritable:
            say("err", "what is stored is whole: make room on that disk, or let finapi write there")
    return 1 if found["problems"] else 0


def _pages(say: Say) -> Callable[[int, int], None]:
    return lambda done, pages: say("progress", f"{done} of {pages} pages")


DUMP = "pg_dump --format custom"
_SECRETS = "--with-secrets"
BACKUP = Verb(
    "copy a data directory's database to a file, beside a running server too, and prove the copy",
    (
        arg("file", metavar="FILE", help="a file that is not there yet, or a directory to put one into"),
        arg(_SECRETS, action="store_true", help="the master secrets too; the file opens every account"),
        arg("--keep", type=int, metavar="N", help="keep the newest N of the directory, with and without secrets each"),
    ),
    _backup,
    interrupt_note="a backup appears when it is whole and proven, not before; give the same command again",
)
RESTORE = Verb(
    "put a backup in the place of the database; what was there is kept",
    (
        arg("file", metavar="FILE"),
        arg(_SECRETS, action="store_true", help="its master secrets too, behind those there"),
    ),
    _restore,
    interrupt_note="in place is the database of before, or all of the backup with the one of before beside it "
    "(finapi.db.before-...); give the same command again",
)
CHECK = Verb(
    "prove that the database, the ledger, the wallets and the feeds add up",
    (arg("--file", metavar="FILE", help="a backup instead of the data directory"),),
    _check,
    interrupt_note="nothing is proven, and nothing has changed",
)
