"""Handlers for 13F funds, flows, baskets and CUSIPs."""
