"""Calls that are answered together: the application does what they share once for all that came in the meantime."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from finapi.httpd.settings import Answer

log = logging.getLogger("finapi.httpd")

AT_ONCE = 64  # calls of one batch; a longer one would keep its first caller waiting for the last


class Waiting(Protocol):
    """Who waits for an answer."""

    def answered(self, answer: Answer) -> None:
        """Send the answer."""
        ...

    def abandon(self) -> None:
        """Close: there is none."""
        ...


Waiter = TypeVar("Waiter", bound=Waiting)
Call = TypeVar("Call")


class Together(Generic[Waiter, Call]):
    """The calls that wait to be answered together.

    While what a batch shares is done in a request thread, a commit say, the next one gathers, which begins when the
    answers of the one before are under way. So a call is handed to a thread with all others of its batch, and a call
    that is alone waits for nobody. ``soon`` has a function called when the loop has had its turn, ``start`` has
    :meth:`serve` called in a thread.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Call]], Iterator[Answer]],
        soon: Callable[[Callable[[], None]], None],
        start: Callable[[], None],
    ) -> None:
        self._answer, self._soon, self._start = answer, soon, start
        self._waiting: deque[tuple[Waiter, Call]] = deque()
        self._lock = threading.Lock()
        self._led = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, waiter: Waiter, call: Call) -> None:
        """Have the call answered with those that come in the same turn of the loop; to be called there."""
        self._waiting.append((waiter, call))
        if len(self._waiting) == 1:
            self._soon(self._begin)

    def _begin(self) -> None:
        """Have what waits answered, unless others are on their way to their answers."""
        with self._lock:
            begins = bool(self._waiting) and not self._led
            self._led = self._led or begins
        if begins:
            self._start()

    def serve(self) -> None:
        """Answer those that wait; in a request thread."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), AT_ONCE))]
        left = deque(waiter for waiter, _ in batch)
        try:
            for answer in self._answer([call for _, call in batch]):
                if len(left) == len(batch):  # what they share is done: the next do it meanwhile
                    self._hand_on()
                _tell(left.popleft(), answer)
        except BaseException:  # a SystemExit of the application, say
            log.exception("exception while answering %d calls", len(batch))
        if len(left) == len(batch):
            self._hand_on()
        for waiter in left:
            waiter.abandon()

    def _hand_on(self) -> None:
        with self._lock:
            self._led = False
        self._begin()

    def abandon(self) -> None:
        """Close whoever waits."""
        with self._lock:
            waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        for waiter, _ in waiting:
            waiter.abandon()


def _tell(waiter: Waiting, answer: Answer) -> None:
    """Send one answer. Where that fails, on a full disk say, its connection is closed and the others are answered."""
    try:
        waiter.answered(answer)
    except Exception:
        log.exception("exception while sending an answer")
        waiter.abandon()
