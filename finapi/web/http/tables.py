"""Rows as CSV (RFC 4180) and as NDJSON, for callers that want a table and not a document."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.core.json import dumps, to_json_number

CSV = "text/csv"
NDJSON = "application/x-ndjson"
TABLE_MEDIA_TYPES = (CSV, NDJSON)
# What ``format=`` calls them.
MEDIA_TYPE_BY_FORMAT = {"json": None, "csv": CSV, "ndjson": NDJSON}
# Rows of one table; JSON lists have bounds of their own.
MAX_ROWS = 100_000

# What makes a spreadsheet take a text for a formula (OWASP, "CSV Injection"), unless it is a figure.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FIGURE = r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"


def render_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The rows under a header line, also when there are none.

    null is an empty cell, true and false stay words, a list or an object is its JSON. A text that a
    spreadsheet would take for a formula has an apostrophe in front; a figure never has.
    """
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return out.getvalue().encode()


def iter_table_chunks(
    kind: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, with_header: bool
) -> Iterator[bytes]:
    """The rows as a part of a CSV, or of NDJSON; with its ``head`` line if it has one."""
    if kind == NDJSON:
        yield render_ndjson(rows)
    else:
        whole = render_csv(columns, rows)
        yield whole if with_header else whole[whole.index(b"\r\n") + 2 :]


def render_ndjson(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A JSON object a line."""
    return b"".join(dumps(row) + b"\n" for row in rows)


def _cell(value: Any) -> Any:
    kind = type(value)
    if kind is int or value is None:
        return value
    if kind is str:
        return f"'{value}" if value.startswith(_FORMULA) and not re.fullmatch(_FIGURE, value) else value
    # The writer writes numbers as JSON does.
    return to_json_number(value) if kind is Decimal and value.is_finite() else dumps(value).decode()
