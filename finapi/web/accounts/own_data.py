"""Export and deletion of the caller's account."""

from __future__ import annotations

from typing import TypedDict

from finapi.accounts import billing, plans, sessions, users
from finapi.core.clock import iso
from finapi.core.records import Time
from finapi.delivery import sniper, webhooks
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field

MOST = 500  # rows of each list; the lists' own paths have the rest
DAYS = 365

DELETE_BODY = (Field("password", "text", required=True, example="what the account has"),)


class Export(TypedDict):
    """An account and the newest rows of each of its lists; ``cut`` names the lists that go on under their own paths."""

    user: users.User
    wallet: list[plans.WalletChange]
    usage: billing.Spending
    transactions: list[billing.LedgerRow]
    sniper_targets: list[sniper.ListedTarget]
    deliveries: list[webhooks.Delivery]
    cut: list[str]
    as_of: Time


class Deleted(TypedDict):
    """What stays of a deleted account."""

    message: str
    kept: str


def export(call: Call) -> Response:
    """Everything stored about the caller but the API key; no password: a session can read each part by itself."""
    with call.app.accounts.read() as tx:
        targets = sniper.list_targets(call.app, tx, call.user_id, call.now, limit=MOST + 1)["targets"]
        wallet = plans.list_wallet_changes(tx, call.user_id, MOST + 1, 0)
        ledger, more = billing.list_transactions(tx, call.user_id, limit=MOST)
        sent = webhooks.list_deliveries(tx, call.user_id, MOST)
        long = {
            "/api/v1/billing/history": len(wallet) > MOST,
            "/api/v1/account/transactions": more is not None,
            "/api/v1/sniper/targets": len(targets) > MOST,
            "/api/v1/webhooks/deliveries": sent["meta"]["has_more"],
        }
        held: Export = {
            "user": {**users.build_profile(call.app, tx, call.user_id, call.now), "api_key": None},
            "wallet": wallet[:MOST],
            "usage": billing.compute_spending(tx, call.user_id, DAYS, call.now),
            "transactions": ledger,
            "sniper_targets": targets[:MOST],
            "deliveries": sent["deliveries"],
            "cut": [path for path, goes_on in long.items() if goes_on],
            "as_of": iso(call.now),
        }
    return call.bare_object(held)


def delete(call: Call) -> Response:
    """The account is gone, if the password is right."""
    assert call.caller is not None
    sessions.check_password(call.app, call.caller.email, call.body["password"], call.request.address, call.now)
    users.erase(call.app, call.user_id, call.now)
    kept = "The token ledger and the wallet, under a number: the books must go on adding up."
    return call.bare_object({"message": "The account is deleted.", "kept": kept})
