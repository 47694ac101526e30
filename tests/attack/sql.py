"""Two keys that send queries which end in refusals, for nothing: a third account asks a small one all the while."""

from __future__ import annotations

import http.client
import json
import threading
import time

from tests.attack.target import MB, Outcome, Target

SECONDS = 8.0
SORTED = (
    "SELECT a.date, b.date FROM price a, price b, price c ORDER BY a.close + b.close + c.close, a.date, b.date, c.date"
)


def attack(target: Target) -> Outcome:
    """Return the peak memory of the server during the attack, in MB."""
    until, most = time.monotonic() + SECONDS, target.rss()
    codes: list[int] = []

    def ask(key: str) -> None:
        while time.monotonic() < until:
            client = http.client.HTTPConnection(*target.address, timeout=60)
            headers = {"X-API-Key": key, "Content-Type": "application/json"}
            client.request("POST", "/api/v1/sql-proxy", json.dumps({"query": SORTED}), headers)
            codes.append(client.getresponse().status)
            client.close()

    threads = [threading.Thread(target=ask, args=(key,)) for key in (target.key, target.free_key) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, target.rss())
        time.sleep(0.02)
    return Outcome(most / MB, 200.0, f"MB at most, {codes.count(400)} queries stopped, {codes.count(503)} turned away")
