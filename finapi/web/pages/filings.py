"""The pages of a filing, and of all filings as they come in, with their Atom feed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from finapi.market.statements import as_filed
from finapi.web.filings.filings import INERT
from finapi.web.html import figures, frame
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION_NUMBER, Param
from finapi.web.pages import asked
from finapi.web.pages.asked import FORMAT, Ask, ask, section
from finapi.web.pages.company import filing_list, statements

PARAMS = (ACCESSION_NUMBER, Param("statement", default="income", allowed=tuple(statements.KINDS)))
LIST_PARAMS = (*filing_list.FILTERS, Param("ticker", "words", empty=True), FORMAT)
ATOM = "/filings.atom"

# What runs or loads in a filed document; its policy stops it too.
_ACTIVE = re.compile(
    rb"<script\b.*?</script\s*>|</?(?:script|link|meta|base|iframe|frame|object|embed|form)\b[^>]*>"
    rb"|\s(?:src|srcset|background|poster|action|on[a-z]+)\s*=\s*(?:\"(?!data:image/)[^\"]*\"|'(?!data:image/)[^']*'|[^\s\"'>]+)",
    re.IGNORECASE | re.DOTALL,
)


def show(call: Call) -> Response:
    """The page at ``/filing/{accession_number}``: its parties, documents and statements."""
    accession, kind = call.params["accession_number"], call.params["statement"]
    detail = ask("/sec/filings/{accession_number}", accession_number=accession)
    filed = ask("/xbrl/filing/{accession}/statements", accession=accession, statement=kind)
    with call.app.db.read() as tx:
        told = as_filed.report_of_filing(tx, accession) is not None
    asks = (detail, filed) if told else (detail,)  # most forms have no statements
    return asked.shown(call, asks, lambda: _page(call, accession, kind, asks))


def _page(call: Call, accession: str, kind: str, asks: Sequence[Ask]) -> Response:
    one = asks[0].answer(call)["data"]
    documents = [*one["document_files"], *one["data_files"]]
    columns = ("Type=*type", "Document=#document", "What it is=description", "Bytes=size")
    parties = [h.a(who["company_name"] or who["cik"], href=f"/company/{who['cik']}") for who in one["parties"]]
    names = [[", " if n else "", who] for n, who in enumerate(parties)]
    told = figures.facts(
        [
            ("Parties", names),
            *(("Filed", one["filed_date"]), ("Period", one["period_of_report"]), ("Accepted", one["accepted_at"])),
            ("Items", ", ".join(one["items"])),
            ("Kept here", one["has_html"] and h.a("the document", href=f"/filing/{accession}/document")),
            ("At the SEC", h.a(accession, href=one["primary_html_url"] or one["primary_link"], rel="noreferrer")),
        ]
    )
    listed = documents and section("Documents", figures.grid(f"{len(documents)} documents", columns, documents))
    table = len(asks) > 1 and _statement(one["cik"], accession, kind, asks[1].answer(call))
    title = f"{one['form_type'] or 'Filing'} of {one['entity_name']}"
    return frame.page(call, title, told, listed, table, asked.source(call, *asks), wide=True)


def _statement(cik: str, accession: str, kind: str, answer: Any) -> Html:
    views = [
        h.a(said, href=f"/filing/{accession}?statement={key}", aria_current="true" if key == kind else None)
        for key, said in statements.KINDS.items()
    ]
    periods, lines = statements.joined([answer], "latest", every=True)
    table: Child = h.p("The filing has no such statement.", class_="quiet")
    if lines:
        table = statements.table(statements.KINDS[kind], periods, lines, f"/company/{cik}/")
    return section("Statements", h.div(h.nav(views, class_="choice", aria_label="Statement"), class_="views"), table)


def document(call: Call) -> Response:
    """The document of a filing as it is kept: nothing in it runs, or loads anything."""
    text = ask("/sec/filings/{accession_number}/html", accession_number=call.params["accession_number"])
    return asked.shown(call, (text,), lambda: _inert(text.response(call)))


def _inert(kept: Response) -> Response:
    kept.headers["Content-Security-Policy"] = INERT.replace("img-src", "img-src 'self'")
    kept.body = _ACTIVE.sub(b"", kept.body)
    return kept


def latest(call: Call) -> Response:
    """The page at ``/filings``, which renews itself."""
    listed = filing_list.listed(call, ticker=call.params["ticker"])
    return asked.shown(call, (listed,), lambda: _latest(call, listed))


def _latest(call: Call, listed: Ask) -> Response:
    ticker = figures.entry("Tickers", "ticker", ",".join(call.params["ticker"] or ()), placeholder="AAPL,NFLX")
    rows = filing_list.filtered(call, "/filings", listed.answer(call), ticker, filer=True)
    source = asked.source(call, listed, csv=filing_list.csv_of(call))
    return frame.page(call, "Filings", h.div(rows, data_live=True), source, wide=True, feed=ATOM, scripts=("live.js",))


def atom(call: Call) -> Response:
    """The newest filings as an Atom feed (RFC 4287), with the filters of the page."""
    listed = filing_list.listed(call, ticker=call.params["ticker"])
    return asked.shown(call, (listed,), lambda: _atom(call, listed.answer(call)["data"]))


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
    head = f"<id>{escape(base)}{ATOM}</id><title>Filings</title><updated>{updated}</updated>"
    head += "<author><name>finapi</name></author>"
    text = f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>\n'
    return Response(200, text.encode(), "application/atom+xml; charset=utf-8")
