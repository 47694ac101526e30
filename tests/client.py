"""An in-process caller of the WSGI application, checked by wsgiref.validate on every call."""

from __future__ import annotations

import copy
import gzip
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from json import dumps, loads
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

from finapi.accounts import invites
from finapi.app import App
from finapi.net import mail
from finapi.store.db import Transaction
from finapi.web.application import WsgiApp
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import Route
from tests.support.raw_sql import run_sql

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

AUTH = "/api/v1/auth/"
PASSWORD = "correct horse battery"

_NOTHING = object()


@dataclass(frozen=True)
class Answer:
    """A response as a caller sees it; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return loads(body)

    @property
    def verdict(self) -> tuple[int, str, str]:
        """Return status, code and message of an error."""
        return self.status, self.json["code"], self.json["message"]


class Client:
    """A caller of an App; ``key`` is sent as X-API-Key unless a call has its own headers for it."""

    def __init__(self, app: App, key: str | None = None) -> None:
        self.app = app
        self.key = key
        self.call_application(WsgiApp(app))

    def call_application(self, application: WSGIApplication) -> None:
        """Send later calls to another application."""
        self._wsgi = validator(application)

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def post(self, path: str, json: Any, **options: Any) -> Answer:
        return self.call("POST", path, json=json, **options)

    def put(self, path: str, json: Any, **options: Any) -> Answer:
        return self.call("PUT", path, json=json, **options)

    def call(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        environ: dict[str, Any] | None = None,
        json: Any = _NOTHING,
        data: bytes = b"",
        session: str | None = None,
        address: str = "192.0.2.1",
    ) -> Answer:
        """Send one call and return its answer.

        A ``query`` dict is appended to the path; ``environ`` overrides the WSGI environ. ``json`` is the body as a
        value, ``data`` as bytes; ``session`` is sent as a bearer token.
        """
        if query:
            path = f"{path}?{urlencode(query, doseq=True)}"
        raw, _, query_string = path.partition("?")
        env: dict[str, Any] = {"REQUEST_METHOD": method, "REQUEST_URI": path, "QUERY_STRING": query_string}
        env["PATH_INFO"], env["SCRIPT_NAME"] = raw, ""
        env["REMOTE_ADDR"] = address
        if json is not _NOTHING:
            data, env["CONTENT_TYPE"] = dumps(json).encode(), "application/json"
        env["wsgi.input"] = io.BytesIO(data)
        if data:
            env["CONTENT_LENGTH"] = str(len(data))
        sent_headers = {"X-API-Key": self.key} if self.key else {}
        if session is not None:
            sent_headers["Authorization"] = f"Bearer {session}"
        for name, value in {**sent_headers, **(headers or {})}.items():
            env["HTTP_" + name.upper().replace("-", "_")] = value
        env.update(environ or {})
        setup_testing_defaults(env)
        started: list[Any] = []

        def start_response(status: str, fields: list[tuple[str, str]], exc_info: object = None) -> Any:
            started.extend([status, fields])
            return lambda data: None

        result = self._wsgi(env, start_response)
        body = b"".join(result)
        result.close()
        status, fields = started
        return Answer(int(status[:3]), {name.lower(): value for name, value in fields}, body)


# ---- accounts, the way a visitor makes one


def invite_token(client: Client) -> str:
    """Return the token of a new invite that never expires."""
    code = invites.create(client.app, client.app.clock.now(), lifetime=None, note=None).code
    answer = client.post(AUTH + "redeem-invite", {"invite_code": code})
    assert answer.status == 200, answer.body
    token: str = answer.json["invite_token"]
    return token


def register(client: Client, email: str = "ann@example.com", **options: Any) -> Answer:
    """Register with a new invite."""
    body = {"email": email, "password": PASSWORD, "invite_token": invite_token(client)}
    return client.post(AUTH + "register", body, **options)


def sent(app: App, subject: str, recipient: str | None = None) -> list[EmailMessage]:
    """Return the sent mails with this subject, oldest first."""
    assert isinstance(app.mail_settings.transport, mail.MemoryTransport)
    return [
        message
        for message in app.mail_settings.transport.messages()
        if message["Subject"] == subject and recipient in (None, message["To"])
    ]


def text_of(message: EmailMessage) -> str:
    """Return the plain text of a mail, with LF."""
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def token_in(message: EmailMessage) -> str:
    """Return the token of the link in a mail."""
    return re.findall(r"\?token=(\S+)", text_of(message))[0]


def verify(client: Client, email: str = "ann@example.com") -> Answer:
    """Follow the newest activation link that was mailed to ``email``."""
    token = token_in(sent(client.app, "Verify your email address", email)[-1])
    return client.get(AUTH + "verifyEmail", query={"token": token})


def sign_up(client: Client, email: str = "ann@example.com") -> None:
    """Register and verify the email."""
    assert register(client, email).status == 200
    assert verify(client, email).status == 200


def login(client: Client, email: str = "ann@example.com", password: str = PASSWORD, **options: Any) -> Answer:
    """Try to log in."""
    return client.post(AUTH + "login", {"email": email, "password": password}, **options)


def session_of(client: Client, email: str = "ann@example.com", password: str = PASSWORD) -> str:
    """Return the token of a new session."""
    answer = login(client, email, password)
    assert answer.status == 200, answer.body
    token: str = answer.json["token"]
    return token


# ---- what the ledger says


def ledger_sum(tx: Transaction, user_id: int) -> int:
    """Return the sum of a user's ledger, which is the balance."""
    sql = "SELECT coalesce(sum(delta), 0) FROM ledger WHERE user_id = ?"
    total: int = run_sql(tx, sql, (user_id,)).fetchone()[0]
    return total


def with_handler(route: Route, handler: Callable[[Call], Response]) -> Route:
    """Return the route with another handler, for tests that wait or fail inside one."""
    changed = copy.copy(route)
    changed._handler = handler
    return changed
