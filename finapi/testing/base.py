"""The database file that every world of a fixture lies over: the demo's data, and an account of each plan and state."""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from finapi import app as apps
from finapi.accounts import billing, invites, recovery, users
from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.market.demo import prepared
from finapi.store.layered import LayeredDatabase

# When the fixture's data and accounts were made, and where a seeded clock stands.
STARTED = prepared.STORED

PASSWORD = "fixture password"
PLANS = ("free", "weekly", "monthly", "pro", "yearly")
STATES = ("active", "unverified", "locked", "exhausted")
INVITES = 10


class FixtureAccount(TypedDict):
    """An account with all that opens it."""

    email: str
    password: str
    api_key: str


@dataclass(frozen=True, slots=True)
class Base:
    """A file to lay worlds over, and what stands in it."""

    file: Path
    accounts: dict[str, FixtureAccount]
    invite_codes: list[str]


def make(directory: Path, config: Config, seed: int, now: datetime) -> Base:
    """The base of a fixture, written into its data directory; its accounts were made ``now``."""
    image, accounts, codes = _made(replace(config, data_dir=Path()), seed, now)
    file = directory / "fixture.db"
    file.write_bytes(image)
    return Base(file, dict(accounts), codes)


@lru_cache(maxsize=1)  # a suite may start many servers
def _made(config: Config, seed: int, now: datetime) -> tuple[bytes, dict[str, FixtureAccount], list[str]]:
    with tempfile.TemporaryDirectory(prefix="finapi-demo-data-") as place:
        prepared.copy_to(file := Path(place) / "demo.db")
        database = LayeredDatabase(file)
    try:
        app = apps.in_memory(config, FixedClock(now), new_uuid=Draw(seed, "").uuid, db=database, secret=secret_of(seed))
        accounts = {plan: _shown(account(app, plan, "active", f"{plan}@example.com")) for plan in PLANS}
        for state in STATES[1:]:
            accounts[state] = _shown(account(app, "free", state, f"{state}@example.com"))
        codes = [invites.create(app, now, lifetime=None, note="fixture").code for _ in range(INVITES)]
        return database.image(), accounts, codes
    finally:
        database.close()


def secret_of(seed: int) -> bytes:
    """The master secret of a seed."""
    return hashlib.sha256(f"finapi fixture {seed}".encode()).digest()


class Draw:
    """Bytes that look drawn by chance and are the same again for the same seed and world; ``number`` were drawn."""

    def __init__(self, seed: int, world: str, number: int = 0) -> None:
        self._of = f"{seed} {world}"
        self._numbers = itertools.count(number + 1)
        self.number = number

    def __call__(self, count: int) -> bytes:
        number = self.number = next(self._numbers)  # of this call: several threads draw
        return hashlib.shake_128(f"{self._of} {number}".encode()).digest(count)

    def uuid(self) -> str:
        """A UUIDv4."""
        text = self(16).hex()
        variant = "89ab"[int(text[16], 16) % 4]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def account(app: App, plan: str, state: str, email: str) -> NewUser:
    """Make an account of a plan in a state, with the password of all fixture accounts."""
    now, stored = app.clock.now(), app.hasher.hash(PASSWORD)
    with app.accounts.write() as tx:
        if tx.one("user_by_email", email=email) is not None:
            raise ApiError("CONFLICT", f"{email} is taken.")
        made = users.insert(tx, app, email, plan, now, password=stored, verified=state != "unverified")
        # Now, and not with whatever signs first: which that is depends on how fast the machine is.
        webhooks.signing_secrets(app, tx, made.id, now)
        if state == "unverified":
            recovery.open_verification(tx, app, made.id, now)
        if state == "exhausted":
            row = tx.one("userplan", user_id=made.id)
            assert row is not None
            tx.run("spend_all", user_id=made.id, now=iso(now))
            billing.ledger_row(tx, made.id, -row["current_balance"], "debit", iso(now))
    if state == "locked":
        users.set_locked(app, email, True, now)
    return made


def _shown(made: NewUser) -> FixtureAccount:
    return {"email": made.email, "password": PASSWORD, "api_key": made.api_key}
