"""Price files in the shapes that vendors, pandas and R write: headers, days, numbers, and bars of other lengths."""

from __future__ import annotations

import time

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import document_kinds
from finapi.market.prices import price_csv
from finapi.market.prices.price_csv import PriceRow
from tests.support.case_tables import run_each_case


def parse(text: str) -> price_csv.PriceFile:
    return price_csv.parse(text.encode(), "file", "X.csv")


def build_row(ticker: str = "", day: str = "2024-01-02", close: str | None = "1.5", **figures: str | None) -> PriceRow:
    row = PriceRow(ticker, day, None, None, None, close, None, None, None, None)
    return row._replace(**figures)  # type: ignore[arg-type]


BAR = {"open": "1", "high": "2", "low": "0.5", "volume": "10"}
SHAPES = {
    "tiingo": (
        "date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n"
        "2024-01-02T00:00:00.000Z,1.5,2,0.5,1,10,1.4,1.9,0.4,0.9,20,0.25,2.0\n",
        [build_row(**BAR, adj_close="1.4", dividend="0.25", split="2")],
    ),
    "stooq bulk": (
        "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
        "BRK-B.US,D,20240102,000000,1,2,0.5,1.5,10,0\n",
        [build_row("BRK-B", **BAR)],
    ),
    "metastock": (
        "<ticker>,<dtyyyymmdd>,<time>,<open>,<high>,<low>,<close>,<vol>\nX,20240102,000000,1,2,0.5,1.5,10\n",
        [build_row("X", **BAR)],
    ),
    "stooq in polish": (
        "Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen\n2024-01-02,1,2,0.5,1.5,10\n",
        [build_row(**BAR)],
    ),
    "nasdaq": (
        "Date,Close/Last,Volume,Open,High,Low\n01/02/2024,$1.50,10,$1.00,$2.00,$0.50\n",
        [build_row(**BAR)],
    ),
    "alpha vantage": (
        "timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient\n"
        "2024-01-02,1.0000,2.0000,0.5000,1.5000,1.4000,10,0.0000,1.0\n",
        [build_row(**BAR, adj_close="1.4")],
    ),
    "alpha vantage json in pandas": (
        ",1. open,2. high,3. low,4. close,5. volume\n2024-01-02,1.0,2.0,0.5,1.5,10.0\n",
        [build_row(**BAR)],
    ),
    "yahoo, three lines": (
        "Price,Close,High,Low,Open,Volume\nTicker,X,X,X,X,X\nDate,,,,,\n2024-01-02,1.5,2.0,0.5,1.0,10\n",
        [build_row("X", **BAR)],
    ),
    "yahoo, two tickers": (
        "Price,Close,Close,Volume,Volume\nTicker,X,BRK-B,X,BRK-B\nDate,,,,\n2024-01-02,1.5,7,10,3\n2024-01-03,2,,1,\n",
        [
            build_row("X", volume="10"),
            build_row("X", "2024-01-03", "2", volume="1"),
            build_row("BRK-B", close="7", volume="3"),
        ],
    ),
    "yahoo, grouped by ticker": (
        "Ticker,X,X,Y\nPrice,Open,Close,Close\nDate,,,\n2024-01-02,1,1.5,3\n",
        [build_row("X", open="1"), build_row("Y", close="3")],
    ),
    "tickers that are names of columns": (
        "Ticker,LOW,LOW,T,T\nPrice,Open,Close,Open,Close\nDate,,,,\n2024-01-02,1,1.5,3,4\n",
        [build_row("LOW", open="1"), build_row("T", close="4", open="3")],
    ),
    "yahoo, index without a name": (
        "Price,Close,Open\nTicker,X,X\n2024-01-02 00:00:00-05:00,1.5,1\n",
        [build_row("X", open="1")],
    ),
    "yahoo, index as a column": (
        ",Date,Close,Open\n,,X,X\n0,2024-01-02,1.5,1\n",
        [build_row("X", open="1")],
    ),
    "yahoo, levels without names": (
        ",Adj Close,Close\n,X,X\nDate,,\n2024-01-02,1.4,1.5\n",
        [build_row("X", adj_close="1.4")],
    ),
    "pandas-datareader": (
        "Attributes,Adj Close,Close\nSymbols,X,X\nDate,,\n2024-01-02,1.4,1.5\n",
        [build_row("X", adj_close="1.4")],
    ),
    "unnamed index": (",Open,High,Low,Close,Volume\n2024-01-02,1,2,0.5,1.5,10\n", [build_row(**BAR)]),
    "unnamed index read back": ("Unnamed: 0,Close\n2024-01-02,1.5\n", [build_row()]),
    "index of numbers": (",Date,Close\n0,2024-01-02,1.5\n", [build_row()]),
    "tuples as headers": ("Date,\"('Close', 'X')\",\"('High', 'X')\"\n2024-01-02,1.5,2\n", [build_row("X", high="2")]),
    "flattened headers": (
        "Date,Close_X,Close_BRK-B\n2024-01-02,1.5,2\n",
        [build_row("X"), build_row("BRK-B", close="2")],
    ),
    "quantmod": (
        '"","X.Open","X.High","X.Low","X.Close","X.Volume","X.Adjusted"\n"2024-01-02",1,2,0.5,1.5,10,1.4\n',
        [build_row("X", **BAR, adj_close="1.4")],
    ),
    "investing.com": (
        '"Date","Price","Open","High","Low","Vol.","Change %"\n"Jan 2, 2024","1.5","1","2","0.5","82.49M","-3.58%"\n',
        [build_row(**{**BAR, "volume": "82490000"})],
    ),
    "yahoo, page": (
        "Date\tOpen\tHigh\tLow\tClose Close price adjusted for splits.\tAdj Close Adjusted close price adjusted for "
        "splits and dividend and/or capital gain distributions.\tVolume\n"
        "Jan 2, 2024\t1\t2\t0.5\t1.5\t1.4\t10\nJan 2, 2024\t0.24 Dividend\nAug 31, 2020\t4:1 Stock Splits\n",
        [build_row(**BAR, adj_close="1.4", dividend="0.24"), build_row(day="2020-08-31", close=None, split="4")],
    ),
    "polygon file": (
        "ticker,volume,open,close,high,low,window_start,transactions\nX,10,1,1.5,2,0.5,1704171600000000000,3\n",
        [build_row("X", **BAR)],
    ),
    "polygon api": ("t,o,h,l,c,v,vw,n\n1704171600000,1,2,0.5,1.5,10,1.2,3\n", [build_row(**BAR)]),
    "epoch seconds": (
        "timestamp,close\n1704205800,1.5\n1704292200.0,2\n",
        [build_row(), build_row(day="2024-01-03", close="2")],
    ),
    "binance": (
        "open_time,open,high,low,close,volume,close_time\n1704153600000,1,2,0.5,1.5,27174.29903,1704239999999\n",
        [build_row(**{**BAR, "volume": "27174.29903"})],
    ),
    "metatrader": (
        "<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<VOL>\t<SPREAD>\n2024.01.02\t1\t2\t0.5\t1.5\t10\t1\n",
        [build_row(**BAR)],
    ),
    "letters in capitals": ("Date,O,H,L,C,V\n2024-01-02,1,2,0.5,1.5,10\n", [build_row(**BAR)]),
    "tickers of one letter": (
        ",C,C,T,T\n,Close,Volume,Close,Volume\nDate,,,,\n2024-01-02,1.5,10,4,20\n",
        [build_row("C", volume="10"), build_row("T", close="4", volume="20")],
    ),
    "semicolons and points": (
        "Date;Close;Volume\n02.01.2024;1.5;1,000\n03.01.2024;1,234.50;2,000,000\n",
        [build_row(volume="1000"), build_row(day="2024-01-03", close="1234.5", volume="2000000")],
    ),
    "tradingview": ("time,open,high,low,close,Volume\n2024-01-02T14:30:00Z,1,2,0.5,1.5,10\n", [build_row(**BAR)]),
    "quandl": (
        "ticker,date,open,high,low,close,volume,ex-dividend,split_ratio,adj_open,adj_close\nX,2024-01-02,1,2,0.5,1.5,10.0,0.5,1.0,0.9,1.4\n",
        [build_row("X", **BAR, adj_close="1.4", dividend="0.5")],
    ),
    "eodhd": ("Code,Ex,Date,Close,Adjusted_close\nX,US,2024-01-02,1.5,1.4\n", [build_row("X", adj_close="1.4")]),
    "capital gains": (
        "Date,Close,Dividends,Stock Splits,Capital Gains\n2024-01-02,1.5,0.1,0.0,1.250000000000000001\n",
        [build_row(dividend="1.350000000000000001")],
    ),
    "capital gains only": ("Date,Close,Capital Gains\n2024-01-02,1.5,1.25\n", [build_row(dividend="1.25")]),
    "files that were joined": (
        "Date,Close\n2024-01-02,1.5\nDate,Close\n2024-01-03,2\n",
        [build_row(), build_row(day="2024-01-03", close="2")],
    ),
    "dividend of a day without a close": (
        "Date,Open,Close,Volume,Dividends\n2024-01-02,0.0,0.0,0,0.5\n",
        [build_row(close=None, volume="0", dividend="0.5")],
    ),
    "holiday without prices": ("Date,Open,Close,Volume\n2024-01-01,,,0\n2024-01-02,,1.5,\n", [build_row()]),
    "price of the current day": (
        "Date,Close\n2024-01-02 00:00:00-05:00,1.5\n2024-01-02 15:59:58-05:00,1.5\n",
        [build_row()],
    ),
}


