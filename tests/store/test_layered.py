"""Tests of layered databases over one file: each writes its own changes, and undoes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from finapi.store import sandbox
from finapi.store.db import ConstraintError, Database
from finapi.store.layered import LayeredDatabase


@pytest.fixture
def base(tmp_path: Path) -> Path:
    database = Database(None)
    path = tmp_path / "base.db"
    path.write_bytes(database.image())
    database.close()
    return path


def version(database: Database) -> int:
    with database.read() as tx:
        return int(tx.find_value("data_version"))


def bump(database: Database) -> None:
    with database.write() as tx:
        tx.run("bump_data_version")


def bump_and_fail(database: Database) -> None:
    with database.write() as tx:
        tx.run("bump_data_version")
        tx.insert_row("insert_mail", template="", subject_id=1, now="2026-01-01T00:00:00.000Z")


def test_each_sees_what_it_wrote_and_the_file_stays(base: Path) -> None:
    before = base.read_bytes()
    layer_a, other = LayeredDatabase(base), LayeredDatabase(base)
    bump(layer_a)
    assert (version(layer_a), version(other)) == (1, 0)
    bump(other)
    bump(other)
    assert (version(layer_a), version(other)) == (1, 2)
    layer_a.close()
    other.close()
    assert base.read_bytes() == before


def test_back_to_a_mark_undoes_what_came_after(base: Path) -> None:
    database = LayeredDatabase(base)
    bump(database)
    mark = database.mark()
    bump(database)
    bump(database)
    written = database.write_count
    database.roll_back_to(mark)
    assert (version(database), database.write_count) == (1, written + 1)
    database.roll_back_to(1)
    assert version(database) == 0
    with pytest.raises(KeyError):
        database.roll_back_to(mark)
    database.close()


def test_a_renewed_one_holds_nothing_and_no_more_memory(base: Path) -> None:
    database = LayeredDatabase(base)
    sizes = []
    for number in range(60):
        database.listen("x", lambda: None)
        database.mark()
        with database.write() as tx:
            for _ in range(20):
                tx.insert_row("insert_mail", template="t" * 500, subject_id=1, now="2026-01-01T00:00:00.000Z")
        database.reset()
        if number > 5:
            sizes.append(sandbox._measure_memory())
    assert database._listeners == {}
    assert database.mark() == 2
    assert max(sizes) - min(sizes) < 16_384
    database.close()


def test_what_was_written_into_the_base_is_there_for_later_ones(base: Path) -> None:
    database = LayeredDatabase(base)
    bump(database)
    mark = database.mark()
    database.listen("x", lambda: None)
    database.reset(into_base=True)
    bump(database)
    later = LayeredDatabase(base)
    assert (version(later), version(database), database._listeners) == (1, 2, {})
    with pytest.raises(KeyError):
        database.roll_back_to(mark)
    database.reset()
    assert version(database) == 1
    assert later.list_integrity_errors() == []
    database.close()
    later.close()
    assert [file.name for file in base.parent.iterdir()] == ["base.db"]


def test_a_block_that_raises_is_undone_alone(base: Path) -> None:
    database = LayeredDatabase(base)
    bump(database)
    with pytest.raises(ConstraintError):
        bump_and_fail(database)
    assert version(database) == 1
    with pytest.raises(RuntimeError, match="inside another"), database.write(), database.read():
        pass
    database.write_batched(lambda tx: tx.run("bump_data_version"))
    assert version(database) == 2
    database.close()


def test_a_separate_reader_has_what_is_not_in_the_file(base: Path) -> None:
    database = LayeredDatabase(base)
    bump(database)
    reader = database.open_separate_reader()
    assert reader.execute("SELECT version FROM data_version").fetchone()[0] == 1
    reader.close()
    assert database.list_integrity_errors() == []
    database.close()


def test_chance_comes_from_where_it_is_told_to(base: Path) -> None:
    database = LayeredDatabase(base)
    database.set_random_source(lambda count: b"\xab" * count)
    bump(database)
    image = database.image()
    database.set_random_source(lambda count: b"\xcd" * count)
    database.roll_back_to(1)
    bump(database)
    assert b"AB" * 8 in image
    assert b"CD" * 8 in database.image()
    database.close()
