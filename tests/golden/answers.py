"""The files of a data set: its answers by area, its sentences, and the operations of the OpenAPI document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.golden import asking, exact, flows, world
from tests.golden.records import Record
from tests.golden.world import World

HERE = Path(__file__).parent
SENTENCES = "sentences.json"
DATA_SETS = ("demo", "edgar")

# By area: what was answered. By area, request and place: a sentence.
Areas = dict[str, list[dict[str, Any]]]
Sentences = dict[str, dict[str, dict[str, str]]]


class Answers:
    """What a data set answers; ``asked`` are its requests by method and path."""

    def __init__(self) -> None:
        self.areas: Areas = {}
        self.sentences: Sentences = {}
        self.asked: list[tuple[str, str]] = []
        self.operations: dict[str, Any] = {}

    def add(self, area: str, records: Iterable[Record]) -> None:
        """Take in the answers of an area."""
        for record in records:
            self.areas.setdefault(area, []).append(record.kept)
            if record.sentences:
                said = self.sentences.setdefault(area, {})
                assert record.request not in said, f"asked twice: {record.request}"
                said[record.request] = record.sentences

    def files(self) -> dict[str, str]:
        """The text of each file of answers, by its path within a data set's folder."""
        return {f"{area}.json": _listed(kept) for area, kept in self.areas.items()}


def of(data_set: str) -> Answers:
    """Everything that a data set is asked, asked anew."""
    found = Answers()
    if data_set == "demo":
        with world.demo() as demo:
            _ask_all(demo, data_set, found)
            found.operations = operations(demo.ask("openapi", "GET", "/openapi.json").json)
            found.asked.append(("GET", "/openapi.json"))
        for name, (script, service) in flows.FLOWS.items():
            with service() as own:
                flow = flows.Flow(own)
                script(flow)
                found.add(name, flow.records)
                found.asked += flow.asked
    else:
        with world.edgar() as (edgar, outcomes):
            found.add("ingest", (Record.of_value(f"ingest {one['path']}", one) for one in outcomes))
            _ask_all(edgar, data_set, found)
    return found


def _ask_all(service: World, data_set: str, found: Answers) -> None:
    for area, lines in asking.areas(data_set).items():
        records = []
        for ask, answer in asking.ask_all(service, lines):
            found.asked.append((ask.method, ask.target.partition("?")[0]))
            records.append(Record(ask.text, ask.target, answer))
        found.add(area, records)


def _listed(kept: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(exact.dump(one).rstrip("\n") for one in kept) + "\n]\n"


# ---- the OpenAPI document

# What only explains. Names under "properties" are data and not keywords.
_WORDS = {"description", "summary", "example", "examples", "title", "externalDocs"}
# Characters from which on a part that stands in several operations is kept once, under its digest.
_SHARED = 200


def operations(document: Mapping[str, Any]) -> dict[str, Any]:
    """The operations of the document and the parts that they share, without references and explanations."""
    whole = {
        f"{method.upper()} {path}": _resolved(operation, document, names=False, above=())
        for where in ("paths", "webhooks")
        for path, item in document.get(where, {}).items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    }
    rest = {name: one for name, one in document.items() if name not in ("paths", "webhooks", "components")}
    rest["securitySchemes"] = document["components"].get("securitySchemes")
    rest = _resolved(rest, document, names=False, above=())
    shared: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for operation in whole.values():
        for digest in {digest for digest, _ in _parts(operation)}:
            counts[digest] = counts.get(digest, 0) + 1
    kept = {name: _referring(one, counts, shared, top=True) for name, one in whole.items()}
    texts = {"operations": kept, "shared": shared, "document": rest}
    return {name: exact.load(json.dumps(one)) for name, one in texts.items()}


def _resolved(part: Any, document: Mapping[str, Any], *, names: bool, above: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_resolved(one, document, names=False, above=above) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part and isinstance(part["$ref"], str):
        ref = part["$ref"]
        if ref in above:
            return {"circle": ref}
        target: Any = document
        for step in ref.removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        return _resolved(target, document, names=False, above=(*above, ref))
    return {
        name: _resolved(one, document, names=name in ("properties", "headers", "responses"), above=above)
        for name, one in part.items()
        if names or name not in _WORDS
    }


def _parts(part: Any) -> Iterator[tuple[str, Any]]:
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for one in inner:
        yield from _parts(one)
        if isinstance(one, dict) and len(text := _text(one)) >= _SHARED:
            yield _digest(text), one


def _referring(part: Any, counts: Mapping[str, int], shared: dict[str, Any], *, top: bool = False) -> Any:
    if isinstance(part, list):
        return [_referring(one, counts, shared) for one in part]
    if not isinstance(part, dict):
        return part
    text = "" if top else _text(part)
    digest = _digest(text)
    if len(text) >= _SHARED and counts.get(digest, 0) > 1:
        if digest not in shared:
            shared[digest] = _referring(part, counts, shared, top=True)
        return {"shared": digest}
    return {name: _referring(one, counts, shared) for name, one in part.items()}


def _text(part: Any) -> str:
    return json.dumps(part, sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# ---- the files


def write(data_set: str, folder: Path = HERE) -> Answers:
    """Ask a data set everything and write its files below ``folder``."""
    found = of(data_set)
    _replace(folder / data_set, found.files())
    if data_set == "demo":
        _replace(folder / "openapi", {f"{name}.json": exact.dump(one) for name, one in found.operations.items()})
    said = folder / SENTENCES
    sentences = json.loads(said.read_text("utf-8")) if said.exists() else {}
    sentences[data_set] = found.sentences
    said.write_text(json.dumps(sentences, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    return found


def _replace(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
