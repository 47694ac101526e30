"""Time series of standardised figures over HTTP (DECISIONS 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import OneOf
from finapi.market.financials import BASES, company_books, metric_series, reasons
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_series import LAST_QUARTERS, PROVENANCE_LEVELS, SeriesMeta, SeriesQuery, SeriesRow
from finapi.market.financials.series_rows import SERIES_KINDS, PriceOnDay
from finapi.market.financials.splits import SplitRecord
from finapi.market.prices import price_series
from finapi.market.reference import companies, share_splits
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction
from finapi.web.financials.company import AS_OF, BASIS, CompanyNames, names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Field, Param, cursor_param
from finapi.web.http.schema import Envelope

COMPANY = (
    Param("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL"),
    Param("cik", "cik", help="CIK, bare or padded; instead of a ticker.", example="320193"),
)
YEARS = Param(
    "years", repeatable=True, help="Fiscal years: 5 (the last five), 2018-2023, 2018,2020 or all.", example="5"
)
PERIOD = Param(
    "period",
    default="A",
    allowed=SERIES_KINDS,
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
        allowed=PROVENANCE_LEVELS,
        help="none: bare values. summary: what each is from. full: with its operands.",
        example="none",
    ),
    BASIS,
    AS_OF,
)
CURRENCY = Param(
    "currency",
    pattern="[A-Za-z]{3}",
    example="USD",
    help="The currency of the series instead of the one mostly reported in.",
)
Q4 = Param(
    "q4",
    default="reported",
    allowed=LAST_QUARTERS,
    help="estimated: averages of shares and EPS of last quarters too, made of the year's; marked estimated.",
    example="reported",
)
PARAMS = (
    *COMPANY,
    *SELECTION,
    CURRENCY,
    Param(
        "adjusted",
        "boolean",
        default=False,
        help="Figures of a share and counts of shares in today's shares, by the splits that filings or prices show.",
        example="false",
    ),
    Q4,
    Param("calendar", "boolean", default=False, help="Also where rows lie on the calendar.", example="false"),
    Param("template", "boolean", default=False, help="Rows as statements with footing.", example="false"),
    Param(
        "period_offset",
        "integer",
        minimum=-1000,
        maximum=1000,
        help="Only one row: 0 the newest, 1 (or -1) the one before it.",
        example="0",
    ),
    Param(
        "limit", "integer", default=5000, minimum=1, maximum=5000, clamp=True, help="Rows, at most 5,000.", example="40"
    ),
    OFFSET,
    cursor_param("MTk2MjI6NA", "[0-9A-Za-z_-]{4,12}"),
    Param(
        "layout",
        default="wide",
        allowed=("wide", "long"),
        help="Of CSV and NDJSON. wide: a row a period, a column a metric. long: a row a figure, with its filing.",
        example="wide",
    ),
)


class SeriesData(CompanyNames):
    """The series of a company."""

    period: Annotated[str, OneOf(SERIES_KINDS)]
    basis: Annotated[str, OneOf(BASES)]
    provenance: Annotated[str, OneOf(PROVENANCE_LEVELS)]
    reporting_currency: str
    ratios: bool
    rows: list[SeriesRow]
    splits: NotRequired[list[SplitRecord]]
    template: NotRequired[bool]
    industry: NotRequired[str]


SHAPE = Envelope[SeriesData, SeriesMeta]


def timeseries(call: Call) -> Response:
    """The series of one company; as CSV or NDJSON one row a period."""
    question, kind = question_of(call.params), call.requested_table_type
    long = call.params["layout"] == "long"
    if kind is not None:
        if call.params["template"]:
            raise invalid_param("template", "template is only available as JSON.", allowed=["false"])
        # Where a figure is from stands in every table.
        question = replace(question, provenance="full")
    with call.app.db.read() as tx:
        company = selected(tx, call.params)
        data, meta = _series(call, tx, company, question)
        most = call.app.config.series_cells
        room_for(meta, most, most, "limit")
        if kind is None:
            book = book_of(call, tx, company, question.as_of, question.currency)
            _check_bytes(call, tx, [(company, book)], question, max_rows=meta["row_count"], param="limit")
            return call.success_bounded(data, lambda: meta, lambda bound: too_much("limit", bound))
        columns, rows = (
            metric_series.build_long_table(data)
            if long
            else metric_series.build_wide_table(data, call.params["provenance"])
        )
    return call.render_table(kind, columns, rows, {"pagination": meta["pagination"]})


def room_for(meta: SeriesMeta, room: int, most: int, param: str) -> int:
    """What is left of ``room`` for cells when those of a series are made; INVALID_PARAM when they are more."""
    left = room - meta["row_count"] * meta["metric_count"]
    if left < 0:
        raise too_much(param, f"{most:,} cells")
    return left


# An estimate of an answer may be above its bytes by so much and not more: then the bytes themselves decide.
ESTIMATE_MARGIN = 1.05


def _check_bytes(
    call: Call,
    tx: Transaction,
    companies_and_books: Iterable[tuple[Company, CompanyBook]],
    question: SeriesQuery,
    *,
    max_rows: int,
    param: str,
) -> None:
    """Raise INVALID_PARAM if the series of companies would have too many bytes, before their rows are made.

    ``max_rows`` is the number of rows of all of them, or more. The exact count comes with the rows
    (:meth:`Call.bounded`).
    """
    max_bytes = call.app.config.answer_limit
    metric_count = len(metric_series.list_keys(question, "commercial"))
    if metric_series.bound_bytes(question, max_rows, metric_count) <= max_bytes:
        return
    estimated_bytes = 0
    for company, book in companies_and_books:
        estimated_bytes += metric_series.estimate_bytes(book, question, price_of(tx, company))
        if estimated_bytes > max_bytes * ESTIMATE_MARGIN:
            raise too_much(param, f"{max_bytes:,} bytes")


def too_much(param: str, bound: str) -> ApiError:
    """The 400 for a question whose answer would be above a bound; ``param`` is the one to ask for less by."""
    rows = "limit, with next_cursor for the rest" if param == "limit" else "years, limit"
    fewer = "" if param == "limit" else "fewer companies, "
    ask = f"Ask for {fewer}fewer rows ({rows}), fewer metrics or less provenance."
    return invalid_param(
        param, f"The answer would have more than {bound}. {ask}", expected=f"an answer of at most {bound}"
    )


def selected(tx: Transaction, params: Mapping[str, Any]) -> Company:
    """The company that ``ticker`` or ``cik`` names; INVALID_PARAM when neither is given or they disagree."""
    named = [params[name] for name in ("ticker", "cik") if params.get(name)]
    if not named:
        raise invalid_param("ticker", "A ticker or a cik is required.", expected="ticker or cik")
    found = [companies.resolve(tx, str(one)) for one in named]
    if len({company.cik for company in found}) > 1:
        raise invalid_param("cik", "ticker and cik name different companies.", expected="one of them")
    return found[0]


def question_of(params: Mapping[str, Any]) -> SeriesQuery:
    """What a call asks of a series; what it does not give is as the question has it."""
    names = [one.name for one in fields(SeriesQuery)]
    given = {name: params[name] for name in names if params.get(name) is not None}
    question = SeriesQuery(**given | {"metrics": tuple(given.get("metrics", ())), "currency": currency_of(params)})
    metric_series.check_query(question)
    return question


def currency_of(params: Mapping[str, Any]) -> str | None:
    """The currency that a call asks for."""
    currency: str | None = params.get("currency")
    return None if currency is None else currency.upper()


def book_of(
    call: Call, tx: Transaction, company: Company, as_of: str | None = None, currency: str | None = None
) -> CompanyBook:
    """The company's book, from the cache or the database; NOT_COVERED (404) when it reports nothing.

    What is ingested of others leaves it where it is, with every cell that was found in it.
    """
    key = (company.cik, as_of, currency, company_books.find_stamp(tx, company.cik))
    held = call.app.fact_book_cache.get(None, key, lambda: company_books.load_cached(tx, company.cik, as_of, currency))
    # A company has counts of shares in no currency at all.
    if held.is_empty or (currency is not None and not held.has_currency(currency)):
        by = f" filed by {as_of}" if as_of else ""
        money = f" in {currency}" if currency is not None else ""
        message = f"finapi has no consolidated figures for {company.name}{money}{by}".removesuffix(".") + "."
        raise ApiError("NOT_COVERED", message, details={"cik": company.padded_cik})
    return held


def price_of(tx: Transaction, company: Company) -> PriceOnDay:
    """The close of the company's first ticker by day, as traded then."""

    def price(day: int) -> Decimal | str:
        close = price_series.find_close(tx, company.ticker, days.iso(day), max_age_days=price_series.ANY_AGE_DAYS)
        if close is None:
            return reasons.NO_PRICE
        return close.close if day - days.number(close.date) <= price_series.STALE_DAYS else reasons.STALE_PRICE

    return price


