"""The latest year, quarter and twelve months of each company, stored for screens, and the ratios of a valuation.

A screen compares thousands of companies, so a worker computes the figures, their growth over a year and the ratios of
each company's latest periods and stores them as one text, with the company's book. The text has a section for each of
:data:`SCREEN_PERIODS`. A stored year is used as long as its *stamp* is that of the
company's facts and its fingerprint that of the rules (:func:`finapi.market.financials.get_fingerprint`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple, NotRequired, TypedDict

from finapi.core import days, suggestions
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.financials import (
    company_books,
    get_fingerprint,
    metric_mapping,
    ratios,
    reasons,
    splits,
    stored_books,
)
from finapi.market.financials.cells import Cell, Figure, HoleReason, Missing, Status, build_holes, find_value
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.periods import Period
from finapi.market.financials.series_rows import FigureSeries, PriceOnDay, PriceSource, RowView, get_unit
from finapi.market.reference import share_splits
from finapi.market.reference.companies import Company
from finapi.market.reference.share_splits import FiledSplit
from finapi.store.db import Transaction

# The keys of the derived figures and ratios, as existing clients write them. Route parameters are built from them at
# every start, so only the headings of the catalogues are read. Parsing the complete catalogues takes a hundred times as
# long.
KEYS = (
    *metric_mapping.list_keys("metrics.toml", "derived"),
    *metric_mapping.list_keys("ratios.toml", "ratio"),
)
PRIMITIVES = tuple(metric_mapping.list_keys("metrics.toml", "metric"))

# A metric with this suffix is its growth over the same period of the year before: revenue_growth.
GROWTH_SUFFIX = "_growth"
SCREEN_KEYS = (*KEYS, *PRIMITIVES, *(key + GROWTH_SUFFIX for key in PRIMITIVES))
SCREEN_PERIODS = ("A", "Q", "TTM")
_SECTION_SEPARATOR = "\f"

NO_YEAR = "null"  # The stored text of a company without a fiscal year.
FAILED = "failed: "  # The prefix of the text stored for a company whose facts raise an error.

_KEY_INDEXES = {key: index for index, key in enumerate(SCREEN_KEYS)}

_CONDITION = re.compile(r"\s*(\w{1,80})\s*([<>])\s*(-?\d{1,20}(?:\.\d{1,20})?)\s*([a-z]*)\s*", re.ASCII | re.I)
_UNIT_FACTORS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "mn": 10**6,
    "b": 10**9,
    "bn": 10**9,
    "t": 10**12,
    "tn": 10**12,
}


class ScreenedCompany(TypedDict):
    """A company that passed a screen. ``known_on`` is the day on which the last figure of its year was filed."""

    cik: str
    ticker: str | None
    period_end: Date
    known_on: Date | None
    price_source: PriceSource | None
    metrics: dict[str, Decimal | None]
    holes: dict[str, HoleReason]


class ValuationInput(TypedDict):
    """A figure that a ratio was computed from. ``redacted`` is always false; ``source`` is an accession number."""

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
    """The latest fiscal year of a company."""

    period_end: str
    known_on: str | None  # The day on which the last of its figures was filed.
    # One text for each of the ``SCREEN_KEYS``, in order: the value, or the fields of a :class:`Missing` as a JSON list.
    cells: Sequence[str]

    def get_value(self, key: str) -> Decimal | Missing:
        """Return the value of a key, or the reason why it is missing."""
        cell = self.cells[_KEY_INDEXES[key]]
        if not cell.startswith("["):
            return Decimal(cell)
        reason, line_label = json.loads(cell)
        return Missing(reason, line_label)

    def passes(self, bounds: Mapping[str, Bound]) -> bool:
        """Return True if all bounds hold. No bound holds for a missing figure."""
        for key, bound in bounds.items():
            cell = self.cells[_KEY_INDEXES[key]]
            if cell.startswith("[") or not bound.holds(Decimal(cell)):
                return False
        return True


class StoredYear(NamedTuple):
    """The stored latest year of a company; ``text`` is None if it must be computed."""

    cik: int
    stamp: int
    text: str | None


def iter_known(tx: Transaction, ciks: Iterable[int] | None = None) -> Iterator[StoredYear]:
    """Yield the stored years of companies with facts in order of CIK, of all companies or of ``ciks``."""
    if ciks is None:
        rows = tx.iter_rows("latest_years", rules=get_fingerprint())
    else:
        rows = tx.iter_rows("latest_years_by_cik", rules=get_fingerprint(), ciks=json.dumps(list(ciks)))
    for cik, stamp, text in rows:
        yield StoredYear(cik, stamp, text)


def list_due(tx: Transaction, limit: int) -> list[StoredYear]:
    """Return at most ``limit`` companies whose latest year must be computed."""
    rows = tx.list_rows("latest_years_due", rules=get_fingerprint(), limit=limit)
    return [StoredYear(cik, stamp, text) for cik, stamp, text in rows]


def count_due(tx: Transaction, ciks: Iterable[int] | None = None) -> int:
    """Return the number of companies whose latest year must be computed, among all companies or ``ciks``."""
    ciks_json = None if ciks is None else json.dumps(list(ciks))
    return tx.find_value(  # type: ignore[no-any-return]
        "count_latest_years_due", rules=get_fingerprint(), ciks=ciks_json
    )


class ComputedYear(NamedTuple):
    """The latest year of a company as a text for :func:`deserialise`, with its book and splits for storage."""

    text: str
    book: bytes | None  # None if no book can be built.
    splits: list[FiledSplit]


def store(tx: Transaction, computed_years: Iterable[tuple[StoredYear, ComputedYear]]) -> bool:
    """Store computed years unless the company's facts changed meanwhile. Return True if any splits changed."""
    has_changed_splits = False
    for company, year in computed_years:
        is_stored = tx.run(
            "update_latest_year", rules=get_fingerprint(), figures=year.text, cik=company.cik, stamp=company.stamp
        )
        if is_stored and year.book is not None:
            tx.insert_rows("upsert_stored_book", [(get_fingerprint(), year.book, company.cik, company.stamp)])
            if share_splits.replace_filed_splits(tx, company.cik, year.splits):
                has_changed_splits = True
    return has_changed_splits


