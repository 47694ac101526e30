"""What a client may rely on in the OpenAPI document, and what of it a new document takes away.

``tests/openapi-released.json`` is the contract that was promised last. ``python -m tests.released`` promises the
present one instead: to be done with a release, and with every change that the changelog flags BREAKING.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RELEASED = Path(__file__).with_name("openapi-released.json")
CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"

# What only explains. Names under "properties" are data and not keywords.
_WORDS = {"description", "summary", "example", "examples", "tags", "externalDocs", "links", "x-token-cost"}

Json = dict[str, Any]


def contract(document: Json) -> Json:
    """The document without what only explains, and without errors, whose shape is one: ``compact`` writes it."""
    components = {name: document.get("components", {}).get(name, {}) for name in ("schemas", "parameters")}
    made: Json = _stripped(
        {"paths": document["paths"], "webhooks": document.get("webhooks", {}), "components": components}, names=False
    )
    for item in made["paths"].values():
        for operation in item.values():
            operation["responses"] = {
                status: {**answer, "headers": sorted(answer.get("headers", {}))}
                for status, answer in operation["responses"].items()
                if status < "400"
            }
    return made


def _stripped(part: Any, *, names: bool) -> Any:
    if isinstance(part, list):
        return [_stripped(one, names=False) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _stripped(inner, names=name in ("properties", "schemas", "parameters", "paths"))
        for name, inner in part.items()
        if names or name not in _WORDS
    }


def breaking(old: Json, new: Json) -> list[str]:
    """What a client of ``old`` loses with ``new``, a line each: where, and what."""
    return sorted({f"{place}: {text}" for place, text in _paths(Pair(old, new))})


class Pair:
    """Two documents side by side, to follow references in."""

    def __init__(self, old: Json, new: Json) -> None:
        self.old = old
        self.new = new
        # References that were compared already; a schema may name itself.
        self.seen: set[tuple[str, str, bool]] = set()


def _resolved(part: Json, document: Json) -> Json:
    while "$ref" in part:
        found: Any = document
        for name in part["$ref"][2:].split("/"):
            found = found[name]
        part = found
    return part


def _paths(pair: Pair) -> Iterator[tuple[str, str]]:
    for path, item in pair.old["paths"].items():
        for method, operation in item.items():
            place = f"{method.upper()} {path}"
            now = pair.new["paths"].get(path, {}).get(method)
            if now is None:
                yield place, "removed"
            else:
                yield from _operation(pair, place, operation, now)
    for name, item in pair.old["webhooks"].items():
        now = pair.new["webhooks"].get(name)
        if now is None:
            yield f"webhook {name}", "removed"
            continue
        # What a receiver reads is an answer in all but name.
        for media in _both(_body(item["post"], pair.old), _body(now["post"], pair.new)):
            yield from _schema(pair, f"webhook {name}", *media, answers=True)


def _operation(pair: Pair, place: str, old: Json, new: Json) -> Iterator[tuple[str, str]]:
    before, after = _parameters(old, pair.old), _parameters(new, pair.new)
    for key, parameter in before.items():
        where = f"{place} parameter {key[1]}"
        if key not in after:
            yield where, "removed"
            continue
        if after[key].get("required") and not parameter.get("required"):
            yield where, "became required"
        yield from _schema(pair, where, parameter["schema"], after[key]["schema"], answers=False)
    for key, parameter in after.items():
        if key not in before and parameter.get("required"):
            yield f"{place} parameter {key[1]}", "is new and required"
    if "requestBody" in new and "requestBody" not in old:
        yield f"{place} body", "is new and required"
    for media in _both(_body(old, pair.old), _body(new, pair.new)):
        yield from _schema(pair, f"{place} body", *media, answers=False)
    yield from _answers(pair, place, old["responses"], new["responses"])
    if any(way not in new.get("security", []) for way in old.get("security", [])):
        yield place, "takes a credential no more"
    if new.get("security") and not old.get("security"):
        yield place, "needs a credential"


def _answers(pair: Pair, place: str, old: Json, new: Json) -> Iterator[tuple[str, str]]:
    for status in (status for status in old if status < "400"):
        if status not in new:
            yield f"{place} {status}", "removed"
            continue
        before, after = old[status], new[status]
        for header in before.get("headers", {}):
            if header not in after.get("headers", {}):
                yield f"{place} {status} header {header}", "removed"
        for kind, media in before.get("content", {}).items():
            now = after.get("content", {}).get(kind)
            if now is None:
                yield f"{place} {status} {kind}", "removed"
            else:
                yield from _schema(pair, f"{place} {status}", media["schema"], now["schema"], answers=True)


def _schema(pair: Pair, place: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """``answers``: the service says it, so that it may say less; otherwise it must take what it took."""
    if "$ref" in old or "$ref" in new:
        known = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), answers)
        if known in pair.seen:
            return
        pair.seen.add(known)
    old, new = _resolved(old, pair.old), _resolved(new, pair.new)
    yield from _values(place, old, new, answers=answers)
    yield from _bounds(place, old, new, answers=answers)
    before, after = old.get("properties", {}), new.get("properties", {})
    for name, inner in before.items():
        if name in after:
            yield from _schema(pair, f"{place} .{name}", inner, after[name], answers=answers)
        else:
            yield f"{place} .{name}", "removed"
    needed, now_needed = set(old.get("required", [])), set(new.get("required", []))
    lost = needed - now_needed if answers else now_needed - needed
    for name in lost & (before.keys() if answers else lost):
        if name in after:
            yield f"{place} .{name}", "may be missing" if answers else "became required"
    for name in ("items", "additionalProperties"):
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            yield from _schema(pair, f"{place} []", old[name], new[name], answers=answers)
    yield from _choices(pair, place, old, new, answers=answers)


def _choices(pair: Pair, place: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """Alternatives are compared one by one where there are as many; another number is a change of type."""
    before, after = old.get("anyOf", []), new.get("anyOf", [])
    if len(before) == len(after):
        for inner in zip(before, after, strict=True):
            yield from _schema(pair, place, *inner, answers=answers)
    elif before or after:
        more, fewer = len(after) > len(before), len(after) < len(before)
        if more if answers else fewer:
            yield place, f"has {len(after)} alternatives instead of {len(before)}"


def _values(place: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """The kinds and the choices of a value."""
    before, after = _types(old), _types(new)
    lost = _wider(after, before) if answers else _wider(before, after)
    if lost:
        yield place, f"type {_named(before)} became {_named(after)}"
    chosen, now = _enum(old), _enum(new)
    # An answer may be told more exactly than before, and new choices are additions.
    if now is not None and (not answers if chosen is None else not chosen <= now):
        yield place, "has fewer values"


def _bounds(place: str, old: Json, new: Json, *, answers: bool) -> Iterator[tuple[str, str]]:
    """What a request may hold at least and at most; an answer's bounds are no promise."""
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
            yield place, f"{name} became {new[name]}"
    for name in ("pattern", "format"):
        if name in new and new[name] != old.get(name):
            yield place, f"{name} became {new[name]}"
    if "default" in old and new.get("default") != old["default"]:
        yield place, f"default {old['default']!r} became {new.get('default')!r}"


