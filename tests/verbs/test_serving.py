"""Tests of the running server over real sockets: it starts, answers, refuses, logs, and stops without a trace."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi import __version__
from finapi.accounts import users
from finapi.cli import perform
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.server import Server, run_server
from finapi.store.datadir import DirectoryBusyError, hand_over
from finapi.web.responses import EXPOSED_HEADERS
from tests import process
from tests.process import CIK, Running, eventually, figures, filing, finapi, write
from tests.support.case_tables import run_each_case

STATEMENTS = f"/api/v1/xbrl/companies/{CIK}/statements"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"


def address(server: Server) -> tuple[str, int]:
    return ("127.0.0.1", server.port)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(address(server), timeout=process.SECONDS)


def answer_to(data: bytes, server: Server) -> tuple[http.client.HTTPResponse, bytes]:
    """Return the answer to some bytes, up to the end of the connection."""
    with connect(server) as client:
        client.sendall(data)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        body = answer.read()
        assert client.recv(1) == b"", "the connection goes on after a refusal"
        answer.close()
    return answer, body


def keep_alive(server: Server) -> socket.socket:
    """Return a connection on which a call was answered and another might follow."""
    client = connect(server)
    client.sendall(LIVEZ)
    answer = http.client.HTTPResponse(client)
    answer.begin()
    assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
    assert not answer.will_close
    answer.close()
    return client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    config = Config(port=0, data_dir=tmp_path_factory.mktemp("server") / "data")
    with run_server(config, perform) as server:
        yield server


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with one filing and the user of ``key``."""
    new_dir = tmp_path_factory.mktemp("data") / "data"
    folder = write(tmp_path_factory.mktemp("filing") / process.accession(1), filing())
    assert finapi("ingest", folder, "--data-dir", new_dir).status == 0
    return new_dir


@pytest.fixture(scope="module")
def key(data_dir: Path) -> str:
    added = finapi("user", "add", "ann@example.com", "--plan", "pro", "--json", "--data-dir", data_dir)
    return str(added.json["api_key"])


# ---- Starting


@pytest.mark.slow
def test_livez_and_readyz_answer_as_soon_as_serving_starts(tmp_path: Path) -> None:
    with run_server(Config(port=0, data_dir=tmp_path / "data"), perform) as server:
        live = process.get(address(server), "/livez")
        ready = process.get(address(server), "/readyz")
    assert (live.status, live.json) == (200, {"status": "ok"})
    assert (ready.status, ready.json) == (200, {"status": "ok", "data_version": 0})


def test_url_is_where_the_server_listens(server: Server) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert server.app.config.port == server.port
    assert server.app.config.public_url == server.url


@pytest.mark.slow
def test_a_named_public_url_stays(tmp_path: Path) -> None:
    config = Config(port=0, data_dir=tmp_path / "data", public_url="https://finapi.example")
    with run_server(config, perform) as server:
        assert server.app.config.public_url == "https://finapi.example"
        assert server.url == f"http://127.0.0.1:{server.port}"


@pytest.mark.slow
@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
@pytest.mark.parametrize(("host", "url_host"), [("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]")])
def test_url_can_be_connected_to(tmp_path: Path, host: str, url_host: str) -> None:
    try:
        running = run_server(Config(port=0, host=host, data_dir=tmp_path / "data"), perform)
        with running as server:
            assert server.url == f"http://{url_host}:{server.port}"
            assert process.get((url_host.strip("[]"), server.port), "/livez").status == 200
    except UsageError:
        pytest.skip("no IPv6 here")


@pytest.mark.slow
def test_ready_line_is_all_that_is_printed(data_dir: Path, key: str) -> None:
    with process.serve(data_dir) as running:
        assert running.get("/livez").status == 200
        assert running.get(STATEMENTS, key).status == 200
        assert running.stop() == 0
        assert running.ready == {
            "ready": True,
            "url": f"http://127.0.0.1:{running.address[1]}",
            "port": running.address[1],
            "pid": running.pid,
            "mail_dir": str(data_dir / "mail"),
        }
        assert running.rest == b""


@pytest.mark.slow
def test_a_call_that_only_reads_does_not_wait_for_a_write(tmp_path: Path) -> None:
    with run_server(Config(port=0, data_dir=tmp_path / "data"), perform) as server, server.app.db.write() as tx:
        tx.run("bump_data_version")
        response = process.get(address(server), "/readyz", seconds=3.0)
    assert (response.status, response.json) == (200, {"status": "ok", "data_version": 0})


