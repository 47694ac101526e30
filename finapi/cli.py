"""The command line: words into a verb of ``verbs``, done here or handed to the server; the only printer.

A verb that writes runs on the data directory itself, or is handed to the server that holds it (CONTRACT 12).
Exit status: 0 done, 1 not all done, 2 a mistake in the words or the settings. Errors are one line.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NoReturn

from finapi import __version__, datadir, logs
from finapi import config as settings
from finapi.app import App
from finapi.config import Config
from finapi.datadir import Say
from finapi.db import Failing
from finapi.errors import ApiError, ParseError, UsageError
from finapi.verbs import VERBS, Verb, one_line


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


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
        verb: Verb = args.verb
        config, origins = settings.load(_flags(args))
        if verb.run is not None:
            return verb.run(args, config, origins, _say, perform)
        return _work(verb, args, words, config)
    except UsageError as error:
        return _complain(str(error), 2)
    except (ApiError, ParseError, datadir.Interrupted) as error:
        return _complain(str(error), 1)
    except Failing as error:
        return _complain(f"the database failed: {error}", 1)
    except KeyboardInterrupt:
        return 130
    except SystemExit as done:
        # argparse, after --help and --version.
        return int(done.code or 0)


def _complain(text: str, status: int) -> int:
    """Say what is wrong in one line; the exit status."""
    print(one_line(f"finapi: {text}"), file=sys.stderr)
    return status


def _prepare_streams() -> None:
    """Streams that take every file name, and that exist: a closed one would be replaced by the next file opened."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (for the life of the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def perform(app: App, words: list[str], directory: str, stdin: str, say: Say) -> int:
    """Do the work of a handed-over command in this process; its exit status. Errors go to ``say``."""
    try:
        # argparse would print it here, and leave.
        if {"--help", "-h", "--version"} & set(words):
            raise UsageError("help is not handed to a server")
        args = _parser().parse_args(words)
        given = sorted(name[4:] for name in vars(args) if name.startswith("set_") and name != "set_data_dir")
        if given:
            raise UsageError(f"a running server has settings of its own; start it with {', '.join(given)}")
        verb: Verb = args.verb
        if verb.work is None:
            raise UsageError(f"{args.name} cannot be handed to a server")
        args.stdin = stdin
        args.handed_over = True
        return verb.work(app, args, directory, say)
    except UsageError as error:
        say("err", one_line(f"finapi: {error}"))
        return 2
    except (ApiError, ParseError) as error:
        say("err", one_line(f"finapi: {error}"))
        return 1


def _work(verb: Verb, args: argparse.Namespace, words: list[str], config: Config) -> int:
    from finapi import server

    assert verb.work is not None
    logs.configure(config.log_format, config.log_level)
    # A password comes on standard input: on the command line every process could read it.
    args.stdin = sys.stdin.readline().rstrip("\r\n") if getattr(args, "password_stdin", False) else ""
    args.handed_over = False
    try:
        with server.opened(config) as app:
            return verb.work(app, args, os.getcwd(), _say)
    except datadir.Busy:
        return datadir.hand_over(config.data_dir, words, _say, args.stdin)


def _say(stream: datadir.Stream, text: str) -> None:
    if stream == "out":
        print(text, flush=True)
    elif stream == "err":
        print(text, file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        # Progress overwrites itself, and is nothing where nobody watches.
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


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
    for name, verb in VERBS.items():
        one = verbs.add_parser(name, help=verb.help, description=verb.help, parents=[common])
        verb.arguments(one, common)
        one.set_defaults(verb=verb)
    return parser


def _flags(args: argparse.Namespace) -> dict[str, Any]:
    flags = {name[4:]: value for name, value in vars(args).items() if name.startswith("set_")}
    return {**flags, "config": getattr(args, "config", None)}
