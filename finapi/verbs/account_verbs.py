"""The verbs invite, user, audit and mail.

Each action of ``user`` is a function of the table ``_USER_ACTIONS``. It returns the exit status.
"""

from __future__ import annotations

import argparse
import html
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from finapi.core.counts import format_count
from finapi.core.errors import ApiError, UsageError
from finapi.net.letters import MailError
from finapi.store.datadir import Say
from finapi.verbs.verb import Verb, arg, print_document, print_result, print_table

if TYPE_CHECKING:
    from finapi.app import App


def _run_invite(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit, invites

    now = app.clock.now()
    actor = audit.build_command_actor(args.system_user, directory)
    if args.action == "revoke":
        invites.revoke(app, args.code, now, actor)
        return print_result(say, args, f"{args.code} is revoked", code=args.code, state="revoked")
    if args.action == "create":
        if args.note is not None and not args.note.isprintable():
            raise UsageError("--note: must be printable text")
        if not 1 <= args.count <= 10_000:
            raise UsageError("--count: must be from 1 to 10000")
        lifetime = _parse_duration(args.expires) if args.expires is not None else None
        created_invites = [
            invites.create(app, now, lifetime=lifetime, note=args.note, actor=actor) for _ in range(args.count)
        ]
        rows = [invite._asdict() for invite in created_invites]
        if args.json:
            return print_document(say, {"invites": rows})
        for row in rows:
            say("out", "  ".join(str(value) for value in row.values() if value is not None))
        return 0
    with app.accounts.read() as tx:
        rows = invites.list_invites(app, tx, now)
    return print_table(say, args, "invites", rows, "code state created_at expires_at used_at used_by note")


def _parse_duration(text: str) -> timedelta:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise UsageError(f"--expires: {text!r} is not a duration (90s, 15m, 12h, 7d)")
    seconds_by_unit = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    return timedelta(seconds=int(match[1]) * seconds_by_unit[match[2]])


def _run_user(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit

    _check_address(getattr(args, "email", None))
    args.actor = audit.build_command_actor(args.system_user, directory)
    return _USER_ACTIONS[args.action](app, args, say)


def _run_audit(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit

    if args.add is not None:
        if not args.add.isprintable() or not args.add.strip():
            raise UsageError("--add: must be printable text")
        actor = audit.build_command_actor(args.system_user, directory)
        with app.accounts.write() as tx:
            audit.record_action(tx, actor, audit.NOTE, app.clock.now(), detail=args.add)
        return print_result(say, args, "recorded", recorded=args.add)
    with app.accounts.read() as tx:
        rows = audit.list_actions(tx, args.limit)
    return print_table(say, args, "actions", rows, "at who action account detail place")


def _check_address(email: str | None) -> None:
    """Raise UsageError if ``email`` is not an email address. None is accepted."""
    from finapi.net import letters

    try:
        if email is not None:
            letters.parse_address(email)
    except MailError:
        raise UsageError(f"{email!r} is not an email address") from None


def _list_users(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import users

    with app.accounts.read() as tx:
        return print_table(say, args, "users", users.list_users(tx), "email plan balance state created_at uuid")


def _print_usage(app: App, args: argparse.Namespace, say: Say) -> int:
    """Print the tokens that each account spent, or the usage of one account by endpoint (as JSON also by day)."""
    from finapi.accounts import billing, users

    if not 1 <= args.days <= app.config.usage_days:
        raise UsageError(f"--days: must be from 1 to {app.config.usage_days}")
    now = app.clock.now()
    if args.email is None:
        with app.accounts.read() as tx:
            return print_table(
                say, args, "accounts", billing.list_spending_by_account(tx, args.days, now), "email plan tokens calls"
            )
    user_id = users.get_id(app, args.email)
    with app.accounts.read() as tx:
        spending = billing.compute_spending(tx, user_id, args.days, now)
    if args.json:
        return print_document(say, spending)
    return print_table(say, args, "", spending["top_endpoints"], "endpoint tokens calls")


def _set_password(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import audit, recovery, sessions, users

    now, user_id = app.clock.now(), users.get_id(app, args.email)
    if args.password_stdin:
        try:
            sessions.set_password(app, user_id, args.stdin, now, args.actor)
        except ApiError as error:
            raise UsageError(str(error)) from None
        return print_result(
            say, args, f"{args.email} has a new password; its sessions are ended", email=args.email, set=True
        )
    with app.accounts.write() as tx:
        audit.record_action(tx, args.actor, "mail a link for a password", now, user_id)
    recovery.request_password_reset(app, args.email, now)
    return print_result(
        say, args, f"a link to set a new password is mailed to {args.email}", email=args.email, set=False
    )


def _delete_user(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import users

    user_id = users.get_id(app, args.email)
    if not args.yes:
        raise UsageError("deletion cannot be undone; confirm with --yes")
    users.erase(app, user_id, app.clock.now(), args.actor)
    line = f"{args.email} is deleted; the ledger and the wallet stay, under a number"
    return print_result(say, args, line, email=args.email, deleted=True)


def _show_user(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import users
    from finapi.core import lockout

    user_id, now = users.get_id(app, args.email), app.clock.now()
    with app.accounts.read() as tx:
        locked_at = users.get_locked_at(tx, args.email)
        profile: dict[str, Any] = dict(users.build_profile(app, tx, user_id, now))
    if locked_at:
        profile["locked_at"] = locked_at
    locked_seconds = app.lockouts.get_lock_seconds(lockout.hash_email(args.email), app.clock.monotonic())
    if locked_seconds:
        profile["login_locked_seconds"] = locked_seconds
    return print_document(say, profile, indent=None if args.json else 1)


def _lock_or_unlock_user(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import users

    users.set_locked(app, args.email, args.action == "lock", app.clock.now(), args.actor)
    return print_result(say, args, f"{args.email} is {args.action}ed", email=args.email, locked=args.action == "lock")


def _change_plan(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import plans, users

    plans.check_name(app.config, args.plan)
    plans.change_plan(app, users.get_id(app, args.email), args.plan, app.clock.now(), args.actor)
    return print_result(say, args, f"{args.email} is on the plan {args.plan}", email=args.email, plan=args.plan)


def _change_credit(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import plans, users

    cents = plans.parse_cents(args.amount)
    if cents < 0 and not args.reason:
        raise UsageError("a correction needs a reason: --reason 'booked twice'")
    balance_cents = users.change_credit(app, args.email, cents, app.clock.now(), args.actor, args.reason)
    balance = balance_cents / 100
    return print_result(say, args, f"{args.email} has {balance:.2f} dollars", email=args.email, credit_balance=balance)


def _grant_tokens(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import plans, users

    if not 1 <= args.tokens <= 10**12:
        raise UsageError("tokens: must be a positive whole number")
    plans.grant(app, users.get_id(app, args.email), args.tokens, app.clock.now(), args.actor)
    line = f"{args.email} was granted {format_count(args.tokens, 'token')}"
    return print_result(say, args, line, email=args.email, granted=args.tokens)


def _run_mail(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    """Send a test mail and print whether the mail server accepted it."""
    from finapi.net import letters, mail

    _check_address(args.email)
    text = f"finapi at {app.config.public_url or 'this host'} can send mail."
    try:
        letter = letters.Letter(args.email, "A test of finapi", text, f"<p>{html.escape(text)}</p>")
        mail.send_now(app.mail_settings, letter, app.clock.now(), app.new_uuid())
    except MailError as error:
        raise ApiError("UNAVAILABLE", f"the mail could not be sent: {error}") from None

    directory_name = str(app.config.mail_directory) if app.config.mail_directory else None
    outcome = f"written to {directory_name}" if directory_name else "the server took it"
    return print_result(say, args, f"{args.email}: {outcome}", email=args.email, directory=directory_name)


def _rotate_key(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.delivery import credential_replacement

    now = app.clock.now()
    if (args.email is None) != args.all:
        raise UsageError("name one EMAIL, or --all")
    if args.all:
        counts = credential_replacement.replace_all_credentials(
            app, now, args.webhooks, lambda done: say("progress", format_count(done, "account")), args.actor
        )
        say("progress", "")
        secrets = f", webhook secrets: {counts.webhook_secrets}" if args.webhooks else ""
        line = f"replaced API keys: {counts.api_keys}{secrets}; their owners get a mail"
        return print_result(say, args, line, api_keys=counts.api_keys, webhook_secrets=counts.webhook_secrets)
    api_key = credential_replacement.replace_credentials(app, args.email, now, args.webhooks, args.actor)
    return print_result(say, args, f"{args.email} has the API key {api_key}", email=args.email, api_key=api_key)


def _revoke_credentials(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.delivery import credential_replacement

    credential_replacement.revoke_credentials(app, args.email, app.clock.now(), args.actor)
    line = f"the sessions of {args.email} are ended; a new key is mailed in place of the old one"
    return print_result(say, args, line, email=args.email, revoked=True)


def _add_user(app: App, args: argparse.Namespace, say: Say) -> int:
    from finapi.accounts import users
    from finapi.core import passwords

    password = args.stdin if args.password_stdin else None
    if password is not None:
        try:
            passwords.check_new(password, "password", common=app.config.common_passwords)
        except ApiError as error:
            raise UsageError(str(error)) from None
    user = users.create(
        app, args.email, args.plan, app.clock.now(), password=password, is_admin=args.admin, actor=args.actor
    )
    line = f"{user.email} has the API key {user.api_key}"
    return print_result(say, args, line, email=user.email, uuid=user.uuid, api_key=user.api_key)


_USER_ACTIONS = {
    "add": _add_user,
    "list": _list_users,
    "show": _show_user,
    "usage": _print_usage,
    "password": _set_password,
    "lock": _lock_or_unlock_user,
    "unlock": _lock_or_unlock_user,
    "delete": _delete_user,
    "revoke": _revoke_credentials,
    "rotate-key": _rotate_key,
    "plan": _change_plan,
    "credit": _change_credit,
    "grant": _grant_tokens,
}

INVITE = Verb(
    "create, list and revoke invite codes",
    work=_run_invite,
    actions={
        "create": (
            "create invite codes",
            (
                arg("--count", type=int, default=1, help="how many (1)"),
                arg("--expires", help="lifetime: 90s, 15m, 12h, 7d (never)"),
                arg("--note", help="a reminder for yourself"),
            ),
        ),
        "list": ("list every invite and its state", ()),
        "revoke": ("revoke a code that has not been used", (arg("code"),)),
    },
)

_EMAIL = arg("email")
_STDIN = arg("--password-stdin", action="store_true", help="read the password from standard input")
USER = Verb(
    "create, list, change, lock and delete accounts",
    work=_run_user,
    actions={
        "add": (
            "create a verified account and print its key",
            (
                _EMAIL,
                arg("--plan", default="free"),
                _STDIN,
                arg("--admin", action="store_true", help="an account that may use the pages under /admin"),
            ),
        ),
        "list": ("list every account", ()),
        "show": ("print an account", (_EMAIL,)),
        "usage": (
            "tokens spent by each account, or by one account on each endpoint",
            (arg("email", nargs="?"), arg("--days", type=int, default=30, help="UTC days, today included (30)")),
        ),
        "password": ("set a password, or mail a link to set one", (_EMAIL, _STDIN)),
        "delete": (
            "delete an account; its ledger stays under the account's number",
            (_EMAIL, arg("--yes", action="store_true", help="confirm, as it cannot be undone")),
        ),
        "lock": ("lock an account: its key and password are refused", (_EMAIL,)),
        "unlock": ("unlock an account", (_EMAIL,)),
        "revoke": ("end all sessions and replace the key, which is mailed", (_EMAIL,)),
        "rotate-key": (
            "replace an API key, or all; the new keys are mailed",
            (
                arg("email", nargs="?"),
                arg("--all", action="store_true", help="of every account"),
                arg("--webhooks", action="store_true", help="webhook secrets too; the old ones sign for 24 hours more"),
            ),
        ),
        "plan": ("change the plan of an account, from now on", (_EMAIL, arg("plan"))),
        "credit": (
            "add dollars to the wallet, or take back what was not spent",
            (
                _EMAIL,
                arg("amount", help="dollars, up to two decimals: 12.50, or for a correction: -12.50"),
                arg("--reason", default="", help="a text for the audit log; required for a correction"),
            ),
        ),
        "grant": ("add tokens to the balance", (_EMAIL, arg("tokens", type=int))),
    },
)
AUDIT = Verb(
    "the log of operators' actions, newest first",
    (
        arg("--limit", type=int, default=100, help="how many (100); -1: all"),
        arg("--add", metavar="TEXT", help="add a note of your own instead"),
    ),
    work=_run_audit,
)
MAIL = Verb(
    "send a test mail",
    work=_run_mail,
    actions={"test": ("send a test mail and print whether it was accepted", (_EMAIL,))},
)
