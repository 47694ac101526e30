"""The published operations of ``../shared/contract/wire.json``, compared with the OpenAPI document and with answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any, NamedTuple

from finapi.web.http.route import Route
from finapi.web.routes import ROUTES
from tests.conftest import SHARED
from tests.process import ROOT

CONTRACT = SHARED / "contract" / "wire.json"
CLIENTS_PAGE = ROOT / "docs" / "CLIENTS.md"
# JSON types and formats of the OpenAPI document under the names of wire.json. A format that is not listed is a text.
FORMATS = {"date": "date", "date-time": "timestamp"}
# A client that reads the published type also reads these.
COMPATIBLE = {("number", "integer"), ("string", "date"), ("string", "timestamp")}
# Objects whose members are named by the request or the data. CIKs as names are known by their digits.
OPEN_OBJECTS = ("metrics", "filters_applied", "identifiers")
JSON_TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
}
DATE = re.compile(r"\d{4}-\d\d-\d\d")
TIMESTAMP = re.compile(DATE.pattern + r"T\d\d:\d\d:\d\d\.\d{3}Z")


class Difference(NamedTuple):
    """A field whose published type is not the type that finapi has. The type of a missing field is ``absent``."""

    operation: str
    field: str
    published: str
    served: str


class DocumentedDifference(NamedTuple):
    """A row of the table of fields in docs/CLIENTS.md. Fields and calls are patterns."""

    fields: Sequence[str]
    published: str
    served: str
    calls: Sequence[str]

    def covers(self, difference: Difference) -> bool:
        """Return True if the row explains a difference."""
        return (
            (self.published, self.served) == (difference.published, difference.served)
            and any(fnmatch(difference.field, f"*.{field}") for field in self.fields)
            and any(fnmatch(get_short_path(difference.operation), call) for call in self.calls)
        )

    def covers_value(self, difference: Difference) -> bool:
        """Return True if the row explains a difference of one value, whose type is one of those that the row lists."""
        types = self.served.split(", ")
        if difference.served in types or (difference.served == "integer" and "number" in types):
            return self.covers(difference._replace(served=self.served))
        return False


def load_contract() -> dict[str, dict[str, Any]]:
    """Return the published operations by method and path."""
    contract: dict[str, dict[str, Any]] = json.loads(CONTRACT.read_text(encoding="utf-8"))
    return contract


def fold_names(operation: str) -> str:
    """Return an operation without the names of its path parameters, which are not part of a request."""
    return re.sub(r"\{\w+\}", "{}", operation)


def get_short_path(operation: str) -> str:
    """Return the path of an operation as docs/CLIENTS.md writes it: without method and prefix."""
    path = operation.partition(" ")[2]
    return re.sub(r"^(/insider-module)?/api(/v1)?", "", path)


def list_served_routes(contract: Mapping[str, Any]) -> dict[str, Route]:
    """Return the routes of the published operations that finapi serves."""
    routes = {fold_names(f"{route.method} {path}"): route for route in ROUTES for path in route.paths}
    return {name: routes[fold_names(name)] for name in contract if fold_names(name) in routes}


def read_table(heading: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table below a heading of docs/CLIENTS.md, without the two rows of its head."""
    section = CLIENTS_PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    for row in rows[2:]:
        yield [cell.strip() for cell in row.strip("|").split(" | ")]


def list_documented_differences() -> list[DocumentedDifference]:
    """Return the rows of the table "Fields that differ"."""
    rows = []
    for fields, published, served, calls, _ in read_table("Fields that differ"):
        rows.append(DocumentedDifference(_list_code(fields), published, served, _list_code(calls)))
    return rows


def is_listed(operation: str, patterns: Sequence[str]) -> bool:
    """Return True if one of the patterns, as in the table of paths that are not served, is the operation's."""
    method, _, path = operation.partition(" ")
    short_path = path.removeprefix("/api/v1")
    for pattern in patterns:
        pattern_method, _, pattern_path = pattern.strip("`").rpartition(" ")
        if pattern_method in ("", method) and fnmatch(short_path, pattern_path):
            return True
    return False


def list_documented_nulls() -> set[str]:
    """Return the names in the table "Fields that are always null"."""
    return {name for fields, _ in read_table("Fields that are always null") for name in _list_code(fields)}


