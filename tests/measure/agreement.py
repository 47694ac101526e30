"""Agreement of the served statements with the SEC's own rows for the same filings.

The rows of a Financial Statement Data Set are read here again, as bare text and without the code that stores them, and
compared with the statements of the API. If a filing was stored from the data set, this tests the store; if it was
stored from its XBRL documents, this tests the reading of them.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.days import count_days, shift
from finapi.market.documents.sources import Entry
from finapi.market.statements.statement_set_intake import NUM, PRE

STATEMENT_KINDS = {"BS": "balance", "IS": "income", "CF": "cash-flow"}
# Kinds of tables that a comparison needs.
TABLES = frozenset((NUM, PRE))
MAX_MISSES = 20  # per statement

# tag, month end, quarters, currency or unit, axes with members
Key = tuple[str, str, int, str, str]


def count_quarters(start: str | None, end: str) -> int:
    """Return the number of quarters of a period, rounded, and 0 for an instant, as in the column ``qtrs``."""
    return round(count_days(start, end) / 91.25)


class Agreement(NamedTuple):
    """One statement of one filing against its rows.

    ``presented`` counts the lines of the page; ``lines`` of them have a value in some column that is served, and
    ``lines_served`` of these are in the answer in their order with their label and sign. ``values`` are the
    rows of presented elements in the served columns, ``equal`` those that are served unchanged; ``outside``
    are rows of periods that the statement has no column for (they belong to notes and to other statements).
    ``misses`` describes the errors.
    """

    accession: str
    statement: str
    presented: int
    lines: int
    lines_served: int
    values: int
    equal: int
    outside: int
    misses: tuple[str, ...]


Statements = Mapping[str, Any]


def compare_data_set(tables: Mapping[str, Entry], served: Callable[[str], Statements | None]) -> Iterator[Agreement]:
    """Compare every balance sheet, income and cash flow statement of a data set with the served one.

    ``tables`` are entries by kind (``fsds-num``, ``fsds-pre``). ``served`` returns ``data.statements`` of a
    filing with its dimensioned columns (``consolidated_only=false``), or None for a filing that is not compared.
    """
    values: dict[str, dict[Key, str]] = {}
    for row in iter_table_rows(tables[NUM]):
        values.setdefault(row["adsh"], {})[_build_key(row)] = row["value"]
    pages: dict[str, dict[tuple[int, str], list[dict[str, str]]]] = {}
    for row in iter_table_rows(tables[PRE]):
        if row["stmt"] in STATEMENT_KINDS and row["inpth"] != "1":
            page = (int(row["report"]), row["stmt"])
            pages.setdefault(row["adsh"], {}).setdefault(page, []).append(row)
    for accession in sorted(pages):
        statements = served(accession)
        if statements is None:
            continue
        number: dict[str, int] = {}
        for page, lines in sorted(pages[accession].items()):
            kind = STATEMENT_KINDS[page[1]]
            number[kind] = number.get(kind, 0) + 1
            name = kind if number[kind] == 1 else f"{kind}-{number[kind]}"
            lines.sort(key=lambda row: int(row["line"]))
            yield _compare_statement(accession, name, lines, values.get(accession, {}), statements.get(name))


def sum_counts(agreements: Sequence[Agreement]) -> dict[str, dict[str, int]]:
    """Return the counts by statement (``balance``, ``income``, ``cash-flow``) and of ``all``."""
    counts_by_statement: dict[str, dict[str, int]] = {}
    for agreement in agreements:
        for name in (agreement.statement.rstrip("-0123456789"), "all"):
            counts = counts_by_statement.setdefault(
                name, dict.fromkeys(("statements", *Agreement._fields[2:8], "misses"), 0)
            )
            counts["statements"] += 1
            counts["misses"] += len(agreement.misses)
            for field in Agreement._fields[2:8]:
                counts[field] += getattr(agreement, field)
    return counts_by_statement


def iter_table_rows(entry: Entry) -> Iterator[dict[str, str]]:
    lines = (line.decode("utf-8").rstrip("\r") for line in entry.iter_lines())
    names = next(lines).split("\t")
    return (dict(zip(names, line.split("\t"), strict=True)) for line in lines if line)


def _build_key(row: Mapping[str, str]) -> Key:
    segments = set(filter(None, row.get("segments", "").split(";")))
    if row["coreg"] and not any(segment.startswith("LegalEntity=") for segment in segments):
        segments.add(f"LegalEntity={row['coreg']}")
    return row["tag"], row["ddate"], int(row["qtrs"]), row["uom"], ";".join(sorted(segments))


def _compare_statement(
    accession: str,
    name: str,
    lines: Sequence[Mapping[str, str]],
    values: Mapping[Key, str],
    statement: Mapping[str, Any] | None,
) -> Agreement:
    if statement is None:
        return Agreement(accession, name, len(lines), len(lines), 0, 0, 0, 0, ("the statement is not served",))
    misses: list[str] = []
    served_statement = _ServedStatement(statement, values, misses)
    tags = {row["tag"] for row in lines}
    expected = {key for key in values if key[0] in tags and served_statement.has_column(key)}
    # A balance is in a duration column only if its line opens or closes the period.
    expected |= served_statement.equal
    misses.extend(
        f"{key} is not served" for key in sorted(expected - served_statement.equal - served_statement.different)
    )
    presented = [_outline_row(row) for row in lines if row["tag"] in {key[0] for key in expected}]
    in_order = _count_lines_in_order(presented, served_statement.lines, misses)
    outside = sum(1 for key in values if key[0] in tags and not key[4]) - sum(1 for key in expected if not key[4])
    return Agreement(
        accession,
        name,
        len(lines),
        len(presented),
        in_order,
        len(expected),
        len(expected & served_statement.equal),
        outside,
        tuple(misses[:MAX_MISSES]),
    )


class _ServedStatement:
    """A served statement: the rows that its cells match or contradict, and its lines in order."""

    def __init__(self, statement: Mapping[str, Any], values: Mapping[Key, str], misses: list[str]) -> None:
        self.equal: set[Key] = set()
        self.different: set[Key] = set()
        self.lines: list[tuple[str, str, bool]] = []
        columns = statement["columns"]
        self._columns = {
            (
                _remove_hyphens(find_month_end(served_column["end_date"])),
                count_quarters(served_column["start_date"], served_column["end_date"]),
                _build_segments(served_column),
            )
            for served_column in columns
        }
        for row in statement["rows"]:
            if row["abstract"]:
                continue
            tag = row["concept"].rpartition(":")[2]
            self.lines.append((tag, _remove_non_ascii(row["label"] or ""), row["negated"]))
            for column, value, mark in zip(columns, row["values"], row["marks"], strict=True):
                if value is None and mark["status"] == "absent":
                    continue
                keys = [key for key in _list_candidate_keys(tag, row["unit"] or "", column) if key in values]
                self._judge(keys, value, values, misses, f"{tag} {column['start_date']}..{column['end_date']}")

    def has_column(self, key: Key) -> bool:
        """Return True if the statement has a column for a row's period and dimensions."""
        return (key[1], key[2], key[4]) in self._columns

    def _judge(
        self, keys: Sequence[Key], value: str | None, values: Mapping[Key, str], misses: list[str], where: str
    ) -> None:
        equal_keys = [key for key in keys if _is_equal(value, values[key])]
        self.equal.update(equal_keys)
        if not equal_keys:
            self.different.update(keys)
            row_value = values[keys[0]] if keys else "no row"
            misses.append(f"{where} is served as {value}, the rows have {row_value}")


