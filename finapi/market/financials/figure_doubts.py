"""Figures that their filers got wrong in scale or sign, by what others of the same row and of its neighbours say.

A figure stays as it is tagged. It is doubted only where one error explains what does not fit: with the other sign, or a
thousand or a million times as much or as little, it would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal

from finapi.market.financials import metric_mapping, templates
from finapi.market.financials.cells import Figure, to_json_number
from finapi.market.financials.series_rows import SHARE_COUNTS, RowView
from finapi.market.financials.templates import FailedCheck, Total

# What errors make of a figure: the opposite sign, or the scale that it is printed in.
SIGN = Decimal(-1)
SCALES = tuple(Decimal(10) ** power for power in (3, -3, 6, -6))
# A sum that adds up but for an error is off by so many times what rounding allows.
MATERIAL = 50
# How far earnings of a share times shares may be from the income that they are of: two classes of shares share in it,
# and preferred dividends that no line tells are taken off. Counts at two times, or two ways to count, are as near.
ROUGHLY, CLOSELY, FAR = Decimal("1.4"), Decimal("1.1"), Decimal(10)
# Earnings of a share that are no rounding of nothing.
LEAST_EACH = Decimal("0.03")
# Between these nearly all of them are.
LIKELY_EACH = Decimal("0.01"), Decimal(200)
COUNTS = (*SHARE_COUNTS.values(), "shares_outstanding")
# What does not become a thousand times as much and then as little as before.
STEADY = (*COUNTS, *SHARE_COUNTS, "revenue", "total_assets", "total_liabilities")


def find_failed_check(row: RowView, key: str) -> FailedCheck | None:
    """Why the cell of a key is doubted, if it is; of a derived figure or ratio which of its inputs are."""
    if key in metric_mapping.get_mapping().metrics:
        return list_failed_checks(row).get(key)
    keys = [one.key for one in row.list_inputs(key) if find_failed_check(one.row, one.key)]
    return {"rule": "input", "keys": list(dict.fromkeys(keys)), "implied": None} if keys else None


def list_failed_checks(row: RowView) -> dict[str, FailedCheck]:
    """The metrics of a row that are doubted."""
    if row.failed_checks is None:
        found: dict[str, FailedCheck] = {}
        for check in (_sums, _earnings, _counts, _neighbours):
            for key, failed in check(row, found):
                found.setdefault(key, failed)
        row.failed_checks = found
    return row.failed_checks


Found = dict[str, FailedCheck]
Failed = Iterator[tuple[str, FailedCheck]]


def _sums(row: RowView, found: Found) -> Failed:
    for statement in templates.get_templates().by_industry[row.series.company_book.industry].values():
        for total in statement.totals:
            if templates.build_receipt(total, row.get_cell)["status"] == "inconsistent":
                yield from _erred(row, total)


def _erred(row: RowView, total: Total) -> Failed:
    """The one figure of a total that does not add up with whose error undone it does."""
    for terms in total.sums:
        signed = [(-1, total.target), *((term.sign, term.names[0]) for term in terms)]
        figures = [(sign, key, cell) for sign, key in signed if isinstance(cell := row.get_cell(key), Figure)]
        off = sum((sign * cell.value for sign, _, cell in figures), Decimal(0))
        slack = sum((templates.compute_rounding(cell) for _, _, cell in figures), Decimal(0))
        repaired = [
            (key, cell.value * factor)
            for sign, key, cell in figures
            for factor in (SIGN, *SCALES)
            if abs(off + sign * cell.value * (factor - 1)) <= slack < abs(cell.value * factor)
        ]
        if abs(off) > MATERIAL * slack and len(repaired) == 1:
            key, value = repaired[0]
            yield key, _failed("sum", (one for _, one, _ in figures if one != key), value)
            return


def _earnings(row: RowView, found: Found) -> Failed:
    """Earnings of a share, their shares and the income that they are of."""
    incomes = [] if "net_income" in found else _incomes(row)
    told = {each: (row.find_figure(each), row.find_figure(count)) for each, count in SHARE_COUNTS.items()}
    known = {each: (one, shares) for each, (one, shares) in told.items() if incomes and one is not None and shares}
    fitting = {each: one * shares for each, (one, shares) in known.items() if _near(one * shares, incomes)}
    for each, (one, shares) in known.items():
        count = SHARE_COUNTS[each]
        scale = next((scale for scale in SCALES if _near(one * shares * scale, incomes)), None)
        implied = round(next(iter(fitting.values()), incomes[0]) / shares, 2)
        if each in fitting:
            continue
        if scale is not None:
            key, value = _misscaled(row, each, scale)
            yield key, _failed("eps_times_shares", {each, count, "net_income"} - {key}, value)
        elif abs(implied) >= LEAST_EACH and (
            one == 0 or _near(-one * shares, incomes, CLOSELY) or (fitting and not _near(one, [implied], FAR))
        ):
            yield each, _failed("eps_times_shares", (count, "net_income"), implied)


def _misscaled(row: RowView, each: str, scale: Decimal) -> tuple[str, Decimal]:
    """Which of three figures is in another scale, and what it would be."""
    one, shares, income = (row.find_figure(key) or Decimal(0) for key in (each, SHARE_COUNTS[each], "net_income"))
    if not LIKELY_EACH[0] <= abs(one) <= LIKELY_EACH[1] and LIKELY_EACH[0] <= abs(one * scale) <= LIKELY_EACH[1]:
        return each, one * scale
    # Of too many shares another count that has as many says that they are right, if that leaves an income like any.
    alike = scale < 1 and _near(shares, [row.find_figure("shares_outstanding") or Decimal(0)])
    if alike and abs(income / scale) < (row.find_figure("total_assets") or 0):
        return "net_income", income / scale
    return SHARE_COUNTS[each], shares * scale


def _incomes(row: RowView) -> list[Decimal]:
    """What earnings of a share may be of, the likeliest first."""
    income = row.find_figure("net_income")
    common, preferred, others = (
        row.find_figure(key) for key in ("net_income_to_common", "preferred_dividends", "minority_interest_income")
    )
    less = [] if income is None else [income - (preferred or 0), income, income - (others or 0)]
    return [one for one in ([] if common is None else [common]) + less if one]


def _counts(row: RowView, found: Found) -> Failed:
    """Shares outstanding against averages that earnings of a share bear out."""
    held, incomes = row.find_figure("shares_outstanding"), _incomes(row)
    for each, count in SHARE_COUNTS.items() if held else ():
        one, shares = row.find_figure(each), row.find_figure(count)
        implied = found[count]["implied"] if count in found else None
        if implied is None and one is not None and shares is not None and _near(one * shares, incomes):
            implied = shares
        scale = next((scale for scale in SCALES if implied and held and _near(held * scale, [implied])), None)
        if scale is not None and held is not None:
            yield "shares_outstanding", _failed("eps_times_shares", (count, each, "net_income"), held * scale)
            return


def _neighbours(row: RowView, found: Found) -> Failed:
    """What is a thousand times as much as before and after it, which are alike."""
    periods = row.series.periods
    at = periods.index(row.period)
    beside = [row.series.get_row(one) for one in (*periods[at - 1 : at], *periods[at + 1 : at + 2])] if at else []
    for key in STEADY if len(beside) == 2 else ():
        value, before, after = (one.find_figure(key) for one in (row, *beside))
        if not value or not before or not after or not _near(before, [after]):
            continue
        scale = next(
            (scale for scale in SCALES if _near(value * scale, [before]) and _near(value * scale, [after])), None
        )
        if scale is not None and not (key in COUNTS and _borne_out(row)):
            yield key, _failed("neighbours", (key,), value * scale)


def _borne_out(row: RowView) -> bool:
    """Whether a row's earnings of a share say that its counts of shares are right."""
    pairs = ((row.find_figure(each), row.find_figure(count)) for each, count in SHARE_COUNTS.items())
    return any(one is not None and shares and _near(one * shares, _incomes(row)) for one, shares in pairs)


def _near(value: Decimal, others: Iterable[Decimal], roughly: Decimal = ROUGHLY) -> bool:
    """Whether a value has the sign and about the size of one of others."""
    return any(value * one > 0 and abs(one) / roughly < abs(value) < abs(one) * roughly for one in others)


def _failed(
    rule: Literal["sum", "eps_times_shares", "neighbours"], keys: Iterable[str], implied: Decimal
) -> FailedCheck:
    return {"rule": rule, "keys": sorted(keys), "implied": to_json_number(implied.normalize() + 0)}
