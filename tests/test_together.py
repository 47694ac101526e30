"""Calls that the server answers together, over real sockets: which batch each is in, and what ends one early."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from finapi.httpd.listen import HttpConnection
from finapi.httpd.settings import Answer
from finapi.httpd.together import AT_ONCE, Together
from tests.test_listen import App, Client, Clock, Running, eventually
from tests.test_listen import app as app
from tests.test_listen import start as start

BIG = 900_000

Gathered = Callable[..., tuple[Running, list[Client]]]


class Shared:
    """A call that waits to be answered with others."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.deadline = 0.0
        self.told: list[int] = []
        self.on_its_way = False

    def give_up(self, status: int) -> tuple[list[tuple[str, str]], bytes] | None:
        self.told.append(status)
        return None if self.on_its_way else ([("X-API-Version", "1.2.3")], b"too late")


class Batches:
    """An application that answers ``/shared...`` together, each batch when it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.calls: list[Shared] = []
        self.entered = threading.Semaphore(0)
        self.release = threading.Semaphore(0)
        self.sizes: dict[str, int] = {}
        self.fails: BaseException | None = None

    def came(self, count: int) -> None:
        """Return when so many calls have come in."""
        eventually(lambda: len(self.calls) == count)

    def at_once(self, target: str, headers: dict[str, str], peer: str) -> Any:
        if not target.startswith("/shared"):
            return None
        self.calls.append(Shared(target))
        return self.calls[-1]

    def answer(self, calls: Sequence[Shared]) -> Iterator[Answer]:
        self.batches.append([call.target for call in calls])
        self.entered.release()
        assert self.release.acquire(timeout=10)
        for number, call in enumerate(calls):
            if self.fails is not None and number:
                raise self.fails
            body = call.target.encode().ljust(self.sizes.get(call.target, 0), b"x")
            yield "200 OK", [("Content-Length", str(len(body)))], body


@pytest.fixture
def batches() -> Batches:
    return Batches()


@pytest.fixture
def run(start: Callable[..., Running], batches: Batches) -> Iterator[Callable[..., Running]]:
    """Starts servers over the batches; whatever is still held at the end is let go."""
    yield lambda **settings: start(at_once=batches.at_once, answer_together=batches.answer, **settings)
    batches.release.release(100)


def get(target: str, more: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: a\r\n{more}\r\n".encode()


@pytest.fixture
def gathered(run: Callable[..., Running], batches: Batches) -> Gathered:
    """Starts a server that is answering ``/shared0`` while so many calls, ``/shared1`` and on, wait behind it."""

    def gather(waiting: int, **settings: Any) -> tuple[Running, list[Client]]:
        running = run(**settings)
        clients = [running.connect() for _ in range(waiting + 1)]
        for number, client in enumerate(clients):
            client.send(get(f"/shared{number}"))
            batches.came(number + 1)
            assert number or batches.entered.acquire(timeout=10)
        return running, clients

    return gather


def test_a_call_alone_waits_for_nobody(run: Callable[..., Running], batches: Batches) -> None:
    batches.release.release(2)
    client = run().connect()
    for target in ("/shared1", "/shared2"):
        answer = client.send(get(target)).answer()
        assert (answer.status, answer.body, answer.headers.get("connection")) == (200, target.encode(), None)
    assert batches.batches == [["/shared1"], ["/shared2"]]


def test_calls_that_come_while_others_are_answered_are_the_next_batch(gathered: Gathered, batches: Batches) -> None:
    _, clients = gathered(3)
    assert clients[1].is_silent()
    batches.release.release(2)
    assert [client.answer().body for client in clients] == [b"/shared0", b"/shared1", b"/shared2", b"/shared3"]
    assert batches.batches == [["/shared0"], ["/shared1", "/shared2", "/shared3"]]


def test_the_next_batch_begins_when_the_answers_of_the_one_before_are_under_way(
    run: Callable[..., Running], batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = run(threads=2)
    clients = [running.connect() for _ in range(2)]
    eventually(lambda: len(running.listener.connections) == 2)
    goes_on = threading.Event()
    answered = HttpConnection.answered

    def held(self: HttpConnection, answer: Answer) -> None:
        assert answer[2] != b"/shared0" or goes_on.wait(10)
        answered(self, answer)

    monkeypatch.setattr(HttpConnection, "answered", held)
    clients[0].send(get("/shared0"))
    assert batches.entered.acquire(timeout=10)
    clients[1].send(get("/shared1"))
    batches.came(2)
    batches.release.release(2)
    assert clients[1].answer().body == b"/shared1"
    assert clients[0].is_silent()
    goes_on.set()
    assert clients[0].answer().body == b"/shared0"


def test_a_batch_is_bounded(run: Callable[..., Running], batches: Batches) -> None:
    running = run()
    clients = [running.connect() for _ in range(AT_ONCE + 3)]
    clients[0].send(get("/shared0"))
    assert batches.entered.acquire(timeout=10)
    for client in clients[1:]:
        client.send(get("/shared"))
    eventually(lambda: len(batches.calls) == AT_ONCE + 3)
    batches.release.release(3)
    assert {client.answer().status for client in clients} == {200}
    assert [len(batch) for batch in batches.batches] == [1, AT_ONCE, 2]


def test_who_waits_for_a_batch_counts_in_the_queue_that_is_bounded(gathered: Gathered, batches: Batches) -> None:
    running, clients = gathered(2, queue_limit=2)
    assert running.connect().send(get("/shared3")).answer().error == "SERVICE_UNAVAILABLE"
    batches.release.release(2)
    assert [clients[number].answer().status for number in range(3)] == [200, 200, 200]


def test_at_its_deadline_a_call_is_answered_504_in_its_own_words_and_what_comes_late_is_dropped(
    run: Callable[..., Running], batches: Batches
) -> None:
    clock = Clock()
    running = run(clock=clock, server_timeout=20.0)
    client = running.connect().send(get("/shared0"))
    assert batches.entered.acquire(timeout=10)
    assert batches.calls[0].deadline == 5020.0
    clock.now += 21
    running.settle()
    answer = client.answer()
    assert (answer.status, answer.body, answer.headers["connection"]) == (504, b"too late", "close")
    batches.release.release()
    assert client.at_end()
    assert batches.calls[0].told == [504]


def test_an_answer_that_is_on_its_way_at_the_deadline_is_waited_for(
    run: Callable[..., Running], batches: Batches
) -> None:
    clock = Clock()
    running = run(clock=clock, server_timeout=20.0)
    client = running.connect().send(get("/shared0"))
    assert batches.entered.acquire(timeout=10)
    batches.calls[0].on_its_way = True
    clock.now += 21
    running.settle()
    assert batches.calls[0].told == [504]
    batches.release.release()
    assert client.answer().body == b"/shared0"


@pytest.mark.parametrize("error", [ValueError("a mistake of the application"), SystemExit()])
def test_an_error_costs_the_connections_of_its_batch_that_have_no_answer(
    gathered: Gathered, batches: Batches, error: BaseException
) -> None:
    _, clients = gathered(3)
    batches.fails = error
    batches.release.release(2)
    assert [client.answer().body for client in clients[:2]] == [b"/shared0", b"/shared1"]
    assert [client.at_end() for client in clients[2:]] == [True, True]
    batches.fails = None
    batches.release.release()
    assert clients[0].send(get("/shared4")).answer().body == b"/shared4"


def test_an_answer_that_cannot_be_held_costs_the_others_of_its_batch_nothing(
    gathered: Gathered, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold(connection: HttpConnection) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(HttpConnection, "_hold", hold)
    batches.sizes["/shared1"] = 20 * BIG
    running, clients = gathered(3)
    batches.release.release(2)
    assert [clients[number].answer().body for number in (0, 2, 3)] == [b"/shared0", b"/shared2", b"/shared3"]
    eventually(lambda: len(running.listener.connections) == 3)


def test_one_batch_is_answered_at_a_time_though_its_first_answer_cannot_be_sent() -> None:
    sent: list[int] = []
    begun: list[str] = []

    class Client:
        def __init__(self, number: int) -> None:
            self.number = number

        def answered(self, answer: Answer) -> None:
            if not self.number:
                together.add(Client(2), 2)
                raise OSError(errno.ENOSPC, "No space left on device")
            sent.append(self.number)

        def abandon(self) -> None:
            sent.append(-self.number)

    def answers(calls: Sequence[int]) -> Iterator[Answer]:
        return iter([("200 OK", [], b"")] * len(calls))

    together: Together[Client, int] = Together(answers, lambda act: act(), lambda: begun.append("batch"))
    together._led = True  # both calls gather behind another batch
    for number in (0, 1):
        together.add(Client(number), number)
    together.serve()
    assert (begun, sent) == (["batch"], [0, 1])
    together.serve()
    assert (begun, sent, len(together)) == (["batch"], [0, 1, 2], 0)


def test_a_pipeline_is_answered_in_order_whoever_answers(run: Callable[..., Running], batches: Batches) -> None:
    batches.release.release(10)
    client = run().connect().send(get("/shared0") + get("/one") + get("/shared1"))
    # Those behind the first are answered by the application.
    assert [client.answer().body for _ in range(3)] == [b"/shared0", b"/one 0", b"/shared1 0"]


def test_a_client_that_wants_to_close_is_answered_and_closed(run: Callable[..., Running], batches: Batches) -> None:
    batches.release.release()
    client = run().connect().send(get("/shared0", "Connection: close\r\n"))
    answer = client.answer()
    assert (answer.body, answer.headers["connection"]) == (b"/shared0", "close")
    assert client.at_end()


def test_a_client_that_has_gone_costs_the_others_nothing(gathered: Gathered, batches: Batches) -> None:
    running, clients = gathered(2)
    clients[1].close()
    batches.release.release(2)
    assert [clients[number].answer().body for number in (0, 2)] == [b"/shared0", b"/shared2"]
    eventually(lambda: len(running.listener.connections) == 2)


def test_a_body_behind_a_shared_call_is_read_after_it(run: Callable[..., Running], batches: Batches) -> None:
    client = run().connect().send(get("/shared0") + b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
    assert batches.entered.acquire(timeout=10)
    batches.release.release()
    assert client.answer().body == b"/shared0"
    assert client.send(b"cd").answer().body == b"/ 4"


def test_answers_that_nobody_reads_are_held_within_the_bounds(run: Callable[..., Running], batches: Batches) -> None:
    batches.sizes = {f"/shared{number}": BIG for number in range(2)}
    batches.release.release(2)
    running = run(held_limit=1_000_000, spool_limit=1_000_000)
    for number in range(2):
        running.connect(buffer=4096).send(get(f"/shared{number}"))
        assert batches.entered.acquire(timeout=10)
    # The first waits in memory, the second in a file, of which a part is in memory.
    eventually(lambda: sum(one._spooled > 0 for one in running.listener.connections) == 1)
    assert sum(sum(map(len, one.queue)) for one in running.listener.connections) < BIG + 200_000


def test_a_stop_waits_for_a_batch_and_answers_503_to_what_it_cannot_wait_for(
    run: Callable[..., Running], batches: Batches
) -> None:
    running = run()
    client = running.connect().send(get("/shared0"))
    assert batches.entered.acquire(timeout=10)
    running.listener.stop(grace=0)
    answer = client.answer()
    assert (answer.status, answer.body) == (503, b"too late")
    assert batches.calls[0].told == [503]


def test_nothing_is_called_for_what_is_answered_together(
    run: Callable[..., Running], batches: Batches, app: App
) -> None:
    batches.release.release()
    assert run().ask(get("/shared0")).body == b"/shared0"
    assert app.calls == []
