"""Handlers for filings, forms, entities and coverage."""
