"""Series of standardised figures as answers: rows of cells with their provenance, and the proof of a cell
(DECISIONS 7)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, NotRequired, TypedDict

from finapi.core import suggestions
from finapi.core.days import EPOCH, iso
from finapi.core.errors import invalid_param
from finapi.core.json import dumps
from finapi.core.records import Date
from finapi.market.financials import figure_doubts, metric_mapping, ratios, rule_words, splits, templates
from finapi.market.financials.cells import (
    Cell,
    Figure,
    HoleReason,
    Method,
    Missing,
    Status,
    build_holes,
    find_value,
    to_json_number,
)
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.fact_book import PeriodKey, Vintage
from finapi.market.financials.metric_mapping import Metric
from finapi.market.financials.periods import HALF_YEAR_DAYS, YEAR_DAYS, Period
from finapi.market.financials.series_rows import (
    FigureSeries,
    PriceOnDay,
    PriceSource,
    RowPeriod,
    RowView,
    find_definition,
    list_concepts,
)
from finapi.market.financials.splits import ShareSplit
from finapi.market.financials.templates import Check, FailedCheck, FilledTemplate
from finapi.market.statements.filed_facts import Decimals, parse_decimals

PROVENANCE_LEVELS = ("none", "summary", "full")
LAST_QUARTERS = ("reported", "estimated")

# About how many days a quarter has.
A_QUARTER = 90

# What a figure is worth: as reported under the first tag, less for every step away from that.
WORTH: dict[Method, int] = {"reported": 100, "mapped": 95, "derived": 85}
A_PRIORITY, A_NOTE, A_PART, LEAST, ESTIMATED, DOUBTED = 5, 10, 20, 50, 40, 20


class FactRecord(TypedDict):
    """A fact and the filing that it is from."""

    value: Decimal
    concept: str
    unit: str
    decimals: Decimals
    start_date: Date | None
    end_date: Date
    accession: str
    form_type: str
    filed_at: Date | None
    source: str


class Sign(TypedDict):
    """Whether something is added (1) or subtracted (-1)."""

    sign: int


class OperandRecord(Sign, FactRecord):
    """A fact that a figure was computed from."""


class Provenance(TypedDict):
    """A cell and the filing that it is from (the provenance "summary")."""

    value: Decimal | None
    status: Status
    reason_code: str | None
    line: NotRequired[str]
    beside: NotRequired[list[str]]
    split_factor: NotRequired[Decimal]
    estimated: NotRequired[bool]
    check: NotRequired[FailedCheck]
    concept: str | None
    tier: int | None
    method: Method | None
    calc_status: Check
    confidence: int
    accession: str | None
    source: str | None
    unit: str


class FullProvenance(Provenance):
    """The same with the operands."""

    decimals: Decimals
    filed_at: Date | None
    operands: list[OperandRecord]


class CellRecord(Provenance):
    """Either of the two."""

    decimals: NotRequired[Decimals]
    filed_at: NotRequired[Date | None]
    operands: NotRequired[list[OperandRecord]]


class TagBreak(TypedDict):
    """The tags of a figure, and those of the next newer one of its series: not the same line, as far as is known."""

    tags: list[str]
    later_tags: list[str]


class SeriesRow(RowPeriod):
    """A row of a series; ``metrics`` are bare values, beside them ``holes``, or cells with their provenance.

    ``split_factors`` are of figures told in the shares of before later splits: how many of today's one of them is. A
    row is ``mixed_shares`` that has figures told before a split and after it; ``split_break`` is how many shares of the
    row after it one of this row's is. ``estimated`` names what ``q4=estimated`` added.
    ``tag_breaks`` are of figures whose series goes on under other tags."""

    calendar_year: NotRequired[int]
    calendar_period: NotRequired[str]
    metrics: dict[str, Decimal | None | CellRecord]  # noqa: RUF036 (the order of the published schema)
    holes: NotRequired[dict[str, HoleReason]]
    split_factors: NotRequired[dict[str, Decimal]]
    mixed_shares: NotRequired[bool]
    split_break: NotRequired[Decimal]
    estimated: NotRequired[list[str]]
    tag_breaks: NotRequired[dict[str, TagBreak]]
    template: NotRequired[FilledTemplate]


class SeriesPage(TypedDict):
    """Which rows of a series an answer holds."""

    limit: int
    has_more: bool
    page_row_count: int
    series_row_count: int
    next_cursor: str | None


class SeriesMeta(TypedDict):
    """What a series says of itself. ``phase`` is always "ready"."""

    covered: bool
    phase: str
    industry: str
    mapping_version: int
    metric_count: int
    row_count: int
    years: str
    price_source: PriceSource | None
    pagination: SeriesPage


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """What is asked of a company's series. ``metrics`` empty: every one that its industry can have."""

    period: str = "A"
    metrics: tuple[str, ...] = ()
    ratios: bool = False
    years: str | None = None
    provenance: str = "none"
    basis: str = "latest"
    as_of: str | None = None
    currency: str | None = None
    calendar: bool = False
    template: bool = False
    adjusted: bool = False
    q4: str = "reported"
    period_offset: int | None = None
    limit: int = 5000
    offset: int = 0
    cursor: str | None = None


