"""The command line: words into a verb of ``verbs``, done here or handed to the server; the only printer.

A verb that writes runs on the data directory itself, or is handed to the server that holds it (DECISIONS 12).
Exit status: 0 done, 1 not all done, 2 a mistake in the words or the settings, 128 and the signal when it was cut off.
Errors are one line.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import Field, fields
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

from finapi import __version__
from finapi.core import config as settings
from finapi.core import logs
from finapi.core.config import Config
from finapi.core.errors import ApiError, ParseError, UsageError
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs.table import VERBS, Verb, one_line

if TYPE_CHECKING:
    from finapi.app import App


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line."""

    words: Sequence[str] = ()

    def __init__(self, **named: Any) -> None:
        # To know how wide the terminal is loads shutil, with every compressor there is, for each option: also unasked.
        super().__init__(formatter_class=partial(argparse.HelpFormatter, width=80), **named)

    def print_help(self, *to: Any) -> None:
        self.formatter_class = argparse.HelpFormatter
        super().print_help(*to)

    def error(self, message: str) -> NoReturn:
        # What is left over is complained of by the first parser, which does not know the verb.
        verb = next((word for word in self.words if word in VERBS), None) if self.prog == "finapi" else None
        known = _known(self.words)
        if message.startswith("the following arguments are required") and (typo := _unknown(self.words, known)):
            message = f"unrecognized arguments: {typo}"
        meant = _suggestion(message, known)
        # A list of all verbs would hide what is meant.
        message = re.sub(r"^argument (VERB|ACTION): invalid choice: ('[^']*') \(.*\)$", _unknown_word, message)
        raise UsageError(f"{message}{meant}; see {f'finapi {verb}' if verb else self.prog} --help")


TOO_LITTLE_MEMORY = "there is not enough memory: raise its limit (ulimit -v, MemoryMax=) or end other programs"


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    words = list(sys.argv[1:] if words is None else words)
    _prepare_streams()
    try:
        status = _main(words)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter must not fail on it a second time at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader of our output has gone
            return 1
        return _complain(": ".join(str(part) for part in (error.filename, error.strerror) if part) or str(error), 1)
    return status


def _main(words: list[str]) -> int:
    try:
        words = words or ["demo"]
        args = _parser(words).parse_args(words)
        verb: Verb = args.verb
        # demo and serve wait for them in another way.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _cut_off)
        config, origins = settings.load(_flags(args))
        if verb.run is None:
            return _work(verb, args, words, config)
        with _told_when_interrupted(verb):
            return verb.run(args, config, origins, _say, perform)
    except UsageError as error:
        return _complain(str(error), 2)
    except (ApiError, ParseError, datadir.CommandInterruptedError) as error:
        return _complain(str(error), 1)
    except _failing() as error:
        return _complain(f"the database failed: {error}", 1)
    except MemoryError:
        return _complain(TOO_LITTLE_MEMORY, 1)
    except KeyboardInterrupt as cut_off:
        return 128 + int(cut_off.args[0] if cut_off.args else signal.SIGINT)
    except SystemExit as done:
        # argparse, after --help and --version.
        return int(done.code or 0)


@contextmanager
def _told_when_interrupted(verb: Verb) -> Iterator[None]:
    """Says what is kept of a verb that is cut off."""
    try:
        yield
    except KeyboardInterrupt:
        _say("progress", "")
        if verb.interrupted:
            _to_stderr(f"finapi: cut off; {verb.interrupted}")
        raise


def _failing() -> type[Exception]:
    """What a database that fails raises, asked for when something was: a client's verbs load no database."""
    from finapi.store.db import OperationalError

    return OperationalError


def _cut_off(number: int, frame: object) -> None:
    """End as Ctrl-C does: what has been done is told, and nothing stays half done."""
    raise KeyboardInterrupt(number)


def _complain(text: str, status: int) -> int:
    """Say what is wrong in one line; the exit status."""
    _to_stderr(one_line(f"finapi: {text}"))
    return status


