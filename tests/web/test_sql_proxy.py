"""The SQL proxy over HTTP: its callers, costs and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.market.prices import price_csv, price_store
from finapi.market.reference.sql_views import VIEWS
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.support.case_tables import run_each_case

PATH = "/api/v1/sql-proxy"
SQL = "SELECT symbol, close FROM price WHERE symbol = 'AAPL' ORDER BY date DESC LIMIT 5"


@pytest.fixture
def ask(app: App, client: Client, user: NewUser) -> Any:
    text = b"date,close\n2025-01-02,1.25\n2025-01-03,1.5\n"
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(text, "f", "AAPL.csv"), text, "AAPL")
    client.key = user.api_key

    def call(query: Any = SQL, **members: Any) -> Answer:
        return client.post(PATH, {"query": query, **members})

    return call


def test_rows_are_objects_of_their_columns(ask: Any) -> None:
    answer = ask()
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "25")
    assert {name: answer.json[name] for name in ("success", "data", "columns", "row_count", "truncated")} == {
        "success": True,
        "data": [{"symbol": "AAPL", "close": 1.5}, {"symbol": "AAPL", "close": 1.25}],
        "columns": ["symbol", "close"],
        "row_count": 2,
        "truncated": False,
    }


def test_values_of_a_query_are_bound_parameters(ask: Any) -> None:
    sql = "SELECT close FROM price WHERE symbol = ? AND close > ?"
    assert ask(sql, params=["AAPL", 1.3]).json["data"] == [{"close": 1.5}]
    for wrong in ("AAPL", [["AAPL"]], [{}], [1] * 51, [2**63]):
        answer = ask(sql, params=wrong)
        assert (answer.status, answer.json["details"]["param"]) == (400, "params")
    assert ask(sql, params=["AAPL"]).json["details"]["param"] == "query"


def test_rows_are_available_as_csv_and_ndjson(ask: Any, client: Client) -> None:
    body = {"query": "SELECT symbol, close AS last, '=1' AS x FROM price ORDER BY date"}
    answer = client.call("POST", f"{PATH}?format=csv", data=json.dumps(body).encode())
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.body.decode() == "symbol,last,x\r\nAAPL,1.25,'=1\r\nAAPL,1.5,'=1\r\n"
    assert answer.headers["x-has-more"] == "false"
    lines = client.call("POST", f"{PATH}?format=ndjson", data=json.dumps(body).encode()).body.splitlines()
    assert json.loads(lines[1]) == {"symbol": "AAPL", "last": 1.5, "x": "=1"}


def test_the_key_may_be_in_the_body(ask: Any, client: Client) -> None:
    key, client.key = client.key, None
    assert ask(api_key=key).status == 200
    for wrong in ("0" * 32, "", 5, None, [key]):
        assert ask(api_key=wrong).json["code"] == "UNAUTHORIZED"
    assert ask().json["code"] == "UNAUTHORIZED"


def test_the_key_of_the_header_precedes_that_of_the_body(ask: Any, client: Client) -> None:
    key, client.key = client.key, "0" * 32
    assert ask(api_key=key).status == 401


def test_a_key_in_the_body_is_accepted_only_by_the_sql_proxy(ask: Any, client: Client) -> None:
    key, client.key = client.key, None
    answer = client.call("GET", "/api/v1/sec/forms", data=json.dumps({"api_key": key}).encode())
    assert answer.status == 401


def test_a_refused_query_is_free_and_states_the_reason(ask: Any) -> None:
    answer = ask("SELECT email FROM users")
    assert answer.verdict == (
        400,
        "INVALID_PARAM",
        f"The query is refused: only these can be read: {', '.join(sorted(VIEWS))}.",
    )
    assert (answer.headers["x-tokens-charged"], answer.json["details"]["param"]) == ("0", "query")
    assert ask().status == 200


@run_each_case("query", [None, "", 5, ["SELECT 1"], "x" * 10_001])
def test_an_invalid_query_member_is_refused_by_its_name(ask: Any, query: Any) -> None:
    answer = ask(query)
    assert (answer.status, answer.json["details"]["param"]) == (400, "query")


def test_a_query_that_is_too_long_is_refused_with_the_limit(ask: Any) -> None:
    answer = ask("x" * 10_001)
    assert answer.json["message"] == "query may have at most 10,000 characters."


def test_thirty_queries_pass_per_minute(ask: Any) -> None:
    statuses = [ask("SELECT 1").status for _ in range(31)]
    assert statuses == [200] * 30 + [429]


def test_a_caller_without_key_is_limited_before_the_body_is_read(ask: Any, client: Client) -> None:
    client.key = None
    codes = [client.call("POST", PATH, data=b"{" * 100).status for _ in range(31)]
    assert codes == [401] * 30 + [429]


def test_the_document_describes_every_view() -> None:
    operation = build_document("", ROUTES)["paths"][PATH]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    for view, (columns, description) in VIEWS.items():
        assert f"{view}({columns}): {description}" in body["properties"]["query"]["description"]
