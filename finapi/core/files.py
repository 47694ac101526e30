"""Files that appear complete or not at all, and files that come with the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from finapi.core.temporary import Purpose, TemporaryFolder


def write_new(path: Path, data: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk, completely or not at all. Raise FileExistsError if the name is taken."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.link(_write(folder, data), path)


def replace_file(path: Path, data: bytes, purpose: Purpose) -> None:
    """Write a file (mode 0600) to the disk in place of another. A crash leaves the old or the new one."""
    with TemporaryFolder(purpose, path.parent) as folder:
        os.replace(_write(folder, data), path)
    sync_directory(path.parent)


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
