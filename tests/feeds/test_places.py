"""Connection limits of the feeds, for addresses, clients without a key, and refused connections."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.feeds.feed_connections import MAX_LINGERING_PER_ADDRESS
from tests.feeds import SECONDS, Service, key, running, tell
from tests.feeds.test_event_stream import stream
from tests.feeds.test_socketio import Polling, call
from tests.feeds.test_websocket import closing, opened, said
from tests.process import eventually

GET = b"GET /ws/main-api HTTP/1.1\r\nHost: a\r\n\r\n"


def opened_from(source: str, service: Service, **query: object) -> ClientConnection:
    sock = socket.create_connection(service.address, SECONDS, source_address=(source, 0))
    return opened(service.url(**query), sock=sock)


def lingering(service: Service) -> int:
    return len(service.feeds._places.lingering)


def test_refused_requests_free_their_slots_and_few_linger(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(feed_connections=1, feed_connections_per_address=1)
    with running(app, clock) as service, ExitStack() as stack:
        answers = []
        for _ in range(2 * MAX_LINGERING_PER_ADDRESS):
            client = stack.enter_context(socket.create_connection(service.address, SECONDS))
            client.sendall(GET)
            answers.append(client.recv(12))
        assert set(answers) == {b"HTTP/1.1 400"}
        assert lingering(service) == MAX_LINGERING_PER_ADDRESS
        tell(app)
        assert said(stack.enter_context(opened(service.url(token=key(app)))))["seq"] == 1
    service.settled()


def test_lingering_connections_do_not_count_against_the_limit(make_app: Callable[..., App], clock: FixedClock) -> None:
    upgrade = (
        b"GET /ws/main-api?token=x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    app = make_app(feed_connections=1)
    with running(app, clock) as service, ExitStack() as stack:
        client = stack.enter_context(socket.create_connection(service.address, SECONDS))
        client.sendall(upgrade)
        eventually(lambda: lingering(service) == 1, SECONDS)
        tell(app)
        assert said(stack.enter_context(opened(service.url(token=key(app)))))["seq"] == 1
    service.settled()


def test_each_address_has_its_own_share_of_connections(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(feed_connections_per_address=2)
    with running(app, clock) as service:
        api_key = key(app)
        with opened(service.url(token=api_key)), stream(service, X_API_Key=api_key):
            service.settled(connections=2, readers=2)
            with pytest.raises(InvalidStatus) as caught:
                opened(service.url(token=api_key))
            assert caught.value.response.status_code == 429
            assert call(service, "GET", "/socket.io/?EIO=4&transport=polling")[0] == 429
            with opened_from("127.0.0.2", service, token=api_key):
                service.settled(connections=3, readers=3)
        service.settled()
        with opened(service.url(token=api_key)):
            service.settled(connections=1, readers=1)


def test_the_share_of_a_proxied_client_is_that_of_its_address(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(feed_connections_per_address=1, trusted_proxies=("127.0.0.1",))
    with running(app, clock) as service, ExitStack() as stack:
        api_key = key(app)
        for number in range(3):
            headers = {"X-Forwarded-For": f"192.0.2.{number}"}
            stack.enter_context(opened(service.url(token=api_key), additional_headers=headers))
        service.settled(connections=3, readers=3)
        with pytest.raises(InvalidStatus) as caught:
            opened(service.url(token=api_key), additional_headers={"X-Forwarded-For": "192.0.2.1"})
        assert caught.value.response.status_code == 429


def test_a_new_stranger_displaces_the_oldest_of_the_busiest(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_unauthenticated=4), clock) as service, ExitStack() as stack:
        sources = ["127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.3"]
        strangers = [stack.enter_context(opened_from(source, service)) for source in sources]
        service.settled(connections=4, unauthenticated=4)
        late = stack.enter_context(opened_from("127.0.0.4", service))
        assert closing(strangers[1]) == (4429, "Too many connections without an API key.")
        service.settled(connections=4, unauthenticated=4)
        late.send(json.dumps({"token": key(service.app)}))
        tell(service.app)
        assert said(late)["seq"] == 1
        service.settled(connections=4, readers=1, unauthenticated=3)


def test_a_session_without_a_key_can_be_displaced_too(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_unauthenticated=2), clock) as service:
        first, second = Polling(service), Polling(service)
        with opened(service.url()):
            service.settled(connections=1, sessions=1, unauthenticated=2)
            assert (first.post("3"), second.post("3")) == (400, 200)
            service.outwaited()


def test_a_websocket_that_never_upgrades_counts_as_having_no_key(
    make_app: Callable[..., App], clock: FixedClock
) -> None:
    with running(make_app(feed_unauthenticated_per_address=2), clock) as service, ExitStack() as stack:
        polling = Polling(service)
        url = f"ws://{service.host}{polling.path.replace('polling', 'websocket')}"
        stack.enter_context(opened(url))
        service.settled(connections=1, sessions=1, unauthenticated=2)
        assert closing(stack.enter_context(opened(url)))[0] == 4429
        service.outwaited()


@pytest.mark.slow
def test_a_stop_closes_every_connection_with_1001(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(feeds_paid=MAX_LINGERING_PER_ADDRESS + 2)
    with running(app, clock) as service, ExitStack() as stack:
        api_key: Any = key(app)
        readers = [
            stack.enter_context(opened(service.url(token=api_key))) for _ in range(MAX_LINGERING_PER_ADDRESS + 2)
        ]
        service.settled(connections=len(readers), readers=len(readers))
        service.feeds.stop()
        assert {closing(reader)[0] for reader in readers} == {1001}
