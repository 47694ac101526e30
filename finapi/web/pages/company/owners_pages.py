"""Who owns and trades a company: its insiders' transactions beside the price, and the funds that hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from finapi.core.errors import ApiError
from finapi.market.insiders.rules import STANDARD_TYPES
from finapi.web.html import charts, html_tables
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, offset_param
from finapi.web.insiders import filters
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, filing_list
from finapi.web.pages.company.company_layout import CompanyView

MAX_TRADES, MAX_HOLDERS, PRICE_DAYS, ALL_DAYS = 40, 50, 1_260, 36_500
INSIDER_PARAMS = (
    *company_layout.PARAMS,
    Param("standard_type", allowed=STANDARD_TYPES, empty_is_default=True),
    filters.CURSOR,
)
HOLDER_PARAMS = (*company_layout.PARAMS, Param("period", "quarter", empty_is_default=True), offset_param(100_000))


def show_insiders(call: Call) -> Response:
    """The page at ``/company/{ticker}/insiders``."""
    return company_layout.serve_tab(call, _insider_asks, _insider_page)


def _insider_asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    kind, cursor = call.params["standard_type"], call.params["cursor"]
    every = {"ticker": one.named, "filed_at_days": ALL_DAYS}
    return (
        build_api_call(
            "/insiders/transactions/by-ticker/{ticker}", **every, standard_type=kind, cursor=cursor, limit=MAX_TRADES
        ),
        build_api_call("/insiders/summary/by-ticker/{ticker}", **every),
        build_api_call("/prices/{ticker}", ticker=one.named, limit=PRICE_DAYS),
    )


def _insider_page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    try:
        answer = asks[0].answer(call)
        sums = asks[1].answer(call)["data"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "insiders", error)
    rows = answer["data"]
    choices = {"": "All kinds", **{name: name.replace("_", " ") for name in STANDARD_TYPES}}
    form = h.form(
        html_tables.render_select("Kind", "standard_type", call.params["standard_type"] or "", choices),
        h.button("Show"),
        action=one.path("insiders"),
        class_="filters",
        aria_label="Kind",
    )
    more = filing_list.render_next_link(call, "Older transactions", cursor=answer["meta"]["pagination"]["next_cursor"])
    none = h.p(
        "No transactions of this kind. ",
        api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
        class_="note",
        role="status",
    )
    source = api_backed_pages.render_source_note(call, *asks, csv=filing_list.get_csv_url(call))
    return company_layout.render_tab(
        call,
        one,
        "insiders",
        _sums(sums),
        _price_line(call, asks[2], rows),
        form,
        render_trades_table(rows) if rows else none,
        more,
        source,
    )


def _sums(sums: Mapping[str, Any]) -> Html:
    pairs = (("Purchases", "total_buys", "total_buy_value"), ("Sales", "total_sells", "total_sell_value"))
    sides = [
        (said, f"{sums[count]:,} for {html_tables.format_short(sums[value], ' USD')}") for said, count, value in pairs
    ]
    net, last = (
        ("Net", html_tables.format_short(sums["net_value"], " USD")),
        ("Last trade", sums["latest_transaction_date"]),
    )
    return html_tables.render_description_list(
        [*sides, net, ("Insiders", f"{sums['unique_insiders']:,}"), last], "held"
    )


def _price_line(call: Call, prices: ApiCall, trades: Sequence[Mapping[str, Any]]) -> Html | None:
    """The closing price of five years with purchases and sales on it; nothing where no price is held."""
    try:
        answer = prices.answer(call)
    except ApiError as error:
        if error.code not in api_backed_pages.MISSING_DATA_CODES:
            raise
        return h.p("No prices of this company.", class_="quiet")
    rows = answer["data"][::-1]
    if len(rows) < 2:
        return None
    first, last = rows[0]["date"], rows[-1]["date"]
    span = (date.fromisoformat(last) - date.fromisoformat(first)).days or 1
    marks = [
        (
            (date.fromisoformat(one["transaction_date"]) - date.fromisoformat(first)).days / span,
            one["standard_type"] == "purchase",
            f"{one['insider_name']}, {one['transaction_date']}: {one['standard_type']}, {_worth(one)}",
        )
        for one in trades
        if one["standard_type"] in ("purchase", "sale") and first <= (one["transaction_date"] or "") <= last
    ]
    weekly = [row["close"] for row in rows[::5]]
    made_up = " (made up)" if answer["meta"]["synthetic"] else ""
    drawn = charts.render_daily_chart(
        f"Close by week{made_up}", first, last, charts.ChartSeries("Close", weekly, html_tables.format_per_share), marks
    )
    return h.div(drawn, class_="charts") if drawn else None


def render_trades_table(rows: Sequence[Mapping[str, Any]], *, issuer: bool = False) -> Html:
    """Transactions as a table: those of a company, or with their companies those of an insider."""
    who: html_tables.GridColumn = (
        "Insider",
        lambda one: html_tables.render_link_header(one["insider_name"], f"/insider/{one['insider_cik']}"),
    )
    if issuer:
        who = (
            "Company",
            lambda one: html_tables.render_link_header(one["company_name"], f"/company/{one['issuer_cik']}"),
        )
    kind = ("Kind", lambda one: h.td(one["standard_type"].replace("_", " "), title=one["transaction_description"]))
    price = (">Price", lambda one: html_tables.render_number_cell(one["price_per_share"], html_tables.format_per_share))
    form = ("Form", lambda one: h.a(one["form_type"], href=f"/filing/{one['accession_number']}"))
    told = (">Shares=shares", price, ">Value=transaction_value", ">Owned after=shares_owned_following")
    columns: Sequence[html_tables.GridColumn] = ("Traded=transaction_date", who, ("Role", _role), kind, *told, form)
    return html_tables.render_grid("In dollars; a dash where the form gives no figure", columns, rows)


def _worth(one: Mapping[str, Any]) -> str:
    value = one["transaction_value"]
    return "value unknown" if value is None else f"{html_tables.format_number(value)} dollars"


def _role(one: Mapping[str, Any]) -> str:
    roles = (("is_director", "director"), ("is_ten_percent_owner", "10 % owner"), ("is_other", "other"))
    named = [one["insider_title"]] if one["insider_title"] else ["officer"] if one["is_officer"] else []
    return ", ".join([*named, *(said for member, said in roles if one[member])])


def show_holders(call: Call) -> Response:
    """The page at ``/company/{ticker}/holders``."""
    return company_layout.serve_tab(call, _holder_asks, _holder_page)


def _holder_asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    page = {"period": call.params["period"], "offset": call.params["offset"] or None, "limit": MAX_HOLDERS}
    # Holdings know securities by their tickers alone.
    ticker = one.company.ticker or one.named
    return (
        build_api_call("/tickers/{ticker}/holders", ticker=ticker, **page),
        build_api_call("/tickers/{ticker}/fund-trends", ticker=ticker),
    )


def _holder_page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    try:
        data = asks[0].answer(call)["data"]
        quarters = asks[1].answer(call)["data"]["quarters"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "holders", error)
    none: Child = h.p(
        "No fund reports holding it. ",
        api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
        class_="note",
        role="status",
    )
    body = _holders_table(data) if data["holders"] else none
    more = filing_list.render_next_link(call, "More funds", offset=data["has_more"] and data["offset"] + MAX_HOLDERS)
    source = api_backed_pages.render_source_note(call, *asks, csv=filing_list.get_csv_url(call))
    return company_layout.render_tab(call, one, "holders", body, more, _trend(quarters), source)


def _holders_table(data: Mapping[str, Any]) -> Html:
    total, period = html_tables.format_short(data["total_value"]), data["period"]
    said = f"{html_tables.format_count(data['total_holders'], 'fund')} at {period}, {total} dollars. "
    said += f"Change since {data['prev_period']}."
    columns: Sequence[html_tables.GridColumn] = (
        ("Fund", lambda row: html_tables.render_link_header(row["name"], f"/fund/{row['cik']}")),
        *(">Shares=shares", ">Value=value"),
        (
            ">Of portfolio",
            lambda row: html_tables.render_number_cell(row["pct_of_portfolio"], lambda value: f"{value:,.2f} %"),
        ),
        ">Change=chg_shares",
        ("Status", lambda row: row["status"] or "no report for the previous quarter"),
        (
            "Filing",
            lambda row: h.td(h.a(row["accession_number"], href=f"/filing/{row['accession_number']}"), class_="id"),
        ),
    )
    return html_tables.render_grid(said, columns, data["holders"])


def _trend(quarters: Sequence[Mapping[str, Any]]) -> Html | None:
    rows = quarters[::-1][-12:]
    if len(rows) < 2:
        return None
    shares = charts.ChartSeries("Shares held by funds", [row["total_shares"] for row in rows], html_tables.format_short)
    return h.div(
        charts.render_bar_chart("Quarter by quarter", [row["date"][:7] for row in rows], [shares]), class_="charts"
    )
