"""Ownership forms 3, 4 and 5: stored, interpreted, and found by insider, issuer and trade."""
