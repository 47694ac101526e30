"""secret: the master secrets that every key, code and link is made from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from finapi.store.datadir import Say
from finapi.verbs.verb import Verb, arg, print_result, print_table

if TYPE_CHECKING:
    from finapi.app import App


def _secret(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import rotation

    now = app.clock.now()
    if args.action == "rotate":
        name = rotation.add_secret(app)
        line = f"new keys are made from the secret {name}; the others still verify what they made"
        return print_result(say, args, line, name=name)
    if args.action == "drop":
        dead = rotation.remove_secret(app, args.name, now, confirmed=args.yes)
        line = f"the secret {args.name} is gone" + (f"; refused from now on: {dead}" if dead else "")
        return print_result(say, args, line, name=args.name, refused=dead or None)
    with app.accounts.read() as tx:
        rows = rotation.list_secrets(app, tx, now)
    return print_table(say, args, "secrets", rows, "name api_keys webhook_secrets invite_codes newest")


SECRET = Verb(
    "the master secrets: every key is made from one",
    work=_secret,
    actions={
        "list": ("list them by name, newest first, and what each made that still works", ()),
        "rotate": ("put a fresh one in front, from which new keys are made", ()),
        "drop": (
            "take one away: what it made is refused",
            (
                arg("name"),
                arg("--yes", action="store_true", help="also while keys depend on it; owners are told by mail"),
            ),
        ),
    },
)
