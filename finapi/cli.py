"""The command line: it parses the arguments, and runs a verb of :mod:`finapi.verbs`.

A verb that needs a data directory runs in this process. If a server has locked the directory, the command is handed
over to the server (DECISIONS 12), which calls :func:`perform`. Only this module prints.

The exit status is 0 if the command succeeded, 1 if not, 2 for a mistake in the arguments or settings, and 128 plus the
number of the signal that interrupted it. An error is one line on stderr.
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
from dataclasses import Field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

from finapi import __version__
from finapi.core import config as settings
from finapi.core import logs
from finapi.core.config import Config
from finapi.core.errors import ApiError, ParseError, UsageError
from finapi.core.installation import HAS_SERVER
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs.examples import EXAMPLES, GROUPS
from finapi.verbs.verb_table import SERVER_VERB_NAMES, VERBS, Verb, escape_unprintable

if TYPE_CHECKING:
    from finapi.app import App


DESCRIPTION = "Market data derived from SEC filings, over HTTP."
VERB_HELP_WIDTH = 62  # Characters of a line of a verb's help in ``finapi --help``
SETTING_PREFIX = "set_"  # The attributes of parsed arguments that are settings begin with it.


class _HelpFormatter(argparse.HelpFormatter):
    """A formatter that does not rewrap indented lines, such as examples and lists."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = text.splitlines()
        filled_lines = []
        for line in lines:
            filled_lines.append(line if line.startswith("  ") else super()._fill_text(line, width, indent))
        return "\n".join(filled_lines)


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError with a one-line message, which suggests the most similar word."""

    arguments: Sequence[str] = ()  # The complete command line.

    def __init__(self, **options: Any) -> None:
        # If no width is given, argparse imports shutil to read the terminal's width, for each option.
        super().__init__(formatter_class=partial(_HelpFormatter, width=80), **options)

    def print_help(self, *files: Any) -> None:
        self.formatter_class = _HelpFormatter
        super().print_help(*files)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a mistake that argparse reports, and with a suggestion if there is one."""
        options = _list_options(self.arguments)
        if message.startswith("the following arguments are required"):
            # After an unknown option, argparse reports the missing arguments instead of the unknown option.
            unknown_option = _find_unknown_option(self.arguments, options)
            if unknown_option:
                message = f"unrecognized arguments: {unknown_option}"
        suggestion = _build_suggestion(message, options)
        # A list of all verbs would hide the suggestion.
        message = re.sub(
            r"^argument (VERB|ACTION): invalid choice: ('[^']*') \(.*\)$", _describe_unknown_choice, message
        )
        raise UsageError(f"{message}{suggestion}; see {self._get_command()} --help")

    def _get_command(self) -> str:
        # argparse reports unrecognized arguments from the main parser, even if they follow a verb.
        verb_name = _find_verb_name(self.arguments) if self.prog == "finapi" else None
        return f"finapi {verb_name}" if verb_name else self.prog


TOO_LITTLE_MEMORY = "there is not enough memory: raise its limit (ulimit -v, MemoryMax=) or end other programs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes stdout when it exits. That must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # The reader of the output has closed it.
            return 1
        parts = [str(part) for part in (error.filename, error.strerror) if part]
        return _report_error(": ".join(parts) or str(error), 1)
    return status


def _run(arguments: list[str]) -> int:
    """Run the command line. Report errors and return the exit status."""
    try:
        arguments = arguments or ["demo" if HAS_SERVER else "--help"]
        if not HAS_SERVER and arguments[0] in SERVER_VERB_NAMES:
            raise UsageError(f"{arguments[0]} is a command of the server, and only the client is installed here")
        args = _build_parser(arguments).parse_args(arguments)
        verb: Verb = args.verb
        # The signal handlers of most verbs. demo and serve install their own.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _interrupt)
        config, origins = settings.load(_get_given_settings_and_config_path(args))
        if verb.run is None:
            return _run_on_data_directory(verb, args, arguments, config)
        with _report_interruption(verb):
            return verb.run(args, config, origins, _say, perform)
    except UsageError as error:
        return _report_error(str(error), 2)
    except (ApiError, ParseError, datadir.CommandInterruptedError) as error:
        return _report_error(str(error), 1)
    except _get_database_errors() as error:
        return _report_error(f"the database failed: {error}", 1)
    except ModuleNotFoundError as error:
        if error.name != "websockets":
            raise
        # The client's wheel does not require it, so that calls need nothing but Python.
        return _report_error("this command needs the package websockets: pip install websockets", 1)
    except MemoryError:
        return _report_error(TOO_LITTLE_MEMORY, 1)
    except KeyboardInterrupt as interrupt:
        return 128 + int(interrupt.args[0] if interrupt.args else signal.SIGINT)
    except SystemExit as system_exit:
        # Raised by argparse after --help and --version.
        return int(system_exit.code or 0)


