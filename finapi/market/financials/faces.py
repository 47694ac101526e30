"""The choice of the printed lines that are a metric, by their labels.

Tags do not always identify a line: filers invent tags, or use a standard tag for a part of its meaning. The label that
is printed next to the figure often does. ``metrics.toml`` has patterns of labels for each metric; for each filing and
metric without a tagged line, this module finds the line whose label means the metric, or several lines that add up to
it.

Three rules keep this from guessing:

- Only the first page of a statement is read. Later pages of the same kind are of subsidiaries and segments.
- If the line is ambiguous, the metric is missing with the reason ``not_mapped``, which names the possible lines.
- Lines are added up only if their labels, or the heading above them, say that they are parts of the metric, and if
  neither the sums that the filing declares (its calculation linkbase) nor the values of the lines say that one of them
  contains another.

Where tags and labels disagree, the statement decides: a line whose label means the metric beats a tagged line above it
whose label does not, and a net amount beats the gross amount from which it is computed.

Amounts in parentheses are not lines of a statement, nor are lines below the closing balance of cash.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from finapi.market.financials.face_pages import PARENTHETICAL, STATEMENTS_BY_KIND, FaceLine, FaceRow, iter_lines
from finapi.market.financials.line_values import (
    GROSS_LABEL,
    FiledValues,
    drop_per_share_amounts,
    has_one_direction,
    is_difference,
    is_net_amount,
    is_sum_of_others,
    is_total,
    list_negative_outlays,
    prove_sign,
)
from finapi.market.financials.metric_mapping import MAX_PARTS, NO_PRIORITY, Metric, MetricMapping, Term

_COMPREHENSIVE = "comprehensive_income"
# Labels of current assets or liabilities.
_CURRENT = re.compile(r"\b(short term|current)\b")
# Labels of a total of liabilities that does not contain all of them.
_PARTIAL = re.compile(r"\b(long term|non ?current|other)\b")

# Metrics of the lines between liabilities and equity (the mezzanine), and of their neighbours.
MEZZANINE, MINORITY, EQUITY, LIABILITIES = "temporary_equity", "minority_interest", "total_equity", "total_liabilities"
MAX_MEZZANINE_LINES = 8  # Maximum number of lines between liabilities and equity.
COSTS, GROSS = "cost_of_revenue", "gross_profit"
COMPREHENSIVE_INCOME = "comprehensive_income"

# The permitted numbers of lines in a sum.
SUM_LENGTHS = range(2, MAX_PARTS + 1)
# Labels that state an exclusion: "Cost of sales (excluding depreciation shown below)".
_EXCLUDING = re.compile(
    r"\b(exclu\w*|shown|listed|stated) (of|below|separately|items)|\bexclud|items below", re.IGNORECASE
)
# The lines that such a label excludes.
_DEPRECIATION = re.compile(r"(depreciation|amortization|depletion).*")
# Concepts of what belongs to noncontrolling interests, which is never a part of a figure of the parent.
_OF_OTHERS = re.compile("Minority|Non[Cc]ontrolling")
# Labels of totals.
_TOTAL = re.compile(r"^total\b|\btotal$")
# Labels of subtotals of cash flows.
_CONTINUING = re.compile(r"\bcontinuing\b")
# The maximum number of lines between a gross and a net amount.
MAX_DEDUCTIONS = 4
# Labels of lines that do not continue the heading above them, where lines are not indented.
_OWN_MEANING = re.compile(
    r"(total|net|other|proceeds|purchases?|acquisitions?|payments?|repayments?|sales?|issuances?|increase|decrease|"
    r"change|investments?|interest|income|general|selling|depreciation|amortization|research|provision|cash|effect|"
    r"restricted|loans?|advances?|deposits?|business|contributions?|distributions?|maturities|redemptions?|collections?|"
    r"settlements?|insurance|restructuring|impairment|gains?|loss|losses|accrued|deferred|prepaid)\b"
)
# The lines of an income statement that follow the costs.
_RESULTS = ("gross_profit", "operating_income", "pretax_income")


class SumRow(NamedTuple):
    """An item of a sum in a calculation linkbase."""

    filing_index: int
    total: str
    item: str
    weight: str


class LabelledLines(NamedTuple):
    """The lines of a filing whose labels show that together they are a metric."""

    concepts: tuple[str, ...]
    sign: int  # -1 for a line with the opposite balance of the metric.


class SeparateLine(NamedTuple):
    """A line that belongs to a metric, but is not part of the figure of the metric's own line.

    For example, purchases of nuclear fuel are a separate line of capital expenditures.
    """

    concept: str
    label: str
    totals: frozenset[str]  # The totals that contain it.
    excluded_from: frozenset[str]  # The lines whose labels exclude it; empty if it belongs to the metric in any case.
    periods: frozenset[tuple[int, int]]  # The periods for which it has a value.


class BalanceSheetSides(NamedTuple):
    """The totals of a balance sheet and the lines between liabilities and equity."""

    assets: str
    liabilities: FaceLine | None
    mezzanine: Sequence[FaceLine]
    equity: str


class Faces:
    """The printed statements of a company's filings, by filing index."""

    def __init__(self, rows: Iterable[FaceRow], mapping: MetricMapping, sums: Iterable[SumRow] = ()) -> None:
        self._mapping = mapping
        # The totals to which the calculation linkbase adds a concept; empty for a grand total.
        self._totals_by_item: dict[tuple[int, str], set[str]] = {}
        for filing_index, total, item, weight in sums:
            self._totals_by_item.setdefault((filing_index, total), set())
            totals = self._totals_by_item.setdefault((filing_index, item), set())
            if Decimal(weight) > 0:
                totals.add(total)
        # The concepts on each statement, by filing.
        self.concepts: dict[int, dict[str, set[str]]] = {}
        # The lines of the first page of each statement, by (filing index, statement).
        self._pages: dict[tuple[int, str], list[FaceLine]] = {}
        # The lines of later pages. They are only reported as possible lines if the first page has no matching line.
        self._later_lines: dict[tuple[int, str], list[FaceLine]] = {}
        # The concepts in parentheses on each statement, by (filing index, statement).
        self.bracketed: dict[tuple[int, str], set[str]] = {}
        for (filing_index, _, kind), page_rows in groupby(rows, key=lambda row: row[:3]):
            self._add_page(filing_index, kind, list(iter_lines(page_rows, kind, mapping)))
        self._add_comprehensive_pages()

    def _add_page(self, filing_index: int, kind: str, lines: list[FaceLine]) -> None:
        statement = STATEMENTS_BY_KIND[kind.removesuffix(PARENTHETICAL)]
        page_key = (filing_index, statement)
        page_concepts = {line.concept for line in lines}
        if kind.endswith(PARENTHETICAL):
            self.bracketed.setdefault(page_key, set()).update(page_concepts)
            return
        if kind == "comprehensive-income":
            self._pages.setdefault((filing_index, _COMPREHENSIVE), lines)
        else:
            later_lines = self._later_lines.setdefault(page_key, [])
            if page_key in self._pages:
                later_lines.extend(lines)
            else:
                self._pages[page_key] = lines
        self.concepts.setdefault(filing_index, {}).setdefault(statement, set()).update(page_concepts)

    def _add_comprehensive_pages(self) -> None:
        """Let income statements that end with comprehensive income stand in for a statement of their own."""
        comprehensive = self._mapping.metrics[COMPREHENSIVE_INCOME]
        for (filing_index, statement), lines in list(self._pages.items()):
            if statement == "income_statement" and any(comprehensive.is_meant_by(line.label) for line in lines):
                self._pages.setdefault((filing_index, _COMPREHENSIVE), lines)
        for (filing_index, statement), lines in self._pages.items():
            if statement == _COMPREHENSIVE:
                self.concepts[filing_index][_COMPREHENSIVE] = {line.concept for line in lines}

    def list_meant_concepts(self) -> set[str]:
        """Return the concepts of lines whose labels may mean a metric, and of lines between liabilities and equity."""
        concepts = set()
        for (_, statement), page in (*self._pages.items(), *self._later_lines.items()):
            concepts |= {line.concept for line in page if _list_meanings(self._mapping, statement, line.label)}
        for (_, statement), page in self._pages.items():
            concepts |= {line.concept for line in self._find_sides(page).mezzanine}
            for metric in _list_metrics(self._mapping, statement):
                if metric.net_labels is not None:
                    concepts |= {line.concept for line in _list_lines_before_net(metric, page)}
                if metric.heading_labels is not None:
                    concepts |= {line.concept for lines in _list_headed_groups(metric, page) for line in lines}
        return concepts

    def iter_labelled(
        self, unit_kinds: Mapping[tuple[int, str], str], values: FiledValues
    ) -> Iterator[tuple[int, Metric, LabelledLines | list[FaceLine]]]:
        """Yield, for each filing and metric, the untagged lines whose labels show that they are the metric.

        If that is ambiguous, a list of the possible lines is yielded instead. ``unit_kinds`` are the unit kinds of
        facts, by (filing index, concept).
        """
        for (filing_index, statement), page in self._pages.items():
            inside: dict[str, list[FaceLine]] = {}
            outside: dict[str, list[FaceLine]] = {}
            proved: dict[str, LabelledLines] = {}
            if statement == "balance_sheet":
                proved = self._prove_mezzanine(filing_index, page, values)
            elif statement == "income_statement":
                proved = self._prove_costs(filing_index, page, values)
            for metric in _list_metrics(self._mapping, statement):
                if metric.key not in proved and metric.heading_labels is not None:
                    headed_lines = self._choose_headed_lines(metric, filing_index, page, unit_kinds, values)
                    if headed_lines is not None:
                        proved[metric.key] = headed_lines
            for key, lines in proved.items():
                yield filing_index, self._mapping.metrics[key], lines
            for line, metric in self._iter_fitting(filing_index, statement, page, unit_kinds):
                if _is_within_part(metric, line, page):
                    inside.setdefault(metric.key, []).append(line)
                elif metric.is_meant_by(line.label):
                    outside.setdefault(metric.key, []).append(line)
            # A line with a matching label in another part of the balance sheet is only considered if no line is in the
            # right part.
            for key in outside.keys() - inside.keys():
                yield filing_index, self._mapping.metrics[key], outside[key]
            for key, possible_lines in inside.items():
                if key in proved:
                    continue
                metric = self._mapping.metrics[key]
                tagged = {
                    concept
                    for concept in self.concepts[filing_index][statement]
                    if (filing_index, concept) in unit_kinds and self._is_mapped(metric, concept)
                }
                net_line = self._choose_net_line(metric, filing_index, page, tagged, values)
                choice: LabelledLines | list[FaceLine] | None = net_line
                if choice is None:
                    choice = self._choose_lines(metric, filing_index, possible_lines, page, tagged, values)
                if metric.added_labels is not None and not isinstance(choice, list):
                    choice = self._join_siblings(metric, filing_index, choice, page, tagged, values)
                if choice is not None:
                    yield filing_index, metric, choice
            for line, metric in self._iter_fitting(
                filing_index, statement, self._later_lines.get((filing_index, statement), ()), unit_kinds
            ):
                is_new = metric.key not in inside and metric.key not in outside
                if is_new and metric.is_meant_by(line.label):
                    yield filing_index, metric, [line]

    def _iter_fitting(
        self, filing_index: int, statement: str, lines: Iterable[FaceLine], unit_kinds: Mapping[tuple[int, str], str]
    ) -> Iterator[tuple[FaceLine, Metric]]:
        """Yield pairs of a line and a metric of the statement that its label may mean."""
        for line in lines:
            unit_kind = unit_kinds.get((filing_index, line.concept))
            for key in _list_meanings(self._mapping, statement, line.label) if unit_kind is not None else ():
                metric = self._mapping.metrics[key]
                if _has_fitting_unit(metric, unit_kind, line.label):
                    yield line, metric

    def iter_exact_concepts(self) -> Iterator[tuple[int, str, set[str]]]:
        """Yield, for each filing and metric with ``siblings``, the concepts of the lines whose labels mean it.

        A line that is labelled as a total of its kind is never a part next to others.
        """
        for (filing_index, statement), page in self._pages.items():
            for metric in _list_metrics(self._mapping, statement):
                if metric.sibling_labels is not None:
                    concepts = {
                        line.concept
                        for line in page
                        if metric.is_meant_by(line.label) or _is_labelled_total(metric, line.label)
                    }
                    yield filing_index, metric.key, concepts

    def iter_containing_concepts(self, values: FiledValues) -> Iterator[tuple[int, str, str]]:
        """Yield (filing index, concept, containing concept) for concepts of the same metric and page.

        Only metrics that prefer the containing tag are considered.
        """
        whole_metrics = [metric for metric in self._mapping.metrics.values() if metric.prefers_containing_tag]
        for (filing_index, statement), page in self._pages.items():
            lines = [line for line in page if (filing_index, line.concept) in values]
            for metric in whole_metrics:
                if metric.statement != statement:
                    continue
                line_numbers = {
                    line.concept: number for number, line in enumerate(lines) if self._is_mapped(metric, line.concept)
                }
                for concept, number in line_numbers.items() if len(line_numbers) > 1 else ():
                    totals = self._list_totals(metric, filing_index, lines, number, values)
                    containing = [total for total in totals if total in line_numbers]
                    if containing:
                        yield filing_index, concept, max(containing, key=line_numbers.__getitem__)

    def iter_separate_lines(self, values: FiledValues) -> Iterator[tuple[int, str, list[SeparateLine]]]:
        """Yield, for each filing and metric, the lines that belong to the metric but are separate from its own line."""
        for (filing_index, statement), page in self._pages.items():
            for metric in self._mapping.metrics.values():
                if metric.separate_labels is not None and metric.statement == statement:
                    lines = list(self._iter_separate_lines_of_metric(metric, filing_index, page, values))
                    if lines:
                        yield filing_index, metric.key, lines

    def _iter_separate_lines_of_metric(
        self, metric: Metric, filing_index: int, page: Sequence[FaceLine], values: FiledValues
    ) -> Iterator[SeparateLine]:
        is_income = metric.statement == "income_statement"
        results = [self._mapping.metrics[key] for key in _RESULTS if key != GROSS or metric.key == COSTS]
        lines = []
        for line in page:
            if is_income and any(result.is_meant_by(line.label) for result in results):
                break
            if (filing_index, line.concept) in values:
                lines.append(line)
        excluding = frozenset(line.concept for line in lines if is_income and _EXCLUDING.search(line.printed_label))
        for number, line in enumerate(lines):
            belongs = (
                metric.separate_labels is not None
                and metric.separate_labels.fullmatch(line.label)
                and line.part in ("", metric.section)
            )
            is_excluded = excluding and _DEPRECIATION.fullmatch(line.label)
            line_values = values[filing_index, line.concept]
            periods = frozenset(period for period, value in line_values.items() if Decimal(value))
            if periods and line.balance in (None, metric.balance) and (belongs or is_excluded):
                yield SeparateLine(
                    concept=line.concept,
                    label=line.printed_label,
                    totals=self._list_totals(metric, filing_index, lines, number, values),
                    excluded_from=frozenset() if belongs else excluding,
                    periods=periods,
                )

    # ---- totals

    def _list_totals(
        self, metric: Metric, filing_index: int, lines: Sequence[FaceLine], number: int, values: FiledValues
    ) -> frozenset[str]:
        """Return the totals that contain a line: by the calculation linkbase, else by the order and values of lines."""
        declared_totals = self._find_declared_totals(filing_index, lines[number].concept)
        if declared_totals is not None:
            return frozenset(declared_totals)
        return frozenset(
            lines[end].concept
            for end in range(number + 1, len(lines))
            if is_total(metric, filing_index, lines[: end + 1], number, values)
        )

    def _find_declared_totals(self, filing_index: int, concept: str) -> set[str] | None:
        """Return the totals that include a concept, directly or not, or None if it is in no calculation linkbase."""
        if (filing_index, concept) not in self._totals_by_item:
            return None
        totals: set[str] = set()
        remaining = [concept]
        while remaining:
            new_totals = self._totals_by_item.get((filing_index, remaining.pop()), set()) - totals
            totals |= new_totals
            remaining += new_totals
        return totals

    def _find_sum(self, filing_index: int, concepts: Collection[str], values: FiledValues) -> str | None:
        """Return the concept that is the sum of all the others, or None.

        The calculation linkbase decides. Without it, the values do: the concept must be the sum of the others in each
        of its periods.
        """
        candidates = [
            candidate
            for candidate in concepts
            if all(
                candidate in (self._find_declared_totals(filing_index, part) or ())
                for part in concepts
                if part != candidate
            )
        ]
        if not candidates and len(concepts) > 2:
            candidates = [
                candidate for candidate in concepts if is_sum_of_others(filing_index, candidate, concepts, values)
            ]
        return candidates[0] if len(candidates) == 1 else None

    # ---- the lines of a metric

    def _choose_lines(
        self,
        metric: Metric,
        filing_index: int,
        lines: list[FaceLine],
        page: list[FaceLine],
        tagged: set[str],
        values: FiledValues,
    ) -> LabelledLines | list[FaceLine] | None:
        """Return the lines that are the metric, a list of candidates if that is ambiguous, or None if the tags decide.

        ``lines`` have labels that may mean the metric; ``tagged`` are the concepts of the statement that the mapping
        has rules for.
        """
        sure = [
            line for line in lines if metric.certain_labels is not None and metric.certain_labels.fullmatch(line.label)
        ]
        exact = sure or [line for line in lines if metric.is_meant_by(line.label)]
        exact = drop_per_share_amounts(metric, filing_index, exact, values)
        exact = _drop_subtotals(metric, exact)
        parts = {
            line.concept: line
            for line in lines
            if metric.part_labels is not None
            and metric.part_labels.fullmatch(line.label)
            and (metric.section or not line.part.startswith("current_"))
            and not _OF_OTHERS.search(line.concept)
        }
        exact_concepts = {line.concept for line in exact}
        total = self._find_sum(filing_index, parts, values) if len(parts) > 1 else None
        if total is not None and tagged <= parts.keys():
            return LabelledLines((total,), 1)
        formula_length = self._count_formula_lines(metric, page)
        if not sure and formula_length > 1 and formula_length >= len(parts):
            return None
        if parts and not sure and exact_concepts <= parts.keys() and tagged <= parts.keys():
            balances = {part.balance for part in parts.values()} - {None}
            negative_concepts = list_negative_outlays(metric, filing_index, lines, values)
            can_be_added = (
                len(parts) in SUM_LENGTHS
                and len(balances) < 2
                and has_one_direction(metric, filing_index, parts.values(), values)
                and parts.keys().isdisjoint(negative_concepts)
            )
            if can_be_added:
                return LabelledLines(tuple(parts), 1)
        best_tag = min(tagged, key=lambda concept: self._get_order(metric, concept), default=None)
        if best_tag in exact_concepts:
            return None
        if best_tag is not None and _is_below(metric, exact_concepts, best_tag, page):
            return LabelledLines(tuple(exact_concepts), 1)
        other_lines = {line.concept for line in page if _means_other(metric, line, self._mapping)}
        if not sure and tagged - other_lines:
            return exact or None
        total_lines = [line for line in exact if line.label.startswith("total ")]
        possible = total_lines or exact
        if len({line.concept for line in possible}) != 1:
            return lines
        line = possible[0]
        if line.balance is None and metric.opposite_labels is not None and metric.opposite_labels.fullmatch(line.label):
            return lines
        sign = prove_sign(metric, filing_index, line, page, values)
        if sign is None:
            has_other_balance = None not in (line.balance, metric.balance) and line.balance != metric.balance
            sign = -1 if has_other_balance else 1
        return LabelledLines((line.concept,), sign)

    def _count_formula_lines(self, metric: Metric, page: Iterable[FaceLine]) -> int:
        """Return the number of lines of a page that a formula of the metric uses, at most; 0 if it lacks a line."""
        formulas = _list_formulas(self._mapping, metric.key)
        if not formulas:
            return 0
        concepts = {_find_concept(self._mapping, line.concept) for line in page}
        length = 0
        for terms in formulas:
            used = [not concepts.isdisjoint(term.names) for term in terms]
            if all(is_used or term.optional for is_used, term in zip(used, terms, strict=True)):
                length = max(length, sum(used))
        return length

    def _choose_net_line(
        self, metric: Metric, filing_index: int, page: Sequence[FaceLine], tagged: Set[str], values: FiledValues
    ) -> LabelledLines | None:
        """Return the line of a net amount, if it is a gross amount above it less the lines between them.

        Nothing is returned if the tags mean the net line anyway, or if a line below it is the metric: then the net
        amount is only a part of a total.
        """
        if metric.net_labels is None:
            return None
        lines = [line for line in page if (filing_index, line.concept) in values]
        for number, line in enumerate(lines):
            if metric.net_labels.fullmatch(line.label) is None:
                continue
            below = [other for other in lines[number + 1 :] if other.concept != line.concept]
            if any(other.concept in tagged or metric.is_meant_by(other.label) for other in below):
                continue
            for start in range(max(0, number - MAX_DEDUCTIONS - 1), number):
                gross = lines[start]
                is_gross = gross.concept in tagged or metric.is_meant_by(gross.label) or GROSS_LABEL.search(gross.label)
                if is_gross and is_net_amount(filing_index, line, gross, lines[start + 1 : number], values):
                    is_best = tagged and line.concept == min(tagged, key=lambda tag: self._get_order(metric, tag))
                    return None if is_best else LabelledLines((line.concept,), 1)
        return None

    def _choose_headed_lines(
        self,
        metric: Metric,
        filing_index: int,
        page: Sequence[FaceLine],
        unit_kinds: Mapping[tuple[int, str], str],
        values: FiledValues,
    ) -> LabelledLines | None:
        """Return the lines under a heading that means the metric: their total, or all of them together.

        Nothing is returned if a line of the page means the metric by its own label, or if the lines have different
        signs or balances. Lines that are not indented more than the heading need a tag of the metric among them.
        """
        if any(metric.is_meant_by(line.label) for line in page if (filing_index, line.concept) in unit_kinds):
            return None
        for group in _list_headed_groups(metric, page):
            lines = []
            for line in group:
                is_below = line.heading is not None and not line.heading.is_parent
                if _means_other(metric, line, self._mapping) or (is_below and _OWN_MEANING.match(line.label)):
                    break
                if unit_kinds.get((filing_index, line.concept)) == metric.units:
                    lines.append(line)
            concepts = tuple(dict.fromkeys(line.concept for line in lines))
            is_indented = all(line.heading is not None and line.heading.is_parent for line in lines)
            has_tag = any(self._is_used(metric, concept) for concept in concepts)
            if len(lines) < len(group) and is_indented:
                continue
            total = self._find_sum(filing_index, concepts, values) if len(concepts) > 1 else None
            if total is not None:
                return LabelledLines((total,), 1)
            if len(concepts) not in SUM_LENGTHS or not (is_indented or has_tag):
                continue
            line_values = [values.get((filing_index, concept), {}) for concept in concepts]
            signs = {Decimal(value) < 0 for by_period in line_values for value in by_period.values() if Decimal(value)}
            if len(signs) < 2 and len({line.balance for line in lines} - {None}) < 2 and all(line_values):
                return LabelledLines(concepts, 1)
        return None

    def _join_siblings(
        self,
        metric: Metric,
        filing_index: int,
        choice: LabelledLines | None,
        page: Sequence[FaceLine],
        tagged: Set[str],
        values: FiledValues,
    ) -> LabelledLines | None:
        """Return the line of a metric together with the sibling lines that are added to it, if any.

        Siblings are added only if all lines are in the same totals, none contains another, all have values for the
        periods of the first line, and none is negative.
        """
        lines = [line for line in page if (filing_index, line.concept) in values]
        line_numbers = {line.concept: number for number, line in reversed(list(enumerate(lines)))}
        added = [
            line.concept
            for line in lines
            if metric.added_labels is not None and metric.added_labels.fullmatch(line.label)
        ]
        leading = tagged - set(added) if choice is None else set(choice.concepts)
        concepts = (*leading, *dict.fromkeys(added))
        parts = {
            line.concept
            for line in lines
            if metric.part_labels is not None and metric.part_labels.fullmatch(line.label)
        }
        if parts - set(concepts) or len(leading) != 1 or leading & set(added):
            return choice
        if len(concepts) not in SUM_LENGTHS or not leading <= line_numbers.keys():
            return choice
        totals_by_line = [
            self._list_totals(metric, filing_index, lines, line_numbers[concept], values) for concept in concepts
        ]
        direct_totals = {frozenset(self._totals_by_item.get((filing_index, concept), ())) for concept in concepts}
        line_values = [values[filing_index, concept] for concept in concepts]
        if len(direct_totals) > 1 or any(totals & set(concepts) for totals in totals_by_line):
            return choice
        if any(Decimal(value) < 0 for by_period in line_values for value in by_period.values()):
            return choice
        if not all(line_values[0].keys() <= by_period.keys() for by_period in line_values):
            return choice
        return LabelledLines(concepts, 1)

    def _prove_costs(
        self, filing_index: int, page: Sequence[FaceLine], values: FiledValues
    ) -> dict[str, LabelledLines]:
        """Return the cost lines between revenue and gross profit that add up to the cost of revenue.

        They must equal revenue less gross profit in every period. Nothing is returned if a single line is the cost of
        revenue.
        """
        cost = self._mapping.metrics[COSTS]
        gross = self._mapping.metrics[GROSS]
        lines = [line for line in page if (filing_index, line.concept) in values]
        if any(cost.is_meant_by(line.label) for line in lines):
            return {}
        for gross_number, gross_line in enumerate(lines):
            if not gross.is_meant_by(gross_line.label):
                continue
            for length in SUM_LENGTHS:
                if gross_number <= length:
                    continue
                cost_lines = lines[gross_number - length : gross_number]
                revenue_line = lines[gross_number - length - 1]
                are_costs = all(
                    cost.may_be_meant_by(line.label) and line.balance != gross.balance for line in cost_lines
                )
                if are_costs and is_difference(filing_index, gross_line, revenue_line, cost_lines, values):
                    return {COSTS: LabelledLines(tuple(line.concept for line in cost_lines), 1)}
        return {}

    # ---- between liabilities and equity

    def _find_sides(self, page: Sequence[FaceLine]) -> BalanceSheetSides:
        """Return the totals of a balance sheet and the lines between them; no lines if liabilities have no total."""
        line_numbers = {
            _find_concept(self._mapping, line.concept): number for number, line in reversed(list(enumerate(page)))
        }
        liabilities_number = line_numbers.get("us-gaap:Liabilities")
        assets_number = line_numbers.get("us-gaap:Assets")
        if liabilities_number is None or assets_number is None:
            return BalanceSheetSides("", None, (), "")
        below = page[liabilities_number + 1 :]
        equity_metric = self._mapping.metrics[EQUITY]
        equity_concepts = [line.concept for line in below if self._is_mapped(equity_metric, line.concept)]
        if not equity_concepts:
            return BalanceSheetSides("", None, (), "")
        first_equity = next(number for number, line in enumerate(below) if line.concept in equity_concepts)
        return BalanceSheetSides(
            assets=page[assets_number].concept,
            liabilities=page[liabilities_number],
            mezzanine=below[: min(first_equity, MAX_MEZZANINE_LINES)],
            equity=min(equity_concepts, key=lambda concept: self._get_order(equity_metric, concept)),
        )

    def _prove_mezzanine(
        self, filing_index: int, page: Sequence[FaceLine], values: FiledValues
    ) -> dict[str, LabelledLines]:
        """Return the lines after the liabilities that close the gap to assets less equity: the mezzanine.

        The gap must close on every day that has all three totals. If the total of liabilities is labelled as long-term
        liabilities, the current liabilities may be added to it.
        """
        assets, liabilities, between, equity = self._find_sides(page)
        if liabilities is None:
            return {}
        totals = (assets, liabilities.concept, equity)
        days = sorted(set.intersection(*(set(values.get((filing_index, total), ())) for total in totals)))

        def list_values(concept: str) -> list[Decimal]:
            by_period = values.get((filing_index, concept), {})
            return [Decimal(by_period.get(day, "0")) for day in days]

        line_values = [list_values(line.concept) for line in between]
        # The sum of the first n lines by day, for n = 0, 1, 2 and so on.
        running_sums = [
            [sum(column, Decimal(0)) for column in zip(*line_values[:end], strict=True)]
            for end in range(len(line_values) + 1)
        ]
        current = next((line.concept for line in page if line.concept.endswith(":LiabilitiesCurrent")), "")
        is_partial = bool(current) and _PARTIAL.search(liabilities.label) is not None
        for added_concept in ("", current) if is_partial else ("",):
            columns = (list_values(concept) for concept in (*totals, added_concept))
            gaps = [total - owed - owned - added for total, owed, owned, added in zip(*columns, strict=True)]
            is_closed = any(gaps) and gaps in running_sums
            proved: dict[str, LabelledLines] = {}
            if is_closed:
                proved = self._build_mezzanine(between[: running_sums.index(gaps)], between, line_values)
            if added_concept and days and (is_closed or not any(gaps)):
                proved[LIABILITIES] = LabelledLines((added_concept, liabilities.concept), 1)
            if proved:
                return proved
        return {}

    def _build_mezzanine(
        self, lines: Sequence[FaceLine], between: Sequence[FaceLine], line_values: Sequence[list[Decimal]]
    ) -> dict[str, LabelledLines]:
        """Return the lines of the mezzanine without minority interests, or nothing if a tag already has their sum."""
        minority = self._mapping.metrics[MINORITY]
        mezzanine = self._mapping.metrics[MEZZANINE]
        parts = [
            (line.concept, by_day)
            for line, by_day in zip(lines, line_values, strict=False)
            if any(by_day) and not self._is_mapped(minority, line.concept)
        ]
        sums = [sum(column, Decimal(0)) for column in zip(*(by_day for _, by_day in parts), strict=True)]
        tagged_values = [
            by_day
            for line, by_day in zip(between, line_values, strict=True)
            if self._is_mapped(mezzanine, line.concept)
        ]
        if sums in tagged_values or not 0 < len(parts) <= MAX_PARTS:
            return {}
        return {MEZZANINE: LabelledLines(tuple(concept for concept, _ in parts), 1)}

    def _get_order(self, metric: Metric, concept: str) -> tuple[int, str]:
        return _get_priorities(self._mapping, concept)[metric.key], concept

    def _is_used(self, metric: Metric, concept: str) -> bool:
        """Return True if a rule of a metric uses a concept, alone or in a formula."""
        if self._is_mapped(metric, concept):
            return True
        return any(concept in term.names for terms in _list_formulas(self._mapping, metric.key) for term in terms)

    def _is_mapped(self, metric: Metric, concept: str) -> bool:
        return metric.key in _get_priorities(self._mapping, concept)


