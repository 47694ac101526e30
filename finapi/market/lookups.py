"""Looking facts up: by filing, by company, by concept, and sums over companies; which companies there are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any, NamedTuple

from finapi.db import Row, Transaction
from finapi.edgar import tickers
from finapi.errors import ApiError
from finapi.market import facts, kinds, sectors, statements
from finapi.market.facts import Fact
from finapi.market.factsets import SOURCES, day_number, iso_day

# The taxonomies that a bare name is looked for in, in this order.
TAXONOMIES = ("us-gaap", "ifrs-full", "dei", "srt")
# All that are published for filings; every other prefix is a filer's own.
STANDARD = frozenset(
    {
        *TAXONOMIES,
        *("country", "currency", "cyd", "ecd", "exch", "ffd", "invest", "naics", "oef", "rr", "rxp", "sic"),
        *("snj", "spac", "stpr", "us-types", "vip", "cef", "fnd", "sro", "sbs"),
    }
)
# Annual and quarterly reports; figures of proxy statements and current reports are rounded or provisional.
_PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "6-K")

_FIRST, _LAST = "1900-01-01", "2200-12-31"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which facts of a filing or a company: ``dims`` are axes, or axes with a member after ``=``."""

    tags: Sequence[str] = ()
    dims: Sequence[str] = ()
    consolidated_only: bool = False


class Placed(NamedTuple):
    """A fact and the company whose filing it is from."""

    cik: int
    fact: Fact


def page(
    tx: Transaction, sets: Iterable[Row], wanted: Wanted, *, limit: int, offset: int
) -> tuple[list[Placed], bool]:
    """The facts of the sets in their order, from ``offset``, and whether there are more."""
    found: list[Placed] = []
    needed = offset + limit + 1
    for one in sets:
        found.extend(Placed(one["cik"], fact) for fact in _matching(tx, one, wanted))
        if len(found) >= needed:
            break
    return found[offset : offset + limit], len(found) >= needed


def sets_of(
    tx: Transaction, *, accession: str | None, cik: int | None, as_of: str | None, amendments: str
) -> list[Row]:
    """The sets of facts of a filing, or of a company's filings with the last filed first.

    ``amendments`` ``current`` leaves out a report that a later one for the same period replaces.
    """
    if accession is not None:
        return tx.all("lookup_sets_of_filing", accession=accession, cik=cik, as_of=as_of)
    rows = tx.all("lookup_sets", cik=cik, as_of=as_of)
    if amendments == "all":
        return rows
    current = _current(rows)
    return [row for row in rows if row["accession"] in current]


def is_current(tx: Transaction, cik: int, accession: str) -> bool:
    """Whether no later report of the company is for the same period and of the same form, amended or not."""
    return accession in _current(tx.all("lookup_sets", cik=cik, as_of=None))


def _current(rows: Iterable[Row]) -> set[str]:
    """Of a form and period, what was filed last; reports of an unknown period replace nothing."""
    kept: dict[tuple[Any, ...], str] = {}
    for row in rows:
        form, period = row["form"], row["period"]
        alike = (row["accession"],) if form is None or period is None else (form.removesuffix("/A"), period)
        kept.setdefault(alike, row["accession"])
    return set(kept.values())


def _matching(tx: Transaction, one: Row, wanted: Wanted) -> Iterator[Fact]:
    names = [name for tag in wanted.tags for name in _spellings(tag)]
    found = facts.of_set(
        tx, one, concepts=names if wanted.tags else None, dimensioned=not wanted.consolidated_only
    )
    return (fact for fact in found if all(_has(fact, part) for part in wanted.dims))


def _spellings(tag: str) -> list[str]:
    return [tag] if ":" in tag else [f"{taxonomy}:{tag}" for taxonomy in (*TAXONOMIES, "ext")]


def _has(fact: Fact, part: str) -> bool:
    axis, _, member = part.partition("=")
    return any(_is(name, axis) and (not member or _is(value, member)) for name, value in fact.dims)


def _is(name: str, asked: str) -> bool:
    return name == asked or name.rpartition(":")[2] == asked


def is_extension(concept: str) -> bool:
    """Whether an element is the filer's own."""
    return concept.partition(":")[0] not in STANDARD


# ---- one concept over companies


class Across(NamedTuple):
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


