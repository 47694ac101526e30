"""All funds together: who holds a security, where money moved in a quarter, and what some funds hold together.

Changes count only funds whose quarter and the one before are both complete; with none of them a change is null.
A flow is the change in shares at the price that each fund's own value implies.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, OneOf, made
from finapi.edgar import cusip, tickers
from finapi.market.holdings import positions, quarters
from finapi.market.holdings.funds import percent, price
from finapi.market.holdings.positions import Change, SplitSource
from finapi.market.reference import companies, issuers, sectors, share_splits
from finapi.market.reference.share_splits import LikelySplit, Worth
from finapi.store.db import Row, Transaction

SORTS = ("fund_flow", "total_value", "fund_count", "fund_change", "share_change", "ticker", "name")

# Members of a security's row that 13F reports do not have: always null, with the reason in the answer's meta.
NOT_IN_13F = ("close_price", "market_cap", "shares_outstanding", "first_traded", "fund_flow_mcap_pct")

# A flow of this many per cent of what is held, or more, is a strong one.
STRONG = 5
# The directions of a flow, the strongest outflow first.
MOMENTA = ("strong_outflow", "outflow", "neutral", "inflow", "strong_inflow")
Momentum = Annotated[str, OneOf(MOMENTA)]
# Fewer funds than these say little about a market.
FEW_FUNDS = 3
# Securities shown of an industry.
MOVERS = 5


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


def by_security(tx: Transaction, period: str, wanted: Mapping[str, Any]) -> tuple[list[SecurityFlow], int]:
    """A page of the securities of a quarter, and how many there are in all.

    ``wanted`` holds filters, bounds, sort and page by the names of the endpoint's parameters.
    """
    words = issuers.words(wanted["search"] or "")
    if wanted["search"] is not None and not words:
        return [], 0
    values = {
        **wanted,
        "period": period,
        "words": json.dumps(words) if words else None,
        "ticker": tickers.spelled(wanted["search"] or ""),
        "groups": _groups(wanted["sector"], wanted["industry"]),
        "direction": -1 if wanted["sort_order"] == "desc" else 1,
    }
    rows, total = tx.page("securities_of_quarter", values)
    return [_security(row) for row in rows], total


def _groups(sector: str | None, industry: str | None) -> str | None:
    """The major groups of SIC codes that are wanted, as JSON; None for any."""
    if sector is None and industry is None:
        return None
    wanted = None if sector is None else sectors.named(sector)
    number = None if industry is None else sectors.group(industry)
    found = [
        group
        for group in range(100)
        if (name := sectors.of_group(group)[0]) and wanted in (None, name) and number in (None, group)
    ]
    return json.dumps(found)


def _security(row: Row) -> SecurityFlow:
    sector, industry = sectors.of_group(row["sic_group"])
    return made(
        SecurityFlow,
        row,
        sector=sector,
        industry=industry,
        implied_price=price(row["total_value"], row["total_shares"]),
        fund_change_pct=percent(row["fund_change"], row["fund_count_prev"]),
        share_change_pct=percent(row["share_change"], row["previous_shares"]),
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


def ranges(tx: Transaction, period: str) -> tuple[FilterRanges, Volume]:
    """What the filters of a quarter range over, and what funds bought and sold."""
    (row,) = tx.all("ranges_of_quarter", period=period)
    names = FilterRanges.__annotations__
    found: Any = {name: {"min": row[f"min_{name}"], "max": row[f"max_{name}"]} for name in names}
    return found, made(Volume, row)


# ---- one security


@dataclass(frozen=True, slots=True)
class NamedSecurities:
    """The securities that a ticker or a CUSIP names; ``ids`` is JSON, the rest is of the one last reported."""

    ids: str
    cusips: list[str]
    ticker: str | None
    name: str
    evidence: str | None


def of_ticker(tx: Transaction, ticker: str) -> NamedSecurities:
    """The securities of a ticker; the error of :func:`no_cusip` when there are none."""
    rows = tx.all("securities_of_ticker", ticker=ticker)
    if not rows:
        raise no_cusip(tx, ticker)
    return _named(rows)


def no_cusip(tx: Transaction, ticker: str) -> ApiError:
    """NOT_COVERED for the ticker of a company; raises UNKNOWN_TICKER for a ticker of none."""
    company = companies.find(tx, ticker)
    details = {"ticker": ticker, "cik": company.padded_cik}
    return ApiError("NOT_COVERED", f"No CUSIP of {company.name} is known.", details=details)


def of_query(tx: Transaction, text: str) -> NamedSecurities:
    """The securities of a ticker or a CUSIP; a 404 for each reason that there are none."""
    try:
        row = tx.one("security", cusip=cusip.checked(text))
    except ValueError:
        pass
    else:
        if row is None:
            raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists this CUSIP.")
        return _named([row])
    try:
        return of_ticker(tx, tickers.fold(text))
    except ValueError:
        raise invalid_param("q", "q must be a ticker or a CUSIP.", expected="AAPL") from None


def _named(rows: Sequence[Row]) -> NamedSecurities:
    first = rows[0]
    ids, cusips = [row["id"] for row in rows], [row["cusip"] for row in rows]
    return NamedSecurities(json.dumps(ids), cusips, first["ticker"], first["issuer"], first["evidence"])


class HolderQuarter(TypedDict):
    """What a fund held of a security at the end of a quarter; null where its report is not whole."""

    period: Date
    shares: int | None
    value: int | None


class Holder(TypedDict):
    """A fund that holds a security."""

    cik: str
    name: str
    cusip: str
    shares: int
    value: int
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


def holders(
    tx: Transaction, wanted: NamedSecurities, period: str, back: int = 1, *, status: str, limit: int, offset: int
) -> tuple[list[Holder], int]:
    """A page of the funds that hold a security, the largest first, and how many there are.

    ``status`` "all" is everyone that holds it, "closed" who no longer does; more than one quarter ``back`` adds a
    history of so many, without those for which finapi has no report of the fund.
    """
    values = {"ids": wanted.ids, "period": period, "status": positions.code(status)}
    found = tx.all("holders", values, limit=limit, offset=offset)
    histories: dict[tuple[int, int], list[HolderQuarter]] = {}
    if back > 1:
        first = period
        for _ in range(back - 1):
            first = quarters.before(first)
        pairs = json.dumps([(int(row["cik"]), row["security_id"]) for row in found])
        for row in tx.all("holder_histories", pairs=pairs, first=first, last=period):
            histories.setdefault((row["cik"], row["security_id"]), []).append(made(HolderQuarter, row))
    rows = [
        made(
            Holder,
            row,
            **({"history": histories[int(row["cik"]), row["security_id"]]} if histories else {}),
            pct_of_portfolio=percent(row["value"], row["whole"]),
            chg_pct=percent(row["chg_shares"], row["previous_shares"]),
            status=positions.change_name(row["status"]),
        )
        for row in found
    ]
    return rows, tx.value("count_holders", values)


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


def trends(tx: Transaction, wanted: NamedSecurities, limit: int, offset: int) -> list[TrendQuarter]:
    """A security quarter by quarter over all funds, the newest first."""
    return [
        made(TrendQuarter, row, share_change_pct=percent(row["share_change"], row["previous_shares"]))
        for row in tx.all("trend_of_securities", ids=wanted.ids, limit=limit, offset=offset)
    ]


def totals(tx: Transaction, wanted: NamedSecurities, period: str | None) -> tuple[str, Row]:
    """A quarter, by default the last one in which a fund held one of the securities, and its sums over all funds.

    NOT_COVERED when no fund held any.
    """
    ids = wanted.ids
    found: str | None = period or tx.value("latest_quarter_of_securities", ids=ids)
    row = found and tx.one("security_totals", ids=ids, period=found)
    if not found or not row:
        when = f" for {period}" if period else ""
        raise ApiError("NOT_COVERED", f"{wanted.name} is in no 13F report{when} in finapi.")
    return found, row


# ---- sectors and industries


class FlowMover(TypedDict):
    """A security into or out of which much money moved."""

    cusip: str
    ticker: str | None
    name: str
    fund_flow: int | None
    total_value: int
    fund_count: int


# By sector, industry and direction: 1 in, -1 out.
Movers = Mapping[tuple[str, str, int], list[FlowMover]]

# What rows of major groups add up to, and the counts among it that are null when no change is known.
_COUNTS = ("new_buys_count", "closed_count", "increased_count", "decreased_count")
_SUMMED = ("flow", "compared", "total_value", "etf_value", "cusip_count", "total_positions", *_COUNTS)


@dataclass(slots=True)
class GroupSum:
    """What the securities of one sector or industry sum to in a quarter; ``industry`` is "" for a sector."""

    sector: str
    industry: str
    sums: Counter[str] = field(default_factory=Counter)

    @property
    def flow(self) -> int | None:
        """The flow, None when no fund's change is known."""
        return self.sums["flow"] if self.sums["compared"] else None

    @property
    def momentum(self) -> str | None:
        """One of the ``MOMENTA``, by the flow in per cent of what is held; None when it is not known."""
        part = percent(self.flow, self.sums["total_value"])
        if not part:
            return None if part is None else "neutral"
        word = "inflow" if part > 0 else "outflow"
        return f"strong_{word}" if abs(part) >= STRONG else word

    def members(self) -> dict[str, Any]:
        """The sums by every name that answers have for them."""
        momentum, known, funds = self.momentum, self.sums["compared"] > 0, self.sums["fund_count"]
        low = funds < FEW_FUNDS or not known
        return {
            **self.sums,
            **({} if known else dict.fromkeys(_COUNTS)),
            "sector": self.sector,
            "name": self.sector,
            "industry": self.industry,
            "fund_flow": self.flow,
            "fund_count": funds,
            "unique_fund_count": funds,
            "flow_significance_pct": percent(self.flow, self.sums["total_value"]),
            "momentum": momentum,
            "momentum_label": momentum,
            "confidence": "low" if low else "high",
            "low_confidence": low,
        }


