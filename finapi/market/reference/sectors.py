"""Sectors and industries from the SIC code that the SEC gives a company: its division and its major group.

Source of the groups: Standard Industrial Classification Manual, 1987; the names in ``sectors.tsv`` are ours.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from finapi.core.errors import invalid_param
from finapi.core.files import get_package_folder


class Industry(NamedTuple):
    """A major group: ``group`` is the first two digits of the SIC code, ``division`` the letter of its sector."""

    group: int
    division: str
    sector: str
    name: str


def for_sic(sic: int | None) -> tuple[str | None, str | None]:
    """Sector and industry of a SIC code; (None, None) without one or for a code of no group."""
    return for_group(None if sic is None else sic // 100)


def for_group(group: int | None) -> tuple[str | None, str | None]:
    """Sector and industry of a major group, the first two digits of a SIC code."""
    found = None if group is None else _groups().get(group)
    return (found.sector, found.name) if found else (None, None)


def find_sector_name(letter: str | None) -> str | None:
    """The name of a division's sector."""
    return next((one.sector for one in _groups().values() if one.division == letter), None)


def find_industry_name(group: int | None) -> str | None:
    """The name of a major group's industry."""
    return for_group(group)[1]


def parse_division(text: str) -> str:
    """The letter of a sector that is given by name or letter, in any case; INVALID_PARAM for another."""
    return _sector(text).division


def list_names(of: str = "sector") -> tuple[str, ...]:
    """The names of all sectors, or (of "division") their letters."""
    return tuple(dict.fromkeys(getattr(one, of) for one in _groups().values()))


def parse_sector(text: str) -> str:
    """The name of a sector that is given so."""
    return _sector(text).sector


def parse_group(text: str) -> int:
    """The major group of an industry that is given by name or two digits; INVALID_PARAM for another."""
    wanted = text.strip().casefold()
    for one in _groups().values():
        if wanted in (f"{one.group:02}", one.name.casefold()):
            return one.group
    raise invalid_param("industry", "Unknown industry.", allowed=[one.name for one in _groups().values()])


def _sector(text: str) -> Industry:
    wanted = _squeezed(text)
    wanted = _CALLED.get(wanted, wanted)
    for one in _groups().values():
        if wanted in (one.division.lower(), _squeezed(one.sector)):
            return one
    raise invalid_param("sector", "Unknown sector.", allowed=list(list_names()))


def _squeezed(text: str) -> str:
    """The words of a name without punctuation and "and"."""
    return " ".join(word for word in re.findall("[a-z]+", text.lower()) if word != "and")


# What the divisions of the SIC manual, and their sectors, are commonly called.
_CALLED = {
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
def _groups() -> dict[int, Industry]:
    text = (get_package_folder("finapi.market.reference") / "sectors.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {int(number): Industry(int(number), letter, sector, name) for number, letter, sector, name in rows}
