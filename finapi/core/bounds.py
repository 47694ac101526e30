"""Bounds of memory, queues and waiting times that no operator has to change.

They are constants: no flag, variable or file changes them. An instance can have other values, because a fixture serves
all its callers from one address and because tests need small bounds. Each comment gives the reason for the value.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, repr=False)
class Bounds:
    """The bounds of a server."""

    # ---- connections and requests

    # Enough for an office behind one address. If no connection is free, the address with the most loses one. A trusted
    # proxy has no bound.
    connections_per_address: int = 250
    # Long or slow request bodies that arrive at the same time. A body that arrives with its headers, or within half a
    # second, does not count. Each may occupy memory or a temporary file for two minutes.
    bodies_at_once: int = 64
    # A quarter of them, so that four addresses are needed to use all.
    bodies_per_address: int = 16
    # Requests that wait for a thread; more are answered with 503. At a millisecond each, the last waits half a second.
    queue_limit: int = 512

    # ---- answers

    # All cached answers. A statement is about 10 KB, so that all frequent answers fit several times.
    answer_bytes: int = 16 * MIB
    # An answer of series or funds; a longer one is refused with 400. It takes up to three times its bytes of memory,
    # and most of a second of a core.
    answer_limit: int = 8 * MIB
    # Rows times metrics of an answer of series; more are refused with 400. Ten metrics of 500 companies over ten years.
    series_cells: int = 50_000
    # Large answers (above 1 MiB, or of several companies) built together: up to 48 MiB of memory. One account has all
    # but one of the places.
    large_at_once: int = 2
    # Large answers that wait for their turn. As many as run, so that a wait ends within one answer.
    large_waiting: int = 2
    # Seconds that a large answer or an SQL query waits for its turn before 503. Its thread can do nothing else.
    turn_wait: float = 3.0

    # ---- logins

    # Password hashes computed at the same time. Each takes 19 MiB and a core.
    hashes_at_once: int = 2
    # Logins that wait for their turn; of more, callers with many attempts get 503. Running hashes and waiting logins
    # together are fewer than the threads, so that logins cannot occupy all of them.
    hashes_waiting: int = 6
    # Seconds that a login waits for its turn before 503. A person does not wait longer.
    hash_wait: float = 5.0
    # Emails whose failed logins are counted. A flood of invented emails must not fill the memory.
    lockout_emails: int = 100_000
    # Callers whose requests a limit counts. A flood from invented addresses must not fill the memory.
    limit_keys: int = 100_000
    # Logins a minute from an IPv6 /48: five times the limit of an address. The owner of a /48 has 65,536 networks (/64)
    # that count as addresses.
    login_per_minute_per_network: int = 300

    # ---- feeds

    feed_connections_per_address: int = 200  # A tenth of all feed connections.
    # Feed connections that have not sent a key yet. A reader sends it within a second.
    feed_unauthenticated: int = 256
    feed_unauthenticated_per_address: int = 64  # A quarter of them.
    # Past events that a new feed connection receives, as the published API documents it.
    feed_catchup: int = 20

    # ---- SQL proxy

    # Queries that run at the same time, one of an account. Fewer than the threads, so that queries do not block others.
    sql_at_once: int = 2
    sql_waiting: int = 2  # Queries that wait for their turn; more are answered with 503.
    sql_bytes: int = MIB  # The values of an answer, which are in memory until it is sent.

    # ---- stored rows and documents

    # A stored primary document. A 10-K is 2 to 10 MB of HTML, an eighth of that when compressed.
    document_bytes: int = 8 * MIB
    # A stored exhibit, image or other document. Most are contracts and press releases of less than a megabyte.
    exhibit_bytes: int = 4 * MIB
    # Stored sniper targets of an account; the oldest are deleted. A list of more could not be read by a person.
    targets_kept: int = 10_000

    # ---- waits for others

    # Seconds to send a mail. A mail server that is well answers within one.
    mail_timeout: float = 10.0
    # Seconds of a check of a component. A component that needs longer is of no use to a caller.
    watchdog_deadline: float = 5.0


BOUND_NAMES = frozenset(bound.name for bound in fields(Bounds))
