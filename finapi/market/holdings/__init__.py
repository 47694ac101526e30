"""13F reports: stored, united by quarter, and read by fund and by security."""
