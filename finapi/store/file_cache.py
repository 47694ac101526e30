"""A cache of files that are built from the data.

Each file is built once for a state of the data. One file is built at a time, in a thread of its own, and the least
recently used files are removed when there are too many. Files and purchases outlast the process, see ``file_index``.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, NamedTuple

from finapi.core.clock import Clock
from finapi.core.cpu_allowance import CpuAllowance
from finapi.core.errors import ApiError, store_unavailable
from finapi.core.files import create_private_file
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.store import file_index
from finapi.store.file_index import FilePurchase, IndexedFile

log = logging.getLogger("finapi.files")

WAIT_SECONDS = 10.0  # How long the call that starts a build waits for it. Other calls do not wait.
# A file is returned for at least this many times the duration of its build, even if the data have changed since.
# Otherwise a file that takes a minute to build would never be ready if the data change every minute.
LIFETIME_FACTOR = 20.0
GZIP_LEVEL = 5
PURCHASE_SECONDS = 86_400.0  # How long an account may resume the download of a file that it has paid for.
MAX_PURCHASES = 10_000  # The number of remembered purchases. The oldest ones are forgotten first.
MAX_RECORDS = 2_000  # The number of remembered builds, including those that were empty or too long.

# Yields the content of a file in pieces, each with its number of rows.
BuildContent = Callable[[], Iterator[tuple[bytes, int]]]


class BuiltFile(NamedTuple):
    """The outcome of a build. There is no file if it has no rows, or if it would be ``too_long``.

    ``size`` and ``sha256`` are of the file on the disk, which is compressed with gzip. ``stamp`` identifies the
    data that it was built from.
    """

    rows: int
    size: int
    sha256: str
    built_at: datetime
    stamp: str
    fresh_until: float
    too_long: bool = False

    @property
    def exists(self) -> bool:
        """Return True if there is a file on the disk."""
        return self.rows > 0 and not self.too_long


class FileNotReadyError(ApiError):
    """503: a file has been in preparation since ``began``, either the requested one or another one before it."""

    def __init__(self, requested_name: str, building_name: str, began: datetime) -> None:
        subject = "This file" if requested_name == building_name else "Another file"
        message = f"{subject} is being made. Try again in a moment."
        super().__init__("UNAVAILABLE", message, headers={"Retry-After": "5"})
        self.name = building_name
        self.began = began


@dataclass(slots=True, eq=False)
class _Build:
    """A build that is running."""

    name: str
    began: datetime
    stamp: str
    done: threading.Event
    # The account that started the build. None once it has paid.
    account: Hashable
    failure: BaseException | None = None


class UnpaidFile(NamedTuple):
    """A file for which an account has not paid, and the CPU time of its build."""

    name: str
    cpu_seconds: float


class FileCache:
    """Files in ``directory``, of at most ``max_bytes`` in total. One file has at most a quarter of that.

    Without a directory they are in a temporary one, and end with the process. Files in the directory that are not in
    its index are removed at the first use. Names are file names, which the caller has checked.

    A build uses CPU time in its own thread, even after the call that started it was refunded. So an account owes that
    time until it pays for the file. If the account requests another build instead, the time is deducted from its
    ``allowance``, which may refuse the build.
    """

    def __init__(self, directory: Path | None, max_bytes: int, clock: Clock, allowance: CpuAllowance) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._clock = clock
        self._allowance = allowance
        self._unpaid: OrderedDict[Hashable, UnpaidFile] = OrderedDict()
        # Files by name, the least recently used one first.
        self._files: OrderedDict[str, BuiltFile] = OrderedDict()
        # When an account has paid for a version of a file (its hash), the oldest purchase first.
        self._purchases: OrderedDict[tuple[Hashable, str], float] = OrderedDict()
        self._build: _Build | None = None
        self._prepared_directory: Path | None = None
        self._is_restored = directory is None  # True once the index of an earlier process has been read.
        self._lock = threading.Lock()

    def list_files(self) -> list[tuple[str, BuiltFile]]:
        """Return the existing files with their names, sorted by name."""
        with self._lock:
            self._restore()
            return sorted((name, file) for name, file in self._files.items() if file.exists)

    def has(self, name: str, stamp: str) -> bool:
        """Return True if the file exists and need not be built again for the data of ``stamp``."""
        return self.find_file(name, stamp) is not None

    def find_file(self, name: str, stamp: str) -> BuiltFile | None:
        """Return the file if it exists and need not be built again for the data of ``stamp``, or None."""
        with self._lock:
            self._restore()
            file = self._find_fresh(name, stamp)
        return file if file is not None and file.exists else None

    def record_purchase(self, account: Hashable, sha256: str) -> None:
        """Record that an account pays for a version of a file now."""
        with self._lock:
            self._restore()
            key = (account, sha256)
            self._purchases[key] = self._clock.monotonic()
            self._purchases.move_to_end(key)
            if len(self._purchases) > MAX_PURCHASES:
                self._purchases.popitem(last=False)
            self._write_index()

    def forget_purchase(self, account: Hashable, sha256: str) -> None:
        """Forget a purchase that was refunded."""
        with self._lock:
            if self._purchases.pop((account, sha256), None) is not None:
                self._write_index()

    def forget_all_purchases(self) -> None:
        """Forget the purchases of all accounts."""
        with self._lock:
            self._restore()
            self._purchases.clear()
            self._write_index()

    def has_purchased(self, account: Hashable, sha256: str) -> bool:
        """Return True if an account has paid for a version of a file within the last day."""
        with self._lock:
            self._restore()
            purchased_at = self._purchases.get((account, sha256))
        return purchased_at is not None and self._clock.monotonic() < purchased_at + PURCHASE_SECONDS

    def open_file(
        self, name: str, stamp: str, build: BuildContent, account: Hashable
    ) -> tuple[BuiltFile, IO[bytes] | None]:
        """Return the file for the data of ``stamp``, opened for reading if it exists. Build it first if necessary.

        The open file stays readable when it is replaced or removed. Raise FileNotReadyError (503) while a file is being
        built. The call that starts a build waits a few seconds for it. After that the build continues, and a later call
        gets the file. Raise RATE_LIMIT_EXCEEDED (429) if the unpaid builds of ``account`` have used too much CPU time.
        """
        with self._lock:
            self._restore()
            file = self._find_fresh(name, stamp)
            if file is not None:
                return file, self._open(name, file)
            if self._build is not None:
                raise FileNotReadyError(name, self._build.name, self._build.began)
            self._collect_debt(account)
            running = self._build = _Build(name, self._clock.now(), stamp, threading.Event(), account)
        threading.Thread(target=self._run_build, args=(running, build), name="finapi-files", daemon=True).start()
        if not running.done.wait(WAIT_SECONDS):
            raise FileNotReadyError(name, name, running.began)
        if running.failure is not None:
            raise store_unavailable() from running.failure
        with self._lock:
            file = self._files.get(name)
            if file is None:
                raise FileNotReadyError(name, name, running.began)  # Removed to make room for a later file.
            return file, self._open(name, file)

    def settle(self, name: str, account: Hashable) -> None:
        """Record that an account has paid for a file. Its build may still be running."""
        with self._lock:
            running, unpaid = self._build, self._unpaid.get(account)
            if running is not None and (running.name, running.account) == (name, account):
                running.account = None
            if unpaid is not None and unpaid.name == name:
                del self._unpaid[account]

    def _collect_debt(self, account: Hashable) -> None:
        """Deduct the CPU time of an unpaid file from the account's allowance.

        Raise the 429 if the allowance is used up.
        """
        unpaid = self._unpaid.pop(account, None)
        if unpaid is not None:
            self._allowance.add(account, unpaid.cpu_seconds)
        self._allowance.check(account)

    def _record_debt(self, running: _Build, cpu_seconds: float) -> None:
        """Record that an account owes the CPU time of a build, unless it has paid."""
        if running.account is None:
            return
        self._unpaid[running.account] = UnpaidFile(running.name, cpu_seconds)
        if len(self._unpaid) > MAX_RECORDS:
            account, unpaid = self._unpaid.popitem(last=False)
            self._allowance.add(account, unpaid.cpu_seconds)

    def _find_fresh(self, name: str, stamp: str) -> BuiltFile | None:
        """Return the file if it need not be built again, or None."""
        file = self._files.get(name)
        if file is None or (file.stamp != stamp and self._clock.monotonic() >= file.fresh_until):
            return None
        self._files.move_to_end(name)
        return file

    def _open(self, name: str, file: BuiltFile) -> IO[bytes] | None:
        if not file.exists:
            return None
        try:
            return (self._prepare_directory() / name).open("rb")
        except OSError:
            # Someone has deleted the file. The next call builds it again.
            del self._files[name]
            raise FileNotReadyError(name, name, self._clock.now()) from None

    def _run_build(self, running: _Build, build: BuildContent) -> None:
        """Build a file in a temporary folder and move it to its name."""
        cpu_seconds_before = self._allowance.cpu_seconds()
        try:
            began = self._clock.monotonic()
            directory = self._prepare_directory()
            with TemporaryFolder("bulk", directory) as folder:
                file = self._write(folder / "file", running.stamp, build, began)
                with self._lock:
                    # Under the lock, so that open_file() always returns the hash of the file that it opens. The index
                    # never has the hash of a version that is not on the disk, wherever the process is killed.
                    if self._files.pop(running.name, None) is not None:
                        self._write_index()
                    if file.exists:
                        (folder / "file").replace(directory / running.name)
                    else:
                        (directory / running.name).unlink(missing_ok=True)
                    self._files[running.name] = file
                    self._prune()
                    self._write_index()
        except Exception as error:
            running.failure = error
            log.warning("%s could not be built: %s", running.name, error)
        finally:
            with self._lock:
                self._record_debt(running, self._allowance.cpu_seconds() - cpu_seconds_before)
                self._build = None
            running.done.set()

    def _write(self, path: Path, stamp: str, build: BuildContent, began: float) -> BuiltFile:
        """Write the content to a file until it is complete or too long."""
        import gzip

        max_bytes = self._max_bytes // 4
        rows, too_long = 0, False
        with create_private_file(path) as target, gzip.GzipFile("", "wb", GZIP_LEVEL, target, mtime=0) as compressed:
            for piece, row_count in build():
                rows += row_count
                compressed.write(piece)
                if target.tell() > max_bytes:
                    too_long = True
                    break
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as source:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
        # gzip writes its last block when the file is closed.
        too_long = too_long or size > max_bytes
        now = self._clock.monotonic()
        fresh_until = now + LIFETIME_FACTOR * (now - began)
        return BuiltFile(rows, size, digest.hexdigest(), self._clock.now(), stamp, fresh_until, too_long)

    def _prune(self) -> None:
        """Remove the least recently used files until the others fit."""
        total = sum(file.size for file in self._files.values() if file.exists)
        while total > self._max_bytes or len(self._files) > MAX_RECORDS:
            name, file = self._files.popitem(last=False)
            (self._prepare_directory() / name).unlink(missing_ok=True)
            total -= file.size if file.exists else 0

    def _restore(self) -> None:
        """Restore the files and purchases of an earlier process at the first use."""
        if self._is_restored or self._directory is None:
            return
        self._is_restored = True
        index = file_index.read_index(self._directory)
        for name, rows, size, sha256, built_at, stamp in index.files:
            path = self._directory / name
            if path.is_file() and path.stat().st_size == size:
                # Without the time for which a file outlasts a change of the data.
                self._files[name] = BuiltFile(rows, size, sha256, built_at, stamp, fresh_until=0.0)
        now, monotonic = self._clock.now(), self._clock.monotonic()
        for account, sha256, purchased_at in index.purchases:
            # Not negative, as the machine's clock may have been set back.
            age_seconds = max(0.0, (now - purchased_at).total_seconds())
            self._purchases[account, sha256] = monotonic - age_seconds

    def _write_index(self) -> None:
        """Write the index of the files on the disk and of the purchases of the last day."""
        if self._directory is None:
            return
        files = [
            IndexedFile(name, file.rows, file.size, file.sha256, file.built_at, file.stamp)
            for name, file in self._files.items()
            if file.exists
        ]
        now, monotonic = self._clock.now(), self._clock.monotonic()
        purchases = [
            FilePurchase(account, sha256, now - timedelta(seconds=monotonic - purchased_at))
            for (account, sha256), purchased_at in self._purchases.items()
            if monotonic < purchased_at + PURCHASE_SECONDS
        ]
        file_index.write_index(self._prepare_directory(), files, purchases)

    def _prepare_directory(self) -> Path:
        """Return the directory. At the first use, create it and remove what another process left there."""
        if self._prepared_directory is None:
            if self._directory is None:
                sweep()
                folder = TemporaryFolder("bulk")
                weakref.finalize(self, folder.remove)
                self._prepared_directory = folder.path / "files"
                self._prepared_directory.mkdir(mode=0o700)
            else:
                self._directory.mkdir(mode=0o700, exist_ok=True)
                sweep(self._directory)
                for path in self._directory.iterdir():
                    if path.is_file() and path.name not in self._files and path.name != file_index.INDEX:
                        path.unlink()
                self._prepared_directory = self._directory
        return self._prepared_directory
