"""XBRL linkbases: the trees of a filing's statements, their sums, dimensions and labels.

Each function reads a linkbase document or a schema with linkbases embedded in it, and looks at its own kind
of extended link only. What is linked are elements, by the ids in their schemas (``us-gaap_Assets``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from finapi.edgar.xbrl.qnames import LINK, NUMBER, STANDARD_LABEL, XLINK
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader

# Arcs of one document beyond one for each that is written. An arc goes from all locators that share a label to
# all locators or resources that share another; of 3,000 each that would make nine million. Labels do share
# one in earnest, a handful for each concept.
MAX_SHARED = 100_000

_XS = "http://www.w3.org/2001/XMLSchema"
_XBRLDT = "http://xbrl.org/2005/xbrldt"
_XML_LANG = "http://www.w3.org/XML/1998/namespace lang"
_ROLE, _ARCROLE, _LABEL = f"{XLINK} role", f"{XLINK} arcrole", f"{XLINK} label"
_HREF, _FROM, _TO = f"{XLINK} href", f"{XLINK} from", f"{XLINK} to"
_PRIORITY = re.compile(r"[+-]?[0-9]{1,9}")
_TRUE = frozenset({"true", "1"})


class PresentationArc(NamedTuple):
    """``target`` stands under ``source``, at ``order``; a preferred label of None means the standard one."""

    source: str
    target: str
    order: float
    preferred_label: str | None
    priority: int
    is_prohibited: bool


class CalculationArc(NamedTuple):
    """``target`` counts into the sum ``source`` with ``weight``, 1 or -1."""

    source: str
    target: str
    order: float
    weight: Decimal
    priority: int
    is_prohibited: bool


class DefinitionArc(NamedTuple):
    """One step in the tree of a table's dimensions.

    ``arcrole`` is the last part of its URI: ``all``, ``notAll``, ``hypercube-dimension``,
    ``dimension-domain``, ``domain-member``, ``dimension-default``, ...; ``target_role`` is the section in
    which the tree goes on; ``closed`` and ``usable`` are as in XBRL Dimensions.
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
    source: str
    target: str
    order: float
    priority: int
    is_prohibited: bool


Arc = TypeVar("Arc", PresentationArc, CalculationArc, DefinitionArc, _LabelArc)
_T = TypeVar("_T")
_Make = Callable[[Iterable[object]], _T]
_Rest = Callable[["_LinkReader", Attributes], tuple[object, ...]]


def select_effective_arcs(arcs: Iterable[Arc]) -> list[Arc]:
    """The arcs of one section that count, after prohibition and overriding (XBRL 2.1, 3.5.3.9.7.5).

    Arcs are equivalent when all but priority and use are equal. Of these the highest priority counts, and a
    prohibited one wins a tie: then none of them does. The order of first appearance is kept.
    """
    strongest: dict[tuple[object, ...], Arc] = {}
    for arc in arcs:
        same = arc[:-2]
        rival = strongest.get(same)
        if rival is None or arc[-2:] > rival[-2:]:
            strongest[same] = arc
    return [arc for arc in strongest.values() if not arc.is_prohibited]


def parse_presentation(data: bytes, file: str) -> dict[str, list[PresentationArc]]:
    """The parent-child arcs of each role, in document order, prohibited ones included: see :func:`effective`.

    ParseError: not a linkbase or schema, an arc to a locator that its link does not have, a bad number.
    """
    return _arcs(data, file, "presentation", PresentationArc._make, _presentation_rest)


def parse_calculation(data: bytes, file: str) -> dict[str, list[CalculationArc]]:
    """The sums of each role, as arcs in document order, prohibited ones included: see :func:`effective`.

    ParseError: as :func:`presentation`.
    """
    return _arcs(data, file, "calculation", CalculationArc._make, _calculation_rest)


def parse_definition(data: bytes, file: str) -> dict[str, list[DefinitionArc]]:
    """The definition arcs of each role, in document order, prohibited ones included: see :func:`effective`.

    ParseError: as :func:`presentation`.
    """
    return _arcs(data, file, "definition", DefinitionArc._make, _definition_rest)


