"""Filings over HTTP: the list, one filing and its text, the filings of a day (CONTRACT 8)."""

from __future__ import annotations

import re
from typing import Any

from finapi.db import Transaction
from finapi.edgar import identity
from finapi.errors import ApiError, invalid_param
from finapi.market import catalogue, companies, contents, lists
from finapi.market.catalogue import Page, Place, Question
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, TEXT, TIME, URL, array, const, envelope, nullable, obj

_PAPERS = array(obj(type=TEXT, document=nullable(TEXT), description=nullable(TEXT), size=TEXT))
_ROW: dict[str, Any] = {
    "id": INTEGER,
    "accession_number": TEXT,
    "ticker": nullable(TEXT),
    "form_type": nullable(TEXT),
    "cik": TEXT,
    "entity_name": TEXT,
    "company_name": TEXT,
    "title": TEXT,
    "filing_size": nullable(TEXT),
    "filed_date": nullable(DATE),
    "filed_at": nullable(DATE),
    "accepted_at": nullable(TIME),
    "updated_at": nullable(TIME),
    "primary_link": URL,
    "primary_html_url": nullable(URL),
    "primary_description": nullable(TEXT),
    "document_files": _PAPERS,
    "data_files": _PAPERS,
    "items": array(TEXT),
    "period_of_report": nullable(DATE),
    "sic": nullable(TEXT),
    "all_links": array(URL),
    "is_xbrl": nullable(BOOLEAN),
    "first_seen_at": nullable(TIME),
    "last_seen_at": nullable(TIME),
}
_MISSING = array(
    obj(page=TEXT, filings=nullable(INTEGER), first_filed=nullable(DATE), last_filed=nullable(DATE))
)
_BEARERS = array(obj(cik=TEXT, company_name=TEXT, ticker=TEXT, as_of=nullable(DATE), current=BOOLEAN))

LIST_SHAPE = envelope(
    array(obj(**_ROW)),
    obj(
        pagination=obj(
            total=nullable(INTEGER),
            total_exact=nullable(BOOLEAN),
            limit=INTEGER,
            offset=INTEGER,
            has_more=BOOLEAN,
            next_cursor=nullable(TEXT),
        ),
        has_more=BOOLEAN,
        next_cursor=nullable(TEXT),
        requested_ticker=nullable(TEXT),
        primary_ticker=nullable(TEXT),
        cik=nullable(TEXT),
        company=nullable(TEXT),
        former_names=array(obj(name=TEXT, from_date=nullable(DATE), to_date=nullable(DATE))),
        ticker_history=_BEARERS,
        not_ingested=_MISSING,
    ),
)
_PARTY = obj(cik=TEXT, company_name=TEXT, ticker=nullable(TEXT), role=nullable(TEXT))
DETAIL_SHAPE = envelope(obj(**_ROW, raw_entry_xml=const(None), parties=array(_PARTY), has_html=BOOLEAN))
BARE_SHAPE = obj(
    filings=array(
        obj(
            accession_number=TEXT,
            cik=TEXT,
            ticker=nullable(TEXT),
            form_type=nullable(TEXT),
            filed_date=nullable(DATE),
            filing_url=URL,
        )
    ),
    pagination=obj(next_cursor=nullable(TEXT), total=INTEGER, total_exact=BOOLEAN),
)
DAY_SHAPE = obj(
    date=DATE,
    accessions=array(
        obj(accession_number=TEXT, cik=TEXT, form_type=nullable(TEXT), accepted_at=nullable(TIME))
    ),
    count=INTEGER,
    has_more=BOOLEAN,
    next_cursor=nullable(TEXT),
)

_TICKER = Param("ticker", "words", help="Tickers (any spelling) or CIKs.", example="AAPL,BRK.B")
_CIK = Param("cik", "words", help="CIKs, bare or padded.", example="0000320193")
_FORM = Param("form_type", "words", help="Forms, exactly: 10-K is not 10-K/A.", example="10-K,10-Q")
_FROM = Param("from_date", "date", help="Filed on this day or later.", example="2025-01-01")
_TO = Param("to_date", "date", help="Filed on this day or earlier.", example="2025-12-31")
_CURSOR = Param("cursor", help="The next_cursor of the page before.", example="2025-05-02_32019325000057")
_ACCESSION = Param(
    "accession_number",
    place="path",
    required=True,
    help="With or without dashes.",
    example="0000320193-25-000057",
)


