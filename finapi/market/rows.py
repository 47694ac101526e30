"""A row of a series: its metrics, derived figures and ratios, each a figure or a hole with its reason."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from finapi.market import ratios, reasons
from finapi.market.book import iso
from finapi.market.calendars import Period
from finapi.market.cells import Cell, Figure, Hole, Operand
from finapi.market.company_books import CompanyBook
from finapi.market.figures import Teller
from finapi.market.metrics import Derived, Metric
from finapi.market.periods import SLACK
from finapi.market.ratios import Missing, Ratio

# The close of a share on the last trading day up to a day, as traded; None when none is loaded.
Price = Callable[[int], "Decimal | None"]

# Share counts of two periods that differ by more than this were counted before and after a split.
SPLIT = Decimal("1.4")

# Totals of equity that the definitions of their tags leave noncontrolling interests out of.
OWNERS_ONLY = frozenset(
    [
        "us-gaap:StockholdersEquity",
        "us-gaap:MembersEquity",
        "us-gaap:PartnersCapital",
        "ifrs-full:EquityAttributableToOwnersOfParent",
    ]
)

KINDS = ("A", "Q", "TTM", "YTD")


class Series:
    """The rows of one company for one kind of period ("A", "Q", "TTM", "YTD") and basis, newest first."""

    def __init__(self, held: CompanyBook, kind: str, basis: str, price: Price | None = None) -> None:
        self.held = held
        self.kind = kind
        self.teller: Teller = held.tellers[basis]
        self.price = price
        calendar = held.calendar
        self.periods: list[Period] = {
            "A": calendar.years,
            "Q": calendar.interim,
            "TTM": calendar.interim,
            "YTD": calendar.years_to_date,
        }[kind]()
        self._rows: dict[tuple[int, int], RowView] = {}
        self._trailing: Series | None = self if kind == "TTM" else None

    def row(self, period: Period) -> RowView:
        """The row of a period of this series; the same one each time."""
        place = (period.span, period.number)
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = RowView(self, period)
        return row

    @property
    def trailing(self) -> Series:
        """The series of trailing twelve months with the same quarters."""
        if self._trailing is None:
            basis = "original" if self.teller.original else "latest"
            self._trailing = Series(self.held, "TTM", basis, self.price)
        return self._trailing

    def find(self, year: int | None, name: str | None, end: str | None) -> Period | None:
        """The newest period that fits a fiscal year, a fiscal period and a last day, each where it is given."""
        for one in self.periods:
            fits = year in (None, one.fiscal_year) and name in (None, one.fiscal_period)
            if fits and end in (None, iso(one.end)):
                return one
        return None

    def named(self, period: Period) -> dict[str, object]:
        """Which period it is, as rows say it."""
        return {
            "period": self.kind,
            "fiscal_year": period.fiscal_year,
            "fiscal_period": period.fiscal_period,
            "period_start": None if period.start is None or self.kind == "TTM" else iso(period.start),
            "period_end": iso(period.end),
        }

    def before(self, period: Period, days: int) -> Period | None:
        """The period of this series that ends ``days`` before another, give or take, and is like it."""
        for one in self.periods:
            near = abs(period.end - days - one.end) <= SLACK
            if near and (self.kind != "YTD" or one.number == period.number):
                return one
        return None


class Input(NamedTuple):
    """A cell that a figure is made of, and the row that it stands in: of another period for a mean or a growth, of the
    trailing year for the year of a quarter. Of a growth it is what the one filing tells that tells both periods."""

    row: RowView
    key: str
    cell: Cell


class RowView:
    """The cells of one period; what a ratio's formula asks (``ratios.Figures``)."""

    def __init__(self, series: Series, period: Period) -> None:
        self.series = series
        self.period = period
        self._teller = series.teller
        self._mapping = series.teller.mapping
        self._cells: dict[str, Cell] = {}
        # What each ratio was made of, and what the one that is being worked out has asked for.
        self._used: dict[str, list[Input]] = {}
        self._asked: list[Input] = []
        self._year_ago: RowView | None = None
        self._sought = False

    def cell(self, key: str) -> Cell:
        """The cell of a metric, derived figure or ratio; KeyError for a key that is none."""
        cell = self._cells.get(key)
        if cell is None:
            metric = self._mapping.metrics.get(key)
            if metric is not None:
                cell = self._teller.cell(metric, self.period, self.series.kind)
            elif key in self._mapping.derived:
                cell = self._derived(self._mapping.derived[key])
            else:
                cell = self._ratio(ratios.catalogue().ratios[key])
            self._cells[key] = cell
        return cell

    def _derived(self, derived: Derived) -> Cell:
        figures: list[Figure] = []
        value = Decimal(0)
        for term in derived.terms:
            cell = self.cell(term.names[0])
            if isinstance(cell, Figure):
                if self._wrong_way(term.names[0], cell):
                    return Hole(reasons.UNEXPECTED_SIGN, reasons.status(reasons.UNEXPECTED_SIGN))
                figures.append(cell)
                value += term.sign * cell.value
            elif cell.reason in (reasons.NOT_APPLICABLE, reasons.UNEXPECTED_SIGN) and not term.optional:
                return cell
            elif not (term.optional and cell.reason in (reasons.NOT_REPORTED, reasons.NOT_APPLICABLE)):
                return Hole(reasons.INPUT_MISSING)
        place = self._teller.book.latest(figure.place for figure in figures)
        return Figure(value, (derived.key,), 1, place, "derived", (), derived.formula)

    def _ratio(self, ratio: Ratio) -> Cell:
        outer, self._asked = self._asked, []
        try:
            value = ratios.rounded(ratio.worked_out(self))
        except Missing as missing:
            return Hole(missing.reason, reasons.status(missing.reason))
        finally:
            self._used[ratio.key], self._asked = self._asked, outer
        used = self._used[ratio.key]
        place = self._teller.book.latest(one.cell.place for one in used if isinstance(one.cell, Figure))
        return Figure(value, (ratio.key,), 1, place, "derived", (), ratio.formula)

    def _wrong_way(self, key: str, cell: Figure) -> bool:
        """Whether an outlay is negative."""
        metric = self._mapping.metrics.get(key)
        return metric is not None and metric.wrong_way(cell.value)

    def inputs(self, key: str) -> list[Input]:
        """What the cell of a derived figure or ratio was made of; of a hole also what was not come to."""
        self.cell(key)
        if key in self._mapping.derived:
            names = [term.names[0] for term in self._mapping.derived[key].terms]
        else:
            names = list(ratios.catalogue().ratios[key].inputs)
        used = list(dict.fromkeys(self._used.get(key, ())))
        known = {one.key for one in used}
        return used + [Input(self, name, self.cell(name)) for name in names if name not in known]

    def operands(self, key: str, cell: Cell) -> tuple[Operand, ...]:
        """What a figure of a key in this row was worked out from; of a derived figure or ratio what its inputs were."""
        if not isinstance(cell, Figure) or key in self._mapping.metrics:
            return cell.operands if isinstance(cell, Figure) else ()
        made = [operand for one in self.inputs(key) for operand in one.row.operands(one.key, one.cell)]
        return tuple(dict.fromkeys(made))

    # ---- ratios.Figures

    def value(self, key: str) -> Decimal:
        """The value of a cell; Missing with the reason why there is none."""
        return self._ask(self, key)

    def _ask(self, row: RowView, key: str) -> Decimal:
        cell = row.cell(key)
        self._asked.append(Input(row, key, cell))
        if isinstance(cell, Figure):
            if self._wrong_way(key, cell):
                raise Missing(reasons.UNEXPECTED_SIGN)
            return cell.value
        # What a formula needs and the row lacks is named as the row names it, but for plain silence.
        raise Missing(cell.reason)

    def year(self, key: str) -> Decimal:
        """The figure of the year that ends with the row."""
        kind = self.series.kind
        if kind == "YTD" and self.period.number != 4:
            raise Missing(reasons.OTHER_PERIOD)
        return self._ask(self.series.trailing.row(self.period) if kind == "Q" else self, key)

    def average(self, key: str) -> Decimal:
        """The mean of a balance at the row's end and a year before."""
        now = self.value(key)
        ago = self._before_a_year()
        if ago is None:
            raise Missing(reasons.NO_PRIOR_PERIOD)
        return (now + self._ask(ago, key)) / 2

    def growth(self, key: str, kind: str) -> Decimal:
        """Growth of a metric against an earlier period, of figures that one filing tells where one does."""
        series = self.series
        if kind == "growth_quarter" and series.kind != "Q":
            raise Missing(reasons.OTHER_PERIOD)
        if kind == "growth_sequential":
            earlier = series.before(self.period, 91 if series.kind in ("Q", "TTM") else 365)
            ago = series.row(earlier) if earlier is not None and self._alike(earlier) else None
        else:
            ago = self._before_a_year()
        self.value(key)
        if ago is None:
            raise Missing(reasons.NO_PRIOR_PERIOD)
        self._ask(ago, key)
        now, base = self._comparable(self._mapping.metrics[key], ago)
        self._asked[-2:] = [Input(self, key, now), Input(ago, key, base)]
        if base.value <= 0:
            raise Missing(reasons.NEGATIVE_BASE)
        return (now.value - base.value) / base.value

    def price(self) -> Decimal:
        """The price of a share at the end of the row."""
        found = self.series.price(self.period.end) if self.series.price else None
        if found is None:
            raise Missing(reasons.NO_PRICE)
        return found

    def shares(self) -> Decimal:
        """The shares outstanding as first told for the row: of the day of its price, before any later split."""
        first = Series(self.series.held, self.series.kind, "original")
        return self._ask(first.row(self.period), "shares_outstanding")

    def owners_only(self) -> bool:
        """Whether the total of equity is without noncontrolling interests."""
        cell = self.cell("total_equity")
        return isinstance(cell, Figure) and OWNERS_ONLY.issuperset(cell.line)

    def _before_a_year(self) -> RowView | None:
        if not self._sought:
            self._sought = True
            earlier = self.series.before(self.period, 365)
            if earlier is not None and self._alike(earlier):
                self._year_ago = self.series.row(earlier)
        return self._year_ago

    def _alike(self, earlier: Period) -> bool:
        """Whether a period is as long as the row's: a year is not compared with a transition period."""
        period = self.period
        if period.start is None or earlier.start is None:
            return period.fiscal_period == earlier.fiscal_period
        return abs((period.end - period.start) - (earlier.end - earlier.start)) <= 2 * SLACK

    def _comparable(self, metric: Metric, ago: RowView) -> tuple[Figure, Figure]:
        now, before = self.cell(metric.key), ago.cell(metric.key)
        assert isinstance(now, Figure)
        assert isinstance(before, Figure)
        pair = self._teller.reports.together(metric, now, before)
        if pair is not None:
            return pair
        # A loss is one before a split as after it: then the base alone says that growth means nothing.
        if metric.units == "per_share" and before.value > 0:
            self._refuse_split(ago)
        return now, before

    def _refuse_split(self, ago: RowView) -> None:
        cells = [row.cell("weighted_average_shares_diluted") for row in (self, ago)]
        counts = [cell.value for cell in cells if isinstance(cell, Figure)]
        if len(counts) < len(cells) or min(counts) <= 0 or max(counts) / min(counts) > SPLIT:
            raise Missing(reasons.VINTAGE_CHANGED)
