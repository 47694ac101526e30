"""Series of standardised figures for responses: rows of cells, with their provenance or the reasons for missing
figures.

``build_series`` takes the book of a company and a query. A row may contain more than its cells:

- ``split_factors`` and similar members, if shares were split after its figures were filed (:mod:`splits`).
- ``tag_breaks``, if the next newer row reports a metric under tags that may mean another line.
- its calendar period and its filled template, if the query requests them.

An answer may be large. ``bound_bytes`` and ``estimate_bytes`` predict its size before any row is built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, NotRequired, TypedDict, cast

from finapi.core.days import EPOCH
from finapi.core.json import dumps
from finapi.core.records import Date
from finapi.market.financials import metric_mapping, reasons, splits, templates
from finapi.market.financials.cells import (
    Cell,
    Figure,
    HoleReason,
    Mark,
    Missing,
    build_holes,
    find_value,
    to_json_number,
)
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.empty_series import EmptySeries, explain_empty
from finapi.market.financials.metric_mapping import Metric, MetricMapping
from finapi.market.financials.periods import HALF_YEAR_DAYS, SAME_DAYS, YEAR_DAYS, Period
from finapi.market.financials.provenance import CellRecord, FullProvenance, build_full_provenance, build_provenance
from finapi.market.financials.series_links import SeriesLinks
from finapi.market.financials.series_query import SeriesQuery, format_years, list_keys, select_page, select_periods
from finapi.market.financials.series_rows import (
    FigureSeries,
    PriceOnDay,
    PriceSource,
    RowPeriod,
    RowView,
    list_concepts,
)
from finapi.market.financials.splits import ShareSplit
from finapi.market.financials.templates import FilledTemplate

TYPICAL_QUARTER_DAYS = 90

# Upper bounds of the average bytes of a cell by provenance, and of the template of a row (the measured maxima are 785
# for a cell and 15,000 for a template).
MAX_CELL_BYTES = {"none": 150, "summary": 500, "full": 2_000}
MAX_TEMPLATE_BYTES = 30_000
SAMPLE_ROWS = 8


class TagBreak(TypedDict):
    """A change of tags between a figure and the next newer one of its series, which may mean another line."""

    tags: list[str]
    later_tags: list[str]


class SeriesRow(RowPeriod):
    """A row of a series.

    ``known_on``: the day on which the last of the row's figures was filed. ``metrics`` are bare values, with ``holes``
    for the missing ones, or cells with their provenance. ``split_factors``:
    in an adjusted row, the number of today's shares that one share of each converted figure became.
    ``mixed_shares``: the row has figures from before and from after a split. ``split_break``: the number of shares of
    the next newer row that one share of this row became. ``estimated``: the keys that ``q4=estimated`` added.
    ``tag_breaks``: the figures that the next newer row reports under other tags. ``other_unit``: the currency of a
    row whose period is not reported in the currency of the series.

    The other members list the keys of marked figures. ``sign_corrected``: payments and expenses that are tagged
    negative, and that the filing's sums prove to be positive. ``inconsistent``: figures with a sign, scale or quarter
    that other figures contradict; provenance has further checks. ``unit_inverted``: earnings per share that are tagged
    in shares/USD. ``reported_by_class``: sums over the classes of shares. ``definition_changed``: figures with another
    definition than the rest of the series. ``conflicting_values``: figures for which a filing also states another
    number of the same precision, which the proof has. ``by_class``: the figures of each class of shares, by key and
    member.
    """

    known_on: Date | None
    calendar_year: NotRequired[int]
    calendar_period: NotRequired[str]
    metrics: dict[str, Decimal | None | CellRecord]  # noqa: RUF036 (the order of the published schema)
    holes: NotRequired[dict[str, HoleReason]]
    split_factors: NotRequired[dict[str, Decimal]]
    mixed_shares: NotRequired[bool]
    split_break: NotRequired[Decimal]
    estimated: NotRequired[list[str]]
    tag_breaks: NotRequired[dict[str, TagBreak]]
    other_unit: NotRequired[str]
    sign_corrected: NotRequired[list[str]]
    inconsistent: NotRequired[list[str]]
    unit_inverted: NotRequired[list[str]]
    reported_by_class: NotRequired[list[str]]
    by_class: NotRequired[dict[str, dict[str, Decimal]]]
    definition_changed: NotRequired[list[str]]
    conflicting_values: NotRequired[list[str]]
    template: NotRequired[FilledTemplate]


class SeriesPage(TypedDict):
    """The page of a series."""

    limit: int
    has_more: bool
    page_row_count: int
    series_row_count: int
    next_cursor: str | None


class SeriesMeta(TypedDict):
    """The metadata of a series. ``phase`` is always "ready". ``empty`` explains why there are no rows."""

    covered: bool
    phase: str
    industry: str
    mapping_version: int
    metric_count: int
    row_count: int
    years: str
    price_source: PriceSource | None
    pagination: SeriesPage
    empty: NotRequired[EmptySeries]


def build_series(
    company_book: CompanyBook,
    query: SeriesQuery,
    price_on_day: PriceOnDay | None = None,
    price_source: str | None = None,
    collect_rows: Callable[[Iterator[SeriesRow]], Iterable[SeriesRow]] = list,
    price_splits: Iterable[tuple[str, Decimal]] = (),
    other_books: Iterable[CompanyBook] = (),
    links: SeriesLinks | None = None,
) -> tuple[dict[str, Any], SeriesMeta]:
    """Return the ``data`` (except the names of the company) and the ``meta`` of a series.

    With ``collect_rows=iter``, rows are built lazily. ``price_splits`` are the days and factors of the splits in price
    files. ``other_books`` are the company's books in other currencies, for periods that have no row in the first one.
    ``links`` add links to the printed numbers to cells with full provenance.
    Raise INVALID_PARAM if the query has an unknown key or a malformed cursor.
    """
    series = FigureSeries(
        company_book, query.period, query.basis, price_on_day=price_on_day, estimated=query.has_estimates
    )
    keys = list_keys(query, company_book.industry)
    series_by_period = dict.fromkeys(series.periods, series)
    for other_book in other_books:
        other_series = FigureSeries(other_book, query.period, query.basis, estimated=query.has_estimates)
        _add_other_periods(series_by_period, other_series)
    all_periods = series.periods
    if len(series_by_period) > len(all_periods):
        all_periods = sorted(series_by_period, key=lambda period: (-period.end, -period.quarter_number))
    periods = select_periods(all_periods, query)
    page, next_cursor = select_page(periods, query)
    share_splits: list[ShareSplit] = []
    if query.adjusted or any(map(splits.counts_shares, keys)):
        share_splits = splits.list_splits(company_book.book, metric_mapping.get_mapping(), price_splits)
    data: dict[str, Any] = {
        "period": query.period,
        "basis": query.basis,
        "provenance": query.provenance,
        "reporting_currency": company_book.book.currency,
        "ratios": query.ratios,
        "rows": collect_rows(_iter_rows(series_by_period, page, query, keys, share_splits, links)),
    }
    if company_book.book.other_currencies:
        data["other_currencies"] = company_book.book.other_currencies
    if query.adjusted or share_splits:
        data["splits"] = [splits.build_record(split) for split in share_splits]
    if query.template:
        data["template"] = True
        data["industry"] = company_book.industry
    meta: SeriesMeta = {
        "covered": True,
        "phase": "ready",
        "industry": company_book.industry,
        "mapping_version": metric_mapping.get_mapping().version,
        "metric_count": len(keys),
        "row_count": len(page),
        "years": format_years(period.fiscal_year for period in periods),
        "price_source": price_source,
        "pagination": {
            "limit": query.limit,
            "has_more": next_cursor is not None,
            "page_row_count": len(page),
            "series_row_count": len(periods),
            "next_cursor": next_cursor,
        },
    }
    if not page:
        meta["empty"] = explain_empty(
            query, all_periods, lambda kind: FigureSeries(company_book, kind, query.basis).periods
        )
    return data, meta


# ---- the size of a response


def bound_bytes(query: SeriesQuery, row_count: int, metric_count: int) -> int:
    """Return an upper bound for the bytes of ``row_count`` rows, computed from counts only."""
    template_bytes = MAX_TEMPLATE_BYTES if query.template else 0
    return row_count * (metric_count * MAX_CELL_BYTES[query.provenance] + template_bytes)


def estimate_bytes(
    company_book: CompanyBook,
    query: SeriesQuery,
    price_on_day: PriceOnDay | None = None,
    links: SeriesLinks | None = None,
) -> int:
    """Return an estimate of the bytes of a response's rows, from a sample of them.

    Rows of one company are alike, except for the four quarters of a year and a slow change over the years. So the
    sample takes every n-th row, with an odd n. For 71 rows it was within 3.3 % (2026-11-27, Apple, all kinds of
    series).
    """
    series = FigureSeries(
        company_book, query.period, query.basis, price_on_day=price_on_day, estimated=query.has_estimates
    )
    keys = list_keys(query, company_book.industry)
    page, _ = select_page(select_periods(series.periods, query), query)
    step = len(page) // SAMPLE_ROWS | 1
    sample = page[::step]
    sample_bytes = 0
    for period in sample:
        row = series.get_row(period)
        record = _build_row(row, keys, query, {})
        if links is not None:
            links.add_to_row(row, cast("dict[str, FullProvenance]", record["metrics"]))
        sample_bytes += len(dumps(record))
    return sample_bytes * len(page) // max(1, len(sample))


# ---- rows


def _add_other_periods(series_by_period: dict[Period, FigureSeries], other_series: FigureSeries) -> None:
    """Add the periods of a series in another currency that end on no day of the periods that are already there."""
    known_ends = [period.end for period in series_by_period]
    for period in other_series.periods:
        if all(abs(period.end - end) > SAME_DAYS for end in known_ends):
            series_by_period[period] = other_series


def _iter_rows(
    series_by_period: Mapping[Period, FigureSeries],
    page: Sequence[Period],
    query: SeriesQuery,
    keys: Sequence[str],
    share_splits: Sequence[ShareSplit],
    links: SeriesLinks | None,
) -> Iterator[SeriesRow]:
    """Yield the rows of a page, newest first. Figures are marked if a split affects them, or adjusted for it."""
    share_keys = [key for key in keys if splits.counts_shares(key)] if share_splits else []
    newer_factor = None
    if not page:
        return
    main_series = next(iter(series_by_period.values()))
    amounts = _list_amounts(main_series.resolver.mapping, keys)
    newer_row = _find_adjacent_row(series_by_period[page[0]], page[0], -1)
    newer_changes = {} if newer_row is None else _find_changed_definitions(newer_row, amounts)
    if newer_row is not None and not query.adjusted:
        newer_factor = splits.find_last_factor(splits.compute_factors(newer_row, share_keys, share_splits))
    newer_figures = _find_newer_figures(series_by_period[page[0]], page[0], keys)
    for period in page:
        row = series_by_period[period].get_row(period)
        if newer_row is not None and newer_row.series is not row.series:
            newer_changes = {}
            newer_figures = dict.fromkeys(newer_figures)
        changes = _find_changed_definitions(row, amounts)
        factors = splits.compute_factors(row, share_keys, share_splits)
        if query.adjusted:
            adjustments = {key: factor for key, (_, factor) in factors.items()}
            record = _build_row(row, keys, query, adjustments, changes)
            split_factors = {key: factor for key, factor in adjustments.items() if factor != 1}
            if split_factors:
                record["split_factors"] = split_factors
        else:
            record = _build_row(row, keys, query, {}, changes)
            record |= splits.build_marks(factors, newer_factor)  # type: ignore[typeddict-item]
            newer_factor = splits.find_last_factor(factors) or newer_factor
        tag_breaks = _find_tag_breaks(row, newer_figures)
        tag_breaks |= newer_changes
        newer_row, newer_changes = row, changes
        if tag_breaks:
            record["tag_breaks"] = tag_breaks
        if row.series is not main_series:
            record["other_unit"] = row.series.company_book.book.currency
        if links is not None:
            links.add_to_row(row, cast("dict[str, FullProvenance]", record["metrics"]))
        yield record


def _find_newer_figures(series: FigureSeries, first_period: Period, keys: Iterable[str]) -> dict[str, Figure | None]:
    """Return the next newer figure after a page for each steady metric; ``first_period`` is the page's newest."""
    mapping = series.resolver.mapping
    steady_keys = [key for key in keys if key in mapping.metrics and mapping.metrics[key].is_steady]
    newer_periods = series.periods[: series.periods.index(first_period)]
    newer_figures: dict[str, Figure | None] = {}
    for key in steady_keys:
        cells = (series.get_row(period).get_cell(key) for period in reversed(newer_periods))
        newer_figures[key] = next((cell for cell in cells if isinstance(cell, Figure)), None)
    return newer_figures


