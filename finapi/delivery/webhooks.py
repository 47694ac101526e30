"""Webhook deliveries and the secrets that sign them (DECISIONS 9).

A delivery is a row that is written in the transaction that causes it. This module creates, lists, requeues and signs
deliveries; the module ``dispatcher`` sends them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar, cast
from urllib.parse import urlsplit

from finapi.accounts import credentials
from finapi.app import App
from finapi.core import json
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Object, OneOf, Time, Url, build_record
from finapi.delivery import WEBHOOKS_TOPIC
from finapi.edgar import form_families
from finapi.net.outbound import TargetRefusedError, parse_target
from finapi.store.db import Row, Transaction

TEST_EVENT = "finapi.test"  # Sent when an account requests it.
STATES = ("pending", "sending", "retry_pending", "delivered", "dropped")
EVENT_TYPES = ("sniper.filing_hit", "sniper.window_expired", *form_families.TOPICS, TEST_EVENT)

T = TypeVar("T")
# Builds a response in the transaction that did the work, so that the response can be stored with it (idempotency).
BuildResponse = Callable[[Transaction, Mapping[str, Any]], T]

TOPIC = WEBHOOKS_TOPIC
OVERLAP_TIME = timedelta(hours=24)  # Time after a rotation in which messages are also signed with the old secret.
RECEIVER_REMOVED = "not sent: the receivers were removed when the password was reset"
MAX_LISTED_ATTEMPTS = 10  # Attempts listed for a delivery: more than it makes even if it is redelivered once.


class Receiver(NamedTuple):
    """The user and the URL that a webhook is sent to."""

    user_id: int
    user_uuid: str
    url: str


class WebhookEvent(NamedTuple):
    """An event for webhooks (DECISIONS 9). ``subject`` identifies it within its type.

    The ``delivery_id`` is derived from the subject and the user, so that a repeated event is one delivery. ``payload``
    is a JSON object, or its text. ``occurred_at`` is None for a filing whose day is not known.
    """

    type: str
    occurred_at: str | None
    subject: str
    payload: Mapping[str, Any] | str
    target_id: str | None = None


class DeliveryAttempt(TypedDict):
    """An attempt to send a delivery. It is in progress if ``ended_at`` is None."""

    attempt: int
    started_at: Time
    ended_at: Time | None
    duration_ms: int | None
    status_code: int | None
    error: str | None
    response_body: str | None


class Delivery(TypedDict):
    """A delivery with its last attempts, oldest first."""

    delivery_id: str
    event_type: Annotated[str, OneOf(EVENT_TYPES)]
    target_id: str | None
    url: Url
    status: Annotated[str, OneOf(STATES)]
    occurred_at: Annotated[Time | None, "When it happened at the SEC, or null for a filing whose day is not known."]
    payload: Object
    attempt_count: int
    last_status_code: int | None
    last_error: str | None
    created_at: Time
    next_attempt_at: Time | None
    delivered_at: Time | None
    dropped_at: Time | None
    attempts: list[DeliveryAttempt]


class DeliveryPaging(TypedDict):
    """The cursor of the next page of deliveries."""

    limit: int
    has_more: bool
    next_cursor: str | None


class DeliveryPage(TypedDict):
    """A page of deliveries, newest first."""

    deliveries: list[Delivery]
    meta: DeliveryPaging


class FailedDelivery(TypedDict):
    """A dropped delivery. It contains only the host of the receiver, as a URL may contain a secret."""

    delivery_id: str
    event_type: str
    url_host: str
    attempts: int
    last_error: str | None
    dropped_at: Time


def enqueue(tx: Transaction, now: datetime, receiver: Receiver, event: WebhookEvent) -> str:
    """Insert a delivery that is due immediately, unless it exists already. Return its ``delivery_id``."""
    # No part contains NUL, so two different lists of parts never give the same text.
    parts = "\0".join((receiver.user_uuid, event.type, event.target_id or "", event.subject))
    delivery_id = f"dlv_{hashlib.sha256(parts.encode()).hexdigest()[:32]}"
    body = {
        "event_type": event.type,
        "occurred_at": event.occurred_at,
        "delivery_id": delivery_id,
        "target_id": event.target_id,
    }
    payload = event.payload if isinstance(event.payload, str) else json.text(event.payload)
    tx.run(
        "insert_delivery",
        delivery_id=delivery_id,
        user_id=receiver.user_id,
        event_type=event.type,
        target_id=event.target_id,
        body=f'{json.text(body)[:-1]},"payload":{payload}}}',
        url=receiver.url,
        lane=_build_lane(receiver.user_id, receiver.url),
        asked=int(event.type == TEST_EVENT),
        now=iso(now),
    )
    tx.announce(TOPIC)
    return delivery_id


def publish(tx: Transaction, now: datetime, event: WebhookEvent) -> int:
    """Enqueue an event for every account that switched its type on. Return the number of accounts."""
    receivers = tx.list_rows("topic_users", topic=event.type)
    for row in receivers:
        enqueue(tx, now, Receiver(row["id"], row["uuid"], row["webhook_url"]), event)
    return len(receivers)


def find_receiver(tx: Transaction, user_id: int, url: str | None, topic: str | None = None) -> Receiver | None:
    """Return the receiver of an account: ``url``, or its default. Return None if it has neither, or is locked.

    With a ``topic``, return None unless the account has switched it on.
    """
    row = tx.find_row("webhook_user", id=user_id)
    if row is None or row["locked_at"] is not None:
        return None
    if topic is not None and topic not in json.loads(row["webhook_topics"]):
        return None
    receiver_url = url or row["webhook_url"]
    return Receiver(row["id"], row["uuid"], receiver_url) if receiver_url else None


def check_url(app: App, name: str, url: str) -> None:
    """Raise INVALID_PARAM if webhooks cannot be sent to a URL."""
    try:
        app.outbound.reach.check(url)
    except TargetRefusedError as error:
        raise invalid_param(name, f"{name}: {error.reason}.", expected="url") from None


def enqueue_test(app: App, user_id: int, url: str | None, now: datetime, respond: BuildResponse[T]) -> T:
    """Enqueue a ``finapi.test`` event to ``url`` or else the account's URL. Return the answer built by ``respond``."""
    if url is not None:
        check_url(app, "url", url)
    with app.accounts.write() as tx:
        receiver = find_receiver(tx, user_id, url)
        if receiver is None:
            raise invalid_param("url", "url is required: the account has no webhook_url.", expected="url")
        event = WebhookEvent(TEST_EVENT, iso(now), app.new_uuid(), {"message": "This is a test."})
        delivery_id = enqueue(tx, now, receiver, event)
        return respond(tx, _build_delivery(tx, _get_row(tx, user_id, delivery_id)))


