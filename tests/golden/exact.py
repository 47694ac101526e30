"""JSON whose numbers are compared as written (1.0 differs from 1), in a layout with readable differences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a JSON document, as written."""

    text: str


def load(text: str | bytes) -> Any:
    """Return the value of a document, with numbers as :class:`Number`."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)


def dump(value: Any) -> str:
    """Return ``value`` as text: one line where it fits, members sorted by name."""
    return _dump_lines(value, 0) + "\n"


def dump_line(value: Any) -> str:
    """Return ``value`` as one line."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join([f"{encode_basestring(name)}: {dump_line(value[name])}" for name in sorted(value)]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([dump_line(member) for member in value]) + "]"
    return json.dumps(value)


def _dump_lines(value: Any, depth: int) -> str:
    if not isinstance(value, dict | list | tuple) or not value:
        return dump_line(value)
    if len(value) < WIDTH and len(line := dump_line(value)) + depth <= WIDTH:
        return line
    margin = " " * (depth + 1)
    if isinstance(value, dict):
        names = [(encode_basestring(name), value[name]) for name in sorted(value)]
        parts = [f"{margin}{name}: {_dump_lines(member, depth + 1)}" for name, member in names]
        return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(margin + _dump_lines(member, depth + 1) for member in value) + "\n" + " " * depth + "]"
