"""Copies of the database from before a schema upgrade, with which an operator can return to the earlier release.

An upgrade runs in one transaction (``schema.py``). A start that is killed before the upgrade has completed leaves the
old version, and the next start copies that version again. So a copy is never one of a half-upgraded database.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from finapi.core.errors import UsageError
from finapi.core.files import sync_directory
from finapi.store import backup, schema
from finapi.store.db import DatabaseError

log = logging.getLogger("finapi.store")

MAX_COPIES = 2


def copy_before_upgrade(path: Path) -> None:
    """Copy a database with an older schema to ``<name>.schema-<version>``. Return when the copy is on the disk.

    Raise UsageError if the copy cannot be written.
    """
    version = backup.read_version(path)
    if not 0 < version < schema.newest_version():
        return
    target = path.with_name(f"{path.name}.schema-{version:04}")
    try:
        with backup.temporary_copy(path, path.parent, "upgrade") as copy:
            _sync_file(copy)
            copy.replace(target)
        sync_directory(path.parent)
    except (UsageError, OSError, DatabaseError) as error:
        raise UsageError(
            f"the database was not upgraded, because a copy of it cannot be written: {error}; "
            "free some disk space, or upgrade without a copy: --upgrade-copy no"
        ) from error
    log.warning(
        "the schema of %s is upgraded from version %d to %d; a copy of the old version is %s",
        path,
        version,
        schema.newest_version(),
        target,
    )


def remove_old_copies(path: Path) -> None:
    """Remove all copies of a database except the last MAX_COPIES. Call this after an upgrade has completed."""
    for copy in sorted(path.parent.glob(f"{path.name}.schema-[0-9][0-9][0-9][0-9]"))[:-MAX_COPIES]:
        try:
            copy.unlink()
        except OSError as error:
            log.warning("the old copy %s is no longer needed, but cannot be removed: %s", copy, error.strerror)


def _sync_file(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
