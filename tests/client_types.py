"""The Python client's types, generated from the OpenAPI document: TypedDicts of records and of arguments."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from finapi.web.http.messages import BINARY_MEDIA_TYPE, GZIP_MEDIA_TYPE

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


class CallOptions(TypedDict, total=False):
    timeout: float | None
'''
SCALARS = {"string": "str", "integer": "int", "number": "int | Decimal", "boolean": "bool", "null": "None"}
GIVEN = {**SCALARS, "number": "float | Decimal"}
ROWS = '    @overload\n    def rows(self, name: Literal["{name}"]{given}) -> {many}[{row}]: ...\n'


def to_pascal_case(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^0-9A-Za-z]+", name))


def render_literal(values: Any) -> str:
    return f"Literal[{', '.join(json.dumps(choice) if isinstance(choice, str) else str(choice) for choice in values)}]"


def is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def get_argument_name(name: str) -> str:
    """Return the name of an argument; a keyword such as from becomes from_."""
    return f"{name}_" if keyword.iskeyword(name) else name


def declare_typed_dict(name: str, members: Mapping[str, str], *, bases: str = "TypedDict") -> str:
    """Return a TypedDict: a class, or a call if a member's name is not an identifier."""
    if all(map(is_word, members)):
        lines = [f"    {member_name}: {kind}" for member_name, kind in members.items()] or ["    pass"]
        return "\n".join([f"class {name}({bases}):", *lines])
    inside = ", ".join(f"{json.dumps(member_name)}: {kind}" for member_name, kind in members.items())
    return f"{name} = TypedDict({json.dumps(name)}, {{{inside}}})"


class Records:
    """The records of a document, each declared once."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self.schemas = schemas
        self.texts: dict[str, str] = {}
        self.times: set[str] = set()
        self._names_by_text: dict[str, str] = {}  # record names by their members

    def kind(self, schema: Mapping[str, Any], name: str) -> str:
        """Return the type of a schema; ``name`` is for a record without one."""
        if "$ref" in schema:
            return self.kind(self.schemas[schema["$ref"].rpartition("/")[2]], schema["$ref"].rpartition("/")[2])
        if "anyOf" in schema:
            kinds = [kind for alternative in schema["anyOf"] for kind in self.kind(alternative, name).split(" | ")]
            return " | ".join(dict.fromkeys(kinds))
        if "const" in schema or "enum" in schema:
            return render_literal(schema.get("enum", [schema.get("const")]))
        if isinstance(schema.get("type"), list):
            return " | ".join(self.kind({**schema, "type": alternative}, name) for alternative in schema["type"])
        if schema.get("type") == "array":
            return f"list[{self.kind(schema['items'], name)}]"
        if schema.get("type") == "string" and schema.get("format") in ("date", "date-time"):
            return "Day" if schema["format"] == "date" else "Moment"
        if schema.get("type") != "object":
            return SCALARS.get(schema.get("type", ""), "Any")
        if schema.get("properties"):
            return self._record(schema, name)
        additional = schema.get("additionalProperties", True)
        return f"dict[str, {self.kind(additional, name + 'Value') if isinstance(additional, dict) else 'Any'}]"

    def _record(self, schema: Mapping[str, Any], name: str) -> str:
        needed = schema.get("required", ())
        members = {}
        for member_name, member_schema in schema["properties"].items():
            kind = self.kind(member_schema, name + to_pascal_case(member_name))
            if re.search(r"\b(Day|Moment)\b", re.sub(r"\w+\[Day, Moment\]", "", kind)):
                self.times.add(member_name)
            members[member_name] = kind if member_name in needed else f"NotRequired[{kind}]"
        if not all(map(is_word, members)):
            # Only a class can be generic.
            members = {member_name: re.sub(r"\b(Day|Moment)\b", "Any", kind) for member_name, kind in members.items()}
        generic = any(re.search(r"\b(Day|Moment)\b", kind) for kind in members.values())
        bases = "TypedDict, Generic[Day, Moment]" if generic else "TypedDict"
        inside = json.dumps([bases, members])
        if inside not in self._names_by_text:
            assert name not in self.texts, name
            self._names_by_text[inside] = name
            self.texts[name] = declare_typed_dict(name, members, bases=bases)
        record_name = self._names_by_text[inside]
        member_schema = f"{record_name}[Day, Moment]" if generic else record_name
        if record_name != name and name in self.schemas and name not in self.texts:
            self.texts[name] = f"{name} = {member_schema}"
        return member_schema


def get_parameter_type(schema: Mapping[str, Any], *, body: bool) -> str:
    """Return the type of a parameter's value."""
    if "enum" in schema:
        return render_literal(schema["enum"])
    kinds = schema.get("type", ())
    types = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            types += [f"Sequence[{get_parameter_type(schema['items'], body=body)}]", *([] if body else ["str"])]
        else:
            types += ["str | date"] if schema.get("format") == "date" else [GIVEN.get(kind, "Any")]
    return " | ".join(types) or "Any"


