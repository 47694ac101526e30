"""Tests of the watchdog's probes of pages: a good response, and the reason for any other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from finapi.core.health import ProbeError
from finapi.net.outbound import MAX_HEAD_BYTES, Outbound
from finapi.ops.probes import OPERATOR_TARGET_POLICY, probe_page
from tests.support.case_tables import run_each_case

GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def run_server(response: bytes, *, closes: bool = True) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that sends a response to each request. Yield its URL and the requests it received."""
    requests: list[bytes] = []
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    requests.append(connection.recv(4096))
                    with suppress(OSError):
                        connection.sendall(response)
                    if not closes:
                        over.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def get_probe_error(url: str, seconds: float = 5.0) -> tuple[str, str]:
    with pytest.raises(ProbeError) as caught:
        probe_page(Outbound(OPERATOR_TARGET_POLICY), f"{url}/", "text/html", seconds, "m")
    return caught.value.outcome, caught.value.reason


def test_a_probe_accepts_the_type_and_identifies_itself() -> None:
    with run_server(GOOD) as (url, requests):
        probe_page(Outbound(OPERATOR_TARGET_POLICY), f"{url}/livez", "text/html", 5.0, "the mark")
    head, _, body = requests[0].partition(b"\r\n\r\n")
    host = url.removeprefix("http://").encode()
    assert body == b""
    assert head.split(b"\r\n") == [
        b"GET /livez HTTP/1.1",
        b"Host: " + host,
        b"Accept-Encoding: identity",
        b"Connection: close",
        b"User-Agent: finapi-watchdog",
        b"X-Finapi-Probe: the mark",
    ]


@run_each_case(
    "response, outcome, reason",
    [
        (GOOD.replace(b"200 OK", b"503 Service Unavailable"), "failing", "answered 503"),
        (GOOD.replace(b"200 OK", b"404 Not Found"), "wrong", "answered 404"),
        (GOOD.replace(b"text/html", b"text/plain"), "wrong", "answered with something that is not text/html"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "wrong", "answered with something that is not text/html"),
        (b"", "refused", "the reply makes no sense"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "refused", "the reply makes no sense"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "refused", "the reply makes no sense"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * MAX_HEAD_BYTES, "refused", "cannot be reached: the reply is too long"),
        (b"HTTP/1.1 200 OK\r\n" + b"\xff\x00: \xe9\r\n" * 9, "wrong", "answered with something that is not text/html"),
    ],
)
def test_a_probe_reports_why_a_response_is_wrong(response: bytes, outcome: str, reason: str) -> None:
    with run_server(response) as (url, _):
        assert get_probe_error(url) == (outcome, reason)


def test_a_probe_times_out_at_its_deadline() -> None:
    with run_server(b"HTTP/1.1 200 OK\r\nContent-", closes=False) as (url, _):
        assert get_probe_error(url, 0.05) == ("timeout", "no reply within 0.05 s")


def test_a_probe_reports_a_refused_connection() -> None:
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        error = get_probe_error(f"http://127.0.0.1:{not_listening.getsockname()[1]}")
    assert error == ("refused", "cannot be reached: Connection refused")


def test_closing_ends_a_probe_that_waits() -> None:
    with run_server(b"HTTP/1.1 2", closes=False) as (url, requests):
        outbound, reasons = Outbound(OPERATOR_TARGET_POLICY), list[str]()

        def check() -> None:
            try:
                probe_page(outbound, url, "text/html", 10.0, "m")
            except ProbeError as error:
                reasons.append(error.reason)

        thread = threading.Thread(target=check)
        thread.start()
        while not requests:
            thread.join(0.005)
        outbound.close()
        thread.join(5)
        assert reasons == ["finapi is stopping"]
