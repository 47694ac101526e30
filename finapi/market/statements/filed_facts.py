"""Figures as filed: of a filing, of a company, of one concept, and added up over companies.

Every vintage is there: a figure that three filings repeat is three facts. Of one filing each fact stands once, from
the best source that is held (``factsets.py``).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf
from finapi.edgar.xbrl.qnames import is_extension
from finapi.market.reference import sectors
from finapi.market.reference.companies import Company
from finapi.market.statements.fact_sets import SOURCE_NAMES
from finapi.store.db import Row, Transaction

Dimensions = tuple[tuple[str, str], ...]

# To how many decimal places a fact is exact; "INF": as it stands; None where the source does not say.
Decimals = int | Annotated[str, OneOf(("INF",))] | None

# The taxonomies that a bare name is looked for in, in this order.
TAXONOMIES = ("us-gaap", "ifrs-full", "dei", "srt")
# Annual and quarterly reports; figures of proxy statements and current reports are rounded or provisional.
_PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "6-K")

_FIRST, _LAST = "1900-01-01", "2200-12-31"


class FiledFact(NamedTuple):
    """A figure that one filing reports.

    ``concept`` and ``unit`` read ``us-gaap:Assets`` and ``USD``. ``start`` is None for an instant; dates are
    ISO, both days included. ``value`` is the text as tagged, None for nil; ``decimals`` an integer as text,
    ``INF``, or None where the source does not tell. ``form`` and ``filed`` are the filing's, None when unknown.
    ``source`` is ``xbrl``, ``companyfacts`` or ``fsds``: dates of the last are rounded to month ends.
    """

    concept: str
    unit: str
    start: str | None
    end: str
    value: str | None
    decimals: str | None
    accession: str
    form: str | None
    filed: str | None
    source: str
    dims: Dimensions = ()


# ---- as answers name them


class NilMark(TypedDict):
    """Why a fact has no value: the filing leaves it empty."""

    status: Literal["nil"]
    reason: Literal["reported_nil"]


class FactPeriod(TypedDict):
    """The days of a fact, as XBRL calls them."""

    startDate: Date | None
    endDate: Date


class FactDimension(TypedDict):
    """A member of an axis."""

    axis: str
    member: str


class XbrlFact(TypedDict):
    """A fact with all that its document says of it."""

    accession_no: str
    cik: str
    form_type: str | None
    filed_at: Date | None
    taxonomy: str
    concept: str
    value: Decimal | None
    mark: NilMark | None
    decimals: Decimals
    unit: str
    period: FactPeriod
    dimensions: list[FactDimension]
    is_extension: bool
    source: str


class FactValue(TypedDict):
    """What a filing reports of a concept for a period."""

    value: Decimal | None
    mark: NilMark | None
    unit: str
    period_start: Date | None
    period_end: Date
    accession_number: str
    form_type: str | None
    filed_at: Date | None


class FactConcept(TypedDict):
    """The concept of a fact with its taxonomy."""

    concept_qualified_name: str


class ListedFact(FactConcept, FactValue):
    """A fact of a list of several concepts."""


class FactCompany(TypedDict):
    """The company of a fact."""

    ticker: str | None
    cik: str


class ConceptFact(FactCompany, FactValue):
    """A fact of a list of one concept."""


_NIL: NilMark = {"status": "nil", "reason": "reported_nil"}


def parse_decimals(text: str | None) -> Decimals:
    """To how many decimal places a fact is exact, as answers say it."""
    return text if text is None or text == "INF" else int(text)


def build_xbrl_fact(cik: int, fact: FiledFact) -> XbrlFact:
    """A fact of a company as ``/xbrl/facts`` answers it."""
    taxonomy, _, concept = fact.concept.partition(":")
    return {
        "accession_no": fact.accession,
        "cik": f"{cik:010}",
        "form_type": fact.form,
        "filed_at": fact.filed,
        "taxonomy": taxonomy if concept else "",
        "concept": concept or fact.concept,
        "value": None if fact.value is None else Decimal(fact.value),
        "mark": _NIL if fact.value is None else None,
        "decimals": parse_decimals(fact.decimals),
        "unit": fact.unit,
        "period": {"startDate": fact.start, "endDate": fact.end},
        "dimensions": [{"axis": axis, "member": member} for axis, member in fact.dims],
        "is_extension": is_extension(fact.concept),
        "source": fact.source,
    }


def build_listed_fact(fact: FiledFact) -> ListedFact:
    """A fact as ``/facts`` answers it."""
    return {"concept_qualified_name": fact.concept, **_value(fact)}


def build_concept_fact(company: Company, fact: FiledFact | CompanyFact) -> ConceptFact:
    """A fact of a company as ``/facts/by-concept`` answers it."""
    return {"ticker": company.ticker, "cik": company.padded_cik, **_value(fact)}


def _value(fact: FiledFact | CompanyFact) -> FactValue:
    return {
        "value": None if fact.value is None else Decimal(fact.value),
        "mark": _NIL if fact.value is None else None,
        "unit": fact.unit,
        "period_start": fact.start,
        "period_end": fact.end,
        "accession_number": fact.accession,
        "form_type": fact.form,
        "filed_at": fact.filed,
    }


# ---- of a filing or a company


def list_company_facts(
    tx: Transaction,
    cik: int,
    *,
    as_of: str | None = None,
    concepts: Iterable[str] | None = None,
    dimensioned: bool = False,
) -> list[FiledFact]:
    """The figures of a company without dimensions, or those with them when ``dimensioned``.

    In the order of filing (an unknown day last), then accession number, concept, unit and period. ``as_of`` (ISO date)
    leaves out what was filed later or on an unknown day; ``concepts`` keeps these only.
    """
    sets = list_fact_sets(tx, cik=cik, as_of=as_of)
    sets.sort(key=lambda one: (one["filed_at"] is None, one["filed_at"], one["accession"]))
    read = iter_facts_by_set(tx, sets, concepts=concepts, dimensioned=dimensioned)
    return [fact for _, facts in read for fact in facts if bool(fact.dims) == dimensioned]


def iter_facts_by_set(
    tx: Transaction, sets: Iterable[Row], *, concepts: Iterable[str] | None = None, dimensioned: bool = True
) -> Iterator[tuple[Row, list[FiledFact]]]:
    """Each set with its figures, in the order of concept, unit, period and dimensions; those that have dimensions if
    wanted."""
    wanted = None if concepts is None else json.dumps(sorted(set(concepts)))
    concept, unit = _NamesById(tx, "concept_name"), _NamesById(tx, "unit_name")
    members = _NamesById(tx, "dimension_members")
    for one in sets:
        rows = tx.list_rows(
            "plain_facts" if wanted is None else "plain_facts_of_concepts", id=one["id"], concepts=wanted
        )
        if dimensioned:
            rows += tx.list_rows("dimensioned_facts", id=one["id"], concepts=wanted)
        filing = one["accession"], one["form"], one["filed_at"], SOURCE_NAMES[one["source"]]
        facts = [
            FiledFact(
                concept[concept_id],
                unit[unit_id],
                days.iso(end - length + 1) if length else None,
                days.iso(end),
                value,
                decimals,
                *filing,
                tuple(json.loads(members[dimension_id]).items()) if dimension_id else (),
            )
            for dimension_id, concept_id, end, length, unit_id, value, decimals in rows
        ]
        yield one, sorted(facts, key=lambda fact: (fact.concept, fact.unit, fact.end, fact.start or "", fact.dims))


class _NamesById(dict[int, str]):
    """Names by their ids, each looked up once."""

    def __init__(self, tx: Transaction, query: str) -> None:
        self._tx, self._query = tx, query

    def __missing__(self, number: int) -> str:
        self[number] = name = str(self._tx.find_value(self._query, id=number))
        return name


def list_fact_sets(
    tx: Transaction,
    *,
    accession: str | None = None,
    cik: int | None = None,
    as_of: str | None = None,
    amendments: str = "all",
) -> list[Row]:
    """The sets of facts of a filing, or of a company's filings with the last filed first.

    ``amendments`` ``current`` leaves out a report of a company that a later one for the same period replaces.
    """
    if accession is not None:
        return tx.list_rows("fact_sets_of_filing", accession=accession, cik=cik, as_of=as_of)
    rows = tx.list_rows("fact_sets_of_cik", cik=cik, as_of=as_of)
    current = {row["accession"] for row in rows} if amendments == "all" else _current(rows)
    return [row for row in rows if row["accession"] in current]


def is_latest_report(tx: Transaction, cik: int, accession: str) -> bool:
    """Whether no later report of the company is for the same period and of the same form, amended or not."""
    return accession in _current(tx.list_rows("fact_sets_of_cik", cik=cik, as_of=None))


def _current(rows: Iterable[Row]) -> set[str]:
    """Of a form and period, what was filed last; reports of an unknown period replace nothing."""
    kept: dict[tuple[str, ...], str] = {}
    for row in rows:
        form, period = row["form"], row["period"]
        alike = (row["accession"],) if form is None or period is None else (form.removesuffix("/A"), period)
        kept.setdefault(alike, row["accession"])
    return set(kept.values())


class FactFilters(NamedTuple):
    """What narrows the facts of sets: concepts, days on which a period ends, and dimensions.

    ``dims`` are axes, or axes with a member after ``=``: a fact must be on all of them.
    """

    concepts: Sequence[str] | None = None
    first: str | None = None
    last: str | None = None
    dimensioned: bool = False
    dims: Sequence[str] = ()

    def accepts(self, fact: FiledFact) -> bool:
        """Whether a fact of these concepts is wanted."""
        on_time = (self.first or "") <= fact.end <= (self.last or "~")
        return on_time and all(_has(fact, part) for part in self.dims)


def count_facts(tx: Transaction, one: Row, filters: FactFilters) -> int:
    """How many facts of a set are wanted, whatever their dimensions are."""
    wanted = None if filters.concepts is None else json.dumps(sorted(set(filters.concepts)))
    ends = {name: day and days.number(day) for name, day in (("first", filters.first), ("last", filters.last))}
    found: int = tx.find_value("count_facts", ends, id=one["id"], concepts=wanted, dimensioned=filters.dimensioned)
    return found


def list_fact_page(
    tx: Transaction, sets: Iterable[Row], filters: FactFilters, *, limit: int, offset: int
) -> tuple[list[tuple[int, FiledFact]], bool]:
    """The facts of the sets in their order, from ``offset``, each with its CIK, and whether there are more.

    Sets before the page are only counted, unless dimensions choose among their facts.
    """
    found: list[tuple[int, FiledFact]] = []
    for one in sets:
        if offset and not filters.dims and (passed := count_facts(tx, one, filters)) <= offset:
            offset -= passed
            continue
        for _, facts in iter_facts_by_set(tx, [one], concepts=filters.concepts, dimensioned=filters.dimensioned):
            wanted = [(one["cik"], fact) for fact in facts if filters.accepts(fact)]
            found += wanted[offset:]
            offset = max(0, offset - len(wanted))
        if len(found) > limit:
            break
    return found[:limit], len(found) > limit


def list_qualified_names(tags: Sequence[str] | None) -> list[str] | None:
    """The full names that concepts given with or without a taxonomy may have, in order; None for no concepts."""
    prefixes = [f"{taxonomy}:" for taxonomy in (*TAXONOMIES, "ext")]
    return [name for tag in tags for name in ([tag] if ":" in tag else [p + tag for p in prefixes])] if tags else None


def _has(fact: FiledFact, part: str) -> bool:
    axis, _, member = part.partition("=")
    return any(
        axis in (name, name.rpartition(":")[2]) and (not member or member in (value, value.rpartition(":")[2]))
        for name, value in fact.dims
    )


# ---- one concept over companies


class CompanyFact(NamedTuple):
    """A figure of some company's; ``start`` is None for an instant."""

    cik: int
    accession: str
    form: str | None
    filed: str | None
    sic: int | None
    start: str | None
    end: str
    unit: str
    value: str | None


