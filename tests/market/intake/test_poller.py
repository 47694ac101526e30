"""The poller against a local EDGAR: its requests, its rows, and its back-off after refusals."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.errors import UsageError
from finapi.delivery import events, sniper, webhooks
from finapi.market.intake import fetch_queue, replay
from finapi.market.intake.gateway import BackOffError, Gateway
from finapi.market.intake.poller import MAX_FAILURES_IN_A_ROW, Poller, build_document_path, build_index_path
from finapi.market.reference import companies
from finapi.ops import status
from finapi.store import heartbeats
from finapi.store.db import OperationalError
from tests.conftest import NOW, SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.edgar_server import AGENT, FakeEdgar, Page, entry, fake_edgar, feed, full_submission

APPLE, ACCESSION = 320193, "0000320193-26-000001"
ERRORS = SHARED / "edgar" / "http_errors"
SUBMISSIONS = f"/submissions/CIK{APPLE:010}.json"


@pytest.fixture
def edgar(make_app: Callable[..., App]) -> Iterator[FakeEdgar]:
    with fake_edgar() as (edgar, server):
        edgar.url = f"http://127.0.0.1:{server.port}"  # type: ignore[attr-defined]
        edgar.feed[0] = Page(feed())
        yield edgar


@pytest.fixture
def app(make_app: Callable[..., App], edgar: FakeEdgar) -> App:
    polling_app = make_app(
        user_agent=AGENT,
        base_url=edgar.url,  # type: ignore[attr-defined]
        edgar_per_second=10_000.0,
    )
    # Nothing is missing of the days before, unless a test says so.
    with polling_app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-31")
        companies.upsert_name(tx, APPLE, "Apple Inc.", companies.FROM_SUBMISSIONS, "2025-01-01")
        companies.upsert_tickers(tx, APPLE, [("AAPL", "Nasdaq")], companies.FROM_SUBMISSIONS)
    return polling_app


@pytest.fixture
def poller(app: App) -> Iterator[Poller]:
    gateway = Gateway(app)
    yield Poller(app, gateway, interval_seconds=0.0)
    gateway.close()


def filings_held(app: App) -> list[tuple[str, str, str]]:
    """Accession, form and acceptance of every filing."""
    with app.db.read() as tx:
        rows = tx._connection.execute("SELECT accession, form, accepted_at FROM filings ORDER BY accession")
        return [tuple(row) for row in rows]


def documents(app: App) -> dict[str, tuple[str, str | None]]:
    with app.db.read() as tx:
        rows = tx._connection.execute("SELECT accession, state, reason FROM wanted_documents")
        return {row[0]: (row[1], row[2]) for row in rows}


def beats(app: App) -> dict[str, str | None]:
    with app.db.read() as tx:
        return {name: beat.failure for name, beat in heartbeats.get_heartbeats(tx).items()}


def follow(app: App, cik: int = APPLE) -> None:
    with app.db.write() as tx:
        assert fetch_queue.follow_company(tx, cik, app.clock.now())


def submissions(*accessions: str, form: str = "10-Q", xbrl: int = 1) -> bytes:
    count = len(accessions)
    recent = {
        "accessionNumber": list(accessions),
        "filingDate": ["2026-01-30"] * count,
        "reportDate": ["2025-12-31"] * count,
        "acceptanceDateTime": ["2026-01-30T21:30:00.000Z"] * count,
        "form": [form] * count,
        "primaryDocument": ["a.htm"] * count,
        "primaryDocDescription": [form] * count,
        "items": [""] * count,
        "size": [1000] * count,
        "isXBRL": [xbrl] * count,
        "isInlineXBRL": [xbrl] * count,
        "act": ["34"] * count,
        "fileNumber": ["001-1"] * count,
        "filmNumber": ["1"] * count,
    }
    company = {
        "cik": str(APPLE),
        "name": "Apple Inc.",
        "tickers": ["AAPL"],
        "exchanges": ["Nasdaq"],
        "sic": "3571",
        "filings": {"recent": recent, "files": []},
    }
    return json.dumps(company).encode()


# ---- the feed


def test_feed_filing_is_stored_and_announced(app: App, edgar: FakeEdgar, poller: Poller, user: users.NewUser) -> None:
    watched = sniper.WatchedCompany(APPLE, "AAPL")
    body = {"webhook_url": "https://example.com/hook", "form_types": ["8-K"]}
    sniper.create_target(app, user.id, watched, body, NOW, lambda tx, answer: answer)
    edgar.feed[0] = Page(feed(entry(ACCESSION, items="2.02")))
    poller.run_poll_step()
    assert filings_held(app) == [(ACCESSION, "8-K", "2026-01-31T11:30:00.000Z")]
    with app.db.read() as tx:
        (delivery,) = webhooks.list_deliveries(tx, user.id, 50)["deliveries"]
    assert (delivery["event_type"], delivery["payload"]["accession_number"]) == ("sniper.filing_hit", ACCESSION)
    assert delivery["occurred_at"] == "2026-01-31T11:30:00.000Z"
    assert beats(app) == dict.fromkeys(["sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway"])


def test_feed_request_has_contact(edgar: FakeEdgar, poller: Poller) -> None:
    poller.run_poll_step()
    (request,) = edgar.requests
    assert request.headers["user-agent"] == AGENT
    assert request.headers["accept-encoding"] == "gzip"
    assert "action=getcurrent" in request.line
    assert "count=100" in request.line


@run_each_case("agent", ["", "finapi", "ann@localhost", "@example.com"])
def test_no_request_without_contact(make_app: Callable[..., App], agent: str) -> None:
    with pytest.raises(UsageError, match="contact address"):
        Gateway(make_app(user_agent=agent))


@pytest.mark.parametrize("agent", ["Z\u00fcrich ann@example.com", "Ann ann@example.com\r\nX: y"])
def test_contact_that_is_not_ascii_is_refused(make_app: Callable[..., App], agent: str) -> None:
    with pytest.raises(UsageError, match="--user-agent must be ASCII"):
        Gateway(make_app(user_agent=agent))


def test_gzip_reply_is_decompressed(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    edgar.feed[0] = Page(gzip.compress(feed(entry(ACCESSION))), headers={"Content-Encoding": "gzip"})
    poller.run_poll_step()
    assert len(filings_held(app)) == 1


@pytest.mark.parametrize(
    "page",
    [
        Page(gzip.compress(feed())[:-9], headers={"Content-Encoding": "gzip"}),
        Page(b"plain", headers={"Content-Encoding": "gzip"}),
        Page(b"", headers={"Content-Encoding": "br"}),
    ],
)
def test_invalid_gzip_reply_is_a_failure(app: App, edgar: FakeEdgar, poller: Poller, page: Page) -> None:
    edgar.feed[0] = page
    assert poller.run_poll_step() > 1
    assert "not valid gzip" in poller.counts.problems[0]


def pages(count: int, size: int = 100) -> dict[int, Page]:
    """Return a feed of n pages with one filing for each entry, newest first, a minute apart."""
    newest = datetime(2026, 1, 31, 11, 0, tzinfo=UTC)
    numbers = itertools.count()
    feed_pages = {}
    for page in range(count):
        entries = []
        for _ in range(size):
            number = next(numbers)
            moment = newest - timedelta(minutes=number)
            entries.append(entry(f"0000320193-26-{999_999 - number:06}", accepted=moment.isoformat()))
        feed_pages[page * 100] = Page(feed(*entries))
    return feed_pages


def test_first_reading_reaches_end_of_feed(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    edgar.feed = pages(3)
    edgar.feed[300] = Page(b"<html>SEC.gov | File Unavailable</html>", 503)
    poller.run_poll_step()
    assert edgar.paths == ["feed 0", "feed 100", "feed 200", "feed 300"]
    assert len(filings_held(app)) == 300
    assert poller.counts.problems == []


def test_later_readings_go_back_to_watermark(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.feed = pages(2)
    poller.run_poll_step()
    edgar.requests.clear()
    poller.run_poll_step()
    assert edgar.paths == ["feed 0"]
    # More than two pages are new: the reading goes on to the watermark.
    older = edgar.feed
    newer = [
        entry(
            f"0000789019-26-{number:06}",
            cik=789019,
            name="MICROSOFT CORP",
            accepted=(NOW - timedelta(seconds=number)).isoformat(),
        )
        for number in range(250)
    ]
    edgar.feed = {
        0: Page(feed(*newer[:100])),
        100: Page(feed(*newer[100:200])),
        200: Page(feed(*newer[200:])),
        300: older[0],
    }
    edgar.feed[200] = Page(
        feed(*newer[200:]).replace(
            b"</feed>", older[0].body.partition(b"<entry>")[1] + older[0].body.partition(b"<entry>")[2]
        )
    )
    edgar.requests.clear()
    poller.run_poll_step()
    assert edgar.paths == ["feed 0", "feed 100", "feed 200"]
    assert len(filings_held(app)) == 450


def test_feed_that_is_busy_too_early_is_read_again(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    poller.read_feed()
    edgar.feed = {0: Page(feed(entry("0000000001-26-000001", accepted="2026-01-29T06:30:00-05:00")))}
    poller.read_feed()
    lost = pages(3)
    edgar.feed = {**lost, 100: Page(b"", 503)}
    poller.read_feed()
    edgar.feed = lost
    poller.read_feed()
    assert len(filings_held(app)) == 301


def test_interrupted_reading_starts_again(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    edgar.feed = pages(3)
    lost, edgar.feed[200] = edgar.feed[200], Page(b"not a feed")
    poller.run_poll_step()
    assert "syntax error" in poller.counts.problems[0]
    assert len(filings_held(app)) == 200
    edgar.feed[200] = lost
    # As after a restart: nothing but the rows is remembered.
    again = Poller(app, Gateway(app), interval_seconds=0.0)
    again.run_poll_step()
    assert len(filings_held(app)) == 300
    assert again.counts.filings == 100


def test_filing_on_two_pages_is_announced_with_all_parties(
    app: App, edgar: FakeEdgar, poller: Poller, user: users.NewUser
) -> None:
    sniper.create_target(app, user.id, sniper.WatchedCompany(APPLE, "AAPL"), {}, NOW, lambda tx, answer: answer)
    newer = [entry(f"0000789019-26-{number:06}", cik=789019, name="MICROSOFT CORP") for number in range(99)]
    reporting = entry(ACCESSION, form="4", cik=1214156, name="COOK TIMOTHY D", role="Reporting")
    issuer = entry(ACCESSION, form="4", role="Issuer")
    edgar.feed = {0: Page(feed(*newer, reporting)), 100: Page(feed(issuer))}
    poller.run_poll_step()
    with app.db.read() as tx:
        targets = sniper.list_targets(app, tx, user.id, NOW, limit=10)
        announced = next(
            event for event in events.list_events_after(tx, events.MAIN_FEED, 0, 200) if ACCESSION in event.data
        )
    assert targets["targets"][0]["resolution_reason"] == "filing_hit"
    assert (announced.tags.tickers, announced.tags.ciks) == (("AAPL",), (f"{APPLE:010}", "0001214156"))


def test_invalid_entry_is_logged_once(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    wrong = entry("0000320193-26-000002").replace("(Filer)", "")
    edgar.feed[0] = Page(feed(wrong, entry(ACCESSION)))
    poller.run_poll_step()
    poller.run_poll_step()
    assert [row[0] for row in filings_held(app)] == [ACCESSION]
    assert [problem.partition("output=atom: ")[2] for problem in poller.counts.problems] == [
        "line 16, column 1: an entry whose title, id or filing date is not in this feed's format"
    ]
    assert beats(app)["sec_worker"] is None


def test_future_time_does_not_shorten_later_readings(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, accepted="2099-01-01T00:00:00-05:00")))
    poller.read_feed()
    newer = [entry(f"0000789019-26-{number:06}", accepted=NOW.isoformat()) for number in range(150)]
    edgar.feed = {0: Page(feed(*newer[:100])), 100: Page(feed(*newer[100:]))}
    poller.read_feed()
    assert len(filings_held(app)) == 151


def test_document_is_fetched_again_after_full_disk(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(app)
    edgar.feed[0] = Page(feed(entry(ACCESSION)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION))

    def full(*_: object) -> None:
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("finapi.market.intake.ingest._store_submission", full)
        with pytest.raises(OperationalError, match="cannot be stored: database or disk is full"):
            poller.run_poll_step()
    clock.advance(300)
    poller.fetch_due_documents()
    assert documents(app) == {ACCESSION: ("done", None)}


def test_same_feed_again_changes_nothing(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    edgar.feed[0] = Page(
        feed(entry(ACCESSION, form="4", role="Issuer"), entry(ACCESSION, form="4", cik=1, name="X", role="Reporting"))
    )
    poller.run_poll_step()
    with app.db.read() as tx:
        before = tx.find_value("data_version")
    poller.run_poll_step()
    with app.db.read() as tx:
        assert tx.find_value("data_version") == before
        assert [row["seq"] for row in tx.list_rows("events_after", feed="main-api", seq=0, limit=10, offset=0)] == [1]
    assert poller.counts.filings == 1


# ---- refusals


REFUSALS = [
    (Page(b"<html>Request Rate Threshold Exceeded</html>", 403), 600, "it answered 403"),
    (Page(b"<html>Request Rate Threshold Exceeded</html>", 429), 600, "it answered 429"),
    (Page(b"", 503), 60, "it answered 503"),
    (Page(b"", 429, {"Retry-After": "17"}), 17, "it answered 429"),
    (Page(b"", 503, {"Retry-After": "Sat, 31 Jan 2026 12:00:42 GMT"}), 42, "it answered 503"),
    (Page(b"", 503, {"Retry-After": "999999999"}), 86_400, "it answered 503"),
    (Page(b"", 503, {"Retry-After": "soon"}), 60, "it answered 503"),
    (Page(b"", 302, {"Location": "https://example.com/"}), 600, "it answered 302"),
]


@pytest.mark.parametrize(("page", "seconds", "reason"), REFUSALS)
def test_back_off_after_refusal(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock, page: Page, seconds: int, reason: str
) -> None:
    edgar.always = page
    assert poller.run_poll_step() == seconds
    assert reason in poller.counts.problems[0]
    # The workers live; the way to EDGAR is shut.
    assert beats(app)["sec_worker"] is None
    assert beats(app)["sec_gateway"] == reason
    # A restart does not shorten the back-off.
    clock.advance(seconds - 0.001)
    Poller(app, Gateway(app), interval_seconds=0.0).run_poll_step()
    assert len(edgar.requests) == 1
    clock.advance(0.001)
    edgar.always = None
    poller.run_poll_step()
    assert len(edgar.requests) == 2
    assert set(beats(app).values()) == {None}


def test_back_off_doubles_with_each_refusal(edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.always = Page(b"", 503)
    waits = []
    for _ in range(8):
        waits.append(poller.run_poll_step())
        clock.advance(waits[-1])
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    edgar.always = None
    poller.run_poll_step()
    edgar.always = Page(b"", 503)
    assert poller.run_poll_step() == 60


def test_back_off_without_connection(app: App, make_app: Callable[..., App]) -> None:
    alone = make_app(user_agent=AGENT, base_url="http://127.0.0.1:1", edgar_per_second=1000.0)
    poller = Poller(alone, Gateway(alone), interval_seconds=0.0)
    assert poller.run_poll_step() == 30
    assert "Connection refused" in poller.counts.problems[0]


@needs_shared
@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("rate_exceeded.html", 403, "told off"),
        ("rate_exceeded.html", 200, "told off"),
        ("getcurrent_503.html", 200, "told off"),
        ("getcurrent_503.html", 503, "told off"),
        ("fullindex_future_403.xml", 403, "missing"),
        ("submissions_unknown_cik_404.xml", 404, "missing"),
    ],
)
def test_recorded_refusals(app: App, edgar: FakeEdgar, name: str, status: int, kind: str) -> None:
    edgar.always = Page((ERRORS / name).read_bytes(), status)
    gateway = Gateway(app)
    if kind == "missing":
        assert gateway.get("www", "/x").kind == "missing"
    else:
        with pytest.raises(BackOffError):
            gateway.get("www", "/x")


def test_requests_are_spaced_evenly(
    make_app: Callable[..., App], edgar: FakeEdgar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.market.intake.gateway.time", SimpleNamespace(monotonic=lambda: 100.0))
    app = make_app(user_agent=AGENT, base_url=edgar.url, edgar_per_second=10.0)  # type: ignore[attr-defined]
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return False

    # A poll command that a server executes has its own gateway; the SEC's limit applies to both together.
    gateways = Gateway(app, wait=wait), Gateway(app, wait=wait)
    for number in range(11):
        gateways[number % 2].get("www", "/x")
    # The last of eleven simultaneous requests is a second after the first.
    assert waited == pytest.approx([number / 10 for number in range(1, 11)])


# ---- the day's index


def index(*lines: str) -> bytes:
    head = "Description: Master Index\n\nCIK|Company Name|Form Type|Date Filed|File Name\n" + "-" * 80 + "\n"
    return (head + "".join(f"{line}\n" for line in lines)).encode()


def test_index_closes_gap_of_ended_days(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-28")
    line = "320193|Apple Inc.|8-K|20260129|edgar/data/320193/0000320193-26-000009.txt"
    edgar.pages[build_index_path(datetime(2026, 1, 29).date())] = Page(index(line))
    edgar.pages[build_index_path(datetime(2026, 1, 30).date())] = Page(index())
    poller.run_poll_step()
    indexes = [path for path in edgar.paths if "daily-index" in path]
    # Noon of Saturday in UTC: Friday has ended, Saturday and Sunday have no index.
    assert indexes == [
        "/Archives/edgar/daily-index/2026/QTR1/master.20260129.idx",
        "/Archives/edgar/daily-index/2026/QTR1/master.20260130.idx",
    ]
    assert [row[0] for row in filings_held(app)] == ["0000320193-26-000009"]


def test_broken_line_of_an_index_is_reported(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-29")
    line = "320193|Apple Inc.|8-K|20260130|edgar/data/320193/0000320193-26-000009.txt"
    edgar.pages[build_index_path(datetime(2026, 1, 30).date())] = Page(index("320193|Apple", line))
    poller.run_poll_step()
    assert [row[0] for row in filings_held(app)] == ["0000320193-26-000009"]
    (problem,) = poller.counts.problems
    assert problem.endswith("master.20260130.idx: line 5: is not five columns separated by bars")


def test_missing_index_is_requested_until_it_is_a_holiday(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock
) -> None:
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-29")
    for _ in range(3):
        poller.run_poll_step()
    assert sum("20260130" in path for path in edgar.paths) == 1
    clock.advance(3600)
    poller.run_poll_step()
    assert sum("20260130" in path for path in edgar.paths) == 2
    clock.advance(3 * 86_400)
    poller.run_poll_step()
    poller.run_poll_step()
    with app.db.read() as tx:
        assert tx.find_value("poll_state", name="indexed_through") == "2026-01-30"


# ---- documents


def test_documents_of_followed_companies_are_fetched_once(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(submissions(), headers={"ETag": '"v1"'})
    edgar.feed[0] = Page(feed(entry(ACCESSION), entry("0000789019-26-000001", cik=789019, name="MICROSOFT CORP")))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION))
    for _ in range(4):
        poller.run_poll_step()
    assert documents(app) == {ACCESSION: ("done", None)}
    assert edgar.paths.count(build_document_path(APPLE, ACCESSION)) == 1
    assert poller.counts.documents == 1
    with app.db.read() as tx:
        row = tx._connection.execute("SELECT primary_document FROM filings WHERE accession = ?", [ACCESSION]).fetchone()
    assert row[0] == "main.htm"


def test_ownership_forms_and_13f_are_fetched_for_all(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    forms = ["4", "13F-HR", "13F-HR/A", "424B2", "40-F", "13F-NT", "3/A"]
    edgar.feed[0] = Page(feed(*[entry(f"0000320193-26-{number:06}", form=form) for number, form in enumerate(forms)]))
    poller.read_feed()
    assert sorted(documents(app)) == [f"0000320193-26-{number:06}" for number in (0, 1, 2, 6)]


def test_missing_document_is_requested_again(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
    for _ in range(3):
        poller.run_poll_step()
    assert edgar.paths.count(build_document_path(APPLE, ACCESSION)) == 1
    clock.advance(60)
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION, form="4"))
    poller.run_poll_step()
    assert documents(app)[ACCESSION][0] == "done"


def list_request_minutes(edgar: FakeEdgar, poller: Poller, clock: FixedClock, days: int) -> list[int]:
    """Return the seconds after which the document was requested, with a step of the poller every minute."""
    began, request_minutes = clock.now(), list[int]()
    for _ in range(days * 1440):
        before = edgar.paths.count(build_document_path(APPLE, ACCESSION))
        poller.fetch_due_documents()
        if edgar.paths.count(build_document_path(APPLE, ACCESSION)) > before:
            request_minutes.append(round((clock.now() - began).total_seconds()))
        clock.advance(60)
    return request_minutes


DOCUMENT_PATH = build_document_path(APPLE, ACCESSION)
WHOLE = full_submission(ACCESSION)
MAINTENANCE = b"<html><head><title>SEC.gov | Maintenance</title></head></html>"
# Replies in place of a document, and the reason why it is postponed.
WRONG = {
    "missing": (Page(b"nothing", 404), "does not exist"),
    "500": (Page(b"", 500), "answered 500"),
    "503": (Page(b"", 503), "answered 503"),
    "410": (Page(b"", 410), "answered 410"),
    "redirect": (Page(b"", 302, {"Location": "https://example.com/"}), "answered 302"),
    "maintenance": (Page(MAINTENANCE), "answered with an error page"),
    "any page": (Page(b"<html>Back soon</html>"), "is not complete: no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>"),
    "empty": (Page(b""), "is not complete: no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>"),
    "json": (Page(b"{}"), "is not complete: no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>"),
    "half": (Page(WHOLE[: len(WHOLE) // 2]), "is not complete: cut off: it has no end"),
    "without its end": (Page(WHOLE[:-18]), "is not complete: cut off: no </SEC-DOCUMENT>"),
    "broken off": (
        Page(WHOLE, headers={"Content-Length": "99999"}),
        "the connection was closed in the middle of the reply",
    ),
    "no gzip": (Page(WHOLE, headers={"Content-Encoding": "gzip"}), "a reply that is not valid gzip or too large"),
    "another": (Page(full_submission("0000320193-26-000009")), "is the submission 0000320193-26-000009"),
}


@pytest.mark.parametrize("name", WRONG)
def test_incomplete_document_is_postponed(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock, name: str
) -> None:
    page, reason = WRONG[name]
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4"), entry("0000320193-26-000002", form="4")))
    edgar.pages[DOCUMENT_PATH] = page
    other = build_document_path(APPLE, "0000320193-26-000002")
    edgar.pages[other] = Page(full_submission("0000320193-26-000002", form="4"))
    for _ in range(5):
        poller.run_poll_step()
    # Requested once, and nothing else waits for it.
    assert (edgar.paths.count(DOCUMENT_PATH), edgar.paths.count("feed 0")) == (1, 5)
    assert documents(app) == {ACCESSION: ("due", reason), "0000320193-26-000002": ("done", None)}
    assert poller.counts.put_off == 1
    assert beats(app)["sec_gateway"] is None
    edgar.pages[DOCUMENT_PATH] = Page(full_submission(ACCESSION, form="4"))
    clock.advance(60)
    poller.run_poll_step()
    assert documents(app)[ACCESSION][0] == "done"


def test_document_is_given_up_after_ten_tries(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
    edgar.pages[DOCUMENT_PATH] = Page(MAINTENANCE)
    poller.read_feed()
    minutes = [0, 1, 6, 21, 81, 261, 621, 1341, 2781, 4221]
    assert list_request_minutes(edgar, poller, clock, days=4) == [60 * minute for minute in minutes]
    assert documents(app) == {ACCESSION: ("refused", "answered with an error page")}
    with app.db.read() as tx:
        (failed_document,) = fetch_queue.list_failed_documents(tx)
    assert (failed_document["state"], failed_document["tries"], failed_document["next_try_at"]) == (
        "given_up",
        10,
        None,
    )
    assert failed_document["given_up_at"] == iso(NOW + timedelta(minutes=4221))
    figures = app.metrics.render(status.compute_metrics(app)).splitlines()
    assert 'finapi_edgar_documents_total{outcome="given_up"} 1' in figures
    assert 'finapi_edgar_documents_total{outcome="put_off"} 9' in figures
    assert "finapi_edgar_documents_given_up 1" in figures
    assert fetch_queue.retry_documents(app, ["0000320193-26-000002", None], clock.now()) == [0, 1]
    edgar.pages[DOCUMENT_PATH] = Page(full_submission(ACCESSION, form="4"))
    poller.fetch_due_documents()
    with app.db.read() as tx:
        assert (fetch_queue.list_failed_documents(tx), fetch_queue.count_given_up(tx)) == ([], 0)
    assert documents(app) == {ACCESSION: ("done", None)}


def test_retry_after_of_reply_is_respected(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
    edgar.pages[DOCUMENT_PATH] = Page(b"", 503, {"Retry-After": "600"})
    for seconds in (0, 599, 1):
        clock.advance(seconds)
        poller.run_poll_step()
    assert (edgar.paths.count(DOCUMENT_PATH), edgar.paths.count("feed 0")) == (2, 3)


def test_failing_document_does_not_delay_feed(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
    edgar.pages[DOCUMENT_PATH] = Page(b"", 500)
    for _ in range(84):
        poller.run_poll_step()
        clock.advance(5)
    # Seven minutes of a feed every five seconds.
    assert edgar.paths.count("feed 0") == 84
    assert edgar.paths.count(DOCUMENT_PATH) == 3


def test_feed_is_read_after_repeated_document_failures(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock
) -> None:
    accessions = [f"0000320193-26-{number:06}" for number in range(10)]
    edgar.feed[0] = Page(feed(*[entry(accession, form="4") for accession in accessions]))
    for accession in accessions:
        edgar.pages[build_document_path(APPLE, accession)] = Page(b"", 500)
    poller.run_poll_step()
    assert len(edgar.requests) == 1 + MAX_FAILURES_IN_A_ROW
    edgar.feed[0] = Page(b"", 500)
    assert poller.run_poll_step() == 60
    # None of the others has lost a try to an outage.
    assert sum(reason is None for _, reason in documents(app).values()) == 10 - MAX_FAILURES_IN_A_ROW


def test_feed_is_read_first_after_back_off(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
    edgar.pages[DOCUMENT_PATH] = Page(b"<html>Request Rate Threshold Exceeded</html>", 429)
    poller = Poller(app, Gateway(app), interval_seconds=5.0, monotonic=clock.monotonic)
    poller.run_poll_step()
    for _ in range(300):
        clock.advance(min(poller.run_poll_step(), 5.0))
    # In 25 minutes: each time behind a reading of the feed, and for ten minutes, not for longer and longer.
    requested_paths = [path for path in edgar.paths if path in ("feed 0", DOCUMENT_PATH)]
    blocked = [before for before, path in itertools.pairwise(requested_paths) if path == DOCUMENT_PATH]
    assert blocked == ["feed 0"] * len(blocked)
    assert requested_paths.count(DOCUMENT_PATH) == 3
    assert documents(app) == {ACCESSION: ("due", "it answered 429")}


@pytest.mark.parametrize("path", [SUBMISSIONS, build_index_path(datetime(2026, 1, 30).date())])
def test_failing_list_or_index_is_requested_hourly(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock, path: str
) -> None:
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-29")
    follow(app)
    edgar.pages[path] = Page(b"", 500)
    for _ in range(70):
        poller.run_poll_step()
        clock.advance(60)
    assert (edgar.paths.count(path), edgar.paths.count("feed 0")) == (2, 70)
    assert beats(app)["sec_gateway"] is None


def test_wrong_page_is_not_stored_as_list(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(b"<html>Back soon</html>", headers={"ETag": '"v1"'})
    poller.run_poll_step()
    assert len(poller.counts.problems) == 1
    clock.advance(3600)
    poller.run_poll_step()
    requests = [received for received in edgar.requests if SUBMISSIONS in received.line]
    assert [received.headers.get("if-none-match") for received in requests] == [None, None]


def test_invalid_document_is_refused_and_others_fetched(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    follow(app)
    other = "0000320193-26-000002"
    edgar.feed[0] = Page(feed(entry(ACCESSION), entry(other)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION).replace(b"</TEXT>", b""))
    edgar.pages[build_document_path(APPLE, other)] = Page(full_submission(other))
    poller.run_poll_step()
    states = documents(app)
    assert states[ACCESSION][0] == "refused"
    assert states[ACCESSION][1]
    assert states[other] == ("done", None)


def test_back_off_between_documents_loses_none(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    follow(app)
    edgar.feed[0] = Page(feed(entry(ACCESSION)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(b"", 403)
    assert poller.run_poll_step() == 600
    assert documents(app) == {ACCESSION: ("due", "it answered 403")}
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION))
    clock.advance(600)
    poller.run_poll_step()
    assert documents(app) == {ACCESSION: ("done", None)}


def test_failed_document_does_not_block_others(app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock) -> None:
    follow(app)
    other = "0000320193-26-000002"
    edgar.feed[0] = Page(feed(entry(other), entry(ACCESSION)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(b"", 500)
    edgar.pages[build_document_path(APPLE, other)] = Page(full_submission(other))
    clock.advance(poller.run_poll_step())
    poller.run_poll_step()
    assert documents(app) == {ACCESSION: ("due", "answered 500"), other: ("done", None)}


def test_too_long_document_is_refused_without_back_off(
    app: App, edgar: FakeEdgar, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.market.intake.gateway.MAX_DOCUMENT_BYTES", 5_000)
    follow(app)
    edgar.feed[0] = Page(feed(entry(ACCESSION)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION) * 10)
    poller.run_poll_step()
    assert documents(app) == {ACCESSION: ("refused", "is larger than any document that is read")}
    assert poller.counts.problems == []


# ---- followed companies


def test_followed_list_is_fetched_when_it_may_be_new(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock
) -> None:
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(submissions(ACCESSION), headers={"ETag": '"v1"'})
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION, form="10-Q"))
    for _ in range(3):
        poller.run_poll_step()
    assert edgar.paths.count(SUBMISSIONS) == 1
    assert documents(app) == {ACCESSION: ("done", None)}
    clock.advance(86_400)
    poller.run_poll_step()
    requests = [received for received in edgar.requests if SUBMISSIONS in received.line]
    assert [received.headers.get("if-none-match") for received in requests] == [None, '"v1"']
    # A filing in the feed hastens the next look.
    edgar.feed[0] = Page(feed(entry("0000320193-26-000002")))
    poller.run_poll_step()
    assert edgar.paths.count(SUBMISSIONS) == 3


def test_recent_filings_of_newly_followed_company_are_fetched(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(submissions(ACCESSION, form="CORRESP", xbrl=0))
    poller.run_poll_step()
    assert documents(app) == {}


def test_fund_reports_are_fetched_for_followed_registrants_only(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    with app.db.write() as tx:
        fetch_queue.queue_filing(tx, NOW, "0000320193-26-000001", "NPORT-P", [APPLE])
    assert documents(app) == {}
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(submissions(ACCESSION, form="NPORT-P", xbrl=0))
    poller.run_poll_step()
    assert set(documents(app)) == {ACCESSION}


@run_each_case(
    "settings, expected",
    [
        ({}, {"10-Q"}),
        ({"follow_days": 1}, set()),
        ({"follow_forms": ("10-K", "8-K")}, set()),
        ({"follow_forms": ("10-Q",)}, {"10-Q"}),
    ],
)
def test_follow_days_and_forms_are_settings(
    make_app: Callable[..., App], edgar: FakeEdgar, settings: dict[str, object], expected: set[str]
) -> None:
    url = edgar.url  # type: ignore[attr-defined]
    app = make_app(user_agent=AGENT, base_url=url, edgar_per_second=10_000.0, **settings)
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-31")
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(submissions("0000320193-26-000002"))  # of the day before yesterday
    poller = Poller(app, Gateway(app), interval_seconds=0.0)
    app.clock.advance(seconds=86_400)  # type: ignore[attr-defined]
    poller.run_poll_step()
    with app.db.read() as tx:
        forms = {row[0] for row in tx._connection.execute("SELECT form FROM wanted_documents")}
    assert forms == expected


def test_feed_filings_are_limited_to_followed_forms(app: App) -> None:
    follow(app)
    with app.db.write() as tx:
        fetch_queue.queue_filing(tx, NOW, "0000320193-26-000001", "CORRESP", [APPLE], ("10-K",))
        fetch_queue.queue_filing(tx, NOW, "0000320193-26-000002", "10-K/A", [APPLE], ("10-K",))
        fetch_queue.queue_filing(tx, NOW, "0000320193-26-000003", "4", [APPLE], ("10-K",))
    assert sorted(documents(app)) == ["0000320193-26-000002", "0000320193-26-000003"]


def test_unstored_reply_is_requested_unconditionally(
    app: App, edgar: FakeEdgar, poller: Poller, clock: FixedClock
) -> None:
    follow(app)
    edgar.pages[SUBMISSIONS] = Page(b'{"cik": 1}', headers={"ETag": '"v1"'})
    edgar.feed[0] = Page(feed(entry(ACCESSION)))
    edgar.pages[build_document_path(APPLE, ACCESSION)] = Page(full_submission(ACCESSION))
    poller.run_poll_step()
    assert poller.counts.problems
    assert beats(app)["sec_worker"] == poller.counts.problems[0]
    # Everything else is fetched, and it is requested again an hour later.
    assert documents(app) == {ACCESSION: ("done", None)}
    poller.run_poll_step()
    poller.run_poll_step()
    clock.advance(3600)
    poller.run_poll_step()
    requests = [received for received in edgar.requests if SUBMISSIONS in received.line]
    assert [received.headers.get("if-none-match") for received in requests] == [None, None]


def test_companies_are_followed_and_unfollowed(app: App) -> None:
    follow(app)
    follow(app, 1067983)
    with app.db.write() as tx:
        assert not fetch_queue.follow_company(tx, APPLE, NOW)
        assert fetch_queue.list_followed(tx) == [
            {"cik": "0000320193", "ticker": "AAPL", "name": "Apple Inc.", "added_at": iso(NOW)},
            {"cik": "0001067983", "ticker": None, "name": "CIK 0001067983", "added_at": iso(NOW)},
        ]
        assert fetch_queue.unfollow_company(tx, APPLE, NOW)
        assert not fetch_queue.unfollow_company(tx, APPLE, NOW)
        assert fetch_queue.count_due_documents(tx, NOW) == 0


# ---- archives and replays


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_an_archive_directory_is_read_like_edgar(make_app: Callable[..., App], tmp_path: Path, scheme: str) -> None:
    (tmp_path / "submissions").mkdir()
    (tmp_path / SUBMISSIONS.lstrip("/")).write_bytes(submissions(ACCESSION))
    file = tmp_path / build_document_path(APPLE, ACCESSION).lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_bytes(full_submission(ACCESSION, form="10-Q"))
    app = make_app(base_url=f"{scheme}{tmp_path}")
    follow(app)
    Poller(app, Gateway(app), interval_seconds=0.0).run_poll_step()
    assert documents(app) == {ACCESSION: ("done", None)}


def test_pipe_in_archive_directory_is_missing(make_app: Callable[..., App], tmp_path: Path) -> None:
    pipe = tmp_path / "submissions" / "CIK0000320193.json"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    app = make_app(base_url=str(tmp_path))
    assert Gateway(app).get("data", "/submissions/CIK0000320193.json").kind == "missing"


def recorded(folder: Path, moment: str, start: int, *entries: str) -> None:
    (folder / f"getcurrent_{moment}_start{start}.atom").write_bytes(feed(*entries))


def test_recording_is_played_in_order_and_at_speed(app: App, user: users.NewUser, tmp_path: Path) -> None:
    recorded(tmp_path, "20260131T060000", 0, entry("0000320193-26-000001"))
    recorded(tmp_path, "20260131T060100", 0, entry("0000320193-26-000002"), entry("0000320193-26-000001"))
    recorded(tmp_path, "20260131T060230", 0, entry("0000320193-26-000003", form="4"))
    file = tmp_path / build_document_path(APPLE, "0000320193-26-000003").lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_bytes(full_submission("0000320193-26-000003", form="4"))
    waits: list[tuple[float, int]] = []
    counts = replay.play(app, tmp_path, 60.0, lambda seconds: waits.append((seconds, len(filings_held(app)))))
    assert waits == [(0.0, 0), (1.0, 1), (1.5, 2)]
    assert (counts.filings, counts.documents) == (3, 1)
    assert replay.play(app, tmp_path, 1e6, lambda seconds: None).filings == 0


def test_empty_folder_is_not_a_recording(app: App, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recorded page"):
        replay.play(app, tmp_path, 60.0, lambda seconds: None)


@needs_shared
def test_recorded_minute_of_12_december_2025(app: App) -> None:
    waits: list[float] = []
    counts = replay.play(app, SHARED / "edgar" / "feeds", 60.0, waits.append)
    # Two readings 57 s apart. The second goes back to the first within its first page; the accession numbers
    # of both first pages were counted with grep.
    assert waits == [0.0, 0.95]
    assert counts.filings == len(filings_held(app)) == 52
    assert set(documents(app).values()) == {("due", "does not exist")}


def test_missing_feed_is_reported_and_other_parts_run(app: App, edgar: FakeEdgar, poller: Poller) -> None:
    follow(app)
    edgar.feed[0] = Page(b"", 404)
    edgar.pages[SUBMISSIONS] = Page(submissions(ACCESSION))
    poller.run_poll_step()
    (problem,) = poller.counts.problems
    assert problem.endswith("the feed of new filings does not exist: answered 404")
    assert beats(app)["news_daemon"] == problem
    assert ACCESSION in documents(app)
