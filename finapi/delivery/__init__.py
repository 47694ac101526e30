"""What is told to the outside: the event journal, sniper targets, and webhooks with their dispatch."""
