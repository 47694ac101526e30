"""The pages of a filing, and of all filings as they come in, with their Atom feed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from finapi.core.errors import ApiError
from finapi.market.documents import submission_documents
from finapi.market.statements import filed_statements
from finapi.web.html import html_tables, page_layout, sanitizer
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION_NUMBER, Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list, statements_page

PARAMS = (ACCESSION_NUMBER, Param("statement", default="income", allowed=tuple(statements_page.STATEMENTS)), FORMAT)
DOCUMENT_PARAMS = (ACCESSION_NUMBER, Param("part", "integer", default=1, minimum=1, maximum=1_000))
LIST_PARAMS = (*filing_list.FILTERS, Param("ticker", "words", empty_is_default=True), FORMAT)
ATOM_PATH = "/filings.atom"

# Of what a filer wrote nothing runs, loads or is framed, whatever is left of it.
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"


def show_filing(call: Call) -> Response:
    """The page at ``/filing/{accession_number}``: its parties, documents and statements."""
    accession = call.params["accession_number"]
    detail = build_api_call("/sec/filings/{accession_number}", accession_number=accession)
    with call.app.db.read() as tx:
        told = filed_statements.find_report_by_accession(tx, accession) is not None
    statements_asked = build_api_call("/xbrl/filing/{accession}/statements", accession=accession)
    if told and call.params["format"] == "csv":
        return page_access.serve_data_page(
            call, [statements_asked.name], lambda: api_backed_pages.serve_csv(call, statements_asked)
        )
    asks = (detail, statements_asked) if told else (detail,)  # most forms have no statements
    return api_backed_pages.serve_api_page(call, asks, lambda: _page(call, accession, asks))


def _page(call: Call, accession: str, asks: Sequence[ApiCall]) -> Response:
    try:
        one = asks[0].answer(call)["data"]
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    told = html_tables.render_description_list(
        [
            ("Parties", [[", " if n else "", _party(one, who)] for n, who in enumerate(one["parties"])]),
            *(("Filed", one["filed_date"]), ("Period", one["period_of_report"])),
            ("Accepted", one["accepted_at"] and f"{one['accepted_at'][:16].replace('T', ' ')} UTC"),
            ("Items", ", ".join(one["items"])),
            ("Kept here", one["has_html"] and _parts(call, accession)),
            ("At the SEC", h.a(accession, href=one["primary_html_url"] or one["primary_link"], rel="noreferrer")),
        ]
    )
    table = len(asks) > 1 and _statements(call, one["cik"], accession, asks[1])
    source = api_backed_pages.render_source_note(call, *asks, csv=filing_list.get_csv_url(call) if table else "")
    title = f"{one['form_type'] or 'Filing'} of {one['entity_name']}"
    return page_layout.render_page(call, title, told, _documents(one), table, source, wide=True)


def _party(one: Any, who: Any) -> Html:
    """The link to a party's page, of what it is in this filing."""
    fund = (one["form_type"] or "").startswith("13F")
    place = "insider" if who["role"] == "reporting_owner" else "fund" if fund else "company"
    return h.a(who["company_name"] or who["cik"], href=f"/{place}/{who['cik']}")


def _parts(call: Call, accession: str) -> Html | None:
    """The links to the parts of the document that is kept."""
    with call.app.db.read() as tx:
        kept = submission_documents.find_primary_text(tx, accession)
    many = sanitizer.count_parts(kept.body.decode()) if kept and kept.media == "html" else 1
    names = [f"part {n}" for n in range(1, many + 1)] if many > 1 else ["the document"]
    to = f"/filing/{accession}/document"
    return h.span([[" " if n else "", h.a(name, href=f"{to}?part={n + 1}")] for n, name in enumerate(names)])


def _documents(one: Any) -> Html | None:
    documents = [*one["document_files"], *one["data_files"]]
    folder = one["primary_link"].rpartition("/")[0]

    def at_sec(file: Any) -> Html | str:
        to = f"{folder}/{quote(file['document'] or '')}"
        return h.a(file["document"], href=to, rel="noreferrer") if file["document"] else ""

    size = (">Bytes", lambda file: html_tables.render_number_cell(int(file["size"]) if file["size"] else None))
    columns: Sequence[html_tables.GridColumn] = ("Type=*type", ("Document", at_sec), "Description=description", size)
    return (
        render_section(
            "Documents",
            html_tables.render_grid(html_tables.format_count(len(documents), "document"), columns, documents),
        )
        if documents
        else None
    )


