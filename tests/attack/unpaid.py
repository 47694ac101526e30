"""Exports whose clients stop reading or disconnect, on a server with hardly any room: data that nobody pays for.

The server stores 200 KB in files, and waits two seconds for a client that reads nothing.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress

from tests.attack.full_spool import EXPORT, slow_client
from tests.attack.target import MB, Outcome, Target
from tests.process import running

COST = 10
EXPORTS = 8
READ_BYTES = 300_000  # of 1.7 MB, before a client stops
STALL_SECONDS = 3.5  # longer than the server waits
PATIENCE = 15.0  # for the last charge to be settled or refunded


def attack(target: Target) -> Outcome:
    """Return the number of exports that were partly read but not paid for."""
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory:
        settings = ("--spool-bytes", MB // 5, "--channel-timeout", 2, "--log-level", "error")
        with running("demo", "--port", 0, "--data-dir", f"{directory}/data", *settings) as server:
            victim = Target(server)
            before = balance(victim)
            started_exports = sum(read_in_part(victim, stalls=number % 2 == 0) for number in range(EXPORTS))
            until = time.monotonic() + PATIENCE
            while before - balance(victim) != started_exports * COST and time.monotonic() < until:
                time.sleep(1.0)
            paid = (before - balance(victim)) // COST
            server.stop()
    unpaid = started_exports - paid if started_exports == EXPORTS else EXPORTS
    return Outcome(unpaid, 0, f"of {EXPORTS} exports were read in part and not paid for")


def read_in_part(target: Target, *, stalls: bool) -> bool:
    """Read a part of an export, then disconnect or be cut off. Return True if that part came."""
    received = 0
    with slow_client(target, "127.0.0.70") as client, suppress(OSError):
        client.sendall(f"GET {EXPORT} HTTP/1.1\r\nHost: x\r\nX-API-Key: {target.key}\r\n\r\n".encode())
        while received < READ_BYTES and (piece := client.recv(65_536)):
            received += len(piece)
        time.sleep(STALL_SECONDS if stalls else 0.5)
    return received >= READ_BYTES


def balance(target: Target) -> int:
    """Return the account's remaining tokens."""
    answer = target.running.get("/api/v1/account/balance", target.key)
    return int(answer.json["current_balance"])
