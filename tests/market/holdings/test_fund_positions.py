"""Which reports stand for a quarter, and what became of each position since the one before."""

from __future__ import annotations

import itertools
from typing import Any

from finapi.market.holdings import fund_positions, quarters
from finapi.market.holdings.fund_positions import FundPosition, ReportedRow, StandingReport


def report(report_id: int, filed_at: str, kind: str = "", **changes: Any) -> StandingReport:
    """An original, or with ``kind`` an amendment: "RESTATEMENT", "NEW HOLDINGS" or "?" for one of no type."""
    made = StandingReport(
        filed_at,
        report_id if kind else 0,
        f"0000000000-25-{report_id:06}",
        True,
        1,
        bytes([report_id]),
        report_id,
        None if kind in ("", "?") else kind,
        bool(kind),
        False,
    )
    return made._replace(**changes)


def stands(*reports: StandingReport) -> tuple[list[int], bool]:
    """The ids of those that stand, the same in every order."""
    found = {
        (tuple(one.report_id for one in standing), full)
        for some in itertools.permutations(reports)
        for standing, full in [fund_positions.choose_effective_reports(some)]
    }
    assert len(found) == 1
    ((ids, full),) = found
    return list(ids), full


def test_a_restatement_replaces_and_new_holdings_are_united() -> None:
    original = report(1, "2025-11-14")
    added, restated, more = (
        report(2, "2025-11-20", "NEW HOLDINGS"),
        report(3, "2025-12-01", "RESTATEMENT"),
        report(4, "2025-12-10", "NEW HOLDINGS"),
    )
    assert stands(original) == ([1], True)
    assert stands(original, added) == ([1, 2], True)
    assert stands(original, added, restated) == ([3], True)
    assert stands(original, added, restated, more) == ([3, 4], True)


def test_an_amendment_of_no_type_restates() -> None:
    assert stands(report(1, "2025-11-14"), report(2, "2025-11-20", "?")) == ([2], True)


def test_additions_without_what_they_add_to_are_not_a_full_report() -> None:
    assert stands(report(2, "2025-11-20", "NEW HOLDINGS")) == ([2], False)
    assert stands() == ([], False)


def test_a_later_original_does_not_take_an_addition_back() -> None:
    assert stands(report(1, "2025-11-14"), report(2, "2025-11-15", "NEW HOLDINGS"), report(3, "2025-11-16")) == (
        [3, 2],
        True,
    )


def test_of_one_day_the_number_of_the_amendment_decides() -> None:
    day = "2025-11-14"
    assert stands(report(2, day, "RESTATEMENT"), report(1, day)) == ([2], True)


def test_a_report_of_an_unknown_day_comes_first() -> None:
    assert stands(report(5, ""), report(1, "2025-11-14")) == ([1], True)


def test_a_notice_stands_for_nothing() -> None:
    assert stands(report(1, "2025-11-14", is_notice=True)) == ([], False)


def test_of_two_sets_of_documents_under_one_number_the_whole_one_counts() -> None:
    trimmed = report(1, "2025-11-14", is_complete=False, row_count=5)
    whole = report(2, "2025-11-14", accession=trimmed.accession, row_count=90)
    assert stands(trimmed, whole) == ([2], True)


# ---- rows


def row(security: int, shares: int, value: int, **changes: Any) -> ReportedRow:
    return ReportedRow(0, security, 1, 1, 1, shares, value, None, "SOLE", None, shares, 0, 0)._replace(**changes)


def test_rows_of_one_security_are_added_up() -> None:
    rows = [row(7, 10, 100, managers="4"), row(7, 5, 50, managers="11,2,4", discretion="DFND"), row(7, 1, 9, kind=2)]
    assert list(fund_positions.merge_rows(rows).values()) == [
        row(7, 15, 150, managers="2,4,11", discretion="MIXED", row_count=2),
        row(7, 1, 9, kind=2),
    ]


