"""The series of a company and their rows: each cell is a figure, or missing with a reason.

A row has three kinds of cells, all by key. The cell of a *metric* comes from the resolver, which finds reported figures
and derives others from them. A *derived figure* is a sum of metrics of the row, such as EBITDA. A *ratio* is a formula
of ``ratios.toml`` over the row, which may read other rows as well: an average of a balance needs the row of a year ago,
and the yearly figure of a quarter is in the row of trailing twelve months that ends with it.

While a row computes a ratio, it records the inputs, so that the ratio can be traced back to the filed facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf
from finapi.market.financials import metric_mapping, ratios, reasons
from finapi.market.financials.cells import Cell, Figure, Missing, Operand, join_marks
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import DerivedMetric, Metric
from finapi.market.financials.periods import SLACK_DAYS, Period
from finapi.market.financials.ratios import Compute, NoValue, Ratio
from finapi.market.financials.templates import FailedCheck

# A function of a day that returns the last unadjusted close on or before it, or a reason code.
PriceOnDay = Callable[[int], "Decimal | str"]
# The origin of prices: CSV files, or synthetic (invented, as in the demo).
PriceSource = Annotated[str, OneOf(("csv", "synthetic"))]

# If share counts of two periods differ by a larger factor, there was probably a split between them.
MAX_SHARE_COUNT_CHANGE = Decimal("1.4")

# The average share count that belongs to each earnings per share.
SHARE_COUNT_BY_EPS = {"eps_basic": "weighted_average_shares_basic", "eps_diluted": "weighted_average_shares_diluted"}

# Tags for total equity that, by definition, exclude noncontrolling interests.
OWNERS_EQUITY_TAGS = frozenset(
    [
        "us-gaap:StockholdersEquity",
        "us-gaap:MembersEquity",
        "us-gaap:PartnersCapital",
        "ifrs-full:EquityAttributableToOwnersOfParent",
    ]
)

SERIES_KINDS = ("A", "Q", "TTM", "YTD")

ESTIMATED_EPS_DERIVATION = "income of the quarter over the estimated average of shares"

YEAR_LENGTH, QUARTER_LENGTH = 365, 91


class RowPeriod(TypedDict):
    """The period of a row."""

    fiscal_year: int
    fiscal_period: str
    period_start: Date | None
    period_end: Date


def find_definition(key: str) -> Metric | DerivedMetric | Ratio | None:
    """Return the metric, derived figure or ratio with a key, or None."""
    mapping = metric_mapping.get_mapping()
    return mapping.metrics.get(key) or mapping.derived.get(key) or ratios.get_catalogue().ratios.get(key)


def get_unit_kind(key: str) -> str:
    """Return the kind of unit of a key's values: "currency", "per_share", "shares", or that of a ratio."""
    return getattr(find_definition(key), "units", "currency")


def get_unit(key: str, currency: str) -> str:
    """Return the unit of a key's values in a company that reports in ``currency``: "USD", "USD/shares", "ratio"."""
    unit_kind = get_unit_kind(key)
    return {"currency": currency, "per_share": f"{currency}/shares"}.get(unit_kind, unit_kind)


def list_concepts(figure: Figure) -> list[str]:
    """Return the concepts of the facts that a figure was computed from, sorted."""
    return sorted({operand.vintage.concept for operand in figure.operands})


