"""The control calls of a fixture, ``/_control/*`` (docs/DECISIONS.md, 13): reset a world, move its clock, add faults.

``ControlCalls.call`` finds the function of a call and passes it the world and the JSON body. Most functions count as a
running call of their world, so that it is not reset in the meantime. Those in ``EXCLUSIVE_CALLS`` do not, because they
themselves wait until all running calls have ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qs

from finapi.accounts import users
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.json import build_strict_decoder
from finapi.delivery import events, webhooks
from finapi.delivery.events import EventTags
from finapi.delivery.webhooks import EVENT_TYPES, WebhookEvent
from finapi.testing import base
from finapi.testing.fault_routes import check_route
from finapi.testing.faults import ANSWER_TYPES, CONDITION_TYPES, EFFECT_TYPES, WEBHOOK_EFFECTS, check_fault, parse_time
from finapi.testing.world import World

MAX_JSON_BYTES = 1 << 20
MAX_DOCUMENT_BYTES = 50 << 20
ZIP_PREFIXES = (b"PK\3\4", b"PK\5\6")  # The second is a zip without entries.
LINK = re.compile(r"https?://\S+")
END_OF_TIME = "9999-12-31T00:00:00.000Z"

# The members of the JSON body of each call.
BODY_MEMBERS = {
    "restore": ("snapshot",),
    "seed": ("seed",),
    "clock": ("freeze", "run", "advance", "until_idle"),
    "faults": (*EFFECT_TYPES, *CONDITION_TYPES, *ANSWER_TYPES),
    "accounts": ("plan", "state", "email"),
    "events": ("feed", "type", "data"),
    "webhooks": ("event_type", "data", "url", "email"),
}
# The names in the query of each call.
QUERY_NAMES = {"filings": ("name",), "webhooks/inbox": ("name",)}
# Control calls that wait until other calls of the world have ended, or until webhooks are delivered whose receivers may
# call the world.
EXCLUSIVE_CALLS = ("reset", "snapshot", "restore", "clock", "webhooks/inbox", "world")

Environ = Mapping[str, Any]
ControlCall = Callable[[World, dict[str, Any]], dict[str, Any]]


class WorldManager(Protocol):
    """Creates and deletes the worlds of a fixture, and closes the connections to their feeds."""

    def create_world(self, name: str) -> World:
        """Create a world."""

    def delete_world(self, world: World) -> None:
        """Close a world and its feeds."""

    def close_readers(self, world: World, code: int) -> None:
        """Close the feeds of a world with this code."""

    def restart_feeds(self, world: World, reason: str) -> None:
        """Close the feeds of a world whose event journal begins again, and send the reason to their readers."""

    def get_refused_url(self) -> str:
        """Return a URL whose connections are refused."""

    def has_answer_source(self) -> bool:
        """Return True if another service, or a recording of one, answers calls."""

    def get_last_read_time(self, world: World) -> float:
        """Return when a feed of a world was last read, in seconds of ``time.monotonic``."""


class ControlCalls:
    """The control calls by method and name."""

    def __init__(self, manager: WorldManager) -> None:
        self._manager = manager
        self._calls: dict[tuple[str, str], ControlCall] = {
            ("POST", "reset"): self._reset,
            ("POST", "snapshot"): _take_snapshot,
            ("POST", "restore"): self._restore,
            ("POST", "seed"): _set_seed,
            ("POST", "clock"): _move_clock,
            ("GET", "clock"): _read_clock,
            ("POST", "faults"): self._add_fault,
            ("GET", "faults"): _list_faults,
            ("DELETE", "faults"): _clear_faults,
            ("GET", "refused"): self._get_refused_url,
            ("POST", "accounts"): _create_account,
            ("GET", "accounts"): _list_accounts,
            ("POST", "events"): _send_event,
            ("POST", "webhooks"): _send_webhook,
            ("POST", "limits/clear"): _clear_limits,
            ("GET", "mailbox"): _list_mails,
            ("GET", "requests"): _list_calls,
            ("GET", "webhooks/inbox"): _list_inboxes,
            ("DELETE", "world"): self._delete_world,
        }

    def call(self, world: World, method: str, name: str, environ: Environ) -> dict[str, Any]:
        """Make a control call and return its answer. Raise ApiError if it is unknown or fails."""
        control_call = self._calls.get((method, name))
        is_filing = (method, name) == ("POST", "filings")
        if control_call is None and not is_filing:
            known_calls = [*self._calls, ("POST", "filings")]
            call_names = ", ".join(" ".join(call) for call in known_calls)
            raise ApiError("NOT_FOUND", f"Unknown control call. Use one of: {call_names}.")
        query = _parse_query(environ, QUERY_NAMES.get(name, ()))
        if control_call is None:
            with world.enter_call():
                return _file_document(world, environ, query.get("name", "document"))
        if method != "POST":
            return _make_call(control_call, world, name, query)
        body = _read_json(environ)
        allowed_members = BODY_MEMBERS.get(name, ())
        for member in body:
            if member not in allowed_members:
                raise invalid_param(member, "Unknown member.", allowed=list(allowed_members))
        return _make_call(control_call, world, name, body)

    def _reset(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        world.reset()
        # This comes after the reset, so that readers that reconnected during the reset are disconnected too.
        self._manager.restart_feeds(world, "This world was reset.")
        return {}

    def _restore(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        world.restore_snapshot(_get_text(body, "snapshot"))
        self._manager.restart_feeds(world, "This world was restored.")
        return {}

    def _add_fault(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        effect = check_fault(body)
        if not self._manager.has_answer_source():  # Another service may have other routes.
            check_route(body.get("route", "*"), is_for_webhooks=effect in WEBHOOK_EFFECTS)
        fault = world.faults.add(body)
        if fault.effect == "close":
            fault.met += 1
            self._manager.close_readers(world, fault.effect_value)
        return fault.to_json()

    def _get_refused_url(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        return {"url": self._manager.get_refused_url()}

    def _delete_world(self, world: World, body: dict[str, Any]) -> dict[str, Any]:
        if not world.name:
            raise ApiError("CONFLICT", "The unnamed world cannot be deleted.")
        self._manager.delete_world(world)
        return {}


# ---- the body of a call


def _make_call(control_call: ControlCall, world: World, name: str, members: dict[str, Any]) -> dict[str, Any]:
    """Make a control call with the members of its body, or of the query of a GET, and return its answer."""
    if name in EXCLUSIVE_CALLS:
        return control_call(world, members)
    with world.enter_call():
        return control_call(world, members)


def _parse_query(environ: Environ, allowed_names: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a query by name. Raise INVALID_PARAM for an unknown one."""
    texts = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    for name in texts:
        if name not in allowed_names:
            raise invalid_param(name, "Unknown parameter.", allowed=list(allowed_names))
    return {name: values[0] for name, values in texts.items()}


