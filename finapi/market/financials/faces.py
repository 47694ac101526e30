"""The faces of the statements that filings present: which concepts stand on them, and which metrics their labels mean.

What stands in brackets, and what a cash flow statement tells below its closing balance, is no face.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from finapi.edgar.xbrl.qnames import is_extension
from finapi.market.financials.metric_mapping import MAX_PARTS, NO_PRIORITY, Metric, MetricMapping

# The statements whose lines a metric may stand on, by the kinds that sections have.
_KINDS = {
    "income": "income_statement",
    "comprehensive-income": "income_statement",
    "balance": "balance_sheet",
    "cash-flow": "cash_flow_statement",
}
# What a page tells in brackets stands on one of its own.
_BRACKETED = "-parenthetical"
SECTION_KINDS = (*_KINDS, *(kind + _BRACKETED for kind in _KINDS))

# Words in brackets that are another sign of the same line, and part of its name.
_SIGNS = (
    r"loss|losses|income|earnings|benefit|expense|credit|deficit|used|used (?:in|for|by)|decrease|increase|reduction"
)
_BRACKETS = re.compile(rf"\((?!(?:{_SIGNS})\))[^()]*\)|\[[^\[\]]*\]", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s\b|[^a-z0-9]+")
# A label that says itself that the line is current.
_CURRENT = re.compile(r"\b(short term|current)\b")
# One that says that not all liabilities are in it.
_PARTIAL = re.compile(r"\b(long term|non ?current|other)\b")
_CLOSING = re.compile(r"(^(at )?|cash.*\b)end( of|$)")

# Where a line of a balance sheet stands: before the total that closes its part. IFRS filers may begin with what is not
# current, and have equity before liabilities.
_PARTS = {
    "us-gaap:AssetsCurrent": "current_assets",
    "us-gaap:Assets": "assets",
    "us-gaap:LiabilitiesCurrent": "current_liabilities",
    "ifrs-full:CurrentAssets": "current_assets",
    "ifrs-full:NoncurrentAssets": "assets",
    "ifrs-full:Assets": "assets",
    "ifrs-full:Equity": "equity",
    "ifrs-full:NoncurrentLiabilities": "liabilities",
    "ifrs-full:CurrentLiabilities": "current_liabilities",
}


# What stands between the liabilities and the equity, and the metrics whose lines are no part of it.
MEZZANINE, MINORITY, EQUITY, LIABILITIES = "temporary_equity", "minority_interest", "total_equity", "total_liabilities"
MAX_BETWEEN = 8  # lines of a balance sheet below its liabilities and before equity
COSTS, GROSS = "cost_of_revenue", "gross_profit"

# Of how many lines a sum may be made.
SUMMED = range(2, MAX_PARTS + 1)
# A label that says what its line leaves out, and the lines that it then means.
_WITHOUT = re.compile(
    r"\b(exclu\w*|shown|listed|stated) (of|below|separately|items)|\bexclud|items below", re.IGNORECASE
)
_WEAR = re.compile(r"(depreciation|amortization|depletion).*")
# Costs stand above these lines of an income statement.
_RESULTS = ("gross_profit", "operating_income", "pretax_income")


class FaceLine(NamedTuple):
    """A line on the face of a statement: its concept, its label in plain words, the part of a balance sheet that it
    stands in, and the concept's balance."""

    concept: str
    label: str
    text: str
    part: str
    balance: str | None


class LabelledLines(NamedTuple):
    """The lines of a filing that together mean a metric by their labels; ``sign`` is -1 for a line of the other
    balance."""

    concepts: tuple[str, ...]
    sign: int


class LineBeside(NamedTuple):
    """A line that belongs beside a metric: with the totals it is ``inside``, the lines that say that they are without
    it (``but``; empty: it is in no other line), and the periods for which it has a value."""

    concept: str
    label: str
    totals: frozenset[str]
    excluded_from: frozenset[str]
    periods: frozenset[tuple[int, int]]


# The values of the concepts of a filing by day and length.
Values = Mapping[tuple[int, str], Mapping[tuple[int, int], str]]

