"""The running server: the locked data directory, the listening socket and the worker threads, in one ``with`` block."""

from __future__ import annotations

import logging
import math
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from finapi.accounts import billing
from finapi.app import App, open_postgres
from finapi.core import memory, metrics
from finapi.core.background import MAX_STEP_SECONDS, Worker, run_workers
from finapi.core.clock import Clock
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.core.lazy import LazyModule, LazyReference
from finapi.delivery import WEBHOOKS_TOPIC, outbox
from finapi.feeds import feed_requests
from finapi.feeds.lazy_feeds import LazyFeeds
from finapi.httpd.listener import Listener
from finapi.listening import build_listen_error, build_listen_settings, build_url, fit_to_file_limit, run_loop
from finapi.market import financials
from finapi.net import mail
from finapi.ops.app_opening import open_app
from finapi.store import datadir
from finapi.store.portions import PAUSE_SECONDS
from finapi.web.application import WsgiApp
from finapi.web.http.public_path import check_public_path
from finapi.web.routes import ROUTES

# Modules that a server needs only seconds after its start. The workers import them with their first step.
archive = LazyModule("finapi.accounts.archive")
copy_node = LazyModule("finapi.ops.copy_node")

if TYPE_CHECKING:
    from finapi.delivery.dispatcher import Dispatcher
    from finapi.market.intake.poller import Poller
    from finapi.net.outbound import Outbound
    from finapi.ops.activity import ActivityRecorder
    from finapi.store.postgres import Postgres

log = logging.getLogger("finapi.server")

# The time that webhook attempts in progress have at a stop. Together with the time that calls have (the setting
# drain_timeout) it must be less than the 10 s of DECISIONS 12.
WEBHOOK_DRAIN_SECONDS = 2.0

# The time to wait at the start for the worker's lock in PostgreSQL, if the process that had it has just died.
ELECTION_SECONDS = 5.0
ELECTION_RETRY_SECONDS = 0.2  # The interval in which a standby worker tries to be elected.

DEPOSED_STOP_SECONDS = 10.0  # The time that a deposed worker has to stop and release the data directory.

# At a stop, the time that the last writes wait for a lock of the database that a thread which did not stop still has.
STOP_LOCK_WAIT_SECONDS = 1.0
# At a stop, the time that running health checks have to end. A check that hangs ends with the process.
STOP_CHECK_SECONDS = 1.0
# The time between the start and the workers' first steps, so that these do not slow down the first calls.
FIRST_STEP_DELAY_SECONDS = 0.5
MAIL_INTERVAL_SECONDS = 1.0  # The interval between two steps of the mail queue.
# The interval between two steps that store the latest years of companies, which screens read.
LATEST_YEARS_INTERVAL_SECONDS = 10.0
HOLDINGS_INTERVAL_SECONDS = 10.0  # The interval between two steps that recompute 13F positions.

# Size of a thread's stack. Endlessly nested JSON uses 1.3 MiB of it before Python 3.12 and later refuse it, and 200 KiB
# in older versions. The C library's default of 8 MiB for each of 62 threads is more than some hosts allow.
STACK_BYTES = (2 if sys.version_info >= (3, 12) else 1) * memory.MIB


class Server(NamedTuple):
    """A running server: its state, and the URL and port at which it answers."""

    app: App
    url: str
    port: int


# Runs a command that another finapi process hands over to the server: (app, command, say) -> exit status.
PerformCommand = Callable[[App, datadir.Command, datadir.Say], int]


