"""Charts as inline SVG: bars, lines and stacked bars by period, and a line of daily prices.

Vertical coordinates are pixels from the top of the chart; horizontal ones are percentages of the plot. So a chart fills
the width that the page has, and its text has the same size at every width. The labels of the axes are drawn outside of
the plot, in the padding that the stylesheet gives it. Colours are CSS classes: "c1" for the first series, "c2" for the
second. Every mark has a ``<title>``, which browsers show as a tooltip and screen readers read out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.web.html.tags import NOTHING, Child, Html, h

# The height of a chart and the margins above and below its plot, in pixels.
HEIGHT = 220
TOP, BOTTOM = 10, 28
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM

# The maximum width of a bar and the gap after it, as percentages of the plot.
MAX_BAR_WIDTH, MAX_STACK_WIDTH = 9.0, 10.5
BAR_GAP = 0.25

# The widths of the narrowest plots in a wide and a narrow window, and of the labels below them, in pixels.
WIDE_PLOT_PIXELS, NARROW_PLOT_PIXELS = 330, 220
CHARACTER_PIXELS, LABEL_GAP_PIXELS = 7, 10
MAX_AXIS_CHARACTERS = 8  # A plot whose axis has longer labels gets a broader margin on the left.

LINE_UNITS = 1000  # The width of a plot in the coordinates of its lines, which are stretched to the plot's width.

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


class Plot(NamedTuple):
    """The part of a chart between its axes: the axis on the left, the format of its labels, and a second axis."""

    axis: Axis
    format: FormatNumber
    has_right_axis: bool = False

    @property
    def class_names(self) -> str:
        """Return the CSS classes of the plot, which choose its margins."""
        longest_label = max(len(self.format(tick)) for tick in self.axis.list_ticks())
        names = ["plot"]
        if longest_label > MAX_AXIS_CHARACTERS:
            names.append("broad")
        if self.has_right_axis:
            names.append("two-axes")
        return " ".join(names)


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
    slot_width = 100 / len(labels)
    bar_width = min(slot_width * 0.7 / len(columns), MAX_BAR_WIDTH)
    bars = []
    for column_index, column in enumerate(columns):
        for period_index, number in enumerate(column.values):
            if number is None:
                continue
            x = slot_width * (period_index + 0.5) + bar_width * (column_index - len(columns) / 2)
            tooltip = _format_tooltip(labels[period_index], column, number)
            bars.append(
                _render_bar(
                    x, bar_width, axis.compute_y(number), axis.compute_y(Decimal(0)), f"c{column_index + 1}", tooltip
                )
            )
    plot = Plot(axis, columns[0].format)
    parts: list[Child] = [bars, _render_period_labels(labels)]
    if line is None or not line.known_values:
        return _render_figure(title, columns, plot, parts)
    line_axis = _build_axis(line.values)
    parts.append(_render_line(line, labels, line_axis, f"c{len(columns) + 1}"))
    for tick in line_axis.list_ticks():
        parts.append(_render_text("100%", line_axis.compute_y(tick) + 4, line.format(tick), "start", dx=6))
    return _render_figure(title, [*columns, line], plot._replace(has_right_axis=True), parts)


def render_line_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """Return a chart with one line for each series, all on the same axis."""
    if not any(line.known_values for line in series):
        return NOTHING
    axis = _build_axis(_iter_values(series))
    lines = [_render_line(line, labels, axis, f"c{index + 1}") for index, line in enumerate(series)]
    return _render_figure(title, series, Plot(axis, series[0].format), [lines, _render_period_labels(labels)])


def render_stacked_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """Return bars whose parts are stacked; negative parts are stacked below zero."""
    if not any(part.known_values for part in series):
        return NOTHING
    stack_parts = _stack(labels, series)
    axis = _build_axis(part.top for part in stack_parts)
    slot_width = 100 / len(labels)
    bar_width = min(slot_width * 0.6, MAX_STACK_WIDTH)
    bars = []
    for part in stack_parts:
        x = slot_width * (part.period_index + 0.5) - bar_width / 2
        bars.append(
            _render_bar(x, bar_width, axis.compute_y(part.top), axis.compute_y(part.base), part.colour, part.tooltip)
        )
    return _render_figure(title, series, Plot(axis, series[0].format), [bars, _render_period_labels(labels)])


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
    points = [(100 * index / (len(numbers) - 1), axis.compute_y(number)) for index, number in enumerate(numbers)]
    triangles = []
    for mark in marks:
        nearest_index = min(int(mark.position * (len(numbers) - 1) + 0.5), len(numbers) - 1)
        triangles.append(_render_triangle(mark, axis.compute_y(numbers[nearest_index])))
    day_labels = [
        _render_text("0%", HEIGHT - 8, first_day, "start"),
        _render_text("100%", HEIGHT - 8, last_day, "end"),
    ]
    parts = [_render_polyline(points, "c1"), triangles, day_labels]
    return _render_figure(title, [series], Plot(axis, series.format), parts)


def render_sparkline(values: Sequence[Decimal | None], label: str) -> Html:
    """Return a chart of one line, as high as a word, with its last point marked. Screen readers read ``label``."""
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


def _render_figure(title: str, series: Sequence[ChartSeries], plot: Plot, parts: Child) -> Html:
    legend = [[h.span(chart_series.name, class_=f"key c{index + 1}"), " "] for index, chart_series in enumerate(series)]
    summaries = "; ".join(f"{chart_series.name} {_summarise(chart_series)}" for chart_series in series)
    drawing = h.svg(
        _render_grid(plot),
        parts,
        class_=plot.class_names,
        height=HEIGHT,
        role="img",
        aria_label=f"{title}: {summaries}",
    )
    return h.figure(h.figcaption(h.b(title), " ", legend), drawing, class_="chart")


def _summarise(series: ChartSeries) -> str:
    numbers = series.known_values
    return f"from {series.format(numbers[0])} to {series.format(numbers[-1])}" if numbers else "unknown"


def _format_tooltip(label: str, series: ChartSeries, value: Decimal) -> str:
    return f"{series.name}, {label}: {series.format(value)}"


def _format_percentage(number: float) -> str:
    return f"{round(number, 2):g}%"


def _render_bar(x: float, width: float, top: float, base: float, colour: str, tooltip: str) -> Html:
    height = max(abs(base - top), 0.5)
    return h.rect(
        h.title(tooltip),
        class_=colour,
        x=_format_percentage(x),
        y=round(min(top, base), 1),
        width=_format_percentage(width - BAR_GAP),
        height=round(height, 1),
    )


def _render_line(series: ChartSeries, labels: Sequence[str], axis: Axis, colour: str) -> Html:
    points = []
    dots = []
    for index, number in enumerate(series.values):
        if number is None:
            continue
        x, y = _compute_middle(index, len(labels)), axis.compute_y(number)
        points.append((x, y))
        tooltip = _format_tooltip(labels[index], series, number)
        dots.append(h.circle(h.title(tooltip), class_=colour, cx=_format_percentage(x), cy=y, r=3))
    return h.g(_render_polyline(points, colour), dots)


def _render_polyline(points: Sequence[tuple[float, float]], colour: str) -> Html:
    """Return a line through points of percentages and pixels."""
    # The points of a line cannot be percentages, so it has coordinates of its own that are stretched to the plot.
    coordinates = " ".join(f"{round(x * LINE_UNITS / 100, 1):g},{y}" for x, y in points)
    line = h.polyline(points=coordinates, class_=f"{colour} line")
    return h.svg(line, viewBox=f"0 0 {LINE_UNITS} {HEIGHT}", preserveAspectRatio="none")


def _render_grid(plot: Plot) -> list[Html]:
    elements = []
    for tick in plot.axis.list_ticks():
        y = plot.axis.compute_y(tick)
        elements.append(h.line(x2="100%", y1=y, y2=y, class_="nought" if tick == 0 else "grid"))
        elements.append(_render_text("0%", y + 4, plot.format(tick), "end", dx=-8))
    return elements


def _render_period_labels(labels: Sequence[str]) -> list[Html]:
    """Return the labels below the plot: every n-th one, counted from the last, so that they do not overlap.

    Labels that only a wide window has room for have the class "more".
    """
    label_pixels = max(len(label) for label in labels) * CHARACTER_PIXELS + LABEL_GAP_PIXELS
    interval = -(-len(labels) * label_pixels // WIDE_PLOT_PIXELS)
    narrow_interval = interval
    while len(labels) * label_pixels > narrow_interval * NARROW_PLOT_PIXELS:
        narrow_interval += interval
    elements = []
    for index, label in enumerate(labels):
        distance = len(labels) - 1 - index
        if distance % interval == 0:
            x = _format_percentage(_compute_middle(index, len(labels)))
            is_for_wide_windows = distance % narrow_interval != 0
            class_name = "more" if is_for_wide_windows else None
            elements.append(_render_text(x, HEIGHT - 8, label, "middle", class_=class_name))
    return elements


def _compute_middle(period_index: int, count: int) -> float:
    """Return the middle of a period, as a percentage of the plot."""
    return 100 * (period_index + 0.5) / count


def _render_text(x: str, y: float, text: str, anchor: str, *, dx: int | None = None, class_: str | None = None) -> Html:
    return h.text(text, x=x, y=round(y, 1), dx=dx, text_anchor=anchor, class_=class_)


def _render_triangle(mark: DayMark, y: float) -> Html:
    height = 7 if mark.points_up else -7
    path = h.path(d=f"M-4 {height}h8l-4 {-height}z")
    class_name = "mark up" if mark.points_up else "mark down"
    return h.svg(h.title(mark.tooltip), path, class_=class_name, x=_format_percentage(100 * mark.position), y=y)
