"""The events of a feed for clients that ask rather than listen (CONTRACT 10).

The same path with ``Accept: text/event-stream`` stays open and is answered by ``finapi/feeds``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from finapi import events
from finapi.events import Event
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import INTEGER, TIME, Schema, array, enum, envelope, nullable, obj

FEEDS = tuple(events.TYPES)
PARAMS = (
    Param("feed", required=True, allowed=FEEDS, help="Which feed.", example="main-api"),
    Param(
        "since_seq",
        "integer",
        least=0,
        help="Only what follows this number; without it the newest 20.",
        example="0",
    ),
    Param(
        "limit",
        "integer",
        default=100,
        least=1,
        most=1000,
        clamp=True,
        help="At most so many.",
        example="100",
    ),
)
# Not by obj(): one of the names is a keyword of Python.
_GAP: Schema = {
    "type": "object",
    "properties": {"from": INTEGER, "to": INTEGER},
    "required": ["from", "to"],
    "additionalProperties": False,
}
_TYPES = tuple(type for types in events.TYPES.values() for type in types)
SHAPE = envelope(
    array(obj(type=enum(*_TYPES), seq=INTEGER, occurred_at=TIME, data={"type": "object"})),
    obj(
        feed=enum(*FEEDS),
        first_seq=INTEGER,
        last_seq=INTEGER,
        next_since_seq=INTEGER,
        has_more={"type": "boolean"},
        gap=nullable(_GAP),
    ),
)


def show(call: Call) -> Response:
    """What a feed told after a number, or its newest events, oldest first."""
    feed, since, limit = call.params["feed"], call.params["since_seq"], call.params["limit"]
    with call.app.db.read() as tx:
        span = events.span(tx, feed)
        start = max(span.last - call.app.config.feed_catchup, span.first - 1) if since is None else since
        found = events.after(tx, feed, start, limit)
    # Ahead of the feed is who knew it before a backup was put back: what comes next must not be passed over.
    last = found[-1].seq if found else min(max(start, span.first - 1), span.last)
    missing = [
        (first, to) for first, to in ((start + 1, span.first - 1), (span.last + 1, start)) if first <= to
    ]
    meta = {
        "feed": feed,
        "first_seq": span.first,
        "last_seq": span.last,
        "next_since_seq": last,
        "has_more": last < span.last,
        "gap": {"from": missing[0][0], "to": missing[0][1]} if missing else None,
    }
    return call.success([_message(event) for event in found], meta)


def _message(event: Event) -> dict[str, Any]:
    data = json.loads(event.data, parse_float=Decimal)
    return {"type": event.type, "seq": event.seq, "occurred_at": event.occurred_at, "data": data}
