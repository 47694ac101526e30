"""What a fund held at the end of a quarter: its reports united, and held against the quarter before.

Pure: rows of reports in, positions out. ``holdings_store`` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from finapi.edgar.thirteenf import NEW_HOLDINGS
from finapi.market.holdings_report import SHARES

UNKNOWN, NEW, INCREASED, DECREASED, UNCHANGED, CLOSED = range(6)
STATUSES = ("unknown", "new", "increased", "decreased", "unchanged", "closed")


class Standing(NamedTuple):
    """A report as far as it decides which reports stand for a quarter; in the order in which they were filed.

    A day that is not known comes before all others. Several sets of documents may claim one accession number:
    the one that ties to its cover, then the one of more rows, is taken for it.
    """

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


class Row(NamedTuple):
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


class Position(NamedTuple):
    """A row of the quarter with what became of it since the quarter before.

    ``flow`` is what the change was worth: the change in shares at the price that the position's own value
    implies, the whole value of a new one, and less the last value of a closed one. None: not known.
    """

    row: Row
    status: int
    previous_shares: int | None
    previous_value: int | None
    flow: int | None


def effective(reports: Iterable[Standing]) -> tuple[list[Standing], bool]:
    """The reports that stand for a quarter, oldest first, and whether a full one is among them.

    The last original or RESTATEMENT replaces what came before it; NEW HOLDINGS are united with it unless a
    RESTATEMENT came after them. An amendment of no stated type is taken for a RESTATEMENT.
    """
    one_each: dict[str, Standing] = {}
    for report in sorted(reports, key=lambda one: (one.whole, one.row_count, one.sha256)):
        one_each[report.accession] = report
    ordered = sorted(report for report in one_each.values() if not report.is_notice)
    base: Standing | None = None
    additions: list[Standing] = []
    for report in ordered:
        if report.amendment_type == NEW_HOLDINGS:
            additions.append(report)
            continue
        base = report
        # An original that was filed after an addition does not take it back: only an amendment restates.
        if report.is_amendment:
            additions.clear()
    return ([base] if base else []) + additions, base is not None


def united(rows: Iterable[Row]) -> dict[tuple[int, int], Row]:
    """The rows added up by kind and security, in their order.

    Votes are added where every row gives them. Of words that differ the first stand: discretion is a word,
    managers a list that is united.
    """
    by_security: dict[tuple[int, int], Row] = {}
    for row in rows:
        at = row.kind, row.security_id
        held = by_security.get(at)
        by_security[at] = row if held is None else _added(held, row)
    return by_security


def _added(held: Row, row: Row) -> Row:
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


def compared(
    now: Mapping[tuple[int, int], Row], before: Mapping[tuple[int, int], Row] | None
) -> list[Position]:
    """The positions of a quarter against those of the quarter before, and the closed ones among those.

    ``before`` is None when the quarter before is not known whole: then no change is known either.
    """
    if before is None:
        return [Position(row, UNKNOWN, None, None, None) for row in now.values()]
    positions = []
    for at, row in now.items():
        held = before.get(at)
        if held is None:
            positions.append(Position(row, NEW, 0, 0, row.value))
        else:
            change = row.shares - held.shares
            status = INCREASED if change > 0 else DECREASED if change < 0 else UNCHANGED
            positions.append(Position(row, status, held.shares, held.value, _worth(change, row)))
    for at, held in before.items():
        if at not in now:
            gone = held._replace(
                row_count=0, shares=0, value=0, managers=None, sole=None, shared=None, none=None
            )
            positions.append(Position(gone, CLOSED, held.shares, held.value, -held.value))
    return positions


def _worth(change: int, row: Row) -> int:
    """``change`` shares at the price that the row implies, to the nearest dollar, halves away from zero."""
    if not row.shares:
        return 0
    worth = (2 * abs(change) * row.value + row.shares) // (2 * row.shares)
    return worth if change >= 0 else -worth


class Share(NamedTuple):
    """What one fund's position adds to its security's quarter, in the order of the columns there."""

    funds: int
    shares: int
    value: int
    compared: int
    compared_shares: int
    previous_shares: int
    flow: int
    bought: int
    sold: int
    new: int
    increased: int
    decreased: int
    unchanged: int
    closed: int


def share_of(position: Position) -> Share | None:
    """What a position adds to its security's quarter; None for options and principal, which are not counted."""
    row, status, flow = position.row, position.status, position.flow or 0
    if row.kind != SHARES:
        return None
    known = status != UNKNOWN
    return Share(
        int(status != CLOSED),
        row.shares,
        row.value,
        int(known),
        row.shares if known else 0,
        position.previous_shares or 0,
        flow,
        max(flow, 0),
        max(-flow, 0),
        *(int(status == one) for one in (NEW, INCREASED, DECREASED, UNCHANGED, CLOSED)),
    )


def counted(positions: Sequence[Position]) -> dict[str, int]:
    """How many positions of each status there are, by its name."""
    counts = dict.fromkeys(STATUSES, 0)
    for position in positions:
        counts[STATUSES[position.status]] += 1
    return counts
