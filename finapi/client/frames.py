"""Rows as a DataFrame. A figure with a decimal point is Decimal unless floats are requested; a missing one is null.

``columns.json`` has the columns of each list with their kinds: ``number``, ``day``, ``moment``, or an empty text for
any other one. The names of columns that a row may lack end in ``?``.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

# Fixed units, because the years of nanoseconds end at 1677 and 2262, and filings have wrong dates.
DTYPES_BY_KIND = {"number": "float64", "day": "datetime64[s]", "moment": "datetime64[ms, UTC]"}


def to_pandas(name: str, rows: Iterable[Any], arguments: Mapping[str, Any], *, floats: bool = False) -> Any:
    """Return the rows of a list as a ``pandas.DataFrame``.

    ``arguments`` are those of the call. An empty list has its columns too. With ``floats`` numbers are float64, days
    and times are datetime64, and texts are objects. Otherwise numbers are exact, and dtypes are those that have nulls.
    """
    import pandas

    all_rows = list(rows)
    kinds = _get_kinds(name, arguments, all_rows)
    if all_rows:
        frame = pandas.DataFrame([_flatten_metrics(row) for row in all_rows])
    else:
        frame = pandas.DataFrame(columns=[column for column in kinds if not column.endswith("?")])
    if not floats:
        return frame.convert_dtypes()
    for column in frame.columns:
        kind = kinds.get(column) or kinds.get(f"{column}?", "")
        if kind:
            frame[column] = frame[column].astype(object).astype(DTYPES_BY_KIND[kind])
    return frame


def to_polars(rows: Iterable[Any]) -> Any:
    """Return rows as a ``polars.DataFrame``."""
    import polars

    # All rows are read for the types of the columns, because the first ones may have gaps.
    return polars.DataFrame([_flatten_metrics(row) for row in rows], infer_schema_length=None)


@cache
def _load_columns() -> Mapping[str, Mapping[str, str]]:
    columns: dict[str, dict[str, str]] = json.loads(pkgutil.get_data("finapi.client", "columns.json") or b"{}")
    return columns


def _get_kinds(name: str, arguments: Mapping[str, Any], rows: Iterable[Any]) -> dict[str, str]:
    """Return the kinds of a list's columns. The metrics of the rows, or those of the call, replace ``metrics``."""
    kinds = dict(_load_columns().get(name, {}))
    if "metrics" not in kinds:
        return kinds
    del kinds["metrics"]
    requested_metrics = arguments.get("metrics") or ()
    keys = requested_metrics.split(",") if isinstance(requested_metrics, str) else requested_metrics
    kinds.update(dict.fromkeys(keys, "number"))
    for row in rows:
        kinds.update(dict.fromkeys(row["metrics"], "number"))
    return kinds


def _flatten_metrics(row: Any) -> Any:
    """Return a row whose metrics are columns. Of a metric with provenance, only the figure is returned."""
    if not isinstance(row, dict) or not isinstance(row.get("metrics"), dict):
        return row
    columns = {name: member for name, member in row.items() if name != "metrics"}
    for metric, cell in row["metrics"].items():
        columns[metric] = cell["value"] if isinstance(cell, dict) else cell
    return columns
