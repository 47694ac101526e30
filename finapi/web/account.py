"""What a caller has, spends and may still ask: account and billing endpoints (CONTRACT 4)."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from finapi import billing, plans, webhooks
from finapi.clock import iso
from finapi.db import Transaction
from finapi.errors import invalid_param
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    URL,
    array,
    enum,
    envelope,
    nullable,
    obj,
)

# Zones that count by caller (CONTRACT 5); registration counts by address and email.
ZONES = ("app", "financials", "xbrl", "insider", "sql")

MOST_DOLLARS = 1_000_000

_DAYS = Param(
    "days",
    "integer",
    default=30,
    least=1,
    most=365,
    clamp=True,
    help="UTC days, today included.",
    example="7",
)
USAGE_PARAMS = (_DAYS,)
TRANSACTIONS_PARAMS = (
    Param("limit", "integer", default=50, least=1, most=500, clamp=True, help="Rows at most.", example="50"),
    Param("cursor", "integer", least=1, help="next_cursor of the page before.", example="1234"),
)
HISTORY_PARAMS = (
    Param("limit", "integer", default=20, least=1, most=500, clamp=True, help="Rows at most.", example="20"),
    Param("offset", "integer", default=0, least=0, help="Rows to leave out.", example="0"),
)
QUOTA_BODY = (
    Field(
        "amount_dollars",
        "number",
        required=True,
        least=0,
        most=MOST_DOLLARS,
        help="Dollars out of the wallet, to the cent; 100 tokens each.",
        example=12.5,
    ),
)

BALANCE = obj(
    current_balance=INTEGER,
    plan=TEXT,
    plan_display_name=TEXT,
    monthly_quota=INTEGER,
    billing_cycle_end=TIME,
    days_until_refill=INTEGER,
    suspended=BOOLEAN,
    as_of=TIME,
)
USAGE = obj(
    window_days=INTEGER,
    daily=array(obj(day=DATE, tokens_consumed=INTEGER, calls=INTEGER)),
    top_endpoints=array(obj(endpoint=TEXT, tokens=INTEGER, calls=INTEGER)),
    webhook_failures=array(
        obj(
            delivery_id=TEXT,
            event_type=TEXT,
            url_host=TEXT,
            attempts=INTEGER,
            last_error=nullable(TEXT),
            dropped_at=TIME,
        )
    ),
    as_of=TIME,
)
TRANSACTIONS = obj(
    transactions=array(
        obj(
            created_at=TIME,
            delta=INTEGER,
            reason=enum(*billing.SPENDING, "refill", "purchase", "grant"),
            endpoint=nullable(TEXT),
            metadata=obj(request_id=nullable(TEXT), cost_tier=nullable(INTEGER)),
            response_status=nullable(INTEGER),
        )
    ),
    count=INTEGER,
    has_more=BOOLEAN,
    next_cursor=nullable(INTEGER),
    as_of=TIME,
)
LIMITS = obj(
    limits=array(
        obj(
            zone=enum(*ZONES),
            requests=INTEGER,
            window_seconds=INTEGER,
            burst=INTEGER,
            remaining=INTEGER,
            reset_at=TIME,
        )
    ),
    as_of=TIME,
)
PORTAL = obj(url=URL)
QUOTA = envelope(obj(message=TEXT, tokens_credited=INTEGER, new_token_balance=INTEGER, new_balance=NUMBER))
SUBSCRIPTION = envelope(obj(reach_limit_api=INTEGER, total_limit_api=INTEGER, plan_name=TEXT, status=TEXT))
HISTORY = obj(
    transactions=array(
        obj(
            id=TEXT,
            created_at=TIME,
            type=enum("credit", "purchase"),
            amount_usd=NUMBER,
            tokens_credited=INTEGER,
            stripe_invoice_id={"type": "null"},
            description=TEXT,
        )
    ),
    has_more=BOOLEAN,
)
PLANS = envelope(
    array(
        obj(
            id=INTEGER,
            name=TEXT,
            price=nullable(INTEGER),
            currency=TEXT,
            interval=enum("week", "month", "year"),
            features=array(TEXT),
            is_active=BOOLEAN,
            stripe_price_id={"type": "null"},
        )
    )
)


def balance(call: Call) -> Response:
    """The tokens left, the plan, and when it refills."""
    with call.app.db.read() as tx:
        return call.plain(plans.balance(tx, call.app.config, call.user_id, call.now))


def usage(call: Call) -> Response:
    """Tokens and calls by day and by endpoint, and the events that no receiver took."""
    with call.app.db.read() as tx:
        spent = billing.usage(tx, call.user_id, call.params["days"], call.now)
        failures = webhooks.failures(tx, call.user_id)
    return call.plain({**spent, "webhook_failures": failures, "as_of": iso(call.now)})


def transactions(call: Call) -> Response:
    """The ledger, newest first."""
    with call.app.db.read() as tx:
        rows, cursor = billing.transactions(tx, call.user_id, call.params["limit"], call.params["cursor"])
    return call.plain(
        {
            "transactions": rows,
            "count": len(rows),
            "has_more": cursor is not None,
            "next_cursor": cursor,
            "as_of": iso(call.now),
        }
    )


def limits(call: Call) -> Response:
    """What is left of every limit, without using any of it."""
    monotonic = call.app.clock.monotonic()
    rows = []
    for zone in ZONES:
        for limit, remaining, wait in call.app.limiters[call.limiter(zone)].look(
            ("user", call.user_id), monotonic
        ):
            rows.append(
                {
                    "zone": zone,
                    "requests": limit.requests,
                    "window_seconds": int(limit.period),
                    "burst": limit.burst,
                    "remaining": remaining,
                    "reset_at": iso(call.now + timedelta(seconds=wait)),
                }
            )
    return call.plain({"limits": rows, "as_of": iso(call.now)})


def portal(call: Call) -> Response:
    """Where plans are described and changed."""
    return call.plain({"url": call.app.config.upgrade_page})


def buy_quota(call: Call) -> Response:
    """Tokens out of the wallet."""
    cents = _cents(call.body["amount_dollars"])

    def settle(tx: Transaction, bought: plans.Purchase) -> Response:
        data = {
            "message": f"{bought.tokens} tokens bought.",
            "tokens_credited": bought.tokens,
            "new_token_balance": bought.balance,
            "new_balance": bought.cents_left / 100,
        }
        return call.settled(tx, call.envelope(data, {}))

    return plans.purchase(call.app, call.user_id, cents, call.now, settle)


def _cents(dollars: Decimal) -> int:
    cents = dollars * 100
    if cents != cents.to_integral_value() or cents <= 0:
        raise invalid_param(
            "amount_dollars",
            "amount_dollars must be an amount above 0, to the cent.",
            expected="number above 0 with at most two decimals",
        )
    return int(cents)


def subscription(call: Call) -> Response:
    """The plan and its counters."""
    with call.app.db.read() as tx:
        return call.success(plans.subscription(tx, call.user_id), {})


def history(call: Call) -> Response:
    """Every change of the wallet, newest first."""
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        rows = plans.purchases(tx, call.user_id, limit + 1, call.params["offset"])
    return call.plain({"transactions": rows[:limit], "has_more": len(rows) > limit})


def plan_list(call: Call) -> Response:
    """The plans that there are."""
    return call.success(list(plans.listed(call.app.config)), {})
