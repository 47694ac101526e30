"""The state of one call while it runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Literal

from finapi.accounts.users import Caller
from finapi.core.cpu_allowance import CpuMeter
from finapi.core.limits import Decision
from finapi.web.exports import StreamedExport
from finapi.web.http.messages import Request
from finapi.web.http.route import Route


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """The state of a call: recorded by its steps, for the headers of its response and its line in the access log."""

    request_id: str
    started_at: float  # Monotonic seconds
    request: Request | None = None
    route: Route | None = None
    caller: Caller | None = None
    limit_decision: Decision | None = None
    tag: str | None = None  # The ETag without its content coding
    tokens_charged: int = 0
    error_code: str | None = None
    cpu_meter: CpuMeter | None = None  # Counts the CPU time of the call if it is refunded; None if no limit applies
    stream: StreamedExport | None = None
    is_resident: bool = False  # Whether the body is in memory as long as the process
    # Called when the body has been handed to its connection, or never will be.
    release_callbacks: list[Callable[[], None]] = field(default_factory=list)
    # Shared by copies of the exchange.
    _claims: dict[str, str] = field(default_factory=dict)

    @property
    def owners(self) -> tuple[Hashable, ...]:
        """Return the address and, if known, the account whose shares of memory and disk this call uses."""
        owners: tuple[Hashable, ...] = () if self.request is None else (self.request.address,)
        return owners if self.caller is None else (*owners, ("user", self.caller.id))

    def claim(self, answerer: Literal["call", "server"]) -> bool:
        """Return True if this answerer may answer: the first one that claims the exchange, in any thread.

        It is the call, or the server in its place when the call has run out of time.
        """
        return self._claims.setdefault("answerer", answerer) == answerer

    def release(self) -> None:
        """Release the resources of the response, such as its place among large answers."""
        while self.release_callbacks:
            self.release_callbacks.pop()()
