"""Tests of published clients against a running server: the feeds, a webhook, and calls by their own means."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from finapi.core.config import Config
from finapi.server import run_server
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests import npm, published
from tests.described import LIFTED, World, example_call
from tests.receiver import OK, Received, receiver

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("existing_clients.mjs")
PACKAGES = {"socket.io-client": "4.8.1", "standardwebhooks": "1.0.0"}
FEEDS = {"main-api": "new_filing", "insider-api": "insider_transaction", "13f-live": "13f_filing"}
# Ten tables as pandas reads them, with a column that each has.
TABLES = {
    "/sec/filings?ticker=AAPL": "accession_number",
    "/sec/forms": "form_type",
    "/sec/entities": "cik",
    "/prices/AAPL": "close",
    "/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income": "revenue",
    "/xbrl/companies/AAPL/statements?statement=balance": "concept",
    "/xbrl/screen?roe_gt=0": "roe",
    "/form-13f/fund/1067983": "name_of_issuer",
    "/insiders/transactions/latest": "transaction_id",
    "/index?date=2025-05-02": "accession_number",
}

# Days that give calls rows of the demo which their default window leaves out.
MORE_ROWS = {
    "/api/v1/insiders/transactions/by-ticker/{ticker}": "filed_from=2026-01-01",
    "/api/v1/insiders/transactions/search": "filed_from=2026-01-01",
    "/api/v1/insiders/transactions/top": "filed_from=2026-01-01",
    "/api/v1/insiders/screen": "filed_at_days=366",
    "/api/v1/insiders/aggregation/by-sector": "filed_at_days=366",
    "/api/v1/xbrl/coverage": "ticker=AAPL",
    "/api/v1/form-13f/fund/{cik}": "include_analytics=true&include_activity=true",
    "/api/v1/form-13f/aggregation/by-ticker": "include_ranges=true",
}


@pytest.fixture(scope="module")
def served_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, World]]:
    """Yield the URL of a server with the demo's data, and its world."""
    folder = tmp_path_factory.mktemp("served")
    settings: dict[str, Any] = {**LIFTED, "webhook_allow": ("127.0.0.0/8",)}
    config = Config(port=0, data_dir=folder / "data", mail_dir=str(folder / "mail"), **settings)
    worlds: list[World] = []
    with run_server(config, lambda *_: None, prepare=lambda app: worlds.append(World(app))) as server:
        yield server.url, worlds[0]


@pytest.fixture(scope="module")
def served(served_world: tuple[str, World]) -> tuple[str, str]:
    """Return the URL of the server, and a key."""
    url, world = served_world
    return url, world.key


def call(served: tuple[str, str], path: str, body: Any = None) -> Any:
    url, key = served
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{url}/api/v1{path}", data=data, headers=headers)) as answer:
        return json.load(answer)


def test_javascript_clients_read_feeds_and_verify_a_webhook(tmp_path: Path, served: tuple[str, str]) -> None:
    npm.install_packages(tmp_path, PACKAGES)
    (tmp_path / SCRIPT.name).write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    output_lines = npm.run_command(tmp_path, "node", SCRIPT.name, *served).splitlines()
    assert output_lines[:3] == [f"{feed} {type} 1" for feed, type in FEEDS.items()]
    assert output_lines[3].startswith("finapi.test ")


@pytest.mark.skipif(not published.CONTRACT.is_file(), reason="the contract (../shared/contract) is not here")
def test_answers_have_the_fields_of_published_clients(served_world: tuple[str, World]) -> None:
    url, world = served_world
    contract = published.load_contract()
    operations = published.DocumentComparison(json.loads(json.dumps(build_document("", ROUTES)))).operations
    rows = published.list_documented_differences()
    null_fields: dict[tuple[str, str], bool] = {}
    unexplained = []
    for name, route in published.list_served_routes(contract).items():
        operation = operations[published.fold_names(f"{route.method} {route.path}")]
        path, body = example_call(operation, route.path, world.own(operation["operationId"]))
        path += ("&" if "?" in path else "?") + MORE_ROWS[route.path] if route.path in MORE_ROWS else ""
        data = None if body is None else json.dumps(body).encode()
        headers = {**world.headers(), "Content-Type": "application/json"}
        with urlopen(Request(url + path, data=data, headers=headers, method=route.method)) as answer:
            if not answer.headers["Content-Type"].startswith("application/json") or "response" not in contract[name]:
                continue
            value = json.load(answer)
        for member in published.compare_answer(value, contract[name]["response"], ""):
            difference = published.Difference(name, *member)
            if not any(row.covers_value(difference) for row in rows):
                unexplained.append(difference)
        for place, leaf in published.list_leaves(value):
            key = name, place.rpartition(".")[2]
            null_fields[key] = null_fields.get(key, True) and leaf is None
    assert unexplained == []
    names_of_nulls = {field for (_, field), is_null in null_fields.items() if is_null}
    assert published.list_documented_nulls() - names_of_nulls == set()


@pytest.mark.parametrize(("feed", "type"), FEEDS.items())
def test_python_socketio_reads_each_feed(served: tuple[str, str], feed: str, type: str) -> None:
    socketio = pytest.importorskip("socketio", reason="python-socketio cannot be had here")
    url, key = served
    received: list[tuple[str, Any]] = []
    arrived = threading.Event()
    reader = socketio.Client(reconnection=False)

    @reader.on("*", namespace=f"/ws/{feed}")
    def keep(event: str, message: Any) -> None:
        received.append((event, message))
        arrived.set()

    reader.connect(url, namespaces=[f"/ws/{feed}"], auth={"token": key, "since_seq": 0})
    try:
        assert arrived.wait(20)
    finally:
        reader.disconnect()
    assert (received[0][0], received[0][1]["seq"], received[0][1]["is_catchup"]) == (type, 1, True)


def test_standardwebhooks_verifies_what_is_delivered(served: tuple[str, str]) -> None:
    standardwebhooks = pytest.importorskip("standardwebhooks", reason="standardwebhooks cannot be had here")
    secret = call(served, "/webhooks/secret")["secret"]
    arrived = threading.Event()

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        connection.sendall(OK)
        arrived.set()

    with receiver(behave) as server:
        delivery = call(served, "/webhooks/test", {"url": server.url})
        assert arrived.wait(20)
    (received,) = server.received
    message = standardwebhooks.Webhook(secret).verify(received.body, received.headers)
    assert (message["event_type"], message["delivery_id"]) == ("finapi.test", delivery["delivery_id"])


@pytest.mark.parametrize(("path", "column"), TABLES.items())
def test_pandas_reads_a_table(served: tuple[str, str], path: str, column: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas cannot be had here")
    url, key = served
    target = f"{url}/api/v1{path}{'&' if '?' in path else '?'}format=csv"
    table = pandas.read_csv(target, storage_options={"X-API-Key": key})
    assert column in table.columns
    assert len(table) > 0
