"""The input files of an ingest: files, folders and zips as groups of documents that are read within bounds.

A group is the documents of one folder, or of one folder inside a zip, because the documents of a filing are stored
together. Nothing here trusts the input: a zip may be a bomb, a file may be a pipe, a line may have no end.

The central directory of a zip (its list of entries) is read in one of two ways. Without a filter, zipfile reads all of
it, which takes some ten times its size in memory, so long directories are refused. With a filter (submissions.zip has a
million entries, of which an ingest may need fifty) the directory is scanned and only the accepted entries are built.
"""

from __future__ import annotations

import io
import os
import re
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
MAX_DOCUMENT_BYTES = 256 * MIB  # The largest instances on EDGAR have about 100 MB.
MAX_ARCHIVE_BYTES = 65_536 * MIB  # The unpacked entries of a zip together; companyfacts.zip has some 20 GB.
MAX_ENTRIES = 200_000  # Entries of a zip.
MAX_DIRECTORY_BYTES = 16 * MIB  # The central directory of a zip. companyfacts.zip has one of 1.5 MiB.
# A central directory that is only scanned for accepted names; submissions.zip has a million entries.
MAX_FILTERED_DIRECTORY_BYTES = 512 * MIB
TOO_LITTLE_MEMORY = "needs more memory than this process may use"
MAX_LINE_BYTES = 512 * 1024  # One line of a table.
# DEFLATE cannot compress better than 1032:1, and XBRL compresses to about 20:1: an entry with a higher ratio is a bomb.
MAX_RATIO = 200

# Hidden files and folders, and what macOS, Windows and editors leave in folders.
_HIDDEN_NAME = re.compile(r"\.[^.].*|__MACOSX|Thumbs\.db|desktop\.ini|.*~", re.IGNORECASE)
_RENDERING_NAME = re.compile(r"Show\.js|report\.css|Financial_Report\.xlsx?", re.IGNORECASE)
_OFFICE_NAME = re.compile(r".*\.(?:xlsx?|docx?|pptx?|ods|odt)", re.IGNORECASE)
OFFICE_REASON = "is an office document, which finapi does not read; tables are read as CSV"

# Structures of the zip specification (APPNOTE.TXT): the end of central directory record (4.3.16), the Zip64 locator
# (4.3.15) and record (4.3.14), and the fixed part of a central directory entry (4.3.12).
_END = struct.Struct("<4s4H2LH")
_END_64_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_DIRECTORY_ENTRY = struct.Struct("<4s6H3L5H2L")
_END_SIGNATURE = b"PK\5\6"
_END_64_LOCATOR_SIGNATURE = b"PK\6\7"
_END_64_SIGNATURE = b"PK\6\6"
_ENTRY_SIGNATURE = b"PK\1\2"
_EMPTY_ZIP = _END_SIGNATURE + bytes(18)
_MAX_COMMENT_BYTES = 65_535
_IN_64_BIT_FIELD = 0xFFFFFFFF  # The value of a 32-bit number whose real value is in an extra field.
_UTF8_FLAG = 0x800
_ENCRYPTED_FLAG = 1

