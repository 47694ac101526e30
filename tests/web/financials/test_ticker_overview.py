"""The overview of a company: ``/tickers/{ticker}/overview``."""

from __future__ import annotations

import json

import jsonschema
import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import submissions
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.filings import lists
from finapi.market.financials.company_overview import OverviewAttributes
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from finapi.market.reference.companies import FROM_LIST
from finapi.web.financials import ticker_overview
from finapi.web.http.schema import build_schema
from tests.client import Client
from tests.conftest import NOW
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.web.financials.test_figures import year

SHAPE = build_schema(ticker_overview.SHAPE)

PATH = "/api/v1/tickers/seven/overview"


@pytest.fixture
def caller(app: App, user: users.NewUser) -> Client:
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [*year(77, 2022, 800), *year(77, 2023, 1000)]))
    with app.db.write() as tx:
        companies.upsert_tickers(tx, 77, [("SEVEN", None)], FROM_LIST)
        companies.update_attributes(tx, 77, CompanyAttributes(sic=3571), 2, "2024-01-01")
        tx.run("bump_data_version")
    return Client(app, user.api_key)


def store_prices(app: App, text: str) -> None:
    data = text.encode()
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(data, "seven.csv", "seven.csv"), data, "SEVEN")


def test_a_company_at_a_glance_is_its_newest_year(caller: Client, app: App) -> None:
    store_prices(app, "Date,Close\n2023-12-28,6\n2023-12-29,8\n")
    answer = caller.get(PATH).json
    jsonschema.Draft202012Validator(SHAPE).validate(answer)
    data = answer["data"]
    assert {name: data[name] for name in ("ticker", "cik", "name", "sector", "currency")} == {
        "ticker": "SEVEN",
        "cik": "0000000077",
        "name": "Seventy-Seven Corp",
        "sector": "Manufacturing",
        "currency": "USD",
    }
    # Revenue 1,000, half of it gross profit, a tenth net income; 500 shares at 8; equity 1,000.
    assert (data["revenue"], data["gross_profit"], data["net_income"]) == (1000, 500, 100)
    assert (data["profit_margin"], data["gross_margin"]) == (0.1, 0.5)
    assert (data["shares_outstanding"], data["market_cap"], data["book_value_per_share"]) == (500, 4000, 2)
    assert data["sources"]["revenue"] == "0000000077-24-000001"
    assert answer["meta"] == {
        "period": "A",
        "fiscal_year": 2023,
        "fiscal_period": "FY",
        "period_end": "2023-12-31",
        "price_date": "2023-12-29",
        "price_source": "csv",
    }


SUBMISSIONS = {
    "cik": "77",
    "name": "Seventy-Seven Corp",
    "sic": "3571",
    "sicDescription": "Electronic Computers",
    "tickers": ["SEVEN"],
    "exchanges": ["NYSE"],
    "filings": {
        "recent": {
            "accessionNumber": ["0000000077-24-000001"],
            "filingDate": ["2024-02-01"],
            "reportDate": ["2023-12-31"],
            "acceptanceDateTime": ["2024-02-01T15:00:00.000Z"],
            "form": ["10-K"],
            "primaryDocument": ["k.htm"],
            "items": [""],
            "size": [1],
            "isXBRL": [1],
            "isInlineXBRL": [1],
        },
        "files": [],
    },
}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("Electronic Computers", "Electronic Computers"),
        ("Agri & Food – Ω", "Agri & Food – Ω"),
        ("", None),
        (None, None),
    ],
)
def test_sic_description_is_as_the_submissions_file_has_it(
    caller: Client, app: App, stated: str | None, expected: str | None
) -> None:
    assert caller.get(PATH).json["data"]["sic_description"] is None
    document = json.dumps({**SUBMISSIONS, "sicDescription": stated}).encode()
    with app.db.write() as tx:
        lists.upsert_submissions(tx, submissions.parse_company(document, "CIK0000000077.json"), NOW)
        tx.run("bump_data_version")
    answer = caller.get(PATH).json
    jsonschema.Draft202012Validator(SHAPE).validate(answer)
    assert (answer["data"]["sic_description"], answer["data"]["sector"]) == (expected, "Manufacturing")


