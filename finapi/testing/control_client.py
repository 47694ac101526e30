"""A client of a fixture's control calls, over its socket or in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit
from wsgiref.types import WSGIApplication

from finapi.client.exchange import ApiAnswer, ApiRequest, build_failure
from finapi.client.synchronous import Send


def build_wsgi_sender(application: WSGIApplication) -> Send:
    """Build a ``send`` function that calls a WSGI application without a socket.

    It returns None if the answer is incomplete.
    """

    def send(request: ApiRequest) -> ApiAnswer | None:
        environ = _build_environ(request)
        resets: list[bool] = []
        environ["finapi.reset"] = lambda: resets.append(True)
        started: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            started.extend((status, headers))
            return bytes

        chunks = application(environ, start_response)
        try:
            body = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()  # PEP 3333 requires this even if the answer was read to the end.
        status, header_list = started
        headers = {name.lower(): text for name, text in header_list}
        promised_length = int(headers.get("content-length", len(body)))
        is_complete = request.method == "HEAD" or promised_length == len(body)
        return ApiAnswer(int(status[:3]), headers, body) if is_complete and not resets else None

    return send


def _build_environ(request: ApiRequest) -> dict[str, Any]:
    url = urlsplit(request.url)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "REQUEST_URI": url.path + (f"?{url.query}" if url.query else ""),
        "PATH_INFO": url.path,
        "QUERY_STRING": url.query,
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(request.body)) if request.body else "",
        "wsgi.input": io.BytesIO(request.body),
    }
    for name, text in request.headers.items():
        variable = name.upper().replace("-", "_")
        environ[variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"] = text
    return environ


class Control:
    """A client of one world's control calls (docs/TESTING.md), with a method for each call."""

    def __init__(self, control_url: str, token: str, send: Send, world: str = "") -> None:
        self._url = control_url
        self._send = send
        self._headers = {"X-Control-Token": token, **({"X-Finapi-World": world} if world else {})}

    def call(self, method: str, name: str, body: Mapping[str, Any] | bytes | None = None) -> Any:
        """Make a control call and return its answer. Raise ApiFailure for an error."""
        encoded_body = b""
        if isinstance(body, bytes):
            encoded_body = body
        elif body is not None:
            encoded_body = json.dumps(body).encode()
        answer = self._send(ApiRequest(method, f"{self._url}/{name}", self._headers, encoded_body))
        if answer is None or answer.status >= 400:
            raise build_failure(answer)
        return json.loads(answer.body)

    def reset(self) -> None:
        """Restore the state in which the world began."""
        self.call("POST", "reset")

    def snapshot(self) -> str:
        """Save the state of the world and return the snapshot's name."""
        return str(self.call("POST", "snapshot")["snapshot"])

    def restore(self, snapshot: str) -> None:
        """Restore the state of a snapshot."""
        self.call("POST", "restore", {"snapshot": snapshot})

    def seed(self, seed: int) -> None:
        """Derive all further ids, keys and secrets from this seed."""
        self.call("POST", "seed", {"seed": seed})

    def freeze(self, moment: datetime | str | None = None) -> datetime:
        """Stop the clock, at ``moment`` if there is one, and return its time."""
        text = moment.isoformat() if isinstance(moment, datetime) else moment
        return datetime.fromisoformat(self.call("POST", "clock", {"freeze": text or True})["now"])

    def run(self) -> None:
        """Let the clock run again."""
        self.call("POST", "clock", {"run": True})

    def advance(self, seconds: float | timedelta) -> list[dict[str, Any]]:
        """Let time pass (seconds, or a timedelta), and return what happened, oldest first."""
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        return list(self.call("POST", "clock", {"advance": seconds})["happened"])

    def until_idle(self) -> list[dict[str, Any]]:
        """Let time pass until nothing is due, and return what happened, oldest first."""
        return list(self.call("POST", "clock", {"until_idle": True})["happened"])

    def now(self) -> datetime:
        """Return the time of the clock."""
        return datetime.fromisoformat(self.call("GET", "clock")["now"])

    def fault(self, route: str = "*", **effect_and_conditions: Any) -> str:
        """Add a fault and return its id: ``fault("GET /api/v1/xbrl/*", status=500, times=1)``."""
        return str(self.call("POST", "faults", {"route": route, **effect_and_conditions})["id"])

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults, with the number of calls that each was applied to."""
        return list(self.call("GET", "faults")["faults"])

    def clear_faults(self) -> None:
        """Remove every fault."""
        self.call("DELETE", "faults")

    def refused_url(self) -> str:
        """Return a URL whose connections are refused, as those of a server that is down."""
        return str(self.call("GET", "refused")["url"])

    def account(self, plan: str = "free", state: str = "active", email: str | None = None) -> dict[str, str]:
        """Create an account and return its ``email``, ``password`` and ``api_key``."""
        body = {"plan": plan, "state": state}
        if email:
            body["email"] = email
        return dict(self.call("POST", "accounts", body))

    def filing(self, name: str, document: bytes) -> list[dict[str, Any]]:
        """Store a document as if it had just been filed, and return the outcome of each part."""
        return list(self.call("POST", f"filings?name={quote(name)}", document)["files"])

    def event(self, feed: str, type: str, data: Mapping[str, Any]) -> int:
        """Send an event on a feed and return its number."""
        return int(self.call("POST", "events", {"feed": feed, "type": type, "data": dict(data)})["seq"])

    def webhook(self, event_type: str, data: Mapping[str, Any] | None = None, **receiver: str) -> str:
        """Send a webhook to a ``url``, or to the account of an ``email``, and return its ``delivery_id``.

        Without ``data`` it has a sample payload.
        """
        payload = {} if data is None else {"data": dict(data)}
        return str(self.call("POST", "webhooks", {"event_type": event_type, **payload, **receiver})["delivery_id"])

    def clear_limits(self) -> None:
        """Reset every rate limit and every count of wrong passwords."""
        self.call("POST", "limits/clear")

    def mailbox(self) -> list[dict[str, Any]]:
        """Return the mails that were sent, oldest first, each with its links."""
        return list(self.call("GET", "mailbox")["mails"])

    def requests(self) -> list[dict[str, Any]]:
        """Return the calls that were made, oldest first."""
        return list(self.call("GET", "requests")["requests"])

    def inbox(self, name: str = "default") -> list[dict[str, Any]]:
        """Return the webhooks in an inbox, each with the verdict on its signature."""
        return list(self.call("GET", f"webhooks/inbox?name={quote(name)}")["inboxes"][name])

    def inbox_url(self, name: str = "default", status: int = 200) -> str:
        """Return the URL of an inbox, which answers with this status."""
        return f"{self._url}/inbox/{name}" + (f"?status={status}" if status != 200 else "")

    def drop(self) -> None:
        """Delete this world."""
        self.call("DELETE", "world")
