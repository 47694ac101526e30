"""A real service's answers are kept without keys, given again later, and compared with the service as it is now."""

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
from finapi.ops.probes import OPERATORS_OWN
from finapi.testing import FinapiServer, drift, recording
from finapi.testing.base import SEEDED_START
from finapi.testing.control_client import build_wsgi_sender
from finapi.testing.drift import Endpoint, iter_differences
from finapi.testing.recording import Recorder, ServiceRecording, build_outbound_sender
from finapi.testing.running import FIXTURE_SETTINGS, Fixture, run_fixture
from tests.process import finapi

KEY = "5ec7e75ec7e75ec7e75ec7e75ec7e75e"
SERVICE = "https://real.example"
FILINGS = "/api/v1/sec/filings?limit=1"


class Service:
    """A real service, as far as it is asked here: ``answer`` is what it says, ``asked`` what came."""

    def __init__(self) -> None:
        self.asked: list[ApiRequest] = []
        self.answer: Callable[[ApiRequest], ApiAnswer | None] = lambda request: said({"n": len(self.asked)})

    def __call__(self, request: ApiRequest) -> ApiAnswer | None:
        self.asked.append(request)
        return self.answer(request)


def said(value: Any, status: int = 200, **headers: str) -> ApiAnswer:
    told = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return ApiAnswer(status, told, value if isinstance(value, bytes) else json.dumps(value).encode())


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


@contextmanager
def recorded(service: Service, file: Path) -> Iterator[tuple[Client, Fixture]]:
    """A client of a fixture that records a service."""
    with (
        closing(Recorder(SERVICE, file, KEY, service, SEEDED_START)) as recorder,
        run_fixture(Config(**FIXTURE_SETTINGS), seed=1, listens=False, answer_source=recorder) as fixture,
    ):
        yield (
            Client(fixture.url, fixture.base.accounts["pro"]["api_key"], send=build_wsgi_sender(fixture.gate), tries=1),
            fixture,
        )


@contextmanager
def replayed(file: Path) -> Iterator[Client]:
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        yield server.client(tries=1)


def test_what_a_service_answered_is_given_again_in_its_order(service: Service, file: Path) -> None:
    with recorded(service, file) as (client, _):
        assert [client.call("GET", FILINGS)["n"] for _ in range(2)] == [1, 2]
        assert client.last is not None
        assert client.last.headers["x-finapi-recorded"] == "yes"
    with replayed(file) as client:
        assert [client.call("GET", FILINGS)["n"] for _ in range(3)] == [1, 2, 2]
        # What was not recorded is the fixture's own.
        assert client.call("GET", "/api/v1/sec/filings?limit=2")["status"] == "success"
        assert client.last is not None
        assert "x-finapi-recorded" not in client.last.headers
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_reset_begins_the_recording_anew_and_worlds_read_it_apart(service: Service, file: Path) -> None:
    with recorded(service, file) as (client, _):
        client.call("GET", FILINGS)
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        one, other = server.world("one"), server.world("other")
        assert [world.client().call("GET", FILINGS)["n"] for world in (one, one, other)] == [1, 2, 1]
        one.control.reset()
        assert one.client().call("GET", FILINGS)["n"] == 1


def test_a_fault_comes_before_the_recording(service: Service, file: Path) -> None:
    with recorded(service, file) as (client, _):
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        server.control.fault("GET /api/v1/sec/filings", status=503, times=1)
        with pytest.raises(ApiFailure, match="503"):
            server.client(tries=1).call("GET", FILINGS)
        assert server.client().call("GET", FILINGS)["n"] == 1


def test_a_known_tag_is_304_and_another_caller_another_call(service: Service, file: Path) -> None:
    service.answer = lambda request: said({"key": "X-API-Key" in request.headers}, etag='"1"')
    with recorded(service, file) as (client, fixture):
        client.call("GET", FILINGS)
        stranger = Client(fixture.url, send=build_wsgi_sender(fixture.gate))
        assert stranger.call("GET", FILINGS) == {"key": False}
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        headers = {"X-API-Key": server.api_key, "If-None-Match": '"1"'}
        answer = server.send(ApiRequest("GET", server.url + FILINGS, headers))
        assert (answer.status, answer.body) == (304, b"")
        assert Client(server.url, send=server.send).call("GET", FILINGS) == {"key": False}
        assert server.client().call("GET", FILINGS) == {"key": True}


