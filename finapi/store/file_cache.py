"""A directory of files that can be made again: each made once for a state of the data, one at a time, few kept."""

from __future__ import annotations

import hashlib
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

from finapi.core.clock import Clock
from finapi.core.cpu_allowance import CpuAllowance
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
    # Who had it made, and has not paid for it; None if somebody has.
    account: Hashable
    failure: BaseException | None = None


class UnpaidFile(NamedTuple):
    """A file that an account had made and has not paid for, and the CPU time that it took."""

    name: str
    cpu_seconds: float


class FileCache:
    """Files in ``directory`` (None: a temporary one), of at most ``most`` bytes in all and a quarter of that each.

    The least recently used go first. What another process left there is removed with the first use. Names are the
    caller's to check: they are file names here.

    Making a file takes CPU time in a thread of its own, and goes on when the call that asked for it has been refunded.
    So an account owes that time until it pays for the file. When it has another file made instead, the time is counted
    against its ``allowance``, which may refuse that.
    """

    def __init__(self, directory: Path | None, most: int, clock: Clock, allowance: CpuAllowance) -> None:
        self._directory = directory
        self._most = most
        self._clock = clock
        self._allowance = allowance
        self._unpaid: OrderedDict[Hashable, UnpaidFile] = OrderedDict()
        self._files: OrderedDict[str, BuiltFile] = OrderedDict()
        self._making: _Making | None = None
        self._place: Path | None = None
        self._lock = threading.Lock()

    def list_files(self) -> list[tuple[str, BuiltFile]]:
        """What is there, by name."""
        with self._lock:
            return sorted((name, one) for name, one in self._files.items() if one.rows and not one.too_long)

    def has(self, name: str, stamp: str) -> bool:
        """Return True if the file as of the data of ``stamp`` has been made and is still there."""
        with self._lock:
            made = self._fresh(name, stamp)
        return made is not None and made.rows > 0 and not made.too_long

    def open_file(self, name: str, stamp: str, make: Maker, account: Hashable) -> tuple[BuiltFile, IO[bytes] | None]:
        """The file as of the data of ``stamp``, open unless it is none, made now if need be.

        It stays readable when it is replaced or removed. :class:`FileNotReadyError` (503) while it or another is: the
        first who asks waits for a few seconds, the making goes on behind that, and whoever comes back finds it.
        RATE_LIMIT_EXCEEDED (429) if the files that ``account`` had made and did not pay for took too much CPU time.
        """
        with self._lock:
            made = self._fresh(name, stamp)
            if made is not None:
                return made, self._open(name, made)
            if self._making is not None:
                raise FileNotReadyError(name, self._making.name, self._making.began)
            self._collect_debt(account)
            making = self._making = _Making(name, self._clock.now(), stamp, threading.Event(), account)
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

    def settle(self, name: str, account: Hashable) -> None:
        """Note that an account has paid for a file, which may still be in the making."""
        with self._lock:
            making, unpaid = self._making, self._unpaid.get(account)
            if making is not None and (making.name, making.account) == (name, account):
                making.account = None
            if unpaid is not None and unpaid.name == name:
                del self._unpaid[account]

    def _collect_debt(self, account: Hashable) -> None:
        """Count the CPU time of a file that an account left unpaid; raise the 429 if that is too much."""
        unpaid = self._unpaid.pop(account, None)
        if unpaid is not None:
            self._allowance.add(account, unpaid.cpu_seconds)
        self._allowance.check(account)

    def _note_debt(self, making: _Making, cpu_seconds: float) -> None:
        if making.account is None:
            return
        self._unpaid[making.account] = UnpaidFile(making.name, cpu_seconds)
        if len(self._unpaid) > RECORDS:
            account, unpaid = self._unpaid.popitem(last=False)
            self._allowance.add(account, unpaid.cpu_seconds)

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
        started_cpu_seconds = self._allowance.cpu_seconds()
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
                self._note_debt(making, self._allowance.cpu_seconds() - started_cpu_seconds)
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
