"""How far the statements that are served agree with the SEC's own rows for the same filings.

The rows of a Financial Statement Data Set are read here once more, as bare text and without the code that stores
them, and held against statements as the API answers them. Where a filing was stored from the data set this
proves the store; where it was stored from its XBRL documents it proves the reading of them.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.days import shift
from finapi.edgar.statement_sets import count_quarters
from finapi.market.documents.sources import Entry
from finapi.market.statements.statement_set_intake import NUM, PRE

KIND_OF = {"BS": "balance", "IS": "income", "CF": "cash-flow"}
# What of a data set is compared; tables of these kinds must be there.
TABLES = frozenset((NUM, PRE))
MAX_MISSES = 20  # of a statement, in words

# tag, month end, quarters, currency or unit, axes with members
Key = tuple[str, str, int, str, str]


class Agreement(NamedTuple):
    """One statement of one filing against its rows.

    ``presented`` counts the lines of the page; ``lines`` of them have a value in some column that is served, and
    ``lines_served`` of these stand in the answer in their order with their label and sign. ``values`` are the
    rows of presented elements in the served columns, ``equal`` those that are served as they are; ``outside``
    are rows of periods that the statement has no column for (they belong to notes and to other statements).
    ``misses`` says in words what is wrong.
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


def of_data_set(tables: Mapping[str, Entry], served: Callable[[str], Statements | None]) -> Iterator[Agreement]:
    """Every balance sheet, income and cash flow statement of a data set against what is served.

    ``tables`` are entries by kind (``fsds-num``, ``fsds-pre``). ``served`` gives ``data.statements`` of a filing
    with its dimensioned columns (``consolidated_only=false``), or None for a filing that is not to be compared.
    """
    values: dict[str, dict[Key, str]] = {}
    for row in rows_of(tables[NUM]):
        values.setdefault(row["adsh"], {})[_key(row)] = row["value"]
    pages: dict[str, dict[tuple[int, str], list[dict[str, str]]]] = {}
    for row in rows_of(tables[PRE]):
        if row["stmt"] in KIND_OF and row["inpth"] != "1":
            page = (int(row["report"]), row["stmt"])
            pages.setdefault(row["adsh"], {}).setdefault(page, []).append(row)
    for accession in sorted(pages):
        statements = served(accession)
        if statements is None:
            continue
        number: dict[str, int] = {}
        for page, lines in sorted(pages[accession].items()):
            kind = KIND_OF[page[1]]
            number[kind] = number.get(kind, 0) + 1
            name = kind if number[kind] == 1 else f"{kind}-{number[kind]}"
            lines.sort(key=lambda row: int(row["line"]))
            yield _compared(accession, name, lines, values.get(accession, {}), statements.get(name))


def totals(agreements: Sequence[Agreement]) -> dict[str, dict[str, int]]:
    """The counts by statement (``balance``, ``income``, ``cash-flow``) and of ``all``."""
    found: dict[str, dict[str, int]] = {}
    for one in agreements:
        for name in (one.statement.rstrip("-0123456789"), "all"):
            counts = found.setdefault(name, dict.fromkeys(("statements", *Agreement._fields[2:8], "misses"), 0))
            counts["statements"] += 1
            counts["misses"] += len(one.misses)
            for field in Agreement._fields[2:8]:
                counts[field] += getattr(one, field)
    return found


def rows_of(entry: Entry) -> Iterator[dict[str, str]]:
    lines = (line.decode("utf-8").rstrip("\r") for line in entry.iter_lines())
    names = next(lines).split("\t")
    return (dict(zip(names, line.split("\t"), strict=True)) for line in lines if line)


def _key(row: Mapping[str, str]) -> Key:
    segments = set(filter(None, row.get("segments", "").split(";")))
    if row["coreg"] and not any(one.startswith("LegalEntity=") for one in segments):
        segments.add(f"LegalEntity={row['coreg']}")
    return row["tag"], row["ddate"], int(row["qtrs"]), row["uom"], ";".join(sorted(segments))