def _list_code(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


class DocumentComparison:
    """Compares published shapes with the schemas of an OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.components: Mapping[str, Any] = document["components"]["schemas"]
        self.operations = {
            fold_names(f"{method.upper()} {path}"): operation
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }

    def list_differences(self, name: str, route: Route, shape: Any) -> list[Difference]:
        """Return the differences of one published operation."""
        content = self.operations[fold_names(f"{route.method} {route.path}")]["responses"]["200"]["content"]
        if shape == "string" and "text/html" in content:
            return []
        schemas = self.resolve(content["application/json"]["schema"])
        return [
            Difference(name, field or ".", published, served)
            for field, published, served in self.compare(schemas, shape, "")
        ]

    def resolve(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the alternatives of a schema, each with one type, without null."""
        if "$ref" in schema:
            return self.resolve(self.components[schema["$ref"].rpartition("/")[2]])
        alternatives = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if alternatives:
            return [resolved for alternative in alternatives for resolved in self.resolve(alternative)]
        if "const" in schema:
            return [{"type": JSON_TYPES[type(schema["const"])]}]
        types = schema.get("type", [])
        names = [types] if isinstance(types, str) else types
        return [{**schema, "type": name} for name in names if name != "null"]

    def compare(self, schemas: Sequence[Mapping[str, Any]], shape: Any, field: str) -> Iterator[tuple[str, str, str]]:
        """Yield place, published type and described type of each member that differs."""
        if shape is None:
            return
        served = ", ".join(sorted({get_schema_type(schema) for schema in schemas}))
        published = get_published_type(shape)
        if served != published and (published, served) not in COMPATIBLE:
            yield field, published, served
        if isinstance(shape, dict):
            objects = [schema for schema in schemas if schema["type"] == "object"]
            for name, inner in shape.items() if objects else ():
                yield from self._compare_member(objects, name, inner, f"{field}.{name}")
        elif isinstance(shape, list) and shape:
            items = [schema["items"] for schema in schemas if schema["type"] == "array"]
            if items:
                yield from self.compare(
                    [schema for item in items for schema in self.resolve(item)], shape[0], field + "[]"
                )

    def _compare_member(
        self, objects: Sequence[Mapping[str, Any]], name: str, shape: Any, field: str
    ) -> Iterator[tuple[str, str, str]]:
        members = [schema["properties"][name] for schema in objects if name in schema.get("properties", ())]
        if not members:
            # Objects with any names: by ticker, CIK, metric or filter.
            members = [schema["additionalProperties"] for schema in objects if schema.get("additionalProperties")]
            if not members and any("properties" not in schema for schema in objects):
                return
        if members:
            yield from self.compare([schema for member in members for schema in self.resolve(member)], shape, field)
        else:
            yield field, get_published_type(shape), "absent"


def get_published_type(shape: Any) -> str:
    """Return the type of a published shape: ``object``, ``array`` or its name in wire.json."""
    if isinstance(shape, dict):
        return "object"
    return "array" if isinstance(shape, list) else str(shape)


def get_schema_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema with one type under its name in wire.json."""
    if schema["type"] != "string":
        return str(schema["type"])
    return FORMATS.get(schema.get("format", ""), "string")


def get_json_type(value: Any) -> str:
    """Return the type of a value of an answer under its name in wire.json."""
    if isinstance(value, str):
        if TIMESTAMP.fullmatch(value):
            return "timestamp"
        return "date" if DATE.fullmatch(value) else "string"
    return JSON_TYPES[type(value)]


def list_leaves(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the place and value of each member of an answer that is neither an object nor a list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from list_leaves(inner, f"{field}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from list_leaves(inner, field + "[]")
    else:
        yield field, value


def compare_answer(value: Any, shape: Any, field: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, published type and type of each member of an answer that differs. Null has every type."""
    if value is None or shape is None:
        return
    served, published = get_json_type(value), get_published_type(shape)
    if served != published and (published, served) not in COMPATIBLE:
        yield field or ".", published, served
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            if name in value:
                yield from compare_answer(value[name], inner, f"{field}.{name}")
            elif not name.isdigit() and field.rpartition(".")[2] not in OPEN_OBJECTS:
                yield f"{field}.{name}", get_published_type(inner), "absent"
    elif isinstance(shape, list) and shape:
        for item in value:
            yield from compare_answer(item, shape[0], field + "[]")
