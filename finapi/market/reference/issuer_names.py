"""Rules for the names of issuers and the titles of securities in 13F tables.

Managers copy names from the SEC's list of 13F securities, which writes them in capitals, abbreviated and cut: Wells
Fargo & Company is "WELLS FARGO & CO NEW". To compare such a name with a company's name, both are reduced to a *key*:

    "Amazon.com, Inc."  ->  "AMAZONCOM INC"
    "AMAZON COM INC"    ->  "AMAZONCOM INC"

A key consists of the *stem*, which is the name without spaces, punctuation, abbreviations, articles and legal form, and
the legal form after a space. A name that the table may have cut has a stem with ``*`` at its end. The query
``recompute_securities`` compares the keys and accepts only a name that belongs to exactly one company.

Keys, groups and class letters are stored with each security. A change of these rules therefore needs a migration that
computes them again.
"""

from __future__ import annotations

import re

_WORD_PATTERN = re.compile(r"[A-Z0-9]+")
# Legal forms by their spellings. They distinguish two companies of the same stem only if both names have one.
_LEGAL_FORMS = {
    "INC": "INC",
    "INCORPORATED": "INC",
    "CORP": "CORP",
    "CORPORATION": "CORP",
    "CO": "CO",
    "COMPANY": "CO",
    "COS": "CO",
    "COMPANIES": "CO",
    "LTD": "LTD",
    "LIMITED": "LTD",
    "PLC": "PLC",
    "LLC": "LLC",
    "LP": "LP",
    "SA": "SA",
    "SAB": "SA",
    "NV": "NV",
    "AG": "AG",
    "SE": "SE",
}
# Words that do not distinguish companies: articles, and what the SEC's list appends to names.
_IGNORED_WORDS = {"THE", "NEW", "DEL", "DE", "COM", "OF", "AND", "CV"}
# Abbreviations in the SEC's list and in 13F tables: the first spelling of each group replaces the others.
_SPELLING_VARIANTS = """
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
_SPELLINGS = {}
for _variants in _SPELLING_VARIANTS.split(","):
    for _variant in _variants.split():
        _SPELLINGS[_variant] = _variants.split()[0]
# The state that EDGAR appends to a conformed name: "WELLS FARGO & COMPANY/MN".
_STATE_SUFFIX = re.compile(r"/ ?[A-Z]{2,3} ?/?$")
# "S A" and "N V" are legal forms that a table writes with a space.
_SPACED_LEGAL_FORM = re.compile(r"\b([SN]) ([AV])\b")
# Filers and the SEC's list cut names: a name of this length or more may continue.
_MIN_CUT_CHARS = 26
_MAX_STEM_CHARS = 120

_CLASS_PATTERN = re.compile(r"\b(?:CL|CLASS|SER|SERIES|STOCK)\s+([A-Z])\b")

STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER = "Stocks", "ETFs", "Preferred", "Warrants", "Debt", "Other"
GROUPS = (STOCKS, ETFS, PREFERRED, WARRANTS, DEBT, OTHER)
# Groups by the title of class, in order: the first pattern that matches decides.
_GROUP_PATTERNS = (
    (DEBT, re.compile(r"\b(?:NOTE|NOTES|NT|BOND|BONDS|DEBENTURE|DBCV|SDCV|MTNF|CONV BD)\b|%|\bDUE\b")),
    (WARRANTS, re.compile(r"\*W EXP|\b(?:WT|WTS|WARRANT|WARRANTS|RIGHT|RIGHTS|RT)\b")),
    (PREFERRED, re.compile(r"\b(?:PFD|PREF|PREFERRED|PRF|CONV PFD)\b|\bPERP\b")),
    (OTHER, re.compile(r"^(?!.*\b(?:ADR|ADS)\b).*\b(?:UNIT|UNITS)\b")),
)
_FUND_PATTERN = re.compile(
    r"\b(?:ETF|ETFS|ETN|ISHARES|SPDR|PROSHARES|INVESCO QQQ|INDEX FD|INDEX FDS|ETF TR|WISDOMTREE)\b"
)
_SHARES_PATTERN = re.compile(
    r"\b(?:COM|COMMON|STOCK|SHS|SHARES|SHARE|ORD|ADR|ADS|CL|CLASS|CAP STK|SPON|SPONSORED|REIT|STK|NY REG)\b"
)

# No search needs more words of a name; without the limit a hostile name could become thousands of rows.
_MAX_WORDS = 12


def list_words(name: str) -> list[str]:
    """Return the distinct words of a name in capitals and without punctuation, at most twelve."""
    words = _WORD_PATTERN.findall(name.upper().replace("'", "").replace(".", ""))
    return list(dict.fromkeys(words))[:_MAX_WORDS]


def build_key(name: str) -> str:
    """Return the key of a name: its stem, a space and its legal form. The key is "" for a name without letters.

    A name that consists only of legal forms and ignored words keeps them as its stem.
    """
    normalised_name = _STATE_SUFFIX.sub("", name.upper().replace("'", "").rstrip())
    normalised_name = _SPACED_LEGAL_FORM.sub(r"\1\2", normalised_name)
    words = [_SPELLINGS.get(word, word) for word in _WORD_PATTERN.findall(normalised_name)]
    stem_words = [word for word in words if word not in _LEGAL_FORMS and word not in _IGNORED_WORDS]
    if not stem_words:
        return "".join(words)[:_MAX_STEM_CHARS]
    legal_forms = [_LEGAL_FORMS[word] for word in words if word in _LEGAL_FORMS]
    last_form = legal_forms[-1] if legal_forms else ""
    return f"{''.join(stem_words)[:_MAX_STEM_CHARS]} {last_form}".strip()


def build_issuer_key(name: str) -> str:
    """Return the key of a name in a 13F table; it ends in ``*`` if the table may have cut the name there."""
    words = name.upper().replace(".", "").split()
    if len(name.rstrip()) < _MIN_CUT_CHARS or words[-1] in _LEGAL_FORMS:
        return build_key(name)
    # The last word may be the beginning of a legal form, such as "INCORPOR".
    is_cut_form = len(words) > 1 and any(form.startswith(words[-1]) for form in _LEGAL_FORMS)
    if is_cut_form:
        words.pop()
    return build_stem(" ".join(words)) + "*"


def build_stem(name: str) -> str:
    """Return the key of a name without its legal form."""
    return build_key(name).partition(" ")[0]


def find_class_letter(title: str) -> str | None:
    """Return the letter of a share class ("B" for "CL B NEW" and "CAP STK CL B"), or None."""
    match = _CLASS_PATTERN.search(title.upper())
    return match[1] if match else None


def classify_security(issuer: str, title: str) -> str:
    """Return the member of :data:`GROUPS` that a security belongs to, by its title of class and its issuer."""
    title = title.upper()
    issuer = issuer.upper()
    for group, pattern in _GROUP_PATTERNS:
        if pattern.search(title):
            return group
    if _FUND_PATTERN.search(issuer) or _FUND_PATTERN.search(title):
        return ETFS
    return STOCKS if _SHARES_PATTERN.search(title) else OTHER
