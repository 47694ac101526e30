"""Tests of finapi/web/financials."""
