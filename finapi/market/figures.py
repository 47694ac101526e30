"""The figure of a metric for a period of a series: as filings report it, or derived from what they report.

Pure: a :class:`Teller` holds a book, a calendar, an industry and a basis, and tells each cell once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from finapi.market import reasons
from finapi.market.book import Book, Key
from finapi.market.calendars import SAME, Calendar, Period
from finapi.market.cells import Cell, Figure, Hole
from finapi.market.metrics import Mapping, Metric
from finapi.market.reported import Reports


class Teller:
    """Tells the figures of one company under one basis, "latest" or "original"."""

    def __init__(
        self, book: Book, calendar: Calendar, mapping: Mapping, industry: str, basis: str = "latest"
    ) -> None:
        self.book = book
        self.calendar = calendar
        self.mapping = mapping
        self.industry = industry
        self.original = basis == "original"
        self.reports = Reports(book, mapping, industry, original=self.original)
        self._interim = calendar.interim()
        self._fours: dict[tuple[int, int], list[Period] | None] = {}
        self._cells: dict[tuple[str, str, int, int], Cell] = {}

    # ---- cells of a row

    def cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        """The figure of a metric in a row of a series; ``kind`` is "A", "Q", "YTD" or "TTM"."""
        place = (metric.key, kind, period.span, period.number)
        cell = self._cells.get(place)
        if cell is None:
            cell = self._cells[place] = self._cell(metric, period, kind)
        return cell

    def _cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        if not metric.applies_to(self.industry):
            return Hole(reasons.NOT_APPLICABLE)
        if metric.over == "instant":
            return self._instant(metric, period.end)
        if metric.over == "opening":
            start = period.start if kind != "TTM" else period.end - 364
            return self._instant(metric, start - 1) if start is not None else Hole(reasons.NOT_REPORTED)
        if kind == "TTM":
            return self._trailing(metric, period)
        return self._lasting(metric, period, kind)

    def _instant(self, metric: Metric, end: int) -> Cell:
        figure = self.reports.reported(metric, (end, 0))
        if figure is None:
            for near in self.book.instants_near(end, SAME):
                figure = self.reports.reported(metric, (near, 0))
                if figure is not None:
                    break
        return figure or self._silence(metric, ((end, 0),))

    def _lasting(self, metric: Metric, period: Period, kind: str) -> Cell:
        for key in period.keys:
            figure = self.reports.reported(metric, key)
            if figure is not None and not (kind == "Q" and self._lesser(metric, period, figure)):
                return figure
        if kind != "Q":
            return self._silence(metric, period.keys)
        return self._subtracted(metric, period)

    def _lesser(self, metric: Metric, period: Period, figure: Figure) -> bool:
        """Whether a quarter of a cash flow line is told by a lesser tag than the year to date that ends with it, which
        that tag tells otherwise: then it is a line of another statement (depreciation among expenses)."""
        if metric.statement != "cash_flow_statement" or figure.tier == 1:
            return False
        totals = self.calendar.to_date.get((period.span, period.number), ())
        whole = next(
            (found for key in totals if (found := self.reports.reported(metric, key)) is not None), None
        )
        if whole is None or whole.tier >= figure.tier:
            return False
        way = metric.ways[self.industry][figure.tier - 1]
        to_date = self.reports.of_line(way, whole.operands[0][1], figure.line)
        return all(one.value != whole.value for one in to_date)

    def _silence(self, metric: Metric, keys: Sequence[Key]) -> Hole:
        """Why a metric has no reported figure for a period told by ``keys``."""
        for told, reason in (
            (self.book.nil, reasons.REPORTED_NIL),
            (self.book.other_units, reasons.OTHER_UNIT),
        ):
            if told and any(
                (tag, key) in told for way in metric.ways[self.industry] for tag in way.tags for key in keys
            ):
                return Hole(reason)
        if any(self.reports.wrong_way(metric, key) for key in keys):
            return Hole(reasons.UNEXPECTED_SIGN, reasons.status(reasons.UNEXPECTED_SIGN))
        return Hole(reasons.NOT_REPORTED)

    # ---- what filings report

    # ---- quarters out of longer durations

    def _subtracted(self, metric: Metric, period: Period) -> Cell:
        """A quarter as the year (or year to date) less what came before it in the year (EDGAR.md)."""
        span, number = period.span, period.number
        totals = self.calendar.to_date.get((span, number), ())
        if number == 1 and totals:
            # A first quarter told only as a year to date is itself.
            return self._lasting(metric, period._replace(keys=totals), "A")
        whole = next(
            (figure for key in totals if (figure := self.reports.reported(metric, key)) is not None), None
        )
        if whole is None:
            return self._silence(metric, (*period.keys, *totals))
        if metric.over == "none":
            return Hole(reasons.NOT_ADDITIVE)
        failed = reasons.OPERAND_MISSING
        # Told under two tags alike, the whole is a whole of either; what came before stands under one of them.
        for one in (whole, *self.reports.alike(metric, whole)):
            for parts in self._partitions(span, number, one.operands[0][1]):
                cell = self._less(metric, one, parts)
                if isinstance(cell, Figure):
                    return cell
                if failed == reasons.OPERAND_MISSING:
                    failed = cell.reason
        return Hole(failed)

    def _partitions(self, span: int, number: int, total: Key) -> Iterator[tuple[Key, ...]]:
        """The ways to cover what came before a quarter, gapless from the start: one duration before several."""
        quarters = self.calendar.quarters
        start = total[0] - total[1] + 1
        for until in range(number - 1, 0, -1):
            first = self.calendar.to_date.get((span, until), ())
            later = [quarters.get((span, one)) for one in range(until + 1, number)]
            if not first or any(one is None or not one.keys for one in later):
                continue
            parts = (first[0], *(one.keys[0] for one in later if one is not None))
            if _tiled(start, parts):
                yield parts

    def _less(self, metric: Metric, whole: Figure, parts: Sequence[Key]) -> Cell:
        """``whole`` less ``parts``, each of the same line and of the same vintage, or why not."""
        operands = list(whole.operands)
        value, places = whole.value, [whole.place]
        reason = reasons.OPERAND_MISSING
        for key in parts:
            part = self._same_line(metric, whole, key)
            if part is None:
                told = self.reports.reported(metric, key) is not None
                return Hole(reasons.TAG_CHANGED if told else reason)
            if not self._as_known(whole, part):
                return Hole(reasons.VINTAGE_CHANGED)
            value -= part.value
            places.append(part.place)
            operands += [(-sign, key, entry) for sign, key, entry in part.operands]
        rule = "year to date less what came before"
        place = self.book.latest(places)
        return Figure(value, whole.line, whole.tier, place, "derived", tuple(operands), rule)

    def _same_line(self, metric: Metric, whole: Figure, key: Key) -> Figure | None:
        way = next(way for way in metric.ways[self.industry] if way.tier == whole.tier)
        told = list(self.reports.of_line(way, key, whole.line))
        best = min((self.book.rank(one.place) for one in told), default=0)
        told = [one for one in told if self.book.rank(one.place) == best]
        pick = min if self.original else max
        return pick(told, key=lambda one: one.place) if told else None

    def _as_known(self, whole: Figure, part: Figure) -> bool:
        """Whether two figures belong to one view of the past.

        A restated one and one that was never told again after the restatement do not; nor do two that no day
        held at once.
        """
        if self.reports.unchanged(whole) and self.reports.unchanged(part):
            return True
        one, other = self.reports.history(whole), self.reports.history(part)
        if one.until <= other.since or other.until <= one.since:
            return False
        # Said again after the other was restated: then it stands beside the restated figure.
        if one.restated and not other.restated and other.last < one.since:
            return False
        late = other.restated and other.since > one.first
        return not (late and not one.restated and one.last < other.since)

    # ---- trailing twelve months

    def _trailing(self, metric: Metric, period: Period) -> Cell:
        """Four quarters that end with a period: the year itself where it is one, else their sum."""
        year = self.calendar.spans[period.span]
        if period.number == 4 and year.keys and abs(year.end - period.end) <= SAME:
            whole = next(
                (figure for key in year.keys if (figure := self.reports.reported(metric, key))), None
            )
            if whole is not None:
                return whole
            if metric.over == "none" or self._four(period) is None:
                return self._silence(metric, year.keys)
        if metric.over == "none":
            return Hole(reasons.NOT_ADDITIVE)
        quarters = self._four(period)
        if quarters is None:
            return Hole(reasons.PERIODS_MISSING)
        cells = [self.cell(metric, quarter, "Q") for quarter in quarters]
        figures = [cell for cell in cells if isinstance(cell, Figure)]
        if len(figures) < len(cells):
            missing = next(cell for cell in cells if isinstance(cell, Hole))
            return Hole(reasons.OPERAND_MISSING if len(figures) else missing.reason)
        return Figure(
            sum((one.value for one in figures), Decimal(0)),
            figures[0].line,
            max(one.tier for one in figures),
            self.book.latest(one.place for one in figures),
            "derived",
            tuple(operand for one in figures for operand in one.operands),
            "four quarters together",
        )

    def _four(self, period: Period) -> list[Period] | None:
        """A quarter and the three before it, without a gap, newest first."""
        place = (period.span, period.number)
        if place not in self._fours:
            found = [period]
            for quarter in self._interim:
                last = found[-1]
                if len(found) < 4 and last.start is not None and abs(last.start - 1 - quarter.end) <= SAME:
                    found.append(quarter)
            self._fours[place] = found if len(found) == 4 else None
        return self._fours[place]


def _tiled(start: int, parts: Sequence[Key]) -> bool:
    """Whether durations follow one another from ``start`` on without gap or overlap."""
    for end, days in parts:
        if abs(end - days + 1 - start) > SAME:
            return False
        start = end + 1
    return True