@contextmanager
def _report_interruption(verb: Verb) -> Iterator[None]:
    """If the block is interrupted, print which part of the verb's work is preserved."""
    try:
        yield
    except KeyboardInterrupt:
        _say("progress", "")
        if verb.interrupt_note:
            _to_stderr(f"finapi: cut off; {verb.interrupt_note}")
        raise


def _get_database_errors() -> tuple[type[Exception], ...]:
    """Return the class of database errors, or an empty tuple if no database was opened.

    The module is not imported here, because the client has none, and its commands need none.
    """
    database_module = sys.modules.get("finapi.store.db")
    return (database_module.OperationalError,) if database_module is not None else ()


def _interrupt(number: int, frame: object) -> None:
    """Handle a signal as Ctrl-C."""
    raise KeyboardInterrupt(number)


def _report_error(text: str, status: int) -> int:
    """Print an error in one line. Return the exit status."""
    _to_stderr(escape_unprintable(f"finapi: {text}"))
    return status


def _to_stderr(text: str, end: str = "\n") -> None:
    """Print a text on stderr.

    If that fails, for example because the disk is full, discard all later output to stderr.
    """
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _prepare_streams() -> None:
    """Make the standard streams usable.

    A closed stream is opened on /dev/null, because the next opened file would get its descriptor. Characters that the
    output's encoding does not have are printed as escapes.
    """
    for name in ("stdin", "stdout", "stderr"):  # In the order of their descriptors.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def perform(app: App, command: datadir.Command, say: Say) -> int:
    """Run a command in the server to which it was handed over. Return its exit status.

    Its standard input is only the first line. Output and errors go to ``say``.
    """
    try:
        arguments = command.words
        # argparse would print the help or the version on the server's stdout and exit.
        if {"--help", "-h", "--version"} & set(arguments):
            raise UsageError("--help and --version cannot be run through a server")
        args = _build_parser(arguments).parse_args(arguments)
        changed_options = [
            _option_name(name)
            for name, value in sorted(_get_given_settings(args).items())
            if name != "data_dir" and str(value) != str(getattr(app.config, name))
        ]
        if changed_options:
            options = ", ".join(changed_options)
            raise UsageError(
                f"the running server executes this command with its own settings: leave out {options}, or stop the "
                f"server, or start it with {options}"
            )
        verb: Verb = args.verb
        if verb.work is None:
            raise UsageError(f"{args.name} cannot be run through a server")
        args.stdin = command.stdin
        args.system_user = command.system_user
        args.handed_over = True
        return verb.work(app, args, command.directory, say)
    except UsageError as error:
        say("err", escape_unprintable(f"finapi: {error}"))
        return 2
    except (ApiError, ParseError) as error:
        say("err", escape_unprintable(f"finapi: {error}"))
        return 1
    except MemoryError:
        say("err", f"finapi: {TOO_LITTLE_MEMORY}")
        return 1
    except _get_database_errors() as error:
        say("err", escape_unprintable(f"finapi: the database failed: {error}"))
        return 1


