"""The repair of end tags that were damaged before EDGAR accepted a document.

EDGAR does not check all XML that it accepts, and some documents have an end tag that is cut off::

    <percentOfClass>5.1</percentOfClass
    <typeOfReportingPerson>IN</typeOfReportingPerson>

or end in ``</formData></edgarSub``. Nothing else is missing from these documents, so the tag is completed by the name
of the element that is open. A document that ends anywhere else is cut off, and its remaining content is lost.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from finapi.core import stopping

# Only short documents are repaired: the names of their open elements are in memory.
MAX_BYTES = 4_000_000
MAX_REPAIRS = 20

# The beginning of a comment, section, instruction or declaration; or a tag that may lack its end.
_MARKUP = re.compile(
    rb"(?P<opening><!--|<!\[CDATA\[|<\?|<!)"
    rb"|<(?P<slash>/?)(?P<name>[A-Za-z_][\w:.-]*)(?P<attributes>[^<>]*)(?P<end>>?)"
    rb"|<(?P<bare_slash>/)"
)
_CLOSINGS = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>", b"<!": b">"}
# Elements whose end is the end of a document's content: only the root may be open after them.
_LAST_ELEMENTS = (b"formData", b"signatureInfo")


class RepairedDocument(NamedTuple):
    """A repaired document, and a sentence for each repair."""

    content: bytes
    repairs: list[str]


def repair_end_tags(content: bytes) -> RepairedDocument | None:
    """Return a document with its damaged end tags completed, or None if it has none or other damage too."""
    if len(content) > MAX_BYTES:
        return None
    open_names: list[bytes] = []
    pieces: list[bytes] = []
    repairs: list[str] = []
    copied_to = 0
    position = 0
    while markup := _MARKUP.search(content, position):
        stopping.check()
        position = markup.end()
        if markup["opening"]:
            closing = _CLOSINGS[markup["opening"]]
            closing_start = content.find(closing, position)
            if closing_start < 0:
                return None
            position = closing_start + len(closing)
        elif markup["name"] and not markup["slash"]:
            if not markup["end"]:
                return None  # A start tag is damaged.
            if not markup["attributes"].endswith(b"/"):
                open_names.append(markup["name"])
        elif not open_names:
            return None
        elif not _is_end_tag(markup, open_names[-1]):
            name = open_names.pop()
            if not _may_be_end_tag(content, markup, name) or len(repairs) == MAX_REPAIRS:
                return None
            line_number = content.count(b"\n", 0, markup.start()) + 1
            written = markup[0].strip().decode(errors="replace")
            repairs.append(f"line {line_number}: the end tag {written} is read as </{name.decode(errors='replace')}>")
            pieces += [content[copied_to : markup.start()], b"</", name, b">"]
            copied_to = position
            if not content[position:].strip() and len(open_names) == 1 and name.endswith(_LAST_ELEMENTS):
                pieces += [b"</", open_names.pop(), b">"]
        else:
            open_names.pop()
    if not repairs or open_names:
        return None
    return RepairedDocument(b"".join([*pieces, content[copied_to:]]), repairs)


def _is_end_tag(markup: re.Match[bytes], name: bytes) -> bool:
    return markup["name"] == name and bool(markup["end"]) and not markup["attributes"].strip()


def _may_be_end_tag(content: bytes, markup: re.Match[bytes], name: bytes) -> bool:
    """Return True for a part of an end tag, before the next tag or the end of the document if it has no ">"."""
    written_name = markup["name"] or b""
    if not name.startswith(written_name) or (markup["attributes"] or b"").strip():
        return False
    return bool(markup["end"]) or content.startswith(b"<", markup.end()) or not content[markup.end() :].strip()
