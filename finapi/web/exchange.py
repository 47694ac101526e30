"""A call while it runs, and calls whose answers are in memory: those are found without any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from finapi.accounts.users import Caller
from finapi.core.cpu_allowance import CpuMeter
from finapi.core.errors import ApiError
from finapi.core.limits import Decision
from finapi.web import exports
from finapi.web.http.messages import (
    Request,
    Response,
)
from finapi.web.http.route import Route


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """What becomes known of a call while it runs, for its headers and its line in the log."""

    request_id: str
    started: float
    held: list[Callable[[], None]] = field(default_factory=list)
    stream: exports.TableExport | None = None
    request: Request | None = None
    route: Route | None = None
    caller: Caller | None = None
    decision: Decision | None = None
    tag: str | None = None
    charged: int = 0
    code: str | None = None
    # Counts the CPU time of the call if nobody pays for it; None where no limit applies.
    cpu_meter: CpuMeter | None = None
    # Who answers: the application, or the server in its place when the call has overrun its time.
    answering: dict[str, str] = field(default_factory=dict)

    def check_cpu(self) -> None:
        """Raise the 429 of a caller whose refunded calls have used their CPU time."""
        if self.cpu_meter is not None:
            self.cpu_meter.check()

    def count_cpu(self) -> None:
        """Count the CPU time of a call that nobody pays for."""
        if self.cpu_meter is not None:
            self.cpu_meter.count()

    def is_for(self, who: str) -> bool:
        """Whether the answer is this one's to give: that of the first who asks, of whichever thread."""
        return self.answering.setdefault("by", who) == who


class HeldBody:
    """A body whose memory is counted until it has been handed to its connection, or never will be."""

    def __init__(self, body: bytes, held: list[Callable[[], None]]) -> None:
        self._body = body
        self._held = held

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        # Test clients that read to the end do not always call close().
        self.close()

    def close(self) -> None:
        """Give back what was held; a server calls it whatever became of the answer (PEP 3333)."""
        self._body = b""
        while self._held:
            self._held.pop()()


def not_modified(route: Route, held: str) -> Response:
    """The 304 for a caller that holds the answer with this ``ETag``."""
    return Response(304, b"", headers={"ETag": held, "Vary": vary(route)})


def vary(route: Route | None) -> str:
    """The headers of a request that its answer depends on."""
    return "Accept, Accept-Encoding" if route is not None and route.tables else "Accept-Encoding"


def ended(kept: Response, end: bytes) -> Response:
    """A kept answer with the end of a call, if it has such an end."""
    return Response(kept.status, kept.body, kept.content_type, dict(kept.headers), end if kept.end else b"", kept=kept)


def unknown() -> ApiError:
    """The 500 of a call that failed in a way that nobody foresaw."""
    return ApiError("INTERNAL", "Internal error; it has been logged.")


def overrun() -> ApiError:
    """The 504 of a call that took too long."""
    return ApiError("TIMEOUT", "The call exceeded the server's time limit.")


def without_length(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers for a server that adds the length."""
    return [(name, value) for name, value in headers if name != "Content-Length"]
