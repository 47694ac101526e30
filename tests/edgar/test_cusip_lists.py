"""The SEC's files that name securities by CUSIP: fails-to-deliver and the list of 13F securities."""

from __future__ import annotations

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import cusip_lists
from tests.support.case_tables import run_each_case

HEADER = b"SETTLEMENT DATE|CUSIP|SYMBOL|QUANTITY (FAILS)|DESCRIPTION|PRICE\n"
ROW = b"20250103|037833100|AAPL|1|APPLE INC|243.85\n"


# ---- fails-to-deliver


def test_security_is_taken_from_its_latest_line() -> None:
    rows = (
        b"20250103|037833100|AAPL|1|APPLE INC|243.85\n",
        b"20250102|037833100|APPL|1|APPLE|243.85\n",
        b"20250103|037833100|AAPL|2|APPLE INC.|243.85\n",
    )
    security = cusip_lists.UndeliveredSecurity(cusip="037833100", symbol="AAPL", name="APPLE INC.", as_of="2025-01-03")
    content = HEADER + b"".join(rows) + b"Trailer record count 3\n"
    assert cusip_lists.parse_fails_to_deliver(content, "f") == ([security], [])


def test_row_needs_a_name_but_no_price() -> None:
    securities, messages = cusip_lists.parse_fails_to_deliver(HEADER + b"20250103|037833100|AAPL|1|APPLE INC\n", "f")
    assert (len(securities), messages) == (1, [])
    securities, messages = cusip_lists.parse_fails_to_deliver(HEADER + b"20250103|037833100|AAPL|1\n", "f")
    assert (securities, messages) == ([], ["1 row is left out", "line 2: has fewer than 5 columns"])


@pytest.mark.parametrize("count", [10, 12])
def test_first_ten_invalid_rows_are_named_and_all_counted(count: int) -> None:
    securities, messages = cusip_lists.parse_fails_to_deliver(HEADER + b"x\n" * count, "f")
    assert securities == []
    assert messages[0] == f"{count:,} rows are left out"
    assert [message.partition(":")[0] for message in messages[1:]] == [f"line {number}" for number in range(2, 12)]


def test_more_lines_than_any_file_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cusip_lists, "MAX_ROWS", 3)
    assert cusip_lists.parse_fails_to_deliver(HEADER + ROW * 2, "f")[1] == []
    with pytest.raises(ParseError, match="line 4: more than 3 lines"):
        cusip_lists.parse_fails_to_deliver(HEADER + ROW * 3, "f")


# ---- the list of 13F securities


def list_line(number: bytes, name: bytes, title: bytes, status: bytes = b"") -> bytes:
    """Return a line of the list with its fields padded to their columns."""
    return number.ljust(10) + name.ljust(30) + title.ljust(27) + status.ljust(11) + b"E\n"


def test_list_is_split_at_its_columns() -> None:
    content = (
        b"\n"
        + list_line(b"037833100", b"APPLE INC", b"COM")
        + list_line(b"00206R102*", b"AT&T INC", b"COM", b"ADDED")
        + list_line(b"594918104", b"MICROSOFT CORP", b"COM", b"*D*")
        + list_line(b"037833900", b"APPLE INC", b"CALL")
        + list_line(b"037833101", b"APPLE INC", b"COM")
        + list_line(b"023135106", b"AMAZON COM INC", b"COM", b"GONE")
        + list_line(b"023135106", b"", b"COM")
    )
    securities, messages = cusip_lists.parse_13f_list(content, "f")
    assert [tuple(security) for security in securities] == [
        ("037833100", "APPLE INC", "COM", "listed"),
        ("00206R102", "AT&T INC", "COM", "added"),
        ("594918104", "MICROSOFT CORP", "COM", "deleted"),
    ]
    assert messages == [
        "3 rows are left out",
        "line 6: the check digit of 037833101 is wrong",
        "line 7: is not a line of the 13F list",
        "line 8: is not a line of the 13F list",
    ]


@run_each_case(
    "line, expected",
    [
        (list_line(b"037833100", b"APPLE INC", b"COM"), True),
        (list_line(b"037833100*", b"APPLE INC", b"COM"), True),
        (b"037833100 " + b"A" * 31 + b"\n", True),
        (b"037833100 " + b"A" * 30 + b"\n", False),
        (b"037833100 " + b"A" * 70 + b"\r\n", True),
        (b"037833100 " + b"A" * 71 + b"\n", False),
        (b"037833100x" + b"A" * 40 + b"\n", False),
        (b"037833100  " + b"A" * 40 + b"\n", False),
        (list_line(b"037833101", b"APPLE INC", b"COM"), False),
        (list_line(b"", b"APPLE INC", b"COM"), False),
    ],
)
def test_lines_of_the_list_are_recognised(line: bytes, expected: bool) -> None:
    assert cusip_lists.is_13f_list_line(line) is expected
