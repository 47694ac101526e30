"""The full text index: plain text of HTML documents, the index of their words, and the offset of words in a text.

The index is a contentless FTS5 table (SQLite stores the words, not the texts), written in the transaction that
stores the document. Its rowid is the filing day and the id of the document's body in one number::

    rowid = ordinal of the day * 2**32 + body id

so that a search reads the newest documents first without sorting. A document without a filing day has day 0.

Deleting from a contentless table needs the deleted words, so a deleted document leaves its words behind. Searches
join ``filing_texts``, whose row is deleted with the document, and therefore never return it.
"""

from __future__ import annotations

import html
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import NamedTuple

from finapi.store.db import Transaction
from finapi.store.schema import has_full_text

UNDATED_ROWID = 0  # The first rowid of documents without a filing day.
SNIPPET_CHARACTERS = 140  # Shown before and after a match.

_COMPRESSION_LEVEL = 6
_ROWIDS_PER_DAY = 1 << 32

# A comment, a tag with its name, or another declaration. No match extends beyond the next "<", so that a document of
# nothing but "<" is still scanned in linear time, and the name of a tag without an end is not tried at each length.
_MARKUP = re.compile(r"<!--|<(/?)([A-Za-z][\w:.-]*)(?![\w:.-])[^<>]*>|<[!?/][^<>]*>")
# The text of a comment up to a ">" that is not the end of a tag in it.
_COMMENT_TAG_END = re.compile(r"[^<>]{0,1000}>")
# A character reference beyond Unicode. Python refuses to convert thousands of digits.
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{12,}|[xX][0-9a-fA-F]{12,});?")
_HIDDEN_ELEMENTS = {"script", "style", "head", "ix:header"}
# Elements within a word or line. Like in browsers, every other element starts a new line.
_INLINE_ELEMENTS = {
    "a",
    "abbr",
    "b",
    "big",
    "del",
    "em",
    "font",
    "i",
    "ins",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "u",
}
_SPACED_ELEMENTS = {"td", "th", "sup", "sub"}
_WORD = re.compile(r"[^\W_]+")


class PhraseMatch(NamedTuple):
    """A phrase in a text: its ``offset`` and ``length`` in characters, and a snippet of the text around it."""

    offset: int
    length: int
    snippet: str


# ---- plain text


def extract_plain_text(body: str) -> str:
    """Return the visible text of an HTML document: a line for each block, without tags, scripts and hidden facts."""
    text = html.unescape(_LONG_REFERENCE.sub("\ufffd", "".join(_iter_text_parts(body))))
    text = unicodedata.normalize("NFC", re.sub("[\u00ad\u200b\ufeff]", "", text))
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[\n ]*", "\n", text).strip()


def _iter_text_parts(body: str) -> Iterator[str]:
    """Yield the text between tags, and the white space that each tag stands for."""
    position = 0
    comments = _CommentFinder(body)
    unclosed_elements = set[str]()
    while markup := _MARKUP.search(body, position):
        yield body[position : markup.start()].replace("\n", " ")
        position = markup.end()
        if markup[0] == "<!--":
            position, _ = comments.find_end(position)
            continue
        is_end_tag = bool(markup[1])
        name = (markup[2] or "").lower()
        if name in _HIDDEN_ELEMENTS and not is_end_tag and name not in unclosed_elements:
            end_tag = _compile_end_tag(name).search(body, position)
            if end_tag is None:
                unclosed_elements.add(name)  # Searching for it again at each start tag would take quadratic time.
            else:
                position = end_tag.end()
        if name in _SPACED_ELEMENTS:
            yield " "
        elif name not in _INLINE_ELEMENTS and not name.startswith("ix:"):
            yield "\n"
    yield body[position:].replace("\n", " ")


class _CommentFinder:
    """A search for the ends of the comments of an HTML document.

    A comment without ``-->`` ends at the next ``>``, as its author meant it: ``<!-- Page 1 >``. If a tag comes before
    that ``>``, only ``<!--`` is skipped, so that no text is lost. The next ``-->`` may also belong to a later comment.
    Browsers would hide all text between the two, but here the first comment ends at its own ``>``.
    """

    def __init__(self, body: str) -> None:
        self._body = body
        self._next_close = 0  # Of the last search, so that a document of many unclosed comments takes linear time.

    def find_end(self, start: int) -> tuple[int, bool]:
        """Return the offset after the comment whose text begins at ``start``, and whether it has its own end."""
        body = self._body
        if body.startswith((">", "->"), start):
            return body.index(">", start) + 1, True  # <!--> and <!---> are empty comments.
        if 0 <= self._next_close < start:
            self._next_close = body.find("-->", start)
        close = self._next_close
        tag_end = _COMMENT_TAG_END.match(body, start)
        if close >= 0 and (tag_end is None or tag_end.end() > close or body.find("<!--", start, close) < 0):
            return close + 3, True
        return (start if tag_end is None else tag_end.end()), False


def count_unclosed_comments(body: str) -> int:
    """Return the number of comments of an HTML document that have no end of their own."""
    comments = _CommentFinder(body)
    count = 0
    position = body.find("<!--")
    while position >= 0:
        end, is_closed = comments.find_end(position + 4)
        count += not is_closed
        position = body.find("<!--", end)
    return count


