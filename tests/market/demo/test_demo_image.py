"""The cached image of the demo data: equal to a new store, and never read from a file that may be wrong."""

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
from finapi.market.demo import demo_data, demo_image
from finapi.market.financials import company_books, latest_years
from finapi.market.intake import latest_years_work
from finapi.store.datadir import lock_directory
from finapi.store.db import Database
from tests.leftovers import leave_folder
from tests.process import ROOT

NOW = datetime(2031, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)
IMAGE = b"what was made"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory of the image, which does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "finapi"


@pytest.fixture
def built_images(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the images that were built, a few bytes instead of a database. The list grows with each build."""
    images: list[bytes] = []

    def make() -> bytes:
        images.append(IMAGE)
        return IMAGE

    monkeypatch.setattr(demo_image, "build_image", make)
    return images


def copy_database(app: App) -> sqlite3.Connection:
    """Return a copy of an app's database in memory."""
    copy = sqlite3.connect(":memory:")
    if app.db.path is None:
        copy.deserialize(app.db.image())
    else:
        with closing(sqlite3.connect(app.db.path)) as file:
            file.backup(copy)
    return copy


def list_rows(app: App) -> dict[str, list[str]]:
    """Return the rows of all tables, without stamps and digests."""
    with closing(copy_database(app)) as connection:
        connection.execute("UPDATE data_version SET stamp = ''")
        connection.execute("UPDATE latest_years SET stamp = 0, made_of = 0")
        connection.execute("UPDATE kept_books SET made_of = 0")
        # A digest of the announced content, which contains the time of storage.
        connection.execute("UPDATE OR REPLACE carried SET subject = '' WHERE type = '13f_filing'")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in tables}


def get_stamp(app: App) -> str:
    with closing(copy_database(app)) as connection:
        stamp: str = connection.execute("SELECT stamp FROM data_version").fetchone()[0]
        return stamp


def open_copy(file: Path) -> App:
    demo_image.write_copy(file)
    app = create_in_memory(Config(), FixedClock(NOW), db=Database(file))
    events.open_journal(app, NOW)
    demo_image.redate(app)
    return app


@pytest.mark.slow
def test_a_copy_equals_a_store_that_was_loaded_now(cache: Path, tmp_path: Path) -> None:
    fresh = create_in_memory(Config(), FixedClock(NOW))
    events.open_journal(fresh, NOW)
    demo_data.load(fresh)
    latest_years_work.compute_all_latest_years(fresh)
    app = open_copy(tmp_path / "one.db")
    try:
        expected, got = list_rows(fresh), list_rows(app)
        assert len(expected["facts"]) == 14_629
        assert len(expected["events"]) == 118
        assert {name for name in expected if got[name] != expected[name]} == set()
        assert got.keys() == expected.keys()
    finally:
        app.db.close()
        fresh.db.close()


@pytest.mark.slow
def test_a_copy_has_the_book_of_each_company(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_copy(tmp_path / "one.db")
    try:
        with app.db.read() as tx:
            ciks = company_books.list_ciks(tx)
            books = {cik: company_books.load(tx, cik) for cik in ciks}
            monkeypatch.setattr(company_books, "load", None)  # Books are not built from facts again.
            copied_books = {cik: company_books.load_cached(tx, cik) for cik in ciks}
            assert latest_years.list_due(tx, 1) == []
        assert len(ciks) == 6
        assert {cik: len(book) for cik, book in copied_books.items()} == {cik: len(book) for cik, book in books.items()}
    finally:
        app.db.close()


@pytest.mark.slow
def test_copies_have_different_stamps_and_no_accounts(cache: Path, tmp_path: Path) -> None:
    first, second = open_copy(tmp_path / "one.db"), open_copy(tmp_path / "two.db")
    try:
        assert len({get_stamp(first), get_stamp(second)}) == 2
    finally:
        first.db.close()
        second.db.close()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(demo_image.get_image())
        for table in ("users", "api_keys", "invites", "sessions", "webhook_secrets"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_an_image_is_built_once_and_cached_for_its_owner(cache: Path, built_images: list[bytes]) -> None:
    assert [demo_image.get_image(), demo_image.get_image()] == [IMAGE, IMAGE]
    assert built_images == [IMAGE]
    (file,) = cache.iterdir()
    assert file.read_bytes() == IMAGE + bytes.fromhex("7197f21f")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (cache, file)] == [0o700, 0o600]


def test_a_copy_is_private_and_overwrites_no_file(cache: Path, built_images: list[bytes], tmp_path: Path) -> None:
    demo_image.write_copy(tmp_path / "one.db")
    assert (tmp_path / "one.db").read_bytes() == IMAGE
    assert stat.S_IMODE((tmp_path / "one.db").stat().st_mode) == 0o600
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere")
    for existing in ("one.db", "link.db"):
        with pytest.raises(FileExistsError):
            demo_image.write_copy(tmp_path / existing)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:3],
        lambda content: content[-4:],
        lambda content: content[:-1],
        lambda content: b"W" + content[1:],
        lambda content: content + b"\0",
    ],
)
def test_a_damaged_image_is_built_again(cache: Path, built_images: list[bytes], damage: object) -> None:
    demo_image.get_image()
    (file,) = cache.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))  # type: ignore[operator]
    assert demo_image.get_image() == IMAGE
    assert (len(built_images), file.read_bytes()) == (2, content)