# Place, section, kind, concept, label and balance, in the order of the pages.
FaceRow = tuple[int, int, str, str, str | None, str | None]
# Place, total, item and weight of a sum of a calculation linkbase.
SumRow = tuple[int, str, str, str]


class Faces:
    """The faces of the filings of a company, by their places."""

    def __init__(self, rows: Iterable[FaceRow], mapping: MetricMapping, sums: Iterable[SumRow] = ()) -> None:
        self._mapping = mapping
        # By place and concept the totals that it is added to, as the calculation linkbase says; empty for a total.
        self._added_to: dict[tuple[int, str], set[str]] = {}
        for place, total, item, weight in sums:
            self._added_to.setdefault((place, total), set())
            self._added_to.setdefault((place, item), set()).update([total] if Decimal(weight) > 0 else ())
        self.concepts: dict[int, dict[str, set[str]]] = {}
        # Of each statement the first page, whose labels are read: later ones are of subsidiaries and segments.
        self._pages: dict[tuple[int, str], list[FaceLine]] = {}
        # The lines of those later ones, which only name what the first one lacks.
        self._later: dict[tuple[int, str], list[FaceLine]] = {}
        # By place and statement the concepts that it tells in brackets.
        self.bracketed: dict[tuple[int, str], set[str]] = {}
        for (place, _, kind), page in groupby(rows, key=lambda row: row[:3]):
            lines, statement = list(_face(page, kind)), _KINDS[kind.removesuffix(_BRACKETED)]
            if kind.endswith(_BRACKETED):
                self.bracketed.setdefault((place, statement), set()).update(line.concept for line in lines)
                continue
            if kind != "comprehensive-income":
                first = self._pages.setdefault((place, statement), lines)
                self._later.setdefault((place, statement), []).extend(lines if first is not lines else ())
            shown = self.concepts.setdefault(place, {}).setdefault(statement, set())
            shown.update(line.concept for line in lines)

    def list_meant_concepts(self) -> set[str]:
        """Every concept of a line whose label may mean a metric, or that stands between liabilities and equity."""
        pages = (*self._pages.values(), *self._later.values())
        means = {line.concept for page in pages for line in page if _meanings(self._mapping, line.label)}
        return means | {line.concept for page in self._pages.values() for line in self._sides(page)[2]}

    def iter_labelled(
        self, kinds: Mapping[tuple[int, str], str], values: Values
    ) -> Iterator[tuple[int, Metric, LabelledLines | list[FaceLine]]]:
        """Of each filing and metric the line that means it and is under no tag of it, or the lines that may mean it
        where none is clear. ``kinds`` holds the kind of unit of the facts of a place and concept."""
        for (place, statement), page in self._pages.items():
            found: dict[str, list[FaceLine]] = {}
            outside: dict[str, list[FaceLine]] = {}
            balance = statement == "balance_sheet"
            closing = self._closing(place, page, values) if balance else self._costs(place, page, values)
            yield from ((place, self._mapping.metrics[key], one) for key, one in closing.items())
            for line in page:
                for key in _meanings(self._mapping, line.label) if (place, line.concept) in kinds else ():
                    metric = self._mapping.metrics[key]
                    fits = metric.statement == statement and _is_of(metric, kinds[place, line.concept], line.label)
                    if fits and _is_within(metric, line, page):
                        found.setdefault(key, []).append(line)
                    elif fits and metric.is_named_by(line.label):
                        outside.setdefault(key, []).append(line)
            # A line of the name in another part of the balance sheet may mean it, where nothing else does.
            yield from ((place, self._mapping.metrics[key], outside[key]) for key in outside.keys() - found.keys())
            for key, lines in ((key, lines) for key, lines in found.items() if key not in closing):
                metric = self._mapping.metrics[key]
                shown = self.concepts[place][statement]
                mapped = {one for one in shown if (place, one) in kinds and self._is_mapped(metric, one)}
                one = self._placed(metric, place, lines, page, mapped, values)
                if metric.joined is not None and not isinstance(one, list):
                    one = self._joined(metric, place, one, page, mapped, values)
                if one is not None:
                    yield place, metric, one
            yield from self._on_later_pages(place, statement, {*found, *outside}, kinds)

    def _on_later_pages(
        self, place: int, statement: str, known: Container[str], kinds: Mapping[tuple[int, str], str]
    ) -> Iterator[tuple[int, Metric, list[FaceLine]]]:
        """The lines of a statement's later pages that its first one has nothing like."""
        for line in self._later.get((place, statement), ()):
            for key in _meanings(self._mapping, line.label) if (place, line.concept) in kinds else ():
                metric = self._mapping.metrics[key]
                fits = metric.statement == statement and _is_of(metric, kinds[place, line.concept], line.label)
                if fits and key not in known and metric.is_named_by(line.label):
                    yield place, metric, [line]

    def iter_exact_concepts(self) -> Iterator[tuple[int, str, set[str]]]:
        """Of each filing and metric that has ``siblings`` the concepts of the lines whose labels mean it."""
        for (place, statement), page in self._pages.items():
            for metric in self._mapping.metrics.values():
                if metric.siblings is not None and metric.statement == statement:
                    yield place, metric.key, {line.concept for line in page if metric.is_named_by(line.label)}

    def iter_containing_concepts(self, values: Values) -> Iterator[tuple[int, str, str]]:
        """Of each filing the concepts of a metric that is told ``whole`` which another concept of it on the same page
        holds, and that one."""
        sums = [metric for metric in self._mapping.metrics.values() if metric.whole]
        for (place, statement), page in self._pages.items():
            told = [line for line in page if (place, line.concept) in values]
            for metric in sums:
                at = {line.concept: number for number, line in enumerate(told) if self._is_mapped(metric, line.concept)}
                if metric.statement == statement and len(at) > 1:
                    for part, number in at.items():
                        held = [one for one in self._inside(metric, place, told, number, values) if one in at]
                        yield from ((place, part, max(held, key=at.__getitem__)) for _ in held[:1])

    def iter_lines_beside(self, values: Values) -> Iterator[tuple[int, str, list[LineBeside]]]:
        """Of each filing and metric the lines that belong beside the one that means it."""
        for (place, statement), page in self._pages.items():
            for metric in self._mapping.metrics.values():
                if metric.apart is not None and metric.statement == statement:
                    found = list(self._apart(metric, place, page, values))
                    if found:
                        yield place, metric.key, found

    def _apart(self, metric: Metric, place: int, page: Sequence[FaceLine], values: Values) -> Iterator[LineBeside]:
        results = [self._mapping.metrics[key] for key in _RESULTS if metric.statement == "income_statement"]
        until = (at for at, line in enumerate(page) if any(one.is_named_by(line.label) for one in results))
        told = [line for line in page[: next(until, len(page))] if (place, line.concept) in values]
        without = frozenset(line.concept for line in told if results and _WITHOUT.search(line.text))
        for at, line in enumerate(told):
            belongs = metric.apart is not None and metric.apart.fullmatch(line.label) and not line.part
            wear = without and _WEAR.fullmatch(line.label)
            of = values[place, line.concept]
            keys = frozenset(key for key, value in of.items() if Decimal(value))
            if keys and line.balance in (None, metric.balance) and (belongs or wear):
                inside = self._inside(metric, place, told, at, values)
                yield LineBeside(line.concept, line.text, inside, frozenset() if belongs else without, keys)

    def _inside(self, metric: Metric, place: int, told: Sequence[FaceLine], at: int, values: Values) -> frozenset[str]:
        """The totals that a line is in: as the calculation linkbase says, else by order and sums."""
        totals = self._totals_of(place, told[at].concept)
        if totals is not None:
            return frozenset(totals)
        ends = (end for end in range(at + 1, len(told)) if _totals(metric, place, told[: end + 1], at, values))
        return frozenset(told[end].concept for end in ends)

    def _totals_of(self, place: int, concept: str) -> set[str] | None:
        """Every total that a concept is added to, at once or by way of others; None where no linkbase has it."""
        if (place, concept) not in self._added_to:
            return None
        found: set[str] = set()
        left = [concept]
        while left:
            new = self._added_to.get((place, left.pop()), set()) - found
            found |= new
            left += new
        return found

    def _whole(self, place: int, concepts: Iterable[str], values: Values) -> str | None:
        """Of several concepts the one that all others are added to, as the calculation linkbase says, else in every
        period that it tells."""
        every = set(concepts)
        wholes = [
            one for one in every if all(one in (self._totals_of(place, part) or ()) for part in every if part != one)
        ]
        of = {one: {key: Decimal(value) for key, value in values.get((place, one), {}).items()} for one in every}
        for one in every if not wholes and len(every) > 2 else ():
            rest = [of[part] for part in every if part != one]
            if of[one] and all(value == sum(part.get(key, 0) for part in rest) for key, value in of[one].items()):
                wholes.append(one)
        return wholes[0] if len(wholes) == 1 else None

    def _placed(
        self, metric: Metric, place: int, lines: list[FaceLine], page: list[FaceLine], mapped: set[str], values: Values
    ) -> LabelledLines | list[FaceLine] | None:
        sure = [line for line in lines if metric.surely is not None and metric.surely.fullmatch(line.label)]
        exact = sure or [line for line in lines if metric.is_named_by(line.label)]
        parts = {
            line.concept: line for line in lines if metric.parts is not None and metric.parts.fullmatch(line.label)
        }
        paid = (line.concept for line in lines if metric.outlay and not is_extension(line.concept))
        turned = {one for one in paid if any(Decimal(of) < 0 for of in values.get((place, one), {}).values())}
        whole = self._whole(place, parts, values) if len(parts) > 1 else None
        if whole is not None and mapped <= parts.keys():
            return LabelledLines((whole,), 1)
        if parts and not sure and {line.concept for line in exact} <= parts.keys():
            balances = {one.balance for one in parts.values()} - {None}
            if len(parts) in SUMMED and mapped <= parts.keys() and len(balances) < 2 and not parts.keys() & turned:
                return LabelledLines(tuple(parts), 1)
        if mapped and min(mapped, key=lambda one: self._order(metric, one)) in {line.concept for line in exact}:
            return None
        if not sure and mapped - {line.concept for line in page if _means_other(metric, line, self._mapping)}:
            return exact or None
        totals = [line for line in exact if line.label.startswith("total ")]
        if len({line.concept for line in totals or exact}) != 1:
            return lines
        one = (totals or exact)[0]
        other = None not in (one.balance, metric.balance) and one.balance != metric.balance
        return LabelledLines((one.concept,), -1 if other else 1)

    def _joined(
        self,
        metric: Metric,
        place: int,
        one: LabelledLines | None,
        page: Sequence[FaceLine],
        mapped: Set[str],
        values: Values,
    ) -> LabelledLines | None:
        """The line that means a metric together with those that are added to it: its siblings, of which none holds
        another, told for all of its periods and never negative; else that line as it was."""
        told = [line for line in page if (place, line.concept) in values]
        at = {line.concept: number for number, line in reversed(list(enumerate(told)))}
        added = [line.concept for line in told if metric.joined is not None and metric.joined.fullmatch(line.label)]
        lead = mapped - set(added) if one is None else set(one.concepts)
        every = (*lead, *dict.fromkeys(added))
        left = {line.concept for line in told if metric.parts is not None and metric.parts.fullmatch(line.label)}
        if (
            left - set(every)
            or len(lead) != 1
            or lead & set(added)
            or len(every) not in SUMMED
            or not lead <= at.keys()
        ):
            return one
        within = [self._inside(metric, place, told, at[concept], values) for concept in every]
        totals = {frozenset(self._added_to.get((place, concept), ())) for concept in every}
        of = [values[place, concept] for concept in every]
        negative = any(Decimal(value) < 0 for figures in of for value in figures.values())
        whole = all(of[0].keys() <= figures.keys() for figures in of)
        if len(totals) > 1 or any(inside & set(every) for inside in within) or negative or not whole:
            return one
        return LabelledLines(every, 1)

    def _costs(self, place: int, page: Sequence[FaceLine], values: Values) -> dict[str, LabelledLines]:
        """The lines of cost between revenue and gross profit that make up the difference of the two in every period,
        where none of them means the cost of revenue by itself."""
        cost, gross = self._mapping.metrics[COSTS], self._mapping.metrics[GROSS]
        told = [line for line in page if (place, line.concept) in values]
        if any(cost.is_named_by(line.label) for line in told):
            return {}
        of = [values[place, line.concept] for line in told]
        for end in (number for number, line in enumerate(told) if gross.is_named_by(line.label)):
            for first in (end - size for size in SUMMED if end > size):
                lines = told[first:end]
                left = (
                    Decimal(of[first - 1].get(key, "0")) - sum(Decimal(one.get(key, "0")) for one in of[first:end])
                    for key in of[end]
                )
                costly = all(cost.may_be_named_by(line.label) and line.balance != gross.balance for line in lines)
                if costly and all(mine == Decimal(said) for mine, said in zip(left, of[end].values(), strict=True)):
                    return {COSTS: LabelledLines(tuple(line.concept for line in lines), 1)}
        return {}

    def _sides(self, page: Sequence[FaceLine]) -> tuple[str, FaceLine | None, Sequence[FaceLine], str]:
        """Of a balance sheet the concept of its assets, the line of its liabilities, the lines between that and equity,
        and the concept of equity; nothing of one that does not total its liabilities."""
        at = {self._mapping.find_concept(line.concept): place for place, line in reversed(list(enumerate(page)))}
        liabilities, assets = at.get("us-gaap:Liabilities"), at.get("us-gaap:Assets")
        metric, below = self._mapping.metrics[EQUITY], page[len(page) if liabilities is None else liabilities + 1 :]
        totals = [line.concept for line in below if self._is_mapped(metric, line.concept)]
        if liabilities is None or assets is None or not totals:
            return "", None, (), ""
        equity = min(totals, key=lambda one: self._order(metric, one))
        first = next(place for place, line in enumerate(below) if line.concept in totals)
        return page[assets].concept, page[liabilities], below[: min(first, MAX_BETWEEN)], equity

    def _closing(self, place: int, page: Sequence[FaceLine], values: Values) -> dict[str, LabelledLines]:
        """The lines that follow the liabilities and close the gap to assets less equity, on every day that has all
        three: the mezzanine. Where the total of liabilities is said to be of the long-term ones, the current ones
        before it belong to them."""
        assets, liabilities, between, equity = self._sides(page)
        if liabilities is None:
            return {}

        def of(concept: str) -> list[Decimal]:
            return [Decimal(values.get((place, concept), {}).get(day, "0")) for day in days]

        known = [set(values.get((place, one), ())) for one in (assets, liabilities.concept, equity)]
        days = sorted(set.intersection(*known))
        told = [of(line.concept) for line in between]
        sums = [[sum(column, Decimal(0)) for column in zip(*told[:end], strict=True)] for end in range(len(told) + 1)]
        current = next((one.concept for one in page if one.concept.endswith(":LiabilitiesCurrent")), "")
        for lead in ("", current) if current and _PARTIAL.search(liabilities.label) else ("",):
            sides = (of(one) for one in (assets, liabilities.concept, equity, lead))
            left = [total - owed - owned - more for total, owed, owned, more in zip(*sides, strict=True)]
            closed = any(left) and left in sums
            made = self._mezzanine(between[: sums.index(left)], between, told) if closed else {}
            if lead and days and (closed or not any(left)):
                made[LIABILITIES] = LabelledLines((lead, liabilities.concept), 1)
            if made:
                return made
        return {}

    def _mezzanine(
        self, lines: Sequence[FaceLine], between: Sequence[FaceLine], told: Sequence[list[Decimal]]
    ) -> dict[str, LabelledLines]:
        """The lines of the mezzanine, where no tag of it has their sum; minority interests are another metric."""
        own, metric = self._mapping.metrics[MINORITY], self._mapping.metrics[MEZZANINE]
        every = [(line.concept, row) for line, row in zip(lines, told, strict=False) if any(row)]
        parts = [(concept, row) for concept, row in every if not self._is_mapped(own, concept)]
        whole = [sum(column, Decimal(0)) for column in zip(*(row for _, row in parts), strict=True)]
        tagged = (row for one, row in zip(between, told, strict=True) if self._is_mapped(metric, one.concept))
        if whole in tagged or not 0 < len(parts) <= MAX_PARTS:
            return {}
        return {MEZZANINE: LabelledLines(tuple(concept for concept, _ in parts), 1)}

    def _order(self, metric: Metric, concept: str) -> tuple[int, str]:
        return _priorities(self._mapping, concept)[metric.key], concept

    def _is_mapped(self, metric: Metric, concept: str) -> bool:
        return metric.key in _priorities(self._mapping, concept)


