"""The front page: the search, a figure with its proof, the covered companies and funds, filings, and calls to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.market.demo import DEMO_KEY
from finapi.market.documents import filing_rows
from finapi.market.documents.filing_rows import FilingRow
from finapi.market.statements import company_coverage
from finapi.market.statements.company_coverage import CompanyWithFacts
from finapi.store import heartbeats
from finapi.web.html import charts, number_formats
from finapi.web.html.charts import ChartSeries
from finapi.web.html.page_layout import render_page, render_search_form
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import API
from finapi.web.pages import page_access
from finapi.web.pages.api_backed_pages import MISSING_DATA_CODES, build_api_call

MAX_NEWEST = 10
# The newest filings that are searched for different filers.
MAX_SEARCHED_FILINGS = 200
MAX_COMPANIES = 16
MAX_FUNDS = 8
MAX_YEARS = 8

KEY_PLACEHOLDER = "YOUR_KEY"
DEFAULT_TICKER = "AAPL"

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
    ("Standardised figures over time", API + "/xbrl/timeseries?ticker={ticker}&metrics=revenue,net_income&years=5"),
    ("Statements as filed", API + "/xbrl/companies/{ticker}/statements?period=Q&statement=income"),
    ("A company's filings", API + "/sec/filings?ticker={ticker}&limit=5"),
)
# The API routes that return the same data as the list of the newest filings.
_NEWEST_ROUTES = (f"GET {API}/sec/filings",)


@dataclass(frozen=True, slots=True)
class ProvenFigure:
    """The revenue of a company's latest fiscal year, with the answer of its proof and the years before it."""

    company: CompanyWithFacts
    years: Sequence[Mapping[str, Any]]  # Rows of the series, the newest first.
    currency: str
    proof: Mapping[str, Any]


def show_front_page(call: Call) -> Response:
    """Return the page at ``/``."""
    if call.app.config.pages != "public":
        return _render_page(call)
    with call.app.db.read_one() as tx:
        data_version = tx.find_value("data_version")
    # The page has no ETag: after a restart of a demo it has another key, although the data are the same.
    cache_key = ("front page", get_example_key(call.app), call.app.config.public_url)
    page: Response = call.app.page_cache.get(data_version, cache_key, lambda: _render_page(call))
    return replace(page, headers=dict(page.headers))


def show_newest_filings(call: Call) -> Response:
    """Return the newest filings as JSON, which a script of the front page requests repeatedly."""
    return page_access.serve_data_page(call, _NEWEST_ROUTES, lambda: _render_newest_records(call))


def _render_newest_records(call: Call) -> Response:
    public_path = call.app.config.public_path
    filings = [
        {
            **filing,
            "page": f"{public_path}{filing['page']}",
            "filer_page": f"{public_path}{filing['filer_page']}",
        }
        for filing in _list_newest_filings(call)
    ]
    return Response(200, dumps({"filings": filings}))


def get_example_key(app: App) -> str:
    """Return the API key that example calls are shown with: a public demo's own key, or a placeholder."""
    demo_key = app.static_bodies.get(DEMO_KEY) if app.config.pages == "public" else None
    return demo_key.decode() if demo_key else KEY_PLACEHOLDER


def _render_page(call: Call) -> Response:
    config = call.app.config
    introduction = [
        h.h1("Market data with proof"),
        h.p(
            "finapi turns the filings of the SEC into an API: financial statements, standardised figures, filings, "
            "insider transactions, 13F holdings and prices.",
            class_="lead",
        ),
        h.p(
            "It is for developers and analysts who have to show where a figure comes from. Every figure leads to its "
            "filing, and every empty cell states the reason."
        ),
        config.pages != "off" and render_search_form(),
    ]
    if config.pages != "public":
        body: list[Child] = [introduction, _render_coverage(call), _render_example_calls(call, DEFAULT_TICKER)]
        return render_page(call, "finapi", *body, search=False, scripts=("copy.js",))
    companies = _list_companies(call)
    figure = _find_proven_figure(call, companies)
    ticker = figure.company["ticker"] if figure else None
    links = (_render_companies(companies), _render_funds(call))
    body = [
        h.div(h.div(introduction, links), figure and _render_proof(figure), class_="columns hero"),
        _render_coverage(call),
        h.div(
            _render_newest_filings(call), _render_example_calls(call, ticker or DEFAULT_TICKER), class_="columns halves"
        ),
    ]
    return render_page(call, "finapi", *body, wide=True, search=False, scripts=("copy.js", "live.js"))


