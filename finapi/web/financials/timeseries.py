"""Handlers for time series of standardised figures, of one company or several (DECISIONS 7).

A response is limited in its number of cells (the bound ``series_cells``) and in its bytes. The bytes are estimated
before any row is built, so that far too large queries are refused cheaply. The exact number is checked while the rows
are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import OneOf
from finapi.market.financials import BASES, company_books, metric_series, price_lookup, series_query, series_tables
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_series import SeriesMeta, SeriesRow
from finapi.market.financials.series_links import SeriesLinks
from finapi.market.financials.series_query import LAST_QUARTERS, PROVENANCE_LEVELS, SeriesQuery
from finapi.market.financials.series_rows import SERIES_KINDS
from finapi.market.financials.splits import SplitRecord
from finapi.market.prices import price_series
from finapi.market.reference import companies, share_splits
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction
from finapi.web.financials.company_params import AS_OF, BASIS, CompanyNames, build_company_names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Field, Param, cursor_param
from finapi.web.http.schema import Envelope

COMPANY_PARAMS = (
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
        help="Keys of metrics, derived figures and ratios, comma-separated; by default all metrics.",
        example="revenue,net_income",
    ),
    Param("ratios", "boolean", default=False, help="Add all ratios to the metrics.", example="false"),
    PERIOD,
    YEARS,
    Param(
        "provenance",
        default="none",
        allowed=PROVENANCE_LEVELS,
        help="none: bare values. summary: with the filing and concept of each value. full: also with its operands.",
        example="none",
    ),
    BASIS,
    AS_OF,
)
CURRENCY = Param(
    "currency",
    pattern="[A-Za-z]{3}",
    example="USD",
    help="The currency of the series; by default that of the newest report, and rows in others are marked other_unit.",
)
Q4 = Param(
    "q4",
    default="reported",
    allowed=LAST_QUARTERS,
    help="estimated: also fourth quarters' average shares and EPS, estimated from those of the year and marked so.",
    example="reported",
)
PARAMS = (
    *COMPANY_PARAMS,
    *SELECTION,
    CURRENCY,
    Param(
        "adjusted",
        "boolean",
        default=False,
        help="Convert per-share figures and share counts to today's shares, by the splits that filings or prices show.",
        example="false",
    ),
    Q4,
    Param("calendar", "boolean", default=False, help="Add the calendar year and quarter of each row.", example="false"),
    Param(
        "template",
        "boolean",
        default=False,
        help="Add to each row its statements, with checks of their totals.",
        example="false",
    ),
    Param(
        "period_offset",
        "integer",
        minimum=-1000,
        maximum=1000,
        help="Only one row: 0 is the newest, 1 (or -1) the one before it.",
        example="0",
    ),
    Param(
        "limit",
        "integer",
        default=5000,
        minimum=1,
        maximum=5000,
        clamp=True,
        help="Maximum number of rows, up to 5,000.",
        example="40",
    ),
    OFFSET,
    cursor_param("MTk2MjI6NA", "[0-9A-Za-z_-]{4,12}"),
    Param(
        "layout",
        default="wide",
        allowed=("wide", "long"),
        help="For CSV and NDJSON. wide: one row for each period. long: one row for each figure, with its filing.",
        example="wide",
    ),
)


class SeriesData(CompanyNames):
    """The series of a company."""

    period: Annotated[str, OneOf(SERIES_KINDS)]
    basis: Annotated[str, OneOf(BASES)]
    provenance: Annotated[str, OneOf(PROVENANCE_LEVELS)]
    reporting_currency: str
    other_currencies: NotRequired[list[str]]
    ratios: bool
    rows: list[SeriesRow]
    splits: NotRequired[list[SplitRecord]]
    template: NotRequired[bool]
    industry: NotRequired[str]


SHAPE = Envelope[SeriesData, SeriesMeta]


def get_series(call: Call) -> Response:
    """Return the series of one company. In CSV and NDJSON, there is one row for each period or each figure."""
    query = build_query(call.params)
    table_type = call.requested_table_type
    if table_type is not None:
        if call.params["template"]:
            raise invalid_param("template", "template is only available as JSON.", allowed=["false"])
        # Tables always state the filings of their figures.
        query = replace(query, provenance="full")
    with call.app.db.read() as tx:
        company = get_selected_company(tx, call.params)
        # A wide table has no columns for links.
        has_links = table_type is None or call.params["layout"] == "long"
        data, meta = _build_series(call, tx, company, query, has_links=has_links)
        max_cells = call.app.config.series_cells
        compute_cells_left(meta, max_cells, max_cells, "limit")
        if table_type is None:
            company_book = get_book(call, tx, company, query.as_of, query.currency)
            _check_bytes(call, tx, [(company, company_book)], query, max_rows=meta["row_count"], param="limit")
            return call.success_bounded(data, lambda: meta, lambda bound: build_size_error("limit", bound))
        if call.params["layout"] == "long":
            columns, rows = series_tables.build_long_table(data)
        else:
            columns, rows = series_tables.build_wide_table(data, call.params["provenance"])
    table_meta: dict[str, Any] = {"pagination": meta["pagination"]}
    if "empty" in meta:
        table_meta["empty"] = meta["empty"]
    return call.render_table(table_type, columns, rows, table_meta)


# ---- the size of a response

# An estimate may exceed the limit by this factor. The exact count then decides.
ESTIMATE_MARGIN = 1.05


def compute_cells_left(meta: SeriesMeta, cells_left: int, max_cells: int, param: str) -> int:
    """Return the cells left for a response after adding a series. Raise INVALID_PARAM if there are too many."""
    cells_left -= meta["row_count"] * meta["metric_count"]
    if cells_left < 0:
        raise build_size_error(param, f"{max_cells:,} cells")
    return cells_left


def _check_bytes(
    call: Call,
    tx: Transaction,
    companies_and_books: Iterable[tuple[Company, CompanyBook]],
    query: SeriesQuery,
    *,
    max_rows: int,
    param: str,
) -> None:
    """Raise INVALID_PARAM if the estimated bytes of the series are too many. No rows are built for this.

    ``max_rows`` is an upper bound of the number of their rows. The exact bytes are counted while the answer is written
    (:meth:`Call.success_bounded`).
    """
    max_bytes = call.app.config.answer_limit
    metric_count = len(series_query.list_keys(query, "commercial"))
    if metric_series.bound_bytes(query, max_rows, metric_count) <= max_bytes:
        return
    estimated_bytes = 0
    for company, company_book in companies_and_books:
        links = _build_links(tx, company, query)
        price_on_day = price_lookup.build_price_lookup(tx, company)
        estimated_bytes += metric_series.estimate_bytes(company_book, query, price_on_day, links)
        if estimated_bytes > max_bytes * ESTIMATE_MARGIN:
            raise build_size_error(param, f"{max_bytes:,} bytes")


def build_size_error(param: str, bound: str) -> ApiError:
    """Return the error 400 for a query whose response would exceed a limit. ``param`` is the parameter to reduce."""
    rows = "limit, with next_cursor for the rest" if param == "limit" else "years, limit"
    fewer_companies = "" if param == "limit" else "fewer companies, "
    advice = f"Ask for {fewer_companies}fewer rows ({rows}), fewer metrics or less provenance."
    return invalid_param(
        param, f"The answer would have more than {bound}. {advice}", expected=f"an answer of at most {bound}"
    )


# ---- the company, the query, the book and the prices of a call


def get_selected_company(tx: Transaction, params: Mapping[str, Any]) -> Company:
    """Return the company of ``ticker`` or ``cik``. Raise INVALID_PARAM if neither is given or they disagree."""
    selectors = [params[name] for name in ("ticker", "cik") if params.get(name)]
    if not selectors:
        raise invalid_param("ticker", "A ticker or a cik is required.", expected="ticker or cik")
    selected = [companies.resolve(tx, str(selector)) for selector in selectors]
    if len({company.cik for company in selected}) > 1:
        raise invalid_param("cik", "ticker and cik name different companies.", expected="one of them")
    return selected[0]


def build_query(params: Mapping[str, Any]) -> SeriesQuery:
    """Return the query of a call. Parameters that the endpoint lacks have the defaults of :class:`SeriesQuery`.

    Raise INVALID_PARAM if the query is invalid for every company.
    """
    arguments = {field.name: params[field.name] for field in fields(SeriesQuery) if params.get(field.name) is not None}
    arguments["metrics"] = tuple(arguments.get("metrics", ()))
    arguments["currency"] = get_currency(params)
    query = SeriesQuery(**arguments)
    series_query.check_query(query)
    return query


def get_currency(params: Mapping[str, Any]) -> str | None:
    """Return the requested currency in capital letters, or None."""
    currency: str | None = params.get("currency")
    return None if currency is None else currency.upper()


def get_book(
    call: Call, tx: Transaction, company: Company, as_of: str | None = None, currency: str | None = None
) -> CompanyBook:
    """Return the book of a company, from the cache or the database. Raise NOT_COVERED (404) if it has no figures.

    The book is cached, together with all cells computed from it, until the facts of the company change. Past days
    between two filings share a book, because it takes long to build and a backtest requests many days.
    """
    as_of = as_of or call.params.get("as_of")
    book_day = None if as_of is None else company_books.find_newest_filing_day(tx, company.cik, as_of) or as_of
    cache_key = (company.cik, book_day, currency, company_books.find_stamp(tx, company.cik))
    company_book = call.app.fact_book_cache.get(
        None, cache_key, lambda: company_books.load_cached(tx, company.cik, book_day, currency)
    )
    # In a currency without figures, a book still contains share counts.
    if company_book.is_empty or (currency is not None and not company_book.has_currency(currency)):
        filed_by = f" filed by {as_of}" if as_of else ""
        in_currency = f" in {currency}" if currency is not None else ""
        message = f"finapi has no consolidated figures for {company.name}{in_currency}{filed_by}"
        raise ApiError("NOT_COVERED", f"{message.removesuffix('.')}.", details={"cik": company.padded_cik})
    return company_book


def find_price_source(tx: Transaction, company: Company) -> str | None:
    """Return the origin of a company's prices, "csv" or "synthetic" (invented, as in the demo), or None."""
    company_prices = price_series.find_series_of_ticker(tx, company.ticker)
    return None if company_prices is None else company_prices.source


