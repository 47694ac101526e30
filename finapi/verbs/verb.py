"""A verb of the command line (``finapi VERB``), and what all verbs use to read arguments and print."""

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
from finapi.core.installation import HAS_SERVER
from finapi.store.datadir import Command, Say
from finapi.verbs.examples import EXAMPLES

if TYPE_CHECKING:
    from finapi.app import App

# A function that runs a command handed over by another process, and returns the exit status.
Perform = Callable[["App", Command, Say], int]

# The names and options that ``ArgumentParser.add_argument`` takes.
Argument = tuple[tuple[str, ...], Mapping[str, Any]]
Arguments = tuple[Argument, ...]

T = TypeVar("T")


def arg(*names: str, **options: Any) -> Argument:
    """Return an argument of a verb, with the parameters of ``ArgumentParser.add_argument``."""
    return names, options


MAX_NUMBER, MAX_SECONDS = 1_000_000_000, 86_400.0


def whole_number(minimum: int) -> Callable[[str], int]:
    """Return the argparse type of a whole number of at least ``minimum``."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and minimum <= int(text) <= MAX_NUMBER):
            raise argparse.ArgumentTypeError(f"must be a whole number from {minimum} to {MAX_NUMBER}")
        return int(text)

    return parse


def parse_seconds(text: str) -> float:
    """Return a positive number of seconds, for use as an argparse type."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, at most {MAX_SECONDS:.0f}")
    return seconds


BAR_SECONDS = 0.25  # Interval between two updates of the line of progress.

_JSON = arg("--json", action="store_true", help="print one JSON document")


