"""Loads the embedded data through the same code that stores an ingest."""

from __future__ import annotations

from importlib import resources

from finapi.app import App
from finapi.demo import listing, quotes
from finapi.market import holdings_pack, insider_pack, pack

FILE, INSIDERS, HOLDINGS = "companies.pack", "insiders.pack", "holdings.pack"


def load(app: App) -> int:
    """Store every embedded report, form and list, and made up prices; how many reports were new."""
    quotes.load(app)
    folder = resources.files("finapi.demo")
    new = pack.load(app, (folder / FILE).read_bytes(), FILE)
    # After the reports, which bring the tickers that are told with each filing.
    listing.load(app)
    insider_pack.load(app, (folder / INSIDERS).read_bytes(), INSIDERS)
    return new + holdings_pack.load(app, (folder / HOLDINGS).read_bytes(), HOLDINGS)
