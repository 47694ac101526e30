"""Number formats of pages: separators, scales such as millions, parentheses around negative numbers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

Number = Decimal | int


class Scale(NamedTuple):
    """A power of ten by which the amounts of a table are shortened."""

    exponent: int
    name: str

    def describe(self, unit: str) -> str:
        """Return the words above a table, for example "Millions of USD"."""
        return f"{self.name} of {unit}" if self.exponent else unit


MILLIONS = Scale(6, "Millions")
THOUSANDS = Scale(3, "Thousands")
ONES = Scale(0, "")

# The suffixes of short amounts with their powers of ten.
_SHORT_SUFFIXES = ((12, "tn"), (9, "bn"), (6, "m"), (3, "k"))


def choose_scale(numbers: Iterable[Number | None]) -> Scale:
    """Return the scale at which the number of the greatest size has at least three digits."""
    maximum = max((_get_size(number) for number in numbers if number is not None), default=Decimal(0))
    for scale in (MILLIONS, THOUSANDS):
        if maximum.scaleb(-scale.exponent) >= 100:
            return scale
    return ONES


def format_money(number: Number, scale: Scale = ONES) -> str:
    """Return an amount at a scale, without decimals unless it would be rounded to nothing."""
    amount = _get_size(number).scaleb(-scale.exponent)
    decimals = 1 if 0 < amount < 1 and scale.exponent else 0
    return _add_sign(number, f"{amount:,.{decimals}f}")


def format_number(number: Number) -> str:
    """Return a number with separators and all of its decimals."""
    return _add_sign(number, f"{_get_size(number):,f}")


def format_per_share(number: Number) -> str:
    """Return an amount of money per share, with two decimals."""
    return _add_sign(number, f"{_get_size(number):,.2f}")


def format_percentage(number: Number) -> str:
    """Return a ratio as a percentage: 0.153 as "15.3 %"."""
    return _add_sign(number, f"{_get_size(number) * 100:,.1f} %")


def format_multiple(number: Number) -> str:
    """Return a ratio as a multiple with two decimals."""
    return _add_sign(number, f"{_get_size(number):,.2f}")


def format_one_decimal(number: Number) -> str:
    """Return a number with separators and one decimal."""
    return _add_sign(number, f"{_get_size(number):,.1f}")


def format_short(number: Number, unit: str = "") -> str:
    """Return an amount in few characters for a headline or an axis, for example "391 bn"."""
    size = _get_size(number)
    for exponent, suffix in _SHORT_SUFFIXES:
        if size >= 10**exponent:
            digits = f"{size.scaleb(-exponent):,.1f}".removesuffix(".0")
            return _add_sign(number, f"{digits} {suffix}{unit}")
    digits = f"{size:,.2f}".rstrip("0").rstrip(".")
    return _add_sign(number, digits) + unit


def _get_size(number: Number) -> Decimal:
    return Decimal(number).copy_abs()


def _add_sign(number: Number, digits: str) -> str:
    return f"({digits})" if number < 0 else digits
