"""The API handler that lists a feed's events, for clients that poll (DECISIONS 10).

The same path with ``Accept: text/event-stream`` is a stream, which ``finapi/feeds`` serves.

The events of a feed are numbered one after the other. A restore of the database from a backup loses the newest events,
and their numbers are then used again for other events. So each restore begins a new epoch, and an event is identified
by its epoch and its number. A client whose last event belongs to an older epoch continues after the last event that
both epochs have in common. Events that it can no longer get are reported as a gap.
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
_EPOCH_HELP = (
    "The epoch that since_seq belongs to. If it is not the current one, events start where the two epochs diverge."
)
# An epoch is identified by the Unix time at which it began.
EPOCH = Param("epoch", "integer", minimum=1, maximum=MAX_NUMBER, help=_EPOCH_HELP, example="1")
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
    """An event of a feed, with its number ``seq`` in its epoch."""

    type: Annotated[str, OneOf(tuple(type for types in events.TYPES_BY_FEED.values() for type in types))]
    seq: int
    epoch: int
    occurred_at: Annotated[Time | None, "When it happened at the SEC, or null for a filing whose day is not known."]
    data: Object


class FeedMeta(TypedDict):
    """The current epoch, the range of events that the feed still has, and the ``since_seq`` of the next request.

    ``gap`` is the range of events that the client has missed, or None.
    """

    feed: Annotated[str, OneOf(FEEDS)]
    epoch: int
    first_seq: int
    last_seq: int
    next_since_seq: int
    has_more: bool
    gap: EventGap | None


FEED_SHAPE = Envelope[list[FeedEvent], FeedMeta]


def list_events(call: Call) -> Response:
    """Return the events of a feed after a number, or its newest events, oldest first."""
    feed, since_seq = call.params["feed"], call.params["since_seq"]
    with call.app.accounts.read() as tx:
        sequence_range = events.get_range(tx, feed)
        if since_seq is None:
            requested_seq = max(sequence_range.last - call.app.config.feed_catchup, sequence_range.first - 1)
        else:
            requested_seq = since_seq
        start_seq = requested_seq
        if call.params["epoch"] not in (None, sequence_range.epoch):
            start_seq = sequence_range.resume_after(start_seq)
        rows = events.list_events_after(tx, feed, start_seq, call.params["limit"], call.params["offset"])
    if rows:
        next_since_seq = rows[-1].seq
    else:
        # After a restore a client may be ahead of the feed. It must not skip the events that come next.
        next_since_seq = min(max(start_seq, sequence_range.first - 1), sequence_range.last)
    meta: FeedMeta = {
        "feed": feed,
        "epoch": sequence_range.epoch,
        "first_seq": sequence_range.first,
        "last_seq": sequence_range.last,
        "next_since_seq": next_since_seq,
        "has_more": bool(rows) and next_since_seq < sequence_range.last,
        "gap": _find_gap(sequence_range, requested_seq, start_seq),
    }
    feed_events: list[FeedEvent] = [
        {"type": row.type, "seq": row.seq, "epoch": row.epoch, "occurred_at": row.occurred_at, "data": loads(row.data)}
        for row in rows
    ]
    return call.success(feed_events, meta)


def _find_gap(sequence_range: events.SequenceRange, requested_seq: int, start_seq: int) -> EventGap | None:
    """Return the range of numbers that the client requests but cannot get, or None.

    They are numbers of an older epoch after the point where the epochs diverge, numbers of deleted events, or numbers
    beyond the end of the feed.
    """
    if start_seq < requested_seq:
        return {"from": start_seq + 1, "to": requested_seq}
    if start_seq + 1 <= sequence_range.first - 1:
        return {"from": start_seq + 1, "to": sequence_range.first - 1}
    if sequence_range.last + 1 <= start_seq:
        return {"from": sequence_range.last + 1, "to": start_seq}
    return None
