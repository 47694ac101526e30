"""The value that a claim states: the amount, and the precision that its own digits have.

"394.3 billion" is true for every figure that rounds to it, so its margin is half of 0.1 billion. Zeros at the end of a
whole number count as rounded, except that two digits always count: "390 billion" and "400 billion" both have a margin
of 5 billion.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

# Whole numbers with zeros at the end have at least this many digits that are not rounded.
MIN_INTEGER_DIGITS = 2
MAX_EXPONENT = 30
HALF = Decimal("0.5")

# The power of ten of each word for a scale.
_EXPONENTS_BY_WORD = {
    **dict.fromkeys(("k", "thousand", "thousands"), 3),
    **dict.fromkeys(("m", "mm", "mn", "mio", "mln", "million", "millions"), 6),
    **dict.fromkeys(("b", "bn", "bln", "billion", "billions"), 9),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), 12),
    **dict.fromkeys(("%", "pct", "percent", "per cent"), -2),
    **dict.fromkeys(("bp", "bps", "basis points"), -4),
}
_SCALE_WORDS = "|".join(sorted(_EXPONENTS_BY_WORD, key=len, reverse=True))
_SCALE = re.compile(rf"(?<![\w%])({_SCALE_WORDS})(?![\w%])", re.IGNORECASE)
_MINUS = "-\u2212\u2013"  # A hyphen, a minus sign or a dash.
_NUMBER = re.compile(
    r"(?P<integer>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{0,30})(?:\.(?P<fraction>[0-9]{1,30}))?"
    r"(?:[eE](?P<exponent>[-+]?[0-9]{1,2}))?",
    re.ASCII,
)
_LEADING_CURRENCY = re.compile(r"([A-Z]{3})\s*(?=[-+(0-9.\u2212\u2013])")
_CURRENCY_SIGN = re.compile(r"US\$|[$\u20ac\u00a3\u00a5]")
_PER_SHARE = re.compile(r"(?:/|\bper\b|\ba\b)\s*shares?$", re.IGNORECASE)
_UNITS_BY_WORD = {
    **dict.fromkeys(("dollar", "dollars", "us dollars", "u.s. dollars", "us$", "$"), "USD"),
    **dict.fromkeys(("euro", "euros", "\u20ac"), "EUR"),
    **dict.fromkeys(("share", "shares"), "shares"),
    **dict.fromkeys(("ratio", "pure", "x", "times"), "ratio"),
    **dict.fromkeys(("day", "days"), "days"),
}


class ClaimedValue(NamedTuple):
    """A stated value. It is true for the figures that differ from it by at most the margin."""

    amount: Decimal
    margin: Decimal
    digit_count: int  # The number of digits that count, from the first one that is not zero.

    def scale(self, exponent: int) -> ClaimedValue:
        """Return the value times a power of ten."""
        return self._replace(amount=self.amount.scaleb(exponent), margin=self.margin.scaleb(exponent))

    def negate(self) -> ClaimedValue:
        """Return the value with the opposite sign."""
        return self._replace(amount=-self.amount)

    def agrees_with(self, figure: Decimal) -> bool:
        """Return True if a figure differs from the value by at most the margin."""
        return abs(self.amount - figure) <= self.margin


class ClaimedUnit(NamedTuple):
    """The unit of a claim: ``USD``, ``USD/shares``, ``shares``, ``ratio``, ``days`` or None, and a power of ten."""

    name: str | None
    exponent: int = 0


def parse_unit(text: str) -> ClaimedUnit:
    """Return the unit of a text such as "USD", "USD million", "USD/shares" or "%".

    Raise ValueError for another text.
    """
    words = text.strip()
    exponent = 0
    scale = _SCALE.search(words)
    if scale is not None:
        exponent = _EXPONENTS_BY_WORD[scale[1].lower()]
        words = " ".join([*words[: scale.start()].split(), *words[scale.end() :].split()])
        # "millions of USD", "USD in millions".
        words = words.removeprefix("in ").removeprefix("of ").removesuffix(" in")
    is_per_share = _PER_SHARE.search(words) is not None
    words = _PER_SHARE.sub("", words).strip()
    if not words:
        if scale is None and not is_per_share:
            raise ValueError(text)
        return ClaimedUnit("ratio" if exponent < 0 else None, exponent)
    name = _UNITS_BY_WORD.get(words.lower())
    if name is None and re.fullmatch(r"[A-Za-z]{3}", words, re.ASCII):
        name = words.upper()
    if name is None:
        raise ValueError(text)
    return ClaimedUnit(f"{name}/shares" if is_per_share else name, exponent)


def parse_value(text: str) -> tuple[ClaimedValue, ClaimedUnit]:
    """Return the value and the unit of a text such as "394.3 billion", "$(1,234)", "EUR 5.2m" or "24.5%".

    The exponent of the unit is already in the value. Raise ValueError for a text that is not one amount.
    """
    words = text.strip()
    currency = _LEADING_CURRENCY.match(words)
    if currency is not None:
        words = words[currency.end() :]
    words = _CURRENCY_SIGN.sub("", words, count=1).strip()
    parentheses = re.fullmatch(r"\(([^()]*)\)(.*)", words)
    is_negative = parentheses is not None
    if parentheses is not None:
        words = f"{parentheses[1]} {parentheses[2]}".strip()
    elif words[:1] and words[0] in _MINUS:
        is_negative = True
        words = words[1:].lstrip()
    number = _NUMBER.match(words.removeprefix("+"))
    if number is None or not (number["integer"] or number["fraction"]):
        raise ValueError(text)
    suffix = words.removeprefix("+")[number.end() :].strip()
    unit = parse_unit(suffix) if suffix else ClaimedUnit(None)
    if unit.name is None and currency is not None:
        unit = unit._replace(name=currency[1])
    exponent = int(number["exponent"] or 0) + unit.exponent
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(text)
    value = _build_value(number["integer"].replace(",", ""), number["fraction"] or "", exponent)
    return (value.negate() if is_negative else value), unit


def _build_value(integer: str, fraction: str, exponent: int) -> ClaimedValue:
    """Return the value of some digits before and after the decimal point, times a power of ten."""
    digits = (integer + fraction).lstrip("0")
    rounded_zeros = 0
    if not fraction and digits:
        last_digit = max(MIN_INTEGER_DIGITS, len(digits.rstrip("0")))
        rounded_zeros = max(0, len(digits) - last_digit)
    amount = Decimal(digits or "0").scaleb(exponent - len(fraction))
    if not digits:
        # A zero without decimals is exact.
        margin = HALF.scaleb(exponent - len(fraction)) if fraction else Decimal(0)
    else:
        margin = HALF.scaleb(exponent - len(fraction) + rounded_zeros)
    return ClaimedValue(amount, margin, len(digits) - rounded_zeros)
