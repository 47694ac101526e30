"""Names in XBRL: concepts, the element ids of locators, and the roles of labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

from finapi.edgar.xml_reader import XmlReader

XBRLI = "http://www.xbrl.org/2003/instance"
LINK = "http://www.xbrl.org/2003/linkbase"
XLINK = "http://www.w3.org/1999/xlink"
XSI = "http://www.w3.org/2001/XMLSchema-instance"

# A number as XML Schema writes decimals and doubles. The exponent has two digits at most, because a caller
# who writes the value out in full would need a gigabyte for 1E999999999.
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")

# The namespaces of the taxonomies the SEC accepts, in all their years: http://fasb.org/us-gaap/2024,
# http://fasb.org/us-gaap-sup/2022q3, http://xbrl.us/us-gaap/2009-01-31, http://xbrl.sec.gov/dei/2014-01-31.
_STANDARD = re.compile(
    r"https?://(?:fasb\.org|xbrl\.us|xbrl\.sec\.gov)/([a-z][a-z-]*)/[0-9]{4}(?:q[1-4]|-[0-9]{2}-[0-9]{2})?/?"
)
_IFRS = re.compile(r"https?://xbrl\.ifrs\.org/taxonomy/[0-9]{4}-[0-9]{2}-[0-9]{2}/([a-z][a-z-]*)")

# The prefixes of all taxonomies that are published for filings; every other one is a filer's own.
STANDARD_PREFIXES = {
    *("us-gaap", "ifrs-full", "dei", "srt", "country", "currency", "cyd", "ecd", "exch", "ffd", "invest", "naics"),
    *("oef", "rr", "rxp", "sic", "snj", "spac", "stpr", "us-types", "vip", "cef", "fnd", "sro", "sbs"),
}


def is_extension(concept: str) -> bool:
    """Whether a concept is the filer's own."""
    return concept.partition(":")[0] not in STANDARD_PREFIXES


@lru_cache(maxsize=256)
def find_standard_prefix(uri: str) -> str | None:
    """The usual prefix of a standard taxonomy's namespace (``us-gaap``, ``dei``), None for any other."""
    found = _STANDARD.fullmatch(uri) or _IFRS.fullmatch(uri)
    return found[1] if found else None


class Names:
    """The namespace declarations of one document, and its names as ``prefix:Local``.

    A standard taxonomy's prefix is the usual one whatever the document binds; any other namespace has the
    prefix that the document declared for it first, or none (the name is then the local part alone).
    ``declared`` maps prefixes (``""`` for the default namespace) to URIs, the first of each.
    """

    def __init__(self, reader: XmlReader) -> None:
        self.declared: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._scopes: dict[str, list[str]] = {}
        self._texts: dict[str, str | None] = {}
        self._elements: dict[str, str] = {}
        reader.parser.StartNamespaceDeclHandler = self._declare
        reader.parser.EndNamespaceDeclHandler = self._undeclare

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        prefix, uri = prefix or "", uri or ""
        self._scopes.setdefault(prefix, []).append(uri)
        self.declared.setdefault(prefix, uri)
        if prefix:
            self._own.setdefault(uri, prefix)
        self._texts.clear()

    def _undeclare(self, prefix: str | None) -> None:
        self._scopes[prefix or ""].pop()
        self._texts.clear()

    def prefix(self, uri: str) -> str:
        """The prefix of names in a namespace, or the empty text."""
        return find_standard_prefix(uri) or self._own.get(uri, "")

    def of_element(self, name: str) -> str:
        """The name of an element that the parser reports as ``URI local``."""
        known = self._elements.get(name)
        if known is None:
            uri, _, local = name.rpartition(" ")
            prefix = self.prefix(uri)
            known = self._elements[name] = f"{prefix}:{local}" if prefix else local
        return known

    def of_text(self, text: str) -> str | None:
        """The name that an attribute or a text spells with the prefixes in scope; None when it is none."""
        if text not in self._texts:
            self._texts[text] = self._resolved(text)
        return self._texts[text]

    def _resolved(self, text: str) -> str | None:
        prefix, colon, local = text.strip(" \t\r\n").rpartition(":")
        scope = self._scopes.get(prefix)
        if len(local.split()) != 1 or (colon and not (prefix and scope)):
            return None
        return self.of_element(f"{scope[-1] if scope else ''} {local}")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def resolve_concept(element_id: str, prefixes: Collection[str], elements: Mapping[str, _Named]) -> str:
    """The name ``prefix:Local`` of the element that a locator points to by its id.

    The filer's schema knows it (``elements``), or the id is, as in every taxonomy on EDGAR, a prefix and the
    local name joined with ``_``: the longest of ``prefixes`` (a set or a dict) is taken, else what stands
    before the first ``_``. An id without ``_`` comes back as it is.
    """
    known = elements.get(element_id)
    if known is not None:
        return known.name
    cut = len(element_id)
    while (cut := element_id.rfind("_", 0, cut)) > 0:
        if element_id[:cut] in prefixes:
            return f"{element_id[:cut]}:{element_id[cut + 1 :]}"
    return element_id.replace("_", ":", 1)


