"""The SQL files: beside the package in a checkout, within it where it is installed, or in the zip that it runs from."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from finapi.core.files import get_package_folder

PREPARED = "empty.db.z"


def files(folder: str) -> list[Any]:
    """Every .sql file below a folder of them: paths, or what stands for paths in a zip."""
    return list(_below(_root().joinpath(folder)))


def numbered() -> list[str]:
    """The names of the migrations in order; a gap or a repeat in their numbers is a RuntimeError."""
    folder = _root() / "migrations"
    names = os.listdir(folder) if isinstance(folder, Path) else [one.name for one in folder.iterdir()]
    found = sorted(name for name in names if name.endswith(".sql"))
    for number, name in enumerate(found, 1):
        if not name.startswith(f"{number:04}_"):
            raise RuntimeError(f"migration {name} is in the place of number {number:04}")
    return found


def migration(name: str) -> str:
    """The script of one."""
    return (_root() / "migrations" / name).read_bytes().decode()


def texts(folder: str) -> Iterator[str]:
    """The texts of these files."""
    root = _root().joinpath(folder)
    if not isinstance(root, Path):
        yield from (one.read_bytes().decode() for one in _below(root))
        return
    for place, _, names in os.walk(root):
        for name in names:
            if name.endswith(".sql"):
                with open(f"{place}/{name}", "rb", buffering=0) as file:  # half the time of paths that read
                    yield file.read().decode()


def prepared() -> bytes:
    """An empty database as the migrations up to its version made it, without full text search."""
    # Room for all of it at once: it is mostly zeros, and to grow the room would be half of the time.
    return zlib.decompress(_root().joinpath(PREPARED).read_bytes(), bufsize=1 << 21)


def prepared_file() -> bytes:
    """The same as a file in WAL mode, which bytes 18 and 19 tell (sqlite.org/fileformat2.html); none is in memory."""
    data = prepared()
    return b"\2\2".join((data[:18], data[20:]))


@cache
def _root() -> Path:
    inside = get_package_folder("finapi") / "sql"
    return inside if inside.is_dir() else get_package_folder("finapi").parent / "sql"


def _below(folder: Any) -> Iterator[Any]:
    if isinstance(folder, Path):  # several times as fast
        for place, _, names in os.walk(folder):
            yield from (Path(place, name) for name in names if name.endswith(".sql"))
        return
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry)
        elif entry.name.endswith(".sql"):
            yield entry
