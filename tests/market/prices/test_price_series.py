"""Prices: CSV of every kind in, exact figures out, adjusted from the splits and dividends that are stored."""

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
from finapi.core.errors import ParseError
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.prices import price_csv, price_series, price_store
from finapi.market.prices.price_csv import PriceRow
from finapi.market.reference import companies

YAHOO = """Date,Open,High,Low,Close,Adj Close,Volume,Dividends,Stock Splits
2020-08-27,127.14,127.49,123.83,125.01,122.65,155552400,0.0,0.0
2020-08-28,126.01,126.44,124.58,124.81,122.45,187630000,0.0,0.0
2020-08-31,127.58,131.00,126.00,129.04,126.61,225702700,0.0,4.0
"""
# The same days as they were traded: the split of 2020-08-31 halves nothing but the count.
TRADED = """date,close,volume,split,dividend
2020-08-27,500.04,38888100,,
2020-08-28,499.23,46907479,,0.82
2020-08-31,129.04,225702700,4:1,
"""


def parsed(text: str, name: str = "AAPL.csv") -> price_csv.PriceFile:
    return price_csv.parse(text.encode(), "file", name)


@pytest.fixture
def run(app: App, tmp_path: Path) -> Any:
    with app.db.write() as tx:
        for cik, ticker in enumerate(("AAPL", "BRK-B", "IBM", "INTC", "MSFT"), 1):
            companies.upsert_name(tx, cik, ticker, companies.FROM_LIST, "")
            companies.upsert_tickers(tx, cik, [(ticker, None)], companies.FROM_LIST)

    def ingested(text: str, name: str = "AAPL.csv", *, ticker: str | None = None) -> Outcome:
        (tmp_path / name).write_text(text)
        outcomes: list[Outcome] = []
        ingest.run(app, [tmp_path / name], IngestOptions(ticker=ticker), outcomes.append)
        [outcome] = outcomes
        return outcome

    return ingested


def page(app: App, ticker: str = "AAPL", *, adjusted: bool = False, **bounds: Any) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        series = price_series.find_series_of_ticker(tx, ticker)
        assert series is not None
        values = {"first": None, "last": None, "limit": 100, "offset": 0, **bounds}
        return price_series.list_days(tx, series, adjusted=adjusted, **values)


def close_on(app: App, day: str, ticker: str = "AAPL", **options: Any) -> price_series.Close | None:
    with app.db.read() as tx:
        return price_series.find_close(tx, ticker, day, **options)


# ---- files


def test_a_row_is_what_the_file_says_in_exact_decimals() -> None:
    assert parsed(YAHOO).rows[2] == PriceRow(
        "", "2020-08-31", "127.58", "131", "126", "129.04", 225702700, "126.61", None, "4"
    )


@pytest.mark.parametrize(
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
def test_names_of_columns_are_folded_and_their_order_is_free(text: str) -> None:
    [row] = parsed(text).rows
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
def test_a_part_of_the_name_that_is_a_known_ticker_tells_whose_prices_they_are(
    run: Any, app: App, name: str, ticker: str
) -> None:
    outcome = run("date,close\n2024-01-02,1\n", name)
    assert (outcome.outcome, outcome.reason) == ("ingested", f"prices of {ticker}")
    assert [row["close"] for row in page(app, ticker)] == [1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((f"{name}.csv", "has no part that is a known ticker") for name in ("export", "2024", "sp500", "yahoo", "é")),
        ("IBM_INTC.csv", "names several: IBM, INTC"),
    ],
)
def test_a_name_without_one_known_ticker_is_refused_and_makes_none(run: Any, app: App, name: str, why: str) -> None:
    refused = run("date,close\n2024-01-02,1\n", name)
    told = f"has no column of tickers, and its name {why}; --ticker says whose prices they are"
    assert (refused.outcome, refused.reason) == ("refused", told)
    with app.db.read() as tx:
        assert price_series.find_series_of_ticker(tx, name[:-4].upper()) is None


