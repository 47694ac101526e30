"""Resolves the cells of a row: a reported figure, else a figure derived from other periods, else a reason code.

Companies report the first nine months and the year, so the fourth quarter is the year less nine months, and twelve
months that are not a fiscal year are four quarters, or the last year plus this year to date less the same period of the
year before. A difference is only meaningful if its operands are of one line and of one view of the past:

- Both are reported under the same tags. If not, the reason is ``tag_changed``.
- Both were current at the same time. A restated year less nine months that were never restated with it would book the
  complete restatement into the fourth quarter. The reason is then ``vintage_changed``.

Per-share figures and averages are never added or subtracted (``not_additive``). DECISIONS 14 has the evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from finapi.market.financials import reasons, share_classes
from finapi.market.financials.cells import Cell, Figure, Missing, Operand, compute_rounding, join_marks
from finapi.market.financials.fact_book import COVER_SHARES, ClassFact, FactBook, PeriodKey
from finapi.market.financials.metric_mapping import Metric, MetricMapping
from finapi.market.financials.periods import SAME_DAYS, Calendar, Period, QuarterKey, is_gapless
from finapi.market.financials.reported_figures import ReportedFigures

SHARES_OUTSTANDING, CASH_CHANGE = "shares_outstanding", "net_change_in_cash"
AVERAGE_SHARE_KEYS = ("weighted_average_shares_basic", "weighted_average_shares_diluted")
EPS_BY_SHARE_COUNT = {
    "weighted_average_shares_basic": "eps_basic",
    "weighted_average_shares_diluted": "eps_diluted",
}
# The balances of cash whose difference may be the change of cash: of the cash flow statement, and of the balance sheet.
CASH_BALANCE_KEYS = (
    ("cash_at_end_of_period", "cash_at_beginning_of_period"),
    ("cash_and_equivalents", "cash_and_equivalents"),
)
# The ends of the tags for a change of cash before the effect of exchange rates.
BEFORE_EXCHANGE_RATES = ("ExcludingExchangeRateEffect", "BeforeEffectOfExchangeRateChanges")
# A placeholder for a share count is at most a tenth of the count on the cover. Without averages it must also be small.
MIN_COVER_TO_PLACEHOLDER, MAX_PLACEHOLDER = 10, 10_000
# The difference between the first and the last day of twelve months.
TRAILING_DAYS = 364


class CellResolver:
    """Resolves and caches the cells of one company for one basis, "latest" or "original"."""

    def __init__(
        self, book: FactBook, calendar: Calendar, mapping: MetricMapping, industry: str, basis: str = "latest"
    ) -> None:
        self.book = book
        self.calendar = calendar
        self.mapping = mapping
        self.industry = industry
        self.is_original = basis == "original"
        self.reported = ReportedFigures(book, mapping, industry, is_original=self.is_original)
        self._quarters = calendar.list_quarters()
        self._trailing_quarters: dict[QuarterKey, list[Period] | None] = {}
        self._cells: dict[tuple[str, str, int, int], Cell] = {}

    def get_cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        """Return the cell of a metric in a row of a series; ``kind`` is "A", "Q", "YTD" or "TTM"."""
        cache_key = (metric.key, kind, period.span_index, period.quarter_number)
        cell = self._cells.get(cache_key)
        if cell is None:
            cell = self._resolve(metric, period, kind)
            if isinstance(cell, Missing) and self.book.class_facts and metric.units != "currency":
                cell = self._add_classes(metric, period, kind) or cell
            self._cells[cache_key] = cell
        return cell

    def _resolve(self, metric: Metric, period: Period, kind: str) -> Cell:
        if not metric.has_industry(self.industry):
            return Missing(reasons.NOT_APPLICABLE)
        if metric.aggregation == "instant":
            return self._resolve_instant(metric, period.end)
        if metric.aggregation == "opening":
            start = period.start if kind != "TTM" else period.end - TRAILING_DAYS
            return self._resolve_instant(metric, start - 1) if start is not None else Missing(reasons.NOT_REPORTED)
        if kind == "TTM":
            return self._resolve_trailing(metric, period)
        return self._resolve_duration(metric, period, kind)

    def _resolve_instant(self, metric: Metric, day: int) -> Cell:
        figure = self.reported.find(metric, (day, 0))
        if figure is None:
            near_days = self.book.list_instants_near(day, SAME_DAYS)
            figure = self.reported.find_first(metric, ((near_day, 0) for near_day in near_days))
        if figure is not None and metric.key == SHARES_OUTSTANDING:
            figure = self._replace_placeholder(metric, figure)
        return figure or self._explain_missing(metric, ((day, 0),))

    def _replace_placeholder(self, metric: Metric, figure: Figure) -> Figure:
        """Return the share count on the cover of a report if the tagged share count is only a placeholder.

        A placeholder, such as 0, 100 or 1,000 shares, is a small part of the count on the cover. If averages of the
        shares are reported too, the cover must be nearer to one of them.
        """
        period_key = figure.operands[0].period_key
        covers = [
            cover
            for rule in metric.rules[self.industry]
            if COVER_SHARES in rule.tags and COVER_SHARES in self.book.vintages
            for cover in self.reported.iter_filed(rule, period_key, (COVER_SHARES,))
        ]
        if not covers:
            return figure
        cover = min(covers, key=lambda cover: self.reported.get_filing_order(cover.filing_index))
        if not 0 <= figure.value * MIN_COVER_TO_PLACEHOLDER <= cover.value:
            return figure
        averages = [
            Decimal(self.book.vintages[concept][average_key][-1].value)
            for key in AVERAGE_SHARE_KEYS
            for concept in self.mapping.metrics[key].list_tags(self.industry)
            for average_key in self.book.vintages.get(concept, ())
            if average_key[0] == period_key[0]
        ]
        if not averages:
            return cover if figure.value <= MAX_PLACEHOLDER else figure
        is_cover_nearer = any(average * average > figure.value * cover.value for average in averages if average > 0)
        return cover if is_cover_nearer else figure

    def _resolve_duration(self, metric: Metric, period: Period, kind: str) -> Cell:
        for period_key in period.keys:
            figure = self.reported.find(metric, period_key)
            if figure is None:
                continue
            if kind == "Q":
                if self._is_other_line(metric, period, figure):
                    continue
                figure = self._choose_definition_of_year(metric, period, figure)
                if metric.key == CASH_CHANGE:
                    figure = self._choose_by_balances(metric, period, figure)
            return self._add_exchange_rates(period, figure) if metric.key == CASH_CHANGE else figure
        if kind != "Q":
            return self._explain_missing(metric, period.keys)
        difference = self.subtract(metric, period)
        if metric.key == CASH_CHANGE and isinstance(difference, Figure):
            return self._add_exchange_rates(period, difference)
        return difference

    # ---- one definition for quarters and years

    def _choose_definition_of_year(self, metric: Metric, period: Period, figure: Figure) -> Figure:
        """Return a quarter's figure in the definition of the year, or marked if there is none.

        Example: gross profit of the quarters is in a note, and that of the year is revenue less cost of revenue, which
        is another amount. The quarters are then computed like the year.
        """
        if metric.aggregation != "sum":
            return figure
        for span_index in (period.span_index, period.span_index - 1):
            keys = self.calendar.spans[span_index].keys if span_index >= 0 else ()
            year_figure = self.reported.find_first(metric, keys)
            if year_figure is None:
                continue
            is_on_statement = year_figure.is_from_note and not figure.is_from_note
            if is_on_statement or not self.reported.is_other_definition(metric, figure, year_figure):
                return figure
            for period_key in period.keys:
                same_line = self._find_on_same_line(metric, year_figure, period_key)
                if same_line is not None:
                    return same_line
            difference = self.subtract(metric, period) if span_index == period.span_index else None
            if isinstance(difference, Figure) and difference.concepts == year_figure.concepts:
                return difference
            return figure.add_mark("definition_changed")
        return figure

    # ---- quarters against years to date

    def _choose_by_balances(self, metric: Metric, period: Period, figure: Figure) -> Figure:
        """Return the change of cash of a quarter as reported or as a difference of years to date.

        If the two disagree, the one that agrees with the balances of cash is right. If neither does, or the balances
        are not known, the reported one is marked.
        """
        difference = self.subtract(metric, period)
        if not isinstance(difference, Figure) or is_rounding_difference(figure, difference):
            return figure
        for change in self._list_balance_changes(period):
            for candidate in (figure, difference):
                if is_rounding_difference(candidate, change):
                    return candidate
        return figure.add_mark("inconsistent")

    def _list_balance_changes(self, period: Period) -> list[Figure]:
        """Return the differences between the balances of cash at the end of a period and at its start."""
        changes: list[Figure] = []
        if period.start is None:
            return changes
        for closing_key, opening_key in CASH_BALANCE_KEYS:
            closing = self._resolve_instant(self.mapping.metrics[closing_key], period.end)
            opening = self._resolve_instant(self.mapping.metrics[opening_key], period.start - 1)
            if isinstance(closing, Figure) and isinstance(opening, Figure):
                operands = (*closing.operands, *opening.operands)
                changes.append(closing._replace(value=closing.value - opening.value, operands=operands))
        return changes

    def _add_exchange_rates(self, period: Period, figure: Figure) -> Figure:
        """Return a change of cash with the effect of exchange rates if it is reported without it.

        Filers use the tags of the change before exchange rates for the change after them too, so the balances decide.
        """
        if not figure.concepts[0].endswith(BEFORE_EXCHANGE_RATES):
            return figure
        effect = self._resolve_duration(
            self.mapping.metrics["effect_of_fx_on_cash"], period, "Q" if figure.method == "derived" else "A"
        )
        changes = self._list_balance_changes(period)
        if isinstance(effect, Missing) or any(is_rounding_difference(figure, change) for change in changes):
            return figure
        total = Figure(
            value=figure.value + effect.value,
            concepts=tuple(f"+{concept}" for concept in (*figure.concepts, *effect.concepts)),
            priority=figure.priority,
            filing_index=self.book.find_last_filed((figure.filing_index, effect.filing_index)),
            method="derived",
            operands=(*figure.operands, *effect.operands),
            derivation="change before exchange rates plus their effect",
            marks=join_marks((figure, effect)),
        )
        return total if any(is_rounding_difference(total, change) for change in changes) else figure

    def _is_other_line(self, metric: Metric, period: Period, figure: Figure) -> bool:
        """Return True if a cash flow figure of a quarter is really a line of another statement.

        That is so if it is reported under a fallback tag or in a note, but the year to date under a better, different
        tag. Example: depreciation of the quarter among the expenses, of the year to date among the cash flows.
        """
        if metric.statement != "cash_flow_statement" or (figure.priority == 1 and not figure.is_from_note):
            return False
        to_date_keys = self.calendar.to_date.get((period.span_index, period.quarter_number), ())
        to_date = self.reported.find_first(metric, to_date_keys)
        if to_date is None:
            return False
        if to_date.priority >= figure.priority and (to_date.is_from_note or not figure.is_from_note):
            return False
        rule = self.reported.get_rule(metric, figure)
        under_same_tags = self.reported.iter_filed(rule, to_date.operands[0].period_key, figure.concepts)
        return all(filed.value != to_date.value for filed in under_same_tags)

    def _explain_missing(self, metric: Metric, period_keys: Sequence[PeriodKey]) -> Missing:
        """Return the missing cell of a metric that no filing reports for ``period_keys``, with its reason."""
        if self._has_tag_in(self.book.nil_facts, metric, period_keys):
            return Missing(reasons.REPORTED_NIL)
        if self._has_tag_in(self.book.other_unit_facts, metric, period_keys):
            return Missing(reasons.OTHER_UNIT)
        if self.reported.has_unexpected_sign(metric, period_keys):
            return Missing(reasons.UNEXPECTED_SIGN)
        other_definition = self.reported.other_definition_periods.get(metric.key)
        if other_definition and not other_definition.isdisjoint(period_keys):
            return Missing(reasons.OTHER_DEFINITION)
        for line_labels in (self.reported.sibling_lines, self.book.possible_lines):
            for period_key in period_keys if line_labels else ():
                line_label = line_labels.get((metric.key, period_key))
                if line_label:
                    return Missing(reasons.NOT_MAPPED, line_label)
        return Missing(reasons.NOT_REPORTED)

    def _has_tag_in(self, facts: set[tuple[str, PeriodKey]], metric: Metric, period_keys: Sequence[PeriodKey]) -> bool:
        if not facts:
            return False
        tags = metric.list_tags(self.industry)
        return any((tag, period_key) in facts for tag in tags for period_key in period_keys)

    # ---- classes of shares

    def find_classes(self, metric: Metric, period: Period, kind: str) -> dict[str, ClassFact]:
        """Return the facts of a metric by class of common shares, all from one filing, or none."""
        if metric.aggregation == "instant":
            period_keys: Sequence[PeriodKey] = ((period.end, 0),)
        else:
            period_keys = period.keys if kind != "TTM" else ()
        for concept in metric.list_tags(self.industry):
            for period_key in period_keys:
                facts = self.book.class_facts.get((concept, period_key), ())
                common = share_classes.select_common(facts)
                if common:
                    filing_indexes = {fact.vintage.filing_index for fact in common.values()}
                    filing_index = min(filing_indexes, key=self.reported.get_filing_order)
                    return share_classes.select_common(
                        fact for fact in facts if fact.vintage.filing_index == filing_index
                    )
        return {}

    def _add_classes(self, metric: Metric, period: Period, kind: str) -> Cell | None:
        """Return the sum over the classes of shares, a missing cell if they have no sum, or None without classes."""
        classes = self.find_classes(metric, period, kind)
        if not classes:
            return None
        if metric.units != "shares":
            return Missing(reasons.REPORTED_BY_CLASS)
        counts = {member: Decimal(fact.vintage.value) for member, fact in classes.items()}
        first_vintage = next(iter(classes.values())).vintage
        known_members = {
            member
            for facts in self.book.class_facts.values()
            for member in share_classes.select_common(
                fact for fact in facts if fact.vintage.filing_index == first_vintage.filing_index
            )
        }
        per_share_key = EPS_BY_SHARE_COUNT.get(metric.key)
        earnings_per_share: dict[str, Decimal] = {}
        if per_share_key is not None:
            per_share_classes = self.find_classes(self.mapping.metrics[per_share_key], period, kind)
            earnings_per_share = {member: Decimal(fact.vintage.value) for member, fact in per_share_classes.items()}
        income = self.get_cell(self.mapping.metrics["net_income"], period, kind)
        income_value = income.value if isinstance(income, Figure) else None
        if not share_classes.can_be_added(metric, counts, known_members, earnings_per_share, income_value):
            return Missing(reasons.REPORTED_BY_CLASS)
        mapped_concept = self.mapping.find_concept(first_vintage.concept) or first_vintage.concept
        period_key = (period.end, 0) if metric.aggregation == "instant" else period.keys[0]
        return Figure(
            value=sum(counts.values(), Decimal(0)),
            concepts=(mapped_concept,),
            priority=1,
            filing_index=first_vintage.filing_index,
            method="derived",
            operands=tuple(Operand(1, period_key, fact.vintage) for fact in classes.values()),
            derivation="the classes of shares together",
            marks=("reported_by_class",),
        )

    # ---- quarters as differences of longer durations

    def subtract(self, metric: Metric, period: Period) -> Cell:
        """Return a quarter as the year, or year to date, less the part of the year before it (DECISIONS 14)."""
        span_index, quarter_number = period.span_index, period.quarter_number
        to_date_keys = self.calendar.to_date.get((span_index, quarter_number), ())
        if quarter_number == 1 and to_date_keys:
            # In a first quarter, the year to date is the quarter itself.
            return self._resolve_duration(metric, period._replace(keys=to_date_keys), "A")
        to_date = self.reported.find_first(metric, to_date_keys)
        if to_date is None:
            return self._explain_missing(metric, (*period.keys, *to_date_keys))
        if metric.aggregation == "none":
            return Missing(reasons.NOT_ADDITIVE)
        reason = reasons.OPERAND_MISSING
        # The year to date may be reported under two tags with the same value, but the earlier part under only one of
        # them.
        for minuend in (to_date, *self.reported.iter_under_other_tags(metric, to_date)):
            for parts in self._iter_partitions(span_index, quarter_number, minuend.operands[0].period_key):
                cell = self._compute_difference(metric, minuend, parts)
                if isinstance(cell, Figure):
                    return cell
                if reason == reasons.OPERAND_MISSING:
                    reason = cell.reason
        return Missing(reason)

    def _iter_partitions(
        self, span_index: int, quarter_number: int, to_date_key: PeriodKey
    ) -> Iterator[tuple[PeriodKey, ...]]:
        """Yield the ways to cover the year up to a quarter without gaps, those with fewer durations first.

        Example: before the fourth quarter, nine months; or a half year and the third quarter; or three quarters.
        """
        end, length = to_date_key
        start = end - length + 1
        for first_part_number in range(quarter_number - 1, 0, -1):
            first_part_keys = self.calendar.to_date.get((span_index, first_part_number), ())
            if not first_part_keys:
                continue
            parts = [first_part_keys[0]]
            for number in range(first_part_number + 1, quarter_number):
                quarter = self.calendar.quarters.get((span_index, number))
                if quarter is None or not quarter.keys:
                    break
                parts.append(quarter.keys[0])
            if len(parts) == quarter_number - first_part_number and is_gapless(start, parts):
                yield tuple(parts)

    def _compute_difference(self, metric: Metric, minuend: Figure, parts: Sequence[PeriodKey]) -> Cell:
        """Return ``minuend`` less the figures of ``parts``, or a missing cell if they must not be subtracted."""
        value = minuend.value
        operands = list(minuend.operands)
        filing_indexes = [minuend.filing_index]
        part_figures: list[Figure] = []
        for period_key in parts:
            part = self._find_on_same_line(metric, minuend, period_key)
            if part is None:
                is_reported = self.reported.find(metric, period_key) is not None
                return Missing(reasons.TAG_CHANGED if is_reported else reasons.OPERAND_MISSING)
            if not self._are_consistent(minuend, part):
                return Missing(reasons.VINTAGE_CHANGED)
            value -= part.value
            part_figures.append(part)
            filing_indexes.append(part.filing_index)
            operands += [operand._replace(sign=-operand.sign) for operand in part.operands]
        marks = join_marks((minuend, *part_figures))
        if value < 0 and metric.is_outlay and "inconsistent" not in marks:
            marks = (*marks, "inconsistent")
        return Figure(
            value=value,
            concepts=minuend.concepts,
            priority=minuend.priority,
            filing_index=self.book.find_last_filed(filing_indexes),
            method="derived",
            operands=tuple(operands),
            derivation="year to date less what came before",
            marks=marks,
        )

    def _find_on_same_line(self, metric: Metric, figure: Figure, period_key: PeriodKey) -> Figure | None:
        rule = self.reported.get_rule(metric, figure)
        return self.reported.find_filed(rule, period_key, figure.concepts)

    def _are_consistent(self, minuend: Figure, part: Figure) -> bool:
        """Return True if two figures belong to one view of the past.

        They do not if one was restated and the other was never reported again after that, or if there was no day on
        which both were current.
        """
        if self.reported.is_never_restated(minuend) and self.reported.is_never_restated(part):
            return True
        minuend_history = self.reported.build_history(minuend)
        part_history = self.reported.build_history(part)
        if minuend_history.until <= part_history.since or part_history.until <= minuend_history.since:
            return False
        # A part that was reported again after the minuend's restatement is consistent with the restated minuend.
        is_only_minuend_restated = minuend_history.is_restated and not part_history.is_restated
        if is_only_minuend_restated and part_history.last < minuend_history.since:
            return False
        is_part_restated_later = part_history.is_restated and part_history.since > minuend_history.first
        if is_part_restated_later and not minuend_history.is_restated:
            return minuend_history.last >= part_history.since
        return True

    # ---- trailing twelve months

    def _resolve_trailing(self, metric: Metric, period: Period) -> Cell:
        """Return the twelve months that end with a quarter: the fiscal year itself, else a sum."""
        year = self.calendar.spans[period.span_index]
        if period.quarter_number == 4 and year.keys and abs(year.end - period.end) <= SAME_DAYS:
            year_figure = self.reported.find_first(metric, year.keys)
            if year_figure is not None:
                return year_figure
            if metric.aggregation == "none" or self._find_trailing_quarters(period) is None:
                return self._explain_missing(metric, year.keys)
        if metric.aggregation == "none":
            return Missing(reasons.NOT_ADDITIVE)
        rolled_year = self._roll_year_forward(metric, period)
        if rolled_year is not None:
            return rolled_year
        quarters = self._find_trailing_quarters(period)
        if quarters is None:
            return Missing(reasons.PERIODS_MISSING)
        cells = [self.get_cell(metric, quarter, "Q") for quarter in quarters]
        figures = [cell for cell in cells if isinstance(cell, Figure)]
        if len(figures) < len(cells):
            if figures:
                return Missing(reasons.OPERAND_MISSING)
            return cells[0]
        return Figure(
            value=sum((figure.value for figure in figures), Decimal(0)),
            concepts=figures[0].concepts,
            priority=max(figure.priority for figure in figures),
            filing_index=self.book.find_last_filed(figure.filing_index for figure in figures),
            method="derived",
            operands=_join_operands(figures),
            derivation="four quarters together",
            marks=join_marks(figures),
        )

    def _roll_year_forward(self, metric: Metric, period: Period) -> Figure | None:
        """Return the last year plus this year to date less the prior year to date, all of one line, or None."""
        if not period.span_index:
            return None
        year = self.calendar.spans[period.span_index - 1]
        to_date_keys = self.calendar.to_date.get((period.span_index, period.quarter_number))
        keys_before = self.calendar.to_date.get((period.span_index - 1, period.quarter_number))
        if year.kind != "year" or not to_date_keys or not keys_before:
            return None
        to_date_end, _ = to_date_keys[0]
        if not is_gapless(year.start, (year.keys[0], to_date_keys[0])) or abs(to_date_end - period.end) > SAME_DAYS:
            return None
        year_figure = self.reported.find_first(metric, year.keys)
        to_date = self.reported.find_first(metric, to_date_keys)
        if year_figure is None or to_date is None:
            return None
        for minuend in (year_figure, *self.reported.iter_under_other_tags(metric, year_figure)):
            difference = self._compute_difference(metric, minuend, keys_before[:1])
            if isinstance(difference, Figure) and to_date.concepts == minuend.concepts:
                subtracted = difference.operands[len(minuend.operands) :]
                return difference._replace(
                    value=difference.value + to_date.value,
                    operands=(*minuend.operands, *to_date.operands, *subtracted),
                    filing_index=self.book.find_last_filed((difference.filing_index, to_date.filing_index)),
                    derivation="year and year to date less the year to date before",
                    marks=join_marks((difference, to_date)),
                )
        return None

    def estimate_last_average(self, metric: Metric, period: Period) -> Figure | None:
        """Return the average for a year's last quarter, implied by the averages of the year and of its other quarters.

        The year's average is the mean of the quarters' averages weighted by their days. Return None if one of them is
        not known, or if the result is not between half and twice the year's average.
        """
        quarters = self._find_trailing_quarters(period)
        year = self.calendar.spans[period.span_index]
        if quarters is None or period.quarter_number != 4 or year.kind != "year":
            return None
        year_figure = self.reported.find_first(metric, year.keys)
        if year_figure is None or any(quarter.span_index != period.span_index for quarter in quarters):
            return None
        figures = [year_figure]
        quarter_days = [quarter.end - (quarter.start or quarter.end) + 1 for quarter in quarters]
        last_quarter_sum = year_figure.value * sum(quarter_days)
        for quarter, days in zip(quarters[1:], quarter_days[1:], strict=True):
            cell = self.get_cell(metric, quarter, "Q")
            if isinstance(cell, Missing):
                return None
            figures.append(cell)
            last_quarter_sum -= cell.value * days
        value = round(last_quarter_sum / quarter_days[0])
        if not year_figure.value / 2 < value < year_figure.value * 2:
            return None
        return Figure(
            value=Decimal(value),
            concepts=year_figure.concepts,
            priority=year_figure.priority,
            filing_index=self.book.find_last_filed(figure.filing_index for figure in figures),
            method="derived",
            operands=_join_operands(figures),
            derivation="the average of the year less those of its other quarters, by their days",
            marks=join_marks(figures),
            is_estimated=True,
        )

    def _find_trailing_quarters(self, period: Period) -> list[Period] | None:
        """Return a quarter and the three before it without a gap, newest first, or None."""
        cache_key = (period.span_index, period.quarter_number)
        if cache_key not in self._trailing_quarters:
            quarters = [period]
            for quarter in self._quarters:
                start = quarters[-1].start
                if len(quarters) < 4 and start is not None and abs(start - 1 - quarter.end) <= SAME_DAYS:
                    quarters.append(quarter)
            self._trailing_quarters[cache_key] = quarters if len(quarters) == 4 else None
        return self._trailing_quarters[cache_key]


def is_rounding_difference(figure: Figure, other: Figure) -> bool:
    """Return True if two figures differ by at most what rounding of their operands explains."""
    return abs(figure.value - other.value) <= compute_rounding(figure) + compute_rounding(other)


def _join_operands(figures: Sequence[Figure]) -> tuple[Operand, ...]:
    return tuple(operand for figure in figures for operand in figure.operands)
