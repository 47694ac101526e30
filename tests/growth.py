"""What stays of a day's work, and how many bytes each thing takes: ``python -m tests.growth PATH...``."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from finapi import app as apps
from finapi.accounts import archive, billing, recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.delivery import events, outbox, sniper, webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.delivery.webhooks import Receiver, WebhookEvent
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import fetch_queue, ingest
from finapi.net import mail
from finapi.net.outbound import Outbound, OutboundRequest, ReachPolicy, Reply
from finapi.ops import probes, watchdog
from finapi.ops.activity import ActivityRecorder
from tests.charging import charged
from tests.client import PASSWORD, Client, session_of
from tests.support.raw_sql import run_sql


class Answers:
    """Receivers that answer 200, but for those whose URL says otherwise."""

    reach = ReachPolicy()

    def send(self, request: OutboundRequest) -> Reply:
        return Reply(500 if "broken" in request.url else 200, {}, b"", False)

    def close(self) -> None:
        """Nothing to break off."""


class Year:
    """A service with a user, whose days pass by the clock."""

    def __init__(self, app: App, clock: FixedClock) -> None:
        self.app = replace(app, outbound=cast("Outbound", Answers()))
        self.clock = clock
        self.user = users.create(app, "ann@example.com", "pro", clock.now(), password=PASSWORD)
        self.client = Client(self.app, self.user.api_key)
        self.dispatcher = Dispatcher(self.app)
        self.numbers = itertools.count(1)
        self.app.health.probes.update(probes.build_process_probes(self.app))
        self.recorder = ActivityRecorder(self.app)

    def call(self) -> None:
        """A billed call."""
        with charged(self.app, self.user.id, "GET /api/v1/xbrl/timeseries", 10, self.app.new_uuid()):
            pass

    def event(self) -> None:
        """An event of a feed."""
        with self.app.db.write() as tx:
            accession = f"0000320193-25-{next(self.numbers):06}"
            data = {"accession_number": accession, "form_type": "4", "ticker": "AAPL"}
            now, about = self.clock.now(), events.EventTags(("AAPL",))
            outbox.enqueue_event(tx, now, accession, "insider_transaction", occurred_at=iso(now), tags=about, data=data)

    def delivery(self, url: str = "https://hooks.example.com/a") -> None:
        """A webhook."""
        with self.app.db.write() as tx:
            event = WebhookEvent("sniper.filing_hit", iso(self.clock.now()), str(next(self.numbers)), {"ticker": "A"})
            webhooks.enqueue(tx, self.clock.now(), Receiver(self.user.id, self.user.uuid, url), event)

    def mail(self) -> None:
        """A mail."""
        with self.app.db.write() as tx:
            mail.enqueue(tx, recovery.NEW_KEY, self.user.id, self.clock.now())

    def step(self) -> None:
        """What the workers of a server do, until nothing is due."""
        self.dispatcher.run_until_idle(20)
        while recovery.run_mail_step(self.app) == 0.0:
            pass
        events.run_prune_step(self.app)
        billing.run_settlement_step(self.app)
        while archive.run_archive_step(self.app) != archive.STEP_SECONDS:
            pass
        sniper.run_window_step(self.app, self.clock.now())
        watchdog.run_round(self.app, self.clock.now())
        self.recorder.run_step()

    def day(self) -> None:
        """A day of light use, of everything that leaves a row behind."""
        for _ in range(2):
            self.call()
            self.event()
            self.delivery()
            self.mail()
        self.delivery("https://hooks.example.com/broken")
        for password in (PASSWORD, "wrong"):
            self.client.post("/api/v1/auth/login", {"email": "ann@example.com", "password": password})
        self.client.post("/api/v1/auth/forgetpassword", {"email": "ann@example.com"})
        session = session_of(self.client, "ann@example.com")
        self.client.post("/api/v1/user/email", {"email": "ann@example.org", "password": PASSWORD}, session=session)
        key = {"Idempotency-Key": str(next(self.numbers))}
        self.client.post("/api/v1/webhooks/test", {"url": "https://hooks.example.com/t"}, headers=key)
        accession = f"0000320193-25-{next(self.numbers):06}"
        with self.app.db.write() as tx:
            tx.run("insert_wanted_document", accession=accession, cik=320193, form="4", now=iso(self.clock.now()))
            fetch_queue.finish_document(tx, accession, self.clock.now(), None)
        watched = sniper.WatchedCompany(320193, "AAPL")
        sniper.create_target(self.app, self.user.id, watched, {}, self.clock.now(), lambda tx, target: target)
        for seconds in (0, 10, 60, 300):
            self.clock.advance(seconds)
            self.step()

    def rows(self) -> dict[str, int]:
        """How many rows each table has."""
        with self.app.db.read() as tx:
            run = tx._connection.execute
            tables = run("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
            return {name: run(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables}


def begun(clock: FixedClock, **settings: Any) -> Year:
    """A service in memory."""
    numbers = itertools.count(1)
    config = Config(password_profile="cheap", app_per_minute=10**6, app_per_hour=10**6, **settings)
    app = apps.create_in_memory(config, clock, new_uuid=lambda: f"00000000-0000-4000-8000-{next(numbers):012}")
    with app.db.write() as tx:
        run_sql(tx, "INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (320193, 'A', 0, '')")
    return Year(app, clock)


def bytes_of(year: Year, work: Callable[[], None], count: int) -> float:
    """Bytes that one of ``count`` things leaves in the database."""
    before = year.app.db.sizes()
    for _ in range(count):
        work()
    after = year.app.db.sizes()
    return ((after["pages"] - after["free"]) - (before["pages"] - before["free"])) / count


def main() -> None:
    """Print the bytes of each thing, and of the documents that the command line names."""
    from datetime import UTC, datetime

    year = begun(FixedClock(datetime(2026, 1, 31, 12, tzinfo=UTC)))
    for name in ("call", "event", "delivery", "mail"):
        print(f"{name:10}{bytes_of(year, getattr(year, name), 5000):8.0f} bytes")
    year.app.db.close()
    year = begun(year.clock)
    paths = [Path(word) for word in sys.argv[1:]]
    size = bytes_of(year, lambda: ingest.run(year.app, paths, IngestOptions(), lambda outcome: None) and None, 1)
    rows = year.rows()
    print(f"{size:,.0f} bytes of documents, {rows['facts']:,} facts, {rows['filings']:,} filings")
    year.app.db.close()


if __name__ == "__main__":
    main()