def compute(tx: Transaction, company: Company, price: PriceOnDay | None) -> ComputedYear:
    """Return the latest year, the book and the splits of a company."""
    # The cache of books is not used: computing all companies would evict everything else from it.
    company_book = company_books.load(tx, company.cik)
    latest = [None if company_book.is_empty else find_latest(company_book, price, kind) for kind in SCREEN_PERIODS]
    # This must precede serialisation, because it adds the restatement factors to the book.
    filed_splits = splits.list_filed_splits(company_book.book, metric_mapping.get_mapping())
    book = stored_books.serialise(company_book.book, company_book.calendar, company_book.industry)
    text = _SECTION_SEPARATOR.join(map(_serialise_year, latest)) if any(latest) else NO_YEAR
    return ComputedYear(text, book, filed_splits)


def _serialise_year(year: LatestYear | None) -> str:
    return NO_YEAR if year is None else "\n".join((year.period_end, year.known_on or "", *year.cells))


def build_failure(error: Exception) -> ComputedYear:
    """Return the record of a company whose facts raise ``error``: no year until its facts or the rules change."""
    return ComputedYear(f"{FAILED}{error!r:.200}".replace("\n", " "), None, [])


def deserialise(text: str, kind: str = "A") -> LatestYear | None:
    """Return the latest period of a kind from a stored text, or None for a company without one."""
    sections = text.split(_SECTION_SEPARATOR)
    if len(sections) > 1:
        text = sections[SCREEN_PERIODS.index(kind)]
    # The text has one cell per line. Parsing JSON would take eight times as long, and a screen parses thousands of
    # years.
    period_end, *others = text.split("\n")
    return LatestYear(period_end, others[0] or None, others[1:]) if others else None


class AppliedBound(TypedDict):
    """A filter as the response repeats it."""

    gt: NotRequired[Decimal]
    lt: NotRequired[Decimal]


class Bound(NamedTuple):
    """The limits of a key in a screen; None for no limit."""

    gt: Decimal | None
    lt: Decimal | None

    def holds(self, value: Decimal) -> bool:
        """Return True if a value is between the limits."""
        return (self.gt is None or value > self.gt) and (self.lt is None or value < self.lt)

    def build_record(self) -> AppliedBound:
        """Return the limits that are set."""
        record: AppliedBound = {}
        if self.gt is not None:
            record["gt"] = self.gt
        if self.lt is not None:
            record["lt"] = self.lt
        return record


def find_latest(company_book: CompanyBook, price: PriceOnDay | None, kind: str = "A") -> LatestYear | None:
    """Return the last period of a kind that a company reported, with its latest figures, or None if it has none.

    The periods of a transition between two fiscal years are skipped.
    """
    series = FigureSeries(company_book, kind, "latest", price)
    for period in series.periods:
        if not period.fiscal_period.startswith("T"):
            row = series.get_row(period)
            cells = [row.get_cell(key) for key in (*KEYS, *PRIMITIVES)]
            earlier_row = _find_year_before(series, period)
            base_cells = [earlier_row.get_cell(key) for key in PRIMITIVES] if earlier_row else []
            known_on = row.find_known_day([*cells, *base_cells])
            cells += [_compute_growth(row, earlier_row, key) for key in PRIMITIVES]
            return LatestYear(days.iso(period.end), known_on, [_serialise_cell(cell) for cell in cells])
    return None


