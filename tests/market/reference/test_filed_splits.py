"""Splits that the issuer's own filings tell, in funds' holdings; no file of prices is needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.reference.share_splits import FROM_PRICES, HoldingValue, LikelySplit
from finapi.web.financials import screen
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import fund_filings as ours
from tests.support import thirteenf_xml as made
from tests.support.figures import build_companyfacts
from tests.support.fund_filings import submission, take

TICKERS = b'{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."}}'
FIRST, LAST, AMENDMENT = "0000320193-25-000073", "0000320193-25-000079", "0000320193-25-000081"
FILED = {FIRST: ("10-Q", "2025-08-01"), LAST: ("10-Q", "2025-10-31"), AMENDMENT: ("10-Q/A", "2025-11-10")}
# June had 10 shares of 250 dollars.
FALLEN = ("09-30-2025", "2025-11-14", [(made.APPLE, 2_500, 100), (made.MICROSOFT, 2_500, 5)])
RISEN = ("09-30-2025", "2025-11-14", [(made.APPLE, 25_000, 100), (made.MICROSOFT, 2_500, 5)])
CLOSED = ("09-30-2025", "2025-11-14", [(made.MICROSOFT, 2_500, 5)])
PRICE = b"ticker,date,close,stock splits\nAAPL,2025-08-19,250,\nAAPL,2025-08-20,25,10:1\n"


AS_TOLD = ((1000, 2.5), (10_000, 0.25))


def facts(*told: tuple[int, float], day: str | None = None) -> bytes:
    """Shares and earnings of one of a year as filings tell them, and a ratio that the last tags with a day."""
    rows: list[tuple[str, str, dict[str, Any]]] = []
    for (accession, (form, filed)), (shares, each) in zip(FILED.items(), told or AS_TOLD, strict=False):
        of = {"accn": accession, "form": form, "filed": filed, "fy": 2025, "fp": "Q3"}
        period = {"start": "2024-01-01", "end": "2024-12-31", **of}
        rows += [
            ("us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding", "shares", {**period, "val": shares}),
            ("us-gaap:EarningsPerShareDiluted", "USD/shares", {**period, "val": each}),
        ]
    if day:
        tag = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"
        rows.append((tag, "pure", {"end": day, **of, "val": 10}))
    return build_companyfacts(320193, "Apple Inc.", rows)


@pytest.fixture
def told(make_app: Callable[..., App], tmp_path: Path) -> Callable[..., Callable[..., Any]]:
    """Documents taken one after another, figures kept after each; asks about them."""

    def ask(*documents: bytes) -> Callable[..., Any]:
        app = make_app(**ACCOUNTS)
        for number, one in enumerate(documents):
            folder = tmp_path / str(number)
            folder.mkdir(exist_ok=True)
            take(app, folder, one)
            screen.compute_all_latest_years(app)
        client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
        return lambda path, **query: client.get("/api/v1" + path, query=query).json

    return ask


def apple(ask: Callable[..., Any]) -> tuple[Any, ...]:
    rows = ask("/form-13f/fund/1234567", status="all")["holdings"]
    row = next((one for one in rows if one["cusip"] == made.APPLE), None)
    row = row or next(one for one in ask("/form-13f/fund/1234567", status="closed")["holdings"])
    return tuple(row[name] for name in ("status", "previous_shares", "change_shares", "split_factor", "split_source"))


DOCUMENTS = (facts(), ours.june(), submission(2, FALLEN), TICKERS)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=lambda order: "".join(map(str, order)))
def test_a_split_that_filings_show_is_no_purchase_whenever_it_becomes_known(
    told: Callable[..., Any], order: tuple[int, ...]
) -> None:
    ask = told(*(DOCUMENTS[one] for one in order))
    assert apple(ask) == ("unchanged", 100, 0, 10, LAST)


def test_every_answer_of_changes_tells_the_split_and_the_filing_that_tells_it(told: Callable[..., Any]) -> None:
    ask = told(*DOCUMENTS)
    counts = ask("/form-13f/fund/1234567")["meta"]["counts"]
    assert (counts["increased"], counts["unchanged"], counts["decreased"]) == (0, 1, 1)
    (holder,) = ask("/tickers/AAPL/holders")["data"]["holders"]
    names = ("status", "previous_shares", "chg_shares", "split_factor", "split_source")
    assert [holder[name] for name in names] == ["unchanged", 100, 0, 10, LAST]
    trend = ask("/tickers/AAPL/fund-trends")["data"]["quarters"]
    assert [(one["total_shares"], one["share_change"], one["fund_flow"]) for one in trend] == [
        (100, 0, 0),
        (10, None, None),
    ]
    assert [one["cusip"] for one in ask("/form-13f/moves", status="increased")["moves"]] == []
    history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")
    assert history["splits"] == [{"date": None, "ratio": 10, "source": LAST}]
    told_of = ("quarter_date", "shares", "shares_raw", "shares_delta", "split_factor", "split_source")
    assert [tuple(one[name] for name in told_of) for one in history["history"]] == [
        ("2025-09-30", 100, 100, 0, 10, LAST),
        ("2025-06-30", 100, 10, None, None, None),
    ]


def test_a_split_that_prices_do_not_show_was_in_another_quarter(told: Callable[..., Any]) -> None:
    ask = told(facts(), ours.june(), submission(2, RISEN), TICKERS)
    assert apple(ask) == ("increased", 10, 90, None, None)
    # It was up to the day of the filing that tells it: after September as far as the reports say.
    history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")["history"]
    assert [(one["shares"], one["shares_raw"]) for one in history] == [(1000, 100), (100, 10)]


@pytest.mark.parametrize("day", ["2025-08-20", None])
def test_of_a_closed_position_only_a_day_says_whether_it_was_split(told: Callable[..., Any], day: str | None) -> None:
    ask = told(facts(day=day), ours.june(), submission(2, CLOSED), TICKERS)
    rows = ask("/form-13f/fund/1234567", status="closed")["holdings"]
    row = next(one for one in rows if one["cusip"] == made.APPLE)
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
def test_an_amendment_takes_a_split_back(
    told: Callable[..., Any], amended: tuple[int, float], expected: tuple[Any, ...]
) -> None:
    assert apple(told(*DOCUMENTS, facts(*AS_TOLD, amended))) == expected
    assert apple(told(facts(*AS_TOLD, amended), *DOCUMENTS)) == expected


def test_a_file_of_prices_that_tells_a_split_goes_before_filings(told: Callable[..., Any]) -> None:
    for documents in ((*DOCUMENTS, PRICE), (PRICE, *DOCUMENTS)):
        ask = told(*documents)
        assert apple(ask) == ("unchanged", 100, 0, 10, "prices")
        history = ask(f"/form-13f/fund/1234567/cusip/{made.APPLE}/history")
        assert history["splits"] == [{"date": "2025-08-20", "ratio": 10, "source": "prices"}]


def test_a_split_after_the_quarter_is_in_what_its_shares_are_worth(told: Callable[..., Any]) -> None:
    quarter = ("09-30-2025", "2025-11-14", [(made.APPLE, 2_500, 10)])
    closes = b"ticker,date,close\nAAPL,2025-11-19,30\n"
    ask = told(facts(day="2025-10-15"), ours.june(), submission(2, quarter), TICKERS, closes)
    (row,) = ask("/form-13f/fund/1234567/holdings-analytics")["holdings"]
    names = ("shares", "shares_raw", "split_factor", "split_source", "market_value")
    assert [row[name] for name in names] == [100, 10, 10, LAST, 3_000]


# ---- the rule


def likely(factor: str, *, placed: bool = False, source: str = LAST) -> LikelySplit:
    return LikelySplit(Decimal(factor), source, placed)


@pytest.mark.parametrize(
    ("split", "before", "now", "lies"),
    [
        (likely("4"), HoldingValue(1000, 10), HoldingValue(1000, 40), True),
        (likely("4"), HoldingValue(1000, 10), HoldingValue(1300, 40), True),  # and a good quarter
        (likely("4"), HoldingValue(1000, 10), HoldingValue(900, 10), False),
        (likely("4", placed=True), HoldingValue(1000, 10), HoldingValue(900, 10), False),
        (likely("0.1"), HoldingValue(100, 100), HoldingValue(60, 10), True),
        (likely("0.1"), HoldingValue(100, 100), HoldingValue(200, 100), False),
        # Without prices only the day says it; nor do prices of a split that moves them no more than markets do.
        (likely("4", placed=True), HoldingValue(1000, 10), HoldingValue(0, 0), True),
        (likely("4"), HoldingValue(1000, 10), HoldingValue(0, 0), False),
        (likely("1.5"), HoldingValue(150, 10), HoldingValue(100, 10), False),
        (likely("1.5", placed=True), HoldingValue(150, 10), HoldingValue(160, 10), True),
        (likely("4", source=FROM_PRICES, placed=True), HoldingValue(1000, 10), HoldingValue(4000, 40), True),
    ],
)
def test_what_a_holding_was_worth_says_whether_a_split_is_in_it(
    split: LikelySplit, before: HoldingValue, now: HoldingValue, lies: bool
) -> None:
    assert split.is_between(before, now) is lies
