"""Fixtures for tests of pages: the demo's data behind public pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from tests.client import Client
from tests.support.demo_copies import load_demo
from tests.support.html_pages import NOW


@pytest.fixture(scope="package")
def demo() -> Iterator[App]:
    config = Config(pages="public", public_url="http://x", pages_per_minute=100_000)
    app = apps.create_in_memory(config, FixedClock(NOW))
    load_demo(app)
    yield app
    app.db.close()


@pytest.fixture
def browser(demo: App) -> Client:
    """A client of the demo."""
    return Client(demo)
