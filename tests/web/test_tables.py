"""Rows as CSV and NDJSON."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

from finapi.web.http.tables import render_csv, render_ndjson
from tests.support.case_tables import run_each_case

ROWS = [
    {"ticker": "AAPL", "name": 'Apple "Inc."\nCupertino', "value": Decimal("11.91"), "list": ["a", 1], "ok": True},
    {"ticker": "=1+1", "name": None, "value": 0, "list": [], "ok": False},
]


def test_a_csv_has_a_header_and_quotes_special_cells() -> None:
    assert render_csv(list(ROWS[0]), ROWS).decode().split("\r\n") == [
        "ticker,name,value,list,ok",
        'AAPL,"Apple ""Inc.""\nCupertino",11.91,"[""a"",1]",true',
        "'=1+1,,0,[],false",
        "",
    ]


def test_a_csv_without_rows_is_its_header() -> None:
    assert render_csv(("a", "b"), []) == b"a,b\r\n"


def test_a_missing_figure_is_an_empty_cell() -> None:
    assert render_csv(("a", "b"), [{"a": None, "b": 0}]) == b"a,b\r\n,0\r\n"


def test_ndjson_has_one_object_per_line() -> None:
    assert render_ndjson([{"a": 1}, {"a": None}]) == b'{"a":1}\n{"a":null}\n'


@run_each_case("text", ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "=", "-1e", "+cmd"])
def test_a_text_that_looks_like_a_formula_is_quoted(text: str) -> None:
    rows = list(csv.reader(io.StringIO(render_csv(["a", "b"], [{"a": text, "b": f"x{text}"}]).decode(), newline="")))
    assert rows[1] == [f"'{text}", f"x{text}"]


@run_each_case("figure", ["-391035000000", "+1", "-0.5", "-1.5E-7", -5, -1.5, Decimal("-2.25")])
def test_a_figure_is_never_quoted_as_a_formula(figure: object) -> None:
    assert render_csv(["a"], [{"a": figure}]).decode() == f"a\r\n{figure}\r\n"
