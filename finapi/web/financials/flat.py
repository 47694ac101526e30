"""Answers about figures as tables: a row a figure, with whose it is, its unit and its filing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.market.financials import metric_series as of_series
from finapi.web.http.route import FlatTable

_STATEMENT = (
    "ticker",
    "statement",
    "concept",
    "label",
    "depth",
    "period_type",
    "start_date",
    "end_date",
    "dims",
    "value",
    "status",
    "reason",
    "unit",
    "decimals",
    "negated",
    "accession",
    "filed_at",
)
_SEGMENT = (
    "ticker",
    "axis",
    "member",
    "fiscal_year",
    "fiscal_period",
    "start_date",
    "end_date",
    "value",
    "unit",
    "decimals",
    "concept",
    "is_extension",
    "accession",
)


def statements(answer: Mapping[str, Any]) -> FlatTable:
    """The statements of a report: a row for each line and column of a statement, without headings."""
    data, meta = answer["data"], answer["meta"]
    named = {"ticker": data["ticker"], "accession": meta["accession"], "filed_at": meta["filed_at"]}
    rows = [
        {**line, **column, **named, **(mark or {}), "statement": kind, "value": value}
        for kind, statement in data["statements"].items()
        for line in statement["rows"]
        for column, value, mark in zip(statement["columns"], line["values"], line["marks"], strict=False)
    ]
    return FlatTable(_STATEMENT, [{name: row.get(name) for name in _STATEMENT} for row in rows])


def series(answer: Mapping[str, Any]) -> FlatTable:
    """A series wide: a row for each period, a column for each metric."""
    columns, rows = of_series.build_wide_table(answer["data"])
    return FlatTable(tuple(columns), rows)


def segments(answer: Mapping[str, Any]) -> FlatTable:
    """Figures by member: a row for each member and period."""
    data = answer["data"]
    named = {"ticker": data["ticker"], "axis": data["axis"]}
    rows = [
        {**point, **named, "member": one["member"], "accession": point["accession_no"]}
        for one in data["series"]
        for point in one["points"]
    ]
    return FlatTable(_SEGMENT, [{name: row.get(name) for name in _SEGMENT} for row in rows])


def screen(answer: Mapping[str, Any]) -> FlatTable:
    """The companies that passed a screen: a row for each, with a column for each key."""
    keys = answer["meta"]["screen"]["metrics_returned"]
    rows = [
        {**{name: value for name, value in row.items() if name != "metrics"}, **row["metrics"]}
        for row in answer["data"]
    ]
    return FlatTable(("ticker", "cik", "period_end", "price_source", *keys, "holes"), rows)
