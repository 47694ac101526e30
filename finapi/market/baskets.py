"""Several funds taken together: what they held at the end of a quarter, and how that changed since another.

Changes count the funds only whose tables of both quarters are whole; with none of them a change is null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finapi.db import Row, Transaction
from finapi.market import positions
from finapi.market.funds import percent

SORTS = ("value", "funds", "shares", "change")

# Positions of an answer; the largest holders have some 10,000 together.
MAX_POSITIONS = 20_000
# Funds named with a position; ``funds_holding`` counts them all.
MAX_NAMED = 50


@dataclass(frozen=True, slots=True)
class Basket:
    """``filed`` and ``pending`` are funds by CIK with their names, None for one of which no 13F is held."""

    filed: dict[int, str]
    pending: dict[int, str | None]
    value: int
    positions: list[dict[str, Any]]


def basket(tx: Transaction, ciks: Sequence[int], period: str, compared_with: str) -> Basket:
    """The positions in shares of several funds added up, the most valuable first."""
    names: dict[int, str] = {
        row["cik"]: row["name"] for row in tx.all("funds_named", ciks=json.dumps(list(ciks)))
    }
    quarters = {row["cik"]: row for row in _quarters(tx, ciks, period)}
    earlier = {row["cik"]: row for row in _quarters(tx, ciks, compared_with)}
    common = [
        cik for cik in quarters if quarters[cik]["complete"] and cik in earlier and earlier[cik]["complete"]
    ]
    now = _added(tx, list(quarters), period)
    now_of_common, before = _added(tx, common, period), _added(tx, common, compared_with)
    value = sum(row["value"] for row in now.values())
    named = {row["id"]: row for row in tx.all("securities_by_id", ids=json.dumps(sorted({*now, *before})))}
    rows = [
        _position(named[at], now.get(at), now_of_common.get(at), before.get(at), (value, names, bool(common)))
        for at in {*now, *before}
    ]
    rows.sort(key=lambda row: (-row["value_usd"], row["cusip"]))
    pending = {cik: names.get(cik) for cik in ciks if cik not in quarters}
    return Basket({cik: names[cik] for cik in ciks if cik in quarters}, pending, value, rows)


def ordered(rows: list[dict[str, Any]], sort: str, *, descending: bool) -> list[dict[str, Any]]:
    """The positions by one of :data:`SORTS`; a change that is not known comes last."""
    member = {"value": "value_usd", "funds": "funds_holding", "shares": "shares", "change": "share_change"}[
        sort
    ]
    sign = -1 if descending else 1
    return sorted(rows, key=lambda row: (row[member] is None, sign * (row[member] or 0)))


def _quarters(tx: Transaction, ciks: Sequence[int], period: str) -> list[Row]:
    return tx.all("quarters_of_funds", ciks=json.dumps(list(ciks)), period=period)


def _added(tx: Transaction, ciks: Sequence[int], period: str) -> dict[int, Row]:
    rows = tx.all("positions_of_funds", ciks=json.dumps(list(ciks)), period=period)
    return {row["security_id"]: row for row in rows}


def _position(
    security: Row,
    now: Row | None,
    of_common: Row | None,
    before: Row | None,
    whole: tuple[int, dict[int, str], bool],
) -> dict[str, Any]:
    value, names, known = whole
    shares, previous = (row["shares"] if row else 0 for row in (of_common, before))
    holders = json.loads(now["ciks"]) if now else []
    was = before["value"] if before else 0
    return {
        "cusip": security["cusip"],
        "ticker": security["ticker"],
        "name_of_issuer": security["issuer"],
        "class_title": security["title"],
        "funds_holding": len(holders),
        "funds": [{"cik": f"{cik:010}", "company_name": names[cik]} for cik in sorted(holders)[:MAX_NAMED]],
        "value_usd": now["value"] if now else 0,
        "shares": now["shares"] if now else 0,
        "pct_of_basket": percent(now["value"] if now else 0, value),
        "change_type": _change(of_common is not None, before is not None, shares - previous)
        if known
        else None,
        "prev_value_usd": was if known else None,
        "value_change_pct": percent((of_common["value"] if of_common else 0) - was, was) if known else None,
        "share_change": shares - previous if known else None,
    }


def _change(held: bool, was_held: bool, change: int) -> str | None:
    """What became of a position; None when no fund that can be compared has to do with it."""
    if not held and not was_held:
        return None
    if held != was_held:
        return positions.STATUSES[positions.NEW if held else positions.CLOSED]
    moved = positions.INCREASED if change > 0 else positions.DECREASED if change < 0 else positions.UNCHANGED
    return positions.STATUSES[moved]
