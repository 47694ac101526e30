"""The charts of a company: revenue and margin, cash flow, per share, balance structure, of the standardised series."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from finapi.core.errors import ApiError
from finapi.web.html import charts, figures
from finapi.web.html.charts import Drawn
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import asked
from finapi.web.pages.asked import Ask, ask
from finapi.web.pages.company import series, subject
from finapi.web.pages.company.series import Row
from finapi.web.pages.company.subject import ShownCompany

PARAMS = (*subject.PARAMS, Param("period", default="A", allowed=("A", "Q")))
KEYS = (
    "revenue",
    "net_income",
    "net_margin",
    "gross_margin",
    "operating_margin",
    "operating_cashflow",
    "capex",
    "free_cashflow",
    "eps_diluted",
    "dividends_per_share",
    "book_value_per_share",
    "total_current_assets",
    "total_assets",
    "total_current_liabilities",
    "total_liabilities",
    "total_equity",
)
GLANCE = ("net_margin", "operating_cashflow", "capex")
_MARGINS = (("gross_margin", "Gross"), ("operating_margin", "Operating"), ("net_margin", "Net"))
MOST = {"A": 10, "Q": 12}


def show(call: Call) -> Response:
    """The page at ``/company/{ticker}/charts``."""
    return subject.shown(call, _asks, _page)


def _asks(call: Call, one: ShownCompany) -> Sequence[Ask]:
    period = call.params["period"]
    return (ask("/xbrl/timeseries", ticker=one.named, metrics=KEYS, period=period, limit=MOST[period], **one.when),)


def _page(call: Call, one: ShownCompany, asks: Sequence[Ask]) -> Response:
    period = call.params["period"]
    try:
        answer = asks[0].answer(call)["data"]
    except ApiError as error:
        return subject.not_held(call, one, "charts", error, ("period",))
    rows, currency = answer["rows"][::-1], answer["reporting_currency"]
    drawn = [one for one in every(rows, currency) if one]
    empty = h.p("No period with these figures. ", asked.how(subject.load_of(one) or ""), class_="note", role="status")
    views = subject.choice(one, "charts", "Period", period, {"A": "Annual", "Q": "Quarterly"}, "period")
    csv = one.address("charts", period=period, format="csv")
    body = (h.div(views, class_="views"), h.div(drawn, class_="charts") if drawn else empty)
    return subject.tab(call, one, "charts", *body, asked.source(call, *asks, csv=csv), keep=("period",))


def every(rows: Sequence[Row], currency: str) -> list[Html]:
    """All charts of rows, which begin with the oldest; empty where there is no figure."""
    labels, of = _labels(rows), partial(_series, rows)
    margins = [of(key, name, _hundredths) for key, name in _MARGINS]
    per_share = [of("eps_diluted", "Diluted earnings"), of("dividends_per_share", "Dividends")]
    assets = [of("total_current_assets", "Current"), _rest(rows, "total_assets", "total_current_assets", "Other")]
    owed = _rest(rows, "total_liabilities", "total_current_liabilities", "Other liabilities")
    claims = [of("total_current_liabilities", "Current liabilities"), owed, of("total_equity", "Equity")]
    return [
        revenue(rows, currency),
        charts.lines("Margins", labels, margins),
        cash(rows, currency),
        charts.bars(f"Per share, {currency}", labels, per_share),
        charts.stacked(f"Assets, {currency}", labels, _whole(assets)),
        charts.stacked(f"Liabilities and equity, {currency}", labels, _whole(claims)),
    ]


def revenue(rows: Sequence[Row], currency: str) -> Html:
    """Revenue and net income as bars, the net margin as a line; ``rows`` begin with the oldest."""
    columns = [_series(rows, "revenue", "Revenue"), _series(rows, "net_income", "Net income")]
    line = _series(rows, "net_margin", "Net margin", _hundredths)
    return charts.bars(f"Revenue and net margin, {currency}", _labels(rows), columns, line)


def cash(rows: Sequence[Row], currency: str) -> Html:
    """Cash from operations, what was invested, and what is left; ``rows`` begin with the oldest."""
    spent = _series(rows, "capex", "Capital expenditure", sign=-1)
    columns = [_series(rows, "operating_cashflow", "From operations"), spent, _series(rows, "free_cashflow", "Free")]
    return charts.bars(f"Cash flow, {currency}", _labels(rows), columns)


def _labels(rows: Sequence[Row]) -> list[str]:
    return [series.period_name(row) for row in rows]


def _series(rows: Sequence[Row], key: str, name: str, write: charts.Write = figures.short, sign: int = 1) -> Drawn:
    """The values of a key, bare or in cells with their provenance."""
    cells = [row["metrics"].get(key) for row in rows]
    values = [cell["value"] if isinstance(cell, dict) else cell for cell in cells]
    return Drawn(name, [None if value is None else value * sign for value in values], write)


def _whole(parts: Sequence[Drawn]) -> list[Drawn]:
    """The parts in those periods in which all are known: others would look like a whole that is smaller."""
    known = [None not in values for values in zip(*(one.values for one in parts), strict=True)]
    return [
        one._replace(values=[value if told else None for value, told in zip(one.values, known, strict=True)])
        for one in parts
    ]


def _hundredths(value: Decimal) -> str:
    text = f"{abs(value) * 100:.0f} %"
    return f"({text})" if value < 0 else text


def _rest(rows: Sequence[Row], whole: str, part: str, name: str) -> Drawn:
    pairs = [(row["metrics"].get(whole), row["metrics"].get(part)) for row in rows]
    return Drawn(name, [None if a is None or b is None else a - b for a, b in pairs], figures.short)
