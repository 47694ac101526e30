"""The database file that every world of a fixture is layered over.

A fixture writes one file when it starts: the demo's market data, an account of each plan and state, and invite codes.
Each world opens this file as a LayeredDatabase, so that it sees the same rows and keeps its own changes in memory.
Ids and keys follow from a seed, so that two fixtures of the same seed have the same accounts.
"""

from __future__ import annotations

import hashlib
import itertools
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from finapi import app as apps
from finapi.accounts import billing, invites, recovery, users
from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.lockout import FailureCount
from finapi.core.passwords import PROFILES
from finapi.delivery import webhooks
from finapi.market.demo import demo_image
from finapi.store.db import Transaction
from finapi.store.layered import LayeredDatabase

# The time at which the accounts of a seeded fixture are created. Its clock stands still at this time.
SEEDED_START = demo_image.STORED_AT

SEEDS = range(-(2**63), 2**63)
INVALID_SEED = f"seed must be a whole number from {SEEDS[0]} to {SEEDS[-1]}."

PASSWORD = "fixture password"
# The hash of PASSWORD with the fixture's cheap argon2 parameters. As it is stored here, a start need not load argon2.
CHEAP_PASSWORD_HASH = "$argon2id$v=19$m=8,t=1,p=1$dGVzdGluZyE$0WXN+w"
PLANS = ("free", "weekly", "monthly", "pro", "yearly")
# A locked account has no logins for an hour after twenty wrong passwords. A suspended one was locked by the operator.
STATES = ("active", "unverified", "locked", "exhausted", "suspended")
INVITE_COUNT = 10


class FixtureAccount(TypedDict):
    """An account with its credentials."""

    email: str
    password: str
    api_key: str


@dataclass(frozen=True, slots=True)
class Base:
    """A database file for worlds, with the credentials of its accounts."""

    file: Path
    accounts: dict[str, FixtureAccount]
    invite_codes: list[str]
    open_databases: list[LayeredDatabase]  # Databases that are open over the file and not yet used by a world.


BaseKey = tuple[Config, int, datetime]  # The settings, the seed and the time of creation of a base.

# The newest base of this process, with the bytes of its file. It has at most one entry.
_cached_bases: dict[BaseKey, tuple[bytes, Base]] = {}


def build_base(directory: Path, config: Config, seed: int, now: datetime) -> Base:
    """Write the base of a fixture into its data directory and return it. Its accounts are created at ``now``."""
    file = directory / "fixture.db"
    cached = _cached_bases.get((config, seed, now))
    if cached is not None:
        image, base = cached
        file.write_bytes(image)
        return replace(base, file=file, open_databases=[])
    demo_image.write_copy(file)
    database = LayeredDatabase(file)
    try:
        new_uuid = RandomStream(seed, "prepared accounts").draw_uuid
        secret = derive_master_secret(seed)
        app = apps.create_in_memory(config, FixedClock(now), new_uuid=new_uuid, db=database, secret=secret)
        accounts = {}
        for plan in PLANS:
            accounts[plan] = create_account(app, plan, "active", f"{plan}@example.com")
        for state in STATES[1:]:
            accounts[state] = create_account(app, "free", state, f"{state}@example.com")
        invite_codes = [invites.create(app, now, lifetime=None, note="fixture").code for _ in range(INVITE_COUNT)]
        database.reset(into_base=True)
    except BaseException:
        database.close()
        raise
    return Base(file, accounts, invite_codes, [database])


def cache_base(base: Base, config: Config, seed: int, now: datetime) -> None:
    """Cache a base, so that the next fixture of this process can copy it. A test suite may start many fixtures."""
    key = (config, seed, now)
    if key in _cached_bases:
        return
    with suppress(OSError):  # The file may have been removed with /tmp. Then the next start builds another base.
        image = base.file.read_bytes()
        _cached_bases.clear()
        _cached_bases[key] = image, replace(base, open_databases=[])


def is_seed(seed: object) -> bool:
    """Return True for an integer that can be a seed (64 bits)."""
    return type(seed) is int and seed in SEEDS


def derive_master_secret(seed: int) -> bytes:
    """Return the master secret that is derived from a seed."""
    return hashlib.sha256(f"finapi fixture {seed}".encode()).digest()


class RandomStream:
    """Bytes that look random and are the same in every run, for a seed and a purpose.

    Each purpose needs a stream of its own: two streams of the same seed and purpose give the same ids.
    ``draw_count`` is the number of draws so far; a stream can be continued from there. Any thread may draw.
    """

    def __init__(self, seed: int, purpose: str, draw_count: int = 0) -> None:
        self._prefix = f"{seed} {purpose}"
        self._draw_numbers = itertools.count(draw_count + 1)
        self.draw_count = draw_count

    def draw_bytes(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        draw_number = self.draw_count = next(self._draw_numbers)
        return hashlib.shake_128(f"{self._prefix} {draw_number}".encode()).digest(count)

    def draw_uuid(self) -> str:
        """Return a UUIDv4 made of the next 16 bytes."""
        text = self.draw_bytes(16).hex()
        variant = "89ab"[int(text[16], 16) % 4]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def create_account(app: App, plan: str, state: str, email: str) -> FixtureAccount:
    """Create an account and return its credentials. Raise CONFLICT if the email is taken."""
    now, hasher = app.clock.now(), app.hasher
    password_hash = CHEAP_PASSWORD_HASH if hasher.profile is PROFILES["cheap"] else hasher.hash(PASSWORD)
    with app.accounts.write() as tx:
        if tx.find_row("user_by_email", email=email) is not None:
            raise ApiError("CONFLICT", f"{email} is taken.")
        user = users.insert(tx, app, email, plan, now, password=password_hash, verified=state != "unverified")
        # Create the signing secret now: the first call to need it depends on the speed of the machine.
        webhooks.list_signing_secrets(app, tx, user.id, now)
        if state == "unverified":
            recovery.create_verification(tx, app, user.id, now)
        if state == "exhausted":
            _spend_all_tokens(tx, user, now)
        if state == "locked":
            key = lockout.hash_email(email)
            tx.run("upsert_login_failures", email=key, failures=lockout.MAX_FAILURES, last_at=iso(now))
    if state == "locked":
        lock_login(app, email)
    if state == "suspended":
        users.set_locked(app, email, True, now)
    return {"email": user.email, "password": PASSWORD, "api_key": user.api_key}


def lock_login(app: App, email: str) -> None:
    """Lock the logins of an email in memory, as twenty wrong passwords at this moment do."""
    count = FailureCount(lockout.MAX_FAILURES, app.clock.monotonic())
    app.lockouts.restore(lockout.hash_email(email), count)


def _spend_all_tokens(tx: Transaction, user: NewUser, now: datetime) -> None:
    userplan = tx.find_row("userplan", user_id=user.id)
    assert userplan is not None
    tx.run("spend_all", user_id=user.id, now=iso(now))
    billing.insert_ledger_row(tx, user.id, -userplan["current_balance"], "debit", iso(now))
