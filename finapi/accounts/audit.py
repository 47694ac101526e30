"""The audit log: what operators did, each written in the transaction that did it. Rows are added, never changed."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.store.db import ConstraintError, Row, Transaction, is_unique_violation


class Actor(NamedTuple):
    """Who acts, and from where: an admin by number, or with None the command line.

    ``once`` names the form that asked for it: what it asks for is done once, however often it is sent.
    """

    user_id: int | None
    origin: str
    form_id: str | None = None


def record_action(
    tx: Transaction, actor: Actor | None, action: str, now: datetime, subject: int | None = None, detail: str = ""
) -> None:
    """Write down what is done in this transaction; with None it is an account's own doing, and no operator's.

    FORBIDDEN for whoever is no admin any more, CONFLICT for a form that was sent before: nothing is done then.
    """
    if actor is None:
        return
    values = {"by_user": actor.user_id, "place": actor.origin, "once": actor.form_id, "now": iso(now)}
    try:
        written = tx.run("insert_audit", values, action=action, subject=subject, detail=detail)
    except ConstraintError as error:
        if not is_unique_violation(error, "audit", "once"):
            raise
        raise ApiError("CONFLICT", "This form was already sent and its action was carried out.") from None
    if not written:
        raise ApiError("FORBIDDEN", "This account is not an admin account.")


def list_actions(tx: Transaction, limit: int, before: int | None = None) -> list[Row]:
    """What was done, the last first: id, at, who, action, account, account_uuid, detail, place."""
    return tx.list_rows("audit_before", limit=limit, before=2**62 if before is None else before)
