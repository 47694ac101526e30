"""Rotation and signals: the kinds of industries that funds move money to, and the issuers that funds and insiders buy.

*Rotation* compares two kinds of industries, such as value and growth. For each kind, the dollars that funds bought are
divided by the dollars that they sold. If funds bought $3 of value for each dollar sold, and $2 of growth, the ratio is
1.5 and the signal "value". Only a ratio of at least ``MIN_SIGNAL_RATIO``, or of at most its inverse, is a signal.

A *cross signal* is a security that funds bought on balance in a quarter, while insiders of its issuer bought in the
market.
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

# The SIC major groups of each kind of industry. The assignment is finapi's own. Groups that usually count as neither
# kind of a pair are left out.
BUCKETS: dict[str, frozenset[int]] = {
    # Mining, oil, food, tobacco, paper, metals, pipelines, telephones, utilities, banks, insurers, real estate.
    "value": frozenset((10, 12, 13, 14, 20, 21, 26, 29, 33, 46, 48, 49, 60, 61, 62, 63, 64, 65, 67)),
    # Pharmaceuticals, computers, electronics, instruments, software, mail order, health, research.
    "growth": frozenset((28, 35, 36, 38, 59, 73, 78, 79, 80, 87)),
    # Mining, construction, materials, machines, vehicles, transport, shops for durable goods, credit, hotels, leisure.
    "cyclical": frozenset((10, 12, 13, 14, 15, 16, 17, 22, 23, 24, 25, 26, 29, 30, 32, 33, 34, 35, 36, 37))
    | frozenset((40, 42, 44, 45, 47, 50, 52, 53, 55, 56, 57, 58, 60, 61, 62, 65, 70, 73, 75, 78, 79)),
    # Food, tobacco, pharmaceuticals, telephones, utilities, groceries, insurers, health, schools.
    "defensive": frozenset((1, 2, 20, 21, 28, 48, 49, 51, 54, 63, 64, 80, 82, 83)),
}

# A ratio is a signal if it is at least this, or at most its inverse.
MIN_SIGNAL_RATIO = Decimal("1.1")
_FOUR_PLACES = Decimal("0.0001")

NO_CHANGES = "no_changes_known"
NOTHING_TRADED = "nothing_bought_or_sold"


# ---- rotation between kinds of industries


class BucketSector(TypedDict):
    """An industry (a major group of SIC codes) in its bucket."""

    sector: str
    sic_group: str
    fund_flow: int | None
    total_value: int


class IndustryBucket(TypedDict):
    """The dollars that funds bought and sold in the industries of one kind."""

    total_flow: int | None
    total_value: int
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    bought: int | None
    sold: int | None
    sectors: list[BucketSector]


class Rotation(TypedDict):
    """The ratios of a quarter, and the signals that follow from them."""

    quarter: Date
    value_growth_ratio: Decimal | None
    value_growth_signal: Literal["value", "growth", "neutral"] | None
    cyclical_defensive_ratio: Decimal | None
    cyclical_defensive_signal: Literal["cyclical", "defensive", "neutral"] | None
    reason: Annotated[str | None, f"The reason for a null ratio: {NO_CHANGES} or {NOTHING_TRADED}."]


def compute_rotation(tx: Transaction, period: str) -> tuple[Rotation, dict[str, IndustryBucket], Decimal | None]:
    """Return a quarter's ratios, its buckets by their names, and the percentage of the value with a known industry."""
    rows = tx.list_rows("trades_by_group", period=period)
    doubted = [position for position in value_doubts.list_doubts_of_quarter(tx, period) if not position.is_etf]
    buckets = {}
    for name, groups in BUCKETS.items():
        bucket_rows = [row for row in rows if row["sic_group"] in groups]
        doubt_sum = value_doubts.sum_doubts(position for position in doubted if position.sic_group in groups)
        buckets[name] = _build_bucket(bucket_rows, doubt_sum)
    value_growth = _compute_ratio(buckets["value"], buckets["growth"])
    cyclical_defensive = _compute_ratio(buckets["cyclical"], buckets["defensive"])
    reason = None
    if value_growth is None or cyclical_defensive is None:
        reason = NOTHING_TRADED if any(row["compared"] for row in rows) else NO_CHANGES
    ratios: Rotation = {
        "quarter": period,
        "value_growth_ratio": value_growth,
        "value_growth_signal": _find_signal(value_growth, "value", "growth"),
        "cyclical_defensive_ratio": cyclical_defensive,
        "cyclical_defensive_signal": _find_signal(cyclical_defensive, "cyclical", "defensive"),
        "reason": reason,
    }
    known_value = sum(row["total_value"] for row in rows if sectors.get_names_of_group(row["sic_group"])[0])
    coverage_pct = compute_percent(known_value, sum(row["total_value"] for row in rows))
    return ratios, buckets, coverage_pct


def _build_bucket(rows: Sequence[Row], doubt_sum: DoubtSum) -> IndustryBucket:
    """Return the sums of a bucket. Its flows are None if no fund's changes are known."""
    compared_rows = [row for row in rows if row["compared"]]
    industries = [
        build_record(
            BucketSector,
            row,
            sector=sectors.find_industry_name(row["sic_group"]),
            sic_group=f"{row['sic_group']:02}",
            fund_flow=row["flow"] if row["compared"] else None,
        )
        for row in rows
    ]
    industries.sort(
        key=lambda industry: (industry["fund_flow"] is None, -(industry["fund_flow"] or 0), industry["sic_group"])
    )
    has_changes = bool(compared_rows)
    return {
        "total_flow": sum(row["flow"] for row in compared_rows) if has_changes else None,
        "total_value": sum(row["total_value"] for row in rows),
        "doubted_count": doubt_sum.count,
        "doubted_value": doubt_sum.value,
        "doubted_flow": doubt_sum.flow,
        "bought": sum(row["bought"] for row in compared_rows) if has_changes else None,
        "sold": sum(row["sold"] for row in compared_rows) if has_changes else None,
        "sectors": industries,
    }


