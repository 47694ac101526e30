"""Charts as inline SVG: bars, lines and stacks by period. Colours are classes, every mark tells its figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.web.html.tags import NOTHING, Child, Html, h

WIDTH, HEIGHT = 480, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 40, 10, 24

FormatNumber = Callable[[Decimal], str]


class ChartSeries(NamedTuple):
    """One series of a chart: its name, its values (oldest first) and how they are written."""

    name: str
    values: Sequence[Decimal | None]
    write: FormatNumber


class Axis(NamedTuple):
    """Where values stand between the bottom and the top of a chart."""

    least: Decimal
    most: Decimal

    def y(self, value: Decimal) -> float:
        """The height of a value, from the top."""
        return round(float(TOP + (HEIGHT - TOP - BOTTOM) * (self.most - value) / (self.most - self.least)), 1)


def _axis(values: Iterable[Decimal | None], *, from_nought: bool = True) -> Axis:
    # Whole figures are ints where they come from.
    held = [Decimal(value) for value in values if value is not None] + [Decimal(0)] * from_nought
    least, most = min(held), max(held)
    if least == most:
        most = least + 1
    step = _step(most - least)
    return Axis(
        least // step * step - (step if least % step and least < 0 else 0), -(-most // step) * step + _more(most, step)
    )


def _more(most: Decimal, step: Decimal) -> Decimal:
    # Decimal's // cuts towards nought: what is left over needs a step of its own.
    return step if most > 0 and most % step else Decimal(0)


def _step(span: Decimal) -> Decimal:
    """A round number of which four or so make the span."""
    unit = Decimal(1).scaleb(span.adjusted() - 1)
    return next((unit * n for n in (1, 2, 5, 10, 20, 25, 50) if unit * n * 4 >= span), unit * 50)


def _ticks(axis: Axis) -> list[Decimal]:
    step = _step(axis.most - axis.least)
    return [axis.least + step * n for n in range(int((axis.most - axis.least) / step) + 1)]


def render_bar_chart(
    title: str, labels: Sequence[str], columns: Sequence[ChartSeries], line: ChartSeries | None = None
) -> Html:
    """Bars side by side for each period, and a line over them on an axis of its own at the right."""
    if not any(value is not None for one in columns for value in one.values):
        return NOTHING
    axis = _axis(value for one in columns for value in one.values)
    slot = (WIDTH - LEFT - RIGHT) / len(labels)
    wide = min(slot * 0.7 / len(columns), 34)
    drawn = []
    for n, one in enumerate(columns):
        for place, value in enumerate(one.values):
            if value is not None:
                x = LEFT + slot * (place + 0.5) + wide * (n - len(columns) / 2)
                drawn.append(
                    _bar(x, wide, axis.y(value), axis.y(Decimal(0)), f"c{n + 1}", _told(labels[place], one, value))
                )
    parts: list[Child] = [_grid(axis, columns[0].write), drawn, _along(labels, slot)]
    if line and any(value is not None for value in line.values):
        parts.append(_line(line, labels, slot, _axis(line.values), f"c{len(columns) + 1}"))
        right = _axis(line.values)
        parts.append([_text(WIDTH - RIGHT + 6, right.y(tick) + 4, line.write(tick), "start") for tick in _ticks(right)])
    return _figure(title, [*columns, *([line] if line else [])], parts)


def render_line_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """A line for each series, all on one axis."""
    if not any(value is not None for one in series for value in one.values):
        return NOTHING
    axis = _axis(value for one in series for value in one.values)
    slot = (WIDTH - LEFT - RIGHT) / len(labels)
    drawn = [_line(one, labels, slot, axis, f"c{n + 1}") for n, one in enumerate(series)]
    return _figure(title, series, [_grid(axis, series[0].write), drawn, _along(labels, slot)])


def render_stacked_chart(title: str, labels: Sequence[str], series: Sequence[ChartSeries]) -> Html:
    """Bars of parts on top of each other; what is negative hangs below."""
    if not any(value is not None for one in series for value in one.values):
        return NOTHING
    sums = [[Decimal(0), Decimal(0)] for _ in labels]
    slot = (WIDTH - LEFT - RIGHT) / len(labels)
    wide, parts = min(slot * 0.6, 40), []
    for n, one in enumerate(series):
        for place, value in enumerate(one.values):
            if value is not None:
                side, told = int(value < 0), _told(labels[place], one, value)
                parts.append((place, sums[place][side], sums[place][side] + value, f"c{n + 1}", told))
                sums[place][side] += value
    axis = _axis(value for pair in sums for value in pair)
    drawn = [
        _bar(LEFT + slot * (place + 0.5) - wide / 2, wide, axis.y(top), axis.y(base), colour, told)
        for place, base, top, colour, told in parts
    ]
    return _figure(title, series, [_grid(axis, series[0].write), drawn, _along(labels, slot)])


def render_daily_chart(
    title: str, first: str, last: str, series: ChartSeries, marks: Sequence[tuple[float, bool, str]] = ()
) -> Html:
    """A line of many days; ``marks`` stand on it: where (0 to 1), whether up, and what they tell."""
    held = [value for value in series.values if value is not None]
    if len(held) < 2:
        return NOTHING
    axis, span = _axis(held, from_nought=False), WIDTH - LEFT - RIGHT
    points = " ".join(f"{LEFT + span * n / (len(held) - 1):.1f},{axis.y(value)}" for n, value in enumerate(held))
    signs = [
        h.path(h.title(told), class_="up" if up else "down", d=_triangle(LEFT + span * at, _at(held, at, axis), up))
        for at, up, told in marks
    ]
    ends = [_text(LEFT, HEIGHT - 6, first, "start"), _text(WIDTH - RIGHT, HEIGHT - 6, last, "end")]
    line = h.polyline(points=points, class_="c1 line")
    return _figure(title, [series], [_grid(axis, series.write), line, signs, ends])


def render_sparkline(values: Sequence[Decimal | None], told: str) -> Html:
    """A line as high as a word, its last point marked."""
    held = [(n, value) for n, value in enumerate(values) if value is not None]
    if len(held) < 2:
        return NOTHING
    least, most = min(value for _, value in held), max(value for _, value in held)
    span = Decimal(most - least) or Decimal(1)
    points = [
        (round(2 + 76 * n / (len(values) - 1), 1), round(float(18 - 15 * (value - least) / span), 1))
        for n, value in held
    ]
    return h.svg(
        h.polyline(points=" ".join(f"{x},{y}" for x, y in points)),
        h.circle(cx=points[-1][0], cy=points[-1][1], r=2),
        class_="spark",
        viewBox="0 0 80 20",
        role="img",
        aria_label=told,
    )


def _figure(title: str, series: Sequence[ChartSeries], parts: Child) -> Html:
    keys = [h.span(one.name, class_=f"key c{n + 1}") for n, one in enumerate(series)]
    said = f"{title}: " + "; ".join(f"{one.name} {_last(one)}" for one in series)
    drawing = h.svg(parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=said)
    return h.figure(h.figcaption(h.b(title), " ", [[key, " "] for key in keys]), drawing, class_="chart")


def _last(one: ChartSeries) -> str:
    held = [value for value in one.values if value is not None]
    return f"from {one.write(held[0])} to {one.write(held[-1])}" if held else "unknown"


def _told(label: str, one: ChartSeries, value: Decimal) -> str:
    return f"{one.name}, {label}: {one.write(value)}"


def _bar(x: float, wide: float, top: float, base: float, colour: str, told: str) -> Html:
    high = max(abs(base - top), 0.5)
    return h.rect(
        h.title(told),
        class_=colour,
        x=round(x, 1),
        y=round(min(top, base), 1),
        width=round(wide - 1, 1),
        height=round(high, 1),
    )


def _line(one: ChartSeries, labels: Sequence[str], slot: float, axis: Axis, colour: str) -> Html:
    at = [
        (round(LEFT + slot * (n + 0.5), 1), value, labels[n]) for n, value in enumerate(one.values) if value is not None
    ]
    dots = [
        h.circle(h.title(_told(label, one, value)), class_=colour, cx=x, cy=axis.y(value), r=3)
        for x, value, label in at
    ]
    return h.g(h.polyline(points=" ".join(f"{x},{axis.y(value)}" for x, value, _ in at), class_=f"{colour} line"), dots)


def _grid(axis: Axis, write: FormatNumber) -> list[Html]:
    made = []
    for tick in _ticks(axis):
        y = axis.y(tick)
        made.append(h.line(x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="nought" if tick == 0 else "grid"))
        made.append(_text(LEFT - 6, y + 4, write(tick), "end"))
    return made


def _along(labels: Sequence[str], slot: float) -> list[Html]:
    every = -(-len(labels) * 44 // (WIDTH - LEFT - RIGHT))
    return [
        _text(LEFT + slot * (n + 0.5), HEIGHT - 6, label, "middle")
        for n, label in enumerate(labels)
        if (len(labels) - 1 - n) % every == 0
    ]


def _text(x: float, y: float, said: str, anchor: str) -> Html:
    return h.text(said, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def _at(held: Sequence[Decimal], at: float, axis: Axis) -> float:
    return axis.y(held[min(int(at * (len(held) - 1) + 0.5), len(held) - 1)])


def _triangle(x: float, y: float, up: bool) -> str:
    high = 7 if up else -7
    return f"M{x - 4:.1f} {y + high:.1f}h8l-4 {-high}z"
