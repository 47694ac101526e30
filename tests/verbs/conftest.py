"""The fixture server that the verbs of the API call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from finapi.testing import FinapiServer


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=21) as running:
        yield running


@pytest.fixture
def environ(server: FinapiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the server, and name it and a key in the environment."""
    server.control.reset()
    monkeypatch.setenv("FINAPI_URL", server.url)
    monkeypatch.setenv("FINAPI_API_KEY", server.api_key)
