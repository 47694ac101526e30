"""Ratios as data (``ratios.toml``), and their values in a row: a number, or why there is none."""

from __future__ import annotations

import ast
import operator
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from typing import Any

from finapi.core.files import get_package_folder
from finapi.market.financials import reasons

# Digits of a quotient, and of an amount after its point: a market value of billions keeps its cents.
DIGITS, CENTS = 12, 2

# The functions of formulas, which are methods of ``rows.RowView``, with the keys that they read beside their argument.
FUNCTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("year", "avg", "growth", "growth_quarter", "growth_sequential", "price"), ()),
    "shares": ("shares_outstanding",),
    "burn": ("free_cashflow",),
    "owners_equity": ("total_equity", "minority_interest"),
}


class NoValue(Exception):
    """A ratio has no value; ``reason`` is a code of the catalogue."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# What a formula is made into: a function of a ``rows.RowView``, which raises NoValue.
Compute = Callable[[Any], Decimal]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of the catalogue. ``inputs`` are the metrics, derived figures and ratios that it is made of."""

    key: str
    label: str
    category: str
    units: str
    formula: str
    definition: str
    inputs: tuple[str, ...]
    compute: Compute


@dataclass(frozen=True, slots=True)
class RatioCatalogue:
    """All ratios by key, in the order of the file."""

    version: int
    ratios: dict[str, Ratio]


@cache
def get_catalogue() -> RatioCatalogue:
    """The ratios in force."""
    return parse(get_package_folder("finapi.market.financials").joinpath("ratios.toml").read_text(encoding="utf-8"))


def parse(text: str) -> RatioCatalogue:
    """A catalogue out of its TOML; SyntaxError or ValueError for a formula that is none."""
    raw = tomllib.loads(text)
    made = {}
    for key, entry in raw["ratio"].items():
        formula = entry["formula"]
        # Formulas are spelt as expressions of Python, which are read and never run.
        tree = ast.parse(formula, mode="eval").body
        made[key] = Ratio(
            key=key,
            label=entry["label"],
            category=entry["category"],
            units=entry.get("units", "ratio"),
            formula=formula,
            definition=entry.get("definition") or f"{entry['label']}: {formula}.",
            inputs=tuple(dict.fromkeys(_inputs(tree))),
            compute=_compiled(tree),
        )
    return RatioCatalogue(raw["version"], made)


def _inputs(node: ast.AST) -> Iterator[str]:
    """The keys that a formula reads, in its order."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Call):
        yield from FUNCTIONS[ast.unparse(node.func)]
    for child in node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        yield from _inputs(child)


def _compiled(node: ast.expr) -> Compute:
    """A formula as a function of a row: closures, made once."""
    match node:
        case ast.Constant(value=int(number)):
            constant = Decimal(number)
            return lambda row: constant
        case ast.Name(id=name):
            return lambda row: row.value(name)
        case ast.Call(func=ast.Name(id=function), args=arguments) if function in FUNCTIONS:
            keys = [ast.unparse(one) for one in arguments]
            return lambda row: getattr(row, function)(*keys)
        case ast.List(elts=[inner]):
            optional = _compiled(inner)
            return lambda row: row.or_nothing(optional)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            join, first, second = _OPERATORS[type(sign)], _compiled(left), _compiled(right)
            return lambda row: join(first(row), second(row))
    raise ValueError(f"{ast.unparse(node)!r} is not a formula")


def divide(left: Decimal, right: Decimal) -> Decimal:
    """``left / right``; NoValue where that is meaningless."""
    if right == 0:
        raise NoValue(reasons.ZERO_DENOMINATOR)
    if right < 0:
        raise NoValue(reasons.NEGATIVE_DENOMINATOR)
    return left / right


_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: divide,
}


def round_ratio(value: Decimal) -> Decimal:
    """A quotient with as many digits as are worth printing; of a large amount all up to its cents."""
    return Context(prec=max(DIGITS, value.adjusted() + 1 + CENTS)).plus(value)