@dataclass(frozen=True, slots=True)
class QuarterSums:
    """A quarter by sector and industry; ``whole`` is the value of everything, with a company known or not."""

    period: str
    groups: Mapping[tuple[str, str], GroupSum]
    whole: int

    @property
    def sectors(self) -> list[GroupSum]:
        """The sums of sectors."""
        return [one for one in self.groups.values() if not one.industry]

    @property
    def industries(self) -> list[GroupSum]:
        """The sums of industries."""
        return [one for one in self.groups.values() if one.industry]

    @property
    def coverage(self) -> Decimal | None:
        """The part of the value that has a sector, in per cent."""
        return percent(sum(one.sums["total_value"] for one in self.sectors), self.whole)


def sums(tx: Transaction, period: str) -> QuarterSums:
    """What the securities of a quarter sum to."""
    found: dict[tuple[str, str], GroupSum] = {}
    whole = 0
    for row in tx.all("fund_sums_by_group", period=period):
        whole += row["total_value"]
        sector, industry = sectors.of_group(row["sic_group"])
        if sector and industry:
            for at in ((sector, industry), (sector, "")):
                found.setdefault(at, GroupSum(*at)).sums.update({name: row[name] for name in _SUMMED})
    groups = [(group, *one) for group in range(100) if (one := sectors.of_group(group))[0]]
    for by_industry in (True, False):
        labels = {group: json.dumps([sector, industry if by_industry else ""]) for group, sector, industry in groups}
        for row in tx.all("funds_by_label", period=period, labels=json.dumps(labels)):
            sector, industry = json.loads(row["label"])
            found[sector, industry].sums["fund_count"] = row["funds"]
    return QuarterSums(period, found, whole)


