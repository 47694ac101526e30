"""Checks for figures that their filers tagged with a wrong scale or sign.

A doubted figure is served as it is tagged, with the failed check next to it. It fails a check only if a single error
explains the mismatch: with the opposite sign, or a thousand or a million times larger or smaller, the figure would fit.
There are these checks:

- ``sum``: a total of the statement template does not add up, but would if one of its figures were corrected.
- ``eps_times_shares``: earnings per share times shares are not near any income that they may refer to.
- ``sign``: a payment, an expense or a number of shares is negative, and no sum of the filing confirms it. If a sum
  proves the sign wrong, the figure is corrected and marked instead (:mod:`outlay_signs`).
- ``scale``: all amounts of the filing are a thousand or a million times too small or too large, compared with the
  filings before and after it (:mod:`filing_scales`).
- the shares outstanding are far from the average number of shares. This counts as the same check.
- ``quarter``: a quarter is the year to date, or far from the difference of the years to date that the same filing and
  the one before report.
- ``neighbours``: a figure that hardly changes from year to year is far from those of the periods before and after,
  which agree with each other.

Example: earnings per share 2.00, 1,000 shares in thousands (tagged as 1,000) and income 2,000,000. The product is
2,000; with the shares a thousand times as many it is the income, so the share count is doubted and 1,000,000 is
implied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from finapi.market.financials import metric_mapping, templates
from finapi.market.financials.cells import Figure, compute_rounding, to_json_number
from finapi.market.financials.metric_mapping import Metric
from finapi.market.financials.series_rows import SHARE_COUNT_BY_EPS, RowView
from finapi.market.financials.templates import CheckRule, FailedCheck, Total

# The factors that undo an error in the sign, or in the scale of the printed amounts.
OPPOSITE_SIGN = Decimal(-1)
SCALES = tuple(Decimal(10) ** power for power in (3, -3, 6, -6))
# A sum is only checked if it is off by more than this many times what rounding allows.
MIN_ERROR_TO_ROUNDING = 50
# The lines of income statements that are compared with the years to date, in addition to all cash flows. More of them
# would slow down every series of quarters.
COMPARED_INCOMES = ("revenue", "gross_profit", "operating_income", "pretax_income", "net_income")
# A quarter contradicts the years to date if it is off by more than this part of the larger of the two.
MIN_QUARTER_ERROR = Decimal("0.5")
# The factors within which two figures agree. Earnings per share times shares differ from the income because there are
# two classes of shares, or because preferred dividends are not reported. Share counts differ by their definition and
# date.
LOOSE, CLOSE, VERY_LOOSE = Decimal("1.4"), Decimal("1.1"), Decimal(10)
# Smaller earnings per share may be a rounding of zero.
MIN_EPS = Decimal("0.03")
# Nearly all earnings per share are in this range, in dollars.
MIN_LIKELY_EPS, MAX_LIKELY_EPS = Decimal("0.01"), Decimal(200)
SHARE_COUNT_KEYS = (*SHARE_COUNT_BY_EPS.values(), "shares_outstanding")
# Metrics that never grow a thousandfold for a single period.
STABLE_KEYS = (*SHARE_COUNT_KEYS, *SHARE_COUNT_BY_EPS, "revenue", "total_assets", "total_liabilities")


def find_failed_check(row: RowView, key: str) -> FailedCheck | None:
    """Return the check that the cell of a key fails, or None.

    A derived figure or ratio fails the check "input" if one of its inputs fails a check.
    """
    metric = metric_mapping.get_mapping().metrics.get(key)
    if metric is not None:
        failed_checks = list_failed_checks(row)
        # These checks need no other metric, so they are made for requested metrics only.
        if key not in failed_checks and key not in row.checked_keys:
            row.checked_keys.add(key)
            failed_checks.update(_check_sign(row, metric))
            if row.series.kind == "Q" and key not in failed_checks:
                failed_checks.update(_check_quarter(row, metric))
        return failed_checks.get(key)
    failed_inputs = [
        formula_input.key
        for formula_input in row.list_inputs(key)
        if find_failed_check(formula_input.row, formula_input.key)
    ]
    if not failed_inputs:
        return None
    return {"rule": "input", "keys": list(dict.fromkeys(failed_inputs)), "implied": None}


def list_failed_checks(row: RowView) -> dict[str, FailedCheck]:
    """Return the failed checks of a row's metrics, by key. They are computed once for each row."""
    if row.failed_checks is None:
        failed_checks: dict[str, FailedCheck] = {}
        for check in CHECKS:
            for key, failed_check in check(row, failed_checks):
                failed_checks.setdefault(key, failed_check)
        row.failed_checks = failed_checks
    return row.failed_checks


