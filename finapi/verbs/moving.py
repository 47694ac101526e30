"""move."""

from __future__ import annotations

import argparse
from dataclasses import replace
from urllib.parse import urlsplit

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, print_result

FILE = "file"


def _move(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import backups, moving

    backups.source(config)

    away = args.to != FILE
    config = replace(config, accounts_url=args.to if away else config.accounts_url)
    if not config.accounts_url:
        raise UsageError("accounts are in the data directory; from elsewhere they come with accounts_url set")
    # Of the URL no more than where it is: it may hold a password.
    place = urlsplit(config.accounts_url)
    name = f"postgresql://{place.hostname or ''}{place.path}"
    try:
        moved = moving.to_postgres(config, name) if away else moving.to_file(config)
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is held by a running finapi; stop it first") from None
    where = name if away else str(config.data_dir)
    rest = (
        f"set {settings.ENVIRONMENT_PREFIX}ACCOUNTS_URL to it"
        if away
        else f"take {settings.ENVIRONMENT_PREFIX}ACCOUNTS_URL away"
    )
    text = f"{moved['users']:,} accounts with {moved['ledger']:,} rows of the ledger and {moved['tokens']:,} tokens"
    return print_result(
        say, args, f"{text} are in {where}, proven; {rest}", to=where, tokens=moved["tokens"], rows=moved
    )


MOVE = Verb(
    "move accounts from the data directory to PostgreSQL or back, whole or not at all, and prove it",
    (arg("--to", required=True, metavar="URL", help="postgresql://... of an empty database, or: file"),),
    _move,
    interrupted="accounts move whole or not at all: the same command moves them, or says where they are",
)
