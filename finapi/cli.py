"""The command line: every verb parses its words, calls what does the work, and prints.

A verb that writes runs on the data directory itself, or is handed to the server that holds it (CONTRACT 12).
Exit status: 0 done, 1 not all done, 2 a mistake in the words or the settings. Errors are one line.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from finapi import __version__, datadir
from finapi import config as settings
from finapi.app import App
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import ApiError, ParseError, UsageError


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb: its help, its own arguments (given the settings' parser for its actions), and what it does.

    ``run`` has the process to itself; ``work`` needs the data directory, here or in the server that holds it,
    and takes (app, args, directory it was typed in, where to write).
    """

    help: str
    arguments: Callable[[argparse.ArgumentParser, argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Config, settings.Origins], int] | None = None
    work: Callable[[App, argparse.Namespace, str, Say], int] | None = None


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    words = list(sys.argv[1:] if words is None else words)
    _prepare_streams()
    try:
        status = _main(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone; the interpreter must not fail on it a second time at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _complain(error.strerror or str(error), 1)
    return status


def _main(words: list[str]) -> int:
    try:
        args = _parser().parse_args(words or ["demo"])
        verb: _Verb = args.verb
        config, origins = settings.load(_flags(args))
        if verb.run is not None:
            return verb.run(args, config, origins)
        return _work(verb, args, words, config)
    except UsageError as error:
        return _complain(str(error), 2)
    except (ApiError, ParseError, datadir.Interrupted) as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return 130
    except SystemExit as done:
        # argparse, after --help and --version.
        return int(done.code or 0)


def _complain(text: str, status: int) -> int:
    """Say what is wrong in one line; the exit status."""
    print(_one_line(f"finapi: {text}"), file=sys.stderr)
    return status


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _prepare_streams() -> None:
    """Streams that take every file name, and that exist: a closed one would be replaced by the next file opened."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (for the life of the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def perform(app: App, words: list[str], directory: str, say: Say) -> int:
    """Do the work of a handed-over command in this process; its exit status. Errors go to ``say``."""
    try:
        # argparse would print it here, and leave.
        if {"--help", "-h", "--version"} & set(words):
            raise UsageError("help is not handed to a server")
        args = _parser().parse_args(words)
        verb: _Verb = args.verb
        if verb.work is None:
            raise UsageError(f"{args.name} cannot be handed to a server")
        return verb.work(app, args, directory, say)
    except UsageError as error:
        say("err", _one_line(f"finapi: {error}"))
        return 2
    except (ApiError, ParseError) as error:
        say("err", _one_line(f"finapi: {error}"))
        return 1


def _work(verb: _Verb, args: argparse.Namespace, words: list[str], config: Config) -> int:
    from finapi import server

    assert verb.work is not None
    _configure_log(config)
    try:
        with server.opened(config) as app:
            return verb.work(app, args, os.getcwd(), _say)
    except datadir.Busy:
        return datadir.hand_over(config.data_dir, words, _say)


def _say(stream: datadir.Stream, text: str) -> None:
    if stream == "out":
        print(text, flush=True)
    elif stream == "err":
        print(text, file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        # Progress overwrites itself, and is nothing where nobody watches.
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


# ---- demo, serve


def _serving_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ready", choices=["json"], help="print one JSON line on stdout once the socket answers"
    )


def _demo(args: argparse.Namespace, config: Config, origins: settings.Origins) -> int:
    from finapi import accounts
    from finapi.demo import data as demo_data

    stop = _stop_signals()
    if origins["port"] == "default" and _taken(config.host, config.port):
        config = replace(config, port=0)
    if origins["log_level"] == "default":
        config = replace(config, log_level="warning")
    ready: dict[str, Any] = {}

    def prepare(app: App) -> None:
        demo_data.load(app)
        for name, plan in (("api_key", "pro"), ("free_api_key", "free")):
            email = f"demo-{plan}-{app.new_uuid()[:8]}@example.com"
            user = accounts.create(app, email, plan, app.clock.now())
            ready[name] = user.api_key
            if plan == "pro":
                ready["email"] = user.email

    with _directory(config, origins) as config:
        return _serve_until_stopped(args, config, prepare, ready, _demo_text, stop)


def _serve(args: argparse.Namespace, config: Config, origins: settings.Origins) -> int:
    return _serve_until_stopped(
        args, config, None, {}, lambda url, ready: f"finapi {__version__} listens at {url}", _stop_signals()
    )


def _serve_until_stopped(
    args: argparse.Namespace,
    config: Config,
    prepare: Callable[[App], None] | None,
    ready: dict[str, Any],
    text: Callable[[str, dict[str, Any]], str],
    stop: threading.Event,
) -> int:
    from finapi import server

    _configure_log(config)
    try:
        with server.running(config, perform, prepare=prepare) as running:
            if args.ready == "json":
                line = {"ready": True, "url": running.url, "port": running.port, "pid": os.getpid(), **ready}
                print(json.dumps(line), flush=True)
            else:
                print(text(running.url, ready), flush=True)
            stop.wait()
    except datadir.Busy:
        raise UsageError(
            f"{config.data_dir} is held by another finapi; stop it or name another --data-dir"
        ) from None
    return 0


def _stop_signals() -> threading.Event:
    """Set by SIGTERM and SIGINT: asked for before anything is made that a stop has to take away again."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


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
        say("progress", _one_line(f"{len(outcomes)} files, {outcome.path}"))
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
    return _one_line(" ".join(parts) + (f": {outcome.reason}" if outcome.reason else ""))


def _path(directory: str, path: str) -> Path:
    """``path`` as typed in ``directory``, which a server that does the work may not be in."""
    return Path(os.path.normpath(Path(directory, path)))


# ---- user


def _user_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="create a verified account and print its key", parents=[common])
    add.add_argument("email")
    add.add_argument("--plan", default="free", choices=["free", "weekly", "monthly", "pro", "yearly"])
    add.add_argument("--json", action="store_true", help="print one JSON document")


