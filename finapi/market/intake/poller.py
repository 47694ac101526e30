"""EDGAR followed as it happens: the feed of new filings, the day's index behind it, and the documents wanted.

The feed is read back to where the last reading began, so that a poller that was stopped catches up; the daily
indexes, one for each day that has ended, close whatever gap is left. All of it is in rows: a pass may be cut
off anywhere, and the next one neither loses nor repeats.
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

PAGE_SIZE = 100  # entries that EDGAR gives at once
MIN_FEED_PAGES = 20  # the feed's end was never seen nearer than this
MAX_PAGES = 60  # a busy day has 50; what is further back stands in the day's index

# Filings appear a little out of the order of their times: the reading goes this much further back, in seconds.
OVERLAP_SECONDS = 600

MAX_GAP_DAYS = 3  # how far back a first start closes gaps
INDEX_AFTER = timedelta(hours=4, minutes=30)  # after midnight UTC: EDGAR's day ends at 22:00 in New York
HOLIDAY_DAYS = 3  # an index that is not there by then will not come: nothing was filed
INDEX_RETRY_AFTER = timedelta(hours=1)  # between two looks for an index that should be there
LIST_RETRY_AFTER = timedelta(hours=1)  # after a look at a company's list that came to nothing

# The workers of DECISIONS 11, and the parts of a pass without which each does not do its work.
WORKERS: Mapping[heartbeats.Component, tuple[str, ...]] = {
    "sec_worker": ("feed", "indexes", "lists"),
    "sec_13f_worker": ("feed",),
    "news_daemon": ("feed",),
}

MAX_PASS_DOCUMENTS = 20  # fetched before anything else is looked at again
MAX_FAILURES_IN_A_ROW = 3  # documents in a row that EDGAR fails at before the feed is looked at again
MAX_PASS_LISTS = 10


class EdgarSource(Protocol):
    """Where the poller asks: a Gateway, or a recording of one."""

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """What stands at a path (see :meth:`Gateway.get`)."""
        ...


@dataclass
class PollCounts:
    """What passes have brought so far."""

    filings: int = 0
    documents: int = 0
    refused: int = 0
    put_off: int = 0
    problems: list[str] = field(default_factory=list)


class Poller:
    """Reads EDGAR into the store of ``app``; ``mark`` names where its reading of the feed is remembered."""

    def __init__(
        self,
        app: App,
        edgar: EdgarSource,
        *,
        interval_seconds: float,
        watermark: str = "feed_read_to",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._edgar = edgar
        self._every = interval_seconds
        self._mark = watermark
        self._monotonic = monotonic
        self._feed_at: float | None = None
        self._left_out: set[str] = set()  # why entries of the feed were refused
        self._said: list[str] = []  # what the last step warned of, which is not to be said every time
        self._failed: dict[str, str] = {}  # why a part of a pass failed when it was last made
        self.counts = PollCounts()

    def run_poll_step(self) -> float:
        """Do what is due, in pieces of a few seconds; in how many seconds there is more. A worker's step."""
        if self._app.db.trouble is not None:
            with self._app.db.write() as tx:
                self._beat(tx)  # or nothing is asked for, as it could not be stored
        started = self._monotonic()
        failures: list[str] = []
        wait = 0.0
        try:
            if self._feed_at is None or started >= self._feed_at:
                self._feed_at = started + self._every
                self._guarded("feed", self.read_feed, failures)
                self._guarded("indexes", self._read_indexes, failures)
            self._guarded("lists", self._read_lists, failures)
            if not self._fetch_documents():
                wait = max(self._feed_at - self._monotonic(), 0.0)
        except RequestStoppedError:
            return self._every
        except BackOffError as error:
            # The gateway's trouble and no worker's. What is new comes first when it is over.
            self._feed_at = None
            failures.append(str(error))
            wait = max((error.until - self._app.clock.now()).total_seconds(), 1.0)
        for failure in failures:
            if failure not in self._said:
                log.warning("%s", failure)
                self.counts.problems.append(failure)
        self._said = failures
        with self._app.db.write() as tx:
            self._beat(tx)
        return wait

    def _guarded(self, name: str, part: Callable[[], None], failures: list[str]) -> None:
        """Do a part of a pass; a document that cannot be read keeps the other parts from nothing."""
        try:
            part()
            self._failed.pop(name, None)
        except ParseError as error:
            self._failed[name] = str(error)
            failures.append(str(error))

    def read_feed(self) -> None:
        """Store what the feed tells of, page by page back to what was read before."""
        with self._app.db.read() as tx:
            read_to = tx.find_value("poll_state", name=self._mark)
        enough = None
        if read_to is not None:
            enough = iso(datetime.fromisoformat(read_to) - timedelta(seconds=OVERLAP_SECONDS))
        newest = self._read_pages(enough)
        if newest:
            # Not before all pages are stored: a reading that was cut off begins again. And not beyond now: a time
            # in the future would keep the next readings from going back at all.
            value = min(max(newest, read_to or ""), iso(self._app.clock.now()))
            with self._app.db.write() as tx:
                tx.run("upsert_poll_state", name=self._mark, value=value)

    def _read_pages(self, enough: str | None) -> str:
        """Store the pages back to the time ``enough``; the newest time in them, empty when not all could be read."""
        newest = ""
        # The last filing of a page, whose other parties may stand on the next: it is told once, of all of them.
        open_end: tuple[getcurrent.FeedFiling, ...] = ()
        try:
            for number in range(MAX_PAGES):
                # Beyond its end the feed answers 503 for as long as one asks.
                fetched = self._edgar.get("www", build_feed_path(number * PAGE_SIZE), may_fail=number > 0)
                if fetched.kind == "failed" or (
                    fetched.kind == "busy" and enough is not None and number < MIN_FEED_PAGES
                ):
                    return ""  # not the end but a bad moment: the next reading goes as far back as this one should
                if fetched.kind != "found":
                    break
                page = getcurrent.parse_page(fetched.body, fetched.url)
                self._complain(page.entry_errors)
                times = [filing.accepted for filing in page.filings]
                newest = max([newest, *times])
                told = getcurrent.merge_filings((*open_end, *page.filings))
                is_last = page.entry_count < PAGE_SIZE or (enough is not None and min(times) < enough)
                open_end = () if is_last else told[-1:]
                self._store(told[: len(told) - len(open_end)])
                if is_last:
                    break
        finally:
            if open_end:
                self._store(open_end)
        return newest

    def _complain(self, refused: Sequence[ParseError]) -> None:
        """Say once, of each kind of entry that cannot be read, that it is left to the day's index."""
        for error in refused:
            if error.reason not in self._left_out:
                self._left_out.add(error.reason)
                log.warning("an entry of the feed is left out: %s", error)
                self.counts.problems.append(str(error))

    def fetch_due_documents(self, tell: Callable[[], None] = lambda: None) -> None:
        """Fetch every document that is due now; ``tell`` is called after every few."""
        while self._fetch_documents():
            tell()

    def _store(self, told: Sequence[getcurrent.FeedFiling]) -> None:
        now = self._app.clock.now()
        changed = False
        with self._app.db.write() as tx:
            # The oldest first: whoever is told of them is told in their order.
            for filing in reversed(told):
                stored = filing_store.upsert(tx, lists.build_feed_metadata(filing), now, announces=False)
                changed |= stored.changed
                self.counts.filings += stored.is_new
                # What the feed tells of is news by being there.
                announcements.announce_filing(tx, now, accession=filing.accession)
                ciks = [party.cik for party in filing.parties]
                fetch_queue.queue_filing(tx, now, filing.accession, filing.form, ciks, self._app.config.follow_forms)
            if changed:
                tx.run("bump_data_version")

    def _read_indexes(self) -> None:
        while self._read_index():
            pass

    def _read_index(self) -> bool:
        """The index of the first of these days; whether that day is done with."""
        now = self._app.clock.now()
        last = (now - INDEX_AFTER).date() - timedelta(days=1)
        with self._app.db.read() as tx:
            done = tx.find_value("poll_state", name="indexed_through")
            again = tx.find_value("poll_state", name="index_again_at")
        day = date.fromisoformat(done) + timedelta(days=1) if done else last - timedelta(days=MAX_GAP_DAYS - 1)
        while day <= last and day.weekday() >= 5:
            day += timedelta(days=1)
        if day > last or (again is not None and again > iso(now)):
            return False
        fetched = self._edgar.get("www", build_index_path(day), may_fail=True)
        with self._app.db.write() as tx:
            # Until it is known to be stored, or to be a holiday's.
            tx.run("upsert_poll_state", name="index_again_at", value=iso(now + INDEX_RETRY_AFTER))
        _check_answered(fetched)
        if fetched.kind == "found":
            self._store_index(list(form_indexes.iter_rows(fetched.body, fetched.url)))
        elif day > last - timedelta(days=HOLIDAY_DAYS):
            return False
        with self._app.db.write() as tx:
            tx.run("upsert_poll_state", name="indexed_through", value=day.isoformat())
            tx.run("delete_poll_state", name="index_again_at")
        return True

    def _store_index(self, rows: list[form_indexes.IndexRow]) -> None:
        lists.upsert_index(self._app, rows)
        parties: dict[tuple[str, str], list[int]] = {}
        for row in rows:
            parties.setdefault((row.accession, row.form), []).append(row.cik)
        with self._app.db.write() as tx:
            for (accession, form), ciks in parties.items():
                stopping.check()
                fetch_queue.queue_filing(
                    tx, self._app.clock.now(), accession, form, ciks, self._app.config.follow_forms
                )

    def _read_lists(self) -> None:
        """The lists of followed companies that are due, their older pages, and the documents in them."""
        now = self._app.clock.now()
        with self._app.db.read() as tx:
            due = fetch_queue.list_due_companies(tx, now, MAX_PASS_LISTS)
        for cik in due:
            stopping.check()
            with self._app.db.write() as tx:
                # Whatever becomes of this one, the others have their turn.
                tx.run("update_followed_due", cik=cik, due_at=iso(now + LIST_RETRY_AFTER))
            fetched = self.read_list(cik)
            with self._app.db.write() as tx:
                fetched.store_validators(tx)
                config = self._app.config
                fetch_queue.queue_recent_filings(tx, now, cik, config.follow_days, config.follow_forms)
                again = iso(now + timedelta(hours=fetch_queue.LIST_INTERVAL_HOURS))
                tx.run("update_followed_due", cik=cik, due_at=again)

    def read_list(self, cik: int) -> FetchResult:
        """Store the list of a company's filings, if it is new, and its older pages; the answer."""
        fetched = self._edgar.get("data", f"/submissions/CIK{cik:010}.json", conditional=True, may_fail=True)
        _check_answered(fetched)
        if fetched.kind == "found":
            self._put_list(f"CIK{cik:010}.json", fetched)
            with self._app.db.read() as tx:
                pages = [page["page"] for page in lists.list_missing_pages(tx, cik)]
            for name in pages:
                stopping.check()
                self._put_list(name, self._edgar.get("data", f"/submissions/{name}", may_fail=True))
        elif fetched.kind == "missing":
            log.warning("there is no list of filings of CIK %010d", cik)
        return fetched

    def _put_list(self, name: str, fetched: FetchResult) -> None:
        """Store a list of filings, if it is there; ParseError when it cannot be read."""
        _check_answered(fetched)
        if fetched.kind != "found":
            return
        for outcome in ingest.ingest_document(self._app, name, fetched.body, lambda tx, found: None):
            if outcome.retry:
                raise StoreUnwritableError(outcome.reason)
            if outcome.outcome in ("refused", "skipped"):
                raise ParseError(fetched.url, "", outcome.reason or "")

    def _fetch_documents(self) -> bool:
        """Fetch a few of the documents that are due; whether there were any, and EDGAR answers."""
        with self._app.db.read() as tx:
            due = fetch_queue.list_due_documents(tx, self._app.clock.now(), MAX_PASS_DOCUMENTS)
        failures = 0
        for row in due:
            stopping.check()
            failures = 0 if self._fetch(row) else failures + 1
            if failures == MAX_FAILURES_IN_A_ROW:
                return False  # it may be all of EDGAR: the feed tells, before each of them has lost a try
        return bool(due)

    def _fetch(self, row: Row) -> bool:
        """Fetch a document and store it, or put it off; whether EDGAR answered as it should."""
        accession = row["accession"]
        try:
            fetched = self._edgar.get("www", build_document_path(row["cik"], accession), may_fail=True)
        except BackOffError as error:
            if error.from_reply:
                # Counted like any other failure: if it is at this one, it must not be the first again each time.
                until = (error.until - self._app.clock.now()).total_seconds()
                self._put_off(row, error.reason, until)
            raise
        if fetched.kind == "too_long":
            with self._app.db.write() as tx:
                self._end(tx, accession, "is larger than any document that is read")
        elif fetched.kind in ("missing", "unchanged"):
            self._put_off(row, "is not there")
        elif fetched.kind != "found":
            self._put_off(row, fetched.reason, fetched.retry_seconds)
            return False
        else:
            wrong = _wrong(accession, fetched.body)
            if wrong is not None:
                self._put_off(row, wrong)
                return False
            self._store_document(row, fetched)
        return True

    def _store_document(self, row: Row, fetched: FetchResult) -> None:
        accession = row["accession"]
        outcomes = ingest.ingest_document(
            self._app, f"{accession}.txt", fetched.body, lambda tx, found: self._end(tx, accession, _refused(found))
        )
        failed = next((one.reason for one in outcomes if one.retry), None)
        if failed is not None:
            self._put_off(row, failed)
            raise StoreUnwritableError(failed)

    def _put_off(self, row: Row, reason: str, least: float = 0.0) -> None:
        """Ask for a document again later, or give it up."""
        with self._app.db.write() as tx:
            again = fetch_queue.postpone_document(tx, row, self._app.clock.now(), reason, least)
            self._beat(tx)
        if again is not None:
            self.counts.put_off += 1
            self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "put_off")
            log.info("%s: %s; asked for again at %s", row["accession"], reason, iso(again))
        else:
            self._refused(row["accession"], reason)

    def _end(self, tx: Transaction, accession: str, refused: str | None) -> None:
        """Tick a filing off, in the transaction that stores its documents."""
        now = self._app.clock.now()
        fetch_queue.finish_document(tx, accession, now, refused)
        self._beat(tx)  # a document may be long
        if refused is None:
            self.counts.documents += 1
            self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "stored")
        else:
            self._refused(accession, refused)

    def _refused(self, accession: str, reason: str) -> None:
        self.counts.refused += 1
        self._app.metrics.count(metrics.EDGAR_DOCUMENTS, "given_up")
        log.warning("%s is given up: %s", accession, reason)

    def _beat(self, tx: Transaction) -> None:
        """Show that the workers live. How long a step took says nothing of them: one that has much to do is well."""
        for worker, needed in WORKERS.items():
            failure = next((self._failed[name] for name in needed if name in self._failed), None)
            heartbeats.record_beat(tx, worker, self._app.clock.now(), failure=failure)


