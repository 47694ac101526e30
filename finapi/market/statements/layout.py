"""The columns of a statement: the choice that the SEC's renderer makes, as rules over a complete report.

The presentation linkbase of a filing states which lines a section has, but not which columns: any period for which a
line was reported could be one. Equity, for example, is reported for six dates in a quarterly report (the statement of
changes in equity needs them), but the balance sheet shows two of them. The rules below describe the SEC's renderer
(EDGAR Filer Manual 6.24-6.26, and the pages that it produces):

1. A fact belongs to a section if its axes and members are presented there.
2. An instant with a "period start" or "period end" label belongs to every duration that it opens or closes. Any other
   instant belongs to the durations that end on its day, or to a column of its own if there are none.
3. Figures create columns, texts do not. In a balance sheet, a fact tagged with a duration (an empty "commitments and
   contingencies") belongs to the end of the duration.
4. A period is not shown if all its facts belong to another period of the section too.
5. A period is not shown if other sections show all its concepts too: it is theirs, and only shares concepts with this
   section. Statements of changes in equity are an exception.
6. In a statement of cash flows, a shorter period with less than a quarter of the lines is not shown.
7. In a statement of changes in equity, a period without both an opening and a closing balance is not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from finapi.core.days import count_days, number, shift

# The nature of a line: it can have figures, it is a heading (abstract), or it belongs to the structure of axes and
# members.
ITEM, HEADING, STRUCTURE = 0, 1, 2
# The placement of a line's instants: in a column of their own date, or as the opening or closing balance in the columns
# of durations.
AT_OWN_DATE, OPENING, CLOSING = 0, 1, 2

DAYS_PER_MONTH = 365.25 / 12

# Real statements have some dozens of periods and some thousands of facts. Every period is compared with every other, so
# their number must be bounded.
MAX_PERIODS = 300
MAX_PLACED = 100_000

# Start (None for an instant) and end as ISO dates.
Period = tuple[str | None, str]
# Pairs of axis and member.
Dimensions = tuple[tuple[str, str], ...]


class StatementTooWideError(ValueError):
    """A statement has more periods than any real one; the text of the error is its role."""


class Context(NamedTuple):
    """A period and dimensions; ``start`` is None for an instant, ``seq`` is the position in the instance, from 1."""

    seq: int
    start: str | None
    end: str
    dims: Dimensions


class Line(NamedTuple):
    """A line of the presentation tree.

    ``nature`` is :data:`ITEM`, :data:`HEADING` or :data:`STRUCTURE`; ``placement`` is :data:`AT_OWN_DATE`,
    :data:`OPENING` or :data:`CLOSING`. ``negated`` means that the filing prints the opposite sign.
    """

    concept: str
    depth: int
    nature: int
    label: str | None
    label_role: str | None
    placement: int
    negated: bool
    balance: str | None


class CalculationTerm(NamedTuple):
    """A term of a calculation of the filing: ``item`` is added to ``total``, multiplied by ``weight``.

    The first two are concepts. ``weight`` is a decimal as text, usually "1" or "-1".
    """

    total: str
    item: str
    weight: str


class Column(NamedTuple):
    """A column of a statement; ``context_seq`` is the number of a context with this period and these dimensions."""

    context_seq: int
    start: str | None
    end: str
    dims: Dimensions


class Section(NamedTuple):
    """A role of the filing. ``kind`` is None unless it is a statement; only statements have columns."""

    role_uri: str
    definition: str
    kind: str | None
    lines: Sequence[Line]
    columns: Sequence[Column]
    sums: Sequence[CalculationTerm]


# A fact without its value: a concept and the index of its context.
FactKey = tuple[str, int]

# A concept, or a concept with the member of an axis; counted to know in how many sections it is shown.
_ShownName = str | tuple[str, str]


def choose_columns(
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Mapping[str, Sequence[int]],
    defaults: Mapping[str, str],
) -> list[list[Column]]:
    """Return the columns of every section; the list of a section that is not a statement is empty.

    ``facts`` has, by concept, the indexes of the contexts for which a figure (also a nil one) is reported. ``defaults``
    has the default members of axes that the definition linkbase states. Raise StatementTooWideError for a statement
    with more than :data:`MAX_PERIODS` periods or :data:`MAX_PLACED` facts.
    """
    report_facts = _ReportFacts(contexts, facts, defaults)
    section_layouts = [_SectionLayout(section, report_facts) for section in sections]
    section_counts: dict[_ShownName, int] = {}
    for section_layout in section_layouts:
        for shown_name in section_layout.shown_names:
            section_counts[shown_name] = section_counts.get(shown_name, 0) + 1
    columns_by_section = []
    for section_layout in section_layouts:
        is_statement = bool(section_layout.section.kind)
        columns_by_section.append(section_layout.choose_columns(section_counts) if is_statement else [])
    return columns_by_section


class _ReportFacts:
    """The facts of a report, prepared for the layout of its sections."""

    def __init__(
        self, contexts: Sequence[Context], facts: Mapping[str, Sequence[int]], defaults: Mapping[str, str]
    ) -> None:
        self.contexts = contexts
        self.defaults = defaults
        self.periods: list[Period] = [(context.start, context.end) for context in contexts]
        self.axis_names = {axis for context in contexts for axis, _ in context.dims}
        self.facts: dict[str, list[FactKey]] = {
            concept: [(concept, index) for index in indexes] for concept, indexes in facts.items()
        }
        # The facts of self.facts that have no dimensions.
        plain_indexes = {index for index, context in enumerate(contexts) if not context.dims}
        self.plain_facts = {
            concept: [fact for fact in concept_facts if fact[1] in plain_indexes]
            for concept, concept_facts in self.facts.items()
        }


class _SectionLayout:
    """The layout of one section: the facts that belong to it, and the periods that could be its columns."""

    def __init__(self, section: Section, report_facts: _ReportFacts) -> None:
        self.section = section
        self._is_balance_sheet = (section.kind or "").startswith("balance")
        self._report_facts = report_facts
        self._members_by_axis = _find_members_by_axis(section, report_facts.axis_names)
        self._presented_dimensions: dict[Dimensions, bool] = {}  # Cache of _is_presented.
        # The facts that belong to this section, by concept (rule 1).
        self._facts = self._select_facts()
        # Concepts, and concepts with members, that this section shows.
        self.shown_names: set[_ShownName] = set()
        for concept, facts in self._facts.items():
            for _, context_index in facts:
                self.shown_names.add(concept)
                members = report_facts.contexts[context_index].dims if self._members_by_axis else ()
                self.shown_names.update((concept, member) for _, member in members)

    def _select_facts(self) -> dict[str, list[FactKey]]:
        report_facts = self._report_facts
        concepts = dict.fromkeys(
            line.concept for line in self.section.lines if line.nature == ITEM and line.concept in report_facts.facts
        )
        if not self._members_by_axis:
            return {concept: report_facts.plain_facts[concept] for concept in concepts}
        contexts = report_facts.contexts
        return {
            concept: [fact for fact in report_facts.facts[concept] if self._is_presented(contexts[fact[1]].dims)]
            for concept in concepts
        }

    def _is_presented(self, dims: Dimensions) -> bool:
        """Return True if the section presents the axes and members of a fact (rule 1)."""
        is_presented = self._presented_dimensions.get(dims)
        if is_presented is None:
            is_presented = self._has_members(dims) and self._has_defaults(dims)
            self._presented_dimensions[dims] = is_presented
        return is_presented

    def _has_members(self, dims: Dimensions) -> bool:
        return all(axis in self._members_by_axis and member in self._members_by_axis[axis] for axis, member in dims)

    def _has_defaults(self, dims: Dimensions) -> bool:
        """Return True if the section presents the default member of each axis that a fact does not have.

        A fact without an axis has the axis's default member. A section that presents the axis without that member (a
        parent-only schedule) does not show the fact.
        """
        fact_axes = {axis for axis, _ in dims}
        defaults = self._report_facts.defaults
        for axis, members in self._members_by_axis.items():
            default = defaults.get(axis)
            if axis not in fact_axes and default is not None and default not in members:
                return False
        return True

    def choose_columns(self, section_counts: Mapping[_ShownName, int]) -> list[Column]:
        """Return the columns of this statement, given the number of sections that show each concept and member."""
        periods = self._build_periods()
        _delete_repeated_periods(periods)
        if self.section.kind == "equity":
            hidden = [period for period, facts in periods.items() if not self._has_both_balances(period, facts)]
        else:
            hidden = [period for period, facts in periods.items() if self._is_shown_elsewhere(facts, section_counts)]
        _delete_periods(periods, hidden)
        if self.section.kind == "cash-flow":
            _delete_periods(periods, _find_sparse_periods(periods))
        return self._order_columns(periods)

    def _build_periods(self) -> dict[Period, set[FactKey]]:
        """Return the facts of each period that could be a column (rules 2 and 3)."""
        periods, instant_lines = self._split_by_period_type()
        durations = list(periods)
        durations_by_opening: dict[str, list[Period]] = {}
        durations_by_closing: dict[str, list[Period]] = {}
        for start, end in durations:
            durations_by_opening.setdefault(shift(start or "", -1), []).append((start, end))
            durations_by_closing.setdefault(end, []).append((start, end))
        placed_count = sum(len(facts) for facts in periods.values())
        if len(durations) > MAX_PERIODS:
            raise StatementTooWideError(self.section.role_uri)
        for placement, facts in instant_lines:
            durations_by_day = durations_by_opening if placement == OPENING else durations_by_closing
            for fact in facts:
                _, day = self._report_facts.periods[fact[1]]
                fact_periods = durations_by_day.get(day, [])
                can_have_own_column = placement == AT_OWN_DATE or not durations
                if not fact_periods and can_have_own_column:
                    fact_periods = [(None, day)]
                for period in fact_periods:
                    periods.setdefault(period, set()).add(fact)
                    placed_count += 1
                if placed_count > MAX_PLACED or len(periods) > MAX_PERIODS:
                    raise StatementTooWideError(self.section.role_uri)
        return periods

    def _split_by_period_type(self) -> tuple[dict[Period, set[FactKey]], list[tuple[int, list[FactKey]]]]:
        """Return the facts of each duration, and for each line with instants its placement and these facts.

        In a balance sheet all facts count as instants (rule 3).
        """
        periods = self._report_facts.periods
        durations: dict[Period, set[FactKey]] = {}
        instant_lines: list[tuple[int, list[FactKey]]] = []
        for line in self.section.lines:
            facts = self._facts.get(line.concept, []) if line.nature == ITEM else []
            instants = []
            for fact in facts:
                period = periods[fact[1]]
                is_instant = period[0] is None
                if is_instant or self._is_balance_sheet:
                    instants.append(fact)
                if not is_instant and not self._is_balance_sheet:
                    durations.setdefault(period, set()).add(fact)
            if instants:
                instant_lines.append((line.placement, instants))
        return durations, instant_lines

    def _is_shown_elsewhere(self, facts: Collection[FactKey], section_counts: Mapping[_ShownName, int]) -> bool:
        """Return True if other sections show all concepts and members of a period (rule 5)."""
        if any(section_counts[concept] < 2 for concept, _ in facts):
            return False
        contexts = self._report_facts.contexts
        return all(
            section_counts[concept, member] > 1 for concept, index in facts for _, member in contexts[index].dims
        )

    def _has_both_balances(self, period: Period, facts: Collection[FactKey]) -> bool:
        """Return True if a duration has both an opening and a closing balance (rule 7)."""
        start, end = period
        if start is None:
            return False
        fact_periods = [self._report_facts.periods[index] for _, index in facts]
        balance_days = {fact_end for fact_start, fact_end in fact_periods if fact_start is None}
        return shift(start, -1) in balance_days and end in balance_days

    def _order_columns(self, periods: Mapping[Period, set[FactKey]]) -> list[Column]:
        """Return the columns in order.

        Columns without dimensions come first; those with dimensions follow the order in which their members are
        presented. Shorter durations come before longer ones, later periods before earlier ones, and instants last.
        """
        contexts = self._report_facts.contexts
        line_positions: dict[str, int] = {}
        for position, line in enumerate(self.section.lines):
            line_positions.setdefault(line.concept, position)
        # The preferred context of each column: one with the column's own period, else any that belongs to it.
        preferences: dict[tuple[Period, Dimensions], tuple[bool, int]] = {}
        for period, facts in periods.items():
            for context_index in {index for _, index in facts}:
                context = contexts[context_index]
                key = (period, context.dims)
                preference = (self._report_facts.periods[context_index] != period, context.seq)
                preferences[key] = min(preferences.get(key, preference), preference)

        def sort_key(key: tuple[Period, Dimensions]) -> tuple[object, ...]:
            (start, end), dims = key
            member_order = [
                (line_positions.get(axis, 0), line_positions.get(member, 0), member) for axis, member in dims
            ]
            period_order = (start is None, count_months((start, end)), -number(end), -number(start) if start else 0)
            return (len(dims) > 0, member_order, period_order)

        columns = []
        for period, dims in sorted(preferences, key=sort_key):
            _, context_seq = preferences[period, dims]
            start, end = period
            columns.append(Column(context_seq, start, end, dims))
        return columns


def count_months(period: Period) -> int:
    """Return the length of a period in months, rounded to the nearest; 0 for an instant."""
    start, end = period
    return round(count_days(start, end) / DAYS_PER_MONTH)


def _find_members_by_axis(section: Section, axis_names: Collection[str]) -> dict[str, set[str]]:
    """Return the axes that a section presents, each with the members below it."""
    members_by_axis: dict[str, set[str]] = {}
    members: set[str] | None = None
    for line in section.lines:
        if line.nature != STRUCTURE:
            members = None
        elif line.concept.endswith("Axis") or line.concept in axis_names:
            members = members_by_axis.setdefault(line.concept, set())
        elif members is not None:
            members.add(line.concept)
    return members_by_axis


def _delete_repeated_periods(periods: dict[Period, set[FactKey]]) -> None:
    """Delete the periods whose facts all belong to another period too (rule 4)."""
    for period in list(periods):
        facts = periods[period]
        is_instant = period[0] is None
        for other_period, other_facts in periods.items():
            if other_period == period:
                continue
            # Of two periods with the same facts the instant is deleted.
            if facts < other_facts or (is_instant and facts == other_facts):
                del periods[period]
                break


def _delete_periods(periods: dict[Period, set[FactKey]], hidden: Sequence[Period]) -> None:
    """Delete periods, unless none would remain: a section with facts has at least one column."""
    if len(hidden) < len(periods):
        for period in hidden:
            del periods[period]


def _find_sparse_periods(periods: Mapping[Period, set[FactKey]]) -> list[Period]:
    """Return the shorter periods with less than a quarter of the lines of the longest ones (rule 6)."""
    longest_months = max((count_months(period) for period in periods), default=0)
    full_count = min(
        (len(facts) for period, facts in periods.items() if count_months(period) == longest_months), default=0
    )
    return [
        period
        for period, facts in periods.items()
        if count_months(period) < longest_months and len(facts) < full_count // 4
    ]
