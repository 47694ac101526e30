"""Login failures and known login addresses, and the priority of a login in the queue for password hashing.

A login from an address that the account recently logged in from goes first. Failures are counted in memory
(``core.lockout``) and stored, so that a restart does not clear a lockout. Processes that share accounts count them in
the database.
"""

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
MAX_ADDRESSES = 20  # Known login addresses that are stored for an account.

# Logins over IPv6 are counted by /64. A provider's customer often has a /48, that is 65,536 of these, so the /48 is
# counted too. In the queue for password hashing an IPv4 address is also counted by its /24.
NETWORK_BITS = 48
IPV4_NETWORK_BITS = 24


class Claim(NamedTuple):
    """The keys by which :meth:`FairQueue.enter` counts a login, and whether the login goes first."""

    keys: tuple[Hashable, ...]
    is_first: bool = False


@lru_cache(maxsize=1024)
def parent_network(address: str) -> str | None:
    """Return the /48 that contains an IPv6 /64 (``2001:db8::/48``), or None for any other address."""
    try:
        network = ipaddress.ip_network(address)
    except ValueError:
        return None
    if network.version != 6 or network.prefixlen <= NETWORK_BITS:
        return None
    return str(network.supernet(new_prefix=NETWORK_BITS))


@lru_cache(maxsize=1024)
def find_neighbourhood(address: str) -> str | None:
    """Return the /24 of an IPv4 address or the /48 of an IPv6 /64, or None for any other text."""
    try:
        network = ipaddress.ip_network(address)
    except ValueError:
        return None
    if network.version == 4:
        return str(network.supernet(new_prefix=IPV4_NETWORK_BITS))
    return parent_network(address)


def build_claim(app: App, tx: Transaction, user: Row | None, email: bytes, address: str, now: datetime) -> Claim:
    """Return the claim of a login.

    A login from an address that the account recently logged in from goes first and has its own key. Any other login
    shares the keys of its address, its network and its email. ``email`` is the email's key in the lockout.
    """
    user_id, uuid = (user["id"], user["uuid"]) if user else (0, "")
    address_hash = credentials.hash_address(app.secrets, uuid, address)
    if tx.find_value("login_address", user_id=user_id, address=address_hash, since=iso(now - ADDRESS_LIFETIME)):
        return Claim((("known", email, address),), is_first=True)
    keys = [("address", address), ("email", email)]
    network = find_neighbourhood(address)
    if network:
        keys.append(("network", network))
    return Claim(tuple(keys))


def record_success(tx: Transaction, app: App, user: Row, email: bytes, address: str, now: datetime) -> None:
    """Store the address of a successful login, and delete the failures before it."""
    tx.run("delete_login_failures", email=email)
    address_hash = credentials.hash_address(app.secrets, user["uuid"], address)
    tx.run("delete_old_login_addresses", before=iso(now - ADDRESS_LIFETIME))
    tx.run("upsert_login_address", user_id=user["id"], address=address_hash, now=iso(now))
    tx.run("delete_surplus_login_addresses", user_id=user["id"], most=MAX_ADDRESSES)


def load_failures(app: App, email: bytes, now: datetime) -> None:
    """Load the failures of an email that other processes counted, if processes share the accounts."""
    if app.accounts is app.db:
        return
    with app.accounts.read_one() as tx:
        row = tx.find_row(
            "login_failures_of_email", email=email, since=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS))
        )
    if row is None:
        app.lockouts.reset(email)
    else:
        _restore(app, email, row, now)


def record_failure(app: App, email: bytes, seconds: int | None, now: datetime) -> int | None:
    """Store a failed login of an email. Return the length of the lockout that it causes in seconds, or None.

    ``seconds`` is the lockout according to the count in memory. It is returned if only this process uses the accounts.
    Otherwise the database counts the failure in one statement, and its count decides.
    """
    is_shared = app.accounts is not app.db

    def write_failure(tx: Transaction) -> Row | None:
        """Store the failure. Return the row with the count of all processes if they share the accounts, or None."""
        tx.run("delete_old_login_failures", before=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS)))
        for evicted_email in app.lockouts.pop_evicted():
            tx.run("delete_login_failures", email=evicted_email)
        if is_shared:
            since = {
                f"since_{step}": iso(now - timedelta(seconds=lock))
                for step, lock in lockout.LOCK_SECONDS_BY_FAILURES.items()
            }
            return tx.find_row("increment_login_failures", since, email=email, most=lockout.MAX_FAILURES, now=iso(now))
        count = app.lockouts.find_failures(email)
        if count is not None:
            ago = timedelta(seconds=max(0.0, app.clock.monotonic() - count.last_at))
            tx.run("upsert_login_failures", email=email, failures=count.failures, last_at=iso(app.clock.now() - ago))
        return None

    row = app.accounts.write_batched(write_failure)
    if row is None:
        return seconds
    _restore(app, email, row, now)
    return app.lockouts.get_lock_seconds(email, app.clock.monotonic()) or None


def restore_failures(app: App) -> int:
    """Load the stored failures into memory at a start. Return the number of emails that have failures."""
    now = app.clock.now()
    with app.accounts.read() as tx:
        rows = tx.list_rows("login_failures", since=iso(now - timedelta(seconds=FORGET_AFTER_SECONDS)))
    for row in rows:
        _restore(app, row["email"], row, now)
    return len(rows)


def _restore(app: App, email: bytes, row: Row, now: datetime) -> None:
    # If the clock was set back, a failure may seem to be in the future.
    ago = max(0.0, (now - datetime.fromisoformat(row["last_at"])).total_seconds())
    last = app.clock.monotonic() - ago
    app.lockouts.restore(email, FailureCount(min(row["failures"], lockout.MAX_FAILURES), last))
