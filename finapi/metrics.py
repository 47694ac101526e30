"""What the process counts and measures of itself, as Prometheus reads it (text exposition format 0.0.4).

Work is counted where it happens, by one addition; what can be looked up is looked up when somebody asks. A new
figure is a ``Family`` in the table below, and a call of ``count``, ``observe`` or ``measure`` with it.
"""

from __future__ import annotations

import gc
import os
import resource
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds; from an answer out of a cache to the time that a call may take (SPEC: 300).
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class Family:
    """A figure, or several that differ in the values of their ``labels``."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


REQUESTS = Family(
    "finapi_requests_total",
    "counter",
    "Requests answered, by route and status.",
    ("method", "route", "status"),
)
REQUEST_SECONDS = Family(
    "finapi_request_seconds", "histogram", "Time from request to answer, by route.", ("method", "route")
)
TOKENS = Family("finapi_tokens_charged_total", "counter", "Tokens that calls cost, refunds not counted.")
REFUSALS = Family(
    "finapi_refusals_total",
    "counter",
    "Calls refused before they did anything, by error code and limit zone.",
    ("code", "zone"),
)
QUEUE = Family("finapi_queue_depth", "gauge", "What waits, by queue.", ("queue",))
DELIVERIES = Family(
    "finapi_webhook_attempts_total", "counter", "Attempts to deliver a webhook, by outcome.", ("outcome",)
)
FEED_CONNECTIONS = Family("finapi_feed_connections", "gauge", "Readers of the feeds.", ("feed",))
FEED_MESSAGES = Family(
    "finapi_feed_messages_total", "counter", "Messages queued for readers of the feeds.", ("feed",)
)
INGESTED = Family(
    "finapi_ingested_files_total", "counter", "Files given to ingest, by outcome.", ("outcome",)
)
EDGAR = Family("finapi_edgar_requests_total", "counter", "Requests made to EDGAR, by outcome.", ("outcome",))
CHECKS = Family(
    "finapi_checks_total", "counter", "Checks of the watchdog, by service and class.", ("service", "class")
)
MISSED = Family("finapi_checks_missed_total", "counter", "Rounds of checks that were due and not made.")
WORKING = Family(
    "finapi_worker_up",
    "gauge",
    "1 when a thread does its work, 0 when it ended, hangs or failed.",
    ("worker",),
)
UP = Family("finapi_service_up", "gauge", "1 operational, 0.5 degraded, 0 down.", ("service",))
DATABASE = Family("finapi_database_bytes", "gauge", "Size of the database, by part.", ("part",))
DATA_VERSION = Family("finapi_data_version", "gauge", "Transactions that changed market data.")
MEMORY = Family("process_resident_memory_bytes", "gauge", "Resident memory.")
ADDRESS_SPACE = Family("process_virtual_memory_bytes", "gauge", "Virtual memory.")
CPU = Family("process_cpu_seconds_total", "counter", "User and system CPU time.")
HANDLES = Family("process_open_fds", "gauge", "Open file descriptors.")
HANDLES_LIMIT = Family("process_max_fds", "gauge", "File descriptors that may be open.")
THREADS = Family("finapi_threads", "gauge", "Threads of the interpreter.")
COLLECTIONS = Family(
    "finapi_collections_total", "counter", "Runs of the cyclic garbage collector.", ("generation",)
)

FAMILIES = (
    REQUESTS,
    REQUEST_SECONDS,
    TOKENS,
    REFUSALS,
    QUEUE,
    DELIVERIES,
    FEED_CONNECTIONS,
    FEED_MESSAGES,
    INGESTED,
    EDGAR,
    CHECKS,
    MISSED,
    WORKING,
    UP,
    DATABASE,
    DATA_VERSION,
    MEMORY,
    ADDRESS_SPACE,
    CPU,
    HANDLES,
    HANDLES_LIMIT,
    THREADS,
    COLLECTIONS,
)

# A refusal is not the service's failure, nor the call's: it was turned away at the door.
REFUSAL_CODES = frozenset(
    {
        "RATE_LIMIT_EXCEEDED",
        "insufficient_tokens",
        "UNAUTHORIZED",
        "INVALID_CREDENTIALS",
        "LOGIN_LOCKED",
        "FORBIDDEN",
    }
)

Labels = tuple[str, ...]
Figures = Mapping[Family, Mapping[Labels, float]]
Reading = Callable[[], Mapping[Labels, float]]


class _Times:
    """How long things took: how many within each bound, how many in all, and their sum in seconds."""

    __slots__ = ("buckets", "sum")

    def __init__(self) -> None:
        self.buckets = [0] * (len(SECONDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(SECONDS, seconds)] += 1
        self.sum += seconds


class Metrics:
    """The counts of one process since its start; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Family, dict[Labels, float]] = {
            family: {} if family.labels else {(): 0.0} for family in FAMILIES if family.kind == "counter"
        }
        self._times: dict[Family, dict[Labels, _Times]] = {}
        self._requests: dict[Labels, _Times] = {}
        self._readings: list[tuple[Family, Reading]] = []

    def count(self, family: Family, *labels: str, by: float = 1) -> None:
        """Add ``by`` to a counter; the values of its labels in the order that the family names them."""
        with self._lock:
            counts = self._counts.setdefault(family, {})
            counts[labels] = counts.get(labels, 0.0) + by

    def observe(self, family: Family, seconds: float, *labels: str) -> None:
        """Add one thing that took so long to a histogram."""
        with self._lock:
            _times(self._times.setdefault(family, {}), labels).add(seconds)

    def measure(self, family: Family, reading: Reading) -> None:
        """Ask ``reading`` for a family's values, by the values of its labels, whenever the text is made."""
        self._readings.append((family, reading))

    def request(
        self,
        of: tuple[str, str, str],
        seconds: float,
        tokens: int = 0,
        refusal: tuple[str, str] | None = None,
    ) -> None:
        """Count a request ``of`` (method, route, status) that was answered; all that a request's path does.

        ``refusal`` is (error code, zone) of one that was turned away.
        """
        with self._lock:
            _times(self._requests, of).add(seconds)
            if tokens:
                self._counts[TOKENS][()] += tokens
            if refusal is not None and refusal[0] in REFUSAL_CODES:
                counts = self._counts[REFUSALS]
                counts[refusal] = counts.get(refusal, 0.0) + 1

    def text(self, beside: Figures) -> str:
        """Every figure, those that the caller has looked up ``beside`` them, in Prometheus's text format."""
        with self._lock:
            values = {family: dict(counts) for family, counts in self._counts.items()}
            values[REQUESTS] = {of: float(sum(times.buckets)) for of, times in self._requests.items()}
            times = {family: _copies(series) for family, series in self._times.items()}
            times[REQUEST_SECONDS] = _by_route(self._requests)
        for family, reading in [*self._readings, *_PROCESS]:
            values.setdefault(family, {}).update(reading())
        for family, figures in beside.items():
            values.setdefault(family, {}).update(figures)
        lines: list[str] = []
        for family in dict.fromkeys((*FAMILIES, *values, *times)):
            if values.get(family) or times.get(family):
                lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
                lines += _lines(family, values.get(family, {}), times.get(family, {}))
        return "\n".join(lines) + "\n"