def _find_year_before(series: FigureSeries, period: Period) -> RowView | None:
    """Return the row of the same fiscal period one year earlier, or None."""
    for earlier in series.periods:
        if (earlier.fiscal_year, earlier.fiscal_period) == (period.fiscal_year - 1, period.fiscal_period):
            return series.get_row(earlier)
    return None


def _compute_growth(row: RowView, earlier_row: RowView | None, key: str) -> Cell:
    """Return the growth of a figure over a year, or the reason why it is missing or has no meaning."""
    cell = row.get_cell(key)
    if isinstance(cell, Missing):
        return cell
    base = Missing(reasons.NO_PRIOR_PERIOD) if earlier_row is None else earlier_row.get_cell(key)
    if isinstance(base, Missing):
        return Missing(reasons.NO_PRIOR_PERIOD)
    if base.concepts != cell.concepts:
        return Missing(reasons.TAG_CHANGED)
    if base.value <= 0:
        return Missing(reasons.NEGATIVE_BASE if base.value else reasons.ZERO_DENOMINATOR)
    return cell._replace(value=ratios.round_ratio(cell.value / base.value - 1))


def _serialise_cell(cell: Cell) -> str:
    return json.dumps([cell.reason, cell.line_label]) if isinstance(cell, Missing) else str(cell.value)


def parse_bounds(params: Mapping[str, Decimal | None]) -> dict[str, Bound]:
    """Return the filters that the parameters ``roe_gt``, ``roe_lt`` and so on set, by key."""
    bounds = {key: Bound(params.get(f"{key}_gt"), params.get(f"{key}_lt")) for key in KEYS}
    return {key: bound for key, bound in bounds.items() if bound != (None, None)}


def add_conditions(bounds: dict[str, Bound], conditions: Iterable[str]) -> None:
    """Add the filters of conditions such as ``revenue>1bn``. Raise INVALID_PARAM for a wrong one."""
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None or match[4].lower() not in _UNIT_FACTORS:
            message = f"{condition[:80]} is not a condition such as revenue>1bn or roe<0.2."
            raise invalid_param("where", message, expected="metric>number or metric<number; units: k, m, bn, t")
        key, sign, number, unit = match.groups()
        check_key(key, "where")
        limit = Decimal(number) * _UNIT_FACTORS[unit.lower()]
        bound = bounds.get(key, Bound(None, None))
        bounds[key] = bound._replace(gt=limit) if sign == ">" else bound._replace(lt=limit)


def check_key(key: str, param: str) -> None:
    """Raise INVALID_PARAM with the nearest keys unless a screen knows the key."""
    if key not in _KEY_INDEXES:
        nearest = suggestions.list_similar_metrics(key, SCREEN_KEYS)
        message = f"{key[: suggestions.MAX_WORD_LENGTH]} is not a metric{suggestions.did_you_mean(nearest)}"
        raise invalid_param(param, message, expected="keys of /xbrl/dictionary", nearest=nearest)


def build_screened(
    company: Company, year: LatestYear, keys: Sequence[str], price_source: str | None
) -> ScreenedCompany:
    """Return the row of a company in the response of a screen, with the values of some keys."""
    values = {key: year.get_value(key) for key in keys}
    return {
        "cik": company.padded_cik,
        "ticker": company.ticker,
        "period_end": year.period_end,
        "known_on": year.known_on,
        "price_source": price_source,
        "metrics": {key: None if isinstance(value, Missing) else value for key, value in values.items()},
        "holes": build_holes(values),
    }


@cache
def list_valuation_keys() -> tuple[str, ...]:
    """Return the keys of the valuation ratios."""
    return tuple(key for key, ratio in ratios.get_catalogue().ratios.items() if ratio.category == "valuation")


def build_valuation(row: RowView, key: str, price_date: str | None) -> Valuation:
    """Return a valuation ratio of a row with the figures that it was computed from."""
    cell = row.get_cell(key)
    book = row.series.company_book.book
    catalogue = ratios.get_catalogue()
    period = row.build_period()
    inputs: list[ValuationInput] = [
        {
            "metric": ratio_input.key,
            "redacted": False,
            "source": book.filings[ratio_input.cell.filing_index].accession
            if isinstance(ratio_input.cell, Figure)
            else None,
        }
        for ratio_input in row.list_inputs(key)
    ]
    return {
        "metric": key,
        "fiscal_year": period["fiscal_year"],
        "fiscal_period": period["fiscal_period"],
        "period_end": period["period_end"],
        "value": find_value(cell),
        "status": cell.status,
        "reason_code": cell.reason if isinstance(cell, Missing) else None,
        "unit": get_unit(key, book.currency),
        "method_labels": [catalogue.ratios[key].formula],
        "formula_version": catalogue.version,
        "inputs": inputs,
        "price_date": price_date,
    }