def test_the_fixtures_key_stands_for_the_services(service: Service, file: Path) -> None:
    with recorded(service, file) as (client, fixture):
        client.call("GET", FILINGS)
        own = fixture.base.accounts["pro"]["api_key"]
        build_wsgi_sender(fixture.gate)(ApiRequest("GET", f"{fixture.url}{FILINGS}&apiKey={own}"))
        Client(fixture.url, "f" * 32, send=build_wsgi_sender(fixture.gate)).call("GET", FILINGS)
    assert [asked.headers["X-API-Key"] for asked in service.asked] == [KEY, KEY, "f" * 32]
    assert {asked.url for asked in service.asked} == {SERVICE + FILINGS}


# ---- keys


def test_no_key_cookie_or_session_is_written(service: Service, file: Path) -> None:
    session = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    body = {"api_key": "a" * 32, "nested": [{"accessToken": 'q"uoted', "kept": 391035000000.10}], "echo": KEY.upper()}
    body["note"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLasw and " + session
    service.answer = lambda request: said(body, set_cookie="sid=cookie-of-the-service", link=f"<{KEY}>; rel=next")
    with recorded(service, file) as (client, fixture):
        own = fixture.base.accounts["pro"]["api_key"]
        assert client.call("GET", FILINGS)["api_key"] == "a" * 32
        assert client.last is not None
        assert "set-cookie" not in client.last.headers
        client.headers |= {"Authorization": "Bearer opaque-session", "Cookie": "sid=mine"}
        client.call("POST", f"/api/v1/sql-proxy?token={own}", body={"sql": "SELECT 1", "password": "pass word"})
    text = file.read_text()
    for secret in (
        KEY,
        KEY.upper(),
        own,
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
    assert "Cookie" not in {name for asked in service.asked for name in asked.headers}


@pytest.mark.parametrize(
    "path", ["/api/v1/webhooks/secret", "/api/v1/auth/login", "/api/v1/user/", "/api/v1/user/api-key/rotate", "/"]
)
def test_what_shows_credentials_or_is_no_data_passes_and_is_not_kept(service: Service, file: Path, path: str) -> None:
    service.answer = lambda request: said(b"<p>page", content_type="text/html") if path == "/" else said({"a": "b"})
    with recorded(service, file) as (client, _):
        client.call("GET", path)
        assert client.last is not None
        assert client.last.headers["x-finapi-recorded"] == "no"
    assert len(file.read_text().splitlines()) == 1


def test_a_key_in_a_form_that_is_not_known_leaves_the_call_out(service: Service, file: Path) -> None:
    service.answer = lambda request: said({"n": 1})
    with recorded(service, file) as (client, _):
        client.call("GET", f"/api/v1/sec/filings?company={KEY}")
    assert len(file.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "form",
    [
        "".join(f"\\u{ord(one):04x}" for one in KEY),
        KEY.encode().hex().upper(),
        *(base64.b64encode(f"{'k' * before}{KEY}:".encode()).decode() for before in range(3)),
        base64.urlsafe_b64encode(f"??>{KEY}".encode()).decode(),
    ],
)
def test_an_answer_that_holds_the_key_in_another_form_passes_and_is_not_kept(
    service: Service, file: Path, form: str
) -> None:
    service.answer = lambda request: said(f'{{"echo": "{form}"}}'.encode())
    with recorded(service, file) as (client, _):
        assert "echo" in client.call("GET", FILINGS)
    assert len(file.read_text().splitlines()) == 1


# ---- bounds


def test_a_recording_has_a_bound_and_goes_on_passing(
    service: Service, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_FILE_BYTES", 450)
    with recorded(service, file) as (client, _):
        kept = []
        for _ in range(4):
            client.call("GET", FILINGS)
            assert client.last is not None
            kept.append(client.last.headers["x-finapi-recorded"])
    assert kept == ["yes", "no", "no", "no"]
    assert file.stat().st_size <= 450


def test_a_service_that_does_not_answer_is_503(service: Service, file: Path) -> None:
    service.answer = lambda request: None
    with recorded(service, file) as (client, _), pytest.raises(ApiFailure, match=f"503 UNAVAILABLE: {SERVICE}"):
        client.call("GET", FILINGS)


def test_a_body_that_is_too_long_and_a_path_of_another_host_are_refused(service: Service, file: Path) -> None:
    with recorded(service, file) as (client, fixture):
        with pytest.raises(ApiFailure, match="413"):
            client.call("POST", "/api/v1/sql-proxy", body={"sql": "x" * recording.MAX_REQUEST_BYTES})
        environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": "http://elsewhere/", "PATH_INFO": "/", "QUERY_STRING": ""}
        told: list[str] = []
        b"".join(fixture.gate(environ, lambda status, headers: told.append(status)))
        assert told == ["400 Bad Request"]
    assert service.asked == []


DOCUMENT = b'{"n": 1}'
PACKED = gzip.compress(DOCUMENT, mtime=0)  # the same in every worker, whose tests it names
LONG = gzip.compress(b" " * 3_000, mtime=0)


def answered_by(raw: bytes) -> tuple[int, str]:
    """What a sender makes of an answer on the wire."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with listening.accept()[0] as one:
                one.recv(65_536)
                one.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        with closing(Outbound(OPERATORS_OWN)) as outbound:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            answer = build_outbound_sender(outbound)(ApiRequest("GET", url))
        thread.join()
    assert answer is not None
    return answer.status, answer.body.decode()


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3_000, "the reply is longer than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "the connection was closed in the middle of the reply"),
        (b"not http at all\r\n\r\n", "the reply is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + LONG, "the reply is longer than 1000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + PACKED[:-4], "the reply cannot be decompressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}", "the reply cannot be decompressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n{}", "the reply is encoded in a way that was not asked for"),
    ],
)
def test_an_answer_without_end_or_form_is_none_and_says_why(
    raw: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_ANSWER_BYTES", 1_000)
    assert answered_by(raw) == (0, told)


def test_an_answer_that_is_compressed_unasked_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Encoding: "
    assert answered_by(head + b"gzip\r\n\r\n" + PACKED) == (200, DOCUMENT.decode())
    assert answered_by(head + b"Deflate\r\n\r\n" + zlib.compress(DOCUMENT)) == (200, DOCUMENT.decode())


# ---- what a proxy must not change


def test_a_redirect_leads_to_the_fixture_and_is_not_written(service: Service, file: Path) -> None:
    places = [f"{SERVICE}/reset?token=t0k3n", "https://real.example.evil/x", "https://elsewhere.example/x"]
    service.answer = lambda request: said({}, 302, location=places[len(service.asked) - 1])
    with recorded(service, file) as (_, fixture):
        answers = [build_wsgi_sender(fixture.gate)(ApiRequest("GET", fixture.url + FILINGS)) for _ in places]
        found = [one.headers["location"] for one in answers if one is not None]
    assert found == ["/reset?token=t0k3n", *places[1:]]
    assert "t0k3n" not in file.read_text()


def test_a_head_keeps_its_length_and_what_has_no_body_has_none(service: Service, file: Path) -> None:
    service.answer = lambda request: (
        said(b"", 200, content_length="1234") if request.method == "HEAD" else said(b"", 204, content_length="9")
    )

    def lengths(send: Send, url: str) -> list[str | None]:
        answers = [send(ApiRequest(method, url + FILINGS)) for method in ("HEAD", "DELETE")]
        return [None if one is None else one.headers.get("content-length") for one in answers]

    with recorded(service, file) as (_, fixture):
        assert lengths(build_wsgi_sender(fixture.gate), fixture.url) == ["1234", None]
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        assert lengths(server.send, server.url) == ["1234", None]


def test_a_status_that_is_none_of_http_is_refused_and_leaves_the_recording_whole(service: Service, file: Path) -> None:
    service.answer = lambda request: said({}, (999, 101, 599)[len(service.asked) - 1])
    with recorded(service, file) as (client, _):
        codes = []
        for _ in range(3):
            with pytest.raises(ApiFailure) as refused:
                client.call("GET", FILINGS)
            codes.append(refused.value.status)
    assert codes == [503, 503, 599]
    assert [[one.status for one in all] for all in ServiceRecording(file).answers.values()] == [[599]]


@pytest.mark.parametrize("tags", ['"1"', 'W/"1"', '"0", "1"'])
def test_a_known_tag_is_304_however_it_is_named(service: Service, file: Path, tags: str) -> None:
    service.answer = lambda request: said({}, etag='W/"1"')
    with recorded(service, file) as (client, _):
        client.call("GET", FILINGS)
    with FinapiServer(seed=2, listens=False, recording=file) as server:
        headers = {"X-API-Key": server.api_key, "If-None-Match": tags}
        answer = server.send(ApiRequest("GET", server.url + FILINGS, headers))
        assert (answer.status, answer.body, "content-length" in answer.headers) == (304, b"", False)


def test_the_fixtures_key_stands_for_the_services_in_a_body_and_as_a_bearers(service: Service, file: Path) -> None:
    service.answer = lambda request: said({"error": f"no column {request.body!r}"})
    with recorded(service, file) as (client, fixture):
        own = fixture.base.accounts["pro"]["api_key"]
        client.call("POST", "/api/v1/sql-proxy", body={"api_key": own, "password": "hunter2"})
        build_wsgi_sender(fixture.gate)(ApiRequest("GET", fixture.url + FILINGS, {"Authorization": f"Bearer {own}"}))
    assert json.loads(service.asked[0].body) == {"api_key": KEY, "password": "hunter2"}
    assert service.asked[1].headers["Authorization"] == f"Bearer {KEY}"
    assert [one in file.read_text() for one in (KEY, own, "hunter2", "removed")] == [False, False, False, True]


HEAD = '{"finapi_recording": 1, "of": "https://real.example", "at": "2026-01-31T12:00:00.000Z"}\n'
CALL: dict[str, Any] = {"method": "GET", "path": "/", "query": [], "accept": "", "body": "", "credential": "none"}
CALL |= {"status": 200, "headers": {}, "text": ""}


@pytest.mark.parametrize(
    ("text", "told"),
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
def test_a_file_that_is_no_recording_is_refused_by_its_line(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=f"{file}: {told}"):
        ServiceRecording(file)


def test_a_file_that_is_there_is_not_written_over(service: Service, file: Path) -> None:
    file.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        Recorder(SERVICE, file, KEY, service, SEEDED_START)
    assert file.read_text() == "mine"


# ---- verify


def differences(service: Service, on: ServiceRecording | None = None) -> list[tuple[str, str]]:
    with run_fixture(Config(**FIXTURE_SETTINGS), seed=1, listens=False, answer_source=on) as fixture:
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        fixture_endpoint = Endpoint(fixture.url, fixture_key, build_wsgi_sender(fixture.gate))
        return list(iter_differences(Endpoint(SERVICE, KEY, service), fixture_endpoint, lambda seconds: None, on))


@pytest.mark.slow
def test_a_service_that_answers_in_the_same_form_differs_in_nothing(service: Service) -> None:
    with FinapiServer(seed=3, listens=False) as real:
        service.answer = lambda request: real.send(
            ApiRequest("GET", request.url.replace(SERVICE, real.url), {**request.headers, "X-API-Key": real.api_key})
        )
        assert differences(service) == []
    assert [asked.headers["X-API-Key"] for asked in service.asked] == [KEY] * len(drift.DEFAULT_TARGETS)


def test_every_kind_of_drift_is_told(service: Service, file: Path) -> None:
    rows = [{"c": None, "d": 1.5, "f": "x"}]
    then: dict[str, Any] = {"a": 1, "b": "x", "rows": rows, "e": {}, "gone": 1, "none": None}
    service.answer = lambda request: said(then, etag='"1"', x_api_version="1.0.0")
    with recorded(service, file) as (client, _):
        for path in ("/api/v1/one", "/api/v1/two", "/api/v1/three", "/api/v1/four"):
            client.call("GET", path)
    now = {
        "a": "1",
        "b": "y",
        "rows": [{"c": 7, "d": 2, "f": "x"}, {"c": 1, "f": 1, "new": True}],
        "e": [],
        "none": {"f": 1},
    }
    changed = said(now, x_api_version="2.0.0", deprecation="@1")
    answers = {"one": changed, "two": said(then, 404), "three": said(b"<p>", content_type="text/html"), "four": None}
    service.answer = lambda request: answers[request.url.rpartition("/")[2]]
    assert differences(service, ServiceRecording(file)) == [
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--record", SERVICE), "--record needs --recording FILE, to write what passes"),
        (("--record", "ftp://x", "--recording", "/tmp/x"), "ftp://x: the URL is neither http nor https"),
        (("--verify", SERVICE, "--record", SERVICE), "--record and --verify cannot be combined"),
        (("--recording", "/no/file"), "/no/file: No such file or directory"),
    ],
)
def test_words_that_do_not_fit_are_refused(words: tuple[str, ...], told: str) -> None:
    done = finapi("fixture", *words)
    assert (done.status, done.complaint) == (2, told)


def test_a_service_that_is_not_there_is_asked_no_further(service: Service) -> None:
    service.answer = lambda request: None
    assert differences(service) == [(drift.DEFAULT_TARGETS[0], "the service: There was no answer.")]
    assert len(service.asked) == 4