def _find_tag_breaks(row: RowView, newer_figures: dict[str, Figure | None]) -> dict[str, TagBreak]:
    """Return the tag breaks between a row and ``newer_figures``, and update these with the row's own figures."""
    tag_breaks: dict[str, TagBreak] = {}
    for key, newer_figure in newer_figures.items():
        cell = row.get_cell(key)
        if isinstance(cell, Figure):
            if newer_figure is not None and not row.series.is_same_line(cell, newer_figure):
                tag_breaks[key] = {"tags": list_concepts(cell), "later_tags": list_concepts(newer_figure)}
            newer_figures[key] = cell
    return tag_breaks


def _find_adjacent_row(series: FigureSeries, period: Period, distance: int) -> RowView | None:
    """Return the next older row (``distance`` 1) or the next newer row (-1) of a series, or None."""
    index = series.periods.index(period) + distance
    return series.get_row(series.periods[index]) if 0 <= index < len(series.periods) else None


def _list_amounts(mapping: MetricMapping, keys: Iterable[str]) -> list[Metric]:
    """Return the metrics among ``keys`` that are amounts of money."""
    metrics = [mapping.metrics[key] for key in keys if key in mapping.metrics]
    return [metric for metric in metrics if metric.units == "currency"]


def _find_changed_definitions(row: RowView, amounts: Iterable[Metric]) -> dict[str, TagBreak]:
    """Return the amounts of a row with another definition than in the next older row, with the tags of both.

    Share counts are not compared, because those of the cover and of the balance sheet differ by their days.
    """
    reported = row.series.resolver.reported
    older_row = _find_adjacent_row(row.series, row.period, 1)
    changes: dict[str, TagBreak] = {}
    if older_row is None:
        return changes
    for metric in amounts:
        cell = row.get_cell(metric.key)
        older_cell = older_row.get_cell(metric.key)
        if isinstance(cell, Missing) or isinstance(older_cell, Missing) or cell.concepts == older_cell.concepts:
            continue
        if reported.is_other_definition(metric, cell, older_cell):
            changes[metric.key] = {"tags": list_concepts(older_cell), "later_tags": list_concepts(cell)}
    return changes


