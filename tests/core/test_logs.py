"""Tests of log lines: no text can forge a line, and no line contains a key."""

from __future__ import annotations

import http.client
import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core import logs
from finapi.core.clock import FixedClock
from tests.client import Client, login, sign_up
from tests.conftest import ACCOUNTS, NOW
from tests.support.case_tables import run_each_case

ROOT = Path(__file__).parents[2]
STAMP = "2026-01-31T12:00:00.000Z"

Configure = Callable[..., io.StringIO]


@pytest.fixture
def configure() -> Configure:
    """Return a function that configures logs to a text; the loggers are restored afterwards."""

    def make(format: str, level: str = "info") -> io.StringIO:
        stream = io.StringIO()
        logs.configure(format, level, stream, FixedClock(NOW))
        return stream

    return make


def log(message: str, *args: object, fields: dict[str, Any] | None = None) -> None:
    logging.getLogger("finapi.test").info(message, *args, extra={"fields": fields} if fields else None)


def log_error(message: str) -> None:
    """Log an exception that says ``message``."""
    try:
        raise ValueError(message)
    except ValueError:
        logging.getLogger("finapi.test").exception("it failed")


# ---- text


def test_a_text_line_says_time_level_logger_message_and_fields(configure: Configure) -> None:
    stream = configure("text")
    log("request %d", 7, fields={"status": 200, "user": None, "path": "/livez"})
    assert stream.getvalue() == f"{STAMP} info    finapi.test: request 7 status=200 user=- path=/livez\n"


@run_each_case(
    "value, quoted",
    [("a b", '"a b"'), ("a=b", '"a=b"'), ('a"b', '"a\\"b"'), ("Ñandú", "Ñandú"), ("Ñan dú", '"Ñan dú"'), (1.5, "1.5")],
)
def test_a_value_that_could_be_misread_is_quoted(configure: Configure, value: object, quoted: str) -> None:
    stream = configure("text")
    log("m", fields={"name": value})
    assert stream.getvalue() == f"{STAMP} info    finapi.test: m name={quoted}\n"


FORGED = [
    f"\n{STAMP} info    finapi.access: request status=200",
    f"\r\n{STAMP} info    finapi.access: request status=200",
    f"\r{STAMP} info    finapi.access: request status=200",
    f"\x0b{STAMP} info    finapi.access: request status=200",
    f"\x85{STAMP} info    finapi.access: request status=200",
    f"\u2028{STAMP} info    finapi.access: request status=200",
    "\x1b[2J\x1b[1;1H",
    "\x9b2J",
    "\x00\x07\x08\x7f",
]


@run_each_case("text", FORGED)
def test_no_text_makes_a_second_line(configure: Configure, text: str) -> None:
    stream = configure("text")
    log("m %s", text, fields={"path": text})
    line = stream.getvalue()
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert line[:-1].isprintable()


@run_each_case("text", FORGED[:6])
def test_no_exception_makes_a_second_record(configure: Configure, text: str) -> None:
    stream = configure("text")
    log_error(f"bad value {text}")
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"{STAMP} error   finapi.test: it failed"
    assert [line for line in lines[1:] if line.startswith(STAMP)] == []


def test_an_exception_stands_below_its_line(configure: Configure) -> None:
    stream = configure("text")
    log_error("no luck")
    text = stream.getvalue()
    assert text.startswith(f"{STAMP} error   finapi.test: it failed\n")
    assert "Traceback (most recent call last):" in text
    assert "ValueError: no luck" in text


# ---- JSON


def test_a_json_line_is_an_object_with_message_and_fields(configure: Configure) -> None:
    stream = configure("json")
    log("request %d", 7, fields={"status": 200, "user": None, "path": "/Ñ"})
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert json.loads(text) == {
        "time": STAMP,
        "level": "info",
        "logger": "finapi.test",
        "message": "request 7",
        "status": 200,
        "user": None,
        "path": "/Ñ",
    }


def test_every_json_line_is_an_object_of_its_own(configure: Configure) -> None:
    stream = configure("json")
    for number in range(3):
        log(f"m{number}")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["m0", "m1", "m2"]