def get_concept(tx: Transaction, text: str) -> tuple[int, str]:
    """The id and full name of a concept given with or without its taxonomy; NOT_FOUND when none is held."""
    names = list_qualified_names([text]) or []
    rows = tx.list_rows("concepts_by_name", names=json.dumps(names))
    if not rows:
        raise ApiError("NOT_FOUND", "finapi has no fact of this concept.")
    best = min(rows, key=lambda row: names.index(row["name"]))
    return best["id"], best["name"]


def list_concept_facts(
    tx: Transaction, concept_id: int, *, first: str | None, last: str | None, limit: int, offset: int = 0
) -> tuple[list[CompanyFact], int]:
    """A page of the figures of a concept, whosever, the latest first; how many there are in all between two days."""
    asked = {"concept": concept_id, "first": days.number(first or _FIRST), "last": days.number(last or _LAST)}
    counted = [(row["end_day"], row["number"]) for row in tx.list_rows("fact_counts_by_end_day", asked)]
    passed = [0, *accumulate(number for _, number in counted)]
    total = passed[-1]
    if offset >= total:
        return [], total
    # The days of the page's ends; they are read whole.
    newest, oldest = (bisect_right(passed, at) - 1 for at in (offset, min(offset + limit, total) - 1))
    found = _across(tx, concept_id, (counted[oldest][0], counted[newest][0]), (0, 1_000_000))
    found.sort(key=lambda one: (one.cik, one.filed or "~", one.accession, one.start or "", one.unit))
    found.sort(key=lambda one: one.end, reverse=True)
    skip = offset - passed[newest]
    return found[skip : skip + limit], total


