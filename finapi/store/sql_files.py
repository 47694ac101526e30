"""The SQL files: beside the package in a checkout, within it where it is installed, or in the zip that it runs from."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finapi.core.files import packaged

PREPARED = "empty.db.z"


def files(folder: str) -> list[Any]:
    """Every .sql file below a folder of them: paths, or what stands for paths in a zip."""
    return list(_below(_root().joinpath(folder)))


def numbered() -> list[Any]:
    """The migrations in order; a gap or a repeat in their numbers is a RuntimeError."""
    found = sorted(files("migrations"), key=lambda file: file.name)
    for number, file in enumerate(found, 1):
        if not file.name.startswith(f"{number:04}_"):
            raise RuntimeError(f"migration {file.name} is in the place of number {number:04}")
    return found


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


def _root() -> Path:
    inside = packaged("finapi") / "sql"
    return inside if inside.is_dir() else packaged("finapi").parent / "sql"


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
