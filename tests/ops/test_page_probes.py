"""What the watchdog asks of its own server: a page is good, or there is a reason; whatever answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from finapi.core.health import ProbeError
from finapi.net.outbound import MAX_HEAD_BYTES, Outbound
from finapi.ops.probes import OPERATOR_TARGETS, probe_page

GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def answering(said: bytes, *, closes: bool = True) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says this to each request, and the requests that it got."""
    asked: list[bytes] = []
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    asked.append(connection.recv(4096))
                    with suppress(OSError):
                        connection.sendall(said)
                    if not closes:
                        over.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def trouble(url: str, seconds: float = 5.0) -> tuple[str, str]:
    with pytest.raises(ProbeError) as caught:
        probe_page(Outbound(OPERATOR_TARGETS), f"{url}/", "text/html", seconds, "m")
    return caught.value.outcome, caught.value.reason


def test_a_probe_accepts_the_type_and_identifies_itself() -> None:
    with answering(GOOD) as (url, asked):
        probe_page(Outbound(OPERATOR_TARGETS), f"{url}/livez", "text/html", 5.0, "the mark")
    head, _, body = asked[0].partition(b"\r\n\r\n")
    place = url.removeprefix("http://").encode()
    assert body == b""
    assert head.split(b"\r\n") == [
        b"GET /livez HTTP/1.1",
        b"Host: " + place,
        b"Accept-Encoding: identity",
        b"Connection: close",
        b"User-Agent: finapi-watchdog",
        b"X-Finapi-Probe: the mark",
    ]


@pytest.mark.parametrize(
    ("said", "outcome", "reason"),
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
def test_a_probe_reports_why_a_response_is_wrong(said: bytes, outcome: str, reason: str) -> None:
    with answering(said) as (url, _):
        assert trouble(url) == (outcome, reason)


def test_a_probe_times_out_at_its_deadline() -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-", closes=False) as (url, _):
        assert trouble(url, 0.05) == ("timeout", "no reply within 0.05 s")


def test_a_probe_reports_a_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    assert trouble(f"http://127.0.0.1:{port}") == ("refused", "cannot be reached: Connection refused")


def test_closing_ends_a_probe_that_waits() -> None:
    with answering(b"HTTP/1.1 2", closes=False) as (url, asked):
        own, found = Outbound(OPERATOR_TARGETS), list[str]()

        def check() -> None:
            try:
                probe_page(own, url, "text/html", 10.0, "m")
            except ProbeError as told:
                found.append(told.reason)

        thread = threading.Thread(target=check)
        thread.start()
        while not asked:
            thread.join(0.005)
        own.close()
        thread.join(5)
        assert found == ["finapi is stopping"]
