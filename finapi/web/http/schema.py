"""The JSON Schema (2020-12) of answers in ``/openapi.json``, built from the records that declare them.

Every answer is declared by TypedDicts (:mod:`finapi.core.records`), in one of four forms. The ``shape`` of its route is

* ``Envelope[Data, Meta]`` for ``call.success(data, meta)`` and ``call.success_rows(rows, meta)``,
* ``Answer[Members]`` for ``call.success_members(members, paging)``, where the body has members of its own,
* the TypedDict itself for ``call.bare_object(record)``,
* ``list[Row]`` for ``call.bare_rows(rows, meta)``.

The ``meta`` of a list with windows inherits from :class:`WindowMeta`. For example::

    class TradePage(TypedDict):
        pagination: OffsetPage

    class TradeMeta(TradePage, WindowMeta):
        from_date: Date | None
        to_date: Date | None

    SHAPE = Envelope[list[Trade], TradeMeta]

The handler annotates the values that it passes (``meta: TradeMeta = {...}``), so that mypy compares them with the
declaration. A schema lists the members of base classes first, in the order of the bases.
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
ANYTHING: Schema = {}


Data = TypeVar("Data")
Meta = TypeVar("Meta")
Members = TypeVar("Members")


class Envelope(TypedDict, Generic[Data, Meta]):
    """The body of ``Call.success`` and ``Call.success_rows`` (DECISIONS 2)."""

    status: Literal["success"]
    data: Data
    meta: Meta
    request_id: str
    timestamp: Time


class Answer(Generic[Members]):
    """The body of ``Call.success_members``: the members of a record between the status and the call's id and time."""


def _answer_types(members: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": Literal["success"], **members, "request_id": str, "timestamp": Time}


class WindowMeta(TypedDict):
    """The members that ``Call.build_window_meta`` returns in addition to the windows themselves."""

    undated_left_out: Annotated[int, "Rows that a window leaves out because their date is not known."]
    clamped: Annotated[dict[str, str], "Windows that were given beyond their bounds, as they were given."]


class Message(TypedDict):
    """The body of endpoints that only confirm."""

    message: str


_SCHEMA_BY_TYPE: dict[Any, Schema] = {
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
    """Return the JSON Schema of a record or of the type of a member, the same object for the same type.

    Raise TypeError for a type that has no schema.
    """
    if kind in _SCHEMA_BY_TYPE:
        return _SCHEMA_BY_TYPE[kind]
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return _build_annotated_schema(arguments[0], arguments[1:])
    if origin is Answer:
        return _build_record_schema(_answer_types(records.get_members(arguments[0])))
    if isinstance(kind, InlineObject):
        return _build_inline_schema(kind)
    if is_typeddict(origin or kind):
        return _build_record_schema(records.get_members(kind))
    if origin in (Union, UnionType):
        return _build_union_schema(arguments)
    if origin is Literal:
        return const_schema(arguments[0]) if len(arguments) == 1 else enum_schema(*arguments)
    if origin in (list, Sequence):
        return array_schema(build_schema(arguments[0]))
    if origin in (dict, Mapping):
        return mapping_schema(build_schema(arguments[1]))
    raise TypeError(f"{kind} has no JSON Schema")


def _build_record_schema(types: Mapping[str, Any]) -> Schema:
    members = {}
    optional = []
    for name, kind in types.items():
        if get_origin(kind) is NotRequired:
            optional.append(name)
            kind = get_args(kind)[0]
        members[name] = build_schema(kind)
    return object_schema(members, tuple(optional))


def _build_inline_schema(inline: InlineObject) -> Schema:
    members = {}
    for name, kind in inline.types.items():
        # Members inside of a member are written as a dict of their types.
        members[name] = build_schema(InlineObject(kind) if isinstance(kind, Mapping) else kind)
    return object_schema(members)


def _build_union_schema(kinds: tuple[Any, ...]) -> Schema:
    if len(kinds) == 2 and NoneType in kinds:
        return nullable_schema(build_schema(kinds[0] if kinds[1] is NoneType else kinds[1]))
    return {"anyOf": [build_schema(kind) for kind in kinds]}


def _build_annotated_schema(kind: Any, annotations: tuple[Any, ...]) -> Schema:
    schema: Schema | None = None
    for annotation in annotations:
        if isinstance(annotation, JsonSchema):
            schema = dict(annotation.schema)
        elif isinstance(annotation, InlineObject):
            schema = build_schema(annotation)
        elif isinstance(annotation, OneOf):
            schema = enum_schema(*annotation.values)
        elif isinstance(annotation, Format):
            schema = {**TEXT, "format": annotation.name}
    if schema is None:
        schema = build_schema(kind)
    sentences = [annotation for annotation in annotations if isinstance(annotation, str)]
    return with_description(schema, " ".join(sentences)) if sentences else schema


def object_schema(members: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """Return an object with these members and no others; all are required except the ``optional`` ones."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": dict(members), "required": required, "additionalProperties": False}


def mapping_schema(value_schema: Schema) -> Schema:
    """Return an object whose member names are data, such as metrics or tickers."""
    return {"type": "object", "additionalProperties": value_schema}


def array_schema(element_schema: Schema) -> Schema:
    """Return a list of ``items``."""
    return {"type": "array", "items": element_schema}


def enum_schema(*values: str) -> Schema:
    """Return a text that is one of ``values``."""
    return {"type": "string", "enum": list(values)}


def const_schema(value: object) -> Schema:
    """Return the schema of exactly this value."""
    return {"const": value}


def nullable_schema(schema: Schema) -> Schema:
    """Return ``schema`` with null as another allowed value."""
    if "const" in schema:
        return {"type": ["string", "null"], "enum": [schema["const"], None]}
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def with_description(schema: Schema, description: str) -> Schema:
    """Return ``schema`` with a description."""
    return {**schema, "description": description}
