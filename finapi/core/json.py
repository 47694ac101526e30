"""JSON: the one writer of what finapi stores, signs and answers, and the one strict reader of what others wrote.

Numbers are exact both ways: a Decimal is written with every digit that it has, and :func:`loads` reads every
fraction as a Decimal. Lines for terminals, logs and the control socket are ``json.dumps`` of the standard library:
plain ASCII, whatever encoding the reader has.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NoReturn

from finapi.core.errors import ParseError

# Digits of a Decimal that are written out as a whole number; beyond them it is written with an exponent.
MAX_INTEGER_DIGITS = 60

# A Decimal that no float means is written as a text under this mark, which no caller can know, and the
# quotes are taken off it: the standard library's encoder has no other way to write such a number.
_EXACT = f"exact-{os.urandom(16).hex()}:"
# And where the items of an iterator are to stand.
_ITEMS = f"items-{os.urandom(16).hex()}"
_EXACT_NUMBER = re.compile(f'"{_EXACT}([^"]*)"')


def text(value: Any) -> str:
    """``value`` as compact JSON without NaN; TypeError for what JSON has no word for."""
    return _exact(_ENCODER.encode(value))


def iter_chunks(value: Any) -> Iterator[bytes]:
    """:func:`dumps` in pieces. An iterator inside of ``value`` is an array whose items are made as they are written:
    one at a time is in memory."""
    waiting: list[Iterator[Any]] = []

    def default(one: Any) -> Any:
        if not isinstance(one, Iterator):
            return _number(one)
        waiting.append(one)
        return _ITEMS

    written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default).encode(
        value
    )
    first, *others = written.split(f'"{_ITEMS}"')
    yield _exact(first).encode()
    for items, after in zip(waiting, others, strict=True):
        yield b"["
        for number, item in enumerate(items):
            yield from (b",",) if number else ()
            yield from iter_chunks(item)
        yield b"]" + _exact(after).encode()


def dumps(value: Any) -> bytes:
    """:func:`text` in UTF-8."""
    return text(value).encode()


def _finite(text: str) -> float:
    """The number that a text is; ValueError for one beyond every double, which would be an infinity."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is beyond the range of a double")
    return number


def parse(data: bytes, name: str, *, parse_float: Callable[[str], Any] = _finite) -> Any:
    """The value of a JSON document that somebody else wrote; ParseError under ``name``, with the place and the reason.

    Refused are what is not UTF-8 or not JSON, what is nested deeper than the interpreter allows, NaN and infinities,
    and a key that occurs twice in one object: two readers could disagree on what it means.
    """
    try:
        return build_strict_decoder(parse_float).decode(data.decode("utf-8"))
    except RecursionError:
        raise ParseError(name, "", "JSON nested too deep") from None
    except json.JSONDecodeError as error:
        raise ParseError(name, f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ParseError(name, f"byte {error.start}", "not UTF-8") from None
    except ValueError as error:
        raise ParseError(name, "", f"not JSON: {error}") from None


def build_strict_decoder(parse_float: Callable[[str], Any] = _finite, *, unique: bool = True) -> json.JSONDecoder:
    """The decoder of :func:`parse`, for a document that is decoded in pieces.

    Without ``unique``, which costs a call for each object, the caller sees to it that no key occurs twice.
    """
    hook = _unique if unique else None
    return json.JSONDecoder(object_pairs_hook=hook, parse_float=parse_float, parse_constant=_refuse_constant)


def _exact(written: str) -> str:
    return _EXACT_NUMBER.sub(r"\1", written) if _EXACT in written else written


def to_json_number(value: Decimal) -> int | float | str:
    """What is written of a finite Decimal: a whole number, the float that means it, else its own text."""
    if value == value.to_integral_value() and value.adjusted() < MAX_INTEGER_DIGITS:
        return int(value)
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else str(value)


def _number(value: Any) -> Any:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError(f"{type(value).__name__} {value!r} is not JSON")
    written = to_json_number(value)
    return f"{_EXACT}{written}" if isinstance(written, str) else written


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_number)

# The reader of what finapi itself stored: every fraction is a Decimal.
loads = json.JSONDecoder(parse_float=Decimal).decode