def test_prepare_runs_before_the_first_request(tmp_path: Path) -> None:
    calls = []
    config = Config(port=0, data_dir=tmp_path / "data")

    def prepare(app: Any) -> None:
        calls.append(users.create(app, "ann@example.com", "pro", app.clock.now()))

    with run_server(config, perform, prepare=prepare) as server:
        answer = process.get(address(server), STATEMENTS, calls[0].api_key)
    assert (answer.status, answer.json["code"]) == (404, "UNKNOWN_TICKER")


@pytest.mark.slow
def test_a_prepare_that_fails_leaves_the_directory_free(tmp_path: Path) -> None:
    config = Config(port=0, data_dir=tmp_path / "data")

    def prepare(app: Any) -> None:
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"), run_server(config, perform, prepare=prepare):
        raise AssertionError
    with run_server(config, perform) as server:
        assert process.get(address(server), "/livez").status == 200


# ---- Not starting


@pytest.fixture
def used_port() -> Iterator[int]:
    """Yield a port on which another server listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.slow
def test_a_port_that_is_taken_is_reported_in_one_line(tmp_path: Path, used_port: int) -> None:
    done = finapi("serve", "--port", used_port, "--data-dir", tmp_path / "data")
    assert done.status == 2
    assert done.complaint.startswith(f"cannot listen on 127.0.0.1:{used_port}: Address already in use")


@pytest.mark.slow
def test_a_directory_that_another_server_holds_is_refused(tmp_path: Path) -> None:
    with process.serve(tmp_path / "data") as first:
        second = finapi("serve", "--port", 0, "--data-dir", tmp_path / "data")
        assert second.status == 2
        assert second.complaint == (
            f"{tmp_path / 'data'} is in use by another finapi; stop it or name another --data-dir"
        )
        assert first.get("/livez").status == 200
        done = finapi("user", "add", "ann@example.com", "--data-dir", tmp_path / "data")
        assert done.status == 0, "the second server took the first one's socket along"


def test_a_directory_is_held_within_one_process_too(server: Server) -> None:
    with pytest.raises(DirectoryBusyError), run_server(server.app.config, perform):
        raise AssertionError
    assert process.get(address(server), "/livez").status == 200


# ---- Stopping


def footprint() -> tuple[set[int], int]:
    """Return the threads and the number of open files of this process."""
    threads = {thread.ident or 0 for thread in threading.enumerate()}
    return threads, len(os.listdir("/proc/self/fd"))


def use(config: Config) -> None:
    """Run a server once with clients that use everything, some of which it has to disconnect."""
    with contextlib.ExitStack() as clients, run_server(config, perform) as server:
        email = f"ann{server.port}@example.com"
        user = users.create(server.app, email, "pro", server.app.clock.now())
        for _ in range(3):
            clients.enter_context(keep_alive(server))
        half_head, half_body, ended = (clients.enter_context(connect(server)) for _ in range(3))
        half_head.sendall(b"GET /livez HT")
        # Beyond half a megabyte a body is spooled to a file.
        half_body.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" + bytes(1_500_000))
        ended.sendall(b"\x16\x03\x01")
        assert process.get(address(server), STATEMENTS, user.api_key).status == 404
        assert process.get(address(server), STATEMENTS, "0" * 32).status == 401
        output_lines: list[tuple[str, str]] = []
        words = ["user", "add", f"bob{server.port}@example.com"]
        assert hand_over(config.data_dir, words, lambda *line: output_lines.append(line)) == 0
        assert len(output_lines) == 1


def start_twice_on_a_used_port(directory_name: str) -> None:
    directory = Path(directory_name)
    with socket.create_server(("127.0.0.1", 0)) as other:
        config = Config(port=other.getsockname()[1], data_dir=directory / "data")
        for _ in range(2):
            before = footprint()
            with pytest.raises(UsageError, match="cannot listen"), run_server(config, perform):
                raise AssertionError
            assert footprint() == before
    assert sorted(os.listdir(config.data_dir)) == ["finapi.db", "lock", "secrets"]


@pytest.mark.slow
def test_a_port_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    process.run_in_new_process(start_twice_on_a_used_port, str(tmp_path))


def serve_several_times(directory_name: str) -> None:
    directory = Path(directory_name)
    spool = directory / "tmp"
    spool.mkdir()
    tempfile.tempdir = str(spool)
    config = Config(port=0, data_dir=directory / "data")
    use(config)  # imports, caches
    before = footprint()
    for _ in range(4):
        use(config)
        assert footprint() == before
        assert os.listdir(spool) == []
        assert sorted(os.listdir(config.data_dir)) == ["finapi.db", "lock", "secrets"]


@pytest.mark.slow
def test_no_thread_socket_or_file_is_left_after_several_lives(tmp_path: Path) -> None:
    process.run_in_new_process(serve_several_times, str(tmp_path))


@pytest.mark.slow
def test_no_socket_is_left_that_listens(tmp_path: Path) -> None:
    with run_server(Config(port=0, data_dir=tmp_path / "data"), perform) as server:
        port = server.port
    with pytest.raises(ConnectionRefusedError):
        connect(server)
    with run_server(Config(port=port, data_dir=tmp_path / "data"), perform) as server:
        assert process.get(address(server), "/livez").status == 200, "the port can be had again at once"


# That a running call would be given: longer than any of these tests waits for a stop.
DRAIN = 2 * process.SECONDS


@pytest.mark.slow
def test_a_stop_does_not_wait_for_idle_clients(tmp_path: Path) -> None:
    with contextlib.ExitStack() as clients:
        with run_server(Config(port=0, data_dir=tmp_path / "data", drain_timeout=DRAIN), perform) as server:
            idle = [clients.enter_context(keep_alive(server)) for _ in range(20)]
            half = clients.enter_context(connect(server))
            half.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n")
            started = time.monotonic()
        assert time.monotonic() - started < DRAIN / 2
        assert [client.recv(1) for client in idle] == [b""] * 20
        with contextlib.suppress(ConnectionResetError):  # if what it sent had not been read yet
            assert half.recv(1) == b""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_an_idle_process_with_status_0(tmp_path: Path, name: str) -> None:
    with process.serve(tmp_path / "data", "--drain-timeout", DRAIN) as running, contextlib.ExitStack() as clients:
        for _ in range(20):
            client = clients.enter_context(running.connect())
            client.sendall(LIVEZ)
            assert client.recv(12) == b"HTTP/1.1 200"
        half = clients.enter_context(running.connect())
        half.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n")
        assert running.stop(getattr(signal, name), process.SECONDS) == 0
        assert "Traceback" not in running.log
    assert sorted(os.listdir(tmp_path / "data")) == ["finapi.db", "lock", "secrets"]


# Runs the command behind it, and sends it SIGTERM in the middle of the first wait that it makes for one.
INTERRUPT = """
import os, runpy, signal, sys, threading
def inside(frame, event, arg):
    if event == "line":
        sys.settrace(None)
        os.kill(os.getpid(), signal.SIGTERM)
    return inside
