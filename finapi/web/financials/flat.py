"""Figures as flat tables for CSV and NDJSON: one row for each figure, with its company, unit and filing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.market.financials import series_tables
from finapi.market.statements import filed_statements
from finapi.web.http.route import FlatTable

_STATEMENT_COLUMNS = (
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
    "form_type",
    "filed_at",
    "fact_id",
    "ink_url",
    "page_url",
)
_CONFLICT_MARK = {"status": "conflicting", "reason": "conflicting_values"}
_SEGMENT_COLUMNS = (
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
    "member_label",
)


def build_statements_table(answer: Mapping[str, Any]) -> FlatTable:
    """Return the statements of a report, one row for each line and column of a statement, without headings."""
    data = answer["data"]
    rows = []
    for kind, statement in data["statements"].items():
        filing = {name: statement[name] for name in ("accession", "form_type", "filed_at")}
        for line_number, line in enumerate(statement["rows"], 1):
            # A heading has no values, and an example of the documentation has fewer columns than values.
            lists = (statement["columns"], line["values"], line["marks"], line["fact_ids"], line["ink_urls"])
            conflicting_values = line.get("conflicting_values") or [None] * len(line["values"])
            cells = enumerate(zip(*lists, conflicting_values, strict=False), 1)
            for column_number, (column, value, mark, fact_id, ink_url, other_values) in cells:
                members = {**line, **column, **filing}
                members["ticker"] = data["ticker"]
                members.update(mark or (_CONFLICT_MARK if other_values else {}))
                members["statement"] = kind
                members["value"] = value
                members["fact_id"] = fact_id
                members["ink_url"] = ink_url
                members["page_url"] = None
                if value is not None:
                    page_url = statement.get("page_url")
                    members["page_url"] = filed_statements.find_cell_url(page_url, line_number, column_number)
                rows.append({name: members.get(name) for name in _STATEMENT_COLUMNS})
    return FlatTable(_STATEMENT_COLUMNS, rows)


def build_series_table(answer: Mapping[str, Any]) -> FlatTable:
    """Return a series as a wide table, one row for each period and one column for each metric."""
    columns, rows = series_tables.build_wide_table(answer["data"])
    return FlatTable(tuple(columns), rows)


def build_segments_table(answer: Mapping[str, Any]) -> FlatTable:
    """Return figures by member, one row for each member and period."""
    data = answer["data"]
    rows = []
    for member in data["series"]:
        for point in member["points"]:
            members = {**point, "accession": point["accession_no"]}
            members["ticker"] = data["ticker"]
            members["axis"] = data["axis"]
            members["member"] = member["member"]
            members["member_label"] = member["label"]
            rows.append({name: members.get(name) for name in _SEGMENT_COLUMNS})
    return FlatTable(_SEGMENT_COLUMNS, rows)


def build_screen_table(answer: Mapping[str, Any]) -> FlatTable:
    """Return the companies that passed a screen, one row for each company and one column for each key."""
    keys = answer["meta"]["screen"]["metrics_returned"]
    rows = []
    for company in answer["data"]:
        row = {name: member for name, member in company.items() if name != "metrics"}
        row.update(company["metrics"])
        rows.append(row)
    return FlatTable(("ticker", "cik", "period_end", "known_on", "price_source", *keys, "holes"), rows)
