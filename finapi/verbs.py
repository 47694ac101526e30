"""The verbs of the command line: what each takes, and what it does."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from finapi import __version__, billing, datadir, logs, mail
from finapi import config as settings
from finapi.app import App
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import ApiError, UsageError

# Performs a handed-over command: (app, words, directory, standard input, say) -> exit status.
Perform = Callable[[App, list[str], str, str, Say], int]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its help, its own arguments (given the settings' parser for its actions), and what it does.

    ``run`` has the process to itself, and is given what performs handed-over commands; ``work`` needs the
    data directory, here or in the server that holds it, and takes (app, args, directory it was typed in,
    where to write).
    """

    help: str
    arguments: Callable[[argparse.ArgumentParser, argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Config, settings.Origins, Say, Perform], int] | None = None
    work: Callable[[App, argparse.Namespace, str, Say], int] | None = None


def one_line(text: str) -> str:
    """``text`` with what is not printable escaped: names come from files, and must not write to the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# ---- demo, serve


def _serving_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ready", choices=["json"], help="print one JSON line on stdout once the socket answers"
    )


def _demo(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.demo import data as demo_data

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    if origins["port"] == "default" and _taken(config.host, config.port):
        config = replace(config, port=0)
    if origins["log_level"] == "default":
        config = replace(config, log_level="warning")
    ready: dict[str, Any] = {}

    def prepare(app: App) -> None:
        from finapi import accounts, invites

        demo_data.load(app)
        now = app.clock.now()
        # A demo's data directory may be started twice: each start has accounts of its own.
        mark = app.new_uuid()[:8]
        password = app.new_uuid()
        user = accounts.create(app, f"demo-{mark}@example.com", "pro", now, password=password)
        free = accounts.create(app, f"demo-free-{mark}@example.com", "free", now)
        codes = [invites.create(app, now, lifetime=None, note="demo").code for _ in range(10)]
        ready.update(
            mail_dir=_mail_dir(app),
            api_key=user.api_key,
            free_api_key=free.api_key,
            email=user.email,
            password=password,
            invite_codes=codes,
        )

    with _directory(config, origins) as config:
        return _serve_until_stopped(args, config, prepare, ready, _demo_text, say, perform)


def _serve(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    ready: dict[str, Any] = {}

    def prepare(app: App) -> None:
        from finapi import invites

        ready["mail_dir"] = _mail_dir(app)
        with app.db.read() as tx:
            started_before = tx.value("any_user_or_invite")
        if not started_before:
            ready["invite_codes"] = [
                invites.create(app, app.clock.now(), lifetime=None, note="first start").code
            ]

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    return _serve_until_stopped(args, config, prepare, ready, _serve_text, say, perform)


def _mail_dir(app: App) -> str | None:
    directory = app.config.mail_directory
    return None if directory is None else str(directory)


def _serve_text(url: str, ready: dict[str, Any]) -> str:
    invite = (
        f"\nAn invite code for the first account: {ready['invite_codes'][0]}"
        if "invite_codes" in ready
        else ""
    )
    return f"finapi {__version__} listens at {url}{invite}"


def _serve_until_stopped(
    args: argparse.Namespace,
    config: Config,
    prepare: Callable[[App], None] | None,
    ready: dict[str, Any],
    text: Callable[[str, dict[str, Any]], str],
    say: Say,
    perform: Perform,
) -> int:
    from finapi import server

    logs.configure(config.log_format, config.log_level)
    try:
        with server.running(config, perform, prepare=prepare) as running:
            if args.ready == "json":
                line = {"ready": True, "url": running.url, "port": running.port, "pid": os.getpid(), **ready}
                say("out", json.dumps(line))
            else:
                say("out", text(running.url, ready))
            signal.sigwait(_STOP)
    except datadir.Busy:
        raise UsageError(
            f"{config.data_dir} is held by another finapi; stop it or name another --data-dir"
        ) from None
    return 0


# Blocked in every thread before anything is made that a stop has to take away again, and then waited for. A
# handler that sets an Event is lost, or hangs, when the signal comes just as the main thread begins to wait.
_STOP = (signal.SIGTERM, signal.SIGINT)


def _demo_text(url: str, ready: dict[str, Any]) -> str:
    return (
        f"finapi {__version__} listens at {url} with a few real companies' filings. Stop it with Ctrl-C.\n\n"
        f"A key to try (plan pro): {ready['api_key']}\n\n"
        f"  curl -s -H 'X-API-Key: {ready['api_key']}' "
        f"'{url}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income'\n"
    )


@contextmanager
def _directory(config: Config, origins: settings.Origins) -> Iterator[Config]:
    """The data directory of a demo: the one that was named, else a fresh one that goes away again."""
    if origins["data_dir"] != "default":
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="finapi-demo-") as place:
        yield replace(config, data_dir=Path(place))


def _taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


# ---- ingest


def _ingest_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder or zip; recognised by content")
    parser.add_argument("--accession", help="accession number of the one filing given")
    parser.add_argument("--filed", help="its filing date, YYYY-MM-DD")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def _ingest(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import ingest

    given = _given(args)
    outcomes: list[ingest.Outcome] = []

    def tell(outcome: ingest.Outcome) -> None:
        outcomes.append(outcome)
        say("progress", one_line(f"{len(outcomes)} files, {outcome.path}"))
        if not args.json:
            line = _outcome_line(outcome)
            say("progress", "")
            say("err" if outcome.outcome == "refused" else "out", line)

    counts = ingest.run(app, [_path(directory, path) for path in args.paths], given, tell)
    say("progress", "")
    if args.json:
        files = [asdict(outcome) for outcome in outcomes]
        say("out", json.dumps({"files": files, "counts": counts}))
    else:
        say("out", ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if counts["refused"] or not outcomes else 0


def _given(args: argparse.Namespace) -> Any:
    from finapi.edgar import identity
    from finapi.market import ingest

    accession = None
    if args.accession is not None:
        accession = identity.accession(args.accession)
        if accession is None:
            raise UsageError(
                f"--accession: {args.accession!r} is not an accession number (0000320193-25-000057)"
            )
    if args.filed is not None:
        try:
            if date.fromisoformat(args.filed).isoformat() != args.filed:
                raise ValueError
        except ValueError:
            raise UsageError(f"--filed: {args.filed!r} is not a date (YYYY-MM-DD)") from None
    return ingest.Given(accession, args.filed)


def _outcome_line(outcome: Any) -> str:
    parts = [f"{outcome.outcome:9}", outcome.path, f"({outcome.kind})"]
    if outcome.accession:
        parts.append(outcome.accession)
    # Names come from files: they must not write to the terminal.
    return one_line(" ".join(parts) + (f": {outcome.reason}" if outcome.reason else ""))


def _path(directory: str, path: str) -> Path:
    """``path`` as typed in ``directory``, which a server that does the work may not be in."""
    return Path(os.path.normpath(Path(directory, path)))


# ---- invite, user


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
        billing.change_plan(app, accounts.id_of(app, args.email), args.plan, now)
        say("out", f"{args.email} is on the plan {args.plan}")
    elif args.action == "credit":
        cents = _cents(args.amount)
        left = accounts.add_credit(app, args.email, cents, now)
        say("out", f"{args.email} has {left / 100:.2f} dollars")
    elif args.action == "grant":
        if not 1 <= args.tokens <= 10**12:
            raise UsageError("tokens: must be a positive whole number")
        billing.grant(app, accounts.id_of(app, args.email), args.tokens, now)
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
    if found is None:
        raise UsageError(f"amount: {text!r} is not an amount of dollars (12.50)")
    return int(found[1]) * 100 + int((found[2] or "0").ljust(2, "0"))


# ---- pack


def _pack_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser(
        "export", help="write every stored report into one compact file", parents=[common]
    )
    export.add_argument("file")
    load = actions.add_parser("load", help="store the reports of such a file", parents=[common])
    load.add_argument("file")


def _pack(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import pack

    file = _path(directory, args.file)
    try:
        if args.action == "export":
            with app.db.read() as tx:
                data = pack.dump(pack.held(tx))
            file.write_bytes(data)
            say("out", f"{file}: {len(data)} bytes")
        else:
            stored = pack.load(app, file.read_bytes(), str(file))
            say("out", f"{stored} reports stored")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return 0


# ---- config, openapi


def _no_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    pass


def _config_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _config(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    rows = settings.described(config, origins)
    if args.json:
        say("out", json.dumps({"settings": rows}))
    else:
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            say("out", f"{row['name']:{width}} = {row['value']}  ({row['origin']}) {row['help']}")
    return 0


def _openapi(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.web.openapi import document

    say("out", json.dumps(document(config.public_url), indent=1, ensure_ascii=False))
    return 0


VERBS = {
    "demo": Verb(
        "serve a few real companies' filings from a fresh temporary directory", _serving_arguments, _demo
    ),
    "serve": Verb("serve a data directory", _serving_arguments, _serve),
    "ingest": Verb("store documents of the SEC: files, folders, zips", _ingest_arguments, work=_ingest),
    "user": Verb("accounts", _user_arguments, work=_user),
    "invite": Verb("invite codes", _invite_arguments, work=_invite),
    "pack": Verb("embedded data: every stored report in one compact file", _pack_arguments, work=_pack),
    "config": Verb("print every setting, its value and where it comes from", _config_arguments, _config),
    "openapi": Verb("print the OpenAPI document", _no_arguments, _openapi),
}
