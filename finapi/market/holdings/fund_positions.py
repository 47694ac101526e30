"""The positions of a fund at the end of a quarter, and their changes since the quarter before.

A manager may file several 13F reports for one quarter. :func:`choose_effective_reports` decides which of them count:
the latest original or restatement, and the amendments that add holdings to it. :func:`merge_rows` adds up their rows,
so that a security and a kind (shares, principal, calls, puts) have one position. :func:`compare_quarters` compares the
positions with those of the quarter before, after adjusting the earlier shares for splits. For example, 100 shares
before a 2-for-1 split and 250 after it are an increase of 50 shares.

The flow of a change is its shares times the price that the position's own value implies: those 50 shares at a value of
$5,000 for 250 are a flow of $1,000. It is the value of a new position, and the negative former value of a closed one.

Every function here is pure: ``holdings_store`` reads and writes the rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, NamedTuple

from finapi.core.records import OneOf
from finapi.edgar.thirteenf import NEW_HOLDINGS
from finapi.market.holdings.holdings_report import PRINCIPAL, SHARES
from finapi.market.reference.share_splits import HoldingValue, LikelySplit

UNKNOWN, NEW, INCREASED, DECREASED, UNCHANGED, CLOSED = range(6)
# The names of the statuses from NEW on in responses, where an unknown change is null.
CHANGES = ("new", "increased", "decreased", "unchanged", "closed")
Change = Annotated[str, OneOf(CHANGES)]
SplitSource = Annotated[str | None, "Source of the splits: prices, or the accession numbers of the issuer's filings."]


def find_change_name(status: int) -> str | None:
    """Return the name of a status, or None for an unknown change."""
    return CHANGES[status - NEW] if status else None


def find_change_status(name: str) -> int | None:
    """Return the status that has this name, or None for any other text."""
    return CHANGES.index(name) + NEW if name in CHANGES else None


class StandingReport(NamedTuple):
    """The fields of a report that determine which reports of a quarter count.

    Sorting these records gives the order in which reports were filed. An unknown filing day is an empty text, which
    sorts first.
    """

    filed_at: str
    amendment_number: int
    accession: str
    is_complete: bool
    row_count: int
    sha256: bytes
    report_id: int
    amendment_type: str | None
    is_amendment: bool
    is_notice: bool
    is_confidential_request: bool = False


class ReportedRow(NamedTuple):
    """A row of a table in dollars, or the sum of several rows of one security and kind."""

    kind: int
    security_id: int
    report_id: int
    name_id: int
    row_count: int
    shares: int
    value: int
    figi: str | None
    discretion: str | None
    managers: str | None
    sole: int | None
    shared: int | None
    none: int | None


class FundPosition(NamedTuple):
    """A position of the quarter and its change since the quarter before. None means unknown.

    ``previous_shares`` are adjusted for the splits since. ``split_factor`` is the product of these splits, and
    ``split_source`` names their source. ``flow`` is in dollars, as the module's docstring defines it.
    """

    row: ReportedRow
    status: int
    previous_shares: int | None
    previous_value: int | None
    flow: int | None
    split_factor: str | None = None
    split_source: str | None = None


# A position is identified by its kind and the id of its security.
PositionKey = tuple[int, int]
# The splits that may have happened in a quarter, by the id of their security.
Splits = Mapping[int, Sequence[LikelySplit]]


def choose_effective_reports(reports: Iterable[StandingReport]) -> tuple[list[StandingReport], bool]:
    """Return the reports that count for a quarter, oldest first, and whether one of them is a full report.

    The latest original or RESTATEMENT replaces the reports before it. NEW HOLDINGS are added to it unless a
    RESTATEMENT was filed after them. An amendment without a type counts as a RESTATEMENT.
    """
    # Several sets of documents may claim the same accession number. The one with a complete table wins, then the one
    # with more rows.
    report_by_accession: dict[str, StandingReport] = {}
    for report in sorted(reports, key=lambda report: (report.is_complete, report.row_count, report.sha256)):
        report_by_accession[report.accession] = report
    in_filing_order = sorted(report for report in report_by_accession.values() if not report.is_notice)
    base: StandingReport | None = None
    additions: list[StandingReport] = []
    for report in in_filing_order:
        if report.amendment_type == NEW_HOLDINGS:
            additions.append(report)
            continue
        base = report
        # An original that was filed after an addition does not replace it. Only an amendment restates.
        if report.is_amendment:
            additions.clear()
    if base is None:
        return additions, False
    return [base, *additions], True


def is_doubtful_restatement(
    restated: Mapping[PositionKey, ReportedRow],
    earlier: Mapping[PositionKey, ReportedRow],
    previous: Mapping[PositionKey, ReportedRow] | None,
) -> bool:
    """Return True if a restatement drops most of a book without any sign that the book was wrong.

    Some managers file the few holdings that they add as a RESTATEMENT instead of as NEW HOLDINGS. ``restated`` are the
    positions of the restatement, ``earlier`` those that it would replace, and ``previous`` those of the quarter before.
    It is doubtful if more than half of the earlier positions and of their value are missing, and

    - the positions in both have the same shares: a book that was wrong is not right in these; and
    - most of the missing ones were held at the end of the quarter before. If that quarter is unknown, positions with
      the same shares in both are enough.
    """
    dropped = [key for key in earlier if key not in restated]
    dropped_value = sum(earlier[key].value for key in dropped)
    if 2 * len(dropped) <= len(earlier) or 2 * dropped_value <= sum(row.value for row in earlier.values()):
        return False
    common = [key for key in earlier if key in restated]
    unchanged_count = sum(earlier[key].shares == restated[key].shares for key in common)
    if common and 2 * unchanged_count <= len(common):
        return False
    if previous is None:
        return bool(common)
    held_before_count = sum(key in previous for key in dropped)
    return 2 * held_before_count > len(dropped)


def merge_rows(rows: Iterable[ReportedRow]) -> dict[PositionKey, ReportedRow]:
    """Return the rows added up by kind and security. Votes are None if one of the added rows does not state them."""
    merged: dict[PositionKey, ReportedRow] = {}
    for row in rows:
        key = (row.kind, row.security_id)
        merged[key] = _add_rows(merged[key], row) if key in merged else row
    return merged


def _add_rows(first: ReportedRow, second: ReportedRow) -> ReportedRow:
    return first._replace(
        report_id=second.report_id,
        row_count=first.row_count + second.row_count,
        shares=first.shares + second.shares,
        value=first.value + second.value,
        figi=first.figi or second.figi,
        discretion=first.discretion if first.discretion == second.discretion else "MIXED",
        managers=_merge_manager_numbers(first.managers, second.managers),
        sole=_add_votes(first.sole, second.sole),
        shared=_add_votes(first.shared, second.shared),
        none=_add_votes(first.none, second.none),
    )


def _add_votes(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _merge_manager_numbers(first: str | None, second: str | None) -> str | None:
    """Return the distinct numbers of two lists such as ``2,4,11``, in numeric order."""
    numbers = [number.strip() for text in (first, second) if text for number in text.split(",")]
    distinct = {number for number in numbers if number}
    return ",".join(sorted(distinct, key=lambda number: (len(number), number))) or None


def compare_quarters(
    current: Mapping[PositionKey, ReportedRow],
    previous: Mapping[PositionKey, ReportedRow] | None,
    splits: Splits = MappingProxyType({}),
) -> list[FundPosition]:
    """Return the positions of a quarter with their changes, including the positions that were closed.

    ``previous`` are the positions of the previous quarter. If it is None, all changes are unknown.
    """
    if previous is None:
        return [
            FundPosition(row, status=UNKNOWN, previous_shares=None, previous_value=None, flow=None)
            for row in current.values()
        ]
    positions = []
    for key, row in current.items():
        if key in previous:
            positions.append(compare_rows(row, previous[key], splits.get(row.security_id, ())))
        else:
            positions.append(FundPosition(row, status=NEW, previous_shares=0, previous_value=0, flow=row.value))
    for key, previous_row in previous.items():
        if key not in current:
            closed_row = previous_row._replace(
                row_count=0, shares=0, value=0, managers=None, sole=None, shared=None, none=None
            )
            positions.append(compare_rows(closed_row, previous_row, splits.get(previous_row.security_id, ())))
    return positions


def compare_rows(row: ReportedRow, previous_row: ReportedRow, likely_splits: Sequence[LikelySplit]) -> FundPosition:
    """Return a position with its change since ``previous_row``.

    Of the ``likely_splits``, those that explain the change of the implied price are applied to the previous shares.
    """
    before = HoldingValue(previous_row.value, previous_row.shares)
    after = HoldingValue(row.value, row.shares)
    splits: list[LikelySplit] = []
    if row.kind != PRINCIPAL:
        splits = [split for split in likely_splits if split.is_between(before, after)]
    previous_shares = previous_row.shares
    split_factor = None
    split_source = None
    if splits:
        factor = math.prod((split.factor for split in splits), start=Decimal(1))
        previous_shares = int((previous_row.shares * factor).to_integral_value())
        split_factor = format(factor.normalize(), "f")
        split_source = " ".join(dict.fromkeys(split.source for split in splits))
    if not row.row_count:
        status = CLOSED
        flow = -previous_row.value
    else:
        if splits and abs(row.shares - previous_shares) <= 1:
            previous_shares = row.shares  # The difference is a fraction that the split paid out in cash.
        share_change = row.shares - previous_shares
        status = _get_status(share_change)
        flow = _value_shares(share_change, row)
    return FundPosition(
        row=row,
        status=status,
        previous_shares=previous_shares,
        previous_value=previous_row.value,
        flow=flow,
        split_factor=split_factor,
        split_source=split_source,
    )


def _get_status(share_change: int) -> int:
    if share_change > 0:
        return INCREASED
    if share_change < 0:
        return DECREASED
    return UNCHANGED


def _value_shares(shares: int, row: ReportedRow) -> int:
    """Return the value of shares at the row's implied price, in whole dollars (halves away from zero)."""
    if not row.shares:
        return 0
    dollars = (2 * abs(shares) * row.value + row.shares) // (2 * row.shares)
    return dollars if shares >= 0 else -dollars


def compute_contribution(position: FundPosition) -> tuple[int, ...] | None:
    """Return the amounts that a position adds to its security's sums over all funds.

    They are in the order of the columns of ``security_quarters`` from ``funds`` on. Return None for options and
    principal, which are not added up.
    """
    row = position.row
    if row.kind != SHARES:
        return None
    is_compared = position.status != UNKNOWN
    flow = position.flow or 0
    return (
        int(position.status != CLOSED),
        row.shares,
        row.value,
        int(is_compared),
        row.shares if is_compared else 0,
        position.previous_shares or 0,
        flow,
        max(flow, 0),
        max(-flow, 0),
        *(int(position.status == status) for status in range(NEW, CLOSED + 1)),
    )


def count_changes(positions: Sequence[FundPosition]) -> dict[str, int]:
    """Return the number of positions with each kind of change, by the name of the change."""
    counts = Counter(position.status for position in positions)
    return {name: counts[status] for status, name in enumerate(CHANGES, NEW)}
