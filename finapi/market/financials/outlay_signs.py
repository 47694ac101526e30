"""Proofs of the signs of payments and expenses that are tagged negative.

A payment or expense is positive by the definition of its tag, but some filers tag it as they print it, with a minus. It
may also really be negative, such as a refund. The sums of the filing decide:

- A section of a statement, as it is printed, adds up to its total. Then a negative line of expenses, investments or
  financing is money that was paid, and a positive one is money that came back.
- A sum of the calculation linkbase adds up as it is tagged, which confirms the sign, or only with the opposite sign.
- Gross profit is revenue less costs, or revenue plus the costs as they are tagged.
- The only payment equals the total of its section, with the same sign.

Example: payments for equipment of -80 are the only line of an investing section with the total -80. The money was paid,
so the payment is 80. If a filing has no such sum, nothing is proved, and the figure stays as tagged and is doubted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.market.financials.cells import MAX_TRAILING_ZEROS
from finapi.market.financials.faces import SumRow
from finapi.market.financials.fact_book import FactKey, FactRow, PeriodKey, normalise_number
from finapi.market.financials.metric_mapping import MetricMapping

# The metrics that are totals of the sections of a cash flow statement. Amounts that operations add back, such as
# depreciation, are positive there; payments of the other sections are negative.
OPERATIONS, PAYMENT_SECTIONS = "operating_cashflow", ("investing_cashflow", "financing_cashflow")
# The results between which an income statement lists revenues and expenses.
RESULTS = ("gross_profit", "operating_income", "pretax_income")
REVENUE, COSTS, GROSS = "revenue", "cost_of_revenue", "gross_profit"
# The sign of a figure is only proved if it changes the sum by more than this many times what rounding allows.
MIN_CHANGE_TO_ROUNDING = 2


class StatementLine(NamedTuple):
    """The value of a line of a statement for one period. Rows are in the order of the pages."""

    filing_index: int
    section_id: int
    concept: str
    is_negated: int  # 1 if the statement shows the value with the opposite sign.
    end: int
    length: int
    value: str


class SignProofs(NamedTuple):
    """The negative payments and expenses whose signs are proved wrong, and those whose signs are proved right."""

    corrected: set[FactKey]
    confirmed: set[FactKey]


Values = Mapping[str, Decimal]  # The values of the concepts of one filing and period.


def list_doubtful_filings(rows: Iterable[FactRow], mapping: MetricMapping) -> list[int]:
    """Return the indexes of the filings with a payment or expense that is tagged negative."""
    outlays = mapping.outlays
    doubtful = set()
    for row in rows:
        if row.value is not None and row.value.startswith("-"):
            concept = row.concept if row.concept in outlays else mapping.find_concept(row.concept)
            if concept in outlays:
                doubtful.add(row.filing_index)
    return sorted(doubtful)


def prove_signs(
    mapping: MetricMapping,
    rows: Iterable[FactRow],
    filing_indexes: Collection[int],
    currency: str,
    lines: Sequence[StatementLine],
    sums: Iterable[SumRow],
) -> SignProofs:
    """Return the proofs for the negative outlays of some filings.

    ``rows`` are their facts, ``lines`` the lines of their statements, and ``sums`` their calculation linkbases. Facts
    and sums of other filings are ignored.
    """
    values_by_period: dict[tuple[int, PeriodKey], dict[str, Decimal]] = {}
    for row in rows:
        number = normalise_number(row.value) if row.filing_index in filing_indexes and row.value is not None else None
        if number is not None and row.unit == currency:
            period = (row.filing_index, (row.end, row.length))
            values_by_period.setdefault(period, {})[row.concept] = Decimal(number)
    sections = _group_sections(mapping, lines)
    for line in lines:
        number = normalise_number(line.value)
        if number is not None:
            period = (line.filing_index, (line.end, line.length))
            values_by_period.setdefault(period, {})[line.concept] = Decimal(number)
    items_by_total: dict[int, dict[str, list[tuple[str, Decimal]]]] = {}
    for filing_index, total, item, weight in sums:
        if filing_index in filing_indexes:
            filing_sums = items_by_total.setdefault(filing_index, {})
            filing_sums.setdefault(total, []).append((item, Decimal(weight)))
    corrected: set[FactKey] = set()
    confirmed: set[FactKey] = set()
    for (filing_index, period_key), values in values_by_period.items():
        negative_concepts = {
            concept
            for concept, value in values.items()
            if value < 0 and (mapping.find_concept(concept) or concept) in mapping.outlays
        }
        if not negative_concepts:
            continue
        # A later proof is stronger than an earlier one.
        verdicts = dict(_iter_only_payment_verdicts(mapping, values, negative_concepts))
        verdicts |= dict(_iter_gross_verdicts(mapping, values, negative_concepts))
        for total, items in items_by_total.get(filing_index, {}).items():
            verdicts |= dict(_iter_declared_verdicts(values, total, items, negative_concepts))
        for section in sections.get((filing_index, period_key), ()):
            verdicts |= dict(_iter_printed_verdicts(section, negative_concepts))
        for concept, is_wrong in verdicts.items():
            (corrected if is_wrong else confirmed).add((filing_index, concept, values[concept]))
    return SignProofs(corrected - confirmed, confirmed - corrected)


# ---- sections of printed statements


class PrintedSection(NamedTuple):
    """The lines of a section of a statement as printed, without its total and its subtotals."""

    printed_values: list[tuple[str, Decimal]]  # Concepts and values, with the printed sign.
    total: Decimal
    is_operations: bool


def _group_sections(
    mapping: MetricMapping, lines: Sequence[StatementLine]
) -> dict[tuple[int, PeriodKey], list[PrintedSection]]:
    """Return the sections with a total of each filing and period.

    Each section of an income statement begins with the result of the one before.
    """
    operations_totals = _list_concepts(mapping, (OPERATIONS,))
    results = _list_concepts(mapping, RESULTS)
    totals = operations_totals | results | _list_concepts(mapping, PAYMENT_SECTIONS)
    sections: dict[tuple[int, PeriodKey], list[PrintedSection]] = {}
    open_lines: dict[tuple[int, int, PeriodKey], list[tuple[str, Decimal]]] = {}
    for line in lines:
        number = normalise_number(line.value)
        if number is None:
            continue
        period_key = (line.end, line.length)
        page_key = (line.filing_index, line.section_id, period_key)
        printed_value = -Decimal(number) if line.is_negated else Decimal(number)
        page_lines = open_lines.setdefault(page_key, [])
        if line.concept in totals:
            section = PrintedSection(page_lines, printed_value, line.concept in operations_totals)
            sections.setdefault((line.filing_index, period_key), []).append(section)
            open_lines[page_key] = [(line.concept, printed_value)] if line.concept in results else []
        elif not _is_subtotal(printed_value, page_lines):
            page_lines.append((line.concept, printed_value))
    return sections


def _is_subtotal(value: Decimal, lines: Sequence[tuple[str, Decimal]]) -> bool:
    """Return True if a printed value is the sum of the last two or more lines before it."""
    running_sum = Decimal(0)
    for line_count, (_, line_value) in enumerate(reversed(lines), 1):
        running_sum += line_value
        if line_count > 1 and running_sum == value:
            return True
    return False


def _iter_printed_verdicts(section: PrintedSection, negative_concepts: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the negative outlays of a section that adds up, each with True if its sign is wrong."""
    printed_values = [value for _, value in section.printed_values]
    rounding = _compute_rounding([*printed_values, section.total])
    if not printed_values or abs(sum(printed_values, Decimal(0)) - section.total) > rounding:
        return
    for concept, value in section.printed_values:
        if concept in negative_concepts and abs(value) > MIN_CHANGE_TO_ROUNDING * rounding:
            # Operations add back an expense, and the other sections subtract a payment.
            yield concept, (value > 0) == section.is_operations