def _build_links(tx: Transaction, company: Company, query: SeriesQuery) -> SeriesLinks | None:
    """Return the links for a series with full provenance, or None for another one."""
    return SeriesLinks(tx, company.cik) if query.provenance == "full" else None


def _build_series(
    call: Call, tx: Transaction, company: Company, query: SeriesQuery, *, has_links: bool = True
) -> tuple[dict[str, Any], SeriesMeta]:
    """Return the data of a series, whose rows are built lazily, and its metadata.

    Without ``has_links``, cells with full provenance have no links to the printed numbers.
    """
    company_book = get_book(call, tx, company, query.as_of, query.currency)
    # The years before a change of the currency stay rows, unless the query selects a currency.
    other_currencies = company_book.book.other_currencies if query.currency is None else []
    price_splits = [
        (split["date"], Decimal(split["value"]))
        for split in share_splits.list_for_ticker(tx, company.ticker)
        if split["date"] <= (query.as_of or "9")
    ]
    data, meta = metric_series.build_series(
        company_book,
        query,
        price_on_day=price_lookup.build_price_lookup(tx, company),
        price_source=find_price_source(tx, company),
        collect_rows=iter,
        price_splits=price_splits,
        other_books=[get_book(call, tx, company, query.as_of, currency) for currency in other_currencies],
        links=_build_links(tx, company, query) if has_links else None,
    )
    return {**build_company_names(company), **data}, meta


