"""The pages of a fund and of an insider, and the screen of companies by their ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from finapi.core.errors import ApiError
from finapi.web.financials import screen as screens
from finapi.web.html import charts, html_tables, page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MANAGER, OFFSET, Param, path_param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list, owners_pages, series_page

HELD, REPORTS, FOUND, FILTERS = 100, 40, 100, 3
CHANGED = {"all": "All positions", "new": "New", "increased": "Increased", "decreased": "Decreased", "closed": "Closed"}
FUND_PARAMS = (
    MANAGER,
    Param("period", "quarter", empty_is_default=True),
    Param("status", default="all", allowed=tuple(CHANGED)),
    OFFSET,
    FORMAT,
)
INSIDER_PARAMS = (path_param("cik", "cik"), *owners_pages.INSIDER_PARAMS[-1:], FORMAT)
RATIOS = tuple(sorted({param.name[:-3] for param in screens.PARAMS if param.name.endswith("_gt")}))
SCREEN_PARAMS = (
    *(Param(f"ratio{n}", allowed=RATIOS, empty_is_default=True) for n in range(FILTERS)),
    *(Param(f"{end}{n}", "number", empty_is_default=True) for n in range(FILTERS) for end in ("above", "below")),
    FORMAT,
)


def fund(call: Call) -> Response:
    """The page at ``/fund/{cik}``: what a fund held at the end of a quarter, how that changed, and its reports."""
    params, first = call.params, call.params["offset"] or None
    given = {"cik": params["cik"], "period": params["period"], "status": params["status"]}
    asks = (
        build_api_call("/form-13f/fund/{cik}", **given, limit=HELD, offset=first, include_options=True),
        build_api_call("/form-13f/fund/{cik}/periods", cik=given["cik"]),
        build_api_call("/form-13f/latest", cik=given["cik"], limit=REPORTS),
    )
    return api_backed_pages.serve_api_page(call, asks, lambda: _fund(call, asks))


def _fund(call: Call, asks: Sequence[ApiCall]) -> Response:
    try:
        data = asks[0].answer(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    quarters, reports = asks[1].answer(call)["periods"], asks[2].answer(call)["data"]
    rows, meta = data["holdings"], data["meta"]
    known = meta["changes"]["available"]
    form = h.form(
        html_tables.render_select("Quarter", "period", data["period"], {one: one for one in quarters}),
        known and html_tables.render_select("Change", "status", call.params["status"], CHANGED),
        h.button("Show"),
        class_="filters",
    )
    said = f"{html_tables.format_count(meta['pagination']['total'], 'position')} at {data['period']}, in dollars. "
    said += f"Change since {meta['changes']['previous_period']}." if known else "Changes are not known."
    table: Child = (
        html_tables.render_grid(said, _HOLDINGS, rows) if rows else h.p("No positions with this change.", role="status")
    )
    more = filing_list.render_next_link(
        call, "More positions", offset=meta["pagination"]["has_more"] and call.params["offset"] + HELD
    )
    source = api_backed_pages.render_source_note(call, *asks, csv=filing_list.get_csv_url(call))
    return page_layout.render_page(
        call, data["fund"]["name"], _fund_facts(data, reports), form, table, more, _reports(reports), source, wide=True
    )


def _fund_facts(data: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Html:
    filing, meta = data["filing"], data["meta"]
    before = _values(reports).get(meta["changes"]["previous_period"])
    value = filing["table_value_total"] if filing["table_value_total"] is not None else meta["total_value_usd"]
    counts = ", ".join(f"{count:,} {said}" for said, count in meta["counts"].items() if count)
    why = html_tables.ReasonLegend.said(meta["changes"]["reason"] or "")[0].lower()
    changed = counts if meta["changes"]["available"] else f"not known: {why}"
    entries, held = filing["table_entry_total"], filing["table_rows"]
    rows = f"{held:,} entries" if entries in (None, held) else f"{entries:,} entries, of which {held:,} are held"
    return html_tables.render_description_list(
        [
            ("CIK", data["fund"]["cik"]),
            ("Value", f"{html_tables.format_short(value)} dollars in {rows}"),
            ("Change since the previous quarter", before and f"{html_tables.format_short(value - before)} dollars"),
            ("Positions", changed),
            ("Filing", h.a(filing["accession_no"], href=f"/filing/{filing['accession_no']}")),
            ("Filed", filing["filed_at"] or "unknown date"),
        ]
    )


def _values(reports: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What the covers of the first reports tell for each quarter, the newest first; those that say nothing left out."""
    told = [(one["period_of_report"], one["table_value_total"]) for one in reports if not one["is_amendment"]]
    return {period: value for period, value in sorted(told, reverse=True, key=lambda one: one[0]) if value is not None}


