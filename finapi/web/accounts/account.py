"""API handlers of the caller's account: profile, password, email, tokens, limits, plan, wallet (DECISIONS 3 and 4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, TypedDict

from finapi.accounts import billing, email_changes, plans, sessions, users
from finapi.core.clock import iso
from finapi.core.errors import invalid_param
from finapi.core.records import Object, OneOf, Time, Url
from finapi.delivery import webhooks
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MAX_FREE_OFFSET, Field, Param, limit_param, offset_param
from finapi.web.http.route import CALLER_ZONES
from finapi.web.http.schema import Envelope

MAX_DOLLARS = 1_000_000

UPDATE_BODY = (
    Field("webhook_url", "url", nullable=True, example="https://example.com/hook"),
    Field("notify_email", "boolean", help="Stored for clients; it has no effect.", example="true"),
    Field("notify_browser", "boolean", help="Stored for clients; it has no effect.", example="true"),
    Field("webhook_topics", "words", allowed=users.TOPICS),
)
PASSWORD_BODY = (
    Field("password", "text", required=True, help="The old password.", example="correct horse battery"),
    Field("newpassword", "new_password", required=True, example="a much better one"),
)
EMAIL_CHANGE_BODY = (
    Field("password", "text", required=True, example="correct horse battery"),
    Field("email", "email", required=True, help="The new address.", example="ann@example.org"),
)
EMAIL_CHANGE_REQUESTED = (
    "A link was sent to the new address, if no other account has it. The email changes when you confirm it there."
)
USAGE_PARAMS = (
    Param(
        "days", "integer", default=30, minimum=1, maximum=365, clamp=True, help="UTC days, today included.", example="7"
    ),
)
TRANSACTIONS_PARAMS = (
    limit_param(50, 500),
    offset_param(MAX_FREE_OFFSET),
    Param("cursor", "integer", minimum=1, help="next_cursor of the previous page.", example="1234"),
)
HISTORY_PARAMS = (limit_param(20, 500), offset_param(MAX_FREE_OFFSET))
QUOTA_BODY = (
    Field(
        "amount_dollars",
        "number",
        required=True,
        minimum=0,
        maximum=MAX_DOLLARS,
        help="Dollars from the wallet, to the cent; 100 tokens each.",
        example=12.5,
    ),
)


class OwnUser(users.User):
    """The profile of the caller, with the limits of documents and devices."""

    UserDocumentLimit: users.DocumentLimit
    UserDeviceLimit: users.DeviceLimit


class UserAnswer(TypedDict):
    """The answer with the caller's profile."""

    user: OwnUser


class UserUpdate(TypedDict):
    """The answer to a change of settings: a confirmation, and the profile after it."""

    message: str
    user: users.User


class NewSession(TypedDict):
    """The answer to a change of the password: a confirmation, and the token of the only session that is open now."""

    message: str
    token: str


class NewKey(TypedDict):
    """A new API key."""

    api_key: str


class Usage(billing.Spending):
    """The tokens that the caller spent, and the events that could not be delivered to its webhooks."""

    webhook_failures: list[webhooks.FailedDelivery]
    as_of: Time


class LedgerPage(TypedDict):
    """A page of the ledger, newest first."""

    transactions: list[billing.LedgerRow]
    count: int
    has_more: bool
    next_cursor: int | None
    as_of: Time


class LimitState(TypedDict):
    """The remaining calls of a rate limit."""

    zone: Annotated[str, OneOf(CALLER_ZONES)]
    requests: int
    window_seconds: int
    burst: int
    remaining: int
    reset_at: Time


class LimitStates(TypedDict):
    """The remaining calls of every rate limit."""

    limits: list[LimitState]
    as_of: Time


class PlanPortal(TypedDict):
    """The page where plans are described and changed."""

    url: Url


class QuotaPurchase(TypedDict):
    """A purchase of tokens, and the state after it.

    ``new_token_balance`` is in tokens. ``new_balance`` is the money left in the wallet, in dollars.
    """

    message: str
    tokens_credited: int
    new_token_balance: int
    new_balance: float


class WalletPage(TypedDict):
    """A page of the wallet's changes, newest first."""

    transactions: list[plans.WalletChange]
    has_more: bool


QUOTA_SHAPE = Envelope[QuotaPurchase, Object]
SUBSCRIPTION_SHAPE = Envelope[plans.PlanSubscription, Object]
PLANS_SHAPE = Envelope[list[plans.Plan], Object]


def show_user(call: Call) -> Response:
    """Return the caller's profile, with the limits of documents and devices."""
    with call.app.accounts.read() as tx:
        profile = users.build_profile(call.app, tx, call.user_id, call.now)
        document_limit, device_limit = users.build_limits(call.app, tx, call.user_id)
    user: OwnUser = {**profile, "UserDocumentLimit": document_limit, "UserDeviceLimit": device_limit}
    return call.bare_object({"user": user})


