"""Metrics of the process in Prometheus's text exposition format 0.0.4.

Work is counted where it is done, by an addition (:meth:`Metrics.count`, :meth:`Metrics.observe`). Values that can be
looked up, such as the length of a queue, are looked up when the metrics are requested (:meth:`Metrics.register`). A new
metric needs an entry in the table of metric families below (:data:`FAMILIES`), and a call of one of these methods.
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

# Upper bounds of the histograms: from a cached response to the longest that a call may take (DECISIONS 5).
BUCKET_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)


class MetricFamily(NamedTuple):
    """A metric, with one value for each combination of the values of its ``labels``."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


# All metric families, in the order of the output.
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
TOKENS_CHARGED = _family(
    "finapi_tokens_charged_total", "counter", "Tokens charged for calls. Refunds are not subtracted."
)
PLAN_REQUESTS = _family("finapi_plan_requests_total", "counter", "Requests of verified callers, by plan.", "plan")
PLAN_TOKENS = _family(
    "finapi_plan_tokens_total", "counter", "Tokens charged for calls, by plan and route.", "plan", "route"
)
REFUSALS = _family(
    "finapi_refusals_total",
    "counter",
    "Calls refused before any work, by error code and limit zone.",
    "code",
    "zone",
)
QUEUE_DEPTH = _family("finapi_queue_depth", "gauge", "Entries that wait, by queue.", "queue")
WEBHOOK_ATTEMPTS = _family(
    "finapi_webhook_attempts_total", "counter", "Attempts to deliver a webhook, by outcome.", "outcome"
)
FEED_CONNECTIONS = _family("finapi_feed_connections", "gauge", "Open connections of the feeds.", "feed")
FEED_MESSAGES = _family(
    "finapi_feed_messages_total", "counter", "Messages queued for connections of the feeds.", "feed"
)
INGESTED_FILES = _family("finapi_ingested_files_total", "counter", "Files given to ingest, by outcome.", "outcome")
EDGAR_REQUESTS = _family("finapi_edgar_requests_total", "counter", "Requests made to EDGAR, by outcome.", "outcome")
EDGAR_DOCUMENTS = _family(
    "finapi_edgar_documents_total", "counter", "Documents that the poller requested, by outcome.", "outcome"
)
DOCUMENTS_GIVEN_UP = _family(
    "finapi_edgar_documents_given_up", "gauge", "Documents that are not requested again. finapi documents lists them."
)
OUTBOX_SET_ASIDE = _family(
    "finapi_outbox_put_aside", "gauge", "Filing events set aside because they failed. finapi outbox lists them."
)
WATCHDOG_CHECKS = _family(
    "finapi_checks_total", "counter", "Checks of the watchdog, by service and class.", "service", "class"
)
MISSED_CHECK_ROUNDS = _family(
    "finapi_checks_missed_total", "counter", "Rounds of checks that were due and did not take place."
)
WORKER_UP = _family("finapi_worker_up", "gauge", "1 if a thread works, 0 if it has ended, hangs or failed.", "worker")
SERVICE_UP = _family("finapi_service_up", "gauge", "1 operational, 0.5 degraded, 0 down.", "service")
DATABASE_BYTES = _family("finapi_database_bytes", "gauge", "Size of the database, by part.", "part")
DISK_FREE = _family("finapi_disk_free_bytes", "gauge", "Free space on the disk of the data directory.")
BACKUP_AGE = _family("finapi_backup_age_seconds", "gauge", "Age of the newest backup in FINAPI_BACKUP_DIR.")
DATA_VERSION = _family("finapi_data_version", "gauge", "Transactions that changed market data so far.")
DATA_AGE = _family("finapi_data_age_seconds", "gauge", "Age of the newest data in a copy of the market data.")
RESIDENT_MEMORY = _family("process_resident_memory_bytes", "gauge", "Resident memory.")
ADDRESS_SPACE = _family("process_virtual_memory_bytes", "gauge", "Virtual memory.")
CPU = _family("process_cpu_seconds_total", "counter", "User and system CPU time.")
OPEN_FILES = _family("process_open_fds", "gauge", "Open file descriptors.")
MAX_FILES = _family("process_max_fds", "gauge", "Maximum number of open file descriptors.")
THREADS = _family("finapi_threads", "gauge", "Threads of the interpreter.")
DROPPED_LOG_LINES = _family(
    "finapi_log_lines_dropped_total", "counter", "Log lines dropped because the log was not read."
)
COLLECTIONS = _family("finapi_collections_total", "counter", "Runs of the cyclic garbage collector.", "generation")

