"""The poller: follows EDGAR's feed of new filings and fetches their documents.

The poller calls :meth:`Poller.run_poll_step` repeatedly. A step does what is due, in this order:

1. **Feed.** EDGAR's feed lists the newest filings, 100 on a page. The pages are read back to the time where the last
   reading started (a watermark), so that a poller that was stopped catches up. Each filing is stored and announced, and
   queued if its documents are to be fetched.
2. **Indexes.** EDGAR publishes an index of each day after its end. It closes any gap that the feed has left.
3. **Lists.** For followed companies, the list of their filings has metadata that the feed lacks.
4. **Documents.** A few queued documents are fetched and ingested. Failed ones are postponed (``fetch_queue``).

All progress is in rows: a step may be interrupted anywhere, and the next one neither skips nor repeats anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Protocol

from finapi.app import App
from finapi.core import metrics, stopping
from finapi.core.clock import iso
from finapi.core.errors import ParseError
from finapi.edgar import form_indexes, getcurrent, sgml
from finapi.market.documents import announcements, filing_store
from finapi.market.documents.outcomes import Outcome
from finapi.market.filings import lists
from finapi.market.intake import fetch_queue, ingest
from finapi.market.intake.gateway import BackOffError, FetchResult, Host
from finapi.market.reference import companies
from finapi.net.outbound import RequestStoppedError
from finapi.store import heartbeats
from finapi.store.db import Row, StoreUnwritableError, Transaction

log = logging.getLogger("finapi.poller")

PAGE_SIZE = 100  # Entries that EDGAR returns for one request.
MIN_FEED_PAGES = 20  # The feed has never ended before this page.
MAX_PAGES = 60  # A busy day has 50; anything older is in the day's index.

# Filings appear slightly out of the order of their times, so the reading goes back this much further.
OVERLAP_SECONDS = 600

MAX_GAP_DAYS = 3  # Days whose indexes the first start reads.
INDEX_AFTER = timedelta(hours=4, minutes=30)  # After midnight UTC: EDGAR's day ends at 22:00 in New York.
HOLIDAY_DAYS = 3  # An index that is missing after these days will not appear: nothing was filed.
INDEX_RETRY_AFTER = timedelta(hours=1)  # Between two requests for an index that should be there.
LIST_RETRY_AFTER = timedelta(hours=1)  # Time until a company's list is requested again after a failure.

# The worker components of DECISIONS 11, each with the parts of a step that it depends on.
WORKERS: Mapping[heartbeats.Component, tuple[str, ...]] = {
    "sec_worker": ("feed", "indexes", "lists"),
    "sec_13f_worker": ("feed",),
    "news_daemon": ("feed",),
}

MAX_PASS_DOCUMENTS = 20  # Documents fetched in one step, so that the feed and the lists are read in between.
MAX_FAILURES_IN_A_ROW = 3  # Failed documents in a row before the feed is read again.
MAX_REPORTED_DOCUMENTS = 1000  # Documents that were given up and are reported with the reason.
MAX_PASS_LISTS = 10  # Lists of filings fetched in one step.


class EdgarSource(Protocol):
    """A source of EDGAR's files: a Gateway, or a recording."""

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """Fetch a path (see :meth:`finapi.market.intake.gateway.Gateway.get`)."""
        ...


@dataclass
class PollCounts:
    """The numbers of filings and documents of all steps so far, and the problems that were logged.

    ``refused`` is the number of documents that were given up. ``given_up`` are the first
    :data:`MAX_REPORTED_DOCUMENTS` of them, each with the reason.
    """

    filings: int = 0
    documents: int = 0
    refused: int = 0
    put_off: int = 0
    problems: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)


