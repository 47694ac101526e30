"""The companies of a demo, for visitors who look for another one."""

from __future__ import annotations

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.market.demo import DEMO_KEY

MAX_COMPANIES = 20


def add_companies(app: App, error: ApiError) -> ApiError:
    """Return the error of an unknown ticker with the companies of the demo, or any other error as it is."""
    if error.code != "UNKNOWN_TICKER" or DEMO_KEY not in app.static_bodies:
        return error
    from finapi.market.statements import company_coverage  # No start needs it.

    with app.db.read() as tx:
        covered = company_coverage.list_covered_companies(tx, None, MAX_COMPANIES, 0)
    tickers = [company["ticker"] or company["cik"] for company in covered]
    message = (
        f"{error.message} This is a demo with figures of {', '.join(tickers)}. On a server of your own, finapi load "
        "loads others."
    )
    return ApiError(error.code, message, details={**(error.details or {}), "demo_companies": tickers})
