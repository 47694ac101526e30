"""Which tables are of accounts: every other is of the market data."""

from __future__ import annotations

# One that refers to another stands below it.
ACCOUNTS = (
    *("users", "api_keys", "userplans", "ledger", "ledger_days", "ledger_marks", "ledger_summed", "ledger_archives"),
    *("wallet", "sessions", "invites", "verifications", "resets", "mails", "kept_answers", "feeds", "events"),
    *("journal", "webhook_secrets", "deliveries", "delivery_attempts", "failing_receivers", "sniper_targets"),
    *(
        "carried",
        "login_failures",
        "login_addresses",
        "status_checks",
        "status_hours",
        "status_days",
        "status_changes",
        "audit",
    ),
)

# Of those what an empty database holds, and what a trigger makes of the rows of another.
REPLACED = frozenset({"feeds", "journal", "ledger_summed", "status_hours", "status_days"})
