"""Rows as CSV (RFC 4180) and as NDJSON, for callers that want a table and not a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.web.http import dumps

CSV = "text/csv"
NDJSON = "application/x-ndjson"
TABLES = (CSV, NDJSON)


def csv_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The rows under a header line, also when there are none.

    null is an empty cell, true and false stay words, a list or an object is its JSON. Texts stand exactly as
    they are: what a spreadsheet makes of a name that begins with "=" is the spreadsheet's.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return out.getvalue().encode()


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A JSON object a line."""
    return b"".join(dumps(row) + b"\n" for row in rows)


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict | Decimal | float):
        return dumps(value).decode()
    return value