def test_unicode_text_of_excel_is_read() -> None:
    text = "\ufeffDate\tClose\r\n01/02/2024\t1.5\r\n"
    for codec in ("utf-16-le", "utf-16-be"):
        assert price_csv.parse(text.encode(codec), "file", "X.txt").rows == [build_row()]
    with pytest.raises(ParseError, match="not UTF-16"):
        price_csv.parse(text.encode("utf-16-le") + b"x", "file", "X.txt")


def test_rows_of_pandas_in_any_time_zone_keep_their_days() -> None:
    text = "Date,Close\n2024-03-08 00:00:00-05:00,1\n2024-03-11 00:00:00-04:00,2\n2024-03-12 04:00:00+00:00,3\n"
    days = [(row.date, row.close) for row in parse(text).rows]
    assert days == [("2024-03-08", "1"), ("2024-03-11", "2"), ("2024-03-12", "3")]


@run_each_case("name", SHAPES)
def test_file_of_a_vendor_is_read_without_loss(name: str) -> None:
    text, rows = SHAPES[name]
    price_file = parse(text)
    assert (price_file.rows, price_file.rejected_lines) == (rows, [])


@run_each_case("name", SHAPES)
def test_file_of_a_vendor_is_detected(name: str) -> None:
    assert document_kinds.detect_kind(SHAPES[name][0].encode(), "data") == "prices"


