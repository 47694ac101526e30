"""A running fixture: a temporary data directory with its base, a pool of worlds, and optionally a socket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.httpd.listener import Listener
from finapi.httpd.settings import RequestSummary
from finapi.listening import build_listen_error, build_listen_settings, build_url, run_loop
from finapi.store import datadir
from finapi.testing import base
from finapi.testing.base import Base
from finapi.testing.gate import CONTROL_PATH, AnswerSource, Gate
from finapi.testing.world_pool import WorldPool

# Defaults of the fixture that differ from those of a server.
FIXTURE_SETTINGS: dict[str, Any] = {
    "log_level": "error",
    "common_passwords": "allowed",
    "password_profile": "cheap",
    "webhook_allow": ("127.0.0.0/8", "::1/128"),
    "default_windows": "all",
    "pages": "public",
    # A call that moves the clock occupies its thread until webhooks are delivered, and their receivers may call back.
    "threads": 32,
    # No ledger archives: all worlds would write them to the same directory.
    "ledger_days": 0,
    "connections_per_address": 1_000,
    # Practically no limit on CPU time: it differs from run to run, which answers must not, and while the clock stands
    # still it would never be forgotten.
    "refunded_cpu_per_minute": 3_600.0,
    "sql_cpu_per_minute": 3_600.0,
    # A high limit, as the readers of all worlds connect from one address.
    "feed_connections_per_address": 2_000,
    "feed_unauthenticated": 1_000,
    "feed_unauthenticated_per_address": 1_000,
    "cores": "all",
}
STOP_GRACE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture that answers on its socket, or only as the WSGI application ``gate``."""

    url: str
    port: int  # The port of the socket, or 0 if there is no socket.
    gate: Gate
    base: Base
    directory: Path
    mail_dir: Path

    @property
    def ready(self) -> dict[str, Any]:
        """The ready line: everything that a test needs to know of the fixture."""
        pro_account, free_account = self.base.accounts["pro"], self.base.accounts["free"]
        return {
            "ready": True,
            "url": self.url,
            "port": self.port,
            "pid": os.getpid(),
            "mail_dir": str(self.mail_dir),
            "data_dir": str(self.directory),
            "api_key": pro_account["api_key"],
            "free_api_key": free_account["api_key"],
            "email": pro_account["email"],
            "password": pro_account["password"],
            "invite_codes": [*self.base.invite_codes],
            "accounts": {kind: account.copy() for kind, account in self.base.accounts.items()},
            "control_url": self.url + CONTROL_PATH,
            "control_token": self.gate.control_token,
        }


@contextmanager
def run_fixture(
    config: Config, *, seed: int | None = None, listens: bool = True, answer_source: AnswerSource | None = None
) -> Iterator[Fixture]:
    """Run a fixture in a temporary directory until the block ends.

    With ``seed`` its clock stands still, and ids, keys and times are the same in every run. ``answer_source`` is asked
    for the answer to each API call before the fixture's worlds.
    """
    if seed is not None and not base.is_seed(seed):
        raise UsageError(base.INVALID_SEED)
    if listens:
        config.check_exposure()
    is_seeded = seed is not None
    number, created_at = _choose_seed() if seed is None else (seed, base.SEEDED_START)
    sweep()
    with TemporaryFolder("fixture") as directory, ExitStack() as stack:
        stack.enter_context(datadir.lock_directory(directory))
        base_file = base.build_base(directory, config, number, created_at)
        world_config = replace(config, data_dir=directory)
        mail_directory = world_config.mail_directory or directory / "mail"
        pool = WorldPool(world_config, number, is_seeded, base_file, mail_directory)
        gate, port = pool.gate, 0
        gate.answer_source = answer_source
        stack.callback(pool.close)
        listener = _open_listener(pool, world_config) if listens else None
        if listener is not None:
            port = listener.port
            pool.base_url = config.public_url or build_url(config.host, port)
            if not config.is_reachable_remotely:
                gate.hosts = {str(urlsplit(url).hostname) for url in (pool.base_url, config.frontend_url) if url}
        gate.get_world("")
        if listener is not None:
            stack.enter_context(run_loop("loop", listener.run, lambda: listener.stop(STOP_GRACE_SECONDS)))
        stack.enter_context(run_loop("stepper", pool.stepper.run, pool.stepper.stop))
        yield Fixture(pool.base_url, port, gate, base_file, directory, mail_directory)
        if not gate.ends_process:
            base.cache_base(base_file, config, number, created_at)


def _open_listener(pool: WorldPool, config: Config) -> Listener:
    def build_error(status: int, message: str, request: RequestSummary) -> tuple[list[tuple[str, str]], bytes]:
        return pool.gate.get_world("").wsgi.error_response(status, message, request)

    try:
        return Listener(pool.gate, build_listen_settings(config), build_error, request_taker=pool.feeds)
    except OSError as error:
        raise build_listen_error(config, error) from None


@cache
def _choose_seed() -> tuple[int, datetime]:
    """Return a random seed for this process, and the time at which its accounts are created."""
    return int.from_bytes(os.urandom(6)), SystemClock().now()
