"""The index of a cache of files: a JSON file next to them, from which a restarted process restores files and purchases.

The index of another version of finapi is not used, because that version may build other files from the same data.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Hashable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from finapi import __version__
from finapi.core.clock import iso
from finapi.core.files import replace_file

log = logging.getLogger("finapi.files")

INDEX = ".index.json"  # No name of a cached file begins with a dot.


class IndexedFile(NamedTuple):
    """A file on the disk: its rows, size and hash, and the stamp of the data that it was built from."""

    name: str
    rows: int
    size: int
    sha256: str
    built_at: datetime
    stamp: str


class FilePurchase(NamedTuple):
    """The payment of an account for a version of a file."""

    account: Hashable  # A text, or a tuple of texts and numbers.
    sha256: str
    purchased_at: datetime


class FileIndex(NamedTuple):
    """The contents of an index: the least recently used file and the oldest purchase first."""

    files: list[IndexedFile]
    purchases: list[FilePurchase]


def read_index(directory: Path) -> FileIndex:
    """Return the index in a directory. It is empty if there is none, or if it is damaged or of another version."""
    try:
        values = json.loads((directory / INDEX).read_bytes())
        if values["version"] == __version__:
            files = [
                IndexedFile(name, rows, size, sha256, datetime.fromisoformat(built_at), stamp)
                for name, rows, size, sha256, built_at, stamp in values["files"]
            ]
            purchases = [
                FilePurchase(_parse_account(account), sha256, datetime.fromisoformat(purchased_at))
                for account, sha256, purchased_at in values["purchases"]
            ]
            return FileIndex(files, purchases)
    except FileNotFoundError:
        pass  # The first start, or the directory does not exist yet.
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        log.warning("the index of bulk files cannot be read, so they will be built again: %r", error)
    return FileIndex([], [])


def write_index(directory: Path, files: Iterable[IndexedFile], purchases: Iterable[FilePurchase]) -> None:
    """Write the index of a directory. A full disk is only logged: a restart will then build the files again."""
    values = {
        "version": __version__,
        "files": [[*file[:4], iso(file.built_at), file.stamp] for file in files],
        "purchases": [[purchase.account, purchase.sha256, iso(purchase.purchased_at)] for purchase in purchases],
    }
    try:
        replace_file(directory / INDEX, json.dumps(values).encode(), "bulk")
    except OSError as error:
        log.warning("the index of bulk files cannot be written: %s", error.strerror)


def _parse_account(account: Any) -> Hashable:
    return tuple(account) if isinstance(account, list) else account
