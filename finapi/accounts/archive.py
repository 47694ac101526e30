"""Archives of the ledger: old rows are moved to files, and one row per account with their sum stays in the ledger.

A file is complete on disk and recorded before any of its rows is deleted. Then the rows are deleted in small batches.
The same transaction adds their sum to the account's ``carried_over`` row, so a balance is always the sum of its rows.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import logging
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from finapi.app import App
from finapi.core import days, stopping
from finapi.core.clock import iso
from finapi.core.counts import format_count
from finapi.core.files import sync_directory, write_new_file
from finapi.store.db import Transaction

log = logging.getLogger("finapi.archive")

COLUMNS = ("id", "account", "created_at", "delta", "reason", "endpoint", "request_id", "status")
MAX_FILE_ROWS = 100_000  # Rows in one file: about 2 MB, written in a second.
MAX_REMOVED_ROWS = 1_000  # Rows deleted in one transaction. A call may have to wait for it for a few milliseconds.
BATCH_PAUSE_SECONDS = 0.05  # Pause between two transactions that delete rows.
STEP_SECONDS = 60.0
RETRY_SECONDS = 600.0  # Pause after a file could not be written.


def run_archive_step(app: App) -> float:
    """Archive or delete some old rows. Return the seconds until it should run again."""
    now = app.clock.now()
    ledger_days = app.config.ledger_days
    before = iso(now - timedelta(days=ledger_days))[:10] if ledger_days else ""
    oldest = iso(now - timedelta(days=app.config.usage_days))[:10]
    with app.accounts.read() as tx:
        state = tx.find_row("archive_state", today=iso(now)[:10], before=before, closed_to=tx.find_value("closed_to"))
        assert state is not None
        last_chunk_id = tx.find_value("last_id_of_chunk", to=state["archived"], limit=MAX_REMOVED_ROWS)
    if not state["marked"] or (state["oldest"] is not None and state["oldest"] < oldest):
        with app.accounts.write() as tx:
            tx.run("insert_ledger_mark", day=iso(now)[:10])
            tx.run("delete_ledger_marks", before=before, archived=state["archived"])
            tx.run("delete_usage", before=oldest, limit=MAX_REMOVED_ROWS)
    if last_chunk_id is not None:
        # A batched write leaves cached responses valid, which is safe: none of them depends on rows this old.
        app.accounts.write_batched(lambda tx: _carry_over(tx, last_chunk_id), alone=True)
        return BATCH_PAUSE_SECONDS
    if state["due"] <= state["archived"]:
        return STEP_SECONDS
    try:
        return 0.0 if _write_next_file(app, state["archived"], state["due"], now) else STEP_SECONDS
    except OSError as error:
        log.warning("old rows of the ledger cannot be archived: %s", error)
        return RETRY_SECONDS


def _carry_over(tx: Transaction, last_id: int) -> None:
    tx.run("upsert_carried_over", to=last_id)
    tx.run("delete_archived_rows", to=last_id)


def _write_next_file(app: App, last_archived_id: int, last_due_id: int, now: datetime) -> bool:
    """Write the next file and record it. Return False if there is no row to archive."""
    data = io.BytesIO()
    count, last_id, last_at = 0, last_archived_id, ""
    # The same rows always give the same bytes, so a file that an interrupted step has written is recognised.
    with gzip.GzipFile("", "wb", 6, data, 0) as compressed, io.TextIOWrapper(compressed, "utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        while count < MAX_FILE_ROWS:
            stopping.check()  # The next start begins this file again.
            with app.accounts.read() as tx:
                rows = tx.list_rows("ledger_rows_to_archive", after=last_id, to=last_due_id, limit=MAX_REMOVED_ROWS)
            if not rows:
                break
            table.writerows(rows)
            count += len(rows)
            last_id = rows[-1]["id"]
            last_at = max(last_at, *(row["created_at"] for row in rows))
    if not count:
        return False
    name = _write_file(app.config.ledger_directory, f"ledger-{last_at[:10]}-{last_id:012}", data.getvalue())
    values = {"last_id": last_id, "file": name, "rows": count, "last_at": last_at, "now": iso(now)}
    with app.accounts.write() as tx:
        tx.run("insert_ledger_archive", values, sha256=hashlib.sha256(data.getvalue()).hexdigest())
    log.info("archived %d ledger rows up to %s in %s", count, last_at, name)
    return True


def _write_file(directory: Path, stem: str, data: bytes) -> str:
    """Write ``data`` to a file, unless a file with the same bytes exists. Return the file's name.

    A file of this name with other bytes (from before a restore) is not overwritten: the new file's name gets a number.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = directory / f"{stem}{f'-{number}' if number > 1 else ''}.csv.gz"
        try:
            write_new_file(path, data, "ledger")
        except FileExistsError:
            if path.read_bytes() != data:
                continue
        break
    sync_directory(directory)
    return path.name


def list_missing_files(app: App) -> list[str]:
    """Return the names of archive files that are no longer in the archive directory and cannot be checked."""
    with app.accounts.read() as tx:
        return [row["file"] for row in tx.list_rows("ledger_archives") if not _build_path(app, row["file"]).exists()]


def list_errors(app: App) -> list[str]:
    """Return one message for each usage total and each archive that does not agree with the ledger.

    The bytes of an archive must have the hash that was recorded when it was written. The ``carried_over`` amounts are
    checked only if no archive is missing. Usage is checked from the first day for which the ledger is complete and no
    usage total was deleted. That day is computed from the newest ledger mark, not from the current time.
    """
    with app.accounts.read() as tx:
        files = tx.list_rows("ledger_archives")
        archived = tx.find_value("ledger_archived_to") or 0
        carried = {row["account"]: row["tokens"] for row in tx.list_rows("carried_over", to=archived)}
        last_mark = tx.find_value("last_ledger_mark")
        first_usage = days.shift(last_mark, -app.config.usage_days) if last_mark else ""
        after = max(first_usage, (tx.find_value("archived_until") or "")[:10])
        problems = [
            f"{row['email']}: the usage of {row['endpoint']} on {row['day']} is not what the ledger sums to"
            for row in tx.list_rows("unequal_usage", after=after)
        ]
    sums: Counter[str] = Counter()
    has_all_files = not list_missing_files(app)
    for row in files:
        try:
            sums.update(_sum_file(_build_path(app, row["file"]), row["sha256"], row["rows"]))
        except FileNotFoundError:
            has_all_files = False
        except (OSError, EOFError, ValueError) as error:
            has_all_files = False
            problems.append(f"archive {row['file']}: {error}")
    if has_all_files:
        problems += [
            f"account {account}: archived rows sum to {sums[account]}, {tokens} are carried over"
            for account, tokens in carried.items()
            if sums[account] != tokens
        ]
    return problems


def _build_path(app: App, file: str) -> Path:
    return app.config.ledger_directory / file


def _sum_file(path: Path, sha256: str, rows: int) -> Counter[str]:
    """Return the sum of a file's rows for each account. Raise ValueError if the file was changed."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise ValueError("the file has changed since it was written")
    sums: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        table = csv.DictReader(text)
        for row in table:
            sums[row["account"]] += int(row["delta"])
            rows -= 1
    if rows:
        raise ValueError(format_count(rows, "row is missing", "rows are missing"))
    return sums
