"""The 13F, ticker and CUSIP endpoints: every path of the contract, its figures, its refusals and its bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.cache import Cache
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.holdings import fund_baskets, holdings_query
from finapi.web.holdings import fund_holdings
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import fund_filings, thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import submission, take
from tests.support.raw_sql import run_sql
from tests.support.thirteenf_xml import ALLY, APPLE, MICROSOFT

API = "/api/v1"
FUND = API + "/form-13f/fund/1234567"

TICKERS = b'{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."}}'
SUBMISSIONS = b"""{"cik":"320193","entityType":"operating","sic":"3571","name":"Apple Inc.","tickers":["AAPL"],
    "exchanges":["Nasdaq"],"filings":{"recent":{"accessionNumber":[],"filingDate":[],"reportDate":[],
    "acceptanceDateTime":[],"form":[],"size":[],"isXBRL":[],"isInlineXBRL":[],"primaryDocument":[],"items":[]},
    "files":[]}}"""
MAPPING = b"cusip,ticker,name,successor\n594918104,MSFT,Microsoft,\n464286640,ECH,iShares Chile,78462F103\n"

SHAPES = {(route.method, route.path): route.schema for route in ROUTES if route.shape is not None}


@pytest.fixture(scope="module")
def stored_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Store two funds with two quarters, a put option, and a mapping of tickers."""
    app = apps.create_in_memory(Config(**ACCOUNTS), FixedClock(NOW))
    put = thirteenf_xml.row(APPLE, 5_000, 20, putCall="Put")
    september = submission(2, fund_filings.SEPTEMBER, extra=put, managers=["Wick LLC"])
    forms = tmp_path_factory.mktemp("forms")
    take(app, forms, TICKERS, SUBMISSIONS, MAPPING, fund_filings.june(), september, fund_filings.other_submission())
    yield app
    app.db.close()


@pytest.fixture
def api(copied: Callable[..., App], stored_app: App) -> Client:
    app = copied(stored_app, **ACCOUNTS)
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def get_json(client: Client, path: str, **query: Any) -> Any:
    """Return the body of an answer of status 200."""
    answer = client.get(API + path, query=query) if query else client.get(API + path)
    assert answer.status == 200, answer.body
    return answer.json


CALLS = [
    ("GET", "/form-13f/fund/{cik}", "/form-13f/fund/1234567?include_activity=true&include_analytics=true", None),
    ("GET", "/form-13f/fund/{cik}/periods", "/form-13f/fund/0001234567/periods", None),
    ("GET", "/form-13f/fund/{cik}/cusip/{cusip}/history", "/form-13f/fund/1234567/cusip/02005N100/history", None),
    ("POST", "/form-13f/fund/bulk", "/form-13f/fund/bulk?detail=full&size=1", {"ciks": ["1234567", "9"]}),
    ("GET", "/form-13f/funds", "/form-13f/funds?limit=1", None),
    ("GET", "/form-13f/search", "/form-13f/search?q=lamp", None),
    ("GET", "/form-13f/filers", "/form-13f/filers?q=sha+part", None),
    ("GET", "/form-13f/latest", "/form-13f/latest?limit=2", None),
    ("GET", "/form-13f/filing-stats", "/form-13f/filing-stats?period=2025-09-30", None),
    ("GET", "/form-13f/filing-progress", "/form-13f/filing-progress", None),
    ("POST", "/form-13f/holdings", "/form-13f/holdings", {"query": "cik:1234567", "includeChanges": True}),
    ("POST", "/form-13f/cover-pages", "/form-13f/cover-pages", {"query": "period:2025-09-30"}),
    ("GET", "/form-13f/holdings/search", "/form-13f/holdings/search?q=aapl", None),
    ("GET", "/form-13f/aggregation/by-ticker", "/form-13f/aggregation/by-ticker?include_ranges=true", None),
    (
        "GET",
        "/form-13f/aggregation/basket-holdings",
        "/form-13f/aggregation/basket-holdings?ciks=1234567,7654321,9&period=2025-09-30",
        None,
    ),
    ("GET", "/form-13f/aggregation/by-sector", "/form-13f/aggregation/by-sector", None),
    ("GET", "/form-13f/aggregation/by-industry", "/form-13f/aggregation/by-industry?sector=Manufacturing", None),
    ("GET", "/tickers/autocomplete", "/tickers/autocomplete?q=app", None),
    ("GET", "/tickers/{ticker}/holders", "/tickers/aapl/holders", None),
    ("GET", "/tickers/{ticker}/fund-trends", "/tickers/AAPL/fund-trends", None),
    ("GET", "/cusip/lookup/{cusip}", "/cusip/lookup/037833100", None),
    ("GET", "/cusip/ticker/{ticker}", "/cusip/ticker/AAPL", None),
    ("POST", "/cusip/batch", "/cusip/batch", {"cusips": ["037833100", "x", "000000000"]}),
    ("GET", "/cusip/chain/{cusip}", "/cusip/chain/464286640", None),
    ("GET", "/cusip/cik/{cik}", "/cusip/cik/320193", None),
    ("GET", "/cusip/cusip6/{cusip6}", "/cusip/cusip6/037833", None),
    ("GET", "/cusip/search", "/cusip/search?q=apple", None),
    ("GET", "/cusip/stats", "/cusip/stats", None),
]
each_call = pytest.mark.parametrize(("method", "route", "path", "body"), CALLS, ids=[f"{c[0]} {c[1]}" for c in CALLS])


def send_call(client: Client, method: str, path: str, body: Any, **options: Any) -> Answer:
    return client.get(API + path, **options) if method == "GET" else client.post(API + path, body, **options)


def test_cached_answers_do_not_depend_on_the_clock(api: Client, clock: FixedClock) -> None:
    asker = Client(replace(api.app, answer_cache=Cache(0, lambda response: 1)), api.key)
    cached_routes = {(record.method, record.path) for record in ROUTES if record.cacheable}
    paths = [path for method, route, path, _ in CALLS if (method, API + route) in cached_routes]
    before = [asker.get(API + path) for path in paths]
    clock.advance(400 * 86_400)
    after = [asker.get(API + path) for path in paths]
    for first, second in zip(before, after, strict=True):
        assert first.headers["etag"] == second.headers["etag"]
        assert {**first.json, **OWN} == {**second.json, **OWN}
    assert len(paths) > 12


OWN = {"request_id": "", "timestamp": ""}


@each_call
def test_answers_match_their_declared_schemas(api: Client, method: str, route: str, path: str, body: Any) -> None:
    answer = send_call(api, method, path, body)
    assert answer.status == 200, answer.body
    validator = Draft202012Validator(SHAPES[method, API + route])
    assert [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(answer.json)] == []


@each_call
def test_every_path_requires_a_key(api: Client, method: str, route: str, path: str, body: Any) -> None:
    assert send_call(Client(api.app), method, path, body).status == 401


@run_each_case("kind", ["text/csv", "application/x-ndjson"])
@each_call
def test_lists_can_be_requested_as_tables(
    api: Client, method: str, route: str, path: str, body: Any, kind: str
) -> None:
    declared = next(record for record in ROUTES if (record.method, record.path) == (method, API + route))
    answer = send_call(api, method, path, body, headers={"Accept": kind})
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith(kind if declared.lists else "application/json")
    if declared.lists and kind == "text/csv":
        assert answer.body.decode().split("\r\n")[0] == ",".join(declared.columns)


