"""A cell of a series: a figure with what makes it, or a hole with its reason."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from finapi.market.book import Entry, Key

# What a figure is made of: which filing, which line, which sign.
Operand = tuple[int, Key, Entry]


class Figure(NamedTuple):
    """A value with what makes it. ``line`` tells which concepts, so that only like is subtracted from like.

    ``place`` is the filing that tells it (of a derived one the last filed of them); ``method`` is "reported",
    "mapped" (not the first tag of the mapping, or a formula) or "derived"; ``rule`` says how it was derived.
    """

    value: Decimal
    line: tuple[str, ...]
    tier: int
    place: int
    method: str
    operands: tuple[Operand, ...]
    rule: str = ""


class Hole(NamedTuple):
    """No figure, and why: ``status`` is "hole", or "nm" for one that would mean nothing."""

    reason: str
    status: str = "hole"


Cell = Figure | Hole
