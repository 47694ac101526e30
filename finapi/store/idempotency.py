"""Calls with an ``Idempotency-Key``: repeated calls are performed once and get the same response for 24 hours.

The response is stored by account, route and key, in the transaction that does the work. So there is never an effect
without its stored response, nor the reverse. Parallel calls with the same key write one after the other. All but the
first are refused or rolled back, and then return the response that the first one stored. An error is not stored,
because it changed nothing, and a repeated call is a new attempt.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta
from typing import NamedTuple

from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.store.db import Transaction

HEADER = "Idempotency-Key"
STORED_FOR = timedelta(hours=24)

KEY = r"[\x21-\x7e]{1,255}"


class IdempotentCall(NamedTuple):
    """A call that carries a key. ``body_hash`` is the SHA-256 of its body and its path parameters."""

    user_id: int
    route: str
    key: str
    body_hash: bytes

    def find_response(self, tx: Transaction, now: datetime) -> bytes | None:
        """Return the response that was stored for this call, or None.

        Raise CONFLICT if the key was used for another body or path.
        """
        row = tx.find_row("stored_response", self._asdict(), since=iso(now - STORED_FOR))
        if row is None:
            return None
        if row["body"] != self.body_hash:
            raise ApiError("CONFLICT", f"This {HEADER} was used with another body or path.")
        response: bytes = row["answer"]
        return response

    def store_response(self, tx: Transaction, response: bytes, now: datetime) -> None:
        """Store the response. Raise ``db.ConstraintError`` if a parallel call stored one: its work is done already."""
        tx.run("delete_old_responses", before=iso(now - STORED_FOR))
        tx.run("insert_stored_response", self._asdict(), response=response, now=iso(now))


def build_call(user_id: int, route: str, key: str, body: bytes) -> IdempotentCall:
    """Return a user's call with this key. Raise INVALID_PARAM if the key is not valid."""
    if not re.fullmatch(KEY, key):
        raise invalid_param(HEADER, f"{HEADER} must be 1 to 255 visible ASCII characters.", expected="1-255 characters")
    return IdempotentCall(user_id, route, key, hashlib.sha256(body).digest())
