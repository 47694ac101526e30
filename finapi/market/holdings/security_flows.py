"""All funds together: the securities of a quarter, who holds one, and what some funds hold together.

Changes count only funds whose quarter and the one before are both complete; with none of them a change is null.
A flow is the change in shares at the price that each fund's own value implies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import Annotated, Any, NotRequired, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, build_record
from finapi.edgar import cusip, tickers
from finapi.market.holdings import fund_positions, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change, SplitSource
from finapi.market.holdings.funds import check_total_holdings, compute_percent, compute_price
from finapi.market.reference import companies, issuer_names, sectors, share_splits
from finapi.market.reference.share_splits import HoldingValue, LikelySplit
from finapi.store.db import Row, Transaction

# Positions of several funds that one call adds up, and as many of the quarter before: the call is free.
MAX_BASKET_HOLDINGS = 6_000
SORTS = ("fund_flow", "total_value", "fund_count", "fund_change", "share_change", "ticker", "name")

# Members of a security's row that 13F reports do not have: always null, with the reason in the answer's meta.
NOT_IN_13F = ("close_price", "market_cap", "shares_outstanding", "first_traded", "fund_flow_mcap_pct")


# ---- the securities of a quarter


class SecurityFlow(TypedDict):
    """A security's quarter over all funds."""

    cusip: str
    ticker: str | None
    name: str
    sector: str | None
    industry: str | None
    security_group: str
    is_etf: bool
    implied_price: Decimal | None
    close_price: Decimal | None
    market_cap: int | None
    shares_outstanding: int | None
    first_traded: Date | None
    fund_flow_mcap_pct: Decimal | None
    fund_flow: int | None
    total_value: int
    total_shares: int
    fund_count: int
    fund_count_compared: int
    fund_count_prev: int | None
    fund_change: int | None
    fund_change_pct: Decimal | None
    share_change: int | None
    share_change_pct: Decimal | None
    new_buys_count: int | None
    increased_count: int | None
    decreased_count: int | None
    unchanged_count: int | None
    closed_count: int | None
    doubted_count: value_doubts.DoubtedCount
    doubted_value: value_doubts.DoubtedValue
    doubted_flow: value_doubts.DoubtedFlow


def list_security_flows(
    tx: Transaction, period: str, wanted: Mapping[str, Any], doubted: Sequence[value_doubts.DoubtedPosition]
) -> tuple[list[SecurityFlow], int]:
    """A page of the securities of a quarter, and how many there are in all; ``doubted`` are the quarter's positions.

    ``wanted`` holds filters, bounds, sort and page by the names of the endpoint's parameters.
    """
    words = issuer_names.list_words(wanted["search"] or "")
    if wanted["search"] is not None and not words:
        return [], 0
    values = {
        **wanted,
        "period": period,
        "words": json.dumps(words) if words else None,
        "ticker": tickers.normalise_prefix(wanted["search"] or ""),
        "groups": _groups(wanted["sector"], wanted["industry"]),
        "direction": -1 if wanted["sort_order"] == "desc" else 1,
    }
    rows, total = tx.list_page("securities_of_quarter", values)
    sums = value_doubts.sum_doubts_by(doubted, lambda one: one.security_id)
    return [_security(row, sums.get(row["security_id"], value_doubts.DoubtSum())) for row in rows], total


def _groups(sector: str | None, industry: str | None) -> str | None:
    """The major groups of SIC codes that are wanted, as JSON; None for any."""
    if sector is None and industry is None:
        return None
    wanted = None if sector is None else sectors.parse_sector(sector)
    number = None if industry is None else sectors.parse_group(industry)
    found = [
        group
        for group in range(100)
        if (name := sectors.for_group(group)[0]) and wanted in (None, name) and number in (None, group)
    ]
    return json.dumps(found)


def _security(row: Row, doubted: value_doubts.DoubtSum) -> SecurityFlow:
    sector, industry = sectors.for_group(row["sic_group"])
    return build_record(
        SecurityFlow,
        row,
        sector=sector,
        industry=industry,
        implied_price=compute_price(row["total_value"], row["total_shares"]),
        fund_change_pct=compute_percent(row["fund_change"], row["fund_count_prev"]),
        share_change_pct=compute_percent(row["share_change"], row["previous_shares"]),
        **doubted.build_members(),
        **dict.fromkeys(NOT_IN_13F),
    )


