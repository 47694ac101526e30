"""The promises of the OpenAPI document to clients, and the changes of a new document that break them.

``tests/openapi-released.json`` is the contract of the last release, with its version. ``python -m tests.released``
replaces it by the present one and is part of each release. A document that has more than the released one needs the
next minor version, and one that breaks clients the next major version.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RELEASED = Path(__file__).with_name("openapi-released.json")
CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"

# Members that only explain. Names under "properties" are data, not keywords.
_WORDS = {"description", "summary", "example", "examples", "tags", "externalDocs", "links", "x-token-cost"}

Json = dict[str, Any]


def extract_contract(document: Json) -> Json:
    """Return the document without explanations and without errors, which all have one shape."""
    components = {name: document.get("components", {}).get(name, {}) for name in ("schemas", "parameters")}
    stripped: Json = _strip_explanations(
        {"paths": document["paths"], "webhooks": document.get("webhooks", {}), "components": components}, names=False
    )
    for item in stripped["paths"].values():
        for operation in item.values():
            operation["responses"] = {
                status: {**answer, "headers": sorted(answer.get("headers", {}))}
                for status, answer in operation["responses"].items()
                if status < "400"
            }
    return stripped


def _strip_explanations(part: Any, *, names: bool) -> Any:
    if isinstance(part, list):
        return [_strip_explanations(member, names=False) for member in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _strip_explanations(inner, names=name in ("properties", "schemas", "parameters", "paths"))
        for name, inner in part.items()
        if names or name not in _WORDS
    }


def list_breaking_changes(old: Json, new: Json) -> list[str]:
    """Return one line for each thing that a client of ``old`` loses with ``new``."""
    return sorted({f"{location}: {text}" for location, text in _compare_paths(Pair(old, new))})


class Pair:
    """Two documents that are compared."""

    def __init__(self, old: Json, new: Json) -> None:
        self.old = old
        self.new = new
        # References that were compared already; a schema may name itself.
        self.compared: set[tuple[str, str, bool]] = set()


def _resolve(part: Json, document: Json) -> Json:
    while "$ref" in part:
        target: Any = document
        for name in part["$ref"][2:].split("/"):
            target = target[name]
        part = target
    return part


def _compare_paths(pair: Pair) -> Iterator[tuple[str, str]]:
    for path, item in pair.old["paths"].items():
        for method, operation in item.items():
            location = f"{method.upper()} {path}"
            new_operation = pair.new["paths"].get(path, {}).get(method)
            if new_operation is None:
                yield location, "removed"
            else:
                yield from _compare_operations(pair, location, operation, new_operation)
    for name, item in pair.old["webhooks"].items():
        new_operation = pair.new["webhooks"].get(name)
        if new_operation is None:
            yield f"webhook {name}", "removed"
            continue
        # A webhook's body is treated as an answer.
        for media in _pair_common(_get_bodies(item["post"], pair.old), _get_bodies(new_operation["post"], pair.new)):
            yield from _compare_schemas(pair, f"webhook {name}", *media, answers=True)


def _compare_operations(pair: Pair, location: str, old: Json, new: Json) -> Iterator[tuple[str, str]]:
    before, after = _index_parameters(old, pair.old), _index_parameters(new, pair.new)
    for key, parameter in before.items():
        parameter_location = f"{location} parameter {key[1]}"
        if key not in after:
            yield parameter_location, "removed"
            continue
        if after[key].get("required") and not parameter.get("required"):
            yield parameter_location, "became required"
        yield from _compare_schemas(pair, parameter_location, parameter["schema"], after[key]["schema"], answers=False)
    for key, parameter in after.items():
        if key not in before and parameter.get("required"):
            yield f"{location} parameter {key[1]}", "is new and required"
    if "requestBody" in new and "requestBody" not in old:
        yield f"{location} body", "is new and required"
    for media in _pair_common(_get_bodies(old, pair.old), _get_bodies(new, pair.new)):
        yield from _compare_schemas(pair, f"{location} body", *media, answers=False)
    yield from _compare_answers(pair, location, old["responses"], new["responses"])
    if any(way not in new.get("security", []) for way in old.get("security", [])):
        yield location, "takes a credential no more"
    if new.get("security") and not old.get("security"):
        yield location, "needs a credential"


def _compare_answers(pair: Pair, location: str, old: Json, new: Json) -> Iterator[tuple[str, str]]:
    for status in (status for status in old if status < "400"):
        if status not in new:
            yield f"{location} {status}", "removed"
            continue
        before, after = old[status], new[status]
        for header in before.get("headers", {}):
            if header not in after.get("headers", {}):
                yield f"{location} {status} header {header}", "removed"
        for kind, media in before.get("content", {}).items():
            now = after.get("content", {}).get(kind)
            if now is None:
                yield f"{location} {status} {kind}", "removed"
            else:
                yield from _compare_schemas(pair, f"{location} {status}", media["schema"], now["schema"], answers=True)


def _compare_schemas(pair: Pair, location: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """Yield the breaking changes of a schema.

    With ``answers`` the service sends the value and may send less; otherwise it must accept what it accepted.
    """
    if "$ref" in old or "$ref" in new:
        pair_key = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), answers)
        if pair_key in pair.compared:
            return
        pair.compared.add(pair_key)
    old, new = _resolve(old, pair.old), _resolve(new, pair.new)
    yield from _compare_values(location, old, new, answers=answers)
    yield from _compare_bounds(location, old, new, answers=answers)
    before, after = old.get("properties", {}), new.get("properties", {})
    for name, inner in before.items():
        if name in after:
            yield from _compare_schemas(pair, f"{location} .{name}", inner, after[name], answers=answers)
        else:
            yield f"{location} .{name}", "removed"
    needed, now_needed = set(old.get("required", [])), set(new.get("required", []))
    lost = needed - now_needed if answers else now_needed - needed
    for name in lost & (before.keys() if answers else lost):
        if name in after:
            yield f"{location} .{name}", "may be missing" if answers else "became required"
    for name in ("items", "additionalProperties"):
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            yield from _compare_schemas(pair, f"{location} []", old[name], new[name], answers=answers)
    yield from _compare_alternatives(pair, location, old, new, answers=answers)


def _compare_alternatives(
    pair: Pair, location: str, old: Json, new: Json, *, answers: bool
) -> Iterator[tuple[str, str]]:
    """Yield breaking changes of alternatives.

    They are compared one by one if their number is equal; another number is a change of type.
    """
    before, after = old.get("anyOf", []), new.get("anyOf", [])
    if len(before) == len(after):
        for inner in zip(before, after, strict=True):
            yield from _compare_schemas(pair, location, *inner, answers=answers)
    elif before or after:
        has_more, has_fewer = len(after) > len(before), len(after) < len(before)
        if has_more if answers else has_fewer:
            yield location, f"has {len(after)} alternatives instead of {len(before)}"


def _compare_values(location: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """Yield breaking changes of the types and the choices of a value."""
    before, after = _get_types(old), _get_types(new)
    lost = _find_extra_kinds(after, before) if answers else _find_extra_kinds(before, after)
    if lost:
        yield location, f"type {_render_kinds(before)} became {_render_kinds(after)}"
    chosen, now = _get_choices(old), _get_choices(new)
    # An answer may become more exact, and new choices are additions.
    if now is not None and (not answers if chosen is None else not chosen <= now):
        yield location, "has fewer values"


def _compare_bounds(location: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """Yield breaking changes of a request's bounds; the bounds of an answer are not promised."""
    if answers:
        return
    for name, sign in (
        ("minimum", 1),
        ("minLength", 1),
        ("minItems", 1),
        ("maximum", -1),
        ("maxLength", -1),
        ("maxItems", -1),
    ):
        if name in new and (name not in old or sign * new[name] > sign * old[name]):
            yield location, f"{name} became {new[name]}"
    for name in ("pattern", "format"):
        if name in new and new[name] != old.get(name) and not _adds_alternatives(old.get(name, ""), new[name]):
            yield location, f"{name} became {new[name]}"
    if "default" in old and new.get("default") != old["default"]:
        yield location, f"default {old['default']!r} became {new.get('default')!r}"


