"""Tests of finapi/market/statements and of the endpoints that it serves."""
