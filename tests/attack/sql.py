"""Two keys that send queries which end in refusals, for nothing: by sorting, grouping and medians of all prices."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time

from tests.attack.target import MB, Outcome, Target

SECONDS = 12.0
PRODUCT = "FROM price a, price b, price c"
QUERIES = (
    f"SELECT a.date, b.date {PRODUCT} ORDER BY a.close + b.close + c.close, a.date, b.date, c.date",
    f"SELECT a.date, median(a.close + b.close) {PRODUCT} GROUP BY a.date",
    f"SELECT count(*), a.date, b.date, c.date {PRODUCT} GROUP BY a.date, b.date, c.date, a.close + b.close",
)


def attack(target: Target) -> Outcome:
    """Return the peak memory of the server during the attack, in MB."""
    until, peak_bytes = time.monotonic() + SECONDS, target.rss()
    codes: list[int] = []

    def send_queries(key: str) -> None:
        for query in itertools.cycle(QUERIES):
            if time.monotonic() > until:
                return
            client = http.client.HTTPConnection(*target.address, timeout=60)
            headers = {"X-API-Key": key, "Content-Type": "application/json"}
            client.request("POST", "/api/v1/sql-proxy", json.dumps({"query": query}), headers)
            codes.append(client.getresponse().status)
            client.close()

    keys = (target.key, target.free_key)
    threads = [threading.Thread(target=send_queries, args=(key,)) for key in keys for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        peak_bytes = max(peak_bytes, target.rss())
        time.sleep(0.02)
    return Outcome(
        peak_bytes / MB, 200.0, f"MB at most, {codes.count(400)} queries stopped, {codes.count(503)} turned away"
    )
