"""API handlers of accounts: registration, sessions, balance, billing, sniper targets, webhooks, feed events."""
