"""API handlers that export and delete the caller's account."""

from __future__ import annotations

from typing import TypedDict

from finapi.accounts import billing, plans, sessions, users
from finapi.core.clock import iso
from finapi.core.records import Time
from finapi.delivery import sniper, webhooks
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field

MAX_ROWS = 500  # The maximum number of rows of each list. The lists' own paths return the older rows.
USAGE_DAYS = 365

DELETE_BODY = (Field("password", "text", required=True, example="what the account has"),)


class AccountExport(TypedDict):
    """An account and the newest rows of its lists. ``cut`` contains the paths of the lists that have more rows."""

    user: users.User
    wallet: list[plans.WalletChange]
    usage: billing.Spending
    transactions: list[billing.LedgerRow]
    sniper_targets: list[sniper.ListedTarget]
    deliveries: list[webhooks.Delivery]
    cut: list[str]
    as_of: Time


class AccountDeletion(TypedDict):
    """A confirmation of the deletion, and a sentence about the records that are kept."""

    message: str
    kept: str


def export_account(call: Call) -> Response:
    """Return everything stored about the caller except the API key.

    No password is required, because a session can read each part by its own path.
    """
    with call.app.accounts.read() as tx:
        # One row more than is exported shows that a list is longer.
        targets = sniper.list_targets(call.app, tx, call.user_id, call.now, limit=MAX_ROWS + 1)["targets"]
        wallet_changes = plans.list_wallet_changes(tx, call.user_id, MAX_ROWS + 1, 0)
        ledger_rows, next_cursor = billing.list_transactions(tx, call.user_id, limit=MAX_ROWS)
        deliveries = webhooks.list_deliveries(tx, call.user_id, MAX_ROWS)
        is_cut_by_path = {
            "/api/v1/billing/history": len(wallet_changes) > MAX_ROWS,
            "/api/v1/account/transactions": next_cursor is not None,
            "/api/v1/sniper/targets": len(targets) > MAX_ROWS,
            "/api/v1/webhooks/deliveries": deliveries["meta"]["has_more"],
        }
        account: AccountExport = {
            "user": {**users.build_profile(call.app, tx, call.user_id, call.now), "api_key": None},
            "wallet": wallet_changes[:MAX_ROWS],
            "usage": billing.compute_spending(tx, call.user_id, USAGE_DAYS, call.now),
            "transactions": ledger_rows,
            "sniper_targets": targets[:MAX_ROWS],
            "deliveries": deliveries["deliveries"],
            "cut": [path for path, is_cut in is_cut_by_path.items() if is_cut],
            "as_of": iso(call.now),
        }
    return call.bare_object(account)


def delete_account(call: Call) -> Response:
    """Delete the caller's account if the password is right, and return a confirmation."""
    assert call.caller is not None
    password, address = call.body["password"], call.request.address
    checked_user = sessions.confirm_password(call.app, call.caller, password, address, call.now)
    users.erase(call.app, call.user_id, call.now, checked_user=checked_user)
    retained = "The token ledger and the wallet, under a number: the books must go on adding up."
    return call.bare_object({"message": "The account is deleted.", "kept": retained})
