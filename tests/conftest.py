"""Fixtures: an App in memory under a fixed clock, and an in-process caller of its WSGI application."""

from __future__ import annotations

import gc
import importlib
import itertools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.store import schema
from finapi.store.db import Database
from tests import postgres_cluster
from tests.client import Client
from tests.postgres_cluster import Cluster
from tests.support.random_examples import examples
from tests.support.scratch_databases import ScratchDatabases

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

with suppress(ImportError):  # The environments of other Python versions have fewer packages.
    import hypothesis

    # Hypothesis measures the time of an example and of its generation by the clock on the wall. On a busy machine both
    # limits fail tests whose code is right.
    hypothesis.settings.register_profile(
        "finapi", max_examples=examples(100), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("finapi")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the test modules, in an order that differs in each process of a full run.

    A first run rewrites the assertions of all modules. Each process begins with its own share, so that the processes do
    not rewrite the same modules at the same time. The others find the rewritten modules in the cache.
    """
    is_full_run = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    if is_full_run and number > 0:
        tests = Path(__file__).parent
        paths = sorted(tests.rglob("test_*.py"))
        first = number * len(paths) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        for path in paths[first:] + paths[:first]:
            importlib.import_module(".".join(path.relative_to(tests.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Keeps the collector from going through all tests and modules again and again, and lets it run less often."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the tests that take more than a minute before the others."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


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


@pytest.fixture(autouse=True)
def restore_loggers() -> Iterator[None]:
    """Puts finapi's and waitress's loggers back after a command of this process may have configured them.

    pytest collects the records of a logger twice if a test before left it without propagation.
    """
    yield
    for name in ("finapi", "waitress"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(scope="session")
def empty_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScratchDatabases]:
    """Databases without rows, which all tests share one after the other."""
    yield from _open_databases(tmp_path_factory, schema.get_empty_database().serialize())


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[App], ScratchDatabases]]:
    """Return the databases with the rows of an App of this module, as it was when it was first copied."""
    with ExitStack() as stack:
        open_databases = contextmanager(_open_databases)

        @cache
        def get_databases(app: App) -> ScratchDatabases:
            return stack.enter_context(open_databases(tmp_path_factory, app.db.image()))

        yield get_databases


def _open_databases(tmp_path_factory: pytest.TempPathFactory, image: bytes) -> Iterator[ScratchDatabases]:
    file = tmp_path_factory.mktemp("databases") / "base.db"
    file.write_bytes(image)
    databases = ScratchDatabases(file)
    yield databases
    databases.close()
    file.unlink()


@pytest.fixture
def make_app(clock: FixedClock, empty_databases: ScratchDatabases) -> Iterator[Callable[..., App]]:
    """Makes Apps in memory with the settings given; their uuids count up from 1."""
    yield from _making(clock, empty_databases)


@pytest.fixture(scope="module")
def make_stored(empty_databases: ScratchDatabases) -> Iterator[Callable[..., App]]:
    """Makes Apps that last as long as the tests of a module: each test has a copy of what it stores in them once."""
    yield from _making(FixedClock(NOW), empty_databases)


def _making(clock: FixedClock, default_databases: ScratchDatabases) -> Iterator[Callable[..., App]]:
    used: list[tuple[ScratchDatabases, Database]] = []

    def make(databases: ScratchDatabases = default_databases, **settings: object) -> App:
        numbers = itertools.count(1)
        database = databases.take()
        used.append((databases, database))
        return apps.create_in_memory(
            Config(**settings),
            clock,
            new_uuid=lambda: f"00000000-0000-4000-8000-{next(numbers):012}",
            db=database,
        )

    yield make
    for databases, database in used:
        databases.put_back(database)


@pytest.fixture
def copied(make_app: Callable[..., App], copies: Callable[[App], ScratchDatabases]) -> Callable[..., App]:
    """Makes Apps that hold what another does, which a module stores once."""

    def copy(other: App, **settings: object) -> App:
        return make_app(copies(other), **settings)

    return copy


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app()


@pytest.fixture
def unshared_app(clock: FixedClock) -> Iterator[App]:
    """An App with a database that no other test uses, for failures after which SQLite undoes all changes."""
    app = apps.create_in_memory(Config(), clock)
    yield app
    app.db.close()


@pytest.fixture
def user(app: App) -> users.NewUser:
    """A user on the plan pro."""
    return users.create(app, "ann@example.com", "pro", NOW)


@pytest.fixture
def client(app: App) -> Client:
    return Client(app)