def price_source(tx: Transaction, company: Company) -> str | None:
    """Where the prices of a company's ratios are from: "csv", "synthetic" (made up, as in the demo) or none."""
    held = price_series.find_series_of_ticker(tx, company.ticker)
    return None if held is None else held.source


def _series(call: Call, tx: Transaction, company: Company, question: SeriesQuery) -> tuple[dict[str, Any], SeriesMeta]:
    held = book_of(call, tx, company, question.as_of, question.currency)
    told = share_splits.list_for_ticker(tx, company.ticker)
    priced = [(one["date"], Decimal(one["value"])) for one in told if one["date"] <= (question.as_of or "9")]
    data, meta = metric_series.build_series(
        held, question, price_of(tx, company), price_source(tx, company), iter, priced
    )
    return {**names(company), **data}, meta


# ---- several companies at once

BATCH_MAX = 20
MAX_COMPANY_ROWS = 200  # More quarters than a company has filed figures of.
BATCH_BODY = (
    Field("tickers", "words", maximum=BATCH_MAX, help="Tickers.", example="AAPL"),
    Field("ciks", "words", maximum=BATCH_MAX, alternative="tickers", help="CIKs, instead or beside.", example="320193"),
    Field("metrics", "words", help="As in /xbrl/timeseries.", example="revenue"),
    Field("period", "text", allowed=SERIES_KINDS, help="As in /xbrl/timeseries.", example="A"),
    Field("years", "word", help="As in /xbrl/timeseries.", example="5"),
    Field("provenance", "text", allowed=PROVENANCE_LEVELS, help="As in /xbrl/timeseries.", example="none"),
    Field("basis", "text", allowed=BASES, help="As in /xbrl/timeseries.", example="latest"),
    Field("as_of", "date", help="As in /xbrl/timeseries.", example="2025-12-31"),
    Field("ratios", "boolean", help="As in /xbrl/timeseries."),
    Field("adjusted", "boolean", help="As in /xbrl/timeseries."),
    Field("q4", "text", allowed=LAST_QUARTERS, help="As in /xbrl/timeseries."),
    Field("calendar", "boolean", help="As in /xbrl/timeseries."),
    Field("template", "boolean", help="As in /xbrl/timeseries."),
    Field("limit", "integer", minimum=1, maximum=5000, help="Rows of each company."),
    Field("offset", "integer", minimum=0, help="Rows of each company to skip."),
    Field("cursor", "text", help="next_cursor of a company: only the rows behind it, of every company."),
)