def _user(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi import accounts

    if "@" not in args.email or any(character.isspace() for character in args.email):
        raise UsageError(f"{args.email!r} is not an email address")
    user = accounts.create(app, args.email, args.plan, app.clock.now())
    if args.json:
        say("out", json.dumps({"email": user.email, "uuid": user.uuid, "api_key": user.api_key}))
    else:
        say("out", f"{user.email} has the API key {user.api_key}")
    return 0


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


def _config(args: argparse.Namespace, config: Config, origins: settings.Origins) -> int:
    rows = settings.described(config, origins)
    if args.json:
        print(json.dumps({"settings": rows}))
    else:
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            print(f"{row['name']:{width}} = {row['value']}  ({row['origin']}) {row['help']}")
    return 0


def _openapi(args: argparse.Namespace, config: Config, origins: settings.Origins) -> int:
    from finapi.web.openapi import document

    print(json.dumps(document(config.public_url), indent=1, ensure_ascii=False))
    return 0


_VERBS = {
    "demo": _Verb(
        "serve a few real companies' filings from a fresh temporary directory", _serving_arguments, _demo
    ),
    "serve": _Verb("serve a data directory", _serving_arguments, _serve),
    "ingest": _Verb("store documents of the SEC: files, folders, zips", _ingest_arguments, work=_ingest),
    "user": _Verb("accounts", _user_arguments, work=_user),
    "pack": _Verb("embedded data: every stored report in one compact file", _pack_arguments, work=_pack),
    "config": _Verb("print every setting, its value and where it comes from", _config_arguments, _config),
    "openapi": _Verb("print the OpenAPI document", _no_arguments, _openapi),
}


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="finapi", description="Market data derived from SEC filings, over HTTP.")
    parser.add_argument("--version", action="version", version=f"finapi {__version__}")
    verbs = parser.add_subparsers(dest="name", required=True, metavar="VERB", parser_class=_Parser)
    common = _Parser(add_help=False)
    group = common.add_argument_group(
        "settings (also FINAPI_NAME in the environment, or name in a TOML file)"
    )
    group.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="TOML file of settings")
    for setting in fields(Config):
        # A secret on a command line is read by everybody who can list processes.
        if not setting.metadata["secret"]:
            flag = "--" + setting.name.replace("_", "-")
            group.add_argument(
                flag,
                metavar="VALUE",
                default=argparse.SUPPRESS,
                dest=f"set_{setting.name}",
                help=setting.metadata["help"],
            )
    for name, verb in _VERBS.items():
        one = verbs.add_parser(name, help=verb.help, description=verb.help, parents=[common])
        verb.arguments(one, common)
        one.set_defaults(verb=verb)
    return parser


def _flags(args: argparse.Namespace) -> dict[str, Any]:
    flags = {name[4:]: value for name, value in vars(args).items() if name.startswith("set_")}
    return {**flags, "config": getattr(args, "config", None)}


def _configure_log(config: Config) -> None:
    from finapi import logs

    logs.configure(config.log_format, config.log_level)
