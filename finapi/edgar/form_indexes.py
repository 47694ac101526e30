"""The parser of EDGAR's indexes of filings: form.idx, master.idx, company.idx and crawler.idx, of a day or a quarter.

A file begins with a description, a heading with the names of the columns and a rule of dashes. Then it has one line
for each party of each filing. In ``master`` the columns are separated by bars::

    CIK|Company Name|Form Type|Date Filed|File Name
    1000015|META GROUP INC|10-K|1998-03-31|edgar/data/1000015/0001000015-98-000009.txt

In the others they are padded with spaces. The heading says where the second column begins. The rest is found from the
right, because CIK, day and path contain no spaces::

    Form Type   Company Name                  CIK         Date Filed  File Name
    10-K        META GROUP INC                1000015     19980331    edgar/data/1000015/0001000015-98-000009.txt

Days are ``YYYYMMDD`` in daily files and ``YYYY-MM-DD`` in quarterly ones.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from typing import NamedTuple

from finapi.core.errors import ParseError

_MAX_HEADING_LINES = 100  # The heading and its rule are within the first dozen lines.
_MAX_BROKEN_LINES = 100  # Lines that may be left out of the index of a quarter.
_MAX_LINE_BYTES = 2_000  # Real lines have fewer than 300.
_RULE = re.compile(r"-{20,}\s*")
# CIK, day and path at the end of a line.
_TAIL = re.compile(r"(?<=\s)([0-9]{1,10})\s+([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+(\S+)\s*$")
_ACCESSION = re.compile(r"/([0-9]{10}-[0-9]{2}-[0-9]{6})(?:\.txt|-index\.html?)$")
_CIK = re.compile(r"[0-9]{1,10}")
_DAY = re.compile(r"[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 /&.-]{0,29}")


class IndexRow(NamedTuple):
    """A line of an index: one party of a filing. ``filed`` is an ISO date, ``accession`` has dashes."""

    form: str
    name: str
    cik: int
    filed: str
    accession: str


# A parser of a line, called with the line, the file name and the number of the line.
_LineParser = Callable[[str, str, int], IndexRow]


class IndexFile(NamedTuple):
    """The rows of an index in its order, and the errors of the lines that were left out."""

    rows: list[IndexRow]
    errors: list[ParseError]


def parse(content: bytes, file: str) -> IndexFile:
    """Return the rows of an index. A single broken line, or one in a hundred, is left out.

    Raise ParseError if the file has no heading of an index, or, with the number of the line, if more lines are broken
    or the last line is cut off: its path then has no complete accession number.
    """
    lines = _iter_lines(content, file)
    heading, heading_number = _read_heading(lines, file)
    parse_line: _LineParser = _parse_bar_line
    if not heading.replace(" ", "").startswith("CIK|Company"):
        parse_line = _build_column_parser(heading, file, heading_number)
    rows: list[IndexRow] = []
    errors: list[ParseError] = []
    is_last_line_broken = False
    for number, line in enumerate(lines, heading_number + 2):
        if not line.strip():
            continue
        is_last_line_broken = False
        try:
            rows.append(parse_line(line, file, number))
        except ParseError as error:
            is_last_line_broken = True
            errors.append(error)
            if len(errors) > _MAX_BROKEN_LINES:
                raise errors[0] from None
    is_cut_off = is_last_line_broken and not content.endswith(b"\n")
    if errors and (is_cut_off or len(errors) > max(len(rows) // 100, min(len(rows), 1))):
        raise errors[-1 if is_cut_off else 0]
    return IndexFile(rows, errors)


def _iter_lines(content: bytes, file: str) -> Iterator[str]:
    """Yield the lines one at a time: a quarter has hundreds of thousands."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        line = content[start:end].rstrip(b"\r")
        start = end + 1
        if len(line) > _MAX_LINE_BYTES:
            raise ParseError(file, "", f"a line of more than {_MAX_LINE_BYTES} bytes")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            yield line.decode("latin-1")


def _read_heading(lines: Iterator[str], file: str) -> tuple[str, int]:
    """Return the line of column names and its number. The next line of the iterator is then the first row.

    Daily indexes break their heading into two lines: the names of the day and path columns are in the second.
    """
    heading = ""
    for number, line in enumerate(lines, 1):
        if _RULE.fullmatch(line):
            return heading, number - 1
        if number > _MAX_HEADING_LINES:
            break
        if "CIK" in line:
            heading = line
    raise ParseError(file, "", "no heading of an index of filings")


def _parse_bar_line(line: str, file: str, number: int) -> IndexRow:
    """Return the row of a line whose columns are separated by bars. Raise ParseError if the line is invalid."""
    if line.count("|") < 4:
        raise ParseError(file, f"line {number}", "is not five columns separated by bars")
    cik, _, other_columns = line.partition("|")
    # From the right, because a name may contain a bar itself.
    name, form, day, path = other_columns.rsplit("|", 3)
    return _build_row(
        form=form.strip(),
        name=name.strip(),
        cik=cik.strip(),
        day=day.strip(),
        path=path.strip(),
        file=file,
        number=number,
    )


def _build_column_parser(heading: str, file: str, heading_number: int) -> _LineParser:
    """Return a parser of lines whose first two columns are as wide as in the heading."""
    form_is_first = heading.startswith("Form Type")
    second_column = "Company Name" if form_is_first else "Form Type"
    width = heading.find(second_column, 1)
    has_columns = form_is_first or heading.startswith("Company Name")
    if not has_columns or width < 1 or "CIK" not in heading:
        raise ParseError(file, f"line {heading_number}", "not the column names of an index of filings")

    def parse_column_line(line: str, file: str, number: int) -> IndexRow:
        """Return the row of a line. Raise ParseError if the line is invalid."""
        tail = _TAIL.search(line)
        if tail is None:
            raise ParseError(file, f"line {number}", "does not end in a CIK, a day and a file name")
        front = line[: tail.start()]
        first = front[:width].strip()
        second = front[width:].strip()
        if not front[width - 1 : width].isspace() or not second:
            # A text that is longer than its column pushes the rest to the right, after two spaces.
            first, _, second = front.strip().partition("  ")
            second = second.strip()
        form, name = (first, second) if form_is_first else (second, first)
        return _build_row(form=form, name=name, cik=tail[1], day=tail[2], path=tail[3], file=file, number=number)

    return parse_column_line


def _build_row(*, form: str, name: str, cik: str, day: str, path: str, file: str, number: int) -> IndexRow:
    place = f"line {number}"
    if not _FORM.fullmatch(form) or not name or "\0" in name:
        raise ParseError(file, place, "has no form type or no company name")
    if not _CIK.fullmatch(cik) or not int(cik):
        raise ParseError(file, place, f"{cik[:40]!r} is not a CIK")
    accession = _ACCESSION.search(path)
    if accession is None:
        raise ParseError(file, place, f"{path[:80]!r} contains no accession number")
    try:
        if not _DAY.fullmatch(day):
            raise ValueError(day)
        filed = date.fromisoformat(day).isoformat()
    except ValueError:
        raise ParseError(file, place, f"{day[:40]!r} is not a day") from None
    # Form types and days are the same in thousands of rows.
    return IndexRow(form=sys.intern(form), name=name, cik=int(cik), filed=sys.intern(filed), accession=accession[1])
