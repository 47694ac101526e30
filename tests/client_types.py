"""The Python client's types, made of the OpenAPI document: TypedDicts of records and of what calls take."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from finapi.web.http.messages import BINARY_MEDIA_TYPE

TYPES = Path(__file__).parents[1] / "finapi" / "client" / "types.pyi"
TIMES = TYPES.with_name("times.json")

HEAD = '''"""What each call takes and answers. Made of the route table by python -m tests.from_routes."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Generic, Literal, NotRequired, Required, TypedDict, overload

from typing_extensions import TypeVar, Unpack

Day = TypeVar("Day", default=str)  # date in answers of a client with dates=True
Moment = TypeVar("Moment", default=str)  # datetime there
'''
SCALARS = {"string": "str", "integer": "int", "number": "int | Decimal", "boolean": "bool", "null": "None"}
GIVEN = {**SCALARS, "number": "float | Decimal"}
ROWS = '    @overload\n    def rows(self, name: Literal["{name}"]{given}) -> {many}[{row}]: ...\n'


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^0-9A-Za-z]+", name))


def literal(values: Any) -> str:
    return f"Literal[{', '.join(json.dumps(one) if isinstance(one, str) else str(one) for one in values)}]"


def is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def word(name: str) -> str:
    """The name of an argument: from is none, from_ is."""
    return f"{name}_" if keyword.iskeyword(name) else name


def declared(name: str, members: Mapping[str, str], *, bases: str = "TypedDict") -> str:
    """A TypedDict: as a class, or as a call where a member's name is no word."""
    if all(map(is_word, members)):
        lines = [f"    {one}: {kind}" for one, kind in members.items()] or ["    pass"]
        return "\n".join([f"class {name}({bases}):", *lines])
    inside = ", ".join(f"{json.dumps(one)}: {kind}" for one, kind in members.items())
    return f"{name} = TypedDict({json.dumps(name)}, {{{inside}}})"


class Records:
    """The records of a document, each declared once."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self.schemas = schemas
        self.texts: dict[str, str] = {}
        self.times: set[str] = set()
        self._named: dict[str, str] = {}  # by what stands in them

    def kind(self, schema: Mapping[str, Any], name: str) -> str:
        """The type of what a schema describes; ``name`` is for a record that has none."""
        if "$ref" in schema:
            return self.kind(self.schemas[schema["$ref"].rpartition("/")[2]], schema["$ref"].rpartition("/")[2])
        if "anyOf" in schema:
            kinds = [kind for one in schema["anyOf"] for kind in self.kind(one, name).split(" | ")]
            return " | ".join(dict.fromkeys(kinds))
        if "const" in schema or "enum" in schema:
            return literal(schema.get("enum", [schema.get("const")]))
        if isinstance(schema.get("type"), list):
            return " | ".join(self.kind({**schema, "type": one}, name) for one in schema["type"])
        if schema.get("type") == "array":
            return f"list[{self.kind(schema['items'], name)}]"
        if schema.get("type") == "string" and schema.get("format") in ("date", "date-time"):
            return "Day" if schema["format"] == "date" else "Moment"
        if schema.get("type") != "object":
            return SCALARS.get(schema.get("type", ""), "Any")
        if schema.get("properties"):
            return self._record(schema, name)
        others = schema.get("additionalProperties", True)
        return f"dict[str, {self.kind(others, name + 'Value') if isinstance(others, dict) else 'Any'}]"

    def _record(self, schema: Mapping[str, Any], name: str) -> str:
        needed = schema.get("required", ())
        members = {}
        for one, told in schema["properties"].items():
            kind = self.kind(told, name + pascal(one))
            if re.search(r"\b(Day|Moment)\b", re.sub(r"\w+\[Day, Moment\]", "", kind)):
                self.times.add(one)
            members[one] = kind if one in needed else f"NotRequired[{kind}]"
        if not all(map(is_word, members)):
            # Only a class can be generic.
            members = {one: re.sub(r"\b(Day|Moment)\b", "Any", kind) for one, kind in members.items()}
        generic = any(re.search(r"\b(Day|Moment)\b", kind) for kind in members.values())
        bases = "TypedDict, Generic[Day, Moment]" if generic else "TypedDict"
        inside = json.dumps([bases, members])
        if inside not in self._named:
            assert name not in self.texts, name
            self._named[inside] = name
            self.texts[name] = declared(name, members, bases=bases)
        found = self._named[inside]
        told = f"{found}[Day, Moment]" if generic else found
        if found != name and name in self.schemas and name not in self.texts:
            self.texts[name] = f"{name} = {told}"
        return told


def given(schema: Mapping[str, Any], *, body: bool) -> str:
    """The type of what a parameter takes."""
    if "enum" in schema:
        return literal(schema["enum"])
    kinds = schema.get("type", ())
    found = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            found += [f"Sequence[{given(schema['items'], body=body)}]", *([] if body else ["str"])]
        else:
            found += ["str | date"] if schema.get("format") == "date" else [GIVEN.get(kind, "Any")]
    return " | ".join(found) or "Any"


def takes(operation: Mapping[str, Any]) -> dict[str, str]:
    """What a call takes by name, each with its type."""
    found = {}
    for one in operation.get("parameters", ()):
        if one.get("$ref", "").endswith("/IdempotencyKey"):
            found["idempotency_key"] = "str"
        elif "$ref" not in one:
            kind = given(one["schema"], body=False)
            found[word(one["name"])] = f"Required[{kind}]" if one["required"] else f"{kind} | None"
    body = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})
    schema = body["content"]["application/json"]["schema"]
    for name, one in schema.get("properties", {}).items():
        kind = given(one, body=True)
        found[word(name)] = f"Required[{kind}]" if name in schema.get("required", ()) else f"{kind} | None"
    return found


def row_of(document: Mapping[str, Any], answer: Mapping[str, Any], rows_in: str) -> Mapping[str, Any]:
    """The schema of a row of a list's answer."""
    for member in (*rows_in.split("."), None) if rows_in else (None,):
        if "$ref" in answer:
            answer = document["components"]["schemas"][answer["$ref"].rpartition("/")[2]]
        answer = answer["items"] if member is None else answer["properties"][member]
    return answer


def methods(document: Mapping[str, Any], rows_in: Mapping[str, str | None], records: Records) -> Iterator[str]:
    """The classes of calls, after the TypedDicts of what these take."""
    calls, rows, asynchronous = [], [], []
    for item in document["paths"].values():
        for operation in item.values():
            name = operation["operationId"]
            if name not in rows_in:
                continue
            content = operation["responses"].get("200", {"content": {}})["content"]
            schema = content.get("application/json", {"schema": {"type": "string"}})["schema"]
            answer = "bytes" if BINARY_MEDIA_TYPE in content else records.kind(schema, pascal(name))
            taken = takes(operation)
            if taken:
                yield declared(pascal(name) + "Given", taken, bases="TypedDict, total=False")
            arguments = f", **given: Unpack[{pascal(name)}Given]" if taken else ""
            calls.append((name, arguments, answer, operation["summary"]))
            where = rows_in[name]
            if where is not None:
                row = records.kind(row_of(document, schema, where), pascal(name) + "Row")
                rows.append(ROWS.format(name=name, given=arguments, many="Iterator", row=row))
                asynchronous.append(ROWS.format(name=name, given=arguments, many="AsyncIterator", row=row))
    for title, word, lists in (("Calls", "def", rows), ("AsyncCalls", "async def", asynchronous)):
        lines = [f"class {title}(Generic[Day, Moment]):"]
        for name, arguments, answer, summary in calls:
            lines += [f"    {word} {name}(self{arguments}) -> {answer}:", f'        """{summary}."""']
        yield "\n".join(lines) + "\n" + "".join(lists)


def types(document: Mapping[str, Any], rows_in: Mapping[str, str | None]) -> tuple[str, str]:
    """The stub, and the names of the members that are days or times, for the client to read."""
    records = Records(document["components"]["schemas"])
    found = [*methods(document, rows_in, records)]
    text = "\n\n".join([HEAD, *records.texts.values(), *found])
    return text, json.dumps(sorted(records.times), indent=0) + "\n"