def _reports(reports: Sequence[Mapping[str, Any]]) -> Html:
    values = [*_values(reports).items()][::-1]
    drawn = charts.ChartSeries("Value", [Decimal(value) for _, value in values], html_tables.format_short)
    chart = charts.render_bar_chart("Value by quarter, dollars", [period[:7] for period, _ in values], [drawn])
    columns: Sequence[html_tables.GridColumn] = (
        ("Quarter", _quarter),
        "Filed=filed_at",
        "Form=form_type",
        *(">Value=table_value_total", ">Entries=holdings_count"),
        *(_counted(kind) for kind in ("new", "increased", "decreased", "closed")),
        ("Filing", _filing("accession_no")),
    )
    table = html_tables.render_grid("Reports, newest first", columns, reports)
    return render_section("Quarter by quarter", len(values) > 1 and h.div(chart, class_="charts"), table)


def _quarter(one: Mapping[str, Any]) -> Html:
    period = one["period_of_report"]
    return html_tables.render_link_header(period, f"/fund/{one['cik']}?period={period}")


def _counted(kind: str) -> html_tables.GridColumn:
    return f">{kind.capitalize()}", lambda one: html_tables.render_number_cell(one["analysis"][kind])


def _filing(member: str) -> Callable[[Mapping[str, Any]], Html]:
    return lambda one: h.td(one[member] and h.a(one[member], href=f"/filing/{one[member]}"), class_="id")


def _issuer(one: Mapping[str, Any]) -> Child:
    name = one["name_of_issuer"]
    return (
        html_tables.render_link_header(name, f"/company/{quote(one['ticker'], safe='')}")
        if one["ticker"]
        else h.th(name, scope="row")
    )


_HOLDINGS: Sequence[html_tables.GridColumn] = (
    ("Issuer", _issuer),
    *("Class=title_of_class", "CUSIP=#cusip", "Option=put_call", ">Shares=shares", ">Value=value_usd"),
    (
        ">Of portfolio",
        lambda one: html_tables.render_number_cell(one["pct_of_portfolio"], lambda value: f"{value:,.2f} %"),
    ),
    *(">Change=change_shares", "Status=status"),
    ("Filing", _filing("accession_no")),
)


def insider(call: Call) -> Response:
    """The page at ``/insider/{cik}``: roles, holdings and transactions."""
    cik = call.params["cik"]
    asks = (
        build_api_call(
            "/insiders/transactions/by-insider/{cik}",
            cik=cik,
            cursor=call.params["cursor"],
            limit=owners_pages.MAX_TRADES,
        ),
        build_api_call("/insiders/insider/{insider_cik}", insider_cik=cik),
        build_api_call("/insiders/holdings/by-insider/{cik}", cik=cik, limit=HELD),
    )
    return api_backed_pages.serve_api_page(call, asks, lambda: _insider(call, asks))


