"""The demo data as a database image, built once for each installed version and cached in the user's cache directory.

Storing the demo data takes a second of CPU, reading a cached image 9 ms. The image has no account and no secret.
The time of storage, the data stamp and the epoch of the journal are the same in every image, and :func:`redate`
replaces them in a copy.

A cached file is used only if it belongs to the user, no one else can write it, and its checksum is right. In all other
cases the image is built again.
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
from finapi.store import datadir
from finapi.store.db import Database

# The time of storage in every image, noon of a Saturday. No document has this time, so it can be replaced as text.
STORED_AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
MAX_CACHED_IMAGES = 4  # Each edit of a checkout is a new version, with an image of 4 MB.
_REDATE_QUERIES = (
    "date_filings",
    "date_arrivals",
    "date_insider_forms",
    "date_carried",
    "date_events",
    "date_journal",
    "draw_data_stamp",
)
CHECKSUM_BYTES = 4  # A CRC-32 after the image.
# Subpackages that the image cannot depend on, because they are in higher layers than this one. Edits of these do not
# change the version.
EXCLUDED_PACKAGES = {"ops", "web", "feeds", "testing", "verbs", "client", "mcp", "httpd"}


def get_image() -> bytes | memoryview:
    """Return the database image from the cache, or build it and cache it if possible."""
    directory = _find_cache_directory()
    file = directory / f"demo-{compute_version()}.db" if directory else None
    cached_image = _read_image(file) if file else None
    if cached_image is not None:
        return cached_image
    image = build_image()
    if file:
        # Without a cache, the next start builds the image again. Nothing else is lost.
        with suppress(OSError):
            replace_file(file, image + zlib.crc32(image).to_bytes(CHECKSUM_BYTES), "demo")
            _remove_old_images(file.parent)
    return image


def write_copy(file: Path) -> None:
    """Write the image to a new file (mode 0600). Raise FileExistsError if the file, or a link, exists."""
    image = get_image()
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as copy:
        copy.write(image)


def fill_new_directory(data_dir: Path) -> bool:
    """Write the image to a data directory as its database. Return False, and write nothing, if it has any files."""
    try:
        with datadir.lock_directory(data_dir):
            if any(path.name != datadir.LOCK for path in data_dir.iterdir()):
                return False
            write_copy(data_dir / datadir.DATABASE)
    except datadir.DirectoryBusyError:
        return False
    return True


def redate(app: App) -> None:
    """Make a copy of the image an independent store: give it new times of storage, data stamp and journal epoch."""
    now = app.clock.now()
    parameters = {"then": iso(STORED_AT), "now": iso(now), "epoch": int(now.timestamp())}
    with app.db.write() as tx:
        for query in _REDATE_QUERIES:
            tx.run(query, parameters)


def _find_cache_directory() -> Path | None:
    """Return finapi's directory in the user's cache, or None if it cannot be made or others can write to it."""
    try:
        directory = get_cache_directory() / "finapi"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except (OSError, RuntimeError):  # There is no home directory, or no permission to write to it.
        return None
    return directory if stat.S_ISDIR(status.st_mode) and _is_private(status) else None


def _is_private(status: os.stat_result) -> bool:
    """Return True if a file belongs to the user and no one else can write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _read_image(file: Path) -> memoryview | None:
    """Return the image in a file, or None if it is damaged or another user may have written it."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as cached:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_private(status):
            return None
        try:
            content = cached.read()
        except OSError:
            return None
        with suppress(OSError):
            os.utime(handle)  # Mark the image as used: the images used longest ago are removed first.
    image = memoryview(content)[:-CHECKSUM_BYTES]
    checksum = content[-CHECKSUM_BYTES:]
    return image if image and zlib.crc32(image).to_bytes(CHECKSUM_BYTES) == checksum else None


def _remove_old_images(directory: Path) -> None:
    """Remove all images except those used last, and temporary files of killed processes."""
    images: list[tuple[float, Path]] = []
    for file in directory.glob("demo-*.db"):
        with suppress(FileNotFoundError):  # Another process may have removed it.
            images.append((file.lstat().st_mtime, file))
    images.sort(reverse=True)
    for _, file in images[MAX_CACHED_IMAGES:]:
        file.unlink(missing_ok=True)
    sweep(directory)


def compute_version() -> str:
    """Return the version of the image, which changes whenever the installed code or data change."""
    package = Path(finapi.__file__).parent
    if package.is_dir():
        excluded = {str(package / subpackage) for subpackage in EXCLUDED_PACKAGES}
        files = sorted(_iter_files([str(package), str(package.parent / "sql")], excluded))
    else:
        # The package was installed as a single zip file, so it is not a folder.
        archives = [path for path in package.parents if path.is_file()]
        files = [(str(archive), archive.stat().st_size, archive.stat().st_mtime_ns) for archive in archives]
    return hashlib.sha256(repr((finapi.__version__, files)).encode()).hexdigest()[:20]


def _iter_files(folders: list[str], excluded: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the path, the size and the modification time in ns of all files in some folders, except bytecode."""
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    status = entry.stat()
                    yield entry.path, status.st_size, status.st_mtime_ns
                elif entry.name != "__pycache__" and entry.path not in excluded:
                    folders.append(entry.path)


def build_image() -> bytes:
    """Return the image of a new database with the demo data."""
    # Imported here, because a start with a cached image does not need the parsers.
    from finapi.market.demo import demo_data
    from finapi.market.intake import latest_years_work

    database = Database(None)
    try:
        # Random values are the same in every image. They are replaced in each copy.
        database.set_random_source(lambda count: hashlib.sha256(b"demo").digest()[:count])
        app = create_in_memory(Config(), FixedClock(STORED_AT), db=database)
        events.open_journal(app, STORED_AT)
        demo_data.load(app)
        # Otherwise each server computes these from all facts of a company when its first series is requested.
        latest_years_work.compute_all_latest_years(app)
        return database.image()
    finally:
        database.close()
