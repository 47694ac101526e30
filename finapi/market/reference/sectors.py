"""Sectors and industries, derived from the SIC code that the SEC assigns to a company.

A SIC code such as 3571 belongs to a major group (35, its first two digits) and the group to a division (D,
manufacturing). finapi calls a division a sector and a major group an industry. The groups are those of the Standard
Industrial Classification Manual, 1987; the names in ``sectors.tsv`` are finapi's own.

Many services divide companies into eleven other sectors, such as Technology. ``common_sectors.tsv`` is finapi's mapping
of ranges of SIC codes to them. They are accepted as filters, but are not part of any answer.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import NamedTuple

from finapi.core.errors import invalid_param
from finapi.core.files import get_package_folder

MAX_SHOWN_CHARS = 40


class SectorFilter(NamedTuple):
    """The companies of a sector, given by the letter of a division or by ranges of SIC codes (first, last)."""

    name: str
    division: str | None
    sic_ranges: tuple[tuple[int, int], ...]

    def includes(self, sic: int | None) -> bool:
        """Return True if a company with this SIC code is in the sector."""
        if self.division is not None:
            return get_names_of_sic(sic)[0] == self.name
        return sic is not None and any(first <= sic <= last for first, last in self.sic_ranges)

    def render_ranges(self) -> str | None:
        """Return the ranges as a JSON list for a query, or None for a division."""
        return None if self.division is not None else json.dumps(self.sic_ranges)


class Industry(NamedTuple):
    """A major group of the SIC, with the letter of its division and the name of its sector."""

    group: int
    division: str
    sector: str
    name: str


def get_names_of_sic(sic: int | None) -> tuple[str | None, str | None]:
    """Return the names of the sector and industry of a SIC code, or (None, None) if it has none."""
    return get_names_of_group(None if sic is None else sic // 100)


def get_names_of_group(group: int | None) -> tuple[str | None, str | None]:
    """Return the names of the sector and industry of a major group, or (None, None) if it does not exist."""
    industry = None if group is None else _load_industries().get(group)
    return (None, None) if industry is None else (industry.sector, industry.name)


def find_sector_name(division: str | None) -> str | None:
    """Return the name of a division's sector, or None for an unknown letter."""
    names = (industry.sector for industry in _load_industries().values() if industry.division == division)
    return next(names, None)


def find_industry_name(group: int | None) -> str | None:
    """Return the name of a major group's industry, or None for an unknown group."""
    return get_names_of_group(group)[1]


def list_names() -> tuple[str, ...]:
    """Return the names of all sectors."""
    return tuple(dict.fromkeys(industry.sector for industry in _load_industries().values()))


def list_divisions() -> tuple[str, ...]:
    """Return the letters of all divisions."""
    return tuple(dict.fromkeys(industry.division for industry in _load_industries().values()))


def parse_sector(text: str) -> str:
    """Return the full name of a SIC sector given by any name or letter. Raise ApiError INVALID_PARAM if unknown."""
    return _get_industry_of_sector(text).sector


def parse_filter(text: str) -> SectorFilter:
    """Return the filter for a SIC sector or a common sector, given by name or letter.

    Raise ApiError INVALID_PARAM for an unknown one.
    """
    for name, sic_ranges in _load_common_sectors().items():
        if _normalise(text) == _normalise(name):
            return SectorFilter(name, None, sic_ranges)
    industry = _get_industry_of_sector(text)
    return SectorFilter(industry.sector, industry.division, ())


def list_common_names() -> tuple[str, ...]:
    """Return the names of the common sectors."""
    return tuple(_load_common_sectors())


def parse_group(text: str) -> int:
    """Return the major group of an industry given by name or two digits. Raise ApiError INVALID_PARAM if unknown."""
    normalised_text = text.strip().casefold()
    industries = _load_industries().values()
    for industry in industries:
        if normalised_text in (f"{industry.group:02}", industry.name.casefold()):
            return industry.group
    raise invalid_param("industry", "Unknown industry.", allowed=[industry.name for industry in industries])


def _get_industry_of_sector(text: str) -> Industry:
    """Return one of the industries of a sector, which has the sector's name and letter.

    Raise ApiError INVALID_PARAM for an unknown sector.
    """
    normalised_text = _normalise(text)
    name_or_letter = _DIVISIONS_BY_COMMON_NAME.get(normalised_text, normalised_text)
    for industry in _load_industries().values():
        if name_or_letter in (industry.division.lower(), _normalise(industry.sector)):
            return industry
    if any(normalised_text == _normalise(name) for name in _load_common_sectors()):
        message = f"{text[:MAX_SHOWN_CHARS]} divides some of these industries; use a sector of the SIC."
        raise invalid_param("sector", message, allowed=list(list_names()))
    raise invalid_param(
        "sector", f"{text[:MAX_SHOWN_CHARS]} is not a known sector.", allowed=[*list_names(), *_load_common_sectors()]
    )


def _normalise(text: str) -> str:
    """Return the words of a name in lower case, without punctuation and "and"."""
    words = re.findall("[a-z]+", text.lower())
    return " ".join(word for word in words if word != "and")


# Names of the SIC manual and other common names of the divisions.
_DIVISIONS_BY_COMMON_NAME = {
    "transportation communications electric gas sanitary services": "e",
    "transportation public utilities": "e",
    "transportation": "e",
    "communications": "e",
    "finance": "h",
    "financials": "h",
    "agriculture": "a",
    "retail": "g",
    "wholesale": "f",
    "service": "i",
    "nonclassifiable establishments": "k",
    "nonclassified": "k",
}


@cache
def _load_common_sectors() -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the ranges of SIC codes of the common sectors, by name."""
    text = (get_package_folder("finapi.market.reference") / "common_sectors.tsv").read_text(encoding="utf-8")
    ranges_by_name: dict[str, list[tuple[int, int]]] = {}
    for line in text.splitlines()[1:]:
        first, last, name = line.split("\t")
        ranges_by_name.setdefault(name, []).append((int(first), int(last)))
    return {name: tuple(ranges) for name, ranges in ranges_by_name.items()}


@cache
def _load_industries() -> dict[int, Industry]:
    """Return the industries by major group."""
    text = (get_package_folder("finapi.market.reference") / "sectors.tsv").read_text(encoding="utf-8")
    industries = {}
    for line in text.splitlines()[1:]:
        group, division, sector, name = line.split("\t")
        industries[int(group)] = Industry(int(group), division, sector, name)
    return industries
