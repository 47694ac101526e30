"""Fund to fund: what funds bought and sold most in a quarter, and what two of them hold alike."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.holdings import fund_positions, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change, SplitSource
from finapi.market.holdings.funds import FundQuarter, compute_percent
from finapi.market.holdings.value_doubts import MarkedDoubt, OthersPrice, ValueDoubt
from finapi.store.db import Transaction

MOVE_STATUSES = ("new", "increased", "decreased", "closed")


class FundMove(TypedDict):
    """A position in shares that a fund opened, changed or closed; the largest change in dollars comes first."""

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
    previous_value_usd: Annotated[int, "At the end of the quarter before: what a closed position was worth."]
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    previous_value_doubt: Annotated[ValueDoubt | None, "The same of previous_value_usd, by the quarter before."]
    flow_usd: Annotated[int, "The change in shares at the position's price; of a closed one its last value."]
    pct_of_portfolio: Annotated[Decimal | None, "The share of the fund's portfolio: its conviction."]
    previous_pct_of_portfolio: Decimal | None
    accession_no: str


def find_latest_quarter(tx: Transaction) -> str | None:
    """The end of the last quarter of which a fund's holdings are held."""
    period: str | None = tx.find_value("latest_quarter_before", period="9999-12-31")
    return period


def list_largest_moves(
    tx: Transaction, period: str, status: str, fund: FundQuarter | None, limit: int, offset: int
) -> list[FundMove]:
    """The largest moves of one kind in a quarter, over all funds or of one; no more than one beyond ``limit``."""
    values: dict[str, Any] = {
        "period": period,
        "before": quarters.get_previous_end(period),
        "status": fund_positions.find_change_status(status),
    }
    values |= {"cik": fund.cik if fund else None, "limit": limit + 1, "offset": offset}
    rows = tx.list_rows("moves_of_fund" if fund else "moves_of_all", values)
    securities = json.dumps([row["security_id"] for row in rows])
    now, before = (value_doubts.get_doubts_of_securities(tx, securities, values[one]) for one in ("period", "before"))
    places = [(int(row["cik"]), row["security_id"]) for row in rows]
    return [
        build_record(
            FundMove,
            row,
            **value_doubts.build_doubt_members(now.get(place)),
            previous_value_doubt=before[place].reason if place in before else None,
            status=fund_positions.find_change_name(row["status"]),
            change_pct=compute_percent(row["shares"] - row["previous_shares"], row["previous_shares"]),
            pct_of_portfolio=compute_percent(row["value_usd"], row["whole"]),
            previous_pct_of_portfolio=compute_percent(row["previous_value_usd"], row["whole_before"]),
        )
        for place, row in zip(places, rows, strict=True)
    ]


def count_compared_funds(tx: Transaction, period: str) -> int:
    """Of how many funds the changes of a quarter are known: tables of both quarters are held, and whole."""
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
    other_value_doubt: Annotated[ValueDoubt | None, "The same of the other fund's value."]
    others_price: OthersPrice
    other_pct_of_portfolio: Decimal | None
    overlap_pct: Annotated[Decimal | None, "The smaller of the two shares of a portfolio."]


class Overlap(NamedTuple):
    """What two funds hold alike: the share of their portfolios that is the same, and the positions, largest first."""

    overlap_pct: Decimal | None
    value: int
    other_value: int
    positions: list[SharedPosition]


def compute_overlap(tx: Transaction, one: FundQuarter, other: FundQuarter) -> Overlap:
    """What two funds hold alike, each at the end of its quarter."""
    ends = {"period": one.period, "other_period": other.period}
    rows = tx.list_rows("shared_positions", ends, cik=one.cik, other=other.cik)
    own, others = (
        value_doubts.get_doubts_of_fund(tx, one.cik, one.period),
        value_doubts.get_doubts_of_fund(tx, other.cik, other.period),
    )
    shared = [
        build_record(
            SharedPosition,
            row,
            **value_doubts.build_doubt_members(own.get(at := row["security_id"]))
            | ({"others_price": others[at].price} if at in others else {}),
            other_value_doubt=others[at].reason if at in others else None,
            value_usd=row["value"],
            other_value_usd=row["other_value"],
            pct_of_portfolio=(share := compute_percent(row["value"], one.value)),
            other_pct_of_portfolio=(theirs := compute_percent(row["other_value"], other.value)),
            overlap_pct=None if share is None or theirs is None else min(share, theirs),
        )
        for row in rows
    ]
    shared.sort(key=lambda row: (-(row["overlap_pct"] or 0), -row["value_usd"], row["cusip"]))
    # Summed before it is rounded.
    whole = one.value * other.value
    alike = sum(min(row["value"] * other.value, row["other_value"] * one.value) for row in rows)
    sums = sum(row["value"] for row in rows), sum(row["other_value"] for row in rows)
    return Overlap(compute_percent(alike, whole), *sums, shared)