class BatchError(TypedDict):
    """Why one of several companies has no series."""

    code: str
    message: str


class SeriesResult(TypedDict):
    """The series of one of several companies, or why there is none."""

    selector: str
    status: Literal["success", "error"]
    data: SeriesData | None
    meta: SeriesMeta | None
    error: BatchError | None


class BatchData(TypedDict):
    """One result for each company."""

    results: list[SeriesResult]


class BatchMeta(TypedDict):
    """How many companies were asked for and found."""

    requested: int
    resolved: int
    errors: int
    batch_max: int
    tokens_note: str


BATCH_SHAPE = Envelope[BatchData, BatchMeta]


def batch(call: Call) -> Response:
    """The series of several companies; one that cannot be answered says why beside the others."""
    body = call.body
    selectors = list(dict.fromkeys((*body.get("tickers", ()), *body.get("ciks", ()))))
    if not 1 <= len(selectors) <= BATCH_MAX:
        raise invalid_param("tickers", f"Give 1 to {BATCH_MAX} companies.", expected="tickers or ciks")
    question = question_of(body)
    call.acquire_large_slot()
    found = Counter[str]()
    with call.app.db.read() as tx:
        max_rows = len(selectors) * min(question.limit, MAX_COMPANY_ROWS)
        _check_bytes(call, tx, _iter_books(call, tx, selectors, question), question, max_rows=max_rows, param="tickers")
        results = _results(call, tx, selectors, question, found)

        def meta() -> BatchMeta:
            return {
                "requested": len(selectors),
                "resolved": found["success"],
                "errors": found["error"],
                "batch_max": BATCH_MAX,
                "tokens_note": "A call costs the same however many companies it asks for.",
            }

        return call.success_bounded({"results": results}, meta, lambda bound: too_much("tickers", bound))


def _iter_books(
    call: Call, tx: Transaction, selectors: list[str], question: SeriesQuery
) -> Iterator[tuple[Company, CompanyBook]]:
    """Yield the companies that have a series, each with its book."""
    for selector in selectors:
        with suppress(ApiError):
            company = companies.resolve(tx, selector)
            yield company, book_of(call, tx, company, question.as_of, question.currency)


def _results(
    call: Call, tx: Transaction, selectors: list[str], question: SeriesQuery, found: Counter[str]
) -> Iterator[SeriesResult]:
    """The result of each company, made when it is asked for and counted in ``found``."""
    most = left = call.app.config.series_cells
    for selector in selectors:
        one = _one_of_many(call, tx, selector, question)
        if one["meta"] is not None:
            left = room_for(one["meta"], left, most, "tickers")
        found[one["status"]] += 1
        yield one


def _one_of_many(call: Call, tx: Transaction, selector: str, question: SeriesQuery) -> SeriesResult:
    made: Any = {"selector": selector, "status": "success", "data": None, "meta": None, "error": None}
    try:
        made["data"], made["meta"] = _series(call, tx, companies.resolve(tx, selector), question)
    except ApiError as error:
        if error.code == "INVALID_PARAM" and (error.details or {}).get("param") != "ticker":
            # The question itself is wrong, for every company alike.
            raise
        made |= {"status": "error", "error": {"code": error.code, "message": error.message}}
    return made  # type: ignore[no-any-return]
