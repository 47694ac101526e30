"""Fixtures: an App in memory under a fixed clock, and an in-process caller of its WSGI application."""

from __future__ import annotations

import gc
import importlib
import itertools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.store.db import Database
from tests import postgres_cluster
from tests.client import Client
from tests.postgres_cluster import Cluster

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)

SHARED = Path(__file__).parents[2] / "shared"

# What tests of accounts run with: hashes that cost nothing, links that are known, and no limit in the way.
ACCOUNTS: dict[str, object] = {
    "password_profile": "cheap",
    "public_url": "https://api.example.com",
    "frontend_url": "https://www.example.com",
    "app_per_minute": 100_000,
    "app_per_hour": 100_000,
    "register_per_hour_per_ip": 100_000,
}

needs_shared = pytest.mark.skipif(
    not (SHARED / "edgar").is_dir(), reason="the SEC's own documents (../shared/edgar) are not here"
)

# Rewriting the assertions of all tests takes fifteen seconds: it is kept, whatever PYTHONDONTWRITEBYTECODE says.
sys.dont_write_bytecode = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Lets the second of two processes begin with the last test: each rewrites half of what is not kept yet."""
    is_full_run = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_full_run and os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        tests = Path(__file__).parent
        for path in sorted(tests.rglob("test_*.py"), reverse=True):
            importlib.import_module(".".join(path.relative_to(tests.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Keeps the collector from going through all tests and modules again and again."""
    gc.freeze()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL that runs; whoever stops it starts it again."""
    with postgres_cluster.running() as running:
        yield running


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    """A database of this test's own in PostgreSQL, with nothing in it."""
    url = cluster.create_database()
    yield url
    cluster.drop_database(url)


@pytest.fixture
def node(url: str, clock: FixedClock) -> Iterator[Callable[..., App]]:
    """Makes Apps that share accounts in PostgreSQL, as processes do. Seconds pass for them by the test's clock."""
    # psycopg is not everywhere.
    from finapi.store.postgres import Postgres

    stores = []

    def make(**settings: Any) -> App:
        market = Database(None)
        market.accounts = Postgres(url, monotonic=clock.monotonic)
        stores.append(market)
        return apps.create_in_memory(Config(password_profile="cheap", **settings), clock, db=market)

    yield make
    for market in stores:
        market.close()


@pytest.fixture
def loggers() -> Iterator[None]:
    """Puts finapi's and waitress's loggers back after a command of this process has configured them."""
    loggers_to_restore = [logging.getLogger(name) for name in ("finapi", "waitress")]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers_to_restore]
    yield
    for logger, (handlers, propagate, level) in zip(loggers_to_restore, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def make_app(clock: FixedClock) -> Iterator[Callable[..., App]]:
    """Makes Apps in memory with the settings given; their uuids count up from 1."""
    yield from _making(clock)


@pytest.fixture(scope="module")
def make_stored() -> Iterator[Callable[..., App]]:
    """Makes Apps that last as long as the tests of a module: each test has a copy of what it stores in them once."""
    yield from _making(FixedClock(NOW))


def _making(clock: FixedClock) -> Iterator[Callable[..., App]]:
    apps_made: list[App] = []

    def make(**settings: object) -> App:
        numbers = itertools.count(1)
        app = apps.create_in_memory(
            Config(**settings), clock, new_uuid=lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
        )
        apps_made.append(app)
        return app

    yield make
    for app in apps_made:
        app.db.close()


@pytest.fixture
def copied(make_app: Callable[..., App]) -> Callable[..., App]:
    """Makes Apps that hold what another does, which a module stores once."""

    def copy(other: App, **settings: object) -> App:
        app = make_app(**settings)
        other.db._writer.backup(app.db._writer)
        return app

    return copy


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app()


@pytest.fixture
def user(app: App) -> users.NewUser:
    """A user on the plan pro."""
    return users.create(app, "ann@example.com", "pro", NOW)


@pytest.fixture
def client(app: App) -> Client:
    return Client(app)
