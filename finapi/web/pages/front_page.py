"""The front page: the search, counts of stored data, the newest filings, and calls that work when pasted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from finapi.app import App
from finapi.core.json import dumps
from finapi.market.demo import DEMO_KEY
from finapi.market.documents import filing_rows
from finapi.market.documents.filing_rows import FilingRow
from finapi.store import heartbeats
from finapi.web.html.page_layout import render_page, render_search_form
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import API
from finapi.web.pages import page_access

MAX_NEWEST = 12

KEY_PLACEHOLDER = "YOUR_KEY"

# The counts of stored data that the page shows, with their labels.
_COUNTS = (
    ("companies", "companies"),
    ("filings", "filings"),
    ("facts", "figures"),
    ("insider_transactions", "insider transactions"),
    ("holdings", "fund holdings"),
    ("prices", "daily prices"),
)
_EXAMPLE_CALLS = (
    ("Statements as filed", f"{API}/xbrl/companies/AAPL/statements?period=Q&statement=income"),
    ("Standardised figures over time", f"{API}/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income&years=5"),
    ("A company's filings", f"{API}/sec/filings?ticker=AAPL&limit=5"),
)
# The API routes that return the same data as the list of the newest filings.
_NEWEST_ROUTES = (f"GET {API}/sec/filings",)


def show_front_page(call: Call) -> Response:
    """Return the page at ``/``."""
    config = call.app.config
    is_public = config.pages == "public"
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
        _render_coverage(call),
        is_public and _render_newest_filings(call),
        _render_example_calls(call),
        search=False,
        scripts=("copy.js", "live.js") if is_public else ("copy.js",),
    )


def show_newest_filings(call: Call) -> Response:
    """Return the newest filings as JSON, which a script of the front page requests repeatedly."""
    return page_access.serve_data_page(
        call, _NEWEST_ROUTES, lambda: Response(200, dumps({"filings": _list_newest_filings(call)}))
    )


def get_example_key(app: App) -> str:
    """Return the API key that example calls are shown with: a public demo's own key, or a placeholder."""
    demo_key = app.static_bodies.get(DEMO_KEY) if app.config.pages == "public" else None
    return demo_key.decode() if demo_key else KEY_PLACEHOLDER


def _render_coverage(call: Call) -> Html:
    with call.app.db.read() as tx:
        last_times = heartbeats.get_freshness(tx)
        counts: dict[str, Any] = heartbeats.get_stored_counts(tx)
    cells = [h.div(h.dt(label), h.dd(f"{counts[name]:,}")) for name, label in _COUNTS]
    last_filing_at = last_times["filing"]
    if last_filing_at is None:
        freshness = "No filing has been ingested yet."
    else:
        freshness = f"Last filing ingested on {_format_minute(last_filing_at)}."
    return h.section(h.h2("Coverage"), h.dl(cells, class_="key-figures"), h.p(freshness, class_="quiet"))


def _render_newest_filings(call: Call) -> Html:
    rows = []
    for filing in _list_newest_filings(call):
        filed_day = h.time(filing["filed"] or "", datetime=filing["filed"])
        form_link = h.a(filing["form"] or "unknown", href=filing["page"])
        rows.append(h.tr(h.td(filed_day), h.td(form_link), h.td(filing["name"])))
    heading = h.h2("Newest filings")
    if not rows:
        return h.section(heading, h.p("No filings yet. Add documents with finapi ingest or finapi poll."))
    head = h.thead(h.tr([h.th(name, scope="col") for name in ("Filed", "Form", "Filer")]))
    return h.section(heading, h.table(head, h.tbody(rows, id="newest", data_from="/newest.json")))


def _list_newest_filings(call: Call) -> list[dict[str, str | None]]:
    from finapi.market.filings import filing_search

    with call.app.db.read() as tx:
        positions = filing_search.list_positions(tx, filing_search.FilingQuery(), filing_search.PageRequest(MAX_NEWEST))
        accession_numbers = [filing_search.get_accession(position) for position in positions]
        return [_build_filing_record(row) for row in filing_rows.list_filings(tx, accession_numbers)]


def _build_filing_record(row: FilingRow) -> dict[str, str | None]:
    return {
        "filed": row["filed_date"],
        "form": row["form_type"],
        "name": row["entity_name"],
        "url": row["primary_html_url"] or row["primary_link"],
        "page": f"/filing/{row['accession_number']}",
    }


def _render_example_calls(call: Call) -> Html:
    key = get_example_key(call.app)
    base_url = call.app.config.public_url
    examples = []
    for title, target in _EXAMPLE_CALLS:
        command = f"curl -s -H 'X-API-Key: {key}' \\\n  '{base_url}{target}'"
        examples.append([h.h3(title), h.pre(h.code(command), tabindex=0)])
    if key == KEY_PLACEHOLDER:
        hint = "The operator of this service gives out invite codes. Your API key arrives by mail."
    else:
        hint = "These commands work as shown, with this demo's key."
    return h.section(h.h2("Call it"), h.p(hint), examples)


def _format_minute(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