def movers(tx: Transaction, period: str) -> Movers:
    """The securities of each industry into and out of which most money moved."""
    found: dict[tuple[str, str, int], list[FlowMover]] = {}
    for row in tx.all("movers_of_quarter", period=period, limit=MOVERS):
        sector, industry = sectors.of_group(row["sic_group"])
        if sector and industry:
            at = sector, industry, 1 if row["fund_flow"] > 0 else -1
            found.setdefault(at, []).append(made(FlowMover, row))
    return found


def ordered(found: Iterable[GroupSum], sort: str, *, descending: bool = True) -> list[GroupSum]:
    """Sums by ``fund_flow``, ``total_value`` or ``fund_count``; what is not known comes last."""
    sign = -1 if descending else 1

    def place(one: GroupSum) -> tuple[bool, int, str, str]:
        number = one.flow if sort == "fund_flow" else one.sums[sort]
        return number is None, sign * (number or 0), one.sector, one.industry

    return sorted(found, key=place)


class FlowComparison(TypedDict):
    """How a sector's or an industry's quarter differs from another quarter."""

    prev_quarter: Date
    flow_change: int | None
    prev_momentum_label: Momentum | None
    momentum_shift: Literal["strengthened", "weakened", "unchanged"] | None
    fund_count_change: int
    value_change_pct: Decimal | None


