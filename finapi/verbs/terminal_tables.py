"""Tables with aligned figures, and bar charts, for the terminal."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from unicodedata import combining, east_asian_width

from finapi.verbs.verb import escape_unprintable

# Maximum and minimum widths, in characters.
MAX_CELL_WIDTH = 60
MIN_TEXT_WIDTH = 16  # Width to which a text is cut at most if the terminal is narrow.
MAX_BAR_WIDTH = 40
MIN_BAR_WIDTH = 10  # Minimum width of the longest bar on a narrow terminal.
ELLIPSIS = "..."  # The end of a text that was cut.
MAX_MONTHS = 36  # Maximum number of months in a chart. A longer time is counted by year.
DEFAULT_WIDTH = 80  # Width for which the layout of a series is chosen where there is no terminal.

# The units of ``--unit``: the power of ten of each, and the decimals to which figures are rounded.
UNITS = {"k": (3, 1), "m": (6, 1), "bn": (9, 2)}

Rows = Iterable[Mapping[str, Any]]


def get_terminal_width() -> int | None:
    """Return the width of the terminal that standard output is, or None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def render_table(rows: Rows, *, coloured: bool, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a table: figures aligned at their decimal points, ``-`` for None.

    If the table is wider than ``width``, sentences and names are cut. Figures, days and accession numbers never are.
    """
    rows = list(rows)
    if not rows:
        yield "no rows"
        return
    values_by_column = {name: [row[name] for row in rows] for name in rows[0]}
    columns = []
    widths = []
    for name, values in values_by_column.items():
        columns.append(_render_column(name, values, coloured=coloured))
        widths.append(max(map(compute_text_width, _render_column(name, values, coloured=False))))
    excess = sum(widths) + 2 * len(widths) - 2 - width if width else 0
    if excess > 0:
        text_columns = [index for index, values in enumerate(values_by_column.values()) if _has_blanks(values)]
        max_width = _fit_texts([widths[index] for index in text_columns], excess)
        for index, (name, values) in enumerate(values_by_column.items()):
            if index in text_columns:
                columns[index] = _render_column(name, values, coloured=coloured, max_width=max_width)
    for cells in zip(*columns, strict=True):
        yield "  ".join(cells).rstrip()


def _has_blanks(values: Iterable[Any]) -> bool:
    return any(" " in render_cell(value).strip() for value in values)


def _fit_texts(widths: Sequence[int], excess: int) -> int:
    """Return the width to which texts must be cut to save ``excess`` characters, at least MIN_TEXT_WIDTH."""
    max_width = max(widths, default=MIN_TEXT_WIDTH)
    while max_width > MIN_TEXT_WIDTH and sum(max(0, width - max_width) for width in widths) < excess:
        max_width -= 1
    return max_width


def _render_column(name: str, values: Sequence[Any], *, coloured: bool, max_width: int = MAX_CELL_WIDTH) -> list[str]:
    """Return the cells of a column, all of the same width, its heading first."""
    heading = truncate(escape_unprintable(name), max_width)
    cells = [render_cell(value, max_width) for value in values]
    # The length of each figure's fraction with the decimal point, by the index of the figure.
    fraction_lengths = {
        index: len(cells[index]) - len(cells[index].partition(".")[0])
        for index, value in enumerate(values)
        if is_figure(value)
    }
    for index, length in fraction_lengths.items():
        cells[index] += " " * (max(fraction_lengths.values()) - length)
    width = max(map(compute_text_width, [heading, *cells]))
    heading, *cells = [_pad(cell, width, right=bool(fraction_lengths)) for cell in [heading, *cells]]
    if coloured:
        heading = f"\x1b[1m{heading}\x1b[0m"
        for index in fraction_lengths:
            if values[index] < 0:
                cells[index] = f"\x1b[31m{cells[index]}\x1b[0m"
    return [heading, *cells]


def render_chart(title: str, rows: Iterable[tuple[str, Any]], *, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a bar chart of (label, value) rows. Bars of negative values are drawn with ``-``."""
    rows = [(truncate(escape_unprintable(label), MAX_CELL_WIDTH), value) for label, value in rows]
    if not rows:
        yield "no rows"
        return
    largest = max((abs(value) for _, value in rows if is_figure(value)), default=0) or 1
    label_width = max(compute_text_width(label) for label, _ in rows)
    figure_width = max(len(render_cell(value)) for _, value in rows)
    bar_width = MAX_BAR_WIDTH
    if width is not None:
        bar_width = max(MIN_BAR_WIDTH, min(MAX_BAR_WIDTH, width - label_width - figure_width - 4))
    yield from ("", escape_unprintable(title))
    for label, value in rows:
        bar = ""
        if is_figure(value):
            bar = ("-" if value < 0 else "#") * round(abs(value) / largest * bar_width)
        yield f"{_pad(label, label_width)}  {bar.ljust(bar_width)}  {render_cell(value)}"


def is_figure(value: Any) -> bool:
    """Return True for a number, False for anything else, booleans included."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def truncate(text: str, max_width: int) -> str:
    """Return ``text``, or as much of its beginning as fits with an ellipsis."""
    if compute_text_width(text) <= max_width:
        return text
    beginning = text[: max_width - len(ELLIPSIS)]
    while compute_text_width(beginning) > max_width - len(ELLIPSIS):
        beginning = beginning[:-1]
    return beginning + ELLIPSIS


def compute_text_width(text: str) -> int:
    """Return the width of a text on a terminal: East Asian characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if not combining(character):
            width += 2 if east_asian_width(character) in "WF" else 1
    return width


def _pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - compute_text_width(text))
    return space + text if right else text + space


