"""The tables of accounts. All other tables are market data."""

from __future__ import annotations

# A table that refers to another one is after it.
ACCOUNTS = (
    "users",
    "api_keys",
    "userplans",
    "ledger",
    "ledger_days",
    "ledger_marks",
    "ledger_summed",
    "ledger_archives",
    "wallet",
    "sessions",
    "invites",
    "verifications",
    "resets",
    "mails",
    "kept_answers",
    "feeds",
    "events",
    "journal",
    "webhook_secrets",
    "deliveries",
    "delivery_attempts",
    "failing_receivers",
    "sniper_targets",
    "carried",
    "login_failures",
    "login_addresses",
    "status_checks",
    "status_hours",
    "status_days",
    "status_changes",
    "audit",
)

# Tables of accounts that have rows in an empty database, or whose rows a trigger derives from those of another table.
REPLACED = frozenset({"feeds", "journal", "ledger_summed", "status_hours", "status_days"})