# The error codes that count as refusals: the call was turned away, and neither it nor the service has failed.
REFUSAL_CODES = frozenset(
    {"RATE_LIMIT_EXCEEDED", "insufficient_tokens", "UNAUTHORIZED", "INVALID_CREDENTIALS", "LOGIN_LOCKED", "FORBIDDEN"}
)

Labels = tuple[str, ...]
Figures = Mapping[MetricFamily, Mapping[Labels, float]]
# Returns the values of a family, by the values of its labels.
Reading = Callable[[], Mapping[Labels, float]]


class RequestTotals(NamedTuple):
    """The calls of the API that a process answered: all, the tokens charged, and those with status 4xx and 5xx."""

    calls: int
    tokens: int
    refusals: int
    failures: int


class _Histogram:
    """The number of durations up to each of ``BUCKET_SECONDS``, and of longer ones, and their sum."""

    __slots__ = ("bucket_counts", "total_seconds")

    def __init__(self) -> None:
        self.bucket_counts = [0] * (len(BUCKET_SECONDS) + 1)
        self.total_seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.bucket_counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.total_seconds += seconds

    def add_all(self, other: _Histogram) -> None:
        """Count the durations of another histogram."""
        for index, count in enumerate(other.bucket_counts):
            self.bucket_counts[index] += count
        self.total_seconds += other.total_seconds


class Metrics:
    """The counters and histograms of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # A counter without labels is 0 until it is counted. With labels it has no values until then.
        self._counts: dict[MetricFamily, dict[Labels, float]] = {
            family: {} if family.labels else {(): 0.0} for family in FAMILIES if family.kind == "counter"
        }
        # Histograms by method, route and status. The counter and the histogram of requests are both derived from them.
        self._requests: dict[Labels, _Histogram] = defaultdict(_Histogram)
        self._readings: list[tuple[MetricFamily, Reading]] = []

    def count(self, family: MetricFamily, *labels: str, by: float = 1) -> None:
        """Add ``by`` to a counter. ``labels`` are the values of the family's labels, in the same order."""
        with self._lock:
            self._add(family, labels, by)

    def register(self, family: MetricFamily, reading: Reading) -> None:
        """Call ``reading`` for the values of a family whenever the metrics are rendered."""
        self._readings.append((family, reading))

    def count_request(
        self,
        labels: tuple[str, str, str],
        seconds: float,
        tokens: int = 0,
        refusal: tuple[str, str] | None = None,
        plan: str | None = None,
    ) -> None:
        """Count an answered request in all metrics that it concerns.

        ``labels`` are its method, route and status. ``tokens`` is its charge. ``refusal`` is the error code and the
        limit zone of a request that was turned away, ``plan`` the plan of a verified caller.
        """
        _, route, _ = labels
        with self._lock:
            self._requests[labels].add(seconds)
            if tokens:
                self._add(TOKENS_CHARGED, (), tokens)
                self._add(PLAN_TOKENS, (plan or "", route), tokens)
            if plan is not None:
                self._add(PLAN_REQUESTS, (plan,), 1)
            if refusal is not None and refusal[0] in REFUSAL_CODES:
                self._add(REFUSALS, refusal, 1)

    def sum_requests(self) -> RequestTotals:
        """Return the number of the API's calls so far, of those with an error, and the tokens charged."""
        with self._lock:
            tokens = int(self._counts[TOKENS_CHARGED][()])
            counts = [(labels, sum(histogram.bucket_counts)) for labels, histogram in self._requests.items()]
        calls = refusals = failures = 0
        for (_, route, status), count in counts:
            if route.startswith("/api/"):
                calls += count
                refusals += count if status.startswith("4") else 0
                failures += count if status.startswith("5") else 0
        return RequestTotals(calls, tokens, refusals, failures)

    def render(self, figures: Figures) -> str:
        """Return all metrics in Prometheus's text format, with ``figures`` that the caller has looked up."""
        with self._lock:
            numbers_by_family = {family: dict(counts) for family, counts in self._counts.items()}
            numbers_by_family[REQUESTS] = {
                labels: float(sum(histogram.bucket_counts)) for labels, histogram in self._requests.items()
            }
            # The histogram by method and route adds up all statuses, which are the last label.
            histograms = {REQUEST_SECONDS: _merge(self._requests, len(REQUEST_SECONDS.labels))}
        for family, reading in [*self._readings, *_PROCESS_READINGS]:
            numbers_by_family.setdefault(family, {}).update(reading())
        for family, family_values in figures.items():
            numbers_by_family.setdefault(family, {}).update(family_values)
        lines: list[str] = []
        for family in dict.fromkeys((*FAMILIES, *numbers_by_family, *histograms)):
            if numbers_by_family.get(family) or histograms.get(family):
                lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
                lines += _iter_lines(family, numbers_by_family.get(family, {}), histograms.get(family, {}))
        return "\n".join(lines) + "\n"

    def _add(self, family: MetricFamily, labels: Labels, number: float) -> None:
        counts = self._counts.setdefault(family, {})
        counts[labels] = counts.get(labels, 0.0) + number


