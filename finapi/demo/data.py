"""Loads the embedded data through the same code that stores an ingest."""

from __future__ import annotations

from importlib import resources

from finapi.app import App
from finapi.demo import quotes
from finapi.market import insider_pack, pack

FILE, INSIDERS = "companies.pack", "insiders.pack"


def load(app: App) -> int:
    """Store every embedded report and ownership form, and made up prices; how many reports were new."""
    quotes.load(app)
    folder = resources.files("finapi.demo")
    new = pack.load(app, (folder / FILE).read_bytes(), FILE)
    insider_pack.load(app, (folder / INSIDERS).read_bytes(), INSIDERS)
    return new
