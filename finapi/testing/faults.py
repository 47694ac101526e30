"""Faults that a world of a fixture injects into calls, feeds and webhooks.

A fault has one effect (an error status, a delay, a reset ...) and conditions that say which calls it applies to: a
route, the nth call, a share of the calls, a number of times. A FaultPlan holds the faults of a world in the order in
which they were added. A share is decided by a random source that is seeded, so that every run affects the same calls.
"""

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

from finapi.core.errors import STATUS_BY_CODE, ApiError, invalid_param

# The effects, with the type of their value in JSON.
EFFECT_TYPES: dict[str, type] = {
    "status": int,
    "redirect": str,
    "hang": bool,
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
WEBHOOK_EFFECTS = ("duplicate", "reorder")
FEED_EFFECTS = ("close",)
# Effects on calls that also apply to a request that opens a feed.
FEED_REQUEST_EFFECTS = ("status", "redirect", "reset")
FEED_ROUTE = re.compile(r"/(ws|socket\.io)\b.*")
# The codes that a close frame may contain: RFC 6455, 7.4.1, and those registered later.
CLOSE_CODES = (range(1000, 1004), range(1007, 1015), range(3000, 5000))

# The conditions, with the type of their value in JSON.
CONDITION_TYPES: dict[str, type] = {"route": str, "ordinal": int, "every": int, "share": float, "times": int}

# Further members of a fault that answers a status, with the types of their values in JSON. ``headers`` is false for an
# answer without the headers of a limit.
ANSWER_TYPES: dict[str, type | tuple[type, ...]] = {
    "headers": (bool, dict),
    "body": (str, dict, list),
    "retry_after": (int, str),
}
ANSWER_EFFECTS = ("status", "redirect")

STATUSES = range(100, 600)
_STATUSES = (400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503, 504)
# The error code by status. Where several codes share a status, the first one is the least specific.
ERROR_CODES = {STATUS_BY_CODE[code]: code for code in reversed(STATUS_BY_CODE) if STATUS_BY_CODE[code] in _STATUSES}

MAX_FAULTS = 100  # Maximum number of faults in a world.
MAX_ROUTE_LENGTH = 1_000
ROUTE = re.compile(r"([A-Za-z*]+ )?\S+")
MAX_DELAY_SECONDS = 60.0
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
# Headers that describe the connection or the length of the answer, which the server sends itself.
SERVER_HEADERS = ("connection", "content-length", "date", "keep-alive", "trailer", "transfer-encoding", "upgrade")

# Magic API keys, tickers and emails: the status in them is answered, without any fault. See docs/TESTING.md.
MAGIC_KEY = re.compile(r"0{29}([1-5][0-9]{2})")
MAGIC_NAME = re.compile(r"status-([1-5][0-9]{2})(@.*)?", re.IGNORECASE)


@dataclass(slots=True)
class Fault:
    """One effect and the conditions under which it applies to a call."""

    id: str
    effect: str
    effect_value: Any
    route: str = "*"
    ordinal: int | None = None
    every: int | None = None
    share: float | None = None
    times: int | None = None
    headers: bool | dict[str, str] = True
    body: Any = None
    retry_after: int | str | None = None
    seen: int = 0  # Number of calls that the route matched.
    met: int = 0  # Number of calls that the effect was applied to.
    # Each fault has its own source, so that adding a fault does not change which calls other faults affect.
    random_source: random.Random = field(default_factory=random.Random)

    def matches(self, call: str) -> bool:
        """Return True if the effect applies to a call (``GET /path`` or ``WEBHOOK event_type``), and count the call."""
        pattern = self.route if " " in self.route else f"* {self.route}"
        if not fnmatchcase(call, pattern) or (self.times is not None and self.met >= self.times):
            return False
        self.seen += 1
        if self.ordinal is not None and self.seen != self.ordinal:
            return False
        if self.every is not None and self.seen % self.every:
            return False
        if self.share is not None and self.random_source.random() >= self.share:
            return False
        self.met += 1
        return True

    def to_json(self) -> dict[str, Any]:
        """Return the members with which the fault was added, with its id and its counts."""
        names = (*CONDITION_TYPES, *ANSWER_TYPES)
        conditions = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {"id": self.id, **conditions, self.effect: self.effect_value, "seen": self.seen, "met": self.met}


class FaultPlan:
    """The faults of a world, oldest first."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._faults: list[Fault] = []
        self._last_number = 0
        self._duplicated_deliveries: set[str] = set()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults))

    def add(self, body: Mapping[str, Any]) -> Fault:
        """Add the fault that a JSON object describes. Raise INVALID_PARAM or CONFLICT if that is not possible."""
        effect = check_fault(body)
        conditions = {
            name: condition for name, condition in body.items() if name in CONDITION_TYPES or name in ANSWER_TYPES
        }
        method, space, path = conditions.get("route", "*").rpartition(" ")
        conditions["route"] = method.upper() + space + path
        with self._lock:
            if len(self._faults) >= MAX_FAULTS:
                raise ApiError("CONFLICT", f"There can be at most {MAX_FAULTS} faults at the same time.")
            self._last_number += 1
            random_source = random.Random(f"{self.seed} {self._last_number}")  # nosec B311
            fault_id = f"flt_{self._last_number}"
            fault = Fault(fault_id, effect, body[effect], **conditions, random_source=random_source)
            self._faults.append(fault)
        return fault

    def clear(self) -> int:
        """Remove every fault and return their number."""
        with self._lock:
            removed_count, self._faults = len(self._faults), []
            return removed_count

    def get_state(self) -> tuple[int, list[Fault]]:
        """Return the id number of the last fault and a copy of all faults, for :meth:`set_state`."""
        with self._lock:
            return self._last_number, copy.deepcopy(self._faults)

    def set_state(self, state: tuple[int, list[Fault]]) -> None:
        """Replace all faults by those of an earlier :meth:`get_state`."""
        with self._lock:
            self._last_number, self._faults = copy.deepcopy(state)

    def match_call(self, method: str, path: str) -> list[Fault]:
        """Return the faults that apply to a call, and count the call."""
        with self._lock:
            candidates = [fault for fault in self._faults if fault.effect not in (*WEBHOOK_EFFECTS, *FEED_EFFECTS)]
            return [fault for fault in candidates if fault.matches(f"{method} {path}")]

    def match_feed_request(self, method: str, path: str) -> list[Fault]:
        """Return the faults that apply to a request that opens a feed, and count the request.

        A fault whose route has no path does not apply to such requests.
        """
        with self._lock:
            candidates = [
                fault
                for fault in self._faults
                if fault.effect in FEED_REQUEST_EFFECTS and _get_path(fault.route).startswith("/")
            ]
            return [fault for fault in candidates if fault.matches(f"{method} {path}")]

    def match_webhook(self, event_type: str, delivery_id: str) -> set[str]:
        """Return the effects on an attempt to send a webhook, and count the attempt."""
        with self._lock:
            candidates = [fault for fault in self._faults if fault.effect in WEBHOOK_EFFECTS]
            effects = {fault.effect for fault in candidates if fault.matches(f"WEBHOOK {event_type}")}
            if "duplicate" in effects:
                self._duplicated_deliveries.add(delivery_id)
            return effects

    def pop_duplicate(self, delivery_id: str) -> bool:
        """Return True if the current attempt has to be sent twice. Later attempts are sent once."""
        with self._lock:
            is_duplicated = delivery_id in self._duplicated_deliveries
            self._duplicated_deliveries.discard(delivery_id)
            return is_duplicated


def _get_path(route: str) -> str:
    return route.rpartition(" ")[2]


def check_fault(body: Mapping[str, Any]) -> str:
    """Return the effect of a fault. Raise INVALID_PARAM if a member is unknown, out of range or fits no other."""
    effect = _check_types(body)
    _check_values(body)
    return effect


def _check_types(body: Mapping[str, Any]) -> str:
    """Return the effect of a fault. Raise INVALID_PARAM for an unknown member, a wrong type or several effects."""
    types = {**EFFECT_TYPES, **CONDITION_TYPES, **ANSWER_TYPES}
    for name, member in body.items():
        expected = types.get(name)
        if expected is None:
            raise invalid_param(name, "Unknown member of a fault.", allowed=list(types))
        expected_types = expected if isinstance(expected, tuple) else (expected,)
        is_expected = isinstance(member, expected_types) or (float in expected_types and isinstance(member, int))
        if not is_expected or (isinstance(member, bool) and bool not in expected_types):
            names = " or ".join(expected_type.__name__ for expected_type in expected_types)
            raise invalid_param(name, f"{name} has the wrong type.", expected=names)
        if member is False and name in EFFECT_TYPES:
            raise invalid_param(name, f"{name} must be true, or left out.", expected="true")
    effects = [name for name in body if name in EFFECT_TYPES]
    if len(effects) != 1:
        raise invalid_param("status", "A fault has exactly one effect.", allowed=list(EFFECT_TYPES))
    return effects[0]


def _check_values(body: Mapping[str, Any]) -> None:
    """Raise INVALID_PARAM if a member of a fault is out of range or does not fit the others."""
    status = body.get("status")
    if status is not None and status not in STATUSES:
        raise invalid_param("status", "status must be 100 to 599.", expected="100 to 599")
    _check_answer(body)
    if body.get("headers") is False and status != 429:
        raise invalid_param("headers", "headers leaves out those of a limit, which a 429 has.", expected="status 429")
    if "route" in body and not ROUTE.fullmatch(body["route"]):
        raise invalid_param("route", "route must be a path, or a method, a space and a path.", expected="GET /path")
    if "ordinal" in body and "share" in body:
        raise invalid_param("share", "A fault takes ordinal or share, not both.", expected="no member")
    if "every" in body and ("ordinal" in body or "share" in body):
        raise invalid_param("every", "A fault takes one of ordinal, every and share.", expected="no member")
    for name, minimum, maximum in (
        ("delay", 0.0, MAX_DELAY_SECONDS),
        ("drip", 1.0, 1e9),
        ("share", 0.0, 1.0),
        ("ordinal", 1, 1e9),
        ("every", 1, 1e9),
        ("times", 1, 1e9),
        ("truncate", 0, 1e9),
    ):
        if name in body and not minimum <= body[name] <= maximum:
            bounds = f"{minimum:g} to {maximum:g}"
            raise invalid_param(name, f"{name} must be {bounds}.", expected=bounds)
    if "close" in body and not any(body["close"] in codes for codes in CLOSE_CODES):
        message = "close must be 1000 to 1003, 1007 to 1014 or 3000 to 4999; no other code can be sent."
        raise invalid_param("close", message, expected="a close code")
    if len(body.get("route", "")) > MAX_ROUTE_LENGTH:
        raise invalid_param("route", f"route must have at most {MAX_ROUTE_LENGTH} characters.", expected="a path")
    if "stale" in body:
        parse_time(body["stale"], "stale")
    if FEED_ROUTE.fullmatch(_get_path(body.get("route", "*"))):
        for name in EFFECT_TYPES:
            if name in body and name not in FEED_REQUEST_EFFECTS:
                message = f"A request for a feed cannot meet {name}."
                raise invalid_param(name, message, allowed=list(FEED_REQUEST_EFFECTS))
    for name in CONDITION_TYPES if "close" in body else ():
        if body.get(name, "*") != "*":
            message = f"close disconnects all readers immediately, so it cannot be combined with {name}."
            raise invalid_param(name, message, expected="no member")


def _check_answer(body: Mapping[str, Any]) -> None:
    """Raise INVALID_PARAM if the answer of a fault cannot be sent."""
    for name in ANSWER_TYPES:
        if name in body and not any(effect in body for effect in ANSWER_EFFECTS):
            message = f"{name} belongs to an answer, so the fault needs a status or a redirect."
            raise invalid_param(name, message, expected="status or redirect")
    redirect = body.get("redirect", "/")
    if not redirect or not HEADER_VALUE.fullmatch(redirect):
        raise invalid_param("redirect", "redirect must be a URL of printable ASCII characters.", expected="a URL")
    retry_after = body.get("retry_after", 0)
    if isinstance(retry_after, int) and retry_after < 0:
        raise invalid_param("retry_after", "retry_after must not be negative.", expected="seconds, or a text")
    headers = body.get("headers", {})
    texts = {"Retry-After": str(retry_after), **headers} if isinstance(headers, dict) else {}
    for name, text in texts.items():
        if not HEADER_NAME.fullmatch(name) or name.lower() in SERVER_HEADERS:
            raise invalid_param("headers", f"The header {name} cannot be set.", expected="names of headers")
        if not isinstance(text, str) or not HEADER_VALUE.fullmatch(text):
            message = f"The header {name} must be a string of printable ASCII characters."
            raise invalid_param("headers", message, expected="strings")


def parse_time(text: Any, name: str) -> datetime:
    """Parse the text of a JSON member as a time with a time zone.

    Raise INVALID_PARAM if it is not such a time, or is not in the years 2000 to 2099.
    """
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError):
        raise invalid_param(name, f"{name} must be a time with its zone.", expected="2026-01-31T12:00:00Z") from None
    if not 2000 <= time.year < 2100:
        raise invalid_param(name, f"{name} must be from 2000 to 2099.", expected="time")
    return time


def find_magic_status(api_key: str, names: list[str]) -> int | None:
    """Return the status of a magic API key, ticker or email, or None if there is none."""
    match = MAGIC_KEY.fullmatch(api_key) or next(filter(None, map(MAGIC_NAME.fullmatch, names)), None)
    return int(match[1]) if match and int(match[1]) >= 400 else None


def build_error(status: int, *, has_limit_headers: bool = True, now: float = 0.0) -> ApiError:
    """Build finapi's own error with this status. A 402, 429 or 503 has its usual members and headers.

    ``has_limit_headers=False`` leaves out the headers of a 429. ``now`` is in seconds since 1970.
    """
    members: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if status == 429 and has_limit_headers:
        headers = {
            "Retry-After": "1",
            "X-RateLimit-Limit": "60",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(int(now) + 60),
        }
    elif status == 503:
        headers = {"Retry-After": "1"}
    elif status == 402:
        members = {"current_balance": 0, "required_cost": 25, "next_refill_at": None, "plan": "free", "upgrade_url": ""}
    return ApiError(
        ERROR_CODES[status], f"A fault of the fixture answers {status}.", extra_fields=members, headers=headers
    )
