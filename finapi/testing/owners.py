"""Whose a credential is: the worlds by what their databases hold of API keys and sessions."""

from __future__ import annotations

import base64
import json
import threading

from finapi.accounts import credentials
from finapi.testing.world import World


class Owners:
    """The worlds by the fingerprints of their keys and sessions.

    A world is read again when it was written since and a credential is not known: a wrong one asks no world that stood
    still, one made a moment ago is found, and what is held is what the databases hold.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worlds: dict[bytes, World] = {}
        self._held: dict[World, list[bytes]] = {}
        self._written: set[World] = set()  # since they were read

    def add(self, world: World) -> None:
        """Know a world from here on."""
        world.database.on_change = lambda: self._written.add(world)
        with self._lock:
            self._held[world] = []
            self._written.add(world)

    def forget(self, world: World) -> None:
        """Know nothing of a world any more, before its database is another's."""
        with self._lock:
            self._written.discard(world)
            self._drop(world)

    def find(self, key: str, token: str) -> World | None:
        """The world that a key, or else a session token, was made in. Whether it is in force is that world's to say."""
        text = key if key else _session_id(token)
        if not text:
            return None
        mark = credentials.fingerprint(text)
        with self._lock:
            if mark not in self._worlds:
                self._read_written()
            return self._worlds.get(mark)

    def _read_written(self) -> None:
        for world in list(self._written):
            # First: what is written while it is read is read the next time.
            self._written.discard(world)
            if world in self._held:
                self._drop(world)
                self._held[world] = marks = world.marks()
                self._worlds.update(dict.fromkeys(marks, world))

    def _drop(self, world: World) -> None:
        for mark in self._held.pop(world, ()):
            self._worlds.pop(mark, None)


def _session_id(token: str) -> str:
    """The session that a token says it is of, unproven; empty for what is no token."""
    if len(token) > credentials.MAX_TOKEN_LENGTH or token.count(".") != 2:
        return ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    except (ValueError, RecursionError):
        return ""
    named = claims.get("session_id") if isinstance(claims, dict) else None
    return named if isinstance(named, str) and named.isascii() else ""
