"""The health of the components of a running finapi: checks that run together, and the results of the last ones.

A component is something that the service needs, such as the store or the pages. Its probe is a function that returns if
the component works. This module knows neither the components nor the place where results are stored: the watchdog
(:mod:`finapi.ops.watchdog`) runs the checks once per interval, which is a *round*, and records them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

from finapi.core.cache import TimedCache
from finapi.core.errors import StoreUnavailableError

log = logging.getLogger("finapi.watch")

# The outcome of a check. "failing": the component answered twice that it cannot work (5xx). "recovered": the second
# answer was good. "wrong": an answer that is neither good nor a 5xx.
Outcome = Literal["answered", "recovered", "refused", "timeout", "failing", "wrong"]
Health = Literal["healthy", "degraded", "down"]
Status = Literal["operational", "degraded", "down"]

# The health by the outcome, of a quick answer and of a slow one (DECISIONS 11).
HEALTH_BY_OUTCOME: Mapping[Outcome, tuple[Health, Health]] = {
    "answered": ("healthy", "degraded"),
    "recovered": ("degraded", "degraded"),
    "refused": ("down", "down"),
    "timeout": ("down", "down"),
    "failing": ("down", "down"),
    "wrong": ("down", "down"),
}
SLOW_MS = 1000  # A healthy component answers in less than a second.

STATUS_BY_HEALTH: Mapping[Health, Status] = {"healthy": "operational", "degraded": "degraded", "down": "down"}

RETRY_SECONDS = 0.25  # The wait before a component that answered 5xx is probed again, within the same check.
MAX_UNRECORDED = 2 * 1440 * 12  # Two days of checks of twelve services, one a minute.

# The header of the requests that finapi makes to itself for a check. Its value is ``HealthState.probe_token``.
PROBE_HEADER = "X-Finapi-Probe"

# Returns normally if the component works: the milliseconds that its work took, or None if the duration of the call is
# to be recorded. Raises ProbeError if it does not work. Any other exception counts as a 5xx.
Probe = Callable[[], int | None]


class ProbeError(Exception):
    """A component that does not work. ``reason`` may be published."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


class CheckResult(NamedTuple):
    """The result of a check of a component. ``reason`` says why it is not healthy."""

    outcome: Outcome
    ms: int
    reason: str | None = None

    @property
    def health(self) -> Health:
        """Return the health that follows from the outcome and from the time that the check took."""
        quick, slow = HEALTH_BY_OUTCOME[self.outcome]
        return slow if self.ms >= SLOW_MS else quick


class CheckRecord(NamedTuple):
    """A result as it is recorded.

    ``tick`` identifies the round by its time in seconds since 1970, rounded down to the interval of the watchdog.
    ``at`` is the time of the check (ISO 8601).
    """

    service: str
    tick: int
    at: str
    result: CheckResult


# The name of a component and the result of its check. None wakes the thread that waits for results.
_ResultQueue = SimpleQueue[tuple[str, CheckResult] | None]


