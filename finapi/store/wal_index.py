"""Disk space for SQLite's WAL index, so that a full disk is an error and does not kill the process.

SQLite maps the WAL index (``finapi.db-shm``) into memory. It writes one byte to each 4 KiB of the file first, so that
the disk has room for all of it. On a file system with smaller blocks this allocates only some of the blocks. If the
disk is full when SQLite writes to the others, the kernel kills the process (SIGBUS). ``mkfs.ext4`` makes blocks of
1 KiB on disks below 512 MB. There, finapi allocates all blocks of the WAL index itself when it opens the database.
"""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress
from pathlib import Path

from finapi.core.errors import UsageError

# The index has regions of 32 KiB. Each is for 4,096 pages of the WAL, which are 16 MiB (sqlite.org/walformat.html).
REGION_BYTES = 32_768
WAL_BYTES_PER_REGION = 16 << 20
MAX_WAL_BYTES = 512 << 20  # The longest WAL that blocks are allocated for: as large as a disk that has small blocks.


def compute_needed_bytes(directory: Path) -> int:
    """Return the size of the largest WAL index of a database in this directory, or 0 if SQLite allocates its blocks."""
    file_system = os.statvfs(directory)
    if file_system.f_bsize >= mmap.PAGESIZE:
        return 0
    wal_bytes = min(file_system.f_blocks * file_system.f_frsize, MAX_WAL_BYTES)
    return (wal_bytes // WAL_BYTES_PER_REGION + 1) * REGION_BYTES


def uses_wal(path: Path) -> bool:
    """Return True if a database is in WAL mode, by the bytes 18 and 19 of its header (sqlite.org/fileformat.html)."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\2\2"


def check_space(path: Path) -> None:
    """Raise UsageError if the disk has no room for the WAL index of the database ``path``, which is to be opened."""
    needed_bytes = compute_needed_bytes(path.parent)
    if not needed_bytes or _count_allocated_bytes(get_index_path(path)) >= needed_bytes:
        return
    # Imported here because most starts do not need it, and it imports shutil, bz2 and random.
    from tempfile import TemporaryFile

    # The free blocks of statvfs include some that ext4 gives to nobody, so a temporary file is allocated.
    # Of a directory that cannot be written, SQLite says so itself.
    with suppress(OSError), TemporaryFile(dir=path.parent) as file:
        _allocate_blocks(file.fileno(), needed_bytes, path)


def allocate(path: Path) -> None:
    """Allocate all blocks of the WAL index of an open database. Raise UsageError if the disk has no room."""
    needed_bytes = compute_needed_bytes(path.parent)
    if not needed_bytes:
        return
    descriptor = _find_descriptor(get_index_path(path))
    if descriptor is not None:
        _allocate_blocks(descriptor, needed_bytes, path)


def get_index_path(path: Path) -> Path:
    """Return the path of a database's WAL index. SQLite creates it next to the target of a symbolic link."""
    path = path.resolve()
    return path.with_name(f"{path.name}-shm")


def _find_descriptor(path: Path) -> int | None:
    """Return a descriptor of this process for a file, or None.

    The file must not be opened again: closing a second descriptor would release SQLite's locks (fcntl(2)).
    """
    try:
        file_id = os.stat(path)
    except FileNotFoundError:
        return None
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # The descriptor of the listing itself is closed by now.
            if os.path.samestat(os.fstat(int(name)), file_id):
                return int(name)
    return None


def _count_allocated_bytes(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _allocate_blocks(descriptor: int, byte_count: int, path: Path) -> None:
    """Allocate the blocks of an open file. Raise UsageError for the database ``path`` if the disk has no room."""
    try:
        os.posix_fallocate(descriptor, 0, byte_count)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        index_name = get_index_path(path).name
        message = f"{path} cannot be opened: make room on its disk, where {index_name} needs {byte_count:,} bytes"
        raise UsageError(message) from None
