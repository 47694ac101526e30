"""The services that are asked: the only module here that knows the parts of finapi.

Clock, ids and random bytes are fixed, by the name of the request that draws them: a request more or less changes
nothing of what the others are answered.
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
from finapi.market.demo import demo_data
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.ops import watchdog
from finapi.web.financials import screen
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.client import Answer, Client, text_of
from tests.support import schedule_xml

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
EDGAR = Path(__file__).parents[3] / "shared" / "edgar"
FILINGS = Path(__file__).parents[1] / "filings"
PASSWORD = "correct horse battery"
# A receiver whose name nobody can look up: what is sent there fails, each time in the same way.
RECEIVER = "https://hook.example.com/finapi"

# No limit and no balance in the way; hashes that cost nothing; addresses that are known.
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
    """Bytes that follow from a seed and how many were drawn since it was set."""

    def __init__(self) -> None:
        self.seed("start")

    def seed(self, text: str) -> None:
        self._seed, self._drawn = text, itertools.count()

    def draw(self, size: int) -> bytes:
        return hashlib.shake_256(f"{self._seed}\0{next(self._drawn)}".encode()).digest(size)

    def uuid(self) -> str:
        text = self.draw(16).hex()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def _nowhere(host: str) -> list[str]:
    raise OSError("no names here")


class World:
    """A service and its caller ``ann``, on the plan pro. ``ask`` is one request under its name."""

    def __init__(self, **settings: Any) -> None:
        self._source = FixedSource()
        self.clock = FixedClock(NOW)
        config = Config(**{**_SETTINGS, **settings})
        app = apps.create_in_memory(config, self.clock, new_uuid=self._source.uuid, resolve=_nowhere)
        self.app = replace(app, random_bytes=self._source.draw)
        self._client = Client(self.app)
        self._dispatcher: Dispatcher | None = None
        self.key = self.user("ann@example.com")

    def ask(self, name: str, method: str, target: str, **options: Any) -> Answer:
        """The answer to a request; ``name`` decides the ids and random bytes that are drawn."""
        self._source.seed(name)
        return self._client.call(method, target, **options)

    def user(self, email: str, plan: str = "pro") -> str:
        """The API key of a new user."""
        self._source.seed("user " + email)
        return users.create(self.app, email, plan, self.clock.now(), password=PASSWORD).api_key

    def invite(self, name: str) -> str:
        """A fresh invite code that lives an hour."""
        self._source.seed("invite " + name)
        return invites.create(self.app, self.clock.now(), lifetime=timedelta(hours=1), note=None).code

    def credit(self, email: str, cents: int) -> None:
        """Put money into a user's wallet."""
        users.add_credit(self.app, email, cents, self.clock.now())

    def lock(self, email: str) -> None:
        """Shut an account."""
        users.set_locked(self.app, email, True, self.clock.now())

    def watch(self) -> None:
        """Look once whether the parts work; there is one, and it does."""
        self.app.health.probes.setdefault("main_api", lambda: None)
        watchdog.run_round(self.app, self.clock.now())

    def deliver(self) -> None:
        """Try to send what waits for its receivers."""
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(self.app)
        assert self._dispatcher.run_until_idle(5)

    def close(self) -> None:
        """Stop what was started."""
        if self._dispatcher is not None:
            self._dispatcher.stop(0.0)
        self.app.db.close()

    def move(self) -> None:
        """Open and close the windows of targets that the clock has passed."""
        while sniper.run_window_step(self.app, self.clock.now()) == 0:
            pass

    def ingest(self, *paths: Path, accession: str | None = None, filed: str | None = None) -> list[dict[str, Any]]:
        """What became of each document: path, kind, outcome, reason, accession."""
        self._source.seed("ingest")
        outcomes: list[Outcome] = []
        ingest.run(self.app, paths, IngestOptions(accession, filed), outcomes.append)
        return [
            {name: getattr(one, name) for name in ("path", "kind", "outcome", "reason", "accession")}
            for one in outcomes
        ]

    def mails(self) -> list[dict[str, str]]:
        """The mails that were sent so far, oldest first."""
        self._source.seed("mails")
        recovery.run_mail_step(self.app)
        sent: Any = self.app.mail_settings.transport
        return [{"to": one["To"], "subject": one["Subject"], "text": text_of(one)} for one in sent.messages()]


@contextmanager
def _open(**settings: Any) -> Iterator[World]:
    world = World(**settings)
    try:
        yield world
    finally:
        world.close()


@contextmanager
def demo(**settings: Any) -> Iterator[World]:
    """A service with the embedded data."""
    with _open(**settings) as world:
        demo_data.load(world.app)
        world.watch()
        yield world


@contextmanager
def edgar() -> Iterator[tuple[World, list[dict[str, Any]]]]:
    """A service that has ingested the SEC's own documents, and what became of each of them.

    Its caller has a receiver for everything that webhooks tell.
    """
    with _open() as world:
        topics = ["13f.holdings.updated", "insider.transaction.created"]
        session = world.ask(
            "login", "POST", "/api/v1/auth/login", json={"email": "ann@example.com", "password": PASSWORD}
        )
        changed = world.ask(
            "user",
            "PUT",
            "/api/v1/user/",
            json={"webhook_url": RECEIVER, "webhook_topics": topics},
            session=session.json["token"],
        )
        assert changed.status == 200, changed.body
        outcomes = world.ingest(EDGAR)
        for one in outcomes:
            one["path"] = one["path"].removeprefix(f"{EDGAR}/")
        # None of the SEC's own documents at hand is a schedule or a notice of sale.
        with TemporaryDirectory() as folder:
            for accession, filed, document in schedule_xml.examples():
                file = Path(folder) / "primary_doc.xml"
                file.write_bytes(document)
                world.ingest(file, accession=accession, filed=filed)
        screen.compute_all_latest_years(world.app)  # as a worker does: of so many companies a screen makes none itself
        world.watch()
        yield world, outcomes


def routes() -> list[str]:
    """Every route: ``GET /api/v1/policy``."""
    return [f"{route.method} {route.path}" for route in ROUTES]


_ROUTER = Router(ROUTES)


def route_of(method: str, path: str) -> str | None:
    """The route that answers a path, as :func:`routes` names it."""
    match = _ROUTER.match(tuple(path.strip("/").split("/")))
    route = match and match.by_method.get("GET" if method == "HEAD" else method)
    return f"{route.method} {route.path}" if route else None
