"""Messages to the service manager that started this process, such as systemd (sd_notify(3))."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

log = logging.getLogger("finapi.server")

EXTEND_SECONDS = 10.0  # Interval between two requests for more time to start.
EXTENSION_SECONDS = 60  # The time that each of these requests asks for.


class ServiceManager(NamedTuple):
    """The socket of a service manager, and the seconds within which it expects keep-alive messages.

    The address is a path, or begins with ``@`` for an abstract socket. It is empty if there is no service manager.
    ``watchdog_seconds`` is 0 if no keep-alive messages are expected.
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
            log.warning("cannot send %s to the service manager: %s", message, error.strerror)

    @contextmanager
    def keep_extending_start(self) -> Iterator[None]:
        """Keep requesting more time to start until the block ends. An upgrade of a large database takes minutes.

        A standby that takes over has already reported that it is ready, so the service manager expects keep-alive
        messages from it instead. Each message contains both.
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
