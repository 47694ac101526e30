"""The settings of the listening server, adjusted to the file descriptors that the process may open.

Each connection, thread and feed takes file descriptors. If the system allows fewer than the settings may need, the
settings are reduced, with a warning, so that the server never runs out of descriptors under load.
"""

from __future__ import annotations

import logging
import os
import resource
import threading
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.feeds.feed_requests import MAX_LINGERING
from finapi.httpd.settings import ListenSettings

log = logging.getLogger("finapi.server")

# File descriptors for the connections of workers, the event loops, the lock, the listening socket and open files.
RESERVED_FILES = 45
MIN_FILES = 60  # With fewer, the server could accept no connections.
FILES_PER_THREAD = 2  # The database and its write-ahead log.
FILES_PER_CONNECTION = 3  # The socket and two temporary files.


def build_listen_error(config: Config, error: OSError) -> UsageError:
    """Return the UsageError to raise if the server cannot listen on its address."""
    return UsageError(f"cannot listen on {config.host}:{config.port}: {error.strerror or error}")


def build_listen_settings(config: Config) -> ListenSettings:
    """Return the settings of the server.

    If they may need more file descriptors than allowed, increase the soft limit.
    """
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed_files = _count_needed_files(config)
    if soft_limit < needed_files:
        new_limit = min(needed_files, hard_limit) if hard_limit >= 0 else needed_files
        resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard_limit))
    return ListenSettings(
        host=config.host,
        port=config.port,
        threads=config.threads,
        core=choose_core(os.sched_getaffinity(0), os.uname().nodename, config.port) if config.cores == "one" else None,
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
        paused_limit=_count_paused_threads(config.threads),
        public_path=config.public_path,
        paused_per_owner=max(1, _count_paused_threads(config.threads) // 2),
    )


def choose_core(cores: Collection[int], host_name: str, port: int) -> int:
    """Return one of the cores that this process may use, so that the servers of a machine spread over its cores.

    Servers of one host have different ports, and containers different host names. A server whose port the system
    chooses takes its core by its process id. With more than two cores the first one is left to device interrupts.
    """
    candidates = sorted(cores)[1:] if len(cores) > 2 else sorted(cores)
    number = zlib.crc32(host_name.encode()) + (port or os.getpid())
    return candidates[number % len(candidates)]


def fit_to_file_limit(config: Config, max_files: int) -> Config:
    """Return the settings, with fewer threads and connections if they may need more than ``max_files`` descriptors.

    A ``max_files`` of -1 means that there is no limit. Raise UsageError if it is too small for any server.
    """
    if 0 <= max_files < MIN_FILES:
        raise UsageError(
            f"only {max_files} file descriptors are allowed, and a server needs at least {MIN_FILES}: raise the limit "
            "(ulimit -n, LimitNOFILE=)"
        )
    needed_files = _count_needed_files(config)
    if max_files < 0 or needed_files <= max_files:
        return config
    available_files = max(max_files - RESERVED_FILES - min(MAX_LINGERING, max_files // 8), 0)
    threads = min(config.threads, max(2, available_files // 12))
    webhook_threads = min(config.webhook_threads, max(2, available_files // 12))
    feed_connections = min(config.feed_connections, max(2, available_files // 6))
    thread_files = FILES_PER_THREAD * (threads + _count_paused_threads(threads))
    remaining_files = available_files - thread_files - webhook_threads - feed_connections
    connection_limit = min(config.connection_limit, max(4, remaining_files // FILES_PER_CONNECTION))
    log.warning(
        "%d file descriptors are too few for these settings, which may need %d: %d threads, %d connections, %d feed "
        "connections; raise the limit (ulimit -n, LimitNOFILE=)",
        max_files,
        needed_files,
        threads,
        connection_limit,
        feed_connections,
    )
    return replace(
        config,
        threads=threads,
        webhook_threads=webhook_threads,
        feed_connections=feed_connections,
        connection_limit=connection_limit,
    )


def _count_needed_files(config: Config) -> int:
    """Return the number of file descriptors that a server may need."""
    threads = config.threads + _count_paused_threads(config.threads)
    process_files = RESERVED_FILES + FILES_PER_THREAD * threads + config.webhook_threads
    connection_files = FILES_PER_CONNECTION * config.connection_limit
    return process_files + connection_files + config.feed_connections + MAX_LINGERING


def _count_paused_threads(threads: int) -> int:
    """Return the maximum number of threads that may wait for a slow client. Another thread works in place of each."""
    return max(1, threads // 4)


def build_url(host: str, port: int) -> str:
    """Return the URL at which this machine can connect to a listening address."""
    # A server can listen on a wildcard address (all interfaces), but a client cannot connect to one.
    loopback_hosts = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # nosec B104
    url_host = loopback_hosts.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{url_host}:{port}"


@contextmanager
def run_loop(name: str, run: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """Run ``run`` in a thread. When the block ends, call ``stop`` and wait for the thread."""
    loop = threading.Thread(target=run, name=f"finapi-{name}", daemon=True)
    loop.start()
    try:
        yield
    finally:
        stop()
        loop.join()
