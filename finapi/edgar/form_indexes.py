"""EDGAR's indexes of filings: form.idx, master.idx, company.idx and crawler.idx, of a day or a quarter.

``master`` has columns between bars, the others stand in columns as wide as their heading says. Every party of a
filing has a line. Days are ``YYYYMMDD`` in the daily files and ``YYYY-MM-DD`` in the quarterly ones.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from typing import NamedTuple

from finapi.core.errors import ParseError

_HEAD_WITHIN = 100  # lines: the heading and its rule stand within the first dozen
_LONGEST = 2_000  # bytes of a line; real ones stay below 300
_RULE = re.compile(r"-{20,}\s*")
# From the right, where nothing is of free text: CIK, day, path.
_TAIL = re.compile(r"(?<=\s)([0-9]{1,10})\s+([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+(\S+)\s*$")
_ACCESSION = re.compile(r"/([0-9]{10}-[0-9]{2}-[0-9]{6})(?:\.txt|-index\.html?)$")
_CIK = re.compile(r"[0-9]{1,10}")
_DAY = re.compile(r"[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 /&.-]{0,29}")

Values = tuple[str, str, str, str, str]  # form, name, CIK, day, path
Reader = Callable[[str, str, int], Values]


class IndexRow(NamedTuple):
    """A line: one party of a filing. ``cik`` a number, ``filed`` an ISO date, ``accession`` with dashes."""

    form: str
    name: str
    cik: int
    filed: str
    accession: str


def iter_rows(data: bytes, file: str) -> Iterator[IndexRow]:
    """Yield the rows of an index, in its order.

    Raises ParseError, naming the line, for a file without the heading of an index and for a line that is none
    of its rows: the path at the end of a line that is cut off names no filing.
    """
    lines = _lines(data, file)
    heading, at = _heading(lines, file)
    read = _barred if heading.replace(" ", "").startswith("CIK|Company") else _columns(heading, file, at)
    for number, line in enumerate(lines, at + 2):
        if line.strip():
            yield _checked(read(line, file, number), file, number)


def _lines(data: bytes, file: str) -> Iterator[str]:
    """The lines, one at a time: a quarter has hundreds of thousands."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        raw = data[start:end].rstrip(b"\r")
        start = end + 1
        if len(raw) > _LONGEST:
            raise ParseError(file, "", f"a line of more than {_LONGEST} bytes")
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError:
            yield raw.decode("latin-1")


def _heading(lines: Iterator[str], file: str) -> tuple[str, int]:
    """The line of column names, and its number; the iterator then stands behind the rule below it."""
    before = ""
    for number, line in enumerate(lines, 1):
        if _RULE.fullmatch(line):
            return before, number - 1
        if number > _HEAD_WITHIN:
            break
        # Daily indexes break their heading over two lines: the days and paths stand in the second.
        before = line if "CIK" in line else before
    raise ParseError(file, "", "no heading of an index of filings")


def _barred(line: str, file: str, number: int) -> Values:
    parts = line.split("|")
    if len(parts) < 5:
        raise ParseError(file, f"line {number}", "not five columns between bars")
    # A name may hold a bar itself.
    cik, name, (form, day, path) = parts[0], "|".join(parts[1:-3]), parts[-3:]
    return form, name, cik, day, path


def _columns(heading: str, file: str, at: int) -> Reader:
    """A reader of lines whose first two columns are as wide as the heading says."""
    first = next((name for name in ("Form Type", "Company Name") if heading.startswith(name)), None)
    second = {"Form Type": "Company Name", "Company Name": "Form Type"}.get(first or "", "")
    width = heading.find(second, 1)
    if first is None or width < 1 or "CIK" not in heading:
        raise ParseError(file, f"line {at}", "not the column names of an index of filings")

    def read(line: str, file: str, number: int) -> Values:
        tail = _TAIL.search(line)
        if tail is None:
            raise ParseError(file, f"line {number}", "does not end in a CIK, a day and a file name")
        front = line[: tail.start()]
        one, other = front[:width].strip(), front[width:].strip()
        if not front[width - 1 : width].isspace() or not other:
            # What is longer than its column pushes the rest to the right: two blanks part them then.
            one, _, other = (part.strip() for part in front.strip().partition("  "))
        form, name = (one, other) if first == "Form Type" else (other, one)
        return form, name, tail[1], tail[2], tail[3]

    return read


def _checked(values: Values, file: str, number: int) -> IndexRow:
    form, name, cik, day, path = (value.strip() for value in values)
    place = f"line {number}"
    if not _FORM.fullmatch(form) or not name or "\0" in name:
        raise ParseError(file, place, "has no form type or no company name")
    if not _CIK.fullmatch(cik) or not int(cik):
        raise ParseError(file, place, f"{cik[:40]!r} is not a CIK")
    accession = _ACCESSION.search(path)
    if accession is None:
        raise ParseError(file, place, f"{path[:80]!r} names no filing")
    try:
        if not _DAY.fullmatch(day):
            raise ValueError(day)
        filed = date.fromisoformat(day).isoformat()
    except ValueError:
        raise ParseError(file, place, f"{day[:40]!r} is not a day") from None
    return IndexRow(sys.intern(form), name, int(cik), sys.intern(filed), accession[1])