def test_links_pipes_and_writable_files_are_not_read(cache: Path, built_images: list[bytes], tmp_path: Path) -> None:
    demo_image.get_image()
    (file,) = cache.iterdir()
    content = file.read_bytes()
    file.rename(tmp_path / "theirs")
    file.symlink_to(tmp_path / "theirs")
    demo_image.get_image()
    assert (len(built_images), file.is_symlink(), (tmp_path / "theirs").read_bytes()) == (2, False, content)
    file.unlink()
    os.mkfifo(file)
    demo_image.get_image()
    assert (len(built_images), file.read_bytes()) == (3, content)
    file.chmod(0o620)
    demo_image.get_image()
    assert (len(built_images), stat.S_IMODE(file.stat().st_mode)) == (4, 0o600)


def test_an_image_of_another_owner_is_not_read(
    cache: Path, built_images: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_image.get_image()
    before = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert demo_image.get_image() == IMAGE
    assert len(built_images) == 2
    assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == before


def test_a_writable_or_linked_directory_is_not_used(cache: Path, built_images: list[bytes], tmp_path: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert demo_image.get_image() == IMAGE
    assert list(cache.iterdir()) == []
    cache.rmdir()
    (tmp_path / "theirs").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "theirs")
    assert demo_image.get_image() == IMAGE
    assert (len(built_images), list((tmp_path / "theirs").iterdir())) == (2, [])


def test_without_a_cache_each_start_builds_an_image(
    cache: Path, built_images: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.write_bytes(b"a file")
    assert [demo_image.get_image(), demo_image.get_image()] == [IMAGE, IMAGE]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", no_home)
    assert (demo_image.get_image(), len(built_images)) == (IMAGE, 3)


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_full_disk_leaves_no_cached_image(
    cache: Path, built_images: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, purpose: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo_image, "replace_file", full)
    assert (demo_image.get_image(), list(cache.iterdir())) == (IMAGE, [])


def test_old_images_and_abandoned_folders_are_removed(cache: Path, built_images: list[bytes]) -> None:
    cache.mkdir(parents=True, mode=0o700)
    for number in range(1, 7):
        file = cache / f"demo-{number}.db"
        file.write_bytes(b"old")
        os.utime(file, (number, number))
    leave_folder(cache, "demo")
    (cache / "other").write_bytes(b"not ours")
    demo_image.get_image()
    current = f"demo-{demo_image.compute_version()}.db"
    names = {"demo-4.db", "demo-5.db", "demo-6.db", current, "other"}
    assert {path.name for path in cache.iterdir()} == names
    # Reading an image marks it as used, so that it is not the next one to be removed.
    os.utime(cache / current, (1, 1))
    demo_image.get_image()
    assert (cache / current).stat().st_mtime > 1_000_000


@pytest.mark.slow
def test_two_processes_that_start_together_have_the_image(cache: Path) -> None:
    code = (
        "from finapi.market.demo import demo_image as p; print(bytes(p.get_image()[:15]), len(p.get_image()) > 10**6)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert outputs == ["b'SQLite format 3' True\n"] * 2
    assert [path.name for path in cache.iterdir()] == [f"demo-{demo_image.compute_version()}.db"]


@pytest.mark.slow
def test_building_an_image_imports_no_excluded_package() -> None:
    code = (
        "import sys; from finapi.market.demo import demo_image as p; p.build_image();"
        "packages = {name.split('.')[1] for name in sys.modules if name.startswith('finapi.')};"
        "print(sorted(packages & p.EXCLUDED_PACKAGES))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_change_of_code_or_sql_changes_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_image.finapi, "__file__", str(tmp_path / "finapi" / "__init__.py"))
    names = ("finapi/__init__.py", "finapi/market/web/a.toml", "finapi/sql/a.sql", "sql/b.sql")
    irrelevant = ("finapi/web/a.py", "finapi/market/__pycache__/a.pyc", "other.py")
    for name in (*names, *irrelevant):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    versions = [demo_image.compute_version()]
    for name in names:
        (tmp_path / name).write_bytes(b"22")
        versions.append(demo_image.compute_version())
    assert len(set(versions)) == 5
    for name in irrelevant:
        (tmp_path / name).write_bytes(b"22")
    assert demo_image.compute_version() == versions[-1]


def test_only_a_directory_without_files_is_filled(cache: Path, built_images: list[bytes], tmp_path: Path) -> None:
    new_directory = tmp_path / "new"
    assert demo_image.fill_new_directory(new_directory)
    assert (new_directory / "finapi.db").read_bytes() == IMAGE
    assert new_directory.stat().st_mode & 0o777 == 0o700
    assert not demo_image.fill_new_directory(new_directory)
    directory_with_secrets = tmp_path / "secrets-only"
    directory_with_secrets.mkdir(mode=0o700)
    (directory_with_secrets / "secrets").touch()
    assert not demo_image.fill_new_directory(directory_with_secrets)
    assert not (directory_with_secrets / "finapi.db").exists()


def test_a_directory_that_another_process_uses_is_not_filled(
    cache: Path, built_images: list[bytes], tmp_path: Path
) -> None:
    with lock_directory(tmp_path / "data"):
        assert not demo_image.fill_new_directory(tmp_path / "data")
    assert demo_image.fill_new_directory(tmp_path / "data")
