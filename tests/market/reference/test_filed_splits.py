"""Splits reported by the issuer's filings, applied to funds' holdings without any price file."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.intake import latest_years_work
from finapi.market.reference.share_splits import FROM_PRICES, HoldingValue, LikelySplit
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import fund_filings as ours
from tests.support import thirteenf_xml as made
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts
from tests.support.fund_filings import submission, take
from tests.support.slow_cases import slow_except_every

TICKERS = b'{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."}}'
FIRST, LAST, AMENDMENT = "0000320193-25-000073", "0000320193-25-000079", "0000320193-25-000081"
FILED = {FIRST: ("10-Q", "2025-08-01"), LAST: ("10-Q", "2025-10-31"), AMENDMENT: ("10-Q/A", "2025-11-10")}
# The fund had 10 shares of 250 dollars in June.
FALLEN = ("09-30-2025", "2025-11-14", [(made.APPLE, 2_500, 100), (made.MICROSOFT, 2_500, 5)])
RISEN = ("09-30-2025", "2025-11-14", [(made.APPLE, 25_000, 100), (made.MICROSOFT, 2_500, 5)])
CLOSED = ("09-30-2025", "2025-11-14", [(made.MICROSOFT, 2_500, 5)])
PRICE = b"ticker,date,close,stock splits\nAAPL,2025-08-19,250,\nAAPL,2025-08-20,25,10:1\n"


ORIGINAL_FIGURES = ((1000, 2.5), (10_000, 0.25))


def facts(*figures: tuple[int, float], day: str | None = None) -> bytes:
    """Return companyfacts with shares and EPS of a year as each filing reports them, and a split ratio with a day."""
    rows: list[tuple[str, str, dict[str, Any]]] = []
    for (accession, (form, filed)), (shares, earnings_per_share) in zip(
        FILED.items(), figures or ORIGINAL_FIGURES, strict=False
    ):
        filing_fields = {"accn": accession, "form": form, "filed": filed, "fy": 2025, "fp": "Q3"}
        period = {"start": "2024-01-01", "end": "2024-12-31", **filing_fields}
        rows += [
            ("us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding", "shares", {**period, "val": shares}),
            ("us-gaap:EarningsPerShareDiluted", "USD/shares", {**period, "val": earnings_per_share}),
        ]
    if day:
        tag = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"
        rows.append((tag, "pure", {"end": day, **filing_fields, "val": 10}))
    return build_companyfacts(320193, "Apple Inc.", rows)


@pytest.fixture
def build_client(make_app: Callable[..., App], tmp_path: Path) -> Callable[..., Callable[..., Any]]:
    """Return a function that ingests documents one by one and returns a function for requests."""

    def ask(*documents: bytes) -> Callable[..., Any]:
        app = make_app(**ACCOUNTS)
        for number, content in enumerate(documents):
            folder = tmp_path / str(number)
            folder.mkdir(exist_ok=True)
            take(app, folder, content)
            latest_years_work.compute_all_latest_years(app)
        client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
        return lambda path, **query: client.get("/api/v1" + path, query=query).json

    return ask


def get_apple_change(ask: Callable[..., Any]) -> tuple[Any, ...]:
    rows = ask("/form-13f/fund/1234567", status="all")["holdings"]
    row = next((holding for holding in rows if holding["cusip"] == made.APPLE), None)
    row = row or next(holding for holding in ask("/form-13f/fund/1234567", status="closed")["holdings"])
    return tuple(row[name] for name in ("status", "previous_shares", "change_shares", "split_factor", "split_source"))


DOCUMENTS = (facts(), ours.june(), submission(2, FALLEN), TICKERS)


@pytest.mark.parametrize(
    "order", slow_except_every(5, itertools.permutations(range(4))), ids=lambda order: "".join(map(str, order))
)
def test_a_filed_split_is_not_a_purchase_in_any_loading_order(
    build_client: Callable[..., Any], order: tuple[int, ...]
) -> None:
    ask = build_client(*(DOCUMENTS[index] for index in order))
    assert get_apple_change(ask) == ("unchanged", 100, 0, 10, LAST)


def test_every_endpoint_of_changes_names_split_and_filing(build_client: Callable[..., Any]) -> None:
    ask = build_client(*DOCUMENTS)
    counts = ask("/form-13f/fund/1234567")["meta"]["counts"]
    assert (counts["increased"], counts["unchanged"], counts["decreased"]) == (0, 1, 1)
    (holder,) = ask("/tickers/AAPL/holders")["data"]["holders"]
    names = ("status", "previous_shares", "chg_shares", "split_factor", "split_source")
    assert [holder[name] for name in names] == ["unchanged", 100, 0, 10, LAST]
    trend = ask("/tickers/AAPL/fund-trends")["data"]["quarters"]
    assert [(quarter["total_shares"], quarter["share_change"], quarter["fund_flow"]) for quarter in trend] == [
        (100, 0, 0),
        (10, None, None),
    ]
    assert [move["cusip"] for move in ask("/form-13f/moves", status="increased")["moves"]] == []
    history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")
    assert history["splits"] == [{"date": None, "ratio": 10, "source": LAST}]
    fields = ("quarter_date", "shares", "shares_raw", "shares_delta", "split_factor", "split_source")
    assert [tuple(quarter[name] for name in fields) for quarter in history["history"]] == [
        ("2025-09-30", 100, 100, 0, 10, LAST),
        ("2025-06-30", 100, 10, None, None, None),
    ]


def test_a_split_not_visible_in_prices_is_in_another_quarter(build_client: Callable[..., Any]) -> None:
    ask = build_client(facts(), ours.june(), submission(2, RISEN), TICKERS)
    assert get_apple_change(ask) == ("increased", 10, 90, None, None)
    # The split may have been on any day up to the filing that reports it, so it may be after September.
    history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")["history"]
    assert [(quarter["shares"], quarter["shares_raw"]) for quarter in history] == [(1000, 100), (100, 10)]


@pytest.mark.parametrize("day", ["2025-08-20", None])
def test_a_closed_position_is_split_only_with_a_known_day(build_client: Callable[..., Any], day: str | None) -> None:
    ask = build_client(facts(day=day), ours.june(), submission(2, CLOSED), TICKERS)
    rows = ask("/form-13f/fund/1234567", status="closed")["holdings"]
    row = next(holding for holding in rows if holding["cusip"] == made.APPLE)
    assert (row["previous_shares"], row["split_factor"]) == ((100, 10) if day else (10, None))


@pytest.mark.parametrize(
    ("amended", "expected"),
    [
        ((1000, 2.5), ("increased", 10, 90, None, None)),
        ((5000, 0.5), ("increased", 50, 50, 5, AMENDMENT)),
        ((10_000, 0.25), ("unchanged", 100, 0, 10, LAST)),
    ],
    ids=["taken back", "another factor", "told again"],
)
def test_an_amendment_can_revoke_a_split(
    build_client: Callable[..., Any], amended: tuple[int, float], expected: tuple[Any, ...]
) -> None:
    assert get_apple_change(build_client(*DOCUMENTS, facts(*ORIGINAL_FIGURES, amended))) == expected
    assert get_apple_change(build_client(facts(*ORIGINAL_FIGURES, amended), *DOCUMENTS)) == expected


def test_a_split_in_a_price_file_replaces_filed_splits(build_client: Callable[..., Any]) -> None:
    for documents in ((*DOCUMENTS, PRICE), (PRICE, *DOCUMENTS)):
        ask = build_client(*documents)
        assert get_apple_change(ask) == ("unchanged", 100, 0, 10, "prices")
        history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")
        assert history["splits"] == [{"date": "2025-08-20", "ratio": 10, "source": "prices"}]


def test_market_value_includes_a_split_after_the_quarter(build_client: Callable[..., Any]) -> None:
    quarter = ("09-30-2025", "2025-11-14", [(made.APPLE, 2_500, 10)])
    closes = b"ticker,date,close\nAAPL,2025-11-19,30\n"
    ask = build_client(facts(day="2025-10-15"), ours.june(), submission(2, quarter), TICKERS, closes)
    (row,) = ask("/form-13f/fund/1234567/holdings-analytics")["holdings"]
    names = ("shares", "shares_raw", "split_factor", "split_source", "market_value")
    assert [row[name] for name in names] == [100, 10, 10, LAST, 3_000]


# ---- the rule


def likely(factor: str, *, placed: bool = False, source: str = LAST) -> LikelySplit:
    return LikelySplit(Decimal(factor), source, placed)


@run_each_case(
    "split, before, now, lies",
    [
        (likely("4"), HoldingValue(1000, 10), HoldingValue(1000, 40), True),
        (likely("4"), HoldingValue(1000, 10), HoldingValue(1300, 40), True),  # The price also rose by 30 %.
        (likely("4"), HoldingValue(1000, 10), HoldingValue(900, 10), False),
        (likely("4", placed=True), HoldingValue(1000, 10), HoldingValue(900, 10), False),
        (likely("0.1"), HoldingValue(100, 100), HoldingValue(60, 10), True),
        (likely("0.1"), HoldingValue(100, 100), HoldingValue(200, 100), False),
        # Without values only the day decides, and so it does for a split as small as a normal market move.
        (likely("4", placed=True), HoldingValue(1000, 10), HoldingValue(0, 0), True),
        (likely("4"), HoldingValue(1000, 10), HoldingValue(0, 0), False),
        (likely("1.5"), HoldingValue(150, 10), HoldingValue(100, 10), False),
        (likely("1.5", placed=True), HoldingValue(150, 10), HoldingValue(160, 10), True),
        (likely("4", source=FROM_PRICES, placed=True), HoldingValue(1000, 10), HoldingValue(4000, 40), True),
    ],
)
def test_the_values_of_a_holding_reveal_a_split(
    split: LikelySplit, before: HoldingValue, now: HoldingValue, lies: bool
) -> None:
    assert split.is_between(before, now) is lies
