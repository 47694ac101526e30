"""Events that follow from stored documents, and documents that cause none."""

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
from tests.conftest import NOW
from tests.delivery.test_sniper import outbox
from tests.market.intake.test_ingest import ACCESSION as NETFLIX
from tests.market.intake.test_ingest import FILING, SUBMISSIONS
from tests.support import ownership_xml
from tests.support.brook_lamps_report import ACCESSION, build_report, store_report

EventList = list[tuple[str, dict[str, Any]]]


def list_events(app: App, feed: str = events.MAIN_FEED) -> EventList:
    """Type and data of every event, in order."""
    with app.db.read() as tx:
        return [(event.type, json.loads(event.data)) for event in events.list_events_after(tx, feed, 0, 1000)]


def list_event_types(app: App, feed: str = events.MAIN_FEED) -> list[str]:
    return [type for type, _ in list_events(app, feed)]


def get_newest_event(app: App, feed: str = events.MAIN_FEED) -> events.Event:
    with app.db.read() as tx:
        return events.list_events_before(tx, feed, 1_000_000, 1)[0]


def write_list(tmp_path: Path, **changes: str) -> Path:
    """A list of filings of Netflix with one 10-Q, changed; as a file."""
    recent: dict[str, Any] = {**SUBMISSIONS["filings"]["recent"]}  # type: ignore[index]
    recent.update({name: [value] for name, value in changes.items()})
    file = tmp_path / f"CIK0001065280-{len(list(tmp_path.iterdir()))}.json"
    file.write_text(json.dumps({**SUBMISSIONS, "filings": {"recent": recent, "files": []}}))
    return file


def run(app: App, *paths: Path, options: IngestOptions | None = None) -> None:
    counts = ingest.run(app, paths, options or IngestOptions(), lambda outcome: None)
    assert counts["refused"] == 0


def test_old_filing_with_documents_is_announced(app: App) -> None:
    store_report(app, build_report())
    assert list_events(app) == [
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


def test_same_documents_again_are_not_announced(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report())
    assert list_event_types(app) == ["new_filing", "data_ready"]


def test_other_documents_of_known_filing_are_data_ready(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue="5"))
    assert list_event_types(app) == ["new_filing", "data_ready", "data_ready"]


def test_event_has_every_ticker_of_the_company(app: App) -> None:
    store_report(app, build_report())
    assert get_newest_event(app).tags == EventTags(("BRK-B", "BRK-A"), ("0001234567",), "10-K")


def test_event_occurred_at_acceptance(app: App, tmp_path: Path) -> None:
    run(app, write_list(tmp_path, filingDate="2026-01-30", acceptanceDateTime="2026-01-30T21:05:09.000Z"))
    assert get_newest_event(app).occurred_at == "2026-01-30T21:05:09.000Z"


@pytest.mark.parametrize(("filed_at", "occurred_at"), [("2025-02-01", "2025-02-01T00:00:00.000Z"), (None, None)])
def test_event_without_acceptance_has_day_or_null(app: App, filed_at: str | None, occurred_at: str | None) -> None:
    store_report(app, build_report(), filed_at=filed_at)
    assert get_newest_event(app).occurred_at == occurred_at


@pytest.mark.parametrize(("age", "announced"), [(0, True), (7, True), (8, False), (4000, False)])
def test_only_last_seven_days_of_list_are_announced(app: App, tmp_path: Path, age: int, announced: bool) -> None:
    day = (NOW - timedelta(days=age)).date().isoformat()
    run(app, write_list(tmp_path, filingDate=day, acceptanceDateTime=f"{day}T12:00:00.000Z"))
    assert list_event_types(app) == (["new_filing"] if announced else [])


def test_list_ingested_twice_is_announced_once(app: App, tmp_path: Path) -> None:
    recent = write_list(tmp_path, filingDate="2026-01-30", acceptanceDateTime="2026-01-30T21:05:09.000Z")
    run(app, recent)
    run(app, recent)
    assert list_event_types(app) == ["new_filing"]


def test_old_listed_filing_is_announced_with_documents(app: App, tmp_path: Path) -> None:
    run(app, write_list(tmp_path))
    assert list_event_types(app) == []
    run(app, FILING)
    assert [(type, data["accession_number"]) for type, data in list_events(app)] == [
        ("new_filing", NETFLIX),
        ("data_ready", NETFLIX),
    ]


def test_unfiled_report_is_announced_once_identified(app: App, tmp_path: Path) -> None:
    run(app, FILING)
    assert list_event_types(app) == []
    run(app, write_list(tmp_path))
    assert [(type, data["accession_number"]) for type, data in list_events(app)] == [
        ("new_filing", NETFLIX),
        ("data_ready", NETFLIX),
    ]


def test_filing_identified_by_operator_is_announced(app: App) -> None:
    run(app, FILING)
    run(app, FILING, options=IngestOptions(NETFLIX, "2010-10-27"))
    assert list_event_types(app) == ["new_filing", "data_ready"]


def test_unknown_filing_is_not_announced(app: App) -> None:
    with app.db.write() as tx:
        announcements.announce_data_ready(tx, NOW, accession=ACCESSION)
        assert announcements.announce_filing(tx, NOW, accession=ACCESSION) is False
    assert list_event_types(app) == []


