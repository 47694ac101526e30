"""Temporary folders: their names, and the removal of those that killed processes left.

A file that is written in pieces is written in a folder ``.finapi-PURPOSE-PID-RANDOM`` next to its destination, and
moved to the destination when it is complete. In the system's directory for temporary files the name has no dot.

The process that creates a folder holds a lock on a file in it. The kernel releases the lock when the process ends,
however it ends, so that a folder whose lock is free belongs to no process. :func:`sweep` removes such folders and
touches nothing else. Process ids alone would not be enough, because in a container every start may have the same one.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

log = logging.getLogger("finapi.temporary")

# The task that a folder is created for.
Purpose = Literal[
    "backup",
    "bulk",
    "copy",
    "database",
    "demo",
    "export",
    "fixture",
    "ingest",
    "ledger",
    "mail",
    "mapping",
    "move",
    "restore",
    "secrets",
    "upgrade",
]

NAME = re.compile(r"\.?finapi-[a-z]+-(?P<pid>[1-9][0-9]{0,6})-[0-9a-f]{8}")
LOCK = ".lock"  # The name of the locked file in each folder.


class TemporaryFolder:
    """A private folder (mode 0700) that is removed when the block ends, or by :meth:`remove`."""

    def __init__(self, purpose: Purpose, directory: Path | None = None) -> None:
        """Create the folder in ``directory``, by default in the system's directory for temporary files."""
        prefix = "finapi" if directory is None else ".finapi"
        directory = (directory or _system_directory()).absolute()
        lock = None
        while lock is None:
            self.path = directory / f"{prefix}-{purpose}-{os.getpid()}-{os.urandom(4).hex()}"
            self.path.mkdir(mode=0o700)
            lock = _lock_new_folder(self.path)
        self._lock: int | None = lock

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder with everything in it, unless that was done before."""
        if self._lock is None:
            return
        try:
            _remove_tree(self.path)
        except OSError as error:
            # A folder that cannot be removed does not fail the work in it. A later sweep tries again.
            log.warning("%s cannot be removed: %s", self.path, error.strerror)
        os.close(self._lock)
        self._lock = None


def sweep(directory: Path | None = None) -> None:
    """Remove the temporary folders whose processes have ended, by default in the system's directory for such files."""
    directory = directory or _system_directory()
    try:
        names = [name for name in os.listdir(directory) if NAME.fullmatch(name)]
    except OSError:
        return  # It does not exist yet or cannot be read. A later attempt to write there reports that.
    for name in names:
        folder = directory / name
        try:
            if _remove_if_abandoned(folder):
                log.debug("removed %s, which a killed process had left", folder)
        except FileNotFoundError:
            pass  # Its process or another sweep removed it meanwhile.
        except OSError as error:
            log.warning("%s cannot be removed: %s", folder, error.strerror)


def _system_directory() -> Path:
    import tempfile  # Most commands do not need it.

    return Path(tempfile.gettempdir())


def _lock_new_folder(folder: Path) -> int | None:
    """Lock a folder that was created just now. Return the handle, or None if a sweep was faster and removes it."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    if _try_lock(lock) is not False:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(folder / LOCK)):
                return lock
    os.close(lock)
    return None


def _remove_if_abandoned(folder: Path) -> bool:
    """Remove a folder if it belongs to this user and no process holds its lock. Return True if it was removed."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        # The folder has no lock yet, or no longer. A process that is just creating it then uses another name.
        folder.rmdir()
        return True
    try:
        has_lock = _try_lock(lock)
        if has_lock is False or (has_lock is None and _is_running(folder)):
            return False
        _remove_tree(folder)
        return True
    finally:
        os.close(lock)


def _try_lock(handle: int) -> bool | None:
    """Return True if this process has the lock now, False if another has it, None if files cannot be locked here."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_running(folder: Path) -> bool:
    """Return True if the process whose id is in a folder's name is running."""
    match = NAME.fullmatch(folder.name)
    assert match is not None
    try:
        os.kill(int(match["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # It runs as another user.
    return True


def _remove_tree(folder: Path) -> None:
    """Remove a folder and its contents. Links are removed and not followed."""
    with os.scandir(folder) as entries:
        # The lock is removed last, so that a sweep recognises what remains after a kill.
        ordered = sorted(entries, key=lambda entry: entry.name == LOCK)
    for entry in ordered:
        if entry.is_dir(follow_symlinks=False):
            import shutil  # Most folders contain files alone.

            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    with suppress(FileNotFoundError):
        folder.rmdir()  # A sweep may have removed the empty folder.