def _to_stderr(text: str, end: str = "\n") -> None:
    """Say something on stderr: that nobody takes it, or that its disk is full, changes nothing of what is done."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _prepare_streams() -> None:
    """Streams that take every file name, and that exist: a closed one would be replaced by the next file opened."""
    for name in ("stdin", "stdout", "stderr"):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115  (for good)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def perform(app: App, words: list[str], directory: str, stdin: str, say: Say) -> int:
    """Do the work of a handed-over command in this process; its exit status. Errors go to ``say``."""
    try:
        # argparse would print it here, and leave.
        if {"--help", "-h", "--version"} & set(words):
            raise UsageError("help cannot be run through a server")
        args = _parser(words).parse_args(words)
        flags = {name[4:]: str(value) for name, value in vars(args).items() if name.startswith("set_")}
        given = sorted(
            name for name, value in flags.items() if name != "data_dir" and value != str(getattr(app.config, name))
        )
        if given:
            wanted = ", ".join(map(_option, given))
            raise UsageError(f"a running server has settings of its own; stop it, or start it with {wanted}")
        verb: Verb = args.verb
        if verb.work is None:
            raise UsageError(f"{args.name} cannot be run through a server")
        args.stdin = stdin
        args.handed_over = True
        return verb.work(app, args, directory, say)
    except UsageError as error:
        say("err", one_line(f"finapi: {error}"))
        return 2
    except (ApiError, ParseError) as error:
        say("err", one_line(f"finapi: {error}"))
        return 1
    except MemoryError:
        say("err", f"finapi: {TOO_LITTLE_MEMORY}")
        return 1
    except _failing() as error:
        say("err", one_line(f"finapi: the database failed: {error}"))
        return 1


def _work(verb: Verb, args: argparse.Namespace, words: list[str], config: Config) -> int:
    from finapi.ops.opened import opened

    assert verb.work is not None
    logs.configure(config.log_format, config.log_level)
    # What fails is told in one line, by whoever called.
    logging.getLogger("finapi.store").addFilter(_below_error)
    if not verb.makes and not (config.data_dir / datadir.DATABASE).exists():
        raise UsageError(f"there is no database in {config.data_dir}; finapi serve makes one, or name a --data-dir")
    # A password comes on standard input: on the command line every process could read it.
    args.stdin = sys.stdin.readline().rstrip("\r\n") if getattr(args, "password_stdin", False) else ""
    args.handed_over = False
    try:
        with _told_when_interrupted(verb), opened(config) as app:
            return verb.work(app, args, os.getcwd(), _say)
    except datadir.DirectoryBusyError:
        try:
            return datadir.hand_over(config.data_dir, words, _say, args.stdin)
        except KeyboardInterrupt:
            _to_stderr("finapi: cut off; what is reported above is done, the server ends the rest at its next step")
            raise
    finally:
        logging.getLogger("finapi.store").removeFilter(_below_error)


def _below_error(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR


def _say(stream: datadir.Stream, text: str) -> None:
    if stream == "out":
        print(text, flush=True)
    elif stream == "err":
        _to_stderr(text)
    elif sys.stderr.isatty():
        # Progress overwrites itself, and is nothing where nobody watches.
        _to_stderr(f"\r\x1b[K{text}", end="")


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line; verbs that it does not begin with have nothing but their line of help."""
    parser = _Parser(prog="finapi", description="Market data derived from SEC filings, over HTTP.")
    parser.add_argument("--version", action="version", version=f"finapi {__version__}")
    parser.words = words
    verbs = parser.add_subparsers(dest="name", required=True, metavar="VERB", parser_class=_Parser)
    for name in words[:1] if words and words[0] in VERBS else VERBS:
        verb = VERBS[name]
        if name not in words[:1]:
            verbs.add_parser(name, help=verb.help)
            continue
        # One page has all of them, and every verb takes them.
        shown = [setting.name for setting in fields(Config)] if name == "config" else verb.shown
        # argparse takes a beginning for the option, where it is of one alone.
        begun = tuple(word.partition("=")[0] for word in words if word.startswith("--"))
        given = [one.name for one in fields(Config) if begun and _option(one.name).startswith(begun)]
        common = _settings(tuple(shown), tuple(given))
        more = "" if name == "config" else "Every other setting is an option too: finapi config --help."
        end = f"{verb.note} {more}".strip()
        one = verbs.add_parser(name, help=verb.help, description=verb.help, parents=[common], epilog=end)
        verb.declare(one, common)
        one.words = words
        one.set_defaults(verb=verb)
    return parser


