"""Faults by plan: which call meets which, decided by a table and a source of chance that repeats."""

from __future__ import annotations

import copy
import random
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from finapi.core.errors import STATUS_OF, ApiError, invalid_param

# What a fault does, and of which type its value is. A webhook's and a feed's are not a call's.
KINDS: dict[str, type] = {
    "status": int,
    "delay": float,
    "drip": float,
    "truncate": int,
    "reset": bool,
    "wrong_length": bool,
    "stale": str,
    "duplicate": bool,
    "reorder": bool,
    "close": int,
}
# What may stand in a close frame: RFC 6455 7.4.1, and those registered since.
CLOSES = (range(1000, 1004), range(1007, 1015), range(3000, 5000))
OF_WEBHOOKS, OF_FEEDS = ("duplicate", "reorder"), ("close",)
OPENING = ("status", "reset")  # of a call that a request for a feed may meet too
FEED_ROUTE = re.compile(r"/(ws|socket\.io)\b.*")
WHEN: dict[str, type] = {"route": str, "ordinal": int, "share": float, "times": int, "headers": bool}

# The first code of a status is the one that says no more than it.
_STATUSES = (400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503, 504)
STATUSES = {STATUS_OF[code]: code for code in reversed(STATUS_OF) if STATUS_OF[code] in _STATUSES}
MOST = 100  # faults of a world at once
ROUTE_LENGTH = 1_000
ROUTE = re.compile(r"([A-Za-z*]+ )?\S+")
LONGEST = 60.0  # seconds that a fault may delay a call

# Keys, tickers and emails that are answered with a status whatever is asked: see docs/TESTING.md.
MAGIC_KEY = re.compile(r"0{29}([1-5][0-9]{2})")
MAGIC_NAME = re.compile(r"status-([1-5][0-9]{2})(@.*)?", re.IGNORECASE)


@dataclass(slots=True)
class Fault:
    """A line of the plan: the calls that it is for, and what becomes of them."""

    id: str
    does: dict[str, Any]
    route: str = "*"
    ordinal: int | None = None
    share: float | None = None
    times: int | None = None
    headers: bool = True
    seen: int = 0
    met: int = 0
    # By its own source, so that no other fault changes what it meets.
    chance: random.Random = field(default_factory=random.Random)

    def meets(self, what: str) -> bool:
        """Whether this is for a call, ``GET /path`` or ``WEBHOOK event_type``; it is counted then."""
        pattern = self.route if " " in self.route else f"* {self.route}"
        if not fnmatchcase(what, pattern) or (self.times is not None and self.met >= self.times):
            return False
        self.seen += 1
        if self.ordinal is not None and self.seen != self.ordinal:
            return False
        if self.share is not None and self.chance.random() >= self.share:
            return False
        self.met += 1
        return True

    def shown(self) -> dict[str, Any]:
        """The fault as it was given, with how often it was looked at and met."""
        given = {name: getattr(self, name) for name in WHEN if getattr(self, name) is not None}
        return {"id": self.id, **given, **self.does, "seen": self.seen, "met": self.met}


