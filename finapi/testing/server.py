"""``FinapiServer`` runs a fixture in this process or uses one that runs already. ``FixtureWorld`` is one world."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from wsgiref.types import WSGIApplication

from finapi.client.exchange import ApiRequest
from finapi.client.synchronous import Client, Send, by_urllib
from finapi.testing.control_client import Control, build_wsgi_sender

if TYPE_CHECKING:
    from finapi.testing.base import FixtureAccount


@dataclass(frozen=True, slots=True)
class FixtureWorld:
    """A finapi of its own for a test: its URL, its accounts and its control."""

    url: str
    accounts: dict[str, FixtureAccount]
    invite_codes: list[str]
    control: Control
    send: Send
    # For example for ``httpx.WSGITransport(app=world.wsgi)``. None if the server is another process.
    wsgi: WSGIApplication | None = None

    @property
    def api_key(self) -> str:
        """The API key of the account ``pro``."""
        return self.accounts["pro"]["api_key"]

    def client(self, plan: str = "pro", **options: Any) -> Client:
        """Return a client with the API key of an account."""
        return Client(self.url, self.accounts[plan]["api_key"], send=self.send, **options)

    def adapter(self) -> Any:
        """Return an adapter for ``requests``: ``session.mount(world.url, world.adapter())``."""
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3 import HTTPResponse

        send = self.send

        class WorldAdapter(HTTPAdapter):
            def send(self, request: Any, *_: Any, **options: Any) -> Any:
                body = request.body or b""
                if not isinstance(body, str | bytes):  # A file or an iterable.
                    body = b"".join(body)
                encoded_body = body.encode() if isinstance(body, str) else body
                answer = send(ApiRequest(request.method, request.url, dict(request.headers), encoded_body))
                if answer is None:
                    raise requests.ConnectionError("the answer is incomplete", request=request)
                stream = io.BytesIO(answer.body)
                response = HTTPResponse(stream, answer.headers, answer.status, preload_content=False)
                return self.build_response(request, response)

        return WorldAdapter()


class FinapiServer:
    """A fixture that runs until the end of the ``with`` block. Its attributes are those of its unnamed world.

    ``seed``: the clock stands still, and ids, keys and times are the same in every run.
    ``listens=False``: there is no socket; ``client()`` and ``wsgi`` call the fixture in this process.
    ``ready``: the ready line of a fixture that runs already, or a file with it. No other is started.
    ``recording``: a file of ``finapi fixture --record``, whose answers come before the fixture's own.
    Other arguments are settings, named as in ``finapi config``.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        listens: bool = True,
        ready: Any = None,
        port: int = 0,
        recording: str | Path | None = None,
        **settings: Any,
    ) -> None:
        self._seed = seed
        self._listens = listens
        self._ready = ready
        self._recording = recording
        self._settings = {"port": port, **settings}
        self._stack = ExitStack()
        self._send: Send = by_urllib()
        self._wsgi: WSGIApplication | None = None
        self._world: FixtureWorld | None = None

    def __enter__(self) -> FinapiServer:
        if self._ready is None:
            self._run_fixture()
        elif isinstance(self._ready, str | Path):
            self._ready = json.loads(Path(self._ready).read_text("utf-8"))
        control = Control(self._ready["control_url"], self._ready["control_token"], self._send)
        self._world = self._build_world(self._ready["url"], self._ready["accounts"], control)
        return self

    def _run_fixture(self) -> None:
        # Imported late, because they are not needed if the fixture is another process.
        from finapi.core.config import Config
        from finapi.testing.running import FIXTURE_SETTINGS, run_fixture

        recording = None
        if self._recording is not None:
            from finapi.testing.recording import ServiceRecording

            recording = ServiceRecording(Path(self._recording))
        config = Config(**FIXTURE_SETTINGS | self._settings)
        fixture = self._stack.enter_context(
            run_fixture(config, seed=self._seed, listens=self._listens, answer_source=recording)
        )
        self._ready, self._wsgi = fixture.ready, fixture.gate
        if not self._listens:
            self._send = build_wsgi_sender(fixture.gate)

    def __exit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def ready(self) -> dict[str, Any]:
        """The ready line."""
        return dict(self._ready)

    @property
    def url(self) -> str:
        """The base URL."""
        return self._unnamed_world.url

    @property
    def accounts(self) -> dict[str, FixtureAccount]:
        """The accounts by plan and state."""
        return self._unnamed_world.accounts

    @property
    def invite_codes(self) -> list[str]:
        """Ten codes to register with."""
        return self._unnamed_world.invite_codes

    @property
    def api_key(self) -> str:
        """The API key of the account ``pro``."""
        return self._unnamed_world.api_key

    @property
    def control(self) -> Control:
        """The control of the unnamed world."""
        return self._unnamed_world.control

    @property
    def send(self) -> Send:
        """A sender of requests."""
        return self._unnamed_world.send

    @property
    def wsgi(self) -> WSGIApplication | None:
        """The WSGI application, or None if the server is another process."""
        return self._unnamed_world.wsgi

    def client(self, plan: str = "pro", **options: Any) -> Client:
        """Return a client with the API key of an account."""
        return self._unnamed_world.client(plan, **options)

    def adapter(self) -> Any:
        """Return an adapter for ``requests``: ``session.mount(server.url, server.adapter())``."""
        return self._unnamed_world.adapter()

    @property
    def _unnamed_world(self) -> FixtureWorld:
        if self._world is None:
            raise AttributeError("the server is not running: use it inside its with block")
        return self._world

    def world(self, name: str) -> FixtureWorld:
        """Return the world with this name. It is created at its first call and shares no changes with other worlds."""
        token, url = self._ready["control_token"], f"{self._ready['url']}/_world/{name}"
        control = Control(f"{url}/_control", token, self._send)
        accounts = control.call("GET", "accounts")["accounts"]
        return self._build_world(url, accounts, control)

    def _build_world(self, url: str, accounts: dict[str, FixtureAccount], control: Control) -> FixtureWorld:
        return FixtureWorld(url, accounts, [*self._ready["invite_codes"]], control, self._send, self._wsgi)
