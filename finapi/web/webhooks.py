"""Webhook deliveries and the secret that signs them, over HTTP (CONTRACT 9)."""

from __future__ import annotations

from finapi import webhooks
from finapi.errors import invalid_param
from finapi.web.call import Call
from finapi.web.http import Response, dumps
from finapi.web.params import Field, Param
from finapi.web.shapes import BOOLEAN, INTEGER, TEXT, TIME, URL, array, enum, nullable, obj

LIST_PARAMS = (
    Param("status", allowed=webhooks.STATES, help="Deliveries in this state.", example="dropped"),
    Param("event_type", allowed=webhooks.EVENT_TYPES, help="Deliveries of this type.", example="finapi.test"),
    Param("limit", "integer", default=50, least=1, most=200, clamp=True, help="How many.", example="50"),
    Param("cursor", help="next_cursor of the page before.", example="120"),
)
ID_PARAMS = (
    Param(
        "delivery_id",
        place="path",
        required=True,
        help="The delivery's id.",
        example="dlv_0123456789abcdef0123456789abcdef",
    ),
)
TEST_BODY = (
    Field(
        "url",
        "url",
        nullable=True,
        help="Where it is sent; the account's webhook_url when not given.",
        example="https://example.com/hook",
    ),
)

ATTEMPT = obj(
    attempt=INTEGER,
    started_at=TIME,
    ended_at=nullable(TIME),
    duration_ms=nullable(INTEGER),
    status_code=nullable(INTEGER),
    error=nullable(TEXT),
    response_body=nullable(TEXT),
)
DELIVERY = obj(
    delivery_id=TEXT,
    event_type=enum(*webhooks.EVENT_TYPES),
    target_id=nullable(TEXT),
    url=URL,
    status=enum(*webhooks.STATES),
    occurred_at=TIME,
    payload={"type": "object"},
    attempt_count=INTEGER,
    last_status_code=nullable(INTEGER),
    last_error=nullable(TEXT),
    created_at=TIME,
    next_attempt_at=nullable(TIME),
    delivered_at=nullable(TIME),
    dropped_at=nullable(TIME),
    attempts=array(ATTEMPT),
)
LIST = obj(deliveries=array(DELIVERY), meta=obj(limit=INTEGER, has_more=BOOLEAN, next_cursor=nullable(TEXT)))
SECRET = obj(
    secret=nullable(TEXT),
    created_at=TIME,
    previous_secret=nullable(TEXT),
    previous_expires_at=nullable(TIME),
)
VECTORS = obj(
    tolerance_seconds=INTEGER,
    vectors=array(
        obj(
            description=TEXT,
            secret=TEXT,
            body=TEXT,
            headers=obj(
                optional=(),
                **{"webhook-id": TEXT, "webhook-timestamp": TEXT, "webhook-signature": TEXT},
            ),
            valid=BOOLEAN,
        )
    ),
)


def listed(call: Call) -> Response:
    """The caller's deliveries, newest first, with their attempts."""
    assert call.caller is not None
    given = call.params
    cursor = given["cursor"]
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise invalid_param("cursor", "cursor must be the next_cursor of a page.", expected="next_cursor")
    wanted = webhooks.Wanted(given["limit"], cursor and int(cursor), given["status"], given["event_type"])
    with call.app.db.read() as tx:
        return call.plain(webhooks.listed(tx, call.caller.id, wanted))


def redeliver(call: Call) -> Response:
    """A delivery that is sent again, under its id."""
    assert call.caller is not None
    return webhooks.redeliver(call.app, call.caller.id, call.params["delivery_id"], call.now, call.settled)


def test(call: Call) -> Response:
    """A test event that is on its way."""
    assert call.caller is not None
    return webhooks.test(call.app, call.caller.id, call.body.get("url"), call.now, call.settled)


def secret(call: Call) -> Response:
    """The secret that signs the caller's deliveries."""
    assert call.caller is not None
    return call.plain(webhooks.secret(call.app, call.caller.id, call.now))


def rotate_secret(call: Call) -> Response:
    """A new secret; the old one signs beside it for a day.

    The answer is not kept under an ``Idempotency-Key``, as no secret stands in the database.
    """
    assert call.caller is not None
    return call.plain(webhooks.rotate_secret(call.app, call.caller.id, call.now))


def vectors(call: Call) -> Response:
    """Messages with their signatures, for whoever writes a receiver."""
    return Response(200, dumps(webhooks.vectors()))
