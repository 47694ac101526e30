"""The pages of a company's owners: its insiders' transactions with the price, and the funds that hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.market.insiders.rules import STANDARD_TYPES
from finapi.web.html import charts, form_fields, html_tables
from finapi.web.html.charts import ChartSeries, DayMark
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_number, format_per_share, format_short
from finapi.web.html.tags import Child, Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, offset_param
from finapi.web.insiders import filters
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, filing_list
from finapi.web.pages.company.company_layout import CompanyView

PAGE_TRADES = 40
PAGE_HOLDERS = 50
PRICE_DAYS = 1_260  # Five years of trading days.
WEEK_DAYS = 5  # Trading days in a week.
ALL_FILED_DAYS = 36_500  # A window of a hundred years.
MAX_QUARTERS = 12
# Filters of transactions. A form sends every field, so an empty parameter counts as not given.
TRADE_FILTERS = (
    Param("standard_type", allowed=STANDARD_TYPES, empty_is_default=True),
    replace(filters.ACQUIRED, empty_is_default=True),
    replace(filters.MIN_VALUE, empty_is_default=True),
)
ROLE_LABELS = {"": "All roles", "director": "Director", "officer": "Officer", "ten_percent_owner": "10 % owner"}
INSIDER_PARAMS = (
    *company_layout.PARAMS,
    *TRADE_FILTERS,
    Param("role", allowed=tuple(filter(None, ROLE_LABELS)), empty_is_default=True),
    filters.CURSOR,
)
HOLDER_PARAMS = (*company_layout.PARAMS, Param("period", "quarter", empty_is_default=True), offset_param(100_000))


_DIRECTIONS = {"A": "acquired", "D": "disposed of"}


# ---- insiders


def show_insiders(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/insiders``."""
    return company_layout.serve_tab(call, _build_insider_calls, _render_insiders)


def _build_insider_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    arguments = {"ticker": view.url_name, "filed_at_days": ALL_FILED_DAYS}
    role = call.params["role"]
    return (
        build_api_call(
            "/insiders/transactions/by-ticker/{ticker}",
            **arguments,
            **get_trade_filters(call),
            **({f"is_{role}": True} if role else {}),
            cursor=call.params["cursor"],
            limit=PAGE_TRADES,
            sort_by="transaction_date",
        ),
        build_api_call("/insiders/summary/by-ticker/{ticker}", **arguments),
        build_api_call("/prices/{ticker}", ticker=view.url_name, limit=PRICE_DAYS),
    )


