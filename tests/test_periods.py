"""The calendar that the dates of facts make: from which day on a duration is another one."""

from __future__ import annotations

import itertools

import pytest

from finapi.core import days
from finapi.market.financials import periods
from finapi.market.financials.series_rows import FigureSeries
from tests.figures import Fact, filing, held

REPORT = filing("0000000001-21-000001", "10-K", "2021-03-01")
NEWS = filing("0000000001-21-000002", "8-K", "2021-03-02")
TAGS = ("NetIncomeLoss", "IncomeTaxExpenseBenefit")
LAST = days.number("2020-12-31")
A_YEAR = (LAST - 365, LAST)  # 366 days


def told(first: int, last: int, accession: str = REPORT.accession, tags: tuple[str, ...] = TAGS) -> list[Fact]:
    """Facts that prove a duration, both days included."""
    return [(tag, days.iso(first), days.iso(last), "100", accession) for tag in tags]


def spans(*facts: list[Fact]) -> list[tuple[str, int, int]]:
    """The years of a calendar, oldest first: kind, first and last day off the end of 2020."""
    company = held([REPORT, NEWS], [one for some in facts for one in some])
    return [(one.kind, one.start - LAST, one.end - LAST) for one in company.calendar.spans]


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
        (69, ""),
        (70, "QUARTER_DAYS"),
        (120, "QUARTER_DAYS"),
        (121, ""),
        (139, ""),
        (140, "HALF_YEAR_DAYS"),
        (229, "HALF_YEAR_DAYS"),
        (230, "NINE_MONTHS_DAYS"),
        (329, "NINE_MONTHS_DAYS"),
        (330, "YEAR_DAYS"),
        (420, "YEAR_DAYS"),
        (421, ""),
    ],
)
def test_a_duration_is_of_a_kind_by_its_days(length: int, kind: str) -> None:
    kinds = ("QUARTER_DAYS", "HALF_YEAR_DAYS", "NINE_MONTHS_DAYS", "YEAR_DAYS")
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


def test_quarters_of_years_after_the_last_lie_in_years_of_365_days() -> None:
    later = told(LAST + 366, LAST + 366 + 89)
    assert spans(told(*A_YEAR), later) == [("year", -365, 0), ("open", 1, 365), ("open", 366, 730)]


@pytest.mark.parametrize("missing", [0, 10, 11, 341])
def test_a_short_year_after_another_is_a_transition_whatever_lies_between(missing: int) -> None:
    made = spans(told(*A_YEAR), told(LAST + missing + 1, LAST + missing + 349))
    assert (made[0][0], made[-1]) == ("year", ("transition", missing + 1, missing + 349))


@pytest.mark.parametrize(
    ("missing", "between"),
    [
        (10, []),
        (11, [("transition", 1, 11)]),
        (329, [("transition", 1, 329)]),
        (330, [("open", 1, 330)]),
        (549, [("open", 1, 274), ("open", 275, 549)]),
    ],
)
def test_what_lies_between_two_years_is_a_transition_below_330_days(
    missing: int, between: list[tuple[str, int, int]]
) -> None:
    made = spans(told(*A_YEAR), told(LAST + missing + 1, LAST + missing + 365))
    assert made == [("year", -365, 0), *between, ("year", missing + 1, missing + 365)]


def test_eighty_years_and_more_between_two_are_damage_and_are_not_cut_up() -> None:
    most = 80 * 366
    far = [len(spans(told(*A_YEAR), told(LAST + one + 1, LAST + one + 365))) for one in (most - 1, most)]
    assert far == [82, 3]


@pytest.mark.parametrize(("said", "named"), [((2017, 2018, 2020), 2019), ((2017, 2019, 2020), 2020)])
def test_years_are_named_as_most_of_the_last_three_reports_name_theirs(said: tuple[int, ...], named: int) -> None:
    ends = (LAST - 731, LAST - 366, LAST)
    reports = [
        filing(f"0000000001-{year}-000001", "10-K", f"20{year}-03-01", fiscal_year=one, period_end=end)
        for year, one, end in zip((19, 20, 21), said, ends, strict=True)
    ]
    facts = [told(end - 364, end, one.accession) for one, end in zip(reports, ends, strict=True)]
    company = held(reports, [one for some in facts for one in some])
    assert [one.fiscal_year for one in company.calendar.spans if one.keys] == [named - 2, named - 1, named]


def test_a_duration_to_date_belongs_to_the_span_whose_start_is_nearest() -> None:
    """Between the years lie eleven days, and the half year begins within ten of both starts."""
    first = LAST + 12
    half = told(first - 2, first + 180)
    found = held([REPORT], [one for some in (told(*A_YEAR), told(first, first + 364), half) for one in some])
    assert [one.kind for one in found.calendar.spans] == ["year", "transition", "year"]
    assert [place for place, keys in found.calendar.to_date.items() if keys[0][1] == 183] == [(2, 2)]


@pytest.mark.parametrize(
    ("days", "name"), [(136, "Q1"), (137, "Q2"), (228, "Q2"), (229, "Q3"), (319, "Q3"), (320, "Q4")]
)
def test_a_quarter_is_named_by_the_nearest_quarter_of_its_year(days: int, name: str) -> None:
    first = LAST + 1
    quarter = told(first + days - 90, first + days - 1)
    assert [one[0] for one in shown("Q", told(first, first + 364), quarter)] == [name]


@pytest.mark.parametrize("form", ["10-Q", "10-K"])
def test_twelve_months_of_one_report_without_a_day_are_a_year_only_of_an_annual_one(form: str) -> None:
    report = filing("unfiled-1", form, None)
    company = held([report], told(*A_YEAR, accession=report.accession, tags=TAGS[:1]))
    assert [(one.kind, len(one.keys)) for one in company.calendar.spans] == ([("year", 1)] if form == "10-K" else [])
