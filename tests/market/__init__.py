"""Tests of finapi/market."""
