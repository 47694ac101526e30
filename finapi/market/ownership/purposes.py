"""What Item 4 of a Schedule 13D says its filers want, by its words.

Most of an Item 4 is a list of what is not planned, may be discussed or is reserved: a sentence that hedges or denies
says nothing here. What is left is a hint of where to read, not a judgement.
"""

from __future__ import annotations

import re

INTENTS = ("intends_to_acquire", "opposes_management", "board_seat_demand", "seeks_sale_or_merger")

# A sentence with any of these plans nothing.
_HEDGED = re.compile(
    r"\b(no|not|nor|neither|without|may(?! [0-9])|might|could|would|if|whether|from time to time|reserves?|reserving"
    r"|consider\w*|in the ordinary course|any or all|as of the date)\b|n't\b"
)
_WORDS = tuple(
    re.compile(words)
    for words in (
        r"\b(intends?|plans?|agreed|offered|proposes?|proposed|propos(?:al|als) to) (?:\w+ ){0,3}?"
        r"(acquire|purchase|buy)\b|\btender offer\b",
        r"\b(opposes?|opposed|opposing|vot(?:e|ed|ing) against|inadequate|withhold(?:ing)? (?:\w+ ){0,2}?votes?)\b",
        r"\b(nominat(?:e|es|ed|ing|ion|ions)|appoint(?:ed|ment)?|elect(?:ed|ion)?) (?:\w+[ ,]+){0,8}?"
        r"(directors?|board)\b|\bboard (?:representation|seats?)\b|\bproxy contest\b",
        r"\bsale of the (?:company|issuer)\b|\bstrategic alternatives\b|\bmerger agreement\b"
        r"|\btake[- ]private\b|\bgoing[- ]private\b",
    )
)
_SENTENCE = re.compile(r"[.;:!?]\s+|\s[•●]\s")


def find_intents(text: str | None) -> int | None:
    """A bit for each of ``INTENTS`` that some sentence states, the first the lowest; None without a text."""
    if not text:
        return None
    found = 0
    for sentence in _SENTENCE.split(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        if _HEDGED.search(sentence) is None:
            found |= sum(1 << place for place, words in enumerate(_WORDS) if words.search(sentence))
    return found


def named(bits: int | None) -> dict[str, bool | None]:
    """The intents by name; all None when there is no Item 4."""
    return {name: None if bits is None else bool(bits >> place & 1) for place, name in enumerate(INTENTS)}
