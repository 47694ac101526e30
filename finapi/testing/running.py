"""A running fixture: its base, its worlds, their feeds, and the socket if one is wanted."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.feeds.requests import SOCKET_IO, api_key, are_feeds
from finapi.feeds.starting import FeedsWhenRead
from finapi.httpd.listen import Listener
from finapi.httpd.loop import break_off
from finapi.httpd.response import head
from finapi.httpd.settings import HandedOver
from finapi.listening import listen_settings, looping, not_listening, url_of
from finapi.net import mail
from finapi.store import datadir
from finapi.store.layered import LayeredDatabase
from finapi.testing import base, faults, world
from finapi.testing.base import Base, RandomStream
from finapi.testing.control import ControlCalls
from finapi.testing.gate import CONTROL, PREFIX, Elsewhere, Gate, Stepper, parted
from finapi.testing.world import World, WorldHistory

# Loaded with the first reader.
if TYPE_CHECKING:
    from finapi.feeds.hub import Hub
    from finapi.feeds.loop import Feeds

# The fixture's defaults, where they are not everybody's.
SETTINGS: dict[str, Any] = {
    "log_level": "error",
    "common_passwords": "allowed",
    "password_profile": "cheap",
    "webhook_allow": ("127.0.0.0/8", "::1/128"),
    "default_windows": "all",
    "pages": "public",
    # Calls that let time pass hold a thread while webhooks go to receivers that may call back.
    "threads": 32,
    # Every world would write its archives to the same place.
    "ledger_days": 0,
    "connections_per_address": 1_000,
    # The readers of all worlds come from one address.
    "feed_connections_per_address": 2_000,
    "feed_unauthenticated": 1_000,
    "feed_unauthenticated_per_address": 1_000,
    "cores": "all",
}
SPARE = 16  # databases of worlds that are no more, kept for others
NAMES = 10_000  # of worlds that are no more, whose snapshots and epochs are counted on
AHEAD = 4  # databases that are opened before a world asks for one
LAST_GRACE = 0.05  # seconds for readers to close too, when the fixture ends
NAMED = "x-finapi-world"
NOWHERE = "http://finapi.test"  # what links begin with where nothing listens


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture that answers, over its socket or as ``gate`` alone."""

    url: str
    port: int
    gate: Gate
    base: Base
    directory: Path
    mail_dir: Path

    @property
    def ready(self) -> dict[str, Any]:
        """The ready line."""
        pro, free = self.base.accounts["pro"], self.base.accounts["free"]
        return {
            "ready": True,
            "url": self.url,
            "port": self.port,
            "pid": os.getpid(),
            "mail_dir": str(self.mail_dir),
            "data_dir": str(self.directory),
            "api_key": pro["api_key"],
            "free_api_key": free["api_key"],
            "email": pro["email"],
            "password": pro["password"],
            "invite_codes": [*self.base.invite_codes],
            "accounts": {kind: one.copy() for kind, one in self.base.accounts.items()},
            "control_url": self.url + CONTROL,
            "control_token": self.gate.token,
        }


class WorldFeeds:
    """The feeds of all worlds, in one loop that is begun with the first reader; a world that is read has a hub there.

    A connection that names no world belongs to the one without a name until its key says whose it is.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._hubs: dict[World, Hub] = {}
        self._lock = threading.Lock()
        self._shared: FeedsWhenRead | None = None

    def wants(self, method: str, path: str, accept: str) -> bool:
        """Whether a request is the feeds' own."""
        return are_feeds(method, parted(path)[1], accept)

    def take(self, handed: HandedOver) -> None:
        """Take a connection over for the world that it names or whose key it has."""
        name, path = parted(handed.path)
        named = name or handed.headers.get(NAMED)
        found = self._gate.world("")
        if self._shared is None:
            self._shared = FeedsWhenRead(found.wsgi)
        try:
            found = self._gate.of(named, api_key(handed) or "", "")
            if _is_broken_off(found, handed, path):
                return
            hub_of = lambda key: self._hub(found if named is not None else self._gate.owners.find(key, "") or found)  # noqa: E731
            self._shared.take(handed._replace(path=path), found.wsgi, hub_of)
        except ApiError as error:
            environ = {"REQUEST_METHOD": handed.method, "REQUEST_URI": path, "REMOTE_ADDR": handed.peer}
            status, headers, body = found.wsgi.refusal(environ, error)
            with suppress(OSError), handed.sock:  # a client that has gone needs no answer
                handed.sock.send(head(status, [*headers, ("Connection", "close")]) + body)

    def _hub(self, world: World) -> Hub | None:
        """The hub of a world, made when it is first asked for; None once the world is no more."""
        begun = self._begun
        with self._lock:
            if begun is None or world.closed:
                return None
            if world not in self._hubs:
                self._hubs[world] = begun.add_hub(world.app)
            return self._hubs[world]

    @property
    def _begun(self) -> Feeds | None:
        return self._shared.begun if self._shared else None

    def read_at(self, world: World) -> float:
        """When somebody last read a world, as ``time.monotonic`` tells it, to the second."""
        hub = self._hubs.get(world)
        return hub.read_at if hub else -inf

    def end(self, world: World, code: int) -> None:
        """Close the readers of a world with a code."""
        hub = self._hubs.get(world)
        if hub is not None and self._begun is not None:
            self._begun.end_readers(hub, code, "The fixture was told to close.")

    def leave(self, world: World, why: str) -> None:
        """Have nobody read a world that is no more, or whose journal begins anew, and tell the readers why."""
        with self._lock:
            hub = self._hubs.pop(world, None)
        if self._begun is not None and (hub is not None or world.closed):
            self._begun.leave(hub, why)

    def close(self) -> None:
        """Tell the readers that the service is stopping, and end the loop."""
        if self._shared is not None:
            self._shared.close(LAST_GRACE)


