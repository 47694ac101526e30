"""Marks of N-PORT reports whose figures contradict each other. The figures are served as filed.

EDGAR does not compare the figures of a report. Real reports state percentages as fractions, lack their positions, or
repeat the total assets of another series.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from finapi.edgar.fund_reports import FundReport

Doubt = Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]

# Assets less liabilities may differ from the net assets by this fraction of them, or by a dollar if that is more.
MAX_ASSET_DIFFERENCE = Decimal("0.001")
# The sum of the percentages may differ from the percentage of all values by this many points, in addition to rounding.
MAX_PERCENT_DIFFERENCE = Decimal(1)
# The percentage of one position may differ by this many points, or by this fraction of it if that is more.
MAX_POSITION_DIFFERENCE = Decimal("0.05")
MAX_POSITION_SHARE = Decimal("0.05")


def find_doubts(report: FundReport, filed_at: str | None) -> list[Doubt]:
    """Return the marks of a report that was filed on this day."""
    doubts: list[Doubt] = []
    if _has_different_assets(report):
        doubts.append("assets_differ")
    if _has_different_percentages(report):
        doubts.append("percentages_differ")
    if not report.positions and report.net_assets is not None and Decimal(report.net_assets) != 0:
        doubts.append("no_positions")
    if filed_at is not None and report.period > filed_at[:10]:
        doubts.append("period_after_filing")
    return doubts


def is_percent_doubtful(value: str | None, percent: str | None, net_assets: str | None) -> bool:
    """Return True if a position's percentage does not agree with its value as a part of the fund's net assets."""
    if value is None or percent is None or net_assets is None or Decimal(net_assets) == 0:
        return False
    expected = 100 * Decimal(value) / Decimal(net_assets)
    difference = abs(Decimal(percent) - expected)
    return difference > max(MAX_POSITION_DIFFERENCE, MAX_POSITION_SHARE * abs(expected))


def _has_different_assets(report: FundReport) -> bool:
    if report.total_assets is None or report.total_liabilities is None or report.net_assets is None:
        return False
    net_assets = Decimal(report.net_assets)
    difference = abs(Decimal(report.total_assets) - Decimal(report.total_liabilities) - net_assets)
    return difference > max(Decimal(1), MAX_ASSET_DIFFERENCE * abs(net_assets))


def _has_different_percentages(report: FundReport) -> bool:
    """Return True if the sum of all percentages differs from the percentage that the sum of all values is.

    Percentages with two decimals lose up to 0.005 points each, which are 50 points in a fund of 10,000 positions.
    """
    if report.net_assets is None or Decimal(report.net_assets) == 0:
        return False
    value_sum = Decimal(0)
    percent_sum = Decimal(0)
    max_decimals = 0
    count = 0
    for position in report.positions:
        if position.value is not None and position.percent is not None:
            value_sum += Decimal(position.value)
            percent_sum += Decimal(position.percent)
            max_decimals = max(max_decimals, len(position.percent.partition(".")[2]))
            count += 1
    rounding = count * Decimal(5).scaleb(-max_decimals - 1)
    difference = abs(percent_sum - 100 * value_sum / Decimal(report.net_assets))
    return difference > MAX_PERCENT_DIFFERENCE + rounding
