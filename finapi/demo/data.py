"""Loads the embedded data through the same code that stores an ingest."""

from __future__ import annotations

from importlib import resources

from finapi.app import App
from finapi.demo import quotes
from finapi.market import pack

FILE = "companies.pack"


def load(app: App) -> int:
    """Store every embedded report, and made up prices; how many reports were new."""
    quotes.load(app)
    return pack.load(app, (resources.files("finapi.demo") / FILE).read_bytes(), FILE)
