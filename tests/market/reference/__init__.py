"""Tests of finapi/market/reference and of the endpoints that it serves."""