def _limit(default: int, most: int) -> Param:
    return Param(
        "limit",
        "integer",
        default=default,
        least=1,
        most=most,
        clamp=True,
        help="Rows.",
        example=str(default),
    )


LIST_PARAMS = (
    _TICKER,
    _CIK,
    _FORM,
    Param("items", "words", help="Items of an 8-K.", example="2.02,9.01"),
    Param(
        "exhibits", "words", help="Exhibit types, of filings whose documents are known.", example="EX-99.1"
    ),
    _FROM,
    _TO,
    Param(
        "sort",
        default="filed_date:desc",
        allowed=("filed_date:desc", "filed_date:asc", "filed_at:desc", "filed_at:asc"),
        help="Newest or oldest first; within a day by accession number.",
        example="filed_date:desc",
    ),
    _limit(50, 500),
    Param(
        "offset",
        "integer",
        default=0,
        least=0,
        most=catalogue.MOST_SKIPPED,
        help="Rows to pass over; a cursor goes further.",
        example="50",
    ),
    _CURSOR,
    Param(
        "include_total",
        "boolean",
        default=True,
        help="Whether the answer counts all that fit. Where they must be counted one by one, counting ends at "
        f"{catalogue.MOST_COUNTED} and total_exact is false.",
        example="false",
    ),
)
DETAIL_PARAMS = (_ACCESSION,)
TEXT_PARAMS = (
    _ACCESSION,
    Param("offset", "integer", default=0, least=0, help="Characters to pass over.", example="0"),
    Param("length", "integer", least=1, help="Characters at most.", example="10000"),
    Param(
        "max_bytes", "integer", least=1, help="Bytes of UTF-8 at most; no character is cut.", example="65536"
    ),
)
BARE_PARAMS = (_TICKER, _CIK, _FORM, _FROM, _TO, _limit(50, 500), _CURSOR)
DAY_PARAMS = (
    Param("date", "date", required=True, help="The filing date.", example="2025-05-02"),
    Param("format", default="json", allowed=("json",), help="The only format.", example="json"),
    _limit(1_000, 5_000),
    Param("cursor", "text", help="The next_cursor of the page before.", example="32019325000057"),
)

# Nothing of a filed document may run, load or send anything from our address (CSP 3; sandbox without a token
# also gives it an origin of its own). Pictures it carries itself, and its own styles, may show.
INERT = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"


def listed(call: Call) -> Response:
    """The filings that the parameters ask for, a page at a time."""
    params = call.params
    limit, offset = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        asked = _companies(tx, call)
        question = _question(call, asked)
        after = _after(params["cursor"])
        page = Page(offset + limit + 1, params["sort"].endswith("desc"), after)
        places = catalogue.places(tx, question, page)[offset:]
        rows = catalogue.rows(tx, [catalogue.accession_of(place) for place in places[:limit]])
        total, exact = catalogue.total(tx, question) if params["include_total"] else (None, None)
        more = len(places) > limit
        cursor = _cursor(places[limit - 1]) if more else None
        meta = {
            "pagination": {
                "total": total, "total_exact": exact, "limit": limit, "offset": offset, "has_more": more,
                "next_cursor": cursor,
            },
            "has_more": more,
            "next_cursor": cursor,
            **_of_company(tx, call, asked),
        }  # fmt: skip
    return call.rows(rows, meta)


def detail(call: Call) -> Response:
    """One filing."""
    with call.app.db.read() as tx:
        found = catalogue.detail(tx, _accession(call))
    if found is None:
        raise ApiError("NOT_FOUND", "No filing with this accession number is known.")
    return call.success(found, {})


def text(call: Call) -> Response:
    """The primary document of a filing, inert: nothing in it runs or loads anything."""
    accession = _accession(call)
    with call.app.db.read() as tx:
        found = contents.primary(tx, accession)
    if found is None:
        raise ApiError("NOT_FOUND", "The text of this filing is not held.")
    whole = found.body.decode()
    offset, length = call.params["offset"], call.params["length"]
    part = whole[offset : None if length is None else offset + length].encode()
    if call.params["max_bytes"] is not None:
        part = part[: call.params["max_bytes"]].decode(errors="ignore").encode()
    return Response(
        200,
        part,
        f"text/{'html' if found.media == 'html' else 'plain'}; charset=utf-8",
        {
            "Content-Security-Policy": INERT,
            "X-Total-Characters": str(len(whole)),
            "Referrer-Policy": "no-referrer",
        },
    )


