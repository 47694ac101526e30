"""Endpoints for holders over all forms: profiles, filings, positions, events, and concentration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import ownership_forms, sale_notices
from finapi.edgar import schedules as parser
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store as insiders
from finapi.market.ownership import holder_ids, sale_notice_store, schedule_store
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from finapi.ops import proof
from tests.client import Client
from tests.conftest import NOW
from tests.support import figures, thirteenf_xml
from tests.support import ownership_xml as forms
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import june, other_submission, september, take

BASE = "/api/v1/ownership"
APPLE = ("0000320193", "Apple Inc.", thirteenf_xml.APPLE)
LAMP, SHADE = int(thirteenf_xml.LAMP_FUND), int(thirteenf_xml.OTHER_FUND)
ANN, BEN, WICK = 101, 102, 103
COVER = {
    "end": "2025-10-17",
    "val": 10000,
    "accn": "0000320193-25-000079",
    "fy": 2025,
    "fp": "FY",
    "form": "10-K",
    "filed": "2025-10-31",
}


def build_metadata(accession: str, day: str | None) -> FilingMetadata:
    return FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day)


@pytest.fixture(scope="module")
def template_app(make_stored: Callable[..., App], tmp_path_factory: pytest.TempPathFactory) -> App:
    """Return an app with Apple (10,000 shares): two managers, one 13G, a group of two, an insider, and a notice."""
    app = make_stored()
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "Apple Inc.", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 320193, [("AAPL", None)], companies.FROM_LIST)
        companies.update_attributes(tx, 320193, CompanyAttributes(sic=3571), 1, "2025-01-01")
    mapping = b"cusip,ticker\n" + thirteenf_xml.APPLE.encode() + b",AAPL\n"
    take(app, tmp_path_factory.mktemp("forms"), mapping, june(), september(), other_submission())
    figures.store_companyfacts(
        app,
        figures.build_companyfacts(320193, "Apple Inc.", [("dei:EntityCommonStockSharesOutstanding", "shares", COVER)]),
    )
    manager = (thirteenf_xml.LAMP_FUND, "Lamp Capital")
    group = (
        made.person(made.BEN, "900", "9.0", member="a", types="IN"),
        made.person(made.WICK, "800", "8.0", member="a"),
    )
    less = (made.person(made.BEN, "700", "7.0", member="a"), made.person(made.WICK, "600", "6.0", member="a"))
    schedules: tuple[tuple[bytes, str, str], ...] = (
        (
            made.g(
                made.person(manager, "12", "0.12", schedule="G"),
                issuer=APPLE,
                cusip=APPLE[2],
                filer=manager[0],
                event="07/31/2025",
            ),
            "0000000900-25-000001",
            "2025-08-14",
        ),
        (made.d(*group, issuer=APPLE, cusip=APPLE[2], filer="0000000102"), "0000000102-25-000001", "2025-03-05"),
        (
            made.d(
                *less,
                issuer=APPLE,
                cusip=APPLE[2],
                filer="0000000102",
                form="SCHEDULE 13D/A",
                number="1",
                event="05/01/2025",
            ),
            "0000000102-25-000002",
            "2025-05-05",
        ),
    )
    trade = forms.form(
        forms.transaction("S", after="1100"),
        forms.holding("500"),
        issuer=(APPLE[0], APPLE[1], "AAPL"),
        owners=(forms.owner(),),
    )
    with app.db.write() as tx:
        for data, accession, day in schedules:
            schedule_store.upsert(tx, parser.parse(data, "f"), build_metadata(accession, day), NOW)
        insiders.upsert_form(
            tx, ownership_forms.parse(trade, "f"), build_metadata("0000000101-25-000001", "2025-03-05"), NOW
        )
        notice = sale_notices.parse(made.notice(issuer=APPLE), "f")
        sale_notice_store.upsert(tx, notice, build_metadata("0000000101-25-000002", "2025-04-14"), NOW)
    return app


@pytest.fixture
def app(copied: Callable[..., App], template_app: App) -> App:
    return copied(template_app)


@pytest.fixture
def client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def get(client: Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"{BASE}{path}", query=query)
    assert answer.status == 200, answer.json
    body: dict[str, Any] = answer.json
    return body


def get_error(client: Client, path: str, **query: Any) -> tuple[int, str, Any]:
    answer = client.get(f"{BASE}{path}", query=query)
    return answer.status, answer.json["code"], answer.json.get("details", {}).get("param")


# ---- holders


def test_holders_with_most_filings_come_first(client: Client) -> None:
    body = get(client, "/holders")
    assert [(row["cik"], row["type"], row["filing_count"]) for row in body["holders"]] == [
        (f"{LAMP:010}", "institutional", 3),
        ("0000000102", "beneficial_owner", 2),
        ("0000000103", "beneficial_owner", 2),
        ("0000000101", "insider", 1),
        (f"{SHADE:010}", "institutional", 1),
    ]
    assert body["meta"] == {"total": 5, "page": 1, "size": 50, "pages": 1, "has_more": False, "matches_cut": False}
    lamp = body["holders"][0]
    assert (lamp["is_institutional"], lamp["is_beneficial_owner"], lamp["is_insider"]) == (True, True, False)
    assert lamp["holder_uuid"] == holder_ids.for_cik(LAMP)


@run_each_case(
    "query, ciks",
    [
        ({"type": "beneficial_owner"}, [LAMP, BEN, WICK]),
        ({"type": "insider"}, [ANN]),
        ({"q": "wick cap"}, [WICK]),
        ({"q": "lamp", "type": "institutional"}, [LAMP]),
        ({"q": "LAMP"}, [LAMP, ANN]),
        ({"q": "shade partners"}, [SHADE]),
        ({"q": "102"}, [BEN]),
        ({"cik": "103", "q": "shade"}, []),
        ({"cik": "999"}, []),
        ({"q": "%' OR 1=1 --"}, []),
        ({"size": 2, "page": 2}, [WICK, ANN]),
        ({"size": 2, "page": 4}, []),
    ],
)
def test_holders_are_found_by_words_cik_and_kind(client: Client, query: dict[str, Any], ciks: list[int]) -> None:
    assert [int(row["cik"]) for row in get(client, "/holders", **query)["holders"]] == ciks


def test_profile_has_names_and_filing_counts(client: Client) -> None:
    profile = get(client, f"/holders/{holder_ids.for_cik(LAMP).upper()}")
    assert profile["filing_counts"] == {"form_4": 0, "form_13f": 2, "form_13dg": 1, "form_144": 0}
    assert profile["name_aliases"] == ["Lamp Capital"] or profile["name"] == "Lamp Capital"
    assert (profile["first_filing_at"], profile["last_filing_at"]) == (
        "2025-08-14T00:00:00.000Z",
        "2025-11-14T15:00:00.000Z",
    )
    assert (profile["alternate_ciks"], profile["primary_cik"]) == ([], f"{LAMP:010}")
    ann = get(client, "/holders/101")
    assert ann["filing_counts"] == {"form_4": 1, "form_13f": 0, "form_13dg": 0, "form_144": 1}


def test_person_without_cik_is_a_holder_by_name(client: Client, app: App) -> None:
    heir = made.person((None, "An Heir"), "5", "0.05")
    with app.db.write() as tx:
        paper = parser.parse(made.d(heir, issuer=APPLE, cusip=APPLE[2], filer="0000000102"), "f")
        schedule_store.upsert(tx, paper, build_metadata("0000000102-25-000009", "2025-02-05"), NOW)
    (holder,) = get(client, "/holders", q="heir")["holders"]
    assert (holder["cik"], holder["name"], holder["holder_uuid"]) == (None, "An Heir", holder_ids.for_name("an heir"))
    position = get(client, f"/positions/{holder['holder_uuid']}/issuer/320193")
    assert (position["currentShares"], position["currentPercent"], position["percentBasis"]) == (5, 0.05, "reported")


def test_filing_history_is_listed_newest_first(client: Client) -> None:
    body = get(client, f"/holders/{LAMP}/filing-history")
    filings = [(row["formType"], row["filedAt"][:10], row["issuerTicker"], row["action"]) for row in body["history"]]
    assert filings == [
        ("13F-HR", "2025-11-14", None, "report"),
        ("13F-HR", "2025-08-14", None, "report"),
        ("SCHEDULE 13G", "2025-08-14", "AAPL", "new"),
    ]
    assert body["meta"] == {"total": 3, "limit": 50, "offset": 0, "has_more": False}
    ben = get(client, "/holders/102/filing-history")["history"]
    assert [(row["formType"], row["action"]) for row in ben] == [
        ("SCHEDULE 13D/A", "decreased"),
        ("SCHEDULE 13D", "new"),
    ]
    ann = get(client, "/holders/101/filing-history")["history"]
    assert [(row["formType"], row["action"]) for row in ann] == [("144", "proposed_sale"), ("4", "sell")]
    page = get(client, f"/holders/{LAMP}/filing-history", limit=1, offset=2)
    assert [row["formType"] for row in page["history"]] == ["SCHEDULE 13G"]
    only = get(client, f"/holders/{LAMP}/filing-history", sourceType="form_13dg")
    assert (len(only["history"]), only["meta"]["total"]) == (1, 1)


def test_cross_reference_lists_filings_by_family(client: Client) -> None:
    body = get(client, f"/cross-reference/{LAMP}")
    assert [(row["period_of_report"], row["position_count"], row["total_aum_usd"]) for row in body["form_13f"]] == [
        ("2025-09-30", 2, 6250),
        ("2025-06-30", 3, 7900),
    ]
    (stake,) = body["form_13dg"]
    assert (stake["percent_of_class"], stake["shares"], stake["issuer_ticker"]) == (0.12, 12, "AAPL")
    summary = body["summary"]
    assert (summary["total_filings"], summary["form_13f_count"], summary["form_13dg_count"]) == (3, 2, 1)
    assert (body["form_4"], body["form_144"], summary["unique_issuers"]) == ([], [], 1)
    ann = get(client, "/cross-reference/101")
    assert [row["action"] for row in ann["form_4"]] == ["sell"]
    assert [row["seller_name"] for row in ann["form_144"]] == ["Lamp Ann"]


@run_each_case(
    "path, query, expected",
    [
        ("/holders/999", {}, (404, "NOT_FOUND", None)),
        (f"/holders/{holder_ids.for_name('nobody')}", {}, (404, "NOT_FOUND", None)),
        ("/holders/not-a-uuid", {}, (400, "INVALID_PARAM", "uuid")),
        ("/holders/1' OR '1'='1", {}, (400, "INVALID_PARAM", "uuid")),
        ("/holders", {"type": "fund"}, (400, "INVALID_PARAM", "type")),
        ("/holders", {"q": ""}, (400, "INVALID_PARAM", "q")),
        ("/holders", {"q": "x" * 1001}, (400, "INVALID_PARAM", "q")),
        ("/holders", {"page": "0"}, (400, "INVALID_PARAM", "page")),
        ("/holders", {"cik": "1e3"}, (400, "INVALID_PARAM", "cik")),
        ("/holders/101/filing-history", {"sourceType": "form_5"}, (400, "INVALID_PARAM", "sourceType")),
        ("/cross-reference/999", {}, (404, "NOT_FOUND", None)),
        ("/positions/101/issuer/1", {}, (404, "UNKNOWN_TICKER", None)),
        ("/positions/999/issuer/320193", {}, (404, "NOT_FOUND", None)),
        ("/positions/101/issuer/320193", {"asOfDate": "2025-13-01"}, (400, "INVALID_PARAM", "asOfDate")),
        ("/positions/101/issuer/320193", {"asOfDate": "2024-01-01"}, (404, "NOT_FOUND", None)),
        ("/positions/101/issuer/320193/history", {"sourceType": "4"}, (400, "INVALID_PARAM", "sourceType")),
        ("/positions/issuer/1/holders", {}, (404, "UNKNOWN_TICKER", None)),
        ("/positions/issuer/AAPL/holders", {}, (400, "INVALID_PARAM", "issuer_cik")),
        ("/positions/issuer/320193/timeline", {"source": "13X"}, (400, "INVALID_PARAM", "source")),
        ("/positions/issuer/320193/timeline", {"offset": "20001"}, (400, "INVALID_PARAM", "offset")),
        ("/analytics/ownership-concentration/1", {}, (404, "UNKNOWN_TICKER", None)),
    ],
)
def test_unknown_or_invalid_parameter_is_refused(
    client: Client, path: str, query: dict[str, str], expected: tuple[int, str, Any]
) -> None:
    assert get_error(client, path, **query) == expected


# ---- positions


def test_issuer_holders_have_the_figure_of_the_latest_day(client: Client) -> None:
    body = get(client, "/positions/issuer/320193/holders")
    assert body["shares_outstanding"] == {
        "shares": 10000,
        "day": "2025-10-17",
        "accession": "0000320193-25-000079",
        "gap": None,
    }
    holders = [
        (int(row["cik"]), row["shares_held"], row["percent_of_class"], row["percent_basis"], row["shares_source"])
        for row in body["holders"]
    ]
    assert holders == [
        (ANN, 1600, 16, "shares_outstanding", "form_4"),
        (BEN, 700, 7.0, "reported", "form_13dg"),
        (WICK, 600, 6.0, "reported", "form_13dg"),
        (LAMP, 15, 0.15, "shares_outstanding", "form_13f"),
        (SHADE, 1, 0.01, "shares_outstanding", "form_13f"),
    ]
    assert (body["as_of"], body["meta"]["total"]) == ("2025-09-30T00:00:00.000Z", 5)
    lamp = body["holders"][3]
    assert lamp["sources"] == ["form_13f", "form_13dg"]
    assert [(row["source"], row["day"], row["shares"], row["percent"], row["value"]) for row in lamp["figures"]] == [
        ("form_13f", "2025-09-30", 15, None, 3750),
        ("form_13dg", "2025-07-31", 12, 0.12, None),
    ]
    assert lamp["figures"][0]["gaps"] == {"percent": "not_of_this_form"}
    assert body["holders"][1]["figures"][0]["together"] == 2
    page = get(client, "/positions/issuer/320193/holders", limit=2, offset=3)
    assert [int(row["cik"]) for row in page["holders"]] == [LAMP, SHADE]


def test_position_is_never_a_sum_of_forms(client: Client) -> None:
    position = get(client, f"/positions/{LAMP}/issuer/320193")
    assert (position["currentShares"], position["currentPercent"], position["asOf"]) == (
        15,
        0.15,
        "2025-09-30T00:00:00.000Z",
    )
    assert position["sourceFormTypes"] == ["13F-HR", "SCHEDULE 13G"]
    assert position["firstObservedAt"] == "2025-06-30T00:00:00.000Z"
    july = get(client, f"/positions/{LAMP}/issuer/320193", asOfDate="2025-08-01")
    assert (july["currentShares"], july["currentPercent"], july["sharesSource"]) == (12, 0.12, "form_13dg")
    june = get(client, f"/positions/{LAMP}/issuer/320193", asOfDate="2025-06-30")
    assert (june["currentShares"], june["sharesSource"], len(june["figures"])) == (10, "form_13f", 1)
    ben = get(client, "/positions/102/issuer/320193", asOfDate="2025-04-01")
    assert (ben["currentShares"], ben["currentPercent"]) == (900, 9.0)


def test_position_that_is_no_longer_reported_is_zero(client: Client, app: App, tmp_path: Path) -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, 40729, "Ally Financial Inc.", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 40729, [("ALLY", None)], companies.FROM_LIST)
    take(app, tmp_path, b"cusip,ticker\n" + thirteenf_xml.ALLY.encode() + b",ALLY\n")
    position = get(client, f"/positions/{LAMP}/issuer/40729")
    assert (position["currentShares"], position["asOf"]) == (0, "2025-09-30T00:00:00.000Z")
    june = get(client, f"/positions/{LAMP}/issuer/40729", asOfDate="2025-09-29")
    assert (june["currentShares"], june["asOf"]) == (10, "2025-06-30T00:00:00.000Z")
    assert get(client, "/positions/issuer/40729/holders")["holders"] == []
    events = get(client, "/positions/issuer/40729/timeline")["events"]
    assert [(row["action"], row["shares_after"]) for row in events] == [("closed", 0), (None, 10)]


def test_position_history_has_an_event_for_each_form(client: Client) -> None:
    body = get(client, f"/positions/{LAMP}/issuer/320193/history")
    events = [
        (row["eventDate"], row["sourceFormType"], row["action"], row["postEventShares"], row["postEventPercent"])
        for row in body["events"]
    ]
    assert events == [
        ("2025-09-30", "13F-HR", "increased", 15, None),
        ("2025-07-31", "SCHEDULE 13G", "new", 12, 0.12),
        ("2025-06-30", "13F-HR", None, 10, None),
    ]
    only = get(client, f"/positions/{LAMP}/issuer/320193/history", startDate="2025-07-01", sourceType="form_13f")
    assert ([row["postEventShares"] for row in only["events"]], only["meta"]["total"]) == ([15], 1)
    ann = get(client, "/positions/101/issuer/320193/history")["events"]
    assert [(row["eventDate"], row["action"], row["postEventShares"]) for row in ann] == [
        ("2025-04-13", "proposed_sale", None),
        ("2025-03-03", "sell", 1600),
    ]
    assert ann[0]["gaps"]["postEventShares"] == "not_of_this_form"


def test_issuer_timeline_has_events_of_all_holders(client: Client) -> None:
    body = get(client, "/positions/issuer/320193/timeline")
    events = [
        (row["event_at"][:10], row["source"], int(row["holder_uuid"][-12:]), row["action"], row["shares_after"])
        for row in body["events"]
    ]
    assert events == [
        ("2025-09-30", "form_13f", LAMP, "increased", 15),
        ("2025-09-30", "form_13f", SHADE, None, 1),
        ("2025-07-31", "form_13dg", LAMP, "new", 12),
        ("2025-06-30", "form_13f", LAMP, None, 10),
        ("2025-05-01", "form_13dg", BEN, "decreased", 700),
        ("2025-04-13", "form_144", ANN, "proposed_sale", None),
        ("2025-03-03", "form_13dg", BEN, "new", 900),
        ("2025-03-03", "form_4", ANN, "sell", 1600),
    ]
    assert body["meta"]["total"] == 8
    assert len({row["event_id"] for row in body["events"]}) == 8
    walked = [get(client, "/positions/issuer/320193/timeline", limit=3, offset=at)["events"] for at in (0, 3, 6, 9)]
    assert [row for page in walked for row in page] == body["events"]
    spring = get(client, "/positions/issuer/320193/timeline", startDate="2025-04-01", endDate="2025-06-30")
    assert [row["source"] for row in spring["events"]] == ["form_13f", "form_13dg", "form_144"]
    assert get(client, "/positions/issuer/320193/timeline", source="form_13f")["meta"]["total"] == 3


@run_each_case(
    "source, days",
    [
        ("13F", ["2025-09-30", "2025-09-30", "2025-06-30"]),
        ("Form 4", ["2025-03-03"]),
        ("FORM_4", ["2025-03-03"]),
        ("13D", ["2025-05-01", "2025-03-03"]),
        ("13g", ["2025-07-31"]),
        ("form_13dg", ["2025-07-31", "2025-05-01", "2025-03-03"]),
    ],
)
def test_source_is_known_by_names_of_other_clients(client: Client, source: str, days: list[str]) -> None:
    body = get(client, "/positions/issuer/320193/timeline", source=source)
    assert [row["event_at"][:10] for row in body["events"]] == days
    assert body["meta"]["total"] == len(days)


def test_filing_history_has_one_schedule_alone(client: Client) -> None:
    totals = {}
    for source in ("13D", "13G", "form_13dg"):
        body = get(client, f"/holders/{LAMP}/filing-history", sourceType=source)
        assert len(body["history"]) == body["meta"]["total"]
        totals[source] = body["meta"]["total"]
    assert totals == {"13D": 0, "13G": 1, "form_13dg": 1}


def test_timeline_pages_join_at_positions_of_equal_value(client: Client, app: App) -> None:
    path = "/positions/issuer/320193/timeline?source=form_13f&limit="
    with app.db.write() as tx:
        # As in a quarter in which many managers sell: positions of equal value are ordered by manager, not by report.
        tx._connection.execute("UPDATE positions SET value = 0")
    complete_list = get(client, f"{path}100")
    pages = [get(client, f"{path}1&offset={skipped}")["events"] for skipped in range(complete_list["meta"]["total"])]
    assert [row["event_id"] for page in pages for row in page] == [row["event_id"] for row in complete_list["events"]]
    assert len({row["event_id"] for page in pages for row in page}) == complete_list["meta"]["total"] >= 3


def test_form_with_two_classes_has_null_shares_with_reason(client: Client, app: App) -> None:
    two = forms.form(
        forms.transaction("P", after="5", date="2025-06-02"),
        forms.transaction("P", after="7", title="Class B Common", date="2025-06-02"),
        period="2025-06-02",
        issuer=(APPLE[0], APPLE[1], "AAPL"),
        owners=(forms.owner(forms.BEN),),
    )
    with app.db.write() as tx:
        insiders.upsert_form(
            tx, ownership_forms.parse(two, "f"), build_metadata("0000000102-25-000077", "2025-06-04"), NOW
        )
    position = get(client, "/positions/102/issuer/320193")
    assert (position["currentShares"], position["currentPercent"], position["sharesSource"]) == (None, None, "form_4")
    assert position["gaps"] == {"currentShares": "several_classes", "currentPercent": "no_figure_of_shares"}
    reported = [(row["source"], row["security"], row["shares"]) for row in position["figures"]]
    assert reported[:2] == [("form_4", "Class B Common", 7), ("form_4", "Common Stock", 5)]
    event = get(client, "/positions/102/issuer/320193/history")["events"][0]
    assert (event["action"], event["postEventShares"], event["gaps"]["postEventShares"]) == (
        "buy",
        None,
        "several_classes",
    )


# ---- concentration


def test_concentration_counts_joint_filers_once(client: Client) -> None:
    body = get(client, "/analytics/ownership-concentration/320193")
    # Ann 16, Ben 7 for himself and Wick, Lamp 0.15, Shade 0.01.
    assert (body["top5Percent"], body["herfindahl"]) == (23.16, 305.0226)
    assert (body["institutionalPercent"], body["insiderPercent"]) == (0.16, 16)
    assert body["coverage"] == {
        "holders": 4,
        "withoutPercent": 0,
        "withoutPercentReasons": {},
        "heldPercent": 23.16,
        "unknownPercent": 76.84,
        "gaps": {},
    }
    first = body["holders"][0]
    assert (first["percent"], first["source"], first["accessionNumber"]) == (16, "form_4", "0000000101-25-000001")
    assert body["gaps"] == {}


def test_shares_before_a_split_are_adjusted_to_the_cover(client: Client, app: App) -> None:
    with app.db.write() as tx:
        days = b"date,close,stock splits,ticker\n2025-06-02,100,0,AAPL\n2025-10-01,25,4,AAPL\n2025-10-02,25,0,AAPL\n"
        price_store.upsert(tx, price_csv.parse(days, "aapl.csv", "aapl.csv"), b"split")
    holders = get(client, "/positions/issuer/320193/holders")["holders"]
    lamp = next(row for row in holders if int(row["cik"]) == LAMP)
    assert (lamp["shares_held"], lamp["percent_of_class"]) == (15, 0.6)


def test_no_percentage_without_a_cover_page(client: Client, app: App) -> None:
    with app.db.write() as tx:
        tx._connection.execute("DELETE FROM facts")
    body = get(client, "/analytics/ownership-concentration/320193")
    names = ("top5Percent", "top10Percent", "top25Percent", "herfindahl", "institutionalPercent", "insiderPercent")
    assert [body[name] for name in names] == [None] * 6
    assert body["gaps"] == dict.fromkeys(names, "shares_outstanding_unknown")
    unknown = "shares_outstanding_unknown"
    assert body["coverage"] == {
        "holders": 0,
        "withoutPercent": 5,
        "withoutPercentReasons": {unknown: 5},
        "heldPercent": None,
        "unknownPercent": None,
        "gaps": {"heldPercent": unknown, "unknownPercent": unknown},
    }
    holder = get(client, "/positions/issuer/320193/holders")["holders"][0]
    assert (holder["percent_of_class"], holder["gaps"]) == (None, {"percent_of_class": "shares_outstanding_unknown"})


def store_cover(app: App, shares: int, end: str) -> None:
    """Store a report with this count of shares on its cover."""
    cover = COVER | {"end": end, "val": shares, "accn": f"0000320193-{end[2:4]}-000090", "filed": end}
    concept = "dei:EntityCommonStockSharesOutstanding"
    figures.store_companyfacts(app, figures.build_companyfacts(320193, "Apple Inc.", [(concept, "shares", cover)]))


def test_unknown_percent_is_null_if_forms_overlap(client: Client, app: App) -> None:
    store_cover(app, 2000, "2025-11-17")
    body = get(client, "/analytics/ownership-concentration/320193")
    # Ann 80, Ben 35, Lamp 0.75, Shade 0.05.
    coverage = body["coverage"]
    assert (coverage["heldPercent"], coverage["unknownPercent"]) == (115.8, None)
    assert (coverage["gaps"], body["gaps"]) == ({"unknownPercent": "forms_overlap"}, {})


def test_shares_are_not_divided_by_a_cover_of_another_year(client: Client, app: App) -> None:
    store_cover(app, 10000, "2026-11-17")
    body = get(client, "/analytics/ownership-concentration/320193")
    # The quarter of Lamp and Shade ends on September 30, 2025; the other figures are months older.
    assert body["coverage"]["withoutPercentReasons"] == {"days_apart": 5}
    assert (body["top5Percent"], body["holders"], body["gaps"]["insiderPercent"]) == (None, [], "days_apart")
    holders_then = get(client, "/positions/issuer/320193/holders")["holders"]
    lamp = next(row for row in holders_then if int(row["cik"]) == LAMP)
    assert (lamp["percent_of_class"], lamp["gaps"]) == (None, {"percent_of_class": "days_apart"})
    # A position as of a day is divided by the cover that was filed until that day.
    past = get(client, f"/positions/{LAMP}/issuer/320193?asOfDate=2025-12-31")
    assert (past["currentPercent"], past["percentBasis"]) == (0.15, "shares_outstanding")


def test_small_percentage_is_not_rounded_to_zero(client: Client, app: App) -> None:
    store_cover(app, 14_681_140_000, "2025-11-17")
    body = get(client, "/analytics/ownership-concentration/320193")
    # 1,600, 700, 15 and 1 of 14,681,140,000.
    assert [row["percent"] for row in body["holders"]] == [0.0000109, 0.000004768, 0.0000001022, 0.000000006811]
    assert (body["top25Percent"], body["herfindahl"]) == (0.00001578, 0.0000000001415)


# ---- stored counts


def test_holder_without_stored_filings_is_deleted(client: Client, app: App) -> None:
    with app.db.write() as tx:
        tx._connection.execute("DELETE FROM schedule_filings WHERE accession LIKE '0000000102%'")
        tx._connection.execute("DELETE FROM insider_forms")
        remaining = [
            tuple(row) for row in tx._connection.execute("SELECT cik, form_13f, form_13dg FROM holders ORDER BY cik")
        ]
    assert remaining == [(LAMP, 2, 1), (SHADE, 1, 0)]


def test_check_reports_wrong_filing_counts_of_holders(client: Client, app: App) -> None:
    def list_holder_problems() -> list[str]:
        return [row for row in proof.check_database(app.db, app.config)["problems"] if "holder" in row]

    assert list_holder_problems() == []
    lamp, ann = holder_ids.for_cik(LAMP), holder_ids.for_cik(ANN)
    with app.db.write() as tx:
        # Two wrong counts whose sum is right, and a holder whose row is missing.
        tx._connection.execute(
            "UPDATE holders SET form_13f = form_13f + 1, form_13dg = form_13dg - 1 WHERE id = ?", (lamp,)
        )
        tx._connection.execute("DELETE FROM holders WHERE id = ?", (ann,))
    assert list_holder_problems() == [
        f"Forms 3, 4 and 5 of holder {ann}: 1 are there, 0 were stored",
        f"13F reports of holder {lamp}: 2 are there, 3 were stored",
        f"Schedules 13D and 13G of holder {lamp}: 1 are there, 0 were stored",
    ]
