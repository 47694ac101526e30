"""The SQL proxy over HTTP: one SELECT over the views of ``market/reference/views.py``."""

from __future__ import annotations

from typing import Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.records import Object, Time
from finapi.market.reference import views
from finapi.store.sandbox import FUNCTIONS
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field

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
    Field("api_key", "text", help="The key, when it is in neither the header nor the query.", example="0" * 32),
)


class SqlResult(TypedDict):
    """The rows of a query."""

    success: Literal[True]
    data: list[Object]
    columns: list[str]
    row_count: int
    truncated: bool
    request_id: str
    timestamp: Time


def query(call: Call) -> Response:
    """The rows of the query, each an object of its columns."""
    table = call.app.sandbox.query(call.body["query"], VIEWS, call.user_id)
    found: SqlResult = {
        "success": True,
        "data": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        "columns": list(table.columns),
        "row_count": len(table.rows),
        "truncated": table.truncated,
        "request_id": call.request_id,
        "timestamp": iso(call.now),
    }
    return call.plain(found)
