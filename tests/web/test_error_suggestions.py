"""Errors with suggestions: the nearest valid value, the wrong parameter, and the accepted values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core import suggestions
from finapi.core.errors import ApiError
from finapi.edgar import tickers as lists
from finapi.market.financials import series_query
from finapi.market.reference import companies
from tests.client import PASSWORD, Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.support.case_tables import run_each_case

API = "/api/v1"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    app = make_app(**ACCOUNTS)
    with app.db.write() as tx:
        for cik, ticker, name in (
            (320193, "AAPL", "Apple Inc."),
            (1, "APLE", "Hospitality"),
            (2, "BRK-B", "Berkshire"),
        ):
            companies.upsert_name(tx, cik, name, companies.FROM_LIST, "2026-01-01")
            tx.run("upsert_ticker", ticker=ticker, cik=cik, exchange=None, source=2, position=cik, as_of="2026-01-01")
    return app


@pytest.fixture
def api(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)


def get_details(answer: Answer, status: int) -> dict[str, Any]:
    assert answer.status == status, answer.body
    error_details: dict[str, Any] = answer.json["details"]
    return error_details


@run_each_case(
    "ticker, nearest",
    [
        ("APPL", ["AAPL"]),
        ("APLL", ["APLE"]),
        ("apple", ["AAPL", "APLE"]),
        ("BRK.C", ["BRK-B"]),
        ("ZZZZ", []),
        ("9" * 9, []),
    ],
)
def test_an_unknown_ticker_is_repeated_with_the_nearest(api: Client, ticker: str, nearest: list[str]) -> None:
    answer = api.get(f"{API}/xbrl/companies/{ticker}/statements")
    error_details = get_details(answer, 404)
    assert (error_details["given"], error_details["nearest"]) == (lists.normalise_prefix(ticker), nearest)
    assert lists.normalise_prefix(ticker) in answer.json["message"]
    assert all(suggestion in answer.json["message"] for suggestion in nearest)


@run_each_case(
    "key, near",
    [
        ("revenues", "revenue"),
        ("NetIncome", "net_income"),
        ("assets", "total_assets"),
        ("current liabilities", "total_current_liabilities"),
        ("lamps", None),
    ],
)
def test_a_wrong_metric_names_the_nearest(key: str, near: str | None) -> None:
    with pytest.raises(ApiError) as caught:
        series_query.list_keys(series_query.SeriesQuery(metrics=(key,)), "general")
    assert caught.value.details is not None
    assert caught.value.details["nearest"][:1] == ([near] if near else [])


def test_a_value_that_is_not_served_names_the_nearest_and_all(api: Client) -> None:
    error_details = get_details(api.get(f"{API}/xbrl/timeseries?ticker=AAPL&basis=latst"), 400)
    assert error_details == {"param": "basis", "allowed": ["latest", "original"], "nearest": ["latest"]}


@pytest.mark.parametrize(("name", "is_named"), [("symbol", True), ("tickr", True), ("colour", False)])
def test_a_missing_parameter_names_similar_given_parameters(api: Client, name: str, is_named: bool) -> None:
    """Account routes ignore unknown names, but not without a hint where a parameter is missing."""
    answer = api.post(f"{API}/sniper/targets", {name: "AAPL", "duration_minutes": 5})
    assert get_details(answer, 400)["param"] == "ticker"
    assert (name in answer.json["message"]) is is_named


def test_q_and_query_are_the_same_parameter(api: Client) -> None:
    for path in ("/xbrl/search", "/insiders/insider/search"):
        q, query = (api.get(f"{API}{path}?{name}=apple") for name in ("q", "query"))
        assert q.status == query.status == 200
    body = {"q": "ticker:AAPL"}
    assert (
        api.post(f"{API}/insiders/query", body).json == api.post(f"{API}/insiders/query", {"query": "ticker:AAPL"}).json
    )


@run_each_case(
    "body, where",
    [
        (b'{"query": }', {"line": 1, "column": 11}),
        (b'{"a": 1,\n "b" 2}', {"line": 2, "column": 6}),
        (b"", {"line": 1, "column": 1}),
        (b'{"a": "\xff"}', {"byte": 8}),
    ],
)
def test_a_body_that_is_not_json_is_refused_with_the_position(api: Client, body: bytes, where: dict[str, int]) -> None:
    assert get_details(api.call("POST", f"{API}/insiders/query", data=body), 400) == where


@run_each_case("body", [b'{"a":1,"a":2}', b'{"a":NaN}', b"[" * 15_000, b"[]"])
def test_refused_json_is_not_called_a_syntax_error(api: Client, body: bytes) -> None:
    answer = api.call("POST", f"{API}/insiders/query", data=body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
    assert "not valid JSON" not in answer.json["message"]


def test_a_405_names_the_methods(api: Client) -> None:
    answer = api.call("POST", f"{API}/user/")
    assert (
        get_details(answer, 405)
        == {"allowed": answer.headers["allow"].split(", ")}
        == {"allowed": ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"]}
    )


def test_a_404_leads_to_the_docs(api: Client) -> None:
    docs = get_details(api.get(f"{API}/nosuch"), 404)["docs"]
    assert json.loads(api.get(docs.removeprefix(api.app.config.public_url)).body)["openapi"]


@run_each_case(
    "path, headers, credential",
    [
        ("/plans", {}, None),
        ("/stats", {}, "missing"),
        ("/stats", {"X-API-Key": "0" * 32}, "wrong"),
        ("/stats?apiKey=x", {}, "wrong"),
        ("/stats", {"Authorization": "Bearer x"}, "missing"),
        ("/user/", {"Authorization": "Bearer x"}, "wrong"),
        ("/user/", {"X-API-Key": "0" * 32}, "missing"),
        ("/account/balance", {"X-API-Key": "0" * 32}, "wrong"),
        ("/account/balance", {"Authorization": "Bearer x"}, "wrong"),
        ("/account/balance", {}, "missing"),
    ],
)
def test_wrong_and_missing_credentials_have_different_errors(
    app: App, path: str, headers: dict[str, str], credential: str | None
) -> None:
    answer = Client(app).get(API + path, headers=headers)
    assert (answer.json.get("details") or {}).get("credential") == credential


@run_each_case("url", ["https://localhost/x", "https://LOCALHOST:8443", "https://a.localhost./x", "https://127.0.0.1/"])
def test_a_webhook_on_this_machine_is_refused_when_it_is_set(app: App, api: Client, url: str) -> None:
    body = {"email": "ann@example.com", "password": PASSWORD}
    token = api.post(f"{API}/auth/login", body).json["token"]
    answer = api.put(f"{API}/user/", {"webhook_url": url}, session=token)
    assert get_details(answer, 400)["param"] == "webhook_url"


def test_long_or_empty_texts_have_no_suggestions() -> None:
    assert suggestions.list_similar("x" * 1_000, ["x" * 999]) == []
    assert suggestions.list_similar("", ["a"]) == []


def test_words_of_other_services_suggest_metrics() -> None:
    keys = ["price_to_sales", "revenue", "net_income", "free_cashflow"]
    assert suggestions.list_similar_metrics("sales", keys) == ["revenue", "price_to_sales"]
    assert suggestions.list_similar_metrics("SALES", keys, 1) == ["revenue"]
    assert suggestions.list_similar_metrics("fcf", keys) == ["free_cashflow"]
    assert suggestions.list_similar_metrics("sales", ["net_income"]) == []
    assert suggestions.list_similar_metrics("", keys) == []
    assert len(suggestions.list_typos("A" * 1_000)) < 1_000
