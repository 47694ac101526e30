"""The pages of one filing and its document, and the list of all filings with its Atom feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import quoteattr

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.market.documents import submission_documents
from finapi.market.funds import fund_report_lists
from finapi.market.statements import filed_statements, statement_kinds
from finapi.web.html import form_fields, html_tables, page_layout, sanitizer
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION_NUMBER, Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list, statements_page

PARAMS = (
    ACCESSION_NUMBER,
    Param("statement", default="income", allowed=tuple(statements_page.STATEMENTS)),
    Param("section", "integer", minimum=0, maximum=100_000),
    FORMAT,
)
DOCUMENT_PARAMS = (
    ACCESSION_NUMBER,
    Param("part", "integer", default=1, minimum=1, maximum=1_000),
    Param("document", empty_is_default=True),
    Param("fact", empty_is_default=True),
)
LIST_PARAMS = (*filing_list.FILTERS, Param("ticker", "words", empty_is_default=True), FORMAT)
ATOM_PATH = "/filings.atom"

# A second line of defence for filed HTML: even if the sanitizer left something, nothing runs, loads or is framed.
DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"


# The number that a link leads to.
TARGET_STYLE = ":target{background:#ff0;outline:2px solid #f80;scroll-margin:40vh}"


# ---- one filing


def show_filing(call: Call) -> Response:
    """Return the page at ``/filing/{accession_number}``: its parties, documents and statements."""
    accession_number = call.params["accession_number"]
    detail_call = build_api_call("/sec/filings/{accession_number}", accession_number=accession_number)
    with call.app.db.read() as tx:
        has_statements = filed_statements.find_report_by_accession(tx, accession_number) is not None
    if not has_statements:
        return api_backed_pages.serve_api_page(call, (detail_call,), lambda: _render_filing(call, detail_call, None))
    statements_call = build_api_call("/xbrl/filing/{accession}/statements", accession=accession_number)
    if call.params["format"] == "csv":
        return page_access.serve_data_page(
            call, [statements_call.route_name], lambda: api_backed_pages.serve_csv(call, statements_call)
        )
    api_calls = (detail_call, statements_call)
    return api_backed_pages.serve_api_page(call, api_calls, lambda: _render_filing(call, detail_call, statements_call))


def _render_filing(call: Call, detail_call: ApiCall, statements_call: ApiCall | None) -> Response:
    try:
        filing = detail_call.get_answer(call)["data"]
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    if statements_call is None:
        statements = _render_missing_statements(filing)
        source = api_backed_pages.render_source_note(call, detail_call)
    else:
        statements = _render_statements(call, filing, statements_call)
        csv_url = filing_list.get_csv_url(call)
        source = api_backed_pages.render_source_note(call, detail_call, statements_call, csv_url=csv_url)
    title = f"{filing['form_type'] or 'Filing'} of {filing['entity_name']}"
    description = _render_description(call, filing)
    body = (description, _render_documents(filing), statements, source)
    return page_layout.render_page(call, title, *body, wide=True, scripts=("panel.js",))


def _render_missing_statements(filing: Mapping[str, Any]) -> Html | None:
    """Return a note on how the statements of an annual or quarterly report are loaded, None for another form."""
    report_forms = [form for forms in filed_statements.FORMS_BY_PERIOD.values() for form in forms]
    if filing["form_type"] not in report_forms:
        return None
    note = h.p(
        "The statements of this report are not stored. ",
        api_backed_pages.render_load_hint(filing["ticker"] or filing["cik"], pronoun="them"),
        class_="note",
        role="status",
    )
    series_url = f"/company/{filing['cik']}/financials"
    return render_section("Statements", note, h.p(h.a("Standardised figures of the company", href=series_url)))


def _render_description(call: Call, filing: Mapping[str, Any]) -> Html:
    parties = [[", " if index else "", _render_party(filing, party)] for index, party in enumerate(filing["parties"])]
    accepted_at = filing["accepted_at"]
    accession_number = filing["accession_number"]
    sec_url = filing["primary_html_url"] or filing["primary_link"]
    return html_tables.render_description_list(
        [
            ("Parties", parties),
            ("Filed", filing["filed_date"]),
            ("Period", filing["period_of_report"]),
            ("Accepted", accepted_at and f"{accepted_at[:16].replace('T', ' ')} UTC"),
            ("Items", ", ".join(filing["items"])),
            ("Portfolio", _has_portfolio(call, filing) and h.a("positions", href=f"/portfolio/{accession_number}")),
            ("Stored document", filing["has_html"] and _render_part_links(call, accession_number)),
            ("At the SEC", h.a(accession_number, href=sec_url, rel="noreferrer")),
        ]
    )


def _has_portfolio(call: Call, filing: Mapping[str, Any]) -> bool:
    """Return True if the filing is a stored report on Form N-PORT."""
    if not (filing["form_type"] or "").startswith("NPORT"):
        return False
    with call.app.db.read() as tx:
        return fund_report_lists.has_report(tx, filing["accession_number"])


def _render_party(filing: Mapping[str, Any], party: Mapping[str, Any]) -> Html:
    """Return the link to a party's page as an insider, a fund or a company, by its role in the filing."""
    if party["role"] == "reporting_owner":
        page = "insider"
    elif (filing["form_type"] or "").startswith("13F"):
        page = "fund"
    else:
        page = "company"
    return h.a(party["company_name"] or party["cik"], href=f"/{page}/{party['cik']}")


