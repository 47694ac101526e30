"""A flood of logins, each with a new address and email, so that no limit applies: a hash takes tens of milliseconds.

Somebody else logs in all the while, from an address that the account is known at and from one that nobody has seen.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import suppress

from tests.attack.target import Outcome, Target

CLIENTS = 8
AT_ONCE = 3  # of each
SECONDS = 6.0
KNOWN = "127.0.7.1"


def attack(target: Target) -> Outcome:
    """Return the share of another user's logins that are refused, in per cent."""
    until = time.monotonic() + SECONDS

    def log_in(source: str, email: str, password: str) -> int:
        host, port = target.address
        client = http.client.HTTPConnection(host, port, timeout=30, source_address=(source, 0))
        try:
            body = json.dumps({"email": email, "password": password})
            client.request("POST", "/api/v1/auth/login", body, {"Content-Type": "application/json"})
            return client.getresponse().status
        finally:
            client.close()

    def flood(number: int) -> None:
        tried = 0
        while time.monotonic() < until:
            tried += 1
            with suppress(OSError):
                source = f"127.{20 + number}.{tried // 250 % 250}.{1 + tried % 250}"
                if log_in(source, f"x{number}-{tried}@example.com", "wrong") == 429:
                    time.sleep(0.05)

    email, password = target.running.ready["email"], target.running.ready["password"]
    log_in(KNOWN, email, password)
    threads = [threading.Thread(target=flood, args=(1 + number % CLIENTS,)) for number in range(CLIENTS * AT_ONCE)]
    for thread in threads:
        thread.start()
    statuses = []
    while time.monotonic() < until:
        statuses += [log_in(source, email, password) for source in (KNOWN, f"127.0.9.{1 + len(statuses)}")]
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    refused = sum(status != 200 for status in statuses)
    return Outcome(100 * refused / len(statuses), 5.0, f"% of {len(statuses)} logins of somebody else refused")
