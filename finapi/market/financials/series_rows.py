"""A row of a series: its metrics, derived figures and ratios, each a figure or missing with a reason."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf
from finapi.market.financials import metric_mapping, ratios, reasons
from finapi.market.financials.cells import Cell, Figure, Missing, Operand
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import DerivedMetric, Metric
from finapi.market.financials.periods import SLACK_DAYS, Period
from finapi.market.financials.ratios import Compute, NoValue, Ratio
from finapi.market.financials.templates import FailedCheck

# The close of a share on the last trading day up to a day, as traded; or the reason code of why there is none.
PriceOnDay = Callable[[int], "Decimal | str"]
# Where prices are from; synthetic ones are made up, as in the demo.
PriceSource = Annotated[str, OneOf(("csv", "synthetic"))]

# Share counts of two periods that differ by more than this were counted before and after a split.
SPLIT = Decimal("1.4")

# The average of shares that earnings of one are told of.
SHARE_COUNTS = {"eps_basic": "weighted_average_shares_basic", "eps_diluted": "weighted_average_shares_diluted"}

# Totals of equity that the definitions of their tags leave noncontrolling interests out of.
OWNERS_ONLY = frozenset(
    [
        "us-gaap:StockholdersEquity",
        "us-gaap:MembersEquity",
        "us-gaap:PartnersCapital",
        "ifrs-full:EquityAttributableToOwnersOfParent",
    ]
)

SERIES_KINDS = ("A", "Q", "TTM", "YTD")


ESTIMATED = "income of the quarter over the estimated average of shares"


class RowPeriod(TypedDict):
    """Which period a row is of."""

    fiscal_year: int
    fiscal_period: str
    period_start: Date | None
    period_end: Date


def find_definition(key: str) -> Metric | DerivedMetric | Ratio | None:
    """The metric, derived figure or ratio of a key, or None."""
    mapping = metric_mapping.get_mapping()
    return mapping.metrics.get(key) or mapping.derived.get(key) or ratios.get_catalogue().ratios.get(key)


def list_concepts(figure: Figure) -> list[str]:
    """The concepts that a figure is of."""
    return sorted({vintage.concept for _, _, vintage in figure.operands})


class FigureSeries:
    """The rows of one company for one kind of period ("A", "Q", "TTM", "YTD") and basis, newest first. With
    ``estimated`` last quarters have the averages of shares and earnings of one that no filing tells."""

    def __init__(
        self, held: CompanyBook, kind: str, basis: str, price: PriceOnDay | None = None, *, estimated: bool = False
    ) -> None:
        self.estimated = estimated and kind == "Q"
        self.company_book = held
        self.kind = kind
        self.resolver = held.resolvers[basis]
        self.price = price
        calendar = held.calendar
        periods = {"A": calendar.list_years, "YTD": calendar.list_years_to_date}.get(kind, calendar.list_quarters)
        self.periods: list[Period] = periods()
        self._rows: dict[tuple[int, int], RowView] = {}
        self._trailing: FigureSeries | None = self if kind == "TTM" else None

    def get_row(self, period: Period) -> RowView:
        """The row of a period of this series; the same one each time."""
        place = (period.span_index, period.quarter_number)
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = RowView(self, period)
        return row

    @property
    def trailing(self) -> FigureSeries:
        """The series of trailing twelve months with the same quarters."""
        if self._trailing is None:
            basis = "original" if self.resolver.is_original else "latest"
            self._trailing = FigureSeries(self.company_book, "TTM", basis, self.price)
        return self._trailing

    def find_period(self, year: int | None, name: str | None, end: str | None) -> Period | None:
        """The newest period that fits a fiscal year, a fiscal period and a last day, each where it is given."""
        for one in self.periods:
            fits = year in (None, one.fiscal_year) and name in (None, one.fiscal_period)
            if fits and end in (None, days.iso(one.end)):
                return one
        return None

    def is_same_line(self, one: Figure, other: Figure) -> bool:
        """Whether two figures are of the same tags, or of two that say the same in most periods that both tell."""
        counted, told = self.resolver.mapping.find_concept, self.company_book.book.vintages
        tags, others = ([counted(tag) or tag for tag in list_concepts(figure)] for figure in (one, other))
        if tags == others or len(tags) != 1 or len(others) != 1:
            return tags == others
        these, those = (told.get(of[0], {}) for of in (tags, others))
        common = these.keys() & those.keys()
        alike = sum(Decimal(these[key][-1].value) == Decimal(those[key][-1].value) for key in common)
        return 2 * alike > len(common)

    def find_earlier(self, period: Period, length: int) -> Period | None:
        """The period of this series that ends about ``length`` days before another and is like it."""
        for one in self.periods:
            near = abs(period.end - length - one.end) <= SLACK_DAYS
            if near and (self.kind != "YTD" or one.quarter_number == period.quarter_number):
                return one
        return None


class Input(NamedTuple):
    """A cell that a figure is made of, and the row that it stands in: of another period for a mean or a growth, of the
    trailing year for the year of a quarter. Of a growth it is what the one filing says that reports both periods."""

    row: RowView
    key: str
    cell: Cell


class RowView:
    """The cells of one period. Public methods that take a key and return a Decimal are the functions of formulas
    (``ratios.FUNCTIONS``), and raise NoValue."""

    def __init__(self, series: FigureSeries, period: Period) -> None:
        self.series = series
        self.period = period
        self._resolver = series.resolver
        self._mapping = series.resolver.mapping
        self._cells: dict[str, Cell] = {}
        # What each ratio was made of, and what the one that is being computed has asked for.
        self._used: dict[str, list[Input]] = {}
        self._asked: list[Input] = []
        self._earlier: dict[int, RowView | None] = {}
        # Which figures are doubted, once that was asked.
        self.failed_checks: dict[str, FailedCheck] | None = None

    def build_period(self) -> RowPeriod:
        """Which period it is."""
        start = None if self.series.kind == "TTM" else self.period.start
        return {
            "fiscal_year": self.period.fiscal_year,
            "fiscal_period": self.period.fiscal_period,
            "period_start": None if start is None else days.iso(start),
            "period_end": days.iso(self.period.end),
        }

    def get_cell(self, key: str) -> Cell:
        """The cell of a metric, derived figure or ratio; KeyError for a key that is none."""
        cell = self._cells.get(key)
        if cell is None:
            metric = self._mapping.metrics.get(key)
            if metric is not None:
                cell = self._resolver.get_cell(metric, self.period, self.series.kind)
                if self.series.estimated and isinstance(cell, Missing) and cell.reason == reasons.NOT_ADDITIVE:
                    cell = self._estimate(metric) or cell
            elif key in self._mapping.derived:
                cell = self._derived(self._mapping.derived[key])
            else:
                cell = self._ratio(ratios.get_catalogue().ratios[key])
            self._cells[key] = cell
        return cell

    def find_figure(self, key: str) -> Decimal | None:
        """The value of a cell, None where it is missing."""
        cell = self.get_cell(key)
        return cell.value if isinstance(cell, Figure) else None

    def _estimate(self, metric: Metric) -> Figure | None:
        """An average of a last quarter as that of the year less those before by their days; earnings of a share as
        income over such an average. None where they are not all known, or of different shares."""
        if metric.units == "shares":
            return self._resolver.estimate_last_average(metric, self.period)
        shares = self.get_cell(SHARE_COUNTS[metric.key]) if metric.key in SHARE_COUNTS else None
        income, paid = self.get_cell("net_income_to_common"), None
        if isinstance(income, Missing):
            income, paid = self.get_cell("net_income"), self.get_cell("preferred_dividends")
        if not isinstance(shares, Figure) or not isinstance(income, Figure) or shares.value <= 0:
            return None
        figures = [income, *([paid] if isinstance(paid, Figure) else []), shares]
        value = income.value - (paid.value if isinstance(paid, Figure) else 0)
        place = self._resolver.book.find_last_filed(one.filing_index for one in figures)
        operands = tuple(operand for one in figures for operand in one.operands)
        return Figure(
            round(value / shares.value, 2), (metric.key,), 1, place, "derived", operands, ESTIMATED, is_estimated=True
        )

    def _derived(self, derived: DerivedMetric) -> Cell:
        figures: list[Figure] = []
        value = Decimal(0)
        for term in derived.terms:
            cell = self.get_cell(term.names[0])
            if isinstance(cell, Figure):
                if self._mapping.is_negative_outlay(term.names[0], cell.value):
                    return Missing(reasons.UNEXPECTED_SIGN)
                figures.append(cell)
                value += term.sign * cell.value
            elif cell.reason in (reasons.NOT_APPLICABLE, reasons.UNEXPECTED_SIGN) and not term.optional:
                return cell
            elif not (term.optional and cell.reason in reasons.NO_SUCH_LINE):
                return Missing(reasons.INPUT_MISSING)
        place = self._resolver.book.find_last_filed(figure.filing_index for figure in figures)
        return Figure(value, (derived.key,), 1, place, "derived", (), derived.formula)

    def _ratio(self, ratio: Ratio) -> Cell:
        outer, self._asked = self._asked, []
        try:
            value = ratios.round_ratio(ratio.compute(self))
        except NoValue as missing:
            return Missing(missing.reason)
        finally:
            self._used[ratio.key], self._asked = self._asked, outer
        used = self._used[ratio.key]
        place = self._resolver.book.find_last_filed(
            one.cell.filing_index for one in used if isinstance(one.cell, Figure)
        )
        estimated = any(isinstance(one.cell, Figure) and one.cell.is_estimated for one in used)
        return Figure(value, (ratio.key,), 1, place, "derived", (), ratio.formula, is_estimated=estimated)

    def list_inputs(self, key: str) -> list[Input]:
        """What the cell of a derived figure or ratio was made of; of a missing one also what was not come to."""
        self.get_cell(key)
        if key in self._mapping.derived:
            names = [term.names[0] for term in self._mapping.derived[key].terms]
        else:
            names = list(ratios.get_catalogue().ratios[key].inputs)
        used = list(dict.fromkeys(self._used.get(key, ())))
        known = {one.key for one in used}
        return used + [Input(self, name, self.get_cell(name)) for name in names if name not in known]

    def list_operands(self, key: str, cell: Cell) -> tuple[Operand, ...]:
        """What a figure of a key in this row was computed from, with the signs that make it; of a ratio what its inputs
        were."""
        if not isinstance(cell, Figure) or key in self._mapping.metrics:
            return cell.operands if isinstance(cell, Figure) else ()
        if key in self._mapping.derived:
            return tuple(
                operand._replace(sign=term.sign * operand.sign)
                for term in self._mapping.derived[key].terms
                for operand in self.list_operands(term.names[0], self.get_cell(term.names[0]))
            )
        made = [operand for one in self.list_inputs(key) for operand in one.row.list_operands(one.key, one.cell)]
        return tuple(dict.fromkeys(made))

    # ---- what formulas ask for

    def value(self, key: str) -> Decimal:
        """The value of a cell."""
        return self._ask(self, key)

    def _ask(self, row: RowView, key: str) -> Decimal:
        cell = row.get_cell(key)
        self._asked.append(Input(row, key, cell))
        if isinstance(cell, Missing):
            raise NoValue(cell.reason)
        if self._mapping.is_negative_outlay(key, cell.value):
            raise NoValue(reasons.UNEXPECTED_SIGN)
        return cell.value

    def or_nothing(self, compute: Compute) -> Decimal:
        """What a part of a formula comes to, 0 where the company has no such line."""
        try:
            return compute(self)
        except NoValue as missing:
            # A line that is there and not known does not count as nothing.
            if missing.reason in reasons.NO_SUCH_LINE:
                return Decimal(0)
            raise

    def year(self, key: str) -> Decimal:
        """The figure of the year that ends with the row."""
        kind = self.series.kind
        if kind == "YTD" and self.period.quarter_number != 4:
            raise NoValue(reasons.OTHER_PERIOD)
        return self._ask(self.series.trailing.get_row(self.period) if kind == "Q" else self, key)

    def avg(self, key: str) -> Decimal:
        """The mean of a balance at the row's end and a year before."""
        return (self.value(key) + self._ask(self._ago(365), key)) / 2

    def growth_quarter(self, key: str) -> Decimal:
        """Growth of a quarter against that of the year before."""
        if self.series.kind != "Q":
            raise NoValue(reasons.OTHER_PERIOD)
        return self.growth(key)

    def growth_sequential(self, key: str) -> Decimal:
        """Growth against the row before."""
        return self.growth(key, 91 if self.series.kind in ("Q", "TTM") else 365)

    def growth(self, key: str, length: int = 365) -> Decimal:
        """Growth of a metric against an earlier period, of figures that one filing reports where one does."""
        self.value(key)
        ago = self._ago(length)
        self._ask(ago, key)
        now, base = self._comparable(self._mapping.metrics[key], ago)
        self._asked[-2:] = [Input(self, key, now), Input(ago, key, base)]
        if base.value <= 0:
            raise NoValue(reasons.NEGATIVE_BASE)
        return (now.value - base.value) / base.value

    def price(self) -> Decimal:
        """The price of a share at the end of the row."""
        found = self.series.price(self.period.end) if self.series.price else reasons.NO_PRICE
        if isinstance(found, str):
            raise NoValue(found)
        return found

    def shares(self) -> Decimal:
        """The shares outstanding as first reported for the row: of the day of its price, before any later split."""
        first = FigureSeries(self.series.company_book, self.series.kind, "original")
        return self._ask(first.get_row(self.period), "shares_outstanding")

    def burn(self) -> Decimal:
        """How much cash a month of the year took."""
        flow = self.year("free_cashflow")
        if flow >= 0:
            raise NoValue(reasons.NO_BURN)
        return -flow / 12

    def owners_equity(self) -> Decimal:
        """The total of equity without noncontrolling interests, whether or not the tag's definition holds them."""
        total, cell = self.value("total_equity"), self.get_cell("total_equity")
        if isinstance(cell, Figure) and OWNERS_ONLY.issuperset(cell.concepts):
            return total
        return total - self.or_nothing(lambda row: row.value("minority_interest"))

    def _ago(self, length: int) -> RowView:
        """The row that ends so many days before, of a period as long: a year is not compared with a transition
        period."""
        if length not in self._earlier:
            earlier = self.series.find_earlier(self.period, length)
            alike = earlier is not None and self._is_as_long(earlier)
            self._earlier[length] = self.series.get_row(earlier) if earlier is not None and alike else None
        found = self._earlier[length]
        if found is None:
            raise NoValue(reasons.NO_PRIOR_PERIOD)
        return found

    def _is_as_long(self, earlier: Period) -> bool:
        period = self.period
        if period.start is None or earlier.start is None:
            return period.fiscal_period == earlier.fiscal_period
        return abs((period.end - period.start) - (earlier.end - earlier.start)) <= 2 * SLACK_DAYS

    def _comparable(self, metric: Metric, ago: RowView) -> tuple[Figure, Figure]:
        now, before = self.get_cell(metric.key), ago.get_cell(metric.key)
        assert isinstance(now, Figure)
        assert isinstance(before, Figure)
        pair = self._resolver.reported.find_pair(metric, now, before)
        if pair is not None:
            return pair
        # A loss is one before a split as after it: then the base alone says that growth is meaningless.
        if metric.units == "per_share" and before.value > 0:
            cells = [row.get_cell("weighted_average_shares_diluted") for row in (self, ago)]
            counts = [cell.value for cell in cells if isinstance(cell, Figure)]
            if len(counts) < len(cells) or min(counts) <= 0 or max(counts) / min(counts) > SPLIT:
                raise NoValue(reasons.VINTAGE_CHANGED)
        return now, before
