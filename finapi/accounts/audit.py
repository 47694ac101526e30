"""The audit log of operators' actions, and of owners who take an account back from somebody else.

A row is written in the transaction that performs the action. Rows are added and never changed.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.store.db import ConstraintError, Row, Transaction, is_unique_violation

NOTE = "note"  # The action of an entry that describes work outside the database.


class Actor(NamedTuple):
    """The author of an audited action. ``user_id`` is that of an admin, or None for the command line.

    ``origin`` is the address of an admin, or for a command the system's user and the directory.
    ``form_id`` identifies the form that requested the action. A form is carried out once, however often it is sent.
    """

    user_id: int | None
    origin: str
    form_id: str | None = None


def build_command_actor(system_user: str, directory: str) -> Actor:
    """Return the actor for a command: the user of the system and the directory in which the command was typed."""
    return Actor(None, f"{system_user} in {directory}")


def record_action(
    tx: Transaction, actor: Actor | None, action: str, now: datetime, subject: int | None = None, detail: str = ""
) -> None:
    """Record an operator's action in the transaction that performs it. Without an actor nothing is recorded.

    Users who change their own account are not actors: pass None. Raise FORBIDDEN if the actor is no longer an admin,
    and CONFLICT for a form that was sent before.
    """
    if actor is None:
        return
    values = {"by_user": actor.user_id, "place": actor.origin, "once": actor.form_id, "now": iso(now)}
    try:
        written = tx.run("insert_audit_row", values, action=action, subject=subject, detail=detail)
    except ConstraintError as error:
        if not is_unique_violation(error, "audit", "once"):
            raise
        raise ApiError("CONFLICT", "This form was already sent and its action was carried out.") from None
    if not written:
        raise ApiError("FORBIDDEN", "This account is not an admin account.")


def record_owner_action(tx: Transaction, user_id: int, address: str, action: str, now: datetime) -> None:
    """Record that the owner of an account took it back, in the transaction that does so."""
    tx.run("insert_owner_audit_row", user_id=user_id, place=address, action=action, now=iso(now))


def list_actions(tx: Transaction, limit: int, before: int | None = None) -> list[Row]:
    """Return the newest rows: id, at, who, action, account, account_uuid, detail and place."""
    return tx.list_rows("audit_rows", limit=limit, before=2**62 if before is None else before)
