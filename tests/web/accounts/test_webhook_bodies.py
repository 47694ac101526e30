"""The bodies of webhook messages, from EDGAR's feed to the receiver: they match the published schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery import events, sniper, webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.market.intake import ingest
from finapi.market.intake.gateway import Gateway
from finapi.market.intake.poller import Poller, build_document_path
from finapi.market.reference import companies
from finapi.web.accounts.webhook_bodies import EVENTS
from tests.client import Client
from tests.conftest import NOW
from tests.receiver import Receiver, receiver
from tests.support import fund_filings, fund_report_xml, ownership_xml, schedule_xml, thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.edgar_server import (
    AGENT,
    FakeEdgar,
    Page,
    entry,
    fake_edgar,
    feed,
    full_submission,
    ownership_submission,
)
from tests.support.raw_sql import run_sql

ISSUER, FUND, OWNER = 1234567, 1234567, 101
EIGHT_K, FORM_4, REPORT = "0000320193-26-000001", "0000000101-26-000001", fund_filings.accession(9)
STAKE, NOTICE = "0000000103-26-000001", "0000000101-26-000002"
FUND_REPORT = "0009200001-26-000001"


def assert_matches_schema(body: Any) -> None:
    Draft202012Validator(EVENTS[body["event_type"]].schema, format_checker=FormatChecker()).validate(body)


@run_each_case("name", EVENTS)
def test_examples_match_their_schemas(name: str) -> None:
    summary, schema, example = EVENTS[name]
    Draft202012Validator.check_schema(schema)
    assert_matches_schema(example)
    assert (example["event_type"], summary[-1]) == (name, ".")


def test_every_type_of_event_has_a_schema() -> None:
    assert tuple(EVENTS) == webhooks.EVENT_TYPES


@pytest.fixture
def webhook_receiver() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


@pytest.fixture
def edgar() -> Iterator[tuple[FakeEdgar, Receiver]]:
    with fake_edgar() as edgar_and_receiver:
        yield edgar_and_receiver


def list_all_forms(edgar: FakeEdgar) -> None:
    """Serve an 8-K, a Form 4 with two trades, one without a price, a 13F report, a Schedule 13D and a Form 144."""
    form = ownership_xml.form(
        ownership_xml.transaction("P", "250", "481.2500", date="2026-01-29"),
        ownership_xml.transaction("S", "0.5", None, date="2026-01-29", price_notes="F1"),
        period="2026-01-29",
        footnotes={"F1": "No price."},
    )
    report = fund_filings.submission(9, ("12-31-2025", "2026-01-31", [(thirteenf_xml.APPLE, 2_500, 10)]))
    stake = schedule_xml.submission(STAKE, schedule_xml.d(), "SCHEDULE 13D", subject=ISSUER, filer=103)
    notice = schedule_xml.submission(NOTICE, schedule_xml.notice(), "144", subject=ISSUER, filer=OWNER)
    edgar.feed[0] = Page(
        feed(
            entry(STAKE, form="SCHEDULE 13D", cik=103, name="Wick Capital LP", role="Filed by"),
            entry(NOTICE, form="144", cik=ISSUER, name="Brook Lamps Inc.", role="Subject"),
            entry(REPORT, form="13F-HR", cik=FUND, name="Lamp Capital LP"),
            entry(FORM_4, form="4", cik=OWNER, name="Lamp Ann", role="Reporting"),
            entry(FORM_4, form="4", cik=ISSUER, name="Brook Lamps Inc.", role="Issuer"),
            entry(EIGHT_K, items="2.02"),
        )
    )
    edgar.pages = {
        build_document_path(FUND, REPORT): Page(report),
        build_document_path(ISSUER, FORM_4): Page(ownership_submission(FORM_4, form, issuer=ISSUER, owner=OWNER)),
        build_document_path(OWNER, FORM_4): Page(ownership_submission(FORM_4, form, issuer=ISSUER, owner=OWNER)),
        build_document_path(103, STAKE): Page(stake),
        build_document_path(ISSUER, NOTICE): Page(notice),
        build_document_path(320193, EIGHT_K): Page(full_submission(EIGHT_K)),
    }


def watch(app: App, user: users.NewUser, cik: int, minutes: int) -> None:
    sniper.create_target(
        app, user.id, sniper.WatchedCompany(cik, "X"), {"duration_minutes": minutes}, NOW, lambda tx, record: record
    )


def test_feeds_deliveries_and_the_api_agree(
    make_app: Callable[..., App], clock: FixedClock, edgar: tuple[FakeEdgar, Receiver], webhook_receiver: Receiver
) -> None:
    sec, sec_receiver = edgar
    app = make_app(
        user_agent=AGENT,
        base_url=f"http://127.0.0.1:{sec_receiver.port}",
        edgar_per_second=10_000.0,
        webhook_allow=("127.0.0.0/8",),
    )
    user = users.create(app, "ann@example.com", "pro", NOW)
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name="indexed_through", value="2026-01-31")
        for cik in (320193, 1):
            companies.insert_unnamed(tx, cik)
        run_sql(
            tx,
            "UPDATE users SET webhook_url = ?, webhook_topics = ?",
            [webhook_receiver.url, json.dumps([name for name in EVENTS if name != "finapi.test"])],
        )
    watch(app, user, 320193, 60)
    watch(app, user, 1, 1)
    list_all_forms(sec)
    gateway = Gateway(app)
    poller = Poller(app, gateway, interval_seconds=0.0)
    poller.run_poll_step()
    # N-PORT reports are fetched for followed registrants only.
    submission = fund_report_xml.submission(FUND_REPORT, fund_report_xml.report(fund_report_xml.position()))
    ingest.ingest_document(app, f"{FUND_REPORT}.txt", submission, lambda tx, outcomes: None)
    assert (poller.counts.documents, poller.counts.refused, poller.counts.problems) == (4, 0, [])
    clock.advance(60)
    sniper.run_window_step(app, clock.now())
    webhooks.enqueue_test(app, user.id, None, clock.now(), lambda tx, record: record)
    dispatcher = Dispatcher(app)
    assert dispatcher.run_until_idle(5)
    dispatcher.stop(0.0)
    gateway.close()
    bodies = [json.loads(request.body) for request in webhook_receiver.received]
    for body in bodies:
        assert_matches_schema(body)
    kinds = sorted(body["event_type"] for body in bodies)
    assert kinds == sorted([*EVENTS, "insider.transaction.created"])
    by_type = {body["event_type"]: body["payload"] for body in bodies}
    assert by_type["13f.holdings.updated"] == {
        "filer_cik": f"{FUND:010}",
        "filer_name": "Lamp Capital LP",
        "accession_number": REPORT,
        "period": "2025-12-31",
        "holdings_count": 1,
        "total_value_usd": 2500,
        "filed_at": "2026-01-31T15:00:00.000Z",  # From the header of the submission, not from the feed.
    }
    assert by_type["ownership.filing.created"] == {
        "ticker": "BRK-B",
        "issuer_cik": "0001234567",
        "issuer_name": "Brook Lamps Inc.",
        "accession_number": STAKE,
        "form_type": "SCHEDULE 13D",
        "holder_name": "Wick Capital LP",
        "holder_cik": "0000000103",
        "percent_of_class": 7.5,
        "shares": 1_000_000,
        "previous_percent_of_class": None,
        "event_date": "2025-03-03",
        "filed_at": "2026-01-31T11:30:00.000Z",
    }
    assert by_type["insider.proposed_sale.created"] == {
        "ticker": "BRK-B",
        "issuer_cik": "0001234567",
        "accession_number": NOTICE,
        "seller_name": "Lamp Ann",
        "approximate_sale_date": "2025-04-13",
        "shares": 5000,
        "aggregate_market_value": 250000.5,
        "filed_at": "2026-01-31T11:30:00.000Z",
    }
    assert by_type["nport.report.created"] == {
        "filer_cik": "0009200001",
        "filer_name": "Lantern Funds Trust",
        "accession_number": FUND_REPORT,
        "series_id": "S000900001",
        "series_name": "Lantern Index ETF",
        "period": "2025-12-31",
        "holdings_count": 1,
        "net_assets": 50000,
        "filed_at": "2026-02-27T11:00:00.000Z",
    }
    payloads = sorted(
        (body["payload"] for body in bodies if body["event_type"] == "insider.transaction.created"),
        key=lambda payload: payload["shares"],
    )
    assert [(payload["shares"], payload["price_per_share"]) for payload in payloads] == [(0.5, None), (250, 481.25)]
    assert_feeds_equal_endpoints(app, user)


def assert_feeds_equal_endpoints(app: App, user: users.NewUser) -> None:
    """Check that the events of the feeds contain the objects that the endpoints return."""
    client = Client(app, user.api_key)
    trades = client.get("/api/v1/insiders/transactions/latest").json["data"]
    (fund,) = client.get("/api/v1/form-13f/latest").json["data"]
    with app.db.read() as tx:
        insider_events = events.list_events_after(tx, events.INSIDER_FEED, 0, 10)
        insiders = [json.loads(event.data) for event in insider_events if event.type == "insider_transaction"]
        reports = [json.loads(event.data) for event in events.list_events_after(tx, events.HOLDINGS_FEED, 0, 10)]
        fund_reports = [
            json.loads(event.data)
            for event in events.list_events_after(tx, events.MAIN_FEED, 0, 20)
            if event.type == "fund_report"
        ]
        news = [event for event in events.list_events_after(tx, events.MAIN_FEED, 0, 20) if event.type == "new_filing"]
        filings = [json.loads(event.data)["accession_number"] for event in news]
    assert sorted(insiders, key=str) == sorted(trades, key=str)
    assert reports == [fund]
    assert fund_reports == client.get("/api/v1/nport/latest").json["data"]
    assert sorted(filings) == sorted([EIGHT_K, FORM_4, REPORT, STAKE, NOTICE, FUND_REPORT])
