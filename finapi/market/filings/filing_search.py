"""Filings found: pages of the list, one filing, the filings of a day, forms, companies that file them, counts.

Every list walks :file:`filing_terms`, which holds each filing under each term that it can be asked by, in the
order of days and accession numbers: a page costs its rows, whatever else is stored.
"""

from __future__ import annotations

import fnmatch
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from typing import Any, NamedTuple, TypedDict

from finapi.core import suggestions as guesses_of
from finapi.core.files import get_package_folder
from finapi.core.records import Date, Time, build_record
from finapi.market.documents import metadata
from finapi.store.db import Row, Transaction

# Totals are exact up to here where they must be counted row by row.
MAX_COUNTED = 20_000
MAX_FORMS = 60  # that one question names, each of which is a walk of its own
MAX_WORD_TERMS = 200  # companies, descriptions and items that its words stand for
SKIP_BATCH_ROWS = 10_000  # rows that are passed over in one step


class FilingPosition(NamedTuple):
    """Where a filing stands in every list: its day ("" when unknown) and its number."""

    filed_at: str
    number: int


def get_accession(place: FilingPosition) -> str:
    """The accession number of the filing at a place."""
    return metadata.accession_from_int(place.number)


@dataclass(frozen=True, slots=True)
class FilingQuery:
    """Which filings: of any of these companies and any of these forms, items and exhibits, between two days."""

    ciks: tuple[int, ...] | None = None
    forms: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    # The terms that words stand for, of which a filing has one; None when there are no words.
    word_terms: tuple[str, ...] | None = None

    def list_term_families(self) -> list[list[str]]:
        """The terms asked for, the most selective family first; one of each family must be a filing's."""
        ciks = None if self.ciks is None else [f"c{cik}" for cik in self.ciks]
        others = (("e", self.exhibits), ("i", self.items), ("f", self.forms))
        asked = [[f"{letter}{word}" for word in words] for letter, words in others if words]
        # Words drive where they are: of their many terms none is asked for each filing of a company.
        named = [] if self.word_terms is None else [list(self.word_terms)]
        return named + ([ciks] if ciks is not None else []) + asked


class PageRequest(NamedTuple):
    """Which part of a list: ``limit`` rows after ``skip`` others behind ``after``, from its newest or oldest end."""

    limit: int
    newest_first: bool = True
    after: FilingPosition | None = None
    skip: int = 0


def list_positions(tx: Transaction, question: FilingQuery, page: PageRequest) -> list[FilingPosition]:
    """The places of a page of the answer, each once."""
    after, left = page.after, page.skip
    while left > 0:
        step = min(left, SKIP_BATCH_ROWS)
        passed = _places(tx, question, page._replace(limit=step, after=after))
        if len(passed) < step:
            return []
        after, left = passed[-1], left - step
    return _places(tx, question, page._replace(after=after))


def _places(tx: Transaction, question: FilingQuery, page: PageRequest) -> list[FilingPosition]:
    families = question.list_term_families()
    query = "filings_newest_first" if page.newest_first else "filings_oldest_first"
    day, number = page.after or (None, None)
    values = {**_filters(question), "day": day, "number": number, "limit": page.limit}
    walks = [
        [FilingPosition(*row) for row in tx.list_rows(query, values, term=term)]
        for term in (families[0] if families else [""])
    ]
    # A filing of two of the companies stands in two walks.
    merged = groupby(heapq.merge(*walks, reverse=page.newest_first))
    return [place for place, _ in islice(merged, page.limit)]


def count_filings(tx: Transaction, question: FilingQuery) -> tuple[int, bool]:
    """How many filings answer, and whether that is exact: beyond :data:`MAX_COUNTED` it is a lower bound."""
    families = question.list_term_families()
    whole = question.first_day is None and question.last_day is None
    if whole and (not families or (len(families) == 1 and question.forms)):
        # A filing has one form: the counts of forms add up.
        counts = [tx.find_value("term_count", term=term) or 0 for term in (families[0] if families else [""])]
        return sum(counts), True
    driving = families[0] if families else [""]
    counted = int(
        tx.find_value("count_of_filings", _filters(question), terms=json.dumps(driving), most=MAX_COUNTED + 1)
    )
    return min(counted, MAX_COUNTED), counted <= MAX_COUNTED


