"""The clock of New York, and the way in which times are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from finapi.edgar import eastern_time
from tests.support.case_tables import run_each_case


@run_each_case(
    "local, utc",
    [
        ("2024-03-10T01:59:59", "2024-03-10T06:59:59.000Z"),  # The second Sunday of March, standard time.
        ("2024-03-10T02:30:00", "2024-03-10T07:30:00.000Z"),  # An hour that does not exist.
        ("2024-03-10T03:00:00", "2024-03-10T07:00:00.000Z"),
        ("2024-11-03T01:59:59", "2024-11-03T05:59:59.000Z"),  # The first Sunday of November, the first of two hours.
        ("2024-11-03T02:00:00", "2024-11-03T07:00:00.000Z"),
        ("2007-03-11T03:00:00", "2007-03-11T07:00:00.000Z"),  # The first year of the later rule.
        ("2007-11-04T01:00:00", "2007-11-04T05:00:00.000Z"),
        ("2006-03-12T12:00:00", "2006-03-12T17:00:00.000Z"),  # The last year of the earlier rule.
        ("2006-04-02T03:00:00", "2006-04-02T07:00:00.000Z"),
        ("2006-10-29T02:00:00", "2006-10-29T07:00:00.000Z"),
        ("2006-11-01T12:00:00", "2006-11-01T17:00:00.000Z"),
        ("1987-04-05T03:00:00", "1987-04-05T07:00:00.000Z"),
        ("1999-12-31T23:59:59", "2000-01-01T04:59:59.000Z"),
    ],
)
def test_time_at_the_edges_of_daylight_saving(local: str, utc: str) -> None:
    assert eastern_time.format_utc(eastern_time.to_utc(datetime.fromisoformat(local))) == utc


@pytest.mark.slow
def test_rules_agree_with_the_time_zone_database() -> None:
    try:
        zone = ZoneInfo("America/New_York")
    except ZoneInfoNotFoundError:
        pytest.skip("no time zone data on this host")
    local = datetime(1987, 1, 1)
    while local.year < 2040:
        moment = local.replace(tzinfo=zone).astimezone(UTC)
        assert eastern_time.to_utc(local) == moment, local
        assert eastern_time.from_utc(moment.replace(tzinfo=None)) == moment.astimezone(zone).replace(tzinfo=None), local
        local += timedelta(hours=5)


def test_time_before_1987_is_refused() -> None:
    with pytest.raises(ValueError, match="no daylight saving rule for 1986"):
        eastern_time.to_utc(datetime(1986, 12, 31))


def test_aware_time_is_refused() -> None:
    with pytest.raises(ValueError, match="must be naive"):
        eastern_time.to_utc(datetime(2024, 12, 31, tzinfo=UTC))
