"""demo and serve."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from finapi import __version__
from finapi.core import config as settings
from finapi.core import logs, memory, stopping
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.health import ProbeError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs import fixture_recording
from finapi.verbs.service_manager import ServiceManager
from finapi.verbs.verb import Perform, Verb, arg, print_document

if TYPE_CHECKING:
    from finapi.app import App

log = logging.getLogger("finapi.server")

# The part of EDGAR's archive that a demo follows, in its data directory.
DEMO_ARCHIVE_DIRECTORY = "edgar"
DEMO_POLL_SECONDS = 60.0
# Its defaults, where they are not everybody's.
_OF_DEMO: dict[str, Any] = {
    "log_level": "warning",
    "common_passwords": "allowed",
    # Whoever tries it out has a receiver on the same machine.
    "webhook_allow": ("127.0.0.0/8", "::1/128"),
    # Its documents are years old: the last days of them are empty.
    "default_windows": "all",
    "pages": "public",
}

_IGNORED = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN

# Blocked in every thread before anything is made that a stop has to take away again, and then waited for: a handler
# that sets an Event is lost, or hangs, when the signal comes just as the main thread begins to wait. SIGHUP, of
# a terminal that is closed or a service that is told to reload, is a stop like the others: no setting can be changed
# while calls run. Under nohup it stays ignored.
_STOP = (signal.SIGTERM, signal.SIGINT, *([] if _IGNORED else [signal.SIGHUP]))


def _demo(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    if origins["port"] == "default" and _taken(config.host, config.port):
        config = replace(config, port=0)
    unset = {name: value for name, value in _OF_DEMO.items() if origins[name] == "default"}
    config = replace(config, **unset)

    def prepare(app: App) -> dict[str, Any]:
        from finapi.accounts import invites, users
        from finapi.web.pages import DEMO_KEY

        if polls:
            (config.data_dir / DEMO_ARCHIVE_DIRECTORY).mkdir(exist_ok=True)
        _fill(app, copied)
        now = app.clock.now()
        # A demo's data directory may be started twice: each start has accounts of its own.
        mark, password = app.new_uuid()[:8], app.new_uuid()
        user = users.create(app, f"demo-{mark}@example.com", "pro", now, password=password)
        # Shown on the front page while the pages are public: whoever sees it may use it.
        app.static_bodies[DEMO_KEY] = user.api_key.encode()
        return {
            "api_key": user.api_key,
            "free_api_key": users.create(app, f"demo-free-{mark}@example.com", "free", now).api_key,
            "email": user.email,
            "password": password,
            "invite_codes": [invites.create(app, now, lifetime=None, note="demo").code for _ in range(10)],
        }

    def text(url: str, ready: dict[str, Any]) -> str:
        return (
            f"finapi {__version__} listens at {url} with a few real companies' filings. Stop it with Ctrl-C.\n\n"
            f"A key to try (plan pro): {ready['api_key']}\n\n"
            f"  curl -s -H 'X-API-Key: {ready['api_key']}' "
            f"'{url}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income'\n"
        )

    with ExitStack() as stack:
        # Not in a directory that was named, where there may be data, nor where the journal is elsewhere, with accounts.
        copied = origins["data_dir"] == "default" and not config.accounts_url
        if origins["data_dir"] == "default":
            sweep()
            config = replace(config, data_dir=stack.enter_context(TemporaryFolder("demo")))
        if copied:
            from finapi.market.demo import prepared

            prepared.copy_to(config.data_dir / datadir.DATABASE)
        polls = all(origins[name] == "default" for name in ("poll_every", "base_url"))
        if polls:
            # Every component runs: what follows EDGAR looks into a directory that is empty until somebody fills it.
            archive = str(config.data_dir.absolute() / DEMO_ARCHIVE_DIRECTORY)
            config = replace(config, poll_every=DEMO_POLL_SECONDS, base_url=archive)
        return _serve_until_stopped(args, config, prepare, text, say, perform)


def _fill(app: App, copied: bool) -> None:
    """Have the demo's data in a store, of which its database may be a copy already."""
    if copied:
        from finapi.market.demo import prepared

        prepared.redate(app)
    else:
        from finapi.market.demo import data

        data.load(app)