def count_undated(tx: Transaction, question: FilingQuery) -> int:
    """How many filings the days asked for leave out because theirs is not known, up to :data:`MAX_COUNTED`."""
    if question.first_day is None and question.last_day is None:
        return 0
    driving = (question.list_term_families() or [[""]])[0]
    values = {**_filters(question), "first": "", "last": "", "most": MAX_COUNTED}
    return int(tx.find_value("count_of_filings", values, terms=json.dumps(driving)))


class FilingOfDay(TypedDict):
    """A filing in the list of its day."""

    accession_number: str
    cik: str
    form_type: str | None
    accepted_at: Time | None


def list_filings_of_day(tx: Transaction, day: str, *, limit: int, offset: int, after: int) -> list[FilingOfDay]:
    """The filings of a day in the order of their numbers, behind the number ``after``."""
    values = {"day": day, "after": after, "limit": limit, "offset": offset}
    return [build_record(FilingOfDay, row) for row in tx.list_rows("filings_of_day", values)]


def count_filings_of_day(tx: Transaction, day: str) -> int:
    """How many filings bear this day."""
    return int(tx.find_value("filing_count_of_day", day=day))


class Form(TypedDict):
    """A form, what it is for, and how many filings are on it."""

    form_type: str
    root_form_type: str
    description: str | None
    filing_count: int
    first_filed: Date | None
    last_filed: Date | None


class Entity(TypedDict):
    """A company or person."""

    entity_name: str
    cik: str


class FormCount(TypedDict):
    """How many filings are on a form."""

    form_type: str
    count: int


def list_forms(tx: Transaction, text: str | None) -> list[Form]:
    """Forms that are held or described, those with most filings first; ``text`` must occur in form or description."""
    held = {row["form"]: row for row in tx.list_rows("form_counts")}
    found = [_form(name, held.get(name)) for name in held.keys() | get_form_descriptions().keys()]
    if text is not None:
        wanted = text.casefold()
        found = [one for one in found if wanted in f"{one['form_type']} {one['description'] or ''}".casefold()]
    return sorted(found, key=lambda one: (-one["filing_count"], one["form_type"]))


def match_forms(tx: Transaction, words: Sequence[str]) -> tuple[str, ...]:
    """The forms that words name, with ``*`` for any letters; ValueError for a word that names none, or too many."""
    if not words:
        return ()
    known = {row["form"] for row in tx.list_rows("form_counts")} | get_form_descriptions().keys()
    found: dict[str, None] = {}
    for word in words:
        wanted = word.upper()
        fits = sorted(fnmatch.filter(known, wanted.replace("[", "[[]"))) if "*" in wanted else [wanted]
        if not fits or (fits == [wanted] and wanted not in known and get_root_form(wanted) not in known):
            guesses = guesses_of.list_similar(wanted, sorted(known))
            raise ValueError(f"{word[:40]!r} is no form that is held{guesses_of.did_you_mean(guesses)}")
        found.update(dict.fromkeys(fits))
    if len(found) > MAX_FORMS:
        raise ValueError(f"they name {len(found)} forms, more than {MAX_FORMS}.")
    return tuple(found)


def match_terms(tx: Transaction, text: str) -> tuple[str, ...]:
    """The terms of what has every word of a text: companies with filings by their names, also former ones, descriptions
    of filings, items of an 8-K by number and title, a form; ValueError for more than :data:`MAX_NAMED`.
    """
    words = sorted(set(text.lower().split()), key=len, reverse=True)

    def fits(told: str) -> bool:
        return all(word in told.lower() for word in words)

    # LIKE folds ASCII alone; of two words it leaves little for the others to narrow.
    first, second = ([f"%{_escaped(word)}%" for word in words if word.isascii()] + ["%", "%"])[:2]
    values = {"first": first, "second": second}
    found = dict.fromkeys(f"i{item}" for item, title in get_item_titles().items() if item in words or fits(title))
    if tx.find_value("term_count", term=f"f{text.strip().upper()}"):
        found[f"f{text.strip().upper()}"] = None
    for query in ("matching_descriptions", "matching_companies_with_filings"):
        for row in tx.iter_rows(query, values):
            if fits(row["told"]):
                found[row["term"]] = None
            if len(found) > MAX_WORD_TERMS:
                raise ValueError(f"its words stand for more than {MAX_WORD_TERMS} names, descriptions and items.")
    return tuple(found)


