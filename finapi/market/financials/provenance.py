"""The provenance of a cell: its filing, concept, rule and operands, and how much confidence it deserves.

The confidence of a figure is a number from 0 to 100. It is 100 for a figure that is reported under the first tag of its
metric. It is less for a later rule, a note instead of the printed statement, a statement with further lines that belong
to the figure, a derived figure, an estimate, a total that does not add up, and a figure that fails a check
(:mod:`figure_doubts`). A derived figure
or ratio has at most the lowest confidence of its inputs.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NotRequired, TypedDict

from finapi.core.days import iso
from finapi.core.records import Date, Url
from finapi.market.financials import figure_doubts, metric_mapping
from finapi.market.financials.cells import Cell, Figure, Mark, Method, Missing, Status, find_value, to_json_number
from finapi.market.financials.fact_book import PeriodKey, Vintage
from finapi.market.financials.series_rows import RowView, get_unit
from finapi.market.financials.templates import Check, FailedCheck
from finapi.market.statements.filed_facts import Decimals, parse_decimals
from finapi.market.statements.printed_lines import PrintedLine, UnprintedReason

CONFIDENCE_BY_METHOD: dict[Method, int] = {"reported": 100, "mapped": 95, "derived": 85}
MIN_REPORTED_CONFIDENCE = 50  # The minimum for figures that are not estimated and fail no check.
ESTIMATED_CONFIDENCE = 40
DOUBTED_CONFIDENCE = 20
# The maximum for a total that does not add up, and for a figure with one of these marks.
MAX_INCONSISTENT_CONFIDENCE = 75
LIMITING_MARKS: frozenset[Mark] = frozenset(("definition_changed", "conflicting_values"))
# Deductions: for each better rule that found nothing, for a figure from a note, and for lines that belong to the figure
# but are not included.
RULE_DEDUCTION = 5
NOTE_DEDUCTION = 10
INCOMPLETE_DEDUCTION = 20


class FactRecord(TypedDict):
    """A fact and its filing.

    ``fact_id`` is the id of the element that states the fact on a page of an inline filing, and ``ink_url`` shows it in
    the SEC's viewer. Both are null for other filings. ``conflicting_values`` are there for facts that have any. In a
    proof, ``printed`` is the line of the statement that prints the fact, or null with ``printed_reason``.
    """

    value: Decimal
    concept: str
    unit: str
    decimals: Decimals
    start_date: Date | None
    end_date: Date
    accession: str
    form_type: str
    filed_at: Date | None
    source: str
    fact_id: NotRequired[Annotated[str | None, "Id of the element that states the fact on an inline page."]]
    ink_url: NotRequired[Annotated[Url | None, "The printed value in the SEC's viewer."]]
    conflicting_values: NotRequired[
        Annotated[list[Decimal], "Further values that the filing states for the fact with the same precision."]
    ]
    printed: NotRequired[Annotated[PrintedLine | None, "The line of the statement that prints the fact."]]
    printed_reason: NotRequired[
        Annotated[UnprintedReason | None, "The reason why the printed line is not known; null: it is."]
    ]


class Sign(TypedDict):
    """1 for an operand that is added, -1 for one that is subtracted."""

    sign: int


class OperandRecord(Sign, FactRecord):
    """A fact that a figure was computed from."""


class Provenance(TypedDict):
    """A cell with its filing (the provenance "summary")."""

    value: Decimal | None
    status: Status
    reason_code: str | None
    line: NotRequired[str]
    beside: NotRequired[list[str]]
    split_factor: NotRequired[Decimal]
    estimated: NotRequired[bool]
    check: NotRequired[FailedCheck]
    marks: NotRequired[list[Mark]]
    concept: str | None
    tier: int | None
    method: Method | None
    calc_status: Check
    confidence: int
    accession: str | None
    source: str | None
    unit: str
    fact_id: NotRequired[Annotated[str | None, "In full: the id of the element of a cell that is one fact."]]
    ink_url: NotRequired[Annotated[Url | None, "In full: the printed value of a cell that is one fact."]]


class FullProvenance(Provenance):
    """A cell with its filing and its operands (the provenance "full")."""

    decimals: Decimals
    filed_at: Date | None
    operands: list[OperandRecord]


class CellRecord(Provenance):
    """A cell with either provenance, "summary" or "full"."""

    decimals: NotRequired[Decimals]
    filed_at: NotRequired[Date | None]
    operands: NotRequired[list[OperandRecord]]


def build_provenance(row: RowView, key: str, cell: Cell, total_checks: dict[str, Check]) -> Provenance:
    """Return a cell with its provenance; ``total_checks`` are the :func:`templates.check_totals` of its row."""
    book = row.series.company_book.book
    figure = cell if isinstance(cell, Figure) else None
    filing = book.filings[figure.filing_index] if figure else None
    source = None
    if figure and filing:
        source = "note" if figure.is_from_note else filing.source
    record: Provenance = {
        "value": find_value(cell),
        "status": cell.status,
        "reason_code": cell.reason if isinstance(cell, Missing) else None,
        "concept": get_concept(figure) if figure else None,
        "tier": figure.priority if figure else None,
        "method": figure.method if figure else None,
        "calc_status": total_checks.get(key, "unchecked"),
        "confidence": compute_confidence(row, key, figure) if figure else 0,
        "accession": filing.accession if filing else None,
        "source": source,
        "unit": get_unit(key, book.currency),
    }
    if isinstance(cell, Missing) and cell.line_label:
        record["line"] = cell.line_label
    if figure:
        separate_lines = list_separate_lines(row, key, figure)
        if separate_lines:
            record["beside"] = separate_lines
        if figure.is_estimated:
            record["estimated"] = True
        failed_check = figure_doubts.find_failed_check(row, key)
        if failed_check:
            record["check"] = failed_check
        if failed_check or "inconsistent" in figure.marks:
            record["calc_status"] = "inconsistent"
        if figure.marks:
            record["marks"] = list(figure.marks)
        if record["calc_status"] == "inconsistent" or not LIMITING_MARKS.isdisjoint(figure.marks):
            record["confidence"] = min(record["confidence"], MAX_INCONSISTENT_CONFIDENCE)
    return record


def build_full_provenance(row: RowView, key: str, cell: Cell, total_checks: dict[str, Check]) -> FullProvenance:
    """Return a cell with its provenance, decimals, filing date and operands.

    A figure that is served as reported has no operands, because it would be its only one.
    """
    figure = cell if isinstance(cell, Figure) else None
    only_operand = figure.operands[0] if figure and len(figure.operands) == 1 else None
    is_as_reported = only_operand is not None and only_operand.sign > 0
    return {
        **build_provenance(row, key, cell, total_checks),
        "decimals": parse_decimals(only_operand.vintage.decimals) if only_operand else None,
        "filed_at": row.series.company_book.book.filings[figure.filing_index].filed if figure else None,
        "operands": [] if is_as_reported else list_operand_records(row, key, cell),
    }


def get_concept(figure: Figure) -> str:
    """Return the concept that a figure was reported under, or the concepts of its formula."""
    if len(figure.concepts) == 1 and len(figure.operands) == 1:
        return figure.operands[0].vintage.concept
    return " ".join(figure.concepts)


def list_separate_lines(row: RowView, key: str, figure: Figure) -> list[str]:
    """Return the labels of statement lines that belong to a metric but are not included in its figure."""
    metric = metric_mapping.get_mapping().metrics.get(key)
    if metric is None:
        return []
    return row.series.resolver.reported.list_separate_lines(metric, figure)


def compute_confidence(row: RowView, key: str, figure: Figure) -> int:
    """Return the confidence in a figure, from 0 to 100."""
    is_metric = key in metric_mapping.get_mapping().metrics
    if "inconsistent" in figure.marks or (is_metric and figure_doubts.find_failed_check(row, key)):
        confidence = DOUBTED_CONFIDENCE
    elif figure.is_estimated:
        confidence = ESTIMATED_CONFIDENCE
    else:
        confidence = CONFIDENCE_BY_METHOD[figure.method] - RULE_DEDUCTION * max(0, figure.priority - 1)
        if figure.is_from_note:
            confidence -= NOTE_DEDUCTION
        if list_separate_lines(row, key, figure):
            confidence -= INCOMPLETE_DEDUCTION
        confidence = max(MIN_REPORTED_CONFIDENCE, confidence)
    if not is_metric:
        for formula_input in row.list_inputs(key):
            if isinstance(formula_input.cell, Figure):
                input_confidence = compute_confidence(formula_input.row, formula_input.key, formula_input.cell)
                confidence = min(confidence, input_confidence)
    return confidence


def list_operand_records(row: RowView, key: str, cell: Cell) -> list[OperandRecord]:
    """Return the value, sign, concept, period and filing of each fact that a figure was computed from."""
    return [
        {"sign": operand.sign, **build_fact_record(row, operand.period_key, operand.vintage)}
        for operand in row.list_operands(key, cell)
    ]


def build_fact_record(row: RowView, period_key: PeriodKey, vintage: Vintage) -> FactRecord:
    """Return the record of a fact of the row's company, with its filing."""
    end, length = period_key
    filing = row.series.company_book.book.filings[vintage.filing_index]
    return {
        "value": to_json_number(Decimal(vintage.value)),
        "concept": vintage.concept,
        "unit": vintage.unit,
        "decimals": parse_decimals(vintage.decimals),
        "start_date": iso(end - length + 1) if length else None,
        "end_date": iso(end),
        "accession": filing.accession,
        "form_type": filing.form,
        "filed_at": filing.filed,
        "source": filing.source,
    }
