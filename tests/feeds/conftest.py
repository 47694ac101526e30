"""The service that the tests of the feeds connect to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from tests.feeds import Service, running


@pytest.fixture
def service(app: App, clock: FixedClock) -> Iterator[Service]:
    with running(app, clock) as service:
        yield service