class Range(TypedDict):
    """The least and the greatest value of a filter."""

    min: int | None
    max: int | None


class FilterRanges(TypedDict):
    """What the securities of a quarter range over."""

    market_cap: Range
    total_value: Range
    fund_count: Range
    fund_flow: Range


class Volume(TypedDict):
    """What funds bought and sold in a quarter, in dollars."""

    buy: int | None
    sell: int | None
    doubted_buy: Annotated[int, "The part of buy in positions with a value_doubt."]
    doubted_sell: Annotated[int, "The part of sell in positions with a value_doubt, or that had one before."]


def get_ranges_and_volume(
    tx: Transaction, period: str, doubted: Sequence[value_doubts.DoubtedPosition]
) -> tuple[FilterRanges, Volume]:
    """What the filters of a quarter range over, and what funds bought and sold, ``doubted`` of it."""
    (row,) = tx.list_rows("ranges_of_quarter", period=period)
    doubtful = value_doubts.sum_doubts(doubted)
    names = FilterRanges.__annotations__
    found: Any = {name: {"min": row[f"min_{name}"], "max": row[f"max_{name}"]} for name in names}
    return found, build_record(Volume, row, doubted_buy=doubtful.bought, doubted_sell=doubtful.sold)


# ---- one security


@dataclass(frozen=True, slots=True)
class SecuritySelection:
    """The securities that a ticker or a CUSIP names; ``ids`` is JSON, the rest is of the one last reported."""

    ids: str
    cusips: list[str]
    ticker: str | None
    name: str
    evidence: str | None


def get_securities_of_ticker(tx: Transaction, ticker: str) -> SecuritySelection:
    """The securities of a ticker; the error of :func:`no_cusip` when there are none."""
    rows = tx.list_rows("securities_of_ticker", ticker=ticker)
    if not rows:
        raise build_no_cusip_error(tx, ticker)
    return _named(rows)


def build_no_cusip_error(tx: Transaction, ticker: str) -> ApiError:
    """NOT_COVERED for the ticker of a company; raises UNKNOWN_TICKER for a ticker of none."""
    company = companies.resolve(tx, ticker)
    details = {"ticker": ticker, "cik": company.padded_cik}
    return ApiError("NOT_COVERED", f"No CUSIP of {company.name} is known.", details=details)


def get_securities_of_query(tx: Transaction, text: str) -> SecuritySelection:
    """The securities of a ticker or a CUSIP; a 404 for each reason that there are none."""
    try:
        row = tx.find_row("security", cusip=cusip.validate(text))
    except ValueError:
        pass
    else:
        if row is None:
            raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists this CUSIP.")
        return _named([row])
    try:
        return get_securities_of_ticker(tx, tickers.normalise(text))
    except ValueError:
        raise invalid_param("q", "q must be a ticker or a CUSIP.", expected="AAPL") from None


def _named(rows: Sequence[Row]) -> SecuritySelection:
    first = rows[0]
    ids, cusips = [row["id"] for row in rows], [row["cusip"] for row in rows]
    return SecuritySelection(json.dumps(ids), cusips, first["ticker"], first["issuer"], first["evidence"])


class HolderQuarter(TypedDict):
    """What a fund held of a security at the end of a quarter; null where its report is not whole."""

    period: Date
    shares: int | None
    value: int | None
    value_doubt: value_doubts.MarkedDoubt
    others_price: value_doubts.OthersPrice


class Holder(TypedDict):
    """A fund that holds a security."""

    cik: str
    name: str
    cusip: str
    shares: int
    value: int
    value_doubt: value_doubts.MarkedDoubt
    others_price: value_doubts.OthersPrice
    pct_of_portfolio: Decimal | None
    previous_shares: int | None
    split_factor: Decimal | None
    split_source: SplitSource
    chg_shares: int | None
    chg_pct: Decimal | None
    status: Change | None
    accession_number: str
    filed_at: Date | None
    value_unit_rule: str
    history: NotRequired[Annotated[list[HolderQuarter], "With quarters: the newest first."]]