def _is_within_part(metric: Metric, line: FaceLine, page: Iterable[FaceLine]) -> bool:
    """Return True if a line is in the metric's part of the balance sheet, or its label says so.

    If the balance sheet is not classified, a label that certainly means the metric is enough.
    """
    if metric.section in ("", line.part) or _CURRENT.search(line.label):
        return True
    if metric.statement == "cash_flow_statement" and all(other.part != metric.section for other in page):
        return True
    is_sure = metric.certain_labels is not None and metric.certain_labels.fullmatch(line.label) is not None
    return is_sure and all(other.part != metric.section for other in page)


def _has_fitting_unit(metric: Metric, unit_kind: str | None, label: str) -> bool:
    """Return True if facts of this unit kind can be the metric. Some filers report per-share figures in money."""
    if unit_kind == metric.units:
        return True
    return metric.units == "per_share" and unit_kind == "currency" and " per " in label


def _is_labelled_total(metric: Metric, label: str) -> bool:
    """Return True for "total" and for labels of totals that may mean the metric."""
    is_possible = metric.possible_labels is not None and metric.possible_labels.fullmatch(label) is not None
    return label == "total" or (is_possible and _TOTAL.search(label) is not None)


def _list_lines_before_net(metric: Metric, page: Sequence[FaceLine]) -> list[FaceLine]:
    """Return the lines above the lines of a net amount, which may be its gross amount and deductions."""
    before: list[FaceLine] = []
    for number, line in enumerate(page):
        if metric.net_labels is not None and metric.net_labels.fullmatch(line.label):
            before += page[max(0, number - MAX_DEDUCTIONS - 1) : number]
    return before


