"""Statements arranged by template (``templates.toml``), with receipts that show whether their totals add up."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, TypedDict

from finapi.core.files import get_package_folder
from finapi.market.financials import metric_mapping, reasons
from finapi.market.financials.cells import Cell, Figure, Missing, Status, find_value, to_json_number
from finapi.market.financials.metric_mapping import Term

# Where a source does not tell the precision of a figure (companyfacts), its trailing zeros do, up to millions.
MAX_ZEROS = 6

# Why a line of a total takes nothing of it. One that is there and not known takes what is not known.
_NOTHING = (*reasons.NO_SUCH_LINE, reasons.REPORTED_NIL)

HALF = Decimal("0.5")


class TemplateLine(NamedTuple):
    """A line of a statement; ``parent`` is the total that it goes into, None at the top."""

    key: str
    label: str
    level: int
    parent: str | None
    is_subtotal: bool


class Total(NamedTuple):
    """A total and the sums that may prove it, the usual one first."""

    target: str
    sums: tuple[tuple[Term, ...], ...]


class Bucket(NamedTuple):
    """What a total leaves over beside its lines."""

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
    """The templates in force."""
    return parse(get_package_folder("finapi.market.financials").joinpath("templates.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Templates:
    """Templates out of their TOML; ValueError for a key that is no metric or bucket."""
    raw = tomllib.loads(text)
    every = {name: _statement(entry) for name, entry in raw["every"].items()}
    made = {
        industry: {**{name: _statement(entry) for name, entry in raw[industry].items()}, **every}
        for industry in metric_mapping.INDUSTRIES
    }
    return Templates(raw["version"], made)


def _statement(entry: Mapping[str, str]) -> Statement:
    known = metric_mapping.get_mapping().metrics
    buckets, totals = [], []
    for line in entry["other"].strip().splitlines():
        (key, _, of), formula = line.partition(" = ")[0].split(), line.partition(" = ")[2]
        buckets.append(Bucket(key, of, metric_mapping.parse_formula(formula)))
    for line in entry["totals"].strip().splitlines():
        target, _, sums = line.partition(" = ")
        totals.append(Total(target, tuple(metric_mapping.parse_formula(one) for one in sums.split(" or "))))
    names = {bucket.key for bucket in buckets}
    parents: set[str] = set()
    lines = []
    for text in entry["lines"].strip().splitlines():
        level, key, _, *parent = text.split()
        if key not in known and key not in names:
            raise ValueError(f"{key} is neither a metric nor a bucket")
        label = known[key].label if key in known else key.replace("_", " ").capitalize()
        parents.update(parent)
        lines.append(TemplateLine(key, label, int(level), parent[0] if parent else None, False))
    marked = tuple(line._replace(is_subtotal=line.key in parents) for line in lines)
    return Statement(marked, tuple(totals), tuple(buckets))


# ---- a row

Check = Literal["consistent", "inconsistent", "unchecked"]


class FailedCheck(TypedDict):
    """Why a figure is doubted: by which check, with which other keys, and what it would be without its error. By
    ``input``: something that it is made of is doubted."""

    rule: Literal["sum", "eps_times_shares", "neighbours", "input"]
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
    """Whether a total adds up: what was reported, what the terms make, and how far apart they may be."""

    target: str
    reported: Decimal | None
    recomputed: Decimal | None
    residual: Decimal | None
    status: Check
    tolerance: Decimal | None
    operands: list[SignedKey]


class FilledBucket(TypedDict):
    """What a total leaves over beside its lines, in one row."""

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


CellOf = Callable[[str], Cell]


def fill_template(industry: str, cell_of: CellOf) -> FilledTemplate:
    """The statements of an industry with the cells of a row."""
    statements = get_templates().by_industry[industry]
    made: Any = {name: _filled(statement, cell_of) for name, statement in statements.items()}
    return made  # type: ignore[no-any-return]


def check_totals(industry: str, cell_of: CellOf) -> dict[str, Check]:
    """Which totals of a row add up, by key."""
    return {
        total.target: build_receipt(total, cell_of)["status"]
        for statement in get_templates().by_industry[industry].values()
        for total in statement.totals
    }


def _filled(statement: Statement, cell_of: CellOf) -> FilledStatement:
    receipts = [build_receipt(total, cell_of) for total in statement.totals]
    parents = {line.key: line.parent for line in statement.lines}
    parents |= _moved(statement, receipts, cell_of)
    buckets = {bucket.key: (bucket, _left_over(bucket, cell_of, parents)) for bucket in statement.buckets}
    lines: list[FilledLine] = []
    for line in statement.lines:
        cell = buckets[line.key][1] if line.key in buckets else cell_of(line.key)
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
    statuses = [one["status"] for one in receipts]
    other: list[FilledBucket] = [
        {
            "bucket": key,
            "section_total_key": bucket.total,
            "foots_to_filed_total": isinstance(cell, Figure),
            "value": find_value(cell),
            "status": "value" if isinstance(cell, Figure) else "hole",
        }
        for key, (bucket, cell) in buckets.items()
    ]
    return {"lines": lines, "subtotals": receipts, "other": other, "footing_status": find_worst_status(statuses)}


def _moved(statement: Statement, receipts: Sequence[Receipt], cell_of: CellOf) -> dict[str, str]:
    """Lines that a total adds up without, by the total further up that has them: income of affiliates is told before
    taxes or after them, and counts once."""
    left_out = {
        term.names[0]
        for total, one in zip(statement.totals, receipts, strict=True)
        for term in (total.sums[0] if one["status"] == "consistent" else ())
        if term.names[0] not in {operand["key"] for operand in one["operands"]}
    }
    every = ((term.names[0], bucket.total) for bucket in statement.buckets for term in bucket.terms)
    return {key: total for key, total in every if key in left_out and isinstance(cell_of(key), Figure)}


def find_worst_status(statuses: Collection[Check]) -> Check:
    """The status of a statement out of those of its totals: the worst that was checked."""
    worst: tuple[Check, ...] = ("inconsistent", "consistent")
    return next((status for status in worst if status in statuses), "unchecked")


def build_receipt(total: Total, cell_of: CellOf) -> Receipt:
    """The receipt of a total: by the first of its sums that adds up, else by the first that can be made.

    A total or a term that the mapping itself computed from others proves nothing; one that is the sum of printed lines
    does.
    """
    cell = cell_of(total.target)
    made: Receipt = {
        "target": total.target,
        "reported": find_value(cell),
        "recomputed": None,
        "residual": None,
        "status": "unchecked",
        "tolerance": None,
        "operands": [],
    }
    if isinstance(cell, Figure) and len(cell.concepts) == 1:
        for terms in total.sums:
            summed = _summed(terms, cell_of)
            if summed is None:
                continue
            operands, value, slack = summed
            tolerance, residual = compute_rounding(cell) + slack, cell.value - value
            close = abs(residual) <= tolerance
            if made["status"] == "unchecked" or close:
                made |= {
                    "recomputed": to_json_number(value),
                    "residual": to_json_number(residual),
                    "tolerance": to_json_number(tolerance),
                }
                made["operands"] = operands
                made["status"] = "consistent" if close else "inconsistent"
            if close:
                break
    return made


def _summed(terms: Sequence[Term], cell_of: CellOf) -> tuple[list[SignedKey], Decimal, Decimal] | None:
    """The terms of a sum that are there, what they come to, and how far that may be off; None when one is not known."""
    operands: list[SignedKey] = []
    value = slack = Decimal(0)
    for term in terms:
        cell = cell_of(term.names[0])
        if isinstance(cell, Figure) and (len(cell.concepts) == 1 or cell.derivation == metric_mapping.SUM_OF_LINES):
            operands.append({"key": term.names[0], "sign": term.sign})
            value += term.sign * cell.value
            slack += compute_rounding(cell)
        elif not (term.optional and isinstance(cell, Missing) and cell.reason in reasons.NO_SUCH_LINE):
            return None
    return operands, value, slack


def compute_rounding(figure: Figure) -> Decimal:
    """How far a figure may be from the truth by its rounding: half a unit of its last place, for each operand."""
    return sum((HALF.scaleb(-count_decimals(one.value, one.decimals)) for _, _, one in figure.operands), Decimal(0))


def count_decimals(value: str, decimals: str | None) -> int:
    """To how many decimal places a figure is exact: as the filing says, else by its trailing zeros."""
    if decimals == "INF":
        return 400
    if decimals is not None and re.fullmatch(r"[-+]?[0-9]{1,4}", decimals):
        return max(-30, min(400, int(decimals)))
    whole, _, fraction = value.partition(".")
    if fraction:
        return len(fraction)
    digits = whole.rstrip("0")
    return -min(MAX_ZEROS, len(whole) - len(digits)) if digits.strip("-") else 0


def _left_over(bucket: Bucket, cell_of: CellOf, parents: Mapping[str, str | None]) -> Cell:
    value, places = Decimal(0), [0]
    mapping = metric_mapping.get_mapping()
    for term in bucket.terms:
        if parents.get(term.names[0], bucket.total) != bucket.total and term.names[0] != bucket.total:
            continue
        cell = cell_of(term.names[0])
        if isinstance(cell, Figure):
            if mapping.is_negative_outlay(term.names[0], cell.value):
                return Missing(reasons.INPUT_MISSING)
            value += term.sign * cell.value
            places.append(cell.filing_index)
        elif not (term.optional and cell.reason in _NOTHING):
            return Missing(reasons.INPUT_MISSING)
    return Figure(value, (bucket.key,), 0, max(places), "derived", ())
