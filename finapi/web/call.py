"""A line of the route table, and one call of it as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from finapi.accounts import Caller
from finapi.app import App
from finapi.clock import iso
from finapi.web.http import Request, Response, dumps
from finapi.web.params import Field, Param

# Who may call (CONTRACT 4): nobody in particular, a key (all data), a session (the account itself).
Auth = Literal["none", "key", "session"]


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the API. ``path`` holds ``{name}`` where a segment is a parameter.

    ``cost`` is in tokens; ``zone`` names the limit that binds it; ``cacheable`` says that the answer depends
    on its parameters and the market data only, so that its ETag is known before the work (CONTRACT 2).
    """

    method: str
    path: str
    handler: Callable[[Call], Response]
    auth: Auth
    cost: int
    zone: str | None
    summary: str
    params: tuple[Param, ...] = ()
    body: tuple[Field, ...] | None = None
    # The limit that is charged to the email in the body, beside the zone's.
    email_limit: str | None = None
    cacheable: bool = False
    # What it answers when all is well, and errors of its own beside those that follow from the other columns.
    answers: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    # For people and not for clients: left out of the OpenAPI document.
    page: bool = False


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
    body: Mapping[str, Any]

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

    def plain(self, answer: Mapping[str, Any]) -> Response:
        """A bare object, as auth, user and account endpoints answer."""
        return Response(200, dumps(answer))

    def redirect(self, page: str, **query: str) -> Response:
        """302 to a page of the frontend: the configured one, never an address that the caller named."""
        base = self.app.config.frontend_url or self.app.config.public_url
        target = f"{base}{page}" + (f"?{urlencode(query)}" if query else "")
        return Response(302, b"", headers={"Location": target, "Referrer-Policy": "no-referrer"})