def bare(call: Call) -> Response:
    """The filings without their envelope, by cursor."""
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        question = _question(call, _companies(tx, call))
        places = catalogue.places(tx, question, Page(limit + 1, after=_after(call.params["cursor"])))
        rows = catalogue.rows(tx, [catalogue.accession_of(place) for place in places[:limit]])
        total, exact = catalogue.total(tx, question)
    shown = [
        {name: row[name] for name in ("accession_number", "cik", "ticker", "form_type", "filed_date")}
        | {"filing_url": row["primary_link"]}
        for row in rows
    ]
    cursor = _cursor(places[limit - 1]) if len(places) > limit else None
    paging = {"next_cursor": cursor, "total": total, "total_exact": exact}
    return call.table(shown, paging) or call.plain({"filings": shown, "pagination": paging})


def of_day(call: Call) -> Response:
    """The accession numbers of a day."""
    day, limit, cursor = call.params["date"], call.params["limit"], call.params["cursor"] or "0"
    if not re.fullmatch("[0-9]{1,18}", cursor):
        raise invalid_param("cursor", "That is no cursor.", expected="next_cursor of a page")
    with call.app.db.read() as tx:
        found = catalogue.of_day(tx, day, limit=limit + 1, after=int(cursor))
        count = catalogue.count_of_day(tx, day)
    more = len(found) > limit
    last = found[limit - 1]["accession_number"].replace("-", "").lstrip("0") if more else None
    shown, paging = found[:limit], {"has_more": more, "next_cursor": last}
    return call.table(shown, paging) or call.plain(
        {"date": day, "accessions": shown, "count": count, **paging}
    )


def _companies(tx: Transaction, call: Call) -> list[companies.Company] | None:
    """The companies that ``ticker`` and ``cik`` both name; None when neither is given."""
    by_ticker, by_cik = call.params["ticker"], call.params["cik"]
    if by_cik is not None and not all(re.fullmatch("[0-9]{1,10}", cik) for cik in by_cik):
        raise invalid_param("cik", "cik must be numbers of at most ten digits.", expected="0000320193")
    found = [
        {company.cik: company for company in (companies.find(tx, word) for word in words)}
        for words in (by_ticker, by_cik)
        if words is not None
    ]
    if not found:
        return None
    return [company for cik, company in found[0].items() if all(cik in one for one in found)]


def _question(call: Call, asked: list[companies.Company] | None) -> Question:
    params = call.params
    return Question(
        None if asked is None else tuple(company.cik for company in asked),
        tuple(form.upper() for form in params["form_type"] or ()),
        tuple(params.get("items") or ()),
        tuple(_exhibit(one) for one in params.get("exhibits") or ()),
        params["from_date"],
        params["to_date"],
    )


def _exhibit(word: str) -> str:
    return word.upper() if word.upper().startswith("EX-") else f"EX-{word.upper()}"


def _of_company(tx: Transaction, call: Call, asked: list[companies.Company] | None) -> dict[str, Any]:
    """What ``meta`` says of the company that was asked for; of several only what is not held of their lists."""
    words = call.params["ticker"]
    company = asked[0] if asked and len(asked) == 1 else None
    if company is None:
        nothing = ("primary_ticker", "cik", "company")
        return {
            "requested_ticker": ",".join(words) if words else None,
            **dict.fromkeys(nothing),
            "former_names": [],
            "ticker_history": [],
            "not_ingested": [page for one in asked or () for page in lists.not_ingested(tx, one.cik)],
        }
    bearers = companies.bearers(tx, words[0]) if words and not words[0].isdigit() else []
    return {
        "requested_ticker": ",".join(words) if words else None,
        "primary_ticker": companies.by_cik(tx, company.cik).ticker,
        "cik": company.padded_cik,
        "company": company.name,
        "former_names": companies.former_names(tx, company.cik),
        # Of a ticker that others bear or bore too: who, and who bears it today.
        "ticker_history": [one.shown() for one in bearers] if len(bearers) > 1 else [],
        "not_ingested": lists.not_ingested(tx, company.cik),
    }


def _accession(call: Call) -> str:
    accession = identity.accession(call.params["accession_number"])
    if accession is None:
        raise invalid_param(
            "accession_number", "That is not an accession number.", expected="0000320193-25-000057"
        )
    return accession


def _cursor(place: Place) -> str:
    return f"{place.filed_at}_{place.number}"


def _after(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    found = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2})?_([0-9]{1,18})", cursor)
    if found is None:
        raise invalid_param("cursor", "That is no cursor.", expected="next_cursor of a page")
    return Place(found[1] or "", int(found[2]))
