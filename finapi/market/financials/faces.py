"""The faces of the statements that filings present: which concepts stand on them, and which metrics their labels mean.

What stands in brackets, and what a cash flow statement tells below its closing balance, is no face.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from finapi.market.financials.metrics import MOST_PARTS, NO_PRIORITY, Metric, MetricMapping

# The statements whose lines a metric may stand on, by the kinds that sections have.
_KINDS = {
    "income": "income_statement",
    "comprehensive-income": "income_statement",
    "balance": "balance_sheet",
    "cash-flow": "cash_flow_statement",
}
KINDS = tuple(_KINDS)

# Words in brackets that are another sign of the same line, and part of its name.
_SIGNS = (
    r"loss|losses|income|earnings|benefit|expense|credit|deficit|used|used (?:in|for|by)|decrease|increase|reduction"
)
_BRACKETS = re.compile(rf"\((?!(?:{_SIGNS})\))[^()]*\)|\[[^\[\]]*\]", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s\b|[^a-z0-9]+")
# A label that says itself that the line is current.
_CURRENT = re.compile(r"\b(short term|current)\b")
_CLOSING = re.compile(r"(^(at )?|cash.*\b)end( of|$)")

# Where a line of a balance sheet stands: before the total that closes its part.
_PARTS = (
    ("us-gaap:AssetsCurrent", "current_assets"),
    ("us-gaap:Assets", "assets"),
    ("us-gaap:LiabilitiesCurrent", "current_liabilities"),
)


# Of how many lines a sum may be made.
SUMMED = range(2, MOST_PARTS + 1)


class FaceLine(NamedTuple):
    """A line on the face of a statement: its concept, its label in plain words, the part of a balance sheet that it
    stands in, and the concept's balance."""

    concept: str
    label: str
    text: str
    part: str
    balance: str | None


class Placed(NamedTuple):
    """The lines of a filing that together mean a metric by their labels; ``sign`` is -1 for a line of the other
    balance."""

    concepts: tuple[str, ...]
    sign: int


# Place, section, kind, concept, label and balance, in the order of the pages.
FaceRow = tuple[int, int, str, str, str | None, str | None]


class Faces:
    """The faces of the filings of a company, by their places."""

    def __init__(self, rows: Iterable[FaceRow], mapping: MetricMapping) -> None:
        self._mapping = mapping
        self.concepts: dict[int, dict[str, set[str]]] = {}
        # Of each statement the first page, whose labels are read: later ones are of subsidiaries and segments.
        self._pages: dict[tuple[int, str], list[FaceLine]] = {}
        for (place, _, kind), page in groupby(rows, key=lambda row: row[:3]):
            lines, statement = list(_face(page, kind)), _KINDS[kind]
            if kind != "comprehensive-income":
                self._pages.setdefault((place, statement), lines)
            shown = self.concepts.setdefault(place, {}).setdefault(statement, set())
            shown.update(line.concept for line in lines)

    def meant(self) -> set[str]:
        """Every concept of a line whose label may mean a metric."""
        return {line.concept for page in self._pages.values() for line in page if _meanings(self._mapping, line.label)}

    def chosen(self, kinds: Mapping[tuple[int, str], str]) -> Iterator[tuple[int, Metric, Placed | list[FaceLine]]]:
        """Of each filing and metric the line that means it and is under no tag of it, or the lines that may mean it
        where none is clear. ``kinds`` holds the kind of unit of the facts of a place and concept."""
        for (place, statement), page in self._pages.items():
            found: dict[str, list[FaceLine]] = {}
            for line in page:
                for key in _meanings(self._mapping, line.label) if (place, line.concept) in kinds else ():
                    metric = self._mapping.metrics[key]
                    fits = metric.statement == statement and metric.units == kinds[place, line.concept]
                    if fits and (metric.within in ("", line.part) or _CURRENT.search(line.label)):
                        found.setdefault(key, []).append(line)
            for key, lines in found.items():
                metric = self._mapping.metrics[key]
                shown = self.concepts[place][statement]
                mapped = {one for one in shown if (place, one) in kinds and self._is_mapped(metric, one)}
                one = self._placed(metric, lines, page, mapped)
                if one is not None:
                    yield place, metric, one

    def _placed(
        self, metric: Metric, lines: list[FaceLine], page: list[FaceLine], mapped: set[str]
    ) -> Placed | list[FaceLine] | None:
        sure = [line for line in lines if metric.surely is not None and metric.surely.fullmatch(line.label)]
        exact = sure or [line for line in lines if metric.means(line.label)]
        if not exact and metric.parts is not None:
            parts = {line.concept: line for line in lines if metric.parts.fullmatch(line.label)}
            if len(parts) in SUMMED and mapped <= parts.keys() and len({one.balance for one in parts.values()}) == 1:
                return Placed(tuple(parts), 1)
        if mapped and min(mapped, key=lambda one: self._order(metric, one)) in {line.concept for line in exact}:
            return None
        if not sure and mapped - {line.concept for line in page if _means_other(metric, line, self._mapping)}:
            return None
        totals = [line for line in exact if line.label.startswith("total ")]
        if len({line.concept for line in totals or exact}) != 1:
            return lines
        one = (totals or exact)[0]
        other = None not in (one.balance, metric.balance) and one.balance != metric.balance
        return Placed((one.concept,), -1 if other else 1)

    def _order(self, metric: Metric, concept: str) -> tuple[int, str]:
        return metric.priority(self._mapping.concept(concept) or concept), concept

    def _is_mapped(self, metric: Metric, concept: str) -> bool:
        counted = self._mapping.concept(concept)
        return counted is not None and metric.priority(counted) < NO_PRIORITY


def _face(page: Iterable[FaceRow], kind: str) -> Iterator[FaceLine]:
    rows = list(page)
    at = {row[3]: number for number, row in enumerate(rows)} if kind == "balance" else {}
    ends = [(at[concept], part) for concept, part in _PARTS if concept in at]
    for number, (_, _, _, concept, label, balance) in enumerate(rows):
        part = next((part for end, part in ends if number < end), "")
        words = plain(label or "")
        yield FaceLine(concept, words, label or "", part, balance)
        if kind == "cash-flow" and _CLOSING.search(words):
            return


@lru_cache(maxsize=20_000)
def plain(label: str) -> str:
    """A label in small letters and digits, without what stands in brackets."""
    bare = _BRACKETS.sub(" ", label)
    text = _POSSESSIVE.sub(" ", (bare if bare.strip() else label).lower().replace("&", " and "))
    return re.sub(r"\b(notes?|footnotes?) [0-9a-z]{1,2}( and [0-9]{1,2})?$", "", text).strip()


def _means_other(metric: Metric, line: FaceLine, mapping: MetricMapping) -> bool:
    """Whether the label of a line under a tag of a metric clearly says another one of the same statement."""
    means = [key for key in _meanings(mapping, line.label) if mapping.metrics[key].means(line.label)]
    return bool(means) and metric.key not in means


@lru_cache(maxsize=20_000)
def _meanings(mapping: MetricMapping, label: str) -> tuple[str, ...]:
    """The metrics that a label may mean."""
    return tuple(key for key, one in mapping.metrics.items() if one.means(label) or one.may_mean(label))
