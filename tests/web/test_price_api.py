"""The prices endpoint: records, paging, tables, and errors."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.market.demo import demo_prices
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from tests.client import Client
from tests.support.case_tables import run_each_case

PATH = "/api/v1/prices/"
DAYS = """date,open,close,volume,split,dividend
2025-01-02,100.5,101.25,1000,,
2025-01-03,101,102,2000,,0.5
2025-01-06,51,50.5,3000,2,
"""


@pytest.fixture
def get_prices(app: App, client: Client, user: NewUser) -> Any:
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(DAYS.encode(), "f", "brk.b.csv"), DAYS.encode(), "BRK-B")
        companies.upsert_name(tx, 1067983, "Berkshire", companies.FROM_COVER, "")
        companies.upsert_tickers(tx, 1067983, [("BRK-B", None)], companies.FROM_LIST)
        companies.upsert_name(tx, 1, "Quiet Corp", companies.FROM_COVER, "")
    client.key = user.api_key
    return lambda ticker, **options: client.get(PATH + ticker, **options)


def test_days_are_listed_newest_first_with_adj_close(get_prices: Any) -> None:
    answer = get_prices("BRK-B")
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "5")
    assert answer.json["data"][1:] == [
        {
            "date": "2025-01-03",
            "open": 101,
            "high": None,
            "low": None,
            "close": 102,
            "volume": 2000,
            "adj_close": 51,
            "adj_close_reason": None,
            "split_factor": None,
            "dividend": 0.5,
            "volume_exact": 2000,
            "price_doubt": None,
        },
        {
            "date": "2025-01-02",
            "open": 100.5,
            "high": None,
            "low": None,
            "close": 101.25,
            "volume": 1000,
            "adj_close": 50.375,
            "adj_close_reason": None,
            "split_factor": None,
            "dividend": None,
            "volume_exact": 1000,
            "price_doubt": None,
        },
    ]
    assert answer.json["meta"] == {
        "ticker": "BRK-B",
        "source": "csv",
        "synthetic": False,
        "adjusted": False,
        "count": 3,
        "limit": 500,
        "has_more": False,
        "next_cursor": None,
        "from": None,
        "to": None,
        "undated_left_out": 0,
        "clamped": {},
    }
    meta = get_prices("BRK-B", query={"to": "2025-01-03"}).json["meta"]
    assert (meta["from"], meta["to"]) == (None, "2025-01-03")


@run_each_case("spelling", ["brk.b", "BRK%2FB", "BRKB", "1067983", "0001067983"])
def test_ticker_is_found_in_any_spelling_and_by_cik(get_prices: Any, spelling: str) -> None:
    assert get_prices(spelling).json["meta"]["ticker"] == "BRK-B"


def test_pages_have_no_gaps_and_no_repeats(get_prices: Any) -> None:
    days, query = [], {"limit": 1}
    while True:
        answer = get_prices("BRK-B", query=query).json
        days += [row["date"] for row in answer["data"]]
        if not answer["meta"]["has_more"]:
            break
        query = {"limit": 1, "cursor": answer["meta"]["next_cursor"]}
    assert days == ["2025-01-06", "2025-01-03", "2025-01-02"]
    assert answer["meta"]["next_cursor"] is None


def test_adjusted_scales_every_price_and_the_volume(get_prices: Any) -> None:
    row = get_prices("BRK-B", query={"adjusted": "true", "to": "2025-01-02"}).json["data"][0]
    assert (row["close"], row["adj_close"], row["open"], row["volume"]) == (50.375, 50.375, 50.001852, 2000)


def test_prices_are_available_as_csv(get_prices: Any) -> None:
    answer = get_prices("BRK-B", query={"limit": 1}, headers={"Accept": "text/csv"})
    assert list(csv.DictReader(io.StringIO(answer.body.decode()))) == [
        {
            "date": "2025-01-06",
            "open": "51",
            "high": "",
            "low": "",
            "close": "50.5",
            "volume": "3000",
            "adj_close": "50.5",
            "adj_close_reason": "",
            "split_factor": "2",
            "dividend": "",
            "volume_exact": "3000",
            "price_doubt": "",
        }
    ]
    assert (answer.headers["x-has-more"], answer.headers["x-next-cursor"]) == ("true", "2025-01-06")


def test_missing_prices_are_404_and_free(get_prices: Any) -> None:
    without_prices, unknown = get_prices("1"), get_prices("NOPE")
    assert without_prices.verdict == (404, "NOT_COVERED", "finapi has no prices for this company.")
    assert unknown.verdict == (404, "UNKNOWN_TICKER", "No company with the ticker or CIK NOPE is known.")
    assert without_prices.headers["x-tokens-charged"] == unknown.headers["x-tokens-charged"] == "0"


@run_each_case("cursor", ["x", "0001-01-01", "2025-13-01", "20250101x"])
def test_invalid_cursor_is_refused(get_prices: Any, cursor: str) -> None:
    answer = get_prices("BRK-B", query={"cursor": cursor})
    assert (answer.status, answer.json["details"]["param"]) == (400, "cursor")


def test_demo_prices_are_marked_as_synthetic(app: App, client: Client, user: NewUser) -> None:
    assert demo_prices.store_prices(app) > 4_000
    assert demo_prices.store_prices(app) == 0
    client.key = user.api_key
    answer = client.get(PATH + "NFLX", query={"from": "2024-06-28", "to": "2024-07-01"}).json
    assert (answer["meta"]["source"], answer["meta"]["synthetic"]) == ("synthetic", True)
    after, before = answer["data"]
    assert (after["split_factor"], after["date"]) == (2, "2024-07-01")
    # The close as traded halves at the split; the adjusted close continues.
    assert 1.9 < before["close"] / after["close"] < 2.1
    assert before["adj_close"] == before["close"] / 2
