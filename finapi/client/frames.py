"""Rows as a DataFrame. Figures with a decimal point are Decimal; a missing figure is null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def to_pandas(rows: Iterable[Any]) -> Any:
    """Return rows as a ``pandas.DataFrame``."""
    import pandas

    return pandas.DataFrame([_flatten_metrics(row) for row in rows]).convert_dtypes()


def to_polars(rows: Iterable[Any]) -> Any:
    """Return rows as a ``polars.DataFrame``."""
    import polars

    # All rows are read for the types of the columns, because the first ones may have gaps.
    return polars.DataFrame([_flatten_metrics(row) for row in rows], infer_schema_length=None)


def _flatten_metrics(row: Any) -> Any:
    """Return a row whose metrics are columns. Of a metric with provenance, only the figure is returned."""
    if not isinstance(row, dict) or not isinstance(row.get("metrics"), dict):
        return row
    columns = {name: member for name, member in row.items() if name != "metrics"}
    for metric, cell in row["metrics"].items():
        columns[metric] = cell["value"] if isinstance(cell, dict) else cell
    return columns