def _read_json(environ: Environ) -> dict[str, Any]:
    body = _read_body(environ, MAX_JSON_BYTES)
    try:
        document = build_strict_decoder().decode(body.decode()) if body else {}
    except (ValueError, RecursionError):
        raise ApiError("BAD_REQUEST", "The body is not JSON.") from None
    if not isinstance(document, dict):
        raise ApiError("BAD_REQUEST", "The body must be a JSON object.")
    return document


def _read_body(environ: Environ, max_bytes: int) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > max_bytes:
        raise ApiError("PAYLOAD_TOO_LARGE", f"The body may have at most {max_bytes:,} bytes.")
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    return body


def _get_text(body: Mapping[str, Any], name: str) -> str:
    text = body.get(name)
    if not isinstance(text, str) or not text:
        raise invalid_param(name, f"{name} must be a string.", expected="text")
    return text


# ---- state


def _take_snapshot(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"snapshot": world.take_snapshot()}


def _set_seed(world: World, body: dict[str, Any]) -> dict[str, Any]:
    seed: Any = body.get("seed")
    if not base.is_seed(seed):
        raise invalid_param("seed", base.INVALID_SEED, expected="integer")
    world.draw_from(seed)
    return {"seed": seed}


def _list_faults(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"faults": [fault.to_json() for fault in world.faults]}


def _clear_faults(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"dropped": world.faults.clear()}


def _list_accounts(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"accounts": world.accounts}


def _create_account(world: World, body: dict[str, Any]) -> dict[str, Any]:
    email = body.get("email")
    if email is not None and not isinstance(email, str):
        raise invalid_param("email", "email must be an email address.", expected="email")
    plan, state = str(body.get("plan", "free")), str(body.get("state", "active"))
    return {**world.create_account(plan, state, email)}


def _clear_limits(world: World, body: dict[str, Any]) -> dict[str, Any]:
    world.clear_limits()
    with world.app.accounts.write() as tx:
        tx.run("delete_old_login_failures", before=END_OF_TIME)
    world.clear_lockouts()
    return {}


# ---- time


def _move_clock(world: World, body: dict[str, Any]) -> dict[str, Any]:
    happenings: list[dict[str, Any]] = []
    if len(body) != 1:
        raise invalid_param("advance", "Give one of freeze, run, advance and until_idle.", expected="one of them")
    match body:
        case {"freeze": True}:
            world.freeze(None)
        case {"freeze": str(text)}:
            happenings = world.freeze(parse_time(text, "freeze"))
        case {"run": True}:
            world.clock.resume()
            world.wake(world)
        case {"advance": int() | float() as seconds} if not isinstance(seconds, bool):
            happenings = world.advance(seconds)
        case {"until_idle": True}:
            happenings = world.advance_until_idle()
        case _:
            message = "freeze must be a time or true, advance must be seconds, run and until_idle must be true."
            raise invalid_param(next(iter(body)), message)
    return {**_read_clock(world, {}), "happened": happenings}


