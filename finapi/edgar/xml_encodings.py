"""The encodings of XML documents, by their names at IANA and the aliases of these names.

Expat decodes five encodings under one name each. Filers also declare aliases of them, such as ASCII, utf8 and latin1,
and encodings of Windows and of ISO 8859. :func:`convert` returns such a document with a declaration that expat knows:
an alias is replaced by the name, and a text in another encoding is converted to UTF-8. Only the encodings in this
table are accepted. Python has more codecs, some of which decompress or execute their input.
"""

from __future__ import annotations

import re

from finapi.core.errors import ParseError

# Encodings that expat decodes itself.
NATIVE_NAMES = frozenset({"UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "ISO-8859-1"})

_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MAX_DECLARATION_BYTES = 1_000
_DECLARATION = re.compile(
    rb"""\s{0,100}<\?xml\s+version\s*=\s*["'][0-9.]{1,9}["']\s+encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._:()-]{0,40})["']"""
)

# Aliases by name, in lower case. Source: https://www.iana.org/assignments/character-sets, and names of Python and Java.
_ALIASES = {
    "UTF-8": ("utf8", "utf_8", "csutf8", "unicode-1-1-utf-8", "x-unicode20utf8"),
    "UTF-16": (
        "utf16",
        "utf_16",
        "csutf16",
        "unicode",
        "csunicode",
        "iso-10646-ucs-2",
        "ucs-2",
        "utf-16-le",
        "utf-16-be",
    ),
    "US-ASCII": (
        "ascii",
        "us_ascii",
        "iso-ir-6",
        "ansi_x3.4-1968",
        "ansi_x3.4-1986",
        "iso_646.irv:1991",
        "iso646-us",
        "us",
        "ibm367",
        "cp367",
        "csascii",
    ),
    "ISO-8859-1": (
        "latin1",
        "latin-1",
        "latin_1",
        "iso8859-1",
        "iso8859_1",
        "iso_8859-1",
        "iso_8859-1:1987",
        "8859_1",
        "iso-ir-100",
        "l1",
        "ibm819",
        "cp819",
        "csisolatin1",
    ),
}
# Further encodings with one byte for each character, by their names in Python, with aliases.
_CONVERTED_ALIASES = {
    **{f"cp125{number}": (f"windows-125{number}", f"cswindows125{number}", f"x-cp125{number}") for number in range(9)},
    **{
        f"iso8859-{number}": (f"iso-8859-{number}", f"iso_8859-{number}", f"iso8859_{number}")
        for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)
    },
    "mac-roman": ("macintosh", "mac", "csmacintosh", "macroman", "x-mac-roman"),
    "cp437": ("ibm437", "437", "cspc8codepage437"),
    "cp850": ("ibm850", "850", "cspc850multilingual"),
    "koi8-r": ("cskoi8r",),
}
_CONVERTED_ALIASES["cp1252"] += ("ansi", "ansi-1252", "windows_1252")
_CONVERTED_ALIASES["iso8859-2"] += ("latin2", "l2", "iso-ir-101", "csisolatin2")
_CONVERTED_ALIASES["iso8859-9"] += ("latin5", "l5", "iso-ir-148", "csisolatin5")
_CONVERTED_ALIASES["iso8859-15"] += ("latin-9", "latin9", "l9", "csiso885915")


def _fold_name(name: str) -> str:
    """Return a name without case, hyphens and underscores, which programs write differently: CP-1252, ISO_8859_1."""
    return name.lower().replace("-", "").replace("_", "")


_NATIVE_NAMES_BY_ALIAS = {_fold_name(alias): name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}
_CODECS_BY_ALIAS = {
    _fold_name(alias): codec for codec, aliases in _CONVERTED_ALIASES.items() for alias in (codec, *aliases)
}


def convert(content: bytes, file: str) -> bytes:
    """Return a document in an encoding that expat decodes, under the name that expat knows.

    Most documents are returned as they are, without a copy. White space before the declaration is removed, and so is a
    declaration that contradicts a byte order mark. An encoding that is not in this module's table stays, so that the
    reader refuses it. Raise ParseError for bytes that are not valid in the declared encoding.
    """
    if content.startswith(_UTF_16_MARKS):
        return _convert_utf_16(content)
    mark_length = len(_UTF_8_MARK) if content.startswith(_UTF_8_MARK) else 0
    declaration = _DECLARATION.match(content[:_MAX_DECLARATION_BYTES], mark_length)
    if declaration is None:
        return content
    declared_name = declaration[1].decode()
    name = _fold_name(declared_name)
    start = content.index(b"<", mark_length)
    if declared_name.upper() in NATIVE_NAMES and not mark_length:
        return content[start:] if start else content
    if mark_length and (name in _NATIVE_NAMES_BY_ALIAS or name in _CODECS_BY_ALIAS or name.upper() in NATIVE_NAMES):
        # The mark shows that the text was saved as UTF-8, whatever its declaration says.
        return _replace_name(content, declaration, start, "UTF-8")
    if name in _NATIVE_NAMES_BY_ALIAS:
        return _replace_name(content, declaration, start, _NATIVE_NAMES_BY_ALIAS[name])
    if name in _CODECS_BY_ALIAS:
        try:
            text = content[declaration.end() :].decode(_CODECS_BY_ALIAS[name])
        except UnicodeDecodeError as error:
            place = f"byte {declaration.end() + error.start}"
            raise ParseError(file, place, f"not {declared_name}") from None
        return _replace_name(content[: declaration.end()], declaration, start, "UTF-8") + text.encode()
    return content[start:] if start > mark_length else content


def _replace_name(content: bytes, declaration: re.Match[bytes], start: int, name: str) -> bytes:
    if declaration[1].decode().upper() == name and start in (0, len(_UTF_8_MARK)):
        return content
    return content[start : declaration.start(1)] + name.encode() + content[declaration.end(1) :]


def _convert_utf_16(content: bytes) -> bytes:
    """Return a document with a mark of UTF-16 under this name, whichever encoding of the tables it declares."""
    codec = "utf-16-le" if content.startswith(_UTF_16_MARKS[0]) else "utf-16-be"
    front = content[2:_MAX_DECLARATION_BYTES].decode(codec, "replace")
    declaration = _DECLARATION.match(front.encode("ascii", "replace"))
    if declaration is None:
        return content
    name = _fold_name(declaration[1].decode())
    if name not in _NATIVE_NAMES_BY_ALIAS and name not in _CODECS_BY_ALIAS:
        return content
    name_start = 2 + 2 * declaration.start(1)
    name_end = 2 + 2 * declaration.end(1)
    return content[:name_start] + "UTF-16".encode(codec) + content[name_end:]
