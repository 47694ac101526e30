"""Full text search of the primary documents that are kept, newest filing first, with the place found in each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypedDict
from urllib.parse import quote

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Url
from finapi.market.documents import filing_rows, metadata, text_index
from finapi.market.documents.filing_rows import FilingRow
from finapi.store.db import Transaction
from finapi.store.schema import has_full_text

# What bounds the work of one call: each word is a list of documents that is read.
MAX_WORDS, MAX_PREFIXES, LEAST_PREFIX = 16, 2, 3
MAX_COUNTED = 250  # more of them would be most of a call's work
EXPECTED = 'words, "a phrase", begin*, -without'

_TERM = re.compile(r'(-?)("[^"]*"\*?|\S+)')


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What is looked for: ``match`` in the words of FTS5; ``phrases``, of which each must stand in a document, and
    which of them are the beginning of a word.
    """

    match: str
    phrases: tuple[tuple[str, ...], ...]
    prefixes: tuple[bool, ...]


class TextScope(NamedTuple):
    """Whose documents, on which forms, filed between which days; None for any."""

    ciks: tuple[int, ...] | None
    forms: tuple[str, ...]
    first_day: str | None
    last_day: str | None


class TextMatch(TypedDict):
    """A document in which the words stand, and the first place of the longest phrase among them."""

    accession_number: str
    cik: str
    ticker: str | None
    company_name: str
    form_type: str | None
    filed_at: Date | None
    document_url: Annotated[Url | None, "The filing's whole text, where its document has no name."]
    place_url: Annotated[Url | None, "The document at the SEC; a browser scrolls to the match."]
    snippet: Annotated[str | None, "The text around the match."]
    offset: Annotated[int | None, "Offset of the match in the document's plain text, in characters."]
    length: Annotated[int | None, "Length of the match in characters."]
    text_length: Annotated[int, "Length of the document's plain text in characters."]


class TextPage(NamedTuple):
    """Documents found, where the next page begins, and how many answer: exactly, or at least so many."""

    rows: list[TextMatch]
    next_before: int | None
    total: int
    is_exact: bool


class TextCounts(NamedTuple):
    """How many documents are kept, and how many of them full text search finds."""

    documents: int
    texts: int


@lru_cache(maxsize=100)
def parse_query(text: str) -> TextQuery:
    """A query of words that must all stand in a document, in any order; INVALID_PARAM for one that cannot be read.

    ``"net income"`` stands as it is written, ``restat*`` is any word that begins so, ``-draft`` must not be there.
    Other marks part words: ``10-K`` is the phrase "10 K".
    """
    if text.count('"') % 2:
        raise _wrong("has a quotation mark without its other half")
    wanted: list[tuple[tuple[str, ...], bool]] = []
    without: list[tuple[tuple[str, ...], bool]] = []
    for minus, term in _TERM.findall(text):
        phrase, prefix = tuple(text_index.split_words(term)), term.rstrip('"').endswith("*")
        if prefix and (not phrase or len(phrase[-1]) < LEAST_PREFIX):
            raise _wrong(f"has a * after fewer than {LEAST_PREFIX} letters")
        if phrase:
            (without if minus else wanted).append((phrase, prefix))
    if not wanted:
        raise _wrong("has no word that must be there")
    every = [*wanted, *without]
    if sum(len(phrase) for phrase, _ in every) > MAX_WORDS:
        raise _wrong(f"has more than {MAX_WORDS} words")
    if sum(prefix for _, prefix in every) > MAX_PREFIXES:
        raise _wrong(f"has a * more than {MAX_PREFIXES} times")
    match = " AND ".join(map(_fts, wanted))
    for one in without:
        match = f"({match}) NOT {_fts(one)}"
    return TextQuery(match, tuple(phrase for phrase, _ in wanted), tuple(prefix for _, prefix in wanted))


def _fts(term: tuple[tuple[str, ...], bool]) -> str:
    # Words are letters and digits alone: nothing in the quotation marks can end them.
    return f'"{" ".join(term[0])}"{" *" if term[1] else ""}'


def _wrong(what: str) -> ApiError:
    return invalid_param("q", f"q {what}.", expected=EXPECTED)


def search_texts(
    tx: Transaction, query: TextQuery, scope: TextScope, limit: int, before: int | None, skip: int = 0
) -> TextPage:
    """A page of the documents found, ``skip`` others behind the place ``before``. NOT_IMPLEMENTED where SQLite has no
    FTS5.
    """
    _check()
    values = _values(query, scope)
    before = min(before or values["end"], values["end"])
    rows = tx.list_rows("text_matches", values, before=before, limit=limit + 1, skip=skip)
    shown = rows[:limit]
    filings = {
        one["accession_number"]: one for one in filing_rows.list_filings(tx, [row["accession"] for row in shown])
    }
    found = [_found(filings[row["accession"]], text_index.decompress_text(row["packed"]), query) for row in shown]
    counted = tx.find_value("text_match_count", values, most=MAX_COUNTED + 1)
    following = shown[-1]["place"] if len(rows) > limit else None
    return TextPage(found, following, min(counted, MAX_COUNTED), counted <= MAX_COUNTED)


def count_undated_texts(tx: Transaction, query: TextQuery, scope: TextScope) -> int:
    """How many documents found the days leave out because theirs is not known, up to :data:`MAX_COUNTED`."""
    if scope.first_day is None and scope.last_day is None:
        return 0
    values = _values(query, scope._replace(first_day=None, last_day=None))
    return int(
        tx.find_value(
            "text_match_count", {**values, "end": text_index.compute_first_rowid("0001-01-01")}, most=MAX_COUNTED
        )
    )


def get_text_counts(tx: Transaction) -> TextCounts:
    """How many documents are kept and searched."""
    row = tx.find_row("text_counts")
    assert row is not None
    return TextCounts(*row)


def _check() -> None:
    if not has_full_text():
        raise ApiError(
            "NOT_IMPLEMENTED", "Full text search needs FTS5, which the SQLite of this server was built without."
        )


def _values(query: TextQuery, scope: TextScope) -> dict[str, Any]:
    undated = scope.first_day is None and scope.last_day is None
    return {
        "match": query.match,
        "first": text_index.UNDATED_ROWID
        if undated
        else text_index.compute_first_rowid(scope.first_day or "0001-01-01"),
        "end": text_index.compute_end_rowid(scope.last_day),
        "ciks": None if scope.ciks is None else json.dumps(scope.ciks),
        "forms": json.dumps(scope.forms) if scope.forms else None,
    }


def _found(filing: FilingRow, text: str, query: TextQuery) -> TextMatch:
    place, url, to = text_index.find_phrase(text, query.phrases, query.prefixes), filing["primary_html_url"], None
    if url is None and not metadata.is_unfiled(filing["accession_number"]):
        url = f"{filing_rows.ARCHIVES_URL}/{int(filing['cik'])}/{filing['accession_number']}.txt"
    if place is not None and url is not None:
        # A text fragment (WICG); its own marks are the hyphen, the comma and the ampersand.
        words = " ".join(text[place.offset : place.offset + place.length].split())
        to = f"{url}#:~:text={quote(words, safe='').replace('-', '%2D')}"
    return {
        "accession_number": filing["accession_number"],
        "cik": filing["cik"],
        "ticker": filing["ticker"],
        "company_name": filing["company_name"],
        "form_type": filing["form_type"],
        "filed_at": filing["filed_at"],
        "document_url": url,
        "place_url": to,
        "snippet": place and place.snippet,
        "offset": place and place.offset,
        "length": place and place.length,
        "text_length": len(text),
    }
