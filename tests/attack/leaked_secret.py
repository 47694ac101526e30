"""A master secret leaks together with the database, and is taken away: what it made must open nothing.

Whoever has both makes every key and every webhook signature by herself. Runs against a server of its own, whose keys
and webhooks nobody else needs.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from finapi.accounts import credentials
from tests.attack.target import Outcome, Target
from tests.process import finapi, serve
from tests.receiver import receiver

ACCOUNTS = 5


def attack(target: Target) -> Outcome:
    """Return the number of stolen keys that still work, and of webhooks that cannot be verified."""
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory, receiver() as webhook_receiver:
        data = Path(directory) / "data"
        with serve(data, "--webhook-allow", "127.0.0.0/8", "--log-level", "error") as server:
            keys = [
                finapi("user", "add", f"u{number}@example.com", "--json", "--data-dir", data).json["api_key"]
                for number in range(ACCOUNTS)
            ]
            stolen = bytes.fromhex((data / "secrets").read_text().strip())
            for key in keys:
                server.call("GET", "/api/v1/webhooks/secret", headers={"X-API-Key": key})
            for words in (("rotate",), ("drop", credentials.get_secret_name(stolen), "--yes")):
                assert finapi("secret", *words, "--data-dir", data).status == 0
            opened = sum(server.get("/api/v1/account/balance", key).status == 200 for key in keys)
            fresh = finapi("user", "rotate-key", "u0@example.com", "--json", "--data-dir", data).json["api_key"]
            headers = {"X-API-Key": fresh}
            for _ in range(ACCOUNTS):
                server.call("POST", "/api/v1/webhooks/test", {"url": webhook_receiver.url}, headers=headers)
            time.sleep(2.0)  # longer than the dispatcher waits between two looks
            unsigned = [
                delivery
                for delivery in webhook_receiver.received
                if "v1," not in delivery.headers.get("webhook-signature", "")
            ]
            forged = [delivery for delivery in webhook_receiver.received if delivery not in unsigned]
        return Outcome(opened + len(unsigned) + len(forged), 0.0, f"of {ACCOUNTS} stolen keys and {ACCOUNTS} webhooks")
