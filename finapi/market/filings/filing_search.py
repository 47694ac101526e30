"""Search of filings: pages of the list, the filings of a day, forms, companies by form, and counts.

Every list is read from the index ``filing_terms`` (see ``filing_store`` for its terms), which contains each filing
under each term that it can be searched by, ordered by day and accession number. A page therefore costs as much as its
rows, however many filings are stored.

A query is a conjunction of *groups* of terms: any of these companies, and any of these forms, and any of these
items. The first group drives the search: the index is read once for each of its terms and the results are merged. The
other groups are checked for each filing that is read. Example: for companies A and B and form 10-K, the filings of
``cA`` and ``cB`` are merged by day, and those without the term ``f10-K`` are skipped.
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

from finapi.core.empty_lists import AvailableRows
from finapi.core.files import get_package_folder
from finapi.core.records import Date, Time, build_record
from finapi.core.suggestions import did_you_mean, list_similar
from finapi.market.documents import metadata
from finapi.store.db import Row, Transaction

# Totals are exact up to this number if they must be counted row by row.
MAX_COUNTED = 20_000
MAX_FORMS = 60  # Forms of one query, for each of which the index is read once.
MAX_WORD_TERMS = 200  # Companies, descriptions and items that the words of one query may match.
SKIP_BATCH_ROWS = 10_000  # Rows that are skipped with one statement.

_LAST_DAY = "9999-12-31"


class FilingPosition(NamedTuple):
    """The position of a filing in every list: its day ("" if unknown) and its accession number as an integer."""

    filed_at: str
    number: int


def get_accession(position: FilingPosition) -> str:
    """Return the accession number of the filing at a position."""
    return metadata.accession_from_int(position.number)


@dataclass(frozen=True, slots=True)
class FilingQuery:
    """A query for filings of any of the companies, and any of the forms, items and exhibits, between two days.

    ``word_terms`` are the terms that the words of the query match, of which a filing must have one; None if the query
    has no words.
    """

    ciks: tuple[int, ...] | None = None
    forms: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    word_terms: tuple[str, ...] | None = None

    def list_term_groups(self) -> list[list[str]]:
        """Return groups of search terms. A filing matches if it has a term of each group.

        The filings of the first group are read, and the other groups are checked for each of them.
        """
        term_groups: list[list[str]] = []
        if self.word_terms is not None:
            # Words match many terms, which would be slow to check for each filing of a company. Therefore they are
            # always the first group.
            term_groups.append(list(self.word_terms))
        if self.ciks is not None:
            term_groups.append([f"c{cik}" for cik in self.ciks])
        for letter, words in (("e", self.exhibits), ("i", self.items), ("f", self.forms)):
            if words:
                term_groups.append([f"{letter}{word}" for word in words])
        return term_groups

    def list_driving_terms(self) -> list[str]:
        """Return the terms whose filings are read: those of the first group, or the term of all filings."""
        term_groups = self.list_term_groups()
        return term_groups[0] if term_groups else [""]

    @property
    def has_days(self) -> bool:
        """Return True if the query has a first or last day."""
        return self.first_day is not None or self.last_day is not None


class PageRequest(NamedTuple):
    """A page of a list: ``limit`` rows, without the first ``skip`` rows that follow the position ``after``."""

    limit: int
    newest_first: bool = True
    after: FilingPosition | None = None
    skip: int = 0


def list_positions(tx: Transaction, query: FilingQuery, page: PageRequest) -> list[FilingPosition]:
    """Return the positions of a page of the filings that match a query, each once."""
    after = page.after
    skip = page.skip
    while skip > 0:
        batch_size = min(skip, SKIP_BATCH_ROWS)
        skipped = _list_positions_after(tx, query, page._replace(limit=batch_size, after=after))
        if len(skipped) < batch_size:
            return []
        after = skipped[-1]
        skip -= batch_size
    return _list_positions_after(tx, query, page._replace(after=after))


def _list_positions_after(tx: Transaction, query: FilingQuery, page: PageRequest) -> list[FilingPosition]:
    """Return the positions of a page, without its ``skip``."""
    query_name = "filings_newest_first" if page.newest_first else "filings_oldest_first"
    day, number = page.after or (None, None)
    params = {**_build_filter_params(query), "day": day, "number": number, "limit": page.limit}
    lists = []
    for term in query.list_driving_terms():
        lists.append([FilingPosition(*row) for row in tx.list_rows(query_name, params, term=term)])
    # A filing of two of the companies is in two of the lists.
    groups = groupby(heapq.merge(*lists, reverse=page.newest_first))
    return [position for position, _ in islice(groups, page.limit)]


def list_form_counts(tx: Transaction, ciks: Sequence[int]) -> list[AvailableRows]:
    """Return the forms that companies have filed, the most frequent first, with their number and days."""
    terms = json.dumps([f"c{cik}" for cik in ciks])
    return [
        build_record(AvailableRows, row, param="form_type") for row in tx.list_rows("form_counts_of_terms", terms=terms)
    ]


def count_filings(tx: Transaction, query: FilingQuery) -> tuple[int, bool]:
    """Return the number of filings that match, and True if it is exact.

    Beyond :data:`MAX_COUNTED` it may be a lower bound.
    """
    term_groups = query.list_term_groups()
    only_forms = len(term_groups) == 1 and bool(query.forms)
    if not query.has_days and (not term_groups or only_forms):
        # A filing has one form, so the stored counts of forms add up.
        counts = [tx.find_value("term_count", term=term) or 0 for term in query.list_driving_terms()]
        return sum(counts), True
    count = _count_rows(tx, query, _build_filter_params(query), MAX_COUNTED + 1)
    return min(count, MAX_COUNTED), count <= MAX_COUNTED


def count_undated(tx: Transaction, query: FilingQuery) -> int:
    """Return the number of filings that match except that their day is unknown, up to :data:`MAX_COUNTED`.

    It is 0 for a query that is not limited to days, because such a query returns these filings.
    """
    if not query.has_days:
        return 0
    params = {**_build_filter_params(query), "first": "", "last": ""}
    return _count_rows(tx, query, params, MAX_COUNTED)


def _count_rows(tx: Transaction, query: FilingQuery, params: dict[str, str], max_count: int) -> int:
    """Return the number of filings that match a query, at most ``max_count``."""
    term_groups = query.list_term_groups()
    terms = query.list_driving_terms()
    # A filing has one form, but it may be the filing of two companies, or have two items.
    can_repeat = len(terms) > 1 and not all(term.startswith("f") for term in terms)
    if len(term_groups) > 1 or can_repeat:
        return int(tx.find_value("count_of_filings", params, terms=json.dumps(terms), most=max_count))
    # Rows of the index are counted five times faster than distinct filings.
    count = 0
    for term in terms:
        count += tx.find_value("count_of_filings_of_term", params, term=term, most=max_count - count)
    return count


def _build_filter_params(query: FilingQuery) -> dict[str, str]:
    """Return the SQL parameters for the term groups after the first, and for the days."""
    # A filing without a day has "", which is before every range of days.
    first = (query.first_day or "0") if query.has_days else ""
    term_groups = json.dumps(query.list_term_groups()[1:])
    return {"term_groups": term_groups, "first": first, "last": query.last_day or _LAST_DAY}


# ---- the filings of a day


class FilingOfDay(TypedDict):
    """A filing in the list of its day."""

    accession_number: str
    cik: str
    form_type: str | None
    accepted_at: Time | None


def list_filings_of_day(tx: Transaction, day: str, *, limit: int, offset: int, after: int) -> list[FilingOfDay]:
    """Return the filings of a day, ordered by accession number, that follow the number ``after``."""
    params = {"day": day, "after": after, "limit": limit, "offset": offset}
    return [build_record(FilingOfDay, row) for row in tx.list_rows("filings_of_day", params)]


def count_filings_of_day(tx: Transaction, day: str) -> int:
    """Return the number of filings of a day."""
    return int(tx.find_value("count_of_filings_of_term", term="", first=day, last=day, most=-1))


# ---- forms, companies and totals


class Form(TypedDict):
    """A form with its description and the number of its filings."""

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
    """The number of filings on a form."""

    form_type: str
    count: int


def list_forms(tx: Transaction, text: str | None) -> list[Form]:
    """Return the forms that have filings or a description, those with most filings first.

    With ``text``, only forms whose name or description contains it.
    """
    rows = {row["form"]: row for row in tx.list_rows("form_counts")}
    forms = [_build_form(name, rows.get(name)) for name in rows.keys() | get_form_descriptions().keys()]
    if text is not None:
        folded_text = text.casefold()
        forms = [form for form in forms if folded_text in f"{form['form_type']} {form['description'] or ''}".casefold()]
    return sorted(forms, key=lambda form: (-form["filing_count"], form["form_type"]))


def find_form(tx: Transaction, name: str) -> Form | None:
    """Return a form, or None if it has neither filings nor a description."""
    row = tx.find_row("form_count", term=f"f{name}")
    is_known = row is not None or get_root_form(name) in get_form_descriptions()
    return _build_form(name, row) if is_known else None


def match_forms(tx: Transaction, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the forms that match patterns such as ``10-K`` and ``10-K*``.

    Raise ValueError for a pattern that matches no form, and for more than :data:`MAX_FORMS` forms.
    """
    if not patterns:
        return ()
    known_forms = {row["form"] for row in tx.list_rows("form_names")} | get_form_descriptions().keys()
    matches: dict[str, None] = {}
    for pattern in patterns:
        form = pattern.upper()
        if "*" in form:
            pattern_matches = sorted(fnmatch.filter(known_forms, form.replace("[", "[[]")))
        else:
            is_known = form in known_forms or get_root_form(form) in known_forms
            pattern_matches = [form] if is_known else []
        if not pattern_matches:
            suggestions = list_similar(form, sorted(known_forms))
            raise ValueError(f"{pattern[:40]!r} is not a known form{did_you_mean(suggestions)}")
        matches.update(dict.fromkeys(pattern_matches))
    if len(matches) > MAX_FORMS:
        raise ValueError(f"the patterns match {len(matches)} forms; at most {MAX_FORMS} are allowed.")
    return tuple(matches)


