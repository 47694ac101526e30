"""Tables and lists of pages: grids with described columns, tables of figures, pairs of names and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from finapi.web.html.number_formats import Number, format_number
from finapi.web.html.tags import Child, Html, h

# A short text, such as a date or a form type, is not broken into two lines.
MAX_UNBROKEN_CHARACTERS = 11

# The formats of a cell: text, a time to the minute, code, or the header of its row.
ColumnStyle = Literal["text", "time", "code", "row_header"]


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of a grid.

    ``source`` is a key of the row, or a function that renders a row's cell: a ``td`` or ``th``, or its content.
    """

    heading: str
    source: str | Callable[[Any], Child]
    numeric: bool = False  # Aligned to the right; a number that is read by its key gets separators.
    style: ColumnStyle = "text"

    def render_heading(self) -> Html:
        """Return the header cell of the column."""
        return h.th(self.heading, scope="col", class_="num" if self.numeric else None)

    def render_cell(self, row: Any) -> Html:
        """Return the cell of a row."""
        if callable(self.source):
            return _wrap_cell(self.source(row))
        content = row[self.source]
        if self.numeric:
            return render_number_cell(content)
        if self.style == "time":
            return h.td((content or "")[:16].replace("T", " "), class_="short")
        if self.style == "row_header":
            return h.th(content, scope="row")
        if self.style == "code":
            return h.td(h.code(content) if content else "")
        return _wrap_cell(content or "")


def render_grid(caption: Child, columns: Iterable[GridColumn], rows: Iterable[Any], class_: str = "list") -> Html:
    """Return a table of rows that all have the same columns."""
    columns = list(columns)
    lines = [h.tr([column.render_cell(row) for column in columns]) for row in rows]
    headings = [column.render_heading() for column in columns]
    label = str(caption) if isinstance(caption, str) else "Table"
    return render_table(caption, headings, lines, class_=class_, label=label)


def render_table(
    caption: Child, headings: Sequence[Child], rows: Iterable[Html], *, class_: str = "", label: str = ""
) -> Html:
    """Return a table that scrolls if it is wider than the window. A heading that is not a ``th`` is put into one."""
    heading_cells = []
    for heading in headings:
        is_cell = isinstance(heading, Html) and heading.startswith("<th")
        heading_cells.append(heading if is_cell else h.th(heading, scope="col"))
    table = h.table(h.caption(caption), h.thead(h.tr(heading_cells)), h.tbody(list(rows)), class_=class_ or None)
    return h.div(table, class_="scroll", tabindex="0", role="region", aria_label=label or "Table")


def render_figure_cell(content: Child, number: Number | None = None, **attributes: Any) -> Html:
    """Return the cell of a figure. A negative one has a class, so that its digits align with those of the others."""
    is_negative = number is not None and number < 0
    return h.td(content, class_="neg" if is_negative else None, **attributes)


def render_number_cell(number: Number | None, format_content: Callable[[Number], str] = format_number) -> Html:
    """Return a numeric cell of a grid; a missing number is a dash."""
    return h.td("–" if number is None else format_content(number), class_="num")


def render_link_header(content: Child, url: str) -> Html:
    """Return the header cell of a row, linked to the page of the row's subject."""
    return h.th(h.a(content, href=url), scope="row")


def render_description_list(pairs: Iterable[tuple[str, Child]], class_: str = "pairs") -> Html:
    """Return names with their descriptions; pairs with an empty description are left out."""
    return h.dl([h.div(h.dt(name), h.dd(description)) for name, description in pairs if description], class_=class_)


def _wrap_cell(content: Child) -> Html:
    if isinstance(content, Html) and content.startswith(("<td", "<th")):
        return content
    is_short = type(content) is str and 0 < len(content) <= MAX_UNBROKEN_CHARACTERS
    return h.td(content, class_="short" if is_short else None)
