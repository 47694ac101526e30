"""The verbs demo, serve and fixture, which run until a signal stops them."""

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
from collections.abc import Callable, Iterator, Mapping
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

# The directory in the demo's data directory from which the demo's poller reads documents.
DEMO_ARCHIVE_DIRECTORY = "edgar"
DEMO_POLL_SECONDS = 60.0
# Defaults of the demo that differ from those of serve.
_DEMO_SETTINGS: dict[str, Any] = {
    "log_level": "warning",
    "common_passwords": "allowed",
    # A visitor's webhook receiver is on the same machine.
    "webhook_allow": ("127.0.0.0/8", "::1/128"),
    # The demo's documents are years old, so lists of the last days would be empty.
    "default_windows": "all",
    "pages": "public",
}

# These signals are blocked in every thread before any resource is created that a stop has to release. Then the main
# thread waits for them. A handler that sets an Event would not be safe: if the signal comes just when the main thread
# begins to wait, it may be lost or hang. SIGHUP (a closed terminal, or a request to reload) stops the process too, as
# settings cannot change while calls run. Under nohup it stays ignored.
_STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}
if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    _STOP_SIGNALS.add(signal.SIGHUP)


def _run_demo(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    if origins["port"] == "default" and _is_port_in_use(config.host, config.port):
        config = replace(config, port=0)
    unset_settings = {name: value for name, value in _DEMO_SETTINGS.items() if origins[name] == "default"}
    config = replace(config, **unset_settings)

    def prepare(app: App) -> dict[str, Any]:
        from finapi.accounts import invites, users
        from finapi.market.demo import DEMO_KEY

        if polls:
            (config.data_dir / DEMO_ARCHIVE_DIRECTORY).mkdir(exist_ok=True)
        _load_demo_data(app, is_copy)
        now = app.clock.now()
        # A demo may be started again with the same data directory. Each start creates its own accounts.
        start_id = app.new_uuid()[:8]
        password = app.new_uuid()
        user = users.create(app, f"demo-{start_id}@example.com", "pro", now, password=password)
        # If the pages are public, the front page shows this key, and every visitor may use it.
        app.static_bodies[DEMO_KEY] = user.api_key.encode()
        return {
            "api_key": user.api_key,
            "free_api_key": users.create(app, f"demo-free-{start_id}@example.com", "free", now).api_key,
            "email": user.email,
            "password": password,
            "invite_codes": [invites.create(app, now, lifetime=None, note="demo").code for _ in range(10)],
        }

    def describe(url: str, ready: dict[str, Any]) -> str:
        return (
            f"finapi {__version__} listens at {url} with a few real companies' filings. Stop it with Ctrl-C.\n\n"
            f"A key to try (plan pro): {ready['api_key']}\n\n"
            f"  curl -s -H 'X-API-Key: {ready['api_key']}' "
            f"'{url}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income'\n\n"
            f"Sign in at {url}/login: {ready['email']}, password {ready['password']}\n"
            f"Register at {url}/register: invite code {ready['invite_codes'][0]}{_describe_mails(ready)}\n"
        )

    with ExitStack() as stack:
        if origins["data_dir"] == "default":
            sweep()
            config = replace(config, data_dir=stack.enter_context(TemporaryFolder("demo")))
        # With accounts in PostgreSQL, the events of the prepared database would be missing from the journal.
        is_copy = False
        if not config.accounts_url:
            from finapi.market.demo import demo_image

            is_copy = demo_image.fill_new_directory(config.data_dir)
        polls = all(origins[name] == "default" for name in ("poll_every", "base_url"))
        if polls:
            # The demo runs every component, so the poller too. It finds nothing until the visitor puts documents into
            # its directory.
            archive = str(config.data_dir.absolute() / DEMO_ARCHIVE_DIRECTORY)
            config = replace(config, poll_every=DEMO_POLL_SECONDS, base_url=archive)
        return _serve_until_stopped(args, config, prepare, describe, say, perform)


def _describe_mails(ready: Mapping[str, Any]) -> str:
    """Return a line with the directory of mails, or "" if a server sends them."""
    return f"\nMails are files in {ready['mail_dir']}" if ready["mail_dir"] else ""


def _load_demo_data(app: App, is_copy: bool) -> None:
    """Load the demo's data. If the database is a copy of the prepared one, only shift its dates."""
    if is_copy:
        from finapi.market.demo import demo_image

        demo_image.redate(app)
    else:
        from finapi.market.demo import demo_data

        demo_data.load(app)


def _run_serve(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    def prepare(app: App) -> dict[str, Any]:
        from finapi.accounts import invites

        with app.accounts.read() as tx:
            if config.role == "api" or tx.find_value("any_user_or_invite"):
                return {}
        return {"invite_codes": [invites.create(app, app.clock.now(), lifetime=None, note="first start").code]}

    def describe(url: str, ready: dict[str, Any]) -> str:
        codes = ready.get("invite_codes")
        invite = ""
        if codes:
            invite = f"\nAn invite code for the first account: {codes[0]}\nRegister with it at {url}/register"
            invite += _describe_mails(ready)
        return f"finapi {__version__} listens at {url}{invite}"

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    return _serve_until_stopped(args, config, prepare, describe, say, perform)


def _run_fixture(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    with memory.exempt_from_gc():
        from finapi.testing import running

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    if origins["data_dir"] != "default":
        raise UsageError("a fixture stores nothing, so it has no --data-dir")
    unset_settings = {
        name: value for name, value in running.FIXTURE_SETTINGS.items() if origins.get(name, "default") == "default"
    }
    config = replace(config, **unset_settings)
    if args.record is not None and (config.public == "yes" or config.is_reachable_remotely):
        raise UsageError("--record uses your key of the service: leave out --public and listen on a loopback address")
    if args.verify is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        return fixture_recording.verify_service(args, config, say)
    if origins["port"] == "default" and _is_port_in_use(config.host, config.port):
        config = replace(config, port=0)
    for stream in (sys.stdout, sys.stderr):
        # A parent process may never read its end of the pipe. Then output is dropped instead of blocking this process.
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
            threading.Thread(target=_stop_at_end_of_stdin, daemon=True).start()
        signal.sigwait(_STOP_SIGNALS)
        # A fixture stores nothing, so its worlds need not be cleaned up at exit.
        fixture.gate.ends_process = True
        gc.freeze()
    return 0


def _stop_at_end_of_stdin() -> None:
    """Stop this process at the end of standard input, which is closed when the parent process ends."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _serve_until_stopped(
    args: argparse.Namespace,
    config: Config,
    prepare: Callable[[App], dict[str, Any]],
    describe: Callable[[str, dict[str, Any]], str],
    say: Say,
    perform: Perform,
) -> int:
    """Serve until a signal comes. Return the exit status.

    ``prepare(app)`` runs before the socket answers and returns the members of the ready line. The line is printed as
    JSON (``--ready json``) or as the text of ``describe(url, members)``.
    """
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
            with manager.keep_extending_start(), stopping.watched_by(_PendingStop()):
                new_secrets = getattr(args, "new_secrets", False)
                accounts = server.open_elected_accounts(config, _wait_as_standby)
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
                address = {"url": running.url, "port": running.port, "pid": os.getpid()}
                print_document(say, {"ready": True, **address, **ready})
            else:
                say("out", describe(running.url, ready))
            log.info("listens at %s", running.url)
            signal_name = _wait_for_stop(running.app)
            log.info("%s: stopping after running calls and work have ended", signal_name)
    except stopping.WorkStopped:
        log.info("stopped before the server was ready")
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
    """A stop flag for long work during a start, such as an upgrade. It is set while a stop signal is pending."""

    def is_set(self) -> bool:
        """Return True if a stop signal is pending."""
        return not signal.sigpending().isdisjoint(_STOP_SIGNALS)


def _wait_as_standby(seconds: float) -> bool:
    """Wait ``seconds`` as a standby, while another worker is active. Return True if a stop signal came."""
    ServiceManager(*settings.find_service_manager()).notify(
        "READY=1\nWATCHDOG=1\nSTATUS=another worker is active; waiting to take over"
    )
    return signal.sigtimedwait(_STOP_SIGNALS, seconds) is not None


def _wait_for_stop(app: App) -> str:
    """Wait for a stop signal and return its name. Until then send keep-alive messages to the service manager.

    They are sent twice within the period of its watchdog, and only while the server answers a test request.
    """
    manager = ServiceManager(*settings.find_service_manager())
    manager.notify("READY=1")
    has_watchdog = bool(manager.address and manager.watchdog_seconds)
    while True:
        if has_watchdog:
            received = signal.sigtimedwait(_STOP_SIGNALS, manager.watchdog_seconds / 2)
        else:
            received = signal.sigwaitinfo(_STOP_SIGNALS)
        if received is not None:
            manager.notify("STOPPING=1")
            return signal.Signals(received.si_signo).name
        app.health.wait_for_first_round(manager.watchdog_seconds / 4)
        try:
            app.health.probes["main_api"]()
            manager.notify("WATCHDOG=1")
        except ProbeError as error:
            log.warning("no keep-alive message is sent to the service manager: %s", error)


def uses_default_sender(config: Config) -> bool:
    """Return True if mails are sent over SMTP with the default sender address."""
    return bool(config.smtp_url) and config.mail_directory is None and config.mail_from == settings.MAIL_FROM


def _is_port_in_use(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


_READY = (arg("--ready", choices=["json"], help="print one JSON line on stdout once the socket answers"),)
_HELP_SETTINGS = (
    "host",
    "port",
    "public",
    "public_url",
    "mail_dir",
    "poll_every",
    "user_agent",
    "base_url",
    "log_level",
)
DEMO = Verb(
    "serve a few real companies' filings from a fresh temporary directory",
    _READY,
    _run_demo,
    settings=("host", "port", "public"),
)
FIXTURE = Verb(
    "serve as a test server: demo data, accounts of every plan, and control of its clock, mails and faults",
    (
        *_READY,
        arg("--seed", type=int, help="repeat ids, keys and times; the clock does not move at first"),
        arg("--exit-with-parent", action="store_true", help="stop at the end of standard input"),
        *fixture_recording.ARGUMENTS,
    ),
    _run_fixture,
    settings=("host", "port", "public"),
    storeless=True,
)
_NEW_SECRETS = arg("--new-secrets", action="store_true", help="invalidate credentials of master secrets that are gone")
SERVE = Verb("serve a data directory", (*_READY, _NEW_SECRETS), _run_serve, settings=("role", *_HELP_SETTINGS))
