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
from tests.golden import collection, exact, world

HERE = Path(__file__).parent
REQUESTS = "requests.json"
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


@pytest.fixture(scope="session")
def current_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder with the current files, which are written once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "golden"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / REQUESTS).exists():
            collected = collection.write_files(folder)
            (folder / REQUESTS).write_text(json.dumps(collected.requests), "utf-8")
    return folder


def test_every_answer_equals_the_golden_files(current_folder: Path) -> None:
    _assert_same(HERE / collection.ANSWERS, current_folder / collection.ANSWERS)


def test_every_operation_equals_the_golden_files(current_folder: Path) -> None:
    _assert_same(HERE / collection.OPENAPI, current_folder / collection.OPENAPI)


def test_every_sentence_equals_the_golden_file(current_folder: Path) -> None:
    golden_sentences, current_sentences = (
        json.loads((folder / collection.SENTENCES).read_text("utf-8")) for folder in (HERE, current_folder)
    )
    differences = list(_iter_differences(golden_sentences, current_sentences, collection.SENTENCES))
    _assert_no_difference(differences, current_folder)


def test_every_route_is_requested(current_folder: Path) -> None:
    requests = json.loads((current_folder / REQUESTS).read_text("utf-8"))
    assert set(world.list_routes()) <= {world.find_route(method, path) for method, path in requests}
    assert set(PARTIAL_ROUTES) <= set(world.list_routes())


def test_every_route_has_a_recorded_success() -> None:
    answered_routes: set[str | None] = set()
    for path in (HERE / collection.ANSWERS).glob("*.json"):
        for record in json.loads(path.read_text("utf-8")):
            if record.get("status", 999) < 400:
                method, target, *_ = record["request"].split(" ")
                answered_routes.add(world.find_route(method, target.partition("?")[0]))
    pages = {f"{route.method} {route.path}" for route in ROUTES if route.page}  # tests/web/pages requests them
    assert sorted(set(world.list_routes()) - answered_routes - pages - set(PARTIAL_ROUTES)) == []


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
