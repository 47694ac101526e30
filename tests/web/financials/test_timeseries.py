"""``/xbrl/timeseries`` over HTTP: parameters, paging, refusals, tables, caching."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from tests.client import Client
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.raw_sql import run_sql

URL = "/api/v1/xbrl/timeseries"


def build_rows(years: range) -> list[tuple[str, str, dict[str, Any]]]:
    facts: list[tuple[str, str, dict[str, Any]]] = []
    for year in years:
        filed = {"accn": f"0000000077-{(year + 1) % 100:02}-000001", "form": "10-K", "filed": f"{year + 1}-02-20"}
        lasting = {"start": f"{year}-01-01", "end": f"{year}-12-31", "fy": year, "fp": "FY", **filed}
        instant = {"end": f"{year}-12-31", "fy": year, "fp": "FY", **filed}
        facts += [
            ("us-gaap:Revenues", "USD", {**lasting, "val": year * 1000}),
            ("us-gaap:NetIncomeLoss", "USD", {**lasting, "val": year}),
            ("us-gaap:EarningsPerShareDiluted", "USD/shares", {**lasting, "val": 1.25}),
            ("us-gaap:Assets", "USD", {**instant, "val": year * 5}),
        ]
    return facts


@pytest.fixture
def caller(app: App, user: users.NewUser) -> Client:
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", build_rows(range(2018, 2024))))
    return Client(app, user.api_key)


def test_a_series_is_newest_first_and_names_its_company(caller: Client) -> None:
    answer = caller.get(URL, query={"cik": "77", "metrics": "revenue,eps_diluted,inventory"})
    assert answer.status == 200
    assert answer.headers["x-tokens-charged"] == "10"
    data, meta = answer.json["data"], answer.json["meta"]
    assert (data["cik"], data["company_name"], data["ticker"]) == ("0000000077", "Seventy-Seven Corp", None)
    assert [row["fiscal_year"] for row in data["rows"]] == [2023, 2022, 2021, 2020, 2019, 2018]
    assert data["rows"][0] == {
        "fiscal_year": 2023,
        "fiscal_period": "FY",
        "period_start": "2023-01-01",
        "period_end": "2023-12-31",
        "known_on": "2024-02-20",
        "metrics": {"revenue": 2023000, "eps_diluted": 1.25, "inventory": None},
        "holes": {"inventory": {"status": "hole", "reason_code": "not_reported"}},
    }
    assert meta["metric_count"] == 3
    assert meta["years"] == "2018-2023"
    assert meta["pagination"]["has_more"] is False


def test_a_cell_names_its_filing(caller: Client) -> None:
    query = {"cik": "77", "metrics": "revenue", "provenance": "summary", "years": "1"}
    cell = caller.get(URL, query=query).json["data"]["rows"][0]["metrics"]["revenue"]
    assert cell == {
        "value": 2023000,
        "status": "value",
        "reason_code": None,
        "concept": "us-gaap:Revenues",
        "tier": 1,
        "method": "reported",
        "calc_status": "unchecked",
        "confidence": 100,
        "accession": "0000000077-24-000001",
        "source": "companyfacts",
        "unit": "USD",
    }


def test_the_cursor_leads_to_the_next_page(caller: Client) -> None:
    fiscal_years: list[int] = []
    query: dict[str, str] = {"cik": "77", "limit": "4", "metrics": "revenue"}
    for _ in range(2):
        answer = caller.get(URL, query=query).json
        fiscal_years += [row["fiscal_year"] for row in answer["data"]["rows"]]
        query["cursor"] = answer["meta"]["pagination"]["next_cursor"]
    assert fiscal_years == [2023, 2022, 2021, 2020, 2019, 2018]
    assert query["cursor"] is None


def test_a_period_offset_selects_one_row(caller: Client) -> None:
    for offset in ("2", "-2"):
        rows = caller.get(URL, query={"cik": "77", "period_offset": offset}).json["data"]["rows"]
        assert [row["fiscal_year"] for row in rows] == [2021]


def test_a_series_as_csv_has_one_row_for_each_period(caller: Client) -> None:
    answer = caller.get(URL, query={"cik": "77", "metrics": "revenue,inventory"}, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    table = list(csv.reader(io.StringIO(answer.body.decode())))
    period = ["ticker", "fiscal_year", "fiscal_period", "period_start", "period_end", "known_on"]
    assert table[0] == [*period, "unit", "accession", "filed_at", "revenue", "inventory", "holes"]
    hole = '{"inventory":{"status":"hole","reason_code":"not_reported"}}'
    filing = ["USD", "0000000077-24-000001", "2024-02-20"]
    assert table[1] == ["", "2023", "FY", "2023-01-01", "2023-12-31", "2024-02-20", *filing, "2023000", "", hole]
    assert len(table) == 7
    query = {"cik": "77", "metrics": "revenue,inventory", "format": "ndjson"}
    assert json.loads(caller.get(URL, query=query).body.splitlines()[0])["holes"] == json.loads(hole)


def test_a_long_table_has_one_row_for_each_figure(caller: Client) -> None:
    query = {"cik": "77", "metrics": "revenue,inventory", "years": "1", "layout": "long", "format": "csv"}
    figure, hole = csv.DictReader(io.StringIO(caller.get(URL, query=query).body.decode()))
    assert (figure["metric"], figure["value"], figure["unit"]) == ("revenue", "2023000", "USD")
    assert (figure["accession"], figure["filed_at"]) == ("0000000077-24-000001", "2024-02-20")
    assert (hole["metric"], hole["value"], hole["status"], hole["reason_code"]) == (
        "inventory",
        "",
        "hole",
        "not_reported",
    )


def test_a_template_is_refused_for_a_table(caller: Client) -> None:
    answer = caller.get(URL, query={"cik": "77", "format": "csv", "template": "true"})
    assert (answer.status, answer.json["details"]["param"]) == (400, "template")
    assert answer.headers["x-tokens-charged"] == "0"


@pytest.mark.parametrize(
    ("provenance", "added_columns"), [("summary", []), ("full", ["revenue.filed_at", "revenue.decimals"])]
)
def test_a_wide_table_has_columns_for_the_provenance(caller: Client, provenance: str, added_columns: list[str]) -> None:
    query = {"cik": "77", "metrics": "revenue", "years": "1", "format": "csv", "provenance": provenance}
    (row,) = csv.DictReader(io.StringIO(caller.get(URL, query=query).body.decode()))
    names = ["revenue", "revenue.unit", "revenue.concept", "revenue.method", "revenue.accession", *added_columns]
    assert [name for name in row if name.startswith("revenue")] == names
    assert [row[name] for name in names[:5]] == [
        "2023000",
        "USD",
        "us-gaap:Revenues",
        "reported",
        "0000000077-24-000001",
    ]


def test_a_new_document_changes_the_next_answer(app: App, caller: Client) -> None:
    query = {"cik": "77", "metrics": "revenue", "years": "1"}
    assert caller.get(URL, query=query).json["data"]["rows"][0]["fiscal_year"] == 2023
    assert caller.get(URL, query=query).json["data"]["rows"][0]["fiscal_year"] == 2023
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", build_rows(range(2024, 2025))))
    assert caller.get(URL, query=query).json["data"]["rows"][0]["fiscal_year"] == 2024


def test_documents_of_other_companies_keep_a_book_cached(app: App, caller: Client) -> None:
    query = {"cik": "77", "metrics": "revenue", "years": "1"}
    before = caller.get(URL, query=query).json["data"]
    store_companyfacts(app, build_companyfacts(78, "Seventy-Eight Corp", build_rows(range(2018, 2024))))
    assert caller.get(URL, query=query).json["data"] == before
    assert len(app.fact_book_cache) == 1


def test_cached_books_are_weighed_by_their_memory(app: App, caller: Client) -> None:
    caller.get(URL, query={"cik": "77", "metrics": "revenue"})
    ((company_book, weight),) = app.fact_book_cache._entries.values()
    assert weight == 900 * len(company_book)
    assert app.fact_book_cache._capacity == 24 * 2**20


@pytest.mark.parametrize(
    ("change", "revenue", "industry"),
    [
        ("", 2023000, "commercial"),
        ("UPDATE companies SET sic = 6021", 2023000, "bank"),
        ("UPDATE filings SET filed_at = '2019-06-30' WHERE accession = '0000000077-24-000001'", 2023000, None),
        ("UPDATE filings SET form = '8-K' WHERE accession = '0000000077-24-000001'", 2023000, None),
    ],
    ids=["nothing", "industry", "filing day", "form"],
)
def test_changed_inputs_of_a_book_make_a_new_one(
    app: App, caller: Client, change: str, revenue: int, industry: str | None
) -> None:
    query = {"cik": "77", "metrics": "revenue", "years": "1"}
    caller.get(URL, query=query)
    with app.db.write() as tx:
        tx.run("bump_data_version")
        run_sql(tx, change)
    answer = caller.get(URL, query=query).json
    assert answer["data"]["rows"][0]["metrics"]["revenue"] == revenue
    assert industry in (None, answer["meta"]["industry"])
    assert len(app.fact_book_cache) == (2 if change else 1)


def test_a_changed_figure_makes_a_new_book(app: App, caller: Client) -> None:
    query = {"cik": "77", "metrics": "revenue", "years": "1"}
    caller.get(URL, query=query)
    # The same filing in a later copy, less rounded.
    changed_facts = [
        (name, unit, {**row, "val": row["val"] + 0.5}) for name, unit, row in build_rows(range(2023, 2024))
    ]
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", changed_facts))
    assert caller.get(URL, query=query).json["data"]["rows"][0]["metrics"]["revenue"] == 2023000.5


def test_past_days_between_two_filings_share_a_book(app: App, caller: Client) -> None:
    newest_years, book_counts = {}, {}
    for day in ("2021-02-19", "2021-02-20", "2021-12-31", "2022-02-19", "2022-02-20", "2020-06-30"):
        answer = caller.get(URL, query={"cik": "77", "metrics": "revenue", "as_of": day})
        newest_years[day] = answer.json["data"]["rows"][0]["fiscal_year"]
        book_counts[day] = len(app.fact_book_cache)
    assert newest_years == {
        "2021-02-19": 2019,
        "2021-02-20": 2020,
        "2021-12-31": 2020,
        "2022-02-19": 2020,
        "2022-02-20": 2021,
        "2020-06-30": 2019,
    }
    assert list(book_counts.values()) == [1, 2, 2, 2, 3, 3]


def test_as_of_hides_what_was_filed_later(caller: Client) -> None:
    rows = caller.get(URL, query={"cik": "77", "as_of": "2021-02-19"}).json["data"]["rows"]
    assert [row["fiscal_year"] for row in rows] == [2019, 2018]
    answer = caller.get(URL, query={"cik": "77", "as_of": "2018-01-01"})
    assert answer.verdict[:2] == (404, "UNKNOWN_TICKER")
    assert answer.headers["x-tokens-charged"] == "0"


def test_an_unreported_currency_is_refused_not_converted(app: App, caller: Client) -> None:
    query = {"cik": "77", "currency": "eur", "metrics": "revenue"}
    assert caller.get(URL, query=query).verdict[:2] == (404, "NOT_COVERED")
    filed = {"accn": "0000000077-20-000001", "form": "10-K", "filed": "2020-02-20", "fy": 2019, "fp": "FY"}
    shares = {"start": "2019-01-01", "end": "2019-12-31", "val": 500, **filed}
    name = "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding"
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [(name, "shares", shares)]))
    answer = caller.get(URL, query=query)
    assert answer.verdict[:2] == (404, "NOT_COVERED")
    assert "in EUR" in answer.json["message"]


@run_each_case(
    "query, code, param",
    [
        ({}, "INVALID_PARAM", "ticker"),
        ({"cik": "x"}, "INVALID_PARAM", "cik"),
        ({"cik": "77", "metrics": "nonsense"}, "INVALID_PARAM", "metrics"),
        ({"cik": "77", "years": "abc"}, "INVALID_PARAM", "years"),
        ({"cik": "77", "years": "2020-2018"}, "INVALID_PARAM", "years"),
        ({"cik": "77", "cursor": "!!"}, "INVALID_PARAM", "cursor"),
        ({"cik": "77", "period": "M"}, "INVALID_PARAM", "period"),
        ({"cik": "77", "provenance": "some"}, "INVALID_PARAM", "provenance"),
        ({"cik": "77", "basis": "first"}, "INVALID_PARAM", "basis"),
        ({"cik": "77", "currency": "dollars"}, "INVALID_PARAM", "currency"),
        ({"cik": "77", "adjusted": "maybe"}, "INVALID_PARAM", "adjusted"),
        ({"cik": "77", "as_of": "20200101"}, "INVALID_PARAM", "as_of"),
    ],
)
def test_an_invalid_parameter_of_a_series_is_named(
    caller: Client, query: dict[str, str], code: str, param: str
) -> None:
    answer = caller.get(URL, query=query)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, code, param)


def test_an_unknown_company_is_404(caller: Client) -> None:
    assert caller.get(URL, query={"ticker": "NOPE"}).verdict[:2] == (404, "UNKNOWN_TICKER")


def test_an_estimate_of_a_last_quarter_can_be_proved(app: App, user: users.NewUser) -> None:
    rows: list[tuple[str, str, dict[str, Any]]] = []
    spans = [("01-01", "12-31", 1000, 400), ("01-01", "03-31", 1020, 90), ("04-01", "06-30", 1000, 90)]
    for start, end, shares, income in [*spans, ("07-01", "09-30", 980, 90)]:
        filed = {"start": f"2023-{start}", "end": f"2023-{end}", "accn": "0000000077-24-000001", "form": "10-K"}
        filed |= {"filed": "2024-02-20", "fy": 2023, "fp": "FY"}
        rows.append(("us-gaap:NetIncomeLoss", "USD", {**filed, "val": income}))
        rows.append(("us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding", "shares", {**filed, "val": shares}))
        rows.append(("us-gaap:EarningsPerShareDiluted", "USD/shares", {**filed, "val": round(income / shares, 2)}))
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", rows))
    caller = Client(app, user.api_key)
    query = {"cik": "77", "metric": "eps_diluted", "period": "Q", "fiscal_year": "2023", "fiscal_period": "Q4"}
    cell = caller.get("/api/v1/xbrl/proof", query=query).json["data"]["cell"]
    assert (cell["value"], cell["reason_code"]) == (None, "not_additive")
    data = caller.get("/api/v1/xbrl/proof", query={**query, "q4": "estimated"}).json["data"]
    assert (data["cell"]["value"], data["cell"]["estimated"], data["cell"]["confidence"]) == (0.13, True, 40)
    assert data["formula"] == "income of the quarter over the estimated average of shares"
    table = caller.get(URL, query={"cik": "77", "period": "Q", "q4": "estimated", "format": "csv"})
    assert table.status == 200
    assert "estimated" not in table.body.decode().splitlines()[0]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"metrics": "revenue"}, "ticker"),
        ({"cik": "77", "metrics": "revenue", "template": "true", "format": "csv"}, "template"),
    ],
)
def test_parameters_that_contradict_one_another_are_refused(caller: Client, query: dict[str, str], param: str) -> None:
    answer = caller.get(URL, query=query)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", param)
    assert answer.headers["x-tokens-charged"] == "0"
