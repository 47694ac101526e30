"""The event feeds (WebSocket, Socket.IO, Server-Sent Events) of all worlds of a fixture.

One event loop serves the readers of all worlds; it is started with the first reader. Each world that has readers has a
hub, which sends the world's events to them. The world of a connection is the one named in its path or header, or the
one of its API key. Without either, the connection begins in the unnamed world, and moves to another world if its first
message contains a key of that world.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

from finapi.core.errors import ApiError
from finapi.feeds.feed_requests import SOCKET_IO, find_api_key, is_feed_request
from finapi.feeds.lazy_feeds import LazyFeeds
from finapi.httpd.loop import reset_on_close
from finapi.httpd.response_heads import build_head
from finapi.httpd.settings import HandedOverRequest
from finapi.testing import faults
from finapi.testing.fault_answers import build_fault_answer
from finapi.testing.faults import ANSWER_EFFECTS, Fault
from finapi.testing.gate import Gate, split_world_path
from finapi.testing.world import World
from finapi.web.responses import Answer

# These modules are imported with the first reader.
if TYPE_CHECKING:
    from finapi.feeds.feed_loop import Feeds
    from finapi.feeds.hub import Hub

WORLD_HEADER = "x-finapi-world"
CLOSE_GRACE_SECONDS = 0.05  # Time that readers have to close their side when the fixture ends.


class WorldFeeds:
    """The readers of all worlds, and a hub for each world that is read."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._hubs: dict[World, Hub] = {}
        self._lock = threading.Lock()
        self._starter: LazyFeeds | None = None

    def can_take(self, method: str, path: str, accept: str) -> bool:
        """Return True if a request opens a feed."""
        return is_feed_request(method, split_world_path(path)[1], accept)

    def take(self, request: HandedOverRequest) -> None:
        """Take over the connection of a request that opens a feed."""
        path_name, path = split_world_path(request.path)
        world_name = path_name or request.headers.get(WORLD_HEADER)
        world = self._gate.get_world("")
        if self._starter is None:
            self._starter = LazyFeeds(world.wsgi)
        try:
            self._gate.check_origin(request.headers, opens_feed=True)
            world = self._gate.find_world(world_name, find_api_key(request) or "", "")
            if _apply_faults(world, request, path):
                return
        except ApiError as error:
            _send_error(world, request, path, error)
            return

        def find_hub(key: str) -> Hub | None:
            if world_name is not None:
                return self._get_hub(world)
            return self._get_hub(self._gate.credential_index.find_world(key, "") or world)

        self._starter.take(request._replace(path=path), world.wsgi, find_hub)

    def _get_hub(self, world: World) -> Hub | None:
        """Return the hub of a world. Create it if there is none. Return None if the world is closed."""
        feeds = self._feeds
        with self._lock:
            if feeds is None or world.closed:
                return None
            if world not in self._hubs:
                self._hubs[world] = feeds.add_hub(world.app)
            return self._hubs[world]

    @property
    def _feeds(self) -> Feeds | None:
        return self._starter.started_feeds if self._starter else None

    def get_last_read_time(self, world: World) -> float:
        """Return when a feed of a world was last read (seconds of ``time.monotonic``), or -inf if it never was."""
        hub = self._hubs.get(world)
        return hub.last_read_at if hub else -inf

    def close_readers(self, world: World, code: int) -> None:
        """Close the readers of a world with a close code."""
        hub = self._hubs.get(world)
        if hub is not None and self._feeds is not None:
            self._feeds.end_readers(hub, code, "The fixture was told to close.")

    def remove_hub(self, world: World, reason: str) -> None:
        """Disconnect the readers of a world and send them the reason: it was deleted, or its journal begins again."""
        with self._lock:
            hub = self._hubs.pop(world, None)
        if self._feeds is not None and (hub is not None or world.closed):
            self._feeds.remove_hub(hub, reason)

    def close(self) -> None:
        """Close all readers and end the loop."""
        if self._starter is not None:
            self._starter.close(CLOSE_GRACE_SECONDS)


def _apply_faults(world: World, request: HandedOverRequest, path: str) -> bool:
    """Return True if a fault of the world answered the request, or reset the connection."""
    # Clients append a slash to the path of Socket.IO, and routes of faults contain it.
    route_path = path + "/" if path == SOCKET_IO else path
    met_faults = world.faults.match_feed_request(request.method, route_path)
    magic_status = faults.find_magic_status(find_api_key(request) or "", [])
    if magic_status is not None:
        met_faults.append(Fault("magic", "status", magic_status))
    for fault in met_faults:
        if fault.effect in ANSWER_EFFECTS:
            environ = _build_environ(request, path)
            answer = build_fault_answer(world.wsgi, environ, fault, world.clock.now().timestamp())
            _send_answer(request, answer)
        else:
            with request.sock:
                reset_on_close(request.sock)
        return True
    return False


def _send_error(world: World, request: HandedOverRequest, path: str, error: ApiError) -> None:
    _send_answer(request, world.wsgi.refuse(_build_environ(request, path), error))


def _build_environ(request: HandedOverRequest, path: str) -> dict[str, Any]:
    return {"REQUEST_METHOD": request.method, "REQUEST_URI": path, "REMOTE_ADDR": request.peer}


def _send_answer(request: HandedOverRequest, answer: Answer) -> None:
    status, headers, body = answer
    with suppress(OSError), request.sock:  # The client may have disconnected.
        request.sock.send(build_head(status, [*headers, ("Connection", "close")]) + body)
