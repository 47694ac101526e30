"""The golden files against the current answers of every route.

Differences are listed by path; the current files are in the folder that a failure names, to be compared with
``diff -r``. ``tests/golden/__init__.py`` explains when the golden files may change.
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
MAX_DIFFERENCES = 40

# Routes whose answers are not recorded in full, with the reasons.
PARTIAL_ROUTES = {
    "GET /metrics": "its values are measured: only names and labels are kept",
    "GET /openapi.json": "a document: kept by operation, in the folder openapi",
    "GET /api/v1/xbrl/bulk/{filename}": "bytes, no text: tests/web/test_bulk_files.py has them",
    "GET /api/v1/xbrl/bulk/facts/{filename}": "the same",
    "GET /api/v1/insiders/bulk/form-{form_type}/{year}/{filename}": "its SHA-256 depends on the zlib that made it",
}

needs_edgar = pytest.mark.skipif(
    not world.EDGAR.is_dir(), reason="the SEC's own documents (../shared/edgar) are missing"
)
EACH_DATA_SET = pytest.mark.parametrize(
    "data_set", ["demo", pytest.param("edgar", marks=[needs_edgar, pytest.mark.slow])]
)


@pytest.fixture(scope="session")
def current_answers(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Any:
    """Return a function that writes a data set's files once for all processes and returns their folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "golden"
    folder.mkdir(exist_ok=True)

    def write_once(data_set: str) -> Path:
        data_set_folder = folder / f"of-{data_set}"
        with (folder / f"{data_set}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (data_set_folder / answers.SENTENCES).exists():
                data_set_folder.mkdir(exist_ok=True)
                collected = answers.write(data_set, data_set_folder)
                (data_set_folder / "asked.json").write_text(json.dumps(collected.requests), "utf-8")
        return data_set_folder

    return write_once


@EACH_DATA_SET
def test_every_answer_equals_the_golden_files(current_answers: Any, data_set: str) -> None:
    folder = current_answers(data_set)
    _assert_same(HERE / data_set, folder / data_set)


def test_every_operation_equals_the_golden_files(current_answers: Any) -> None:
    _assert_same(HERE / "openapi", current_answers("demo") / "openapi")


@EACH_DATA_SET
def test_every_sentence_equals_the_golden_file(current_answers: Any, data_set: str) -> None:
    folder = current_answers(data_set)
    golden_sentences, current_sentences = (
        json.loads((directory / answers.SENTENCES).read_text("utf-8"))[data_set] for directory in (HERE, folder)
    )
    _assert_no_difference(list(_iter_differences(golden_sentences, current_sentences, answers.SENTENCES)), folder)


def test_every_route_is_requested(current_answers: Any) -> None:
    requests = json.loads((current_answers("demo") / "asked.json").read_text("utf-8"))
    assert set(world.list_routes()) <= {world.find_route(method, path) for method, path in requests}
    assert set(PARTIAL_ROUTES) <= set(world.list_routes())


@needs_edgar
@pytest.mark.slow
def test_every_route_has_a_recorded_success(current_answers: Any) -> None:
    answered_routes: set[str | None] = set()
    for data_set in answers.DATA_SETS:
        for path in (current_answers(data_set) / data_set).glob("*.json"):
            for record in json.loads(path.read_text("utf-8")):
                if record.get("status", 999) < 400:
                    method, target, *_ = record["request"].split(" ")
                    answered_routes.add(world.find_route(method, target.partition("?")[0]))
    pages = {f"{route.method} {route.path}" for route in ROUTES if route.page}  # tests/web/pages requests them
    assert sorted(set(world.list_routes()) - answered_routes - pages - set(PARTIAL_ROUTES)) == []


def test_rewriting_without_the_sec_documents_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(world, "EDGAR", tmp_path / "missing")
    monkeypatch.setattr(answers, "write", lambda name: pytest.fail(f"{name} was rewritten"))
    monkeypatch.setattr("sys.argv", ["tests.golden"])
    assert rewrite.main() == 2


def _assert_same(golden: Path, current_answers: Path) -> None:
    names = sorted({path.name for folder in (golden, current_answers) for path in folder.glob("*.json")})
    differences: list[str] = []
    for name in names:
        golden_value, current_value = (_index_by_request(folder / name) for folder in (golden, current_answers))
        differences += _iter_differences(golden_value, current_value, name)
    _assert_no_difference(differences, current_answers)


def _index_by_request(path: Path) -> Any:
    value = exact.load(path.read_text("utf-8")) if path.exists() else None
    if not isinstance(value, list):
        return value
    by_request = {record["request"]: record for record in value}
    assert len(by_request) == len(value), f"{path}: a request is sent twice"
    return by_request


def _iter_differences(golden_value: Any, current_value: Any, path: str) -> Iterator[str]:
    if type(golden_value) is not type(current_value) or not isinstance(golden_value, dict | list):
        if golden_value != current_value:
            yield f"{path}: {_shorten(golden_value)} -> {_shorten(current_value)}"
    elif isinstance(golden_value, dict):
        for name in sorted(golden_value.keys() | current_value.keys()):
            if name not in golden_value or name not in current_value:
                yield f"{path} / {name}: {'is new' if name not in golden_value else 'is gone'}"
            else:
                yield from _iter_differences(golden_value[name], current_value[name], f"{path} / {name}")
    else:
        if len(golden_value) != len(current_value):
            yield f"{path}: {len(golden_value)} entries -> {len(current_value)}"
        for index, (golden_entry, current_entry) in enumerate(zip(golden_value, current_value, strict=False)):
            yield from _iter_differences(golden_entry, current_entry, f"{path}[{index}]")


def _shorten(value: Any) -> str:
    text = exact.dump_line(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def _assert_no_difference(differences: list[str], folder: Path) -> None:
    rest_note = f"\n... and {len(differences) - MAX_DIFFERENCES} more" if len(differences) > MAX_DIFFERENCES else ""
    assert not differences, (
        f"{len(differences)} differences, see {folder}\n" + "\n".join(differences[:MAX_DIFFERENCES]) + rest_note
    )
