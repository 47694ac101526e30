"""Names of the tables of accounts. All other tables contain market data."""

from __future__ import annotations

# A table follows those to which its foreign keys refer.
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
    "email_changes",
    "mails",
    "kept_answers",
    "receipt_chains",
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
    "activity_hours",
    "status_changes",
    "audit",
)

# Tables of accounts that have rows in a new database, or rows that a trigger derives from those of another table. When
# accounts are copied, these rows are deleted first.
PREFILLED = frozenset({"feeds", "journal", "ledger_summed", "status_hours", "status_days"})
