"""Fiscal calendars: the number of days from which a duration is of another kind."""

from __future__ import annotations

import itertools

import pytest

from finapi.core import days
from finapi.market.financials import periods
from finapi.market.financials.series_rows import FigureSeries
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing

REPORT = build_filing("0000000001-21-000001", "10-K", "2021-03-01")
NEWS = build_filing("0000000001-21-000002", "8-K", "2021-03-02")
TAGS = ("NetIncomeLoss", "IncomeTaxExpenseBenefit")
LAST = days.number("2020-12-31")
A_YEAR = (LAST - 365, LAST)  # 366 days


def build_facts(first: int, last: int, accession: str = REPORT.accession, tags: tuple[str, ...] = TAGS) -> list[Fact]:
    """Return facts that prove a duration, both days included."""
    return [(tag, days.iso(first), days.iso(last), "100", accession) for tag in tags]


def list_spans(*facts: list[Fact]) -> list[tuple[str, int, int]]:
    """Return the spans of a calendar, oldest first: kind, first and last day relative to the end of 2020."""
    company = build_company_book([REPORT, NEWS], [fact for group in facts for fact in group])
    return [(fact.kind, fact.start - LAST, fact.end - LAST) for fact in company.calendar.spans]


def list_periods(kind: str, *facts: list[Fact]) -> list[tuple[str, int, int, int]]:
    """Return the periods of a series, newest first: name, end relative to the end of 2020, length, number of keys."""
    company = build_company_book([REPORT, NEWS], [fact for group in facts for fact in group])
    return [
        (fact.fiscal_period, fact.end - LAST, fact.end - (fact.start or 0) + 1, len(fact.keys))
        for fact in FigureSeries(company, kind, "latest").periods
    ]