def list_holders(
    tx: Transaction, wanted: SecuritySelection, period: str, back: int = 1, *, status: str, limit: int, offset: int
) -> tuple[list[Holder], int]:
    """A page of the funds that hold a security, the largest first, and how many there are.

    ``status`` "all" is everyone that holds it, "closed" who no longer does; more than one quarter ``back`` adds a
    history of so many, without those for which finapi has no report of the fund.
    """
    values = {"ids": wanted.ids, "period": period, "status": fund_positions.find_change_status(status)}
    found = tx.list_rows("holders", values, limit=limit, offset=offset)
    histories = _histories(tx, wanted, found, period, back) if back > 1 else {}
    doubted = value_doubts.get_doubts_of_securities(tx, wanted.ids, period)
    rows = [
        build_record(
            Holder,
            row,
            **({"history": histories[int(row["cik"]), row["security_id"]]} if histories else {}),
            **value_doubts.build_doubt_members(doubted.get((int(row["cik"]), row["security_id"]))),
            pct_of_portfolio=compute_percent(row["value"], row["whole"]),
            chg_pct=compute_percent(row["chg_shares"], row["previous_shares"]),
            status=fund_positions.find_change_name(row["status"]),
        )
        for row in found
    ]
    return rows, tx.find_value("holder_count", values)


def _histories(
    tx: Transaction, wanted: SecuritySelection, holders: Sequence[Row], period: str, back: int
) -> dict[tuple[int, int], list[HolderQuarter]]:
    """What some holders held at the ends of so many quarters, by their CIKs and the ids of the securities."""
    ends = [period]
    for _ in range(back - 1):
        ends.append(quarters.get_previous_end(ends[-1]))
    pairs = json.dumps([(int(row["cik"]), row["security_id"]) for row in holders])
    rows = tx.list_rows("holder_histories", pairs=pairs, first=ends[-1], last=period)
    doubted = {
        one: value_doubts.get_doubts_of_securities(tx, wanted.ids, one) for one in {row["period"] for row in rows}
    }
    found: dict[tuple[int, int], list[HolderQuarter]] = {}
    for row in rows:
        whose = row["cik"], row["security_id"]
        found.setdefault(whose, []).append(
            build_record(HolderQuarter, row, **value_doubts.build_doubt_members(doubted[row["period"]].get(whose)))
        )
    return found


class TrendQuarter(TypedDict):
    """A security's quarter over all funds, in its trend."""

    date: Date
    total_shares: int
    total_value: int
    fund_count: int
    fund_count_compared: int
    share_change: int | None
    share_change_pct: Decimal | None
    fund_flow: int | None
    fund_count_change: int | None
    doubted_count: value_doubts.DoubtedCount
    doubted_value: value_doubts.DoubtedValue


def list_trend_quarters(tx: Transaction, wanted: SecuritySelection, limit: int, offset: int) -> list[TrendQuarter]:
    """A security quarter by quarter over all funds, the newest first."""
    return [
        build_record(
            TrendQuarter,
            row,
            **sum_doubts_of_securities(tx, wanted, row["date"]),
            share_change_pct=compute_percent(row["share_change"], row["previous_shares"]),
        )
        for row in tx.list_rows("trend_quarters", ids=wanted.ids, limit=limit, offset=offset)
    ]


def sum_doubts_of_securities(tx: Transaction, wanted: SecuritySelection, period: str) -> dict[str, int]:
    """How many of a quarter's positions in a security are doubted, and their dollars: members of its sums."""
    whole = value_doubts.sum_doubts(value_doubts.get_doubts_of_securities(tx, wanted.ids, period).values())
    return {"doubted_count": whole.count, "doubted_value": whole.value}


