"""The records of claims: the claim as it was sent, the figure on file, and the result with its sentence."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import Date, OneOf, Url
from finapi.market.claims.claimed_periods import ClaimedPeriod, parse_period
from finapi.market.claims.claimed_values import ClaimedValue, parse_unit, parse_value
from finapi.market.claims.verdicts import Judgement, Reason, Verdict
from finapi.market.financials import BASES
from finapi.market.financials.provenance import OperandRecord
from finapi.market.financials.series_rows import SERIES_KINDS
from finapi.market.reference.companies import Company
from finapi.market.statements.filed_facts import Decimals

_SENTENCES: dict[str, str] = {
    "unknown_company": "No company with this ticker or CIK is known.",
    "ambiguous_company": "Several companies have this ticker; use the CIK.",
    "company_not_on_file": "No figures of this company are on file.",
    "period_not_on_file": "No figures of this period are on file.",
    "figure_not_on_file": "No filing on file reports this figure for the period.",
    "no_metric": "The claim needs a metric or a concept, and not both.",
    "unknown_metric": "This is not a metric, derived figure or ratio; /xbrl/dictionary lists them.",
    "unknown_concept": "The company has no figure with this concept on file.",
    "value_not_understood": 'The value must be one amount, such as 394328000000 or "394.3 billion".',
    "period_not_understood": 'The period must be written like "FY2023", "Q3 2023", "9M 2023", "TTM Q3 2023", '
    '"2023-09-30" or "2023-01-01..2023-09-30".',
    "unit_not_understood": 'The unit must be written like "USD", "USD million", "USD/shares", "shares" or "%".',
    "other_unit": "The figure on file is in another unit.",
    "other_line": "Another line of the filing that may be meant has this value.",
    "more_digits_than_filed": "The claim has more digits than the filing, and both round to the same value.",
    "doubtful_figure": "The figure on file differs, but it is an estimate or contradicts other figures.",
    "figure_not_certain": "The filings do not show for certain which figure is meant.",
    "matches": "The figure on file agrees with the claim.",
    "matches_first_filed": "The claim agrees with the figure as first filed, which was restated.",
    "restated_since": "The claim agrees with an earlier filing, whose figure was restated.",
    "wrong_sign": "The figure on file has the opposite sign.",
    "wrong_scale": "The figure on file is the claimed value times a power of ten.",
    "wrong_period": "The claimed value is that of another period.",
    "contradicted": "The figure on file differs from the claim.",
}


class ClaimRecord(TypedDict):
    """A claim as it was sent; members that were left out are null."""

    ticker: str | None
    cik: str | None
    metric: str | None
    concept: str | None
    period: str
    value: str
    unit: str | None
    as_of: Date | None
    tolerance: Decimal | None


class FigurePeriod(TypedDict):
    """The period of a figure. The kind and the fiscal period are null for facts of another duration."""

    period: Annotated[str, OneOf(SERIES_KINDS)] | None
    fiscal_year: int | None
    fiscal_period: str | None
    period_start: Date | None
    period_end: Date


class FiguresFiling(TypedDict):
    """The filing that reports a figure; of several, the one that was filed last."""

    accession: str
    form_type: str
    filed_at: Date | None


class ProofParameters(TypedDict):
    """The parameters of ``/xbrl/proof`` that name a figure."""

    cik: str
    metric: str
    period: Annotated[str, OneOf(SERIES_KINDS)]
    period_end: Date
    basis: Annotated[str, OneOf(BASES)]
    currency: str
    as_of: Date | None


class FigureOnFile(FigurePeriod, FiguresFiling):
    """A figure with the facts that it was computed from."""

    value: Decimal
    unit: str
    concept: str
    decimals: Decimals
    confidence: Annotated[int, "From 0 to 100, as in /xbrl/timeseries; 100 for a fact of a concept."]
    operands: list[OperandRecord]
    proof: Annotated[ProofParameters | None, "Parameters of /xbrl/proof for the complete proof; null for a concept."]
    link: Annotated[Url | None, "The printed value in the SEC's viewer, else the index of the filing at the SEC."]


class ClaimResult(TypedDict):
    """The verdict on a claim, with the figure on file and, if it is another one, the figure that agrees."""

    claim: ClaimRecord
    verdict: Verdict
    reason_code: Reason | None
    message: str
    ticker: str | None
    cik: str | None
    company_name: str | None
    cell: Annotated[FigureOnFile | None, "The newest filed figure of the period."]
    agreeing_cell: Annotated[FigureOnFile | None, "An older figure of the period, or that of another period."]
    scale_exponent: Annotated[int | None, "For wrong_scale: the claim times 10 to this power agrees."]


class StatedClaim(NamedTuple):
    """A claim in the form in which it is checked."""

    period: ClaimedPeriod
    value: ClaimedValue
    unit: str | None


class UnclearClaimError(ValueError):
    """A claim that cannot be checked. The message is a reason code."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def parse_claim(record: ClaimRecord) -> StatedClaim:
    """Return the claim of a record. Raise UnclearClaimError if it has a member that is not understood."""
    if (record["metric"] is None) == (record["concept"] is None):
        raise UnclearClaimError("no_metric")
    try:
        value, value_unit = parse_value(record["value"])
    except ValueError:
        raise UnclearClaimError("value_not_understood") from None
    try:
        period = parse_period(record["period"])
    except ValueError:
        raise UnclearClaimError("period_not_understood") from None
    unit = value_unit.name
    if record["unit"] is not None:
        try:
            declared_unit = parse_unit(record["unit"])
        except ValueError:
            raise UnclearClaimError("unit_not_understood") from None
        if value_unit.exponent == 0:
            value = value.scale(declared_unit.exponent)
        unit = declared_unit.name or unit
    tolerance = record["tolerance"]
    if tolerance is not None:
        value = value._replace(margin=abs(value.amount) * tolerance)
    return StatedClaim(period, value, unit)


def find_currency(claim: StatedClaim) -> str | None:
    """Return the currency of a claim's unit, or None if it has no unit or one that is not an amount of money."""
    if claim.unit is None or claim.unit in ("shares", "ratio", "days"):
        return None
    return claim.unit.removesuffix("/shares")


def build_unclear_result(record: ClaimRecord, company: Company | None, reason: Reason) -> ClaimResult:
    """Return the result of a claim that cannot be checked."""
    is_missing = reason in ("unknown_company", "company_not_on_file", "unknown_concept")
    return build_result(record, company, Judgement("not_on_file" if is_missing else "cannot_tell", reason))


def build_result(record: ClaimRecord, company: Company | None, judgement: Judgement) -> ClaimResult:
    """Return the result of a claim without figures."""
    return {
        "claim": record,
        "verdict": judgement.verdict,
        "reason_code": judgement.reason,
        "message": _SENTENCES[judgement.reason or judgement.verdict],
        "ticker": company.ticker if company else None,
        "cik": company.padded_cik if company else None,
        "company_name": company.name if company else None,
        "cell": None,
        "agreeing_cell": None,
        "scale_exponent": judgement.exponent,
    }