def build_change(value: str, previous: str) -> dict[str, Any]:
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
    store_report(app, build_report())
    with app.db.write() as tx:
        announcements.announce_restatement(
            tx, NOW, accession=ACCESSION, changes=[build_change("90", "100"), build_change("5.0", "5")]
        )
    assert list_events(app)[-1] == (
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
            "changes": [build_change("90", "100")],
        },
    )


def test_other_spelling_of_number_is_not_a_restatement(app: App) -> None:
    store_report(app, build_report())
    with app.db.write() as tx:
        announcements.announce_restatement(
            tx, NOW, accession=ACCESSION, changes=[build_change("1E2", "100"), build_change("-0", "0")]
        )
    assert list_event_types(app) == ["new_filing", "data_ready"]


def test_long_restatement_lists_a_hundred_changes(app: App) -> None:
    store_report(app, build_report())
    changes = [build_change(str(number), "0") for number in range(1, 251)]
    with app.db.write() as tx:
        announcements.announce_restatement(tx, NOW, accession=ACCESSION, changes=changes)
    data = list_events(app)[-1][1]
    assert (data["change_count"], len(data["changes"])) == (250, 100)


def upsert_filing(app: App, accession: str, form: str, *parties: Party) -> None:
    """A filing of several companies and people, stored and announced."""
    with app.db.write() as tx:
        filing = FilingMetadata(accession, metadata.HEADER_EVIDENCE, parties, form=form, filed_at="2026-01-30")
        filing_store.upsert(tx, filing, NOW)


SUBSIDIARY = Party(7, metadata.PARTY_RANKS["filer"], "Brook Lamps Finance LLC")
PARENT = Party(1234567, metadata.PARTY_RANKS["filer"], "Brook Lamps Inc.")


def test_event_has_all_registrants(app: App) -> None:
    store_report(app, build_report())
    upsert_filing(app, "0000000007-26-000001", "8-K", PARENT, SUBSIDIARY)
    event = get_newest_event(app)
    assert json.loads(event.data)["ticker"] == "BRK-B"
    assert event.tags == EventTags(("BRK-B", "BRK-A"), ("0000000007", "0001234567"), "8-K")


def test_announced_filing_equals_listed_filing(app: App) -> None:
    upsert_filing(app, "0000000007-26-000001", "8-K", SUBSIDIARY)
    with app.db.read() as tx:
        rows = filing_rows.list_filings(tx, ["0000000007-26-000001"])
    assert list_events(app) == [("new_filing", rows[0])]


def test_each_content_news_is_an_event_of_its_feed(app: App) -> None:
    store_report(app, build_report())
    number = "0000000001-26-000001"
    upsert_filing(app, number, "4", Party(1234567, 0), Party(7, 7, "Lamp, Ada"))
    news = [announcements.ContentNews({"transaction_id": f"t{at}"}, {}, f"{number}/{at}") for at in range(2)]
    with app.db.write() as tx:
        announcements.announce_content_news(tx, NOW, OWNERSHIP, number, news)
    assert list_events(app, events.INSIDER_FEED) == [
        ("insider_transaction", {"transaction_id": "t0"}),
        ("insider_transaction", {"transaction_id": "t1"}),
    ]
    about = get_newest_event(app, events.INSIDER_FEED).tags
    assert about == EventTags(("BRK-B", "BRK-A"), ("0001234567", "0000000007"), "4")


@pytest.mark.parametrize(("filed_at", "told_at"), [("2025-02-01", "2025-02-01T00:00:00.000Z"), (None, None)])
def test_webhook_filed_at_is_never_the_ingest_time(
    app: App, user: users.NewUser, filed_at: str | None, told_at: str | None
) -> None:
    users.update(app, user.id, {"webhook_url": "https://93.184.216.34/", "webhook_topics": list(users.TOPICS)}, NOW)
    form = ownership_forms.parse(ownership_xml.form(ownership_xml.transaction()), "0001234567-26-000006")
    with app.db.write() as tx:
        insider_store.upsert_form(
            tx, form, FilingMetadata("0001234567-26-000006", metadata.DOCUMENT_EVIDENCE, filed_at=filed_at), NOW
        )
    (delivery,) = outbox(app, user)
    assert delivery["payload"]["filed_at"] == told_at


def test_listed_filing_is_recent_for_a_week() -> None:
    assert announcements.is_recent(NOW, (NOW - timedelta(days=7)).date().isoformat())
    assert not announcements.is_recent(NOW, (NOW - timedelta(days=8)).date().isoformat())
    assert not announcements.is_recent(NOW, None)


def test_undated_insider_form_is_announced(app: App) -> None:
    form = ownership_forms.parse(ownership_xml.form(ownership_xml.transaction()), "0001234567-26-000006")
    with app.db.write() as tx:
        insider_store.upsert_form(tx, form, FilingMetadata("0001234567-26-000006", metadata.DOCUMENT_EVIDENCE), NOW)
    assert list_event_types(app) == ["new_filing"]
    ((_, data),) = list_events(app, events.INSIDER_FEED)
    assert (data["accession_number"], data["filed_at"]) == ("0001234567-26-000006", None)
