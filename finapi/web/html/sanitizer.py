"""Sanitising of filed HTML: a document is rebuilt from the few elements and attributes that are harmless.

Only listed elements and attributes are copied, so the result does not depend on how a browser would have parsed the
original. No tag of the original is copied literally, and the texts between tags contain no "<". Every pattern is
possessive and every character is read once, so a hostile document cannot make this slow.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape

# Documents are served in parts of about this many characters; a part begins at a tag.
PART_CHARACTERS = 1_000_000
# A longer text without a tag is cut.
_MAX_TEXT_CHARACTERS = 300_000

_ELEMENT_NAMES = """
abbr a address article aside b bdo big blockquote br caption center cite code col colgroup dd del dfn dir div dl dt em
figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main menu nav nobr ol p pre q s samp section
small span strike strong sub sup table tbody td tfoot th thead tr tt u ul var wbr
"""
# Elements around the numbers of an inline page. They become spans, so that links to their ids work.
_FACT_ELEMENT = "ix:nonfraction"
_ID = re.compile(r' id="[^"]*"')
_ELEMENTS = frozenset(_ELEMENT_NAMES.split())
_ATTRIBUTE_NAMES = """
abbr align alt bgcolor border cellpadding cellspacing clear color colspan compact dir face height hspace id lang name
noshade nowrap rowspan scope size start summary title valign value vspace width
"""
_ATTRIBUTES = frozenset(_ATTRIBUTE_NAMES.split())
# Elements that are removed together with their content.
_REMOVED_ELEMENT_NAMES = """
applet iframe ix:header math noembed noframes noscript object plaintext script style svg template textarea title xmp
"""
_REMOVED_ELEMENTS = frozenset(_REMOVED_ELEMENT_NAMES.split())
_TAG = re.compile(r"</?+([A-Za-z][^\s/>]*+)")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(?:>|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s>]*+)))?+)"""
)
_INLINE_IMAGE = re.compile(r"data:image/(?:gif|jpeg|png|webp);base64,[A-Za-z0-9+/=\s]*")
# A declaration of a style that may load something, or that hides it by escapes or comments.
_LOADING_DECLARATION = re.compile(r"[\\@<{}]|url|image|src|expression|behavior|binding|import", re.IGNORECASE)


def count_parts(text: str) -> int:
    """Return the number of parts in which a document is served."""
    return max(1, -(-len(text) // PART_CHARACTERS))


def find_part_of_id(text: str, element_id: str) -> int | None:
    """Return the number of the part of a document that has the element with an id, or None."""
    for quote in "\"'":
        position = text.find(f"id={quote}{escape(element_id)}{quote}")
        while position > 0:
            if text[position - 1].isspace():
                parts = range(1, count_parts(text) + 1)
                return next(part for part in parts if position < _find_part_start(text, part))
            position = text.find(f"id={quote}{escape(element_id)}{quote}", position + 1)
    return None


def sanitize_part(text: str, part: int = 1) -> str:
    """Return a part (numbered from 1) of a filed document as HTML that neither runs nor loads anything."""
    return "".join(_sanitize(text[_find_part_start(text, part - 1) : _find_part_start(text, part)]))


def _find_part_start(text: str, part_index: int) -> int:
    limit = part_index * PART_CHARACTERS
    if not 0 < limit < len(text):
        return limit
    tag_start = text.rfind("<", limit - _MAX_TEXT_CHARACTERS, limit)
    return limit if tag_start < 0 else tag_start


def _sanitize(text: str) -> list[str]:
    output: list[str] = []
    position = 0
    open_fact_tags: list[str] = []  # The closing tags of the open elements of facts.
    while True:
        start = text.find("<", position)
        if start < 0:
            output.append(text[position:])
            return output
        output.append(text[position:start])
        tag = _TAG.match(text, start)
        if tag is None:
            position = _find_end_of_markup(text, start)
            is_plain_text = position == start + 1
            output.append("&lt;" if is_plain_text else "")
            continue
        name = tag[1].lower()
        if text[start + 1] == "/":
            position = _find_end(text, ">", tag.end())
            if name == _FACT_ELEMENT and open_fact_tags:
                output.append(open_fact_tags.pop())
            output.append(f"</{name}>" if name in _ELEMENTS else "")
            continue
        if text.startswith(">", tag.end()):
            attributes, position = "", tag.end() + 1
        else:
            attributes, position = _sanitize_attributes(text, tag.end(), name)
        if position < 0:  # The document ends inside the tag.
            return output
        if name in _REMOVED_ELEMENTS:
            closing_tag = _compile_closing_tag(name).search(text, position)
            position = len(text) if closing_tag is None else _find_end(text, ">", closing_tag.end())
        elif name == _FACT_ELEMENT:
            element_id = _ID.search(attributes)
            output.append(f"<span{element_id[0]}>" if element_id else "")
            open_fact_tags.append("</span>" if element_id else "")
        elif name in _ELEMENTS and (name != "img" or " src=" in attributes):
            output.append(f"<{name}{attributes}>")


def _find_end_of_markup(text: str, start: int) -> int:
    """Return the end of a comment or declaration, or the position after "<" if that is only a character."""
    if text.startswith("<!--", start):
        return _find_end(text, "-->", start + 2)
    is_declaration = text[start + 1 : start + 2] in ("!", "?", "/")
    return _find_end(text, ">", start) if is_declaration else start + 1


def _find_end(text: str, delimiter: str, start: int) -> int:
    position = text.find(delimiter, start)
    return len(text) if position < 0 else position + len(delimiter)


@cache
def _compile_closing_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)


def _sanitize_attributes(text: str, start: int, element: str) -> tuple[str, int]:
    """Return the harmless attributes of a tag and the position after the tag, -1 if the document ends inside it."""
    attributes: dict[str, str] = {}
    position = start
    while match := _ATTRIBUTE.match(text, position):
        position = match.end()
        if match[1] is None:
            return "".join(f' {name}="{escape(content)}"' for name, content in attributes.items()), position
        name = match[1].lower()
        # Of several attributes with the same name, only the first harmless one is written.
        if name in attributes:
            continue
        content = _sanitize_attribute(element, name, unescape(match[2] or match[3] or match[4] or ""))
        if content is not None:
            attributes[name] = content
    return "", -1


def _sanitize_attribute(element: str, name: str, content: str) -> str | None:
    """Return the content of an attribute without anything that loads, or None if the attribute is removed."""
    if name in _ATTRIBUTES:
        return content
    if name == "style":
        declarations = content.split(";")
        return ";".join(text for text in declarations if not _LOADING_DECLARATION.search(text))
    if name == "href" and element == "a":
        return content if content.startswith("#") else None
    if name == "src" and element == "img":
        return content if _INLINE_IMAGE.fullmatch(content) else None
    return None
