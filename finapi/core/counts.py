"""Counts with their nouns, for messages and pages."""

from __future__ import annotations


def format_count(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: "1 call", "2,000 calls", "1 row is left out".

    ``plural`` is the text after any other number than 1, by default the singular with an s.
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