def trace(frame, event, arg):
    waits = frame.f_code is threading.Condition.wait.__code__
    if waits and "/finapi/" in frame.f_back.f_back.f_code.co_filename:
        return inside
sys.settrace(trace)
sys.argv = sys.argv[1:]
runpy.run_path("run.py", run_name="__main__")
"""


@pytest.mark.slow
def test_a_signal_that_comes_while_the_wait_begins_is_not_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPT, "run.py"]
    with process.serve(tmp_path / "data", command=command) as running:
        try:
            status = running.wait(1.0)
        except subprocess.TimeoutExpired:
            status = running.stop()  # it waits in another way, or has hung
        assert status == 0


@pytest.mark.slow
def test_a_signal_right_behind_the_ready_line_is_not_lost(tmp_path: Path) -> None:
    """Under load, where a step between two instructions takes longest: ten processes on the few processors."""
    for attempt in range(8):
        with contextlib.ExitStack() as stack:
            started = [
                stack.enter_context(process.start("serve", "--port", 0, "--data-dir", tmp_path / str(number)))
                for number in range(10)
            ]
            for child_process in started:
                Running(*child_process).send(signal.SIGTERM)
            statuses = [child.wait(10.0) for child, _ in started]
        assert statuses == [0] * 10, f"attempt {attempt}"


def refuses(running: Running) -> bool:
    """Return True if the port refuses connections."""
    try:
        running.connect().close()
    except OSError:
        return True
    return False


def lock_database(data_dir: Path) -> sqlite3.Connection:
    """Hold the write lock of the database: a call that costs tokens waits until it is rolled back."""
    connection = sqlite3.connect(data_dir / "finapi.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


@pytest.mark.slow
def test_a_call_running_at_sigterm_is_answered_with_status_0(data_dir: Path, key: str) -> None:
    with process.serve(data_dir) as running, running.connect() as client:
        with contextlib.closing(lock_database(data_dir)) as lock:
            client.sendall(f"GET {STATEMENTS} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n".encode())
            # A later call that is answered shows that this one has come in.
            assert running.get("/livez").status == 200
            running.send(signal.SIGTERM)
            eventually(lambda: refuses(running))
            assert running.process.poll() is None
            lock.execute("ROLLBACK")
            response = http.client.HTTPResponse(client)
            response.begin()
            answer = process.Answer(response.status, dict(response.getheaders()), response.read())
            assert response.will_close
            response.close()
        assert figures(answer)["Net sales"] == ["1000"]
        assert answer.headers["X-Tokens-Charged"] == "25"
        assert running.wait(10.0) == 0
        assert "Traceback" not in running.log
    with contextlib.closing(sqlite3.connect(data_dir / "finapi.db")) as db:
        last = db.execute("SELECT delta, reason, status, open FROM ledger ORDER BY id DESC LIMIT 1").fetchone()
    assert last == (-25, "debit", 200, 0)


@pytest.mark.slow
def test_a_call_that_never_ends_does_not_block_the_exit(data_dir: Path, key: str) -> None:
    with process.serve(data_dir) as running, running.connect() as client, contextlib.closing(lock_database(data_dir)):
        client.sendall(f"GET {STATEMENTS} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n".encode())
        assert running.get("/livez").status == 200
        assert running.stop(seconds=10.0) == 0


# ---- Errors that are answered before there is a request

HEAD = b"POST /livez HTTP/1.1\r\nHost: a\r\n"
REFUSED = {
    "no request line": (b"hello\r\n\r\n", 400, "BAD_REQUEST"),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "BAD_REQUEST"),
    "no Host": (b"GET /livez HTTP/1.1\r\n\r\n", 400, "BAD_REQUEST"),
    "a length and chunks": (
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "BAD_REQUEST",
    ),
    "two lengths": (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "BAD_REQUEST"),
    "a body too large, not sent": (HEAD + b"Content-Length: 52428801\r\n\r\n", 413, "PAYLOAD_TOO_LARGE"),
    "a chunk too large, not sent": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3200001\r\n", 413, "PAYLOAD_TOO_LARGE"),
    "a long line": (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "URI_TOO_LONG"),
    "an expectation": (HEAD + b"Content-Length: 2\r\nExpect: 200-ok\r\n\r\n", 417, "EXPECTATION_FAILED"),
    "large headers": (HEAD + b"X: " + b"a" * 66_000 + b"\r\n\r\n", 431, "HEADERS_TOO_LARGE"),
    "another version": (b"GET /livez HTTP/2.0\r\nHost: a\r\n\r\n", 505, "HTTP_VERSION_NOT_SUPPORTED"),
}


def assert_refused(server: Server, data: bytes, status: int, code: str) -> None:
    """Send bytes and assert that they are answered by an error in the shape of every error."""
    answer, body = answer_to(data, server)
    error = json.loads(body)
    assert answer.status == status
    assert set(error) == {"status", "error", "code", "message", "request_id", "timestamp"}
    assert (error["status"], error["error"], error["code"]) == ("error", code, code)
    assert error["message"].endswith(".")
    assert UUID.fullmatch(error["request_id"])
    assert TIME.fullmatch(error["timestamp"])
    headers = {name.lower(): value for name, value in answer.getheaders()}
    date = headers.pop("date")
    assert re.fullmatch(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT", date)
    assert headers == {
        "x-api-version": __version__,
        "x-request-id": error["request_id"],
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
        "content-type": "application/json; charset=utf-8",
        "content-length": str(len(body)),
        "connection": "close",
        "access-control-allow-origin": "*",
        "access-control-expose-headers": EXPOSED_HEADERS,
    }


@run_each_case("case", REFUSED)
def test_a_server_error_has_the_shape_of_every_error(server: Server, case: str) -> None:
    assert_refused(server, *REFUSED[case])
    assert process.get(address(server), "/livez").status == 200


def test_half_a_request_is_refused_after_its_time(tmp_path: Path) -> None:
    with run_server(Config(port=0, data_dir=tmp_path / "data", header_timeout=0.4), perform) as server:
        assert_refused(server, b"GET /livez HTTP/1.1\r\nHost: a\r\n", 408, "REQUEST_TIMEOUT")


@run_each_case(
    "path, charged, origin",
    [
        ("/api/v1/cusip/batch", "0", "*"),
        ("/api/v1/account/balance", None, "*"),
        ("/api/v1/policy", None, "*"),
        ("/api/v1/user/", None, None),
        ("/api/v1/auth/login", None, None),
        ("/api/v1/nothing", None, "*"),
        ("/%ff", None, "*"),
    ],
)
def test_a_server_error_has_the_request_id_and_route_headers(
    server: Server, path: str, charged: str | None, origin: str | None
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nX-Request-ID: mine-7\r\nContent-Length: 52428801\r\n\r\n"
    answer, body = answer_to(head.encode(), server)
    headers = {name.lower(): value for name, value in answer.getheaders()}
    assert (answer.status, headers["x-request-id"]) == (413, "mine-7")
    assert UUID.fullmatch(json.loads(body)["request_id"])
    assert (headers.get("x-tokens-charged"), headers.get("access-control-allow-origin")) == (charged, origin)


@pytest.mark.slow
def test_a_413_names_the_limit_in_force(tmp_path: Path) -> None:
    config = Config(port=0, data_dir=tmp_path / "data", body_limit=10)
    with run_server(config, perform) as server:
        answer, body = answer_to(HEAD + b"Content-Length: 11\r\n\r\n", server)
    assert answer.status == 413
    assert json.loads(body)["message"] == "The request body is larger than 10 bytes."


# ---- The log

LOGGED = {
    "time",
    "level",
    "logger",
    "message",
    "method",
    "path",
    "status",
    "bytes",
    "ms",
    "address",
    "user",
    "tokens",
    "request_id",
}


def calls(running: Running, key: str) -> list[str]:
    """Make four calls that would log their key if any did. Return their request ids."""
    ids = []
    for answer in (
        running.get(STATEMENTS, key),
        running.get(f"{STATEMENTS}?apiKey={key}&statement=income"),
        running.get(f"/nowhere?apiKey={key}"),
    ):
        ids.append(answer.json["request_id"])
    with running.connect() as client:
        client.sendall(f"GET /livez?apiKey={key}\r\n\r\n".encode())
        refusal = http.client.HTTPResponse(client)
        refusal.begin()
        ids.append(json.loads(refusal.read())["request_id"])
        refusal.close()
    return ids


def of_calls(log: str) -> list[str]:
    """Return the lines of a log between the start and the stop, without the server's own checks."""
    lines = log.splitlines()
    assert "listens at" in lines[0]
    assert "SIGTERM" in lines[-2]
    assert "stopped" in lines[-1]
    return lines[1:-2]


