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
from urllib.parse import urlsplit

from finapi import mail, passwords
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


# ---- bodies

FieldKind = Literal["text", "email", "new_password", "boolean", "url", "texts"]

# Longer than any token or password that can be right; what is longer is refused before it is looked at.
MAX_TEXT = 10_000
MAX_URL = 2_000


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a JSON body; unknown members are ignored."""

    name: str
    kind: FieldKind
    required: bool = False
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    help: str = ""
    example: str = ""

    def read(self, value: Any) -> Any:
        """``value`` as this field's type, or INVALID_PARAM that names it and what was expected."""
        if value is None and self.nullable:
            return None
        return _FIELD_READERS[self.kind](self, value)


def read_body(fields: Sequence[Field], body: Mapping[str, Any]) -> dict[str, Any]:
    """Every declared field that was given, by name; INVALID_PARAM for the first that is wrong or missing."""
    values: dict[str, Any] = {}
    for field in fields:
        if field.name in body:
            values[field.name] = field.read(body[field.name])
        elif field.required:
            raise invalid_param(field.name, f"{field.name} is required.", expected=field.kind)
    return values


def _body_text(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > MAX_TEXT:
        raise invalid_param(field.name, f"{field.name} must be a text that is not empty.", expected="text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid_param(field.name, f"{field.name} is not valid Unicode.", expected="text") from None
    return value


def _body_email(field: Field, value: Any) -> str:
    text = _body_text(field, value).strip().lower()
    try:
        # What no mail can be sent to is no email: the sender's own rule decides.
        mail.address(text)
    except mail.MailError:
        raise invalid_param(field.name, f"{field.name} must be an email address.", expected="email") from None
    return text


def _body_new_password(field: Field, value: Any) -> str:
    text = _body_text(field, value)
    passwords.check_new(text, field.name)
    return text


def _body_boolean(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid_param(field.name, f"{field.name} must be true or false.", expected="boolean")
    return value


def _body_url(field: Field, value: Any) -> str:
    text = _body_text(field, value)
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        fits = fits and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or len(text) > MAX_URL or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise invalid_param(field.name, f"{field.name} must be an http or https URL.", expected="url")
    return text


def _body_texts(field: Field, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item in field.allowed for item in value
    ):
        listed = list(field.allowed)
        raise invalid_param(
            field.name, f"{field.name} must be a list of {', '.join(listed)}.", allowed=listed
        )
    return value


_FIELD_READERS: dict[FieldKind, Any] = {
    "text": _body_text,
    "email": _body_email,
    "new_password": _body_new_password,
    "boolean": _body_boolean,
    "url": _body_url,
    "texts": _body_texts,
}
