"""Sectors and industries over all funds: the sums of their securities in a quarter, and the largest movers.

An industry is a major group of SIC codes, and a sector is a division of them. For each quarter the flows, values and
counts of all securities are added up by major group. The sums are stored as JSON and recomputed by the ingest that
changed the quarter. Until the stored sums are recomputed, they are computed for each call.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, OneOf, build_record
from finapi.market.holdings import value_doubts
from finapi.market.holdings.funds import compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedFlow, DoubtedPosition, DoubtedValue, DoubtSum
from finapi.market.reference import sectors
from finapi.store.db import Database, Row, Transaction
from finapi.store.portions import read_in_portions, write_in_portions

# A flow of at least this percentage of the value is strong.
STRONG_FLOW_PCT = 5
# The directions of a flow, the strongest outflow first.
MOMENTUM_LABELS = ("strong_outflow", "outflow", "neutral", "inflow", "strong_inflow")
Momentum = Annotated[str, OneOf(MOMENTUM_LABELS)]
# Sums over fewer funds say little about the market.
MIN_CONFIDENT_FUNDS = 3
# Maximum number of securities listed for an industry, in each direction.
MOVERS_PER_GROUP = 5
# The numbers of the SIC major groups: the first two digits of a SIC code.
MAJOR_GROUPS = range(100)
NO_DOUBTS = DoubtSum()


class FlowMover(TypedDict):
    """A security with one of the largest flows of its industry."""

    cusip: str
    ticker: str | None
    name: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    doubted_count: DoubtedCount


class MoverKey(NamedTuple):
    """An industry and a direction of flows: 1 for inflows, -1 for outflows."""

    sector: str
    industry: str
    direction: int


Movers = Mapping[MoverKey, list[FlowMover]]

# The counts that are null in responses if no fund's changes are known.
_CHANGE_COUNTS = ("new_buys_count", "closed_count", "increased_count", "decreased_count")
# The columns to add up over major groups.
_SUMMED_COLUMNS = (
    "flow",
    "compared",
    "total_value",
    "etf_value",
    "cusip_count",
    "total_positions",
    *_CHANGE_COUNTS,
)


@dataclass(slots=True)
class GroupSum:
    """The sums of the securities of a sector or an industry in a quarter."""

    sector: str
    industry: str  # Empty for the sums of a sector.
    sums: Counter[str] = field(default_factory=Counter)
    doubted: DoubtSum = field(default_factory=DoubtSum)

    @property
    def flow(self) -> int | None:
        """Return the flow in dollars, or None if no fund's changes are known."""
        return self.sums["flow"] if self.sums["compared"] else None

    @property
    def momentum(self) -> str | None:
        """Return one of ``MOMENTUM_LABELS``, by the flow in per cent of the value, or None if it is unknown."""
        flow_pct = compute_percent(self.flow, self.sums["total_value"])
        if flow_pct is None:
            return None
        if not flow_pct:
            return "neutral"
        direction = "inflow" if flow_pct > 0 else "outflow"
        return f"strong_{direction}" if abs(flow_pct) >= STRONG_FLOW_PCT else direction

    def build_members(self) -> dict[str, Any]:
        """Return the sums as response fields. Some sums have several field names, for compatibility with older APIs."""
        has_changes = self.sums["compared"] > 0
        fund_count = self.sums["fund_count"]
        has_low_confidence = fund_count < MIN_CONFIDENT_FUNDS or not has_changes
        members: dict[str, Any] = dict(self.sums)
        if not has_changes:
            members.update(dict.fromkeys(_CHANGE_COUNTS))
        members.update(self.doubted.build_members())
        members.update(
            sector=self.sector,
            name=self.sector,
            industry=self.industry,
            fund_flow=self.flow,
            fund_count=fund_count,
            unique_fund_count=fund_count,
            flow_significance_pct=compute_percent(self.flow, self.sums["total_value"]),
            momentum=self.momentum,
            momentum_label=self.momentum,
            confidence="low" if has_low_confidence else "high",
            low_confidence=has_low_confidence,
        )
        return members


@dataclass(frozen=True, slots=True)
class QuarterSums:
    """The sums of a quarter by sector and industry."""

    period: str
    groups: Mapping[tuple[str, str], GroupSum]  # By sector and industry; the industry of a sector's sums is empty.
    total_value: int  # Dollars of all securities, including those without a sector.
    mover_rows: list[dict[str, int]]  # The securities with the largest flows, without their names.
    doubted: list[DoubtedPosition]

    @property
    def sectors(self) -> list[GroupSum]:
        """Return the sums of sectors."""
        return [group for group in self.groups.values() if not group.industry]

    @property
    def industries(self) -> list[GroupSum]:
        """Return the sums of industries."""
        return [group for group in self.groups.values() if group.industry]

    @property
    def coverage_pct(self) -> Decimal | None:
        """Return the percentage of the value that belongs to a known sector."""
        return compute_percent(sum(group.sums["total_value"] for group in self.sectors), self.total_value)