# ---- several companies

BATCH_MAX = 20
MAX_COMPANY_ROWS = 200  # More quarters than any company has filed figures for.
BATCH_BODY = (
    Field("tickers", "words", maximum=BATCH_MAX, help="Tickers.", example="AAPL"),
    Field(
        "ciks",
        "words",
        maximum=BATCH_MAX,
        alternative="tickers",
        help="CIKs, instead of tickers or in addition to them.",
        example="320193",
    ),
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
    Field("limit", "integer", minimum=1, maximum=5000, help="Maximum number of rows of each company."),
    Field("offset", "integer", minimum=0, help="Rows of each company to skip."),
    Field("cursor", "text", help="next_cursor of a company; the pages of all companies begin after it."),
)


class BatchError(TypedDict):
    """The reason why one of several companies has no series."""

    code: str
    message: str


class SeriesResult(TypedDict):
    """The series of one of several companies, or the reason why there is none."""

    selector: str
    status: Literal["success", "error"]
    data: SeriesData | None
    meta: SeriesMeta | None
    error: BatchError | None


class BatchData(TypedDict):
    """One result for each company."""

    results: list[SeriesResult]


class BatchMeta(TypedDict):
    """The number of companies that were requested and found."""

    requested: int
    resolved: int
    errors: int
    batch_max: int
    tokens_note: str


