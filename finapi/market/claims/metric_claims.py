"""Claims about metrics, derived figures and ratios: their candidates are the rows of the company's series."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property

from finapi.core import days
from finapi.market.claims import claim_checks, claim_records
from finapi.market.claims.claim_records import (
    ClaimRecord,
    ClaimResult,
    FigureOnFile,
    ProofParameters,
    StatedClaim,
    UnclearClaimError,
)
from finapi.market.claims.claimed_periods import ClaimedPeriod
from finapi.market.claims.verdicts import Judgement, KnownFigure
from finapi.market.documents.filing_rows import build_index_url
from finapi.market.financials import cell_proof, provenance, reasons
from finapi.market.financials.cells import Figure, Missing, compute_rounding, to_json_number
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import Metric
from finapi.market.financials.periods import SAME_DAYS, YEAR_DAYS, Period
from finapi.market.financials.provenance import OperandRecord
from finapi.market.financials.series_rows import (
    SERIES_KINDS,
    FigureSeries,
    PriceOnDay,
    RowView,
    find_definition,
    get_unit,
    get_unit_kind,
)
from finapi.market.reference.companies import Company
from finapi.market.statements.filed_facts import parse_decimals

# Figures with less confidence do not contradict a claim.
MIN_CONFIDENCE = 50
# Periods of the claimed length are near if their ends are at most this far from the claimed one.
NEAR_DAYS = 371
# Periods of other lengths are compared if their ends are at most this far from the claimed one.
MAX_DISTANCE_DAYS = 3 * 366
# Amounts per share are printed with cents, also where companyfacts leaves out zeros at the end.
PER_SHARE_ROUNDING = Decimal("0.005")
# The reasons of missing figures that no filing reports.
_NOT_ON_FILE = frozenset(
    [reasons.NOT_REPORTED, reasons.NOT_APPLICABLE, reasons.NOT_FILED, reasons.REPORTED_NIL, reasons.NO_PRICE]
)


class CompanyFigures:
    """The series of a company that claims are compared with."""

    def __init__(
        self, company: Company, company_book: CompanyBook, price_on_day: PriceOnDay, as_of: str | None
    ) -> None:
        self.company = company
        self.company_book = company_book
        self.as_of = as_of
        self._price_on_day = price_on_day
        self._series: dict[tuple[str, str], FigureSeries] = {}

    def get_series(self, kind: str, basis: str) -> FigureSeries:
        """Return the series of a kind ("A", "Q", "TTM", "YTD") and a basis."""
        series = self._series.get((kind, basis))
        if series is None:
            series = FigureSeries(self.company_book, kind, basis, self._price_on_day)
            self._series[kind, basis] = series
        return series

    def list_periods(self, period: ClaimedPeriod, *, is_instant: bool) -> list[tuple[str, Period]]:
        """Return the rows that a claimed period names, each with its kind of series."""
        kinds = ("A", "Q", "YTD") if period.kind is None else (period.kind,)
        named_periods = self._list_named_periods(kinds, period, is_instant=is_instant)
        if not named_periods and is_instant and period.fiscal_period == "FY":
            # A balance at the end of a year without an annual report is in the row of its last quarter.
            return self._list_named_periods(("Q",), period._replace(fiscal_period="Q4"), is_instant=True)
        if not named_periods and not is_instant and period.kind is None and period.start is not None:
            assert period.end is not None
            if period.end - period.start + 1 in YEAR_DAYS:
                return self._list_named_periods(("TTM",), period._replace(start=None), is_instant=False)
        return named_periods

    def _list_named_periods(
        self, kinds: tuple[str, ...], period: ClaimedPeriod, *, is_instant: bool
    ) -> list[tuple[str, Period]]:
        return [
            (kind, row_period)
            for kind in kinds
            for row_period in self.get_series(kind, "latest").periods
            if _is_named(row_period, period, has_start=not is_instant and kind != "TTM")
        ]

    def list_other_periods(self, kind: str, stated: Period) -> list[tuple[str, Period]]:
        """Return other rows, those of the same kind first, the nearest first."""
        other_periods: list[tuple[str, Period]] = []
        for other_kind in (kind, *(other for other in SERIES_KINDS if other != kind)):
            # There are twelve months that end with each quarter, so only those with the same end are compared.
            max_days = SAME_DAYS if other_kind == "TTM" else MAX_DISTANCE_DAYS
            periods = [
                other
                for other in self.get_series(other_kind, "latest").periods
                if (other != stated if other_kind == kind else abs(other.end - stated.end) <= max_days)
            ]
            periods.sort(key=lambda other: abs(other.end - stated.end))
            other_periods += [(other_kind, other) for other in periods]
        return other_periods


def _is_named(row_period: Period, period: ClaimedPeriod, *, has_start: bool) -> bool:
    """Return True if a claimed period names a row."""
    if period.fiscal_year is not None:
        return (row_period.fiscal_year, row_period.fiscal_period) == (period.fiscal_year, period.fiscal_period)
    assert period.end is not None
    is_same_end = abs(row_period.end - period.end) <= SAME_DAYS
    if not has_start or period.start is None:
        return is_same_end
    return is_same_end and row_period.start is not None and abs(row_period.start - period.start) <= SAME_DAYS


class MetricCandidate:
    """A cell of a series and the cell of the same row as first filed."""

    def __init__(
        self,
        figures: CompanyFigures,
        key: str,
        kind: str,
        period: Period,
        *,
        is_stated: bool = True,
        is_near: bool = True,
    ) -> None:
        self._figures = figures
        self._key = key
        self._row = figures.get_series(kind, "latest").get_row(period)
        self._original_row = figures.get_series(kind, "original").get_row(period)
        self._is_stated = is_stated
        self._is_near = is_near
        self.cell = self._row.get_cell(key)

    @cached_property
    def known_figure(self) -> KnownFigure | None:
        """Return the figure, or None if it is missing."""
        cell = self.cell
        if isinstance(cell, Missing):
            return None
        original_cell = self._original_row.get_cell(self._key)
        first_filed = original_cell.value if isinstance(original_cell, Figure) else cell.value
        if not self._is_stated:
            return KnownFigure(cell.value, first_filed, is_near=self._is_near)
        return KnownFigure(
            latest=cell.value,
            first_filed=first_filed,
            rounding=self._compute_rounding(cell),
            other_vintages=tuple(vintage["sign"] * vintage["value"] for vintage in self._list_vintages(cell)),
            other_lines=self._list_other_lines(cell),
            is_doubtful=self._is_doubtful(cell),
        )

    def _is_doubtful(self, cell: Figure) -> bool:
        """Return True if other figures, or other numbers in its own filing, contradict the figure."""
        confidence = provenance.compute_confidence(self._row, self._key, cell)
        return confidence < MIN_CONFIDENCE or "conflicting_values" in cell.marks

    def _compute_rounding(self, cell: Figure) -> Decimal:
        """Return the greatest error of the figure by the rounding of its filing."""
        rounding = compute_rounding(cell)
        is_stated_by_filing = all(operand.vintage.decimals is not None for operand in cell.operands)
        if get_unit_kind(self._key) == "per_share" and not is_stated_by_filing:
            return min(rounding, PER_SHARE_ROUNDING)
        return rounding

    def _list_vintages(self, cell: Figure) -> list[OperandRecord]:
        """Return the facts of the figure's line in all filings. A figure of several facts has none."""
        definition = find_definition(self._key)
        if not isinstance(definition, Metric) or len(cell.operands) != 1:
            return []
        operand = cell.operands[0]
        vintages: list[OperandRecord] = []
        for fact in cell_proof.list_vintages(self._row, definition):
            if fact["concept"] == operand.vintage.concept and fact["unit"] == operand.vintage.unit:
                vintages.append({"sign": operand.sign, **fact})
        return vintages

    def _list_other_lines(self, cell: Figure) -> tuple[Decimal, ...]:
        """Return the values of other tags of the metric in the same period."""
        definition = find_definition(self._key)
        if not isinstance(definition, Metric):
            return ()
        own_concepts = {operand.vintage.concept for operand in cell.operands}
        return tuple(
            fact["value"]
            for fact in cell_proof.list_vintages(self._row, definition)
            if fact["concept"] not in own_concepts
        )

    def build_cell(self) -> FigureOnFile:
        """Return the record of the newest filed figure."""
        assert isinstance(self.cell, Figure)
        return self._build_cell(self._row, self.cell, "latest")

    def build_older_cell(self, claim: StatedClaim) -> FigureOnFile:
        """Return the record of the figure as first filed, or of the vintage that agrees with a claim."""
        original_cell = self._original_row.get_cell(self._key)
        if isinstance(original_cell, Figure) and claim.value.agrees_with(original_cell.value):
            return self._build_cell(self._original_row, original_cell, "original")
        record = self.build_cell()
        assert isinstance(self.cell, Figure)
        vintage = next(
            vintage
            for vintage in self._list_vintages(self.cell)
            if claim.value.agrees_with(vintage["sign"] * vintage["value"])
        )
        record["value"] = vintage["sign"] * vintage["value"]
        record["operands"] = [vintage]
        record["decimals"] = vintage["decimals"]
        record["accession"] = vintage["accession"]
        record["form_type"] = vintage["form_type"]
        record["filed_at"] = vintage["filed_at"]
        record["link"] = build_index_url(self._figures.company.cik, vintage["accession"])
        return record

    def _build_cell(self, row: RowView, cell: Figure, basis: str) -> FigureOnFile:
        book = row.series.company_book.book
        filing = book.filings[cell.filing_index]
        only_operand = cell.operands[0] if len(cell.operands) == 1 else None
        return {
            "period": row.series.kind,
            **row.build_period(),
            "value": to_json_number(cell.value),
            "unit": get_unit(self._key, book.currency),
            "concept": provenance.get_concept(cell),
            "decimals": parse_decimals(only_operand.vintage.decimals) if only_operand else None,
            "confidence": provenance.compute_confidence(row, self._key, cell),
            "accession": filing.accession,
            "form_type": filing.form,
            "filed_at": filing.filed,
            "operands": provenance.list_operand_records(row, self._key, cell),
            "proof": self._build_proof_parameters(row, basis),
            "link": build_index_url(self._figures.company.cik, filing.accession),
        }

    def _build_proof_parameters(self, row: RowView, basis: str) -> ProofParameters:
        return {
            "cik": self._figures.company.padded_cik,
            "metric": self._key,
            "period": row.series.kind,
            "period_end": days.iso(row.period.end),
            "basis": basis,
            "currency": row.series.company_book.book.currency,
            "as_of": self._figures.as_of,
        }


