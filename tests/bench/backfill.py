"""A backfill of invented companies with files of the sizes of the SEC's, step by step.

    python -m tests.bench.backfill [COMPANIES] [YEARS] [EDGAR]

For each of COMPANIES (500) a companyfacts document and a list of submissions, the real ones at hand renumbered in turn;
then the quarterly data sets of YEARS (10), each the real one of 2009q3 with other days and accession numbers. Prints
the CPU time of a file for every tenth of them, which shows whether the last take longer than the first, with
``json.loads`` of the same bytes (of a data set: splitting its lines) beside it; then what SQLite alone takes to insert
the rows that they became, all of it, and the database's size.

On 2026-11-26, 40 companies and four quarters on a quiet machine: companyfacts 2.6 to 3.8 times, of which inserts 1.8;
submissions 26 to 43 times, of which inserts 12; data sets 20 to 21 times, of which inserts 4; latest years 12 s.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import cycle, islice, pairwise
from pathlib import Path

from finapi import app as apps
from finapi.app import App
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest, latest_years_work

EDGAR = Path(__file__).parents[3] / "shared/edgar"
FIRST_YEAR = 2009
APART = 10_000_019  # between the numbers of filing agents of two companies; real ones are below two million


def of_company(text: str, cik: int) -> bytes:
    """Return a document with another company's number and accession numbers."""

    def moved(number: re.Match[str]) -> str:
        return f'"{(int(number[1]) + cik * APART) % 10**10:010}{number[2]}'

    text = re.sub(r'"cik": ?("?)[0-9]+', rf'"cik":\g<1>{cik}', text, count=1)
    return re.sub(r'"([0-9]{10})(-[0-9]{2}-[0-9]{6}")', moved, text).encode()


def companyfacts(edgar: Path, companies: int) -> Iterator[bytes]:
    """Return documents with filings of each company, formatted as the SEC does."""
    documents = [file.read_text() for file in sorted((edgar / "companyfacts").glob("CIK*.json"))]
    real = [re.sub(r'\n *|(?<=":) ', "", text) for text in documents]
    for cik, text in zip(range(1, companies + 1), cycle(real)):
        yield of_company(text, cik)


def submissions(edgar: Path, companies: int) -> Iterator[bytes]:
    """Return lists of filings with the accession numbers of the companyfacts."""
    real = [file.read_text() for file in sorted((edgar / "submissions").glob("CIK??????????.json"))]
    for cik, text in zip(range(1, companies + 1), cycle(real)):
        yield of_company(text, cik)


def quarters(edgar: Path, companies: int, count: int, folder: Path) -> Iterator[Path]:
    """Write data sets of consecutive quarters."""
    with zipfile.ZipFile(edgar / "fsds/2009q3.zip") as real:
        tables = {name: real.read(name) for name in real.namelist() if name.endswith(".txt")}
    for number in range(count):
        later, file = number // 4, folder / f"{FIRST_YEAR + number // 4}q{number % 4 + 1}.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in tables.items():
                text = re.sub(rb"\b[0-9]{2}([0-9]{8})-[0-9]{2}-", b"%02d\\1-%02d-" % (number + 10, 9 + later), data)
                if name in ("sub.txt", "num.txt"):
                    text = _later(text, later)
                archive.writestr(name, _of(text, companies) if name == "sub.txt" else text)
        yield file


def _later(text: bytes, years: int) -> bytes:
    return re.sub(
        rb"\b(20[01][0-9])(?=[01][0-9][0-3][0-9]\b|-[01][0-9]-|\t)", lambda at: b"%d" % (int(at[1]) + years), text
    )


def _of(text: bytes, companies: int) -> bytes:
    head, *lines = text.splitlines()
    rows = [line.split(b"\t", 2) for line in lines]
    new_rows = [b"\t".join((row[0], b"%d" % (number % companies + 1), row[2])) for number, row in enumerate(rows)]
    return b"\n".join((head, *new_rows, b""))


# The tables that almost all rows of a kind of file are in.
ROWS_IN = {
    "companyfacts": ("facts", "fact_sets"),
    "submissions": ("filings", "filing_parties", "filing_terms"),
    "data sets": ("facts", "fact_sets", "lines", "section_columns", "sections"),
}


