"""The pages of an account: signing in, registering, and what the account has, spends and is sent."""
