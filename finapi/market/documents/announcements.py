"""What feeds and webhooks are to be told when something is stored for the first time: rows of the outbox beside it.

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

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.clock import iso
from finapi.delivery import outbox
from finapi.delivery.events import EventTags
from finapi.delivery.sniper import FilingHit
from finapi.delivery.webhooks import WebhookEvent
from finapi.edgar.form_families import FormFamily
from finapi.market.documents import filing_rows
from finapi.market.documents.filing_rows import FilingRow
from finapi.market.documents.metadata import UNFILED_PREFIX
from finapi.store.db import Transaction

RECENT_DAYS = 7  # a poller that was away for a long weekend still tells of what it missed
MAX_CHANGES = 100  # changed values that one restatement_detected lists; its change_count has all of them

# Which filing an event about figures is of, beside what it says of them.
FILING_MEMBERS = ("accession_number", "ticker", "cik", "company_name", "filed_at", "form_type", "period_of_report")


def announce_filing(tx: Transaction, now: datetime, *, accession: str, only_listed: bool = False) -> bool:
    """Announce a filing whose row has been stored (``new_filing``); whether this call did so.

    It may be called whenever a document says something of the filing: it is news once. ``listed`` says that
    only a list named it so far, no document of its own.
    """
    times = tx.find_row("filing_times", accession=accession)
    if times is None or accession.startswith(UNFILED_PREFIX):
        return False
    if only_listed and not is_recent(now, times["filed_at"], times["accepted_at"]):
        return False
    undated = times["filed_at"] is None and times["accepted_at"] is None
    if not tx.run("mark_announced", accession=accession, undated=undated):
        return False
    shown = filing_rows.list_filings(tx, [accession])[0]
    about, occurred_at = _about(tx, accession, shown["form_type"]), _occurred_at(now, shown)
    outbox.enqueue_event(tx, now, accession, "new_filing", occurred_at=occurred_at, tags=about, data=shown)
    if not undated:
        _hit(tx, now, shown, about)
    return True


def announce_filing_date(tx: Transaction, now: datetime, *, accession: str) -> None:
    """Hit the sniper targets that wait for a filing which was announced without a date, now that it has one.

    A hit tells when the SEC accepted the filing: before that is known there is none. To be called when something new
    is known of a filing; it is hit once.
    """
    if tx.run("date_announced", accession=accession):
        shown = filing_rows.list_filings(tx, [accession])[0]
        _hit(tx, now, shown, _about(tx, accession, shown["form_type"]))


def _hit(tx: Transaction, now: datetime, shown: FilingRow, about: EventTags) -> None:
    form, ciks = shown["form_type"], tuple(int(cik) for cik in about.ciks)
    if form is not None:
        number, link = shown["accession_number"], shown["primary_link"]
        outbox.enqueue_hit(tx, now, FilingHit(number, ciks, form, _occurred_at(now, shown), link))


def announce_data_ready(tx: Transaction, now: datetime, *, accession: str) -> None:
    """Announce that the XBRL figures of a filing can be asked for (``data_ready``)."""
    report = tx.find_row("latest_report_of", accession=accession)
    if report is not None:
        told = {**report}
        _of_filing(tx, "data_ready", now, accession, told, documents=told.pop("sha256"))


def announce_restatement(
    tx: Transaction, now: datetime, *, accession: str, changes: Sequence[Mapping[str, Any]]
) -> None:
    """Announce that a filing changes values that were served from earlier ones (``restatement_detected``).

    A change has ``concept``, ``unit``, ``start_date`` (None of an instant), ``end_date``, ``value``,
    ``previous_value`` (texts as tagged) and ``previous_accession``. Two spellings of one number are no
    change; when nothing is left, nothing is announced.
    """
    real = [change for change in changes if Decimal(change["value"]) != Decimal(change["previous_value"])]
    if real:
        listed = [dict(change) for change in real[:MAX_CHANGES]]
        _of_filing(tx, "restatement_detected", now, accession, {"change_count": len(real), "changes": listed})


def _of_filing(
    tx: Transaction, type: str, now: datetime, accession: str, more: Mapping[str, Any], documents: bytes = b""
) -> None:
    """Record an event about a filing's figures: which filing it is, and ``more``; nothing until its number is known."""
    if accession.startswith(UNFILED_PREFIX):
        return
    shown: Mapping[str, Any] = dict(filing_rows.list_filings(tx, [accession])[0])
    data = {**{name: shown[name] for name in FILING_MEMBERS}, **more}
    about = _about(tx, accession, data["form_type"])
    occurred_at = _occurred_at(now, shown)
    outbox.enqueue_event(tx, now, accession, type, occurred_at=occurred_at, tags=about, data=data, documents=documents)


class ContentNews(NamedTuple):
    """One thing inside a filing that is news: the event's object, the webhook's payload, and what tells it apart."""

    data: Mapping[str, Any]
    payload: Mapping[str, Any]
    subject: str


def announce_contents(
    tx: Transaction, now: datetime, form: FormFamily, accession: str, news: Iterable[ContentNews]
) -> None:
    """Announce what a filing holds: for each piece of news the family's event and a delivery of its topic.

    Where no day of the filing is known, ``filed_at`` is None rather than the time of the ingest.
    """
    shown = filing_rows.list_filings(tx, [accession])[0]
    about, occurred_at = _about(tx, accession, shown["form_type"]), _occurred_at(now, shown)
    for one in news:
        outbox.enqueue_event(
            tx, now, accession, form.event_types[0], occurred_at=occurred_at, tags=about, data=one.data
        )
        if form.topic is not None:
            payload = {**one.payload, "accession_number": accession, "filed_at": _filed_at(shown)}
            outbox.enqueue_webhook(tx, now, accession, WebhookEvent(form.topic, occurred_at, one.subject, payload))


def is_recent(now: datetime, filed_at: str | None, accepted_at: str | None = None) -> bool:
    """Whether a filing that only a list or a data set names is news rather than history."""
    known = accepted_at or filed_at
    return known is not None and known >= get_recent_start(now)[: len(known)]


def get_recent_start(now: datetime) -> str:
    """The time from which on what is filed is news."""
    return iso(now - timedelta(days=RECENT_DAYS))


def _occurred_at(now: datetime, filing: Mapping[str, Any]) -> str:
    """When a filing was made, as far as it is known; now when nothing is."""
    return _filed_at(filing) or iso(now)


def _filed_at(filing: Mapping[str, Any]) -> str | None:
    """The acceptance; the beginning of the filing day when only that is known."""
    if filing["accepted_at"]:
        return str(filing["accepted_at"])
    return f"{filing['filed_at']}T00:00:00.000Z" if filing["filed_at"] else None


def _about(tx: Transaction, accession: str, form_type: str | None) -> EventTags:
    """Every party of the filing and every ticker of theirs, whose filing it is first."""
    ciks = tuple(f"{row['cik']:010}" for row in tx.list_rows("parties_in_order", accession=accession))
    tickers = dict.fromkeys(row["ticker"] for row in tx.list_rows("tickers_of_parties", accession=accession))
    return EventTags(tuple(tickers), ciks, form_type)
