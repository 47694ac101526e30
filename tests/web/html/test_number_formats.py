"""Number formats of pages."""

from __future__ import annotations

from decimal import Decimal

from finapi.web.html import number_formats
from tests.support.case_tables import run_each_case


@run_each_case(
    "value, written",
    [
        (Decimal(391_035_000_000), "391 bn"),
        (Decimal("-1.5"), "(1.5)"),
        (Decimal(0), "0"),
        (Decimal(2_500_000), "2.5 m"),
        (-50_000_000_000, "(50 bn)"),
        (Decimal(12_345), "12.3 k"),
    ],
)
def test_short_amounts_have_a_suffix(value: Decimal, written: str) -> None:
    assert number_formats.format_short(value) == written


@run_each_case(
    "most, places", [(10**11, 6), (10**8, 6), (10**8 - 1, 3), (10**5, 3), (99_999, 0), (0, 0), (-(10**9), 6)]
)
def test_the_scale_follows_the_greatest_number(most: int, places: int) -> None:
    assert number_formats.choose_scale([Decimal(most), None]).exponent == places


def test_small_amounts_keep_a_digit() -> None:
    assert number_formats.format_money(Decimal(400_000), number_formats.MILLIONS) == "0.4"
    assert number_formats.format_money(Decimal(-1_400_000), number_formats.MILLIONS) == "(1)"
