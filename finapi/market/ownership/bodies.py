"""Schedules as they are kept: all that the document says, from which the tables are made."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from typing import Any

from finapi.edgar.schedules import Schedule
from finapi.market.documents.packs import build_reader

# Characters of Item 4 that lists show; the filing itself has all of them.
PURPOSE_SHOWN = 500

_unpacked: Any = build_reader(Schedule)


def encoded(schedule: Schedule) -> bytes:
    """A schedule as JSON: the values of its fields in their order."""
    plain = [getattr(schedule, one.name) for one in fields(schedule)]
    return json.dumps(plain, default=lambda one: [getattr(one, name.name) for name in fields(one)]).encode()


def unpacked(body: bytes) -> Schedule:
    """The schedule of stored bytes."""
    found: Schedule = _unpacked(json.loads(zlib.decompress(body)))
    return found
