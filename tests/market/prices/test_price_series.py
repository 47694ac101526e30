"""Prices from CSV files: parsing, storing, adjusting for splits and dividends, and the close of a day."""

from __future__ import annotations

import itertools
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.app import App
from finapi.core import json
from finapi.core.errors import ParseError
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.prices import price_csv, price_series, price_store
from finapi.market.prices.price_csv import PriceRow
from finapi.market.reference import companies
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

YAHOO = """Date,Open,High,Low,Close,Adj Close,Volume,Dividends,Stock Splits
2020-08-27,127.14,127.49,123.83,125.01,122.65,155552400,0.0,0.0
2020-08-28,126.01,126.44,124.58,124.81,122.45,187630000,0.0,0.0
2020-08-31,127.58,131.00,126.00,129.04,126.61,225702700,0.0,4.0
"""
# The same days as traded: the closes before the split of 2020-08-31 are four times as high.
TRADED = """date,close,volume,split,dividend
2020-08-27,500.04,38888100,,
2020-08-28,499.23,46907479,,0.82
2020-08-31,129.04,225702700,4:1,
"""


def parse(text: str, name: str = "AAPL.csv") -> price_csv.PriceFile:
    return price_csv.parse(text.encode(), "file", name)


@pytest.fixture
def ingest_prices(app: App, tmp_path: Path) -> Any:
    with app.db.write() as tx:
        for cik, ticker in enumerate(("AAPL", "BRK-B", "IBM", "INTC", "MSFT"), 1):
            companies.upsert_name(tx, cik, ticker, companies.FROM_LIST, "")
            companies.upsert_tickers(tx, cik, [(ticker, None)], companies.FROM_LIST)

    def ingest_file(text: str, name: str = "AAPL.csv", *, ticker: str | None = None) -> Outcome:
        (tmp_path / name).write_text(text)
        outcomes: list[Outcome] = []
        ingest.run(app, [tmp_path / name], IngestOptions(ticker=ticker), outcomes.append)
        [outcome] = outcomes
        return outcome

    return ingest_file


def list_days(app: App, ticker: str = "AAPL", *, adjusted: bool = False, **bounds: Any) -> list[dict[str, Any]]:
    """Return days as the answer of a call has them, with a Decimal for each fraction."""
    with app.db.read() as tx:
        series = price_series.find_series_of_ticker(tx, ticker)
        assert series is not None
        values = {"first": None, "last": None, "limit": 100, "offset": 0, **bounds}
        price_days = price_series.list_days(tx, series, adjusted=adjusted, **values)
    days: list[dict[str, Any]] = json.loads(json.text(price_days))
    return days


def find_close(app: App, day: str, ticker: str = "AAPL", **options: Any) -> price_series.Close | None:
    with app.db.read() as tx:
        return price_series.find_close(tx, ticker, day, **options)


# ---- files


def test_row_has_exact_decimals() -> None:
    assert parse(YAHOO).rows[2] == PriceRow(
        "", "2020-08-31", "127.58", "131", "126", "129.04", "225702700", "126.61", None, "4"
    )


@run_each_case(
    "text",
    [
        "close,DATE\n1.50,2024-01-02\n",
        "Date;Close\n2024-01-02;1.5\n",
        "timestamp\tadjusted_close\tclose\n2024-01-02\t9\t1.50\n",
        '"Date","Close/Last","Volume"\n"01/02/2024","$1.50","N/A"\n',
        "\ufeffdate,close\r\n20240102,1.5\r\n\r\n",
        "date,CLOSE\n2024-01-02 00:00:00-05:00,1.5\n",
    ],
)
def test_columns_may_have_any_case_and_order(text: str) -> None:
    [row] = parse(text).rows
    assert (row.date, row.close, row.volume) == ("2024-01-02", "1.5", None)


