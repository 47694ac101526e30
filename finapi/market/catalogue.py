"""Filings found: pages of the list, one filing, the filings of a day, forms, companies that file them, counts.

Every list walks :file:`filing_terms`, which holds each filing under each term that it can be asked by, in the
order of days and accession numbers: a page costs its rows, whatever else is stored.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby, islice
from typing import Any, NamedTuple
from urllib.parse import quote

from finapi.db import Row, Transaction
from finapi.market import filings
from finapi.market.announce import ARCHIVES

# Totals are exact up to here where they must be counted row by row.
MOST_COUNTED = 20_000
MOST_SKIPPED = 10_000  # rows that an offset may pass over: a cursor goes any distance

_ROLES = {rank: role for role, rank in filings.RANKS.items()}
# What EDGAR lists apart from the documents that people read.
_DATA_TYPES = ("EX-100", "EX-101", "XML", "JSON", "ZIP", "EXCEL")


class Place(NamedTuple):
    """Where a filing stands in every list: its day ("" when unknown) and its number."""

    filed_at: str
    number: int


def accession_of(place: Place) -> str:
    """The accession number of the filing at a place."""
    return filings.accession_of(place.number)


@dataclass(frozen=True, slots=True)
class Question:
    """Which filings: of any of these companies and any of these forms, items and exhibits, between two days."""

    ciks: tuple[int, ...] | None = None
    forms: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None

    def families(self) -> list[list[str]]:
        """The terms asked for, the most selective family first; one of each family must be a filing's."""
        ciks = None if self.ciks is None else [f"c{cik}" for cik in self.ciks]
        others = (("e", self.exhibits), ("i", self.items), ("f", self.forms))
        asked = [[f"{letter}{word}" for word in words] for letter, words in others if words]
        return ([ciks] if ciks is not None else []) + asked


class Page(NamedTuple):
    """Which part of a list: ``limit`` rows behind ``after``, from its newest or its oldest end."""

    limit: int
    newest_first: bool = True
    after: Place | None = None


def places(tx: Transaction, question: Question, page: Page) -> list[Place]:
    """The places of a page of the answer, each once."""
    families = question.families()
    filters = _filters(families[1:], question)
    walks = [_walk(tx, term, filters, page) for term in (families[0] if families else [""])]
    # A filing of two of the companies stands in two walks.
    merged = groupby(heapq.merge(*walks, reverse=page.newest_first))
    return [place for place, _ in islice(merged, page.limit)]


def total(tx: Transaction, question: Question) -> tuple[int, bool]:
    """How many filings answer, and whether that is exact: beyond :data:`MOST_COUNTED` it is a lower bound."""
    families = question.families()
    whole = question.first is None and question.last is None
    if whole and (not families or (len(families) == 1 and question.forms)):
        # A filing has one form: the counts of forms add up.
        counts = [tx.value("term_count", term=term) or 0 for term in (families[0] if families else [""])]
        return sum(counts), True
    driving = families[0] if families else [""]
    filters = _filters(families[1:], question)
    counted = int(
        tx.value(
            "filings_count",
            terms=json.dumps(driving),
            one=filters.one,
            two=filters.two,
            three=filters.three,
            first=filters.first,
            last=filters.last,
            most=MOST_COUNTED + 1,
        )
    )
    return min(counted, MOST_COUNTED), counted <= MOST_COUNTED


def rows(tx: Transaction, accessions: Sequence[str]) -> list[dict[str, Any]]:
    """The filings of these accession numbers in their order, as ``/sec/filings`` answers them."""
    wanted = json.dumps(list(accessions))
    held = {row["accession"]: row for row in tx.all("filings_named", accessions=wanted)}
    parties: dict[int, list[Row]] = {}
    for party in tx.all("parties_of", accessions=wanted):
        parties.setdefault(party["filing_id"], []).append(party)
    papers: dict[int, list[Row]] = {}
    for paper in tx.all("documents_of", accessions=wanted):
        papers.setdefault(paper["filing_id"], []).append(paper)
    return [
        _shown(held[one], parties.get(held[one]["id"], []), papers.get(held[one]["id"], []))
        for one in accessions
        if one in held
    ]


