"""The dictionary, proofs, batches, segments, share classes, screens and valuations over HTTP."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.days import number as day_number
from finapi.market.financials import ratios
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from finapi.market.statements import fact_sets
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts, store_companyfacts

XBRL = "/api/v1/xbrl/"
SHAPES = {route.path: route.schema for route in ROUTES if route.shape is not None}


def year(cik: int, year: int, revenue: int, *, fiscal_year: int | None = None) -> list[tuple[str, str, dict[str, Any]]]:
    """Return an annual report of a company with debt, cash flow and shares."""
    filed = {"accn": f"{cik:010}-{(year + 1) % 100:02}-000001", "form": "10-K", "filed": f"{year + 1}-02-20"}
    filed_year = {"fy": fiscal_year or year, "fp": "FY", **filed}
    lasting = {"start": f"{year}-01-01", "end": f"{year}-12-31", **filed_year}
    instant = {"end": f"{year}-12-31", **filed_year}
    return [
        ("us-gaap:Revenues", "USD", {**lasting, "val": revenue}),
        ("us-gaap:CostOfRevenue", "USD", {**lasting, "val": revenue // 2}),
        ("us-gaap:NetIncomeLoss", "USD", {**lasting, "val": revenue // 10}),
        ("us-gaap:Assets", "USD", {**instant, "val": revenue * 2}),
        ("us-gaap:StockholdersEquity", "USD", {**instant, "val": revenue}),
        ("dei:EntityCommonStockSharesOutstanding", "shares", {**filed_year, "end": f"{year + 1}-02-01", "val": 500}),
    ]


@pytest.fixture
def caller(app: App, user: users.NewUser) -> Client:
    for cik, name, revenue in ((77, "Seventy-Seven Corp", 1000), (88, "Eighty-Eight Inc", 3000)):
        facts = [fact for fiscal_year in range(2020, 2024) for fact in year(cik, fiscal_year, revenue + fiscal_year)]
        store_companyfacts(app, build_companyfacts(cik, name, facts))
    return Client(app, user.api_key)


def get_json(caller: Client, path: str, query: dict[str, str] | None = None) -> Any:
    answer = caller.get(XBRL + path, query=query or {})
    assert answer.status == 200, answer.body
    return check_shape(answer, path)


def check_shape(answer: Answer, path: str) -> Any:
    template = path if "companies" not in path else "companies/{id}/valuation"
    jsonschema.Draft202012Validator(SHAPES[f"/api/v1/xbrl/{template}"]).validate(answer.json)
    return answer.json


# ---- dictionary


def test_the_dictionary_lists_every_reason_of_a_hole(caller: Client) -> None:
    codes = {entry["key"] for entry in get_json(caller, "dictionary", {"kind": "reason"})["data"]}
    holes = get_json(caller, "timeseries", {"cik": "77", "ratios": "true", "period": "TTM"})["data"]["rows"]
    holes += get_json(caller, "timeseries", {"cik": "77", "ratios": "true"})["data"]["rows"]
    met = {hole["reason_code"] for row in holes for hole in row["holes"].values()}
    assert met <= codes
    assert {"not_reported", "input_missing", "no_price"} - codes == set()


def test_the_dictionary_names_the_tags_of_a_metric(caller: Client) -> None:
    entry = get_json(caller, "dictionary", {"metric": "goodwill"})
    assert entry["data"] == [
        {
            "key": "goodwill",
            "label": "Goodwill",
            "kind": "primitive",
            "statement": "balance_sheet",
            "units": "currency",
            "aggregation": "as of the end of the period",
            "definition": "Goodwill.",
            "formula": "Goodwill ifrs:Goodwill ; "
            "the line of the statement whose label has this meaning, if no tag identifies one",
            "category": "",
            "parameters": [],
            "coverage": "all industries",
            "rules": [
                "Goodwill, else Goodwill (IFRS).",
                "The line of the balance sheet among its assets whose label has this meaning, "
                "if no tag identifies one.",
                "If finapi has the filing's pages, a line on the face of the balance sheet takes precedence over a "
                "note.",
                "If not, the tags on the face in the company's nearest filing decide, then the order of the rules.",
                "Amounts in parentheses on the balance sheet are parts of their line and are not used as figures.",
            ],
        }
    ]
    assert entry["meta"]["count"] == 1


def test_the_dictionary_as_csv(caller: Client) -> None:
    answer = caller.get(XBRL + "dictionary", query={"kind": "derived"}, headers={"Accept": "text/csv"})
    assert answer.body.splitlines()[0].startswith(b"key,label,kind,statement")
    assert len(answer.body.splitlines()) == 6
    assert int(answer.headers["x-total-count"]) == len(answer.body.splitlines()) - 1


# ---- proof


def test_the_proof_of_a_cell_names_its_facts_and_every_vintage(app: App, caller: Client) -> None:
    later = [
        (concept, unit, {**row, "accn": "0000000077-25-000009", "filed": "2025-02-20", "val": 9999})
        for concept, unit, row in year(77, 2023, 1)
        if concept == "us-gaap:Revenues"
    ]
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", later))
    data = get_json(caller, "proof", {"cik": "77", "metric": "revenue", "fiscal_year": "2023"})["data"]
    assert (data["fiscal_period"], data["period_end"], data["cell"]["value"]) == ("FY", "2023-12-31", 9999)
    assert [(vintage["value"], vintage["filed_at"]) for vintage in data["vintages"]] == [
        (3023, "2024-02-20"),
        (9999, "2025-02-20"),
    ]
    original = {"cik": "77", "metric": "revenue", "fiscal_year": "2023", "basis": "original"}
    assert get_json(caller, "proof", original)["data"]["cell"]["accession"] == "0000000077-24-000001"


def test_a_proof_lists_the_vintages_of_the_cells_period(app: App, caller: Client) -> None:
    name = "us-gaap:CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
    cash = [
        (name, "USD", {**row, "val": number})
        for number, fiscal_year in enumerate((2022, 2023), 700)
        for concept, _, row in year(77, fiscal_year, 1)
        if concept == "us-gaap:Assets"
    ]
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", cash))
    query = {"cik": "77", "metric": "cash_at_beginning_of_period", "fiscal_year": "2023"}
    data = get_json(caller, "proof", query)["data"]
    assert data["cell"]["value"] == 700
    assert [(vintage["value"], vintage["end_date"]) for vintage in data["vintages"]] == [(700, "2022-12-31")]


def test_the_proof_of_a_total_states_if_it_adds_up(app: App, caller: Client) -> None:
    stated = [
        (concept, unit, {**row, "val": value})
        for concept, unit, row in year(77, 2023, 1)
        for value in {"us-gaap:Revenues": [3023], "us-gaap:CostOfRevenue": [1511]}.get(concept, [])
    ]
    profit = ("us-gaap:GrossProfit", "USD", {**stated[0][2], "val": 1512})
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [*stated, profit]))
    query = {"cik": "77", "fiscal_year": "2023"}
    total = get_json(caller, "proof", {**query, "metric": "gross_profit"})["data"]["cell"]
    margin = get_json(caller, "proof", {**query, "metric": "gross_margin"})["data"]["inputs"]
    assert [cell["calc_status"] for cell in (total, *margin)] == ["consistent", "consistent", "unchecked"]


def test_the_proof_of_a_formula_shows_signs(caller: Client) -> None:
    data = get_json(caller, "proof", {"cik": "77", "metric": "gross_profit"})["data"]
    assert [(operand["sign"], operand["concept"], operand["value"]) for operand in data["cell"]["operands"]] == [
        (1, "us-gaap:Revenues", 3023),
        (-1, "us-gaap:CostOfRevenue", 1511),
    ]
    assert data["cell"]["value"] == 1512


def test_the_proof_of_a_ratio_names_its_inputs(caller: Client) -> None:
    data = get_json(caller, "proof", {"cik": "77", "metric": "roe"})["data"]
    assert data["formula"] == "year(net_income) / avg(total_equity)"
    inputs = [(record["metric"], record["fiscal_year"], record["value"]) for record in data["inputs"]]
    assert inputs == [("net_income", 2023, 302), ("total_equity", 2023, 3023), ("total_equity", 2022, 3022)]
    assert data["cell"]["value"] == pytest.approx(302 / 3022.5)
    operands = [(record["value"], record["end_date"]) for record in data["cell"]["operands"]]
    assert operands == [(302, "2023-12-31"), (3023, "2023-12-31"), (3022, "2022-12-31")]


def test_a_cell_in_another_currency_can_be_proved(app: App, caller: Client) -> None:
    in_euro = [(concept, "EUR", row) for concept, unit, row in year(77, 2023, 500) if unit == "USD"]
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", in_euro))
    query = {"cik": "77", "metric": "revenue", "fiscal_year": "2023"}
    values = [
        get_json(caller, "proof", {**query, "currency": currency})["data"]["cell"]["value"]
        for currency in ("eur", "usd")
    ]
    assert values == [500, 3023]


@run_each_case(
    "query, verdict",
    [
        ({"cik": "77", "metric": "revenue", "currency": "dollars"}, (400, "INVALID_PARAM")),
        ({"cik": "77", "metric": "nonsense"}, (400, "INVALID_PARAM")),
        ({"cik": "77"}, (400, "INVALID_PARAM")),
        ({"cik": "77", "metric": "revenue", "fiscal_year": "1990"}, (404, "NOT_FOUND")),
        ({"cik": "99", "metric": "revenue"}, (404, "UNKNOWN_TICKER")),
    ],
)
def test_an_impossible_proof_is_refused(caller: Client, query: dict[str, str], verdict: tuple[int, str]) -> None:
    assert caller.get(XBRL + "proof", query=query).verdict[:2] == verdict


# ---- several companies


def test_a_batch_has_a_result_or_an_error_for_each_company(caller: Client) -> None:
    body = {"ciks": ["77", "88", "99"], "metrics": ["revenue"], "years": "1"}
    answer = check_shape(caller.post(XBRL + "timeseries/batch", body), "timeseries/batch")
    assert [result["status"] for result in answer["data"]["results"]] == ["success", "success", "error"]
    values = [result["data"]["rows"][0]["metrics"]["revenue"] for result in answer["data"]["results"][:2]]
    assert values == [3023, 5023]
    assert answer["data"]["results"][2]["error"]["code"] == "UNKNOWN_TICKER"
    assert (answer["meta"]["requested"], answer["meta"]["resolved"], answer["meta"]["errors"]) == (3, 2, 1)


@run_each_case(
    "body",
    [
        {},
        {"tickers": []},
        {"ciks": [str(number) for number in range(21)]},
        {"ciks": ["77"], "metrics": ["nonsense"]},
        {"ciks": ["77"], "period": "M"},
        {"ciks": ["77"], "adjusted": "maybe"},
        {"ciks": "77"},
    ],
)
def test_an_invalid_batch_is_refused(caller: Client, body: dict[str, Any]) -> None:
    assert caller.post(XBRL + "timeseries/batch", body).verdict[:2] == (400, "INVALID_PARAM")


# ---- segments and classes


def store_segments(app: App, name: str = "us-gaap:Revenues", days: int = 365) -> None:
    """Store a figure of two regions in a stored report, as its documents would contain it."""
    with app.db.write() as tx:
        sets = tx.list_rows("fact_sets_of_company", cik=77, source=fact_sets.COMPANYFACTS)
        number = max(row["id"] for row in sets)
        concept = fact_sets.get_or_insert_ids(tx, "concept", [name])[name]
        unit = fact_sets.get_or_insert_ids(tx, "unit", ["USD"])["USD"]
        end = day_number("2023-12-31")
        rows = []
        for member, value in (("country:US", "2000"), ("country:CN", "1023")):
            dims = json.dumps({"srt:StatementGeographicalAxis": member})
            rows.append(
                (fact_sets.get_or_insert_ids(tx, "dimension", [dims])[dims], concept, end, days, unit, value, "0")
            )
        fact_sets.insert_facts(tx, [(number, *row) for row in rows])
        tx.run("bump_data_version")


def test_segments_are_series_by_member(app: App, caller: Client) -> None:
    store_segments(app)
    answer = get_json(caller, "segments", {"cik": "77", "metric": "revenue"})
    assert answer["data"]["axis"] == "srt:StatementGeographicalAxis"
    points = {
        segment["member"]: [point["value"] for point in segment["points"]] for segment in answer["data"]["series"]
    }
    assert points == {"country:US": [2000], "country:CN": [1023]}
    # The filing's own documents, which have the labels, are not stored.
    assert [segment["label"] for segment in answer["data"]["series"]] == [None, None]
    assert answer["meta"]["concepts_resolved"] == ["us-gaap:Revenues"]
    other = get_json(caller, "segments", {"cik": "77", "concept": "Revenues", "axis": "srt:ProductOrServiceAxis"})
    assert (other["data"]["series"], other["data"]["covered"]) == ([], False)


def test_a_figure_with_only_dimensions_is_a_hole(app: App, caller: Client) -> None:
    store_segments(app, "us-gaap:Goodwill", days=0)
    query = {"cik": "77", "metrics": "goodwill", "years": "1"}
    row = get_json(caller, "timeseries", query)["data"]["rows"][0]
    assert row["metrics"]["goodwill"] is None
    assert row["holes"]["goodwill"]["reason_code"] == "not_reported"
    series = get_json(caller, "segments", {"cik": "77", "metric": "goodwill"})["data"]["series"]
    assert [segment["points"][0]["value"] for segment in series] == [1023, 2000]


def test_segments_are_of_revenue_by_default(caller: Client) -> None:
    assert get_json(caller, "segments", {"cik": "77"})["data"]["concept_or_metric"] == "revenue"
    for wrong in ({"concept": "Revenues", "metric": "revenue"}, {"metric": "revenues"}):
        refused = caller.get(XBRL + "segments", query={"cik": "77", **wrong})
        assert refused.verdict[:2] == (400, "INVALID_PARAM")
    assert refused.json["details"] == {"param": "metric", "expected": "a primitive key", "nearest": ["revenue"]}


def test_the_shares_of_a_company_with_one_class(caller: Client) -> None:
    data = get_json(caller, "share-classes", {"cik": "77"})["data"]
    assert data["filing"]["accession_no"] == "0000000077-24-000001"
    assert data["classes"] == [
        {
            "member": "common",
            "class_ticker": None,
            "shares_outstanding": 500,
            "context_end_date": "2024-02-01",
            "unit": "shares",
        }
    ]
    earlier = get_json(caller, "share-classes", {"cik": "77", "as_of": "2022-12-31"})["data"]
    assert earlier["filing"]["accession_no"] == "0000000077-22-000001"


def test_cover_shares_count_at_the_end_of_the_period(caller: Client) -> None:
    query = {"cik": "77", "metrics": "shares_outstanding", "years": "1"}
    row = get_json(caller, "timeseries", query)["data"]["rows"][0]
    assert (row["period_end"], row["metrics"]["shares_outstanding"]) == ("2023-12-31", 500)


# ---- screen and valuation


def test_a_screen_filters_companies_by_their_latest_year(caller: Client) -> None:
    answer = get_json(caller, "screen", {"revenue_growth_yoy_gt": "0.0002", "asset_turnover_lt": "1"})
    assert [company["cik"] for company in answer["data"]] == ["0000000077"]
    assert set(answer["data"][0]["metrics"]) == {"asset_turnover", "revenue_growth_yoy"}
    assert answer["meta"]["screen"]["filters_applied"] == {
        "asset_turnover": {"lt": 1},
        "revenue_growth_yoy": {"gt": 0.0002},
    }


def test_a_company_without_the_figure_passes_no_filter_on_it(caller: Client) -> None:
    assert get_json(caller, "screen", {"current_ratio_gt": "-1000"})["data"] == []


def test_a_missing_figure_of_a_screen_has_a_reason(caller: Client) -> None:
    (company,) = get_json(caller, "screen", {"cik": "77", "metrics": "roe,market_cap,asset_turnover"})["data"]
    assert company["metrics"]["market_cap"] is None
    assert company["holes"]["market_cap"] == {"status": "hole", "reason_code": "no_price"}
    assert {key for key, value in company["metrics"].items() if value is None} == set(company["holes"])


def test_a_screen_is_paged_and_limited_to_companies(caller: Client) -> None:
    first = get_json(caller, "screen", {"metrics": "roe", "limit": "1"})
    assert first["meta"]["pagination"] == {"limit": 1, "offset": 0, "has_more": True}
    second = get_json(caller, "screen", {"metrics": "roe", "limit": "1", "offset": "1"})
    assert [company["cik"] for company in first["data"] + second["data"]] == ["0000000077", "0000000088"]
    selected = get_json(caller, "screen", {"cik": "88", "metrics": "roe"})
    assert ([company["cik"] for company in selected["data"]], selected["meta"]["screen"]["list_filtered"]) == (
        ["0000000088"],
        True,
    )


def test_a_screen_recomputes_only_changed_companies(app: App, caller: Client) -> None:
    def caps() -> dict[str, Any]:
        rows = get_json(caller, "screen", {"metrics": "market_cap,asset_turnover"})["data"]
        return {metrics["cik"]: metrics["metrics"] for metrics in rows}

    def priced(close: int, last: str) -> None:
        data = f"date,close\n2023-12-29,{close}\n{last},9\n".encode()
        with app.db.write() as tx:
            price_store.upsert(tx, price_csv.parse(data, "prices.csv", "SEV.csv"), data, "SEV")

    with app.db.write() as tx:
        companies.upsert_tickers(tx, 77, [("SEV", None)], companies.FROM_LIST)
    before = caps()
    assert [metrics["market_cap"] for metrics in before.values()] == [None, None]
    priced(2, "2024-01-02")
    assert caps()["0000000077"]["market_cap"] == 1000
    priced(3, "2024-01-03")
    assert caps()["0000000077"]["market_cap"] == 1500
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", year(77, 2024, 4000)))
    after = caps()
    assert after["0000000077"]["asset_turnover"] != before["0000000077"]["asset_turnover"]
    assert after["0000000088"] == before["0000000088"]
    # Five of the company that changed, by its ticker too; two of the other, whose ticker changed with it.
    assert len(app.screening_cache) == 5


def test_a_screen_refuses_an_invalid_number_or_key(caller: Client) -> None:
    assert caller.get(XBRL + "screen", query={"roe_gt": "high"}).json["details"]["param"] == "roe_gt"
    for name in ("cik", "ticker"):
        assert caller.get(XBRL + "screen", query={name: "a b/c!"}).json["details"]["param"] == name
    assert caller.get(XBRL + "screen", query={"metrics": "nonsense"}).json["details"]["param"] == "metrics"
    assert caller.get(XBRL + "screen", query={"metrics": "revenue"}).status == 200


def test_valuations_without_prices_have_a_reason_in_every_cell(caller: Client) -> None:
    answer = get_json(caller, "companies/77/valuation", {"years": "1"})
    keys = [key for key, ratio in ratios.get_catalogue().ratios.items() if ratio.category == "valuation"]
    assert [valuation["metric"] for valuation in answer["data"]] == keys
    assert {valuation["value"] for valuation in answer["data"]} == {None}
    assert answer["data"][0]["reason_code"] == "no_price"
    assert answer["meta"]["valuation_family"] is False


# ---- how a company names its years


def test_a_company_may_name_its_years_after_the_year_before(app: App, caller: Client) -> None:
    facts = [
        (concept, unit, {**row, **move_to_january(row)}) for concept, unit, row in year(66, 2023, 100, fiscal_year=2022)
    ]
    store_companyfacts(app, build_companyfacts(66, "January Stores", facts))
    rows = get_json(caller, "timeseries", {"cik": "66", "metrics": "revenue"})["data"]["rows"]
    assert [(row["fiscal_year"], row["period_end"]) for row in rows] == [(2022, "2023-01-28")]


def move_to_january(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for the year to January instead of the calendar year."""
    if "start" in row:
        return {"start": "2022-01-30", "end": "2023-01-28"}
    return {"end": "2023-01-28"}


