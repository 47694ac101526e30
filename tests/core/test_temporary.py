"""Tests of temporary folders: only those of killed processes are removed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from finapi.core import temporary
from finapi.core.files import replace_file, write_new_file
from finapi.core.temporary import LOCK, NAME, TemporaryFolder, sweep
from tests.leftovers import leave_folder
from tests.process import ROOT
from tests.support.case_tables import run_each_case

# Creates a folder, says so, and waits to be killed.
HOLDER = """
import sys
from pathlib import Path
from finapi.core.temporary import TemporaryFolder
folder = TemporaryFolder("restore", Path(sys.argv[1]))
(folder.path / "copy.db").write_bytes(b"half")
print(folder.path, flush=True)
sys.stdin.read()
"""


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# ---- the folder


def test_a_folder_is_private_and_its_name_says_what_made_it(tmp_path: Path) -> None:
    with TemporaryFolder("restore", tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.name.startswith(f".finapi-restore-{os.getpid()}-")
        assert NAME.fullmatch(folder.name)
        (folder / "a").write_bytes(b"")
        (folder / "b" / "c").mkdir(parents=True)
    assert names(tmp_path) == []


def test_a_folder_is_removed_when_its_block_raises(tmp_path: Path) -> None:
    with pytest.raises(KeyError), TemporaryFolder("backup", tmp_path):
        raise KeyError
    assert names(tmp_path) == []


def test_without_a_directory_the_systems_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder_left = leave_folder(tmp_path, "demo", hidden=False)
    with TemporaryFolder("demo") as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(f"finapi-demo-{os.getpid()}-")
        sweep()
        assert (folder_left.exists(), folder.exists()) == (False, True)


def test_a_folder_may_be_removed_twice(tmp_path: Path) -> None:
    folder = TemporaryFolder("copy", tmp_path)
    folder.remove()
    folder.remove()
    assert names(tmp_path) == []


def test_a_file_in_place_is_alone_there(tmp_path: Path) -> None:
    write_new_file(tmp_path / "a", b"one", "secrets")
    replace_file(tmp_path / "a", b"two", "secrets")
    with pytest.raises(FileExistsError):
        write_new_file(tmp_path / "a", b"three", "secrets")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


# ---- what is swept


def test_a_folder_stays_until_its_process_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().decode().strip())
        sweep(tmp_path)
        assert names(folder) == [LOCK, "copy.db"]
        holder.send_signal(signal.SIGKILL)
        holder.wait(30)
        sweep(tmp_path)
    assert names(tmp_path) == []


def test_an_unlocked_folder_of_a_living_process_is_swept(tmp_path: Path) -> None:
    # In a container, the next start has the id of the one that was killed.
    leave_folder(tmp_path, "restore", pid=os.getpid())
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_an_empty_folder_without_a_lock_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".finapi-restore-4000000-00000000").mkdir()
    full = tmp_path / ".finapi-restore-4000000-00000001"
    full.mkdir()
    (full / "mine").touch()
    sweep(tmp_path)
    assert names(tmp_path) == [full.name]


@run_each_case(
    "name",
    [
        "finapi.db",
        ".finapi.db-0a1b2c3d",
        "finapi-20260131T030000Z-without-secrets.db",
        ".finapi-restore-4000000-0a1b2c3d-mine",
        ".finapi-restore-4000000-0A1B2C3D",
        ".finapi-restore-0-0a1b2c3d",
        ".finapi-restore-99999999-0a1b2c3d",
        ".finapi-restore-4000000-0a1b2c3d\n",
        "x.finapi-restore-4000000-0a1b2c3d",
        ".finapi--4000000-0a1b2c3d",
    ],
)
def test_what_has_another_name_is_never_swept(tmp_path: Path, name: str) -> None:
    leave_folder(tmp_path / "other", "restore").rename(tmp_path / name)
    sweep(tmp_path)
    assert names(tmp_path / name) == [LOCK, "file"]


def test_a_file_with_the_name_of_a_folder_is_not_swept(tmp_path: Path) -> None:
    name = ".finapi-restore-4000000-0a1b2c3d"
    (tmp_path / name).write_text("mine")
    sweep(tmp_path)
    assert names(tmp_path) == [name]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    swept = tmp_path / "swept"
    # A link in the place of a folder, links in a folder, and a link in the place of the lock.
    folder = leave_folder(swept, "restore")
    (swept / ".finapi-restore-4000000-00000000").symlink_to(leave_folder(tmp_path / "elsewhere", "restore"))
    (folder / "link").symlink_to(tmp_path / "mine")
    (folder / "below").mkdir()
    (folder / "below" / "link").symlink_to(tmp_path / "mine")
    locked = leave_folder(swept, "backup")
    (locked / LOCK).unlink()
    (locked / LOCK).symlink_to(tmp_path / "mine" / "file")
    sweep(swept)
    assert names(swept) == [locked.name, ".finapi-restore-4000000-00000000"]
    assert (tmp_path / "mine" / "file").read_text() == "mine"
    assert len(names(tmp_path / "elsewhere")) == 1


def test_a_folder_of_another_user_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = leave_folder(tmp_path, "restore")
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    sweep(tmp_path)
    assert names(folder) == [LOCK, "file"]


def test_a_directory_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
    (tmp_path / "file").touch()
    sweep(tmp_path / "file")
    assert names(tmp_path) == ["file"]


def test_what_cannot_be_removed_is_logged_and_keeps_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    locked_folder, removed_folder = leave_folder(tmp_path, "backup"), leave_folder(tmp_path, "restore")
    remove = temporary._remove_tree

    def refuse(folder: Path) -> None:
        if folder == locked_folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        remove(folder)

    monkeypatch.setattr(temporary, "_remove_tree", refuse)
    sweep(tmp_path)
    assert (locked_folder.exists(), removed_folder.exists()) == (True, False)
    assert f"{locked_folder} cannot be removed: Permission denied" in caplog.messages


# ---- file systems without locks, and sweeps at the same time


@pytest.mark.parametrize(
    ("pid", "stays"), [(os.getpid(), True), (1, True), (4_000_000, False)], ids=["own", "init", "none"]
)
def test_where_files_cannot_be_locked_the_process_id_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pid: int, stays: bool
) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder_left = leave_folder(tmp_path, "restore", pid=pid)
    with TemporaryFolder("restore", tmp_path) as folder:
        sweep(tmp_path)
        assert folder.exists()
    assert folder_left.exists() == stays


def sweep_now(folder: Path) -> bool:
    """Simulate a sweep that removes the folder before its lock is taken."""
    (folder / LOCK).unlink()
    folder.rmdir()
    return True


@pytest.mark.parametrize("step", ["before there is a lock", "before it is held", "after it was removed"])
def test_a_folder_swept_while_it_is_created_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    created: list[Path] = []
    lock = temporary._lock_new_folder

    def lock_late(folder: Path) -> int | None:
        created.append(folder)
        if len(created) == 1:
            if step == "before there is a lock":
                sweep(tmp_path)
            elif step == "before it is held":
                monkeypatch.setattr(temporary, "_try_lock", lambda handle: False)
            else:
                monkeypatch.setattr(temporary, "_try_lock", lambda handle: sweep_now(folder))
        handle = lock(folder)
        monkeypatch.undo()
        return handle

    monkeypatch.setattr(temporary, "_lock_new_folder", lock_late)
    with TemporaryFolder("restore", tmp_path) as folder:
        assert folder.exists()
        assert folder != created[0]


@pytest.mark.slow
def test_many_folders_are_created_and_used_while_others_sweep(tmp_path: Path) -> None:
    done = threading.Event()

    def sweep_on() -> None:
        while not done.is_set():
            sweep(tmp_path)

    sweepers = [threading.Thread(target=sweep_on) for _ in range(2)]
    for thread in sweepers:
        thread.start()
    try:
        for number in range(300):
            write_new_file(tmp_path / f"{number:03}", b"data", "mail")
    finally:
        done.set()
        for thread in sweepers:
            thread.join()
    assert names(tmp_path) == [f"{number:03}" for number in range(300)]
