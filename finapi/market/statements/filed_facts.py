"""Facts as filed: of a filing, of a company, of one concept, and aggregated over companies.

Facts are stored in sets, one for each filing and source (``fact_sets.py``). A fact that several filings report, such as
last year's revenue, is stored once for each of them (a vintage each), and all vintages are returned. Within a filing a
fact is returned once, from the best source that is stored; the other sources' facts are hidden.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf
from finapi.edgar.concept_names import is_extension
from finapi.market.reference.companies import Company
from finapi.market.reference.sectors import SectorFilter
from finapi.market.statements.fact_sets import SOURCE_NAMES
from finapi.store.db import Row, Transaction

Dimensions = tuple[tuple[str, str], ...]

# The number of decimal places to which a fact is exact; "INF" for an exact value, None if the source does not state it.
Decimals = int | Annotated[str, OneOf(("INF",))] | None

# The taxonomies in which a concept without a prefix is searched, in this order.
TAXONOMIES = ("us-gaap", "ifrs-full", "dei", "srt")
# Annual and quarterly reports. Figures of proxy statements and current reports are rounded or provisional.
_PERIODIC_FORMS = ("10-K", "10-Q", "20-F", "40-F", "6-K")

_FIRST_DAY = "1900-01-01"
_LAST_DAY = "2200-12-31"
# Longer than any period.
_MAX_DAYS = 1_000_000


class FiledFact(NamedTuple):
    """A fact as one filing reports it.

    ``concept`` and ``unit`` look like ``us-gaap:Assets`` and ``USD``. Both ISO dates are included in the period;
    ``start`` is None for an instant. ``value`` is the text as tagged, None for nil. ``decimals`` is an integer as text,
    ``INF``, or None if the source does not state it. ``form`` and ``filed`` belong to the filing and are None if
    unknown. ``source`` is ``xbrl``, ``companyfacts`` or ``fsds``; the dates of ``fsds`` are rounded to month ends.
    ``conflicting_values`` are further values that the filing states with the same precision, where they were queried.
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
    conflicting_values: tuple[str, ...] = ()


# ---- Facts as the API returns them


class NilMark(TypedDict):
    """The reason why a fact has no value: the filing leaves it empty (nil)."""

    status: Literal["nil"]
    reason: Literal["reported_nil"]


class FactPeriod(TypedDict):
    """The period of a fact, with the names that XBRL uses."""

    startDate: Date | None
    endDate: Date


class FactDimension(TypedDict):
    """A member of an axis."""

    axis: str
    member: str


class XbrlFact(TypedDict):
    """A fact with everything that its document states about it."""

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
    conflicting_values: NotRequired[
        Annotated[list[Decimal], "Further values that the filing states for the fact with the same precision."]
    ]


class FactValue(TypedDict):
    """The value that a filing reports for a concept and a period."""

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
    """A fact in a list of several concepts."""


class FactCompany(TypedDict):
    """The company of a fact."""

    ticker: str | None
    cik: str


class ConceptFact(FactCompany, FactValue):
    """A fact in a list of one concept."""


_NIL: NilMark = {"status": "nil", "reason": "reported_nil"}


def parse_decimals(text: str | None) -> Decimals:
    """Return the decimals of a fact, which are stored as text, in the form in which the API returns them."""
    return text if text is None or text == "INF" else int(text)


