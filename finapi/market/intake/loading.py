"""Initial load of real data: the SEC's bulk files for many companies, or the documents of a few.

For up to :data:`MAX_COMPANIES_WITHOUT_BULK_FILES` companies, their lists, facts and reports are fetched one by one. For
more, the bulk files contain less data for each company: submissions.zip, companyfacts.zip and the quarterly financial
statement data sets, of which only the chosen companies are stored.

A load can be resumed by the same command. A bulk file is fetched in ranges into ``load/`` of the data directory and
stays there until it is stored; its version is recorded, so that a file that changed meanwhile is fetched again. The
table ``loaded`` records the companies for which each file was stored.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from finapi.app import App
from finapi.core import stopping
from finapi.core.clock import iso
from finapi.core.counts import format_count
from finapi.core.errors import ApiError, ParseError, UsageError
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import MIB
from finapi.market.intake import fetch_queue, ingest
from finapi.market.intake.gateway import BackOffError, FetchResult, Gateway
from finapi.market.intake.poller import Poller, get_company_cik

TICKERS_PATH = "/files/company_tickers.json"
SUBMISSIONS_PATH = "/Archives/edgar/daily-index/bulkdata/submissions.zip"
COMPANYFACTS_PATH = "/Archives/edgar/daily-index/xbrl/companyfacts.zip"
DATA_SET_PATH = "/files/dera/data/financial-statement-data-sets/{year}q{quarter}.zip"
FIRST_YEAR = 2009

# Companies up to which documents are fetched one by one: forty reports of a company have 80 MB together, ten years of
# bulk files 5 GB.
MAX_COMPANIES_WITHOUT_BULK_FILES = 50
REPORT_FORMS = ("10-K", "10-KT", "10-Q", "10-QT", "20-F", "40-F")

RANGE_BYTES = 8 * MIB  # Size of one request: a connection that breaks loses no more.
MAX_TRIES = 6  # Tries of one request.
RETRY_SECONDS = 15  # After the first try, doubled for each further one, if EDGAR does not state a time.
BULK_FILE_MAX_AGE = timedelta(
    days=7
)  # A loaded bulk file is not fetched again for this time. The SEC rebuilds it every night.

# For the estimate, measured on one core of a small host (docs/OPERATIONS.md).
BYTES_PER_SECOND = 5_000_000
COMPANY_SECONDS = 0.5  # For the facts of a company.
FILING_SECONDS = 0.04  # For a filing of a data set.
TABLE_SECONDS = 7.0  # For reading the tables of a quarter's data set.
FILINGS_A_YEAR = 4
REPORT_BYTES = 2_000_000

_RESUME_HINT = "run the same command again to continue"

Reply = TypeVar("Reply")


class _RetryError(Exception):
    """A failed request that is to be repeated."""


@dataclass(frozen=True, slots=True)
class BulkFile:
    """A bulk file that is to be stored for the companies ``ciks``; ``version`` changes with its content."""

    path: str
    size: int
    version: str
    ciks: frozenset[int]

    @property
    def name(self) -> str:
        """Return the file name."""
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class LoadPlan:
    """The files that a load has to fetch, or the companies of ``document_ciks`` whose documents it has to fetch."""

    company_count: int
    years: int
    files: list[BulkFile] = field(default_factory=list)
    document_ciks: Sequence[int] = ()
    missing: list[str] = field(default_factory=list)

    @property
    def reports(self) -> int:
        """Return the approximate number of filings."""
        return self.company_count * self.years * FILINGS_A_YEAR

    @property
    def size(self) -> int:
        """Return the number of bytes to fetch, approximate for documents."""
        document_count = len(self.document_ciks) * self.years * FILINGS_A_YEAR
        return sum(file.size for file in self.files) + document_count * REPORT_BYTES

    @property
    def requests(self) -> int:
        """Return the approximate number of requests."""
        file_requests = sum(1 + file.size // RANGE_BYTES for file in self.files)
        return file_requests + len(self.document_ciks) * (3 + self.years * FILINGS_A_YEAR)

    @property
    def seconds(self) -> float:
        """Return the approximate duration."""
        return (
            self.size / BYTES_PER_SECOND
            + self.company_count * COMPANY_SECONDS
            + self.reports * FILING_SECONDS
            + len(self.files) * TABLE_SECONDS
        )


class Loader:
    """A loader of EDGAR's files into a store.

    ``report`` is called with the outcome of each file, ``report_progress`` during the work. ``wait`` is called with the
    seconds that EDGAR requires before the next request, and the reason.
    """

    def __init__(
        self,
        app: App,
        gateway: Gateway,
        *,
        wait: Callable[[float, str], None],
        report: Callable[[Outcome], None],
        report_progress: ingest.FileProgressCallback,
    ) -> None:
        self._app = app
        self._gateway = gateway
        self._wait = wait
        self._report = report
        self._report_progress = report_progress
        self._poller = Poller(app, gateway, interval_seconds=86_400.0, logs_documents=False)

    def choose_companies(self, texts: Sequence[str], top: int) -> tuple[list[int], list[str]]:
        """Return the CIKs of companies, and the texts that do not name a company.

        The companies are those given by ticker or CIK and the first ``top`` of the SEC's list of tickers, which is
        fetched first if it changed.
        """
        fetched = self._request(lambda: self._gateway.get("www", TICKERS_PATH, conditional=True, may_fail=True))
        self._ingest_fetched(TICKERS_PATH.rpartition("/")[2], fetched)
        ciks_by_text, unknown_texts = resolve_companies(self._app, texts)
        with self._app.db.read() as tx:
            top_ciks = [row["cik"] for row in tx.list_rows("companies_by_list_place", limit=top)]
        return list(dict.fromkeys([*ciks_by_text.values(), *top_ciks])), unknown_texts

    def build_plan(self, ciks: Sequence[int], years: int) -> LoadPlan:
        """Return the files to fetch for these companies, whose sizes are requested from EDGAR."""
        plan = LoadPlan(len(ciks), years)
        if len(ciks) <= MAX_COMPANIES_WITHOUT_BULK_FILES and not self._is_local_file(COMPANYFACTS_PATH):
            plan.document_ciks = ciks
            return plan
        now = self._app.clock.now()
        fresh_since = iso(now - BULK_FILE_MAX_AGE)
        since_by_path = {SUBMISSIONS_PATH: fresh_since, COMPANYFACTS_PATH: fresh_since}
        for path in list_data_set_paths(now, years):
            since_by_path[path] = ""  # The data set of a quarter does not change.
        for path, since in since_by_path.items():
            with self._app.db.read() as tx:
                loaded_ciks = {row["cik"] for row in tx.list_rows("ciks_loaded_since", path=path, since=since)}
            missing_ciks = frozenset(ciks) - loaded_ciks
            if not missing_ciks:
                continue
            file = self._find_bulk_file(path, missing_ciks)
            if file is not None:
                plan.files.append(file)
            else:
                plan.missing.append(path)
        return plan

    def run(self, plan: LoadPlan) -> None:
        """Fetch and store the files of a plan. Raise UsageError if the disk has too little room."""
        self._check_room(plan)
        for number, file in enumerate(plan.files, 1):
            label = f"{number} of {len(plan.files)} {file.name}"
            self._store_file(file, self._fetch_file(file, label), label)
        if plan.document_ciks:
            self._load_documents(plan)
        shutil.rmtree(self._app.config.data_dir / "load", ignore_errors=True)

    # ---- bulk files

    def _is_local_file(self, path: str) -> bool:
        """Return True if an archive directory has this bulk file; reading it is cheaper than reading documents."""
        local_file = self._gateway.find_local_file(path)
        return local_file is not None and local_file.is_file()

    def _find_bulk_file(self, path: str, ciks: frozenset[int]) -> BulkFile | None:
        local_file = self._gateway.find_local_file(path)
        if local_file is not None:
            return BulkFile(path, local_file.stat().st_size, "", ciks) if local_file.is_file() else None
        first_byte = self._request(lambda: self._gateway.get_range("www", path, 0, 1, None))
        if first_byte.kind == "missing":
            return None
        if not first_byte.total_bytes:
            raise UsageError(
                f"{first_byte.url}: its host does not support byte ranges; download the files and use --base-url FOLDER"
            )
        version = first_byte.etag or first_byte.last_modified or ""
        return BulkFile(path, first_byte.total_bytes, version, ciks)

    def _check_room(self, plan: LoadPlan) -> None:
        fetched_files = [file for file in plan.files if self._gateway.find_local_file(file.path) is None]
        largest = max((file.size for file in fetched_files), default=0)
        free_bytes = shutil.disk_usage(self._app.config.data_dir)[2]
        if largest > free_bytes:
            raise UsageError(
                f"{self._app.config.data_dir} has {free_bytes // MIB:,} MiB free; {largest // MIB:,} MiB are needed"
            )

    def _fetch_file(self, file: BulkFile, label: str) -> Path:
        """Return the complete file, continuing an earlier download of the same version."""
        local_file = self._gateway.find_local_file(file.path)
        if local_file is not None:
            return local_file
        target = self._app.config.data_dir / "load" / file.name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        state_name = f"load {file.path}"
        version = f"{file.size} {file.version}"
        with self._app.db.write() as tx:
            if tx.find_value("poll_state", name=state_name) != version:
                target.unlink(missing_ok=True)
                tx.run("upsert_poll_state", name=state_name, value=version)
        with target.open("ab") as stream:
            while stream.tell() < file.size:
                self._append_range(stream.tell(), file, stream.write)
                stream.flush()
                self._report_progress(label, "bytes", stream.tell(), file.size)
        return target

    def _append_range(self, start: int, file: BulkFile, write: Callable[[bytes], int]) -> None:
        """Fetch the next range of a file. Raise ApiError UNAVAILABLE if the file has changed."""
        size = min(RANGE_BYTES, file.size - start)
        fetched = self._request(lambda: self._gateway.get_range("www", file.path, start, size, file.version or None))
        if fetched.kind != "found" or fetched.total_bytes != file.size or len(fetched.body) != size:
            raise ApiError("UNAVAILABLE", f"{fetched.url} changed while it was fetched; {_RESUME_HINT}")
        write(fetched.body)

    def _store_file(self, file: BulkFile, local_path: Path, label: str) -> None:
        """Ingest a bulk file, and record the companies for which it is stored."""
        is_damaged = False
        done_count = 0

        def report(outcome: Outcome) -> None:
            nonlocal is_damaged, done_count
            company_cik = _find_company_cik(outcome.path)
            is_unreadable = outcome.retry or "cannot be unpacked" in (outcome.reason or "") or company_cik is None
            if outcome.outcome == "refused" and is_unreadable:
                # Single invalid filings of a data set have an accession number; they do not damage the file.
                is_damaged |= outcome.accession is None
            elif company_cik is not None:
                self._mark_loaded(file.path, [company_cik])
                done_count += 1
                self._report_progress(label, "companies", done_count, len(file.ciks))
            self._report(outcome)

        def report_progress(path: str, unit: str, done: int, total: int) -> None:
            self._report_progress(label, unit, done, total)

        ingest.run(self._app, [local_path], IngestOptions(only_ciks=file.ciks), report, report_progress)
        if not is_damaged:
            self._mark_loaded(file.path, sorted(file.ciks))
        if self._gateway.find_local_file(file.path) is None:
            # Delete a damaged file too: it is fetched again the next time.
            local_path.unlink(missing_ok=True)
            with self._app.db.write() as tx:
                tx.run("delete_poll_state", name=f"load {file.path}")

    def _mark_loaded(self, path: str, ciks: Sequence[int]) -> None:
        with self._app.db.write() as tx:
            for cik in ciks:
                tx.run("upsert_loaded", path=path, cik=cik, now=iso(self._app.clock.now()))

    # ---- the documents of a few companies

    def _load_documents(self, plan: LoadPlan) -> None:
        for number, cik in enumerate(plan.document_ciks, 1):
            self._load_list_and_facts(cik, plan.years)
            self._report_progress("lists and facts", "companies", number, len(plan.document_ciks))
        with self._app.db.read() as tx:
            due_count = fetch_queue.count_due_documents(tx, self._app.clock.now())
        counts = self._poller.counts

        def report_progress() -> None:
            done_count = counts.documents + counts.refused + counts.put_off
            self._report_progress("reports", "filings", done_count, due_count)

        self._retry(lambda: self._poller.fetch_due_documents(report_progress))
        if counts.documents:
            self._report(Outcome("reports", "full-submission", "ingested", format_count(counts.documents, "report")))
        self._report_failed_documents(frozenset(plan.document_ciks))

    def _report_failed_documents(self, ciks: frozenset[int]) -> None:
        """Report each document of these companies that could not be fetched or stored, also in an earlier load."""
        with self._app.db.read() as tx:
            rows = fetch_queue.list_failed_documents(tx)
        for row in rows:
            if int(row["cik"]) not in ciks:
                continue
            accession = row["accession"]
            if row["state"] == "given_up":
                advice = f"it is not tried again; to try: finapi documents retry {accession}"
            else:
                advice = f"a load or poll after {row['next_try_at'][:16].replace('T', ' ')} UTC tries again"
            reason = f"{row['form']}: {row['reason']}; {advice}"
            self._report(Outcome(accession, "full-submission", "refused", reason, accession))

    def _load_list_and_facts(self, cik: int, years: int) -> None:
        """Store a company's list of filings and its facts, and queue its reports. Report a list that is invalid."""
        name = f"CIK{cik:010}.json"
        try:
            fetched_list = self._retry(lambda: self._poller.read_list(cik))
        except ParseError as error:
            self._report(Outcome(error.file, "submissions", "refused", error.reason))
            return
        path = f"/api/xbrl/companyfacts/{name}"
        facts = self._request(lambda: self._gateway.get("data", path, conditional=True, may_fail=True))
        self._ingest_fetched(name, facts)
        with self._app.db.write() as tx:
            fetched_list.store_validators(tx)
            fetch_queue.queue_recent_filings(tx, self._app.clock.now(), cik, round(365.25 * years), REPORT_FORMS)

    def _ingest_fetched(self, name: str, fetched: FetchResult) -> None:
        if fetched.kind == "found":
            document_outcomes = ingest.ingest_document(
                self._app, name, fetched.body, lambda tx, outcomes: fetched.store_validators(tx)
            )
            for outcome in document_outcomes:
                self._report(outcome)
        elif fetched.kind != "unchanged":
            self._report(Outcome(fetched.url, "unknown", "skipped", "does not exist"))

    # ---- requests

    def _request(self, send: Callable[[], FetchResult]) -> FetchResult:
        """Return the result of a request, repeated if EDGAR fails for its path."""

        def send_or_raise() -> FetchResult:
            fetched = send()
            if fetched.kind in ("busy", "failed"):
                raise _RetryError(fetched.reason)
            return fetched

        return self._retry(send_or_raise)

    def _retry(self, send: Callable[[], Reply]) -> Reply:
        """Return the result of ``send``, repeated up to :data:`MAX_TRIES` times after the waits that EDGAR requires.

        Raise ApiError UNAVAILABLE if all tries fail.
        """
        reason = ""
        for attempt in range(MAX_TRIES):
            stopping.check()
            try:
                return send()
            except _RetryError as error:
                reason = str(error)
                seconds = float(RETRY_SECONDS << attempt)
            except BackOffError as error:
                reason = error.reason
                seconds = (error.until - self._app.clock.now()).total_seconds()
            if attempt < MAX_TRIES - 1:
                self._wait(max(seconds, 1.0), reason)
        raise ApiError("UNAVAILABLE", f"EDGAR does not answer: {reason}; {_RESUME_HINT}")


