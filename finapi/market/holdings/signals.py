"""Where funds' money moves between kinds of industries, and which issuers funds and insiders buy at once.

Which major groups of SIC codes are value or growth, cyclical or defensive is a convention of finapi's own; groups of
which neither is commonly said stand in no bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, build_record
from finapi.market.holdings import value_doubts
from finapi.market.holdings.funds import compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedFlow, DoubtedValue, DoubtSum
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

BUCKETS: dict[str, frozenset[int]] = {
    # Mining, oil, food, tobacco, paper, metals, pipelines, telephones, utilities, banks, insurers, real estate.
    "value": frozenset((10, 12, 13, 14, 20, 21, 26, 29, 33, 46, 48, 49, 60, 61, 62, 63, 64, 65, 67)),
    # Pharmaceuticals, computers, electronics, instruments, software, mail order, health, research.
    "growth": frozenset((28, 35, 36, 38, 59, 73, 78, 79, 80, 87)),
    # Mining, construction, materials, machines, vehicles, transport, shops for what can wait, credit, hotels, leisure.
    "cyclical": frozenset(
        (
            10,
            12,
            13,
            14,
            15,
            16,
            17,
            22,
            23,
            24,
            25,
            26,
            29,
            30,
            32,
            33,
            34,
            35,
            36,
            37,
            40,
            42,
            44,
            45,
            47,
            50,
            52,
            53,
            55,
            56,
            57,
            58,
            60,
            61,
            62,
            65,
            70,
            73,
            75,
            78,
            79,
        )
    ),
    # Food, tobacco, pharmaceuticals, telephones, utilities, groceries, insurers, health, schools.
    "defensive": frozenset((1, 2, 20, 21, 28, 48, 49, 51, 54, 63, 64, 80, 82, 83)),
}

# A ratio this far from one, either way, says where money moves.
MIN_SIGNAL_RATIO = Decimal("1.1")
_PLACES = Decimal("0.0001")

NO_CHANGES, NOTHING_TRADED = "no_changes_known", "nothing_bought_or_sold"


# ---- between kinds of industries


class BucketSector(TypedDict):
    """An industry (a major group of SIC codes) in its bucket."""

    sector: str
    sic_group: str
    fund_flow: int | None
    total_value: int


class IndustryBucket(TypedDict):
    """What funds bought and sold of the industries of one kind, in dollars."""

    total_flow: int | None
    total_value: int
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    bought: int | None
    sold: int | None
    sectors: list[BucketSector]


class Rotation(TypedDict):
    """A quarter's ratios: what funds bought for each dollar sold, of one kind of industries by that of the other."""

    quarter: Date
    value_growth_ratio: Decimal | None
    value_growth_signal: Literal["value", "growth", "neutral"] | None
    cyclical_defensive_ratio: Decimal | None
    cyclical_defensive_signal: Literal["cyclical", "defensive", "neutral"] | None
    reason: Annotated[str | None, f"Why a ratio is null: {NO_CHANGES} or {NOTHING_TRADED}."]


def compute_rotation(tx: Transaction, period: str) -> tuple[Rotation, dict[str, IndustryBucket], Decimal | None]:
    """A quarter's ratios, its buckets, and the part of the value whose issuer's industry is known, in per cent."""
    rows = tx.list_rows("trades_by_group", period=period)
    doubted = [one for one in value_doubts.list_doubts_of_quarter(tx, period) if not one.is_etf]
    buckets = {
        name: _bucket(
            [row for row in rows if row["sic_group"] in groups],
            value_doubts.sum_doubts(one for one in doubted if one.sic_group in groups),
        )
        for name, groups in BUCKETS.items()
    }
    value_growth = _ratio(buckets["value"], buckets["growth"])
    cyclical = _ratio(buckets["cyclical"], buckets["defensive"])
    reason = None
    if value_growth is None or cyclical is None:
        reason = NOTHING_TRADED if any(row["compared"] for row in rows) else NO_CHANGES
    found: Any = {
        "quarter": period,
        "value_growth_ratio": value_growth,
        "value_growth_signal": _signal(value_growth, "value", "growth"),
        "cyclical_defensive_ratio": cyclical,
        "cyclical_defensive_signal": _signal(cyclical, "cyclical", "defensive"),
        "reason": reason,
    }
    known = sum(row["total_value"] for row in rows if sectors.for_group(row["sic_group"])[0])
    return found, buckets, compute_percent(known, sum(row["total_value"] for row in rows))


def _bucket(rows: Sequence[Row], doubted: DoubtSum) -> IndustryBucket:
    known = [row for row in rows if row["compared"]]
    shown = [
        build_record(
            BucketSector,
            row,
            sector=sectors.find_industry_name(row["sic_group"]),
            sic_group=f"{row['sic_group']:02}",
            fund_flow=row["flow"] if row["compared"] else None,
        )
        for row in rows
    ]
    shown.sort(key=lambda one: (one["fund_flow"] is None, -(one["fund_flow"] or 0), one["sic_group"]))
    return {
        "total_flow": sum(row["flow"] for row in known) if known else None,
        "total_value": sum(row["total_value"] for row in rows),
        "bought": sum(row["bought"] for row in known) if known else None,
        "sold": sum(row["sold"] for row in known) if known else None,
        "sectors": shown,
        **doubted.build_members(),  # type: ignore[typeddict-item]
    }