@run_each_case(
    "length, kind",
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
def test_the_days_of_a_duration_decide_its_kind(length: int, kind: str) -> None:
    kinds = ("QUARTER_DAYS", "HALF_YEAR_DAYS", "NINE_MONTHS_DAYS", "YEAR_DAYS")
    assert [name for name in kinds if length in getattr(periods, name)] == ([kind] if kind else [])


@run_each_case("length, name", [(349, "TP"), (350, "FY"), (385, "FY"), (386, "TP")])
def test_a_following_year_has_350_to_385_days(length: int, name: str) -> None:
    next_one = build_facts(LAST + 1, LAST + length)
    assert list_periods("A", build_facts(*A_YEAR), next_one) == [(name, length, length, 1), ("FY", 0, 366, 1)]


@run_each_case("off, ways", [(0, 1), (6, 2), (-6, 2), (7, 1), (-7, 1)])
def test_durations_within_six_days_are_the_same_period(off: int, ways: int) -> None:
    first, last = A_YEAR
    another = [("Revenues", days.iso(first), days.iso(last + off), "100", REPORT.accession)]
    assert list_periods("A", build_facts(*A_YEAR), another) == [("FY", 0, 366, ways)]
    another = [("Revenues", days.iso(first + off), days.iso(last), "100", REPORT.accession)]
    assert list_periods("A", build_facts(*A_YEAR), another) == [("FY", 0, 366, ways)]


def test_a_year_of_one_fact_is_ignored_if_others_have_two() -> None:
    before = (A_YEAR[0] - 365, A_YEAR[0] - 1)
    assert list_periods("A", build_facts(*A_YEAR), build_facts(*before, tags=TAGS[:1])) == [("FY", 0, 366, 1)]
    one_each = [build_facts(*year, tags=TAGS[:1]) for year in (A_YEAR, before)]
    assert list_periods("A", *one_each) == [("FY", 0, 366, 1), ("FY", -366, 365, 1)]


@run_each_case("tags, late, is_year", [(TAGS, 0, True), (TAGS[:1], 0, False), (TAGS, 9, True), (TAGS, 12, False)])
def test_a_year_of_an_8_k_needs_two_facts_and_matching_ends(tags: tuple[str, ...], late: int, is_year: bool) -> None:
    last = A_YEAR[0] - 1 - 366 + late
    only_there = build_facts(last - 364, last, NEWS.accession, tags)
    assert (("FY", last - LAST, 365, 1) in list_periods("A", build_facts(*A_YEAR), only_there)) is is_year


@run_each_case("length, is_quarter", [(69, False), (70, True), (127, True), (128, False)])
def test_a_derived_quarter_has_70_to_127_days(length: int, is_quarter: bool) -> None:
    first = A_YEAR[0]
    to_date = [build_facts(first, first + 89), build_facts(first, first + 89 + length)]
    quarters = [(end, size) for _, end, size, ways in list_periods("Q", build_facts(*A_YEAR), *to_date) if not ways]
    assert ((first + 89 + length - LAST, length) in quarters) is is_quarter


def test_quarters_before_the_first_year_are_in_open_years() -> None:
    first = A_YEAR[0]
    early = [build_facts(first - 730 + skipped, first - 730 + skipped + 89) for skipped in (0, 365)]
    company = build_company_book([REPORT], [fact for group in (build_facts(*A_YEAR), *early) for fact in group])
    quarters = [(fact.fiscal_year, fact.fiscal_period) for fact in FigureSeries(company, "Q", "latest").periods]
    assert quarters == [(2019, "Q1"), (2018, "Q1")]
    assert [(span.start - first, span.end - span.start) for span in company.calendar.spans] == [
        (-730, 364),
        (-365, 364),
        (0, 365),
    ]


def test_a_company_without_annual_reports_has_one_open_year() -> None:
    quarter = build_facts(LAST - 89, LAST)
    assert list_spans(quarter) == [("open", -364, 0)]


def test_quarters_of_12_12_12_and_16_weeks_are_distinguished() -> None:
    first, weeks = A_YEAR[0], [0, 84, 168, 252, 364]
    year = build_facts(first, first + 363)
    each = [build_facts(first + start, first + end - 1) for start, end in itertools.pairwise(weeks)]
    names = [(name, size) for name, _, size, _ in list_periods("Q", year, *each)]
    assert names == [("Q4", 112), ("Q3", 84), ("Q2", 84), ("Q1", 84)]


def test_quarters_after_the_last_year_are_in_open_years() -> None:
    later = build_facts(LAST + 366, LAST + 366 + 89)
    assert list_spans(build_facts(*A_YEAR), later) == [("year", -365, 0), ("open", 1, 365), ("open", 366, 730)]


@run_each_case("missing", [0, 10, 11, 341])
def test_a_short_year_is_a_transition_after_any_gap(missing: int) -> None:
    found_spans = list_spans(build_facts(*A_YEAR), build_facts(LAST + missing + 1, LAST + missing + 349))
    assert (found_spans[0][0], found_spans[-1]) == ("year", ("transition", missing + 1, missing + 349))


@run_each_case(
    "missing, between",
    [
        (10, []),
        (11, [("transition", 1, 11)]),
        (329, [("transition", 1, 329)]),
        (330, [("open", 1, 330)]),
        (549, [("open", 1, 274), ("open", 275, 549)]),
    ],
)
def test_a_gap_below_330_days_is_a_transition_period(missing: int, between: list[tuple[str, int, int]]) -> None:
    found_spans = list_spans(build_facts(*A_YEAR), build_facts(LAST + missing + 1, LAST + missing + 365))
    assert found_spans == [("year", -365, 0), *between, ("year", missing + 1, missing + 365)]


def test_a_gap_of_eighty_years_is_not_divided() -> None:
    most = 80 * 366
    far = [
        len(list_spans(build_facts(*A_YEAR), build_facts(LAST + missing + 1, LAST + missing + 365)))
        for missing in (most - 1, most)
    ]
    assert far == [82, 3]


@pytest.mark.parametrize(("labels", "expected_years"), [((2017, 2018, 2020), 2019), ((2017, 2019, 2020), 2020)])
def test_most_of_the_last_three_reports_name_the_years(labels: tuple[int, ...], expected_years: int) -> None:
    ends = (LAST - 731, LAST - 366, LAST)
    reports = [
        build_filing(f"0000000001-{year}-000001", "10-K", f"20{year}-03-01", fiscal_year=report, period_end=end)
        for year, report, end in zip((19, 20, 21), labels, ends, strict=True)
    ]
    facts = [build_facts(end - 364, end, report.accession) for report, end in zip(reports, ends, strict=True)]
    company = build_company_book(reports, [report for group in facts for report in group])
    assert [report.fiscal_year for report in company.calendar.spans if report.keys] == [
        expected_years - 2,
        expected_years - 1,
        expected_years,
    ]


def test_a_year_to_date_belongs_to_the_nearest_span() -> None:
    """There are eleven days between the years, and the half year begins within ten days of both starts."""
    first = LAST + 12
    half = build_facts(first - 2, first + 180)
    company = build_company_book(
        [REPORT], [fact for group in (build_facts(*A_YEAR), build_facts(first, first + 364), half) for fact in group]
    )
    assert [fact.kind for fact in company.calendar.spans] == ["year", "transition", "year"]
    assert [quarter_key for quarter_key, keys in company.calendar.to_date.items() if keys[0][1] == 183] == [(2, 2)]


@run_each_case("days, name", [(136, "Q1"), (137, "Q2"), (228, "Q2"), (229, "Q3"), (319, "Q3"), (320, "Q4")])
def test_the_nearest_quarter_of_the_year_names_a_quarter(days: int, name: str) -> None:
    first = LAST + 1
    quarter = build_facts(first + days - 90, first + days - 1)
    assert [row[0] for row in list_periods("Q", build_facts(first, first + 364), quarter)] == [name]


@pytest.mark.parametrize("form", ["10-Q", "10-K"])
def test_twelve_months_of_an_undated_report_need_an_annual_form(form: str) -> None:
    report = build_filing("unfiled-1", form, None)
    company = build_company_book([report], build_facts(*A_YEAR, accession=report.accession, tags=TAGS[:1]))
    assert [(span.kind, len(span.keys)) for span in company.calendar.spans] == ([("year", 1)] if form == "10-K" else [])


# ---- changes of the fiscal year

OLD_REPORT = build_filing("0000000001-14-000001", "10-K", "2014-02-20")
TRANSITION_REPORT = build_filing("0000000001-14-000002", "10-KT", "2014-08-20")
NEW_REPORT = build_filing("0000000001-15-000001", "10-K", "2015-08-20")
OLD_YEAR, RECAST_YEAR, NEW_YEAR = (
    ("2013-01-01", "2013-12-31"),
    ("2013-07-01", "2014-06-30"),
    ("2014-07-01", "2015-06-30"),
)
TRANSITION = ("2014-01-01", "2014-06-30")


def list_revenues(
    *reports: tuple[str, tuple[str, str], str], kind: str = "A", basis: str = "latest"
) -> list[tuple[str, str, str]]:
    """Return the rows of a series of revenue as first day, last day and value; a report is accession, period, value."""
    facts: list[Fact] = []
    for accession, (start, end), value in reports:
        facts += [("Revenues", start, end, value, accession), ("NetIncomeLoss", start, end, "9", accession)]
    company = build_company_book([OLD_REPORT, TRANSITION_REPORT, NEW_REPORT], facts)
    series = FigureSeries(company, kind, basis)
    return [
        (days.iso(period.start or 0), days.iso(period.end), str(series.get_row(period).find_value("revenue")))
        for period in series.periods
    ]


OLD = (OLD_REPORT.accession, OLD_YEAR, "400")
RECAST = (NEW_REPORT.accession, RECAST_YEAR, "430")
NEW = (NEW_REPORT.accession, NEW_YEAR, "460")


@run_each_case("basis", ["latest", "original"])
@run_each_case("repeated", [(), ((NEW_REPORT.accession, OLD_YEAR, "400"),)])
def test_a_recast_year_does_not_remove_a_reported_year(
    basis: str, repeated: tuple[tuple[str, tuple[str, str], str], ...]
) -> None:
    expected = [(*NEW_YEAR, "460"), (*RECAST_YEAR, "430"), (*OLD_YEAR, "400")]
    assert list_revenues(OLD, NEW, RECAST, *repeated, basis=basis) == expected
    assert list_revenues(*repeated, RECAST, NEW, OLD, basis=basis) == expected


def test_a_transition_period_stays_beside_a_recast_year() -> None:
    transition = (TRANSITION_REPORT.accession, TRANSITION, "210")
    assert list_revenues(OLD, transition, NEW, RECAST) == [
        (*NEW_YEAR, "460"),
        (*RECAST_YEAR, "430"),
        (*TRANSITION, "210"),
        (*OLD_YEAR, "400"),
    ]


def test_a_quarter_within_two_years_is_one_row() -> None:
    quarters = [
        (OLD_REPORT.accession, ("2013-07-01", "2013-09-30"), "90"),
        (OLD_REPORT.accession, ("2013-10-01", "2013-12-31"), "95"),
        (NEW_REPORT.accession, ("2013-07-01", "2013-12-31"), "185"),
        (NEW_REPORT.accession, ("2014-01-01", "2014-03-31"), "100"),
    ]
    ends = [end for _, end, _ in list_revenues(OLD, NEW, RECAST, *quarters, kind="Q")]
    assert ends == sorted(set(ends), reverse=True)
    assert {"2013-09-30", "2013-12-31", "2014-03-31"} <= set(ends)


@pytest.mark.parametrize(
    "year",
    [
        ("2013-01-12", "2014-01-11"),  # Too near to be another fiscal year.
        ("2013-03-01", "2014-02-28"),  # Neither a report's own year nor just before one.
        ("2013-06-01", "2014-06-30"),  # Not a full year.
    ],
)
def test_other_overlapping_years_are_errors(year: tuple[str, str]) -> None:
    assert list_revenues(OLD, NEW, (NEW_REPORT.accession, year, "5")) == [(*NEW_YEAR, "460"), (*OLD_YEAR, "400")]
