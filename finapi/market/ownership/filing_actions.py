"""The action that a filing about holdings reports, in one word: "buy", "increased", "exit" and so on.

It follows from the filing's own figures and those of the previous filing. For Forms 3, 4 and 5 it depends on the
transactions, for a 13D or 13G on the change of a person's percentage, for a 13F on the kind of report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

from finapi.core.records import OneOf
from finapi.store.db import Row, Transaction

# The families of forms about holdings: Forms 3, 4 and 5; 13F; Schedules 13D and 13G; Form 144.
SOURCES = ("form_4", "form_13f", "form_13dg", "form_144")
Source = Annotated[str, OneOf(SOURCES)]
# The sources that a request can name: also one of the two schedules alone.
REQUESTED_SOURCES = (*SOURCES, "form_13d", "form_13g")
# Other names of sources that clients use.
SOURCE_ALIASES = (
    ("Form 4", "form_4"),
    ("Form 13F", "form_13f"),
    ("13F", "form_13f"),
    ("13D", "form_13d"),
    ("13G", "form_13g"),
    ("Form 144", "form_144"),
    ("144", "form_144"),
)

ACTIONS = (
    "buy",
    "sell",
    "buy_and_sell",
    "acquired",
    "disposed",
    "holding",
    "report",
    "notice",
    "amendment",
    "new",
    "increased",
    "decreased",
    "unchanged",
    "closed",
    "exit",
    "proposed_sale",
)
Action = Annotated[str, OneOf(ACTIONS)] | None

# A source and the id of a filing in the source's table. For form_13dg, it is the id of a person's row.
FilingKey = tuple[str, int]


def split_source(requested_source: str | None) -> tuple[str | None, str | None]:
    """Return the source (``form_13dg``) and the kind of schedule (``13D``) that a request is limited to.

    Either is None if the request is not limited to one.
    """
    if requested_source in ("form_13d", "form_13g"):
        return "form_13dg", requested_source.removeprefix("form_").upper()
    return requested_source, None


def find_actions(tx: Transaction, filings: Sequence[FilingKey]) -> dict[FilingKey, str | None]:
    """Return the action of each filing, or None if it is not known."""
    actions: dict[FilingKey, str | None] = {}
    for key in filings:
        source, _ = key
        if source == "form_144":
            actions[key] = "proposed_sale"
        elif source == "form_4":
            actions[key] = "holding"  # Replaced below if the form has transactions.
        else:
            actions[key] = None
    for row in tx.list_rows("transaction_flags_of_forms", ids=_encode_filing_ids(filings, "form_4")):
        actions["form_4", row["id"]] = _find_trade_action(row)
    for row in tx.list_rows("schedule_person_facts", ids=_encode_filing_ids(filings, "form_13dg")):
        actions["form_13dg", row["id"]] = _find_stake_action(row)
    for row in tx.list_rows("holdings_report_facts", ids=_encode_filing_ids(filings, "form_13f")):
        actions["form_13f", row["id"]] = _find_report_action(row)
    return actions


def _encode_filing_ids(filings: Sequence[FilingKey], source: str) -> str:
    """Return the ids of a source's filings as JSON."""
    return json.dumps([filing_id for filing_source, filing_id in filings if filing_source == source])


def _find_trade_action(row: Row) -> str:
    """Return the action of a form with transactions. Trades in the market take precedence over other transactions."""
    if row["bought"] and row["sold"]:
        return "buy_and_sell"
    if row["bought"]:
        return "buy"
    if row["sold"]:
        return "sell"
    if row["acquired"]:
        return "acquired"
    return "disposed" if row["disposed"] else "holding"


def _find_report_action(row: Row) -> str:
    """Return the action of a 13F: an amendment, a notice (other managers report the holdings), or a report."""
    if row["is_amendment"]:
        return "amendment"
    return "notice" if "NOTICE" in (row["report_type"] or "").upper() else "report"


def _find_stake_action(row: Row) -> str | None:
    """Return the action of a person's stake, by its percentage of the class, which splits do not change."""
    if row["is_exit"]:
        return "exit"
    if row["prior_percent"] is None and not row["is_amendment"] and not row["has_prior"]:
        return "new"
    if row["percent"] is None or row["prior_percent"] is None:
        return None
    change = Decimal(row["percent"]) - Decimal(row["prior_percent"])
    if change > 0:
        return "increased"
    return "decreased" if change < 0 else "unchanged"