def _refused(outcomes: Sequence[Outcome]) -> str | None:
    return next((one.reason or "refused" for one in outcomes if one.outcome == "refused"), None)


def _check_answered(fetched: FetchResult) -> None:
    """ParseError for the trouble of one path."""
    if fetched.kind in ("busy", "failed"):
        raise ParseError(fetched.url, "", fetched.reason)


def _wrong(accession: str, body: bytes) -> str | None:
    """Why a body is not the whole submission that was asked for: a page that says something else, or half of it."""
    try:
        header = sgml.parse_complete_header(body, accession)
    except ParseError as error:
        return f"did not come whole: {error.reason}"
    return None if header.accession == accession else f"came as {header.accession}"


def build_feed_path(start: int) -> str:
    """Where the feed's page stands that begins with entry ``start``."""
    return (
        "/cgi-bin/browse-edgar?action=getcurrent&type=&company=&dateb=&owner=include"
        f"&start={start}&count={PAGE_SIZE}&output=atom"
    )


def build_index_path(day: date) -> str:
    """Where the index of a day stands."""
    quarter = (day.month - 1) // 3 + 1
    return f"/Archives/edgar/daily-index/{day.year}/QTR{quarter}/master.{day:%Y%m%d}.idx"


def build_document_path(cik: int, accession: str) -> str:
    """Where the full submission of a filing stands, with every document in it."""
    return f"/Archives/edgar/data/{cik}/{accession}.txt"


def get_company_cik(app: App, text: str) -> int:
    """The CIK of a company to follow: a ticker that is known, or a CIK; UNKNOWN_TICKER for anything else."""
    with app.db.read() as tx:
        if text.isascii() and text.isdigit() and len(text) <= 10:
            return int(text)
        return companies.resolve(tx, text).cik
