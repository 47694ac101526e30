"""A streaming reader for XML documents from untrusted sources.

A parser of one SEC format derives a class from :class:`XmlReader`. The class has a table from element names to
methods. The reader goes through the document once and calls the method of each element that it meets. The method may
replace the table, so that the same element name can mean different things in different parts of the document::

    class Names(XmlReader):
        def __init__(self, file: str) -> None:
            super().__init__(file)
            self.names: list[str] = []
            self.open_handlers = {"owners": Names.open_root}

        def open_root(self, name: str, attributes: Attributes) -> None:
            self.open_handlers = {"name": Names.open_name}

        def open_name(self, name: str, attributes: Attributes) -> None:
            self.collect_text(self.names.append)

No tree is built. For Apple's 10-Q, ``xml.etree`` takes about as long to build its tree as this reader takes to return
all values, and it expands entities before a document type declaration can be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pyexpat import ErrorString, ExpatError, ParserCreate
from typing import Any, NoReturn

from finapi.core import stopping
from finapi.core.errors import ParseError
from finapi.edgar import xml_encodings

# Bytes of one document. The largest instances on EDGAR are about 100 MB (funds and asset-backed issuers).
MAX_BYTES = 256_000_000

# Elements that are open at the same time. XBRL needs 6, the ownership and 13F forms fewer than 10, XHTML in footnotes
# more. Each costs expat some 150 bytes, so without this limit 256 MB of "<a>" would take gigabytes.
MAX_DEPTH = 100

# Bytes of one tag, comment or processing instruction. Expat before 2.6 reads an unfinished one again from its start
# with every chunk (CVE-2023-52425), which is quadratic in this number. Real tags stay below 5,000 bytes.
MAX_TAG_BYTES = 1_000_000

# Bytes before the root element: the XML declaration and comments. Real documents have a few hundred.
MAX_PROLOG_BYTES = 65_536

# Bytes passed to expat at a time. After a handler raised, pyexpat still parses the rest of the chunk, with the handlers
# removed, which takes 10 MB for a chunk of "<a><a>...". In smaller chunks expat spends more time on counting lines.
# Chunks before the root element are so small that the entities of a document type declaration cannot grow.
CHUNK_BYTES = 262_144
PROLOG_CHUNK_BYTES = 1_024

# Characters of one text that a parser collects. Labels and definitions stay below 10,000.
MAX_TEXT_CHARACTERS = 100_000

# Expat reports a text line by line and entity by entity, and pyexpat joins the pieces up to this size. The buffer is
# small because a text that is too long is noticed only when the buffer is full.
TEXT_BUFFER_BYTES = 2_048

# Encodings that expat decodes itself. For any other name pyexpat would import a Python codec that the document chooses.
ENCODINGS = xml_encodings.NATIVE_NAMES

Attributes = dict[str, str]
# A method of a reader, taken from its class. A table of bound methods would be a reference cycle: the reader and all
# that it has read would stay in memory until the garbage collector runs.
OpenHandler = Callable[[Any, str, Attributes], None]


def local_name(name: str) -> str:
    """Return the local part of an expanded name ``URI local``."""
    return name.rpartition(" ")[2]


def _discard_text(text: str) -> None:
    """Ignore a text. This is the callback while no text is collected."""


class XmlReader:
    """A reader of one document that calls a method for each element that the parser wants.

    ``open_handlers`` maps expanded names (``"URI local"``, or the bare name of an element without a namespace) to
    methods of the class, which receive the name and the attributes. When the document is opened, it lists the root
    elements that are accepted. Elements that are not in it go to :meth:`open_other`. ``depth`` is the number of open
    elements, 1 at the root. The methods may replace ``open_handlers``, and they may call :meth:`call_on_close`,
    :meth:`collect_text` or :meth:`skip_element` for the element that is being opened. A class may replace
    ``max_depth`` and ``encodings``.
    """

    max_depth = MAX_DEPTH
    encodings = ENCODINGS

    def __init__(self, file: str) -> None:
        self.file = file
        self.depth = 0
        self.open_handlers: dict[str, OpenHandler] = {}
        self._has_root = False
        self._close_callbacks: dict[int, Callable[[], None]] = {}
        # The element whose text is collected or whose content is skipped.
        self._leaf_depth = 0
        self._text = ""
        self._characters_left = 0
        self._on_text: Callable[[str], None] = _discard_text
        self._on_long_text: Callable[[], None] | None = None
        self.parser = ParserCreate(None, " ")
        self.parser.buffer_size = TEXT_BUFFER_BYTES
        self.parser.buffer_text = True

    def read(self, content: bytes) -> None:
        """Go through the document. A reader can be used once.

        Raise ParseError if the document is not well-formed, is cut off, is in an encoding that ``xml_encodings`` does
        not know, exceeds one of the limits above, has a document type declaration or an unexpected root element, or if
        a handler refused it. Without a document type declaration there are no entities, and nothing outside of the
        document is ever read. UTF-16 needs its byte order mark.
        """
        if len(content) > MAX_BYTES:
            raise ParseError(self.file, "", f"{len(content)} bytes, more than the limit of {MAX_BYTES}")
        content = xml_encodings.convert(content, self.file)
        parser = self.parser
        parser.XmlDeclHandler = self._check_encoding
        parser.StartDoctypeDeclHandler = self.open_doctype
        parser.StartElementHandler = self._open_root
        parser.EndElementHandler = self._close_element
        try:
            self._feed(content)
        except ExpatError as error:
            place = f"line {error.lineno}, column {error.offset + 1}"
            raise ParseError(self.file, place, ErrorString(error.code) or "not XML") from None
        finally:
            # The parser's handlers and the callbacks are bound methods of this object. Break the reference cycles.
            self._close_callbacks.clear()
            self._on_text = _discard_text
            self._on_long_text = None
            del self.parser

    def _feed(self, content: bytes) -> None:
        parser = self.parser
        view = memoryview(content)
        position = 0
        is_last = False
        while not is_last:
            stopping.check()
            chunk_bytes = CHUNK_BYTES if self._has_root else PROLOG_CHUNK_BYTES
            is_last = position + chunk_bytes >= len(content)
            parser.Parse(view[position : position + chunk_bytes], is_last)
            position += chunk_bytes
            if position - parser.CurrentByteIndex > MAX_TAG_BYTES + CHUNK_BYTES:
                raise self.build_error(f"a tag or comment of more than {MAX_TAG_BYTES} bytes")
            if position >= MAX_PROLOG_BYTES and not self._has_root:
                raise self.build_error(f"no root element in the first {MAX_PROLOG_BYTES} bytes")

    # ---- for derived classes

    def build_error(self, reason: str) -> ParseError:
        """Return a ParseError with the current line and column, both counted from 1."""
        place = f"line {self.parser.CurrentLineNumber}, column {self.parser.CurrentColumnNumber + 1}"
        return ParseError(self.file, place, reason)

    def build_depth_error(self) -> ParseError:
        """Return a ParseError for an element that is nested too deep."""
        return self.build_error(f"elements nested more than {self.max_depth} deep")

    def refuse_long_text(self) -> NoReturn:
        """Raise a ParseError for a text that is too long."""
        raise self.build_error("a text is longer than this reader accepts")

    def refuse_inner_element(self, name: str, attributes: Attributes) -> NoReturn:
        """Raise a ParseError for an element inside of an element that may have only text."""
        raise self.build_error(f"element {local_name(name)[:40]} where only text is allowed")

    def get_required(self, attributes: Attributes, name: str) -> str:
        """Return the value of an attribute. Raise ParseError if it is missing."""
        value = attributes.get(name)
        if value is None:
            raise self.build_error(f"attribute {local_name(name)} is missing")
        return value

    def restore_handlers(self) -> None:
        """Make the parser call this class's element handlers again, and none for text."""
        self.parser.StartElementHandler = self._open_element
        self.parser.EndElementHandler = self._close_element
        self.parser.CharacterDataHandler = None

    def open_doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        """Handle a document type declaration: raise ParseError."""
        raise self.build_error("a document type declaration, which no SEC format allows")

    def open_other(self, name: str, attributes: Attributes) -> None:
        """Handle an element that is not in ``open_handlers``. By default it is ignored, but its children are read."""

    def call_on_close(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the element that is being opened is closed."""
        self._close_callbacks[self.depth] = callback

    def skip_element(self) -> None:
        """Ignore everything inside of the element that is being opened."""
        self._leaf_depth = self.depth
        self.parser.StartElementHandler = self._open_inner_element
        self.parser.EndElementHandler = self._close_skipped_element

    def collect_text(
        self,
        on_text: Callable[[str], None],
        on_long_text: Callable[[], None] | None = None,
        max_characters: int = MAX_TEXT_CHARACTERS,
        allow_elements: bool = False,
    ) -> None:
        """Call ``on_text`` with the text of the element that is being opened, when it is closed.

        If the text has more than ``max_characters``, it is dropped and ``on_long_text`` is called instead. Without
        ``on_long_text`` this is a ParseError. An inner element is a ParseError too, unless ``allow_elements`` is
        set: then the text inside of it is included.
        """
        self._text = ""
        self._characters_left = max_characters
        self._on_text = on_text
        self._on_long_text = on_long_text
        self._leaf_depth = self.depth
        parser = self.parser
        parser.StartElementHandler = self._open_inner_element if allow_elements else self.refuse_inner_element
        parser.EndElementHandler = self._close_text_element
        parser.CharacterDataHandler = self._append_text

    # ---- handlers of the parser; the one for text is set only while a text is collected

    def _check_encoding(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.upper() not in self.encodings:
            raise self.build_error(f"encoding {encoding[:40]} is not supported; convert the document to UTF-8")

    def _open_root(self, name: str, attributes: Attributes) -> None:
        if name not in self.open_handlers:
            raise self._build_root_error(name)
        self._has_root = True
        self.parser.StartElementHandler = self._open_element
        self._open_element(name, attributes)

    def _build_root_error(self, name: str) -> ParseError:
        local = local_name(name)
        for accepted in self.open_handlers:
            if local_name(accepted) == local:
                uri = name.rpartition(" ")[0][:100]
                accepted_uri = accepted.rpartition(" ")[0][:100]
                namespace = f"the namespace {uri}" if uri else "no namespace"
                return self.build_error(f"{local[:40]} is in {namespace}, not in {accepted_uri or 'none'}")
        accepted_names = " or ".join(map(local_name, self.open_handlers))
        return self.build_error(f"the root element is {local[:40]}, not {accepted_names}")

    def _open_element(self, name: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > self.max_depth:
            raise self.build_depth_error()
        handler = self.open_handlers.get(name)
        if handler is None:
            self.open_other(name, attributes)
        else:
            handler(self, name, attributes)

    def _close_element(self, name: str) -> None:
        callback = self._close_callbacks.pop(self.depth, None)
        if callback is not None:
            callback()
        self.depth -= 1

    def _open_inner_element(self, name: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > self.max_depth:
            raise self.build_depth_error()

    def _append_text(self, piece: str) -> None:
        # This handler stays set until the element is closed: if it were removed in here, pyexpat would report the
        # same piece again.
        self._characters_left -= len(piece)
        if self._characters_left >= 0:
            self._text += piece
        elif self._on_long_text is None:
            self.refuse_long_text()
        else:
            self._text = ""

    def _close_text_element(self, name: str) -> None:
        if self.depth != self._leaf_depth:
            self.depth -= 1
            return
        self.restore_handlers()
        if self._characters_left >= 0:
            self._on_text(self._text)
        elif self._on_long_text is not None:
            self._on_long_text()
        self._close_element(name)

    def _close_skipped_element(self, name: str) -> None:
        if self.depth == self._leaf_depth:
            self.parser.StartElementHandler = self._open_element
            self.parser.EndElementHandler = self._close_element
            self._close_element(name)
        else:
            self.depth -= 1
