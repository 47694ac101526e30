"""A fixture in this process: ``with FinapiServer() as server``."""

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
from finapi.testing.control_client import Control, by_wsgi

if TYPE_CHECKING:
    from finapi.testing.base import FixtureAccount


@dataclass(frozen=True, slots=True)
class FixtureWorld:
    """A finapi of its own for a test: its address, keys, and control."""

    url: str
    accounts: dict[str, FixtureAccount]
    control: Control
    send: Send
    # For ``httpx.WSGITransport(app=world.wsgi)`` and the like; None when the server is another process.
    wsgi: WSGIApplication | None = None

    @property
    def api_key(self) -> str:
        """The key of the account on the plan pro."""
        return self.accounts["pro"]["api_key"]

    def client(self, plan: str = "pro", **options: Any) -> Client:
        """A client with the key of an account."""
        return Client(self.url, self.accounts[plan]["api_key"], send=self.send, **options)

    def adapter(self) -> Any:
        """An adapter of ``requests`` that asks as ``client`` does: ``session.mount(world.url, world.adapter())``."""
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3 import HTTPResponse

        class WorldAdapter(HTTPAdapter):
            def send(inner, request: Any, *_: Any, **more: Any) -> Any:
                body = request.body or b""
                if not isinstance(body, str | bytes):  # a file, or pieces
                    body = b"".join(body)
                data = body.encode() if isinstance(body, str) else body
                answer = self.send(ApiRequest(request.method, request.url, dict(request.headers), data))
                if answer is None:
                    raise requests.ConnectionError("the answer is not whole", request=request)
                raw = HTTPResponse(io.BytesIO(answer.body), answer.headers, answer.status, preload_content=False)
                return inner.build_response(request, raw)

        return WorldAdapter()


class FinapiServer:
    """A fixture from the beginning of the block to its end: ``url``, ``api_key``, ``accounts``, ``control``.

    With ``seed`` its clock stands still and ids, keys and times repeat. With ``listens=False`` there is no socket:
    ``client()`` and ``wsgi`` call it in this process. ``ready``, a ready line, takes a server that runs already.
    ``recording``, a file of ``fixture --record``, answers the calls that it holds.
    Settings are named as in ``finapi config``.
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
        self._recording = recording
        self._given = (seed, listens, {"port": port, **settings})
        self._ready = ready
        self._stack = ExitStack()
        self._world: FixtureWorld | None = None
        self._wsgi: WSGIApplication | None = None

    def __enter__(self) -> FinapiServer:
        send = by_urllib()
        if self._ready is None:
            from finapi.core.config import Config
            from finapi.testing.running import SETTINGS, running

            seed, listens, settings = self._given
            on = None
            if self._recording is not None:
                from finapi.testing.recording import ServiceRecording

                on = ServiceRecording(Path(self._recording))
            config = Config(**SETTINGS | settings)
            fixture = self._stack.enter_context(running(config, seed=seed, listens=listens, elsewhere=on))
            self._ready, self._wsgi = fixture.ready, fixture.gate
            send = send if listens else by_wsgi(fixture.gate)
        elif isinstance(self._ready, str | Path):
            self._ready = json.loads(Path(self._ready).read_text("utf-8"))
        self._send = send
        control = Control(self._ready["control_url"], self._ready["control_token"], send)
        self._world = FixtureWorld(self._ready["url"], self._ready["accounts"], control, send, self._wsgi)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._world is None:
            raise AttributeError(f"{name}: the server runs inside its with block")
        return getattr(self._world, name)

    @property
    def ready(self) -> dict[str, Any]:
        """The ready line."""
        return dict(self._ready)

    def world(self, name: str) -> FixtureWorld:
        """A world of this server, made when it is first asked for: nothing done in it is seen in another."""
        token, url = self._ready["control_token"], f"{self._ready['url']}/_world/{name}"
        control = Control(f"{url}/_control", token, self._send)
        accounts = control.call("GET", "accounts")["accounts"]
        return FixtureWorld(url, accounts, control, self._send, self._wsgi)
