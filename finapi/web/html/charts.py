"""Charts as inline SVG: bars, lines and stacked bars by period, and a line of daily prices.

Coordinates run from the top left corner. Colours are CSS classes: "c1" for the first series, "c2" for the second. Every
mark has a ``<title>``, which browsers show as a tooltip and screen readers read out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.web.html.tags import NOTHING, Child, Html, h

# The size of a chart and the margins around its plot, in SVG units.
WIDTH, HEIGHT = 480, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 40, 10, 24
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

MAX_BAR_WIDTH, MAX_STACK_WIDTH = 34, 40
LABEL_WIDTH = 44  # The width that a period's label needs along the axis, in SVG units.

FormatNumber = Callable[[Decimal], str]


class ChartSeries(NamedTuple):
    """One series of a chart: its name, its values (oldest first) and the function that formats them."""

    name: str
    values: Sequence[Decimal | None]
    format: FormatNumber

    @property
    def known_values(self) -> list[Decimal]:
        """Return the values that are not missing, oldest first."""
        return [number for number in self.values if number is not None]


class Axis(NamedTuple):
    """The range of values between the bottom and the top of a plot."""

    minimum: Decimal
    maximum: Decimal

    def compute_y(self, value: Decimal) -> float:
        """Return the distance of a value from the top of the chart."""
        return round(float(TOP + PLOT_HEIGHT * (self.maximum - value) / (self.maximum - self.minimum)), 1)

    def list_ticks(self) -> list[Decimal]:
        """Return the values at which grid lines are drawn, from the bottom to the top."""
        step = _choose_step(self.maximum - self.minimum)
        count = int((self.maximum - self.minimum) / step) + 1
        return [self.minimum + step * index for index in range(count)]


class DayMark(NamedTuple):
    """A triangle on a line of days: where it is (0 at the first day, 1 at the last), its direction and its tooltip."""

    position: float
    points_up: bool
    tooltip: str


class StackPart(NamedTuple):
    """One part of a stacked bar: the values at which it begins and ends."""

    period_index: int
    base: Decimal
    top: Decimal
    colour: str
    tooltip: str


def render_bar_chart(
    title: str, labels: Sequence[str], columns: Sequence[ChartSeries], line: ChartSeries | None = None
) -> Html:
    """Return bars side by side for each period, and optionally a line over them with its own axis on the right."""
    if not any(column.known_values for column in columns):
        return NOTHING
    axis = _build_axis(_iter_values(columns))
    slot_width = PLOT_WIDTH / len(labels)
    bar_width = min(slot_width * 0.7 / len(columns), MAX_BAR_WIDTH)
    bars = []
    for column_index, column in enumerate(columns):
        for period_index, number in enumerate(column.values):
            if number is None:
                continue
            x = LEFT + slot_width * (period_index + 0.5) + bar_width * (column_index - len(columns) / 2)
            tooltip = _format_tooltip(labels[period_index], column, number)
            bars.append(
                _render_bar(
                    x, bar_width, axis.compute_y(number), axis.compute_y(Decimal(0)), f"c{column_index + 1}", tooltip
                )
            )
    parts: list[Child] = [_render_grid(axis, columns[0].format), bars, _render_period_labels(labels, slot_width)]
    if line and line.known_values:
        line_axis = _build_axis(line.values)
        parts.append(_render_line(line, labels, slot_width, line_axis, f"c{len(columns) + 1}"))
        tick_x = WIDTH - RIGHT + 6
        ticks = line_axis.list_ticks()
        parts.append(
            [_render_text(tick_x, line_axis.compute_y(tick) + 4, line.format(tick), "start") for tick in ticks]
        )
    series = [*columns, line] if line else columns
    return _render_figure(title, series, parts)


def render_line_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """Return a chart with one line for each series, all on the same axis."""
    if not any(line.known_values for line in series):
        return NOTHING
    axis = _build_axis(_iter_values(series))
    slot_width = PLOT_WIDTH / len(labels)
    lines = [_render_line(line, labels, slot_width, axis, f"c{index + 1}") for index, line in enumerate(series)]
    grid = _render_grid(axis, series[0].format)
    return _render_figure(title, series, [grid, lines, _render_period_labels(labels, slot_width)])


def render_stacked_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """Return bars whose parts are stacked; negative parts are stacked below zero."""
    if not any(part.known_values for part in series):
        return NOTHING
    stack_parts = _stack(labels, series)
    axis = _build_axis(part.top for part in stack_parts)
    slot_width = PLOT_WIDTH / len(labels)
    bar_width = min(slot_width * 0.6, MAX_STACK_WIDTH)
    bars = []
    for part in stack_parts:
        x = LEFT + slot_width * (part.period_index + 0.5) - bar_width / 2
        bars.append(
            _render_bar(x, bar_width, axis.compute_y(part.top), axis.compute_y(part.base), part.colour, part.tooltip)
        )
    grid = _render_grid(axis, series[0].format)
    return _render_figure(title, series, [grid, bars, _render_period_labels(labels, slot_width)])


def _stack(labels: Sequence[str], series: Sequence[ChartSeries]) -> list[StackPart]:
    positive_totals = [Decimal(0) for _ in labels]
    negative_totals = [Decimal(0) for _ in labels]
    parts = []
    for series_index, part_series in enumerate(series):
        for period_index, number in enumerate(part_series.values):
            if number is None:
                continue
            totals = negative_totals if number < 0 else positive_totals
            base = totals[period_index]
            totals[period_index] += number
            tooltip = _format_tooltip(labels[period_index], part_series, number)
            parts.append(StackPart(period_index, base, totals[period_index], f"c{series_index + 1}", tooltip))
    return parts


def render_daily_chart(
    title: str, first_day: str, last_day: str, series: ChartSeries, marks: Sequence[DayMark] = ()
) -> Html:
    """Return a line of many days with marks on it. The axis need not include zero."""
    numbers = series.known_values
    if len(numbers) < 2:
        return NOTHING
    axis = _build_axis(numbers, includes_zero=False)
    coordinates = []
    for index, number in enumerate(numbers):
        x = LEFT + PLOT_WIDTH * index / (len(numbers) - 1)
        coordinates.append(f"{x:.1f},{axis.compute_y(number)}")
    triangles = []
    for mark in marks:
        nearest_index = min(int(mark.position * (len(numbers) - 1) + 0.5), len(numbers) - 1)
        path = _build_triangle(
            LEFT + PLOT_WIDTH * mark.position, axis.compute_y(numbers[nearest_index]), mark.points_up
        )
        triangles.append(h.path(h.title(mark.tooltip), class_="up" if mark.points_up else "down", d=path))
    day_labels = [
        _render_text(LEFT, HEIGHT - 6, first_day, "start"),
        _render_text(WIDTH - RIGHT, HEIGHT - 6, last_day, "end"),
    ]
    line = h.polyline(points=" ".join(coordinates), class_="c1 line")
    return _render_figure(title, [series], [_render_grid(axis, series.format), line, triangles, day_labels])


def render_sparkline(values: Sequence[Decimal | None], label: str) -> Html:
    """Return a line as high as a word, with its last point marked. ``label`` is read out instead of it."""
    points = [(index, number) for index, number in enumerate(values) if number is not None]
    if len(points) < 2:
        return NOTHING
    minimum = min(number for _, number in points)
    maximum = max(number for _, number in points)
    span = Decimal(maximum - minimum) or Decimal(1)
    coordinates = []
    for index, number in points:
        x = round(2 + 76 * index / (len(values) - 1), 1)
        y = round(float(18 - 15 * (number - minimum) / span), 1)
        coordinates.append((x, y))
    last_x, last_y = coordinates[-1]
    return h.svg(
        h.polyline(points=" ".join(f"{x},{y}" for x, y in coordinates)),
        h.circle(cx=last_x, cy=last_y, r=2),
        class_="spark",
        viewBox="0 0 80 20",
        role="img",
        aria_label=label,
    )


# ---- axes


def _iter_values(series: Iterable[ChartSeries]) -> Iterable[Decimal | None]:
    for chart_series in series:
        yield from chart_series.values


def _build_axis(values: Iterable[Decimal | None], *, includes_zero: bool = True) -> Axis:
    # Whole numbers arrive as int.
    numbers = [Decimal(number) for number in values if number is not None]
    if includes_zero:
        numbers.append(Decimal(0))
    minimum, maximum = min(numbers), max(numbers)
    if minimum == maximum:
        maximum = minimum + 1
    step = _choose_step(maximum - minimum)
    return Axis(_round_down(minimum, step), _round_up(maximum, step))


def _round_down(number: Decimal, step: Decimal) -> Decimal:
    # Decimal's // cuts towards zero, so that a negative number with a remainder needs one more step.
    multiple = number // step * step
    return multiple - step if number < 0 and number % step else multiple


def _round_up(number: Decimal, step: Decimal) -> Decimal:
    multiple = number // step * step
    return multiple + step if number > 0 and number % step else multiple


def _choose_step(span: Decimal) -> Decimal:
    """Return the distance between grid lines: a round number that fits about four times into ``span``."""
    unit = Decimal(1).scaleb(span.adjusted() - 1)
    for factor in (1, 2, 5, 10, 20, 25, 50):
        if unit * factor * 4 >= span:
            return unit * factor
    return unit * 50


# ---- parts of a chart


def _render_figure(title: str, series: Sequence[ChartSeries], parts: Child) -> Html:
    legend = [[h.span(chart_series.name, class_=f"key c{index + 1}"), " "] for index, chart_series in enumerate(series)]
    summaries = "; ".join(f"{chart_series.name} {_summarise(chart_series)}" for chart_series in series)
    drawing = h.svg(parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{title}: {summaries}")
    return h.figure(h.figcaption(h.b(title), " ", legend), drawing, class_="chart")


def _summarise(series: ChartSeries) -> str:
    numbers = series.known_values
    return f"from {series.format(numbers[0])} to {series.format(numbers[-1])}" if numbers else "unknown"


def _format_tooltip(label: str, series: ChartSeries, value: Decimal) -> str:
    return f"{series.name}, {label}: {series.format(value)}"


def _render_bar(x: float, width: float, top: float, base: float, colour: str, tooltip: str) -> Html:
    height = max(abs(base - top), 0.5)
    return h.rect(
        h.title(tooltip),
        class_=colour,
        x=round(x, 1),
        y=round(min(top, base), 1),
        width=round(width - 1, 1),
        height=round(height, 1),
    )


def _render_line(series: ChartSeries, labels: Sequence[str], slot_width: float, axis: Axis, colour: str) -> Html:
    coordinates = []
    dots = []
    for index, number in enumerate(series.values):
        if number is None:
            continue
        x = round(LEFT + slot_width * (index + 0.5), 1)
        y = axis.compute_y(number)
        coordinates.append(f"{x},{y}")
        tooltip = _format_tooltip(labels[index], series, number)
        dots.append(h.circle(h.title(tooltip), class_=colour, cx=x, cy=y, r=3))
    return h.g(h.polyline(points=" ".join(coordinates), class_=f"{colour} line"), dots)


def _render_grid(axis: Axis, format_number: FormatNumber) -> list[Html]:
    elements = []
    for tick in axis.list_ticks():
        y = axis.compute_y(tick)
        elements.append(h.line(x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="nought" if tick == 0 else "grid"))
        elements.append(_render_text(LEFT - 6, y + 4, format_number(tick), "end"))
    return elements


def _render_period_labels(labels: Sequence[str], slot_width: float) -> list[Html]:
    """Return the labels below the plot: every n-th one, counted from the last, so that they do not overlap."""
    interval = -(-len(labels) * LABEL_WIDTH // PLOT_WIDTH)
    return [
        _render_text(LEFT + slot_width * (index + 0.5), HEIGHT - 6, label, "middle")
        for index, label in enumerate(labels)
        if (len(labels) - 1 - index) % interval == 0
    ]


def _render_text(x: float, y: float, text: str, anchor: str) -> Html:
    return h.text(text, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def _build_triangle(x: float, y: float, points_up: bool) -> str:
    height = 7 if points_up else -7
    return f"M{x - 4:.1f} {y + height:.1f}h8l-4 {-height}z"
