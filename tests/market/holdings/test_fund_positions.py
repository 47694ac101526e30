"""The effective reports of a quarter, and the changes of positions since the quarter before."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

from finapi.market.holdings import fund_positions, quarters
from finapi.market.holdings.fund_positions import FundPosition, ReportedRow, StandingReport, compare_rows
from finapi.market.reference.share_splits import FROM_PRICES, LikelySplit


def report(report_id: int, filed_at: str, kind: str = "", **changes: Any) -> StandingReport:
    """Return an original, or an amendment of a ``kind``: "RESTATEMENT", "NEW HOLDINGS", or "?" without a type."""
    original = StandingReport(
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
    return original._replace(**changes)


def stands(*reports: StandingReport) -> tuple[list[int], bool]:
    """Return the ids of the effective reports, and check that they are the same in every order."""
    choices = {
        (tuple(chosen.report_id for chosen in standing), full)
        for permutation in itertools.permutations(reports)
        for standing, full in [fund_positions.choose_effective_reports(permutation)]
    }
    assert len(choices) == 1
    ((ids, full),) = choices
    return list(ids), full


def test_a_restatement_replaces_and_new_holdings_are_added() -> None:
    original = report(1, "2025-11-14")
    added, restated, later_addition = (
        report(2, "2025-11-20", "NEW HOLDINGS"),
        report(3, "2025-12-01", "RESTATEMENT"),
        report(4, "2025-12-10", "NEW HOLDINGS"),
    )
    assert stands(original) == ([1], True)
    assert stands(original, added) == ([1, 2], True)
    assert stands(original, added, restated) == ([3], True)
    assert stands(original, added, restated, later_addition) == ([3, 4], True)


def test_an_amendment_without_a_type_restates() -> None:
    assert stands(report(1, "2025-11-14"), report(2, "2025-11-20", "?")) == ([2], True)


def test_additions_alone_are_not_a_full_report() -> None:
    assert stands(report(2, "2025-11-20", "NEW HOLDINGS")) == ([2], False)
    assert stands() == ([], False)


def test_a_later_original_keeps_an_earlier_addition() -> None:
    assert stands(report(1, "2025-11-14"), report(2, "2025-11-15", "NEW HOLDINGS"), report(3, "2025-11-16")) == (
        [3, 2],
        True,
    )


def test_on_one_day_the_amendment_number_decides() -> None:
    day = "2025-11-14"
    assert stands(report(2, day, "RESTATEMENT"), report(1, day)) == ([2], True)


def test_a_report_without_a_day_sorts_first() -> None:
    assert stands(report(5, ""), report(1, "2025-11-14")) == ([1], True)


def test_a_notice_is_no_effective_report() -> None:
    assert stands(report(1, "2025-11-14", is_notice=True)) == ([], False)


def test_the_complete_set_of_one_accession_number_counts() -> None:
    incomplete = report(1, "2025-11-14", is_complete=False, row_count=5)
    complete = report(2, "2025-11-14", accession=incomplete.accession, row_count=90)
    assert stands(incomplete, complete) == ([2], True)


# ---- rows


def row(security: int, shares: int, value: int, **changes: Any) -> ReportedRow:
    return ReportedRow(0, security, 1, 1, 1, shares, value, None, "SOLE", None, shares, 0, 0)._replace(**changes)


def test_rows_of_one_security_are_added_up() -> None:
    rows = [row(7, 10, 100, managers="4"), row(7, 5, 50, managers="11,2,4", discretion="DFND"), row(7, 1, 9, kind=2)]
    assert list(fund_positions.merge_rows(rows).values()) == [
        row(7, 15, 150, managers="2,4,11", discretion="MIXED", row_count=2),
        row(7, 1, 9, kind=2),
    ]


def test_votes_are_added_only_if_every_row_states_them() -> None:
    (added,) = fund_positions.merge_rows([row(7, 10, 100), row(7, 5, 50, sole=None)]).values()
    assert (added.sole, added.shared) == (None, 0)


def test_the_first_stated_figi_is_taken() -> None:
    for figis, expected in (((None, "B"), "B"), (("A", None), "A"), (("A", "B"), "A"), ((None, None), None)):
        (added,) = fund_positions.merge_rows([row(7, 10, 100, figi=figi) for figi in figis]).values()
        assert added.figi == expected


def changes(before: list[ReportedRow] | None, now: list[ReportedRow]) -> dict[int, FundPosition]:
    previous = None if before is None else fund_positions.merge_rows(before)
    return {
        position.row.security_id: position
        for position in fund_positions.compare_quarters(fund_positions.merge_rows(now), previous)
    }


def test_every_change_has_a_name_and_a_flow() -> None:
    before = [row(1, 10, 100), row(2, 10, 100), row(3, 10, 100), row(4, 10, 100)]
    now = [row(1, 10, 150), row(2, 14, 210), row(3, 7, 105), row(5, 2, 30)]
    positions = changes(before, now)
    assert {
        security_id: (
            fund_positions.find_change_name(position.status),
            position.previous_shares,
            position.previous_value,
            position.flow,
        )
        for security_id, position in positions.items()
    } == {
        1: ("unchanged", 10, 100, 0),
        2: ("increased", 10, 100, 60),
        3: ("decreased", 10, 100, -45),
        4: ("closed", 10, 100, -100),
        5: ("new", 0, 0, 30),
    }
    assert (positions[4].row.shares, positions[4].row.value) == (0, 0)


def test_without_the_previous_quarter_changes_are_unknown() -> None:
    positions = changes(None, [row(1, 10, 100)])
    assert positions[1] == FundPosition(row(1, 10, 100), fund_positions.UNKNOWN, None, None, None)


def test_a_fraction_that_a_split_paid_out_is_no_change() -> None:
    split = LikelySplit(Decimal("1.5"), FROM_PRICES, True)
    positions = [compare_rows(row(1, shares, 3_000), row(1, 101, 3_000), [split]) for shares in (150, 151, 153, 154)]
    assert [(position.previous_shares, position.status) for position in positions] == [
        (152, fund_positions.DECREASED),
        (151, fund_positions.UNCHANGED),
        (153, fund_positions.UNCHANGED),
        (152, fund_positions.INCREASED),
    ]


def test_flows_are_exact_beyond_the_precision_of_floats() -> None:
    value = 9_007_199_254_740_993
    assert changes([row(1, 1, 1)], [row(1, 3, 3 * value)])[1].flow == 2 * value
    assert changes([row(1, 4, 1)], [row(1, 3, 2)])[1].flow == -1  # two thirds of a dollar
    assert changes([row(1, 4, 1)], [row(1, 0, 2)])[1].flow == 0  # a price that nobody can tell


def test_a_put_and_its_share_are_different_positions() -> None:
    positions = fund_positions.compare_quarters(
        fund_positions.merge_rows([row(1, 5, 5, kind=3)]), fund_positions.merge_rows([row(1, 5, 5)])
    )
    assert [(position.row.kind, position.status) for position in positions] == [
        (3, fund_positions.NEW),
        (0, fund_positions.CLOSED),
    ]
    assert fund_positions.compute_contribution(positions[0]) is None


# ---- quarters


def test_next_and_previous_quarter_ends() -> None:
    ends = ["2023-12-31", "2024-03-31", "2024-06-30", "2024-09-30", "2024-12-31"]
    assert [quarters.get_next_end(end) for end in ends[:-1]] == ends[1:]
    assert [quarters.get_previous_end(end) for end in ends[1:]] == ends[:-1]


def test_deadlines_are_those_that_the_sec_publishes() -> None:
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