def _escaped(word: str) -> str:
    return "".join(f"\\{one}" if one in "\\%_" else one for one in word)


def find_form(tx: Transaction, name: str) -> Form | None:
    """One form, or None when it is neither held nor described."""
    row = tx.find_row("form_count", term=f"f{name}")
    return _form(name, row) if row is not None or get_root_form(name) in get_form_descriptions() else None


def list_entities(tx: Transaction, wanted: str | None, *, limit: int, offset: int, after: int) -> list[Entity]:
    """Companies and people by CIK, behind ``after``; of a form, those that are part of a filing of it."""
    query = "entities" if wanted is None else "entities_of_form"
    values = {"form": wanted, "after": after, "limit": limit, "offset": offset}
    return [build_record(Entity, row) for row in tx.list_rows(query, values)]


def get_total_counts(tx: Transaction) -> Row:
    """Of all data: how many tickers and insiders, the newest filing's time, the last quarter with holdings."""
    row = tx.find_row("total_counts")
    assert row is not None
    return row


def count_all_filings(tx: Transaction) -> int:
    """How many filings there are."""
    return tx.find_value("term_count", term="") or 0


def compute_statistics(tx: Transaction) -> dict[str, Any]:
    """How many filings there are, of which forms most, and the last day of them."""
    newest = list_positions(tx, FilingQuery(), PageRequest(1))
    return {
        "total_entries": count_all_filings(tx),
        "top_form_types": [build_record(FormCount, row) for row in tx.list_rows("top_forms", limit=20)],
        "latest_filing_date": (newest[0].filed_at or None) if newest else None,
    }


def get_root_form(name: str) -> str:
    """The form that an amendment amends: ``10-K`` of ``10-K/A``."""
    return name.removesuffix("/A")


@cache
def get_form_descriptions() -> dict[str, str]:
    """What each form is for, in a sentence of our own."""
    return _table("forms.tsv")


@cache
def get_item_titles() -> dict[str, str]:
    """What each item of an 8-K is called."""
    return _table("items.tsv")


def list_unknown_items(tx: Transaction, numbers: Sequence[str]) -> list[str]:
    """Those that are no item of a Form 8-K since 2004, and that no filing has. Before, they were 1 to 12."""
    return [
        one
        for one in numbers
        if "." in one and one not in get_item_titles() and not tx.find_value("term_count", term=f"i{one}")
    ]


def _table(name: str) -> dict[str, str]:
    text = (get_package_folder("finapi.market.filings") / name).read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines())
    return {key: told for key, _, told in pairs}


def _filters(question: FilingQuery) -> dict[str, str]:
    """What must hold of a filing beside the term that finds it: one of each family of terms, and its day."""
    # A filing whose day is unknown ("") is between no two days.
    undated = question.first_day is None and question.last_day is None
    return {
        "families": json.dumps(question.list_term_families()[1:]),
        "first": "" if undated else question.first_day or "0",
        "last": question.last_day or "9999-12-31",
    }


def _form(name: str, row: Row | None) -> Form:
    sentence = get_form_descriptions().get(get_root_form(name))
    if sentence is not None and name != get_root_form(name):
        sentence = f"Amendment: {sentence[0].lower()}{sentence[1:]}"
    return {
        "form_type": name,
        "root_form_type": get_root_form(name),
        "description": sentence,
        "filing_count": row["filings"] if row is not None else 0,
        "first_filed": (row["first"] or None) if row is not None else None,
        "last_filed": (row["last"] or None) if row is not None else None,
    }
