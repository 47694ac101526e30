"""The cells of a series: a figure with its origin, or a missing one with its reason code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.market.financials import reasons
from finapi.market.financials.fact_book import PeriodKey, Vintage

Status = Literal["value", "hole", "nm"]
Method = Literal["reported", "mapped", "derived"]
# The marks of a figure, which are also members of rows that list the marked figures:
# - sign_corrected: a payment or expense that is tagged negative, and that the filing's sums prove to be positive.
# - inconsistent: the figure contradicts other figures, or is a negative payment or expense without such a proof.
# - unit_inverted: earnings per share that are tagged in shares/USD.
# - reported_by_class: the sum of the figures of all classes of shares.
# - definition_changed: the figure has another definition than the rest of the series.
# - conflicting_values: the filing also states another number for the figure, with the same precision.
Mark = Literal[
    "sign_corrected", "inconsistent", "unit_inverted", "reported_by_class", "definition_changed", "conflicting_values"
]


class Operand(NamedTuple):
    """A fact that a figure is computed from; ``sign`` is 1 if it is added and -1 if it is subtracted."""

    sign: int
    period_key: PeriodKey
    vintage: Vintage


class Figure(NamedTuple):
    """A value and its origin."""

    value: Decimal
    # The mapped concepts under which it is reported, with signs for a formula. Only figures with the same concepts are
    # added or subtracted.
    concepts: tuple[str, ...]
    priority: int  # The priority of its rule; 1 is the best.
    filing_index: int  # The filing that reports it; for a derived figure, the last filed one of its operands.
    method: Method  # "mapped": by another tag than the first, or by a formula.
    operands: tuple[Operand, ...]
    derivation: str = ""
    is_from_note: bool = False  # True if it is known not to be on the face of its statement.
    is_estimated: bool = False  # Implied by reported figures, not computed from them exactly.
    marks: tuple[Mark, ...] = ()  # What a reader must know before using the value, without repetition.

    @property
    def status(self) -> Status:
        """The status of a cell that has a figure."""
        return "value"

    def add_mark(self, mark: Mark) -> Figure:
        """Return the figure with a further mark."""
        return self if mark in self.marks else self._replace(marks=(*self.marks, mark))


class Missing(NamedTuple):
    """A cell without a figure."""

    reason: str  # A code of ``reasons.CATALOGUE``.
    line_label: str = ""  # The label of a line that may be the figure, or "".

    @property
    def status(self) -> Status:
        """Return "hole", or "nm" if a figure would be meaningless."""
        return reasons.CATALOGUE[self.reason].status


Cell = Figure | Missing


def join_marks(figures: Iterable[Figure]) -> tuple[Mark, ...]:
    """Return the marks of all figures that another one is computed from."""
    return tuple(dict.fromkeys(mark for figure in figures for mark in figure.marks))


def to_json_number(value: Decimal) -> Decimal:
    """Return a value for JSON. Integers become int, which is written several times as fast."""
    integer = int(value)
    return integer if integer == value else value  # type: ignore[return-value]


def find_value(cell: Cell) -> Decimal | None:
    """Return the value of a cell for JSON, or None if it is missing."""
    return to_json_number(cell.value) if isinstance(cell, Figure) else None


class HoleReason(TypedDict):
    """The reason why a figure is null."""

    status: Literal["hole", "nm"]
    reason_code: str
    line: NotRequired[str]


def build_holes(cells: Mapping[str, Cell | Decimal]) -> dict[str, HoleReason]:
    """Return the reasons of the missing cells, by key."""
    holes: dict[str, Any] = {}
    for key, cell in cells.items():
        if isinstance(cell, Missing):
            holes[key] = {"status": cell.status, "reason_code": cell.reason}
            if cell.line_label:
                holes[key]["line"] = cell.line_label
    return holes


# ---- precision

# If a source (such as companyfacts) does not state the precision of a figure, it is inferred from trailing zeros, up to
# millions.
MAX_TRAILING_ZEROS = 6
# Bounds of the decimal places of a figure. Exact figures ("INF") have the maximum.
MIN_DECIMALS, MAX_DECIMALS = -30, 400

HALF = Decimal("0.5")


def compute_rounding(figure: Figure) -> Decimal:
    """Return the maximum rounding error of a figure: half a unit of the last decimal place of each operand."""
    rounding = Decimal(0)
    for operand in figure.operands:
        vintage = operand.vintage
        rounding += HALF.scaleb(-count_decimals(vintage.value, vintage.decimals))
    return rounding


def count_decimals(value: str, decimals: str | None) -> int:
    """Return the number of exact decimal places of a figure, as the filing states or else by its trailing zeros.

    2 means cents and -6 means millions. A filing may state "INF" for an exact figure.
    """
    if decimals == "INF":
        return MAX_DECIMALS
    if decimals is not None and re.fullmatch(r"[-+]?[0-9]{1,4}", decimals):
        return max(MIN_DECIMALS, min(MAX_DECIMALS, int(decimals)))
    integer, _, fraction = value.partition(".")
    if fraction:
        return len(fraction)
    significant = integer.rstrip("0")
    if not significant.strip("-"):
        return 0
    return -min(MAX_TRAILING_ZEROS, len(integer) - len(significant))
