"""What the name and the class of a security in a 13F table tell: a key to compare names by, a group, a class.

Managers copy names from the SEC's list of 13F securities, in capitals and cut short ("AMERICAN ELEC PWR CO
INC"): only a name that is the company's own once its legal form is taken off is taken for the company.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z0-9]+")
# Legal forms, articles and the list's own tails; never part of what tells two companies apart.
_FORMS = {"INC", "INCORPORATED", "CORP", "CORPORATION", "CO", "COMPANY", "LTD", "LIMITED", "PLC", "LLC", "LP"}
_FORMS |= {"SA", "NV", "AG", "SE", "THE", "NEW", "DEL", "DE", "COM"}
_SPELLINGS = {"AND": "", "HLDGS": "HOLDINGS", "HLDG": "HOLDING", "GRP": "GROUP", "INTL": "INTERNATIONAL"}
_SPELLINGS |= {"FINL": "FINANCIAL", "TECHNOLOGY": "TECHNOLOGIES", "TECH": "TECHNOLOGIES", "SYS": "SYSTEMS"}
_SPELLINGS |= {"BANCORPORATION": "BANCORP", "LABS": "LABORATORIES", "PETE": "PETROLEUM", "SVCS": "SERVICES"}

_CLASS = re.compile(r"\b(?:CL|CLASS|SER|SERIES|STOCK)\s+([A-Z])\b")

STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER = "Stocks", "ETFs", "Preferred", "Warrants", "Debt", "Other"
GROUPS = (STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER)
# The first that matches the class, or for a fund the issuer.
_TITLES = (
    (DEBT, re.compile(r"\b(?:NOTE|NOTES|NT|BOND|BONDS|DEBENTURE|DBCV|SDCV|MTNF|CONV BD)\b|%|\bDUE\b")),
    (WARRANTS, re.compile(r"\*W EXP|\b(?:WT|WTS|WARRANT|WARRANTS|RIGHT|RIGHTS|RT)\b")),
    (PREFERRED, re.compile(r"\b(?:PFD|PREF|PREFERRED|PRF|CONV PFD)\b|\bPERP\b")),
    (OTHER, re.compile(r"\b(?:UNIT|UNITS)\b")),
)
_FUND = re.compile(r"\b(?:ETF|ETFS|ETN|ISHARES|SPDR|PROSHARES|INVESCO QQQ|INDEX FD|INDEX FDS|ETF TR|WISDOMTREE)\b")
_SHARES = re.compile(
    r"\b(?:COM|COMMON|STOCK|SHS|SHARES|SHARE|ORD|ADR|ADS|CL|CLASS|CAP STK|SPON|SPONSORED|REIT|STK|NY REG)\b"
)

# More words of a name than any search needs; a hostile name must not become a thousand rows.
_MAX_WORDS = 12


def words(name: str) -> list[str]:
    """The words of a name in capitals, each once, punctuation gone; at most twelve."""
    return list(dict.fromkeys(_WORD.findall(name.upper().replace("'", "").replace(".", ""))))[:_MAX_WORDS]


def key(name: str) -> str:
    """What is left of a name without spaces, punctuation and legal form; empty when nothing is.

    "Amazon.com, Inc." and "AMAZON COM INC" have the same key.
    """
    spelled = [_SPELLINGS.get(word, word) for word in _WORD.findall(name.upper().replace("'", ""))]
    kept = [word for word in spelled if word not in _FORMS] or spelled
    return "".join(kept)[:120]


def class_letter(title: str) -> str | None:
    """The letter of a share class: B of "CL B NEW" and of "CAP STK CL B"; None when the title has none."""
    found = _CLASS.search(title.upper())
    return found[1] if found else None


def group(issuer: str, title: str) -> str:
    """Which of :data:`GROUPS` a security is of, by its class and its issuer's name."""
    title, issuer = title.upper(), issuer.upper()
    for name, pattern in _TITLES:
        if pattern.search(title):
            return name
    if _FUND.search(issuer) or _FUND.search(title):
        return ETFS
    return STOCKS if _SHARES.search(title) else OTHER