def build_xbrl_fact(cik: int, fact: FiledFact) -> XbrlFact:
    """Return a fact of a company in the form that ``/xbrl/facts`` returns."""
    taxonomy, _, concept = fact.concept.partition(":")
    record: XbrlFact = {
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
    if fact.conflicting_values:
        record["conflicting_values"] = [Decimal(value) for value in fact.conflicting_values]
    return record


def build_listed_fact(fact: FiledFact) -> ListedFact:
    """Return a fact in the form that ``/facts`` returns."""
    return {"concept_qualified_name": fact.concept, **_build_value(fact)}


def build_concept_fact(company: Company, fact: FiledFact | CompanyFact) -> ConceptFact:
    """Return a fact of a company in the form that ``/facts/by-concept`` returns."""
    return {"ticker": company.ticker, "cik": company.padded_cik, **_build_value(fact)}


def _build_value(fact: FiledFact | CompanyFact) -> FactValue:
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


# ---- Facts of a filing or a company


def list_company_facts(
    tx: Transaction,
    cik: int,
    *,
    as_of: str | None = None,
    concepts: Iterable[str] | None = None,
    dimensioned: bool = False,
) -> list[FiledFact]:
    """Return the facts of a company without dimensions or, with ``dimensioned``, only those with dimensions.

    They are in the order of filing day (unknown days last), accession number, concept, unit and period. ``as_of`` (ISO
    date) leaves out filings of a later or unknown day; ``concepts`` selects concepts by full name.
    """
    fact_sets = list_fact_sets(tx, cik=cik, as_of=as_of)
    fact_sets.sort(key=lambda row: (row["filed_at"] is None, row["filed_at"], row["accession"]))
    company_facts: list[FiledFact] = []
    for _, facts in iter_facts_by_set(tx, fact_sets, concepts=concepts, dimensioned=dimensioned):
        company_facts += [fact for fact in facts if bool(fact.dims) == dimensioned]
    return company_facts


def iter_facts_by_set(
    tx: Transaction,
    fact_sets: Iterable[Row],
    *,
    concepts: Iterable[str] | None = None,
    dimensioned: bool = True,
    with_conflicts: bool = False,
) -> Iterator[tuple[Row, list[FiledFact]]]:
    """Yield each set with its facts in the order of concept, unit, period and dimensions.

    Facts with dimensions are included only with ``dimensioned``, and their conflicting values ``with_conflicts``.
    """
    concepts_json = None if concepts is None else json.dumps(sorted(set(concepts)))
    plain_query = "plain_facts" if concepts_json is None else "plain_facts_of_concepts"
    concept_names = _NamesById(tx, "concept_name")
    unit_names = _NamesById(tx, "unit_name")
    dimension_members = _NamesById(tx, "dimension_members")
    for fact_set in fact_sets:
        rows = tx.list_rows(plain_query, id=fact_set["id"], concepts=concepts_json)
        if dimensioned:
            rows += tx.list_rows("dimensioned_facts", id=fact_set["id"], concepts=concepts_json)
        conflicting_values = _find_conflicts_of_set(tx, fact_set["id"]) if with_conflicts else {}
        accession = fact_set["accession"]
        form = fact_set["form"]
        filed = fact_set["filed_at"]
        source = SOURCE_NAMES[fact_set["source"]]
        # Unpacking is faster than access by name, and a set has up to 10,000 facts.
        facts = [
            FiledFact(
                concept=concept_names[concept_id],
                unit=unit_names[unit_id],
                start=_compute_start(end_day, day_count),
                end=days.iso(end_day),
                value=value,
                decimals=decimals,
                accession=accession,
                form=form,
                filed=filed,
                source=source,
                dims=tuple(json.loads(dimension_members[dimension_id]).items()) if dimension_id else (),
                conflicting_values=conflicting_values.get((dimension_id, concept_id, end_day, day_count, unit_id), ()),
            )
            for dimension_id, concept_id, end_day, day_count, unit_id, value, decimals in rows
        ]
        facts.sort(key=lambda fact: (fact.concept, fact.unit, fact.end, fact.start or "", fact.dims))
        yield fact_set, facts


def _find_conflicts_of_set(tx: Transaction, fact_set_id: int) -> dict[tuple[int, ...], tuple[str, ...]]:
    """Return the further values of the facts of a set, by dimension, concept, last day, number of days and unit."""
    values: dict[tuple[int, ...], tuple[str, ...]] = {}
    for *columns, value in tx.list_rows("conflicts_of_fact_set", id=fact_set_id):
        key = tuple(columns)
        values[key] = (*values.get(key, ()), value)
    return values


def _compute_start(end_day: int, day_count: int) -> str | None:
    """Return the first day of a period as ISO date, or None for an instant (of 0 days)."""
    return days.iso(end_day - day_count + 1) if day_count else None


class _NamesById(dict[int, str]):
    """Names by id; each is queried once, when it is first used."""

    def __init__(self, tx: Transaction, query: str) -> None:
        self._tx = tx
        self._query = query

    def __missing__(self, name_id: int) -> str:
        name = str(self._tx.find_value(self._query, id=name_id))
        self[name_id] = name
        return name


def list_fact_sets(
    tx: Transaction,
    *,
    accession: str | None = None,
    cik: int | None = None,
    as_of: str | None = None,
    amendments: str = "all",
) -> list[Row]:
    """Return the sets of facts of a filing, or of a company's filings with the latest first.

    With ``amendments="current"``, leave out a company's reports that are replaced by a later report for the same
    period.
    """
    if accession is not None:
        return tx.list_rows("fact_sets_of_filing", accession=accession, cik=cik, as_of=as_of)
    rows = tx.list_rows("fact_sets_of_cik", cik=cik, as_of=as_of)
    if amendments == "all":
        return rows
    latest_accessions = _find_latest_reports(rows)
    return [row for row in rows if row["accession"] in latest_accessions]


def is_latest_report(tx: Transaction, cik: int, accession: str) -> bool:
    """Return True if the company has no later report of the same form (or its amendment) for the same period."""
    return accession in _find_latest_reports(tx.list_rows("fact_sets_of_cik", cik=cik, as_of=None))


def _find_latest_reports(rows: Iterable[Row]) -> set[str]:
    """Return the accession number of the latest filing for each form and period; the rows have the latest first.

    A report of an unknown form or period neither replaces another nor is replaced.
    """
    latest_accessions: dict[tuple[str, ...], str] = {}
    for row in rows:
        if row["form"] is None or row["period"] is None:
            key: tuple[str, ...] = (row["accession"],)
        else:
            key = (row["form"].removesuffix("/A"), row["period"])
        latest_accessions.setdefault(key, row["accession"])
    return set(latest_accessions.values())


class FactFilters(NamedTuple):
    """The filters for the facts of sets: concepts, the day on which the period ends, and dimensions.

    ``concepts`` are full names. ``dims`` are axes (``ProductOrServiceAxis``) or axes with a member
    (``ProductOrServiceAxis=ServiceMember``); a fact must match all of them. ``with_conflicts`` is not a filter: the
    conflicting values of the facts are queried too.
    """

    concepts: Sequence[str] | None = None
    first: str | None = None
    last: str | None = None
    dimensioned: bool = False
    dims: Sequence[str] = ()
    with_conflicts: bool = False

    def accepts(self, fact: FiledFact) -> bool:
        """Return True if period and dimensions of a fact match; its concept is not checked."""
        is_in_range = (self.first or "") <= fact.end <= (self.last or "~")
        return is_in_range and all(_has_dimension(fact, text) for text in self.dims)


def count_facts(tx: Transaction, fact_set: Row, filters: FactFilters) -> int:
    """Return the number of facts of a set that the filters accept, ignoring ``dims``."""
    concepts_json = None if filters.concepts is None else json.dumps(sorted(set(filters.concepts)))
    fact_count: int = tx.find_value(
        "count_facts",
        id=fact_set["id"],
        concepts=concepts_json,
        dimensioned=filters.dimensioned,
        first=filters.first and days.number(filters.first),
        last=filters.last and days.number(filters.last),
    )
    return fact_count


def list_fact_page(
    tx: Transaction, fact_sets: Iterable[Row], filters: FactFilters, *, limit: int, offset: int
) -> tuple[list[tuple[int, FiledFact]], bool]:
    """Return a page of the facts of sets, each with its CIK, and True if there are more facts after it.

    Sets before the page are only counted, unless ``filters.dims`` needs their facts.
    """
    page: list[tuple[int, FiledFact]] = []
    for fact_set in fact_sets:
        if offset and not filters.dims:
            fact_count = count_facts(tx, fact_set, filters)
            if fact_count <= offset:
                offset -= fact_count
                continue
        facts_by_set = iter_facts_by_set(
            tx,
            [fact_set],
            concepts=filters.concepts,
            dimensioned=filters.dimensioned,
            with_conflicts=filters.with_conflicts,
        )
        for _, facts in facts_by_set:
            accepted = [(fact_set["cik"], fact) for fact in facts if filters.accepts(fact)]
            page += accepted[offset:]
            offset = max(0, offset - len(accepted))
        if len(page) > limit:
            break
    return page[:limit], len(page) > limit


def list_qualified_names(concepts: Sequence[str] | None) -> list[str] | None:
    """Return the full names that concepts may have, the preferred first; None for no concepts.

    A concept with a taxonomy (``us-gaap:Assets``) has one name, ``Assets`` may be of any taxonomy or an extension.
    """
    if not concepts:
        return None
    qualified_names = []
    for concept in concepts:
        if ":" in concept:
            qualified_names.append(concept)
        else:
            qualified_names += [f"{taxonomy}:{concept}" for taxonomy in (*TAXONOMIES, "ext")]
    return qualified_names


def _has_dimension(fact: FiledFact, dimension_text: str) -> bool:
    """Return True if a fact has an axis, or an axis with a member, given with or without their taxonomies."""
    axis, _, member = dimension_text.partition("=")
    for fact_axis, fact_member in fact.dims:
        is_axis = axis in (fact_axis, _remove_taxonomy(fact_axis))
        if is_axis and (not member or member in (fact_member, _remove_taxonomy(fact_member))):
            return True
    return False


def _remove_taxonomy(name: str) -> str:
    return name.rpartition(":")[2]


# ---- One concept over all companies


class CompanyFact(NamedTuple):
    """A fact of any company; ``start`` is None for an instant."""

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
    """Return id and full name of a concept given with or without its taxonomy.

    Raise ApiError NOT_FOUND if no fact of the concept is stored.
    """
    names = list_qualified_names([text]) or []
    rows = tx.list_rows("concepts_by_name", names=json.dumps(names))
    if not rows:
        raise ApiError("NOT_FOUND", "finapi has no fact of this concept.")
    preferred = min(rows, key=lambda row: names.index(row["name"]))
    return preferred["id"], preferred["name"]


def list_concept_facts(
    tx: Transaction, concept_id: int, *, first: str | None, last: str | None, limit: int, offset: int = 0
) -> tuple[list[CompanyFact], int]:
    """Return a page of the facts of a concept, the latest period end first, and their total number.

    Only facts without dimensions whose period ends between two days count. The number of facts that end on each day
    shows which days are on the page; all facts of these days are read and sorted.
    """
    first_day = days.number(first or _FIRST_DAY)
    last_day = days.number(last or _LAST_DAY)
    counts = tx.list_rows("fact_counts_by_end_day", concept=concept_id, first=first_day, last=last_day)
    end_days = [row["end_day"] for row in counts]  # The latest first.
    # Element i is the number of facts that come before end_days[i].
    facts_before = [0, *accumulate(row["number"] for row in counts)]
    total = facts_before[-1]
    if offset >= total:
        return [], total
    newest_index = bisect_right(facts_before, offset) - 1
    oldest_index = bisect_right(facts_before, min(offset + limit, total) - 1) - 1
    facts = _list_facts_in_range(tx, concept_id, (end_days[oldest_index], end_days[newest_index]), (0, _MAX_DAYS))
    facts.sort(key=lambda fact: (fact.cik, fact.filed or "~", fact.accession, fact.start or "", fact.unit))
    facts.sort(key=lambda fact: fact.end, reverse=True)
    skipped = offset - facts_before[newest_index]
    return facts[skipped : skipped + limit], total


def _list_facts_in_range(
    tx: Transaction, concept_id: int, end_days: tuple[int, int], day_counts: tuple[int, int]
) -> list[CompanyFact]:
    """Return the facts of a concept whose last day and whose length in days are in these ranges, both ends included."""
    unit_names = _NamesById(tx, "unit_name")
    rows = tx.list_rows(
        "concept_facts",
        concept=concept_id,
        first=end_days[0],
        last=end_days[1],
        shortest=day_counts[0],
        longest=day_counts[1],
    )
    return [
        CompanyFact(
            cik=row["cik"],
            accession=row["accession"],
            form=row["form"],
            filed=row["filed_at"],
            sic=row["sic"],
            start=_compute_start(row["end_day"], row["days"]),
            end=days.iso(row["end_day"]),
            unit=unit_names[row["unit_id"]],
            value=row["value"],
        )
        for row in rows
    ]


class Aggregates(TypedDict):
    """Statistics over companies; all but ``count`` are null if there is no company."""

    sum: Decimal | None
    avg: Decimal | None
    median: Decimal | None
    count: int
    min: Decimal | None
    max: Decimal | None


class Aggregate(NamedTuple):
    """Statistics in the unit that most companies use; ``excluded`` counts the companies that use only other units."""

    unit: str | None
    aggregates: Aggregates
    excluded: int


def aggregate_concept(
    tx: Transaction, concept_id: int, period: tuple[int, int | None], ciks: Collection[int], sector: SectorFilter | None
) -> Aggregate:
    """Return statistics over one figure of each company for a calendar year, or (year, quarter).

    A duration belongs to the calendar period that contains its middle, an instant to the quarter whose end is nearest.
    If a company has several vintages of the figure, the latest one from a periodic report is used, else the latest one
    from any filing. ``ciks`` (if not empty) and ``sector`` select companies.
    """
    year, quarter = period
    day_counts = (330, 420) if quarter is None else (70, 120)
    facts = _list_facts_in_range(tx, concept_id, compute_end_days(year, quarter), day_counts)
    if not facts:
        # The concept has no durations: it is reported for instants, and the figure of a year is that of its last
        # quarter.
        facts = _list_facts_in_range(tx, concept_id, compute_end_days(year, quarter or 4), (0, 0))
    facts_by_unit: dict[str, dict[int, CompanyFact]] = {}
    for fact in facts:
        is_selected = not ciks or fact.cik in ciks
        is_in_sector = sector is None or sector.includes(fact.sic)
        if fact.value is None or not is_selected or not is_in_sector:
            continue
        facts_by_company = facts_by_unit.setdefault(fact.unit, {})
        best_fact = facts_by_company.get(fact.cik, fact)
        facts_by_company[fact.cik] = max(best_fact, fact, key=_build_vintage_key)
    if not facts_by_unit:
        return Aggregate(None, _compute_aggregates([]), 0)
    # Of equally common units USD is chosen, the one that most filers use.
    common_unit = min(facts_by_unit, key=lambda unit: (-len(facts_by_unit[unit]), unit != "USD", unit))
    common_facts = facts_by_unit[common_unit]
    values = [Decimal(fact.value) for _, fact in sorted(common_facts.items()) if fact.value is not None]
    all_ciks = {cik for facts_by_company in facts_by_unit.values() for cik in facts_by_company}
    return Aggregate(common_unit, _compute_aggregates(values), len(all_ciks - common_facts.keys()))


def _compute_aggregates(values: Sequence[Decimal]) -> Aggregates:
    if not values:
        return {"sum": None, "avg": None, "median": None, "count": 0, "min": None, "max": None}
    total = sum(values, Decimal(0))
    return {
        "sum": total,
        "avg": round(total / len(values), 6),
        "median": median(values),
        "count": len(values),
        "min": min(values),
        "max": max(values),
    }


def _build_vintage_key(fact: CompanyFact) -> tuple[Any, ...]:
    """Return the sort key of a company's facts for one period; the greatest is used."""
    is_periodic = (fact.form or "").startswith(_PERIODIC_FORMS)
    return is_periodic, fact.end, fact.filed or "", fact.accession, fact.value


def compute_end_days(year: int, quarter: int | None) -> tuple[int, int]:
    """Return the first and last day number on which a period of a calendar year or quarter can end.

    The middle of such a period lies in the calendar year or quarter: a year may end from 2 July to 1 July, and a
    quarter may end 45 days later than the calendar quarter begins or ends.
    """
    if quarter is None:
        return days.number(f"{year}-07-02"), days.number(f"{year + 1}-07-01")
    first_day = days.number(f"{year}-{3 * quarter - 2:02}-01")
    last_day = days.number(f"{year + quarter // 4}-{3 * quarter % 12 + 1:02}-01") - 1
    return first_day + 45, last_day + 45
