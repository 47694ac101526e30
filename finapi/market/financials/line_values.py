"""Proofs from the values of a statement's lines: whether lines add up, and the signs of their amounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from finapi.edgar.concept_names import is_extension
from finapi.market.financials.face_pages import SECTIONS_BY_TOTAL, FaceLine
from finapi.market.financials.metric_mapping import Metric

# Labels of amounts before deductions.
GROSS_LABEL = re.compile(r"\bgross\b|\bbefore\b")
# Labels of costs of financing, which are not deducted from gross revenue but for banks.
_FINANCING = re.compile(r"\binterest\b")
# Amounts of money below this are per share.
MAX_PER_SHARE = 10_000
# The values of the concepts of each filing, by (filing index, concept) and period.
FiledValues = Mapping[tuple[int, str], Mapping[tuple[int, int], str]]


def drop_per_share_amounts(
    metric: Metric, filing_index: int, lines: list[FaceLine], values: FiledValues
) -> list[FaceLine]:
    """Return the lines without amounts per share that are tagged as money, unless no other line is left."""
    if metric.units != "currency" or len(lines) < 2:
        return lines
    amounts = [
        line
        for line in lines
        if any(
            Decimal(value) % 1 == 0 and abs(Decimal(value)) >= MAX_PER_SHARE
            for value in values.get((filing_index, line.concept), {}).values()
        )
    ]
    return amounts or lines


def is_net_amount(
    filing_index: int, net: FaceLine, gross: FaceLine, deductions: Sequence[FaceLine], values: FiledValues
) -> bool:
    """Return True if a line is another line less the lines between them, whatever their signs, in all its periods.

    Without lines between them, the label of the other line must say that it is a gross amount.
    """
    if any(_FINANCING.search(line.label) for line in deductions):
        return False
    net_values = values[filing_index, net.concept]
    gross_values = values[filing_index, gross.concept]
    if not deductions:
        return GROSS_LABEL.search(gross.label) is not None and net_values.keys() <= gross_values.keys()
    for period, value in net_values.items():
        deducted = sum(abs(Decimal(values[filing_index, line.concept].get(period, "0"))) for line in deductions)
        if not deducted or Decimal(gross_values.get(period, "0")) - deducted != Decimal(value):
            return False
    return bool(net_values)


def prove_sign(
    metric: Metric, filing_index: int, line: FaceLine, page: Sequence[FaceLine], values: FiledValues
) -> int | None:
    """Return the sign of a line by the results above and below it, which differ by it, or None if they do not.

    Example: net income of 72, less what belongs to noncontrolling interests, 3, is net income of the parent, 69.
    """
    lines = [other for other in page if (filing_index, other.concept) in values]
    number = next((number for number, other in enumerate(lines) if other.concept == line.concept), 0)
    if metric.statement != "income_statement" or not 0 < number < len(lines) - 1:
        return None
    above, line_values, below = (values[filing_index, other.concept] for other in lines[number - 1 : number + 2])
    effects = set()
    for period, text in line_values.items():
        value = Decimal(text)
        change = Decimal(below.get(period, "0")) - Decimal(above.get(period, "0"))
        if value and abs(change) != abs(value):
            return None
        if value:
            effects.add(1 if change == value else -1)
    if len(effects) != 1:
        return None
    return effects.pop() if metric.balance == "credit" else -effects.pop()


def has_one_direction(metric: Metric, filing_index: int, lines: Iterable[FaceLine], values: FiledValues) -> bool:
    """Return True if the printed amounts of investing or financing payments are all paid or all received."""
    if not metric.is_outlay or not metric.section:
        return True
    signs = {
        (Decimal(value) < 0) != line.is_negated
        for line in lines
        for value in values.get((filing_index, line.concept), {}).values()
        if Decimal(value)
    }
    return len(signs) < 2


def list_negative_outlays(
    metric: Metric, filing_index: int, lines: Iterable[FaceLine], values: FiledValues
) -> set[str]:
    """Return the concepts of cash flows, payments and expenses that have a negative value.

    The sign of a payment or expense under a custom tag is not defined.
    """
    if metric.is_outlay:
        concepts = {line.concept for line in lines if not is_extension(line.concept)}
    else:
        concepts = {line.concept for line in lines if metric.section in SECTIONS_BY_TOTAL.values()}
    return {
        concept
        for concept in concepts
        if any(Decimal(value) < 0 for value in values.get((filing_index, concept), {}).values())
    }


def is_sum_of_others(filing_index: int, candidate: str, concepts: Iterable[str], values: FiledValues) -> bool:
    """Return True if each value of a concept is the sum of the other concepts for the same period."""
    candidate_values = values.get((filing_index, candidate), {})
    other_values = [values.get((filing_index, concept), {}) for concept in concepts if concept != candidate]
    if not candidate_values:
        return False
    return all(
        Decimal(value) == sum(Decimal(by_period.get(period, 0)) for by_period in other_values)
        for period, value in candidate_values.items()
    )


def is_difference(
    filing_index: int, result: FaceLine, minuend: FaceLine, subtrahends: Iterable[FaceLine], values: FiledValues
) -> bool:
    """Return True if ``result`` equals ``minuend`` less ``subtrahends`` in each of its periods."""
    minuend_values = values[filing_index, minuend.concept]
    subtrahend_values = [values[filing_index, line.concept] for line in subtrahends]
    for period, value in values[filing_index, result.concept].items():
        subtracted = sum(Decimal(by_period.get(period, "0")) for by_period in subtrahend_values)
        if Decimal(minuend_values.get(period, "0")) - subtracted != Decimal(value):
            return False
    return True


def is_total(
    metric: Metric, filing_index: int, lines: Sequence[FaceLine], part_number: int, values: FiledValues
) -> bool:
    """Return True if the last line is the total of lines before it that include the line ``part_number``."""
    *parts, total = lines
    if total.label.startswith("total ") and metric.is_meant_by(total.label):
        return True
    remainders = {period: Decimal(value) for period, value in values[filing_index, total.concept].items()}
    for number in range(len(parts) - 1, -1, -1):
        part_values = values[filing_index, parts[number].concept]
        remainders = {
            period: remainder - Decimal(part_values.get(period, "0")) for period, remainder in remainders.items()
        }
        has_several_parts = number < len(parts) - 1
        if number <= part_number and has_several_parts and not any(remainders.values()):
            return True
    return False
