"""The services that the golden requests are sent to; the only module here that uses the parts of finapi.

Clock, ids and random bytes are fixed by the name of the request that uses them, so that adding or removing a request
does not change the answers to the others.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from finapi import app as apps
from finapi.accounts import invites, recovery, users
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.delivery import sniper
from finapi.delivery.dispatcher import Dispatcher
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest, latest_years_work
from finapi.ops import watchdog
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.client import Answer, Client, text_of
from tests.support import fund_report_xml, schedule_xml, submission_texts
from tests.support.demo_copies import load_demo

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
FILINGS = Path(__file__).parents[1] / "filings"
PASSWORD = "correct horse battery"
SUBMISSION = "0000999999-25-000001"
# A receiver whose name cannot be resolved, so that every delivery fails in the same way.
RECEIVER = "https://hook.example.com/finapi"

# Limits and balances that are never reached, cheap password hashes, fixed addresses.
_SETTINGS: dict[str, Any] = {
    "password_profile": "cheap",
    "public_url": "https://api.example.com",
    "frontend_url": "https://www.example.com",
    "pages": "public",
    "pages_per_minute": 1_000_000,
    "pro_tokens": 10**9,
    "financials_per_minute": 1_000_000,
    "financials_burst": 1_000_000,
    "xbrl_per_minute": 1_000_000,
    "xbrl_burst": 1_000_000,
    "insider_per_minute_free": 1_000_000,
    "insider_per_minute_paid": 1_000_000,
    "sql_per_minute": 1_000_000,
    "app_per_minute": 1_000_000,
    "app_per_hour": 1_000_000,
    "register_per_hour_per_ip": 1_000_000,
    "resend_per_hour_per_ip": 1_000_000,
}


class FixedSource:
    """Bytes that depend on a seed and the number of draws since it was set."""

    def __init__(self) -> None:
        self.seed("start")

    def seed(self, text: str) -> None:
        self._seed, self._drawn = text, itertools.count()

    def draw(self, size: int) -> bytes:
        return hashlib.shake_256(f"{self._seed}\0{next(self._drawn)}".encode()).digest(size)

    def uuid(self) -> str:
        text = self.draw(16).hex()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def _resolve_nothing(host: str) -> list[str]:
    raise OSError("no names here")


class World:
    """A service and its caller ``ann`` on the plan pro."""

    def __init__(self, *, has_demo: bool = False, **settings: Any) -> None:
        self._source = FixedSource()
        self.clock = FixedClock(NOW)
        config = Config(**{**_SETTINGS, **settings})
        app = apps.create_in_memory(config, self.clock, new_uuid=self._source.uuid, resolve=_resolve_nothing)
        self.app = replace(app, random_bytes=self._source.draw)
        if has_demo:
            load_demo(self.app)
        self._client = Client(self.app)
        self._dispatcher: Dispatcher | None = None
        self.key = self.add_user("ann@example.com")

    def request(self, name: str, method: str, target: str, **options: Any) -> Answer:
        """Return the answer to a request; ``name`` determines the ids and random bytes."""
        self._source.seed(name)
        return self._client.call(method, target, **options)

    def add_user(self, email: str, plan: str = "pro") -> str:
        """Add a user. Return the API key."""
        self._source.seed("user " + email)
        return users.create(self.app, email, plan, self.clock.now(), password=PASSWORD).api_key

    def create_invite(self, name: str) -> str:
        """Return a new invite code that is valid for an hour."""
        self._source.seed("invite " + name)
        return invites.create(self.app, self.clock.now(), lifetime=timedelta(hours=1), note=None).code

    def credit(self, email: str, cents: int) -> None:
        """Add money to a user's wallet."""
        users.change_credit(self.app, email, cents, self.clock.now())

    def lock(self, email: str) -> None:
        """Lock an account."""
        users.set_locked(self.app, email, True, self.clock.now())

    def run_watchdog(self) -> None:
        """Run the watchdog once; its only probe succeeds."""
        self.app.health.probes.setdefault("main_api", lambda: None)
        watchdog.run_round(self.app, self.clock.now())

    def deliver(self) -> None:
        """Send the deliveries that are due."""
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(self.app)
        assert self._dispatcher.run_until_idle(5)

    def close(self) -> None:
        """Stop the dispatcher and close the database."""
        if self._dispatcher is not None:
            self._dispatcher.stop(0.0)
        self.app.db.close()

    def move_windows(self) -> None:
        """Open and close the windows of targets that the clock has passed."""
        while sniper.run_window_step(self.app, self.clock.now()) == 0:
            pass

    def ingest(self, *paths: Path, accession: str | None = None, filed: str | None = None) -> list[dict[str, Any]]:
        """Ingest documents. Return path, kind, outcome, reason and accession of each."""
        self._source.seed("ingest")
        outcomes: list[Outcome] = []
        ingest.run(self.app, paths, IngestOptions(accession, filed), outcomes.append)
        return [
            {name: getattr(outcome, name) for name in ("path", "kind", "outcome", "reason", "accession")}
            for outcome in outcomes
        ]

    def list_mails(self) -> list[dict[str, str]]:
        """Return the mails that were sent so far, oldest first."""
        self._source.seed("mails")
        recovery.run_mail_step(self.app)
        transport: Any = self.app.mail_settings.transport
        return [
            {"to": message["To"], "subject": message["Subject"], "text": text_of(message)}
            for message in transport.messages()
        ]


