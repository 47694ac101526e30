"""Whom the poller follows, and the documents that it has still to fetch.

What is wanted is written in the transaction that learns of the filing, so that a stop loses nothing; it is
ticked off when it has been stored, and what is stored twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from finapi.accounts import audit
from finapi.app import App
from finapi.core.clock import iso
from finapi.edgar.form_families import FETCHED_FORMS
from finapi.market.reference import companies
from finapi.store.db import Row, Transaction

# How often the list of a company's filings is fetched when the feed tells of none.
LIST_INTERVAL_HOURS = 24

# When a document that did not come, or not whole, is asked for again, in seconds after each try: it is often there in
# a minute, and an outage that somebody has to notice lasts for days. After these and one more it is given up.
RETRY_SECONDS = (60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 86_400)
MAX_DELAY_SECONDS = 2 * RETRY_SECONDS[-1]  # within which whatever is due is due, lists of filings too

FINISHED_KEPT_FOR = timedelta(
    days=60
)  # how long what was fetched is remembered; far beyond what an index can tell of again


def follow_company(tx: Transaction, cik: int, now: datetime) -> bool:
    """Follow a company; False when it is followed already. One that is not known is called by its number."""
    companies.insert_unnamed(tx, cik)
    return tx.run("insert_followed", cik=cik, now=iso(now)) > 0


def unfollow_company(tx: Transaction, cik: int, now: datetime) -> bool:
    """Follow a company no more; False when it was not followed."""
    return tx.run("delete_followed", cik=cik) > 0


def list_followed(tx: Transaction) -> list[dict[str, Any]]:
    """The companies that are followed: ``cik`` of ten digits, ``ticker``, ``name``, ``added_at``."""
    return [
        {"cik": f"{row['cik']:010}", "ticker": row["ticker"], "name": row["name"], "added_at": row["added_at"]}
        for row in tx.list_rows("followed")
    ]


def queue_filing(
    tx: Transaction, now: datetime, accession: str, form: str, ciks: Sequence[int], forms: Sequence[str] = ()
) -> None:
    """Want the documents of a filing that a list tells of, if they are of those that are fetched.

    Of followed companies all are, or the ``forms``. The first time, the lists of followed companies that are part of it
    are due at once: they say more of it.
    """
    followed = [row["cik"] for row in tx.list_rows("followed_among", ciks=json.dumps(list(ciks)))]
    if form in FETCHED_FORMS or (followed and (not forms or form.removesuffix("/A") in forms)):
        # Whichever party's folder it lies in: all of them hold it.
        cik = followed[0] if followed else ciks[0]
        if tx.run("insert_wanted_document", accession=accession, cik=cik, form=form, now=iso(now)):
            for one in followed:
                tx.run("update_followed_due_now", cik=one, now=iso(now))


def queue_recent_filings(tx: Transaction, now: datetime, cik: int, days: int, forms: Sequence[str] = ()) -> None:
    """Want the documents of what a company filed in the last ``days``, of the ``forms`` and their amendments.

    Without any its figures, and the forms that are fetched of everybody.
    """
    since = (now - timedelta(days=days)).date().isoformat()
    for row in tx.list_rows("recent_filings_of_company", cik=cik, since=since):
        usual = row["is_xbrl"] or row["form"] in FETCHED_FORMS
        if row["form"].removesuffix("/A") in forms if forms else usual:
            tx.run("insert_wanted_document", accession=row["accession"], cik=cik, form=row["form"], now=iso(now))


def list_due_documents(tx: Transaction, now: datetime, limit: int) -> list[Row]:
    """The filings whose documents are to be fetched now: ``accession``, ``cik``, ``form``, ``tries``."""
    # Later than any schedule says: the clock was put back.
    latest = iso(now + timedelta(seconds=MAX_DELAY_SECONDS))
    return tx.list_rows("due_documents", now=iso(now), latest=latest, limit=limit)


def list_due_companies(tx: Transaction, now: datetime, limit: int) -> list[int]:
    """The companies whose lists of filings are to be fetched now."""
    latest = iso(now + timedelta(seconds=MAX_DELAY_SECONDS))
    return [row["cik"] for row in tx.list_rows("due_companies", now=iso(now), latest=latest, limit=limit)]


def finish_document(tx: Transaction, accession: str, now: datetime, refused: str | None) -> None:
    """Tick a filing off: stored, or refused with the reason."""
    state = "done" if refused is None else "refused"
    tx.run("update_finished_document", accession=accession, state=state, now=iso(now), reason=refused)
    tx.run("delete_finished_documents", before=iso(now - FINISHED_KEPT_FOR))


def postpone_document(tx: Transaction, row: Row, now: datetime, reason: str, least: float = 0.0) -> datetime | None:
    """Ask for a document again later, not within ``least`` seconds: when; None when it is given up."""
    if row["tries"] >= len(RETRY_SECONDS):
        finish_document(tx, row["accession"], now, reason)
        return None
    again = now + timedelta(seconds=max(RETRY_SECONDS[row["tries"]], least))
    tx.run("update_postponed_document", accession=row["accession"], due_at=iso(again), reason=reason)
    return again


def list_failed_documents(tx: Transaction) -> list[dict[str, Any]]:
    """The documents that were given up, then those put off: ``accession``, ``cik``, ``form``, ``state`` and why."""
    return [dict(row) for row in tx.list_rows("failed_documents")]


def list_refused_files(tx: Transaction, limit: int) -> list[Row]:
    """The files that the last ingests refused and none has taken since: ``path``, ``kind``, ``reason`` and ``at``."""
    return tx.list_rows("refused_files", limit=limit)


def list_watermarks(tx: Transaction) -> list[Row]:
    """Where the poller stands: ``name`` and ``value`` of each of its watermarks."""
    return tx.list_rows("poll_states")


def retry_documents(
    app: App, accessions: Sequence[str | None], now: datetime, by: audit.Actor | None = None
) -> list[int]:
    """Ask for these of :func:`in_trouble` (None: all) again at once, and as often as at first; how many those are.

    CONFLICT on a node that answers on a copy.
    """
    app.db.check_original()
    with app.db.read() as tx:
        there: set[str | None] = {row["accession"] for row in list_failed_documents(tx)}
    if not there or not {None, *there}.intersection(accessions):
        return [0] * len(accessions)
    # Written down first, in the other store: it refuses whoever may not.
    with app.accounts.write() as tx:
        audit.record_action(tx, by, "retry", now, detail=" ".join(one or "all" for one in accessions))
    with app.db.write() as tx:
        return [tx.run("update_failed_documents_due", accession=accession, now=iso(now)) for accession in accessions]


def count_given_up(tx: Transaction) -> int:
    """How many documents were given up."""
    number: int = tx.find_value("given_up_document_count")
    return number


def count_due_documents(tx: Transaction, now: datetime) -> int:
    """How many filings wait for their documents to be fetched."""
    waiting: int = tx.find_value("due_document_count", now=iso(now))
    return waiting
