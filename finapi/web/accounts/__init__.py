"""Handlers for accounts: registration, sessions, balance and billing, sniper targets, webhooks, the event log."""
