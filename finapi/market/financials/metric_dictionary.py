"""The dictionary: every key that answers can hold, with what it means and how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, TypedDict

from finapi.core.records import OneOf
from finapi.market.financials import metric_mapping, ratios, reasons, rule_words, templates

KINDS = ("primitive", "derived", "ratio", "template_slot", "reason")
STATEMENTS = (*metric_mapping.STATEMENTS, "analytic", "derived", "other")

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


def list_entries(
    kind: str | None = None, statement: str | None = None, key: str | None = None
) -> list[DictionaryEntry]:
    """The entries that fit, in the order of their kinds and files."""
    return [
        entry
        for entry in list_all_entries()
        if kind in (None, entry["kind"]) and statement in (None, entry["statement"]) and key in (None, entry["key"])
    ]


def describe_source() -> str:
    """Which data the dictionary is made from, with their versions."""
    files = metric_mapping.get_mapping().version, ratios.get_catalogue().version, templates.get_templates().version
    return "metrics {}, ratios {}, templates {}".format(*files)


@cache
def list_all_entries() -> tuple[DictionaryEntry, ...]:
    """The whole dictionary."""
    return (*_primitives(), *_derived(), *_ratios(), *_slots(), *_reasons())


def _entry(key: str, label: str, kind: str, statement: str, definition: str, **more: str) -> DictionaryEntry:
    made: Any = dict.fromkeys(DictionaryEntry.__annotations__, "")
    made |= {"key": key, "label": label, "kind": kind, "statement": statement, "definition": definition}
    made |= {"parameters": [], "coverage": "all industries", "rules": []} | more
    return made  # type: ignore[no-any-return]


def _primitives() -> Iterator[DictionaryEntry]:
    for one in metric_mapping.get_mapping().metrics.values():
        fitting = [industry for industry in metric_mapping.INDUSTRIES if one.has_industry(industry)]
        all_of_them = len(fitting) == len(metric_mapping.INDUSTRIES)
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
        yield {**entry, "rules": rule_words.describe_rules(one)}


def _derived() -> Iterator[DictionaryEntry]:
    for one in metric_mapping.get_mapping().derived.values():
        entry = _entry(one.key, one.label, "derived", "derived", one.definition, units="currency", formula=one.formula)
        parameters = [name for term in one.terms for name in term.names]
        yield {**entry, "aggregation": "computed in each period", "parameters": parameters}


def _ratios() -> Iterator[DictionaryEntry]:
    for one in ratios.get_catalogue().ratios.values():
        entry = _entry(one.key, one.label, "ratio", "analytic", one.definition, units=one.units, formula=one.formula)
        aggregation, parameters = "computed in each period", list(one.inputs)
        yield {**entry, "aggregation": aggregation, "category": one.category, "parameters": parameters}


def _slots() -> Iterator[DictionaryEntry]:
    for industry, statements in templates.get_templates().by_industry.items():
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
