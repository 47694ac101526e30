"""What a path holds: files, folders and zips as groups of entries that are read within bounds.

A group is what lies in one folder (or one folder of a zip): the documents of one filing lie together.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from finapi.core import stopping
from finapi.core.errors import ParseError
from finapi.core.files import read_bounded

MIB = 1024 * 1024
MAX_DOCUMENT_BYTES = 256 * MIB  # the largest instances on EDGAR are about 100 MB
MAX_ARCHIVE_BYTES = 65_536 * MIB  # all of a zip unpacked, one document at a time; companyfacts.zip has some 20 GB
MAX_ENTRIES = 200_000  # entries of a zip
MAX_DIRECTORY_BYTES = 16 * MIB  # bytes of a zip's list of entries; companyfacts.zip has 1.5 MiB
MAX_FILTERED_DIRECTORY_BYTES = 512 * MIB  # of one that is read entry by entry; submissions.zip has a million
TOO_LITTLE_MEMORY = "needs more memory than this process may use"
MAX_LINE_BYTES = 512 * 1024  # bytes of one line of a table
# DEFLATE cannot do better than 1032:1, and XBRL does about 20:1: what claims more is a bomb.
MAX_RATIO = 200

# APPNOTE 4.3.16, 4.3.15 and 4.3.14: the end of a zip's directory, where its 64-bit form is, and that form.
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
# 4.3.12: an entry of the directory, before its name, its extra fields and its comment.
_LISTED = struct.Struct("<4s6H3L5H2L")
_EMPTY_ZIP = b"PK\5\6" + bytes(18)

# What is told of the work on a path: ("bytes" or "filings", how many are done, how many there are or 0).
ProgressCallback = Callable[[str, int, int], None]
NameFilter = Callable[[str], bool]

OpenCallback = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One document: ``path`` is what a report calls it, ``name`` its last part, ``size`` what it claims to hold.

    ``open`` gives its bytes as a stream; whatever is wrong with them is a ParseError. ``moved`` is told of a long one.
    """

    path: str
    name: str
    open: OpenCallback
    size: int
    report_progress: ProgressCallback = lambda unit, done, total: None

    def read(self, most: int | None = None) -> bytes:
        """Return its first ``most`` bytes, or all of it. Raise ParseError if it cannot be read."""
        if most is None and self.size > MAX_DOCUMENT_BYTES:
            raise ParseError(self.path, "", f"is larger than {MAX_DOCUMENT_BYTES // MIB} MiB")
        try:
            with self.open() as stream:
                data = read_bounded(stream, MAX_DOCUMENT_BYTES if most is None else most, self.size)
        except MemoryError:
            raise ParseError(self.path, "", TOO_LITTLE_MEMORY) from None
        if most is None and len(data) < self.size:
            raise ParseError(self.path, "", "is shorter than its size says")
        return data

    def iter_lines(self) -> Iterator[bytes]:
        """Its lines without their line feeds, in bounded memory."""
        rest, done = b"", 0
        with self.open() as stream:
            while chunk := stream.read(MIB):
                stopping.check()
                self.report_progress("bytes", done := done + len(chunk), self.size)
                lines = (rest + chunk).split(b"\n")
                rest = lines.pop()
                if len(rest) > MAX_LINE_BYTES:
                    raise ParseError(self.path, "", f"has a line of more than {MAX_LINE_BYTES // 1024} KiB")
                yield from lines
        if rest:
            yield rest


def build_entry(path: str, name: str, body: bytes) -> Entry:
    """A document that has been read already."""
    return Entry(path, name, lambda: io.BytesIO(body), len(body))


@dataclass(frozen=True, slots=True)
class Document:
    """An entry that has been recognised by :func:`recognise.kind`; it is read when it is wanted."""

    entry: Entry
    kind: str

    @property
    def path(self) -> str:
        """What a report calls it."""
        return self.entry.path

    @property
    def name(self) -> str:
        """Its file name."""
        return self.entry.name

    def read(self) -> bytes:
        """All of it, or a ParseError."""
        return self.entry.read()


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


