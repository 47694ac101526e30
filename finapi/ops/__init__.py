"""How the service stands: probes of its components, the watchdog that runs them, and the status made of them."""
