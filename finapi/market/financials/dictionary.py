"""The dictionary: every key that answers can hold, with what it means and how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, TypedDict

from finapi.core.records import OneOf
from finapi.market.financials import metrics, ratios, reasons, rule_words, templates

KINDS = ("primitive", "derived", "ratio", "template_slot", "reason")
STATEMENTS = (*metrics.STATEMENTS, "analytic", "derived", "other")

_STATEMENT_OF_TEMPLATE = {
    "income": "income_statement",
    "balance": "balance_sheet",
    "cashflow": "cash_flow_statement",
    "comprehensive_income": "comprehensive_income",
}
_AGGREGATION = {
    "instant": "as of the end of the period",
    "opening": "as of the beginning of the period",
    "sum": "adds up over periods",
    "none": "never added or subtracted over periods",
}


class DictionaryEntry(TypedDict):
    """What a key means; texts are empty where there is nothing to say. ``rules`` say in words how it is found."""

    key: str
    label: str
    kind: Annotated[str, OneOf(KINDS)]
    statement: Annotated[str, OneOf(STATEMENTS)]
    units: str
    aggregation: str
    definition: str
    formula: str
    category: str
    parameters: list[str]
    coverage: str
    rules: list[str]


def entries(kind: str | None = None, statement: str | None = None, key: str | None = None) -> list[DictionaryEntry]:
    """The entries that fit, in the order of their kinds and files."""
    return [
        entry
        for entry in every()
        if kind in (None, entry["kind"]) and statement in (None, entry["statement"]) and key in (None, entry["key"])
    ]


def source() -> str:
    """Which data the dictionary is made from, with their versions."""
    files = metrics.mapping().version, ratios.catalogue().version, templates.templates().version
    return "metrics {}, ratios {}, templates {}".format(*files)


@cache
def every() -> tuple[DictionaryEntry, ...]:
    """The whole dictionary."""
    return (*_primitives(), *_derived(), *_ratios(), *_slots(), *_reasons())


def _entry(key: str, label: str, kind: str, statement: str, definition: str, **more: str) -> DictionaryEntry:
    made: Any = dict.fromkeys(DictionaryEntry.__annotations__, "")
    made |= {"key": key, "label": label, "kind": kind, "statement": statement, "definition": definition}
    made |= {"parameters": [], "coverage": "all industries", "rules": []} | more
    return made  # type: ignore[no-any-return]


def _primitives() -> Iterator[DictionaryEntry]:
    for one in metrics.mapping().metrics.values():
        fitting = [industry for industry in metrics.INDUSTRIES if one.applies_to(industry)]
        all_of_them = len(fitting) == len(metrics.INDUSTRIES)
        entry = _entry(
            one.key,
            one.label,
            "primitive",
            one.statement,
            one.definition,
            units=one.units,
            aggregation=_AGGREGATION[one.over],
            formula=" ; ".join(rule.text for rule in one.rules["commercial"]),
            coverage="all industries" if all_of_them else ", ".join(fitting),
        )
        yield {**entry, "rules": rule_words.of(one)}


def _derived() -> Iterator[DictionaryEntry]:
    for one in metrics.mapping().derived.values():
        entry = _entry(one.key, one.label, "derived", "derived", one.definition, units="currency", formula=one.formula)
        parameters = [name for term in one.terms for name in term.names]
        yield {**entry, "aggregation": "computed in each period", "parameters": parameters}


def _ratios() -> Iterator[DictionaryEntry]:
    for one in ratios.catalogue().ratios.values():
        entry = _entry(one.key, one.label, "ratio", "analytic", one.definition, units=one.units, formula=one.formula)
        aggregation, parameters = "computed in each period", list(one.inputs)
        yield {**entry, "aggregation": aggregation, "category": one.category, "parameters": parameters}


def _slots() -> Iterator[DictionaryEntry]:
    for industry, statements in templates.templates().by_industry.items():
        for name, statement in statements.items():
            for line in statement.lines:
                yield _entry(
                    f"{industry}.{name}.{line.key}",
                    line.label,
                    "template_slot",
                    _STATEMENT_OF_TEMPLATE[name],
                    f"Line {line.key} of the {name} template of {industry} companies.",
                    units="currency",
                    aggregation="as its metric",
                    category=line.parent or "",
                    coverage=industry,
                )


def _reasons() -> Iterator[DictionaryEntry]:
    for code, one in reasons.CATALOGUE.items():
        yield _entry(code, one.label, "reason", "other", one.definition, category=one.status)
