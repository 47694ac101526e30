"""Baskets: the holdings of several funds added up, and their changes since another quarter.

Each security has one position: the sums over the funds that have reported the quarter. Changes are computed over the
*common* funds only, whose tables of both quarters are complete. For example, if three funds reported the quarter but
only two of them reported the earlier one, the value is that of all three, and the change that of the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import Annotated, TypedDict

from finapi.core.records import build_record
from finapi.market.holdings import value_doubts
from finapi.market.holdings.fund_positions import Change
from finapi.market.holdings.funds import check_total_holdings, compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedValue, DoubtSum
from finapi.market.reference import share_splits
from finapi.market.reference.share_splits import HoldingValue, LikelySplit
from finapi.store.db import Row, Transaction

# Maximum number of holdings that one call adds up, and as many of the earlier quarter. It is bounded because the call
# is free of charge.
MAX_BASKET_HOLDINGS = 6_000
# Maximum number of positions in a response.
MAX_BASKET_POSITIONS = 500
# Maximum number of funds listed for a position. ``funds_holding`` counts all of them.
MAX_FUNDS_PER_POSITION = 50

BASKET_SORTS = {"value": "value_usd", "funds": "funds_holding", "shares": "shares", "change": "share_change"}


class BasketFund(TypedDict):
    """A fund of a basket; its name is null when finapi has no 13F report by it."""

    cik: str
    company_name: str | None


class BasketPosition(TypedDict):
    """A basket's position in one security, and its change."""

    cusip: str
    ticker: str | None
    name_of_issuer: str
    class_title: str
    funds_holding: int
    funds: list[BasketFund]
    value_usd: int
    shares: int
    pct_of_basket: Decimal | None
    change_type: Change | None
    prev_value_usd: int | None
    value_change_pct: Decimal | None
    share_change: int | None
    split_factor: Annotated[
        Decimal | None, "The number of shares that one share became by splits since the compared quarter."
    ]
    doubted_count: DoubtedCount
    doubted_value_usd: DoubtedValue
    doubted_prev_value_usd: Annotated[int, "The part of prev_value_usd in positions with a value_doubt."]


class BasketDoubts(TypedDict):
    """The doubtful part of a basket's totals."""

    doubted_count: int
    doubted_value_usd: int


@dataclass(frozen=True, slots=True)
class Basket:
    """The sums of several funds by security, the most valuable first."""

    filed: list[BasketFund]  # Funds that have reported the quarter.
    pending: list[BasketFund]  # Funds that have not.
    has_common_funds: bool
    sums: list[Row]  # One row for each security (query sums_of_basket).
    query_values: Mapping[str, str]  # The parameters of the basket's queries.
    doubts: Mapping[int, DoubtSum]  # The doubtful part of each security's sums in the quarter.
    previous_doubts: Mapping[int, DoubtSum]  # The same for the earlier quarter.
    splits: Mapping[int, Sequence[LikelySplit]]  # Between the two quarters, by security.

    @property
    def value(self) -> int:
        """Return the dollars of all positions."""
        return sum(row["value_usd"] for row in self.sums)

    @property
    def doubt_totals(self) -> BasketDoubts:
        """Return the number of doubtful positions and their dollars."""
        doubt_sums = [self.doubts[row["security_id"]] for row in self.sums if row["security_id"] in self.doubts]
        return {
            "doubted_count": sum(doubt_sum.count for doubt_sum in doubt_sums),
            "doubted_value_usd": sum(doubt_sum.value for doubt_sum in doubt_sums),
        }

    @property
    def held_count(self) -> int:
        """Return the number of securities that a fund still holds."""
        return sum(row["funds_holding"] > 0 for row in self.sums)

    def list_positions(
        self, tx: Transaction, sort: str, offset: int, limit: int, *, descending: bool
    ) -> list[BasketPosition]:
        """Return a page of positions sorted by one of :data:`BASKET_SORTS`. Only their records are built."""
        rows = self.sums
        if sort != "change":
            rows = sorted(rows, key=itemgetter(BASKET_SORTS[sort]), reverse=descending)
        elif self.has_common_funds:
            # Without common funds all changes are unknown, and the order is not changed.
            rows = sorted(rows, key=lambda row: self._compute_change(row)[0], reverse=descending)
        page = rows[offset : offset + limit]
        fund_by_cik = {int(fund["cik"]): fund for fund in self.filed}
        security_ids = json.dumps([row["security_id"] for row in page])
        name_rows = tx.list_rows("names_of_basket", self.query_values, securities=security_ids)
        name_by_id = {row["security_id"]: row for row in name_rows}
        total_value = self.value
        return [self._build_position(row, name_by_id[row["security_id"]], fund_by_cik, total_value) for row in page]

    def _compute_change(self, row: Row) -> tuple[int, Decimal | None]:
        """Return the change in a security's shares without the effect of splits, and the factor of the splits."""
        likely_splits = self.splits.get(row["security_id"], ())
        # The quarter to compare with may be later than the quarter itself.
        is_backwards = self.query_values["period"] < self.query_values["earlier"]
        return _compute_change_across_splits(row, likely_splits, is_backwards=is_backwards)

    def _build_position(
        self, row: Row, name: Row, fund_by_cik: Mapping[int, BasketFund], total_value: int
    ) -> BasketPosition:
        doubt_sum = self.doubts.get(row["security_id"], DoubtSum())
        change_type = None
        previous_value = None
        value_change_pct = None
        share_change = None
        split_factor = None
        doubted_previous_value = 0
        if self.has_common_funds:
            share_change, split_factor = self._compute_change(row)
            change_type = _find_change_type(bool(row["is_common"]), bool(row["was_common"]), share_change)
            previous_value = row["previous"]
            value_change_pct = compute_percent(row["common_value"] - previous_value, previous_value)
            doubted_previous_value = self.previous_doubts.get(row["security_id"], DoubtSum()).value
        holder_ciks = sorted(json.loads(name["ciks"]))
        return build_record(
            BasketPosition,
            {**dict(row), **dict(name)},
            funds=[fund_by_cik[cik] for cik in holder_ciks[:MAX_FUNDS_PER_POSITION]],
            pct_of_basket=compute_percent(row["value_usd"], total_value),
            change_type=change_type,
            prev_value_usd=previous_value,
            value_change_pct=value_change_pct,
            share_change=share_change,
            split_factor=split_factor,
            doubted_count=doubt_sum.count,
            doubted_value_usd=doubt_sum.value,
            doubted_prev_value_usd=doubted_previous_value,
        )