@pytest.mark.slow
def test_access_log_as_json_is_an_object_a_line_on_stderr(data_dir: Path, key: str) -> None:
    with process.serve(data_dir, "--log-format", "json") as running:
        ids = calls(running, key)
        assert running.stop() == 0
        assert running.rest == b""
        log = running.log
    assert key not in log
    lines = [json.loads(line) for line in of_calls(log)]
    assert [line["request_id"] for line in lines] == ids
    user = lines[0]["user"]
    assert UUID.fullmatch(user)
    for line in lines:
        assert set(line) == LOGGED
        assert TIME.fullmatch(line["time"])
        assert (line["level"], line["logger"], line["message"]) == ("info", "finapi.access", "request")
        assert line["bytes"] > 0
        assert line["ms"] >= 0
    fields = ("method", "path", "status", "address", "user", "tokens")
    assert [tuple(line[field] for field in fields) for line in lines] == [
        ("GET", STATEMENTS, 200, "127.0.0.1", user, 25),
        ("GET", STATEMENTS, 200, "127.0.0.1", user, 25),
        ("GET", "/nowhere", 404, "127.0.0.1", None, 0),
        ("", "", 400, "127.0.0.1", None, 0),
    ]


@pytest.mark.slow
def test_access_log_as_text_is_a_line_a_call_on_stderr(data_dir: Path, key: str) -> None:
    with process.serve(data_dir) as running:
        ids = calls(running, key)
        assert running.stop() == 0
        assert running.rest == b""
        log = running.log
    assert key not in log
    lines = of_calls(log)
    assert len(lines) == 4
    for line, request_id in zip(lines, ids, strict=True):
        assert re.match(TIME.pattern + " info    finapi.access: request method=", line)
        assert line.endswith(f" request_id={request_id}")
    assert f" method=GET path={STATEMENTS} status=200 bytes=" in lines[0]
    assert " address=127.0.0.1 user=" in lines[0]
    assert " tokens=25 " in lines[0]
    assert " path=/nowhere status=404 " in lines[2]
    assert " user=- tokens=0 " in lines[2]
    assert " status=400 " in lines[3]


@pytest.mark.slow
def test_log_level_warning_leaves_the_calls_out(data_dir: Path, key: str) -> None:
    with process.serve(data_dir, "--log-level", "warning") as running:
        calls(running, key)
        assert running.stop() == 0
        assert running.log == ""


@pytest.mark.slow
def test_stdout_of_a_server_may_be_closed_behind_the_ready_line(data_dir: Path) -> None:
    """A supervisor that has read the line need not keep the pipe."""
    with process.serve(data_dir) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        assert running.get("/livez").status == 200
        running.send(signal.SIGTERM)
        assert running.process.wait(10.0) == 0
        assert "Error" not in running.log
