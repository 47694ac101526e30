"""The proof of a cell: the facts, filings, signs and formula behind it, and every vintage that was filed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypedDict

from finapi.market.financials import metric_mapping, rule_words, templates
from finapi.market.financials.cells import Figure, to_json_number
from finapi.market.financials.fact_book import PeriodKey
from finapi.market.financials.metric_mapping import Metric
from finapi.market.financials.provenance import (
    CellRecord,
    FactRecord,
    FullProvenance,
    build_fact_record,
    build_full_provenance,
    list_operand_records,
)
from finapi.market.financials.series_rows import FormulaInput, RowPeriod, RowView, find_definition
from finapi.market.statements import fact_links, printed_lines
from finapi.market.statements.fact_links import FactKey
from finapi.market.statements.printed_lines import StatedFact
from finapi.store.db import Transaction


class SeriesKind(TypedDict):
    """The kind of a series: A, Q, TTM or YTD."""

    period: str


class ProofPeriod(SeriesKind, RowPeriod):
    """The row of a cell, and the kind of its series."""


class InputKey(TypedDict):
    """A metric, derived figure or ratio that a formula reads."""

    metric: str


class InputRecord(InputKey, ProofPeriod, FullProvenance):
    """A cell that another cell was computed from."""


class ConsideredRule(TypedDict):
    """A rule of the mapping that was considered for the figure."""

    tier: int
    way: str
    words: str


class CellProof(TypedDict):
    """The facts, filings, signs and formula behind a cell, and every vintage that was filed."""

    metric: str
    label: str
    definition: str
    formula: str
    mapping_version: int
    cell: CellRecord
    inputs: list[InputRecord]
    considered: list[ConsideredRule]
    vintages: list[FactRecord]


def build_proof(row: RowView, key: str) -> CellProof:
    """Return the proof of the cell of a metric, derived figure or ratio."""
    cell = row.get_cell(key)
    industry = row.series.company_book.industry
    cell_record = build_full_provenance(row, key, cell, templates.check_totals(industry, row.get_cell))
    cell_record["operands"] = list_operand_records(row, key, cell)
    definition = find_definition(key)
    assert definition is not None
    proof: CellProof = {
        "metric": key,
        "label": definition.label,
        "definition": definition.definition,
        "formula": "",
        "mapping_version": metric_mapping.get_mapping().version,
        "cell": {**cell_record},
        "inputs": [],
        "considered": [],
        "vintages": [],
    }
    if isinstance(definition, Metric):
        proof["formula"] = cell.derivation if isinstance(cell, Figure) else ""
        proof["considered"] = [
            {"tier": rule.priority, "way": rule.text, "words": rule_words.describe_rule(rule, definition)}
            for rule in definition.rules[industry]
        ]
        proof["vintages"] = list_vintages(row, definition)
    else:
        proof["formula"] = definition.formula
        proof["inputs"] = [_build_input_record(formula_input) for formula_input in row.list_inputs(key)]
    return proof


def list_facts(proof: CellProof) -> list[FactRecord]:
    """Return all facts of a proof: the vintages, and the operands of the cell and of its inputs."""
    facts: list[FactRecord] = [*proof["vintages"], *proof["cell"].get("operands", [])]
    for input_record in proof["inputs"]:
        facts += input_record["operands"]
    return facts


def add_fact_links(tx: Transaction, cik: int, facts: Sequence[FactRecord]) -> None:
    """Add to each fact of a company its element on the page (its id and its URL, or None), and conflicting values."""
    keys = [_get_fact_key(fact) for fact in facts]
    links = fact_links.find_links(tx, cik, keys)
    conflicting_values = fact_links.find_conflicting_values(tx, cik, keys)
    for fact, key in zip(facts, keys, strict=True):
        link = links.get(key, fact_links.NO_LINK)
        fact["fact_id"] = link.fact_id
        fact["ink_url"] = link.ink_url
        if key in conflicting_values:
            fact["conflicting_values"] = [to_json_number(Decimal(value)) for value in conflicting_values[key]]


def add_printed_lines(tx: Transaction, facts: Sequence[FactRecord]) -> None:
    """Add to each fact the line of the filing's statement that prints it, or the reason why it is not known."""
    stated_facts = [StatedFact(_get_fact_key(fact), fact["value"]) for fact in facts]
    for fact, fact_print in zip(facts, printed_lines.find_prints(tx, stated_facts), strict=True):
        fact["printed"] = fact_print.line
        fact["printed_reason"] = fact_print.reason


def _get_fact_key(fact: FactRecord) -> FactKey:
    return FactKey(fact["accession"], fact["concept"], fact["unit"], fact["start_date"], fact["end_date"])


def _build_input_record(formula_input: FormulaInput) -> InputRecord:
    row, key, cell = formula_input
    total_checks = templates.check_totals(row.series.company_book.industry, row.get_cell)
    period: ProofPeriod = {"period": row.series.kind, **row.build_period()}
    return {"metric": key, **period, **build_full_provenance(row, key, cell, total_checks)}


def list_vintages(row: RowView, metric: Metric) -> list[FactRecord]:
    """Return every fact of a metric for the cell's period under any tag of the mapping, in order of filing."""
    book = row.series.company_book.book
    period_keys = _list_period_keys(row, metric)
    facts = []
    for tag in dict.fromkeys(metric.list_tags(row.series.company_book.industry)):
        vintages_by_period = book.vintages.get(tag, {})
        for period_key in period_keys:
            for vintage in vintages_by_period.get(period_key, ()):
                facts.append(build_fact_record(row, period_key, vintage))
    # Facts without a filing date sort last.
    return sorted(facts, key=lambda fact: (fact["filed_at"] or "~", fact["accession"], fact["concept"]))


def _list_period_keys(row: RowView, metric: Metric) -> tuple[PeriodKey, ...]:
    """Return the periods for which filings report a cell: those of its operands, else those of its row."""
    cell = row.get_cell(metric.key)
    if isinstance(cell, Figure) and cell.method != "derived":
        return tuple(dict.fromkeys(operand.period_key for operand in cell.operands))
    if metric.aggregation == "instant":
        return ((row.period.end, 0),)
    if row.series.kind == "TTM" or metric.aggregation == "opening":
        # Filings do not report trailing twelve months as such, and an opening balance is dated before the row.
        return ()
    return row.period.keys
