"""``finapi load`` of made-up companies from a stand-in of EDGAR's bulk files, in commands that follow each other.

    python -m tests.bench.archive [COMPANIES] [YEARS] [COMMANDS] [EDGAR]

An archive directory for COMPANIES (500) is made of the documents at hand: their companyfacts and lists of filings
renumbered in turn, and for each quarter of YEARS (10) the data set of 2009q3 with other days. The filings of a quarter
are those that companyfacts name, as at the SEC, so that what both tell is settled too. Then COMMANDS (5) loads follow,
each of so many companies more. Prints of each the wall and CPU time, peak memory and the database's size; a last line
tells what all of it holds. The SEC's own quarters have rows of thousands of other companies beside: ``passing over``
says how many bytes of such rows a second of CPU reads.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path

from finapi.app import open_on_disk
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest, loading
from tests.bench import backfill
from tests.bench.metered import ROOT

PERIODIC = ("10-K", "10-Q")


def filed(edgar: Path) -> list[dict[str, str]]:
    """Return the accession number of each companyfacts document's report of a quarter."""
    filings = []
    for file in sorted((edgar / "companyfacts").glob("CIK*.json")):
        of_quarter: dict[str, str] = {}
        for taxonomy in json.loads(file.read_bytes())["facts"].values():
            for concept in taxonomy.values():
                for row in (row for rows in concept["units"].values() for row in rows if row["form"] in PERIODIC):
                    of_quarter[f"{row['filed'][:4]}q{(int(row['filed'][5:7]) + 2) // 3}"] = row["accn"]
        filings.append(of_quarter)
    return filings


def make(edgar: Path, folder: Path, companies: int, years: int, now: float) -> None:
    """Write the bulk files of the companies where ``--base-url`` expects them."""
    members = {
        str(cik): {"cik_str": cik, "ticker": f"T{cik}", "title": f"COMPANY {cik}"} for cik in range(1, companies + 1)
    }
    _place(folder, loading.TICKERS_PATH).write_text(json.dumps(members))
    _zipped(_place(folder, loading.COMPANYFACTS_PATH), "CIK{:010}.json", backfill.companyfacts(edgar, companies))
    _zipped(_place(folder, loading.SUBMISSIONS_PATH), "CIK{:010}.json", backfill.submissions(edgar, companies))
    with zipfile.ZipFile(edgar / "fsds/2009q3.zip") as real:
        tables = {name: real.read(name) for name in real.namelist() if name.endswith(".txt")}
    reports = list(islice(cycle(filed(edgar)), companies))
    for path in loading.list_data_set_paths(_moment(now), years):
        name = path.rpartition("/")[2].removesuffix(".zip")
        with zipfile.ZipFile(_place(folder, path), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for table, data in _quarter(tables, name, reports).items():
                archive.writestr(table, data)


def _quarter(tables: dict[str, bytes], name: str, reports: list[dict[str, str]]) -> dict[str, bytes]:
    """Return the tables of 2009q3 as those of another quarter, with one filing for each company."""
    later = int(name[:4]) - 2009
    _, *rows = tables["sub.txt"].splitlines()
    numbers: dict[bytes, bytes] = {}
    of_company: dict[bytes, bytes] = {}
    for cik, row in zip(range(1, len(reports) + 1), rows, strict=False):
        new_accession = f"{cik:010}-{name[2:4]}-9{name[2:4]}{name[5]}00"
        report = reports[cik - 1].get(name)
        accession = f"{cik:010}{report[10:]}" if report else new_accession
        old = row.split(b"\t", 1)[0]
        numbers[old], of_company[old] = accession.encode(), b"%d" % cik
    new_tables = {}
    for table, data in tables.items():
        if table != "tag.txt":
            head, body = data.split(b"\n", 1)
            body = b"\n" + body
            if table == "sub.txt":
                body = re.sub(
                    rb"\n([0-9-]{20})\t([0-9]+)", lambda at: b"\n%b\t%b" % (at[1], of_company.get(at[1], at[2])), body
                )
            body = re.sub(rb"(?<=\n)[0-9-]{20}", lambda at: numbers.get(at[0], at[0]), body)
            if table != "pre.txt":
                body = re.sub(rb"\b(20[0-9]{2})0229\b", rb"\g<1>0228", backfill._later(body, later))
            data = head + body
        new_tables[table] = data
    return new_tables


def _place(folder: Path, path: str) -> Path:
    file = folder / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _zipped(file: Path, name: str, documents: Iterable[bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, document in enumerate(documents, 1):
            archive.writestr(name.format(number), document)


def _moment(now: float) -> loading.datetime:
    return loading.datetime.fromtimestamp(now, loading.datetime.now().astimezone().tzinfo)


def loaded(archive: Path, data: Path, companies: int, years: int) -> Iterator[str]:
    """Load the first ``companies``. Return the time."""
    names = data.parent / "companies"
    names.write_text("".join(f"{cik}\n" for cik in range(1, companies + 1)))
    words = ["load", "--companies", str(names), "--years", str(years), "--base-url", str(archive), "--json"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "run.py", *words, "--data-dir", str(data)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = json.loads(done.stdout)["counts"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(file.stat().st_size for file in data.glob("finapi.db*"))
    yield (
        f"{companies:5,} companies: {wall / 60:5.1f} min, {cpu / 60:5.1f} min of CPU, peak {after.ru_maxrss >> 10} MB, "
        f"database {size / 1e9:.2f} GB; {counts['ingested']:,} ingested, {counts['refused']:,} refused"
    )


def passed_over(edgar: Path, data: Path) -> float:
    """Return the bytes of other companies' rows that are read in a CPU second."""
    file = edgar / "fsds/2009q3.zip"
    with zipfile.ZipFile(file) as tables:
        size = sum(tables.getinfo(name).file_size for name in ("num.txt", "pre.txt"))
        smallest = min(tables.read("sub.txt").splitlines()[1:], key=len).split(b"\t")
    app = open_on_disk(Config(data_dir=data))
    began = time.process_time()
    ingest.run(app, [file], IngestOptions(only_ciks=frozenset({int(smallest[1])})), lambda outcome: None)
    spent = time.process_time() - began
    app.db.close()
    return size / spent


def main(companies: int, years: int, commands: int, edgar: Path) -> None:
    """Write the archive and load it."""
    with tempfile.TemporaryDirectory(prefix="finapi-archive-") as directory:
        archive, data, other = (Path(directory, name) for name in ("archive", "data", "other"))
        data.mkdir(mode=0o700)
        other.mkdir(mode=0o700)
        began = time.perf_counter()
        make(edgar, archive, companies, years, time.time())
        files = [file for file in archive.rglob("*") if file.is_file()]
        size = sum(map(os.path.getsize, files))
        print(f"{len(files)} files of {size / 1e6:,.0f} MB made in {time.perf_counter() - began:.0f} s", flush=True)
        for number in range(1, commands + 1):
            for line in loaded(archive, data, companies * number // commands, years):
                print(line, flush=True)
        app = open_on_disk(Config(data_dir=data))
        with app.db.read() as tx:
            counts = dict(tx.find_row("held") or {})
        app.db.close()
        print(f"{counts['companies']:,} companies, {counts['filings']:,} filings, {counts['facts']:,} facts")
        print(f"passing over: {passed_over(edgar, other) / 1e6:.0f} MB a second of CPU")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    numbers = [int(text) for text in arguments[:3]] + [500, 10, 5][len(arguments[:3]) :]
    main(numbers[0], numbers[1], numbers[2], Path(arguments[3]) if arguments[3:] else backfill.EDGAR)