def _serve(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    def prepare(app: App) -> dict[str, Any]:
        from finapi.accounts import invites

        with app.accounts.read() as tx:
            if config.role == "api" or tx.find_value("any_user_or_invite"):
                return {}
        return {"invite_codes": [invites.create(app, app.clock.now(), lifetime=None, note="first start").code]}

    def text(url: str, ready: dict[str, Any]) -> str:
        codes = ready.get("invite_codes")
        invite = f"\nAn invite code for the first account: {codes[0]}" if codes else ""
        return f"finapi {__version__} listens at {url}{invite}"

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    return _serve_until_stopped(args, config, prepare, text, say, perform)


def _fixture(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    with memory.exempt_from_gc():
        from finapi.testing import running

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    if origins["data_dir"] != "default":
        raise UsageError("a fixture stores nothing, so it has no --data-dir")
    unset = {name: value for name, value in running.FIXTURE_SETTINGS.items() if origins[name] == "default"}
    config = replace(config, **unset)
    if args.verify is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
        return fixture_recording.verify_service(args, config, say)
    if origins["port"] == "default" and _taken(config.host, config.port):
        config = replace(config, port=0)
    for stream in (sys.stdout, sys.stderr):
        # Whoever started it may never read: what a pipe has no room for is lost.
        if not stream.isatty() and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            os.set_blocking(stream.fileno(), False)
    logs.configure(config.log_format, config.log_level)
    with (
        fixture_recording.open_answer_source(args, config) as answer_source,
        running.run_fixture(config, seed=args.seed, answer_source=answer_source) as fixture,
    ):
        if args.ready == "json":
            print_document(say, fixture.ready)
        else:
            say("out", f"finapi {__version__} is a test server at {fixture.url}. Stop it with Ctrl-C.")
            say("out", json.dumps(fixture.ready, indent=1))
        if args.exit_with_parent:
            threading.Thread(target=_end_with_stdin, daemon=True).start()
        signal.sigwait(_STOP)
        # Nothing is kept, and the interpreter need not search at its exit for what could be freed one by one.
        fixture.gate.ends_process = True
        gc.freeze()
    return 0


def _end_with_stdin() -> None:
    """Stop this process when nobody holds the other end of its standard input any more."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _serve_until_stopped(
    args: argparse.Namespace,
    config: Config,
    prepare: Callable[[App], dict[str, Any]],
    text: Callable[[str, dict[str, Any]], str],
    say: Say,
    perform: Perform,
) -> int:
    """Serve, and say so by ``text`` or as JSON, each with what ``prepare`` gives."""
    with memory.exempt_from_gc():
        from finapi import server
        from finapi.ops import doctor

    doctor.check_settings(config, SystemClock())
    logs.configure(config.log_format, config.log_level)
    if uses_default_sender(config):
        say("err", f"finapi: mails go out from {settings.MAIL_FROM}, which many servers refuse; set --mail-from")
    ready: dict[str, Any] = {"mail_dir": config.mail_directory and str(config.mail_directory)}
    manager = ServiceManager(*settings.find_service_manager())
    try:
        with ExitStack() as serving, _refusing_busy_directory(config):
            with manager.extending_start(), stopping.watched_by(_PendingStop()):
                new_secrets = getattr(args, "new_secrets", False)
                accounts = server.open_elected_accounts(config, _stopped_while_waiting)
                if config.role == "worker" and accounts is None:
                    return 0
                starting = server.run_server(
                    config,
                    perform,
                    prepare=lambda app: ready.update(prepare(app)),
                    new_secrets=new_secrets,
                    accounts=accounts,
                )
                running = serving.enter_context(starting)
            if args.ready == "json":
                where = {"url": running.url, "port": running.port, "pid": os.getpid()}
                print_document(say, {"ready": True, **where, **ready})
            else:
                say("out", text(running.url, ready))
            log.info("listens at %s", running.url)
            name = _until_stopped(running.app)
            log.info("%s: what is under way is ended", name)
    except stopping.WorkStopped:
        log.info("stopped before it served")
        return 0
    log.info("stopped")
    return 0


@contextmanager
def _refusing_busy_directory(config: Config) -> Iterator[None]:
    try:
        yield
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by another finapi; stop it or name another --data-dir") from None


class _PendingStop:
    """The flag that ends the long work of a start, such as an upgrade: a signal to stop that waits to be handled."""

    def is_set(self) -> bool:
        """Return True once a signal has come."""
        return not signal.sigpending().isdisjoint(_STOP)


def _stopped_while_waiting(seconds: float) -> bool:
    """Wait while another worker works. Return True if a signal stopped this process within ``seconds``."""
    ServiceManager(*settings.find_service_manager()).notify(
        "READY=1\nWATCHDOG=1\nSTATUS=another worker works; this one waits"
    )
    return signal.sigtimedwait(_STOP, seconds) is not None


def _until_stopped(app: App) -> str:
    """Wait for a signal to stop and return its name. Until then the service manager gets signs of life.

    They are sent twice in the time that it expects one, and only while the server answers a request of its own.
    """
    manager = ServiceManager(*settings.find_service_manager())
    manager.notify("READY=1")
    watched = bool(manager.address and manager.watchdog_seconds)
    while True:
        received = signal.sigtimedwait(_STOP, manager.watchdog_seconds / 2) if watched else signal.sigwaitinfo(_STOP)
        if received is not None:
            manager.notify("STOPPING=1")
            return signal.Signals(received.si_signo).name
        app.health.wait_for_first_round(manager.watchdog_seconds / 4)
        try:
            app.health.probes["main_api"]()
            manager.notify("WATCHDOG=1")
        except ProbeError as error:
            log.warning("the service manager is not told that this process lives: %s", error)


def uses_default_sender(config: Config) -> bool:
    """Whether mails leave this machine from the address that nobody has set."""
    return bool(config.smtp_url) and config.mail_directory is None and config.mail_from == settings.MAIL_FROM


def _taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


_READY = (arg("--ready", choices=["json"], help="print one JSON line on stdout once the socket answers"),)
_SHOWN = ("host", "port", "public", "public_url", "mail_dir", "poll_every", "user_agent", "base_url", "log_level")
DEMO = Verb(
    "serve a few real companies' filings from a fresh temporary directory",
    _READY,
    _demo,
    settings=("host", "port", "public"),
)
FIXTURE = Verb(
    "serve as a test server: demo data, accounts of every plan, and control of its clock, mails and faults",
    (
        *_READY,
        arg("--seed", type=int, help="make ids, keys and times repeat; the clock stands still at first"),
        arg("--exit-with-parent", action="store_true", help="end when standard input does"),
        *fixture_recording.ARGUMENTS,
    ),
    _fixture,
    settings=("host", "port"),
    storeless=True,
)
_NEW_SECRETS = arg("--new-secrets", action="store_true", help="give up what was made from master secrets that are gone")
SERVE = Verb("serve a data directory", (*_READY, _NEW_SECRETS), _serve, settings=("role", *_SHOWN))
