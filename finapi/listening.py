"""What a server allows its connections, within what the machine allows the server; where it is reached; its loops."""

from __future__ import annotations

import logging
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.feeds.requests import LINGERING
from finapi.httpd.settings import ListenSettings

log = logging.getLogger("finapi.server")

RESERVED_FILES = 45  # descriptors for the workers' readers, the loops, the lock, what is listened on and written
FILES_OF_THREAD = 2  # its reader of the database and of the log behind it


def not_listening(config: Config, error: OSError) -> UsageError:
    """What is said of an address that cannot be had."""
    return UsageError(f"cannot listen on {config.host}:{config.port}: {error.strerror or error}")


def listen_settings(config: Config) -> ListenSettings:
    """What the server allows; this process is allowed the handles that it needs for that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _files_of(config)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard >= 0 else wanted, hard))
    return ListenSettings(
        host=config.host,
        port=config.port,
        threads=config.threads,
        # The last that this process may use: the first ones answer the devices.
        core=max(os.sched_getaffinity(0)) if config.cores == "one" else None,
        queue_limit=config.queue_limit,
        connection_limit=config.connection_limit,
        connections_per_address=config.connections_per_address,
        channel_timeout=config.channel_timeout,
        header_timeout=config.header_timeout,
        server_timeout=config.server_timeout,
        body_limit=config.body_limit,
        bodies_at_once=config.bodies_at_once,
        bodies_per_address=config.bodies_per_address,
        spool_limit=config.spool_bytes,
        paused_limit=_paused_threads(config.threads),
        paused_per_owner=max(1, _paused_threads(config.threads) // 2),
    )


def _paused_threads(threads: int) -> int:
    """Return how many threads may wait for clients to read, each of which another replaces meanwhile."""
    return max(1, threads // 4)


def _files_of(config: Config) -> int:
    """Return how many descriptors a server may open: of a connection its socket and two buffers in files."""
    threads = config.threads + _paused_threads(config.threads)
    own = RESERVED_FILES + FILES_OF_THREAD * threads + config.webhook_threads
    return own + 3 * config.connection_limit + config.feed_connections + LINGERING


def within(config: Config, files: int) -> Config:
    """The settings with as many threads and connections as ``files`` descriptors are enough for; -1: any number."""
    wanted = _files_of(config)
    if files < 0 or wanted <= files:
        return config
    spare = max(files - RESERVED_FILES - min(LINGERING, files // 8), 0)
    threads = min(config.threads, max(2, spare // 12))
    webhooks = min(config.webhook_threads, max(2, spare // 12))
    feeds = min(config.feed_connections, max(2, spare // 6))
    left = spare - FILES_OF_THREAD * (threads + _paused_threads(threads)) - webhooks - feeds
    connections = min(config.connection_limit, max(4, left // 3))
    log.warning(
        "%d file descriptors are too few for these settings, which may need %d: %d threads, %d connections, %d feed "
        "connections; raise the limit (ulimit -n, LimitNOFILE=)",
        files,
        wanted,
        threads,
        connections,
        feeds,
    )
    return replace(
        config, threads=threads, webhook_threads=webhooks, feed_connections=feeds, connection_limit=connections
    )


def url_of(host: str, port: int) -> str:
    """The URL at which an address is reached from this machine."""
    # An address of "all interfaces" is none to connect to.
    loopback = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # nosec B104
    shown = loopback.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


@contextmanager
def looping(name: str, run: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """Run a loop in a thread until the block ends."""
    loop = threading.Thread(target=run, name=f"finapi-{name}", daemon=True)
    loop.start()
    try:
        yield
    finally:
        stop()
        loop.join()
