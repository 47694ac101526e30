"""Answers about changes are the same in a world with a split and in one without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED
from tests.market.holdings.test_holdings_store import TICKERS
from tests.support.fund_filings import submission, take
from tests.support.thirteenf_xml import APPLE, LAMP_FUND, MICROSOFT, OTHER_FUND

# Ten Apple shares become a hundred; the other fund sells half, a third one leaves.
SPLIT = b"ticker,date,close,stock splits\nAAPL,2025-08-19,2500,\nAAPL,2025-08-20,250,10:1\n"
PRICES = b"ticker,date,close,stock splits\nAAPL,2025-08-19,250,\nAAPL,2025-08-20,250,\n"
FUNDS = (
    (LAMP_FUND, "Lamp Capital", 10, 100),
    (OTHER_FUND, "Shade", 40, 200),
    ("0009999999", "Wick", 3, 0),
)
ROUTES = (
    "/form-13f/fund/1234567?status=all&include_activity=true&include_analytics=true",
    "/form-13f/fund/7654321?include_activity=true",
    "/form-13f/fund/9999999?status=closed",
    "/form-13f/fund/7654321?sort_by=change",
    "/form-13f/fund/7654321/holdings-analytics",
    "/tickers/AAPL/holders?status=decreased",
    "/tickers/AAPL/holders?status=increased",
    "/tickers/AAPL/holders?status=unchanged&quarters=1",
    "/tickers/AAPL/fund-trends",
    "/form-13f/moves?status=decreased",
    "/form-13f/moves?status=increased",
    "/form-13f/moves?status=closed",
    "/form-13f/overlap?ciks=1234567,7654321",
    "/form-13f/latest",
    "/form-13f/aggregation/by-ticker?quarter=2025-09-30",
    "/form-13f/aggregation/by-sector?quarter=2025-09-30",
    "/form-13f/aggregation/by-industry?quarter=2025-09-30",
    "/form-13f/aggregation/basket-holdings?ciks=1234567,7654321&period=2025-09-30",
    "/form-13f/fund-performance?quarter=2025-12-31&include_all=true",
    "/form-13f/market-rotation?quarter=2025-09-30",
    "/form-13f/cross-filing-signals?quarter=2025-09-30&min_fund_flow=-1000000",
)
# Members that describe the split, or that differ for each call.
IGNORED_MEMBERS = {"split_factor", "split_source", "request_id", "timestamp", "parsed_at", "generated_at"}


def world(make_app: Callable[..., App], folder: Path, *, split: bool) -> Client:
    app, factor = make_app(**LIFTED), 1 if split else 10
    papers = []
    for number, (cik, name, before, now) in enumerate(FUNDS, 1):
        june = [(APPLE, before * 2500, before * factor), (MICROSOFT, 5_000, 10)]
        september = [(APPLE, now * 250, now)] * (now > 0) + [(MICROSOFT, 5_000, 10)]
        for index, quarter in enumerate((("06-30-2025", "2025-08-14", june), ("09-30-2025", "2025-11-14", september))):
            papers.append(submission(2 * number + index, quarter, cik=cik, name=name))
    folder.mkdir()
    take(app, folder, TICKERS, *papers, SPLIT if split else PRICES)
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def without(value: Any, members: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: without(member, members) for name, member in value.items() if name not in members}
    return [without(element, members) for element in value] if isinstance(value, list) else value


@pytest.fixture
def worlds(make_app: Callable[..., App], tmp_path: Path) -> tuple[Client, Client]:
    return (world(make_app, tmp_path / "split", split=True), world(make_app, tmp_path / "none", split=False))


def test_changes_are_the_same_with_and_without_a_split(worlds: tuple[Client, Client]) -> None:
    wrong = list[str]()
    for path in ROUTES:
        answers = [client.get(f"/api/v1{path}") for client in worlds]
        assert [answer.status for answer in answers] == [200, 200], (path, answers[0].json)
        adjusted_members = IGNORED_MEMBERS | {"total_shares"} if "fund-trends" in path else IGNORED_MEMBERS
        split, none = (without(answer.json, adjusted_members) for answer in answers)
        wrong += [f"{path}: {line}" for line in _differing(split, none)]
    assert wrong == []


def test_a_basket_has_split_factors_in_both_directions(worlds: tuple[Client, Client]) -> None:
    path = "/api/v1/form-13f/aggregation/basket-holdings?ciks=1234567,7654321"
    for query, expected in (
        ("&period=2025-09-30", (300, "decreased", -200, 10)),
        ("&period=2025-06-30&compare_period=2025-09-30", (50, "increased", 20, 0.1)),
    ):
        apple = next(
            position for position in worlds[0].get(path + query).json["positions"] if position["ticker"] == "AAPL"
        )
        assert tuple(apple[name] for name in ("shares", "change_type", "share_change", "split_factor")) == expected
    plain = worlds[1].get(f"{path}&period=2025-09-30").json["positions"]
    assert {position["split_factor"] for position in plain} == {None}


def _differing(first: Any, second: Any, path: str = "") -> list[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        return [line for name in first for line in _differing(first[name], second.get(name), f"{path}.{name}")]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [
            line
            for at, pair in enumerate(zip(first, second, strict=True))
            for line in _differing(*pair, f"{path}[{at}]")
        ]
    return [] if first == second else [f"{path}: {first} is not {second}"]
