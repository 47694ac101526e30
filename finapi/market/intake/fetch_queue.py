"""The poller's queue: the companies that it follows and the documents that it still has to fetch.

A filing is queued in the transaction that stores the list naming it, so that a stop loses nothing. It is marked done in
the transaction that stores its documents. A document that is fetched twice changes nothing the second time.

A queued document is in one of three states: ``due`` (with ``due_at`` and the number of ``tries`` so far), ``done``, or
``refused`` (given up). A download that fails is postponed by :data:`RETRY_SECONDS`, and given up after the last one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from finapi.accounts import audit
from finapi.app import App
from finapi.core.clock import iso
from finapi.edgar.form_families import FETCHED_FORMS, FOLLOWED_FORMS
from finapi.market.reference import companies
from finapi.store.db import Row, Transaction

# Interval at which a company's list of filings is fetched even if the feed names no new filing.
LIST_INTERVAL_HOURS = 24

# Seconds to wait after each failed try of a document. A missing document is often there a minute later; an outage that
# someone has to notice may last for days. After the last of these waits there is one more try.
RETRY_SECONDS = (60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 86_400)
# No document and no list of filings is scheduled further ahead than this. A later time was stored before the clock was
# set back: it is due now.
MAX_DELAY_SECONDS = 2 * RETRY_SECONDS[-1]

# Time for which finished documents stay in the queue, so that they are not fetched again. No index names a filing again
# as late as this.
FINISHED_RETENTION = timedelta(days=60)


def follow_company(tx: Transaction, cik: int, now: datetime) -> bool:
    """Follow a company. Return False if it is followed already. An unknown company is named by its CIK."""
    companies.insert_unnamed(tx, cik)
    return tx.run("insert_followed", cik=cik, now=iso(now)) > 0


def unfollow_company(tx: Transaction, cik: int, now: datetime) -> bool:
    """Stop following a company. Return False if it was not followed."""
    return tx.run("delete_followed", cik=cik) > 0


def list_followed(tx: Transaction) -> list[dict[str, Any]]:
    """Return the followed companies: ``cik`` with ten digits, ``ticker``, ``name``, ``added_at``."""
    return [
        {"cik": f"{row['cik']:010}", "ticker": row["ticker"], "name": row["name"], "added_at": row["added_at"]}
        for row in tx.list_rows("followed")
    ]


def queue_filing(
    tx: Transaction, now: datetime, accession: str, form: str, ciks: Sequence[int], forms: Sequence[str] = ()
) -> None:
    """Queue the documents of a filing that a list names, if they are to be fetched.

    That is the case for :data:`FETCHED_FORMS`, and for followed companies: all their forms, or only ``forms`` if given.
    When the filing is queued for the first time, the lists of its followed companies become due, because they have
    more of its metadata.
    """
    followed_ciks = [row["cik"] for row in tx.list_rows("followed_among", ciks=json.dumps(list(ciks)))]
    is_followed = bool(followed_ciks) and (not forms or form.removesuffix("/A") in forms)
    if form in FETCHED_FORMS or is_followed:
        # EDGAR stores a filing in the folder of each of its parties, so any party can be used for the path.
        cik = followed_ciks[0] if followed_ciks else ciks[0]
        if tx.run("insert_wanted_document", accession=accession, cik=cik, form=form, now=iso(now)):
            for followed_cik in followed_ciks:
                tx.run("update_followed_due_now", cik=followed_cik, now=iso(now))


def queue_recent_filings(tx: Transaction, now: datetime, cik: int, days: int, forms: Sequence[str] = ()) -> None:
    """Queue the documents of a company's filings of the last ``days``.

    With ``forms``, those forms and their amendments; otherwise filings with XBRL and :data:`FOLLOWED_FORMS`.
    """
    since = (now - timedelta(days=days)).date().isoformat()
    for row in tx.list_rows("recent_filings_of_company", cik=cik, since=since):
        if forms:
            is_selected = row["form"].removesuffix("/A") in forms
        else:
            is_selected = row["is_xbrl"] or row["form"] in FOLLOWED_FORMS
        if is_selected:
            tx.run("insert_wanted_document", accession=row["accession"], cik=cik, form=row["form"], now=iso(now))


def list_due_documents(tx: Transaction, now: datetime, limit: int) -> list[Row]:
    """Return the filings whose documents are due: ``accession``, ``cik``, ``form``, ``tries``."""
    latest = iso(now + timedelta(seconds=MAX_DELAY_SECONDS))
    return tx.list_rows("due_documents", now=iso(now), latest=latest, limit=limit)


def list_due_companies(tx: Transaction, now: datetime, limit: int) -> list[int]:
    """Return the companies whose lists of filings are due."""
    latest = iso(now + timedelta(seconds=MAX_DELAY_SECONDS))
    return [row["cik"] for row in tx.list_rows("due_companies", now=iso(now), latest=latest, limit=limit)]


def finish_document(tx: Transaction, accession: str, now: datetime, refusal: str | None) -> None:
    """Mark a document as done, or as given up for the reason ``refusal``."""
    state = "done" if refusal is None else "refused"
    tx.run("update_finished_document", accession=accession, state=state, now=iso(now), reason=refusal)
    tx.run("delete_finished_documents", before=iso(now - FINISHED_RETENTION))


def postpone_document(
    tx: Transaction, row: Row, now: datetime, reason: str, min_seconds: float = 0.0
) -> datetime | None:
    """Schedule the next try of a document, at least ``min_seconds`` from now.

    Return the time of the next try, or None if the document is given up.
    """
    if row["tries"] >= len(RETRY_SECONDS):
        finish_document(tx, row["accession"], now, reason)
        return None
    due_at = now + timedelta(seconds=max(RETRY_SECONDS[row["tries"]], min_seconds))
    tx.run("update_postponed_document", accession=row["accession"], due_at=iso(due_at), reason=reason)
    return due_at


def list_failed_documents(tx: Transaction) -> list[dict[str, Any]]:
    """Return the documents that were given up, then those postponed, with ``state``, ``reason`` and times."""
    return [dict(row) for row in tx.list_rows("failed_documents")]


def list_refused_files(tx: Transaction, limit: int) -> list[Row]:
    """Return the refused files that were not ingested since: ``path``, ``kind``, ``reason``, ``at``."""
    return tx.list_rows("refused_files", limit=limit)


def list_watermarks(tx: Transaction) -> list[Row]:
    """Return the state of the poller: ``name`` and ``value`` of each of its watermarks."""
    return tx.list_rows("poll_states")


def retry_documents(
    app: App, accessions: Sequence[str | None], now: datetime, by: audit.Actor | None = None
) -> list[int]:
    """Make failed documents due now, with no tries used up. Return the number of documents for each accession number.

    None stands for all failed documents. Raise ApiError CONFLICT on a node that answers from a copy.
    """
    app.db.check_original()
    with app.db.read() as tx:
        failed_accessions: set[str | None] = {row["accession"] for row in list_failed_documents(tx)}
    if not failed_accessions or not {None, *failed_accessions}.intersection(accessions):
        return [0] * len(accessions)
    # The audit row comes first: its store refuses the action if the actor may not perform it.
    detail = " ".join(accession or "all" for accession in accessions)
    with app.accounts.write() as tx:
        audit.record_action(tx, by, "retry", now, detail=detail)
    with app.db.write() as tx:
        return [tx.run("update_failed_documents_due", accession=accession, now=iso(now)) for accession in accessions]


def count_given_up(tx: Transaction) -> int:
    """Return the number of documents that were given up."""
    count: int = tx.find_value("given_up_document_count")
    return count


def count_due_documents(tx: Transaction, now: datetime) -> int:
    """Return the number of filings whose documents are due."""
    count: int = tx.find_value("due_document_count", now=iso(now))
    return count