def parse_labels(data: bytes, file: str) -> dict[str, dict[str, str]]:
    """The English labels of each element, by the full URI of their role; white space runs are single spaces.

    ``en-US`` is preferred to any other English, other languages are left out, and a label that does not say
    its language is taken for English, as the SEC accepts no filing without that. Escaped HTML stays as it is.
    ParseError: as :func:`presentation`, and an arc to a label that its link does not have.
    """
    reader = _LabelReader(file)
    reader.read(data)
    for element_id, texts in reader.second.items():
        reader.found[element_id] = {**texts, **reader.found.get(element_id, {})}
    return reader.found


class _LinkReader(XmlReader):
    """Reads the extended links of one kind; ``locs`` are those of the link that is open."""

    def __init__(self, file: str, kind: str) -> None:
        super().__init__(file)
        self.role = ""
        self.locs: dict[str, list[str]] = {}
        self._shared = 0
        self._orders: dict[str, float] = {}
        here = type(self)
        self.opens = {f"{LINK} linkbase": here.open_root, f"{_XS} schema": here.open_root}
        self._outside: dict[str, OpenHandler] = {f"{LINK} {kind}Link": here.open_link}
        self.inside: dict[str, OpenHandler] = {f"{LINK} loc": here.open_loc, f"{LINK} {kind}Arc": here.open_arc}

    def open_root(self, name: str, attributes: Attributes) -> None:
        self.opens = self._outside

    def open_link(self, name: str, attributes: Attributes) -> None:
        self.role = self.get_required(attributes, _ROLE)
        self.locs = {}
        self.opens = self.inside
        self.on_close(self._close_link)

    def open_loc(self, name: str, attributes: Attributes) -> None:
        element_id = self.get_required(attributes, _HREF).rpartition("#")[2]
        self.locs.setdefault(self.get_required(attributes, _LABEL), []).append(element_id)

    def _close_link(self) -> None:
        self.opens = self._outside
        self.close_link()

    def open_arc(self, name: str, attributes: Attributes) -> None:
        """An arc; its ends are known when the link is closed."""
        raise NotImplementedError

    def close_link(self) -> None:
        """All of a link has been read."""
        raise NotImplementedError

    def ends(self, start: str, end: str, targets: Mapping[str, list[_T]]) -> Iterable[tuple[str, _T]]:
        """The pairs that an arc between two labels makes: nearly always one."""
        sources, found = self.locs.get(start), targets.get(end)
        if sources is None or found is None:
            label = start if sources is None else end
            raise self.build_error(f"link {self.role[:200]} has nothing with the label {label[:200]!r}")
        self._shared += len(sources) * len(found) - 1
        if self._shared > MAX_SHARED:
            raise self.build_error(f"labels shared so often that they imply {MAX_SHARED} more arcs than are written")
        return product(sources, found)

    def order(self, attributes: Attributes) -> float:
        """XBRL's default is 1."""
        text = attributes.get("order")
        if text is None:
            return 1.0
        known = self._orders.get(text)
        if known is None:
            if NUMBER.fullmatch(text) is None:
                raise self.build_error(f"order is not a number: {text[:40]!r}")
            known = self._orders[text] = float(text)
        return known

    def strength(self, attributes: Attributes) -> tuple[int, bool]:
        """Priority, 0 when not given, and whether the arc is prohibited."""
        priority, text = 0, attributes.get("priority")
        if text is not None:
            if _PRIORITY.fullmatch(text) is None:
                raise self.build_error(f"priority is not a number: {text[:40]!r}")
            priority = int(text)
        return priority, attributes.get("use") == "prohibited"