class FigureSeries:
    """The rows of one company for one kind of period ("A", "Q", "TTM", "YTD") and one basis, newest first.

    With ``estimated``, fourth quarters also have estimated average share counts and earnings per share, which no filing
    reports.
    """

    def __init__(
        self,
        company_book: CompanyBook,
        kind: str,
        basis: str,
        price_on_day: PriceOnDay | None = None,
        *,
        estimated: bool = False,
    ) -> None:
        self.company_book = company_book
        self.kind = kind
        self.estimated = estimated and kind == "Q"
        self.resolver = company_book.resolvers[basis]
        self.price_on_day = price_on_day
        calendar = company_book.calendar
        list_periods = {"A": calendar.list_years, "YTD": calendar.list_years_to_date}.get(kind, calendar.list_quarters)
        self.periods: list[Period] = list_periods()
        self._rows: dict[tuple[int, int], RowView] = {}
        self._trailing: FigureSeries | None = self if kind == "TTM" else None

    def get_row(self, period: Period) -> RowView:
        """Return the row of a period of this series. Rows are cached."""
        row_key = (period.span_index, period.quarter_number)
        row = self._rows.get(row_key)
        if row is None:
            row = self._rows[row_key] = RowView(self, period)
        return row

    @property
    def trailing(self) -> FigureSeries:
        """The series of trailing twelve months with the same quarters."""
        if self._trailing is None:
            basis = "original" if self.resolver.is_original else "latest"
            self._trailing = FigureSeries(self.company_book, "TTM", basis, self.price_on_day)
        return self._trailing

    def find_period(self, fiscal_year: int | None, fiscal_period: str | None, period_end: str | None) -> Period | None:
        """Return the newest period with this fiscal year, fiscal period and last day, or None; None matches any."""
        for period in self.periods:
            if (
                fiscal_year in (None, period.fiscal_year)
                and fiscal_period in (None, period.fiscal_period)
                and period_end in (None, days.iso(period.end))
            ):
                return period
        return None

    def is_same_line(self, figure: Figure, other: Figure) -> bool:
        """Return True if two figures have the same tags, or one tag each with equal values in most common periods."""
        tags = self._list_mapped_tags(figure)
        other_tags = self._list_mapped_tags(other)
        if tags == other_tags or len(tags) != 1 or len(other_tags) != 1:
            return tags == other_tags
        all_vintages = self.company_book.book.vintages
        vintages = all_vintages.get(tags[0], {})
        other_vintages = all_vintages.get(other_tags[0], {})
        common_keys = vintages.keys() & other_vintages.keys()
        equal_count = sum(
            Decimal(vintages[period_key][-1].value) == Decimal(other_vintages[period_key][-1].value)
            for period_key in common_keys
        )
        return 2 * equal_count > len(common_keys)

    def _list_mapped_tags(self, figure: Figure) -> list[str]:
        find_mapped = self.resolver.mapping.find_concept
        return [find_mapped(concept) or concept for concept in list_concepts(figure)]

    def find_earlier(self, period: Period, length: int) -> Period | None:
        """Return the period that ends about ``length`` days before another, or None.

        For a year to date, it must have the same number of quarters.
        """
        for earlier in self.periods:
            is_near = abs(period.end - length - earlier.end) <= SLACK_DAYS
            if is_near and (self.kind != "YTD" or earlier.quarter_number == period.quarter_number):
                return earlier
        return None


class FormulaInput(NamedTuple):
    """A cell that a figure is computed from, and its row.

    The row is that of another period for an average or a growth rate, and of trailing twelve months for a quarter's
    yearly figure. The cells of a growth rate are from a single filing if one reports both periods.
    """

    row: RowView
    key: str
    cell: Cell


