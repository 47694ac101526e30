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

from finapi.core.days import length, number, shifted

ITEM, HEADING, STRUCTURE = 0, 1, 2
AS_IT_IS, OPENS, CLOSES = 0, 1, 2

DAYS_A_MONTH = 365.25 / 12

# Periods of one statement, and facts placed in them: real ones have some dozens, and some thousands. Comparing
# every period with every other is for some hundreds at most.
MAX_PERIODS = 300
MAX_PLACED = 100_000

Period = tuple[str | None, str]


class TooWide(ValueError):
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


def columns(
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Mapping[str, Sequence[int]],
    defaults: Mapping[str, str],
) -> list[list[Column]]:
    """The columns of every section, in their order; none for sections that are no statements.

    ``facts`` lists by concept the indexes into ``contexts`` in which a figure of it is reported, nil or not;
    ``defaults`` gives the default member of an axis where the definition linkbase tells.
    """
    axis_names = {axis for context in contexts for axis, _ in context.dims}
    grids = [_Grid(section, contexts, facts, defaults, axis_names) for section in sections]
    # In how many sections each concept, or concept with member, is shown.
    shown: dict[object, int] = {}
    for grid in grids:
        for thing in grid.shown:
            shown[thing] = shown.get(thing, 0) + 1
    return [grid.columns(shown) if grid.section.kind else [] for grid in grids]


class _Grid:
    """One section: which facts belong to it, and in which of its periods they stand."""

    def __init__(
        self,
        section: Section,
        contexts: Sequence[Context],
        facts: Mapping[str, Sequence[int]],
        defaults: Mapping[str, str],
        axis_names: Collection[str],
    ) -> None:
        self.section = section
        self._is_balance = (section.kind or "").startswith("balance")
        self._contexts = contexts
        self._axes = _axes(section, axis_names)
        self._defaults = defaults
        self._fits: dict[Dimensions, bool] = {}
        # concept -> the contexts of its facts that belong here
        self._facts: dict[str, list[int]] = {}
        for line in section.lines:
            if line.nature == ITEM and line.concept in facts and line.concept not in self._facts:
                self._facts[line.concept] = [c for c in facts[line.concept] if self._belongs(contexts[c].dims)]
        self.shown: set[object] = set()
        for concept, indexes in self._facts.items():
            for index in indexes:
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
            given = dict(dims)
            # An axis that a fact does not name takes its default; a section that presents the axis without
            # that default member (a parent-only schedule) does not show the fact.
            known = all(axis in self._axes and member in self._axes[axis] for axis, member in dims) and all(
                axis in given or self._defaults.get(axis) is None or self._defaults[axis] in members
                for axis, members in self._axes.items()
            )
            self._fits[dims] = known
        return known

    def _placed(self) -> dict[Period, set[tuple[str, int]]]:
        """The facts (concept, context) of each period that could be a column."""
        durations: dict[Period, set[tuple[str, int]]] = {}
        instants: list[tuple[str, int, int]] = []
        for line in self.section.lines:
            for index in self._facts.get(line.concept, ()) if line.nature == ITEM else ():
                context = self._contexts[index]
                if context.start is None or self._is_balance:
                    instants.append((line.concept, index, line.placement))
                else:
                    durations.setdefault((context.start, context.end), set()).add((line.concept, index))
        periods = {period: set(facts) for period, facts in durations.items()}
        opened: dict[str, list[Period]] = {}
        closed: dict[str, list[Period]] = {}
        for period in durations:
            opened.setdefault(shifted(period[0] or "", -1), []).append(period)
            closed.setdefault(period[1], []).append(period)
        placed = sum(map(len, durations.values()))
        if len(durations) > MAX_PERIODS:
            raise TooWide(self.section.role_uri)
        for concept, index, placement in instants:
            day = self._contexts[index].end
            homes = (opened if placement == OPENS else closed).get(day, [])
            if placement not in (OPENS, CLOSES) or not durations:
                homes = homes or [(None, day)]
            for period in homes:
                periods.setdefault(period, set()).add((concept, index))
                placed += 1
            if placed > MAX_PLACED or len(periods) > MAX_PERIODS:
                raise TooWide(self.section.role_uri)
        return periods

    def _flowed_through(self, facts: Collection[tuple[str, int]], shown: Mapping[object, int]) -> bool:
        things: set[object] = set()
        for concept, index in facts:
            things.add(concept)
            things.update((concept, member) for _, member in self._contexts[index].dims)
        return all(shown[thing] > 1 for thing in things)

    def _moves(self, period: Period, facts: Collection[tuple[str, int]]) -> bool:
        """Whether a period leads from a balance that is there to a balance that is there."""
        balances = {self._contexts[index].end for _, index in facts if self._contexts[index].start is None}
        return period[0] is not None and {shifted(period[0], -1), period[1]} <= balances

    def _in_order(self, periods: Mapping[Period, set[tuple[str, int]]]) -> list[Column]:
        """Shorter durations first, in one length the later first, then instants; dimensioned columns last.

        Dimensioned columns follow the order in which their members are presented.
        """
        position = {line.concept: place for place, line in reversed(list(enumerate(self.section.lines)))}
        found: dict[tuple[Period, Dimensions], tuple[bool, int]] = {}
        for period, facts in periods.items():
            for _, index in facts:
                context = self._contexts[index]
                key = (period, context.dims)
                # The context of the column's own period where there is one; else one that stands in it.
                rank = ((context.start, context.end) != period, context.seq)
                found[key] = min(found.get(key, rank), rank)
        ordered = sorted(
            found,
            key=lambda key: (
                len(key[1]) > 0,
                [(position.get(axis, 0), position.get(member, 0), member) for axis, member in key[1]],
                # Shorter durations first, in one length the later first, then instants.
                (key[0][0] is None, months(key[0]), -number(key[0][1]), -number(key[0][0]) if key[0][0] else 0),
            ),
        )
        return [Column(found[key][1], *key[0], key[1]) for key in ordered]


def months(period: Period) -> int:
    """How many months a period lasts, to the nearest; 0 for an instant."""
    return round(length(*period) / DAYS_A_MONTH)


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


def _drop_repeated(periods: dict[Period, set[tuple[str, int]]]) -> None:
    for period in list(periods):
        facts = periods[period]
        others = (other for key, other in periods.items() if key != period)
        if any(facts < other or (facts == other and period[0] is None) for other in others):
            del periods[period]


def _drop(periods: dict[Period, set[tuple[str, int]]], unwanted: Collection[Period]) -> None:
    """Remove periods, unless that would leave none: a section with facts has a column."""
    if len(unwanted) < len(periods):
        for period in unwanted:
            del periods[period]


def _strays(periods: Mapping[Period, set[tuple[str, int]]]) -> list[Period]:
    longest = max(map(months, periods), default=0)
    full = min((len(facts) for period, facts in periods.items() if months(period) == longest), default=0)
    return [period for period, facts in periods.items() if months(period) < longest and len(facts) < full // 4]
