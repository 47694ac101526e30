"""How figures are written: scaled and with separators, negative ones in parentheses, missing ones with their reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from string import ascii_lowercase
from typing import Any, NamedTuple

from finapi.market.financials import reasons
from finapi.web.html.tags import NOTHING, Child, Html, h

Number = Decimal | int


class Scale(NamedTuple):
    """By how many places money is shortened, and how that is called."""

    places: int
    said: str

    def of(self, unit: str) -> str:
        """What stands over a table: "Millions of USD"."""
        return f"{self.said} of {unit}" if self.places else unit


SCALES = (Scale(6, "Millions"), Scale(3, "Thousands"), Scale(0, ""))


def choose_scale(values: Iterable[Number | None]) -> Scale:
    """The scale at which the greatest of the values has at least three digits."""
    most = max((_size(value) for value in values if value is not None), default=Decimal(0))
    return next(one for one in SCALES if one.places == 0 or most.scaleb(-one.places) >= 100)


def format_money(value: Number, by: Scale = SCALES[2]) -> str:
    """An amount at a scale; what would be rounded to nothing keeps a digit."""
    amount = _size(value).scaleb(-by.places)
    digits = 0 if amount >= 1 or not amount or not by.places else 1
    return _signed(value, f"{amount:,.{digits}f}")


def format_number(value: Number) -> str:
    """A number with separators and the decimal places that it has."""
    return _signed(value, f"{_size(value):,f}")


def format_per_share(value: Number) -> str:
    """An amount of money per share."""
    return _signed(value, f"{_size(value):,.2f}")


def format_percentage(value: Number) -> str:
    """A ratio in per cent."""
    return _signed(value, f"{_size(value) * 100:,.1f} %")


def format_multiple(value: Number) -> str:
    """A ratio as a multiple."""
    return _signed(value, f"{_size(value):,.2f}")


def format_short(value: Number, unit: str = "") -> str:
    """An amount in few characters, for a headline or an axis: "391 bn"."""
    for places, said in ((12, "tn"), (9, "bn"), (6, "m"), (3, "k")):
        if _size(value) >= 10**places:
            return _signed(value, f"{_size(value).scaleb(-places):,.1f}".removesuffix(".0") + f" {said}{unit}")
    return _signed(value, f"{_size(value):,.2f}".rstrip("0").rstrip(".")) + unit


def _size(value: Number) -> Decimal:
    return Decimal(value).copy_abs()


def _signed(value: Number, text: str) -> str:
    return f"({text})" if value < 0 else text


def render_figure_cell(text: Child, value: Number | None = None, **attributes: Any) -> Html:
    """The cell of a figure; a negative one has a class, so that its digits stand under the others'."""
    return h.td(text, class_="neg" if value is not None and value < 0 else None, **attributes)


class ReasonLegend:
    """Why figures of a table are missing: a letter at each, and what the letters mean under the table."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, code: str) -> Html:
        """The cell of a figure that is missing for a reason."""
        letter = self._letters.setdefault(code, ascii_lowercase[len(self._letters) % 26])
        return h.td("–", h.sup(letter, title=self.said(code)[0]), class_="none")

    @staticmethod
    def said(code: str) -> tuple[str, str]:
        """The label and the definition of a reason."""
        known = reasons.CATALOGUE.get(code)
        return (known.label, known.definition) if known else (code.replace("_", " ").capitalize(), "")

    def legend(self) -> Html:
        """What the letters mean; nothing where no figure is missing."""
        if not self._letters:
            return NOTHING
        told = [(letter, *self.said(code)) for code, letter in self._letters.items()]
        return h.dl([[h.dt(letter), h.dd(h.b(label), ". ", said)] for letter, label, said in told], class_="reasons")


def render_table(
    caption: Child, head: Sequence[Child], rows: Iterable[Html], *, class_: str = "", label: str = ""
) -> Html:
    """A table that scrolls where it is wider than the window; cells of ``head`` that are no HTML are put in a th."""
    cells = [one if isinstance(one, Html) and one.startswith("<th") else h.th(one, scope="col") for one in head]
    made = h.table(h.caption(caption), h.thead(h.tr(cells)), h.tbody(list(rows)), class_=class_ or None)
    return h.div(made, class_="scroll", tabindex="0", role="region", aria_label=label or "Table")


# A column of a table of rows that are alike: its head (">" for figures), and what a row has there, a cell or what
# stands in one. As a text "Head=member": "@member" is a time, "#member" is code, "*member" names the row.
GridColumn = tuple[str, Callable[[Any], Child]] | str


def render_grid(caption: Child, columns: Iterable[GridColumn], rows: Iterable[Any], class_: str = "list") -> Html:
    """A table of rows that are alike; figures stand right."""
    made = [_column(one) if isinstance(one, str) else one for one in columns]
    lines = [h.tr([_cell_of(one) for one in cells]) for cells in ([write(row) for _, write in made] for row in rows)]
    head = [h.th(name.lstrip(">"), scope="col", class_="num" if name[:1] == ">" else None) for name, _ in made]
    return render_table(
        caption, head, lines, class_=class_, label=str(caption) if isinstance(caption, str) else "Table"
    )


def _cell_of(one: Child) -> Html:
    if isinstance(one, Html) and one.startswith(("<td", "<th")):
        return one
    # A day or a form stands on one line.
    return h.td(one, class_="short" if type(one) is str and 0 < len(one) < 12 else None)


def _column(told: str) -> tuple[str, Callable[[Any], Child]]:
    head, _, member = told.partition("=")
    name = member.lstrip("@#*")
    if head[0] == ">":
        return head, lambda row: render_number_cell(row[name])
    kinds: dict[str, Callable[[Any], Child]] = {
        "@": lambda row: h.td((row[name] or "")[:16].replace("T", " "), class_="short"),
        "#": lambda row: h.code(row[name]) if row[name] else "",
        "*": lambda row: h.th(row[name], scope="row"),
    }
    return head, kinds.get(member[0], lambda row: row[name] or "")


def render_number_cell(value: Number | None, write: Callable[[Number], str] = format_number) -> Html:
    """The cell of a figure in such a table; a dash for none."""
    return h.td("–" if value is None else write(value), class_="num")


def render_link_header(text: Child, to: str) -> Html:
    """The cell that a row is named by, and where it leads."""
    return h.th(h.a(text, href=to), scope="row")


def format_count(number: int, noun: str) -> str:
    """How many of something there are: "1 call", "2,000 calls"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def render_description_list(pairs: Iterable[tuple[str, Child]], class_: str = "pairs") -> Html:
    """Names and what they are, those that are anything."""
    return h.dl([h.div(h.dt(name), h.dd(said)) for name, said in pairs if said], class_=class_)


def render_day(text: str | None) -> Child:
    """A day as it is written."""
    return h.time(text, datetime=text) if text else "unknown"


def render_select(label: str, name: str, chosen: str, choices: Mapping[str, str]) -> Html:
    """A select of a form in the line above a table, with its label."""
    made = [h.option(said, value=value, selected=value == chosen) for value, said in choices.items()]
    return h.div(h.label(label, for_=f"f-{name}"), h.select(made, id=f"f-{name}", name=name))


def render_input(label: str, name: str, value: Any = "", type: str = "text", **more: Any) -> Html:
    """An input of such a form, with its label."""
    text = None if value in (None, "") else str(value)
    return h.div(h.label(label, for_=f"f-{name}"), h.input(id=f"f-{name}", name=name, type=type, value=text, **more))
