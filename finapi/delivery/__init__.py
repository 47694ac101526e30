"""Events for users: the journal of the feeds, sniper targets, and webhooks with their dispatch."""

WEBHOOKS_TOPIC = "webhooks"  # Listeners of this topic are called after a commit with new deliveries.