@run_each_case("text", FORGED)
def test_no_text_breaks_a_json_line(configure: Configure, text: str) -> None:
    stream = configure("json")
    log("m %s", text, fields={"path": text})
    assert stream.getvalue().count("\n") == 1
    record = json.loads(stream.getvalue())
    assert (record["message"], record["path"]) == (f"m {text}", text)


@run_each_case("text", FORGED)
def test_no_text_reaches_a_terminal_through_a_json_line(configure: Configure, text: str) -> None:
    stream = configure("json")
    log(text)
    assert stream.getvalue()[:-1].isprintable()


def test_an_exception_is_one_field_of_a_json_line(configure: Configure) -> None:
    stream = configure("json")
    log_error("no\nluck")
    record = json.loads(stream.getvalue())
    assert (record["level"], record["message"]) == ("error", "it failed")
    assert record["error"].endswith("ValueError: no\nluck")


def test_a_value_that_is_no_json_is_written_as_text(configure: Configure) -> None:
    stream = configure("json")
    log("m", fields={"at": NOW, "raw": b"\xff"})
    record = json.loads(stream.getvalue())
    assert (record["at"], record["raw"]) == ("2026-01-31 12:00:00+00:00", "b'\\xff'")


# ---- which records


def test_records_below_the_level_are_not_written(configure: Configure) -> None:
    stream = configure("text", "warning")
    log("quiet")
    logging.getLogger("finapi.test").warning("loud")
    assert stream.getvalue() == f"{STAMP} warning finapi.test: loud\n"


def test_records_of_the_http_server_are_written_too(configure: Configure) -> None:
    stream = configure("text")
    logging.getLogger("waitress.queue").warning("Task queue depth is 1")
    assert stream.getvalue() == f"{STAMP} warning waitress.queue: Task queue depth is 1\n"


def test_configuring_again_replaces_the_stream(configure: Configure) -> None:
    first, second = configure("text"), configure("json")
    log("m")
    assert first.getvalue() == ""
    assert json.loads(second.getvalue())["message"] == "m"


def test_records_do_not_reach_the_root_logger(configure: Configure, caplog: pytest.LogCaptureFixture) -> None:
    configure("text")
    log("m")
    assert caplog.records == []


# ---- requests


@run_each_case("format", ["text", "json"])
@run_each_case("valid", [True, False])
@run_each_case("way", ["header", "query", "both", "path"])
def test_a_key_is_in_no_line_whichever_way_it_was_sent(
    app: App, user: users.NewUser, configure: Configure, format: str, valid: bool, way: str
) -> None:
    key = user.api_key if valid else "f" * 32
    stream = configure(format, "debug")
    path = "/api/v1/xbrl/companies/NONE/statements"
    if way in ("query", "both"):
        path += f"?apiKey={key}&year=nonsense"
    if way == "path":
        path = f"/api/v1/nothing?x=1&apiKey={key}"
    answer = Client(app).get(path, headers={"X-API-Key": key} if way in ("header", "both") else None)
    assert answer.status in (400, 401, 404)
    assert stream.getvalue() != ""
    assert key not in stream.getvalue()


def test_a_request_is_one_line_with_what_it_cost(app: App, user: users.NewUser, configure: Configure) -> None:
    stream = configure("json")
    answer = Client(app, user.api_key).get("/api/v1/xbrl/companies/NONE/statements?period=Q")
    record = json.loads(stream.getvalue())
    assert record == {
        "time": STAMP,
        "level": "info",
        "logger": "finapi.access",
        "message": "request",
        "method": "GET",
        "path": "/api/v1/xbrl/companies/NONE/statements",
        "status": 404,
        "bytes": len(answer.body),
        "ms": 0.0,
        "address": "192.0.2.1",
        "user": user.uuid,
        "tokens": 0,
        "request_id": answer.json["request_id"],
    }


