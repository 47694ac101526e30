"""A free key that sends calls which take work and cost nothing, while another account asks for a small series."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections import Counter
from pathlib import Path

from tests.attack import batch
from tests.attack.target import Outcome, Target, percentile

SECONDS = 30.0
CONNECTIONS = 4
SERIES = "/api/v1/xbrl/timeseries?ticker=AAPL&period=Q&template=true&ratios=true&provenance=full"
BATCH = {**batch.BODY, "period": "TTM"}
STAR = {"If-None-Match": "*"}
# Method, target, headers, body.
CALLS: tuple[tuple[str, str, dict[str, str], object], ...] = (
    ("GET", f"{SERIES}&years={{day}}", STAR, None),
    ("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&as_of=2021-01-{day:02}&metrics=nonsense", {}, None),
    ("POST", "/api/v1/xbrl/timeseries/batch", {}, BATCH),
    ("GET", "/api/v1/xbrl/bulk/facts-2020-{day:02}.csv.gz", STAR, None),
)
OTHER = "/api/v1/xbrl/timeseries?ticker=NFLX&metrics=revenue"


def cpu_seconds(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def attack(target: Target) -> Outcome:
    """Return the server's CPU during the attack, in hundredths of a core."""
    until, statuses, tokens = time.monotonic() + SECONDS, Counter[int](), Counter[str]()
    times: list[float] = []

    def send(number: int) -> None:
        client = http.client.HTTPConnection(*target.address, timeout=120)
        while time.monotonic() < until:
            method, path, headers, body = CALLS[number % len(CALLS)]
            number += 1
            request_body = None if body is None else json.dumps(body)
            body_headers = {} if body is None else {"Content-Type": "application/json"}
            client.request(
                method,
                path.format(day=1 + number % 12),
                request_body,
                {"X-API-Key": target.free_key, **headers, **body_headers},
            )
            answer = client.getresponse()
            answer.read()
            statuses[answer.status] += 1
            tokens[path] += int(answer.headers.get("X-Tokens-Charged", "0"))
            time.sleep(0.1)  # Refusals by the limit take CPU too, which are not what is measured.
        client.close()

    def ask() -> None:
        client = http.client.HTTPConnection(*target.address, timeout=120)
        while time.monotonic() < until:
            began = time.perf_counter()
            client.request("GET", OTHER, headers={"X-API-Key": target.key})
            client.getresponse().read()
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.5)
        client.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(CONNECTIONS)]
    threads.append(threading.Thread(target=ask))
    before = cpu_seconds(target.pid)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    share = 100 * (cpu_seconds(target.pid) - before) / SECONDS
    summary = ", ".join(f"{count} of {status}" for status, count in sorted(statuses.items()))
    spent = sum(tokens.values())
    return Outcome(
        share, 30.0, f"% of a core, {spent} tokens; {summary}; another account's p99 {percentile(times, 0.99):.0f} ms"
    )
