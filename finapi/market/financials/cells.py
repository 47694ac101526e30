"""The cells of a series: a figure with its origin, or a missing one with its reason code."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.market.financials import reasons
from finapi.market.financials.fact_book import PeriodKey, Vintage

Status = Literal["value", "hole", "nm"]
Method = Literal["reported", "mapped", "derived"]


class Operand(NamedTuple):
    """A fact that a figure is computed from; ``sign`` is 1 if it is added and -1 if it is subtracted."""

    sign: int
    period_key: PeriodKey
    vintage: Vintage


class Figure(NamedTuple):
    """A value and its origin."""

    value: Decimal
    # The mapped concepts that it is reported under, with signs for a formula. Figures are only added to and subtracted
    # from figures with the same concepts.
    concepts: tuple[str, ...]
    priority: int  # Of its rule: 1 is the best.
    filing_index: int  # The filing that reports it; of a derived figure the one filed last.
    method: Method  # "mapped": by another tag than the first, or by a formula.
    operands: tuple[Operand, ...]
    derivation: str = ""
    is_from_note: bool = False  # Known not to be on its statement.
    is_estimated: bool = False  # Implied by reported figures, not computed from them exactly.

    @property
    def status(self) -> Status:
        """The status of a cell that has a figure."""
        return "value"


class Missing(NamedTuple):
    """A cell without a figure."""

    reason: str  # A code of ``reasons.CATALOGUE``.
    line_label: str = ""  # A line of the statement that may be the figure.

    @property
    def status(self) -> Status:
        """Return "hole", or "nm" if a figure would be meaningless."""
        return reasons.CATALOGUE[self.reason].status


Cell = Figure | Missing


def to_json_number(value: Decimal) -> Decimal:
    """Return a value as it is served: an integer as an int, which is written to JSON several times as fast."""
    integer = int(value)
    return integer if integer == value else value  # type: ignore[return-value]


def find_value(cell: Cell) -> Decimal | None:
    """Return the value of a cell as it is served, or None if it is missing."""
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
