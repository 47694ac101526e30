"""Companies by their ratios: the latest fiscal year of each, filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from finapi.market import metrics, ratios
from finapi.market.book import iso
from finapi.market.cells import Hole
from finapi.market.company_books import CompanyBook
from finapi.market.rows import Price, Series

# The names in wire.json: the ratios and the derived figures.
KEYS = (*metrics.mapping().derived, *ratios.catalogue().ratios)


_PLACES = {key: place for place, key in enumerate(KEYS)}


class Latest(NamedTuple):
    """A company's latest fiscal year: of each of the ``KEYS``, in their order, the value or why there is none."""

    period_end: str
    values: tuple[Decimal | Hole, ...]

    def value(self, key: str) -> Decimal | Hole:
        """What is known of a key."""
        return self.values[_PLACES[key]]


@cache
def _shared(hole: Hole) -> Hole:
    """One object for all holes of a kind: every company has dozens, and all companies are kept."""
    return hole


class Bound(NamedTuple):
    """A filter: greater than, less than, each where it is given."""

    gt: Decimal | None
    lt: Decimal | None

    def holds(self, value: Decimal | Hole) -> bool:
        """Whether a value passes; a hole never does."""
        if isinstance(value, Hole):
            return False
        return (self.gt is None or value > self.gt) and (self.lt is None or value < self.lt)


def latest(held: CompanyBook, price: Price | None) -> Latest | None:
    """The values of the last fiscal year that a company reported, as known last; None without any year."""
    rows = Series(held, "A", "latest", price)
    years = [period for period in rows.periods if period.fiscal_period == "FY"]
    if not years:
        return None
    row = rows.row(years[0])
    cells = (row.cell(key) for key in KEYS)
    return Latest(
        iso(years[0].end), tuple(_shared(cell) if isinstance(cell, Hole) else cell.value for cell in cells)
    )


def passes(found: Latest, bounds: Mapping[str, Bound]) -> bool:
    """Whether every filter holds."""
    return all(bound.holds(found.value(key)) for key, bound in bounds.items())


def bounds(params: Mapping[str, Decimal | None], keys: Sequence[str] = KEYS) -> dict[str, Bound]:
    """The filters among parameters named ``roe_gt``, ``roe_lt``."""
    found = {}
    for key in keys:
        gt, lt = params.get(f"{key}_gt"), params.get(f"{key}_lt")
        if gt is not None or lt is not None:
            found[key] = Bound(gt, lt)
    return found
