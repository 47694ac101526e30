"""Real data from nothing: the SEC's bulk files for many companies, the documents of a few; fetched, stored, resumable.

A file lies in ``load/`` of the data directory while it is fetched, part by part, and until it is stored; a row says of
which companies it was. Whatever cuts a load off, the same command goes on from there.
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

# Forty reports of a company come to 80 MB, ten years of the bulk files to 5 GB.
MAX_BY_DOCUMENT = 50
REPORT_FORMS = ("10-K", "10-KT", "10-Q", "10-QT", "20-F", "40-F")

RANGE_BYTES = 8 * MIB  # bytes asked for at once: a connection that breaks loses no more
MAX_TRIES = 6  # of one question in a row, the waits that EDGAR asks for between them
RETRY_SECONDS = 15  # seconds, doubled each time, when it asks for none
FRESH_FOR = timedelta(days=7)  # before a file that the SEC makes anew every night is fetched again

# For the estimate: measured on one core of a small host (docs/OPERATIONS.md).
BYTES_PER_SECOND = 5_000_000
COMPANY_SECONDS, FILING_SECONDS, TABLE_SECONDS = 0.5, 0.04, 7.0  # facts; of a quarter; reading a quarter's tables
FILINGS_A_YEAR = 4
REPORT_BYTES = 2_000_000

Answer = TypeVar("Answer")


class _Again(Exception):
    """An answer that is none, to be asked for again."""


@dataclass(frozen=True, slots=True)
class BulkFile:
    """A file still to be stored of the companies ``of``; ``version`` changes with its content."""

    path: str
    size: int
    version: str
    ciks: frozenset[int]

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class LoadPlan:
    """What a load has to fetch: ``files``, or the documents of each of the companies in ``few``."""

    company_count: int
    years: int
    files: list[BulkFile] = field(default_factory=list)
    document_ciks: Sequence[int] = ()
    missing: list[str] = field(default_factory=list)

    @property
    def reports(self) -> int:
        """About how many filings it stores."""
        return self.company_count * self.years * FILINGS_A_YEAR

    @property
    def size(self) -> int:
        """How many bytes it fetches; of a few companies' documents about."""
        return (
            sum(one.size for one in self.files) + len(self.document_ciks) * self.years * FILINGS_A_YEAR * REPORT_BYTES
        )

    @property
    def requests(self) -> int:
        """About how many questions it asks."""
        return sum(1 + one.size // RANGE_BYTES for one in self.files) + len(self.document_ciks) * (
            3 + self.years * FILINGS_A_YEAR
        )

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        quarters = len(self.files) * TABLE_SECONDS
        return (
            self.size / BYTES_PER_SECOND
            + self.company_count * COMPANY_SECONDS
            + self.reports * FILING_SECONDS
            + quarters
        )