def render_cell(value: Any, max_width: int = MAX_CELL_WIDTH) -> str:
    """Return the text of a cell: a figure with thousands separators, ``-`` for None, or a text that is cut."""
    if value is None:
        return "-"
    if is_figure(value):
        return f"{value:,}"
    return truncate(escape_unprintable(str(value)), max_width)


# ---- rows of responses


def iter_statement_rows(statement: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a statement with the signs that the filing prints."""
    headings = [f"{column['start_date'] or ''}/{column['end_date']}".lstrip("/") for column in statement["columns"]]
    for row in statement["rows"]:
        sign = -1 if row["negated"] else 1
        values: list[Any] = [None if text is None else sign * Decimal(text) for text in row["values"]]
        # A heading has no figures.
        cells = dict(zip(headings, values or [""] * len(headings), strict=True))
        yield {"": "  " * row["depth"] + row["label"], "unit": row["unit"] or "", **cells}


def iter_series_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a series with one line for each metric and one column for each period, newest first."""
    if not rows:
        return
    headings = [f"{row['fiscal_year']} {row['fiscal_period']}" for row in rows]
    period_ends = [row["period_end"] for row in rows]
    yield {"metric": "period_end", "unit": "", **dict(zip(headings, period_ends, strict=True))}
    values_by_row = [get_metric_values(row) for row in rows]
    for metric in values_by_row[0]:
        values = [row_values[metric] for row_values in values_by_row]
        unit = rows[0]["metrics"][metric]["unit"]
        yield {"metric": metric, "unit": unit, **dict(zip(headings, values, strict=True))}


def iter_period_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a series with one line for each period, newest first, and one column for each metric."""
    for row in rows:
        cells = {"period": f"{row['fiscal_year']} {row['fiscal_period']}", "period_end": row["period_end"]}
        for metric, value in get_metric_values(row).items():
            cells[f"{metric} {rows[0]['metrics'][metric]['unit']}"] = value
        yield cells


def render_series(rows: Sequence[Mapping[str, Any]], *, coloured: bool, width: int | None) -> Iterator[str]:
    """Yield the lines of a series: a line for each metric if that fits the width, otherwise the narrower layout."""
    layouts = [list(iter_series_rows(rows)), list(iter_period_rows(rows))]
    widths = [max(map(compute_text_width, render_table(layout, coloured=False))) for layout in layouts]
    is_narrower_by_period = widths[0] > (width or DEFAULT_WIDTH) and widths[1] < widths[0]
    yield from render_table(layouts[is_narrower_by_period], coloured=coloured, width=width)


def scale_series(rows: Iterable[Mapping[str, Any]], unit_name: str) -> list[dict[str, Any]]:
    """Return a series with money and numbers of shares in a unit of :data:`UNITS`, rounded.

    The unit of a scaled metric is ``USD m``. Figures by share and ratios are not changed.
    """
    exponent, decimals = UNITS[unit_name]
    scaled_rows = []
    for row in rows:
        metrics = {}
        for metric, cell in row["metrics"].items():
            unit, value = cell["unit"], cell["value"]
            if unit == "shares" or (unit.isalpha() and unit.isupper()):
                if value is not None:
                    value = round(Decimal(value).scaleb(-exponent), decimals)
                    value = int(value) if value == int(value) else value
                cell = {**cell, "value": value, "unit": f"{unit} {unit_name}"}
            metrics[metric] = cell
        scaled_rows.append({**row, "metrics": metrics})
    return scaled_rows


def get_metric_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each metric of a row, or the reason code of a missing one."""
    values = {}
    for metric, cell in row.get("metrics", {}).items():
        if not isinstance(cell, dict):
            cell = {"value": cell, **row.get("holes", {}).get(metric, {})}
        values[metric] = cell.get("reason_code") if cell["value"] is None else cell["value"]
    return values


def count_by_month(days: Iterable[str | None]) -> list[tuple[str, int]]:
    """Return how many days are in each month, oldest first. If they span more than MAX_MONTHS, count by year."""
    known_days = [day for day in days if day]
    counts = Counter(day[:7] for day in known_days)
    if len(counts) > MAX_MONTHS:
        counts = Counter(day[:4] for day in known_days)
    return sorted(counts.items())