class Poller:
    """A worker that reads EDGAR into the store.

    ``watermark`` is the name of the row with the time up to which the feed was read. Documents that fail are logged
    unless ``logs_documents`` is False, for a caller that prints them.
    """

    def __init__(
        self,
        app: App,
        edgar: EdgarSource,
        *,
        interval_seconds: float,
        watermark: str = "feed_read_to",
        logs_documents: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._edgar = edgar
        self._interval_seconds = interval_seconds
        self._watermark = watermark
        self._logs_documents = logs_documents
        self._monotonic = monotonic
        self._next_feed_at: float | None = None  # None: read the feed first.
        self._logged_entry_errors: set[str] = set()  # Reasons for which entries of the feed were left out.
        self._logged_failures: list[str] = []  # Failures of the last step, which are not logged again.
        self._failures_by_part: dict[str, str] = {}  # Why a part of a step failed when it was last tried.
        self.counts = PollCounts()

    def run_poll_step(self) -> float:
        """Do what is due, in portions of a few seconds. Return the seconds until it should run again."""
        if self._app.db.trouble is not None:
            # The last write to the store failed. Test whether it can be written before requesting anything.
            with self._app.db.write() as tx:
                self._record_beats(tx)
        started_at = self._monotonic()
        failures: list[str] = []
        wait_seconds = 0.0
        try:
            if self._next_feed_at is None or started_at >= self._next_feed_at:
                self._next_feed_at = started_at + self._interval_seconds
                self._run_part("feed", self.read_feed, failures)
                self._run_part("indexes", self._read_indexes, failures)
            self._run_part("lists", self._read_lists, failures)
            if not self._fetch_some_documents():
                wait_seconds = max(self._next_feed_at - self._monotonic(), 0.0)
        except RequestStoppedError:
            return self._interval_seconds
        except BackOffError as error:
            # This is the gateway's failure and not a worker's. New filings come first when it is over.
            self._next_feed_at = None
            failures.append(str(error))
            wait_seconds = max((error.until - self._app.clock.now()).total_seconds(), 1.0)
        for failure in failures:
            if failure not in self._logged_failures:
                log.warning("%s", failure)
                self.counts.problems.append(failure)
        self._logged_failures = failures
        with self._app.db.write() as tx:
            self._record_beats(tx)
        return wait_seconds

    def _run_part(self, name: str, part: Callable[[], None], failures: list[str]) -> None:
        """Run a part of a step. A document that cannot be read does not stop the other parts."""
        try:
            part()
            self._failures_by_part.pop(name, None)
        except ParseError as error:
            self._failures_by_part[name] = str(error)
            failures.append(str(error))

    # ---- the feed

    def read_feed(self) -> None:
        """Store the filings of the feed, page by page back to the watermark. Raise ParseError for an invalid page."""
        with self._app.db.read() as tx:
            read_to = tx.find_value("poll_state", name=self._watermark)
        back_to = None
        if read_to is not None:
            back_to = iso(datetime.fromisoformat(read_to) - timedelta(seconds=OVERLAP_SECONDS))
        newest = self._read_pages(back_to)
        if newest:
            # The watermark is stored only after all pages, so that an interrupted reading starts again. It is never
            # later than now: with a watermark in the future, the next readings would not go back at all.
            new_watermark = min(max(newest, read_to or ""), iso(self._app.clock.now()))
            with self._app.db.write() as tx:
                tx.run("upsert_poll_state", name=self._watermark, value=new_watermark)

    def _read_pages(self, back_to: str | None) -> str:
        """Store the pages back to a time. Return the newest time in them, or "" if not all could be read."""
        newest = ""
        # The last filing of a page, whose other parties may be on the next page. It is stored with all of them.
        unfinished: tuple[getcurrent.FeedFiling, ...] = ()
        try:
            for page_number in range(MAX_PAGES):
                # After its end the feed answers 503, however often it is requested.
                fetched = self._edgar.get("www", build_feed_path(page_number * PAGE_SIZE), may_fail=page_number > 0)
                is_early_end = fetched.kind == "busy" and back_to is not None and page_number < MIN_FEED_PAGES
                if fetched.kind == "failed" or is_early_end:
                    return ""  # Not the end but a failure: the next reading must go back as far as this one.
                if fetched.kind == "missing" and page_number == 0 and fetched.reason:
                    # An archive directory has no feed, but EDGAR and its mirrors have one.
                    raise ParseError(fetched.url, "", f"the feed of new filings does not exist: {fetched.reason}")
                if fetched.kind != "found":
                    break
                page = getcurrent.parse_page(fetched.body, fetched.url)
                self._log_entry_errors(page.entry_errors)
                times = [filing.accepted for filing in page.filings]
                newest = max([newest, *times])
                filings = getcurrent.merge_filings((*unfinished, *page.filings))
                is_last = page.entry_count < PAGE_SIZE or (back_to is not None and min(times) < back_to)
                unfinished = () if is_last else filings[-1:]
                self._store_filings(filings[: len(filings) - len(unfinished)])
                if is_last:
                    break
        finally:
            if unfinished:
                self._store_filings(unfinished)
        return newest

    def _log_entry_errors(self, errors: Sequence[ParseError]) -> None:
        """Log each kind of invalid entry once. The filing will be found in the day's index."""
        for error in errors:
            if error.reason not in self._logged_entry_errors:
                self._logged_entry_errors.add(error.reason)
                log.warning("an entry of the feed is left out: %s", error)
                self.counts.problems.append(str(error))

    def _store_filings(self, filings: Sequence[getcurrent.FeedFiling]) -> None:
        now = self._app.clock.now()
        changed = False
        with self._app.db.write() as tx:
            # The feed is newest first; filings are announced oldest first.
            for filing in reversed(filings):
                stored_filing = filing_store.upsert(tx, lists.build_feed_metadata(filing), now, announces=False)
                changed |= stored_filing.changed
                self.counts.filings += stored_filing.is_new
                # Unlike in a list, a filing in the feed is always news.
                announcements.announce_filing(tx, now, accession=filing.accession)
                ciks = [party.cik for party in filing.parties]
                fetch_queue.queue_filing(tx, now, filing.accession, filing.form, ciks, self._app.config.follow_forms)
            if changed:
                tx.run("bump_data_version")

    # ---- indexes

    def _read_indexes(self) -> None:
        while self._read_index():
            pass

    def _read_index(self) -> bool:
        """Store the index of the first day that is due. Return True if that day is done."""
        now = self._app.clock.now()
        last_day = (now - INDEX_AFTER).date() - timedelta(days=1)
        with self._app.db.read() as tx:
            indexed_through = tx.find_value("poll_state", name="indexed_through")
            retry_at = tx.find_value("poll_state", name="index_again_at")
        if indexed_through:
            day = date.fromisoformat(indexed_through) + timedelta(days=1)
        else:
            day = last_day - timedelta(days=MAX_GAP_DAYS - 1)
        while day <= last_day and day.weekday() >= 5:
            day += timedelta(days=1)
        if day > last_day or (retry_at is not None and retry_at > iso(now)):
            return False
        fetched = self._edgar.get("www", build_index_path(day), may_fail=True)
        with self._app.db.write() as tx:
            # Deleted below when the index is stored, or when the day is known to be a holiday.
            tx.run("upsert_poll_state", name="index_again_at", value=iso(now + INDEX_RETRY_AFTER))
        _check_reply(fetched)
        if fetched.kind == "found":
            index = form_indexes.parse(fetched.body, fetched.url)
            for error in index.errors:
                log.warning("a line of an index is left out: %s", error)
                self.counts.problems.append(str(error))
            self._store_index(index.rows)
        elif day > last_day - timedelta(days=HOLIDAY_DAYS):
            return False
        with self._app.db.write() as tx:
            tx.run("upsert_poll_state", name="indexed_through", value=day.isoformat())
            tx.run("delete_poll_state", name="index_again_at")
        return True

    def _store_index(self, rows: list[form_indexes.IndexRow]) -> None:
        lists.upsert_index(self._app, rows)
        ciks_by_filing: dict[tuple[str, str], list[int]] = {}
        for row in rows:
            ciks_by_filing.setdefault((row.accession, row.form), []).append(row.cik)
        with self._app.db.write() as tx:
            for (accession, form), ciks in ciks_by_filing.items():
                stopping.check()
                now = self._app.clock.now()
                fetch_queue.queue_filing(tx, now, accession, form, ciks, self._app.config.follow_forms)

    # ---- lists of followed companies

    def _read_lists(self) -> None:
        """Store the lists of followed companies that are due, with their older pages, and queue their documents."""
        now = self._app.clock.now()
        with self._app.db.read() as tx:
            due_ciks = fetch_queue.list_due_companies(tx, now, MAX_PASS_LISTS)
        for cik in due_ciks:
            stopping.check()
            with self._app.db.write() as tx:
                # Postpone the list before fetching it: if it fails, the others are still fetched.
                tx.run("update_followed_due", cik=cik, due_at=iso(now + LIST_RETRY_AFTER))
            fetched = self.read_list(cik)
            with self._app.db.write() as tx:
                fetched.store_validators(tx)
                config = self._app.config
                fetch_queue.queue_recent_filings(tx, now, cik, config.follow_days, config.follow_forms)
                due_at = iso(now + timedelta(hours=fetch_queue.LIST_INTERVAL_HOURS))
                tx.run("update_followed_due", cik=cik, due_at=due_at)

    def read_list(self, cik: int) -> FetchResult:
        """Store the list of a company's filings and its older pages, if it is new. Return the result of the request.

        Raise ParseError if a list cannot be fetched or read.
        """
        name = f"CIK{cik:010}.json"
        fetched = self._edgar.get("data", f"/submissions/{name}", conditional=True, may_fail=True)
        _check_reply(fetched)
        if fetched.kind == "found":
            self._store_list(name, fetched)
            with self._app.db.read() as tx:
                page_names = [page["page"] for page in lists.list_missing_pages(tx, cik)]
            for page_name in page_names:
                stopping.check()
                self._store_list(page_name, self._edgar.get("data", f"/submissions/{page_name}", may_fail=True))
        elif fetched.kind == "missing":
            log.warning("there is no list of filings of CIK %010d", cik)
        return fetched

    def _store_list(self, name: str, fetched: FetchResult) -> None:
        """Store a list of filings, if it was found. Raise ParseError if it cannot be read."""
        _check_reply(fetched)
        if fetched.kind != "found":
            return
        for outcome in ingest.ingest_document(self._app, name, fetched.body, lambda tx, outcomes: None):
            if outcome.retry:
                raise StoreUnwritableError(outcome.reason)
            if outcome.outcome in ("refused", "skipped"):
                raise ParseError(fetched.url, "", outcome.reason or "")

    # ---- documents

    def fetch_due_documents(self, report_progress: Callable[[], None] = lambda: None) -> None:
        """Fetch every document that is due. Call ``report_progress`` after every few documents."""
        while self._fetch_some_documents():
            report_progress()

    def _fetch_some_documents(self) -> bool:
        """Fetch a few of the documents that are due. Return False if there were none, or if EDGAR fails repeatedly."""
        with self._app.db.read() as tx:
            due_rows = fetch_queue.list_due_documents(tx, self._app.clock.now(), MAX_PASS_DOCUMENTS)
        failures_in_a_row = 0
        for row in due_rows:
            stopping.check()
            failures_in_a_row = 0 if self._fetch_document(row) else failures_in_a_row + 1
            if failures_in_a_row == MAX_FAILURES_IN_A_ROW:
                # Perhaps EDGAR itself fails. Reading the feed shows that before every document has used up a try.
                return False
        return bool(due_rows)

    def _fetch_document(self, row: Row) -> bool:
        """Fetch a document and store it, or postpone it. Return False if EDGAR's reply could not be used."""
        accession = row["accession"]
        try:
            fetched = self._edgar.get("www", build_document_path(row["cik"], accession), may_fail=True)
        except BackOffError as error:
            if error.from_reply:
                # This counts as a failed try of the document. If the document causes the refusal, it must not be the
                # first one again in every step.
                seconds = (error.until - self._app.clock.now()).total_seconds()
                self._postpone(row, error.reason, seconds)
            raise
        if fetched.kind == "too_long":
            with self._app.db.write() as tx:
                self._finish_document(tx, accession, "is larger than any document that is read")
            return True
        if fetched.kind in ("missing", "unchanged"):
            self._postpone(row, "does not exist")
            return True
        if fetched.kind != "found":
            self._postpone(row, fetched.reason, fetched.retry_seconds)
            return False
        error_reason = _find_submission_error(accession, fetched.body)
        if error_reason is not None:
            self._postpone(row, error_reason)
            return False
        self._store_document(row, fetched)
        return True

    def _store_document(self, row: Row, fetched: FetchResult) -> None:
        """Ingest a document. Postpone it and raise StoreUnwritableError if the store fails."""
        accession = row["accession"]

        def finish(tx: Transaction, outcomes: Sequence[Outcome]) -> None:
            self._finish_document(tx, accession, _find_refusal(outcomes))

        for outcome in ingest.ingest_document(self._app, f"{accession}.txt", fetched.body, finish):
            if outcome.retry and outcome.reason is not None:
                self._postpone(row, outcome.reason)
                raise StoreUnwritableError(outcome.reason)

    def _postpone(self, row: Row, reason: str, min_seconds: float = 0.0) -> None:
        """Schedule the next try of a document, or give up on it."""
        with self._app.db.write() as tx:
            due_at = fetch_queue.postpone_document(tx, row, self._app.clock.now(), reason, min_seconds)
            self._record_beats(tx)
        if due_at is not None:
            self.counts.put_off += 1
            self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "put_off")
            if self._logs_documents:
                log.info("%s: %s; next try at %s", row["accession"], reason, iso(due_at))
        else:
            self._count_given_up(row["accession"], reason)

    def _finish_document(self, tx: Transaction, accession: str, refusal: str | None) -> None:
        """Mark a document as done or given up, in the transaction that stores it."""
        now = self._app.clock.now()
        fetch_queue.finish_document(tx, accession, now, refusal)
        self._record_beats(tx)  # Storing a long document may take longer than the permitted time between two beats.
        if refusal is None:
            self.counts.documents += 1
            self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "stored")
        else:
            self._count_given_up(accession, refusal)

    def _count_given_up(self, accession: str, reason: str) -> None:
        self.counts.refused += 1
        if len(self.counts.given_up) < MAX_REPORTED_DOCUMENTS:
            self.counts.given_up.append(f"{accession}: {reason}")
        self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "given_up")
        if self._logs_documents:
            log.warning("gave up on %s: %s", accession, reason)

    def _record_beats(self, tx: Transaction) -> None:
        """Record that the workers are alive, without the duration: a long step only means that there is much to do."""
        for worker, part_names in WORKERS.items():
            failures = [self._failures_by_part[name] for name in part_names if name in self._failures_by_part]
            failure = failures[0] if failures else None
            heartbeats.record_beat(tx, worker, self._app.clock.now(), failure=failure)


