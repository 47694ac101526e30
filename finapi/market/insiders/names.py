"""Insiders and issuers by what somebody remembers of their names."""

from __future__ import annotations

import json
from typing import NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import build_record
from finapi.market.insiders import insider_store
from finapi.store.db import Transaction

INSIDERS, ISSUERS = 0, 1

# How many names with one word are looked at; a more common word must stand with a rarer one.
MAX_NAMES_WITH_WORD = 2_000


class NameMatches(NamedTuple):
    """CIKs of insiders and issuers; ``cut`` says that there were more than are looked at."""

    insiders: list[int]
    issuers: list[int]
    is_truncated: bool


class InsiderName(TypedDict):
    """What an insider is called."""

    cik: str
    name: str
    is_entity: bool


class InsiderWithCompanies(InsiderName):
    """An insider with the number of companies that the forms are about."""

    total_companies: int


class InsiderMatch(InsiderName):
    """An insider with the companies of the latest forms."""

    latest_company: str | None
    active_tickers: list[str]


def find_matches(tx: Transaction, query: str, limit: int) -> NameMatches:
    """Insiders and issuers whose names have every word of ``query``, or one that begins with it; ``most`` of a kind.

    A CIK finds its insider and its issuer.
    """
    cik = _cik(query)
    if cik is not None:
        insiders = [cik] if tx.find_value("insider_name", cik=cik) is not None else []
        return NameMatches(insiders, [cik], False)
    insiders, cut = _with_words(tx, INSIDERS, query, limit)
    issuers, cut_too = _with_words(tx, ISSUERS, query, limit)
    return NameMatches(insiders, issuers, cut or cut_too)


def _cik(query: str) -> int | None:
    text = query.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _with_words(tx: Transaction, kind: int, query: str, most: int) -> tuple[list[int], bool]:
    found: set[int] | None = None
    cut = False
    # The longest word first: it narrows most.
    for word in sorted(insider_store.split_words(query), key=len, reverse=True):
        known = None if found is None else json.dumps(sorted(found))
        after = word + "\U0010ffff"
        rows = tx.list_rows(
            "names_with_word", kind=kind, word=word, after=after, known=known, limit=MAX_NAMES_WITH_WORD
        )
        cut = cut or len(rows) == MAX_NAMES_WITH_WORD
        found = {row["cik"] for row in rows}
        if not found:
            break
    ranked = sorted(found or ())
    return ranked[:most], cut or len(ranked) > most


def get_insider(tx: Transaction, cik: int) -> InsiderWithCompanies:
    """What an insider is called; NOT_FOUND for an unknown one."""
    row = tx.find_row("insider_named", cik=cik)
    if row is None:
        raise ApiError("NOT_FOUND", "finapi knows no insider with this CIK.")
    return build_record(InsiderWithCompanies, row)


class InsiderPage(NamedTuple):
    """A page of insiders, how many there are, and whether a word begins more names than are looked at."""

    insiders: list[InsiderMatch]
    total: int
    is_truncated: bool


def search_insiders(tx: Transaction, query: str, limit: int, offset: int) -> InsiderPage:
    """Insiders whose names match, the most recently active first."""
    cik = _cik(query)
    known, cut = ([cik], False) if cik is not None else _with_words(tx, INSIDERS, query, MAX_NAMES_WITH_WORD)
    rows, total = tx.list_page("insiders_active", {"ciks": json.dumps(known), "limit": limit, "offset": offset})
    found = []
    for row in rows:
        issuers = tx.list_rows("issuers_of_insider", insider=int(row["cik"]))
        latest = issuers[0]["name"] if issuers else None
        tickers = [one["ticker"] for one in issuers if one["ticker"]]
        found.append(build_record(InsiderMatch, row, latest_company=latest, active_tickers=tickers))
    return InsiderPage(found, total, cut)