FailedChecks = dict[str, FailedCheck]  # The results of the earlier checks, by key.
Failures = Iterator[tuple[str, FailedCheck]]


# ---- signs


def _check_sign(row: RowView, metric: Metric) -> Failures:
    """Yield a negative payment, expense or share count that the resolver marked as inconsistent."""
    cell = row.get_cell(metric.key)
    has_sign = metric.is_outlay or metric.units == "shares"
    if has_sign and isinstance(cell, Figure) and cell.value < 0 and "inconsistent" in cell.marks:
        yield metric.key, _build_failed_check("sign", (), -cell.value)


# ---- quarters and years to date


def _check_quarter(row: RowView, metric: Metric) -> Failures:
    """Compare a tagged quarter with the year to date of the same filing less the year to date before it."""
    is_compared = metric.statement == "cash_flow_statement" or metric.key in COMPARED_INCOMES
    cell = row.get_cell(metric.key) if is_compared and metric.aggregation == "sum" else None
    if not isinstance(cell, Figure) or cell.method == "derived":
        return
    difference = row.series.resolver.subtract(metric, row.period)
    if not isinstance(difference, Figure) or difference.method != "derived":
        return
    if difference.operands[0].vintage.filing_index != cell.filing_index:
        return
    error = abs(cell.value - difference.value)
    rounding = compute_rounding(cell) + compute_rounding(difference)
    largest = max(abs(cell.value), abs(difference.value))
    is_year_to_date = abs(cell.value) == abs(Decimal(difference.operands[0].vintage.value))
    # Companies reclassify small amounts between quarters.
    if error > MIN_ERROR_TO_ROUNDING * rounding and (is_year_to_date or error > MIN_QUARTER_ERROR * largest):
        yield metric.key, _build_failed_check("quarter", (), difference.value)


# ---- scales of filings


def _check_scales(row: RowView, failed_checks: FailedChecks) -> Failures:
    """Yield the figures that use amounts of a filing that is out of scale."""
    misscaled_filings = row.series.company_book.book.misscaled_filings
    for key, metric in metric_mapping.get_mapping().metrics.items() if misscaled_filings else ():
        cell = row.get_cell(key) if metric.units == "currency" else None
        if not isinstance(cell, Figure):
            continue
        filing_indexes = {operand.vintage.filing_index for operand in cell.operands}
        factors = {misscaled_filings[index] for index in filing_indexes if index in misscaled_filings}
        if factors:
            # If other operands are in the right scale, the right value is not known.
            is_known = len(factors) == 1 and filing_indexes <= misscaled_filings.keys()
            yield key, _build_failed_check("scale", (), cell.value * factors.pop() if is_known else None)


# ---- sums


def _check_sums(row: RowView, failed_checks: FailedChecks) -> Failures:
    for statement in templates.get_templates().by_industry[row.series.company_book.industry].values():
        for total in statement.totals:
            if templates.build_receipt(total, row.get_cell)["status"] == "inconsistent":
                yield from _find_wrong_operand(row, total)