def _find_refusal(outcomes: Sequence[Outcome]) -> str | None:
    """Return the reason of the first refusal, or None."""
    for outcome in outcomes:
        if outcome.outcome == "refused":
            return outcome.reason or "refused"
    return None


def _check_reply(fetched: FetchResult) -> None:
    """Raise ParseError if the request of this path failed."""
    if fetched.kind in ("busy", "failed"):
        raise ParseError(fetched.url, "", fetched.reason)


def _find_submission_error(accession: str, body: bytes) -> str | None:
    """Return why a body is not the complete submission that was requested, or None.

    EDGAR may send another page in its place, or half of it.
    """
    try:
        header = sgml.parse_complete_header(body, accession)
    except ParseError as error:
        return f"is not complete: {error.reason}"
    return None if header.accession == accession else f"is the submission {header.accession}"


def build_feed_path(start: int) -> str:
    """Return the path of the feed's page that starts with entry number ``start``."""
    return (
        "/cgi-bin/browse-edgar?action=getcurrent&type=&company=&dateb=&owner=include"
        f"&start={start}&count={PAGE_SIZE}&output=atom"
    )


def build_index_path(day: date) -> str:
    """Return the path of the index of a day."""
    quarter = (day.month - 1) // 3 + 1
    return f"/Archives/edgar/daily-index/{day.year}/QTR{quarter}/master.{day:%Y%m%d}.idx"


def build_document_path(cik: int, accession: str) -> str:
    """Return the path of the full submission of a filing, which contains all its documents."""
    return f"/Archives/edgar/data/{cik}/{accession}.txt"


def get_company_cik(app: App, text: str) -> int:
    """Return the CIK of a company given by ticker or CIK. Raise ApiError UNKNOWN_TICKER for an unknown ticker.

    A CIK need not be known, so that a company can be followed before anything about it is stored.
    """
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return int(text)
    with app.db.read() as tx:
        return companies.resolve(tx, text).cik
