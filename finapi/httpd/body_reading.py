"""Request bodies that do not arrive together with their heads.

Such a body occupies memory or a file while it arrives, and a client may send it as slowly as it likes. So a body

1. gets time in proportion to the bytes that have arrived (:class:`finapi.httpd.shares.Allowance`);
2. needs one of the places for arriving bodies: immediately if it is long or if the client waits for "100 Continue",
   otherwise after half a second;
3. is checked by the application, which gets the head of the request (``check_before_body``) and returns either the
   number of bytes that it accepts or a response that refuses the body;
4. reserves its length in the budget for memory or for temporary files.

Steps 2 to 4 happen once. A body that fails any of them is refused. A body that passes may later lose its place or its
reserved bytes to another client, and is then refused too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from math import inf
from typing import Any

from finapi.httpd.loop import RECEIVE_BYTES
from finapi.httpd.request_parser import RefusalError, RequestParser
from finapi.httpd.server_context import ServerContext
from finapi.httpd.settings import MAX_HANDED_OVER_BODY_BYTES, Answer, CheckBeforeBody
from finapi.httpd.shares import Allowance, Reservation

log = logging.getLogger("finapi.httpd")

MAX_BODY_BYTES_IN_MEMORY = 1_048_576  # If the application accepts more bytes, the body is stored in a file.
PLACE_DELAY_SECONDS = 0.5  # A short body that has not arrived by then needs a place.

SERVER_BUSY = "The server is busy."
TOO_MANY_BODIES = "Too many request bodies are arriving at once."
TOO_MANY_LONG_BODIES = "Too many long request bodies are arriving at once."


class ArrivingBody:
    """A request body that has not arrived in full: its deadline, its place and its reservation.

    ``refuse`` refuses the request because another client needs the room. It may be called in any thread.
    """

    def __init__(
        self,
        server: ServerContext,
        request: RequestParser,
        address: str,
        now: float,
        refuse: Callable[[RequestParser, RefusalError], None],
    ) -> None:
        self._server = server
        self._request = request
        self._address = address
        self._refuse = refuse
        min_rate = server.get_min_rate(request.max_body_bytes)
        self._allowance = Allowance(now, server.settings.header_timeout, min_rate)
        needs_place_now = request.max_body_bytes > RECEIVE_BYTES or request.expect_continue
        # The time from which the body needs a place, until begin_admission() is called.
        self.admission_at = now if needs_place_now else now + PLACE_DELAY_SECONDS
        self._check_began_at = 0.0

    @property
    def due(self) -> float:
        """Return the deadline of the next byte, or that of the admission if it is earlier."""
        return min(self._allowance.until, self.admission_at)

    def add_bytes(self, now: float, byte_count: int) -> None:
        """Extend the deadline by the time for bytes that have arrived."""
        self._allowance.add_bytes(now, byte_count)

    def begin_admission(self) -> bool:
        """Take a place. Return True if the application has to check the head, in a thread.

        Otherwise the body has been accepted, or the request refused.
        """
        self.admission_at = inf
        server = self._server
        if not server.arriving_bodies.enter(self, self._address):
            self._request.refuse(RefusalError(503, TOO_MANY_BODIES))
        elif server.is_taken_over(self._request):
            self.accept(MAX_HANDED_OVER_BODY_BYTES)
        elif server.check_before_body is None:
            self.accept(server.settings.body_limit)
        elif server.is_busy:
            self._request.refuse(RefusalError(503, SERVER_BUSY))
        else:
            self._check_began_at = server.loop.now()
            return True
        return False

    def check(self, check_before_body: CheckBeforeBody, environ: dict[str, Any]) -> int | Answer | None:
        """Return the result of the application's check, or None if the check failed. Call this in a request thread."""
        try:
            return check_before_body(environ)
        except Exception:
            log.exception("exception while judging the head of %s", self._request.path)
            return None

    def exclude_check_time(self) -> None:
        """Extend the deadline by the duration of the check, for which the client is not responsible."""
        self._allowance.extend(self._server.loop.now() - self._check_began_at)

    def accept(self, max_bytes: int, owners: tuple[Hashable, ...] = ()) -> None:
        """Reserve room for a body of up to ``max_bytes``, or refuse the request. Clients that hold more lose theirs."""
        request = self._request
        request.limit_body(max_bytes, MAX_BODY_BYTES_IN_MEMORY)
        reserved_bytes = min(request.max_body_bytes, max_bytes)
        if request.error or reserved_bytes <= RECEIVE_BYTES:
            return
        budget = self._server.memory if max_bytes <= MAX_BODY_BYTES_IN_MEMORY else self._server.disk
        make_room = partial(self._server.loop.call_soon, partial(self._refuse_for, TOO_MANY_LONG_BODIES))
        reservation = Reservation(budget, owners or (self._address,), make_room)
        request.attach_reservation(reservation)
        if not reservation.add_displacing(reserved_bytes, displaces_own=False):
            request.refuse(RefusalError(503, TOO_MANY_LONG_BODIES))

    def displace(self) -> None:
        """Refuse the request, because a body of another address has taken the place."""
        self._refuse_for(TOO_MANY_BODIES)

    def release(self) -> None:
        """Release the place among arriving bodies."""
        self._server.arriving_bodies.leave(self)

    def _refuse_for(self, message: str) -> None:
        self._refuse(self._request, RefusalError(503, message))