def _list_headed_groups(metric: Metric, page: Iterable[FaceLine]) -> list[list[FaceLine]]:
    """Return the lines under each heading that means a metric."""
    groups: dict[int, list[FaceLine]] = {}
    for line in page:
        if line.heading is not None and metric.is_meant_by_heading(line.heading.label):
            groups.setdefault(line.heading.row_number, []).append(line)
    return list(groups.values())


def _is_below(metric: Metric, exact_concepts: Set[str], best_tag: str, page: Sequence[FaceLine]) -> bool:
    """Return True if the only line whose label means a metric is below the line with its best tag.

    That line is then a part or a subtotal, if its own label does not even come near the metric.
    """
    if len(exact_concepts) != 1 or any("Discontinued" in concept for concept in exact_concepts):
        return False
    line_numbers = {line.concept: number for number, line in reversed(list(enumerate(page)))}
    tagged_line = page[line_numbers[best_tag]]
    if metric.may_be_meant_by(tagged_line.label):
        return False
    return all(line_numbers[concept] > line_numbers[best_tag] for concept in exact_concepts)


def _drop_subtotals(metric: Metric, lines: list[FaceLine]) -> list[FaceLine]:
    """Return the lines of cash flows without subtotals of continuing operations, unless no other line is left."""
    if metric.statement != "cash_flow_statement":
        return lines
    totals = [line for line in lines if not _CONTINUING.search(line.label) and "Discontinued" not in line.concept]
    return totals or lines