def _is_within(metric: Metric, line: FaceLine, page: Iterable[FaceLine]) -> bool:
    """Whether a line stands in the part of the balance sheet where a metric does, or says so itself; what surely means
    it also where the sheet is not classified."""
    if metric.within in ("", line.part) or _CURRENT.search(line.label):
        return True
    sure = metric.surely is not None and metric.surely.fullmatch(line.label)
    return bool(sure) and not any(one.part == metric.within for one in page)


def _is_of(metric: Metric, kind: str, label: str) -> bool:
    """Whether a line with figures of a kind of unit can mean a metric; some filers give money for what is per share."""
    return kind == metric.units or (metric.units == "per_share" and kind == "currency" and " per " in label)


def _totals(metric: Metric, place: int, lines: Sequence[FaceLine], first: int, values: Values) -> bool:
    """Whether the last of some lines is the total of those before it, from the ``first`` or an earlier one on."""
    *parts, total = lines
    if total.label.startswith("total ") and metric.is_named_by(total.label):
        return True
    whole = values[place, total.concept]
    left = {key: Decimal(value) for key, value in whole.items()}
    for at in range(len(parts) - 1, -1, -1):
        of = values[place, parts[at].concept]
        left = {key: value - Decimal(of.get(key, "0")) for key, value in left.items()}
        if at <= first and at < len(parts) - 1 and not any(left.values()):
            return True
    return False