def check_query(question: SeriesQuery) -> None:
    """Raise INVALID_PARAM for metrics, years or a cursor that are wrong for every company.

    It takes no data of a company, which would be loaded for nothing.
    """
    _check_metrics(question.metrics)
    if question.years is not None:
        parse_years(question.years, latest=0)
    if question.cursor is not None:
        _read_cursor(question.cursor)


def _check_metrics(keys: Iterable[str]) -> None:
    mapping, catalogue = metric_mapping.get_mapping(), ratios.get_catalogue()
    for key in keys:
        if find_definition(key) is None:
            near = suggestions.list_similar(key, [*mapping.metrics, *mapping.derived, *catalogue.ratios])
            message = f"{key[: suggestions.MAX_WORD_LENGTH]} is not a metric or ratio{suggestions.did_you_mean(near)}"
            raise invalid_param("metrics", message, expected="keys of /xbrl/dictionary", nearest=near)


def list_keys(question: SeriesQuery, industry: str) -> list[str]:
    """The keys of the cells of a row: those asked for; INVALID_PARAM for one that is unknown."""
    mapping, catalogue = metric_mapping.get_mapping(), ratios.get_catalogue()
    _check_metrics(question.metrics)
    keys = list(question.metrics)
    if not keys:
        keys = [key for key, metric in mapping.metrics.items() if not metric.only_for or industry in metric.only_for]
        keys += mapping.derived
    if question.ratios:
        keys += [key for key in catalogue.ratios if key not in keys]
    return keys


def build_series(
    held: CompanyBook,
    question: SeriesQuery,
    price: PriceOnDay | None = None,
    price_source: str | None = None,
    gather: Callable[[Iterator[SeriesRow]], Iterable[SeriesRow]] = list,
    priced: Iterable[tuple[str, Decimal]] = (),
) -> tuple[dict[str, Any], SeriesMeta]:
    """``data`` (but for the names of the company) and ``meta`` of a series.

    With ``iter`` to ``gather`` them, each row is made when it is asked for. ``priced`` are the splits that files of
    prices tell.
    """
    estimated = question.q4 == "estimated"
    series = FigureSeries(held, question.period, question.basis, price, estimated=estimated)
    keys = list_keys(question, held.industry)
    periods = select_periods(series.periods, question)
    page, following = _page(periods, question)
    shared = question.adjusted or any(map(splits.is_per_share_or_count, keys))
    found = splits.list_splits(held.book, metric_mapping.get_mapping(), priced) if shared else []
    data: dict[str, Any] = {
        "period": question.period,
        "basis": question.basis,
        "provenance": question.provenance,
        "reporting_currency": held.book.currency,
        "ratios": question.ratios,
        "rows": gather(_rows(series, page, question, keys, found)),
    }
    if question.adjusted or found:
        data["splits"] = [splits.build_record(one) for one in found]
    if question.template:
        data |= {"template": True, "industry": held.industry}
    meta: SeriesMeta = {
        "covered": True,
        "phase": "ready",
        "industry": held.industry,
        "mapping_version": metric_mapping.get_mapping().version,
        "metric_count": len(keys),
        "row_count": len(page),
        "years": format_years(period.fiscal_year for period in periods),
        "price_source": price_source,
        "pagination": {
            "limit": question.limit,
            "has_more": following is not None,
            "page_row_count": len(page),
            "series_row_count": len(periods),
            "next_cursor": following,
        },
    }
    return data, meta


