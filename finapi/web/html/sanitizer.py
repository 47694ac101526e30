"""Filed HTML made inert: written anew of the few elements and attributes that neither run nor load anything.

What is not known here is left out, so that nothing depends on how a browser would have read what was filed: of its
tags none is repeated, and the texts between them hold no "<". Every character is looked at once.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape

# Characters of a document that are shown at once; the next part begins at a tag.
PART_CHARACTERS = 1_000_000
_LONG_TEXT = 300_000  # without a tag: it is cut

_NAMES = """
a abbr address article aside b bdo big blockquote br caption center cite code col colgroup dd del dfn dir div dl dt em
figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main menu nav nobr ol p pre q s samp section
small span strike strong sub sup table tbody td tfoot th thead tr tt u ul var wbr
"""
_ELEMENTS = frozenset(_NAMES.split())
_NAMES = """
abbr align alt bgcolor border cellpadding cellspacing clear color colspan compact dir face height hspace id lang name
noshade nowrap rowspan scope size start summary title valign value vspace width
"""
_ATTRIBUTES = frozenset(_NAMES.split())
# Left out with all that is in them.
_NAMES = """
applet iframe ix:header math noembed noframes noscript object plaintext script style svg template textarea title xmp
"""
_SILENT = frozenset(_NAMES.split())
_TAG = re.compile(r"</?+([A-Za-z][^\s/>]*+)")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(?:>|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s>]*+)))?+)"""
)
_PICTURE = re.compile(r"data:image/(?:gif|jpeg|png|webp);base64,[A-Za-z0-9+/=\s]*")
# In a style, what may load something, or hide that it does.
_LOADS = re.compile(r"[\\@<{}]|url|image|src|expression|behavior|binding|import", re.IGNORECASE)


def count_parts(text: str) -> int:
    """How many parts a document is shown in."""
    return max(1, -(-len(text) // PART_CHARACTERS))


def sanitize_part(text: str, part: int = 1) -> str:
    """A part of a filed document, of which nothing runs or is loaded; all of a short one."""
    return "".join(_written(text[_beginning(text, part - 1) : _beginning(text, part)]))


def _beginning(text: str, part: int) -> int:
    place = part * PART_CHARACTERS
    found = text.rfind("<", place - _LONG_TEXT, place) if 0 < place < len(text) else -1
    return place if found < 0 else found


def _written(text: str) -> list[str]:
    made: list[str] = []
    at = 0
    while True:
        found = text.find("<", at)
        if found < 0:
            made.append(text[at:])
            return made
        made.append(text[at:found])
        tag = _TAG.match(text, found)
        if tag is None:
            at = _behind(text, found)
            made.append("&lt;" if at == found + 1 else "")
            continue
        name = tag[1].lower()
        if text[found + 1] == "/":
            at = _end(text, ">", tag.end())
            made.append(f"</{name}>" if name in _ELEMENTS else "")
            continue
        bare = text.startswith(">", tag.end())
        kept, at = ("", tag.end() + 1) if bare else _attributes(text, tag.end(), name)
        if at < 0:  # cut off in the tag
            return made
        if name in _SILENT:
            end = _closing(name).search(text, at)
            at = len(text) if end is None else _end(text, ">", end.end())
        elif name in _ELEMENTS and (name != "img" or " src=" in kept):
            made.append(f"<{name}{kept}>")


def _behind(text: str, at: int) -> int:
    """Where what begins with "<" and is no tag ends: a comment, a declaration; the sign itself where it is a text."""
    if text.startswith("<!--", at):
        return _end(text, "-->", at + 2)
    return _end(text, ">", at) if text[at + 1 : at + 2] in ("!", "?", "/") else at + 1


def _end(text: str, sign: str, at: int) -> int:
    found = text.find(sign, at)
    return len(text) if found < 0 else found + len(sign)


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)


def _attributes(text: str, at: int, name: str) -> tuple[str, int]:
    """The attributes of a tag that are kept, and where the tag ends; -1 where it does not."""
    kept: dict[str, str] = {}
    while found := _ATTRIBUTE.match(text, at):
        at = found.end()
        if found[1] is None:
            return "".join(f' {key}="{escape(value)}"' for key, value in kept.items()), at
        key = found[1].lower()
        told = unescape(found[2] or found[3] or found[4] or "")
        value = _kept(name, key, told) if key not in kept else None
        if value is not None:
            kept[key] = value
    return "", -1


def _kept(name: str, key: str, value: str) -> str | None:
    """What is left of an attribute: its value, of a style what loads nothing, of links those within the document."""
    if key in _ATTRIBUTES:
        return value
    if key == "style":
        return ";".join(one for one in value.split(";") if not _LOADS.search(one))
    if key == "href" and name == "a":
        return value if value.startswith("#") else None
    return value if key == "src" and name == "img" and _PICTURE.fullmatch(value) else None
