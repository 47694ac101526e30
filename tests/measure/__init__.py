"""Measurements for maintainers: figures against tables of expected ones, statements against the SEC's rows."""