# More bytes than a cell, and the template of a row, have on average (measured: 785 at most, and 15,000).
MAX_CELL_BYTES = {"none": 150, "summary": 500, "full": 2_000}
MAX_TEMPLATE_BYTES = 30_000
SAMPLE_ROWS = 8


def bound_bytes(question: SeriesQuery, row_count: int, metric_count: int) -> int:
    """Return more bytes than so many rows of a series have, from their counts alone."""
    template_bytes = MAX_TEMPLATE_BYTES if question.template else 0
    return row_count * (metric_count * MAX_CELL_BYTES[question.provenance] + template_bytes)


def estimate_bytes(held: CompanyBook, question: SeriesQuery, price: PriceOnDay | None = None) -> int:
    """Return about how many bytes the rows of an answer have, from a sample of them.

    Rows of one company are alike, but for the four quarters of a year and a slow change over the years. So the sample
    takes every n-th row, n odd. Of 71 rows it was within 3.3 % (2026-11-27, Apple, all kinds of series).
    """
    series = FigureSeries(held, question.period, question.basis, price, estimated=question.q4 == "estimated")
    keys = list_keys(question, held.industry)
    page, _ = _page(select_periods(series.periods, question), question)
    sample = page[:: len(page) // SAMPLE_ROWS | 1]
    sample_bytes = sum(len(dumps(_row(series.get_row(period), keys, question, {}))) for period in sample)
    return sample_bytes * len(page) // max(1, len(sample))


def build_long_table(data: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """A row for each figure of a series with its provenance, and the columns."""
    shown = ("value", "unit", "status", "reason_code", "concept", "method", "accession", "filed_at")
    rows = []
    columns: dict[str, None] = {}
    for row in data["rows"]:
        period = {name: value for name, value in row.items() if not isinstance(value, dict | list)}
        for key, cell in row["metrics"].items():
            told = {name: cell.get(name) for name in shown}
            rows.append({"ticker": data["ticker"], "cik": data["cik"], **period, "metric": key, **told})
            columns.update(dict.fromkeys(rows[-1]))
    return list(columns), rows


# What a wide table tells of a figure, in columns of its own, by the provenance asked for.
_TOLD = {"none": (), "summary": ("unit", "concept", "method", "accession")}
_TOLD["full"] = (*_TOLD["summary"], "filed_at", "decimals")


def build_wide_table(data: Mapping[str, Any], provenance: str = "none") -> tuple[list[str], list[dict[str, Any]]]:
    """The rows of a series flat, and their columns: whose, the period, the currency, the filings that the figures are
    from and the day of the last, a value for each key with its provenance, why values are missing."""
    flat = []
    columns: dict[str, None] = {}
    for row in data["rows"]:
        one = {name: value for name, value in row.items() if not isinstance(value, dict | list)}
        told = [cell for cell in row["metrics"].values() if isinstance(cell, dict) and cell["accession"]]
        one = {"ticker": data["ticker"], **one, "unit": data["reporting_currency"]}
        one["accession"] = " ".join(sorted({cell["accession"] for cell in told})) or None
        one["filed_at"] = max((cell["filed_at"] for cell in told if cell.get("filed_at")), default=None)
        missing = dict(row.get("holes", ()))
        for key, cell in row["metrics"].items():
            one[key] = cell["value"] if isinstance(cell, dict) else cell
            one.update({f"{key}.{name}": cell.get(name) for name in _TOLD[provenance]})
            if isinstance(cell, dict) and cell["value"] is None:
                missing[key] = {"status": cell["status"], "reason_code": cell["reason_code"]}
        one["holes"] = missing
        columns.update(dict.fromkeys(one))
        flat.append(one)
    return list(columns), flat


# ---- which rows


def select_periods(periods: Sequence[Period], question: SeriesQuery) -> list[Period]:
    """The periods that ``years`` and ``period_offset`` leave."""
    left = list(periods)
    if question.years is not None:
        wanted = parse_years(question.years, left[0].fiscal_year if left else 0)
        left = [period for period in left if period.fiscal_year in wanted]
    if question.period_offset is not None:
        place = abs(question.period_offset)
        left = left[place : place + 1]
    return left


def parse_years(text: str, latest: int) -> range | frozenset[int]:
    """The fiscal years that ``years`` means: "5" the last five, "2018-2023", "2018,2020", or "all"."""
    if text.lower() == "all":
        return range(10_000)
    if re.fullmatch(r"[0-9]{1,3}", text) and int(text) > 0:
        return range(latest - int(text) + 1, latest + 1)
    if re.fullmatch(r"[0-9]{4}-[0-9]{4}", text) and text[:4] <= text[5:]:
        return range(int(text[:4]), int(text[5:]) + 1)
    if re.fullmatch(r"[0-9]{4}(,[0-9]{4})*", text):
        return frozenset(map(int, text.split(",")))
    raise invalid_param(
        "years",
        "years must be a number of years, 2018-2023, 2018,2020 or all.",
        expected="5, 2018-2023, 2018,2020 or all",
    )


def format_years(years: Iterable[int]) -> str:
    """From which year to which, as meta says it; empty for none."""
    found = list(years)
    return f"{min(found)}-{max(found)}" if found else ""


def _page(periods: Sequence[Period], question: SeriesQuery) -> tuple[Sequence[Period], str | None]:
    start = 0
    if question.cursor is not None:
        end, number = _read_cursor(question.cursor)
        later = (at for at, one in enumerate(periods) if (-one.end, -one.quarter_number) > (-end, -number))
        start = next(later, len(periods))
    start += question.offset
    page = periods[start : start + question.limit]
    if not page or start + question.limit >= len(periods):
        return page, None
    cursor = f"{page[-1].end}:{page[-1].quarter_number}".encode()
    return page, base64.urlsafe_b64encode(cursor).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[int, int]:
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        plain = ""
    if not re.fullmatch(r"-?[0-9]{1,6}:[0-9]", plain):
        raise invalid_param(
            "cursor", "Invalid cursor; use next_cursor of the previous page.", expected="next_cursor of a page"
        )
    end, _, number = plain.partition(":")
    return int(end), int(number)


# ---- a row


def _rows(
    series: FigureSeries, page: Sequence[Period], question: SeriesQuery, keys: Sequence[str], found: list[ShareSplit]
) -> Iterator[SeriesRow]:
    """The rows of a page; where ``found`` splits stand between them and within them is marked, or adjusted."""
    of_shares = [key for key in keys if splits.is_per_share_or_count(key)] if found else []
    before = series.periods[: series.periods.index(page[0])][-1:] if page and not question.adjusted else []
    newer = (
        splits.find_last_factor(splits.compute_factors(series.get_row(before[0]), of_shares, found)) if before else None
    )
    later = _later(series, page[:1], keys)
    for row in map(series.get_row, page):
        factors = splits.compute_factors(row, of_shares, found)
        made = _row(row, keys, question, {key: one for key, (_, one) in factors.items() if question.adjusted})
        if not question.adjusted:
            made |= splits.build_marks(factors, newer)  # type: ignore[typeddict-item]
            newer = splits.find_last_factor(factors) or newer
        breaks = dict(_tag_breaks(row, later))
        if breaks:
            made["tag_breaks"] = breaks
        yield made


def _later(series: FigureSeries, first: Sequence[Period], keys: Iterable[str]) -> dict[str, Figure | None]:
    """By each key whose series must not change its line the next figure after a page that begins with a period."""
    mapping = series.resolver.mapping
    steady = [key for key in keys if key in mapping.metrics and mapping.metrics[key].steady]
    newer = series.periods[: series.periods.index(first[0])] if first else []
    found: dict[str, Figure | None] = {}
    for key in steady:
        cells = (series.get_row(one).get_cell(key) for one in reversed(newer))
        found[key] = next((cell for cell in cells if isinstance(cell, Figure)), None)
    return found


def _tag_breaks(row: RowView, later: dict[str, Figure | None]) -> Iterator[tuple[str, TagBreak]]:
    """The figures of a row whose ``later`` ones are of another line; those of the row take their places."""
    for key, after in later.items():
        cell = row.get_cell(key)
        if isinstance(cell, Figure):
            if after is not None and not row.series.is_same_line(cell, after):
                yield key, {"tags": list_concepts(cell), "later_tags": list_concepts(after)}
            later[key] = cell


def _row(row: RowView, keys: Sequence[str], question: SeriesQuery, factors: Mapping[str, Decimal]) -> SeriesRow:
    made: Any = {**row.build_period()}
    if question.calendar:
        made |= _on_calendar(row.period, question.period)
    cells = {key: row.get_cell(key) for key in keys}
    for key, factor in factors.items():
        cells[key] = splits.adjust_cell(cells[key], key, factor)
    if question.provenance == "none":
        made["metrics"] = {key: find_value(cell) for key, cell in cells.items()}
        made["holes"] = build_holes(cells)
    else:
        totals = templates.check_totals(row.series.company_book.industry, row.get_cell)
        shown = build_full_provenance if question.provenance == "full" else build_provenance
        made["metrics"] = {key: shown(row, key, cell, totals) for key, cell in cells.items()}
        for key, factor in factors.items():
            if factor != 1:
                made["metrics"][key]["split_factor"] = factor
    if row.series.estimated:
        made["estimated"] = [key for key, cell in cells.items() if isinstance(cell, Figure) and cell.is_estimated]
    if question.template:
        made["template"] = templates.fill_template(row.series.company_book.industry, row.get_cell)
    return made  # type: ignore[no-any-return]


def _on_calendar(period: Period, kind: str) -> dict[str, Any]:
    """Where a period lies on the calendar: the quarter (or year) that holds its middle.

    A year to date lies where its last quarter does, after which it is named.
    """
    length = period.end - period.start if period.start is not None else A_QUARTER
    if kind == "YTD":
        length = min(length, A_QUARTER)
    middle = EPOCH + timedelta(days=period.end - length // 2)
    if length < HALF_YEAR_DAYS.start:
        name = f"Q{(middle.month + 2) // 3}"
    else:
        # A transition period is neither quarter nor year on the calendar either.
        name = "FY" if length + 1 in YEAR_DAYS else period.fiscal_period
    return {"calendar_year": middle.year, "calendar_period": name}


def get_unit(key: str, currency: str) -> str:
    """The unit of a key's values."""
    one = find_definition(key)
    kind = getattr(one, "units", "currency")
    return {"currency": currency, "per_share": f"{currency}/shares"}.get(kind, kind)


def build_provenance(row: RowView, key: str, cell: Cell, totals: dict[str, Check]) -> Provenance:
    """A cell with its provenance; ``totals`` are the :func:`templates.checks` of its row."""
    book = row.series.company_book.book
    figure = cell if isinstance(cell, Figure) else None
    filing = book.filings[figure.filing_index] if figure else None
    made: Provenance = {
        "value": find_value(cell),
        "status": cell.status,
        "reason_code": cell.reason if isinstance(cell, Missing) else None,
        "concept": get_concept(figure) if figure else None,
        "tier": figure.priority if figure else None,
        "method": figure.method if figure else None,
        "calc_status": totals.get(key, "unchecked"),
        "confidence": compute_confidence(row, key, figure) if figure else 0,
        "accession": filing.accession if filing else None,
        "source": ("note" if figure.is_from_note else filing.source) if figure and filing else None,
        "unit": get_unit(key, book.currency),
    }
    if isinstance(cell, Missing) and cell.line_label:
        made["line"] = cell.line_label
    if figure and (beside := list_lines_beside(row, key, figure)):
        made["beside"] = beside
    if figure and figure.is_estimated:
        made["estimated"] = True
    if figure and (failed := figure_doubts.find_failed_check(row, key)):
        made |= {"calc_status": "inconsistent", "check": failed}
    return made


def build_full_provenance(row: RowView, key: str, cell: Cell, totals: dict[str, Check]) -> FullProvenance:
    """The same with decimals, filing day and operands; a figure as it is reported is its own operand."""
    figure = cell if isinstance(cell, Figure) else None
    only = figure.operands[0] if figure and len(figure.operands) == 1 else None
    return {
        **build_provenance(row, key, cell, totals),
        "decimals": parse_decimals(only[2].decimals) if only else None,
        "filed_at": row.series.company_book.book.filings[figure.filing_index].filed if figure else None,
        "operands": [] if only and only[0] > 0 else list_operand_records(row, key, cell),
    }


def get_concept(cell: Figure) -> str:
    """The concept that a figure was reported under; of a formula the whole of it."""
    if len(cell.concepts) == 1 and len(cell.operands) == 1:
        return cell.operands[0][2].concept
    return " ".join(cell.concepts)


def list_lines_beside(row: RowView, key: str, cell: Figure) -> list[str]:
    """The labels of lines of the statement that belong to a metric and are not in its figure, which is a part of it."""
    metric = metric_mapping.get_mapping().metrics.get(key)
    return [] if metric is None else row.series.resolver.reported.list_lines_beside(metric, cell)


def compute_confidence(row: RowView, key: str, cell: Figure) -> int:
    """From 0 to 100: 100 as reported under the first tag, less for other tags, formulas and derivations, for estimates
    and what is doubted; never more than that of an input."""
    less = A_NOTE * cell.is_from_note + A_PART * bool(list_lines_beside(row, key, cell))
    own = max(LEAST, WORTH[cell.method] - A_PRIORITY * max(0, cell.priority - 1) - less)
    reported = key in metric_mapping.get_mapping().metrics
    own = (
        DOUBTED
        if reported and key in figure_doubts.list_failed_checks(row)
        else ESTIMATED
        if cell.is_estimated
        else own
    )
    inputs = () if reported else row.list_inputs(key)
    return min(
        [own, *(compute_confidence(one.row, one.key, one.cell) for one in inputs if isinstance(one.cell, Figure))]
    )


def list_operand_records(row: RowView, key: str, cell: Cell) -> list[OperandRecord]:
    """What a figure was computed from: value, sign, concept, period and filing of each operand."""
    return [{"sign": sign, **_fact_shown(row, period, one)} for sign, period, one in row.list_operands(key, cell)]


def _fact_shown(row: RowView, period: PeriodKey, vintage: Vintage) -> FactRecord:
    end, length = period
    filing = row.series.company_book.book.filings[vintage.filing_index]
    return {
        "value": to_json_number(Decimal(vintage.value)),
        "concept": vintage.concept,
        "unit": vintage.unit,
        "decimals": parse_decimals(vintage.decimals),
        "start_date": iso(end - length + 1) if length else None,
        "end_date": iso(end),
        "accession": filing.accession,
        "form_type": filing.form,
        "filed_at": filing.filed,
        "source": filing.source,
    }


# ---- the proof of a cell


class SeriesKind(TypedDict):
    """A, Q, TTM or YTD."""

    period: str


class ProofPeriod(SeriesKind, RowPeriod):
    """Which row of which kind of series a cell stands in."""


class InputKey(TypedDict):
    """The metric, derived figure or ratio that a formula reads."""

    metric: str


class InputRecord(InputKey, ProofPeriod, FullProvenance):
    """A cell that another was computed from."""


class ConsideredRule(TypedDict):
    """A rule by which a figure could have been found."""

    tier: int
    way: str
    words: str


class CellProof(TypedDict):
    """The facts, filings, signs and formula behind a cell, and every vintage that was filed."""

    metric: str
    label: str
    definition: str
    formula: str
    mapping_version: int
    cell: CellRecord
    inputs: list[InputRecord]
    considered: list[ConsideredRule]
    vintages: list[FactRecord]


def build_proof(row: RowView, key: str) -> CellProof:
    """What is behind the cell of a key in a row, whatever kind of key it is."""
    cell = row.get_cell(key)
    industry = row.series.company_book.industry
    shown = build_full_provenance(row, key, cell, templates.check_totals(industry, row.get_cell))
    shown["operands"] = list_operand_records(row, key, cell)
    one = find_definition(key)
    assert one is not None
    made: CellProof = {
        "metric": key,
        "label": one.label,
        "definition": one.definition,
        "formula": "",
        "mapping_version": metric_mapping.get_mapping().version,
        "cell": {**shown},
        "inputs": [],
        "considered": [],
        "vintages": [],
    }
    if isinstance(one, Metric):
        made["formula"] = cell.derivation if isinstance(cell, Figure) else ""
        made["considered"] = [
            {"tier": rule.priority, "way": rule.text, "words": rule_words.describe_rule(rule, one)}
            for rule in one.rules[industry]
        ]
        made["vintages"] = _vintages(row, one)
    else:
        made["formula"] = one.formula
        for used in row.list_inputs(key):
            totals = templates.check_totals(industry, used.row.get_cell)
            period: ProofPeriod = {"period": used.row.series.kind, **used.row.build_period()}
            made["inputs"].append(
                {"metric": used.key, **period, **build_full_provenance(used.row, used.key, used.cell, totals)}
            )
    return made


def _periods(row: RowView, metric: Metric) -> tuple[PeriodKey, ...]:
    """The periods for which filings report a cell: those of its operands, else those of its row."""
    cell = row.get_cell(metric.key)
    if isinstance(cell, Figure) and cell.method != "derived":
        return tuple(dict.fromkeys(key for _, key, _ in cell.operands))
    if metric.over == "instant":
        return ((row.period.end, 0),)
    # No filing reports twelve months that are no year, and an opening balance stands on no day of the row.
    return () if row.series.kind == "TTM" or metric.over == "opening" else row.period.keys


def _vintages(row: RowView, metric: Metric) -> list[FactRecord]:
    """Every fact of a metric for the cell's period, by any tag of the mapping, first filed to last."""
    book = row.series.company_book.book
    tags = dict.fromkeys(tag for rule in metric.rules[row.series.company_book.industry] for tag in rule.tags)
    found = [
        _fact_shown(row, period, vintage)
        for tag in tags
        for period in _periods(row, metric)
        for vintage in book.vintages.get(tag, {}).get(period, ())
    ]
    return sorted(found, key=lambda one: (one["filed_at"] or "~", one["accession"], one["concept"]))
