"""What a request may touch, in one frozen record that the server makes and everything else receives."""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from finapi.clock import Clock, SystemClock
from finapi.config import Config, master_secrets
from finapi.db import Database
from finapi.limits import Limit, Limiter


def random_uuid() -> str:
    """A fresh UUIDv4 in its 36 characters."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class App:
    """The parts of a running finapi. ``kept_debits`` waits to be written by ``billing.close_kept``."""

    config: Config
    clock: Clock
    db: Database
    secrets: Sequence[bytes]
    new_uuid: Callable[[], str]
    limiters: Mapping[str, Limiter]
    kept_debits: deque[tuple[int, int]] = field(default_factory=deque)


def in_memory(config: Config, clock: Clock, *, new_uuid: Callable[[], str] = random_uuid) -> App:
    """An App over a database in memory with a fixed master secret: for tests."""
    return App(config, clock, Database(None), [b"\x00" * 32], new_uuid, limiters(config))


def on_disk(config: Config, clock: Clock | None = None) -> App:
    """An App over ``finapi.db`` in the data directory, which is made (mode 0700) when it is not there.

    The caller holds the lock of the directory (``datadir.locked``).
    """
    path = config.data_dir / "finapi.db"
    # Made here so that it is the owner's alone; SQLite gives its WAL the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    db = Database(path, synchronous=config.synchronous)
    return App(config, clock or SystemClock(), db, master_secrets(config), random_uuid, limiters(config))


def limiters(config: Config) -> dict[str, Limiter]:
    """One limiter for each zone of CONTRACT 5 that has routes."""
    xbrl = Limit(config.xbrl_per_minute, 60.0, config.xbrl_burst)
    return {"xbrl": Limiter(xbrl, config.limit_keys)}
