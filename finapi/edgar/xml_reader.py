"""One streaming pass over an XML document that nobody vouches for.

A format derives a :class:`XmlReader`: a table of element names and methods, swapped as the reader moves from one
part of the document to another. There is no tree: ``xml.etree`` needs about as long for Apple's 10-Q before
the first value is read, and it expands entities before anyone can refuse them.
"""

from __future__ import annotations

from collections.abc import Callable
from pyexpat import ErrorString, ExpatError, ParserCreate
from typing import Any, NoReturn

from finapi.core import stopping
from finapi.core.errors import ParseError

# Bytes of one document. The largest instances on EDGAR are about 100 MB (funds and asset-backed issuers).
MAX_BYTES = 256_000_000

# Open elements. XBRL needs 6, the ownership and 13F forms fewer than 10; the rest is for XHTML in footnotes.
# Each costs expat some 150 bytes, so an unbounded depth would turn 256 MB of "<a>" into gigabytes.
MAX_DEPTH = 100

# Bytes of one tag, comment or processing instruction. Expat before 2.6 reads an unfinished one again from its
# start with every chunk (CVE-2023-52425), which is quadratic in this number. Real tags stay below 5,000.
MAX_TAG_BYTES = 1_000_000

# Bytes before the root element: XML declaration and comments, a few hundred in real documents.
MAX_PROLOG_BYTES = 65_536

# Bytes given to expat at a time. When a handler raises, pyexpat still parses the rest of what it was given,
# with its handlers removed; of "<a><a>..." that takes 10 MB. In smaller pieces expat spends more time on
# counting lines. Before the root the piece is too small for the entities of a DTD to grow.
CHUNK_BYTES = 262_144
PROLOG_CHUNK_BYTES = 1_024

# Characters of one text that a format reads as a value; labels and definitions stay below 10,000.
MAX_TEXT_CHARACTERS = 100_000

# Bytes. Expat reports a text line by line and entity by entity; pyexpat joins the parts up to this size.
# Small, because a text that is longer than wanted is noticed when the buffer is full.
TEXT_BUFFER_BYTES = 2_048