def _insider(call: Call, asks: Sequence[ApiCall]) -> Response:
    try:
        traded = asks[0].answer(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    one, held = asks[1].answer(call), asks[2].answer(call)["data"]
    year = [("Purchases in a year", one["total_buy_value_365d"]), ("Sales in a year", one["total_sell_value_365d"])]
    dollars = [(said, f"{html_tables.format_short(value)} dollars") for said, value in year]
    told = html_tables.render_description_list(
        [("CIK", one["cik"]), *dollars, ("Last trade", one["latest_transaction_date"])]
    )
    more = filing_list.render_next_link(call, "Older transactions", cursor=traded["meta"]["pagination"]["next_cursor"])
    none = h.p("No transactions.", class_="note", role="status")
    roles, former = one["current_roles"], one["former_roles"]
    return page_layout.render_page(
        call,
        one["name"],
        told,
        roles and render_section("Companies", html_tables.render_grid("From the latest forms", _ROLES, roles)),
        former
        and render_section(
            "Companies before", html_tables.render_grid("Former roles, by the latest forms", _ROLES, former)
        ),
        render_section(
            "Transactions",
            owners_pages.render_trades_table(traded["data"], issuer=True) if traded["data"] else none,
            more,
        ),
        held and render_section("Holdings", html_tables.render_grid("Holdings, by the latest forms", _OWNED, held)),
        api_backed_pages.render_source_note(call, *asks, csv=filing_list.get_csv_url(call)),
        wide=True,
    )


_ROLES: Sequence[html_tables.GridColumn] = (
    ("Company", lambda row: html_tables.render_link_header(row["company"], f"/company/{row['issuer_cik']}")),
    ("Role", lambda row: ", ".join(row["roles"])),
    ">Owns=total_beneficial_ownership",
    "As of=as_of",
)
_OWNED: Sequence[html_tables.GridColumn] = (
    ("Company", lambda row: html_tables.render_link_header(row["company_name"], f"/company/{row['issuer_cik']}")),
    *("Security=security_title", ">Shares=amount_owned", "Through=indirect_owner_name", "As of=reported_date"),
    ("Filing", _filing("accession_number")),
)


def screen(call: Call) -> Response:
    """The page at ``/screen``: a form over ratios, and the companies that pass."""
    params = call.params
    bounds = {
        f"{params[f'ratio{n}']}_{end}": params[f"{side}{n}"]
        for n in range(FILTERS)
        for side, end in (("above", "gt"), ("below", "lt"))
        if params[f"ratio{n}"]
    }
    asks = (build_api_call("/xbrl/screen", **bounds, limit=FOUND),)
    if params["format"] == "csv":
        return page_access.serve_data_page(call, [asks[0].name], lambda: _screen_csv(call, asks[0]))
    return api_backed_pages.serve_api_page(call, asks, lambda: _screen(call, asks[0]))


def _screen(call: Call, one: ApiCall) -> Response:
    labels = {"": "any", **{key: series_page.get_metric_label(key) for key in RATIOS}}
    lines = [
        h.div(
            html_tables.render_select("Ratio", f"ratio{n}", call.params[f"ratio{n}"] or "", labels),
            [_bound(call, side, n) for side in ("above", "below")],
            class_="filters",
        )
        for n in range(FILTERS)
    ]
    form = h.form(lines, h.button("Screen"), action="/screen", aria_label="Ratios", class_="screen")
    hint = h.p("Margins, returns and growth are fractions: 0.15 is 15 %.", class_="quiet")
    answer = one.answer(call)
    keys = answer["meta"]["screen"]["metrics_returned"] if any(call.params[f"ratio{n}"] for n in range(FILTERS)) else []
    company = (
        "Company",
        lambda row: html_tables.render_link_header(row["ticker"] or row["cik"], f"/company/{row['cik']}"),
    )
    said = f"Companies found: {len(answer['data'])}. Of their last fiscal year."
    table = html_tables.render_grid(said, (company, "Year to=period_end", *map(_ratio, keys)), answer["data"])
    none = h.p("No company meets these conditions.", role="status")
    source = api_backed_pages.render_source_note(call, one, csv=filing_list.get_csv_url(call))
    return page_layout.render_page(call, "Screen", form, hint, table if answer["data"] else none, source, wide=True)


def _ratio(key: str) -> html_tables.GridColumn:
    def cell(row: Mapping[str, Any]) -> Html:
        value, proof = row["metrics"][key], f"/company/{row['cik']}/proof/{key}/A{row['period_end']}"
        if value is None:
            return html_tables.render_number_cell(None)
        return h.td(h.a(series_page.format_metric(key, value, html_tables.SCALES[0]), href=proof), class_="num")

    return f">{series_page.get_metric_label(key)}", cell


def _bound(call: Call, side: str, n: int) -> Html:
    return html_tables.render_input(side.capitalize(), f"{side}{n}", call.params[f"{side}{n}"], "number", step="any")


def _screen_csv(call: Call, one: ApiCall) -> Response:
    answer = one.answer(call)
    keys = answer["meta"]["screen"]["metrics_returned"]
    rows = [{**row, **row["metrics"]} for row in answer["data"]]
    return series_page.serve_rows_as_csv(["cik", "ticker", "period_end", "price_source", *keys], rows, one.target)