def _run_on_data_directory(verb: Verb, args: argparse.Namespace, arguments: list[str], config: Config) -> int:
    """Run a verb on the data directory, or hand it over to the server that has locked it. Return the exit status."""
    from finapi.ops.app_opening import open_app

    assert verb.work is not None
    logs.configure(config.log_format, config.log_level)
    # ``_run`` prints a database error as one line, so the log line of the same error is suppressed.
    logging.getLogger("finapi.store").addFilter(_is_below_error)
    if not verb.creates_directory and not (config.data_dir / datadir.DATABASE).exists():
        raise UsageError(
            f"there is no database in {config.data_dir}; create one with finapi serve, or give another --data-dir"
        )
    # A password is read from standard input, because every process can read command lines.
    args.stdin = sys.stdin.readline().rstrip("\r\n") if getattr(args, "password_stdin", False) else ""
    args.system_user = datadir.get_system_user()
    args.handed_over = False
    try:
        with _report_interruption(verb), open_app(config) as app:
            return verb.work(app, args, os.getcwd(), _say)
    except datadir.DirectoryBusyError:
        try:
            return datadir.hand_over(config.data_dir, arguments, _say, args.stdin)
        except KeyboardInterrupt:
            _to_stderr("finapi: cut off; what is reported above is done, the server ends the rest at its next step")
            raise
    finally:
        logging.getLogger("finapi.store").removeFilter(_is_below_error)