def _compute_ratio(first: IndustryBucket, second: IndustryBucket) -> Decimal | None:
    """Return the ratio of bought to sold dollars of the first bucket, divided by that of the second.

    Return None if one of the four sums is zero or unknown.
    """
    numerator = (first["bought"] or 0) * (second["sold"] or 0)
    denominator = (first["sold"] or 0) * (second["bought"] or 0)
    if not numerator or not denominator:
        return None
    return (Decimal(numerator) / Decimal(denominator)).quantize(_FOUR_PLACES, ROUND_HALF_EVEN)


def _find_signal(ratio: Decimal | None, first: Any, second: Any) -> Any:
    """Return the kind of industries that funds move to, "neutral", or None without a ratio."""
    if ratio is None:
        return None
    if ratio >= MIN_SIGNAL_RATIO:
        return first
    return second if ratio <= 1 / MIN_SIGNAL_RATIO else "neutral"


# ---- cross signals of funds and insiders


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
    fund_flow_pct: Annotated[int | None, "The flow in whole per cent of the funds' holdings of the security."]
    insider_buyer_count: int
    insider_buy_value: Annotated[int | None, "Null if none of the purchases has a price."]
    first_buy_date: Date
    last_buy_date: Date
    attractiveness_score: Annotated[Decimal, "The mean of its components. It ranks the signals and is not a forecast."]
    attractiveness_components: list[ScorePart]


class PurchaseWindow(NamedTuple):
    """The first and the last day of the window in which insiders' purchases count."""

    start: str
    end: str


def build_purchase_window(period: str, days_before: int, days_after: int) -> PurchaseWindow:
    """Return the window around the end of a quarter."""
    quarter_end = date.fromisoformat(period)
    start = quarter_end - timedelta(days=days_before)
    end = quarter_end + timedelta(days=days_after)
    return PurchaseWindow(start.isoformat(), end.isoformat())


class Signals(NamedTuple):
    """The cross signals of a quarter, the highest score first, and the data that they were searched in."""

    rows: list[CrossSignal]
    bought_count: int  # Securities that funds bought on balance.
    known_issuer_count: int  # The bought securities with a known issuer, whose insiders can be looked up.
    last_purchase_day: str | None  # The latest day of an insider's purchase in the database.


def find_cross_signals(
    tx: Transaction, period: str, window: PurchaseWindow, *, min_buyers: int, min_flow: int
) -> Signals:
    """Return the securities with a fund flow above ``min_flow`` dollars and at least ``min_buyers`` buying insiders.

    The score of a signal is the mean of three ranks among the signals: by the fund flow, the number of buying insiders,
    and the value of their purchases.
    """
    rows = tx.list_rows(
        "securities_bought_by_both",
        period=period,
        start=window.start,
        end=window.end,
        buyers=min_buyers,
        flow=min_flow,
    )
    flow_ranks = _rank([row["fund_flow"] for row in rows])
    buyer_ranks = _rank([row["insider_buyer_count"] for row in rows])
    purchase_ranks = _rank([row["insider_buy_value"] or 0 for row in rows])
    doubts = value_doubts.sum_doubts_by(
        value_doubts.list_doubts_of_quarter(tx, period), lambda position: position.security_id
    )
    signals = []
    for index, row in enumerate(rows):
        components: list[ScorePart] = [
            {"name": "fund_flow", "score": flow_ranks[index]},
            {"name": "insider_buyers", "score": buyer_ranks[index]},
            {"name": "insider_buy_value", "score": purchase_ranks[index]},
        ]
        signals.append(_build_signal(row, components, doubts.get(row["security_id"], DoubtSum())))
    signals.sort(key=lambda signal: (-signal["attractiveness_score"], -signal["fund_flow"], signal["cusip"]))
    counts = tx.find_row("bought_security_counts", period=period, flow=min_flow)
    assert counts is not None
    return Signals(
        rows=signals,
        bought_count=counts["bought"],
        known_issuer_count=counts["named"],
        last_purchase_day=tx.find_value("last_insider_purchase"),
    )


def _build_signal(row: Row, components: list[ScorePart], doubt_sum: DoubtSum) -> CrossSignal:
    total_score = sum((component["score"] for component in components), Decimal(0))
    mean_score = (total_score / len(components)).quantize(_FOUR_PLACES, ROUND_HALF_EVEN)
    flow_pct = compute_percent(row["fund_flow"], row["total_value"])
    return build_record(
        CrossSignal,
        row,
        fund_flow_pct=None if flow_pct is None else round(flow_pct),
        attractiveness_score=mean_score,
        attractiveness_components=components,
        **doubt_sum.build_members(),
    )


def _rank(numbers: Sequence[int]) -> list[Decimal]:
    """Return, for each number, the percentage of all numbers that are less than or equal to it."""
    count_by_number = {number: count for count, number in enumerate(sorted(numbers), 1)}
    total = len(numbers)
    return [
        (Decimal(100 * count_by_number[number]) / total).quantize(_FOUR_PLACES, ROUND_HALF_EVEN) for number in numbers
    ]
