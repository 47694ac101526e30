"""Securities, summed over all funds: the flows of a quarter, the holders of a security, and its trend.

The sums of a security over all funds are stored for each quarter (``security_quarters``). Changes and flows count only
funds whose tables of the quarter and of the quarter before are complete. Without such a fund they are null. A flow is
the sum of the flows of the funds' positions, as ``fund_positions`` defines them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NotRequired, TypedDict

from finapi.core.empty_lists import MAX_AVAILABLE, AvailableRows
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, build_record
from finapi.edgar import cusip, tickers
from finapi.market.holdings import fund_positions, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change, SplitSource
from finapi.market.holdings.funds import compute_percent, compute_price
from finapi.market.holdings.value_doubts import DoubtedPosition, DoubtSum
from finapi.market.reference import companies, issuer_names, sectors
from finapi.store.db import Row, Transaction

SORTS = ("fund_flow", "total_value", "fund_count", "fund_change", "share_change", "ticker", "name")

# Fields of a security's record that 13F reports do not contain. They are always null, with the reason in ``meta``.
NOT_IN_13F = ("close_price", "market_cap", "shares_outstanding", "first_traded", "fund_flow_mcap_pct")

# Maximum number of quarters that a message names.
MAX_NAMED_QUARTERS = 4

# The two digits with which SIC codes begin.
_MAJOR_GROUPS = range(100)


# ---- the securities of a quarter


class SecurityFlow(TypedDict):
    """A security's sums over all funds in a quarter."""

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
    tx: Transaction, period: str, params: Mapping[str, Any], doubts: Sequence[DoubtedPosition]
) -> tuple[list[SecurityFlow], int]:
    """Return a page of the securities of a quarter, and the number of all that match.

    ``params`` are the endpoint's parameters for filters, bounds, sort and page. ``doubts`` are the doubtful positions
    of the quarter.
    """
    search = params["search"] or ""
    words = issuer_names.list_words(search)
    if params["search"] is not None and not words:
        return [], 0
    query_values = {
        **params,
        "period": period,
        "words": json.dumps(words) if words else None,
        "ticker": tickers.normalise_prefix(search),
        **_build_sector_values(params["sector"], params["industry"]),
        "direction": -1 if params["sort_order"] == "desc" else 1,
    }
    rows, total = tx.list_page("securities_of_quarter", query_values)
    doubt_sums = value_doubts.sum_doubts_by(doubts, lambda position: position.security_id)
    return [_build_flow(row, doubt_sums.get(row["security_id"], DoubtSum())) for row in rows], total


def _build_sector_values(sector: str | None, industry: str | None) -> dict[str, str | None]:
    """Return the parameters ``groups`` (major groups) and ``sic_ranges`` for a sector and an industry, as JSON lists.

    A parameter is None if it does not limit the securities. Raise INVALID_PARAM for an unknown sector or industry.
    """
    sector_filter = None if sector is None else sectors.parse_filter(sector)
    sic_ranges = None if sector_filter is None else sector_filter.render_ranges()
    sector_name = None if sector_filter is None or sic_ranges else sector_filter.name
    if sector_name is None and industry is None:
        return {"groups": None, "sic_ranges": sic_ranges}
    industry_group = None if industry is None else sectors.parse_group(industry)
    groups = []
    for group in _MAJOR_GROUPS:
        group_sector = sectors.get_names_of_group(group)[0]
        if group_sector and sector_name in (None, group_sector) and industry_group in (None, group):
            groups.append(group)
    return {"groups": json.dumps(groups), "sic_ranges": sic_ranges}


def _build_flow(row: Row, doubt_sum: DoubtSum) -> SecurityFlow:
    sector, industry = sectors.get_names_of_group(row["sic_group"])
    return build_record(
        SecurityFlow,
        row,
        sector=sector,
        industry=industry,
        implied_price=compute_price(row["total_value"], row["total_shares"]),
        fund_change_pct=compute_percent(row["fund_change"], row["fund_count_prev"]),
        share_change_pct=compute_percent(row["share_change"], row["previous_shares"]),
        **doubt_sum.build_members(),
        **dict.fromkeys(NOT_IN_13F),
    )


class Range(TypedDict):
    """The smallest and the largest value of a filter."""

    min: int | None
    max: int | None


class FilterRanges(TypedDict):
    """The range of the values of each filter over the securities of a quarter."""

    market_cap: Range
    total_value: Range
    fund_count: Range
    fund_flow: Range