def _statements(call: Call, cik: str, accession: str, one: ApiCall) -> Html:
    answer = one.answer(call)
    held = answer["data"]["statements"]
    kinds = {key: said for key, said in statements_page.STATEMENTS.items() if key in held}
    kind = call.params["statement"]
    kind = kind if kind in held else next(iter(kinds or held))
    views = [
        h.a(said, href=f"/filing/{accession}?statement={key}", aria_current="true" if key == kind else None)
        for key, said in kinds.items()
    ]
    periods, lines = statements_page.join_statements(
        [{**answer, "data": {"statements": {kind: held[kind]}}}], "latest", every=True
    )
    table = statements_page.render_statement_table(kinds.get(kind, kind), periods, lines, f"/company/{cik}/")
    return render_section(
        "Statements", h.div(h.nav(views, class_="choice", aria_label="Statement"), class_="views"), table
    )


def show_document(call: Call) -> Response:
    """The document of a filing as it is kept: nothing in it runs, or loads anything."""
    text = build_api_call("/sec/filings/{accession_number}/html", accession_number=call.params["accession_number"])
    return api_backed_pages.serve_api_page(call, (text,), lambda: _inert(call, text))


def _inert(call: Call, one: ApiCall) -> Response:
    try:
        kept = one.response(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    kept.headers["Content-Security-Policy"] = DOCUMENT_POLICY
    if not kept.content_type.startswith("text/html"):
        return kept
    text, part = kept.body.decode(), call.params["part"]
    many = sanitizer.count_parts(text)
    if part > many:
        raise ApiError("NOT_FOUND", f"The document has {html_tables.format_count(many, 'part')}.")
    said = f"<p>Part {part} of {many}.</p>" if many > 1 else ""
    title = escape(call.params["accession_number"])
    head = f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
    kept.body = f"{head}{said}{sanitizer.sanitize_part(text, part)}{said}</body></html>\n".encode()
    return kept


def show_filings(call: Call) -> Response:
    """The page at ``/filings``, which renews itself."""
    listed = filing_list.build_list_call(call, ticker=call.params["ticker"])
    return api_backed_pages.serve_api_page(call, (listed,), lambda: _latest(call, listed))


def _latest(call: Call, listed: ApiCall) -> Response:
    ticker = html_tables.render_input(
        "Tickers", "ticker", ",".join(call.params["ticker"] or ()), placeholder="AAPL,NFLX"
    )
    rows = filing_list.render_filtered_list(call, "/filings", listed.answer(call), ticker, filer=True)
    source = api_backed_pages.render_source_note(call, listed, csv=filing_list.get_csv_url(call))
    # A member would pay for each time that it renews itself.
    live = call.app.config.pages == "public" and not call.params["cursor"]
    scripts = ("live.js",) if live else ()
    words = h.p(h.a("Search their documents", href=filing_list.TEXT_SEARCH_PATH))
    body = (words, h.div(rows, data_live=live), source)
    return page_layout.render_page(call, "Filings", *body, wide=True, feed=ATOM_PATH, scripts=scripts)


def show_atom_feed(call: Call) -> Response:
    """Newest filings as an Atom feed (RFC 4287), with the filters of the page."""
    listed = filing_list.build_list_call(call, ticker=call.params["ticker"])
    return api_backed_pages.serve_api_page(call, (listed,), lambda: _atom(call, listed.answer(call)["data"]))


def _atom(call: Call, rows: list[dict[str, Any]]) -> Response:
    base = call.app.config.public_url
    entries = "".join(
        f"<entry><id>{escape(base)}/filing/{one['accession_number']}</id>"
        f"<title>{escape(one['form_type'] or 'Filing')}: {escape(one['entity_name'])}</title>"
        f"<updated>{one['accepted_at'] or one['first_seen_at']}</updated>"
        f"<link href={quoteattr(f'{base}/filing/' + one['accession_number'])}/></entry>"
        for one in rows
    )
    updated = max((one["accepted_at"] or one["first_seen_at"] for one in rows), default="1970-01-01T00:00:00Z")
    head = f"<id>{escape(base)}{ATOM_PATH}</id><title>Filings</title><updated>{updated}</updated>"
    head += "<author><name>finapi</name></author>"
    text = f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>\n'
    return Response(200, text.encode(), "application/atom+xml; charset=utf-8")
