"""Restatements: a later filing reports another value than the latest filing before it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.app import App
from finapi.market.statements import restatements
from tests.market.documents.test_announcements import list_events
from tests.support.brook_lamps_report import ACCESSION, build_report, store_report
from tests.support.case_tables import run_each_case

LATER = "0001234567-25-000009"


def list_restatement_events(app: App) -> list[Any]:
    return [data for event_type, data in list_events(app) if event_type == "restatement_detected"]


def test_a_different_value_in_a_later_filing_is_a_restatement(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue="950000"), LATER, "2025-05-01")
    (event,) = list_restatement_events(app)
    assert (event["accession_number"], event["change_count"]) == (LATER, 1)
    assert event["changes"] == [
        {
            "concept": "us-gaap:Revenues",
            "unit": "USD",
            "start_date": "2024-01-01",
            "end_date": "2024-12-31",
            "value": "950000",
            "previous_value": "1000000",
            "previous_accession": ACCESSION,
        }
    ]


@pytest.mark.parametrize("revenue", ["1000000", "1000000.00", "1000999"])
def test_a_value_within_the_precision_is_not_restated(app: App, revenue: str) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue=revenue, documents=7), LATER, "2025-05-01")
    assert list_restatement_events(app) == []


def test_an_older_filing_stored_later_restates_nothing(app: App) -> None:
    store_report(app, build_report(revenue="950000"), LATER, "2025-05-01")
    store_report(app, build_report())
    assert list_restatement_events(app) == []


def test_a_filing_of_unknown_day_restates_nothing(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue="950000"), LATER, None)
    assert list_restatement_events(app) == []


def test_other_documents_of_the_same_filing_restate_nothing(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue="950000"))
    assert list_restatement_events(app) == []


def test_only_the_latest_earlier_value_counts(app: App) -> None:
    store_report(app, build_report())
    store_report(app, build_report(revenue="950000"), LATER, "2025-05-01")
    store_report(app, build_report(revenue="950000", documents=7), "0001234567-25-000010", "2025-06-01")
    store_report(app, build_report(revenue="1000000", documents=8), "0001234567-25-000011", "2025-07-01")
    assert [event["accession_number"] for event in list_restatement_events(app)] == [LATER, "0001234567-25-000011"]
    assert list_restatement_events(app)[1]["changes"][0]["previous_accession"] == "0001234567-25-000010"


@run_each_case(
    "value, decimals, step",
    [
        ("110100000000", None, "100000000"),
        ("6.10", None, "0.1"),
        ("0", None, "0"),
        ("110087000000", "-6", "1000000"),
        ("6.10", "2", "0.01"),
        ("5", "INF", "0"),
    ],
)
def test_precision_is_stated_or_that_of_the_last_digit(value: str, decimals: str | None, step: str) -> None:
    assert restatements.get_precision_unit(Decimal(value), decimals) == Decimal(step)
