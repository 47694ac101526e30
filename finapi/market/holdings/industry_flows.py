"""Sectors and industries over all funds: what their securities of a quarter sum to, and which moved most.

The sums of a quarter are kept, as JSON, and made anew with the ingest that changed them; until then a call makes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

from finapi.core.records import Date, OneOf, build_record
from finapi.market.holdings import value_doubts
from finapi.market.holdings.funds import compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedFlow, DoubtedPosition, DoubtedValue, DoubtSum
from finapi.market.reference import sectors
from finapi.store.db import Database, Transaction
from finapi.store.portions import read_in_portions, write_in_portions

# A flow of this many per cent of what is held, or more, is a strong one.
STRONG_FLOW_PCT = 5
# The directions of a flow, the strongest outflow first.
MOMENTUM_LABELS = ("strong_outflow", "outflow", "neutral", "inflow", "strong_inflow")
Momentum = Annotated[str, OneOf(MOMENTUM_LABELS)]
# Fewer funds than these say little about a market.
MIN_CONFIDENT_FUNDS = 3
# Securities shown of an industry.
MOVERS_PER_GROUP = 5
NOT_DOUBTED = DoubtSum()


class FlowMover(TypedDict):
    """A security into or out of which much money moved."""

    cusip: str
    ticker: str | None
    name: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    doubted_count: DoubtedCount


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
    doubted: DoubtSum = field(default_factory=DoubtSum)

    @property
    def flow(self) -> int | None:
        """The flow, None when no fund's change is known."""
        return self.sums["flow"] if self.sums["compared"] else None

    @property
    def momentum(self) -> str | None:
        """One of the ``MOMENTA``, by the flow in per cent of what is held; None when it is not known."""
        part = compute_percent(self.flow, self.sums["total_value"])
        if not part:
            return None if part is None else "neutral"
        word = "inflow" if part > 0 else "outflow"
        return f"strong_{word}" if abs(part) >= STRONG_FLOW_PCT else word

    def build_members(self) -> dict[str, Any]:
        """The sums by every name that answers have for them."""
        momentum, known, funds = self.momentum, self.sums["compared"] > 0, self.sums["fund_count"]
        low = funds < MIN_CONFIDENT_FUNDS or not known
        return {
            **self.sums,
            **({} if known else dict.fromkeys(_COUNTS)),
            **self.doubted.build_members(),
            "sector": self.sector,
            "name": self.sector,
            "industry": self.industry,
            "fund_flow": self.flow,
            "fund_count": funds,
            "unique_fund_count": funds,
            "flow_significance_pct": compute_percent(self.flow, self.sums["total_value"]),
            "momentum": momentum,
            "momentum_label": momentum,
            "confidence": "low" if low else "high",
            "low_confidence": low,
        }


@dataclass(frozen=True, slots=True)
class QuarterSums:
    """A quarter by sector and industry; ``whole`` is the value of everything, with a company known or not.

    ``moved`` are rows of the securities into and out of which most money moved, without their names.
    """

    period: str
    groups: Mapping[tuple[str, str], GroupSum]
    total_value: int
    mover_rows: list[dict[str, int]]
    doubted: list[DoubtedPosition]

    @property
    def sectors(self) -> list[GroupSum]:
        """The sums of sectors."""
        return [one for one in self.groups.values() if not one.industry]

    @property
    def industries(self) -> list[GroupSum]:
        """The sums of industries."""
        return [one for one in self.groups.values() if one.industry]

    @property
    def coverage_pct(self) -> Decimal | None:
        """The part of the value that has a sector, in per cent."""
        return compute_percent(sum(one.sums["total_value"] for one in self.sectors), self.total_value)


# ---- kept


class _KeptSums(TypedDict):
    groups: list[dict[str, Any]]
    funds: dict[str, int]  # by label: sector and industry as JSON
    moved: list[dict[str, int]]


def recompute_all(db: Database) -> None:
    """Sum the quarters that changed, one in each write transaction."""
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction) -> bool:
    """Sum a quarter that changed; whether there was one."""
    period = tx.find_value("unsummed_quarter")
    if period is not None:
        tx.run("update_group_sums", period=period, sums=json.dumps(_made(tx, period)))
    return period is not None


def list_errors(db: Database) -> list[str]:
    """The quarters whose kept sums are not those of their positions."""
    found = []

    def portion(tx: Transaction, place: str) -> str | None:
        row = tx.find_row("next_summed_quarter", period=place)
        if row and json.loads(row["sums"]) != _made(tx, row["period"]):
            found.append(f"sums by sector and industry of {row['period']}: are not those of its positions")
        return str(row["period"]) if row else None

    read_in_portions(db, portion, "")
    return found


