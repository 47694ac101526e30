"""Large answers over real sockets: shares of memory for each address, and charges of interrupted exports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from random import Random
from typing import Any, TypedDict

import pytest

from finapi import app as apps
from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.web.application import WsgiApp
from finapi.web.bulk import CHUNK_BYTES, FileExport
from finapi.web.http.call import Call
from finapi.web.http.messages import BINARY_MEDIA_TYPE, Response
from finapi.web.http.params import OFFSET, limit_param
from finapi.web.http.route import Route
from finapi.web.http.schema import Answer
from finapi.web.routes import ROUTES
from finapi.web.service import OPENAPI_BODY_NAME
from tests.conftest import ACCOUNTS, NOW
from tests.httpd.running_listener import ManualClock, RawClient, RunningListener, Start, eventually
from tests.support.metered_calls import list_ledger_rows

ROWS = 20_000
TEXT = "x" * 500  # The complete list has 10 MB.
FAILING_PAGES: list[int] = []


class NumberRow(TypedDict):
    n: int
    text: str


class NumberMeta(TypedDict):
    has_more: bool


class Numbers(TypedDict):
    data: list[NumberRow]
    meta: NumberMeta


SHAPE = Answer[Numbers]

FILE_BYTES = 6_000_000


def rows(call: Call) -> Response:
    """Return rows with a number and a long text."""
    first, size = call.params["offset"], call.params["limit"]
    if first in FAILING_PAGES:
        raise RuntimeError("as the test wants it")
    numbers = range(first, min(ROWS, first + size))
    return call.success_rows([{"n": number, "text": TEXT} for number in numbers], {"has_more": first + size < ROWS})


def file(call: Call) -> Response:
    """Return a file, streamed from the data directory."""
    opened = open(call.app.config.data_dir / "file", "rb")  # noqa: SIM115
    if call.request.method == "HEAD":
        opened.seek(0, SEEK_END)
    headers = {"Content-Length": str(FILE_BYTES)}
    return Response(200, b"", BINARY_MEDIA_TYPE, headers, stream=FileExport(opened, FILE_BYTES), is_compressed=True)


EXPORT = Route(
    "GET",
    "/api/v1/rows",
    rows,
    auth="key",
    cost=5,
    zone=None,
    summary="Rows",
    params=(limit_param(3, 5), OFFSET),
    lists=True,
    shape=SHAPE,
)
BULK = Route("GET", "/api/v1/file", file, auth="key", cost=7, zone=None, summary="File")
PATH = f"{EXPORT.path}?format=csv"


@pytest.fixture(autouse=True)
def working() -> Iterator[None]:
    yield
    FAILING_PAGES.clear()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = apps.open_on_disk(Config(data_dir=tmp_path, **ACCOUNTS), FixedClock(NOW))  # type: ignore[arg-type]
    yield app
    app.db.close()


@pytest.fixture
def key(app: App) -> str:
    return users.create(app, "ann@example.com", "pro", NOW).api_key


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def start(app: App) -> Iterator[Start]:
    """Yield a function that starts servers of ``app``; stop them at the end of the test."""
    started: list[RunningListener] = []

    def start_server(*args: Any, **settings: Any) -> RunningListener:
        wsgi = WsgiApp(app, [EXPORT, BULK, *(route for route in ROUTES if route.path == "/openapi.json")])
        hooks = {
            "answer_from_memory": wsgi.answer_from_memory,
            "check_before_body": wsgi.check_before_body,
            "find_client_address": wsgi.find_client_address,
        }
        started.append(RunningListener(wsgi, *args, **hooks, **settings))  # type: ignore[arg-type]
        return started[-1]

    yield start_server
    for running in started:
        for client in running.clients:
            client.close()
        running.listener.stop(0)
        running.thread.join(10)
        assert running.listener.context.pool.stop(timeout_seconds=10) == 0


def request(running: RunningListener, path: str, key: str = "", source: str = "127.0.0.1", **headers: str) -> RawClient:
    """Return a client that has sent a request and read nothing."""
    fields = {"Host": "a", **({"X-API-Key": key} if key else {}), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return running.connect(source, buffer=4096).send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())


def read_table(client: RawClient) -> list[bytes]:
    """Read a chunked answer, which must be complete. Return its lines."""
    assert client.stream.readline() == b"HTTP/1.1 200 OK\r\n"
    while client.stream.readline() != b"\r\n":
        pass
    body = b""
    while size := int(client.stream.readline(), 16):
        body += client.stream.read(size)
        assert client.stream.read(2) == b"\r\n"
    return body.splitlines()


def read_all(client: RawClient) -> int:
    """Read until the connection ends. Return the number of bytes."""
    count = 0
    with suppress(ConnectionError):
        while piece := client.socket.recv(65_536):
            count += len(piece)
    return count


def is_stored_or_paused(running: RunningListener) -> bool:
    """Return True if no export is being built: each is complete, or waits for its client to read."""
    return sum(bool(connection.requests) for connection in running.listener.connections) == len(
        running.listener.context.paused_threads
    )


def is_settled(app: App) -> bool:
    """Return True if each charge was settled or refunded."""
    billing.run_settlement_step(app)
    return not billing.list_open_debits(app)


def list_ledger_changes(app: App) -> list[tuple[int, str]]:
    """Wait until each charge was settled or refunded; return the delta and reason of each ledger row."""
    assert is_settled(app)
    return [(row[0], row[1]) for row in list_ledger_rows(app)]


PAID = [(-5, "debit")]
REFUNDED = [(-5, "debit"), (5, "5xx_refund")]


# ---- shares of one address


def test_unread_documents_of_one_address_use_no_export_space(start: Start, app: App, key: str) -> None:
    app.static_bodies[OPENAPI_BODY_NAME] = Random(7).randbytes(
        2_000_000
    )  # Random text stays large when it is compressed.
    running = start(spool_limit=1_000_000, held_limit=500_000)
    kinds: list[dict[str, str]] = [{"Accept_Encoding": "gzip;q=0"}, {"Accept_Encoding": "gzip"}, {}]
    hoard = [request(running, "/openapi.json", source="127.0.0.2", **kinds[number % 3]) for number in range(60)]
    hoard += [request(running, "/openapi.json?a=1", source="127.0.0.2") for _ in range(20)]
    eventually(
        lambda: (
            sum(connection.has_unsent and not connection.requests for connection in running.listener.connections) == 80
        )
    )
    assert (running.listener.context.disk.free_bytes, running.listener.context.memory.free_bytes) == (
        1_000_000,
        500_000,
    )
    assert len(app.static_bodies) == 2
    document = request(running, "/openapi.json?b=1", source="127.0.0.3")
    assert document.read_answer().body == app.static_bodies[OPENAPI_BODY_NAME]
    assert len(read_table(request(running, PATH, key, "127.0.0.3"))) == ROWS + 1
    del hoard


@pytest.mark.slow
def test_four_slow_readers_of_exports_receive_every_row(start: Start, app: App) -> None:
    running = start(spool_limit=12_000_000, held_limit=0, threads=8)
    keys = [users.create(app, f"user{number}@example.com", "pro", NOW).api_key for number in range(4)]
    clients = []
    for number, key in enumerate(keys):
        clients.append(request(running, PATH, key, f"127.0.0.{2 + number}"))
        eventually(
            lambda number=number: (
                sum(connection.has_unsent for connection in running.listener.connections) == number + 1
            )
        )
        eventually(lambda: is_stored_or_paused(running))
    assert len(running.listener.context.paused_threads) >= 2
    for client in clients:
        lines = read_table(client)
        assert (len(lines), lines[-1]) == (ROWS + 1, f"{ROWS - 1},{TEXT}".encode())
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID * 4


def test_an_export_that_waits_for_its_reader_blocks_no_others(start: Start, app: App, key: str) -> None:
    running = start(spool_limit=0, held_limit=0, threads=8)
    other_key = users.create(app, "bob@example.com", "pro", NOW).api_key
    waiting = [request(running, PATH, key, "127.0.0.2"), request(running, PATH, other_key, "127.0.0.3")]
    eventually(lambda: len(running.listener.context.paused_threads) == 2)
    third_key = users.create(app, "eve@example.com", "pro", NOW).api_key
    assert len(read_table(request(running, PATH, third_key, "127.0.0.4"))) == ROWS + 1
    assert [len(read_table(client)) for client in waiting] == [ROWS + 1] * 2
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID * 3


def test_no_account_or_address_uses_all_large_answer_slots(app: App) -> None:
    app.large_answer_queue._wait_seconds = 0.0
    app.large_answer_queue.acquire(("user", 1), ("address", "192.0.2.1"))
    for owners in ((("user", 1), ("address", "192.0.2.2")), (("user", 2), ("address", "192.0.2.1"))):
        with pytest.raises(Exception, match="Other large answers are being made"):
            app.large_answer_queue.acquire(*owners)
    app.large_answer_queue.acquire(("user", 2), ("address", "192.0.2.2"))


# ---- charges


def test_a_client_that_stops_reading_pays(start: Start, app: App, key: str, clock: ManualClock) -> None:
    running = start(clock, spool_limit=2_000_000, held_limit=0, channel_timeout=60)
    client = request(running, PATH, key)
    received = 0
    while received < 8_000_000:
        received += len(client.socket.recv(65_536))
    eventually(lambda: len(running.listener.context.paused_threads) == 1 or is_settled(app))
    running.advance(61)
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID


def test_a_client_that_disconnects_pays(start: Start, app: App, key: str) -> None:
    running = start(spool_limit=0, held_limit=0)
    client = request(running, PATH, key)
    eventually(lambda: len(running.listener.context.paused_threads) == 1)
    client.close()
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID


def test_a_slow_reader_that_is_disconnected_for_space_pays(start: Start, app: App, key: str) -> None:
    running = start(spool_limit=0, held_limit=0, paused_limit=1, paused_per_owner=1, threads=8)
    slow = request(running, PATH, key, "127.0.0.2")
    eventually(lambda: len(running.listener.context.paused_threads) == 1)
    other_key = users.create(app, "bob@example.com", "pro", NOW).api_key
    assert len(read_table(request(running, PATH, other_key, "127.0.0.3"))) == ROWS + 1
    assert read_all(slow) < ROWS * len(TEXT)
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID * 2


def test_an_export_that_fails_after_a_pause_is_refunded(start: Start, app: App, key: str) -> None:
    FAILING_PAGES.append(15_000)
    running = start(spool_limit=0, held_limit=0)
    client = request(running, PATH, key)
    eventually(lambda: len(running.listener.context.paused_threads) == 1)
    assert read_all(client) < ROWS * len(TEXT)
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == REFUNDED


@pytest.mark.parametrize("spool_limit", [0, 20_000_000])
def test_an_export_that_a_server_stop_cuts_off_is_refunded(start: Start, app: App, key: str, spool_limit: int) -> None:
    running = start(spool_limit=spool_limit, held_limit=0)
    client = request(running, PATH, key)
    if spool_limit:
        eventually(
            lambda: any(
                connection.has_unsent and not connection.requests for connection in running.listener.connections
            )
        )
    else:
        eventually(lambda: len(running.listener.context.paused_threads) == 1)
    assert not is_settled(app)
    running.listener.stop(0)
    running.thread.join(10)
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == REFUNDED
    assert read_all(client) < ROWS * len(TEXT)


def test_a_stored_export_is_paid_when_it_was_sent(start: Start, app: App, key: str) -> None:
    running = start(spool_limit=20_000_000, held_limit=0)
    client = request(running, PATH, key)
    eventually(
        lambda: any(connection.has_unsent and not connection.requests for connection in running.listener.connections)
    )
    assert not is_settled(app)
    assert len(read_table(client)) == ROWS + 1
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID


def test_an_unread_stored_export_is_paid_after_its_timeout(
    start: Start, app: App, key: str, clock: ManualClock
) -> None:
    running = start(clock, spool_limit=40_000_000, held_limit=0, server_timeout=300, channel_timeout=1_000)
    other_key = users.create(app, "bob@example.com", "pro", NOW).api_key
    leaving, slow = request(running, PATH, key), request(running, PATH, other_key, "127.0.0.2")
    eventually(
        lambda: (
            sum(connection.has_unsent and not connection.requests for connection in running.listener.connections) == 2
        )
    )
    leaving.close()
    eventually(lambda: running.count_connections() == 1)
    running.advance(299)
    assert not is_settled(app)
    running.advance(2)
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == PAID * 2
    assert len(read_table(slow)) == ROWS + 1


# ---- files


def test_an_unread_file_uses_no_memory_and_is_paid_at_its_end(start: Start, app: App, key: str) -> None:
    (app.config.data_dir / "file").write_bytes(b"x" * FILE_BYTES)
    assert CHUNK_BYTES < FILE_BYTES
    running = start(spool_limit=0, held_limit=0)
    clients = [request(running, BULK.path, key) for _ in range(3)]
    eventually(
        lambda: (
            sum(connection.has_unsent and not connection.requests for connection in running.listener.connections) == 3
        )
    )
    assert len(running.listener.context.paused_threads) == 0
    assert not is_settled(app)
    assert len(clients[0].read_answer().body) == FILE_BYTES
    clients[1].close()
    eventually(lambda: running.count_connections() == 2)
    running.listener.stop(0)
    running.thread.join(10)
    eventually(lambda: is_settled(app))
    assert sorted(list_ledger_changes(app)) == [(-7, "debit")] * 3 + [(7, "5xx_refund")]


def test_a_head_of_a_file_costs_and_has_no_body(start: Start, app: App, key: str) -> None:
    (app.config.data_dir / "file").write_bytes(b"x" * FILE_BYTES)
    running = start()
    client = running.connect().send(f"HEAD {BULK.path} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n".encode())
    assert client.read_answer(head=True).headers["content-length"] == str(FILE_BYTES)
    assert client.send(b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n").read_answer().status == 404
    eventually(lambda: is_settled(app))
    assert list_ledger_changes(app) == [(-7, "debit")]
