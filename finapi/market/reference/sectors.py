"""Sectors and industries, derived from the SIC code that the SEC assigns to a company.

A SIC code such as 3571 belongs to a major group (35, its first two digits) and the group to a division (D,
manufacturing). finapi calls a division a sector and a major group an industry. The groups are those of the Standard
Industrial Classification Manual, 1987; the names in ``sectors.tsv`` are finapi's own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from finapi.core.errors import invalid_param
from finapi.core.files import get_package_folder


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
    """Return the full name of a sector given by any name or letter. Raise ApiError INVALID_PARAM if unknown."""
    return _get_industry_of_sector(text).sector


def parse_division(text: str) -> str:
    """Return the letter of a sector given by any name or letter. Raise ApiError INVALID_PARAM if unknown."""
    return _get_industry_of_sector(text).division


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
    raise invalid_param("sector", "Unknown sector.", allowed=list(list_names()))


def _normalise(text: str) -> str:
    """Return the words of a name in lower case, without punctuation and "and"."""
    words = re.findall("[a-z]+", text.lower())
    return " ".join(word for word in words if word != "and")


# Names of the SIC manual and other common names of the divisions.
_DIVISIONS_BY_COMMON_NAME = {
    "transportation communications electric gas sanitary services": "e",
    "transportation public utilities": "e",
    "transportation": "e",
    "utilities": "e",
    "communications": "e",
    "finance": "h",
    "financials": "h",
    "financial services": "h",
    "real estate": "h",
    "agriculture": "a",
    "retail": "g",
    "wholesale": "f",
    "service": "i",
    "nonclassifiable establishments": "k",
    "nonclassified": "k",
}


@cache
def _load_industries() -> dict[int, Industry]:
    """Return the industries by major group."""
    text = (get_package_folder("finapi.market.reference") / "sectors.tsv").read_text(encoding="utf-8")
    industries = {}
    for line in text.splitlines()[1:]:
        group, division, sector, name = line.split("\t")
        industries[int(group)] = Industry(int(group), division, sector, name)
    return industries
