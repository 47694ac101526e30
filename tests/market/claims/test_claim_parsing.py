"""The values, units and periods of claims."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finapi.core import days
from finapi.market.claims.claimed_periods import ClaimedPeriod, parse_period
from finapi.market.claims.claimed_values import ClaimedUnit, parse_unit, parse_value


@pytest.mark.parametrize(
    ("text", "amount", "margin", "digit_count", "unit"),
    [
        ("394.3 billion", "394300000000", "50000000", 4, None),
        ("394,328 million", "394328000000", "500000", 6, None),
        ("$394.3bn", "394300000000", "50000000", 4, None),
        ("USD 394.3 billion", "394300000000", "50000000", 4, "USD"),
        ("EUR 5.2m", "5200000", "50000", 2, "EUR"),
        ("5.2 million shares", "5200000", "50000", 2, "shares"),
        ("394328000000", "394328000000", "500000", 6, None),
        ("390 billion", "390000000000", "5000000000", 2, None),
        ("400000000000", "400000000000", "5000000000", 2, None),
        ("5 billion", "5000000000", "500000000", 1, None),
        ("394.0 billion", "394000000000", "50000000", 4, None),
        ("(1,234)", "-1234", "0.5", 4, None),
        ("$(1.2) million", "-1200000", "50000", 2, None),
        ("-$5", "-5", "0.5", 1, None),
        ("\u22123.10", "-3.10", "0.005", 3, None),
        ("+5", "5", "0.5", 1, None),
        ("$6.11 per share", "6.11", "0.005", 3, None),
        ("6.11 USD/share", "6.11", "0.005", 3, "USD/shares"),
        ("24.5%", "0.245", "0.0005", 3, "ratio"),
        ("1.5e9", "1500000000", "50000000", 2, None),
        (".5", "0.5", "0.05", 1, None),
        ("1.25x", "1.25", "0.005", 3, "ratio"),
        ("0", "0", "0", 0, None),
        ("0.0", "0", "0.05", 0, None),
    ],
)
def test_the_digits_of_a_value_set_its_margin(
    text: str, amount: str, margin: str, digit_count: int, unit: str | None
) -> None:
    value, value_unit = parse_value(text)
    assert (value.amount, value.margin, value.digit_count) == (Decimal(amount), Decimal(margin), digit_count)
    assert value_unit.name == unit


@pytest.mark.parametrize(
    "text",
    ["", "about five", "5 6", "1,23", "12,345,67", "5-6", "--5", "(5", "5 bananas", "billion", "1e99", "5 m m", "1e"],
)
def test_a_text_that_is_not_one_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_value(text)


@pytest.mark.parametrize(
    ("text", "name", "exponent"),
    [
        ("USD", "USD", 0),
        ("usd million", "USD", 6),
        ("millions of USD", "USD", 6),
        ("USD in millions", "USD", 6),
        ("in thousands of EUR", "EUR", 3),
        ("USD per share", "USD/shares", 0),
        ("$", "USD", 0),
        ("shares", "shares", 0),
        ("thousand shares", "shares", 3),
        ("%", "ratio", -2),
        ("basis points", "ratio", -4),
        ("billion", None, 9),
    ],
)
def test_a_unit_may_contain_a_scale(text: str, name: str | None, exponent: int) -> None:
    assert parse_unit(text) == ClaimedUnit(name, exponent)


@pytest.mark.parametrize("text", ["", "bananas", "USD EUR", "5"])
def test_an_unknown_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_unit(text)


START, END = days.number("2022-09-25"), days.number("2023-09-30")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        *(
            (text, ClaimedPeriod("A", 2023, "FY"))
            for text in ("2023", "FY2023", "FY 23", "fiscal year 2023", "2023 FY")
        ),
        *(
            (text, ClaimedPeriod("Q", 2023, "Q3"))
            for text in ("Q3 2023", "2023-Q3", "2023Q3", "3Q23", "q3'23", "Q3 FY23")
        ),
        ("9M 2023", ClaimedPeriod("YTD", 2023, "Q3")),
        ("H1 2023", ClaimedPeriod("YTD", 2023, "Q2")),
        ("YTD Q2 2023", ClaimedPeriod("YTD", 2023, "Q2")),
        ("TTM Q3 2023", ClaimedPeriod("TTM", 2023, "Q3")),
        ("LTM 2023", ClaimedPeriod("TTM", 2023, "Q4")),
        ("TTM 2023-09-30", ClaimedPeriod("TTM", end=END)),
        ("2023-09-30", ClaimedPeriod(end=END)),
        ("year ended 2023-09-30", ClaimedPeriod("A", end=END)),
        ("quarter ended 2023-09-30", ClaimedPeriod("Q", end=END)),
        *((f"2022-09-25{sign}2023-09-30", ClaimedPeriod(start=START, end=END)) for sign in ("..", "/", " to ", " - ")),
    ],
)
def test_a_period_is_written_in_several_ways(text: str, period: ClaimedPeriod) -> None:
    assert parse_period(text) == period


@pytest.mark.parametrize(
    "text", ["", "23", "202", "Q5 2023", "H2 2023", "2023-02-30", "2023-09-30..2022-09-25", "last year", "TTM"]
)
def test_a_text_that_is_not_a_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_period(text)
