"""Time series of standardised figures over HTTP (CONTRACT 7)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from finapi.db import Transaction
from finapi.errors import ApiError, invalid_param
from finapi.market import book, companies, company_books, prices, series
from finapi.market.companies import Company
from finapi.market.company_books import CompanyBook
from finapi.market.rows import KINDS, Price
from finapi.market.series import BASES, PROVENANCE, Question
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param
from finapi.web.tables import CSV, TABLES, csv_table, json_lines

COMPANY = (
    Param("ticker", help="Ticker (any spelling) or CIK.", example="AAPL"),
    Param("cik", help="CIK, bare or padded; instead of a ticker.", example="320193"),
)
AS_OF = Param("as_of", "date", help="Only what was filed up to this day.", example="2025-12-31")
BASIS = Param(
    "basis",
    default="latest",
    allowed=BASES,
    help="Of a figure told several times: as it was told last, or first.",
    example="latest",
)
YEARS = Param("years", help="Fiscal years: 5 (the last five), 2018-2023 or 2018,2020.", example="5")
PERIOD = Param(
    "period",
    default="A",
    allowed=KINDS,
    help="A: fiscal years. Q: quarters. TTM: the last four quarters. YTD: from the start of the year on.",
    example="Q",
)
SELECTION = (
    Param(
        "metrics",
        "words",
        help="Keys of metrics, derived figures and ratios, comma-separated; none: all.",
        example="revenue,net_income",
    ),
    Param("ratios", "boolean", default=False, help="All ratios beside the metrics.", example="false"),
    PERIOD,
    YEARS,
    Param(
        "provenance",
        default="none",
        allowed=PROVENANCE,
        help="none: bare values. summary: what each is from. full: with its operands.",
        example="none",
    ),
    BASIS,
    AS_OF,
)
CURRENCY = Param(
    "currency", help="The currency of the series instead of the one mostly reported in.", example="USD"
)
PARAMS = (
    *COMPANY,
    *SELECTION,
    CURRENCY,
    Param(
        "adjusted",
        default="false",
        allowed=("false",),
        help="Per-share figures are as filed: choose the vintage with basis and as_of.",
        example="false",
    ),
    Param("calendar", "boolean", default=False, help="Also where rows lie on the calendar.", example="false"),
    Param("template", "boolean", default=False, help="Rows as statements with footing.", example="false"),
    Param(
        "period_offset",
        "integer",
        least=-1000,
        most=1000,
        help="Only one row: 0 the newest, 1 (or -1) the one before it.",
        example="0",
    ),
    Param(
        "limit", "integer", default=5000, least=1, most=5000, clamp=True, help="Rows of a page.", example="40"
    ),
    Param("cursor", help="Where the page begins: next_cursor of the one before.", example="MTk2MjI6NA"),
)


def timeseries(call: Call) -> Response:
    """The series of one company; as CSV or NDJSON one row a period."""
    question = question_of(call.params)
    with call.app.db.read() as tx:
        company = selected(tx, call.params)
        data, meta = _series(call, tx, company, question)
    kind = call.request.preferred(TABLES)
    if kind is None:
        return call.success(data, meta)
    columns, rows = series.table(data["rows"])
    paging = meta["pagination"]
    headers = {"X-Has-More": str(paging["has_more"]).lower()}
    if paging["next_cursor"]:
        headers["X-Next-Cursor"] = paging["next_cursor"]
    body = csv_table(columns, rows) if kind == CSV else json_lines(rows)
    return Response(200, body, f"{kind}; charset=utf-8", headers)


def selected(tx: Transaction, params: Mapping[str, Any]) -> Company:
    """The company that ``ticker`` or ``cik`` names; INVALID_PARAM when neither is given or they disagree."""
    named = [params[name] for name in ("ticker", "cik") if params.get(name)]
    if not named:
        raise invalid_param("ticker", "A ticker or a cik is required.", expected="ticker or cik")
    if params.get("cik") and not params["cik"].isdigit():
        raise invalid_param("cik", "cik must be a number.", expected="CIK of at most ten digits")
    found = [companies.find(tx, text) for text in named]
    if len({company.cik for company in found}) > 1:
        raise invalid_param("cik", "ticker and cik name two companies.", expected="one of them")
    return found[0]


def names(company: Company) -> dict[str, Any]:
    """How data name their company."""
    return {"ticker": company.ticker, "cik": company.padded_cik, "company_name": company.name}


def question_of(params: Mapping[str, Any]) -> Question:
    """What a call asks of a series."""
    return Question(
        period=params["period"],
        metrics=tuple(params["metrics"] or ()),
        ratios=params["ratios"],
        years=params["years"],
        provenance=params["provenance"],
        basis=params["basis"],
        as_of=params["as_of"],
        currency=currency_of(params),
        calendar=params["calendar"],
        template=params["template"],
        period_offset=params.get("period_offset"),
        limit=params["limit"],
        cursor=params.get("cursor"),
    )


def currency_of(params: Mapping[str, Any]) -> str | None:
    """The currency that a call asks for; INVALID_PARAM for what is no code of one."""
    currency: str | None = params.get("currency")
    if currency is None:
        return None
    if not (len(currency) == 3 and currency.isascii() and currency.isalpha()):
        raise invalid_param("currency", "currency must be a code of three letters.", expected="USD")
    return currency.upper()


def book_of(
    call: Call, tx: Transaction, company: Company, as_of: str | None = None, currency: str | None = None
) -> CompanyBook:
    """The company's book, from the cache or the database; NOT_COVERED (404) when it reports nothing.

    What is ingested of others leaves it where it is, with every cell that was found in it.
    """
    key = (company.cik, as_of, currency, company_books.stamp(tx, company.cik, as_of))
    held = call.app.books.get(None, key, lambda: company_books.read(tx, company.cik, as_of, currency))
    # A company has counts of shares in no currency at all.
    if held.empty or (currency is not None and not held.tells_in(currency)):
        by = f" filed by {as_of}" if as_of else ""
        money = f" in {currency}" if currency is not None else ""
        raise ApiError(
            "NOT_COVERED",
            f"No figures of {company.name} as a whole{money}{by} are held.",
            details={"cik": company.padded_cik},
        )
    return held


def price_of(tx: Transaction, company: Company) -> Price:
    """The close of the company's first ticker by day, as traded then."""

    def price(day: int) -> Decimal | None:
        close = prices.close_on(tx, company.ticker, book.iso(day)) if company.ticker else None
        return None if close is None else close.close

    return price


