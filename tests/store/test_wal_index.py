"""The disk space of the WAL index on file systems with small blocks, also on a real one that is full (as root)."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from finapi.core.errors import UsageError
from finapi.store import wal_index
from finapi.store.db import Database
from tests import process
from tests.support.raw_sql import run_sql

BLOCK = 1024


def fake_file_system(
    monkeypatch: pytest.MonkeyPatch, block_bytes: int = BLOCK, file_system_bytes: int = 40 << 20
) -> None:
    """Pretend that every directory is in a file system with small blocks."""
    status = SimpleNamespace(f_bsize=block_bytes, f_frsize=block_bytes, f_blocks=file_system_bytes // block_bytes)
    monkeypatch.setattr(os, "statvfs", lambda path: status)


@pytest.mark.parametrize(
    ("block_bytes", "file_system_bytes", "needed_bytes"),
    [
        (4096, 40 << 20, 0),
        (1024, 1 << 20, 32_768),
        (1024, 40 << 20, 3 * 32_768),
        (2048, 512 << 20, 33 * 32_768),
        (1024, 1 << 40, 33 * 32_768),
    ],
)
def test_small_blocks_need_room_for_the_longest_wal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block_bytes: int, file_system_bytes: int, needed_bytes: int
) -> None:
    fake_file_system(monkeypatch, block_bytes, file_system_bytes)
    assert wal_index.compute_needed_bytes(tmp_path) == needed_bytes


def test_all_blocks_of_the_index_are_allocated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_file_system(monkeypatch)
    (tmp_path / "link.db").symlink_to("a.db")
    database = Database(tmp_path / "link.db")
    status = (tmp_path / "a.db-shm").stat()
    assert (status.st_size, status.st_blocks * 512 >= status.st_size) == (3 * 32_768, True)
    with database.write() as tx:
        run_sql(tx, "CREATE TABLE numbers (n INTEGER)")
    # SQLite still holds its locks: another connection reads, and cannot write at the same time.
    with database.write() as tx:
        run_sql(tx, "INSERT INTO numbers VALUES (1)")
        script = (
            f"import sqlite3; sqlite3.connect({str(tmp_path / 'a.db')!r}, timeout=0).execute('DELETE FROM numbers')"
        )
        finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert "database is locked" in finished.stderr
    with database.read() as tx:
        assert run_sql(tx, "SELECT n FROM numbers").fetchall()[0][0] == 1
    database.close()
    assert not (tmp_path / "a.db-shm").exists()


def test_a_full_disk_is_reported_before_sqlite_opens_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(descriptor: int, offset: int, byte_count: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.db"
    Database(path).close()
    fake_file_system(monkeypatch)
    monkeypatch.setattr(os, "posix_fallocate", fail)
    with pytest.raises(UsageError) as refusal:
        Database(path)
    assert str(refusal.value) == f"{path} cannot be opened: make room on its disk, where a.db-shm needs 98,304 bytes"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.db"]


def test_other_file_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "posix_fallocate", None)
    if os.statvfs(tmp_path).f_bsize < 4096:
        pytest.skip("the temporary directory has small blocks")
    Database(tmp_path / "a.db").close()


# ---- a real disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory of a mounted file system of 40 MB with blocks of 1 KiB."""
    mkfs = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if mkfs is None or os.geteuid() != 0:
        pytest.skip("needs root and mkfs.ext4")
    image, directory = tmp_path / "image", tmp_path / "disk"
    image.write_bytes(b"")
    os.truncate(image, 40 << 20)
    directory.mkdir()
    subprocess.run([mkfs, "-q", "-b", str(BLOCK), image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, directory], capture_output=True).returncode != 0:
        pytest.skip("loop devices cannot be mounted here")
    yield directory
    subprocess.run(["umount", directory], check=True)


def fill(disk: Path, spared_bytes: int) -> None:
    """Fill a disk up to some bytes."""
    path = disk / "fill"
    finished = subprocess.run(["dd", "if=/dev/zero", f"of={path}", f"bs={BLOCK}"], capture_output=True, text=True)
    assert "No space left" in finished.stderr
    os.truncate(path, path.stat().st_size - spared_bytes)


@pytest.mark.slow
def test_a_full_disk_with_small_blocks_kills_no_process(small_disk: Path) -> None:
    data_dir = small_disk / "data"
    with process.serve(data_dir) as running:
        assert process.finapi("user", "add", "ann@example.com", "--data-dir", data_dir).status == 0
        credit = ("user", "credit", "ann@example.com", "5", "--reason", "test", "--data-dir", data_dir)
        for spared_bytes in (0, 8 * BLOCK, 32 * BLOCK):
            fill(small_disk, spared_bytes)
            for _ in range(3):
                finished = process.finapi(*credit)
                assert (finished.status, finished.err.count("\n")) in ((0, 0), (1, 1))
            assert running.get("/livez").status == 200
            (small_disk / "fill").unlink()
        assert running.stop() == 0
    for spared_bytes in (0, 6 * BLOCK, 8 * BLOCK, 10 * BLOCK, 16 * BLOCK, 32 * BLOCK, 64 * BLOCK):
        fill(small_disk, spared_bytes)
        finished = process.finapi(*credit)
        assert (finished.status, finished.err.count("\n")) == (2, 1)
        assert "cannot be opened: make room on its disk, where finapi.db-shm needs 98,304 bytes" in finished.err
        (small_disk / "fill").unlink()
    assert process.finapi(*credit).status == 0
