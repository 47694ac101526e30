"""Full text search of the documents that are kept, over HTTP."""

from __future__ import annotations

from finapi.core.records import Date
from finapi.market.filings import text_search
from finapi.market.filings.text_search import TextMatch, TextScope
from finapi.web.filings import filings
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, cursor_param, limit_param, offset_param
from finapi.web.http.schema import Envelope, WindowMeta


class TextDays(WindowMeta):
    """The days that a search is narrowed to."""

    from_date: Date | None
    to_date: Date | None


class TextsMeta(TextDays):
    """What was searched, how many documents answer, and where the next page begins."""

    query: str
    documents_kept: int
    documents_searched: int
    total: int
    total_exact: bool
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


SEARCH = Envelope[list[TextMatch], TextsMeta]
SEARCH_PARAMS = (
    Param(
        "q",
        required=True,
        help=f"Words that must all stand in a document, at most {text_search.MAX_WORDS}: {text_search.EXPECTED}.",
        example='"net income" revenue',
    ),
    *filings.COMPANY_AND_FORM,
    *filings.DAYS,
    limit_param(10, 50, "Documents"),
    offset_param(noun="Documents"),
    cursor_param("3174700005070847", "[0-9]{1,18}"),
)


def search_texts(call: Call) -> Response:
    """The kept documents in which words stand, the newest filing first, and where they stand."""
    params = call.params
    query = text_search.parse_query(params["q"])
    with call.app.db.read() as tx:
        asked = filings.build_query(tx, call)
        scope = TextScope(asked.ciks, asked.forms, asked.first_day, asked.last_day)
        before = int(params["cursor"]) if params["cursor"] else None
        found = text_search.search_texts(tx, query, scope, params["limit"], before, params["offset"])
        held, undated = text_search.get_text_counts(tx), text_search.count_undated_texts(tx, query, scope)
    more = found.next_before is not None
    meta: TextsMeta = {
        "query": params["q"],
        "documents_kept": held.documents,
        "documents_searched": held.texts,
        "total": found.total,
        "total_exact": found.is_exact,
        "limit": params["limit"],
        "offset": params["offset"],
        "has_more": more,
        "next_cursor": str(found.next_before) if more else None,
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.success_rows(found.rows, meta)
