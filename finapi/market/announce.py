"""What feeds and webhooks are told when something is stored for the first time, in the transaction that stores it.

The functions take values and look up the rest in the rows just stored, so that whoever stores something needs
to know of its accession number only. Call them after the rows are written, once for what is new.

What is news. A document of its own (a filing's XBRL, an ownership form, a 13F report, a full submission) is
always announced: somebody chose to bring it in. A list (submissions, an index of a quarter) may bring
thousands of filings of twenty years in one transaction; of those only what was filed within
:data:`LISTED_DAYS` is news, and the rest is history, which the data endpoints answer. A filing that a list
brought in silently is announced when a document of its own follows. A report whose accession number is not
known (``unfiled-...``) is announced when the number is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from finapi import events, sniper, webhooks
from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.events import About
from finapi.market.report import UNFILED

LISTED_DAYS = 7  # a poller that was away for a long weekend still tells of what it missed
MAX_CHANGES = 100  # changed values that one restatement_detected lists; its change_count has all of them

# What insider.transaction.created tells of a transaction, beside its filing (CONTRACT 9).
INSIDER_PAYLOAD = (
    "ticker",
    "issuer_cik",
    "insider_name",
    "insider_cik",
    "transaction_code",
    "acquired_disposed_code",
    "shares",
    "price_per_share",
    "transaction_date",
)

ARCHIVES = "https://www.sec.gov/Archives/edgar/data"


def filing(tx: Transaction, now: datetime, *, accession: str, listed: bool = False) -> bool:
    """Announce a filing whose row has been stored (``new_filing``); whether this call did so.

    It may be called whenever a document tells of the filing, again too: it is news once. ``listed`` says that
    a list told of it and no document of its own.
    """
    row = tx.one("announced_filing", accession=accession)
    if row is None or accession.startswith(UNFILED):
        return False
    if listed and not _recent(now, row["filed_at"], row["accepted_at"]):
        return False
    if not tx.run("mark_announced", accession=accession):
        return False
    tickers = _tickers(tx, row["cik"])
    occurred_at = _occurred_at(now, row["filed_at"], row["accepted_at"])
    data = _filing_object(row, tickers)
    events.record(
        tx,
        "new_filing",
        now=now,
        occurred_at=occurred_at,
        about=About(tickers, (f"{row['cik']:010}",), row["form"]),
        data=data,
    )
    if row["form"] is not None:
        ciks = [party["cik"] for party in tx.all("filing_parties", filing_id=row["id"])] or [row["cik"]]
        found = sniper.Filing(accession, tuple(ciks), row["form"], occurred_at, data["primary_link"])
        sniper.hit(tx, now, found)
    return True


def data_ready(tx: Transaction, now: datetime, *, accession: str) -> None:
    """Announce that the XBRL figures of a filing can be asked for (``data_ready``)."""
    row = tx.one("announced_filing", accession=accession)
    report = tx.one("latest_report_of", accession=accession)
    if row is None or report is None or accession.startswith(UNFILED):
        return
    tickers = _tickers(tx, row["cik"])
    events.record(
        tx,
        "data_ready",
        now=now,
        occurred_at=_occurred_at(now, row["filed_at"], row["accepted_at"]),
        about=About(tickers, (f"{row['cik']:010}",), report["form"]),
        data={
            **_of_filing(row, tickers),
            "form_type": report["form"],
            "period_of_report": report["period_of_report"],
            "fiscal_year": report["fiscal_year"],
            "fiscal_period": report["fiscal_period"],
            "statement_count": report["statements"],
        },
    )


def restatement(
    tx: Transaction, now: datetime, *, accession: str, changes: Sequence[Mapping[str, Any]]
) -> None:
    """Announce that a filing changes values that were served from earlier ones (``restatement_detected``).

    A change has ``concept``, ``unit``, ``start_date`` (None of an instant), ``end_date``, ``value``,
    ``previous_value`` (texts as tagged) and ``previous_accession``. Two spellings of one number are no
    change; when nothing is left, nothing is announced.
    """
    real = [change for change in changes if Decimal(change["value"]) != Decimal(change["previous_value"])]
    row = tx.one("announced_filing", accession=accession)
    if row is None or not real:
        return
    tickers = _tickers(tx, row["cik"])
    events.record(
        tx,
        "restatement_detected",
        now=now,
        occurred_at=_occurred_at(now, row["filed_at"], row["accepted_at"]),
        about=About(tickers, (f"{row['cik']:010}",), row["form"]),
        data={
            **_of_filing(row, tickers),
            "form_type": row["form"],
            "period_of_report": row["period_of_report"],
            "change_count": len(real),
            "changes": [dict(change) for change in real[:MAX_CHANGES]],
        },
    )


def insider_transactions(
    tx: Transaction,
    now: datetime,
    *,
    accession: str,
    issuer_cik: int,
    owner_ciks: Sequence[int],
    form_type: str,
    filed_at: str | None,
    accepted_at: str | None,
    transactions: Sequence[Mapping[str, Any]],
    listed: bool = False,
) -> None:
    """Announce the transactions of an ownership form, an event each (``insider_transaction``).

    ``transactions`` are the objects of ``/insiders/transactions/latest``; ``filed_at`` is the day. ``listed``
    says that they came in bulk (a quarter's data set), of which only the recent are news.
    """
    if listed and not _recent(now, filed_at, accepted_at):
        return
    ciks = [f"{cik:010}" for cik in (issuer_cik, *owner_ciks)]
    about = About(_tickers(tx, issuer_cik), tuple(dict.fromkeys(ciks)), form_type)
    occurred_at = _occurred_at(now, filed_at, accepted_at)
    for transaction in transactions:
        data = {**transaction, "accession_number": accession}
        events.record(tx, "insider_transaction", now=now, occurred_at=occurred_at, about=about, data=data)
    for number, transaction in enumerate(transactions):
        payload = {name: transaction.get(name) for name in INSIDER_PAYLOAD}
        payload.update(accession_number=accession, filed_at=occurred_at)
        subject = f"{accession}/{number}"
        webhooks.publish(
            tx, now, webhooks.Event("insider.transaction.created", occurred_at, subject, payload)
        )


def holdings(
    tx: Transaction,
    now: datetime,
    *,
    accession: str,
    cik: int,
    form_type: str,
    filed_at: str | None,
    accepted_at: str | None,
    data: Mapping[str, Any],
    listed: bool = False,
) -> None:
    """Announce a 13F report (``13f_filing``); ``data`` is the object of ``/form-13f/latest``."""
    if listed and not _recent(now, filed_at, accepted_at):
        return
    occurred_at = _occurred_at(now, filed_at, accepted_at)
    events.record(
        tx,
        "13f_filing",
        now=now,
        occurred_at=occurred_at,
        about=About(_tickers(tx, cik), (f"{cik:010}",), form_type),
        data={**data, "accession_no": accession},
    )
    payload = {
        "filer_cik": f"{cik:010}",
        "filer_name": data.get("fund_name"),
        "accession_number": accession,
        "period": data.get("period_of_report"),
        "holdings_count": data.get("holdings_count"),
        "total_value_usd": data.get("table_value_total"),
        "filed_at": occurred_at,
    }
    webhooks.publish(tx, now, webhooks.Event("13f.holdings.updated", occurred_at, accession, payload))


def _recent(now: datetime, filed_at: str | None, accepted_at: str | None) -> bool:
    told = accepted_at or filed_at
    return told is not None and told >= iso(now - timedelta(days=LISTED_DAYS))[: len(told)]


def _occurred_at(now: datetime, filed_at: str | None, accepted_at: str | None) -> str:
    """The acceptance; the beginning of the filing day when only that is known; now when nothing is."""
    if accepted_at:
        return accepted_at
    return f"{filed_at}T00:00:00.000Z" if filed_at else iso(now)


def _tickers(tx: Transaction, cik: int) -> tuple[str, ...]:
    return tuple(row["ticker"] for row in tx.all("pack_tickers", cik=cik))


def _of_filing(row: Row, tickers: tuple[str, ...]) -> dict[str, Any]:
    return {
        "accession_number": row["accession"],
        "ticker": tickers[0] if tickers else None,
        "cik": f"{row['cik']:010}",
        "company_name": row["name"],
        "filed_at": row["filed_at"],
    }


def _filing_object(row: Row, tickers: tuple[str, ...]) -> dict[str, Any]:
    """The object of ``/sec/filings``, as far as it is known when the filing is stored."""
    cik, accession, name = row["cik"], row["accession"], row["name"]
    folder = f"{ARCHIVES}/{cik}/{accession.replace('-', '')}"
    index = f"{folder}/{accession}-index.htm"
    document = f"{folder}/{row['primary_document']}" if row["primary_document"] else None
    return {
        # As /sec/filings numbers it: the accession number without its dashes.
        "id": int(accession.replace("-", "")),
        **_of_filing(row, tickers),
        "entity_name": name,
        "form_type": row["form"],
        "title": f"{row['form']} - {name} ({cik:010})",
        "filing_size": None if row["size"] is None else str(row["size"]),
        "filed_date": row["filed_at"],
        "period_of_report": row["period_of_report"],
        "sic": None if row["sic"] is None else str(row["sic"]),
        "primary_link": index,
        "primary_html_url": document,
        "all_links": [link for link in (index, document) if link],
    }
