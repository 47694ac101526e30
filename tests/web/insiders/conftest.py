"""The market of insiders, stored once for each test module and copied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from tests.client import Client
from tests.conftest import NOW
from tests.support.insider_market import store_market


@pytest.fixture(scope="module")
def stored_market() -> Iterator[App]:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    store_market(app)
    yield app
    app.db.close()


@pytest.fixture
def market(copied: Callable[..., App], stored_market: App) -> App:
    return copied(stored_market, insider_per_minute_paid=100_000)


@pytest.fixture
def api(market: App) -> Client:
    return Client(market, users.create(market, "ann@example.com", "pro", NOW).api_key)
