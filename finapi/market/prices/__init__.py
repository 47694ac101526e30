"""Daily prices from CSV files, adjusted for splits and dividends when they are read."""
