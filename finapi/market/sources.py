"""What a path holds: files, folders and zips as groups of entries that are read within bounds.

A group is what lies in one folder (or one folder of a zip): the documents of one filing lie together.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from finapi.errors import ParseError

MIB = 1024 * 1024
MAX_DOCUMENT = 256 * MIB  # the largest instances on EDGAR are about 100 MB
MAX_ARCHIVE = 65_536 * MIB  # all of a zip unpacked, one document at a time; companyfacts.zip has some 20 GB
MAX_ENTRIES = 200_000  # entries of a zip
MAX_DIRECTORY = 16 * MIB  # bytes of a zip's list of entries; companyfacts.zip has 1.5 MiB
MAX_LINE = 512 * 1024  # bytes of one line of a table
# DEFLATE cannot do better than 1032:1, and XBRL does about 20:1: what claims more is a bomb.
MAX_RATIO = 200

# APPNOTE 4.3.16, 4.3.15 and 4.3.14: the end of a zip's directory, where its 64-bit form is, and that form.
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")


@dataclass(frozen=True, slots=True)
class Entry:
    """One document: ``path`` is what a report calls it, ``name`` its last part.

    ``read(n)`` gives its first ``n`` bytes and ``read(None)`` all of it; ``lines()`` gives it line by line,
    without line feeds, in bounded memory. All raise ParseError. ``size`` is what it claims to hold, in bytes.
    """

    path: str
    name: str
    read: Callable[[int | None], bytes]
    lines: Callable[[], Iterator[bytes]]
    size: int


@dataclass(frozen=True, slots=True)
class Group:
    """The documents of one folder; ``name`` is the folder's (an accession number may stand in it)."""

    name: str
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that could not be read at all, and why."""

    path: str
    reason: str


def groups(paths: Iterable[Path]) -> Iterator[Group | Unreadable]:
    """What the paths hold, folder by folder, in the order of their names; zips are looked into once.

    Files that are named one by one belong together when they lie in one folder.
    """
    # In the order given: a list of filings named first tells of the filings that follow.
    loose: dict[Path, list[Path]] = {}
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            yield Unreadable(shown(path), error.strerror or "cannot be read")
            continue
        if stat.S_ISREG(mode):
            loose.setdefault(path.parent, []).append(path)
            continue
        yield from _loose(loose)
        if stat.S_ISDIR(mode):
            yield from _folder(path)
        else:
            yield Unreadable(shown(path), "is neither a file nor a folder")
    yield from _loose(loose)


def _loose(files_by_folder: dict[Path, list[Path]]) -> Iterator[Group | Unreadable]:
    for parent, files in files_by_folder.items():
        yield from _files(parent, files)
    files_by_folder.clear()


def _folder(folder: Path) -> Iterator[Group | Unreadable]:
    failed: list[OSError] = []
    empty = True
    for place, folders, names in os.walk(folder, onerror=failed.append):
        folders.sort()
        empty = empty and not names
        yield from _files(Path(place), [Path(place) / name for name in sorted(names)])
    if empty and not failed:
        yield Unreadable(shown(folder), "holds no documents")
    for error in failed:
        yield Unreadable(shown(error.filename), error.strerror or "cannot be read")


def _files(parent: Path, files: list[Path]) -> Iterator[Group | Unreadable]:
    entries = []
    for file in files:
        try:
            # A folder may list what it lets nobody look at.
            regular = file.is_file()
            size = file.stat().st_size if regular else 0
        except OSError as error:
            yield Unreadable(shown(file), error.strerror or "cannot be read")
            continue
        if not regular:
            # A socket or a pipe would be waited for without end.
            yield Unreadable(shown(file), "is not a regular file")
        elif _is_zip(file):
            yield from _zip(file)
        else:
            entries.append(Entry(shown(file), shown(file.name), _file_reader(file), _file_lines(file), size))
    if entries:
        yield Group(shown(parent.resolve().name), entries)


def shown(name: Path | str) -> str:
    """A file's name as a text that can be stored; bytes that are no UTF-8 are escaped in it."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_zip(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False  # reading it as a file says what is wrong with it


def _file_reader(file: Path) -> Callable[[int | None], bytes]:
    def read(size: int | None) -> bytes:
        try:
            if file.stat().st_size > MAX_DOCUMENT:
                raise ParseError(shown(file), "", f"is larger than {MAX_DOCUMENT // MIB} MiB")
            with file.open("rb") as stream:
                return stream.read(-1 if size is None else size)
        except OSError as error:
            raise ParseError(shown(file), "", error.strerror or "cannot be read") from None

    return read


