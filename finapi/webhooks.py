"""Webhooks: what accounts are told, written in the transaction that caused it (SPEC "Events", CONTRACT 9).

A delivery is a row of the outbox. ``dispatch`` sends it; here it is made, listed, put back and signed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from finapi import credentials
from finapi.app import App
from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.errors import ApiError, invalid_param
from finapi.exact import dumps
from finapi.outbound import Refused, target

STATES = ("pending", "sending", "retry_pending", "delivered", "dropped")
EVENT_TYPES = (
    "sniper.filing_hit",
    "sniper.window_expired",
    "insider.transaction.created",
    "13f.holdings.updated",
    "finapi.test",
)

T = TypeVar("T")
# What is made of an answer in the transaction that did the work, so that it can be kept there.
Finish = Callable[[Transaction, Mapping[str, Any]], T]

TOPIC = "webhooks"  # under which the database tells that deliveries were committed
OVERLAP = timedelta(hours=24)  # that the secret before a rotation goes on signing
ATTEMPTS_SHOWN = 10  # of a delivery: two rounds and more


@dataclass(frozen=True, slots=True)
class Receiver:
    """Who is told: a user, and where."""

    user_id: int
    user_uuid: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """What is told (SPEC "Outbound webhook"). ``subject`` names the occasion within its type.

    The same subject makes the same ``delivery_id`` for a user, so that nothing is told twice.
    """

    type: str
    occurred_at: str
    subject: str
    payload: Mapping[str, Any]
    target_id: str | None = None


def enqueue(tx: Transaction, now: datetime, receiver: Receiver, event: Event) -> str:
    """Put an event into the outbox, due at once; its ``delivery_id``. What is there already is left as it is."""
    delivery_id = _delivery_id(receiver.user_uuid, event)
    body = {
        "event_type": event.type,
        "occurred_at": event.occurred_at,
        "delivery_id": delivery_id,
        "target_id": event.target_id,
        "payload": event.payload,
    }
    tx.run(
        "insert_delivery",
        delivery_id=delivery_id,
        user_id=receiver.user_id,
        event_type=event.type,
        target_id=event.target_id,
        body=dumps(body).decode(),
        url=receiver.url,
        lane=_lane(receiver.url),
        now=iso(now),
    )
    tx.announce(TOPIC)
    return delivery_id


def publish(tx: Transaction, now: datetime, event: Event) -> int:
    """Put an event into the outbox for every account that switched its type on; how many those are."""
    receivers = tx.all("topic_users", topic=event.type)
    for row in receivers:
        enqueue(tx, now, Receiver(row["id"], row["uuid"], row["webhook_url"]), event)
    return len(receivers)


def account(tx: Transaction, user_id: int, url: str | None, topic: str | None = None) -> Receiver | None:
    """The receiver of an account: ``url``, or else its default; None when it has neither, or may not be told.

    With a ``topic`` the account must have switched it on.
    """
    row = tx.one("webhook_user", id=user_id)
    if row is None or row["locked_at"] is not None:
        return None
    if topic is not None and topic not in json.loads(row["webhook_topics"]):
        return None
    where = url or row["webhook_url"]
    return Receiver(row["id"], row["uuid"], where) if where else None


def check_url(app: App, name: str, url: str) -> None:
    """INVALID_PARAM for a receiver URL of which it is known already that nothing will be sent to it."""
    try:
        app.outbound.reach.check(url)
    except Refused as error:
        raise invalid_param(name, f"{name}: {error.reason}.", expected="url") from None


def test(app: App, user_id: int, url: str | None, now: datetime, finish: Finish[T]) -> T:
    """Put a ``finapi.test`` event into the outbox, to ``url`` or the account's; ``finish`` of the delivery."""
    if url is not None:
        check_url(app, "url", url)
    with app.db.write() as tx:
        receiver = account(tx, user_id, url)
        if receiver is None:
            raise invalid_param("url", "url is required: the account has no webhook_url.", expected="url")
        event = Event("finapi.test", iso(now), app.new_uuid(), {"message": "This is a test."})
        delivery_id = enqueue(tx, now, receiver, event)
        return finish(tx, _shown(tx, _mine(tx, user_id, delivery_id)))