def match_terms(tx: Transaction, text: str) -> tuple[str, ...]:
    """Return the terms that contain every word of a text.

    A term is searched by the names of its company (present and former), the description of its filings, or the number
    and title of its 8-K item. A text that is the name of a form matches the term of this form. Raise ValueError for
    more than :data:`MAX_WORD_TERMS`.
    """
    words = sorted(set(text.lower().split()), key=len, reverse=True)

    def contains_words(name: str) -> bool:
        return all(word in name.lower() for word in words)

    matches: dict[str, None] = {}
    for item, title in get_item_titles().items():
        if item in words or contains_words(title):
            matches[f"i{item}"] = None
    form_term = f"f{text.strip().upper()}"
    if tx.find_value("term_count", term=form_term):
        matches[form_term] = None
    # SQL narrows the names by the two longest words. LIKE ignores the case of ASCII letters only.
    patterns = [f"%{_escape_like(word)}%" for word in words if word.isascii()]
    first_pattern, second_pattern, *_ = [*patterns, "%", "%"]
    for query_name in ("matching_descriptions", "matching_companies_with_filings"):
        for row in tx.iter_rows(query_name, {"first": first_pattern, "second": second_pattern}):
            if contains_words(row["name"]):
                matches[row["term"]] = None
            if len(matches) > MAX_WORD_TERMS:
                raise ValueError(f"the words match more than {MAX_WORD_TERMS} names, descriptions and items.")
    return tuple(matches)


