"""Earnings per share whose unit has numerator and denominator exchanged."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.app import App
from finapi.market.financials import company_books, metric_series
from finapi.market.financials.series_query import SeriesQuery
from tests.support.figures import build_companyfacts, store_companyfacts

CIK = 4711


def build_row(app: App, *figures: tuple[str, str, float]) -> dict[str, Any]:
    """Return the row of a year with these figures: concept, unit and value."""
    row = {"start": "2023-01-01", "end": "2023-12-31", "accn": "0000004711-24-000001", "form": "10-K"}
    row |= {"filed": "2024-02-20", "fy": 2023, "fp": "FY"}
    facts = [("us-gaap:NetIncomeLoss", "USD", 100), ("us-gaap:Revenues", "USD", 1000), *figures]
    document = build_companyfacts(CIK, "ACME", [(tag, unit, {**row, "val": value}) for tag, unit, value in facts])
    store_companyfacts(app, document)
    with app.db.read() as tx:
        query = SeriesQuery(metrics=("eps_basic", "eps_diluted"), provenance="summary")
        data, _ = metric_series.build_series(company_books.load(tx, CIK), query)
    series_row: dict[str, Any] = data["rows"][0]
    return series_row


BASIC, DILUTED = "us-gaap:EarningsPerShareBasic", "us-gaap:EarningsPerShareDiluted"


def test_an_inverted_unit_is_read_and_marked(app: App) -> None:
    row = build_row(app, (BASIC, "shares/USD", 0.3), (DILUTED, "USD/shares", 0.29))
    assert row["metrics"]["eps_basic"]["value"] == Decimal("0.3")
    assert row["metrics"]["eps_basic"]["marks"] == ["unit_inverted"]
    assert row["unit_inverted"] == ["eps_basic"]
    assert "marks" not in row["metrics"]["eps_diluted"]


def test_the_right_unit_beats_the_inverted_one(app: App) -> None:
    row = build_row(app, (BASIC, "shares/USD", 3.3), (BASIC, "USD/shares", 0.3))
    assert row["metrics"]["eps_basic"]["value"] == Decimal("0.3")
    assert "unit_inverted" not in row


@pytest.mark.parametrize("unit", ["shares/EUR", "shares", "EUR/shares"])
def test_other_units_are_not_read(app: App, unit: str) -> None:
    row = build_row(app, (BASIC, unit, 0.3))
    assert row["metrics"]["eps_basic"]["value"] is None
    assert row["metrics"]["eps_basic"]["reason_code"] == "other_unit"
