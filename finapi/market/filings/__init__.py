"""Lists of filings, stored and searched."""
