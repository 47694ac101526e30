"""demo and serve."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from finapi import __version__, datadir, logs
from finapi import config as settings
from finapi.app import App
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Perform, Verb

# The part of EDGAR's archive that a demo follows, in its data directory.
DEMO_ARCHIVE = "edgar"
DEMO_POLL_SECONDS = 60.0


def _serving_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ready", choices=["json"], help="print one JSON line on stdout once the socket answers"
    )


def _demo(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.demo import data as demo_data

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    if origins["port"] == "default" and _taken(config.host, config.port):
        config = replace(config, port=0)
    if origins["log_level"] == "default":
        config = replace(config, log_level="warning")
    if origins["webhook_allow"] == "default":
        # Whoever tries it out has a receiver on the same machine.
        config = replace(config, webhook_allow=("127.0.0.0/8", "::1/128"))
    polls = all(origins[name] == "default" for name in ("poll_every", "base_url"))
    ready: dict[str, Any] = {}

    def prepare(app: App) -> None:
        from finapi import accounts, invites

        if polls:
            (config.data_dir / DEMO_ARCHIVE).mkdir(exist_ok=True)
        demo_data.load(app)
        now = app.clock.now()
        # A demo's data directory may be started twice: each start has accounts of its own.
        mark = app.new_uuid()[:8]
        password = app.new_uuid()
        user = accounts.create(app, f"demo-{mark}@example.com", "pro", now, password=password)
        free = accounts.create(app, f"demo-free-{mark}@example.com", "free", now)
        codes = [invites.create(app, now, lifetime=None, note="demo").code for _ in range(10)]
        ready.update(
            mail_dir=_mail_dir(app),
            api_key=user.api_key,
            free_api_key=free.api_key,
            email=user.email,
            password=password,
            invite_codes=codes,
        )

    with _directory(config, origins) as config:
        if polls:
            # Every part runs: what follows EDGAR looks into a directory, where nothing is until somebody puts it there.
            archive = str(config.data_dir.absolute() / DEMO_ARCHIVE)
            config = replace(config, poll_every=DEMO_POLL_SECONDS, base_url=archive)
        return _serve_until_stopped(args, config, prepare, ready, _demo_text, say, perform)


def _serve(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    ready: dict[str, Any] = {}

    def prepare(app: App) -> None:
        from finapi import invites

        ready["mail_dir"] = _mail_dir(app)
        with app.db.read() as tx:
            started_before = tx.value("any_user_or_invite")
        if not started_before:
            ready["invite_codes"] = [
                invites.create(app, app.clock.now(), lifetime=None, note="first start").code
            ]

    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    return _serve_until_stopped(args, config, prepare, ready, _serve_text, say, perform)


def _mail_dir(app: App) -> str | None:
    directory = app.config.mail_directory
    return None if directory is None else str(directory)


def _serve_text(url: str, ready: dict[str, Any]) -> str:
    invite = (
        f"\nAn invite code for the first account: {ready['invite_codes'][0]}"
        if "invite_codes" in ready
        else ""
    )
    return f"finapi {__version__} listens at {url}{invite}"


def _serve_until_stopped(
    args: argparse.Namespace,
    config: Config,
    prepare: Callable[[App], None] | None,
    ready: dict[str, Any],
    text: Callable[[str, dict[str, Any]], str],
    say: Say,
    perform: Perform,
) -> int:
    from finapi import server

    logs.configure(config.log_format, config.log_level)
    try:
        with server.running(config, perform, prepare=prepare) as running:
            if args.ready == "json":
                line = {"ready": True, "url": running.url, "port": running.port, "pid": os.getpid(), **ready}
                say("out", json.dumps(line))
            else:
                say("out", text(running.url, ready))
            signal.sigwait(_STOP)
    except datadir.Busy:
        raise UsageError(
            f"{config.data_dir} is held by another finapi; stop it or name another --data-dir"
        ) from None
    return 0


# Blocked in every thread before anything is made that a stop has to take away again, and then waited for. A
# handler that sets an Event is lost, or hangs, when the signal comes just as the main thread begins to wait.
_STOP = (signal.SIGTERM, signal.SIGINT)


def _demo_text(url: str, ready: dict[str, Any]) -> str:
    return (
        f"finapi {__version__} listens at {url} with a few real companies' filings. Stop it with Ctrl-C.\n\n"
        f"A key to try (plan pro): {ready['api_key']}\n\n"
        f"  curl -s -H 'X-API-Key: {ready['api_key']}' "
        f"'{url}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income'\n"
    )


@contextmanager
def _directory(config: Config, origins: settings.Origins) -> Iterator[Config]:
    """The data directory of a demo: the one that was named, else a fresh one that goes away again."""
    if origins["data_dir"] != "default":
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="finapi-demo-") as place:
        yield replace(config, data_dir=Path(place))


def _taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


DEMO = Verb("serve a few real companies' filings from a fresh temporary directory", _serving_arguments, _demo)
SERVE = Verb("serve a data directory", _serving_arguments, _serve)
