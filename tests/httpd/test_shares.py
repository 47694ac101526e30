"""What connections share, and what one address, one slow client or one that never reads can take of it."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from finapi.httpd.connection_states import CHECKING_BODY
from finapi.httpd.loop import WRITE, Connection, Loop
from finapi.httpd.settings import HandedOverRequest
from finapi.httpd.shares import Allowance, ByteBudget, Places, Reservation
from tests.httpd.running_listener import (
    CHUNKED,
    GET,
    POST,
    EchoApplication,
    ManualClock,
    RawClient,
    RunningListener,
    Start,
    count_descriptors,
    eventually,
)

LONG = POST + b"Content-Length: 100000\r\n\r\n"  # longer than one read: it has to have a place from its head on
SHORT = POST + b"Content-Length: 4\r\n\r\n"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts listeners, each for an application of its own; stopped at the end."""
    started: list[RunningListener] = []

    def starting(*args: Any, **settings: Any) -> RunningListener:
        started.append(RunningListener(EchoApplication(), *args, **settings))
        return started[-1]

    yield starting
    for running in started:
        running.stop(grace_seconds=0)
        running.app.release.release(100)


# ---- places, budgets and time as values


def test_an_address_has_its_share_and_no_more() -> None:
    places: Places[int] = Places(10, 2, lambda holder: None)
    assert [places.enter(holder, "a") for holder in range(3)] == [True, True, False]
    assert places.enter(3, "b")
    places.leave(0)
    places.leave(0)
    assert len(places) == 2
    assert places.enter(4, "a")


def test_a_newcomer_displaces_the_oldest_of_the_largest_address() -> None:
    displaced: list[int] = []
    places: Places[int] = Places(4, 3, displaced.append)
    for holder, address in enumerate("baaa"):
        assert places.enter(holder, address)
    assert places.enter(4, "c")
    assert displaced == [1]
    assert places.enter(5, "c")
    assert displaced == [1, 2]
    assert len(places) == 4


def test_a_refused_holder_displaces_no_other() -> None:
    displaced: list[int] = []
    places: Places[int] = Places(2, 1, displaced.append)
    assert [places.enter(1, "a"), places.enter(2, "b"), places.enter(3, "a")] == [True, True, False]
    assert displaced == []


def test_addresses_without_places_are_not_stored() -> None:
    places: Places[int] = Places(10, 1, lambda holder: None)
    for holder in range(1000):
        places.enter(holder, str(holder))
        places.leave(holder)
    assert places._holders == {}


def test_an_account_has_one_share_at_all_its_addresses() -> None:
    places: Places[int] = Places(10, 2, lambda holder: None)
    assert [places.enter(holder, f"address {holder}", "account") for holder in range(3)] == [True, True, False]
    assert places.enter(3, "address 0", "another account")
    places.leave(0)
    assert places.enter(4, "address 4", "account")


def test_a_forced_place_displaces_the_oldest_of_its_owner() -> None:
    displaced: list[int] = []
    places: Places[int] = Places(3, 2, displaced.append)
    for holder, owner in enumerate("aab"):
        places.enter_displacing(holder, owner)
    places.enter_displacing(3, "b")
    assert displaced == [0]
    places.enter_displacing(4, "b")
    assert displaced == [0, 2]
    assert len(places) == 3


# ---- budgets of bytes


class Budgeted:
    """Reservations of one budget, by the names of their owners; ``displaced`` lists those that had to make room."""

    def __init__(self, limit: int) -> None:
        self.budget = ByteBudget(limit)
        self.displaced: list[str] = []

    def reserve(self, name: str, *owners: str, count: int = 0) -> Reservation:
        reservation = Reservation(self.budget, owners or (name,), lambda: self.displaced.append(name))
        assert not count or reservation.add(count)
        return reservation


