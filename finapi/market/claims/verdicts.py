"""The verdict on a claim: its value compared with the figures that are on file. No input and no output.

A claim is true if its value agrees with the newest filed figure of its period. If it does not, the nearest explanation
is searched, in this order: an older figure of the same period, the opposite sign, a wrong scale, another period.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, NamedTuple, get_args

from finapi.market.claims.claimed_values import ClaimedValue

Verdict = Literal[
    "matches",
    "matches_first_filed",
    "restated_since",
    "wrong_scale",
    "wrong_sign",
    "wrong_period",
    "contradicted",
    "not_on_file",
    "cannot_tell",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Reason = Literal[
    "unknown_company",
    "ambiguous_company",
    "company_not_on_file",
    "period_not_on_file",
    "figure_not_on_file",
    "no_metric",
    "unknown_metric",
    "unknown_concept",
    "value_not_understood",
    "period_not_understood",
    "unit_not_understood",
    "other_unit",
    "other_line",
    "more_digits_than_filed",
    "doubtful_figure",
    "figure_not_certain",
]
# Powers of ten by which a claim is off if it mixes up thousands, millions and billions.
WORD_EXPONENTS = (3, -3, 6, -6, 9, -9, 12, -12)
# Powers of ten of per cent, cents and slipped decimal points. Two digits agree by chance too often.
SMALL_EXPONENTS = (2, -2, 1, -1)
MIN_DIGITS_OF_SMALL_EXPONENTS = 3
# A company has hundreds of periods, and a claim of few digits agrees with some of them by chance. So periods that are
# not near need more digits in a claim that is rounded, and in one that states all digits of the figure.
MIN_ROUNDED_DIGITS_OF_FAR_PERIODS = 5
MIN_EXACT_DIGITS_OF_FAR_PERIODS = 4
# Other lines of the statement, such as net income with noncontrolling interests, are often close to the figure.
MIN_DIGITS_OF_OTHER_LINES = 4


class KnownFigure(NamedTuple):
    """The figure of one period, as filings state it."""

    latest: Decimal
    first_filed: Decimal
    rounding: Decimal = Decimal(0)  # The greatest error of the latest figure by the rounding of its filing.
    other_vintages: tuple[Decimal, ...] = ()  # Values of the same line in other filings.
    other_lines: tuple[Decimal, ...] = ()  # Values of other lines that may have the same name.
    is_doubtful: bool = False  # True if the figure is an estimate, or contradicts other figures.
    is_near: bool = True  # For other periods: True if the period is easily confused with the claimed one.


class Judgement(NamedTuple):
    """A verdict and its evidence."""

    verdict: Verdict
    reason: Reason | None = None  # For the verdicts not_on_file and cannot_tell.
    exponent: int | None = None  # For a wrong scale, the power of ten that corrects the claim.
    other_index: int | None = None  # For a wrong period, the index of the figure that agrees.


def judge(claim: ClaimedValue, figure: KnownFigure, other_figures: Iterable[KnownFigure] = ()) -> Judgement:
    """Return the verdict on a claim. ``other_figures`` are the figures of other periods, the nearest first."""
    verdict = _compare_vintages(claim, figure)
    if verdict is not None:
        return Judgement(verdict)
    if abs(claim.amount - figure.latest) <= figure.rounding:
        return Judgement("cannot_tell", "more_digits_than_filed")
    if claim.digit_count >= MIN_DIGITS_OF_OTHER_LINES and any(map(claim.agrees_with, figure.other_lines)):
        return Judgement("cannot_tell", "other_line")
    if claim.amount:
        judgement = _find_slip(claim, figure, other_figures)
        if judgement is not None:
            return judgement
    if figure.is_doubtful:
        return Judgement("cannot_tell", "doubtful_figure")
    return Judgement("contradicted")


def _compare_vintages(claim: ClaimedValue, figure: KnownFigure) -> Verdict | None:
    """Return the verdict on a claim that some filing proves for its period, or None."""
    if claim.agrees_with(figure.latest):
        return "matches"
    if claim.agrees_with(figure.first_filed):
        # A later filing may repeat the figure with fewer digits.
        is_repeated = abs(figure.first_filed - figure.latest) <= figure.rounding
        return "matches" if is_repeated else "matches_first_filed"
    if any(map(claim.agrees_with, figure.other_vintages)):
        return "restated_since"
    return None


def _find_slip(claim: ClaimedValue, figure: KnownFigure, other_figures: Iterable[KnownFigure]) -> Judgement | None:
    """Return the judgement on a claim with a wrong sign, scale or period, or None."""
    if _agrees_with_any(claim.negate(), figure):
        return Judgement("wrong_sign")
    exponent = _find_exponent(claim, figure, WORD_EXPONENTS)
    if exponent is not None:
        return Judgement("wrong_scale", exponent=exponent)
    for index, other in enumerate(other_figures):
        if _agrees_with_other_period(claim, other):
            return Judgement("wrong_period", other_index=index)
    if claim.digit_count >= MIN_DIGITS_OF_SMALL_EXPONENTS:
        exponent = _find_exponent(claim, figure, SMALL_EXPONENTS)
        if exponent is not None:
            return Judgement("wrong_scale", exponent=exponent)
    return None


def _agrees_with_other_period(claim: ClaimedValue, other: KnownFigure) -> bool:
    """Return True if a claim agrees with the figure of another period, and not by chance."""
    values = (other.latest, other.first_filed)
    if not other.is_near and claim.digit_count < MIN_ROUNDED_DIGITS_OF_FAR_PERIODS:
        return claim.digit_count >= MIN_EXACT_DIGITS_OF_FAR_PERIODS and claim.amount in values
    return any(map(claim.agrees_with, values))


def _find_exponent(claim: ClaimedValue, figure: KnownFigure, exponents: Iterable[int]) -> int | None:
    """Return the first power of ten that makes a claim agree with the figure, or None."""
    for exponent in exponents:
        if _agrees_with_any(claim.scale(exponent), figure):
            return exponent
    return None


def _agrees_with_any(claim: ClaimedValue, figure: KnownFigure) -> bool:
    """Return True if a claim agrees with the latest figure, the first filed one or another vintage."""
    return any(map(claim.agrees_with, (figure.latest, figure.first_filed, *figure.other_vintages)))
