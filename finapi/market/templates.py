"""Statements arranged by template (``templates.toml``), with receipts that show whether their totals add up."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from finapi.market import metrics, reasons
from finapi.market.cells import Cell, Figure, Hole
from finapi.market.metrics import Term

STATEMENTS = ("income", "balance", "cashflow", "comprehensive_income")

# Where a source does not tell the precision of a figure (companyfacts), its trailing zeros do, up to millions.
MOST_ZEROS = 6

# Why a line of a total takes nothing of it. One that is there and cannot be told takes what is not known.
_NOTHING = (reasons.NOT_REPORTED, reasons.NOT_APPLICABLE, reasons.REPORTED_NIL)

HALF = Decimal("0.5")


class Line(NamedTuple):
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

    lines: tuple[Line, ...]
    totals: tuple[Total, ...]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Templates:
    """The statements of every industry, by industry and name."""

    version: int
    by_industry: dict[str, dict[str, Statement]]


@cache
def templates() -> Templates:
    """The templates in force."""
    return parse(resources.files("finapi.market").joinpath("templates.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Templates:
    """Templates out of their TOML; ValueError for a key that is no metric or bucket."""
    raw = tomllib.loads(text)
    every = {name: _statement(entry) for name, entry in raw["every"].items()}
    made = {
        industry: {**{name: _statement(entry) for name, entry in raw[industry].items()}, **every}
        for industry in metrics.INDUSTRIES
    }
    return Templates(raw["version"], made)


def _statement(entry: Mapping[str, str]) -> Statement:
    known = metrics.mapping().metrics
    buckets = [_bucket(line) for line in entry["other"].strip().splitlines()]
    totals = [_total(line) for line in entry["totals"].strip().splitlines()]
    names = {bucket.key for bucket in buckets}
    parents: set[str] = set()
    lines = []
    for text in entry["lines"].strip().splitlines():
        level, key, _, *parent = text.split()
        if key not in known and key not in names:
            raise ValueError(f"{key} is neither a metric nor a bucket")
        label = known[key].label if key in known else key.replace("_", " ").capitalize()
        parents.update(parent)
        lines.append(Line(key, label, int(level), parent[0] if parent else None, False))
    marked = tuple(line._replace(is_subtotal=line.key in parents) for line in lines)
    return Statement(marked, tuple(totals), tuple(buckets))


def _bucket(line: str) -> Bucket:
    named, _, formula = line.partition(" = ")
    key, _, total = named.split()
    return Bucket(key, total, metrics.terms(formula))


def _total(line: str) -> Total:
    target, _, sums = line.partition(" = ")
    return Total(target, tuple(metrics.terms(one) for one in sums.split(" or ")))


# ---- a row


def arranged(
    statement: Statement, cell_of: Callable[[str], Cell], number: Callable[[Decimal], Any]
) -> dict[str, Any]:
    """A statement of a row as CONTRACT 7 shapes it. ``number`` makes a JSON number of a value."""
    buckets = {bucket.key: (bucket, _left_over(bucket, cell_of)) for bucket in statement.buckets}
    lines = []
    for line in statement.lines:
        cell = buckets[line.key][1] if line.key in buckets else cell_of(line.key)
        told = isinstance(cell, Figure)
        lines.append(
            {
                "key": line.key,
                "label": line.label,
                "status": "value" if told else cell.status if isinstance(cell, Hole) else "hole",
                "value": number(cell.value) if isinstance(cell, Figure) else None,
                "level": line.level,
                "parent": line.parent,
                "is_subtotal": line.is_subtotal,
            }
        )
    receipts = [receipt(total, cell_of) for total in statement.totals]
    return {
        "lines": lines,
        "subtotals": [_shown(one, number) for one in receipts],
        "other": [
            {
                "bucket": key,
                "section_total_key": bucket.total,
                "foots_to_filed_total": isinstance(cell, Figure),
                "value": number(cell.value) if isinstance(cell, Figure) else None,
                "status": "value" if isinstance(cell, Figure) else "hole",
            }
            for key, (bucket, cell) in buckets.items()
        ],
        "footing_status": footing([one.status for one in receipts]),
    }


class Receipt(NamedTuple):
    """Whether a total adds up: what was reported, what the terms make, and how far apart they may be."""

    target: str
    status: str
    reported: Decimal | None
    recomputed: Decimal | None
    tolerance: Decimal | None
    operands: tuple[tuple[str, int], ...]


def receipt(total: Total, cell_of: Callable[[str], Cell]) -> Receipt:
    """The receipt of a total: by the first of its sums that adds up, else by the first that can be made.

    A total or a term that the mapping itself worked out from others proves nothing.
    """
    cell = cell_of(total.target)
    if not isinstance(cell, Figure):
        return Receipt(total.target, "unchecked", None, None, None, ())
    if len(cell.line) > 1:
        return Receipt(total.target, "unchecked", cell.value, None, None, ())
    found: Receipt | None = None
    for terms in total.sums:
        made = _checked(total.target, cell, terms, cell_of)
        if made is not None and (found is None or made.status == "consistent"):
            found = made
            if made.status == "consistent":
                break
    return found or Receipt(total.target, "unchecked", cell.value, None, None, ())


def _checked(
    target: str, total: Figure, terms: Sequence[Term], cell_of: Callable[[str], Cell]
) -> Receipt | None:
    operands: list[tuple[str, int]] = []
    value, tolerance = Decimal(0), _slack(total)
    for term in terms:
        cell = cell_of(term.names[0])
        if not isinstance(cell, Figure) or len(cell.line) > 1:
            silent = isinstance(cell, Hole) and cell.reason in (reasons.NOT_REPORTED, reasons.NOT_APPLICABLE)
            if term.optional and silent:
                continue
            return None
        operands.append((term.names[0], term.sign))
        value += term.sign * cell.value
        tolerance += _slack(cell)
    close = abs(total.value - value) <= tolerance
    status = "consistent" if close else "inconsistent"
    return Receipt(target, status, total.value, value, tolerance, tuple(operands))


def _slack(figure: Figure) -> Decimal:
    """How far a figure may be from the truth by its rounding: half a unit of its last place, for each operand."""
    return sum(
        (HALF.scaleb(-precision(entry.value, entry.decimals)) for _, _, entry in figure.operands), Decimal(0)
    )


def precision(value: str, decimals: str | None) -> int:
    """To how many decimal places a figure is exact: as the filing says, else by its trailing zeros."""
    if decimals == "INF":
        return 400
    if decimals is not None and re.fullmatch(r"[-+]?[0-9]{1,4}", decimals):
        return max(-30, min(400, int(decimals)))
    whole, _, fraction = value.partition(".")
    if fraction:
        return len(fraction)
    digits = whole.rstrip("0")
    return -min(MOST_ZEROS, len(whole) - len(digits)) if digits.strip("-") else 0


def _left_over(bucket: Bucket, cell_of: Callable[[str], Cell]) -> Cell:
    value, places = Decimal(0), [0]
    known = metrics.mapping().metrics
    for term in bucket.terms:
        cell = cell_of(term.names[0])
        if isinstance(cell, Figure):
            if known[term.names[0]].wrong_way(cell.value):
                return Hole(reasons.INPUT_MISSING)
            value += term.sign * cell.value
            places.append(cell.place)
        elif not term.optional or cell.reason not in _NOTHING:
            return Hole(reasons.INPUT_MISSING)
    return Figure(value, (bucket.key,), 0, max(places), "derived", ())


def _shown(one: Receipt, number: Callable[[Decimal], Any]) -> dict[str, Any]:
    def shown(value: Decimal | None) -> Any:
        return None if value is None else number(value)

    residual = None if one.reported is None or one.recomputed is None else one.reported - one.recomputed
    return {
        "target": one.target,
        "reported": shown(one.reported),
        "recomputed": shown(one.recomputed),
        "residual": shown(residual),
        "status": one.status,
        "tolerance": shown(one.tolerance),
        "operands": [{"key": key, "sign": sign} for key, sign in one.operands],
    }


def footing(statuses: Sequence[str]) -> str:
    """The status of a statement out of those of its totals: the worst that was checked."""
    for status in ("inconsistent", "consistent"):
        if status in statuses:
            return status
    return "unchecked"
