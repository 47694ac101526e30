"""Signatures and docstrings of the client's methods at run time, for ``help``, IPython and other shells."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any, Literal

from finapi.client.operations import ApiOperation, get_operation

TYPES: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}
TIMEOUT_DESCRIPTION = "Seconds until an answer begins, instead of the client's timeout."
KEY_DESCRIPTION = "Calls with the same key are performed once. Default: a new key for each call."


def describe_method(function: Any, operation: ApiOperation) -> Any:
    """Give a function the name, the signature and the docstring of an operation, and return it."""
    function.__name__ = operation.name
    function.__qualname__ = operation.name
    function.__signature__ = build_signature(operation.name)
    function.__doc__ = render_docstring(operation.name)
    return function


@cache
def build_signature(operation_name: str) -> inspect.Signature:
    """Return the signature of an operation's method: required arguments first, all of them by keyword."""
    operation = get_operation(operation_name)
    arguments = []
    for name, schema in _list_schemas(operation).items():
        is_required = name in operation.required_names
        annotation = build_annotation(schema)
        if not is_required:
            annotation = annotation | None
        default = inspect.Parameter.empty if is_required else schema.get("default")
        arguments.append((_get_argument_name(name), default, annotation))
    if operation.is_idempotent:
        arguments.append(("idempotency_key", None, str | None))
    arguments.append(("timeout", None, float | None))
    arguments.sort(key=lambda argument: argument[1] is not inspect.Parameter.empty)
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword_only, default=default, annotation=annotation)
        for name, default, annotation in arguments
    ]
    return inspect.Signature(parameters)


def build_annotation(schema: Mapping[str, Any]) -> Any:
    """Return the Python type for a parameter's JSON Schema."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    type_names = schema.get("type", [])
    annotation: Any = None
    for type_name in [type_names] if isinstance(type_names, str) else type_names:
        if type_name == "array":
            alternative: Any = Sequence[build_annotation(schema.get("items", {}))]  # type: ignore[misc]
        elif schema.get("format") == "date":
            alternative = str | date
        else:
            alternative = TYPES.get(type_name)
        annotation = alternative if annotation is None else annotation | alternative
    return Any if annotation is None else annotation


@cache
def render_docstring(operation_name: str) -> str:
    """Return the docstring of an operation's method: its summary, its cost and its arguments."""
    operation = get_operation(operation_name)
    tokens = "1 token" if operation.cost == 1 else f"{operation.cost} tokens"
    lines = [f"{operation.summary}.", "", f"{operation.route} costs {tokens} by default.", "", "Arguments:"]
    for name, schema in _list_schemas(operation).items():
        required = "Required. " if name in operation.required_names else ""
        description = schema.get("description", "")
        lines.append(f"    {_get_argument_name(name)}: {required}{description}".rstrip().removesuffix(":"))
    if operation.is_idempotent:
        lines.append(f"    idempotency_key: {KEY_DESCRIPTION}")
    lines.append(f"    timeout: {TIMEOUT_DESCRIPTION}")
    if operation.rows_path is not None:
        lines += ["", f'Every row, page after page: client.rows("{operation.name}", ...).']
    return "\n".join(lines)


def _list_schemas(operation: ApiOperation) -> dict[str, Mapping[str, Any]]:
    return {**operation.parameters, **operation.body_members}


def _get_argument_name(name: str) -> str:
    """Return the name of an argument; a keyword such as ``from`` becomes ``from_``."""
    return f"{name}_" if keyword.iskeyword(name) else name