def test_totals_are_those_of_the_holdings(api: Client) -> None:
    totals = api.get(API + "/stats").json
    with api.app.db.read() as tx:
        rows = run_sql(tx, "SELECT count(*) FROM holdings").fetchone()[0]
    assert (totals["total_holdings_13f"], totals["last_13f_quarter"]) == (rows, "2025-09-30")
    assert rows > 0


# ---- one fund


def test_a_fund_has_holdings_and_changes(api: Client) -> None:
    answer = get_json(api, "/form-13f/fund/1234567", include_activity="true", include_analytics="true")
    assert answer["fund"] == {
        "cik": "0001234567",
        "name": "Lamp Capital LP",
        "signing_officer": "Ann Lamp",
        "latest_filed_at": "2025-11-14",
    }
    assert answer["period"] == "2025-09-30"
    assert [(row["ticker"], row["shares"], row["value_usd"], row["status"]) for row in answer["holdings"]] == [
        ("AAPL", 15, 3_750, "increased"),
        ("MSFT", 5, 2_500, "decreased"),
    ]
    apple = answer["holdings"][0]
    assert (apple["pct_of_portfolio"], apple["change_shares"], apple["change_pct"]) == (33.3333, 5, 50)
    assert (apple["value_unit_rule"], apple["ticker_evidence"]) == ("dollars:filing_date", "name")
    assert answer["meta"]["changes"] == {"available": True, "previous_period": "2025-06-30", "reason": None}
    # The put is counted where it is listed.
    counts = {"new": 0, "increased": 1, "decreased": 1, "unchanged": 0, "closed": 1}
    assert answer["meta"]["counts"] == counts
    with_options = get_json(api, "/form-13f/fund/1234567", include_options="true")
    assert with_options["meta"]["counts"] == {**counts, "new": 1}
    only_options = get_json(api, "/form-13f/fund/1234567", options_only="true")
    assert only_options["meta"]["counts"] == {**dict.fromkeys(counts, 0), "new": 1}
    analysis = {kind: [row["cusip"] for row in rows] for kind, rows in answer["analysis"].items()}
    assert analysis == {
        "new_buys": [],
        "increased": [APPLE],
        "decreased": [MICROSOFT],
        "unchanged": [],
        "closed": [ALLY],
    }
    assert [tuple(row.values()) for row in answer["sector_allocation"]] == [
        ("Manufacturing", 3_750, 1, 60, 0, 0),
        (None, 2_500, 1, 40, 0, 0),
    ]


def test_activity_and_analytics_are_null_by_default(api: Client) -> None:
    answer = get_json(api, "/form-13f/fund/1234567")
    assert (answer["analysis"], answer["sector_allocation"]) == (None, None)


@run_each_case(
    "query, expected",
    [
        (
            "include_options=true",
            [(APPLE, "Put"), (APPLE, None), (MICROSOFT, None)],
        ),
        ("options_only=true", [(APPLE, "Put")]),
        ("sort_by=name&sort_order=asc", [(APPLE, None), (MICROSOFT, None)]),
        ("sort_by=name&sort_order=desc", [(MICROSOFT, None), (APPLE, None)]),
        ("sort_by=shares&sort_order=asc", [(MICROSOFT, None), (APPLE, None)]),
        ("sort_by=change&sort_order=asc", [(MICROSOFT, None), (APPLE, None)]),
        ("sort_by=ticker&sort_order=desc", [(MICROSOFT, None), (APPLE, None)]),
        ("status=closed", [(ALLY, None)]),
        ("status=new", []),
        ("q=micro", [(MICROSOFT, None)]),
        ("q=aapl", [(APPLE, None)]),
        ("q=%25", []),
        (
            "period=2025-06-30",
            [(MICROSOFT, None), (APPLE, None), (ALLY, None)],
        ),
        ("limit=1&offset=1", [(MICROSOFT, None)]),
        ("offset=9", []),
    ],
)
def test_holdings_are_filtered_and_sorted(api: Client, query: str, expected: list[Any]) -> None:
    rows = get_json(api, f"/form-13f/fund/1234567?{query}")["holdings"]
    assert [(row["cusip"], row["put_call"]) for row in rows] == expected


def test_a_page_states_if_more_rows_follow(api: Client) -> None:
    assert get_json(api, "/form-13f/fund/1234567", limit=1)["meta"]["pagination"] == {
        "total": 2,
        "limit": 1,
        "offset": 0,
        "has_more": True,
    }
    assert get_json(api, "/form-13f/fund/1234567", offset=9)["meta"]["pagination"]["total"] == 2
    assert get_json(api, "/form-13f/fund/1234567", limit=99_999)["meta"]["pagination"]["limit"] == 500


def test_a_filter_by_unknown_changes_is_refused(api: Client) -> None:
    answer = api.get(FUND, query={"status": "new", "period": "2025-06-30"})
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    fund = get_json(api, "/form-13f/fund/1234567", period="2025-06-30", include_activity="true")
    assert fund["analysis"] is None
    assert fund["meta"]["changes"]["reason"] == "previous_quarter_not_held"
    assert set(fund["meta"]["counts"].values()) == {None}


def test_a_position_has_a_history(api: Client) -> None:
    answer = get_json(api, f"/form-13f/fund/1234567/cusip/{ALLY}/history")
    assert [
        (
            row["quarter_date"],
            row["shares"],
            row["value"],
            row["implied_price"],
            row["shares_delta"],
            row["transaction_type"],
        )
        for row in answer["history"]
    ] == [("2025-09-30", 0, 0, None, -10, "closed"), ("2025-06-30", 10, 400, 40, None, None)]
    assert (answer["name"], answer["quarters"], answer["split_adjusted"]) == ("ALLY FINL INC", 2, False)


def test_bulk_gives_each_fund_its_own_status(api: Client) -> None:
    body = {"ciks": ["1234567", "0007654321", "9", "0000000009"]}
    answer = api.post(API + "/form-13f/fund/bulk?period=2025-06-30", body).json
    assert [
        (record["cik"], record["status"], record["portfolio_value_usd"], record["holdings"])
        for record in answer["funds"]
    ] == [
        ("0001234567", "ok", 7_900, None),
        ("0007654321", "no_filing", None, None),
        ("0000000009", "unknown_cik", None, None),
    ]
    assert answer["meta"] == {
        "requested_count": 3,
        "ok_count": 1,
        "no_filing_count": 1,
        "unknown_cik_count": 1,
        "detail": "summary",
        "size": 50,
    }
    full = api.post(API + "/form-13f/fund/bulk?detail=full&size=1&from=1", {"ciks": ["1234567"]}).json
    assert [(row["cusip"], row["put_call"]) for row in full["funds"][0]["holdings"]] == [(APPLE, None)]
    assert full["funds"][0]["has_more"]


@run_each_case("funds, requested_size, size", [(50, "200", 10), (50, "7", 7), (11, None, 45), (10, None, 50)])
def test_bulk_divides_500_holdings_among_the_funds(
    api: Client, funds: int, requested_size: str | None, size: int
) -> None:
    ciks = ["1234567", *map(str, range(1, funds))]
    answer = api.post(
        API + "/form-13f/fund/bulk?detail=full" + (f"&size={requested_size}" if requested_size else ""), {"ciks": ciks}
    )
    assert (answer.json["meta"]["size"], len(answer.json["funds"])) == (size, funds)


