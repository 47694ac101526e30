"""CUSIP numbers: check digits and spellings."""

from __future__ import annotations

import pytest

from finapi.edgar import cusip
from tests.support.case_tables import run_each_case


@run_each_case(
    "number",
    [
        "037833100",
        "594918104",
        "023135106",
        "02079K107",
        "02079K305",
        "46434G822",
        "46625H100",
        "78462F103",
        "17275R102",
        "G0083B108",
        "G1151C101",
        "N07059210",
    ],
)
def test_real_cusips_have_the_right_check_digit(number: str) -> None:
    assert cusip.compute_check_digit(number[:8]) == number[8]
    assert [digit for digit in "0123456789" if cusip.is_valid(number[:8] + digit)] == [number[8]]


@pytest.mark.parametrize("text", ["037833101", "03783310", ""])
def test_wrong_digit_or_length_is_not_valid(text: str) -> None:
    assert not cusip.is_valid(text)


@run_each_case(
    "text, normalised",
    [
        (" 02079k107 ", "02079K107"),
        ("037 833 100", "037833100"),
        ("037833 10 0", "037833100"),
        ("37833100", "037833100"),
        ("2824100", "002824100"),
        # Without a right check digit nothing proves that zeros are missing.
        ("2824101", "2824101"),
        ("12345", "12345"),
    ],
)
def test_normalise_restores_zeros_that_the_digit_proves(text: str, normalised: str) -> None:
    assert cusip.normalise(text) == normalised


@run_each_case("text", ["", "0378331000", "03783310-", "03783310!", "Ö37833100", "\uff10"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a CUSIP"):
        cusip.normalise(text)


def test_validate_requires_the_right_check_digit() -> None:
    assert cusip.validate("37833100") == "037833100"
    with pytest.raises(ValueError, match="the check digit of 037833101 is wrong"):
        cusip.validate("037833101")


@run_each_case(
    "text, is_placeholder",
    [
        ("000000000", True),
        ("XXXXXXXXX", True),
        ("123456789", True),
        ("N/A", True),
        ("NONE00000", True),
        ("00NA99", True),
        ("not avail", True),
        ("037833100", False),
        ("USD378331", False),
        ("99A000001", False),
        ("0ABC00000", False),
    ],
)
def test_a_placeholder_has_no_number_of_an_issuer(text: str, is_placeholder: bool) -> None:
    assert cusip.is_placeholder(text) is is_placeholder