@pytest.mark.parametrize("source", ["csv", "synthetic"])
def test_a_valuation_uses_the_close_and_the_cover_shares(app: App, caller: Client, source: str) -> None:
    text = "ticker,date,close,source\nSSC,2023-12-28,4,x\nSSC,2023-12-29,5,x\nSSC,2024-01-02,9,x\n"
    data = text.replace(",x\n", f",{source}\n" if source == "synthetic" else ",\n").encode()
    with app.db.write() as tx:
        companies.upsert_tickers(tx, 77, [("SSC", None)], companies.FROM_LIST, "2025-01-01")
        price_store.upsert(tx, price_csv.parse(data, "prices.csv", "prices.csv"), data)
    answer = get_json(caller, "companies/77/valuation", {"years": "1"})
    cells = {valuation_row["metric"]: valuation_row for valuation_row in answer["data"]}
    assert answer["meta"]["price_source"] == source
    # 500 shares at 5, the last close of the year.
    assert (cells["market_cap"]["value"], cells["market_cap"]["price_date"]) == (2500, "2023-12-29")
    assert cells["price_to_sales"]["value"] == pytest.approx(2500 / 3023)
    query = {"ticker": "SSC", "metrics": "market_cap"}
    assert get_json(caller, "timeseries", query)["meta"]["price_source"] == source
    screened = get_json(caller, "screen", {"market_cap_gt": "2499"})["data"]
    assert [(valuation_row["ticker"], valuation_row["price_source"]) for valuation_row in screened] == [("SSC", source)]


# ---- days that no filing means


@pytest.mark.parametrize("year_told", ["0001", "9999"])
@pytest.mark.parametrize("days_told", ["01-01 03-31", "10-01 12-31", "01-01 12-31"])
def test_a_period_of_another_century_is_in_no_series(
    days_told: str, year_told: str, app: App, user: users.NewUser
) -> None:
    caller, good = Client(app, user.api_key), year(77, 2023, 1000)
    start, end = (f"{year_told}-{day}" for day in days_told.split())
    slip = {**good[0][2], "start": start, "end": end, "val": 7}
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [("us-gaap:Revenues", "USD", slip)]))
    for period in ("A", "Q", "TTM", "YTD"):
        assert caller.get(XBRL + "timeseries", query={"cik": "77", "period": period}).status == 404
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", good))
    assert [row["fiscal_year"] for row in get_json(caller, "timeseries", {"cik": "77"})["data"]["rows"]] == [2023]
