"""Changes of stakes with legal significance: conversions between 13D and 13G, and crossings of thresholds.

An owner of more than five per cent who does not want to influence the company files the shorter 13G. If it changes its
mind, its next schedule is a 13D: a conversion. A crossing is a filing by which the lead's percentage of the class has
passed a threshold since its previous filing.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.records import OneOf, Time, build_record, format_cik
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership.filing_windows import UNDATED, FilingWindow
from finapi.store.db import Transaction

THRESHOLDS = ("5", "10", "15", "20", "25", "50")


class ScheduleConversion(TypedDict):
    """A 13D whose lead previously filed a 13G, or the reverse."""

    filerCik: str | None
    filerName: str
    issuerCik: str
    issuerTicker: str | None
    priorFormType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    currentFormType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    direction: Literal["13G_TO_13D", "13D_TO_13G"]
    priorAccession: str
    currentAccession: str
    convertedAt: Time | None


def list_conversions(
    tx: Transaction, window: FilingWindow, limit: int, offset: int
) -> tuple[list[ScheduleConversion], int]:
    """Return a page of conversions, the latest first, and the number of all.

    The window has no last day.
    """
    rows = tx.list_rows("schedule_conversions", since=window.since, limit=limit, offset=offset)
    conversions = [
        build_record(ScheduleConversion, row, filerCik=format_cik(row["cik"]), issuerCik=f"{row['issuer_cik']:010}")
        for row in rows
    ]
    return conversions, int(tx.find_value("count_schedule_conversions", since=window.since))


def count_undated_conversions(tx: Transaction, window: FilingWindow) -> int:
    """Return the number of conversions left out of the window because their filing day is unknown."""
    return int(tx.find_value("count_undated_conversions")) if window.leaves_out_undated else 0


class ThresholdCrossing(TypedDict):
    """A filing by which its lead's percentage of a class passed a threshold since the lead's previous filing.

    A first filing crosses five per cent upwards, because a schedule is due above that. An amendment crosses no
    threshold if its previous filing is not stored or states no figure.
    """

    accessionNumber: str
    filedAt: Time | None
    issuerCik: str
    issuerTicker: str | None
    filerCik: str | None
    filerName: str
    threshold: int
    direction: Literal["up", "down"]
    priorPercent: Annotated[Decimal | None, "null: a first filing."]
    currentPercent: Decimal


class CrossingFilters(NamedTuple):
    """The filters of a list of crossings."""

    issuer: int | None = None  # CIK
    window: FilingWindow = FilingWindow()
    threshold: str | None = None  # One of THRESHOLDS.
    direction: str | None = None  # "up" or "down".


def list_crossings(
    tx: Transaction, filters: CrossingFilters, limit: int, offset: int
) -> tuple[list[ThresholdCrossing], int]:
    """Return a page of crossings, and their total number.

    The latest filing comes first, and within a filing the highest threshold. A filing may pass several thresholds.
    """
    thresholds = THRESHOLDS if filters.threshold is None else (filters.threshold,)
    parameters = {
        "thresholds": json.dumps([int(threshold) for threshold in thresholds]),
        "direction": filters.direction,
        "issuer": filters.issuer,
        "since": filters.window.since,
        "until": filters.window.until,
    }
    rows = tx.list_rows("threshold_crossings", parameters, limit=limit, offset=offset)
    crossings = [
        build_record(ThresholdCrossing, row, filerCik=format_cik(row["cik"]), issuerCik=f"{row['issuer_cik']:010}")
        for row in rows
    ]
    return crossings, int(tx.find_value("count_threshold_crossings", parameters))


def count_undated_crossings(tx: Transaction, filters: CrossingFilters) -> int:
    """Return the number of crossings left out of the window because their filing day is unknown."""
    if not filters.window.leaves_out_undated:
        return 0
    _, total = list_crossings(tx, filters._replace(window=UNDATED), limit=1, offset=0)
    return total
