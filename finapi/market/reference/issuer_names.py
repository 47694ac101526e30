"""What the name and the class of a security in a 13F table tell: a key to compare names by, a group, a class.

Managers copy names from the SEC's list of 13F securities, in capitals, shortened and cut ("AMERICAN ELEC PWR CO
INC"): only a name that is one company's alone, with its words written out, is taken for the company.

What these rules tell is stored with a security when its name is first told: a change of them needs a migration that
tells it anew.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z0-9]+")
# Legal forms, which tell two companies of one name apart only when both are said; articles and the list's own tails.
_FORMS = {"INC": "INC", "INCORPORATED": "INC", "CORP": "CORP", "CORPORATION": "CORP", "CO": "CO", "COMPANY": "CO"}
_FORMS |= {"LTD": "LTD", "LIMITED": "LTD", "PLC": "PLC", "LLC": "LLC", "LP": "LP", "SA": "SA", "NV": "NV", "AG": "AG"}
_FORMS |= {"SE": "SE", "SAB": "SA", "COS": "CO", "COMPANIES": "CO"}
_TAILS = {"THE", "NEW", "DEL", "DE", "COM", "OF", "AND", "CV"}
# How the SEC's list of 13F securities and filers shorten words: the first spelling of each stands for the others.
_SPELLED = """
AMERICAN AMER, BANCORP BANCORPORATION, BANK BK, CAPITAL CAP, CENTERS CTRS CENTER CTR, CHEMICAL CHEM CHEMS CHEMICALS,
COMMUNICATIONS COMMUNICATION COMM COMMUNICATNS, CONSOLIDATED CONS CONSOL CONSLD, DEVELOPMENT DEV, ELECTRIC ELEC,
ENERGY ENGY, ENTERTAINMENT ENTMT, EXPLORATION EXPL, FINANCIAL FINL FINCL, GENERAL GEN, GROUP GRP GP, HEALTH HLTH,
HOLDINGS HLDGS HLDG HOLDING, INDUSTRIES INDS INDUSTRY, INDUSTRIAL INDL, INSTRUMENTS INSTRS INSTRUMENT, INSURANCE
INS, INTERNATIONAL INTL INTERNATL, INVESTMENT INVT INVESTMENTS INVTS, LABORATORIES LABS LABORATORY LAB, MACHINES
MACHS, MANAGEMENT MGMT MGMNT, MANUFACTURING MFG, MATERIALS MATLS, MEDICAL MED, MILLS MLS, MORTGAGE MTG, MOTORS MTRS
MOTOR MTR, NATIONAL NATL, PACIFIC PAC, PARTNERS PARTNER PTNRS, PETROLEUM PETE, PHARMACEUTICALS PHARMACEUTICAL PHARM
PHARMA, POWER PWR, PRODUCTS PRODS PRODUCT PROD, PROPERTIES PPTYS PROPERTY PPTY, REALTY RLTY, RESOURCES RES RESOURCE,
RAILWAY RY, SCIENCES SCIENCE SCI, SEMICONDUCTOR SEMICONDUCTORS SEMICON, SERVICES SVCS SVC SERVICE, SOLUTIONS SOLUTNS
SOLUTION, SOUTHERN SOUTHN, STATES STS, STEEL STL, STORES STRS, STREET STR, SYSTEMS SYS SYSTEM, TECHNOLOGIES
TECHNOLOGY TECH, TELECOMMUNICATIONS TELECOM, TRANSPORTATION TRANSN, TRUST TR, UNITED UTD, UTILITIES UTILS UTIL,
WATER WTR, WESTERN WESTN, WHOLESALE WHSL, WORKS WKS,
"""
_SPELLINGS = {short: word.split()[0] for word in _SPELLED.split(",") for short in word.split()}
# The state that EDGAR conforms a name with: "WELLS FARGO & COMPANY/MN".
_STATE = re.compile(r"/ ?[A-Z]{2,3} ?/?$")
# Filers and the list write names in so many characters: one that is as long may go on.
_CUT = 26

_CLASS = re.compile(r"\b(?:CL|CLASS|SER|SERIES|STOCK)\s+([A-Z])\b")

STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER = "Stocks", "ETFs", "Preferred", "Warrants", "Debt", "Other"
GROUPS = (STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER)
# The first that matches the class, or for a fund the issuer.
_TITLES = (
    (DEBT, re.compile(r"\b(?:NOTE|NOTES|NT|BOND|BONDS|DEBENTURE|DBCV|SDCV|MTNF|CONV BD)\b|%|\bDUE\b")),
    (WARRANTS, re.compile(r"\*W EXP|\b(?:WT|WTS|WARRANT|WARRANTS|RIGHT|RIGHTS|RT)\b")),
    (PREFERRED, re.compile(r"\b(?:PFD|PREF|PREFERRED|PRF|CONV PFD)\b|\bPERP\b")),
    (OTHER, re.compile(r"^(?!.*\b(?:ADR|ADS)\b).*\b(?:UNIT|UNITS)\b")),
)
_FUND = re.compile(r"\b(?:ETF|ETFS|ETN|ISHARES|SPDR|PROSHARES|INVESCO QQQ|INDEX FD|INDEX FDS|ETF TR|WISDOMTREE)\b")
_SHARES = re.compile(
    r"\b(?:COM|COMMON|STOCK|SHS|SHARES|SHARE|ORD|ADR|ADS|CL|CLASS|CAP STK|SPON|SPONSORED|REIT|STK|NY REG)\b"
)

# More words of a name than any search needs; a hostile name must not become a thousand rows.
_MAX_WORDS = 12


def list_words(name: str) -> list[str]:
    """The words of a name in capitals, each once, punctuation gone; at most twelve."""
    return list(dict.fromkeys(_WORD.findall(name.upper().replace("'", "").replace(".", ""))))[:_MAX_WORDS]


def build_key(name: str) -> str:
    """What is left of a name without spaces, punctuation and tails, and after a space its legal form.

    "Amazon.com, Inc." and "AMAZON COM INC" have the same key; empty when nothing is left.
    """
    plain = re.sub(r"\b([SN]) ([AV])\b", r"\1\2", _STATE.sub("", name.upper().replace("'", "").rstrip()))
    found = [_SPELLINGS.get(word, word) for word in _WORD.findall(plain)]
    kept = [word for word in found if word not in _FORMS and word not in _TAILS]
    form = next((_FORMS[word] for word in reversed(found) if word in _FORMS), "") if kept else ""
    return f"{''.join(kept or found)[:120]} {form}".strip()


def build_issuer_key(name: str) -> str:
    """The key of a name in a 13F table. With ``*`` at its end the name may have been cut there."""
    words = name.upper().replace(".", "").split()
    if len(name.rstrip()) < _CUT or words[-1] in _FORMS:
        return build_key(name)
    cut_form = len(words) > 1 and any(form.startswith(words[-1]) for form in _FORMS)
    return build_stem(" ".join(words[:-1] if cut_form else words)) + "*"


def build_stem(name: str) -> str:
    """The key of a name without its legal form."""
    return build_key(name).partition(" ")[0]


def find_class_letter(title: str) -> str | None:
    """The letter of a share class: B of "CL B NEW" and of "CAP STK CL B"; None when the title has none."""
    found = _CLASS.search(title.upper())
    return found[1] if found else None


def classify_security(issuer: str, title: str) -> str:
    """Which of :data:`GROUPS` a security is of, by its class and its issuer's name."""
    title, issuer = title.upper(), issuer.upper()
    for name, pattern in _TITLES:
        if pattern.search(title):
            return name
    if _FUND.search(issuer) or _FUND.search(title):
        return ETFS
    return STOCKS if _SHARES.search(title) else OTHER
