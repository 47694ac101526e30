"""The page of an insider: roles at companies, transactions and holdings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.errors import ApiError
from finapi.web.html import html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_short
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import path_param
from finapi.web.insiders.filters import CURSOR
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list, owners_pages

MAX_HOLDINGS = 100
PARAMS = (path_param("cik", "cik"), *owners_pages.TRADE_FILTERS, CURSOR, FORMAT)


def show_insider(call: Call) -> Response:
    """Return the page at ``/insider/{cik}``."""
    cik = call.params["cik"]
    api_calls = (
        build_api_call(
            "/insiders/transactions/by-insider/{cik}",
            cik=cik,
            **owners_pages.get_trade_filters(call),
            cursor=call.params["cursor"],
            limit=owners_pages.PAGE_TRADES,
            sort_by="transaction_date",
        ),
        build_api_call("/insiders/insider/{insider_cik}", insider_cik=cik),
        build_api_call("/insiders/holdings/by-insider/{cik}", cik=cik, limit=MAX_HOLDINGS),
    )
    return api_backed_pages.serve_api_page(call, api_calls, lambda: _render_insider(call, api_calls))


def _render_insider(call: Call, api_calls: Sequence[ApiCall]) -> Response:
    trades_call, insider_call, holdings_call = api_calls
    try:
        trades_answer = trades_call.get_answer(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    insider = insider_call.get_answer(call)
    holdings = holdings_call.get_answer(call)["data"]
    if trades_answer["data"]:
        trades = owners_pages.render_trades_table(trades_answer["data"], with_company=True)
    else:
        trades = api_backed_pages.render_empty_list(call.request.path, trades_answer["meta"]["empty"])
    next_cursor = trades_answer["meta"]["pagination"]["next_cursor"]
    next_link = filing_list.render_next_link(call, "Older transactions", cursor=next_cursor)
    return page_layout.render_page(
        call,
        insider["name"],
        _render_description(insider),
        _render_table_section("Companies", "From the latest forms", _ROLE_COLUMNS, insider["current_roles"]),
        _render_table_section(
            "Former companies", "Former roles, from the latest forms", _ROLE_COLUMNS, insider["former_roles"]
        ),
        render_section("Transactions", owners_pages.render_trade_form(call, call.request.path), trades, next_link),
        _render_table_section("Holdings", "From the latest forms", _HOLDING_COLUMNS, holdings),
        api_backed_pages.render_source_note(call, *api_calls, csv_url=filing_list.get_csv_url(call)),
        wide=True,
    )


def _render_description(insider: Mapping[str, Any]) -> Html:
    return html_tables.render_description_list(
        [
            ("CIK", insider["cik"]),
            ("Purchases, last 12 months", _describe_dollars(insider["total_buy_value_365d"])),
            ("Sales, last 12 months", _describe_dollars(insider["total_sell_value_365d"])),
            ("Last transaction", insider["latest_transaction_date"]),
        ]
    )


def _describe_dollars(amount: int) -> str:
    return f"{format_short(amount)} dollars" if amount else "none"


def _render_table_section(
    title: str, caption: str, columns: Sequence[GridColumn], rows: Sequence[Mapping[str, Any]]
) -> Html | None:
    return render_section(title, html_tables.render_grid(caption, columns, rows)) if rows else None


def _render_filing_link(row: Mapping[str, Any]) -> Html:
    accession_number = row["accession_number"]
    return h.td(accession_number and h.a(accession_number, href=f"/filing/{accession_number}"), class_="id")


_ROLE_COLUMNS = (
    GridColumn(
        "Company", lambda role: html_tables.render_link_header(role["company"], f"/company/{role['issuer_cik']}")
    ),
    GridColumn("Role", lambda role: ", ".join(role["roles"])),
    GridColumn("Owns", "total_beneficial_ownership", numeric=True),
    GridColumn("As of", "as_of"),
)
_HOLDING_COLUMNS = (
    GridColumn(
        "Company",
        lambda holding: html_tables.render_link_header(holding["company_name"], f"/company/{holding['issuer_cik']}"),
    ),
    GridColumn("Security", "security_title"),
    GridColumn("Shares", "amount_owned", numeric=True),
    GridColumn("Through", "indirect_owner_name"),
    GridColumn("As of", "reported_date"),
    GridColumn("Filing", _render_filing_link),
)
