"""Lists without rows: the reason, and the rows that other parameters would select, over the demo's data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.empty_lists import AvailableRows, explain_empty_list
from finapi.web.http.route import API
from tests.client import Client
from tests.support.demo_copies import load_demo
from tests.support.html_pages import NOW
from tests.support.raw_sql import run_sql


@pytest.fixture(scope="module")
def api() -> Iterator[Client]:
    app = apps.create_in_memory(Config(public_url="http://x"), FixedClock(NOW))
    load_demo(app)
    yield Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    app.db.close()


def get_json(api: Client, path: str) -> Any:
    answer = api.get(API + path)
    assert answer.status == 200, answer.body
    return answer.json


def find_empty(answer: Any) -> Any:
    """Return the explanation of an answer, which is in its meta, its data or the answer itself."""
    parts = [answer, answer.get("meta"), answer.get("data")]
    explanations = [part["empty"] for part in parts if isinstance(part, dict) and "empty" in part]
    return explanations[0] if explanations else None


def build_available(value: str, count: int, first_day: str | None, last_day: str | None) -> AvailableRows:
    return {
        "param": "form_type",
        "value": value,
        "row_count": count,
        "first_day": first_day,
        "last_day": last_day,
    }


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
@pytest.mark.parametrize(
    "path",
    [
        "/sec/filings?ticker=DVA&form_type=10-K",
        "/insiders/transactions/by-ticker/NFLX",
        "/form-13f/fund/1067983?offset=90",
        "/form-13f/search?q=zzzz",
        "/tickers/AAPL/holders?offset=90",
        "/xbrl/timeseries?ticker=NFLX&metrics=revenue&period=A&layout=long",
    ],
)
def test_an_empty_table_has_the_reason_in_a_header(api: Client, path: str, kind: str) -> None:
    answer = api.get(f"{API}{path}&format={kind}" if "?" in path else f"{API}{path}?format={kind}")
    assert answer.status == 200, answer.body
    assert len(answer.body.splitlines()) == (1 if kind == "csv" else 0)
    assert answer.headers["x-empty-reason"] == find_empty(get_json(api, path))["reason"]
    assert "X-Empty-Reason" in answer.headers["access-control-expose-headers"]


def test_a_table_with_rows_has_no_reason(api: Client) -> None:
    assert "x-empty-reason" not in api.get(f"{API}/sec/filings?ticker=DVA&format=csv").headers


def test_a_reason_with_other_characters_is_percent_encoded(api: Client) -> None:
    (name,) = run_sql(api.app.db, "SELECT name FROM companies WHERE cik = 927066").fetchone()
    run_sql(api.app.db, "UPDATE companies SET name = 'Café 50%' WHERE cik = 927066")
    answer = api.get(f"{API}/sec/filings?ticker=DVA&form_type=10-Q&format=csv")
    run_sql(api.app.db, "UPDATE companies SET name = ? WHERE cik = 927066", (name,))
    assert answer.headers["x-empty-reason"].startswith("The stored filing of Caf%C3%A9 50%25 does not match the query.")


def test_filings_name_the_forms_of_the_company(api: Client) -> None:
    empty = find_empty(get_json(api, "/sec/filings?ticker=DVA&form_type=10-K"))
    assert empty == {
        "reason": "The stored filing of DAVITA INC. does not match the query. It was filed on 2026-05-05.",
        "available": [build_available("4", 1, "2026-05-05", "2026-05-05")],
    }
    empty = find_empty(get_json(api, "/sec/filings?ticker=AAPL,DVA&form_type=424B2"))
    assert empty["reason"].endswith(
        "filings of Apple Inc. and DAVITA INC. matches the query. They were filed from 2000-05-11 to 2026-06-17."
    )
    assert [rows["value"] for rows in empty["available"]][:3] == ["8-K", "10-Q", "10-K"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/sec/filings?form_type=424B2", "No stored filing matches the query."),
        ("/sec/filings?ticker=DVA&offset=5", "The page begins after the last filing."),
        ("/insiders/transactions/by-ticker/NFLX", "No transaction of Netflix, Inc. is stored."),
        (
            "/insiders/transactions/by-ticker/AAPL?standard_type=purchase",
            "None of the 11 stored transactions of Apple Inc. matches the query. "
            "They were filed from 2022-05-06 to 2026-06-17.",
        ),
        (
            "/insiders/transactions/by-insider/1462356?standard_type=purchase",
            "None of the 7 stored transactions of Adams Katherine L. matches the query. They were filed on 2022-05-06.",
        ),
        ("/insiders/transactions/latest?min_value=1000000000000", "No stored transaction matches the query."),
        ("/insiders/transactions/latest?offset=400", "The page begins after the last transaction."),
        ("/form-13f/fund/1067983?q=zzz", "None of the 4 positions at 2026-03-31 matches the query."),
        ("/form-13f/fund/1067983?offset=99", "The page begins after the last position."),
        ("/form-13f/search?q=zzz", "No stored manager with a 13F report matches the query."),
        ("/form-13f/filers?q=zzz", "No stored manager with a 13F report matches the query."),
        ("/form-13f/latest?since=2030-01-01", "No stored 13F report matches the query."),
        ("/tickers/AAPL/holders?status=new", "No fund that held APPLE INC at 2026-03-31 matches the query."),
        ("/tickers/AAPL/holders?offset=9", "The page begins after the last holder."),
    ],
)
def test_an_empty_list_states_the_reason(api: Client, path: str, reason: str) -> None:
    assert find_empty(get_json(api, path))["reason"] == reason


def test_insiders_and_holders_name_what_is_stored(api: Client) -> None:
    empty = find_empty(get_json(api, "/insiders/transactions/by-insider/1462356?standard_type=purchase"))
    sales = {"param": "standard_type", "value": "sale", "row_count": 7}
    assert empty["available"] == [{**sales, "first_day": "2022-05-06", "last_day": "2022-05-06"}]
    empty = find_empty(get_json(api, "/tickers/AAPL/holders?status=new"))
    assert [rows["value"] for rows in empty["available"]] == ["2026-03-31", "2020-12-31"]
    refused = api.get(f"{API}/tickers/AAPL/holders?period=2010-03-31")
    assert (refused.status, refused.json["details"]["covered_periods"]) == (404, ["2026-03-31", "2020-12-31"])
    assert "The newest with it are for 2026-03-31, 2020-12-31." in refused.json["message"]


def test_a_past_day_hides_later_forms(api: Client) -> None:
    insider_path = "/insiders/transactions/by-insider/1462356?standard_type=purchase"
    empty = find_empty(get_json(api, f"{insider_path}&as_of=2023-01-01"))
    assert empty["available"][0]["last_day"] == "2022-05-06"
    assert api.get(f"{API}{insider_path}&as_of=2022-05-05").status == 404
    forms = find_empty(get_json(api, "/sec/filings?ticker=AAPL&form_type=424B2&as_of=2023-01-01"))
    assert {rows["value"]: rows["last_day"] for rows in forms["available"]} == {
        "10-Q": "2022-07-29",
        "10-K": "2022-10-28",
        "4": "2022-05-06",
    }


def test_lists_with_rows_have_no_explanation(api: Client) -> None:
    for path in ("/sec/filings?ticker=AAPL", "/form-13f/fund/1067983", "/form-13f/latest", "/tickers/AAPL/holders"):
        assert find_empty(get_json(api, path)) is None, path


def test_rows_without_a_day_have_no_sentence_about_days() -> None:
    undated = [build_available("10-K", 2, None, None), build_available("8-K", 1, "2024-01-02", "2024-01-03")]
    assert explain_empty_list("filing", "A", undated[:1])["reason"] == (
        "None of the 2 stored filings of A matches the query."
    )
    assert explain_empty_list("filing", "A", undated)["reason"] == (
        "None of the 3 stored filings of A matches the query. They were filed from 2024-01-02 to 2024-01-03."
    )
    assert len(explain_empty_list("filing", "A", undated * 40)["available"]) == 50