def _find_wrong_operand(row: RowView, total: Total) -> Failures:
    """Yield the figure that must be wrong if a total does not add up: the only one whose correction makes it add up."""
    for terms in total.sums:
        signed_keys = [(-1, total.target), *((term.sign, term.names[0]) for term in terms)]
        figures: list[tuple[int, str, Figure]] = []
        for sign, key in signed_keys:
            cell = row.get_cell(key)
            if isinstance(cell, Figure):
                figures.append((sign, key, cell))
        difference = sum((sign * figure.value for sign, _, figure in figures), Decimal(0))
        rounding = sum((compute_rounding(figure) for _, _, figure in figures), Decimal(0))
        repairs: list[tuple[str, Decimal]] = []
        for sign, key, figure in figures:
            for factor in (OPPOSITE_SIGN, *SCALES):
                repaired_difference = difference + sign * figure.value * (factor - 1)
                if abs(repaired_difference) <= rounding < abs(figure.value * factor):
                    repairs.append((key, figure.value * factor))
        if abs(difference) > MIN_ERROR_TO_ROUNDING * rounding and len(repairs) == 1:
            wrong_key, implied = repairs[0]
            yield wrong_key, _build_failed_check("sum", (key for _, key, _ in figures if key != wrong_key), implied)
            return


# ---- earnings per share


class EpsAndShares(NamedTuple):
    """Earnings per share and the average number of shares that they refer to."""

    eps: Decimal
    shares: Decimal

    @property
    def earnings(self) -> Decimal:
        """The product of the two."""
        return self.eps * self.shares


def _check_earnings_per_share(row: RowView, failed_checks: FailedChecks) -> Failures:
    """Compare earnings per share times shares with the income that they may refer to."""
    incomes = [] if "net_income" in failed_checks else _list_incomes(row)
    if not incomes:
        return
    pairs: dict[str, EpsAndShares] = {}
    for eps_key, share_count_key in SHARE_COUNT_BY_EPS.items():
        eps = row.find_value(eps_key)
        shares = row.find_value(share_count_key)
        if eps is not None and shares:
            pairs[eps_key] = EpsAndShares(eps, shares)
    fitting_earnings = [pair.earnings for pair in pairs.values() if _is_near_any(pair.earnings, incomes)]
    for eps_key, pair in pairs.items():
        if _is_near_any(pair.earnings, incomes):
            continue
        share_count_key = SHARE_COUNT_BY_EPS[eps_key]
        scale = next((scale for scale in SCALES if _is_near_any(pair.earnings * scale, incomes)), None)
        if scale is not None:
            wrong_key, implied = _find_wrong_scale(row, eps_key, pair, scale)
            keys = {eps_key, share_count_key, "net_income"} - {wrong_key}
            yield wrong_key, _build_failed_check("eps_times_shares", keys, implied)
            continue
        implied_eps = round((fitting_earnings or incomes)[0] / pair.shares, 2)
        if abs(implied_eps) < MIN_EPS:
            continue
        has_opposite_sign = _is_near_any(-pair.earnings, incomes, CLOSE)
        # The other kind of earnings per share (basic or diluted) fits, and this one is far from its implied value.
        is_odd_one_out = bool(fitting_earnings) and not _is_near_any(pair.eps, [implied_eps], VERY_LOOSE)
        if pair.eps == 0 or has_opposite_sign or is_odd_one_out:
            yield eps_key, _build_failed_check("eps_times_shares", (share_count_key, "net_income"), implied_eps)


def _find_wrong_scale(row: RowView, eps_key: str, pair: EpsAndShares, scale: Decimal) -> tuple[str, Decimal]:
    """Return the key of the figure in the wrong scale (earnings per share, shares or income), and its implied value."""
    if not _is_likely_eps(pair.eps) and _is_likely_eps(pair.eps * scale):
        return eps_key, pair.eps * scale
    # If the share count seems too large but the shares outstanding confirm it, the income is too small instead, unless
    # the corrected income would exceed the total assets.
    income = row.find_value("net_income") or Decimal(0)
    shares_outstanding = row.find_value("shares_outstanding") or Decimal(0)
    is_share_count_confirmed = scale < 1 and _is_near_any(pair.shares, [shares_outstanding])
    if is_share_count_confirmed and abs(income / scale) < (row.find_value("total_assets") or 0):
        return "net_income", income / scale
    return SHARE_COUNT_BY_EPS[eps_key], pair.shares * scale


