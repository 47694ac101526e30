"""Statements and facts as filed: storing reports, choosing the columns of statements, and reading both."""
