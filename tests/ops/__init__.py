"""Tests of finapi/ops."""