def detail(tx: Transaction, accession: str) -> dict[str, Any] | None:
    """One filing with its parties, or None."""
    found = rows(tx, [accession])
    if not found:
        return None
    parties = [
        {
            "cik": f"{party['cik']:010}",
            "company_name": party["name"],
            "ticker": party["ticker"],
            "role": _ROLES.get(party["rank"]),
        }
        for party in sorted(tx.all("parties_of", accessions=json.dumps([accession])), key=_standing)
    ]
    has_text = bool(tx.value("has_text", accession=accession))
    return {**found[0], "raw_entry_xml": None, "parties": parties, "has_html": has_text}


def of_day(tx: Transaction, day: str, *, limit: int, after: int) -> list[dict[str, Any]]:
    """The filings of a day in the order of their numbers, behind the number ``after``."""
    return [
        {
            "accession_number": row["accession"],
            "cik": f"{row['cik']:010}",
            "form_type": row["form"],
            "accepted_at": row["accepted_at"],
        }
        for row in tx.all("filings_of_day", day=day, after=after, limit=limit)
    ]


def count_of_day(tx: Transaction, day: str) -> int:
    """How many filings bear this day."""
    return int(tx.value("count_of_day", day=day))


def forms(tx: Transaction, text: str | None, limit: int) -> list[dict[str, Any]]:
    """Forms that are held or described, those with most filings first; ``text`` must occur in form or description."""
    held = {row["form"]: row for row in tx.all("form_counts")}
    found = [_form(name, held.get(name)) for name in held.keys() | descriptions().keys()]
    if text is not None:
        wanted = text.casefold()
        found = [
            one for one in found if wanted in f"{one['form_type']} {one['description'] or ''}".casefold()
        ]
    return sorted(found, key=lambda one: (-one["filing_count"], one["form_type"]))[:limit]


def form(tx: Transaction, name: str) -> dict[str, Any] | None:
    """One form, or None when it is neither held nor described."""
    row = tx.one("form_count", term=f"f{name}")
    return _form(name, row) if row is not None or root(name) in descriptions() else None


def entities(tx: Transaction, wanted: str | None, *, limit: int, after: int) -> list[dict[str, Any]]:
    """Companies and people by CIK, behind ``after``; of a form, those that are part of a filing of it."""
    if wanted is None:
        found = tx.all("entities", after=after, limit=limit)
    else:
        found = tx.all("entities_of_form", form=wanted, after=after, limit=limit)
    return [{"entity_name": row["name"], "cik": f"{row['cik']:010}"} for row in found]


def newest(tx: Transaction) -> str | None:
    """When the newest filing was accepted, or the beginning of its day when only that is known."""
    row = tx.one("newest_filing")
    if row is None or (row["accepted_at"] is None and row["filed_at"] is None):
        return None
    return row["accepted_at"] or f"{row['filed_at']}T00:00:00.000Z"


def ticker_count(tx: Transaction) -> int:
    """How many tickers are known."""
    return int(tx.value("ticker_count"))


def insider_count(tx: Transaction) -> int:
    """How many insiders have reported."""
    return int(tx.value("insider_count"))


def last_13f_quarter(tx: Transaction) -> str | None:
    """The end of the newest quarter of which a fund's holdings are held."""
    found: str | None = tx.value("last_13f_quarter")
    return found


def statistics(tx: Transaction) -> dict[str, Any]:
    """How many filings there are, of which forms most, and the last day of them."""
    newest = places(tx, Question(), Page(1))
    return {
        "total_entries": tx.value("term_count", term="") or 0,
        "top_form_types": [
            {"form_type": row["form"], "count": row["filings"]} for row in tx.all("top_forms", limit=20)
        ],
        "latest_filing_date": (newest[0].filed_at or None) if newest else None,
    }


def root(name: str) -> str:
    """The form that an amendment amends: ``10-K`` of ``10-K/A``."""
    return name.removesuffix("/A")


@cache
def descriptions() -> dict[str, str]:
    """What each form is for, in a sentence of our own."""
    text = (resources.files("finapi.market") / "forms.tsv").read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines())
    return {name: sentence for name, _, sentence in pairs}


