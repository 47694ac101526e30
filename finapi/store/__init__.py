"""The SQLite database, the data directory around it, and heartbeats; it knows no user and no filing."""