def _types(schema: Json) -> set[str]:
    kinds = schema.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _wider(one: set[str], other: set[str]) -> set[str]:
    """The kinds of ``one`` that ``other`` has not; every integer is a number, and no kind at all is every kind."""
    if not other:
        return set()
    if not one:
        return {"anything"}
    return {kind for kind in one if kind not in other and not (kind == "integer" and "number" in other)}


def _named(kinds: set[str]) -> str:
    return "|".join(sorted(kinds)) or "anything"


def _enum(schema: Json) -> set[str] | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return None if values is None else {json.dumps(value) for value in values}


def _parameters(operation: Json, document: Json) -> dict[tuple[str, str], Json]:
    found = [_resolved(one, document) for one in operation.get("parameters", [])]
    return {(one["in"], one["name"]): one for one in found}


def _body(operation: Json, document: Json) -> Json:
    body = _resolved(operation.get("requestBody", {}), document)
    return {kind: media["schema"] for kind, media in body.get("content", {}).items()}


def _both(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    return ((old[kind], new[kind]) for kind in old if kind in new)


def flagged(changelog: str) -> bool:
    """Whether the newest part of the changelog, unreleased, flags something BREAKING."""
    newest = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    heading, _, text = newest.partition("\n")
    return "unreleased" in heading and "BREAKING" in text


def compact(part: Json) -> str:
    """The contract as text: sorted, a path or a component a line, so that changes can be read."""
    lines = []
    for section, members in sorted({**part, **part["components"]}.items()):
        if section == "components":
            continue
        rows = [
            f"{json.dumps(name)}:{json.dumps(inner, sort_keys=True, separators=(',', ':'))}"
            for name, inner in sorted(members.items())
        ]
        lines.append(f"{json.dumps(section)}:{{\n" + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def promised() -> Json:
    """The contract that was promised last."""
    held = json.loads(RELEASED.read_text(encoding="utf-8"))
    components = {name: held.pop(name) for name in ("schemas", "parameters")}
    return {**held, "components": components}


def _present() -> Json:
    from finapi.web.openapi import build_document
    from finapi.web.routes import ROUTES

    made: Json = json.loads(json.dumps(build_document("", ROUTES)))
    return contract(made)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.released", description=__doc__).parse_args()
    RELEASED.write_text(compact(_present()), encoding="utf-8")
    print(f"{RELEASED.name}: the present document is what is promised")
