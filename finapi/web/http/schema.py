"""The JSON Schema (2020-12) of answers, as ``/openapi.json`` publishes it: made of the records that declare them.

A route names the record of its 200 body; :func:`schema` turns it into its schema when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from finapi.core import records
from finapi.core.records import Format, InlineObject, JsonSchema, OneOf, Time

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
DATE: Schema = {"type": "string", "format": "date"}
TIME: Schema = {"type": "string", "format": "date-time"}
URL: Schema = {"type": "string", "format": "uri"}
# How exact a figure is: decimal places, "INF" for exact as it stands, null where the source does not say.
DECIMALS: Schema = {"anyOf": [INTEGER, {"type": "string", "enum": ["INF"]}, {"type": "null"}]}
ANYTHING: Schema = {}


Data = TypeVar("Data")
Meta = TypeVar("Meta")


class Envelope(TypedDict, Generic[Data, Meta]):
    """What ``Call.success`` and ``Call.rows`` answer (DECISIONS 2)."""

    status: Literal["success"]
    data: Data
    meta: Meta
    request_id: str
    timestamp: Time


class Answer(TypedDict):
    """What ``Call.listed`` answers: a record that inherits from this one adds its members."""

    status: Literal["success"]
    request_id: str
    timestamp: Time


def part(**members: Any) -> InlineObject:
    """An object of these members, all of them there."""
    return InlineObject(members)


def answer(**members: Any) -> InlineObject:
    """What ``Call.listed`` answers: these members beside the status, the id and the time of the call."""
    return InlineObject({"status": Literal["success"], **members, "request_id": str, "timestamp": Time})


class WindowMeta(TypedDict):
    """What ``Call.windows`` says beside the windows themselves."""

    undated_left_out: Annotated[int, "Rows that a window leaves out because their date is not known."]
    clamped: Annotated[dict[str, str], "Windows that were given beyond their bounds, as they were given."]


def with_windows(**members: Any) -> InlineObject:
    """An object of these members and those of :class:`Windows`."""
    return InlineObject({**members, **records.get_members(WindowMeta)})


class Message(TypedDict):
    """What auth endpoints answer that have nothing to give."""

    message: str


_PLAIN: dict[Any, Schema] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    Decimal: NUMBER,
    bool: BOOLEAN,
    NoneType: {"type": "null"},
    Any: ANYTHING,
    object: ANYTHING,
}


@cache
def build_schema(kind: Any) -> Schema:
    """The JSON Schema of a record, or of a type that its members may have; the same object for the same type.

    TypeError for a type that has none.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:])
    if isinstance(kind, InlineObject):
        types = kind.types.items()
        return object_schema(
            {name: build_schema(InlineObject(one) if isinstance(one, Mapping) else one) for name, one in types}
        )
    if is_typeddict(origin or kind):
        hints = records.get_members(kind)
        if tuple(hints)[:3] == tuple(Answer.__annotations__):
            # The members of a base come first in a TypedDict; an answer has its own before the last two.
            hints = {name: hints[name] for name in sorted(hints, key=("request_id", "timestamp").__contains__)}
        optional = tuple(name for name, hint in hints.items() if get_origin(hint) is NotRequired)
        return object_schema(
            {name: build_schema(get_args(hint)[0] if name in optional else hint) for name, hint in hints.items()},
            optional,
        )
    if origin in (Union, UnionType):
        if len(inner) == 2 and NoneType in inner:
            return nullable_schema(build_schema(next(one for one in inner if one is not NoneType)))
        return {"anyOf": [build_schema(one) for one in inner]}
    if origin is Literal:
        return const_schema(inner[0]) if len(inner) == 1 else enum_schema(*inner)
    if origin in (list, Sequence):
        return array_schema(build_schema(inner[0]))
    if origin in (dict, Mapping):
        return mapping_schema(build_schema(inner[1]))
    raise TypeError(f"{kind} has no JSON Schema")


def _annotated(kind: Any, marks: tuple[Any, ...]) -> Schema:
    found: Schema | None = None
    for mark in marks:
        if isinstance(mark, JsonSchema):
            found = dict(mark.schema)
        elif isinstance(mark, InlineObject):
            found = build_schema(mark)
        elif isinstance(mark, OneOf):
            found = enum_schema(*mark.values)
        elif isinstance(mark, Format):
            found = {**TEXT, "format": mark.name}
    found = build_schema(kind) if found is None else found
    said = [mark for mark in marks if isinstance(mark, str)]
    return with_description(found, " ".join(said)) if said else found


def obj(*, optional: tuple[str, ...] = (), **members: Schema) -> Schema:
    """An object of these members and no others, all of them there but the ``optional`` ones."""
    return object_schema(members, optional)


def object_schema(members: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """The same of members that are named elsewhere."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": dict(members), "required": required, "additionalProperties": False}


def mapping_schema(values: Schema) -> Schema:
    """An object whose names are data: a metric, a ticker."""
    return {"type": "object", "additionalProperties": values}


def array_schema(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def enum_schema(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def const_schema(value: object) -> Schema:
    """This value and no other."""
    return {"const": value}


def nullable_schema(schema: Schema) -> Schema:
    """``schema``, or null where there is nothing to say."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def with_description(schema: Schema, description: str) -> Schema:
    """``schema`` with a sentence about it."""
    return {**schema, "description": description}


def envelope(data: Schema, meta: Schema | None = None) -> Schema:
    """What ``Call.success`` answers (DECISIONS 2): ``data`` and ``meta`` with the id and time of the call."""
    return obj(
        status=const_schema("success"),
        data=data,
        meta={"type": "object"} if meta is None else meta,
        request_id=TEXT,
        timestamp=TIME,
    )


def beside(**members: Schema) -> Schema:
    """What ``Call.listed`` answers: the members beside the status, the id and the time of the call."""
    return object_schema({"status": const_schema("success"), **members, "request_id": TEXT, "timestamp": TIME})


MESSAGE = obj(message=TEXT)