def redeliver(app: App, user_id: int, delivery_id: str, now: datetime, finish: Finish[T]) -> T:
    """Send a delivery that was delivered or dropped once more, under its id; ``finish`` of the delivery.

    NOT_FOUND when the user has none of this id, CONFLICT while it is still under way.
    """
    with app.db.write() as tx:
        row = _mine(tx, user_id, delivery_id)
        if not tx.run("put_back_delivery", id=row["id"], now=iso(now)):
            raise ApiError("CONFLICT", "The delivery is still under way.", details={"status": row["state"]})
        tx.announce(TOPIC)
        return finish(tx, _shown(tx, _mine(tx, user_id, delivery_id)))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which deliveries to list: newest first, those made before the one numbered ``before``."""

    limit: int
    before: int | None = None
    state: str | None = None
    event_type: str | None = None


def listed(tx: Transaction, user_id: int, wanted: Wanted) -> dict[str, Any]:
    """The user's deliveries with their last attempts, and where the next page begins."""
    rows = tx.all(
        "deliveries_of_user",
        user_id=user_id,
        before=2**62 if wanted.before is None else wanted.before,
        state=wanted.state,
        event_type=wanted.event_type,
        limit=wanted.limit + 1,
    )
    shown = rows[: wanted.limit]
    more = len(rows) > wanted.limit
    return {
        "deliveries": [_shown(tx, row) for row in shown],
        "meta": {
            "limit": wanted.limit,
            "has_more": more,
            "next_cursor": str(shown[-1]["id"]) if more else None,
        },
    }


def failures(tx: Transaction, user_id: int, limit: int = 50) -> list[dict[str, Any]]:
    """The user's dropped deliveries, newest first (``webhook_failures`` of ``/account/usage``).

    The receiver is named by its host alone: the rest of a URL may hold a secret.
    """
    return [
        {
            "delivery_id": row["delivery_id"],
            "event_type": row["event_type"],
            "url_host": row["lane"].rpartition(":")[0],
            "attempts": row["attempts"],
            "last_error": row["last_error"],
            "dropped_at": row["done_at"],
        }
        for row in tx.all("dropped_deliveries", user_id=user_id, limit=limit)
    ]


# ---- secrets


def secret(app: App, user_id: int, now: datetime) -> dict[str, Any]:
    """The user's signing secret, made when first asked for, and the one before it while that still signs."""
    with app.db.write() as tx:
        return _shown_secret(app, tx, user_id, now)


def _shown_secret(app: App, tx: Transaction, user_id: int, now: datetime) -> dict[str, Any]:
    row = _secret_row(app, tx, user_id, now)
    overlaps = _overlaps(row, now)
    return {
        "secret": _text(app, row, "uuid", "fingerprint"),
        "created_at": row["created_at"],
        "previous_secret": _text(app, row, "previous_uuid", "previous_fingerprint") if overlaps else None,
        "previous_expires_at": row["previous_until"] if overlaps else None,
    }


def rotate_secret(app: App, user_id: int, now: datetime) -> dict[str, Any]:
    """Give the user a new signing secret; for OVERLAP both sign, so that no receiver misses a message.

    What :func:`secret` then says.
    """
    with app.db.write() as tx:
        row = _secret_row(app, tx, user_id, now)
        made = app.new_uuid()
        text = credentials.webhook_secret(app.secrets, row["user_uuid"], made)
        tx.run(
            "rotate_webhook_secret",
            user_id=user_id,
            uuid=made,
            fingerprint=credentials.fingerprint(text),
            until=iso(now + OVERLAP),
            now=iso(now),
        )
        return _shown_secret(app, tx, user_id, now)


def signing_secrets(app: App, tx: Transaction, user_id: int, now: datetime) -> list[str]:
    """The secrets that sign a user's messages now, the newest first."""
    shown = _shown_secret(app, tx, user_id, now)
    return [text for text in (shown["secret"], shown["previous_secret"]) if text]