def _iter_only_payment_verdicts(
    mapping: MetricMapping, values: Values, negative_concepts: set[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the negative payments that equal the total of a section of payments."""
    payment_keys = [
        key
        for key, metric in mapping.metrics.items()
        if metric.is_outlay and metric.balance == "credit" and metric.statement == "cash_flow_statement"
    ]
    totals = {values[concept] for concept in _list_concepts(mapping, PAYMENT_SECTIONS) if concept in values}
    for concept in negative_concepts & _list_concepts(mapping, payment_keys):
        if values[concept] in totals:
            yield concept, True


# ---- other sums


def _iter_declared_verdicts(
    values: Values, total: str, items: Sequence[tuple[str, Decimal]], negative_concepts: set[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the negative outlays of a declared sum that adds up as tagged, or with all or one of the signs changed."""
    item_values = [(item, weight * values[item]) for item, weight in items if item in values]
    suspects = [(item, value) for item, value in item_values if item in negative_concepts]
    if total not in values or not suspects:
        return
    difference = sum((value for _, value in item_values), Decimal(0)) - values[total]
    rounding = _compute_rounding([values[total], *(values[item] for item, _ in item_values)])
    large_suspects = [(item, value) for item, value in suspects if abs(value) > MIN_CHANGE_TO_ROUNDING * rounding]
    if abs(difference) <= rounding:
        for item, _ in large_suspects:
            yield item, False
        return
    # First the signs of all suspects are changed together, then that of each one alone.
    for changed_items in (large_suspects, *([suspect] for suspect in large_suspects)):
        changed_sum = sum((value for _, value in changed_items), Decimal(0))
        if changed_items and abs(difference - 2 * changed_sum) <= rounding:
            for item, _ in changed_items:
                yield item, True
            return


def _iter_gross_verdicts(
    mapping: MetricMapping, values: Values, negative_concepts: set[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the negative costs of revenue that a tagged gross profit proves."""
    for gross in _list_concepts(mapping, (GROSS,)) & values.keys():
        for revenue in _list_concepts(mapping, (REVENUE,)) & values.keys():
            for cost in _list_concepts(mapping, (COSTS,)) & negative_concepts:
                rounding = _compute_rounding([values[gross], values[revenue], values[cost]])
                if abs(values[cost]) <= MIN_CHANGE_TO_ROUNDING * rounding:
                    continue
                if abs(values[revenue] + values[cost] - values[gross]) <= rounding:
                    yield cost, True
                elif abs(values[revenue] - values[cost] - values[gross]) <= rounding:
                    yield cost, False


def _list_concepts(mapping: MetricMapping, keys: Iterable[str]) -> set[str]:
    """Return the tags that mean one of some metrics without a formula."""
    return {tag for key in keys for tag in mapping.metrics[key].iter_tags()}


def _compute_rounding(values: Sequence[Decimal]) -> Decimal:
    """Return the maximum rounding error of a sum of values.

    Each value is assumed to be off by half a unit of the last digit other than zero that any of them has.
    """
    trailing_zeros = MAX_TRAILING_ZEROS
    for value in values:
        if value:
            exponent = value.normalize().as_tuple().exponent
            assert isinstance(exponent, int)
            trailing_zeros = min(trailing_zeros, exponent)
    return Decimal(len(values)).scaleb(trailing_zeros) / 2
