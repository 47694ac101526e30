"""A line of the route table, and one call of it as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from finapi.accounts import Caller
from finapi.app import App
from finapi.clock import iso
from finapi.web.http import Request, Response, dumps
from finapi.web.params import Param


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the API. ``path`` holds ``{name}`` where a segment is a parameter.

    ``cost`` is in tokens; ``zone`` names the limit that binds it; ``cacheable`` says that the answer depends
    on its parameters and the market data only, so that its ETag is known before the work (CONTRACT 2).
    """

    method: str
    path: str
    handler: Callable[[Call], Response]
    auth: Literal["none", "key"]
    cost: int
    zone: str | None
    summary: str
    params: tuple[Param, ...] = ()
    cacheable: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler receives: the parts it may touch, who calls, when, and the parameters as values."""

    app: App
    route: Route
    request: Request
    request_id: str
    now: datetime
    caller: Caller | None
    params: Mapping[str, Any]

    def success(self, data: Any, meta: Mapping[str, Any]) -> Response:
        """The envelope of a data endpoint (CONTRACT 2)."""
        envelope = {
            "status": "success",
            "data": data,
            "meta": meta,
            "request_id": self.request_id,
            "timestamp": iso(self.now),
        }
        return Response(200, dumps(envelope))
