"""The verb move: move accounts to PostgreSQL or back."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, print_result

TO_FILE = "file"


def _run_move(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.accounts import audit
    from finapi.ops import backups, moving

    actor = audit.build_command_actor(datadir.get_system_user(), os.getcwd())
    backups.get_database_path(config)
    if args.to != TO_FILE and not args.to.startswith(("postgresql://", "postgres://")):
        raise UsageError("--to: must be file, or begin with postgresql://")
    try:
        if args.to == TO_FILE:
            result = moving.move_to_file(config, actor)
        else:
            result = moving.move_to_postgres(replace(config, accounts_url=args.to), actor)
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by a running finapi; stop it first") from None
    destination = result.database or str(config.data_dir)
    variable = f"{settings.ENVIRONMENT_PREFIX}ACCOUNTS_URL"
    setting = f"unset {variable}" if result.database is None else f"set {variable} to its URL"
    accounts = format_count(result.accounts, "account")
    ledger_rows = format_count(result.ledger_rows, "row")
    contents = f"{accounts} with {ledger_rows} of the ledger and {format_count(result.tokens, 'token')}"
    line = f"{destination} has {contents}, verified; {setting}"
    if result.outcome == "undone":
        line = f"the move is undone: {line}"
    return print_result(
        say,
        args,
        line,
        to=destination,
        outcome=result.outcome,
        accounts=result.accounts,
        ledger_rows=result.ledger_rows,
        tokens=result.tokens,
    )


MOVE = Verb(
    "move accounts from the data directory to PostgreSQL or back, and prove it; finish or undo an interrupted move",
    (arg("--to", required=True, metavar="URL", help="postgresql://... of an empty database, or: file"),),
    _run_move,
    note=(
        "Example: finapi move --to postgresql://finapi@db.example.com/finapi, with the password in ~/.pgpass or "
        "PGPASSWORD, as other users of this host can read command lines. Stop every finapi first. After an "
        "interruption nothing is served until the same command finishes the move, or the opposite one undoes it."
    ),
    interrupt_note="if rows were moving, nothing is served until the same command finishes the move or the opposite "
    "one undoes it",
)
