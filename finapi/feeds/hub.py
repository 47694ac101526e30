"""Who reads which feed, how far each has come, and what each is sent next. It knows no socket.

Everything here runs in the one thread of the feeds, so that the counts of the plan limits need no lock: a
connection is counted and let in, or refused, in one step.

A reader that keeps up is pushed what is new, encoded once for all. One that does not, or that asked for what
was long ago, reads the journal at its own pace, a batch whenever it has sent the last: so no reader costs more
memory than a batch, and none is closed because many events came at once. It is closed when it is
:data:`MAX_BEHIND` messages behind and has either taken nothing for :data:`STALL_SECONDS` or stayed that far
behind for :data:`SLOW_SECONDS` since it last kept up.
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
from finapi.feeds import messages
from finapi.feeds.messages import FeedMessage, Filter, Since

UNAUTHORIZED, TOO_MANY, GOING_AWAY, TRY_AGAIN_LATER = 4401, 4429, 1001, 1013

MAX_BEHIND = 1_000  # messages (DECISIONS 10)
STALL_SECONDS = 5.0
SLOW_SECONDS = 60.0
BATCH = 100  # events read from the journal at once
FULL = 2 * BATCH  # messages waiting in a connection from which on nothing is pushed

BAD_KEY = "A valid API key is needed."


class FeedRefusedError(Exception):
    """A reader is not let in: the close code, the reason, and the decision of a limit if it was that."""

    def __init__(self, code: int, reason: str, decision: Decision | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.decision = decision


class FeedReader(Protocol):
    """A connection, or a namespace of one, as the hub sees it."""

    @property
    def is_open(self) -> bool:
        """Whether anybody is there to read."""

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""

    def waiting(self) -> int:
        """How many messages are queued and not yet sent."""

    def end(self, code: int, reason: str) -> None:
        """Close, with this code."""


@dataclass(eq=False, slots=True)
class FeedSubscription:
    """A reader of a feed; ``seq`` is the last number that was queued for it."""

    hub: Hub
    feed: str
    reader: FeedReader
    caller: Caller
    key: str
    filter: Filter
    seq: int
    catch_up_to: int
    # What is said before all else.
    first: FeedMessage | None = None
    live: bool = False
    caught_up: bool = False
    kept_up_at: float = 0.0
    moved_at: float = 0.0
    waited: int = 0


@dataclass(slots=True)
class _Feed:
    """A feed: how far it has been read for those who keep up, and all its readers."""

    last: int
    readers: set[FeedSubscription] = field(default_factory=set)


class Hub:
    """The readers of all feeds of an app; ``wake`` is called when there is something to push or a key to look up.

    Readers are judged by ``now``, seconds that pass as the machine's do: an app's clock may stand still or leap.
    """

    def __init__(self, app: App, now: Callable[[], float], wake: Callable[[], None] = lambda: None) -> None:
        self._app = app
        self._now = now
        self._wake = wake
        self._counts: Counter[int] = Counter()
        self.news = True  # in the journal, perhaps, that were not pushed yet
        self.keys_changed = False
        self.keys_state = object()  # another one after each change of keys
        self.read_at = now()  # when somebody last read, or might have
        app.accounts.listen(events.TOPIC, self._has_news)
        app.accounts.listen(users.KEYS_TOPIC, self._has_changed_keys)
        with app.accounts.read() as tx:
            self._feeds = {feed: _Feed(events.get_range(tx, feed).last) for feed in events.TYPES_BY_FEED}

    def _has_news(self) -> None:
        self.news = True
        self._wake()

    def _has_changed_keys(self) -> None:
        self.keys_state = object()
        self.keys_changed = True
        self._wake()

    def unlisten(self) -> None:
        """Hear no more of the app; from any thread."""
        self._app.accounts.unlisten(events.TOPIC, self._has_news)
        self._app.accounts.unlisten(users.KEYS_TOPIC, self._has_changed_keys)

    def callers(self, keys: Collection[str]) -> dict[str, Caller]:
        """The callers of those keys that are some; read from the disk, beside the loop."""
        with self._app.accounts.read() as tx:
            found = ((key, users.find_caller_by_api_key(tx, key)) for key in keys)
            return {key: caller for key, caller in found if caller is not None}

    @property
    def readers(self) -> dict[str, int]:
        """How many readers each feed has."""
        return {name: len(feed.readers) for name, feed in self._feeds.items()}

    def open(
        self, feed: str, who: tuple[Caller, str], reader: FeedReader, filter: Filter, since: Since | None
    ) -> FeedSubscription:
        """Let in a reader of an account, by a key; or Refused with the close code. :meth:`fill` queues what it missed.

        That is everything after ``since``, or the newest :attr:`Config.feed_catchup` that pass the filter. A number of
        another epoch may have meant another event: the reader is told, and goes on where the epochs part.
        """
        caller, key = who
        with self._app.accounts.read() as tx:
            span = events.get_range(tx, feed)
        config = self._app.config
        allowed = config.feeds_free if caller.plan in (None, "free") else config.feeds_paid
        if self._counts[caller.id] >= allowed:
            raise FeedRefusedError(TOO_MANY, f"The plan's connection limit is {allowed}.")
        first = None
        if since is None:
            start = self._before_newest(feed, span, filter)
        else:
            start = since.seq
            if since.epoch is not None and since.epoch != span.epoch:
                start, which = span.resume_after(since.seq), {"since_seq": since.seq, "epoch": since.epoch}
                first = messages.gap(span.epoch, start, iso(self._app.clock.now()), "another epoch", which)
        now = self._now()
        subscription = FeedSubscription(
            self, feed, reader, caller, key, filter, start, span.last, first, kept_up_at=now, moved_at=now
        )
        self._counts[caller.id] += 1
        self._feeds[feed].readers.add(subscription)
        return subscription

    def _before_newest(self, feed: str, span: SequenceRange, filter: Filter) -> int:
        """The number behind which the newest events that pass a filter begin: as many as a new reader is told of.

        It looks back no further than events are kept, and at those of an unfiltered reader not at all.
        """
        left, seq = self._app.config.feed_catchup, span.last + 1
        if filter == Filter():
            return max(span.first - 1, span.last - left)
        with self._app.accounts.read() as tx:
            while left and (found := events.list_events_before(tx, feed, seq, BATCH)):
                for event in reversed(found):
                    seq = event.seq
                    left -= filter.wants(event.tags)
                    if not left:
                        break
        return seq - 1

    def close(self, subscription: FeedSubscription) -> None:
        """Forget a reader, whose connection has ended; twice is once."""
        readers = self._feeds[subscription.feed].readers
        if subscription in readers:
            readers.remove(subscription)
            self._counts[subscription.caller.id] -= 1
            if not self._counts[subscription.caller.id]:
                del self._counts[subscription.caller.id]

    def fill(self, subscription: FeedSubscription) -> None:
        """Queue what a reader that has sent nearly everything is to have next."""
        readers = self._feeds[subscription.feed].readers
        while subscription in readers and not subscription.live and subscription.reader.waiting() < BATCH:
            with self._app.accounts.read() as tx:
                found = events.list_events_after(tx, subscription.feed, subscription.seq, BATCH)
                span = events.get_range(tx, subscription.feed)
            self._queue(subscription, found, span)
            if subscription.seq >= span.last:  # not the last one read before: a journal that is reset goes back
                subscription.live = subscription.caught_up = True
                subscription.kept_up_at = self._now()

    def publish(self) -> bool:
        """Push what is new in the journal to all who keep up; whether there may be more."""
        more = False
        for name, feed in self._feeds.items():
            with self._app.accounts.read() as tx:
                found = events.list_events_after(tx, name, feed.last, BATCH)
            if not found:
                continue
            feed.last = found[-1].seq
            more = more or len(found) == BATCH
            fresh = [messages.of_event(event, catching_up=False) for event in found]
            for subscription in [one for one in feed.readers if one.live]:
                self._push(subscription, fresh)
        return more

    def keys(self) -> set[str]:
        """The keys of all readers."""
        return {one.key for one in self._all()}

    def recheck(self, asked: Set[str], found: Container[str]) -> None:
        """Close whoever's key was asked for and is no longer one, as after a rotation."""
        for subscription in self._all():
            if subscription.key in asked and subscription.key not in found:
                subscription.reader.end(UNAUTHORIZED, BAD_KEY)

    def sweep(self) -> None:
        """Close whoever is too far behind."""
        now = self._now()
        self.read_at = now if self._counts else self.read_at
        for subscription in self._all():
            waiting = subscription.reader.waiting()
            behind = self._feeds[subscription.feed].last - subscription.seq + waiting
            if waiting == 0 or waiting < subscription.waited:
                subscription.moved_at = now
            subscription.waited = waiting
            if behind <= MAX_BEHIND:
                subscription.kept_up_at = now
            stalled = now - subscription.moved_at >= STALL_SECONDS
            slow = subscription.caught_up and now - subscription.kept_up_at >= SLOW_SECONDS
            if behind > MAX_BEHIND and (stalled or slow):
                subscription.reader.end(TRY_AGAIN_LATER, f"The reader is {behind} messages behind.")

    def end_all(self, code: int = GOING_AWAY, reason: str = "The service is stopping.") -> None:
        """Close everybody, for whom nothing more is read: one that waits for its end would be told of another world."""
        for subscription in self._all():
            subscription.reader.end(code, reason)
            self.close(subscription)

    def _all(self) -> list[FeedSubscription]:
        return [one for feed in self._feeds.values() for one in feed.readers]

    def _push(self, subscription: FeedSubscription, fresh: Sequence[FeedMessage]) -> None:
        if subscription.reader.waiting() > FULL:
            subscription.live = False  # it goes on from the journal when it has sent what it has
            return
        begun, subscription.seq = subscription.seq, max(subscription.seq, fresh[-1].seq)
        wanted = [message for message in fresh if message.seq > begun and subscription.filter.wants(message.about)]
        if wanted:
            subscription.reader.deliver(wanted)
            self._app.metrics.count(metrics.FEED_MESSAGES, subscription.feed, by=len(wanted))

    def _queue(self, subscription: FeedSubscription, found: Sequence[Event], span: SequenceRange) -> None:
        queued = [] if subscription.first is None else [subscription.first]
        subscription.first = None
        seq, now, epoch = subscription.seq, iso(self._app.clock.now()), span.epoch
        if seq + 1 < span.first:
            which = {"from": seq + 1, "to": span.first - 1}
            queued.append(messages.gap(epoch, span.first - 1, now, "no longer kept", which))
            subscription.seq = span.first - 1
        elif seq > span.last:  # a number of another journal, as after a backup was put back
            queued.append(messages.gap(epoch, span.last, now, "not yet given out", {"since_seq": seq}))
            subscription.seq = span.last
        for event in found:
            subscription.seq = event.seq
            if subscription.filter.wants(event.tags):
                catching_up = event.seq <= subscription.catch_up_to
                queued.append(messages.of_event(event, catching_up=catching_up))
        if queued:
            subscription.reader.deliver(queued)
            self._app.metrics.count(metrics.FEED_MESSAGES, subscription.feed, by=len(queued))
