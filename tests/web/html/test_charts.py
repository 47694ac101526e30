"""Charts as SVG."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from finapi.web.html import charts, number_formats


def test_bars_start_at_zero_in_both_directions() -> None:
    chart = charts.render_bar_chart(
        "T", ["1", "2"], [charts.ChartSeries("A", [Decimal(10), Decimal(-10)], number_formats.format_short)]
    )
    bars = re.findall(r'<rect class="c1" x="[^"]+" y="([^"]+)" width="[^"]+" height="([^"]+)"><title>([^<]+)', chart)
    assert [tooltip for *_, tooltip in bars] == ["A, 1: 10", "A, 2: (10)"]
    (top, height, _), (base, _, _) = bars
    assert float(top) + float(height) == float(base)


@pytest.mark.parametrize("values", [[], [None, None], [Decimal(1)]])
def test_a_chart_without_figures_is_empty(values: list[Decimal | None]) -> None:
    series = charts.ChartSeries("A", values, number_formats.format_short)
    assert charts.render_sparkline(values, "A") == ""
    assert charts.render_daily_chart("T", "a", "b", series) == ""
    if not any(value is not None for value in values):
        assert (
            charts.render_bar_chart("T", [""] * len(values), [series])
            == charts.render_stacked_chart("T", [""] * len(values), [series])
            == ""
        )
