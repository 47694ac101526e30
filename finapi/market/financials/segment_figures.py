"""Figures by segment, product, region or share class: facts with exactly one dimension, by period and vintage.

A dimension is an axis with a member, such as ``srt:ProductOrServiceAxis`` with ``aapl:IPhoneMember``. The figures of an
axis are chosen like those of the company. For each period and member, the best kind of source is used, then the last
filing (or the first, for the basis "original"), then the preferred tag.

A member has the label of the newest filing with one of its figures. Labels are stored with the statements of a filing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date
from finapi.edgar.concept_names import is_extension
from finapi.market.financials import company_books, metric_mapping
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.fact_book import COVER_SHARES, SourceFiling
from finapi.market.financials.periods import SAME_DAYS, Period
from finapi.market.financials.series_query import SeriesQuery, select_periods
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.statements.filed_facts import Decimals, parse_decimals
from finapi.store.db import Row, Transaction

CLASS_AXIS = "us-gaap:StatementClassOfStockAxis"
TRADING_SYMBOL = "dei:TradingSymbol"
# The member for the single class of a cover page without classes.
ONLY_CLASS = "common"


class SegmentPoint(TypedDict):
    """The figure of a member for a period."""

    fiscal_year: int
    fiscal_period: str
    period_end: Date
    start_date: Date | None
    end_date: Date
    value: Decimal
    decimals: Decimals
    unit: str
    concept: str
    is_extension: bool
    accession_no: str


class SegmentMember(TypedDict):
    """A member of an axis with its figures, the newest first."""

    member: str
    label: Annotated[
        str | None, "The label of the member in its filings, the newest first; null if none of them is stored with one."
    ]
    points: list[SegmentPoint]


class ShareClass(TypedDict):
    """A class of shares on a cover page."""

    member: str
    class_ticker: str | None
    shares_outstanding: Decimal
    context_end_date: Date
    unit: str


class Segments(NamedTuple):
    """The figures of an axis by member, the other axes of the concepts, and the concepts."""

    axis: str | None
    axes: list[str]
    concepts: list[str]
    members: list[SegmentMember]


def list_concepts(concept: str | None, metric_key: str | None, industry: str) -> list[str]:
    """Return the concepts of a query, the preferred one first, or none for an unknown metric.

    A concept without a taxonomy is us-gaap. If no concept is requested, the tags of the metric are returned.
    """
    if concept is not None:
        return [concept if ":" in concept else f"us-gaap:{concept}"]
    metric = metric_mapping.get_mapping().metrics.get(metric_key or "")
    return [] if metric is None else list(dict.fromkeys(metric.list_tags(industry)))


def build_segments(
    tx: Transaction,
    cik: int,
    company_book: CompanyBook,
    concepts: Sequence[str],
    query: SeriesQuery,
    axis: str | None,
) -> Segments:
    """Return the figures of ``concepts`` by the members of an axis; None means the axis with the most figures.

    An axis may be named without its taxonomy.
    """
    filings, fact_set_ids = company_books.list_filings(tx, cik, query.as_of)
    facts_by_axis = _list_facts_by_axis(tx, fact_set_ids, concepts)
    axes = sorted(facts_by_axis, key=lambda name: (-len(facts_by_axis[name]), name))
    chosen_axis = next((name for name in axes if axis is None or axis in (name, name.partition(":")[2])), None)
    periods = select_periods(FigureSeries(company_book, query.period, query.basis).periods, query)
    filing_sign = 1 if query.basis == "original" else -1

    def get_order(fact: Row) -> tuple[int, int, int, str]:
        filing_index = fact["filing_index"]
        source_rank = filings[filing_index].source_rank
        return source_rank, filing_sign * filing_index, concepts.index(fact["concept"]), fact["unit"]

    best_facts: dict[tuple[int, str], Row] = {}
    for member, fact in facts_by_axis.get(chosen_axis or "", ()):
        period_index = _find_period_index(fact["end_day"], fact["days"], periods)
        if period_index is None:
            continue
        known_fact = best_facts.get((period_index, member))
        if known_fact is None or get_order(fact) < get_order(known_fact):
            best_facts[period_index, member] = fact
    points: dict[str, list[SegmentPoint]] = {}
    for period_index, member in sorted(best_facts):
        point = _build_point(best_facts[period_index, member], periods[period_index], filings)
        points.setdefault(member, []).append(point)
    labels = _list_member_labels(tx, points)
    return Segments(
        axis=chosen_axis,
        axes=axes,
        concepts=sorted({fact["concept"] for fact in best_facts.values()}),
        members=[
            {"member": member, "label": labels.get(member), "points": points[member]} for member in sorted(points)
        ],
    )


def _list_member_labels(tx: Transaction, points_by_member: Mapping[str, Sequence[SegmentPoint]]) -> dict[str, str]:
    """Return the labels of members in the filings of their figures, of the newest period that has one.

    The suffix that names the kind of element, as in "Americas [Member]", is removed.
    """
    points = [point for points in points_by_member.values() for point in points]
    points.sort(key=lambda point: point["end_date"], reverse=True)
    accessions = list(dict.fromkeys(point["accession_no"] for point in points))
    labels: dict[str, str] = {}
    rows = tx.list_rows("member_labels", accessions=json.dumps(accessions), members=json.dumps(list(points_by_member)))
    for row in rows:
        labels.setdefault(row["member"], re.sub(r" *\[[A-Za-z]+\]$", "", row["label"]))
    return labels


def _list_facts_by_axis(
    tx: Transaction, fact_set_ids: Sequence[int], concepts: Sequence[str]
) -> dict[str, list[tuple[str, Row]]]:
    """Return the facts with one dimension, each with its member, by axis."""
    rows = tx.list_rows(
        "book_dimensioned_facts",
        sets=json.dumps(fact_set_ids),
        concepts=json.dumps(concepts),
        min_dimension_id=1,
    )
    facts_by_axis: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        dimensions = json.loads(row["members"])
        if len(dimensions) == 1 and row["value"] is not None and row["unit"]:
            ((axis, member),) = dimensions.items()
            facts_by_axis.setdefault(axis, []).append((member, row))
    return facts_by_axis


def _find_period_index(end: int, length: int, periods: Sequence[Period]) -> int | None:
    for index, period in enumerate(periods):
        if (end, length) in period.keys or (not length and abs(end - period.end) <= SAME_DAYS):
            return index
    return None


def _build_point(fact: Row, period: Period, filings: Sequence[SourceFiling]) -> SegmentPoint:
    end, length = fact["end_day"], fact["days"]
    return {
        "fiscal_year": period.fiscal_year,
        "fiscal_period": period.fiscal_period,
        "period_end": days.iso(period.end),
        "start_date": days.iso(end - length + 1) if length else None,
        "end_date": days.iso(end),
        "value": Decimal(fact["value"]),
        "decimals": parse_decimals(fact["decimals"]),
        "unit": fact["unit"],
        "concept": fact["concept"],
        "is_extension": is_extension(fact["concept"]),
        "accession_no": filings[fact["filing_index"]].accession,
    }


# ---- classes of shares


def list_share_classes(
    tx: Transaction, cik: int, as_of: str | None, basis: str
) -> tuple[SourceFiling | None, list[ShareClass]]:
    """Return the last (or first) report with share counts on its cover page, and its classes of shares.

    Return None and an empty list if there is no such report.
    """
    filings, fact_set_ids = company_books.list_filings(tx, cik, as_of)
    rows = tx.list_rows(
        "book_dimensioned_facts",
        sets=json.dumps(fact_set_ids),
        concepts=json.dumps([COVER_SHARES, TRADING_SYMBOL]),
        min_dimension_id=0,
    )
    counts = [row for row in rows if row["concept"] == COVER_SHARES and row["value"] is not None]
    if not counts:
        return None, []
    filing_sign = -1 if basis == "latest" else 1
    filing_index = min(
        (row["filing_index"] for row in counts), key=lambda index: (filings[index].source_rank, filing_sign * index)
    )
    symbols: dict[str | None, str] = {}
    for row in rows:
        if row["filing_index"] == filing_index and row["concept"] == TRADING_SYMBOL:
            symbols[_find_class(row)] = row["value"]
    counts_by_class: dict[str, Row] = {}
    for row in counts:
        member = _find_class(row)
        if row["filing_index"] != filing_index or member is None:
            continue
        # If a class is counted on several days, the last day is used.
        known_count = counts_by_class.get(member)
        if known_count is None or row["end_day"] >= known_count["end_day"]:
            counts_by_class[member] = row
    only_symbol = symbols.get(ONLY_CLASS) if len(counts_by_class) == 1 else None
    return filings[filing_index], [
        {
            "member": member,
            "class_ticker": symbols.get(member) or only_symbol,
            "shares_outstanding": Decimal(row["value"]),
            "context_end_date": days.iso(row["end_day"]),
            "unit": row["unit"],
        }
        for member, row in sorted(counts_by_class.items())
    ]


def _find_class(row: Row) -> str | None:
    """Return the class of shares of a cover fact, or None if it has another dimension."""
    dimensions: dict[str, str] = json.loads(row["members"])
    if not dimensions:
        return ONLY_CLASS
    return dimensions[CLASS_AXIS] if list(dimensions) == [CLASS_AXIS] else None
