"""The control of a fixture from Python, over its socket or in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit
from wsgiref.types import WSGIApplication

from finapi.client.exchange import ApiAnswer, ApiRequest, failed
from finapi.client.synchronous import Send


def by_wsgi(application: WSGIApplication) -> Send:
    """A sender that calls a WSGI application, without a socket; None where the answer is not whole."""

    def send(request: ApiRequest) -> ApiAnswer | None:
        parts = urlsplit(request.url)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": request.method,
            "REQUEST_URI": parts.path + (f"?{parts.query}" if parts.query else ""),
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(request.body)) if request.body else "",
            "wsgi.input": io.BytesIO(request.body),
        }
        for name, value in request.headers.items():
            plain = name.upper().replace("-", "_")
            environ[plain if plain == "CONTENT_TYPE" else f"HTTP_{plain}"] = value
        broken: list[bool] = []
        environ["finapi.reset"] = lambda: broken.append(True)
        told: list[Any] = []
        body = b"".join(application(environ, lambda status, headers, _=None: told.extend((status, headers)) or bytes))  # type: ignore[func-returns-value]
        headers = {name.lower(): value for name, value in told[1]}
        whole = request.method == "HEAD" or int(headers.get("content-length", len(body))) == len(body)
        return None if broken or not whole else ApiAnswer(int(told[0][:3]), headers, body)

    return send


class Control:
    """What can be done to a world of a fixture: DECISIONS 13, a method for each call."""

    def __init__(self, control_url: str, token: str, send: Send, world: str = "") -> None:
        self._url = control_url
        self._send = send
        self._headers = {"X-Control-Token": token, **({"X-Finapi-World": world} if world else {})}

    def call(self, method: str, name: str, body: Mapping[str, Any] | bytes | None = None) -> Any:
        """What a call of control answers; ApiFailure for an error."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = self._send(ApiRequest(method, f"{self._url}/{name}", self._headers, data))
        if answer is None or answer.status >= 400:
            raise failed(answer)
        return json.loads(answer.body)

    def reset(self) -> None:
        """Put the world back to its beginning."""
        self.call("POST", "reset")

    def snapshot(self) -> str:
        """The name of what the world holds now."""
        return str(self.call("POST", "snapshot")["snapshot"])

    def restore(self, snapshot: str) -> None:
        """Put the world back to a snapshot."""
        self.call("POST", "restore", {"snapshot": snapshot})

    def seed(self, seed: int) -> None:
        """Draw ids and keys that follow from a seed."""
        self.call("POST", "seed", {"seed": seed})

    def freeze(self, moment: datetime | str | None = None) -> datetime:
        """Let the clock stand still, at a moment if one is given; what it shows."""
        told = moment.isoformat() if isinstance(moment, datetime) else moment
        return datetime.fromisoformat(self.call("POST", "clock", {"freeze": told or True})["now"])

    def run(self) -> None:
        """Let the clock run again."""
        self.call("POST", "clock", {"run": True})

    def advance(self, seconds: float) -> list[dict[str, Any]]:
        """Let time pass; what happened in it, in order."""
        return list(self.call("POST", "clock", {"advance": seconds})["happened"])

    def until_idle(self) -> list[dict[str, Any]]:
        """Let time pass until nothing is left to wait for; what happened, in order."""
        return list(self.call("POST", "clock", {"until_idle": True})["happened"])

    def now(self) -> datetime:
        """What the clock shows."""
        return datetime.fromisoformat(self.call("GET", "clock")["now"])

    def fault(self, route: str = "*", **does: Any) -> str:
        """Add a fault: ``fault("GET /api/v1/xbrl/*", status=500, times=1)``; its id."""
        return str(self.call("POST", "faults", {"route": route, **does})["id"])

    def faults(self) -> list[dict[str, Any]]:
        """The faults, with how often each was met."""
        return list(self.call("GET", "faults")["faults"])

    def clear_faults(self) -> None:
        """Drop every fault."""
        self.call("DELETE", "faults")

    def account(self, plan: str = "free", state: str = "active", email: str | None = None) -> dict[str, str]:
        """A new account: ``email``, ``password``, ``api_key``."""
        given = {"email": email} if email else {}
        return dict(self.call("POST", "accounts", {"plan": plan, "state": state, **given}))

    def filing(self, name: str, document: bytes) -> list[dict[str, Any]]:
        """Ingest a document as if it had just been filed; what became of it."""
        return list(self.call("POST", f"filings?name={quote(name)}", document)["files"])

    def event(self, feed: str, type: str, data: Mapping[str, Any]) -> int:
        """Tell an event on a feed; its number."""
        return int(self.call("POST", "events", {"feed": feed, "type": type, "data": dict(data)})["seq"])

    def webhook(self, event_type: str, data: Mapping[str, Any] | None = None, **where: str) -> str:
        """Send a webhook to the ``url`` or the account of the ``email`` given; its ``delivery_id``."""
        told = {"data": dict(data)} if data is not None else {}
        return str(self.call("POST", "webhooks", {"event_type": event_type, **told, **where})["delivery_id"])

    def clear_limits(self) -> None:
        """Forget what anybody used of a limit, and every wrong password."""
        self.call("POST", "limits/clear")

    def mailbox(self) -> list[dict[str, Any]]:
        """The mails that were sent, oldest first, each with its links."""
        return list(self.call("GET", "mailbox")["mails"])

    def requests(self) -> list[dict[str, Any]]:
        """The calls that were made, oldest first."""
        return list(self.call("GET", "requests")["requests"])

    def inbox(self, name: str = "default") -> list[dict[str, Any]]:
        """The webhooks that an inbox took, each with the verdict on its signature."""
        return list(self.call("GET", "webhooks/inbox")["inboxes"].get(name, []))

    def inbox_url(self, name: str = "default", status: int = 200) -> str:
        """The URL of an inbox, which answers with a status."""
        return f"{self._url}/inbox/{name}" + (f"?status={status}" if status != 200 else "")

    def drop(self) -> None:
        """Close this world."""
        self.call("DELETE", "world")
