"""A directory of files that can be made again: each made once for a state of the data, one at a time, few kept."""

from __future__ import annotations

import hashlib
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

from finapi.core.clock import Clock
from finapi.core.errors import ApiError, unwritable
from finapi.core.temporary import TemporaryFolder, sweep

log = logging.getLogger("finapi.shelf")

WAIT = 10.0  # seconds that the call which asks for a file waits for it; nobody else waits
KEPT = 20.0  # times the seconds that it took to make, a file is kept however often the data change
LEVEL = 5  # of gzip
RECORDS = 2_000  # of files, and of what turned out to have no rows

# What a file is made by: pieces of it, each with the number of its rows.
Maker = Callable[[], Iterator[tuple[bytes, int]]]


class BuiltFile(NamedTuple):
    """A file: its rows, its bytes and their SHA-256 as they lie there (gzip), and when and of which data it was made.

    Without rows there is no file. ``too_long`` says that it would have had more bytes than a file may have.
    """

    rows: int
    size: int
    sha256: str
    made_at: datetime
    stamp: str
    kept_until: float
    too_long: bool = False


class FileNotReadyError(ApiError):
    """503: the file ``name`` is being made since ``began``, so that the one asked for is not there yet."""

    def __init__(self, asked: str, name: str, began: datetime) -> None:
        what = "This file" if asked == name else "Another file"
        told = f"{what} is being made. Try again in a moment."
        super().__init__("UNAVAILABLE", told, headers={"Retry-After": "5"})
        self.name = name
        self.began = began


@dataclass(slots=True, eq=False)
class _Making:
    """A file that is being made, since when, and what came of it."""

    name: str
    began: datetime
    stamp: str
    done: threading.Event
    failure: BaseException | None = None


class FileCache:
    """Files in ``directory`` (None: a temporary one), of at most ``most`` bytes in all and a quarter of that each.

    The least recently used go first. What another process left there is removed with the first use. Names are the
    caller's to check: they are file names here.
    """

    def __init__(self, directory: Path | None, most: int, clock: Clock) -> None:
        self._directory = directory
        self._most = most
        self._clock = clock
        self._files: OrderedDict[str, BuiltFile] = OrderedDict()
        self._making: _Making | None = None
        self._place: Path | None = None
        self._lock = threading.Lock()

    def list_files(self) -> list[tuple[str, BuiltFile]]:
        """What is there, by name."""
        with self._lock:
            return sorted((name, one) for name, one in self._files.items() if one.rows and not one.too_long)

    def open_file(self, name: str, stamp: str, make: Maker) -> tuple[BuiltFile, IO[bytes] | None]:
        """The file as of the data of ``stamp``, open unless it is none, made now if need be.

        It stays readable when it is replaced or removed. :class:`BeingMade` (503) while it or another is: the
        first who asks waits for a few seconds, the making goes on behind that, and whoever comes back finds it.
        """
        with self._lock:
            made = self._fresh(name, stamp)
            if made is not None:
                return made, self._open(name, made)
            if self._making is not None:
                raise FileNotReadyError(name, self._making.name, self._making.began)
            making = self._making = _Making(name, self._clock.now(), stamp, threading.Event())
        threading.Thread(target=self._make, args=(making, make), name="finapi-shelf", daemon=True).start()
        if not making.done.wait(WAIT):
            raise FileNotReadyError(name, name, making.began)
        if making.failure is not None:
            raise unwritable() from making.failure
        with self._lock:
            made = self._files.get(name)
            if made is None:
                raise FileNotReadyError(name, name, making.began)  # pushed out by what was made since
            return made, self._open(name, made)

    def _fresh(self, name: str, stamp: str) -> BuiltFile | None:
        made = self._files.get(name)
        # A file that takes a minute would else never be there for data that change every minute.
        if made is None or (made.stamp != stamp and self._clock.monotonic() >= made.kept_until):
            return None
        self._files.move_to_end(name)
        return made

    def _open(self, name: str, made: BuiltFile) -> IO[bytes] | None:
        if made.too_long or not made.rows:
            return None
        try:
            return (self._directory_now() / name).open("rb")
        except OSError:
            # Somebody tidied the directory: the next call makes it anew.
            del self._files[name]
            raise FileNotReadyError(name, name, self._clock.now()) from None

    def _make(self, making: _Making, make: Maker) -> None:
        try:
            began = self._clock.monotonic()
            place = self._directory_now()
            with TemporaryFolder("bulk", place) as folder:
                made = self._written(folder / "file", making.stamp, make, began)
                with self._lock:
                    # Under the lock, so that what is opened has the sum that is told of it.
                    if made.rows and not made.too_long:
                        (folder / "file").replace(place / making.name)
                    else:
                        (place / making.name).unlink(missing_ok=True)
                    self._files[making.name] = made
                    self._files.move_to_end(making.name)
                    self._prune()
        except Exception as error:
            making.failure = error
            log.warning("%s could not be made: %s", making.name, error)
        finally:
            with self._lock:
                self._making = None
            making.done.set()

    def _written(self, path: Path, stamp: str, make: Maker, began: float) -> BuiltFile:
        import gzip

        rows, too_long = 0, False
        with path.open("wb") as raw, gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed:
            for piece, number in make():
                rows += number
                packed.write(piece)
                if raw.tell() > self._most // 4:
                    too_long = True
                    break
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as written:
            while chunk := written.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
        # What is compressed is written in blocks, the last of them at the end.
        too_long = too_long or size > self._most // 4
        now = self._clock.monotonic()
        kept_until = now + KEPT * (now - began)
        return BuiltFile(rows, size, digest.hexdigest(), self._clock.now(), stamp, kept_until, too_long)

    def _prune(self) -> None:
        def size(one: BuiltFile) -> int:
            return one.size if one.rows and not one.too_long else 0

        total = sum(map(size, self._files.values()))
        while total > self._most or len(self._files) > RECORDS:
            name, one = self._files.popitem(last=False)
            (self._directory_now() / name).unlink(missing_ok=True)
            total -= size(one)

    def _directory_now(self) -> Path:
        if self._place is None:
            if self._directory is None:
                sweep()
                folder = TemporaryFolder("bulk")
                weakref.finalize(self, folder.remove)
                self._place = folder.path / "files"
                self._place.mkdir()
            else:
                self._directory.mkdir(mode=0o700, exist_ok=True)
                sweep(self._directory)
                for left in self._directory.iterdir():
                    if left.is_file():
                        left.unlink()
                self._place = self._directory
        return self._place
