"""Answers on a terminal: tables with aligned figures and their units, and charts."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from unicodedata import combining, east_asian_width

from finapi.verbs.verb import escape_unprintable

MAX_CELL_WIDTH = 60  # characters of a cell that are shown
MIN_TEXT_WIDTH = 16  # of a text that is cut because the terminal is narrow
ELLIPSIS = "..."  # behind a text that was cut
MAX_BAR_WIDTH, MIN_BAR_WIDTH = 40, 10  # characters of the longest bar, and on a narrow terminal
MAX_MONTHS = 36  # of a chart; more are told as years

Rows = Iterable[Mapping[str, Any]]


def get_terminal_width() -> int | None:
    """The columns of the terminal that is written to; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def render_table(rows: Rows, *, coloured: bool, width: int | None = None) -> Iterator[str]:
    """Rows with aligned columns: figures by their points, a dash where nothing is known.

    Where they are wider than ``width``, sentences and names are cut; a figure, a day or an accession number never is.
    """
    rows = list(rows)
    if not rows:
        yield "no rows"
        return
    told = {name: [row[name] for row in rows] for name in rows[0]}
    columns = [_column(name, values, coloured=coloured) for name, values in told.items()]
    wide = [max(map(compute_text_width, _column(name, values, coloured=False))) for name, values in told.items()]
    over = sum(wide) + 2 * len(wide) - 2 - width if width else 0
    if over > 0:
        texts = [n for n, values in enumerate(told.values()) if any(" " in render_cell(one).strip() for one in values)]
        most = _longest([wide[n] for n in texts], over)
        for n, (name, values) in enumerate(told.items()):
            if n in texts:
                columns[n] = _column(name, values, coloured=coloured, most=most)
    for cells in zip(*columns, strict=True):
        yield "  ".join(cells).rstrip()


def _longest(widths: Sequence[int], over: int) -> int:
    """How long texts of these widths may be to take ``over`` characters less; :data:`LEAST` where that is too much."""
    most = max(widths, default=MIN_TEXT_WIDTH)
    while most > MIN_TEXT_WIDTH and sum(max(0, one - most) for one in widths) < over:
        most -= 1
    return most


def _column(name: str, values: Sequence[Any], *, coloured: bool, most: int = MAX_CELL_WIDTH) -> list[str]:
    """The cells of a column of the same width, its head first."""
    name, cells = truncate(escape_unprintable(name), most), [render_cell(value, most) for value in values]
    # By figure: how much of it stands behind the point, the point with it.
    behind = {n: len(cells[n]) - len(cells[n].partition(".")[0]) for n, value in enumerate(values) if is_figure(value)}
    for place, length in behind.items():
        cells[place] += " " * (max(behind.values()) - length)
    width = max(map(compute_text_width, [name, *cells]))
    head, *cells = [_padded(one, width, right=bool(behind)) for one in [name, *cells]]
    if coloured:
        head = f"\x1b[1m{head}\x1b[0m"
        for place in (place for place in behind if values[place] < 0):
            cells[place] = f"\x1b[31m{cells[place]}\x1b[0m"
    return [head, *cells]


def render_chart(title: str, rows: Iterable[tuple[str, Any]], *, width: int | None = None) -> Iterator[str]:
    """A bar a row, within ``width`` where that is possible; below nothing it is drawn in another sign."""
    rows = [(truncate(escape_unprintable(name), MAX_CELL_WIDTH), value) for name, value in rows]
    if not rows:
        yield "no rows"
        return
    most = max((abs(value) for _, value in rows if is_figure(value)), default=0) or 1
    wide = max(compute_text_width(name) for name, _ in rows)
    figures = max(len(render_cell(value)) for _, value in rows)
    room = MAX_BAR_WIDTH if width is None else max(MIN_BAR_WIDTH, min(MAX_BAR_WIDTH, width - wide - figures - 4))
    yield from ("", escape_unprintable(title))
    for name, value in rows:
        bar = ("-" if value < 0 else "#") * round(abs(value) / most * room) if is_figure(value) else ""
        yield f"{_padded(name, wide)}  {bar.ljust(room)}  {render_cell(value)}"


def is_figure(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def truncate(text: str, most: int) -> str:
    """``text``, or its beginning with a mark that it is one."""
    if compute_text_width(text) <= most:
        return text
    kept = text[: most - len(ELLIPSIS)]
    while compute_text_width(kept) > most - len(ELLIPSIS):
        kept = kept[:-1]
    return kept + ELLIPSIS


def compute_text_width(text: str) -> int:
    """The columns of a terminal that a text takes: two for a character of East Asia, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - compute_text_width(text))
    return space + text if right else text + space


def render_cell(value: Any, most: int = MAX_CELL_WIDTH) -> str:
    """A value as it is shown."""
    if value is None:
        return "-"
    if is_figure(value):
        return f"{value:,}"
    return truncate(escape_unprintable(str(value)), most)


# ---- answers


def iter_statement_rows(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a statement, as the filer showed their signs."""
    heads = [f"{one['start_date'] or ''}/{one['end_date']}".lstrip("/") for one in told["columns"]]
    for row in told["rows"]:
        values: list[Any] = [
            None if one is None else -Decimal(one) if row["negated"] else Decimal(one) for one in row["values"]
        ]
        # A heading has no figures.
        cells = dict(zip(heads, values or [""] * len(heads), strict=True))
        yield {"": "  " * row["depth"] + row["label"], "unit": row["unit"] or "", **cells}


def iter_series_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A series with a line a metric and a column a period, newest first."""
    heads = [f"{row['fiscal_year']} {row['fiscal_period']}" for row in rows]
    if rows:
        yield {"metric": "period_end", "unit": "", **dict(zip(heads, (row["period_end"] for row in rows), strict=True))}
    told = [get_metric_values(row) for row in rows]
    for name in told[0] if told else ():
        values = (one[name] for one in told)
        yield {"metric": name, "unit": rows[0]["metrics"][name]["unit"], **dict(zip(heads, values, strict=True))}


def get_metric_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a row, or why there is none."""
    told = {
        name: one if isinstance(one, dict) else {"value": one, **row.get("holes", {}).get(name, {})}
        for name, one in row.get("metrics", {}).items()
    }
    return {name: one.get("reason_code") if one["value"] is None else one["value"] for name, one in told.items()}


def count_by_month(days: Iterable[str | None]) -> list[tuple[str, int]]:
    """How many of the days there are in each month, or in each year of many, oldest first."""
    found = sorted(day for day in days if day)
    months = Counter(day[:7] for day in found)
    return sorted((months if len(months) <= MAX_MONTHS else Counter(day[:4] for day in found)).items())
