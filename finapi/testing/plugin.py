"""The pytest plugin. ``finapi_server`` is one server for the session, ``finapi`` is a world for each test.

A world is named after the node id of its test, and its ids and keys follow from the name and the seed of the server. So
with ``--finapi-seed`` they are the same in every run, in any order and with any number of workers.

``pytest --finapi-ready FILE`` uses a server that runs already, by the ready line in the file. Parallel workers can
share it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from finapi.testing import FinapiServer, FixtureWorld

MAX_READABLE_CHARACTERS = 40  # Characters of a test's name in the name of its world. A name has at most 64.


def pytest_addoption(parser: Any) -> None:
    """Add the options ``--finapi-ready`` and ``--finapi-seed``."""
    ready_help = "file with the ready line of a finapi fixture that runs already"
    parser.addoption("--finapi-ready", metavar="FILE", default=None, help=ready_help)
    seed_help = "the clock of finapi stands still, and ids, keys and times are the same in every run"
    parser.addoption("--finapi-seed", metavar="N", type=int, default=None, help=seed_help)


def build_world_name(node_id: str) -> str:
    """Return the name of the world of a test: the readable part of its node id, and a hash of all of it."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", node_id.rpartition("::")[2])[:MAX_READABLE_CHARACTERS].strip("-")
    digest = hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable or 'test'}-{digest}"


@pytest.fixture(scope="session")
def finapi_server(request: Any) -> Iterator[FinapiServer]:
    """A finapi with demo data, accounts of every plan, and control of its clock, mails and faults."""
    from finapi.testing import FinapiServer

    ready, seed = request.config.getoption("--finapi-ready"), request.config.getoption("--finapi-seed")
    if ready is not None and seed is not None:
        raise pytest.UsageError("--finapi-seed is for a server that pytest starts; give the seed to finapi fixture")
    with FinapiServer(ready=ready, seed=seed) as server:
        yield server


@pytest.fixture
def finapi(request: Any, finapi_server: FinapiServer) -> Iterator[FixtureWorld]:
    """A world of finapi that only this test uses, with its own API keys."""
    world = finapi_server.world(build_world_name(request.node.nodeid))
    if request.config.getoption("--finapi-ready") is not None:
        world.control.reset()  # An earlier run that was killed may have left changes.
    yield world
    world.control.drop()
