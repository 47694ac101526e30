"""An in-process caller of the WSGI application, checked by wsgiref.validate on every call."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

from finapi.app import App
from finapi.web.wsgi import WsgiApp


@dataclass(frozen=True)
class Answer:
    """A response as a caller sees it; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return json.loads(body)


class Client:
    """Calls an App; ``key`` is sent as X-API-Key unless a call brings its own headers for it."""

    def __init__(self, app: App, key: str | None = None) -> None:
        self.app = app
        self.key = key
        self._wsgi = validator(WsgiApp(app))

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def call(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        environ: dict[str, Any] | None = None,
    ) -> Answer:
        """One call. A ``query`` dict is appended to the path; ``environ`` overrides the WSGI environ."""
        if query:
            path = f"{path}?{urlencode(query, doseq=True)}"
        raw, _, query_string = path.partition("?")
        env: dict[str, Any] = {"REQUEST_METHOD": method, "REQUEST_URI": path, "QUERY_STRING": query_string}
        env["PATH_INFO"], env["SCRIPT_NAME"] = raw, ""
        env["REMOTE_ADDR"] = "192.0.2.1"
        env["wsgi.input"] = io.BytesIO()
        sent = {"X-API-Key": self.key} if self.key else {}
        for name, value in {**sent, **(headers or {})}.items():
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
