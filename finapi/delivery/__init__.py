"""What is told to the outside: the event journal, sniper targets, and webhooks with their dispatch."""

WEBHOOKS_TOPIC = "webhooks"  # the topic under which the database tells that deliveries were committed
