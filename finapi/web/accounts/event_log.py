"""The events of a feed for clients that ask rather than listen (DECISIONS 10).

The same path with ``Accept: text/event-stream`` stays open and is answered by ``finapi/feeds``.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from finapi.core.json import loads
from finapi.core.records import Object, OneOf, Time
from finapi.delivery import events
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MAX_NUMBER, Param, limit_param, offset_param
from finapi.web.http.schema import Envelope

FEEDS = tuple(events.TYPES_BY_FEED)
_TOLD = "The epoch of since_seq; of another one, events are given from where they part."
EPOCH = Param(
    "epoch", "integer", minimum=1, maximum=MAX_NUMBER, help=_TOLD, example="1"
)  # the seconds at which it began
PARAMS = (
    Param("feed", required=True, allowed=FEEDS, help="Which feed.", example="main-api"),
    Param(
        "since_seq", "integer", minimum=0, help="Only events after this number; the newest 20 by default.", example="0"
    ),
    EPOCH,
    limit_param(100, 1000, "Events"),
    offset_param(noun="Events"),
)
# In this form because one of the names is a keyword of Python.
Gap = TypedDict("Gap", {"from": int, "to": int})


class FeedEvent(TypedDict):
    """An event of a feed."""

    type: Annotated[str, OneOf(tuple(type for types in events.TYPES_BY_FEED.values() for type in types))]
    seq: int
    epoch: int
    occurred_at: Time
    data: Object


class FeedMeta(TypedDict):
    """Which events a feed still holds, and where to go on."""

    feed: Annotated[str, OneOf(FEEDS)]
    epoch: int
    first_seq: int
    last_seq: int
    next_since_seq: int
    has_more: bool
    gap: Gap | None


FEED = Envelope[list[FeedEvent], FeedMeta]


def show(call: Call) -> Response:
    """What a feed told after a number, or its newest events, oldest first."""
    feed, since = call.params["feed"], call.params["since_seq"]
    with call.app.accounts.read() as tx:
        span = events.get_range(tx, feed)
        asked = start = max(span.last - call.app.config.feed_catchup, span.first - 1) if since is None else since
        if call.params["epoch"] not in (None, span.epoch):
            start = span.resume_after(start)
        found = events.list_events_after(tx, feed, start, call.params["limit"], call.params["offset"])
    # Ahead of the feed is who knew it before a backup was put back: what comes next must not be passed over.
    last = found[-1].seq if found else min(max(start, span.first - 1), span.last)
    ends = (start + 1, asked) if start < asked else (start + 1, span.first - 1), (span.last + 1, start)
    missing = [(first, to) for first, to in ends if first <= to]
    meta: FeedMeta = {
        "feed": feed,
        "epoch": span.epoch,
        "first_seq": span.first,
        "last_seq": span.last,
        "next_since_seq": last,
        "has_more": bool(found) and last < span.last,
        "gap": {"from": missing[0][0], "to": missing[0][1]} if missing else None,
    }
    shown: list[FeedEvent] = [
        {"type": one.type, "seq": one.seq, "epoch": one.epoch, "occurred_at": one.occurred_at, "data": loads(one.data)}
        for one in found
    ]
    return call.success(shown, meta)
