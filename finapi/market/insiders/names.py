"""Search of insiders and issuers by name.

Every word of a name is stored in an index. A name matches a query if each word of the query is a word of the name or
the beginning of one: "shade b" finds "Shade Ben". The longest word is looked up first, because it is the most
selective.
"""

from __future__ import annotations

import json
from typing import NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import build_record
from finapi.market.insiders import insider_store
from finapi.market.insiders.insider_store import INSIDERS, ISSUERS
from finapi.store.db import Transaction

# At most this many names are read for one word. A more common word only finds names together with a rarer one.
MAX_NAMES_WITH_WORD = 2_000


class NameMatches(NamedTuple):
    """CIKs of the insiders and issuers that match a query."""

    insiders: list[int]
    issuers: list[int]
    is_truncated: bool  # True if more names match than are read.


class InsiderName(TypedDict):
    """An insider's CIK and name."""

    cik: str
    name: str
    is_entity: bool


class InsiderWithCompanies(InsiderName):
    """An insider with the number of companies that the forms are about."""

    total_companies: int


class InsiderMatch(InsiderName):
    """An insider found by name, with the companies of the latest forms."""

    latest_company: str | None
    active_tickers: list[str]


class InsiderPage(NamedTuple):
    """A page of the insiders that match a query."""

    insiders: list[InsiderMatch]
    total: int
    is_truncated: bool  # True if more names match than are read.


def find_matches(tx: Transaction, query: str, limit: int) -> NameMatches:
    """Return up to ``limit`` insiders and up to ``limit`` issuers whose names match.

    A CIK matches the insider and the issuer that have it.
    """
    cik = _parse_cik(query)
    if cik is not None:
        insiders = [cik] if tx.find_value("insider_name", cik=cik) is not None else []
        return NameMatches(insiders=insiders, issuers=[cik], is_truncated=False)
    insiders, insiders_truncated = _find_by_words(tx, INSIDERS, query, limit)
    issuers, issuers_truncated = _find_by_words(tx, ISSUERS, query, limit)
    return NameMatches(insiders, issuers, insiders_truncated or issuers_truncated)


def _parse_cik(query: str) -> int | None:
    text = query.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _find_by_words(tx: Transaction, kind: int, query: str, limit: int) -> tuple[list[int], bool]:
    """Return the CIKs of the insiders or of the issuers whose names match, and True if there are more."""
    ciks: set[int] | None = None  # None until the first word has been looked up.
    is_truncated = False
    for word in sorted(insider_store.split_words(query), key=len, reverse=True):
        rows = tx.list_rows(
            "ciks_by_word",
            kind=kind,
            word=word,
            after=word + "\U0010ffff",  # Sorts after every word that begins with this one.
            known=None if ciks is None else json.dumps(sorted(ciks)),
            limit=MAX_NAMES_WITH_WORD,
        )
        is_truncated = is_truncated or len(rows) == MAX_NAMES_WITH_WORD
        ciks = {row["cik"] for row in rows}
        if not ciks:
            break
    sorted_ciks = sorted(ciks or ())
    return sorted_ciks[:limit], is_truncated or len(sorted_ciks) > limit


def get_insider(tx: Transaction, cik: int) -> InsiderWithCompanies:
    """Return an insider's name and number of companies. Raise ApiError NOT_FOUND for an unknown CIK."""
    row = tx.find_row("insider_with_company_count", cik=cik)
    if row is None:
        raise ApiError("NOT_FOUND", "finapi has no insider with this CIK.")
    return build_record(InsiderWithCompanies, row)


def search_insiders(tx: Transaction, query: str, limit: int, offset: int) -> InsiderPage:
    """Return a page of the insiders whose names match, the most recently active first."""
    cik = _parse_cik(query)
    if cik is not None:
        ciks, is_truncated = [cik], False
    else:
        ciks, is_truncated = _find_by_words(tx, INSIDERS, query, MAX_NAMES_WITH_WORD)
    rows, total = tx.list_page("insiders_by_activity", {"ciks": json.dumps(ciks), "limit": limit, "offset": offset})
    insiders = []
    for row in rows:
        issuers = tx.list_rows("issuers_of_insider", insider=int(row["cik"]))
        insiders.append(
            build_record(
                InsiderMatch,
                row,
                latest_company=issuers[0]["name"] if issuers else None,
                active_tickers=[issuer["ticker"] for issuer in issuers if issuer["ticker"]],
            )
        )
    return InsiderPage(insiders, total, is_truncated)