def _render_part_links(call: Call, accession_number: str) -> Html:
    """Return the links to the parts of the stored document."""
    with call.app.db.read() as tx:
        document = submission_documents.find_primary_text(tx, accession_number)
    is_html = document is not None and document.media == "html"
    part_count = sanitizer.count_parts(document.body.decode()) if document is not None and is_html else 1
    url = f"/filing/{accession_number}/document"
    links = []
    for part in range(1, part_count + 1):
        name = f"part {part}" if part_count > 1 else "read it here"
        links.append([" " if part > 1 else "", h.a(name, href=f"{url}?part={part}")])
    return h.span(links)


def _render_documents(filing: Mapping[str, Any]) -> Html | None:
    files = [*filing["document_files"], *filing["data_files"]]
    if not files:
        return None
    sec_folder = filing["primary_link"].rpartition("/")[0]

    def render_file_link(file: Mapping[str, Any]) -> Html | str:
        name = file["document"]
        return h.a(name, href=f"{sec_folder}/{quote(name)}", rel="noreferrer") if name else ""

    def render_size(file: Mapping[str, Any]) -> Html:
        return html_tables.render_number_cell(int(file["size"]) if file["size"] else None)

    def render_stored_link(file: Mapping[str, Any]) -> Html | str:
        if not file["content_url"]:
            return ""
        url = f"/filing/{filing['accession_number']}/document?document={file['sequence']}"
        return h.a("stored", href=url, aria_label=f"Stored document {file['sequence']}")

    columns = (
        GridColumn("Type", "type"),
        GridColumn("Document", render_file_link),
        GridColumn("Here", render_stored_link),
        GridColumn("Description", "description"),
        GridColumn("Bytes", render_size, numeric=True),
    )
    return render_section("Documents", html_tables.render_grid(format_count(len(files), "document"), columns, files))


def _render_statements(call: Call, filing: Mapping[str, Any], statements_call: ApiCall) -> Html:
    answer = statements_call.get_answer(call)
    statements = answer["data"]["statements"]
    labels = {kind: label for kind, label in statements_page.STATEMENTS.items() if kind in statements}
    chosen = _choose_statement(call, statements, next(iter(labels or statements)))
    links = []
    for kind, label in labels.items():
        url = f"/filing/{filing['accession_number']}?statement={kind}"
        links.append(h.a(label, href=url, aria_current="true" if kind == chosen else None))
    chosen_answer = {**answer, "data": {"statements": {chosen: statements[chosen]}}}
    periods, lines = statements_page.join_statements([chosen_answer], "latest", all_columns=True)
    title = labels.get(chosen) or statement_kinds.get_title(statements[chosen]["definition"] or chosen)
    table = statements_page.render_statement_table(
        title, periods, lines, f"/company/{filing['cik']}/", with_anchors=True
    )
    views = h.div(h.nav(links, class_="choice", aria_label="Statement"), class_="views")
    return render_section("Statements", views, table)


def _choose_statement(call: Call, statements: Mapping[str, Any], default_key: str) -> str:
    """Return the key of the statement that the parameters name, or the default if the filing does not have it.

    ``section`` is the number of a statement in the filing, as in the ``page_url`` of the API's answers.
    """
    accession_number, section = call.params["accession_number"], call.params["section"]
    if section is not None:
        page_url = filed_statements.find_page_url(accession_number, section)
        for key, statement in statements.items():
            if statement["page_url"] == page_url:
                return key
        return default_key
    return call.params["statement"] if call.params["statement"] in statements else default_key


# ---- its document


def show_document(call: Call) -> Response:
    """Return a part of a filing's stored document, sanitised so that nothing in it runs or loads anything.

    It is the primary document, or the one that ``document`` names by its position or file name. With ``fact``, the id
    of a number on an inline page, the browser is sent to this number, which is highlighted.
    """
    accession_number = call.params["accession_number"]
    document = call.params["document"]
    if document is None:
        document_call = build_api_call("/sec/filings/{accession_number}/html", accession_number=accession_number)
    else:
        document_call = build_api_call(
            "/sec/filings/{accession_number}/documents/{document}", accession_number=accession_number, document=document
        )
    return api_backed_pages.serve_api_page(call, (document_call,), lambda: _render_document(call, document_call))


