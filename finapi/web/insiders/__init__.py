"""Handlers for insiders' transactions, forms, holdings and sums."""
