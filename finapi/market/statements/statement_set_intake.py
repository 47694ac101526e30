"""Ingesting a quarter of the SEC's Financial Statement Data Sets.

A quarter consists of four tables: ``sub`` (one row for each filing), ``num`` (the figures), ``pre`` (the lines of the
statements) and ``tag`` (the elements). ``num`` has up to a gigabyte, and the rows of one filing may be anywhere in it.
To bound memory, the rows of ``num`` and ``pre`` are first distributed over temporary files by a hash of the accession
number, so that each file has all rows of some filings and is small enough to be read into memory. The filings of a file
are stored in batches, one transaction for each batch. ``statement_set_report.py`` builds the report of each filing.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from finapi.app import App
from finapi.core import stopping
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.edgar import statement_sets
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.edgar.statement_sets import DataSetTable, SubRow, TagRow
from finapi.market.documents import outcomes
from finapi.market.documents.metadata import INDEX_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import MIB, Document, Entry
from finapi.market.reference import companies
from finapi.market.statements import report_store
from finapi.market.statements.fact_sets import KnownIds
from finapi.market.statements.filed_report import Report
from finapi.market.statements.statement_set_report import build_report
from finapi.store import heartbeats
from finapi.store.db import Transaction

SUB, NUM, PRE, TAG = "fsds-sub", "fsds-num", "fsds-pre", "fsds-tag"

# The size that temporary files should have on average: a table is distributed over as many files as this requires.
PART_BYTES = 8 * MIB
# A larger temporary file means that one filing has more rows than any real filing.
MAX_PART_BYTES = 48 * MIB
MAX_OPEN_FILES = 128
# Filings stored in one transaction; other writers wait some 40 ms for it. With a commit for each filing a third of the
# time would be spent on commits.
FILINGS_PER_TRANSACTION = 20

MAX_LISTED_REFUSALS = 20


class IngestResult(NamedTuple):
    """The outcome of a filing: ``stored`` is None if it was refused (for ``reason``), False if it was stored before."""

    accession: str
    stored: bool | None
    reason: str | None = None


def ingest_quarter(app: App, documents: Sequence[Document], only: Set[int] | None = None) -> Iterator[Outcome]:
    """Store the filings of a quarter, given as its tables, or only those of some companies (by CIK).

    Yield an outcome for each table and for each of the first refused filings.
    """
    tables = {document.kind: document.entry for document in documents}
    problem = None
    if len(tables) < len(documents):
        problem = "two tables of the same kind are in one folder"
    elif SUB not in tables or NUM not in tables:
        problem = "the tables sub and num of a data set belong together, and one is missing"
    counts: Counter[bool | None] = Counter()
    if problem is None:
        try:
            for result in ingest_filings(app, tables, only):
                counts[result.stored] += 1
                if result.stored is None and counts[None] <= MAX_LISTED_REFUSALS:
                    yield Outcome(tables[NUM].path, NUM, "refused", result.reason, result.accession)
        except ParseError as error:
            problem = str(error)
    summary = f"{format_count(counts.total(), 'filing')}: {counts[True]} ingested, {counts[False]} stored already"
    if counts[None]:
        summary += f", {counts[None]} refused"
    for document in documents:
        if problem:
            yield outcomes.refuse(document, problem.removeprefix(f"{document.path}: "))
        else:
            yield outcomes.accept(document, counts[True] > 0, summary)


def ingest_filings(app: App, tables: Mapping[str, Entry], only: Set[int] | None = None) -> Iterator[IngestResult]:
    """Store the filings of a quarter, or only those of some companies, and yield the result of each.

    ``tables`` are by kind. ``tag`` and ``pre`` may be missing: without ``tag`` no line has a balance, without ``pre``
    there are figures but no statements. Raise ParseError if a table cannot be read.
    """
    filings: dict[bytes, SubRow] = {}
    for filing in statement_sets.iter_submissions(_open_table(tables, SUB, statement_sets.SUB_COLUMNS)):
        if only is None or filing.cik in only:
            filings[filing.accession.encode()] = filing
    if not filings:
        return
    builder = _ReportBuilder(tables)
    largest_bytes = max(tables[kind].size for kind in (NUM, PRE) if kind in tables)
    file_count = min(MAX_OPEN_FILES, 1 + largest_bytes // PART_BYTES)
    done_count = 0
    # The database's folder has enough space, and the next start deletes what a killed process leaves there.
    database_folder = app.db.path and app.db.path.parent
    sweep(database_folder)
    with TemporaryFolder("ingest", database_folder) as folder:
        files_by_table = [
            _distribute_rows(table, folder / str(number), file_count, filings)
            for number, table in enumerate(builder.tables)
        ]
        for file_index in range(file_count):
            rows_by_table = [
                _read_rows_by_filing(table, files[file_index])
                for table, files in zip(builder.tables, files_by_table, strict=True)
            ]
            accessions = sorted(set().union(*rows_by_table))
            for start in range(0, len(accessions), FILINGS_PER_TRANSACTION):
                stopping.check()
                batch = []
                for accession in accessions[start : start + FILINGS_PER_TRANSACTION]:
                    filing = filings[accession]
                    filing_rows = [rows.get(accession, b"") for rows in rows_by_table]
                    batch.append((filing, builder.build_or_refuse(filing, filing_rows)))
                yield from _store_batch(app, batch)
                done_count += len(batch)
                tables[SUB].report_progress("filings", done_count, len(filings))


def _open_table(tables: Mapping[str, Entry], kind: str, columns: Sequence[str]) -> DataSetTable:
    return DataSetTable(tables[kind].iter_lines(), tables[kind].path, columns)


def _distribute_rows(table: DataSetTable, stem: Path, file_count: int, filings: Mapping[bytes, SubRow]) -> list[Path]:
    """Write the rows of a table to files, all rows of a filing to the same file. Return the files.

    A file consists of blocks: a line with accession number and number of bytes, then that number of bytes of rows.
    """
    files = [stem.with_suffix(f".{index}") for index in range(file_count)]
    with ExitStack() as stack:
        streams = [stack.enter_context(file.open("wb")) for file in files]
        for batch in table.iter_batches(filings, PART_BYTES):
            for accession, lines in batch.items():
                if lines:
                    rows = b"\n".join(lines) + b"\n"
                    stream = streams[zlib.crc32(accession) % file_count]
                    stream.write(b"%b %d\n%b" % (accession, len(rows), rows))
    return files


def _read_rows_by_filing(table: DataSetTable, file: Path) -> dict[bytes, bytes]:
    """Read and delete a file of :func:`_distribute_rows`. Return the rows by accession number."""
    if file.stat().st_size > MAX_PART_BYTES:
        raise ParseError(table.file, "", "has more rows for one filing than any real filing")
    blocks: dict[bytes, list[bytes]] = {}
    with file.open("rb") as stream:
        while header := stream.readline():
            accession, row_bytes = header.split()
            blocks.setdefault(accession, []).append(stream.read(int(row_bytes)))
    file.unlink()
    return {accession: b"".join(filing_blocks) for accession, filing_blocks in blocks.items()}


class _ReportBuilder:
    """A builder of reports from the rows of ``num`` and, if that table exists, ``pre``."""

    def __init__(self, tables: Mapping[str, Entry]) -> None:
        elements: Mapping[tuple[str, str], TagRow] = {}
        if TAG in tables:
            elements = dict(statement_sets.iter_elements(_open_table(tables, TAG, statement_sets.TAG_COLUMNS)))
        num = _open_table(tables, NUM, statement_sets.NUM_COLUMNS)
        self.tables = [num]
        self._num_reader = statement_sets.NumReader(num, elements)
        self._pre_reader = None
        if PRE in tables:
            pre = _open_table(tables, PRE, statement_sets.PRE_COLUMNS)
            self.tables.append(pre)
            self._pre_reader = statement_sets.PreReader(pre, elements)

    def build_or_refuse(self, filing: SubRow, rows: Sequence[bytes]) -> Report | ParseError:
        """Return the report of a filing, or the error if its rows are invalid.

        ``rows`` are the filing's rows in ``num`` and, if that table exists, in ``pre``.
        """
        try:
            lines_by_table = [
                table.decode_lines(table_rows) if table_rows else []
                for table, table_rows in zip(self.tables, rows, strict=True)
            ]
            figures = self._num_reader.read_figures(lines_by_table[0])
            statement_lines = self._pre_reader.read_lines(lines_by_table[1]) if self._pre_reader else []
            digest = _compute_digest(filing, lines_by_table)
            return build_report(filing, figures, statement_lines, self.tables[0].file, digest)
        except ParseError as error:
            return error


def _compute_digest(filing: SubRow, lines_by_table: Sequence[list[str]]) -> bytes:
    """Return the SHA-256 of a filing's rows, which does not depend on their order."""
    lines = sorted(line for lines in lines_by_table for line in lines)
    text = repr(filing) + "\n".join([*lines, ""])
    return hashlib.sha256(text.encode()).digest()