# ---- the stored sums


class _StoredSums(TypedDict):
    groups: list[dict[str, Any]]
    funds: dict[str, int]  # The number of funds by label, which is [sector, industry] as JSON.
    moved: list[dict[str, int]]


def recompute_all(db: Database) -> None:
    """Recompute the sums of quarters that changed, each in its own write transaction."""
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction) -> bool:
    """Recompute the sums of one quarter that changed. Return False if there was none."""
    period = tx.find_value("unsummed_quarter")
    if period is None:
        return False
    tx.run("update_group_sums", period=period, sums=json.dumps(_compute_sums(tx, period)))
    return True


def list_errors(db: Database) -> list[str]:
    """Return a message for each quarter whose stored sums differ from those of its positions."""
    errors = []

    def check_portion(tx: Transaction, after: str) -> str | None:
        row = tx.find_row("next_summed_quarter", period=after)
        if row is None:
            return None
        period = str(row["period"])
        if json.loads(row["sums"]) != _compute_sums(tx, period):
            errors.append(f"sums by sector and industry of {period}: are not those of its positions")
        return period

    read_in_portions(db, check_portion, "")
    return errors


def _compute_sums(tx: Transaction, period: str) -> _StoredSums:
    fund_counts = {}
    for is_by_industry in (True, False):
        labels = {}
        for group in MAJOR_GROUPS:
            sector, industry = sectors.get_names_of_group(group)
            if sector:
                labels[group] = json.dumps([sector, industry if is_by_industry else ""])
        for row in tx.list_rows("fund_counts_by_label", period=period, labels=json.dumps(labels)):
            fund_counts[row["label"]] = row["funds"]
    return {
        "groups": [dict(row) for row in tx.list_rows("security_sums_by_group", period=period)],
        "funds": fund_counts,
        "moved": [dict(row) for row in tx.list_rows("movers_of_quarter", period=period, limit=MOVERS_PER_GROUP)],
    }


# ---- the sums of a quarter


def load_quarter_sums(tx: Transaction, period: str) -> QuarterSums:
    """Return the sums of a quarter: the stored ones, or computed ones if they are out of date."""
    stored_json = tx.find_value("group_sums", period=period)
    stored: _StoredSums = _compute_sums(tx, period) if stored_json is None else json.loads(stored_json)
    groups: dict[tuple[str, str], GroupSum] = {}
    for row in stored["groups"]:
        for key in _list_group_keys(row["sic_group"]):
            sector, industry = key
            group = groups.setdefault(key, GroupSum(sector, industry))
            group.sums.update({column: row[column] for column in _SUMMED_COLUMNS})
    for label, fund_count in stored["funds"].items():
        sector, industry = json.loads(label)
        groups[sector, industry].sums["fund_count"] = fund_count
    doubted = value_doubts.list_doubts_of_quarter(tx, period)
    for position in doubted:
        for key in _list_group_keys(position.sic_group):
            groups[key].doubted.add(position)
    return QuarterSums(
        period=period,
        groups=groups,
        total_value=sum(row["total_value"] for row in stored["groups"]),
        mover_rows=stored["moved"],
        doubted=doubted,
    )


def _list_group_keys(sic_group: int | None) -> list[tuple[str, str]]:
    """Return the keys of the industry and the sector of a major group, or an empty list if it has none."""
    sector, industry = sectors.get_names_of_group(sic_group)
    return [(sector, industry), (sector, "")] if sector and industry else []


def list_movers(tx: Transaction, quarter: QuarterSums) -> Movers:
    """Return the securities of each industry with the largest flows, by industry and direction."""
    security_ids = json.dumps([row["security_id"] for row in quarter.mover_rows])
    names = {row["id"]: row for row in tx.list_rows("names_of_securities", ids=security_ids)}
    doubts = value_doubts.sum_doubts_by(quarter.doubted, lambda position: position.security_id)
    movers: dict[MoverKey, list[FlowMover]] = {}
    for row in quarter.mover_rows:
        sector, industry = sectors.get_names_of_group(row["sic_group"])
        if sector and industry:
            key = MoverKey(sector, industry, 1 if row["fund_flow"] > 0 else -1)
            movers.setdefault(key, []).append(_build_mover(row, names[row["security_id"]], doubts))
    return movers