def _is_likely_eps(eps: Decimal) -> bool:
    return MIN_LIKELY_EPS <= abs(eps) <= MAX_LIKELY_EPS


def _list_incomes(row: RowView) -> list[Decimal]:
    """Return the incomes that earnings per share may refer to, the most likely first. Zeros are left out."""
    common_income = row.find_value("net_income_to_common")
    incomes = [] if common_income is None else [common_income]
    income = row.find_value("net_income")
    if income is not None:
        preferred_dividends = row.find_value("preferred_dividends") or 0
        minority_income = row.find_value("minority_interest_income") or 0
        incomes += [income - preferred_dividends, income, income - minority_income]
    return [income for income in incomes if income]


def _check_shares_outstanding(row: RowView, failed_checks: FailedChecks) -> Failures:
    """Compare the shares outstanding with an average number of shares that passed the check of earnings per share."""
    outstanding = row.find_value("shares_outstanding")
    if not outstanding:
        return
    incomes = _list_incomes(row)
    for eps_key, share_count_key in SHARE_COUNT_BY_EPS.items():
        eps = row.find_value(eps_key)
        shares = row.find_value(share_count_key)
        implied = failed_checks[share_count_key]["implied"] if share_count_key in failed_checks else None
        if implied is None and eps is not None and shares is not None and _is_near_any(eps * shares, incomes):
            implied = shares
        if not implied:
            continue
        scale = next((scale for scale in SCALES if _is_near_any(outstanding * scale, [implied])), None)
        if scale is not None:
            keys = (share_count_key, eps_key, "net_income")
            yield "shares_outstanding", _build_failed_check("eps_times_shares", keys, outstanding * scale)
            return


# ---- the periods before and after


def _check_neighbours(row: RowView, failed_checks: FailedChecks) -> Failures:
    """Compare stable figures with those of the next newer and next older row, if these two agree with each other."""
    series = row.series
    index = series.periods.index(row.period)
    if not 0 < index < len(series.periods) - 1:
        return
    newer = series.get_row(series.periods[index - 1])
    older = series.get_row(series.periods[index + 1])
    for key in STABLE_KEYS:
        value = row.find_value(key)
        newer_value = newer.find_value(key)
        older_value = older.find_value(key)
        if not value or not newer_value or not older_value or not _is_near_any(newer_value, [older_value]):
            continue
        for scale in SCALES:
            if _is_near_any(value * scale, [newer_value]) and _is_near_any(value * scale, [older_value]):
                if not (key in SHARE_COUNT_KEYS and _has_confirmed_share_counts(row)):
                    yield key, _build_failed_check("neighbours", (key,), value * scale)
                break


def _has_confirmed_share_counts(row: RowView) -> bool:
    """Return True if earnings per share times shares are near an income of the row."""
    for eps_key, share_count_key in SHARE_COUNT_BY_EPS.items():
        eps = row.find_value(eps_key)
        shares = row.find_value(share_count_key)
        if eps is not None and shares and _is_near_any(eps * shares, _list_incomes(row)):
            return True
    return False


def _is_near_any(value: Decimal, references: Iterable[Decimal], factor: Decimal = LOOSE) -> bool:
    """Return True if a value has the sign of one of ``references`` and differs from it by less than ``factor``."""
    return any(
        value * reference > 0 and abs(reference) / factor < abs(value) < abs(reference) * factor
        for reference in references
    )


def _build_failed_check(rule: CheckRule, keys: Iterable[str], implied: Decimal | None) -> FailedCheck:
    implied_number = None if implied is None else to_json_number(implied.normalize() + 0)
    return {"rule": rule, "keys": sorted(keys), "implied": implied_number}


# The checks of a complete row in order. A figure has the first one that it fails.
CHECKS = (
    _check_scales,
    _check_sums,
    _check_earnings_per_share,
    _check_shares_outstanding,
    _check_neighbours,
)
