"""The dictionary: every key that answers can hold, with what it means and how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from finapi.market import metrics, ratios, reasons, templates
from finapi.market.metrics import Metric

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

Entry = dict[str, Any]


def entries(kind: str | None = None, statement: str | None = None, key: str | None = None) -> list[Entry]:
    """The entries that fit, in the order of their kinds and files."""
    return [
        entry
        for entry in every()
        if kind in (None, entry["kind"])
        and statement in (None, entry["statement"])
        and key in (None, entry["key"])
    ]


def source() -> str:
    """Which data the dictionary is made from, with their versions."""
    versions = (
        f"metrics {metrics.mapping().version}",
        f"ratios {ratios.catalogue().version}",
        f"templates {templates.templates().version}",
    )
    return ", ".join(versions)


@cache
def every() -> tuple[Entry, ...]:
    """The whole dictionary."""
    return (*_primitives(), *_derived(), *_ratios(), *_slots(), *_reasons())


def _primitives() -> Iterator[Entry]:
    for metric in metrics.mapping().metrics.values():
        yield _entry(
            metric.key,
            metric.label,
            "primitive",
            metric.statement,
            units=metric.units,
            aggregation=_AGGREGATION[metric.over],
            definition=metric.definition,
            formula=" ; ".join(way.text for way in metric.ways["commercial"]),
            coverage=_industries(metric),
        )


def _industries(metric: Metric) -> str:
    fitting = [industry for industry in metrics.INDUSTRIES if metric.applies_to(industry)]
    return "all industries" if len(fitting) == len(metrics.INDUSTRIES) else ", ".join(fitting)


def _derived() -> Iterator[Entry]:
    for one in metrics.mapping().derived.values():
        yield _entry(
            one.key,
            one.label,
            "derived",
            "derived",
            units="currency",
            aggregation="computed in each period",
            definition=one.definition,
            formula=one.formula,
            parameters=[name for term in one.terms for name in term.names],
        )


def _ratios() -> Iterator[Entry]:
    for ratio in ratios.catalogue().ratios.values():
        yield _entry(
            ratio.key,
            ratio.label,
            "ratio",
            "analytic",
            units=ratio.units,
            aggregation="computed in each period",
            definition=ratio.definition,
            formula=ratio.formula,
            category=ratio.category,
            parameters=list(ratio.inputs),
        )


def _slots() -> Iterator[Entry]:
    for industry, statements in templates.templates().by_industry.items():
        for name, statement in statements.items():
            for line in statement.lines:
                yield _entry(
                    f"{industry}.{name}.{line.key}",
                    line.label,
                    "template_slot",
                    _STATEMENT_OF_TEMPLATE[name],
                    units="currency",
                    aggregation="as its metric",
                    definition=f"Line {line.key} of the {name} template of {industry} companies.",
                    category=line.parent or "",
                    coverage=industry,
                )


def _reasons() -> Iterator[Entry]:
    for code, (status, label, definition) in reasons.CATALOGUE.items():
        yield _entry(code, label, "reason", "other", definition=definition, category=status)


def _entry(key: str, label: str, kind: str, statement: str, **more: Any) -> Entry:
    made: Entry = {"key": key, "label": label, "kind": kind, "statement": statement}
    for name in ("units", "aggregation", "definition", "formula", "category"):
        made[name] = more.get(name, "")
    made["parameters"] = more.get("parameters", [])
    made["coverage"] = more.get("coverage", "all industries")
    return made
