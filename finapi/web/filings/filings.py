"""Filings over HTTP: the list, one filing and its text, the filings of a day (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Object, Url
from finapi.market.documents import filing_rows, submission_documents
from finapi.market.documents.filing_rows import FilingDetail, FilingRow
from finapi.market.filings import filing_search, lists
from finapi.market.filings.filing_search import FilingOfDay, FilingPosition, FilingQuery, PageRequest
from finapi.market.filings.lists import PageNotIngested
from finapi.market.reference import companies
from finapi.market.reference.companies import FormerName, TickerHolder
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION_NUMBER, OFFSET, Param, cursor_param, limit_param, offset_param
from finapi.web.http.schema import Envelope, WindowMeta


class FilingsPage(TypedDict):
    """Which part of the list of filings an answer is."""

    total: int | None
    total_exact: bool | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


class CompanyOfFilings(TypedDict):
    """Whose filings were asked for; of several companies only what is not held of their lists."""

    requested_ticker: str | None
    primary_ticker: str | None
    cik: str | None
    company: str | None
    former_names: list[FormerName]
    ticker_history: list[TickerHolder]
    not_ingested: list[PageNotIngested]


class FilingsPaging(TypedDict):
    """The same in the members that tables and older clients read."""

    pagination: FilingsPage
    has_more: bool
    next_cursor: str | None


class FilingDays(WindowMeta):
    """The days that a list of filings is narrowed to."""

    from_date: Date | None
    to_date: Date | None


class FilingsMeta(FilingsPaging, CompanyOfFilings, FilingDays):
    """What is said of a page of filings."""


class FilingLink(TypedDict):
    """A filing in the list without an envelope."""

    accession_number: str
    cik: str
    ticker: str | None
    form_type: str | None
    filed_date: Date | None
    filing_url: Url


class LinksPage(TypedDict):
    """Which part of that list an answer is."""

    next_cursor: str | None
    total: int
    total_exact: bool


class FilingLinks(TypedDict):
    """The list without an envelope."""

    filings: list[FilingLink]
    pagination: LinksPage
    meta: FilingDays


class FilingsOfDay(TypedDict):
    """The filings of a day."""

    date: Date
    accessions: list[FilingOfDay]
    count: int
    has_more: bool
    next_cursor: str | None


LIST = Envelope[list[FilingRow], FilingsMeta]
DETAIL = Envelope[FilingDetail, Object]

COMPANY_AND_FORM = (
    Param("ticker", "words", help="Tickers (any spelling) or CIKs.", example="AAPL,BRK.B"),
    Param("cik", "words", word_kind="cik", help="CIKs, with or without leading zeros.", example="0000320193"),
    Param("form_type", "words", help="Forms, exactly: 10-K is not 10-K/A; 10-K* is both.", example="10-K,10-Q"),
)
DAYS = (
    Param("from_date", "date", is_window=True, help="Filed on this day or later.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Filed on this day or earlier.", example="2025-12-31"),
)
_LIMIT = limit_param(50, 500)
_CURSOR = cursor_param("2025-05-02_32019325000057", "([0-9]{4}-[0-9]{2}-[0-9]{2})?_[0-9]{1,18}")
_Q = Param(
    "q",
    help="Words that all stand in a name (also a former one), a description, or an 8-K item's number or title; "
    f"400 when they stand for more than {filing_search.MAX_WORD_TERMS} of those.",
    example="restatement",
)
LIST_PARAMS = (
    *COMPANY_AND_FORM,
    _Q,
    Param("items", "words", pattern=r"[1-9]\.[0-9]{2}|[1-9]|1[0-2]", help="Items of an 8-K.", example="2.02,9.01"),
    Param("exhibits", "words", help="Exhibit types, of filings whose documents are known.", example="EX-99.1"),
    *DAYS,
    Param(
        "sort",
        default="filed_date:desc",
        allowed=("filed_date:desc", "filed_date:asc", "filed_at:desc", "filed_at:asc"),
        help="Newest or oldest first; within a day by accession number.",
        example="filed_date:desc",
    ),
    _LIMIT,
    OFFSET,
    _CURSOR,
    Param(
        "include_total",
        "boolean",
        default=True,
        help="Whether to count all filings that match. Where they must be counted one by one, counting stops at "
        f"{filing_search.MAX_COUNTED} and total_exact is false.",
        example="false",
    ),
)
DETAIL_PARAMS = (ACCESSION_NUMBER,)
TEXT_PARAMS = (
    ACCESSION_NUMBER,
    offset_param(noun="Characters"),
    Param("length", "integer", minimum=1, help="Characters at most.", example="10000"),
    Param("max_bytes", "integer", minimum=1, help="Bytes of UTF-8 at most; no character is cut.", example="65536"),
    Param(
        "plain",
        "boolean",
        default=False,
        help="The text without tags, scripts and hidden facts: what /sec/filings/search counts its offsets in.",
        example="true",
    ),
)
BARE_PARAMS = (*COMPANY_AND_FORM, _Q, *DAYS, _LIMIT, _CURSOR)
DAY_PARAMS = (
    Param("date", "date", required=True, help="The filing date.", example="2025-05-02"),
    limit_param(1_000, 5_000),
    OFFSET,
    cursor_param("32019325000057", "[0-9]{1,18}"),
)

# Nothing of a filed document may run, load or send anything from our address (CSP 3; sandbox without a token
# also gives it an origin of its own). Pictures it carries itself, and its own styles, may show.
INERT = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"


def list_filings(call: Call) -> Response:
    """The filings that the parameters ask for, a page at a time."""
    params = call.params
    with call.app.db.read() as tx:
        asked = _companies(tx, call)
        question = _question(tx, call, asked)
        rows, following = _page(tx, call, question)
        total, exact = filing_search.count_filings(tx, question) if params["include_total"] else (None, None)
        paging: FilingsPage = {
            "total": total,
            "total_exact": exact,
            "limit": params["limit"],
            "offset": params["offset"],
            "has_more": following is not None,
            "next_cursor": following,
        }
        meta: FilingsMeta = {
            "pagination": paging,
            "has_more": following is not None,
            "next_cursor": following,
            **_asked_for(tx, call, asked),
            **call.build_window_meta(filing_search.count_undated(tx, question)),  # type: ignore[typeddict-item]
        }
    return call.success_rows(rows, meta)


def get_filing(call: Call) -> Response:
    """One filing."""
    with call.app.db.read() as tx:
        found = filing_rows.find_filing(tx, call.params["accession_number"])
    if found is None:
        raise ApiError("NOT_FOUND", "finapi has no filing with this accession number.")
    return call.success(found, {})


def get_filing_text(call: Call) -> Response:
    """The primary document of a filing, inert: nothing in it runs or loads anything."""
    with call.app.db.read() as tx:
        found = submission_documents.find_primary_text(tx, call.params["accession_number"])
    if found is None:
        raise ApiError("NOT_FOUND", "finapi does not have the text of this filing.")
    plain = call.params["plain"] is True
    whole = found.to_plain_text() if plain else found.body.decode()
    first, length = call.params["offset"], call.params["length"]
    part = whole[first : None if length is None else first + length].encode()
    if call.params["max_bytes"] is not None:
        part = part[: call.params["max_bytes"]].decode(errors="ignore").encode()
    return Response(
        200,
        part,
        f"text/{'html' if found.media == 'html' and not plain else 'plain'}; charset=utf-8",
        {"Content-Security-Policy": INERT, "X-Total-Characters": str(len(whole)), "Referrer-Policy": "no-referrer"},
    )


def list_filing_links(call: Call) -> Response:
    """The filings without their envelope, by cursor."""
    with call.app.db.read() as tx:
        question = build_query(tx, call)
        rows, following = _page(tx, call, question)
        total, exact = filing_search.count_filings(tx, question)
        windows = call.build_window_meta(filing_search.count_undated(tx, question))
    shown: list[FilingLink] = [
        {
            "accession_number": row["accession_number"],
            "cik": row["cik"],
            "ticker": row["ticker"],
            "form_type": row["form_type"],
            "filed_date": row["filed_date"],
            "filing_url": row["primary_link"],
        }
        for row in rows
    ]
    paging: LinksPage = {"next_cursor": following, "total": total, "total_exact": exact}
    table = call.render_requested_table(shown, {"pagination": paging, **windows})
    return table or call.bare_object({"filings": shown, "pagination": paging, "meta": windows})


def list_filings_of_day(call: Call) -> Response:
    """The accession numbers of a day."""
    day, most, after = call.params["date"], call.params["limit"], int(call.params["cursor"] or 0)
    with call.app.db.read() as tx:
        found = filing_search.list_filings_of_day(tx, day, limit=most + 1, offset=call.params["offset"], after=after)
        count = filing_search.count_filings_of_day(tx, day)
    more, shown = len(found) > most, found[:most]
    last = shown[-1]["accession_number"].replace("-", "").lstrip("0") if more else None
    paging = {"has_more": more, "next_cursor": last}
    return call.render_requested_table(shown, paging) or call.bare_object(
        {"date": day, "accessions": shown, "count": count, **paging}
    )


def build_query(tx: Transaction, call: Call) -> FilingQuery:
    """Which filings the parameters ask for."""
    return _question(tx, call, _companies(tx, call))


def _companies(tx: Transaction, call: Call) -> list[companies.Company] | None:
    """The companies that ``ticker`` and ``cik`` both name; None when neither is given."""
    by_ticker, by_cik = call.params["ticker"], call.params["cik"]
    found = [
        {company.cik: company for company in (companies.resolve(tx, str(word)) for word in words)}
        for words in (by_ticker, by_cik)
        if words is not None
    ]
    if not found:
        return None
    return [company for cik, company in found[0].items() if all(cik in one for one in found)]


def _question(tx: Transaction, call: Call, asked: list[companies.Company] | None) -> FilingQuery:
    params = call.params
    try:
        forms = filing_search.match_forms(tx, params["form_type"] or ())
    except ValueError as error:
        raise invalid_param(
            "form_type", f"form_type: {error}", expected="forms that are held, * for any letters"
        ) from None
    if wrong := filing_search.list_unknown_items(tx, params.get("items") or ()):
        raise invalid_param("items", f"There is no item {wrong[0]} of a Form 8-K.", expected="2.02,9.01")
    return FilingQuery(
        None if asked is None else tuple(company.cik for company in asked),
        forms,
        tuple(params.get("items") or ()),
        tuple(f"EX-{one.upper().removeprefix('EX-')}" for one in params.get("exhibits") or ()),
        params["from_date"],
        params["to_date"],
        _named(tx, params.get("q")),
    )


def _named(tx: Transaction, text: str | None) -> tuple[str, ...] | None:
    try:
        return None if text is None else filing_search.match_terms(tx, text)
    except ValueError as error:
        raise invalid_param("q", f"q: {error}", expected="words that narrow it, or cik, ticker and form_type") from None


def _page(tx: Transaction, call: Call, question: FilingQuery) -> tuple[list[FilingRow], str | None]:
    """The rows of the page that is asked for, and the cursor of the next one."""
    params = call.params
    limit, after = params["limit"], None
    if params["cursor"]:
        day, _, number = params["cursor"].partition("_")
        after = FilingPosition(day, int(number))
    oldest_first = params.get("sort", "").endswith("asc")
    page = PageRequest(limit + 1, not oldest_first, after, params.get("offset", 0))
    places = filing_search.list_positions(tx, question, page)
    rows = filing_rows.list_filings(tx, [filing_search.get_accession(place) for place in places[:limit]])
    last = places[limit - 1] if len(places) > limit else None
    return rows, None if last is None else f"{last.filed_at}_{last.number}"


def _asked_for(tx: Transaction, call: Call, asked: list[companies.Company] | None) -> CompanyOfFilings:
    words = call.params["ticker"]
    company = asked[0] if asked and len(asked) == 1 else None
    holders = companies.list_ticker_holders(tx, words[0]) if company and words and not words[0].isdigit() else []
    return {
        "requested_ticker": ",".join(words) if words else None,
        "primary_ticker": companies.get_by_cik(tx, company.cik).ticker if company else None,
        "cik": company.padded_cik if company else None,
        "company": company.name if company else None,
        "former_names": companies.list_former_names(tx, company.cik) if company else [],
        # Of a ticker that others bear or bore too: who, and who bears it today.
        "ticker_history": holders if len(holders) > 1 else [],
        "not_ingested": [page for one in asked or () for page in lists.list_missing_pages(tx, one.cik)],
    }