class _ArcReader(_LinkReader, Generic[_T]):
    """``rest_of`` gives the fields of an arc after its ends, ``make`` the arc from all its fields."""

    def __init__(self, file: str, kind: str, make: _Make[_T], rest_of: _Rest) -> None:
        super().__init__(file, kind)
        self.found: dict[str, list[_T]] = {}
        self._make = make
        self._rest_of = rest_of
        self._arcs: list[tuple[str, str, tuple[object, ...]]] = []

    def open_arc(self, name: str, attributes: Attributes) -> None:
        start, end = self.get_required(attributes, _FROM), self.get_required(attributes, _TO)
        self._arcs.append((start, end, self._rest_of(self, attributes)))

    def close_link(self) -> None:
        make, section = self._make, self.found.setdefault(self.role, [])
        for start, end, rest in self._arcs:
            for source, target in self.ends(start, end, self.locs):
                section.append(make((source, target, *rest)))
        self._arcs = []


def _presentation_rest(reader: _LinkReader, attributes: Attributes) -> tuple[object, ...]:
    return (reader.order(attributes), attributes.get("preferredLabel"), *reader.strength(attributes))


def _calculation_rest(reader: _LinkReader, attributes: Attributes) -> tuple[object, ...]:
    weight = reader.get_required(attributes, "weight")
    if NUMBER.fullmatch(weight) is None:
        raise reader.build_error(f"weight is not a number: {weight[:40]!r}")
    return (reader.order(attributes), Decimal(weight), *reader.strength(attributes))


def _definition_rest(reader: _LinkReader, attributes: Attributes) -> tuple[object, ...]:
    return (
        reader.order(attributes),
        reader.get_required(attributes, _ARCROLE).rpartition("/")[2],
        attributes.get(f"{_XBRLDT} targetRole"),
        attributes.get(f"{_XBRLDT} closed") in _TRUE,
        attributes.get(f"{_XBRLDT} usable", "true") in _TRUE,
        *reader.strength(attributes),
    )


def _arcs(data: bytes, file: str, kind: str, make: _Make[_T], rest_of: _Rest) -> dict[str, list[_T]]:
    reader = _ArcReader(file, kind, make, rest_of)
    reader.read(data)
    return reader.found


_Shelf = dict[str, dict[str, str]]


class _LabelReader(_LinkReader):
    """``found`` are the texts in American English, ``second`` those in any other."""

    def __init__(self, file: str) -> None:
        super().__init__(file, "label")
        self.found: _Shelf = {}
        self.second: _Shelf = {}
        self._label_arcs: list[_LabelArc] = []
        # By xlink:label, which several labels may share: which of the two it goes to, its role, its text.
        self._resources: dict[str, list[tuple[_Shelf, str, str]]] = {}
        self._label: tuple[list[tuple[_Shelf, str, str]], _Shelf, str] = ([], {}, "")
        self.inside[f"{LINK} label"] = _LabelReader.open_label

    def open_arc(self, name: str, attributes: Attributes) -> None:
        ends = self.get_required(attributes, _FROM), self.get_required(attributes, _TO)
        self._label_arcs.append(_LabelArc(*ends, self.order(attributes), *self.strength(attributes)))

    def open_label(self, name: str, attributes: Attributes) -> None:
        texts = self._resources.setdefault(self.get_required(attributes, _LABEL), [])
        language = attributes.get(_XML_LANG, "en")
        shelf = self.found if language == "en-US" else self._shelf(language)
        if shelf is None:
            self.skip()
        else:
            self._label = texts, shelf, attributes.get(_ROLE, STANDARD_LABEL)
            self.collect(self._close_label, mixed=True)

    def _shelf(self, language: str) -> _Shelf | None:
        language = language.lower()
        if language == "en-us":
            return self.found
        return self.second if language == "en" or language.startswith("en-") else None

    def _close_label(self, text: str) -> None:
        texts, shelf, role = self._label
        texts.append((shelf, role, " ".join(text.split())))

    def close_link(self) -> None:
        arcs = self._label_arcs
        if any(arc.is_prohibited for arc in arcs):
            arcs = select_effective_arcs(arcs)
        for arc in arcs:
            for element_id, (shelf, role, text) in self.ends(arc.source, arc.target, self._resources):
                shelf.setdefault(element_id, {}).setdefault(role, text)
        self._label_arcs, self._resources = [], {}
