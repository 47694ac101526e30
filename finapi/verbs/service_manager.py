"""Messages to the service manager that started this process, such as systemd (sd_notify(3))."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

log = logging.getLogger("finapi.server")

EXTEND_SECONDS = 10.0  # Between two requests for more time to start.
EXTENSION_SECONDS = 60  # What each of them asks for.


class ServiceManager(NamedTuple):
    """The socket on which a service manager listens, and within how many seconds it expects signs of life.

    The address is a path, or begins with ``@`` for a socket without a file; it is empty where there is no service
    manager. ``watchdog_seconds`` is 0 where no signs of life are expected.
    """

    address: str
    watchdog_seconds: float

    def notify(self, message: str) -> None:
        """Send a message. A failure is logged: it must not stop the process."""
        if not self.address:
            return
        target = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(message.encode(), target)
        except OSError as error:
            log.warning("the service manager cannot be told %s: %s", message, error.strerror)

    @contextmanager
    def extending_start(self) -> Iterator[None]:
        """Ask for more time to start until the block ends: an upgrade of a large database takes minutes.

        A worker that waited for another one has said before that it is ready, so the messages are signs of life too.
        """
        if not self.address:
            yield
            return
        done = threading.Event()

        def extend() -> None:
            while True:
                self.notify(f"EXTEND_TIMEOUT_USEC={EXTENSION_SECONDS * 1_000_000}\nWATCHDOG=1")
                if done.wait(EXTEND_SECONDS):
                    return

        thread = threading.Thread(target=extend, name="finapi-start", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
