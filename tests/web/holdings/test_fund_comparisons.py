"""Comparisons of funds: the largest moves of a quarter, overlaps, closed positions and other managers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi.accounts import users
from finapi.app import App
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import fund_filings, thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import submission, take
from tests.support.thirteenf_xml import ALLY, APPLE, MICROSOFT, OTHER_FUND
from tests.web.holdings.test_form13f_api import MAPPING, SUBMISSIONS, TICKERS

API = "/api/v1/form-13f"
SHAPES = {route.path: route.schema for route in ROUTES if route.shape is not None}


@pytest.fixture(scope="module")
def stored_app(make_stored: Callable[..., App], tmp_path_factory: pytest.TempPathFactory) -> App:
    app = make_stored(**ACCOUNTS)
    numbered = thirteenf_xml.row(ALLY, 80, 2, otherManager="1,7")
    september = submission(2, fund_filings.SEPTEMBER, extra=numbered, managers=["Wick LLC"])
    shade = {"cik": OTHER_FUND, "name": "Shade Partners"}
    june = submission(4, ("06-30-2025", "2025-08-12", [(MICROSOFT, 1_000, 2)]), **shade)
    forms = tmp_path_factory.mktemp("forms")
    take(
        app, forms, TICKERS, SUBMISSIONS, MAPPING, fund_filings.june(), september, june, fund_filings.other_submission()
    )
    return app


@pytest.fixture
def api(copied: Callable[..., App], stored_app: App) -> Client:
    app = copied(stored_app, **ACCOUNTS)
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def get_valid_json(api: Client, path: str) -> Any:
    answer = api.get(API + path)
    assert answer.status == 200, answer.body
    Draft202012Validator(SHAPES[API + path.partition("?")[0]]).validate(answer.json)
    return answer.json


def test_the_largest_moves_of_all_funds_come_first(api: Client) -> None:
    closed = get_valid_json(api, "/moves?status=closed&period=2025-09-30")["moves"]
    assert [(fund["fund"], fund["cusip"], fund["flow_usd"]) for fund in closed] == [
        ("Shade Partners", MICROSOFT, -1000)
    ]
    columns = ("shares", "previous_shares", "value_usd", "previous_value_usd", "previous_pct_of_portfolio")
    assert [closed[0][name] for name in columns] == [0, 2, 0, 1000, 100]
    decreased = get_valid_json(api, "/moves?status=decreased")["moves"]
    assert [(fund["cusip"], fund["flow_usd"], fund["change_pct"]) for fund in decreased] == [
        (MICROSOFT, -2500, -50),
        (ALLY, -320, -80),
    ]
    all_funds, of_one = (
        get_valid_json(api, path)["meta"]["compared_funds"] for path in ("/moves", "/moves?cik=1234567")
    )
    assert (all_funds, of_one) == (2, 1)
    (new,) = get_valid_json(api, "/moves")["moves"]
    assert (new["fund"], new["ticker"], new["pct_of_portfolio"]) == ("Shade Partners", "AAPL", 100)


def test_moves_have_pages_and_a_fund_filter(api: Client) -> None:
    fund, second_page = (get_valid_json(api, f"/moves?status=decreased&limit=1&offset={first}") for first in (0, 1))
    assert [page["meta"]["has_more"] for page in (fund, second_page)] == [True, False]
    assert fund["moves"] + second_page["moves"] == get_valid_json(api, "/moves?status=decreased")["moves"]
    assert get_valid_json(api, "/moves?status=decreased&cik=7654321")["moves"] == []
    assert [row["flow_usd"] for row in get_valid_json(api, "/moves?status=increased&cik=1234567")["moves"]] == [1250]


def test_overlap_is_the_smaller_percentage_of_each_security(api: Client) -> None:
    answer = get_valid_json(api, "/overlap?ciks=1234567,7654321&period=2025-09-30")
    # 3,750 of 6,330 dollars are Apple here, all of 250 there.
    assert (answer["overlap_pct"], answer["meta"]["pagination"]["total"]) == (59.2417, 1)
    assert [(fund["name"], fund["shared_pct"]) for fund in answer["funds"]] == [
        ("Lamp Capital LP", 59.2417),
        ("Shade Partners", 100),
    ]
    assert get_valid_json(api, "/overlap?ciks=1234567,7654321&period=2025-06-30")["overlap_pct"] == 63.2911


def test_two_funds_are_compared_in_one_quarter(api: Client, tmp_path: Path) -> None:
    later = submission(7, ("12-31-2025", "2026-01-20", [(ALLY, 400, 10)]))
    lonely = submission(8, ("03-31-2025", "2025-05-10", [(ALLY, 40, 1)]), cik="0009999999", name="Third")
    take(api.app, tmp_path, later, lonely)
    assert {fund["period"] for fund in get_valid_json(api, "/overlap?ciks=1234567,7654321")["funds"]} == {"2025-09-30"}
    # Funds without a common quarter are compared with their own latest quarters.
    apart = get_valid_json(api, "/overlap?ciks=1234567,9999999")["funds"]
    assert [fund["period"] for fund in apart] == ["2025-12-31", "2025-03-31"]
    assert api.get(f"{API}/overlap?ciks=1234567,5").status == 404


def test_overlap_requires_two_managers(api: Client) -> None:
    assert get_valid_json(api, "/overlap?ciks=1234567&ciks=7654321&period=2025-09-30")["overlap_pct"] == 59.2417
    assert api.get(f"{API}/overlap?ciks=1234567").json["message"] == "ciks must be 2 values separated by commas."


def test_a_holding_names_its_other_managers(api: Client) -> None:
    rows = {fund["cusip"]: fund for fund in api.get(f"{API}/fund/1234567").json["holdings"]}
    assert (rows[ALLY]["other_managers"], rows[ALLY]["other_manager_names"]) == (
        "1,7",
        ["Wick LLC", None],
    )
    assert rows[APPLE]["previous_value_usd"] == 2500
    (closed,) = api.get(f"{API}/fund/7654321?status=closed").json["holdings"]
    assert (closed["value_usd"], closed["previous_value_usd"]) == (0, 1000)


@run_each_case(
    "path, status, param",
    [
        ("/moves?status=all", 400, "status"),
        ("/moves?period=2025-09-29", 400, "period"),
        ("/moves?cik=99", 404, None),
        ("/moves?offset=-1", 400, "offset"),
        ("/overlap", 400, "ciks"),
        ("/overlap?ciks=1234567", 400, "ciks"),
        ("/overlap?ciks=1234567,1234567", 400, "ciks"),
        ("/overlap?ciks=1234567,0001234567", 400, "ciks"),
        ("/overlap?ciks=1234567,7654321,9", 400, "ciks"),
        ("/overlap?ciks=1234567,99", 404, None),
        ("/overlap?ciks=1234567,x", 400, "ciks"),
    ],
)
def test_refusals_name_the_parameter_and_cost_nothing(api: Client, path: str, status: int, param: str | None) -> None:
    answer = api.get(API + path)
    assert (answer.status, answer.headers["x-tokens-charged"]) == (status, "0"), answer.body
    if param:
        assert answer.json["details"]["param"] == param


def test_no_reports_and_quarters_without_reports_differ(api: Client, make_app: Any) -> None:
    none = get_valid_json(api, "/moves?period=2024-12-31")
    assert (none["moves"], none["meta"]["compared_funds"]) == ([], 0)
    first = get_valid_json(api, "/moves?cik=1234567&period=2025-06-30")
    assert (first["moves"], first["meta"]["changes"]["reason"]) == ([], "previous_quarter_not_held")
    assert first["meta"]["compared_funds"] == 0
    empty = make_app(**ACCOUNTS)
    asker = Client(empty, users.create(empty, "ann@example.com", "pro", NOW).api_key)
    assert asker.get(API + "/moves").status == 404
