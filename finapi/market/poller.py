"""EDGAR followed as it happens: the feed of new filings, the day's index behind it, and the documents wanted.

The feed is read back to where the last reading began, so that a poller that was stopped catches up; the daily
indexes, one for each day that has ended, close whatever gap is left. All of it is in rows: a pass may be cut
off anywhere, and the next one neither loses nor repeats.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Protocol

from finapi import heartbeats
from finapi.app import App
from finapi.clock import iso
from finapi.db import Failing, Row
from finapi.edgar import getcurrent, indexes, submissions
from finapi.errors import ParseError
from finapi.market import announce, companies, filings, following, ingest, lists
from finapi.market.gateway import BackOff, Fetched, Host
from finapi.market.outcomes import NOT_STORED
from finapi.outbound import Stopped

log = logging.getLogger("finapi.poller")

PAGE = 100  # entries that EDGAR gives at once
END_PAGES = 20  # the feed's end was never seen nearer than this
MAX_PAGES = 60  # a busy day has 50; what is further back stands in the day's index

# Filings appear a little out of the order of their times: the reading goes this much further back, in seconds.
SLACK = 600

INDEX_DAYS = 3  # how far back a first start closes gaps
INDEX_AFTER = timedelta(hours=4, minutes=30)  # after midnight UTC: EDGAR's day ends at 22:00 in New York
HOLIDAY_DAYS = 3  # an index that is not there by then will not come: nothing was filed
INDEX_AGAIN = timedelta(hours=1)  # between two looks for an index that should be there
LIST_AGAIN = timedelta(hours=1)  # after a look at a company's list that came to nothing

# The workers of CONTRACT 11, and the parts of a pass without which each does not do its work.
WORKERS: Mapping[heartbeats.Part, tuple[str, ...]] = {
    "sec_worker": ("feed", "indexes", "lists"),
    "sec_13f_worker": ("feed",),
    "news_daemon": ("feed",),
}

DOCUMENTS_AT_ONCE = 20  # fetched before anything else is looked at again
LISTS_AT_ONCE = 10


class Edgar(Protocol):
    """Where the poller asks: a Gateway, or a recording of one."""

    def get(self, host: Host, path: str, *, conditional: bool = False, may_be_busy: bool = False) -> Fetched:
        """What stands at a path (see :meth:`Gateway.get`)."""
        ...


@dataclass
class Counts:
    """What passes have brought so far."""

    filings: int = 0
    documents: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)


class Poller:
    """Reads EDGAR into the store of ``app``; ``mark`` names where its reading of the feed is remembered."""

    def __init__(self, app: App, edgar: Edgar, *, every: float, mark: str = "feed_read_to") -> None:
        self._app = app
        self._edgar = edgar
        self._every = every
        self._mark = mark
        self._feed_at: float | None = None
        self._left_out: set[str] = set()  # why entries of the feed were refused
        self._said: list[str] = []  # what the last step warned of, which is not to be said every time
        self._failed: dict[str, str] = {}  # why a part of a pass failed when it was last made
        self.counts = Counts()

    def step(self) -> float:
        """Do what is due, in pieces of a few seconds; in how many seconds there is more. A worker's step."""
        started = time.monotonic()
        failures: list[str] = []
        wait = 0.0
        try:
            if self._feed_at is None or started >= self._feed_at:
                self._feed_at = started + self._every
                self._guarded("feed", self.read_feed, failures)
                self._guarded("indexes", self._read_indexes, failures)
            self._guarded("lists", self._read_lists, failures)
            if not self._fetch_documents():
                wait = max(self._feed_at - time.monotonic(), 0.0)
        except Stopped:
            return self._every
        except BackOff as error:
            # The gateway's trouble and no worker's.
            failures.append(str(error))
            wait = max((error.until - self._app.clock.now()).total_seconds(), 1.0)
        for failure in failures:
            if failure not in self._said:
                log.warning("%s", failure)
                self.counts.problems.append(failure)
        self._said = failures
        self._beat()
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
            read_to = tx.value("poll_state", name=self._mark)
        enough = None
        if read_to is not None:
            enough = iso(datetime.fromisoformat(read_to) - timedelta(seconds=SLACK))
        newest = self._read_pages(enough)
        if newest:
            # Not before all pages are stored: a reading that was cut off begins again. And not beyond now: a time
            # in the future would keep the next readings from going back at all.
            value = min(max(newest, read_to or ""), iso(self._app.clock.now()))
            with self._app.db.write() as tx:
                tx.run("put_poll_state", name=self._mark, value=value)

    def _read_pages(self, enough: str | None) -> str:
        """Store the pages back to the time ``enough``; the newest time in them, empty when not all could be read."""
        newest = ""
        # The last filing of a page, whose other parties may stand on the next: it is told once, of all of them.
        open_end: tuple[getcurrent.Filing, ...] = ()
        try:
            for number in range(MAX_PAGES):
                # Beyond its end the feed answers 503 for as long as one asks.
                fetched = self._edgar.get("www", feed_path(number * PAGE), may_be_busy=number > 0)
                if fetched.kind == "busy" and enough is not None and number < END_PAGES:
                    return ""  # not the end but a bad moment: the next reading goes as far back as this one should
                if fetched.kind != "found":
                    break
                page = getcurrent.page(fetched.body, fetched.url)
                self._complain(page.refused)
                times = [filing.accepted for filing in page.filings]
                newest = max([newest, *times])
                told = getcurrent.together((*open_end, *page.filings))
                is_last = page.entries < PAGE or (enough is not None and min(times) < enough)
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

    def fetch_all(self) -> None:
        """Fetch every document that is due now."""
        while self._fetch_documents():
            pass

    def _store(self, told: Sequence[getcurrent.Filing]) -> None:
        now = self._app.clock.now()
        changed = False
        with self._app.db.write() as tx:
            # The oldest first: whoever is told of them is told in their order.
            for filing in reversed(told):
                stored = filings.put(tx, lists.of_feed(filing), now, news=False)
                changed |= stored.changed
                self.counts.filings += stored.new
                # What the feed tells of is news by being there.
                announce.filing(tx, now, accession=filing.accession)
                ciks = [party.cik for party in filing.parties]
                following.note(tx, now, filing.accession, filing.form, ciks)
            if changed:
                tx.run("bump_data_version")

    def _read_indexes(self) -> None:
        """The indexes of the days that have ended and are not read yet, as far as they are there."""
        while self._read_index():
            pass

    def _read_index(self) -> bool:
        """The index of the first of these days; whether that day is done with."""
        now = self._app.clock.now()
        last = (now - INDEX_AFTER).date() - timedelta(days=1)
        with self._app.db.read() as tx:
            done = tx.value("poll_state", name="indexed_through")
            again = tx.value("poll_state", name="index_again_at")
        day = date.fromisoformat(done) + timedelta(days=1) if done else last - timedelta(days=INDEX_DAYS - 1)
        while day <= last and day.weekday() >= 5:
            day += timedelta(days=1)
        if day > last or (again is not None and again > iso(now)):
            return False
        fetched = self._edgar.get("www", index_path(day))
        with self._app.db.write() as tx:
            # Until it is known to be stored, or to be a holiday's.
            tx.run("put_poll_state", name="index_again_at", value=iso(now + INDEX_AGAIN))
        if fetched.kind == "found":
            self._store_index(list(indexes.rows(fetched.body, fetched.url)))
        elif day > last - timedelta(days=HOLIDAY_DAYS):
            return False
        with self._app.db.write() as tx:
            tx.run("put_poll_state", name="indexed_through", value=day.isoformat())
            tx.run("drop_poll_state", name="index_again_at")
        return True

    def _store_index(self, rows: list[indexes.Row]) -> None:
        now = self._app.clock.now()
        lists.put_index(self._app, rows)
        parties: dict[str, list[int]] = {}
        forms: dict[str, str] = {}
        for row in rows:
            parties.setdefault(row.accession, []).append(row.cik)
            forms[row.accession] = row.form
        with self._app.db.write() as tx:
            for accession, ciks in parties.items():
                following.note(tx, now, accession, forms[accession], ciks)

    def _read_lists(self) -> None:
        """The lists of followed companies that are due, their older pages, and the documents in them."""
        now = self._app.clock.now()
        with self._app.db.read() as tx:
            due = [row["cik"] for row in tx.all("followed_due", now=iso(now), limit=LISTS_AT_ONCE)]
        for cik in due:
            with self._app.db.write() as tx:
                # Whatever becomes of this one, the others have their turn.
                tx.run("put_followed_due", cik=cik, due_at=iso(now + LIST_AGAIN))
            fetched = self._edgar.get("data", f"/submissions/CIK{cik:010}.json", conditional=True)
            if fetched.kind == "found":
                lists.put_submissions(self._app, submissions.company(fetched.body, fetched.url))
                self._read_older_pages(cik)
            elif fetched.kind == "missing":
                log.warning("there is no list of filings of CIK %010d", cik)
            with self._app.db.write() as tx:
                fetched.stored(tx)
                following.note_recent(tx, now, cik)
                again = iso(now + timedelta(hours=following.LIST_HOURS))
                tx.run("put_followed_due", cik=cik, due_at=again)

    def _read_older_pages(self, cik: int) -> None:
        with self._app.db.read() as tx:
            pages = [str(page["page"]) for page in lists.not_ingested(tx, cik)]
        for name in pages:
            fetched = self._edgar.get("data", f"/submissions/{name}")
            if fetched.kind == "found":
                lists.put_older_page(self._app, name, cik, submissions.older_page(fetched.body, fetched.url))

    def _fetch_documents(self) -> bool:
        """Fetch a few of the documents that are due; whether there were any."""
        with self._app.db.read() as tx:
            due = following.due(tx, self._app.clock.now(), DOCUMENTS_AT_ONCE)
        for row in due:
            self._fetch(row)
            self._beat()  # a document may be long
        return bool(due)

    def _fetch(self, row: Row) -> None:
        accession = row["accession"]
        try:
            fetched = self._edgar.get("www", document_path(row["cik"], accession))
        except BackOff as error:
            with self._app.db.write() as tx:
                # Behind the others: if it is this one that EDGAR fails at, they are not kept from it.
                following.put_off(tx, accession, error.until)
            raise
        now = self._app.clock.now()
        if fetched.kind in ("missing", "unchanged", "busy"):
            with self._app.db.write() as tx:
                following.missing(tx, row, now)
            return
        if fetched.kind == "too_long":
            refused: str | None = "is larger than any document that is read"
        else:
            refused = self._ingest(f"{accession}.txt", fetched.body)
        if refused is not None and refused.startswith(NOT_STORED):
            with self._app.db.write() as tx:
                following.put_off(tx, accession, now + timedelta(seconds=following.TRY_AGAIN))
            raise Failing(refused)
        if refused is None:
            self.counts.documents += 1
        else:
            self.counts.refused += 1
            log.warning("%s: %s", accession, refused)
        # Behind the store: a crash between the two stores it again, which changes nothing.
        with self._app.db.write() as tx:
            following.ended(tx, accession, now, refused)

    def _ingest(self, name: str, body: bytes) -> str | None:
        """Store a document as ``finapi ingest`` would; why it was refused, or None."""
        outcomes: list[ingest.Outcome] = []
        with tempfile.TemporaryDirectory(prefix="finapi-poll-") as place:
            file = Path(place, name)
            file.write_bytes(body)
            ingest.run(self._app, [file], ingest.Given(), outcomes.append)
        reasons = [outcome.reason or "refused" for outcome in outcomes if outcome.outcome == "refused"]
        return reasons[0] if reasons else None

    def _beat(self) -> None:
        """Show that the workers live. How long a step took says nothing of them: one that has much to do is well."""
        now = self._app.clock.now()
        with self._app.db.write() as tx:
            for worker, needed in WORKERS.items():
                failure = next((self._failed[name] for name in needed if name in self._failed), None)
                heartbeats.beat(tx, worker, now, failure=failure)


def feed_path(start: int) -> str:
    """Where the feed's page stands that begins with entry ``start``."""
    return (
        "/cgi-bin/browse-edgar?action=getcurrent&type=&company=&dateb=&owner=include"
        f"&start={start}&count={PAGE}&output=atom"
    )


def index_path(day: date) -> str:
    """Where the index of a day stands."""
    quarter = (day.month - 1) // 3 + 1
    return f"/Archives/edgar/daily-index/{day.year}/QTR{quarter}/master.{day:%Y%m%d}.idx"


def document_path(cik: int, accession: str) -> str:
    """Where the full submission of a filing stands, with every document in it."""
    return f"/Archives/edgar/data/{cik}/{accession}.txt"


def company(app: App, text: str) -> int:
    """The CIK of a company to follow: a ticker that is known, or a CIK; UNKNOWN_TICKER for anything else."""
    with app.db.read() as tx:
        if text.isascii() and text.isdigit() and len(text) <= 10:
            return int(text)
        return companies.find(tx, text).cik
