"""The SEC's lists of tickers, and the spelling of tickers."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.tickers import TickerRow, normalise, normalise_prefix, parse_company_tickers, parse_symbols
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

EDGAR = SHARED / "edgar"

LIST = b"""{"0":{"cik_str":1067983,"ticker":"BRK-B","title":"BERKSHIRE HATHAWAY INC"},
            "1":{"cik_str":1067983,"ticker":"BRK-A","title":"BERKSHIRE HATHAWAY INC"}}"""
TABLE = b"""{"fields":["cik","name","ticker","exchange"],
             "data":[[1067983,"BERKSHIRE HATHAWAY INC","BRK-B","NYSE"],[1750,"AAR CORP","air",null]]}"""


@run_each_case(
    "ticker, normalised",
    [
        ("aapl", "AAPL"),
        ("brk.b", "BRK-B"),
        ("BRK/B", "BRK-B"),
        ("brk b", "BRK-B"),
        ("TWO-PC", "TWO-PC"),
        ("0A5J", "0A5J"),
    ],
)
def test_case_and_separators_are_normalised(ticker: str, normalised: str) -> None:
    assert normalise(ticker) == normalised


@run_each_case(
    "ticker", ["", "A" * 13, "AA\nPL", "AAPL\n", "AA_PL", "AÄPL", "ſ", "ı", "ß", "A\0", "ＡＡＰＬ", "'; --", "a:b"]
)
def test_other_text_is_not_a_ticker(ticker: str) -> None:
    with pytest.raises(ValueError, match="is not a ticker"):
        normalise(ticker)


@run_each_case(
    "written, symbols",
    [
        ("BRK.B", ("BRK-B",)),
        ("NYSE: BRK/B", ("BRK-B",)),
        ("[aapl]", ("AAPL",)),
        ("(NasdaqGS: AAPL)", ("AAPL",)),
        ("AAPL (NASDAQ)", ("AAPL",)),
        ("BRK.A, BRK.B", ("BRK-A", "BRK-B")),
        ("NYSE: BRK/A; NYSE: BRK/B", ("BRK-A", "BRK-B")),
        ("BRK A and BRK B", ("BRK-A", "BRK-B")),
        ("GOOG GOOGL", ("GOOG", "GOOGL")),
        ("LEN / LEN.B", ("LEN", "LEN-B")),
        ("AAPL, AAPL", ("AAPL",)),
        ("AAPL,", ("AAPL",)),
        ("BRKB US", ("BRKB",)),
        ("AAPL US Equity", ("AAPL",)),
        ("AAPL.US", ("AAPL",)),
        ("BRK B", ("BRK-B",)),
        ("REI.UN", ("REI-UN",)),
        ("0A5J", ("0A5J",)),
        ("0", ()),
        ("000", ()),
        ("-", ()),
        ("NONE", ()),
        ("N/A", ()),
        ("n/a, none", ()),
        ("NONE, AAPL", ("AAPL",)),
        ("AAPL, AAPL-W and others", ()),
        ("None (see below)", ()),
        ("None.", ()),
        ("AAPL.", ("AAPL",)),
        ("*BRK.B*;", ("BRK-B",)),
        ("", ()),
    ],
)
def test_symbols_of_a_filer_are_tickers(written: str, symbols: tuple[str, ...]) -> None:
    assert parse_symbols(written) == symbols


def test_list_of_fund_tickers_has_series_and_classes() -> None:
    table = b"""{"fields":["cik","seriesId","classId","symbol"],
        "data":[[2110,"S000009184","C000024954","LACAX"],[2110,"S000009184","C000024955",""]]}"""
    assert parse_company_tickers(table, "company_tickers_mf.json") == [
        TickerRow("0000002110", "LACAX", None, None, "S000009184", "C000024954")
    ]


@pytest.mark.parametrize("row", ['1,"S1","C000024954","A"', '1,"S000009184",5,"A"', '1,"S000009184","C000024954",5'])
def test_list_of_fund_tickers_with_another_id_is_refused(row: str) -> None:
    table = f'{{"fields":["cik","seriesId","classId","symbol"],"data":[[{row}]]}}'
    with pytest.raises(ParseError, match="data"):
        parse_company_tickers(table.encode(), "t.json")


def test_lines_of_tickers_are_read_without_a_cut_off_one() -> None:
    assert parse_company_tickers(b"aapl\t320193\r\nbrk-b\t1067983\nmsft\t7890", "ticker.txt") == [
        TickerRow("0000320193", "AAPL", None, None),
        TickerRow("0001067983", "BRK-B", None, None),
    ]
    for text in (b"aapl\t320193\naapl 1\n", b"aapl\t0\n", b"a_b\t1\n"):
        with pytest.raises(ParseError, match="line"):
            parse_company_tickers(text, "ticker.txt")


def test_prefix_of_a_ticker_may_be_any_text() -> None:
    assert [normalise_prefix(text) for text in (" brk.", "", "a_b")] == ["BRK-", "", "A_B"]


def test_rows_of_the_list_are_in_order() -> None:
    assert parse_company_tickers(LIST, "company_tickers.json") == [
        TickerRow("0001067983", "BRK-B", "BERKSHIRE HATHAWAY INC", None),
        TickerRow("0001067983", "BRK-A", "BERKSHIRE HATHAWAY INC", None),
    ]


def test_rows_of_the_table_with_exchanges_are_in_order() -> None:
    assert parse_company_tickers(TABLE, "company_tickers_exchange.json") == [
        TickerRow("0001067983", "BRK-B", "BERKSHIRE HATHAWAY INC", "NYSE"),
        TickerRow("0000001750", "AIR", "AAR CORP", None),
    ]


def test_columns_of_the_table_are_found_by_name() -> None:
    table = b'{"data":[["Nasdaq","AAPL",320193,"Apple Inc."]],"fields":["exchange","ticker","cik","name"]}'
    assert parse_company_tickers(table, "t.json") == [TickerRow("0000320193", "AAPL", "Apple Inc.", "Nasdaq")]


@run_each_case(
    "text, place",
    [
        (b"[]", "$"),
        (b'{"0":[]}', "$['0']"),
        (b'{"0":{"ticker":"A","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":true,"ticker":"A","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":1.0,"ticker":"A","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":0,"ticker":"A","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":12345678901,"ticker":"A","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":1,"ticker":null,"title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":1,"ticker":"A_B","title":"A"}}', "$['0']"),
        (b'{"0":{"cik_str":1,"ticker":"A","title":null}}', "$['0']"),
        (b'{"0":{"cik_str":1,"ticker":5,"title":"A"}}', "$['0']"),
        (b'{"fields":"cik","data":[]}', "$.fields"),
        (b'{"fields":["cik",1],"data":[]}', "$.fields"),
        (b'{"fields":["cik","name","ticker"]}', "$.data"),
        (b'{"fields":["cik","name","ticker"],"data":[[1,"A"]]}', "$.data[0]"),
        (b'{"fields":["cik","seriesId","classId","symbol"],"data":[[1,"S1","C1","A"]]}', "$.data[0]"),
        (b'{"fields":["cik","name","ticker","exchange"],"data":[[1,"A","A",5]]}', "$.data[0]"),
    ],
)
def test_list_of_another_shape_is_refused_with_its_place(text: bytes, place: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_company_tickers(text, "t.json")
    assert (raised.value.file, raised.value.place) == ("t.json", place)


def test_message_quotes_the_invalid_id_of_a_series() -> None:
    text = b'{"fields":["cik","seriesId","classId","symbol"],"data":[[1,"S1","C000000001","A"]]}'
    with pytest.raises(ParseError) as raised:
        parse_company_tickers(text, "t.json")
    assert str(raised.value) == "t.json: $.data[0]: seriesId 'S1' is not S and nine digits"


def test_list_cut_off_at_any_offset_is_refused() -> None:
    for text in (LIST, TABLE):
        for offset in range(len(text)):
            with pytest.raises(ParseError):
                parse_company_tickers(text[:offset], "t.json")


def test_real_list_has_9610_tickers() -> None:
    path = EDGAR / "company_tickers.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    rows = parse_company_tickers(path.read_bytes(), "company_tickers.json")
    assert len(rows) == 9610
    assert rows[0] == TickerRow("0000789019", "MSFT", "MICROSOFT CORP", None)
    assert len({row.ticker for row in rows}) == 9610
    assert len(rows) - len({row.cik for row in rows}) == 1691
    assert {row.ticker: row.cik for row in rows}["BRK-B"] == "0001067983"


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.text(max_size=15))
def test_normalised_ticker_does_not_change(text: str) -> None:
    with suppress(ValueError):
        assert normalise(normalise(text)) == normalise(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, database=None)
@given(
    st.dictionaries(
        st.sampled_from(["0", "fields", "data", "x"]),
        JSON
        | st.lists(JSON | st.just("ticker") | st.just("cik"))
        | st.fixed_dictionaries({"cik_str": JSON, "ticker": JSON}),
    )
)
def test_any_json_is_parsed_or_refused(document: object) -> None:
    with suppress(ParseError):
        parse_company_tickers(json.dumps(document).encode(), "t.json")


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.sampled_from([LIST, TABLE]), st.integers(0, 150), st.integers(0, 10), st.binary(max_size=6))
def test_damaged_list_is_parsed_or_refused(text: bytes, start: int, length: int, piece: bytes) -> None:
    with suppress(ParseError):
        parse_company_tickers(text[:start] + piece + text[start + length :], "t.json")
