"""The parser of the SEC's Financial Statement Data Sets: the filings of a quarter in four tab-separated tables.

``sub`` has one row for each filing, ``num`` one for each figure, ``pre`` one for each line of a statement, and ``tag``
one for each element. Two rows of ``num``, of a balance and of the net income of a year::

    adsh                  tag            version       ddate     qtrs  uom  segments          coreg  value
    0000320193-23-000106  Assets         us-gaap/2023  20230930  0     USD                           352583000000.0000
    0000320193-23-000106  NetIncomeLoss  us-gaap/2023  20230930  4     USD                           96995000000.0000

The sets change some facts of a filing. Dates are moved to the nearest month end. A period is an end and a number of
quarters. Figures have four decimals. Axes and members have short names, such as ``ProductOrService=Mac``. An element of
the filer's own has the accession number instead of a taxonomy; this module gives it the prefix ``ext:``.

Columns are found by name, because their order and number changed over the years. The rows of a filing may be anywhere
in a table, which can be larger than memory. So the caller first collects the lines of each filing with
:meth:`DataSetTable.iter_batches`, and then parses one filing at a time with :class:`NumReader` and :class:`PreReader`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeVar

from finapi.core import days
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import eastern_time, identifiers

MAX_CACHED = 20_000  # Contexts, or names with units, that are cached while a table is read.
MAX_QUARTERS = 4 * 200  # Some figures run from inception, which for a bank may be centuries ago.

# Required columns, by table. Any other column may be missing or new.
SUB_COLUMNS = ("adsh", "cik", "name", "sic", "fye", "stprinc", "form", "period", "fy", "fp", "filed", "accepted")
NUM_COLUMNS = ("adsh", "tag", "version", "ddate", "qtrs", "uom", "coreg", "value")
PRE_COLUMNS = ("adsh", "report", "line", "stmt", "inpth", "tag", "version", "plabel", "negating")
TAG_COLUMNS = ("tag", "version", "datatype", "crdr")

_CARRIAGE_RETURNS = re.compile(r"\r+$", re.MULTILINE)
_VERSION = re.compile(r"([a-z][a-z-]*)/[0-9]{4}[0-9a-z-]*")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,299}")
_VALUE = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,20})?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_CURRENCY = re.compile(r"[A-Z]{3}")
# In the names of elements that are missing from tag.
_PER_SHARE = re.compile(r"Per([A-Z][a-z]+){0,3}(Share|Unit)")
_STATEMENTS = frozenset({"BS", "IS", "CF", "EQ", "CI", "UN", "CP", "SI"})
_BALANCES = {"D": "debit", "C": "credit"}

_Parsed = TypeVar("_Parsed")

# Pairs of axis and member, sorted.
Dimensions = tuple[tuple[str, str], ...]
# The start of a period, or None for an instant, its end, and the dimensions.
FigureContext = tuple[str | None, str, Dimensions]
# A concept and a unit.
ConceptUnit = tuple[str, str]
# The figures of a filing. A value is as tagged, or None for nil.
Figures = dict[FigureContext, dict[ConceptUnit, str | None]]


class SubRow(NamedTuple):
    """A filing. ``period`` is rounded to a month end. ``accepted`` is in UTC, or None if it is missing."""

    # The fingerprint of a stored filing includes the repr() of this class.
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
    """An element of the quarter. ``balance`` is "debit", "credit" or None."""

    datatype: str
    balance: str | None


# The elements of a quarter by tag and version.
Elements = Mapping[tuple[str, str], TagRow]


class PreRow(NamedTuple):
    """A line of a statement. ``stmt`` is BS, IS, CF ..., ``report`` the number of the page in the filing."""

    report: int
    line: int
    stmt: str
    is_parenthetical: bool
    concept: str
    balance: str | None
    label: str
    is_negated: bool


class DataSetTable:
    """A table that is read line by line. Raise ParseError if a required column is missing or a column occurs twice."""

    def __init__(self, lines: Iterator[bytes], file: str, columns: Sequence[str]) -> None:
        self.file = file
        self._lines = lines
        header = next(lines, b"").removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\t")
        names = [name.decode("ascii", "replace") for name in header]
        missing = [name for name in columns if name not in names]
        if missing:
            raise ParseError(file, "line 1", f"lacks the column {missing[0]}")
        if len(set(names)) < len(names):
            raise ParseError(file, "line 1", "names a column twice")
        self._column_count = len(names)
        self.column_indexes = {name: index for index, name in enumerate(names)}
        self._accession_index = self.column_indexes.get("adsh", 0)

    def iter_batches(self, accessions: Iterable[bytes], batch_bytes: int) -> Iterator[dict[bytes, list[bytes]]]:
        """Yield the lines of these filings in batches of about ``batch_bytes``, by accession number.

        A filing without lines in a batch has an empty list. Of each line, only the accession number is parsed.
        """
        batch: dict[bytes, list[bytes]] = {accession: [] for accession in accessions}
        index = self._accession_index
        bytes_left = batch_bytes
        for line in self._lines:
            parts = line.split(b"\t", index + 1)
            if len(parts) <= index + 1:
                # The accession number is the last column, or the line is too short to have one.
                parts = line.rstrip(b"\r").split(b"\t")
            lines_of_filing = batch.get(parts[index]) if len(parts) > index else None
            if lines_of_filing is not None:
                lines_of_filing.append(line)
                bytes_left -= len(line)
                if bytes_left < 0:
                    yield batch
                    batch = {accession: [] for accession in batch}
                    bytes_left = batch_bytes
        yield batch

    def iter_lines(self) -> Iterator[bytes]:
        """Yield the lines after the header that are not empty."""
        return (line for line in self._lines if line.rstrip(b"\r\n"))

    def parse_row(self, line: bytes) -> dict[str, str]:
        """Return the cells of a line by column. Raise ParseError as :meth:`decode_lines` and :meth:`iter_rows` do."""
        (row,) = self.iter_rows(self.decode_lines(line))
        return {name: row[index] for name, index in self.column_indexes.items()}

    def decode_lines(self, content: bytes) -> list[str]:
        """Return the texts of one or more lines. Raise ParseError if they are not UTF-8 or contain a NUL."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise ParseError(self.file, content[:20].decode("ascii", "replace"), "not UTF-8") from None
        if "\0" in text:
            raise ParseError(self.file, text[:20].replace("\0", ""), "contains a NUL character")
        if "\r" in text:
            text = _CARRIAGE_RETURNS.sub("", text)
        return text.removesuffix("\n").split("\n")

    def iter_rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the cells of each line. Raise ParseError if there are more or fewer than in the header."""
        column_count = self._column_count
        for line in lines:
            row = line.split("\t")
            if len(row) != column_count:
                reason = f"a row has {format_count(len(row), 'cell')} and the header {column_count} columns"
                raise ParseError(self.file, row[0][:20], reason)
            yield row

    def build_column_getter(self, *names: str) -> Callable[[Sequence[str]], tuple[str, ...]]:
        """Return a function that returns several cells of a row. Columns that the table lacks are left out."""
        return itemgetter(*(self.column_indexes[name] for name in names if name in self.column_indexes))

    def build_row_error(self, row: Sequence[str], error: Exception) -> ParseError:
        """Return a ParseError with the filing and the element of a row."""
        adsh, tag = self.build_column_getter("adsh", "tag")(row)
        return ParseError(self.file, f"{adsh[:20]} {tag[:80]}", str(error))


class _ParseCache(dict[tuple[str, ...], _Parsed]):
    """A cache of the results of ``parse`` by its arguments, which thousands of rows repeat. It is emptied when full."""

    def __init__(self, parse: Callable[..., _Parsed]) -> None:
        self._parse = parse

    def __missing__(self, cells: tuple[str, ...]) -> _Parsed:
        if len(self) >= MAX_CACHED:
            self.clear()
        parsed = self[cells] = self._parse(*cells)
        return parsed


# ---- sub and tag


def iter_submissions(table: DataSetTable) -> Iterator[SubRow]:
    """Yield the filings of ``sub``. Raise ParseError, with the filing, if a row is not valid."""
    for line in table.iter_lines():
        row = table.parse_row(line)
        try:
            yield _build_submission(row)
        except (ValueError, OverflowError) as error:
            raise ParseError(table.file, row["adsh"][:20], str(error)) from None


def iter_elements(table: DataSetTable) -> Iterator[tuple[tuple[str, str], TagRow]]:
    """Yield the elements of ``tag``, each with its tag and version. Raise ParseError if a line is not valid."""
    get_cells = table.build_column_getter("tag", "version", "datatype", "crdr")
    for line in table.iter_lines():
        (row,) = table.iter_rows(table.decode_lines(line))
        tag, version, datatype, crdr = get_cells(row)
        yield (tag, version), TagRow(datatype=datatype, balance=_BALANCES.get(crdr))


def _build_submission(row: dict[str, str]) -> SubRow:
    accession = identifiers.parse_accession(row["adsh"])
    if accession is None or accession != row["adsh"]:
        raise ValueError("adsh is not an accession number")
    name = " ".join(row["name"].split())
    if not name or not row["form"] or len(row["form"]) > 40:
        raise ValueError("name or form is missing")
    return SubRow(
        accession=accession,
        cik=int(identifiers.parse_cik(row["cik"])),
        name=name[:300],
        sic=int(row["sic"]) if _DIGITS.fullmatch(row["sic"]) else None,
        fiscal_year_end=row["fye"] if re.fullmatch("[0-9]{4}", row["fye"]) else None,
        state=row["stprinc"] or None,
        form=row["form"],
        period=days.from_digits(row["period"]),
        fiscal_year=int(row["fy"]) if re.fullmatch("[12][0-9]{3}", row["fy"]) else None,
        fiscal_period=row["fp"] or None,
        filed=days.from_digits(row["filed"]),
        accepted=eastern_time.parse_iso(row["accepted"][:19]) if row["accepted"] else None,
    )


# ---- num


class NumReader:
    """A parser of the rows of ``num``. ``elements`` are the rows of ``tag``, in which some elements may be missing."""

    def __init__(self, table: DataSetTable, elements: Elements) -> None:
        self._table = table
        self._elements = elements
        self._get_context_cells = table.build_column_getter("ddate", "qtrs", "coreg", "segments")
        self._get_name_cells = table.build_column_getter("tag", "version", "uom")
        self._names = _ParseCache(self._parse_name)
        self._contexts = _ParseCache(_parse_context)

    def read_figures(self, lines: Iterable[str]) -> Figures:
        """Return the figures in the lines of a filing. Raise ParseError, with the element, if one is not valid.

        Filings repeat the same few contexts in many rows, so a cache maps the cells of a context to its figures.
        """
        figures: Figures = {}
        figures_by_cells: dict[tuple[str, ...], dict[ConceptUnit, str | None]] = {}
        get_context_cells = self._get_context_cells
        get_name_cells = self._get_name_cells
        names = self._names
        value_index = self._table.column_indexes["value"]
        for row in self._table.iter_rows(lines):
            try:
                cells = get_context_cells(row)
                figures_of_context = figures_by_cells.get(cells)
                if figures_of_context is None:
                    figures_of_context = figures.setdefault(self._contexts[cells], {})
                    figures_by_cells[cells] = figures_of_context
                name = names[get_name_cells(row)]
                value = _parse_value(row[value_index])
            except (ValueError, OverflowError) as error:
                raise self._table.build_row_error(row, error) from None
            if name in figures_of_context:
                value = _choose_value(figures_of_context[name], value)
            figures_of_context[name] = value
        return figures

    def _parse_name(self, tag: str, version: str, uom: str) -> ConceptUnit:
        return _parse_concept(tag, version), _parse_unit(uom, tag, self._elements.get((tag, version)))


def _parse_value(text: str) -> str | None:
    """Return a number without the zeros that pad it to four decimals, or None for nil."""
    if not text:
        return None
    if not _VALUE.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a decimal number")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _choose_value(first: str | None, second: str | None) -> str | None:
    """Return the longer of two texts for the same figure, or the greater one if they are equally long."""
    return max(first, second, key=lambda value: (len(value or ""), value or ""))


def _parse_context(ddate: str, qtrs: str, coreg: str, segments: str = "") -> FigureContext:
    start, end = _parse_period(ddate, qtrs)
    return start, end, _parse_dimensions(segments, coreg)


def _parse_period(ddate: str, qtrs: str) -> tuple[str | None, str]:
    end = days.from_digits(ddate)
    quarter_count = _parse_integer(qtrs)
    if quarter_count > MAX_QUARTERS:
        raise ValueError(f"a period of {format_count(quarter_count, 'quarter')} is too long")
    if not quarter_count:
        return None, end
    # The number of the period's first month, where January of year 0 is month 0. The last month has the number
    # 12 * year + month - 1, and the first one is 3 * quarter_count - 1 months earlier.
    months = int(end[:4]) * 12 + int(end[5:7]) - 3 * quarter_count
    return date(months // 12, months % 12 + 1, 1).isoformat(), end


def _parse_dimensions(segments: str, coreg: str) -> Dimensions:
    """Return the dimensions of ``Axis=Member;Axis=Member;``. Older sets have only ``coreg``, the entity of a figure."""
    members: dict[str, str] = {}
    for part in segments.split(";"):
        axis, _, member = part.partition("=")
        if axis:
            members[axis] = member
    if coreg:
        members.setdefault("LegalEntity", coreg)
    return tuple(sorted(members.items()))


def _parse_unit(uom: str, tag: str, element: TagRow | None) -> str:
    """Return the unit as a filing writes it. The sets have only the currency for an amount per share."""
    if not uom or len(uom) > 100:
        raise ValueError("the unit is missing")
    if not _CURRENCY.fullmatch(uom):
        return uom
    is_per_share = element.datatype in ("perShare", "perUnit") if element else _PER_SHARE.search(tag)
    return f"{uom}/shares" if is_per_share else uom


# ---- pre


class PreReader:
    """A parser of the rows of ``pre``. ``elements`` are the rows of ``tag``, in which some elements may be missing."""

    def __init__(self, table: DataSetTable, elements: Elements) -> None:
        self._table = table
        self._elements = elements
        self._get_line_cells = table.build_column_getter("report", "line", "stmt", "inpth", "plabel", "negating")
        self._get_name_cells = table.build_column_getter("tag", "version")
        self._names = _ParseCache(self._parse_name)

    def read_lines(self, lines: Iterable[str]) -> list[PreRow]:
        """Return the statement lines in the rows of a filing. Raise ParseError, with the element, if one is invalid."""
        statement_lines = []
        for row in self._table.iter_rows(lines):
            try:
                report, line, stmt, inpth, label, negating = self._get_line_cells(row)
                if stmt not in _STATEMENTS:
                    raise ValueError(f"{stmt[:20]!r} is not a statement")
                report_number = _parse_integer(report)
                line_number = _parse_integer(line)
                is_parenthetical = _parse_flag(inpth)
                concept, balance = self._names[self._get_name_cells(row)]
                statement_line = PreRow(
                    report=report_number,
                    line=line_number,
                    stmt=stmt,
                    is_parenthetical=is_parenthetical,
                    concept=concept,
                    balance=balance,
                    label=" ".join(label.split()),
                    is_negated=_parse_flag(negating),
                )
            except ValueError as error:
                raise self._table.build_row_error(row, error) from None
            statement_lines.append(statement_line)
        return statement_lines

    def _parse_name(self, tag: str, version: str) -> tuple[str, str | None]:
        element = self._elements.get((tag, version))
        return _parse_concept(tag, version), element.balance if element else None


# ---- cells


def _parse_concept(tag: str, version: str) -> str:
    """Return ``us-gaap:Assets`` for Assets and us-gaap/2023, and ``ext:Assets`` for an element of the filer's own."""
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag[:40]!r} is not an element name")
    taxonomy = _VERSION.fullmatch(version)
    if taxonomy is None and identifiers.parse_accession(version) != version:
        raise ValueError(f"{version[:40]!r} is neither a taxonomy nor an accession number")
    prefix = taxonomy[1] if taxonomy else "ext"
    return f"{prefix}:{tag}"


@lru_cache(maxsize=4_096)
def _parse_integer(text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is not a whole number")
    return int(text)


@lru_cache(maxsize=4)
def _parse_flag(text: str) -> bool:
    if text not in ("0", "1", ""):
        raise ValueError(f"{text[:20]!r} is neither 0 nor 1")
    return text == "1"
