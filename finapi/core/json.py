"""JSON: the writer of everything that finapi stores, signs and answers, and the strict reader of foreign documents.

Numbers are exact both ways: a Decimal is written with all its digits, and :func:`loads` reads every fraction as a
Decimal. Lines for terminals, logs and the control socket are written by ``json.dumps`` of the standard library, because
its plain ASCII can be read in any encoding.

The standard library's encoder cannot write a Decimal, or an array whose items are computed while it is written. Both
are first written as a text with a random mark, which is replaced afterwards. No caller can know the mark, so no text of
a caller is mistaken for one.
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

# An integral Decimal with more digits is written with an exponent.
MAX_INTEGER_DIGITS = 60
# A double has at least 15 exact decimal digits, so a number of as many characters equals the float of its text.
EXACT_FLOAT_CHARACTERS = 15
# Python parses no integer with more (sys.set_int_max_str_digits), as the time grows with the square of the digits.
MAX_PARSED_DIGITS = 4_300

_DECIMAL_MARK = f"exact-{os.urandom(16).hex()}:"
_ITERATOR_MARK = f"items-{os.urandom(16).hex()}"
_MARKED_DECIMAL = re.compile(f'"{_DECIMAL_MARK}([^"]*)"')


def text(value: Any) -> str:
    """Return a value as compact JSON. Raise TypeError for a value that JSON cannot express, such as NaN."""
    return _unmark_decimals(_ENCODER.encode(value))


def dumps(value: Any) -> bytes:
    """Return a value as compact JSON, encoded in UTF-8. Raise TypeError as :func:`text` does."""
    return text(value).encode()


def iter_chunks(value: Any) -> Iterator[bytes]:
    """Yield the bytes that :func:`dumps` would return, in chunks.

    An iterator inside of ``value`` is written as an array. Its items are computed one by one while they are written, so
    that only one of them is in memory.
    """
    iterators: list[Iterator[Any]] = []

    def default(member: Any) -> Any:
        if not isinstance(member, Iterator):
            return _encode_decimal(member)
        iterators.append(member)
        return _ITERATOR_MARK

    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)
    head, *tails = encoder.encode(value).split(f'"{_ITERATOR_MARK}"')
    yield _unmark_decimals(head).encode()
    for iterator, tail in zip(iterators, tails, strict=True):
        yield b"["
        for index, member in enumerate(iterator):
            if index:
                yield b","
            yield from iter_chunks(member)
        yield b"]" + _unmark_decimals(tail).encode()


def to_json_number(value: Decimal) -> int | float | str:
    """Return a finite Decimal as it is written: an integer, the float that equals it, or else its own digits."""
    digits = str(value)
    # Nearly all figures and prices are so short, and this is three times as fast as the comparisons below.
    if len(digits) <= EXACT_FLOAT_CHARACTERS and "E" not in digits:
        return parse_json_number(digits)  # type: ignore[return-value]
    if value == value.to_integral_value() and value.adjusted() < MAX_INTEGER_DIGITS:
        return int(value)
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else digits


def parse_json_number(digits: str) -> int | float | Decimal:
    """Return the number of a decimal text without an exponent, which is only written as JSON or CSV.

    It is the int or the float that is written with the same digits, because the encoder writes these itself, or else a
    Decimal.
    """
    if len(digits) > EXACT_FLOAT_CHARACTERS:
        return Decimal(digits)
    if "." not in digits:
        return int(digits)
    number = float(digits)
    return int(number) if number.is_integer() else number


def _encode_decimal(value: Any) -> Any:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError(f"{type(value).__name__} {value!r} is not JSON")
    number = to_json_number(value)
    return f"{_DECIMAL_MARK}{number}" if isinstance(number, str) else number


def _unmark_decimals(document: str) -> str:
    return _MARKED_DECIMAL.sub(r"\1", document) if _DECIMAL_MARK in document else document


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_encode_decimal)

# Reads JSON that finapi itself stored. Every fraction becomes a Decimal.
loads = json.JSONDecoder(parse_float=Decimal).decode


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is beyond the range of a double")
    return number


def parse_bounded_int(text: str) -> int:
    """Return an integer. Raise ValueError for one with more digits than a caller has a use for."""
    if len(text) > MAX_PARSED_DIGITS:
        raise ValueError(f"a number has more than {MAX_PARSED_DIGITS:,} digits")
    return int(text)


def parse(document: bytes, name: str, *, parse_float: Callable[[str], Any] = _parse_finite) -> Any:
    """Parse a JSON document from an outside source and return its value.

    Raise ParseError, with ``name`` as the file, for a document that is not UTF-8 or not JSON, is nested too deeply, or
    contains NaN, an infinity, or the same key twice in an object (two readers could understand that differently).
    """
    try:
        return build_strict_decoder(parse_float).decode(document.decode("utf-8"))
    except RecursionError:
        raise ParseError(name, "", "JSON nested too deep") from None
    except json.JSONDecodeError as error:
        raise ParseError(name, f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ParseError(name, f"byte {error.start}", "not UTF-8") from None
    except ValueError as error:
        raise ParseError(name, "", f"not JSON: {error}") from None


def build_strict_decoder(
    parse_float: Callable[[str], Any] = _parse_finite,
    *,
    parse_int: Callable[[str], Any] | None = None,
    unique: bool = True,
) -> json.JSONDecoder:
    """Return the decoder of :func:`parse`, for a document that is decoded in parts.

    If ``unique`` is False, the decoder accepts a key that occurs twice in an object, and the caller has to refuse it.
    This is faster, because the check is a call of a Python function for each object.
    """
    hook = _build_unique if unique else None
    return json.JSONDecoder(
        object_pairs_hook=hook, parse_float=parse_float, parse_int=parse_int, parse_constant=_refuse_constant
    )


def _build_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