@cache
def _settings(shown: tuple[str, ...], given: tuple[str, ...]) -> _Parser:
    """The settings as options: those that are ``given``, and ``shown``, which the help tells of."""
    common = _Parser(add_help=False)
    group = common.add_argument_group("settings (also FINAPI_NAME in the environment, or name in a TOML file)")
    group.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="TOML file of settings")
    for setting in fields(Config):
        # A secret on a command line is read by everybody who can list processes.
        if not setting.metadata["secret"] and setting.name in {*shown, *given}:
            group.add_argument(
                _option(setting.name),
                metavar="VALUE",
                default=argparse.SUPPRESS,
                dest=f"set_{setting.name}",
                help=_help(setting) if setting.name in shown else argparse.SUPPRESS,
                # A switch stands for yes by itself.
                nargs="?" if "yes" in str(setting.type) else None,
                const="yes" if "yes" in str(setting.type) else None,
            )
    return common


def _help(setting: Field[Any]) -> str:
    """What a setting is, and what without a word."""
    default = ",".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default)
    return f"{setting.metadata['help']} ({default})".replace(" ()", "").replace("%", "%%")


def _option(setting: str) -> str:
    return "--" + setting.replace("_", "-")


def _suggestion(message: str, options: Sequence[str]) -> str:
    """What was meant by a word that argparse does not know, to stand behind its message; empty without a guess."""
    choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    option = re.search(r"unrecognized arguments: (?:.* )?(--[a-z][a-z-]*)", message)
    if choice is not None:
        word, known = choice[1], re.findall(r"[\w.-]+", choice[2])
    elif option is not None:
        word, known = option[1], list(options)
    else:
        return ""
    secret = next((one.name for one in fields(Config) if one.metadata["secret"] and _option(one.name) == word), None)
    if secret:
        return f" (others can read command lines: set FINAPI_{secret.upper()}, or {secret} in a --config file)"
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1, 0.7)
    return f" (did you mean {close[0]}?)" if close else ""


def _unknown_word(choice: re.Match[str]) -> str:
    return f"there is no {choice[1].lower()} {choice[2]}"


def _unknown(words: Sequence[str], known: Sequence[str]) -> str | None:
    """The first option among the words that there is not; argparse misses the arguments behind it before it says so."""
    options = (*known, *(_option(setting.name) for setting in fields(Config)))
    given = (word.partition("=")[0] for word in words if word.startswith("--") and word != "--")
    return next((word for word in given if not any(one.startswith(word) for one in options)), None)


def _known(words: Sequence[str]) -> list[str]:
    """The options that the help of these words shows; every setting is one of those that serve."""
    name = next((word for word in words if word in VERBS), None)
    if name is None:
        return []
    verb = VERBS[name]
    own = verb.own(next((word for word in words if word in verb.actions), None))
    every = [setting.name for setting in fields(Config)]
    shown = every if name in ("config", "demo", "serve") else ["config", *verb.shown]
    return ["--help", *map(_option, shown), *(option for names, _ in own for option in names)]


def _flags(args: argparse.Namespace) -> dict[str, Any]:
    flags = {name[4:]: value for name, value in vars(args).items() if name.startswith("set_")}
    return {**flags, "config": getattr(args, "config", None)}
