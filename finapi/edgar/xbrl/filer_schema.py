"""A filer's XBRL schema: the sections of the filing and the elements of the filer's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from finapi.edgar.xbrl.qnames import LINK, XBRLI, XLINK, Names
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader

_XS = "http://www.w3.org/2001/XMLSchema"

Balance = Literal["debit", "credit"]
PeriodType = Literal["instant", "duration"]
_BALANCES: dict[str | None, Balance | None] = {None: None, "debit": "debit", "credit": "credit"}
_PERIOD_TYPES: dict[str | None, PeriodType | None] = {None: None, "instant": "instant", "duration": "duration"}


class SchemaElement(NamedTuple):
    """One declared element; ``type`` and ``substitution`` are the local parts of their names.

    ``type`` is ``monetaryItemType``, ``domainItemType``, ``textBlockItemType``, ...; ``substitution`` is
    ``item``, ``hypercubeItem`` or ``dimensionItem``; both are empty where the schema says nothing.
    """

    name: str
    balance: Balance | None
    period_type: PeriodType | None
    is_abstract: bool
    type: str
    substitution: str


class LinkbaseRef(NamedTuple):
    """Where a linkbase is, relative to the schema, and the role that says which kind (empty: any kind)."""

    href: str
    role: str


@dataclass(frozen=True, slots=True)
class Schema:
    """``roles`` maps role URIs to definitions ("0000003 - Statement - ..."), ``elements`` ids to elements.

    ``prefix`` is what the schema binds to its target namespace, as it stands in the element names.
    """

    namespace: str
    prefix: str
    roles: dict[str, str]
    elements: dict[str, SchemaElement]
    linkbase_refs: list[LinkbaseRef]


def parse_schema(data: bytes, file: str) -> Schema:
    """The roles, the elements with an id, and the linkbase references of a schema.

    Linkbases embedded in the schema are read by giving the same bytes to the linkbase functions.
    ParseError: not a schema, two elements with one id, a role type without its URI.
    """
    reader = _SchemaReader(file)
    reader.read(data)
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
        self.names = Names(self)
        self.namespace = self.prefix = ""
        self.roles: dict[str, str] = {}
        self.elements: dict[str, SchemaElement] = {}
        self.linkbase_refs: list[LinkbaseRef] = []
        self._role = ""
        self.opens = _ROOT

    def open_root(self, name: str, attributes: Attributes) -> None:
        self.opens = _AT_ROOT
        self.namespace = attributes.get("targetNamespace", "")
        self.prefix = self.names.prefix(self.namespace)

    def open_element(self, name: str, attributes: Attributes) -> None:
        element_id = attributes.get("id")
        # Deeper ones are parts of complex types; those without an id cannot be the target of a locator.
        if self.depth != 2 or element_id is None:
            return
        if element_id in self.elements:
            raise self.build_error(f"id {element_id[:80]!r} is used twice")
        balance = attributes.get(f"{XBRLI} balance")
        period_type = attributes.get(f"{XBRLI} periodType")
        if balance not in _BALANCES or period_type not in _PERIOD_TYPES:
            raise self.build_error(f"element {element_id[:80]!r} has an unknown balance or period type")
        own = self.get_required(attributes, "name")
        self.elements[element_id] = SchemaElement(
            name=f"{self.prefix}:{own}" if self.prefix else own,
            balance=_BALANCES[balance],
            period_type=_PERIOD_TYPES[period_type],
            is_abstract=attributes.get("abstract") in ("true", "1"),
            type=attributes.get("type", "").rpartition(":")[2],
            substitution=attributes.get("substitutionGroup", "").rpartition(":")[2],
        )

    def open_role_type(self, name: str, attributes: Attributes) -> None:
        self._role = self.get_required(attributes, "roleURI")
        self.roles[self._role] = ""
        self.opens = _IN_ROLE_TYPE
        self.on_close(self._close_role_type)

    def _close_role_type(self) -> None:
        self.opens = _AT_ROOT

    def open_definition(self, name: str, attributes: Attributes) -> None:
        self.collect(self._close_definition, mixed=True)

    def _close_definition(self, text: str) -> None:
        self.roles[self._role] = " ".join(text.split())

    def open_linkbase_ref(self, name: str, attributes: Attributes) -> None:
        href = self.get_required(attributes, f"{XLINK} href")
        self.linkbase_refs.append(LinkbaseRef(href, attributes.get(f"{XLINK} role", "")))


# What is looked at where.
_ROOT: dict[str, OpenHandler] = {f"{_XS} schema": _SchemaReader.open_root}
_AT_ROOT: dict[str, OpenHandler] = {
    f"{_XS} element": _SchemaReader.open_element,
    f"{LINK} roleType": _SchemaReader.open_role_type,
    f"{LINK} linkbaseRef": _SchemaReader.open_linkbase_ref,
}
_IN_ROLE_TYPE: dict[str, OpenHandler] = {f"{LINK} definition": _SchemaReader.open_definition}
