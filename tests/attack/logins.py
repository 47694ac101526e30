"""A flood of logins, each with a new address and email, so that no limit applies: a hash takes tens of milliseconds.

Others log in all the while: one user from a known address and from new ones, and newcomers who each try once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.attack.target import Outcome, Target, median

CLIENTS = 8
AT_ONCE = 3  # Threads of each client.
SECONDS = 6.0
NEWCOMERS = 36
MAX_LOGIN_SECONDS = 2.0
KNOWN = "127.0.7.1"


def attack(target: Target) -> Outcome:
    """Return the share of another user's logins that are refused, in percent."""
    email, password = target.running.ready["email"], target.running.ready["password"]
    _log_in(target, KNOWN, email, password)
    until = time.monotonic() + SECONDS
    statuses: list[int] = []
    with _flood(target, lambda number, tries: f"127.{20 + number}.{tries // 250 % 250}.{1 + tries % 250}"):
        while time.monotonic() < until:
            for source in (KNOWN, f"127.0.9.{1 + len(statuses)}"):
                statuses.append(_log_in(target, source, email, password))
            time.sleep(0.1)
    refused = sum(status != 200 for status in statuses)
    return Outcome(100 * refused / len(statuses), 5.0, f"% of {len(statuses)} logins of somebody else refused")


def attack_newcomers(target: Target) -> Outcome:
    """Return the share of newcomers who are refused or wait for more than two seconds, in percent.

    Every login of the flood comes from another /24, as that of each newcomer does, who is answered 401 after the hash
    of a wrong password. Nothing distinguishes them, so chance decides who is refused while more clients wait than can.
    """
    chooser = random.Random(0)
    seconds: list[float] = []
    with _flood(
        target, lambda number, tries: f"127.{chooser.randrange(20, 250)}.{chooser.randrange(250)}.9", at_once=1
    ):
        time.sleep(1.0)
        for number in range(NEWCOMERS):
            started_at = time.monotonic()
            status = _log_in(target, f"127.{1 + number % 9}.{200 + number}.7", f"new-{number}@example.com", "wrong")
            seconds.append(time.monotonic() - started_at if status == 401 else float("inf"))
    late = sum(duration > MAX_LOGIN_SECONDS for duration in seconds)
    share = 100 * late / NEWCOMERS
    return Outcome(share, 20.0, f"% of {NEWCOMERS} newcomers refused or late; median wait {median(seconds):.1f} s")


@contextmanager
def _flood(target: Target, choose_source: Callable[[int, int], str], at_once: int = AT_ONCE) -> Iterator[None]:
    """Log in during the block, each time from the address ``choose_source(client, tries)`` with a new email."""
    stopping = threading.Event()

    def log_in_again_and_again(number: int, thread: int) -> None:
        tries = 0
        while not stopping.is_set():
            tries += 1
            with suppress(OSError):
                email = f"x{number}-{thread}-{tries}@example.com"
                if _log_in(target, choose_source(number, tries), email, "wrong") == 429:
                    stopping.wait(0.05)

    threads = [
        threading.Thread(target=log_in_again_and_again, args=(number, thread))
        for number in range(1, 1 + CLIENTS)
        for thread in range(at_once)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def _log_in(target: Target, source: str, email: str, password: str) -> int:
    """Return the status of a login from a local address."""
    host, port = target.address
    client = http.client.HTTPConnection(host, port, timeout=30, source_address=(source, 0))
    try:
        body = json.dumps({"email": email, "password": password})
        client.request("POST", "/api/v1/auth/login", body, {"Content-Type": "application/json"})
        return client.getresponse().status
    finally:
        client.close()