def test_bytes_are_reserved_up_to_the_limit() -> None:
    budgeted = Budgeted(100)
    first, second = budgeted.reserve("a"), budgeted.reserve("b")
    assert [first.add(60), second.add(41), second.add(40)] == [True, False, True]
    assert (first.held_bytes, second.held_bytes, budgeted.budget.free_bytes) == (60, 40, 0)
    first.release()
    first.release()
    assert budgeted.budget.free_bytes == 60
    assert second.add(60)
    assert budgeted.displaced == []


def test_the_owner_that_holds_the_most_bytes_makes_room() -> None:
    budgeted = Budgeted(100)
    budgeted.reserve("small", count=20)
    budgeted.reserve("old", "large", count=30)
    new = budgeted.reserve("new", "large", count=30)
    assert budgeted.reserve("newcomer").add_displacing(30)
    assert budgeted.displaced == ["old"]
    assert (new.held_bytes, budgeted.budget.free_bytes) == (30, 20)


def test_an_account_counts_over_all_its_addresses() -> None:
    budgeted = Budgeted(100)
    for number in range(3):
        budgeted.reserve(f"account at {number}", f"address {number}", "account", count=20)
    budgeted.reserve("single", count=40)
    assert budgeted.reserve("newcomer").add_displacing(20)
    assert budgeted.displaced == ["account at 0"]


def test_an_owner_that_would_hold_the_most_displaces_itself() -> None:
    budgeted = Budgeted(100)
    budgeted.reserve("other", count=40)
    budgeted.reserve("own", "me", count=40)
    assert not budgeted.reserve("new", "me").add_displacing(40, displaces_own=False)
    assert budgeted.displaced == []
    assert budgeted.reserve("new", "me").add_displacing(40)
    assert budgeted.displaced == ["own"]


def test_no_bytes_are_displaced_in_vain() -> None:
    budgeted = Budgeted(100)
    budgeted.reserve("a", count=50)
    alone = budgeted.reserve("b", count=50)
    assert not alone.add_displacing(51)
    assert budgeted.displaced == []
    assert not budgeted.reserve("c").add_displacing(101)
    assert budgeted.displaced == []
    assert alone.held_bytes == 50


def test_displaced_bytes_are_released_once() -> None:
    budgeted = Budgeted(100)
    victim = budgeted.reserve("victim", count=100)
    newcomer = budgeted.reserve("newcomer")
    assert newcomer.add_displacing(60)
    assert (victim.held_bytes, budgeted.budget.free_bytes) == (0, 40)
    victim.release()
    newcomer.release()
    assert budgeted.budget.free_bytes == 100
    assert not budgeted.budget._bytes_of_owner


def test_every_byte_buys_time_up_to_the_full_measure() -> None:
    allowance = Allowance(100.0, 15.0, rate=10.0)
    assert allowance.add_bytes(110.0, 0) == 115.0
    assert allowance.add_bytes(110.0, 50) == 120.0
    assert allowance.add_bytes(110.0, 1000) == 125.0
    assert allowance.extend(3.0) == 128.0


# ---- bodies


def test_long_bodies_beyond_the_share_of_an_address_get_503(
    start: Start,
) -> None:
    running = start(bodies_per_address=2)
    arriving = [running.connect().send(LONG) for _ in range(2)]
    running.wait_for_loop()
    refused = running.connect().send(LONG).read_answer()
    assert refused.error == "SERVICE_UNAVAILABLE"
    assert refused.headers["retry-after"] == "1"
    assert running.connect("127.0.0.2").send(LONG + b"x" * 100_000).read_answer().status == 200
    for client in arriving:
        assert client.send(b"x" * 100_000).read_answer().body == b"/ 100000"
    assert running.connect().send(LONG + b"x" * 100_000).read_answer().status == 200


def test_a_short_body_that_is_there_needs_no_place(start: Start, clock: ManualClock) -> None:
    running = start(clock, bodies_per_address=1)
    slow = running.connect().send(LONG)
    running.wait_for_loop()
    assert running.fetch(SHORT + b"abcd").status == 200
    late = running.connect().send(SHORT)  # as clients do that send head and body apart
    running.wait_for_loop()
    assert late.send(b"abcd").read_answer().status == 200
    assert slow.send(b"x" * 100_000).read_answer().status == 200