def price_source(tx: Transaction, company: Company) -> str | None:
    """Where the prices of a company's ratios are from: "csv", "synthetic" (made up, as in the demo) or none."""
    held = prices.of_ticker(tx, company.ticker) if company.ticker else None
    return None if held is None else held.source


def _series(
    call: Call, tx: Transaction, company: Company, question: Question
) -> tuple[dict[str, Any], dict[str, Any]]:
    held = book_of(call, tx, company, question.as_of, question.currency)
    data, meta = series.answer(held, question, price_of(tx, company))
    meta["price_source"] = price_source(tx, company)
    return names(company) | data, meta


# ---- several companies at once

BATCH_MAX = 20
BATCH_BODY = (
    Field("tickers", "words", help="Tickers.", example="AAPL"),
    Field("ciks", "words", help="CIKs, instead or beside.", example="320193"),
    Field("metrics", "words", help="As in /xbrl/timeseries.", example="revenue"),
    Field("period", "text", allowed=KINDS, help="As in /xbrl/timeseries.", example="A"),
    Field("years", "word", help="As in /xbrl/timeseries.", example="5"),
    Field("provenance", "text", allowed=PROVENANCE, help="As in /xbrl/timeseries.", example="none"),
    Field("basis", "text", allowed=BASES, help="As in /xbrl/timeseries.", example="latest"),
    Field("as_of", "date", help="As in /xbrl/timeseries.", example="2025-12-31"),
    Field("ratios", "boolean", help="As in /xbrl/timeseries."),
    Field("adjusted", "boolean", allowed=("false",), help="See /xbrl/timeseries."),
    Field("calendar", "boolean", help="As in /xbrl/timeseries."),
    Field("template", "boolean", help="As in /xbrl/timeseries."),
    Field("limit", "integer", least=1, most=5000, help="Rows of each company."),
)
_DEFAULTS = {
    "metrics": (),
    "period": "A",
    "years": None,
    "provenance": "none",
    "basis": "latest",
    "as_of": None,
    "ratios": False,
    "calendar": False,
    "template": False,
    "limit": 5000,
}


def batch(call: Call) -> Response:
    """The series of several companies; one that cannot be answered says why beside the others."""
    body = call.body
    selectors = list(dict.fromkeys((*body.get("tickers", ()), *body.get("ciks", ()))))
    if not 1 <= len(selectors) <= BATCH_MAX:
        raise invalid_param(
            "tickers", f"From 1 to {BATCH_MAX} companies can be asked for.", expected="tickers or ciks"
        )
    question = question_of({**_DEFAULTS, **body})
    results = []
    with call.app.db.read() as tx:
        for selector in selectors:
            results.append(_one_of_many(call, tx, selector, question))
    resolved = sum(one["status"] == "success" for one in results)
    meta = {
        "requested": len(selectors),
        "resolved": resolved,
        "errors": len(selectors) - resolved,
        "batch_max": BATCH_MAX,
        "tokens_note": "A call costs the same however many companies it asks for.",
    }
    return call.success({"results": results}, meta)


def _one_of_many(call: Call, tx: Transaction, selector: str, question: Question) -> dict[str, Any]:
    made: dict[str, Any] = {
        "selector": selector,
        "status": "success",
        "data": None,
        "meta": None,
        "error": None,
    }
    try:
        made["data"], made["meta"] = _series(call, tx, companies.find(tx, selector), question)
    except ApiError as error:
        if error.code == "INVALID_PARAM" and (error.details or {}).get("param") != "ticker":
            # The question itself is wrong, for every company alike.
            raise
        made |= {"status": "error", "error": {"code": error.code, "message": error.message}}
    return made
