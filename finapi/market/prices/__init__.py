"""Prices by day from CSV files, adjusted when they are read."""
