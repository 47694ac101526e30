"""Many deliveries to hostile receivers: memory and threads stay flat, and good receivers get theirs."""

from __future__ import annotations

import gc
import socket
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.delivery import webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.net.outbound import Outbound, ReachPolicy
from tests import receiver as receivers
from tests.receiver import receiver, status

pytestmark = [pytest.mark.slow, pytest.mark.alone]

ROUNDS, EACH = 3, 15
HOSTILE: list[receivers.Behave] = [
    receivers.silent,
    receivers.drip(),
    receivers.drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    receivers.endless(b"HTTP/1.1 500 No\r\nContent-Length: 1073741824\r\n\r\n", b"x" * 1024),
    receivers.endless(b"HTTP/1.1 200 OK\r\nX-Endless: ", b"x" * 1024),
    receivers.half_closed,
    receivers.reset,
    status(302, "Location: http://169.254.169.254/"),
]


def test_memory_and_threads_stay_flat(make_app: Callable[..., App], caplog: pytest.LogCaptureFixture) -> None:
    app = make_app(webhook_allow=("127.0.0.0/8",), webhook_timeout=0.2, webhook_threads=12)
    names = {"private.example": ["10.0.0.1"], "linklocal.example": ["169.254.169.254", "fe80::1%1"]}
    object.__setattr__(app, "outbound", Outbound(ReachPolicy(app.outbound.reach.allowed), resolve=names.__getitem__))
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    dispatcher = Dispatcher(app)
    caplog.set_level("CRITICAL")
    traced_bytes: list[int] = []
    threads: list[int] = []

    def send(url: str, subject: str) -> None:
        event = webhooks.WebhookEvent("finapi.test", "2026-01-31T12:00:00.000Z", f"{url} {subject}", {"n": subject})
        with app.db.write() as tx:
            webhooks.enqueue(tx, app.clock.now(), webhooks.Receiver(user.id, user.uuid, url), event)

    served = []

    def behave(connection: socket.socket, received: receivers.Received, over: threading.Event) -> None:
        served.append(received.headers["webhook-id"])
        connection.sendall(receivers.OK)

    with ExitStack() as stack:
        receivers_running = [stack.enter_context(receiver(behaviour)) for behaviour in (*HOSTILE, behave)]
        urls = [*(running.url for running in receivers_running), *(f"https://{name}/" for name in names)]
        tracemalloc.start()
        for round_number in range(ROUNDS):
            for event_number in range(EACH):
                for url in urls:
                    send(url, f"{round_number} {event_number}")
            assert dispatcher.run_until_idle(60)
            for receiving in receivers_running:
                receiving.received.clear()
                receiving.threads = [thread for thread in receiving.threads if thread.is_alive()]
            caplog.clear()
            gc.collect()
            traced_bytes.append(tracemalloc.get_traced_memory()[0])
            threads.append(sum("finapi-webhook" in thread.name for thread in threading.enumerate()))
        tracemalloc.stop()
    dispatcher.stop(0.0)
    assert len(served) == len(set(served)) == ROUNDS * EACH
    assert max(threads) <= 12
    # The database is not in Python's memory, so any growth here would be ours.
    assert traced_bytes[-1] - traced_bytes[0] < 300_000
