"""The intents that Item 4 of a Schedule 13D ("Purpose of Transaction") states, detected by keywords.

Most of an Item 4 is about actions that are not planned, may be discussed or remain possible. A sentence that hedges or
denies is therefore ignored: "The fund may nominate directors" states nothing, "The fund nominated two directors" states
a board seat demand. An intent only shows where to read on; it is not a legal assessment.
"""

from __future__ import annotations

import re

# Each intent is stored as a bit, the first one as the lowest.
INTENTS = ("intends_to_acquire", "opposes_management", "board_seat_demand", "seeks_sale_or_merger")

# Characters of Item 4 in lists. The filing itself has the complete text.
PREVIEW_CHARS = 500

# A sentence with one of these words states no intent.
_HEDGE = re.compile(
    r"\b(no|not|nor|neither|without|may(?! [0-9])|might|could|would|if|whether|from time to time|reserves?|reserving"
    r"|consider\w*|in the ordinary course|any or all|as of the date)\b|n't\b"
)
# The words of each intent, in the order of INTENTS.
_INTENT_WORDS = (
    re.compile(
        r"\b(intends?|plans?|agreed|offered|proposes?|proposed|propos(?:al|als) to) (?:\w+ ){0,3}?"
        r"(acquire|purchase|buy)\b|\btender offer\b"
    ),
    re.compile(
        r"\b(opposes?|opposed|opposing|vot(?:e|ed|ing) against|inadequate|withhold(?:ing)? (?:\w+ ){0,2}?votes?)\b"
    ),
    re.compile(
        r"\b(nominat(?:e|es|ed|ing|ion|ions)|appoint(?:ed|ment)?|elect(?:ed|ion)?) (?:\w+[ ,]+){0,8}?"
        r"(directors?|board)\b|\bboard (?:representation|seats?)\b|\bproxy contest\b"
    ),
    re.compile(
        r"\bsale of the (?:company|issuer)\b|\bstrategic alternatives\b|\bmerger agreement\b"
        r"|\btake[- ]private\b|\bgoing[- ]private\b"
    ),
)
_SENTENCE_END = re.compile(r"[.;:!?]\s+|\s[•●]\s")


def find_intents(text: str | None) -> int | None:
    """Return the bits of the intents that the text states, or None if there is no text."""
    if not text:
        return None
    bits = 0
    for sentence in _SENTENCE_END.split(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        if _HEDGE.search(sentence) is not None:
            continue
        for index, words in enumerate(_INTENT_WORDS):
            if words.search(sentence):
                bits |= 1 << index
    return bits


def get_bit(intent: str) -> int:
    """Return the bit of an intent."""
    return 1 << INTENTS.index(intent)


def list_flags(bits: int | None) -> dict[str, bool | None]:
    """Return a flag for each intent: True if its bit is set, or None for all intents if there is no Item 4."""
    return {intent: None if bits is None else bool(bits & get_bit(intent)) for intent in INTENTS}


def shorten(text: str | None) -> str | None:
    """Return the beginning of a text for a list, with an ellipsis if it is cut."""
    if text is None or len(text) <= PREVIEW_CHARS:
        return text
    return f"{text[: PREVIEW_CHARS - 1]}\N{HORIZONTAL ELLIPSIS}"
