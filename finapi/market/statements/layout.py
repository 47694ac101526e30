"""Which columns a statement has: the choice that the SEC's renderer makes, as rules over a whole report.

A presentation linkbase says which lines a section has and nothing of its columns: any period in which some
line was reported could be one. Equity stands in six periods of a quarterly report, but a balance sheet shows
two. The rules that the renderer applies (EDGAR Filer Manual 6.24-6.26 and the pages it makes) are:

1. a fact belongs to a section when its axes and members are presented there;
2. an instant labelled as period start or end stands in every duration that it opens or closes; any other
   instant stands in the durations that end on its day, and in a column of its own when there are none;
3. figures make columns, texts do not; in a balance sheet, what is tagged with a duration (an empty
   "commitments and contingencies") stands at the end of it;
4. a period whose facts all stand in another period of the section is not shown twice;
5. a period in which every concept is also shown by other sections only flowed through from there
   (statements of changes in equity excepted);
6. in a statement of cash flows a shorter period with less than a quarter of the lines is a stray;
7. in a statement of changes in equity so is a period without both an opening and a closing balance.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from finapi.core.days import count_days, number, shift

ITEM, HEADING, STRUCTURE = 0, 1, 2
AS_DATED, OPENING, CLOSING = 0, 1, 2

DAYS_PER_MONTH = 365.25 / 12

# Periods of one statement, and facts placed in them: real ones have some dozens, and some thousands. Comparing
# every period with every other is for some hundreds at most.
MAX_PERIODS = 300
MAX_PLACED = 100_000

Period = tuple[str | None, str]


class StatementTooWideError(ValueError):
    """A statement with more periods than any real one has; the text is its role."""


Dimensions = tuple[tuple[str, str], ...]


class Context(NamedTuple):
    """A period (``start`` None: an instant) and dimensions; ``seq`` is its place in the instance, from 1."""

    seq: int
    start: str | None
    end: str
    dims: Dimensions


class Line(NamedTuple):
    """A line of the presentation tree; ``nature`` says whether it can hold figures."""

    concept: str
    depth: int
    nature: int
    label: str | None
    label_role: str | None
    placement: int
    negated: bool
    balance: str | None


class Sum(NamedTuple):
    """``total`` is the sum of ``weight`` times ``item`` over its sums."""

    total: str
    item: str
    weight: str


class Column(NamedTuple):
    """A column of a statement; ``context_seq`` names a context of the instance with this period."""

    context_seq: int
    start: str | None
    end: str
    dims: Dimensions


class Section(NamedTuple):
    """A role of the filing: ``kind`` is None unless it is a statement, and only statements have columns."""

    role_uri: str
    definition: str
    kind: str | None
    lines: Sequence[Line]
    columns: Sequence[Column]
    sums: Sequence[Sum]


def choose_columns(
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Mapping[str, Sequence[int]],
    defaults: Mapping[str, str],
) -> list[list[Column]]:
    """The columns of every section, in their order; none for sections that are no statements.

    ``facts`` lists by concept the indexes into ``contexts`` in which a figure of it is reported, nil or not;
    ``defaults`` gives the default member of an axis where the definition linkbase tells.
    """
    told = _Told(contexts, facts, defaults)
    grids = [_Grid(section, told) for section in sections]
    # In how many sections each concept, or concept with member, is shown.
    shown: dict[object, int] = {}
    for grid in grids:
        for thing in grid.shown:
            shown[thing] = shown.get(thing, 0) + 1
    return [grid.columns(shown) if grid.section.kind else [] for grid in grids]


# A concept, and an index into the contexts.
Placed = tuple[str, int]


class _Told:
    """The facts of a report, as each of its sections looks at them."""

    def __init__(
        self, contexts: Sequence[Context], facts: Mapping[str, Sequence[int]], defaults: Mapping[str, str]
    ) -> None:
        self.contexts, self.defaults = contexts, defaults
        self.periods = [context[1:3] for context in contexts]
        self.axis_names = {axis for context in contexts for axis, _ in context.dims}
        self.facts = {concept: [(concept, index) for index in indexes] for concept, indexes in facts.items()}
        whole = {index for index, context in enumerate(contexts) if not context.dims}
        self.plain = {concept: [one for one in pairs if one[1] in whole] for concept, pairs in self.facts.items()}


class _Grid:
    """One section: which facts belong to it, and in which of its periods they stand."""

    def __init__(self, section: Section, told: _Told) -> None:
        self.section = section
        self._is_balance = (section.kind or "").startswith("balance")
        self._told = told
        self._axes = _axes(section, told.axis_names)
        self._fits: dict[Dimensions, bool] = {}
        items = dict.fromkeys(
            line.concept for line in section.lines if line.nature == ITEM and line.concept in told.facts
        )
        # concept -> its facts that belong here
        self._facts: dict[str, list[Placed]]
        self.shown: set[object] = set()
        if not self._axes:
            self._facts = {concept: told.plain[concept] for concept in items}
            self.shown.update(concept for concept, pairs in self._facts.items() if pairs)
            return
        contexts = told.contexts
        self._facts = {
            concept: [pair for pair in told.facts[concept] if self._belongs(contexts[pair[1]].dims)]
            for concept in items
        }
        for concept, pairs in self._facts.items():
            for _, index in pairs:
                self.shown.add(concept)
                self.shown.update((concept, member) for _, member in contexts[index].dims)

    def columns(self, shown: Mapping[object, int]) -> list[Column]:
        """The columns of this statement, given how many sections show each concept and member."""
        periods = self._placed()
        _drop_repeated(periods)
        if self.section.kind == "equity":
            _drop(periods, [period for period, facts in periods.items() if not self._moves(period, facts)])
        else:
            _drop(periods, [period for period in periods if self._flowed_through(periods[period], shown)])
        if self.section.kind == "cash-flow":
            _drop(periods, _strays(periods))
        return self._in_order(periods)

    def _belongs(self, dims: Dimensions) -> bool:
        known = self._fits.get(dims)
        if known is None:
            given, defaults = dict(dims), self._told.defaults
            # An axis that a fact does not name takes its default; a section that presents the axis without
            # that default member (a parent-only schedule) does not show the fact.
            known = all(axis in self._axes and member in self._axes[axis] for axis, member in dims) and all(
                axis in given or defaults.get(axis) is None or defaults[axis] in members
                for axis, members in self._axes.items()
            )
            self._fits[dims] = known
        return known

    def _placed(self) -> dict[Period, set[Placed]]:
        """The facts of each period that could be a column."""
        periods, instants = self._durations()
        opened: dict[str, list[Period]] = {}
        closed: dict[str, list[Period]] = {}
        durations = list(periods)
        for period in durations:
            opened.setdefault(shift(period[0] or "", -1), []).append(period)
            closed.setdefault(period[1], []).append(period)
        placed = sum(map(len, periods.values()))
        if len(durations) > MAX_PERIODS:
            raise StatementTooWideError(self.section.role_uri)
        for placement, pairs in instants:
            for pair in pairs:
                day = self._told.periods[pair[1]][1]
                homes = (opened if placement == OPENING else closed).get(day, [])
                if placement not in (OPENING, CLOSING) or not durations:
                    homes = homes or [(None, day)]
                for period in homes:
                    periods.setdefault(period, set()).add(pair)
                    placed += 1
                if placed > MAX_PLACED or len(periods) > MAX_PERIODS:
                    raise StatementTooWideError(self.section.role_uri)
        return periods

    def _durations(self) -> tuple[dict[Period, set[Placed]], list[tuple[int, list[Placed]]]]:
        """The facts of each duration, and those that stand on a day, line by line with the line's placement."""
        periods = self._told.periods
        durations: dict[Period, set[Placed]] = {}
        instants: list[tuple[int, list[Placed]]] = []
        for line in self.section.lines:
            pairs = self._facts.get(line.concept, ()) if line.nature == ITEM else ()
            held = [pair for pair in pairs if self._is_balance or periods[pair[1]][0] is None]
            if held:
                instants.append((line.placement, held))
            if len(held) < len(pairs):
                for pair in pairs:
                    period = periods[pair[1]]
                    if period[0] is not None:
                        durations.setdefault(period, set()).add(pair)
        return durations, instants

    def _flowed_through(self, facts: Collection[Placed], shown: Mapping[object, int]) -> bool:
        if any(shown[concept] < 2 for concept, _ in facts):
            return False
        contexts = self._told.contexts
        return all(shown[concept, member] > 1 for concept, index in facts for _, member in contexts[index].dims)

    def _moves(self, period: Period, facts: Collection[Placed]) -> bool:
        """Whether a period leads from a balance that is there to a balance that is there."""
        told = [self._told.periods[index] for index in {index for _, index in facts}]
        balances = {end for start, end in told if start is None}
        return period[0] is not None and {shift(period[0], -1), period[1]} <= balances

    def _in_order(self, periods: Mapping[Period, set[Placed]]) -> list[Column]:
        """Shorter durations first, in one length the later first, then instants; dimensioned columns last.

        Dimensioned columns follow the order in which their members are presented.
        """
        position = {line.concept: place for place, line in reversed(list(enumerate(self.section.lines)))}
        found: dict[tuple[Period, Dimensions], tuple[bool, int]] = {}
        for period, facts in periods.items():
            for index in {index for _, index in facts}:
                context = self._told.contexts[index]
                key = (period, context.dims)
                # The context of the column's own period where there is one; else one that stands in it.
                rank = (self._told.periods[index] != period, context.seq)
                found[key] = min(found.get(key, rank), rank)
        ordered = sorted(
            found,
            key=lambda key: (
                len(key[1]) > 0,
                [(position.get(axis, 0), position.get(member, 0), member) for axis, member in key[1]],
                # Shorter durations first, in one length the later first, then instants.
                (key[0][0] is None, count_months(key[0]), -number(key[0][1]), -number(key[0][0]) if key[0][0] else 0),
            ),
        )
        return [Column(found[key][1], *key[0], key[1]) for key in ordered]


