"""Handlers for filings: the list, one filing and its text, and the filings of a day (DECISIONS 8)."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Literal, NotRequired, TypedDict

from finapi.core.empty_lists import EmptyList, explain_empty_list
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Object, Url
from finapi.market.documents import filing_rows, submission_documents
from finapi.market.documents.filing_rows import FilingDetail, FilingRow
from finapi.market.documents.submission_documents import DocumentBody, NamedBody
from finapi.market.filings import filing_search, lists
from finapi.market.filings.filing_search import FilingOfDay, FilingPosition, FilingQuery, PageRequest
from finapi.market.filings.lists import MissingPage
from finapi.market.reference import companies
from finapi.market.reference.companies import FormerName, TickerHolder
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION_NUMBER, OFFSET, Param, cursor_param, limit_param, offset_param, path_param
from finapi.web.http.route import API
from finapi.web.http.schema import Envelope, WindowMeta


class FilingsPagination(TypedDict):
    """The position of a page in the list of filings."""

    total: int | None
    total_exact: bool | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


class RequestedCompanyMeta(TypedDict):
    """The company whose filings were requested.

    If several companies were requested, only ``requested_ticker`` and ``not_ingested`` are set. ``not_ingested`` lists
    the parts of the SEC's lists of filings that finapi has not read yet.
    """

    requested_ticker: str | None
    primary_ticker: str | None
    cik: str | None
    company: str | None
    former_names: list[FormerName]
    ticker_history: list[TickerHolder]
    not_ingested: list[MissingPage]


class RepeatedPagination(TypedDict):
    """The position of a page, as in all lists, and two of its members repeated one level higher for older clients."""

    pagination: FilingsPagination
    has_more: bool
    next_cursor: str | None


class FilingDays(WindowMeta):
    """The days that a list of filings is limited to."""

    from_date: Date | None
    to_date: Date | None


class FilingsMeta(RepeatedPagination, RequestedCompanyMeta, FilingDays):
    """The metadata of a page of filings. ``empty`` explains why there are none."""

    empty: NotRequired[EmptyList]


class FilingLink(TypedDict):
    """A filing in the list ``/sec/filings``, whose answer has no envelope."""

    accession_number: str
    cik: str
    ticker: str | None
    form_type: str | None
    filed_date: Date | None
    filing_url: Url


class FilingLinksPagination(TypedDict):
    """The position of a page in the list ``/sec/filings``, whose answer has no envelope."""

    next_cursor: str | None
    total: int
    total_exact: bool


class FilingLinks(TypedDict):
    """A page of ``/sec/filings``, the list of filings whose answer has no envelope."""

    filings: list[FilingLink]
    pagination: FilingLinksPagination
    meta: FilingDays


class FilingsOfDay(TypedDict):
    """The filings of a day."""

    date: Date
    accessions: list[FilingOfDay]
    count: int
    has_more: bool
    next_cursor: str | None


class DocumentContent(TypedDict):
    """A document by its URL at the SEC. ``content`` is text, or the base64 of a document that is not text."""

    url: Url
    content_type: str
    size: int  # In bytes.
    encoding: Literal["utf-8", "base64"]
    content: str


LIST_SHAPE = Envelope[list[FilingRow], FilingsMeta]
DETAIL_SHAPE = Envelope[FilingDetail, Object]
CONTENT_SHAPE = Envelope[DocumentContent, Object]

COMPANY_AND_FORM = (
    Param("ticker", "words", help="Tickers (any spelling) or CIKs.", example="AAPL,BRK.B"),
    Param("cik", "words", word_kind="cik", help="CIKs, with or without leading zeros.", example="0000320193"),
    Param(
        "form_type",
        "words",
        help="Exact forms: 10-K does not match 10-K/A, but 10-K* matches both.",
        example="10-K,10-Q",
    ),
)
DAYS = (
    Param("from_date", "date", is_window=True, help="Filed on this day or later.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Filed on this day or earlier.", example="2025-12-31"),
)
_LIMIT = limit_param(50, 500)
_CURSOR = cursor_param("2025-05-02_32019325000057", "([0-9]{4}-[0-9]{2}-[0-9]{2})?_[0-9]{1,18}")
_Q = Param(
    "q",
    help="Words that must all appear in a name (also a former one), a description, or an 8-K item's number or title; "
    f"400 if they match more than {filing_search.MAX_WORD_TERMS} of these.",
    example="restatement",
)
LIST_PARAMS = (
    *COMPANY_AND_FORM,
    _Q,
    Param(
        "items",
        "words",
        pattern=r"[1-9]\.[0-9]{2}|[1-9]|1[0-2]|0[4-6][bc]?|0[4-6]\.[1-3]|3C(?:\.[1-9][0-9]?)?|4a5",
        help="Items of a Form 8-K, SD or ABS-15G, or codes of the exemptions that a Form D claims (06b, 3C.7).",
        example="2.02,9.01",
    ),
    Param("exhibits", "words", help="Exhibit types; only finds filings whose documents are known.", example="EX-99.1"),
    *DAYS,
    Param(
        "sort",
        default="filed_date:desc",
        allowed=("filed_date:desc", "filed_date:asc", "filed_at:desc", "filed_at:asc"),
        aliases=(("desc", "filed_date:desc"), ("asc", "filed_date:asc")),
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
    Param("length", "integer", minimum=1, help="Maximum number of characters.", example="10000"),
    Param(
        "max_bytes",
        "integer",
        minimum=1,
        help="Maximum number of bytes in UTF-8; no character is split.",
        example="65536",
    ),
    Param(
        "plain",
        "boolean",
        default=False,
        help="The text without tags, scripts and hidden facts: what /sec/filings/search counts its offsets in.",
        example="true",
    ),
)
DOCUMENT_PARAMS = (
    ACCESSION_NUMBER,
    path_param("document", help="The position in the submission, or the file name.", example="1"),
    *(replace(param, help=f"{param.help} Of HTML and text only.") for param in TEXT_PARAMS[1:]),
)
# The URL of a document of a filing: the CIK of a party, the accession number without dashes, and the file name.
_ARCHIVE_URL = (
    r"https?://www\.sec\.gov/(?:ix\?doc=/)?Archives/edgar/data/[0-9]{1,10}/"
    r"([0-9]{10})([0-9]{2})([0-9]{6})/([A-Za-z0-9_-]{1,60}\.[A-Za-z0-9_.-]{1,59})"
)
URL_PARAMS = (
    Param(
        "url",
        required=True,
        pattern=_ARCHIVE_URL,
        help="The URL of a document of a filing at the SEC.",
        example="https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/aapl-20250329.htm",
    ),
    Param("raw", allowed=("false",), aliases=(("0", "false"),), help="No other value is served.", example="false"),
)
LINKS_PARAMS = (*COMPANY_AND_FORM, _Q, *DAYS, _LIMIT, _CURSOR)
DAY_PARAMS = (
    Param("date", "date", required=True, help="The filing date.", example="2025-05-02"),
    limit_param(1_000, 5_000),
    OFFSET,
    cursor_param("32019325000057", "[0-9]{1,18}"),
)

# The Content-Security-Policy of a filed document. From finapi's address it must not run, load or send anything. The
# directive ``sandbox`` also gives it an origin of its own. Embedded pictures and its own styles are allowed.
INERT_DOCUMENT_CSP = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"
_DOCUMENT_HEADERS = {"Content-Security-Policy": INERT_DOCUMENT_CSP, "Referrer-Policy": "no-referrer"}
# A browser may show these. It saves all other binary documents, which could contain scripts.
_SHOWN_MEDIA = ("jpeg", "gif", "png")
_TEXT_MEDIA = ("html", "text", "xml")


def list_filings(call: Call) -> Response:
    """Return a page of the filings that match the parameters, with an envelope."""
    params = call.params
    with call.app.db.read() as tx:
        requested = _find_requested_companies(tx, call)
        query = _build_query(tx, call, requested)
        filings, next_cursor = _list_page(tx, call, query)
        total: int | None = None
        is_total_exact: bool | None = None
        if params["include_total"]:
            total, is_total_exact = filing_search.count_filings(tx, query)
        pagination: FilingsPagination = {
            "total": total,
            "total_exact": is_total_exact,
            "limit": params["limit"],
            "offset": params["offset"],
            "has_more": next_cursor is not None,
            "next_cursor": next_cursor,
        }
        meta: FilingsMeta = {
            "pagination": pagination,
            "has_more": next_cursor is not None,
            "next_cursor": next_cursor,
            **_build_company_meta(tx, call, requested),
            **call.build_window_meta(filing_search.count_undated(tx, query)),  # type: ignore[typeddict-item]
        }
        if not filings:
            meta["empty"] = _explain_empty(tx, call, requested)
    return call.success_rows(filings, meta)


def _explain_empty(tx: Transaction, call: Call, requested: list[companies.Company] | None) -> EmptyList:
    """Return the reason why no filing is listed, and the forms that the requested companies have filed."""
    is_later_page = call.params["cursor"] is not None or call.params["offset"] > 0
    if requested is None:
        return explain_empty_list("filing", None, is_later_page=is_later_page)
    names = " and ".join(company.name for company in requested)
    available = filing_search.list_form_counts(tx, [company.cik for company in requested])
    return explain_empty_list("filing", names, available, is_later_page=is_later_page)


def get_filing(call: Call) -> Response:
    """Return one filing. Raise ApiError NOT_FOUND if it is not stored."""
    with call.app.db.read() as tx:
        filing = filing_rows.find_filing(tx, call.params["accession_number"])
    if filing is None:
        raise ApiError("NOT_FOUND", "finapi has no filing with this accession number.")
    return call.success(filing, {})


def get_filing_text(call: Call) -> Response:
    """Return the text of a filing's primary document, or a part of it, as a page without scripts or as plain text.

    Raise ApiError NOT_FOUND if the text is not stored.
    """
    with call.app.db.read() as tx:
        primary_text = submission_documents.find_primary_text(tx, call.params["accession_number"])
    if primary_text is None:
        raise ApiError("NOT_FOUND", "finapi does not have the text of this filing.")
    return _render_text(call, primary_text)


def get_document(call: Call) -> Response:
    """Return a stored document of a filing: HTML or text like the primary document, other documents as filed.

    Raise ApiError NOT_FOUND if the filing's list does not contain it, or if its content is not stored.
    """
    params = call.params
    with call.app.db.read() as tx:
        document = submission_documents.find_document(tx, params["accession_number"], params["document"])
    content = _get_stored_content(document)
    if content.media in _TEXT_MEDIA:
        return _render_text(call, content)
    headers = {**_DOCUMENT_HEADERS}
    if content.media not in _SHOWN_MEDIA:
        filename = document.filename if document else None
        headers["Content-Disposition"] = f'attachment; filename="{filename or "document"}"'
    return Response(200, content.body, submission_documents.MEDIA_TYPES[content.media], headers)


def get_document_by_url(call: Call) -> Response:
    """Return a stored document by its URL at the SEC, as JSON that contains it.

    Raise ApiError NOT_FOUND if the document is not stored.
    """
    url = call.params["url"]
    match = re.fullmatch(_ARCHIVE_URL, url)
    assert match is not None  # The parameter has this pattern.
    accession, filename = "-".join(match.groups()[:3]), match[4]
    with call.app.db.read() as tx:
        document = submission_documents.find_document(tx, accession, filename)
    content = _get_stored_content(document)
    is_text = content.media in _TEXT_MEDIA
    record: DocumentContent = {
        "url": url,
        "content_type": submission_documents.MEDIA_TYPES[content.media],
        "size": len(content.body),
        "encoding": "utf-8" if is_text else "base64",
        "content": content.body.decode() if is_text else base64.b64encode(content.body).decode(),
    }
    path = f"{API}/sec/filings/{accession}/documents/{filename}"
    return call.success_bounded(
        record, dict, lambda bound: invalid_param("url", f"The document exceeds {bound}; request {path}.")
    )


def _get_stored_content(document: NamedBody | None) -> DocumentBody:
    """Return the content of a document. Raise ApiError NOT_FOUND if there is none."""
    if document is None:
        message = "finapi knows no such document of this filing; see documents in GET /sec/filings/{accession_number}."
        raise ApiError("NOT_FOUND", message)
    if document.content is None:
        message = f"finapi knows this document of {document.size:,} bytes, but has not stored its content."
        raise ApiError("NOT_FOUND", message)
    return document.content


def _render_text(call: Call, content: DocumentBody) -> Response:
    """Return the requested part of a text, as a page without scripts or as plain text."""
    params = call.params
    is_plain = params["plain"] is True
    text = content.to_plain_text() if is_plain else content.body.decode()
    start = params["offset"]
    end = None if params["length"] is None else start + params["length"]
    part = text[start:end].encode()
    if params["max_bytes"] is not None:
        # Dropping undecodable bytes removes a character that was cut in half.
        part = part[: params["max_bytes"]].decode(errors="ignore").encode()
    media = "text" if is_plain else content.media
    headers = {**_DOCUMENT_HEADERS, "X-Total-Characters": str(len(text))}
    return Response(200, part, submission_documents.MEDIA_TYPES[media], headers)


def list_filing_links(call: Call) -> Response:
    """Return a page of the filings that match the parameters, without an envelope."""
    with call.app.db.read() as tx:
        query = build_query(tx, call)
        filings, next_cursor = _list_page(tx, call, query)
        total, is_total_exact = filing_search.count_filings(tx, query)
        window_meta = call.build_window_meta(filing_search.count_undated(tx, query))
    links: list[FilingLink] = [
        {
            "accession_number": filing["accession_number"],
            "cik": filing["cik"],
            "ticker": filing["ticker"],
            "form_type": filing["form_type"],
            "filed_date": filing["filed_date"],
            "filing_url": filing["primary_link"],
        }
        for filing in filings
    ]
    pagination: FilingLinksPagination = {"next_cursor": next_cursor, "total": total, "total_exact": is_total_exact}
    table_response = call.render_requested_table(links, {"pagination": pagination, **window_meta})
    return table_response or call.bare_object({"filings": links, "pagination": pagination, "meta": window_meta})


def list_filings_of_day(call: Call) -> Response:
    """Return a page of the accession numbers of a day."""
    day = call.params["date"]
    limit = call.params["limit"]
    after = int(call.params["cursor"] or 0)
    with call.app.db.read() as tx:
        # Read one row more than the page has, to know if there is a next page.
        filings = filing_search.list_filings_of_day(tx, day, limit=limit + 1, offset=call.params["offset"], after=after)
        count = filing_search.count_filings_of_day(tx, day)
    page = filings[:limit]
    has_more = len(filings) > limit
    next_cursor = page[-1]["accession_number"].replace("-", "").lstrip("0") if has_more else None
    paging = {"has_more": has_more, "next_cursor": next_cursor}
    table_response = call.render_requested_table(page, paging)
    return table_response or call.bare_object({"date": day, "accessions": page, "count": count, **paging})


def build_query(tx: Transaction, call: Call) -> FilingQuery:
    """Return the query for the filings that the parameters request. Raise ApiError INVALID_PARAM if it is invalid."""
    return _build_query(tx, call, _find_requested_companies(tx, call))


def _find_requested_companies(tx: Transaction, call: Call) -> list[companies.Company] | None:
    """Return the companies that ``ticker`` and ``cik`` select, each if it is given. Return None if neither is given."""
    selections: list[dict[int, companies.Company]] = []  # The companies of each given parameter, by CIK.
    for identifiers in (call.params["ticker"], call.params["cik"]):
        if identifiers is not None:
            resolved = [companies.resolve(tx, str(identifier)) for identifier in identifiers]
            selections.append({company.cik: company for company in resolved})
    if not selections:
        return None
    first_selection, last_selection = selections[0], selections[-1]
    return [company for cik, company in first_selection.items() if cik in last_selection]


def _build_query(tx: Transaction, call: Call, requested: list[companies.Company] | None) -> FilingQuery:
    params = call.params
    try:
        forms = filing_search.match_forms(tx, params["form_type"] or ())
    except ValueError as error:
        raise invalid_param(
            "form_type", f"form_type: {error}", expected="known forms, with * for any characters"
        ) from None
    items = tuple(params.get("items") or ())
    unknown_items = filing_search.list_unknown_items(tx, items)
    if unknown_items:
        message = f"{unknown_items[0]} is neither an item of Form 8-K nor an item of any stored filing."
        raise invalid_param("items", message, expected="2.02,9.01")
    exhibits = [f"EX-{exhibit.upper().removeprefix('EX-')}" for exhibit in params.get("exhibits") or ()]
    # A list for a past day has its last day as a limit, so that the index scan starts there and its total is bounded.
    last_days = [day for day in (params["to_date"], params.get("as_of")) if day is not None]
    return FilingQuery(
        ciks=None if requested is None else tuple(company.cik for company in requested),
        forms=forms,
        items=items,
        exhibits=tuple(exhibits),
        first_day=params["from_date"],
        last_day=min(last_days, default=None),
        word_terms=_find_matching_terms(tx, params.get("q")),
    )


def _find_matching_terms(tx: Transaction, text: str | None) -> tuple[str, ...] | None:
    """Return the terms that match the words of ``q``, or None if it is not given."""
    if text is None:
        return None
    try:
        return filing_search.match_terms(tx, text)
    except ValueError as error:
        raise invalid_param("q", f"q: {error}", expected="more specific words, or cik, ticker and form_type") from None


def _list_page(tx: Transaction, call: Call, query: FilingQuery) -> tuple[list[FilingRow], str | None]:
    """Return the filings of the requested page, and the cursor of the next page or None."""
    params = call.params
    limit = params["limit"]
    after = None
    if params["cursor"]:
        day, _, number = params["cursor"].partition("_")
        after = FilingPosition(day, int(number))
    page = PageRequest(
        limit=limit + 1,
        newest_first=not params.get("sort", "").endswith("asc"),
        after=after,
        skip=params.get("offset", 0),
    )
    positions = filing_search.list_positions(tx, query, page)
    accessions = [filing_search.get_accession(position) for position in positions[:limit]]
    filings = filing_rows.list_filings(tx, accessions)
    if len(positions) <= limit:
        return filings, None
    last_position = positions[limit - 1]
    return filings, f"{last_position.filed_at}_{last_position.number}"


def _build_company_meta(tx: Transaction, call: Call, requested: list[companies.Company] | None) -> RequestedCompanyMeta:
    """Return the metadata of the requested companies."""
    tickers = call.params["ticker"]
    missing_pages = []
    for requested_company in requested or ():
        missing_pages += lists.list_missing_pages(tx, requested_company.cik)
    meta: RequestedCompanyMeta = {
        "requested_ticker": ",".join(tickers) if tickers else None,
        "primary_ticker": None,
        "cik": None,
        "company": None,
        "former_names": [],
        "ticker_history": [],
        "not_ingested": missing_pages,
    }
    if not requested or len(requested) > 1:
        return meta
    company = requested[0]
    meta["primary_ticker"] = companies.get_by_cik(tx, company.cik).ticker
    meta["cik"] = company.padded_cik
    meta["company"] = company.name
    meta["former_names"] = companies.list_former_names(tx, company.cik)
    if tickers and not tickers[0].isdigit():
        holders = companies.list_ticker_holders(tx, tickers[0])
        if len(holders) > 1:
            # The ticker also belongs, or belonged, to other companies.
            meta["ticker_history"] = holders
    return meta
