"""Announcements of new filings and of their contents to feeds and webhooks.

An announcement is a row of the outbox, written in the transaction that stores the filing, after the filing's own
rows. The functions take an accession number and read everything else from the rows just stored.

What counts as news depends on the source:

- A document of its own (a filing's XBRL, an ownership form, a 13F report, a full submission) is always announced,
  because the operator chose to ingest it.
- A list (a submissions file, a quarterly index) may bring thousands of filings from twenty years in one transaction.
  Of those, only filings of the last :data:`RECENT_DAYS` are announced. An older one is announced later, when one of its
  own documents is ingested.
- A report whose accession number is not known yet (``unfiled-...``) is announced when the number becomes known.

The table ``announced_filings`` ensures that a filing is announced once.
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
from finapi.market.documents.metadata import is_unfiled
from finapi.store.db import Transaction

RECENT_DAYS = 7  # A poller that was down for a long weekend still announces the filings it missed.
MAX_CHANGES = 100  # Changed figures listed in one restatement_detected; its change_count counts all of them.

# Members that identify the filing in events about its figures.
FILING_MEMBERS = ("accession_number", "ticker", "cik", "company_name", "filed_at", "form_type", "period_of_report")


def announce_filing(tx: Transaction, now: datetime, *, accession: str, is_only_listed: bool = False) -> bool:
    """Announce a stored filing (``new_filing``) unless it was announced before. Return True if this call did so.

    ``is_only_listed`` is True if the filing is known from a list only, because none of its documents was ingested.
    """
    times = tx.find_row("filing_times", accession=accession)
    if times is None or is_unfiled(accession):
        return False
    if is_only_listed and not is_recent(now, times["filed_at"], times["accepted_at"]):
        return False
    is_undated = times["filed_at"] is None and times["accepted_at"] is None
    if not tx.run("insert_announced_filing", accession=accession, undated=is_undated):
        return False
    filing = filing_rows.list_filings(tx, [accession])[0]
    tags = _build_tags(tx, accession, filing["form_type"])
    outbox.enqueue_event(tx, now, accession, "new_filing", occurred_at=_find_filed_at(filing), tags=tags, data=filing)
    if not is_undated:
        _enqueue_hit(tx, now, filing, tags)
    return True


def announce_delayed_hits(tx: Transaction, now: datetime, *, accession: str) -> None:
    """Send a filing to the sniper targets that wait for it, if it was announced without a date and has one now.

    A hit of a target contains the time of the filing, so :func:`announce_filing` sends none without a date. Call this
    whenever the metadata of a filing changed: a filing is sent to the targets only once.
    """
    if tx.run("update_announced_filing_dated", accession=accession):
        filing = filing_rows.list_filings(tx, [accession])[0]
        _enqueue_hit(tx, now, filing, _build_tags(tx, accession, filing["form_type"]))


def _enqueue_hit(tx: Transaction, now: datetime, filing: FilingRow, tags: EventTags) -> None:
    form = filing["form_type"]
    filed_at = _find_filed_at(filing)
    if form is None or filed_at is None:
        return
    ciks = tuple(int(cik) for cik in tags.ciks)
    hit = FilingHit(filing["accession_number"], ciks, form, filed_at, filing["primary_link"])
    outbox.enqueue_hit(tx, now, hit)


def announce_data_ready(tx: Transaction, now: datetime, *, accession: str) -> None:
    """Announce that the XBRL figures of a filing can be requested (``data_ready``)."""
    report = tx.find_row("latest_report_of_filing", accession=accession)
    if report is not None:
        members = {**report}
        sha256 = members.pop("sha256")
        _enqueue_figure_event(tx, "data_ready", now, accession, members, documents=sha256)


def announce_restatement(
    tx: Transaction, now: datetime, *, accession: str, changes: Sequence[Mapping[str, Any]]
) -> None:
    """Announce that a filing changes figures that were served from earlier filings (``restatement_detected``).

    A change has ``concept``, ``unit``, ``start_date`` (None for an instant), ``end_date``, ``value``,
    ``previous_value`` (texts as tagged) and ``previous_accession``. Two spellings of the same number are not a
    change. Nothing is announced if no change is left.
    """
    real_changes = [change for change in changes if Decimal(change["value"]) != Decimal(change["previous_value"])]
    if real_changes:
        listed_changes = [dict(change) for change in real_changes[:MAX_CHANGES]]
        members = {"change_count": len(real_changes), "changes": listed_changes}
        _enqueue_figure_event(tx, "restatement_detected", now, accession, members)


def _enqueue_figure_event(
    tx: Transaction, type: str, now: datetime, accession: str, members: Mapping[str, Any], documents: bytes = b""
) -> None:
    """Enqueue an event about a filing's figures, with :data:`FILING_MEMBERS` and ``members`` as its data.

    An event with equal data and an equal ``documents`` (a hash of the filing's XBRL documents) is only sent once.
    Nothing is enqueued if the accession number is not known yet.
    """
    if is_unfiled(accession):
        return
    filing: Mapping[str, Any] = dict(filing_rows.list_filings(tx, [accession])[0])
    event = {name: filing[name] for name in FILING_MEMBERS}
    event.update(members)
    outbox.enqueue_event(
        tx,
        now,
        accession,
        type,
        occurred_at=_find_filed_at(filing),
        tags=_build_tags(tx, accession, event["form_type"]),
        data=event,
        documents=documents,
    )


class ContentNews(NamedTuple):
    """One piece of news inside a filing, such as a transaction or a stake.

    ``data`` is the object of the event and ``payload`` that of the webhook. ``subject`` distinguishes the pieces of
    news of one filing.
    """

    data: Mapping[str, Any]
    payload: Mapping[str, Any]
    subject: str


def announce_content_news(
    tx: Transaction, now: datetime, form: FormFamily, accession: str, news: Iterable[ContentNews]
) -> None:
    """Announce the news inside a filing: each piece as an event of the form family and as a webhook of its topic.

    A family without a topic has no webhooks. The ``filed_at`` of a webhook is None if the filing day is not known.
    """
    filing = filing_rows.list_filings(tx, [accession])[0]
    tags = _build_tags(tx, accession, filing["form_type"])
    occurred_at = _find_filed_at(filing)
    for piece in news:
        outbox.enqueue_event(
            tx, now, accession, form.event_types[0], occurred_at=occurred_at, tags=tags, data=piece.data
        )
        if form.topic is not None:
            payload = {**piece.payload, "accession_number": accession, "filed_at": occurred_at}
            outbox.enqueue_webhook(tx, now, accession, WebhookEvent(form.topic, occurred_at, piece.subject, payload))


def is_recent(now: datetime, filed_at: str | None, accepted_at: str | None = None) -> bool:
    """Return True if a filing that is known from a list or data set only was filed in the last :data:`RECENT_DAYS`."""
    filed = accepted_at or filed_at
    return filed is not None and filed >= get_recent_start(now)[: len(filed)]


def get_recent_start(now: datetime) -> str:
    """Return the earliest ISO time at which a filing still counts as news."""
    return iso(now - timedelta(days=RECENT_DAYS))


def _find_filed_at(filing: Mapping[str, Any]) -> str | None:
    """Return the time of acceptance, else the start of the filing day, or None."""
    if filing["accepted_at"]:
        return str(filing["accepted_at"])
    return f"{filing['filed_at']}T00:00:00.000Z" if filing["filed_at"] else None


def _build_tags(tx: Transaction, accession: str, form_type: str | None) -> EventTags:
    """Return all parties of the filing and all their tickers, the main party's first."""
    ciks = tuple(f"{row['cik']:010}" for row in tx.list_rows("parties_in_order", accession=accession))
    tickers = dict.fromkeys(row["ticker"] for row in tx.list_rows("tickers_of_parties", accession=accession))
    return EventTags(tuple(tickers), ciks, form_type)
