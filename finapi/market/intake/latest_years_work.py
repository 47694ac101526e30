"""Computation of the latest years that screens read, with the books and splits of their companies.

A worker computes the years of companies whose facts or rules changed, and commands compute them after an import.
"""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from finapi.app import App
from finapi.core import stopping
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.market.financials import latest_years, price_lookup
from finapi.market.financials.latest_years import ComputedYear, StoredYear
from finapi.market.intake import ingest
from finapi.market.reference import companies
from finapi.store.db import DatabaseError, Transaction

log = logging.getLogger("finapi.screen")

BATCH_COMPANIES = 20  # Number of computed latest years that are stored together.
STEP_SECONDS = 0.5  # A worker computes latest years for this long between checks for a stop.


def compute_year(tx: Transaction, cik: int) -> ComputedYear:
    """Return the latest year of a company for storage, or a failure record if its facts raise an error."""
    company = companies.get_by_cik(tx, cik)
    try:
        return latest_years.compute(tx, company, price_lookup.build_price_lookup(tx, company))
    except (ApiError, StoreUnavailableError, DatabaseError, MemoryError):
        raise  # The error is not caused by the company's facts.
    except Exception as error:
        log.exception("Cannot compute the latest year of CIK %d; it is left out of screens until its data change", cik)
        return latest_years.build_failure(error)


class ComputedYears(NamedTuple):
    """The result of a step of work on latest years."""

    may_be_more: bool
    splits_changed: bool


def compute_latest_years(app: App) -> ComputedYears:
    """Compute the latest years that are due for about :data:`STEP_SECONDS`, and store them with books and splits."""
    deadline = time.monotonic() + STEP_SECONDS
    computed: list[tuple[StoredYear, ComputedYear]] = []
    with app.db.read() as tx:
        due = latest_years.list_due(tx, BATCH_COMPANIES)
        for stored in due:
            if stopping.is_requested() or (computed and time.monotonic() > deadline):
                break
            computed.append((stored, compute_year(tx, stored.cik)))
    # Cached responses do not depend on these rows, except for those about holdings, which are recomputed afterwards.
    splits_changed = bool(computed) and app.db.write_batched(lambda tx: latest_years.store(tx, computed))
    return ComputedYears(len(due) > 0, splits_changed)


def compute_all_latest_years(app: App) -> None:
    """Compute every latest year that is due, and recompute the holdings of companies whose splits changed.

    A requested stop takes effect after the current company; the workers of a server compute the rest.
    """
    splits_changed = False
    while not stopping.is_requested():
        step = compute_latest_years(app)
        splits_changed |= step.splits_changed
        if not step.may_be_more:
            break
    if splits_changed:
        ingest.recompute_derived(app)
