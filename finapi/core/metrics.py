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
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Literal, NamedTuple

from finapi.core import logs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds; from an answer out of a cache to the time that a call may take (DECISIONS 5).
BUCKET_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)


class MetricFamily(NamedTuple):
    """A figure, or several that differ in the values of their ``labels``."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


# In the order in which they are shown.
FAMILIES: list[MetricFamily] = []


def _family(name: str, kind: Literal["counter", "gauge", "histogram"], help: str, *labels: str) -> MetricFamily:
    FAMILIES.append(MetricFamily(name, kind, help, labels))
    return FAMILIES[-1]


REQUESTS = _family(
    "finapi_requests_total", "counter", "Requests answered, by route and status.", "method", "route", "status"
)
REQUEST_SECONDS = _family(
    "finapi_request_seconds", "histogram", "Time from request to answer, by route.", "method", "route"
)
TOKENS_CHARGED = _family("finapi_tokens_charged_total", "counter", "Tokens that calls cost, refunds not counted.")
PLAN_REQUESTS = _family("finapi_plan_requests_total", "counter", "Requests of verified callers, by plan.", "plan")
PLAN_TOKENS = _family(
    "finapi_plan_tokens_total", "counter", "Tokens that calls cost, by plan and route.", "plan", "route"
)
REFUSALS = _family(
    "finapi_refusals_total",
    "counter",
    "Calls refused before they did anything, by error code and limit zone.",
    "code",
    "zone",
)
QUEUE_DEPTH = _family("finapi_queue_depth", "gauge", "What waits, by queue.", "queue")
WEBHOOK_ATTEMPTS = _family(
    "finapi_webhook_attempts_total", "counter", "Attempts to deliver a webhook, by outcome.", "outcome"
)
FEED_CONNECTIONS = _family("finapi_feed_connections", "gauge", "Readers of the feeds.", "feed")
FEED_MESSAGES = _family("finapi_feed_messages_total", "counter", "Messages queued for readers of the feeds.", "feed")
INGESTED_FILES = _family("finapi_ingested_files_total", "counter", "Files given to ingest, by outcome.", "outcome")
EDGAR_REQUESTS = _family("finapi_edgar_requests_total", "counter", "Requests made to EDGAR, by outcome.", "outcome")
EDGAR_DOCUMENTS = _family(
    "finapi_edgar_documents_total", "counter", "Documents that the poller asked for, by outcome.", "outcome"
)
DOCUMENTS_GIVEN_UP = _family(
    "finapi_edgar_documents_given_up", "gauge", "Documents given up: finapi documents lists them."
)
OUTBOX_SET_ASIDE = _family(
    "finapi_outbox_put_aside", "gauge", "News of filings that could not be told: finapi outbox lists them."
)
WATCHDOG_CHECKS = _family(
    "finapi_checks_total", "counter", "Checks of the watchdog, by service and class.", "service", "class"
)
MISSED_CHECK_ROUNDS = _family("finapi_checks_missed_total", "counter", "Rounds of checks that were due and not made.")
WORKER_UP = _family(
    "finapi_worker_up", "gauge", "1 when a thread does its work, 0 when it ended, hangs or failed.", "worker"
)
SERVICE_UP = _family("finapi_service_up", "gauge", "1 operational, 0.5 degraded, 0 down.", "service")
DATABASE_BYTES = _family("finapi_database_bytes", "gauge", "Size of the database, by part.", "part")
DATA_VERSION = _family("finapi_data_version", "gauge", "Transactions that changed market data.")
DATA_AGE = _family(
    "finapi_data_age_seconds", "gauge", "Of a copy of the market data: since the worker wrote what is newest in it."
)
MEMORY = _family("process_resident_memory_bytes", "gauge", "Resident memory.")
ADDRESS_SPACE = _family("process_virtual_memory_bytes", "gauge", "Virtual memory.")
CPU = _family("process_cpu_seconds_total", "counter", "User and system CPU time.")
HANDLES = _family("process_open_fds", "gauge", "Open file descriptors.")
HANDLES_LIMIT = _family("process_max_fds", "gauge", "File descriptors that may be open.")
THREADS = _family("finapi_threads", "gauge", "Threads of the interpreter.")
LOG_DROPPED = _family("finapi_log_lines_dropped_total", "counter", "Log lines that nobody was there to read.")
COLLECTIONS = _family("finapi_collections_total", "counter", "Runs of the cyclic garbage collector.", "generation")

# A refusal is not the service's failure, nor the call's: it was turned away at the door.
REFUSAL_CODES = frozenset(
    {"RATE_LIMIT_EXCEEDED", "insufficient_tokens", "UNAUTHORIZED", "INVALID_CREDENTIALS", "LOGIN_LOCKED", "FORBIDDEN"}
)

Labels = tuple[str, ...]
Figures = Mapping[MetricFamily, Mapping[Labels, float]]
Reading = Callable[[], Mapping[Labels, float]]


# How many things took up to each of SECONDS, or longer, and at the end the seconds of all of them together.
_Times = list[float]


def _no_times() -> _Times:
    return [0] * (len(BUCKET_SECONDS) + 1) + [0.0]


class Metrics:
    """The counts of one process since its start; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[MetricFamily, dict[Labels, float]] = {
            family: {} if family.labels else {(): 0.0} for family in FAMILIES if family.kind == "counter"
        }
        self._times: dict[MetricFamily, dict[Labels, _Times]] = defaultdict(lambda: defaultdict(_no_times))
        self._requests: dict[Labels, _Times] = defaultdict(_no_times)
        self._readings: list[tuple[MetricFamily, Reading]] = []

    def count(self, family: MetricFamily, *labels: str, by: float = 1) -> None:
        """Add ``by`` to a counter; the values of its labels in the order that the family names them."""
        with self._lock:
            counts = self._counts.setdefault(family, {})
            counts[labels] = counts.get(labels, 0.0) + by

    def observe(self, family: MetricFamily, seconds: float, *labels: str) -> None:
        """Add one thing that took so long to a histogram."""
        with self._lock:
            _add(self._times[family][labels], seconds)

    def register(self, family: MetricFamily, reading: Reading) -> None:
        """Ask ``reading`` for a family's values, by the values of its labels, whenever the text is made."""
        self._readings.append((family, reading))

    def count_request(
        self,
        of: tuple[str, str, str],
        seconds: float,
        tokens: int = 0,
        refusal: tuple[str, str] | None = None,
        plan: str | None = None,
    ) -> None:
        """Count a request ``of`` (method, route, status) that was answered; all that a request's path does.

        ``refusal`` is (error code, zone) of one that was turned away; ``plan`` the plan of a verified caller.
        """
        with self._lock:
            _add(self._requests[of], seconds)
            if tokens:
                self._counts[TOKENS_CHARGED][()] += tokens
                spent = self._counts[PLAN_TOKENS]
                spent[plan or "", of[1]] = spent.get((plan or "", of[1]), 0.0) + tokens
            if plan is not None:
                asked = self._counts[PLAN_REQUESTS]
                asked[(plan,)] = asked.get((plan,), 0.0) + 1
            if refusal is not None and refusal[0] in REFUSAL_CODES:
                counts = self._counts[REFUSALS]
                counts[refusal] = counts.get(refusal, 0.0) + 1

    def render(self, beside: Figures) -> str:
        """Every figure, those that the caller has looked up ``beside`` them, in Prometheus's text format."""
        with self._lock:
            values = {family: dict(counts) for family, counts in self._counts.items()}
            values[REQUESTS] = {of: float(sum(times[:-1])) for of, times in self._requests.items()}
            times = {family: _merged(series, len(family.labels)) for family, series in self._times.items()}
            # Without the status.
            times[REQUEST_SECONDS] = _merged(self._requests, 2)
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


