"""Tests of finapi/web/html."""
