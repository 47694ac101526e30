"""What a fund held at the end of a quarter: its reports combined, and compared with the quarter before.

Pure: rows of reports in, positions out. ``store`` reads and writes them.
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
# Their names in answers; a change that is not known is a null.
CHANGES = ("new", "increased", "decreased", "unchanged", "closed")
Change = Annotated[str, OneOf(CHANGES)]
SplitSource = Annotated[str | None, "Source of the splits: prices, or the accession numbers of the issuer's filings."]


def find_change_name(status: int) -> str | None:
    """The name of a status, None for an unknown one."""
    return CHANGES[status - NEW] if status else None


def find_change_status(name: str) -> int | None:
    """The status of a name; None for any other text."""
    return CHANGES.index(name) + NEW if name in CHANGES else None


# What a position of each status adds to the counts of the changes.
_COUNTS = [tuple(int(status == one) for one in range(NEW, CLOSED + 1)) for status in range(CLOSED + 1)]


class StandingReport(NamedTuple):
    """What decides which reports stand for a quarter; sorted as they were filed, an unknown day before all others."""

    filed_at: str
    amendment_number: int
    accession: str
    whole: bool
    row_count: int
    sha256: bytes
    report_id: int
    amendment_type: str | None
    is_amendment: bool
    is_notice: bool


class ReportedRow(NamedTuple):
    """A row of a table in dollars, or several of one security and kind added up."""

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
    """A row of the quarter with what became of it since the quarter before; None is not known.

    ``flow`` is the change in shares at the price that the position's own value implies, the value of a new position,
    and less the last value of a closed one. ``previous_shares`` are as after the splits since, whose product
    ``split_factor`` is; ``split_source`` says what told them.
    """

    row: ReportedRow
    status: int
    previous_shares: int | None
    previous_value: int | None
    flow: int | None
    split_factor: str | None = None
    split_source: str | None = None


# The splits that may have been in a quarter, by the id of their security.
Splits = Mapping[int, Sequence[LikelySplit]]


def choose_effective_reports(reports: Iterable[StandingReport]) -> tuple[list[StandingReport], bool]:
    """The reports that stand for a quarter, oldest first, and whether a full one is among them.

    The last original or RESTATEMENT replaces what came before it; NEW HOLDINGS are united with it unless a
    RESTATEMENT came after them. An amendment of no stated type is taken for a RESTATEMENT.
    """
    # Several sets of documents may claim one accession number: the one that ties to its cover, then that of more rows.
    one_each: dict[str, StandingReport] = {}
    for report in sorted(reports, key=lambda one: (one.whole, one.row_count, one.sha256)):
        one_each[report.accession] = report
    ordered = sorted(report for report in one_each.values() if not report.is_notice)
    base: StandingReport | None = None
    additions: list[StandingReport] = []
    for report in ordered:
        if report.amendment_type == NEW_HOLDINGS:
            additions.append(report)
            continue
        base = report
        # An original that was filed after an addition does not take it back: only an amendment restates.
        if report.is_amendment:
            additions.clear()
    return ([base] if base else []) + additions, base is not None


def merge_rows(rows: Iterable[ReportedRow]) -> dict[tuple[int, int], ReportedRow]:
    """The rows added up by kind and security, in their order; votes only where every row gives them."""
    by_security: dict[tuple[int, int], ReportedRow] = {}
    for row in rows:
        at = row.kind, row.security_id
        held = by_security.get(at)
        by_security[at] = row if held is None else _added(held, row)
    return by_security


def _added(held: ReportedRow, row: ReportedRow) -> ReportedRow:
    return held._replace(
        report_id=row.report_id,
        row_count=held.row_count + row.row_count,
        shares=held.shares + row.shares,
        value=held.value + row.value,
        figi=held.figi or row.figi,
        discretion=held.discretion if held.discretion == row.discretion else "MIXED",
        managers=_managers(held.managers, row.managers),
        sole=_sum(held.sole, row.sole),
        shared=_sum(held.shared, row.shared),
        none=_sum(held.none, row.none),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _managers(one: str | None, other: str | None) -> str | None:
    numbers = [number.strip() for text in (one, other) if text for number in text.split(",")]
    distinct = {number for number in numbers if number}
    return ",".join(sorted(distinct, key=lambda number: (len(number), number))) or None


def compare_quarters(
    now: Mapping[tuple[int, int], ReportedRow],
    before: Mapping[tuple[int, int], ReportedRow] | None,
    splits: Splits = MappingProxyType({}),
) -> list[FundPosition]:
    """The positions of a quarter and what changed since ``before``, closed ones included; None: no change is known."""
    if before is None:
        return [FundPosition(row, UNKNOWN, None, None, None) for row in now.values()]
    positions = []
    for at, row in now.items():
        held = before.get(at)
        if held is None:
            positions.append(FundPosition(row, NEW, 0, 0, row.value))
        else:
            positions.append(compare_rows(row, held, splits.get(row.security_id, ())))
    for at, held in before.items():
        if at not in now:
            gone = held._replace(row_count=0, shares=0, value=0, managers=None, sole=None, shared=None, none=None)
            positions.append(compare_rows(gone, held, splits.get(gone.security_id, ())))
    return positions


def compare_rows(row: ReportedRow, held: ReportedRow, likely: Sequence[LikelySplit]) -> FundPosition:
    """A row beside what was ``held`` of it a quarter before, in the shares that ``likely`` splits have made of them."""
    between = HoldingValue(held.value, held.shares), HoldingValue(row.value, row.shares)
    splits = [one for one in likely if row.kind != PRINCIPAL and one.is_between(*between)]
    shares, told, source = held.shares, None, None
    if splits:
        factor = math.prod((one.factor for one in splits), start=Decimal(1))
        shares = int((held.shares * factor).to_integral_value())
        told = format(factor.normalize(), "f")
        source = " ".join(dict.fromkeys(one.source for one in splits))
    if not row.row_count:
        return FundPosition(row, CLOSED, shares, held.value, -held.value, told, source)
    if splits and abs(row.shares - shares) <= 1:
        shares = row.shares  # the fraction that a split leaves is paid out
    change = row.shares - shares
    status = INCREASED if change > 0 else DECREASED if change < 0 else UNCHANGED
    return FundPosition(row, status, shares, held.value, _worth(change, row), told, source)


def _worth(change: int, row: ReportedRow) -> int:
    """``change`` shares at the price that the row implies, to the nearest dollar, halves away from zero."""
    if not row.shares:
        return 0
    worth = (2 * abs(change) * row.value + row.shares) // (2 * row.shares)
    return worth if change >= 0 else -worth


def compute_contribution(position: FundPosition) -> tuple[int, ...] | None:
    """What a position adds to its security's quarter, in the order of the columns there, from ``funds`` on.

    None for options and principal, which are not counted.
    """
    row, status, flow = position.row, position.status, position.flow or 0
    if row.kind != SHARES:
        return None
    known = status != UNKNOWN
    held = int(status != CLOSED), row.shares, row.value
    compared = int(known), row.shares if known else 0, position.previous_shares or 0
    return held + compared + (flow, max(flow, 0), max(-flow, 0)) + _COUNTS[status]


def count_changes(positions: Sequence[FundPosition]) -> dict[str, int]:
    """How many positions changed in which way, by its name."""
    counts = Counter(position.status for position in positions)
    return {name: counts[status] for status, name in enumerate(CHANGES, NEW)}