def _made(tx: Transaction, period: str) -> _KeptSums:
    groups = [(group, *one) for group in range(100) if (one := sectors.for_group(group))[0]]
    counted = {}
    for by_industry in (True, False):
        labels = {group: json.dumps([sector, industry if by_industry else ""]) for group, sector, industry in groups}
        for row in tx.list_rows("fund_counts_by_label", period=period, labels=json.dumps(labels)):
            counted[row["label"]] = row["funds"]
    return {
        "groups": [dict(row) for row in tx.list_rows("security_sums_by_group", period=period)],
        "funds": counted,
        "moved": [dict(row) for row in tx.list_rows("movers_of_quarter", period=period, limit=MOVERS_PER_GROUP)],
    }


# ---- told


def load_quarter_sums(tx: Transaction, period: str) -> QuarterSums:
    """What the securities of a quarter sum to."""
    kept = tx.find_value("group_sums", period=period)
    told: _KeptSums = json.loads(kept) if kept is not None else _made(tx, period)
    found: dict[tuple[str, str], GroupSum] = {}
    for row in told["groups"]:
        for at in _places(row["sic_group"]):
            found.setdefault(at, GroupSum(*at)).sums.update({name: row[name] for name in _SUMMED})
    for label, count in told["funds"].items():
        sector, industry = json.loads(label)
        found[sector, industry].sums["fund_count"] = count
    doubted = value_doubts.list_doubts_of_quarter(tx, period)
    for one in doubted:
        for at in _places(one.sic_group):
            found[at].doubted.add(one)
    whole = sum(row["total_value"] for row in told["groups"])
    return QuarterSums(period, found, whole, told["moved"], doubted)


def _places(group: int | None) -> list[tuple[str, str]]:
    """The industry and the sector of a major group; none where it has none."""
    sector, industry = sectors.for_group(group)
    return [(sector, industry), (sector, "")] if sector and industry else []


def list_movers(tx: Transaction, quarter: QuarterSums) -> Movers:
    """The securities of each industry into and out of which most money moved."""
    ids = json.dumps([row["security_id"] for row in quarter.mover_rows])
    names = {row["id"]: row for row in tx.list_rows("names_of_securities", ids=ids)}
    doubted = value_doubts.sum_doubts_by(quarter.doubted, lambda one: one.security_id)
    found: dict[tuple[str, str, int], list[FlowMover]] = {}
    for row in quarter.mover_rows:
        sector, industry = sectors.for_group(row["sic_group"])
        if sector and industry:
            at = sector, industry, 1 if row["fund_flow"] > 0 else -1
            number = row["security_id"]
            named = {**row, **dict(names[number]), "doubted_count": doubted.get(number, NOT_DOUBTED).count}
            found.setdefault(at, []).append(build_record(FlowMover, named))
    return found


def sort_groups(found: Iterable[GroupSum], sort: str, *, descending: bool = True) -> list[GroupSum]:
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
        step = MOMENTUM_LABELS.index(now) - MOMENTUM_LABELS.index(label)
        shift = "unchanged" if step == 0 else "strengthened" if step > 0 else "weakened"
    return {
        "prev_quarter": earlier.period,
        "flow_change": None if one.flow is None or before.flow is None else one.flow - before.flow,
        "prev_momentum_label": label,
        "momentum_shift": shift,
        "fund_count_change": one.sums["fund_count"] - before.sums["fund_count"],
        "value_change_pct": compute_percent(one.sums["total_value"] - value, value),
    }


class IndustryFlow(TypedDict):
    """An industry in its sector."""

    industry: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
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
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    compare: FlowComparison | None
    industries: IndustryFlows


def build_sector_flow(
    one: GroupSum, industries: Iterable[GroupSum], movers: Movers, earlier: QuarterSums | None, limit: int
) -> SectorFlow:
    """A sector with up to ``limit`` of its industries each way, those with the greatest flow first."""

    def flows(sign: int) -> list[IndustryFlow]:
        found = [part for part in industries if part.sector == one.sector and sign * (part.flow or 0) > 0]
        return [
            build_record(
                IndustryFlow, part.build_members(), top_movers=movers.get((part.sector, part.industry, sign), [])
            )
            for part in sort_groups(found, "fund_flow", descending=sign > 0)[:limit]
        ]

    both: IndustryFlows = {"inflows": flows(1), "outflows": flows(-1)}
    return build_record(SectorFlow, one.build_members(), compare=_compared(one, earlier), industries=both)


class SectorTotals(TypedDict):
    """The sector of an industry."""

    name: str
    fund_flow: int | None
    total_value: int
    unique_fund_count: int
    flow_significance_pct: Decimal | None
    momentum_label: Momentum | None
    low_confidence: bool
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow


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
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    top_movers: list[FlowMover]
    compare: FlowComparison | None


def build_industry_totals(
    one: GroupSum, sector: GroupSum, movers: Movers, earlier: QuarterSums | None
) -> IndustryTotals:
    """An industry with its sector's sums, and the securities that moved most in its own direction."""
    moved = movers.get((one.sector, one.industry, 1 if one.sums["flow"] >= 0 else -1), [])
    parent = build_record(SectorTotals, sector.build_members())
    return build_record(
        IndustryTotals, one.build_members(), sector=parent, top_movers=moved, compare=_compared(one, earlier)
    )
