"""JSON whose numbers are compared as they are written: 1.0 is not 1. Written so that differences read well."""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a JSON document, as it is written."""

    text: str


def load(text: str | bytes) -> Any:
    """The value of a document, numbers as :class:`Number`."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)


def dump(value: Any) -> str:
    """``value`` in lines: what fits into one stands in one; members in the order of their names."""
    return _lines(value, 0) + "\n"


def short(value: Any) -> str:
    """``value`` in one line."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join([f"{encode_basestring(name)}: {short(value[name])}" for name in sorted(value)]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([short(one) for one in value]) + "]"
    return json.dumps(value)


def _lines(value: Any, depth: int) -> str:
    if not isinstance(value, dict | list | tuple) or not value:
        return short(value)
    if len(value) < WIDTH and len(line := short(value)) + depth <= WIDTH:
        return line
    margin = " " * (depth + 1)
    if isinstance(value, dict):
        names = [(encode_basestring(name), value[name]) for name in sorted(value)]
        parts = [f"{margin}{name}: {_lines(one, depth + 1)}" for name, one in names]
        return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(margin + _lines(one, depth + 1) for one in value) + "\n" + " " * depth + "]"
