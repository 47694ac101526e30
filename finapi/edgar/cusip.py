"""CUSIP numbers: nine characters that name a security, the last of them a check digit (ANSI X9.6).

And the SEC's own files of them: fails-to-deliver (``cnsfails*.txt``), a line a security and settlement day with its
symbol and name of that day, and the list of 13F securities (``13flist*.txt``), a line of 80 characters a security. A
line that is neither is left out and told with its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import tickers

_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*@#"
# The digits of a character's worth, and of twice of it, added up.
_ONCE = {character: worth // 10 + worth % 10 for worth, character in enumerate(_CHARACTERS)}
_TWICE = {character: 2 * worth // 10 + 2 * worth % 10 for worth, character in enumerate(_CHARACTERS)}
_SHAPE = re.compile(r"[0-9A-Z*@#]{1,9}")


def compute_check_digit(base: str) -> str:
    """The digit that follows the first eight characters: every second one counts twice, digit by digit."""
    total = sum(map(_ONCE.__getitem__, base[::2])) + sum(map(_TWICE.__getitem__, base[1::2]))
    return str(-total % 10)


@lru_cache(maxsize=50_000)
def is_valid(text: str) -> bool:
    """Whether a folded text is a whole CUSIP whose check digit is right."""
    return len(text) == 9 and compute_check_digit(text[:8]) == text[8]


def normalise(text: str) -> str:
    """A CUSIP as finapi writes it: upper case, without spaces, with the zeros that a spreadsheet took away.

    ValueError for what is not 1 to 9 of the characters that a CUSIP may hold. Whether it is valid is another
    question: filers mistype them, and a row with a wrong one is still a row.
    """
    folded = "".join(text.split()).upper() if text.isascii() else ""
    if not _SHAPE.fullmatch(folded):
        raise ValueError(f"{text[:40]!r} is not a CUSIP")
    whole = folded.zfill(9)
    return whole if is_valid(whole) else folded


def validate(text: str) -> str:
    """A CUSIP as finapi writes it, its check digit right; ValueError for anything else."""
    folded = normalise(text)
    if not is_valid(folded):
        raise ValueError(f"the check digit of {folded} is wrong")
    return folded


# ---- the SEC's files

FAILS_TO_DELIVER_HEADER = b"SETTLEMENT DATE|CUSIP|SYMBOL|"
_TRAILER = "Trailer "
_LINE = 80
_OPTIONS = {"CALL", "PUT"}
_STATUS = {"": "listed", "*A*": "added", "*D*": "deleted", "ADDED": "added", "DELETED": "deleted"}
MAX_ROWS = 2_000_000
_TOLD = 10


class FailedSecurity(NamedTuple):
    """A security that failed to be delivered: its symbol, as the SEC writes it (``BRKB``), and name of a day."""

    cusip: str
    symbol: str
    name: str
    as_of: str


class ListedSecurity(NamedTuple):
    """A security of the list of 13F securities: ``status`` is listed, added or deleted."""

    cusip: str
    issuer: str
    title: str
    status: str


def is_13f_list_line(line: bytes) -> bool:
    """Whether a line is one of the list of 13F securities."""
    text = line.rstrip(b"\r\n").decode("latin-1")
    # The type of a security stands in the last column; older lists end with the status.
    try:
        return 41 <= len(text) <= _LINE and text[9] in " *" and text[10] != " " and validate(text[:9]) == text[:9]
    except ValueError:
        return False


def parse_fails_to_deliver(data: bytes, file: str) -> tuple[list[FailedSecurity], list[str]]:
    """The securities of a fails-to-deliver file as last told, and what is wrong with other lines."""
    found: dict[str, FailedSecurity] = {}

    def read(line: str) -> None:
        if line.count("|") < 4:
            raise ValueError("has fewer than 5 columns")
        day, number, symbol, _, name, *_ = line.split("|")
        as_of = days.validate(f"{day[:4]}-{day[4:6]}-{day[6:]}")
        one = FailedSecurity(validate(number), tickers.normalise(symbol.strip()), name.strip()[:200], as_of)
        if (held := found.get(one.cusip)) is None or held.as_of <= as_of:
            found[one.cusip] = one

    wrong = _lines(data, file, read, 1)
    return list(found.values()), wrong


def parse_13f_list(data: bytes, file: str) -> tuple[list[ListedSecurity], list[str]]:
    """The securities of a list of 13F securities, options left out, and what is wrong with other lines."""
    found: dict[str, ListedSecurity] = {}

    def read(line: str) -> None:
        title = line[40:67].strip()
        if title.upper() in _OPTIONS:
            return  # under a made-up CUSIP
        status = _STATUS.get(line[67:78].strip())
        if status is None or not line[10:40].strip():
            raise ValueError("not a line of the list")
        number = validate(line[:9])
        found[number] = ListedSecurity(number, line[10:40].strip(), title, status)

    wrong = _lines(data, file, read, 0)
    return list(found.values()), wrong


def _lines(data: bytes, file: str, read: Callable[[str], None], skip: int) -> list[str]:
    """Give every line to ``read``; what it refused with a ValueError, the first ten and how many."""
    wrong: list[str] = []
    count = 0
    for number, line in _numbered(data):
        if number <= skip or not line.strip() or line.startswith(_TRAILER):
            continue
        if number > MAX_ROWS:
            raise ParseError(file, f"line {number}", f"more than {MAX_ROWS} lines")
        try:
            read(line)
        except ValueError as error:
            count += 1
            if count <= _TOLD:
                wrong.append(f"line {number}: {error}")
    return [f"{count} rows are left out", *wrong] if count else []


def _numbered(data: bytes) -> Iterator[tuple[int, str]]:
    at, number = 0, 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += 1
        yield number, data[at:end].rstrip(b"\r").decode("latin-1")
        at = end + 1
