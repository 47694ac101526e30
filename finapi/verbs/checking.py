"""check: whether what is stored adds up."""

from __future__ import annotations

import argparse

from finapi import billing
from finapi.app import App
from finapi.datadir import Say
from finapi.verbs.verb import Verb, no_arguments, one_line


def _check(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    wrong = [*app.db.integrity(), *billing.wrong(app, app.clock.now())]
    for problem in wrong:
        say("err", one_line(problem))
    say("out", f"{len(wrong)} problems" if wrong else "all is well: database, balances, wallets and debits")
    return 1 if wrong else 0


CHECK = Verb("prove that the database, the ledger and the wallets add up", no_arguments, work=_check)
