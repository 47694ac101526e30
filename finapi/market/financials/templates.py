"""The standardised statements (``templates.toml``) and the proof that their totals add up.

A template lists the lines of a statement for each industry, and for each total one or more sums that may prove it:
gross profit is revenue less cost of revenue. When a template is filled with the cells of a row, each total gets a
*receipt*, which compares the reported total with the recomputed sum. The two may differ by rounding. A total that the
mapping itself computed from other figures proves nothing, so its receipt is "unchecked".

The lines of a template rarely add up to a total, because companies report more lines. A *bucket* ("other ...") holds
the rest: the total less its lines.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, TypedDict

from finapi.core.files import get_package_folder
from finapi.market.financials import metric_mapping, reasons
from finapi.market.financials.cells import (
    Cell,
    Figure,
    Missing,
    Status,
    compute_rounding,
    find_value,
    to_json_number,
)
from finapi.market.financials.metric_mapping import Term

# A line of a total that is missing for one of these reasons counts as zero. For other reasons, the line exists but its
# value is unknown.
_ZERO_REASONS = (*reasons.NO_SUCH_LINE, reasons.REPORTED_NIL)


class TemplateLine(NamedTuple):
    """A line of a statement."""

    key: str
    label: str
    level: int
    parent: str | None  # The total that includes it; None at the top.
    is_subtotal: bool


class Total(NamedTuple):
    """A total and the sums that may prove it, the usual one first."""

    target: str
    sums: tuple[tuple[Term, ...], ...]


class Bucket(NamedTuple):
    """The part of a total that is in none of its lines."""

    key: str
    total: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a template."""

    lines: tuple[TemplateLine, ...]
    totals: tuple[Total, ...]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Templates:
    """The statements of every industry, by industry and name."""

    version: int
    by_industry: dict[str, dict[str, Statement]]