class _Filters(NamedTuple):
    """What must hold of a filing beside the term that finds it: one of each list of terms, and its day."""

    one: str | None
    two: str | None
    three: str | None
    first: str
    last: str


def _filters(others: Sequence[list[str]], question: Question) -> _Filters:
    asked = [json.dumps(terms) for terms in others]
    one, two, three = (asked[place] if place < len(asked) else None for place in range(3))
    # A filing whose day is unknown ("") is between no two days.
    undated = question.first is None and question.last is None
    first = "" if undated else question.first or "0"
    return _Filters(one, two, three, first, question.last or "9999-12-31")


def _walk(tx: Transaction, term: str, filters: _Filters, page: Page) -> list[Place]:
    day, number = page.after if page.after is not None else (None, None)
    if page.newest_first:
        found = tx.all(
            "filings_down",
            term=term,
            one=filters.one,
            two=filters.two,
            three=filters.three,
            first=filters.first,
            last=filters.last,
            day=day,
            number=number,
            limit=page.limit,
        )
    else:
        found = tx.all(
            "filings_up",
            term=term,
            one=filters.one,
            two=filters.two,
            three=filters.three,
            first=filters.first,
            last=filters.last,
            day=day,
            number=number,
            limit=page.limit,
        )
    return [Place(row["filed_at"], row["number"]) for row in found]


def _standing(party: Row) -> tuple[int, bool, bool, int]:
    """Whose filing it is first: lists do not name roles, but an issuer has a ticker or an industry."""
    return party["rank"], party["ticker"] is None, party["sic"] is None, party["cik"]


def _shown(row: Row, parties: Sequence[Row], papers: Sequence[Row]) -> dict[str, Any]:
    accession, form = row["accession"], row["form"]
    main = min(parties, key=_standing)
    folder = f"{ARCHIVES}/{main['cik']}/{accession.replace('-', '')}"
    index = f"{folder}/{accession}-index.htm"
    document = f"{folder}/{quote(row['primary_document'])}" if row["primary_document"] else None
    data = [_paper(paper) for paper in papers if paper["type"].startswith(_DATA_TYPES)]
    read = [_paper(paper) for paper in papers if not paper["type"].startswith(_DATA_TYPES)]
    links = [
        index,
        document,
        *(f"{folder}/{quote(one['document'])}" for one in read + data if one["document"]),
    ]
    return {
        "id": filings.number(accession),
        "accession_number": accession,
        "ticker": main["ticker"],
        "form_type": form,
        "cik": f"{main['cik']:010}",
        "entity_name": main["name"],
        "company_name": main["name"],
        "title": f"{form or 'Filing'} - {main['name']} ({main['cik']:010})",
        "filing_size": None if row["size"] is None else str(row["size"]),
        "filed_date": row["filed_at"],
        "filed_at": row["filed_at"],
        "accepted_at": row["accepted_at"],
        "updated_at": row["updated_at"] or None,
        "primary_link": index,
        "primary_html_url": document,
        "primary_description": row["description"],
        "document_files": read,
        "data_files": data,
        "items": row["items"].split(",") if row["items"] else [],
        "period_of_report": row["period_of_report"],
        "sic": None if main["sic"] is None else f"{main['sic']:04}",
        "all_links": list(dict.fromkeys(link for link in links if link)),
        "is_xbrl": None if row["is_xbrl"] is None else bool(row["is_xbrl"]),
        "first_seen_at": row["first_seen_at"] or None,
        "last_seen_at": row["updated_at"] or None,
    }


def _paper(row: Row) -> dict[str, str | None]:
    return {
        "type": row["type"],
        "document": row["filename"],
        "description": row["description"],
        "size": str(row["size"]),
    }


def _form(name: str, row: Row | None) -> dict[str, Any]:
    sentence = descriptions().get(root(name))
    if sentence is not None and name != root(name):
        sentence = f"Amendment: {sentence[0].lower()}{sentence[1:]}"
    return {
        "form_type": name,
        "root_form_type": root(name),
        "description": sentence,
        "filing_count": row["filings"] if row is not None else 0,
        "first_filed": (row["first"] or None) if row is not None else None,
        "last_filed": (row["last"] or None) if row is not None else None,
    }