# ---- a figure with its proof


def _list_companies(call: Call) -> list[CompanyWithFacts]:
    with call.app.db.read() as tx:
        return company_coverage.list_largest_companies(tx, MAX_COMPANIES)


def _find_proven_figure(call: Call, companies: Sequence[CompanyWithFacts]) -> ProvenFigure | None:
    """Return the latest annual revenue of the first company that has one, or None."""
    for company in companies:
        identifier = company["ticker"] or company["cik"]
        series_call = build_api_call("/xbrl/timeseries", ticker=identifier, metrics="revenue", limit=MAX_YEARS)
        try:
            series = series_call.get_answer(call)["data"]
            if not series["rows"] or series["rows"][0]["metrics"]["revenue"] is None:
                continue
            latest_year = series["rows"][0]
            proof_call = build_api_call(
                "/xbrl/proof",
                ticker=identifier,
                metric="revenue",
                period="A",
                fiscal_year=latest_year["fiscal_year"],
                fiscal_period=latest_year["fiscal_period"],
            )
            proof = proof_call.get_answer(call)["data"]
        except ApiError as error:
            if error.code not in MISSING_DATA_CODES:
                raise
            continue
        if proof["cell"]["operands"]:
            return ProvenFigure(company, series["rows"], series["reporting_currency"], proof)
    return None


def _render_proof(figure: ProvenFigure) -> Html:
    """Return the steps from a figure to its filing, and the years before it as a chart."""
    proof, company = figure.proof, figure.company
    cell, fact = proof["cell"], proof["cell"]["operands"][0]
    company_path = _get_company_path(company)
    proof_url = f"{company_path}/proof/revenue/A{proof['fiscal_year']}{proof['fiscal_period']}"
    amount = number_formats.format_short(cell["value"], f" {figure.currency}")
    period = f"{fact['start_date']} to {fact['end_date']}" if fact["start_date"] else fact["end_date"]
    oldest_first = figure.years[::-1]
    series = ChartSeries("Revenue", [row["metrics"]["revenue"] for row in oldest_first], number_formats.format_short)
    chart = charts.render_bar_chart(
        f"{company['company_name']}, {figure.currency}", [str(row["fiscal_year"]) for row in oldest_first], [series]
    )
    steps = [
        h.li(
            h.strong(h.a(amount, href=proof_url)),
            h.span(
                "Revenue of ", h.a(company["company_name"], href=company_path), f", fiscal year {proof['fiscal_year']}"
            ),
        ),
        h.li(
            h.code(fact["concept"]), h.span(f"{number_formats.format_number(fact['value'])} {fact['unit']}, {period}")
        ),
        h.li(
            h.a(f"{fact['form_type']} of {fact['filed_at']}", href=f"/filing/{fact['accession']}"),
            h.span(f"Accession number {fact['accession']}"),
        ),
    ]
    return h.section(h.h2("A figure and its proof"), h.ol(steps, class_="trace"), chart)


def _get_company_path(company: CompanyWithFacts) -> str:
    return f"/company/{quote(company['ticker'] or company['cik'], safe='')}"


# ---- stored data


def _render_coverage(call: Call) -> Html:
    with call.app.db.read() as tx:
        last_times = heartbeats.get_freshness(tx)
        counts: dict[str, Any] = heartbeats.get_stored_counts(tx)
    cells = [h.div(h.dt(label), h.dd(f"{counts[name]:,}")) for name, label in _COUNTS]
    last_filing_at = last_times["filing"]
    if last_filing_at is None:
        freshness = "No filing is stored yet."
    else:
        freshness = f"The last filing was stored on {_format_minute(last_filing_at)}."
    return h.section(h.h2("Coverage"), h.dl(cells, class_="key-figures"), h.p(freshness, class_="quiet"))


