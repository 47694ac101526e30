"""Whether a 13F states its values in dollars or in thousands: the document does not say, so evidence decides.

Form 13F asked for thousands until 2023-01-02 and asks for dollars since; some managers filed in the old unit
after that day, and a few in dollars before it. What a share would cost tells those apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

# SEC Release 34-95148: the amended form is in force for reports filed from this day on.
DOLLARS_SINCE = "2023-01-03"
# The last quarter whose reports could be filed in time before that day ended before this one.
FIRST_DOLLAR_PERIOD = "2022-12-31"

# Value over shares. In thousands, a share of less than $1,000 comes out below 1; in dollars, hardly a holding
# of a manager over $100 million does. Above 5 a row in thousands would be a share of more than $5,000.
MIN_PRICE_IN_DOLLARS, MAX_PRICE_IN_THOUSANDS = 1, 5
# The part of the rows, and of their value, that must speak against the day before it is overruled, in tenths.
MIN_EVIDENCE_TENTHS = 6
# Managers who must imply one price, and how far apart their prices and a thousandfold may be: prices of a quarter move.
MIN_MANAGERS, MAX_PRICE_RATIO = 2, 3
# So many positions must be a thousand times off before all are, unless one at most is beside them.
MIN_CONTRADICTIONS = 2

THOUSANDS = 1_000


@dataclass(frozen=True, slots=True)
class Unit:
    """``rows`` and ``total`` are the dollars in one unit of the table and of the cover's total: 1 or 1,000.

    ``rule`` names the unit and the evidence that decided: ``dollars:filing_date``. ``corrected`` says that
    the evidence overruled the day, so that the table stands in a unit which the form did not ask for.
    """

    rows: int
    total: int
    rule: str
    corrected: bool


def decide_unit(
    *,
    filed_at: str | None,
    signed: str | None,
    period: str,
    value_total: int | None,
    rows: Sequence[tuple[int, int]],
    row_value: int,
    others: Sequence[tuple[float, Sequence[float]]] = (),
) -> Unit:
    """The unit of a table; ``rows`` are (value, shares) of its share positions, ``row_value`` the sum of all.

    ``others`` are of some positions the price that the table implies and those, in dollars, that other managers'
    reports of the quarter imply: where most are a thousand times off, they overrule the rest.

    In this order: the day of the filing (or of its signature, or its quarter) says what the form asked for;
    a price of a share that cannot be overrules it; a cover total a thousand times the table, or the table a
    thousand times the total, says that the two stand in different units.
    """
    in_dollars, source = _asked_for(filed_at, signed, period)
    cheap, dear = _speaks(rows)
    corrected = cheap if in_dollars else dear
    unit = 1 if in_dollars != corrected else THOUSANDS
    if corrected:
        source = "implied_price"
    if _contradicted(unit, others):
        unit, source, corrected = THOUSANDS // unit, "other_managers", not corrected
    total = _total_unit(unit, value_total, row_value, len(rows))
    return Unit(unit, total, f"{'dollars' if unit == 1 else 'thousands'}:{source}", corrected)


def _asked_for(filed_at: str | None, signed: str | None, period: str) -> tuple[bool, str]:
    if filed_at is not None:
        return filed_at >= DOLLARS_SINCE, "filing_date"
    if signed is not None and signed > period:
        return signed >= DOLLARS_SINCE, "signature_date"
    return period >= FIRST_DOLLAR_PERIOD, "period"


def _speaks(rows: Sequence[tuple[int, int]]) -> tuple[bool, bool]:
    """Whether most rows, and most of the value, are too cheap for dollars or too dear for thousands."""
    priced = [(value, shares) for value, shares in rows if value and shares]
    if not priced:
        return False, False
    cheap = [value for value, shares in priced if value < MIN_PRICE_IN_DOLLARS * shares]
    dear = [value for value, shares in priced if value >= MAX_PRICE_IN_THOUSANDS * shares]
    worth = sum(value for value, _ in priced)

    def most(some: list[int]) -> bool:
        return 10 * len(some) >= MIN_EVIDENCE_TENTHS * len(priced) and 10 * sum(some) >= MIN_EVIDENCE_TENTHS * worth

    return most(cheap), most(dear)


def find_agreed_price(prices: Sequence[float]) -> float | None:
    """The price that most of at least two managers imply; None where they do not agree."""
    if len(prices) < MIN_MANAGERS:
        return None
    ordered = sorted(prices)
    middle = ordered[(len(ordered) - 1) // 2]
    alike = bisect_right(ordered, middle * MAX_PRICE_RATIO) - bisect_left(ordered, middle / MAX_PRICE_RATIO)
    return middle if alike >= MIN_MANAGERS and 2 * alike > len(prices) else None


def get_thousandfold_sign(price: float, told: float) -> int:
    """1 for a price about a thousand times another, -1 for a thousandth, else 0."""
    times = price / told
    return (
        1
        if THOUSANDS / MAX_PRICE_RATIO < times < THOUSANDS * MAX_PRICE_RATIO
        else -1
        if 1 / MAX_PRICE_RATIO < times * THOUSANDS < MAX_PRICE_RATIO
        else 0
    )


def _contradicted(unit: int, others: Sequence[tuple[float, Sequence[float]]]) -> bool:
    told = [(price * unit, find_agreed_price(prices)) for price, prices in others]
    signs = [get_thousandfold_sign(price, middle) for price, middle in told if middle is not None]
    wrong = signs.count(1 if unit == THOUSANDS else -1)
    # One of several positions may be wrong by itself: ``doubts`` says so of it.
    return wrong >= min(MIN_CONTRADICTIONS, len(others) - 1 or 1) > 0 and 10 * wrong >= MIN_EVIDENCE_TENTHS * len(signs)


def _total_unit(unit: int, value_total: int | None, row_value: int, rows: int) -> int:
    if value_total is None:
        return unit
    # Each row in thousands was rounded by up to half a thousand.
    slack = THOUSANDS // 2 * max(1, rows)
    if unit == THOUSANDS and value_total and abs(value_total - row_value * THOUSANDS) <= slack:
        return 1
    if unit == 1 and row_value and abs(value_total * THOUSANDS - row_value) <= slack:
        return THOUSANDS
    return unit