@pytest.mark.parametrize(
    ("name", "ticker"),
    [
        ("aapl.csv", "AAPL"),
        ("BRK.B.csv", "BRK-B"),
        ("brk-b_daily.csv", "BRK-B"),
        ("AAPL (1).csv", "AAPL"),
        ("AAPL-prices.csv", "AAPL"),
        ("msft.us.txt", "MSFT"),
        ("yahoo_INTC_19950101_20040412.csv", "INTC"),
        ("daily_IBM.csv", "IBM"),
    ],
)
def test_known_ticker_in_the_file_name_is_the_ticker(ingest_prices: Any, app: App, name: str, ticker: str) -> None:
    outcome = ingest_prices("date,close\n2024-01-02,1\n", name)
    assert (outcome.outcome, outcome.reason) == ("ingested", f"prices of {ticker}")
    assert [row["close"] for row in list_days(app, ticker)] == [1]


@run_each_case(
    "name, why",
    [
        *((f"{name}.csv", "has no part that is a known ticker") for name in ("export", "2024", "sp500", "yahoo", "é")),
        ("IBM_INTC.csv", "names several: IBM, INTC"),
    ],
)
def test_file_name_without_one_known_ticker_is_refused(ingest_prices: Any, app: App, name: str, why: str) -> None:
    refused = ingest_prices("date,close\n2024-01-02,1\n", name)
    message = f"has no column of tickers, and its name {why}; use --ticker to name the ticker"
    assert (refused.outcome, refused.reason) == ("refused", message)
    with app.db.read() as tx:
        assert price_series.find_series_of_ticker(tx, name[:-4].upper()) is None


def test_operator_can_state_the_ticker(ingest_prices: Any, app: App) -> None:
    assert ingest_prices("date,close\n2024-01-02,1\n", "export.csv", ticker="ZZZ").reason == "prices of ZZZ"
    assert [row["close"] for row in list_days(app, "ZZZ")] == [1]


def test_column_of_tickers_applies_to_each_row() -> None:
    price_file = parse("ticker,date,close\nAAPL,2024-01-02,1\nbrk.b,2024-01-02,2\n", "prices.csv")
    assert [(row.ticker, row.close) for row in price_file.rows] == [("AAPL", "1"), ("BRK-B", "2")]


@run_each_case(
    "cell, split",
    [
        ("4", "4"),
        ("4.0", "4"),
        ("4:1", "4"),
        ("3/2", "1.5"),
        ("3-for-2", "1.5"),
        ("1 for 10", "0.1"),
        ("0", None),
        ("1", None),
        ("1.0", None),
        ("", None),
    ],
)
def test_split_may_be_written_in_several_ways(cell: str, split: str | None) -> None:
    assert parse(f"date,close,split\n2024-01-02,1,{cell}\n").rows[0].split == split


REJECTED_LINES = [
    ("2024-02-30,1,1,1,1", "line 3: '2024-02-30' is not a day"),
    ("yesterday,1,1,1,1", "line 3: 'yesterday' is not a day"),
    ("2024-01-03,0,1,1,1", "line 3: close is zero"),
    ("2024-01-03,-1,1,1,1", "line 3: close '-1' is not a price"),
    ("2024-01-03,1e99,1,1,1", "line 3: close '1e99' is not a price"),
    ("2024-01-03,1e-99,1,1,1", "line 3: close '1e-99' is not a price"),
    ("2024-01-03,1e999999999,1,1,1", "line 3: close '1e999999999' is not a price"),
    ("2024-01-03,inf,1,1,1", "line 3: close 'inf' is not a price"),
    ("2024-01-03,.,1,1,1", "line 3: close '.' is not a price"),
    ("2024-01-03,€1,1,1,1", "line 3: close '€1' is not a price"),
    ("2024-01-03,,1,1,1", "line 3: no close"),
    ("2024-01-03", "line 3: no close"),
    ("2024-01-03,null,1,1,1", "line 3: no close"),
    ("2024-01-03,1,1,1,x", "line 3: volume 'x' is not a number of shares"),
    ("2024-01-02,2,1,1,1", "line 3: 2024-01-02 occurs twice with different figures"),
    ("2024-01-03,0x10,1,1,1", "line 3: close '0x10' is not a price"),
    ("2024-01-03,\u0661,1,1,1", "line 3: close '\u0661' is not a price"),
]