def check_claim(record: ClaimRecord, claim: StatedClaim, figures: CompanyFigures) -> ClaimResult:
    """Return the result of a claim about a metric. Raise UnclearClaimError if its metric or its unit does not fit."""
    key = record["metric"]
    definition = None if key is None else find_definition(key)
    if key is None or definition is None:
        raise UnclearClaimError("unknown_metric")
    if not is_unit_of(key, claim.unit, figures.company_book.book.currency):
        raise UnclearClaimError("other_unit")
    is_instant = isinstance(definition, Metric) and definition.aggregation == "instant"
    named_periods = figures.list_periods(claim.period, is_instant=is_instant)
    if not named_periods:
        return claim_records.build_result(record, figures.company, Judgement("not_on_file", "period_not_on_file"))
    stated_candidates = [MetricCandidate(figures, key, kind, period) for kind, period in named_periods]
    result = claim_checks.check_candidates(
        record, figures.company, claim, stated_candidates, _iter_other_candidates(figures, key, *named_periods[0])
    )
    if result is not None:
        return result
    reason_codes = {candidate.cell.reason for candidate in stated_candidates if isinstance(candidate.cell, Missing)}
    judgement = Judgement("cannot_tell", "figure_not_certain")
    if reason_codes <= _NOT_ON_FILE:
        judgement = Judgement("not_on_file", "figure_not_on_file")
    return claim_records.build_result(record, figures.company, judgement)


def _iter_other_candidates(figures: CompanyFigures, key: str, kind: str, stated: Period) -> Iterator[MetricCandidate]:
    for other_kind, other in figures.list_other_periods(kind, stated):
        max_days = NEAR_DAYS if other_kind == kind else SAME_DAYS
        is_near = abs(other.end - stated.end) <= max_days
        yield MetricCandidate(figures, key, other_kind, other, is_stated=False, is_near=is_near)


def is_unit_of(key: str, unit: str | None, currency: str) -> bool:
    """Return True if a claimed unit fits a metric of a company that reports in ``currency``.

    Amounts per share may be claimed in the currency alone.
    """
    if unit is None:
        return True
    own_unit = get_unit(key, currency)
    if get_unit_kind(key) == "per_share":
        return unit in (own_unit, currency)
    return unit == own_unit
