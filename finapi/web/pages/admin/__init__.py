"""The pages of operators: accounts, invites, what comes in, deliveries, health, and what was done here."""
