"""Tests of recordings of a service: written without credentials, replayed, and compared with the service later."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import stat
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from finapi.client import ApiFailure, Client
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.client.synchronous import Send
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.net.outbound import Outbound
from finapi.ops.probes import OPERATOR_TARGET_POLICY
from finapi.testing import FinapiServer, drift, recording
from finapi.testing.base import SEEDED_START
from finapi.testing.control_client import build_wsgi_sender
from finapi.testing.drift import Endpoint, iter_differences
from finapi.testing.recording import Recorder, ServiceRecording, build_outbound_sender
from finapi.testing.running import FIXTURE_SETTINGS, Fixture, run_fixture
from tests.process import finapi
from tests.support.case_tables import run_each_case

KEY = "5ec7e75ec7e75ec7e75ec7e75ec7e75e"
SERVICE = "https://real.example"
FILINGS = "/api/v1/sec/filings?limit=1"


class Service:
    """A service under recording. ``answer`` builds its answers, ``requests`` are those that it received."""

    def __init__(self) -> None:
        self.requests: list[ApiRequest] = []
        self.answer: Callable[[ApiRequest], ApiAnswer | None] = lambda request: build_answer({"n": len(self.requests)})

    def __call__(self, request: ApiRequest) -> ApiAnswer | None:
        self.requests.append(request)
        return self.answer(request)


def build_answer(document: Any, status: int = 200, **headers: str) -> ApiAnswer:
    answer_headers = {
        "content-type": "application/json",
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    return ApiAnswer(status, answer_headers, document if isinstance(document, bytes) else json.dumps(document).encode())


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


@contextmanager
def record_service(service: Service, file: Path) -> Iterator[tuple[Client, Fixture]]:
    """Run a fixture that records a service. Yield a client of it and the fixture."""
    with (
        closing(Recorder(SERVICE, file, KEY, service, SEEDED_START)) as recorder,
        run_fixture(Config(**FIXTURE_SETTINGS), seed=1, listens=False, answer_source=recorder) as fixture,
    ):
        yield (
            Client(fixture.url, fixture.base.accounts["pro"]["api_key"], send=build_wsgi_sender(fixture.gate), tries=1),
            fixture,
        )


@contextmanager
def replay_file(file: Path) -> Iterator[Client]:
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        yield server.client(tries=1)


def test_recorded_answers_are_replayed_in_order(service: Service, file: Path) -> None:
    with record_service(service, file) as (client, _):
        assert [client.call("GET", FILINGS)["n"] for _ in range(2)] == [1, 2]
        assert client.last is not None
        assert client.last.headers["x-finapi-recorded"] == "yes"
    with replay_file(file) as client:
        assert [client.call("GET", FILINGS)["n"] for _ in range(3)] == [1, 2, 2]
        # The fixture itself answers other calls.
        assert client.call("GET", "/api/v1/sec/filings?limit=2")["status"] == "success"
        assert client.last is not None
        assert "x-finapi-recorded" not in client.last.headers
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_each_world_replays_from_the_first_answer(service: Service, file: Path) -> None:
    with record_service(service, file) as (client, _):
        client.call("GET", FILINGS)
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        first_world, second_world = server.world("one"), server.world("other")
        assert [world.client().call("GET", FILINGS)["n"] for world in (first_world, first_world, second_world)] == [
            1,
            2,
            1,
        ]
        first_world.control.reset()
        assert first_world.client().call("GET", FILINGS)["n"] == 1


def test_a_fault_comes_before_the_recording(service: Service, file: Path) -> None:
    with record_service(service, file) as (client, _):
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        server.control.fault("GET /api/v1/sec/filings", status=503, times=1)
        with pytest.raises(ApiFailure, match="503"):
            server.client(tries=1).call("GET", FILINGS)
        assert server.client().call("GET", FILINGS)["n"] == 1


def test_a_known_tag_is_304_for_the_same_credential(service: Service, file: Path) -> None:
    service.answer = lambda request: build_answer({"key": "X-API-Key" in request.headers}, etag='"1"')
    with record_service(service, file) as (client, fixture):
        client.call("GET", FILINGS)
        client_without_key = Client(fixture.url, send=build_wsgi_sender(fixture.gate))
        assert client_without_key.call("GET", FILINGS) == {"key": False}
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        headers = {"X-API-Key": server.api_key, "If-None-Match": '"1"'}
        answer = server.send(ApiRequest("GET", server.url + FILINGS, headers))
        assert (answer.status, answer.body) == (304, b"")
        assert Client(server.url, send=server.send).call("GET", FILINGS) == {"key": False}
        assert server.client().call("GET", FILINGS) == {"key": True}


def test_the_services_key_replaces_the_fixtures(service: Service, file: Path) -> None:
    with record_service(service, file) as (client, fixture):
        client.call("GET", FILINGS)
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        build_wsgi_sender(fixture.gate)(ApiRequest("GET", f"{fixture.url}{FILINGS}&apiKey={fixture_key}"))
        Client(fixture.url, "f" * 32, send=build_wsgi_sender(fixture.gate)).call("GET", FILINGS)
    assert [request.headers["X-API-Key"] for request in service.requests] == [KEY, KEY, "f" * 32]
    assert {request.url for request in service.requests} == {SERVICE + FILINGS}


# ---- keys


def test_no_key_cookie_or_session_is_written(service: Service, file: Path) -> None:
    session = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    body = {"api_key": "a" * 32, "nested": [{"accessToken": 'q"uoted', "kept": 391035000000.10}], "echo": KEY.upper()}
    body["note"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLasw and " + session
    service.answer = lambda request: build_answer(
        body, set_cookie="sid=cookie-of-the-service", link=f"<{KEY}>; rel=next"
    )
    with record_service(service, file) as (client, fixture):
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        assert client.call("GET", FILINGS)["api_key"] == "a" * 32
        assert client.last is not None
        assert "set-cookie" not in client.last.headers
        client.headers |= {"Authorization": "Bearer opaque-session", "Cookie": "sid=mine"}
        client.call("POST", f"/api/v1/sql-proxy?token={fixture_key}", body={"sql": "SELECT 1", "password": "pass word"})
    text = file.read_text()
    for secret in (
        KEY,
        KEY.upper(),
        fixture_key,
        "a" * 32,
        "quoted",
        'q\\"',
        "whsec_",
        "eyJ",
        "cookie",
        "sid",
        "pass word",
        "opaque-session",
    ):
        assert secret not in text, secret
    assert '\\"kept\\": 391035000000.1}' in text
    assert "Cookie" not in {name for request in service.requests for name in request.headers}


@pytest.mark.parametrize(
    "path", ["/api/v1/webhooks/secret", "/api/v1/auth/login", "/api/v1/user/", "/api/v1/user/api-key/rotate", "/"]
)
def test_credentials_and_pages_are_not_recorded(service: Service, file: Path, path: str) -> None:
    service.answer = lambda request: (
        build_answer(b"<p>page", content_type="text/html") if path == "/" else build_answer({"a": "b"})
    )
    with record_service(service, file) as (client, _):
        client.call("GET", path)
        assert client.last is not None
        assert client.last.headers["x-finapi-recorded"] == "no"
    assert len(file.read_text().splitlines()) == 1


def test_a_call_with_the_key_in_a_query_is_not_recorded(service: Service, file: Path) -> None:
    service.answer = lambda request: build_answer({"n": 1})
    with record_service(service, file) as (client, _):
        client.call("GET", f"/api/v1/sec/filings?company={KEY}")
    assert len(file.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "form",
    [
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        KEY.encode().hex().upper(),
        *(base64.b64encode(f"{'k' * offset}{KEY}:".encode()).decode() for offset in range(3)),
        base64.urlsafe_b64encode(f"??>{KEY}".encode()).decode(),
    ],
)
def test_an_answer_with_an_encoded_key_is_not_recorded(service: Service, file: Path, form: str) -> None:
    service.answer = lambda request: build_answer(f'{{"echo": "{form}"}}'.encode())
    with record_service(service, file) as (client, _):
        assert "echo" in client.call("GET", FILINGS)
    assert len(file.read_text().splitlines()) == 1


# ---- limits


def test_a_full_recording_still_passes_calls_on(service: Service, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_FILE_BYTES", 450)
    with record_service(service, file) as (client, _):
        recorded_flags = []
        for _ in range(4):
            client.call("GET", FILINGS)
            assert client.last is not None
            recorded_flags.append(client.last.headers["x-finapi-recorded"])
    assert recorded_flags == ["yes", "no", "no", "no"]
    assert file.stat().st_size <= 450


def test_a_service_that_does_not_answer_is_503(service: Service, file: Path) -> None:
    service.answer = lambda request: None
    with record_service(service, file) as (client, _), pytest.raises(ApiFailure, match=f"503 UNAVAILABLE: {SERVICE}"):
        client.call("GET", FILINGS)


def test_a_long_body_and_another_host_are_refused(service: Service, file: Path) -> None:
    with record_service(service, file) as (client, fixture):
        with pytest.raises(ApiFailure, match="413"):
            client.call("POST", "/api/v1/sql-proxy", body={"sql": "x" * recording.MAX_REQUEST_BYTES})
        environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": "http://elsewhere/", "PATH_INFO": "/", "QUERY_STRING": ""}
        statuses: list[str] = []
        b"".join(fixture.gate(environ, lambda status, headers: statuses.append(status)))
        assert statuses == ["400 Bad Request"]
    assert service.requests == []


DOCUMENT = b'{"n": 1}'
PACKED = gzip.compress(DOCUMENT, mtime=0)  # With a fixed time: parallel workers need the same test ids.
LONG = gzip.compress(b" " * 3_000, mtime=0)


def send_to_raw_server(raw: bytes) -> tuple[int, str]:
    """Return the status and the body of an answer that a server sends as these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        with closing(Outbound(OPERATOR_TARGET_POLICY)) as outbound:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            answer = build_outbound_sender(outbound)(ApiRequest("GET", url))
        thread.join()
    assert answer is not None
    return answer.status, answer.body.decode()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3_000, "the reply is longer than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "the connection was closed in the middle of the reply"),
        (b"not http at all\r\n\r\n", "the reply is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + LONG, "the reply is longer than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + PACKED[:-4], "the reply cannot be decompressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}", "the reply cannot be decompressed"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n{}",
            "the reply has a Content-Encoding that was not requested",
        ),
    ],
)
def test_a_broken_answer_is_reported_with_its_reason(raw: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_ANSWER_BYTES", 1_000)
    assert send_to_raw_server(raw) == (0, reason)


def test_an_answer_compressed_without_request_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Encoding: "
    assert send_to_raw_server(head + b"gzip\r\n\r\n" + PACKED) == (200, DOCUMENT.decode())
    assert send_to_raw_server(head + b"Deflate\r\n\r\n" + zlib.compress(DOCUMENT)) == (200, DOCUMENT.decode())


# ---- what a proxy must not change


def test_a_redirect_leads_to_the_fixture_and_is_not_written(service: Service, file: Path) -> None:
    locations = [f"{SERVICE}/reset?token=t0k3n", "https://real.example.evil/x", "https://elsewhere.example/x"]
    service.answer = lambda request: build_answer({}, 302, location=locations[len(service.requests) - 1])
    with record_service(service, file) as (_, fixture):
        answers = [build_wsgi_sender(fixture.gate)(ApiRequest("GET", fixture.url + FILINGS)) for _ in locations]
        received = [answer.headers["location"] for answer in answers if answer is not None]
    assert received == ["/reset?token=t0k3n", *locations[1:]]
    assert "t0k3n" not in file.read_text()


def test_a_head_has_its_length_and_a_204_has_none(service: Service, file: Path) -> None:
    service.answer = lambda request: (
        build_answer(b"", 200, content_length="1234")
        if request.method == "HEAD"
        else build_answer(b"", 204, content_length="9")
    )

    def list_lengths(send: Send, url: str) -> list[str | None]:
        answers = [send(ApiRequest(method, url + FILINGS)) for method in ("HEAD", "DELETE")]
        return [None if answer is None else answer.headers.get("content-length") for answer in answers]

    with record_service(service, file) as (_, fixture):
        assert list_lengths(build_wsgi_sender(fixture.gate), fixture.url) == ["1234", None]
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        assert list_lengths(server.send, server.url) == ["1234", None]


def test_an_invalid_status_is_refused_and_not_recorded(service: Service, file: Path) -> None:
    service.answer = lambda request: build_answer({}, (999, 101, 599)[len(service.requests) - 1])
    with record_service(service, file) as (client, _):
        statuses = []
        for _ in range(3):
            with pytest.raises(ApiFailure) as caught:
                client.call("GET", FILINGS)
            statuses.append(caught.value.status)
    assert statuses == [503, 503, 599]
    assert [[answer.status for answer in answers] for answers in ServiceRecording(file).answers.values()] == [[599]]


@pytest.mark.parametrize("tags", ['"1"', 'W/"1"', '"0", "1"'])
def test_a_known_tag_is_304_in_every_notation(service: Service, file: Path, tags: str) -> None:
    service.answer = lambda request: build_answer({}, etag='W/"1"')
    with record_service(service, file) as (client, _):
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        headers = {"X-API-Key": server.api_key, "If-None-Match": tags}
        answer = server.send(ApiRequest("GET", server.url + FILINGS, headers))
        assert (answer.status, answer.body, "content-length" in answer.headers) == (304, b"", False)


def test_the_key_is_replaced_in_bodies_and_bearers(service: Service, file: Path) -> None:
    service.answer = lambda request: build_answer({"error": f"no column {request.body!r}"})
    with record_service(service, file) as (client, fixture):
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        client.call("POST", "/api/v1/sql-proxy", body={"api_key": fixture_key, "password": "hunter2"})
        build_wsgi_sender(fixture.gate)(
            ApiRequest("GET", fixture.url + FILINGS, {"Authorization": f"Bearer {fixture_key}"})
        )
    assert json.loads(service.requests[0].body) == {"api_key": KEY, "password": "hunter2"}
    assert service.requests[1].headers["Authorization"] == f"Bearer {KEY}"
    assert [text in file.read_text() for text in (KEY, fixture_key, "hunter2", "removed")] == [
        False,
        False,
        False,
        True,
    ]


HEAD = '{"finapi_recording": 1, "of": "https://real.example", "at": "2026-01-31T12:00:00.000Z"}\n'
CALL: dict[str, Any] = {"method": "GET", "path": "/", "query": [], "accept": "", "body": "", "credential": "none"}
CALL |= {"status": 200, "headers": {}, "text": ""}


@run_each_case(
    "text, message",
    [
        ("", "is empty"),
        ("{}", "line 1 is not a line of a recording"),
        ('{"finapi_recording": 2, "of": "x"}', "line 1 is not a line of a recording"),
        (HEAD + "[]", "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "headers": {"a": "b\r\nSet-Cookie: c"}}), "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "headers": {"b\r\nset-cookie": "c"}}), "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "headers": {"content-length": "3"}}), "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "headers": {"transfer-encoding": "x"}}), "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "path": ".other.example/"}), "line 2 is not a line of a recording"),
        (HEAD + json.dumps({**CALL, "status": 99}), "line 2 is not a line of a recording"),
        (HEAD + "[" * 100_000, "line 2 is not a line of a recording"),
    ],
)
def test_a_wrong_line_of_a_recording_is_named(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=f"{file}: {message}"):
        ServiceRecording(file)