def _adds_alternatives(old_pattern: str, new_pattern: str) -> bool:
    """Return True if a pattern accepts all that an old one does, because alternatives were added at its end."""
    return old_pattern.endswith(")$") and new_pattern.startswith(f"{old_pattern.removesuffix(')$')}|")


def _get_types(schema: Json) -> set[str]:
    kinds = schema.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _find_extra_kinds(kinds: set[str], allowed_kinds: set[str]) -> set[str]:
    """Return the kinds that are not allowed.

    Every integer is a number, and an empty set means every kind.
    """
    if not allowed_kinds:
        return set()
    if not kinds:
        return {"anything"}
    return {
        kind for kind in kinds if kind not in allowed_kinds and not (kind == "integer" and "number" in allowed_kinds)
    }


def _render_kinds(kinds: set[str]) -> str:
    return "|".join(sorted(kinds)) or "anything"


def _get_choices(schema: Json) -> set[str] | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return None if values is None else {json.dumps(value) for value in values}


def _index_parameters(operation: Json, document: Json) -> dict[tuple[str, str], Json]:
    parameters = [_resolve(parameter, document) for parameter in operation.get("parameters", [])]
    return {(parameter["in"], parameter["name"]): parameter for parameter in parameters}


def _get_bodies(operation: Json, document: Json) -> Json:
    body = _resolve(operation.get("requestBody", {}), document)
    return {kind: media["schema"] for kind, media in body.get("content", {}).items()}


