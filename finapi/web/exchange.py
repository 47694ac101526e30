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
    """The state of a call, which its steps record for the response headers and the access log."""

    request_id: str
    started_at: float  # Monotonic seconds
    request: Request | None = None
    route: Route | None = None
    caller: Caller | None = None
    logged_in_uuid: str | None = None  # The uuid of the user whom the call logged in
    limit_decision: Decision | None = None  # The state of the route's rate limit after this call
    ignored_names: tuple[str, ...] = ()  # Unknown names of the request that are reported instead of refused
    tag: str | None = None  # The ETag without its content coding
    cost: int = 0  # Tokens of this call, which are refunded if it fails.
    tokens_charged: int = 0
    error_code: str | None = None
    cpu_meter: CpuMeter | None = None  # Counts the CPU time of the call if it is refunded; None if no limit applies
    stream: StreamedExport | None = None
    delay_seconds: float = 0.0  # The time for which the server holds the response back
    is_resident: bool = False  # True if the body stays in memory as long as the process
    # Called when the body has been handed to its connection, or when it is certain that it never will be.
    release_callbacks: list[Callable[[], None]] = field(default_factory=list)
    # The first answerer that claimed the exchange, in a dict that copies of the exchange share.
    _claims: dict[str, str] = field(default_factory=dict)

    @property
    def owners(self) -> tuple[Hashable, ...]:
        """Return the address and, if known, the account whose shares of memory and disk this call uses."""
        owners: tuple[Hashable, ...] = () if self.request is None else (self.request.address,)
        return owners if self.caller is None else (*owners, ("user", self.caller.id))

    def claim(self, answerer: Literal["call", "server"]) -> bool:
        """Return True if this answerer is the first, in any thread, that claims the exchange. Only that one may answer.

        It is either the call, or the server in place of a call that has run out of time.
        """
        return self._claims.setdefault("answerer", answerer) == answerer

    def release(self) -> None:
        """Release the resources of the response, such as its place among large answers."""
        while self.release_callbacks:
            self.release_callbacks.pop()()