def get_quarter_and_totals(tx: Transaction, wanted: SecuritySelection, period: str | None) -> tuple[str, Row]:
    """A quarter, by default the last one in which a fund held one of the securities, and its sums over all funds.

    NOT_COVERED when no fund held any.
    """
    ids = wanted.ids
    found: str | None = period or tx.find_value("latest_quarter_of_securities", ids=ids)
    row = found and tx.find_row("security_totals", ids=ids, period=found)
    if not found or not row:
        when = f" for {period}" if period else ""
        raise ApiError("NOT_COVERED", f"{wanted.name} is in no 13F report{when} in finapi.")
    return found, row


# ---- several funds taken together; changes count only funds whose tables of both quarters are complete

BASKET_SORTS = {"value": "value_usd", "funds": "funds_holding", "shares": "shares", "change": "share_change"}

# Positions of an answer.
MAX_BASKET_POSITIONS = 500
# Funds named with a position; ``funds_holding`` counts them all.
MAX_FUNDS_PER_POSITION = 50


class BasketFund(TypedDict):
    """A fund of a basket; its name is null when finapi has no 13F report by it."""

    cik: str
    company_name: str | None


class BasketPosition(TypedDict):
    """What the funds of a basket hold of one security, and how that changed."""

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
        Decimal | None, "Shares that one share became through splits since the quarter compared with."
    ]
    doubted_count: value_doubts.DoubtedCount
    doubted_value_usd: value_doubts.DoubtedValue
    doubted_prev_value_usd: Annotated[int, "The part of prev_value_usd in positions with a value_doubt."]


@dataclass(frozen=True, slots=True)
class Basket:
    """Funds that have reported the quarter and those that have not; what the former hold together, the most valuable
    first, as the sums of each security. ``comparable``: some funds' tables of both quarters are complete.

    ``asked`` are the values of its queries; ``now`` and ``before`` are what is doubted of both quarters, ``splits``
    lie between them, by the ids of securities.
    """

    filed: list[BasketFund]
    pending: list[BasketFund]
    comparable: bool
    sums: list[Row]
    asked: Mapping[str, str]
    now: Mapping[int, value_doubts.DoubtSum]
    before: Mapping[int, value_doubts.DoubtSum]
    splits: Mapping[int, Sequence[LikelySplit]]

    @property
    def value(self) -> int:
        """What all positions are worth."""
        return sum(row["value_usd"] for row in self.sums)

    @property
    def doubted(self) -> dict[str, int]:
        """How many positions are doubted, and their dollars."""
        doubted = [self.now[row["security_id"]] for row in self.sums if row["security_id"] in self.now]
        return {
            "doubted_count": sum(one.count for one in doubted),
            "doubted_value_usd": sum(one.value for one in doubted),
        }

    @property
    def held(self) -> int:
        """How many securities are held, not only were."""
        return sum(row["funds_holding"] > 0 for row in self.sums)

    def page(self, tx: Transaction, sort: str, first: int, size: int, *, descending: bool) -> list[BasketPosition]:
        """``size`` positions from the ``first`` on by one of :data:`BASKET_SORTS`: only these are put together."""
        sums = self.sums
        if sort != "change":
            sums = sorted(sums, key=itemgetter(BASKET_SORTS[sort]), reverse=descending)
        elif self.comparable:
            # A change that is not known is that of all of them.
            sums = sorted(sums, key=lambda row: self.changed(row)[0], reverse=descending)
        sums, funds = sums[first : first + size], {int(fund["cik"]): fund for fund in self.filed}
        securities = json.dumps([row["security_id"] for row in sums])
        names = {row["security_id"]: row for row in tx.list_rows("names_of_basket", self.asked, securities=securities)}
        value = self.value
        return [self._position(row, names[row["security_id"]], funds, value) for row in sums]

    def changed(self, row: Row) -> tuple[int, Decimal | None]:
        """How a security's shares changed apart from the splits between the quarters, and the factor of these."""
        likely = self.splits.get(row["security_id"], ())
        return _since_split(row, likely, back=self.asked["period"] < self.asked["earlier"])

    def _position(self, row: Row, name: Row, funds: Mapping[int, BasketFund], value: int) -> BasketPosition:
        holders, previous = sorted(json.loads(name["ciks"])), row["previous"]
        doubted, doubted_before = (
            one.get(row["security_id"], value_doubts.DoubtSum()) for one in (self.now, self.before)
        )
        change, factor = self.changed(row)
        is_common, was_common = bool(row["is_common"]), bool(row["was_common"])
        known: dict[str, Any] = {
            "change_type": _change(is_common, was_common, change),
            "prev_value_usd": previous,
            "value_change_pct": compute_percent(row["common_value"] - previous, previous),
            "share_change": change,
            "split_factor": factor,
            "doubted_prev_value_usd": doubted_before.value,
        }
        unknown: dict[str, Any] = {**dict.fromkeys(known), "doubted_prev_value_usd": 0}
        return build_record(
            BasketPosition,
            {**dict(row), **dict(name)},
            funds=[funds[cik] for cik in holders[:MAX_FUNDS_PER_POSITION]],
            pct_of_basket=compute_percent(row["value_usd"], value),
            **doubted.build_members("doubted_value_usd"),
            **(known if self.comparable else unknown),
        )


