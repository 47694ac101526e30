"""The syntax of concept names and numbers in XBRL, for modules that read stored facts and need none of the parsers."""

from __future__ import annotations

import re

# A number as XML Schema writes decimals and doubles. The exponent has at most two digits: a caller that writes out
# 1E999999999 would need a gigabyte.
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")

# The prefixes of all taxonomies that are published for filings. Any other prefix is a filer's own.
STANDARD_PREFIXES = {
    "us-gaap",
    "ifrs-full",
    "dei",
    "srt",
    "cef",
    "country",
    "currency",
    "cyd",
    "ecd",
    "exch",
    "ffd",
    "fnd",
    "invest",
    "naics",
    "oef",
    "rr",
    "rxp",
    "sbs",
    "sic",
    "snj",
    "spac",
    "sro",
    "stpr",
    "us-types",
    "vip",
}


def is_extension(concept: str) -> bool:
    """Return True if a concept is the filer's own."""
    return concept.partition(":")[0] not in STANDARD_PREFIXES
