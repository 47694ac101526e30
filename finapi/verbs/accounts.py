"""invite and user: who may call."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from datetime import timedelta

from finapi import mail, plans
from finapi.app import App
from finapi.datadir import Say
from finapi.errors import ApiError, UsageError
from finapi.verbs.verb import Verb


def _invite_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make invite codes", parents=[common])
    create.add_argument("--count", type=int, default=1, help="how many (1)")
    create.add_argument("--expires", help="lifetime: 90s, 15m, 12h, 7d (never)")
    create.add_argument("--note", help="what to remember it by")
    create.add_argument("--json", action="store_true", help="print one JSON document")
    listing = actions.add_parser("list", help="list every invite and its state", parents=[common])
    listing.add_argument("--json", action="store_true", help="print one JSON document")
    revoke = actions.add_parser("revoke", help="revoke a code that has not been used", parents=[common])
    revoke.add_argument("code")


def _invite(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi import invites

    now = app.clock.now()
    if args.action == "revoke":
        invites.revoke(app, args.code, now)
        say("out", f"{args.code} is revoked")
        return 0
    if args.action == "create":
        if args.note is not None and not args.note.isprintable():
            raise UsageError("--note: must be printable text")
        if not 1 <= args.count <= 10_000:
            raise UsageError("--count: must be from 1 to 10000")
        lifetime = _duration(args.expires) if args.expires is not None else None
        made = [invites.create(app, now, lifetime=lifetime, note=args.note) for _ in range(args.count)]
        rows = [asdict(invite) for invite in made]
    else:
        with app.db.read() as tx:
            rows = invites.listed(app, tx, now)
    if args.json:
        say("out", json.dumps({"invites": rows}))
    else:
        for row in rows:
            say("out", "  ".join(str(value) for value in row.values() if value is not None))
    return 0


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if found is None:
        raise UsageError(f"--expires: {text!r} is not a duration (90s, 15m, 12h, 7d)")
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[found[2]]
    return timedelta(**{unit: int(found[1])})


def _user_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    plans = ["free", "weekly", "monthly", "pro", "yearly"]
    verbs = {
        "add": "create a verified account and print its key",
        "show": "print an account",
        "lock": "shut an account: neither key nor password opens it",
        "unlock": "open it again",
        "plan": "put an account on a plan, from now on",
        "credit": "add dollars to the wallet",
        "grant": "add tokens to the balance",
    }
    made = {}
    for name, help in verbs.items():
        made[name] = actions.add_parser(name, help=help, parents=[common])
        made[name].add_argument("email")
    made["add"].add_argument("--plan", default="free", choices=plans)
    made["add"].add_argument(
        "--password-stdin", action="store_true", help="read the password from standard input"
    )
    for name in ("add", "show"):
        made[name].add_argument("--json", action="store_true", help="print one JSON document")
    made["plan"].add_argument("plan", choices=plans)
    made["credit"].add_argument("amount", help="dollars, up to two decimals: 12.50")
    made["grant"].add_argument("tokens", type=int)


def _user(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi import accounts

    try:
        mail.address(args.email)
    except mail.MailError:
        raise UsageError(f"{args.email!r} is not an email address") from None
    now = app.clock.now()
    if args.action == "add":
        return _user_add(app, args, say)
    if args.action in ("lock", "unlock"):
        accounts.set_locked(app, args.email, args.action == "lock", now)
        say("out", f"{args.email} is {args.action}ed")
    elif args.action == "plan":
        plans.change_plan(app, accounts.id_of(app, args.email), args.plan, now)
        say("out", f"{args.email} is on the plan {args.plan}")
    elif args.action == "credit":
        cents = _cents(args.amount)
        left = accounts.add_credit(app, args.email, cents, now)
        say("out", f"{args.email} has {left / 100:.2f} dollars")
    elif args.action == "grant":
        if not 1 <= args.tokens <= 10**12:
            raise UsageError("tokens: must be a positive whole number")
        plans.grant(app, accounts.id_of(app, args.email), args.tokens, now)
        say("out", f"{args.email} was granted {args.tokens} tokens")
    else:
        user_id = accounts.id_of(app, args.email)
        with app.db.read() as tx:
            profile = accounts.profile(app, tx, user_id, now)
        say("out", json.dumps(profile, indent=None if args.json else 1))
    return 0


def _user_add(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi import accounts, passwords

    password = args.stdin if args.password_stdin else None
    if password is not None:
        try:
            passwords.check_new(password, "password")
        except ApiError as error:
            raise UsageError(str(error)) from None
    user = accounts.create(app, args.email, args.plan, app.clock.now(), password=password)
    if args.json:
        say("out", json.dumps({"email": user.email, "uuid": user.uuid, "api_key": user.api_key}))
    else:
        say("out", f"{user.email} has the API key {user.api_key}")
    return 0


def _cents(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?", text)
    cents = int(found[1]) * 100 + int((found[2] or "0").ljust(2, "0")) if found else 0
    if cents == 0:
        raise UsageError(f"amount: {text!r} is not an amount of dollars (12.50)")
    return cents


USER = Verb("accounts", _user_arguments, work=_user)
INVITE = Verb("invite codes", _invite_arguments, work=_invite)