def redeliver(app: App, user_id: int, delivery_id: str, now: datetime, respond: BuildResponse[T]) -> T:
    """Requeue a delivered or dropped delivery under its id. Return the answer that ``respond`` builds from it.

    Raise NOT_FOUND if the user has no delivery with this id, and CONFLICT while it is still in progress.
    """
    with app.accounts.write() as tx:
        row = _get_row(tx, user_id, delivery_id)
        if not tx.run("requeue_delivery", id=row["id"], lane=_build_lane(user_id, row["url"]), now=iso(now)):
            raise ApiError("CONFLICT", "The delivery is still in progress.", details={"status": row["status"]})
        tx.announce(TOPIC)
        return respond(tx, _build_delivery(tx, _get_row(tx, user_id, delivery_id)))


def list_deliveries(
    tx: Transaction,
    user_id: int,
    limit: int,
    offset: int = 0,
    *,
    before: int | None = None,
    state: str | None = None,
    event_type: str | None = None,
) -> DeliveryPage:
    """Return a page of the user's deliveries with ids below ``before``, newest first."""
    page = {"before": 2**62 if before is None else before, "limit": limit + 1, "offset": offset}
    rows = tx.list_rows("deliveries_of_user", page, user_id=user_id, state=state, event_type=event_type)
    cursor = str(rows[limit - 1]["id"]) if len(rows) > limit else None
    return {
        "deliveries": [_build_delivery(tx, row) for row in rows[:limit]],
        "meta": {"limit": limit, "has_more": cursor is not None, "next_cursor": cursor},
    }


def list_dropped_deliveries(tx: Transaction, user_id: int, limit: int = 50) -> list[FailedDelivery]:
    """Return the user's dropped deliveries, newest first (``webhook_failures`` of ``/account/usage``)."""
    rows = tx.list_rows("dropped_deliveries", user_id=user_id, limit=limit)
    return [build_record(FailedDelivery, row, url_host=get_host(row["lane"]).rpartition(":")[0]) for row in rows]


def list_failed_deliveries(tx: Transaction, limit: int) -> list[dict[str, Any]]:
    """Return the newest failed deliveries of all accounts, retried or dropped, with only the host of each URL."""
    return [{**row, "host": get_host(row["lane"])} for row in map(dict, tx.list_rows("failed_deliveries", limit=limit))]


