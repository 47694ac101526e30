"""What a verb of the command line is."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store.datadir import Say

if TYPE_CHECKING:
    from finapi.app import App

# Performs a handed-over command: (app, words, directory, standard input, say) -> exit status.
Perform = Callable[["App", list[str], str, str, Say], int]

# What ``add_argument`` takes: names and options.
Argument = tuple[tuple[str, ...], Mapping[str, Any]]
Arguments = tuple[Argument, ...]

T = TypeVar("T")


def arg(*names: str, **options: Any) -> Argument:
    """An argument of a verb, as ``add_argument`` takes it."""
    return names, options


MAX_NUMBER, MAX_SECONDS = 1_000_000_000, 86_400.0


def whole_number(least: int) -> Callable[[str], int]:
    """The type of an argument that is a whole number of at least ``least``."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= MAX_NUMBER):
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {MAX_NUMBER}")
        return int(text)

    return read


def parse_seconds(text: str) -> float:
    """The type of an argument that is a time to wait."""
    try:
        told = float(text)
    except ValueError:
        told = math.nan
    if not 0 < told <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, at most {MAX_SECONDS:.0f}")
    return told


BAR_SECONDS = 0.25  # between two lines of progress

_JSON = arg("--json", action="store_true", help="print one JSON document")


class Verb(NamedTuple):
    """A verb: its help, its own arguments or its actions with theirs, and what it does.

    ``run`` has the process to itself, and is given what performs handed-over commands; ``work`` needs the
    data directory, here or in the server that holds it, and takes (app, args, directory it was typed in,
    where to write).
    """

    help: str
    arguments: Arguments = ()
    run: Callable[[argparse.Namespace, Config, settings.Origins, Say, Perform], int] | None = None
    work: Callable[[App, argparse.Namespace, str, Say], int] | None = None
    actions: Mapping[str, tuple[str, Arguments]] = MappingProxyType({})
    # The settings that its --help shows beside --config; it takes every other one too.
    settings: tuple[str, ...] = ()
    # What its --help says below everything.
    note: str = ""
    # Whether it reads or writes no data directory, so that its --help shows no --data-dir.
    storeless: bool = False
    # Whether it makes a data directory where there is none (DECISIONS 12).
    creates_directory: bool = False
    # What a long one says when it is cut off by Ctrl-C or SIGTERM: what is kept, and how to go on.
    interrupt_note: str = ""

    @property
    def help_settings(self) -> tuple[str, ...]:
        """The settings that its ``--help`` shows beside ``--config``."""
        return self.settings if self.storeless else ("data_dir", *self.settings)

    def add_arguments(self, parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
        """Add the arguments to the verb's parser; every action takes the settings of ``common`` too."""
        if not self.actions:
            _add(parser, self.get_arguments())
            return
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, (help, _) in self.actions.items():
            _add(actions.add_parser(name, help=help, parents=[common]), self.get_arguments(name))

    def get_arguments(self, action: str | None = None) -> Arguments:
        """The arguments of the verb or of an action; each has ``--json``, but what says ``--ready json``."""
        arguments = self.actions[action][1] if action is not None else self.arguments
        return arguments if any("--ready" in names for names, _ in arguments) else (*arguments, _JSON)


def _add(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    for names, options in arguments:
        parser.add_argument(*names, **options)


def print_document(say: Say, value: Any, indent: int | None = None) -> int:
    """Print one JSON document, in ASCII for whatever the terminal's encoding is; exit status 0."""
    say("out", json.dumps(value, indent=indent))
    return 0


def print_result(say: Say, args: argparse.Namespace, line: str, **fields: Any) -> int:
    """Say what was done: in a line, or as a document of ``fields``; exit status 0."""
    if args.json:
        return print_document(say, fields)
    say("out", escape_unprintable(line))
    return 0


def run_interruptibly(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """What ``work`` returns, done in another thread: a signal waits until a long statement of SQLite has ended.

    After Ctrl-C ``stop`` is called, which must break the work off, and waited for.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as pool:
        try:
            working = pool.submit(work)  # within: a signal may come before it has returned
            # One that comes just before a wait does not end it, and is only looked at after it.
            while wait([working], timeout=0.2).not_done:
                pass
            return working.result()
        except KeyboardInterrupt:
            stop()
            raise


def print_table(say: Say, args: argparse.Namespace, name: str, rows: Sequence[Any], names: str) -> int:
    """Print rows: these columns under headings, or as a document with every member; exit status 0."""
    if args.json:
        return print_document(say, {name: list(map(dict, rows))})
    columns = names.split()
    table = [[column.replace("_", " ").upper() for column in columns]]
    table += [
        [escape_unprintable("-" if row[column] is None else str(row[column])) for column in columns] for row in rows
    ]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for line in table:
        say("out", "  ".join(map(str.ljust, line, widths)).rstrip())
    return 0


def escape_unprintable(text: str) -> str:
    """``text`` with what is not printable escaped: names come from files, and must not write to the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


MAX_NAMES_BYTES = 1 << 20  # bytes of a list of companies


def read_company_names(directory: str, path: str) -> list[str]:
    """The tickers and CIKs in a file: on lines, or between commas and blanks; what follows a # is a comment."""
    file = resolve_path(directory, path)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_NAMES_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is not UTF-8") from None
    names = [name for line in text.splitlines() for name in line.partition("#")[0].replace(",", " ").split()]
    if len(data) > MAX_NAMES_BYTES or not names:
        raise UsageError(f"{file}: " + ("is too large to be a list of companies" if names else "names no company"))
    return names


class ProgressBar:
    """Progress as a line, a few times a second: what is worked on, how far it is, how fast, and for how long."""

    def __init__(self, say: Say, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._say, self._monotonic = say, monotonic
        self._of: tuple[str, str] | None = None
        self._from = 0
        self._since = self._shown = -math.inf

    def update(self, label: str, unit: str, done: int, whole: int) -> None:
        """``done`` of ``whole`` (0: not known) units of ``label`` are done."""
        now = self._monotonic()
        if self._of != (label, unit):
            self._of, self._from, self._since = (label, unit), done, now
        elif now < self._shown + BAR_SECONDS and done != whole:
            return
        self._shown = now
        rate = (done - self._from) / (now - self._since) if now > self._since else 0.0
        each, name = (1_000_000, "MB") if unit == "bytes" else (1, unit)
        line = f"{label}: {done // each:,}" + (f" of {whole // each:,}" if whole else "") + f" {name}"
        if rate:
            line += f", {rate / each:,.1f}/s" + (f", {format_duration((whole - done) / rate)} left" if whole else "")
        self._say("progress", escape_unprintable(line))

    def clear(self) -> None:
        """Take the line away."""
        self._say("progress", "")


def format_duration(seconds: float) -> str:
    """A time in the two units that say most of it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def resolve_path(directory: str, path: str) -> Path:
    """``path`` as typed in ``directory``, which a server that does the work may not be in.

    UsageError for an empty one, which a variable of a shell that is not set leaves: it would be all of ``directory``.
    """
    if not path:
        raise UsageError("a path is empty")
    return Path(os.path.normpath(Path(directory, path)))