def _ratio(one: IndustryBucket, other: IndustryBucket) -> Decimal | None:
    bought, sold = (one["bought"] or 0) * (other["sold"] or 0), (one["sold"] or 0) * (other["bought"] or 0)
    return (Decimal(bought) / Decimal(sold)).quantize(_PLACES, ROUND_HALF_EVEN) if bought and sold else None


def _signal(ratio: Decimal | None, one: str, other: str) -> str | None:
    if ratio is None:
        return None
    return one if ratio >= MIN_SIGNAL_RATIO else other if ratio <= 1 / MIN_SIGNAL_RATIO else "neutral"


# ---- funds and insiders at once


class ScorePart(TypedDict):
    """A part of a score."""

    name: Literal["fund_flow", "insider_buyers", "insider_buy_value"]
    score: Annotated[Decimal, "Percentage of the signals that this one equals or exceeds."]


class CrossSignal(TypedDict):
    """A security that funds bought on balance in a quarter, while insiders of its issuer bought in the market."""

    cusip: str
    symbol: str | None
    name_of_issuer: str
    issuer_cik: str
    fund_flow: int
    fund_count: int
    new_buys_count: int
    total_value: int
    total_shares: int
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    fund_flow_pct: Annotated[int | None, "Of what funds hold of it, in whole per cent."]
    insider_buyer_count: int
    insider_buy_value: Annotated[int | None, "Null when none of the purchases has a price."]
    first_buy_date: Date
    last_buy_date: Date
    attractiveness_score: Annotated[Decimal, "The mean of its components: a rank among the signals, no forecast."]
    attractiveness_components: list[ScorePart]


class PurchaseWindow(NamedTuple):
    """The days on which insiders' purchases count."""

    start: str
    end: str


def build_purchase_window(period: str, before: int, after: int) -> PurchaseWindow:
    """The days around the end of a quarter."""
    end = date.fromisoformat(period)
    return PurchaseWindow((end - timedelta(days=before)).isoformat(), (end + timedelta(days=after)).isoformat())


class Signals(NamedTuple):
    """The signals of a quarter, the highest score first, and what they are found among.

    ``bought`` securities funds bought on balance, ``named`` of them with an issuer whose insiders can be looked up;
    ``last_day`` is the last on which a purchase by an insider is held.
    """

    rows: list[CrossSignal]
    bought: int
    named: int
    last_day: str | None


def find_cross_signals(tx: Transaction, period: str, within: PurchaseWindow, *, buyers: int, flow: int) -> Signals:
    """The securities with a fund flow above ``flow`` dollars and at least so many insiders who bought."""
    rows = tx.list_rows(
        "securities_bought_by_both", period=period, start=within.start, end=within.end, buyers=buyers, flow=flow
    )
    ranks = [
        ("fund_flow", [row["fund_flow"] for row in rows]),
        ("insider_buyers", [row["insider_buyer_count"] for row in rows]),
        ("insider_buy_value", [row["insider_buy_value"] or 0 for row in rows]),
    ]
    scores = [(name, _ranked(values)) for name, values in ranks]
    doubted = value_doubts.sum_doubts_by(value_doubts.list_doubts_of_quarter(tx, period), lambda one: one.security_id)
    found = []
    for place, row in enumerate(rows):
        parts: Any = [{"name": name, "score": values[place]} for name, values in scores]
        mean = (sum((part["score"] for part in parts), Decimal(0)) / len(parts)).quantize(_PLACES, ROUND_HALF_EVEN)
        share = compute_percent(row["fund_flow"], row["total_value"])
        more = {"attractiveness_score": mean, "attractiveness_components": parts}
        more |= doubted.get(row["security_id"], DoubtSum()).build_members()
        found.append(build_record(CrossSignal, row, fund_flow_pct=None if share is None else round(share), **more))
    found.sort(key=lambda one: (-one["attractiveness_score"], -one["fund_flow"], one["cusip"]))
    (counts,) = tx.list_rows("bought_security_counts", period=period, flow=flow)
    return Signals(found, counts["bought"], counts["named"], tx.find_value("last_insider_purchase"))


def _ranked(values: Sequence[int]) -> list[Decimal]:
    """Of each value the part of all that it equals or exceeds, in per cent."""
    ordered = {value: place for place, value in enumerate(sorted(values), 1)}
    whole = len(values)
    return [(Decimal(100 * ordered[value]) / whole).quantize(_PLACES, ROUND_HALF_EVEN) for value in values]
