"""Tables as CSV (RFC 4180) and NDJSON, for callers that request rows instead of a JSON document."""

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
# The values of the parameter ``format``.
MEDIA_TYPE_BY_FORMAT = {"json": None, "csv": CSV, "ndjson": NDJSON}
# Rows of one table. JSON lists have their own limits.
MAX_ROWS = 100_000

# Texts with these first characters are formulas to a spreadsheet (OWASP, "CSV Injection"), unless they are numbers.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER_PATTERN = r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"


def render_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a header line and the rows.

    null is an empty cell, a Boolean is ``true`` or ``false``, a list or an object is its JSON. A text that a
    spreadsheet would take for a formula gets an apostrophe in front, but a number does not.
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
    """Yield the rows as a part of a CSV, with its header line if ``with_header``, or as a part of NDJSON."""
    if kind == NDJSON:
        yield render_ndjson(rows)
    else:
        table = render_csv(columns, rows)
        yield table if with_header else table[table.index(b"\r\n") + 2 :]


def render_ndjson(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return one JSON object per line."""
    return b"".join(dumps(row) + b"\n" for row in rows)


def _cell(value: Any) -> Any:
    kind = type(value)
    if kind is int or value is None:
        return value
    if kind is str:
        return f"'{value}" if value.startswith(_FORMULA_STARTS) and not re.fullmatch(_NUMBER_PATTERN, value) else value
    # The CSV writer formats numbers as JSON does.
    return to_json_number(value) if kind is Decimal and value.is_finite() else dumps(value).decode()