# Called with the progress of the work on a file: the unit ("bytes" or "filings"), the number done, and the total (0 if
# it is not known).
ProgressCallback = Callable[[str, int, int], None]
# Returns True for the names of the files to ingest.
NameFilter = Callable[[str], bool]
# Opens a document as a stream of bytes. Raises ParseError if they cannot be read.
OpenCallback = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a member of a zip.

    ``path`` identifies it in reports, ``name`` is the last part of the path, ``size`` its declared number of bytes.
    ``open`` returns its bytes as a stream and raises ParseError if they cannot be read. ``report_progress`` is called
    while a long file is read.
    """

    path: str
    name: str
    open: OpenCallback
    size: int
    report_progress: ProgressCallback = lambda unit, done, total: None

    def read(self, max_bytes: int | None = None) -> bytes:
        """Return the first ``max_bytes`` bytes, or all of them. Raise ParseError if they cannot be read."""
        if max_bytes is None and self.size > MAX_DOCUMENT_BYTES:
            raise ParseError(self.path, "", f"is larger than {MAX_DOCUMENT_BYTES // MIB} MiB")
        try:
            with self.open() as stream:
                body = read_bounded(stream, MAX_DOCUMENT_BYTES if max_bytes is None else max_bytes, self.size)
        except MemoryError:
            raise ParseError(self.path, "", TOO_LITTLE_MEMORY) from None
        if max_bytes is None and len(body) < self.size:
            raise ParseError(self.path, "", "is shorter than its declared size")
        return body

    def iter_lines(self) -> Iterator[bytes]:
        """Yield the lines without their line feeds, in bounded memory. Raise ParseError for a line that is too long."""
        unfinished_line = b""
        done_bytes = 0
        with self.open() as stream:
            while chunk := stream.read(MIB):
                stopping.check()
                done_bytes += len(chunk)
                self.report_progress("bytes", done_bytes, self.size)
                lines = (unfinished_line + chunk).split(b"\n")
                unfinished_line = lines.pop()
                if len(unfinished_line) > MAX_LINE_BYTES:
                    raise ParseError(self.path, "", f"has a line of more than {MAX_LINE_BYTES // 1024} KiB")
                yield from lines
        if unfinished_line:
            yield unfinished_line


def build_entry(path: str, name: str, body: bytes) -> Entry:
    """Return an entry for a document that is in memory already."""
    return Entry(path, name, lambda: io.BytesIO(body), len(body))


@dataclass(frozen=True, slots=True)
class Document:
    """An entry whose kind was detected by :func:`finapi.edgar.document_kinds.detect_kind`."""

    entry: Entry
    kind: str

    @property
    def path(self) -> str:
        """Return the path that identifies the document in reports."""
        return self.entry.path

    @property
    def name(self) -> str:
        """Return the file name."""
        return self.entry.name

    def read(self) -> bytes:
        """Return all bytes. Raise ParseError if they cannot be read."""
        return self.entry.read()


@dataclass(frozen=True, slots=True)
class Group:
    """The documents of one folder; ``name`` is the folder's, which may contain an accession number."""

    name: str
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that could not be read at all, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class StrayFile:
    """A file of a folder or zip that is clearly not a document, such as .DS_Store, and the reason."""

    path: str
    reason: str


def find_stray_reason(name: str) -> str | None:
    """Return why a file or folder of this name is not a document, or None if it may be one."""
    if _HIDDEN_NAME.fullmatch(name):
        return "is hidden or left by a program, and not a document"
    if _RENDERING_NAME.fullmatch(name):
        return "belongs to the SEC's rendering of a filing"
    return OFFICE_REASON if _OFFICE_NAME.fullmatch(name) else None


def iter_groups(
    paths: Iterable[Path], accepts_name: NameFilter | None = None
) -> Iterator[Group | Unreadable | StrayFile]:
    """Yield a group for each folder that contains documents, and an Unreadable for each path that cannot be read.

    Files in folders and zips that are clearly not documents are yielded as StrayFile.

    A path is a file, a folder with its subfolders, or a zip. Groups follow the order of the paths, and files in a
    folder are sorted by name. Files that are given one by one form a group if they are in the same folder. Zips inside
    zips are not opened. With ``accepts_name``, only those entries of zips are yielded whose file name it accepts.
    """
    # Groups follow the order of the paths: a list of filings that is given first describes the filings after it.
    files_by_folder: dict[Path, list[Path]] = {}
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            yield Unreadable(decode_name(path), error.strerror or "cannot be read")
            continue
        if _OFFICE_NAME.fullmatch(path.name) and stat.S_ISREG(mode):
            yield Unreadable(decode_name(path), OFFICE_REASON)
        elif stat.S_ISREG(mode):
            files_by_folder.setdefault(path.parent, []).append(path)
        if stat.S_ISREG(mode):
            continue
        for folder, files in files_by_folder.items():
            yield from _iter_file_groups(folder, files, accepts_name)
        files_by_folder.clear()
        if stat.S_ISDIR(mode):
            yield from _iter_folder_groups(path, accepts_name)
        else:
            yield Unreadable(decode_name(path), "is neither a file nor a folder")
    for folder, files in files_by_folder.items():
        yield from _iter_file_groups(folder, files, accepts_name)


def _iter_folder_groups(root: Path, accepts_name: NameFilter | None) -> Iterator[Group | Unreadable | StrayFile]:
    errors: list[OSError] = []
    is_empty = True
    for folder, subfolders, names in os.walk(root, onerror=errors.append):
        stray_reasons = {name: find_stray_reason(name) for name in sorted([*subfolders, *names])}
        subfolders[:] = sorted(name for name in subfolders if stray_reasons[name] is None)
        for name, reason in stray_reasons.items():
            if reason is not None:
                yield StrayFile(decode_name(Path(folder) / name), reason)
        files = [Path(folder) / name for name in sorted(names) if stray_reasons[name] is None]
        is_empty = is_empty and not files
        yield from _iter_file_groups(Path(folder), files, accepts_name)
    if is_empty and not errors:
        yield Unreadable(decode_name(root), "contains no documents")
    for error in errors:
        yield Unreadable(decode_name(error.filename), error.strerror or "cannot be read")