class FaultPlan:
    """The faults of a world, in the order in which they came."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._faults: list[Fault] = []
        self._number = 0
        self._doubled: set[str] = set()  # deliveries
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults))

    def add(self, body: Mapping[str, Any]) -> Fault:
        """Add a fault; INVALID_PARAM for one that cannot be."""
        for name, value in body.items():
            kind = {**KINDS, **WHEN}.get(name)
            if kind is None:
                raise invalid_param(name, "Unknown member of a fault.", allowed=[*KINDS, *WHEN])
            fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
            if not fits or (isinstance(value, bool) and kind is not bool):
                raise invalid_param(name, f"{name} has the wrong type.", expected=kind.__name__)
            if value is False and name in KINDS:
                raise invalid_param(name, f"{name} is true or left out.", expected="true")
        does = {name: value for name, value in body.items() if name in KINDS}
        if len(does) != 1:
            raise invalid_param("status", "A fault has exactly one effect.", allowed=list(KINDS))
        _check(body)
        with self._lock:
            if len(self._faults) >= MOST:
                raise ApiError("CONFLICT", f"At most {MOST} faults can be planned at once.")
            self._number += 1
            when = {name: value for name, value in body.items() if name in WHEN}
            method, blank, path = when.get("route", "*").rpartition(" ")
            when["route"] = method.upper() + blank + path
            chance = random.Random(f"{self.seed} {self._number}")  # nosec B311
            fault = Fault(f"flt_{self._number}", does, **when, chance=chance)
            self._faults.append(fault)
        return fault

    def clear(self) -> int:
        """Drop every fault; how many those were."""
        with self._lock:
            dropped, self._faults = len(self._faults), []
            return dropped

    def state(self) -> tuple[int, list[Fault]]:
        """How many there were and those that there are, for :meth:`put`."""
        with self._lock:
            return self._number, copy.deepcopy(self._faults)

    def put(self, state: tuple[int, list[Fault]]) -> None:
        """Hold the faults of a :meth:`state` and no others."""
        with self._lock:
            self._number, self._faults = copy.deepcopy(state)

    def of_call(self, method: str, path: str) -> list[Fault]:
        """The faults that a call meets, each kind once."""
        with self._lock:
            found = [one for one in self._faults if not set(one.does) & {*OF_WEBHOOKS, *OF_FEEDS}]
            return [one for one in found if one.meets(f"{method} {path}")]

    def of_feed(self, method: str, path: str) -> list[Fault]:
        """The faults that a request for a feed meets: of those whose route is a path, not of those for any call."""
        with self._lock:
            named = [one for one in self._faults if _path(one.route).startswith("/") and set(one.does) & {*OPENING}]
            return [one for one in named if one.meets(f"{method} {path}")]

    def of_webhook(self, event_type: str, delivery_id: str) -> set[str]:
        """What is to become of an attempt to send a webhook."""
        with self._lock:
            found = [one for one in self._faults if set(one.does) & {*OF_WEBHOOKS}]
            kinds = {kind for one in found if one.meets(f"WEBHOOK {event_type}") for kind in one.does}
            if "duplicate" in kinds:
                self._doubled.add(delivery_id)
            return kinds

    def is_doubled(self, delivery_id: str) -> bool:
        """Whether the attempt that is made is to be made twice."""
        with self._lock:
            doubled = delivery_id in self._doubled
            self._doubled.discard(delivery_id)
            return doubled


def _path(route: str) -> str:
    return route.rpartition(" ")[2]


def _check(body: Mapping[str, Any]) -> None:
    """INVALID_PARAM for a value that its member cannot have."""
    status = body.get("status")
    if status is not None and status not in STATUSES:
        raise invalid_param("status", "Unsupported status.", allowed=sorted(STATUSES))
    if body.get("headers") is False and status != 429:
        raise invalid_param("headers", "headers leaves out those of a limit, which a 429 has.", expected="status 429")
    if "route" in body and not ROUTE.fullmatch(body["route"]):
        raise invalid_param("route", "route must be a path, or a method, a space and a path.", expected="GET /path")
    if "ordinal" in body and "share" in body:
        raise invalid_param("share", "A fault takes ordinal or share, not both.", expected="no member")
    for name, least, most in (
        ("delay", 0.0, LONGEST),
        ("drip", 1.0, 1e9),
        ("share", 0.0, 1.0),
        ("ordinal", 1, 1e9),
        ("times", 1, 1e9),
        ("truncate", 0, 1e9),
    ):
        if name in body and not least <= body[name] <= most:
            raise invalid_param(name, f"{name} must be {least:g} to {most:g}.", expected=f"{least:g} to {most:g}")
    if "close" in body and not any(body["close"] in codes for codes in CLOSES):
        told = "close must be 1000 to 1003, 1007 to 1014 or 3000 to 4999; no other code can be sent."
        raise invalid_param("close", told, expected="a close code")
    if len(body.get("route", "")) > ROUTE_LENGTH:
        raise invalid_param("route", f"route must have at most {ROUTE_LENGTH} characters.", expected="a path")
    if "stale" in body:
        moment(body["stale"], "stale")
    if FEED_ROUTE.fullmatch(_path(body.get("route", "*"))):
        for name in KINDS:
            if name in body and name not in OPENING:
                raise invalid_param(name, f"A request for a feed cannot meet {name}.", allowed=list(OPENING))
    for name in WHEN if "close" in body else ():
        if body.get(name, "*") != "*":
            raise invalid_param(name, f"close acts at once on every reader; it takes no {name}.", expected="no member")


def moment(text: Any, name: str) -> datetime:
    """The moment that a text tells, with its zone; INVALID_PARAM for another, and for one out of reach."""
    try:
        told = datetime.fromisoformat(text)
        if told.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError):
        raise invalid_param(name, f"{name} must be a time with its zone.", expected="2026-01-31T12:00:00Z") from None
    if not 2000 <= told.year < 2100:
        raise invalid_param(name, f"{name} must be from 2000 to 2099.", expected="time")
    return told


def magic(key: str, names: list[str]) -> int | None:
    """The status that a call asks for by its key, a ticker or an email; None when it asks for none."""
    found = MAGIC_KEY.fullmatch(key) or next(filter(None, map(MAGIC_NAME.fullmatch, names)), None)
    return int(found[1]) if found and int(found[1]) in STATUSES else None


def error(status: int, *, headers: bool = True, now: float = 0.0) -> ApiError:
    """The error that finapi would answer with this status; a 429 with what it tells of the limit, unless told not to.

    A 402 has its members.
    """
    beside: dict[str, Any] = {}
    told: dict[str, str] = {}
    if status == 429 and headers:
        told = {
            "Retry-After": "1",
            "X-RateLimit-Limit": "60",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(int(now) + 60),
        }
    elif status == 503:
        told = {"Retry-After": "1"}
    elif status == 402:
        beside = {"current_balance": 0, "required_cost": 25, "next_refill_at": None, "plan": "free", "upgrade_url": ""}
    return ApiError(STATUSES[status], f"The fixture was told to answer {status}.", extra_fields=beside, headers=told)
