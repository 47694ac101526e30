"""What a verb of the command line is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from finapi import config as settings
from finapi.app import App
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import UsageError

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


def typed_path(directory: str, path: str) -> Path:
    """``path`` as typed in ``directory``, which a server that does the work may not be in.

    UsageError for an empty one, which a variable of a shell that is not set leaves: it would be all of ``directory``.
    """
    if not path:
        raise UsageError("a path is empty")
    return Path(os.path.normpath(Path(directory, path)))


def no_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    """For a verb that takes nothing but settings."""
