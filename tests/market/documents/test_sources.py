"""Files, folders and zips as groups of documents; archives that are too large are refused before they are opened."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path

import pytest

from finapi.market.documents import sources


def get_unreadable_reason(file: Path) -> str:
    (only,) = sources.iter_groups([file])
    assert isinstance(only, sources.Unreadable), only
    return only.reason


def write_zip_of_empty_entries(file: Path, count: int) -> Path:
    """A zip of empty entries, made without zipfile: it would take a minute for a million."""
    name = b"0123456"
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
    with file.open("wb") as stream:
        stream.write(local)
        stream.write(entry * count)
        end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(entry) * count, len(local))
        stream.write(end)
        stream.write(struct.pack("<4sLQL", b"PK\6\7", 0, len(local) + len(entry) * count, 1))
        stream.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    return file


def test_zip_with_million_entries_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_zip_of_empty_entries(tmp_path / "many.zip", 1_000_000)

    def opened(*arguments: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr(zipfile, "ZipFile", opened)
    assert "lists more entries" in get_unreadable_reason(file)


def test_directory_before_zip_comment_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "comment.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.json", "{}")
        archive.comment = b"c" * 60_000
    monkeypatch.setattr(sources, "MAX_DIRECTORY_BYTES", 10)
    assert "lists more entries" in get_unreadable_reason(file)


def test_zip_of_many_entries_can_be_read(tmp_path: Path) -> None:
    (group,) = sources.iter_groups([write_zip_of_empty_entries(tmp_path / "some.zip", 2_000)])
    assert isinstance(group, sources.Group)
    assert len(group.entries) == 2_000


@pytest.mark.parametrize("data", [b"PK\5\6", b"PK\3\4" + b"\0" * 40, b"PK\5\6" + b"\xff" * 18])
def test_file_with_only_zip_signature_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "no.zip"
    file.write_bytes(data)
    assert get_unreadable_reason(file)


def test_lines_of_a_file_and_of_a_zip_are_the_same(tmp_path: Path) -> None:
    data = b"first\n\nlast line without an end"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", data)
    for name in ("folder", "a.zip"):
        for group in sources.iter_groups([tmp_path / name]):
            assert isinstance(group, sources.Group)
            assert list(group.entries[0].iter_lines()) == [b"first", b"", b"last line without an end"]
            assert group.entries[0].size == len(data)
    assert list(sources.build_entry("a", "a", data).iter_lines()) == [b"first", b"", b"last line without an end"]


def test_unreadable_file_is_reported_and_others_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    look = Path.is_file

    def is_file(self: Path) -> bool:
        # As in a folder that may be listed and not entered. Permissions would not stop tests that run as root.
        if self.name == "a.json":
            raise PermissionError(13, "Permission denied")
        return look(self)

    monkeypatch.setattr(Path, "is_file", is_file)
    refused, group = sources.iter_groups([tmp_path])
    assert refused == sources.Unreadable(str(tmp_path / "a.json"), "Permission denied")
    assert isinstance(group, sources.Group)
    assert [entry.name for entry in group.entries] == ["b.json"]


def test_name_that_is_not_utf_8_is_escaped(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"\xff.json")).write_text("{}")
    (group,) = sources.iter_groups([folder])
    assert isinstance(group, sources.Group)
    assert (group.name, group.entries[0].name) == ("caf\\xe9", "\\xff.json")
    assert group.entries[0].path == f"{tmp_path}/caf\\xe9/\\xff.json"
    assert group.entries[0].read() == b"{}"
