"""Endpoints for mutual funds and ETFs by their N-PORT reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import fund_reports, sgml
from finapi.market.documents import families
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.funds import fund_report_store
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies, cusip_map, securities
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import NOW
from tests.support import fund_report_xml as made
from tests.support.case_tables import run_each_case

BASE = "/api/v1/nport"
SEPTEMBER, DECEMBER, BOND, TRUST = (f"0009200001-26-00000{number}" for number in (1, 2, 3, 4))
SPLIT_CUSIP = "594918104"
JAPANESE = '<currencyConditional curCd="JPY" exchangeRt="150.00"/>'


def build_documents() -> tuple[tuple[bytes, str, str], ...]:
    """Return reports of three funds: an ETF for two periods, a bond fund, and a trust without series."""
    future = made.position(
        "N/A", "N/A", title="Lamp 500 future", isin=None, value="-120.25", percent="-0.24", asset="", more=made.FUTURE
    )
    september = made.report(
        made.position(balance="80", value="20000", percent="50"),
        made.position("Ally Financial", made.ALLY, title="Ally", isin=None, balance="10", value="400", percent="1"),
        period="2025-09-30",
        net_assets="40000",
        total_assets="40500",
    )
    december = made.report(
        made.position(balance="60", value="15000", percent="30"),
        made.position(balance="40", value="10000", percent="20", more=made.LENDING),
        made.position(
            "Toyota Motor Corp",
            "000000000",
            title="Toyota",
            isin="JP3633400001",
            balance="-30",
            currency=JAPANESE,
            value="-600",
            percent="5.0",
            payoff="Short",
            country="JP",
        ),
        future,
    )
    bond = made.report(
        made.position(
            "Apple Inc.", "N/A", title="Apple 4.25% 2031", units="PA", value="9000", percent="90", more=made.DEBT
        ),
        series=made.OTHER_SERIES,
        class_ids=(),
        net_assets="10000",
        total_assets="10000",
        total_liabilities="0",
        flows="",
        period="2025-10-31",
    )
    trust = made.report(
        made.position(value="5000", percent="100", balance="20"),
        series=None,
        class_ids=(),
        trust=("0009200009", "Lone Trust"),
        net_assets="5000",
        total_assets="5000",
        total_liabilities="0",
        final="Y",
    )
    return (
        (september, SEPTEMBER, "2025-11-28"),
        (december, DECEMBER, "2026-02-27"),
        (bond, BOND, "2025-12-29"),
        (trust, TRUST, "2026-02-26"),
    )


@pytest.fixture(scope="module")
def template_app(make_stored: Callable[..., App]) -> App:
    """Return an app with the reports, and with the tickers of a share class and of the trust."""
    app = make_stored()
    with app.db.write() as tx:
        for content, accession, filed in build_documents():
            metadata = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed)
            fund_report_store.upsert(tx, fund_reports.parse(content, "f"), metadata, NOW)
        header = sgml.parse_header(made.submission(DECEMBER, made.report()), "f")
        families.store_header(tx, header, NOW)
        companies.upsert_tickers(tx, 9200009, [("LONE", None)], companies.FROM_LIST)
    return app


@pytest.fixture
def app(copied: Callable[..., App], template_app: App) -> App:
    return copied(template_app)


@pytest.fixture
def api(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def accessions(answer: Any) -> list[str]:
    return [row["accession_number"] for row in answer["data"]]


def test_latest_reports_are_listed_by_filing_day(api: Client) -> None:
    answer = api.get(f"{BASE}/latest").json
    assert accessions(answer) == [DECEMBER, TRUST, BOND, SEPTEMBER]
    assert answer["meta"]["pagination"] == {"total": 4, "limit": 100, "offset": 0, "has_more": False}
    assert answer["data"][0] == {
        "accession_number": DECEMBER,
        "submission_type": "NPORT-P",
        "is_amendment": False,
        "reg_cik": "0009200001",
        "reg_name": "Lantern Funds Trust",
        "series_id": "S000900001",
        "series_name": "Lantern Index ETF",
        "as_of": "2025-12-31",
        "rep_pd_end": "2026-06-30",
        "net_assets": 50000,
        "tot_assets": 50500,
        "filed_at": "2026-02-27T00:00:00.000Z",
        "source": "edgar",
        "holdings_count": 4,
        "is_current": True,
        "doubts": ["percentages_differ"],
    }


@run_each_case(
    "query, expected",
    [
        ("cik=9200009", [TRUST]),
        ("series_id=s000900002", [BOND]),
        ("series_id=9200009", [TRUST]),
        ("ticker=LNTN", [DECEMBER, SEPTEMBER]),
        ("ticker=LNTN&series_id=S000900002", []),
        ("ticker=LNTN&cik=9200009", []),
        ("form_type=NPORT-P/A", []),
        ("limit=1&offset=1", [TRUST]),
    ],
)
def test_filters_of_latest_reports_apply_together(api: Client, query: str, expected: list[str]) -> None:
    assert accessions(api.get(f"{BASE}/latest?{query}").json) == expected


def test_reports_of_a_series_are_listed_by_period(api: Client) -> None:
    answer = api.get(f"{BASE}/by-series/S000900001").json
    assert [(row["accession_number"], row["as_of"]) for row in answer["data"]] == [
        (DECEMBER, "2025-12-31"),
        (SEPTEMBER, "2025-09-30"),
    ]
    assert answer["meta"]["series_id"] == "S000900001"
    assert api.get(f"{BASE}/by-series/S000999999").json["data"] == []


def test_a_ticker_stands_for_a_class_or_a_registrant(api: Client) -> None:
    answer = api.get(f"{BASE}/by-ticker/lntn").json
    assert accessions(answer) == [DECEMBER, SEPTEMBER]
    assert answer["meta"]["resolution"] == {
        "ticker": "LNTN",
        "matches": [
            {
                "class_id": "C000900001",
                "series_id": "S000900001",
                "reg_cik": "0009200001",
                "source": "submission_header",
            }
        ],
    }
    lone = api.get(f"{BASE}/by-ticker/LONE").json
    assert accessions(lone) == [TRUST]
    assert lone["meta"]["resolution"]["matches"] == [
        {"class_id": None, "series_id": None, "reg_cik": "0009200009", "source": "company_ticker"}
    ]
    assert api.get(f"{BASE}/by-ticker/NOPE").json["code"] == "UNKNOWN_TICKER"


def test_a_report_has_registrant_flows_returns_and_classes(api: Client) -> None:
    report = api.get(f"{BASE}/{DECEMBER}").json["data"]
    assert report["registrant"] == {
        "cik": "0009200001",
        "name": "Lantern Funds Trust",
        "file_number": "811-90001",
        "lei": "549300LANTERN0000T01",
        "street1": "1 Main Street",
        "city": "Reno",
        "state": "NV",
        "zip": "89501",
        "phone": "775-555-0100",
    }
    assert report["series"]["class_id_primary"] == "C000900001"
    assert report["period"] == {"rep_pd_end": "2026-06-30", "as_of": "2025-12-31", "is_final_filing": False}
    assert report["assets"] == {"tot_assets": 50500, "tot_liabs": 500, "net_assets": 50000}
    assert report["payables"] == {"amt_pay_one_yr_other": 12.5}
    assert report["monthly_flow"]["mon3Flow"] == {"sales": "420", "reinvestment": "5.5", "redemption": "310.25"}
    assert report["monthly_flow"]["mon2Flow"] == {"sales": None, "reinvestment": None, "redemption": None}
    assert report["monthly_returns"][0] == {
        "class_id": "C000900001",
        "return_month_1": 1.1,
        "return_month_2": -2.2,
        "return_month_3": 3.3,
    }
    assert report["entities"][0] == {
        "sequence": 1,
        "role": "class",
        "owner_cik": "0009200001",
        "series_id": "S000900001",
        "series_name": "Lantern Index ETF",
        "class_contract_id": "C000900001",
        "class_contract_name": "ETF Shares",
        "class_contract_ticker": "LNTN",
    }
    assert report["signature"]["signerName"] == "Ann Lamp"


def test_positions_are_listed_by_value(api: Client) -> None:
    answer = api.get(f"{BASE}/{DECEMBER}/holdings").json
    assert [(row["sequence"], row["val_usd"]) for row in answer["data"]] == [
        (1, 15000),
        (2, 10000),
        (4, -120.25),
        (3, -600),
    ]
    apple, loan, future, short = answer["data"]
    assert (apple["cusip"], apple["identifiers"]) == (
        made.APPLE,
        {"isin": {"value": "US0378331005", "description": None}},
    )
    assert (loan["securities_lending"]["is_on_loan"], loan["securities_lending"]["loan_value"]) == (True, 1000)
    assert (future["name"], future["derivative_cat"], future["derivative"]["notional_amount"]) == (None, "FUT", -50000)
    assert (short["cusip"], short["isin"], short["balance"], short["currency"], short["exchange_rate"]) == (
        None,
        "JP3633400001",
        -30,
        "JPY",
        150,
    )
    assert [row["pct_val_doubt"] for row in answer["data"]] == [False, False, False, True]
    assert answer["meta"]["pagination"]["total"] == 4


@run_each_case(
    "query, expected",
    [
        (f"cusip={made.APPLE}", [1, 2]),
        ("isin=jp3633400001", [3]),
        ("asset_cat=ec", [1, 2, 3]),
        ("derivative_cat=FUT", [4]),
        ("min_pct=20", [1, 2]),
        ("sort_by=sequence", [1, 2, 3, 4]),
        ("min_pct=20.5&limit=1", [1]),
    ],
)
def test_positions_are_filtered(api: Client, query: str, expected: list[int]) -> None:
    rows = api.get(f"{BASE}/{DECEMBER}/holdings?{query}").json["data"]
    assert sorted(row["sequence"] for row in rows) == expected


def test_positions_of_a_fund_are_found_by_its_ticker(api: Client) -> None:
    latest = api.get(f"{BASE}/funds/LNTN/holdings").json
    assert latest["data"] == api.get(f"{BASE}/{DECEMBER}/holdings").json["data"]
    assert (latest["meta"]["accession_number"], latest["meta"]["as_of"]) == (DECEMBER, "2025-12-31")
    september = api.get(f"{BASE}/funds/LNTN/holdings?period=2025-09-30&min_pct=2").json
    assert [(row["title"], row["val_usd"]) for row in september["data"]] == [("Apple Inc. common stock", 20000)]
    for path in ("LNTN/holdings?period=2024-01", "NOPE/holdings"):
        assert api.get(f"{BASE}/funds/{path}").status == 404


def test_assets_of_a_fund_are_paged_by_day(api: Client) -> None:
    first = api.get(f"{BASE}/funds/LNTN/aum-history?limit=1").json
    assert first["data"] == [
        {
            "as_of": "2025-12-31",
            "series_id": "S000900001",
            "series_name": "Lantern Index ETF",
            "reg_cik": "0009200001",
            "net_assets": 50000,
            "tot_assets": 50500,
            "tot_liabs": 500,
            "accession_number": DECEMBER,
            "source": "edgar",
            "doubts": ["percentages_differ"],
        }
    ]
    cursor = first["meta"]["pagination"]["next_cursor"]
    assert (first["meta"]["pagination"]["has_more"], cursor) == (True, "2025-12-31_S000900001")
    second = api.get(f"{BASE}/funds/LNTN/aum-history?limit=1&cursor={cursor}").json
    assert [(row["as_of"], row["net_assets"]) for row in second["data"]] == [("2025-09-30", 40000)]
    assert second["meta"]["pagination"] == {"limit": 1, "has_more": False, "next_cursor": None}


def test_holders_are_those_of_the_latest_reports(api: Client) -> None:
    answer = api.get(f"{BASE}/holders-of/{made.APPLE}").json
    # The bond fund gives only the ISIN. The trust filed its final report.
    assert [(row["accession_number"], row["holding"]["val_usd"]) for row in answer["data"]] == [
        (DECEMBER, 15000),
        (DECEMBER, 10000),
        (BOND, 9000),
    ]
    assert answer["data"][2]["holding"]["title"] == "Apple 4.25% 2031"
    assert (answer["meta"]["cusip"], answer["meta"]["period"]) == (made.APPLE, None)


def test_holders_of_a_month_or_by_isin(api: Client) -> None:
    september = api.get(f"{BASE}/holders-of/{made.APPLE}?period=2025-09-30").json
    assert accessions(september) == [SEPTEMBER]
    assert september["meta"]["period"] == "2025-09"
    december = api.get(f"{BASE}/holders-of/{made.APPLE}?period=2025-12").json
    assert accessions(december) == [DECEMBER, DECEMBER, TRUST]
    assert accessions(api.get(f"{BASE}/holders-of/JP3633400001").json) == [DECEMBER]
    assert accessions(api.get(f"{BASE}/holders-of/US0378331005").json) == [DECEMBER, DECEMBER, BOND]
    assert api.get(f"{BASE}/holders-of/us0378331005").json["meta"]["cusip"] == "US0378331005"
    assert api.get(f"{BASE}/holders-of/37833100").json["meta"]["cusip"] == made.APPLE


def test_the_document_describes_a_cusip_or_an_isin() -> None:
    (cusip,) = [
        param["schema"]
        for param in build_document("", ROUTES)["paths"][f"{BASE}/holders-of/{{cusip}}"]["get"]["parameters"]
        if param.get("name") == "cusip"
    ]
    assert cusip == {"type": "string", "format": "cusip-or-isin", "pattern": "^[0-9A-Za-z*@# ]*[0-9] *$"}


def test_changes_compare_a_report_with_the_one_before(api: Client) -> None:
    answer = api.get(f"{BASE}/{DECEMBER}/changes").json
    assert answer["meta"]["previous_accession_number"] == SEPTEMBER
    assert answer["meta"]["counts"] == {"new": 2, "increased": 1, "decreased": 0, "unchanged": 0, "closed": 1}
    changes = {row["title"]: row for row in answer["data"]}
    apple = changes["Apple Inc. common stock"]
    assert (apple["status"], apple["balance"], apple["previous_balance"], apple["change_balance"]) == (
        "increased",
        100,
        80,
        20,
    )
    assert (apple["val_usd"], apple["previous_val_usd"], apple["change_val_usd"]) == (25000, 20000, 5000)
    ally = changes["Ally"]
    assert (ally["status"], ally["balance"], ally["previous_balance"], ally["change_val_usd"]) == (
        "closed",
        None,
        10,
        -400,
    )
    assert (changes["Toyota"]["status"], changes["Toyota"]["change_balance"]) == ("new", -30)
    closed = api.get(f"{BASE}/{DECEMBER}/changes?status=closed").json
    assert [row["title"] for row in closed["data"]] == ["Ally"]
    assert closed["meta"]["pagination"]["total"] == 1


def test_changes_against_a_given_report(api: Client) -> None:
    answer = api.get(f"{BASE}/{SEPTEMBER}/changes?previous={DECEMBER}&status=decreased").json
    assert [(row["title"], row["change_balance"]) for row in answer["data"]] == [("Apple Inc. common stock", -20)]


def test_the_first_report_has_no_changes(api: Client) -> None:
    answer = api.get(f"{BASE}/{SEPTEMBER}/changes")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_a_split_is_not_an_increase(app: App, api: Client) -> None:
    with app.db.write() as tx:
        securities.get_or_insert_ids(tx, {SPLIT_CUSIP: ("LAMP CO", "COM")})
        mappings, _ = cusip_map.parse_mappings(f"cusip,ticker\n{SPLIT_CUSIP},LAMP\n".encode(), "f")
        cusip_map.upsert_mappings(tx, mappings)
        days = b"Date,Close,Stock Splits\n2025-11-10,10.00,4\n"
        price_store.upsert(tx, price_csv.parse(days, "f", "lamp.csv"), days, "LAMP")
        for accession, period, balance, filed in (
            ("0009200001-26-000007", "2025-09-30", "100", "2025-11-28"),
            ("0009200001-26-000008", "2025-12-31", "400", "2026-02-27"),
        ):
            position = made.position("Lamp", SPLIT_CUSIP, title="Lamp", isin=None, balance=balance, value="1000")
            content = made.report(position, period=period, series=("S000900003", "Split Fund"))
            metadata = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed)
            fund_report_store.upsert(tx, fund_reports.parse(content, "f"), metadata, NOW)
    (change,) = api.get(f"{BASE}/0009200001-26-000008/changes").json["data"]
    assert (change["status"], change["previous_balance"], change["split_factor"]) == ("unchanged", 400, 4)
    (holding,) = api.get(f"{BASE}/0009200001-26-000008/holdings").json["data"]
    assert holding["ticker"] == "LAMP"


@run_each_case(
    "body, expected",
    [
        ({}, [DECEMBER, BOND, TRUST]),
        ({"net_assets_gt": 5000}, [DECEMBER, BOND]),
        ({"net_assets_gt": 5000, "net_assets_lt": 50000}, [BOND]),
        ({"flow_sales_1m_gt": 419.99}, [DECEMBER, TRUST]),
        # The trust has no share class, so that its return is not known.
        ({"flow_sales_1m_gt": 419.99, "return_1m_gt": 3}, [DECEMBER]),
        ({"flow_sales_1m_gt": 419.99, "return_1m_gt": 3, "holdings_count_gt": 3}, [DECEMBER]),
        ({"cik": 9200009}, [TRUST]),
        ({"cik": "0009200009"}, [TRUST]),
        ({"series_id": "s000900002"}, [BOND]),
        ({"limit": 1, "offset": 1}, [BOND]),
    ],
)
def test_a_screen_applies_all_bounds(api: Client, body: dict[str, Any], expected: list[str]) -> None:
    assert accessions(api.post(f"{BASE}/screen", body).json) == expected


def test_a_screen_repeats_its_filters(api: Client) -> None:
    meta = api.post(f"{BASE}/screen", {"net_assets_gt": 20000}).json["meta"]
    assert meta["screen"] == {
        "grain": "latest_report_per_fund",
        "filters_applied": {"net_assets": {"gt": 20000, "lt": None}},
    }


@run_each_case(
    "path, param",
    [
        ("/by-series/X000900001", "series_id"),
        ("/holders-of/037833109", "cusip"),
        ("/holders-of/APPLE", "cusip"),
        ("/holders-of/US037833100X", "cusip"),
        (f"/holders-of/{made.APPLE}?period=2025-13", "period"),
        ("/latest?form_type=NPORT-EX", "form_type"),
        (f"/{DECEMBER}/holdings?min_pct=many", "min_pct"),
        (f"/{DECEMBER}/changes?status=sold", "status"),
        ("/funds/LNTN/aum-history?cursor=x", "cursor"),
    ],
)
def test_invalid_parameters_are_refused(api: Client, path: str, param: str) -> None:
    answer = api.get(f"{BASE}{path}")
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", param)


@pytest.mark.parametrize("path", ["", "/holdings", "/changes"])
def test_an_unknown_report_is_not_found(api: Client, path: str) -> None:
    answer = api.get(f"{BASE}/0000000001-26-000001{path}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_an_empty_database_has_no_reports(make_app: Callable[..., App]) -> None:
    app = make_app()
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    assert api.get(f"{BASE}/latest").json["data"] == []
    assert api.get(f"{BASE}/holders-of/{made.APPLE}").json["data"] == []
    assert api.post(f"{BASE}/screen", {}).json["data"] == []


def test_the_sql_views_have_current_reports(api: Client) -> None:
    query = (
        "SELECT series_name, sum(value) AS value FROM fund_position JOIN fund_report USING (accession_number) "
        "WHERE is_latest AND cusip = '037833100' GROUP BY 1"
    )
    assert api.post("/api/v1/sql-proxy", {"query": query}).json["data"] == [
        {"series_name": None, "value": 5000.0},
        {"series_name": "Lantern Index ETF", "value": 25000.0},
    ]


def test_members_and_costs_are_those_of_the_contract(api: Client) -> None:
    path = Path(__file__).parents[4] / "shared" / "contract" / "wire.json"
    if not path.is_file():
        pytest.skip("the contract (../shared/contract) is not here")
    contract = json.loads(path.read_text())
    names = {name for name in contract if " /api/v1/nport" in name}
    costs = {route.name: route.cost for route in ROUTES if "/nport" in route.path}
    assert {name: costs[name] for name in names} == {name: contract[name]["cost"] for name in names}
    values = {"series_id": "S000900001", "ticker": "LNTN", "accession": DECEMBER, "cusip": made.APPLE}
    for name in sorted(names):
        method, _, template = name.partition(" ")
        url = template.format(**values)
        if method == "POST":
            url, body = template, {"net_assets_gt": 1}
            answer = api.post(url, body).json
        else:
            answer = api.get(url).json
        assert list_missing_members(answer, contract[name]["response"], name) == []


def list_missing_members(value: Any, shape: Any, place: str) -> list[str]:
    """Return the places of members of the contract that an answer lacks."""
    if isinstance(shape, dict):
        missing = [f"{place}.{name}" for name in shape if not isinstance(value, dict) or name not in value]
        present = [name for name in shape if isinstance(value, dict) and value.get(name) is not None]
        return missing + [
            found for name in present for found in list_missing_members(value[name], shape[name], f"{place}.{name}")
        ]
    if isinstance(shape, list) and value:
        return list_missing_members(value[0], shape[0], f"{place}[]")
    return []


def test_numbers_are_exact(api: Client) -> None:
    body = api.get(f"{BASE}/{DECEMBER}/holdings?derivative_cat=FUT").body
    rows = json.loads(body, parse_float=Decimal)["data"]
    assert rows[0]["val_usd"] == Decimal("-120.25")