def test_logins_and_refused_calls_are_one_line_each(make_app: Callable[..., App], configure: Configure) -> None:
    client = Client(make_app(**ACCOUNTS))
    sign_up(client)
    stream = configure("json")
    opened = login(client).json
    session = opened["token"]
    assert login(client, password="wrong password").status == 401
    assert client.get("/api/v1/user/", session="forged").status == 401
    assert client.get("/metrics", address="192.0.2.9").status == 403
    assert client.call("POST", "/api/v1/auth/logout", session=session).status == 200
    assert client.get("/livez?a=%FF").status == 400
    fields = ("method", "path", "status", "address", "user")
    assert [tuple(json.loads(line)[field] for field in fields) for line in stream.getvalue().splitlines()] == [
        ("POST", "/api/v1/auth/login", 200, "192.0.2.1", opened["user"]["uuid"]),
        ("POST", "/api/v1/auth/login", 401, "192.0.2.1", None),
        ("GET", "/api/v1/user/", 401, "192.0.2.1", None),
        ("GET", "/metrics", 403, "192.0.2.9", None),
        ("POST", "/api/v1/auth/logout", 200, "192.0.2.1", opened["user"]["uuid"]),
        ("GET", "/livez", 400, "192.0.2.1", None),
    ]
    assert "wrong password" not in stream.getvalue()
    assert session not in stream.getvalue()


def test_a_path_cannot_forge_a_line(app: App, configure: Configure) -> None:
    stream = configure("text")
    Client(app).get("/a%0A2026-01-31T12:00:00.000Z%20info%20finapi.access:%20request")
    assert len(stream.getvalue().splitlines()) == 1


def test_format_characters_of_a_path_are_logged_as_they_are(app: App, configure: Configure) -> None:
    stream = configure("json")
    for path in ("/%25s%25(user)d", "/%s%(user)d", "/{0}{path.__class__}"):
        Client(app).get(path)
        assert json.loads(stream.getvalue().splitlines()[-1])["path"] == path


def test_a_long_path_is_cut(app: App, configure: Configure) -> None:
    stream = configure("json")
    Client(app).get("/" + "a" * 5_000)
    assert json.loads(stream.getvalue())["path"] == "/" + "a" * 199


def test_a_callers_own_request_id_is_not_logged_as_ours(app: App, configure: Configure) -> None:
    stream = configure("json")
    Client(app).get("/livez", headers={"X-Request-ID": "mine"})
    assert re.fullmatch("[0-9a-f-]{36}", json.loads(stream.getvalue())["request_id"])
    assert "mine" not in stream.getvalue()


# ---- nobody reads


def logger_to(descriptor: int) -> tuple[logging.Logger, logs.BackgroundHandler]:
    handler = logs.BackgroundHandler(descriptor)
    handler.setFormatter(logs.LogFormatter("text", FixedClock(NOW)))
    logger = logging.Logger("finapi.test")
    logger.addHandler(handler)
    return logger, handler


def test_lines_are_written_in_order_and_an_exit_waits_for_them(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        logger, handler = logger_to(file.fileno())
        for number in range(1000):
            logger.warning("line %d", number)
        assert handler.drain(10)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == [str(number) for number in range(1000)]


def test_an_unread_pipe_blocks_no_caller_and_drops_are_counted() -> None:
    reading, writing = os.pipe()
    logger, handler = logger_to(writing)
    for number in range(20_000):
        logger.warning("line %d", number)
    assert handler.dropped_lines > 0
    assert not handler.drain(0.01)
    # Somebody reads after all.
    dropped, text = handler.dropped_lines, b""
    while b"were dropped" not in text:
        text += os.read(reading, 65_536)
    lines = text.decode().splitlines()
    assert f"{dropped} lines were dropped" in text.decode()
    assert len([line for line in lines if " line " in line]) <= 20_000 - dropped
    logger.warning("after")
    while b"after" not in text:
        text += os.read(reading, 65_536)
    assert handler.drain(10)
    os.close(reading)
    # Nobody is there at all: no error, and counted.
    logger.warning("to nobody")
    assert handler.drain(10)
    assert handler.dropped_lines == dropped + 1
    os.close(writing)


@pytest.mark.slow
def test_a_server_whose_stderr_nobody_reads_goes_on_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "run.py", "serve", "--data-dir", str(tmp_path), "--port", "0", "--ready", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        # Two hundred bytes of log each: beyond the 64 KB of the pipe.
        for _ in range(600):
            connection.request("GET", "/livez")
            assert connection.getresponse().read() == b'{"status":"ok"}'
        connection.close()
        server.terminate()
        assert server.wait(20) == 0
