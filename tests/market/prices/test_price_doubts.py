"""Doubtful days of prices: the future, weekends, closes outside high and low, and hundredfold jumps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.prices import price_csv, price_series, price_store
from tests.support.case_tables import run_each_case

MONDAY = "2024-01-01"


def store(app: App, text: str, *, today: str | None = "2024-12-31") -> str | None:
    """Store a file of the ticker X. Return the note of the ingest."""
    with app.db.write() as tx:
        price_file = price_csv.parse(text.encode(), "f", "x.csv")
        return price_store.upsert(tx, price_file, text.encode(), "X", today=today)[1]


def list_doubts(app: App) -> dict[str, str]:
    with app.db.read() as tx:
        series = price_series.find_series_of_ticker(tx, "X")
        assert series is not None
        rows = price_series.list_days(tx, series, first=None, last=None, limit=500, offset=0, adjusted=False)
    return {row["date"]: row["price_doubt"] for row in rows if row["price_doubt"] is not None}


def build_file(closes: Iterable[str], first_day: str = MONDAY) -> str:
    """Return a file with these closes on consecutive weekdays."""
    lines = ["date,close"]
    day = first_day
    for close in closes:
        while days.number(day) % 7 in (days.number("2024-01-06") % 7, days.number("2024-01-07") % 7):
            day = days.shift(day, 1)
        lines.append(f"{day},{close}")
        day = days.shift(day, 1)
    return "\n".join([*lines, ""])


def list_weekdays(count: int) -> list[str]:
    return [line.partition(",")[0] for line in build_file(["1"] * count).split()[1:]]


def test_future_days_and_weekends_are_doubtful(app: App) -> None:
    text = "date,close\n2024-01-05,10\n2024-01-06,10\n2024-01-07,10\n2024-01-08,10\n2024-01-09,10\n"
    assert store(app, text, today="2024-01-08") == "doubtful days: 3 (price_doubt)"
    marked = {"2024-01-06": "weekend", "2024-01-07": "weekend", "2024-01-09": "future_day"}
    assert list_doubts(app) == marked
    # The day stays doubtful when it has come, until a file of a later day confirms it.
    assert store(app, "date,close\n2024-01-10,10\n", today="2024-02-01") is None
    assert list_doubts(app) == marked
    assert store(app, "date,close\n2024-01-09,10\n2024-01-11,10\n", today="2024-02-01") is None
    assert list_doubts(app) == {"2024-01-06": "weekend", "2024-01-07": "weekend"}


@pytest.mark.parametrize(
    ("row", "doubt"),
    [
        ("10,12,9", None),
        ("12,12,9", None),
        ("12.1,12,9", "close_outside_range"),
        ("8.9,12,9", "close_outside_range"),
        ("10,9,12", "close_outside_range"),
        ("10,,9", None),
        ("10.000000000000002,10,9", None),
    ],
)
def test_close_outside_of_high_and_low_is_doubtful(app: App, row: str, doubt: str | None) -> None:
    store(app, f"date,close,high,low\n2024-01-02,{row}\n")
    assert list_doubts(app).get("2024-01-02") == doubt


@pytest.mark.parametrize(
    ("closes", "jumps"),
    [
        (["10", "10.1", "1010"], [2]),
        (["10", "1010", "10.2"], [1]),
        (["1010", "10", "10.1"], [0]),
        (["1000", "10"], [0, 1]),
        (["10"] * 12 + ["1000"] * 4 + ["10"] * 12, [12, 13, 14, 15]),
        (["10"] * 12 + ["0.1"] + ["10"] * 12, [12]),
        # A change that lasts is doubtful on its first day.
        (["10"] * 15 + ["1000"] * 15, [15]),
        (["10", "40", "10", "39"], []),
        (["10"] * 3 + ["500"], []),
        (["10"] * 3 + ["501"], [3]),
        (["10"], []),
    ],
)
def test_hundredfold_jump_is_doubtful(app: App, closes: Sequence[str], jumps: Sequence[int]) -> None:
    store(app, build_file(closes))
    weekdays = list_weekdays(len(closes))
    assert list_doubts(app) == {weekdays[index]: "hundredfold_jump" for index in jumps}


def test_split_explains_a_jump_also_if_it_is_stored_later(app: App) -> None:
    closes = ["10"] * 12 + ["1000"] * 12
    store(app, build_file(closes))
    day = list_weekdays(13)[12]
    assert list_doubts(app) == {day: "hundredfold_jump"}
    store(app, f"date,split\n{day},1:100\n")
    assert list_doubts(app) == {}


@run_each_case("portion", [1, 3, 7, 30])
def test_doubts_do_not_depend_on_portions(make_app: Any, portion: int) -> None:
    closes = ["10"] * 14 + ["1000"] * 3 + ["10"] * 8 + ["1100"] * 15
    complete_app, app = make_app(), make_app()
    store(complete_app, build_file(closes))
    lines = build_file(closes).split()[1:]
    for start in range(0, len(lines), portion):
        store(app, "\n".join(["date,close", *lines[start : start + portion], ""]))
    assert list_doubts(app) == list_doubts(complete_app) != {}


def test_close_that_is_a_jump_is_not_used_for_ratios(app: App) -> None:
    store(app, "date,close\n2024-01-02,10\n2024-01-03,1000\n2024-01-04,10.2\n")
    with app.db.read() as tx:
        close = price_series.find_close(tx, "X", "2024-01-03")
    assert close == price_series.Close("X", "2024-01-02", Decimal(10), "csv")
