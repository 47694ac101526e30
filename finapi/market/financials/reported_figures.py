"""The figures that filings themselves report, chosen for a metric and a period.

A company reports the same number many times: in an annual report, as a comparative in the next one, sometimes restated,
under several tags, on a printed statement or only in a note. Each fact of one filing is a *vintage*. The mapping gives
a metric *rules* in order of preference: a rule is a list of tags that mean the same line, or a formula over tags. Every
vintage that a rule accepts is a :class:`Candidate`.

The basis "latest" serves the newest figure:

1. Within a rule, a figure on the statement is preferred to one from a note, then the last filing, then the first tag.
2. Among the best candidates of the rules, the order of preference is by kind of filing (periodic reports such as 10-K
   and 10-Q, then documents without a filing date, other forms and last proxy statements), then the statement before a
   note, then the first rule. So a fallback tag of a later filing never displaces the line of the statement.

The basis "original" serves what was known first: the best kind of filing, then the first filing, then the statement,
the rule and the tag.

Example: the 10-K of 2018 reports revenue of 100, the 10-K of 2019 repeats 100 as a comparative, and the 10-K of 2020
restates it as 103. "latest" serves 103 and "original" serves 100.

A figure is not served if it is only a part: an amount in parentheses inside another line, or a line identified by its
tag alone next to a line of the same kind ("not_mapped").
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from finapi.market.financials.cells import Figure, Mark, Method, Operand
from finapi.market.financials.fact_book import INVERTED_UNIT_PREFIX, FactBook, FactKey, PeriodKey, Vintage
from finapi.market.financials.metric_mapping import (
    FACE_PREFIX,
    SUM_OF_LINES,
    LazyPattern,
    Metric,
    MetricMapping,
    Rule,
    Term,
)

# The number of periods for which two definitions of a metric are compared, the newest ones.
MAX_COMPARED_PERIODS = 12


class Candidate(NamedTuple):
    """A figure that one filing reports under a tag or formula of a rule."""

    figure: Figure
    source_rank: int  # The rank of its filing: 0 for periodic reports, more for weaker sources.
    tag_index: int  # The index of its tag in the rule.

    @property
    def order_within_rule(self) -> tuple[bool, int, int]:
        """The sort key among candidates of one rule for "latest"; the smallest wins."""
        return self.figure.is_from_note, -self.figure.filing_index, self.tag_index

    @property
    def order_among_rules(self) -> tuple[int, bool, int]:
        """The sort key among the best candidates of the rules for "latest"; the smallest wins."""
        return self.source_rank, self.figure.is_from_note, self.figure.priority

    @property
    def order_as_first_reported(self) -> tuple[int, int, bool, int, int]:
        """The sort key among all candidates for "original"; the smallest wins."""
        figure = self.figure
        return self.source_rank, figure.filing_index, figure.is_from_note, figure.priority, self.tag_index


class UsableRule(NamedTuple):
    """A rule, and the concepts of the rule that the book contains, in order of preference."""

    rule: Rule
    concepts: tuple[str, ...]


class TermFact(NamedTuple):
    """The fact of one filing for a term of a formula."""

    vintage: Vintage
    is_from_note: bool


class FormulaOperands(NamedTuple):
    """The operands of a formula in one filing."""

    filing_index: int
    operands: tuple[Operand, ...]
    is_from_note: bool  # At least one operand is from a note.


class ReportHistory(NamedTuple):
    """The indexes of the filings between which a figure was reported, and had its present value."""

    first: int  # The first filing that reports the figure.
    since: int  # The first filing that reports the present value.
    until: int  # The first later filing that reports another value.
    last: int  # The last filing that reports the figure.

    @property
    def is_restated(self) -> bool:
        """True if an earlier filing reported another value."""
        return self.since > self.first


class ReportedFigures:
    """Chooses and caches the reported figures of one company for one basis."""

    def __init__(self, book: FactBook, mapping: MetricMapping, industry: str, *, is_original: bool) -> None:
        self.book = book
        self.mapping = mapping
        self.industry = industry
        self.is_original = is_original
        self._figures: dict[tuple[str, PeriodKey], Figure | None] = {}
        self._custom_concepts = {concept for concept in book.vintages if concept not in mapping.unit_kinds}
        # The rules of each metric that have a concept in the book, and those of them that figures are chosen from.
        self._reported_rules: dict[str, list[UsableRule]] = {}
        self._usable_rules: dict[str, list[UsableRule]] = {}
        # Only with stored pages is it known which facts are in notes or in parentheses.
        self._has_pages = bool(book.face_concepts or book.containing_concepts or book.bracketed_concepts)
        # The periods reported only under a tag with another definition, by metric.
        self.other_definition_periods: dict[str, set[PeriodKey]] = {}
        # True if two lines of a metric have different definitions, by (metric, concepts, other concepts).
        self._other_definitions: dict[tuple[str, tuple[str, ...], tuple[str, ...]], bool] = {}
        # The periods of each concept of the lines that were compared.
        self._periods_by_concept: dict[str, frozenset[PeriodKey]] = {}
        # The label of a sibling line that makes the reported line only a part of the metric, by (metric, period).
        self.sibling_lines: dict[tuple[str, PeriodKey], str] = {}

    # ---- the choice

    def find(self, metric: Metric, period_key: PeriodKey) -> Figure | None:
        """Return the figure that filings report for a metric and a period, or None."""
        cache_key = (metric.key, period_key)
        if cache_key not in self._figures:
            if self.is_original:
                candidate = self._choose_first_reported(metric, period_key)
            else:
                candidate = self._choose_latest(metric, period_key)
            if candidate is not None:
                candidate = self._replace_part(metric, candidate, period_key)
            figure = candidate.figure if candidate is not None else None
            if figure is not None and self.book.exact_concepts:
                sibling_line = self.book.find_sibling(figure.filing_index, metric, _list_facts(figure))
                if sibling_line:
                    self.sibling_lines[cache_key] = sibling_line
                    figure = None
            if figure is not None and figure.value < 0 and self._has_doubtful_sign(metric, figure):
                figure = figure.add_mark("inconsistent")
            self._figures[cache_key] = figure
        return self._figures[cache_key]

    def find_first(self, metric: Metric, period_keys: Iterable[PeriodKey]) -> Figure | None:
        """Return the figure of the first of some periods that has one, or None."""
        for period_key in period_keys:
            figure = self.find(metric, period_key)
            if figure is not None:
                return figure
        return None

    def _choose_latest(self, metric: Metric, period_key: PeriodKey) -> Candidate | None:
        best: Candidate | None = None
        for usable in self._list_usable_rules(metric):
            candidate = self._choose_within_rule(metric, usable, period_key)
            if candidate is None:
                continue
            if best is None or candidate.order_among_rules < best.order_among_rules:
                best = candidate
            if best.source_rank == 0 and not best.figure.is_from_note:
                break  # No later rule can be better.
        return best

    def _replace_part(self, metric: Metric, candidate: Candidate, period_key: PeriodKey) -> Candidate:
        """Return the total that a candidate is a part of, if the same filing reports one; else the candidate.

        A line of the statement is never replaced. The total of a zero is any other amount: a note often says that there
        is nothing of one kind. The total of another amount is a larger one under a tag that the mapping lists as total.
        """
        figure = candidate.figure
        may_be_part = self._has_total_tags(metric) and metric.total_tags.isdisjoint(figure.concepts)
        if (figure.value and not may_be_part) or self._is_on_statement(metric, figure):
            return candidate
        # All rules are tried, because the tags of totals may disagree with those of parts.
        candidates = self._iter_candidates(metric, period_key, self._list_reported_rules(metric))
        others = [
            other for other in candidates if other.figure.filing_index == figure.filing_index and other.figure.value
        ]
        if figure.value:
            # A formula that starts with a total is the part of it that is the metric: debt less current maturities.
            others = [other for other in others if other.figure.concepts[0].removeprefix("+") in metric.total_tags]
        total = min(others, key=lambda other: other.order_among_rules, default=candidate)
        return total if abs(total.figure.value) > abs(figure.value) else candidate

    def _has_total_tags(self, metric: Metric) -> bool:
        """Return True if the book contains a tag of a total that figures of the metric may be parts of."""
        return not self.book.vintages.keys().isdisjoint(metric.total_tags)

    def _is_on_statement(self, metric: Metric, figure: Figure) -> bool:
        """Return True if all facts of a figure are known to be on the face of the metric's statement."""
        face_concepts = self.book.face_concepts.get(figure.filing_index, {}).get(metric.statement, ())
        return all(operand.vintage.concept in face_concepts for operand in figure.operands)

    def _choose_within_rule(self, metric: Metric, usable: UsableRule, period_key: PeriodKey) -> Candidate | None:
        best: Candidate | None = None
        if usable.rule.terms:
            for candidate in self._iter_formula_candidates(metric, usable.rule, period_key, newest_first=True):
                if not candidate.figure.is_from_note:
                    return candidate  # Those of earlier filings are worse.
                best = best or candidate
            return best
        for tag_index, concept in enumerate(usable.concepts):
            newest = self.book.find_newest(concept, period_key)
            if newest is None:
                continue
            if best is not None and not best.figure.is_from_note and newest.filing_index <= best.figure.filing_index:
                continue  # Neither this vintage nor an earlier one of the tag can be better.
            for vintage in chain((newest,), self.book.iter_earlier(concept, period_key)):
                if self.book.is_in_brackets(metric, vintage):
                    continue
                candidate = self._build_candidate(metric, usable.rule, concept, tag_index, period_key, vintage)
                if best is None or candidate.order_within_rule < best.order_within_rule:
                    best = candidate
                if not candidate.figure.is_from_note:
                    break  # Earlier vintages of the tag are worse.
        return best

    def _choose_first_reported(self, metric: Metric, period_key: PeriodKey) -> Candidate | None:
        candidates = self._iter_candidates(metric, period_key, self._list_usable_rules(metric))
        return min(candidates, key=lambda candidate: candidate.order_as_first_reported, default=None)

    def _iter_candidates(
        self, metric: Metric, period_key: PeriodKey, usable_rules: Iterable[UsableRule]
    ) -> Iterator[Candidate]:
        for usable in usable_rules:
            if usable.rule.terms:
                yield from self._iter_formula_candidates(metric, usable.rule, period_key)
                continue
            for tag_index, concept in enumerate(usable.concepts):
                for vintage in self.book.vintages[concept].get(period_key, ()):
                    if not self.book.is_in_brackets(metric, vintage):
                        yield self._build_candidate(metric, usable.rule, concept, tag_index, period_key, vintage)

    def _iter_formula_candidates(
        self, metric: Metric, rule: Rule, period_key: PeriodKey, *, newest_first: bool = False
    ) -> Iterator[Candidate]:
        for figure in self._iter_formula_figures(rule, period_key, metric, newest_first=newest_first):
            yield Candidate(figure, self.book.source_ranks[figure.filing_index], tag_index=0)

    def _build_candidate(
        self, metric: Metric, rule: Rule, concept: str, tag_index: int, period_key: PeriodKey, vintage: Vintage
    ) -> Candidate:
        figure = self._build_figure(
            rule,
            concept,
            period_key,
            vintage,
            method="reported" if rule.priority == 1 and rule.tags[:1] == (concept,) else "mapped",
            is_from_note=self._is_from_note(metric, concept, period_key, vintage),
        )
        return Candidate(figure, self.book.source_ranks[vintage.filing_index], tag_index)

    def _build_figure(
        self,
        rule: Rule,
        concept: str,
        period_key: PeriodKey,
        vintage: Vintage,
        *,
        method: Method = "reported",
        is_from_note: bool = False,
    ) -> Figure:
        sign = self._get_sign(rule, concept, vintage)
        marks: list[Mark] = []
        if sign < 0 and rule.ignores_sign and self._is_sign_corrected(vintage):
            marks.append("sign_corrected")
        if vintage.unit.startswith(INVERTED_UNIT_PREFIX):
            marks.append("unit_inverted")
        if vintage.filing_index in self.book.misscaled_filings and vintage.unit == self.book.currency:
            marks.append("inconsistent")
        if self.book.conflicting_facts and _get_fact_key(vintage) in self.book.conflicting_facts:
            marks.append("conflicting_values")
        return Figure(
            value=sign * Decimal(vintage.value) if sign < 0 else Decimal(vintage.value),
            concepts=(concept,),
            priority=rule.priority,
            filing_index=vintage.filing_index,
            method=method,
            operands=(Operand(sign, period_key, vintage),),
            is_from_note=is_from_note,
            marks=tuple(marks),
        )

    def _get_sign(self, rule: Rule, concept: str, vintage: Vintage) -> int:
        """Return the sign with which a fact enters its figure.

        Payments under custom tags count as positive, and so do those that are proved to be.
        """
        if rule.ignores_sign:
            is_custom = concept in self._custom_concepts
            if vintage.value.startswith("-") and (is_custom or self._is_sign_corrected(vintage)):
                return -1 if Decimal(vintage.value) < 0 else 1
            if is_custom:
                return 1
        if concept.startswith(FACE_PREFIX):
            return self.book.label_signs[vintage.filing_index, concept.removeprefix(FACE_PREFIX)]
        return 1

    def _is_sign_corrected(self, vintage: Vintage) -> bool:
        """Return True if a payment or expense that is tagged negative is positive.

        The sums of its filing prove that, or it is a cost under an IFRS tag, which filers tag as they print it.
        """
        if not vintage.value.startswith("-"):
            return False
        fact_key = _get_fact_key(vintage)
        is_ifrs = vintage.concept.startswith("ifrs-full:")
        return fact_key in self.book.corrected_signs or (is_ifrs and fact_key not in self.book.confirmed_signs)

    def _has_doubtful_sign(self, metric: Metric, figure: Figure) -> bool:
        """Return True for a negative share count or outlay, unless the sums of its filing confirm its sign."""
        if metric.units == "shares":
            return True
        return metric.is_outlay and not all(
            (operand.vintage.filing_index, operand.vintage.concept, Decimal(operand.vintage.value))
            in self.book.confirmed_signs
            for operand in figure.operands
        )

    def _is_from_note(self, metric: Metric, concept: str, period_key: PeriodKey, vintage: Vintage) -> bool:
        return self._has_pages and self.book.is_from_note(metric, self.industry, concept, period_key, vintage)

    # ---- the rules that a book can satisfy

    def _list_usable_rules(self, metric: Metric) -> list[UsableRule]:
        usable_rules = self._usable_rules.get(metric.key)
        if usable_rules is None:
            usable_rules = self._list_reported_rules(metric)
            if metric.is_steady and len(usable_rules) > 1:
                usable_rules = self._drop_disagreeing(usable_rules, metric)
            if self.industry in metric.single_tag_industries:
                usable_rules = self._limit_to_one_definition(usable_rules, metric)
            self._usable_rules[metric.key] = usable_rules
        return usable_rules

    def _list_reported_rules(self, metric: Metric) -> list[UsableRule]:
        """Return the rules of a metric that have a concept in the book."""
        reported_rules = self._reported_rules.get(metric.key)
        if reported_rules is None:
            reported_rules = self._reported_rules[metric.key] = []
            for rule in metric.rules[self.industry]:
                concepts = self._list_rule_concepts(rule)
                if concepts:
                    reported_rules.append(UsableRule(rule, concepts))
        return reported_rules

    def _drop_disagreeing(self, usable_rules: list[UsableRule], metric: Metric) -> list[UsableRule]:
        """Drop fallback tags whose values differ from those of a preferred tag in most common periods.

        Example: cash including restricted cash is not a continuation of cash.
        """
        agreeing: list[UsableRule] = []
        known_values: dict[PeriodKey, Decimal] = {}
        for usable in usable_rules:
            rule, concepts = usable
            has_tags = not rule.terms and not concepts[0].startswith(FACE_PREFIX)
            values: dict[PeriodKey, Decimal] = {}
            statement_values: dict[PeriodKey, Decimal] = {}
            for concept in concepts if has_tags else ():
                for period_key, newest in self.book.iter_newest(concept):
                    value = self._get_sign(rule, concept, newest) * Decimal(newest.value)
                    values.setdefault(period_key, value)
                    # Values from notes must not decide which tags of the statement are used.
                    if not self._is_from_note(metric, concept, period_key, newest):
                        statement_values.setdefault(period_key, value)
            common_periods = values.keys() & known_values.keys()
            differing_count = sum(values[period_key] != known_values[period_key] for period_key in common_periods)
            if 2 * differing_count <= len(common_periods):
                agreeing.append(usable)
                known_values = {**statement_values, **known_values}
        return agreeing

    def _limit_to_one_definition(self, usable_rules: list[UsableRule], metric: Metric) -> list[UsableRule]:
        """Keep the tag of the newest balance, and tags with the same values in all shared periods (at least one)."""
        values_by_concept = {
            concept: {period_key: Decimal(newest.value) for period_key, newest in self.book.iter_newest(concept)}
            for usable in usable_rules
            for concept in usable.concepts
        }
        newest_period = max((key for values in values_by_concept.values() for key in values), default=None)
        chosen_values = next((values for values in values_by_concept.values() if newest_period in values), {})
        agreeing = set()
        for concept, values in values_by_concept.items():
            common_periods = values.keys() & chosen_values.keys()
            if common_periods and all(values[key] == chosen_values[key] for key in common_periods):
                agreeing.add(concept)
        self.other_definition_periods[metric.key] = {
            period_key
            for concept, values in values_by_concept.items()
            if concept not in agreeing
            for period_key in values
        }
        limited = []
        for usable in usable_rules:
            concepts = tuple(concept for concept in usable.concepts if concept in agreeing)
            if concepts:
                limited.append(UsableRule(usable.rule, concepts))
        return limited

    def _list_rule_concepts(self, rule: Rule) -> tuple[str, ...]:
        """Return a rule's concepts that the book contains, or none if a required term of its formula is missing."""
        concepts = self._list_known(rule.tags, rule.custom_patterns)
        for term in rule.terms:
            term_concepts = self._list_known(term.names)
            if not term_concepts and not term.optional:
                return ()
            concepts += term_concepts
        return tuple(concepts)

    def _list_known(self, tags: Iterable[str], custom_patterns: Iterable[LazyPattern] = ()) -> list[str]:
        """Return the tags that the book contains, followed by its custom tags that match a pattern."""
        contained_tags = [tag for tag in tags if tag in self.book.vintages]
        for pattern in custom_patterns:
            contained_tags += sorted(tag for tag in self._custom_concepts if pattern.fullmatch(tag.partition(":")[2]))
        return contained_tags

    # ---- formulas

    def _iter_formula_figures(
        self, rule: Rule, period_key: PeriodKey, metric: Metric | None = None, *, newest_first: bool = False
    ) -> Iterator[Figure]:
        """Yield the result of a formula in each filing that reports its terms, in order of filing or newest first.

        With ``metric``, facts on its statement are preferred to facts in notes. A payment that is tagged negative is
        never used.
        """
        formulas = self._iter_formula_operands(rule, period_key, metric, newest_first=newest_first)
        for filing_index, operands, is_from_note in formulas:
            if self._has_negative_outlay(operands):
                continue
            if rule.text == SUM_OF_LINES:
                operands = tuple(self._sign_line(operand) for operand in operands)
            # The concepts name the line, so they do not depend on a corrected sign.
            concepts = tuple(f"{'-' if sign < 0 else '+'}{vintage.concept}" for sign, _, vintage in operands)
            signed_operands = tuple(map(self._correct_sign, operands))
            marks: tuple[Mark, ...] = ("sign_corrected",) if signed_operands != operands else ()
            if filing_index in self.book.misscaled_filings:
                marks = (*marks, "inconsistent")
            operands = signed_operands
            yield Figure(
                value=sum((sign * Decimal(vintage.value) for sign, _, vintage in operands), Decimal(0)),
                concepts=concepts,
                priority=rule.priority,
                filing_index=filing_index,
                method="mapped",
                operands=operands,
                derivation=rule.text,
                is_from_note=is_from_note,
                marks=marks,
            )

    def _correct_sign(self, operand: Operand) -> Operand:
        """Return an operand of a formula with the opposite sign if it is an outlay with a corrected sign."""
        vintage = operand.vintage
        is_outlay = vintage.value.startswith("-") and self._get_mapped_concept(vintage.concept) in self.mapping.outlays
        if not is_outlay or not self._is_sign_corrected(vintage):
            return operand
        return operand._replace(sign=-operand.sign)

    def _sign_line(self, operand: Operand) -> Operand:
        """Return an operand of a sum with the sign -1 if the filing reports all of these payments as negative."""
        vintage = operand.vintage
        is_negated = (vintage.filing_index, vintage.concept) in self.book.negated_concepts
        return operand._replace(sign=-1 if is_negated else 1)

    def has_unexpected_sign(self, metric: Metric, period_keys: Sequence[PeriodKey]) -> bool:
        """Return True if a formula of the metric would use a payment or expense that is tagged negative."""
        for usable in self._list_usable_rules(metric):
            for period_key in period_keys if usable.rule.terms else ():
                for formula in self._iter_formula_operands(usable.rule, period_key):
                    if self._has_negative_outlay(formula.operands):
                        return True
        return False

    def _has_negative_outlay(self, operands: Sequence[Operand]) -> bool:
        """Return True if a sum of several operands contains a negative payment."""
        outlays = self.mapping.outlays
        return len(operands) > 1 and any(
            vintage.value.startswith("-")
            and Decimal(vintage.value) < 0
            and self._get_mapped_concept(vintage.concept) in outlays
            and not self._is_sign_corrected(vintage)
            for _, _, vintage in operands
        )

    def _iter_formula_operands(
        self, rule: Rule, period_key: PeriodKey, metric: Metric | None = None, *, newest_first: bool = False
    ) -> Iterator[FormulaOperands]:
        """Yield the operands of a formula for each filing that reports all required terms.

        The filings are in order, or the newest first. Filings that report a concept of ``rule.unless_reported``, or a
        line that belongs to the sum but is not in it, are left out. Optional terms are only taken from notes if all
        terms are.
        """
        facts_by_term = [self._find_term_facts(term, period_key, metric) for term in rule.terms]
        filing_indexes = _list_common_filings(rule.terms, facts_by_term)
        for concept in self._list_known(*rule.unless_reported) if filing_indexes else ():
            for vintage in self.book.vintages[concept].get(period_key, ()):
                if Decimal(vintage.value):
                    filing_indexes.discard(vintage.filing_index)
        for filing_index in sorted(filing_indexes, reverse=newest_first):
            term_facts = [
                (term, facts[filing_index])
                for term, facts in zip(rule.terms, facts_by_term, strict=True)
                if filing_index in facts
            ]
            if not all(fact.is_from_note for _, fact in term_facts):
                term_facts = [(term, fact) for term, fact in term_facts if not (fact.is_from_note and term.optional)]
            used_facts = [(period_key, fact.vintage.concept) for _, fact in term_facts]
            entire = metric.complete_metric if metric is not None else ""
            if entire and self.book.list_separate_lines(filing_index, entire, used_facts):
                continue
            yield FormulaOperands(
                filing_index=filing_index,
                operands=_build_operands(term_facts, period_key, count_duplicates=rule.text == SUM_OF_LINES),
                is_from_note=any(fact.is_from_note for _, fact in term_facts),
            )

    def _find_term_facts(self, term: Term, period_key: PeriodKey, metric: Metric | None) -> dict[int, TermFact]:
        """Return the fact of a term in each filing: the first of its names on the statement, else in a note."""
        facts: dict[int, TermFact] = {}
        for name in term.names:
            for vintage in self.book.vintages.get(name, {}).get(period_key, ()):
                is_from_note = metric is not None and self._is_from_note(metric, name, period_key, vintage)
                known_fact = facts.get(vintage.filing_index)
                if known_fact is None or (known_fact.is_from_note and not is_from_note):
                    facts[vintage.filing_index] = TermFact(vintage, is_from_note)
        return facts

    # ---- other reports of a figure

    def list_separate_lines(self, metric: Metric, figure: Figure) -> list[str]:
        """Return the labels of statement lines that belong to the metric but are not included in its figure."""
        return self.book.list_separate_lines(figure.filing_index, metric.key, _list_facts(figure))

    def is_other_definition(self, metric: Metric, figure: Figure, other: Figure) -> bool:
        """Return True if two figures have different definitions: most periods that have both have different values."""
        if figure.concepts == other.concepts or figure.is_estimated or other.is_estimated:
            return False
        cache_key = (metric.key, figure.concepts, other.concepts)
        if cache_key not in self._other_definitions:
            self._other_definitions[cache_key] = self._have_different_values(metric, figure, other)
        return self._other_definitions[cache_key]

    def _have_different_values(self, metric: Metric, figure: Figure, other: Figure) -> bool:
        """Return True if most of the newest periods that two lines have in common have different values."""
        common_periods = self._list_periods(figure) & self._list_periods(other)
        compared_count = differing_count = 0
        for period_key in heapq.nlargest(MAX_COMPARED_PERIODS, common_periods):
            value = self._find_value_of_line(metric, figure, period_key)
            other_value = self._find_value_of_line(metric, other, period_key)
            if value is not None and other_value is not None:
                compared_count += 1
                differing_count += value != other_value
        return 2 * differing_count > compared_count

    def _list_periods(self, figure: Figure) -> frozenset[PeriodKey]:
        """Return the periods of the first concept of a figure."""
        concept = figure.concepts[0]
        if len(figure.concepts) > 1:
            concept = self._get_mapped_concept(figure.operands[0].vintage.concept)
        if concept not in self._periods_by_concept:
            self._periods_by_concept[concept] = frozenset(self.book.vintages.get(concept, ()))
        return self._periods_by_concept[concept]

    def _find_value_of_line(self, metric: Metric, figure: Figure, period_key: PeriodKey) -> Decimal | None:
        """Return the newest value of a period under the concepts of a figure, or None."""
        rule = self.get_rule(metric, figure)
        if rule.terms:
            filed_figures = self._iter_formula_figures(rule, period_key, newest_first=True)
            return next((filed.value for filed in filed_figures if filed.concepts == figure.concepts), None)
        if len(figure.concepts) > 1:
            return None  # A sum of figures of two metrics.
        newest = self.book.find_newest(figure.concepts[0], period_key)
        return None if newest is None else self._get_sign(rule, figure.concepts[0], newest) * Decimal(newest.value)

    def iter_under_other_tags(self, metric: Metric, figure: Figure) -> Iterator[Figure]:
        """Yield figures with the same value and period that filings of the same rank report under other tags."""
        period_key = figure.operands[0].period_key
        source_rank = self.book.source_ranks[figure.filing_index]
        for rule, concepts in self._list_usable_rules(metric):
            for concept in concepts if not rule.terms else ():
                if (concept,) == figure.concepts:
                    continue
                equal_figures = [
                    filed
                    for filed in self.iter_filed(rule, period_key, (concept,))
                    if filed.value == figure.value and self.book.source_ranks[filed.filing_index] == source_rank
                ]
                if equal_figures:
                    yield equal_figures[0] if self.is_original else equal_figures[-1]

    def find_pair(self, metric: Metric, figure: Figure, other: Figure) -> tuple[Figure, Figure] | None:
        """Return two figures of one line from a filing that reports both, so that both or neither are restated.

        The last such filing is used, or the first for the basis "original". Return None if there is none, or one of the
        figures is derived.
        """
        if "derived" in (figure.method, other.method) or figure.concepts != other.concepts or not figure.priority:
            return None
        rule = self.get_rule(metric, figure)
        figures_by_filing, others_by_filing = (
            {filed.filing_index: filed for filed in self.iter_filed(rule, period_key, figure.concepts)}
            for period_key in (figure.operands[0].period_key, other.operands[0].period_key)
        )
        common_filings = figures_by_filing.keys() & others_by_filing.keys()
        if not common_filings:
            return None
        filing_index = min(common_filings, key=self.get_filing_order)
        return figures_by_filing[filing_index], others_by_filing[filing_index]

    def get_filing_order(self, filing_index: int) -> tuple[int, int]:
        """Return the sort key of filings by the basis; the smallest is preferred."""
        return self.book.source_ranks[filing_index], filing_index if self.is_original else -filing_index

    def get_rule(self, metric: Metric, figure: Figure) -> Rule:
        """Return the rule by which a metric's figure was found."""
        return metric.rules[self.industry][figure.priority - 1]

    def iter_filed(self, rule: Rule, period_key: PeriodKey, concepts: tuple[str, ...]) -> Iterator[Figure]:
        """Yield the figure of each filing for a period, under the concepts of one line of a rule."""
        if rule.terms:
            for figure in self._iter_formula_figures(rule, period_key):
                if figure.concepts == concepts:
                    yield figure
            return
        for vintage in self.book.vintages[concepts[0]].get(period_key, ()):
            yield self._build_figure(rule, concepts[0], period_key, vintage)

    def find_filed(self, rule: Rule, period_key: PeriodKey, concepts: tuple[str, ...]) -> Figure | None:
        """Return the figure of the preferred filing for a period, under the concepts of one line of a rule, or None."""
        if rule.terms:
            filed_figures = self.iter_filed(rule, period_key, concepts)
            return min(filed_figures, key=lambda filed: self.get_filing_order(filed.filing_index), default=None)
        # Only the figure of the preferred filing is built.
        vintages = self.book.vintages[concepts[0]].get(period_key, ())
        vintage = min(vintages, key=lambda filed: self.get_filing_order(filed.filing_index), default=None)
        return None if vintage is None else self._build_figure(rule, concepts[0], period_key, vintage)

    def is_never_restated(self, figure: Figure) -> bool:
        """Return True if all filings that report the operands of a figure report the same values."""
        return all(
            vintage.value == operand.vintage.value
            for operand in figure.operands
            for vintage in self._list_line_vintages(operand)
        )

    def build_history(self, figure: Figure) -> ReportHistory:
        """Return the history of a figure: the filings between which all of its operands had their present values."""
        histories = [self._build_operand_history(operand) for operand in figure.operands]
        return ReportHistory(
            first=min(history.first for history in histories),
            since=max(history.since for history in histories),
            until=min(history.until for history in histories),
            last=max(history.last for history in histories),
        )

    def _build_operand_history(self, operand: Operand) -> ReportHistory:
        vintage = operand.vintage
        value = Decimal(vintage.value)
        source_rank = self.book.source_ranks[vintage.filing_index]
        # The filings of the same rank, each with a flag: True if it reports the present value.
        reports = [
            (report.filing_index, Decimal(report.value) == value)
            for report in self._list_line_vintages(operand)
            if self.book.source_ranks[report.filing_index] == source_rank
        ]
        since = vintage.filing_index
        for filing_index, has_same_value in reversed(reports):
            if filing_index <= vintage.filing_index:
                if not has_same_value:
                    break
                since = filing_index
        changed = [index for index, has_same_value in reports if index > vintage.filing_index and not has_same_value]
        return ReportHistory(
            first=reports[0][0],
            since=since,
            until=min(changed, default=len(self.book.filings)),
            last=reports[-1][0],
        )

    def _list_line_vintages(self, operand: Operand) -> Sequence[Vintage]:
        """Return all vintages of the operand's line and period."""
        _, period_key, vintage = operand
        all_vintages = self.book.vintages
        vintages = all_vintages.get(self._get_mapped_concept(vintage.concept), {}).get(period_key, [])
        if vintage in vintages:
            return vintages
        for concept, by_period in all_vintages.items():
            vintages = by_period.get(period_key, []) if concept.startswith(FACE_PREFIX) else []
            if vintage in vintages:
                return vintages
        raise LookupError(f"the book has no line with the concept {vintage.concept}")

    def _get_mapped_concept(self, concept: str) -> str:
        return self.mapping.find_concept(concept) or concept