def _escape_like(word: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in word)


def list_entities(tx: Transaction, form: str | None, *, limit: int, offset: int, after: int) -> list[Entity]:
    """Return companies and people by CIK, after the CIK ``after``.

    With ``form``, only the parties of filings on this form.
    """
    query_name = "entities" if form is None else "entities_of_form"
    params = {"form": form, "after": after, "limit": limit, "offset": offset}
    return [build_record(Entity, row) for row in tx.list_rows(query_name, params)]


def get_total_counts(tx: Transaction) -> Row:
    """Return ``tickers``, ``insiders``, ``last_filing_at`` and ``last_13f_quarter`` of all stored data."""
    row = tx.find_row("total_counts")
    assert row is not None
    return row


def count_all_filings(tx: Transaction) -> int:
    """Return the number of filings."""
    return tx.find_value("term_count", term="") or 0


def compute_statistics(tx: Transaction) -> dict[str, Any]:
    """Return the number of filings, the forms with most filings, and the day of the newest filing."""
    newest = list_positions(tx, FilingQuery(), PageRequest(1))
    return {
        "total_entries": count_all_filings(tx),
        "top_form_types": [build_record(FormCount, row) for row in tx.list_rows("top_forms", limit=20)],
        "latest_filing_date": (newest[0].filed_at or None) if newest else None,
    }


def get_root_form(name: str) -> str:
    """Return the form that an amendment amends: ``10-K`` for ``10-K/A``."""
    return name.removesuffix("/A")


@cache
def get_form_descriptions() -> dict[str, str]:
    """Return a description of each form in one sentence."""
    return _read_table("forms.tsv")


@cache
def get_item_titles() -> dict[str, str]:
    """Return the title of each item of an 8-K."""
    return _read_table("items.tsv")


def list_unknown_items(tx: Transaction, numbers: Sequence[str]) -> list[str]:
    """Return the numbers that are neither items of a Form 8-K nor items of any filing.

    Numbers without a point are known: until 2004 the items were 1 to 12. So are the codes of a Form D (3C.7, 06b).
    """
    unknown = []
    for number in numbers:
        is_listed = "." not in number or number.startswith(("0", "3C")) or number in get_item_titles()
        if not is_listed and not tx.find_value("term_count", term=f"i{number}"):
            unknown.append(number)
    return unknown


def _read_table(name: str) -> dict[str, str]:
    text = (get_package_folder("finapi.market.filings") / name).read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines())
    return {key: description for key, _, description in pairs}


def _build_form(name: str, row: Row | None) -> Form:
    root_form = get_root_form(name)
    description = get_form_descriptions().get(root_form)
    if description is not None and name != root_form:
        description = f"Amendment: {description[0].lower()}{description[1:]}"
    return {
        "form_type": name,
        "root_form_type": root_form,
        "description": description,
        "filing_count": row["filings"] if row is not None else 0,
        "first_filed": (row["first"] or None) if row is not None else None,
        "last_filed": (row["last"] or None) if row is not None else None,
    }