def _merge(series: Mapping[Labels, _Histogram], label_count: int) -> dict[Labels, _Histogram]:
    """Return copies of histograms, in which those with the same first labels are added up."""
    merged: dict[Labels, _Histogram] = defaultdict(_Histogram)
    for labels, histogram in series.items():
        merged[labels[:label_count]].add_all(histogram)
    return merged


def _iter_lines(
    family: MetricFamily, numbers: Mapping[Labels, float], histograms: Mapping[Labels, _Histogram]
) -> Iterator[str]:
    """Yield a line for each number of a metric family, and for each histogram its cumulative buckets, sum and count."""
    for labels, number in sorted(numbers.items()):
        yield f"{family.name}{_format_labels(family.labels, labels)} {_format_number(number)}"
    bucket_bounds = [*map(_format_number, BUCKET_SECONDS), "+Inf"]
    for labels in sorted(histograms):
        histogram = histograms[labels]
        cumulative_counts = list(accumulate(histogram.bucket_counts))
        for bound, count in zip(bucket_bounds, cumulative_counts, strict=True):
            yield f"{family.name}_bucket{_format_labels((*family.labels, 'le'), (*labels, bound))} {count}"
        label_text = _format_labels(family.labels, labels)
        yield f"{family.name}_sum{label_text} {_format_number(histogram.total_seconds)}"
        yield f"{family.name}_count{label_text} {cumulative_counts[-1]}"


def _format_labels(names: Labels, label_values: Labels) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{_escape(label_value)}"' for name, label_value in zip(names, label_values, strict=True))
    return f"{{{pairs}}}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _format_number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


# ---- the process


class MemoryUsage(NamedTuple):
    """The memory of the process."""

    address_space_bytes: int
    resident_bytes: int


def read_memory_usage() -> MemoryUsage:
    """Return the memory of the process. Both numbers are 0 on a system without ``/proc``."""
    page_bytes = resource.getpagesize()
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = [int(text) for text in statm.read().split()[:2]]
    except (OSError, ValueError):
        return MemoryUsage(0, 0)
    return MemoryUsage(pages[0] * page_bytes, pages[1] * page_bytes)


def _count_collections() -> dict[Labels, float]:
    """Return the number of garbage collections by generation."""
    return {(str(generation),): float(stats["collections"]) for generation, stats in enumerate(gc.get_stats())}


_PROCESS_READINGS: tuple[tuple[MetricFamily, Reading], ...] = (
    (ADDRESS_SPACE, lambda: {(): float(read_memory_usage().address_space_bytes)}),
    (RESIDENT_MEMORY, lambda: {(): float(read_memory_usage().resident_bytes)}),
    (CPU, lambda: {(): sum(os.times()[:2])}),
    (OPEN_FILES, lambda: {(): float(len(os.listdir("/proc/self/fd")))}),
    (MAX_FILES, lambda: {(): float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])}),
    (DROPPED_LOG_LINES, lambda: {(): float(logs.count_dropped_lines())}),
    (THREADS, lambda: {(): float(threading.active_count())}),
    (COLLECTIONS, _count_collections),
)
