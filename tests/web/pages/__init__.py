"""Tests of finapi/web/pages."""
