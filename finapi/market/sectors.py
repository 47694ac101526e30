"""Sectors and industries from the SIC code that the SEC gives a company: its division and its major group.

Source of the groups: Standard Industrial Classification Manual, 1987; the names in ``sectors.tsv`` are ours.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import NamedTuple

from finapi.errors import invalid_param


class Industry(NamedTuple):
    """A major group: ``group`` is the first two digits of the SIC code, ``division`` the letter of its sector."""

    group: int
    division: str
    sector: str
    name: str


def of(sic: int | None) -> tuple[str | None, str | None]:
    """Sector and industry of a SIC code; (None, None) without one or for a code of no group."""
    found = None if sic is None else _groups().get(sic // 100)
    return (found.sector, found.name) if found else (None, None)


def division(text: str) -> str:
    """The letter of a sector that is given by name or letter, in any case; INVALID_PARAM for another."""
    wanted = text.strip().casefold()
    for one in _groups().values():
        if wanted in (one.division.casefold(), one.sector.casefold()):
            return one.division
    names = list(dict.fromkeys(one.sector for one in _groups().values()))
    raise invalid_param("sector", "There is no such sector.", allowed=names)


def group(text: str) -> int:
    """The major group of an industry that is given by name or two digits; INVALID_PARAM for another."""
    wanted = text.strip().casefold()
    for one in _groups().values():
        if wanted in (f"{one.group:02}", one.name.casefold()):
            return one.group
    raise invalid_param(
        "industry", "There is no such industry.", allowed=[one.name for one in _groups().values()]
    )


def sector_of(letter: str | None) -> str | None:
    """The name of a division's sector."""
    return next((one.sector for one in _groups().values() if one.division == letter), None)


def industry_of(number: int | None) -> str | None:
    """The name of a major group's industry."""
    found = None if number is None else _groups().get(number)
    return found.name if found else None


@cache
def _groups() -> dict[int, Industry]:
    text = (resources.files("finapi.market") / "sectors.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {int(number): Industry(int(number), letter, sector, name) for number, letter, sector, name in rows}
