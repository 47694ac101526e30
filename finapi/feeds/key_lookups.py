"""Look-ups of API keys in a worker thread, because the event loop of the feeds must not wait for a disk."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from finapi.core import stopping
from finapi.httpd.loop import Loop

log = logging.getLogger("finapi.feeds")

Result = TypeVar("Result")


class _Lookup(NamedTuple):
    look_up: Callable[[], Any]
    on_result: Callable[[Any], object]
    on_failure: Callable[[], None]


class KeyLookups:
    """A queue of look-ups. A worker runs them, and the loop gets the results.

    The number of look-ups is limited by the number of connections, because each one waits for its result before the
    next.
    """

    def __init__(self, loop: Loop) -> None:
        self.wake: Callable[[], object] = lambda: None  # Wakes the worker of :meth:`run_lookup_step`.
        self._loop = loop
        self._lookups: deque[_Lookup] = deque()

    def submit(
        self, look_up: Callable[[], Result], on_result: Callable[[Result], object], on_failure: Callable[[], None]
    ) -> None:
        """Call ``look_up`` in the worker, then ``on_result`` with its result, or ``on_failure``, in the loop."""
        self._lookups.append(_Lookup(look_up, on_result, on_failure))
        self.wake()

    def run_lookup_step(self) -> None:
        """Run all look-ups in their order. It is the step of a worker, and runs again when the worker is woken."""
        while self._lookups and not stopping.is_requested():
            lookup = self._lookups.popleft()
            try:
                result = lookup.look_up()
            except Exception:
                log.exception("keys could not be looked up")
                self._loop.call_soon(lookup.on_failure)
            else:
                self._loop.call_soon(partial(self._report, lookup, result))

    def _report(self, lookup: _Lookup, result: object) -> None:
        try:
            lookup.on_result(result)
        except Exception:
            log.exception("a reader could not be let in")
            lookup.on_failure()
