"""Who may call and what they have left: users, keys, sessions, recovery, invites, plans and the token ledger."""
