"""Sniper targets, over HTTP (CONTRACT 9, ``wire.json``)."""

from __future__ import annotations

from finapi import sniper
from finapi.errors import ApiError, invalid_param
from finapi.market import companies
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param
from finapi.web.shapes import INTEGER, TEXT, TIME, URL, array, enum, nullable, obj

STATUS = enum(*sniper.STATES)
REASON = enum("filing_hit", "window_expired", "manual_stop")

CREATE_BODY = (
    Field("ticker", "text", required=True, help="A ticker or a CIK.", example="AAPL"),
    Field(
        "duration_minutes",
        "integer",
        nullable=True,
        least=sniper.LEAST_MINUTES,
        most=sniper.MOST_MINUTES,
        help="How long the window lasts; 60 when neither this nor end_time is given.",
        example=60,
    ),
    Field("start_time", "text", nullable=True, help="When it begins; now when not given."),
    Field("end_time", "text", nullable=True, help="When it ends, instead of duration_minutes."),
    Field(
        "form_types", "words", nullable=True, help="SEC forms that count; none: every form.", example=["8-K"]
    ),
    Field(
        "webhook_url",
        "url",
        nullable=True,
        help="Where a hit is sent; the account's when not given.",
        example="https://example.com/hook",
    ),
)
LIST_PARAMS = (
    Param("status", allowed=sniper.STATES, help="Targets in this state.", example="ACTIVE"),
    Param("ticker", help="Targets of this company.", example="AAPL"),
    Param("limit", "integer", default=50, least=1, most=200, clamp=True, help="How many.", example="50"),
    Param("offset", "integer", default=0, least=0, help="How many to pass over.", example="0"),
)
ID_PARAMS = (
    Param("target_id", place="path", required=True, help="The target's id.", example="tgt_4fK2mQ8xZp1c"),
)

_MEMBERS = {
    "target_id": TEXT,
    "ticker": TEXT,
    "status": STATUS,
    "start_time": TIME,
    "end_time": TIME,
    "form_types": array(TEXT),
    "webhook_url": nullable(URL),
    "created_at": TIME,
}
TARGET = obj(optional=(), **_MEMBERS)
LISTED_TARGET = obj(
    optional=(),
    **_MEMBERS,
    processing_state=enum(*sniper.PROCESSING.values()),
    candidate_urls=array(obj(accession=TEXT, url=URL)),
    resolution_reason=nullable(REASON),
    stopped_at=nullable(TIME),
    last_event=nullable(obj(accession_number=TEXT, form_type=TEXT, filed_at=TIME)),
    filing_uuid=nullable(TEXT),
    holdings_count=nullable(INTEGER),
    parsed_at=nullable(TIME),
    enriched_at=nullable(TIME),
)
LIST = obj(
    targets=array(LISTED_TARGET),
    meta=obj(total=INTEGER, limit=INTEGER, offset=INTEGER, active_count=INTEGER, slots_available=INTEGER),
)
STOPPED = obj(
    target_id=TEXT,
    ticker=TEXT,
    status=STATUS,
    resolution_reason=REASON,
    stopped_at=TIME,
    slots_available=INTEGER,
)


def create(call: Call) -> Response:
    """A new target."""
    assert call.caller is not None
    watched = _company(call, call.body["ticker"])
    return sniper.create(call.app, call.caller.id, watched, call.body, call.now, call.settled)


def listed(call: Call) -> Response:
    """The caller's targets, newest first."""
    assert call.caller is not None
    given = call.params
    ticker = given["ticker"] and _company(call, given["ticker"]).ticker
    wanted = sniper.Wanted(given["limit"], given["offset"], given["status"], ticker)
    with call.app.db.read() as tx:
        return call.plain(sniper.listed(call.app, tx, call.caller.id, wanted, call.now))


def stop(call: Call) -> Response:
    """The end of a target."""
    assert call.caller is not None
    return sniper.stop(call.app, call.caller.id, call.params["target_id"], call.now, call.settled)


def _company(call: Call, text: str) -> sniper.Watched:
    with call.app.db.read() as tx:
        try:
            company = companies.find(tx, text)
        except ApiError as error:
            if error.code != "UNKNOWN_TICKER" or "ticker" not in call.body:
                raise
            # What is wrong in a body is the caller's 400 (CONTRACT 2).
            raise invalid_param("ticker", error.message, expected="a ticker or CIK that is known") from None
    return sniper.Watched(company.cik, company.ticker or company.padded_cik)
