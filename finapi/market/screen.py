"""Companies by their ratios: the latest fiscal year of each, filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.market import metrics, ratios
from finapi.market.book import iso
from finapi.market.cells import Figure
from finapi.market.company_books import CompanyBook
from finapi.market.rows import Price, Series

# The names in wire.json: the ratios and the derived figures.
KEYS = (*metrics.mapping().derived, *ratios.catalogue().ratios)


class Latest(NamedTuple):
    """The values of a company's latest fiscal year by key; those without a value are left out."""

    period_end: str
    values: dict[str, Decimal]


class Bound(NamedTuple):
    """A filter: greater than, less than, each where it is given."""

    gt: Decimal | None
    lt: Decimal | None

    def holds(self, value: Decimal | None) -> bool:
        """Whether a value passes; no value never does."""
        if value is None:
            return False
        return (self.gt is None or value > self.gt) and (self.lt is None or value < self.lt)


def latest(held: CompanyBook, price: Price | None) -> Latest | None:
    """The values of the last fiscal year that a company reported, as known last; None without any year."""
    rows = Series(held, "A", "latest", price)
    years = [period for period in rows.periods if period.fiscal_period == "FY"]
    if not years:
        return None
    row = rows.row(years[0])
    cells = {key: row.cell(key) for key in KEYS}
    values = {key: cell.value for key, cell in cells.items() if isinstance(cell, Figure)}
    return Latest(iso(years[0].end), values)


def passes(found: Latest, bounds: Mapping[str, Bound]) -> bool:
    """Whether every filter holds."""
    return all(bound.holds(found.values.get(key)) for key, bound in bounds.items())


def bounds(params: Mapping[str, Decimal | None], keys: Sequence[str] = KEYS) -> dict[str, Bound]:
    """The filters among parameters named ``roe_gt``, ``roe_lt``."""
    found = {}
    for key in keys:
        gt, lt = params.get(f"{key}_gt"), params.get(f"{key}_lt")
        if gt is not None or lt is not None:
            found[key] = Bound(gt, lt)
    return found
