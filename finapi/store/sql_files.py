"""The SQL files: beside the package in a checkout, within it where it is installed, or in the zip that it runs from."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent.parent
PREPARED = "empty.db.z"


def files(folder: str) -> list[Any]:
    """Every .sql file below a folder of them: paths, or what stands for paths in a zip."""
    return list(_below(_root().joinpath(folder)))


def prepared() -> bytes:
    """An empty database as the migrations up to its version made it, without full text search."""
    return zlib.decompress(_root().joinpath(PREPARED).read_bytes())


@cache
def _root() -> Any:
    root: Any = next((place for place in (_HERE / "sql", _HERE.parent / "sql") if place.is_dir()), None)
    if root is None:
        from importlib import resources

        root = resources.files("finapi").joinpath("sql")
    return root


def _below(folder: Any) -> Iterator[Any]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry)
        elif entry.name.endswith(".sql"):
            yield entry
