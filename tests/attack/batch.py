"""Twenty series with everything that can be asked of them in one call for 10 tokens, a dozen such calls at once.

The demo has few companies; spelled in twenty ways they cost what twenty do.
"""

from __future__ import annotations

import http.client
import json
import threading
import time

from tests.attack.target import MB, Outcome, Target, percentile

CALLS = 12
SELECTORS = [
    spelled
    for ticker in ("AAPL", "NFLX", "AEON", "UPXI")
    for spelled in (ticker, ticker.lower(), ticker.title(), f" {ticker}", f"{ticker} ")
]
BODY = {"tickers": SELECTORS, "period": "Q", "provenance": "full", "ratios": True, "template": True}


def attack(target: Target) -> Outcome:
    """Return the peak memory of the server during the attack, in MB."""
    most = target.rss()

    def ask() -> None:
        client = http.client.HTTPConnection(*target.address, timeout=120)
        headers = {"X-API-Key": target.key, "Content-Type": "application/json"}
        client.request("POST", "/api/v1/xbrl/timeseries/batch", json.dumps(BODY), headers)
        client.getresponse().read()
        client.close()

    with target.watched() as times:
        threads = [threading.Thread(target=ask) for _ in range(CALLS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most = max(most, target.rss())
            time.sleep(0.02)
        others_p99 = percentile(times(), 0.99)
    return Outcome(most / MB, 200.0, f"MB at most, {CALLS} batches at once; others' p99 {others_p99:.0f} ms")
