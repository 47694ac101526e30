"""The tools: their arguments, and the operations of the API that they stand for (``tools.toml``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from finapi.client.operations import ApiOperation, get_operations
from finapi.core.files import get_package_folder
from finapi.core.suggestions import list_similar, list_similar_metrics

MAX_ARGUMENT_CHARACTERS = 10_000  # Maximum length of an argument, which is that of an SQL query.
MAX_LIST_WORDS = 200
MAX_LISTED_CHOICES = 20  # Maximum number of accepted values that an error message lists.
MAX_SHORT_CHOICES = 8  # Maximum number of accepted values in the list of tools.
METRIC_ARGUMENTS = ("metric", "metrics")
SQL_TOOL = "query_sql"
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str, int),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
# The argument ``where`` of the screen.
_WHERE_SCHEMA = {
    "type": "array",
    "items": {"type": "string", "pattern": r"^\s*\w+\s*[<>]\s*-?\d+(\.\d+)?\s*[A-Za-z]{0,2}\s*$"},
    "minItems": 1,
    "description": 'Conditions, each "metric > number" or "metric < number"; all must be met. Units: 1bn, 5m.',
}
_WHERE_ERROR = 'where is a list of conditions, each "metric > number" or "metric < number"'


class ToolArgumentError(Exception):
    """Invalid arguments of a tool. The message names the accepted ones."""


@dataclass(frozen=True, slots=True)
class ContextTool:
    """A tool. Its fields are those of ``tools.toml``, which describes them."""

    name: str
    title: str
    operation_name: str
    description: str
    arguments: tuple[str, ...]
    parameter_names: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    row_members: tuple[str, ...] = ()
    dropped_members: tuple[str, ...] = ()
    maximums: Mapping[str, int] = field(default_factory=dict)
    list_descriptions: Mapping[str, str] = field(default_factory=dict)
    short_descriptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def operation(self) -> ApiOperation:
        """Return the operation that the tool stands for."""
        return get_operations()[self.operation_name]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        path_names = [name for name in self.arguments if f"{{{name}}}" in self.operation.path]
        required = [*dict.fromkeys([*path_names, *self.required])]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._build_argument_schema(name) for name in self.arguments},
            "additionalProperties": False,
        }
        if required:
            schema["required"] = required
        return schema

    def _build_argument_schema(self, name: str) -> dict[str, Any]:
        schema: dict[str, Any]
        if name in self.list_descriptions:
            schema = {"type": "array", "items": {"type": "string"}, "description": self.list_descriptions[name]}
        elif name == "where":
            schema = dict(_WHERE_SCHEMA)
        else:
            parameters = {**self.operation.parameters, **self.operation.body_members}
            schema = dict(parameters[self.get_parameter_name(name)])
        if name in self.defaults:
            schema["default"] = self.defaults[name]
        if name in self.maximums:
            schema["minimum"] = 1
            schema["maximum"] = self.maximums[name]
        return schema

    @property
    def short_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments for the list of tools, without bounds, patterns and long lists.

        A call that breaks one of those is refused with a message that names it.
        """
        schema = self.schema
        properties = {name: self._shorten_schema(name, member) for name, member in schema["properties"].items()}
        short: dict[str, Any] = {"type": "object", "properties": properties}
        if "required" in schema:
            short["required"] = schema["required"]
        return short

    def _shorten_schema(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        short: dict[str, Any] = {"type": schema["type"]}
        if schema["type"] == "array":
            short["items"] = {"type": schema["items"]["type"]}
        if len(schema.get("enum", ())) in range(1, MAX_SHORT_CHOICES + 1):
            short["enum"] = schema["enum"]
        if schema.get("default"):
            short["default"] = schema["default"]
        if name in self.maximums:
            short["maximum"] = self.maximums[name]
        description = self.short_descriptions.get(name, schema["description"])
        if name == "query" and self.name == SQL_TOOL:
            description = f"One SELECT over {', '.join(get_sql_views())}."
        if description:
            short["description"] = description
        return short

    def get_parameter_name(self, argument: str) -> str:
        """Return the name of the API parameter for an argument."""
        return self.parameter_names.get(argument, argument)

    def parse_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the operation by name. Raise ToolArgumentError for invalid arguments."""
        schema = self.schema
        for name in arguments:
            if name not in schema["properties"]:
                takes = ", ".join(self.arguments) or "no arguments"
                hint = _suggest(list_similar(name, self.arguments, 1))
                raise ToolArgumentError(f"{self.name} has no argument {name[:80]}.{hint} It takes {takes}.")
        present_arguments = {name: argument for name, argument in arguments.items() if argument is not None}
        for name in schema.get("required", ()):
            if present_arguments.get(name) in (None, "", []):
                raise ToolArgumentError(f"{name} is required: {schema['properties'][name]['description']}")
        parameters = dict(self.defaults)
        for name, argument in present_arguments.items():
            for parsed_name, parsed_value in _parse_argument(name, argument, schema["properties"][name]):
                parameters[self.get_parameter_name(parsed_name)] = parsed_value
        for name, maximum in self.maximums.items():
            if str(parameters.get(name, "")).isdecimal():
                parameters[name] = min(int(parameters[name]), maximum)
        return {**parameters, **self.fixed_values}


def _parse_argument(name: str, argument: Any, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of the parameter for an argument, or several for an argument that sets several."""
    if name == "where":
        yield name, _join_conditions(argument)
        return
    schema_type = schema["type"]
    if schema_type == "array" and schema.get("items", {}).get("type") == "object":
        yield name, _parse_objects(name, argument, schema)
        return
    if schema_type == "array":
        words = argument.split(",") if isinstance(argument, str) else argument
        if not isinstance(words, list) or len(words) > MAX_LIST_WORDS:
            raise ToolArgumentError(f"{name} must be a list of at most {MAX_LIST_WORDS} words.")
        yield name, [_parse_scalar(name, word, ("string",), schema.get("items", {})) for word in words]
        return
    types = [schema_type] if isinstance(schema_type, str) else schema_type
    yield name, _parse_scalar(name, argument, types, schema)


def _parse_objects(name: str, elements: Any, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a list of objects with their members, without those that are null."""
    maximum = schema["maxItems"]
    members = schema["items"]["properties"]
    is_list = isinstance(elements, list) and len(elements) <= maximum
    if not is_list or not all(isinstance(element, dict) for element in elements):
        raise ToolArgumentError(f"{name} must be a list of at most {maximum} objects with {', '.join(members)}.")
    objects = []
    for element in elements:
        parsed = {}
        for member, value in element.items():
            if member not in members:
                hint = _suggest(list_similar(member, members, 1))
                raise ToolArgumentError(f"{name} have no member {member[:80]}.{hint}")
            if value is not None:
                types = members[member]["type"]
                types = [types] if isinstance(types, str) else types
                parsed[member] = _parse_scalar(f"{member} in {name}", value, types, members[member])
        objects.append(parsed)
    return objects


def _parse_scalar(name: str, argument: Any, types: Sequence[str], schema: Mapping[str, Any]) -> Any:
    """Return a value of one of these types. A number or a boolean may also be text, as models write them."""
    if isinstance(argument, float) and argument.is_integer() and "integer" in types:
        argument = int(argument)
    if not isinstance(argument, str) and not any(_has_type(argument, type_name) for type_name in types):
        raise ToolArgumentError(f"{name} must be of type {' or '.join(types)}, not {type(argument).__name__}.")
    if len(str(argument)[: MAX_ARGUMENT_CHARACTERS + 1]) > MAX_ARGUMENT_CHARACTERS:
        raise ToolArgumentError(f"{name} is longer than {MAX_ARGUMENT_CHARACTERS:,} characters.")
    choices = schema.get("enum")
    if choices and argument not in choices and isinstance(argument, str):
        listed_choices = ", ".join(map(str, choices[:MAX_LISTED_CHOICES]))
        list_candidates = list_similar_metrics if name in METRIC_ARGUMENTS else list_similar
        hint = _suggest(list_candidates(argument, map(str, choices), 1))
        raise ToolArgumentError(f"{name} must be one of {listed_choices}.{hint}")
    return argument


def _has_type(argument: Any, type_name: str) -> bool:
    # In Python a bool is an int, but in JSON true is not a number.
    is_boolean_as_expected = isinstance(argument, bool) == (type_name == "boolean")
    return isinstance(argument, _PYTHON_TYPES[type_name]) and is_boolean_as_expected


def _suggest(names: Sequence[str]) -> str:
    return f" Did you mean {', '.join(names)}?" if names else ""


def _join_conditions(conditions: Any) -> str:
    """Return the parameter of the screen for a list of conditions. Raise ToolArgumentError for anything else."""
    is_list = isinstance(conditions, list) and 0 < len(conditions) <= MAX_LIST_WORDS
    if not is_list or not all(isinstance(condition, str) for condition in conditions):
        raise ToolArgumentError(f"{_WHERE_ERROR}.")
    return ",".join(conditions)


@cache
def get_sql_views() -> Mapping[str, str]:
    """Return the columns of each view of the SQL tool, from the description of its query: ``"symbol, date, open"``."""
    description = get_operations()["post_sql_proxy"].body_members["query"]["description"]
    return dict(re.findall(r"(\w+)\(([a-z0-9_, ]+)\)", description))


def describe_queried_views(query: str) -> str:
    """Return a sentence with the columns of the views that a query names, or with the names of all views."""
    views = get_sql_views()
    words = set(re.findall(r"\w+", query.lower()))
    columns = [f"{name}({view_columns})" for name, view_columns in views.items() if name in words]
    return f"Columns: {'; '.join(columns)}." if columns else f"Views: {', '.join(views)}."


@cache
def _load_file() -> dict[str, Any]:
    return tomllib.loads((get_package_folder("finapi.mcp") / "tools.toml").read_text("utf-8"))


@cache
def get_tools() -> Mapping[str, ContextTool]:
    """Return all tools by name, in the order of the file."""
    file = _load_file()
    tools = {}
    for name, row in file["tools"].items():
        fields = {**row, "short_descriptions": {**file["short_descriptions"], **row.get("short_descriptions", {})}}
        for field_name in ("arguments", "required", "row_members", "dropped_members"):
            fields[field_name] = tuple(fields.get(field_name, ()))
        tools[name] = ContextTool(name=name, **fields)
    return tools


@cache
def get_price_figures() -> frozenset[str]:
    """Return the names of figures that are computed from prices."""
    return frozenset(_load_file()["price_figures"])
