"""Tests of outbound requests: the bytes sent, the part of a reply that is read, and time limits."""

from __future__ import annotations

import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
import trustme

from finapi.net import addresses
from finapi.net.outbound import (
    Outbound,
    OutboundError,
    OutboundRequest,
    ReachPolicy,
    RequestStoppedError,
    TargetRefusedError,
)
from tests import receiver as receivers
from tests.process import eventually
from tests.receiver import Receiver, drip, endless, half_closed, receiver, reply, reset, silent, status
from tests.support.case_tables import run_each_case

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LOOPBACK = addresses.parse_networks(["127.0.0.0/8", "::1/128"])


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as listening:
        yield listening


@pytest.fixture
def outbound() -> Outbound:
    return Outbound(ReachPolicy(LOOPBACK), resolve=no_names)


def no_names(host: str) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


def post(server: Receiver, seconds: float = 5.0, **options: object) -> OutboundRequest:
    return OutboundRequest(server.url, "POST", body=b"{}", timeout_seconds=seconds, **options)  # type: ignore[arg-type]


# ---- what is sent, and what is kept


def test_a_request_is_sent_as_it_stands(server: Receiver, outbound: Outbound) -> None:
    response = outbound.send(OutboundRequest(server.url + "?a=b", "POST", {"X-One": "1"}, b'{"a":1}'))
    assert (response.status, response.body, response.is_truncated) == (200, b"ok", False)
    (received,) = server.received
    assert received.line == "POST /hook?a=b HTTP/1.1"
    assert received.body == b'{"a":1}'
    assert received.headers == {
        "host": f"127.0.0.1:{server.port}",
        "accept-encoding": "identity",
        "connection": "close",
        "x-one": "1",
        "content-length": "7",
    }


def test_a_header_cannot_begin_another(server: Receiver, outbound: Outbound) -> None:
    with pytest.raises(OutboundError):
        outbound.send(OutboundRequest(server.url, headers={"X-One": "1\r\nX-Two: 2"}))
    assert server.received == []


@run_each_case(
    "data, code, body, cut",
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", False),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", 200, b"to the end", False),
        (CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, b"abcde", False),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + receivers.OK, 200, b"ok", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + receivers.OK, 200, b"ok", False),
        (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n", 302, b"", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"y" * 3000, 200, b"y" * 2048, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2048\r\n\r\n" + b"y" * 2048, 200, b"y" * 2048, False),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 503, b"", False),
    ],
)
def test_a_reply_is_read_as_http_says(
    server: Receiver, outbound: Outbound, data: bytes, code: int, body: bytes, cut: bool
) -> None:
    server.behave = reply(data)
    response = outbound.send(post(server))
    assert (response.status, response.body, response.is_truncated) == (code, body, cut)


def test_headers_of_a_reply_are_found_in_lower_case(server: Receiver, outbound: Outbound) -> None:
    server.behave = status(429, "Retry-AFTER: 7")
    assert outbound.send(post(server)).headers["retry-after"] == "7"


def test_a_whole_reply_is_whole_or_an_error(server: Receiver, outbound: Outbound) -> None:
    server.behave = status(200, body=b"z" * 100_000)
    response = outbound.send(OutboundRequest(server.url, max_body_bytes=100_000, require_complete=True))
    assert response.body == b"z" * 100_000
    with pytest.raises(OutboundError, match="longer than 99999 bytes"):
        outbound.send(OutboundRequest(server.url, max_body_bytes=99_999, require_complete=True))


# ---- receivers that mean harm