class Verb(NamedTuple):
    """A verb: its help, its arguments or its actions with theirs, and the function that does its work.

    A verb has either ``run`` or ``work``. ``run`` is called in the process of the command. ``work`` needs an open data
    directory, so it is called in the server that has locked the directory, or in the process of the command. It takes
    the app, the arguments, the directory in which the command was typed, and the function to print with.
    """

    help: str
    arguments: Arguments = ()
    run: Callable[[argparse.Namespace, Config, settings.Origins, Say, Perform], int] | None = None
    work: Callable[[App, argparse.Namespace, str, Say], int] | None = None
    actions: Mapping[str, tuple[str, Arguments]] = MappingProxyType({})
    # The settings that --help lists in addition to --config. The verb accepts all others too.
    settings: tuple[str, ...] = ()
    # The text at the end of --help.
    note: str = ""
    # True if the verb uses no data directory, so that --help does not list --data-dir.
    storeless: bool = False
    # True if the verb creates a missing data directory (DECISIONS 12).
    creates_directory: bool = False
    # The message after Ctrl-C or SIGTERM: what is stored already, and how to continue.
    interrupt_note: str = ""

    @property
    def help_settings(self) -> tuple[str, ...]:
        """Return the settings that ``--help`` lists in addition to ``--config``."""
        uses_directory = HAS_SERVER and not self.storeless
        return ("data_dir", *self.settings) if uses_directory else self.settings

    def add_arguments(self, parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
        """Add the arguments to the verb's parser. Every action also accepts the settings of ``common``."""
        if not self.actions:
            _add(parser, self.get_arguments())
            return
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        verb_name = parser.prog.rpartition(" ")[2]
        for name, (help, _) in self.actions.items():
            epilog = f"Example:\n  {EXAMPLES[f'{verb_name} {name}']}"
            _add(actions.add_parser(name, help=help, parents=[common], epilog=epilog), self.get_arguments(name))

    def get_arguments(self, action: str | None = None) -> Arguments:
        """Return the arguments of the verb or of an action. Add ``--json``, except for verbs with ``--ready json``."""
        arguments = self.actions[action][1] if action is not None else self.arguments
        return arguments if any("--ready" in names for names, _ in arguments) else (*arguments, _JSON)


def _add(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    for names, options in arguments:
        parser.add_argument(*names, **options)


def print_document(say: Say, value: Any, indent: int | None = None) -> int:
    """Print a JSON document in ASCII, which every terminal can show. Return exit status 0."""
    say("out", json.dumps(value, indent=indent))
    return 0


def print_result(say: Say, args: argparse.Namespace, line: str, **fields: Any) -> int:
    """Print the result of a command: ``line``, or with ``--json`` a document of ``fields``. Return exit status 0."""
    if args.json:
        return print_document(say, fields)
    say("out", escape_unprintable(line))
    return 0


def run_interruptibly(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run ``work`` in another thread and return its value.

    A long SQLite statement in the main thread would delay signals until it ends. After Ctrl-C ``stop`` is called,
    which must interrupt the work, and KeyboardInterrupt is raised when the thread has ended.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as pool:
        try:
            future = pool.submit(work)  # Inside the try block, as a signal may come before submit returns.
            # A signal that comes just before a wait does not end the wait, hence the short timeout.
            while wait([future], timeout=0.2).not_done:
                pass
            return future.result()
        except KeyboardInterrupt:
            stop()
            raise


def print_table(say: Say, args: argparse.Namespace, name: str, rows: Sequence[Any], column_names: str) -> int:
    """Print the named columns of rows as a table, or complete rows as JSON. Return exit status 0."""
    if args.json:
        return print_document(say, {name: list(map(dict, rows))})
    columns = column_names.split()
    table = [[column.replace("_", " ").upper() for column in columns]]
    table += [[_format_cell(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for line in table:
        say("out", "  ".join(map(str.ljust, line, widths)).rstrip())
    return 0


def _format_cell(content: Any) -> str:
    if content is None:
        return "-"
    if isinstance(content, bool):
        return "yes" if content else "no"
    return escape_unprintable(str(content))


def escape_unprintable(text: str) -> str:
    """Return ``text`` with unprintable characters escaped, so that names from files cannot control the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


MAX_NAMES_BYTES = 1 << 20  # Maximum size of a file that lists companies.


def read_company_names(directory: str, path: str) -> list[str]:
    """Return the tickers and CIKs in a file. They are separated by newlines, commas or spaces; ``#`` begins a comment.

    Raise UsageError if the file cannot be read, is too large or contains no name.
    """
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
    """A line of progress, written a few times a second: ``num.txt: 40 of 400 MB, 4.0/s, 1 min 30 s left``."""

    def __init__(self, say: Say, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._say, self._monotonic = say, monotonic
        self._subject: tuple[str, str] | None = None  # The label and the unit of the current work.
        self._first_done = 0
        self._started_at = -math.inf
        self._written_at = -math.inf

    def update(self, label: str, unit: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` units are done for the work ``label``. A total of 0 is unknown."""
        now = self._monotonic()
        if self._subject != (label, unit):
            self._subject = (label, unit)
            self._first_done = done
            self._started_at = now
        elif now < self._written_at + BAR_SECONDS and done != total:
            return
        self._written_at = now
        elapsed_seconds = now - self._started_at
        rate = (done - self._first_done) / elapsed_seconds if elapsed_seconds > 0 else 0.0
        divisor, unit_name = (1_000_000, "MB") if unit == "bytes" else (1, unit)
        line = f"{label}: {done // divisor:,}"
        if total:
            line += f" of {total // divisor:,}"
        line += f" {unit_name}"
        if rate:
            line += f", {rate / divisor:,.1f}/s"
        if rate and total:
            line += f", {format_duration((total - done) / rate)} left"
        self._say("progress", escape_unprintable(line))

    def clear(self) -> None:
        """Remove the line."""
        self._say("progress", "")


def format_duration(seconds: float) -> str:
    """Return a duration in its two largest units: ``2 h 5 min``, ``3 min 20 s`` or ``45 s``."""
    minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {remaining_seconds} s"
    return f"{remaining_seconds} s"


def resolve_path(directory: str, path: str) -> Path:
    """Return the absolute path of ``path``, relative to the ``directory`` in which the command was typed.

    The current directory cannot be used, as a server with another one may run the command. Raise UsageError if
    ``path`` is empty, which is usually an unset shell variable: it would mean ``directory`` itself.
    """
    if not path:
        raise UsageError("a path is empty")
    return Path(os.path.normpath(Path(directory, path)))