def _iter_file_groups(
    folder: Path, files: list[Path], accepts_name: NameFilter | None
) -> Iterator[Group | Unreadable | StrayFile]:
    """Yield the groups inside the zips among the files, then the group of the other files."""
    entries = []
    for file in files:
        try:
            # A folder may contain files that this process may not access.
            is_regular = file.is_file()
            size = file.stat().st_size if is_regular else 0
        except OSError as error:
            yield Unreadable(decode_name(file), error.strerror or "cannot be read")
            continue
        if not is_regular:
            # Reading a socket or a pipe might never end.
            yield Unreadable(decode_name(file), "is not a regular file")
            continue
        entry = Entry(decode_name(file), decode_name(file.name), _build_file_opener(file), size)
        try:
            is_zip = entry.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
        except ParseError:
            is_zip = False  # The file is then read as a document, which reports this error.
        if is_zip:
            yield from _iter_zip_groups(file, accepts_name)
        else:
            entries.append(entry)
    if entries:
        yield Group(decode_name(folder.resolve().name), entries)


def decode_name(name: Path | str) -> str:
    """Return a file's name as a text that can be stored, with bytes that are not UTF-8 escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _build_file_opener(file: Path) -> OpenCallback:
    @contextmanager
    def open_file() -> Iterator[IO[bytes]]:
        try:
            with file.open("rb") as stream:
                yield stream
        except OSError as error:
            raise ParseError(decode_name(file), "", error.strerror or "cannot be read") from None

    return open_file


def _iter_zip_groups(file: Path, accepts_name: NameFilter | None) -> Iterator[Group | Unreadable | StrayFile]:
    max_directory_bytes = MAX_DIRECTORY_BYTES if accepts_name is None else MAX_FILTERED_DIRECTORY_BYTES
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(file.open("rb"))
            start, size = _find_central_directory(stream)
            if size > max_directory_bytes:
                limit = f"{max_directory_bytes // MIB} MiB"
                yield Unreadable(
                    decode_name(file), f"lists more entries than any archive of the SEC: its directory exceeds {limit}"
                )
                return
            if accepts_name is None:
                archive = stack.enter_context(zipfile.ZipFile(stream))
                infos = archive.infolist()
            else:
                # zipfile would read the complete directory, so open an empty zip. Members are opened by their ZipInfo.
                archive = stack.enter_context(zipfile.ZipFile(io.BytesIO(_EMPTY_ZIP)))
                infos = _read_central_directory(stream, start, size, accepts_name)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            yield Unreadable(decode_name(file), f"is not a readable zip: {error}")
            return
        except MemoryError:
            yield Unreadable(decode_name(file), TOO_LITTLE_MEMORY)
            return
        archive.fp = stream
        members = [info for info in infos if not info.is_dir()]
        if members:
            reason = _find_bomb(members)
        else:
            reason = "contains no documents" + (" of the requested companies" if accepts_name else "")
        if reason:
            yield Unreadable(decode_name(file), reason)
            return
        members_by_folder: dict[str, list[zipfile.ZipInfo]] = {}
        for info in members:
            reasons = [find_stray_reason(part) for part in info.filename.split("/")]
            reason = next(filter(None, reasons), None)
            if reason is not None:
                yield StrayFile(f"{decode_name(file)}!{info.filename}", reason)
                continue
            members_by_folder.setdefault(info.filename.rpartition("/")[0], []).append(info)
        if not members_by_folder:
            yield Unreadable(decode_name(file), "contains no documents")
        for folder, folder_members in sorted(members_by_folder.items()):
            entries = []
            for info in sorted(folder_members, key=lambda info: info.filename):
                path = f"{decode_name(file)}!{info.filename}"
                name = info.filename.rpartition("/")[2]
                entries.append(Entry(path, name, _build_member_opener(archive, path, info), info.file_size))
            # A group is named after its folder inside the zip, and at the top level of the zip after the zip itself.
            yield Group(folder.rpartition("/")[2] or decode_name(file.stem), entries)


def _find_central_directory(stream: IO[bytes]) -> tuple[int, int]:
    """Return the offset and the size in bytes of a zip's central directory, its list of entries; zeros if it has none.

    Both are in the end record. Like zipfile, look for this record at the very end of the file, else before a comment of
    up to 64 KiB.
    """
    length = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, length - _END.size - _MAX_COMMENT_BYTES))
    tail = stream.read()
    end_offset = len(tail) - _END.size
    if end_offset < 0 or not tail.startswith(_END_SIGNATURE, end_offset) or not tail.endswith(b"\0\0"):
        end_offset = tail.rfind(_END_SIGNATURE)
    if end_offset < 0 or len(tail) - end_offset < _END.size:
        return 0, 0
    size, start = _END.unpack_from(tail, end_offset)[5:7]
    locator_offset = end_offset - _END_64_LOCATOR.size
    if locator_offset >= 0 and tail.startswith(_END_64_LOCATOR_SIGNATURE, locator_offset):
        stream.seek(min(_END_64_LOCATOR.unpack_from(tail, locator_offset)[2], length))
        record = stream.read(_END_64.size)
        if len(record) == _END_64.size and record.startswith(_END_64_SIGNATURE):
            size_64, start_64 = _END_64.unpack(record)[8:10]
            size = max(size if size < _IN_64_BIT_FIELD else 0, size_64)
            start = start_64
    return start, size


def _read_central_directory(
    stream: IO[bytes], start: int, size: int, accepts_name: NameFilter
) -> list[zipfile.ZipInfo]:
    """Return the entries of a zip's central directory whose file name is accepted."""
    stream.seek(start)
    infos: list[zipfile.ZipInfo] = []
    remaining_bytes = size
    while remaining_bytes > 0 and len(infos) <= MAX_ENTRIES:
        fields = _DIRECTORY_ENTRY.unpack(stream.read(_DIRECTORY_ENTRY.size))
        signature, flags, compression = fields[0], fields[3], fields[4]
        checksum, compressed_size, file_size = fields[7:10]
        name_length, extra_length, comment_length = fields[10:13]
        header_offset = fields[16]
        name_bytes = stream.read(name_length)
        extra = stream.read(extra_length)
        stream.seek(comment_length, os.SEEK_CUR)
        remaining_bytes -= _DIRECTORY_ENTRY.size + name_length + extra_length + comment_length
        name = name_bytes.decode("utf-8" if flags & _UTF8_FLAG else "cp437")
        if signature != _ENTRY_SIGNATURE:
            raise zipfile.BadZipFile("Bad magic number for central directory")
        if accepts_name(name.rpartition("/")[2]):
            info = zipfile.ZipInfo(name)
            info.flag_bits = flags
            info.compress_type = compression
            info.CRC = checksum
            info.compress_size = compressed_size
            info.file_size = file_size
            info.header_offset = header_offset
            if _IN_64_BIT_FIELD in (compressed_size, file_size, header_offset):
                _set_64_bit_numbers(info, extra)
            infos.append(info)
    return infos


