"""Files that appear whole or not at all, and those that come with the package."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import cast

LETTERS = 8  # after the name of a file that is being written


def write_new(path: Path, data: bytes) -> None:
    """Write a file (mode 0600) to the disk, whole; FileExistsError when there is one of this name already."""
    name = _written(path, data)
    try:
        os.link(name, path)
    finally:
        os.unlink(name)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file (mode 0600) to the disk in the place of one that may be there; a crash leaves the old or the new."""
    os.replace(_written(path, data), path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(path: Path) -> None:
    """Remove what a kill left of writing ``path``; nobody else may be writing it. ``*`` stands for any name."""
    start, any_name, end = f".{path.name}-".partition("*")
    with suppress(FileNotFoundError):
        for name in os.listdir(path.parent):
            begun = name[:-LETTERS]
            if begun == start or (any_name and begun.startswith(start) and begun.endswith(end)):
                with suppress(OSError):
                    (path.parent / name).unlink()


def get_package_folder(package: str) -> Path:
    """The folder of ``finapi`` or of a package in it, or what stands for it in a zip."""
    if (place := Path(__file__).parents[1].joinpath(*package.split(".")[1:])).is_dir():
        return place
    from importlib import resources  # it loads what reads a zip

    return cast(Path, resources.files(package))


def _written(path: Path, data: bytes) -> str:
    name = str(path.parent.absolute() / f".{path.name}-{os.urandom(LETTERS // 2).hex()}")
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return name
