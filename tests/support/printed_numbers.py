"""An independent reader of inline pages, for tests: the elements with an id, and the numbers that they print.

It shares nothing with the parsers of finapi. It reads a page as a browser does, with the parser of HTML of Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser

NUMBER_WORDS = {"no": "0", "none": "0", "one": "1", "two": "2", "three": "3", "ten": "10", "twenty": "20"}


@dataclass
class PageElement:
    """An element of a page with an id. Names are in lower case, and ``text`` includes the texts of inner elements."""

    tag: str
    attributes: dict[str, str]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()


def read_elements(page: bytes) -> dict[str, PageElement]:
    """Return the elements of a page by their ids."""
    reader = _PageReader()
    reader.feed(page.decode())
    reader.close()
    return reader.elements


def compute_value(element: PageElement) -> Decimal:
    """Return the value of a tagged number: its text times its scale and sign. Raise ValueError for another text."""
    number_format = element.attributes.get("format", "").rpartition(":")[2].replace("-", "")
    text = element.text.lower().replace("\u00a0", " ")
    if number_format in ("fixedzero", "zerodash", "numdash"):
        digits = "0"
    elif number_format == "numwordsen":
        digits = NUMBER_WORDS.get(text, text)
    elif number_format == "numcommadecimal":
        digits = text.replace(".", "").replace(" ", "").replace(",", ".")
    else:
        digits = text.replace(",", "").replace(" ", "")
    if not digits.replace(".", "", 1).isdigit():
        raise ValueError(f"{element.text!r} is not a number")
    sign = -1 if element.attributes.get("sign") == "-" else 1
    return sign * Decimal(digits).scaleb(int(element.attributes.get("scale", "0")))


class _PageReader(HTMLParser):
    """A reader that collects the elements with an id."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: dict[str, PageElement] = {}
        self._open_elements: list[PageElement] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = PageElement(tag, {name: value or "" for name, value in attrs})
        self._add(element)
        self._open_elements.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(PageElement(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open_elements and self._open_elements.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open_elements:
            element.texts.append(data)

    def _add(self, element: PageElement) -> None:
        if "id" in element.attributes:
            self.elements.setdefault(element.attributes["id"], element)
