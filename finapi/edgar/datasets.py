"""The SEC's Financial Statement Data Sets: a quarter's filings in four tab-separated tables.

``sub`` has a row a filing, ``num`` a row a figure, ``pre`` a row a line of a statement and ``tag`` a row an
element. Columns are found by their names: their order and number changed over the years. What the sets do to a
filing: dates are moved to the nearest month end, a period is a number of quarters, figures have four decimals,
axes and members short names, and a filer's own elements the accession number for a taxonomy (``ext:`` here).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import identity, sgml

MAX_LINE = 64 * 1024  # bytes; the longest real lines are elements' definitions of some 4 KB
MAX_QUARTERS = 4 * 200  # some figures run from inception, which for a bank may be a hundred years ago

# Columns that are read, by table; all others may be missing or new.
SUB = ("adsh", "cik", "name", "sic", "fye", "stprinc", "form", "period", "fy", "fp", "filed", "accepted")
NUM = ("adsh", "tag", "version", "ddate", "qtrs", "uom", "coreg", "value")
PRE = ("adsh", "report", "line", "stmt", "inpth", "tag", "version", "plabel", "negating")
TAG = ("tag", "version", "datatype", "crdr")

_VERSION = re.compile(r"([a-z][a-z-]*)/[0-9]{4}[0-9a-z-]*")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,299}")
_VALUE = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,20})?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_PER_SHARE = re.compile(r"Per([A-Z][a-z]+){0,3}(Share|Unit)")
_STATEMENTS = frozenset({"BS", "IS", "CF", "EQ", "CI", "UN", "CP", "SI"})

Dimensions = tuple[tuple[str, str], ...]


class SubRow(NamedTuple):
    """A filing of the quarter. ``period`` is rounded to a month end; ``accepted`` is in UTC, None if not told."""

    accession: str
    cik: int
    name: str
    sic: int | None
    fiscal_year_end: str | None
    state: str | None
    form: str
    period: str
    fiscal_year: int | None
    fiscal_period: str | None
    filed: str
    accepted: str | None


class TagRow(NamedTuple):
    """What the quarter's list of elements says of one: ``balance`` is ``debit``, ``credit`` or None."""

    datatype: str
    balance: str | None


class NumRow(NamedTuple):
    """A row of ``num``: a value as tagged, None for nil; ``start`` is None for an instant."""

    concept: str
    unit: str
    start: str | None
    end: str
    dims: Dimensions
    value: str | None


class PreRow(NamedTuple):
    """A row of ``pre``: a line of statement ``stmt`` on page ``report``."""

    report: int
    line: int
    stmt: str
    parenthetical: bool
    concept: str
    balance: str | None
    label: str
    negating: bool


class Table:
    """A table read line by line: its header is checked when it is made, rows are handed out as they come."""

    def __init__(self, lines: Iterator[bytes], file: str, columns: Sequence[str]) -> None:
        self.file = file
        self._lines = lines
        header = next(lines, b"").removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\t")
        names = [name.decode("ascii", "replace") for name in header]
        missing = [name for name in columns if name not in names]
        if missing or len(set(names)) < len(names):
            reason = f"lacks the column {missing[0]}" if missing else "names a column twice"
            raise ParseError(file, "line 1", reason)
        self._width = len(names)
        self._place = {name: place for place, name in enumerate(names)}
        self._adsh = self._place.get("adsh", 0)

    def accession_of(self, line: bytes) -> bytes:
        """The filing that a line belongs to, without looking at the rest of it."""
        parts = line.rstrip(b"\r\n").split(b"\t", self._adsh + 1)
        return parts[self._adsh] if len(parts) > self._adsh else b""

    def lines(self) -> Iterator[bytes]:
        """The lines behind the header that are not empty."""
        return (line for line in self._lines if line.rstrip(b"\r\n"))

    def row(self, line: bytes) -> dict[str, str]:
        """A line's values by column; ParseError when it has more or fewer than the header or is not UTF-8."""
        try:
            values = line.decode("utf-8").rstrip("\r\n").split("\t")
        except UnicodeDecodeError:
            raise ParseError(self.file, line[:20].decode("ascii", "replace"), "not UTF-8") from None
        if len(values) != self._width or "\0" in line.decode("utf-8"):
            raise ParseError(self.file, values[0][:20], f"a row of {len(values)} columns under {self._width} names")
        return {name: values[place] for name, place in self._place.items()}


def submissions(table: Table) -> Iterator[SubRow]:
    """The filings of ``sub``; ParseError names the first that is broken."""
    for line in table.lines():
        row = table.row(line)
        try:
            yield _submission(row)
        except (ValueError, OverflowError) as error:
            raise ParseError(table.file, row["adsh"][:20], str(error)) from None


def elements(table: Table) -> Iterator[tuple[tuple[str, str], TagRow]]:
    """The elements of ``tag`` by tag and version."""
    balances = {"D": "debit", "C": "credit"}
    for line in table.lines():
        row = table.row(line)
        yield (row["tag"], row["version"]), TagRow(row["datatype"], balances.get(row["crdr"]))