@cache
def get_templates() -> Templates:
    """Return the current templates."""
    return parse(get_package_folder("finapi.market.financials").joinpath("templates.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Templates:
    """Return the templates of a TOML document. Raise ValueError for a key that is neither a metric nor a bucket."""
    raw = tomllib.loads(text)
    common_statements = {name: _parse_statement(entry) for name, entry in raw["every"].items()}
    by_industry = {}
    for industry in metric_mapping.INDUSTRIES:
        statements = {name: _parse_statement(entry) for name, entry in raw[industry].items()}
        by_industry[industry] = {**statements, **common_statements}
    return Templates(raw["version"], by_industry)


def _parse_statement(entry: Mapping[str, str]) -> Statement:
    buckets = []
    for text in entry["other"].strip().splitlines():
        words, _, formula = text.partition(" = ")
        key, _, total = words.split()
        buckets.append(Bucket(key, total, metric_mapping.parse_formula(formula)))
    totals = []
    for text in entry["totals"].strip().splitlines():
        target, _, formulas = text.partition(" = ")
        sums = tuple(metric_mapping.parse_formula(formula) for formula in formulas.split(" or "))
        totals.append(Total(target, sums))
    lines = _parse_lines(entry["lines"], {bucket.key for bucket in buckets})
    return Statement(lines, tuple(totals), tuple(buckets))


def _parse_lines(text: str, bucket_keys: Collection[str]) -> tuple[TemplateLine, ...]:
    metrics = metric_mapping.get_mapping().metrics
    lines = []
    for line_text in text.strip().splitlines():
        level, key, _, *parents = line_text.split()
        if key in metrics:
            label = metrics[key].label
        elif key in bucket_keys:
            label = key.replace("_", " ").capitalize()
        else:
            raise ValueError(f"{key} is neither a metric nor a bucket")
        lines.append(TemplateLine(key, label, int(level), parent=parents[0] if parents else None, is_subtotal=False))
    all_parents = {line.parent for line in lines}
    return tuple(line._replace(is_subtotal=line.key in all_parents) for line in lines)


# ---- the statements of a row

Check = Literal["consistent", "inconsistent", "unchecked"]


# The names of checks (:mod:`finapi.market.financials.figure_doubts`).
CheckRule = Literal["sum", "eps_times_shares", "neighbours", "sign", "scale", "quarter", "input"]


class FailedCheck(TypedDict):
    """A check that a figure fails, the other keys of the check, and the figure after undoing its probable error.

    The check ``input`` fails if a figure from which this one was computed fails a check.
    """

    rule: CheckRule
    keys: list[str]
    implied: Decimal | None


class FilledLine(TypedDict):
    """A line of a template in one row."""

    key: str
    label: str
    status: Status
    value: Decimal | None
    level: int
    parent: str | None
    is_subtotal: bool


class SignedKey(TypedDict):
    """A term of a sum."""

    key: str
    sign: int


class Receipt(TypedDict):
    """The reported total, the sum of its terms, their difference, and the difference that rounding allows."""

    target: str
    reported: Decimal | None
    recomputed: Decimal | None
    residual: Decimal | None
    status: Check
    tolerance: Decimal | None
    operands: list[SignedKey]


class FilledBucket(TypedDict):
    """The value of a bucket in one row."""

    bucket: str
    section_total_key: str
    foots_to_filed_total: bool
    value: Decimal | None
    status: Literal["value", "hole"]


class FilledStatement(TypedDict):
    """A statement of a template in one row (DECISIONS 7)."""

    lines: list[FilledLine]
    subtotals: list[Receipt]
    other: list[FilledBucket]
    footing_status: Check


class FilledTemplate(TypedDict):
    """The statements of a row."""

    income: FilledStatement
    balance: FilledStatement
    cashflow: FilledStatement
    comprehensive_income: FilledStatement


# A function that returns the cell of a key in a row.
GetCell = Callable[[str], Cell]


def fill_template(industry: str, get_cell: GetCell) -> FilledTemplate:
    """Return the statements of an industry, filled with the cells of a row."""
    statements = get_templates().by_industry[industry]
    filled: Any = {name: _fill_statement(statement, get_cell) for name, statement in statements.items()}
    return filled  # type: ignore[no-any-return]


def check_totals(industry: str, get_cell: GetCell) -> dict[str, Check]:
    """Return the result of the check of each total of a row, by key."""
    return {
        total.target: build_receipt(total, get_cell)["status"]
        for statement in get_templates().by_industry[industry].values()
        for total in statement.totals
    }


def _fill_statement(statement: Statement, get_cell: GetCell) -> FilledStatement:
    receipts = [build_receipt(total, get_cell) for total in statement.totals]
    parents = {line.key: line.parent for line in statement.lines}
    parents |= _find_moved_lines(statement, receipts, get_cell)
    bucket_cells = {bucket.key: _compute_bucket(bucket, get_cell, parents) for bucket in statement.buckets}
    lines: list[FilledLine] = []
    for line in statement.lines:
        cell = bucket_cells[line.key] if line.key in bucket_cells else get_cell(line.key)
        lines.append(
            {
                "key": line.key,
                "label": line.label,
                "status": cell.status,
                "value": find_value(cell),
                "level": line.level,
                "parent": parents[line.key],
                "is_subtotal": line.is_subtotal,
            }
        )
    filled_buckets: list[FilledBucket] = []
    for bucket in statement.buckets:
        cell = bucket_cells[bucket.key]
        filled_buckets.append(
            {
                "bucket": bucket.key,
                "section_total_key": bucket.total,
                "foots_to_filed_total": isinstance(cell, Figure),
                "value": find_value(cell),
                "status": "value" if isinstance(cell, Figure) else "hole",
            }
        )
    return {
        "lines": lines,
        "subtotals": receipts,
        "other": filled_buckets,
        "footing_status": find_worst_status([receipt["status"] for receipt in receipts]),
    }


def _find_moved_lines(statement: Statement, receipts: Sequence[Receipt], get_cell: GetCell) -> dict[str, str]:
    """Return the lines without which a total adds up, each with the higher total that includes it instead.

    Example: income of affiliates is reported either before or after taxes, and must only count once.
    """
    left_out: set[str] = set()
    for total, receipt in zip(statement.totals, receipts, strict=True):
        if receipt["status"] == "consistent":
            included = {operand["key"] for operand in receipt["operands"]}
            left_out.update(term.names[0] for term in total.sums[0] if term.names[0] not in included)
    moved = {}
    for bucket in statement.buckets:
        for term in bucket.terms:
            key = term.names[0]
            if key in left_out and isinstance(get_cell(key), Figure):
                moved[key] = bucket.total
    return moved


def find_worst_status(statuses: Collection[Check]) -> Check:
    """Return the status of a statement: the worst status of its checked totals."""
    if "inconsistent" in statuses:
        return "inconsistent"
    return "consistent" if "consistent" in statuses else "unchecked"


def build_receipt(total: Total, get_cell: GetCell) -> Receipt:
    """Return the receipt of a total for its first sum that adds up, else for the first that can be computed.

    Totals and terms that the mapping computed from other figures prove nothing, except for sums of printed lines.
    """
    cell = get_cell(total.target)
    receipt: Receipt = {
        "target": total.target,
        "reported": find_value(cell),
        "recomputed": None,
        "residual": None,
        "status": "unchecked",
        "tolerance": None,
        "operands": [],
    }
    if not isinstance(cell, Figure) or len(cell.concepts) != 1:
        return receipt
    for terms in total.sums:
        operands_sum = _compute_sum(terms, get_cell)
        if operands_sum is None:
            continue
        tolerance = compute_rounding(cell) + operands_sum.rounding
        residual = cell.value - operands_sum.value
        is_consistent = abs(residual) <= tolerance
        if receipt["status"] == "unchecked" or is_consistent:
            receipt["recomputed"] = to_json_number(operands_sum.value)
            receipt["residual"] = to_json_number(residual)
            receipt["tolerance"] = to_json_number(tolerance)
            receipt["operands"] = operands_sum.operands
            receipt["status"] = "consistent" if is_consistent else "inconsistent"
        if is_consistent:
            break
    return receipt


class OperandsSum(NamedTuple):
    """A sum, the terms that the row has, and the tolerance for their rounding."""

    operands: list[SignedKey]
    value: Decimal
    rounding: Decimal


def _compute_sum(terms: Sequence[Term], get_cell: GetCell) -> OperandsSum | None:
    """Return the sum of the terms that the row has, or None if the value of an existing line is unknown."""
    operands: list[SignedKey] = []
    value = rounding = Decimal(0)
    for term in terms:
        cell = get_cell(term.names[0])
        if isinstance(cell, Figure) and (len(cell.concepts) == 1 or cell.derivation == metric_mapping.SUM_OF_LINES):
            operands.append({"key": term.names[0], "sign": term.sign})
            value += term.sign * cell.value
            rounding += compute_rounding(cell)
        elif not (term.optional and isinstance(cell, Missing) and cell.reason in reasons.NO_SUCH_LINE):
            return None
    return OperandsSum(operands, value, rounding)


def _compute_bucket(bucket: Bucket, get_cell: GetCell, parents: Mapping[str, str | None]) -> Cell:
    """Return the total of a bucket less its lines, or a missing cell if one of the values is unknown."""
    value = Decimal(0)
    filing_indexes = [0]
    mapping = metric_mapping.get_mapping()
    for term in bucket.terms:
        key = term.names[0]
        is_moved = key != bucket.total and parents.get(key, bucket.total) != bucket.total
        if is_moved:
            continue
        cell = get_cell(key)
        if isinstance(cell, Figure):
            if mapping.is_negative_outlay(key, cell.value):
                return Missing(reasons.INPUT_MISSING)
            value += term.sign * cell.value
            filing_indexes.append(cell.filing_index)
        elif not (term.optional and cell.reason in _ZERO_REASONS):
            return Missing(reasons.INPUT_MISSING)
    return Figure(value, (bucket.key,), 0, max(filing_indexes), "derived", ())
