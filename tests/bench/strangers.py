"""Unauthenticated page requests during billed calls: ``python -m tests.bench.strangers [REQUESTS [PAGES_A_MINUTE]]``.

The pages differ by their query, so that each is made anew as far as the limit of pages allows. Printed are the memory
of the server before and after, and the p99 of billed calls alone and beside them.
"""

from __future__ import annotations

import http.client
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.process import Running, running

PAGES = (
    "/",
    "/company/AAPL",
    "/company/AAPL/financials",
    "/company/SNOW/charts",
    "/search",
    "/filings",
    "/newest.json",
)
CALL = "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue"
THREADS, CALLS, SECONDS_BETWEEN = 4, 400, 0.02


def main(requests: int = 10_000, pages: int = 120) -> None:
    """Print the measurements."""
    limits = ("--pages-per-minute", pages, "--xbrl-per-minute", 10**6, "--xbrl-burst", 10**6, "--pro-tokens", 10**9)
    with (
        tempfile.TemporaryDirectory() as directory,
        running("demo", "--port", 0, "--data-dir", Path(directory, "data"), *limits) as server,
    ):
        # What is kept of pages has a bound of its own, which a warm server has reached.
        strangers(server, requests // 10)
        alone, before = p99(server), resident(server)
        done: list[dict[int, int]] = []
        crowd = threading.Thread(target=lambda: done.append(strangers(server, requests)))
        began = time.monotonic()
        crowd.start()
        loaded_p99 = p99(server)
        crowd.join()
        seconds = time.monotonic() - began
        print(f"{requests} requests in {seconds:.1f} s, by status {done[0]}")
        print(f"p99 of billed calls: {alone * 1000:.1f} ms alone, {loaded_p99 * 1000:.1f} ms beside them")
        print(f"resident: {before >> 20} MB before, {resident(server) >> 20} MB after")


def strangers(server: Running, requests: int) -> dict[int, int]:
    """Return the number of answers by status."""
    counts: dict[int, int] = {}
    lock = threading.Lock()

    def visit(first: int) -> None:
        connection = _connection(server)
        for number in range(first, requests, THREADS):
            path = PAGES[number % len(PAGES)]
            connection.request("GET", f"{path}?q=a{number}", headers={"Accept": "text/html"})
            answer = connection.getresponse()
            answer.read()
            with lock:
                counts[answer.status] = counts.get(answer.status, 0) + 1

    threads = [threading.Thread(target=visit, args=(first,)) for first in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def p99(server: Running) -> float:
    """Return the seconds within which 99 of 100 billed calls are answered."""
    connection, took = _connection(server), []
    for _ in range(CALLS):
        began = time.perf_counter()
        connection.request("GET", CALL, headers={"X-API-Key": server.ready["api_key"]})
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - began)
        assert answer.status == 200, answer.status
        time.sleep(SECONDS_BETWEEN)
    return sorted(took)[CALLS * 99 // 100 - 1]


def resident(server: Running) -> int:
    """Return the server's resident memory, in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def _connection(server: Running) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
