"""Parameters as the routes declare them, and their strict readers (CONTRACT 2).

A route's declaration is the one place that says what a parameter is: the reader and ``/openapi.json`` both
come from it. Unknown query names are ignored; a value that is not of its type is 400 INVALID_PARAM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from finapi.errors import invalid_param

# The longest value that any parameter can need; the rest is somebody's experiment.
MAX_LENGTH = 1_000

Kind = Literal["text", "integer", "boolean", "date"]


@dataclass(frozen=True, slots=True)
class Param:
    """A path or query parameter. ``least`` and ``most`` bound an integer; ``repeatable`` yields a tuple."""

    name: str
    kind: Kind = "text"
    place: Literal["path", "query"] = "query"
    default: Any = None
    required: bool = False
    allowed: tuple[str, ...] = ()
    repeatable: bool = False
    least: int | None = None
    most: int | None = None
    help: str = ""
    example: str = ""

    def read(self, text: str) -> Any:
        """``text`` as this parameter's type, or INVALID_PARAM that names it and what was expected."""
        if len(text) > MAX_LENGTH or "\0" in text:
            raise invalid_param(self.name, f"{self.name} is too long or holds a NUL.", expected=self.kind)
        if self.allowed:
            if text not in self.allowed:
                listed = ", ".join(self.allowed)
                raise invalid_param(
                    self.name, f"{self.name} must be one of {listed}.", allowed=list(self.allowed)
                )
            return text
        return _READERS[self.kind](self, text)


def read_all(
    params: Sequence[Param], path: Mapping[str, str], query: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Every declared parameter by name, defaults filled in; INVALID_PARAM for the first that is wrong."""
    values: dict[str, Any] = {}
    for param in params:
        given = [path[param.name]] if param.place == "path" else query.get(param.name, [])
        if not given:
            if param.required:
                raise invalid_param(param.name, f"{param.name} is required.", expected=param.kind)
            values[param.name] = () if param.repeatable else param.default
        elif param.repeatable:
            values[param.name] = tuple(param.read(text) for text in given)
        elif len(given) > 1:
            raise invalid_param(param.name, f"{param.name} is given more than once.", expected="one value")
        else:
            values[param.name] = param.read(given[0])
    return values


def _text(param: Param, text: str) -> str:
    if not text.strip():
        raise invalid_param(param.name, f"{param.name} is empty.", expected="text")
    return text


def _integer(param: Param, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise invalid_param(param.name, f"{param.name} must be a whole number.", expected="integer")
    number = int(text)
    if (param.least is not None and number < param.least) or (param.most is not None and number > param.most):
        bounds = "".join(
            f" {word} {bound}"
            for word, bound in (("from", param.least), ("to", param.most))
            if bound is not None
        )
        raise invalid_param(param.name, f"{param.name} must be{bounds}.", expected=f"integer{bounds}")
    return number


def _boolean(param: Param, text: str) -> bool:
    if text not in ("true", "false"):
        raise invalid_param(param.name, f"{param.name} must be true or false.", allowed=["true", "false"])
    return text == "true"


def _date(param: Param, text: str) -> str:
    try:
        # fromisoformat alone would also take 20240131 and week dates.
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise invalid_param(
            param.name, f"{param.name} must be a date, YYYY-MM-DD.", expected="date YYYY-MM-DD"
        ) from None


_READERS: dict[Kind, Any] = {"text": _text, "integer": _integer, "boolean": _boolean, "date": _date}