def test_the_operator_says_whose_prices_a_file_holds(run: Any, app: App) -> None:
    assert run("date,close\n2024-01-02,1\n", "export.csv", ticker="ZZZ").reason == "prices of ZZZ"
    assert [row["close"] for row in page(app, "ZZZ")] == [1]


def test_a_column_of_tickers_tells_them_row_by_row() -> None:
    found = parsed("ticker,date,close\nAAPL,2024-01-02,1\nbrk.b,2024-01-02,2\n", "prices.csv")
    assert [(row.ticker, row.close) for row in found.rows] == [("AAPL", "1"), ("BRK-B", "2")]


@pytest.mark.parametrize(
    ("cell", "split"),
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
def test_a_split_is_read_in_every_way_it_is_written(cell: str, split: str | None) -> None:
    assert parsed(f"date,close,split\n2024-01-02,1,{cell}\n").rows[0].split == split


BAD = [
    ("2024-02-30,1,1,1,1", "line 3: '2024-02-30' is not a day"),
    ("yesterday,1,1,1,1", "line 3: 'yesterday' is not a day"),
    ("2024-01-03,0,1,1,1", "line 3: close is zero"),
    ("2024-01-03,-1,1,1,1", "line 3: close '-1' is not a price"),
    ("2024-01-03,1e9,1,1,1", "line 3: close '1e9' is not a price"),
    ("2024-01-03,,1,1,1", "line 3: no close"),
    ("2024-01-03", "line 3: no close"),
    ("2024-01-03,null,null,null,null", "line 3: no close"),
    ("2024-01-03,1,1,2,1", "line 3: the high 1 is below the low 2"),
    ("2024-01-03,1,1,1,x", "line 3: volume 'x' is not a number of shares"),
    ("2024-01-02,2,1,1,1", "line 3: 2024-01-02 occurs twice with different figures"),
    ("2024-01-03,0x10,1,1,1", "line 3: close '0x10' is not a price"),
    ("2024-01-03,\u0661,1,1,1", "line 3: close '\u0661' is not a price"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_row_is_left_out_and_told_with_its_line(line: str, reason: str) -> None:
    found = parsed(f"date,close,high,low,volume\n2024-01-02,1,1,1,1\n{line}\n2024-01-04,1,1,1,1\n")
    assert [row.date for row in found.rows] == ["2024-01-02", "2024-01-04"]
    assert (found.rejected_lines, found.rejected_count) == ([reason], 1)


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("", "A.csv", "file: line 1: needs a column of dates and one of closes, dividends or splits"),
        ("date,volume\n", "A.csv", "file: line 1: needs a column of dates and one of closes, dividends or splits"),
        ("date,close,Close\n", "A.csv", "file: line 1: two columns are the close"),
        ("date,close\n", "A.csv", "file: holds no prices"),
        ("date,close\nx,1\n", "A.csv", "file: holds no prices; line 2: 'x' is not a day"),
        (
            "date,close\n01/02/2024,1\n13/02/2024,1\n",
            "A.csv",
            "file: line 3: the day '13/02/2024' is not written month/day/year, nor can the others be trusted",
        ),
        ("date,close\n2024-01-02,\0\n", "A.csv", "file: contains a NUL character"),
        ("date,close\n" + "9" * 200_000, "A.csv", "file: line 2: a line of more than 20000 characters"),
    ],
)
def test_a_file_that_is_none_of_prices_is_refused(text: str, name: str, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        parsed(text, name)
    assert str(refused.value) == reason


def test_a_fraction_of_a_share_that_was_traded_is_rounded_and_the_day_stays() -> None:
    found = parsed('date,close,volume\n2024-01-02,1,1500.6\n2024-01-03,1,"1,000.25"\n')
    assert ([row.volume for row in found.rows], found.rejected_count) == ([1501, 1000], 0)


def test_a_last_line_that_the_file_ends_in_is_left_out_by_its_number() -> None:
    cut = parsed("date,open,close,volume\n2024-01-02,1,2,3\n2024-01-03,1,2")
    assert ([row.date for row in cut.rows], cut.rejected_lines) == (
        ["2024-01-02"],
        ["line 3: the file ends in the middle of this line"],
    )
    whole = parsed("date,open,close,volume\n2024-01-02,1,2\n2024-01-03,1,2,3")
    assert ([row.date for row in whole.rows], whole.rejected_lines) == (["2024-01-02", "2024-01-03"], [])


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_no_text_does_more_than_be_refused(tail: str) -> None:
    try:
        found = parsed("date,close,split,volume\n" + tail)
    except ParseError:
        return
    assert all(row.ticker == "" and row.date for row in found.rows)


@pytest.mark.slow
def test_memory_stays_within_twenty_times_the_file() -> None:
    lines = [
        f"{year}-{month:02}-{day:02},1.5,2\n"
        for year in range(1900, 2020)
        for month in range(1, 13)
        for day in range(1, 29)
    ]
    data = ("date,close,volume\n" + "".join(lines)).encode()
    tracemalloc.start()
    found = price_csv.parse(data, "file", "A.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.rows) == len(lines)
    assert peak < 20 * len(data)


# ---- rows


def test_an_ingest_tells_what_it_left_out_and_the_same_again_is_unchanged(app: App, run: Any) -> None:
    bad = YAHOO + "2020-09-01,1,1,1,zero,1,1,0,0\n"
    assert (run(bad).outcome, run(bad).outcome) == ("ingested", "unchanged")
    assert run(bad).reason == (
        "prices of AAPL; 1 rows are left out: line 5: close 'zero' is not a price; tells nothing new"
    )
    assert len(page(app)) == 3


def test_a_day_is_answered_as_the_file_has_it_newest_first(app: App, run: Any) -> None:
    run(YAHOO)
    assert page(app, limit=1) == [
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
        }
    ]
    assert [row["date"] for row in page(app, first="2020-08-28", last="2020-08-30")] == ["2020-08-28"]


def test_closes_that_a_file_has_divided_by_a_split_are_not_divided_again(app: App, run: Any) -> None:
    run(YAHOO)
    assert [row["adj_close"] for row in page(app)] == [Decimal("129.04"), Decimal("124.81"), Decimal("125.01")]


def test_closes_as_traded_are_divided_by_the_split_and_reduced_by_the_dividend(app: App, run: Any) -> None:
    run(TRADED)
    # 499.23 / 4; and 500.04 / 4 x (1 - 0.82 / 500.04).
    assert [row["adj_close"] for row in page(app)] == [Decimal("129.04"), Decimal("124.8075"), Decimal("124.805")]
    adjusted = page(app, adjusted=True)
    assert [(row["close"], row["volume"]) for row in adjusted] == [
        (Decimal("129.04"), 225702700),
        (Decimal("124.8075"), 187629916),
        (Decimal("124.805"), 155552400),
    ]


def test_an_adjusted_close_of_a_file_without_dividends_and_splits_counts_until_a_file_tells_of_them(
    app: App, run: Any
) -> None:
    run("date,open,close,adj close,volume\n2024-01-02,90,100,67.5,1000\n2024-01-03,100,110,,1000\n")
    known, unknown = page(app)[::-1]
    assert (known["close"], known["adj_close"], known["adj_close_reason"]) == (100, Decimal("67.5"), None)
    assert (unknown["close"], unknown["adj_close"]) == (110, None)
    assert unknown["adj_close_reason"] == "no_dividends_or_splits_held"
    scaled = page(app, adjusted=True)[::-1]
    assert [(row["open"], row["close"], row["volume"]) for row in scaled] == [
        (Decimal("60.75"), Decimal("67.5"), None),
        (None, None, None),
    ]
    assert run("date,stock splits\n2024-01-04,0\n2024-01-05,2\n", "AAPL_splits.csv").outcome == "ingested"
    assert [row["adj_close"] for row in page(app)] == [110, 100]


def test_a_page_in_the_middle_knows_the_actions_after_it(app: App, run: Any) -> None:
    run(TRADED)
    assert page(app, last="2020-08-27")[0]["adj_close"] == Decimal("124.805")


def test_actions_may_come_in_a_file_of_their_own(app: App, run: Any) -> None:
    run("date,close\n2020-08-28,499.23\n2020-08-31,129.04\n")
    assert page(app)[1]["adj_close"] is None
    assert run("date,stock splits\n2020-08-31,4\n", "AAPL_splits.csv").outcome == "ingested"
    assert page(app)[1]["adj_close"] == Decimal("124.8075")


def test_a_dividend_above_the_price_is_no_adjustment(app: App, run: Any) -> None:
    run("date,close,dividend\n2024-01-02,1,\n2024-01-03,1,5\n")
    assert [row["adj_close"] for row in page(app)] == [1, 1]


FILES = (
    "date,close,split,dividend\n2024-01-02,1,,\n2024-01-03,2,2,\n",
    "date,close,split,dividend\n2024-01-02,1,,0.5\n2024-01-03,9,3,\n2024-01-04,3,,\n",
    "date,close,split,dividend\n2024-01-03,7,,\n2024-01-05,4,,0.1\n",
)


def test_what_is_answered_does_not_depend_on_the_order_of_files(make_app: Any) -> None:
    seen = []
    for order in itertools.permutations(FILES):
        app = make_app()
        for text in order:
            with app.db.write() as tx:
                price_store.upsert(tx, parsed(text), text.encode(), "AAPL")
        seen.append(page(app, adjusted=True))
    assert all(one == seen[0] for one in seen)
    # The file that reaches furthest stands where they differ.
    assert [(row["date"], row["split_factor"]) for row in seen[0]] == [
        ("2024-01-05", None),
        ("2024-01-04", None),
        ("2024-01-03", 3),
        ("2024-01-02", None),
    ]


@pytest.mark.parametrize("real_first", [True, False])
def test_made_up_prices_give_way_to_real_ones(make_app: Any, real_first: bool) -> None:
    app = make_app()
    real, made_up = (
        "date,close\n2024-01-02,1\n",
        "date,close,source\n2024-01-02,5,synthetic\n2024-01-03,6,synthetic\n",
    )
    notes = []
    for text in (real, made_up) if real_first else (made_up, real):
        with app.db.write() as tx:
            notes.append(price_store.upsert(tx, parsed(text), text.encode(), "AAPL"))
    assert [(row["date"], row["close"]) for row in page(app)] == [("2024-01-02", 1)]
    assert close_on(app, "2024-01-02") == price_series.Close("AAPL", "2024-01-02", Decimal(1), "csv")
    if real_first:
        assert notes[1] == (0, "real prices of AAPL are held: made up ones are not mixed in")


# ---- the reader for ratios


def test_a_close_is_that_of_the_last_day_traded_and_none_when_that_is_long_ago(app: App, run: Any) -> None:
    run(TRADED)
    assert close_on(app, "2020-08-30") == price_series.Close("AAPL", "2020-08-28", Decimal("499.23"), "csv")
    assert close_on(app, "2020-09-10") == price_series.Close("AAPL", "2020-08-31", Decimal("129.04"), "csv")
    assert close_on(app, "2020-09-11") is None
    assert close_on(app, "2020-09-11", max_age_days=11) is not None
    assert close_on(app, "2020-08-26") is None
    assert close_on(app, "2020-08-31", "MSFT") is None


def test_a_close_is_in_the_shares_of_its_day_whatever_the_file_has_done(app: App, run: Any) -> None:
    run(YAHOO)
    found = close_on(app, "2020-08-28")
    assert found is not None
    assert found.close == Decimal("499.24")
