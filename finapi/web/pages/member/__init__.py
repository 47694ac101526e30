"""The pages of an account: signing in, registering, tokens, keys, sessions, webhooks and sniper targets."""