def _read_clock(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"now": iso(world.clock.now()), "frozen": world.clock.is_frozen}


# ---- events, webhooks and filings


def _send_event(world: World, body: dict[str, Any]) -> dict[str, Any]:
    feed, event_type, payload = _get_text(body, "feed"), _get_text(body, "type"), body.get("data", {})
    if feed not in events.TYPES_BY_FEED:
        raise invalid_param("feed", "Unknown feed.", allowed=list(events.TYPES_BY_FEED))
    if event_type not in events.TYPES_BY_FEED[feed]:
        message = f"type must be an event type of {feed}."
        raise invalid_param("type", message, allowed=list(events.TYPES_BY_FEED[feed]))
    if not isinstance(payload, dict):
        raise invalid_param("data", "data must be an object.", expected="object")
    now = world.clock.now()
    ciks = [str(payload[name]).zfill(10) for name in ("cik", "issuer_cik", "filer_cik") if payload.get(name)]
    tickers = [str(payload["ticker"])] if payload.get("ticker") else []
    form = payload.get("form_type")
    about = EventTags(tuple(tickers), tuple(ciks), str(form) if form else None)
    with world.app.accounts.write() as tx:
        seq = events.record(tx, event_type, now=now, occurred_at=iso(now), tags=about, data=payload)
    return {"feed": feed, "seq": seq}


def _send_webhook(world: World, body: dict[str, Any]) -> dict[str, Any]:
    event_type, url = _get_text(body, "event_type"), body.get("url")
    if event_type not in EVENT_TYPES:
        raise invalid_param("event_type", "Unknown event_type.", allowed=list(EVENT_TYPES))
    payload = body["data"] if "data" in body else _get_sample_payload(event_type)
    if not isinstance(payload, dict):
        raise invalid_param("data", "data must be an object.", expected="object")
    email = body.get("email", world.accounts["pro"]["email"])
    now, new_uuid = world.clock.now(), world.app.new_uuid
    if url is not None:
        webhooks.check_url(world.app, "url", _get_text(body, "url"))
    user_id = users.get_id(world.app, str(email))
    with world.app.accounts.write() as tx:
        receiver = webhooks.find_receiver(tx, user_id, url)
        if receiver is None:
            raise invalid_param("url", "url is required: the account has no webhook_url.", expected="url")
        target_id = f"tgt_{new_uuid().replace('-', '')[:12]}" if event_type.startswith("sniper.") else None
        event = WebhookEvent(event_type, iso(now), new_uuid(), payload, target_id)
        delivery_id = webhooks.enqueue(tx, now, receiver, event)
    return {"delivery_id": delivery_id}


def _get_sample_payload(event_type: str) -> Any:
    from finapi.web.accounts.webhook_bodies import EVENTS  # No start needs it.

    return EVENTS[event_type].example["payload"]


def _file_document(world: World, environ: Environ, name: str) -> dict[str, Any]:
    document = _read_body(environ, MAX_DOCUMENT_BYTES)
    if not document:
        raise ApiError("BAD_REQUEST", "The body must be a document.")
    if document.startswith(ZIP_PREFIXES):
        advice = "send its documents one by one, a filing as its full submission text file"
        raise ApiError("BAD_REQUEST", f"The body is a zip; {advice}.")
    outcomes = world.ingest_document(name, document)
    names = ("path", "kind", "outcome", "reason", "accession")
    return {"files": [{name: getattr(outcome, name) for name in names} for outcome in outcomes]}


# ---- logs


def _list_mails(world: World, body: dict[str, Any]) -> dict[str, Any]:
    import email.policy  # No start needs it.

    world.send_due_mails()
    mails = []
    for message in world.mailbox.messages():
        part = message.get_body(("plain",))
        text = "" if part is None else str(part.get_content()).replace("\r\n", "\n")
        mails.append(
            {
                "to": str(message["To"]),
                "subject": str(message["Subject"]),
                "date": str(message["Date"]),
                "text": text,
                "links": [link.rstrip(".,)>") for link in LINK.findall(text)],
                "bytes": len(message.as_bytes(policy=email.policy.SMTP)),
            }
        )
    return {"mails": mails}


def _list_calls(world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"requests": list(world.call_log)}


def _list_inboxes(world: World, query: dict[str, Any]) -> dict[str, Any]:
    world.settle()  # Webhooks that are being sent must have arrived.
    name = query.get("name")
    inboxes: dict[str, list[dict[str, Any]]] = {} if name is None else {name: []}
    for inbox_name, message in world.inbox_log:
        if name in (None, inbox_name):
            inboxes.setdefault(inbox_name, []).append({**message, "json": _parse_json(message["body"])})
    return {"inboxes": inboxes}


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
