"""Windows of days that limit lists.

A window in the call replaces the default one. ``meta`` states the window that was used, and the number of rows that
were left out because they have no date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar import ownership_forms
from finapi.market.documents import filing_store as documents
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, LISTED_RANK, FilingMetadata, Party
from finapi.market.insiders import insider_store
from finapi.web.http.route import INSIDERS
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED, ONE_OF, World, example_call
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import june, take
from tests.support.insider_market import get, list_shares, store_market
from tests.support.ownership_xml import BEN, form, owner, transaction
from tests.support.raw_sql import run_sql
from tests.web.test_paging import PATHS, ROUTE_OF, get_rows

TRADES = "/transactions/by-ticker/BRK-B"
# The members of ``meta`` for a call that used no window.
UNUSED = {"filed_at_days": None, "transaction_days": None, "undated_left_out": 0, "clamped": {}}


@pytest.fixture(scope="module")
def stored_market(make_stored: Callable[..., App]) -> App:
    """Store the invented market, with a form without a filing day and a purchase without a date."""
    app = make_stored()
    store_market(app)
    forms = [
        (form(transaction("P", "7", "10", date="2026-01-29"), period="2026-01-29"), "0001234567-26-000006", None),
        (
            form(transaction("P", "9", "10", date="2025-12-01"), period="2025-12-01", owners=(owner(BEN),)),
            "0001234567-26-000007",
            "2026-01-28",
        ),
    ]
    with app.db.write() as tx:
        for data, accession, filed in forms:
            insider_store.upsert_form(
                tx,
                ownership_forms.parse(data, accession),
                FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed),
                NOW,
            )
        run_sql(tx, "UPDATE insider_transactions SET date = NULL WHERE shares = '9'")
        tx.run("bump_data_version")
    return app


@pytest.fixture
def market(copied: Callable[..., App], stored_market: App) -> App:
    return copied(stored_market, insider_per_minute_paid=100_000)


@pytest.fixture
def api(market: App) -> Client:
    return Client(market, users.create(market, "ann@example.com", "pro", NOW).api_key)


def window_members(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: meta[name] for name in UNUSED}


@run_each_case(
    "window, shares, used",
    [
        ({}, [9, 200, 50], {"filed_at_days": 7, "undated_left_out": 1}),
        ({"transaction_days": 12}, [200, 50, 100, 7], {"transaction_days": 12, "undated_left_out": 1}),
        (
            {"transaction_days": 9, "filed_at_days": 30},
            [200],
            {"transaction_days": 9, "filed_at_days": 30, "undated_left_out": 2},
        ),
        ({"filed_at_days": 4}, [9], {"filed_at_days": 4, "undated_left_out": 1}),
        ({"filed_at_days": 36500}, [9, 200, 50, 100, 10, 7], {"filed_at_days": 36500}),
        ({"transaction_days": 400}, [200, 50, 100, 10, 7], {"transaction_days": 400, "undated_left_out": 1}),
        (
            {"filed_at_days": 99999},
            [9, 200, 50, 100, 10, 7],
            {"filed_at_days": 36500, "clamped": {"filed_at_days": "99999"}},
        ),
        (
            {"transaction_days": -1},
            [],
            {"transaction_days": 0, "clamped": {"transaction_days": "-1"}, "undated_left_out": 1},
        ),
    ],
)
def test_a_window_replaces_the_default_and_meta_states_it(
    api: Client, window: dict[str, int], shares: list[int], used: dict[str, Any]
) -> None:
    answer = get(api, TRADES, **window)
    assert list_shares(answer) == shares
    assert answer["meta"]["pagination"]["total"] == len(shares)
    assert window_members(answer["meta"]) == UNUSED | used
    searched = get(api, "/transactions/search", query="brook", **window)
    assert (list_shares(searched), window_members(searched["meta"])) == (shares, UNUSED | used)


def test_left_out_rows_are_counted_within_the_other_filters(api: Client) -> None:
    assert get(api, TRADES, standard_type="sale")["meta"]["undated_left_out"] == 0
    assert get(api, "/transactions/search", query="brook", min_value=71)["meta"]["undated_left_out"] == 0
    assert get(api, "/transactions/by-ticker/SHBK")["meta"]["undated_left_out"] == 0


@pytest.mark.parametrize(
    ("window", "count", "left_out"),
    [({}, 3, 0), ({"from_date": "2020-01-01"}, 2, 1), ({"to_date": "2026-01-21"}, 1, 1)],
)
def test_undated_transactions_of_an_insider_are_in_no_window(
    api: Client, window: dict[str, str], count: int, left_out: int
) -> None:
    answer = get(api, f"/transactions/by-insider/{BEN[0]}", **window)
    assert len(answer["data"]) == count
    meta = {name: answer["meta"][name] for name in ("from_date", "to_date", "undated_left_out")}
    assert meta == {"from_date": None, "to_date": None, **window, "undated_left_out": left_out}


def test_a_summary_counts_the_undated_trades_it_leaves_out(api: Client) -> None:
    answer = get(api, "/summary/by-ticker/BRK-B")
    assert answer["data"]["total_transactions"] == 3
    unused = UNUSED | dict.fromkeys(("from_date", "to_date", "filed_from", "filed_to", "quarter"))
    assert answer["meta"] == {**unused, "filed_at_days": 7, "days": None, "undated_left_out": 1}
    answer = get(api, "/summary/by-ticker/BRK-B", days=12)
    assert answer["data"]["total_transactions"] == 4
    assert answer["meta"] == {**unused, "transaction_days": 12, "days": 12, "undated_left_out": 1}
    assert get(api, "/summary/by-ticker/BRK-B", filed_at_days=36500)["meta"]["undated_left_out"] == 0


@run_each_case(
    "window, used, trades",
    [
        ({}, {"filed_at_days": 7, "undated_left_out": 1}, 3),
        ({"transaction_days": 12}, {"transaction_days": 12, "filed_at_days": 12, "undated_left_out": 2}, 3),
        ({"transaction_days": 900}, {"transaction_days": 900, "filed_at_days": 366, "undated_left_out": 2}, 4),
        ({"filed_at_days": 900}, {"filed_at_days": 366, "clamped": {"filed_at_days": "900"}, "undated_left_out": 1}, 5),
    ],
)
def test_sums_over_companies_state_their_window_of_filing_days(
    api: Client, window: dict[str, int], used: dict[str, Any], trades: int
) -> None:
    answer = get(api, "/screen", **window)
    (lamps,) = [row for row in answer["results"] if row["ticker"] == "BRK-B"]
    assert lamps["total_transactions"] == trades
    assert window_members(answer["meta"]) == UNUSED | used
    assert "clamped" not in answer["meta"]["filters_applied"] or used["clamped"]
    groups = get(api, "/aggregation/by-sector", **(window or {"filed_at_days": 7}))
    assert window_members(groups["meta"]) == UNUSED | used


def test_market_totals_state_the_number_of_left_out_rows(api: Client) -> None:
    totals = get(api, "/stats/global", days=30)
    assert (totals["days"], totals["period_days"], totals["undated_left_out"], totals["clamped"]) == (30, 30, 1, {})
    assert get(api, "/stats/global", days=999)["clamped"] == {"days": "999"}
    assert get(api, "/recommendations/daily")["meta"]["undated_left_out"] == 1


@pytest.mark.parametrize("accept", ["application/json", "text/csv", "application/x-ndjson"])
def test_answers_without_meta_state_their_window_in_a_header(api: Client, accept: str) -> None:
    answer = api.get(f"{INSIDERS}/clusters?min_insiders=2", headers={"Accept": accept})
    assert answer.headers["x-window"] == "days=30, undated_left_out=1, doubtful_left_out=0"
    if accept != "application/json":
        answer = api.get(f"{INSIDERS}{TRADES}", headers={"Accept": accept})
        assert answer.headers["x-window"] == "filed_at_days=7, undated_left_out=1"


@pytest.mark.parametrize("path", ["/filings/latest", "/filings/by-ticker/BRK-B"])
def test_forms_without_a_filing_day_are_in_no_window(api: Client, path: str) -> None:
    names = ("from_date", "to_date", "undated_left_out", "clamped")
    meta = get(api, path)["meta"]
    assert [meta[name] for name in names] == [None, None, 0, {}]
    since = get(api, path, from_date="2026-01-01")["meta"]
    assert [since[name] for name in names] == ["2026-01-01", None, 1, {}]
    assert get(api, path, from_date="2026-01-01", form_type="5")["meta"]["undated_left_out"] == 0


@run_each_case(
    "query, left_out",
    [("", 0), ("from_date=2026-01-01", 3), ("to_date=2026-01-01&form_type=10-K", 1), ("from_date=2026-01-01&cik=5", 1)],
)
def test_filings_without_a_day_are_in_no_window(api: Client, query: str, left_out: int) -> None:
    with api.app.db.write() as tx:
        for number, (cik, type) in enumerate([(5, "10-K"), (6, "8-K")], 1):
            metadata = FilingMetadata(
                f"0000000005-26-00000{number}",
                DOCUMENT_EVIDENCE,
                form=type,
                parties=(Party(cik, LISTED_RANK, f"Company {cik}"),),
            )
            documents.upsert(tx, metadata, NOW)
    meta = api.get(f"/api/v1/sec/filings?{query}").json["meta"]
    arguments = dict(part.split("=") for part in query.split("&") if part)
    expected = {
        "from_date": arguments.get("from_date"),
        "to_date": arguments.get("to_date"),
        "undated_left_out": left_out,
        "clamped": {},
    }
    assert {name: meta[name] for name in expected} == expected
    assert api.get(f"/api/v1/filings?{query}").json["meta"] == expected


def test_fund_reports_without_a_day_are_after_no_day(api: Client, tmp_path: Path) -> None:
    take(api.app, tmp_path, june())
    with api.app.db.write() as tx:
        run_sql(tx, "UPDATE holdings_reports SET filed_at = ''")
    for query, count, left_out in (
        ("", 1, 0),
        ("?since=", 1, 0),
        ("?since=2020-01-01", 0, 1),
        ("?since=2020-01-01&cik=5", 0, 0),
    ):
        answer = api.get(f"/api/v1/form-13f/latest{query}").json
        assert (len(answer["data"]), answer["meta"]["undated_left_out"]) == (count, left_out)
        assert answer["meta"]["since"] == ("2020-01-01" if "2020" in query else None)


# ---- the demo, whose documents are years old


@pytest.fixture(scope="module")
def demo() -> Iterator[Client]:
    """Return a client of the demo's data and settings, years after its newest document."""
    clock = FixedClock(datetime(2031, 11, 20, 12, tzinfo=UTC))
    app = apps.create_in_memory(Config(**LIFTED, default_windows="all"), clock)
    yield Client(app, World(app).key)
    app.db.close()