def iter_groups(paths: Iterable[Path], wanted: NameFilter | None = None) -> Iterator[Group | Unreadable]:
    """What the paths hold, folder by folder, in the order of their names; zips are looked into once.

    Files that are named one by one belong together when they lie in one folder. Of zips the entries whose last name is
    ``wanted``: a list of a million others costs no memory.
    """
    # In the order given: a list of filings named first tells of the filings that follow.
    loose: dict[Path, list[Path]] = {}
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            yield Unreadable(decode_name(path), error.strerror or "cannot be read")
            continue
        if stat.S_ISREG(mode):
            loose.setdefault(path.parent, []).append(path)
            continue
        for parent, files in loose.items():
            yield from _files(parent, files, wanted)
        loose.clear()
        if stat.S_ISDIR(mode):
            yield from _folder(path, wanted)
        else:
            yield Unreadable(decode_name(path), "is neither a file nor a folder")
    for parent, files in loose.items():
        yield from _files(parent, files, wanted)


def _folder(folder: Path, wanted: NameFilter | None) -> Iterator[Group | Unreadable]:
    failed: list[OSError] = []
    empty = True
    for place, folders, names in os.walk(folder, onerror=failed.append):
        folders.sort()
        empty = empty and not names
        yield from _files(Path(place), [Path(place) / name for name in sorted(names)], wanted)
    if empty and not failed:
        yield Unreadable(decode_name(folder), "holds no documents")
    for error in failed:
        yield Unreadable(decode_name(error.filename), error.strerror or "cannot be read")


def _files(parent: Path, files: list[Path], wanted: NameFilter | None) -> Iterator[Group | Unreadable]:
    entries = []
    for file in files:
        try:
            # A folder may list what it lets nobody look at.
            regular = file.is_file()
            size = file.stat().st_size if regular else 0
        except OSError as error:
            yield Unreadable(decode_name(file), error.strerror or "cannot be read")
            continue
        if not regular:
            # A socket or a pipe would be waited for without end.
            yield Unreadable(decode_name(file), "is not a regular file")
            continue
        entry = Entry(decode_name(file), decode_name(file.name), _opened_file(file), size)
        try:
            is_zip = entry.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
        except ParseError:
            is_zip = False  # reading it as a document says what is wrong with it
        if is_zip:
            yield from _zip(file, wanted)
        else:
            entries.append(entry)
    if entries:
        yield Group(decode_name(parent.resolve().name), entries)