def test_votes_are_added_only_where_every_row_gives_them() -> None:
    (added,) = fund_positions.merge_rows([row(7, 10, 100), row(7, 5, 50, sole=None)]).values()
    assert (added.sole, added.shared) == (None, 0)


def test_the_first_figi_that_is_told_stands() -> None:
    for told, stands_for in (((None, "B"), "B"), (("A", None), "A"), (("A", "B"), "A"), ((None, None), None)):
        (added,) = fund_positions.merge_rows([row(7, 10, 100, figi=one) for one in told]).values()
        assert added.figi == stands_for


def changes(before: list[ReportedRow] | None, now: list[ReportedRow]) -> dict[int, FundPosition]:
    held = None if before is None else fund_positions.merge_rows(before)
    return {one.row.security_id: one for one in fund_positions.compare_quarters(fund_positions.merge_rows(now), held)}


def test_every_change_has_its_name_and_its_worth() -> None:
    before = [row(1, 10, 100), row(2, 10, 100), row(3, 10, 100), row(4, 10, 100)]
    now = [row(1, 10, 150), row(2, 14, 210), row(3, 7, 105), row(5, 2, 30)]
    found = changes(before, now)
    assert {
        at: (fund_positions.find_change_name(one.status), one.previous_shares, one.previous_value, one.flow)
        for at, one in found.items()
    } == {
        1: ("unchanged", 10, 100, 0),
        2: ("increased", 10, 100, 60),
        3: ("decreased", 10, 100, -45),
        4: ("closed", 10, 100, -100),
        5: ("new", 0, 0, 30),
    }
    assert (found[4].row.shares, found[4].row.value) == (0, 0)


def test_without_the_quarter_before_no_change_is_known() -> None:
    found = changes(None, [row(1, 10, 100)])
    assert found[1] == FundPosition(row(1, 10, 100), fund_positions.UNKNOWN, None, None, None)


def test_the_worth_of_a_change_is_exact_in_numbers_that_no_float_holds() -> None:
    value = 9_007_199_254_740_993
    assert changes([row(1, 1, 1)], [row(1, 3, 3 * value)])[1].flow == 2 * value
    assert changes([row(1, 4, 1)], [row(1, 3, 2)])[1].flow == -1  # two thirds of a dollar
    assert changes([row(1, 4, 1)], [row(1, 0, 2)])[1].flow == 0  # a price that nobody can tell


def test_a_put_is_no_share_of_what_it_is_on() -> None:
    found = fund_positions.compare_quarters(
        fund_positions.merge_rows([row(1, 5, 5, kind=3)]), fund_positions.merge_rows([row(1, 5, 5)])
    )
    assert [(one.row.kind, one.status) for one in found] == [(3, fund_positions.NEW), (0, fund_positions.CLOSED)]
    assert fund_positions.compute_contribution(found[0]) is None


# ---- quarters


def test_quarters_follow_each_other() -> None:
    ends = ["2023-12-31", "2024-03-31", "2024-06-30", "2024-09-30", "2024-12-31"]
    assert [quarters.get_next_end(end) for end in ends[:-1]] == ends[1:]
    assert [quarters.get_previous_end(end) for end in ends[1:]] == ends[:-1]


def test_deadlines_as_the_sec_publishes_them() -> None:
    # sec.gov, Form 13F filing deadlines: the 45th day, moved past weekends and Presidents' Day.
    assert {
        period: quarters.get_filing_deadline(period).isoformat()
        for period in (
            "2020-12-31",
            "2022-12-31",
            "2025-03-31",
            "2025-06-30",
            "2025-09-30",
            "2025-12-31",
        )
    } == {
        "2020-12-31": "2021-02-16",
        "2022-12-31": "2023-02-14",
        "2025-03-31": "2025-05-15",
        "2025-06-30": "2025-08-14",
        "2025-09-30": "2025-11-14",
        "2025-12-31": "2026-02-17",
    }
