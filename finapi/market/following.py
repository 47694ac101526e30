"""Whom the poller follows, and the documents that it has still to fetch.

What is wanted is written in the transaction that learns of the filing, so that a stop loses nothing; it is
ticked off when it has been stored, and what is stored twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.market import companies

# Whose documents are fetched whoever files them: insiders' forms and 13F reports.
OF_EVERYBODY = frozenset({"3", "3/A", "4", "4/A", "5", "5/A", "13F-HR", "13F-HR/A"})

# Of a company that comes to be followed, how far back documents are fetched: four quarters and a little.
FOLLOW_DAYS = 400

# How often the list of a company's filings is fetched when the feed tells of none.
LIST_HOURS = 24

# What becomes of a document that is not there yet: how often and after how many seconds it is asked for again.
TRIES, TRY_AGAIN = 6, 300

KEEP = timedelta(
    days=60
)  # how long what was fetched is remembered; far beyond what an index can tell of again


def add(tx: Transaction, cik: int, now: datetime) -> bool:
    """Follow a company; False when it is followed already. One that is not known is called by its number."""
    companies.put_unnamed(tx, cik)
    return tx.run("follow", cik=cik, now=iso(now)) > 0


def drop(tx: Transaction, cik: int, now: datetime) -> bool:
    """Follow a company no more; False when it was not followed."""
    return tx.run("unfollow", cik=cik) > 0


def listed(tx: Transaction) -> list[dict[str, Any]]:
    """The companies that are followed: ``cik`` of ten digits, ``ticker``, ``name``, ``added_at``."""
    return [
        {
            "cik": f"{row['cik']:010}",
            "ticker": row["ticker"],
            "name": row["name"],
            "added_at": row["added_at"],
        }
        for row in tx.all("followed")
    ]


def note(tx: Transaction, now: datetime, accession: str, form: str, ciks: Sequence[int]) -> None:
    """Want the documents of a filing that a list tells of, if they are of those that are fetched.

    The first time, the lists of followed companies that are part of it are due at once: they say more of it.
    """
    followed = [row["cik"] for row in tx.all("followed_among", ciks=json.dumps(list(ciks)))]
    if followed or form in OF_EVERYBODY:
        # Whichever party's folder it lies in: all of them hold it.
        cik = followed[0] if followed else ciks[0]
        if tx.run("want_documents", accession=accession, cik=cik, form=form, now=iso(now)):
            for one in followed:
                tx.run("hasten_followed", cik=one, now=iso(now))


def note_recent(tx: Transaction, now: datetime, cik: int) -> None:
    """Want the documents of what a company filed lately: its figures, and the forms of OF_EVERYBODY."""
    since = (now - timedelta(days=FOLLOW_DAYS)).date().isoformat()
    for row in tx.all("recent_filings_of", cik=cik, since=since):
        if row["is_xbrl"] or row["form"] in OF_EVERYBODY:
            tx.run("want_documents", accession=row["accession"], cik=cik, form=row["form"], now=iso(now))


def due(tx: Transaction, now: datetime, limit: int) -> list[Row]:
    """The filings whose documents are to be fetched now: ``accession``, ``cik``, ``form``, ``tries``."""
    return tx.all("documents_due", now=iso(now), limit=limit)


def ended(tx: Transaction, accession: str, now: datetime, refused: str | None) -> None:
    """Tick a filing off: stored, or refused with the reason."""
    state = "done" if refused is None else "refused"
    tx.run("end_document", accession=accession, state=state, now=iso(now), reason=refused)
    tx.run("forget_documents", before=iso(now - KEEP))


def missing(tx: Transaction, row: Row, now: datetime) -> None:
    """Ask again later for documents that are not there; after TRIES they are refused."""
    if row["tries"] + 1 >= TRIES:
        ended(tx, row["accession"], now, "is not there")
        return
    again = iso(now + timedelta(seconds=TRY_AGAIN))
    tx.run("put_off_document", accession=row["accession"], due_at=again, reason="is not there yet")


def put_off(tx: Transaction, accession: str, until: datetime) -> None:
    """Ask for a document after ``until`` and after whatever else is due by then."""
    tx.run("delay_document", accession=accession, due_at=iso(until))


def queue_depth(tx: Transaction, now: datetime) -> int:
    """How many filings wait for their documents to be fetched."""
    waiting: int = tx.value("count_documents_due", now=iso(now))
    return waiting