@contextmanager
def _open_world(**settings: Any) -> Iterator[World]:
    world = World(**settings)
    try:
        yield world
    finally:
        world.close()


@contextmanager
def demo_world(**settings: Any) -> Iterator[World]:
    """Yield a service with the embedded data."""
    with _open_world(has_demo=True, **settings) as world:
        world.run_watchdog()
        yield world


@contextmanager
def golden_world() -> Iterator[tuple[World, list[dict[str, Any]]]]:
    """Yield the demo with documents of the kinds that it lacks, and the outcome of each document.

    They are schedules, a notice of sale, a full submission with its text, and reports of a fund. The caller has a
    receiver for webhooks.
    """
    with demo_world() as world:
        topics = ["13f.holdings.updated", "insider.transaction.created"]
        session = world.request(
            "login", "POST", "/api/v1/auth/login", json={"email": "ann@example.com", "password": PASSWORD}
        )
        changed = world.request(
            "user",
            "PUT",
            "/api/v1/user/",
            json={"webhook_url": RECEIVER, "webhook_topics": topics},
            session=session.json["token"],
        )
        assert changed.status == 200, changed.body
        outcomes: list[dict[str, Any]] = []
        with TemporaryDirectory() as folder:
            for accession, filed, document in schedule_xml.examples():
                file = Path(folder) / "primary_doc.xml"
                file.write_bytes(document)
                outcomes += world.ingest(file, accession=accession, filed=filed)
            submissions = [(SUBMISSION, _build_submission()), *fund_report_xml.example_submissions()]
            for accession, content in submissions:
                submission = Path(folder) / f"{accession}.txt"
                submission.write_bytes(content)
                outcomes += world.ingest(submission)
            for number, outcome in enumerate(outcomes, 1):
                outcome["path"] = f"{number} {Path(outcome['path']).name}"
        latest_years_work.compute_all_latest_years(world.app)  # As a worker does.
        world.run_watchdog()
        yield world, outcomes


def _build_submission() -> bytes:
    filer = submission_texts.party("FILER", "LAMP CORP", "0001234567") + submission_texts.values("8-K")
    text = "<html><body><p>Revenue of lamps rose.</p><script>alert(1)</script><p>Tariffs did not.</p></body></html>"
    exhibit = submission_texts.text("EX-99.1", "press.htm", "<p>Lamps sold out.</p>", 2, "<DESCRIPTION>PRESS RELEASE\n")
    return submission_texts.full(SUBMISSION, "8-K", filer, submission_texts.text("8-K", "lamp-8k.htm", text), exhibit)


def list_routes() -> list[str]:
    """Return every route, such as ``GET /api/v1/policy``."""
    return [f"{route.method} {route.path}" for route in ROUTES]


_ROUTER = Router(ROUTES)


def find_route(method: str, path: str) -> str | None:
    """Return the route of a path as :func:`list_routes` names it, or None."""
    match = _ROUTER.match(tuple(path.strip("/").split("/")))
    route = match and match.by_method.get("GET" if method == "HEAD" else method)
    return f"{route.method} {route.path}" if route else None
