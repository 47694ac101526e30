"""Claims about concepts such as ``us-gaap:Assets``: their candidates are the company's facts, grouped by period."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.core import days
from finapi.market.claims import claim_checks, claim_records
from finapi.market.claims.claim_records import (
    ClaimRecord,
    ClaimResult,
    FigureOnFile,
    FigurePeriod,
    StatedClaim,
    UnclearClaimError,
)
from finapi.market.claims.claimed_periods import ClaimedPeriod
from finapi.market.claims.metric_claims import NEAR_DAYS, CompanyFigures
from finapi.market.claims.verdicts import Judgement, KnownFigure
from finapi.market.documents.filing_rows import build_index_url
from finapi.market.financials.cells import HALF, count_decimals, to_json_number
from finapi.market.financials.derived_figures import TRAILING_DAYS
from finapi.market.financials.periods import SAME_DAYS
from finapi.market.statements import filed_facts
from finapi.market.statements.filed_facts import FiledFact, parse_decimals
from finapi.store.db import Transaction

FULL_CONFIDENCE = 100


class _FactSpan(NamedTuple):
    """The days of a fact; ``start`` is None for an instant."""

    start: int | None
    end: int

    def is_same(self, start: int | None, end: int) -> bool:
        """Return True if a period is the same but for a few days. An instant is compared by its day only."""
        if abs(self.end - end) > SAME_DAYS:
            return False
        return self.start is None or (start is not None and abs(self.start - start) <= SAME_DAYS)

    def has_length_of(self, other: _FactSpan) -> bool:
        """Return True if both periods have about the same number of days."""
        if self.start is None or other.start is None:
            return self.start == other.start
        return abs((self.end - self.start) - (other.end - other.start)) <= 2 * SAME_DAYS

    def get_distance(self, other: _FactSpan) -> int:
        """Return the number of days between the ends of two periods."""
        return abs(self.end - other.end)

    def is_near(self, other: _FactSpan) -> bool:
        """Return True if a period is easily confused with another one."""
        return self.get_distance(other) <= (NEAR_DAYS if self.has_length_of(other) else SAME_DAYS)


class ConceptCandidate:
    """The facts of a concept for one period in the order of filing."""

    def __init__(
        self, figures: CompanyFigures, span: _FactSpan, facts: Sequence[FiledFact], *, is_near: bool = True
    ) -> None:
        self._figures = figures
        self._facts = facts
        self._is_near = is_near
        self.span = span

    @property
    def known_figure(self) -> KnownFigure:
        """Return the figure with its vintages."""
        values = [_get_value(fact) for fact in self._facts]
        latest = self._facts[-1]
        decimal_count = count_decimals(str(latest.value), latest.decimals)
        return KnownFigure(
            latest=values[-1],
            first_filed=values[0],
            rounding=HALF.scaleb(-decimal_count),
            other_vintages=tuple(values[1:-1]),
            is_near=self._is_near,
        )

    def build_cell(self) -> FigureOnFile:
        """Return the record of the newest filed fact."""
        return self._build_cell(self._facts[-1])

    def build_older_cell(self, claim: StatedClaim) -> FigureOnFile:
        """Return the record of the oldest fact that agrees with a claim."""
        return self._build_cell(next(fact for fact in self._facts if claim.value.agrees_with(_get_value(fact))))

    def _build_cell(self, fact: FiledFact) -> FigureOnFile:
        value = to_json_number(_get_value(fact))
        form = fact.form or ""
        return {
            **self._build_period(fact),
            "value": value,
            "unit": fact.unit,
            "concept": fact.concept,
            "decimals": parse_decimals(fact.decimals),
            "confidence": FULL_CONFIDENCE,
            "accession": fact.accession,
            "form_type": form,
            "filed_at": fact.filed,
            "operands": [
                {
                    "sign": 1,
                    "value": value,
                    "concept": fact.concept,
                    "unit": fact.unit,
                    "decimals": parse_decimals(fact.decimals),
                    "start_date": fact.start,
                    "end_date": fact.end,
                    "accession": fact.accession,
                    "form_type": form,
                    "filed_at": fact.filed,
                    "source": fact.source,
                }
            ],
            "proof": None,
            "link": build_index_url(self._figures.company.cik, fact.accession),
        }

    def _build_period(self, fact: FiledFact) -> FigurePeriod:
        """Return the record of the period, with the names of the first row that has the same days."""
        kind, row_period = next(
            (
                (kind, row_period)
                for kind in ("A", "Q", "YTD")
                for row_period in self._figures.get_series(kind, "latest").periods
                if self.span.is_same(row_period.start, row_period.end)
            ),
            (None, None),
        )
        return {
            "period": kind,
            "fiscal_year": row_period.fiscal_year if row_period else None,
            "fiscal_period": row_period.fiscal_period if row_period else None,
            "period_start": fact.start,
            "period_end": fact.end,
        }


def check_claim(tx: Transaction, record: ClaimRecord, claim: StatedClaim, figures: CompanyFigures) -> ClaimResult:
    """Return the result of a claim about a concept. Raise UnclearClaimError if its concept or unit is not on file."""
    names = filed_facts.list_qualified_names([record["concept"] or ""])
    company = figures.company
    facts = [
        fact
        for fact in filed_facts.list_company_facts(tx, company.cik, as_of=figures.as_of, concepts=names)
        if fact.value is not None
    ]
    if not facts:
        raise UnclearClaimError("unknown_concept")
    unit = claim.unit or figures.company_book.book.currency
    if claim.unit is None and all(fact.unit != unit for fact in facts):
        # Share counts and amounts per share have one unit.
        unit = facts[-1].unit
    facts = [fact for fact in facts if fact.unit == unit]
    if not facts:
        raise UnclearClaimError("other_unit")
    facts_by_span: dict[_FactSpan, list[FiledFact]] = {}
    for fact in facts:
        span = _FactSpan(None if fact.start is None else days.number(fact.start), days.number(fact.end))
        facts_by_span.setdefault(span, []).append(fact)
    stated_spans = _list_stated_spans(facts_by_span, claim.period, figures)
    if not stated_spans:
        return claim_records.build_result(record, company, Judgement("not_on_file", "period_not_on_file"))
    stated_candidates = [ConceptCandidate(figures, span, facts_by_span[span]) for span in stated_spans]
    other_spans = [span for span in facts_by_span if span not in stated_spans]
    other_spans.sort(key=lambda span: (not span.has_length_of(stated_spans[0]), span.get_distance(stated_spans[0])))
    other_candidates = [
        ConceptCandidate(figures, span, facts_by_span[span], is_near=span.is_near(stated_spans[0]))
        for span in other_spans
    ]
    result = claim_checks.check_candidates(record, company, claim, stated_candidates, other_candidates)
    assert result is not None, "each span has a fact"
    return result


def _list_stated_spans(spans: Iterable[_FactSpan], period: ClaimedPeriod, figures: CompanyFigures) -> list[_FactSpan]:
    """Return the periods of facts that a claimed period names."""
    if period.fiscal_year is None and period.kind is None:
        assert period.end is not None
        if period.start is not None:
            return [span for span in spans if span.is_same(period.start, period.end)]
        return [span for span in spans if abs(span.end - period.end) <= SAME_DAYS]
    days_of_rows = [
        (row_period.end - TRAILING_DAYS if kind == "TTM" else row_period.start, row_period.end)
        for is_instant in (False, True)
        for kind, row_period in figures.list_periods(period, is_instant=is_instant)
    ]
    return [span for span in spans if any(span.is_same(start, end) for start, end in days_of_rows)]


def _get_value(fact: FiledFact) -> Decimal:
    assert fact.value is not None
    return Decimal(fact.value)
