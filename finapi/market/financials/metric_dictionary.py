"""The dictionary: every key that responses may contain, with its meaning and the rules by which it is computed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, TypedDict

from finapi.core.records import OneOf
from finapi.market.financials import metric_mapping, ratios, reasons, rule_words, templates

KINDS = ("primitive", "derived", "ratio", "template_slot", "reason")
STATEMENTS = (*metric_mapping.STATEMENTS, "analytic", "derived", "other")

_STATEMENT_BY_TEMPLATE = {
    "income": "income_statement",
    "balance": "balance_sheet",
    "cashflow": "cash_flow_statement",
    "comprehensive_income": "comprehensive_income",
}
_AGGREGATION_WORDS = {
    "instant": "as of the end of the period",
    "opening": "as of the beginning of the period",
    "sum": "adds up over periods",
    "none": "never added or subtracted over periods",
}
_ALL_INDUSTRIES = "all industries"


class DictionaryEntry(TypedDict):
    """The meaning of a key. Texts are empty if they do not apply; ``rules`` say in words how a metric is found."""

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
    """Return the entries of a kind, statement and key (None matches any), by kind and position in the catalogue."""
    return [
        entry
        for entry in list_all_entries()
        if kind in (None, entry["kind"]) and statement in (None, entry["statement"]) and key in (None, entry["key"])
    ]


def describe_source() -> str:
    """Return the catalogues that the dictionary is built from, with their versions."""
    return (
        f"metrics {metric_mapping.get_mapping().version}, ratios {ratios.get_catalogue().version}, "
        f"templates {templates.get_templates().version}"
    )


@cache
def list_all_entries() -> tuple[DictionaryEntry, ...]:
    """Return the complete dictionary."""
    return (*_iter_primitives(), *_iter_derived(), *_iter_ratios(), *_iter_template_slots(), *_iter_reasons())


def _build_entry(
    key: str,
    label: str,
    *,
    kind: str,
    statement: str,
    definition: str,
    units: str = "",
    aggregation: str = "",
    formula: str = "",
    category: str = "",
    parameters: list[str] | None = None,
    coverage: str = _ALL_INDUSTRIES,
    rules: list[str] | None = None,
) -> DictionaryEntry:
    return {
        "key": key,
        "label": label,
        "kind": kind,
        "statement": statement,
        "units": units,
        "aggregation": aggregation,
        "definition": definition,
        "formula": formula,
        "category": category,
        "parameters": parameters or [],
        "coverage": coverage,
        "rules": rules or [],
    }


def _iter_primitives() -> Iterator[DictionaryEntry]:
    for metric in metric_mapping.get_mapping().metrics.values():
        industries = [industry for industry in metric_mapping.INDUSTRIES if metric.has_industry(industry)]
        has_all_industries = len(industries) == len(metric_mapping.INDUSTRIES)
        yield _build_entry(
            metric.key,
            metric.label,
            kind="primitive",
            statement=metric.statement,
            definition=metric.definition,
            units=metric.units,
            aggregation=_AGGREGATION_WORDS[metric.aggregation],
            formula=" ; ".join(rule.text for rule in metric.rules["commercial"]),
            coverage=_ALL_INDUSTRIES if has_all_industries else ", ".join(industries),
            rules=rule_words.describe_rules(metric),
        )


def _iter_derived() -> Iterator[DictionaryEntry]:
    for derived in metric_mapping.get_mapping().derived.values():
        yield _build_entry(
            derived.key,
            derived.label,
            kind="derived",
            statement="derived",
            definition=derived.definition,
            units="currency",
            aggregation="computed in each period",
            formula=derived.formula,
            parameters=[name for term in derived.terms for name in term.names],
        )


def _iter_ratios() -> Iterator[DictionaryEntry]:
    for ratio in ratios.get_catalogue().ratios.values():
        yield _build_entry(
            ratio.key,
            ratio.label,
            kind="ratio",
            statement="analytic",
            definition=ratio.definition,
            units=ratio.units,
            aggregation="computed in each period",
            formula=ratio.formula,
            category=ratio.category,
            parameters=list(ratio.inputs),
        )


def _iter_template_slots() -> Iterator[DictionaryEntry]:
    for industry, statements in templates.get_templates().by_industry.items():
        for template_name, statement in statements.items():
            for line in statement.lines:
                yield _build_entry(
                    f"{industry}.{template_name}.{line.key}",
                    line.label,
                    kind="template_slot",
                    statement=_STATEMENT_BY_TEMPLATE[template_name],
                    definition=f"Line {line.key} of the {template_name} template of {industry} companies.",
                    units="currency",
                    aggregation="as its metric",
                    category=line.parent or "",
                    coverage=industry,
                )


def _iter_reasons() -> Iterator[DictionaryEntry]:
    for code, reason in reasons.CATALOGUE.items():
        yield _build_entry(
            code,
            reason.label,
            kind="reason",
            statement="other",
            definition=reason.definition,
            category=reason.status,
        )