def _find_company_cik(path: str) -> int | None:
    """Return the CIK of a member of a bulk file that is named after one (``submissions.zip!CIK0000320193.json``)."""
    digits = Path(path.rpartition("!")[2]).stem.removeprefix("CIK")
    return int(digits) if len(digits) == 10 and digits.isdigit() else None


def resolve_companies(app: App, texts: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return the CIK of each text that is a ticker or CIK, and the texts that are neither."""
    ciks_by_text: dict[str, int] = {}
    unknown_texts: list[str] = []
    for text in texts:
        try:
            ciks_by_text[text] = get_company_cik(app, text)
        except ApiError:
            unknown_texts.append(text)
    return ciks_by_text, unknown_texts


def list_data_set_paths(now: datetime, years: int) -> list[str]:
    """Return the paths of the data sets of the quarters that ended in the last ``years``, newest first."""
    today = now.date()
    quarter_start_month = (today.month - 1) // 3 * 3 + 1
    oldest = max(date(today.year - years, quarter_start_month, 1), date(FIRST_YEAR, 1, 1))
    paths = []
    year = today.year
    quarter = (today.month - 1) // 3 + 1
    while (year, 3 * quarter - 2) > (oldest.year, oldest.month):
        if quarter > 1:
            quarter -= 1
        else:
            year -= 1
            quarter = 4
        paths.append(DATA_SET_PATH.format(year=year, quarter=quarter))
    return paths
