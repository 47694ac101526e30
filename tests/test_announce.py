"""What is news: which events the storing of documents causes, and which it does not."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.delivery import events
from finapi.delivery.events import EventTags
from finapi.edgar import ownership_forms
from finapi.edgar.form_families import OWNERSHIP
from finapi.market.documents import announcements, filing_rows, filing_store, metadata
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.insiders import insider_store
from finapi.market.intake import ingest
from tests.api import ACCESSION, put, report
from tests.conftest import NOW
from tests.support import ownership_xml
from tests.test_ingest import ACCESSION as NETFLIX
from tests.test_ingest import FILING, SUBMISSIONS
from tests.test_sniper import outbox

Told = list[tuple[str, dict[str, Any]]]


def told(app: App, feed: str = events.MAIN_FEED) -> Told:
    """Type and data of every event, in order."""
    with app.db.read() as tx:
        return [(event.type, json.loads(event.data)) for event in events.list_events_after(tx, feed, 0, 1000)]


def types(app: App, feed: str = events.MAIN_FEED) -> list[str]:
    return [type for type, _ in told(app, feed)]


def newest(app: App, feed: str = events.MAIN_FEED) -> events.Event:
    with app.db.read() as tx:
        return events.list_events_before(tx, feed, 1_000_000, 1)[0]


def listing(tmp_path: Path, **changes: str) -> Path:
    """A list of filings of Netflix with one 10-Q, changed; as a file."""
    recent: dict[str, Any] = {**SUBMISSIONS["filings"]["recent"]}  # type: ignore[index]
    recent.update({name: [value] for name, value in changes.items()})
    file = tmp_path / f"CIK0001065280-{len(list(tmp_path.iterdir()))}.json"
    file.write_text(json.dumps({**SUBMISSIONS, "filings": {"recent": recent, "files": []}}))
    return file


def run(app: App, *paths: Path, given: IngestOptions | None = None) -> None:
    counts = ingest.run(app, paths, given or IngestOptions(), lambda outcome: None)
    assert counts["refused"] == 0


def test_a_filing_of_its_own_is_announced_with_its_figures_however_old_it_is(app: App) -> None:
    put(app, report())
    assert told(app) == [
        (
            "new_filing",
            {
                "id": 123456725000001,
                "accession_number": "0001234567-25-000001",
                "ticker": "BRK-B",
                "cik": "0001234567",
                "company_name": "Brook Lamps Inc.",
                "filed_at": "2025-02-01",
                "entity_name": "Brook Lamps Inc.",
                "form_type": "10-K",
                "title": "10-K - Brook Lamps Inc. (0001234567)",
                "filing_size": None,
                "filed_date": "2025-02-01",
                "period_of_report": "2024-12-31",
                "accepted_at": None,
                "updated_at": "2026-01-31T12:00:00.000Z",
                "primary_description": None,
                "document_files": [],
                "data_files": [],
                "items": [],
                "is_xbrl": True,
                "first_seen_at": "2026-01-31T12:00:00.000Z",
                "last_seen_at": "2026-01-31T12:00:00.000Z",
                "sic": None,
                "primary_link": "https://www.sec.gov/Archives/edgar/data/1234567/000123456725000001/"
                "0001234567-25-000001-index.htm",
                "primary_html_url": None,
                "all_links": [
                    "https://www.sec.gov/Archives/edgar/data/1234567/000123456725000001/0001234567-25-000001-index.htm"
                ],
            },
        ),
        (
            "data_ready",
            {
                "accession_number": "0001234567-25-000001",
                "ticker": "BRK-B",
                "cik": "0001234567",
                "company_name": "Brook Lamps Inc.",
                "filed_at": "2025-02-01",
                "form_type": "10-K",
                "period_of_report": "2024-12-31",
                "fiscal_year": 2024,
                "fiscal_period": "FY",
                "statement_count": 4,
            },
        ),
    ]


def test_the_same_documents_again_are_no_news(app: App) -> None:
    put(app, report())
    put(app, report())
    assert types(app) == ["new_filing", "data_ready"]


def test_other_documents_of_a_known_filing_are_new_figures_and_no_new_filing(app: App) -> None:
    put(app, report())
    put(app, report(revenue="5"))
    assert types(app) == ["new_filing", "data_ready", "data_ready"]


def test_an_event_is_about_every_ticker_of_the_company(app: App) -> None:
    put(app, report())
    assert newest(app).tags == EventTags(("BRK-B", "BRK-A"), ("0001234567",), "10-K")


def test_an_event_occurred_when_the_filing_was_accepted(app: App, tmp_path: Path) -> None:
    run(app, listing(tmp_path, filingDate="2026-01-30", acceptanceDateTime="2026-01-30T21:05:09.000Z"))
    assert newest(app).occurred_at == "2026-01-30T21:05:09.000Z"


@pytest.mark.parametrize(
    ("filed_at", "occurred_at"), [("2025-02-01", "2025-02-01T00:00:00.000Z"), (None, "2026-01-31T12:00:00.000Z")]
)
def test_without_an_acceptance_the_day_stands_and_without_a_day_the_present(
    app: App, filed_at: str | None, occurred_at: str
) -> None:
    put(app, report(), filed_at=filed_at)
    assert newest(app).occurred_at == occurred_at


@pytest.mark.parametrize(("age", "announced"), [(0, True), (7, True), (8, False), (4000, False)])
def test_of_a_list_only_the_last_seven_days_are_news(app: App, tmp_path: Path, age: int, announced: bool) -> None:
    day = (NOW - timedelta(days=age)).date().isoformat()
    run(app, listing(tmp_path, filingDate=day, acceptanceDateTime=f"{day}T12:00:00.000Z"))
    assert types(app) == (["new_filing"] if announced else [])


def test_a_list_read_twice_announces_once(app: App, tmp_path: Path) -> None:
    recent = listing(tmp_path, filingDate="2026-01-30", acceptanceDateTime="2026-01-30T21:05:09.000Z")
    run(app, recent)
    run(app, recent)
    assert types(app) == ["new_filing"]


def test_a_filing_listed_in_silence_is_announced_with_its_documents(app: App, tmp_path: Path) -> None:
    run(app, listing(tmp_path))
    assert types(app) == []
    run(app, FILING)
    assert [(type, data["accession_number"]) for type, data in told(app)] == [
        ("new_filing", NETFLIX),
        ("data_ready", NETFLIX),
    ]


def test_a_report_without_a_known_filing_is_announced_when_the_filing_is_known(app: App, tmp_path: Path) -> None:
    run(app, FILING)
    assert types(app) == []
    run(app, listing(tmp_path))
    assert [(type, data["accession_number"]) for type, data in told(app)] == [
        ("new_filing", NETFLIX),
        ("data_ready", NETFLIX),
    ]


def test_the_operators_word_for_an_unknown_filing_announces_it(app: App) -> None:
    run(app, FILING)
    run(app, FILING, given=IngestOptions(NETFLIX, "2010-10-27"))
    assert types(app) == ["new_filing", "data_ready"]


def test_figures_of_a_filing_that_is_not_there_are_no_event(app: App) -> None:
    with app.db.write() as tx:
        announcements.announce_data_ready(tx, NOW, accession=ACCESSION)
        assert announcements.announce_filing(tx, NOW, accession=ACCESSION) is False
    assert types(app) == []


def change(value: str, previous: str) -> dict[str, Any]:
    return {
        "concept": "us-gaap:Revenues",
        "unit": "USD",
        "start_date": "2023-01-01",
        "end_date": "2023-12-31",
        "value": value,
        "previous_value": previous,
        "previous_accession": "0000123456-24-000001",
    }


def test_a_changed_value_is_a_restatement(app: App) -> None:
    put(app, report())
    with app.db.write() as tx:
        announcements.announce_restatement(
            tx, NOW, accession=ACCESSION, changes=[change("90", "100"), change("5.0", "5")]
        )
    assert told(app)[-1] == (
        "restatement_detected",
        {
            "accession_number": ACCESSION,
            "ticker": "BRK-B",
            "cik": "0001234567",
            "company_name": "Brook Lamps Inc.",
            "filed_at": "2025-02-01",
            "form_type": "10-K",
            "period_of_report": "2024-12-31",
            "change_count": 1,
            "changes": [change("90", "100")],
        },
    )


def test_another_spelling_of_a_number_is_no_restatement(app: App) -> None:
    put(app, report())
    with app.db.write() as tx:
        announcements.announce_restatement(
            tx, NOW, accession=ACCESSION, changes=[change("1E2", "100"), change("-0", "0")]
        )
    assert types(app) == ["new_filing", "data_ready"]


def test_a_restatement_of_very_many_values_lists_a_hundred_and_counts_all(app: App) -> None:
    put(app, report())
    changes = [change(str(number), "0") for number in range(1, 251)]
    with app.db.write() as tx:
        announcements.announce_restatement(tx, NOW, accession=ACCESSION, changes=changes)
    data = told(app)[-1][1]
    assert (data["change_count"], len(data["changes"])) == (250, 100)


def of_parties(app: App, accession: str, form: str, *parties: Party) -> None:
    """A filing of several companies and people, stored and announced."""
    with app.db.write() as tx:
        told = FilingMetadata(accession, metadata.HEADER_EVIDENCE, parties, form=form, filed_at="2026-01-30")
        filing_store.upsert(tx, told, NOW)


SUBSIDIARY = Party(7, metadata.PARTY_RANKS["filer"], "Brook Lamps Finance LLC")
PARENT = Party(1234567, metadata.PARTY_RANKS["filer"], "Brook Lamps Inc.")


def test_a_filing_of_several_registrants_is_about_each_of_them(app: App) -> None:
    put(app, report())
    of_parties(app, "0000000007-26-000001", "8-K", PARENT, SUBSIDIARY)
    found = newest(app)
    assert json.loads(found.data)["ticker"] == "BRK-B"
    assert found.tags == EventTags(("BRK-B", "BRK-A"), ("0000000007", "0001234567"), "8-K")


def test_a_filing_is_announced_as_the_list_of_filings_shows_it(app: App) -> None:
    of_parties(app, "0000000007-26-000001", "8-K", SUBSIDIARY)
    with app.db.read() as tx:
        rows = filing_rows.list_filings(tx, ["0000000007-26-000001"])
    assert told(app) == [("new_filing", rows[0])]


def test_each_piece_of_news_inside_a_filing_is_an_event_of_its_feed(app: App) -> None:
    put(app, report())
    number = "0000000001-26-000001"
    of_parties(app, number, "4", Party(1234567, 0), Party(7, 7, "Lamp, Ada"))
    news = [announcements.ContentNews({"transaction_id": f"t{at}"}, {}, f"{number}/{at}") for at in range(2)]
    with app.db.write() as tx:
        announcements.announce_contents(tx, NOW, OWNERSHIP, number, news)
    assert told(app, events.INSIDER_FEED) == [
        ("insider_transaction", {"transaction_id": "t0"}),
        ("insider_transaction", {"transaction_id": "t1"}),
    ]
    about = newest(app, events.INSIDER_FEED).tags
    assert about == EventTags(("BRK-B", "BRK-A"), ("0001234567", "0000000007"), "4")


@pytest.mark.parametrize(("filed_at", "told_at"), [("2025-02-01", "2025-02-01T00:00:00.000Z"), (None, None)])
def test_a_webhook_never_gives_the_time_of_the_ingest_as_that_of_the_filing(
    app: App, user: users.NewUser, filed_at: str | None, told_at: str | None
) -> None:
    users.update(app, user.id, {"webhook_url": "https://93.184.216.34/", "webhook_topics": list(users.TOPICS)}, NOW)
    form = ownership_forms.parse(ownership_xml.form(ownership_xml.transaction()), "0001234567-26-000006")
    with app.db.write() as tx:
        insider_store.upsert_form(
            tx, form, FilingMetadata("0001234567-26-000006", metadata.DOCUMENT_EVIDENCE, filed_at=filed_at), NOW
        )
    (sent,) = outbox(app, user)
    assert sent["payload"]["filed_at"] == told_at


def test_of_what_only_a_list_names_a_week_is_news() -> None:
    assert announcements.is_recent(NOW, (NOW - timedelta(days=7)).date().isoformat())
    assert not announcements.is_recent(NOW, (NOW - timedelta(days=8)).date().isoformat())
    assert not announcements.is_recent(NOW, None)


def test_a_form_of_insiders_without_a_date_is_announced_as_other_documents_are(app: App) -> None:
    form = ownership_forms.parse(ownership_xml.form(ownership_xml.transaction()), "0001234567-26-000006")
    with app.db.write() as tx:
        insider_store.upsert_form(tx, form, FilingMetadata("0001234567-26-000006", metadata.DOCUMENT_EVIDENCE), NOW)
    assert types(app) == ["new_filing"]
    ((_, data),) = told(app, events.INSIDER_FEED)
    assert (data["accession_number"], data["filed_at"]) == ("0001234567-26-000006", None)