def _times(series: dict[Labels, _Times], labels: Labels) -> _Times:
    found = series.get(labels)
    if found is None:
        found = series[labels] = _Times()
    return found


def _copies(series: Mapping[Labels, _Times]) -> dict[Labels, _Times]:
    copies: dict[Labels, _Times] = {}
    for labels, times in series.items():
        _merge(_times(copies, labels), times)
    return copies


def _by_route(requests: Mapping[Labels, _Times]) -> dict[Labels, _Times]:
    """The times of requests without their status."""
    merged: dict[Labels, _Times] = {}
    for labels, times in requests.items():
        _merge(_times(merged, labels[:2]), times)
    return merged


def _merge(into: _Times, times: _Times) -> None:
    into.buckets = [one + other for one, other in zip(into.buckets, times.buckets, strict=True)]
    into.sum += times.sum


def _lines(family: Family, values: Mapping[Labels, float], times: Mapping[Labels, _Times]) -> Iterator[str]:
    for labels, value in sorted(values.items()):
        yield f"{family.name}{_braces(family.labels, labels)} {_number(value)}"
    for labels, one in sorted(times.items(), key=lambda item: item[0]):
        within = list(accumulate(one.buckets))
        for bound, number in zip((*map(_number, SECONDS), "+Inf"), within, strict=True):
            yield f"{family.name}_bucket{_braces((*family.labels, 'le'), (*labels, bound))} {number}"
        yield f"{family.name}_sum{_braces(family.labels, labels)} {_number(one.sum)}"
        yield f"{family.name}_count{_braces(family.labels, labels)} {within[-1]}"


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


# ---- the process


def _memory(field: int) -> Reading:
    def read() -> Mapping[Labels, float]:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return {(): float(int(statm.read().split()[field]) * resource.getpagesize())}

    return read


def _cpu() -> Mapping[Labels, float]:
    used = os.times()
    return {(): used.user + used.system}


def _collections() -> Mapping[Labels, float]:
    return {(str(number),): float(one["collections"]) for number, one in enumerate(gc.get_stats())}


_PROCESS: tuple[tuple[Family, Reading], ...] = (
    (ADDRESS_SPACE, _memory(0)),
    (MEMORY, _memory(1)),
    (CPU, _cpu),
    (HANDLES, lambda: {(): float(len(os.listdir("/proc/self/fd")))}),
    (HANDLES_LIMIT, lambda: {(): float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}),
    (THREADS, lambda: {(): float(threading.active_count())}),
    (COLLECTIONS, _collections),
)
