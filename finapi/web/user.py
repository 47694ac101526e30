"""The caller's own account, over HTTP (CONTRACT 3)."""

from __future__ import annotations

from finapi import accounts, webhooks
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field

UPDATE_BODY = (
    Field("webhook_url", "url", nullable=True, example="https://example.com/hook"),
    Field("notify_email", "boolean", example="true"),
    Field("notify_browser", "boolean", example="true"),
    Field("webhook_topics", "texts", allowed=accounts.TOPICS),
)


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