class _Role(NamedTuple):
    kind: str
    negated: bool


_2003 = "http://www.xbrl.org/2003/role/"
_2009 = "http://www.xbrl.org/2009/role/"
_2008 = "http://xbrl.us/us-gaap/role/label/"  # the US GAAP taxonomies of 2008 and 2009

STANDARD_LABEL = _2003 + "label"

# XBRL 2.1 table 8, and the link role registry's negated-2009-12-16, net-2009-12-16 and negated-2008-03-31.
# Of a kind, the plain spelling comes first: label_for takes the first that the concept has.
_ROLES: dict[str, _Role] = {
    STANDARD_LABEL: _Role("standard", False),
    _2009 + "negatedLabel": _Role("standard", True),
    _2008 + "negated": _Role("standard", True),
    _2003 + "terseLabel": _Role("terse", False),
    _2009 + "negatedTerseLabel": _Role("terse", True),
    _2003 + "verboseLabel": _Role("verbose", False),
    _2003 + "totalLabel": _Role("total", False),
    _2009 + "negatedTotalLabel": _Role("total", True),
    _2008 + "negatedTotal": _Role("total", True),
    _2009 + "netLabel": _Role("net", False),
    _2009 + "negatedNetLabel": _Role("net", True),
    _2003 + "periodStartLabel": _Role("periodStart", False),
    _2009 + "negatedPeriodStartLabel": _Role("periodStart", True),
    _2008 + "negatedPeriodStart": _Role("periodStart", True),
    _2003 + "periodEndLabel": _Role("periodEnd", False),
    _2009 + "negatedPeriodEndLabel": _Role("periodEnd", True),
    _2008 + "negatedPeriodEnd": _Role("periodEnd", True),
    _2003 + "positiveLabel": _Role("positive", False),
    _2003 + "positiveTerseLabel": _Role("positiveTerse", False),
    _2003 + "positiveVerboseLabel": _Role("positiveVerbose", False),
    _2003 + "negativeLabel": _Role("negative", False),
    _2003 + "negativeTerseLabel": _Role("negativeTerse", False),
    _2003 + "negativeVerboseLabel": _Role("negativeVerbose", False),
    _2003 + "zeroLabel": _Role("zero", False),
    _2003 + "zeroTerseLabel": _Role("zeroTerse", False),
    _2003 + "zeroVerboseLabel": _Role("zeroVerbose", False),
    _2003 + "documentation": _Role("documentation", False),
}
_OTHER = _Role("other", False)
_ROLES_OF_KIND = {
    kind: [role for role, meaning in _ROLES.items() if meaning.kind == kind]
    for kind in {meaning.kind for meaning in _ROLES.values()}
}


def is_negated(role: str | None) -> bool:
    """Whether a preferred label's role shows the value with its sign turned; the value itself stays."""
    return role is not None and _ROLES.get(role, _OTHER).negated


def get_label_kind(role: str | None) -> str:
    """What a label role is for, whether negated or not and in whatever spelling.

    ``standard`` (also for None, a line without a preferred label), ``terse``, ``verbose``, ``total``,
    ``net``, ``periodStart``, ``periodEnd``, ``documentation``, the ``positive``, ``negative`` and ``zero``
    ones, and ``other`` for a role that is not of XBRL 2.1 or the US GAAP taxonomies.
    """
    return "standard" if role is None else _ROLES.get(role, _OTHER).kind


def find_label(labels_of_concept: Mapping[str, str], preferred: str | None) -> str | None:
    """The label that stands on a line with this preferred role (None: the standard label), or None.

    As the SEC's renderer falls back: the role itself, then its negated or plain counterpart, then the
    standard label. ``labels_of_concept`` maps full role URIs to texts.
    """
    preferred = STANDARD_LABEL if preferred is None else preferred
    for role in (preferred, *_ROLES_OF_KIND.get(get_label_kind(preferred), ()), STANDARD_LABEL):
        if role in labels_of_concept:
            return labels_of_concept[role]
    return None