def _across(tx: Transaction, concept_id: int, ends: tuple[int, int], lengths: tuple[int, int]) -> list[CompanyFact]:
    """The figures of a concept that end and last between these days."""
    asked = {"concept": concept_id, "first": ends[0], "last": ends[1], "shortest": lengths[0], "longest": lengths[1]}
    units = _NamesById(tx, "unit_name")
    found = []
    for cik, accession, form, filed, sic, end, length, unit, value in tx.list_rows("concept_facts", asked):
        start = days.iso(end - length + 1) if length else None
        found.append(CompanyFact(cik, accession, form, filed, sic, start, days.iso(end), units[unit], value))
    return found


class Aggregates(TypedDict):
    """Sums over companies; null where there is no company."""

    sum: Decimal | None
    avg: Decimal | None
    median: Decimal | None
    count: int
    min: Decimal | None
    max: Decimal | None


class Aggregate(NamedTuple):
    """Sums in the unit that most companies use; ``excluded`` are companies that use only others."""

    unit: str | None
    aggregates: Aggregates
    excluded: int


def aggregate_concept(
    tx: Transaction, concept_id: int, period: tuple[int, int | None], ciks: Collection[int], sector: str | None
) -> Aggregate:
    """One figure of each company for a calendar year, or a quarter of one, added up.

    A period belongs to the calendar period in which its middle lies, a balance to the quarter whose end is
    nearest. Of a company's vintages the last filed in a periodic report stands, else the last filed.
    """
    year, quarter = period
    found = _across(tx, concept_id, _middle_in(year, quarter), (330, 420) if quarter is None else (70, 120))
    if not found:
        found = _across(tx, concept_id, _middle_in(year, quarter or 4), (0, 0))
    best: dict[str, dict[int, CompanyFact]] = {}
    for one in found:
        unwanted = (ciks and one.cik not in ciks) or (sector is not None and sectors.for_sic(one.sic)[0] != sector)
        if one.value is not None and not unwanted:
            of_unit = best.setdefault(one.unit, {})
            of_unit[one.cik] = max(of_unit.get(one.cik, one), one, key=_standing)
    if not best:
        return Aggregate(None, _sums([]), 0)
    # Of equally common units the dollar: most filers' own.
    dominant = min(best, key=lambda unit: (-len(best[unit]), unit != "USD", unit))
    values = [Decimal(one.value) for _, one in sorted(best[dominant].items()) if one.value is not None]
    others = {cik for of_unit in best.values() for cik in of_unit} - best[dominant].keys()
    return Aggregate(dominant, _sums(values), len(others))


def _sums(values: Sequence[Decimal]) -> Aggregates:
    total = sum(values, Decimal(0))
    return {
        "sum": total if values else None,
        "avg": round(total / len(values), 6) if values else None,
        "median": median(values) if values else None,
        "count": len(values),
        "min": min(values, default=None),
        "max": max(values, default=None),
    }


def _standing(one: CompanyFact) -> tuple[Any, ...]:
    return (one.form or "").startswith(_PERIODIC), one.end, one.filed or "", one.accession, one.value


def _middle_in(year: int, quarter: int | None) -> tuple[int, int]:
    """The first and last day on which a period ends whose middle lies in the calendar period."""
    if quarter is None:
        return days.number(f"{year}-07-02"), days.number(f"{year + 1}-07-01")
    opening = days.number(f"{year}-{3 * quarter - 2:02}-01")
    closing = days.number(f"{year + quarter // 4}-{3 * quarter % 12 + 1:02}-01") - 1
    return opening + 45, closing + 45
