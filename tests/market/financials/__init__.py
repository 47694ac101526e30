"""Tests of finapi/market/financials."""
