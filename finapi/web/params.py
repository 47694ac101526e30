"""Parameters as the routes declare them, and their strict readers (CONTRACT 2).

A route's declaration is the one place that says what a parameter is: the reader and ``/openapi.json`` both
come from it. Unknown query names are ignored; a value that is not of its type is 400 INVALID_PARAM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from finapi import mail, passwords
from finapi.errors import invalid_param

# The longest value that any parameter can need; the rest is somebody's experiment.
MAX_LENGTH = 1_000

Kind = Literal["text", "integer", "number", "boolean", "date", "words"]

# Nothing that is counted or paid here has more digits.
GREATEST = 10**15
# A whole number that is not clamped has at most nine digits.
GREATEST_INTEGER = 999_999_999

# More than any list of tickers, forms or metrics that one call can mean.
MAX_WORDS = 200


_Number = TypeVar("_Number", int, Decimal)


@dataclass(frozen=True, slots=True)
class Param:
    """A path or query parameter. ``least`` and ``most`` bound a number; ``repeatable`` yields a tuple.

    With ``open`` the ``allowed`` values are those known beforehand, and the handler judges any other.
    "number" reads a Decimal, "words" a comma-separated list as a tuple without blanks and repeats. With
    ``clamp`` an integer out of its bounds is brought within them instead of refused ("above": only at the top).
    """

    name: str
    kind: Kind = "text"
    place: Literal["path", "query"] = "query"
    default: Any = None
    required: bool = False
    allowed: tuple[str, ...] = ()
    repeatable: bool = False
    least: int | None = None
    most: int | None = None
    clamp: bool | Literal["above"] = False
    open: bool = False
    # An empty value is none given: ``wire.json`` has it as the default.
    empty: bool = False
    help: str = ""
    example: str = ""

    def read(self, text: str) -> Any:
        """``text`` as this parameter's type, or INVALID_PARAM that names it and what was expected."""
        if len(text) > MAX_LENGTH or "\0" in text:
            raise invalid_param(self.name, f"{self.name} is too long or holds a NUL.", expected=self.kind)
        if self.allowed and self.kind != "words" and not self.open:
            return _one_of(self, text)
        return _READERS[self.kind](self, text)