def test_bulk_refuses_funds_with_too_many_holdings(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path, both = API + "/form-13f/fund/bulk?period=2025-09-30", {"ciks": ["1234567", "7654321"]}
    answer = api.post(path + "&detail=full", both).json["funds"]
    assert [record["status"] for record in answer] == ["ok", "ok"]
    monkeypatch.setattr(
        fund_holdings, "MAX_BULK_SORTED_HOLDINGS", sum(record["holdings_count"] for record in answer) - 1
    )
    refused = api.post(path + "&detail=full", both)
    assert (refused.status, refused.json["code"], refused.json["details"]["param"]) == (400, "INVALID_PARAM", "ciks")
    assert api.post(path, both).status == 200
    assert api.post(path + "&detail=full", {"ciks": both["ciks"][:1]}).status == 200


def test_a_basket_with_too_many_holdings_is_refused(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path = API + "/form-13f/aggregation/basket-holdings?period=2025-09-30&ciks="
    monkeypatch.setattr(fund_baskets, "MAX_BASKET_HOLDINGS", 2)
    refused = api.get(path + "1234567,7654321")
    assert (refused.status, refused.json["code"], refused.json["details"]["param"]) == (400, "INVALID_PARAM", "ciks")
    assert api.get(path + "1234567").status == 200


def test_a_page_of_a_basket_is_bounded(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path = API + "/form-13f/aggregation/basket-holdings?period=2025-09-30&ciks=1234567,7654321"
    all_positions = api.get(path).json["positions"]
    monkeypatch.setattr(fund_baskets, "MAX_BASKET_POSITIONS", 1)
    pages = [api.get(f"{path}&size=all&offset={offset}").json for offset in range(len(all_positions))]
    assert [page["positions"] for page in pages] == [[row] for row in all_positions]
    assert [page["meta"]["has_more"] for page in pages] == [True] * (len(all_positions) - 1) + [False]


def test_pages_do_not_overlap_at_equal_values(app: App, user: users.NewUser, tmp_path: Path) -> None:
    rows = [(number, 100, 10) for number in (APPLE, MICROSOFT, ALLY)] + [("02079K305", 300, 5)]
    take(app, tmp_path, submission(30, ("09-30-2025", "2025-11-10", rows)))
    api = Client(app, user.api_key)
    ask = API + "/form-13f/fund/1234567?period=2025-09-30"
    all_cusips = [row["cusip"] for row in api.get(ask).json["holdings"]]
    assert all_cusips == ["02079K305", *sorted((APPLE, MICROSOFT, ALLY))]
    pages = [api.get(f"{ask}&limit=1&offset={offset}").json for offset in range(5)]
    assert [[row["cusip"] for row in page["holdings"]] for page in pages] == [
        *([expected_cusip] for expected_cusip in all_cusips),
        [],
    ]
    assert {page["meta"]["pagination"]["total"] for page in pages} == {4}


def test_bulk_is_bounded_in_bytes(api: Client) -> None:
    path, body = API + "/form-13f/fund/bulk?detail=full", {"ciks": ["1234567", "7654321"]}
    complete_answer = api.post(path, body)
    size = len(complete_answer.body.partition(b',"meta"')[0]) + 1
    object.__setattr__(api.app.config, "answer_limit", size)
    assert api.post(path, body).json["funds"] == complete_answer.json["funds"]
    object.__setattr__(api.app.config, "answer_limit", size - 1)
    refused = api.post(path, body)
    assert (refused.status, refused.json["code"], refused.json["details"]["param"]) == (400, "INVALID_PARAM", "size")
    assert refused.json["message"] == f"size makes an answer of more than {size - 1:,} bytes."
    assert api.post(path + "&size=1", body).status == 200


# ---- queries


def test_holdings_are_queried_by_fund_and_quarter(api: Client) -> None:
    body = {"query": "cik:1234567 AND period:2025-09-30", "size": 2, "from": 1, "includeChanges": True}
    answer = api.post(API + "/form-13f/holdings", body).json
    assert [
        (row["ticker"], row["changeShares"], row["changePercent"], row["status"]) for row in answer["holdings"]
    ] == [
        ("AAPL", 5, 50, "increased"),
        ("MSFT", -5, -50, "decreased"),
    ]
    assert answer["previousPeriod"] == "2025-06-30"
    assert answer["meta"]["pagination"]["has_more"] is False
    plain = api.post(API + "/form-13f/holdings", {"query": 'cik:"1234567"'}).json
    assert {row["changeShares"] for row in plain["holdings"]} == {None}


@run_each_case(
    "query, period, tickers",
    [
        ("cik:1234567 AND holdings.ticker:(AAPL OR MSFT)", "2025-09-30", ["AAPL", "AAPL", "MSFT"]),
        ("cik:1234567 AND NOT holdings.ticker:AAPL", "2025-09-30", ["MSFT"]),
        ("cik:1234567 AND holdings.cusip:037833100 AND filedAt:[* TO 2025-10-01]", "2025-06-30", ["AAPL"]),
        ("accessionNo:000123456725000001", "2025-06-30", ["MSFT", "AAPL", "ALLY"]),
        ("cik:1234567 AND NOT periodOfReport:2025-09-30 AND micro", "2025-06-30", ["MSFT"]),
        ('cik:1234567 AND formType:"13F-HR" AND ticker:NONE', "2025-09-30", []),
    ],
)
def test_holdings_are_queried_by_security(api: Client, query: str, period: str, tickers: list[str]) -> None:
    answer = api.post(API + "/form-13f/holdings", {"query": query}).json
    names = {APPLE: "AAPL", MICROSOFT: "MSFT", ALLY: "ALLY"}
    assert (answer["period"], [names[row["cusip"]] for row in answer["holdings"]]) == (period, tickers)
    assert answer["meta"]["pagination"]["total"] == len(tickers)


LAMP_PUT = ("0001234567", APPLE, "Put", 5_000, 20)
LAMP_APPLE = ("0001234567", APPLE, None, 3_750, 5)
LAMP_MICROSOFT = ("0001234567", MICROSOFT, None, 2_500, -5)
SHADE_APPLE = ("0007654321", APPLE, None, 250, None)


@pytest.mark.parametrize(
    ("query", "period", "positions"),
    [
        ("holdings.ticker:AAPL", "2025-09-30", [LAMP_PUT, LAMP_APPLE, SHADE_APPLE]),
        ("inc AND app AND NOT cik:1234567", "2025-09-30", [SHADE_APPLE]),
        ("holdings.cusip:037833100 AND filedAt:2025-11-12", "2025-09-30", [SHADE_APPLE]),
        ("apple AND period:2025-06-30", "2025-06-30", [("0001234567", APPLE, None, 2_500, None)]),
        ("cik:1234567 OR cik:7654321", "2025-09-30", [LAMP_PUT, LAMP_APPLE, LAMP_MICROSOFT, SHADE_APPLE]),
        ("(cik:1234567 AND micro) OR cik:7654321", "2025-09-30", [LAMP_MICROSOFT, SHADE_APPLE]),
        ("nosuchissuer", "2025-09-30", []),
    ],
)
def test_holdings_are_queried_of_all_funds(api: Client, query: str, period: str, positions: list[Any]) -> None:
    answer = api.post(API + "/form-13f/holdings", {"query": query, "includeChanges": True}).json
    assert (answer["cik"], answer["period"]) == (None, period)
    assert [
        (row["cik"], row["cusip"], row["put_call"], row["value_usd"], row["changeShares"]) for row in answer["holdings"]
    ] == positions
    assert answer["meta"]["pagination"]["total"] == len(positions)


def test_a_query_of_all_funds_has_pages_and_sorts(api: Client) -> None:
    body = {"query": "holdings.ticker:AAPL", "sort": [{"value": "asc"}], "size": 1, "from": 1}
    answer = api.post(API + "/form-13f/holdings", body).json
    (row,) = answer["holdings"]
    assert (row["fund_name"], row["shares"], row["changeShares"], row["status"]) == ("Lamp Capital LP", 15, None, None)
    assert answer["meta"]["pagination"] == {"total": 3, "limit": 1, "offset": 1, "has_more": True}


def test_a_named_fund_without_holdings_is_listed(api: Client) -> None:
    query = "(cik:1234567 AND period:2025-06-30) OR (cik:7654321 AND period:2025-06-30)"
    answer = api.post(API + "/form-13f/holdings", {"query": query}).json
    assert {row["cik"] for row in answer["holdings"]} == {"0001234567"}
    assert answer["meta"]["funds_without_holdings"] == ["0007654321"]
    answer = api.post(API + "/form-13f/holdings", {"query": "cik:1 OR cik:1234567"})
    assert (answer.status, answer.json["details"]["cik"]) == (404, "0000000001")


def test_a_missing_quarter_lists_the_covered_ones(api: Client) -> None:
    answer = api.post(API + "/form-13f/holdings", {"query": "cik:1234567 AND filedAt:[2030-01-01 TO *]"})
    assert (answer.status, answer.json["code"]) == (404, "NOT_COVERED")
    assert answer.json["details"]["covered_periods"] == ["2025-09-30", "2025-06-30"]


@run_each_case(
    "sort, first",
    [
        ("shares", APPLE),
        (["value_usd"], APPLE),
        ([{"value": {"order": "asc"}}], MICROSOFT),
        ([{"Market_Value": "asc"}], MICROSOFT),
    ],
)
def test_a_sort_is_a_column_or_a_list_of_one_column(api: Client, sort: Any, first: str) -> None:
    body = {"query": "cik:1234567 AND (apple OR micro) AND NOT period:2025-06-30", "sort": sort}
    rows = api.post(API + "/form-13f/holdings", body).json["holdings"]
    assert next(row["cusip"] for row in rows if row["put_call"] is None) == first


@run_each_case(
    "sort",
    [["value", "shares"], [], [{"value": "up"}], [{"value": {}}], 7, "drop", "\ud800", [{"\ud800": "asc"}], [None]],
)
def test_invalid_sorts_are_refused(api: Client, sort: Any) -> None:
    answer = api.post(API + "/form-13f/holdings", {"query": "cik:1234567", "sort": sort})
    assert (answer.status, answer.json["details"]["param"]) == (400, "sort")


def test_cover_pages_cannot_be_sorted_ascending(api: Client) -> None:
    body = {"query": "cik:1234567", "sort": [{"filedAt": {"order": "desc"}}]}
    assert api.post(API + "/form-13f/cover-pages", body).status == 200
    body = {"query": "cik:1234567", "sort": [{"filedAt": {"order": "asc"}}]}
    answer = api.post(API + "/form-13f/cover-pages", body)
    assert (answer.status, answer.json["details"]["param"]) == (400, "sort")


def test_an_answer_states_if_older_covers_were_not_searched(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings_query, "MAX_SEARCHED_PAGES", 1)
    answer = api.post(API + "/form-13f/cover-pages", {"query": "formType:13F-HR"}).json
    assert ([row["filed_date"] for row in answer["filings"]], answer["meta"]["older_not_looked_at"]) == (
        ["2025-11-14"],
        True,
    )
    of_one = api.post(API + "/form-13f/cover-pages", {"query": "cik:1234567"}).json
    assert (len(of_one["filings"]), of_one["meta"]["older_not_looked_at"]) == (2, False)


@run_each_case(
    "query, accessions",
    [
        ("period:2025-09-30", [2, 3]),
        ("cik:1234567", [2, 1]),
        ("filed:[2025-11-13 TO *] AND form:13F-HR", [2]),
        ("filed:2025-08-14", [1]),
        ("accession:000123456725000003", [3]),
        ("cik:5", []),
        ("cik:1234567 OR cik:7654321", [2, 3, 1]),
        ("formType:13F-HR AND NOT cik:1234567", [3]),
        ('filedAt:[2025-11-01T00:00:00 TO 2025-11-30T23:59:59] AND formType:"13F-HR"', [2, 3]),
        ("holdings.ticker:MSFT", [2, 1]),
        ("holdings.cusip:02005N100", [1]),
        ("holdings.ticker:MSFT AND NOT holdings.cusip:02005n100", [2]),
        ("holdings.ticker:NONE", []),
        ("lamp", [2, 1]),
        ("filerName:(lamp OR wick) AND period:[2025-07-01 TO *]", [2]),
        ("-lamp", [3]),
    ],
)
def test_cover_pages_are_queried(api: Client, query: str, accessions: list[int]) -> None:
    answer = api.post(API + "/form-13f/cover-pages", {"query": query}).json
    assert [row["accession_number"] for row in answer["filings"]] == [
        fund_filings.accession(number) for number in accessions
    ]
    if accessions[:1] == [2]:
        assert answer["filings"][0]["other_managers"][0]["name"] == "Wick LLC"
        assert answer["filings"][0]["address"] == "1 Wick Street, Reno, NV, 89501"


def test_a_cover_page_without_a_day_is_in_no_range_of_days(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(**ACCOUNTS)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    take(app, tmp_path, thirteenf_xml.cover(form="13F-NT"))

    def days(query: str) -> list[str | None]:
        answer = client.post(API + "/form-13f/cover-pages", {"query": query}).json["filings"]
        return [row["filed_date"] for row in answer]

    assert days("cik:1234567") == [None]
    assert days("cik:1234567 AND filed:[* TO 2026-12-31]") == []


@run_each_case(
    "query",
    [
        "cik:",
        "cik:0",
        "NOT cik:1234567",
        "cik:1234567 OR NOT holdings.ticker:AAPL",
        "apple AND (period:2025-09-30 OR period:2025-06-30)",
        "apple OR (micro AND period:2025-06-30)",
        "apple AND NOT period:2025-06-30",
        "apple AND periodOfReport:[2025-01-01 TO *]",
        "apple OR ,",
        "cik:(1 OR 2 OR 3 OR 4 OR 5 OR 6 OR 7 OR 8 OR 9 OR 10 OR 11)",
        "holdings.cusip:037833101",
        "cik:1234567 AND holdings.ticker:A*",
        "cik:1234567 AND colour:red",
        "period:2025",
        "a" * 9_000,
        "cik:1 AND " * 500,
    ],
)
def test_invalid_queries_are_refused(api: Client, query: str) -> None:
    answer = api.post(API + "/form-13f/holdings", {"query": query})
    assert (answer.status, answer.json["details"]["param"]) == (400, "query")


# ---- all funds


def test_funds_by_cursor_never_repeat(api: Client) -> None:
    first = get_json(api, "/form-13f/funds", limit=1)
    second = get_json(api, "/form-13f/funds", limit=1, cursor=first["meta"]["next_cursor"])
    assert [record["funds"][0]["name"] for record in (first, second)] == ["Lamp Capital LP", "Shade Partners"]
    assert second["meta"] == {"has_more": False, "next_cursor": None, "limit": 1}


@run_each_case(
    "search, names",
    [
        ("lamp", ["Lamp Capital LP"]),
        ("PART sha", ["Shade Partners"]),
        ("1234567", ["Lamp Capital LP"]),
        ("amp", []),
        ("*", []),
        ("sha lamp", []),
    ],
)
def test_managers_are_found_by_word_prefixes(api: Client, search: str, names: list[str]) -> None:
    assert [record["name"] for record in get_json(api, "/form-13f/search", q=search)["results"]] == names


def test_the_newest_filings_have_counts_of_changes(api: Client) -> None:
    answer = get_json(api, "/form-13f/latest")
    assert [(row["accession_no"], row["filed_at"], row["analysis"]["closed"]) for row in answer["data"]] == [
        (fund_filings.accession(2), "2025-11-14", 1),
        (fund_filings.accession(3), "2025-11-12", None),
        (fund_filings.accession(1), "2025-08-14", None),
    ]
    assert answer["data"][0]["statistics"]["prior_quarter_available"] is True
    assert get_json(api, "/form-13f/latest", since="2025-11-13")["meta"]["total"] == 1
    assert [row["cik"] for row in get_json(api, "/form-13f/latest", cik="7654321")["data"]] == ["0007654321"]


def test_a_quarter_is_named_by_its_last_day_or_number(api: Client) -> None:
    for path in (
        "/form-13f/fund/1234567?period=",
        "/form-13f/aggregation/by-ticker?quarter=",
        "/form-13f/aggregation/by-industry?quarter=2025-09-30&compare=",
    ):
        by_day, *by_number = (
            {**get_json(api, path + quarter), "meta": None, "request_id": None}
            for quarter in ("2025-06-30", "2025Q2", "2025-Q2", "2025q2")
        )
        assert by_number == [by_day] * 3, path


def test_the_filing_progress_of_a_quarter(api: Client) -> None:
    answer = get_json(api, "/form-13f/filing-progress", quarter="2025-09-30")["data"]
    assert (answer["filers"], answer["baseline_filers"], answer["pct_reported"]) == (2, 1, 200)
    assert (answer["deadline"], answer["deadline_status"], answer["days_until_deadline"]) == (
        "2025-11-14",
        "passed",
        -78,
    )
    assert (answer["total_filings"], answer["total_aum"], answer["is_complete"]) == (2, 11_500, True)
    stats = get_json(api, "/form-13f/filing-stats")["data"]
    assert (stats["period"], stats["deadline"], stats["deadlineStatus"]) == ("2025-12-31", "2026-02-17", "open")
    assert (stats["totalFundsFiled"], stats["totalAUM"], stats["previousQuarterFilers"]) == (0, None, 2)
    assert stats["lastCompleteQuarterEnd"] == "2025-09-30"


# ---- all funds together


def test_securities_of_a_quarter_have_sums_over_funds(api: Client) -> None:
    answer = get_json(api, "/form-13f/aggregation/by-ticker", include_ranges="true")["data"]
    assert [
        (row["ticker"], row["fund_flow"], row["total_value"], row["fund_count"], row["share_change"])
        for row in answer["tickers"]
    ] == [("AAPL", 1_250, 4_000, 2, 5), (None, -400, 0, 0, -10), ("MSFT", -2_500, 2_500, 1, -5)]
    apple = answer["tickers"][0]
    assert (apple["fund_count_compared"], apple["fund_count_prev"], apple["fund_change"]) == (1, 1, 0)
    assert (apple["implied_price"], apple["share_change_pct"], apple["increased_count"]) == (250, 50, 1)
    assert (apple["sector"], apple["industry"]) == ("Manufacturing", "Machinery and Computer Equipment")
    assert answer["volume"] == {"buy": 1_250, "sell": 2_900, "doubted_buy": 0, "doubted_sell": 0}
    assert answer["available_quarters"] == ["2025-09-30", "2025-06-30"]
    assert answer["filter_ranges"]["fund_flow"] == {"min": -2_500, "max": 1_250}


@run_each_case(
    "query, cusips",
    [
        ("search=app", [APPLE]),
        ("search=msft", [MICROSOFT]),
        ("sector=manufacturing", [APPLE]),
        ("min_total_value=2500.5", [APPLE]),
        ("max_fund_flow=-400", [ALLY, MICROSOFT]),
        ("min_fund_count=1&sort_by=total_value&sort_order=asc", [MICROSOFT, APPLE]),
        ("is_etf=true", []),
        ("search=inc+app", [APPLE]),
        ("search=apple+corp", []),
        ("search=%25", []),
        ("security_group=Stocks&limit=1&offset=1", [ALLY]),
        (
            "quarter=2025-06-30&sort_by=name&sort_order=asc",
            [ALLY, APPLE, MICROSOFT],
        ),
    ],
)
def test_securities_are_filtered_and_sorted(api: Client, query: str, cusips: list[str]) -> None:
    answer = get_json(api, f"/form-13f/aggregation/by-ticker?{query}")["data"]["tickers"]
    assert [row["cusip"] for row in answer] == cusips


@run_each_case("spelling", ["lam.p", "LAM/P", "lam p", "Lam-P"])
def test_a_ticker_is_found_in_every_spelling(make_app: Callable[..., App], tmp_path: Path, spelling: str) -> None:
    app = make_app(**ACCOUNTS)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    take(app, tmp_path, f"cusip,ticker\n{ALLY},LAM.P\n".encode(), fund_filings.june())
    answer = get_json(client, "/form-13f/aggregation/by-ticker", search=spelling)["data"]["tickers"]
    assert [(row["cusip"], row["ticker"]) for row in answer] == [(ALLY, "LAM-P")]
    assert [row["cusip"] for row in get_json(client, "/form-13f/fund/1234567", q=spelling)["holdings"]] == [ALLY]
    assert [row["score"] for row in get_json(client, "/cusip/search", q=spelling)["results"]] == [100]


def test_unsupported_filters_are_refused(api: Client) -> None:
    answer = api.get(API + "/form-13f/aggregation/by-ticker?min_market_cap=1000")
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "min_market_cap"


@run_each_case(
    "path",
    [
        "/form-13f/aggregation/by-sector?compare=2025-06-29",
        "/form-13f/aggregation/by-industry?compare=latest",
        "/tickers/AAPL/holders?quarters=two",
        "/form-13f/fund/1234567?offset=-1",
        "/form-13f/latest?offset=1000000000",
    ],
)
def test_values_out_of_bounds_are_refused(api: Client, path: str) -> None:
    answer = api.get(API + path)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == path.partition("?")[2].partition("=")[0]


def test_a_quarter_is_compared_with_the_requested_one(api: Client, tmp_path: Path) -> None:
    december = ("12-31-2025", "2026-01-20", [(APPLE, 250, 1)])
    take(api.app, tmp_path, submission(9, december, signed="01-20-2026"))
    query = {"quarter": "2025-12-31", "compare": "2025-09-30"}
    (sector,) = get_json(api, "/form-13f/aggregation/by-sector", **query)["data"]["sectors"]
    (industry,) = get_json(api, "/form-13f/aggregation/by-industry", **query)["data"]["industries"]
    assert (
        sector["compare"]
        == industry["compare"]
        == {
            "prev_quarter": "2025-09-30",
            "flow_change": -4_750,
            "prev_momentum_label": "strong_inflow",
            "momentum_shift": "weakened",
            "fund_count_change": -1,
            "value_change_pct": -93.75,
        }
    )
    back = get_json(api, "/form-13f/aggregation/by-industry", quarter="2025-09-30", compare="2025-06-30")
    assert back["data"]["industries"][0]["compare"] == {
        "prev_quarter": "2025-06-30",
        "flow_change": None,
        "prev_momentum_label": None,
        "momentum_shift": None,
        "fund_count_change": 1,
        "value_change_pct": 60,
    }
    alone = get_json(api, "/form-13f/aggregation/by-industry")["data"]["industries"][0]
    assert alone["compare"] is None


def test_holders_have_a_history_of_several_quarters(api: Client) -> None:
    answer = get_json(api, "/tickers/AAPL/holders?quarters=4")["data"]["holders"]
    assert {row["cik"]: [tuple(record.values()) for record in row["history"]] for row in answer} == {
        "0001234567": [("2025-09-30", 15, 3_750, None, None), ("2025-06-30", 10, 2_500, None, None)],
        # Of a quarter without a report nothing is known.
        "0007654321": [("2025-09-30", 1, 250, None, None)],
    }


def test_compare_prev_names_the_previous_quarter(api: Client) -> None:
    for path in ("by-sector", "by-industry"):
        with_prev = get_json(api, f"/form-13f/aggregation/{path}?compare=prev")["data"]
        assert with_prev == get_json(api, f"/form-13f/aggregation/{path}?compare=2025-06-30")["data"]


@run_each_case(
    "sort, means",
    [("value_usd", "value"), ("Market_Value", "value"), ("name_of_issuer", "name"), ("SHARES", "shares")],
)
def test_aliases_of_sort_columns_are_accepted(api: Client, sort: str, means: str) -> None:
    aliased_rows, canonical_rows = (
        get_json(api, "/form-13f/fund/1234567", sort_by=sort_name)["holdings"] for sort_name in (sort, means)
    )
    assert aliased_rows == canonical_rows


def test_holders_of_one_quarter_have_no_history(api: Client) -> None:
    assert get_json(api, "/tickers/AAPL/holders?quarters=1")["data"] == get_json(api, "/tickers/AAPL/holders")["data"]


@pytest.mark.parametrize(
    ("path", "get_page"),
    [
        ("/form-13f/aggregation/by-ticker", lambda answer: answer["meta"]["pagination"]),
        ("/cusip/search?q=apple", lambda answer: answer["meta"]),
    ],
)
def test_a_page_after_the_last_states_the_total(api: Client, path: str, get_page: Any) -> None:
    first_page = get_page(get_json(api, path))
    behind = get_page(get_json(api, path + ("&" if "?" in path else "?") + "offset=50"))
    assert (behind["total"], behind["has_more"]) == (first_page["total"], False)
    assert first_page["total"] > 0


def test_a_manager_has_the_main_ticker_of_its_company(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(**ACCOUNTS)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    ticker_list = [{"cik_str": 1234567, "ticker": ticker, "title": "Lamp"} for ticker in ("LMP-B", "LMP-A")]
    take(app, tmp_path, json.dumps(dict(enumerate(ticker_list))).encode(), fund_filings.june())
    primary = client.get(API + "/xbrl/search?q=1234567").json["data"][0]["ticker"]
    assert primary == "LMP-B"
    for path, rows in (
        ("funds", "funds"),
        ("search?q=lamp", "results"),
        ("search?q=1234567", "results"),
        ("filers?q=lamp", "filers"),
        ("funds?limit=1&cursor=1", "funds"),
    ):
        assert [row["symbol"] for row in get_json(client, f"/form-13f/{path}")[rows]] == [primary], path


def test_empty_filters_select_all_newest_filings(api: Client) -> None:
    assert get_json(api, "/form-13f/latest?cik=&since=")["data"] == get_json(api, "/form-13f/latest")["data"]
    assert api.get(API + "/form-13f/latest?cik=%20").status == 400


def test_members_that_13f_lacks_are_null_with_a_reason(api: Client) -> None:
    answer = get_json(api, "/form-13f/aggregation/by-ticker?include_ranges=true")
    holes = answer["meta"]["holes"]
    assert set(holes) == {
        "close_price",
        "market_cap",
        "shares_outstanding",
        "first_traded",
        "fund_flow_mcap_pct",
        "filter_ranges.market_cap",
    }
    assert {tuple(record.values()) for record in holes.values()} == {("hole", "not_in_13f")}
    assert {row[name] for row in answer["data"]["tickers"] for name in holes if "." not in name} == {None}
    assert answer["data"]["filter_ranges"]["market_cap"] == {"min": None, "max": None}


def test_cover_pages_have_a_stable_order(api: Client) -> None:
    path, query = API + "/form-13f/cover-pages", {"query": "period:2025-09-30"}
    assert api.post(path, {**query, "sort": "filed_date"}).json["filings"] == api.post(path, query).json["filings"]
    assert api.post(path, {**query, "sort": "period_of_report"}).json["details"]["param"] == "sort"


def test_flows_without_compared_funds_are_null(api: Client) -> None:
    answer = get_json(api, "/form-13f/aggregation/by-ticker", quarter="2025-06-30")["data"]
    assert {(row["fund_flow"], row["fund_change"], row["closed_count"]) for row in answer["tickers"]} == {
        (None, None, None)
    }
    assert answer["volume"] == {"buy": None, "sell": None, "doubted_buy": 0, "doubted_sell": 0}


def test_a_basket_adds_up_several_funds(api: Client) -> None:
    path = "/form-13f/aggregation/basket-holdings?ciks=1234567,7654321,9&period=2025-09-30"
    answer = get_json(api, path)
    assert [
        tuple(
            row[name]
            for name in ("cusip", "funds_holding", "value_usd", "change_type", "share_change", "prev_value_usd")
        )
        for row in answer["positions"]
    ] == [
        # The earlier quarter of the second fund is not stored: its shares count as positions, but not as changes.
        (APPLE, 2, 4_000, "increased", 5, 2_500),
        (MICROSOFT, 1, 2_500, "decreased", -5, 5_000),
        (ALLY, 0, 0, "closed", -10, 400),
    ]
    assert answer["positions"][0]["pct_of_basket"] == 61.5385
    assert {name: answer["totals"][name] for name in ("total_value_usd", "total_positions")} == {
        "total_value_usd": 6_500,
        "total_positions": 2,
    }
    assert answer["basket"]["pending"] == [{"cik": "0000000009", "company_name": None}]
    alone = get_json(api, path.replace("1234567,", ""))["positions"]
    assert [(row["change_type"], row["prev_value_usd"], row["share_change"]) for row in alone] == [(None, None, None)]
    sized = get_json(api, path + "&size=1&sort_by=change&sort_order=asc")
    assert ([row["cusip"] for row in sized["positions"]], sized["meta"]["has_more"]) == ([ALLY], True)


def test_sectors_and_industries_have_sums_over_funds(api: Client) -> None:
    answer = get_json(api, "/form-13f/aggregation/by-sector")["data"]
    (sector,) = answer["sectors"]
    assert (sector["sector"], sector["fund_flow"], sector["total_value"]) == ("Manufacturing", 1_250, 4_000)
    assert (sector["fund_count"], sector["momentum"], sector["confidence"]) == (2, "strong_inflow", "low")
    assert (answer["total_value"], answer["coverage_pct"]) == (6_500, 61.5385)
    (industry,) = sector["industries"]["inflows"]
    assert [record["ticker"] for record in industry["top_movers"]] == ["AAPL"]
    (industry,) = get_json(api, "/form-13f/aggregation/by-industry")["data"]["industries"]
    assert (industry["industry"], industry["sector"]["name"], industry["increased_count"]) == (
        "Machinery and Computer Equipment",
        "Manufacturing",
        1,
    )


def test_holders_of_a_ticker(api: Client) -> None:
    answer = get_json(api, "/tickers/aapl/holders")["data"]
    assert [
        (row["name"], row["shares"], row["chg_shares"], row["status"], row["pct_of_portfolio"])
        for row in answer["holders"]
    ] == [("Lamp Capital LP", 15, 5, "increased", 33.3333), ("Shade Partners", 1, None, None, 100)]
    assert (answer["total_shares"], answer["total_value"], answer["total_holders"]) == (16, 4_000, 2)
    assert get_json(api, "/tickers/AAPL/holders", limit=1)["data"]["has_more"] is True
    assert get_json(api, "/tickers/AAPL/holders", status="increased")["data"]["total_count"] == 1
    searched = get_json(api, "/form-13f/holdings/search", q=APPLE, limit=1)
    assert (searched["resolved"]["ticker"], searched["meta"]) == (
        "AAPL",
        {"total": 2, "has_more": True, "doubted_count": 0, "doubted_value": 0},
    )


def test_a_ticker_has_a_trend_by_quarter(api: Client) -> None:
    answer = get_json(api, "/tickers/AAPL/fund-trends")["data"]
    assert [
        (row["date"], row["total_shares"], row["fund_count"], row["share_change"], row["fund_flow"])
        for row in answer["quarters"]
    ] == [("2025-09-30", 16, 2, 5, 1_250), ("2025-06-30", 10, 1, None, None)]


SPLIT = b"ticker,date,close,stock splits\nAAPL,2025-08-19,2500,\nAAPL,2025-08-20,250,10:1\n"
HUNDRED = ("09-30-2025", "2025-11-14", [(APPLE, 25_000, 100), (MICROSOFT, 2_500, 5)])


@run_each_case("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 2, 0, 3), (1, 2, 3, 0)])
def test_a_split_is_no_purchase_in_any_order_of_documents(
    make_app: Callable[..., App], tmp_path: Path, order: tuple[int, ...]
) -> None:
    app = make_app(**ACCOUNTS)
    user = users.create(app, "ann@example.com", "pro", NOW)
    documents = (SPLIT, fund_filings.june(), submission(2, HUNDRED), TICKERS)
    take(app, tmp_path, *(documents[record] for record in order))
    client = Client(app, user.api_key)
    fund = get_json(client, "/form-13f/fund/1234567", status="all")
    apple = next(record for record in fund["holdings"] if record["ticker"] == "AAPL")
    assert (apple["status"], apple["previous_shares"], apple["change_shares"], apple["split_factor"]) == (
        "unchanged",
        100,
        0,
        10,
    )
    counts = fund["meta"]["counts"]
    assert (counts["increased"], counts["unchanged"], counts["decreased"]) == (0, 1, 1)
    (holder,) = get_json(client, "/tickers/AAPL/holders")["data"]["holders"]
    assert (holder["status"], holder["previous_shares"], holder["chg_shares"], holder["chg_pct"]) == (
        "unchanged",
        100,
        0,
        0,
    )
    trend = get_json(client, "/tickers/AAPL/fund-trends")["data"]["quarters"]
    assert [(record["total_shares"], record["share_change"], record["fund_flow"]) for record in trend] == [
        (100, 0, 0),
        (10, None, None),
    ]
    history = get_json(client, f"/form-13f/fund/1234567/cusip/{APPLE}/history")
    assert (history["split_adjusted"], history["splits"]) == (
        True,
        [{"date": "2025-08-20", "ratio": 10, "source": "prices"}],
    )
    columns = ("shares", "shares_raw", "shares_delta", "split_factor")
    assert [tuple(record[name] for name in columns) for record in history["history"]] == [
        (100, 100, 0, 10),
        (100, 10, None, None),
    ]


def test_synthetic_splits_do_not_change_reports(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(**ACCOUNTS)
    user = users.create(app, "ann@example.com", "pro", NOW)
    made_up = (
        SPLIT.replace(b"splits\n", b"splits,source\n")
        .replace(b",\n", b",,synthetic\n")
        .replace(b"1\n", b"1,synthetic\n")
    )
    take(app, tmp_path, TICKERS, made_up, fund_filings.june(), submission(2, HUNDRED))
    history = get_json(Client(app, user.api_key), f"/form-13f/fund/1234567/cusip/{APPLE}/history")
    assert (history["split_adjusted"], history["splits"]) == (False, [])
    assert [record["shares_delta"] for record in history["history"]] == [90, None]


def test_tickers_are_completed(api: Client) -> None:
    assert [
        (record["symbol"], record["score"]) for record in get_json(api, "/tickers/autocomplete", q="aa")["tickers"]
    ] == [("AAPL", 80)]
    assert [
        (record["symbol"], record["score"])
        for record in get_json(api, "/tickers/autocomplete", q="apple in")["tickers"]
    ] == []
    assert [record["score"] for record in get_json(api, "/tickers/autocomplete", q="Apple")["tickers"]] == [50]
    assert get_json(api, "/tickers/autocomplete", q="%%")["tickers"] == []


# ---- CUSIPs


def test_a_cusip_has_a_ticker_with_evidence(api: Client) -> None:
    answer = get_json(api, f"/cusip/lookup/{MICROSOFT.lower()}")
    assert (answer["ticker"], answer["evidence"], answer["seen_in"]) == ("MSFT", "csv", fund_filings.accession(2))
    assert get_json(api, "/cusip/ticker/msft")["cusip"] == MICROSOFT
    assert get_json(api, "/cusip/cik/0000320193")["securities"][0]["cusip"] == APPLE


def test_a_batch_states_why_a_cusip_has_no_ticker(api: Client) -> None:
    answer = api.post(API + "/cusip/batch", {"cusips": [APPLE, ALLY, "88579Y101", "037833101"]}).json
    assert [(record["ticker"], record["reason"]) for record in answer["results"]] == [
        ("AAPL", None),
        (None, "ticker_not_known"),
        (None, "unknown_cusip"),
        (None, "invalid_cusip"),
    ]
    assert answer["meta"] == {"requested": 4, "resolved": 1, "unmapped": 3}


def test_a_chain_ends_at_the_current_cusip(api: Client) -> None:
    answer = get_json(api, "/cusip/chain/464286640")
    assert [(record["cusip"], record["is_current"]) for record in answer["chain"]] == [
        ("464286640", False),
        ("78462F103", True),
    ]


@run_each_case(
    "search, expected",
    [
        ("apple", [(APPLE, 70)]),
        ("AAPL", [(APPLE, 100)]),
        ("037833", [(APPLE, 80)]),
        ("financ ally", []),
        ("finl ally", [(ALLY, 50)]),
        ("all", [(ALLY, 70)]),
        ("%", []),
        ("[", []),
    ],
)
def test_securities_are_searched(api: Client, search: str, expected: list[Any]) -> None:
    rows = get_json(api, "/cusip/search", q=search)["results"]
    assert [(row["cusip"], row["score"]) for row in rows] == expected


def test_statistics_count_known_cusips(api: Client) -> None:
    answer = get_json(api, "/cusip/stats")
    assert (answer["total_cusips"], answer["mapped"], answer["with_cik"]) == (5, 3, 1)
    assert answer["by_security_group"]["Stocks"] == 3


# ---- refusals


@run_each_case(
    "path, status, code",
    [
        ("/form-13f/fund/99", 404, "NOT_FOUND"),
        ("/form-13f/fund/abc", 400, "INVALID_PARAM"),
        ("/form-13f/fund/1234567?period=2024-12-31", 404, "NOT_COVERED"),
        ("/form-13f/fund/1234567?period=x", 400, "INVALID_PARAM"),
        ("/form-13f/fund/1234567?sort_by=drop", 400, "INVALID_PARAM"),
        ("/form-13f/fund/1234567?limit=x", 400, "INVALID_PARAM"),
        ("/form-13f/fund/99/periods", 404, "NOT_FOUND"),
        ("/form-13f/fund/1234567/cusip/037833101/history", 400, "INVALID_PARAM"),
        ("/form-13f/fund/1234567/cusip/88579Y101/history", 404, "NOT_FOUND"),
        ("/form-13f/funds?cursor=x", 400, "INVALID_PARAM"),
        ("/form-13f/latest?cik=x", 400, "INVALID_PARAM"),
        ("/form-13f/filing-progress?quarter=2025-09-29", 400, "INVALID_PARAM"),
        ("/form-13f/filing-progress?quarter=0001-03-31", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/by-ticker?quarter=2025-09-29", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/by-ticker?quarter=2020-12-31", 404, "NOT_COVERED"),
        ("/form-13f/aggregation/by-ticker?sector=Magic", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/by-industry?sector=Technology", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/basket-holdings?ciks=1&period=2025-09-30&size=0", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/basket-holdings?ciks=x&period=2025-09-30", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/basket-holdings?ciks=1&period=2025-09-29", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/basket-holdings?ciks=1", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/by-ticker?min_fund_flow=x", 400, "INVALID_PARAM"),
        ("/form-13f/aggregation/by-sector?quarter=x", 400, "INVALID_PARAM"),
        ("/form-13f/holdings/search?q=ZZZ", 404, "UNKNOWN_TICKER"),
        ("/form-13f/holdings/search?q=%C3%96", 400, "INVALID_PARAM"),
        ("/form-13f/holdings/search?q=88579Y101", 404, "NOT_FOUND"),
        ("/form-13f/holdings/search?q=AAPL&period=2020-12-31", 404, "NOT_COVERED"),
        ("/form-13f/holdings/search", 400, "INVALID_PARAM"),
        ("/tickers/ZZZ/holders", 404, "UNKNOWN_TICKER"),
        ("/tickers/ECH/holders", 404, "NOT_COVERED"),
        ("/tickers/ZZZ/fund-trends", 404, "UNKNOWN_TICKER"),
        ("/cusip/lookup/88579Y101", 404, "NOT_FOUND"),
        ("/cusip/lookup/1", 400, "INVALID_PARAM"),
        ("/cusip/ticker/ZZZ", 404, "UNKNOWN_TICKER"),
        ("/cusip/cik/5", 404, "NOT_FOUND"),
        ("/cusip/cusip6/03783", 400, "INVALID_PARAM"),
        ("/cusip/cusip6/999999", 404, "NOT_FOUND"),
        ("/cusip/chain/88579Y101", 404, "NOT_FOUND"),
    ],
)
def test_missing_data_and_wrong_parameters_differ(api: Client, path: str, status: int, code: str) -> None:
    answer = api.get(API + path)
    assert (answer.status, answer.json["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("/cusip/lookup/88579Y101", "this CUSIP"),
        ("/cusip/chain/88579Y101", "this CUSIP"),
        ("/cusip/cusip6/999999", "a CUSIP of this issuer"),
    ],
)
def test_an_unknown_cusip_differs_from_an_unknown_issuer(api: Client, path: str, missing: str) -> None:
    assert api.get(API + path).json["message"] == f"No 13F report and no mapping in finapi lists {missing}."


@run_each_case(
    "path, body",
    [
        ("/form-13f/fund/bulk", {"ciks": []}),
        ("/form-13f/fund/bulk", {"ciks": ["1"] * 51}),
        ("/form-13f/fund/bulk", {"ciks": ["x"]}),
        ("/form-13f/fund/bulk", {}),
        ("/form-13f/holdings", {"query": "period:2025-09-30"}),
        ("/form-13f/holdings", {"query": "cik:1234567", "size": 0}),
        ("/form-13f/holdings", {"query": "cik:1234567", "sort": "drop"}),
        ("/cusip/batch", {"cusips": []}),
        ("/cusip/batch", {"cusips": ["1"] * 201}),
    ],
)
def test_invalid_bodies_are_refused(api: Client, path: str, body: Any) -> None:
    answer = api.post(API + path, body)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")


@run_each_case(
    "path", ["/tickers/LMP/holders", "/tickers/lmp/fund-trends", "/cusip/ticker/LMP", "/form-13f/holdings/search?q=LMP"]
)
def test_a_ticker_without_a_cusip_is_not_covered(make_app: Callable[..., App], tmp_path: Path, path: str) -> None:
    app = make_app(**ACCOUNTS)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    take(app, tmp_path, b'{"0":{"cik_str":77,"ticker":"LMP","title":"Lamp Inc."}}')
    answer = client.get(API + path)
    assert answer.verdict[:2] == (404, "NOT_COVERED")
    assert answer.json["details"] == {"ticker": "LMP", "cik": "0000000077"}


def test_an_empty_database_is_not_covered(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    assert client.get(API + "/form-13f/aggregation/by-ticker").json["code"] == "NOT_COVERED"
    assert get_json(client, "/form-13f/funds")["funds"] == []
    assert get_json(client, "/form-13f/latest")["data"] == []
    assert get_json(client, "/cusip/stats")["mapping_rate"] is None


def test_paths_and_costs_match_the_contract() -> None:
    wire = Path(__file__).parents[3] / "shared" / "contract" / "wire.json"
    if not wire.is_file():
        pytest.skip("the contract (../shared/contract) is not here")
    contract = json.loads(wire.read_text())
    costs = {f"{route.method} {route.path}": route.cost for route in ROUTES}
    tested_routes = {f"{method} {API}{route}" for method, route, _, _ in CALLS}
    assert {name: costs[name] for name in tested_routes} == {name: contract[name]["cost"] for name in tested_routes}
