"""The embedded data as bytes of a database, made once for each installed version and kept in the user's cache.

Storing the data takes half a second of CPU, reading what was kept 9 ms. It has
no account and no secret; the instant of storing, the stamp and the epoch of its journal are the same for everybody, and
:func:`redate` replaces them.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import finapi
from finapi.app import App, create_in_memory
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config, get_cache_directory
from finapi.core.files import replace_file
from finapi.core.temporary import sweep
from finapi.delivery import events
from finapi.store.db import Database

# When all of it was stored, as the image says. No document in it bears this instant, a Saturday's noon.
STORED = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEPT = 4  # versions: each edit of a checkout makes one, of 3 MB
_REDATING = (
    *("date_filings", "date_arrivals", "date_insider_forms", "date_carried", "date_events", "date_journal"),
    "draw_data_stamp",
)
CHECK = 4  # bytes of a CRC-32 behind the image
# Rooms of which the image cannot follow, for they are below this one.
LATER = {"ops", "web", "feeds", "testing", "verbs", "client", "mcp", "httpd"}


def image() -> bytes | memoryview:
    """The database, from the cache when it is there and whole; otherwise made now, and kept where that can be."""
    place = _cache()
    file = place / f"demo-{_version()}.db" if place else None
    if (kept := _read(file) if file else None) is not None:
        return kept
    made = _loaded()
    if file:
        # A cache that cannot be written costs the time, and no more.
        with suppress(OSError):
            replace_file(file, made + zlib.crc32(made).to_bytes(CHECK), "demo")
            _remove_old(file.parent)
    return made


def copy_to(file: Path) -> None:
    """Write the image to a file (mode 0600) that is not there yet."""
    data = image()
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(data)


def redate(app: App) -> None:
    """Make a copy of the image a store of its own, in which all was stored now."""
    now = app.clock.now()
    values = {"then": iso(STORED), "now": iso(now), "epoch": int(now.timestamp())}
    with app.db.write() as tx:
        for query in _REDATING:
            tx.run(query, values)


def _cache() -> Path | None:
    """finapi's directory in the user's cache; None where there is none that nobody else can write."""
    try:
        place = get_cache_directory() / "finapi"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    return place if stat.S_ISDIR(found.st_mode) and _own(found) else None


def _own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _read(file: Path) -> memoryview | None:
    """The image in a file; None for one that is cut off or damaged, or that somebody else may have put there."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as opened:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not _own(found):
            return None
        try:
            data = opened.read()
        except OSError:
            return None
        with suppress(OSError):
            os.utime(handle)  # it is in use
    made, check = memoryview(data)[:-CHECK], data[-CHECK:]
    return made if made and zlib.crc32(made).to_bytes(CHECK) == check else None


def _remove_old(place: Path) -> None:
    """Remove all but the versions that were used last, and what killed processes left."""
    used: list[tuple[float, Path]] = []
    for one in place.glob("demo-*.db"):
        with suppress(FileNotFoundError):
            used.append((one.lstat().st_mtime, one))
    used.sort(reverse=True)
    old = [one for _, one in used[KEPT:]]
    for one in old:
        one.unlink(missing_ok=True)
    sweep(place)


def _version() -> str:
    """What tells one state of the installed code and data from another."""
    root = Path(finapi.__file__).parent
    # Installed in one file, a zip, the package's folder is none.
    if root.is_dir():
        told = sorted(_files([str(root), str(root.parent / "sql")], {str(root / room) for room in LATER}))
    else:
        told = [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in root.parents if one.is_file()]
    return hashlib.sha256(repr((finapi.__version__, told)).encode()).hexdigest()[:20]


def _files(folders: list[str], skipped: set[str]) -> Iterator[tuple[str, int, int]]:
    """Every file below some folders but bytecode: path, size, and when it was written."""
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for one in entries:
                if not one.is_dir(follow_symlinks=False):
                    found = one.stat()
                    yield one.path, found.st_size, found.st_mtime_ns
                elif one.name != "__pycache__" and one.path not in skipped:
                    folders.append(one.path)


def _loaded() -> bytes:
    # Not loaded where the image is kept.
    from finapi.market.demo import data

    database = Database(None)
    try:
        database.set_random_source(lambda count: hashlib.sha256(b"demo").digest()[:count])
        app = create_in_memory(Config(), FixedClock(STORED), db=database)
        events.open_journal(app, STORED)
        data.load(app)
        return database.image()
    finally:
        database.close()
