"""The figures of the SEC's Financial Statement Data Sets: rows of the table num as values."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import statement_sets
from tests.support.case_tables import run_each_case
from tests.support.statement_set_tables import NUM, TAGS, table


def test_header_that_names_a_column_twice_is_refused() -> None:
    with pytest.raises(ParseError, match="twice"):
        statement_sets.DataSetTable(iter([b"adsh\tadsh"]), "num.txt", ())


def test_without_the_tag_table_units_follow_from_names() -> None:
    line = table([NUM | {"tag": "IncomeLossFromContinuingOperationsPerBasicShare", "qtrs": "1"}]).splitlines()
    num_table = statement_sets.DataSetTable(iter(line), "num.txt", statement_sets.NUM_COLUMNS)
    (context_figures,) = statement_sets.NumReader(num_table, {}).read_figures(num_table.decode_lines(line[1])).values()
    assert list(context_figures) == [("us-gaap:IncomeLossFromContinuingOperationsPerBasicShare", "USD/shares")]
    assert len(TAGS) == 3


def parse_figures(*rows: Mapping[str, str]) -> statement_sets.Figures:
    header, body = table(list(rows)).split(b"\n", 1)
    num_table = statement_sets.DataSetTable(iter([header]), "num.txt", statement_sets.NUM_COLUMNS)
    return statement_sets.NumReader(num_table, {}).read_figures(num_table.decode_lines(body))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_two_rows_of_a_figure_the_longer_value_is_used(is_reversed: bool) -> None:
    row = NUM | {"segments": "A=1;B=2;", "value": "12.5000"}
    other = NUM | {"segments": "B=2;A=1;", "value": "13.0000"}
    empty = NUM | {"segments": "A=1;B=2;", "value": ""}
    rows = [row, other, empty]
    context = (None, "2009-06-30", (("A", "1"), ("B", "2")))
    assert parse_figures(*(rows[::-1] if is_reversed else rows)) == {context: {("us-gaap:Assets", "USD"): "12.5"}}


@run_each_case(
    "value, plain",
    [
        ("0.0000", "0"),
        ("-0.0000", "0"),
        ("-0", "0"),
        ("", None),
        ("100.0000", "100"),
        ("100", "100"),
        ("-8.4200", "-8.42"),
        ("0.0001", "0.0001"),
        ("1" * 40, "1" * 40),
    ],
)
def test_padding_zeros_of_a_value_are_removed(value: str, plain: str | None) -> None:
    assert parse_figures(NUM | {"value": value}) == {(None, "2009-06-30", ()): {("us-gaap:Assets", "USD"): plain}}


def test_a_full_parse_cache_does_not_change_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_sets, "MAX_CACHED", 2)
    rows = [NUM | {"tag": f"Tag{n % 5}", "segments": f"A={n % 3};", "value": str(n)} for n in range(15)]
    assert parse_figures(*rows) == {
        (None, "2009-06-30", (("A", str(m)),)): {
            (f"us-gaap:Tag{n % 5}", "USD"): str(n) for n in range(15) if n % 3 == m
        }
        for m in range(3)
    }
