"""The catalogue of ratios (``ratios.toml``) and its formulas.

A formula is written in the syntax of Python expressions: ``net_income / avg(total_equity)``, where
``[minority_interest]`` is a term that counts as zero if the company has no such line. It is parsed once and compiled
into nested functions of a row. It is never executed as Python code. Evaluating a formula returns a value or raises
NoValue with a reason code.
"""

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

# The significant digits of a quotient, and the decimal places of an amount (a market value of billions keeps its
# cents).
SIGNIFICANT_DIGITS, CENT_PLACES = 12, 2

# The functions that formulas may call, and the keys that each reads in addition to its argument. They are methods of
# ``series_rows.RowView``.
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "year": (),
    "avg": (),
    "growth": (),
    "growth_quarter": (),
    "growth_sequential": (),
    "price": (),
    "shares": ("shares_outstanding",),
    "burn": ("free_cashflow",),
    "owners_equity": ("total_equity", "minority_interest"),
}


class NoValue(Exception):
    """A ratio has no value. ``reason`` is a code of ``reasons.CATALOGUE``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# A compiled formula: a function of a ``series_rows.RowView``, which raises NoValue.
Compute = Callable[[Any], Decimal]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of the catalogue. ``inputs`` are the metrics, derived figures and ratios that its formula reads."""

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
    """Return the current catalogue."""
    return parse(get_package_folder("finapi.market.financials").joinpath("ratios.toml").read_text(encoding="utf-8"))


def parse(text: str) -> RatioCatalogue:
    """Return the catalogue of a TOML document. Raise SyntaxError or ValueError for an invalid formula."""
    raw = tomllib.loads(text)
    catalogue = {}
    for key, entry in raw["ratio"].items():
        formula = entry["formula"]
        tree = ast.parse(formula, mode="eval").body
        catalogue[key] = Ratio(
            key=key,
            label=entry["label"],
            category=entry["category"],
            units=entry.get("units", "ratio"),
            formula=formula,
            definition=entry.get("definition") or f"{entry['label']}: {formula}.",
            inputs=tuple(dict.fromkeys(_iter_inputs(tree))),
            compute=_compile(tree),
        )
    return RatioCatalogue(raw["version"], catalogue)


def _iter_inputs(node: ast.AST) -> Iterator[str]:
    """Yield the keys that a formula reads, in order."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Call):
        yield from FUNCTIONS[ast.unparse(node.func)]
    for child in node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        yield from _iter_inputs(child)


def _compile(node: ast.expr) -> Compute:
    """Return a formula as a function of a row. Raise ValueError for any syntax that formulas must not contain."""
    match node:
        case ast.Constant(value=int(number)):
            constant = Decimal(number)
            return lambda row: constant
        case ast.Name(id=key):
            return lambda row: row.value(key)
        case ast.Call(func=ast.Name(id=function), args=arguments) if function in FUNCTIONS:
            keys = [ast.unparse(argument) for argument in arguments]
            return lambda row: getattr(row, function)(*keys)
        case ast.List(elts=[inner]):
            optional = _compile(inner)
            return lambda row: row.value_or_zero(optional)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            combine = _OPERATORS[type(sign)]
            compute_left = _compile(left)
            compute_right = _compile(right)
            return lambda row: combine(compute_left(row), compute_right(row))
    raise ValueError(f"{ast.unparse(node)!r} is not a formula")


def divide(left: Decimal, right: Decimal) -> Decimal:
    """Return ``left / right``. Raise NoValue if the denominator is zero or negative."""
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
    """Return a number rounded to 12 significant digits, or to cents if that keeps more digits."""
    return Context(prec=max(SIGNIFICANT_DIGITS, value.adjusted() + 1 + CENT_PLACES)).plus(value)
