"""Standardised series, ratios, templates and screens made of the facts as filed."""
