"""The text of kept documents: plain text of HTML, the index of its words, and the place where words stand in it.

The index is an FTS5 table without content, written in the document's own transaction. A document's row there is its
filing day and its filing's id in one number, so that the newest are found first without sorting. A document that is
deleted is found no more: its row of ``filing_texts``, which every search goes through, goes with it.
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

_LEVEL = 6
_IDS = 1 << 32  # filings that a day has room for
UNDATED_ROWID = 0  # the first place: that of filings whose day is unknown begins there

# A comment, a tag by its name, or another mark. None of them goes beyond the next "<", so that a page of "<" alone is
# gone through once.
_MARK = re.compile(r"<!--|<(/?)([A-Za-z][\w:.-]*)[^<>]*>|<[!?/][^<>]*>")
_UNSEEN = {"script", "style", "head", "ix:header"}
# Within a word or a line; every other element begins a new line, as browsers do.
_INLINE = {"a", "abbr", "b", "big", "del", "em", "font", "i", "ins", "s", "small", "span", "strike", "strong", "u"}
_SPACED = {"td", "th", "sup", "sub"}
_WORD = re.compile(r"[^\W_]+")
SNIPPET = 140  # characters before and after the place found


class PhraseMatch(NamedTuple):
    """Where words stand in a text: ``offset`` and ``length`` in its characters, and what is written around them."""

    offset: int
    length: int
    snippet: str


# ---- plain text


def extract_plain_text(body: str) -> str:
    """What a reader sees of an HTML document: a line for each block, without tags, scripts and hidden facts."""
    text = html.unescape("".join(_parts(body)))
    text = unicodedata.normalize("NFC", re.sub("[\u00ad\u200b\ufeff]", "", text))
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[\n ]*", "\n", text).strip()


def _parts(body: str) -> Iterator[str]:
    at, endless = 0, set[str]()
    while mark := _MARK.search(body, at):
        yield body[at : mark.start()].replace("\n", " ")
        at = mark.end()
        if mark[0] == "<!--":
            until = body.find("-->", at)
            at = len(body) if until < 0 else until + 3
            continue
        name = (mark[2] or "").lower()
        if name in _UNSEEN and not mark[1] and name not in endless:
            end = _closing(name).search(body, at)
            if end is None:
                endless.add(name)  # and is not looked for again
            else:
                at = end.end()
        yield "" if name in _INLINE or name.startswith("ix:") else " " if name in _SPACED else "\n"
    yield body[at:].replace("\n", " ")


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(f"</{re.escape(name)}[^<>]*>", re.IGNORECASE)


@cache
def _bare_letters() -> dict[int, str]:
    """Letters with accents, each to the one letter that it is without."""
    letters = (chr(code) for first, last in ((0xC0, 0x250), (0x1E00, 0x1F00)) for code in range(first, last))
    bare = {ord(one): unicodedata.normalize("NFD", one)[0] for one in letters}
    return {code: letter for code, letter in bare.items() if letter != chr(code)}


def fold_text(text: str) -> str:
    """A text without case and accents, each character where it was."""
    bare = text if text.isascii() else text.translate(_bare_letters())
    low = bare.lower()
    return low if len(low) == len(bare) else "".join(one if len(one.lower()) != 1 else one.lower() for one in bare)


def split_words(text: str) -> list[str]:
    """The words of a text as the index has them."""
    return _WORD.findall(fold_text(text))


def find_phrase(text: str, phrases: Sequence[Sequence[str]], prefixes: Sequence[bool]) -> PhraseMatch | None:
    """The first place of the longest phrase that stands in a text, or None; of a prefix, the word that begins so."""
    low = fold_text(text)
    longest = sorted(zip(phrases, prefixes, strict=True), key=lambda one: -sum(map(len, one[0])))
    for phrase, prefix in longest:
        pattern = r"[\W_]+".join(map(re.escape, phrase)) + (r"[^\W_]*" if prefix else r"(?![^\W_])")
        for found in re.finditer(pattern, low):
            if found.start() == 0 or not _WORD.match(low[found.start() - 1]):
                return PhraseMatch(found.start(), found.end() - found.start(), _around(text, *found.span()))
    return None


def _around(text: str, first: int, last: int) -> str:
    """What stands around a place, cut between words; "..." where it goes on."""
    before, after = text[max(0, first - SNIPPET) : first], text[last : last + SNIPPET]
    if first > SNIPPET:
        before = "... " + before.partition(" ")[2]
    if last + SNIPPET < len(text):
        after = after.rpartition(" ")[0] + " ..."
    return " ".join(f"{before}{text[first:last]}{after}".split())


# ---- the index


def compute_rowid(filed_at: str | None, filing_id: int) -> int:
    """The row of a filing's document in the index: by its day, then by when it came in."""
    return compute_first_rowid(filed_at) + filing_id


def compute_first_rowid(day: str | None) -> int:
    """Where the documents of a day begin; without one, those of no day."""
    return UNDATED_ROWID if not day else date.fromisoformat(day).toordinal() * _IDS


def compute_end_rowid(day: str | None) -> int:
    """What is behind all documents of a day and of those before it; without one, behind every document."""
    return ((date.fromisoformat(day).toordinal() if day else date.max.toordinal()) + 1) * _IDS


def insert_text(tx: Transaction, filing_id: int, filed_at: str | None, text: str, most: int) -> bool:
    """Index a document's text, unless it is indexed, or more than ``most`` characters would be; whether it was."""
    if not has_full_text() or tx.find_value("has_text_indexed", filing_id=filing_id):
        return False
    if tx.find_value("texts_characters") + len(text) > most:
        return False
    at = compute_rowid(filed_at, filing_id)
    packed = zlib.compress(text.encode(), _LEVEL)
    tx.run("insert_text", filing_id=filing_id, place=at, characters=len(text), packed=packed)
    tx.run("insert_words", place=at, text=fold_text(text))
    return True


def move_text(tx: Transaction, filing_id: int, filed_at: str | None) -> None:
    """Put a document's words under the day that its filing turned out to have."""
    row = tx.find_row("indexed_text", filing_id=filing_id) if has_full_text() else None
    at = compute_rowid(filed_at, filing_id)
    if row is not None and row["place"] != at:
        low = fold_text(decompress_text(row["packed"]))
        tx.run("delete_words", place=row["place"], text=low)
        tx.run("insert_words", place=at, text=low)
        tx.run("move_text", filing_id=filing_id, place=at)


def decompress_text(packed: bytes) -> str:
    """The text that was stored."""
    return zlib.decompress(packed).decode()
