"""HTTP endpoints for mutual funds and ETFs (Form N-PORT)."""
