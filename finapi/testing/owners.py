"""An index of the worlds by API key and session, so that a call without a world's name reaches the right one."""

from __future__ import annotations

import base64
import json
import threading

from finapi.accounts import credentials
from finapi.testing.world import World


class CredentialIndex:
    """The world of each API key and session, by fingerprint.

    The fingerprints are read from the worlds' databases. A world is read again only when a credential is unknown and
    the world was written to since, so that wrong keys cost nothing and a key that was just created is found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._world_by_fingerprint: dict[bytes, World] = {}
        self._fingerprints_of: dict[World, list[bytes]] = {}
        self._changed_worlds: set[World] = set()  # Worlds that were written to since they were last read.

    def add(self, world: World) -> None:
        """Index a world, and watch its database for changes."""
        world.database.on_change = lambda: self._changed_worlds.add(world)
        with self._lock:
            self._fingerprints_of[world] = []
            self._changed_worlds.add(world)

    def remove(self, world: World) -> None:
        """Remove a world, before its database is used for another."""
        with self._lock:
            self._changed_worlds.discard(world)
            self._remove_fingerprints(world)

    def find_world(self, api_key: str, token: str) -> World | None:
        """Return the world in which a key or, without a key, a session was created, or None.

        The world itself decides whether the credential is valid.
        """
        credential = api_key or _read_session_id(token)
        if not credential:
            return None
        fingerprint = credentials.fingerprint(credential)
        with self._lock:
            if fingerprint not in self._world_by_fingerprint:
                self._read_changed_worlds()
            return self._world_by_fingerprint.get(fingerprint)

    def _read_changed_worlds(self) -> None:
        for world in list(self._changed_worlds):
            # Unmark the world before it is read: a write during the read marks it again.
            self._changed_worlds.discard(world)
            if world in self._fingerprints_of:
                self._remove_fingerprints(world)
                fingerprints = world.list_fingerprints()
                self._fingerprints_of[world] = fingerprints
                self._world_by_fingerprint.update(dict.fromkeys(fingerprints, world))

    def _remove_fingerprints(self, world: World) -> None:
        for fingerprint in self._fingerprints_of.pop(world, ()):
            self._world_by_fingerprint.pop(fingerprint, None)


def _read_session_id(token: str) -> str:
    """Return the session id that a token claims, without checking its signature. Return "" if it is not a token."""
    if len(token) > credentials.MAX_TOKEN_LENGTH or token.count(".") != 2:
        return ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    except (ValueError, RecursionError):
        return ""
    session_id = claims.get("session_id") if isinstance(claims, dict) else None
    return session_id if isinstance(session_id, str) and session_id.isascii() else ""
