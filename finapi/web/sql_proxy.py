"""The SQL proxy over HTTP: one SELECT over the views of ``market/views.py``."""

from __future__ import annotations

from finapi.clock import iso
from finapi.market import views
from finapi.sandbox import FUNCTIONS
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field
from finapi.web.shapes import BOOLEAN, INTEGER, TEXT, TIME, array, const, obj

VIEWS = frozenset(views.VIEWS)

BODY = (
    Field(
        "query",
        "text",
        required=True,
        help=(
            f"One SELECT, without WITH, comments and quoted names, over these views: {views.described()}. "
            f"Functions: {', '.join(sorted(FUNCTIONS))}."
        ),
        example="SELECT symbol, close FROM price WHERE symbol = 'AAPL' ORDER BY date DESC LIMIT 5",
    ),
    Field(
        "api_key", "text", help="The key, when it is in neither the header nor the query.", example="0" * 32
    ),
)

SHAPE = obj(
    success=const(True),
    data=array({"type": "object"}),
    columns=array(TEXT),
    row_count=INTEGER,
    truncated=BOOLEAN,
    request_id=TEXT,
    timestamp=TIME,
)


def query(call: Call) -> Response:
    """The rows of the query, each an object of its columns."""
    table = call.app.sandbox.query(call.body["query"], VIEWS)
    return call.plain(
        {
            "success": True,
            "data": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
            "columns": table.columns,
            "row_count": len(table.rows),
            "truncated": table.truncated,
            "request_id": call.request_id,
            "timestamp": iso(call.now),
        }
    )
