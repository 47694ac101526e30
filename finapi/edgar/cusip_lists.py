"""The parsers of the SEC's two files that name securities by CUSIP.

Fails-to-deliver (``cnsfails*.txt``) has one line for each security and settlement day, with columns separated by bars::

    SETTLEMENT DATE|CUSIP|SYMBOL|QUANTITY (FAILS)|DESCRIPTION|PRICE
    20260401|037833100|AAPL|1200|APPLE INC|201.50

The list of 13F securities (``13flist*.txt``) has one line of at most 80 characters for each security, with the CUSIP in
columns 1 to 9, the issuer in 11 to 40, the title in 41 to 67 and the status from column 68 on.

A line that cannot be parsed is skipped and reported in a message. The other lines are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from finapi.core import days
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import cusip, tickers

FAILS_TO_DELIVER_HEADER = b"SETTLEMENT DATE|CUSIP|SYMBOL|"
_TRAILER = "Trailer "

_MIN_LINE_LENGTH = 41
_MAX_LINE_LENGTH = 80
_OPTION_TITLES = {"CALL", "PUT"}
_STATUSES = {"": "listed", "*A*": "added", "*D*": "deleted", "ADDED": "added", "DELETED": "deleted"}

MAX_ROWS = 2_000_000
# The first invalid lines have a message each. The others are only counted.
MAX_NAMED_LINES = 10


class UndeliveredSecurity(NamedTuple):
    """A security with failed deliveries, with its name and its symbol as the SEC writes it (``BRKB``).

    ``as_of`` is the settlement day of the line that name and symbol are from.
    """

    cusip: str
    symbol: str
    name: str
    as_of: str


class ListedSecurity(NamedTuple):
    """A security in the list of 13F securities. ``status`` is listed, added or deleted."""

    cusip: str
    issuer: str
    title: str
    status: str


def is_13f_list_line(line: bytes) -> bool:
    """Return True if a line is from the list of 13F securities."""
    text = line.rstrip(b"\r\n").decode("latin-1")
    # Newer lists have the type of the security in the last columns, older lists end with the status.
    if not _MIN_LINE_LENGTH <= len(text) <= _MAX_LINE_LENGTH:
        return False
    try:
        return text[9] in " *" and text[10] != " " and cusip.validate(text[:9]) == text[:9]
    except ValueError:
        return False


def parse_fails_to_deliver(content: bytes, file: str) -> tuple[list[UndeliveredSecurity], list[str]]:
    """Return the securities of a fails-to-deliver file, each from its latest line, and messages about invalid lines.

    Raise ParseError if the file has too many lines.
    """
    securities: dict[str, UndeliveredSecurity] = {}

    def add_line(line: str) -> None:
        """Add the security of a line. Raise ValueError if a column is missing or invalid."""
        if line.count("|") < 4:
            raise ValueError("has fewer than 5 columns")
        day, number, symbol, _, name, *_ = line.split("|")
        security = UndeliveredSecurity(
            as_of=days.validate(f"{day[:4]}-{day[4:6]}-{day[6:]}"),
            cusip=cusip.validate(number),
            symbol=tickers.normalise(symbol.strip()),
            name=name.strip()[:200],
        )
        previous = securities.get(security.cusip)
        if previous is None or previous.as_of <= security.as_of:
            securities[security.cusip] = security

    messages = _add_lines(content, file, add_line, header_lines=1)
    return list(securities.values()), messages


def parse_13f_list(content: bytes, file: str) -> tuple[list[ListedSecurity], list[str]]:
    """Return the securities of a list of 13F securities, without options, and messages about invalid lines.

    Raise ParseError if the file has too many lines.
    """
    securities: dict[str, ListedSecurity] = {}

    def add_line(line: str) -> None:
        """Add the security of a line, unless it is an option. Raise ValueError if the line is invalid."""
        issuer = line[10:40].strip()
        title = line[40:67].strip()
        if title.upper() in _OPTION_TITLES:
            return  # The CUSIPs of options in this list are inventions of the SEC.
        status = _STATUSES.get(line[67:78].strip())
        if status is None or not issuer:
            raise ValueError("is not a line of the 13F list")
        number = cusip.validate(line[:9])
        securities[number] = ListedSecurity(cusip=number, issuer=issuer, title=title, status=status)

    messages = _add_lines(content, file, add_line, header_lines=0)
    return list(securities.values()), messages


def _add_lines(content: bytes, file: str, add_line: Callable[[str], None], header_lines: int) -> list[str]:
    """Call ``add_line`` for every line. Return messages: how many lines it refused, and why for the first ones."""
    messages: list[str] = []
    refused_count = 0
    for number, line in _iter_lines(content):
        if number <= header_lines or not line.strip() or line.startswith(_TRAILER):
            continue
        if number > MAX_ROWS:
            raise ParseError(file, f"line {number}", f"more than {MAX_ROWS} lines")
        try:
            add_line(line)
        except ValueError as error:
            refused_count += 1
            if refused_count <= MAX_NAMED_LINES:
                messages.append(f"line {number}: {error}")
    return [format_count(refused_count, "row is left out", "rows are left out"), *messages] if refused_count else []


def _iter_lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without a list of all of them in memory."""
    position = 0
    number = 0
    while position < len(content):
        end = content.find(b"\n", position)
        end = len(content) if end < 0 else end
        number += 1
        yield number, content[position:end].rstrip(b"\r").decode("latin-1")
        position = end + 1
