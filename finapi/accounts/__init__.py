"""Accounts: users and keys, sessions, recovery, invites, plans and the token ledger."""
