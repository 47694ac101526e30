"""The SEC's Financial Statement Data Sets: a quarter's filings in four tab-separated tables.

``sub`` has a row a filing, ``num`` a row a figure, ``pre`` a row a line of a statement and ``tag`` a row an
element. Columns are found by their names: their order and number changed over the years. What the sets do to a
filing: dates are moved to the nearest month end, a period is a number of quarters, figures have four decimals,
axes and members short names, and a filer's own elements the accession number for a taxonomy (``ext:`` here).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeVar

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import identifiers, sgml

MAX_LINE_BYTES = 64 * 1024  # bytes; the longest real lines are elements' definitions of some 4 KB
MAX_CACHED = 20_000  # periods with dimensions, or names with units, that are kept while a table is read
MAX_QUARTERS = 4 * 200  # some figures run from inception, which for a bank may be a hundred years ago

# Columns that are read, by table; all others may be missing or new.
SUB_COLUMNS = ("adsh", "cik", "name", "sic", "fye", "stprinc", "form", "period", "fy", "fp", "filed", "accepted")
NUM_COLUMNS = ("adsh", "tag", "version", "ddate", "qtrs", "uom", "coreg", "value")
PRE_COLUMNS = ("adsh", "report", "line", "stmt", "inpth", "tag", "version", "plabel", "negating")
TAG_COLUMNS = ("tag", "version", "datatype", "crdr")

_RETURNS = re.compile(r"\r+$", re.MULTILINE)
_VERSION = re.compile(r"([a-z][a-z-]*)/[0-9]{4}[0-9a-z-]*")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,299}")
_VALUE = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,20})?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_PER_SHARE = re.compile(r"Per([A-Z][a-z]+){0,3}(Share|Unit)")
_STATEMENTS = frozenset({"BS", "IS", "CF", "EQ", "CI", "UN", "CP", "SI"})

Made = TypeVar("Made")
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


# A start, None for an instant; an end; and dimensions.
FigureContext = tuple[str | None, str, Dimensions]
# The figures of a filing by concept and unit, place by place: a value as tagged, None for nil.
Figures = dict[FigureContext, dict[tuple[str, str], str | None]]


class PreRow(NamedTuple):
    """A row of ``pre``: a line of statement ``stmt`` on page ``report``."""

    report: int
    line: int
    stmt: str
    is_parenthetical: bool
    concept: str
    balance: str | None
    label: str
    is_negated: bool


class DataSetTable:
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
        self.column_indexes = {name: place for place, name in enumerate(names)}
        self._adsh = self.column_indexes.get("adsh", 0)

    def build_row_error(self, values: Sequence[str], error: Exception) -> ParseError:
        """Why a row cannot be read, under its filing and element."""
        adsh, tag = self.build_column_getter("adsh", "tag")(values)
        return ParseError(self.file, f"{adsh[:20]} {tag[:80]}", str(error))

    def iter_batches(self, filings: Iterable[bytes], size: int) -> Iterator[dict[bytes, list[bytes]]]:
        """The lines of these filings, some ``size`` bytes of them at once, without looking at the rest of a line."""
        held: dict[bytes, list[bytes]] = {one: [] for one in filings}
        place, room = self._adsh, size
        for line in self._lines:
            parts = line.split(b"\t", place + 1)
            if len(parts) <= place + 1:
                parts = line.rstrip(b"\r").split(b"\t")
            rows = held.get(parts[place]) if len(parts) > place else None
            if rows is not None:
                rows.append(line)
                room -= len(line)
                if room < 0:
                    yield held
                    held, room = {one: [] for one in held}, size
        yield held

    def iter_lines(self) -> Iterator[bytes]:
        """The lines behind the header that are not empty."""
        return (line for line in self._lines if line.rstrip(b"\r\n"))

    def parse_row(self, line: bytes) -> dict[str, str]:
        """A line's values by column; ParseError when it has more or fewer than the header or is not UTF-8."""
        (values,) = self.iter_rows(self.decode_lines(line))
        return {name: values[place] for name, place in self.column_indexes.items()}

    def decode_lines(self, data: bytes) -> list[str]:
        """Lines that end in a line feed, or one line, as texts; ParseError when they are not UTF-8."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise ParseError(self.file, data[:20].decode("ascii", "replace"), "not UTF-8") from None
        if "\0" in text:
            raise ParseError(self.file, text[:20].replace("\0", ""), "a NUL character")
        if "\r" in text:
            text = _RETURNS.sub("", text)
        return text.removesuffix("\n").split("\n")

    def iter_rows(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """The values of lines, one by one; ParseError for a line with more or fewer of them than the header."""
        width = self._width
        for text in texts:
            values = text.split("\t")
            if len(values) != width:
                raise ParseError(self.file, values[0][:20], f"a row of {len(values)} columns under {width} names")
            yield values

    def build_column_getter(self, *names: str) -> Callable[[Sequence[str]], tuple[str, ...]]:
        """What takes several columns out of a row; those that the table lacks are left out."""
        return itemgetter(*(self.column_indexes[name] for name in names if name in self.column_indexes))


class _ByName(dict[tuple[str, ...], Made]):
    """What is made of texts that stand in thousands of rows, made once; not without bound."""

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make

    def __missing__(self, key: tuple[str, ...]) -> Made:
        if len(self) >= MAX_CACHED:
            self.clear()
        self[key] = made = self._make(*key)
        return made


def iter_submissions(table: DataSetTable) -> Iterator[SubRow]:
    """The filings of ``sub``; ParseError names the first that is broken."""
    for line in table.iter_lines():
        row = table.parse_row(line)
        try:
            yield _submission(row)
        except (ValueError, OverflowError) as error:
            raise ParseError(table.file, row["adsh"][:20], str(error)) from None


def iter_elements(table: DataSetTable) -> Iterator[tuple[tuple[str, str], TagRow]]:
    """The elements of ``tag`` by tag and version."""
    balances = {"D": "debit", "C": "credit"}
    told = table.build_column_getter("tag", "version", "datatype", "crdr")
    for line in table.iter_lines():
        (values,) = table.iter_rows(table.decode_lines(line))
        tag, version, datatype, crdr = told(values)
        yield (tag, version), TagRow(datatype, balances.get(crdr))


class NumReader:
    """Reads the rows of ``num``; ``known`` are the elements of the quarter, as far as they are held."""

    def __init__(self, table: DataSetTable, known: Mapping[tuple[str, str], TagRow]) -> None:
        self._table, self._known = table, known
        self._place_of = table.build_column_getter("ddate", "qtrs", "coreg", "segments")
        self._name_of = table.build_column_getter("tag", "version", "uom")
        self._named = _ByName(self._name)
        self._places = _ByName(_place)

    def read_figures(self, texts: Iterable[str]) -> Figures:
        """The figures that rows of a filing tell; ParseError names the first that is broken."""
        found: Figures = {}
        of_row: dict[tuple[str, ...], dict[tuple[str, str], str | None]] = {}
        place_of, name_of, named = self._place_of, self._name_of, self._named
        at, is_number = self._table.column_indexes["value"], _VALUE.fullmatch
        for values in self._table.iter_rows(texts):
            try:
                place = place_of(values)
                figures = of_row.get(place)
                if figures is None:
                    of_row[place] = figures = found.setdefault(self._places[place], {})
                name = named[name_of(values)]
                value: str | None = values[at]
                if value and not is_number(value):
                    raise ValueError(f"{value[:40]!r} is not a decimal number")
            except (ValueError, OverflowError) as error:
                raise self._table.build_row_error(values, error) from None
            if value and "." in value:
                # Without the zeros that pad it to four decimals.
                value = value.rstrip("0").rstrip(".")
            value = "0" if value == "-0" else value or None
            figures[name] = _of_two(figures[name], value) if name in figures else value
        return found

    def _name(self, tag: str, version: str, uom: str) -> tuple[str, str]:
        return _concept(tag, version), _unit(uom, tag, self._known.get((tag, version)))


def _of_two(one: str | None, other: str | None) -> str | None:
    """Which of two values of one figure stands: the longer text, of equally long ones the greater."""
    return max(one, other, key=lambda value: (len(value or ""), value or ""))


class PreReader:
    """Reads the rows of ``pre``; ``known`` are the elements of the quarter, as far as they are held."""

    def __init__(self, table: DataSetTable, known: Mapping[tuple[str, str], TagRow]) -> None:
        self._table, self._known = table, known
        self._named = _ByName(self._name)

    def read_lines(self, texts: Iterable[str]) -> list[PreRow]:
        """The lines that rows of a filing are; ParseError names the first that is broken."""
        of_line = self._table.build_column_getter("report", "line", "stmt", "inpth", "plabel", "negating")
        name_of = self._table.build_column_getter("tag", "version")
        found = []
        for values in self._table.iter_rows(texts):
            try:
                page, number, stmt, inpth, label, negating = of_line(values)
                if stmt not in _STATEMENTS:
                    raise ValueError(f"{stmt[:20]!r} is not a statement")
                place = _whole(page), _whole(number), stmt, _flag(inpth)
                found.append(PreRow(*place, *self._named[name_of(values)], " ".join(label.split()), _flag(negating)))
            except ValueError as error:
                raise self._table.build_row_error(values, error) from None
        return found

    def _name(self, tag: str, version: str) -> tuple[str, str | None]:
        element = self._known.get((tag, version))
        return _concept(tag, version), element.balance if element else None


def _submission(row: dict[str, str]) -> SubRow:
    accession = identifiers.parse_accession(row["adsh"])
    if accession is None or accession != row["adsh"]:
        raise ValueError("adsh is not an accession number")
    name = " ".join(row["name"].split())
    if not name or not row["form"] or len(row["form"]) > 40:
        raise ValueError("name or form is missing")
    accepted = row["accepted"]
    year = row["fy"]
    return SubRow(
        accession,
        int(identifiers.parse_cik(row["cik"])),
        name[:300],
        int(row["sic"]) if _DIGITS.fullmatch(row["sic"]) else None,
        row["fye"] if re.fullmatch("[0-9]{4}", row["fye"]) else None,
        row["stprinc"] or None,
        row["form"],
        days.from_digits(row["period"]),
        int(year) if re.fullmatch("[12][0-9]{3}", year) else None,
        row["fp"] or None,
        days.from_digits(row["filed"]),
        sgml.iso_utc(sgml.utc_from_eastern(datetime.fromisoformat(accepted[:19]))) if accepted else None,
    )


def _concept(tag: str, version: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag[:40]!r} is not an element name")
    taxonomy = _VERSION.fullmatch(version)
    if taxonomy is None and identifiers.parse_accession(version) != version:
        raise ValueError(f"{version[:40]!r} is neither a taxonomy nor an accession number")
    return f"{taxonomy[1] if taxonomy else 'ext'}:{tag}"


def _unit(uom: str, tag: str, element: TagRow | None) -> str:
    """The unit as a filing writes it: the sets give the currency alone for an amount per share."""
    if not uom or len(uom) > 100:
        raise ValueError("the unit is missing")
    per_share = element.datatype in ("perShare", "perUnit") if element else _PER_SHARE.search(tag)
    return f"{uom}/shares" if per_share and _CURRENCY.fullmatch(uom) else uom


def _place(ddate: str, qtrs: str, coreg: str, segments: str = "") -> FigureContext:
    return *_period(ddate, qtrs), _dims(segments, coreg)


def _period(ddate: str, qtrs: str) -> tuple[str | None, str]:
    end = days.from_digits(ddate)
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


@lru_cache(maxsize=4_096)
def _whole(text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is not a whole number")
    return int(text)


@lru_cache(maxsize=4)
def _flag(text: str) -> bool:
    if text not in ("0", "1", ""):
        raise ValueError(f"{text[:20]!r} is neither 0 nor 1")
    return text == "1"


def count_quarters(start: str | None, end: str) -> int:
    """How many quarters a period lasts, to the nearest; 0 for an instant."""
    return round(days.count_days(start, end) / 91.25)