class Volume(TypedDict):
    """Dollars that funds bought and sold in a quarter."""

    buy: int | None
    sell: int | None
    doubted_buy: Annotated[int, "The part of buy in positions with a value_doubt."]
    doubted_sell: Annotated[int, "The part of sell in positions with a value_doubt, or that had one before."]


def get_ranges_and_volume(
    tx: Transaction, period: str, doubts: Sequence[DoubtedPosition]
) -> tuple[FilterRanges, Volume]:
    """Return the range of values of each filter in a quarter, and the dollars that funds bought and sold.

    ``doubts`` are the doubtful positions of the quarter.
    """
    row = tx.find_row("ranges_of_quarter", period=period)
    assert row is not None
    doubt_sum = value_doubts.sum_doubts(doubts)
    ranges: FilterRanges = {
        "market_cap": {"min": None, "max": None},
        "total_value": {"min": row["min_total_value"], "max": row["max_total_value"]},
        "fund_count": {"min": row["min_fund_count"], "max": row["max_fund_count"]},
        "fund_flow": {"min": row["min_fund_flow"], "max": row["max_fund_flow"]},
    }
    return ranges, build_record(Volume, row, doubted_buy=doubt_sum.bought, doubted_sell=doubt_sum.sold)


# ---- one security


@dataclass(frozen=True, slots=True)
class SecuritySelection:
    """The securities that a ticker or a CUSIP names.

    A ticker may have several CUSIPs, because a security gets a new one with each reorganisation of its issuer. The last
    three fields are those of the most recently reported CUSIP.
    """

    ids: str  # A JSON list.
    cusips: list[str]
    ticker: str | None
    name: str
    evidence: str | None


def get_securities_of_ticker(tx: Transaction, ticker: str) -> SecuritySelection:
    """Return the securities of a ticker. Raise the error of :func:`build_no_cusip_error` if there is none."""
    rows = tx.list_rows("securities_of_ticker", ticker=ticker)
    if not rows:
        raise build_no_cusip_error(tx, ticker)
    return _build_selection(rows)


def build_no_cusip_error(tx: Transaction, ticker: str) -> ApiError:
    """Return the error NOT_COVERED for a known ticker without a CUSIP. Raise UNKNOWN_TICKER for an unknown one."""
    company = companies.resolve(tx, ticker)
    details = {"ticker": ticker, "cik": company.padded_cik}
    return ApiError("NOT_COVERED", f"No CUSIP of {company.name} is known.", details=details)


def get_securities_of_query(tx: Transaction, text: str) -> SecuritySelection:
    """Return the securities of a ticker or a CUSIP.

    Raise NOT_FOUND for an unknown CUSIP, the errors of :func:`get_securities_of_ticker` for a ticker, and INVALID_PARAM
    for a text that is neither.
    """
    try:
        number = cusip.validate(text)
    except ValueError:
        pass
    else:
        row = tx.find_row("security", cusip=number)
        if row is None:
            raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists this CUSIP.")
        return _build_selection([row])
    try:
        return get_securities_of_ticker(tx, tickers.normalise(text))
    except ValueError:
        raise invalid_param("q", "q must be a ticker or a CUSIP.", expected="AAPL") from None


def _build_selection(rows: Sequence[Row]) -> SecuritySelection:
    last_reported = rows[0]
    return SecuritySelection(
        ids=json.dumps([row["id"] for row in rows]),
        cusips=[row["cusip"] for row in rows],
        ticker=last_reported["ticker"],
        name=last_reported["issuer"],
        evidence=last_reported["evidence"],
    )


# ---- the holders of a security


class HolderQuarter(TypedDict):
    """A fund's position in a security at the end of a quarter; null if its report is incomplete."""

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
    history: NotRequired[Annotated[list[HolderQuarter], "The last quarters, newest first, if `quarters` is above 1."]]


def list_holders(
    tx: Transaction,
    selection: SecuritySelection,
    period: str,
    quarter_count: int = 1,
    *,
    status: str,
    limit: int,
    offset: int,
) -> tuple[list[Holder], int]:
    """Return a page of the funds that hold a security, the largest first, and the number of all that match.

    ``status`` "all" selects all funds that hold it, "closed" those that closed the position in the quarter. With a
    ``quarter_count`` above 1, each holder has a history of that many quarters. Quarters for which finapi has no report
    of the fund are left out.
    """
    query_values = {"ids": selection.ids, "period": period, "status": fund_positions.find_change_status(status)}
    rows = tx.list_rows("holders", query_values, limit=limit, offset=offset)
    histories = _load_histories(tx, selection, rows, period, quarter_count) if quarter_count > 1 else {}
    doubts = value_doubts.get_doubts_of_securities(tx, selection.ids, period)
    holders = []
    for row in rows:
        key = (int(row["cik"]), row["security_id"])
        holder = build_record(
            Holder,
            row,
            **value_doubts.build_doubt_members(doubts.get(key)),
            pct_of_portfolio=compute_percent(row["value"], row["portfolio_value"]),
            chg_pct=compute_percent(row["chg_shares"], row["previous_shares"]),
            status=fund_positions.find_change_name(row["status"]),
        )
        if histories:
            holder["history"] = histories[key]
        holders.append(holder)
    return holders, tx.find_value("holder_count", query_values)


