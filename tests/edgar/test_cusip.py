"""CUSIPs: their check digit, how they are written, and the files of the SEC that list them."""

from __future__ import annotations

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import cusip

HEAD = b"SETTLEMENT DATE|CUSIP|SYMBOL|QUANTITY (FAILS)|DESCRIPTION|PRICE\n"


@pytest.mark.parametrize(
    "text", ["037833100", "594918104", "023135106", "02079K305", "46625H100", "G0083B108", "N07059210", "17275R102"]
)
def test_the_check_digit_of_cusips_in_use(text: str) -> None:
    assert cusip.is_valid(text)
    assert [one for one in "0123456789" if cusip.is_valid(text[:8] + one)] == [text[8]]


@pytest.mark.parametrize(
    ("text", "written"),
    [("37833100", "037833100"), (" 02079k305 ", "02079K305"), ("037 833 100", "037833100"), ("12345", "12345")],
)
def test_zeros_that_a_spreadsheet_took_away_are_put_back_where_the_digit_proves_it(text: str, written: str) -> None:
    assert cusip.normalise(text) == written


@pytest.mark.parametrize("text", ["", "0378331000", "03783310-", "\uff10"])
def test_what_cannot_be_a_cusip_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a CUSIP"):
        cusip.normalise(text)


def test_of_a_security_that_failed_on_several_days_the_last_stands() -> None:
    rows = (
        b"20250103|037833100|AAPL|1|APPLE INC|243.85\n",
        b"20250102|037833100|APPL|1|APPLE|243.85\n",
        b"20250103|037833100|AAPL|2|APPLE INC.|243.85\n",
    )
    last = cusip.FailedSecurity("037833100", "AAPL", "APPLE INC.", "2025-01-03")
    assert cusip.parse_fails_to_deliver(HEAD + b"".join(rows) + b"Trailer record count 3\n", "f") == ([last], [])


@pytest.mark.parametrize("columns", [4, 5])
def test_a_row_needs_its_name_but_not_its_price(columns: int) -> None:
    row = b"|".join(b"20250103|037833100|AAPL|1|APPLE INC".split(b"|")[:columns])
    found, wrong = cusip.parse_fails_to_deliver(HEAD + row + b"\n", "f")
    assert (len(found), wrong) == ((1, []) if columns == 5 else (0, wrong))
    assert wrong == ([] if columns == 5 else ["1 rows are left out", "line 2: has fewer than 5 columns"])


@pytest.mark.parametrize(("count", "told"), [(10, 10), (12, 10)])
def test_the_first_ten_wrong_rows_are_named_and_all_counted(count: int, told: int) -> None:
    found, wrong = cusip.parse_fails_to_deliver(HEAD + b"x\n" * count, "f")
    assert found == []
    assert wrong[0] == f"{count} rows are left out"
    assert [one.partition(":")[0] for one in wrong[1:]] == [f"line {number}" for number in range(2, told + 2)]


def test_more_lines_than_any_file_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = b"20250103|037833100|AAPL|1|APPLE INC|243.85\n"
    monkeypatch.setattr(cusip, "MAX_ROWS", 3)
    assert cusip.parse_fails_to_deliver(HEAD + row * 2, "f")[1] == []
    with pytest.raises(ParseError, match="line 4: more than 3 lines"):
        cusip.parse_fails_to_deliver(HEAD + row * 3, "f")


def line(number: bytes, name: bytes, title: bytes, status: bytes = b"") -> bytes:
    """A line of the list of 13F securities, in its columns."""
    return number.ljust(10) + name.ljust(30) + title.ljust(27) + status.ljust(11) + b"E\n"


def test_the_list_of_13f_securities_by_its_columns() -> None:
    data = (
        b"\n"
        + line(b"037833100", b"APPLE INC", b"COM")
        + line(b"00206R102*", b"AT&T INC", b"COM", b"ADDED")
        + line(b"594918104", b"MICROSOFT CORP", b"COM", b"*D*")
        + line(b"037833900", b"APPLE INC", b"CALL")
        + line(b"037833101", b"APPLE INC", b"COM")
        + line(b"023135106", b"AMAZON COM INC", b"COM", b"GONE")
        + line(b"023135106", b"", b"COM")
    )
    found, wrong = cusip.parse_13f_list(data, "f")
    assert [tuple(one) for one in found] == [
        ("037833100", "APPLE INC", "COM", "listed"),
        ("00206R102", "AT&T INC", "COM", "added"),
        ("594918104", "MICROSOFT CORP", "COM", "deleted"),
    ]
    assert wrong == [
        "3 rows are left out",
        "line 6: the check digit of 037833101 is wrong",
        "line 7: not a line of the list",
        "line 8: not a line of the list",
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (line(b"037833100", b"APPLE INC", b"COM"), True),
        (line(b"037833100*", b"APPLE INC", b"COM"), True),
        (b"037833100 " + b"A" * 31 + b"\n", True),
        (b"037833100 " + b"A" * 30 + b"\n", False),
        (b"037833100 " + b"A" * 70 + b"\r\n", True),
        (b"037833100 " + b"A" * 71 + b"\n", False),
        (b"037833100x" + b"A" * 40 + b"\n", False),
        (b"037833100  " + b"A" * 40 + b"\n", False),
        (line(b"037833101", b"APPLE INC", b"COM"), False),
        (line(b"", b"APPLE INC", b"COM"), False),
    ],
)
def test_what_is_a_line_of_the_list(text: bytes, is_one: bool) -> None:
    assert cusip.is_13f_list_line(text) is is_one