def test_a_short_body_that_takes_its_time_needs_a_place(start: Start, clock: ManualClock) -> None:
    running = start(clock, bodies_per_address=1)
    slow = running.connect().send(LONG)
    late = running.connect().send(SHORT)
    running.advance(1)
    assert late.read_answer().error == "SERVICE_UNAVAILABLE"
    assert slow.is_silent()
    other = running.connect("127.0.0.2").send(SHORT)
    running.advance(1)
    assert other.send(b"abcd").read_answer().body == b"/ 4"


def test_a_new_body_displaces_the_oldest_of_the_largest_address(
    start: Start,
) -> None:
    running = start(bodies_at_once=3, bodies_per_address=2)
    single = running.connect("127.0.0.2").send(LONG)
    running.wait_for_loop()
    pair = [running.connect("127.0.0.3").send(LONG), running.connect("127.0.0.3").send(LONG)]
    running.wait_for_loop()
    newcomer = running.connect("127.0.0.4").send(LONG)
    assert pair[0].read_answer().error == "SERVICE_UNAVAILABLE"
    for client in (single, pair[1], newcomer):
        assert client.send(b"x" * 100_000).read_answer().status == 200


@pytest.mark.parametrize("ends", ["gone", "late", "wrong"])
def test_a_body_that_ends_leaves_its_place(start: Start, clock: ManualClock, ends: str) -> None:
    running = start(clock, bodies_per_address=1)
    client = running.connect().send(LONG if ends != "wrong" else CHUNKED + b"5\r\n")
    running.advance(1)
    if ends == "gone":
        client.close()
    elif ends == "late":
        running.advance(20)
        assert client.read_answer().status == 408
    else:
        assert client.send(b"abcdefgh\r\n").read_answer().status == 400
    eventually(lambda: len(running.listener.context.arriving_bodies) == 0)
    assert running.connect().send(LONG + b"x" * 100_000).read_answer().status == 200


def test_a_long_body_has_to_be_faster(start: Start, clock: ManualClock) -> None:
    running = start(clock, header_timeout=15, min_rate=500, transfer_timeout=120)
    client = running.connect().send(POST + b"Content-Length: 1200000\r\n\r\n")  # 10,000 bytes a second
    for _ in range(10):
        client.send(b"x" * 5_000)
        running.wait_for_loop()
        assert client.is_silent()
        running.advance(1)
    running.advance(11)
    assert client.read_answer().error == "REQUEST_TIMEOUT"


def test_a_body_of_at_most_a_mebibyte_is_stored_in_memory(
    start: Start,
) -> None:
    running = start(check_before_body=lambda environ: 1_048_576)
    client = running.connect()
    eventually(lambda: running.count_connections() == 1)
    before = count_descriptors()
    client.send(POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 900_000)
    (connection,) = running.listener.connections
    eventually(lambda: connection.incoming and len(connection.incoming.body_rcv) == 900_000)
    assert count_descriptors() == before
    assert client.send(b"x" * 100_000).read_answer().body == b"/ 1000000"


def test_long_bodies_that_no_memory_is_left_for_are_503(start: Start) -> None:
    running = start(check_before_body=lambda environ: 1_048_576, held_limit=250_000)
    arriving = [running.connect().send(LONG) for _ in range(2)]
    eventually(lambda: running.listener.context.memory.free_bytes == 50_000)
    assert running.connect().send(LONG).read_answer().error == "SERVICE_UNAVAILABLE"
    assert [client.send(b"x" * 100_000).read_answer().status for client in arriving] == [200, 200]
    eventually(lambda: running.listener.context.memory.free_bytes == 250_000)


