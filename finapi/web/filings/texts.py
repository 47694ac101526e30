"""The handler for full text search in stored documents."""

from __future__ import annotations

from finapi.core.records import Date
from finapi.market.filings import text_search
from finapi.market.filings.text_search import TextMatch, TextScope
from finapi.web.filings import filings
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, cursor_param, limit_param, offset_param
from finapi.web.http.schema import Envelope, WindowMeta


class TextSearchDays(WindowMeta):
    """The window of filing days of a search."""

    from_date: Date | None
    to_date: Date | None


class TextSearchMeta(TextSearchDays):
    """The query, the number of documents, and the position of the page.

    ``documents_kept`` counts the stored documents, ``documents_searched`` those whose text is indexed already, and
    ``total`` those that match.
    """

    query: str
    documents_kept: int
    documents_searched: int
    total: int
    total_exact: bool
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


SEARCH_SHAPE = Envelope[list[TextMatch], TextSearchMeta]
SEARCH_PARAMS = (
    Param(
        "q",
        required=True,
        help=f"Words that must all appear in a document, at most {text_search.MAX_WORDS}: {text_search.EXPECTED}.",
        example='"net income" revenue',
    ),
    *filings.COMPANY_AND_FORM,
    *filings.DAYS,
    limit_param(10, 50, "Documents"),
    offset_param(noun="Documents"),
    cursor_param("3174700005070847", "[0-9]{1,18}"),
)


def search_texts(call: Call) -> Response:
    """Return a page of the stored documents that match a query, newest filing first, each with its first match."""
    params = call.params
    text_query = text_search.parse_query(params["q"])
    with call.app.db.read() as tx:
        filing_query = filings.build_query(tx, call)
        scope = TextScope(filing_query.ciks, filing_query.forms, filing_query.first_day, filing_query.last_day)
        before = int(params["cursor"]) if params["cursor"] else None
        page = text_search.search_texts(tx, text_query, scope, params["limit"], before, params["offset"])
        counts = text_search.get_text_counts(tx)
        undated_count = text_search.count_undated_texts(tx, text_query, scope)
    meta: TextSearchMeta = {
        "query": params["q"],
        "documents_kept": counts.documents,
        "documents_searched": counts.indexed_documents,
        "total": page.total,
        "total_exact": page.is_exact,
        "limit": params["limit"],
        "offset": params["offset"],
        "has_more": page.next_before is not None,
        "next_cursor": None if page.next_before is None else str(page.next_before),
        **call.build_window_meta(undated_count),  # type: ignore[typeddict-item]
    }
    return call.success_rows(page.rows, meta)
