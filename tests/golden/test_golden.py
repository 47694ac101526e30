"""Every route answers as it did: the golden files against the answers of today.

What differs is shown by path; the files of today lie in the folder that a failure names, to be compared with
``diff -r``. ``tests/golden/__init__.py`` says when the golden files may change.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.web.routes import ROUTES
from tests.golden import __main__ as rewrite
from tests.golden import answers, exact, world

HERE = Path(__file__).parent
# Differences that a failure lists.
MOST = 40

# Routes that are asked for but whose answers are not kept whole, and why.
NOT_WHOLE = {
    "GET /metrics": "its values are measured: only names and labels are kept",
    "GET /openapi.json": "a document: kept by operation, in the folder openapi",
    "GET /api/v1/xbrl/bulk/{filename}": "bytes, no text: tests/web/test_bulk_files.py has them",
    "GET /api/v1/xbrl/bulk/facts/{filename}": "the same",
    "GET /api/v1/insiders/bulk/form-{form_type}/{year}/{filename}": "its SHA-256 depends on the zlib that made it",
}

needs_edgar = pytest.mark.skipif(
    not world.EDGAR.is_dir(), reason="the SEC's own documents (../shared/edgar) are not here"
)
EACH = pytest.mark.parametrize("data_set", ["demo", pytest.param("edgar", marks=[needs_edgar, pytest.mark.slow])])


@pytest.fixture(scope="session")
def today(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Any:
    """Writes a data set's files once, whichever process asks first, and gives their folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "golden"
    folder.mkdir(exist_ok=True)

    def written(data_set: str) -> Path:
        mine = folder / f"of-{data_set}"
        with (folder / f"{data_set}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (mine / answers.SENTENCES).exists():
                mine.mkdir(exist_ok=True)
                found = answers.write(data_set, mine)
                (mine / "asked.json").write_text(json.dumps(found.asked), "utf-8")
        return mine

    return written


@EACH
def test_every_answer_is_as_it_was(today: Any, data_set: str) -> None:
    folder = today(data_set)
    _same(HERE / data_set, folder / data_set)


def test_every_operation_of_the_document_is_as_it_was(today: Any) -> None:
    _same(HERE / "openapi", today("demo") / "openapi")


@EACH
def test_every_sentence_is_as_it_was(today: Any, data_set: str) -> None:
    folder = today(data_set)
    was, now = (json.loads((one / answers.SENTENCES).read_text("utf-8"))[data_set] for one in (HERE, folder))
    _none(list(_differences(was, now, answers.SENTENCES)), folder)


def test_every_route_is_asked(today: Any) -> None:
    asked = json.loads((today("demo") / "asked.json").read_text("utf-8"))
    assert set(world.routes()) <= {world.route_of(method, path) for method, path in asked}
    assert set(NOT_WHOLE) <= set(world.routes())


@needs_edgar
@pytest.mark.slow
def test_every_route_answers_well_somewhere(today: Any) -> None:
    well: set[str | None] = set()
    for data_set in answers.DATA_SETS:
        for path in (today(data_set) / data_set).glob("*.json"):
            for one in json.loads(path.read_text("utf-8")):
                if one.get("status", 999) < 400:
                    method, target, *_ = one["request"].split(" ")
                    well.add(world.route_of(method, target.partition("?")[0]))
    pages = {f"{route.method} {route.path}" for route in ROUTES if route.page}  # tests/web/pages requests them
    assert sorted(set(world.routes()) - well - pages - set(NOT_WHOLE)) == []


def test_rewriting_without_the_sec_documents_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(world, "EDGAR", tmp_path / "missing")
    monkeypatch.setattr(answers, "write", lambda name: pytest.fail(f"{name} was rewritten"))
    monkeypatch.setattr("sys.argv", ["tests.golden"])
    assert rewrite.main() == 2


def _same(golden: Path, today: Path) -> None:
    names = sorted({path.name for folder in (golden, today) for path in folder.glob("*.json")})
    found: list[str] = []
    for name in names:
        was, now = (_by_request(folder / name) for folder in (golden, today))
        found += _differences(was, now, name)
    _none(found, today)


def _by_request(path: Path) -> Any:
    value = exact.load(path.read_text("utf-8")) if path.exists() else None
    if not isinstance(value, list):
        return value
    found = {one["request"]: one for one in value}
    assert len(found) == len(value), f"{path}: a request is asked twice"
    return found


def _differences(was: Any, now: Any, place: str) -> Iterator[str]:
    if type(was) is not type(now) or not isinstance(was, dict | list):
        if was != now:
            yield f"{place}: {_shown(was)} -> {_shown(now)}"
    elif isinstance(was, dict):
        for name in sorted(was.keys() | now.keys()):
            if name not in was or name not in now:
                yield f"{place} / {name}: {'is new' if name not in was else 'is gone'}"
            else:
                yield from _differences(was[name], now[name], f"{place} / {name}")
    else:
        if len(was) != len(now):
            yield f"{place}: {len(was)} entries -> {len(now)}"
        for at, (one, other) in enumerate(zip(was, now, strict=False)):
            yield from _differences(one, other, f"{place}[{at}]")


def _shown(value: Any) -> str:
    text = exact.short(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def _none(found: list[str], folder: Path) -> None:
    more = f"\n... and {len(found) - MOST} more" if len(found) > MOST else ""
    assert not found, f"{len(found)} differences, see {folder}\n" + "\n".join(found[:MOST]) + more
