"""The parser of a filer's XBRL schema: the sections of the filing, and the elements that the filer defined.

A ``roleType`` gives a section its title, an ``element`` defines a concept of the filer's own::

    <link:roleType roleURI="http://www.apple.com/role/Cover" id="Cover">
      <link:definition>0000001 - Document - Cover</link:definition>
    </link:roleType>
    <xs:element id="aapl_TermDebt" name="TermDebt" type="xbrli:monetaryItemType" xbrli:periodType="instant" .../>

``linkbaseRef`` elements say where the linkbases are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from finapi.edgar.xbrl.qnames import LINK, XBRLI, XLINK, QNameResolver
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader

_XS = "http://www.w3.org/2001/XMLSchema"

Balance = Literal["debit", "credit"]
PeriodType = Literal["instant", "duration"]
_BALANCES: dict[str | None, Balance | None] = {None: None, "debit": "debit", "credit": "credit"}
_PERIOD_TYPES: dict[str | None, PeriodType | None] = {None: None, "instant": "instant", "duration": "duration"}


class SchemaElement(NamedTuple):
    """An element that the filer defined. ``type`` and ``substitution`` are the local parts of their names.

    ``type`` is ``monetaryItemType``, ``domainItemType``, ``textBlockItemType``, ...; ``substitution`` is ``item``,
    ``hypercubeItem`` or ``dimensionItem``. Both are "" if the schema leaves them out.
    """

    name: str
    balance: Balance | None
    period_type: PeriodType | None
    is_abstract: bool
    type: str
    substitution: str


class LinkbaseRef(NamedTuple):
    """The address of a linkbase, relative to the schema, and the role that says its kind ("" for any kind)."""

    href: str
    role: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A filer's schema.

    ``roles`` maps role URIs to definitions ("0000003 - Statement - ..."), ``elements`` maps ids to elements.
    ``prefix`` is the one of the target namespace, which the names of the elements have.
    """

    namespace: str
    prefix: str
    roles: dict[str, str]
    elements: dict[str, SchemaElement]
    linkbase_refs: list[LinkbaseRef]


def parse_schema(content: bytes, file: str) -> Schema:
    """Return the roles, the elements with an id, and the linkbase references of a schema.

    A schema may have linkbases embedded in it. Pass the same bytes to the functions for linkbases to parse those.
    Raise ParseError if the document is not a schema, if two elements have the same id, or if a role type has no URI.
    """
    reader = _SchemaReader(file)
    reader.read(content)
    return Schema(
        namespace=reader.namespace,
        prefix=reader.prefix,
        roles=reader.roles,
        elements=reader.elements,
        linkbase_refs=reader.linkbase_refs,
    )


class _SchemaReader(XmlReader):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.names = QNameResolver(self)
        self.namespace = ""
        self.prefix = ""
        self.roles: dict[str, str] = {}
        self.elements: dict[str, SchemaElement] = {}
        self.linkbase_refs: list[LinkbaseRef] = []
        self._role_uri = ""
        self.open_handlers = _DOCUMENT_HANDLERS

    def open_root(self, name: str, attributes: Attributes) -> None:
        """Read the target namespace and its prefix."""
        self.open_handlers = _ROOT_HANDLERS
        self.namespace = attributes.get("targetNamespace", "")
        self.prefix = self.names.get_prefix(self.namespace)

    def open_element(self, name: str, attributes: Attributes) -> None:
        """Add the declaration of an element of the taxonomy. Raise ParseError if its id or an attribute is invalid."""
        element_id = attributes.get("id")
        # Nested elements are parts of complex types. A locator cannot refer to an element without an id.
        if self.depth != 2 or element_id is None:
            return
        if element_id in self.elements:
            raise self.build_error(f"id {element_id[:80]!r} is used twice")
        balance = attributes.get(f"{XBRLI} balance")
        period_type = attributes.get(f"{XBRLI} periodType")
        if balance not in _BALANCES or period_type not in _PERIOD_TYPES:
            raise self.build_error(f"element {element_id[:80]!r} has an unknown balance or period type")
        local_name = self.get_required(attributes, "name")
        self.elements[element_id] = SchemaElement(
            name=self._build_name(element_id, local_name),
            balance=_BALANCES[balance],
            period_type=_PERIOD_TYPES[period_type],
            is_abstract=attributes.get("abstract") in ("true", "1"),
            type=attributes.get("type", "").rpartition(":")[2],
            substitution=attributes.get("substitutionGroup", "").rpartition(":")[2],
        )

    def _build_name(self, element_id: str, local_name: str) -> str:
        """Return the name of an element.

        A schema may declare no prefix for its target namespace. The id of an element is then its prefix and name,
        joined with "_" as EDGAR requires: ``abc_Sales``.
        """
        prefix = self.prefix
        if not prefix and element_id.endswith(f"_{local_name}"):
            prefix = element_id.removesuffix(f"_{local_name}")
        return f"{prefix}:{local_name}" if prefix else local_name

    def open_role_type(self, name: str, attributes: Attributes) -> None:
        """Begin a role, whose definition is an element inside of it."""
        self._role_uri = self.get_required(attributes, "roleURI")
        self.roles[self._role_uri] = ""
        self.open_handlers = _ROLE_TYPE_HANDLERS
        self.call_on_close(self._close_role_type)

    def _close_role_type(self) -> None:
        self.open_handlers = _ROOT_HANDLERS

    def open_definition(self, name: str, attributes: Attributes) -> None:
        """Read the definition of a role."""
        self.collect_text(self._set_definition, allow_elements=True)

    def _set_definition(self, text: str) -> None:
        self.roles[self._role_uri] = " ".join(text.split())

    def open_linkbase_ref(self, name: str, attributes: Attributes) -> None:
        """Add the reference to a linkbase."""
        href = self.get_required(attributes, f"{XLINK} href")
        self.linkbase_refs.append(LinkbaseRef(href=href, role=attributes.get(f"{XLINK} role", "")))


_DOCUMENT_HANDLERS: dict[str, OpenHandler] = {f"{_XS} schema": _SchemaReader.open_root}
_ROOT_HANDLERS: dict[str, OpenHandler] = {
    f"{_XS} element": _SchemaReader.open_element,
    f"{LINK} roleType": _SchemaReader.open_role_type,
    f"{LINK} linkbaseRef": _SchemaReader.open_linkbase_ref,
}
_ROLE_TYPE_HANDLERS: dict[str, OpenHandler] = {f"{LINK} definition": _SchemaReader.open_definition}
