"""Tests of days as texts and as numbers."""

from __future__ import annotations

from datetime import date

import pytest

from finapi.core import days
from tests.support.case_tables import run_each_case


@run_each_case(
    "text, number", [("1970-01-01", 0), ("1969-12-31", -1), ("2024-02-29", 19_782), ("9999-12-31", 2_932_896)]
)
def test_a_day_has_a_text_and_a_number(text: str, number: int) -> None:
    assert days.number(text) == number
    assert days.iso(number) == text


@run_each_case("text", ["", "20240131", "2024-W05-3", "2024-1-31", " 2024-01-31", "٢٠٢٤-01-31"])
def test_what_is_no_day_is_refused(text: str) -> None:
    assert not days.is_day(text)
    with pytest.raises(ValueError, match="is not a date"):
        days.validate(text)


def test_a_day_that_the_calendar_lacks_is_refused() -> None:
    assert not days.is_day("2023-02-29")


def test_a_day_is_read() -> None:
    assert days.is_day("2024-02-29")
    assert days.validate("2024-02-29") == "2024-02-29"
    assert days.parse("2024-02-29") == date(2024, 2, 29)


def test_a_period_counts_both_its_ends() -> None:
    assert days.count_days("2024-01-01", "2024-12-31") == 366
    assert days.count_days("2024-12-31", "2024-12-31") == 1
    assert days.count_days(None, "2024-12-31") == 0


def test_a_day_is_shifted_over_the_ends_of_months_and_years() -> None:
    assert days.shift("2024-03-01", -1) == "2024-02-29"
    assert days.shift("2023-12-31", 1) == "2024-01-01"
    with pytest.raises(OverflowError):
        days.shift("9999-12-31", 1)