@run_each_case(
    "cell, price",
    [
        ("185.63999938964844", "185.63999938964844"),
        ("0.1234567890123456789012345678901234567890", "0.123456789012345678901234567890123456789"),
        ("1." + 299 * "0" + "7", "1." + 299 * "0" + "7"),
        ("1.05e1", "10.5"),
        ("1.1E+01", "11"),
        ("5e-2", "0.05"),
        ("8.5e-06", "0.0000085"),
        (".5", "0.5"),
        ("7.", "7"),
        ("+3.50", "3.5"),
        ("$1,234,567.80", "1234567.8"),
        ("1e3", "1000"),
    ],
)
def test_price_keeps_all_digits(cell: str, price: str) -> None:
    assert parse(f'date,close\n2024-01-02,"{cell}"\n').rows[0].close == price


@run_each_case(
    "cell, volume",
    [
        ("82496943", "82496943"),
        ("1.2e6", "1200000"),
        ("8.24969e+07", "82496900"),
        ("82.49M", "82490000"),
        ("1.5 K", "1500"),
        ("2.1b", "2100000000"),
        ("1,000.25", "1000.25"),
        ("1500.6", "1500.6"),
        ("0", "0"),
        ("N/A", None),
    ],
)
def test_volume_keeps_all_digits(cell: str, volume: str | None) -> None:
    assert parse(f'date,close,volume\n2024-01-02,1,"{cell}"\n').rows[0].volume == volume


@run_each_case(
    "cell",
    [
        "2024-01-02",
        "2024/01/02",
        "20240102",
        "2024-01-02 00:00:00",
        "2024-01-02 00:00:00-05:00",
        "2024-01-02 00:00:00-05",
        "2024-01-02 00:00:00+0000",
        "2024-1-2",
        "2024.01.02",
        "2024-01-02T00:00:00.000000000",
        "2024-01-02T00:00:00.000Z",
        "01/02/2024",
        "1/2/2024 16:00:00",
        "1/2/2024 4:00 PM",
        "Jan 2, 2024",
        "January 02, 2024",
        "Jan. 2, 2024",
        "Tue, Jan 2, 2024",
        "Tue, 02 Jan 2024 00:00:00 GMT",
        "Tuesday, January 2, 2024",
        "2 Jan 2024",
        "02-Jan-2024",
        "2-JAN-24",
        "02.01.2024",
        "1704153600",
        "1704205800.0",
        "1704205800.123456",
        "1704205800000",
        "1704205800000000000",
    ],
)
def test_day_may_be_written_in_several_ways(cell: str) -> None:
    assert [row.date for row in parse(f'date,close\n"{cell}",1\n').rows] == ["2024-01-02"]