def _zip(file: Path) -> Iterator[Group | Unreadable]:
    try:
        if _directory_size(file) > MAX_DIRECTORY:
            yield Unreadable(
                shown(file), f"lists more entries than any archive of the SEC ({MAX_DIRECTORY // MIB} MiB)"
            )
            return
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield Unreadable(shown(file), f"is not a readable zip: {error}")
        return
    with archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        reason = _bomb(members) if members else "holds no documents"
        if reason:
            yield Unreadable(shown(file), reason)
            return
        folders: dict[str, list[zipfile.ZipInfo]] = {}
        for info in members:
            folders.setdefault(info.filename.rpartition("/")[0], []).append(info)
        for folder, infos in sorted(folders.items()):
            entries = [
                Entry(
                    f"{shown(file)}!{info.filename}",
                    info.filename.rpartition("/")[2],
                    _member_reader(archive, file, info),
                    _member_lines(archive, file, info),
                    info.file_size,
                )
                for info in sorted(infos, key=lambda info: info.filename)
            ]
            # The folder inside names the filing better than the archive; at its top the archive does.
            yield Group(folder.rpartition("/")[2] or shown(file.stem), entries)


def _directory_size(file: Path) -> int:
    """How many bytes the zip's list of entries has, of which zipfile makes ten times as many of objects; 0 if none.

    Looked for where zipfile looks: at the very end, else before a comment of up to 64 KiB.
    """
    with file.open("rb") as stream:
        length = stream.seek(0, os.SEEK_END)
        start = max(0, length - _END.size - 65_535)
        stream.seek(start)
        tail = stream.read()
        at = len(tail) - _END.size
        if at < 0 or not tail.startswith(b"PK\5\6", at) or not tail.endswith(b"\0\0"):
            at = tail.rfind(b"PK\5\6")
        if at < 0 or len(tail) - at < _END.size:
            return 0
        size: int = _END.unpack_from(tail, at)[5]
        locator = at - _LOCATOR.size
        if locator >= 0 and tail.startswith(b"PK\6\7", locator):
            stream.seek(min(_LOCATOR.unpack_from(tail, locator)[2], length))
            record = stream.read(_END_64.size)
            if len(record) == _END_64.size and record.startswith(b"PK\6\6"):
                size = max(size if size < 0xFFFFFFFF else 0, _END_64.unpack(record)[8])
    return size


def _bomb(members: list[zipfile.ZipInfo]) -> str | None:
    """Why a zip is not to be unpacked, or None."""
    if len(members) > MAX_ENTRIES:
        return f"holds more than {MAX_ENTRIES} entries"
    if sum(info.file_size for info in members) > MAX_ARCHIVE:
        return f"unpacks to more than {MAX_ARCHIVE // MIB} MiB"
    for info in members:
        if info.file_size > MIB and info.file_size > MAX_RATIO * max(1, info.compress_size):
            return f"{info.filename} unpacks to more than {MAX_RATIO} times its size"
    return None


def _member_reader(
    archive: zipfile.ZipFile, file: Path, info: zipfile.ZipInfo
) -> Callable[[int | None], bytes]:
    path = f"{shown(file)}!{info.filename}"

    def read(size: int | None) -> bytes:
        if info.file_size > MAX_DOCUMENT and size is None:
            raise ParseError(path, "", f"is larger than {MAX_DOCUMENT // MIB} MiB")
        with _unpacking(archive, info, path) as stream:
            # The size in the directory is a claim: never read past it.
            data = stream.read(info.file_size + 1 if size is None else size)
        if size is None and len(data) != info.file_size:
            raise ParseError(path, "", "is not as long as the zip says")
        return data

    return read


def _member_lines(
    archive: zipfile.ZipFile, file: Path, info: zipfile.ZipInfo
) -> Callable[[], Iterator[bytes]]:
    path = f"{shown(file)}!{info.filename}"

    def lines() -> Iterator[bytes]:
        with _unpacking(archive, info, path) as stream:
            yield from _lines_of(stream, path)

    return lines


@contextmanager
def _unpacking(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Iterator[IO[bytes]]:
    """A member of a zip, opened; whatever goes wrong in the block that is the zip's is a ParseError."""
    if info.flag_bits & 1:
        raise ParseError(path, "", "is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # zipfile unpacks bzip2 and lzma without a bound, whatever is asked of it.
        raise ParseError(path, "", "is compressed in another way than zip files of the SEC are")
    try:
        with archive.open(info) as stream:
            yield stream
    except ParseError:
        raise
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
        raise ParseError(path, "", f"cannot be unpacked: {error}") from None


def _file_lines(file: Path) -> Callable[[], Iterator[bytes]]:
    def lines() -> Iterator[bytes]:
        try:
            with file.open("rb") as stream:
                yield from _lines_of(stream, shown(file))
        except OSError as error:
            raise ParseError(shown(file), "", error.strerror or "cannot be read") from None

    return lines


def lines_of(body: bytes) -> Callable[[], Iterator[bytes]]:
    """The lines of what has been read already."""
    return lambda: iter(body.split(b"\n"))


def _lines_of(stream: IO[bytes], path: str) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(MIB):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if len(rest) > MAX_LINE:
            raise ParseError(path, "", f"has a line of more than {MAX_LINE // 1024} KiB")
        yield from lines
    if rest:
        yield rest
