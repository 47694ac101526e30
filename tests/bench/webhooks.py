"""Webhooks per second, and the time from the feed to a receiver's socket.

python -m tests.bench.webhooks [DELIVERIES]
"""

from __future__ import annotations

import json
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from finapi.accounts import users
from finapi.app import App
from finapi.core.background import Worker, run_workers
from finapi.core.config import Config
from finapi.delivery import sniper, webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.market.intake.gateway import Gateway
from finapi.market.intake.poller import Poller
from finapi.ops.app_opening import open_app
from tests.receiver import OK, Received, Receiver, receiver
from tests.support.edgar_server import AGENT, Page, entry, fake_edgar, feed

RECEIVERS = 8
ROUNDS = 40


@contextmanager
def dispatched(app: App) -> Iterator[None]:
    """Empty the outbox with a worker, as a server does."""
    worker = Worker("webhooks", lambda: dispatcher.run_step())
    dispatcher = Dispatcher(app, worker.wake)
    app.db.listen(webhooks.TOPIC, worker.wake)
    with run_workers([worker]):
        yield
    dispatcher.stop(5.0)


def throughput(app: App, count: int) -> float:
    """Send deliveries to local receivers. Return the seconds."""
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    arrived = threading.Semaphore(0)

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        connection.sendall(OK)
        arrived.release()

    with contextmanager(_several)(behave) as webhook_receivers:
        with app.db.write() as tx:
            for number in range(count):
                url = webhook_receivers[number % RECEIVERS].url
                event = webhooks.WebhookEvent("finapi.test", "2026-01-31T12:00:00.000Z", str(number), {"n": number})
                webhooks.enqueue(tx, app.clock.now(), webhooks.Receiver(user.id, user.uuid, url), event)
        started = time.perf_counter()
        with dispatched(app):
            for _ in range(count):
                arrived.acquire()
            took = time.perf_counter() - started
    return took


def _several(behave: object) -> Iterator[list[Receiver]]:
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield [stack.enter_context(receiver(behave)) for _ in range(RECEIVERS)]  # type: ignore[arg-type]


def latency(app: App) -> None:
    """Return the times from the feed's answer to the receiver's socket, without the poll interval."""
    user = users.create(app, "eve@example.com", "pro", app.clock.now())
    arrived: dict[str, float] = {}
    delivered = threading.Event()

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        arrived[json.loads(received.body)["payload"]["accession_number"]] = time.perf_counter()
        connection.sendall(OK)
        delivered.set()

    times = []
    with fake_edgar() as (edgar, edgar_address), receiver(behave) as webhook_receiver:
        object.__setattr__(
            app,
            "config",
            Config(
                user_agent=AGENT,
                base_url=f"http://127.0.0.1:{edgar_address.port}",
                edgar_per_second=1e6,
                webhook_allow=("127.0.0.0/8",),
            ),
        )
        with app.db.write() as tx:
            tx.run("upsert_poll_state", name="indexed_through", value="9999-01-01")
        edgar.feed[0] = Page(feed(*[entry(f"0000000001-26-{number:06}", cik=1) for number in range(100)]))
        gateway = Gateway(app)
        poller = Poller(app, gateway, interval_seconds=0.0)
        poller.read_feed()
        with dispatched(app):
            for number in range(ROUNDS):
                accession = f"0000320193-26-{number:06}"
                body = {"webhook_url": webhook_receiver.url}
                sniper.create_target(
                    app, user.id, sniper.WatchedCompany(1, "X"), body, app.clock.now(), lambda tx, target: target
                )
                other_entries = [
                    entry(f"0000000002-26-{100 * number + entry_number:06}", cik=1_000 + entry_number)
                    for entry_number in range(99)
                ]
                edgar.feed[0] = Page(feed(entry(accession, cik=1), *other_entries))
                delivered.clear()
                started = time.perf_counter()
                poller.read_feed()
                delivered.wait(10)
                times.append((arrived[accession] - started) * 1000)
        gateway.close()
    print(
        f"feed to receiver, a page of 100 new filings each time: median {statistics.median(times):.0f} ms, "
        f"slowest {max(times):.0f} ms of {ROUNDS}"
    )


def main() -> None:
    """Measure both on a database on disk with synchronous=FULL."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as directory:
        config = Config(data_dir=Path(directory), webhook_allow=("127.0.0.0/8",))
        with open_app(config) as app:
            print(f"{count} deliveries to {RECEIVERS} receivers: {count / throughput(app, count):.0f} a second")
            object.__setattr__(app.outbound._dialer, "closed", False)
            latency(app)


if __name__ == "__main__":
    main()
