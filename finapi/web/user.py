"""The caller's own account, over HTTP (CONTRACT 3)."""

from __future__ import annotations

from finapi import accounts, plans, webhooks
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field
from finapi.web.shapes import BOOLEAN, INTEGER, NUMBER, TEXT, TIME, URL, array, enum, made_of, nullable, obj

UPDATE_BODY = (
    Field("webhook_url", "url", nullable=True, example="https://example.com/hook"),
    Field("notify_email", "boolean", example="true"),
    Field("notify_browser", "boolean", example="true"),
    Field("webhook_topics", "texts", allowed=accounts.TOPICS),
)

PLAN = obj(
    id=INTEGER,
    userId=TEXT,
    total_limit_api=INTEGER,
    reach_limit_api=INTEGER,
    plan=enum(*plans.PERIOD_MONTHS),
    status=TEXT,
    current_period_end=nullable(TIME),
    created_at=TIME,
    updated_at=TIME,
)
_MEMBERS = {
    "id": INTEGER,
    "uuid": {"type": "string", "format": "uuid"},
    "email": TEXT,
    "usertype": enum("user", "admin"),
    "api_key": nullable(TEXT),
    "verify_email": BOOLEAN,
    "is_online": BOOLEAN,
    "has_uat_access": BOOLEAN,
    "billing_admin": BOOLEAN,
    "credit_balance": NUMBER,
    "notify_email": BOOLEAN,
    "notify_browser": BOOLEAN,
    "webhook_url": nullable(URL),
    "webhook_topics": array(enum(*accounts.TOPICS)),
    "created_at": TIME,
    "updated_at": TIME,
    "Userplan": nullable(PLAN),
}
DEVICES = obj(id=INTEGER, userId=TEXT, device_limit=INTEGER, created_at=TIME, updated_at=TIME)
USER = made_of(_MEMBERS)
SHOWN = obj(user=made_of({**_MEMBERS, "UserDeviceLimit": DEVICES}))
UPDATED = obj(message=TEXT, user=USER)
KEY = obj(api_key=TEXT)


def show(call: Call) -> Response:
    """The user, as login shows it, with the device limit."""
    assert call.caller is not None
    with call.app.db.read() as tx:
        user = accounts.profile(call.app, tx, call.caller.id, call.now)
        user["UserDeviceLimit"] = accounts.device_limit(call.app, tx, call.caller.id)
    return call.plain({"user": user})


def update(call: Call) -> Response:
    """The user with the changes made."""
    assert call.caller is not None
    if call.body.get("webhook_url") is not None:
        webhooks.check_url(call.app, "webhook_url", call.body["webhook_url"])
    user = accounts.update(call.app, call.caller.id, call.body, call.now)
    return call.plain({"message": "User updated successfully.", "user": user})


def rotate_key(call: Call) -> Response:
    """A new API key; the old one has died."""
    assert call.caller is not None
    return call.plain({"api_key": accounts.rotate_key(call.app, call.caller.id, call.now)})