def _render_companies(companies: Sequence[CompanyWithFacts]) -> Html | None:
    if not companies:
        return None
    links = []
    for company in companies:
        ticker = company["ticker"] and h.b(company["ticker"], " ")
        links.append(h.li(h.a(ticker, company["company_name"], href=_get_company_path(company))))
    return h.section(h.h2("Companies with figures"), h.ul(links, class_="chips"))


def _render_funds(call: Call) -> Html | None:
    """Return links to the managers of the newest 13F reports, or None without any."""
    reports = build_api_call("/form-13f/latest", limit=MAX_FUNDS * 2).get_answer(call)["data"]
    names = {report["cik"]: report["fund_name"] for report in reports}
    links = [h.li(h.a(name, href=f"/fund/{cik}")) for cik, name in list(names.items())[:MAX_FUNDS]]
    return h.section(h.h2("Funds with 13F reports"), h.ul(links, class_="chips")) if links else None


def _render_newest_filings(call: Call) -> Html:
    rows = []
    for filing in _list_newest_filings(call):
        filed_day = h.time(filing["filed"] or "", datetime=filing["filed"])
        form_link = h.a(filing["form"] or "unknown", href=filing["page"])
        filer_link = h.a(filing["name"], href=filing["filer_page"])
        rows.append(h.tr(h.td(filed_day), h.td(form_link, class_="short"), h.td(filer_link)))
    heading = h.h2("Newest filings")
    if not rows:
        hint = h.p("No filings are stored yet. Add some with ", h.code("finapi load AAPL"), ".", class_="note")
        return h.section(heading, hint)
    head = h.thead(h.tr([h.th(name, scope="col") for name in ("Filed", "Form", "Filer")]))
    caption = h.caption("The newest one of each filer")
    table = h.table(caption, head, h.tbody(rows, id="newest", data_from="/newest.json"))
    return h.section(heading, table, h.p(h.a("All filings", href="/filings")))


def _list_newest_filings(call: Call) -> list[dict[str, str | None]]:
    """Return the newest filing of each of the filers that filed last."""
    from finapi.market.filings import filing_search

    with call.app.db.read() as tx:
        page_request = filing_search.PageRequest(MAX_SEARCHED_FILINGS)
        positions = filing_search.list_positions(tx, filing_search.FilingQuery(), page_request)
        accession_numbers = [filing_search.get_accession(position) for position in positions]
        newest_by_filer: dict[str, FilingRow] = {}
        for row in filing_rows.list_filings(tx, accession_numbers):
            newest_by_filer.setdefault(row["cik"], row)
    return [_build_filing_record(row) for row in list(newest_by_filer.values())[:MAX_NEWEST]]


def _build_filing_record(row: FilingRow) -> dict[str, str | None]:
    return {
        "filed": row["filed_date"],
        "form": row["form_type"],
        "name": row["entity_name"],
        "url": row["primary_html_url"] or row["primary_link"],
        "page": f"/filing/{row['accession_number']}",
        "filer_page": f"/company/{row['cik']}",
    }


# ---- calls


def _render_example_calls(call: Call, ticker: str) -> Html:
    key = get_example_key(call.app)
    base_url = call.app.config.public_url
    examples = []
    for title, target in _EXAMPLE_CALLS:
        command = f"curl -H 'X-API-Key: {key}' '{base_url}{target.format(ticker=ticker)}'"
        examples.append([h.h3(title), h.pre(h.code(command), tabindex=0)])
    if key == KEY_PLACEHOLDER:
        hint = h.p("The operator of this service gives out invite codes. Your API key arrives by mail.")
    else:
        hint = h.p("These commands work as shown, with this demo's key.")
    docs_link = h.p(h.a("All calls", href="/docs"))
    return h.section(h.h2("Call it"), hint, examples, docs_link)


def _format_minute(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