def _build_row(
    row: RowView,
    keys: Sequence[str],
    query: SeriesQuery,
    adjustments: Mapping[str, Decimal],
    changed_keys: Collection[str] = (),
) -> SeriesRow:
    """Return the record of a row.

    ``adjustments`` are the split factors of the figures to convert. ``changed_keys`` have another definition than in
    the next older row.
    """
    industry = row.series.company_book.industry
    record: Any = {**row.build_period()}
    if query.calendar:
        record |= _build_calendar_period(row.period, query.period)
    cells: dict[str, Cell] = {key: row.get_cell(key) for key in keys}
    for key in changed_keys:
        cell = cells[key]
        assert isinstance(cell, Figure)
        cells[key] = cell.add_mark("definition_changed")
    for key, factor in adjustments.items():
        cells[key] = splits.adjust_cell(cells[key], key, factor)
    record["known_on"] = row.find_known_day(cells.values())
    if query.provenance == "none":
        record["metrics"] = {key: find_value(cell) for key, cell in cells.items()}
        record["holes"] = build_holes(cells)
    else:
        total_checks = templates.check_totals(industry, row.get_cell)
        build_cell_record = build_full_provenance if query.provenance == "full" else build_provenance
        record["metrics"] = {key: build_cell_record(row, key, cell, total_checks) for key, cell in cells.items()}
        for key, factor in adjustments.items():
            if factor != 1:
                record["metrics"][key]["split_factor"] = factor
    if row.series.estimated:
        record["estimated"] = [key for key, cell in cells.items() if isinstance(cell, Figure) and cell.is_estimated]
    record |= _list_marked_keys(cells)
    if row.series.company_book.book.class_facts:
        record |= _list_class_values(row, cells)
    if query.template:
        record["template"] = templates.fill_template(industry, row.get_cell)
    return record  # type: ignore[no-any-return]