def update_user(call: Call) -> Response:
    """Change the caller's settings and return the profile. Raise INVALID_PARAM for a URL that cannot get webhooks."""
    if call.body.get("webhook_url") is not None:
        webhooks.check_url(call.app, "webhook_url", call.body["webhook_url"])
    user = users.update(call.app, call.user_id, call.body, call.now)
    return call.bare_object({"message": "User updated successfully.", "user": user})


def change_password(call: Call) -> Response:
    """Replace the caller's password, end every session and return the token of a new one."""
    assert call.caller is not None
    password, new_password = call.body["password"], call.body["newpassword"]
    token = sessions.change_password(call.app, call.caller, password, new_password, call.request.address, call.now)
    return call.bare_object({"message": "Password updated successfully.", "token": token})


def request_email_change(call: Call) -> Response:
    """Send a link to the caller's new email address. The answer is the same if another account has the address."""
    assert call.caller is not None
    password, new_email = call.body["password"], call.body["email"]
    email_changes.request_change(call.app, call.caller, password, new_email, call.request.address, call.now)
    return call.bare_object({"message": EMAIL_CHANGE_REQUESTED})


def rotate_key(call: Call) -> Response:
    """Replace the API key and return the new one. The old key stops working immediately."""
    return call.bare_object({"api_key": users.rotate_key(call.app, call.user_id, call.now)})


def show_balance(call: Call) -> Response:
    """Return the remaining tokens, the plan, and the end of its billing cycle."""
    with call.app.accounts.read() as tx:
        return call.bare_object(plans.get_balance(tx, call.app.config, call.user_id, call.now))


def show_usage(call: Call) -> Response:
    """Return tokens and calls by day and by endpoint, and the events that could not be delivered."""
    with call.app.accounts.read() as tx:
        spending = billing.compute_spending(tx, call.user_id, call.params["days"], call.now)
        failures = webhooks.list_dropped_deliveries(tx, call.user_id)
    return call.bare_object({**spending, "webhook_failures": failures, "as_of": iso(call.now)})


def list_transactions(call: Call) -> Response:
    """Return a page of the ledger, newest first."""
    with call.app.accounts.read() as tx:
        rows, next_cursor = billing.list_transactions(tx, call.user_id, **call.params)
    return call.bare_object(
        {
            "transactions": rows,
            "count": len(rows),
            "has_more": next_cursor is not None,
            "next_cursor": next_cursor,
            "as_of": iso(call.now),
        }
    )


def list_limits(call: Call) -> Response:
    """Return the remaining calls of every limit, without using one."""
    monotonic_now = call.app.clock.monotonic()
    rows: list[LimitState] = []
    for zone in CALLER_ZONES:
        limiter = call.app.limiters[call.limiter_name(zone)]
        for limit, remaining, wait_seconds in limiter.list_remaining(("user", call.user_id), monotonic_now):
            rows.append(
                {
                    "zone": zone,
                    "requests": limit.requests,
                    "window_seconds": int(limit.period_seconds),
                    "burst": limit.burst,
                    "remaining": remaining,
                    "reset_at": iso(call.now + timedelta(seconds=wait_seconds)),
                }
            )
    return call.bare_object({"limits": rows, "as_of": iso(call.now)})


def show_portal(call: Call) -> Response:
    """Return the URL of the page where plans are described and changed."""
    return call.bare_object({"url": call.app.config.plans_page_url})


def buy_quota(call: Call) -> Response:
    """Buy tokens with money from the wallet. Raise INVALID_PARAM for an amount with fractions of a cent."""
    cents = call.body["amount_dollars"] * 100
    if cents != cents.to_integral_value() or cents <= 0:
        raise invalid_param(
            "amount_dollars",
            "amount_dollars must be an amount above 0, to the cent.",
            expected="number above 0 with at most two decimals",
        )

    def build_response(tx: Transaction, purchase: plans.Purchase) -> Response:
        purchase_record: QuotaPurchase = {
            "message": f"{purchase.tokens} tokens bought.",
            "tokens_credited": purchase.tokens,
            "new_token_balance": purchase.balance,
            "new_balance": purchase.cents_left / 100,
        }
        return call.store_response(tx, call.build_envelope(purchase_record, {}))

    return plans.buy_tokens(call.app, call.user_id, int(cents), call.now, build_response)


def show_subscription(call: Call) -> Response:
    """Return the plan and its counters."""
    with call.app.accounts.read() as tx:
        return call.success(plans.get_subscription(tx, call.user_id), {})


def list_wallet_changes(call: Call) -> Response:
    """Return a page of the wallet's changes, newest first."""
    limit = call.params["limit"]
    with call.app.accounts.read() as tx:
        rows = plans.list_wallet_changes(tx, call.user_id, limit + 1, call.params["offset"])
    return call.bare_object({"transactions": rows[:limit], "has_more": len(rows) > limit})


def list_plans(call: Call) -> Response:
    """Return all plans."""
    return call.success(list(plans.iter_plans(call.app.config)), {})
