"""What is known of an email and an address before a login: who goes first, and the failures that outlive a restart."""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from finapi.accounts import credentials
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import iso
from finapi.core.lockout import FORGET_AFTER_SECONDS, FailureCount
from finapi.store.db import Row, Transaction

ADDRESS_LIFETIME = timedelta(days=30)
MAX_ADDRESSES = 20  # addresses of an account that are remembered

# Of an IPv6 address, which is counted as its /64: whoever has a network has 65,536 of these.
NETWORK_BITS = 48


class Claim(NamedTuple):
    """Whose a login is, for :meth:`FairQueue.enter`, and whether it may go ``first``."""

    keys: tuple[Hashable, ...]
    is_first: bool = False


@lru_cache(maxsize=1024)
def parent_network(address: str) -> str | None:
    """The /48 that an IPv6 /64 lies in (``2001:db8::/48``); None for what is no IPv6 network."""
    try:
        found = ipaddress.ip_network(address)
    except ValueError:
        return None
    return (
        str(found.supernet(new_prefix=NETWORK_BITS)) if found.version == 6 and found.prefixlen > NETWORK_BITS else None
    )


def build_claim(app: App, tx: Transaction, user: Row | None, email: bytes, address: str, now: datetime) -> Claim:
    """The claim of a login: first and by itself from an address that the account logged in from lately.

    Else it shares with every other of its address, its network and its email. ``email`` is the key of the lockout.
    """
    user_id, uuid = (user["id"], user["uuid"]) if user else (0, "")
    mark = credentials.hash_address(app.secrets, uuid, address)
    if tx.find_value("login_address", user_id=user_id, address=mark, since=iso(now - ADDRESS_LIFETIME)):
        return Claim((("known", email, address),), True)
    wider = parent_network(address)
    keys = [("address", address), ("email", email)]
    return Claim((*keys, ("network", wider)) if wider else tuple(keys))


def record_success(tx: Transaction, app: App, user: Row, email: bytes, address: str, now: datetime) -> None:
    """Remember the address of a login that was right, and no failure before it."""
    tx.run("forget_login_failures", email=email)
    mark = credentials.hash_address(app.secrets, user["uuid"], address)
    tx.run("forget_old_login_addresses", before=iso(now - ADDRESS_LIFETIME))
    tx.run("keep_login_address", user_id=user["id"], address=mark, now=iso(now))
    tx.run("forget_login_addresses_beyond", user_id=user["id"], most=MAX_ADDRESSES)


def load_failures(app: App, email: bytes, now: datetime) -> None:
    """Count of an email what other processes have counted, where accounts are shared: they know, and memory follows."""
    if app.accounts is app.db:
        return
    with app.accounts.read_one() as tx:
        row = tx.find_row("login_failures_of", email=email, since=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS)))
    if row is None:
        app.lockouts.reset(email)
    else:
        _put(app, email, row, now)


def record_failure(app: App, email: bytes, seconds: int | None, now: datetime) -> int | None:
    """Write down that an email has failed; the seconds of the lock that it brought.

    By the count in memory, when the others have been written, that are ``seconds``. Where processes share accounts it
    is counted there, in one statement, and the count of all decides.
    """
    shared = app.accounts is not app.db

    def keep(tx: Transaction) -> Row | None:
        tx.run("forget_old_login_failures", before=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS)))
        for dropped in app.lockouts.pop_evicted():
            tx.run("forget_login_failures", email=dropped)
        if shared:
            since = {f"since_{step}": iso(now - timedelta(seconds=lock)) for step, lock in lockout.LOCK_SECONDS.items()}
            return tx.find_row("count_login_failure", since, email=email, most=lockout.MAX_FAILURES, now=iso(now))
        count = app.lockouts.find_failures(email)
        if count is not None:
            ago = timedelta(seconds=max(0.0, app.clock.monotonic() - count.last_at))
            tx.run("keep_login_failures", email=email, failures=count.failures, last_at=iso(app.clock.now() - ago))
        return None

    row = app.accounts.write_batched(keep)
    if row is None:
        return seconds
    _put(app, email, row, now)
    return app.lockouts.get_lock_seconds(email, app.clock.monotonic()) or None


def restore_failures(app: App) -> int:
    """Count the failures that were written down before a start; of how many emails there are some."""
    now = app.clock.now()
    with app.accounts.read() as tx:
        rows = tx.list_rows("login_failures", since=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS)))
    for row in rows:
        _put(app, row["email"], row, now)
    return len(rows)


def _put(app: App, email: bytes, row: Row, now: datetime) -> None:
    # A clock that was set back meanwhile makes no failure one of the future.
    ago = max(0.0, (now - datetime.fromisoformat(row["last_at"])).total_seconds())
    last = app.clock.monotonic() - ago
    app.lockouts.restore(email, FailureCount(min(row["failures"], lockout.MAX_FAILURES), last))
