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
EXTENSION_SECONDS = 60  # Requested by each of them.


class ServiceManager(NamedTuple):
    """The socket of a service manager, and the seconds within which it expects a sign of life.

    The address is a path, or begins with ``@`` for a socket without a file. It is empty without a service manager.
    ``watchdog_seconds`` is 0 if no signs of life are expected.
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
        """Request more time to start until the block ends, as an upgrade of a large database takes minutes.

        A worker that waited for another one has reported before that it is ready, so it needs signs of life instead.
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