def _list_class_values(row: RowView, cells: Mapping[str, Cell]) -> dict[str, dict[str, dict[str, Decimal]]]:
    """Return ``by_class``: the values of each class of shares for the cells that are reported by class."""
    resolver = row.series.resolver
    by_class: dict[str, dict[str, Decimal]] = {}
    for key, cell in cells.items():
        is_sum = isinstance(cell, Figure) and "reported_by_class" in cell.marks
        is_hole = isinstance(cell, Missing) and cell.reason == reasons.REPORTED_BY_CLASS
        if key in resolver.mapping.metrics and (is_sum or is_hole):
            classes = resolver.find_classes(resolver.mapping.metrics[key], row.period, row.series.kind)
            by_class[key] = {
                member: to_json_number(Decimal(fact.vintage.value)) for member, fact in sorted(classes.items())
            }
    return {"by_class": by_class} if by_class else {}


def _list_marked_keys(cells: Mapping[str, Cell]) -> dict[Mark, list[str]]:
    """Return the keys of the figures of a row that have each mark."""
    marked_keys: dict[Mark, list[str]] = {}
    for key, cell in cells.items():
        if isinstance(cell, Figure) and cell.marks:
            for mark in cell.marks:
                marked_keys.setdefault(mark, []).append(key)
    return marked_keys


def _build_calendar_period(period: Period, kind: str) -> dict[str, Any]:
    """Return the calendar year and quarter (or "FY") that contain the middle of a period.

    A year to date gets the calendar period of its last quarter.
    """
    length = period.end - period.start if period.start is not None else TYPICAL_QUARTER_DAYS
    if kind == "YTD":
        length = min(length, TYPICAL_QUARTER_DAYS)
    middle = EPOCH + timedelta(days=period.end - length // 2)
    if length < HALF_YEAR_DAYS.start:
        name = f"Q{(middle.month + 2) // 3}"
    elif length + 1 in YEAR_DAYS:
        name = "FY"
    else:
        # A transition period has no calendar period, so its fiscal period is returned.
        name = period.fiscal_period
    return {"calendar_year": middle.year, "calendar_period": name}
