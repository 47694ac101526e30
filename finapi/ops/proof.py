"""Whether what is stored adds up: the database itself, balances, the journal of the feeds, kept documents."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from pathlib import Path
from typing import TypedDict

from finapi import app as apps
from finapi.accounts import archive, billing
from finapi.accounts.billing import OpenDebit
from finapi.core.config import Config
from finapi.core.json import text as text_of
from finapi.market.holdings import industry_flows, value_doubts
from finapi.store.db import Database, DatabaseError, Transaction
from finapi.store.portions import read_in_portions

TEST_FILE_BYTES = 1 << 16  # bytes that must find room where something is to be written
DOCUMENTS_PER_PORTION = 20  # looked at together
MAX_NAMED_FILINGS = 20  # filings whose facts are wrong


class ProofCounts(TypedDict):
    """How much was looked at."""

    accounts: int
    filings: int
    facts: int
    ledger_rows: int
    documents: int


class OpenDebits(TypedDict):
    """Debits of calls that have not ended yet, or that a crash cut off: their number, their tokens and each of them."""

    count: int
    tokens: int
    calls: list[OpenDebit]


class Proof(TypedDict):
    """The result of a check.

    ``open_debits`` are the debits that a start or a restore would refund. ``archives_elsewhere`` is the number of
    archives of the ledger that are not in their directory, so that they were not checked.
    """

    counts: ProofCounts
    open_debits: OpenDebits
    archives_elsewhere: int
    problems: list[str]


def check_database(db: Database, config: Config) -> Proof:
    """Check a database and return its counts and problems. Writers do not wait for it.

    Nothing here depends on the clock: a copy is judged by its rows, so that it is proven however old it is.
    """
    try:
        problems = db.list_integrity_errors()
        if problems:
            # Rows of damaged pages are not counted.
            return _unreadable(problems)
        with db.read() as tx:
            rows, wrong = tx.list_rows("counts_of_market"), _counts(tx)
        with db.accounts.read() as tx:
            rows += tx.list_rows("counts_of_accounts")
            problems += [*_feeds(tx), *wrong]
        counts: ProofCounts = {**_none(), **{row["name"]: row["number"] for row in rows}}
        app = apps.wrap_database(config, db)
        problems += [*billing.list_errors(app), *archive.list_errors(app)]
        open_debits = sum_open_debits(billing.list_open_debits(app))
        elsewhere = len(archive.list_missing_files(app))
        problems += [*value_doubts.list_errors(db), *industry_flows.list_errors(db)]
        counts["documents"], wrong = _documents(db)
    except DatabaseError as error:
        return _unreadable([f"the database cannot be read: {error}"])
    return {
        "counts": counts,
        "open_debits": open_debits,
        "archives_elsewhere": elsewhere,
        "problems": problems + wrong,
    }


def sum_open_debits(calls: list[OpenDebit]) -> OpenDebits:
    """Return open debits with their number and the sum of their tokens."""
    return {"count": len(calls), "tokens": sum(call["tokens"] for call in calls), "calls": calls}


def _unreadable(problems: list[str]) -> Proof:
    return {
        "counts": _none(),
        "open_debits": sum_open_debits([]),
        "archives_elsewhere": 0,
        "problems": problems,
    }


def list_write_errors(config: Config) -> list[str]:
    """Why the database or the ledger's archives cannot be written, as on a full disk; nothing when they can."""
    places = {"the database": config.data_dir, "the ledger's archives": config.ledger_directory}
    return [f"{what} cannot be written: {why}" for what, place in places.items() if (why := find_write_error(place))]


def find_write_error(directory: Path) -> str:
    """The system's word for why nothing can be written in a directory; empty when it can, or is not there yet."""
    if not directory.is_dir():
        return ""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(TEST_FILE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return str(error.strerror)
    return ""


def render_summary(proof: Proof) -> str:
    """The proof in a line."""
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in proof["counts"].items())
    found = len(proof["problems"])
    return f"{found} problem{'' if found == 1 else 's'}" if found else f"all is well: {counts}"


def describe_open_debits(open_debits: OpenDebits) -> str:
    """Return the number of open debits, their tokens and the time of the oldest one in a line."""
    count, tokens = open_debits["count"], open_debits["tokens"]
    debits = "1 debit is open" if count == 1 else f"{count:,} debits are open"
    return f"{debits}: {tokens:,} tokens, the oldest from {open_debits['calls'][0]['created_at']}"


def _none() -> ProofCounts:
    return {"accounts": 0, "filings": 0, "facts": 0, "ledger_rows": 0, "documents": 0}


def _feeds(tx: Transaction) -> list[str]:
    """Feeds whose numbers have a hole, repeat, or run ahead of the last that was given out."""
    return [
        f"feed {row['name']}: {row['number']} events from {row['first']} to {row['last']}, the last given out is "
        f"{row['last_seq']}"
        for row in tx.list_rows("uneven_feeds")
    ]


def _counts(tx: Transaction) -> list[str]:
    """Filings with other facts than were stored with them, and kinds of rows that are not as many as were counted."""
    rows = tx.list_rows("unequal_facts", id=0, limit=MAX_NAMED_FILINGS + 1)
    found = [
        f"facts of {row['accession']}: {row['found']} are there, {row['stored']} were stored"
        for row in rows[:MAX_NAMED_FILINGS]
    ]
    if len(rows) > MAX_NAMED_FILINGS:
        found.append("facts of more filings are not what was stored")
    return found + [
        f"{row['name'].replace('_', ' ')}: {row['found']} are there, {row['stored']} were stored"
        for row in tx.list_rows("uncounted")
    ]


def _documents(db: Database) -> tuple[int, list[str]]:
    """How many kept documents there are, and those whose bytes are not what was stored."""
    number, wrong = 0, []

    def portion(tx: Transaction, last: int) -> int | None:
        nonlocal number
        rows = tx.list_rows("bodies_after", id=last, limit=DOCUMENTS_PER_PORTION)
        for row in rows:
            number += 1
            try:
                digest = hashlib.sha256(zlib.decompress(row["packed"])).hexdigest()
                if row["sha256"] not in (None, digest):
                    wrong.append(f"document of {text_of(row['accession'])}: is not the text that was stored")
            except zlib.error as error:
                wrong.append(f"document of {text_of(row['accession'])}: {error}")
        return rows[-1]["filing_id"] if rows else None

    read_in_portions(db, portion, 0)
    return number, wrong
