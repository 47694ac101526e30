"""The database file that every world of a fixture lies over: the demo's data, and an account of each plan and state."""

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
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.passwords import PROFILES
from finapi.delivery import webhooks
from finapi.market.demo import prepared
from finapi.store.layered import LayeredDatabase

# When the fixture's data and accounts were made, and where a seeded clock stands.
STARTED = prepared.STORED

SEEDS = range(-(2**63), 2**63)
NO_SEED = f"seed must be a whole number from {SEEDS[0]} to {SEEDS[-1]}."

PASSWORD = "fixture password"
# What that is stored as by the fixture's profile, so that argon2 is loaded with the first login.
HASHED = "$argon2id$v=19$m=8,t=1,p=1$dGVzdGluZyE$0WXN+w"
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
    spare: list[LayeredDatabase]  # over it, opened for worlds to come


# By settings, seed and instant: at most one, and what its file held.
_kept: dict[tuple[Config, int, datetime], tuple[bytes, Base]] = {}


def make(directory: Path, config: Config, seed: int, now: datetime) -> Base:
    """The base of a fixture, written into its data directory; its accounts were made ``now``."""
    file, kept = directory / "fixture.db", _kept.get((config, seed, now))
    if kept is not None:
        file.write_bytes(kept[0])
        return replace(kept[1], file=file, spare=[])
    prepared.copy_to(file)
    database = LayeredDatabase(file)
    try:
        new_uuid = RandomStream(seed, "prepared accounts").draw_uuid
        app = apps.in_memory(config, FixedClock(now), new_uuid=new_uuid, db=database, secret=secret_of(seed))
        accounts = {plan: _shown(account(app, plan, "active", f"{plan}@example.com")) for plan in PLANS}
        for state in STATES[1:]:
            accounts[state] = _shown(account(app, "free", state, f"{state}@example.com"))
        codes = [invites.create(app, now, lifetime=None, note="fixture").code for _ in range(INVITES)]
        database.renew(into_base=True)
    except BaseException:
        database.close()
        raise
    return Base(file, accounts, codes, [database])


def keep(base: Base, config: Config, seed: int, now: datetime) -> None:
    """Have the next start in this process copy a base: a suite may start many servers."""
    if (of := (config, seed, now)) not in _kept:
        with suppress(OSError):  # somebody cleans /tmp: it will be made again
            image = base.file.read_bytes()
            _kept.clear()
            _kept[of] = image, replace(base, spare=[])


def is_seed(given: object) -> bool:
    """Whether ids and keys may follow from this: a whole number of 64 bits."""
    return type(given) is int and given in SEEDS


def secret_of(seed: int) -> bytes:
    """The master secret of a seed."""
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


def account(app: App, plan: str, state: str, email: str) -> NewUser:
    """Make an account of a plan in a state, with the password of all fixture accounts."""
    now, hasher = app.clock.now(), app.hasher
    stored = HASHED if hasher.profile is PROFILES["cheap"] else hasher.hash(PASSWORD)
    with app.accounts.write() as tx:
        if tx.find_row("user_by_email", email=email) is not None:
            raise ApiError("CONFLICT", f"{email} is taken.")
        made = users.insert(tx, app, email, plan, now, password=stored, verified=state != "unverified")
        # Now, and not with whatever signs first: which that is depends on how fast the machine is.
        webhooks.signing_secrets(app, tx, made.id, now)
        if state == "unverified":
            recovery.open_verification(tx, app, made.id, now)
        if state == "exhausted":
            row = tx.find_row("userplan", user_id=made.id)
            assert row is not None
            tx.run("spend_all", user_id=made.id, now=iso(now))
            billing.insert_ledger_row(tx, made.id, -row["current_balance"], "debit", iso(now))
    if state == "locked":
        users.set_locked(app, email, True, now)
    return made


def _shown(made: NewUser) -> FixtureAccount:
    return {"email": made.email, "password": PASSWORD, "api_key": made.api_key}
