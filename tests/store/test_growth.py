"""Tests of growth: every table is filled by data, or stays bounded however long finapi runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from finapi.core.clock import FixedClock
from finapi.core.config import list_settings
from finapi.market.intake import ingest
from finapi.ops import watchdog
from tests import growth

# What grows with what is ingested, with accounts, or by an operator's word: never by time alone.
BY_DATA = {
    "announced_filings",
    "arrivals",
    "companies",
    "company_keys",
    "concepts",
    "cusip_mappings",
    "dimensions",
    "fact_conflicts",
    "fact_sets",
    "fact_elements",
    "facts",
    "failed_securities",
    "filed_splits",
    "filing_bodies",
    "filing_documents",
    "filing_parties",
    "filing_terms",
    "filing_texts",
    "filing_words",
    "filing_words_config",
    "filing_words_data",
    "filing_words_docsize",
    "filing_words_idx",
    "filings",
    "followed",
    "form_entities",
    "former_names",
    "fund_classes",
    "fund_groups",
    "fund_positions",
    "fund_quarters",
    "fund_quarters_uncompared",
    "fund_reports",
    "fund_returns",
    "fund_securities",
    "fund_words",
    "funds",
    "funds_uncounted",
    "group_sums",
    "holders",
    "holding_names",
    "holdings",
    "holdings_managers",
    "holdings_redated",
    "holdings_reports",
    "holdings_resplit",
    "insider_form_owners",
    "insider_forms",
    "insider_positions",
    "insider_stake_forms",
    "insider_stakes",
    "insider_transactions",
    "insider_words",
    "insiders",
    "kept_books",
    "label_roles",
    "latest_years",
    "lines",
    "listed_securities",
    "loaded",
    "moved_accounts",
    "positions",
    "positions_far_off",
    "price_actions",
    "price_series",
    "prices",
    "quarter_returns",
    "reports",
    "returned_quarters",
    "sale_notice_lines",
    "sale_notices",
    "schedule_bodies",
    "schedule_filings",
    "schedule_persons",
    "schedule_words",
    "section_columns",
    "sections",
    "securities",
    "securities_unpriced",
    "security_quarters",
    "security_words",
    "submission_pages",
    "sums",
    "term_counts",
    "tickers",
    "units",
    "validators",
}
BY_ACCOUNTS = {
    "api_keys",
    "invites",
    "receipt_chains",
    "resets",
    "userplans",
    "users",
    "verifications",
    "webhook_secrets",
}
# Money: a row for each purchase, kept for ever. An archive of the ledger is a row, of a hundred thousand. What
# operators did stays too.
FOR_EVER = {"wallet", "ledger_archives", "audit"}
OF_FEW_ROWS = {
    "data_version",
    "feeds",
    "filing_bodies_size",
    "heartbeats",
    "held_counts",
    "journal",
    "ledger_summed",
    "outbox",
    "poll_state",
}
# What time alone would make grow, and what bounds it: docs/OPERATIONS.md lists the settings.
BY_TIME = {
    "activity_hours",
    "carried",
    "deliveries",
    "delivery_attempts",
    "email_changes",
    "events",
    "failing_receivers",
    "kept_answers",
    "ledger",
    "ledger_days",
    "ledger_marks",
    "login_addresses",
    "login_failures",
    "mails",
    "sessions",
    "sniper_targets",
    "wanted_documents",
}
# Kept by number for each component, whatever the clock says.
BY_NUMBER = {
    "refused_files": ingest.MAX_REFUSED_FILES,
    "status_changes": watchdog.KEEP_CHANGES,
    "status_checks": watchdog.KEEP_SECONDS,
    "status_days": watchdog.KEEP_DAYS * 20,
    "status_hours": watchdog.KEEP_HOURS * 20,
}


def test_every_table_is_known_to_grow_or_to_be_bounded(clock: FixedClock) -> None:
    year = growth.begun(clock)
    assert set(year.rows()) == BY_DATA | BY_ACCOUNTS | FOR_EVER | OF_FEW_ROWS | BY_TIME | {*BY_NUMBER}
    year.app.db.close()


@pytest.mark.slow
def test_what_time_makes_grow_stays_bounded_through_a_year(clock: FixedClock, tmp_path: Path) -> None:
    year = growth.begun(
        clock, ledger_dir=str(tmp_path), usage_days=366, targets_kept=20, events_kept=50, watchdog_interval=86_400
    )
    counts = []
    for day in range(1, 61):
        year.day()
        clock.advance(9 * 86_400)
        if day % 10 == 0:
            counts.append(year.rows())
    # A year and a half, of which the first four hundred days fill what is kept for longest.
    early, late = counts[-3], counts[-1]
    assert {name: (early[name], late[name]) for name in BY_TIME if late[name] > early[name] * 1.1 + 5} == {}
    # And none of it is empty because nothing was ever written.
    assert {name for name in BY_TIME if not any(count[name] for count in counts)} <= {"login_failures"}
    assert {name for name in OF_FEW_ROWS if late[name] > 20} == set()
    assert {name for name, most in BY_NUMBER.items() if late[name] > most} == set()
    assert late["ledger_archives"] > 0
    year.app.db.close()


def test_operations_names_every_setting_that_bounds_a_table() -> None:
    section = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text().split("## Growth")[1].split("\n## ")[0]
    bounds = ("_kept", "_days", "_kept_days", "documents_bytes", "exhibits_bytes")
    setting_names = {f"FINAPI_{setting.name.upper()}" for setting in list_settings() if setting.name.endswith(bounds)}
    setting_names -= {"FINAPI_FOLLOW_DAYS"}  # how far back something is fetched, not how long it is kept
    assert {name for name in setting_names if f"`{name}`" not in section} == set()
