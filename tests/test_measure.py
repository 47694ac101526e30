"""Tests of the measurement of accuracy (``python -m tests.measure``)."""

from __future__ import annotations

from tests.measure.agreement import count_quarters
from tests.support.case_tables import run_each_case


@run_each_case(
    "start, end, count",
    [
        (None, "2024-09-28", 0),
        ("2024-06-30", "2024-09-28", 1),
        ("2023-10-01", "2024-09-28", 4),
        ("2022-09-25", "2023-09-30", 4),
        ("2009-01-01", "2009-06-30", 2),
    ],
)
def test_periods_are_counted_in_quarters(start: str | None, end: str, count: int) -> None:
    assert count_quarters(start, end) == count
