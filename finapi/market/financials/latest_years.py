"""Companies by their ratios: the latest fiscal year of each, filtered; and the valuation of one, period by period."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple, NotRequired, TypedDict

from finapi.core import days
from finapi.core.records import Date
from finapi.market.financials import company_books, get_fingerprint, metric_mapping, ratios, splits, stored_books
from finapi.market.financials.cells import Figure, HoleReason, Missing, Status, build_holes, find_value
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_series import get_unit
from finapi.market.financials.series_rows import FigureSeries, PriceOnDay, PriceSource, RowView
from finapi.market.reference import share_splits
from finapi.market.reference.companies import Company
from finapi.market.reference.share_splits import FiledSplit
from finapi.store.db import Transaction

# The keys of the derived figures and the ratios, as existing clients write them. Every start builds route parameters
# from them, so only the headings of the catalogues are read: reading everything takes a hundred times as long.
KEYS = (*metric_mapping.list_keys("metrics.toml", "derived"), *metric_mapping.list_keys("ratios.toml", "ratio"))
PRIMITIVES = tuple(metric_mapping.list_keys("metrics.toml", "metric"))

NO_YEAR = "null"  # what is kept of a company without any
FAILED = "failed: "  # and what begins so of one whose facts make an error

_PLACES = {key: place for place, key in enumerate(KEYS)}


class ScreenedCompany(TypedDict):
    """A company that passed a screen."""

    cik: str
    ticker: str | None
    period_end: Date
    price_source: PriceSource | None
    metrics: dict[str, Decimal | None]
    holes: dict[str, HoleReason]


class ValuationInput(TypedDict):
    """What a ratio was computed from. ``redacted`` is always false; ``source`` is an accession number."""

    metric: str
    redacted: bool
    source: str | None


class Valuation(TypedDict):
    """A valuation ratio of one period."""

    metric: str
    fiscal_year: int
    fiscal_period: str
    period_end: Date
    value: Decimal | None
    status: Status
    reason_code: str | None
    unit: str
    method_labels: list[str]
    formula_version: int
    inputs: list[ValuationInput]
    price_date: Date | None


class LatestYear(NamedTuple):
    """A company's latest fiscal year as it is kept: of each of the ``KEYS``, in their order, the figure as a text or
    the members of what is :class:`Missing` as JSON."""

    period_end: str
    cells: Sequence[str]

    def get_value(self, key: str) -> Decimal | Missing:
        """What is known of a key."""
        cell = self.cells[_PLACES[key]]
        return Missing(*json.loads(cell)) if cell.startswith("[") else Decimal(cell)

    def passes(self, bounds: Mapping[str, Bound]) -> bool:
        """Whether every bound holds; of a missing figure none does."""
        cells = ((self.cells[_PLACES[key]], bound) for key, bound in bounds.items())
        return all(not cell.startswith("[") and bound.holds(Decimal(cell)) for cell, bound in cells)


class StoredYear(NamedTuple):
    """A company with the latest year that is kept of it, as :func:`made` writes it; None where it is to be made."""

    cik: int
    stamp: int
    text: str | None


def iter_known(tx: Transaction, ciks: Iterable[int] | None = None) -> Iterator[StoredYear]:
    """Companies of which facts are held, all or these, by CIK, as they are taken."""
    if ciks is None:
        rows = tx.iter_rows("latest_years", rules=get_fingerprint())
    else:
        rows = tx.iter_rows("latest_years_of", rules=get_fingerprint(), ciks=json.dumps(list(ciks)))
    return (StoredYear(*row) for row in rows)


def list_due(tx: Transaction, limit: int) -> list[StoredYear]:
    """Companies whose latest year is to be made."""
    return [StoredYear(*row) for row in tx.list_rows("latest_years_due", rules=get_fingerprint(), limit=limit)]


def count_due(tx: Transaction, ciks: Iterable[int] | None = None) -> int:
    """How many companies' latest years are to be made, of all or these."""
    named = None if ciks is None else json.dumps(list(ciks))
    return tx.find_value("count_latest_years_due", rules=get_fingerprint(), ciks=named)  # type: ignore[no-any-return]


class ComputedYear(NamedTuple):
    """The latest year of a company as a text for :func:`read`, its book and its splits to be kept.

    The book is None where none can be made.
    """

    text: str
    book: bytes | None
    splits: list[FiledSplit]


def store(tx: Transaction, made: Iterable[tuple[StoredYear, ComputedYear]]) -> bool:
    """Keep what was made of companies that are as they were; whether any's splits are others than before."""
    changed = False
    for one, year in made:
        kept = tx.run("keep_latest_year", rules=get_fingerprint(), figures=year.text, cik=one.cik, stamp=one.stamp)
        if kept and year.book is not None:
            tx.insert_rows("keep_book", [(get_fingerprint(), year.book, one.cik, one.stamp)])
            changed |= share_splits.put_filed(tx, one.cik, year.splits)
    return changed


