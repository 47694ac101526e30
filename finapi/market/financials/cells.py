"""The figure of a metric for a period: as filings report it, or derived from what they report.

Pure. :class:`Reports` finds what filings themselves say, chosen among rules, filings and vintages;
:class:`FigureResolver` turns that into the cells of a row. Each resolves a figure once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from re import Pattern
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.market.financials import reasons
from finapi.market.financials.fact_book import FactBook, PeriodKey, Vintage
from finapi.market.financials.metric_mapping import FACE_PREFIX, SUM_OF_LINES, Metric, MetricMapping, Rule, Term
from finapi.market.financials.periods import SAME_DAYS, Calendar, Period, is_gapless

# What a figure is made of: sign, period and fact.
Operand = tuple[int, PeriodKey, Vintage]

Status = Literal["value", "hole", "nm"]
Method = Literal["reported", "mapped", "derived"]


class Figure(NamedTuple):
    """A value and where it comes from. ``line`` names its concepts, so that only like is subtracted from like.

    ``priority`` is that of its rule; ``place`` the filing that reports it (of a derived one the last filed);
    ``method`` is "reported", "mapped" (another tag than the first, or a formula) or "derived". One that is ``noted``
    does not stand on its statement, as far as that is known; an ``estimated`` one is what reported figures imply.
    """

    value: Decimal
    concepts: tuple[str, ...]
    priority: int
    filing_index: int
    method: Method
    operands: tuple[Operand, ...]
    derivation: str = ""
    is_from_note: bool = False
    is_estimated: bool = False

    @property
    def status(self) -> Status:
        """What a cell with a figure says it is."""
        return "value"


class Missing(NamedTuple):
    """No figure, and the reason code that says why; ``line`` is the label of a line that may mean it."""

    reason: str
    line_label: str = ""

    @property
    def status(self) -> Status:
        """A hole, or "nm" for a figure that would be meaningless."""
        return reasons.CATALOGUE[self.reason].status


Cell = Figure | Missing


def to_json_number(value: Decimal) -> Decimal:
    """A value as it is answered: a whole one as an int, which JSON is written from several times as fast."""
    whole = int(value)
    return whole if whole == value else value  # type: ignore[return-value]


def find_value(cell: Cell) -> Decimal | None:
    """The value of a cell as it is answered, None for one that is missing."""
    return to_json_number(cell.value) if isinstance(cell, Figure) else None


class HoleReason(TypedDict):
    """Why a figure is null."""

    status: Literal["hole", "nm"]
    reason_code: str
    line: NotRequired[str]


def build_holes(cells: Mapping[str, Cell | Decimal]) -> dict[str, HoleReason]:
    """Of cells or values by key, those that are missing, as answers say it."""
    found: Any = {
        key: {"status": cell.status, "reason_code": cell.reason}
        | ({"line": cell.line_label} if cell.line_label else {})
        for key, cell in cells.items()
        if isinstance(cell, Missing)
    }
    return found  # type: ignore[no-any-return]


class ReportHistory(NamedTuple):
    """The filings between which a figure has its value: first reported, with this value since and until, last
    reported."""

    first: int
    since: int
    until: int
    last: int

    @property
    def restated(self) -> bool:
        """Whether an earlier filing reported another value."""
        return self.since > self.first


class ReportedFigures:
    """What the filings of a book report, by the basis "latest" or (``original``) "original"."""

    def __init__(self, book: FactBook, mapping: MetricMapping, industry: str, *, original: bool) -> None:
        self.book = book
        self.mapping = mapping
        self.industry = industry
        self.original = original
        self._reported: dict[tuple[str, PeriodKey], Figure | None] = {}
        self._own = {concept for concept in book.vintages if concept not in mapping.unit_kinds}
        self._usable: dict[str, list[tuple[Rule, tuple[str, ...]]]] = {}
        # Without pages nothing is known to stand in a note or in brackets.
        self._paged = bool(book.face_concepts or book.containing_concepts or book.bracketed_concepts)
        # By metric the periods that only another definition of it tells.
        self.left_out: dict[str, set[PeriodKey]] = {}
        # By metric and period the line beside which what is told is a part.
        self.parts: dict[tuple[str, PeriodKey], str] = {}

    def reported(self, metric: Metric, key: PeriodKey) -> Figure | None:
        """What filings themselves report of a metric for a period, by the basis; None when none does."""
        place = (metric.key, key)
        if place not in self._reported:
            found = self._original(metric, key) if self.original else self._latest(metric, key)
            if found and self.book.exact_concepts:
                facts = [(at, one.concept) for _, at, one in found.operands]
                if line := self.book.find_sibling(found.filing_index, metric, facts):
                    found, self.parts[place] = None, line
            self._reported[place] = found
        return self._reported[place]

    def first_of(self, metric: Metric, keys: Iterable[PeriodKey]) -> Figure | None:
        """What is reported for the first of several periods for which anything is."""
        for key in keys:
            found = self.reported(metric, key)
            if found is not None:
                return found
        return None

    def _latest(self, metric: Metric, key: PeriodKey) -> Figure | None:
        """By the best rule that a filing of the best rank satisfies, on its statement before in its notes; within it
        the last filing, within that the preferred tag. A fallback tag of a later filing (a note, an equity statement)
        never displaces the line."""
        best: Figure | None = None
        worth = (0, False)
        for rule, concepts in self._rules(metric):
            last = self._last(metric, rule, concepts, key)
            if last is None:
                continue
            of = (self.book.source_ranks[last.filing_index], last.is_from_note)
            if best is None or of < worth:
                best, worth = last, of
            if worth == (0, False):
                break
        return best

    def _last(self, metric: Metric, rule: Rule, concepts: tuple[str, ...], key: PeriodKey) -> Figure | None:
        """What the last filing that satisfies a rule says, on its statement before in its notes."""
        if rule.terms:
            found = self._computed(rule, key, metric)
            return max(found, key=lambda one: (not one.is_from_note, one.filing_index), default=None)
        preferred, last, worth = "", None, (False, -1)
        for concept in concepts:
            newest = self.book.find_newest(concept, key)
            if newest is None or (newest.filing_index <= worth[1] and worth[0]):
                continue
            if not self._paged:
                preferred, last, worth = concept, newest, (True, newest.filing_index)
                continue
            # Vintages stand in the order of their filings; an equal place keeps the preferred tag.
            for one in chain((newest,), self.book.iter_earlier(concept, key)):
                if self.book.is_in_brackets(metric, one):
                    continue
                of = (not self._noted(metric, concept, key, one), one.filing_index)
                if of > worth:
                    preferred, last, worth = concept, one, of
                if of[0]:
                    break
        if last is None:
            return None
        stated = self._stated(rule, preferred, key, last, _method(rule, preferred))
        return stated if worth[0] else stated._replace(is_from_note=True)

    def _stated(
        self, rule: Rule, concept: str, key: PeriodKey, vintage: Vintage, method: Method = "reported"
    ) -> Figure:
        sign, value = self._signed(rule, concept, vintage)
        return Figure(value, (concept,), rule.priority, vintage.filing_index, method, ((sign, key, vintage),))

    def _signed(self, rule: Rule, concept: str, vintage: Vintage) -> tuple[int, Decimal]:
        """The sign and the value of a fact; a payment under a filer's own name is its amount, whatever its sign."""
        value = Decimal(vintage.value)
        sign = (
            self.book.label_signs[vintage.filing_index, concept[len(FACE_PREFIX) :]]
            if concept.startswith(FACE_PREFIX)
            else 1
        )
        if rule.ignores_sign and concept in self._own:
            sign = -1 if value < 0 else 1
        return sign, value if sign == 1 else sign * value

    def beside(self, metric: Metric, figure: Figure) -> list[str]:
        """The labels of the lines of the same statement that belong to a figure and are not in it."""
        return self.book.list_lines_beside(
            figure.filing_index, metric.key, [(key, one.concept) for _, key, one in figure.operands]
        )

    def _original(self, metric: Metric, key: PeriodKey) -> Figure | None:
        """What the first filing of the best rank said, by the best rule that it satisfies on its statement."""
        found = [one for rule, concepts in self._rules(metric) for one in self._versions(metric, rule, concepts, key)]
        ranks = self.book.source_ranks
        return min(
            found,
            key=lambda one: (ranks[one.filing_index], one.filing_index, one.is_from_note, one.priority),
            default=None,
        )

    def _versions(self, metric: Metric, rule: Rule, concepts: tuple[str, ...], key: PeriodKey) -> Iterator[Figure]:
        """One figure for each filing that satisfies a rule, by its preferred tag."""
        if rule.terms:
            yield from self._computed(rule, key, metric)
            return
        found: dict[int, Figure] = {}
        for concept in concepts:
            for vintage in self.book.vintages[concept].get(key, ()):
                if self.book.is_in_brackets(metric, vintage):
                    continue
                noted = self._noted(metric, concept, key, vintage)
                held = found.get(vintage.filing_index)
                if held is None or (held.is_from_note and not noted):
                    stated = self._stated(rule, concept, key, vintage, _method(rule, concept))
                    found[vintage.filing_index] = stated._replace(is_from_note=noted)
        yield from found.values()

    def _noted(self, metric: Metric, concept: str, key: PeriodKey, vintage: Vintage) -> bool:
        return self._paged and self.book.is_from_note(metric, self.industry, concept, key, vintage)

    def _rules(self, metric: Metric) -> list[tuple[Rule, tuple[str, ...]]]:
        """The rules of a metric that this book can satisfy, each with its concepts that are there, in order."""
        found = self._usable.get(metric.key)
        if found is None:
            found = [(rule, listed) for rule in metric.rules[self.industry] if (listed := self._listed(rule))]
            if metric.steady and len(found) > 1:
                found = self._agreeing(metric, found)
            if self.industry in metric.definitions:
                found = self._of_one_definition(metric, found)
            self._usable[metric.key] = found
        return found

    def _agreeing(
        self, metric: Metric, rules: list[tuple[Rule, tuple[str, ...]]]
    ) -> list[tuple[Rule, tuple[str, ...]]]:
        """Drop fallback tags that disagree with a preferred tag in most shared periods (for example cash including
        restricted cash)."""
        kept: list[tuple[Rule, tuple[str, ...]]] = []
        known: dict[PeriodKey, Decimal] = {}
        for rule, concepts in rules:
            values: dict[PeriodKey, Decimal] = {}
            shown: dict[PeriodKey, Decimal] = {}
            for concept in () if rule.terms or concepts[0].startswith(FACE_PREFIX) else concepts:
                for key, newest in self.book.iter_newest(concept):
                    value = self._signed(rule, concept, newest)[1]
                    values.setdefault(key, value)
                    # What a note says is no measure of what the statement does.
                    if not self._noted(metric, concept, key, newest):
                        shown.setdefault(key, value)
            common = values.keys() & known.keys()
            differing = sum(values[key] != known[key] for key in common)
            if 2 * differing <= len(common):
                kept.append((rule, concepts))
                known = {**shown, **known}
        return kept

    def _of_one_definition(
        self, metric: Metric, rules: list[tuple[Rule, tuple[str, ...]]]
    ) -> list[tuple[Rule, tuple[str, ...]]]:
        """The tag of the newest balance, with those that say the same in every period that both tell, and in some."""
        told = {
            concept: {key: Decimal(newest.value) for key, newest in self.book.iter_newest(concept)}
            for _, concepts in rules
            for concept in concepts
        }
        newest = max((key for values in told.values() for key in values), default=None)
        chosen = next((values for values in told.values() if newest in values), {})
        shared = {concept: values.keys() & chosen.keys() for concept, values in told.items()}
        alike = {
            concept
            for concept, keys in shared.items()
            if keys and all(told[concept][one] == chosen[one] for one in keys)
        }
        self.left_out[metric.key] = {key for concept in told.keys() - alike for key in told[concept]}
        kept = ((rule, tuple(one for one in concepts if one in alike)) for rule, concepts in rules)
        return [(rule, concepts) for rule, concepts in kept if concepts]

    def _listed(self, rule: Rule) -> tuple[str, ...]:
        listed = self._held(rule.tags, rule.custom_patterns)
        for term in rule.terms:
            held = self._held(term.names)
            if not held and not term.optional:
                return ()
            listed += held
        return tuple(listed)

    def _held(self, tags: Iterable[str], own: Iterable[Pattern[str]] = ()) -> list[str]:
        """Which concepts of a list this book holds, in its order."""
        listed = [concept for concept in tags if concept in self.book.vintages]
        for pattern in own:
            listed += sorted(concept for concept in self._own if pattern.fullmatch(concept.partition(":")[2]))
        return listed

    def _computed(self, rule: Rule, key: PeriodKey, metric: Metric | None = None) -> Iterator[Figure]:
        """The formula of a rule in each filing that has its terms, none of them with an unexpected sign; for a
        ``metric`` made of what its statement has rather than of notes."""
        for place, operands, noted in self._operands(rule, key, metric):
            if self._has_negative_outlay(operands):
                continue
            if rule.text == SUM_OF_LINES:
                turned = self.book.negated_concepts
                operands = tuple((1 - 2 * ((place, one.concept) in turned), key, one) for _, _, one in operands)
            value = sum((sign * Decimal(vintage.value) for sign, _, vintage in operands), Decimal(0))
            line = tuple(f"{'+-'[sign < 0]}{vintage.concept}" for sign, _, vintage in operands)
            yield Figure(value, line, rule.priority, place, "mapped", operands, rule.text, noted)

    def has_unexpected_sign(self, metric: Metric, keys: Iterable[PeriodKey]) -> bool:
        """Whether a metric would be computed from a payment or expense that is tagged negative."""
        formulas = [rule for rule, _ in self._rules(metric) if rule.terms]
        found = (of for rule in formulas for key in keys for _, of, _ in self._operands(rule, key))
        return any(map(self._has_negative_outlay, found))

    def _has_negative_outlay(self, operands: Sequence[Operand]) -> bool:
        """A term that stands alone is no sum, and shown as it is tagged."""
        outlays = self.mapping.outlays
        return len(operands) > 1 and any(
            Decimal(vintage.value) < 0 and self._counted(vintage.concept) in outlays for _, _, vintage in operands
        )

    def _operands(
        self, rule: Rule, key: PeriodKey, metric: Metric | None = None
    ) -> Iterator[tuple[int, tuple[Operand, ...], bool]]:
        """The terms of a formula in each filing that has them and no line beside them that belongs to the sum, and
        whether one is of a note. What may be absent is not taken from there."""
        by_filing = [self._by_filing(term, key, metric) for term in rule.terms]
        needed = [found for term, found in zip(rule.terms, by_filing, strict=True) if not term.optional]
        places = set.intersection(*map(set, needed)) if needed else set[int]().union(*by_filing)
        for concept in self._held(*rule.unless_reported) if places else ():
            for vintage in self.book.vintages[concept].get(key, ()):
                if Decimal(vintage.value):
                    places.discard(vintage.filing_index)
        for place in sorted(places):
            found = [(term, *of[place]) for term, of in zip(rule.terms, by_filing, strict=True) if place in of]
            if not all(noted for _, _, noted in found):
                found = [one for one in found if not (one[2] and one[0].optional)]
            noted = any(noted for _, _, noted in found)
            facts = [(key, vintage.concept) for _, vintage, _ in found]
            if metric is None or not metric.entire or not self.book.list_lines_beside(place, metric.entire, facts):
                once = rule.text != SUM_OF_LINES
                yield place, _operands_of(((term, key, vintage) for term, vintage, _ in found), once=once), noted

    def _by_filing(self, term: Term, key: PeriodKey, metric: Metric | None) -> dict[int, tuple[Vintage, bool]]:
        """By filing the fact of a term, by its first name that is on the statement, and whether it is of a note."""
        found: dict[int, tuple[Vintage, bool]] = {}
        for name in term.names:
            for vintage in self.book.vintages.get(name, {}).get(key, ()):
                noted = metric is not None and self._noted(metric, name, key, vintage)
                if vintage.filing_index not in found or (found[vintage.filing_index][1] and not noted):
                    found[vintage.filing_index] = vintage, noted
        return found

    def alike(self, metric: Metric, figure: Figure) -> Iterator[Figure]:
        """The same value of the same period as other tags of the metric report it in filings of the best rank."""
        ranks = self.book.source_ranks
        for rule, concepts in self._rules(metric):
            for concept in concepts if not rule.terms else ():
                found = [
                    one
                    for one in self.of_line(rule, figure.operands[0][1], (concept,))
                    if one.value == figure.value and ranks[one.filing_index] == ranks[figure.filing_index]
                ]
                if found and (concept,) != figure.concepts:
                    yield found[0 if self.original else -1]

    def together(self, metric: Metric, one: Figure, other: Figure) -> tuple[Figure, Figure] | None:
        """Two reported figures of a line as one filing reports both, the last (or by the original basis the first)
        that does; None when none does or one is derived. Restatements and splits are in both or in neither."""
        if "derived" in (one.method, other.method) or one.concepts != other.concepts or not one.priority:
            return None
        rule = self.rule_of(metric, one)
        keys = one.operands[0][1], other.operands[0][1]
        first, second = ({told.filing_index: told for told in self.of_line(rule, key, one.concepts)} for key in keys)
        common = first.keys() & second.keys()
        if not common:
            return None
        ranks, order = self.book.source_ranks, 1 if self.original else -1
        place = min(common, key=lambda place: (ranks[place], order * place))
        return first[place], second[place]

    def rule_of(self, metric: Metric, figure: Figure) -> Rule:
        """The rule by which a figure of a metric was found."""
        return metric.rules[self.industry][figure.priority - 1]

    def of_line(self, rule: Rule, key: PeriodKey, line: tuple[str, ...]) -> Iterator[Figure]:
        """What each filing says of a period under one line of a rule."""
        if rule.terms:
            yield from (one for one in self._computed(rule, key) if one.concepts == line)
            return
        for vintage in self.book.vintages[line[0]].get(key, ()):
            yield self._stated(rule, line[0], key, vintage)

    def unchanged(self, figure: Figure) -> bool:
        """Whether every filing that reports a figure gives it alike."""
        return all(one.value == told.value for _, key, told in figure.operands for one in self._alike(key, told))

    def history(self, figure: Figure) -> ReportHistory:
        """When the operands of a figure were reported, and since and until when with these values."""
        histories = []
        for _, key, vintage in figure.operands:
            rank, value = self.book.source_ranks[vintage.filing_index], Decimal(vintage.value)
            vintages = self._alike(key, vintage)
            # Each filing of the rank, and whether it reports this value.
            said = [
                (one.filing_index, Decimal(one.value) == value)
                for one in vintages
                if self.book.source_ranks[one.filing_index] == rank
            ]
            since = vintage.filing_index
            for place, same in reversed(said):
                if place <= vintage.filing_index:
                    if not same:
                        break
                    since = place
            until = (place for place, same in said if place > vintage.filing_index and not same)
            histories.append(ReportHistory(said[0][0], since, min(until, default=len(self.book.filings)), said[-1][0]))
        return ReportHistory(
            min(one.first for one in histories),
            max(one.since for one in histories),
            min(one.until for one in histories),
            max(one.last for one in histories),
        )

    def _alike(self, key: PeriodKey, vintage: Vintage) -> Sequence[Vintage]:
        """The vintages of the line that an operand is one of."""
        told = self.book.vintages
        found = told.get(self._counted(vintage.concept), {}).get(key, [])
        if vintage in found:
            return found
        placed = (of.get(key, []) for name, of in told.items() if name.startswith(FACE_PREFIX))
        return next(of for of in placed if vintage in of)

    def _counted(self, concept: str) -> str:
        return self.mapping.find_concept(concept) or concept