def _render_document(call: Call, document_call: ApiCall) -> Response:
    try:
        response = document_call.get_response(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    response.headers["Content-Security-Policy"] = DOCUMENT_POLICY
    if not response.content_type.startswith("text/html"):
        return response
    text = response.body.decode()
    if call.params["fact"] is not None:
        return _redirect_to_fact(call, text, call.params["fact"])
    part = call.params["part"]
    part_count = sanitizer.count_parts(text)
    if part > part_count:
        raise ApiError("NOT_FOUND", f"The document has {format_count(part_count, 'part')}.")
    part_note = f"<p>Part {part} of {part_count}.</p>" if part_count > 1 else ""
    title = escape(call.params["accession_number"])
    style = f"<style>{TARGET_STYLE}</style>"
    head = f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{style}</head><body>'
    body = sanitizer.sanitize_part(text, part)
    response.body = f"{head}{part_note}{body}{part_note}</body></html>\n".encode()
    return response


def _redirect_to_fact(call: Call, text: str, fact_id: str) -> Response:
    """Return the redirect to the number with an id. Raise NOT_FOUND if the document has none."""
    part = sanitizer.find_part_of_id(text, fact_id)
    if part is None:
        raise ApiError("NOT_FOUND", f"The document has no number with the id {fact_id}.")
    parameters = {"part": part}
    if call.params["document"] is not None:
        parameters["document"] = call.params["document"]
    path = f"/filing/{call.params['accession_number']}/document"
    return Response(303, b"", headers={"Location": f"{path}?{urlencode(parameters)}#{quote(fact_id)}"})


# ---- all filings


def show_filings(call: Call) -> Response:
    """Return the page at ``/filings``: all filings, newest first. A script refreshes the first page."""
    list_call = filing_list.build_list_call(call, ticker=call.params["ticker"])
    return api_backed_pages.serve_api_page(call, (list_call,), lambda: _render_filings(call, list_call))


def _render_filings(call: Call, list_call: ApiCall) -> Response:
    tickers = ",".join(call.params["ticker"] or ())
    ticker_field = form_fields.render_input("Tickers", "ticker", tickers, placeholder="AAPL,NFLX")
    answer = list_call.get_answer(call)
    rows = filing_list.render_filtered_list(call, "/filings", answer, ticker_field, with_filer=True)
    source = api_backed_pages.render_source_note(call, list_call, csv_url=filing_list.get_csv_url(call))
    # A member would have to pay each time that the page refreshes itself.
    is_live = call.app.config.pages == "public" and not call.params["cursor"]
    return page_layout.render_page(
        call,
        "Filings",
        h.p(h.a("Search their documents", href=filing_list.TEXT_SEARCH_PATH)),
        h.div(rows, data_live=is_live),
        source,
        wide=True,
        feed=ATOM_PATH,
        scripts=("live.js",) if is_live else (),
    )


def show_atom_feed(call: Call) -> Response:
    """Return the newest filings as an Atom feed (RFC 4287), with the filters of the page."""
    list_call = filing_list.build_list_call(call, ticker=call.params["ticker"])
    return api_backed_pages.serve_api_page(
        call, (list_call,), lambda: _render_atom_feed(call, list_call.get_answer(call)["data"])
    )


def _render_atom_feed(call: Call, filings: Sequence[Mapping[str, Any]]) -> Response:
    base_url = call.app.config.public_url
    entries = "".join(_render_atom_entry(base_url, filing) for filing in filings)
    updated = max(map(_get_atom_time, filings), default="1970-01-01T00:00:00Z")
    head = f"<id>{escape(base_url)}{ATOM_PATH}</id><title>Filings</title><updated>{updated}</updated>"
    author = "<author><name>finapi</name></author>"
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{author}{entries}</feed>'
    document = f'<?xml version="1.0" encoding="utf-8"?>\n{feed}\n'
    return Response(200, document.encode(), "application/atom+xml; charset=utf-8")


def _render_atom_entry(base_url: str, filing: Mapping[str, Any]) -> str:
    url = f"{base_url}/filing/{filing['accession_number']}"
    return (
        f"<entry><id>{escape(base_url)}/filing/{filing['accession_number']}</id>"
        f"<title>{escape(filing['form_type'] or 'Filing')}: {escape(filing['entity_name'])}</title>"
        f"<updated>{_get_atom_time(filing)}</updated>"
        f"<link href={quoteattr(url)}/></entry>"
    )


def _get_atom_time(filing: Mapping[str, Any]) -> str:
    return str(filing["accepted_at"] or filing["first_seen_at"])
