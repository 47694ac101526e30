"""The SQL proxy over HTTP: one SELECT over the views of ``market/reference/sql_views.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.records import Object, Time
from finapi.market.reference import sql_views
from finapi.store.sandbox import FUNCTIONS
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field
from finapi.web.http.route import FlatTable

VIEWS = frozenset(sql_views.VIEWS)

BODY = (
    Field(
        "query",
        "text",
        required=True,
        help=(
            "One SELECT, perhaps after WITH, without recursion, comments and quoted names, "
            f"over these views: {sql_views.describe_views()}. "
            f"Functions: {', '.join(sorted(FUNCTIONS))}."
        ),
        example="SELECT symbol, close FROM price WHERE symbol = 'AAPL' ORDER BY date DESC LIMIT 5",
    ),
    Field("params", "values", maximum=50, help="Values for the ? placeholders of the query: texts, numbers or null."),
    Field(
        "api_key", "text", help="The API key, if it is in neither the header nor the query string.", example="0" * 32
    ),
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


def build_result_table(answer: Mapping[str, Any]) -> FlatTable:
    """Return an answer of :func:`run_query` as a table with the columns of the query."""
    return FlatTable(tuple(answer["columns"]), answer["data"])


def run_query(call: Call) -> Response:
    """Run the query of the body. Return its rows, each as an object with the query's columns."""
    table = call.app.sandbox.query(call.body["query"], VIEWS, call.user_id, call.body.get("params") or ())
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    if (kind := call.requested_table_type) is not None:
        return call.render_table(kind, table.columns, rows, {"has_more": table.truncated})
    answer: SqlResult = {
        "success": True,
        "data": rows,
        "columns": list(table.columns),
        "row_count": len(table.rows),
        "truncated": table.truncated,
        "request_id": call.request_id,
        "timestamp": iso(call.now),
    }
    return call.bare_object(answer)
