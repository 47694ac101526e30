"""The operators' pages: component health, accounts, invites, intake, deliveries and the audit log."""