def test_short_years_are_read_if_their_order_is_shown() -> None:
    price_file = parse("Date, Open, Close\n01/31/24, 1, 2\n01/02/24, 1, 3\n12/31/99, 1, 4\n")
    assert [(row.date, row.close) for row in price_file.rows] == [
        ("2024-01-31", "2"),
        ("2024-01-02", "3"),
        ("1999-12-31", "4"),
    ]


@run_each_case(
    "text, reason",
    [
        (
            "date,close\n01/02/24,1\n01/03/24,1\n",
            "file: its dates, such as 01/02/24, do not show whether the month or the day comes first",
        ),
        (
            "date,close\n31/01/24,1\n01/03/24,1\n",
            "file: its dates, such as 01/02/24, do not show whether the month or the day comes first",
        ),
        (
            "Datetime,Close\n2024-01-02 09:30:00-05:00,1\n2024-01-02 10:30:00-05:00,2\n2024-01-03 09:30:00-05:00,3\n",
            "file: has several rows for 2024-01-02: bars of less than a day are not read",
        ),
        (
            "timestamp,close\n1704205800,1\n1704205860,1\n",
            "file: has several rows for 2024-01-02: bars of less than a day are not read",
        ),
        (
            "Date,Time,Close\n2024-01-02,15:35:00,1\n2024-01-02,15:40:00,1\n",
            "file: has several rows for 2024-01-02: bars of less than a day are not read",
        ),
        (
            "<TICKER>,<PER>,<DATE>,<TIME>,<CLOSE>\nX.US,5,20240102,153500,1\n",
            "file: line 2: a row of the period '5': only days (D) are read",
        ),
        (
            "Price,Close\nTicker,X\nDate,\n",
            "file: contains no prices",
        ),
        (
            "Price,Close,Close\nTicker,X,X\nDate,,\n2024-01-02,1,2\n",
            "file: line 1: two columns have the header of close",
        ),
        (
            "Price;Close;Close\nTicker;X;Y\nDate;;\n2024-01-02;1,0;358,50\n",
            "file: line 4: the number '1,0' has a decimal comma; write decimals with a point",
        ),
        (
            'Date,Close\n2024-01-02,"1.234,56"\n',
            "file: line 2: the number '1.234,56' has a decimal comma; write decimals with a point",
        ),
        (
            'Date,Close\n2024-01-02,"0,123"\n',
            "file: line 2: the number '0,123' has a decimal comma; write decimals with a point",
        ),
        (
            'Date,Close,Volume\n2024-01-02,1,"82,49M"\n',
            "file: line 2: the number '82,49' has a decimal comma; write decimals with a point",
        ),
        (
            "Date;Close\n2024-01-02;12,345\n2024-01-03;12,500\n",
            "file: its numbers, such as 12,345, do not show whether the comma separates decimals or thousands",
        ),
        (
            'Date,Close,Volume\n02.01.2024,"12,345",7\n',
            "file: its numbers, such as 12,345, do not show whether the comma separates decimals or thousands",
        ),
        (
            "Date,C,V\n2024-01-02,55.1,260.2\n",
            "file: line 1: needs a column of dates and one of closes, dividends or splits",
        ),
        ("open_time,close_time\n1,2\n", "file: line 1: needs a column of dates and one of closes, dividends or splits"),
    ],
)
def test_file_that_would_be_misread_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse(text)
    assert str(refused.value) == reason


def test_header_of_many_joints_is_not_split() -> None:
    start = time.process_time()
    with pytest.raises(ParseError, match="needs a column of dates and one of closes, dividends or splits"):
        parse("date," + "a_" * 20_000 + "A\n2024-01-02,1.5\n")
    assert time.process_time() - start < 1


def test_header_of_many_tickers_is_bounded() -> None:
    header = ",".join(f"Close_T{number}" for number in range(1_001))
    with pytest.raises(ParseError, match="columns of more than 1000 tickers"):
        parse(f"Date,{header}\n2024-01-02,{'1,' * 1_001}\n")


@run_each_case(
    "text",
    [
        "a,b,c\n1,2,3\n",
        ",AAPL,MSFT\n2024-01-02,1,2\n",
        "<TICKER> is not a table\n",
        "Name,Last update\nx,y\n",
        "Price,Amount\nTicker,1\n",
    ],
)
def test_other_tables_are_not_detected_as_prices(text: str) -> None:
    assert document_kinds.detect_kind(text.encode(), "data.csv") == "unknown"
