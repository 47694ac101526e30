"""JSON as finapi writes it: UTF-8, compact, no NaN, and a Decimal with every digit that it has."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

# Digits of a Decimal that are written out as a whole number; beyond them it is written with an exponent.
MAX_DIGITS = 60

# A Decimal that no float means is written as a text under this mark, which no caller can know, and the
# quotes are taken off it: the standard library's encoder has no other way to write such a number.
_EXACT = f"exact-{uuid4().hex}:"
_EXACT_NUMBER = re.compile(f'"{_EXACT}([^"]*)"')


def dumps(value: Any) -> bytes:
    """``value`` as JSON; TypeError for what JSON has no word for."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_number)
    if _EXACT in text:
        text = _EXACT_NUMBER.sub(r"\1", text)
    return text.encode()


def _number(value: Any) -> Any:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError(f"{type(value).__name__} {value!r} is not JSON")
    if value == value.to_integral_value() and value.adjusted() < MAX_DIGITS:
        return int(value)
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else f"{_EXACT}{value}"