# ---- secrets


class WebhookSecret(TypedDict):
    """The secret that signs an account's webhooks, and the previous one while that still signs."""

    secret: str | None
    created_at: Time
    previous_secret: str | None
    previous_expires_at: Time | None


def get_secret(app: App, user_id: int, now: datetime) -> WebhookSecret:
    """Return the user's signing secret. It is created when it is first requested."""
    with app.accounts.write() as tx:
        return _build_secret(app, tx, user_id, now)


def _build_secret(app: App, tx: Transaction, user_id: int, now: datetime) -> WebhookSecret:
    row = _get_secret_row(app, tx, user_id, now)
    overlaps = row["previous_until"] is not None and row["previous_until"] > iso(now)
    current, previous = (
        credentials.derive_again(
            app.secrets,
            row[f"{which}fingerprint"],
            credentials.derive_webhook_secret,
            row["user_uuid"],
            row[f"{which}uuid"] or "",
        )
        for which in ("", "previous_")
    )
    return build_record(
        WebhookSecret,
        row,
        secret=current,
        previous_secret=previous if overlaps else None,
        previous_expires_at=row["previous_until"] if overlaps else None,
    )


def rotate_secret(app: App, user_id: int, now: datetime) -> WebhookSecret:
    """Create and return a new signing secret. For ``OVERLAP_TIME`` both secrets sign, so that receivers can switch.

    Deliveries that were held because they could not be signed are due immediately.
    """
    with app.accounts.write() as tx:
        return rotate_secret_in_transaction(tx, app, user_id, now)


def rotate_secret_in_transaction(tx: Transaction, app: App, user_id: int, now: datetime) -> WebhookSecret:
    """Rotate a user's secret as :func:`rotate_secret` does, in the caller's transaction."""
    row = _get_secret_row(app, tx, user_id, now)
    tx.run(
        "rotate_webhook_secret",
        _build_secret_values(app, row),
        user_id=user_id,
        until=iso(now + OVERLAP_TIME),
        now=iso(now),
    )
    if tx.run("release_deliveries", user_id=user_id, now=iso(now)):
        tx.announce(TOPIC)
    return _build_secret(app, tx, user_id, now)