def build_basket(tx: Transaction, ciks: Sequence[int], period: str, previous_period: str) -> Basket:
    """Return the share positions of several funds added up, compared with those of ``previous_period``.

    Raise INVALID_PARAM if the funds have more than MAX_BASKET_HOLDINGS holdings.
    """
    ciks_json = json.dumps(ciks)
    name_by_cik: dict[int, str] = {row["cik"]: row["name"] for row in tx.list_rows("names_of_funds", ciks=ciks_json)}
    # The quarter of each fund that has filed for it, by CIK.
    quarters = {row["cik"]: row for row in tx.list_rows("quarters_of_funds", ciks=ciks_json, period=period)}
    previous_rows = tx.list_rows("quarters_of_funds", ciks=ciks_json, period=previous_period)
    previous_quarters = {row["cik"]: row for row in previous_rows}
    counts = [
        max(quarter["positions"], previous_quarters.get(cik, quarter)["positions"]) for cik, quarter in quarters.items()
    ]
    check_total_holdings(counts, MAX_BASKET_HOLDINGS)
    common_ciks = [
        cik
        for cik, quarter in quarters.items()
        if quarter["complete"] and cik in previous_quarters and previous_quarters[cik]["complete"]
    ]
    funds: dict[int, BasketFund] = {cik: {"cik": f"{cik:010}", "company_name": name_by_cik.get(cik)} for cik in ciks}
    query_values = {
        "period": period,
        "earlier": previous_period,
        "funds": json.dumps([(cik, cik in common_ciks) for cik in quarters]),
    }
    first_period, last_period = sorted((previous_period, period))
    return Basket(
        filed=[fund for cik, fund in funds.items() if cik in quarters],
        pending=[fund for cik, fund in funds.items() if cik not in quarters],
        has_common_funds=bool(common_ciks),
        sums=tx.list_rows("sums_of_basket", query_values),
        query_values=query_values,
        doubts=_sum_doubts(tx, quarters, period),
        previous_doubts=_sum_doubts(tx, common_ciks, previous_period),
        splits=share_splits.get_for_quarter(tx, first_period, last_period),
    )


def _sum_doubts(tx: Transaction, ciks: Iterable[int], period: str) -> Mapping[int, DoubtSum]:
    """Return the sums of the funds' doubtful positions in a quarter, by security."""
    positions = [position for cik in ciks for position in value_doubts.get_doubts_of_fund(tx, cik, period).values()]
    return value_doubts.sum_doubts_by(positions, lambda position: position.security_id)


def _compute_change_across_splits(
    row: Row, likely_splits: Sequence[LikelySplit], *, is_backwards: bool
) -> tuple[int, Decimal | None]:
    """Return the change in shares of the common funds without the effect of splits, and the factor of the splits."""
    current = HoldingValue(row["common_value"], row["common_shares"])
    previous = HoldingValue(row["previous"], row["previous_shares"])
    if not likely_splits:
        return current.shares - previous.shares, None
    first, last = (current, previous) if is_backwards else (previous, current)
    factors = [split.factor for split in likely_splits if split.is_between(first, last)]
    factor = math.prod(factors, start=Decimal(1))
    if is_backwards:
        factor = 1 / factor
    change = current.shares - int((previous.shares * factor).to_integral_value())
    # Fractional shares that a split would leave to a fund are paid out in cash.
    if factors and row["is_common"] and row["was_common"] and abs(change) <= row["funds_holding"]:
        change = 0
    return change, factor.normalize() if factors else None


def _find_change_type(is_held: bool, was_held: bool, share_change: int) -> str | None:
    """Return the name of the change, or None if no common fund holds or held the security."""
    if is_held and not was_held:
        return "new"
    if was_held and not is_held:
        return "closed"
    if not is_held:
        return None
    if share_change == 0:
        return "unchanged"
    return "increased" if share_change > 0 else "decreased"