def test_every_attribute_of_the_overview_is_stored() -> None:
    assert set(OverviewAttributes.__annotations__) <= set(CompanyAttributes._fields)


def test_computed_twelve_months_list_their_three_operands(caller: Client, app: App) -> None:
    halves = [("2023-01-01", "2023-06-30", 450), ("2024-01-01", "2024-06-30", 600), ("2024-04-01", "2024-06-30", 310)]
    filed = {"accn": "0000000077-24-000002", "form": "10-Q", "filed": "2024-08-01", "fy": 2024, "fp": "Q2"}
    facts = [
        (f"us-gaap:{tag}", "USD", {"start": start, "end": end, "val": value, **filed})
        for tag in ("Revenues", "NetIncomeLoss")
        for start, end, value in halves
    ]
    full_years = [*year(77, 2022, 800), *year(77, 2023, 1000)]
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [*full_years, *facts]))
    body = caller.get(PATH).json
    jsonschema.Draft202012Validator(SHAPE).validate(body)
    assert (body["meta"]["period"], body["meta"]["period_end"]) == ("TTM", "2024-06-30")
    operands = body["data"]["operands"]["revenue"]
    assert body["data"]["revenue"] == 1150
    assert [(operand["sign"], operand["value"], operand["end_date"]) for operand in operands] == [
        (1, 1000, "2023-12-31"),
        (1, 600, "2024-06-30"),
        (-1, 450, "2023-06-30"),
    ]


def test_an_unknown_figure_is_null_with_its_reason(caller: Client) -> None:
    data = caller.get(PATH).json["data"]
    names = ("market_cap", "total_cash", "float_shares", "first_trade_date", "short_ratio")
    assert [data[name] for name in names] == [None] * 5
    assert [data["holes"][name]["reason_code"] for name in names] == [
        "no_price",
        "not_reported",
        "not_filed",
        "not_filed",
        "not_filed",
    ]
    # Every figure is a value with a filing or a hole with a reason, and never both.
    figures = set(SHAPE["properties"]["data"]["properties"]) - {
        *("ticker", "cik", "name", "sector", "industry", "sic_description", "currency", "holes", "sources", "operands"),
        "ink_urls",
    }
    assert set(data["holes"]) | set(data["sources"]) == figures
    assert not set(data["holes"]) & set(data["sources"])
    assert all((data[name] is None) == (name in data["holes"]) for name in figures)


def test_a_stale_price_is_reported_with_its_date(caller: Client, app: App) -> None:
    store_prices(app, "Date,Close\n2023-12-19,6\n2023-12-20,8\n2024-01-02,9\n")
    answer = caller.get(PATH).json
    assert (answer["data"]["market_cap"], answer["data"]["enterprise_value"]) == (None, None)
    assert answer["data"]["holes"]["market_cap"] == {"status": "hole", "reason_code": "stale_price"}
    assert (answer["meta"]["price_date"], answer["meta"]["price_source"]) == ("2023-12-20", "csv")
    # Ten days before the day that is needed a price is not yet stale.
    store_prices(app, "Date,Close\n2023-12-21,7\n")
    answer = caller.get(PATH).json
    assert (answer["data"]["market_cap"], answer["meta"]["price_date"]) == (3500, "2023-12-21")


def test_unknown_companies_and_those_without_figures_are_404(caller: Client, app: App) -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, 99, "No Figures Inc", FROM_LIST, "")
        companies.upsert_tickers(tx, 99, [("NONE", None)], FROM_LIST)
    assert caller.get("/api/v1/tickers/none/overview").verdict[:2] == (404, "NOT_COVERED")
    assert caller.get("/api/v1/tickers/nobody/overview").verdict[:2] == (404, "UNKNOWN_TICKER")
