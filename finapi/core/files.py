"""Files that appear complete or not at all, files that come with the package, and streams read within bounds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, cast

from finapi.core.temporary import Purpose, TemporaryFolder

PIECE_BYTES = 64 * 1024  # Of a stream whose length is not known.


def write_new_file(path: Path, data: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk, completely or not at all. Raise FileExistsError if the name is taken."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.link(_write(folder, data), path)


def replace_file(path: Path, data: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk in place of another. A crash leaves the old or the new one."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.replace(_write(folder, data), path)
    sync_directory(path.parent)


def read_bounded(stream: IO[bytes], max_bytes: int, expected_bytes: int = 0) -> bytes:
    """Return what a stream contains, at most ``max_bytes``.

    Memory is taken for what is there: ``read(n)`` of a file takes n bytes first, however short the file is. What is
    expected is read in one piece, and only what is beyond that in more.
    """
    pieces = []
    left = max_bytes
    wanted = max(min(expected_bytes, left), PIECE_BYTES)
    while left > 0 and (piece := stream.read(min(wanted, left))):
        pieces.append(piece)
        left -= len(piece)
        wanted = PIECE_BYTES
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def get_package_folder(package: str) -> Path:
    """The folder of ``finapi`` or of a package in it, or what stands for it in a zip."""
    if (place := Path(__file__).parents[1].joinpath(*package.split(".")[1:])).is_dir():
        return place
    from importlib import resources  # it loads what reads a zip

    return cast(Path, resources.files(package))


def _write(folder: Path, data: bytes) -> Path:
    """Write a file into a temporary folder and onto the disk. Return its path."""
    path = folder / "file"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return path
