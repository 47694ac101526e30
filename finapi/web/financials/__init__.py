"""Handlers for statements, facts, series, ratios and the dictionary."""
