"""Socket.IO: the ``python-socketio`` client over each transport, and long-polling by hand."""

from __future__ import annotations

import http.client
import json
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import pytest
import socketio
import websocket
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery.events import EventTags
from finapi.feeds.websocket import PING_SECONDS
from tests.feeds import SECONDS, Service, key, message, running, tell
from tests.process import eventually
from tests.support.case_tables import run_each_case

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")
TRANSPORTS = {"default": None, "websocket": ["websocket"], "polling": ["polling"]}
transports = pytest.mark.parametrize("transports", TRANSPORTS.values(), ids=TRANSPORTS)
MAIN, INSIDER = "/ws/main-api", "/ws/insider-api"
SOON_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _clients_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the WebSockets that the client leaves open when the server ends a session."""
    connections: list[Any] = []
    create = websocket.create_connection

    def recorded(*args: Any, **options: Any) -> Any:
        connections.append(create(*args, **options))
        return connections[-1]

    monkeypatch.setattr(websocket, "create_connection", recorded)
    yield
    for connection in connections:
        connection.shutdown()


class Client:
    """A python-socketio client and the events that it has received."""

    def __init__(self, service: Service, *namespaces: str, path: str = "socket.io", **options: Any) -> None:
        self.socket = socketio.Client(reconnection=False)
        eio, start = self.socket.eio, self.socket.eio.start_background_task

        def in_order(target: Callable[..., Any], *args: Any, **options: Any) -> Any:
            # The client starts a thread for each message, which may change their order. Here a message is handled in
            # the thread that receives it, in the order of the transport.
            return target(*args) if target == eio.handlers["message"] else start(target, *args, **options)

        eio.start_background_task = in_order
        self.received: queue.Queue[tuple[str, str, Any]] = queue.Queue()
        for namespace in namespaces:
            self._listen(namespace)
        query = options.pop("query", "")
        self.socket.connect(
            f"http://{service.host}{query}",
            socketio_path=path,
            namespaces=list(namespaces),
            wait_timeout=SECONDS,
            **options,
        )

    def _listen(self, namespace: str) -> None:
        self.socket.on("*", lambda event, *data: self.received.put((namespace, event, data[0])), namespace=namespace)

    def next(self) -> tuple[str, str, Any]:
        return self.received.get(timeout=SECONDS)

    def seqs(self, count: int) -> list[int]:
        return [self.next()[2]["seq"] for _ in range(count)]


@contextmanager
def client(service: Service, *namespaces: str, **options: Any) -> Iterator[Client]:
    opened = Client(service, *namespaces, **options)
    try:
        yield opened
    finally:
        # The client's writer may end before it has sent its disconnect; then its open poll would last for 25 seconds.
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(opened.socket.disconnect)
            if wait([ended], SOON_SECONDS).not_done:
                service.advance(PING_SECONDS)
            ended.result(timeout=SECONDS)


@transports
def test_a_feeds_own_path_is_the_namespace_slash(service: Service, transports: list[str] | None) -> None:
    tell(service.app, 30)
    auth = {"token": key(service.app)}
    with client(service, "/", path="ws/main-api", auth=auth, transports=transports) as reader:
        received = [reader.next() for _ in range(20)]
        assert received == [("/", "new_filing", message(seq, catching_up=True)) for seq in range(11, 31)]
        tell(service.app)
        assert reader.next() == ("/", "new_filing", message(31))
        assert reader.socket.transport() == ("polling" if transports == ["polling"] else "websocket")


@transports
def test_the_feeds_paths_are_namespaces_of_socket_io(service: Service, transports: list[str] | None) -> None:
    tell(service.app)
    tell(service.app, type="insider_transaction")
    auth = {"token": key(service.app)}
    with client(service, MAIN, INSIDER, auth=auth, transports=transports) as reader:
        assert sorted(reader.next()[:2] for _ in range(2)) == [(INSIDER, "insider_transaction"), (MAIN, "new_filing")]
        service.settled(connections=1, sessions=1, readers=2)
        tell(service.app, 3)
        assert reader.seqs(3) == [2, 3, 4]


@transports
@pytest.mark.parametrize("way", ["query token", "query apiKey", "header"])
def test_the_key_may_come_with_the_request(service: Service, transports: list[str] | None, way: str) -> None:
    tell(service.app)
    api_key = key(service.app)
    options: dict[str, Any] = {"headers": {"X-API-Key": api_key}}
    if way != "header":
        options = {"query": f"?{way.split()[1]}={api_key}"}
    with client(service, MAIN, transports=transports, **options) as reader:
        assert reader.seqs(1) == [1]


@transports
def test_a_reader_resumes_after_the_number_in_its_auth(service: Service, transports: list[str] | None) -> None:
    tell(service.app, 300)
    auth = {"token": key(service.app), "since_seq": 50}
    with client(service, MAIN, auth=auth, transports=transports) as reader:
        assert reader.seqs(250) == list(range(51, 301))


@transports
@run_each_case("plan, code", [(None, 4401), ("free", 4429)])
def test_a_refusal_is_a_connect_error_with_its_code(
    service: Service, transports: list[str] | None, plan: str | None, code: int
) -> None:
    api_key = key(service.app, plan) if plan else "0" * 32
    with connect(f"ws://{service.host}{MAIN}?token={api_key}", proxy=None):
        refused: queue.Queue[Any] = queue.Queue()
        reader = socketio.Client(reconnection=False)
        reader.on("connect_error", refused.put, namespace=MAIN)
        with pytest.raises(socketio.exceptions.ConnectionError):
            reader.connect(
                f"http://{service.host}",
                namespaces=[MAIN],
                auth={"token": api_key},
                transports=transports,
                wait_timeout=SECONDS,
            )
        assert refused.get(timeout=SECONDS)["data"] == {"code": code}
        reader.disconnect()


def test_a_namespace_that_is_no_feed_is_refused(service: Service) -> None:
    with pytest.raises(socketio.exceptions.ConnectionError, match="namespaces failed to connect: /other"):
        Client(service, "/other", auth={"token": key(service.app)})


@transports
def test_subscribe_filters_and_is_acknowledged(service: Service, transports: list[str] | None) -> None:
    with client(service, MAIN, auth={"token": key(service.app)}, transports=transports) as reader:
        answer = reader.socket.call("subscribe", {"tickers": ["aapl"]}, namespace=MAIN, timeout=SECONDS)
        assert answer["data"] == {"tickers": ["AAPL"], "ciks": [], "form_types": []}
        tell(service.app)
        tell(service.app, about=APPLE)
        assert reader.seqs(1) == [2]
        reader.socket.emit("unsubscribe", {"tickers": ["AAPL"]}, namespace=MAIN)
        assert reader.next()[1] == "subscribed"
        reader.socket.emit("dance", namespace=MAIN)
        _, event, content = reader.next()
        assert (event, content["data"]["code"]) == ("error", "INVALID_PARAM")


@pytest.mark.slow
def test_leaving_a_namespace_makes_room(service: Service) -> None:
    free = key(service.app, "free")
    tell(service.app)
    for _ in range(5):
        with client(service, MAIN, auth={"token": free}) as reader:
            assert reader.seqs(1) == [1]


# A polling session ends when its open poll does.
@pytest.mark.slow
@transports
def test_a_session_that_ended_leaves_nothing(service: Service, transports: list[str] | None) -> None:
    with client(service, MAIN, auth={"token": key(service.app)}, transports=transports):
        eventually(lambda: service.counts["readers"] == 1, SECONDS)
    service.outwaited()


@pytest.mark.slow
@transports
def test_a_stop_ends_the_session(app: App, clock: FixedClock, transports: list[str] | None) -> None:
    ended: queue.Queue[str] = queue.Queue()
    with (
        running(app, clock) as service,
        client(service, MAIN, auth={"token": key(app)}, transports=transports) as reader,
    ):
        reader.socket.on("disconnect", ended.put, namespace=MAIN)
        eventually(lambda: service.counts["readers"] == 1, SECONDS)
        service.stop()
        ended.get(timeout=SECONDS)


# ---- long-polling by hand


def call(
    service: Service, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection(*service.address, timeout=SECONDS)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


class Polling:
    """A long-polling session."""

    def __init__(self, service: Service, path: str = "/socket.io/") -> None:
        self.service = service
        self.path = f"{path}?EIO=4&transport=polling"
        status, _, body = self.get()
        assert status == 200
        self.handshake = json.loads(body[1:])
        self.path += f"&sid={self.handshake['sid']}"

    def get(self) -> tuple[int, dict[str, str], str]:
        return call(self.service, "GET", self.path)

    def post(self, body: str | bytes) -> int:
        return call(self.service, "POST", self.path, body.encode() if isinstance(body, str) else body)[0]


@pytest.fixture
def polling(service: Service) -> Polling:
    return Polling(service)


def test_the_handshake_states_the_terms_of_a_session(polling: Polling) -> None:
    assert {name: value for name, value in polling.handshake.items() if name != "sid"} == {
        "upgrades": ["websocket"],
        "pingInterval": 20_000,
        "pingTimeout": 20_000,
        "maxPayload": 65_536,
    }
    assert len(polling.handshake["sid"]) == 20


def test_a_poll_answers_with_all_waiting_packets(polling: Polling) -> None:
    app = polling.service.app
    tell(app, 2)
    assert polling.post(f"40{MAIN}," + json.dumps({"token": key(app)})) == 200
    polling.service.settled(sessions=1, readers=1)
    status, headers, body = polling.get()
    first, second, third = body.split("\x1e")
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=UTF-8")
    assert headers["X-API-Version"]
    assert first == f'40{MAIN},{{"sid":"{polling.handshake["sid"]}.main-api"}}'
    assert json.loads(second.partition(",")[2]) == ["new_filing", message(1, catching_up=True)]
    assert json.loads(third.partition(",")[2]) == ["new_filing", message(2, catching_up=True)]


def test_a_session_that_does_not_answer_its_ping_ends(polling: Polling) -> None:
    service = polling.service
    polling.post(f"40{MAIN}," + json.dumps({"token": key(service.app)}))
    polling.get()
    service.advance(20)
    assert polling.get()[2] == "2"
    assert polling.post("3") == 200
    service.advance(20)
    assert polling.get()[2] == "2"
    service.advance(20)
    eventually(lambda: service.counts["sessions"] == 0, SECONDS)
    assert polling.get()[0] == 400


def test_a_session_that_joins_nothing_in_five_seconds_ends(polling: Polling) -> None:
    polling.service.settled(sessions=1, unauthenticated=1)
    polling.service.advance(5)
    polling.service.settled()
    assert polling.get()[0] == 400


def test_a_refused_session_also_has_five_seconds(polling: Polling) -> None:
    assert polling.post(f"40{MAIN}") == 200
    assert polling.get()[2] == (f'44{MAIN},{{"message":"A valid API key is needed.","data":{{"code":4401}}}}')
    polling.service.advance(5)
    polling.service.settled()


@pytest.mark.parametrize(
    "body", ["", "7", "2", "5", "42", '42["x"]', f"42{MAIN},[1]", "b64", b"\xff", "4" * 65_537, "6\x1e" * 70]
)
def test_an_invalid_body_ends_the_session(polling: Polling, body: str | bytes) -> None:
    assert polling.post(body) == (413 if len(body) > 65_536 else 400)
    polling.service.settled()


def test_joining_a_namespace_twice_ends_the_session(polling: Polling) -> None:
    join = f"40{MAIN}," + json.dumps({"token": key(polling.service.app)})
    assert polling.post(join) == 200
    polling.service.settled(sessions=1, readers=1)
    assert polling.post(join) == 400
    polling.service.settled()


def test_a_client_ends_its_session(polling: Polling) -> None:
    polling.post(f"40{MAIN}," + json.dumps({"token": key(polling.service.app)}))
    assert polling.post("1") == 200
    polling.service.settled()


@run_each_case(
    "method, path",
    [
        ("GET", "/socket.io/?EIO=3&transport=polling"),
        ("GET", "/socket.io/?EIO=4"),
        ("GET", "/socket.io/?EIO=4&transport=flashsocket"),
        ("GET", "/socket.io/?EIO=4&transport=websocket"),
        ("GET", "/socket.io/?EIO=4&transport=polling&sid=unknown"),
        ("POST", "/socket.io/?EIO=4&transport=polling"),
        ("PUT", "/socket.io/?EIO=4&transport=polling"),
        ("GET", "/socket.io/"),
        ("GET", "/ws/main-api"),
        ("POST", "/ws/main-api"),
    ],
)
def test_an_invalid_handshake_is_an_api_error(service: Service, method: str, path: str) -> None:
    status, headers, body = call(service, method, path)
    assert (status, json.loads(body)["code"]) == (400, "BAD_REQUEST")
    assert headers["Connection"] == "close"


def test_connections_without_a_key_are_bounded_for_an_address(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_unauthenticated_per_address=3), clock) as service:
        sessions = [Polling(service) for _ in range(3)]
        assert call(service, "GET", "/socket.io/?EIO=4&transport=polling")[0] == 429
        sessions[0].post("1")
        assert call(service, "GET", "/socket.io/?EIO=4&transport=polling")[0] == 200


def test_a_page_of_another_origin_may_poll(service: Service) -> None:
    path = "/socket.io/?EIO=4&transport=polling"
    status, headers, _ = call(service, "GET", path, headers={"Origin": "https://app.example.com"})
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, "*")
    status, headers, _ = call(service, "OPTIONS", path, headers={"Origin": "https://app.example.com"})
    assert (status, headers["Access-Control-Allow-Headers"]) == (204, "X-API-Key, Content-Type, Last-Event-ID")


def test_a_poll_on_a_reused_connection_is_handed_over(service: Service) -> None:
    connection = http.client.HTTPConnection(*service.address, timeout=SECONDS)
    for _ in range(3):
        connection.request("GET", "/livez")
        assert connection.getresponse().read()
    connection.request("GET", "/socket.io/?EIO=4&transport=polling")
    answer = connection.getresponse()
    assert (answer.status, answer.read()[:1]) == (200, b"0")
    connection.close()


def test_a_websocket_takes_over_a_session_with_waiting_events(polling: Polling) -> None:
    service = polling.service
    polling.post(f"40{MAIN}," + json.dumps({"token": key(service.app)}))
    polling.get()
    with connect(upgrade_url(polling), proxy=None, ping_interval=None) as socket:
        socket.send("2probe")
        assert socket.recv(timeout=SECONDS) == "3probe"
        tell(service.app, 2)
        eventually(lambda: service.feeds._sessions[polling.handshake["sid"]].waiting() == 2, SECONDS)
        socket.send("5")
        seqs = [json.loads(str(socket.recv(timeout=SECONDS)).partition(",")[2])[1]["seq"] for _ in range(2)]
        assert seqs == [1, 2]
        assert polling.get()[0] == 400, "no poll is accepted in addition to the WebSocket"
    service.settled()


def upgrade_url(polling: Polling) -> str:
    return f"ws://{polling.service.host}/socket.io/?EIO=4&transport=websocket&sid={polling.handshake['sid']}"


def test_polls_are_answered_immediately_during_an_upgrade(polling: Polling) -> None:
    polling.post(f"40{MAIN}," + json.dumps({"token": key(polling.service.app)}))
    polling.get()
    with connect(upgrade_url(polling), proxy=None, ping_interval=None) as socket:
        socket.send("2probe")
        assert socket.recv(timeout=SECONDS) == "3probe"
        assert [polling.get()[2] for _ in range(3)] == ["6", "6", "6"]
        tell(polling.service.app)
        session = polling.service.feeds._sessions[polling.handshake["sid"]]
        eventually(lambda: session.waiting() == 1, SECONDS)
        assert '"seq":1,' in polling.get()[2]
        socket.send("5")
        tell(polling.service.app)
        assert '"seq":2,' in str(socket.recv(timeout=SECONDS))
    polling.service.settled()


@pytest.mark.slow
@pytest.mark.parametrize("changes", [True, False])
def test_a_stop_waits_for_an_upgrade_to_finish(polling: Polling, changes: bool) -> None:
    """If it did not wait, engine.io-client 6 would stay paused until a ping is overdue, 40 seconds later."""
    polling.post(f"40{MAIN}," + json.dumps({"token": key(polling.service.app)}))
    polling.get()
    with connect(upgrade_url(polling), proxy=None, ping_interval=None) as socket, ThreadPoolExecutor() as pool:
        socket.send("2probe")
        assert socket.recv(timeout=SECONDS) == "3probe"
        assert polling.get()[2] == "6"
        stopped = pool.submit(polling.service.stop)
        eventually(lambda: polling.service.feeds._stopping.is_set(), SECONDS)
        if changes:
            socket.send("5")
            eventually(lambda: socket.close_code is not None, SECONDS)
            assert socket.close_code == 1001
        stopped.result(timeout=SECONDS)
        polling.service.settled()


def test_an_unfinished_upgrade_is_abandoned_and_polls_wait_again(polling: Polling) -> None:
    service = polling.service
    polling.post(f"40{MAIN}," + json.dumps({"token": key(service.app)}))
    polling.get()
    with connect(upgrade_url(polling), proxy=None, ping_interval=None) as socket:
        socket.send("2probe")
        assert socket.recv(timeout=SECONDS) == "3probe"
        service.advance(5)
        service.settled(sessions=1, readers=1)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(polling.get)
            service.settled(connections=1, sessions=1, readers=1)
            tell(service.app)
            assert '"seq":1,' in waiting.result(timeout=SECONDS)[2]


def test_closing_a_websocket_after_its_upgrade_ends_the_session(polling: Polling) -> None:
    service = polling.service
    polling.post(f"40{MAIN}," + json.dumps({"token": key(service.app), "since_seq": 0}))
    polling.get()
    with connect(upgrade_url(polling), proxy=None, ping_interval=None) as socket:
        socket.send("2probe")
        assert socket.recv(timeout=SECONDS) == "3probe"
        subscribe = b"42" + MAIN.encode() + b',["subscribe",{}]'
        frames = [Frame(Opcode.TEXT, b"5"), Frame(Opcode.TEXT, subscribe), Frame(Opcode.CLOSE, b"")]
        # In one write, so that the service reads the frames together.
        socket.socket.sendall(b"".join(frame.serialize(mask=True) for frame in frames))
        service.settled()


@pytest.mark.parametrize("way", ["polling", "websocket", "upgraded"])
def test_the_transport_carries_every_number_in_order(polling: Polling, way: str) -> None:
    service = polling.service
    tell(service.app, 300)
    join = f"40{MAIN}," + json.dumps({"token": key(service.app), "since_seq": 50})
    packets: list[str] = []
    if way == "websocket":
        url = f"ws://{service.host}/socket.io/?EIO=4&transport=websocket"
    else:
        url = upgrade_url(polling)
        assert polling.post(join) == 200
        while len(packets) < (251 if way == "polling" else 100):
            packets += polling.get()[2].split("\x1e")
    if way != "polling":
        with connect(url, proxy=None, ping_interval=None) as socket:
            for packet in ["2probe", "5"] if way == "upgraded" else [join]:
                socket.send(packet)
            while len([packet for packet in packets if packet.startswith("4")]) < 251:
                packets.append(str(socket.recv(timeout=SECONDS)))
    events = [json.loads(packet.partition(",")[2])[1] for packet in packets if packet.startswith("42")]
    assert [event["seq"] for event in events] == list(range(51, 301))


@pytest.mark.parametrize("first", ["5", "40", "2", "nonsense"])
def test_a_websocket_without_a_probe_does_not_take_over(polling: Polling, first: str) -> None:
    url = f"ws://{polling.service.host}/socket.io/?EIO=4&transport=websocket&sid={polling.handshake['sid']}"
    with connect(url, proxy=None) as socket:
        socket.send(first)
        eventually(lambda: socket.close_code == 1002, SECONDS)
    assert polling.post(f"40{MAIN}," + json.dumps({"token": key(polling.service.app)})) == 200
