"""The reasons why figures of a table are missing: a letter in the cell, and a legend under the table."""

from __future__ import annotations

from string import ascii_lowercase
from typing import NamedTuple

from finapi.market.financials import reasons
from finapi.web.html.tags import NOTHING, Html, h


class ReasonText(NamedTuple):
    """The label and the definition of a reason code."""

    label: str
    definition: str


class ReasonLegend:
    """The reasons that occur in one table, each with its letter."""

    def __init__(self) -> None:
        self._letters_by_code: dict[str, str] = {}

    def render_missing_cell(self, code: str, url: str = "") -> Html:
        """Return the cell of a figure that is missing for a reason, and add the reason to the legend.

        ``url`` is the page of the figure's proof, if it has one.
        """
        next_letter = ascii_lowercase[len(self._letters_by_code) % 26]
        letter = self._letters_by_code.setdefault(code, next_letter)
        label = describe_reason(code).label
        dash = h.a("–", href=url, aria_label=label) if url else "–"
        return h.td(dash, h.sup(letter, title=label), class_="none")

    def render(self) -> Html:
        """Return the legend: letters with the reasons that they stand for. Empty if no figure is missing."""
        if not self._letters_by_code:
            return NOTHING
        entries = []
        for code, letter in self._letters_by_code.items():
            reason = describe_reason(code)
            entries.append([h.dt(letter), h.dd(h.b(reason.label), ". ", reason.definition)])
        return h.dl(entries, class_="reasons")


def describe_reason(code: str) -> ReasonText:
    """Return the texts of a reason code; a code that is not in the catalogue has no definition."""
    reason = reasons.CATALOGUE.get(code)
    if reason is None:
        return ReasonText(code.replace("_", " ").capitalize(), "")
    return ReasonText(reason.label, reason.definition)