def read_all(
    params: Sequence[Param], path: Mapping[str, str], query: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Every declared parameter by name, defaults filled in; INVALID_PARAM for the first that is wrong."""
    values: dict[str, Any] = {}
    for param in params:
        given = [path[param.name]] if param.place == "path" else query.get(param.name, [])
        if not given or (param.empty and given == [""]):
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


def _one_of(param: Param, text: str) -> str:
    if text not in param.allowed:
        listed = ", ".join(param.allowed)
        raise invalid_param(param.name, f"{param.name} must be one of {listed}.", allowed=list(param.allowed))
    return text


def _text(param: Param, text: str) -> str:
    if not text.strip():
        raise invalid_param(param.name, f"{param.name} is empty.", expected="text")
    return text


def _integer(param: Param, text: str) -> int:
    # More digits than a number of ours has are only of use to be clamped.
    digits = r"-?[0-9]+" if param.clamp else r"-?[0-9]{1,9}"
    if not re.fullmatch(digits, text):
        raise invalid_param(param.name, f"{param.name} must be a whole number.", expected="integer")
    number = int(text)
    if not param.clamp:
        return _bounded(param, number)
    if param.least is not None and number < param.least:
        number = _bounded(param, number) if param.clamp == "above" else param.least
    return number if param.most is None else min(number, param.most)


def _number(param: Param, text: str) -> Decimal:
    # As JSON writes a number, but never so many digits that reading them is work.
    if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?", text):
        raise invalid_param(param.name, f"{param.name} must be a decimal number.", expected="number")
    number = Decimal(text)
    if abs(number) > GREATEST:
        raise invalid_param(param.name, f"{param.name} is too large.", expected=f"at most {GREATEST}")
    return _bounded(param, number)


def _bounded(param: Param, number: _Number) -> _Number:
    if (param.least is not None and number < param.least) or (param.most is not None and number > param.most):
        bounds = "".join(
            f" {word} {bound}"
            for word, bound in (("from", param.least), ("to", param.most))
            if bound is not None
        )
        raise invalid_param(param.name, f"{param.name} must be{bounds}.", expected=f"{param.kind}{bounds}")
    return number


def _boolean(param: Param, text: str) -> bool:
    if text not in ("true", "false"):
        raise invalid_param(param.name, f"{param.name} must be true or false.", allowed=["true", "false"])
    return text == "true"


def _words(param: Param, text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words or len(words) > MAX_WORDS:
        raise invalid_param(
            param.name,
            f"{param.name} must be 1 to {MAX_WORDS} values with commas between them.",
            expected="comma-separated list",
        )
    if param.allowed:
        for word in words:
            _one_of(param, word)
    return words


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


_READERS: dict[Kind, Any] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "words": _words,
}


# ---- bodies

FieldKind = Literal[
    "text",
    "word",
    "email",
    "new_password",
    "boolean",
    "integer",
    "number",
    "date",
    "url",
    "texts",
    "words",
    "object",
]

# Longer than any token or password that can be right; what is longer is refused before it is looked at.
MAX_TEXT = 10_000
MAX_URL = 2_000


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a JSON body; unknown members are ignored.

    "word" is a text that may also stand as a whole number, as years do; a "boolean" may be ``allowed`` one of its
    values only; "texts" is a list of ``allowed`` texts, "words" a
    list of any; ``least`` and ``most`` bound an "integer" or a "number", which is read as a Decimal.
    """

    name: str
    kind: FieldKind
    required: bool = False
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    help: str = ""
    example: Any = ""

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


def _body_choice(field: Field, value: Any) -> str:
    text = _body_text(field, value)
    if field.allowed and text not in field.allowed:
        listed = list(field.allowed)
        raise invalid_param(field.name, f"{field.name} must be one of {', '.join(listed)}.", allowed=listed)
    return text


def _body_text(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise invalid_param(field.name, f"{field.name} must be a text that is not empty.", expected="text")
    if len(value) > MAX_TEXT:
        limit = f"at most {MAX_TEXT:,} characters"
        raise invalid_param(field.name, f"{field.name} may have {limit}.", expected=limit)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid_param(field.name, f"{field.name} is not valid Unicode.", expected="text") from None
    return value


def _body_word(field: Field, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _body_text(field, value)


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
    known = field.allowed or ("true", "false")
    if not isinstance(value, bool) or str(value).lower() not in known:
        raise invalid_param(field.name, f"{field.name} must be {' or '.join(known)}.", expected="boolean")
    return value


def _body_integer(field: Field, value: Any) -> int:
    # JSON has one kind of number: 42.0 is the integer 42.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not _within(field, value):
        wanted = "a whole number" + _bounds(field)
        raise invalid_param(field.name, f"{field.name} must be {wanted}.", expected=wanted)
    return value


def _body_number(field: Field, value: Any) -> Decimal:
    # str(): the shortest text that means this number, as the caller wrote it.
    number = Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not number.is_finite() or not _within(field, number):
        wanted = "a number" + _bounds(field)
        raise invalid_param(field.name, f"{field.name} must be {wanted}.", expected=wanted)
    return number


def _within(field: Field, number: int | Decimal) -> bool:
    least = -GREATEST if field.least is None else field.least
    most = GREATEST if field.most is None else field.most
    return least <= number <= most


def _bounds(field: Field) -> str:
    return "".join(
        f" {word} {bound}" for word, bound in (("from", field.least), ("to", field.most)) if bound is not None
    )


def _body_date(field: Field, value: Any) -> str:
    return _date(Param(field.name, "date"), _body_text(field, value))


def _body_words(field: Field, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MAX_WORDS:
        raise invalid_param(
            field.name, f"{field.name} must be a list of at most {MAX_WORDS} texts.", expected="list of texts"
        )
    return [_body_text(field, item) for item in value]


def _body_object(field: Field, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_param(field.name, f"{field.name} must be an object.", expected="object")
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
    "text": _body_choice,
    "word": _body_word,
    "email": _body_email,
    "new_password": _body_new_password,
    "boolean": _body_boolean,
    "integer": _body_integer,
    "number": _body_number,
    "date": _body_date,
    "url": _body_url,
    "texts": _body_texts,
    "words": _body_words,
    "object": _body_object,
}
