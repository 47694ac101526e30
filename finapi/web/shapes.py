"""The shapes of answers, as the JSON Schema (2020-12) that ``/openapi.json`` publishes.

A route declares the shape of its 200 body beside its handler. Every member that is named is always there, so
that a missing figure is a ``null`` in the open and never a gap; a member that may be left out is named in
``optional``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def obj(*, optional: tuple[str, ...] = (), **members: Schema) -> Schema:
    """An object of these members and no others, all of them there but the ``optional`` ones."""
    return made_of(members, optional)


def made_of(members: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """The same of members that are named elsewhere."""
    required = [name for name in members if name not in optional]
    return {
        "type": "object",
        "properties": dict(members),
        "required": required,
        "additionalProperties": False,
    }


def mapping(values: Schema) -> Schema:
    """An object whose names are data: a metric, a ticker."""
    return {"type": "object", "additionalProperties": values}


def array(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def enum(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def const(value: object) -> Schema:
    """This value and no other."""
    return {"const": value}


def nullable(schema: Schema) -> Schema:
    """``schema``, or null where there is nothing to say."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def described(schema: Schema, description: str) -> Schema:
    """``schema`` with a sentence about it."""
    return {**schema, "description": description}


def envelope(data: Schema, meta: Schema | None = None) -> Schema:
    """What ``Call.success`` answers (CONTRACT 2): ``data`` and ``meta`` with the id and time of the call."""
    return obj(
        status=const("success"),
        data=data,
        meta={"type": "object"} if meta is None else meta,
        request_id=TEXT,
        timestamp=TIME,
    )


def beside(**members: Schema) -> Schema:
    """What ``Call.listed`` answers: the members beside the status, the id and the time of the call."""
    return made_of({"status": const("success"), **members, "request_id": TEXT, "timestamp": TIME})


MESSAGE = obj(message=TEXT)
