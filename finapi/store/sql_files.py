"""The SQL files: next to the package in a checkout, inside it when it is installed, or in a zip file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from finapi.core.files import get_package_folder

FIRST_MIGRATION = 2  # Version 1 is sql/schema.sql.


def read_text(name: str) -> str:
    """Return the text of a file of ``sql``: ``read_text("schema.sql")``."""
    return _get_root().joinpath(name).read_bytes().decode()


def list_migrations() -> list[str]:
    """Return the names of the files of ``sql/migrations`` in order. Raise RuntimeError if a number is missing."""
    names = sorted(_list_file_names("migrations"))
    for number, name in enumerate(names, FIRST_MIGRATION):
        if not name.startswith(f"{number:04}_"):
            raise RuntimeError(f"migration {name} has the wrong number: {number:04} is next")
    return names


def find_file(folder: str, start: str) -> str | None:
    """Return the name of the file of a folder that starts with ``start``, or None."""
    return next((name for name in _list_file_names(folder) if name.startswith(start)), None)


def iter_texts(folder: str) -> Iterator[str]:
    """Yield the texts of all files in a folder and the folders below it."""
    root = _get_root().joinpath(folder)
    if not isinstance(root, Path):
        yield from _iter_zipped_texts(root)
        return
    for directory, _, names in os.walk(root):
        for name in names:
            if name.endswith(".sql"):
                # This takes half the time of Path.read_text(), and a start reads 70 files.
                with open(f"{directory}/{name}", "rb", buffering=0) as file:
                    yield file.read().decode()


@cache
def _get_root() -> Path:
    installed = get_package_folder("finapi") / "sql"
    return installed if installed.is_dir() else get_package_folder("finapi").parent / "sql"


def _list_file_names(folder: str) -> list[str]:
    # An empty folder of the repository does not exist in an installation.
    path = _get_root().joinpath(folder)
    return [entry.name for entry in path.iterdir() if entry.name.endswith(".sql")] if path.is_dir() else []


def _iter_zipped_texts(folder: Any) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _iter_zipped_texts(entry)
        elif entry.name.endswith(".sql"):
            yield entry.read_bytes().decode()
