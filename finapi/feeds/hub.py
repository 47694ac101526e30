"""The hub: the readers of the feeds, the position of each, and its next messages. It uses no sockets.

Everything here runs in the thread of the feeds. So the limits of plans need no lock: a connection is counted and
admitted, or refused, in one step.

There are two kinds of readers. A *live* reader keeps up: it is pushed each new message, which is encoded once for all
readers. A reader that does not keep up, or that requested old events, reads the journal at its own pace: it gets a
batch whenever it has sent the last one, and becomes live when it has reached the end. So no reader takes more memory
than a batch, and none is closed because many events came at the same time.

A reader is closed when it is more than :data:`MAX_BEHIND` messages behind, and has either sent nothing for
:data:`STALL_SECONDS` or stayed that far behind for :data:`SLOW_SECONDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from finapi.accounts import users
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core import metrics
from finapi.core.clock import iso
from finapi.core.limits import Decision
from finapi.delivery import events
from finapi.delivery.events import Event, SequenceRange
from finapi.feeds import feed_messages
from finapi.feeds.feed_messages import FeedMessage, FeedPosition, Filter

# Close codes of WebSockets. 4000 and above are our own.
UNAUTHORIZED, TOO_MANY, GOING_AWAY, TRY_AGAIN_LATER = 4401, 4429, 1001, 1013

MAX_BEHIND = 1_000  # The number of messages (DECISIONS 10).
STALL_SECONDS = 5.0
SLOW_SECONDS = 60.0
BATCH_SIZE = 100  # The number of events in one read of the journal.
MAX_QUEUED = 2 * BATCH_SIZE  # No messages are pushed to a reader that has more queued messages.

BAD_KEY_MESSAGE = "A valid API key is needed."


class FeedRefusedError(Exception):
    """A reader is refused. It has the close code, the reason, and the decision of a rate limit, if there is one."""

    def __init__(self, code: int, reason: str, decision: Decision | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.decision = decision


class FeedReader(Protocol):
    """A connection, or a namespace of a Socket.IO session, to which the hub sends messages."""

    @property
    def is_open(self) -> bool:
        """Return True if messages may be sent."""

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""

    def waiting(self) -> int:
        """Return the number of queued messages that have not been sent."""

    def end(self, code: int, reason: str) -> None:
        """Close with a code."""


@dataclass(eq=False, slots=True)
class FeedSubscription:
    """The subscription of a reader to a feed."""

    hub: Hub
    feed: str
    reader: FeedReader
    caller: Caller
    key: str
    filter: Filter
    seq: int  # The number of the last event that was queued for the reader.
    catch_up_to: int  # Events up to this number are marked as past events.
    first_message: FeedMessage | None = None  # Sent before everything else.
    is_live: bool = False
    has_caught_up: bool = False  # True once the reader has been live.
    kept_up_at: float = 0.0  # The last time when the reader was not too far behind.
    progress_at: float = 0.0  # The last time when the reader sent something to its client.
    previous_waiting: int = 0  # The reader's waiting messages at the last check.


@dataclass(slots=True)
class _Feed:
    """A feed: the number of the last event that was pushed to live readers, and all subscriptions."""

    last: int
    subscriptions: set[FeedSubscription] = field(default_factory=set)


class Hub:
    """The readers of all feeds of an app. ``wake`` is called when there is something to push or to check.

    ``now`` returns seconds of the machine's clock, because the clock of an app may be stopped. It is used to find slow
    readers.
    """

    def __init__(self, app: App, now: Callable[[], float], wake: Callable[[], None] = lambda: None) -> None:
        self._app = app
        self._now = now
        self._wake = wake
        self._counts_by_account: Counter[int] = Counter()
        self.has_news = True  # The journal may have events that were not pushed.
        self.must_check_keys = False
        self.keys_version = object()  # Replaced when a key changes.
        self.last_read_at = now()  # The last time when the hub had readers.
        app.accounts.listen(events.TOPIC, self._on_news)
        app.accounts.listen(users.KEYS_TOPIC, self._on_key_change)
        with app.accounts.read() as tx:
            self._feeds = {feed: _Feed(events.get_range(tx, feed).last) for feed in events.TYPES_BY_FEED}

    def _on_news(self) -> None:
        self.has_news = True
        self._wake()

    def _on_key_change(self) -> None:
        self.keys_version = object()
        self.must_check_keys = True
        self._wake()

    def unlisten(self) -> None:
        """Ignore further changes of the app. May be called in any thread."""
        self._app.accounts.unlisten(events.TOPIC, self._on_news)
        self._app.accounts.unlisten(users.KEYS_TOPIC, self._on_key_change)

    def find_callers(self, keys: Collection[str]) -> dict[str, Caller]:
        """Return the caller of each valid key. This reads from disk and must not run in the loop."""
        callers = {}
        with self._app.accounts.read() as tx:
            for key in keys:
                caller = users.find_caller_by_api_key(tx, key)
                if caller is not None:
                    callers[key] = caller
        return callers

    @property
    def reader_counts(self) -> dict[str, int]:
        """Return the number of readers of each feed."""
        return {name: len(feed.subscriptions) for name, feed in self._feeds.items()}

    def subscribe(
        self,
        feed: str,
        caller_and_key: tuple[Caller, str],
        reader: FeedReader,
        filter: Filter,
        position: FeedPosition | None,
    ) -> FeedSubscription:
        """Return a new subscription. :meth:`fill` then queues the past events that the reader gets.

        These are all events after ``position``. Without a position they are the newest ``feed_catchup`` events that
        match the filter. In another epoch, the number of the position may mean another event. The reader then gets a
        gap message and continues where the epochs diverge. Raise FeedRefusedError if the account has too many readers.
        """
        caller, key = caller_and_key
        with self._app.accounts.read() as tx:
            journal_range = events.get_range(tx, feed)
        config = self._app.config
        max_readers = config.feeds_free if caller.plan in (None, "free") else config.feeds_paid
        if self._counts_by_account[caller.id] >= max_readers:
            raise FeedRefusedError(TOO_MANY, f"The plan's connection limit is {max_readers}.")
        first_message = None
        if position is None:
            start = self._find_catch_up_start(feed, journal_range, filter)
        elif position.epoch is None or position.epoch == journal_range.epoch:
            start = position.seq
        else:
            start = journal_range.resume_after(position.seq)
            numbers = {"since_seq": position.seq, "epoch": position.epoch}
            now_text = iso(self._app.clock.now())
            first_message = feed_messages.build_gap(journal_range.epoch, start, now_text, "another epoch", numbers)
        now = self._now()
        subscription = FeedSubscription(
            hub=self,
            feed=feed,
            reader=reader,
            caller=caller,
            key=key,
            filter=filter,
            seq=start,
            catch_up_to=journal_range.last,
            first_message=first_message,
            kept_up_at=now,
            progress_at=now,
        )
        self._counts_by_account[caller.id] += 1
        self._feeds[feed].subscriptions.add(subscription)
        return subscription

    def _find_catch_up_start(self, feed: str, journal_range: SequenceRange, filter: Filter) -> int:
        """Return the number after which the newest ``feed_catchup`` events that match a filter begin."""
        missing_count = self._app.config.feed_catchup
        if filter == Filter():
            return max(journal_range.first - 1, journal_range.last - missing_count)
        seq = journal_range.last + 1
        with self._app.accounts.read() as tx:
            while missing_count:
                batch = events.list_events_before(tx, feed, seq, BATCH_SIZE)
                if not batch:
                    break
                for event in reversed(batch):
                    seq = event.seq
                    missing_count -= filter.matches(event.tags)
                    if not missing_count:
                        break
        return seq - 1

    def unsubscribe(self, subscription: FeedSubscription) -> None:
        """End a subscription, unless it has ended already."""
        subscriptions = self._feeds[subscription.feed].subscriptions
        if subscription in subscriptions:
            subscriptions.remove(subscription)
            self._counts_by_account[subscription.caller.id] -= 1
            if not self._counts_by_account[subscription.caller.id]:
                del self._counts_by_account[subscription.caller.id]

    def fill(self, subscription: FeedSubscription) -> None:
        """Queue the next events of the journal for a reader that is not live and has few queued messages."""
        subscriptions = self._feeds[subscription.feed].subscriptions
        while subscription in subscriptions and not subscription.is_live and subscription.reader.waiting() < BATCH_SIZE:
            with self._app.accounts.read() as tx:
                batch = events.list_events_after(tx, subscription.feed, subscription.seq, BATCH_SIZE)
                journal_range = events.get_range(tx, subscription.feed)
            self._queue(subscription, batch, journal_range)
            # The range is read each time, because it goes back when the journal is reset.
            if subscription.seq >= journal_range.last:
                subscription.is_live = True
                subscription.has_caught_up = True
                subscription.kept_up_at = self._now()

    def publish(self) -> bool:
        """Push new events of the journal to all live readers. Return True if there may be more events."""
        has_more = False
        for name, feed in self._feeds.items():
            with self._app.accounts.read() as tx:
                batch = events.list_events_after(tx, name, feed.last, BATCH_SIZE)
            if not batch:
                continue
            feed.last = batch[-1].seq
            has_more = has_more or len(batch) == BATCH_SIZE
            messages = [feed_messages.build_event_message(event, catching_up=False) for event in batch]
            for subscription in list(feed.subscriptions):
                if subscription.is_live:
                    self._push(subscription, messages)
        return has_more

    def list_keys(self) -> set[str]:
        """Return the keys of all readers."""
        return {subscription.key for subscription in self._list_subscriptions()}

    def end_invalid(self, checked_keys: Set[str], valid_keys: Container[str]) -> None:
        """Close the readers whose key was checked and is not valid, for example after a rotation."""
        for subscription in self._list_subscriptions():
            if subscription.key in checked_keys and subscription.key not in valid_keys:
                subscription.reader.end(UNAUTHORIZED, BAD_KEY_MESSAGE)

    def end_slow_readers(self) -> None:
        """Close the readers that are too far behind."""
        now = self._now()
        if self._counts_by_account:
            self.last_read_at = now
        for subscription in self._list_subscriptions():
            waiting = subscription.reader.waiting()
            behind = self._feeds[subscription.feed].last - subscription.seq + waiting
            if waiting == 0 or waiting < subscription.previous_waiting:
                subscription.progress_at = now
            subscription.previous_waiting = waiting
            if behind <= MAX_BEHIND:
                subscription.kept_up_at = now
                continue
            is_stalled = now - subscription.progress_at >= STALL_SECONDS
            is_slow = subscription.has_caught_up and now - subscription.kept_up_at >= SLOW_SECONDS
            if is_stalled or is_slow:
                subscription.reader.end(TRY_AGAIN_LATER, f"The reader is {behind} messages behind.")

    def end_all(self, code: int = GOING_AWAY, reason: str = "The service is stopping.") -> None:
        """Close all readers and end their subscriptions immediately, so that they get no further messages."""
        for subscription in self._list_subscriptions():
            subscription.reader.end(code, reason)
            self.unsubscribe(subscription)

    def _list_subscriptions(self) -> list[FeedSubscription]:
        return [subscription for feed in self._feeds.values() for subscription in feed.subscriptions]

    def _push(self, subscription: FeedSubscription, messages: Sequence[FeedMessage]) -> None:
        if subscription.reader.waiting() > MAX_QUEUED:
            # The reader continues from the journal when it has sent its messages.
            subscription.is_live = False
            return
        previous_seq = subscription.seq
        subscription.seq = max(previous_seq, messages[-1].seq)
        matching = [
            message for message in messages if message.seq > previous_seq and subscription.filter.matches(message.tags)
        ]
        self._deliver(subscription, matching)

    def _queue(self, subscription: FeedSubscription, batch: Sequence[Event], journal_range: SequenceRange) -> None:
        """Queue a batch of the journal, after a gap message for numbers that the journal does not have."""
        messages = [] if subscription.first_message is None else [subscription.first_message]
        subscription.first_message = None
        gap_reason, gap_numbers, gap_end = "", {}, 0
        if subscription.seq + 1 < journal_range.first:
            gap_reason = "no longer kept"
            gap_end = journal_range.first - 1
            gap_numbers = {"from": subscription.seq + 1, "to": gap_end}
        elif subscription.seq > journal_range.last:
            # The number is from another journal, for example from before a backup was restored.
            gap_reason = "not yet given out"
            gap_end = journal_range.last
            gap_numbers = {"since_seq": subscription.seq}
        if gap_reason:
            now = iso(self._app.clock.now())
            messages.append(feed_messages.build_gap(journal_range.epoch, gap_end, now, gap_reason, gap_numbers))
            subscription.seq = gap_end
        for event in batch:
            subscription.seq = event.seq
            if subscription.filter.matches(event.tags):
                catching_up = event.seq <= subscription.catch_up_to
                messages.append(feed_messages.build_event_message(event, catching_up=catching_up))
        self._deliver(subscription, messages)

    def _deliver(self, subscription: FeedSubscription, messages: Sequence[FeedMessage]) -> None:
        if messages:
            subscription.reader.deliver(messages)
            self._app.metrics.count(metrics.FEED_MESSAGES, subscription.feed, by=len(messages))
