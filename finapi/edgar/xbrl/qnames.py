"""Names of XBRL concepts as ``prefix:Local``, and the namespaces that their prefixes stand for.

In a document a prefix can stand for any namespace, and the namespaces of the standard taxonomies change every year.
finapi always writes a standard taxonomy with its usual prefix: ``us-gaap:Assets`` is the name of that element of
http://fasb.org/us-gaap/2024, even if the document uses another prefix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Protocol

from finapi.edgar.xml_reader import XmlReader

XBRLI = "http://www.xbrl.org/2003/instance"
LINK = "http://www.xbrl.org/2003/linkbase"
XLINK = "http://www.w3.org/1999/xlink"
XSI = "http://www.w3.org/2001/XMLSchema-instance"

# The namespaces of the taxonomies that the SEC accepts, of all years: http://fasb.org/us-gaap/2024,
# http://fasb.org/us-gaap-sup/2022q3, http://xbrl.us/us-gaap/2009-01-31, http://xbrl.sec.gov/dei/2014-01-31.
_STANDARD_NAMESPACE = re.compile(
    r"https?://(?:fasb\.org|xbrl\.us|xbrl\.sec\.gov)/([a-z][a-z-]*)/[0-9]{4}(?:q[1-4]|-[0-9]{2}-[0-9]{2})?/?"
)
_IFRS_NAMESPACE = re.compile(r"https?://xbrl\.ifrs\.org/taxonomy/[0-9]{4}-[0-9]{2}-[0-9]{2}/([a-z][a-z-]*)")


@lru_cache(maxsize=256)
def find_standard_prefix(uri: str) -> str | None:
    """Return the usual prefix of a standard taxonomy's namespace (``us-gaap``, ``dei``), or None for any other."""
    match = _STANDARD_NAMESPACE.fullmatch(uri) or _IFRS_NAMESPACE.fullmatch(uri)
    return match[1] if match else None


class QNameResolver:
    """The namespace declarations of a document, and the names in it as ``prefix:Local``.

    A name in a standard taxonomy has the usual prefix. A name in any other namespace has the prefix that the document
    declared for it first, or none: then it is the local part alone. ``namespaces`` maps prefixes (``""`` for the
    default namespace) to URIs. If a prefix is declared more than once, it has the first URI.
    """

    def __init__(self, reader: XmlReader) -> None:
        self.namespaces: dict[str, str] = {}
        self._prefixes: dict[str, str] = {}
        # The URIs that each prefix stands for, the innermost declaration last.
        self._uris_in_scope: dict[str, list[str]] = {}
        # Caches of resolved names: those of elements by "URI local", and those of texts as written. The latter is
        # emptied whenever a declaration begins or ends.
        self._element_names: dict[str, str] = {}
        self._text_names: dict[str, str | None] = {}
        reader.parser.StartNamespaceDeclHandler = self._begin_declaration
        reader.parser.EndNamespaceDeclHandler = self._end_declaration

    def _begin_declaration(self, prefix: str | None, uri: str | None) -> None:
        prefix = prefix or ""
        uri = uri or ""
        self._uris_in_scope.setdefault(prefix, []).append(uri)
        self.namespaces.setdefault(prefix, uri)
        if prefix:
            self._prefixes.setdefault(uri, prefix)
        self._text_names.clear()

    def _end_declaration(self, prefix: str | None) -> None:
        self._uris_in_scope[prefix or ""].pop()
        self._text_names.clear()

    def get_prefix(self, uri: str) -> str:
        """Return the prefix of names in a namespace, or ""."""
        return find_standard_prefix(uri) or self._prefixes.get(uri, "")

    def resolve_element(self, name: str) -> str:
        """Return the name of an element that the parser reports as ``URI local``."""
        resolved = self._element_names.get(name)
        if resolved is None:
            uri, _, local = name.rpartition(" ")
            prefix = self.get_prefix(uri)
            resolved = f"{prefix}:{local}" if prefix else local
            self._element_names[name] = resolved
        return resolved

    def resolve_text(self, text: str) -> str | None:
        """Return the name in an attribute or a text, by the prefixes in scope, or None if it is not a valid name."""
        if text not in self._text_names:
            self._text_names[text] = self._resolve_new_text(text)
        return self._text_names[text]

    def find_namespace(self, text: str) -> str | None:
        """Return the namespace of a name with a prefix, by the prefixes in scope, or None if it is not declared."""
        prefix, _, _ = text.strip(" \t\r\n").rpartition(":")
        uris = self._uris_in_scope.get(prefix)
        return uris[-1] if prefix and uris else None

    def _resolve_new_text(self, text: str) -> str | None:
        prefix, colon, local = text.strip(" \t\r\n").rpartition(":")
        uris = self._uris_in_scope.get(prefix)
        if len(local.split()) != 1:
            return None
        if colon and (not prefix or not uris):
            return None
        uri = uris[-1] if uris else ""
        return self.resolve_element(f"{uri} {local}")


class _NamedElement(Protocol):
    @property
    def name(self) -> str: ...


def resolve_concept(element_id: str, prefixes: Collection[str], elements: Mapping[str, _NamedElement]) -> str:
    """Return the name of the concept that a locator refers to by the id of its element.

    ``elements`` are those of the filer's schema. The ids of other taxonomies are a prefix and a local name joined with
    "_", ``us-gaap_Assets``. Names may contain "_" themselves, so the longest of ``prefixes`` that fits is used (a set
    or a dict), or else the text before the first "_". An id without "_" is returned unchanged.
    """
    element = elements.get(element_id)
    if element is not None:
        return element.name
    prefix_end = element_id.rfind("_")
    while prefix_end > 0:
        if element_id[:prefix_end] in prefixes:
            return f"{element_id[:prefix_end]}:{element_id[prefix_end + 1 :]}"
        prefix_end = element_id.rfind("_", 0, prefix_end)
    return element_id.replace("_", ":", 1)