def _add(times: _Times, seconds: float) -> None:
    times[bisect_left(BUCKET_SECONDS, seconds)] += 1
    times[-1] += seconds


def _merged(series: Mapping[Labels, _Times], count: int) -> dict[Labels, _Times]:
    """A copy in which what differs beyond the first ``count`` labels only is added up."""
    merged: dict[Labels, _Times] = {}
    for labels, times in series.items():
        before = merged.get(labels[:count], _no_times())
        merged[labels[:count]] = [one + other for one, other in zip(before, times, strict=True)]
    return merged


def _lines(family: MetricFamily, values: Mapping[Labels, float], times: Mapping[Labels, _Times]) -> Iterator[str]:
    for labels, value in sorted(values.items()):
        yield f"{family.name}{_braces(family.labels, labels)} {_number(value)}"
    for labels, one in sorted(times.items(), key=lambda item: item[0]):
        within = list(accumulate(one[:-1]))
        for bound, number in zip((*map(_number, BUCKET_SECONDS), "+Inf"), within, strict=True):
            yield f"{family.name}_bucket{_braces((*family.labels, 'le'), (*labels, bound))} {number}"
        yield f"{family.name}_sum{_braces(family.labels, labels)} {_number(one[-1])}"
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


def read_memory_usage() -> tuple[int, int]:
    """Bytes of the process's address space and of its resident memory; zeros where no ``/proc`` tells them."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            space, resident = (int(text) * resource.getpagesize() for text in statm.read().split()[:2])
    except (OSError, ValueError):
        return 0, 0
    return space, resident


_PROCESS: tuple[tuple[MetricFamily, Reading], ...] = (
    (ADDRESS_SPACE, lambda: {(): float(read_memory_usage()[0])}),
    (MEMORY, lambda: {(): float(read_memory_usage()[1])}),
    (CPU, lambda: {(): sum(os.times()[:2])}),
    (HANDLES, lambda: {(): float(len(os.listdir("/proc/self/fd")))}),
    (HANDLES_LIMIT, lambda: {(): float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}),
    (LOG_DROPPED, lambda: {(): float(logs.count_dropped_lines())}),
    (THREADS, lambda: {(): float(threading.active_count())}),
    (COLLECTIONS, lambda: {(str(age),): float(one["collections"]) for age, one in enumerate(gc.get_stats())}),
)