def _face(page: Iterable[FaceRow], kind: str) -> Iterator[FaceLine]:
    rows = list(page)
    at = {row[3]: number for number, row in enumerate(rows)} if kind == "balance" else {}
    ends = sorted((number, _PARTS[concept]) for concept, number in at.items() if concept in _PARTS)
    for number, (_, _, _, concept, label, balance) in enumerate(rows):
        part = next((part for end, part in ends if number < end), "")
        words = normalise_label(label or "")
        yield FaceLine(concept, words, label or "", part, balance)
        if kind == "cash-flow" and _CLOSING.search(words):
            return


@lru_cache(maxsize=20_000)
def normalise_label(label: str) -> str:
    """A label in small letters and digits, without what stands in brackets."""
    bare = _BRACKETS.sub(" ", label)
    text = _POSSESSIVE.sub(" ", (bare if bare.strip() else label).lower().replace("&", " and "))
    return re.sub(r"\b(notes?|footnotes?) [0-9a-z]{1,2}( and [0-9]{1,2})?$", "", text).strip()


def _means_other(metric: Metric, line: FaceLine, mapping: MetricMapping) -> bool:
    """Whether the label of a line under a tag of a metric clearly says another one of the same statement."""
    means = [key for key in _meanings(mapping, line.label) if mapping.metrics[key].is_named_by(line.label)]
    return bool(means) and metric.key not in means


@lru_cache(maxsize=20_000)
def _meanings(mapping: MetricMapping, label: str) -> tuple[str, ...]:
    """The metrics that a label may mean."""
    return tuple(key for key, one in mapping.metrics.items() if one.is_named_by(label) or one.may_be_named_by(label))


@lru_cache(maxsize=20_000)
def _priorities(mapping: MetricMapping, concept: str) -> dict[str, int]:
    """How a line under a concept is preferred as each of the metrics that it is mapped to, 0 the best."""
    counted = mapping.find_concept(concept)
    if counted is None:
        return {}
    every = ((key, one.get_priority(counted)) for key, one in mapping.metrics.items())
    return {key: priority for key, priority in every if priority < NO_PRIORITY}