@cache
def _compile_end_tag(name: str) -> re.Pattern[str]:
    return re.compile(f"</{re.escape(name)}[^<>]*>", re.IGNORECASE)


@cache
def _get_unaccented_letters() -> dict[int, str]:
    """Return the letter without accents for each code point of an accented Latin letter."""
    unaccented = {}
    for first, last in ((0xC0, 0x250), (0x1E00, 0x1F00)):
        for code in range(first, last):
            letter = unicodedata.normalize("NFD", chr(code))[0]
            if letter != chr(code):
                unaccented[code] = letter
    return unaccented


def fold_text(text: str) -> str:
    """Return a text without case and accents, with every character at its old offset."""
    unaccented = text if text.isascii() else text.translate(_get_unaccented_letters())
    lower = unaccented.lower()
    if len(lower) == len(unaccented):
        return lower
    # Some letters become two in lower case (the Turkish dotted I): those stay, to preserve the offsets.
    letters = [letter.lower() if len(letter.lower()) == 1 else letter for letter in unaccented]
    return "".join(letters)


def split_words(text: str) -> list[str]:
    """Return the words of a text as the index stores them."""
    return _WORD.findall(fold_text(text))


def find_phrase(text: str, phrases: Sequence[Sequence[str]], prefixes: Sequence[bool]) -> PhraseMatch | None:
    """Return the first match of the longest phrase that appears in a text, or None.

    If ``prefixes`` is True for a phrase, its last word may be the beginning of a word; the match has the full word.
    """
    folded_text = fold_text(text)
    longest_first = sorted(zip(phrases, prefixes, strict=True), key=lambda pair: -sum(map(len, pair[0])))
    for phrase, is_prefix in longest_first:
        word_end = r"[^\W_]*" if is_prefix else r"(?![^\W_])"
        pattern = r"[\W_]+".join(map(re.escape, phrase)) + word_end
        for match in re.finditer(pattern, folded_text):
            starts_word = match.start() == 0 or not _WORD.match(folded_text[match.start() - 1])
            if starts_word:
                length = match.end() - match.start()
                return PhraseMatch(match.start(), length, _build_snippet(text, match.start(), match.end()))
    return None


def _build_snippet(text: str, start: int, end: int) -> str:
    """Return a match with the text around it, cut between words, with "..." where the text continues."""
    before = text[max(0, start - SNIPPET_CHARACTERS) : start]
    after = text[end : end + SNIPPET_CHARACTERS]
    if start > SNIPPET_CHARACTERS:
        before = "... " + before.partition(" ")[2]
    if end + SNIPPET_CHARACTERS < len(text):
        after = after.rpartition(" ")[0] + " ..."
    return " ".join(f"{before}{text[start:end]}{after}".split())


# ---- the index


def compute_rowid(filed_at: str | None, body_id: int) -> int:
    """Return the rowid of a document in the index, ordered by day, then by the id of its body."""
    return compute_first_rowid(filed_at) + body_id


def compute_first_rowid(day: str | None) -> int:
    """Return the first rowid in the index for documents filed on a day, or for documents without a day."""
    return UNDATED_ROWID if not day else date.fromisoformat(day).toordinal() * _ROWIDS_PER_DAY


def compute_end_rowid(day: str | None) -> int:
    """Return the rowid after all documents of a day, or after all documents if ``day`` is None."""
    last_day = date.fromisoformat(day) if day else date.max
    return (last_day.toordinal() + 1) * _ROWIDS_PER_DAY


def insert_text(tx: Transaction, body_id: int, filed_at: str | None, text: str, max_characters: int) -> bool:
    """Add a document's plain text to the index. Return True if it was added.

    Nothing is added if the document is indexed already, if the index would exceed ``max_characters``, or if SQLite has
    no FTS5.
    """
    if not has_full_text() or tx.find_value("is_text_indexed", body_id=body_id):
        return False
    if tx.find_value("indexed_characters") + len(text) > max_characters:
        return False
    rowid = compute_rowid(filed_at, body_id)
    packed = zlib.compress(text.encode(), _COMPRESSION_LEVEL)
    tx.run("insert_text", body_id=body_id, place=rowid, characters=len(text), packed=packed)
    tx.run("insert_words", place=rowid, text=fold_text(text))
    return True


def move_texts(tx: Transaction, filing_id: int, filed_at: str | None) -> None:
    """Move the words of a filing's documents to its filing day, which was unknown or wrong when they were indexed."""
    if not has_full_text():
        return
    for row in tx.list_rows("indexed_texts", filing_id=filing_id):
        rowid = compute_rowid(filed_at, row["body_id"])
        if row["place"] != rowid:
            folded_text = fold_text(decompress_text(row["packed"]))
            tx.run("delete_words", place=row["place"], text=folded_text)
            tx.run("insert_words", place=rowid, text=folded_text)
            tx.run("update_text_rowid", body_id=row["body_id"], place=rowid)


def decompress_text(packed: bytes) -> str:
    """Return a stored plain text."""
    return zlib.decompress(packed).decode()
