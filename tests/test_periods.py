"""The calendar that the dates of facts make: from which day on a duration is another one."""

from __future__ import annotations

import itertools

import pytest

from finapi.core import days
from finapi.market.financials import periods
from finapi.market.financials.rows import FigureSeries
from tests.figures import Fact, filing, held

REPORT = filing("0000000001-21-000001", "10-K", "2021-03-01")
NEWS = filing("0000000001-21-000002", "8-K", "2021-03-02")
TAGS = ("NetIncomeLoss", "IncomeTaxExpenseBenefit")
LAST = days.number("2020-12-31")
A_YEAR = (LAST - 365, LAST)  # 366 days


def told(first: int, last: int, accession: str = REPORT.accession, tags: tuple[str, ...] = TAGS) -> list[Fact]:
    """Facts that prove a duration, both days included."""
    return [(tag, days.iso(first), days.iso(last), "100", accession) for tag in tags]


def shown(kind: str, *facts: list[Fact]) -> list[tuple[str, int, int, int]]:
    """The periods of a series, newest first: name, days off the end of 2020, length, durations that report it."""
    company = held([REPORT, NEWS], [one for some in facts for one in some])
    return [
        (one.fiscal_period, one.end - LAST, one.end - (one.start or 0) + 1, len(one.keys))
        for one in FigureSeries(company, kind, "latest").periods
    ]


@pytest.mark.parametrize(
    ("length", "kind"),
    [
        (69, ""), (70, "QUARTER"), (120, "QUARTER"), (121, ""), (139, ""), (140, "HALF"), (229, "HALF"),
        (230, "NINE_MONTHS"), (329, "NINE_MONTHS"), (330, "YEAR"), (420, "YEAR"), (421, ""),
    ],
)  # fmt: skip
def test_a_duration_is_of_a_kind_by_its_days(length: int, kind: str) -> None:
    kinds = ("QUARTER", "HALF", "NINE_MONTHS", "YEAR")
    assert [name for name in kinds if length in getattr(periods, name)] == ([kind] if kind else [])


@pytest.mark.parametrize(("length", "name"), [(349, "TP"), (350, "FY"), (385, "FY"), (386, "TP")])
def test_a_year_straight_after_another_has_350_to_385_days(length: int, name: str) -> None:
    next_one = told(LAST + 1, LAST + length)
    assert shown("A", told(*A_YEAR), next_one) == [(name, length, length, 1), ("FY", 0, 366, 1)]


@pytest.mark.parametrize(("off", "ways"), [(0, 1), (6, 2), (-6, 2), (7, 1), (-7, 1)])
def test_durations_whose_starts_and_ends_are_within_six_days_are_one(off: int, ways: int) -> None:
    first, last = A_YEAR
    another = [("Revenues", days.iso(first), days.iso(last + off), "100", REPORT.accession)]
    assert shown("A", told(*A_YEAR), another) == [("FY", 0, 366, ways)]
    another = [("Revenues", days.iso(first + off), days.iso(last), "100", REPORT.accession)]
    assert shown("A", told(*A_YEAR), another) == [("FY", 0, 366, ways)]


def test_a_year_of_one_fact_is_none_where_others_have_two() -> None:
    before = (A_YEAR[0] - 365, A_YEAR[0] - 1)
    assert shown("A", told(*A_YEAR), told(*before, tags=TAGS[:1])) == [("FY", 0, 366, 1)]
    one_each = [told(*year, tags=TAGS[:1]) for year in (A_YEAR, before)]
    assert shown("A", *one_each) == [("FY", 0, 366, 1), ("FY", -366, 365, 1)]


@pytest.mark.parametrize(
    ("tags", "late", "found"), [(TAGS, 0, True), (TAGS[:1], 0, False), (TAGS, 9, True), (TAGS, 12, False)]
)
def test_a_year_of_an_8_k_stands_where_two_facts_show_it_in_step(tags: tuple[str, ...], late: int, found: bool) -> None:
    last = A_YEAR[0] - 1 - 366 + late
    only_there = told(last - 364, last, NEWS.accession, tags)
    assert (("FY", last - LAST, 365, 1) in shown("A", told(*A_YEAR), only_there)) is found


@pytest.mark.parametrize(("length", "found"), [(69, False), (70, True), (127, True), (128, False)])
def test_a_quarter_that_durations_to_date_leave_has_70_to_127_days(length: int, found: bool) -> None:
    first = A_YEAR[0]
    to_date = [told(first, first + 89), told(first, first + 89 + length)]
    quarters = [(end, size) for _, end, size, ways in shown("Q", told(*A_YEAR), *to_date) if not ways]
    assert ((first + 89 + length - LAST, length) in quarters) is found


def test_quarters_of_years_before_the_first_lie_in_years_of_365_days() -> None:
    first = A_YEAR[0]
    early = [told(first - 730 + skipped, first - 730 + skipped + 89) for skipped in (0, 365)]
    company = held([REPORT], [one for some in (told(*A_YEAR), *early) for one in some])
    found = [(one.fiscal_year, one.fiscal_period) for one in FigureSeries(company, "Q", "latest").periods]
    assert found == [(2019, "Q1"), (2018, "Q1")]
    assert [(span.start - first, span.end - span.start) for span in company.calendar.spans] == [
        (-730, 364),
        (-365, 364),
        (0, 365),
    ]


def test_quarters_of_12_12_12_and_16_weeks_are_told_apart() -> None:
    first, weeks = A_YEAR[0], [0, 84, 168, 252, 364]
    year = told(first, first + 363)
    each = [told(first + start, first + end - 1) for start, end in itertools.pairwise(weeks)]
    names = [(name, size) for name, _, size, _ in shown("Q", year, *each)]
    assert names == [("Q4", 112), ("Q3", 84), ("Q2", 84), ("Q1", 84)]
