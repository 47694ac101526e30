"""The parser of inline XBRL: HTML pages whose numbers and texts are tagged as facts.

A page has the contexts and units of an instance in a hidden header. A fact is an element around printed text::

    <td>$<ix:nonFraction name="us-gaap:Assets" contextRef="c-1" unitRef="usd" decimals="-6" scale="6"
        format="ixt:num-dot-decimal" id="f-12">352,583</ix:nonFraction></td>

Its value is the printed text, transformed by its format, times ten to the power of its scale, times its sign:
352583000000. A text may be continued in other places of the page (``ix:continuation``) and leave parts out
(``ix:exclude``). A filing may have several pages, which together are one document set: a fact of one page may use a
context of another. The SEC extracts an instance (``*_htm.xml``) from the pages of a filing; :func:`parse_inline`
returns the same facts. Source: Inline XBRL 1.1, and the EDGAR Filer Manual, volume II, 5.2.5.

Elements are nested: a tagged note contains tagged numbers. So each open fact has a :class:`_Content`, to which all text
below it is added. A content that becomes longer than a fact may be is emptied immediately, so a page takes no
more memory than its facts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from html.entities import html5
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar.concept_names import NUMBER
from finapi.edgar.xbrl.instance import (
    NIL,
    TEXT_LIMIT,
    TRUE,
    Instance,
    InstanceContext,
    InstanceFact,
    InstanceReader,
)
from finapi.edgar.xbrl.qnames import LINK, XBRLI
from finapi.edgar.xbrl.transformations import TransformationError, transform_text
from finapi.edgar.xml_reader import ENCODINGS, Attributes, OpenHandler, local_name

# Open elements: pages nest tables and sections in each other, but real ones not more than 40 deep.
MAX_DEPTH = 400
# Characters of a printed number or of one part of a fraction.
MAX_NUMBER_CHARACTERS = 200
# Descriptions of unknown texts that are returned.
MAX_UNKNOWN_TEXTS = 20

_XHTML = "http://www.w3.org/1999/xhtml"
_NAMESPACES = ("http://www.xbrl.org/2013/inlineXBRL", "http://www.xbrl.org/2008/inlineXBRL")
_SCALE = re.compile(r"[+-]?[0-9]{1,2}")
# HTML elements that have no content.
_VOID_ELEMENTS = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "param", "wbr"}


class InlinePage(NamedTuple):
    """An HTML page with inline XBRL. ``file`` is named in errors."""

    content: bytes
    file: str


class FactParts(NamedTuple):
    """The printed text of a tagged number, and the attributes that turn it into the value of the fact."""

    text: str
    namespace: str
    format_name: str
    scale: str | None
    is_negative: bool


def parse_inline(pages: Sequence[InlinePage]) -> Instance:
    """Return the contexts, units and facts of all pages of a filing, as if they were one instance.

    A fact's ``page`` is the index of its page, and its ``id`` is that of the element. Facts for other targets than the
    default one are left out, as are footnotes, and texts whose format finapi does not know (``unknown_texts``).

    Raise ParseError in the cases in which :func:`finapi.edgar.xbrl.parse_instance` does, and if

    - a number has a format that finapi does not know, or that does not allow its text,
    - a continuation is missing, or is used twice,
    - a fraction has no exact decimal value.

    The pages may use the named characters of HTML (``&nbsp;``).
    """
    document_set = _DocumentSet()
    readers = []
    try:
        for index, page in enumerate(pages):
            reader = _PageReader(page.file, index, document_set)
            # White space before the XML declaration would be an error.
            reader.read(page.content.lstrip(b" \t\r\n"))
            readers.append(reader)
        facts = list(document_set.iter_facts())
    finally:
        # The texts refer to their readers, and these to the document set. Break the reference cycle.
        document_set.facts.clear()
    namespaces: dict[str, str] = {}
    schema_refs: list[str] = []
    for reader in readers:
        reader.check_references()
        namespaces = {**reader.names.namespaces, **namespaces}
        schema_refs += [ref for ref in reader.schema_refs if ref not in schema_refs]
    return Instance(
        contexts=document_set.contexts,
        units=document_set.units,
        facts=facts,
        namespaces=namespaces,
        schema_refs=schema_refs,
        long_text_count=document_set.long_text_count,
        unknown_texts=document_set.unknown_texts,
    )


def list_differences(page: Instance, extracted: Instance) -> list[str]:
    """Return one message for each figure of an inline filing that differs from the instance extracted from it."""
    page_figures = _collect_figures(page)
    extracted_figures = _collect_figures(extracted)
    differences = []
    for key in {**extracted_figures, **page_figures}:
        if page_figures.get(key) != extracted_figures.get(key):
            concept, start, end, *_ = key
            period = f"{start} to {end}" if start else end
            differences.append(
                f"{concept} of {period} is {_format_values(page_figures.get(key))} on the page and "
                f"{_format_values(extracted_figures.get(key))} in the instance"
            )
    return differences


# Concept, first day, last day, dimensions and unit.
_FigureKey = tuple[str, str | None, str, tuple[tuple[str, str], ...], str]


def _collect_figures(instance: Instance) -> dict[_FigureKey, set[Decimal | None]]:
    """Return the values of each figure. A page may print a figure several times, rounded differently."""
    figures: dict[_FigureKey, set[Decimal | None]] = {}
    for fact in instance.facts:
        if fact.unit is not None:
            context = instance.contexts[fact.context]
            key = (fact.concept, context.start, context.end, context.dimensions, instance.units[fact.unit])
            figures.setdefault(key, set()).add(None if fact.value is None else Decimal(fact.value))
    return figures


def _format_values(values: set[Decimal | None] | None) -> str:
    if values is None:
        return "missing"
    return " or ".join(sorted("nil" if value is None else format(value, "f") for value in values))


def compute_number(parts: FactParts) -> str:
    """Return the value of a tagged number. Raise TransformationError if its text is not a number."""
    text = parts.text
    if parts.format_name:
        text = transform_text(parts.namespace, parts.format_name, text)
    text = text.strip()
    scale = int(parts.scale) if parts.scale else 0
    if not scale and not parts.is_negative:
        return text
    # Decimal accepts more, such as 1E999999999, which would take a gigabyte when it is written out.
    if NUMBER.fullmatch(text) is None:
        raise TransformationError(f"{text[:40]!r} is not a number")
    # Decimal.scaleb and unary minus are not used, because they round to the precision of the decimal context.
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    is_negative = bool(sign) != parts.is_negative and any(digits)
    return format(Decimal((int(is_negative), digits, exponent + scale)), "f")


class _Content:
    """The text of an element that is open: None once it is longer than ``max_characters``.

    ``markup`` is the same with its HTML tags, for facts that keep them; None if it is not needed or too long.
    """

    __slots__ = ("markup", "max_characters", "text")

    def __init__(self, max_characters: int, *, has_markup: bool) -> None:
        self.max_characters = max_characters
        self.text: str | None = ""
        self.markup: str | None = "" if has_markup else None

    def add_text(self, text: str) -> bool:
        """Add a text. Return False if nothing more can be added."""
        if self.text is not None:
            self.text = self._join(self.text, text)
        if self.markup is not None:
            self.markup = self._join(self.markup, html.escape(text, quote=False))
        return self.text is not None or self.markup is not None

    def add_tag(self, tag: str) -> None:
        """Add a tag of HTML."""
        if self.markup is not None:
            self.markup = self._join(self.markup, tag)

    def _join(self, first: str, second: str) -> str | None:
        return first + second if len(first) + len(second) <= self.max_characters else None


class _Continuation(NamedTuple):
    """A further part of a text, and the id of the part after it, or None."""

    content: _Content
    next_id: str | None


class _TaggedText(NamedTuple):
    """A text whose parts may be on other pages. Its value is computed when all pages have been read."""

    reader: _PageReader
    concept: str
    attributes: Attributes
    content: _Content
    namespace: str
    format_name: str
    place: str


class _DocumentSet:
    """The parts of all pages of a filing."""

    def __init__(self) -> None:
        self.contexts: dict[str, InstanceContext] = {}
        self.units: dict[str, str] = {}
        # In the order of their start tags. None stands for an element that is still open.
        self.facts: list[InstanceFact | _TaggedText | None] = []
        self.continuations: dict[str, _Continuation] = {}
        self.long_text_count = 0
        self.unknown_texts: list[str] = []

    def iter_facts(self) -> Iterator[InstanceFact]:
        """Yield the facts of all pages. Raise ParseError if a continuation is missing."""
        for fact in self.facts:
            if isinstance(fact, _TaggedText):
                text_fact = self._complete_text(fact)
                if text_fact is not None:
                    yield text_fact
            elif fact is not None:
                yield fact

    def _complete_text(self, fact: _TaggedText) -> InstanceFact | None:
        """Return the fact of a text with its continuations, or None if it is too long or its format is unknown."""
        has_markup = fact.attributes.get("escape") in TRUE
        parts = [fact.content]
        next_id = fact.attributes.get("continuedAt")
        while next_id is not None:
            continuation = self.continuations.pop(next_id, None)
            if continuation is None:
                raise ParseError(
                    fact.reader.file, fact.place, f"continuation {next_id[:80]!r} is missing or is used twice"
                )
            parts.append(continuation.content)
            next_id = continuation.next_id
        text = ""
        for content in parts:
            part = content.markup if has_markup else content.text
            if part is None or len(text) + len(part) > TEXT_LIMIT:
                self.long_text_count += 1
                return None
            text += part
        if fact.format_name:
            try:
                text = transform_text(fact.namespace, fact.format_name, text)
            except TransformationError as error:
                if len(self.unknown_texts) < MAX_UNKNOWN_TEXTS:
                    self.unknown_texts.append(f"{fact.concept}: {error}")
                return None
        return fact.reader.build_page_fact(fact.concept, fact.attributes, text)


class _PageReader(InstanceReader):
    """A reader of a page, which adds the contexts, units and facts of the page to those of the document set."""

    max_depth = MAX_DEPTH
    encodings = ENCODINGS | {"ASCII", "WINDOWS-1252"}

    def __init__(self, file: str, page: int, document_set: _DocumentSet) -> None:
        super().__init__(file)
        self.page = page
        self.document_set = document_set
        self.contexts = document_set.contexts
        self.units = document_set.units
        self.open_handlers = {f"{_XHTML} html": _PageReader.open_page}
        self.outer_handlers = _PAGE_HANDLERS
        # The contents to which text is added: those of the open facts. An ix:exclude moves them to the second list
        # until it ends, so that they do not get its text.
        self._contents: list[_Content] = []
        self._excluded_contents: list[list[_Content]] = []
        # The numerator and the denominator of the fraction that is open.
        self._fraction: dict[str, str] | None = None
        # The named characters of HTML are declared by no document type declaration, and expat then calls this handler.
        self.parser.UseForeignDTD(True)
        self.parser.SkippedEntityHandler = self._add_named_character

    def open_doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        """Handle ``<!DOCTYPE html>``. Raise ParseError for another type, and for declarations inside of it."""
        if has_subset:
            raise self.build_error("a document type with declarations inside of it, such as <!DOCTYPE html [...]>")
        if name.lower() != "html":
            raise self.build_error(f"the document type {name[:80]!r} instead of html")

    def open_page(self, name: str, attributes: Attributes) -> None:
        """Read the root element."""
        self.open_handlers = _PAGE_HANDLERS

    def open_other(self, name: str, attributes: Attributes) -> None:
        """Read an element of HTML. Add its tags to the open facts whose text contains HTML (``escape="true"``)."""
        if self.open_handlers is not self.outer_handlers:
            raise self.build_error(f"element {local_name(name)[:80]} inside a context or unit")
        contents = [content for content in self._contents if content.markup is not None]
        if not contents or name.startswith(_NAMESPACES):
            return
        tag = local_name(name)
        names_and_values = "".join(
            f' {local_name(attribute)}="{_escape_attribute(value)}"' for attribute, value in attributes.items()
        )
        is_void = tag in _VOID_ELEMENTS
        start_tag = f"<{tag}{names_and_values}/>" if is_void else f"<{tag}{names_and_values}>"
        for content in contents:
            content.add_tag(start_tag)
        if not is_void:
            self.call_on_close(lambda: _add_tags(contents, f"</{tag}>"))

    # ---- text

    def _add_content(self, max_characters: int, *, has_markup: bool = False) -> _Content:
        content = _Content(max_characters, has_markup=has_markup)
        self._contents.append(content)
        self.parser.CharacterDataHandler = self._add_text
        return content

    def _remove_content(self, content: _Content) -> None:
        # Compared by identity. A content that became too long has been removed already.
        self._contents = [other for other in self._contents if other is not content]
        if not self._contents:
            self.parser.CharacterDataHandler = None

    def _add_text(self, text: str) -> None:
        full_contents = [content for content in self._contents if not content.add_text(text)]
        if full_contents:
            self._contents = [content for content in self._contents if content not in full_contents]

    def _add_named_character(self, name: str, is_parameter: bool) -> None:
        text = html5.get(f"{name};")
        if is_parameter or text is None:
            raise self.build_error(f"undefined entity {name[:40]}")
        self._add_text(text)

    def open_exclude(self, name: str, attributes: Attributes) -> None:
        """Begin a part of the page that belongs to none of the open facts."""
        self._excluded_contents.append(self._contents)
        self._contents = []
        self.call_on_close(self._close_exclude)

    def _close_exclude(self) -> None:
        self._contents = self._excluded_contents.pop()
        if self._contents:
            self.parser.CharacterDataHandler = self._add_text

    # ---- parts of the header

    def open_header(self, name: str, attributes: Attributes) -> None:
        """Begin the hidden header. Raise ParseError if it is inside a fact."""
        if self._contents or self._excluded_contents:
            raise self.build_error("a header inside a fact")

    def open_container(self, name: str, attributes: Attributes) -> None:
        """Do nothing: an element without values of its own, whose children are read."""

    def open_tuple(self, name: str, attributes: Attributes) -> None:
        """Raise ParseError, as for the tuples of an instance."""
        raise self.build_error("tuples are not supported")

    def open_resource(self, name: str, attributes: Attributes) -> None:
        """Read a context, unit or reference. Raise ParseError if it is inside a fact, whose text it would interrupt."""
        if self._contents or self._excluded_contents:
            raise self.build_error(f"element {local_name(name)[:80]} inside a fact")
        _RESOURCE_HANDLERS[name](self, name, attributes)

    # ---- facts

    def _add_slot(self) -> int:
        """Reserve the place of a fact that is being opened, and return its index."""
        self.document_set.facts.append(None)
        return len(self.document_set.facts) - 1

    def _get_concept(self, attributes: Attributes) -> str:
        """Return the concept of a fact that is being opened, and record its context for :meth:`check_references`."""
        concept = self._resolve_name(self.get_required(attributes, "name"))
        self.add_context_reference(concept, self.get_required(attributes, "contextRef"))
        return concept

    def _get_format(self, attributes: Attributes) -> tuple[str, str]:
        """Return the namespace and the local name of an element's format, or two empty texts."""
        format_name = attributes.get("format")
        if format_name is None:
            return "", ""
        namespace = self.names.find_namespace(format_name)
        if namespace is None:
            raise self.build_error(f"is not a format with a declared prefix: {format_name[:80]!r}")
        return namespace, format_name.strip().rpartition(":")[2]

    def build_page_fact(self, concept: str, attributes: Attributes, value: str | None) -> InstanceFact:
        """Return a fact of this page."""
        return self.build_fact(concept, attributes, value)._replace(page=self.page)

    def open_number(self, name: str, attributes: Attributes) -> None:
        """Begin a tagged number. Its value is computed at its end tag."""
        if "target" in attributes:
            return
        concept = self._get_concept(attributes)
        self.get_required(attributes, "unitRef")
        qualified_format = self._get_format(attributes)
        slot = self._add_slot()
        content = self._add_content(MAX_NUMBER_CHARACTERS)
        is_nil = attributes.get(NIL) in TRUE

        def close_number() -> None:
            self._remove_content(content)
            value = None if is_nil else self._compute_value(concept, content, attributes, qualified_format)
            self.document_set.facts[slot] = self.build_page_fact(concept, attributes, value)

        self.call_on_close(close_number)

    def _compute_value(
        self, concept: str, content: _Content, attributes: Attributes, qualified_format: tuple[str, str]
    ) -> str:
        """Return the value of a number or of a part of a fraction.

        ``qualified_format`` is a result of :meth:`_get_format`. Raise ParseError if the text or an attribute is
        invalid.
        """
        if content.text is None:
            raise self.build_error(f"{concept} has a text of more than {MAX_NUMBER_CHARACTERS} characters")
        scale = attributes.get("scale")
        if scale is not None and _SCALE.fullmatch(scale.strip()) is None:
            raise self.build_error(f"scale is not a number of at most two digits: {scale[:40]!r}")
        sign = attributes.get("sign", "")
        if sign not in ("", "-"):
            raise self.build_error(f"sign is not a minus: {sign[:40]!r}")
        try:
            return compute_number(FactParts(content.text, *qualified_format, scale, sign == "-"))
        except TransformationError as error:
            raise self.build_error(f"{concept}: {error}") from None

    def open_text(self, name: str, attributes: Attributes) -> None:
        """Begin a tagged text. Its value is computed when all pages have been read."""
        if "target" in attributes:
            return
        concept = self._get_concept(attributes)
        if "unitRef" in attributes:
            raise self.build_error(f"{concept} is a text with a unit")
        namespace, format_name = self._get_format(attributes)
        slot = self._add_slot()
        content = self._add_content(TEXT_LIMIT, has_markup=attributes.get("escape") in TRUE)
        tagged_text = _TaggedText(
            self, concept, attributes, content, namespace, format_name, f"line {self.parser.CurrentLineNumber}"
        )
        is_nil = attributes.get(NIL) in TRUE

        def close_text() -> None:
            self._remove_content(content)
            self.document_set.facts[slot] = self.build_page_fact(concept, attributes, None) if is_nil else tagged_text

        self.call_on_close(close_text)

    def open_continuation(self, name: str, attributes: Attributes) -> None:
        """Begin a further part of a text. Raise ParseError if its id is used twice."""
        continuation_id = self.get_required(attributes, "id")
        if continuation_id in self.document_set.continuations:
            raise self.build_error(f"id {continuation_id[:80]!r} is used twice")
        content = self._add_content(TEXT_LIMIT, has_markup=True)
        self.document_set.continuations[continuation_id] = _Continuation(content, attributes.get("continuedAt"))
        self.call_on_close(lambda: self._remove_content(content))

    def open_fraction(self, name: str, attributes: Attributes) -> None:
        """Begin a tagged fraction. Its value is computed at its end tag."""
        if "target" in attributes:
            return
        if self._fraction is not None:
            raise self.build_error("a fraction inside a fraction")
        concept = self._get_concept(attributes)
        self.get_required(attributes, "unitRef")
        slot = self._add_slot()
        fraction: dict[str, str] = {}
        self._fraction = fraction
        is_nil = attributes.get(NIL) in TRUE

        def close_fraction() -> None:
            self._fraction = None
            value = None if is_nil else self._compute_fraction(concept, fraction)
            self.document_set.facts[slot] = self.build_page_fact(concept, attributes, value)

        self.call_on_close(close_fraction)

    def open_fraction_part(self, name: str, attributes: Attributes) -> None:
        """Begin the numerator or the denominator of the open fraction."""
        fraction = self._fraction
        if fraction is None:
            return
        part = local_name(name)
        qualified_format = self._get_format(attributes)
        content = self._add_content(MAX_NUMBER_CHARACTERS)

        def close_part() -> None:
            self._remove_content(content)
            fraction[part] = self._compute_value(part, content, attributes, qualified_format)

        self.call_on_close(close_part)

    def _compute_fraction(self, concept: str, fraction: dict[str, str]) -> str:
        """Return the decimal value of a fraction."""
        texts = [fraction.get(part, "") for part in ("numerator", "denominator")]
        if not all(map(NUMBER.fullmatch, texts)):
            raise self.build_error(f"{concept} is not a fraction")
        numerator, denominator = map(Decimal, texts)
        if not denominator:
            raise self.build_error(f"{concept} is not a fraction")
        quotient = numerator / denominator
        if quotient * denominator != numerator:
            raise self.build_error(f"{concept} has no exact decimal value")
        return format(quotient, "f")