def figure(table: Table, line: bytes, known: dict[tuple[str, str], TagRow]) -> NumRow:
    """A figure of ``num``; ``known`` are the elements of the quarter, as far as they are held."""
    row = table.row(line)
    try:
        tag, version = row["tag"], row["version"]
        start, end = _period(row["ddate"], row["qtrs"])
        element = known.get((tag, version))
        value = row["value"]
        if value and not _VALUE.fullmatch(value):
            raise ValueError(f"{value[:40]!r} is not a decimal number")
        return NumRow(
            _concept(tag, version),
            _unit(row["uom"], tag, element),
            start,
            end,
            _dims(row.get("segments", ""), row["coreg"]),
            _plain(value) if value else None,
        )
    except (ValueError, OverflowError) as error:
        raise ParseError(table.file, f"{row['adsh'][:20]} {row['tag'][:80]}", str(error)) from None


def line_of(table: Table, line: bytes, known: dict[tuple[str, str], TagRow]) -> PreRow:
    """A line of ``pre``."""
    row = table.row(line)
    tag, version = row["tag"], row["version"]
    try:
        if row["stmt"] not in _STATEMENTS:
            raise ValueError(f"{row['stmt'][:20]!r} is not a statement")
        element = known.get((tag, version))
        return PreRow(
            _whole(row["report"]),
            _whole(row["line"]),
            row["stmt"],
            _flag(row["inpth"]),
            _concept(tag, version),
            element.balance if element else None,
            " ".join(row["plabel"].split()),
            _flag(row["negating"]),
        )
    except ValueError as error:
        raise ParseError(table.file, f"{row['adsh'][:20]} {tag[:80]}", str(error)) from None


def _submission(row: dict[str, str]) -> SubRow:
    accession = identity.accession(row["adsh"])
    if accession is None or accession != row["adsh"]:
        raise ValueError("adsh is not an accession number")
    name = " ".join(row["name"].split())
    if not name or not row["form"] or len(row["form"]) > 40:
        raise ValueError("name or form is missing")
    accepted = row["accepted"]
    year = row["fy"]
    return SubRow(
        accession,
        int(identity.cik(row["cik"])),
        name[:300],
        int(row["sic"]) if _DIGITS.fullmatch(row["sic"]) else None,
        row["fye"] if re.fullmatch("[0-9]{4}", row["fye"]) else None,
        row["stprinc"] or None,
        row["form"],
        days.of_digits(row["period"]),
        int(year) if re.fullmatch("[12][0-9]{3}", year) else None,
        row["fp"] or None,
        days.of_digits(row["filed"]),
        sgml.iso_utc(sgml.utc_from_eastern(datetime.fromisoformat(accepted[:19]))) if accepted else None,
    )


def _concept(tag: str, version: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag[:40]!r} is not an element name")
    taxonomy = _VERSION.fullmatch(version)
    if taxonomy is None and identity.accession(version) != version:
        raise ValueError(f"{version[:40]!r} is neither a taxonomy nor an accession number")
    return f"{taxonomy[1] if taxonomy else 'ext'}:{tag}"


def _unit(uom: str, tag: str, element: TagRow | None) -> str:
    """The unit as a filing writes it: the sets give the currency alone for an amount per share."""
    if not uom or len(uom) > 100:
        raise ValueError("the unit is missing")
    per_share = element.datatype in ("perShare", "perUnit") if element else _PER_SHARE.search(tag)
    return f"{uom}/shares" if per_share and _CURRENCY.fullmatch(uom) else uom


def _period(ddate: str, qtrs: str) -> tuple[str | None, str]:
    end = days.of_digits(ddate)
    quarters = _whole(qtrs)
    if quarters > MAX_QUARTERS:
        raise ValueError(f"a period of {quarters} quarters")
    if not quarters:
        return None, end
    months = int(end[:4]) * 12 + int(end[5:7]) - 3 * quarters
    return date(months // 12, months % 12 + 1, 1).isoformat(), end


def _dims(segments: str, coreg: str) -> Dimensions:
    """Axis and member in their short names; older sets name the entity of a figure in ``coreg`` alone."""
    found = {}
    for part in segments.split(";"):
        axis, _, member = part.partition("=")
        if axis:
            found[axis] = member
    if coreg:
        found.setdefault("LegalEntity", coreg)
    return tuple(sorted(found.items()))


def _plain(value: str) -> str:
    """The number without the zeros that pad it to four decimals."""
    plain = value.rstrip("0").rstrip(".") if "." in value else value
    return "0" if plain in ("-0", "-", "") else plain


def _whole(text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is not a whole number")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("0", "1", ""):
        raise ValueError(f"{text[:20]!r} is neither 0 nor 1")
    return text == "1"


def month_end(day: str) -> str:
    """The month end nearest to an ISO date: what the sets make of it."""
    on = date.fromisoformat(day)
    last = calendar.monthrange(on.year, on.month)[1]
    if last - on.day < on.day:
        return on.replace(day=last).isoformat()
    return date.fromordinal(on.replace(day=1).toordinal() - 1).isoformat()


def quarters(start: str | None, end: str) -> int:
    """How many quarters a period lasts, to the nearest; 0 for an instant."""
    return round(days.length(start, end) / 91.25)
