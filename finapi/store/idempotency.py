"""Calls that are made once however often they are sent: ``Idempotency-Key`` on POSTs that change something.

The answer is kept in the transaction that did the work, by account, route and key, for 24 hours. Of two calls at once
the one that commits second is rolled back and gets the kept answer too. An error is not kept: it changed nothing.
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
KEPT = timedelta(hours=24)

KEY = r"[\x21-\x7e]{1,255}"


class Once(NamedTuple):
    """A call that carries a key: who calls what, under which key, and what is asked for (its SHA-256)."""

    user_id: int
    route: str
    key: str
    body: bytes

    def answered(self, tx: Transaction, now: datetime) -> bytes | None:
        """The answer that was given to this call, or None; CONFLICT when the key was used to ask for something else."""
        row = tx.find_row("kept_answer", self._asdict(), since=iso(now - KEPT))
        if row is None:
            return None
        if row["body"] != self.body:
            raise ApiError("CONFLICT", f"This {HEADER} was used with another body or path.")
        answer: bytes = row["answer"]
        return answer

    def keep(self, tx: Transaction, answer: bytes, now: datetime) -> None:
        """Remember the answer; ``db.ConstraintError`` when the same call was answered meanwhile."""
        tx.run("forget_answers", before=iso(now - KEPT))
        tx.run("keep_answer", self._asdict(), answer=answer, now=iso(now))


def once(user_id: int, route: str, key: str, body: bytes) -> Once:
    """The call of a user with this ``Idempotency-Key`` that asks for this; INVALID_PARAM for a key that is none."""
    if not re.fullmatch(KEY, key):
        raise invalid_param(HEADER, f"{HEADER} must be 1 to 255 visible ASCII characters.", expected="1-255 characters")
    return Once(user_id, route, key, hashlib.sha256(body).digest())
