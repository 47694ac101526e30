"""Insiders and issuers by what somebody remembers of their names."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from finapi.db import Transaction
from finapi.errors import ApiError
from finapi.market import insider_store

INSIDERS, ISSUERS = 0, 1

# Of a word's bearers this many are looked at; a word that more names share must stand with a rarer one.
_BEARERS = 2_000


class Matches(NamedTuple):
    """CIKs of insiders and issuers; ``cut`` says that there were more than are looked at."""

    insiders: list[int]
    issuers: list[int]
    cut: bool


def matching(tx: Transaction, query: str, most: int) -> Matches:
    """Whoever bears every word of ``query``, perhaps cut short; at most ``most`` of a kind.

    A CIK finds its insider and its issuer.
    """
    if query.strip().isascii() and query.strip().isdigit() and len(query.strip()) <= 10:
        cik = int(query)
        insiders = [cik] if tx.value("insider_name", cik=cik) is not None else []
        return Matches(insiders, [cik], False)
    insiders, cut = _bearers(tx, INSIDERS, query, most)
    issuers, cut_too = _bearers(tx, ISSUERS, query, most)
    return Matches(insiders, issuers, cut or cut_too)


def _bearers(tx: Transaction, kind: int, query: str, most: int) -> tuple[list[int], bool]:
    wanted = insider_store.words(query)
    if not wanted:
        return [], False
    found: set[int] | None = None
    cut = False
    # Whole words first, in one look-up each; the longest tells most.
    for word in sorted(wanted, key=len, reverse=True):
        rows = tx.all(
            "bearers_of_word",
            kind=kind,
            word=word,
            after=word + "\U0010ffff",
            known=_json(found),
            limit=_BEARERS,
        )
        cut = cut or len(rows) == _BEARERS
        bearers = {row["cik"] for row in rows}
        found = bearers if found is None else found & bearers
        if not found:
            return [], cut
    ranked = sorted(found or ())
    return ranked[:most], cut or len(ranked) > most


def _json(known: set[int] | None) -> str | None:
    return None if known is None else json.dumps(sorted(known))


def name(tx: Transaction, cik: int) -> dict[str, Any]:
    """What an insider is called: cik, name, is_entity, total_companies; NOT_FOUND for an unknown one."""
    row = tx.one("insider_named", cik=cik)
    if row is None:
        raise ApiError("NOT_FOUND", "No insider with this CIK is known.")
    return {
        "cik": f"{cik:010}",
        "name": row["name"],
        "is_entity": bool(row["is_entity"]),
        "total_companies": row["companies"],
    }


def search(tx: Transaction, query: str, limit: int) -> list[dict[str, Any]]:
    """Insiders whose names match, the most recently active first."""
    ciks = matching(tx, query, 200).insiders
    rows = tx.all("insiders_active", ciks=json.dumps(ciks), limit=limit)
    found = []
    for row in rows:
        issuers = tx.all("issuers_of_insider", insider=row["cik"])
        found.append(
            {
                "cik": f"{row['cik']:010}",
                "name": row["name"],
                "is_entity": bool(row["is_entity"]),
                "latest_company": issuers[0]["name"] if issuers else None,
                "active_tickers": [one["ticker"] for one in issuers if one["ticker"]],
            }
        )
    return found
