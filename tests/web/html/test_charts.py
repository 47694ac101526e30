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


def test_axes_and_labels_have_room_at_every_width() -> None:
    series = charts.ChartSeries("A", [Decimal(number) for number in range(1, 13)], number_formats.format_short)
    quarters = [f"Q{index % 4 + 1} 20{20 + index // 4}" for index in range(12)]
    chart = charts.render_bar_chart("T", quarters, [series])
    assert "viewBox" not in chart
    # A wide window has room for every third label, a narrow one for every sixth.
    assert re.findall(r'<text x="([^"]+)" y="212" text-anchor="middle"( class="more")?>([^<]+)', chart) == [
        ("20.83%", ' class="more"', "Q3 2020"),
        ("45.83%", "", "Q2 2021"),
        ("70.83%", ' class="more"', "Q1 2022"),
        ("95.83%", "", "Q4 2022"),
    ]
    assert '<text x="0%" y="196.0" dx="-8" text-anchor="end">0</text>' in chart
    assert 'class="plot"' in chart
    shares = charts.ChartSeries("A", [Decimal(612_345), Decimal(712_345)], number_formats.format_per_share)
    assert 'class="plot broad"' in charts.render_daily_chart("T", "a", "b", shares)
    margin = charts.ChartSeries("M", [Decimal("0.1")] * 12, number_formats.format_percentage)
    assert 'class="plot two-axes"' in charts.render_bar_chart("T", quarters, [series], margin)


def test_lines_are_stretched_and_marks_are_not() -> None:
    series = charts.ChartSeries("A", [Decimal(1), Decimal(3), Decimal(2)], number_formats.format_short)
    chart = charts.render_daily_chart("T", "a", "b", series, [charts.DayMark(0.5, True, "Sale")])
    assert (
        '<svg viewBox="0 0 1000 220" preserveAspectRatio="none"><polyline points="0,192.0 500,10.0 1000,101.0"' in chart
    )
    assert '<svg class="mark up" x="50%" y="10.0"><title>Sale</title><path d="M-4 7h8l-4 -7z"></path></svg>' in chart