def test_an_existing_file_is_not_overwritten(service: Service, file: Path) -> None:
    file.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        Recorder(SERVICE, file, KEY, service, SEEDED_START)
    assert file.read_text() == "mine"


# ---- verify


def list_differences(service: Service, service_recording: ServiceRecording | None = None) -> list[tuple[str, str]]:
    with run_fixture(Config(**FIXTURE_SETTINGS), seed=1, listens=False, answer_source=service_recording) as fixture:
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        fixture_endpoint = Endpoint(fixture.url, fixture_key, build_wsgi_sender(fixture.gate))
        return list(
            iter_differences(Endpoint(SERVICE, KEY, service), fixture_endpoint, lambda seconds: None, service_recording)
        )


@pytest.mark.slow
def test_an_equal_service_has_no_differences(service: Service) -> None:
    with FinapiServer(seed=3, listens=False) as server:
        service.answer = lambda request: server.send(
            ApiRequest(
                "GET", request.url.replace(SERVICE, server.url), {**request.headers, "X-API-Key": server.api_key}
            )
        )
        assert list_differences(service) == []
    assert [request.headers["X-API-Key"] for request in service.requests] == [KEY] * len(drift.DEFAULT_TARGETS)


def test_every_kind_of_difference_is_reported(service: Service, file: Path) -> None:
    rows = [{"c": None, "d": 1.5, "f": "x"}]
    old_document: dict[str, Any] = {"a": 1, "b": "x", "rows": rows, "e": {}, "gone": 1, "none": None}
    service.answer = lambda request: build_answer(old_document, etag='"1"', x_api_version="1.0.0")
    with record_service(service, file) as (client, _):
        for path in ("/api/v1/one", "/api/v1/two", "/api/v1/three", "/api/v1/four"):
            client.call("GET", path)
    new_document = {
        "a": "1",
        "b": "y",
        "rows": [{"c": 7, "d": 2, "f": "x"}, {"c": 1, "f": 1, "new": True}],
        "e": [],
        "none": {"f": 1},
    }
    new_answer = build_answer(new_document, x_api_version="2.0.0", deprecation="@1")
    answers = {
        "one": new_answer,
        "two": build_answer(old_document, 404),
        "three": build_answer(b"<p>", content_type="text/html"),
        "four": None,
    }
    service.answer = lambda request: answers[request.url.rpartition("/")[2]]
    assert list_differences(service, ServiceRecording(file)) == [
        ("/api/v1/one", "the header etag is missing"),
        ("/api/v1/one", "+the header deprecation is new"),
        ("/api/v1/one", "+x-api-version is 2.0.0, here 1.0.0"),
        ("/api/v1/one", "a is text, here number"),
        ("/api/v1/one", "e is list, here object"),
        ("/api/v1/one", "gone is missing"),
        ("/api/v1/one", "rows[].f is number|text, here text"),
        ("/api/v1/one", "+rows[].new is new: boolean"),
        ("/api/v1/two", "status 404, here 200"),
        ("/api/v1/three", "text/html, here application/json"),
        ("/api/v1/four", "the service: There was no answer."),
    ]


@pytest.mark.slow
@run_each_case(
    "options, message",
    [
        (("--record", SERVICE), "--record needs --recording FILE, the file to write the recording to"),
        (
            ("--record", SERVICE, "--recording", "/tmp/x", "--public"),
            "--record uses your key of the service: leave out --public and listen on a loopback address",
        ),
        (("--record", "ftp://x", "--recording", "/tmp/x"), "ftp://x: the URL is neither http nor https"),
        (("--verify", SERVICE, "--record", SERVICE), "--record and --verify cannot be combined"),
        (("--recording", "/no/file"), "/no/file: No such file or directory"),
    ],
)
def test_options_that_conflict_are_refused(options: tuple[str, ...], message: str) -> None:
    finished = finapi("fixture", *options)
    assert (finished.status, finished.complaint) == (2, message)


def test_an_unreachable_service_gets_no_further_calls(service: Service) -> None:
    service.answer = lambda request: None
    assert list_differences(service) == [(drift.DEFAULT_TARGETS[0], "the service: There was no answer.")]
    assert len(service.requests) == 4
