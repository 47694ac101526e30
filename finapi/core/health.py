"""Checks of the components of a running finapi: made at once, each with a deadline, and what the last ones found.

A component works when its probe returns. Nothing here knows what the components are or where results are kept.
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

# What came of a check. "failing": the component answered that it cannot (5xx), and again when asked a second time;
# "recovered": the second answer was good; "wrong": an answer that is neither good nor a 5xx.
Outcome = Literal["answered", "recovered", "refused", "timeout", "failing", "wrong"]
Health = Literal["healthy", "degraded", "down"]
Status = Literal["operational", "degraded", "down"]

# DECISIONS 11: the class of an outcome that was quick, and of a slow one.
HEALTH_BY_OUTCOME: Mapping[Outcome, tuple[Health, Health]] = {
    "answered": ("healthy", "degraded"),
    "recovered": ("degraded", "degraded"),
    "refused": ("down", "down"),
    "timeout": ("down", "down"),
    "failing": ("down", "down"),
    "wrong": ("down", "down"),
}
SLOW_MS = 1000  # the spec's row: under 1 s is healthy

STATUS_BY_HEALTH: Mapping[Health, Status] = {"healthy": "operational", "degraded": "degraded", "down": "down"}

RETRY_SECONDS = 0.25  # before a component that said 5xx is asked again, within the same check

# Returns when the component works: how many milliseconds its own work took, or None to be timed from outside. A Trouble
# says what is wrong; any other exception counts as a 5xx.
Probe = Callable[[], int | None]


class ProbeError(Exception):
    """What a probe found wrong; ``reason`` is in words of our own and may be shown."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


class CheckResult(NamedTuple):
    """One check of one component; ``reason`` says why it is not healthy."""

    outcome: Outcome
    ms: int
    reason: str | None = None

    @property
    def health(self) -> Health:
        """Its class by the spec's table."""
        return HEALTH_BY_OUTCOME[self.outcome][self.ms >= SLOW_MS]


class CheckRecord(NamedTuple):
    """A check in its round: the tick (seconds since 1970) that it counts for, and the time (ISO 8601) it was made."""

    service: str
    tick: int
    at: str
    result: CheckResult


class HealthChecker:
    """Makes checks. One that does not come back in time is left behind, and no other is started behind it."""

    def __init__(self, monotonic: Callable[[], float], deadline: float) -> None:
        self._monotonic = monotonic
        self._deadline = deadline
        self._threads: dict[str, threading.Thread] = {}
        self._under_way: set[str] = set()
        self._found: SimpleQueue[tuple[str, CheckResult] | None] = SimpleQueue()
        self._stopping = threading.Event()

    def check_all(self, probes: Mapping[str, Probe]) -> dict[str, CheckResult]:
        """The check of every probe, all made at the same time; it takes no longer than the deadline.

        When ``close`` is called meanwhile, those that have not come back are left out.
        """
        # A queue of its own each time: what comes back too late is put where nobody looks any more.
        queue = self._found = SimpleQueue()
        waited_for = {name for name, probe in probes.items() if self._begin(name, probe, queue)}
        found: dict[str, CheckResult] = {}
        end = time.monotonic() + self._deadline
        while waited_for - set(found) and not self._stopping.is_set():
            try:
                answer = queue.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                break
            if answer is not None:
                found[answer[0]] = answer[1]
        if self._stopping.is_set():
            return found
        late = CheckResult("timeout", round(self._deadline * 1000), f"no answer within {self._deadline:g} s")
        return {name: found.get(name, late) for name in probes}

    def close(self) -> None:
        """Wait for no check any more; one that hangs is left to end with the process."""
        self._stopping.set()
        self._found.put(None)

    def join(self, seconds: float) -> None:
        """Let what is under way come to its end, for so many seconds in all."""
        end = time.monotonic() + seconds
        for thread in self._threads.values():
            thread.join(max(0.0, end - time.monotonic()))

    def _begin(self, name: str, probe: Probe, queue: SimpleQueue[tuple[str, CheckResult] | None]) -> bool:
        if name in self._under_way:
            return False

        def make() -> None:
            try:
                check = self._check(probe)
            finally:
                # Before it is told: the next round may begin while this thread still ends.
                self._under_way.discard(name)
            queue.put((name, check))

        thread = threading.Thread(target=make, name=f"finapi-check-{name}", daemon=True)
        self._under_way.add(name)
        try:
            thread.start()
        except RuntimeError:
            self._under_way.discard(name)
            raise
        self._threads[name] = thread
        return True

    def _check(self, probe: Probe) -> CheckResult:
        started = self._monotonic()
        took, trouble = _asked(probe)
        outcome: Outcome = "answered" if trouble is None else trouble.outcome
        if outcome == "failing":
            self._stopping.wait(min(RETRY_SECONDS, self._deadline / 4))
            took, again = _asked(probe)
            outcome = "recovered" if again is None else again.outcome
            trouble = again or trouble
        ms = round((self._monotonic() - started) * 1000) if took is None else took
        if trouble is None:
            return CheckResult(outcome, ms, f"answered after {ms} ms" if ms >= SLOW_MS else None)
        return CheckResult(outcome, ms, trouble.reason)


