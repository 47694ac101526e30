"""Lists over all funds: found by name, newest filings, covers, several funds at once, and how a quarter comes in."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from finapi.db import Row, Transaction
from finapi.errors import ApiError
from finapi.market import issuers, positions, quarters
from finapi.market.funds import percent

# A prefix search runs up to here: no word of a name holds a character after it.
_AFTER = "\uffff"

# Of the filers that a quarter had, those must have come in again for the next to count as whole.
WHOLE_TENTHS = 9

_COUNTS = positions.STATUSES[1:]


def found(tx: Transaction, search: str | None, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Funds of which every word of ``search`` begins a word of the name, the largest first, and how many.

    A text of digits is a CIK. Without a search, all funds.
    """
    if search is not None and re.fullmatch("[0-9]{1,10}", search.strip()):
        rows = tx.all("fund_by_cik", cik=int(search))
    elif search is not None:
        words = sorted(issuers.words(search), key=len, reverse=True)
        if not words:
            return [], 0
        rows = tx.all("funds_by_word", word=words[0], end=words[0] + _AFTER, limit=limit, rest=_rest(words))
    else:
        rows = tx.all("funds_by_value", limit=limit)
    total = rows[0]["total"] if rows else 0
    return [_fund(row) for row in rows], total


def _rest(words: list[str]) -> str:
    """The other words as a pattern for GLOB over the name in capitals, none in quotes: they hold no wildcard."""
    return "".join(f"* {word}" for word in sorted(words[1:])) + "*" if words[1:] else "*"


def _fund(row: Row) -> dict[str, Any]:
    return {
        "cik": f"{row['cik']:010}",
        "name": row["name"],
        "symbol": row["ticker"],
        "filing_count": row["filing_count"],
        "latest_period": row["latest_period"],
        "latest_filed_at": row["latest_filed_at"] or None,
        "latest_aum_usd": row["latest_value"],
    }


def all_funds(tx: Transaction, limit: int, after: int) -> list[dict[str, Any]]:
    """Funds in the order of their CIKs from past ``after`` on."""
    return [_fund(row) for row in tx.all("funds_by_cik", limit=limit, after=after)]


def latest(
    tx: Transaction, cik: int | None, since: str | None, limit: int, offset: int
) -> tuple[list[dict[str, Any]], int]:
    """Filings of 13F, the newest first, with what they changed, and how many there are."""
    since = since or ""
    if cik is None:
        rows = tx.all("latest_holdings_reports", since=since, limit=limit, offset=offset)
        total = tx.value("count_holdings_reports", since=since)
    else:
        rows = tx.all("latest_holdings_reports_of_fund", cik=cik, since=since, limit=limit, offset=offset)
        total = tx.value("count_holdings_reports_of_fund", cik=cik, since=since)
    return [filing_shown(row) for row in rows], total


def filing_shown(row: Row) -> dict[str, Any]:
    """A 13F filing as lists and feeds show it."""
    known = bool(row["compared"])
    counts = {status: row[status] if known else None for status in _COUNTS}
    return {
        "accession_no": row["accession"],
        "fund_name": row["name"],
        "cik": f"{row['cik']:010}",
        "period_of_report": row["period"],
        "filed_at": row["filed_at"] or None,
        "table_value_total": None if row["value_total"] is None else row["value_total"] * row["total_unit"],
        "holdings_count": row["row_count"],
        "form_type": row["form"],
        "is_amendment": row["form"].endswith("/A"),
        "analysis": counts,
        "statistics": {
            "new_positions": counts["new"],
            "increased": counts["increased"],
            "increased_positions": counts["increased"],
            "decreased": counts["decreased"],
            "decreased_positions": counts["decreased"],
            "closed": counts["closed"],
            "unchanged": counts["unchanged"],
            "prior_quarter_available": known,
        },
        "parsed_at": row["first_seen_at"] or None,
    }