def _get_fact_key(vintage: Vintage) -> FactKey:
    return vintage.filing_index, vintage.concept, Decimal(vintage.value)


def _list_facts(figure: Figure) -> list[tuple[PeriodKey, str]]:
    return [(period_key, vintage.concept) for _, period_key, vintage in figure.operands]


def _list_common_filings(terms: Sequence[Term], facts_by_term: Sequence[dict[int, TermFact]]) -> set[int]:
    """Return the filings that report every required term, or any term if none is required."""
    required = [facts.keys() for term, facts in zip(terms, facts_by_term, strict=True) if not term.optional]
    if required:
        return set.intersection(*map(set, required))
    return {filing_index for facts in facts_by_term for filing_index in facts}


def _build_operands(
    term_facts: Iterable[tuple[Term, TermFact]], period_key: PeriodKey, *, count_duplicates: bool
) -> tuple[Operand, ...]:
    """Return the operands of a formula.

    Unless ``count_duplicates``, an optional term with the same value and sign as an earlier term is left out, because
    it is the same line under two tags. Example: short-term debt that consists of current maturities only.
    """
    operands: list[Operand] = []
    seen: set[tuple[int, Decimal]] = set()
    for term, fact in term_facts:
        value = Decimal(fact.vintage.value)
        is_duplicate = term.optional and value != 0 and (term.sign, value) in seen
        if count_duplicates or not is_duplicate:
            operands.append(Operand(term.sign, period_key, fact.vintage))
        seen.add((term.sign, value))
    return tuple(operands)
