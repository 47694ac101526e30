"""Who an insider is: officers' titles in one spelling, how high they stand, persons and entities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from finapi.edgar.ownership_forms import Owner, OwnershipForm

DIRECTOR, OFFICER, TEN_PERCENT, OTHER, C_SUITE = 1, 2, 4, 8, 16


class Title(NamedTuple):
    """A title: its standard spelling, what it is about, 1 (chief executive) to 9, and whether C-suite.

    ``named`` says that Item 402(a)(3) of Regulation S-K makes the holder a named executive officer: that of
    the chief executive and the chief financial officer; of everybody else a form cannot tell (None).
    """

    name: str
    category: str
    rank: int
    is_c_suite: bool
    is_named_executive: bool | None


_CHIEFS = {
    "operating": ("Chief Operating Officer", "operations", 3),
    "accounting": ("Chief Accounting Officer", "finance", 4),
    "technology": ("Chief Technology Officer", "technology", 4),
    "technical": ("Chief Technology Officer", "technology", 4),
    "information": ("Chief Information Officer", "technology", 4),
    "legal": ("Chief Legal Officer", "legal", 4),
    "compliance": ("Chief Compliance Officer", "legal", 4),
    "marketing": ("Chief Marketing Officer", "commercial", 4),
    "commercial": ("Chief Commercial Officer", "commercial", 4),
    "revenue": ("Chief Revenue Officer", "commercial", 4),
    "product": ("Chief Product Officer", "technology", 4),
    "people": ("Chief People Officer", "people", 4),
    "human resources": ("Chief Human Resources Officer", "people", 4),
    "administrative": ("Chief Administrative Officer", "operations", 4),
    "medical": ("Chief Medical Officer", "science", 4),
    "scientific": ("Chief Scientific Officer", "science", 4),
    "science": ("Chief Scientific Officer", "science", 4),
    "investment": ("Chief Investment Officer", "finance", 4),
    "risk": ("Chief Risk Officer", "finance", 4),
    "credit": ("Chief Credit Officer", "finance", 4),
    "strategy": ("Chief Strategy Officer", "executive", 4),
    "business": ("Chief Business Officer", "commercial", 4),
}

# The first that matches names the title; a president of a division is none of the company. Letters that stand
# for two offices are given as both: a form does not tell which.
_TITLES: tuple[tuple[re.Pattern[str], Title], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), title)
    for pattern, title in (
        (
            r"\bco-?\s?ceo\b|\bceo\b|chief exec\w*|principal exec\w*",
            Title("Chief Executive Officer", "executive", 1, True, True),
        ),
        (r"\bcfo\b|chief fin\w*|principal fin\w*", Title("Chief Financial Officer", "finance", 3, True, True)),
        (r"\bcoo\b", Title("Chief Operating Officer", "operations", 3, True, None)),
        *(
            (rf"\bchief\b[^,;]{{0,40}}\b{word}\b", Title(name, category, rank, True, None))
            for word, (name, category, rank) in _CHIEFS.items()
        ),
        (r"\bcto\b", Title("Chief Technology Officer", "technology", 4, True, None)),
        (r"\bcio\b", Title("Chief Information or Investment Officer", "executive", 4, True, None)),
        (r"\bcmo\b", Title("Chief Marketing or Medical Officer", "executive", 4, True, None)),
        (r"\bclo\b", Title("Chief Legal Officer", "legal", 4, True, None)),
        (r"\bcao\b", Title("Chief Administrative or Accounting Officer", "executive", 4, True, None)),
        (r"\bchief\b.*\bofficer\b", Title("Other Chief Officer", "executive", 4, True, None)),
        (r"\bexec\w*\s+chair\w*", Title("Executive Chair", "executive", 2, True, None)),
        (
            r"(?<!vice )(?<!vice-)\bpresident\b"
            r"(?!\s*(?:of|,|-|–|&)?\s*\w*\s*(?:division|segment|group|north|europe|asia|international))",
            Title("President", "executive", 2, True, None),
        ),
        (r"\bgeneral counsel\b|\bgc\b", Title("General Counsel", "legal", 5, False, None)),
        (
            r"\bevp\b|exec\w*\.?\s+(?:vice[- ]pres\w*|v\.?p\.?)",
            Title("Executive Vice President", "executive", 5, False, None),
        ),
        (
            r"\bsvp\b|(?:senior|sr\.?)\s+(?:vice[- ]pres\w*|v\.?p\.?)",
            Title("Senior Vice President", "executive", 6, False, None),
        ),
        (r"\bvp\b|vice[- ]pres\w*", Title("Vice President", "executive", 7, False, None)),
        (r"president", Title("President of a Division", "executive", 6, False, None)),
        (r"\bcontroller\b|comptroller", Title("Controller", "finance", 8, False, None)),
        (r"\btreasurer\b", Title("Treasurer", "finance", 8, False, None)),
        (r"\bsecretary\b", Title("Secretary", "legal", 8, False, None)),
        (r"\bchair\w*", Title("Chair", "board", 2, False, None)),
    )
)
# A title of more than 30 characters stands in the remarks.
_ELSEWHERE = re.compile(r"\W*see\s+(?:the\s+)?remarks?\b.{0,40}", re.IGNORECASE)
_TOLD_AS = re.compile(r"^\W*(?:(?:officer'?s?\s+)?titles?)?\s*(?:of\s+[^:]{1,60})?[:\-\s]*", re.IGNORECASE)
_OTHER_OFFICER = Title("Other Officer", "other", 9, False, None)

_ENTITY = re.compile(
    r"\b(?:inc|incorporated|corp|corporation|co|company|companies|llc|l\.l\.c|llp|lp|l\.p|ltd|limited|plc|gmbh|ag|sa|nv"
    r"|n\.v|bv|fund|funds|partners|partnership|trust|trustee|holdings?|capital|management|advisors?|advisers?"
    r"|investments?|investors?|ventures?|associates|group|foundation|bank|equity|master|offshore|international"
    r"|estate|family|insurance|pension|plan|esop)\b\.?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def parse_title(text: str | None) -> Title | None:
    """The standard form of an officer's title; None without one."""
    if text is None:
        return None
    return next((found for pattern, found in _TITLES if pattern.search(text[:200])), _OTHER_OFFICER)


