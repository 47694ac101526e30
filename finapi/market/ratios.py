"""Ratios as data (``ratios.toml``), and their values in a row: a number, or why there is none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from importlib import resources
from typing import Protocol

from finapi.market import reasons

# A formula as a tree: ("number", Decimal), ("name", key), ("optional", tree), ("call", function, tree | None),
# ("+", left, right) and so on.
Tree = tuple[object, ...]

# Digits of a quotient, and of an amount after its point: a market value of billions keeps its cents.
DIGITS, CENTS = 12, 2

_TOKEN = re.compile(r"\s*([a-z_0-9.]+|[-+*/()\[\]])")
FUNCTIONS = (
    "year",
    "avg",
    "growth",
    "growth_quarter",
    "growth_sequential",
    "price",
    "shares",
    "burn",
    "owners_equity",
)


class Missing(Exception):
    """A ratio has no value; ``reason`` is a code of the catalogue."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Figures(Protocol):
    """What a formula asks of the row that it is worked out for; each raises :class:`Missing`."""

    def value(self, key: str) -> Decimal:
        """A metric, derived figure or ratio of the row."""

    def year(self, key: str) -> Decimal:
        """The figure of a year that ends with the row."""

    def average(self, key: str) -> Decimal:
        """The mean of a balance at the end of the row and a year before."""

    def growth(self, key: str, kind: str) -> Decimal:
        """Growth against the period that ``kind`` says."""

    def price(self) -> Decimal:
        """The price of a share at the end of the row."""

    def shares(self) -> Decimal:
        """The shares outstanding at the end of the row, as first told."""

    def owners_only(self) -> bool:
        """Whether the total of equity is without noncontrolling interests."""


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
    worked_out: Callable[[Figures], Decimal]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All ratios by key, in the order of the file."""

    version: int
    ratios: dict[str, Ratio]


@cache
def catalogue() -> Catalogue:
    """The ratios in force."""
    return parse(resources.files("finapi.market").joinpath("ratios.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Catalogue:
    """A catalogue out of its TOML; ValueError for a formula that is none."""
    raw = tomllib.loads(text)
    made = {}
    for key, entry in raw["ratio"].items():
        tree = _parsed(entry["formula"])
        made[key] = Ratio(
            key=key,
            label=entry["label"],
            category=entry["category"],
            units=entry.get("units", "ratio"),
            formula=entry["formula"],
            definition=entry.get("definition") or f"{entry['label']}: {entry['formula']}.",
            inputs=tuple(dict.fromkeys(_names(tree))),
            worked_out=_compiled(tree),
        )
    return Catalogue(raw["version"], made)


# ---- formulas


def _parsed(formula: str) -> Tree:
    tokens = _TOKEN.findall(formula)
    if "".join(tokens) != formula.replace(" ", ""):
        raise ValueError(f"{formula!r} is no formula")
    tree, rest = _sum(tokens)
    if rest:
        raise ValueError(f"{formula!r} goes on after its end")
    return tree


def _sum(tokens: list[str]) -> tuple[Tree, list[str]]:
    left, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = tokens[0]
        right, tokens = _product(tokens[1:])
        left = (sign, left, right)
    return left, tokens


def _product(tokens: list[str]) -> tuple[Tree, list[str]]:
    left, tokens = _operand(tokens)
    while tokens and tokens[0] in "*/":
        sign = tokens[0]
        right, tokens = _operand(tokens[1:])
        left = (sign, left, right)
    return left, tokens


def _operand(tokens: list[str]) -> tuple[Tree, list[str]]:
    if not tokens:
        raise ValueError("a formula ends too early")
    first, rest = tokens[0], tokens[1:]
    if first in ("(", "["):
        inner, rest = _sum(rest)
        if not rest or rest[0] != (")" if first == "(" else "]"):
            raise ValueError("a formula leaves a bracket open")
        return (("optional", inner) if first == "[" else inner), rest[1:]
    if first[0].isdigit():
        return ("number", Decimal(first)), rest
    if rest[:1] == ["("]:
        if first not in FUNCTIONS:
            raise ValueError(f"{first} is no function")
        name = None if rest[1] == ")" else rest[1]
        return ("call", first, name), rest[2 if name is None else 3 :]
    return ("name", first), rest


def _names(tree: Tree) -> Iterator[str]:
    if tree[0] == "name" or (tree[0] == "call" and tree[2]):
        yield str(tree[-1])
    elif tree[0] == "call" and tree[1] in ("burn", "shares"):
        yield "free_cashflow" if tree[1] == "burn" else "shares_outstanding"
    elif tree[0] == "call" and tree[1] == "owners_equity":
        yield from ("total_equity", "minority_interest")
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from _names(part)


def _compiled(tree: Tree) -> Callable[[Figures], Decimal]:
    """A formula as a function of a row: closures, made once."""
    kind = tree[0]
    if kind == "number":
        number = tree[1]
        assert isinstance(number, Decimal)
        return lambda row: number
    if kind == "name":
        name = str(tree[1])
        return lambda row: row.value(name)
    if kind == "call":
        return _called(str(tree[1]), str(tree[2]))
    if kind == "optional":
        assert isinstance(tree[1], tuple)
        return _or_nothing(_compiled(tree[1]))
    left, right = tree[1], tree[2]
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    return _joined(str(kind), _compiled(left), _compiled(right))


def _called(function: str, name: str) -> Callable[[Figures], Decimal]:
    if function == "year":
        return lambda row: row.year(name)
    if function == "avg":
        return lambda row: row.average(name)
    if function == "price":
        return lambda row: row.price()
    if function == "shares":
        return lambda row: row.shares()
    if function in ("burn", "owners_equity"):
        return _burn if function == "burn" else _owners_equity
    return lambda row: row.growth(name, function)


def _burn(row: Figures) -> Decimal:
    flow = row.year("free_cashflow")
    if flow >= 0:
        raise Missing(reasons.NO_BURN)
    return -flow / 12


def _owners_equity(row: Figures) -> Decimal:
    total = row.value("total_equity")
    return total if row.owners_only() else total - _minority(row)


def _or_nothing(inner: Callable[[Figures], Decimal]) -> Callable[[Figures], Decimal]:
    def found(row: Figures) -> Decimal:
        try:
            return inner(row)
        except Missing as missing:
            # Only a line that the company does not have counts as nothing; one that cannot be told does not.
            if missing.reason in (reasons.NOT_REPORTED, reasons.NOT_APPLICABLE):
                return Decimal(0)
            raise

    return found


_minority = _or_nothing(lambda row: row.value("minority_interest"))


def _joined(
    sign: str, left: Callable[[Figures], Decimal], right: Callable[[Figures], Decimal]
) -> Callable[[Figures], Decimal]:
    if sign == "+":
        return lambda row: left(row) + right(row)
    if sign == "-":
        return lambda row: left(row) - right(row)
    if sign == "*":
        return lambda row: left(row) * right(row)
    return lambda row: quotient(left(row), right(row))


def quotient(left: Decimal, right: Decimal) -> Decimal:
    """``left / right``; Missing where that means nothing."""
    if right == 0:
        raise Missing(reasons.ZERO_DENOMINATOR)
    if right < 0:
        raise Missing(reasons.NEGATIVE_DENOMINATOR)
    return left / right


def rounded(value: Decimal) -> Decimal:
    """A quotient with as many digits as are worth printing; of a large amount all up to its cents."""
    return Context(prec=max(DIGITS, value.adjusted() + 1 + CENTS)).plus(value)
