"""Answers that clients do not read, over real sockets: where they wait, who makes room, and who ended them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from waitress.buffers import TempfileBasedBuffer

from finapi.httpd.connection import CALL_OVERRUN, SERVER_STOPPING
from finapi.httpd.response_writing import SENDING_FAILED
from tests.httpd.running_listener import EchoApplication, ManualClock, RawClient, RunningListener, Start, eventually

CHUNK = b"x" * 100_000
BODY_BYTES = 4_000_000  # more than the kernel takes for a client that does not read
ROWS = b"GET /rows HTTP/1.1\r\nHost: a\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
NO_ROOM: dict[str, int] = {"held_limit": 0, "spool_limit": 0}


class Export:
    """A streamed body of 40 chunks, and what becomes of it."""

    def __init__(self, environ: WSGIEnvironment) -> None:
        self.chunks_read = 0
        self.is_closed = False
        self.abort_reason: str | None = None
        self.pauses = 0
        self.continues = threading.Event()
        self.continues.set()
        self._get_abort_reason = environ["finapi.abort_reason"]
        environ["finapi.paused"] = self.pause

    def pause(self) -> None:
        self.pauses += 1

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(BODY_BYTES // len(CHUNK)):
            assert self.continues.wait(10)
            self.chunks_read += 1
            yield CHUNK

    def close(self) -> None:
        self.abort_reason = self._get_abort_reason()
        self.is_closed = True


class Exporting(EchoApplication):
    """Streams an export to each call of ``/rows``; ``owner`` in its query is the account that it counts for."""

    def __init__(self) -> None:
        super().__init__()
        self.exports: list[Export] = []
        self.sent: list[str] = []  # Why each answer of /sent ended, "" for those that have left.
        self.resident_body = b"x" * BODY_BYTES
        self.file_path = ""
        self.declared_bytes = BODY_BYTES

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path, account = environ["PATH_INFO"], environ["QUERY_STRING"]
        if path == "/rows":
            if account:
                environ["finapi.owners"] = (environ["REMOTE_ADDR"], account)
            self.exports.append(Export(environ))
            start_response("200 OK", [])
            return self.exports[-1]
        if path == "/resident":
            environ["finapi.resident"] = True
            start_response("200 OK", [("Content-Length", str(BODY_BYTES))])
            return [self.resident_body]
        if path == "/file":
            environ["finapi.when_sent"](lambda: self.sent.append(environ["finapi.abort_reason"]()))
            start_response("200 OK", [("Content-Length", str(self.declared_bytes))])
            wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](open(self.file_path, "rb"), 65_536)  # noqa: SIM115
            return wrapped
        if path == "/paced":
            environ["finapi.pace"](0.0, 20 * 1_000_000)  # A megabyte in each of the 20 pieces a second.
            start_response("200 OK", [("Content-Length", str(BODY_BYTES))])
            return [b"x" * BODY_BYTES]
        if path == "/sent":
            environ["finapi.when_sent"](lambda: self.sent.append(environ["finapi.abort_reason"]()))
            start_response("200 OK", [("Content-Length", str(BODY_BYTES))])
            return [b"x" * BODY_BYTES]
        return super().__call__(environ, start_response)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def app() -> Exporting:
    return Exporting()


@pytest.fixture
def start(app: Exporting) -> Iterator[Start]:
    """Return a function that starts listeners for ``app``. They are stopped at the end."""
    started: list[RunningListener] = []

    def starting(*args: Any, **settings: Any) -> RunningListener:
        started.append(RunningListener(app, *args, **settings))
        return started[-1]

    yield starting
    for running in started:
        for client in running.clients:
            client.close()  # While the clock of a test stands still, a stop waits for clients.
        running.stop(grace_seconds=0)
    app.release.release(100)


def request(running: RunningListener, path: bytes, source: str = "127.0.0.1") -> RawClient:
    """Return a client that sends a request and reads nothing."""
    return running.connect(source, buffer=4096).send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path)


def body_of(client: RawClient) -> bytes:
    """Read a chunked answer to its end, which must be there."""
    while client.stream.readline() != b"\r\n":
        pass
    body = b""
    while size := int(client.stream.readline(), 16):
        body += client.stream.read(size)
        assert client.stream.read(2) == b"\r\n"
    return body


def cut_body_of(client: RawClient) -> bytes:
    """Read what comes until the connection ends."""
    received = b""
    try:
        while piece := client.socket.recv(65_536):
            received += piece
    except ConnectionError:
        pass
    return received


def is_closed_or_paused(export: Export) -> bool:
    return bool(export.is_closed or export.pauses)


def count_unsent(running: RunningListener) -> int:
    """Return the number of answers whose call is over and whose client has not read them."""
    return sum(connection.has_unsent and not connection.requests for connection in running.listener.connections)


def count_calls(running: RunningListener) -> int:
    return sum(bool(connection.requests) for connection in running.listener.connections)


def count_paused(running: RunningListener) -> int:
    """The number of threads that wait for a client to read."""
    return len(running.listener.context.paused_threads)


# ---- nobody's answer is truncated for want of room


def test_an_export_that_has_no_room_waits_for_its_reader(start: Start, app: Exporting) -> None:
    running = start(**NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    assert app.exports[0].chunks_read < 20
    assert body_of(client) == b"x" * BODY_BYTES
    eventually(lambda: app.exports[0].is_closed)
    assert (app.exports[0].chunks_read, app.exports[0].abort_reason) == (40, "")
    assert count_paused(running) == 0


def test_an_export_is_stored_while_there_is_room(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=5_000_000)
    client = request(running, b"/rows")
    eventually(lambda: app.exports and app.exports[0].is_closed)
    assert app.exports[0].pauses == 0
    assert running.listener.context.disk.free_bytes < 2_000_000
    assert body_of(client) == b"x" * BODY_BYTES
    eventually(lambda: running.listener.context.disk.free_bytes == 5_000_000)


def test_an_export_stays_in_its_file_when_its_reader_catches_up(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=1_000_000)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    assert body_of(client) == b"x" * BODY_BYTES
    assert app.exports[0].pauses >= 1
    eventually(lambda: running.listener.context.disk.free_bytes == 1_000_000)


def test_one_address_that_reads_nothing_truncates_no_export(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=10_000_000)
    hoard = [request(running, b"/bytes?%d" % BODY_BYTES, "127.0.0.2") for _ in range(10)]
    eventually(lambda: len(app.calls) == 10 and count_calls(running) == 0)
    assert running.listener.context.disk.free_bytes < BODY_BYTES
    clients = [request(running, b"/rows", f"127.0.0.{10 + number}") for number in range(3)]
    for client in clients:
        assert body_of(client) == b"x" * BODY_BYTES
    assert [export.abort_reason for export in app.exports] == ["", "", ""]
    del hoard


def test_four_slow_readers_all_get_everything(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=2 * BODY_BYTES, threads=4)
    clients = [request(running, b"/rows", f"127.0.0.{10 + number}") for number in range(4)]
    eventually(lambda: len(app.exports) == 4 and all(map(is_closed_or_paused, app.exports)))
    assert sum(export.pauses for export in app.exports) >= 2
    assert [body_of(client) for client in clients] == [b"x" * BODY_BYTES] * 4


def test_a_complete_answer_displaces_the_largest_owner(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=8_000_000)
    oldest = request(running, b"/bytes?3000000", "127.0.0.2")
    eventually(lambda: running.listener.context.disk.free_bytes < 6_000_000)
    second = request(running, b"/bytes?3000000", "127.0.0.2")
    small = request(running, b"/bytes?1500000", "127.0.0.3")
    eventually(lambda: len(app.calls) == 3 and count_calls(running) == 0)
    newcomer = request(running, b"/bytes?3000000", "127.0.0.4")
    assert len(newcomer.read_answer().body) == 3_000_000
    assert len(small.read_answer().body) == 1_500_000
    assert len(second.read_answer().body) == 3_000_000
    assert len(cut_body_of(oldest)) < 3_000_000
    eventually(lambda: running.listener.context.disk.free_bytes == 8_000_000)


def test_an_account_makes_room_at_any_address(start: Start, app: Exporting) -> None:
    running = start(held_limit=0, spool_limit=11_000_000)
    account = [request(running, b"/rows?account", f"127.0.0.{2 + number}") for number in range(2)]
    single = request(running, b"/rows?another", "127.0.0.9")
    eventually(lambda: sum(export.is_closed for export in app.exports) + count_paused(running) == 3)
    newcomer = request(running, b"/bytes?3000000", "127.0.0.10")
    assert len(newcomer.read_answer().body) == 3_000_000
    assert body_of(single) == b"x" * BODY_BYTES
    assert sum(len(cut_body_of(client)) < BODY_BYTES for client in account) == 1


def test_a_complete_answer_alone_beyond_the_limit_waits(start: Start) -> None:
    running = start(**NO_ROOM)
    client = request(running, b"/bytes?3000000")
    eventually(lambda: count_paused(running) == 1)
    assert len(client.read_answer().body) == 3_000_000


def test_memory_is_freed_by_moving_an_answer_to_a_file(start: Start) -> None:
    running = start(held_limit=1_500_000)
    hoard = [request(running, b"/bytes?900000", "127.0.0.2")]
    eventually(lambda: running.listener.context.memory.free_bytes < 1_200_000)
    newcomer = request(running, b"/bytes?1000000", "127.0.0.3")
    hoard.append(request(running, b"/bytes?1000000", "127.0.0.2"))
    eventually(lambda: running.listener.context.disk.free_bytes < 67_108_864)
    assert [len(client.read_answer().body) for client in (*hoard, newcomer)] == [900_000, 1_000_000, 1_000_000]
    eventually(lambda: running.listener.context.memory.free_bytes == 1_500_000)
    eventually(lambda: running.listener.context.disk.free_bytes == 67_108_864)


def test_a_body_from_elsewhere_takes_memory_from_unread_answers(start: Start) -> None:
    running = start(check_before_body=lambda environ: 1_048_576, held_limit=500_000)
    unread = request(running, b"/bytes?900000", "127.0.0.2")
    eventually(
        lambda: (
            running.listener.context.memory.free_bytes < 500_000
            or running.listener.context.disk.free_bytes < 67_108_864
        )
    )
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n"
    assert running.connect("127.0.0.3").send(head + b"x" * 400_000).read_answer().body == b"/ 400000"
    assert len(unread.read_answer().body) == 900_000


def test_a_body_takes_memory_from_the_owner_that_holds_most(start: Start) -> None:
    running = start(check_before_body=lambda environ: 1_048_576, held_limit=1_000_000)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n"
    arriving = []
    for free_bytes in (600_000, 200_000):
        arriving.append(running.connect("127.0.0.2").send(head))
        eventually(lambda free_bytes=free_bytes: running.listener.context.memory.free_bytes == free_bytes)
    assert running.connect("127.0.0.2").send(head).read_answer().error == "SERVICE_UNAVAILABLE"
    assert running.connect("127.0.0.3").send(head + b"x" * 400_000).read_answer().body == b"/ 400000"
    statuses = sorted(client.send(b"x" * 400_000).read_answer().status for client in arriving[1:])
    assert statuses == [200]
    assert arriving[0].read_answer().error == "SERVICE_UNAVAILABLE"
    eventually(lambda: running.listener.context.memory.free_bytes == 1_000_000)


# ---- answers that need no copy


def test_unread_resident_bodies_take_no_room(start: Start, app: Exporting) -> None:
    running = start(**NO_ROOM)
    clients = [request(running, b"/resident") for _ in range(20)]
    eventually(lambda: count_unsent(running) == 20)
    queued = [connection.queue[-1] for connection in running.listener.connections]
    assert {id(part.obj if isinstance(part, memoryview) else part) for part in queued} == {id(app.resident_body)}
    assert count_paused(running) == 0
    assert len(clients[7].read_answer().body) == BODY_BYTES


def test_a_file_is_sent_from_where_it_is(start: Start, app: Exporting, tmp_path: Any) -> None:
    app.file_path = str(tmp_path / "file")
    (tmp_path / "file").write_bytes(bytes(range(250)) * (BODY_BYTES // 250))
    running = start(**NO_ROOM)
    clients = [request(running, b"/file") for _ in range(5)]
    eventually(lambda: count_unsent(running) == 5)
    assert (count_paused(running), app.sent) == (0, [])
    for client in clients[:3]:
        assert client.read_answer().body == bytes(range(250)) * (BODY_BYTES // 250)
    eventually(lambda: app.sent == ["", "", ""])
    assert clients[0].send(GET).read_answer().status == 200
    for client in clients[3:]:
        client.close()
    eventually(lambda: app.sent == [""] * 5)


def test_a_file_that_has_become_shorter_ends_its_connection(start: Start, app: Exporting, tmp_path: Any) -> None:
    app.file_path = str(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"x" * BODY_BYTES)
    running = start()
    client = request(running, b"/file")
    eventually(lambda: any(connection.has_unsent for connection in running.listener.connections))
    (tmp_path / "file").write_bytes(b"")
    assert len(cut_body_of(client)) < BODY_BYTES
    eventually(lambda: app.sent == [SENDING_FAILED])


# ---- threads that wait for readers


def test_a_thread_that_waits_for_a_reader_is_replaced(start: Start, app: Exporting) -> None:
    running = start(threads=1, **NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    assert [running.fetch().status for _ in range(3)] == [200, 200, 200]
    assert app.exports[0].pauses == 1
    assert len(body_of(client)) == BODY_BYTES
    assert running.fetch().status == 200


def test_of_too_many_waiting_exports_the_largest_owner_loses_one(start: Start, app: Exporting) -> None:
    running = start(threads=4, paused_limit=3, paused_per_owner=2, **NO_ROOM)
    clients = []
    for number, source in enumerate(("127.0.0.3", "127.0.0.2", "127.0.0.2", "127.0.0.4")):
        clients.append(request(running, b"/rows", source))
        eventually(lambda number=number: len(app.exports) > number and app.exports[number].pauses)
    eventually(lambda: app.exports[1].is_closed)
    assert count_paused(running) == 3
    assert app.exports[1].abort_reason == ""
    assert len(cut_body_of(clients[1])) < BODY_BYTES
    assert [len(body_of(clients[number])) for number in (0, 2, 3)] == [BODY_BYTES] * 3


def test_an_account_has_few_exports_that_wait(start: Start, app: Exporting) -> None:
    running = start(threads=4, paused_limit=4, paused_per_owner=1, **NO_ROOM)
    first = request(running, b"/rows?account", "127.0.0.2")
    eventually(lambda: count_paused(running) == 1)
    second = request(running, b"/rows?account", "127.0.0.3")
    eventually(lambda: app.exports[0].is_closed)
    assert len(cut_body_of(first)) < BODY_BYTES
    assert len(body_of(second)) == BODY_BYTES
    assert app.exports[0].abort_reason == ""


def test_a_paced_answer_waits_for_its_reader(start: Start, app: Exporting, clock: ManualClock) -> None:
    running = start(clock, **NO_ROOM)
    client = request(running, b"/paced")

    def has_begun() -> bool:
        running.advance(0.05)
        return any(connection.has_unsent for connection in running.listener.connections)

    eventually(has_begun)
    for _ in range(10):
        running.advance(0.05)
    queued = [sum(map(len, connection.queue)) for connection in running.listener.connections]
    assert 0 < sum(queued) <= 1_000_000
    received = 0
    while received < BODY_BYTES:
        received += len(client.socket.recv(65_536))
        running.advance(0.05)


# ---- who ended an answer


def test_a_reader_that_stops_during_a_pause_is_the_reason(start: Start, app: Exporting, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=60, **NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    running.advance(59)
    assert not app.exports[0].is_closed
    running.advance(2)
    eventually(lambda: app.exports[0].is_closed)
    assert app.exports[0].abort_reason == ""
    assert (count_paused(running), app.exports[0].chunks_read < 40) == (0, True)
    client.close()


def test_a_reader_that_uses_up_the_time_is_the_reason(start: Start, app: Exporting, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=1_000, server_timeout=300, **NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    running.advance(301)
    eventually(lambda: app.exports[0].is_closed)
    assert app.exports[0].abort_reason == ""
    client.close()


def test_an_application_that_uses_up_the_time_is_the_reason(start: Start, app: Exporting, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=1_000, server_timeout=300, **NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    running.advance(100)
    app.exports[0].continues.clear()
    client.socket.settimeout(0)

    def has_resumed() -> bool:
        with contextlib.suppress(BlockingIOError):
            client.socket.recv(65_536)
        return not count_paused(running)

    eventually(has_resumed)
    running.advance(201)
    app.exports[0].continues.set()
    eventually(lambda: app.exports[0].is_closed)
    assert app.exports[0].abort_reason == CALL_OVERRUN


def test_a_client_that_disconnects_is_the_reason(start: Start, app: Exporting) -> None:
    running = start(**NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    client.close()
    eventually(lambda: app.exports[0].is_closed)
    assert app.exports[0].abort_reason == ""


def test_a_stop_is_the_reason_for_an_export_that_waits(start: Start, app: Exporting) -> None:
    running = start(**NO_ROOM)
    client = request(running, b"/rows")
    eventually(lambda: count_paused(running) == 1)
    running.stop(grace_seconds=0)
    eventually(lambda: app.exports[0].is_closed)
    assert app.exports[0].abort_reason == SERVER_STOPPING
    client.close()


def test_a_full_disk_is_the_servers_failure(start: Start, app: Exporting, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: TempfileBasedBuffer, data: bytes) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(TempfileBasedBuffer, "append", fail)
    running = start(held_limit=0)
    client = request(running, b"/rows")
    eventually(lambda: app.exports and app.exports[0].is_closed)
    assert app.exports[0].abort_reason == SENDING_FAILED
    client.close()


# ---- calls that end with their answers


def test_a_call_hears_when_its_answer_has_left(start: Start, app: Exporting) -> None:
    running = start()
    client = request(running, b"/sent")
    eventually(lambda: count_unsent(running))
    assert running.fetch().status == 200
    assert app.sent == []
    assert len(client.read_answer().body) == BODY_BYTES
    eventually(lambda: app.sent == [""])


@pytest.mark.parametrize("ending", ["disconnects", "stops reading", "is too slow for its call", "server stops"])
def test_a_call_hears_when_its_answer_cannot_leave(
    start: Start, app: Exporting, clock: ManualClock, ending: str
) -> None:
    times = [] if ending == "server stops" else [clock]  # A stop takes a moment of real time.
    running = start(*times, channel_timeout=60 if ending == "stops reading" else 1_000, server_timeout=300)
    client = request(running, b"/sent")
    eventually(lambda: count_unsent(running))
    if ending == "disconnects":
        client.close()
    elif ending == "stops reading":
        running.advance(61)
    elif ending == "server stops":
        running.stop(grace_seconds=0)
    else:
        running.advance(299)
        assert app.sent == []
        running.advance(2)
    eventually(lambda: len(app.sent) == 1)
    assert app.sent == ([SERVER_STOPPING] if ending == "server stops" else [""])
    if ending == "is too slow for its call":
        assert len(client.read_answer().body) == BODY_BYTES
        assert app.sent == [""]
