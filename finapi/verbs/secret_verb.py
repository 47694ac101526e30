"""The verb secret: the master secrets from which every key, code and link is derived."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from finapi.store.datadir import Say
from finapi.verbs.verb import Verb, arg, print_result, print_table

if TYPE_CHECKING:
    from finapi.app import App


def _run_secret(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit, rotation

    now = app.clock.now()
    actor = audit.build_command_actor(args.system_user, directory)
    if args.action == "rotate":
        name = rotation.add_secret(app, now, actor)
        line = f"new keys are derived from the secret {name}; keys of the other secrets remain valid"
        return print_result(say, args, line, name=name)
    if args.action == "drop":
        refused = rotation.remove_secret(app, args.name, now, actor, confirmed=args.yes)
        line = f"the secret {args.name} is gone" + (f"; refused from now on: {refused}" if refused else "")
        return print_result(say, args, line, name=args.name, refused=refused or None)
    with app.accounts.read() as tx:
        rows = rotation.list_secrets(app, tx, now)
    return print_table(say, args, "secrets", rows, "name api_keys webhook_secrets invite_codes newest")


SECRET = Verb(
    "the master secrets: every key is derived from one",
    work=_run_secret,
    actions={
        "list": ("list them, newest first, with the number of valid credentials of each", ()),
        "rotate": ("add a secret, from which new keys are derived", ()),
        "drop": (
            "remove a secret: its keys are refused",
            (
                arg("name"),
                arg("--yes", action="store_true", help="even if keys depend on it; their owners get a mail"),
            ),
        ),
    },
)
