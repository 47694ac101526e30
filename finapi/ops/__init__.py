"""Operation of the service: probes, watchdog and status; backups, moves of accounts, and checks of data and host."""