def concept(tx: Transaction, text: str) -> tuple[int, str]:
    """The id and full name of a concept given with or without its taxonomy; NOT_FOUND when none is held."""
    spellings = _spellings(text)
    rows = tx.all("concepts_called", names=json.dumps(spellings))
    if not rows:
        raise ApiError("NOT_FOUND", "No fact of this concept is held.")
    best = min(rows, key=lambda row: spellings.index(row["name"]))
    return best["id"], best["name"]


def by_concept(
    tx: Transaction, concept_id: int, *, first: str | None, last: str | None, limit: int
) -> tuple[list[Across], int]:
    """The latest figures of a concept, whosever, and how many there are in all between two days."""
    begin, end = day_number(first or _FIRST), day_number(last or _LAST)
    total: int = tx.value("facts_of_concept", concept=concept_id, first=begin, last=end)
    cut = tx.value(
        "day_of_concept", concept=concept_id, first=begin, last=end, offset=max(0, min(limit, total) - 1)
    )
    found = [] if cut is None else _across(tx, concept_id, (cut, end), (0, 1_000_000))
    found.sort(key=lambda one: (one.cik, one.filed or "~", one.accession, one.start or "", one.unit))
    found.sort(key=lambda one: one.end, reverse=True)
    return found[:limit], total


