"""The API handler that lists a feed's events, for clients that poll (DECISIONS 10).

The same path with ``Accept: text/event-stream`` is a stream, which ``finapi/feeds`` serves.

Events are numbered within an epoch. A restore from a backup begins a new epoch, in which numbers are used again. A
client that has events of the old epoch continues at the number where the two epochs diverge. Events that the client can
no longer get are reported as a gap.
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
_EPOCH_HELP = "The epoch of since_seq; of another one, events are given from where they part."
EPOCH = Param(
    "epoch", "integer", minimum=1, maximum=MAX_NUMBER, help=_EPOCH_HELP, example="1"
)  # An epoch is named by the Unix time at which it began.
PARAMS = (
    Param("feed", required=True, allowed=FEEDS, help="Which feed.", example="main-api"),
    Param(
        "since_seq", "integer", minimum=0, help="Only events after this number; the newest 20 by default.", example="0"
    ),
    EPOCH,
    limit_param(100, 1000, "Events"),
    offset_param(noun="Events"),
)
# In functional form, because "from" is a keyword of Python.
EventGap = TypedDict("EventGap", {"from": int, "to": int})


class FeedEvent(TypedDict):
    """An event of a feed."""

    type: Annotated[str, OneOf(tuple(type for types in events.TYPES_BY_FEED.values() for type in types))]
    seq: int
    epoch: int
    occurred_at: Time
    data: Object


class FeedMeta(TypedDict):
    """The range of events that a feed still has, and the ``since_seq`` of the next request."""

    feed: Annotated[str, OneOf(FEEDS)]
    epoch: int
    first_seq: int
    last_seq: int
    next_since_seq: int
    has_more: bool
    gap: EventGap | None


FEED = Envelope[list[FeedEvent], FeedMeta]


def list_events(call: Call) -> Response:
    """Return the events of a feed after a number, or its newest events, oldest first."""
    feed, since_seq = call.params["feed"], call.params["since_seq"]
    with call.app.accounts.read() as tx:
        stored = events.get_range(tx, feed)
        if since_seq is None:
            requested_seq = max(stored.last - call.app.config.feed_catchup, stored.first - 1)
        else:
            requested_seq = since_seq
        start_seq = requested_seq
        if call.params["epoch"] not in (None, stored.epoch):
            start_seq = stored.resume_after(start_seq)
        rows = events.list_events_after(tx, feed, start_seq, call.params["limit"], call.params["offset"])
    if rows:
        next_since_seq = rows[-1].seq
    else:
        # After a restore a client may be ahead of the feed. It must not skip the events that come next.
        next_since_seq = min(max(start_seq, stored.first - 1), stored.last)
    meta: FeedMeta = {
        "feed": feed,
        "epoch": stored.epoch,
        "first_seq": stored.first,
        "last_seq": stored.last,
        "next_since_seq": next_since_seq,
        "has_more": bool(rows) and next_since_seq < stored.last,
        "gap": _find_gap(stored, requested_seq, start_seq),
    }
    feed_events: list[FeedEvent] = [
        {"type": row.type, "seq": row.seq, "epoch": row.epoch, "occurred_at": row.occurred_at, "data": loads(row.data)}
        for row in rows
    ]
    return call.success(feed_events, meta)


def _find_gap(stored: events.SequenceRange, requested_seq: int, start_seq: int) -> EventGap | None:
    """Return the range of event numbers that the client may have missed or that do not exist, or None.

    They are the events of an old epoch that were lost, events that were deleted, or numbers beyond the end of the feed.
    """
    if start_seq < requested_seq:
        return {"from": start_seq + 1, "to": requested_seq}
    if start_seq + 1 <= stored.first - 1:
        return {"from": start_seq + 1, "to": stored.first - 1}
    if stored.last + 1 <= start_seq:
        return {"from": stored.last + 1, "to": start_seq}
    return None
