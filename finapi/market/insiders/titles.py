"""Officers' titles in a standard spelling, the roles of owners, and the distinction between persons and entities.

Filers write the same title in many ways: "CEO", "Chief Exec. Officer", "President & CEO". :func:`parse_title` tries a
list of patterns in order and returns the title of the first that matches, with a rank from 1 (chief executive) to 9. So
"President & CEO" is a chief executive officer and not a president.

Roles are stored as bits (:data:`DIRECTOR`, :data:`OFFICER`, ...), so that a query can test several roles in one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from finapi.edgar.ownership_forms import Owner, OwnershipForm

# Bits of roles. Queries in sql/queries use the same numbers.
DIRECTOR, OFFICER, TEN_PERCENT, OTHER, C_SUITE = 1, 2, 4, 8, 16


class Title(NamedTuple):
    """An officer's title."""

    name: str  # The title in the standard spelling.
    category: str
    rank: int  # The rank, from 1 (chief executive) to 9.
    is_c_suite: bool
    # True for the chief executive and the chief financial officer, whom Item 402(a)(3) of Regulation S-K makes named
    # executive officers. None for all others, because a form does not say.
    is_named_executive: bool | None


# Name, category and rank of the chief officers, by the word between "chief" and "officer".
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

# The first pattern that matches decides. The president of a division is not the company's president. An ambiguous
# abbreviation, such as CIO, gets a title that names both offices.
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
# The title field holds 30 characters. For a longer title, filers write "See Remarks" and state the title in the
# remarks.
_SEE_REMARKS = re.compile(r"\W*see\s+(?:the\s+)?remarks?\b.{0,40}", re.IGNORECASE)
# The beginning of such remarks, for example "Officer's title: " or "Title of Ann Lamp: ".
_TITLE_PREFIX = re.compile(r"^\W*(?:(?:officer'?s?\s+)?titles?)?\s*(?:of\s+[^:]{1,60})?[:\-\s]*", re.IGNORECASE)
_OTHER_OFFICER = Title("Other Officer", "other", 9, False, None)
MAX_TITLE_LENGTH = 200

_ENTITY = re.compile(
    r"\b(?:inc|incorporated|corp|corporation|co|company|companies|llc|l\.l\.c|llp|lp|l\.p|ltd|limited|plc|gmbh|ag|sa|nv"
    r"|n\.v|bv|fund|funds|partners|partnership|trust|trustee|holdings?|capital|management|advisors?|advisers?"
    r"|investments?|investors?|ventures?|associates|group|foundation|bank|equity|master|offshore|international"
    r"|estate|family|insurance|pension|plan|esop)\b\.?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def parse_title(text: str | None) -> Title | None:
    """Return the standard form of an officer's title, or None if there is no title."""
    if text is None:
        return None
    for pattern, title in _TITLES:
        if pattern.search(text[:MAX_TITLE_LENGTH]):
            return title
    return _OTHER_OFFICER


def list_owners(form: OwnershipForm) -> list[Owner]:
    """Return the owners of a form, each CIK once.

    If the title of a single owner is "See Remarks", it is replaced by the first title in the remarks.
    """
    # Of several entries with the same CIK, use the first entry, at the position of the last one. Stored forms have
    # their owners in this order.
    first_by_cik = {owner.cik: owner for owner in reversed(form.owners)}
    owners = list(first_by_cik.values())[::-1]
    if len(owners) > 1 or not _SEE_REMARKS.fullmatch(owners[0].officer_title or ""):
        return owners
    remarks = _TITLE_PREFIX.sub("", form.remarks or "")
    for sentence in re.split(r"[.;\n]", remarks, maxsplit=10):
        if _is_title(sentence):
            return [replace(owners[0], officer_title=sentence.strip())]
    return owners


def _is_title(text: str) -> bool:
    return len(text) <= MAX_TITLE_LENGTH and parse_title(text) not in (None, _OTHER_OFFICER)


def is_entity(owner: Owner) -> bool:
    """Return True if an owner is a company, fund or trust and not a person, judged by its name and offices."""
    if owner.is_officer:
        return False
    return bool(_ENTITY.search(owner.name or ""))


def combine_roles(owners: Iterable[Owner]) -> int:
    """Return the bits of the roles that any of these owners has."""
    roles = 0
    for owner in owners:
        if owner.is_director:
            roles |= DIRECTOR
        if owner.is_officer:
            roles |= OFFICER
        if owner.is_ten_percent_owner:
            roles |= TEN_PERCENT
        if owner.is_other:
            roles |= OTHER
        title = parse_title(owner.officer_title)
        if owner.is_officer and title is not None and title.is_c_suite:
            roles |= C_SUITE
    return roles