def _asked(probe: Probe) -> tuple[int | None, ProbeError | None]:
    """What the probe returned, or the trouble that it found."""
    try:
        return probe(), None
    except ProbeError as trouble:
        return None, trouble
    except StoreUnavailableError as error:  # which the store has logged
        return None, ProbeError("failing", str(error))
    except Exception as error:
        log.warning("a check failed", exc_info=error)
        return None, ProbeError("failing", f"the check failed with {type(error).__name__}")


class ComponentStatus(NamedTuple):
    """How a component was at its last check, and the share of healthy checks in the last 30 days in per cent."""

    status: Status
    checked_at: str
    uptime: float
    reason: str | None = None


PROBE_HEADER = "X-Finapi-Probe"


class HealthState:
    """What is watched, and how it was at its last check: the watchdog writes it, ``/status`` reads it.

    ``probes`` are of the components that run, by name, each added by whoever starts it. ``tick`` is that of the last
    round and ``ticked`` its monotonic time.
    """

    def __init__(self, checks: HealthChecker, keep_seconds: float) -> None:
        self.checker = checks
        self.probes: dict[str, Probe] = {}
        self.components: Mapping[str, ComponentStatus] = {}
        # What requests of our own show as MARK, and nobody else knows: they are no line of the access log.
        self.probe_token = ""
        self.last_round_at: float | None = None
        self.tick: int | None = None
        # As it was last read from the store.
        self.freshness: Any = None
        # Has the first round made now, set by whoever makes rounds beside calls; and whether it was made.
        self.wake_watchdog: Callable[[], None] | None = None
        self.first_round_done = threading.Event()
        # One round at a time.
        self.lock = threading.Lock()
        # What the store could not take, oldest first: two days of twelve services.
        self.unrecorded: deque[CheckRecord] = deque(maxlen=2 * 1440 * 12)
        # Answers that are made of all this: the document, the page, the list of changes.
        self.answer_caches: Mapping[str, TimedCache[bytes]] = {
            name: TimedCache(keep_seconds) for name in ("status", "page", "changes")
        }

    def wait_for_first_round(self, seconds: float) -> None:
        """Have the first round made, if it is still to come; wait for it so long."""
        if self.wake_watchdog is not None and not self.first_round_done.is_set():
            self.wake_watchdog()
            self.first_round_done.wait(seconds)

    def reset(self) -> None:
        """Know of no round: the next is the first."""
        with self.lock:
            self.components, self.tick, self.last_round_at, self.freshness = {}, None, None, None
            self.unrecorded.clear()
            self.clear_answer_caches()

    def clear_answer_caches(self) -> None:
        """Make every kept answer anew: how something stands has changed."""
        for kept in self.answer_caches.values():
            kept.clear()