@contextmanager
def run_server(
    config: Config,
    perform: PerformCommand,
    *,
    clock: Clock | None = None,
    prepare: Callable[[App], None] | None = None,
    new_secrets: bool = False,
    accounts: Postgres | None = None,
) -> Iterator[Server]:
    """Run the server with the settings ``config`` until the block ends. The block starts when requests are answered.

    ``perform`` runs the commands that other processes hand over. ``prepare`` runs before the first request.
    ``accounts`` is the store of an elected worker (:func:`open_elected_accounts`). Raise UsageError if the socket
    cannot be opened.
    """
    check_public_path(
        config.public_path, [*(route.path for route in ROUTES), *feed_requests.PATHS, feed_requests.SOCKET_IO]
    )
    memory.limit_heaps()
    threading.stack_size(STACK_BYTES)
    config = fit_to_file_limit(config, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    # A newly elected worker waits for the deposed one to release the data directory.
    patience = DEPOSED_STOP_SECONDS if accounts else 0.0
    app_context = open_app(config, clock, new_secrets=new_secrets, accounts=accounts, patience=patience)
    with app_context as opened_app, ExitStack() as on_failed_start:
        # Needed in every role and before the first call, because cached callers are only dropped when a change of the
        # accounts is notified.
        opened_app.accounts.follow_changes()
        # True for the roles "all" and "worker". A node with the role "api" only serves a copy of the market data.
        runs_background_work = config.role != "api"
        if runs_background_work and not opened_app.accounts.elect(ELECTION_SECONDS, _depose):
            raise UsageError("another finapi is the worker of these accounts; stop it first, or serve with --role api")
        application = WsgiApp(opened_app)
        # Listen before ``prepare``: a first start that cannot listen must leave no trace.
        feeds = LazyFeeds(application)
        listener = _listen(config, application, feeds)
        on_failed_start.callback(listener.close)
        if prepare is not None:
            prepare(opened_app)
        on_failed_start.pop_all()
        # Links in responses contain the actual listening address, unless the operator has set public_url.
        url = config.public_url or build_url(config.host, listener.port)
        app = replace(opened_app, config=replace(config, port=listener.port, public_url=url))
        application.app = app
        app.metrics.register(metrics.QUEUE_DEPTH, lambda: {("http",): float(listener.waiting)})
        app.metrics.register(metrics.FEED_CONNECTIONS, feeds.count_readers)
        workers, pollers = (
            (_build_workers(app), _build_pollers(app)) if runs_background_work else (_build_copy_workers(app), [])
        )
        # Close this thread's connection for reads, which only the start has used.
        app.db.release_reader()
        command_socket = datadir.CommandSocket(
            config.data_dir,
            lambda command, say: perform(app, command, say),
            app.db.interrupt_thread,
        )
        # At the end of the block, these stop in reverse order.
        with (
            ExitStack() as on_exit,
            run_workers(
                [*workers, *pollers], FIRST_STEP_DELAY_SECONDS if runs_background_work else 0.0, app.db.release_reader
            ) as group,
            _run_webhook_worker(app) if runs_background_work else nullcontext() as webhook_worker,
            command_socket,
            run_loop("loop", listener.run, lambda: listener.stop(config.drain_timeout)),
            closing(feeds),
            _run_watchdog(
                app, build_url(config.host, listener.port), [*workers, *filter(None, [webhook_worker])], pollers, feeds
            ),
        ):
            on_exit.callback(app.db.limit_lock_waits, STOP_LOCK_WAIT_SECONDS)
            try:
                yield Server(app, build_url(config.host, listener.port), listener.port)
            finally:
                # Background work stops while running calls may still complete. The next start completes the work.
                group.request_stop()
                command_socket.request_stop()


def _depose() -> None:
    """Stop this process, because another process has become the worker."""
    os.kill(os.getpid(), signal.SIGTERM)


def open_elected_accounts(config: Config, stopped: Callable[[float], bool]) -> Postgres | None:
    """For the role ``worker``, wait until this node is the active worker and return its accounts in PostgreSQL.

    Return None for other roles. ``stopped(seconds)`` waits and returns True at a stop, then return None too. Raise
    UsageError for a role other than ``all`` without accounts in PostgreSQL, through which the nodes find one another.
    """
    if config.role != "all" and not config.accounts_url:
        raise UsageError(
            f"role {config.role} needs accounts in PostgreSQL (accounts_url), where nodes share them; "
            "finapi move --to postgresql://... takes them there"
        )
    if config.role != "worker":
        return None
    store = open_postgres(config.accounts_url)
    if not store.elect(ELECTION_SECONDS, _depose):
        log.info("another worker is active; waiting to take over")
        while not store.elect(0.0, _depose):
            if stopped(ELECTION_RETRY_SECONDS):
                store.close()
                return None
        log.info("this worker takes over")
    return store


def _load_step(step: LazyReference, app: App) -> Callable[[], float | None]:
    """Return a worker's step that imports its module when it first runs."""
    return lambda: step.load()(app)


def _build_worker(app: App, name: str, step: Callable[[], float | None], **options: Any) -> Worker:
    """Return a worker whose database query is interrupted if its step does not end at a stop."""
    return Worker(name, step, interrupt_thread=app.db.interrupt_thread, **options)


def _build_copy_workers(app: App) -> list[Worker]:
    """Return the workers of a node with a copy of the market data."""
    return [
        _build_worker(app, "copy", _load_step(copy_node("run_copy_step"), app)),
        _build_worker(app, "close-debits", lambda: billing.run_settlement_step(app)),
        _build_worker(app, "memory", memory.MemoryTrimmer().run_trim_step),
        _build_activity_worker(app),
    ]


def _build_activity_worker(app: App) -> Worker:
    """Return the worker that stores the calls, tokens and errors of each hour."""

    @cache
    def create_recorder() -> ActivityRecorder:
        from finapi.ops.activity import ActivityRecorder

        return ActivityRecorder(app)

    return _build_worker(app, "activity", lambda: create_recorder().run_step())


def _build_workers(app: App) -> list[Worker]:
    """Return the workers of the roles "all" and "worker", except for webhooks, polling and the watchdog."""
    # Long enough for a mail that is begun just before the end of a step's time.
    mail_patience = mail.PASS_SECONDS + app.config.mail_timeout + MAX_STEP_SECONDS
    return [
        *_build_backup_workers(app),
        _build_worker(app, "close-debits", lambda: billing.run_settlement_step(app)),
        *(
            [_build_worker(app, "refund-debits", lambda: billing.run_refund_step(app))]
            if app.accounts is not app.db
            else []
        ),
        _build_worker(app, "archive-ledger", _load_step(archive("run_archive_step"), app)),
        _build_worker(app, "outbox", outbox.OutboxTransfer(app).run_step),
        _build_worker(app, "prune", lambda: _prune_step(app)),
        _build_worker(app, "full-text", lambda: _full_text_step(app)),
        _build_worker(app, "latest-years", lambda: _latest_years_step(app)),
        _build_worker(app, "holdings", lambda: _holdings_step(app)),
        _build_worker(app, "sniper", lambda: _sniper_step(app)),
        _build_worker(app, "refill-plans", lambda: _refill_plans_step(app)),
        _build_worker(app, "memory", memory.MemoryTrimmer().run_trim_step),
        _build_activity_worker(app),
        # Its database query is not interrupted: a sent mail that is not recorded would be sent again.
        Worker(
            "mail", lambda: _mail_step(app), interrupt=app.mail_settings.transport.close, max_step_seconds=mail_patience
        ),
    ]


def _build_backup_workers(app: App) -> list[Worker]:
    """Return the worker that makes a backup each night, or no worker without the setting backup_dir."""
    if not app.config.backup_dir:
        return []
    from finapi.ops import backups

    nightly = backups.NightlyBackup(app)
    return [
        _build_worker(app, "backup", nightly.run_backup_step, interrupt=nightly.interrupt, max_step_seconds=math.inf)
    ]


def _sniper_step(app: App) -> float | None:
    from finapi.delivery import sniper

    return sniper.run_window_step(app, app.clock.now())


def _refill_plans_step(app: App) -> float | None:
    from finapi.accounts import plans

    return plans.run_refill_step(app, app.clock.now())


def _full_text_step(app: App) -> float | None:
    """Index the text of some documents for full text search. Return the seconds until the next step, or None."""
    from finapi.market.documents import submission_documents

    with app.db.read() as tx:
        due = tx.find_row("next_unindexed_body", after=0) is not None
    return submission_documents.run_text_index_step(app) if due else None


def _latest_years_step(app: App) -> float:
    """Store the latest years of some companies that lack them, for screens. Return the seconds until the next step."""
    from finapi.market.intake import latest_years_work

    with app.db.read() as tx:
        if tx.find_row("latest_years_due", rules=financials.get_fingerprint(), limit=1) is None:
            return LATEST_YEARS_INTERVAL_SECONDS
    return PAUSE_SECONDS if latest_years_work.compute_latest_years(app).may_be_more else LATEST_YEARS_INTERVAL_SECONDS


def _holdings_step(app: App) -> float:
    """Recompute some 13F positions. Return the seconds until it should run again."""
    from finapi.market.holdings import recomputation

    return PAUSE_SECONDS if recomputation.recompute_portion(app.db, app.clock.now()) else HOLDINGS_INTERVAL_SECONDS


def _build_pollers(app: App) -> list[Worker]:
    """Return the worker that polls EDGAR, or no worker without the setting poll_every."""
    if not app.config.poll_every:
        return []
    from finapi.market.intake.gateway import Gateway

    gateway = Gateway(app)
    interval_seconds = app.config.poll_every

    @cache
    def get_poller() -> Poller:
        # Imported with the first step, because it imports every parser.
        from finapi.market.intake.poller import Poller

        return Poller(app, gateway, interval_seconds=interval_seconds)

    # A step runs at each interval, even if EDGAR must not be called for an hour, because it also shows that the poller
    # is alive. A step may take any time: the watchdog checks the poller's heartbeats instead.
    return [
        _build_worker(
            app,
            "poll",
            lambda: min(get_poller().run_poll_step(), interval_seconds),
            interrupt=gateway.close,
            max_step_seconds=math.inf,
        )
    ]


@contextmanager
def _run_webhook_worker(app: App) -> Iterator[Worker]:
    """Run the worker that sends webhooks, and yield it. At the end of the block, wait briefly for running attempts."""

    @cache
    def get_dispatcher() -> Dispatcher:
        from finapi.delivery.dispatcher import Dispatcher

        dispatcher = Dispatcher(app, worker.wake)
        if interrupted := dispatcher.recover():
            log.warning("%d interrupted webhook attempts are repeated", interrupted)
        return dispatcher

    worker = _build_worker(app, "webhooks", lambda: get_dispatcher().run_step())
    app.accounts.listen(WEBHOOKS_TOPIC, worker.wake)
    try:
        with run_workers([worker], FIRST_STEP_DELAY_SECONDS, app.db.release_reader):
            yield worker
    finally:
        if get_dispatcher.cache_info().currsize:
            get_dispatcher().stop(min(app.config.drain_timeout, WEBHOOK_DRAIN_SECONDS))


@contextmanager
def _run_watchdog(app: App, url: str, workers: list[Worker], pollers: list[Worker], feeds: LazyFeeds) -> Iterator[None]:
    """Check every component regularly, and when the status is first requested, until the block ends.

    A node with a copy of the market data only registers the probes. Its status shows the results of the worker node.
    """
    # Functions that return the problem of a component, or None if it works, by the component's name.
    problem_finders = {"feeds": feeds.find_problem, "feed-keys": feeds.find_key_problem}
    problem_finders |= {worker.name: worker.find_problem for worker in workers}
    all_problem_finders = {**problem_finders, **{worker.name: worker.find_problem for worker in pollers}}

    def get_thread_states() -> dict[tuple[str, ...], float]:
        return {(name,): float(find_problem() is None) for name, find_problem in all_problem_finders.items()}

    app.metrics.register(metrics.WORKER_UP, get_thread_states)
    app.health.probe_token = app.new_uuid()

    @cache
    def register_probes() -> Outbound:
        from finapi.net.outbound import Outbound
        from finapi.ops import probes

        outbound = Outbound(probes.OPERATOR_TARGET_POLICY)
        app.health.probes.update(probes.build_server_probes(app, url, outbound, problem_finders))
        for worker in pollers:
            app.health.probes.update(probes.build_polling_probes(app, worker.find_problem))
        return outbound

    def step() -> float:
        from finapi.ops import watchdog

        register_probes()
        return watchdog.run_watchdog_step(app)

    if app.db.is_copy or app.config.watchdog_urls:
        register_probes()  # Raises UsageError for wrong URLs in the settings.

    def interrupt() -> None:
        app.health.checker.close()
        if register_probes.cache_info().currsize:
            register_probes().close()

    try:
        if app.db.is_copy:
            yield
            return
        worker = _build_worker(app, "watchdog", step, interrupt=interrupt)
        app.health.wake_watchdog = worker.wake
        with run_workers([worker], FIRST_STEP_DELAY_SECONDS, app.db.release_reader):
            yield
    finally:
        interrupt()
        app.health.checker.join(STOP_CHECK_SECONDS)


def _prune_step(app: App) -> float:
    """Delete some events and mail files that are too old. Return the seconds until it should run again."""
    from finapi.delivery import events

    removed = app.mail_settings.transport.prune(app.clock.now() - timedelta(days=app.config.mail_kept_days))
    if removed:
        removed_mails = format_count(removed, "mail was removed", "mails were removed")
        log.info("%s, older than %s", removed_mails, format_count(app.config.mail_kept_days, "day"))
    wait = events.run_prune_step(app)
    return 0.0 if removed else wait


def _mail_step(app: App) -> float:
    from finapi.accounts import recovery

    # A request that queues a mail does not wake this worker, so the queue is read every second.
    wait = recovery.run_mail_step(app)
    return MAIL_INTERVAL_SECONDS if wait is None else min(wait, MAIL_INTERVAL_SECONDS)


def _listen(config: Config, application: WsgiApp, feeds: LazyFeeds) -> Listener:
    try:
        return Listener(
            application,
            build_listen_settings(config),
            application.error_response,
            request_taker=feeds,
            answer_from_memory=application.answer_from_memory,
            check_before_body=application.check_before_body,
            find_client_address=application.find_client_address,
        )
    except OSError as error:
        raise build_listen_error(config, error) from None