@run_each_case("line, reason", REJECTED_LINES)
def test_bad_row_is_rejected_with_its_line_number(line: str, reason: str) -> None:
    price_file = parse(f"date,close,high,low,volume\n2024-01-02,1,1,1,1\n{line}\n2024-01-04,1,1,1,1\n")
    assert [row.date for row in price_file.rows] == ["2024-01-02", "2024-01-04"]
    assert (price_file.rejected_lines, price_file.rejected_count) == ([reason], 1)


@run_each_case(
    "text, name, reason",
    [
        ("", "A.csv", "file: line 1: needs a column of dates and one of closes, dividends or splits"),
        ("date,volume\n", "A.csv", "file: line 1: needs a column of dates and one of closes, dividends or splits"),
        ("date,close,Close\n", "A.csv", "file: line 1: two columns have the header of close"),
        ("date,close\n", "A.csv", "file: contains no prices"),
        ("date,close\nx,1\n", "A.csv", "file: contains no prices; line 2: 'x' is not a day"),
        (
            "date,close\n01/02/2024,1\n13/02/2024,1\n",
            "A.csv",
            "file: line 3: the date '13/02/2024' is not month/day/year, so no date of the file can be trusted",
        ),
        ("date,close\n2024-01-02,\0\n", "A.csv", "file: contains a NUL character"),
        ("date,close\n" + "9" * 200_000, "A.csv", "file: line 2: a line of more than 100000 characters"),
    ],
)
def test_file_without_prices_is_refused(text: str, name: str, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse(text, name)
    assert str(refused.value) == reason


def test_truncated_last_line_is_rejected() -> None:
    truncated = parse("date,open,close,volume\n2024-01-02,1,2,3\n2024-01-03,1,2")
    assert ([row.date for row in truncated.rows], truncated.rejected_lines) == (
        ["2024-01-02"],
        ["line 3: the file ends in the middle of this line"],
    )
    complete = parse("date,open,close,volume\n2024-01-02,1,2\n2024-01-03,1,2,3")
    assert ([row.date for row in complete.rows], complete.rejected_lines) == (["2024-01-02", "2024-01-03"], [])


@given(st.text(max_size=300))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_parsed_or_refused(tail: str) -> None:
    try:
        price_file = parse("date,close,split,volume\n" + tail)
    except ParseError:
        return
    assert all(row.ticker == "" and row.date for row in price_file.rows)


@pytest.mark.slow
def test_memory_is_at_most_twenty_times_the_file() -> None:
    lines = [
        f"{year}-{month:02}-{day:02},1.5,2\n"
        for year in range(1900, 2020)
        for month in range(1, 13)
        for day in range(1, 29)
    ]
    data = ("date,close,volume\n" + "".join(lines)).encode()
    tracemalloc.start()
    price_file = price_csv.parse(data, "file", "A.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(price_file.rows) == len(lines)
    assert peak < 20 * len(data)


# ---- rows


def test_ingest_reports_rejected_lines(app: App, ingest_prices: Any) -> None:
    days = [f"2023-{month:02}-{day:02},1,0" for month in range(1, 13) for day in range(1, 10)]
    bad = "\n".join(["date,close,dividend", *days, "2023-12-11,zero,0", ""])
    assert (ingest_prices(bad).outcome, ingest_prices(bad).outcome) == ("ingested", "unchanged")
    assert ingest_prices(bad).reason == (
        "prices of AAPL; 1 row is left out: line 110: close 'zero' is not a price; contains nothing new"
    )
    assert len(list_days(app, limit=500)) == 108


def test_file_that_would_lose_one_per_cent_is_refused(app: App, ingest_prices: Any) -> None:
    days = [f"2023-{month:02}-{day:02},1" for month in range(1, 13) for day in range(1, 10)]
    bad = "\n".join(["date,close", *days, "2023-12-11,x", "2023-12-12,-1", ""])
    refused = ingest_prices(bad)
    assert (refused.outcome, refused.reason) == (
        "refused",
        "2 of 110 rows cannot be read: line 110: close 'x' is not a price; line 111: close '-1' is not a price",
    )
    with app.db.read() as tx:
        assert price_series.find_series_of_ticker(tx, "AAPL") is None


def test_days_are_listed_newest_first(app: App, ingest_prices: Any) -> None:
    ingest_prices(YAHOO)
    assert list_days(app, limit=1) == [
        {
            "date": "2020-08-31",
            "open": Decimal("127.58"),
            "high": Decimal(131),
            "low": Decimal(126),
            "close": Decimal("129.04"),
            "volume": 225702700,
            "adj_close": Decimal("129.04"),
            "adj_close_reason": None,
            "split_factor": Decimal(4),
            "dividend": None,
            "volume_exact": 225702700,
            "price_doubt": None,
        }
    ]
    assert [row["date"] for row in list_days(app, first="2020-08-28", last="2020-08-30")] == ["2020-08-28"]


def test_closes_divided_by_the_file_are_not_divided_again(app: App, ingest_prices: Any) -> None:
    ingest_prices(YAHOO)
    assert [row["adj_close"] for row in list_days(app)] == [Decimal("129.04"), Decimal("124.81"), Decimal("125.01")]


def test_closes_as_traded_are_adjusted(app: App, ingest_prices: Any) -> None:
    ingest_prices(TRADED)
    # 499.23 / 4; and 500.04 / 4 x (1 - 0.82 / 500.04).
    assert [row["adj_close"] for row in list_days(app)] == [Decimal("129.04"), Decimal("124.8075"), Decimal("124.805")]
    adjusted = list_days(app, adjusted=True)
    assert [(row["close"], row["volume"]) for row in adjusted] == [
        (Decimal("129.04"), 225702700),
        (Decimal("124.8075"), 187629916),
        (Decimal("124.805"), 155552400),
    ]


def test_stated_adj_close_counts_until_a_file_has_actions(app: App, ingest_prices: Any) -> None:
    ingest_prices("date,open,close,adj close,volume\n2024-01-02,90,100,67.5,1000\n2024-01-03,100,110,,1000\n")
    with_adj_close, without_adj_close = list_days(app)[::-1]
    assert (with_adj_close["close"], with_adj_close["adj_close"], with_adj_close["adj_close_reason"]) == (
        100,
        Decimal("67.5"),
        None,
    )
    assert (without_adj_close["close"], without_adj_close["adj_close"]) == (110, None)
    assert without_adj_close["adj_close_reason"] == "no_dividends_or_splits_held"
    scaled = list_days(app, adjusted=True)[::-1]
    assert [(row["open"], row["close"], row["volume"]) for row in scaled] == [
        (Decimal("60.75"), Decimal("67.5"), None),
        (None, None, None),
    ]
    assert ingest_prices("date,stock splits\n2024-01-04,0\n2024-01-05,2\n", "AAPL_splits.csv").outcome == "ingested"
    assert [row["adj_close"] for row in list_days(app)] == [110, 100]


def test_fractions_of_shares_are_served_exactly(app: App, ingest_prices: Any) -> None:
    ingest_prices("date,close,volume,split\n2024-01-02,400,27174.29903,\n2024-01-03,100,0.5,4\n2024-01-04,101,,\n")
    volumes = [(row["volume"], row["volume_exact"]) for row in list_days(app)[::-1]]
    assert volumes == [(27174, Decimal("27174.29903")), (0, Decimal("0.5")), (None, None)]
    adjusted = [(row["volume"], row["volume_exact"]) for row in list_days(app, adjusted=True)[::-1]]
    assert adjusted == [(108697, Decimal("108697.19612")), (0, Decimal("0.5")), (None, None)]


def test_absurd_factors_give_figures_without_decimals(app: App, ingest_prices: Any) -> None:
    ingest_prices("date,open,close,adj close\n2024-01-02,400000000000000,1e-30,400000000000000\n")
    (row,) = list_days(app, adjusted=True)
    assert (row["open"], row["close"]) == (Decimal("1.6e59"), Decimal("4e14"))


def test_absurd_splits_give_volumes_without_decimals(app: App, ingest_prices: Any) -> None:
    ingest_prices(
        "date,close,volume,split\n2024-01-02,1e12,3e14,\n2024-01-03,2000000,1,500000\n2024-01-04,4,1,500000\n"
    )
    row = list_days(app, adjusted=True)[-1]
    assert (row["close"], row["volume_exact"]) == (4, Decimal("7.5e25"))
    assert row["volume"] == 75 * 10**24


def test_page_is_adjusted_by_actions_after_it(app: App, ingest_prices: Any) -> None:
    ingest_prices(TRADED)
    assert list_days(app, last="2020-08-27")[0]["adj_close"] == Decimal("124.805")


def test_actions_may_be_in_a_separate_file(app: App, ingest_prices: Any) -> None:
    ingest_prices("date,close\n2020-08-28,499.23\n2020-08-31,129.04\n")
    assert list_days(app)[1]["adj_close"] is None
    assert ingest_prices("date,stock splits\n2020-08-31,4\n", "AAPL_splits.csv").outcome == "ingested"
    assert list_days(app)[1]["adj_close"] == Decimal("124.8075")


def test_dividend_above_the_price_does_not_adjust(app: App, ingest_prices: Any) -> None:
    ingest_prices("date,close,dividend\n2024-01-02,1,\n2024-01-03,1,5\n")
    assert [row["adj_close"] for row in list_days(app)] == [1, 1]


FILES = (
    "date,close,split,dividend\n2024-01-02,1,,\n2024-01-03,2,2,\n",
    "date,close,split,dividend\n2024-01-02,1,,0.5\n2024-01-03,9,3,\n2024-01-04,3,,\n",
    "date,close,split,dividend\n2024-01-03,7,,\n2024-01-05,4,,0.1\n",
)


def test_prices_do_not_depend_on_the_order_of_files(make_app: Any) -> None:
    pages = []
    for order in itertools.permutations(FILES):
        app = make_app()
        for text in order:
            with app.db.write() as tx:
                price_store.upsert(tx, parse(text), text.encode(), "AAPL")
        pages.append(list_days(app, adjusted=True))
    assert all(days == pages[0] for days in pages)
    # Where files differ, the one that reaches furthest counts.
    assert [(row["date"], row["split_factor"]) for row in pages[0]] == [
        ("2024-01-05", None),
        ("2024-01-04", None),
        ("2024-01-03", 3),
        ("2024-01-02", None),
    ]


@pytest.mark.parametrize("real_first", [True, False])
def test_real_prices_replace_synthetic_ones(make_app: Any, real_first: bool) -> None:
    app = make_app()
    real, made_up = (
        "date,close\n2024-01-02,1\n",
        "date,close,source\n2024-01-02,5,synthetic\n2024-01-03,6,synthetic\n",
    )
    notes = []
    for text in (real, made_up) if real_first else (made_up, real):
        with app.db.write() as tx:
            notes.append(price_store.upsert(tx, parse(text), text.encode(), "AAPL"))
    assert [(row["date"], row["close"]) for row in list_days(app)] == [("2024-01-02", 1)]
    assert find_close(app, "2024-01-02") == price_series.Close("AAPL", "2024-01-02", Decimal(1), "csv")
    if real_first:
        assert notes[1] == (0, "real prices of AAPL are stored, so the made-up prices of this file were skipped")


# ---- the reader for ratios


def test_close_is_of_the_last_trading_day_if_recent(app: App, ingest_prices: Any) -> None:
    ingest_prices(TRADED)
    assert find_close(app, "2020-08-30") == price_series.Close("AAPL", "2020-08-28", Decimal("499.23"), "csv")
    assert find_close(app, "2020-09-10") == price_series.Close("AAPL", "2020-08-31", Decimal("129.04"), "csv")
    assert find_close(app, "2020-09-11") is None
    assert find_close(app, "2020-09-11", max_age_days=11) is not None
    assert find_close(app, "2020-08-26") is None
    assert find_close(app, "2020-08-31", "MSFT") is None


def test_close_is_as_traded_even_if_the_file_divided_it(app: App, ingest_prices: Any) -> None:
    ingest_prices(YAHOO)
    close = find_close(app, "2020-08-28")
    assert close is not None
    assert close.close == Decimal("499.24")
