"""Writing files atomically, finding the files of the package, and reading streams up to a limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, BinaryIO, cast

from finapi.core.temporary import Purpose, TemporaryFolder

CHUNK_BYTES = 64 * 1024  # The size of a read from a stream of unknown length.


def write_new_file(path: Path, content: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk, completely or not at all. Raise FileExistsError if the name is taken."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.link(_write(folder, content), path)


def replace_file(path: Path, content: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk in place of another. A crash leaves the old or the new one."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.replace(_write(folder, content), path)
    sync_directory(path.parent)


def remove_file(path: Path) -> None:
    """Remove a file if it exists. Return when its removal is on the disk."""
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def read_bounded(stream: IO[bytes], max_bytes: int, expected_bytes: int = 0) -> bytes:
    """Return the content of a stream, at most ``max_bytes``.

    ``read(n)`` of a file allocates n bytes, even if the file is short. Therefore the ``expected_bytes`` are read in one
    chunk, and anything beyond them in chunks of ``CHUNK_BYTES``.
    """
    chunks = []
    remaining_bytes = max_bytes
    chunk_bytes = max(min(expected_bytes, remaining_bytes), CHUNK_BYTES)
    while remaining_bytes > 0:
        chunk = stream.read(min(chunk_bytes, remaining_bytes))
        if not chunk:
            break
        chunks.append(chunk)
        remaining_bytes -= len(chunk)
        chunk_bytes = CHUNK_BYTES
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def sync_directory(path: Path) -> None:
    """Wait until the entries of a directory are on the disk (fsync)."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def get_package_folder(package: str) -> Path:
    """Return the folder of ``finapi`` or of a package in it. In a zip it is a path within the zip."""
    folder = Path(__file__).parents[1].joinpath(*package.split(".")[1:])
    if folder.is_dir():
        return folder
    # Imported only here, because it loads the modules that read a zip.
    from importlib import resources

    return cast(Path, resources.files(package))


def create_private_file(path: Path) -> BinaryIO:
    """Create a file that only its owner may read (mode 0600), and return it for writing. Raise FileExistsError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _write(folder: Path, content: bytes) -> Path:
    """Write a file into a temporary folder and onto the disk. Return its path."""
    path = folder / "file"
    with create_private_file(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return path
