"""What ``/_control/*`` does to a world (DECISIONS 13)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from finapi.accounts import users
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.json import strict_decoder
from finapi.delivery import events, webhooks
from finapi.delivery.events import About
from finapi.delivery.webhooks import EVENT_TYPES, WebhookEvent
from finapi.testing import base
from finapi.testing.faults import KINDS, WHEN, moment
from finapi.testing.world import World

JSON_BODY = 1 << 20
DOCUMENT = 50 << 20
ZIPS = (b"PK\3\4", b"PK\5\6")  # what one begins with; the second has no entries
LINK = re.compile(r"https?://\S+")
NEVER = "9999-12-31T00:00:00.000Z"

# What a call of control takes.
MEMBERS = {
    "restore": ("snapshot",),
    "seed": ("seed",),
    "clock": ("freeze", "run", "advance", "until_idle"),
    "faults": (*KINDS, *WHEN),
    "accounts": ("plan", "state", "email"),
    "events": ("feed", "type", "data"),
    "webhooks": ("event_type", "data", "url", "email"),
}
# Calls that wait for those under way in their world, or for deliveries that may make some.
BY_ITSELF = ("reset", "snapshot", "restore", "clock", "webhooks/inbox", "world")

Environ = Mapping[str, Any]


class ControlCalls:
    """The calls of control; ``drop`` closes a world, ``close_feeds`` ends its readers with a code.

    ``leave`` stops its feeds, whose journal begins anew, and tells the readers why.
    """

    def __init__(
        self,
        drop: Callable[[World], None],
        leave: Callable[[World, str], None],
        close_feeds: Callable[[World, int], None],
    ) -> None:
        self._drop = drop
        self._leave = leave
        self._close_feeds = close_feeds
        self._calls: dict[tuple[str, str], Callable[[World, dict[str, Any]], Any]] = {
            ("POST", "reset"): lambda world, body: self._reset(world),
            ("POST", "snapshot"): lambda world, body: {"snapshot": world.snapshot()},
            ("POST", "restore"): self._restore,
            ("POST", "seed"): _seed,
            ("POST", "clock"): _clock,
            ("GET", "clock"): lambda world, body: _shown_clock(world),
            ("POST", "faults"): self._add_fault,
            ("GET", "faults"): lambda world, body: {"faults": [one.shown() for one in world.faults]},
            ("DELETE", "faults"): lambda world, body: {"dropped": world.faults.clear()},
            ("POST", "accounts"): _account,
            ("GET", "accounts"): lambda world, body: {"accounts": world.accounts},
            ("POST", "events"): _event,
            ("POST", "webhooks"): _webhook,
            ("POST", "limits/clear"): lambda world, body: _clear_limits(world),
            ("GET", "mailbox"): lambda world, body: {"mails": _mails(world)},
            ("GET", "requests"): lambda world, body: {"requests": list(world.journal)},
            ("GET", "webhooks/inbox"): lambda world, body: _inboxes(world),
            ("DELETE", "world"): lambda world, body: self._dropped(world),
        }

    def __call__(self, world: World, method: str, name: str, environ: Environ) -> Any:
        """What a call of control answers; ApiError for one that is none or cannot be done."""
        if (method, name) == ("POST", "filings"):
            with world.called():
                return _filing(world, environ)
        call = self._calls.get((method, name))
        if call is None:
            known = ", ".join(f"{one} {path}" for one, path in (*self._calls, ("POST", "filings")))
            raise ApiError("NOT_FOUND", f"Control has: {known}.")
        body = _read(environ) if method == "POST" else {}
        for member in body:
            if member not in MEMBERS.get(name, ()):
                raise invalid_param(member, "Unknown member.", allowed=list(MEMBERS.get(name, ())))
        if name in BY_ITSELF:
            return call(world, body)
        with world.called():
            return call(world, body)

    def _reset(self, world: World) -> dict[str, Any]:
        world.reset()
        self._leave(world, "This world was reset.")  # also of whoever came back before
        return {}

    def _restore(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        world.restore(_text(body, "snapshot"))
        self._leave(world, "This world was restored.")
        return {}

    def _add_fault(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        fault = world.faults.add(body)
        if "close" in fault.does:
            fault.met += 1
            self._close_feeds(world, fault.does["close"])
        return fault.shown()

    def _dropped(self, world: World) -> dict[str, Any]:
        if not world.name:
            raise ApiError("CONFLICT", "The unnamed world cannot be deleted.")
        self._drop(world)
        return {}


def _read(environ: Environ) -> dict[str, Any]:
    body = _bytes(environ, JSON_BODY)
    try:
        value = strict_decoder().decode(body.decode()) if body else {}
    except (ValueError, RecursionError):
        raise ApiError("BAD_REQUEST", "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise ApiError("BAD_REQUEST", "The body must be a JSON object.")
    return value


def _bytes(environ: Environ, most: int) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > most:
        raise ApiError("PAYLOAD_TOO_LARGE", f"The body may have at most {most:,} bytes.")
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    return body


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise invalid_param(name, f"{name} must be a string.", expected="text")
    return value


def _seed(world: World, body: dict[str, Any]) -> dict[str, Any]:
    seed: Any = body.get("seed")
    if not base.is_seed(seed):
        raise invalid_param("seed", base.NO_SEED, expected="integer")
    world.draw_from(seed)
    return {"seed": seed}


def _clock(world: World, body: dict[str, Any]) -> dict[str, Any]:
    happened: list[dict[str, Any]] = []
    if len(body) != 1:
        raise invalid_param("advance", "Give one of freeze, run, advance and until_idle.", expected="one of them")
    match body:
        case {"freeze": True}:
            world.freeze(None)
        case {"freeze": str(text)}:
            happened = world.freeze(moment(text, "freeze"))
        case {"run": True}:
            world.clock.run()
            world.wake(world)
        case {"advance": int() | float() as seconds} if not isinstance(seconds, bool):
            happened = world.advance(seconds)
        case {"until_idle": True}:
            happened = world.until_idle()
        case _:
            raise invalid_param(next(iter(body)), "freeze takes a time or true, advance seconds, the others true.")
    return {**_shown_clock(world), "happened": happened}


def _shown_clock(world: World) -> dict[str, Any]:
    return {"now": iso(world.clock.now()), "frozen": world.clock.frozen}


def _account(world: World, body: dict[str, Any]) -> Mapping[str, Any]:
    email = body.get("email")
    if email is not None and not isinstance(email, str):
        raise invalid_param("email", "email must be an email address.", expected="email")
    return world.add_account(str(body.get("plan", "free")), str(body.get("state", "active")), email)


def _event(world: World, body: dict[str, Any]) -> dict[str, Any]:
    feed, type, data = _text(body, "feed"), _text(body, "type"), body.get("data", {})
    if feed not in events.TYPES:
        raise invalid_param("feed", "Unknown feed.", allowed=list(events.TYPES))
    if type not in events.TYPES[feed]:
        raise invalid_param("type", f"type must be one that {feed} tells of.", allowed=list(events.TYPES[feed]))
    if not isinstance(data, dict):
        raise invalid_param("data", "data must be an object.", expected="object")
    now = world.clock.now()
    ciks = [str(data[name]).zfill(10) for name in ("cik", "issuer_cik", "filer_cik") if data.get(name)]
    tickers = [str(data["ticker"])] if data.get("ticker") else []
    form = data.get("form_type")
    about = About(tuple(tickers), tuple(ciks), str(form) if form else None)
    with world.app.accounts.write() as tx:
        seq = events.record(tx, type, now=now, occurred_at=iso(now), about=about, data=data)
    return {"feed": feed, "seq": seq}


def _sample(type: str) -> Any:
    # Not loaded before a sample is wanted.
    from finapi.web.accounts.webhook_bodies import EVENTS

    return EVENTS[type][2]["payload"]


def _webhook(world: World, body: dict[str, Any]) -> dict[str, Any]:
    type, url = _text(body, "event_type"), body.get("url")
    if type not in EVENT_TYPES:
        raise invalid_param("event_type", "Unknown event_type.", allowed=list(EVENT_TYPES))
    data = body["data"] if "data" in body else _sample(type)
    if not isinstance(data, dict):
        raise invalid_param("data", "data must be an object.", expected="object")
    email = body.get("email", world.accounts["pro"]["email"])
    now, draw = world.clock.now(), world.app.new_uuid
    if url is not None:
        webhooks.check_url(world.app, "url", _text(body, "url"))
    id = users.id_of(world.app, str(email))
    with world.app.accounts.write() as tx:
        receiver = webhooks.account(tx, id, url)
        if receiver is None:
            raise invalid_param("url", "url is required: the account has no webhook_url.", expected="url")
        target = f"tgt_{draw().replace('-', '')[:12]}" if type.startswith("sniper.") else None
        delivery = webhooks.enqueue(tx, now, receiver, WebhookEvent(type, iso(now), draw(), data, target))
    return {"delivery_id": delivery}


def _filing(world: World, environ: Environ) -> dict[str, Any]:
    name = parse_qs(environ.get("QUERY_STRING", "")).get("name", ["document"])[0]
    document = _bytes(environ, DOCUMENT)
    if not document:
        raise ApiError("BAD_REQUEST", "The body must be a document.")
    if document.startswith(ZIPS):
        way = "send its documents one by one, a filing as its full submission text file"
        raise ApiError("BAD_REQUEST", f"The body is a zip; {way}.")
    outcomes = world.ingest_document(name, document)
    names = ("path", "kind", "outcome", "reason", "accession")
    return {"files": [{name: getattr(outcome, name) for name in names} for outcome in outcomes]}


def _clear_limits(world: World) -> dict[str, Any]:
    world.clear_limits()
    with world.app.accounts.write() as tx:
        tx.run("forget_old_login_failures", before=NEVER)
    world.forget_lockouts()
    return {}


def _mails(world: World) -> list[dict[str, Any]]:
    world.settle_mails()
    shown = []
    for message in world.mailbox.messages():
        part = message.get_body(("plain",))
        text = "" if part is None else str(part.get_content()).replace("\r\n", "\n")
        links = [link.rstrip(".,)>") for link in LINK.findall(text)]
        import email.policy

        subject, raw = str(message["Subject"]), message.as_bytes(policy=email.policy.SMTP)
        to, sent = str(message["To"]), str(message["Date"])
        shown.append({"to": to, "subject": subject, "date": sent, "text": text, "links": links, "bytes": len(raw)})
    return shown


def _inboxes(world: World) -> dict[str, Any]:
    # What is on its way arrives first.
    world.settle()
    inboxes: dict[str, list[dict[str, Any]]] = {}
    for name, kept in world.inbox:
        inboxes.setdefault(name, []).append(_message(kept))
    return {"inboxes": inboxes}


def _message(kept: Mapping[str, Any]) -> dict[str, Any]:
    try:
        told = json.loads(kept["body"])
    except ValueError:
        told = None
    return {**kept, "json": told}
