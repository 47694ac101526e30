"""The golden files: answers by area, sentences by route, and the operations of the OpenAPI document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.golden import asking, exact, flows, world
from tests.golden.records import Record

HERE = Path(__file__).parent
ANSWERS = "answers"
OPENAPI = "openapi"
SENTENCES = "sentences.json"

# Sentences by route and the path of their member, such as "GET /api/v1/policy" and "metering.statement".
Sentences = dict[str, dict[str, set[str]]]


class Answers:
    """The recorded answers by area; ``requests`` lists method and path of each request."""

    def __init__(self) -> None:
        self.areas: dict[str, list[dict[str, Any]]] = {}
        self.sentences: Sentences = {}
        self.requests: list[tuple[str, str]] = []
        self.operations: dict[str, Any] = {}

    def add(self, area: str, records: Iterable[Record]) -> None:
        """Add the answers of an area."""
        for record in records:
            self.areas.setdefault(area, []).append(record.record)
            if record.sentences:
                sentences = self.sentences.setdefault(_name_source(record.request), {})
                for member_path, texts in record.sentences.items():
                    sentences.setdefault(member_path, set()).update(texts)


def _name_source(request: str) -> str:
    """Return the route of a request, or for a record that is not an answer the first word of its name."""
    method, _, target = request.partition(" ")
    path = target.partition(" ")[0].partition("?")[0]
    return world.find_route(method, path) or method


def collect_answers() -> Answers:
    """Send every request. Return the answers."""
    collected = Answers()
    with world.golden_world() as (service, outcomes):
        collected.add("ingest", (Record.from_value(f"ingest {outcome['path']}", outcome) for outcome in outcomes))
        for area, lines in asking.read_areas().items():
            records = []
            for request, answer in asking.request_all(service, lines):
                collected.requests.append((request.method, request.target.partition("?")[0]))
                records.append(Record(request.text, request.target, answer))
            collected.add(area, records)
        collected.operations = extract_operations(service.request("openapi", "GET", "/openapi.json").json)
        collected.requests.append(("GET", "/openapi.json"))
    for name, (script, open_service) in flows.FLOWS.items():
        with open_service() as flow_world:
            flow = flows.Flow(flow_world)
            script(flow)
            collected.add(name, flow.records)
            collected.requests += flow.requests
    return collected


def _dump_records(records: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(exact.dump(record).rstrip("\n") for record in records) + "\n]\n"


# ---- the OpenAPI document

# Members that only explain. Names under "properties" are data, not keywords.
_EXPLANATIONS = {"description", "summary", "example", "examples", "title", "externalDocs"}
# Minimum length of a part of several operations that is stored once, under its digest.
_MIN_SHARED_CHARACTERS = 200


def extract_operations(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operations of the document and their shared parts, without references and explanations."""
    resolved_operations = {
        f"{method.upper()} {path}": _resolve_references(operation, document, names=False, enclosing_refs=())
        for member_name in ("paths", "webhooks")
        for path, item in document.get(member_name, {}).items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    }
    other_members = {
        name: member for name, member in document.items() if name not in ("paths", "webhooks", "components")
    }
    other_members["securitySchemes"] = document["components"].get("securitySchemes")
    other_members = _resolve_references(other_members, document, names=False, enclosing_refs=())
    shared: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for operation in resolved_operations.values():
        for digest in {digest for digest, _ in _iter_long_parts(operation)}:
            counts[digest] = counts.get(digest, 0) + 1
    operations = {name: _share_parts(member, counts, shared, top=True) for name, member in resolved_operations.items()}
    texts = {"operations": operations, "shared": shared, "document": other_members}
    return {name: exact.load(json.dumps(member)) for name, member in texts.items()}


def _resolve_references(part: Any, document: Mapping[str, Any], *, names: bool, enclosing_refs: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_resolve_references(member, document, names=False, enclosing_refs=enclosing_refs) for member in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part and isinstance(part["$ref"], str):
        ref = part["$ref"]
        if ref in enclosing_refs:
            return {"circle": ref}
        target: Any = document
        for step in ref.removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        return _resolve_references(target, document, names=False, enclosing_refs=(*enclosing_refs, ref))
    return {
        name: _resolve_references(
            member, document, names=name in ("properties", "headers", "responses"), enclosing_refs=enclosing_refs
        )
        for name, member in part.items()
        if names or name not in _EXPLANATIONS
    }


def _iter_long_parts(part: Any) -> Iterator[tuple[str, Any]]:
    members = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for member in members:
        yield from _iter_long_parts(member)
        if isinstance(member, dict) and len(text := _dump_sorted(member)) >= _MIN_SHARED_CHARACTERS:
            yield _compute_digest(text), member


def _share_parts(part: Any, counts: Mapping[str, int], shared: dict[str, Any], *, top: bool = False) -> Any:
    if isinstance(part, list):
        return [_share_parts(member, counts, shared) for member in part]
    if not isinstance(part, dict):
        return part
    text = "" if top else _dump_sorted(part)
    digest = _compute_digest(text)
    if len(text) >= _MIN_SHARED_CHARACTERS and counts.get(digest, 0) > 1:
        if digest not in shared:
            shared[digest] = _share_parts(part, counts, shared, top=True)
        return {"shared": digest}
    return {name: _share_parts(member, counts, shared) for name, member in part.items()}


def _dump_sorted(part: Any) -> str:
    return json.dumps(part, sort_keys=True)


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# ---- the files


def write_files(folder: Path = HERE) -> Answers:
    """Send every request and write the files into ``folder``. Return the answers."""
    collected = collect_answers()
    texts = {f"{area}.json": _dump_records(records) for area, records in collected.areas.items()}
    _replace_files(folder / ANSWERS, texts)
    _replace_files(folder / OPENAPI, {f"{name}.json": exact.dump(part) for name, part in collected.operations.items()})
    sentences = {
        route: {member_path: sorted(texts) for member_path, texts in members.items()}
        for route, members in collected.sentences.items()
    }
    text = json.dumps(sentences, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / SENTENCES).write_text(text + "\n", "utf-8")
    return collected


def _replace_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