def headers(delivery_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """The headers of Standard Webhooks 1.0: id, time and a signature for each secret."""
    timestamp = int(now.timestamp())
    signatures = [credentials.webhook_signature(one, delivery_id, timestamp, body) for one in secrets]
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def _secret_row(app: App, tx: Transaction, user_id: int, now: datetime) -> Row:
    row = tx.one("webhook_secret", user_id=user_id)
    if row is None:
        user = tx.one("webhook_user", id=user_id)
        assert user is not None
        made = app.new_uuid()
        text = credentials.webhook_secret(app.secrets, user["uuid"], made)
        fingerprint = credentials.fingerprint(text)
        tx.run("insert_webhook_secret", user_id=user_id, uuid=made, fingerprint=fingerprint, now=iso(now))
        row = tx.one("webhook_secret", user_id=user_id)
        assert row is not None
    return row


def _overlaps(row: Row, now: datetime) -> bool:
    return row["previous_until"] is not None and row["previous_until"] > iso(now)


def _text(app: App, row: Row, uuid: str, fingerprint: str) -> str | None:
    """The secret itself, derived again: by the master secret that made it, which may not be the newest."""
    for master in app.secrets:
        text = credentials.webhook_secret([master], row["user_uuid"], row[uuid])
        if credentials.fingerprint(text) == row[fingerprint]:
            return text
    return None


# ---- for whoever writes a receiver

# A receiver refuses what is older or newer than this, so that nobody can send a message again (the default of
# the standard's libraries).
TOLERANCE_SECONDS = 300

_VECTOR_SECRETS = (
    credentials.WEBHOOK_SECRET + "ZmluYXBpIHRlc3QgdmVjdG9yLCBub3QgYSBzZWNyZXQ=",
    credentials.WEBHOOK_SECRET + "dGhlIHNlY3JldCBiZWZvcmUgdGhlIHJvdGF0aW9uLi4=",
)


def vectors() -> dict[str, Any]:
    """Messages with the headers that finapi would sign them with, and such that a receiver must refuse."""
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    body = '{"event_type":"finapi.test","payload":{"message":"Z\u00fcrich \u2192 K\u00f8benhavn"}}'
    new, old = _VECTOR_SECRETS

    def vector(description: str, signed: str, valid: bool, *secrets: str) -> dict[str, Any]:
        made = headers("dlv_00000000000000000000000000000001", signed.encode(), secrets, now)
        return {"description": description, "secret": new, "body": body, "headers": made, "valid": valid}

    return {
        "tolerance_seconds": TOLERANCE_SECONDS,
        "vectors": [
            vector("signed with the secret", body, True, new),
            vector("within 24 hours of a rotation: a signature for each secret", body, True, old, new),
            vector("signed with another secret", body, False, old),
            vector("the body was changed by a blank", body + " ", False, new),
        ],
    }


# ---- rows as they are shown


def _delivery_id(user_uuid: str, event: Event) -> str:
    # NUL stands in none of the parts, so that no two lists of parts are one text.
    parts = "\0".join((user_uuid, event.type, event.target_id or "", event.subject))
    return f"dlv_{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


def _lane(url: str) -> str:
    """The receiver that deliveries wait for one another at. A URL that leads nowhere has a lane of its own."""
    try:
        where = target(url)
    except Refused:
        return ""
    return f"{where.host}:{where.port}"


def _mine(tx: Transaction, user_id: int, delivery_id: str) -> Row:
    row = tx.one("delivery", user_id=user_id, delivery_id=delivery_id)
    if row is None:
        raise ApiError("NOT_FOUND", "There is no such delivery.")
    return row


def _shown(tx: Transaction, row: Row) -> dict[str, Any]:
    body = json.loads(row["body"])
    attempts = tx.all("attempts_of_delivery", delivery=row["id"], limit=ATTEMPTS_SHOWN)
    done = row["done_at"]
    return {
        "delivery_id": row["delivery_id"],
        "event_type": row["event_type"],
        "target_id": row["target_id"],
        "url": row["url"],
        "status": row["state"],
        "occurred_at": body["occurred_at"],
        "payload": body["payload"],
        "attempt_count": row["attempts"],
        "last_status_code": row["last_status"],
        "last_error": row["last_error"],
        "created_at": row["created_at"],
        "next_attempt_at": row["due_at"] if row["state"] in ("pending", "retry_pending") else None,
        "delivered_at": done if row["state"] == "delivered" else None,
        "dropped_at": done if row["state"] == "dropped" else None,
        "attempts": [
            {
                "attempt": one["number"],
                "started_at": one["started_at"],
                "ended_at": one["ended_at"],
                "duration_ms": one["took_ms"],
                "status_code": one["status"],
                "error": one["error"],
                "response_body": one["response_body"],
            }
            for one in reversed(attempts)
        ],
    }
