"""The chains of receipts: each receipt of an account names the hash of the one before it.

Only the number and the hash of an account's last receipt are stored. A receipt is appended in the transaction that
settles the charge of its call, so a call that fails or is refunded has none, and two calls never have the same
predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.accounts import credentials
from finapi.accounts.billing import Charge
from finapi.app import App
from finapi.core import receipts
from finapi.core.clock import iso
from finapi.store.db import Transaction


def append_receipt(app: App, user_id: int, charge: Charge, content: Mapping[str, Any]) -> dict[str, Any]:
    """Append a receipt to the chain of an account and settle the charge of its call. Return the sealed receipt.

    Its members are in canonical order. ``content`` has those that do not depend on the chain.
    """

    def append(tx: Transaction) -> dict[str, Any]:
        """Append the receipt and settle the charge in one transaction."""
        chain = tx.find_row("receipt_chain", user_id=user_id)
        assert chain is not None
        members = {
            **content,
            "format": receipts.FORMAT,
            "account": chain["account"],
            "epoch": chain["epoch"],
            "number": chain["receipts"] + 1,
            "previous_sha256": chain["last_sha256"],
            "issued_at": iso(app.clock.now()),
        }
        sha256 = receipts.compute_sha256(members)
        tx.run("upsert_receipt_chain", user_id=user_id, number=members["number"], sha256=sha256)
        charge.settle_in_transaction(tx)
        signature = credentials.sign_receipt(app.secrets, sha256)
        return receipts.sort_members({**members, "sha256": sha256, "signature": signature})

    return app.accounts.write_batched(append, alone=True)