def _means_other(metric: Metric, line: FaceLine, mapping: MetricMapping) -> bool:
    """Return True if the label of a line clearly means another metric."""
    possible_meanings = _list_meanings(mapping, metric.statement, line.label)
    meanings = [key for key in possible_meanings if mapping.metrics[key].is_meant_by(line.label)]
    return bool(meanings) and metric.key not in meanings


@lru_cache(maxsize=20_000)
def _list_meanings(mapping: MetricMapping, statement: str, label: str) -> tuple[str, ...]:
    """Return the metrics of a statement that a label may mean."""
    return tuple(
        metric.key
        for metric in _list_metrics(mapping, statement)
        if metric.is_meant_by(label) or metric.may_be_meant_by(label)
    )


@lru_cache
def _list_metrics(mapping: MetricMapping, statement: str) -> tuple[Metric, ...]:
    return tuple(metric for metric in mapping.metrics.values() if metric.statement == statement)


@lru_cache
def _list_formulas(mapping: MetricMapping, key: str) -> tuple[tuple[Term, ...], ...]:
    """Return the formulas of a metric in any industry."""
    rules = (rule for rules in mapping.metrics[key].rules.values() for rule in rules)
    return tuple(dict.fromkeys(rule.terms for rule in rules if rule.terms))


@lru_cache(maxsize=20_000)
def _find_concept(mapping: MetricMapping, concept: str) -> str | None:
    return mapping.find_concept(concept)


@lru_cache(maxsize=20_000)
def _get_priorities(mapping: MetricMapping, concept: str) -> dict[str, int]:
    """Return the priority of a concept among the tags of each metric that it is mapped to; 0 is the best."""
    mapped_concept = _find_concept(mapping, concept)
    if mapped_concept is None:
        return {}
    priorities = {key: metric.get_priority(mapped_concept) for key, metric in mapping.metrics.items()}
    return {key: priority for key, priority in priorities.items() if priority < NO_PRIORITY}