def _build_mover(row: dict[str, int], name: Row, doubts: Mapping[int, DoubtSum]) -> FlowMover:
    return {
        "cusip": name["cusip"],
        "ticker": name["ticker"],
        "name": name["name"],
        "fund_flow": row["fund_flow"],
        "total_value": row["total_value"],
        "fund_count": row["fund_count"],
        "doubted_count": doubts.get(row["security_id"], NO_DOUBTS).count,
    }


def sort_groups(groups: Iterable[GroupSum], sort: str, *, descending: bool = True) -> list[GroupSum]:
    """Return sums sorted by ``fund_flow``, ``total_value`` or ``fund_count``. Unknown flows come last."""
    sign = -1 if descending else 1

    def get_sort_key(group: GroupSum) -> tuple[bool, int, str, str]:
        number = group.flow if sort == "fund_flow" else group.sums[sort]
        return number is None, sign * (number or 0), group.sector, group.industry

    return sorted(groups, key=get_sort_key)


Shift = Literal["strengthened", "weakened", "unchanged"]


class FlowComparison(TypedDict):
    """The differences of a sector's or industry's sums from those of another quarter."""

    prev_quarter: Date
    flow_change: int | None
    prev_momentum_label: Momentum | None
    momentum_shift: Shift | None
    fund_count_change: int
    value_change_pct: Decimal | None


def _compare(group: GroupSum, earlier: QuarterSums | None) -> FlowComparison | None:
    """Return the differences of a group's sums from those of the earlier quarter, or None if there is none."""
    if earlier is None:
        return None
    earlier_group = earlier.groups.get((group.sector, group.industry)) or GroupSum(group.sector, group.industry)
    flow_change = None
    if group.flow is not None and earlier_group.flow is not None:
        flow_change = group.flow - earlier_group.flow
    value = group.sums["total_value"]
    earlier_value = earlier_group.sums["total_value"]
    return {
        "prev_quarter": earlier.period,
        "flow_change": flow_change,
        "prev_momentum_label": earlier_group.momentum,
        "momentum_shift": _find_shift(earlier_group.momentum, group.momentum),
        "fund_count_change": group.sums["fund_count"] - earlier_group.sums["fund_count"],
        "value_change_pct": compute_percent(value - earlier_value, earlier_value),
    }


def _find_shift(earlier_label: str | None, label: str | None) -> Shift | None:
    """Return the direction in which the momentum moved, or None if one of the two is unknown."""
    if earlier_label is None or label is None:
        return None
    steps = MOMENTUM_LABELS.index(label) - MOMENTUM_LABELS.index(earlier_label)
    if steps == 0:
        return "unchanged"
    return "strengthened" if steps > 0 else "weakened"


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
    """The industries of a sector with inflows, and those with outflows."""

    inflows: list[IndustryFlow]
    outflows: list[IndustryFlow]


class SectorFlow(TypedDict):
    """A sector's sums over all funds in a quarter."""

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
    sector: GroupSum, industries: Iterable[GroupSum], movers: Movers, earlier: QuarterSums | None, limit: int
) -> SectorFlow:
    """Return a sector with up to ``limit`` of its industries in each direction, the greatest flows first."""

    def list_flows(direction: int) -> list[IndustryFlow]:
        groups = [group for group in industries if group.sector == sector.sector and direction * (group.flow or 0) > 0]
        flows = []
        for group in sort_groups(groups, "fund_flow", descending=direction > 0)[:limit]:
            top_movers = movers.get(MoverKey(group.sector, group.industry, direction), [])
            flows.append(build_record(IndustryFlow, group.build_members(), top_movers=top_movers))
        return flows

    both_directions: IndustryFlows = {"inflows": list_flows(1), "outflows": list_flows(-1)}
    return build_record(
        SectorFlow, sector.build_members(), compare=_compare(sector, earlier), industries=both_directions
    )


class SectorTotals(TypedDict):
    """The sums of an industry's sector."""

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
    """An industry's sums over all funds in a quarter."""

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
    industry: GroupSum, sector: GroupSum, movers: Movers, earlier: QuarterSums | None
) -> IndustryTotals:
    """Return the totals of an industry in a quarter, with those of its sector.

    ``top_movers`` are the securities that were bought most if dollars flowed in on balance, or sold most if they flowed
    out. The totals are compared with the quarter ``earlier``, if there is one.
    """
    direction = 1 if industry.sums["flow"] >= 0 else -1
    return build_record(
        IndustryTotals,
        industry.build_members(),
        sector=build_record(SectorTotals, sector.build_members()),
        top_movers=movers.get(MoverKey(industry.sector, industry.industry, direction), []),
        compare=_compare(industry, earlier),
    )
