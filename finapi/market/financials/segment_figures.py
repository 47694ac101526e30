"""Figures by segment, product, region or share class: facts with one dimension, by period and vintage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date
from finapi.edgar.xbrl.qnames import is_extension
from finapi.market.financials import company_books, metric_mapping, metric_series
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.fact_book import COVER_SHARES, SourceFiling
from finapi.market.financials.periods import SAME_DAYS, Period
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.statements.filed_facts import Decimals, parse_decimals
from finapi.store.db import Row, Transaction

CLASS_AXIS = "us-gaap:StatementClassOfStockAxis"
SYMBOL = "dei:TradingSymbol"
# What a cover page without classes counts.
ONE_CLASS = "common"


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
    points: list[SegmentPoint]


class ShareClass(TypedDict):
    """A class of shares as a cover page counts it."""

    member: str
    class_ticker: str | None
    shares_outstanding: Decimal
    context_end_date: Date
    unit: str


class Segments(NamedTuple):
    """The series of an axis: its members with their points, the axes that there are, and the concepts used."""

    axis: str | None
    axes: list[str]
    concepts: list[str]
    members: list[SegmentMember]


def list_concepts(concept: str | None, metric: str | None, industry: str) -> list[str]:
    """The concepts that a question means, the preferred first; empty for a metric that is none."""
    if concept is not None:
        return [concept if ":" in concept else f"us-gaap:{concept}"]
    known = metric_mapping.get_mapping().metrics.get(metric or "")
    return list(dict.fromkeys(tag for rule in known.rules[industry] for tag in rule.tags)) if known else []


def build_segments(
    tx: Transaction,
    cik: int,
    held: CompanyBook,
    concepts: Sequence[str],
    question: metric_series.SeriesQuery,
    axis: str | None,
) -> Segments:
    """Figures of ``concepts`` by the members of an axis (None: the one with most figures), newest points first."""
    filings, sets = company_books.list_filings(tx, cik, question.as_of)
    rows = tx.list_rows("book_dimensioned_facts", sets=json.dumps(sets), concepts=json.dumps(concepts), least=1)
    by_axes: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        dims = json.loads(row["members"])
        if len(dims) == 1 and row["value"] is not None and row["unit"]:
            ((name, member),) = dims.items()
            by_axes.setdefault(name, []).append((member, row))
    axes = sorted(by_axes, key=lambda one: (-len(by_axes[one]), one))
    chosen = next((one for one in axes if axis is None or axis in (one, one.partition(":")[2])), None)
    periods = metric_series.select_periods(FigureSeries(held, question.period, question.basis).periods, question)
    sign = 1 if question.basis == "original" else -1

    def order(row: Row) -> tuple[int, int, int, str]:
        """Of the best rank, the last or first filed, the preferred tag."""
        place = row["place"]
        return filings[place].source_rank, sign * place, concepts.index(row["concept"]), row["unit"]

    best: dict[tuple[int, str], Row] = {}
    for member, row in by_axes.get(chosen or "", ()):
        at = _period(row["end_day"], row["days"], periods)
        if at is not None and ((at, member) not in best or order(row) < order(best[at, member])):
            best[at, member] = row
    points: dict[str, list[SegmentPoint]] = {}
    for at, member in sorted(best):
        points.setdefault(member, []).append(_point(best[at, member], periods[at], filings))
    used = sorted({row["concept"] for row in best.values()})
    return Segments(chosen, axes, used, [{"member": member, "points": points[member]} for member in sorted(points)])


def _period(end: int, length: int, periods: Sequence[Period]) -> int | None:
    for at, period in enumerate(periods):
        if (end, length) in period.keys or (not length and abs(end - period.end) <= SAME_DAYS):
            return at
    return None


def _point(row: Row, period: Period, filings: Sequence[SourceFiling]) -> SegmentPoint:
    end, length = row["end_day"], row["days"]
    return {
        "fiscal_year": period.fiscal_year,
        "fiscal_period": period.fiscal_period,
        "period_end": days.iso(period.end),
        "start_date": days.iso(end - length + 1) if length else None,
        "end_date": days.iso(end),
        "value": Decimal(row["value"]),
        "decimals": parse_decimals(row["decimals"]),
        "unit": row["unit"],
        "concept": row["concept"],
        "is_extension": is_extension(row["concept"]),
        "accession_no": filings[row["place"]].accession,
    }


# ---- classes of shares


def list_share_classes(
    tx: Transaction, cik: int, as_of: str | None, basis: str
) -> tuple[SourceFiling | None, list[ShareClass]]:
    """The classes of shares on the cover page of the last (or first) report that counts them, and the report."""
    filings, sets = company_books.list_filings(tx, cik, as_of)
    rows = tx.list_rows(
        "book_dimensioned_facts", sets=json.dumps(sets), concepts=json.dumps([COVER_SHARES, SYMBOL]), least=0
    )
    counts = [row for row in rows if row["concept"] == COVER_SHARES and row["value"] is not None]
    if not counts:
        return None, []
    sign = -1 if basis == "latest" else 1
    place = min((row["place"] for row in counts), key=lambda place: (filings[place].source_rank, sign * place))
    symbols = {_class_of(row): row["value"] for row in rows if row["place"] == place and row["concept"] == SYMBOL}
    classes = [(member, row) for row in counts if row["place"] == place and (member := _class_of(row)) is not None]
    # Of a class that is counted on several days the last day.
    by_class = dict(sorted(classes, key=lambda one: (one[0], one[1]["end_day"])))
    return filings[place], [
        {
            "member": member,
            "class_ticker": symbols.get(member) or (symbols.get(ONE_CLASS) if len(by_class) == 1 else None),
            "shares_outstanding": Decimal(row["value"]),
            "context_end_date": days.iso(row["end_day"]),
            "unit": row["unit"],
        }
        for member, row in by_class.items()
    ]


def _class_of(row: Row) -> str | None:
    """The class of a cover fact; None for one that is dimensioned in another way."""
    dims: dict[str, str] = json.loads(row["members"])
    return ONE_CLASS if not dims else dims[CLASS_AXIS] if list(dims) == [CLASS_AXIS] else None
