"""Rows as a DataFrame with exact figures: Decimal where they have a point, and nothing where one is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def to_pandas(rows: Iterable[Any]) -> Any:
    """A ``pandas.DataFrame``."""
    import pandas

    return pandas.DataFrame([_flat(row) for row in rows]).convert_dtypes()


def to_polars(rows: Iterable[Any]) -> Any:
    """A ``polars.DataFrame``."""
    import polars

    # The first rows do not tell the types of all.
    return polars.DataFrame([_flat(row) for row in rows], infer_schema_length=None)


def _flat(row: Any) -> Any:
    """A row whose metrics are columns; each has its figure, not what is told of it."""
    if not isinstance(row, dict) or not isinstance(row.get("metrics"), dict):
        return row
    found = {name: one["value"] if isinstance(one, dict) else one for name, one in row["metrics"].items()}
    return {name: value for name, value in row.items() if name != "metrics"} | found