def _list_candidate_keys(tag: str, unit: str, column: Mapping[str, Any]) -> list[Key]:
    """Return the rows that a cell may match.

    They have the column's period, its last day, or the day before it opens.
    """
    uom = unit.partition("/")[0]
    start, end, segments = column["start_date"], column["end_date"], _build_segments(column)
    days_and_quarters = [(end, count_quarters(start, end)), (end, 0)]
    if start is not None:
        days_and_quarters.append((shift(start, -1), 0))
    return [
        (tag, _remove_hyphens(find_month_end(day)), quarters, key_unit, segments)
        for day, quarters in days_and_quarters
        for key_unit in (uom, unit)
    ]


def _build_segments(column: Mapping[str, Any]) -> str:
    """Return dimensions as the data sets write them: without prefixes and common words."""
    return ";".join(
        sorted(
            f"{_remove_prefix(axis).removesuffix('Axis').removeprefix('Statement')}={_remove_prefix(member).removesuffix('Member')}"
            for axis, member in (column["dims"] or {}).items()
        )
    )


def _is_equal(value: str | None, row_value: str) -> bool:
    if value is None or row_value == "":
        return value is None and row_value == ""
    return round(Decimal(value), 4) == Decimal(row_value)


def _count_lines_in_order(
    presented: Sequence[tuple[str, str, bool]], served_lines: Sequence[tuple[str, str, bool]], misses: list[str]
) -> int:
    """Return the number of presented lines that are in the answer, in order."""
    line_count = next_index = 0
    for line in presented:
        if line in served_lines[next_index:]:
            next_index = served_lines.index(line, next_index) + 1
            line_count += 1
        else:
            misses.append(f"line {line[0]} {line[1]!r} is not served in its place")
    return line_count


def _outline_row(row: Mapping[str, str]) -> tuple[str, str, bool]:
    return row["tag"], _remove_non_ascii(row["plabel"]), row["negating"] == "1"


def _remove_non_ascii(text: str) -> str:
    """Return a text without non-ASCII characters, as in the data sets."""
    return " ".join("".join(character for character in text if character < "\x80").split())


def _remove_prefix(name: str) -> str:
    return name.rpartition(":")[2]


def _remove_hyphens(day: str) -> str:
    return day.replace("-", "")


def find_month_end(day: str) -> str:
    """Return the month end nearest to an ISO date, as the data sets round dates."""
    parsed_date = date.fromisoformat(day)
    last_day = calendar.monthrange(parsed_date.year, parsed_date.month)[1]
    if last_day - parsed_date.day < parsed_date.day:
        return parsed_date.replace(day=last_day).isoformat()
    return date.fromordinal(parsed_date.replace(day=1).toordinal() - 1).isoformat()
