"""Owners of more than five per cent and proposed sales, over HTTP."""
