"""The pool of the worlds of a running fixture: it creates, deletes and closes them.

Opening a database takes milliseconds, which SQLite spends on reading the schema. So some databases are opened in
advance, and the database of a deleted world is used again.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from pathlib import Path

from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.memory import release_free_memory
from finapi.listening import build_url
from finapi.net import mail
from finapi.store.layered import LayeredDatabase
from finapi.testing.base import Base, RandomStream
from finapi.testing.gate import WORLD_PATH, Gate
from finapi.testing.stepper import Stepper
from finapi.testing.world import World, WorldHistory, build_world
from finapi.testing.world_feeds import WorldFeeds

MIN_OPEN_DATABASES = 4  # Databases that are opened in advance, whenever fewer than half of them are left.
MAX_OPEN_DATABASES = 8  # Maximum number of open databases, including those of deleted worlds: 1.5 MB each.
TRIM_DELAY_SECONDS = 1.0  # Real time after the deletion of a world in which the deletions of others are awaited.
MAX_HISTORIES = 10_000  # Number of deleted worlds whose counters are remembered.
NO_URL = "http://finapi.test"  # The base of links if the fixture has no socket.


class WorldPool:
    """Creates the worlds of a fixture at ``base_url`` and deletes them (``WorldManager``)."""

    def __init__(self, config: Config, seed: int, is_frozen: bool, base_file: Base, mail_directory: Path) -> None:
        self._config = config
        self._seed = seed
        self._is_frozen = is_frozen
        self._base_file = base_file
        self._mail_directory = mail_directory
        self._open_databases = base_file.open_databases
        self._histories: OrderedDict[str, WorldHistory] = OrderedDict()  # The histories of deleted worlds, by name.
        self._refusing_socket: socket.socket | None = None
        self._is_trim_planned = False
        self.base_url = NO_URL
        self.gate = Gate(self, RandomStream(seed, "control token").draw_bytes(24).hex())
        self.stepper = Stepper(self.gate.closing)
        self.feeds = WorldFeeds(self.gate)

    def create_world(self, name: str) -> World:
        """Create a world. The unnamed one also writes its mails to files."""
        database = self._open_databases.pop() if self._open_databases else self._open_database()
        if name and len(self._open_databases) < MIN_OPEN_DATABASES // 2:
            self.stepper.add_job(self._open_databases_in_advance)
        world = build_world(
            name,
            self.base_url + (f"{WORLD_PATH}{name}" if name else ""),
            self._config,
            self._seed,
            is_frozen=self._is_frozen,
            base_file=self._base_file,
            database=database,
            template=self.gate.worlds[""].wsgi if name else None,
            second_transport=None if name else mail.DirectoryTransport(self._mail_directory, SystemClock()),
        )
        world.wake = self.stepper.wake
        world.deliver = lambda request: self.gate.deliver_webhook(self.base_url, request)
        world.start(self._histories.get(name))
        return world

    def _open_database(self) -> LayeredDatabase:
        return LayeredDatabase(self._base_file.file)

    def _open_databases_in_advance(self) -> None:
        while len(self._open_databases) < MIN_OPEN_DATABASES and not self.gate.closing.is_set():
            self._open_databases.append(self._open_database())

    def delete_world(self, world: World) -> None:
        """Close a world once its running calls have ended. Its database is reused for another world."""
        if not world.close():
            return
        history = world.build_history()
        if history != WorldHistory():
            self._histories[world.name] = history
            if len(self._histories) > MAX_HISTORIES:
                self._histories.popitem(last=False)
        self.gate.remove_world(world)
        self.stepper.remove(world)
        self.feeds.remove_hub(world, "This world was deleted.")
        if self.gate.ends_process:  # The process is about to exit, which frees everything faster.
            return
        if len(self._open_databases) < MAX_OPEN_DATABASES:
            world.database.reset()
            self._open_databases.append(world.database)
        else:
            world.database.close()
        self._plan_trim()

    def _plan_trim(self) -> None:
        """Release the free memory in the background, once for all worlds that are deleted within a second.

        Without this, 275 of the 280 MB of 200 worlds stay with the process.
        """
        if not self._is_trim_planned:
            self._is_trim_planned = True
            self.stepper.add_job(self._trim, TRIM_DELAY_SECONDS)

    def _trim(self) -> None:
        self._is_trim_planned = False
        release_free_memory()

    def close_readers(self, world: World, code: int) -> None:
        """Close the feeds of a world with this code."""
        self.feeds.close_readers(world, code)

    def restart_feeds(self, world: World, reason: str) -> None:
        """Close the feeds of a world whose event journal begins again, and send the reason to their readers."""
        self.feeds.remove_hub(world, reason)

    def get_refused_url(self) -> str:
        """Return a URL whose connections are refused: its port is taken, and no program listens there."""
        if self._refusing_socket is None:
            family = socket.AF_INET6 if ":" in self._config.host else socket.AF_INET
            self._refusing_socket = socket.socket(family)
            self._refusing_socket.bind((self._config.host, 0))
        return build_url(self._config.host, self._refusing_socket.getsockname()[1])

    def has_answer_source(self) -> bool:
        """Return True if another service, or a recording of one, answers calls."""
        return self.gate.answer_source is not None

    def get_last_read_time(self, world: World) -> float:
        """Return when a feed of a world was last read, in seconds of ``time.monotonic``."""
        return self.feeds.get_last_read_time(world)

    def close(self) -> None:
        """Close every world and every database."""
        self.gate.closing.set()
        self.feeds.close()
        if self._refusing_socket is not None:
            self._refusing_socket.close()
        for world in list(self.gate.worlds.values()):
            self.delete_world(world)
        for database in self._open_databases:
            database.close()