def _method(rule: Rule, concept: str) -> Method:
    return "reported" if rule.priority == 1 and rule.tags[:1] == (concept,) else "mapped"


def _operands_of(terms: Iterable[tuple[Term, PeriodKey, Vintage]], *, once: bool) -> tuple[Operand, ...]:
    """The operands of a formula; with ``once`` a term that may be absent and has the value of another of the same sign
    is one line reported under two tags (short-term debt that is all current maturities), and counts once."""
    operands: list[Operand] = []
    seen: set[tuple[int, Decimal]] = set()
    for term, key, vintage in terms:
        signed = term.sign, Decimal(vintage.value)
        if not (once and term.optional and signed[1] and signed in seen):
            operands.append((term.sign, key, vintage))
        seen.add(signed)
    return tuple(operands)


class FigureResolver:
    """Finds the cells of one company under one basis, "latest" or "original"."""

    def __init__(
        self, book: FactBook, calendar: Calendar, mapping: MetricMapping, industry: str, basis: str = "latest"
    ) -> None:
        self.book = book
        self.calendar = calendar
        self.mapping = mapping
        self.industry = industry
        self.original = basis == "original"
        self.reports = ReportedFigures(book, mapping, industry, original=self.original)
        self._interim = calendar.list_quarters()
        self._fours: dict[tuple[int, int], list[Period] | None] = {}
        self._cells: dict[tuple[str, str, int, int], Cell] = {}

    def cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        """The cell of a metric in a row of a series; ``kind`` is "A", "Q", "YTD" or "TTM"."""
        place = (metric.key, kind, period.span_index, period.quarter_number)
        cell = self._cells.get(place)
        if cell is None:
            cell = self._cells[place] = self._cell(metric, period, kind)
        return cell

    def _cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        if not metric.has_industry(self.industry):
            return Missing(reasons.NOT_APPLICABLE)
        if metric.over == "instant":
            return self._instant(metric, period.end)
        if metric.over == "opening":
            start = period.start if kind != "TTM" else period.end - 364
            return self._instant(metric, start - 1) if start is not None else Missing(reasons.NOT_REPORTED)
        if kind == "TTM":
            return self._trailing(metric, period)
        return self._duration(metric, period, kind)

    def _instant(self, metric: Metric, end: int) -> Cell:
        found = self.reports.reported(metric, (end, 0))
        if found is None:
            found = self.reports.first_of(metric, ((day, 0) for day in self.book.list_instants_near(end, SAME_DAYS)))
        return found or self._missing(metric, ((end, 0),))

    def _duration(self, metric: Metric, period: Period, kind: str) -> Cell:
        for key in period.keys:
            figure = self.reports.reported(metric, key)
            if figure is not None and not (kind == "Q" and self._is_other_line(metric, period, figure)):
                return figure
        return self._subtracted(metric, period) if kind == "Q" else self._missing(metric, period.keys)

    def _is_other_line(self, metric: Metric, period: Period, figure: Figure) -> bool:
        """Whether a quarter of a cash flow line is reported under a lesser tag than the year to date that ends with
        it, for which that tag has another value: a line of another statement (depreciation among expenses)."""
        if metric.statement != "cash_flow_statement" or (figure.priority == 1 and not figure.is_from_note):
            return False
        whole = self.reports.first_of(metric, self.calendar.to_date.get((period.span_index, period.quarter_number), ()))
        if whole is None or (whole.priority >= figure.priority and (whole.is_from_note or not figure.is_from_note)):
            return False
        to_date = self.reports.of_line(self.reports.rule_of(metric, figure), whole.operands[0][1], figure.concepts)
        return all(one.value != whole.value for one in to_date)

    def _missing(self, metric: Metric, keys: Sequence[PeriodKey]) -> Missing:
        """Why a metric has no reported figure for a period, which is reported as ``keys``."""
        for found, reason in (
            (self.book.nil_facts, reasons.REPORTED_NIL),
            (self.book.other_unit_facts, reasons.OTHER_UNIT),
        ):
            if found and any((tag, key) in found for tag in metric.list_tags(self.industry) for key in keys):
                return Missing(reason)
        if self.reports.has_unexpected_sign(metric, keys):
            return Missing(reasons.UNEXPECTED_SIGN)
        left_out = self.reports.left_out.get(metric.key)
        if left_out and not left_out.isdisjoint(keys):
            return Missing(reasons.OTHER_DEFINITION)
        for named in (self.reports.parts, self.book.possible_lines):
            for key in keys if named else ():
                if line := named.get((metric.key, key)):
                    return Missing(reasons.NOT_MAPPED, line)
        return Missing(reasons.NOT_REPORTED)

    # ---- quarters out of longer durations

    def _subtracted(self, metric: Metric, period: Period) -> Cell:
        """A quarter as the year (or year to date) less what came before it in the year (DECISIONS 14)."""
        span, number = period.span_index, period.quarter_number
        totals = self.calendar.to_date.get((span, number), ())
        if number == 1 and totals:
            # A first quarter reported only as a year to date is itself.
            return self._duration(metric, period._replace(keys=totals), "A")
        whole = self.reports.first_of(metric, totals)
        if whole is None:
            return self._missing(metric, (*period.keys, *totals))
        if metric.over == "none":
            return Missing(reasons.NOT_ADDITIVE)
        failed = reasons.OPERAND_MISSING
        # Reported under two tags alike, the whole is a whole of either; what came before stands under one of them.
        for one in (whole, *self.reports.alike(metric, whole)):
            for parts in self._partitions(span, number, one.operands[0][1]):
                cell = self._less(metric, one, parts)
                if isinstance(cell, Figure):
                    return cell
                if failed == reasons.OPERAND_MISSING:
                    failed = cell.reason
        return Missing(failed)

    def _partitions(self, span: int, number: int, total: PeriodKey) -> Iterator[tuple[PeriodKey, ...]]:
        """The ways to cover what came before a quarter, gapless from the start: one duration before several."""
        quarters = self.calendar.quarters
        start = total[0] - total[1] + 1
        for until in range(number - 1, 0, -1):
            first = self.calendar.to_date.get((span, until), ())
            later = [quarters.get((span, one)) for one in range(until + 1, number)]
            if not first or any(one is None or not one.keys for one in later):
                continue
            parts = (first[0], *(one.keys[0] for one in later if one is not None))
            if is_gapless(start, parts):
                yield parts

    def _less(self, metric: Metric, whole: Figure, parts: Sequence[PeriodKey]) -> Cell:
        """``whole`` less ``parts``, each of the same line and of the same vintage, or why not."""
        operands = list(whole.operands)
        value, places = whole.value, [whole.filing_index]
        for key in parts:
            part = self._same_line(metric, whole, key)
            if part is None:
                reported = self.reports.reported(metric, key) is not None
                return Missing(reasons.TAG_CHANGED if reported else reasons.OPERAND_MISSING)
            if not self._as_known(whole, part):
                return Missing(reasons.VINTAGE_CHANGED)
            value -= part.value
            places.append(part.filing_index)
            operands += [(-sign, key, vintage) for sign, key, vintage in part.operands]
        derivation, place = "year to date less what came before", self.book.find_last_filed(places)
        return Figure(value, whole.concepts, whole.priority, place, "derived", tuple(operands), derivation)

    def _same_line(self, metric: Metric, whole: Figure, key: PeriodKey) -> Figure | None:
        ranks, order = self.book.source_ranks, 1 if self.original else -1
        found = self.reports.of_line(self.reports.rule_of(metric, whole), key, whole.concepts)
        return min(found, key=lambda one: (ranks[one.filing_index], order * one.filing_index), default=None)

    def _as_known(self, whole: Figure, part: Figure) -> bool:
        """Whether two figures belong to one view of the past.

        A restated one and one that was never reported again after the restatement do not; nor do two that were
        never current on the same day.
        """
        if self.reports.unchanged(whole) and self.reports.unchanged(part):
            return True
        one, other = self.reports.history(whole), self.reports.history(part)
        if one.until <= other.since or other.until <= one.since:
            return False
        # Reported again after the other was restated: then it stands beside the restated figure.
        if one.restated and not other.restated and other.last < one.since:
            return False
        late = other.restated and other.since > one.first
        return not (late and not one.restated and one.last < other.since)

    # ---- trailing twelve months

    def _trailing(self, metric: Metric, period: Period) -> Cell:
        """Four quarters that end with a period: the year itself where it is one, else their sum."""
        year = self.calendar.spans[period.span_index]
        if period.quarter_number == 4 and year.keys and abs(year.end - period.end) <= SAME_DAYS:
            whole = self.reports.first_of(metric, year.keys)
            if whole is not None:
                return whole
            if metric.over == "none" or self._four(period) is None:
                return self._missing(metric, year.keys)
        if metric.over == "none":
            return Missing(reasons.NOT_ADDITIVE)
        rolled = self._rolled(metric, period)
        if rolled is not None:
            return rolled
        quarters = self._four(period)
        if quarters is None:
            return Missing(reasons.PERIODS_MISSING)
        cells = [self.cell(metric, quarter, "Q") for quarter in quarters]
        figures = [cell for cell in cells if isinstance(cell, Figure)]
        if len(figures) < len(cells):
            missing = next(cell for cell in cells if isinstance(cell, Missing))
            return Missing(reasons.OPERAND_MISSING) if figures else missing
        return Figure(
            sum((one.value for one in figures), Decimal(0)),
            figures[0].concepts,
            max(one.priority for one in figures),
            self.book.find_last_filed(one.filing_index for one in figures),
            "derived",
            tuple(operand for one in figures for operand in one.operands),
            "four quarters together",
        )

    def _rolled(self, metric: Metric, period: Period) -> Figure | None:
        """The last year and this year to date less the same of the year before, when one line tells all three."""
        year = self.calendar.spans[period.span_index - 1] if period.span_index else None
        now, before = (
            self.calendar.to_date.get((span, period.quarter_number))
            for span in (period.span_index, period.span_index - 1)
        )
        if year is None or year.kind != "year" or not now or not before:
            return None
        if not is_gapless(year.start, (year.keys[0], now[0])) or abs(now[0][0] - period.end) > SAME_DAYS:
            return None
        whole, added = self.reports.first_of(metric, year.keys), self.reports.first_of(metric, now)
        for one in () if whole is None or added is None else (whole, *self.reports.alike(metric, whole)):
            less = self._less(metric, one, before[:1])
            if isinstance(less, Figure) and added is not None and added.concepts == one.concepts:
                operands = (*one.operands, *added.operands, *less.operands[len(one.operands) :])
                place = self.book.find_last_filed((less.filing_index, added.filing_index))
                derivation = "year and year to date less the year to date before"
                return less._replace(
                    value=less.value + added.value, operands=operands, filing_index=place, derivation=derivation
                )
        return None

    def last_average(self, metric: Metric, period: Period) -> Figure | None:
        """What the average of a year's last quarter must be for those of the year and the other quarters, weighted by
        their days; None where they are not all known, or nothing between half and double of the year's."""
        quarters, year = self._four(period), self.calendar.spans[period.span_index]
        whole = self.reports.first_of(metric, year.keys) if period.quarter_number == 4 and year.kind == "year" else None
        if quarters is None or whole is None or any(one.span_index != period.span_index for one in quarters):
            return None
        lengths = [one.end - (one.start or one.end) + 1 for one in quarters]
        parts = [self.cell(metric, one, "Q") for one in quarters[1:]]
        figures = [whole, *(one for one in parts if isinstance(one, Figure))]
        left = sum((one.value * days for one, days in zip(figures[1:], lengths[1:], strict=False)), Decimal(0))
        value = round((whole.value * sum(lengths) - left) / lengths[0])
        if len(figures) <= len(parts) or not whole.value / 2 < value < whole.value * 2:
            return None
        place = self.book.find_last_filed(one.filing_index for one in figures)
        operands = tuple(operand for one in figures for operand in one.operands)
        derivation = "the average of the year less those of its other quarters, by their days"
        return Figure(
            Decimal(value), whole.concepts, whole.priority, place, "derived", operands, derivation, is_estimated=True
        )

    def _four(self, period: Period) -> list[Period] | None:
        """A quarter and the three before it, without a gap, newest first."""
        place = (period.span_index, period.quarter_number)
        if place not in self._fours:
            found = [period]
            for quarter in self._interim:
                last = found[-1]
                if len(found) < 4 and last.start is not None and abs(last.start - 1 - quarter.end) <= SAME_DAYS:
                    found.append(quarter)
            self._fours[place] = found if len(found) == 4 else None
        return self._fours[place]