class Loader:
    """Loads into ``app`` what ``gateway`` gives; ``tell`` hears of each file, ``moved`` how far the work has come.

    ``wait`` spends the seconds that EDGAR asks for, for a reason.
    """

    def __init__(
        self,
        app: App,
        gateway: Gateway,
        *,
        wait: Callable[[float, str], None],
        tell: Callable[[Outcome], None],
        moved: ingest.FileProgressCallback,
    ) -> None:
        self._app, self._gateway = app, gateway
        self._wait, self._tell, self._moved = wait, tell, moved
        self._poller = Poller(app, gateway, interval_seconds=86_400.0)

    def choose_companies(self, texts: Sequence[str], top: int) -> tuple[list[int], list[str]]:
        """The CIKs of companies named by ticker or CIK and of the first ``top`` of the SEC's list, and unknown names.

        The list of tickers is fetched first, unless it is as it was.
        """
        fetched = self._asked(lambda: self._gateway.get("www", TICKERS_PATH, conditional=True, may_fail=True))
        self._document(TICKERS_PATH.rpartition("/")[2], fetched)
        known, unknown = resolve_companies(self._app, texts)
        with self._app.db.read() as tx:
            ciks = [*known.values(), *(row["cik"] for row in tx.list_rows("companies_by_list_place", limit=top))]
        return list(dict.fromkeys(ciks)), unknown

    def build_plan(self, ciks: Sequence[int], years: int) -> LoadPlan:
        """What has to be fetched for these companies; EDGAR is asked how long each file is."""
        plan = LoadPlan(len(ciks), years)
        if len(ciks) <= MAX_BY_DOCUMENT and not self._at_hand(COMPANYFACTS_PATH):
            plan.document_ciks = ciks
            return plan
        now = self._app.clock.now()
        for path, since in [
            (SUBMISSIONS_PATH, now - FRESH_FOR),
            (COMPANYFACTS_PATH, now - FRESH_FOR),
            *((one, None) for one in list_data_set_paths(now, years)),
        ]:
            with self._app.db.read() as tx:
                done = {
                    row["cik"]
                    for row in tx.list_rows("ciks_loaded_since", path=path, since=iso(since) if since else "")
                }
            of = frozenset(ciks) - done
            one = self._looked_at(path, of) if of else None
            if one is not None:
                plan.files.append(one)
            elif of:
                plan.missing.append(path)
        return plan

    def run(self, plan: LoadPlan) -> None:
        """Fetch and store what is planned."""
        self._check_room(plan)
        for number, one in enumerate(plan.files, 1):
            label = f"{number} of {len(plan.files)} {one.name}"
            self._store(one, self._fetched(one, label), label)
        if plan.document_ciks:
            self._load_few(plan)
        shutil.rmtree(self._app.config.data_dir / "load", ignore_errors=True)

    # Bulk files.

    def _at_hand(self, path: str) -> bool:
        """Whether a bulk file lies in an archive directory: there it costs less than the documents, if it has those."""
        local = self._gateway.find_local_file(path)
        return local is not None and local.is_file()

    def _looked_at(self, path: str, of: frozenset[int]) -> BulkFile | None:
        local = self._gateway.find_local_file(path)
        if local is not None:
            return BulkFile(path, local.stat().st_size, "", of) if local.is_file() else None
        first = self._asked(lambda: self._gateway.get_range("www", path, 0, 1, None))
        if first.kind == "missing":
            return None
        if not first.total_bytes:
            raise UsageError(f"{first.url}: its host serves no byte ranges; download the files, --base-url FOLDER")
        return BulkFile(path, first.total_bytes, first.etag or first.last_modified or "", of)

    def _check_room(self, plan: LoadPlan) -> None:
        largest = max((one.size for one in plan.files if self._gateway.find_local_file(one.path) is None), default=0)
        free = shutil.disk_usage(self._app.config.data_dir)[2]
        if largest > free:
            raise UsageError(
                f"{self._app.config.data_dir} has {free // MIB:,} MiB free; {largest // MIB:,} MiB are needed"
            )

    def _fetched(self, one: BulkFile, label: str) -> Path:
        """The whole file, of which what an earlier load fetched is not asked for again while it is the same."""
        local = self._gateway.find_local_file(one.path)
        if local is not None:
            return local
        file = self._app.config.data_dir / "load" / one.name
        file.parent.mkdir(mode=0o700, exist_ok=True)
        mark, version = f"load {one.path}", f"{one.size} {one.version}"
        with self._app.db.write() as tx:
            if tx.find_value("poll_state", name=mark) != version:
                file.unlink(missing_ok=True)
                tx.run("upsert_poll_state", name=mark, value=version)
        with file.open("ab") as stream:
            while (have := stream.tell()) < one.size:
                size = min(RANGE_BYTES, one.size - have)
                part = self._asked(lambda: self._gateway.get_range("www", one.path, have, size, one.version or None))  # noqa: B023
                if part.kind != "found" or part.total_bytes != one.size or len(part.body) != size:
                    raise ApiError("UNAVAILABLE", f"{part.url} changed while it was fetched; {_GO_ON}")
                stream.write(part.body)
                stream.flush()
                self._moved(label, "bytes", have + size, one.size)
        return file

    def _store(self, one: BulkFile, file: Path, label: str) -> None:
        damaged, done = False, 0

        def tell(outcome: Outcome) -> None:
            nonlocal damaged, done
            by_company = Path(outcome.path.rpartition("!")[2]).stem.removeprefix("CIK")
            of_company = len(by_company) == 10 and by_company.isdigit()
            reason = outcome.reason or ""
            if outcome.outcome == "refused" and (outcome.retry or "cannot be unpacked" in reason or not of_company):
                # Filings of a quarter that cannot be read are named one by one.
                damaged |= outcome.accession is None
            elif of_company:
                self._mark(one.path, [int(by_company)])
                self._moved(label, "companies", done := done + 1, len(one.ciks))
            self._tell(outcome)

        moved: ingest.FileProgressCallback = lambda path, unit, number, whole: self._moved(label, unit, number, whole)  # noqa: E731
        ingest.run(self._app, [file], IngestOptions(only_ciks=one.ciks), tell, moved)
        local = self._gateway.find_local_file(one.path) is not None
        if not damaged:
            self._mark(one.path, sorted(one.ciks))
        if not local:
            # A damaged one is fetched anew the next time.
            file.unlink(missing_ok=True)
            with self._app.db.write() as tx:
                tx.run("delete_poll_state", name=f"load {one.path}")

    def _mark(self, path: str, ciks: Sequence[int]) -> None:
        with self._app.db.write() as tx:
            for cik in ciks:
                tx.run("upsert_loaded", path=path, cik=cik, now=iso(self._app.clock.now()))

    # The documents of a few companies.

    def _load_few(self, plan: LoadPlan) -> None:
        for number, cik in enumerate(plan.document_ciks, 1):
            name = f"CIK{cik:010}.json"
            try:
                fetched = self._patiently(lambda: self._poller.read_list(cik))  # noqa: B023
            except ParseError as error:
                self._tell(Outcome(error.file, "submissions", "refused", error.reason))
                continue
            path = f"/api/xbrl/companyfacts/{name}"
            facts = self._asked(lambda: self._gateway.get("data", path, conditional=True, may_fail=True))  # noqa: B023
            self._document(name, facts)
            now = self._app.clock.now()
            with self._app.db.write() as tx:
                fetched.store_validators(tx)
                fetch_queue.queue_recent_filings(tx, now, cik, round(365.25 * plan.years), REPORT_FORMS)
            self._moved("lists and facts", "companies", number, len(plan.document_ciks))
        with self._app.db.read() as tx:
            waiting = fetch_queue.count_due_documents(tx, self._app.clock.now())

        def told() -> None:
            counts = self._poller.counts
            self._moved("reports", "filings", counts.documents + counts.refused + counts.put_off, waiting)

        self._patiently(lambda: self._poller.fetch_due_documents(told))
        counts = self._poller.counts
        for outcome, number in (("ingested", counts.documents), ("refused", counts.refused + counts.put_off)):
            reason = f"{number} reports" + (": finapi documents list says why" if outcome == "refused" else "")
            if number:
                self._tell(Outcome("reports", "full-submission", outcome, reason))  # type: ignore[arg-type]

    def _document(self, name: str, fetched: FetchResult) -> None:
        if fetched.kind == "found":
            for outcome in ingest.ingest_document(
                self._app, name, fetched.body, lambda tx, found: fetched.store_validators(tx)
            ):
                self._tell(outcome)
        elif fetched.kind != "unchanged":
            self._tell(Outcome(fetched.url, "unknown", "skipped", "is not there"))

    # Asking.

    def _asked(self, ask: Callable[[], FetchResult]) -> FetchResult:
        """The answer to a question, the trouble of its path waited out too."""

        def answered() -> FetchResult:
            fetched = ask()
            if fetched.kind in ("busy", "failed"):
                raise _Again(fetched.reason)
            return fetched

        return self._patiently(answered)

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        """What ``ask`` gives, after the times have passed for which EDGAR is not to be asked, a few in a row."""
        reason = ""
        for attempt in range(MAX_TRIES):
            stopping.check()
            try:
                return ask()
            except _Again as error:
                reason, seconds = str(error), float(RETRY_SECONDS << attempt)
            except BackOffError as error:
                reason, seconds = error.reason, (error.until - self._app.clock.now()).total_seconds()
            if attempt < MAX_TRIES - 1:
                self._wait(max(seconds, 1.0), reason)
        raise ApiError("UNAVAILABLE", f"EDGAR does not answer: {reason}; {_GO_ON}")


_GO_ON = "the same command goes on from here"


def resolve_companies(app: App, texts: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """The CIKs of the companies that these texts name by ticker or CIK, by text, and the texts that name none."""
    known: dict[str, int] = {}
    unknown: list[str] = []
    for text in texts:
        try:
            known[text] = get_company_cik(app, text)
        except ApiError:
            unknown.append(text)
    return known, unknown


def list_data_set_paths(now: datetime, years: int) -> list[str]:
    """The paths of the data sets of the quarters that have ended in so many years, the newest first."""
    day, paths = now.date(), []
    first = max(date(day.year - years, (day.month - 1) // 3 * 3 + 1, 1), date(FIRST_YEAR, 1, 1))
    year, quarter = day.year, (day.month - 1) // 3 + 1
    while (year, 3 * quarter - 2) > (first.year, first.month):
        year, quarter = (year, quarter - 1) if quarter > 1 else (year - 1, 4)
        paths.append(DATA_SET_PATH.format(year=year, quarter=quarter))
    return paths