def _is_below_error(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR


def _say(stream: datadir.Stream, text: str) -> None:
    if stream == "out":
        print(text, flush=True)
    elif stream == "err":
        _to_stderr(text)
    elif sys.stderr.isatty():
        # Progress overwrites the previous line. It is printed only on a terminal.
        _to_stderr(f"\r\x1b[K{text}", end="")


def _build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line.

    If the command line begins with a verb, only that verb is known. Otherwise all verbs are listed in the help, without
    their arguments.
    """
    verb_name = arguments[0] if arguments and arguments[0] in VERBS else None
    parser = _Parser(
        prog="finapi",
        usage="finapi [-h] [--version] VERB ...",
        description=DESCRIPTION if verb_name is not None else f"{DESCRIPTION}\n{_list_verbs()}",
        epilog="The options and an example of a verb: finapi VERB --help",
    )
    parser.add_argument("--version", action="version", version=f"finapi {__version__}")
    parser.arguments = arguments
    subparsers = parser.add_subparsers(
        dest="name", required=True, metavar="VERB", parser_class=_Parser, prog="finapi", help=argparse.SUPPRESS
    )
    for name in VERBS if verb_name is None else [verb_name]:
        verb = VERBS[name]
        if name != verb_name:
            subparsers.add_parser(name)
            continue
        settings_parser = _build_verb_settings_parser(name, verb, arguments)
        note = "" if name == "config" else "Every other setting is an option too: finapi config --help."
        verb_parser = subparsers.add_parser(
            name,
            help=verb.help,
            description=verb.help,
            parents=[settings_parser],
            epilog=f"Example:\n  {EXAMPLES[name]}\n\n{verb.note} {note}".rstrip(),
        )
        verb.add_arguments(verb_parser, settings_parser)
        verb_parser.arguments = arguments
        verb_parser.set_defaults(verb=verb)
    return parser


def _list_verbs() -> str:
    """Return the verbs with their purposes, by group."""
    import textwrap  # Only the list of all verbs needs it.

    lines = []
    for title, names in GROUPS.items():
        installed_names = [name for name in names if name in VERBS]
        if installed_names:
            lines += ["", f"  {title}:"]
        for name in installed_names:
            help_lines = textwrap.wrap(VERBS[name].help, VERB_HELP_WIDTH)
            lines.append(f"    {name:<12}{help_lines[0]}")
            lines += [" " * 16 + line for line in help_lines[1:]]
    return "\n".join(lines)


def _build_verb_settings_parser(name: str, verb: Verb, arguments: Sequence[str]) -> _Parser:
    """Return the parser of the settings that the help of a verb shows, and of those in the command line."""
    setting_names = [setting.name for setting in settings.list_settings()]
    help_names = setting_names if name == "config" else verb.help_settings
    # argparse also accepts an abbreviated option, unless it is ambiguous.
    prefixes = tuple(argument.partition("=")[0] for argument in arguments if argument.startswith("--"))
    given_names = [setting_name for setting_name in setting_names if _option_name(setting_name).startswith(prefixes)]
    return _build_settings_parser(tuple(help_names), tuple(given_names))


@cache
def _build_settings_parser(help_names: tuple[str, ...], given_names: tuple[str, ...]) -> _Parser:
    """Return a parser of settings. Its help lists ``help_names``; ``given_names`` are also accepted."""
    parser = _Parser(add_help=False)
    group = parser.add_argument_group("settings (also FINAPI_NAME in the environment, or name in a TOML file)")
    group.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="TOML file of settings")
    special_group = parser.add_argument_group("settings for special cases (their defaults fit a small host)")
    shows_special_cases = not set(help_names) <= set(settings.USUAL_SETTINGS)
    for setting in settings.list_settings():
        # A secret is not an option, because every process can read command lines.
        if setting.metadata["secret"] or setting.name not in {*help_names, *given_names}:
            continue
        # A switch without a value means yes.
        is_switch = "yes" in str(setting.type)
        is_special = shows_special_cases and setting.name not in settings.USUAL_SETTINGS
        (special_group if is_special else group).add_argument(
            _option_name(setting.name),
            metavar="VALUE",
            default=argparse.SUPPRESS,
            dest=SETTING_PREFIX + setting.name,
            help=_format_help(setting) if setting.name in help_names else argparse.SUPPRESS,
            nargs="?" if is_switch else None,
            const="yes" if is_switch else None,
        )
    return parser


def _format_help(setting: Field[Any]) -> str:
    """Return the help text of a setting with its default."""
    default = ",".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default)
    return f"{setting.metadata['help']} ({default})".replace(" ()", "").replace("%", "%%")


def _option_name(setting_name: str) -> str:
    return "--" + setting_name.replace("_", "-")


def _get_given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, by name."""
    return {
        name.removeprefix(SETTING_PREFIX): value
        for name, value in vars(args).items()
        if name.startswith(SETTING_PREFIX)
    }


def _get_given_settings_and_config_path(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, and ``config``, the path of the configuration file."""
    return {**_get_given_settings(args), "config": getattr(args, "config", None)}


# ---- errors of the command line


def _build_suggestion(message: str, options: Sequence[str]) -> str:
    """Return the text to append to a message of argparse: the word that was probably meant, or ""."""
    choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    option = re.search(r"unrecognized arguments: (?:.* )?(--[a-z][a-z-]*)", message)
    if choice is not None:
        unknown_word = choice[1]
        known_words = re.findall(r"[\w.-]+", choice[2])
    elif option is not None:
        unknown_word = option[1]
        known_words = list(options)
    else:
        return ""
    reason = settings.describe_former_setting(unknown_word.removeprefix("--").replace("-", "_"))
    if reason is not None and option is not None:
        return f": {reason}"
    for setting in settings.list_settings():
        if setting.metadata["secret"] and _option_name(setting.name) == unknown_word:
            name = setting.name
            return f" (others can read command lines: set FINAPI_{name.upper()}, or {name} in a --config file)"
    from difflib import get_close_matches

    matches = get_close_matches(unknown_word, known_words, 1, 0.7)
    return f" (did you mean {matches[0]}?)" if matches else ""


def _describe_unknown_choice(choice: re.Match[str]) -> str:
    return f"there is no {choice[1].lower()} {choice[2]}"


def _find_unknown_option(arguments: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the first option of a command line that does not exist, or None."""
    known_options = (*options, *(_option_name(setting.name) for setting in settings.list_settings()))
    for argument in arguments:
        option = argument.partition("=")[0]
        is_option = argument.startswith("--") and argument != "--"
        if is_option and not any(known_option.startswith(option) for known_option in known_options):
            return option
    return None


def _list_options(arguments: Sequence[str]) -> list[str]:
    """Return the options that the help of a command shows. For demo and serve these include all settings."""
    verb_name = _find_verb_name(arguments)
    if verb_name is None:
        return []
    verb = VERBS[verb_name]
    action = next((argument for argument in arguments if argument in verb.actions), None)
    if verb_name in ("config", "demo", "serve"):
        setting_names = [setting.name for setting in settings.list_settings()]
    else:
        setting_names = ["config", *verb.help_settings]
    options = ["--help", *map(_option_name, setting_names)]
    for names, _ in verb.get_arguments(action):
        options += names
    return options


def _find_verb_name(arguments: Sequence[str]) -> str | None:
    return next((argument for argument in arguments if argument in VERBS), None)