def _pair_common(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    return ((old[kind], new[kind]) for kind in old if kind in new)


def compute_needed_version(old: Json, new: Json, released_version: str) -> str:
    """Return the lowest version that a document may have: that of the release, the next minor or the next major one.

    ``old`` is the contract of the release. An equal contract keeps its version, because fixes may have any later one.
    """
    major, minor, _ = split_version(released_version)
    if list_breaking_changes(old, new):
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if new != old else released_version


def split_version(version: str) -> tuple[int, int, int]:
    """Return the major, minor and patch number of a version such as 1.2.3."""
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch


def find_unmarked_changes(changes: list[str], changelog: str) -> list[str]:
    """Return the breaking changes that no entry of the changelog's unreleased part marks.

    An entry marks the changes of a call if it begins with BREAKING, names the path without ``/api/v1``, and says how to
    migrate. A webhook is named instead of a path.
    """
    newest = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    heading, _, text = newest.partition("\n")
    if "unreleased" not in heading.lower():
        return changes
    entries = [entry for entry in re.split(r"^- ", text, flags=re.MULTILINE) if entry.startswith("BREAKING")]
    marks = [entry for entry in entries if "To migrate" in entry]
    return [change for change in changes if not any(_names_location(mark, change) for mark in marks)]


def _names_location(mark: str, change: str) -> bool:
    """Return True if an entry names the path or the webhook at the beginning of a change."""
    name = change.split()[1].removeprefix("/api/v1").rstrip(":")
    return re.search(rf"{re.escape(name)}(?![\w/{{])", mark) is not None


def render_contract(part: Json, version: str) -> str:
    """Return the contract and its version as sorted text, a line for each path or component, to compare by eye."""
    lines = []
    for section, members in sorted({**part, **part["components"]}.items()):
        if section == "components":
            continue
        rows = [
            f"{json.dumps(name)}:{json.dumps(inner, sort_keys=True, separators=(',', ':'))}"
            for name, inner in sorted(members.items())
        ]
        lines.append(f"{json.dumps(section)}:{{\n" + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join([*lines, f'"version":{json.dumps(version)}']) + "\n}\n"


def read_released_contract() -> tuple[Json, str]:
    """Return the contract of the last release, and its version."""
    stored = json.loads(RELEASED.read_text(encoding="utf-8"))
    version = stored.pop("version")
    components = {name: stored.pop(name) for name in ("schemas", "parameters")}
    return {**stored, "components": components}, version


def build_current_contract() -> Json:
    """Return the contract of the present routes."""
    from finapi.web.openapi import build_document
    from finapi.web.routes import ROUTES

    current: Json = json.loads(json.dumps(build_document("", ROUTES)))
    return extract_contract(current)


def main() -> None:
    """Write the contract of this release. Exit if its version is lower than its changes need."""
    from finapi import __version__

    argparse.ArgumentParser(prog="python -m tests.released", description=__doc__).parse_args()
    current = build_current_contract()
    released, released_version = read_released_contract()
    needed_version = compute_needed_version(released, current, released_version)
    if split_version(__version__) < split_version(needed_version):
        sys.exit(f"finapi {__version__} must be {needed_version} or later, because the document has changed")
    RELEASED.write_text(render_contract(current, __version__), encoding="utf-8")
    print(f"{RELEASED.name}: the document of {__version__}")


if __name__ == "__main__":
    main()
