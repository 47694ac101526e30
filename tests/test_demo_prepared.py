"""The demo's data as it is kept prepared: the same as stored afresh, and never taken from a file that may be wrong."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from finapi.app import App, create_in_memory
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.delivery import events
from finapi.market.demo import data, prepared
from finapi.store.db import Database
from tests.leftovers import leave_folder
from tests.process import ROOT

NOW = datetime(2031, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)
MADE = b"what was made"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the image is kept in, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "finapi"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was made anew, one after the other: a few bytes in the place of a database."""
    every: list[bytes] = []

    def make() -> bytes:
        every.append(MADE)
        return MADE

    monkeypatch.setattr(prepared, "_loaded", make)
    return every


def opened(app: App) -> sqlite3.Connection:
    """A copy of an app's database in memory."""
    copy = sqlite3.connect(":memory:")
    if app.db.path is None:
        copy.deserialize(app.db.image())
    else:
        with closing(sqlite3.connect(app.db.path)) as file:
            file.backup(copy)
    return copy


def rows_of(app: App) -> dict[str, list[str]]:
    """All rows of all tables but for stamps and digests."""
    with closing(opened(app)) as copy:
        copy.execute("UPDATE data_version SET stamp = ''")
        copy.execute("UPDATE latest_years SET stamp = 0")
        # A digest of what was told, in which it says when it was read.
        copy.execute("UPDATE OR REPLACE carried SET subject = '' WHERE type = '13f_filing'")
        tables = [name for (name,) in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: sorted(map(repr, copy.execute(f'SELECT * FROM "{name}"'))) for name in tables}


def stamp_of(app: App) -> str:
    with closing(opened(app)) as copy:
        stamp: str = copy.execute("SELECT stamp FROM data_version").fetchone()[0]
        return stamp


def copied(place: Path) -> App:
    prepared.copy_to(place)
    app = create_in_memory(Config(), FixedClock(NOW), db=Database(place))
    events.open_journal(app, NOW)
    prepared.redate(app)
    return app


def test_a_copy_holds_what_storing_the_data_now_would_give(cache: Path, tmp_path: Path) -> None:
    fresh = create_in_memory(Config(), FixedClock(NOW))
    events.open_journal(fresh, NOW)
    data.load(fresh)
    app = copied(tmp_path / "one.db")
    try:
        expected, got = rows_of(fresh), rows_of(app)
        assert len(expected["facts"]) == 10_911
        assert len(expected["events"]) == 62
        assert {name for name in expected if got[name] != expected[name]} == set()
        assert got.keys() == expected.keys()
    finally:
        app.db.close()
        fresh.db.close()


def test_two_copies_share_no_stamp_and_the_image_has_no_account(cache: Path, tmp_path: Path) -> None:
    first, second = copied(tmp_path / "one.db"), copied(tmp_path / "two.db")
    try:
        assert len({stamp_of(first), stamp_of(second)}) == 2
    finally:
        first.db.close()
        second.db.close()
    with closing(sqlite3.connect(":memory:")) as kept:
        kept.deserialize(prepared.image())
        for table in ("users", "api_keys", "invites", "sessions", "webhook_secrets"):
            assert kept.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_it_is_made_once_and_kept_for_its_owner_alone(cache: Path, made: list[bytes]) -> None:
    assert [prepared.image(), prepared.image()] == [MADE, MADE]
    assert made == [MADE]
    (file,) = cache.iterdir()
    assert file.read_bytes() == MADE + bytes.fromhex("7197f21f")
    assert [stat.S_IMODE(one.stat().st_mode) for one in (cache, file)] == [0o700, 0o600]


def test_a_copy_is_its_owners_alone_and_replaces_nothing(cache: Path, made: list[bytes], tmp_path: Path) -> None:
    prepared.copy_to(tmp_path / "one.db")
    assert (tmp_path / "one.db").read_bytes() == MADE
    assert stat.S_IMODE((tmp_path / "one.db").stat().st_mode) == 0o600
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere")
    for taken in ("one.db", "link.db"):
        with pytest.raises(FileExistsError):
            prepared.copy_to(tmp_path / taken)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:3],
        lambda whole: whole[-4:],
        lambda whole: whole[:-1],
        lambda whole: b"W" + whole[1:],
        lambda whole: whole + b"\0",
    ],
)
def test_a_damaged_or_cut_off_file_is_made_anew(cache: Path, made: list[bytes], damage: object) -> None:
    prepared.image()
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))  # type: ignore[operator]
    assert prepared.image() == MADE
    assert (len(made), file.read_bytes()) == (2, whole)


