"""Lists of filings into rows, and filings found again."""