class RowView:
    """The cells of one period.

    Public methods that take a key and return a Decimal are the functions of formulas (``ratios.FUNCTIONS``); they raise
    NoValue if the value is missing or meaningless.
    """

    def __init__(self, series: FigureSeries, period: Period) -> None:
        self.series = series
        self.period = period
        self._resolver = series.resolver
        self._mapping = series.resolver.mapping
        self._cells: dict[str, Cell] = {}
        self._inputs_by_ratio: dict[str, list[FormulaInput]] = {}
        # The inputs that the current ratio has read so far.
        self._current_inputs: list[FormulaInput] = []
        self._rows_before: dict[int, RowView | None] = {}  # By distance in days.
        # The failed checks by key; None until ``figure_doubts`` has checked the row.
        self.failed_checks: dict[str, FailedCheck] | None = None
        # The metrics whose signs and quarters ``figure_doubts`` has checked.
        self.checked_keys: set[str] = set()

    def build_period(self) -> RowPeriod:
        """Return the record of the row's period."""
        start = None if self.series.kind == "TTM" else self.period.start
        return {
            "fiscal_year": self.period.fiscal_year,
            "fiscal_period": self.period.fiscal_period,
            "period_start": None if start is None else days.iso(start),
            "period_end": days.iso(self.period.end),
        }

    def find_known_day(self, cells: Iterable[Cell]) -> str | None:
        """Return the day on which the last of the cells became known, or None if no filing day of one is known.

        It is the filing day of the filing that was filed last among those of the figures.
        """
        filings = self.series.company_book.book.filings
        filing_days = {filings[cell.filing_index].filed for cell in cells if isinstance(cell, Figure)}
        known_days = [day for day in filing_days if day is not None]
        return max(known_days) if known_days and len(known_days) == len(filing_days) else None

    def get_cell(self, key: str) -> Cell:
        """Return the cell of a metric, derived figure or ratio. Raise KeyError for another key."""
        cell = self._cells.get(key)
        if cell is None:
            metric = self._mapping.metrics.get(key)
            if metric is not None:
                cell = self._resolver.get_cell(metric, self.period, self.series.kind)
                if self.series.estimated and isinstance(cell, Missing) and cell.reason == reasons.NOT_ADDITIVE:
                    cell = self._estimate(metric) or cell
            elif key in self._mapping.derived:
                cell = self._compute_derived(self._mapping.derived[key])
            else:
                cell = self._compute_ratio(ratios.get_catalogue().ratios[key])
            self._cells[key] = cell
        return cell

    def find_value(self, key: str) -> Decimal | None:
        """Return the value of a cell, or None if it is missing."""
        cell = self.get_cell(key)
        return cell.value if isinstance(cell, Figure) else None

    def _estimate(self, metric: Metric) -> Figure | None:
        """Return an estimate for a fourth quarter, or None if one of its inputs is unknown.

        An average share count is estimated from the averages of the year and of the earlier quarters, weighted by their
        days. Earnings per share are the quarter's income divided by such an average.
        """
        if metric.units == "shares":
            return self._resolver.estimate_last_average(metric, self.period)
        share_count_key = SHARE_COUNT_BY_EPS.get(metric.key)
        if share_count_key is None:
            return None
        shares = self.get_cell(share_count_key)
        income = self.get_cell("net_income_to_common")
        preferred_dividends: Cell | None = None
        if isinstance(income, Missing):
            income = self.get_cell("net_income")
            preferred_dividends = self.get_cell("preferred_dividends")
        if not isinstance(shares, Figure) or not isinstance(income, Figure) or shares.value <= 0:
            return None
        inputs = [income, shares]
        earnings = income.value
        if isinstance(preferred_dividends, Figure):
            inputs.insert(1, preferred_dividends)
            earnings -= preferred_dividends.value
        return Figure(
            value=round(earnings / shares.value, 2),
            concepts=(metric.key,),
            priority=1,
            filing_index=self._resolver.book.find_last_filed(figure.filing_index for figure in inputs),
            method="derived",
            operands=tuple(operand for figure in inputs for operand in figure.operands),
            derivation=ESTIMATED_EPS_DERIVATION,
            is_estimated=True,
            marks=join_marks(inputs),
        )

    def _compute_derived(self, derived: DerivedMetric) -> Cell:
        figures: list[Figure] = []
        value = Decimal(0)
        for term in derived.terms:
            key = term.names[0]
            cell = self.get_cell(key)
            if isinstance(cell, Figure):
                if self._mapping.is_negative_outlay(key, cell.value):
                    return Missing(reasons.UNEXPECTED_SIGN)
                figures.append(cell)
                value += term.sign * cell.value
            elif cell.reason in (reasons.NOT_APPLICABLE, reasons.UNEXPECTED_SIGN) and not term.optional:
                return cell
            elif not (term.optional and cell.reason in reasons.NO_SUCH_LINE):
                return Missing(reasons.INPUT_MISSING)
        return Figure(
            value=value,
            concepts=(derived.key,),
            priority=1,
            filing_index=self._resolver.book.find_last_filed(figure.filing_index for figure in figures),
            method="derived",
            operands=(),
            derivation=derived.formula,
            marks=join_marks(figures),
        )

    def _compute_ratio(self, ratio: Ratio) -> Cell:
        # The inputs of a ratio that another ratio reads are recorded separately.
        outer_inputs = self._current_inputs
        inputs: list[FormulaInput] = []
        self._current_inputs = inputs
        try:
            value = ratios.round_ratio(ratio.compute(self))
        except NoValue as missing:
            return Missing(missing.reason)
        finally:
            self._inputs_by_ratio[ratio.key] = inputs
            self._current_inputs = outer_inputs
        figures = [formula_input.cell for formula_input in inputs if isinstance(formula_input.cell, Figure)]
        return Figure(
            value=value,
            concepts=(ratio.key,),
            priority=1,
            filing_index=self._resolver.book.find_last_filed(figure.filing_index for figure in figures),
            method="derived",
            operands=(),
            derivation=ratio.formula,
            is_estimated=any(figure.is_estimated for figure in figures),
            marks=join_marks(figures),
        )

    def list_inputs(self, key: str) -> list[FormulaInput]:
        """Return the cells that a derived figure or ratio was computed from.

        If it is missing, inputs that were not read because the computation stopped are included.
        """
        self.get_cell(key)
        if key in self._mapping.derived:
            names = [term.names[0] for term in self._mapping.derived[key].terms]
        else:
            names = list(ratios.get_catalogue().ratios[key].inputs)
        inputs = list(dict.fromkeys(self._inputs_by_ratio.get(key, ())))
        read_keys = {formula_input.key for formula_input in inputs}
        return inputs + [FormulaInput(self, name, self.get_cell(name)) for name in names if name not in read_keys]

    def list_operands(self, key: str, cell: Cell) -> tuple[Operand, ...]:
        """Return the filed facts that a cell of a key in this row was computed from.

        The operands of a metric or derived figure have the signs with which they add up to it. The operands of a ratio
        are those of its inputs.
        """
        if not isinstance(cell, Figure):
            return ()
        if key in self._mapping.metrics:
            return cell.operands
        operands: list[Operand] = []
        if key in self._mapping.derived:
            for term in self._mapping.derived[key].terms:
                term_key = term.names[0]
                for operand in self.list_operands(term_key, self.get_cell(term_key)):
                    operands.append(operand._replace(sign=term.sign * operand.sign))
            return tuple(operands)
        for formula_input in self.list_inputs(key):
            operands += formula_input.row.list_operands(formula_input.key, formula_input.cell)
        return tuple(dict.fromkeys(operands))

    # ---- the functions of formulas

    def value(self, key: str) -> Decimal:
        """Return the value of a cell of this row."""
        return self._read(self, key)

    def _read(self, row: RowView, key: str) -> Decimal:
        """Return the value of a cell and record it as an input of the current ratio. Raise NoValue if it is missing."""
        cell = row.get_cell(key)
        self._current_inputs.append(FormulaInput(row, key, cell))
        if isinstance(cell, Missing):
            raise NoValue(cell.reason)
        if self._mapping.is_negative_outlay(key, cell.value):
            raise NoValue(reasons.UNEXPECTED_SIGN)
        return cell.value

    def value_or_zero(self, compute: Compute) -> Decimal:
        """Return the value of a term, or 0 if the company has no such line.

        Raise NoValue if it has the line but its value is unknown.
        """
        try:
            return compute(self)
        except NoValue as missing:
            if missing.reason in reasons.NO_SUCH_LINE:
                return Decimal(0)
            raise

    def year(self, key: str) -> Decimal:
        """Return the figure of the twelve months that end with the row."""
        kind = self.series.kind
        if kind == "YTD" and self.period.quarter_number != 4:
            raise NoValue(reasons.OTHER_PERIOD)
        row = self.series.trailing.get_row(self.period) if kind == "Q" else self
        return self._read(row, key)

    def avg(self, key: str) -> Decimal:
        """Return the average of a balance at the end of the row and a year before."""
        return (self.value(key) + self._read(self._get_row_before(YEAR_LENGTH), key)) / 2

    def growth_quarter(self, key: str) -> Decimal:
        """Return the growth of a quarter since the same quarter of the year before."""
        if self.series.kind != "Q":
            raise NoValue(reasons.OTHER_PERIOD)
        return self.growth(key)

    def growth_sequential(self, key: str) -> Decimal:
        """Return the growth since the previous row."""
        return self.growth(key, QUARTER_LENGTH if self.series.kind in ("Q", "TTM") else YEAR_LENGTH)

    def growth(self, key: str, length: int = YEAR_LENGTH) -> Decimal:
        """Return the growth of a metric since the row ``length`` days before.

        Both figures are taken from one filing if one reports both periods.
        """
        self.value(key)
        row_before = self._get_row_before(length)
        self._read(row_before, key)
        figure, base = self._find_comparable(self._mapping.metrics[key], row_before)
        self._current_inputs[-2:] = [FormulaInput(self, key, figure), FormulaInput(row_before, key, base)]
        if base.value <= 0:
            raise NoValue(reasons.NEGATIVE_BASE)
        return (figure.value - base.value) / base.value

    def price(self) -> Decimal:
        """Return the price of a share at the end of the row."""
        price = self.series.price_on_day(self.period.end) if self.series.price_on_day else reasons.NO_PRICE
        if isinstance(price, str):
            raise NoValue(price)
        return price

    def shares(self) -> Decimal:
        """Return the shares outstanding as first reported for the row.

        They must match the row's price, which is not adjusted for later splits.
        """
        original_series = FigureSeries(self.series.company_book, self.series.kind, "original")
        return self._read(original_series.get_row(self.period), "shares_outstanding")

    def burn(self) -> Decimal:
        """Return the cash used per month, averaged over the year."""
        free_cashflow = self.year("free_cashflow")
        if free_cashflow >= 0:
            raise NoValue(reasons.NO_BURN)
        return -free_cashflow / 12

    def owners_equity(self) -> Decimal:
        """Return total equity without noncontrolling interests, whether its tag includes them or not."""
        total = self.value("total_equity")
        cell = self.get_cell("total_equity")
        if isinstance(cell, Figure) and OWNERS_EQUITY_TAGS.issuperset(cell.concepts):
            return total
        return total - self.value_or_zero(lambda row: row.value("minority_interest"))

    def _get_row_before(self, length: int) -> RowView:
        """Return the row that ends ``length`` days before and is as long. Raise NoValue if there is none.

        A year is therefore never compared with a transition period.
        """
        if length not in self._rows_before:
            earlier = self.series.find_earlier(self.period, length)
            if earlier is not None and self._is_as_long(earlier):
                self._rows_before[length] = self.series.get_row(earlier)
            else:
                self._rows_before[length] = None
        row_before = self._rows_before[length]
        if row_before is None:
            raise NoValue(reasons.NO_PRIOR_PERIOD)
        return row_before

    def _is_as_long(self, earlier: Period) -> bool:
        period = self.period
        if period.start is None or earlier.start is None:
            return period.fiscal_period == earlier.fiscal_period
        return abs((period.end - period.start) - (earlier.end - earlier.start)) <= 2 * SLACK_DAYS

    def _find_comparable(self, metric: Metric, row_before: RowView) -> tuple[Figure, Figure]:
        """Return the figures of this row and of an earlier one for a growth rate, from one filing if possible.

        Raise NoValue for a per-share figure if the share counts suggest a split between the two.
        """
        figure = self.get_cell(metric.key)
        base = row_before.get_cell(metric.key)
        assert isinstance(figure, Figure)
        assert isinstance(base, Figure)
        pair = self._resolver.reported.find_pair(metric, figure, base)
        if pair is not None:
            return pair
        # If the base is a loss, growth is meaningless with or without a split, so no split check is needed.
        if metric.units == "per_share" and base.value > 0:
            share_counts = []
            for row in (self, row_before):
                share_count = row.find_value("weighted_average_shares_diluted")
                if share_count is None or share_count <= 0:
                    raise NoValue(reasons.VINTAGE_CHANGED)
                share_counts.append(share_count)
            if max(share_counts) / min(share_counts) > MAX_SHARE_COUNT_CHANGE:
                raise NoValue(reasons.VINTAGE_CHANGED)
        return figure, base