def _load_histories(
    tx: Transaction, selection: SecuritySelection, holder_rows: Sequence[Row], period: str, quarter_count: int
) -> dict[tuple[int, int], list[HolderQuarter]]:
    """Return the last ``quarter_count`` quarters of some holders, by the CIK and the id of the security."""
    first_period = period
    for _ in range(quarter_count - 1):
        first_period = quarters.get_previous_end(first_period)
    pairs = json.dumps([(int(row["cik"]), row["security_id"]) for row in holder_rows])
    rows = tx.list_rows("holder_histories", pairs=pairs, first=first_period, last=period)
    doubts_by_period = {
        row_period: value_doubts.get_doubts_of_securities(tx, selection.ids, row_period)
        for row_period in {row["period"] for row in rows}
    }
    histories: dict[tuple[int, int], list[HolderQuarter]] = {}
    for row in rows:
        key = (row["cik"], row["security_id"])
        doubt = doubts_by_period[row["period"]].get(key)
        quarter = build_record(HolderQuarter, row, **value_doubts.build_doubt_members(doubt))
        histories.setdefault(key, []).append(quarter)
    return histories


# ---- the trend and the totals of a security


class TrendQuarter(TypedDict):
    """A security's sums over all funds in one quarter of its trend."""

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


def list_trend_quarters(tx: Transaction, selection: SecuritySelection, limit: int, offset: int) -> list[TrendQuarter]:
    """Return the quarters of a security over all funds, the newest first."""
    return [
        build_record(
            TrendQuarter,
            row,
            **sum_doubts_of_securities(tx, selection, row["date"]),
            share_change_pct=compute_percent(row["share_change"], row["previous_shares"]),
        )
        for row in tx.list_rows("trend_quarters", ids=selection.ids, limit=limit, offset=offset)
    ]


def list_quarter_counts(tx: Transaction, selection: SecuritySelection) -> list[AvailableRows]:
    """Return the quarters in which funds held a security, the newest first, with the number of funds."""
    rows = tx.list_rows("trend_quarters", ids=selection.ids, limit=MAX_AVAILABLE, offset=0)
    return [
        {"param": "period", "value": row["date"], "row_count": row["fund_count"], "first_day": None, "last_day": None}
        for row in rows
        if row["fund_count"]
    ]


class DoubtTotals(TypedDict):
    """The doubtful part of sums over all funds."""

    doubted_count: int
    doubted_value: int


def sum_doubts_of_securities(tx: Transaction, selection: SecuritySelection, period: str) -> DoubtTotals:
    """Return the number and the dollars of the doubtful positions in a security at the end of a quarter."""
    doubts = value_doubts.get_doubts_of_securities(tx, selection.ids, period)
    doubt_sum = value_doubts.sum_doubts(doubts.values())
    return {"doubted_count": doubt_sum.count, "doubted_value": doubt_sum.value}


def get_quarter_and_totals(tx: Transaction, selection: SecuritySelection, period: str | None) -> tuple[str, Row]:
    """Return a quarter and the sums of a security over all funds.

    By default it is the last quarter in which a fund held the security. Raise NOT_COVERED if no fund held it.
    """
    quarter: str | None = period or tx.find_value("latest_quarter_of_securities", ids=selection.ids)
    if quarter is not None:
        totals = tx.find_row("security_totals", ids=selection.ids, period=quarter)
        if totals is not None:
            return quarter, totals
    stored_quarters = [rows["value"] for rows in list_quarter_counts(tx, selection)]
    when = f" for {period}" if period else ""
    message = f"{selection.name} is in no 13F report{when} in finapi."
    if stored_quarters:
        message += f" The newest with it are for {', '.join(stored_quarters[:MAX_NAMED_QUARTERS])}."
    raise ApiError("NOT_COVERED", message, details={"covered_periods": stored_quarters})
