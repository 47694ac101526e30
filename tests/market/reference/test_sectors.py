"""Tests of the sectors of the SIC and of the eleven common sectors."""

from __future__ import annotations

import json

import pytest

from finapi.core.errors import ApiError
from finapi.market.reference import sectors
from tests.build import ROOT
from tests.support.case_tables import run_each_case

COMMON_NAMES = (
    "Basic Materials",
    "Communication Services",
    "Consumer Cyclical",
    "Consumer Defensive",
    "Energy",
    "Financial Services",
    "Healthcare",
    "Industrials",
    "Real Estate",
    "Technology",
    "Utilities",
)


def find_common_names(sic: int) -> list[str]:
    return [name for name in COMMON_NAMES if sectors.parse_filter(name).includes(sic)]


@run_each_case(
    "company, sic, sector",
    [
        ("Apple", 3571, "Technology"),
        ("Microsoft", 7372, "Technology"),
        ("NVIDIA", 3674, "Technology"),
        ("Pfizer", 2834, "Healthcare"),
        ("UnitedHealth", 6324, "Healthcare"),
        ("Walmart", 5331, "Consumer Defensive"),
        ("Coca-Cola", 2080, "Consumer Defensive"),
        ("Procter & Gamble", 2840, "Consumer Defensive"),
        ("Amazon", 5961, "Consumer Cyclical"),
        ("Ford", 3711, "Consumer Cyclical"),
        ("McDonald's", 5812, "Consumer Cyclical"),
        ("Exxon Mobil", 2911, "Energy"),
        ("Schlumberger", 1389, "Energy"),
        ("Duke Energy", 4931, "Utilities"),
        ("Waste Management", 4953, "Industrials"),
        ("Boeing", 3721, "Industrials"),
        ("Delta Air Lines", 4512, "Industrials"),
        ("JPMorgan Chase", 6021, "Financial Services"),
        ("Prologis", 6798, "Real Estate"),
        ("AT&T", 4813, "Communication Services"),
        ("Walt Disney", 7990, "Consumer Cyclical"),
        ("Netflix", 7841, "Communication Services"),
        ("Freeport-McMoRan", 1000, "Basic Materials"),
        ("Dow", 2821, "Basic Materials"),
    ],
)
def test_a_company_is_in_one_common_sector(company: str, sic: int, sector: str) -> None:
    assert find_common_names(sic) == [sector], company


def test_every_industry_of_the_sic_has_a_common_sector() -> None:
    assert sorted(sectors.list_common_names()) == sorted(COMMON_NAMES)
    filters = [sectors.parse_filter(name) for name in COMMON_NAMES]
    for sic in (*range(100, 970), *range(1000, 9000)):
        if sectors.get_names_of_sic(sic) != (None, None):
            assert sum(sector.includes(sic) for sector in filters) == 1, sic
    assert find_common_names(9995) == []
    assert not sectors.parse_filter("Technology").includes(None)


def test_a_filter_is_a_division_or_ranges_of_codes() -> None:
    division = sectors.parse_filter("d")
    assert (division.name, division.division, division.render_ranges()) == ("Manufacturing", "D", None)
    assert [division.includes(sic) for sic in (3571, 7372, None)] == [True, False, False]
    utilities = sectors.parse_filter(" UTILITIES ")
    assert (utilities.name, utilities.division) == ("Utilities", None)
    assert json.loads(utilities.render_ranges() or "") == [[4900, 4949], [4960, 4999]]
    assert sectors.parse_filter("Financial-Services").name == "Financial Services"


def test_an_unknown_sector_lists_the_known_ones() -> None:
    with pytest.raises(ApiError) as raised:
        sectors.parse_filter("Lamps" * 100)
    assert raised.value.message == f"{('Lamps' * 8)} is not a known sector."
    assert raised.value.details is not None
    assert {"Manufacturing", "Technology"} <= {*raised.value.details["allowed"]}


def test_sums_by_industry_take_no_common_sector() -> None:
    with pytest.raises(ApiError, match="Utilities divides some of these industries"):
        sectors.parse_sector("Utilities")
    assert sectors.parse_sector("finance") == sectors.parse_sector("H")


def test_the_glossary_has_the_table_of_common_sectors() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    for name in COMMON_NAMES:
        ranges = sectors.parse_filter(name).sic_ranges
        codes = ", ".join(f"{first:04}" if first == last else f"{first:04}-{last:04}" for first, last in ranges)
        assert f"| {name} | {codes} |" in glossary
