"""The full text search: passages of stored documents that contain the words, with the filing of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.core.counts import format_count
from finapi.market.documents import text_index
from finapi.market.filings import text_search
from finapi.market.filings.text_search import TextQuery
from finapi.web.filings import texts
from finapi.web.html import form_fields, page_layout
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call
from finapi.web.pages.company import filing_list

MAX_DOCUMENTS = 20
TITLE = "Search in documents"

# A form sends every field, so an empty parameter counts as not given.
PARAMS = (
    Param("q", default="", empty_is_default=True),
    Param("ticker", "words", empty_is_default=True),
    Param("form_type", "words", empty_is_default=True),
    Param("from_date", "date", empty_is_default=True),
    Param("to_date", "date", empty_is_default=True),
    next(param for param in texts.SEARCH_PARAMS if param.name == "cursor"),
    FORMAT,
)


def show_text_search(call: Call) -> Response:
    """Return the page at ``/filings/text``: documents that contain the words, the newest filing first."""
    if not call.params["q"]:
        return page_access.serve_data_page(call, (), lambda: page_layout.render_page(call, TITLE, _render_form(call)))
    filters = {name: param for name, param in call.params.items() if name != "format"}
    search_call = build_api_call("/sec/filings/search", **filters, limit=MAX_DOCUMENTS)
    return api_backed_pages.serve_api_page(call, (search_call,), lambda: _render_results(call, search_call))


def _render_results(call: Call, search_call: ApiCall) -> Response:
    answer = search_call.get_answer(call)
    rows, meta = answer["data"], answer["meta"]
    query = text_search.parse_query(call.params["q"])
    count = format_count(meta["total"], "document")
    stored_documents = format_count(meta["documents_kept"], "stored document")
    summary = (
        f"{count if meta['total_exact'] else f'More than {count}'} found in {meta['documents_searched']:,} of "
        f"{stored_documents}."
    )
    if rows:
        results = h.ol([_render_document(row, query) for row in rows], class_="places")
    else:
        results = api_backed_pages.render_load_hint()
    return page_layout.render_page(
        call,
        TITLE,
        _render_form(call),
        h.p(summary, role="status"),
        results,
        filing_list.render_next_link(call, "Older filings", cursor=meta["next_cursor"]),
        api_backed_pages.render_source_note(call, search_call, csv_url=filing_list.get_csv_url(call)),
        wide=True,
    )


def _render_form(call: Call) -> Html:
    words = form_fields.render_input(
        "Words", "q", call.params["q"], "search", placeholder='"going concern" auditor', required=True
    )
    tickers = form_fields.render_input(
        "Tickers", "ticker", ",".join(call.params["ticker"] or ()), placeholder="AAPL,NFLX"
    )
    return join_html(
        filing_list.render_filter_form(call, filing_list.TEXT_SEARCH_PATH, "Find", words, tickers),
        h.p(
            "All words must occur in the document. ",
            h.code('"net income"'),
            " matches the phrase, ",
            h.code("restat*"),
            " matches words that start so, ",
            h.code("-draft"),
            " must not occur.",
            class_="quiet",
        ),
    )


def _render_document(row: Mapping[str, Any], query: TextQuery) -> Html:
    filing_link = h.a(row["form_type"] or "Filing", href=f"/filing/{row['accession_number']}")
    company_link = h.a(row["company_name"], href=f"/company/{row['cik']}")
    passage_url = row["place_url"]
    passage_link = passage_url and h.a("this passage at the SEC", href=passage_url, rel="noreferrer")
    filed_day = row["filed_at"] or "day unknown"
    document_name = "" if row["is_primary"] else f"{row['document_type']} in "
    source = h.p(document_name, filing_link, " of ", company_link, f", {filed_day} ", passage_link)
    return h.li(source, h.p(_mark_words(row["snippet"] or "", query)))


def _mark_words(snippet: str, query: TextQuery) -> Html:
    """Return the text around a passage with the searched words marked."""
    passage = text_index.find_phrase(snippet, query.phrases, query.prefixes)
    if passage is None:
        return join_html(snippet)
    start = passage.offset
    end = passage.offset + passage.length
    return join_html(snippet[:start], h.mark(snippet[start:end]), snippet[end:])