def _escape_attribute(value: str) -> str:
    # With quote=True, html.escape would also replace apostrophes.
    return html.escape(value, quote=False).replace('"', "&quot;")


def _add_tags(contents: Iterable[_Content], tag: str) -> None:
    for content in contents:
        content.add_tag(tag)


_RESOURCE_HANDLERS: dict[str, Callable[[InstanceReader, str, Attributes], None]] = {
    f"{XBRLI} context": InstanceReader.open_context,
    f"{XBRLI} unit": InstanceReader.open_unit,
    f"{LINK} schemaRef": InstanceReader.open_schema_ref,
    f"{LINK} linkbaseRef": InstanceReader.open_ignored,
    f"{LINK} roleRef": InstanceReader.open_ignored,
    f"{LINK} arcroleRef": InstanceReader.open_ignored,
}
_INLINE_HANDLERS: dict[str, OpenHandler] = {
    "continuation": _PageReader.open_continuation,
    "denominator": _PageReader.open_fraction_part,
    "exclude": _PageReader.open_exclude,
    "footnote": _PageReader.open_container,
    "fraction": _PageReader.open_fraction,
    "header": _PageReader.open_header,
    "hidden": _PageReader.open_container,
    "nonFraction": _PageReader.open_number,
    "nonNumeric": _PageReader.open_text,
    "numerator": _PageReader.open_fraction_part,
    "references": _PageReader.open_container,
    "relationship": _PageReader.open_container,
    "resources": _PageReader.open_container,
    "tuple": _PageReader.open_tuple,
}
_PAGE_HANDLERS: dict[str, OpenHandler] = {
    **{f"{namespace} {name}": handler for namespace in _NAMESPACES for name, handler in _INLINE_HANDLERS.items()},
    **dict.fromkeys(_RESOURCE_HANDLERS, _PageReader.open_resource),
}
