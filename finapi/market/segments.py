"""Figures by segment, product, region or share class: facts with one dimension, by period and vintage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.db import Row, Transaction
from finapi.market import company_books, facts, metrics, series
from finapi.market.book import COVER_SHARES, Filing, iso
from finapi.market.calendars import SAME, Period
from finapi.market.company_books import CompanyBook
from finapi.market.rows import Series

CLASS_AXIS = "us-gaap:StatementClassOfStockAxis"
SYMBOL = "dei:TradingSymbol"
# What a cover page without classes counts.
ONE_CLASS = "common"


class Told(NamedTuple):
    """A figure of one member: what a filing says of it for one period."""

    member: str
    concept: str
    unit: str
    end: int
    days: int
    value: str
    decimals: str | None
    place: int
    preference: int


class Segments(NamedTuple):
    """The series of an axis: its members with their points, and the axes that there are."""

    axis: str | None
    axes: list[str]
    concepts: list[str]
    members: list[dict[str, Any]]


def concepts_of(concept: str | None, metric: str | None, industry: str) -> list[str]:
    """The concepts that a question means, the preferred first; empty for a metric that is none."""
    if concept is not None:
        return [concept if ":" in concept else f"us-gaap:{concept}"]
    known = metrics.mapping().metrics.get(metric or "")
    if known is None:
        return []
    return list(dict.fromkeys(tag for way in known.ways[industry] for tag in way.tags))


def by_axis(
    tx: Transaction,
    cik: int,
    held: CompanyBook,
    concepts: Sequence[str],
    question: series.Question,
    axis: str | None,
) -> Segments:
    """Figures of ``concepts`` by the members of an axis (None: the one with most figures), newest points first."""
    filings, sets = company_books.filings_of(tx, cik, question.as_of)
    wanted = json.dumps(list(concepts))
    rows = tx.all("book_dimensioned_facts", sets=json.dumps(sets), concepts=wanted)
    by_axes = _by_axis(rows, concepts)
    axes = sorted(by_axes, key=lambda one: (-len(by_axes[one]), one))
    chosen = next((one for one in axes if axis is None or axis in (one, one.partition(":")[2])), None)
    periods = series.chosen(Series(held, question.period, question.basis).periods, question)
    members: dict[str, list[dict[str, Any]]] = {}
    used: dict[str, None] = {}
    for told, period in _points(by_axes.get(chosen or "", ()), periods, filings, question.basis):
        used[told.concept] = None
        members.setdefault(told.member, []).append(_shown(told, period, filings))
    listed = [{"member": member, "points": members[member]} for member in sorted(members)]
    return Segments(chosen, axes, sorted(used), listed)


def _by_axis(rows: Iterable[Row], concepts: Sequence[str]) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for concept, unit, end, days, value, decimals, place, members in rows:
        dims = json.loads(members)
        if len(dims) == 1 and value is not None and unit:
            ((axis, member),) = dims.items()
            told = Told(member, concept, unit, end, days, value, decimals, place, concepts.index(concept))
            found.setdefault(axis, []).append(told)
    return found


def _points(
    told: Iterable[Told], periods: Sequence[Period], filings: Sequence[Filing], basis: str
) -> Iterable[tuple[Told, Period]]:
    """For each member and period the figure that the basis wants: of the best rank, last or first, preferred tag."""
    best: dict[tuple[int, str], Told] = {}
    sign = 1 if basis == "original" else -1
    for one in told:
        place = _period(one, periods)
        if place is None:
            continue
        held = best.get((place, one.member))
        if held is None or _order(one, filings, sign) < _order(held, filings, sign):
            best[place, one.member] = one
    for place, member in sorted(best):
        yield best[place, member], periods[place]


def _order(one: Told, filings: Sequence[Filing], sign: int) -> tuple[int, int, int, str]:
    return filings[one.place].rank, sign * one.place, one.preference, one.unit


def _period(told: Told, periods: Sequence[Period]) -> int | None:
    for place, period in enumerate(periods):
        if (told.end, told.days) in period.keys or (not told.days and abs(told.end - period.end) <= SAME):
            return place
    return None


def _shown(told: Told, period: Period, filings: Sequence[Filing]) -> dict[str, Any]:
    return {
        "fiscal_year": period.fiscal_year,
        "fiscal_period": period.fiscal_period,
        "period_end": iso(period.end),
        "start_date": iso(told.end - told.days + 1) if told.days else None,
        "end_date": iso(told.end),
        "value": series.number(Decimal(told.value)),
        "decimals": facts.decimals_told(told.decimals),
        "unit": told.unit,
        "concept": told.concept,
        "is_extension": told.concept.partition(":")[0] not in metrics.STANDARD,
        "accession_no": filings[told.place].accession,
    }


# ---- classes of shares


def share_classes(
    tx: Transaction, cik: int, as_of: str | None, basis: str
) -> tuple[Filing | None, list[dict[str, Any]]]:
    """The classes of shares on the cover page of the last (or first) report that counts them, and the report."""
    filings, sets = company_books.filings_of(tx, cik, as_of)
    wanted = json.dumps([COVER_SHARES, SYMBOL])
    rows = tx.all("book_cover_facts", sets=json.dumps(sets), concepts=wanted)
    counted = [row[6] for row in rows if row[0] == COVER_SHARES and row[4] is not None]
    if not counted:
        return None, []
    best = min(filings[place].rank for place in counted)
    places = [place for place in counted if filings[place].rank == best]
    place = max(places) if basis == "latest" else min(places)
    mine = [row for row in rows if row[6] == place and _class_of(row[7]) is not None]
    symbols = {_class_of(row[7]): row[4] for row in mine if row[0] == SYMBOL}
    shares = sorted(
        (row for row in mine if row[0] == COVER_SHARES and row[4] is not None),
        key=lambda row: (_class_of(row[7]) or "", row[2]),
    )
    by_class = {_class_of(row[7]): row for row in shares}
    classes = [
        {
            "member": member,
            "class_ticker": symbols.get(member) or (symbols.get(ONE_CLASS) if len(by_class) == 1 else None),
            "shares_outstanding": series.number(Decimal(row[4])),
            "context_end_date": iso(row[2]),
            "unit": row[1],
        }
        for member, row in by_class.items()
    ]
    return filings[place], classes


def _class_of(members: str) -> str | None:
    """The class of a cover fact; None for one that is dimensioned in another way."""
    dims = json.loads(members)
    if not dims:
        return ONE_CLASS
    return dims[CLASS_AXIS] if list(dims) == [CLASS_AXIS] else None
