"""Moves and overlaps: the positions that funds changed most in a quarter, and the positions that two funds share.

A move is a position in shares that a fund opened, increased, decreased or closed. Its flow is the change in dollars, as
``fund_positions`` defines it. The overlap of two funds is a sum over the securities that both hold. Each adds
the smaller of its two percentages: if it is 20 % of one portfolio and 5 % of the other, it adds 5 %.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.holdings import fund_positions, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change, SplitSource
from finapi.market.holdings.funds import FundQuarter, compute_percent
from finapi.market.holdings.value_doubts import DoubtedPosition, MarkedDoubt, OthersPrice, ValueDoubt
from finapi.store.db import Row, Transaction

MOVE_STATUSES = ("new", "increased", "decreased", "closed")

_AFTER_EVERY_DAY = "9999-12-31"


class FundMove(TypedDict):
    """A share position that a fund opened, changed or closed."""

    cik: str
    fund: str
    cusip: str
    ticker: str | None
    name_of_issuer: str
    title_of_class: str
    status: Change
    shares: int
    previous_shares: int
    split_factor: Decimal | None
    split_source: SplitSource
    change_pct: Decimal | None
    value_usd: int
    previous_value_usd: Annotated[int, "Value at the end of the previous quarter, also of a closed position."]
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    previous_value_doubt: Annotated[ValueDoubt | None, "The doubt about previous_value_usd, from the previous quarter."]
    flow_usd: Annotated[
        int, "The change in shares times the position's price; for a closed position, minus its last value."
    ]
    pct_of_portfolio: Annotated[Decimal | None, "The position's percentage of the fund's portfolio."]
    previous_pct_of_portfolio: Decimal | None
    accession_no: str


def find_latest_quarter(tx: Transaction) -> str | None:
    """Return the end of the latest quarter with holdings of a fund, or None."""
    period: str | None = tx.find_value("latest_quarter_before", period=_AFTER_EVERY_DAY)
    return period


def list_largest_moves(
    tx: Transaction, period: str, status: str, fund: FundQuarter | None, limit: int, offset: int
) -> list[FundMove]:
    """Return the largest moves of one kind in a quarter, of one fund or of all funds.

    Up to ``limit`` + 1 moves are returned, so that the caller knows if there are more.
    """
    previous_period = quarters.get_previous_end(period)
    rows = tx.list_rows(
        "moves_of_fund" if fund else "moves_of_all",
        period=period,
        before=previous_period,
        status=fund_positions.find_change_status(status),
        cik=fund.cik if fund else None,
        limit=limit + 1,
        offset=offset,
    )
    security_ids = json.dumps([row["security_id"] for row in rows])
    doubts = value_doubts.get_doubts_of_securities(tx, security_ids, period)
    previous_doubts = value_doubts.get_doubts_of_securities(tx, security_ids, previous_period)
    moves = []
    for row in rows:
        key = (int(row["cik"]), row["security_id"])
        moves.append(_build_move(row, doubts.get(key), previous_doubts.get(key)))
    return moves


def _build_move(row: Row, doubt: DoubtedPosition | None, previous_doubt: DoubtedPosition | None) -> FundMove:
    return build_record(
        FundMove,
        row,
        **value_doubts.build_doubt_members(doubt),
        previous_value_doubt=previous_doubt.reason if previous_doubt else None,
        status=fund_positions.find_change_name(row["status"]),
        change_pct=compute_percent(row["shares"] - row["previous_shares"], row["previous_shares"]),
        pct_of_portfolio=compute_percent(row["value_usd"], row["portfolio_value"]),
        previous_pct_of_portfolio=compute_percent(row["previous_value_usd"], row["previous_portfolio_value"]),
    )


def count_compared_funds(tx: Transaction, period: str) -> int:
    """Return the number of funds whose changes in a quarter are known: both of their tables are stored and complete."""
    count: int = tx.find_value("compared_fund_count", period=period)
    return count


class SharedPosition(TypedDict):
    """A security that both funds hold in shares."""

    cusip: str
    ticker: str | None
    name_of_issuer: str
    shares: int
    value_usd: int
    value_doubt: MarkedDoubt
    pct_of_portfolio: Decimal | None
    other_shares: int
    other_value_usd: int
    other_value_doubt: Annotated[ValueDoubt | None, "The doubt about the other fund's value."]
    others_price: OthersPrice
    other_pct_of_portfolio: Decimal | None
    overlap_pct: Annotated[Decimal | None, "The smaller of the position's two portfolio percentages."]


class Overlap(NamedTuple):
    """The positions that two funds share, the largest overlap first."""

    overlap_pct: Decimal | None  # The percentage of the portfolios that is equal.
    value: int  # Dollars that the first fund holds in them.
    other_value: int  # Dollars that the other fund holds in them.
    positions: list[SharedPosition]


def compute_overlap(tx: Transaction, fund: FundQuarter, other_fund: FundQuarter) -> Overlap:
    """Return the positions that two funds share, each fund at the end of its own quarter."""
    rows = tx.list_rows(
        "shared_positions",
        cik=fund.cik,
        period=fund.period,
        other=other_fund.cik,
        other_period=other_fund.period,
    )
    doubts = value_doubts.get_doubts_of_fund(tx, fund.cik, fund.period)
    other_doubts = value_doubts.get_doubts_of_fund(tx, other_fund.cik, other_fund.period)
    positions = []
    for row in rows:
        doubt = doubts.get(row["security_id"])
        other_doubt = other_doubts.get(row["security_id"])
        percentage = compute_percent(row["value"], fund.value)
        other_percentage = compute_percent(row["other_value"], other_fund.value)
        positions.append(_build_shared_position(row, percentage, other_percentage, doubt, other_doubt))
    positions.sort(key=lambda position: (-(position["overlap_pct"] or 0), -position["value_usd"], position["cusip"]))
    # Each minimum is taken over the common denominator, so that only the sum is rounded.
    shared = sum(min(row["value"] * other_fund.value, row["other_value"] * fund.value) for row in rows)
    return Overlap(
        overlap_pct=compute_percent(shared, fund.value * other_fund.value),
        value=sum(row["value"] for row in rows),
        other_value=sum(row["other_value"] for row in rows),
        positions=positions,
    )


def _build_shared_position(
    row: Row,
    percentage: Decimal | None,
    other_percentage: Decimal | None,
    doubt: DoubtedPosition | None,
    other_doubt: DoubtedPosition | None,
) -> SharedPosition:
    overlap_pct = None
    if percentage is not None and other_percentage is not None:
        overlap_pct = min(percentage, other_percentage)
    # If both values are doubtful, the price of the second doubt is used.
    any_doubt = other_doubt or doubt
    return build_record(
        SharedPosition,
        row,
        value_doubt=doubt.reason if doubt else None,
        others_price=any_doubt.price if any_doubt else None,
        other_value_doubt=other_doubt.reason if other_doubt else None,
        value_usd=row["value"],
        other_value_usd=row["other_value"],
        pct_of_portfolio=percentage,
        other_pct_of_portfolio=other_percentage,
        overlap_pct=overlap_pct,
    )