def test_spooled_bodies_have_a_limit_together(start: Start) -> None:
    running = start(spool_limit=5_000_000)
    head = POST + b"Content-Length: 3000000\r\n\r\n"
    first = running.connect().send(head)
    running.wait_for_loop()
    assert running.connect().send(head).read_answer().error == "SERVICE_UNAVAILABLE"
    assert first.send(b"x" * 3_000_000).read_answer().body == b"/ 3000000"
    eventually(lambda: running.listener.context.disk.free_bytes == 5_000_000)
    assert running.connect().send(head + b"x" * 3_000_000).read_answer().status == 200


def test_the_address_of_a_body_is_that_which_a_proxy_tells(start: Start) -> None:
    running = start(bodies_per_address=1, find_client_address=lambda peer, forwarded: forwarded)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %s\r\nContent-Length: 100000\r\n\r\n"
    first = running.connect().send(head % b"192.0.2.1")
    running.wait_for_loop()
    assert running.connect().send(head % b"192.0.2.1").read_answer().status == 503
    assert running.connect().send(head % b"192.0.2.2" + b"x" * 100_000).read_answer().status == 200
    assert first.is_silent()


# ---- what the application says at the head


class Judge:
    """Says how many bytes a body may have; keeps the paths that it was asked about."""

    def __init__(self, verdict: Any = 1_000_000) -> None:
        self.verdict = verdict
        self.paths: list[str] = []

    def __call__(self, environ: Any) -> Any:
        self.paths.append(environ["PATH_INFO"])
        return self.verdict() if callable(self.verdict) else self.verdict


REFUSED = ("401 Unauthorized", [("Content-Length", "4"), ("X-Said", "no")], b"who?")


@pytest.mark.parametrize("head", [LONG, POST + b"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n"])
def test_a_call_is_refused_at_its_head(start: Start, head: bytes) -> None:
    running = start(check_before_body=Judge(REFUSED))
    client = running.connect().send(head)
    answer = client.read_answer()
    assert (answer.status, answer.body, answer.headers["x-said"]) == (401, b"who?", "no")
    assert answer.headers["connection"] == "close"
    assert client.is_closed()
    assert running.app.calls == []
    assert len(running.listener.context.arriving_bodies) == 0


def test_a_slow_short_body_is_checked(start: Start, clock: ManualClock) -> None:
    judge = Judge(REFUSED)
    running = start(clock, check_before_body=judge)
    client = running.connect().send(SHORT)
    running.wait_for_loop()
    assert judge.paths == []
    running.advance(1)
    assert client.read_answer().status == 401
    assert judge.paths == ["/"]


def test_a_request_with_its_body_is_not_checked(start: Start) -> None:
    judge = Judge(REFUSED)
    running = start(check_before_body=judge)
    assert running.fetch(SHORT + b"abcd").body == b"/ 4"
    assert running.fetch(CHUNKED + b"4\r\nabcd\r\n0\r\n\r\n").body == b"/ 4"
    assert judge.paths == []


@pytest.mark.parametrize("head", [LONG, CHUNKED + b"c350\r\n" + b"x" * 10])
def test_an_accepted_body_is_checked_once(start: Start, head: bytes) -> None:
    judge = Judge()
    running = start(check_before_body=judge)
    client = running.connect().send(head)
    eventually(lambda: judge.paths)
    body = b"x" * 100_000 if head is LONG else b"x" * 49_990 + b"\r\nc350\r\n" + b"y" * 50_000 + b"\r\n0\r\n\r\n"
    assert client.send(body[:1000]).send(body[1000:]).read_answer().body == b"/ 100000"
    assert judge.paths == ["/"]


