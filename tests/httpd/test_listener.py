"""The HTTP server over real sockets: what it refuses, how long it waits, what it bounds, how it stops."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import socket
import struct
import tempfile
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from finapi.httpd.connection import MAX_PIPELINED, HttpConnection
from finapi.httpd.listener import Listener
from finapi.httpd.settings import (
    HandedOverRequest,
    ListenSettings,
    RequestSummary,
)
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
    error_response,
    eventually,
    list_request_threads,
)
from tests.process import run_in_new_process
from tests.support.case_tables import run_each_case


def test_a_head_that_comes_again_is_read_as_it_was(start: Start, app: EchoApplication) -> None:
    client = start().connect()
    heads = [
        b"GET /a%20b?c=1 HTTP/1.1\r\nHost: a\r\nX-Said: one\r\n\r\n",
        b"GET /a%20b?c=1 HTTP/1.1\r\nHost: a\r\nX-Said: two\r\n\r\n",
        b"GET http://other/d HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
    for head in heads * 2:
        assert client.send(head).read_answer().status == 200
    environs = [
        tuple(environ.get(name) for name in ("PATH_INFO", "QUERY_STRING", "HTTP_HOST", "HTTP_X_SAID", "REQUEST_URI"))
        for environ, _ in app.calls
    ]
    assert environs[:3] == environs[3:]
    assert environs[0] == ("/a b", "c=1", "a", "one", "/a%20b?c=1")
    assert [values[3] for values in environs[:3]] == ["one", "two", None]
    assert environs[2][:3] == ("/d", "", "other")


def test_a_head_that_ends_its_connection_ends_it_each_time(start: Start) -> None:
    running = start()
    for _ in range(2):
        client = running.connect().send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert client.read_answer().headers["connection"] == "close"
        assert client.is_closed()


def test_requests_with_equal_heads_have_their_own_bodies(start: Start, app: EchoApplication) -> None:
    client = start().connect()
    for body in (b"ab", b"cd"):
        assert client.send(POST + b"Content-Length: 2\r\n\r\n" + body).read_answer().body == b"/ 2"
    assert [body for _, body in app.calls] == [b"ab", b"cd"]


# What is refused. Each is answered in shape, and the connection ends; the application hears of none of them.

BAD_REQUESTS = {
    # Request line
    "no version": b"GET /\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\nHost: a\r\n\r\n",
    "two blanks": b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "tab for a blank": b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "blank after the version": b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    "blank before the method": b" GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "method not a token": b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "lower-case method": b"get / HTTP/1.1\r\nHost: a\r\n\r\n",
    "lower-case protocol": b"GET / http/1.1\r\nHost: a\r\n\r\n",
    "version with two digits": b"GET / HTTP/1.10\r\nHost: a\r\n\r\n",
    "TLS handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    # Target
    "NUL in the target": b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "bare CR in the target": b"GET /\rx HTTP/1.1\r\nHost: a\r\n\r\n",
    "raw UTF-8 in the target": "GET /é HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
    "fragment in the target": b"GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
    "relative target": b"GET a/b HTTP/1.1\r\nHost: a\r\n\r\n",
    "asterisk for GET": b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    "authority form": b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    "absolute form of another scheme": b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "absolute form with userinfo": b"GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "absolute form without authority": b"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
    "absolute form with half an IPv6 address": b"GET http://[x HTTP/1.1\r\nHost: a\r\n\r\n",
    "absolute form with an invalid Host": b"GET http://a/ HTTP/1.1\r\nHost: b@c\r\n\r\n",
    "absolute form without Host": b"GET http://a/ HTTP/1.1\r\n\r\n",
    # Host
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "two Hosts in HTTP/1.0": b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    "empty Host": b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "Host with userinfo": b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
    "Host with a blank": b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "Host list": b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "Host with a path": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "Host with a letter in the port": b"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n",
    # Fields
    "folded line": b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
    "folded first line": b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "blank before the colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
    "empty name": b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n",
    "name not a token": b"GET / HTTP/1.1\r\nHost: a\r\nX(y): z\r\n\r\n",
    "name with a byte above ASCII": b"GET / HTTP/1.1\r\nHost: a\r\nX\xe9: z\r\n\r\n",
    "bare CR in a value": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n",
    "bare LF in a value": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: z\r\n\r\n",
    "NUL in a value": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\x00\r\n\r\n",
    "DEL in a value": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\x7f\r\n\r\n",
    # Framing
    "Content-Length and Transfer-Encoding": CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding twice": CHUNKED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding list": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice in a list": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding identity": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "Transfer-Encoding empty": POST + b"Transfer-Encoding:\r\n\r\n",
    "Transfer-Encoding with a comma before": POST + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding with a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding with a no-break space": POST + b"Transfer-Encoding: \xa0chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "equal Content-Lengths": POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    "Content-Length list": POST + b"Content-Length: 1, 1\r\n\r\nx",
    "Content-Length empty": POST + b"Content-Length:\r\n\r\n",
    "Content-Length with a plus": POST + b"Content-Length: +1\r\n\r\nx",
    "Content-Length negative": POST + b"Content-Length: -1\r\n\r\nx",
    "Content-Length hexadecimal": POST + b"Content-Length: 0x1\r\n\r\nx",
    "Content-Length with an underscore": POST + b"Content-Length: 1_0\r\n\r\nxxxxxxxxxx",
    "Content-Length in another script": POST + "Content-Length: ١\r\n\r\nx".encode(),
    # Chunks
    "chunk size with a plus": CHUNKED + b"+1\r\nx\r\n0\r\n\r\n",
    "chunk size negative": CHUNKED + b"-1\r\nx\r\n0\r\n\r\n",
    "chunk size with 0x": CHUNKED + b"0x1\r\nx\r\n0\r\n\r\n",
    "chunk size with an underscore": CHUNKED + b"0_1\r\nx\r\n0\r\n\r\n",
    "chunk size after a blank": CHUNKED + b" 1\r\nx\r\n0\r\n\r\n",
    "chunk size before a blank": CHUNKED + b"1 \r\nx\r\n0\r\n\r\n",
    "chunk size of 17 digits": CHUNKED + b"00000000000000001\r\nx\r\n0\r\n\r\n",
    "chunk size empty": CHUNKED + b"\r\n0\r\n\r\n",
    "chunk size with a bare LF": CHUNKED + b"1\nx\r\n0\r\n\r\n",
    "chunk size with LF CR LF": CHUNKED + b"1\n\r\nx\r\n0\r\n\r\n",
    "chunk longer than its size": CHUNKED + b"1\r\nxy\r\n0\r\n\r\n",
    "chunk shorter than its size": CHUNKED + b"3\r\nx\r\n0\r\n\r\n",
    "chunk extension with a control character": CHUNKED + b"1;a=\x01\r\nx\r\n0\r\n\r\n",
    "chunk extension of 5 KB": CHUNKED + b"1;a=" + b"b" * 5000 + b"\r\nx\r\n0\r\n\r\n",
    "chunk extension without an end": CHUNKED + b"1;a=" + b"b" * 5000,
    "a megabyte of chunk extensions": CHUNKED + (b"1;a=" + b"b" * 4000 + b"\r\nx\r\n") * 300,
    "trailer with a blank before the colon": CHUNKED + b"0\r\nX : y\r\n\r\n",
    "trailer without an end": CHUNKED + b"0\r\nX: " + b"y" * 5000,
}

OTHER_REFUSALS = {
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/2 in a request": (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    "HTTP/1.2": (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
    "HTTP/0.9": (b"GET / HTTP/0.9\r\n\r\n", 505),
    "unknown expectation": (POST + b"Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx", 417),
    "two expectations": (POST + b"Expect: 100-continue, x\r\nContent-Length: 1\r\n\r\nx", 417),
    "target over 8 KB": (b"GET /" + b"a" * 8192 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    "target without an end": (b"GET /" + b"a" * 9000, 414),
    "head over 64 KB": (GET[:-2] + b"X: " + b"y" * 65_536 + b"\r\n\r\n", 431),
    "head without an end": (GET[:-2] + b"X: y\r\n" * 11_000, 431),
    "Content-Length over the limit": (POST + b"Content-Length: 1001\r\n\r\n", 413),
    "Content-Length of 5,000 digits": (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
    "Content-Length over the limit with Expect": (POST + b"Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n", 413),
    "chunks over the limit": (CHUNKED + b"1f4\r\n" + b"x" * 500 + b"\r\n1f5\r\n", 413),
    "one chunk over the limit": (CHUNKED + b"fffffffffffffff\r\n", 413),
}
REFUSALS = {name: (data, 400) for name, data in BAD_REQUESTS.items()} | OTHER_REFUSALS


@run_each_case("data, status", REFUSALS.values())
def test_malformed_requests_are_refused_and_closed(
    start: Start, app: EchoApplication, data: bytes, status: int
) -> None:
    client = start(body_limit=1000).connect().send(data)
    answer = client.read_answer()
    assert answer.status == status
    assert answer.error == HTTPStatus(status).name
    assert client.is_closed()
    assert app.calls == []


def test_bytes_behind_a_refused_request_are_not_parsed(start: Start, app: EchoApplication) -> None:
    client = start().connect().send(CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n" + GET)
    assert client.read_answer().status == 400
    assert client.is_closed()
    assert app.calls == []


@pytest.mark.parametrize("data", [b"HEAD / HTTP/1.1\r\n\r\n", b"HEAD http://[ HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_a_refused_head_request_gets_no_body(start: Start, data: bytes) -> None:
    client = start().connect().send(data)
    answer = client.read_answer(head=True)
    assert answer.status == 400
    assert int(answer.headers["content-length"]) > 0
    assert client.is_closed()


# What is served.

SERVED = {
    "plain": (GET, {"PATH_INFO": "/", "HTTP_HOST": "a", "SERVER_PROTOCOL": "HTTP/1.1", "QUERY_STRING": ""}),
    "escapes and a query": (
        b"GET /a%2Fb%20c?x=%41&y HTTP/1.1\r\nHost: a\r\n\r\n",
        {"PATH_INFO": "/a/b c", "QUERY_STRING": "x=%41&y", "REQUEST_URI": "/a%2Fb%20c?x=%41&y"},
    ),
    "two slashes": (b"GET //b/c HTTP/1.1\r\nHost: a\r\n\r\n", {"PATH_INFO": "/b/c", "HTTP_HOST": "a"}),
    "empty lines before": (b"\r\n\r\n" + GET, {"PATH_INFO": "/"}),
    "absolute form": (
        b"GET http://b:81/c?d HTTP/1.1\r\nHost: a\r\n\r\n",
        {"PATH_INFO": "/c", "QUERY_STRING": "d", "HTTP_HOST": "b:81"},
    ),
    "absolute form without a path": (b"GET HTTP://a?b HTTP/1.1\r\nHost: a\r\n\r\n", {"PATH_INFO": "/"}),
    "asterisk for OPTIONS": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", {"PATH_INFO": "/", "REQUEST_URI": "*"}),
    "IPv6 Host": (b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", {"HTTP_HOST": "[::1]:80"}),
    "HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", {"SERVER_PROTOCOL": "HTTP/1.0"}),
    "target of 8 KB": (b"GET /" + b"a" * 8176 + b" HTTP/1.1\r\nHost: a\r\n\r\n", {"HTTP_HOST": "a"}),
    "60 KB of blanks": (GET[:-2] + b"X:" + b" " * 60_000 + b"y\r\n\r\n", {"HTTP_X": "y"}),
    "blanks and bytes above ASCII": (GET[:-2] + b"X:\t \xe9 b \t\r\n\r\n", {"HTTP_X": "\xe9 b"}),
    "a field twice": (GET[:-2] + b"X: a\r\nx: b\r\n\r\n", {"HTTP_X": "a, b"}),
    "underscore in a name": (GET[:-2] + b"X_Api_Key: bad\r\nX-Api-Key: good\r\n\r\n", {"HTTP_X_API_KEY": "good"}),
    "underscore in a framing name": (GET[:-2] + b"Content_Length: 5\r\n\r\n", {"PATH_INFO": "/"}),
    "forwarded for": (GET[:-2] + b"X-Forwarded-For: 192.0.2.1\r\n\r\n", {"HTTP_X_FORWARDED_FOR": "192.0.2.1"}),
    "Content-Length": (POST + b"Content-Length: 3\r\n\r\nabc", {"CONTENT_LENGTH": "3", "body": b"abc"}),
    "Content-Length zero": (POST + b"Content-Length: 0\r\n\r\n", {"CONTENT_LENGTH": "0", "body": b""}),
    "body of the limit": (POST + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000, {"body": b"x" * 1000}),
    "chunks of the limit": (CHUNKED + b"3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n", {"body": b"x" * 1000}),
    "chunks, extensions and trailers": (
        CHUNKED + b'00003;a;b="c d"\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: y\r\n\r\n',
        {"CONTENT_LENGTH": "13", "body": b"abc0123456789"},
    ),
    "Chunked in capitals": (POST + b"Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", {"CONTENT_LENGTH": "0"}),
    "expectation without a body": (GET[:-2] + b"Expect: 100-continue\r\n\r\n", {"PATH_INFO": "/"}),
    "expectation in HTTP/1.0": (b"GET / HTTP/1.0\r\nExpect: x\r\n\r\n", {"PATH_INFO": "/"}),
}


@pytest.mark.parametrize("piece", [1_000_000, 1], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(("data", "expected"), SERVED.values(), ids=SERVED.keys())
def test_well_formed_requests_are_parsed(
    start: Start, app: EchoApplication, data: bytes, expected: dict[str, Any], piece: int
) -> None:
    client = start(body_limit=1000).connect()
    if len(data) > 5000:
        piece *= 997
    for at in range(0, len(data), piece):
        client.send(data[at : at + piece])
    assert client.read_answer().status == 200
    ((environ, body),) = app.calls
    seen = {"body": body, **environ}
    assert {name: seen[name] for name in expected} == expected
    assert not {"HTTP_TRANSFER_ENCODING", "HTTP_X_TRAILER", "HTTP_CONTENT_LENGTH"} & environ.keys()


@run_each_case(
    "target, path, request_uri",
    [
        ("/finapi/a%20b?c=1", "/a b", "/a%20b?c=1"),
        ("/finapi", "/", "/"),
        ("/a", "/a", "/a"),
        ("/finapix/a", "/finapix/a", "/finapix/a"),
    ],
)
def test_the_public_path_is_removed_from_a_target(
    start: Start, app: EchoApplication, target: str, path: str, request_uri: str
) -> None:
    client = start(public_path="/finapi").connect()
    assert client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode()).read_answer().status == 200
    environ, _ = app.calls[-1]
    assert (environ["PATH_INFO"], environ["REQUEST_URI"]) == (path, request_uri)


def test_the_environ_names_the_peer_the_server_and_the_deadline(
    start: Start, app: EchoApplication, clock: ManualClock
) -> None:
    running = start(clock, server_timeout=300)
    client = running.connect().send(GET)
    client.read_answer()
    environ, _ = app.calls[0]
    assert environ["REMOTE_ADDR"] == "127.0.0.1"
    assert environ["REMOTE_PORT"] == str(client.socket.getsockname()[1])
    assert environ["SERVER_PORT"] == str(running.listener.port)
    assert environ["SERVER_SOFTWARE"] == "finapi"
    assert environ["finapi.deadline"] == clock.now + 300


def test_no_header_tells_the_software(start: Start) -> None:
    headers = start().fetch().headers
    assert headers.keys() == {"content-length", "date"}


# Keep-alive, pipelines, HEAD

PERSISTENCE = {
    "HTTP/1.1": (GET, True),
    "HTTP/1.1 close": (GET[:-2] + b"Connection: close\r\n\r\n", False),
    "HTTP/1.1 close in a list": (GET[:-2] + b"Connection: TE, Close\r\n\r\n", False),
    "HTTP/1.0": (b"GET / HTTP/1.0\r\n\r\n", False),
    "HTTP/1.0 keep-alive": (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", True),
}


@run_each_case("data, stays", PERSISTENCE.values())
def test_the_connection_stays_open(start: Start, data: bytes, stays: bool) -> None:
    client = start().connect().send(data)
    answer = client.read_answer()
    assert (answer.headers.get("connection") == "close") is not stays
    if stays:
        assert client.send(data).read_answer().status == 200
    else:
        assert client.is_closed()


def test_pipelined_requests_are_answered_in_order(start: Start) -> None:
    requests = [b"POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (n, n) + b"x" * n for n in range(20)]
    client = start(threads=4).connect().send(b"".join(requests))
    assert [client.read_answer().body for _ in requests] == [b"/%d %d" % (n, n) for n in range(20)]


def test_a_refusal_waits_for_the_answers_before_it(start: Start, app: EchoApplication) -> None:
    client = start().connect().send(GET + GET + b"GET / HTTP/1.1\r\n\r\n" + GET)
    assert [client.read_answer().status for _ in range(2)] == [200, 200]
    assert client.read_answer().error == "BAD_REQUEST"
    assert client.is_closed()
    assert len(app.calls) == 2


def test_a_long_pipeline_is_answered_in_part(start: Start) -> None:
    client = start().connect().send(GET * 100)
    answers = [client.read_answer() for _ in range(MAX_PIPELINED + 1)]
    assert [answer.headers.get("connection") for answer in answers] == [None] * MAX_PIPELINED + ["close"]
    assert client.is_closed()


def test_an_unread_pipeline_stops_at_the_first_answer(start: Start, app: EchoApplication) -> None:
    large = b"GET /bytes?20000000 HTTP/1.1\r\nHost: a\r\n\r\n"
    running = start(threads=1)
    client = running.connect().send(large * 3)
    eventually(lambda: len(app.calls) == 1)
    running.fetch()  # the thread has finished
    assert len(client.read_answer().body) == 20_000_000
    assert client.is_closed()
    assert len(app.calls) == 2


@pytest.mark.parametrize("path", [b"/bytes?10", b"/stream"])
def test_an_answer_to_head_has_no_body(start: Start, path: bytes) -> None:
    client = start().connect().send(b"HEAD %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path)
    assert client.read_answer(head=True).status == 200
    assert client.is_closed()


def test_an_answer_without_a_body_keeps_its_connection(start: Start) -> None:
    client = start().connect()
    for _ in range(2):
        answer = client.send(b"GET /unchanged HTTP/1.1\r\nHost: a\r\n\r\n").read_answer(head=True)
        assert (answer.status, answer.headers["etag"]) == (304, '"a"')
        assert not {"connection", "content-length", "transfer-encoding"} & set(answer.headers)


@run_each_case("version", [b"1.0", b"1.1"])
@run_each_case("path", [b"/split?a%0D%0AX-Other:%20b", b"/split?a%0Ab", b"/split?a%0Db", b"/hop", b"/twice"])
def test_a_head_that_an_application_may_not_give_is_a_500(start: Start, path: bytes, version: bytes) -> None:
    client = start().connect().send(b"GET %s HTTP/%s\r\nHost: a\r\n\r\n" % (path, version))
    answer = client.read_answer()
    assert answer.error == "INTERNAL_SERVER_ERROR"
    assert not {"x-other", "x-said", "transfer-encoding"} & set(answer.headers)
    assert client.is_closed()


@pytest.mark.parametrize("kind", [b"os", b"value"])
def test_an_error_of_the_application_is_a_500_in_shape(start: Start, kind: bytes) -> None:
    client = start().connect().send(b"GET /raise?%s HTTP/1.1\r\nHost: a\r\n\r\n" % kind)
    answer = client.read_answer()
    assert answer.error == "INTERNAL_SERVER_ERROR"
    assert b"mistake" not in answer.body
    assert client.is_closed()


def test_a_500_to_head_has_no_body(start: Start) -> None:
    client = start().connect().send(b"HEAD /raise?value HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.read_answer(head=True).status == 500
    assert client.is_closed()


def test_system_exit_costs_the_connection_and_no_thread(start: Start) -> None:
    running = start(threads=1)
    client = running.connect().send(b"GET /raise?exit HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.is_closed()
    assert running.fetch().status == 200


# Bodies


def test_a_client_may_send_all_of_a_refused_body(start: Start) -> None:
    client = start(body_limit=4_000_000).connect()
    client.send(POST + b"Content-Length: 7000000\r\n\r\n" + b"x" * 7_000_000)  # more than socket buffers hold
    assert client.read_answer().error == HTTPStatus(413).name  # renamed in Python 3.13
    assert client.is_closed()


def test_draining_a_refused_body_has_an_end(start: Start) -> None:
    client = start(body_limit=1000).connect().send(POST + b"Content-Length: 1001\r\n\r\n")
    assert client.read_answer().status == 413
    with pytest.raises(ConnectionError):
        client.send(b"x" * 100_000_000)


def test_draining_has_a_time(start: Start, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(b"GET / HTTP/1.1\r\n\r\n")
    assert client.read_answer().status == 400
    assert client.is_closed()
    assert running.count_connections() == 1
    running.advance(6)
    eventually(lambda: running.count_connections() == 0)


def test_expect_continue_is_answered_before_the_body(start: Start, app: EchoApplication) -> None:
    client = start().connect().send(POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert client.read_answer().status == 100
    assert client.send(b"abc").read_answer().body == b"/ 3"


def test_expect_continue_waits_for_the_answer_before(start: Start, app: EchoApplication) -> None:
    running = start()
    head = POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    client = running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + head)
    running.wait_for_call()
    running.wait_for_loop()
    assert client.is_silent()
    app.release.release()
    assert client.read_answer().body == b"/wait 0"
    assert client.read_answer().status == 100
    assert client.send(b"abc").read_answer().body == b"/ 3"


def test_the_file_of_a_large_body_is_deleted(
    start: Start, app: EchoApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    running = start()
    before = count_descriptors()
    client = running.connect().send(POST + b"Content-Length: 8000000\r\n\r\n" + b"x" * 4_000_000)
    eventually(lambda: count_descriptors() > before + 2)  # the two ends of the connection, and the file
    assert list(tmp_path.iterdir()) == []
    assert client.send(b"x" * 4_000_000).read_answer().body == b"/ 8000000"
    assert len(app.calls[-1][1]) == 8_000_000
    eventually(lambda: count_descriptors() == before + 2)
    half = running.connect().send(POST + b"Content-Length: 8000000\r\n\r\n" + b"x" * 4_000_000)
    eventually(lambda: count_descriptors() > before + 4)
    half.close()
    client.close()
    app.calls.clear()
    eventually(lambda: count_descriptors() == before)


# Clients that take their time. The clock stands still: what passes is said.


@run_each_case("sent", [b"G", GET[:-2], b"\r\n", POST + b"Content-Length: 9\r\n\r\nx", CHUNKED + b"5\r\nab"])
def test_half_a_request_is_answered_408_at_its_deadline(start: Start, clock: ManualClock, sent: bytes) -> None:
    running = start(clock, header_timeout=15)
    client = running.connect().send(sent)
    running.advance(14)
    assert client.is_silent()
    running.advance(1.5)
    assert client.read_answer().error == "REQUEST_TIMEOUT"
    assert client.is_closed()


def test_a_head_that_drips_gets_no_more_time(start: Start, clock: ManualClock) -> None:
    running = start(clock, header_timeout=15)
    client = running.connect()
    for byte in GET[:15]:
        client.send(bytes([byte]))
        running.advance(1)
    assert client.read_answer().error == "REQUEST_TIMEOUT"


def test_a_late_head_to_head_times_out_without_a_body(start: Start, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(b"HEAD / HTTP")
    running.advance(20)
    assert client.read_answer(head=True).status == 408
    assert client.is_closed()


def test_a_client_that_never_sends_anything_is_closed(start: Start, clock: ManualClock) -> None:
    running = start(clock, header_timeout=15)
    client = running.connect()
    running.advance(16)
    assert client.is_closed()


def test_a_body_slower_than_the_least_rate_is_cut(start: Start, clock: ManualClock) -> None:
    running = start(clock, header_timeout=15, min_rate=500)
    client = running.connect().send(POST + b"Content-Length: 100000\r\n\r\n")
    for _ in range(20):  # 250 bytes a second: half of each second is lost
        client.send(b"x" * 250)
        running.wait_for_loop()
        assert client.is_silent()
        running.advance(1)
    running.advance(12)
    assert client.read_answer().error == "REQUEST_TIMEOUT"


def test_a_slow_body_above_the_least_rate_is_served(start: Start, clock: ManualClock) -> None:
    running = start(clock, header_timeout=15, min_rate=500)
    client = running.connect().send(POST + b"Content-Length: 24000\r\n\r\n")
    for _ in range(40):
        client.send(b"x" * 600)
        running.advance(1)
    assert client.read_answer().body == b"/ 24000"


def test_an_idle_connection_is_closed_at_its_time(start: Start, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=60, threads=1)
    client = running.connect()
    for _ in range(3):
        assert client.send(GET).read_answer().status == 200
        running.fetch()  # the thread has finished, and the time begins anew
        running.advance(58)
        assert client.is_silent()
    running.advance(4)
    assert client.is_closed()


@pytest.mark.slow
def test_a_failure_to_word_a_refusal_costs_only_its_connection(
    start: Start, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start(clock)
    client = running.connect().send(b"GET")
    running.wait_for_loop()
    monkeypatch.setattr(running.listener.context, "error_response", lambda status, message, request: 1 / 0)
    clock.now += 16
    assert client.is_closed()
    assert running.fetch().status == 200


def test_deadlines_pass_on_the_real_clock_too(start: Start) -> None:
    # Long enough for a busy machine to read what was sent.
    running = start(header_timeout=0.5, channel_timeout=0.6)
    half, idle = running.connect().send(b"GET"), running.connect().send(GET)
    assert idle.read_answer().status == 200
    assert half.read_answer().error == "REQUEST_TIMEOUT"
    assert idle.is_closed()


def test_a_client_that_does_not_read_holds_no_thread_and_is_cut(start: Start, clock: ManualClock) -> None:
    running = start(clock, threads=1, channel_timeout=60)
    client = running.connect().send(b"GET /bytes?40000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: len(running.app.calls) == 1)
    assert running.fetch().status == 200
    running.advance(62)
    eventually(lambda: running.count_connections() == 0)
    with contextlib.suppress(ConnectionResetError):
        assert len(client.read_answer().body) < 40_000_000


def test_a_client_that_reads_late_gets_all(start: Start, clock: ManualClock) -> None:
    running = start(clock, channel_timeout=60)
    client = running.connect().send(b"GET /bytes?20000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    running.advance(50)
    assert len(client.read_answer().body) == 20_000_000


# Calls that take too long


def waiting(running: RunningListener, path: bytes = b"/wait") -> RawClient:
    client = running.connect().send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path)
    running.wait_for_call()
    return client


def test_an_overdue_call_gets_504_and_its_answer_is_dropped(
    start: Start, clock: ManualClock, app: EchoApplication
) -> None:
    running = start(clock, threads=1, server_timeout=300)
    client = running.connect().send(GET)
    assert client.read_answer().status == 200  # an answer before does not count
    client.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_call()
    running.advance(298)
    assert client.is_silent()
    running.advance(3)
    assert client.read_answer().error == "GATEWAY_TIMEOUT"
    app.release.release()
    assert client.is_closed()


def test_an_answer_that_comes_with_the_504_is_dropped(
    start: Start, clock: ManualClock, app: EchoApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer_late(status: int, reason: str, request: RequestSummary) -> tuple[list[tuple[str, str]], bytes]:
        if status == 504:
            app.release.release()
            time.sleep(0.05)  # the application begins to answer meanwhile
        return error_response(status, reason, request)

    running = start(clock)
    monkeypatch.setattr(running.listener.context, "error_response", answer_late)
    client = waiting(running)
    running.advance(301)
    assert client.read_answer().error == "GATEWAY_TIMEOUT"
    assert client.is_closed()


@pytest.mark.parametrize("gives_up", [True, False])
def test_the_application_words_the_504_of_its_call(
    start: Start, clock: ManualClock, app: EchoApplication, gives_up: bool
) -> None:
    given_up = ([("X-Request-ID", "of-the-call")], b"{}") if gives_up else None
    statuses: list[int] = []

    def give_up(status: int) -> object:
        statuses.append(status)
        return given_up

    app.environ_additions["finapi.give_up"] = give_up
    running = start(clock)
    client = waiting(running)
    running.advance(301)
    eventually(lambda: len(statuses) > 0)
    if gives_up:
        answer = client.read_answer()
        assert (answer.status, answer.headers["x-request-id"], answer.body) == (504, "of-the-call", b"{}")
        app.release.release()
        assert client.is_closed()
    else:
        assert client.is_silent()
        app.release.release()
        assert client.read_answer().status == 200


@run_each_case(
    "data, status, summary",
    [
        (b"GET /a?b=1 HTTP/1.1\r\nHost: a\r\nX-Request-Id:mine-7\r\nbad\r\n\r\n", 400, ["GET", "/a?b=1", "mine-7"]),
        (b"GET / HTTP/1.1\r\nX-REQUEST-ID: mine-7 \r\n\r\n", 400, ["GET", "/", "mine-7"]),
        (POST + b"X-Request-ID: mine-7\r\nContent-Length: 9999999999\r\n\r\n", 413, ["POST", "/", "mine-7"]),
        (POST + b"X-Request-ID: mine-7\r\nX: " + b"a" * 66_000 + b"\r\n\r\n", 431, ["", "", "mine-7"]),
        (b"POST /a?b=1 HTTP/2.0\r\nX-Request-ID: mine-7\r\n\r\n", 505, ["POST", "/a?b=1", "mine-7"]),
        (GET[:-2] + b"X-Request-ID: two words\r\nExpect: x\r\n\r\n", 417, ["GET", "/", ""]),
        (GET[:-2] + b"X-Request-ID: " + b"a" * 192 + b"\r\nExpect: x\r\n\r\n", 417, ["GET", "/", ""]),
        (b"hello\r\n\r\n", 400, ["", "", ""]),
    ],
)
def test_an_error_response_gets_a_summary_of_the_request(
    start: Start, data: bytes, status: int, summary: list[str]
) -> None:
    answer = start().connect().send(data).read_answer()
    assert (answer.status, json.loads(answer.body)["asked"]) == (status, [*summary, "127.0.0.1"])


def test_a_head_that_does_not_come_is_refused_with_the_id_in_it(start: Start, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(b"GET / HTTP/1.1\r\nX-Request-ID: mine-7\r\nHost")
    running.wait_for_loop()
    running.advance(16)
    answer = client.read_answer()
    assert (answer.status, json.loads(answer.body)["asked"][2]) == (408, "mine-7")


def test_a_stuck_thread_is_replaced_and_ends_when_it_comes_back(
    start: Start, clock: ManualClock, app: EchoApplication
) -> None:
    running = start(clock, threads=2)
    clients = [waiting(running), waiting(running)]
    running.advance(301)
    assert [client.read_answer().status for client in clients] == [504, 504]
    assert [running.fetch().status for _ in range(5)] == [200] * 5
    assert len(list_request_threads()) == 4
    app.release.release(2)
    eventually(lambda: len(list_request_threads()) == 2)
    assert [running.fetch().status for _ in range(5)] == [200] * 5


def test_a_stuck_thread_is_replaced_once(start: Start, clock: ManualClock, app: EchoApplication) -> None:
    running = start(clock, threads=2)
    client = waiting(running)
    running.advance(301)
    assert client.read_answer().status == 504
    running.advance(10)  # the client has not closed, and is closed
    assert len(list_request_threads()) == 2
    app.release.release()


def test_stuck_threads_are_replaced_up_to_a_limit(start: Start, clock: ManualClock, app: EchoApplication) -> None:
    running = start(clock, threads=1)
    for _ in range(2):
        client = waiting(running)
        running.advance(301)
        assert client.read_answer().status == 504
    assert len(list_request_threads()) == 2
    queued = running.connect().send(GET)
    running.advance(301)
    assert queued.read_answer().error == "GATEWAY_TIMEOUT"
    calls = len(app.calls)
    app.release.release(2)
    eventually(lambda: len(list_request_threads()) == 1)
    assert running.fetch().status == 200
    assert len(app.calls) == calls + 1  # the one given up in the queue was never made


def test_an_answer_that_stops_half_way_is_cut(start: Start, clock: ManualClock, app: EchoApplication) -> None:
    running = start(clock, threads=1)
    client = waiting(running, b"/half")
    running.advance(301)
    answer = client.read_answer()
    assert (answer.status, answer.body) == (200, b"half")
    assert running.fetch().status == 200
    app.release.release()


def test_the_second_request_of_a_connection_has_its_own_time(
    start: Start, clock: ManualClock, app: EchoApplication
) -> None:
    running = start(clock, channel_timeout=1000)
    client = running.connect().send(GET)
    client.read_answer()
    running.advance(290)
    client.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_call()
    running.advance(290)
    app.release.release()
    assert client.read_answer().body == b"/wait 0"


def test_a_partial_request_does_not_shorten_a_running_call(
    start: Start, clock: ManualClock, app: EchoApplication
) -> None:
    running = start(clock, header_timeout=15)
    client = running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + GET[:10])
    running.wait_for_call()
    running.advance(100)
    app.release.release()
    assert client.read_answer().body == b"/wait 0"
    assert client.send(GET[10:]).read_answer().body == b"/ 0"


def test_a_request_beyond_the_queue_is_answered_503(start: Start, app: EchoApplication) -> None:
    running = start(threads=1, queue_limit=1)
    served = waiting(running)
    queued = running.connect().send(GET)
    running.wait_for_loop()
    answer = running.fetch()
    assert answer.error == "SERVICE_UNAVAILABLE"
    assert answer.headers["retry-after"] == "1"
    app.release.release()
    assert [served.read_answer().status, queued.read_answer().status] == [200, 200]


# Many connections


def test_a_full_house_closes_the_longest_idle(start: Start) -> None:
    running = start(connection_limit=3)
    clients = [running.connect() for _ in range(3)]
    for client in (*clients, clients[0]):
        client.send(GET).read_answer()
        time.sleep(0.01)  # the time of use is noted on the real clock
    newcomer = running.connect().send(GET)
    assert newcomer.read_answer().status == 200
    assert clients[1].is_closed()
    assert [clients[n].send(GET).read_answer().status for n in (0, 2)] == [200, 200]


def test_half_sent_heads_do_not_lock_others_out(start: Start) -> None:
    running = start(connection_limit=3)
    for _ in range(3):
        running.connect().send(b"GET / HT")
    assert running.fetch().status == 200


@pytest.mark.slow
def test_a_full_house_of_running_calls_lets_the_next_wait(start: Start, app: EchoApplication) -> None:
    running = start(connection_limit=2, threads=2)
    clients = [waiting(running), waiting(running)]
    newcomer = running.connect().send(GET)
    time.sleep(0.05)
    assert len(app.calls) == 2
    app.release.release(2)
    assert newcomer.read_answer().status == 200
    assert clients[0].read_answer().status == 200


def test_more_than_1024_connections_are_served(start: Start) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip(f"the hard limit of open files is {hard}; this needs 4,096")
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    try:
        running = start(connection_limit=2000, connections_per_address=2000)
        clients = [running.connect() for _ in range(1100)]
        assert clients[-1].socket.fileno() > 1024
        assert clients[-1].send(GET).read_answer().status == 200
        assert clients[0].send(GET).read_answer().status == 200
        running.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_the_server_waits_and_does_not_spin(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    running = start(channel_timeout=0.4)  # which makes it try again every 0.1 s
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))  # one more: the client's end
    try:
        client = running.connect()
        eventually(lambda: caplog.records)
        time.sleep(0.05)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert client.send(GET).read_answer().status == 200
    assert "cannot accept" in caplog.text
    assert len(caplog.records) < 10


def test_a_reset_by_the_client_is_no_event(
    start: Start,
    app: EchoApplication,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.WARNING)
    running = start()
    for data in (
        b"",
        b"GET / HT",
        POST + b"Content-Length: 9\r\n\r\nx",
        b"GET /bytes?20000000 HTTP/1.1\r\nHost: a\r\n\r\n",
    ):
        client = running.connect().send(data)
        running.wait_for_loop()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    client = waiting(running)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    app.release.release()
    assert running.fetch().status == 200
    running.stop()
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_urgent_data_closes(start: Start) -> None:
    client = start().connect()
    client.socket.send(b"x", socket.MSG_OOB)
    with pytest.raises(ConnectionResetError):
        client.is_closed()


# Stopping


def test_stop_is_quick_among_idle_clients_and_half_requests(start: Start) -> None:
    running = start()
    clients = [running.connect().send(GET) for _ in range(50)]
    assert {client.read_answer().status for client in clients} == {200}
    clients += [running.connect().send(b"GET / HT"), running.connect().send(POST + b"Content-Length: 9\r\n\r\nx")]
    running.wait_for_loop()
    began = time.monotonic()
    running.listener.stop()
    running.thread.join(10)
    assert time.monotonic() - began < 1
    assert all(client.is_closed() for client in clients)
    with pytest.raises(ConnectionRefusedError):
        running.connect()


def test_a_stop_waits_for_the_answer_of_a_running_call(start: Start, app: EchoApplication) -> None:
    running = start()
    client = waiting(running)
    large = running.connect().send(b"GET /bytes?20000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: len(app.calls) == 2)
    running.listener.stop()
    time.sleep(0.05)
    assert running.thread.is_alive()
    assert len(large.read_answer().body) == 20_000_000
    app.release.release()
    answer = client.read_answer()
    assert (answer.body, answer.headers["connection"]) == (b"/wait 0", "close")
    assert client.is_closed()
    running.thread.join(10)
    assert not running.thread.is_alive()


def test_a_call_beyond_the_grace_is_left_behind(start: Start, app: EchoApplication) -> None:
    running = start(threads=1)
    client = waiting(running)
    behind = running.connect().send(GET)
    eventually(lambda: running.listener.waiting == 1)
    running.listener.stop(0.05)
    for stopped_client in (client, behind):
        answer = stopped_client.read_answer()
        assert (answer.status, answer.headers["retry-after"], answer.headers["connection"]) == (503, "1", "close")
        assert stopped_client.is_closed()
    running.stop()
    assert len(list_request_threads()) == 1
    app.release.release()
    eventually(lambda: not list_request_threads())


def start_and_stop_listeners() -> None:
    app = EchoApplication()
    RunningListener(app).stop()
    threads, files = threading.enumerate(), count_descriptors()
    for _ in range(20):
        running = RunningListener(app)
        running.connect().send(b"GET / HT")
        running.connect().send(GET).read_answer()
        assert running.fetch().status == 200
        running.stop()
    assert threading.enumerate() == threads
    assert count_descriptors() == files


def test_starts_and_stops_leave_no_thread_and_no_descriptor() -> None:
    run_in_new_process(start_and_stop_listeners)


def test_a_stop_before_the_run_ends_it_at_once(app: EchoApplication) -> None:
    listener = Listener(app, ListenSettings(port=0), error_response)
    listener.stop()
    listener.run()
    listener.stop()
    assert list_request_threads() == []


def test_a_listener_that_never_ran_is_closed(app: EchoApplication) -> None:
    files = count_descriptors()
    Listener(app, ListenSettings(port=0), error_response).close()
    assert count_descriptors() == files


def test_a_taken_port_is_an_oserror_and_leaks_nothing(start: Start, app: EchoApplication) -> None:
    port = start().listener.port
    files = count_descriptors()
    with pytest.raises(OSError, match="in use"):
        Listener(app, ListenSettings(port=port), error_response)
    assert count_descriptors() == files


def test_two_listeners_live_in_one_process(start: Start) -> None:
    first, second = start(), start()
    first.stop()
    assert second.fetch().status == 200


def test_the_url_tells_the_real_port(start: Start) -> None:
    listener = start().listener
    assert listener.port > 0
    assert listener.url == f"http://127.0.0.1:{listener.port}"


def test_ipv6(start: Start) -> None:
    try:
        running = start(host="::1")
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert running.listener.url == f"http://[::1]:{running.listener.port}"
    assert running.fetch().status == 200
    assert running.app.calls[0][0]["REMOTE_ADDR"] == "::1"


# ---- answers that are in memory


def get_stored_answer(target: str, headers: dict[str, str], peer: str) -> Any:
    """Return the answer in memory, for the path /kept."""
    if target != "/kept":
        return None
    body = f"{peer} {headers.get('USER_AGENT')}".encode()
    return "200 OK", [("Content-Length", str(len(body)))], body


def test_answers_from_memory_need_no_free_thread(start: Start) -> None:
    running = start(answer_from_memory=get_stored_answer, threads=1)
    running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_call()
    client = running.connect()
    for _ in range(3):
        answer = client.send(b"GET /kept HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\n\r\n").read_answer()
        assert (answer.status, answer.body) == (200, b"127.0.0.1 x")
        assert "date" in answer.headers
        assert "connection" not in answer.headers
    assert len(running.app.calls) == 1


@pytest.mark.parametrize(
    "request_",
    [
        b"HEAD /kept HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /kept HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        b"GET /kept?a=1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /kep%74 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://a/kept HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /kept HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
        b"GET /kept HTTP/1.0\r\n\r\n",
    ],
)
def test_only_a_plain_get_is_answered_from_memory(start: Start, request_: bytes) -> None:
    running = start(answer_from_memory=get_stored_answer)
    assert running.fetch(request_, head=request_.startswith(b"HEAD")).status == 200
    assert len(running.app.calls) == 1


def test_answers_from_memory_keep_the_order_of_a_pipeline(start: Start) -> None:
    running = start(answer_from_memory=get_stored_answer)
    line = b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"
    client = running.connect().send(line % b"kept" + line % b"one" + line % b"kept" + line % b"two")
    bodies = [client.read_answer().body for _ in range(4)]
    assert bodies == [b"127.0.0.1 None", b"/one 0", b"/kept 0", b"/two 0"]


def test_one_pipeline_takes_turns_with_everybody_else(start: Start) -> None:
    paths: list[str] = []
    other: list[RawClient] = []

    def record_call(target: str, headers: dict[str, str], peer: str) -> Any:
        if not paths:  # the loop comes to this one as soon as it looks
            other.append(running.connect().send(b"GET /kept HTTP/1.1\r\nHost: a\r\nUser-Agent: other\r\n\r\n"))
        paths.append(headers.get("USER_AGENT", "pipeline"))
        return get_stored_answer("/kept", headers, peer)

    running = start(answer_from_memory=record_call)
    pipeline = running.connect().send(b"GET /kept HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
    assert {pipeline.read_answer().status for _ in range(1000)} == {200}
    assert other[0].read_answer().body == b"127.0.0.1 other"
    assert paths.count("pipeline") == 1000
    assert paths.index("other") <= 3  # accepted in one round of the loop, read in the next


def test_connection_close_ends_a_pipeline_from_memory(start: Start) -> None:
    paths: list[str] = []

    def record_call(target: str, headers: dict[str, str], peer: str) -> Any:
        paths.append(target)
        return get_stored_answer(target, headers, peer)

    line = b"GET /kept HTTP/1.1\r\nHost: a\r\n"
    client = (
        start(answer_from_memory=record_call)
        .connect()
        .send(line + b"\r\n" + line + b"Connection: close\r\n\r\n" + line)
    )
    assert [client.read_answer().headers.get("connection") for _ in range(2)] == [None, "close"]
    assert client.is_closed()
    assert len(paths) == 2


def test_an_empty_body_is_answered_from_memory(start: Start) -> None:
    running = start(answer_from_memory=lambda target, headers, peer: ("200 OK", [("Content-Length", "0")], b""))
    client = running.connect()
    assert [client.send(GET).read_answer().body for _ in range(2)] == [b"", b""]


def test_connection_close_applies_to_answers_from_memory(
    start: Start,
) -> None:
    client = start(answer_from_memory=get_stored_answer).connect()
    answer = client.send(b"GET /kept HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").read_answer()
    assert answer.headers["connection"] == "close"
    assert client.is_closed()


def test_unread_answers_from_memory_do_not_pile_up(start: Start) -> None:
    big = b"x" * 8_000_000
    running = start(answer_from_memory=lambda target, headers, peer: ("200 OK", [("Content-Length", "8000000")], big))
    client = running.connect()
    for _ in range(40):
        client.send(b"GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_loop()
    waiting = [sum(map(len, connection.queue)) for connection in running.listener.connections]
    assert 0 < max(waiting) < 8_000_200


# ---- the loop


def test_idle_connections_are_no_work_for_the_loop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    running = start()
    for _ in range(20):
        idle = running.connect().send(GET)
        assert idle.read_answer().status == 200
    client = running.connect().send(GET)
    client.read_answer()
    eventually(lambda: not any(each_connection.requests for each_connection in running.listener.connections))
    looked: set[int] = set()
    wants = HttpConnection.wanted_events

    def look(connection: HttpConnection) -> int:
        looked.add(connection.addr[1])
        return wants(connection)

    monkeypatch.setattr(HttpConnection, "wanted_events", look)
    for _ in range(10):
        assert client.send(GET).read_answer().status == 200
    assert looked == {client.socket.getsockname()[1]}


def test_a_request_during_a_call_is_answered_after_it(start: Start) -> None:
    running = start()
    client = running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_call()
    # The loop hears of it, has no use for it yet, and must come back to it.
    client.send(GET)
    running.wait_for_loop()
    running.wait_for_loop()
    running.app.release.release()
    assert [client.read_answer().body, client.read_answer().status] == [b"/wait 0", 200]


def test_a_disconnect_during_the_call_ends_the_connection(start: Start) -> None:
    running = start()
    client = running.connect().send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    running.wait_for_call()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    running.wait_for_loop()
    running.app.release.release()
    eventually(lambda: running.count_connections() == 0)


@pytest.mark.parametrize("keeps", [True, False])
def test_only_request_threads_are_bound_to_one_core(start: Start, app: EchoApplication, keeps: bool) -> None:
    every = os.sched_getaffinity(0)
    seen: list[set[int]] = []
    app.on_call = lambda: seen.append(os.sched_getaffinity(0))
    running = start(core=max(every) if keeps else None)
    assert running.fetch().status == 200
    assert seen == [{max(every)} if keeps else every]
    assert os.sched_getaffinity(0) == every


def test_a_connection_that_fails_to_begin_does_not_end_the_loop(start: Start, clock: ManualClock) -> None:
    addresses: list[str] = []

    def find_client_address(peer: str, forwarded: str | None) -> str | None:
        addresses.append(peer)
        if len(addresses) == 1:
            raise RuntimeError("nobody expected this")
        return peer

    running = start(clock, find_client_address=find_client_address, header_timeout=15)
    assert running.connect().is_closed()
    # No connection is accepted until the next tick.
    eventually(lambda: running.listener._listening_socket._is_suspended)
    clock.now += 15
    running.listener.loop.wake()
    assert running.connect().send(GET).read_answer().status == 200


class Failing:
    """Takes connections over and fails."""

    def can_take(self, method: str, path: str, accept: str) -> bool:
        return path == "/elsewhere"

    def take(self, handed: HandedOverRequest) -> None:
        raise RuntimeError("a mistake of who takes over")


def test_an_error_in_the_take_over_costs_only_its_connection(start: Start) -> None:
    running = start(request_taker=Failing())
    client = running.connect().send(b"GET /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.is_closed()
    assert running.fetch().status == 200