def _compared(
    accession: str,
    name: str,
    lines: Sequence[Mapping[str, str]],
    values: Mapping[Key, str],
    statement: Mapping[str, Any] | None,
) -> Agreement:
    if statement is None:
        return Agreement(accession, name, len(lines), len(lines), 0, 0, 0, 0, ("the statement is not served",))
    misses: list[str] = []
    shown = _Shown(statement, values, misses)
    tags = {row["tag"] for row in lines}
    expected = {key for key in values if key[0] in tags and shown.has_column(key)}
    # A balance in a duration column stands there only if its line opens or closes the period.
    expected |= shown.equal
    misses.extend(f"{key} is not served" for key in sorted(expected - shown.equal - shown.different))
    presented = [_line(row) for row in lines if row["tag"] in {key[0] for key in expected}]
    in_order = _in_order(presented, shown.lines, misses)
    outside = sum(1 for key in values if key[0] in tags and not key[4]) - sum(1 for key in expected if not key[4])
    return Agreement(
        accession,
        name,
        len(lines),
        len(presented),
        in_order,
        len(expected),
        len(expected & shown.equal),
        outside,
        tuple(misses[:MAX_MISSES]),
    )


class _Shown:
    """What a statement shows: the rows that its cells are, right or wrong, and its lines in their order."""

    def __init__(self, statement: Mapping[str, Any], values: Mapping[Key, str], misses: list[str]) -> None:
        self.equal: set[Key] = set()
        self.different: set[Key] = set()
        self.lines: list[tuple[str, str, bool]] = []
        columns = statement["columns"]
        self._columns = {
            (_compact(month_end(one["end_date"])), count_quarters(one["start_date"], one["end_date"]), _segments(one))
            for one in columns
        }
        for row in statement["rows"]:
            if row["abstract"]:
                continue
            tag = row["concept"].rpartition(":")[2]
            self.lines.append((tag, _ascii(row["label"] or ""), row["negated"]))
            for column, value, mark in zip(columns, row["values"], row["marks"], strict=True):
                if value is None and mark["status"] == "absent":
                    continue
                keys = [key for key in _keys(tag, row["unit"] or "", column) if key in values]
                self._judge(keys, value, values, misses, f"{tag} {column['start_date']}..{column['end_date']}")

    def has_column(self, key: Key) -> bool:
        """Whether the statement has a column of a row's period and dimensions."""
        return (key[1], key[2], key[4]) in self._columns

    def _judge(
        self, keys: Sequence[Key], value: str | None, values: Mapping[Key, str], misses: list[str], where: str
    ) -> None:
        right = [key for key in keys if _same(value, values[key])]
        self.equal.update(right)
        if not right:
            self.different.update(keys)
            told = values[keys[0]] if keys else "no row"
            misses.append(f"{where} is served as {value}, the rows have {told}")


def _keys(tag: str, unit: str, column: Mapping[str, Any]) -> list[Key]:
    """The rows that a cell may be: the column's period, or the balance at its end or its opening."""
    uom = unit.partition("/")[0]
    start, end, segments = column["start_date"], column["end_date"], _segments(column)
    places = [(end, count_quarters(start, end)), (end, 0)]
    if start is not None:
        places.append((shift(start, -1), 0))
    return [(tag, _compact(month_end(day)), length, of, segments) for day, length in places for of in (uom, unit)]


def _segments(column: Mapping[str, Any]) -> str:
    """Dimensions as the data sets write them: without prefixes and the words that every name has."""
    return ";".join(
        sorted(
            f"{_bare(axis).removesuffix('Axis').removeprefix('Statement')}={_bare(member).removesuffix('Member')}"
            for axis, member in (column["dims"] or {}).items()
        )
    )


def _same(value: str | None, told: str) -> bool:
    if value is None or told == "":
        return value is None and told == ""
    return round(Decimal(value), 4) == Decimal(told)


def _in_order(
    presented: Sequence[tuple[str, str, bool]], shown: Sequence[tuple[str, str, bool]], misses: list[str]
) -> int:
    """How many presented lines stand in the answer, one after the other."""
    found = at = 0
    for line in presented:
        if line in shown[at:]:
            at = shown.index(line, at) + 1
            found += 1
        else:
            misses.append(f"line {line[0]} {line[1]!r} is not served in its place")
    return found


def _line(row: Mapping[str, str]) -> tuple[str, str, bool]:
    return row["tag"], _ascii(row["plabel"]), row["negating"] == "1"


def _ascii(text: str) -> str:
    """The data sets leave out what is not ASCII."""
    return " ".join("".join(one for one in text if one < "\x80").split())


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def _compact(day: str) -> str:
    return day.replace("-", "")


def month_end(day: str) -> str:
    """The month end nearest to an ISO date: what the sets make of it."""
    on = date.fromisoformat(day)
    last = calendar.monthrange(on.year, on.month)[1]
    if last - on.day < on.day:
        return on.replace(day=last).isoformat()
    return date.fromordinal(on.replace(day=1).toordinal() - 1).isoformat()