@run_each_case(
    "behave, reason",
    [
        (reply(b""), "the connection was closed without a reply"),
        (reset, "cannot be reached: Connection reset by peer"),
        (half_closed, "the connection was closed without a reply"),
        (reply(b"220 mail.example ESMTP\r\n"), "the reply is not HTTP"),
        (reply(b"HTTP/1.1 two hundred\r\n\r\n"), "the reply is not HTTP"),
        (reply(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"), "closed in the middle of the reply"),
        (reply(CHUNKED + b"5\r\nab"), "closed in the middle"),
        (reply(CHUNKED + b"zz\r\nab"), "closed in the middle|no HTTP"),
        (endless(b"HTTP/1.1 200 OK\r\nX-Endless: "), "the reply is not HTTP"),
        (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "cannot be reached: the reply is too long"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"), "the reply is not HTTP|the reply is too long"),
        (endless(b"x"), "the reply is not HTTP|the reply is too long"),
    ],
)
def test_what_is_no_reply_is_told_in_our_words(
    server: Receiver, outbound: Outbound, behave: receivers.Behave, reason: str
) -> None:
    server.behave = behave
    with pytest.raises(OutboundError, match=reason) as caught:
        outbound.send(post(server))
    assert not isinstance(caught.value, TargetRefusedError)


@run_each_case(
    "behave", [silent, drip(), drip(b"H"), drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), drip(CHUNKED)]
)
def test_no_receiver_holds_longer_than_the_limit(
    server: Receiver, outbound: Outbound, behave: receivers.Behave
) -> None:
    server.behave = behave
    started = time.monotonic()
    with pytest.raises(OutboundError, match=r"no reply within 0\.3 s"):
        outbound.send(post(server, seconds=0.3))
    assert 0.3 <= time.monotonic() - started < 1.5


def test_a_body_without_a_length_may_end_with_the_limit(server: Receiver, outbound: Outbound) -> None:
    server.behave = drip(b"HTTP/1.1 200 OK\r\n\r\n", every=0.02)
    response = outbound.send(post(server, seconds=1.0))
    assert (response.status, response.is_truncated) == (200, False)
    assert set(response.body) == {ord("x")}


def test_an_endless_body_is_read_no_further_than_what_is_kept(server: Receiver, outbound: Outbound) -> None:
    server.behave = endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    started = time.monotonic()
    response = outbound.send(post(server))
    assert (response.status, len(response.body), response.is_truncated) == (200, 2048, True)
    assert time.monotonic() - started < 2.0


def test_a_gigabyte_of_body_takes_no_memory(server: Receiver, outbound: Outbound) -> None:
    server.behave = endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", b"x" * 1024)
    outbound.send(post(server))
    tracemalloc.start()
    for _ in range(20):
        assert len(outbound.send(post(server)).body) == 2048
    used_bytes, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400_000
    assert used_bytes < 100_000


def test_a_receiver_that_never_reads_is_given_up(outbound: Outbound) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(OutboundError, match=r"no reply within 0\.3 s"):
            outbound.send(OutboundRequest(url, "POST", body=b"x" * 20_000_000, timeout_seconds=0.3))


def test_nobody_there(outbound: Outbound) -> None:
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{not_listening.getsockname()[1]}/"
        with pytest.raises(OutboundError, match="cannot be reached: Connection refused"):
            outbound.send(OutboundRequest(url))


# ---- names and addresses


def build_outbound(*answers: Sequence[str]) -> Outbound:
    """Return an Outbound whose resolver gives these answers in turn; plain http is open to loopback."""
    remaining = list(answers)
    return Outbound(ReachPolicy(LOOPBACK), resolve=lambda host: remaining.pop(0))


def test_the_name_is_resolved_once_and_sent_as_host(server: Receiver) -> None:
    url = f"http://hook.example:{server.port}/"
    assert build_outbound(["127.0.0.1"]).send(OutboundRequest(url)).status == 200
    assert server.received[0].headers["host"] == f"hook.example:{server.port}"


def test_a_name_that_changes_to_a_private_address_is_refused(server: Receiver) -> None:
    rebinding = build_outbound(["127.0.0.1"], ["10.0.0.1"])
    url = f"http://hook.example:{server.port}/"
    assert rebinding.send(OutboundRequest(url)).status == 200
    with pytest.raises(TargetRefusedError, match="no address that may be used"):
        rebinding.send(OutboundRequest(url))


def test_of_several_addresses_only_usable_ones_are_connected_to(server: Receiver) -> None:
    url = f"http://hook.example:{server.port}/"
    assert build_outbound(["10.0.0.1", "169.254.169.254", "127.0.0.1"]).send(OutboundRequest(url)).status == 200
    with pytest.raises(OutboundError, match="Connection refused"):
        # Nobody listens at the first; the second is not tried although it would be next.
        build_outbound(["::1", "10.0.0.1"]).send(OutboundRequest(url))


@run_each_case("address", ["fe80::1%1", "::ffff:127.0.0.1", "0.0.0.0", "nonsense"])
def test_what_a_resolver_says_is_judged_too(server: Receiver, address: str) -> None:
    with pytest.raises(TargetRefusedError, match="no address that may be used"):
        build_outbound([address]).send(OutboundRequest(f"http://hook.example:{server.port}/"))
    assert server.received == []


def test_a_look_up_takes_its_part_of_the_limit() -> None:
    over = threading.Event()

    def hang(host: str) -> list[str]:
        over.wait(30)
        return []

    hanging = Outbound(ReachPolicy(LOOPBACK), resolve=hang)
    with pytest.raises(OutboundError, match=r"no reply within 0\.2 s"):
        hanging.send(OutboundRequest("http://hook.example/", timeout_seconds=0.2))
    over.set()
    for thread in threading.enumerate():
        if thread.name == "finapi-look-up":
            thread.join()


def fail_unknown_name(host: str) -> list[str]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def fail_resolver(host: str) -> list[str]:
    raise UnicodeError("label empty or too long")


@run_each_case("url", ["https://hook.example/", "http://hook.example/"])
@run_each_case(
    "resolve",
    [
        fail_unknown_name,
        fail_resolver,
        *(
            lambda host, addresses=addresses: addresses
            for addresses in ([], ["10.0.0.1"], ["10.0.0.1", "fd00::1"], ["fe80::1%1"])
        ),
    ],
)
def test_a_private_name_fails_like_an_unknown_one(url: str, resolve: Any) -> None:
    with pytest.raises(OutboundError) as caught:
        Outbound(ReachPolicy(LOOPBACK), resolve=resolve).send(OutboundRequest(url))
    assert (type(caught.value), caught.value.reason) == (TargetRefusedError, "the host has no address that may be used")


def test_a_name_of_the_operators_own_says_why_it_leads_nowhere() -> None:
    with pytest.raises(OutboundError, match="cannot be reached: Name or service not known"):
        Outbound(ReachPolicy(allows_any_address=True), resolve=fail_unknown_name).send(
            OutboundRequest("http://hook.example/")
        )
    with pytest.raises(OutboundError, match="has no address"):
        Outbound(ReachPolicy(allows_any_address=True), resolve=lambda host: []).send(
            OutboundRequest("http://hook.example/")
        )


def test_a_redirect_is_an_answer_like_any_other(server: Receiver, outbound: Outbound) -> None:
    with receiver() as elsewhere:
        server.behave = status(307, f"Location: {elsewhere.url}")
        assert outbound.send(post(server)).status == 307
        assert elsewhere.received == []


def test_proxies_of_the_environment_are_not_used(
    server: Receiver, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert outbound.send(post(server)).status == 200
        assert proxy.received == []


# ---- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def build_tls_context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> Outbound:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return Outbound(ReachPolicy(LOOPBACK), resolve=lambda host: ["127.0.0.1"], context=context)


def test_the_certificate_is_of_the_name_not_of_the_address(authority: trustme.CA) -> None:
    with receiver(context=build_tls_context(authority, "hook.example")) as server:
        assert trusting(authority).send(OutboundRequest(f"https://hook.example:{server.port}/")).status == 200
        with pytest.raises(OutboundError, match="TLS: the certificate is not trusted: Hostname mismatch"):
            trusting(authority).send(OutboundRequest(f"https://other.example:{server.port}/"))
        with pytest.raises(OutboundError, match="TLS: the certificate is not trusted: IP address mismatch"):
            trusting(authority).send(OutboundRequest(f"https://127.0.0.1:{server.port}/"))
    assert len(server.received) == 1


def test_a_certificate_of_an_unknown_issuer_is_not_trusted(authority: trustme.CA) -> None:
    with receiver(context=build_tls_context(authority, "hook.example")) as server:
        stranger = Outbound(ReachPolicy(LOOPBACK), resolve=lambda host: ["127.0.0.1"])
        with pytest.raises(OutboundError, match="TLS: the certificate is not trusted"):
            stranger.send(OutboundRequest(f"https://hook.example:{server.port}/"))


def test_tls_that_is_none(server: Receiver, authority: trustme.CA) -> None:
    server.behave = silent
    with pytest.raises(OutboundError, match=r"no reply within 0\.5 s"):
        trusting(authority).send(OutboundRequest(f"https://hook.example:{server.port}/", timeout_seconds=0.5))


# ---- stopping


def test_closing_breaks_off_what_is_being_sent(server: Receiver, outbound: Outbound) -> None:
    requested = threading.Event()

    def behave(connection: socket.socket, received: receivers.Received, over: threading.Event) -> None:
        requested.set()
        over.wait(30)

    def close() -> None:
        requested.wait(30)
        outbound.close()

    server.behave = behave
    closer = threading.Thread(target=close)
    closer.start()
    started = time.monotonic()
    with pytest.raises(RequestStoppedError):
        outbound.send(post(server, seconds=30.0))
    assert time.monotonic() - started < 5.0
    closer.join()
    with pytest.raises(RequestStoppedError):
        outbound.send(post(server))
    assert len(server.received) == 1


def test_nothing_is_left_behind(server: Receiver, outbound: Outbound) -> None:
    before = threading.active_count() - len(server.threads)
    for behave in (reset, reply(b""), half_closed, reply(receivers.OK)):
        server.behave = behave
        with suppress(OutboundError):
            outbound.send(post(server, seconds=0.5))
    server.over.set()
    for thread in server.threads:
        thread.join()
    # Those of the receiver may still be ending.
    eventually(lambda: threading.active_count() <= before)
