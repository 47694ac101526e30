"""Endpoints for Schedules 13D and 13G, stakes, and Forms 144."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import sale_notices, sgml
from finapi.edgar import schedules as parser
from finapi.market.documents import families, filing_store, metadata
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.ownership import sale_notice_store, schedule_store
from finapi.market.reference import companies
from tests.client import Client
from tests.conftest import NOW
from tests.market.ownership.test_schedule_store import HEADER
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case

BASE = "/api/v1/ownership/beneficial-ownership"
CROSSINGS = "/api/v1/ownership/analytics/threshold-crossings"
NOTICES = "/api/v1/insiders/form-144"
OTHER = ("0000000777", "Shade Works Corp", "594918104")


@pytest.fixture(scope="module")
def template_app(make_stored: Callable[..., App]) -> App:
    """Return an app with a group, a conversion, an exit, and a filing from before December 2024."""
    app = make_stored()
    group = (
        made.person(made.BEN, "900000", "6.9", member="a", types="IN"),
        made.person(made.FUND, "300000", "2.3", member="a"),
        made.person((None, "An Heir"), "900000", "6.9", member="b"),
    )
    remaining_member = made.person(made.BEN, "950000", "7.3", member="a", types="IN")
    documents = (
        (made.g(), "0000000103-25-000001", "2025-02-05"),
        (made.d(purpose="Wick nominated two directors."), "0000000103-25-000002", "2025-03-05"),
        (made.d(*group, filer="0000000102"), "0000000102-25-000003", "2025-04-05"),
        (
            made.d(remaining_member, form="SCHEDULE 13D/A", number="1", filer="0000000102"),
            "0000000102-25-000004",
            "2025-05-05",
        ),
        (
            made.g(
                made.person(percent="4.2", shares="10", schedule="G"),
                form="SCHEDULE 13G/A",
                issuer=OTHER,
                cusip=OTHER[2],
                five_or_less="Y",
            ),
            "0000000103-25-000005",
            "2025-06-05",
        ),
    )
    with app.db.write() as tx:
        for data, accession, filed in documents:
            schedule_store.upsert(
                tx, parser.parse(data, "f"), FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW
            )
        header = sgml.parse_header(HEADER, "f")
        filing_store.upsert(tx, metadata.from_header(header, None), NOW)
        families.store_header(tx, header, NOW)
        companies.upsert_tickers(tx, 1234567, [("LAMP", None)], companies.FROM_FILING_LIST, "2025-01-01")
        for number, units in enumerate(("5000", "10"), 1):
            notice = sale_notices.parse(made.notice(made.sale(units)), "f")
            filed = FilingMetadata(f"0000000101-25-{number:06}", DOCUMENT_EVIDENCE, filed_at=f"2025-04-{13 + number}")
            sale_notice_store.upsert(tx, notice, filed, NOW)
    return app


@pytest.fixture
def app(copied: Callable[..., App], template_app: App) -> App:
    return copied(template_app)


@pytest.fixture
def client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def list_rows(client: Client, query: str, within: str = "filings") -> list[dict[str, Any]]:
    answer = client.get(f"{BASE}/{query}")
    assert answer.status == 200, answer.json
    rows_of_answer: list[dict[str, Any]] = answer.json[within]
    return rows_of_answer


def list_accessions(client: Client, query: str) -> list[str]:
    return [row["accessionNumber"][-9:] for row in list_rows(client, f"filings?{query}")]


ALL = ["25-000005", "25-000004", "25-000003", "25-000002", "25-000001", "24-000009"]


@run_each_case(
    "query, accessions",
    [
        ("", ALL),
        ("order=asc", ALL[::-1]),
        ("size=2&page=2", ALL[2:4]),
        ("sort=percentOfClass", [ALL[3], ALL[4], ALL[1], ALL[2], ALL[0], ALL[5]]),
        ("issuerTicker=lamp", ALL[1:]),
        ("issuerCik=777", ALL[:1]),
        ("issuerCik=777&issuerTicker=LAMP", []),
        ("filerCik=104", [ALL[2]]),
        ("filerName=wick", [ALL[0], ALL[2], ALL[3], ALL[4], ALL[5]]),
        ("filerName=master wick", [ALL[2]]),
        ("filerName=nobody", []),
        ("filerCik=103&filerName=shade", []),
        ("formType=13D", ALL[1:4]),
        ("formType=13G", [ALL[0], ALL[4], ALL[5]]),
        ("formType=SC 13G", [ALL[5]]),
        ("formType=13D/A&isAmendment=true", [ALL[1]]),
        ("formType=SC_13D_A", [ALL[1]]),
        ("formType=SC_13D", ALL[2:4]),
        ("sort=desc", ALL),
        ("sort=asc", ALL[::-1]),
        ("isAmendment=false", ALL[2:]),
        ("isConversion=true", [ALL[3]]),
        ("minOwnership=7", [ALL[1], ALL[3], ALL[4]]),
        ("dateFrom=2025-03-05&dateTo=2025-05-04", ALL[2:4]),
    ],
)
def test_filings_are_filtered_and_sorted(client: Client, query: str, accessions: list[str]) -> None:
    assert list_accessions(client, query.replace(" ", "%20")) == accessions


def test_filter_by_person_shows_the_figures_of_that_person(client: Client) -> None:
    (row,) = list_rows(client, "filings?filerCik=104")
    assert (row["filerName"], row["sharesOwned"], row["percentOfClass"], row["reportingPersonCount"]) == (
        "Wick Master Fund",
        300_000,
        2.3,
        3,
    )


def test_meta_states_the_total_and_the_next_page(client: Client) -> None:
    meta = client.get(f"{BASE}/filings?size=4&dateTo=2025-12-31").json["meta"]
    assert {name: meta[name] for name in ("total", "limit", "page", "size", "totalPages", "has_more", "dateTo")} == {
        "total": 6,
        "limit": 4,
        "page": 1,
        "size": 4,
        "totalPages": 2,
        "has_more": True,
        "dateTo": "2025-12-31",
    }
    assert client.get(f"{BASE}/filings?size=4&page=2").json["meta"]["has_more"] is False


def test_figures_before_december_2024_are_null_with_reason(client: Client) -> None:
    row = list_rows(client, "filings?formType=SC%2013G")[0]
    assert (row["percentOfClass"], row["sharesOwned"], row["holes"]["sharesOwned"]) == (None, None, "cover_not_in_xml")
    detail = client.get(f"{BASE}/filings/{row['accessionNumber']}").json
    assert (detail["source"], detail["filers"][0]["holes"]) == (
        "header",
        {"percentOfClass": "cover_not_in_xml", "sharesOwned": "cover_not_in_xml"},
    )


def test_include_positions_lists_all_persons(client: Client) -> None:
    plain, filings = list_rows(client, "filings"), list_rows(client, "filings?include=positions")
    assert [{name: value for name, value in filing.items() if name != "positions"} for filing in filings] == plain
    for filing in filings:
        assert filing["positions"] == client.get(f"{BASE}/filings/{filing['accessionNumber']}").json["positions"]
    (group,) = list_rows(client, "filings?filerCik=104&include=positions")
    assert group["sharesOwned"] == 300_000
    assert [
        (filing["filerName"], filing["filerCik"], filing["sharesOwned"], filing["holes"])
        for filing in group["positions"]
    ] == [
        ("Shade Ben", "0000000102", 900_000, {}),
        ("Wick Master Fund", "0000000104", 300_000, {}),
        ("An Heir", None, 900_000, {}),
    ]
    (headed,) = list_rows(client, "filings?formType=SC%2013G&include=positions")
    (position,) = headed["positions"]
    figures = (
        "percentOfClass",
        "sharesOwned",
        "votingPower",
        "soleVotingPower",
        "sharedVotingPower",
        "soleDispositivePower",
        "sharedDispositivePower",
    )
    assert position == {
        "filerCik": "0000000103",
        "filerName": "Wick Capital LP",
        **dict.fromkeys(figures),
        "holes": dict.fromkeys(figures, "cover_not_in_xml"),
    }
    assert list_rows(client, "filings?filerName=nobody&include=positions") == []


def test_detail_lists_all_persons_on_the_cover(client: Client) -> None:
    detail = client.get(f"{BASE}/filings/0000000102-25-000003").json
    assert detail["issuer"] == {
        "cik": "0001234567",
        "ticker": "LAMP",
        "name": "Brook Lamps Inc.",
        "sector": None,
        "industry": None,
    }
    assert [
        (person["name"], person["cik"], person["isLead"], person["memberOfGroup"]) for person in detail["filers"]
    ] == [
        ("Shade Ben", "0000000102", True, True),
        ("Wick Master Fund", "0000000104", False, True),
        ("An Heir", None, False, False),
    ]
    assert [(person["sharesOwned"], person["votingPower"]) for person in detail["positions"]] == [
        (900_000, 1_000_000),
        (300_000, 1_000_000),
        (900_000, 1_000_000),
    ]
    assert detail["purpose"] == {
        "primary": "The shares were bought for investment.",
        "flags": dict.fromkeys(
            ("intends_to_acquire", "opposes_management", "board_seat_demand", "seeks_sale_or_merger"), False
        ),
    }
    assert client.get(f"{BASE}/filings/0000000102-25-000099").status == 404


def test_owners_have_their_latest_figures(client: Client) -> None:
    summary = client.get(f"{BASE}/issuers/1234567/summary").json
    assert (summary["issuerTicker"], summary["asOf"]) == ("LAMP", "2025-05-05T00:00:00.000Z")
    assert [
        (owner["filerName"], owner["latestPercent"], owner["isNamedInLatest"], owner["reportedTogether"])
        for owner in summary["beneficialOwners"]
    ] == [
        ("Shade Ben", 7.3, True, 1),
        ("Wick Master Fund", 2.3, False, 3),
        ("An Heir", 6.9, False, 3),
        ("Wick Capital LP", 7.5, True, 1),
    ]
    assert client.get(f"{BASE}/issuers/9/summary").status == 404
    assert list_rows(client, "issuers/102/summary", "beneficialOwners") == []


def test_portfolio_marks_exits(client: Client) -> None:
    portfolio = client.get(f"{BASE}/filers/103/portfolio").json
    assert portfolio["filerName"] == "Wick Capital LP"
    assert [(stake["nameOfIssuer"], stake["latestPercent"], stake["isExit"]) for stake in portfolio["positions"]] == [
        ("Shade Works Corp", 4.2, True),
        ("Brook Lamps Inc.", 7.5, False),
    ]
    assert portfolio["meta"] == {"total": 2, "limit": 50, "offset": 0, "has_more": False}
    assert list_rows(client, "filers/103/portfolio?offset=1", "positions")[0]["nameOfIssuer"] == "Brook Lamps Inc."
    assert client.get(f"{BASE}/filers/1/portfolio").status == 404


def test_activists_are_filtered_by_intent(client: Client) -> None:
    assert len(list_rows(client, "activists", "activists")) == 3
    (row,) = list_rows(client, "activists?purposeCategory=board_seat_demand", "activists")
    assert (row["filerName"], row["purpose"]) == ("Wick Capital LP", "Wick nominated two directors.")
    assert row["intentFlags"]["board_seat_demand"] is True
    assert list_rows(client, "activists?purposeCategory=opposes_management", "activists") == []


def test_conversion_names_both_filings(client: Client) -> None:
    assert list_rows(client, "conversions", "conversions") == [
        {
            "filerCik": "0000000103",
            "filerName": "Wick Capital LP",
            "issuerCik": "0001234567",
            "issuerTicker": "LAMP",
            "priorFormType": "SCHEDULE 13G",
            "currentFormType": "SCHEDULE 13D",
            "direction": "13G_TO_13D",
            "priorAccession": "0000000103-25-000001",
            "currentAccession": "0000000103-25-000002",
            "convertedAt": "2025-03-05T00:00:00.000Z",
        }
    ]
    assert list_rows(client, "conversions?dateFrom=2025-03-06", "conversions") == []


def test_group_has_figures_of_largest_member_and_past_members(client: Client) -> None:
    (group,) = list_rows(client, "groups", "data")
    assert (group["groupName"], group["aggregateShares"], group["aggregatePercent"], group["figuresRule"]) == (
        "Shade Ben",
        950_000,
        7.3,
        "largest_member",
    )
    assert group["members"] == [
        {"memberName": "Shade Ben", "memberCik": "0000000102", "isCurrentMember": True, "isLeadFiler": True},
        {"memberName": "Wick Master Fund", "memberCik": "0000000104", "isCurrentMember": False, "isLeadFiler": False},
    ]
    assert (group["formationDate"], group["isActive"], group["latestAccessionNo"]) == (
        "2025-03-03",
        True,
        "0000000102-25-000004",
    )
    assert list_rows(client, "groups?issuerCik=777", "data") == []


def test_crossing_compares_two_filings_of_one_person(client: Client) -> None:
    crossings = client.get(CROSSINGS).json["crossings"]
    # The previous filing of the 13G/A of 4.2 % is not stored; 7.5 to 7.5 and 6.9 to 7.3 pass no threshold.
    assert [
        (crossing["accessionNumber"][-9:], crossing["threshold"], crossing["direction"], crossing["priorPercent"])
        for crossing in crossings
    ] == [("25-000003", 5, "up", None)]


@run_each_case(
    "query, param",
    [
        ("filings?formType=13F", "formType"),
        ("filings?sort=name", "sort"),
        ("filings?page=0", "page"),
        ("filings?include=purpose", "include"),
        ("filings?include=positions,filers", "include"),
        ("filings?include=", "include"),
        ("filings?minOwnership=lots", "minOwnership"),
        ("filings?dateFrom=yesterday", "dateFrom"),
        ("activists?purposeCategory=control", "purposeCategory"),
        ("groups?activeOnly=maybe", "activeOnly"),
    ],
)
def test_invalid_parameter_is_refused(client: Client, query: str, param: str) -> None:
    answer = client.get(f"{BASE}/{query}")
    assert (answer.status, answer.json["details"]["param"]) == (400, param)


def test_notices_are_filtered_by_day_ticker_and_insider(client: Client) -> None:
    notices = client.get(f"{NOTICES}/latest").json
    assert [(row["accession_number"][-6:], row["shares"]) for row in notices["data"]] == [
        ("000002", 10),
        ("000001", 5000),
    ]
    assert notices["meta"]["pagination"] == {"total": 2, "limit": 50, "offset": 0, "has_more": False}
    for query in ("by-ticker/LAMP", "by-insider/101", "by-insider/101?ticker=LAMP"):
        assert len(client.get(f"{NOTICES}/{query}").json["data"]) == 2
    assert client.get(f"{NOTICES}/by-insider/102").json["data"] == []
    assert client.get(f"{NOTICES}/by-ticker/NOPE").status == 404
    (row,) = client.get(f"{NOTICES}/latest?to_date=2025-04-14").json["data"]
    assert (row["accession_number"], row["ticker"]) == ("0000000101-25-000001", "LAMP")
    assert row["sales"][0]["broker_name"] == "Lamp Brokers LLC"


def test_sql_proxy_has_schedules_and_notices(client: Client) -> None:
    query = (
        "SELECT holder_name, percent_of_class FROM beneficial_ownership WHERE is_lead AND is_current ORDER BY 2 DESC"
    )
    assert client.post("/api/v1/sql-proxy", {"query": query}).json["data"] == [
        {"holder_name": "Wick Capital LP", "percent_of_class": 7.5},
        {"holder_name": "Shade Ben", "percent_of_class": 7.3},
        {"holder_name": "Wick Capital LP", "percent_of_class": 4.2},
    ]
    query = "SELECT seller, sum(shares) AS shares FROM proposed_sale GROUP BY seller"
    assert client.post("/api/v1/sql-proxy", {"query": query}).json["data"] == [{"seller": "Lamp Ann", "shares": 5010.0}]


def test_fall_crosses_each_threshold_once(app: App, client: Client) -> None:
    with app.db.write() as tx:
        for number, percent in ((7, "26"), (8, "9.9"), (9, "10")):
            document = made.d(made.person(("0000000900", "Jumper"), "5", percent), issuer=OTHER, cusip=OTHER[2])
            filed = FilingMetadata(f"0000000900-25-{number:06}", DOCUMENT_EVIDENCE, filed_at=f"2025-0{number}-01")
            schedule_store.upsert(tx, parser.parse(document, "f"), filed, NOW)
        tx.run("bump_data_version")
    crossings = client.get(f"{CROSSINGS}?dateFrom=2025-07-01&dateTo=2025-12-31").json["crossings"]
    assert [
        (crossing["threshold"], crossing["direction"], crossing["priorPercent"], crossing["currentPercent"])
        for crossing in crossings
    ] == [
        (10, "up", 9.9, 10),
        (25, "down", 26, 9.9),
        (20, "down", 26, 9.9),
        (15, "down", 26, 9.9),
        (10, "down", 26, 9.9),
        (5, "up", None, 26),
    ]
    filtered = client.get(f"{CROSSINGS}?dateFrom=2025-07-01&threshold=10&direction=down").json
    assert ([crossing["threshold"] for crossing in filtered["crossings"]], filtered["meta"]["total"]) == ([10], 1)
    pages = [client.get(f"{CROSSINGS}?dateFrom=2025-07-01&size=4&page={page}").json["crossings"] for page in (1, 2)]
    assert pages[0] + pages[1] == crossings


def query_schedules(client: Client, **body: Any) -> Any:
    return client.post("/api/v1/form-13d", body)


def test_query_finds_the_filings_of_the_list(client: Client) -> None:
    body = query_schedules(client, query={"ticker": "LAMP", "formType": "13D", "minOwnership": 7}, size=1).json
    assert body["meta"] == {"total": {"value": 2, "relation": "eq"}, "from": 0, "size": 1}
    (row,) = body["data"]
    assert (row["accessionNo"], row["issuer"], row["filer"]) == (
        "0000000102-25-000004",
        {"name": "Brook Lamps Inc.", "cik": "0001234567", "ticker": "LAMP"},
        {"name": "Shade Ben", "cik": "0000000102"},
    )
    assert row["ownership"] == {
        "percentOfClass": 7.3,
        "sharesOwned": 950_000,
        "soleVotingPower": 0,
        "sharedVotingPower": 1_000_000,
    }
    assert len(query_schedules(client).json["data"]) == 6
    days = {"from": "2025-03-05", "to": "2025-03-05"}
    assert [filing["accessionNo"] for filing in query_schedules(client, query={"dateRange": days}).json["data"]] == [
        "0000000103-25-000002"
    ]
    ascending = query_schedules(client, sort=[{"percentOfClass": {"order": "asc"}}]).json["data"]
    assert [filing["ownership"]["percentOfClass"] for filing in ascending] == [None, 4.2, 6.9, 7.3, 7.5, 7.5]


@run_each_case(
    "body, param",
    [
        ({"query": "13D"}, "query"),
        ({"query": {"formType": "13F"}}, "formType"),
        ({"query": {"ticker": "NOPE"}}, "ticker"),
        ({"query": {"dateRange": {"from": "soon"}}}, "from"),
        ({"size": 0}, "size"),
        ({"sort": "name"}, "sort"),
    ],
)
def test_invalid_query_is_refused(client: Client, body: dict[str, Any], param: str) -> None:
    answer = query_schedules(client, **body)
    assert (answer.status, answer.json["details"]["param"]) == (400, param)