# What expat decodes by itself. For any other name pyexpat would import a codec of the document's choosing.
ENCODINGS = frozenset({"UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "ISO-8859-1"})

Attributes = dict[str, str]
# A method of a reader, taken from its class: a table of bound methods would keep the reader, and what it has
# read, in memory until the garbage collector comes by.
OpenHandler = Callable[[Any, str, Attributes], None]


def local_name(name: str) -> str:
    """The local part of an expanded name ``URI local``."""
    return name.rpartition(" ")[2]


def _nowhere(text: str) -> None:
    """Where a text goes that nobody collects."""


class XmlReader:
    """Reads one document, calling a method for each element that the format listens to.

    ``opens`` maps expanded names (``"URI local"``, or the bare name without a namespace) to methods of the
    class, which get the name and the attributes; at first it lists the root elements that are accepted. An
    element not in it goes to :meth:`other`. ``depth`` counts the open elements, 1 at the root. The methods may
    replace ``opens``, and call :meth:`on_close`, :meth:`collect` or :meth:`skip` for the element being opened.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.depth = 0
        self.opens: dict[str, OpenHandler] = {}
        self._rooted = False
        self._closes: dict[int, Callable[[], None]] = {}
        self._text = ""
        self._room = 0
        self._leaf = 0
        self._then: Callable[[str], None] = _nowhere
        self._long: Callable[[], None] | None = None
        self.parser = ParserCreate(None, " ")
        self.parser.buffer_size = TEXT_BUFFER_BYTES
        self.parser.buffer_text = True

    def read(self, data: bytes) -> None:
        """Goes through the whole document; a reader reads once.

        ParseError: the document is not well-formed, cut off, not in one of ``ENCODINGS`` or over one of the
        limits above; it has a DTD (so there are no entities, and nothing outside the document is ever looked
        at); its root is another one; or the format refused something. UTF-16 needs its byte order mark.
        """
        if len(data) > MAX_BYTES:
            raise ParseError(self.file, "", f"{len(data)} bytes, more than the {MAX_BYTES} that are read")
        parser = self.parser
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._root
        parser.EndElementHandler = self._end
        try:
            self._feed(data)
        except ExpatError as error:
            place = f"line {error.lineno}, column {error.offset + 1}"
            raise ParseError(self.file, place, ErrorString(error.code) or "not XML") from None
        finally:
            # The same for these: the parser's handlers are methods of this object.
            self._closes.clear()
            self._then, self._long = _nowhere, None
            del self.parser

    def _feed(self, data: bytes) -> None:
        parser, view, position, last = self.parser, memoryview(data), 0, False
        while not last:
            stopping.check()
            chunk = CHUNK_BYTES if self._rooted else PROLOG_CHUNK_BYTES
            last = position + chunk >= len(data)
            parser.Parse(view[position : position + chunk], last)
            position += chunk
            if position - parser.CurrentByteIndex > MAX_TAG_BYTES + CHUNK_BYTES:
                raise self.build_error(f"a tag or comment of more than {MAX_TAG_BYTES} bytes")
            if position >= MAX_PROLOG_BYTES and not self._rooted:
                raise self.build_error(f"no root element in the first {MAX_PROLOG_BYTES} bytes")

    # For the formats.

    def build_error(self, reason: str) -> ParseError:
        """The error to raise for what is being read, with its line and column (both from 1)."""
        place = f"line {self.parser.CurrentLineNumber}, column {self.parser.CurrentColumnNumber + 1}"
        return ParseError(self.file, place, reason)

    def get_required(self, attributes: Attributes, name: str) -> str:
        """The value of an attribute that must be there; ParseError when it is not."""
        value = attributes.get(name)
        if value is None:
            raise self.build_error(f"attribute {local_name(name)} is missing")
        return value

    def refuse_long_text(self) -> NoReturn:
        """Refuses a text for its length."""
        raise self.build_error("a text is longer than this reader accepts")

    def build_depth_error(self) -> ParseError:
        """The error to raise for an element that is nested too deep."""
        return self.build_error(f"more than {MAX_DEPTH} elements inside each other")

    def restore_handlers(self) -> None:
        """Gives the parser this class's handlers: of elements, of no text."""
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = None

    def open_other(self, name: str, attributes: Attributes) -> None:
        """An element that is not in ``opens``: here it is passed over, while its children are looked at."""

    def on_close(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when the element being opened is closed."""
        self._closes[self.depth] = then

    def skip(self) -> None:
        """Passes over everything inside the element being opened."""
        self._leaf = self.depth
        self.parser.StartElementHandler = self._inner
        self.parser.EndElementHandler = self._end_of_skip

    def collect(
        self,
        then: Callable[[str], None],
        long: Callable[[], None] | None = None,
        limit: int = MAX_TEXT_CHARACTERS,
        mixed: bool = False,
    ) -> None:
        """Calls ``then`` with the text of the element being opened, once it is closed.

        A text of more than ``limit`` characters is not kept: ``long`` is called in place of ``then``, or
        without one it is a ParseError. So is an element inside, unless ``mixed``: then its text counts.
        """
        self._text, self._room, self._then, self._long = "", limit, then, long
        self._leaf = self.depth
        parser = self.parser
        parser.StartElementHandler = self._inner if mixed else self._no_inner
        parser.EndElementHandler = self._end_of_text
        parser.CharacterDataHandler = self._characters

    # The handlers. Text is listened to only while someone collects it.

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.upper() not in ENCODINGS:
            raise self.build_error(f"encoding {encoding[:40]} is not one of {', '.join(sorted(ENCODINGS))}")

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        raise self.build_error("a document type declaration, which no SEC format allows")

    def _root(self, name: str, attributes: Attributes) -> None:
        if name not in self.opens:
            wanted = " or ".join(local_name(known) for known in self.opens)
            own = next((known for known in self.opens if local_name(known) == local_name(name)), None)
            if own is not None:
                spaces = [one.rpartition(" ")[0][:100] for one in (name, own)]
                given, wanted = (f"the namespace {spaces[0]}" if spaces[0] else "no namespace", spaces[1] or "none")
                raise self.build_error(f"{local_name(name)[:40]} is of {given}, not of {wanted}")
            raise self.build_error(f"the root element is {local_name(name)[:40]}, not {wanted}")
        self._rooted = True
        self.parser.StartElementHandler = self._start
        self._start(name, attributes)

    def _start(self, name: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.build_depth_error()
        opened = self.opens.get(name)
        if opened is None:
            self.open_other(name, attributes)
        else:
            opened(self, name, attributes)

    def _end(self, name: str) -> None:
        closed = self._closes.pop(self.depth, None)
        if closed is not None:
            closed()
        self.depth -= 1

    def _inner(self, name: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.build_depth_error()

    def _no_inner(self, name: str, attributes: Attributes) -> NoReturn:
        raise self.build_error(f"element {local_name(name)[:40]} where only text is allowed")

    def _characters(self, piece: str) -> None:
        # The handler stays until the end of the element: taking it off in here, pyexpat would hand over the
        # same piece again.
        self._room -= len(piece)
        if self._room >= 0:
            self._text += piece
        elif self._long is None:
            self.refuse_long_text()
        else:
            self._text = ""

    def _end_of_text(self, name: str) -> None:
        if self.depth != self._leaf:
            self.depth -= 1
            return
        self.restore_handlers()
        if self._room >= 0:
            self._then(self._text)
        elif self._long is not None:
            self._long()
        self._end(name)

    def _end_of_skip(self, name: str) -> None:
        if self.depth == self._leaf:
            self.parser.StartElementHandler = self._start
            self.parser.EndElementHandler = self._end
            self._end(name)
        else:
            self.depth -= 1