def test_100_continue_is_sent_after_the_check(start: Start) -> None:
    running = start(check_before_body=Judge())
    client = running.connect().send(POST + b"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    assert client.read_answer().status == 100
    assert client.send(b"abcd").read_answer().body == b"/ 4"


@pytest.mark.parametrize("head", [LONG, CHUNKED + b"1ff00\r\n", CHUNKED + b"10\r\n"])
def test_a_body_over_the_limit_of_its_call_is_413(start: Start, head: bytes) -> None:
    judge = Judge(50_000)
    running = start(check_before_body=judge)
    client = running.connect().send(head)
    eventually(lambda: judge.paths)
    with contextlib.suppress(ConnectionError):
        if b"10\r\n" in head:
            client.send(b"x" * 16 + b"\r\nc34f\r\n")
    answer = client.read_answer()
    assert answer.error == HTTPStatus(413).name
    assert b"50000 bytes" in answer.body
    assert running.app.calls == []


def test_a_failure_to_judge_is_a_500(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    running = start(check_before_body=Judge(lambda: 1 / 0))
    assert running.connect().send(LONG).read_answer().error == "INTERNAL_SERVER_ERROR"
    assert "judging the head of /" in caplog.text


def test_a_verdict_that_comes_too_late_is_dropped(start: Start, clock: ManualClock) -> None:
    running = start(clock, threads=1)
    running.listener.context.check_before_body = Judge(lambda: running.app.release.acquire(timeout=10) and REFUSED)
    client = running.connect().send(LONG)
    running.wait_for_loop()
    running.advance(20)
    assert client.read_answer().error == "SERVICE_UNAVAILABLE"
    running.app.release.release()
    assert client.is_closed()
    assert running.fetch().status == 200


def test_the_time_of_a_verdict_is_not_the_clients(start: Start, clock: ManualClock) -> None:
    running = start(clock, threads=1)
    running.listener.context.check_before_body = Judge(lambda: running.app.release.acquire(timeout=10) and 1_000_000)
    client = running.connect().send(LONG)
    running.wait_for_loop()
    running.advance(14)
    running.app.release.release()
    eventually(lambda: all(connection.state is not CHECKING_BODY for connection in running.listener.connections))
    running.advance(14)
    assert client.send(b"x" * 100_000).read_answer().status == 200


def test_a_body_behind_a_running_call_is_checked_after_it(start: Start, clock: ManualClock) -> None:
    judge = Judge(REFUSED)
    running = start(clock, check_before_body=judge)
    client = running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + LONG)
    running.wait_for_call()
    running.advance(100)
    assert judge.paths == []
    assert len(running.listener.context.arriving_bodies) == 0
    running.app.release.release()
    assert [client.read_answer().status, client.read_answer().status] == [200, 401]


def test_requests_for_the_feeds_are_not_checked(start: Start) -> None:
    requests: list[HandedOverRequest] = []

    class Elsewhere:
        def can_take(self, method: str, path: str, accept: str) -> bool:
            return True

        def take(self, handed: HandedOverRequest) -> None:
            requests.append(handed)
            handed.sock.close()

    judge = Judge(REFUSED)
    running = start(check_before_body=judge, request_taker=Elsewhere())
    running.connect().send(LONG + b"x" * 100_000)
    eventually(lambda: requests)
    assert (len(requests[0].body), judge.paths) == (100_000, [])
    too_long = running.connect().send(POST + b"Content-Length: 200000\r\n\r\n")
    assert too_long.read_answer().error == HTTPStatus(413).name


# ---- connections of one address


def test_beyond_its_share_an_address_loses_its_longest_idle(
    start: Start,
) -> None:
    running = start(connections_per_address=3)
    clients = [running.connect("127.0.0.2") for _ in range(3)]
    for client in clients:
        assert client.send(GET).read_answer().status == 200
        time.sleep(0.01)  # the time of use is noted on the real clock
    stranger = running.connect("127.0.0.3").send(GET)
    assert stranger.read_answer().status == 200
    assert running.connect("127.0.0.2").send(GET).read_answer().status == 200
    assert clients[0].is_closed()
    assert [client.send(GET).read_answer().status for client in (*clients[1:], stranger)] == [200, 200, 200]


def test_an_address_with_a_busy_share_gets_no_more_connections(start: Start) -> None:
    running = start(connections_per_address=2, threads=4)
    busy = [running.connect("127.0.0.2").send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") for _ in range(2)]
    running.wait_for_call()
    running.wait_for_call()
    refused = running.connect("127.0.0.2")
    with contextlib.suppress(ConnectionError):
        assert refused.is_closed()
    assert running.fetch().status == 200
    running.app.release.release(2)
    assert [client.read_answer().status for client in busy] == [200, 200]
    assert running.connect("127.0.0.2").send(GET).read_answer().status == 200


def test_a_proxy_has_no_share(start: Start) -> None:
    running = start(connections_per_address=1, find_client_address=lambda peer, forwarded: None)
    clients = [running.connect().send(GET) for _ in range(3)]
    assert [client.read_answer().status for client in clients] == [200] * 3
    assert [client.send(GET).read_answer().status for client in clients] == [200] * 3


def test_shares_of_connections_are_released(start: Start) -> None:
    running = start(connections_per_address=2)
    for _ in range(10):
        assert running.fetch().status == 200
        # A client may have its answer, and be gone, before the loop has noted either: it would be refused as a third.
        eventually(lambda: dict(running.listener.context.connections_by_address) == {})


def test_in_a_full_house_the_address_that_has_most_makes_room(start: Start) -> None:
    running = start(connection_limit=4)
    alone = running.connect("127.0.0.2").send(GET)  # the longest idle of all
    assert alone.read_answer().status == 200
    many = [running.connect("127.0.0.3") for _ in range(3)]
    for client in many:
        assert client.send(GET).read_answer().status == 200
    # A client may have its answer before the server's loop has noted that it is sent.
    eventually(lambda: all(connection.is_idle for connection in running.listener.connections))
    assert running.connect("127.0.0.4").send(GET).read_answer().status == 200
    # The longest idle of them by the server's own note of when it was answered, which need not be the first.
    ended, _, _ = select.select([client.socket for client in many], [], [], 10)
    assert [client.is_closed() for client in many if client.socket in ended] == [True]
    assert alone.send(GET).read_answer().status == 200


def test_in_a_full_house_of_readers_of_nothing_one_makes_room(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    running = start(connection_limit=2)
    unread = [large(running) for _ in range(2)]
    eventually(lambda: not any(connection.requests for connection in running.listener.connections))
    monkeypatch.setattr("finapi.httpd.connection.STALLED_SECONDS", -1.0)
    assert running.connect("127.0.0.2").send(GET).read_answer().status == 200
    del unread


# ---- answers that nobody reads


def large(running: RunningListener, size: int = 900_000) -> RawClient:
    """A client that asks for so many bytes and reads none."""
    return running.connect(buffer=4096).send(b"GET /bytes?%d HTTP/1.1\r\nHost: a\r\n\r\n" % size)


def list_queued_bytes(running: RunningListener) -> list[int]:
    """Bytes that wait in memory for the reader of each connection."""
    return [sum(map(len, connection.queue)) for connection in running.listener.connections]


def test_the_kernel_stores_little_of_an_unread_answer(start: Start) -> None:
    big = b"x" * 4_000_000
    running = start(answer_from_memory=lambda target, headers, peer: ("200 OK", [("Content-Length", "4000000")], big))
    running.connect(buffer=4096).send(GET)
    eventually(lambda: any(list_queued_bytes(running)))
    assert 4_000_000 - max(list_queued_bytes(running)) < 500_000


def test_clients_that_do_not_read_share_an_answer_from_memory(start: Start) -> None:
    big = b"x" * 4_000_000
    running = start(answer_from_memory=lambda target, headers, peer: ("200 OK", [("Content-Length", "4000000")], big))
    for _ in range(20):
        running.connect(buffer=4096).send(GET)
    eventually(lambda: sum(map(bool, list_queued_bytes(running))) == 20)
    waiting = [connection.queue[-1] for connection in running.listener.connections]
    assert {id(part.obj if isinstance(part, memoryview) else part) for part in waiting} == {id(big)}


def test_unread_answers_go_to_files_when_memory_is_full(start: Start) -> None:
    running = start(held_limit=2_000_000)
    first = large(running)
    eventually(lambda: max(list_queued_bytes(running), default=0) > 500_000)
    second = large(running)
    third = large(running)
    eventually(lambda: running.listener.context.disk.free_bytes < 67_108_864)
    assert {len(client.read_answer().body) for client in (first, second, third)} == {900_000}
    eventually(lambda: running.listener.context.memory.free_bytes == 2_000_000)
    eventually(lambda: running.listener.context.disk.free_bytes == 67_108_864)


def test_a_disconnect_releases_the_memory_of_an_unread_answer(start: Start) -> None:
    running = start(held_limit=1_000_000)
    clients = [large(running) for _ in range(2)]
    eventually(lambda: not any(connection.requests for connection in running.listener.connections))
    for client in clients:
        client.close()
    eventually(lambda: running.listener.context.memory.free_bytes == 1_000_000)
    eventually(lambda: running.listener.context.disk.free_bytes == 67_108_864)


def test_a_reader_slower_than_the_least_rate_is_cut(start: Start, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=60, transfer_timeout=120)
    client = large(running, 6_000_000)  # 50,000 bytes a second
    eventually(lambda: any(list_queued_bytes(running)))
    eventually(lambda: not any(connection.requests for connection in running.listener.connections))
    for _ in range(20):
        client.socket.recv(10_000)
        running.wait_for_loop()
        clock.now += 5
    running.wait_for_loop()
    eventually(lambda: running.count_connections() == 0)


def test_a_reader_above_the_least_rate_gets_all(start: Start, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=60, transfer_timeout=120)
    client = large(running, 6_000_000)
    eventually(lambda: any(list_queued_bytes(running)))
    received_bytes = 0
    while received_bytes < 6_000_000:
        received_bytes += len(client.stream.read(200_000))
        running.wait_for_loop()
        clock.now += 1
    assert received_bytes >= 6_000_000


def test_a_fast_reader_takes_turns_with_other_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.httpd.loop.MAX_CHUNKS_PER_SEND", 1)
    monkeypatch.setattr("finapi.httpd.loop.MAX_SENDS_IN_TURN", 2)
    loop = Loop(time.monotonic)
    ours, peer = socket.socketpair()
    connection = Connection(loop, ours)
    connection.send([b"x"] * 5)
    queue_lengths = [len(connection.queue)]
    for _ in range(2):
        loop.step(1.0)
        queue_lengths.append(len(connection.queue))
    assert queue_lengths == [3, 1, 0]
    connection.send([b"y"] * 3)
    connection.finish()  # what is queued is sent before the end
    loop.step(1.0)
    assert peer.recv(100) == b"xxxxxyyy"
    assert peer.recv(100) == b""
    peer.close()
    loop.close()


class Drained(Connection):
    """A connection to which a thread sends just as the loop finds that nothing waits to be sent any more."""

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.sent_late = False
        super().__init__(loop, sock)

    def wanted_events(self) -> int:
        events = super().wanted_events()
        if self._asked_for_output and not self.queue and not self.sent_late:
            self.sent_late = True
            sender = threading.Thread(target=self._send_if_unlocked)
            sender.start()
            sender.join()
        return events

    @property
    def _asked_for_output(self) -> bool:
        return bool(self.loop._registered_events.get(self.descriptor, 0) & WRITE)

    def _send_if_unlocked(self) -> None:
        if self.lock.acquire(blocking=False):
            self.send([b"y" * 1_000_000])
            self.lock.release()


def test_output_of_a_thread_during_a_look_of_the_loop_is_sent() -> None:
    loop = Loop(time.monotonic)
    ours, peer = socket.socketpair()
    connection = Drained(loop, ours)
    peer.settimeout(10)
    connection.send([b"x" * 1_000_000])
    loop.step(0.0)
    received = 0
    while received < 1_000_000 or connection.queue:
        received += len(peer.recv(65_536))
        loop.step(0.0)
    assert connection.sent_late
    peer.close()
    loop.close()


def test_sockets_of_clients_do_not_wait(start: Start) -> None:
    running = start()
    client = running.connect()
    assert client.send(GET).read_answer().status == 200
    (connection,) = running.listener.connections
    assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