def _across(
    tx: Transaction, concept_id: int, ends: tuple[int, int], lengths: tuple[int, int]
) -> list[Across]:
    """The figures of a concept that end and last between these days."""
    units: dict[int, str] = {}
    found = []
    for row in tx.all(
        "rows_of_concept",
        concept=concept_id,
        first=ends[0],
        last=ends[1],
        shortest=lengths[0],
        longest=lengths[1],
    ):
        cik, accession, form, filed, sic, end, days, unit, value = row
        if unit not in units:
            units[unit] = tx.value("unit_name", id=unit)
        start = iso_day(end - days + 1) if days else None
        found.append(Across(cik, accession, form, filed, sic, start, iso_day(end), units[unit], value))
    return found


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Sums over companies in the unit that most of them use; ``excluded`` are companies that use only others."""

    unit: str | None
    values: tuple[Decimal, ...]
    excluded: int

    def figures(self) -> dict[str, Any]:
        """sum, avg (six decimals), median, count, min and max; null where there is no company."""
        found = self.values
        return {
            "sum": sum(found) if found else None,
            "avg": round(sum(found) / len(found), 6) if found else None,
            "median": median(found) if found else None,
            "count": len(found),
            "min": min(found, default=None),
            "max": max(found, default=None),
        }


def aggregate(
    tx: Transaction,
    concept_id: int,
    period: tuple[int, int | None],
    ciks: Collection[int],
    sector: str | None,
) -> Aggregate:
    """One figure of each company for a calendar year, or a quarter of one, added up.

    A period belongs to the calendar period in which its middle lies, a balance to the quarter whose end is
    nearest. Of a company's vintages the last filed in a periodic report stands, else the last filed.
    """
    year, quarter = period
    found = _across(tx, concept_id, _middle_in(year, quarter), (330, 420) if quarter is None else (70, 120))
    if not found:
        found = _across(tx, concept_id, _middle_in(year, quarter or 4), (0, 0))
    best: dict[tuple[str, int], Across] = {}
    for one in found:
        if (
            one.value is None
            or (ciks and one.cik not in ciks)
            or (sector is not None and sectors.of(one.sic)[0] != sector)
        ):
            continue
        key = (one.unit, one.cik)
        best[key] = max(best.get(key, one), one, key=_standing)
    using: dict[str, set[int]] = {}
    for unit, cik in best:
        using.setdefault(unit, set()).add(cik)
    if not using:
        return Aggregate(None, (), 0)
    # Of equally common units the dollar: most filers' own.
    dominant = min(using, key=lambda name: (-len(using[name]), name != "USD", name))
    values = [one.value for key, one in sorted(best.items()) if key[0] == dominant]
    others = {cik for _, cik in best} - using[dominant]
    return Aggregate(dominant, tuple(Decimal(value) for value in values if value is not None), len(others))


def _standing(one: Across) -> tuple[Any, ...]:
    return (one.form or "").startswith(_PERIODIC), one.end, one.filed or "", one.accession, one.value


def _middle_in(year: int, quarter: int | None) -> tuple[int, int]:
    """The first and last day on which a period ends whose middle lies in the calendar period."""
    if quarter is None:
        return day_number(f"{year}-07-02"), day_number(f"{year + 1}-07-01")
    opening = day_number(f"{year}-{3 * quarter - 2:02}-01")
    closing = day_number(f"{year + quarter // 4}-{3 * quarter % 12 + 1:02}-01") - 1
    return opening + 45, closing + 45


def search(tx: Transaction, text: str, limit: int) -> list[dict[str, Any]]:
    """Companies whose ticker, name or CIK is like a text, the likeliest first; each once."""
    folded = " ".join(text.lower().split())
    try:
        ticker = tickers.fold(text.strip())
    except ValueError:
        ticker = ""
    number = int(folded) if folded.isascii() and folded.isdigit() and len(folded) <= 10 else -1
    # A company has up to 20 tickers, and each is a row.
    rows = tx.all("companies_like", cik=number, ticker=ticker, text=folded, limit=limit * 20)
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(
            row["cik"], {"cik": f"{row['cik']:010}", "ticker": row["ticker"], "company": row["name"]}
        )
    return list(found.values())[:limit]


# ---- what is held


def coverage(tx: Transaction, cik: int) -> dict[str, Any]:
    """How many filings of a company are held with figures, from which best source, and from when to when."""
    held = tx.one("coverage_of_company", cik=cik)
    periods = tx.one("periods_of_company", cik=cik)
    assert held is not None
    assert periods is not None
    covered = held["filings"] > 0
    return {
        "covered": covered,
        "phase": "figures" if covered else "listed",
        "stratum": SOURCES[held["source"]] if covered else None,
        "filings_indexed": held["filings"],
        "filings_total": max(held["filings"], tx.value("filings_of_company", cik=cik)),
        "first_period": None if periods["first"] is None else iso_day(periods["first"]),
        "last_period": None if periods["last"] is None else iso_day(periods["last"]),
    }


def coverage_of_all(tx: Transaction) -> tuple[dict[str, Any], int]:
    """The same over every company that is held, and how many those are."""
    held = tx.one("coverage_of_all")
    assert held is not None
    covered = held["filings"] > 0
    figures = {
        "covered": covered,
        "phase": "figures" if covered else "listed",
        "stratum": None,
        "filings_indexed": held["filings"],
        "filings_total": max(held["filings"], tx.value("filings_of_all")),
        "first_period": None,
        "last_period": None,
    }
    return figures, held["companies"]


def index(tx: Transaction, held: statements.Report) -> dict[str, Any]:
    """The sections of a report as ``/xbrl/filing/{accession}/index`` lists them."""
    filing = tx.one("filing_row", accession=held.accession)
    inline = filing["is_inline_xbrl"] if filing is not None else None
    sections = tx.all("report_sections", report_id=held.id)
    return {
        "is_current": is_current(tx, held.cik, held.accession),
        "packaging": held.source,
        "is_inline_xbrl": None if inline is None else bool(inline),
        "reports": [_section(row) for row in sections],
        "assembled_statements": [
            {
                "slot": kinds.slot_of(row["kind"]),
                "role_uri": row["role_uri"] or None,
                "definition": row["definition"] or None,
                "statement": row["kind"],
            }
            for row in sections
            if row["kind"] is not None and row["columns"]
        ],
    }


def _section(row: Row) -> dict[str, Any]:
    """A section; its group is the word between number and title ("0000003 - Statement - BALANCE SHEETS")."""
    parts = [part.strip() for part in row["definition"].split(" - ", 2)]
    group = parts[1] if len(parts) == 3 else None
    return {
        "role_seq": row["seq"],
        "role_uri": row["role_uri"] or None,
        "definition": row["definition"] or None,
        "group_type": group,
        "menu_category": _menu(group, parts[-1], row["kind"]),
        "statement_slot": None if row["kind"] is None else kinds.slot_of(row["kind"]),
        # The SEC's pages are numbered by what its renderer shows, which the documents do not tell.
        "r_file": None,
    }


def _menu(group: str | None, title: str, kind: str | None) -> str | None:
    """Under which heading the SEC's viewer lists a section; None where no schema tells."""
    if kind is not None:
        return "Statements"
    if group is None:
        return None
    if group == "Document":
        return "Cover"
    endings = (("(Policies)", "Policies"), ("(Tables)", "Tables"), ("(Details", "Details"))
    return next((menu for mark, menu in endings if mark in title), "Notes")


def held(tx: Transaction) -> dict[str, int]:
    """How many companies, filings, facts, transactions of insiders, holdings and prices are held, as of which
    ``data_version``; every row is counted.
    """
    found = tx.one("held")
    assert found is not None
    return dict(found)