def decode_name(name: Path | str) -> str:
    """A file's name as a text that can be stored; bytes that are no UTF-8 are escaped in it."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _opened_file(file: Path) -> OpenCallback:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        try:
            with file.open("rb") as stream:
                yield stream
        except OSError as error:
            raise ParseError(decode_name(file), "", error.strerror or "cannot be read") from None

    return opened


def _zip(file: Path, wanted: NameFilter | None) -> Iterator[Group | Unreadable]:
    most = MAX_DIRECTORY_BYTES if wanted is None else MAX_FILTERED_DIRECTORY_BYTES
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(file.open("rb"))
            start, size = _directory(stream)
            if size > most:
                yield Unreadable(
                    decode_name(file), f"lists more entries than any archive of the SEC ({most // MIB} MiB)"
                )
                return
            archive = stack.enter_context(zipfile.ZipFile(stream if wanted is None else io.BytesIO(_EMPTY_ZIP)))
            infos = archive.infolist() if wanted is None else _listed(stream, start, size, wanted)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            yield Unreadable(decode_name(file), f"is not a readable zip: {error}")
            return
        except MemoryError:
            yield Unreadable(decode_name(file), TOO_LITTLE_MEMORY)
            return
        archive.fp = stream
        members = [info for info in infos if not info.is_dir()]
        reason = _bomb(members) if members else "holds no documents" + (" that are wanted" if wanted else "")
        if reason:
            yield Unreadable(decode_name(file), reason)
            return
        folders: dict[str, list[zipfile.ZipInfo]] = {}
        for info in members:
            folders.setdefault(info.filename.rpartition("/")[0], []).append(info)
        for folder, infos in sorted(folders.items()):
            entries = []
            for info in sorted(infos, key=lambda info: info.filename):
                path, name = f"{decode_name(file)}!{info.filename}", info.filename.rpartition("/")[2]
                entries.append(Entry(path, name, _opened_member(archive, path, info), info.file_size))
            # The folder inside names the filing better than the archive; at its top the archive does.
            yield Group(folder.rpartition("/")[2] or decode_name(file.stem), entries)


def _directory(stream: IO[bytes]) -> tuple[int, int]:
    """Where a zip's list of entries begins, and how many bytes it has, of which zipfile makes ten times as many of
    objects; 0 if none.

    Looked for where zipfile looks: at the very end, else before a comment of up to 64 KiB.
    """
    length = stream.seek(0, os.SEEK_END)
    start = max(0, length - _END.size - 65_535)
    stream.seek(start)
    tail = stream.read()
    at = len(tail) - _END.size
    if at < 0 or not tail.startswith(b"PK\5\6", at) or not tail.endswith(b"\0\0"):
        at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        return 0, 0
    size, place = _END.unpack_from(tail, at)[5:7]
    locator = at - _LOCATOR.size
    if locator >= 0 and tail.startswith(b"PK\6\7", locator):
        stream.seek(min(_LOCATOR.unpack_from(tail, locator)[2], length))
        record = stream.read(_END_64.size)
        if len(record) == _END_64.size and record.startswith(b"PK\6\6"):
            size = max(size if size < 0xFFFFFFFF else 0, _END_64.unpack(record)[8])
            place = _END_64.unpack(record)[9]
    return place, size


def _listed(stream: IO[bytes], start: int, size: int, wanted: NameFilter) -> list[zipfile.ZipInfo]:
    """The entries of a zip's list that are wanted."""
    stream.seek(start)
    found: list[zipfile.ZipInfo] = []
    while size > 0 and len(found) <= MAX_ENTRIES:
        head = _LISTED.unpack(stream.read(_LISTED.size))
        name, extra = stream.read(head[10]), stream.read(head[11])
        stream.seek(head[12], os.SEEK_CUR)
        size -= _LISTED.size + head[10] + head[11] + head[12]
        text = name.decode("utf-8" if head[3] & 0x800 else "cp437")
        if head[0] != b"PK\1\2":
            raise zipfile.BadZipFile("Bad magic number for central directory")
        if wanted(text.rpartition("/")[2]):
            info = zipfile.ZipInfo(text)
            info.flag_bits, info.compress_type = head[3], head[4]
            info.CRC, info.compress_size, info.file_size, info.header_offset = *head[7:10], head[16]
            if 0xFFFFFFFF in (info.compress_size, info.file_size, info.header_offset):
                _lengthen(info, extra)
            found.append(info)
    return found


def _lengthen(info: zipfile.ZipInfo, extra: bytes) -> None:
    """Put the 64-bit numbers of an entry's extra fields where its own say that they do not suffice (4.5.3)."""
    while len(extra) >= 4 and extra[:2] != b"\1\0":
        extra = extra[4 + int.from_bytes(extra[2:4], "little") :]
    extra = extra[4:]
    for name in ("file_size", "compress_size", "header_offset"):
        if getattr(info, name) == 0xFFFFFFFF:
            setattr(info, name, struct.unpack_from("<Q", extra)[0])
            extra = extra[8:]


def _bomb(members: list[zipfile.ZipInfo]) -> str | None:
    """Why a zip is not to be unpacked, or None."""
    if len(members) > MAX_ENTRIES:
        return f"holds more than {MAX_ENTRIES} entries"
    if sum(info.file_size for info in members) > MAX_ARCHIVE_BYTES:
        return f"unpacks to more than {MAX_ARCHIVE_BYTES // MIB} MiB"
    for info in members:
        if info.file_size > MIB and info.file_size > MAX_RATIO * max(1, info.compress_size):
            return f"{info.filename} unpacks to more than {MAX_RATIO} times its size"
    return None


def _opened_member(archive: zipfile.ZipFile, path: str, info: zipfile.ZipInfo) -> OpenCallback:
    """What opens a member of a zip; whatever goes wrong while it is read is a ParseError."""

    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        if info.flag_bits & 1:
            raise ParseError(path, "", "is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # zipfile unpacks bzip2 and lzma without a bound, whatever is asked of it.
            raise ParseError(path, "", "uses a compression method that the SEC's zip files do not")
        try:
            with archive.open(info) as stream:
                yield stream
        except ParseError:
            raise
        except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
            raise ParseError(path, "", f"cannot be unpacked: {error}") from None

    return opened