def covers(tx: Transaction, wanted: dict[str, Any], limit: int, offset: int) -> list[dict[str, Any]]:
    """Cover pages, the newest first, that meet each of ``wanted``: cik, accession, period, form, from, to."""
    rows = tx.all(
        "cover_pages",
        cik=wanted.get("cik"),
        accession=wanted.get("accession"),
        period=wanted.get("period"),
        form=wanted.get("form"),
        # What has no known day was filed between no two days.
        since=wanted.get("from") or ("0" if "filed" in wanted else ""),
        until=wanted.get("to") or _AFTER,
        limit=limit,
        offset=offset,
    )
    return [
        {
            "cik": f"{row['cik']:010}",
            "accession_number": row["accession"],
            "form_type": row["form"],
            "amendment_type": row["amendment_type"],
            "period_of_report": row["period"],
            "filed_date": row["filed_at"] or None,
            "filer_name": row["name"],
            "address": row["address"],
            "report_type": row["report_type"],
            "file_number": row["file_number"],
            "signing_officer": row["signer"],
            "signing_officer_title": row["signer_title"],
            "total_value_usd": None if row["value_total"] is None else row["value_total"] * row["total_unit"],
            "holdings_count": row["entry_total"],
            "table_rows": row["row_count"],
            "value_unit_rule": row["value_unit_rule"],
            "other_managers": [
                {
                    "number": one["number"],
                    "name": one["name"],
                    "cik": None if one["cik"] is None else f"{one['cik']:010}",
                    "file_number": one["file_number"],
                    "included": bool(one["included"]),
                }
                for one in tx.all("managers_of_report", report_id=row["id"])
            ],
        }
        for row in rows
    ]


def progress(tx: Transaction, period: str, today: date) -> dict[str, Any]:
    """How far the reports of a quarter have come in, against the quarter before and the day they are due."""
    previous = quarters.before(period)
    row, earlier = _counts(tx, period), _counts(tx, previous)
    due, next_period = quarters.deadline(period), quarters.after(period)
    next_due = quarters.deadline(next_period)
    return {
        "period": period,
        "filers": row["filers"],
        "baseline_filers": earlier["filers"],
        "baseline_period": previous,
        "pct_reported": percent(row["filers"], earlier["filers"]),
        "total_filings": row["filings"],
        "total_aum": row["value"],
        "late_notice_filers": row["notices"],
        "deadline": due.isoformat(),
        "deadline_status": "open" if today <= due else "passed",
        "is_complete": is_whole(today, due, row["filers"], earlier["filers"]),
        "days_until_deadline": (due - today).days,
        "previous_deadline": quarters.deadline(previous).isoformat(),
        "next_deadline": next_due.isoformat(),
        "days_until_next_deadline": (next_due - today).days,
        "next_reporting_period_start": next_period,
    }


def is_whole(today: date, due: date, filers: int, earlier: int) -> bool:
    """Whether a quarter is over and most of the filers of the one before are there again."""
    return today > due and 10 * filers >= WHOLE_TENTHS * earlier and filers > 0


def _counts(tx: Transaction, period: str) -> Row:
    row = tx.one("quarter_counts", period=period)
    assert row is not None
    return row


def quarter_metadata(tx: Transaction, period: str, today: date) -> dict[str, Any]:
    """When the reports of a quarter are due, and whether most are there."""
    said = progress(tx, period, today)
    return {
        "quarter": period,
        "filing_deadline": said["deadline"],
        "is_complete": said["is_complete"],
        "days_until_deadline": said["days_until_deadline"],
    }


def latest_quarter(tx: Transaction) -> str:
    """The last quarter of which any fund's holdings are held; NOT_COVERED when there is none."""
    period: str | None = tx.value("fund_quarter_before", period=_AFTER)
    if period is None:
        raise ApiError("NOT_COVERED", "No 13F holdings are held.")
    return period


def available_quarters(tx: Transaction) -> list[str]:
    """The quarters of which holdings are held, the newest first."""
    found: list[str] = []
    # From one to the next by the index: a list of them all would read every row.
    while period := tx.value("fund_quarter_before", period=found[-1] if found else _AFTER):
        found.append(period)
    return found
