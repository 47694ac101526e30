"""A running finapi: the data directory held, the socket served, the workers at work; all of it in one ``with``.

The threads of the service are started from here.
"""

from __future__ import annotations

import logging
import math
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from finapi import app as apps
from finapi import (
    billing,
    datadir,
    events,
    mail,
    metrics,
    parts,
    plans,
    recovery,
    sniper,
    watchdog,
    webhooks,
)
from finapi.app import App
from finapi.background import PATIENCE, Worker
from finapi.background import running as workers_running
from finapi.clock import Clock
from finapi.config import Config
from finapi.dispatch import Dispatcher
from finapi.errors import ApiError, UsageError
from finapi.feeds.loop import Feeds
from finapi.listen import Listener, ListenSettings, listen
from finapi.market.gateway import Gateway
from finapi.market.poller import Poller
from finapi.outbound import Outbound, Reach
from finapi.web.wsgi import WsgiApp

log = logging.getLogger("finapi.server")

# For attempts that are under way at a stop: with the calls' drain_timeout less than the 10 s of CONTRACT 12.
WEBHOOK_DRAIN = 2.0  # seconds

CHECK_SECONDS = 1.0  # that checks under way are given to end at a stop; one that hangs ends with the process
MAIL_SECONDS = 1.0  # between looks at the mail queue


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers at ``url``; ``app`` is its state."""

    app: App
    url: str
    port: int


# Performs a handed-over command: (app, words, directory, standard input, say) -> exit status.
PerformWith = Callable[[App, list[str], str, str, datadir.Say], int]


@contextmanager
def opened(config: Config, clock: Clock | None = None) -> Iterator[App]:
    """The App of a data directory, held as its one writer; ``datadir.Busy`` when another process holds it.

    What a crash left open is refunded before anything else happens.
    """
    with datadir.locked(config.data_dir):
        app = apps.on_disk(config, clock)
        try:
            refunded = billing.refund_open(app, app.clock.now())
            if refunded:
                log.warning("refunded %d calls that a crash cut off", refunded)
            yield app
        finally:
            try:
                billing.close_kept(app)
            except ApiError as error:
                log.warning("the last calls are refunded at the next start: %s", error)
            app.db.close()


@contextmanager
def running(
    config: Config,
    perform: PerformWith,
    *,
    clock: Clock | None = None,
    prepare: Callable[[App], None] | None = None,
) -> Iterator[Server]:
    """Serve ``config`` until the block ends: answering from the first line of the block on.

    ``perform`` does the work of commands that are handed over; ``prepare`` runs before the first request.
    A socket that cannot be had is a UsageError.
    """
    with opened(config, clock) as opened_app:
        application = WsgiApp(opened_app)
        # Before anything is prepared: a first start that cannot listen has not been one.
        feeds = Feeds(opened_app, application.error_response)
        try:
            listener = _listen(config, application, feeds)
        except BaseException:
            feeds.close()
            raise
        try:
            if prepare is not None:
                prepare(opened_app)
        except BaseException:
            listener.close()
            feeds.close()
            raise
        # Documents carry the address that really listens, unless the operator named another.
        url = config.public_url or _url(config.host, listener.port)
        app = replace(opened_app, config=replace(config, port=listener.port, public_url=url))
        application.app = app
        app.metrics.measure(metrics.QUEUE, lambda: {("http",): float(listener.waiting)})
        app.metrics.measure(metrics.FEED_CONNECTIONS, feeds.readers)
        workers, pollers = _workers(app), _pollers(app)
        # Left in the opposite order: calls are drained while the workers still work.
        with (
            workers_running([*workers, *pollers]),
            _webhooks(app) as sender,
            datadir.Door(
                config.data_dir, lambda words, cwd, stdin, say: perform(app, words, cwd, stdin, say)
            ),
            _looping(listener, config.drain_timeout),
            _feeding(feeds),
            _watching(app, _url(config.host, listener.port), [*workers, sender], pollers, feeds),
        ):
            yield Server(app, _url(config.host, listener.port), listener.port)


def _workers(app: App) -> list[Worker]:
    """The workers that every server has; the one for webhooks stands by itself."""
    # As many mails as a step sends, each as slow as it may be.
    mail_patience = mail.BATCH * app.config.mail_timeout + PATIENCE
    return [
        Worker("close-debits", lambda: billing.close_kept(app)),
        Worker("prune-events", lambda: _prune_step(app)),
        Worker("sniper", lambda: sniper.advance(app, app.clock.now())),
        Worker("refill-plans", lambda: plans.refill_due(app, app.clock.now())),
        Worker("mail", lambda: _mail_step(app), interrupt=app.post.transport.close, patience=mail_patience),
    ]


def _pollers(app: App) -> list[Worker]:
    """The worker that follows EDGAR, if one is wanted."""
    if not app.config.poll_every:
        return []
    gateway = Gateway(app)
    poller = Poller(app, gateway, every=app.config.poll_every)
    # Also when EDGAR is not to be asked for an hour: by its steps one sees that it lives. How long one may take is
    # told by its beats.
    every = app.config.poll_every
    return [Worker("poll", lambda: min(poller.step(), every), interrupt=gateway.close, patience=math.inf)]


@contextmanager
def _webhooks(app: App) -> Iterator[Worker]:
    """The worker that empties the outbox until the block ends; what is under way then is given time to end."""
    worker = Worker("webhooks", lambda: dispatcher.step())
    dispatcher = Dispatcher(app, worker.wake)
    broken_off = dispatcher.recover()
    if broken_off:
        log.warning("%d webhook attempts that were broken off are made again", broken_off)
    app.db.listen(webhooks.TOPIC, worker.wake)
    try:
        with workers_running([worker]):
            yield worker
    finally:
        dispatcher.stop(min(app.config.drain_timeout, WEBHOOK_DRAIN))


@contextmanager
def _looping(listener: Listener, drain_timeout: float) -> Iterator[None]:
    loop = threading.Thread(target=listener.run, name="finapi-loop", daemon=True)
    loop.start()
    try:
        yield
    finally:
        listener.stop(drain_timeout)
        loop.join()


@contextmanager
def _feeding(feeds: Feeds) -> Iterator[None]:
    loop = threading.Thread(target=feeds.run, name="finapi-feeds", daemon=True)
    loop.start()
    try:
        yield
    finally:
        feeds.stop()
        loop.join()


def _prune_step(app: App) -> float:
    events.prune(app, app.clock.now())
    return events.PRUNE_SECONDS


@contextmanager
def _watching(
    app: App, url: str, workers: list[Worker], pollers: list[Worker], feeds: Feeds
) -> Iterator[None]:
    """Check every part once before the block begins, and go on by the clock until it ends."""
    beside: dict[str, parts.Told] = {
        **{worker.name: worker.trouble for worker in workers},
        "feeds": feeds.trouble,
    }
    threads = {**beside, **{worker.name: worker.trouble for worker in pollers}}
    app.metrics.measure(
        metrics.WORKING, lambda: {(name,): float(told() is None) for name, told in threads.items()}
    )
    # The operator names the targets, and our own address is nobody else's.
    outbound = Outbound(Reach(anything=True))
    app.watch.probes.update(parts.of_server(app, url, outbound, beside))
    for worker in pollers:
        app.watch.probes.update(parts.of_polling(app, worker.trouble))

    def interrupt() -> None:
        app.watch.checks.close()
        outbound.close()

    try:
        watchdog.check(app, app.clock.now())
        with workers_running([Worker("watchdog", lambda: watchdog.step(app), interrupt=interrupt)]):
            yield
    finally:
        interrupt()
        app.watch.checks.join(CHECK_SECONDS)


def _mail_step(app: App) -> float:
    # Asked for again soon whatever the queue says: what is queued later by a request wakes nobody.
    wait = recovery.send_due(app)
    return MAIL_SECONDS if wait is None else min(wait, MAIL_SECONDS)


def _listen(config: Config, application: WsgiApp, feeds: Feeds) -> Listener:
    settings = ListenSettings(
        host=config.host,
        port=config.port,
        threads=config.threads,
        # The last that this process may use: the first ones answer the devices.
        core=max(os.sched_getaffinity(0)) if config.cores == "one" else None,
        queue_limit=config.queue_limit,
        connection_limit=config.connection_limit,
        channel_timeout=config.channel_timeout,
        header_timeout=config.header_timeout,
        server_timeout=config.server_timeout,
        body_limit=config.body_limit,
    )
    # A connection takes up to three handles: its socket and two buffers that have grown into files.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * config.connection_limit + config.feed_connections + 100
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard >= 0 else wanted, hard))
    try:
        return listen(
            application, settings, application.error_response, take_over=feeds, at_once=application.at_once
        )
    except OSError as error:
        raise UsageError(f"cannot listen on {config.host}:{config.port}: {error.strerror or error}") from None


def _url(host: str, port: int) -> str:
    # An address of "all interfaces" is none to connect to.
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"
