"""API handlers of accounts: registration, sessions, balance, billing, targets, webhooks, feed events."""