def _set_64_bit_numbers(info: zipfile.ZipInfo, extra: bytes) -> None:
    """Replace the numbers of an entry that are too large for 32 bits by those in its extra field 1 (APPNOTE 4.5.3)."""
    while len(extra) >= 4 and extra[:2] != b"\1\0":
        extra = extra[4 + int.from_bytes(extra[2:4], "little") :]
    numbers = extra[4:]
    for name in ("file_size", "compress_size", "header_offset"):
        if getattr(info, name) == _IN_64_BIT_FIELD:
            setattr(info, name, struct.unpack_from("<Q", numbers)[0])
            numbers = numbers[8:]


def _find_bomb(members: list[zipfile.ZipInfo]) -> str | None:
    """Return why a zip must not be unpacked, or None."""
    if len(members) > MAX_ENTRIES:
        return f"contains more than {MAX_ENTRIES} entries"
    if sum(info.file_size for info in members) > MAX_ARCHIVE_BYTES:
        return f"unpacks to more than {MAX_ARCHIVE_BYTES // MIB} MiB"
    for info in members:
        if info.file_size > MIB and info.file_size > MAX_RATIO * max(1, info.compress_size):
            return f"{info.filename} unpacks to more than {MAX_RATIO} times its size"
    return None


def _build_member_opener(archive: zipfile.ZipFile, path: str, info: zipfile.ZipInfo) -> OpenCallback:
    @contextmanager
    def open_member() -> Iterator[IO[bytes]]:
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise ParseError(path, "", "is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # zipfile decompresses bzip2 and lzma without a bound, even if only a few bytes are read.
            raise ParseError(path, "", "is compressed with a method other than deflate, which is not supported")
        try:
            with archive.open(info) as stream:
                yield stream
        except ParseError:
            raise
        except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
            raise ParseError(path, "", f"cannot be unpacked: {error}") from None

    return open_member