def replace_secret(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    """Replace a user's signing secret, if there is one. The old secret, and any before it, stop signing immediately.

    This is for a secret that someone else may know. During the overlap of a rotation receivers still accept the old
    secret, so anyone who knows it could forge messages to them.
    """
    if not has_secret(tx, user_id):
        return
    row = _get_secret_row(app, tx, user_id, now)
    tx.run("replace_webhook_secret", _build_secret_values(app, row), user_id=user_id, now=iso(now))
    if tx.run("release_deliveries", user_id=user_id, now=iso(now)):
        tx.announce(TOPIC)


def list_receiver_hosts(tx: Transaction, user_id: int) -> list[str]:
    """Return the hosts that an account's events are sent to: its own receiver's and those of its open targets."""
    return sorted({urlsplit(row["url"]).netloc for row in tx.list_rows("receiver_urls", user_id=user_id)})


def remove_receiver(tx: Transaction, user_id: int, now: datetime) -> None:
    """Remove an account's receiver and drop every delivery that has not arrived yet, also those in progress."""
    tx.run("remove_webhook_url", user_id=user_id, now=iso(now))
    tx.run("drop_waiting_deliveries", user_id=user_id, now=iso(now), reason=RECEIVER_REMOVED)
    tx.run("delete_failing_receivers", user_id=user_id)


def has_secret(tx: Transaction, user_id: int) -> bool:
    """Return True if a user's signing secret has been created."""
    row = tx.find_row("webhook_secret", user_id=user_id)
    return row is not None and row["uuid"] is not None


def list_signing_secrets(app: App, tx: Transaction, user_id: int, now: datetime) -> list[str]:
    """Return the secrets that sign a user's messages now, newest first; empty if the newest cannot be derived."""
    secrets = _build_secret(app, tx, user_id, now)
    if secrets["secret"] is None:
        return []
    return [text for text in (secrets["secret"], secrets["previous_secret"]) if text]


def build_headers(delivery_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """Return the headers of Standard Webhooks 1.0: id, time and a signature for each secret."""
    timestamp = int(now.timestamp())
    signatures = [credentials.sign_webhook(secret, delivery_id, timestamp, body) for secret in secrets]
    return {"webhook-id": delivery_id, "webhook-timestamp": str(timestamp), "webhook-signature": " ".join(signatures)}


def _get_secret_row(app: App, tx: Transaction, user_id: int, now: datetime) -> Row:
    row = tx.find_row("webhook_secret", user_id=user_id)
    assert row is not None
    if row["uuid"] is None:
        tx.run("insert_webhook_secret", _build_secret_values(app, row), user_id=user_id, now=iso(now))
        return _get_secret_row(app, tx, user_id, now)
    return row


def _build_secret_values(app: App, row: Row) -> dict[str, Any]:
    uuid = app.new_uuid()
    text = credentials.derive_webhook_secret(app.secrets, row["user_uuid"], uuid)
    made_with = credentials.get_secret_name(app.secrets[0])
    return {"uuid": uuid, "fingerprint": credentials.fingerprint(text), "made_with": made_with}


# ---- test vectors for authors of receivers

# A receiver refuses messages whose timestamp differs by more than this from its clock, so that a captured message
# cannot be sent again. It is the default of the libraries for Standard Webhooks.
TOLERANCE_SECONDS = 300

_VECTOR_SECRETS = (
    credentials.WEBHOOK_SECRET_PREFIX + "ZmluYXBpIHRlc3QgdmVjdG9yLCBub3QgYSBzZWNyZXQ=",
    credentials.WEBHOOK_SECRET_PREFIX + "dGhlIHNlY3JldCBiZWZvcmUgdGhlIHJvdGF0aW9uLi4=",
)


SignatureHeaders = TypedDict(
    "SignatureHeaders", {"webhook-id": str, "webhook-timestamp": str, "webhook-signature": str}
)


class WebhookVector(TypedDict):
    """A message with its headers. A receiver must accept it if it is ``valid``, and refuse it otherwise."""

    description: str
    secret: str
    body: str
    headers: SignatureHeaders
    valid: bool


class WebhookVectors(TypedDict):
    """Messages to test a receiver with."""

    tolerance_seconds: int
    vectors: list[WebhookVector]


def build_vectors() -> WebhookVectors:
    """Return signed messages to test a receiver with, and messages that it must refuse."""
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    body = '{"event_type":"finapi.test","payload":{"message":"Z\u00fcrich \u2192 K\u00f8benhavn"}}'
    new, old = _VECTOR_SECRETS

    def vector(description: str, signed_body: str, valid: bool, *secrets: str) -> WebhookVector:
        signatures = build_headers("dlv_00000000000000000000000000000001", signed_body.encode(), secrets, now)
        headers = cast("SignatureHeaders", signatures)
        return {"description": description, "secret": new, "body": body, "headers": headers, "valid": valid}

    return {
        "tolerance_seconds": TOLERANCE_SECONDS,
        "vectors": [
            vector("signed with the secret", body, True, new),
            vector("within 24 hours of a rotation: a signature for each secret", body, True, old, new),
            vector("signed with another secret", body, False, old),
            vector("the body was changed by a blank", body + " ", False, new),
        ],
    }


# ---- rows and records


def _build_lane(user_id: int, url: str) -> str:
    """Return the name of the queue for one account and one URL: host and port, user id, hash of the URL."""
    try:
        target = parse_target(url)
        host = f"{target.host}:{target.port}"
    except TargetRefusedError:
        host = ""
    return f"{host} {user_id} {hashlib.sha256(url.encode()).hexdigest()[:16]}"


def get_host(lane: str) -> str:
    """Return the host and port of a lane, or an empty text if its URL is not valid."""
    return lane.partition(" ")[0]


def _get_row(tx: Transaction, user_id: int, delivery_id: str) -> Row:
    row = tx.find_row("delivery", user_id=user_id, delivery_id=delivery_id)
    if row is None:
        raise ApiError("NOT_FOUND", "Delivery not found.")
    return row


def _build_delivery(tx: Transaction, row: Row) -> Delivery:
    body, state, done_at = json.loads(row["body"]), row["status"], row["done_at"]
    attempts = tx.list_rows("attempts_of_delivery", delivery=row["id"], limit=MAX_LISTED_ATTEMPTS)
    return build_record(
        Delivery,
        row,
        occurred_at=body["occurred_at"],
        payload=body["payload"],
        next_attempt_at=row["due_at"] if state in ("pending", "retry_pending") else None,
        delivered_at=done_at if state == "delivered" else None,
        dropped_at=done_at if state == "dropped" else None,
        attempts=[build_record(DeliveryAttempt, attempt) for attempt in reversed(attempts)],
    )
