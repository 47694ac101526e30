"""The objects that all connections of a server share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from waitress.adjustments import Adjustments

from finapi.httpd.loop import Loop
from finapi.httpd.pool import ThreadPool
from finapi.httpd.request_parser import RequestParser
from finapi.httpd.settings import (
    AnswerFromMemory,
    CheckBeforeBody,
    ErrorResponse,
    FindClientAddress,
    ListenSettings,
    RequestTaker,
)
from finapi.httpd.shares import ByteBudget, Places

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication


class PoolJob(Protocol):
    """Work for a request thread."""

    def serve(self) -> None:
        """Do the work."""

    def abandon(self) -> None:
        """Release everything, because the work ended in an exception, which the pool has logged."""


class PlaceHolder(Protocol):
    """A holder of a place that another one may need."""

    def displace(self) -> None:
        """Stop using the place, because it has been given to another holder."""


def _displace(holder: PlaceHolder) -> None:
    holder.displace()


@dataclass(eq=False)
class ServerContext:
    """The application, the settings, and what connections have to share: threads, memory and places.

    waitress reads ``adj``, ``application``, ``server_name`` and ``effective_port``.
    """

    application: WSGIApplication
    settings: ListenSettings
    error_response: ErrorResponse
    request_taker: RequestTaker | None
    answer_from_memory: AnswerFromMemory
    check_before_body: CheckBeforeBody | None
    find_client_address: FindClientAddress
    loop: Loop
    effective_port: int
    stopping: bool = False
    connections_by_address: Counter[str | None] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        settings = self.settings
        self.server_name = settings.host
        self.adj = Adjustments(  # The settings of waitress that its parser and its task read.
            listen="",  # Otherwise waitress would look up its default address.
            ident="",
            max_request_header_size=settings.header_limit,
            max_request_body_size=settings.body_limit,
        )
        self.pool: ThreadPool[PoolJob] = ThreadPool(
            settings.threads, lambda job: job.serve(), lambda job: job.abandon()
        )
        self.memory = ByteBudget(settings.held_limit)
        self.disk = ByteBudget(settings.spool_limit)
        self.arriving_bodies = Places(settings.bodies_at_once, settings.bodies_per_address, _displace)
        self.paused_threads = Places(settings.paused_limit, settings.paused_per_owner, _displace)

    @property
    def is_busy(self) -> bool:
        """Return True if the queue for threads is full, so that the next request is refused."""
        return len(self.pool) >= self.settings.queue_limit

    def is_taken_over(self, request: RequestParser) -> bool:
        """Return True if a request is to leave the server with its connection."""
        if self.request_taker is None:
            return False
        return self.request_taker.can_take(request.command, request.path, request.headers.get("ACCEPT", ""))

    def get_min_rate(self, byte_count: int) -> float:
        """Return the bytes a second with which a body or an answer of this length has to move."""
        return max(self.settings.min_rate, byte_count / self.settings.transfer_timeout)
