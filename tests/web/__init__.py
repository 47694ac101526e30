"""Tests of finapi/web."""
