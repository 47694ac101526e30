"""The front page: the search, what is held, the newest filings as they come in, and calls that work when pasted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from finapi.app import App
from finapi.core.json import dumps
from finapi.market.documents import filing_rows
from finapi.market.documents.filing_rows import FilingRow
from finapi.store import heartbeats
from finapi.web.html.page_layout import render_page, render_search_form
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import API
from finapi.web.pages import DEMO_KEY, page_access

# How many of the newest filings are shown.
MAX_NEWEST = 12

KEY_PLACEHOLDER = "YOUR_KEY"

_COUNTED = (
    ("companies", "companies"),
    ("filings", "filings"),
    ("facts", "figures"),
    ("insider_transactions", "insider transactions"),
    ("holdings", "fund holdings"),
    ("prices", "daily prices"),
)
_CALLS = (
    ("Statements as filed", f"{API}/xbrl/companies/AAPL/statements?period=Q&statement=income"),
    ("Standardised figures over time", f"{API}/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income&years=5"),
    ("A company's filings", f"{API}/sec/filings?ticker=AAPL&limit=5"),
)
_STANDS_FOR = (f"GET {API}/sec/filings",)


def show_front_page(call: Call) -> Response:
    """The page at ``/``."""
    config = call.app.config
    return render_page(
        call,
        "finapi",
        h.p(
            "Market data from SEC filings: financial statements and standardised figures, filings, "
            "insider transactions, 13F holdings, prices. Every figure is traceable to its filing, and every empty cell "
            "is marked with a reason.",
            class_="lead",
        ),
        config.pages != "off" and render_search_form(),
        _held(call),
        config.pages == "public" and _newest(call),
        _calls(call),
        search=False,
        scripts=("copy.js", *(("live.js",) if config.pages == "public" else ())),
    )


def show_newest_filings(call: Call) -> Response:
    """Newest filings as a document: what the page asks for again and again."""
    return page_access.serve_data_page(call, _STANDS_FOR, lambda: Response(200, dumps({"filings": _filings(call)})))


def _held(call: Call) -> Html:
    with call.app.db.read() as tx:
        times = heartbeats.get_freshness(tx)
        held: dict[str, Any] = heartbeats.get_stored_counts(tx)
    cells = [h.div(h.dt(said), h.dd(f"{held[name]:,}")) for name, said in _COUNTED]
    last = times["filing"]
    fresh = "No filing has been ingested yet." if last is None else f"Last filing ingested on {_minute(last)}."
    return h.section(h.h2("Coverage"), h.dl(cells, class_="held"), h.p(fresh, class_="quiet"))


def _newest(call: Call) -> Html:
    filings = _filings(call)
    rows = [
        h.tr(
            h.td(h.time(one["filed"] or "", datetime=one["filed"])),
            h.td(h.a(one["form"] or "unknown", href=one["page"])),
            h.td(one["name"]),
        )
        for one in filings
    ]
    head = h.thead(h.tr([h.th(name, scope="col") for name in ("Filed", "Form", "Filer")]))
    shown = h.table(head, h.tbody(rows, id="newest", data_from="/newest.json"))
    empty = "No filings yet. Add documents with finapi ingest or finapi poll."
    return h.section(h.h2("Newest filings"), shown if rows else h.p(empty))


def _filings(call: Call) -> list[dict[str, str | None]]:
    from finapi.market.filings import filing_search

    with call.app.db.read() as tx:
        places = filing_search.list_positions(tx, filing_search.FilingQuery(), filing_search.PageRequest(MAX_NEWEST))
        return [
            _line(row) for row in filing_rows.list_filings(tx, [filing_search.get_accession(place) for place in places])
        ]


def _line(row: FilingRow) -> dict[str, str | None]:
    link = row["primary_html_url"] or row["primary_link"]
    page = f"/filing/{row['accession_number']}"
    return {"filed": row["filed_date"], "form": row["form_type"], "name": row["entity_name"], "url": link, "page": page}


def get_example_key(app: App) -> str:
    """The key that calls are shown with: a demo's own, or a word in its place."""
    tried = app.static_bodies.get(DEMO_KEY) if app.config.pages == "public" else None
    return tried.decode() if tried else KEY_PLACEHOLDER


def _calls(call: Call) -> Html:
    key = get_example_key(call.app)
    base = call.app.config.public_url
    shown = [
        [h.h3(said), h.pre(h.code(f"curl -s -H 'X-API-Key: {key}' \\\n  '{base}{target}'"), tabindex=0)]
        for said, target in _CALLS
    ]
    how = (
        "These commands work as shown, with this demo's key."
        if key != KEY_PLACEHOLDER
        else "The operator of this service gives out invite codes. Your API key arrives by mail."
    )
    return h.section(h.h2("Call it"), h.p(how), shown)


def _minute(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