def _compared(one: GroupSum, earlier: QuarterSums | None) -> FlowComparison | None:
    if earlier is None:
        return None
    before = earlier.groups.get((one.sector, one.industry)) or GroupSum(one.sector, one.industry)
    label, now, value = before.momentum, one.momentum, before.sums["total_value"]
    shift: Literal["strengthened", "weakened", "unchanged"] | None = None
    if label is not None and now is not None:
        step = MOMENTA.index(now) - MOMENTA.index(label)
        shift = "unchanged" if step == 0 else "strengthened" if step > 0 else "weakened"
    return {
        "prev_quarter": earlier.period,
        "flow_change": None if one.flow is None or before.flow is None else one.flow - before.flow,
        "prev_momentum_label": label,
        "momentum_shift": shift,
        "fund_count_change": one.sums["fund_count"] - before.sums["fund_count"],
        "value_change_pct": percent(one.sums["total_value"] - value, value),
    }


class IndustryFlow(TypedDict):
    """An industry in its sector."""

    industry: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    top_movers: list[FlowMover]


class IndustryFlows(TypedDict):
    """The industries of a sector with money flowing in, and those with money flowing out."""

    inflows: list[IndustryFlow]
    outflows: list[IndustryFlow]


class SectorFlow(TypedDict):
    """A sector's quarter over all funds."""

    sector: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    etf_value: int
    flow_significance_pct: Decimal | None
    momentum: Momentum | None
    confidence: Literal["high", "low"]
    compare: FlowComparison | None
    industries: IndustryFlows


def sector_flow(
    one: GroupSum, industries: Iterable[GroupSum], movers: Movers, earlier: QuarterSums | None, limit: int
) -> SectorFlow:
    """A sector with up to ``limit`` of its industries each way, those with the greatest flow first."""

    def flows(sign: int) -> list[IndustryFlow]:
        found = [part for part in industries if part.sector == one.sector and sign * (part.flow or 0) > 0]
        return [
            made(IndustryFlow, part.members(), top_movers=movers.get((part.sector, part.industry, sign), []))
            for part in ordered(found, "fund_flow", descending=sign > 0)[:limit]
        ]

    both: IndustryFlows = {"inflows": flows(1), "outflows": flows(-1)}
    return made(SectorFlow, one.members(), compare=_compared(one, earlier), industries=both)


class SectorTotals(TypedDict):
    """The sector of an industry."""

    name: str
    fund_flow: int | None
    total_value: int
    unique_fund_count: int
    flow_significance_pct: Decimal | None
    momentum_label: Momentum | None
    low_confidence: bool


class IndustryTotals(TypedDict):
    """An industry's quarter over all funds."""

    industry: str
    sector: SectorTotals
    fund_flow: int | None
    total_value: int
    unique_fund_count: int
    flow_significance_pct: Decimal | None
    momentum_label: Momentum | None
    low_confidence: bool
    cusip_count: int
    total_positions: int
    etf_value: int
    new_buys_count: int | None
    closed_count: int | None
    increased_count: int | None
    decreased_count: int | None
    top_movers: list[FlowMover]
    compare: FlowComparison | None


def industry_totals(one: GroupSum, sector: GroupSum, movers: Movers, earlier: QuarterSums | None) -> IndustryTotals:
    """An industry with its sector's sums, and the securities that moved most in its own direction."""
    moved = movers.get((one.sector, one.industry, 1 if one.sums["flow"] >= 0 else -1), [])
    parent = made(SectorTotals, sector.members())
    return made(IndustryTotals, one.members(), sector=parent, top_movers=moved, compare=_compared(one, earlier))


# ---- several funds taken together; changes count only funds whose tables of both quarters are complete

BASKET_SORTS = {"value": "value_usd", "funds": "funds_holding", "shares": "shares", "change": "share_change"}

# Positions of an answer; the largest holders have some 10,000 together.
MAX_POSITIONS = 20_000
# Funds named with a position; ``funds_holding`` counts them all.
MAX_NAMED = 50


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


