"""Verification of a database: its pages, balances, event journal, row counts and stored documents."""

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
from finapi.core.counts import format_count
from finapi.core.json import text as text_of
from finapi.market.holdings import industry_flows, value_doubts
from finapi.store.db import Database, DatabaseError, Transaction
from finapi.store.portions import read_in_portions

TEST_FILE_BYTES = 1 << 16  # Size of the file that is written to test if a directory is writable.
DOCUMENTS_PER_PORTION = 20
MAX_NAMED_FILINGS = 20  # Filings with missing facts that are named in messages. The others are only counted.


class ProofCounts(TypedDict):
    """The numbers of rows and documents that were verified."""

    accounts: int
    filings: int
    facts: int
    ledger_rows: int
    documents: int


class OpenDebits(TypedDict):
    """Debits of calls that have not ended yet, or that a crash cut off: their number, total tokens, and a list."""

    count: int
    tokens: int
    calls: list[OpenDebit]


class Proof(TypedDict):
    """The result of a check.

    ``open_debits`` are the debits that a start or a restore would refund. ``archives_elsewhere`` is the number of
    ledger archives that were not checked because they are not in their directory.
    """

    counts: ProofCounts
    open_debits: OpenDebits
    archives_elsewhere: int
    problems: list[str]


def check_database(db: Database, config: Config) -> Proof:
    """Check a database and return its counts and problems. Writers do not have to wait for the check.

    No check compares anything with the current time, so an old copy passes as well as a new one.
    """
    try:
        problems = db.list_integrity_errors()
        if problems:
            # The rows of a database with damaged pages are not checked.
            return build_failed_proof(problems)
        with db.read() as tx:
            rows = tx.list_rows("counts_of_market")
            count_errors = _list_count_errors(tx)
        with db.accounts.read() as tx:
            rows += tx.list_rows("counts_of_accounts")
            problems += [*_list_feed_errors(tx), *count_errors]
        numbers = {row["name"]: row["number"] for row in rows}
        counts: ProofCounts = {**_build_zero_counts(), **numbers}
        app = apps.wrap_database(config, db)
        problems += [*billing.list_errors(app), *archive.list_errors(app)]
        open_debits = sum_open_debits(billing.list_open_debits(app))
        elsewhere = len(archive.list_missing_files(app))
        problems += [*value_doubts.list_errors(db), *industry_flows.list_errors(db)]
        counts["documents"], document_errors = _check_documents(db)
    except DatabaseError as error:
        return build_failed_proof([f"the database cannot be read: {error}"])
    return {
        "counts": counts,
        "open_debits": open_debits,
        "archives_elsewhere": elsewhere,
        "problems": problems + document_errors,
    }


def sum_open_debits(calls: list[OpenDebit]) -> OpenDebits:
    """Return open debits with their number and the sum of their tokens."""
    return {"count": len(calls), "tokens": sum(call["tokens"] for call in calls), "calls": calls}


def build_failed_proof(problems: list[str]) -> Proof:
    """Return the result of a check that could not read the rows: these problems, and no counts."""
    return {
        "counts": _build_zero_counts(),
        "open_debits": sum_open_debits([]),
        "archives_elsewhere": 0,
        "problems": problems,
    }


def list_write_errors(config: Config) -> list[str]:
    """Return one message for each of the database and the ledger archives that cannot be written (full disk etc.)."""
    directories = {"the database": config.data_dir, "the ledger's archives": config.ledger_directory}
    errors = []
    for subject, directory in directories.items():
        reason = find_write_error(directory)
        if reason:
            errors.append(f"{subject} cannot be written: {reason}")
    return errors


def find_write_error(directory: Path) -> str:
    """Write a temporary file in a directory and return the system's error message.

    Return an empty text if there is no error, or if the directory does not exist.
    """
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
    """Return the result of a check in one line: the number of problems, or the counts if there are none."""
    problem_count = len(proof["problems"])
    if problem_count:
        return format_count(problem_count, "problem")
    return f"all is well: {format_counts(proof['counts'])}"


def format_counts(counts: ProofCounts) -> str:
    """Return the counts of a verified database as text: "2 accounts, 1 filing, ..."."""
    return ", ".join(
        (
            format_count(counts["accounts"], "account"),
            format_count(counts["filings"], "filing"),
            format_count(counts["facts"], "fact"),
            format_count(counts["ledger_rows"], "ledger row"),
            format_count(counts["documents"], "document"),
        )
    )


def describe_open_debits(open_debits: OpenDebits) -> str:
    """Return a line with the number of open debits, their tokens and the time of the oldest one."""
    count, tokens = open_debits["count"], open_debits["tokens"]
    debits = format_count(count, "debit is open", "debits are open")
    return f"{debits}: {format_count(tokens, 'token')}, the oldest from {open_debits['calls'][0]['created_at']}"


def _build_zero_counts() -> ProofCounts:
    return {"accounts": 0, "filings": 0, "facts": 0, "ledger_rows": 0, "documents": 0}


def _list_feed_errors(tx: Transaction) -> list[str]:
    """Return one message for each feed whose event numbers have gaps, repeat, or exceed the last one assigned."""
    return [
        f"feed {row['name']}: {format_count(row['number'], 'event')} from {row['first']} to {row['last']}, "
        f"the last given out is {row['last_seq']}"
        for row in tx.list_rows("uneven_feeds")
    ]


def _list_count_errors(tx: Transaction) -> list[str]:
    """Return a message for each filing that lacks facts, and for each table whose row count is not the stored one."""
    rows = tx.list_rows("unequal_facts", id=0, limit=MAX_NAMED_FILINGS + 1)
    errors = [
        f"facts of {row['accession']}: {row['found']} are there, {row['stored']} were stored"
        for row in rows[:MAX_NAMED_FILINGS]
    ]
    if len(rows) > MAX_NAMED_FILINGS:
        errors.append("facts of more filings are not what was stored")
    return errors + [
        f"{row['name'].replace('_', ' ')}: {row['found']} are there, {row['stored']} were stored"
        for row in tx.list_rows("uncounted")
    ]


def _check_documents(db: Database) -> tuple[int, list[str]]:
    """Return the number of stored documents, and one message for each whose content does not match its hash."""
    count = 0
    errors: list[str] = []

    def check_portion(tx: Transaction, last_id: int) -> int | None:
        nonlocal count
        rows = tx.list_rows("bodies_after", id=last_id, limit=DOCUMENTS_PER_PORTION)
        for row in rows:
            count += 1
            try:
                digest = hashlib.sha256(zlib.decompress(row["packed"])).hexdigest()
                if row["sha256"] not in (None, digest):
                    errors.append(f"document of {text_of(row['accession'])}: is not the text that was stored")
            except zlib.error as error:
                errors.append(f"document of {text_of(row['accession'])}: {error}")
        return rows[-1]["id"] if rows else None

    read_in_portions(db, check_portion, 0)
    return count, errors
