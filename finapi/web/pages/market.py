"""The pages of a fund and of an insider, and the screen of companies by their ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.web.financials import screen as screens
from finapi.web.html import figures, frame
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MANAGER, OFFSET, Param, in_path
from finapi.web.pages import access, asked
from finapi.web.pages.asked import FORMAT, Ask, ask, section
from finapi.web.pages.company import filing_list, owners, series

HELD, FOUND, FILTERS = 100, 100, 3
FUND_PARAMS = (MANAGER, Param("period", "quarter", empty=True), OFFSET, FORMAT)
INSIDER_PARAMS = (in_path("cik", "cik"), *owners.INSIDER_PARAMS[-1:], FORMAT)
RATIOS = tuple(sorted({param.name[:-3] for param in screens.PARAMS if param.name.endswith("_gt")}))
SCREEN_PARAMS = (
    *(Param(f"ratio{n}", allowed=RATIOS, empty=True) for n in range(FILTERS)),
    *(Param(f"{end}{n}", "number", empty=True) for n in range(FILTERS) for end in ("above", "below")),
    FORMAT,
)


def fund(call: Call) -> Response:
    """The page at ``/fund/{cik}``: what a fund held at the end of a quarter, and how that changed."""
    params = call.params
    held = ask("/form-13f/fund/{cik}", cik=params["cik"], period=params["period"], limit=HELD, offset=params["offset"])
    quarters = ask("/form-13f/fund/{cik}/periods", cik=params["cik"])
    return asked.shown(call, (held, quarters), lambda: _fund(call, held, quarters))


def _fund(call: Call, held: Ask, quarters: Ask) -> Response:
    data = held.answer(call)
    choices = {one: one for one in quarters.answer(call)["periods"]}
    form = h.form(figures.options("Quarter", "period", data["period"], choices), h.button("Show"), class_="filters")
    filing, rows = data["filing"], data["holdings"]
    columns: Sequence[figures.GridColumn] = (
        ("Issuer", _issuer),
        *("Class=title_of_class", "CUSIP=#cusip", "Option=put_call", ">Shares=shares", ">Value=value_usd"),
        (">Of portfolio", lambda one: figures.number(one["pct_of_portfolio"], lambda value: f"{value:,.2f} %")),
        *(">Change=change_shares", "Status=status"),
    )
    entries = f"{figures.short(filing['table_value_total'])} dollars in {filing['table_entry_total']:,} entries"
    link = h.a(filing["accession_no"], href=f"/filing/{filing['accession_no']}")
    told = (
        ("CIK", data["fund"]["cik"]), ("Filing", link), ("Filed", filing["filed_at"] or "unknown"),
        ("Value", entries),
    )  # fmt: skip
    table = figures.grid(f"Holdings at {data['period']}, in dollars", columns, rows)
    more = filing_list.more(call, "More holdings", offset=len(rows) == HELD and call.params["offset"] + HELD)
    source = asked.source(call, held, quarters, csv=filing_list.csv_of(call))
    return frame.page(call, data["fund"]["name"], figures.facts(told), form, table, more, source, wide=True)


def _issuer(one: Mapping[str, Any]) -> Child:
    name = one["name_of_issuer"]
    return figures.name(name, f"/company/{one['ticker']}") if one["ticker"] else h.th(name, scope="row")


def insider(call: Call) -> Response:
    """The page at ``/insider/{cik}``: roles, holdings and transactions."""
    cik = call.params["cik"]
    trades = ask("/insiders/transactions/by-insider/{cik}", cik=cik, cursor=call.params["cursor"], limit=owners.TRADES)
    profile = ask("/insiders/insider/{insider_cik}", insider_cik=cik)
    held = ask("/insiders/holdings/by-insider/{cik}", cik=cik, limit=HELD)
    return asked.shown(call, (trades, profile, held), lambda: _insider(call, trades, profile, held))


def _insider(call: Call, trades: Ask, profile: Ask, held: Ask) -> Response:
    one, traded, rows = profile.answer(call), trades.answer(call), held.answer(call)["data"]
    roles = [
        h.li(
            h.a(role["company"], href=f"/company/{role['issuer_cik']}"),
            f": {', '.join(role['roles'])}, as of {role['as_of']}",
        )
        for role in one["current_roles"]
    ]
    columns = (
        "Company=*company_name", "Security=security_title", ">Shares=amount_owned", "Through=indirect_owner_name",
        "As of=reported_date",
    )  # fmt: skip
    more = filing_list.more(call, "Older transactions", cursor=traded["meta"]["pagination"]["next_cursor"])
    body: tuple[Child, ...] = (
        h.p(f"CIK {one['cik']}", class_="quiet"),
        roles and section("Roles", h.ul(roles)),
        rows and section("Holdings", figures.grid("As the last forms tell", columns, rows)),
        section("Transactions", owners.trades_table(traded["data"], issuer=True), more),
    )
    source = asked.source(call, trades, profile, held, csv=filing_list.csv_of(call))
    return frame.page(call, one["name"], *body, source, wide=True)


def screen(call: Call) -> Response:
    """The page at ``/screen``: a form over ratios, and the companies that pass."""
    params = call.params
    bounds = {
        f"{params[f'ratio{n}']}_{end}": params[f"{side}{n}"]
        for n in range(FILTERS)
        for side, end in (("above", "gt"), ("below", "lt"))
        if params[f"ratio{n}"]
    }
    asks = (ask("/xbrl/screen", **bounds, limit=FOUND),)
    if params["format"] == "csv":
        return access.shown(call, [asks[0].name], lambda: _screen_csv(call, asks[0]))
    return asked.shown(call, asks, lambda: _screen(call, asks[0]))


def _screen(call: Call, one: Ask) -> Response:
    labels = {"": "any", **{key: series.label(key) for key in RATIOS}}
    lines = [
        h.div(
            figures.options("Ratio", f"ratio{n}", call.params[f"ratio{n}"] or "", labels),
            [_bound(call, side, n) for side in ("above", "below")], class_="filters",
        )
        for n in range(FILTERS)
    ]  # fmt: skip
    form = h.form(lines, h.button("Screen"), action="/screen", aria_label="Ratios")
    answer = one.answer(call)
    keys = answer["meta"]["screen"]["metrics_returned"] if any(call.params[f"ratio{n}"] for n in range(FILTERS)) else []
    company = ("Company", lambda row: figures.name(row["ticker"] or row["cik"], f"/company/{row['cik']}"))
    said = f"{len(answer['data'])} companies, of their last fiscal year"
    table = figures.grid(said, (company, "Year to=period_end", *map(_ratio, keys)), answer["data"])
    none = h.p("No company that is held passes.", role="status")
    source = asked.source(call, one, csv=filing_list.csv_of(call))
    return frame.page(call, "Screen", form, table if answer["data"] else none, source, wide=True)


def _ratio(key: str) -> figures.GridColumn:
    def written(value: Decimal | int) -> str:
        return series.written(key, value, figures.SCALES[0])

    return f">{series.label(key)}", lambda row: figures.number(row["metrics"][key], written)


def _bound(call: Call, side: str, n: int) -> Html:
    return figures.entry(side, f"{side}{n}", call.params[f"{side}{n}"], "number", step="any")


def _screen_csv(call: Call, one: Ask) -> Response:
    answer = one.answer(call)
    keys = answer["meta"]["screen"]["metrics_returned"]
    rows = [{**row, **row["metrics"]} for row in answer["data"]]
    return series.as_csv(["cik", "ticker", "period_end", "price_source", *keys], rows, one.target)