class HealthChecker:
    """Checks components, each in its own thread.

    A check that has not ended at the deadline counts as a timeout. Until it ends, the component is not checked again.
    """

    def __init__(self, monotonic: Callable[[], float], deadline_seconds: float) -> None:
        self._monotonic = monotonic
        self._deadline_seconds = deadline_seconds
        self._threads: dict[str, threading.Thread] = {}
        self._running: set[str] = set()
        self._results: _ResultQueue = SimpleQueue()
        self._stopping = threading.Event()

    def check_all(self, probes: Mapping[str, Probe]) -> dict[str, CheckResult]:
        """Run all probes together, until the deadline. Return their results by name.

        If :meth:`close` is called meanwhile, missing results are left out.
        """
        # Each call has a new queue. Checks that end too late put their results into an old one, which is not read.
        queue = self._results = SimpleQueue()
        pending = {name for name, probe in probes.items() if self._start_check(name, probe, queue)}
        results: dict[str, CheckResult] = {}
        end_at = time.monotonic() + self._deadline_seconds
        while pending and not self._stopping.is_set():
            try:
                named_result = queue.get(timeout=max(0.0, end_at - time.monotonic()))
            except Empty:
                break
            if named_result is not None:
                name, result = named_result
                results[name] = result
                pending.discard(name)
        if self._stopping.is_set():
            return results
        reason = f"no answer within {self._deadline_seconds:g} s"
        timeout = CheckResult("timeout", round(self._deadline_seconds * 1000), reason)
        return {name: results.get(name, timeout) for name in probes}

    def close(self) -> None:
        """Stop waiting for results. A check that hangs ends with the process."""
        self._stopping.set()
        self._results.put(None)

    def join(self, seconds: float) -> None:
        """Wait for the running checks to end, for ``seconds`` in total."""
        end_at = time.monotonic() + seconds
        for thread in self._threads.values():
            thread.join(max(0.0, end_at - time.monotonic()))

    def _start_check(self, name: str, probe: Probe, queue: _ResultQueue) -> bool:
        """Start a check, unless one of the component still runs. Return True if it was started."""
        if name in self._running:
            return False

        def run() -> None:
            try:
                result = self._check(name, probe)
            finally:
                # This precedes the report of the result, because the next round may begin before this thread has ended.
                self._running.discard(name)
            queue.put((name, result))

        thread = threading.Thread(target=run, name=f"finapi-check-{name}", daemon=True)
        self._running.add(name)
        try:
            thread.start()
        except RuntimeError:
            self._running.discard(name)
            raise
        self._threads[name] = thread
        return True

    def _check(self, name: str, probe: Probe) -> CheckResult:
        started_at = self._monotonic()
        own_ms, error = _run_probe(name, probe)
        outcome: Outcome = "answered" if error is None else error.outcome
        if outcome == "failing":
            self._stopping.wait(min(RETRY_SECONDS, self._deadline_seconds / 4))
            own_ms, second_error = _run_probe(name, probe)
            outcome = "recovered" if second_error is None else second_error.outcome
            error = second_error or error
        ms = round((self._monotonic() - started_at) * 1000) if own_ms is None else own_ms
        if error is not None:
            return CheckResult(outcome, ms, error.reason)
        return CheckResult(outcome, ms, f"answered after {ms} ms" if ms >= SLOW_MS else None)


def _run_probe(name: str, probe: Probe) -> tuple[int | None, ProbeError | None]:
    """Return the milliseconds that the probe of a component returned, and its error or None."""
    try:
        return probe(), None
    except ProbeError as error:
        return None, error
    except StoreUnavailableError as error:  # The store has logged it.
        return None, ProbeError("failing", str(error))
    except Exception as error:
        log.warning("the check of %s failed", name, exc_info=error)
        return None, ProbeError("failing", f"the check failed with {type(error).__name__}")


class ComponentStatus(NamedTuple):
    """The status of a component at its last check, and the percentage of healthy checks in the last 30 days."""

    status: Status
    checked_at: str
    uptime: float
    reason: str | None = None


class HealthState:
    """The probes of the components, and their status at the last check.

    The watchdog writes the status and ``/status`` reads it. ``probes`` are added by the code that starts a component.
    """

    def __init__(self, checker: HealthChecker, cache_seconds: float) -> None:
        self.checker = checker
        self.probes: dict[str, Probe] = {}
        self.components: Mapping[str, ComponentStatus] = {}
        # A secret that marks the requests of finapi to itself, which are not written to the access log.
        self.probe_token = ""
        # The monotonic time of the last round, and its tick (seconds since 1970).
        self.last_round_at: float | None = None
        self.tick: int | None = None
        # The freshness of the data when it was last read from the store.
        self.freshness: Any = None
        # Starts a round now. None if no watchdog runs in this process.
        self.wake_watchdog: Callable[[], None] | None = None
        self.first_round_done = threading.Event()
        # Held during a round.
        self.lock = threading.Lock()
        # Records that could not be written to the database, oldest first.
        self.unrecorded: deque[CheckRecord] = deque(maxlen=MAX_UNRECORDED)
        # The responses that show the status: the document, the page, and the list of changes.
        self.answer_caches: Mapping[str, TimedCache[bytes]] = {
            name: TimedCache(cache_seconds) for name in ("status", "page", "changes")
        }

    def wait_for_first_round(self, seconds: float) -> None:
        """Start the first round and wait up to ``seconds`` for its end, unless it is over."""
        if self.wake_watchdog is not None and not self.first_round_done.is_set():
            self.wake_watchdog()
            self.first_round_done.wait(seconds)

    def reset(self) -> None:
        """Forget all rounds, so that the next one is the first."""
        with self.lock:
            self.components = {}
            self.tick = None
            self.last_round_at = None
            self.freshness = None
            self.unrecorded.clear()
            self.clear_answer_caches()

    def clear_answer_caches(self) -> None:
        """Drop the cached responses, because the status of a component has changed."""
        for cache in self.answer_caches.values():
            cache.clear()
