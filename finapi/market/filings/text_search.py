"""Full text search of the stored primary documents and exhibits, newest filing first, with a snippet of each match.

A query such as ``"net income" restat* -draft`` becomes an FTS5 expression. FTS5 finds the documents; the offset and
the snippet are found in each document's plain text (``text_index.find_phrase``), because FTS5 stores no texts here.
Pages are continued by the index's rowid, which contains the filing day (see ``text_index``).
"""

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
from finapi.store.db import Row, Transaction
from finapi.store.schema import has_full_text

# Limits of the work for one call: FTS5 reads a list of documents for each word.
MAX_WORDS = 16
MAX_PREFIXES = 2
MIN_PREFIX_LETTERS = 3
MAX_COUNTED = 250  # Counting more matches would take most of a call's time.
EXPECTED = 'words, "a phrase", begin*, -without'

_FIRST_DAY = "0001-01-01"
_TERM = re.compile(r'(-?)("[^"]*"\*?|\S+)')


class _Term(NamedTuple):
    """A phrase of a query; ``is_prefix`` if its last word may be the beginning of a word."""

    phrase: tuple[str, ...]
    is_prefix: bool


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A parsed query.

    ``match`` is the FTS5 expression. ``phrases`` must all appear in a document; ``prefixes`` is True for each phrase
    whose last word may be the beginning of a word.
    """

    match: str
    phrases: tuple[tuple[str, ...], ...]
    prefixes: tuple[bool, ...]


class TextScope(NamedTuple):
    """The companies, forms and filing days that a search is limited to; None or empty for any."""

    ciks: tuple[int, ...] | None
    forms: tuple[str, ...]
    first_day: str | None
    last_day: str | None


class TextMatch(TypedDict):
    """A document that matches, and the first match of the longest phrase in it."""

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
    document_type: Annotated[str | None, "The type in the filing's list, such as EX-99.1; null: no list is stored."]
    document_name: str | None
    document_description: str | None
    is_primary: Annotated[bool, "false: an exhibit or another document of the submission."]
    content_url: Annotated[str, "The path of the document here."]


class TextPage(NamedTuple):
    """A page of matches, the rowid before which the next page starts, and the total, exact or a lower bound."""

    rows: list[TextMatch]
    next_before: int | None
    total: int
    is_exact: bool


class TextCounts(NamedTuple):
    """The number of stored documents, and of those that full text search covers."""

    documents: int
    indexed_documents: int


@lru_cache(maxsize=100)
def parse_query(text: str) -> TextQuery:
    """Return a parsed query. Raise ApiError INVALID_PARAM if it is invalid.

    All words must appear in a document, in any order. ``"net income"`` is a phrase, ``restat*`` any word that starts
    like this, ``-draft`` must not appear. Other punctuation separates words: ``10-K`` is the phrase "10 K".
    """
    if text.count('"') % 2:
        raise _build_query_error("has an unmatched quotation mark")
    required: list[_Term] = []
    excluded: list[_Term] = []
    for minus, term_text in _TERM.findall(text):
        term = _Term(tuple(text_index.split_words(term_text)), term_text.rstrip('"').endswith("*"))
        if term.is_prefix and (not term.phrase or len(term.phrase[-1]) < MIN_PREFIX_LETTERS):
            raise _build_query_error(f"has a * after fewer than {MIN_PREFIX_LETTERS} letters")
        if term.phrase:
            (excluded if minus else required).append(term)
    if not required:
        raise _build_query_error("has no word to search for")
    if sum(len(term.phrase) for term in required + excluded) > MAX_WORDS:
        raise _build_query_error(f"has more than {MAX_WORDS} words")
    if sum(term.is_prefix for term in required + excluded) > MAX_PREFIXES:
        raise _build_query_error(f"has more than {MAX_PREFIXES} words with a *")
    match = " AND ".join(map(_render_fts_term, required))
    for term in excluded:
        match = f"({match}) NOT {_render_fts_term(term)}"
    phrases = tuple(term.phrase for term in required)
    return TextQuery(match, phrases, tuple(term.is_prefix for term in required))


def _render_fts_term(term: _Term) -> str:
    # Words consist of letters and digits, so nothing in the quotation marks can end them.
    phrase = " ".join(term.phrase)
    return f'"{phrase}" *' if term.is_prefix else f'"{phrase}"'


def _build_query_error(reason: str) -> ApiError:
    return invalid_param("q", f"q {reason}.", expected=EXPECTED)


def search_texts(
    tx: Transaction, query: TextQuery, scope: TextScope, limit: int, before: int | None, skip: int = 0
) -> TextPage:
    """Return a page of matches, after ``skip`` others, with rowids less than ``before``.

    Raise ApiError NOT_IMPLEMENTED if SQLite has no FTS5.
    """
    _check_full_text()
    params = _build_params(query, scope)
    before = min(before or params["end"], params["end"])
    # One row more than the page shows whether there is a next page.
    rows = tx.list_rows("text_matches", params, before=before, limit=limit + 1, skip=skip)
    page_rows = rows[:limit]
    filings = {
        filing["accession_number"]: filing
        for filing in filing_rows.list_filings(tx, [row["accession"] for row in page_rows])
    }
    matches = []
    for row in page_rows:
        plain_text = text_index.decompress_text(row["packed"])
        matches.append(_build_match(filings[row["accession"]], row, plain_text, query))
    total = tx.find_value("text_match_count", params, most=MAX_COUNTED + 1)
    next_before = page_rows[-1]["place"] if len(rows) > limit else None
    return TextPage(matches, next_before, min(total, MAX_COUNTED), total <= MAX_COUNTED)


def count_undated_texts(tx: Transaction, query: TextQuery, scope: TextScope) -> int:
    """Return the number of documents that match except that their day is unknown, up to :data:`MAX_COUNTED`.

    It is 0 for a scope that is not limited to days, because such a search returns these documents.
    """
    if scope.first_day is None and scope.last_day is None:
        return 0
    params = _build_params(query, scope._replace(first_day=None, last_day=None))
    params["end"] = text_index.compute_first_rowid(_FIRST_DAY)
    return int(tx.find_value("text_match_count", params, most=MAX_COUNTED))


def get_text_counts(tx: Transaction) -> TextCounts:
    """Return the numbers of stored and of searched documents."""
    row = tx.find_row("text_counts")
    assert row is not None
    return TextCounts(documents=row["documents"], indexed_documents=row["texts"])


def _check_full_text() -> None:
    if not has_full_text():
        raise ApiError(
            "NOT_IMPLEMENTED", "Full text search needs FTS5, which the SQLite of this server was built without."
        )


def _build_params(query: TextQuery, scope: TextScope) -> dict[str, Any]:
    """Return the SQL parameters of a search."""
    has_days = scope.first_day is not None or scope.last_day is not None
    first_rowid = text_index.UNDATED_ROWID
    if has_days:
        first_rowid = text_index.compute_first_rowid(scope.first_day or _FIRST_DAY)
    return {
        "match": query.match,
        "first": first_rowid,
        "end": text_index.compute_end_rowid(scope.last_day),
        "ciks": None if scope.ciks is None else json.dumps(scope.ciks),
        "forms": json.dumps(scope.forms) if scope.forms else None,
    }


def _build_match(filing: FilingRow, row: Row, text: str, query: TextQuery) -> TextMatch:
    match = text_index.find_phrase(text, query.phrases, query.prefixes)
    content_url = f"/api/v1/sec/filings/{filing['accession_number']}"
    if row["is_primary"]:
        document_url = filing["primary_html_url"]
        content_url += "/html"
    else:
        document_url = filing_rows.build_document_url(filing, row["filename"])
        content_url += f"/documents/{row['seq']}"
    if document_url is None and not metadata.is_unfiled(filing["accession_number"]):
        document_url = f"{filing_rows.ARCHIVES_URL}/{int(filing['cik'])}/{filing['accession_number']}.txt"
    match_url = None
    if match is not None and document_url is not None:
        # A text fragment (WICG), in which hyphens, commas and ampersands must be escaped.
        words = " ".join(text[match.offset : match.offset + match.length].split())
        match_url = f"{document_url}#:~:text={quote(words, safe='').replace('-', '%2D')}"
    return {
        "accession_number": filing["accession_number"],
        "cik": filing["cik"],
        "ticker": filing["ticker"],
        "company_name": filing["company_name"],
        "form_type": filing["form_type"],
        "filed_at": filing["filed_at"],
        "document_url": document_url,
        "place_url": match_url,
        "snippet": match.snippet if match else None,
        "offset": match.offset if match else None,
        "length": match.length if match else None,
        "text_length": len(text),
        "document_type": row["type"],
        "document_name": row["filename"],
        "document_description": row["description"],
        "is_primary": bool(row["is_primary"]),
        "content_url": content_url,
    }
