"""Tests of finapi/web/accounts."""
