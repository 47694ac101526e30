"""The parser of XBRL linkbases: the trees of a filing's statements, their sums, dimensions and labels.

A linkbase has extended links, one for each section of the filing. An extended link has locators and arcs. A locator
gives a label to an element of a schema, and an arc connects two labels::

    <link:presentationLink xlink:role="http://www.apple.com/role/BalanceSheet">
      <link:loc xlink:label="a" xlink:href="http://xbrl.fasb.org/.../us-gaap-2023.xsd#us-gaap_Assets"/>
      <link:loc xlink:label="b" xlink:href="http://xbrl.fasb.org/.../us-gaap-2023.xsd#us-gaap_AssetsCurrent"/>
      <link:presentationArc xlink:from="a" xlink:to="b" order="1"/>
    </link:presentationLink>

This arc is returned as ``PresentationArc(source="us-gaap_Assets", target="us-gaap_AssetsCurrent", order=1.0, ...)``.
Several locators may have the same label; then an arc stands for all pairs of them. In a label linkbase the arcs lead
from locators to ``label`` elements, which have a role, a language and a text.

A linkbase may prohibit or override the arcs of another one. So each arc has a priority and may be prohibited, and
:func:`select_effective_arcs` applies this.

Each function parses a linkbase document, or a schema with linkbases embedded in it, and reads only its own kind of
extended link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from finapi.edgar.concept_names import NUMBER
from finapi.edgar.xbrl.label_roles import STANDARD_LABEL
from finapi.edgar.xbrl.qnames import LINK, XLINK
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader

# Additional arcs of a document that result from locators sharing a label: one arc element between a label of 3,000
# locators and another of 3,000 stands for nine million arcs. Real labels are shared by a handful of locators.
MAX_ADDITIONAL_ARCS = 100_000

_XS = "http://www.w3.org/2001/XMLSchema"
_XBRLDT = "http://xbrl.org/2005/xbrldt"
_XML_LANG = "http://www.w3.org/XML/1998/namespace lang"
_ROLE = f"{XLINK} role"
_ARCROLE = f"{XLINK} arcrole"
_LABEL = f"{XLINK} label"
_HREF = f"{XLINK} href"
_FROM = f"{XLINK} from"
_TO = f"{XLINK} to"
_PRIORITY = re.compile(r"[+-]?[0-9]{1,9}")
_TRUE = frozenset({"true", "1"})


class PresentationArc(NamedTuple):
    """``target`` is a child of ``source``, at the position ``order``. ``source`` and ``target`` are ids of elements.

    ``preferred_label`` is the role of its label, None for the standard label.
    """

    source: str
    target: str
    order: float
    preferred_label: str | None
    priority: int
    is_prohibited: bool


class CalculationArc(NamedTuple):
    """``target`` is added to the sum ``source`` with ``weight``, 1 or -1."""

    source: str
    target: str
    order: float
    weight: Decimal
    priority: int
    is_prohibited: bool


class DefinitionArc(NamedTuple):
    """An edge in the tree of a table's dimensions.

    ``arcrole`` is the last part of its URI: ``all``, ``notAll``, ``hypercube-dimension``, ``dimension-domain``,
    ``domain-member``, ``dimension-default``, ... The tree continues in the section ``target_role``. ``is_closed`` and
    ``is_usable`` are attributes of XBRL Dimensions.
    """

    source: str
    target: str
    order: float
    arcrole: str
    target_role: str | None
    is_closed: bool
    is_usable: bool
    priority: int
    is_prohibited: bool


class _LabelArc(NamedTuple):
    """``source`` and ``target`` are labels in the link, not ids of elements."""

    source: str
    target: str
    order: float
    priority: int
    is_prohibited: bool


Arc = TypeVar("Arc", PresentationArc, CalculationArc, DefinitionArc, _LabelArc)
_ElementArc = TypeVar("_ElementArc", PresentationArc, CalculationArc, DefinitionArc)
_T = TypeVar("_T")
# Builds an arc whose source and target are still labels.
_ArcBuilder = Callable[["_LinkReader", Attributes], _ElementArc]
# Texts by element id and role URI.
_Labels = dict[str, dict[str, str]]


def select_effective_arcs(arcs: Iterable[Arc]) -> list[Arc]:
    """Return the effective arcs of a section, after prohibition and overriding (XBRL 2.1, 3.5.3.9.7.5).

    Arcs are equivalent if all of their fields but priority and use are equal. Of equivalent arcs, the one with the
    highest priority is effective, and a prohibited one wins a tie. If the winner is prohibited, none of them is
    effective. The order of first appearance is preserved.
    """
    strongest: dict[tuple[object, ...], Arc] = {}
    for arc in arcs:
        # Priority and use are the last two fields.
        identity = arc[:-2]
        rival = strongest.get(identity)
        if rival is None or arc[-2:] > rival[-2:]:
            strongest[identity] = arc
    return [arc for arc in strongest.values() if not arc.is_prohibited]


def parse_presentation(content: bytes, file: str) -> dict[str, list[PresentationArc]]:
    """Return the parent-child arcs of each role in document order, including prohibited ones.

    Raise ParseError if the document is not a linkbase or schema, if an arc refers to a locator that its link does not
    have, or if a number is not valid.
    """
    return _parse_arcs(content, file, "presentation", _build_presentation_arc)


def parse_calculation(content: bytes, file: str) -> dict[str, list[CalculationArc]]:
    """Return the sums of each role as arcs in document order, including prohibited ones.

    Raise ParseError as :func:`parse_presentation` does.
    """
    return _parse_arcs(content, file, "calculation", _build_calculation_arc)


def parse_definition(content: bytes, file: str) -> dict[str, list[DefinitionArc]]:
    """Return the definition arcs of each role in document order, including prohibited ones.

    Raise ParseError as :func:`parse_presentation` does.
    """
    return _parse_arcs(content, file, "definition", _build_definition_arc)


def parse_labels(content: bytes, file: str) -> dict[str, dict[str, str]]:
    """Return the English labels of each element by the full URI of their role, with single spaces between words.

    ``en-US`` is preferred to any other English, and other languages are left out. A label without a language counts as
    English, because the SEC requires English labels. Escaped HTML is unchanged. Raise ParseError as
    :func:`parse_presentation` does, and if an arc refers to a label that its link does not have.
    """
    reader = _LabelReader(file)
    reader.read(content)
    labels = reader.us_english
    for element_id, labels_of_element in reader.other_english.items():
        labels[element_id] = labels_of_element | labels.get(element_id, {})
    return labels


class _LinkReader(XmlReader):
    """A reader of the extended links of one kind. ``locators`` are the element ids of the open link, by label."""

    def __init__(self, file: str, kind: str) -> None:
        super().__init__(file)
        self.role = ""
        self.locators: dict[str, list[str]] = {}
        self._shared_count = 0
        self._orders: dict[str, float] = {}
        reader_class = type(self)
        self.open_handlers = {
            f"{LINK} linkbase": reader_class.open_root,
            f"{_XS} schema": reader_class.open_root,
        }
        self._root_handlers: dict[str, OpenHandler] = {f"{LINK} {kind}Link": reader_class.open_link}
        self.link_handlers: dict[str, OpenHandler] = {
            f"{LINK} loc": reader_class.open_locator,
            f"{LINK} {kind}Arc": reader_class.open_arc,
        }

    def open_root(self, name: str, attributes: Attributes) -> None:
        self.open_handlers = self._root_handlers

    def open_link(self, name: str, attributes: Attributes) -> None:
        self.role = self.get_required(attributes, _ROLE)
        self.locators = {}
        self.open_handlers = self.link_handlers
        self.call_on_close(self._close_link)

    def open_locator(self, name: str, attributes: Attributes) -> None:
        element_id = self.get_required(attributes, _HREF).rpartition("#")[2]
        self.locators.setdefault(self.get_required(attributes, _LABEL), []).append(element_id)

    def _close_link(self) -> None:
        self.open_handlers = self._root_handlers
        self.close_link()

    def open_arc(self, name: str, attributes: Attributes) -> None:
        """Store an arc. Locators may come after it, so its ends are looked up when the link is closed."""
        raise NotImplementedError

    def close_link(self) -> None:
        """Build the arcs of a link."""
        raise NotImplementedError

    def list_pairs(self, start: str, end: str, targets: Mapping[str, list[_T]]) -> Iterable[tuple[str, _T]]:
        """Return the pairs of source and target that an arc between two labels stands for, nearly always one pair."""
        sources = self.locators.get(start)
        ends = targets.get(end)
        if sources is None or ends is None:
            label = start if sources is None else end
            raise self.build_error(f"link {self.role[:200]} has no element with the label {label[:200]!r}")
        self._shared_count += len(sources) * len(ends) - 1
        if self._shared_count > MAX_ADDITIONAL_ARCS:
            raise self.build_error(f"shared labels imply more than {MAX_ADDITIONAL_ARCS} additional arcs")
        return product(sources, ends)

    def parse_order(self, attributes: Attributes) -> float:
        """Return the order of an arc. The default of XBRL is 1."""
        text = attributes.get("order")
        if text is None:
            return 1.0
        order = self._orders.get(text)
        if order is None:
            if NUMBER.fullmatch(text) is None:
                raise self.build_error(f"order is not a number: {text[:40]!r}")
            order = self._orders[text] = float(text)
        return order

    def parse_priority(self, attributes: Attributes) -> int:
        """Return the priority of an arc. The default of XBRL is 0."""
        text = attributes.get("priority")
        if text is None:
            return 0
        if _PRIORITY.fullmatch(text) is None:
            raise self.build_error(f"priority is not a number: {text[:40]!r}")
        return int(text)


class _ArcReader(_LinkReader, Generic[_ElementArc]):
    """A reader of arcs between locators. ``arcs_by_role`` has the arcs of all links that were read completely."""

    def __init__(self, file: str, kind: str, build_arc: _ArcBuilder[_ElementArc]) -> None:
        super().__init__(file, kind)
        self.arcs_by_role: dict[str, list[_ElementArc]] = {}
        self._build_arc: _ArcBuilder[_ElementArc] = build_arc
        self._label_arcs: list[_ElementArc] = []

    def open_arc(self, name: str, attributes: Attributes) -> None:
        self._label_arcs.append(self._build_arc(self, attributes))

    def close_link(self) -> None:
        arcs = self.arcs_by_role.setdefault(self.role, [])
        for arc in self._label_arcs:
            for source, target in self.list_pairs(arc.source, arc.target, self.locators):
                arcs.append(_replace_ends(arc, source, target))
        self._label_arcs = []


def _replace_ends(arc: _ElementArc, source: str, target: str) -> _ElementArc:
    """Return a copy of an arc with the ids of elements as its ends instead of labels."""
    # The ends are the first two fields. arc._replace() takes twice as long.
    return type(arc)._make((source, target, *arc[2:]))


def _parse_arcs(
    content: bytes, file: str, kind: str, build_arc: _ArcBuilder[_ElementArc]
) -> dict[str, list[_ElementArc]]:
    reader = _ArcReader(file, kind, build_arc)
    reader.read(content)
    return reader.arcs_by_role


def _build_presentation_arc(reader: _LinkReader, attributes: Attributes) -> PresentationArc:
    return PresentationArc(
        source=reader.get_required(attributes, _FROM),
        target=reader.get_required(attributes, _TO),
        order=reader.parse_order(attributes),
        preferred_label=attributes.get("preferredLabel"),
        priority=reader.parse_priority(attributes),
        is_prohibited=_is_prohibited(attributes),
    )


def _build_calculation_arc(reader: _LinkReader, attributes: Attributes) -> CalculationArc:
    source = reader.get_required(attributes, _FROM)
    target = reader.get_required(attributes, _TO)
    weight = reader.get_required(attributes, "weight")
    if NUMBER.fullmatch(weight) is None:
        raise reader.build_error(f"weight is not a number: {weight[:40]!r}")
    return CalculationArc(
        source=source,
        target=target,
        order=reader.parse_order(attributes),
        weight=Decimal(weight),
        priority=reader.parse_priority(attributes),
        is_prohibited=_is_prohibited(attributes),
    )


def _build_definition_arc(reader: _LinkReader, attributes: Attributes) -> DefinitionArc:
    return DefinitionArc(
        source=reader.get_required(attributes, _FROM),
        target=reader.get_required(attributes, _TO),
        order=reader.parse_order(attributes),
        arcrole=reader.get_required(attributes, _ARCROLE).rpartition("/")[2],
        target_role=attributes.get(f"{_XBRLDT} targetRole"),
        is_closed=attributes.get(f"{_XBRLDT} closed") in _TRUE,
        is_usable=attributes.get(f"{_XBRLDT} usable", "true") in _TRUE,
        priority=reader.parse_priority(attributes),
        is_prohibited=_is_prohibited(attributes),
    )


def _is_prohibited(attributes: Attributes) -> bool:
    return attributes.get("use") == "prohibited"


class _LabelText(NamedTuple):
    """A label element. ``labels`` are those of its language, to which it will be added."""

    labels: _Labels
    role: str
    text: str


class _LabelReader(_LinkReader):
    """A reader of labels. ``us_english`` are those in American English, ``other_english`` those in any other."""

    def __init__(self, file: str) -> None:
        super().__init__(file, "label")
        self.us_english: _Labels = {}
        self.other_english: _Labels = {}
        # The arcs and the label elements of the open link. Several elements may share an xlink:label.
        self._label_arcs: list[_LabelArc] = []
        self._label_texts: dict[str, list[_LabelText]] = {}
        self.link_handlers[f"{LINK} label"] = _LabelReader.open_label

    def open_arc(self, name: str, attributes: Attributes) -> None:
        self._label_arcs.append(
            _LabelArc(
                source=self.get_required(attributes, _FROM),
                target=self.get_required(attributes, _TO),
                order=self.parse_order(attributes),
                priority=self.parse_priority(attributes),
                is_prohibited=_is_prohibited(attributes),
            )
        )

    def open_label(self, name: str, attributes: Attributes) -> None:
        """Collect the text of a label. Skip it if its language is not one of those that are read."""
        # Even a label in another language may be the end of an arc.
        label_texts = self._label_texts.setdefault(self.get_required(attributes, _LABEL), [])
        labels = self._get_labels(attributes.get(_XML_LANG, "en"))
        if labels is None:
            self.skip_element()
            return
        role = attributes.get(_ROLE, STANDARD_LABEL)

        def add_label(text: str) -> None:
            label_texts.append(_LabelText(labels=labels, role=role, text=" ".join(text.split())))

        self.collect_text(add_label, allow_elements=True)

    def _get_labels(self, language: str) -> _Labels | None:
        """Return the labels of a language, or None if it is not English."""
        language = language.lower()
        if language == "en-us":
            return self.us_english
        return self.other_english if language == "en" or language.startswith("en-") else None

    def close_link(self) -> None:
        arcs = self._label_arcs
        if any(arc.is_prohibited for arc in arcs):
            arcs = select_effective_arcs(arcs)
        for arc in arcs:
            for element_id, label_text in self.list_pairs(arc.source, arc.target, self._label_texts):
                label_text.labels.setdefault(element_id, {}).setdefault(label_text.role, label_text.text)
        self._label_arcs = []
        self._label_texts = {}