def test_neither_a_link_nor_a_pipe_nor_what_others_can_write_is_read(
    cache: Path, made: list[bytes], tmp_path: Path
) -> None:
    prepared.image()
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.rename(tmp_path / "theirs")
    file.symlink_to(tmp_path / "theirs")
    prepared.image()
    assert (len(made), file.is_symlink(), (tmp_path / "theirs").read_bytes()) == (2, False, whole)
    file.unlink()
    os.mkfifo(file)
    prepared.image()
    assert (len(made), file.read_bytes()) == (3, whole)
    file.chmod(0o620)
    prepared.image()
    assert (len(made), stat.S_IMODE(file.stat().st_mode)) == (4, 0o600)


def test_a_file_of_another_owner_is_not_read(cache: Path, made: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    prepared.image()
    before = {one.name: one.stat().st_mtime_ns for one in cache.iterdir()}
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert prepared.image() == MADE
    assert len(made) == 2
    assert {one.name: one.stat().st_mtime_ns for one in cache.iterdir()} == before


def test_a_directory_that_others_can_write_or_that_is_a_link_keeps_nothing(
    cache: Path, made: list[bytes], tmp_path: Path
) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert prepared.image() == MADE
    assert list(cache.iterdir()) == []
    cache.rmdir()
    (tmp_path / "theirs").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "theirs")
    assert prepared.image() == MADE
    assert (len(made), list((tmp_path / "theirs").iterdir())) == (2, [])


def test_without_a_cache_to_write_to_each_start_makes_its_own(
    cache: Path, made: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.write_bytes(b"a file")
    assert [prepared.image(), prepared.image()] == [MADE, MADE]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", no_home)
    assert (prepared.image(), len(made)) == (MADE, 3)


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_full_disk_costs_no_more_than_the_time(
    cache: Path, made: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, purpose: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepared, "replace_file", full)
    assert (prepared.image(), list(cache.iterdir())) == (MADE, [])


def test_four_versions_are_kept_and_what_a_kill_left_goes_away(cache: Path, made: list[bytes]) -> None:
    cache.mkdir(parents=True, mode=0o700)
    for number in range(1, 7):
        file = cache / f"demo-{number}.db"
        file.write_bytes(b"old")
        os.utime(file, (number, number))
    leave_folder(cache, "demo")
    (cache / "other").write_bytes(b"not ours")
    prepared.image()
    mine = f"demo-{prepared._version()}.db"
    names = {"demo-4.db", "demo-5.db", "demo-6.db", mine, "other"}
    assert {one.name for one in cache.iterdir()} == names
    # Being read is being used: it is not the one that goes next.
    os.utime(cache / mine, (1, 1))
    prepared.image()
    assert (cache / mine).stat().st_mtime > 1_000_000


def test_two_processes_that_start_at_once_both_have_it(cache: Path) -> None:
    code = "from finapi.market.demo import prepared as p; print(bytes(p.image()[:15]), len(p.image()) > 10**6)"
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    told = [one.communicate(timeout=60)[0] for one in started]
    assert told == ["b'SQLite format 3' True\n"] * 2
    assert [one.name for one in cache.iterdir()] == [f"demo-{prepared._version()}.db"]


def test_what_makes_it_is_of_rooms_whose_change_is_noticed() -> None:
    code = (
        "import sys; from finapi.market.demo import prepared as p; p._loaded();"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('finapi.')} & p.LATER))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_change_of_code_or_schema_makes_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared.finapi, "__file__", str(tmp_path / "finapi" / "__init__.py"))
    names = ("finapi/__init__.py", "finapi/market/web/a.toml", "finapi/sql/a.sql", "sql/b.sql")
    others = ("finapi/web/a.py", "finapi/market/__pycache__/a.pyc", "other.py")
    for name in (*names, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    versions = [prepared._version()]
    for name in names:
        (tmp_path / name).write_bytes(b"22")
        versions.append(prepared._version())
    assert len(set(versions)) == 5
    for name in others:
        (tmp_path / name).write_bytes(b"22")
    assert prepared._version() == versions[-1]
