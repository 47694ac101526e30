"""A company at a glance: its key figures with ten years behind them, two charts and its newest filings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.core.errors import ApiError
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import charts, figures
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.pages import asked
from finapi.web.pages.asked import Ask, ask
from finapi.web.pages.company import chart_set, filing_list, subject
from finapi.web.pages.company.series import Row, period_name, proof_path, written
from finapi.web.pages.company.subject import ShownCompany

PARAMS = subject.PARAMS

KEYS = (
    "revenue",
    "revenue_growth_yoy",
    "gross_margin",
    "operating_income",
    "operating_margin",
    "net_income",
    "net_margin",
    "eps_diluted",
    "free_cashflow",
    "cash_and_equivalents",
    "total_debt",
    "total_equity",
    "roe",
    "market_cap",
    "pe_ratio",
)
YEARS, FILINGS = 10, 10


def show(call: Call) -> Response:
    """The page at ``/company/{ticker}``."""
    return subject.shown(call, _asks, _page)


def _asks(call: Call, one: ShownCompany) -> Sequence[Ask]:
    metrics = tuple(dict.fromkeys((*KEYS, *chart_set.GLANCE)))
    named = {"ticker": one.named, "metrics": metrics, "provenance": "summary", **one.when}
    return (
        ask("/xbrl/timeseries", **named, years=YEARS),
        ask("/xbrl/timeseries", **named, period="TTM", period_offset=0),
        ask("/sec/filings", ticker=one.named, to_date=one.as_of, limit=FILINGS),
    )


def _page(call: Call, one: ShownCompany, asks: Sequence[Ask]) -> Response:
    listed = filing_list.table(call, one, asks[2])
    try:
        years = asks[0].answer(call)
    except ApiError as error:
        return subject.tab(call, one, "", asked.missing(error, subject.load_of(one)), listed)
    rows: list[Row] = years["data"]["rows"]
    currency = years["data"]["reporting_currency"]
    recent = _twelve_months(call, asks[1]) or (rows[0] if rows else None)
    if recent is None:
        note = h.p(
            "No fiscal year with revenue or net income. ",
            asked.how(subject.load_of(one) or ""),
            class_="note",
            role="status",
        )
        return subject.tab(call, one, "", note, listed)
    made_up = years["meta"]["price_source"] == "synthetic"
    drawn = [chart_set.revenue(rows[::-1], currency), chart_set.cash(rows[::-1], currency)]
    return subject.tab(
        call,
        one,
        "",
        h.div(_figures(one, recent, rows, currency, made_up), h.div(drawn), class_="columns"),
        asked.source(call, *asks[:2], csv=one.address("", format="csv")),
        listed,
    )


def _twelve_months(call: Call, one: Ask) -> Row | None:
    """The newest twelve months where they are known whole; nothing is wrong where they are not."""
    rows: list[Row] = one.answer(call)["data"]["rows"]
    told = any(rows[0]["metrics"][key]["value"] is not None for key in ("revenue", "net_income")) if rows else False
    return {**rows[0], "kind": "TTM"} if told else None


def _figures(one: ShownCompany, recent: Row, rows: Sequence[Row], currency: str, made_up: bool) -> Html:
    kind = recent.get("kind", "A")
    reasons = figures.Reasons()
    shown = [(recent, kind), *([(rows[0], "A")] if kind == "TTM" and rows else [])]
    cells: Mapping[str, Any] = recent["metrics"]
    scale = figures.scale(cell["value"] for cell in cells.values() if cell["unit"] == currency)
    lines = []
    for key in KEYS:
        past = [row["metrics"][key]["value"] for row in reversed(rows)]
        lines.append(_line(one, shown, key, past, scale, reasons))
    said = "Twelve months" if kind == "TTM" else "Fiscal year"
    caption = f"{said} to {recent['period_end']}. {scale.of(currency)}, except per-share figures."
    years = [f"Fiscal {period_name(row)}" for row, _ in shown[1:]]
    head = ("Figure", said, *years, h.th("By year", class_="wide", scope="col"), "Filing")
    note = h.p("Prices are made up, and so are figures computed from them.", class_="quiet")
    made = figures.table(caption, head, lines, class_="fig glance", label="Key figures")
    return h.section(made, reasons.legend(), made_up and note)


def _line(
    one: ShownCompany,
    shown: Sequence[tuple[Row, str]],
    key: str,
    past: list[Decimal | None],
    scale: figures.Scale,
    reasons: figures.Reasons,
) -> Html:
    label = getattr(find_definition(key), "label", key)
    spark = h.td(charts.sparkline(past, f"{label} over {len(past)} fiscal years"), class_="wide")
    cells = [_cell(one, row, kind, key, scale, reasons) for row, kind in shown]
    filing = shown[0][0]["metrics"][key]["accession"]
    link = h.td(filing and h.a(filing, href=f"/filing/{filing}"), class_="id")
    return h.tr(h.th(label, scope="row"), cells, spark, link)


def _cell(one: ShownCompany, row: Row, kind: str, key: str, scale: figures.Scale, reasons: figures.Reasons) -> Html:
    cell = row["metrics"][key]
    if cell["value"] is None:
        return reasons.mark(cell["reason_code"] or cell["status"])
    proof = one.address(proof_path(key, kind, row))
    return figures.cell(h.a(written(key, cell["value"], scale), href=proof), cell["value"], title=f"{cell['value']:f}")