def build_basket(tx: Transaction, ciks: Sequence[int], period: str, compared_with: str) -> Basket:
    """The positions in shares of several funds added up; INVALID_PARAM for more than are added up in one call."""
    names: dict[int, str] = {row["cik"]: row["name"] for row in tx.list_rows("names_of_funds", ciks=json.dumps(ciks))}

    def reported(when: str) -> dict[int, Row]:
        return {row["cik"]: row for row in tx.list_rows("quarters_of_funds", ciks=json.dumps(ciks), period=when)}

    filed, earlier = reported(period), reported(compared_with)
    both = ((row, earlier.get(cik, row)) for cik, row in filed.items())
    check_total_holdings([max(row["positions"] for row in two) for two in both], MAX_BASKET_HOLDINGS)
    common = [cik for cik in filed if filed[cik]["complete"] and cik in earlier and earlier[cik]["complete"]]
    funds: dict[int, BasketFund] = {cik: {"cik": f"{cik:010}", "company_name": names.get(cik)} for cik in ciks}
    pairs = json.dumps([(cik, cik in common) for cik in filed])
    asked = {"period": period, "earlier": compared_with, "funds": pairs}
    return Basket(
        [fund for cik, fund in funds.items() if cik in filed],
        [fund for cik, fund in funds.items() if cik not in filed],
        bool(common),
        tx.list_rows("sums_of_basket", asked),
        asked,
        _doubted(tx, filed, period),
        _doubted(tx, common, compared_with),
        share_splits.get_for_quarter(tx, *sorted((compared_with, period))),
    )


def _doubted(tx: Transaction, ciks: Iterable[int], period: str) -> Mapping[int, value_doubts.DoubtSum]:
    """What is doubted of some funds' quarter, by the ids of securities."""
    found = [one for cik in ciks for one in value_doubts.get_doubts_of_fund(tx, cik, period).values()]
    return value_doubts.sum_doubts_by(found, lambda one: one.security_id)


def _since_split(row: Row, likely: Sequence[LikelySplit], *, back: bool) -> tuple[int, Decimal | None]:
    if not likely:
        return row["common_shares"] - row["previous_shares"], None
    now, held = (
        HoldingValue(row["common_value"], row["common_shares"]),
        HoldingValue(row["previous"], row["previous_shares"]),
    )
    first, last = (now, held) if back else (held, now)
    found = [one.factor for one in likely if one.is_between(first, last)]
    factor = math.prod(found, start=Decimal(1))
    factor = 1 / factor if back else factor
    change = now.shares - int((held.shares * factor).to_integral_value())
    # The fraction that a split leaves each fund is paid out.
    change = 0 if found and row["is_common"] and row["was_common"] and abs(change) <= row["funds_holding"] else change
    return change, factor.normalize() if found else None


def _change(held: bool, was_held: bool, change: int) -> str | None:
    """What became of a position; None when no fund that can be compared has to do with it."""
    if held != was_held:
        return "new" if held else "closed"
    if not held:
        return None
    return "increased" if change > 0 else "decreased" if change < 0 else "unchanged"
