"""The tools: what each takes, and the call of the API that it stands for (``tools.toml``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from finapi.client.operations import NamedCall, operations
from finapi.core.files import get_package_folder
from finapi.core.suggestions import list_similar

TEXT_MOST = 10_000  # characters of an argument, that of a query of SQL
WORDS_MOST = 200  # of a list
_CONDITION = re.compile(r"\s*(\w{1,80})\s*([<>])\s*(-?\d{1,20}(?:\.\d{1,20})?)\s*", re.ASCII)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str, int),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
# What one call takes of screens: conditions, whose names are of the call.
_WHERE = {
    "type": "array",
    "items": {"type": "string", "pattern": r"^\s*\w+\s*[<>]\s*-?\d+(\.\d+)?\s*$"},
    "minItems": 1,
    "description": 'Conditions, each "metric > number" or "metric < number"; all must be met.',
}


class ToolMistake(Exception):
    """Arguments that a tool does not take: which, why, and what it takes instead."""


@dataclass(frozen=True, slots=True)
class ContextTool:
    """A line of ``tools.toml``."""

    name: str
    title: str
    call: str
    says: str
    takes: tuple[str, ...]
    named: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    default: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    brief: Mapping[str, str] = field(default_factory=dict)

    @property
    def operation(self) -> NamedCall:
        """The call that it stands for."""
        return operations()[self.call]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        known = {**self.operation.takes, **self.operation.body}
        members = {}
        for name in self.takes:
            schema = _WHERE if name == "where" else dict(known[self.named.get(name, name)])
            if name in self.brief:
                schema = {"type": "array", "items": {"type": "string"}, "description": self.brief[name]}
            members[name] = {**schema, "default": self.default[name]} if name in self.default else schema
            if name in self.most:
                members[name] = {**members[name], "minimum": 1, "maximum": self.most[name]}
        in_path = [name for name in self.takes if f"{{{name}}}" in self.operation.path]
        required = [*dict.fromkeys([*in_path, *self.required])]
        made: dict[str, Any] = {"type": "object", "properties": members, "additionalProperties": False}
        return {**made, "required": required} if required else made

    def asked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the call, by its own names; ToolMistake for arguments that the tool does not take."""
        schema = self.schema
        for name in arguments:
            if name not in schema["properties"]:
                near = list_similar(name, self.takes, 1)
                meant = f" Did you mean {near[0]}?" if near else ""
                takes = ", ".join(self.takes) or "no arguments"
                raise ToolMistake(f"{self.name} has no argument {name[:80]}.{meant} It takes {takes}.")
        given = {name: value for name, value in arguments.items() if value is not None}
        missing = [name for name in schema.get("required", ()) if given.get(name) in (None, "", [])]
        if missing:
            raise ToolMistake(f"{missing[0]} is required: {schema['properties'][missing[0]]['description']}")
        values = dict(self.default)
        for name, value in given.items():
            read = dict(_read(name, value, schema["properties"][name]))
            values |= {self.named.get(key, key): one for key, one in read.items()}
        for name, most in self.most.items():
            if str(values.get(name, "")).isdecimal():
                values[name] = min(int(values[name]), most)
        return {**values, **self.fixed}


def _read(name: str, value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if name == "where":
        yield from conditions(value)
        return
    wanted = schema["type"]
    if wanted == "array":
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list) or len(words) > WORDS_MOST:
            raise ToolMistake(f"{name} is a list of at most {WORDS_MOST} words.")
        yield name, [_scalar(name, word, ("string",), schema.get("items", {})) for word in words]
        return
    yield name, _scalar(name, value, [wanted] if isinstance(wanted, str) else wanted, schema)


def _scalar(name: str, value: Any, types: Sequence[str], schema: Mapping[str, Any]) -> Any:
    """A value of one of these types; a number or a truth may also come as its text, as models write them."""
    fits = any(
        isinstance(value, _TYPES[one]) and isinstance(value, bool) == (one == "boolean") for one in types
    ) or isinstance(value, str)
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        value, fits = int(value), True
    if not fits:
        raise ToolMistake(f"{name} is of type {' or '.join(types)}, not {type(value).__name__}.")
    if len(str(value)[: TEXT_MOST + 1]) > TEXT_MOST:
        raise ToolMistake(f"{name} is longer than {TEXT_MOST:,} characters.")
    allowed = schema.get("enum")
    if allowed and value not in allowed and isinstance(value, str):
        near = list_similar(value, map(str, allowed))
        meant = f" Did you mean {near[0]}?" if near else ""
        raise ToolMistake(f"{name} is one of {', '.join(map(str, allowed[:20]))}.{meant}")
    return value


def conditions(value: Any) -> Iterator[tuple[str, str]]:
    """The parameters of a screen that conditions are; ToolMistake for what is none."""
    told = 'where is a list of conditions, each "metric > number" or "metric < number"'
    if not isinstance(value, list) or not 0 < len(value) <= WORDS_MOST:
        raise ToolMistake(f"{told}.")
    known = operations()["get_xbrl_screen"].takes
    for one in value:
        found = _CONDITION.fullmatch(one) if isinstance(one, str) else None
        if found is None:
            raise ToolMistake(f"{told}; this one is not: {str(one)[:80]}")
        metric, sign, number = found.groups()
        name = f"{metric}_{'gt' if sign == '>' else 'lt'}"
        if name not in known:
            near = list_similar(metric, sorted({key[:-3] for key in known if key.endswith(("_gt", "_lt"))}))
            meant = f" Did you mean {', '.join(near)}?" if near else ""
            raise ToolMistake(f"{metric} is not a metric that can be screened.{meant} list_metrics names them.")
        yield name, number


@cache
def tools() -> Mapping[str, ContextTool]:
    """Every tool by its name, in the order of the file."""
    table: dict[str, dict[str, Any]] = tomllib.loads(
        (get_package_folder("finapi.mcp") / "tools.toml").read_text("utf-8")
    )
    lists = ("takes", "required", "keep", "drop")
    read: dict[str, dict[str, Any]] = {
        name: {key: tuple(value) if key in lists else value for key, value in one.items()}
        for name, one in table.items()
    }
    return {name: ContextTool(name=name, **one) for name, one in read.items()}