@dataclass(frozen=True, slots=True)
class Basket:
    """Funds that have reported the quarter and those that have not; what the former hold together, the most valuable
    first, as the sums of each security. ``comparable``: some funds' tables of both quarters are complete.
    """

    filed: list[BasketFund]
    pending: list[BasketFund]
    comparable: bool
    sums: list[dict[str, Any]]

    @property
    def value(self) -> int:
        """What all positions are worth."""
        return sum(row["value_usd"] for row in self.sums)

    @property
    def held(self) -> int:
        """How many securities are held, not only were."""
        return sum(row["funds_holding"] > 0 for row in self.sums)

    def page(self, sort: str, first: int, size: int, *, descending: bool) -> list[BasketPosition]:
        """``size`` positions from the ``first`` on by one of :data:`BASKET_SORTS`."""
        member, sums = BASKET_SORTS[sort], self.sums
        # A change that is not known is that of all of them.
        if self.comparable or member != "share_change":
            sums = sorted(sums, key=lambda row: row[member], reverse=descending)
        value, funds = self.value, {int(fund["cik"]): fund for fund in self.filed}
        return [_basket_position(row, value, funds, comparable=self.comparable) for row in sums[first : first + size]]


def basket(tx: Transaction, ciks: Sequence[int], period: str, compared_with: str) -> Basket:
    """The positions in shares of several funds added up."""
    names: dict[int, str] = {row["cik"]: row["name"] for row in tx.all("funds_named", ciks=json.dumps(ciks))}

    def complete(when: str) -> dict[int, bool]:
        return {row["cik"]: row["complete"] for row in tx.all("quarters_of_funds", ciks=json.dumps(ciks), period=when)}

    filed, earlier = complete(period), complete(compared_with)
    common = [cik for cik in filed if filed[cik] and earlier.get(cik)]
    funds: dict[int, BasketFund] = {cik: {"cik": f"{cik:010}", "company_name": names.get(cik)} for cik in ciks}
    quarters = {"period": period, "earlier": compared_with}
    rows = tx.all("sums_of_basket", quarters, filed=json.dumps(list(filed)), common=json.dumps(common))
    since, until = sorted((compared_with, period))
    splits = share_splits.of_quarter(tx, since, until)
    sums = [_since_split(row, splits.get(row["security_id"], ()), back=period < compared_with) for row in rows]
    pending = [fund for cik, fund in funds.items() if cik not in filed]
    return Basket([fund for cik, fund in funds.items() if cik in filed], pending, bool(common), sums)


def _since_split(row: Row, likely: Sequence[LikelySplit], *, back: bool) -> dict[str, Any]:
    """The sums of a security, with how its shares changed apart from the splits between the quarters."""
    now, held = Worth(row["common_value"], row["common_shares"]), Worth(row["previous"], row["previous_shares"])
    first, last = (now, held) if back else (held, now)
    found = [one.factor for one in likely if one.lies_between(first, last)]
    factor = math.prod(found, start=Decimal(1))
    factor = 1 / factor if back else factor
    change = now.shares - int((held.shares * factor).to_integral_value())
    # The fraction that a split leaves each fund is paid out.
    change = 0 if found and row["is_common"] and row["was_common"] and abs(change) <= row["funds_holding"] else change
    return {**dict(row), "share_change": change, "split_factor": factor.normalize() if found else None}


def _basket_position(
    row: Mapping[str, Any], value: int, funds: Mapping[int, BasketFund], *, comparable: bool
) -> BasketPosition:
    holders, change, previous = sorted(json.loads(row["ciks"])), row["share_change"], row["previous"]
    return made(
        BasketPosition,
        row,
        funds=[funds[cik] for cik in holders[:MAX_NAMED]],
        pct_of_basket=percent(row["value_usd"], value),
        change_type=_change(bool(row["is_common"]), bool(row["was_common"]), change) if comparable else None,
        prev_value_usd=previous if comparable else None,
        value_change_pct=percent(row["common_value"] - previous, previous) if comparable else None,
        share_change=change if comparable else None,
        split_factor=row["split_factor"] if comparable else None,
    )


def _change(held: bool, was_held: bool, change: int) -> str | None:
    """What became of a position; None when no fund that can be compared has to do with it."""
    if held != was_held:
        return "new" if held else "closed"
    if not held:
        return None
    return "increased" if change > 0 else "decreased" if change < 0 else "unchanged"
