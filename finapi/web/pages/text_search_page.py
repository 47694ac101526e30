"""The search for words in the documents that are kept: each place found, as it is written, under its filing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.market.documents import text_index
from finapi.market.filings import text_search
from finapi.market.filings.text_search import TextQuery
from finapi.web.filings import texts
from finapi.web.html import html_tables, page_layout
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, build_api_call
from finapi.web.pages.company import filing_list

# An empty field of the form is one that was not filled in.
PARAMS = (
    Param("q", default="", empty_is_default=True),
    Param("ticker", "words", empty_is_default=True),
    Param("form_type", "words", empty_is_default=True),
    Param("from_date", "date", empty_is_default=True),
    Param("to_date", "date", empty_is_default=True),
    next(one for one in texts.SEARCH_PARAMS if one.name == "cursor"),
    FORMAT,
)


def show_text_search(call: Call) -> Response:
    """The page at ``/filings/text``: the documents in which the words stand, the newest filing first."""
    given = {name: value for name, value in call.params.items() if name != "format"}
    found = build_api_call("/sec/filings/search", **given, limit=20)
    if not given["q"]:
        return page_access.serve_data_page(
            call, (), lambda: page_layout.render_page(call, "Search in documents", _form(call))
        )
    return api_backed_pages.serve_api_page(call, (found,), lambda: _page(call, found))


def _page(call: Call, one: api_backed_pages.ApiCall) -> Response:
    answer = one.answer(call)
    rows, meta, query = answer["data"], answer["meta"], text_search.parse_query(call.params["q"])
    many = html_tables.format_count(meta["total"], "document")
    said = (
        f"{many if meta['total_exact'] else f'More than {many}'} found; {meta['documents_searched']:,} of the "
        f"{meta['documents_kept']:,} stored documents are searched."
    )
    found = h.ol([_found(row, query) for row in rows], class_="places") if rows else api_backed_pages.render_load_hint()
    return page_layout.render_page(
        call,
        "Search in documents",
        _form(call),
        h.p(said, role="status"),
        found,
        filing_list.render_next_link(call, "Older filings", cursor=meta["next_cursor"]),
        api_backed_pages.render_source_note(call, one, csv=filing_list.get_csv_url(call)),
        wide=True,
    )


def _form(call: Call) -> Html:
    params = call.params
    return join_html(
        filing_list.render_filter_form(
            call,
            filing_list.TEXT_SEARCH_PATH,
            "Find",
            html_tables.render_input(
                "Words", "q", params["q"], "search", placeholder='"going concern" auditor', required=True
            ),
            html_tables.render_input("Tickers", "ticker", ",".join(params["ticker"] or ()), placeholder="AAPL,NFLX"),
        ),
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


def _found(row: Mapping[str, Any], query: TextQuery) -> Html:
    filing = h.a(row["form_type"] or "Filing", href=f"/filing/{row['accession_number']}")
    who = h.a(row["company_name"], href=f"/company/{row['cik']}")
    place = row["place_url"] and h.a("this passage at the SEC", href=row["place_url"], rel="noreferrer")
    day = row["filed_at"] or "day unknown"
    return h.li(h.p(filing, " of ", who, f", {day} ", place), h.p(_marked(row["snippet"] or "", query)))


def _marked(snippet: str, query: TextQuery) -> Html:
    """What is written around the place, with the words themselves marked."""
    place = text_index.find_phrase(snippet, query.phrases, query.prefixes)
    if place is None:
        return join_html(snippet)
    first, last = place.offset, place.offset + place.length
    return join_html(snippet[:first], h.mark(snippet[first:last]), snippet[last:])