BATCH_SHAPE = Envelope[BatchData, BatchMeta]


def get_series_of_companies(call: Call) -> Response:
    """Return the series of several companies. A company without a series has an error instead."""
    body = call.body
    selectors = list(dict.fromkeys((*body.get("tickers", ()), *body.get("ciks", ()))))
    if not 1 <= len(selectors) <= BATCH_MAX:
        raise invalid_param("tickers", f"Give 1 to {BATCH_MAX} companies.", expected="tickers or ciks")
    query = build_query(body)
    call.acquire_large_slot()
    status_counts = Counter[str]()

    def build_meta() -> BatchMeta:
        return {
            "requested": len(selectors),
            "resolved": status_counts["success"],
            "errors": status_counts["error"],
            "batch_max": BATCH_MAX,
            "tokens_note": "A call costs the same however many companies it asks for.",
        }

    with call.app.db.read() as tx:
        max_rows = len(selectors) * min(query.limit, MAX_COMPANY_ROWS)
        _check_bytes(call, tx, _iter_books(call, tx, selectors, query), query, max_rows=max_rows, param="tickers")
        results = _iter_results(call, tx, selectors, query, status_counts)
        return call.success_bounded({"results": results}, build_meta, lambda bound: build_size_error("tickers", bound))


def _iter_books(
    call: Call, tx: Transaction, selectors: list[str], query: SeriesQuery
) -> Iterator[tuple[Company, CompanyBook]]:
    """Yield the companies that have a series, each with its book."""
    for selector in selectors:
        with suppress(ApiError):
            company = companies.resolve(tx, selector)
            yield company, get_book(call, tx, company, query.as_of, query.currency)


def _iter_results(
    call: Call, tx: Transaction, selectors: list[str], query: SeriesQuery, status_counts: Counter[str]
) -> Iterator[SeriesResult]:
    """Yield the result of each company, and count its status. Raise INVALID_PARAM if there are too many cells."""
    max_cells = cells_left = call.app.config.series_cells
    for selector in selectors:
        result = _build_result(call, tx, selector, query)
        if result["meta"] is not None:
            cells_left = compute_cells_left(result["meta"], cells_left, max_cells, "tickers")
        status_counts[result["status"]] += 1
        yield result


def _build_result(call: Call, tx: Transaction, selector: str, query: SeriesQuery) -> SeriesResult:
    result: Any = {"selector": selector, "status": "success", "data": None, "meta": None, "error": None}
    try:
        result["data"], result["meta"] = _build_series(call, tx, companies.resolve(tx, selector), query)
    except ApiError as error:
        if error.code == "INVALID_PARAM" and (error.details or {}).get("param") != "ticker":
            # The query is invalid for every company.
            raise
        result["status"] = "error"
        result["error"] = {"code": error.code, "message": error.message}
    return result  # type: ignore[no-any-return]