def taken(app: App, name: str, files: Iterable[Path], count: int, least: Callable[[Path], object]) -> float:
    """Ingest files a tenth at a time. Return the CPU seconds, and print them for each tenth."""
    assert app.db.path is not None
    before, all_beside = _counted(app.db.path, ROWS_IN[name]), 0.0
    files, total = iter(files), 0.0
    for part in range(10):
        part_size = count * (part + 1) // 10 - count * part // 10
        tenth = list(islice(files, part_size))
        began = time.process_time()
        for file in tenth:
            least(file)
        read_at = time.process_time()
        counts = ingest.run(app, tenth, IngestOptions(), lambda outcome: None)
        spent, read_seconds = time.process_time() - read_at, read_at - began
        assert not counts["refused"], counts
        for file in tenth:
            file.unlink()
        total, all_beside = total + spent, all_beside + read_seconds
        if part_size:
            each, ratio = 1000 * spent / part_size, spent / read_seconds
            print(f"{name:14} {part + 1:2}/10: {each:7.0f} ms a file, {ratio:5.1f} times the least", flush=True)
    bare = _inserted(app.db.path, ROWS_IN[name], before, count)
    print(
        f"{name:14} rows: {1000 * bare / count:7.0f} ms a file, {bare / all_beside:5.1f} times: SQLite's bare inserts"
    )
    return total


def _counted(database: Path, tables: Sequence[str]) -> list[int]:
    with closing(sqlite3.connect(database)) as connection:
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def _inserted(database: Path, tables: Sequence[str], before: Sequence[int], portions: int) -> float:
    """CPU seconds of inserting the rows that tables have beyond so many into empty ones with the same indexes.

    No key refers to another table, nothing is looked up, and each table's rows come in the order of their keys, so many
    ``portions`` in a transaction each: less than this takes no program that stores them in these tables.
    """
    spent = 0.0
    definitions_query = "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND type IN ('table', 'index') AND sql > ''"
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(sqlite3.connect(database)) as source,
        closing(sqlite3.connect(Path(directory, "bare.db"), isolation_level=None)) as bare,
    ):
        bare.executescript("PRAGMA journal_mode=WAL; PRAGMA cache_size=-16384")
        for table, table_rows in zip(tables, before, strict=True):
            for (sql,) in source.execute(definitions_query, [table]).fetchall():
                bare.execute(sql)
            rows = source.execute(f"SELECT * FROM {table}").fetchall()
            insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})"
            cuts = [len(rows) * portion // portions for portion in range(portions + 1)]
            began = time.process_time()
            for first, end in pairwise(cuts):
                bare.execute("BEGIN")
                bare.executemany(insert, rows[first:end])
                bare.execute("COMMIT")
            spent += (time.process_time() - began) * (len(rows) - table_rows) / len(rows)
    return spent


def _written(folder: Path, documents: Iterable[bytes], name: str) -> Iterator[Path]:
    for number, data in enumerate(documents, 1):
        file = folder / name.format(number)
        file.write_bytes(data)
        yield file


def _split(file: Path) -> int:
    with zipfile.ZipFile(file) as tables:
        return sum(len(line.split(b"\t")) for name in tables.namelist() for line in tables.read(name).splitlines())


def main(companies: int, years: int, edgar: Path) -> None:
    """Write and store everything."""

    def loads(file: Path) -> object:
        return json.loads(file.read_bytes())

    with tempfile.TemporaryDirectory() as directory:
        data, files = Path(directory, "data"), Path(directory, "files")
        data.mkdir(mode=0o700)
        files.mkdir()
        app = apps.open_on_disk(Config(data_dir=data))
        began = time.perf_counter()
        facts = _written(files, companyfacts(edgar, companies), "CIK{:010}.json")
        spent = taken(app, "companyfacts", facts, companies, loads)
        lists = _written(files, submissions(edgar, companies), "CIK{:010}.json")
        spent += taken(app, "submissions", lists, companies, loads)
        spent += taken(app, "data sets", quarters(edgar, companies, 4 * years, files), 4 * years, _split)
        before = time.process_time()
        latest_years_work.compute_all_latest_years(app)
        latest = time.process_time() - before
        with app.db.read() as tx:
            counts = dict(tx.find_row("held") or {})
        app.db.close()
        size = (data / "finapi.db").stat().st_size
    print(f"latest years: {latest:.0f} s of CPU")
    print(
        f"{counts['companies']:,} companies, {counts['filings']:,} filings, {counts['facts']:,} facts "
        f"in {size / 1e9:.2f} GB"
    )
    print(f"{(spent + latest) / 60:.1f} min of CPU, {(time.perf_counter() - began) / 60:.1f} min with making the files")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        int(arguments[0]) if arguments else 500,
        int(arguments[1]) if arguments[1:] else 10,
        Path(arguments[2]) if arguments[2:] else EDGAR,
    )