def _render_insiders(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    trades_call, summary_call, prices_call = api_calls
    try:
        answer = trades_call.get_answer(call)
        summary = summary_call.get_answer(call)["data"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, "insiders", error)
    trades = answer["data"]
    if trades:
        table = render_trades_table(trades)
    else:
        table = api_backed_pages.render_empty_list(view.get_path("insiders"), answer["meta"]["empty"])
    next_cursor = answer["meta"]["pagination"]["next_cursor"]
    return company_layout.render_tab(
        call,
        view,
        "insiders",
        _render_summary(summary),
        _render_price_chart(call, prices_call, trades),
        render_trade_form(call, view.get_path("insiders")),
        table,
        filing_list.render_next_link(call, "Older transactions", cursor=next_cursor),
        api_backed_pages.render_source_note(call, *api_calls, csv_url=filing_list.get_csv_url(call)),
    )


def get_trade_filters(call: Call) -> dict[str, Any]:
    """Return the filters of a page as parameters of the API."""
    return {param.name: call.params[param.name] for param in TRADE_FILTERS}


def render_trade_form(call: Call, action: str) -> Html:
    """Return the form of the filters of transactions, with the insider's role if the page has that parameter."""
    params = call.params
    kinds = {"": "All kinds", **{name: name.replace("_", " ") for name in STANDARD_TYPES}}
    directions = {"": "Both", **_DIRECTIONS}
    return h.form(
        form_fields.render_select("Kind", "standard_type", params["standard_type"] or "", kinds),
        form_fields.render_select(
            "Direction", "acquired_disposed_code", params["acquired_disposed_code"] or "", directions
        ),
        "role" in params and form_fields.render_select("Role", "role", params["role"] or "", ROLE_LABELS),
        form_fields.render_input("Dollars, at least", "min_value", params["min_value"], "number", min=0, step="any"),
        h.button("Show"),
        action=action,
        class_="filters",
        aria_label="Transactions",
    )


def _render_summary(summary: Mapping[str, Any]) -> Html:
    """Return the totals of purchases and sales, which leave out exercises, awards, gifts and doubtful values."""
    figures = html_tables.render_description_list(
        [
            *_describe_total("purchase", summary["total_buys"], summary["total_buy_value"]),
            *_describe_total("sale", summary["total_sells"], summary["total_sell_value"]),
            ("Purchases less sales", format_short(summary["net_value"], " USD")),
            ("Insiders who bought or sold", f"{summary['unique_insiders']:,}"),
            ("Last purchase or sale", summary["latest_transaction_date"] or "none"),
        ],
        "key-figures",
    )
    note = h.p(
        "All stored purchases and sales. Exercises, awards, gifts and other transactions are listed, but not counted.",
        class_="quiet",
    )
    return join_html(figures, note)


def _describe_total(noun: str, count: int, total_value: Decimal | int) -> list[tuple[str, str]]:
    """Return the name and text of a total, such as "7 sales" with "4 m USD"."""
    if count == 0:
        return [(f"{noun.capitalize()}s", "none")]
    return [(format_count(count, noun), format_short(total_value, " USD"))]


def _render_price_chart(call: Call, prices_call: ApiCall, trades: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the closing prices of five years with marks for purchases and sales, None for fewer than two prices."""
    try:
        answer = prices_call.get_answer(call)
    except ApiError as error:
        if error.code not in api_backed_pages.MISSING_DATA_CODES:
            raise
        return h.p("No prices of this company are stored.", class_="quiet")
    prices = answer["data"][::-1]
    if len(prices) < 2:
        return None
    first_day, last_day = prices[0]["date"], prices[-1]["date"]
    marks = _build_trade_marks(trades, first_day, last_day)
    weekly_closes = [price["close"] for price in prices[::WEEK_DAYS]]
    series = ChartSeries("Close", weekly_closes, format_per_share)
    title = "Close by week (made up)" if answer["meta"]["synthetic"] else "Close by week"
    chart = charts.render_daily_chart(title, first_day, last_day, series, marks)
    return h.div(chart, class_="charts") if chart else None


def _build_trade_marks(trades: Sequence[Mapping[str, Any]], first_day: str, last_day: str) -> list[DayMark]:
    start = date.fromisoformat(first_day)
    span_days = (date.fromisoformat(last_day) - start).days or 1
    marks = []
    for trade in trades:
        kind, day = trade["standard_type"], trade["transaction_date"]
        if kind not in ("purchase", "sale") or not first_day <= (day or "") <= last_day:
            continue
        position = (date.fromisoformat(day) - start).days / span_days
        tooltip = f"{trade['insider_name']}, {day}: {kind}, {_describe_worth(trade)}"
        marks.append(DayMark(position, points_up=kind == "purchase", tooltip=tooltip))
    return marks


def render_trades_table(trades: Sequence[Mapping[str, Any]], *, with_company: bool = False) -> Html:
    """Return transactions as a table, with the company of each (an insider's page) or else with its insider."""
    columns = (
        GridColumn("Traded", "transaction_date"),
        GridColumn("Company", _render_company_header)
        if with_company
        else GridColumn("Insider", _render_insider_header),
        GridColumn("Role", _describe_role),
        GridColumn("Kind", _render_kind),
        GridColumn("Shares", "shares", numeric=True),
        GridColumn("Price", _render_price, numeric=True),
        GridColumn("Value", "transaction_value", numeric=True),
        GridColumn("Owned after", "shares_owned_following", numeric=True),
        GridColumn("Form", lambda trade: h.a(trade["form_type"], href=f"/filing/{trade['accession_number']}")),
    )
    caption = "Newest trade first, in dollars. A dash stands for a figure that the form does not give."
    return html_tables.render_grid(caption, columns, trades)


def _render_insider_header(trade: Mapping[str, Any]) -> Html:
    return html_tables.render_link_header(trade["insider_name"], f"/insider/{trade['insider_cik']}")


def _render_company_header(trade: Mapping[str, Any]) -> Html:
    return html_tables.render_link_header(trade["company_name"], f"/company/{trade['issuer_cik']}")


def _render_kind(trade: Mapping[str, Any]) -> Html:
    """Return the kind of a transaction, its direction unless it is clear, and the title of a derivative.

    A transaction of kind "other" shows what its code means.
    """
    description = trade["transaction_description"]
    kind = trade["standard_type"].replace("_", " ")
    if kind == "other" and description:
        kind = description[0].lower() + description[1:]
    if kind not in ("purchase", "sale"):
        direction = _DIRECTIONS.get(trade["acquired_disposed_code"])
        kind += f" ({direction})" if direction else ""
    security = trade["is_derivative"] and trade["security_type"] and h.small(trade["security_type"], class_="under")
    return h.td(kind, security, title=description)


def _render_price(trade: Mapping[str, Any]) -> Html:
    return html_tables.render_number_cell(trade["price_per_share"], format_per_share)


def _describe_worth(trade: Mapping[str, Any]) -> str:
    dollars = trade["transaction_value"]
    return "value unknown" if dollars is None else f"{format_number(dollars)} dollars"


def _describe_role(trade: Mapping[str, Any]) -> str:
    roles = []
    if trade["insider_title"]:
        roles.append(trade["insider_title"])
    elif trade["is_officer"]:
        roles.append("officer")
    for key, role in (("is_director", "director"), ("is_ten_percent_owner", "10 % owner"), ("is_other", "other")):
        if trade[key]:
            roles.append(role)
    return ", ".join(roles)


# ---- funds


def show_holders(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/holders``."""
    return company_layout.serve_tab(call, _build_holder_calls, _render_holders)


def _build_holder_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    # 13F holdings are found by ticker only, even if the page's URL has a CIK.
    ticker = view.company.ticker or view.url_name
    return (
        build_api_call(
            "/tickers/{ticker}/holders",
            ticker=ticker,
            period=call.params["period"],
            offset=call.params["offset"] or None,
            limit=PAGE_HOLDERS,
        ),
        build_api_call("/tickers/{ticker}/fund-trends", ticker=ticker),
    )


def _render_holders(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    holders_call, trends_call = api_calls
    try:
        answer = holders_call.get_answer(call)["data"]
        quarters = trends_call.get_answer(call)["data"]["quarters"]
    except ApiError as error:
        note = api_backed_pages.render_missing_note(error)
        return company_layout.render_tab(call, view, "holders", note, status=error.status)
    body: Child
    if answer["holders"]:
        body = _render_holders_table(answer)
    else:
        body = api_backed_pages.render_empty_list(view.get_path("holders"), answer["empty"])
    next_offset = answer["has_more"] and answer["offset"] + PAGE_HOLDERS
    next_link = filing_list.render_next_link(call, "More funds", offset=next_offset)
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=filing_list.get_csv_url(call))
    return company_layout.render_tab(call, view, "holders", body, next_link, _render_trend(quarters), source)


def _render_holders_table(answer: Mapping[str, Any]) -> Html:
    count = format_count(answer["total_holders"], "fund")
    caption = (
        f"{count} at {answer['period']}, {format_short(answer['total_value'])} dollars. "
        f"Change since {answer['prev_period']}."
    )
    columns = (
        GridColumn("Fund", lambda holder: html_tables.render_link_header(holder["name"], f"/fund/{holder['cik']}")),
        GridColumn("Shares", "shares", numeric=True),
        GridColumn("Value", "value", numeric=True),
        GridColumn("Of portfolio", _render_portfolio_share, numeric=True),
        GridColumn("Change", "chg_shares", numeric=True),
        GridColumn("Status", lambda holder: holder["status"] or "no report for the previous quarter"),
        GridColumn("Filing", _render_holder_filing),
    )
    return html_tables.render_grid(caption, columns, answer["holders"])


def _render_portfolio_share(holder: Mapping[str, Any]) -> Html:
    return html_tables.render_number_cell(holder["pct_of_portfolio"], lambda percentage: f"{percentage:,.2f} %")


def _render_holder_filing(holder: Mapping[str, Any]) -> Html:
    accession_number = holder["accession_number"]
    return h.td(h.a(accession_number, href=f"/filing/{accession_number}"), class_="id")


def _render_trend(quarters: Sequence[Mapping[str, Any]]) -> Html | None:
    oldest_first = quarters[::-1][-MAX_QUARTERS:]
    if len(oldest_first) < 2:
        return None
    shares = ChartSeries("Shares held by funds", [quarter["total_shares"] for quarter in oldest_first], format_short)
    months = [quarter["date"][:7] for quarter in oldest_first]
    return h.div(charts.render_bar_chart("Quarter by quarter", months, [shares]), class_="charts")