def _is_broken_off(world: World, handed: HandedOver, path: str) -> bool:
    """Whether a fault of the world resets the connection of a request for a feed; an ApiError when one refuses it."""
    met = world.faults.of_feed(handed.method, path + "/" if path == SOCKET_IO else path)
    asked = faults.magic(api_key(handed) or "", [])
    if asked is not None:
        met.append(faults.Fault("magic", {"status": asked}))
    for one in met:
        if "status" in one.does:
            raise faults.error(one.does["status"], headers=one.headers, now=world.clock.now().timestamp())
        with handed.sock:
            break_off(handed.sock)
    return bool(met)


@cache
def _chance() -> tuple[int, datetime]:
    """The seed of this process and the day of its accounts, where no seed is given."""
    return int.from_bytes(os.urandom(6)), SystemClock().now()


class WorldMaker:
    """Makes the worlds of a fixture, and closes them; ``url`` is where they are found."""

    def __init__(self, config: Config, seed: int, frozen: bool, on: Base, mails: Path) -> None:
        self._config = config
        self._seed = seed
        self._frozen = frozen
        self._base = on
        self._mails = mails
        # Opening one takes milliseconds, which SQLite spends on reading the schema.
        self._spare = on.spare
        self._histories: OrderedDict[str, WorldHistory] = OrderedDict()  # of worlds that are no more, by name
        self.url = NOWHERE
        calls = ControlCalls(
            self.drop, lambda one, why: self.feeds.leave(one, why), lambda one, code: self.feeds.end(one, code)
        )
        self.gate = Gate(self.make, self.drop, RandomStream(seed, "control token").draw_bytes(24).hex(), calls)
        self.stepper, self.feeds = Stepper(self.gate), WorldFeeds(self.gate)
        self.gate.read_at = self.feeds.read_at

    def make(self, name: str) -> World:
        """A world; the one without a name keeps its mails in files too."""
        database = self._spare.pop() if self._spare else self._opened()
        if name and len(self._spare) < AHEAD // 2:
            self.stepper.beside(self._open_ahead)
        url = self.url + (f"{PREFIX}{name}" if name else "")
        template = self.gate.worlds[""].wsgi if name else None
        also = None if name else mail.Directory(self._mails, SystemClock())
        made = world.make(name, url, self._config, self._seed, self._frozen, self._base, database, template, also)
        made.wake, made.deliver = self.stepper.wake, lambda of, request: self.gate.deliver(of, self.url, request)
        made.begin(self._histories.get(name))
        return made

    def _opened(self) -> LayeredDatabase:
        return LayeredDatabase(self._base.file)

    def _open_ahead(self) -> None:
        while len(self._spare) < AHEAD and not self.gate.closing.is_set():
            self._spare.append(self._opened())

    def drop(self, gone: World) -> None:
        """End a world and let another have its database, once no call is under way in it."""
        if not gone.close():
            return
        if any(history := gone.history()):
            self._histories[gone.name] = history
            if len(self._histories) > NAMES:
                self._histories.popitem(last=False)
        self.gate.forget(gone)
        self.stepper.forget(gone)
        self.feeds.leave(gone, "This world was deleted.")
        if self.gate.ends_process:  # which frees what it holds at once
            return
        if len(self._spare) < SPARE:
            gone.database.renew()
            self._spare.append(gone.database)
        else:
            gone.database.close()

    def close(self) -> None:
        """Close all of them."""
        self.gate.closing.set()
        self.feeds.close()
        for one in list(self.gate.worlds.values()):
            self.drop(one)
        for database in self._spare:
            database.close()


@contextmanager
def running(
    config: Config, *, seed: int | None = None, listens: bool = True, elsewhere: Elsewhere | None = None
) -> Iterator[Fixture]:
    """Run a fixture in a temporary directory until the block ends; with ``seed`` ids, keys and times repeat.

    Calls are answered by ``elsewhere`` first.
    """
    if seed is not None and not base.is_seed(seed):
        raise UsageError(base.NO_SEED)
    with datadir.temporary("finapi-fixture-") as directory, ExitStack() as stack:
        stack.enter_context(datadir.locked(directory))
        of = (config, *(_chance() if seed is None else (seed, base.STARTED)))
        on = base.make(directory, *of)
        config, number, _ = of
        config = replace(config, data_dir=directory)
        mails = config.mail_directory or directory / "mail"
        maker = WorldMaker(config, number, seed is not None, on, mails)
        gate, stepper, port = maker.gate, maker.stepper, 0
        gate.elsewhere = elsewhere or gate.elsewhere
        stack.callback(maker.close)
        if listens:
            errors = lambda *told: gate.world("").wsgi.error_response(*told)  # noqa: E731
            try:
                listener = Listener(gate, listen_settings(config), errors, take_over=maker.feeds)
            except OSError as error:
                raise not_listening(config, error) from None
            port, maker.url = listener.port, config.public_url or url_of(config.host, listener.port)
            if not config.reached_by_others:
                gate.hosts = {str(urlsplit(one).hostname) for one in (maker.url, config.frontend_url) if one}
        gate.world("")
        if listens:
            stack.enter_context(looping("loop", listener.run, lambda: listener.stop(0.5)))
        stack.enter_context(looping("stepper", stepper.run, stepper.stop))
        yield Fixture(maker.url, port, gate, on, directory, mails)
        if not gate.ends_process:
            base.keep(on, *of)
