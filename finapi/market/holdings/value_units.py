"""The unit of a 13F's values: dollars or thousands of dollars.

Form 13F required thousands until 2023-01-02 and requires dollars since, but the document does not state its unit. Some
managers reported thousands after that day, and a few reported dollars before it. Three kinds of evidence decide, and
each overrules the previous one:

1. The filing day (else the day of the signature, else the quarter) gives the unit that the form required.
2. The implied price of a share, value divided by shares, may be impossible. A table filed in 2025 with most prices
   below $1 is in thousands. A table filed in 2021 with most prices above 5 is in dollars, because in thousands each of
   these shares would cost more than $5,000.
3. Other managers' reports of the same quarter imply prices, too. If most of the large positions are about a thousand
   times off the price on which the others agree, the table is in the other unit.

A row whose number of shares equals its value is not evidence: the filer typed one column twice.

The total on the cover page may be in another unit than the table. It is in another unit if it differs from the table's
sum by a factor of exactly one thousand.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

# SEC Release 34-95148: the amended form is in force for reports filed from this day on.
DOLLARS_SINCE = "2023-01-03"
# The first quarter whose reports are all in dollars: it ended only days before that date.
FIRST_DOLLAR_PERIOD = "2022-12-31"

# The quotient of value and shares. In thousands, it is below 1 for any share that costs less than $1,000. In dollars,
# it is hardly ever below 1.
MIN_PRICE_IN_DOLLARS = 1
# In thousands, a quotient of 5 would be a price of $5,000, which is very rare.
MAX_PRICE_IN_THOUSANDS = 5
# The filing day is overruled if at least this many tenths of the rows, and of their value, contradict it.
MIN_EVIDENCE_TENTHS = 6
# The minimum number of managers for an agreed price.
MIN_MANAGERS = 2
# Prices that differ by no more than this factor count as equal, because prices change during a quarter.
MAX_PRICE_RATIO = 3
# The minimum number of positions that must be a thousand times off. If there are only one or two positions, one is
# enough.
MIN_CONTRADICTIONS = 2

THOUSANDS = 1_000


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a report's values and the evidence for it."""

    value_unit: int  # The unit of the table's values in dollars: 1 or 1,000.
    total_unit: int  # The unit of the cover's total in dollars: 1 or 1,000.
    rule: str  # The unit and the evidence that decided, such as "dollars:filing_date".
    corrected: bool  # True if the table is in a unit that the form did not require.


def decide_unit(
    *,
    filed_at: str | None,
    signed: str | None,
    period: str,
    value_total: int | None,
    rows: Sequence[tuple[int, int]],
    row_value: int,
    implied_prices: Sequence[tuple[float, Sequence[float]]] = (),
) -> Unit:
    """Return the unit of a table, decided as the module's docstring explains.

    ``rows`` are (value, shares) of the share positions, ``row_value`` is the sum of all rows, and ``value_total`` the
    total on the cover. ``implied_prices`` has a pair for some positions: the price that the table implies, in its own
    unit, and the prices in dollars that other managers' reports for the quarter imply.
    """
    requires_dollars, source = _get_required_unit(filed_at, signed, period)
    too_cheap, too_dear = _check_prices(rows)
    corrected = too_cheap if requires_dollars else too_dear
    unit = 1 if requires_dollars != corrected else THOUSANDS
    if corrected:
        source = "implied_price"
    if _is_contradicted(unit, implied_prices):
        unit = THOUSANDS // unit
        source = "other_managers"
        corrected = not corrected
    total = _get_total_unit(unit, value_total, row_value, len(rows))
    unit_name = "dollars" if unit == 1 else "thousands"
    return Unit(value_unit=unit, total_unit=total, rule=f"{unit_name}:{source}", corrected=corrected)


def _get_required_unit(filed_at: str | None, signed: str | None, period: str) -> tuple[bool, str]:
    """Return True if the form required dollars, and the name of the evidence."""
    if filed_at is not None:
        return filed_at >= DOLLARS_SINCE, "filing_date"
    # A signature before the end of the quarter is a mistake.
    if signed is not None and signed > period:
        return signed >= DOLLARS_SINCE, "signature_date"
    return period >= FIRST_DOLLAR_PERIOD, "period"


def _check_prices(rows: Sequence[tuple[int, int]]) -> tuple[bool, bool]:
    """Return two flags: most prices are too low for dollars, and most prices are too high for thousands."""
    priced_rows = [(value, shares) for value, shares in rows if value and shares and value != shares]
    if not priced_rows:
        return False, False
    cheap_values = [value for value, shares in priced_rows if value < MIN_PRICE_IN_DOLLARS * shares]
    dear_values = [value for value, shares in priced_rows if value >= MAX_PRICE_IN_THOUSANDS * shares]
    total = sum(value for value, _ in priced_rows)

    def are_most(values: list[int]) -> bool:
        are_most_rows = 10 * len(values) >= MIN_EVIDENCE_TENTHS * len(priced_rows)
        return are_most_rows and 10 * sum(values) >= MIN_EVIDENCE_TENTHS * total

    return are_most(cheap_values), are_most(dear_values)


def find_agreed_price(prices: Sequence[float]) -> float | None:
    """Return the price that more than half of at least two managers imply, or None if they do not agree.

    It is the median. Prices from a third of it to three times it agree with it.
    """
    if len(prices) < MIN_MANAGERS:
        return None
    ordered = sorted(prices)
    median = ordered[(len(ordered) - 1) // 2]
    agreeing = bisect_right(ordered, median * MAX_PRICE_RATIO) - bisect_left(ordered, median / MAX_PRICE_RATIO)
    return median if agreeing >= MIN_MANAGERS and 2 * agreeing > len(prices) else None


def get_thousandfold_sign(price: float, reference: float) -> int:
    """Return 1 for a price about a thousand times the reference, -1 for about a thousandth of it, else 0."""
    ratio = price / reference
    if THOUSANDS / MAX_PRICE_RATIO < ratio < THOUSANDS * MAX_PRICE_RATIO:
        return 1
    if 1 / MAX_PRICE_RATIO < ratio * THOUSANDS < MAX_PRICE_RATIO:
        return -1
    return 0


def _is_contradicted(unit: int, implied_prices: Sequence[tuple[float, Sequence[float]]]) -> bool:
    """Return True if the prices of other managers show that the table is in the other unit."""
    signs = []
    for price, other_prices in implied_prices:
        agreed_price = find_agreed_price(other_prices)
        if agreed_price is not None:
            signs.append(get_thousandfold_sign(price * unit, agreed_price))
    contradictions = signs.count(1 if unit == THOUSANDS else -1)
    # A single wrong position does not prove that the table is in the other unit; ``value_doubts`` marks it instead.
    needed = min(MIN_CONTRADICTIONS, len(implied_prices) - 1 or 1)
    return contradictions >= needed > 0 and 10 * contradictions >= MIN_EVIDENCE_TENTHS * len(signs)


def _get_total_unit(unit: int, value_total: int | None, row_value: int, row_count: int) -> int:
    """Return the unit of the cover's total in dollars: 1 or 1,000."""
    if value_total is None:
        return unit
    # Each row in thousands was rounded by up to half a thousand.
    tolerance = THOUSANDS // 2 * max(1, row_count)
    if unit == THOUSANDS and value_total and abs(value_total - row_value * THOUSANDS) <= tolerance:
        return 1
    if unit == 1 and row_value and abs(value_total * THOUSANDS - row_value) <= tolerance:
        return THOUSANDS
    return unit