def _store_batch(app: App, batch: Sequence[tuple[SubRow, Report | ParseError]]) -> Iterator[IngestResult]:
    """Store filings in one transaction. Yield their results after the commit."""
    now = app.clock.now()
    known_ids: KnownIds = {}
    results = []
    with app.db.write() as tx:
        for filing, report in batch:
            if isinstance(report, ParseError):
                results.append(IngestResult(filing.accession, None, outcomes.format_reason(report)))
            else:
                results.append(IngestResult(filing.accession, _store_filing(tx, filing, report, now, known_ids)))
    yield from results


def _store_filing(tx: Transaction, filing: SubRow, report: Report, now: datetime, known_ids: KnownIds) -> bool:
    """Store a filing's report and its company's attributes. Return False if the report was stored already."""
    filed = FilingMetadata(
        filing.accession, INDEX_EVIDENCE, form=filing.form, filed_at=filing.filed, accepted_at=filing.accepted
    )
    is_new = report_store.upsert_report(tx, report, filed, now, known_ids)
    attributes = CompanyAttributes(sic=filing.sic, fiscal_year_end=filing.fiscal_year_end, state=filing.state)
    companies.update_attributes(tx, filing.cik, attributes, 0, filing.filed)
    if is_new:
        heartbeats.record_arrival(tx, "xbrl_run", now)
    return is_new