def compute(tx: Transaction, company: Company, price: PriceOnDay | None) -> ComputedYear:
    """What is kept of a company."""
    # Not through the cache of books: a screen of all companies would turn it over.
    held = company_books.load(tx, company.cik)
    year = None if held.is_empty else find_latest(held, price)
    # First, so that the book says what was restated.
    filed = splits.list_filed_splits(held.book, metric_mapping.get_mapping())
    book = stored_books.serialise(held.book, held.calendar, held.industry)
    return ComputedYear(NO_YEAR if year is None else "\n".join((year.period_end, *year.cells)), book, filed)


def build_failure(error: Exception) -> ComputedYear:
    """What is kept of a company whose facts make ``error``: no year, as long as they are what they are."""
    return ComputedYear(f"{FAILED}{error!r:.200}".replace("\n", " "), None, [])


def deserialise(text: str) -> LatestYear | None:
    """The year that was written; None of a company that has none."""
    # JSON of the whole takes eight times as long to read, of thousands of companies for each screen.
    period_end, *cells = text.split("\n")
    return LatestYear(period_end, cells) if cells else None


class AppliedBound(TypedDict):
    """A filter as an answer repeats it."""

    gt: NotRequired[Decimal]
    lt: NotRequired[Decimal]


class Bound(NamedTuple):
    """A filter: greater than, less than, each where it is given."""

    gt: Decimal | None
    lt: Decimal | None

    def holds(self, value: Decimal) -> bool:
        """Whether a value passes."""
        return (self.gt is None or value > self.gt) and (self.lt is None or value < self.lt)

    def build_record(self) -> AppliedBound:
        """The sides that are given."""
        above: AppliedBound = {} if self.gt is None else {"gt": self.gt}
        return above if self.lt is None else {**above, "lt": self.lt}


def find_latest(held: CompanyBook, price: PriceOnDay | None) -> LatestYear | None:
    """The values of the last fiscal year that a company reported, as known last; None without any year."""
    series = FigureSeries(held, "A", "latest", price)
    year = next((period for period in series.periods if period.fiscal_period == "FY"), None)
    if year is None:
        return None
    cells = map(series.get_row(year).get_cell, KEYS)
    return LatestYear(
        days.iso(year.end), [json.dumps(cell) if isinstance(cell, Missing) else str(cell.value) for cell in cells]
    )


def parse_bounds(params: Mapping[str, Decimal | None]) -> dict[str, Bound]:
    """The filters among parameters named ``roe_gt``, ``roe_lt``."""
    found = {key: Bound(params.get(f"{key}_gt"), params.get(f"{key}_lt")) for key in KEYS}
    return {key: bound for key, bound in found.items() if bound != (None, None)}


def build_screened(
    company: Company, found: LatestYear, keys: Sequence[str], price_source: str | None
) -> ScreenedCompany:
    """The row of a company with the values of some keys."""
    values = {key: found.get_value(key) for key in keys}
    return {
        "cik": company.padded_cik,
        "ticker": company.ticker,
        "period_end": found.period_end,
        "price_source": price_source,
        "metrics": {key: None if isinstance(value, Missing) else value for key, value in values.items()},
        "holes": build_holes(values),
    }


@cache
def list_valuation_keys() -> tuple[str, ...]:
    """The ratios of a valuation."""
    return tuple(key for key, one in ratios.get_catalogue().ratios.items() if one.category == "valuation")


def build_valuation(row: RowView, key: str, price_date: str | None) -> Valuation:
    """A valuation ratio in a row, with what it was computed from."""
    cell = row.get_cell(key)
    book, catalogue, named = row.series.company_book.book, ratios.get_catalogue(), row.build_period()
    inputs: list[ValuationInput] = [
        {
            "metric": one.key,
            "redacted": False,
            "source": book.filings[one.cell.filing_index].accession if isinstance(one.cell, Figure) else None,
        }
        for one in row.list_inputs(key)
    ]
    return {
        "metric": key,
        "fiscal_year": named["fiscal_year"],
        "fiscal_period": named["fiscal_period"],
        "period_end": named["period_end"],
        "value": find_value(cell),
        "status": cell.status,
        "reason_code": cell.reason if isinstance(cell, Missing) else None,
        "unit": get_unit(key, book.currency),
        "method_labels": [catalogue.ratios[key].formula],
        "formula_version": catalogue.version,
        "inputs": inputs,
        "price_date": price_date,
    }