def list_owners(form: OwnershipForm) -> list[Owner]:
    """The owners of a form, each once; a title that refers to the remarks is what they say, where that is a title."""
    distinct = list({owner.cik: owner for owner in reversed(form.owners)}.values())[::-1]
    if len(distinct) > 1 or not _ELSEWHERE.fullmatch(distinct[0].officer_title or ""):
        return distinct
    sentences = re.split(r"[.;\n]", _TOLD_AS.sub("", form.remarks or ""), maxsplit=10)
    said = next((one.strip() for one in sentences if _is_title(one)), distinct[0].officer_title)
    return [replace(distinct[0], officer_title=said)]


def _is_title(text: str) -> bool:
    return len(text) <= 200 and parse_title(text) not in (None, _OTHER_OFFICER)


def is_entity(owner: Owner) -> bool:
    """Whether an owner is a company, fund or trust and not a person, by its name and its offices."""
    if owner.is_officer:
        return False
    return bool(_ENTITY.search(owner.name or ""))


def combine_roles(owners: Iterable[Owner]) -> int:
    """The relationships that any of these owners has, as bits."""
    bits = 0
    for owner in owners:
        bits |= DIRECTOR if owner.is_director else 0
        bits |= OFFICER if owner.is_officer else 0
        bits |= TEN_PERCENT if owner.is_ten_percent_owner else 0
        bits |= OTHER if owner.is_other else 0
        known = parse_title(owner.officer_title)
        bits |= C_SUITE if owner.is_officer and known is not None and known.is_c_suite else 0
    return bits
