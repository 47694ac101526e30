"""Tests of web/holdings: the answers about 13F funds, flows and CUSIPs."""