def count_months(period: Period) -> int:
    """How many months a period lasts, to the nearest; 0 for an instant."""
    return round(count_days(*period) / DAYS_PER_MONTH)


def _axes(section: Section, names: Collection[str]) -> dict[str, set[str]]:
    """The axes that a section presents, each with the members below it."""
    axes: dict[str, set[str]] = {}
    current: set[str] | None = None
    for line in section.lines:
        if line.nature != STRUCTURE:
            current = None
        elif line.concept.endswith("Axis") or line.concept in names:
            current = axes.setdefault(line.concept, set())
        elif current is not None:
            current.add(line.concept)
    return axes


def _drop_repeated(periods: dict[Period, set[Placed]]) -> None:
    for period in list(periods):
        facts = periods[period]
        others = (other for key, other in periods.items() if key != period)
        if any(facts < other or (facts == other and period[0] is None) for other in others):
            del periods[period]


def _drop(periods: dict[Period, set[Placed]], unwanted: Collection[Period]) -> None:
    """Remove periods, unless that would leave none: a section with facts has a column."""
    if len(unwanted) < len(periods):
        for period in unwanted:
            del periods[period]


def _strays(periods: Mapping[Period, set[Placed]]) -> list[Period]:
    longest = max(map(count_months, periods), default=0)
    full = min((len(facts) for period, facts in periods.items() if count_months(period) == longest), default=0)
    return [period for period, facts in periods.items() if count_months(period) < longest and len(facts) < full // 4]
