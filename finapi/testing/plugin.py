"""The pytest plugin. ``finapi_server`` is one server for the session, ``finapi`` is a world for each test.

``pytest --finapi-ready FILE`` uses a server that runs already, by the ready line in the file. Parallel workers can
share it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from finapi.testing import FinapiServer, FixtureWorld


def pytest_addoption(parser: Any) -> None:
    """Add the option ``--finapi-ready``."""
    help = "file with the ready line of a finapi fixture that runs already"
    parser.addoption("--finapi-ready", metavar="FILE", default=None, help=help)


@pytest.fixture(scope="session")
def finapi_server(request: Any) -> Iterator[FinapiServer]:
    """A finapi with demo data, accounts of every plan, and control of its clock, mails and faults."""
    from finapi.testing import FinapiServer

    with FinapiServer(ready=request.config.getoption("--finapi-ready")) as server:
        yield server


@pytest.fixture
def finapi(finapi_server: FinapiServer) -> Iterator[FixtureWorld]:
    """A world of finapi that only this test uses, with its own API keys."""
    world = finapi_server.world(f"test-{uuid.uuid4().hex}")
    yield world
    world.control.drop()
