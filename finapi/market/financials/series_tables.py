"""Series as flat tables for CSV and NDJSON: one row for each figure (long) or for each period (wide)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Table = tuple[list[str], list[dict[str, Any]]]

LONG_COLUMNS = (
    *("value", "unit", "status", "reason_code", "concept", "method", "accession", "filed_at"),
    *("fact_id", "ink_url"),
)
# The additional columns for each figure of a wide table, by level of provenance.
_SUMMARY_COLUMNS = ("unit", "concept", "method", "accession")
_COLUMNS_BY_PROVENANCE = {
    "none": (),
    "summary": _SUMMARY_COLUMNS,
    "full": (*_SUMMARY_COLUMNS, "filed_at", "decimals"),
}


def build_long_table(data: Mapping[str, Any]) -> Table:
    """Return the columns and rows of a table with one row for each figure of a series, with its provenance."""
    rows = []
    columns: dict[str, None] = {}
    for series_row in data["rows"]:
        period = _select_scalars(series_row)
        for key, cell in series_row["metrics"].items():
            row = {"ticker": data["ticker"], "cik": data["cik"], **period, "metric": key}
            row.update({column: cell.get(column) for column in LONG_COLUMNS})
            rows.append(row)
            columns.update(dict.fromkeys(row))
    return list(columns), rows


def build_wide_table(data: Mapping[str, Any], provenance: str = "none") -> Table:
    """Return the columns and the rows of a table with one row for each period of a series.

    A row has the company, the period, the currency, the filings that its figures are from and the last filing date, a
    value for each key with its provenance, and the reasons of missing values (``holes``).
    """
    rows = []
    columns: dict[str, None] = {}
    for series_row in data["rows"]:
        cells = series_row["metrics"]
        filed_cells = [cell for cell in cells.values() if isinstance(cell, dict) and cell["accession"]]
        currency = series_row.get("other_unit", data["reporting_currency"])
        row = {"ticker": data["ticker"], **_select_scalars(series_row), "unit": currency}
        row["accession"] = " ".join(sorted({cell["accession"] for cell in filed_cells})) or None
        row["filed_at"] = max((cell["filed_at"] for cell in filed_cells if cell.get("filed_at")), default=None)
        holes = dict(series_row.get("holes", ()))
        for key, cell in cells.items():
            row[key] = cell["value"] if isinstance(cell, dict) else cell
            row.update({f"{key}.{column}": cell.get(column) for column in _COLUMNS_BY_PROVENANCE[provenance]})
            if isinstance(cell, dict) and cell["value"] is None:
                holes[key] = {"status": cell["status"], "reason_code": cell["reason_code"]}
        row["holes"] = holes
        columns.update(dict.fromkeys(row))
        rows.append(row)
    return list(columns), rows


def _select_scalars(series_row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in series_row.items() if not isinstance(member, dict | list)}
