"""Fixtures of the HTTP server: an application, a clock that stands still, and listeners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.httpd.running_listener import EchoApplication, ManualClock, Start, run_listeners


@pytest.fixture
def app() -> EchoApplication:
    return EchoApplication()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def start(app: EchoApplication) -> Iterator[Start]:
    """Return a function that starts listeners for ``app``."""
    yield from run_listeners(app)