# Lists that are empty in the demo. Its schedules are about a company that has neither a ticker nor an industry.
# Its forms have no purchases on the market, and no two insiders of the same company. It has one quarter of each
# fund, and no two funds of the same quarter.
NOT_IN_THE_DEMO = {
    *("get_insiders_clusters", "get_insiders_transactions_top"),
    *("get_form_13f_moves", "get_form_13f_overlap", "get_form_13f_cross_filing_signals"),
    *(f"get_ownership_aggregation_by_{group}" for group in ("ticker", "sector", "industry")),
}
LISTS = [
    name for name, route in sorted(ROUTE_OF.items()) if route.lists and route.method == "GET" and route.auth == "key"
]


@run_each_case("name", LISTS)
def test_no_default_call_of_the_demo_is_empty(demo: Client, name: str) -> None:
    route = ROUTE_OF[name]
    operation = PATHS[route.path]["get"]
    target, _ = example_call(operation, route.path, ONE_OF.get(name, {}))
    answer = demo.get(target)
    assert answer.status == 200, answer.body
    assert bool(get_rows(name, answer.json)) == (name not in NOT_IN_THE_DEMO)


def test_no_default_sum_of_the_demo_is_empty(demo: Client) -> None:
    assert demo.get(f"{INSIDERS}/stats/global").json["top_tickers"][0]["ticker"] is not None
    assert demo.get(f"{INSIDERS}/summary/by-ticker/AAPL").json["data"]["total_transactions"] == 7


def test_without_default_windows_document_and_meta_have_none(demo: Client) -> None:
    items = demo.get("/openapi.json").json["paths"].values()
    operations = [operation for item in items for operation in item.values()]
    params = [param for operation in operations for param in operation.get("parameters", ()) if "name" in param]
    names = {param["name"] for param in params if "default" in param["schema"] and param["name"].endswith("days")}
    assert names == {"days"}  # These are the days of an account's usage, and of the status.
    meta = demo.get(f"{INSIDERS}/transactions/by-ticker/AAPL").json["meta"]
    assert window_members(meta) == UNUSED
    answer = demo.get(f"{INSIDERS}/transactions/by-ticker/AAPL?filed_at_days=7").json
    assert (answer["data"], answer["meta"]["filed_at_days"], answer["meta"]["undated_left_out"]) == ([], 7, 0)
