"""Apple's 10-K for fiscal 2024 against the SEC's Financial Statement Data Sets of the same filing.

Here the filing has no schema: no definitions and no types, only instance, presentation and labels. The
data sets change a filing as follows: dates on month ends, values of at most four decimals, the currency
for a per-share unit, no character outside ASCII, and short names of axes and members.
"""

from __future__ import annotations

import calendar
import csv
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

import pytest

from tests.conftest import needs_shared
from tests.real import AAPL_2024, EDGAR, JSON, Cell, Service, iter_cells, service, value_rows
from tests.support.case_tables import run_each_case

pytestmark = needs_shared

SLICE = EDGAR / "fsds_slices" / "0000320193-24-000123"

KINDS = {
    ("IS", "0"): "income",
    ("CI", "0"): "comprehensive-income",
    ("BS", "0"): "balance",
    ("BS", "1"): "balance-parenthetical",
    ("EQ", "0"): "equity",
    ("CF", "0"): "cash-flow",
}

AXES = {"srt:ProductOrServiceAxis": "ProductOrService", "us-gaap:StatementEquityComponentsAxis": "EquityComponents"}


class Value(NamedTuple):
    """The key of a row of num.txt: ``ddate`` is a month end, ``qtrs`` is 0 for an instant."""

    tag: str
    version: str
    ddate: str
    qtrs: str
    uom: str
    segments: str


def read_table(name: str) -> list[dict[str, str]]:
    with (SLICE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_values() -> dict[Value, Decimal | None]:
    """Return the values of num.txt without co-registrants; a nil value is None."""
    return {
        Value(row["tag"], row["version"], row["ddate"], row["qtrs"], row["uom"], row["segments"]): (
            Decimal(row["value"]) if row["value"] else None
        )
        for row in read_table("num.txt")
        if row["coreg"] == ""
    }


def find_month_end(day: str) -> str:
    """Return the nearest month end, as the data sets round dates."""
    on = date.fromisoformat(day)
    this = on.replace(day=calendar.monthrange(on.year, on.month)[1])
    last = on.replace(day=1) - timedelta(days=1)
    return (this if (this - on) < (on - last) else last).strftime("%Y%m%d")


def count_quarters(start: str | None, end: str) -> str:
    days = 0 if start is None else (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    return str(round(days / 91.25))


def tag_and_version(concept: str) -> tuple[str, str]:
    """Return tag and version as the data sets write them.

    The version of a filer's own element is the accession number.
    """
    prefix, _, tag = concept.partition(":")
    return tag, {"us-gaap": "us-gaap/2024", "aapl": SLICE.name}[prefix]


def build_key(cell: Cell) -> Value:
    tag, taxonomy_version = tag_and_version(cell.concept)
    assert cell.unit is not None
    segments = "".join(f"{AXES[axis]}={member.partition(':')[2].removesuffix('Member')};" for axis, member in cell.dims)
    uom = cell.unit.partition("/")[0]
    return Value(tag, taxonomy_version, find_month_end(cell.end), count_quarters(cell.start, cell.end), uom, segments)


def round_value(value: str | None) -> Decimal | None:
    """Return a value with four decimals: a par value of $0.00001 is 0.0000 in the data set."""
    return None if value is None else round(Decimal(value), 4)


def reported_cells(statement: JSON) -> list[Cell]:
    return [cell for cell in iter_cells(statement) if cell.status != "absent"]


@pytest.fixture(scope="module")
def apple() -> Iterator[Service]:
    with service(AAPL_2024) as apple_service:
        yield apple_service


def test_the_data_set_presents_the_rows_of_six_statements() -> None:
    # All of pre.txt is compared below: nothing unclassified, no cover page.
    assert Counter((row["stmt"], row["inpth"]) for row in read_table("pre.txt")) == {
        ("IS", "0"): 15,
        ("CI", "0"): 10,
        ("BS", "0"): 30,
        ("BS", "1"): 4,
        ("EQ", "0"): 10,
        ("CF", "0"): 29,
    }


def test_the_statements_of_the_data_set_are_served_in_its_order(apple: Service) -> None:
    ordered = sorted({(int(row["report"]), row["stmt"], row["inpth"]) for row in read_table("pre.txt")})
    assert list(apple.statements(AAPL_2024)) == [KINDS[stmt, inpth] for _, stmt, inpth in ordered]


@run_each_case("stmt, inpth", list(KINDS))
def test_every_presented_row_is_served_in_order_label_and_sign(apple: Service, stmt: str, inpth: str) -> None:
    presented = sorted(
        (row for row in read_table("pre.txt") if (row["stmt"], row["inpth"]) == (stmt, inpth)),
        key=lambda row: int(row["line"]),
    )
    statement = apple.statements(AAPL_2024, dimensioned=True)[KINDS[stmt, inpth]]
    assert [
        # The set has no character outside ASCII: "Total shareholders equity".
        (*tag_and_version(row["concept"]), row["label"].replace("’", ""), row["negated"])
        for row in value_rows(statement)
    ] == [(row["tag"], row["version"], row["plabel"], row["negating"] == "1") for row in presented]


@run_each_case("kind", KINDS.values())
def test_every_served_plain_value_is_in_the_data_set(apple: Service, kind: str) -> None:
    set_values = read_values()
    for cell in reported_cells(apple.statements(AAPL_2024)[kind]):
        assert set_values[build_key(cell)] == round_value(cell.value), cell


@pytest.mark.parametrize("kind", ["income", "equity"])
def test_every_served_dimensioned_value_is_in_the_data_set(apple: Service, kind: str) -> None:
    set_values = read_values()
    dimensioned_cells = [
        cell for cell in reported_cells(apple.statements(AAPL_2024, dimensioned=True)[kind]) if cell.dims
    ]
    assert len(dimensioned_cells) == {"income": 12, "equity": 42}[kind]
    for cell in dimensioned_cells:
        assert set_values[build_key(cell)] == round_value(cell.value), cell


def test_every_value_without_segments_is_served(apple: Service) -> None:
    served = {
        build_key(cell): round_value(cell.value)
        for statement in apple.statements(AAPL_2024).values()
        for cell in reported_cells(statement)
    }
    # The slice holds the tags of pre.txt only, and no value of those without segments is in notes alone.
    set_values = {key: value for key, value in read_values().items() if key.segments == ""}
    assert len(set_values) == 224
    assert served == set_values


@pytest.mark.parametrize(
    ("kind", "segments", "count"),
    [
        ("income", ["ProductOrService=Product;", "ProductOrService=Service;"], 12),
        (
            "equity",
            [
                "EquityComponents=CommonStockIncludingAdditionalPaidInCapital;",
                "EquityComponents=RetainedEarnings;",
                "EquityComponents=AccumulatedOtherComprehensiveIncome;",
            ],
            36,
        ),
    ],
)
def test_every_value_with_segments_of_a_face_is_served(
    apple: Service, kind: str, segments: list[str], count: int
) -> None:
    """The other members (countries, segments, fair value levels, iPhone) appear in notes only."""
    statement = apple.statements(AAPL_2024, dimensioned=True)[kind]
    served = {build_key(cell): round_value(cell.value) for cell in reported_cells(statement) if cell.dims}
    set_values = {key: value for key, value in read_values().items() if key.segments in segments}
    assert len(set_values) == count
    assert served == set_values
