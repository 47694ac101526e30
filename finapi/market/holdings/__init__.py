"""13F reports: stored, combined into one table per fund and quarter, and queried by fund and by security."""