def list_arguments(operation: Mapping[str, Any]) -> dict[str, str]:
    """Return the type of each named argument of a call."""
    arguments = {}
    for parameter in operation.get("parameters", ()):
        if parameter.get("$ref", "").endswith("/IdempotencyKey"):
            arguments["idempotency_key"] = "str"
        elif "$ref" not in parameter:
            kind = get_parameter_type(parameter["schema"], body=False)
            arguments[get_argument_name(parameter["name"])] = (
                f"Required[{kind}]" if parameter["required"] else f"{kind} | None"
            )
    body = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})
    schema = body["content"]["application/json"]["schema"]
    for name, member in schema.get("properties", {}).items():
        kind = get_parameter_type(member, body=True)
        arguments[get_argument_name(name)] = (
            f"Required[{kind}]" if name in schema.get("required", ()) else f"{kind} | None"
        )
    return arguments


def get_row_schema(document: Mapping[str, Any], answer: Mapping[str, Any], rows_in: str) -> Mapping[str, Any]:
    """Return the schema of a row of a list's answer."""
    for member in (*rows_in.split("."), None) if rows_in else (None,):
        if "$ref" in answer:
            answer = document["components"]["schemas"][answer["$ref"].rpartition("/")[2]]
        answer = answer["items"] if member is None else answer["properties"][member]
    return answer


def render_methods(document: Mapping[str, Any], rows_in: Mapping[str, str | None], records: Records) -> Iterator[str]:
    """Yield the classes of calls, after the TypedDicts of their arguments."""
    calls, rows, asynchronous = [], [], []
    for item in document["paths"].values():
        for operation in item.values():
            name = operation["operationId"]
            if name not in rows_in:
                continue
            content = operation["responses"].get("200", {"content": {}})["content"]
            schema = content.get("application/json", {"schema": {"type": "string"}})["schema"]
            is_file = {BINARY_MEDIA_TYPE, GZIP_MEDIA_TYPE} & {*content}
            answer = "bytes" if is_file else records.kind(schema, to_pascal_case(name))
            typed_arguments = list_arguments(operation)
            if typed_arguments:
                yield declare_typed_dict(
                    to_pascal_case(name) + "Given", typed_arguments, bases="CallOptions, total=False"
                )
            arguments = (
                f", **given: Unpack[{to_pascal_case(name)}Given]"
                if typed_arguments
                else ", **given: Unpack[CallOptions]"
            )
            calls.append((name, arguments, answer, operation["summary"]))
            where = rows_in[name]
            if where is not None:
                row = records.kind(get_row_schema(document, schema, where), to_pascal_case(name) + "Row")
                rows.append(ROWS.format(name=name, given=arguments, many="Iterator", row=row))
                asynchronous.append(ROWS.format(name=name, given=arguments, many="AsyncIterator", row=row))
    for title, word, lists in (("Calls", "def", rows), ("AsyncCalls", "async def", asynchronous)):
        lines = [f"class {title}(Generic[Day, Moment]):"]
        for name, arguments, answer, summary in calls:
            lines += [f"    {word} {name}(self{arguments}) -> {answer}:", f'        """{summary}."""']
        yield "\n".join(lines) + "\n" + "".join(lists)


def render_types(document: Mapping[str, Any], rows_in: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the stub, and the names of the members that are days or times."""
    records = Records(document["components"]["schemas"])
    class_lines = [*render_methods(document, rows_in, records)]
    text = "\n\n".join([HEAD, *records.texts.values(), *class_lines])
    return text, json.dumps(sorted(records.times), indent=0) + "\n"
